# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a wave goes on, decided over the hosts that were planned (`_votes`)."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils import _votes
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import (
    APPROVE_ONLY,
    NOW,
    PREPARE_ONLY,
    SKIPPED,
    STARTS,
    UNREACHABLE,
    Night,
    answered,
    at,
    entry,
    event,
    key_of,
    record,
    status,
)

E1, E2, E3 = key_of("E1"), key_of("E2"), key_of("E3")
STEPS = ("look", "gate", "vote")


def shared(**changes: Any) -> Night:
    """One event of two hosts, who have given their word."""
    night = Night(entry("E1", "web1 web2", **changes))
    night.give_word()
    return night


def chain() -> Night:
    """E1 ties web1 to web2, E2 web2 to web3, and E3 is web3's alone."""
    night = Night(entry("E1", "web1 web2"), entry("E2", "web2 web3"), entry("E3", "web3"))
    night.give_word()
    return night


def refusal(night: Night, step: str, **more: Any) -> str:
    """Why E1 does not go on; nothing else is said of it."""
    verdict = night.gate(step, **more)["1.1"]
    assert (E1 in verdict["events"], E1 in verdict["ready"]) == (False, False)
    return str(verdict["refused"][E1])


def not_prepared(why: str) -> str:
    return "Reboot E1 of web1, web2 is not prepared: %s; %s" % (why, STARTS)


def not_approved(why: str) -> str:
    return "Reboot E1 of web1, web2 is not approved: %s; %s" % (why, STARTS)


# --- what goes on --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_what_is_as_planned_goes_on_with_the_names_that_azure_has(step: str) -> None:
    assert shared().gate(step) == {
        "1.1": {
            "go": True,
            "why": None,
            "step": step,
            "at": at(0),
            "events": [E1],
            "refused": {},
            "refused_at": {},
            "refusals": {},
            "ready": {E1: ["vm-web1", "vm-web2"]},
            "gone": {},
            "started": {},
            "waits": {},
        }
    }


def test_nobody_has_to_be_ready_before_he_is_asked() -> None:
    night = Night(entry("E1", "web1 web2"))
    assert night.gate("look")["1.1"]["events"] == [E1]
    assert night.gate("gate")["1.1"]["events"] == []
    night.get_ready()
    assert night.gate("gate")["1.1"]["events"] == [E1]
    assert night.gate("vote")["1.1"]["events"] == []


def test_ids_and_names_are_compared_without_case() -> None:
    night = shared()
    shown = [
        {**one["event"], "event_id": "e1", "resources": ["VM-WEB2", "Vm-Web1"], "event_type": "REBOOT"} for one in night.entries.values()
    ]
    for name in ("web1", "web2"):
        night.tell(name, answer=night.answer(shown))
    assert night.gate("vote")["1.1"]["go"]


@pytest.mark.parametrize("step", STEPS)
def test_what_is_only_approved_needs_no_word_of_anybody(step: str) -> None:
    night = Night(entry("E1", "web1 web2", **APPROVE_ONLY))
    assert night.gate(step)["1.1"]["events"] == [E1]


def test_what_is_only_prepared_is_looked_at_and_never_posted() -> None:
    night = Night(entry("E1", "web1 web2", **PREPARE_ONLY))
    assert night.gate("look")["1.1"]["events"] == [E1]
    night.get_ready()
    for step in ("gate", "vote"):
        verdict = night.gate(step)["1.1"]
        assert (verdict["go"], verdict["events"], verdict["refused"]) == (False, [], {})
        assert verdict["waits"] == {E1: "Reboot E1 of web1, web2 is prepared, and the plan does not approve it; " + STARTS}
        assert verdict["why"] == verdict["waits"][E1]


def test_what_is_only_prepared_and_is_not_ready_is_said() -> None:
    night = Night(entry("E1", "web1 web2", **PREPARE_ONLY))
    assert refusal(night, "gate") == not_prepared("web1 has not said that it is ready, web2 has not said that it is ready")


def test_what_is_only_prepared_does_not_stop_the_others() -> None:
    night = Night(entry("E1", "web1 web2"), entry("E2", "web2", **PREPARE_ONLY))
    night.give_word()
    night.tell("web2", prepared={E1: answered("prepare", "E1", "ready", "PREPARED"), E2: answered("prepare", "E2", "not_ready", "STAYING")})
    for step in ("gate", "vote"):
        verdict = night.gate(step)["1.1"]
        assert verdict["events"] == [E1]
        assert list(verdict["refused"]) == [E2]


def test_each_component_has_its_own_verdict() -> None:
    night = Night(entry("E1", "web1"), entry("E2", "web2", component="1.2"), components={"1.1": ["E1"], "1.2": ["E2"]})
    night.give_word()
    night.tell("web1", answer=UNREACHABLE)
    verdicts = night.gate("gate")
    assert (verdicts["1.1"]["go"], verdicts["1.2"]["go"]) == (False, True)


# --- of whom others depend -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_one_host_that_fails_stops_what_it_shares_and_what_its_partners_share(step: str) -> None:
    night = chain()
    night.tell("web1", answer=UNREACHABLE)
    verdict = night.gate(step)["1.1"]
    assert verdict["events"] == [E3]
    not_done = "is not prepared" if step == "look" else "is not approved"
    assert verdict["refused"] == {
        E1: "Reboot E1 of web1, web2 %s: web1 cannot be reached; %s" % (not_done, STARTS),
        E2: "Reboot E2 of web2, web3 %s: another event of web2 cannot go on (web1 cannot be reached); %s" % (not_done, STARTS),
    }
    assert verdict["why"] == "%s. %s. Reboot E3 of web3 goes on" % (verdict["refused"][E1], verdict["refused"][E2])


