# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Approving events: the checks, the posts, and the reading that proves them.

Private to the collection. Each post, also a repeated one, is sent only when every check has passed on a document at
most two seconds old; the transport never repeats one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Union

from ._approval_words import (
    result_word,
    say_held,
    say_late,
    say_missing,
    say_not_approved,
    say_pause,
    say_refusal,
    say_returned,
    say_too_slow,
    say_unclear,
    say_unread,
    say_unseen,
)
from ._clock import Clock
from ._document import Event, event_result, fold
from ._errors import ApprovalRefused, ServiceError
from ._gate import Terms, objection
from ._imds import MetadataService, Reading
from ._ledger import LONGEST_PAUSE, Entry
from ._watch import Follower, Sighting, Watch, say_start, settle

# How old the document of the checks may be. What changes within this time, nobody can prevent.
FRESH = 2.0
# Readings before a service that is too slow for a check is given up.
_MOST_READINGS = 3
# Between two posts: the event may start meanwhile, and the service takes 5 requests a second from this VM (C-8).
_PAUSE = 2.0
# While waiting for the start; C-8 asks for one look a second at most.
_POLL_INTERVAL = 2.0


@dataclass(frozen=True)
class Outcome:
    """What became of each id; results is empty when the events could not be read.

    failure is for the operator when it did not go as asked; missing ids were never seen.
    """

    results: List[Dict[str, Any]]
    before: Dict[str, str]
    posted: bool
    missing: List[str]
    failure: Optional[str] = None


