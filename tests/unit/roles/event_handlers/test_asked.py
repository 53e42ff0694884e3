# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be asked of a record, and what is refused in which words; the rows are those of what-if.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Mapping, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import asked
from azure_event_handlers import records as r
from azure_event_handlers.errors import RefusedError
from azure_event_handlers.records import Driver, Post, Record, Step, Who, Work
from azure_event_handlers.terms import Moment, term_of

NOW = 1_800_000_000.0
AT = Moment(NOW, 5000.0, "boot 1")
MUCH_LATER = Moment(NOW + 1_000_000, 1_005_000.0, "boot 1")
EVENT = Event("E-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), NOW + 86_400, "", 9)
STARTED = replace(EVENT, event_status="Started", not_before=None)
TIMES = Times(EVENT.not_before, 300.0, 60.0, 5.0)
MINE, RENEWED = Driver("playbook", "run 1", term_of(60, AT)), Driver("playbook", "run 1", term_of(120, AT))
OTHER = Driver("agent", "run 2", term_of(60, AT))
STEP = Step("alpha", "alpha", 30.0, True)
READY = replace(STEP, prepare=Work(r.ENDED, r.DONE))
SINCE = "agent has taken the host over, and its handlers have not been asked since"
IN_OTHER_HANDS = "This host is in the hands of playbook (run run 1) until 2027-01-15T08:01:00Z."


def record(state: str = r.PREPARED, **more: Any) -> Record:
    return Record(
        **{**dict(event=EVENT, occurrence=1, vm_id="vm", state=state, steps=(READY,), times=TIMES, driver=MINE, attempt=1), **more}
    )


def prepare(one: Record, driver: Driver = RENEWED, *, empty: bool = False, steps: Any = (READY,)) -> Record:
    return asked.prepare(one, driver, times=TIMES, within=300.0, steps=steps, empty_allowed=empty, now=AT)


def commit(one: Record, event: Event = EVENT, *, driver: Driver = RENEWED, held: Optional[str] = None) -> Record:
    return asked.commit(one, driver, event, now=AT, held=held)


def refused(act: Callable[..., Record], *arguments: Any, **more: Any) -> str:
    with pytest.raises(RefusedError) as error:
        act(*arguments, **more)
    return error.value.message


# --- what is seen --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "event", "named", "view"),
    [
        (r.SCHEDULED, EVENT, True, r.SCHEDULED),
        (r.SCHEDULED, STARTED, True, r.STARTED),
        (r.STARTED, EVENT, True, r.STARTED),
        (r.SCHEDULED, None, True, r.GONE),
        (r.STARTED, None, False, r.GONE),
        (r.SCHEDULED, EVENT, False, r.NOT_NAMED),
        (r.GONE, EVENT, True, r.GONE),
        (r.NOT_NAMED, EVENT, True, r.NOT_NAMED),
    ],
)
def test_how_a_document_shows_an_event(before: str, event: Optional[Event], named: bool, view: str) -> None:
    """W-12, W-15: what is gone stays gone."""
    assert asked.observe(record(view=before), event, now=NOW, named=named).view == view


@pytest.mark.parametrize("state", [r.CLOSED, r.FOREIGN])
def test_what_is_over_is_not_seen_any_more(state: str) -> None:
    one = record(state)
    assert asked.observe(one, STARTED, now=NOW, named=True) is one


def test_the_moments_are_kept() -> None:
    seen = asked.observe(record(), STARTED, now=NOW, named=True)
    assert (seen.started_seen, seen.started_at, seen.last_seen) == (True, NOW, NOW)
    assert seen.event.not_before == EVENT.not_before
    again = asked.observe(seen, STARTED, now=NOW + 5, named=True)
    assert (again.started_at, again.last_seen) == (NOW, NOW + 5)
    gone = asked.observe(again, None, now=NOW + 9, named=True)
    assert (gone.gone_at, gone.last_seen) == (NOW + 9, NOW + 5)


