# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Approving events: the checks, the one post, and the reading that proves it.

Private to the collection. Each post, also a repeated one, is sent only when every check has passed on a document at
most two seconds old; the transport never repeats one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Set

from ._clock import Clock
from ._document import Event, event_result, fold
from ._errors import ApprovalRefused, ServiceError
from ._gate import Terms, objection
from ._imds import MetadataService, Reading
from ._time import say_duration
from ._watch import Follower, Sighting, Watch, say_start, settle

# How old the document of the checks may be. What changes within this time, nobody can prevent.
FRESH = 2.0
# Readings before a service that is too slow for a check is given up.
_MOST_READINGS = 3
# A post without a clear answer is repeated once (W-35), after a pause in which the event may start.
_PAUSE_BEFORE_REPEAT = 2.0
# A service that asks for a longer pause than this gets no second post: the operator has to know now.
_LONGEST_PAUSE = 30.0
# While waiting for the start; C-8 asks for one look a second at most.
_POLL_INTERVAL = 2.0

APPROVED, ALREADY_STARTED, NOW_GONE = "approved", "already_started", "gone"
STILL_SCHEDULED, WOULD_APPROVE, NOT_APPROVED = "still_scheduled", "would_approve", "refused"


@dataclass(frozen=True)
class Outcome:
    """What became of each id. failure is for the operator when it did not go as asked, missing were never seen."""

    results: List[Dict[str, Any]]
    before: Dict[str, str]
    posted: bool
    missing: List[str]
    failure: Optional[str] = None


@dataclass
class _Progress:
    """What has been sent and what came of it, by folded id."""

    accepted: Set[str] = field(default_factory=set)
    unclear: Dict[str, ServiceError] = field(default_factory=dict)
    refused: Set[str] = field(default_factory=set)
    due: Set[str] = field(default_factory=set)
    failures: List[str] = field(default_factory=list)

    @property
    def posted(self) -> Set[str]:
        return self.accepted | set(self.unclear)


