# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Approving events: the checks, the posts, and the reading that proves them.

Private to the collection. Each post, also a repeated one, is sent only when every check has passed on a document at
most two seconds old; the transport never repeats one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Set

from ._clock import Clock
from ._document import Event, event_result, fold
from ._errors import ApprovalRefused, ServiceError
from ._gate import Terms, objection
from ._imds import MetadataService, Reading
from ._ledger import Entry
from ._time import say_duration
from ._watch import Follower, Sighting, Watch, say_start, settle

# How old the document of the checks may be. What changes within this time, nobody can prevent.
FRESH = 2.0
# Readings before a service that is too slow for a check is given up.
_MOST_READINGS = 3
# Between two posts: the event may start meanwhile, and the service takes 5 requests a second from this VM (C-8).
_PAUSE = 2.0
# While waiting for the start; C-8 asks for one look a second at most.
_POLL_INTERVAL = 2.0

APPROVED, ALREADY_STARTED, NOW_GONE = "approved", "already_started", "gone"
STILL_SCHEDULED, WOULD_APPROVE, NOT_APPROVED = "still_scheduled", "would_approve", "refused"


@dataclass(frozen=True)
class Outcome:
    """What became of each id. failure is for the operator when it did not go as asked; missing ids were never seen."""

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
            self._check(self._first_look())
        except ApprovalRefused as refusal:
            self._failures.append(refusal.message)
        return self._outcome()

    def run(self, *, start_timeout: Optional[float]) -> Outcome:
        """Check, post and prove; with start_timeout also wait that long for the start."""
        try:
            self._post_what_is_due()
            self._prove(start_timeout)
        except ServiceError as error:
            if not self._posted:
                raise
            self._failures.append("The approval was sent, but what came of it cannot be read: %s" % error.message)
        return self._outcome()

    @property
    def _posted(self) -> bool:
        return any(entry.may_be_taken for entry in self._ledger.values())

    def _entry(self, sighting: Sighting) -> Entry:
        return self._ledger[fold(sighting.event_id)]

    def _first_look(self) -> Reading:
        reading = self._look()
        self._before = {sighting.event_id: sighting.state for sighting in self._watch.sightings}
        return reading

    def _look(self) -> Reading:
        return settle(self._service, self._clock, self._watch)

    def _post_what_is_due(self) -> None:
        try:
            due = self._check(self._young(self._first_look()))
            singly = False
            while due:
                error = self._post(due[:1] if singly else due, in_company=not singly and len(due) > 1)
                singly = singly or (error is not None and error.malformed)
                if not any(self._ledger[fold(event.event_id)].open for event in due):
                    return
                self._clock.sleep(max(_PAUSE, error.retry_after if error else 0.0))
                due = self._check(self._young(self._look()))
        except ApprovalRefused as refusal:
            self._failures.append(refusal.message)

    def _young(self, reading: Reading) -> Reading:
        """This reading, or a newer one: the checks that follow must stand on what is true now."""
        for _attempt in range(_MOST_READINGS):
            if self._clock.monotonic() - reading.asked_at <= FRESH:
                return reading
            reading = self._look()
        raise ApprovalRefused(
            "%s: %s takes more than %s to answer, too long to know that the events are still the same. Try again in a minute."
            % (self._refusal(), self._service.events_url, say_duration(FRESH))
        )

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
            raise ApprovalRefused("%s: %s" % (self._refusal(), " ".join(reasons)))
        return due

    def _objection(self, sighting: Sighting, now: float) -> Optional[str]:
        if sighting.event is None or sighting.over:
            tolerated = self._terms.missing_allowed or self._entry(sighting).may_be_taken
            return None if tolerated else _say_missing(sighting)
        if sighting.event.started:
            return None
        reason = objection(sighting.event, self._terms)
        return "%s. %s" % (reason, say_start(sighting.event, now)) if reason else None

    def _refusal(self) -> str:
        if not self._posted:
            return "Refused, nothing was posted"
        unclear = {str(entry.unclear) for entry in self._ledger.values() if entry.unclear is not None and not entry.taken}
        earlier = ", though an earlier post without a clear answer may have taken (%s)" % " ".join(sorted(unclear)) if unclear else ""
        return "Refused, nothing more was posted%s" % earlier

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
        """What the operator must know of an event that was posted and is still there, not started."""
        entry, event = self._entry(sighting), sighting.event
        if not entry.posts or event is None or sighting.began or fold(sighting.event_id) in self._refused:
            return None
        anyway = say_start(event, self._clock.wall())
        if not entry.may_be_taken:
            return "%s Event %s is not approved. %s" % (entry.error, sighting.event_id, anyway)
        if not entry.taken:
            said = "Event %s was posted without a clear answer and is still Scheduled; it may be approved all the same. %s %s"
            return said % (sighting.event_id, entry.unclear, anyway)
        if start_timeout is None:
            return None
        return (
            "Event %s is approved but has not started within %s; others on the same Azure host may have to agree."
            " Keep its VMs prepared. %s" % (sighting.event_id, say_duration(start_timeout), anyway)
        )

    def _outcome(self) -> Outcome:
        now = self._clock.wall()
        return Outcome(
            results=[self._result(sighting, now) for sighting in self._watch.sightings],
            before=self._before,
            posted=self._posted,
            missing=[sighting.event_id for sighting in self._watch.absent],
            failure=" ".join(self._failures) or None,
        )

    def _result(self, sighting: Sighting, now: float) -> Dict[str, Any]:
        event = None if sighting.event is None else event_result(sighting.event, queried_at=now, vm_name=None)
        return {
            "event_id": sighting.event_id,
            "result": self._word(sighting),
            "posted": self._entry(sighting).may_be_taken,
            "event": event,
        }

    def _word(self, sighting: Sighting) -> str:
        entry = self._entry(sighting)
        if entry.taken and sighting.began:
            return APPROVED
        if sighting.over or sighting.event is None:
            return NOW_GONE
        if sighting.event.started:
            return APPROVED if entry.may_be_taken else ALREADY_STARTED
        if fold(sighting.event_id) in self._refused or (entry.posts and not entry.may_be_taken):
            return NOT_APPROVED
        return WOULD_APPROVE if self._rehearsing and not self._failures else STILL_SCHEDULED


def _say_missing(sighting: Sighting) -> str:
    return (
        "event %s is not in the document: it is over, was cancelled, or the id is mistyped; if that is all right, set"
        " if_missing to ok." % sighting.event_id
    )