def test_a_host_that_fails_for_one_event_fails_for_all_of_its_own() -> None:
    night = Night(entry("E1", "web1"), entry("E2", "web1"))
    night.give_word()
    night.tell(
        "web1",
        committed={E1: answered("commit", "E1", "committed", "COMMITTED"), E2: answered("commit", "E2", "commit_refused", "PREPARED")},
    )
    verdict = night.gate("vote")["1.1"]
    assert verdict["events"] == []
    assert "another event of web1 cannot go on (web1 has not given its word" in verdict["refused"][E1]


# --- is it still what was planned ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_what_is_not_announced_any_more_is_nothing_to_do(step: str) -> None:
    """W-13."""
    night = shared()
    for name in ("web1", "web2"):
        night.tell(name, answer=night.answer([]))
    verdict = night.gate(step)["1.1"]
    assert (verdict["go"], verdict["events"], verdict["refused"]) == (False, [], {})
    assert verdict["gone"] == {E1: "Reboot E1 of web1, web2 is not announced any more: there is nothing to do"}


def test_what_one_host_does_not_show_is_not_gone() -> None:
    """C-21."""
    night = shared()
    night.tell("web2", answer=night.answer([]))
    assert refusal(night, "gate") == not_approved("web2 is not shown it, and web1 is: try again in a minute")
    night = Night(entry("E1", "web1 web2 web3"))
    night.tell("web2", answer=night.answer([]))
    assert "web2 is not shown it, and web1, web3 are: try again in a minute" in refusal(night, "look")


def test_what_is_gone_for_one_host_and_unknown_for_the_other_is_refused() -> None:
    night = shared()
    night.tell("web1", answer=UNREACHABLE)
    night.tell("web2", answer=night.answer([]))
    assert refusal(night, "gate") == not_approved("web1 cannot be reached")


@pytest.mark.parametrize("step", STEPS)
def test_what_azure_has_started_is_neither_prepared_nor_approved(step: str) -> None:
    """W-17: also where only one of the hosts shows it."""
    night = shared()
    night.tell("web2", answer=night.answer([event("E1", "web1 web2", event_status="Started", not_before=None)]))
    verdict = night.gate(step)["1.1"]
    assert (verdict["go"], verdict["events"], verdict["refused"]) == (False, [], {})
    assert verdict["started"] == {E1: "Azure has started Reboot E1 of web1, web2: it is watched, and neither prepared nor approved"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"event_status": "Paused"}, "its status is Paused, and nobody knows what that means"),
        ({"event_type": "Redeploy"}, "it is a Redeploy now and was a Reboot: a new plan is needed"),
        (
            {"resources": ["vm-web1", "vm-web2", "vm-web9"]},
            "it hits vm-web1, vm-web2, vm-web9 now and did hit vm-web1, vm-web2: a new plan is needed",
        ),
        ({"resources": ["vm-web1"]}, "it hits vm-web1 now and did hit vm-web1, vm-web2: a new plan is needed"),
        ({"resources": []}, "it hits nobody now and did hit vm-web1, vm-web2: a new plan is needed"),
    ],
)
def test_a_plan_is_for_the_event_as_it_was(step: str, changes: Dict[str, Any], why: str) -> None:
    """W-11, W-12."""
    night = shared()
    night.show(**changes)
    said = not_prepared if step == "look" else not_approved
    assert refusal(night, step) == said(why)


def test_one_host_is_enough_to_show_that_it_has_changed() -> None:
    night = shared()
    night.tell("web2", answer=night.answer([event("E1", "web1 web2 web9")]))
    assert "a new plan is needed" in refusal(night, "vote")


@pytest.mark.parametrize(("seconds", "goes"), [(390, True), (389, False), (3000, True)])
def test_a_time_that_has_moved_must_leave_room_for_budget_reserve_and_clocks(seconds: int, goes: bool) -> None:
    night = Night(entry("E1", "web1 web2"))
    night.show(not_before=at(seconds))
    assert night.gate("look")["1.1"]["go"] is goes


def test_what_has_moved_too_near_is_refused_with_the_figures() -> None:
    night = Night(entry("E1", "web1 web2"))
    night.show(not_before=at(240))
    assert refusal(night, "look") == (
        "Reboot E1 of web1, web2 is not prepared: its NotBefore has moved to Wed 2026-11-18 09:50 UTC, 3 min 30 s are left and 6 min are"
        " needed; Azure starts it at Wed 2026-11-18 09:50 UTC"
    )


def test_what_is_only_prepared_needs_no_reserve() -> None:
    night = Night(entry("E1", "web1 web2", **PREPARE_ONLY))
    night.show(not_before=at(330))
    assert night.gate("look")["1.1"]["go"]
    night.show(not_before=at(329))
    assert not night.gate("look")["1.1"]["go"]