def test_an_id_that_returns_is_a_new_occurrence() -> None:
    """W-15: prepared afresh, under another name."""
    first = asked.first_sight([], EVENT, vm_id="vm", now=NOW)
    assert first is not None
    assert (first.occurrence, first.state, first.first_seen, first.noticed) == (1, r.SEEN, NOW, True)
    assert asked.first_sight([first], replace(EVENT, event_id="e-1"), vm_id="vm", now=NOW) is None
    for over in (
        replace(first, view=r.GONE),
        replace(first, view=r.NOT_NAMED),
        replace(first, state=r.CLOSED),
        replace(first, state=r.FOREIGN),
    ):
        second = asked.first_sight([over], EVENT, vm_id="vm", now=NOW)
        assert second is not None
        assert (second.occurrence, second.state, second.steps) == (2, r.SEEN, ())
        assert second.key != over.key


def test_started_at_first_sight_is_without_notice() -> None:
    """W-24, W-25."""
    one = asked.first_sight([], STARTED, vm_id="vm", now=NOW)
    assert one is not None
    assert (one.view, one.started_seen, one.noticed, one.started_at) == (r.STARTED, True, False, NOW)


def test_a_decision_is_kept_and_not_changed_after_the_start() -> None:
    seen = record(r.SEEN, attempt=0, driver=None)
    assert asked.decide(seen, "refuse", "too late", now=NOW).decision == "refuse"
    assert asked.decide(record(), "refuse", "too late", now=NOW).decision is None


# --- prepare -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [r.SEEN, r.BACKED_OUT])
def test_a_preparation_begins_afresh(state: str) -> None:
    done = prepare(record(state, driver=None, steps=(replace(READY, recover=Work(r.ENDED, r.DONE)),), attempt=1))
    assert (done.state, done.attempt, done.driver, done.deadline) == (r.PREPARING, 2, RENEWED, term_of(300, AT))
    assert done.steps == (STEP,)


def test_to_ask_again_is_to_renew() -> None:
    for state in (r.PREPARING, r.PREPARED):
        again = prepare(record(state))
        assert again == record(state, driver=RENEWED)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (record(r.PREPARED, driver=None, reason="ann wants it back"), "This host is being given back: ann wants it back."),
        (record(r.SEEN, view=r.STARTED), "The event has started already."),
        (record(r.SEEN, view=r.GONE), "The event is gone, or does not name this VM any more."),
        (record(r.SEEN, view=r.NOT_NAMED), "The event is gone, or does not name this VM any more."),
        (record(r.BACKED_OUT, attempt=2), "This host has tried 2 times to get ready for the event; it is not tried again."),
        (record(r.STAYING, reason="too near"), "This host cannot prepare for the event: it is STAYING (too near)."),
        (record(r.COMMITTED, view=r.STARTED), "The event has started already."),
        (record(r.IMPACT, reason="asked"), "This host cannot prepare for the event: it is IMPACT (asked)."),
        (record(r.FOREIGN, reason="x"), "This host cannot prepare for the event: it is FOREIGN (x)."),
    ],
)
def test_why_a_preparation_is_refused(one: Record, message: str) -> None:
    """W-12, W-17, W-29: and a third attempt."""
    assert refused(prepare, one) == message


def test_nothing_to_do_is_not_ready_unless_allowed() -> None:
    """W-50."""
    assert refused(prepare, record(r.SEEN), steps=()).startswith("No handler is there for this event")
    assert prepare(record(r.SEEN), steps=(), empty=True).state == r.PREPARING


@pytest.mark.parametrize("state", [r.PREPARING, r.PREPARED, r.COMMITTED])
def test_another_driver_waits_for_the_lease(state: str) -> None:
    """W-37, W-38; and W-5, W-6: a run that comes after a lost one takes over what it has left, whatever that is."""
    assert refused(prepare, record(state), OTHER) == IN_OTHER_HANDS
    lost = record(state, driver=replace(MINE, lease=term_of(-1, AT)))
    assert prepare(lost, OTHER).driver == OTHER


