# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lives of real processes: begun, killed and asked; too slow for the unit tests, and nothing of them needs root."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from imds_simulator import Simulator

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "roles" / "event_handlers" / "ready"))

from ready_scenes import scene_of

__all__ = ["scene_of"]


@pytest.fixture
def simulator() -> Iterator[Any]:
    """A metadata service on loopback with a clock that stands still until the test moves it."""
    with Simulator(clock="manual") as running:
        yield running