def test_a_wave_that_begins_late_still_tries_while_there_is_a_minute() -> None:
    night = Night(entry("E1", "web1 web2"))
    for now, goes in ((NOW + 750.0, True), (NOW + 751.0, False)):
        night.now = now
        for name in ("web1", "web2"):
            night.tell(name, answer=night.answer([event("E1", "web1 web2")], seconds=now - NOW))
        assert night.gate("look")["1.1"]["go"] is goes
    assert refusal(night, "look") == not_prepared("it is too late, 59 s are left and 1 min are needed")


@pytest.mark.parametrize(
    ("more", "least"),
    [
        ({**PREPARE_ONLY, "budget": 60.0}, 30.0),
        ({**PREPARE_ONLY, "budget": 20.0}, 10.0),
        ({**PREPARE_ONLY, "budget": 20.0, "late": True}, 60.0),
        # Whoever approves needs the time to do so as well.
        ({"budget": 20.0}, 60.0),
    ],
)
def test_of_a_short_budget_half_is_enough_to_try(more: Dict[str, Any], least: float) -> None:
    """A wave that is planned as late as is safe begins some seconds after that."""
    for left, goes in ((least, True), (least - 1, False)):
        night = Night(entry("E1", "web1 web2", **more))
        night.now = NOW + 810.0 - left
        for name in ("web1", "web2"):
            night.tell(name, answer=night.answer([event("E1", "web1 web2")], seconds=night.now - NOW))
        assert night.gate("look")["1.1"]["go"] is goes


def test_what_is_late_and_moves_nearer_needs_a_minute_all_the_same() -> None:
    for left, goes in ((60, True), (59, False)):
        night = Night(entry("E1", "web1 web2", **{**PREPARE_ONLY, "budget": 20.0, "late": True}))
        night.show(not_before=at(30 + left))
        assert night.gate("look")["1.1"]["go"] is goes


def test_what_loses_its_time_is_refused_and_what_never_had_one_goes_on() -> None:
    night = shared()
    night.show(not_before=None)
    assert refusal(night, "look") == (
        "Reboot E1 of web1, web2 is not prepared: Azure does not say any more when it starts: a new plan is needed;"
        " Azure can start it at any moment"
    )
    blank = shared(event={"not_before": None})
    assert blank.gate("vote")["1.1"]["go"]


@pytest.mark.parametrize("step", ["gate", "vote"])
def test_nothing_is_posted_once_its_time_is_over(step: str) -> None:
    night = shared()
    night.now = NOW + 811.0
    for name in ("web1", "web2"):
        night.tell(name, answer=night.answer([event("E1", "web1 web2")], seconds=810.0))
    assert refusal(night, step) == not_approved("its NotBefore is over, and so Azure may be starting it")


def test_an_approval_does_not_leave_its_window() -> None:
    night = shared(window={"opens": NOW - 600.0, "closes": NOW - 60.0, "timezone": "Europe/Berlin", "offset": 3600})
    assert refusal(night, "gate") == not_approved("its window was open until Wed 2026-11-18 10:45 Europe/Berlin")
    night = shared(window={"opens": NOW - 600.0, "closes": NOW, "timezone": "Europe/Berlin", "offset": 3600})
    assert night.gate("gate")["1.1"]["go"]
    night = shared(window={"opens": NOW + 60.0, "closes": NOW + 600.0, "timezone": "Europe/Berlin", "offset": 3600})
    assert refusal(night, "gate") == not_approved("its window opens at Wed 2026-11-18 10:47 Europe/Berlin")
    night = shared(window={"opens": NOW + 4.0, "closes": NOW + 600.0})
    assert night.gate("gate")["1.1"]["go"]
    night = shared(window={"closes": NOW - 60.0})
    assert "Wed 2026-11-18 09:45 UTC" in refusal(night, "gate")


def test_an_approval_holds_for_everybody_whom_the_event_names() -> None:
    """C-23."""
    night = shared(event={"resources": ["vm-web1", "vm-web2", "vm-x"]})
    assert refusal(night, "gate") == not_approved("it also hits vm-x, of whom nobody knows whether they are ready")
    night = shared(event={"resources": ["vm-web1", "vm-web2", "vm-x"]}, allowed_unready=["VM-X"])
    assert night.gate("gate")["1.1"]["ready"] == {E1: ["vm-web1", "vm-web2"]}
    night = Night(entry("E1", "web1 web2", event={"resources": []}))
    assert "it names no VM, so nobody can be known to be ready" in refusal(night, "look")


# --- what a host says of itself ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "web2 has not shown what Azure announces"),
        ("words", "web2 has not shown what Azure announces"),
        (SKIPPED, "web2 has not shown what Azure announces"),
        ({"failed": True, "msg": "No answer."}, "web2 has not shown what Azure announces (No answer)"),
        ({"events": [], "queried_at": at(-1)}, "web2 has not shown what Azure announces"),
        ({"events": "all", "document_incarnation": 7, "queried_at": at(-1)}, "web2 has not shown what Azure announces"),
        ({"events": [{}], "document_incarnation": 7, "queried_at": at(-1)}, "what web2 was shown cannot be understood"),
        ({"events": [7], "document_incarnation": 7, "queried_at": at(-1)}, "what web2 was shown cannot be understood"),
        ({"events": [], "document_incarnation": 7}, "web2 does not say when it was shown what Azure announces"),
        (UNREACHABLE, "web2 cannot be reached"),
    ],
)
def test_whoever_shows_no_document_stops_the_event(step: str, answer: Any, why: str) -> None:
    night = shared()
    night.tell("web2", answer=answer)
    said = not_prepared if step == "look" else not_approved
    assert refusal(night, step) == said(why)


