# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next thing to do, in each state and for each thing that is seen; the rows are those of what-if.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times, worth_giving_back
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import asked, reconcile
from azure_event_handlers import records as r
from azure_event_handlers.reconcile import Action, Discard, Facts, Run, Save, Stop, Unit
from azure_event_handlers.records import Driver, Record, Step, Who, Work
from azure_event_handlers.terms import Term

NOW = 10_000.0
VM = "vm-1"
EVENT = Event("E-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), NOW + 86_400, "", 9)
NEAR = replace(EVENT, not_before=NOW + 240)
TIMES = Times(EVENT.not_before, 300.0, 60.0, 5.0)
DRIVER = Driver("playbook", "run 1", Term(NOW + 60))
DONE, FAILED, AS_BEFORE = (Work(progress=r.ENDED, outcome=outcome) for outcome in (r.DONE, r.FAILED, r.UNCHANGED))
WAITING = Work(not_before=NOW + 5, tries=1)


def step(handler: str = "alpha", *, required: bool = True, **works: Work) -> Step:
    return Step(handler, handler, 30.0, required, **{"inspect": AS_BEFORE, **works})


READY = step(prepare=DONE)


def record(state: str = r.PREPARING, *steps: Step, **more: Any) -> Record:
    return Record(**{**dict(event=EVENT, occurrence=1, vm_id=VM, state=state, steps=steps, times=TIMES, driver=DRIVER, attempt=1), **more})


def facts(now: float = NOW, units: Optional[Mapping[str, Unit]] = None, **more: Any) -> Facts:
    return Facts(**{**dict(now=now, boot="b1", vm_id=VM, units=units or {}), **more})


def act(*known: Record, **more: Any) -> Optional[Action]:
    return reconcile.next_action({one.key: one for one in known}, facts(**more))


def saved(*known: Record, **more: Any) -> Record:
    action = act(*known, **more)
    assert isinstance(action, Save), action
    return action.record


def at_work(one: Record, phase: str, index: int = 0, **work: Any) -> Tuple[Record, str]:
    """The record with an intent, and the name of its unit."""
    intended = one.having(index, phase, replace(one.steps[index].work(phase), **{"progress": r.INTENDED, "boot": "b1", **work}))
    return intended, r.unit_of(intended, index, phase)


def ended(one: Record, phase: str, code: Optional[int], index: int = 0, ran: float = 1.0, **more: Any) -> Work:
    """What is written of a handler that ended so."""
    intended, name = at_work(one, phase, index)
    return saved(intended, units={name: Unit(False, code, ran)}, **more).steps[index].work(phase)


# --- from state to state -------------------------------------------------------------------------------------------------

GONE, STARTED, NOT_NAMED = dict(view=r.GONE), dict(view=r.STARTED, started_seen=True), dict(view=r.NOT_NAMED)
LEASE_OVER = dict(driver=replace(DRIVER, lease=Term(NOW - 1)))
LET_GO = dict(driver=None)
IS_NEAR = dict(event=NEAR)
BROKEN = step(prepare=FAILED)
UNDONE = step(prepare=DONE, recover=DONE)
CHECKED = step(prepare=DONE, check=DONE)

MOVES: List[Tuple[str, Record, str]] = [
    ("seen and started", record(r.SEEN, **STARTED), r.IMPACT),
    ("seen and gone", record(r.SEEN, **GONE), r.RECOVERING),
    ("every handler is done", record(r.PREPARING, READY), r.PREPARED),
    ("77 is ready too", record(r.PREPARING, step(prepare=AS_BEFORE)), r.PREPARED),
    ("one that is not required may fail", record(r.PREPARING, step(required=False, prepare=FAILED)), r.PREPARED),
    ("W-1: failed, and time enough", record(r.PREPARING, BROKEN), r.BACKING_OUT),
    ("W-2: failed, and too near", record(r.PREPARING, BROKEN, **IS_NEAR), r.STAYING),
    ("failed, and no NotBefore", record(r.PREPARING, BROKEN, event=replace(EVENT, not_before=None)), r.STAYING),
    ("out of time", record(r.PREPARING, step(prepare=WAITING), deadline=Term(NOW - 1)), r.BACKING_OUT),
    ("out of time and near", record(r.PREPARING, step(prepare=WAITING), deadline=Term(NOW - 1), **IS_NEAR), r.STAYING),
    ("W-17: started while it prepares", record(r.PREPARING, step(), **STARTED), r.IMPACT),
    ("W-13: gone while it prepares", record(r.PREPARING, step(), **GONE), r.RECOVERING),
    ("W-12: not named any more", record(r.PREPARING, step(), **NOT_NAMED), r.RECOVERING),
    ("W-3: nobody is heard of in the middle", record(r.PREPARING, step(), **LEASE_OVER), r.BACKING_OUT),
    ("W-3: nobody is heard of", record(r.PREPARED, READY, **LEASE_OVER), r.BACKING_OUT),
    ("W-4: nobody is heard of and it is near", record(r.PREPARED, READY, **LEASE_OVER, **IS_NEAR), r.STAYING),
    ("the driver lets go", record(r.PREPARED, READY, **LET_GO), r.BACKING_OUT),
    ("prepared and started", record(r.PREPARED, READY, **STARTED), r.IMPACT),
    ("prepared and gone", record(r.PREPARED, READY, **GONE), r.RECOVERING),
    ("W-12: prepared and not named any more", record(r.PREPARED, READY, **NOT_NAMED), r.RECOVERING),
    ("a commit that was looked at", record(r.PREPARED, CHECKED, committing=True), r.COMMITTED),
    ("a commit with nothing to look at", record(r.PREPARED, committing=True), r.COMMITTED),
    ("committed and started", record(r.COMMITTED, READY, **STARTED), r.IMPACT),
    ("W-12: committed and not named any more", record(r.COMMITTED, READY, **NOT_NAMED), r.RECOVERING),
    ("committed and gone", record(r.COMMITTED, READY, **GONE), r.RECOVERING),
    ("committed, looked at again and started", record(r.COMMITTED, READY, committing=True, **STARTED), r.IMPACT),
    ("committed, looked at again and gone", record(r.COMMITTED, READY, committing=True, **GONE), r.RECOVERING),
    ("staying and started", record(r.STAYING, READY, **IS_NEAR, **STARTED), r.IMPACT),
    ("staying and gone", record(r.STAYING, READY, **IS_NEAR, **GONE), r.RECOVERING),
    ("staying, and NotBefore moves away", record(r.STAYING, READY), r.BACKING_OUT),
    ("W-21: struck and gone", record(r.IMPACT, READY, **GONE), r.RECOVERING),
    ("W-12: struck and not named any more", record(r.IMPACT, READY, **NOT_NAMED), r.RECOVERING),
    ("backing out is done", record(r.BACKING_OUT, UNDONE), r.BACKED_OUT),
    ("backing out and gone", record(r.BACKING_OUT, READY, **GONE), r.RECOVERING),
    ("backing out and started", record(r.BACKING_OUT, READY, **STARTED), r.IMPACT),
    ("backed out and gone", record(r.BACKED_OUT, UNDONE, **GONE), r.RECOVERING),
    ("backed out and started", record(r.BACKED_OUT, UNDONE, **STARTED), r.IMPACT),
    ("recovered", record(r.RECOVERING, UNDONE, **GONE), r.CLOSED),
    ("nothing to recover", record(r.RECOVERING, step(prepare=AS_BEFORE), **GONE), r.CLOSED),
    ("W-28, W-29: another VM's", record(r.PREPARED, READY, vm_id="vm-2"), r.FOREIGN),
]


@pytest.mark.parametrize(("one", "state"), [case[1:] for case in MOVES], ids=[case[0] for case in MOVES])
def test_a_record_moves_on(one: Record, state: str) -> None:
    """W-1, W-2, W-3, W-4, W-12, W-13, W-17, W-21, W-28, W-29: host.md's table of states."""
    moved = saved(one)
    assert moved.state == state
    assert moved.changed_at == NOW


STILL: List[Tuple[str, Record, Mapping[str, Any]]] = [
    ("seen", record(r.SEEN), {}),
    ("prepared", record(r.PREPARED, READY), {}),
    ("W-5: committed and nobody is heard of", record(r.COMMITTED, READY, **LEASE_OVER), {}),
    ("committed for nobody", record(r.COMMITTED, READY, **LET_GO), {}),
    ("W-55: committed and held", record(r.COMMITTED, READY), dict(held=True)),
    ("W-16: committed, and NotBefore is past", record(r.COMMITTED, READY), dict(now=NOW + 90_000)),
    ("W-4: staying", record(r.STAYING, READY, **IS_NEAR), {}),
    ("W-19, W-59: struck, for hours", record(r.IMPACT, READY, **STARTED), dict(now=NOW + 7200)),
    ("W-24: struck at first sight", record(r.IMPACT, **STARTED), {}),
    ("backed out", record(r.BACKED_OUT, UNDONE), {}),
    ("closed", record(r.CLOSED, UNDONE, **GONE), {}),
    ("W-29: another VM's", record(r.FOREIGN, READY, vm_id="vm-2", **GONE), {}),
    ("nobody could tell which VM this is", record(r.PREPARED, READY, vm_id="vm-2"), dict(vm_id=None)),
    ("W-55: held before the first handler", record(r.PREPARING, step()), dict(held=True)),
    ("not yet asked again", record(r.PREPARING, step(prepare=WAITING)), {}),
    ("not yet recovered again", record(r.RECOVERING, step(prepare=DONE, recover=WAITING), **GONE), {}),
]


@pytest.mark.parametrize(("one", "seen"), [case[1:] for case in STILL], ids=[case[0] for case in STILL])
def test_a_record_stays_as_it_is(one: Record, seen: Mapping[str, Any]) -> None:
    """W-4, W-5, W-16, W-19, W-24, W-29, W-55, W-59: and nothing runs."""
    assert act(one, **seen) is None


@pytest.mark.parametrize(("left", "worth"), [(544.9, False), (545.0, True)])
def test_a_host_is_given_back_when_it_is_worth_it(left: float, worth: bool) -> None:
    """W-1, W-2: recover, serve for a minute, and get ready once more: 120 + 60 + 300 + 60 + 5 s."""
    times = replace(TIMES, not_before=NOW + left)
    assert worth_giving_back(times, now=NOW, recover_budget=120.0) is worth
    moved = saved(record(r.PREPARING, BROKEN, event=replace(EVENT, not_before=NOW + left)))
    assert moved.state == (r.BACKING_OUT if worth else r.STAYING)
    assert moved.driver is None


# --- what handlers say ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "progress", "outcome"),
    [
        (0, r.ENDED, r.DONE),
        (75, r.IDLE, None),
        (77, r.ENDED, r.UNCHANGED),
        (1, r.ENDED, r.FAILED),
        (126, r.ENDED, r.FAILED),
        (None, r.ENDED, r.FAILED),
    ],
)
def test_what_a_preparation_says(code: Optional[int], progress: str, outcome: Optional[str]) -> None:
    work = ended(record(r.PREPARING, step()), r.PREPARE, code)
    assert (work.progress, work.outcome, work.exit) == (progress, outcome, code)


