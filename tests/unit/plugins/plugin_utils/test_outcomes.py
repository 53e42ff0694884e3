# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of each event of a plan, and of the run (`_outcomes`)."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils import _outcomes
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import (
    APPROVE_ONLY,
    NOW,
    PREPARE_ONLY,
    STARTS,
    UNREACHABLE,
    Night,
    answered,
    at,
    entry,
    key_of,
    record,
    status,
)

E1, E2 = key_of("E1"), key_of("E2")
LABEL = "Reboot E1 of web1, web2"


def shared(**changes: Any) -> Night:
    """One event of two hosts, who have given their word."""
    night = Night(entry("E1", "web1 web2", **changes))
    night.give_word()
    night.remember("vote")
    return night


def post(night: Night, outcome: str, **more: Any) -> None:
    said = {"key": E1, "witness": "idle1", "at": at(60), "result": None, "outcome": outcome, "msg": "", **more}
    night.hostvars["web1"].setdefault("rolling_maintenance__posted", []).append(said)


def watch(night: Night, state: str, *, started: bool = False, host: str = "web1", **more: Any) -> None:
    night.tell(host, watched={E1: {"state": state, "started_seen": started, "by": "idle1", "at": at(120), **more}})


def over(night: Night, *hosts: str, is_over: Optional[bool] = True, state: str = "CLOSED", **more: Any) -> None:
    for name in hosts:
        night.tell(name, over={E1: {"over": is_over, "state": state, "message": "This host is %s." % state, "failed": False, **more}})


def own(night: Night, result: Optional[str], *hosts: str, **more: Any) -> None:
    """The host's own evidence."""
    for name in hosts:
        told = {"schema": 1, "event": {"event_id": "E1"}, "result": result, "state": "CLOSED" if result else "IMPACT", **more}
        night.tell(name, evidence={E1: told})


def unprepared(night: Night, state: str, verdict: str = "not_ready", host: str = "web2") -> None:
    night.tell(host, prepared={E1: answered("prepare", "E1", verdict, state)})
    night.remember("gate")


def result(night: Night, **how: Any) -> str:
    return str(night.outcome(**how)["events"][0]["result"])


def failures(night: Night, **how: Any) -> List[str]:
    return list(night.outcome(**how)["failures"])


# --- what came of an event -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("word", ["cancelled", None])
def test_what_is_only_approved_is_recovered_when_it_is_gone_and_its_hosts_are_back(started: bool, word: Optional[str]) -> None:
    """They had nothing to do for it, and were down when it started."""
    night = Night(entry("E1", "web1 web2", **APPROVE_ONLY))
    night.remember("vote")
    post(night, "taken")
    watch(night, "gone", started=started)
    over(night, "web1", "web2")
    if word is not None:
        own(night, word, "web1", "web2")
    told = night.outcome()
    assert (told["result"], told["failures"], told["events"][0]["result"]) == ("ok", [], "recovered")


def test_what_was_to_be_only_approved_and_was_cancelled_before_is_cancelled() -> None:
    night = Night(entry("E1", "web1 web2", **APPROVE_ONLY))
    night.remember("vote")
    watch(night, "gone")
    over(night, "web1", "web2")
    own(night, "cancelled", "web1", "web2")
    assert result(night) == "cancelled"


def test_what_goes_well_is_recovered() -> None:
    night = shared()
    post(night, "taken")
    watch(night, "gone", started=True)
    over(night, "web1", "web2")
    told = night.outcome()
    assert (told["result"], told["failures"], told["events"][0]["result"]) == ("ok", [], "recovered")
    own(night, "recovered", "web1", "web2")
    assert night.outcome()["events"][0]["result"] == "recovered"
    assert told["summary"] == (
        "ok: 1 recovered\n%s: recovered\n  ready: web1 web2, posted from idle1: taken, seen gone, back: web1 web2" % LABEL
    )


def test_the_worst_word_of_a_host_counts() -> None:
    night = shared()
    own(night, "recovered", "web1")
    for word in ("stuck", "hit_unprepared", "not_prepared", "refused", "started_without_notice", "deleted"):
        own(night, word, "web2")
        assert result(night) == word
    own(night, "cancelled", "web2")
    assert result(night) == "recovered"


@pytest.mark.parametrize(
    ("place", "word", "told"), [("held", "held", "nothing_to_do"), ("left", "ignored", "nothing_to_do"), ("refused", "refused", "failed")]
)
def test_what_is_in_no_wave_has_the_word_of_its_place(place: str, word: str, told: str) -> None:
    night = Night(entry("E1", "web1 web2", place=place, reason="%s: because; %s" % (place, STARTS)))
    for final in (False, True):
        found = night.outcome(final=final)
        assert (found["events"][0]["result"], found["result"]) == (word, told)
    assert "\n%s: %s\n  %s: because; %s" % (LABEL, word, place, STARTS) in found["summary"]
    assert found["failures"] == (["%s: refused: because; %s." % (LABEL, STARTS)] if place == "refused" else [])


