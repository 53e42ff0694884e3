# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role imds_simulator as a service on a real host, on both versions of Ansible."""

from __future__ import annotations

import json
from typing import Any, List

from lab import Lab
from lab.ansible import Controller, Played

HOST = "worker2"
SCOPES = [{"name": "web", "kind": "availability_set", "vms": ["web_0", "web_1"]}]
MADE = (
    "/usr/local/lib/imds-simulator",
    "/etc/imds-simulator",
    "/usr/local/bin/imds-simulator",
    "/etc/systemd/system/imds-simulator.service",
)


def _play(controller: Controller, *, check: bool = False, **variables: Any) -> Played:
    role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.imds_simulator"}}
    played = controller.play([role], hosts=HOST, check=check, ansible_become=True, imds_simulator_scopes=SCOPES, **variables)
    assert played.code == 0, played.output
    return played


def _changed(played: Played) -> List[str]:
    return [task for task, hosts in played.results.items() if hosts.get(HOST, {}).get("changed")]


def test_the_simulator_lives_on_a_host_from_installation_to_removal(lab: Lab, controller: Controller) -> None:
    host = lab.hosts[HOST]
    assert _changed(_play(controller, check=True))
    assert [path for path in MADE if host.shell("test -e %s; echo $?" % path).strip() == "0"] == []

    assert _changed(_play(controller))
    assert _changed(_play(controller)) == []
    assert host.run("systemctl", "is-active", "imds-simulator").strip() == "active"
    assert host.run("systemctl", "is-enabled", "imds-simulator").strip() == "enabled"
    assert host.run("stat", "--format=%U", "/proc/%s" % _main_process(lab)).strip() not in ("root", "ops")

    announced = json.loads(host.run("imds-simulator", "schedule", "Reboot", "web_0", "--notice", "15m", "--json"))
    told = controller.play(
        [{"name": "info", "cloud_maintenance.azure.azure_scheduled_events_info": {"endpoint": "http://127.0.0.1:9254/vm/web_1"}}],
        hosts=HOST,
    )
    assert [event["event_id"] for event in told.results["info"][HOST]["events"]] == [announced["event_id"]]

    before = host.boot_id
    lab.schedule("Reboot", host, notice=1).wait("gone")
    assert host.boot_id != before
    assert "2 VMs in 1 scope" in host.run("imds-simulator", "status")

    assert _changed(_play(controller, imds_simulator_state="absent", check=True))
    assert host.run("systemctl", "is-active", "imds-simulator").strip() == "active"
    assert _changed(_play(controller, imds_simulator_state="absent"))
    assert _changed(_play(controller, imds_simulator_state="absent")) == []
    assert [path for path in MADE if host.shell("test -e %s; echo $?" % path).strip() == "0"] == []


def _main_process(lab: Lab) -> str:
    return lab.hosts[HOST].run("systemctl", "show", "--property=MainPID", "--value", "imds-simulator").strip()