class Approval:
    """One attempt to have some events approved, from the first reading to the proof."""

    def __init__(self, service: MetadataService, clock: Clock, *, event_ids: Iterable[str], terms: Terms) -> None:
        self._service = service
        self._clock = clock
        self._terms = terms
        self._watch = Watch(event_ids)
        self._ledger = {fold(sighting.event_id): Entry() for sighting in self._watch.sightings}
        self._refused: Set[str] = set()
        self._failures: List[str] = []
        self._before: Dict[str, str] = {}
        self._rehearsing = False

    def rehearse(self) -> Outcome:
        """Everything but the posts."""
        self._rehearsing = True
        try:
            self._due(self._first_look())
        except ApprovalRefused as refusal:
            self._failures.append(refusal.message)
        except ServiceError as error:
            self._tell_unread(error)
        return self._outcome()

    def run(self, *, start_timeout: Optional[float]) -> Outcome:
        """Check, post and prove; with start_timeout also wait that long for the start."""
        try:
            self._post_what_is_due()
            self._prove(start_timeout)
        except ServiceError as error:
            self._tell_unread(error)
        return self._outcome()

    @property
    def _posted(self) -> bool:
        return any(entry.may_be_taken for entry in self._ledger.values())

    def _entry(self, one: Union[Sighting, Event]) -> Entry:
        return self._ledger[fold(one.event_id)]

    def _is_refused(self, sighting: Sighting) -> bool:
        """Whether it was told that we do not post it."""
        return fold(sighting.event_id) in self._refused

    def _first_look(self) -> Reading:
        reading = self._look()
        self._before = {sighting.event_id: sighting.state for sighting in self._watch.sightings}
        return reading

    def _look(self) -> Reading:
        return settle(self._service, self._clock, self._watch)

    def _post_what_is_due(self) -> None:
        try:
            due = self._due(self._first_look())
            singly = False
            while due:
                error = self._post(due[:1] if singly else due, in_company=not singly and len(due) > 1)
                singly = singly or (error is not None and error.malformed)
                if not any(self._entry(event).open for event in due):
                    return
                if error is not None and error.retry_after > LONGEST_PAUSE:
                    self._give_up(due, error)
                    return
                self._clock.sleep(max(_PAUSE, error.retry_after if error else 0.0))
                due = self._due(self._look())
        except ApprovalRefused as refusal:
            self._failures.append(refusal.message)

    def _give_up(self, due: List[Event], error: ServiceError) -> None:
        """The pause that the service asks for is too long to sleep through; of what was posted before, _complaint tells."""
        unposted = [event for event in due if not self._entry(event).posts]
        self._hold(unposted)
        if not unposted:
            return
        if not any(entry.error is error for entry in self._ledger.values()):
            self._failures.append(error.message)
        self._failures += [say_pause(error), *(say_not_approved(event, self._clock.wall()) for event in unposted)]

    def _due(self, reading: Reading) -> List[Event]:
        """The events to post now. Only when there are some it matters how old the document of the checks is."""
        due = self._check(reading)
        readings = 1
        while due and self._clock.monotonic() - reading.asked_at > FRESH:
            if readings >= _MOST_READINGS:
                raise self._refusal([say_too_slow(self._service.events_url, FRESH)], say_not_approved, due)
            reading = self._look()
            readings += 1
            due = self._check(reading)
        return due

    def _check(self, reading: Reading) -> List[Event]:
        """The events that are due for a post; one objection stops all of them."""
        due, reasons = [], []
        for sighting in self._watch.sightings:
            if not self._entry(sighting).open:
                continue
            reason = self._objection(sighting, reading.queried_at)
            if reason:
                self._refused.add(fold(sighting.event_id))
                reasons.append(reason)
            elif sighting.event is not None and not sighting.over and not sighting.event.started:
                due.append(sighting.event)
        if reasons:
            raise self._refusal(reasons, say_held, due)
        return due

    def _objection(self, sighting: Sighting, now: float) -> Optional[str]:
        if sighting.event is None or sighting.over:
            tolerated = self._terms.missing_allowed or self._entry(sighting).may_be_taken
            return None if tolerated else say_missing(sighting.event_id)
        if sighting.event.started:
            return None
        reason = objection(sighting.event, self._terms)
        return "%s. %s" % (reason, say_start(sighting.event, now)) if reason else None

    def _refusal(self, reasons: List[str], tell: Callable[[Event, float], str], due: List[Event]) -> ApprovalRefused:
        """No, also to those that are due; of one that was posted before, _complaint tells whether it may be approved."""
        unposted = [event for event in due if not self._entry(event).posts]
        self._hold(unposted)
        told = [tell(event, self._clock.wall()) for event in unposted]
        return ApprovalRefused(say_refusal(self._ledger.values(), " ".join(reasons + told)))

    def _hold(self, events: List[Event]) -> None:
        self._refused.update(fold(event.event_id) for event in events)

    def _post(self, events: List[Event], *, in_company: bool) -> Optional[ServiceError]:
        """One post. A bad id spoils it for all (W-36): what such a post is answered is the fault of none of them yet."""
        failed: Optional[ServiceError] = None
        try:
            self._service.approve([event.event_id for event in events])
        except ServiceError as error:
            failed = error
        if failed is not None and failed.malformed and in_company:
            return failed
        for event in events:
            key = fold(event.event_id)
            self._ledger[key] = self._ledger[key].after(failed)
        return failed

    def _prove(self, start_timeout: Optional[float]) -> None:
        """Only Started or gone proves an approval (C-24)."""
        if start_timeout is not None and self._posted:
            self._follow(start_timeout)
        elif any(entry.posts for entry in self._ledger.values()):
            self._look()
        for sighting in self._watch.sightings:
            complaint = self._complaint(sighting, start_timeout)
            if complaint:
                self._failures.append(complaint)

    def _follow(self, start_timeout: float) -> None:
        follower = Follower(self._service, self._clock)
        followed = follower.follow(self._watch, self._all_began, wait_timeout=start_timeout, poll_interval=_POLL_INTERVAL)
        if followed.error is not None:
            raise followed.error

    def _all_began(self, watch: Watch) -> bool:
        return all(sighting.began for sighting in watch.sightings if self._entry(sighting).may_be_taken)

    def _complaint(self, sighting: Sighting, start_timeout: Optional[float]) -> Optional[str]:
        """What the operator must know of an event that is still there, not started, and not told of yet."""
        entry, event, now = self._entry(sighting), sighting.event, self._clock.wall()
        if event is None or sighting.began or self._is_refused(sighting):
            return None
        if not entry.may_be_taken:
            return say_not_approved(event, now, entry.error) if entry.error else say_returned(event, now)
        if not entry.taken:
            return say_unclear(event, entry.unclear, now)
        return None if start_timeout is None else say_late(event, start_timeout, now)

    def _tell_unread(self, error: ServiceError) -> None:
        """What came of the posts cannot be read any more; what was not posted is not approved all the same."""
        self._failures.append(say_unread(error, posted=self._posted))
        now = self._clock.wall()
        for sighting in self._watch.sightings:
            if not (sighting.began or self._is_refused(sighting) or self._entry(sighting).may_be_taken):
                self._failures.append(self._say_unposted(sighting, now))

    def _say_unposted(self, sighting: Sighting, now: float) -> str:
        if sighting.event is None:
            return say_unseen(sighting.event_id)
        return say_not_approved(sighting.event, now, self._entry(sighting).error)

    def _outcome(self) -> Outcome:
        now = self._clock.wall()
        return Outcome(
            results=[self._result(sighting, now) for sighting in self._watch.sightings if sighting.event_id in self._before],
            before=self._before,
            posted=self._posted,
            missing=[sighting.event_id for sighting in self._watch.absent],
            failure=" ".join(self._failures) or None,
        )

    def _result(self, sighting: Sighting, now: float) -> Dict[str, Any]:
        entry = self._entry(sighting)
        event = None if sighting.event is None else event_result(sighting.event, queried_at=now, vm_name=None)
        return {
            "event_id": sighting.event_id,
            "result": result_word(sighting, entry, refused=self._is_refused(sighting), would=self._rehearsing and not self._failures),
            "posted": entry.may_be_taken,
            "event": event,
        }