def test_a_document_of_an_earlier_step_is_none() -> None:
    for seconds, goes in ((-184.0, True), (-186.0, False), (4.0, True), (6.0, False)):
        night = shared()
        night.tell("web2", answer=night.answer([event("E1", "web1 web2")], seconds))
        assert night.gate("gate")["1.1"]["go"] is goes
    night.tell("web2", answer=night.answer([event("E1", "web1 web2")], -600.0))
    assert refusal(night, "gate") == not_approved("what web2 was shown is of Wed 2026-11-18 09:36 UTC, not of now")


def test_a_word_was_given_on_a_fresh_document_so_the_vote_needs_no_newer_one() -> None:
    night = shared()
    for name in ("web1", "web2"):
        night.tell(name, answer=night.answer([event("E1", "web1 web2")], -900.0))
    assert night.gate("vote")["1.1"]["go"]
    night.tell("web2", answer=night.answer([event("E1", "web1 web2")], 60.0))
    assert not night.gate("vote")["1.1"]["go"]


@pytest.mark.parametrize("ahead", [250.0, -250.0])
def test_the_age_of_a_document_is_counted_by_one_clock(ahead: float) -> None:
    night = shared()
    night.tell("web2", answer=night.answer([event("E1", "web1 web2")], ahead - 3.0), status=status(ahead=ahead))
    assert night.gate("gate")["1.1"]["go"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("said", "why"),
    [
        (None, "web2 has not said how it is"),
        (SKIPPED, "web2 has not said how it is"),
        ({"status": {"records": [{"open": True}]}}, "web2 has not said how it is"),
        (UNREACHABLE, "web2 cannot be reached"),
        ({"failed": True, "msg": "It is dead."}, "web2 does not say how it is: It is dead"),
        (
            status(hold={"by": "ann", "until": at(7200), "reason": "a backup"}),
            "web2 is held by ann (a backup) until Wed 2026-11-18 11:46 UTC",
        ),
        (status(hold={"by": "ann", "until": at(7200), "reason": ""}), "web2 is held by ann until Wed 2026-11-18 11:46 UTC"),
        (status(ahead=None), "nobody knows how far the clock of web2 differs"),
        (status(ahead=301.0), "what web2 was shown is of Wed 2026-11-18 09:45:57 UTC, not of now"),
    ],
)
def test_whoever_does_not_say_that_it_can_stops_the_event(step: str, said: Any, why: str) -> None:
    """W-34, W-55."""
    night = shared()
    night.tell("web2", status=said)
    if step == "vote" and "not of now" in why:
        why = "the clock of web2 differs by 5 min 1 s, and an approval allows 5 min: set it right"
    assert why in refusal(night, step)


def test_a_wrong_clock_keeps_from_approving_and_not_from_preparing() -> None:
    """W-34."""
    for changes, goes in (({}, False), (PREPARE_ONLY, True)):
        night = Night(entry("E1", "web1 web2", **changes))
        night.tell("web2", answer=night.answer([event("E1", "web1 web2")], 3597.0), status=status(ahead=3600.0))
        assert night.gate("look")["1.1"]["go"] is goes


def test_a_hold_that_is_over_holds_nobody() -> None:
    night = shared()
    night.tell("web2", status=status(hold={"by": "ann", "until": at(-1), "reason": ""}))
    assert night.gate("gate")["1.1"]["go"]


@pytest.mark.parametrize(
    ("record_of_web2", "why"),
    [
        (record("E1", "FOREIGN"), "the record on web2 belongs to another VM"),
        (
            record("E1", "PREPARED", driver={"name": "playbook", "run": "99", "lease_until": at(600)}),
            "web2 is in the hands of playbook (run 99) until Wed 2026-11-18 09:56 UTC",
        ),
        (
            record("E1", "PREPARED", driver={"name": "agent", "run": "x", "lease_until": at(600)}),
            "web2 is in the hands of its own agent until Wed 2026-11-18 09:56 UTC",
        ),
        (record("E1", "PREPARED", driver={"name": "playbook", "run": "99", "lease_until": at(-1)}), None),
        (record("E1", "PREPARED", driver={"name": "playbook", "run": "4711", "lease_until": at(600)}), None),
        (record("E1", "BACKED_OUT"), None),
        (record("E9", "FOREIGN"), None),
    ],
)
def test_whoever_has_a_host_in_hand_keeps_it(record_of_web2: Any, why: Optional[str]) -> None:
    """W-28, W-29, W-38."""
    night = Night(entry("E1", "web1 web2"))
    night.tell("web2", status=status([record_of_web2]))
    if why is None:
        assert night.gate("look")["1.1"]["go"]
    else:
        assert refusal(night, "look") == not_prepared(why)


def test_a_vm_that_was_made_again_is_another_one() -> None:
    """W-28: by its own word, and by the inventory's."""
    expected = "web2 is the VM with the id other, and %s was expected: refresh the inventory"
    night = Night(entry("E1", "web1 web2"))
    night.tell("web2", status=status(vm_id="other"))
    assert refusal(night, "look") == not_prepared(expected % "5C08B38E")
    night = Night(entry("E1", "web1 web2", vm_ids={"web1": "5c08b38e", "web2": "planned"}))
    night.tell("web2", status=status(vm_id="other"))
    assert refusal(night, "look") == not_prepared(expected % "planned")
    night.tell("web2", status=status(vm_id=None))
    assert night.gate("look")["1.1"]["go"]