def test_what_is_refused_without_a_reason_is_refused() -> None:
    night = Night(entry("E1", "web1 web2", place="refused", reason=None))
    assert failures(night) == ["%s: refused." % LABEL]
    assert "  without a reason" in night.outcome()["summary"]


def test_before_anything_has_happened_it_is_planned() -> None:
    night = Night(entry("E1", "web1 web2"))
    assert (night.outcome(final=False)["result"], result(night, final=False)) == ("planned", "planned")
    assert (night.outcome(check=True)["result"], result(night, check=True)) == ("planned", "planned")
    assert night.outcome(check=True)["failures"] == []
    assert "\n  due now: rule at once" in night.outcome(check=True)["summary"]


def test_one_that_is_not_ready_keeps_the_others_from_being_approved() -> None:
    night = shared()
    unprepared(night, "BACKING_OUT")
    assert result(night) == "not_prepared"
    assert failures(night) == [
        "web2 was not ready for %s: This host is BACKING_OUT: 10-pool has failed; nobody is approved, %s." % (LABEL, STARTS)
    ]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (UNREACHABLE, "it could not be reached"),
        ({"failed": True, "msg": "A task timed out."}, "A task timed out"),
        ({"ok": False}, "it has not answered"),
        ({}, "it has not answered"),
    ],
)
def test_whoever_does_not_answer_is_not_ready(said: Mapping[str, Any], why: str) -> None:
    """W-8."""
    night = shared()
    night.tell("web2", prepared={E1: said})
    assert result(night) == "not_prepared"
    assert failures(night) == ["web2 was not ready for %s: %s; nobody is approved, %s." % (LABEL, why, STARTS)]


def test_a_host_that_is_hit_after_it_was_not_ready_was_not_prepared() -> None:
    """W-2."""
    night = shared()
    unprepared(night, "STAYING")
    watch(night, "gone", started=True)
    own(night, "recovered", "web1")
    own(night, "not_prepared", "web2")
    assert result(night) == "not_prepared"
    assert failures(night) == [
        "web2 was not ready for %s: This host is STAYING: 10-pool has failed; nobody is approved, the event is gone." % LABEL
    ]


@pytest.mark.parametrize("seen", ["by the host", "by the witness", "by the gate", "by the plan"])
def test_what_starts_while_a_host_prepares_hits_it_unprepared(seen: str) -> None:
    """W-17."""
    night = shared()
    night.tell("web2", prepared={E1: answered("prepare", "E1", "not_ready", "IMPACT")})
    if seen == "by the host":
        own(night, "recovered", "web1")
        own(night, "not_prepared", "web2")
    elif seen == "by the witness":
        watch(night, "started")
    elif seen == "by the gate":
        night.show(event_status="Started", not_before=None)
        night.remember("gate")
    else:
        night.plan["events"][0]["event"]["event_status"] = "Started"
    assert result(night) == "hit_unprepared"
    assert failures(night) == ["Azure has started %s before web2 was ready." % LABEL]


def test_what_starts_before_anybody_was_asked_hits_all() -> None:
    night = Night(entry("E1", "web1 web2"))
    watch(night, "started")
    assert failures(night) == ["Azure has started %s before web1, web2 were ready." % LABEL]
    watch(night, "gone", started=True)
    over(night, "web1", "web2")
    assert result(night) == "hit_unprepared"


def test_hosts_that_said_nothing_of_their_own_are_judged_by_what_was_seen() -> None:
    night = shared()
    watch(night, "gone", started=True)
    over(night, "web1", "web2")
    assert result(night) == "recovered"
    unprepared(night, "BACKED_OUT")
    assert result(night) == "not_prepared"
    unprepared(night, "CLOSED")
    assert result(night) == "hit_unprepared"


@pytest.mark.parametrize("seen", ["by the host", "by the witness", "by the gate"])
def test_what_is_cancelled_is_no_failure(seen: str) -> None:
    """W-13."""
    night = shared()
    if seen == "by the host":
        own(night, "cancelled", "web1", "web2")
    elif seen == "by the witness":
        watch(night, "gone")
        over(night, "web1", "web2")
    else:
        for name in ("web1", "web2"):
            night.tell(name, answer=night.answer([]))
        night.remember("gate")
    told = night.outcome()
    assert (told["result"], told["failures"], told["events"][0]["result"]) == ("ok", [], "cancelled")


def test_a_host_that_reboots_does_not_see_its_event_start_and_the_witness_does() -> None:
    night = shared()
    own(night, "cancelled", "web1", "web2")
    watch(night, "gone", started=True)
    assert result(night) == "recovered"
    watch(night, "gone")
    assert result(night) == "cancelled"
    post(night, "taken")
    assert result(night) == "recovered"


def test_a_host_that_was_not_ready_and_has_booted_was_hit() -> None:
    """W-17: whoever is rebooted while he prepares does not see it start."""
    night = shared()
    unprepared(night, "CLOSED")
    for name in ("web1", "web2"):
        night.tell(name, evidence={E1: {"result": "cancelled", "boot_ids": ["one", "two"]}})
    assert result(night) == "hit_unprepared"
    for name in ("web1", "web2"):
        night.tell(name, evidence={E1: {"result": "cancelled", "boot_ids": ["one"]}})
    assert result(night) == "cancelled"


