# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet is what the other tests take it for."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from fleet import Fleet, Played, Running, until

ASK: Dict[str, Any] = {
    "cloud_maintenance.azure.azure_event_handlers": {
        "command": "{{ rolling_maintenance_command }}",
        "root": "{{ rolling_maintenance_root }}",
        "event_id": "{{ event }}",
    },
    "name": "Ask the host",
    "timeout": 5,
}


def _begin(fleet: Fleet, core: str, tasks: List[Dict[str, Any]], **extra: Any) -> Running:
    book = fleet.folder / "book.yml"
    book.write_text(json.dumps([{"name": "Try", "hosts": "all", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
    return fleet.begin(core, playbook=str(book), extra=extra)


def _play(fleet: Fleet, core: str, tasks: List[Dict[str, Any]], **extra: Any) -> Played:
    return _begin(fleet, core, tasks, **extra).wait()


def test_a_host_answers_or_is_dark_or_hangs_until_its_connection_is_thrown_away(fleet: Fleet, core: str) -> None:
    fleet.add("web1 web2 web3 web4")
    event = fleet.schedule("Reboot", "web1")
    fleet["web1"].wait(event, "SEEN")
    fleet["web2"].go_dark()
    fleet["web3"].hang()
    fleet["web4"].mark("stale")
    again = {"ansible.builtin.wait_for_connection": {"timeout": 5}, "name": "Come back", "when": "inventory_hostname == 'web4'"}
    run = _play(fleet, core, [{**ASK, "ignore_errors": True, "ignore_unreachable": True}, again], event=event.event_id)
    outcomes = {host: one.outcome for host, one in run.ran("Ask the host").items()}
    assert outcomes == {"web1": "ok", "web2": "unreachable", "web3": "ignored", "web4": "ignored"}
    assert run.ran("Ask the host")["web1"].result["state"] == "SEEN"
    assert run.ran("Come back")["web4"].outcome == "ok"
    assert (run.code, run.message) == (0, "")


def test_a_module_on_a_host_that_goes_dark_is_cut_off_and_goes_on_there(fleet: Fleet) -> None:
    fleet.add("web1")
    begun, done = fleet.folder / "begun", fleet.folder / "done"
    run = _begin(fleet, "newest", [{"ansible.builtin.raw": "touch %s; sleep 2; touch %s" % (begun, done), "name": "Work"}])
    until(begun.exists, timeout=30, what="it is at work")
    fleet["web1"].go_dark()
    assert run.wait().ran("Work")["web1"].outcome == "unreachable"
    assert not done.exists()
    until(done.exists, timeout=5, what="it goes on")


def test_azure_reboots_a_host_and_its_own_guard_puts_it_back(fleet: Fleet) -> None:
    fleet.add("web1")
    fleet.ready()
    host = fleet["web1"]
    event = fleet.schedule("Reboot", "web1", runs_for=1.0)
    asked = host.ask("request", "prepare", "--run-id", "1")
    assert (asked["verdict"], host.in_service) == ("ready", False)
    boot = host.status()["boot"]
    fleet.simulator.start(event.event_id)
    assert not host.is_up
    host.wait(event, "CLOSED")
    assert host.in_service
    assert host.status()["boot"] != boot
    assert host.runs() == ["10-pool prepare", "10-pool recover"]


def test_the_inventory_knows_neither_the_vm_names_nor_their_letters(fleet: Fleet) -> None:
    fleet.add("web1", scope="web", groups=["front"])
    known = fleet._inventory("newest")["all"]
    assert known["hosts"]["web1"]["name"] == "vm-web1"
    assert fleet["web1"].vm_name == "Vm-web1"
    assert known["hosts"]["web1"]["rolling_maintenance_scope"] == "web"
    assert known["children"] == {"front": {"hosts": {"web1": {}}}}