def test_who_says_not_yet_is_asked_again_after_five_seconds() -> None:
    work = ended(record(r.PREPARING, step()), r.PREPARE, 75)
    assert (work.tries, work.not_before) == (1, NOW + 5)
    one = record(r.PREPARING, step(prepare=work))
    assert act(one) is None
    again = saved(one, now=NOW + 5)
    assert again.steps[0].prepare.progress == r.INTENDED
    assert r.unit_of(again, 0, r.PREPARE) != at_work(record(r.PREPARING, step()), r.PREPARE)[1]


@pytest.mark.parametrize("work", [dict(tries=1), dict(interrupted=1)])
def test_who_was_so_after_a_run_of_ours_is_ours(work: Mapping[str, int]) -> None:
    """W-42 the other way round: what a run that was cut off may have done is undone."""
    intended, name = at_work(record(r.PREPARING, step()), r.PREPARE, **work)
    assert saved(intended, units={name: Unit(False, 77)}).steps[0].prepare.outcome == r.DONE


def test_a_drain_by_hand_is_never_recovered() -> None:
    """W-42: inspect says so, and neither prepare nor recover run."""
    intended, name = at_work(record(r.PREPARING, Step("alpha", "alpha", 30.0, True)), r.INSPECT)
    spared = saved(intended, units={name: Unit(False, 0)})
    assert spared.steps[0].prepare.outcome == r.UNCHANGED
    assert saved(spared).state == r.PREPARED
    assert saved(replace(saved(spared), view=r.GONE)).state == r.RECOVERING
    assert saved(replace(spared, state=r.RECOVERING, view=r.GONE)).state == r.CLOSED