def test_what_is_cancelled_and_does_not_come_back_is_stuck() -> None:
    """W-43."""
    night = shared()
    watch(night, "gone")
    over(night, "web1")
    over(night, "web2", is_over=False, state="RECOVERING")
    assert result(night) == "stuck"
    assert failures(night) == ["web2 is not back after %s, which is gone (This host is RECOVERING)." % LABEL]
    assert "\n  web2 is not back: This host is RECOVERING" in night.outcome()["summary"]
    assert result(night, final=False) == "cancelled"


@pytest.mark.parametrize(("outcome", "words"), [("taken", "it is approved"), ("unclear", "it may be approved")])
def test_what_is_approved_and_does_not_start_is_stuck(outcome: str, words: str) -> None:
    """W-18."""
    night = shared()
    post(night, outcome)
    watch(night, "scheduled")
    assert result(night) == "stuck"
    assert failures(night) == [
        "%s is not over: %s, and Azure has not been seen to start it; what guards its hosts goes on." % (LABEL, words)
    ]
    assert result(night, final=False) == "planned"


def test_what_has_started_and_does_not_end_is_stuck() -> None:
    """W-59."""
    night = shared()
    post(night, "taken")
    watch(night, "started")
    assert failures(night) == ["%s is not over: Azure has started it; what guards its hosts goes on." % LABEL]
    assert result(night, final=False) == "planned"


def test_a_host_that_is_dark_after_its_event_is_not_back() -> None:
    """W-45."""
    night = shared()
    post(night, "taken")
    watch(night, "gone", started=True)
    over(night, "web1")
    night.tell("web2", over={E1: UNREACHABLE})
    assert failures(night) == ["web2 is not back after %s, which is gone (Failed to connect to the host via ssh)." % LABEL]
    night.tell("web2", over={})
    assert failures(night) == ["web2 is not back after %s, which is gone." % LABEL]


def test_what_the_service_does_not_take_is_refused() -> None:
    night = shared()
    post(night, "refused", msg="")
    post(night, "refused", msg="Azure answered 400. Nothing was posted.")
    assert result(night) == "refused"
    assert failures(night) == ["%s is not approved: Azure answered 400. Nothing was posted; %s." % (LABEL, STARTS)]


def test_what_was_ready_and_was_not_posted_is_refused() -> None:
    night = shared()
    assert result(night) == "refused"
    assert failures(night) == ["%s is not approved: its hosts were ready, and nobody has posted it; %s." % (LABEL, STARTS)]


def test_what_the_gate_refuses_is_refused_with_its_words() -> None:
    """W-41."""
    night = shared()
    night.tell("web2", committed={E1: answered("commit", "E1", "commit_refused", "PREPARED")})
    night.remember("vote")
    told = night.outcome()
    assert told["events"][0]["result"] == "refused"
    why = "web2 has not given its word (This host is PREPARED: 10-pool has failed)"
    assert told["failures"] == ["%s is not approved: %s; %s." % (LABEL, why, STARTS)]
    assert told["events"][0]["gate_refusals"] == [
        {"at": at(0), "by": "driver", "step": "vote", "reason": told["failures"][0].rstrip("."), "hosts": ["web2"]}
    ]


def test_a_wave_that_was_never_begun_is_refused_with_the_reason() -> None:
    """W-45."""
    night = Night(entry("E1", "web1 web2"))
    night.hostvars["localhost"] = {"rolling_maintenance__stop": "wave 1 has not ended well."}
    assert failures(night) == [
        "The run has stopped: wave 1 has not ended well.",
        "%s is not approved: wave 1 has not ended well; %s." % (LABEL, STARTS),
    ]
    night.hostvars["localhost"] = {}
    assert failures(night) == ["%s is not approved: its wave was not begun, or its hosts were lost on the way; %s." % (LABEL, STARTS)]


def test_whoever_is_lost_before_he_answers_is_not_prepared() -> None:
    night = Night(entry("E1", "web1 web2"))
    night.tell("web1", prepared={E1: answered("prepare", "E1", "ready", "PREPARED")})
    assert result(night, final=False) == "planned"
    assert result(night) == "not_prepared"
    assert failures(night) == ["web2 was not ready for %s: it has not answered; nobody is approved, %s." % (LABEL, STARTS)]


@pytest.mark.parametrize("lost", ["by a hook", "without a word"])
def test_whoever_was_to_get_ready_and_was_never_asked_is_not_prepared(lost: str) -> None:
    night = Night(entry("E1", "web1"))
    night.remember("look")
    assert result(night, final=False) == "planned"
    assert result(night) == "not_prepared"
    if lost == "by a hook":
        night.tell("web1", trouble=["a hook of before_prepare has failed"])
        night.remember("gate")
        assert failures(night)[0] == "web1: a hook of before_prepare has failed."
    why = "a hook of before_prepare has failed" if lost == "by a hook" else "it has not answered"
    assert failures(night)[-1] == "web1 was not ready for Reboot E1 of web1: %s; nobody is approved, %s." % (why, STARTS)


