# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens where a Python library is not there.

Whether another Python of the machine has it is Ansible's to find out, and to start it; only these two functions of Ansible's
are replaced here. The integration target of the module that reads starts a real one.
"""

from __future__ import annotations

import platform
import sys
from typing import Any, Dict, List, Optional, Sequence

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _module
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import APPROVE, FIRST, INFO, WAIT, Stage

EVERY_MODULE: Sequence[Any] = ((INFO, {}), (APPROVE, {"event_ids": [FIRST]}), (WAIT, {"event_ids": [FIRST]}))


class OtherPythons:
    """The Pythons of a machine: which has the library, and whether it was started."""

    def __init__(self, having_it: Optional[str] = None) -> None:
        self.having_it = having_it
        self.probed: List[Any] = []
        self.started: List[str] = []

    def probe(self, interpreters: Sequence[str], library: str) -> Optional[str]:
        self.probed.append((tuple(interpreters), library))
        return self.having_it

    def start(self, interpreter: str) -> None:
        self.started.append(interpreter)
        print('{"changed": false, "started_by": "%s"}' % interpreter)
        sys.exit(0)


def _with(monkeypatch: pytest.MonkeyPatch, pythons: OtherPythons) -> OtherPythons:
    monkeypatch.setattr(_module, "probe_interpreters_for_module", pythons.probe)
    monkeypatch.setattr(_module, "respawn_module", pythons.start)
    return pythons


def _without(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """An import of it fails, as it does where it is not installed."""
    for name in [name for name in sys.modules if name.split(".")[0] == library] + [library]:
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]


def _message(library: str) -> str:
    return (
        "Failed to import the required Python library (%s) on %s's Python %s. Please read the module documentation and install it in"
        " the appropriate location. If the required library is installed, but Ansible is using the wrong Python interpreter, please"
        " consult the documentation on ansible_python_interpreter" % (library, platform.node(), sys.executable)
    )


@pytest.mark.parametrize(("module", "options"), EVERY_MODULE)
def test_without_requests_it_says_what_to_install_and_where(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, module: str, options: Dict[str, Any]
) -> None:
    pythons = _with(monkeypatch, OtherPythons())
    _without(monkeypatch, "requests")
    result = stage.run(module, **options)
    assert result.failed
    assert result.message == _message("requests")
    assert pythons.probed == [(("/usr/bin/python3", "/usr/libexec/platform-python", "/usr/bin/python"), "requests")]
    assert pythons.started == []
    assert stage.requests() == []


@pytest.mark.parametrize(("module", "options"), EVERY_MODULE)
def test_it_starts_again_under_a_python_that_has_requests(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, module: str, options: Dict[str, Any]
) -> None:
    pythons = _with(monkeypatch, OtherPythons("/usr/bin/python3"))
    _without(monkeypatch, "requests")
    assert stage.run(module, **options)["started_by"] == "/usr/bin/python3"
    assert pythons.started == ["/usr/bin/python3"]
    assert stage.requests() == []


def test_it_starts_again_once_only(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    pythons = _with(monkeypatch, OtherPythons("/usr/bin/python3"))
    _without(monkeypatch, "requests")
    monkeypatch.setattr(sys.modules["__main__"], "_respawned", True, raising=False)
    result = stage.info()
    assert result.failed
    assert result.message == _message("requests")
    assert (pythons.probed, pythons.started) == ([], [])


def test_jmespath_is_needed_only_for_a_query(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    pythons = _with(monkeypatch, OtherPythons())
    _without(monkeypatch, "jmespath")
    assert not stage.info().failed
    assert not stage.wait().failed
    assert not stage.approve().failed
    result = stage.info(query="events")
    assert result.failed
    assert result.message == _message("jmespath")
    assert [library for _interpreters, library in pythons.probed] == ["requests, jmespath"]


def test_it_starts_again_under_a_python_that_has_jmespath(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    pythons = _with(monkeypatch, OtherPythons("/usr/libexec/platform-python"))
    _without(monkeypatch, "jmespath")
    assert stage.info(query="events")["started_by"] == "/usr/libexec/platform-python"
    assert pythons.started == ["/usr/libexec/platform-python"]
