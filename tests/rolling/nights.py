# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A night: a run at which several tests look, and what is asked of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from fleet import Fleet, Host, Played
from imds_simulator import Event

HOUR, DAY = 3600.0, 86400.0
# Everybody may go at once: here each event is looked at alone.
ANY_NUMBER: Dict[str, Any] = {"max_unavailable": "100%", "min_available": 0}
# What is waited for in vain.
SHORT: Dict[str, Any] = {"start_timeout": "12s", "recover_timeout": "30s", "return_timeout": "25s"}
Task = Dict[str, Any]
ON_THE_CONTROLLER: Task = {"delegate_to": "localhost", "become": False}


def task_file(fleet: Fleet, name: str, *tasks: Task) -> str:
    """The path of a file with these tasks; YAML takes JSON."""
    path = fleet.folder / "hooks" / (name + ".yml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return str(path)


def undrain(fleet: Fleet, pool: Path) -> str:
    """The path of a file with a task that puts a host back into a pool on the controller."""
    touch = {"path": "%s/{{ inventory_hostname }}" % pool, "state": "touch", "mode": "0644"}
    return task_file(fleet, "undrain", {"name": "Put it back", "ansible.builtin.file": touch, **ON_THE_CONTROLLER})


@dataclass(frozen=True)
class Night:
    """A run, and the events that came before it and in it."""

    fleet: Fleet
    events: Mapping[str, Event]
    run: Played

    def told(self) -> str:
        return self.fleet.told()

    def posts(self, name: str) -> List[Any]:
        return self.fleet.posts(self.events[name])

    def result(self, name: str) -> str:
        """What came of it, by the controller's evidence."""
        return str(self.fleet.evidence_of(self.events[name])["result"])

    def nobody_approved(self, name: str) -> bool:
        return not self.posts(name) and not self.fleet.approved(self.events[name])

    def untouched(self, name: str, *hosts: str) -> bool:
        """Nobody has approved it, and none of these hosts has done anything."""
        return self.nobody_approved(name) and all(self.fleet[host].in_service and self.fleet[host].runs() == [] for host in hosts)

    def went_well(self, name: str, host: str) -> bool:
        """As if nothing else had happened."""
        record = (self.fleet[host].state(self.events[name]), self.fleet[host].in_service, self.fleet[host].runs())
        return record == ("CLOSED", True, ["10-pool prepare", "10-pool recover"]) and self.result(name) == "recovered"

    def entry(self, name: str) -> Dict[str, Any]:
        """What the plan says of it."""
        return entry_of(self.run, self.events[name])


@dataclass(frozen=True)
class Attempts:
    """Runs, each with something else that cannot be meant."""

    fleet: Fleet
    runs: Mapping[str, Played]

    def told(self) -> str:
        return self.fleet.told()


def entry_of(run: Played, event: Event) -> Dict[str, Any]:
    """What the plan of a run says of an event."""
    (found,) = [one for one in run.stats["azure_maintenance_events"] if one["event"]["event_id"].lower() == event.event_id.lower()]
    entry: Dict[str, Any] = found
    return entry


def moved_to(host: Host, event: Event, state: str) -> Optional[float]:
    """When the host came into a state for the first time, by its own record; to the second, and never too late."""
    moves = [line for line in host.evidence(event)["history"] if line.get("to") == state]
    return datetime.fromisoformat(moves[0]["at"].replace("Z", "+00:00")).timestamp() if moves else None


def committed_before(fleet: Fleet, post: Any, event: Event) -> List[str]:
    """The hosts of an event that had given their word when an approval of it was posted."""
    hosts = [fleet[vm.key] for vm in event.vms]
    given = {host.name: moved_to(host, event, "COMMITTED") for host in hosts}
    return sorted(name for name, at in given.items() if at is not None and at <= post.at)


def out_of_service(host: Host) -> List[Tuple[float, float]]:
    """From when to when its handler had it out of service, by what the handler has written."""
    begins: List[float] = []
    spans: List[Tuple[float, float]] = []
    log = host.folder / "handlers.log"
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        at, what, _name, phase = line.split()[:4]
        if (what, phase) == ("begin", "prepare"):
            begins.append(float(at))
        if (what, phase) == ("end", "recover") and begins:
            spans.append((begins.pop(), float(at)))
    return spans + [(begin, float("inf")) for begin in begins]