def test_whoever_was_refused_before_he_was_asked_is_refused() -> None:
    night = Night(entry("E1", "web1"))
    night.tell("web1", status=UNREACHABLE)
    for step in ("look", "gate"):
        night.remember(step)
        assert result(night) == "refused"
        assert failures(night) == ["Reboot E1 of web1 is not prepared: web1 cannot be reached; %s." % STARTS]


def test_what_only_waits_for_azure_and_lost_its_hosts_is_not_prepared() -> None:
    night = Night(entry("E1", "web1", **PREPARE_ONLY))
    night.tell("web1", gate={"1.1": {"step": "gate", "waits": {E1: "it waits"}}})
    assert result(night) == "not_prepared"


NINE = {"event_id": "E1", "resources": ["VM-WEB1", "vm-web2", "vm-web9"]}


def grown() -> Night:
    """W-10: it was posted, and names one more since then."""
    night = shared()
    post(night, "taken", result={"result": "approved", "event": NINE})
    watch(night, "gone", started=True)
    own(night, "recovered", "web1", "web2")
    return night


def test_what_grows_on_its_way_to_azure_is_an_alarm() -> None:
    """W-10."""
    told = grown().outcome()
    assert (told["result"], told["events"][0]["result"], told["events"][0]["joined"]) == ("failed", "recovered", ["vm-web9"])
    assert told["failures"] == ["%s hits vm-web9 as well since it was approved: nobody has got that ready; the event is gone." % LABEL]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (answered("prepare", "E1", "ready", "PREPARED"), "This host is ready"),
        (answered("prepare", "E1", "pending", "PREPARING", message="It is on its way."), "It is on its way"),
        (UNREACHABLE, "Failed to connect to the host via ssh"),
        ({}, "it has not answered"),
    ],
)
def test_what_somebody_said_who_was_asked_because_of_it_is_told(answer: Any, words: str) -> None:
    """W-10: an alarm in any case, for Azure may have been quicker."""
    night = grown()
    asked = [{"key": E1, "vm_name": "VM-WEB9", "host": "web9", "answer": answer}, {"key": E2, "vm_name": "vm-web9"}, "words"]
    night.tell("web1", newcomers=asked)
    told = night.outcome()
    assert told["failures"] == [
        "%s hits vm-web9 as well since it was approved: web9 was asked to get ready (%s); the event is gone." % (LABEL, words)
    ]
    (newcomer,) = told["events"][0]["newcomers"]
    assert (newcomer["host"], newcomer["vm_name"]) == ("web9", "VM-WEB9")
    assert (newcomer["prepared"] or {}).get("verdict") == answer.get("verdict")


def test_every_failure_has_a_sentence() -> None:
    night = shared()
    own(night, "recovered", "web1")
    own(night, "not_prepared", "web2")
    watch(night, "gone", started=True)
    assert failures(night) == ["%s has ended as not_prepared: the event is gone." % LABEL]


def test_what_is_only_prepared_and_not_over_is_stuck() -> None:
    night = Night(entry("E1", "web1 web2", **PREPARE_ONLY))
    night.get_ready()
    assert result(night, final=False) == "planned"
    assert failures(night) == ["%s is not over: %s; what guards its hosts goes on." % (LABEL, STARTS)]


def test_what_was_put_back_before_it_started_says_nothing_of_the_event() -> None:
    night = shared()
    over(night, "web1", "web2", state="BACKED_OUT")
    assert result(night) == "refused"


# --- what had begun before the run ---------------------------------------------------------------------------------------


def running(**changes: Any) -> Night:
    """W-24."""
    event = {"event_status": "Started", "not_before": None}
    return Night(entry("E1", "web1 web2", place="running", action="watch", approves=False, prepares=False, event=event, **changes))


def test_what_started_before_it_was_seen_is_watched() -> None:
    night = running()
    assert (result(night, final=False), night.outcome(final=False)["result"]) == ("planned", "planned")
    told = night.outcome()
    assert (told["events"][0]["result"], told["result"], told["failures"]) == ("started_without_notice", "ok", [])
    own(night, "started_without_notice", "web1", "web2")
    over(night, "web1", "web2")
    assert night.outcome()["events"][0]["result"] == "started_without_notice"


def test_what_an_earlier_run_has_approved_is_recovered() -> None:
    """W-6."""
    night = running()
    own(night, "recovered", "web1", "web2")
    assert (result(night), failures(night)) == ("recovered", [])


