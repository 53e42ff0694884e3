# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting until events have started, or are gone.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from ._clock import Clock
from ._document import STARTED
from ._errors import ServiceError
from ._imds import MetadataService
from ._time import format_instant, say_duration
from ._watch import Follower, Sighting, Watch, say_start, settle, sighting_result

UNTIL_STARTED, UNTIL_GONE = "started", "gone"


@dataclass(frozen=True)
class Ended:
    """The end of a waiting; failure is the sentence for the operator when it did not end as asked."""

    events: List[Dict[str, Any]]
    waited_seconds: int
    failure: Optional[str] = None


@dataclass(frozen=True)
class Wait:
    """What is waited for, and how long."""

    event_ids: Tuple[str, ...]
    until: str
    wait_timeout: float
    poll_interval: float
    absent_allowed: bool

    def look(self, service: MetadataService, clock: Clock) -> Ended:
        """How things stand now, without waiting for others."""
        began = clock.monotonic()
        watch = Watch(self.event_ids)
        if self.event_ids:
            settle(service, clock, watch)
        return self._ended(watch, clock, began, self._absence(watch, clock))

    def run(self, service: MetadataService, clock: Clock) -> Ended:
        began = clock.monotonic()
        watch = Watch(self.event_ids)
        if not self.event_ids:
            return self._ended(watch, clock, began, None)
        followed = Follower(service, clock).follow(watch, self._settled, wait_timeout=self.wait_timeout, poll_interval=self.poll_interval)
        failure = self._absence(watch, clock) if followed.reached else self._unreached(watch, clock, began, followed.error)
        return self._ended(watch, clock, began, failure)

    def _ended(self, watch: Watch, clock: Clock, began: float, failure: Optional[str]) -> Ended:
        now = clock.wall()
        events = [sighting_result(sighting, now=now) for sighting in watch.sightings]
        return Ended(events, int(clock.monotonic() - began), failure)

    def _settled(self, watch: Watch) -> bool:
        if watch.absent and not self.absent_allowed:
            return True
        return all(self._satisfied(sighting) for sighting in watch.sightings)

    def _satisfied(self, sighting: Sighting) -> bool:
        return sighting.over if self.until == UNTIL_GONE else sighting.began

    def _absence(self, watch: Watch, clock: Clock) -> Optional[str]:
        """Nobody waits any longer then, so it tells of the others too."""
        if self.absent_allowed or not watch.absent:
            return None
        ids = ", ".join(sighting.event_id for sighting in watch.absent)
        text = (
            "No document has %s: the event is long over, or the id is mistyped."
            " Look with azure_scheduled_events_info; if that is all right, set allow_absent." % ids
        )
        return " ".join([text, *self._say_waiting(watch, clock)])

    def _unreached(self, watch: Watch, clock: Clock, began: float, error: Optional[ServiceError]) -> str:
        waited = say_duration(clock.monotonic() - began)
        text = " ".join(["Waited %s for events to be %s." % (waited, self.until), *self._say_waiting(watch, clock)])
        return text if error is None else "%s The last look failed: %s" % (text, error.message)

    def _say_waiting(self, watch: Watch, clock: Clock) -> List[str]:
        now = clock.wall()
        return [_say(sighting, now) for sighting in watch.sightings if not self._satisfied(sighting)]


def _say(sighting: Sighting, now: float) -> str:
    """How it was when it was last seen, which may be long ago."""
    event = sighting.event
    if event is None or sighting.last_seen is None:
        return "Event %s was not seen in any answer." % sighting.event_id
    text = "Event %s (%s of %s) was %s when last seen, at %s" % (
        sighting.event_id,
        event.event_type,
        ", ".join(event.resources),
        STARTED if event.started else "still " + event.event_status,
        format_instant(sighting.last_seen),
    )
    if event.started and sighting.first_started is not None:
        text += " (Started since %s or earlier)" % format_instant(sighting.first_started)
    if sighting.unsure:
        return text + ", and is missing in the last answer, which alone proves nothing."
    return text + "." if event.started else "%s. %s" % (text, say_start(event, now))
