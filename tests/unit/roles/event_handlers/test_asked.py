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
from azure_event_handlers.records import Driver, Record, Step, Work

NOW = 1_800_000_000.0
EVENT = Event("E-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), NOW + 86_400, "", 9)
STARTED = replace(EVENT, event_status="Started", not_before=None)
TIMES = Times(EVENT.not_before, 300.0, 60.0, 5.0)
MINE, RENEWED = Driver("playbook", "run 1", NOW + 60), Driver("playbook", "run 1", NOW + 120)
OTHER = Driver("agent", "run 2", NOW + 60)
STEP = Step("alpha", "alpha", 30.0, True)
READY = replace(STEP, prepare=Work(r.ENDED, r.DONE))
IN_OTHER_HANDS = "This host is in the hands of playbook (run run 1) until 2027-01-15T08:01:00Z."


def record(state: str = r.PREPARED, **more: Any) -> Record:
    return Record(
        **{**dict(event=EVENT, occurrence=1, vm_id="vm", state=state, steps=(READY,), times=TIMES, driver=MINE, attempt=1), **more}
    )


def prepare(one: Record, driver: Driver = RENEWED, *, empty: bool = False, steps: Any = (READY,)) -> Record:
    return asked.prepare(one, driver, times=TIMES, within=300.0, steps=steps, empty_allowed=empty, now=NOW)


def commit(one: Record, event: Event = EVENT, *, driver: Driver = RENEWED, held: Optional[str] = None) -> Record:
    return asked.commit(one, driver, event, now=NOW, held=held)


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
    assert (done.state, done.attempt, done.driver, done.deadline) == (r.PREPARING, 2, RENEWED, NOW + 300)
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
        (record(r.COMMITTED, reason="asked"), "This host cannot prepare for the event: it is COMMITTED (asked)."),
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


@pytest.mark.parametrize("state", [r.PREPARING, r.PREPARED])
def test_another_driver_waits_for_the_lease(state: str) -> None:
    """W-37, W-38."""
    assert refused(prepare, record(state), OTHER) == IN_OTHER_HANDS
    lost = record(state, driver=replace(MINE, lease_until=NOW - 1))
    assert prepare(lost, OTHER).driver == OTHER


@pytest.mark.parametrize("state", r.STATES)
def test_a_lease_is_renewed_while_there_is_something_to_hold(state: str) -> None:
    one = record(state, reason="why")
    if state in (r.PREPARING, r.PREPARED, r.COMMITTED):
        assert asked.renew(one, RENEWED, now=NOW).driver == RENEWED
        assert refused(asked.renew, one, OTHER, now=NOW) == IN_OTHER_HANDS
    else:
        assert refused(asked.renew, one, RENEWED, now=NOW) == "There is nothing to hold on to: this host is %s (why)." % state


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
    assert commit(record(r.COMMITTED, driver=replace(MINE, lease_until=NOW - 1)), driver=OTHER).driver == OTHER
    assert commit(record(r.COMMITTED, driver=None), driver=OTHER).driver == OTHER


# --- to let go -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "after"), [(r.PREPARING, r.PREPARING), (r.PREPARED, r.PREPARED), (r.COMMITTED, r.PREPARED)])
def test_a_driver_lets_go(state: str, after: str) -> None:
    gone = asked.abort(record(state, committing=True), MINE, now=NOW)
    assert (gone.state, gone.driver, gone.committing, gone.reason) == (after, None, False, "playbook has let go")


def test_who_lets_go_twice_or_late_changes_nothing() -> None:
    for state in (r.SEEN, r.STAYING, r.IMPACT, r.BACKING_OUT, r.BACKED_OUT, r.RECOVERING, r.CLOSED, r.FOREIGN):
        one = record(state, driver=None)
        assert asked.abort(one, MINE, now=NOW) is one
    assert refused(asked.abort, record(r.PREPARED), OTHER, now=NOW) == IN_OTHER_HANDS


def test_only_who_has_the_word_says_that_nothing_was_posted() -> None:
    """W-5: also when its lease is over."""
    said = refused(asked.abort, record(r.COMMITTED), OTHER, now=NOW + 1_000_000)
    assert said.startswith("The word of this host was given to playbook (run ")


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