@pytest.mark.parametrize(("state", "word"), [("COMMITTED", "recovered"), ("PREPARED", "recovered"), ("SEEN", "hit_unprepared")])
def test_what_this_run_has_seen_started_is_not_cancelled_whatever_a_host_has_missed(state: str, word: str) -> None:
    """W-6: an earlier run had it ready, and it was down or frozen from before the event started until it was gone."""
    night = running()
    moves = [{"from": None, "to": "SEEN"}, {"from": state, "to": "RECOVERING"}]
    own(night, "cancelled", "web1", "web2", history=moves)
    assert (result(night), failures(night)) == (word, [])


def test_what_hit_hosts_before_this_run_came_is_not_its_failure() -> None:
    night = running()
    own(night, "hit_unprepared", "web1", "web2")
    assert (result(night), failures(night)) == ("hit_unprepared", [])


@pytest.mark.parametrize("how", ["it waited", "it was ready"])
def test_hosts_that_do_not_come_back_from_it_are(how: str) -> None:
    night = running()
    if how == "it waited":
        over(night, "web1", is_over=False, state="IMPACT")
    else:
        own(night, None, "web1", attempts=1)
    assert failures(night) == ["%s is not over: Azure has started it; what guards its hosts goes on." % LABEL]


# --- deletions -----------------------------------------------------------------------------------------------------------


def preempted(**changes: Any) -> Night:
    night = Night(entry("E1", "web1", event={"event_type": "Preempt"}, **PREPARE_ONLY, **changes))
    night.get_ready()
    return night


def test_a_vm_that_is_deleted_does_not_come_back() -> None:
    night = preempted()
    watch(night, "started", host="idle1")
    assert (result(night), failures(night)) == ("deleted", [])
    night = preempted()
    watch(night, "gone", host="idle1")
    night.tell("web1", over={E1: UNREACHABLE})
    assert result(night) == "deleted"


def test_a_deletion_that_is_cancelled_is() -> None:
    """W-27."""
    night = preempted()
    watch(night, "gone", host="idle1")
    over(night, "web1")
    assert result(night) == "cancelled"
    watch(night, "gone", host="idle1", started=True)
    assert result(night) == "recovered"


# --- the evidence --------------------------------------------------------------------------------------------------------


def test_evidence_has_what_a_controller_can_know() -> None:
    night = shared(notes=["web9 was not shown it"])
    post(night, "unclear", at=NOW + 30.0, witness="idle2", msg="It has not answered.")
    post(night, "taken", result={"event_id": "E1", "result": "approved"})
    for name, seconds in (("web1", 41), ("web2", 40)):
        told_of = record("E1", "COMMITTED", post={"witness": "idle1", "sent_at": at(seconds)})
        night.tell(name, sending={E1: {"ok": True, "status": status([told_of])["status"]}})
    watch(night, "gone", started=True, started_at=at(70))
    over(night, "web1", "web2")
    own(
        night,
        "recovered",
        "web1",
        first_seen=at(-600),
        last_seen=at(130),
        notice_seconds=1440,
        attempts=2,
        started=at(71),
        gone=at(125),
        recovered=at(131),
        seconds_drained=120,
        approved_by="us",
        healthy=True,
        boot_ids=["b1", "b2"],
        vm_id="5c08b38e",
        changes=[{"what": "saw", "at": at(65), "status": "Scheduled"}, {"what": "saw", "at": at(71), "status": "Started"}],
        notes=[{"what": "noted", "note": "gap"}],
        occurrence=2,
        identity={"name": "vm-web1", "zone": "1", "scope": None},
        clock={"difference": 0.5},
    )
    night.options.update(recover_budget=120.0, within=900.0, period=3600.0)
    yes = {"ok": True, "at": at(20)}
    sent = {"by": "driver", "driver": "playbook", "run": "4711", "sent": None, "posted": True, "answer": None, "reason": None}
    (told,) = night.outcome()["events"]
    hosts = told.pop("hosts")
    details = told.pop("decision_details")
    assert told == {
        "schema": 1,
        "kind": "run",
        "key": E1,
        "event": night.entries[E1]["event"],
        "realm": {"subscription": "sub", "resource_group": "fleet"},
        "scope": "scope one",
        "first_seen": at(-600),
        "last_seen": at(130),
        "notice_seconds": 1440,
        "changes": [
            {"host": "web1", "what": "saw", "at": at(65), "status": "Scheduled"},
            {"host": "web1", "what": "saw", "at": at(71), "status": "Started"},
        ],
        "shown_differently": ["web9 was not shown it"],
        "decision": "prepare_and_approve",
        "reason": night.entries[E1]["reason"],
        "driver": "playbook",
        "run": "4711",
        "attempts": 2,
        "posts": [
            {**sent, "at": at(30), "witness": "idle2", "outcome": "unclear", "reason": "It has not answered."},
            {**sent, "at": at(60), "witness": "idle1", "outcome": "taken", "answer": "approved", "sent": at(40)},
        ],
        "gate_refusals": [],
        "approved_by": "us",
        "started": at(70),
        "started_seen": True,
        "started_between": [at(65), at(70)],
        "gone": at(125),
        "gone_seen": [at(120), at(125)],
        "witness": "idle1",
        "watched_by": "idle1",
        "healthy": True,
        "recovered": at(131),
        "seconds_drained": 120,
        "result": "recovered",
        "place": "waves",
        "wave": 1,
        "component": "1.1",
        "votes": {"web1": yes, "web2": yes},
        "commits": {"web1": yes, "web2": yes},
        "unmanaged": [],
        "joined": [],
        "newcomers": [],
        "notes": [{"host": "web1", "what": "noted", "note": "gap"}],
    }
    assert details["rule"] == "at once"
    assert details["policy_hash"] == "5e3f"
    assert details["decided_at"] == at(-5)
    assert (details["late"], details["ready_by"], details["want"]) == (False, "2026-11-18T09:58:30Z", at(0))
    assert (details["approve_reserve"], details["recover_budget"], details["within"], details["period"]) == (60.0, 120.0, 900.0, 3600.0)
    assert {key: hosts["web1"][key] for key in ("occurrence", "vm_id", "clock", "clock_difference", "boot_ids", "state")} == {
        "occurrence": 2,
        "vm_id": "5c08b38e",
        "clock": {"difference": 0.5},
        "clock_difference": 0.3,
        "boot_ids": ["b1", "b2"],
        "state": "CLOSED",
    }
    planned = {"subscription_id": "sub", "resource_group": "fleet", "vm_id": None, "scope": "scope one"}
    assert hosts["web1"]["identity"] == {**planned, "name": "vm-web1", "inventory_name": "web1", "zone": "1"}
    assert hosts["web2"]["identity"] == {**planned, "name": "vm-web2", "inventory_name": "web2"}
    assert hosts["web1"]["prepared"] == {
        "ok": True,
        "at": at(20),
        "verdict": "ready",
        "state": "PREPARED",
        "message": "This host is ready.",
        "handlers": [],
    }
    assert hosts["web1"]["own"]["event_as_seen"] == {"event_id": "E1"}
    assert hosts["web2"]["own"] is None