# --- votes ---------------------------------------------------------------------------------------------------------------


def _prepared(**changes: Any) -> Dict[str, Any]:
    return {**answered("prepare", "E1", "ready", "PREPARED"), **changes}


def _committed(**changes: Any) -> Dict[str, Any]:
    return {**answered("commit", "E1", "committed", "COMMITTED"), **changes}


@pytest.mark.parametrize(
    ("prepared", "why"),
    [
        (None, "web2 has not said that it is ready"),
        ("yes", "web2 has not said that it is ready"),
        (True, "web2 has not said that it is ready"),
        (SKIPPED, "web2 has not said that it is ready"),
        (UNREACHABLE, "web2 cannot be reached"),
        ({"failed": True, "msg": "A task timed out."}, "web2 has not said that it is ready (A task timed out)"),
        (_prepared(ok="yes"), "web2 has not said that it is ready (This host is ready)"),
        (_prepared(skipped=True), "web2 has not said that it is ready (This host is ready)"),
        (
            answered("prepare", "E1", "not_ready", "STAYING"),
            "web2 has not said that it is ready (This host is STAYING: 10-pool has failed)",
        ),
        (_prepared(verdict="done"), "web2 has not said that it is ready (This host is ready)"),
        (_prepared(state="IMPACT"), "web2 has not said that it is ready for this event"),
        (_prepared(asked=[]), "web2 has not said that it is ready for this event"),
        (_prepared(asked=["x", "request", "prepare"]), "web2 has not said that it is ready for this event"),
        (answered("prepare", "E2", "ready", "PREPARED"), "web2 has not said that it is ready for this event"),
        (answered("commit", "E1", "ready", "PREPARED"), "web2 has not said that it is ready for this event"),
        (
            _prepared(status=status([record("E1", "BACKING_OUT")])["status"]),
            "web2 has said yes, and is BACKING_OUT now (every handler is done)",
        ),
        (_prepared(status=status([record("E1", "IMPACT", reason="")])["status"]), "web2 has said yes, and is IMPACT now"),
    ],
)
def test_only_a_yes_of_the_host_itself_is_one(prepared: Any, why: str) -> None:
    night = shared()
    night.tell("web2", prepared={E1: prepared})
    assert refusal(night, "gate") == not_approved(why)
    assert refusal(night, "vote") == not_approved(why)


@pytest.mark.parametrize("facts", [None, "ready", [], {}, {E2: _prepared()}])
def test_a_host_that_has_not_said_anything_of_it_has_not_said_yes(facts: Any) -> None:
    night = shared()
    night.tell("web2", prepared=facts)
    assert refusal(night, "gate") == not_approved("web2 has not said that it is ready")
    night = shared()
    night.tell("web2", committed=facts)
    assert refusal(night, "vote") == not_approved("web2 has not given its word")


@pytest.mark.parametrize(
    ("committed", "why"),
    [
        (UNREACHABLE, "web2 cannot be reached"),
        (
            answered("commit", "E1", "commit_refused", "PREPARED", message="10-pool says that it is in service."),
            "web2 has not given its word (10-pool says that it is in service)",
        ),
        (_committed(state="PREPARED"), "web2 has not given its word for this event"),
        (_prepared(), "web2 has not given its word (This host is ready)"),
        (_committed(status=status([record("E1", "PREPARED")])["status"]), "web2 has said yes, and is PREPARED now (every handler is done)"),
    ],
)
def test_only_a_word_that_is_given_counts(committed: Any, why: str) -> None:
    """W-41."""
    night = shared()
    night.tell("web2", committed={E1: committed})
    assert refusal(night, "vote") == not_approved(why)
    assert night.gate("gate")["1.1"]["go"]


def test_a_host_of_an_earlier_run_that_has_given_its_word_is_ready() -> None:
    """W-5."""
    night = shared()
    night.tell("web2", prepared={E1: answered("prepare", "E1", "ready", "COMMITTED")})
    assert night.gate("gate")["1.1"]["go"]


def test_a_result_that_shows_no_status_is_believed() -> None:
    night = shared()
    night.tell("web2", prepared={E1: _prepared(status=None)})
    assert night.gate("gate")["1.1"]["go"]


@pytest.mark.parametrize(
    ("trouble", "why"),
    [(["The hook failed.", "more"], "The hook failed"), ("x", "x"), ({"a": 1}, "something that it does not say in words")],
)
def test_what_went_wrong_on_a_host_is_a_no(trouble: Any, why: str) -> None:
    night = shared()
    night.tell("web2", trouble=trouble)
    assert night.gate("look")["1.1"]["go"]
    for step in ("gate", "vote"):
        assert refusal(night, step) == not_approved("on web2 something went wrong (%s)" % why)