@pytest.mark.parametrize("state", r.STATES)
def test_a_lease_is_renewed_while_there_is_something_to_hold(state: str) -> None:
    one = record(state, reason="why")
    if state in (r.PREPARING, r.PREPARED, r.COMMITTED):
        assert asked.renew(one, RENEWED, now=AT).driver == RENEWED
        assert refused(asked.renew, one, OTHER, now=AT) == IN_OTHER_HANDS
    else:
        assert refused(asked.renew, one, RENEWED, now=AT) == "There is nothing to hold on to: this host is %s (why)." % state


# --- commit --------------------------------------------------------------------------------------------------------------


def test_a_commit_looks_once_more() -> None:
    looked = replace(READY, check=Work(r.ENDED, r.UNCHANGED))
    after = commit(record(steps=(looked,), commit_refused="alpha says that it is in service"))
    assert (after.state, after.committing, after.commit_refused, after.driver) == (r.PREPARED, True, None, RENEWED)
    assert after.steps[0].check == Work(tries=1)
    assert commit(after) == after


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (dict(state=r.PREPARING, reason="run 1"), "This host is not ready: it is PREPARING (run 1)."),
        (dict(state=r.STAYING, reason="too near"), "This host is not ready: it is STAYING (too near)."),
        (dict(view=r.STARTED), "The event has started already."),
        (dict(view=r.GONE), "The event is gone, or does not name this VM any more."),
        (dict(driver=None, reason="ann wants it back"), "This host is being given back: ann wants it back."),
    ],
)
def test_why_a_commit_is_refused(more: Mapping[str, Any], message: str) -> None:
    assert refused(commit, record(**more)) == message


@pytest.mark.parametrize(
    "event",
    [
        replace(EVENT, resources=("web_0", "web_1")),
        replace(EVENT, not_before=NOW + 5),
        replace(EVENT, event_type="Redeploy"),
        STARTED,
    ],
    ids=["resources", "not before", "type", "started"],
)
def test_a_commit_for_an_event_that_has_changed_is_refused(event: Event) -> None:
    """W-10, W-11."""
    assert refused(commit, record(), event) == "The event has changed since this host got ready for it: look at it again."


def test_a_spelling_is_no_change() -> None:
    assert commit(record(), replace(EVENT, event_type="REBOOT", resources=("WEB_0",))).committing


def test_a_held_host_is_named_with_who_and_until() -> None:
    """W-55."""
    held = "by ann until 2027-01-15T08:01:00Z (disk swap)"
    assert refused(commit, record(), held=held) == "This host is held by ann until 2027-01-15T08:01:00Z (disk swap)."


def test_a_commit_is_for_who_has_the_host() -> None:
    """W-37, W-38."""
    assert refused(commit, record(), driver=OTHER) == IN_OTHER_HANDS


def test_a_commit_whose_answer_was_lost_is_asked_for_again() -> None:
    """W-5: by the same driver, or by the next one when its lease is over."""
    assert commit(record(r.COMMITTED)).state == r.COMMITTED
    assert refused(commit, record(r.COMMITTED), driver=OTHER) == IN_OTHER_HANDS
    assert commit(record(r.COMMITTED, driver=replace(MINE, lease=term_of(-1, AT))), driver=OTHER).driver == OTHER
    assert commit(record(r.COMMITTED, driver=None), driver=OTHER).driver == OTHER


@pytest.mark.parametrize("driver", [RENEWED, OTHER], ids=["the same run", "a run that comes after a lost one"])
def test_who_asks_for_a_word_that_was_given_has_the_host_looked_at_once_more(driver: Driver) -> None:
    """W-41, W-5: put back by hand after the first commit it would else be approved by the second; until then nobody sends."""
    looked = replace(READY, check=Work(r.ENDED, r.DONE))
    before = word_given_to(replace(MINE, lease=term_of(-1, AT)), steps=(looked,))
    asking = commit(before, driver=driver)
    assert (asking.state, asking.committing, asking.driver, asking.given_to) == (r.COMMITTED, True, driver, (MINE.who,))
    assert asking.steps[0].check == Work(tries=1)
    assert commit(asking, driver=driver) == asking
    assert refused(sending, asking, driver).startswith("The word of this host does not cover an approval of %s now:" % driver.who)