def test_a_refusal_has_when_it_was_said_first_in_which_step_and_who_was_the_reason() -> None:
    night = shared()
    unprepared(night, "BACKING_OUT")
    first = night.hostvars["web1"]["rolling_maintenance__gate"]["1.1"]["refusals"][E1]
    night.now += 60
    night.remember("vote")
    assert night.hostvars["web1"]["rolling_maintenance__gate"]["1.1"]["at"] == at(60)
    (refusal,) = night.outcome()["events"][0]["gate_refusals"]
    assert (first["at"], first["step"], first["hosts"]) == (at(0), "gate", ["web2"])
    assert (refusal["at"], refusal["step"], refusal["hosts"]) == (at(0), "gate", ["web2"])


def test_hosts_that_keep_one_refusal_at_different_moments_tell_of_it_once() -> None:
    night = shared()
    unprepared(night, "BACKING_OUT")
    kept = night.hostvars["web1"]["rolling_maintenance__gate"]
    night.now += 1
    night.tell("web1", gate={})
    night.tell("web2", gate={})
    night.remember("gate")
    night.tell("web1", gate=kept)
    assert [one["at"] for one in night.outcome()["events"][0]["gate_refusals"]] == [at(0)]


def test_a_vote_has_no_time_where_the_host_has_gone_on_since() -> None:
    night = shared()
    night.tell("web2", prepared={E1: answered("prepare", "E1", "ready", "PREPARED", status=status([record("E1", "IMPACT")])["status"])})
    night.tell("web1", prepared={E1: {"ok": False, "msg": "No."}})
    assert night.outcome()["events"][0]["votes"] == {"web1": {"ok": False, "at": None}, "web2": {"ok": True, "at": None}}


def test_a_vote_is_of_the_occurrence_that_is_there() -> None:
    night = shared()
    records = [record("E1", "PREPARED", occurrence=2), record("E1", "PREPARED", occurrence=1, changed_at=at(-9000))]
    night.tell("web1", prepared={E1: answered("prepare", "E1", "ready", "PREPARED", status=status(records)["status"])})
    assert night.outcome()["events"][0]["votes"]["web1"] == {"ok": True, "at": at(20)}


def test_between_which_looks_it_started() -> None:
    night = Night(entry("E1", "web1 web2"))
    assert night.outcome()["events"][0]["started_between"] is None
    watch(night, "scheduled", host="web2", at=at(50))
    watch(night, "started", at=at(60))
    assert night.outcome()["events"][0]["started_between"] == [at(50), at(60)]
    night = running()
    watch(night, "started", at=at(60))
    assert night.outcome()["events"][0]["started_between"] == [None, at(60)]


def test_what_the_gate_has_seen_has_a_time_as_well() -> None:
    night = shared()
    night.show(event_status="Started", not_before=None)
    night.remember("gate")
    (told,) = night.outcome()["events"]
    assert (told["started"], told["started_between"], told["gone_seen"]) == (at(0), [at(-5), at(0)], [])
    for name in ("web1", "web2"):
        night.tell(name, answer=night.answer([]))
    night.remember("gate")
    assert night.outcome()["events"][0]["gone_seen"] == [at(0)]


