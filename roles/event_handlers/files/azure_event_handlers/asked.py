# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a driver, a person or the agent may ask of a record, and what is refused. Pure.

Each function gives the record as it is then, or raises RefusedError. Asking twice is as good as asking once: who was killed between
asking and being answered asks again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Iterable, Optional, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event, same_name
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant

from . import records as r
from .errors import RefusedError
from .reconcile import MOST_ATTEMPTS
from .records import Driver, Post, Record, Step, Who, Work
from .terms import Moment, term_of


def first_sight(known: Iterable[Record], event: Event, *, vm_id: str, now: float) -> Optional[Record]:
    """A record for an event that none is open for; an id that returns after it was gone is a new occurrence (W-15)."""
    same = [record for record in known if same_name(record.event.event_id, event.event_id)]
    if any(record.is_open and not record.gone for record in same):
        return None
    occurrence = 1 + max((record.occurrence for record in same), default=0)
    fresh = Record(event, occurrence, vm_id, noticed=not event.started, first_seen=now, changed_at=now)
    return observe(fresh, event, now=now, named=True)


def decide(record: Record, action: str, reason: str, *, now: float) -> Record:
    """What the policy says of it, while nothing has been done."""
    if record.state != r.SEEN:
        return record
    return replace(record, decision=action, reason=reason, changed_at=now)


def observe(record: Record, event: Optional[Event], *, now: float, named: bool) -> Record:
    """How a good document shows the event; None: two of them, ten seconds apart, have not got it. What is gone stays gone."""
    if not record.is_open or record.gone:
        return record
    if event is None:
        return replace(record, view=r.GONE, gone_at=now, changed_at=now)
    if not named:
        return replace(record, view=r.NOT_NAMED, event=event, last_seen=now, gone_at=now, changed_at=now)
    if record.view == r.STARTED and not event.started:
        return record
    view = r.STARTED if event.started else r.SCHEDULED
    # A started event has no NotBefore any more (C-16), and the last one is worth keeping.
    kept = replace(event, not_before=record.event.not_before) if event.started else event
    started_at = now if event.started and record.started_at is None else record.started_at
    seen = record.started_seen or event.started
    return replace(record, view=view, event=kept, started_seen=seen, started_at=started_at, last_seen=now)


def prepare(
    record: Record, driver: Driver, *, times: Times, within: float, steps: Tuple[Step, ...], empty_allowed: bool, now: Moment
) -> Record:
    """Get ready for this event, within so many seconds. What is on its way or ready is taken over from a driver that is lost (W-6)."""
    if record.state in (r.PREPARING, r.PREPARED):
        return _held_by(record, driver, now)
    if record.state == r.COMMITTED:
        _refuse_unless_scheduled(record)
        return _held_by(record, driver, now)
    _refuse_unless_scheduled(record)
    if record.state == r.BACKED_OUT and record.attempt >= MOST_ATTEMPTS:
        raise RefusedError("This host has tried %d times to get ready for the event; it is not tried again." % record.attempt)
    if record.state not in (r.SEEN, r.BACKED_OUT):
        raise RefusedError("This host cannot prepare for the event: it is %s (%s)." % (record.state, record.reason))
    if not steps and not empty_allowed:
        raise RefusedError(
            "No handler is there for this event, so nobody can say that this host is ready; install one, or set allow_empty_prepare."
        )
    fresh = tuple(replace(step, inspect=Work(), prepare=Work(), check=Work(), recover=Work()) for step in steps)
    return replace(
        record,
        state=r.PREPARING,
        driver=driver,
        times=times,
        deadline=term_of(within, now),
        steps=fresh,
        attempt=record.attempt + 1,
        committing=False,
        commit_refused=None,
        reason="%s has asked for it" % driver.name,
        changed_at=now.wall,
    )


def renew(record: Record, driver: Driver, *, now: Moment) -> Record:
    """The driver is still there."""
    if record.state not in (r.PREPARING, r.PREPARED, r.COMMITTED):
        raise RefusedError("There is nothing to hold on to: this host is %s (%s)." % (record.state, record.reason))
    return _held_by(record, driver, now)


def commit(record: Record, driver: Driver, event: Event, *, now: Moment, held: Optional[str]) -> Record:
    """A binding yes to an approval, if the handlers find the host out of service; whether they do is seen in the record.

    A no takes nothing back that was given before.
    """
    if record.state not in (r.PREPARED, r.COMMITTED):
        raise RefusedError("This host is not ready: it is %s (%s)." % (record.state, record.reason))
    mine = _held_by(record, driver, now)
    if held is not None:
        raise RefusedError("This host is held %s." % held)
    _refuse_unless_scheduled(mine)
    if _differs(mine.event, event):
        raise RefusedError("The event has changed since this host got ready for it: look at it again.")
    if mine.committing:
        return mine
    # Also of a host that has given it before: somebody may have put it back by hand since (W-41). Another try for each: a unit's name is
    # never used twice.
    steps = tuple(replace(step, check=Work(tries=step.check.tries + int(step.check.begun))) for step in mine.steps)
    return replace(mine, steps=steps, committing=True, commit_refused=None, changed_at=now.wall)