@pytest.mark.parametrize(
    ("code", "outcome"), [(0, r.DONE), (1, r.UNCHANGED), (2, r.FAILED), (None, r.OUT_OF_TIME)], ids=["out", "in", "cannot tell", "cut"]
)
@pytest.mark.parametrize("phase", [r.INSPECT, r.CHECK])
def test_what_a_look_says(phase: str, code: Optional[int], outcome: str) -> None:
    state, one = (r.PREPARING, Step("alpha", "alpha", 30.0, True)) if phase == r.INSPECT else (r.PREPARED, READY)
    assert ended(record(state, one), phase, code).outcome == outcome


@pytest.mark.parametrize(
    ("before", "code", "refused"),
    [
        (r.UNCHANGED, 0, None),
        (r.UNCHANGED, 1, "alpha says that it is in service"),
        (r.UNCHANGED, 2, "alpha cannot say any more whether it is out of service"),
        (r.UNCHANGED, None, "alpha cannot say any more whether it is out of service"),
        (r.FAILED, 2, None),
        (r.FAILED, None, "alpha cannot say any more whether it is out of service"),
    ],
)
def test_a_commit_is_refused_when_it_is_not_sure_to_be_out_of_service(before: str, code: Optional[int], refused: Optional[str]) -> None:
    """W-41: put back by hand, or nobody knows; a handler that never could tell is believed."""
    one = record(r.PREPARED, step(inspect=Work(progress=r.ENDED, outcome=before), prepare=DONE), committing=True)
    intended, name = at_work(one, r.CHECK)
    after = saved(saved(intended, units={name: Unit(False, code)}))
    assert after.commit_refused == refused
    assert after.state == (r.COMMITTED if refused is None else r.PREPARED)
    assert not after.committing