def test_nothing_in_the_evidence_of_an_event_could_be_taken_for_another_one() -> None:
    """Whoever looks for an event and its result finds this one alone."""
    night = shared()
    own(night, "cancelled", "web1", "web2")

    def events(value: Any) -> int:
        if isinstance(value, dict):
            return int("result" in value and isinstance(value.get("event"), dict)) + sum(events(one) for one in value.values())
        return sum(events(one) for one in value) if isinstance(value, list) else 0

    assert events(night.outcome()["events"]) == 1


def test_evidence_of_what_nobody_has_done_anything_about() -> None:
    night = Night(entry("E1", "web1 web2", place="held"))
    (told,) = night.outcome()["events"]
    assert (told["approved_by"], told["started"], told["gone"], told["healthy"], told["witness"]) == ("nobody", None, None, None, None)
    assert told["hosts"]["web1"]["prepared"] is None
    assert (told["votes"], told["commits"], told["attempts"]) == ({}, {}, None)


@pytest.mark.parametrize(
    ("first", "second", "healthy"), [(True, True, True), (True, False, False), (None, False, False), (True, None, None)]
)
def test_an_event_is_healthy_when_all_its_hosts_are(first: Any, second: Any, healthy: Any) -> None:
    night = shared()
    over(night, "web1", is_over=first)
    over(night, "web2", is_over=second)
    assert night.outcome()["events"][0]["healthy"] is healthy


def test_the_word_of_a_host_is_enough_to_be_healthy() -> None:
    night = shared()
    own(night, "recovered", "web1", "web2", healthy=True)
    assert night.outcome()["events"][0]["healthy"] is True
    assert (
        _outcomes.outcome({"events": [{"key": "x", "place": "left"}]}, options={}, told={}, now=NOW, final=True, check=False)["events"][0][
            "healthy"
        ]
        is None
    )


def test_who_has_approved_it() -> None:
    night = shared()
    own(night, None, "web1", approved_by="other")
    assert night.outcome()["events"][0]["approved_by"] == "other"
    own(night, None, "web2", approved_by="us")
    assert night.outcome()["events"][0]["approved_by"] == "us"


@pytest.mark.parametrize(("started", "by"), [(at(60), "other"), (at(900), "nobody"), (None, "nobody")])
def test_whoever_finds_it_started_before_its_time_was_not_first(started: Optional[str], by: str) -> None:
    """W-40."""
    night = shared()
    post(night, "already_started")
    watch(night, "started", at=started)
    assert night.outcome()["events"][0]["approved_by"] == by


def test_whoever_was_the_leader_his_words_are_found() -> None:
    night = shared()
    watch(night, "scheduled", host="web1")
    watch(night, "gone", host="idle1", at=at(130))
    watch(night, "started", host="web2", at=at(100))
    night.tell("web2", posted=[{"key": E1, "outcome": "taken", "witness": "web9"}])
    (told,) = night.outcome()["events"]
    assert (told["gone"], told["started_seen"], told["witness"]) == (at(130), True, "web9")


def test_a_state_that_nobody_knows_is_no_state() -> None:
    night = shared()
    watch(night, "vanished", host="web1")
    watch(night, "scheduled", host="web2")
    assert "seen scheduled" in night.outcome()["summary"]


def test_who_is_asked_for_words() -> None:
    night = Night(entry("E1", "web1"), entry("E2", "web2"))
    night.plan["events"][1].update(place="held", witnesses=["far1"])
    assert _outcomes.hosts_of_plan(night.plan) == ["localhost", "web1", "idle1", "web2"]
    assert _outcomes.hosts_of_plan(None) == ["localhost"]


# --- the run -------------------------------------------------------------------------------------------------------------


def test_nothing_announced_is_nothing_to_do() -> None:
    night = Night()
    night.hostvars["localhost"] = {}
    assert night.outcome() == {
        "result": "nothing_to_do",
        "events": [],
        "failures": [],
        "summary": "nothing_to_do: Azure announces nothing",
        "due_next": None,
    }


def test_what_is_due_next_and_what_is_wrong_in_the_inventory_is_said() -> None:
    night = Night(entry("E1", "web1 web2", place="held", reason="held"))
    night.plan.update(due_next=at(3600), due_next_event="E1", conflicts=["web1 says that it is another VM"])
    told = night.outcome()
    assert told["due_next"] == at(3600)
    assert told["summary"].endswith("Look at the inventory: web1 says that it is another VM\nDue next: Wed 2026-11-18 10:46 UTC, event E1")
    night.plan["due_next_event"] = None
    assert night.outcome()["summary"].endswith("event ?")


