# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service behind HAProxy while Azure reboots, redeploys and freezes its hosts: with the rolling playbook no request is lost.

CLOUD_MAINTENANCE_RUNS=3 plays everything three times, with the newest version of Ansible and the oldest in turn, and -s shows the figures.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

import pytest
from lab import Lab
from lab.ansible import Controller
from lab.client import LabEvent
from lab.under_load import POOL, Load, Service

RUNS = range(int(os.environ.get("CLOUD_MAINTENANCE_RUNS", "1")))
PLAYBOOK = "cloud_maintenance.azure.rolling_maintenance"
BALANCER = "bastion"
BACKENDS = ("frontend1", "frontend2", "frontend3", "worker1", "worker2", "pool1")
# So many at the same time go out of service, with the playbook and without.
AT_A_TIME = 2
# A Freeze that nobody takes for a short one. Whoever waits for a frozen host has lost patience before it goes on.
AWAY, ANNOUNCED = 12.0, 30
# From a post to Started. Whoever posts may be hit by another event of the same wave.
START_DELAY = 3.0
EVENTS: Sequence[Tuple[str, Sequence[str]]] = (
    ("Reboot", ("frontend1", "frontend2")),
    ("Reboot", ("frontend3",)),
    ("Reboot", ("worker1",)),
    ("Redeploy", ("worker2",)),
    ("Freeze", ("pool1",)),
)
# Long before each of them would come by itself: what is hit before a wave is over counts as out of service.
NOTICE = 4 * 3600.0
OPTIONS: Mapping[str, Any] = {
    "rules": [{"name": "at once", "event_types": ["Freeze", "Reboot", "Redeploy"], "action": "prepare_and_approve", "start": "now"}],
    "max_unavailable": AT_A_TIME,
    "prepare_budget": "60s",
    "approve_reserve": "10s",
    "recover_budget": "30s",
    "settle": "0s",
    "recover_timeout": "90s",
    "return_timeout": "90s",
    "watch_timeout": "120s",
}
# Where the drains are: on the hosts, or on the controller.
IN_HANDLERS, IN_TASKS = "drains in handlers", "drains in delegated tasks"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(hosts=7, away=AWAY) as opened:
        yield opened


@pytest.fixture(scope="module")
def service(lab: Lab) -> Service:
    made = Service(lab, BALANCER, BACKENDS)
    made.start()
    return made


@pytest.fixture(scope="module")
def controllers(lab: Lab, programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> List[Controller]:
    return [Controller(lab, core, programs[core], tmp_path_factory.mktemp("controller")) for core in ("newest", "2.16")]


@pytest.fixture(scope="module", params=[IN_HANDLERS, IN_TASKS])
def extension_points(
    request: pytest.FixtureRequest, controllers: List[Controller], service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, List[str]]:
    """The role is on the hosts, with the drain or without any handler; in the latter case the options that bring the drain along."""
    in_handlers = request.param == IN_HANDLERS
    role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers"}}
    installed = controllers[0].play(
        [role],
        hosts=",".join(BACKENDS),
        timeout=300,
        ansible_become=True,
        event_handlers_mode="watch",
        event_handlers_approve_reserve="10s",
        event_handlers_recover_budget="30s",
        event_handlers_handlers=[service.handler()] if in_handlers else [],
        event_handlers_allow_empty_prepare=not in_handlers,
    )
    assert installed.code == 0, installed.output
    if in_handlers:
        return {}
    folder = tmp_path_factory.mktemp("tasks")
    return {"before_prepare": [_tasks(folder, "leave")], "after_recover": [_tasks(folder, "enter")]}


def _tasks(folder: Path, what: str) -> str:
    """As the page on extension points has them, with a program of the lab in place of a module of another collection."""
    task: Dict[str, Any] = {
        "name": "Let the host %s the pool" % what,
        "ansible.builtin.command": "python3 -B %s %s web/{{ inventory_hostname }}" % (POOL, what),
        "delegate_to": BALANCER,
        "changed_when": True,
        "timeout": 60,
    }
    path = folder / (what + ".yml")
    path.write_text(json.dumps([task]), encoding="utf-8")
    return str(path)


def _announced(lab: Lab, events: Sequence[Tuple[str, Sequence[str]]], *, notice: float) -> List[LabEvent]:
    options = {"notice": notice, "duration": ANNOUNCED, "start_delay": START_DELAY}
    return [lab.schedule(event_type, *(lab.hosts[name] for name in names), **options) for event_type, names in events]


def _boots(lab: Lab) -> Dict[str, int]:
    return {name: int(lab.hosts[name].state()["boots"]) for name in BACKENDS}


def _booted(lab: Lab, before: Mapping[str, int]) -> Dict[str, int]:
    return {name: boots - before[name] for name, boots in _boots(lab).items()}


# What EVENTS do to each host.
ONCE = {name: 0 if name == "pool1" else 1 for name in BACKENDS}


@pytest.mark.parametrize("run", RUNS)
def test_no_request_is_lost_with_the_playbook(
    run: int,
    request: pytest.FixtureRequest,
    lab: Lab,
    service: Service,
    controllers: List[Controller],
    extension_points: Mapping[str, List[str]],
) -> None:
    """design.md, Rolling maintenance: five events, one of them of two hosts, and two hosts at a time."""
    service.wait_until_all_serve()
    before = _boots(lab)
    controller = controllers[run % len(controllers)]
    events = _announced(lab, EVENTS, notice=NOTICE)
    options = {**OPTIONS, **extension_points}
    with Load(service) as load:
        played = controller.play_book(PLAYBOOK, timeout=420, **{"rolling_maintenance_" + name: value for name, value in options.items()})
    print("%s, run %d, ansible-core %s: %d good, %d lost" % (request.node.callspec.id, run + 1, controller.core, load.good, len(load.lost)))
    assert played.code == 0, played.output
    assert load.lost == []
    assert load.good > 500
    assert [(event.state, event.as_dict()["approved_at"] is not None) for event in events] == [("gone", True)] * len(EVENTS)
    assert _booted(lab, before) == ONCE
    service.wait_until_all_serve()


@pytest.mark.parametrize("run", RUNS)
def test_many_are_lost_when_nobody_prepares(run: int, lab: Lab, service: Service) -> None:
    """design.md, Rolling maintenance: the same events, as many hosts at a time, and the clients see that something is missing."""
    before = _boots(lab)
    good, lost = 0, 0
    for wave in (EVENTS[:1], EVENTS[1:3], EVENTS[3:]):
        service.wait_until_all_serve()
        with Load(service) as load:
            for event in _announced(lab, wave, notice=3.0):
                event.wait("gone")
            service.wait_until_all_serve()
        good, lost = good + load.good, lost + len(load.lost)
    print("nobody prepares, run %d: %d good, %d lost" % (run + 1, good, lost))
    assert lost > 0, "the measurement sees nothing of it"
    assert _booted(lab, before) == ONCE