@pytest.mark.parametrize("state", [r.PREPARED, r.COMMITTED])
def test_a_hold_refuses_a_commit_under_way(state: str) -> None:
    """W-55."""
    after = saved(record(state, CHECKED, committing=True), held=True)
    assert (after.state, after.commit_refused) == (state, "this host is held")


FIRST = Who("playbook", "run 0")


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        (0, None),
        (1, "alpha says that it is in service"),
        (2, "alpha cannot say any more whether it is out of service"),
        (None, "alpha cannot say any more whether it is out of service"),
    ],
)
def test_a_host_that_has_given_its_word_is_looked_at_again_for_each_who_asks(code: Optional[int], refused: Optional[str]) -> None:
    """W-41, W-5: put back by hand after the first commit it is not approved by the second; what was given before stands."""
    inspected = step(inspect=Work(progress=r.ENDED, outcome=r.UNCHANGED), prepare=DONE)
    one = record(r.COMMITTED, inspected, committing=True, given_to=(FIRST, DRIVER.who))
    intended, name = at_work(one, r.CHECK)
    after = saved(saved(intended, units={name: Unit(False, code)}))
    assert (after.state, after.committing, after.commit_refused) == (r.COMMITTED, False, refused)
    assert after.given_to == (FIRST, DRIVER.who)
    assert after.word_of == (None if refused else DRIVER.who)
    assert act(after) is None


def test_a_word_that_is_given_again_is_added_to_those_of_before() -> None:
    """W-5: each of them may post, and the last one has it now."""
    for before, given in (((FIRST,), (FIRST, DRIVER.who)), ((DRIVER.who, FIRST), (FIRST, DRIVER.who)), ((), (DRIVER.who,))):
        after = saved(record(r.COMMITTED, CHECKED, committing=True, given_to=before))
        assert (after.state, after.given_to, after.word_of) == (r.COMMITTED, given, DRIVER.who)


def test_a_word_is_not_given_again_to_one_who_is_not_there_any_more() -> None:
    """W-5: nor is what was given taken back."""
    one = record(r.COMMITTED, CHECKED, committing=True, given_to=(FIRST,), **LEASE_OVER)
    after = saved(one)
    assert (after.state, after.committing, after.given_to) == (r.COMMITTED, False, (FIRST,))
    assert after.commit_refused == "%s has not been heard of" % DRIVER.name


def test_a_question_that_the_event_overtakes_is_dropped() -> None:
    """W-17: whoever looks at the host is stopped, and nothing of it is left."""
    intended, name = at_work(record(r.COMMITTED, READY, committing=True), r.CHECK)
    struck = replace(intended, view=r.STARTED, started_seen=True)
    assert act(struck, units={name: Unit(True)}) == Stop(name, "the event has moved on")
    moved = saved(saved(struck, units={name: Unit(False)}))
    assert (moved.state, moved.committing, moved.commit_refused) == (r.IMPACT, False, None)


@pytest.mark.parametrize(("tries", "pause"), [(0, 5), (1, 10), (2, 20), (5, 160), (6, 300), (7, 300), (1000, 300)])
def test_a_recovery_that_fails_is_tried_again_later_and_later(tries: int, pause: int) -> None:
    """W-43: for ever."""
    intended, name = at_work(record(r.RECOVERING, READY, **GONE), r.RECOVER, tries=tries)
    work = saved(intended, units={name: Unit(False, 1)}).steps[0].recover
    assert (work.progress, work.tries, work.not_before) == (r.IDLE, tries + 1, NOW + pause)


def test_a_recovery_that_is_not_done_yet_is_asked_again_soon() -> None:
    intended, name = at_work(record(r.RECOVERING, READY, **GONE), r.RECOVER, tries=7)
    assert saved(intended, units={name: Unit(False, 75)}).steps[0].recover.not_before == NOW + 5