def test_nobody_sends_on_a_word_that_a_look_has_not_borne_out() -> None:
    """W-41: whoever had it before."""
    doubted = word_given_to(MINE, commit_refused="alpha says that it is in service")
    assert refused(sending, doubted) == (
        "The word of this host does not cover an approval of playbook (run run 1) now: alpha says that it is in service."
    )
    lost = word_given_to(replace(MINE, lease=term_of(-1, AT)))
    assert refused(sending, prepare(lost, OTHER), OTHER) == (
        "The word of this host does not cover an approval of agent (run run 2) now: %s." % SINCE
    )


def test_what_was_asked_and_taken_over_is_not_answered_with_the_word_of_before() -> None:
    """W-41, W-38: else its driver, when it comes back, would take that for the answer."""
    asking = commit(word_given_to(replace(MINE, lease=term_of(-1, AT))), driver=replace(MINE, lease=term_of(-1, AT)))
    taken = prepare(asking, OTHER)
    assert (taken.committing, taken.commit_refused) == (False, SINCE)
    back = asked.renew(replace(taken, driver=replace(OTHER, lease=term_of(-1, AT))), MINE, now=AT)
    assert back.word_of is None
    assert commit(back, driver=MINE).committing
    never_asked = prepare(word_given_to(replace(MINE, lease=term_of(-1, AT))), replace(OTHER, lease=term_of(-1, AT)))
    assert asked.renew(never_asked, MINE, now=AT).word_of is None


# --- to let go -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "after"), [(r.PREPARING, r.PREPARING), (r.PREPARED, r.PREPARED), (r.COMMITTED, r.PREPARED)])
def test_a_driver_lets_go(state: str, after: str) -> None:
    gone = asked.abort(record(state, committing=True), MINE, now=AT)
    assert (gone.state, gone.driver, gone.committing, gone.reason) == (after, None, False, "playbook has let go")


def test_who_lets_go_twice_or_late_changes_nothing() -> None:
    for state in (r.SEEN, r.STAYING, r.IMPACT, r.BACKING_OUT, r.BACKED_OUT, r.RECOVERING, r.CLOSED, r.FOREIGN):
        one = record(state, driver=None)
        assert asked.abort(one, MINE, now=AT) is one
    assert refused(asked.abort, record(r.PREPARED), OTHER, now=AT) == IN_OTHER_HANDS


def word_given_to(*drivers: Driver, **more: Any) -> Record:
    return record(r.COMMITTED, **{"given_to": tuple(driver.who for driver in drivers), "driver": drivers[-1], **more})


def test_only_who_has_the_word_says_that_nothing_was_posted() -> None:
    """W-5: also when its lease is over."""
    said = refused(asked.abort, word_given_to(MINE), OTHER, now=MUCH_LATER)
    assert said.startswith("The word of this host was given to playbook (run run 1), and only who has it can say that nothing was posted;")
    assert asked.abort(word_given_to(MINE), RENEWED, now=AT).given_to == ()


@pytest.mark.parametrize("take_over", [prepare, lambda one, driver: commit(one, driver=driver)], ids=["prepare", "commit"])
def test_who_takes_a_host_over_cannot_take_its_word_back(take_over: Callable[[Record, Driver], Record]) -> None:
    """W-5: the one before may have posted; and once another one has the word, that one may have."""
    mine = word_given_to(replace(MINE, lease=term_of(-1, AT)))
    taken = take_over(mine, OTHER)
    assert (taken.state, taken.driver, taken.given_to) == (r.COMMITTED, OTHER, (Who("playbook", "run 1"),))
    assert "given to playbook (run run 1), and only" in refused(asked.abort, taken, OTHER, now=AT)
    assert take_over(taken, OTHER) == taken
    both = word_given_to(MINE, OTHER)
    assert "given to agent (run run 2), and only" in refused(asked.abort, both, MINE, now=MUCH_LATER)


