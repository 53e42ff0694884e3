# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""azure_scheduled_event_wait from beside, and from within."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List

from lab import Host, Lab
from lab.ansible import Controller
from lab.client import LabEvent

INFO = "cloud_maintenance.azure.azure_scheduled_events_info"
WAIT = "cloud_maintenance.azure.azure_scheduled_event_wait"


# After the hosts are back the event stays in the document until the test ends it.
UNTIL_TOLD = 600


def _tasks(event_id: str) -> List[Dict[str, Any]]:
    return [
        {"name": "announced", INFO: {"event_ids": [event_id]}},
        {"name": "started", WAIT: {"event_ids": [event_id], "until": "started", "wait_timeout": "5m", "poll_interval": "1s"}},
        {"name": "gone", WAIT: {"event_ids": [event_id], "wait_timeout": "5m", "poll_interval": "1s"}},
    ]


def _followed(controller: Controller, event: LabEvent, host: Host, struck: Callable[[], bool]) -> Dict[str, Any]:
    """What the tasks say on a host that follows the event: announced, it starts; when it has struck and "gone" waits, it ends."""
    announced, asks = partial(controller.has_done, "announced", host), controller.asks_after("started", host)
    with controller.meanwhile((announced, event.start), (struck, _nothing), (asks, event.complete)):
        played = controller.play(_tasks(event.event_id), hosts=host.name, timeout=600)
    assert played.code == 0, played.output
    return {name: played.results[name][host.name]["events"][0] for name in ("announced", "started", "gone")}


def _nothing() -> None:
    pass


def test_another_host_follows_a_reboot_from_scheduled_to_gone(lab: Lab, newest: Controller) -> None:
    """C-21, C-24: the neighbour sees all of it, while the host itself cannot be asked."""
    hit, neighbour = lab.hosts["frontend1"], lab.hosts["frontend2"]
    lab.habits(impact_after=1, away=3, gap=UNTIL_TOLD)
    boots = hit.state()["boots"]
    event = lab.schedule("Reboot", hit, notice=3600)
    told = _followed(newest, event, neighbour, lambda: hit.state()["boots"] > boots)
    assert [told["announced"]["event_status"], told["started"]["state"], told["gone"]["state"]] == ["Scheduled", "started", "gone"]
    assert told["gone"]["started_seen"] is True
    assert event.state == "gone"


def test_a_host_survives_its_own_freeze_while_it_waits(lab: Lab, newest: Controller) -> None:
    """C-14: the module, its connection to the service and Ansible's to the host are all stopped, and all go on."""
    host = lab.hosts["worker1"]
    lab.habits(impact_after=1.5, away=4, gap=UNTIL_TOLD)
    before = host.boot_id
    event = lab.schedule("Freeze", host, notice=3600)

    thaws = host.state()["thaws"]
    told = _followed(newest, event, host, lambda: host.state()["thaws"] > thaws)
    assert told["gone"]["state"] == "gone"
    assert host.boot_id == before