# --- limits --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ran", "stopped"), [(30.0, False), (30.1, True)])
def test_a_handler_is_stopped_when_its_time_is_over(ran: float, stopped: bool) -> None:
    intended, name = at_work(record(r.PREPARING, step()), r.PREPARE)
    expected = Stop(name, "its time is over") if stopped else None
    assert act(intended, units={name: Unit(True, ran=ran)}) == expected


def test_a_freeze_does_not_count() -> None:
    """W-20: an hour later by the clock, and it ran for three seconds."""
    intended, name = at_work(record(r.PREPARING, step(), driver=replace(DRIVER, lease=Term(NOW + 9999))), r.PREPARE, began=NOW)
    assert act(intended, units={name: Unit(True, ran=3.0)}, now=NOW + 3600) is None


def test_who_was_stopped_for_his_time_has_failed() -> None:
    work = ended(record(r.PREPARING, step()), r.PREPARE, None, ran=31.0)
    assert work.outcome == r.OUT_OF_TIME
    assert saved(record(r.PREPARING, step(prepare=work))).state == r.BACKING_OUT


@pytest.mark.parametrize("seen", [STARTED, GONE, NOT_NAMED], ids=["started", "gone", "not named"])
def test_a_running_preparation_is_stopped_when_the_event_moves_on(seen: Mapping[str, Any]) -> None:
    """W-13, W-17: and what was begun is recovered."""
    intended, name = at_work(record(r.PREPARING, step(), **seen), r.PREPARE)
    assert act(intended, units={name: Unit(True)}) == Stop(name, "the event has moved on")
    stopped = saved(intended, units={name: Unit(False)})
    assert stopped.steps[0].prepare.outcome == r.STOPPED
    assert stopped.steps[0].claimed


def test_a_running_recovery_is_not_stopped_by_the_event() -> None:
    intended, name = at_work(record(r.BACKING_OUT, READY, **STARTED), r.RECOVER)
    action = act(intended, units={name: Unit(True)})
    assert isinstance(action, Save)
    assert action.record.state == r.IMPACT


# --- what is begun, and in which order -----------------------------------------------------------------------------------


def test_the_intent_comes_before_the_run() -> None:
    one = record(r.PREPARING, Step("alpha", "alpha", 30.0, True))
    intended = saved(one)
    assert intended.steps[0].inspect.progress == r.INTENDED
    assert intended.steps[0].inspect.boot == "b1"
    assert act(intended) == Run(one.key, 0, r.INSPECT, r.unit_of(intended, 0, r.INSPECT))


def test_handlers_prepare_in_order_and_recover_in_reverse() -> None:
    first = saved(record(r.PREPARING, step("alpha"), step("beta")))
    assert [one.prepare.progress for one in first.steps] == [r.INTENDED, r.IDLE]
    back = saved(record(r.RECOVERING, step("alpha", prepare=DONE), step("beta", prepare=DONE), **GONE))
    assert [one.recover.progress for one in back.steps] == [r.IDLE, r.INTENDED]


def test_a_recovery_that_waits_holds_up_those_before_it() -> None:
    one = record(r.RECOVERING, step("alpha", prepare=DONE), step("beta", prepare=DONE, recover=WAITING), **GONE)
    assert act(one) is None


def test_hold_does_not_stop_a_recovery() -> None:
    """W-55."""
    assert saved(record(r.RECOVERING, READY, **GONE), held=True).steps[0].recover.progress == r.INTENDED


def test_the_result_is_written_and_only_then_the_unit_forgotten() -> None:
    intended, name = at_work(record(r.PREPARING, step()), r.PREPARE)
    units = {name: Unit(False, 0)}
    collected = saved(intended, units=units)
    assert act(collected, units=units) == Discard(name)


def test_what_could_not_be_begun_in_time_is_not_begun_late() -> None:
    """Where /run is full no unit can be made, and the host is given back all the same."""
    intended, name = at_work(record(r.PREPARING, step(), deadline=Term(NOW)), r.PREPARE)
    assert act(intended) == Run(intended.key, 0, r.PREPARE, name)
    idle = saved(intended, now=NOW + 1)
    assert idle.steps[0].prepare == Work()
    assert saved(idle, now=NOW + 1).state == r.BACKING_OUT


def test_a_unit_that_belongs_to_nothing_is_stopped_and_forgotten() -> None:
    assert act(units={"x": Unit(True)}) == Stop("x", "nobody waits for it")
    assert act(units={"x": Unit(False)}) == Discard("x")


