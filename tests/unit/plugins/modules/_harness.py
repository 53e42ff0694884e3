# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module as Ansible does, in this process, against the simulator over loopback.

Private to the tests. Replaced are only the clock (`Hands`) and, where a test says so, the HTTP seam (`Stage.after`).
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
from dataclasses import dataclass, field
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Mapping, Optional
from unittest import mock

import pytest
from ansible.module_utils import basic
from ansible.module_utils.common import warnings as ansible_warnings
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _http, _imds, _module
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from imds_simulator import Simulator

INFO = "azure_scheduled_events_info"
APPROVE = "azure_scheduled_event_approve"
WAIT = "azure_scheduled_event_wait"
MODULES = (INFO, APPROVE, WAIT)
# Asks no metadata service, but a command on the host.
HANDLERS = "azure_event_handlers"

# Imported once: a test of the lookup may put Ansible's own loader of collections in place later.
_PLUGINS = {
    name: importlib.import_module("ansible_collections.cloud_maintenance.azure.plugins.modules." + name) for name in (*MODULES, HANDLERS)
}

# Imported here already, since ansible-test forks a process for each test, and each of them would import them anew.
for _library in ("requests", "jmespath"):
    importlib.import_module(_library)

# 2026-11-18T09:46:00Z: where the simulator's clock stands, so that messages with times can be compared.
START = 1794995160.0
EVENTS_PATH = "/metadata/scheduledevents"
INSTANCE_PATH = "/metadata/instance"

FIRST = "602D9444-D2CD-49C7-8624-8643E7171297"
SECOND = "C7061BAC-AFDC-4513-B24B-AA5F13A16123"
THIRD = "A123BC45-1234-5678-AB90-ABCDEF123456"
NEVER = "00000000-0000-4000-8000-00000000DEAD"


@dataclass(frozen=True)
class Result:
    """What a module printed when it left."""

    values: Dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def failed(self) -> bool:
        return bool(self.values.get("failed"))

    @property
    def message(self) -> str:
        return str(self.values.get("msg", ""))

    @property
    def changed(self) -> bool:
        return bool(self.values["changed"])

    @property
    def warnings(self) -> List[str]:
        return [_text_of(warning) for warning in self.values.get("warnings", ())]


