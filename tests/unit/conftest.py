# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every unit test stands on: the simulator is importable, and nothing but loopback can be reached."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

HERE = Path(__file__).resolve().parent
for role in ("imds_simulator", "event_handlers"):
    sys.path.insert(0, str(HERE.parent.parent / "roles" / role / "files"))

# A property test must give the same answer on each run of the checks; `explore` is for a developer who wants new examples.
COMMON: Dict[str, Any] = dict(deadline=None, database=None, print_blob=True)
settings.register_profile("quick", max_examples=50, derandomize=True, **COMMON)
CI: Dict[str, Any] = dict(derandomize=True, suppress_health_check=[HealthCheck.too_slow], **COMMON)
settings.register_profile("ci", max_examples=10000, **CI)
settings.register_profile("locales", max_examples=1000, **CI)
settings.register_profile("ci-long", max_examples=2500, **CI)
settings.register_profile("mutation", max_examples=30, derandomize=True, phases=[Phase.explicit, Phase.generate], **COMMON)
settings.register_profile("explore", max_examples=1000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


class UnexpectedConnection(AssertionError):
    """A test reached for an address outside this machine."""


def _refuse_foreign(address: Any) -> None:
    """Unit tests may talk to loopback only: the metadata address of the machine they run on may be a real service."""
    if not isinstance(address, tuple):
        return  # a Unix socket
    host = address[0]
    if host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise UnexpectedConnection(f"a unit test tried to reach {host}: give it an endpoint on 127.0.0.1")


def _guarded(name: str) -> Callable[..., Any]:
    original = getattr(socket.socket, name)

    def guard(self: socket.socket, *args: Any) -> Any:
        _refuse_foreign(args[-1])  # connect(address), connect_ex(address), sendto(data, [flags,] address)
        return original(self, *args)

    return guard


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    """Every socket of the test run refuses other addresses, with a message that says what to do."""
    patch = pytest.MonkeyPatch()
    for name in ("connect", "connect_ex", "sendto"):
        patch.setattr(socket.socket, name, _guarded(name))
    yield
    patch.undo()


@pytest.fixture
def simulator() -> Iterator[Any]:
    """A metadata service on loopback with a clock that stands still until the test moves it."""
    from imds_simulator import Simulator

    with Simulator(clock="manual") as running:
        yield running