def test_a_unit_of_another_vms_record_is_stopped() -> None:
    """W-28, W-29."""
    intended, name = at_work(record(r.RECOVERING, READY, vm_id="vm-2", **GONE), r.RECOVER)
    assert act(saved(intended, units={name: Unit(True)}), units={name: Unit(True)}) == Stop(name, "nobody waits for it")


def test_an_intent_of_an_earlier_boot_counts_as_cut_short_and_is_begun_again_by_another_name() -> None:
    intended, name = at_work(record(r.PREPARING, step()), r.PREPARE)
    again = saved(intended, boot="b2")
    assert again.steps[0].prepare.interrupted == 1
    action = act(again, boot="b2")
    assert isinstance(action, Run)
    assert action.unit != name


def test_a_cut_preparation_of_an_event_that_moved_on_is_not_begun_again_but_recovered() -> None:
    intended, _name = at_work(record(r.PREPARING, step(), **GONE), r.PREPARE, interrupted=1)
    stopped = saved(intended)
    assert stopped.steps[0].prepare.outcome == r.STOPPED
    assert stopped.steps[0].claimed


def test_an_intent_of_this_boot_without_a_unit_was_never_begun() -> None:
    intended, _name = at_work(record(r.PREPARING, step(), **GONE), r.PREPARE)
    forgotten = saved(intended)
    assert forgotten.steps[0].prepare.progress == r.IDLE
    assert not forgotten.steps[0].claimed


def test_a_clock_that_is_set_back_keeps_nobody_waiting() -> None:
    """W-34: what is tried again after seconds is not waited for an hour."""
    one = record(r.RECOVERING, step(prepare=DONE, recover=replace(WAITING, not_before=NOW + 3605)), **GONE)
    assert saved(one).steps[0].recover.progress == r.INTENDED
    one = record(r.RECOVERING, step(prepare=DONE, recover=replace(WAITING, not_before=NOW + 300)), **GONE)
    assert act(one) is None
    one = record(r.PREPARING, step(prepare=replace(WAITING, not_before=NOW + 205)))
    assert saved(one).steps[0].prepare.progress == r.INTENDED


# --- two events ----------------------------------------------------------------------------------------------------------

OTHER = replace(EVENT, event_id="E-2", event_type="Freeze")


def test_the_last_of_two_events_puts_a_handler_back() -> None:
    """W-22."""
    first, second = record(r.RECOVERING, READY, **GONE), record(r.PREPARED, READY, event=OTHER)
    released = saved(first, second)
    assert (released.key, released.steps[0].recover.outcome) == (first.key, r.UNCHANGED)
    closed = saved(released, second)
    assert closed.state == r.CLOSED
    last = saved(closed, replace(second, state=r.RECOVERING, view=r.GONE))
    assert (last.key, last.steps[0].recover.progress) == (second.key, r.INTENDED)


def test_what_another_event_of_ours_did_is_not_taken_for_a_drain_by_hand() -> None:
    """W-22, W-42: inspect of the second event finds the work of the first one."""
    first = record(r.PREPARED, READY)
    second, name = at_work(record(r.PREPARING, Step("alpha", "alpha", 30.0, True), event=OTHER), r.INSPECT)
    seen = saved(first, second, units={name: Unit(False, 0)})
    assert not seen.steps[0].prepare.over
    intended, name = at_work(seen, r.PREPARE)
    done = saved(first, intended, units={name: Unit(False, 77)})
    assert done.steps[0].prepare.outcome == r.DONE


def test_what_somebody_elses_drain_was_for_is_undone_after_the_event_that_counts_on_it() -> None:
    """W-22, W-42: the first event had found it out of service by hand, the second one prepared it nevertheless, and goes first."""
    first, second = record(r.PREPARED, step(prepare=AS_BEFORE)), record(r.RECOVERING, READY, event=OTHER, **GONE)
    taken = saved(first, second)
    assert (taken.key, taken.steps[0].prepare.outcome) == (first.key, r.DONE)
    assert saved(taken, second).steps[0].recover.outcome == r.UNCHANGED


def test_a_ready_host_waits_ten_seconds_after_a_cancelled_event() -> None:
    """W-14."""
    moved = saved(record(r.PREPARED, READY, **GONE))
    assert moved.steps[0].recover.not_before == NOW + 10
    assert act(moved, now=NOW + 9) is None
    assert saved(moved, now=NOW + 10).steps[0].recover.progress == r.INTENDED


