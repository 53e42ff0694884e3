# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has been seen of some events, and waiting for what is not there yet.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterable, List, Optional

from ._clock import Clock
from ._document import Event, event_result, fold
from ._errors import DocumentError, ServiceError
from ._imds import MetadataService, Reading
from ._time import format_instant, say_duration

# Gone means two good answers this far apart without the event: one answer may be empty for a moment, and the
# hosts of a scope may see different ones (C-15, C-21).
GONE_AFTER = 10.0

# An answer may lack an event once by mistake; a service that does it again contradicts itself.
_MOST_RETURNS = 1

STATE_SCHEDULED, STATE_STARTED, STATE_GONE, STATE_ABSENT = "scheduled", "started", "gone", "absent"


@dataclass(frozen=True)
class Sighting:
    """What is known of one event so far. The three times of sight are wall time, missing_since is monotonic."""

    event_id: str
    event: Optional[Event] = None
    missing_since: Optional[float] = None
    over: bool = False
    returns: int = 0
    first_seen: Optional[float] = None
    first_started: Optional[float] = None
    last_seen: Optional[float] = None

    @property
    def started_seen(self) -> bool:
        return self.first_started is not None

    @property
    def unsure(self) -> bool:
        """The last answer lacked it, and one answer proves nothing."""
        return self.missing_since is not None and not self.over

    @property
    def began(self) -> bool:
        """It was seen started, or is over: nothing to wait for before its VMs are hit."""
        return self.over or self.started_seen

    @property
    def state(self) -> str:
        """Absent: over, and never seen; only a typing error looks like that, or an event long past."""
        if self.event is None:
            return STATE_ABSENT
        if self.over:
            return STATE_GONE
        return STATE_STARTED if self.event.started else STATE_SCHEDULED


class Watch:
    """Follows some events through the readings that it is shown."""

    def __init__(self, event_ids: Iterable[str]) -> None:
        self._sightings: Dict[str, Sighting] = {}
        for event_id in event_ids:
            self._sightings.setdefault(fold(event_id), Sighting(event_id))

    @property
    def sightings(self) -> List[Sighting]:
        return list(self._sightings.values())

    @property
    def unsure(self) -> bool:
        return any(sighting.unsure for sighting in self.sightings)

    @property
    def absent(self) -> List[Sighting]:
        return [sighting for sighting in self.sightings if sighting.over and sighting.event is None]

    def observe(self, reading: Reading) -> None:
        for key, sighting in self._sightings.items():
            event = reading.document.find(sighting.event_id)
            self._sightings[key] = _missed(sighting, reading) if event is None else _seen(sighting, event, reading)


def _seen(sighting: Sighting, event: Event, reading: Reading) -> Sighting:
    return replace(
        sighting,
        event=event,
        missing_since=None,
        over=False,
        returns=sighting.returns + (sighting.event is not None and sighting.missing_since is not None),
        first_seen=reading.queried_at if sighting.first_seen is None else sighting.first_seen,
        first_started=reading.queried_at if event.started and not sighting.started_seen else sighting.first_started,
        last_seen=reading.queried_at,
    )


def _missed(sighting: Sighting, reading: Reading) -> Sighting:
    if sighting.missing_since is None:
        return replace(sighting, missing_since=reading.asked_at)
    return replace(sighting, over=sighting.over or reading.asked_at - sighting.missing_since >= GONE_AFTER)


def settle(service: MetadataService, clock: Clock, watch: Watch) -> Reading:
    """The last reading after which each event is known to be there or gone: that may take more than one."""
    while True:
        reading = service.read()
        watch.observe(reading)
        if not watch.unsure:
            return reading
        if any(sighting.returns > _MOST_RETURNS for sighting in watch.sightings):
            raise DocumentError(
                "The answers of %s contradict each other: events come and go in them. Try again in a minute." % service.events_url
            )
        clock.sleep(GONE_AFTER)


@dataclass(frozen=True)
class Followed:
    """How a waiting ended: whether as asked, and the error of the last look if that one failed."""

    reached: bool
    error: Optional[ServiceError] = None


class Follower:
    """Looks again and again until a condition holds or the time is over; bears every error that may pass."""

    def __init__(self, service: MetadataService, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    def follow(self, watch: Watch, until: Callable[[Watch], bool], *, wait_timeout: float, poll_interval: float) -> Followed:
        deadline = self._clock.monotonic() + wait_timeout
        while True:
            error = self._look(watch, deadline - self._clock.monotonic())
            if error is None and until(watch):
                return Followed(True)
            left = deadline - self._clock.monotonic()
            if left <= 0 or (error is not None and error.permanent):
                return Followed(False, error)
            asked_for = error.retry_after if error is not None else 0.0
            self._clock.sleep(min(left, max(asked_for, _pause(watch, poll_interval))))

    def _look(self, watch: Watch, left: float) -> Optional[ServiceError]:
        try:
            watch.observe(self._service.read(at_most=max(0.0, left)))
        except ServiceError as error:
            return error
        return None


def _pause(watch: Watch, poll_interval: float) -> float:
    return min(poll_interval, GONE_AFTER) if watch.unsure else poll_interval


def sighting_result(sighting: Sighting, *, now: float) -> Dict[str, Any]:
    """One event of a wait, as a result shows it."""
    return {
        "event_id": sighting.event_id,
        "state": sighting.state,
        "started_seen": sighting.started_seen,
        "first_seen": _said(sighting.first_seen),
        "last_seen": _said(sighting.last_seen),
        "event": None if sighting.event is None else event_result(sighting.event, queried_at=now, vm_name=None),
    }


def _said(instant: Optional[float]) -> Optional[str]:
    return None if instant is None else format_instant(instant)


def say_start(event: Event, now: float) -> str:
    """What Azure does by itself, and when: the end of every refusal (C-26)."""
    if event.not_before is None:
        return "Azure starts it at a time that it does not announce."
    left = event.not_before - now
    if left <= 0:
        return "Azure starts it anyway at any moment: its NotBefore was %s ago." % say_duration(left)
    return "Azure starts it anyway at %s (in %s) or shortly after." % (format_instant(event.not_before), say_duration(left))
