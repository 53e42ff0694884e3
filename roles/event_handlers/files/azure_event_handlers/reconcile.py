# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one next thing to do on this host, from what is written and what is seen. Pure.

Whoever does it, sees again and asks again, can be killed at any moment: everything that counts is in the records and in the units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import FrozenSet, List, Mapping, Optional, Sequence, Tuple, Union

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import overdue, worth_giving_back
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import (
    DELETIONS,
    KNOWN_TYPES,
    REBOOT,
    REDEPLOY,
    UNKNOWN,
    fold,
    known_as,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import IGNORE, REFUSE

from . import records as r
from .records import Record, Step, Who, Work
from .terms import Moment

# What a handler says by its exit code, beside 0.
NOT_YET, WAS_SO = 75, 77
IN_SERVICE = 1
# Seconds until a handler that said "not yet" is asked again; between two attempts to recover, growing.
ASK_AGAIN = 5.0
SHORTEST_BACK_OFF, LONGEST_BACK_OFF = 5.0, 300.0
# Seconds between the end of a cancelled event and the first recovery: who comes in its place takes its claims over (W-14).
SETTLE = 10.0
# Preparations of one event; a host that cannot get ready twice is not taken out a third time.
MOST_ATTEMPTS = 2


@dataclass(frozen=True)
class Unit:
    """A handler at work, or one that has ended and is not collected yet.

    exit: None when it was killed. ran: seconds that count, those of a freeze do not.
    """

    running: bool
    exit: Optional[int] = None
    ran: float = 0.0
    tail: str = ""


@dataclass(frozen=True)
class Facts:
    """What is seen of the host now, and passed: by the clock that nobody sets. vm_id: None while nobody could tell."""

    now: float
    boot: str
    vm_id: Optional[str]
    units: Mapping[str, Unit]
    held: bool = False
    held_because: str = "this host is held"
    recover_budget: float = 120.0
    passed: float = 0.0

    @property
    def moment(self) -> Moment:
        return Moment(self.now, self.passed, self.boot)


@dataclass(frozen=True)
class Save:
    """Make this the record, durably."""

    record: Record
    why: str


@dataclass(frozen=True)
class Run:
    """Begin a piece of work whose intent is written."""

    key: str
    index: int
    phase: str
    unit: str


@dataclass(frozen=True)
class Stop:
    unit: str
    why: str


@dataclass(frozen=True)
class Discard:
    """Forget a unit whose result is written, or that belongs to nothing."""

    unit: str


Action = Union[Save, Run, Stop, Discard]
# A piece of work: its record, the number of the handler, the phase.
Place = Tuple[Record, int, str]


def next_action(records: Mapping[str, Record], facts: Facts) -> Optional[Action]:
    """None: nothing can be done before something changes or time passes."""
    known = [records[key] for key in sorted(records)]
    intents = {r.unit_of(*place): place for place in _intended(known)}
    return (
        _foreign(known, facts)
        or _strangers(intents, facts)
        or _at_work(known, intents, facts)
        or _moved(known, facts)
        or _begun(known, intents, facts)
    )


def at_work(records: Mapping[str, Record]) -> FrozenSet[str]:
    """The names of the units that there are, were or are to be for what is intended."""
    return frozenset(r.unit_of(*place) for place in _intended(list(records.values())))


def _intended(known: Sequence[Record]) -> List[Place]:
    return [
        (record, index, phase)
        for record in known
        if record.state != r.FOREIGN
        for index, step in enumerate(record.steps)
        for phase in r.PHASES
        if step.work(phase).progress == r.INTENDED
    ]


# --- first: what is not ours, and what runs ------------------------------------------------------------------------------


def _foreign(known: Sequence[Record], facts: Facts) -> Optional[Action]:
    """A disk that was copied, or a VM made anew: nothing of the other one's is undone here (W-28, W-29)."""
    for record in known:
        if record.is_open and facts.vm_id is not None and fold(record.vm_id) != fold(facts.vm_id):
            deleted = record.started_seen and known_as(record.event.event_type, DELETIONS) != UNKNOWN
            other = replace(record, state=r.FOREIGN, result="deleted" if deleted else None, changed_at=facts.now)
            return Save(other, "the record is another VM's")
    return None


def _strangers(intents: Mapping[str, Place], facts: Facts) -> Optional[Action]:
    for name in sorted(facts.units):
        if name not in intents:
            return Stop(name, "nobody waits for it") if facts.units[name].running else Discard(name)
    return None


def _at_work(known: Sequence[Record], intents: Mapping[str, Place], facts: Facts) -> Optional[Action]:
    for name in sorted(intents):
        action = _attend(name, intents[name], known, facts)
        if action is not None:
            return action
    return None


def _attend(name: str, place: Place, known: Sequence[Record], facts: Facts) -> Optional[Action]:
    record, index, phase = place
    unit, step = facts.units.get(name), record.steps[index]
    if unit is None:
        return _not_there(name, place, facts)
    if not unit.running:
        return Save(_collected(place, unit, known, facts), "%s of %s ended" % (phase, step.handler))
    if not _is_wanted(record, phase):
        return Stop(name, "the event has moved on")
    if unit.ran > step.limit:
        return Stop(name, "its time is over")
    return None


def _not_there(name: str, place: Place, facts: Facts) -> Action:
    """It was never begun in this boot; in an earlier one it may have been cut short."""
    record, index, phase = place
    work = record.steps[index].work(phase)
    if work.boot != facts.boot:
        again = replace(work, boot=facts.boot, interrupted=work.interrupted + 1)
        return Save(_having(place, again, facts), "the machine stopped while %s of %s may have run" % (phase, record.steps[index].handler))
    if _is_wanted(record, phase) and not _is_out_of_time(record, phase, facts):
        return Run(record.key, index, phase, name)
    if work.interrupted:
        return Save(_having(place, _ended(work, r.STOPPED, None, facts), facts), "it is not begun again")
    return Save(_having(place, replace(work, progress=r.IDLE, boot=""), facts), "it is not begun any more")


def _is_wanted(record: Record, phase: str) -> bool:
    if phase == r.RECOVER:
        return True
    expected = (r.PREPARED, r.COMMITTED) if phase == r.CHECK else (r.PREPARING,)
    return record.state in expected and record.view == r.SCHEDULED


def _is_out_of_time(record: Record, phase: str, facts: Facts) -> bool:
    """What could not be begun in time, as where /run is full, is not begun late."""
    return phase in (r.INSPECT, r.PREPARE) and record.deadline is not None and record.deadline.is_over(facts.moment)


# --- what a handler said -------------------------------------------------------------------------------------------------


def _collected(place: Place, unit: Unit, known: Sequence[Record], facts: Facts) -> Record:
    record, index, phase = place
    step = record.steps[index]
    work = replace(step.work(phase), tail=unit.tail, exit=unit.exit)
    if phase == r.RECOVER:
        return _having(place, _recovered(work, facts), facts)
    if phase in (r.INSPECT, r.CHECK):
        word = r.OUT_OF_TIME if unit.exit is None else {0: r.DONE, IN_SERVICE: r.UNCHANGED}.get(unit.exit, r.FAILED)
        seen = _having(place, _ended(work, word, unit.exit, facts), facts)
        return _spared(seen, index, known, facts) if phase == r.INSPECT and word == r.DONE else seen
    return _having(place, _prepared(place, work, unit, known, facts), facts)


def _spared(record: Record, index: int, known: Sequence[Record], facts: Facts) -> Record:
    """Somebody else has taken it out of service: then nobody here puts it back (W-42)."""
    step = record.steps[index]
    if _others_claim(record, step.handler, known):
        return record
    return record.having(index, r.PREPARE, _ended(step.prepare, r.UNCHANGED, None, facts))


def _prepared(place: Place, work: Work, unit: Unit, known: Sequence[Record], facts: Facts) -> Work:
    record, index, _phase = place
    step = record.steps[index]
    if unit.exit == NOT_YET and _is_wanted(record, r.PREPARE):
        return replace(work, progress=r.IDLE, tries=work.tries + 1, not_before=facts.now + ASK_AGAIN)
    if unit.exit == 0:
        return _ended(work, r.DONE, 0, facts)
    if unit.exit == WAS_SO:
        # What another event of ours has done counts as done for this one too: the last of them undoes it (W-22).
        shared = work.tries or work.interrupted or _others_claim(record, step.handler, known)
        return _ended(work, r.DONE if shared else r.UNCHANGED, WAS_SO, facts)
    if not _is_wanted(record, r.PREPARE):
        return _ended(work, r.STOPPED, unit.exit, facts)
    return _ended(work, r.OUT_OF_TIME if unit.ran > step.limit else r.FAILED, unit.exit, facts)


def _recovered(work: Work, facts: Facts) -> Work:
    """Until it succeeds, however long that takes (W-43)."""
    if work.exit == 0:
        return _ended(work, r.DONE, 0, facts)
    pause = ASK_AGAIN if work.exit == NOT_YET else min(SHORTEST_BACK_OFF * 2.0 ** min(work.tries, 10), LONGEST_BACK_OFF)
    return replace(work, progress=r.IDLE, tries=work.tries + 1, not_before=facts.now + pause)


def _ended(work: Work, outcome: str, code: Optional[int], facts: Facts) -> Work:
    return replace(work, progress=r.ENDED, outcome=outcome, exit=code, ended=facts.now)


def _having(place: Place, work: Work, facts: Facts) -> Record:
    record, index, phase = place
    return replace(record.having(index, phase, work), changed_at=facts.now)


def _others_claim(record: Record, handler: str, known: Sequence[Record]) -> bool:
    return any(other.key != record.key and other.claims(handler) for other in known)


def _taken_over(record: Record, handler: str, known: Sequence[Record], facts: Facts) -> Optional[Record]:
    """Another event that counts on this handler's work although it found it done by somebody else: now it has to be undone after it."""
    for other in known:
        step = other.step_of(handler)
        counts = other.key != record.key and other.state in _COUNTING and not other.gone
        if counts and step is not None and step.prepare.outcome == r.UNCHANGED:
            work = replace(step.prepare, outcome=r.DONE)
            return replace(other.having(other.steps.index(step), r.PREPARE, work), changed_at=facts.now)
    return None


# In these the host is to stay as it was made for the event.
_COUNTING = frozenset((r.PREPARING, r.PREPARED, r.COMMITTED, r.STAYING, r.IMPACT))


def _others_come(record: Record, handler: str, known: Sequence[Record], facts: Facts) -> bool:
    """Whether another event is about to claim it: what is taken out again in a moment is not put back before (W-14)."""
    return not facts.held and any(
        other.key != record.key and _is_wanted(other, r.PREPARE) and not other.is_prepared_for(handler) for other in known
    )


# --- then: from state to state -------------------------------------------------------------------------------------------


def _moved(known: Sequence[Record], facts: Facts) -> Optional[Action]:
    for record in known:
        moved = _MOVES[record.state](record, facts) if record.state in _MOVES else None
        if moved is not None:
            return Save(replace(moved, changed_at=facts.now), "%s: %s" % (moved.state, moved.reason))
    return None


def _is_busy(record: Record) -> bool:
    return any(step.work(phase).progress == r.INTENDED for step in record.steps for phase in r.PHASES)


def _struck_or_gone(record: Record, facts: Facts, *, ready: bool) -> Optional[Record]:
    if record.gone:
        # It may have started and gone before anybody looked here, or while the machine was down for it.
        unseen = not record.started_seen and _was_struck_unseen(record, facts)
        hit = ready if record.started_seen or unseen else None
        left = _settling(record, facts) if ready and record.view == r.GONE and hit is None else record
        reason = _say_gone(record) + (", and the machine was started anew meanwhile" if unseen else "")
        return replace(left, state=r.RECOVERING, committing=False, hit_ready=hit, reason=reason)
    if record.view == r.STARTED:
        return replace(record, state=r.IMPACT, committing=False, hit_ready=ready, reason="the event has started")
    return None


def _was_struck_unseen(record: Record, facts: Facts) -> bool:
    """Whether the machine has stopped since the event was last seen, for an event that stops it, and when that one could begin."""
    if known_as(record.event.event_type, KNOWN_TYPES) not in (REBOOT, REDEPLOY):
        return False
    booted_at = facts.now - facts.passed
    if record.was_seen_since(booted_at) or not _is_of_another_boot(record, facts):
        return False
    begins = record.event.not_before
    error = 0.0 if record.times is None else record.times.clock_error
    return record.state == r.COMMITTED or begins is None or booted_at >= begins - error


def _is_of_another_boot(record: Record, facts: Facts) -> bool:
    """Whether the handlers worked in one; of a host for which none worked, the clocks alone can tell."""
    works = [work for step in record.steps for work in map(step.work, r.PHASES) if work.boot]
    return not works or any(work.interrupted or work.boot != facts.boot for work in works)


def _settling(record: Record, facts: Facts) -> Record:
    """A host that is ready and was not struck is not put back at once; one that is half-way is (W-13)."""
    for index, step in enumerate(record.steps):
        if step.claimed and not step.recover.begun:
            record = record.having(index, r.RECOVER, replace(step.recover, not_before=facts.now + SETTLE))
    return record


def _say_gone(record: Record) -> str:
    return "the event is gone" if record.view == r.GONE else "the event does not name this VM any more"


def _from_seen(record: Record, facts: Facts) -> Optional[Record]:
    return _struck_or_gone(record, facts, ready=False)


def _from_preparing(record: Record, facts: Facts) -> Optional[Record]:
    if _is_busy(record):
        return None
    moved = _struck_or_gone(record, facts, ready=False)
    if moved is not None:
        return moved
    failed = next((step for step in record.steps if step.required and step.prepare.over and not step.ready), None)
    if failed is not None:
        return _give_back_or_stay(record, facts, "%s is not ready: %s" % (failed.handler, failed.prepare.outcome))
    if all(step.prepare.over for step in record.steps):
        return replace(record, state=r.PREPARED, reason="every handler is done")
    if record.deadline is not None and record.deadline.is_over(facts.moment):
        return _give_back_or_stay(record, facts, "the time to prepare is over")
    return _abandoned(record, facts)


def _abandoned(record: Record, facts: Facts) -> Optional[Record]:
    if record.driver is None:
        return _give_back_or_stay(record, facts, record.reason)
    if record.driver.lease.is_over(facts.moment):
        return _give_back_or_stay(record, facts, "%s has not been heard of" % record.driver.name)
    return None


def _from_prepared(record: Record, facts: Facts) -> Optional[Record]:
    if _is_busy(record):
        return None
    moved = _struck_or_gone(record, facts, ready=True) or _abandoned(record, facts)
    if moved is not None or not record.committing:
        return moved
    return _answered(record, facts)


def _answered(record: Record, facts: Facts) -> Optional[Record]:
    """What comes of it that somebody has asked for this host's word; None until each handler has looked."""
    if facts.held:
        return replace(record, committing=False, commit_refused=facts.held_because)
    doubt = next((words for words in map(_doubt, record.steps) if words is not None), None)
    if doubt is not None:
        return replace(record, committing=False, commit_refused=doubt)
    if all(step.check.over for step in record.steps):
        given = replace(record, state=r.COMMITTED, committing=False, given_to=_given_to(record))
        return replace(given, reason="%s may approve" % _driver_of(record))
    return None


def _doubt(step: Step) -> Optional[str]:
    """Why it is not sure that this handler's work is out of service; a handler that never could tell is believed (W-41)."""
    outcome = step.check.outcome
    if outcome == r.UNCHANGED:
        return "%s says that it is in service" % step.handler
    if outcome == r.OUT_OF_TIME or (outcome == r.FAILED and step.inspect.outcome in (r.DONE, r.UNCHANGED)):
        return "%s cannot say any more whether it is out of service" % step.handler
    return None


def _given_to(record: Record) -> Tuple[Who, ...]:
    """Who has its word, as soon as the driver that has it in hand has it too. What was given before is not taken back (W-5)."""
    before = record.given_to if record.state == r.COMMITTED else ()
    return before if record.driver is None else (*(who for who in before if who != record.driver.who), record.driver.who)


def _driver_of(record: Record) -> str:
    return "nobody" if record.driver is None else record.driver.name


def _from_committed(record: Record, facts: Facts) -> Optional[Record]:
    """Looked at once more for each who asks. Whatever comes of that, the host stays as it is: an approval may be on its way (W-5)."""
    moved = _struck_or_gone(record, facts, ready=True)
    if moved is not None or not record.committing or _is_busy(record):
        return moved
    if record.driver is None or record.driver.lease.is_over(facts.moment):
        return replace(record, committing=False, commit_refused="%s has not been heard of" % _driver_of(record))
    return _answered(record, facts)


def _from_staying(record: Record, facts: Facts) -> Optional[Record]:
    moved = _struck_or_gone(record, facts, ready=record.ready)
    if moved is None and _is_time_to_give_back(record, facts):
        return replace(record, state=r.BACKING_OUT, reason="the event has moved away")
    return moved


def _from_impact(record: Record, _facts: Facts) -> Optional[Record]:
    return replace(record, state=r.RECOVERING, reason=_say_gone(record)) if record.gone else None


def _from_backing_out(record: Record, facts: Facts) -> Optional[Record]:
    moved = _struck_or_gone(record, facts, ready=False)
    if moved is None and not _is_busy(record) and not any(step.claimed for step in record.steps):
        return replace(record, state=r.BACKED_OUT)
    return moved


def _from_backed_out(record: Record, facts: Facts) -> Optional[Record]:
    return _struck_or_gone(record, facts, ready=False)


def _from_recovering(record: Record, _facts: Facts) -> Optional[Record]:
    if _is_busy(record) or any(step.claimed for step in record.steps):
        return None
    return replace(record, state=r.CLOSED, result=_result(record))


def _result(record: Record) -> str:
    if not record.started_seen and record.hit_ready is None:
        return "cancelled"
    if record.hit_ready:
        return "recovered"
    if record.attempt:
        return "not_prepared"
    if not record.noticed:
        return "started_without_notice"
    return {REFUSE: "refused", IGNORE: "ignored"}.get(record.decision or "", "hit_unprepared")


def result_so_far(record: Record, now: float) -> Optional[str]:
    """The word for what became of it; of an open one only that it is stuck."""
    if not record.is_open:
        return record.result
    late = overdue(record.event, now=now, started_at=record.started_at, gone_at=record.gone_at)
    return None if late is None else "stuck"


def _give_back_or_stay(record: Record, facts: Facts, why: str) -> Record:
    state = r.BACKING_OUT if _is_time_to_give_back(record, facts) else r.STAYING
    return replace(record, state=state, committing=False, driver=None, reason=why)


def _is_time_to_give_back(record: Record, facts: Facts) -> bool:
    """By the event as it is now: its NotBefore may have moved since the decision."""
    if record.times is None:
        return False
    times = replace(record.times, not_before=record.event.not_before)
    return worth_giving_back(times, now=facts.now, recover_budget=facts.recover_budget)


_MOVES = {
    r.SEEN: _from_seen,
    r.PREPARING: _from_preparing,
    r.PREPARED: _from_prepared,
    r.COMMITTED: _from_committed,
    r.STAYING: _from_staying,
    r.IMPACT: _from_impact,
    r.BACKING_OUT: _from_backing_out,
    r.BACKED_OUT: _from_backed_out,
    r.RECOVERING: _from_recovering,
}


# --- last: what to begin -------------------------------------------------------------------------------------------------


def _begun(known: Sequence[Record], intents: Mapping[str, Place], facts: Facts) -> Optional[Action]:
    """One handler at a time on the whole host; putting back before taking out, the sooner event first."""
    if intents:
        return None
    for choose, states in (
        (_next_recovery, (r.RECOVERING, r.BACKING_OUT)),
        (_next_check, (r.PREPARED, r.COMMITTED)),
        (_next_preparation, (r.PREPARING,)),
    ):
        for record in sorted((one for one in known if one.state in states), key=_urgency):
            action = choose(record, known, facts)
            if action is not None:
                return action
    return None


def _urgency(record: Record) -> Tuple[bool, float, str]:
    moment = record.event.not_before
    return moment is not None, moment or 0.0, record.key


def _next_recovery(record: Record, known: Sequence[Record], facts: Facts) -> Optional[Action]:
    for index in reversed(range(len(record.steps))):
        step = record.steps[index]
        if not step.claimed:
            continue
        place = (record, index, r.RECOVER)
        if _others_claim(record, step.handler, known):
            left = replace(step.recover, progress=r.ENDED, outcome=r.UNCHANGED, ended=facts.now)
            return Save(_having(place, left, facts), "%s stays as it is for another event" % step.handler)
        taken = _taken_over(record, step.handler, known, facts)
        if taken is not None:
            return Save(taken, "%s is to stay as it is for this event" % step.handler)
        return None if _others_come(record, step.handler, known, facts) else _intent(place, facts)
    return None


def _next_check(record: Record, _known: Sequence[Record], facts: Facts) -> Optional[Action]:
    if not record.committing or facts.held:
        return None
    return next((_intent((record, index, r.CHECK), facts) for index, step in enumerate(record.steps) if not step.check.over), None)


def _next_preparation(record: Record, _known: Sequence[Record], facts: Facts) -> Optional[Action]:
    if facts.held:
        return None
    for index, step in enumerate(record.steps):
        if not step.prepare.over:
            return _intent((record, index, r.PREPARE if _is_inspected(step) else r.INSPECT), facts)
    return None


def _is_inspected(step: Step) -> bool:
    return step.inspect.over or step.prepare.begun


def _intent(place: Place, facts: Facts) -> Optional[Action]:
    """Written before anything is begun."""
    record, index, phase = place
    work = record.steps[index].work(phase)
    # A clock that was set back makes nobody wait for longer than he has to (W-34): who prepares has a deadline.
    if 0.0 < work.not_before - facts.now <= (LONGEST_BACK_OFF if phase == r.RECOVER else ASK_AGAIN):
        return None
    began = facts.now if work.began is None else work.began
    return Save(
        _having(place, replace(work, progress=r.INTENDED, boot=facts.boot, began=began), facts),
        "%s of %s" % (phase, record.steps[index].handler),
    )