@pytest.mark.parametrize(
    "one",
    [
        record(r.PREPARING, step(prepare=Work(progress=r.ENDED, outcome=r.STOPPED)), **GONE),
        record(r.PREPARED, READY, **NOT_NAMED),
        record(r.PREPARED, READY, view=r.GONE, started_seen=True),
        record(r.IMPACT, READY, **GONE),
    ],
    ids=["half-way", "not named", "it had started", "after the event"],
)
def test_every_other_host_is_recovered_at_once(one: Record) -> None:
    """W-13."""
    assert saved(saved(one)).steps[0].recover.progress == r.INTENDED


def test_the_next_event_takes_the_claims_over_without_a_handler_put_back() -> None:
    """W-14: beta is still to come for the new event, and is not put back before."""
    both = (step("alpha", prepare=DONE), step("beta", prepare=DONE))
    old = saved(record(r.PREPARED, *both, **GONE))
    new = record(r.PREPARING, step("alpha"), step("beta"), event=replace(EVENT, event_id="E-2"))
    later = NOW + 60
    begun: List[Tuple[str, str]] = []
    known = {one.key: one for one in (old, replace(new, driver=replace(DRIVER, lease=Term(NOW + 900))))}
    units: Dict[str, Unit] = {}
    for _step in range(40):
        action = reconcile.next_action(known, facts(now=later, units=units))
        if isinstance(action, Save):
            known[action.record.key] = action.record
        elif isinstance(action, Run):
            begun.append((known[action.key].steps[action.index].handler, action.phase))
            units = {action.unit: Unit(False, 77)}
        elif isinstance(action, Discard):
            units = {}
    assert begun == [("alpha", r.PREPARE), ("beta", r.PREPARE)]
    assert {one.event.event_id: one.state for one in known.values()} == {"E-1": r.CLOSED, "E-2": r.PREPARED}
    assert all(one.claimed for one in known[new.key].steps)


def test_a_held_host_does_not_wait_for_the_next_event() -> None:
    """W-14, W-55."""
    old, new = record(r.RECOVERING, READY, **GONE), record(r.PREPARING, step(), event=OTHER)
    action = saved(old, new, held=True)
    assert (action.key, action.steps[0].recover.progress) == (old.key, r.INTENDED)


# --- what became of it ---------------------------------------------------------------------------------------------------

WAS_STARTED = dict(view=r.GONE, started_seen=True)
RESULTS: List[Tuple[str, Mapping[str, Any]]] = [
    ("cancelled", GONE),
    ("cancelled", dict(GONE, attempt=0, decision="refuse")),
    ("recovered", dict(WAS_STARTED, hit_ready=True)),
    ("not_prepared", dict(WAS_STARTED, hit_ready=False)),
    ("hit_unprepared", dict(WAS_STARTED, hit_ready=False, attempt=0)),
    ("hit_unprepared", dict(WAS_STARTED, hit_ready=False, attempt=0, decision="prepare")),
    ("refused", dict(WAS_STARTED, hit_ready=False, attempt=0, decision="refuse")),
    ("ignored", dict(WAS_STARTED, hit_ready=False, attempt=0, decision="ignore")),
    ("started_without_notice", dict(WAS_STARTED, hit_ready=False, attempt=0, noticed=False)),
]


@pytest.mark.parametrize(("word", "more"), RESULTS)
def test_the_word_for_what_became_of_it(word: str, more: Mapping[str, Any]) -> None:
    """W-13, W-25."""
    closed = saved(record(r.RECOVERING, UNDONE, **more))
    assert closed.result == word
    assert reconcile.result_so_far(closed, NOW) == word


def test_an_event_that_started_and_went_between_two_looks_found_the_host_ready() -> None:
    one = record(r.PREPARED, step(prepare=AS_BEFORE), view=r.GONE, started_seen=True)
    assert saved(saved(one)).result == "recovered"


