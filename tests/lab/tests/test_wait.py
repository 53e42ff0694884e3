# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""azure_scheduled_event_wait from beside, and from within."""

from __future__ import annotations

from typing import Any, Dict, List

from lab import Lab
from lab.ansible import Controller

INFO = "cloud_maintenance.azure.azure_scheduled_events_info"
WAIT = "cloud_maintenance.azure.azure_scheduled_event_wait"


def _tasks(event_id: str) -> List[Dict[str, Any]]:
    return [
        {"name": "announced", INFO: {"event_ids": [event_id]}},
        {"name": "started", WAIT: {"event_ids": [event_id], "until": "started", "wait_timeout": "60s", "poll_interval": "1s"}},
        {"name": "gone", WAIT: {"event_ids": [event_id], "wait_timeout": "90s", "poll_interval": "1s"}},
    ]


def test_another_host_follows_a_reboot_from_scheduled_to_gone(lab: Lab, newest: Controller) -> None:
    """C-21, C-24: the neighbour sees all of it, while the host itself cannot be asked."""
    hit, neighbour = lab.hosts["frontend1"], lab.hosts["frontend2"]
    lab.habits(impact_after=1, away=3, gap=1)
    before = hit.boot_id
    event = lab.schedule("Reboot", hit, notice=600)
    with newest.starting(event, after="announced"):
        played = newest.play(_tasks(event.event_id), hosts=neighbour.name)
    assert played.code == 0, played.output
    (announced,), (started,), (gone,) = (played.results[name][neighbour.name]["events"] for name in ("announced", "started", "gone"))
    assert (announced["event_status"], started["state"], gone["state"]) == ("Scheduled", "started", "gone")
    assert gone["started_seen"] is True
    assert hit.boot_id != before
    assert event.state == "gone"


def test_a_host_survives_its_own_freeze_while_it_waits(lab: Lab, newest: Controller) -> None:
    """C-14: the module, its connection to the service and Ansible's to the host are all stopped, and all go on."""
    host = lab.hosts["worker1"]
    lab.habits(impact_after=1.5, away=4, gap=1)
    before = host.boot_id
    event = lab.schedule("Freeze", host, notice=600)
    with newest.starting(event, after="announced"):
        played = newest.play(_tasks(event.event_id), hosts=host.name)
    assert played.code == 0, played.output
    (gone,) = played.results["gone"][host.name]["events"]
    assert gone["state"] == "gone"
    assert host.boot_id == before
    asked = [request["at"] for request in lab.requests(host)]
    assert max(later - earlier for earlier, later in zip(asked, asked[1:])) > 3.5, "it was not frozen while it waited"