def test_blind_hosts_and_a_plan_that_has_changed_are_failures() -> None:
    night = Night(entry("E1", "web1", place="held"))
    night.plan.update(blind=["db1", "db2"], changed="the plan has changed since it was approved.")
    told = night.outcome()
    assert told["result"] == "failed"
    assert told["failures"] == [
        "the plan has changed since it was approved.",
        "Nobody knows what Azure announces to db1, db2, for no host of their scope has answered, and Azure goes ahead all the same: ask "
        "one with azure_scheduled_events_info. The first answer of a scope can take two minutes, see rolling_maintenance_discover_timeout.",
    ]
    assert told["summary"].endswith("What went wrong:\n  %s\n  %s" % tuple(told["failures"]))


@pytest.mark.parametrize(("check", "result"), [(False, "failed"), (True, "planned")])
def test_no_summary_says_that_nothing_is_announced_where_nobody_has_answered(check: bool, result: str) -> None:
    night = Night()
    night.hostvars["localhost"] = {}
    night.plan["blind"] = ["db1"]
    told = night.outcome(check=check)
    assert told["summary"].startswith("%s: no event is known, and not every host could be asked\n" % result)
    assert told["summary"].count("Nobody knows what Azure announces to db1,") == 1


def test_what_went_wrong_on_a_host_is_a_failure_also_when_its_event_is_over() -> None:
    night = shared()
    own(night, "recovered", "web1", "web2")
    night.tell("web2", trouble=["A hook of after_recover has failed."])
    told = night.outcome()
    assert (told["result"], told["failures"]) == ("failed", ["web2: A hook of after_recover has failed."])
    assert told["events"][0]["hosts"]["web2"]["trouble"] == ["A hook of after_recover has failed"]


def test_a_wave_that_was_not_closed_is_a_failure_where_nothing_else_is() -> None:
    night = shared()
    own(night, "recovered", "web1", "web2")
    night.hostvars["localhost"] = {"rolling_maintenance__open": [1]}
    assert night.outcome()["failures"] == [
        "Wave 1 was begun and has not come to its end, and its hosts go on by themselves: see web1, web2 with azure-event-handlers status."
    ]
    assert night.outcome(final=False)["failures"] == []
    assert night.outcome(check=True)["failures"] == []


def test_a_run_that_did_something_and_held_the_rest_is_ok() -> None:
    night = Night(entry("E1", "web1"), entry("E2", "web2"))
    night.plan["events"][1]["place"] = "held"
    night.hostvars["localhost"] = {}
    own(night, "recovered", "web1")
    told = night.outcome()
    assert (told["result"], [one["result"] for one in told["events"]]) == ("ok", ["recovered", "held"])
    assert night.outcome(final=False)["result"] == "ok"


# --- whatever comes ------------------------------------------------------------------------------------------------------

SHAPES: List[Any] = [None, "words", 7, True, [], ["x"], {}, {"a": 1}, object(), {E1: None}, {E1: "x"}, {E1: {"over": "x", "state": 7}}]


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize(
    "fact", ["prepared", "committed", "sending", "over", "posted", "watched", "gate", "trouble", "evidence", "status", "newcomers"]
)
def test_no_shape_of_a_report_stops_it(fact: str, shape: int) -> None:
    night = shared()
    night.tell("web2", **{fact: SHAPES[shape]})
    for final in (True, False):
        told = night.outcome(final=final)
        assert json.loads(json.dumps(told)) == told


@pytest.mark.parametrize("odd", [None, "x", 7, True, [], [7], {}, {"a": [1]}, 1e300, float("nan")])
def test_no_shape_inside_a_report_stops_it(odd: Any) -> None:
    kept = {"event": {"event_id": "E1"}, "state": "PREPARED", "changed_at": odd}
    said = {"ok": True, "state": "PREPARED", "status": {"records": [odd, kept]}}
    inside = ("identity", "clock", "boot_ids", "changes", "notes", "occurrence", "vm_id", "gone", "started", "first_seen")
    night = shared()
    night.tell("web1", evidence={E1: dict.fromkeys(inside, odd)}, prepared={E1: said}, committed={E1: {**said, "status": odd}})
    night.tell("web2", sending={E1: {"status": {"records": odd}}}, watched={E1: {"state": "gone", "at": odd}})
    night.tell(
        "web2",
        status={"clock_difference": odd},
        gate={"1.1": {"refused": {E1: odd}, "refusals": {E1: odd}, "at": odd, "gone": {E1: odd}}, "1.2": odd},
    )
    post(night, "taken", at=odd, result=odd, witness=odd, msg=odd)
    night.plan["events"][0].update({"decision": odd, "realm": odd, "vm_ids": odd, "scope": odd, "event": {"event_id": odd}})
    (told,) = night.outcome()["events"]
    assert json.loads(json.dumps(told))["key"] == E1


@pytest.mark.parametrize(
    "plan",
    [None, "plan", {"events": [{"key": "x"}]}, {"events": [{"key": "x", "place": "waves", "hosts": 7}], "waves": 7}, {"due_next": 7}],
)
def test_no_shape_of_a_plan_stops_it(plan: Any) -> None:
    for final in (True, False):
        told: Dict[str, Any] = _outcomes.outcome(plan, options=None, told={"localhost": {}}, now=NOW, final=final, check=False)
        assert json.loads(json.dumps(told)) == told