def test_whoever_was_refused_before_is_not_posted_later() -> None:
    night = Night(entry("E1", "web1 web2", **APPROVE_ONLY))
    night.tell("web2", status=UNREACHABLE)
    first = night.remember("look")["1.1"]["refused"][E1]
    assert first == not_prepared("web2 cannot be reached")
    night.tell("web2", status=status())
    for step in ("gate", "vote"):
        verdict = night.remember(step)["1.1"]
        assert (verdict["events"], verdict["refused"], verdict["refused_at"]) == ([], {E1: first}, {E1: "look"})
    # Asked again from the start, it is a new matter.
    assert night.remember("look")["1.1"]["go"]
    assert night.gate("gate")["1.1"]["go"]
    night.tell("web1", gate={"1.1": {"step": "gate", "refused": {E1: None}}})
    assert refusal(night, "vote") == not_approved("it was refused before")
    assert night.gate("vote")["1.1"]["refused_at"] == {E1: "gate"}
    assert night.gate("gate")["1.1"]["go"]


def test_many_reasons_are_counted() -> None:
    hosts = " ".join("web%d" % number for number in range(1, 9))
    night = Night(entry("E1", hosts))
    assert refusal(night, "gate").endswith("web5 has not said that it is ready, 3 more of this kind; " + STARTS)


# --- capacity ------------------------------------------------------------------------------------------------------------


def limited(most_out: int, *, hosts: int = 10, least_in: int = 1, out: Any = None, **more: Any) -> Night:
    night = Night(entry("E1", "web1 web2"), out=out, **more)
    night.plan["capacity"]["limits"] = [{"name": "", "hosts": hosts, "most_out": most_out, "least_in": least_in}]
    night.get_ready()
    return night


def out_of_service(*names: str, event_id: Optional[str] = None) -> Dict[str, Any]:
    reason = {"why": "cannot be reached", "event": None if event_id is None else [event_id.lower(), "sub", "fleet"]}
    return dict.fromkeys(names, reason)


def test_a_host_that_is_out_meanwhile_takes_the_room() -> None:
    """W-39."""
    night = limited(2)
    night.plan["capacity"]["groups"]["db1"] = [0]
    for step, said in (("look", not_prepared), ("gate", not_approved)):
        assert night.gate(step, counted={"db1": status()})["1.1"]["go"]
        assert refusal(night, step, counted={"db1": UNREACHABLE}) == said(
            "3 of the 10 hosts would be out beside db1 (cannot be reached): at most 2 may be, and 1 must stay"
        )


def test_a_host_that_is_back_gives_its_room_back() -> None:
    night = limited(2, out=out_of_service("db1"))
    assert not night.gate("gate")["1.1"]["go"]
    assert not night.gate("gate", counted={"db1": SKIPPED})["1.1"]["go"]
    assert night.gate("gate", counted={"db1": status()})["1.1"]["go"]
    # Its own are counted once.
    assert night.gate("gate", counted={"db1": status(), "web1": status([record("E1", "PREPARED")])})["1.1"]["go"]


def test_room_is_not_counted_when_the_word_is_given() -> None:
    night = limited(1)
    night.give_word()
    assert night.gate("vote")["1.1"]["go"]


def test_what_must_stay_stays_also_beside_a_component_that_is_too_large() -> None:
    """W-51."""
    night = limited(1, hosts=3)
    assert not night.gate("gate")["1.1"]["go"]
    night.wave["components"][0]["over_capacity"] = True
    assert night.gate("gate")["1.1"]["go"]
    night.plan["capacity"]["out"] = out_of_service("db1")
    night.plan["capacity"]["groups"]["db1"] = [0]
    assert "3 of the 3 hosts would be out" in refusal(night, "gate")


def test_bounds_of_groups_count_by_the_groups_of_a_host() -> None:
    night = limited(10)
    night.plan["capacity"]["limits"].append({"name": "web", "hosts": 4, "most_out": 2, "least_in": 1})
    night.plan["capacity"]["groups"].update(web1=[0, 1], web2=[0, 1])
    for name, groups, goes in (("a", ["db"], True), ("b", ["web"], False), ("c", None, False)):
        night.hostvars[name] = {} if groups is None else {"group_names": groups}
        assert night.gate("gate", counted={name: UNREACHABLE})["1.1"]["go"] is goes
    assert refusal(night, "gate", counted={"b": UNREACHABLE}) == not_approved(
        "3 of the 4 hosts of the group web would be out beside b (cannot be reached): at most 2 may be, and 1 must stay"
    )


def test_a_bound_that_touches_nobody_of_the_event_does_not_count() -> None:
    night = limited(10)
    night.plan["capacity"]["limits"].append({"name": "db", "hosts": 4, "most_out": 0, "least_in": 4})
    assert night.gate("gate")["1.1"]["go"]


def test_components_of_a_wave_count_together() -> None:
    night = Night(entry("E1", "web1"), entry("E2", "web2"), components={"1.1": ["E1"], "1.2": ["E2"]})
    assert [verdict["go"] for verdict in night.gate("look").values()] == [True, True]
    night.plan["capacity"]["limits"][0]["most_out"] = 1
    verdicts = night.gate("look")
    assert [verdict["go"] for verdict in verdicts.values()] == [True, False]
    assert "2 of the 10 hosts would be out beside web1 (in the same wave)" in verdicts["1.2"]["why"]
    # Once both are out of service, nobody knows who comes back first.
    night.get_ready()
    assert [verdict["go"] for verdict in night.gate("gate").values()] == [False, False]
    assert night.gate("gate", counted={"web2": status()})["1.1"]["go"]


def test_many_who_are_out_are_counted() -> None:
    out = out_of_service(*("db%d" % number for number in range(7)))
    night = limited(3, out=out)
    assert "db4 (cannot be reached) and 2 more: at most" in refusal(night, "gate")