def test_who_has_the_word_takes_it_back_from_one_who_never_had_it() -> None:
    """W-5: the other one has only taken the host over, and cannot have posted."""
    taken = prepare(word_given_to(replace(MINE, lease=term_of(-1, AT))), OTHER)
    assert refused(asked.abort, taken, MINE, now=AT).startswith("This host is in the hands of agent (run run 2) until ")
    assert asked.abort(taken, MINE, now=MUCH_LATER).state == r.PREPARED


def test_what_a_lost_driver_has_asked_for_is_not_answered_to_the_next_one() -> None:
    """W-5: else the lost one would follow its question to a word that is not its own, and post on it."""
    asking = record(r.PREPARED, committing=True, driver=replace(MINE, lease=term_of(-1, AT)))
    assert prepare(asking, OTHER).committing is False
    assert commit(asking, driver=OTHER).committing is True
    assert prepare(replace(asking, driver=MINE), RENEWED).committing is True


@pytest.mark.parametrize(
    ("one", "event", "held", "message"),
    [
        (word_given_to(MINE), EVENT, "by ann", "This host is held by ann."),
        (word_given_to(MINE, view=r.STARTED), EVENT, None, "The event has started already."),
        (
            word_given_to(MINE),
            replace(EVENT, resources=("web_0", "web_1")),
            None,
            "The event has changed since this host got ready for it: look at it again.",
        ),
    ],
)
def test_a_word_is_not_given_again_for_something_else(one: Record, event: Event, held: Optional[str], message: str) -> None:
    """W-11, W-55: who asks once more, as before a second post, is told what has changed."""
    assert refused(commit, one, event, held=held) == message


# --- the approval --------------------------------------------------------------------------------------------------------


def sending(one: Record, driver: Driver = MINE, *, witness: str = "web_5", held: Optional[str] = None, now: float = NOW) -> Record:
    return asked.sending(one, driver, witness=witness, held=held, now=now)


def approved(one: Record, outcome: str, driver: Driver = MINE, *, witness: Optional[str] = "web_5", now: float = NOW + 2) -> Record:
    return asked.approved(one, driver, outcome=outcome, witness=witness, now=now)


def test_what_a_driver_says_of_its_approval_changes_nothing_else() -> None:
    before = word_given_to(MINE)
    sent = sending(before)
    assert sent == replace(before, post=Post("playbook", "run 1", "web_5", NOW))
    assert sending(sent, now=NOW + 1) is sent
    told = approved(sent, r.TAKEN)
    assert told == replace(before, post=Post("playbook", "run 1", "web_5", NOW, r.TAKEN, NOW + 2, maybe=True))
    assert approved(told, r.TAKEN, now=NOW + 9) is told
    assert approved(told, r.TAKEN, witness=None) is told


def test_a_stand_by_is_another_post() -> None:
    first = approved(sending(word_given_to(MINE)), r.REFUSED)
    second = sending(first, witness="web_6", now=NOW + 5)
    assert second.post == Post("playbook", "run 1", "web_6", NOW + 5)
    again = sending(approved(second, r.UNCLEAR, witness=None), now=NOW + 9)
    assert again.post == Post("playbook", "run 1", "web_5", NOW + 9, maybe=True)


@pytest.mark.parametrize("state", [r.COMMITTED, r.IMPACT, r.RECOVERING, r.CLOSED, r.STAYING])
def test_what_became_of_it_is_told_in_any_state(state: str) -> None:
    """The event may have started at once, or be gone."""
    sent = replace(sending(word_given_to(MINE)), state=state)
    told = approved(sent, r.NO_EVENT)
    assert told.post is not None
    assert (told.state, told.post.outcome, told.post.maybe) == (state, r.NO_EVENT, False)