class Approval:
    """One attempt to have some events approved, from the first reading to the proof."""

    def __init__(self, service: MetadataService, clock: Clock, *, event_ids: Iterable[str], terms: Terms) -> None:
        self._service = service
        self._clock = clock
        self._watch = Watch(event_ids)
        self._terms = terms
        self._progress = _Progress()
        self._before: Dict[str, str] = {}
        self._rehearsing = False

    def rehearse(self) -> Outcome:
        """Everything but the post."""
        self._rehearsing = True
        try:
            self._check(self._first_look())
        except ApprovalRefused as refusal:
            self._progress.failures.append(refusal.message)
        return self._outcome()

    def run(self, *, start_timeout: Optional[float]) -> Outcome:
        """Check, post and prove; with start_timeout also wait that long for the start."""
        try:
            reading = self._first_look()
            self._check(reading)
            self._post(set(self._progress.due), reading)
            self._prove(start_timeout)
        except ApprovalRefused as refusal:
            self._progress.failures.append(refusal.message)
        except ServiceError as error:
            if not self._progress.posted:
                raise
            self._progress.failures.append("The approval was sent, but what came of it cannot be read: %s" % error.message)
        return self._outcome()

    def _first_look(self) -> Reading:
        reading = self._look()
        self._before = {fold(sighting.event_id): sighting.state for sighting in self._watch.sightings}
        return reading

    def _look(self) -> Reading:
        return settle(self._service, self._clock, self._watch)

    def _young(self, reading: Reading) -> Reading:
        for _attempt in range(_MOST_READINGS):
            if self._age(reading) <= FRESH:
                return reading
            reading = self._look()
        raise ApprovalRefused(
            "%s: %s takes more than %s to answer, too long to know that the events are still the same. Try again in a minute."
            % (self._refusal(), self._service.events_url, say_duration(FRESH))
        )

    def _age(self, reading: Reading) -> float:
        return self._clock.monotonic() - reading.asked_at

    def _check(self, reading: Reading) -> None:
        """Sort out what is due for a post; one objection stops all of them."""
        progress = self._progress
        progress.due = set()
        reasons = []
        for sighting in self._watch.sightings:
            key = fold(sighting.event_id)
            if key in progress.accepted:
                continue
            reason = self._objection(sighting, reading.queried_at)
            if reason:
                progress.refused.add(key)
                reasons.append(reason)
            elif _is_due(sighting):
                progress.due.add(key)
        if reasons:
            raise ApprovalRefused("%s: %s" % (self._refusal(), " ".join(reasons)))

    def _objection(self, sighting: Sighting, now: float) -> Optional[str]:
        if sighting.event is None or sighting.over:
            return None if self._terms.missing_allowed else _say_missing(sighting)
        if sighting.event.started:
            return None
        reason = objection(sighting.event, self._terms)
        return "%s. %s" % (reason, say_start(sighting.event, now)) if reason else None

    def _refusal(self) -> str:
        if not self._progress.posted:
            return "Refused, nothing was posted"
        errors = sorted({error.message for error in self._progress.unclear.values()})
        unclear = ", though an earlier post without a clear answer may have taken (%s)" % " ".join(errors) if errors else ""
        return "Refused, nothing more was posted%s" % unclear

    def _post(self, keys: Set[str], reading: Reading) -> None:
        """At most two posts for these events, each after all checks on a fresh document (W-35)."""
        for attempt in (1, 2):
            reading = self._young(reading)
            self._check(reading)
            due = self._due(keys)
            if not due or self._sent(due, last=attempt == 2):
                return
            self._clock.sleep(self._pause_before_repeat(due))
            reading = self._look()

    def _pause_before_repeat(self, events: List[Event]) -> float:
        asked_for = [self._progress.unclear[fold(event.event_id)].retry_after for event in events]
        return max([_PAUSE_BEFORE_REPEAT, *asked_for])

    def _due(self, keys: Set[str]) -> List[Event]:
        wanted = keys & self._progress.due
        return [s.event for s in self._watch.sightings if s.event is not None and fold(s.event_id) in wanted]

    def _sent(self, events: List[Event], *, last: bool) -> bool:
        """Whether this settles it: taken, refused for good, or nothing left to try."""
        keys = {fold(event.event_id) for event in events}
        try:
            self._service.approve([event.event_id for event in events])
        except ServiceError as error:
            if error.status == 400 and len(events) > 1:
                self._post_singly(events)
                return True
            return self._not_taken(keys, error, last=last)
        self._progress.accepted |= keys
        return True

    def _post_singly(self, events: List[Event]) -> None:
        """One bad id spoils a post for several (W-36)."""
        for event in events:
            self._post({fold(event.event_id)}, self._look())

    def _not_taken(self, keys: Set[str], error: ServiceError, *, last: bool) -> bool:
        if error.permanent:
            self._progress.refused |= keys
            self._progress.failures.append("%s %s" % (error.message, self._azure_anyway(keys)))
            return True
        self._progress.unclear.update(dict.fromkeys(keys, error))
        return last or error.retry_after > _LONGEST_PAUSE

    def _azure_anyway(self, keys: Set[str]) -> str:
        events = [s.event for s in self._watch.sightings if s.event is not None and fold(s.event_id) in keys]
        now = self._clock.wall()
        return " ".join("Event %s is not approved. %s" % (event.event_id, say_start(event, now)) for event in events)

    def _prove(self, start_timeout: Optional[float]) -> None:
        """Only Started or gone proves an approval (C-24)."""
        if not self._progress.posted:
            return
        self._look()
        if start_timeout is not None:
            Follower(self._service, self._clock).follow(
                self._watch, self._all_posted_began, wait_timeout=start_timeout, poll_interval=_POLL_INTERVAL
            )
        for sighting in self._watch.sightings:
            self._blame(sighting, start_timeout)

    def _all_posted_began(self, watch: Watch) -> bool:
        return all(s.began for s in watch.sightings if fold(s.event_id) in self._progress.accepted)

    def _blame(self, sighting: Sighting, start_timeout: Optional[float]) -> None:
        key = fold(sighting.event_id)
        if key not in self._progress.posted or sighting.began or sighting.event is None:
            return
        anyway = say_start(sighting.event, self._clock.wall())
        if key not in self._progress.accepted:
            error = self._progress.unclear[key]
            self._progress.failures.append(
                "Event %s was posted without a clear answer and is still Scheduled; it may be approved all the same. %s %s"
                % (sighting.event_id, error.message, anyway)
            )
        elif start_timeout is not None:
            self._progress.failures.append(
                "Event %s is approved but has not started within %s; others on the same Azure host may have to agree."
                " Keep its VMs prepared. %s" % (sighting.event_id, say_duration(start_timeout), anyway)
            )

    def _outcome(self) -> Outcome:
        now = self._clock.wall()
        return Outcome(
            results=[self._result(sighting, now) for sighting in self._watch.sightings],
            before={sighting.event_id: self._before.get(fold(sighting.event_id), "") for sighting in self._watch.sightings},
            posted=bool(self._progress.posted),
            missing=[sighting.event_id for sighting in self._watch.absent],
            failure=" ".join(self._progress.failures) or None,
        )

    def _result(self, sighting: Sighting, now: float) -> Dict[str, Any]:
        event = None if sighting.event is None else event_result(sighting.event, queried_at=now, vm_name=None)
        return {
            "event_id": sighting.event_id,
            "result": self._word(sighting),
            "posted": fold(sighting.event_id) in self._progress.posted,
            "event": event,
        }

    def _word(self, sighting: Sighting) -> str:
        key = fold(sighting.event_id)
        progress = self._progress
        if key in progress.accepted and sighting.began:
            return APPROVED
        if sighting.over or sighting.event is None:
            return NOW_GONE
        if sighting.event.started:
            return APPROVED if key in progress.posted else ALREADY_STARTED
        if key in progress.refused:
            return NOT_APPROVED
        return WOULD_APPROVE if self._rehearsing and not progress.failures else STILL_SCHEDULED


def _is_due(sighting: Sighting) -> bool:
    return sighting.event is not None and not sighting.over and not sighting.event.started


def _say_missing(sighting: Sighting) -> str:
    return (
        "event %s is not in the document: it is over, was cancelled, or the id is mistyped; if that is all right, set"
        " if_missing to ok." % sighting.event_id
    )