def test_whoever_is_out_for_an_event_of_an_earlier_wave_is_back() -> None:
    night = limited(2, out=out_of_service("db1", event_id="E7"))
    assert not night.gate("gate")["1.1"]["go"]
    earlier = {"number": 0, "components": [{"name": "0.1", "events": [key_of("E7")]}]}
    night.plan["waves"] = [earlier, night.wave]
    assert night.gate("gate")["1.1"]["go"]


@pytest.mark.parametrize(
    ("changes", "goes"),
    [
        ({"place": "held"}, False),
        ({"place": "refused"}, False),
        ({"place": "refused", "not_before": None, "event": {"not_before": None}}, False),
        ({"place": "left", "action": "ignore"}, False),
        ({"place": "left", "action": "ignore", "event": {"event_type": "Freeze"}}, True),
        ({"place": "running"}, True),
        ({"place": "waves"}, True),
        ({"place": "held", "not_before": at(1800)}, True),
    ],
)
def test_what_comes_before_the_wave_ends_takes_room(changes: Dict[str, Any], goes: bool) -> None:
    night = limited(2)
    night.plan["capacity"]["groups"]["db1"] = [0]
    night.plan["events"].append(entry("E7", "db1", wave=None, component=None, **changes))
    assert night.gate("gate")["1.1"]["go"] is goes
    if not goes:
        assert "db1 (event E7 hits it)" in refusal(night, "gate")