class Hands:
    """The clock of a test. It stands with the simulator's clock, and to sleep is to move both."""

    def __init__(self, simulator: Any) -> None:
        self._simulator = simulator
        self._acts: Dict[int, List[Callable[[], object]]] = {}
        self.slept: List[float] = []

    def during_sleep(self, number: int, act: Callable[[], object]) -> None:
        """Let something happen in the n-th pause of the module, before the time passes."""
        self._acts.setdefault(number, []).append(act)

    def advance(self, seconds: float) -> None:
        self._simulator.advance(seconds)

    def clock(self) -> Clock:
        return Clock(wall=self._simulator.now, monotonic=self._simulator.now, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        assert len(self.slept) < 10000, "the module never stops waiting"
        for act in self._acts.get(len(self.slept), ()):
            act()
        self.advance(seconds)


@dataclass
class Stage:
    """A simulator with the scope `web` of three VMs, a VM by itself, and modules that run on one of them."""

    simulator: Any
    hands: Hands
    patch: pytest.MonkeyPatch
    endpoint: str = ""
    closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __post_init__(self) -> None:
        self.endpoint = self.endpoint or str(self.simulator.endpoint("web_0"))
        self.patch.setattr(_module, "Clock", self.hands.clock)

    @property
    def url(self) -> str:
        return self.endpoint + EVENTS_PATH

    @property
    def instance_url(self) -> str:
        return self.endpoint + INSTANCE_PATH

    def on(self, vm: str) -> Stage:
        """From now on the modules run on this VM."""
        self.endpoint = str(self.simulator.endpoint(vm))
        return self

    def reboot(self, *resources: str, **options: Any) -> Any:
        """A Reboot of these VMs, announced for 10:00."""
        return self.schedule("Reboot", *(resources or ("web_0",)), **options)

    def schedule(self, event_type: str, *resources: str, **options: Any) -> Any:
        return self.simulator.schedule(event_type, list(resources), **{"notice": 840, "event_id": FIRST, **options})

    def answer(self, body: str, *, path: str = "events", status: int = 200, **headers: str) -> None:
        """The next answer to a GET is this one."""
        self.simulator.fault("status", verb="GET", path=path, status=status, body=body, headers=headers)

    def after(self, verb: str, act: Callable[[], object]) -> None:
        """Let something happen after each answer to a request of this verb: the HTTP seam, with a world behind it."""

        class EventfulTransport(_http.RequestsTransport):
            def __call__(self, request: _http.Request, timeout: float) -> _http.RawAnswer:
                try:
                    return super().__call__(request, timeout)
                finally:
                    if request.method == verb:
                        act()

        self.patch.setattr(_imds, "RequestsTransport", EventfulTransport)

    def slow(self, seconds: float, *, verb: str = "GET") -> None:
        """Each request of this verb takes so many seconds by the clock of the test."""
        self.after(verb, lambda: self.hands.advance(seconds))

    def run(self, module: str, *, check: bool = False, diff: bool = False, **options: Any) -> Result:
        given = {"endpoint": self.endpoint, "timeout": "10s", "retry_for": "0", **options}
        return run_module(module, {key: value for key, value in given.items() if value is not None}, check=check, diff=diff)

    def info(self, **options: Any) -> Result:
        return self.run(INFO, **options)

    def approve(self, *event_ids: str, **options: Any) -> Result:
        return self.run(APPROVE, event_ids=list(event_ids), **options)

    def wait(self, *event_ids: str, **options: Any) -> Result:
        return self.run(WAIT, event_ids=list(event_ids), **options)

    def posts(self) -> List[List[str]]:
        """The ids of each post that the service received."""
        return [[entry["EventId"] for entry in record.json()["StartRequests"]] for record in self.simulator.posts()]

    def requests(self, path: Optional[str] = None) -> List[str]:
        return [record.verb for record in self.simulator.requests(path=path)]


@contextlib.contextmanager
def stage(patch: pytest.MonkeyPatch, **settings: Any) -> Iterator[Stage]:
    with Simulator(clock="manual", start=START, **settings) as simulator:
        simulator.add_scope("web", kind="availability_set", vms=["web_0", "web_1", "web_2"])
        simulator.add_vm("lonely")
        prepared = Stage(simulator, Hands(simulator), patch)
        with prepared.closing:
            yield prepared


def run_module(module: str, options: Mapping[str, Any], *, check: bool = False, diff: bool = False) -> Result:
    """The module's main(), from its arguments to the JSON that it prints."""
    arguments = {**options, "_ansible_check_mode": check, "_ansible_diff": diff}
    _forget_warnings()
    output = io.StringIO()
    with _arguments(arguments), _on_a_target(), contextlib.redirect_stdout(output), pytest.raises(SystemExit) as left:
        _PLUGINS[module].main()
    result = Result(json.loads(output.getvalue()))
    assert bool(left.value.code) == result.failed
    return result


def _arguments(arguments: Dict[str, Any]) -> ContextManager[None]:
    try:
        from ansible.module_utils.testing import patch_module_args
    except ImportError:  # ansible-core before 2.19
        return _older_arguments(arguments)
    return patch_module_args(arguments)  # type: ignore[no-any-return]


@contextlib.contextmanager
def _older_arguments(arguments: Dict[str, Any]) -> Iterator[None]:
    before = basic._ANSIBLE_ARGS
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode("utf-8")
    try:
        yield
    finally:
        basic._ANSIBLE_ARGS = before


@contextlib.contextmanager
def _on_a_target() -> Iterator[None]:
    """Since ansible-core 2.19 modules warn elsewhere in a process that has imported the controller, as tests of the lookup do."""
    try:
        from ansible.module_utils import _internal
    except ImportError:
        yield
        return
    with mock.patch.object(_internal, "is_controller", False, create=True):
        yield


def _forget_warnings() -> None:
    """Ansible collects warnings per process, which for it is per module."""
    ansible_warnings._global_warnings.clear()
    ansible_warnings._global_deprecations.clear()


def _text_of(warning: Any) -> str:
    """ansible-core before 2.19 sends text, newer ones an object."""
    return warning if isinstance(warning, str) else str(warning["event"]["msg"])
