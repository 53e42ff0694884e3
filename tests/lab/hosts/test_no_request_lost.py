# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service behind HAProxy while every one of its hosts is rebooted by Azure: with handlers and agent no request is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, List

import pytest
from lab import Lab
from lab.ansible import Controller
from lab.guarded import Guarded
from lab.under_load import Load, Service

BALANCER, *BACKENDS = ["frontend1", "frontend2", "worker1", "worker2"]
RULES = [{"name": "all", "event_types": ["Reboot"], "action": "prepare_and_approve", "start": "now"}]
SETTINGS = {"rules": RULES, "approve_reserve": "10s", "prepare_budget": "60s", "recover_budget": "30s"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(hosts=4) as opened:
        yield opened


@pytest.fixture(scope="module")
def service(lab: Lab) -> Service:
    made = Service(lab, BALANCER, BACKENDS)
    made.start()
    return made


@pytest.fixture(scope="module")
def backends(lab: Lab, service: Service, newest_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> List[Guarded]:
    """The service is up, and the role on the hosts that serve."""
    controller = Controller(lab, "newest", newest_programs, tmp_path_factory.mktemp("controller"))
    role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers"}}
    installed = controller.play(
        [role],
        hosts=",".join(BACKENDS),
        ansible_become=True,
        event_handlers_mode="watch",
        event_handlers_handlers=[service.handler()],
        timeout=300,
    )
    assert installed.code == 0, installed.output
    service.wait_until_all_serve()
    return [Guarded(lab, lab.hosts[name]) for name in BACKENDS]


def test_no_request_is_lost_with_handlers_and_many_without(lab: Lab, service: Service, backends: List[Guarded]) -> None:
    """Every backend is rebooted in turn; nobody is at the controller."""
    lab.habits(away=2.0, impact_after=0.0)
    for host in backends:
        host.configure(**SETTINGS, mode="prepare_and_approve")
    with Load(service) as load:
        for host in backends:
            event = lab.schedule("Reboot", host.host, notice=900)
            host.wait(event, "CLOSED", timeout=120)
            assert host.evidence(event)["approved_by"] == "us"
    print("with handlers: %d good, %d lost" % (load.good, len(load.lost)))
    assert load.lost == []
    assert load.good > 500

    for host in backends:
        host.configure(**SETTINGS, mode="watch")
    for host in backends:
        with Load(service) as bare:
            event = lab.schedule("Reboot", host.host, notice=3)
            event.wait("gone")
            host.host.wait_until_it_serves()
        print("without: %d good, %d lost" % (bare.good, len(bare.lost)))
        assert bare.lost != [], "the measurement sees nothing"