@pytest.mark.parametrize(
    ("told", "changes", "goes"),
    [
        (status([record("E7", "BACKED_OUT")]), {}, False),
        (status([record("E7", "SEEN")]), {}, False),
        # It is over, or too far away.
        (status([record("E7", "CLOSED")]), {}, True),
        (status([record("E7", "FOREIGN")]), {}, True),
        (status(), {}, True),
        (status([record("E7", "BACKED_OUT")]), {"not_before": at(1800)}, True),
        # A pause that nobody minds.
        (status([record("E7", "SEEN")]), {"action": "ignore", "event": {"event_type": "Freeze"}}, True),
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_what_an_earlier_wave_or_batch_has_not_got_over_takes_room(told: Any, changes: Dict[str, Any], goes: bool, number: int) -> None:
    """W-39: it was given back, or nobody has begun it, and Azure takes its hosts all the same."""
    night = limited(2)
    night.plan["capacity"]["groups"]["db1"] = [0]
    night.plan["waves"] = [{"number": number, "components": [{"name": "%d.9" % number, "events": [key_of("E7")]}]}, night.wave]
    night.plan["events"].append(entry("E7", "db1", wave=number, component="%d.9" % number, **changes))
    for step in ("look", "gate"):
        assert night.gate(step, counted={"db1": told})["1.1"]["go"] is goes
    if not goes:
        assert "db1 (event E7 hits it)" in refusal(night, "gate", counted={"db1": told})


def test_the_event_of_a_later_wave_takes_no_room() -> None:
    night = limited(2)
    later = {"number": 2, "components": [{"name": "2.1", "events": [key_of("E7")]}]}
    night.plan["waves"] = [night.wave, later]
    night.plan["events"].append(entry("E7", "db1", wave=2, component="2.1"))
    assert night.gate("gate", counted={"db1": status([record("E7", "SEEN")])})["1.1"]["go"]


@pytest.mark.parametrize(
    ("step", "moment", "hit_at", "goes"),
    [
        # Planned from 0 to 1800, of which 300 are for getting ready.
        ("look", 0, 1801, True),
        ("look", 2, 1801, False),
        ("gate", 290, 1801, True),
        ("gate", 302, 1801, False),
        ("gate", 302, 1810, True),
    ],
)
def test_a_wave_that_begins_late_ends_late(step: str, moment: int, hit_at: int, goes: bool) -> None:
    """W-39: what is held comes into its time."""
    night = Night(entry("E1", "web1 web2", not_before=at(9000), event={"not_before": at(9000)}))
    night.plan["events"].append(entry("E7", "db1", wave=None, component=None, place="held", not_before=at(hit_at)))
    night.plan["capacity"]["groups"]["db1"] = [0]
    night.now += moment
    night.get_ready()
    for name in ("web1", "web2"):
        night.hostvars[name]["rolling_maintenance__answer"]["queried_at"] = at(moment)
    assert night.gate(step)["1.1"]["go"] is goes


@pytest.mark.parametrize(("approves", "goes"), [(True, True), (False, False)])
def test_a_wave_that_begins_early_ends_early_unless_it_waits_for_azure(approves: bool, goes: bool) -> None:
    night = Night(entry("E1", "web1 web2", **({} if approves else PREPARE_ONLY)))
    night.wave.update(begin=at(1800), ready=at(2100), end=at(3600))
    night.plan["events"].append(entry("E7", "db1", wave=None, component=None, place="held", not_before=at(1900)))
    night.plan["capacity"]["groups"]["db1"] = [0]
    assert night.gate("look")["1.1"]["go"] is goes


def test_hosts_of_the_inventory_that_are_not_in_this_run_take_room_too() -> None:
    """--limit, and rolling_maintenance_allow_unmanaged: nobody gets them ready, and they are out all the same."""
    resources = {"resources": ["vm-web1", "vm-far1"]}
    unready = {"unmanaged": ["vm-far1"], "known_outside": ["far1"], "allowed_unready": ["vm-far1"], "event": resources}
    night = Night(entry("E1", "web1", **unready))
    night.plan["capacity"]["limits"][0]["most_out"] = 2
    night.plan["capacity"]["groups"].update(far1=[0], db1=[0])
    night.get_ready()
    words = "3 of the 10 hosts would be out beside db1 (cannot be reached): at most 2 may be, and 1 must stay"
    for step in ("look", "gate"):
        assert night.gate(step, counted={"db1": status()})["1.1"]["go"]
        assert words in refusal(night, step, counted={"db1": UNREACHABLE})


def test_a_wave_without_an_end_ends_now() -> None:
    night = limited(2)
    night.wave["end"] = None
    night.plan["events"].append(entry("E7", "db1", place="held"))
    assert night.gate("gate")["1.1"]["go"]


@pytest.mark.parametrize(
    "capacity",
    [None, {}, {"limits": []}, {"limits": [{"name": "x"}]}, {"limits": [{"name": "", "hosts": "x", "most_out": 1, "least_in": 1}]}],
)
def test_without_figures_there_is_no_room(capacity: Any) -> None:
    night = limited(2)
    night.plan["capacity"] = capacity
    assert refusal(night, "gate") == not_approved("the plan does not say how many hosts may be out")


# --- whatever comes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wave", [None, "wave", [], {}, {"components": "all"}, {"components": [7, {}, {"name": 7}]}])
def test_what_is_no_wave_has_no_verdict(wave: Any) -> None:
    assert _votes.gate(wave, plan={}, options={}, told={}, now=NOW, step="look") == {}
    assert _votes.hosts_of_wave(wave, None) == []


@pytest.mark.parametrize(
    "plan", [None, "plan", {"events": None}, {"events": [{"key": E1}]}, {"events": [{"key": E1, "event": {}, "hosts": ["web1"]}]}]
)
def test_what_is_no_plan_goes_nowhere(plan: Any) -> None:
    wave = {"components": [{"name": "1.1", "events": [E1]}]}
    for step in STEPS:
        (verdict,) = _votes.gate(wave, plan=plan, options=None, told={"web1": None}, now=NOW, step=step).values()  # type: ignore[dict-item]
        assert (verdict["go"], verdict["events"], list(verdict["refused"])) == (False, [], [E1])


def test_a_component_without_events_does_not_go() -> None:
    wave = {"components": [{"name": "1.1", "events": []}]}
    verdict = _votes.gate(wave, plan={}, options={}, told={}, now=NOW, step="look")["1.1"]
    assert (verdict["go"], verdict["why"]) == (False, "the plan gives it no event")


def test_an_event_that_the_plan_does_not_have_is_refused_by_its_key() -> None:
    night = shared()
    night.wave["components"][0]["events"].append("e9|sub|fleet")
    verdict = night.gate("gate")["1.1"]
    assert verdict["refused"] == {"e9|sub|fleet": "event e9|sub|fleet is not approved: the plan does not have it"}
    assert verdict["events"] == [E1]


def test_a_host_whose_vm_is_not_known_cannot_be_named() -> None:
    night = shared(vm_names={"web1": "vm-web1"})
    assert refusal(night, "gate") == not_approved("what is asked about it cannot be understood")


def test_a_step_that_nobody_knows_goes_nowhere() -> None:
    night = shared()
    night.wave["components"][0]["events"].append("e9|sub|fleet")
    verdict = night.gate("post")["1.1"]
    assert verdict["events"] == []
    assert verdict["refused"][E1] == "Reboot E1 of web1, web2 is left alone: what is asked about it cannot be understood; " + STARTS


def test_without_a_time_nothing_is_fresh() -> None:
    night = shared()
    night.now = float("nan")
    for step in STEPS:
        assert night.gate(step)["1.1"]["events"] == []


def test_whose_reports_are_needed() -> None:
    night = chain()
    assert _votes.hosts_of_wave(night.wave, night.plan, {"db1": None, 7: None}) == ["web1", "web2", "web3", "db1"]


def test_verdicts_are_plain_data() -> None:
    night = chain()
    night.tell("web1", answer=object(), status=object(), prepared=object(), trouble=object())
    for step in STEPS:
        verdicts: Mapping[str, Any] = night.gate(step)
        assert json.loads(json.dumps(verdicts)) == verdicts


def test_what_was_refused_at_the_first_look_stays_so_however_often_it_is_checked() -> None:
    """Its host has not entered the wave: no extension point has run there."""
    night = Night(entry("E1", "web1 web3", **APPROVE_ONLY), entry("E2", "web1 web2"))
    night.hostvars["web3"]["rolling_maintenance__answer"] = night.answer([])
    verdicts = night.gate("look")
    assert verdicts["1.1"]["events"] == [E2]
    shown = [one["event"] for one in night.entries.values()]
    night.hostvars["web3"]["rolling_maintenance__answer"] = night.answer(shown)
    night.get_ready()
    for _time in range(3):
        # Every host of a component keeps what it has found.
        for name in ("web1", "web2", "web3"):
            night.hostvars[name]["rolling_maintenance__gate"] = verdicts
        verdicts = night.gate("gate")
        assert verdicts["1.1"]["events"] == [E2]
        assert verdicts["1.1"]["refused_at"] == {E1: "look"}
