# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A night: a run at which several tests look, and what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Optional

from fleet import Fleet, Host, Played
from imds_simulator import Event

DAY = 86400.0
# Everybody may go at once: here each event is looked at alone.
ANY_NUMBER: Dict[str, Any] = {"max_unavailable": "100%", "min_available": 0}


@dataclass(frozen=True)
class Night:
    """A run, and the events that came before it and in it."""

    fleet: Fleet
    events: Dict[str, Event]
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

    def entry(self, name: str) -> Dict[str, Any]:
        """What the plan says of it."""
        wanted = self.events[name].event_id.lower()
        (found,) = [one for one in self.run.stats["azure_maintenance_events"] if one["event"]["event_id"].lower() == wanted]
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