def abort(record: Record, driver: Driver, *, now: Moment) -> Record:
    """The driver lets go, and says that surely nothing was posted."""
    if record.state not in (r.PREPARING, r.PREPARED, r.COMMITTED):
        return record
    if record.state == r.COMMITTED:
        _refuse_if_posted(record, driver.who)
    mine = _held_by(record, driver, now)
    state = r.PREPARED if mine.state == r.COMMITTED else mine.state
    return replace(mine, state=state, driver=None, committing=False, given_to=(), reason="%s has let go" % driver.name, changed_at=now.wall)


def _refuse_if_posted(record: Record, who: Who) -> None:
    """Also when the others' leases are over: what they have posted, nobody else knows (W-5)."""
    others = [other for other in record.given_to if other != who]
    if others:
        raise RefusedError(
            "The word of this host was given to %s, and only who has it can say that nothing was posted;"
            " `release --force` gives the host back all the same." % ", ".join(map(str, others))
        )
    if record.post is not None and record.post.maybe:
        raise RefusedError(
            "It was said of the approval that it may have been taken, so nobody can say any more that nothing was posted;"
            " `release --force` gives the host back all the same."
        )


_ASKS = "who wants to approve asks for it by `commit`"


def sending(record: Record, driver: Driver, *, witness: str, held: Optional[str], now: float) -> Record:
    """An approval is about to be posted: from now on one may be on its way, whatever becomes of who says so."""
    if record.state != r.COMMITTED:
        raise RefusedError("The word of this host does not hold: it is %s (%s)." % (record.state, record.reason))
    if record.driver is None or not record.driver.is_same(driver):
        has_it = "nobody" if record.driver is None else str(record.driver.who)
        raise RefusedError("The word of this host is in the hands of %s: %s." % (has_it, _ASKS))
    if record.word_of != driver.who:
        why = _ASKS if record.commit_refused is None else record.commit_refused
        raise RefusedError("The word of this host does not cover an approval of %s now: %s." % (driver.who, why))
    if held is not None:
        raise RefusedError("This host is held %s." % held)
    _refuse_unless_scheduled(record)
    before = record.post
    if before is not None and (before.who, before.witness, before.outcome) == (driver.who, witness, None):
        return record
    post = Post(driver.name, driver.run, witness, sent_at=now, maybe=before is not None and before.maybe)
    return replace(record, post=post)


def approved(record: Record, driver: Driver, *, outcome: str, witness: Optional[str], now: float) -> Record:
    """What became of it, in whatever state the host is by now: the event may have started at once, or be gone."""
    before = record.post
    if before is None or before.who != driver.who:
        raise RefusedError("It was not said here that %s sends an approval: that is said by `sending`, before it is posted." % driver.who)
    if outcome == before.outcome and witness in (None, before.witness):
        return record
    maybe = before.maybe or outcome in r.MAYBE_POSTED
    told = replace(before, outcome=outcome, witness=witness or before.witness, told_at=now, maybe=maybe)
    return replace(record, post=told)


def give_back(record: Record, *, by: str, forced: bool, now: float) -> Record:
    """A person wants the host back in service before the event is gone."""
    if record.state == r.COMMITTED and not forced:
        raise RefusedError("The event may be approved already, and then Azure acts on this host; only `release --force` gives it back now.")
    if record.state not in (r.PREPARING, r.PREPARED, r.COMMITTED, r.STAYING):
        return record
    return replace(record, state=r.BACKING_OUT, driver=None, committing=False, given_to=(), reason="%s wants it back" % by, changed_at=now)


def _held_by(record: Record, driver: Driver, now: Moment) -> Record:
    """The record in this driver's hands, unless it is in those of another one who is still there (W-37, W-38)."""
    holder = record.driver
    if holder is not None and not holder.is_same(driver) and not holder.lease.is_over(now):
        until = format_instant(now.wall + holder.lease.left(now))
        raise RefusedError("This host is in the hands of %s (run %s) until %s." % (holder.name, holder.run, until))
    if holder is None and record.state != r.COMMITTED:
        raise RefusedError("This host is being given back: %s." % record.reason)
    if holder is not None and holder.is_same(driver):
        return replace(record, driver=driver)
    # What another one has asked for is not answered to this one; nor does the word of before cover an approval of his (W-41).
    since = "%s has taken the host over, and its handlers have not been asked since" % driver.name
    refused = since if record.state == r.COMMITTED else record.commit_refused
    return replace(record, driver=driver, committing=False, commit_refused=refused)


def _refuse_unless_scheduled(record: Record) -> None:
    if record.view == r.STARTED:
        raise RefusedError("The event has started already.")
    if record.gone:
        raise RefusedError("The event is gone, or does not name this VM any more.")


def _differs(one: Event, other: Event) -> bool:
    names = [sorted(name.casefold() for name in event.resources) for event in (one, other)]
    return not (
        other.scheduled and same_name(one.event_type, other.event_type) and one.not_before == other.not_before and names[0] == names[1]
    )