BEFORE_BOOT = Work(progress=r.ENDED, outcome=r.DONE, boot="b0")
SINCE_BOOT = replace(BEFORE_BOOT, boot="b1")
# Seen last before a boot two minutes ago, when NotBefore was a minute over.
REBOOTED = dict(now=EVENT.not_before + 180.0, passed=120.0)
UNSEEN: List[Tuple[str, Record, Mapping[str, Any], str]] = [
    ("committed", record(r.COMMITTED, step(prepare=DONE, check=BEFORE_BOOT)), dict(now=NOW + 600, passed=120.0), "recovered"),
    ("committed, and no boot since", record(r.COMMITTED, step(prepare=DONE, check=SINCE_BOOT)), dict(now=NOW + 600), "cancelled"),
    ("prepared, at NotBefore", record(r.PREPARED, step(prepare=BEFORE_BOOT)), REBOOTED, "recovered"),
    ("prepared, long before NotBefore", record(r.PREPARED, step(prepare=BEFORE_BOOT)), dict(now=NOW + 600, passed=120.0), "cancelled"),
    ("no NotBefore", record(r.PREPARED, step(prepare=BEFORE_BOOT), event=replace(EVENT, not_before=None)), REBOOTED, "recovered"),
    ("staying", record(r.STAYING, step(prepare=BEFORE_BOOT), driver=None), REBOOTED, "recovered"),
    ("cut while it prepares", record(r.PREPARING, step(prepare=replace(FAILED, boot="b1", interrupted=1))), REBOOTED, "not_prepared"),
    ("given back", record(r.BACKED_OUT, step(prepare=BEFORE_BOOT, recover=DONE), driver=None), REBOOTED, "not_prepared"),
    ("nothing done", record(r.SEEN, attempt=0, driver=None), REBOOTED, "hit_unprepared"),
    ("refused", record(r.SEEN, attempt=0, driver=None, decision="refuse"), REBOOTED, "refused"),
    ("seen again after the boot", record(r.SEEN, attempt=0, driver=None, last_seen=EVENT.not_before + 100), REBOOTED, "cancelled"),
    ("a pause", record(r.PREPARED, step(prepare=BEFORE_BOOT), event=replace(EVENT, event_type="Freeze")), REBOOTED, "cancelled"),
    ("a deletion", record(r.PREPARED, step(prepare=BEFORE_BOOT), event=replace(EVENT, event_type="Terminate")), REBOOTED, "cancelled"),
]


@pytest.mark.parametrize(("one", "when", "word"), [case[1:] for case in UNSEEN], ids=[case[0] for case in UNSEEN])
def test_a_host_that_the_event_rebooted_before_it_was_seen_to_start_is_said_to_be_hit(one: Record, when: Any, word: str) -> None:
    """Host.md, Evidence: the result; nobody sees Started while the machine is down."""
    gone = saved(replace(one, view=r.GONE, last_seen=one.last_seen or NOW), **when)
    assert (gone.state, gone.started_seen) == (r.RECOVERING, False)
    assert ("the machine was started anew meanwhile" in gone.reason) == (word != "cancelled")
    undone = tuple(replace(each, recover=DONE) for each in gone.steps)
    assert saved(replace(gone, steps=undone), **when).result == word


def test_a_host_that_was_rebooted_by_the_event_is_put_back_at_once() -> None:
    """W-14: nothing is cancelled that could come again in a moment."""
    one = record(r.COMMITTED, step(prepare=DONE, check=BEFORE_BOOT), view=r.GONE, last_seen=NOW)
    struck = saved(one, now=NOW + 600, passed=120.0)
    assert saved(struck, now=NOW + 600, passed=120.0).steps[0].recover.progress == r.INTENDED


@pytest.mark.parametrize(("kind", "started", "word"), [("Preempt", True, "deleted"), ("Terminate", False, None), ("Reboot", True, None)])
def test_the_record_of_a_vm_that_was_deleted(kind: str, started: bool, word: Optional[str]) -> None:
    """W-28."""
    one = record(r.IMPACT, READY, vm_id="vm-2", event=replace(EVENT, event_type=kind), started_seen=started)
    assert saved(one).result == word


@pytest.mark.parametrize(
    ("more", "at", "word"),
    [
        (dict(state=r.PREPARED), NOW + 86_400 + 900, None),
        (dict(state=r.PREPARED), NOW + 86_400 + 901, "stuck"),
        (dict(state=r.IMPACT, event=replace(EVENT, event_status="Started"), started_at=NOW), NOW + 1801, "stuck"),
        (dict(state=r.RECOVERING, gone_at=NOW), NOW + 600, None),
        (dict(state=r.RECOVERING, gone_at=NOW), NOW + 601, "stuck"),
        (dict(state=r.CLOSED, gone_at=NOW, result="recovered"), NOW + 601, "recovered"),
    ],
)
def test_what_takes_too_long_is_stuck(more: Mapping[str, Any], at: float, word: Optional[str]) -> None:
    """W-18, W-43, W-59."""
    assert reconcile.result_so_far(record(**more), at) == word


def test_started_at_first_sight_runs_nothing() -> None:
    """W-24, W-25: host in manual maintenance, no claims."""
    one = asked.first_sight([], replace(EVENT, event_status="Started", not_before=None), vm_id=VM, now=NOW)
    assert one is not None
    struck = saved(one)
    assert struck.state == r.IMPACT
    assert act(struck) is None
    over = saved(saved(asked.observe(struck, None, now=NOW, named=True)))
    assert (over.state, over.result) == (r.CLOSED, "started_without_notice")