@pytest.mark.parametrize(
    ("one", "driver", "held", "message"),
    [
        (
            record(r.PREPARED, reason="every handler is done"),
            MINE,
            None,
            "The word of this host does not hold: it is PREPARED (every handler is done).",
        ),
        (record(r.STAYING, driver=None, reason="x"), MINE, None, "The word of this host does not hold: it is STAYING (x)."),
        (
            word_given_to(replace(MINE, lease=term_of(-99, AT))),
            OTHER,
            None,
            "The word of this host is in the hands of playbook (run run 1): who wants to approve asks for it by `commit`.",
        ),
        (
            word_given_to(OTHER, MINE, driver=OTHER),  # As it can be in a record of before.
            OTHER,
            None,
            "The word of this host does not cover an approval of agent (run run 2) now: who wants to approve asks for it by `commit`.",
        ),
        (
            word_given_to(MINE, driver=None),
            MINE,
            None,
            "The word of this host is in the hands of nobody: who wants to approve asks for it by `commit`.",
        ),
        (word_given_to(MINE), MINE, "by ann", "This host is held by ann."),
        (word_given_to(MINE, view=r.STARTED), MINE, None, "The event has started already."),
        (word_given_to(MINE, view=r.GONE), MINE, None, "The event is gone, or does not name this VM any more."),
    ],
)
def test_why_nobody_may_send(one: Record, driver: Driver, held: Optional[str], message: str) -> None:
    assert refused(sending, one, driver, held=held) == message


def test_only_who_has_said_that_it_sends_says_what_became_of_it() -> None:
    message = "It was not said here that %s sends an approval: that is said by `sending`, before it is posted."
    assert refused(approved, word_given_to(MINE), r.TAKEN) == message % "playbook (run run 1)"
    assert refused(approved, sending(word_given_to(MINE)), r.TAKEN, OTHER) == message % "agent (run run 2)"


@pytest.mark.parametrize("outcome", r.POST_OUTCOMES)
def test_after_an_approval_that_may_have_been_taken_nobody_says_that_nothing_was_posted(outcome: str) -> None:
    """Not even who has posted it; later news of another post change nothing about that."""
    sent = sending(word_given_to(MINE))
    assert asked.abort(sent, MINE, now=AT).state == r.PREPARED
    told = approved(sending(approved(sent, outcome), witness="web_6"), r.REFUSED)
    if outcome in (r.REFUSED, r.NO_EVENT):
        assert asked.abort(told, MINE, now=AT).state == r.PREPARED
    else:
        assert refused(asked.abort, told, MINE, now=AT).startswith("It was said of the approval that it may have been taken, so nobody can")


@pytest.mark.parametrize(
    ("state", "forced", "after"),
    [
        (r.PREPARING, False, r.BACKING_OUT),
        (r.PREPARED, False, r.BACKING_OUT),
        (r.STAYING, False, r.BACKING_OUT),
        (r.COMMITTED, True, r.BACKING_OUT),
        (r.SEEN, True, r.SEEN),
        (r.IMPACT, True, r.IMPACT),
        (r.CLOSED, True, r.CLOSED),
    ],
)
def test_a_person_wants_it_back(state: str, forced: bool, after: str) -> None:
    """W-5."""
    back = asked.give_back(record(state), by="ann", forced=forced, now=NOW)
    assert back.state == after
    if state in (r.PREPARING, r.PREPARED, r.COMMITTED):
        assert (back.driver, back.reason) == (None, "ann wants it back")


def test_only_force_gives_back_what_may_be_approved() -> None:
    """W-5: `release --force`."""
    message = refused(asked.give_back, record(r.COMMITTED), by="ann", forced=False, now=NOW)
    assert message == "The event may be approved already, and then Azure acts on this host; only `release --force` gives it back now."
