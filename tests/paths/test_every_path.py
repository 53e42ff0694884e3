# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every path that events can take through one host (see worlds.py), in scenarios that each end in seconds.

One event with two handlers: all that handlers and the machine can do, all that drivers and people can do, and any two disturbances of
both kinds. Two events that share a handler: nothing but themselves, each single disturbance, and a few of them together. That the search
finds what is wrong is shown by doing it wrong.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

import pytest
import worlds as w
from azure_event_handlers import asked, reconcile
from azure_event_handlers import records as r
from azure_event_handlers.reconcile import Action, Facts, Place, Run, Save
from azure_event_handlers.records import Driver, Record, Step, Work
from azure_event_handlers.terms import Moment
from worlds import Scenario

ONE = {"E-1": ("alpha", "beta")}
SHARED = {"E-1": ("alpha",), "E-2": ("alpha",)}
OVERLAPPING = {"E-1": ("alpha", "beta"), "E-2": ("alpha",)}
OF_HANDLERS = (w.NOT_YET, w.FAILS, w.OVERRUNS, w.REBOOT)
OF_DRIVERS = tuple(word for word in w.DISTURBANCES if word not in OF_HANDLERS)

SCENARIOS = {
    "one event, handlers and machine at their worst": Scenario(ONE, OF_HANDLERS, reboots=2, attempts=1),
    "one event, handlers at their worst, twice": Scenario(ONE, (w.NOT_YET, w.FAILS, w.IS_LOST), attempts=2),
    "one event, drivers and people at their worst": Scenario(ONE, OF_DRIVERS, attempts=1),
    "one event, its word is asked for by one run after the other": Scenario(
        {"E-1": ("alpha",)},
        (w.IS_LOST, w.TAKEN_OVER, w.PUT_BACK, w.COMMIT_AGAIN, w.REBOOT, w.HELD, w.LETS_GO),
        tries=2,
        attempts=1,
    ),
    "one event, any two disturbances": Scenario(ONE, w.DISTURBANCES, most=2, reboots=2),
    "one event, one handler's work out before": Scenario(ONE, w.DISTURBANCES, most=2, attempts=1, theirs=frozenset(("alpha",))),
    "one event, handlers that cannot tell": Scenario(ONE, OF_HANDLERS, most=2, attempts=1, theirs=frozenset(("alpha",)), inspects=False),
    "two events, nothing disturbs": Scenario(OVERLAPPING),
    "two events, handlers and machine disturb once": Scenario(SHARED, OF_HANDLERS, most=1, attempts=1),
    "two events, drivers and people disturb once": Scenario(SHARED, OF_DRIVERS, most=1, attempts=1),
    "two events, failures and reboots, twice": Scenario(SHARED, (w.FAILS, w.REBOOT), most=2, attempts=1),
    "two events, lost and tried again": Scenario(SHARED, (w.IS_LOST, w.FAILS), most=1),
    "two events and two handlers, the machine stops": Scenario(OVERLAPPING, (w.REBOOT,), attempts=1),
    "two events, out of service before": Scenario(SHARED, (w.OVERRUNS, w.IS_LOST), most=1, attempts=1, theirs=frozenset(("alpha",))),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_path_leads_to_a_wrong_act_or_to_a_host_left_drained(name: str) -> None:
    """W-22, and the promise of each handler's once, on every path."""
    print("%s: %d worlds" % (name, w.explore(SCENARIOS[name])))


def test_what_is_wiped_out_of_records_plays_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search wipes what it takes to be of no account; here whole records go the same ways, by chance."""
    monkeypatch.setattr(w, "_plain", lambda record: record)
    closed = 0
    for seed in range(1500):
        search = w.Search(Scenario(OVERLAPPING, w.DISTURBANCES, reboots=2, tries=2))
        last = search.walk(Random(seed), 200)
        search.check_ends({last})
        closed += all(record.state == r.CLOSED for record in search.records(last))
    assert closed > 500, "the paths are too short to tell anything"


# --- the same with a mistake in it -----------------------------------------------------------------------------------------

RIGHT: Dict[str, Any] = {
    name: getattr(reconcile, name)
    for name in ("_begun", "_from_committed", "_from_prepared", "_intent", "_not_there", "_prepared", "next_action")
}
HELD_BY = asked._held_by


def _runs_at_once(place: Place, facts: Facts) -> Optional[Action]:
    action = RIGHT["_intent"](place, facts)
    return None if action is None else Run(place[0].key, place[1], place[2], r.unit_of(*place))


def _ends_for_good(work: Work, facts: Facts) -> Work:
    return reconcile._ended(work, r.DONE, work.exit, facts)


def _counts_as_ours(place: Place, work: Work, unit: Any, known: Sequence[Record], facts: Facts) -> Work:
    done: Work = replace(RIGHT["_prepared"](place, work, unit, known, facts), outcome=r.DONE)
    return done


def _counts_as_theirs(place: Place, work: Work, unit: Any, known: Sequence[Record], facts: Facts) -> Work:
    if unit.exit == reconcile.WAS_SO:
        return reconcile._ended(work, r.UNCHANGED, unit.exit, facts)
    done: Work = RIGHT["_prepared"](place, work, unit, known, facts)
    return done


def _never_cut(name: str, place: Place, facts: Facts) -> Action:
    record, index, phase = place
    if record.steps[index].work(phase).boot != facts.boot:
        work = replace(record.steps[index].work(phase), boot=facts.boot)
        return Save(record.having(index, phase, work), "as if it had not run")
    action: Action = RIGHT["_not_there"](name, place, facts)
    return action


def _forgets_the_cut(name: str, place: Place, facts: Facts) -> Action:
    record, index, phase = place
    if record.steps[index].work(phase).boot != facts.boot:
        return Save(record.having(index, phase, replace(record.steps[index].work(phase), progress=r.IDLE)), "as if it had not run")
    action: Action = RIGHT["_not_there"](name, place, facts)
    return action


def _commits_at_once(record: Record, facts: Facts) -> Optional[Record]:
    return replace(record, state=r.COMMITTED) if record.committing else RIGHT["_from_prepared"](record, facts)


def _believes_who_was_cut(step: Step) -> Optional[str]:
    return "in service" if step.check.outcome == r.UNCHANGED else None


def _knows_no_hold(records: Mapping[str, Record], facts: Facts) -> Optional[Action]:
    action: Optional[Action] = RIGHT["next_action"](records, replace(facts, held=False))
    return action


def _only_what_is_done(step: Step) -> bool:
    return step.prepare.outcome == r.DONE and not step.recover.over


def _without_tries(record: Record, index: int, phase: str) -> str:
    return "unit-%s-%d-%d-%s" % (record.key, record.attempt, index, phase)


def _begins_beside(known: Sequence[Record], intents: Mapping[str, Place], facts: Facts) -> Optional[Action]:
    action: Optional[Action] = RIGHT["_begun"]([record for record in known if not reconcile._is_busy(record)], {}, facts)
    return action


def _gives_back_a_yes(record: Record, facts: Facts) -> Optional[Record]:
    return reconcile._struck_or_gone(record, facts, ready=True) or reconcile._abandoned(record, facts)


def _believes_the_word_of_before(record: Record, facts: Facts) -> Optional[Record]:
    if record.committing and record.view == r.SCHEDULED:
        return replace(record, committing=False, given_to=reconcile._given_to(record))
    return RIGHT["_from_committed"](record, facts)


def _forgets_the_no(record: Record, facts: Facts) -> Optional[Record]:
    moved: Optional[Record] = RIGHT["_from_committed"](record, facts)
    return None if moved is None else replace(moved, commit_refused=None)


def _takes_the_word_back(record: Record, facts: Facts) -> Optional[Record]:
    moved: Optional[Record] = RIGHT["_from_committed"](record, facts)
    return moved if moved is None or moved.commit_refused is None else replace(moved, state=r.PREPARED)


def _forgets_who_has_it(record: Record, facts: Facts) -> Optional[Record]:
    moved: Optional[Record] = RIGHT["_from_committed"](record, facts)
    return moved if moved is None or moved.commit_refused is None else replace(moved, given_to=())


def _answers_who_is_lost(record: Record, facts: Facts) -> Optional[Record]:
    moved = reconcile._struck_or_gone(record, facts, ready=True)
    return moved if moved is not None or not record.committing else reconcile._answered(record, facts)


def _has_the_word_of_before(record: Record, driver: Driver, now: Moment) -> Record:
    held: Record = HELD_BY(record, driver, now)
    if record.state != r.COMMITTED or driver.who in record.given_to:
        return held
    return replace(held, given_to=(*record.given_to, driver.who), commit_refused=None)


def _has_it_again(record: Record, driver: Driver, now: Moment) -> Record:
    held: Record = HELD_BY(record, driver, now)
    return replace(held, commit_refused=None)


class Mistake(NamedTuple):
    """What is done wrong (a place and what is put there), and the words in which the search says so."""

    where: Any
    name: str
    instead: Callable[..., Any]
    found: str
    scenario: Scenario


SMALL = Scenario(ONE, (w.NOT_YET, w.FAILS, w.REBOOT, w.IS_LOST, w.HELD, w.PUT_BACK), most=2, attempts=1)
TWO = Scenario(SHARED, attempts=1)
MEDDLED = Scenario({"E-1": ("alpha",)}, w.DISTURBANCES, most=2, attempts=1)
SPARED = Scenario(SHARED, (w.OVERRUNS,), most=1, attempts=1, theirs=frozenset(("alpha",)))
BLIND = Scenario(ONE, (w.NOT_YET, w.FAILS), most=1, attempts=1, theirs=frozenset(("alpha",)), inspects=False)
WORD = Scenario({"E-1": ("alpha",)}, (w.IS_LOST, w.TAKEN_OVER, w.PUT_BACK, w.COMMIT_AGAIN), reboots=0, attempts=1)
TWICE = replace(WORD, disturbances=(w.PUT_BACK, w.COMMIT_AGAIN))
THEIRS = replace(SMALL, theirs=frozenset(("alpha",)))
UNDER_ANOTHER = "what is not ours is undone|a host is put back under another event|an approval of a host in service"
IN_SERVICE = "an approval of a host in service"

MISTAKES: Dict[str, Mistake] = {
    "claims are ignored": Mistake(reconcile, "_others_claim", lambda *_: False, UNDER_ANOTHER, TWO),
    "who says 77 after he was cut off claims nothing": Mistake(reconcile, "_prepared", _counts_as_theirs, "left drained", SMALL),
    "what another event counts on is not taken over": Mistake(reconcile, "_taken_over", lambda *_: None, UNDER_ANOTHER, SPARED),
    "who says 77 is recovered": Mistake(reconcile, "_prepared", _counts_as_ours, "what is not ours is undone", BLIND),
    "a drain by hand is not spared": Mistake(reconcile, "_spared", lambda record, *_: record, "a drain by hand is taken for ours", THEIRS),
    "two handlers at once": Mistake(reconcile, "_begun", _begins_beside, "two handlers at the same time", TWO),
    "intent is not written first": Mistake(reconcile, "_intent", _runs_at_once, "no intent was written", SMALL),
    "a cut run counts as never begun": Mistake(reconcile, "_not_there", _never_cut, "started again that did not ask", SMALL),
    "a cut run is forgotten": Mistake(reconcile, "_not_there", _forgets_the_cut, "left drained|started again", SMALL),
    "a failed recovery counts as done": Mistake(reconcile, "_recovered", _ends_for_good, "left drained", SMALL),
    "only what is done is recovered": Mistake(Step, "claimed", property(_only_what_is_done), "left drained", SMALL),  # type: ignore[arg-type]
    "names of units without the try": Mistake(r, "unit_of", _without_tries, "is used twice in one boot", SMALL),
    "commit does not look": Mistake(reconcile._MOVES, r.PREPARED, _commits_at_once, "committed when|" + IN_SERVICE, SMALL),
    "commit does not listen": Mistake(reconcile, "_doubt", lambda _step: None, IN_SERVICE, SMALL),
    "commit believes who was cut off": Mistake(reconcile, "_doubt", _believes_who_was_cut, IN_SERVICE, MEDDLED),
    "the lease is ignored": Mistake(reconcile, "_abandoned", lambda *_: None, "who is not there any more", SMALL),
    "the hold is ignored": Mistake(reconcile, "next_action", _knows_no_hold, "committed while held", SMALL),
    "a yes is taken back": Mistake(reconcile._MOVES, r.COMMITTED, _gives_back_a_yes, "a binding yes is taken back", SMALL),
    "the word of before is an answer": Mistake(reconcile._MOVES, r.COMMITTED, _believes_the_word_of_before, IN_SERVICE, TWICE),
    "a no is forgotten": Mistake(reconcile._MOVES, r.COMMITTED, _forgets_the_no, IN_SERVICE, TWICE),
    "a no takes the word back": Mistake(reconcile._MOVES, r.COMMITTED, _takes_the_word_back, "a binding yes is taken back", WORD),
    "a no forgets who has it": Mistake(reconcile._MOVES, r.COMMITTED, _forgets_who_has_it, "who may have posted", WORD),
    "a word for one who is lost": Mistake(reconcile._MOVES, r.COMMITTED, _answers_who_is_lost, "who is not there any more", WORD),
    "who takes over has the word": Mistake(asked, "_held_by", _has_the_word_of_before, IN_SERVICE, WORD),
    "who comes back has the word": Mistake(asked, "_held_by", _has_it_again, IN_SERVICE, WORD),
    "nobody recovers after the event": Mistake(reconcile._MOVES, r.IMPACT, lambda *_: None, "gone and not closed", SMALL),
    "closed at once": Mistake(
        reconcile._MOVES, r.RECOVERING, lambda record, _: replace(record, state=r.CLOSED, result="x"), "is not undone", SMALL
    ),
    "closed without a word": Mistake(reconcile, "_result", lambda _record: None, "closed without a result", SMALL),
    "prepared after it has started": Mistake(reconcile, "_is_wanted", lambda *_: True, "prepared when the event is", SMALL),
    "units are left behind": Mistake(reconcile, "_strangers", lambda *_: None, "units are left over", SMALL),
    "recovered in the order of preparing": Mistake(reconcile, "reversed", lambda indexes: indexes, "not in reverse order", SMALL),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake = MISTAKES[name]
    if isinstance(mistake.where, dict):
        monkeypatch.setitem(mistake.where, mistake.name, mistake.instead)
    else:
        monkeypatch.setattr(mistake.where, mistake.name, mistake.instead, raising=False)
    with pytest.raises(AssertionError, match=mistake.found):
        w.explore(mistake.scenario)


@pytest.mark.parametrize("scenario", [SMALL, TWO, MEDDLED, THEIRS, WORD], ids=["small", "two", "meddled", "theirs", "word"])
def test_nothing_is_found_where_there_is_no_mistake(scenario: Scenario) -> None:
    print("%d worlds" % w.explore(scenario))


def test_each_disturbance_is_part_of_a_scenario() -> None:
    used: Tuple[str, ...] = tuple(word for scenario in SCENARIOS.values() for word in scenario.disturbances)
    assert set(used) == set(w.DISTURBANCES)
