# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What azure_scheduled_event_approve posts, what it never posts, and what it says about it.

What was posted is read from the log of the simulator, never from the result of the module.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import FIRST, NEVER, SECOND, THIRD, Result, Stage


def _words(result: Result) -> List[Tuple[str, str]]:
    return [(entry["event_id"], entry["result"]) for entry in result["results"]]


def _refused(stage: Stage, result: Result) -> None:
    assert result.failed
    assert stage.posts() == []
    assert (result.changed, result["posted"]) == (False, False)


# --- what it does -----------------------------------------------------------------------------------------------------


def test_an_event_of_this_vm_alone_is_approved_and_seen_to_start(stage: Stage) -> None:
    stage.reboot("web_0")
    result = stage.approve(FIRST)
    assert not result.failed
    assert (result.changed, result["posted"]) == (True, True)
    assert _words(result) == [(FIRST, "approved")]
    assert result["results"][0]["event"]["event_status"] == "Started"
    assert stage.posts() == [[FIRST]]


def test_all_ids_go_into_one_post_as_the_service_wrote_them(stage: Stage) -> None:
    """C-18, C-22"""
    stage.reboot("web_0")
    stage.schedule("Freeze", "web_0", event_id=SECOND)
    result = stage.approve(SECOND.lower(), FIRST.lower(), SECOND)
    assert _words(result) == [(SECOND.lower(), "approved"), (FIRST.lower(), "approved")]
    assert stage.posts() == [[SECOND, FIRST]]
    post = stage.simulator.posts()[0]
    assert (post.headers["metadata"], post.headers["content-type"], post.query) == (
        "true",
        "application/json",
        {"api-version": "2020-07-01"},
    )


def test_names_are_compared_without_case_and_as_a_whole(stage: Stage) -> None:
    """C-18, C-20"""
    stage.reboot("Web_0", "WEB_1")
    _refused(stage, stage.approve(FIRST, ready_resources=["web_0", "web_10"]))
    assert _words(stage.approve(FIRST, ready_resources=["WEB_0", "web_1"])) == [(FIRST, "approved")]


def test_any_vm_of_the_scope_may_approve_what_hits_another(stage: Stage) -> None:
    """C-21"""
    stage.reboot("web_1")
    stage.on("web_2")
    _refused(stage, stage.approve(FIRST))
    assert not stage.approve(FIRST, ready_resources=["web_1"]).failed
    assert [record.vm for record in stage.simulator.posts()] == ["web_2"]


@pytest.mark.parametrize(("options", "instance_requests"), [({}, 1), ({"ready_resources": ["web_0"]}, 0)])
def test_the_identity_is_asked_for_only_when_nobody_says_who_is_ready(
    stage: Stage, options: Dict[str, Any], instance_requests: int
) -> None:
    stage.reboot("web_0")
    assert not stage.approve(FIRST, **options).failed
    assert stage.requests(path="instance") == ["GET"] * instance_requests


def test_nothing_is_asked_when_there_is_nothing_to_approve(stage: Stage) -> None:
    result = stage.approve()
    assert (result.changed, result["posted"], result["results"]) == (False, False, [])
    assert stage.requests() == []


def test_the_exact_name_lets_a_vm_be_hit_that_is_not_ready(stage: Stage) -> None:
    stage.reboot("web_0", "web_1", "web_2")
    _refused(stage, stage.approve(FIRST, allow_unready=["web_1"]))
    assert not stage.approve(FIRST, allow_unready=["web_1", "WEB_2"]).failed
    assert stage.posts() == [[FIRST]]


@pytest.mark.parametrize("word", ["all", "*", "true", "web"])
def test_no_word_stands_for_all_vms(stage: Stage, word: str) -> None:
    stage.reboot("web_0", "web_1")
    _refused(stage, stage.approve(FIRST, allow_unready=[word]))
    _refused(stage, stage.approve(FIRST, ready_resources=[word]))


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate", "GuestUpdate"])
def test_deletions_and_unknown_types_must_be_named(stage: Stage, event_type: str) -> None:
    """C-14"""
    stage.schedule(event_type, "web_0")
    _refused(stage, stage.approve(FIRST))
    _refused(stage, stage.approve(FIRST, allow_types=["Reboot", "unknown", "all"]))
    assert not stage.approve(FIRST, allow_types=[event_type.upper()]).failed
    assert stage.posts() == [[FIRST]]


# --- what is never posted ---------------------------------------------------------------------------------------------


def test_check_mode_posts_nothing_and_tells_what_it_would_do(stage: Stage) -> None:
    stage.reboot("web_0")
    result = stage.approve(FIRST, check=True)
    assert not result.failed
    assert (result.changed, result["posted"]) == (True, False)
    assert _words(result) == [(FIRST, "would_approve")]
    assert stage.posts() == []
    assert stage.simulator.event(FIRST).state == "Scheduled"


def test_check_mode_refuses_what_would_be_refused(stage: Stage) -> None:
    stage.reboot("web_0", "web_1")
    result = stage.approve(FIRST, check=True)
    _refused(stage, result)
    assert _words(result) == [(FIRST, "refused")]


def test_check_mode_does_not_wait_for_a_start(stage: Stage) -> None:
    stage.reboot("web_0")
    assert not stage.approve(FIRST, check=True, wait_for_start=True).failed
    assert stage.hands.slept == []


def test_one_refusal_keeps_everything_from_being_posted(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.reboot("web_0", "web_1", event_id=SECOND)
    result = stage.approve(FIRST, SECOND)
    _refused(stage, result)
    assert _words(result) == [(FIRST, "refused"), (SECOND, "refused")]


def test_an_id_that_is_not_there_keeps_everything_from_being_posted_when_asked_for(stage: Stage) -> None:
    stage.reboot("web_0")
    result = stage.approve(FIRST, NEVER, if_missing="fail")
    _refused(stage, result)
    assert _words(result) == [(FIRST, "refused"), (NEVER, "gone")]


@pytest.mark.parametrize("check", [False, True])
def test_check_mode_and_the_real_run_refuse_the_same(stage: Stage, check: bool) -> None:
    stage.reboot("web_0")
    stage.reboot("web_0", "web_1", event_id=SECOND)
    result = stage.approve(FIRST, SECOND, check=check)
    _refused(stage, result)
    assert _words(result) == [(FIRST, "refused"), (SECOND, "refused")]


def test_a_started_event_is_left_out(stage: Stage) -> None:
    """C-25; also one that hits VMs which are not ready: it is too late to ask."""
    stage.reboot("web_0", "web_1")
    stage.simulator.start(FIRST)
    result = stage.approve(FIRST)
    assert not result.failed
    assert (result.changed, _words(result)) == (False, [(FIRST, "already_started")])
    assert stage.posts() == []


@pytest.mark.parametrize("check", [False, True])
def test_an_event_that_is_gone_is_left_out_with_a_warning(stage: Stage, check: bool) -> None:
    """C-25"""
    stage.reboot("web_0")
    stage.simulator.cancel(FIRST)
    result = stage.approve(FIRST, check=check)
    assert not result.failed
    assert (result.changed, _words(result), result["results"][0]["event"]) == (False, [(FIRST, "gone")], None)
    assert result.warnings == ["Event %s is not in the document: it is over, was cancelled, or the id is mistyped." % FIRST]
    assert stage.posts() == []


def test_only_what_is_scheduled_is_posted(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.reboot("web_1", event_id=SECOND)
    stage.simulator.start(SECOND)
    result = stage.approve(SECOND, NEVER, FIRST)
    assert _words(result) == [(SECOND, "already_started"), (NEVER, "gone"), (FIRST, "approved")]
    assert stage.posts() == [[FIRST]]


def test_an_id_that_is_not_there_can_be_a_reason_to_refuse(stage: Stage) -> None:
    stage.reboot("web_0")
    _refused(stage, stage.approve(FIRST, NEVER, if_missing="fail"))


def test_one_answer_without_the_event_does_not_make_it_gone(stage: Stage) -> None:
    """C-15: an empty answer in between."""
    stage.reboot("web_0")
    stage.simulator.fault("empty")
    result = stage.approve(FIRST, if_missing="fail")
    assert not result.failed
    assert stage.hands.slept == [10.0]
    assert stage.posts() == [[FIRST]]


# --- what may be said twice -------------------------------------------------------------------------------------------


def test_a_second_run_changes_nothing_once_it_has_started(stage: Stage) -> None:
    stage.reboot("web_0", runs_for=None)
    assert stage.approve(FIRST).changed
    again = stage.approve(FIRST)
    assert (again.changed, _words(again)) == (False, [(FIRST, "already_started")])
    stage.simulator.complete(FIRST)
    assert _words(stage.approve(FIRST)) == [(FIRST, "gone")]
    assert stage.posts() == [[FIRST]]


def test_an_event_that_starts_later_may_be_approved_again(stage: Stage) -> None:
    """C-23, C-24: others on the host may have to agree; saying it twice does no harm."""
    stage.reboot("web_0", start_delay=120)
    for _attempt in range(2):
        result = stage.approve(FIRST)
        assert not result.failed
        assert (result.changed, _words(result)) == (True, [(FIRST, "still_scheduled")])
    assert stage.posts() == [[FIRST]] * 2


def test_a_start_that_comes_later_can_be_waited_for(stage: Stage) -> None:
    """C-24"""
    stage.reboot("web_0", start_delay=120)
    result = stage.approve(FIRST, wait_for_start=True)
    assert not result.failed
    assert _words(result) == [(FIRST, "approved")]
    assert 120 <= sum(stage.hands.slept) <= 122
    assert stage.posts() == [[FIRST]]


def test_a_start_that_does_not_come_in_time_is_a_failure_after_the_post(stage: Stage) -> None:
    stage.reboot("web_0", stuck=True)
    result = stage.approve(FIRST, wait_for_start=True, start_timeout="30s")
    assert result.failed
    assert (result.changed, _words(result)) == (True, [(FIRST, "still_scheduled")])
    assert sum(stage.hands.slept) == 30
    assert stage.posts() == [[FIRST]]


def test_a_freeze_that_is_over_between_two_looks_was_approved(stage: Stage) -> None:
    """C-24: gone proves it as well as Started."""
    stage.schedule("Freeze", "web_0", runs_for=0, start_delay=1)
    result = stage.approve(FIRST, wait_for_start=True)
    assert not result.failed
    assert _words(result) == [(FIRST, "approved")]


def test_a_terminate_waits_for_the_others_to_be_approved(stage: Stage) -> None:
    """C-24"""
    stage.schedule("Terminate", "web_0")
    stage.schedule("Terminate", "web_1", event_id=SECOND)
    options: Dict[str, Any] = {"ready_resources": ["web_0", "web_1"], "allow_types": ["Terminate"]}
    assert _words(stage.approve(FIRST, **options)) == [(FIRST, "still_scheduled")]
    assert _words(stage.approve(SECOND, **options)) == [(SECOND, "approved")]
    assert _words(stage.approve(FIRST, **options)) == [(FIRST, "already_started")]


def test_errors_while_it_waits_for_the_start_are_borne(stage: Stage) -> None:
    stage.reboot("web_0", start_delay=60)
    stage.hands.during_sleep(2, lambda: stage.simulator.fault("status", status=503, times=5))
    assert not stage.approve(FIRST, wait_for_start=True).failed


def test_a_request_may_not_outlast_the_time_for_the_start(stage: Stage) -> None:
    """Two time-outs that contradict each other: the one of the whole task wins."""
    stage.reboot("web_0", stuck=True)
    stage.hands.during_sleep(1, lambda: stage.simulator.fault("status", status=503, times=None))
    result = stage.approve(FIRST, wait_for_start=True, start_timeout="20s", retry_for="1h", timeout="2h")
    assert result.failed
    assert sum(stage.hands.slept) == pytest.approx(20)


# --- answers that are lost --------------------------------------------------------------------------------------------


def test_a_post_whose_answer_is_lost_is_resolved_by_reading(stage: Stage) -> None:
    """It acted: the event has started, so it is not posted again."""
    stage.reboot("web_0")
    stage.simulator.fault("lost_answer", verb="POST")
    result = stage.approve(FIRST)
    assert not result.failed
    assert (result.changed, _words(result)) == (True, [(FIRST, "approved")])
    assert stage.posts() == [[FIRST]]


@pytest.mark.parametrize("kind", ["reset", "close", "lost_answer"])
def test_a_post_without_an_answer_is_repeated_once_after_a_fresh_look(stage: Stage, kind: str) -> None:
    stage.reboot("web_0", start_delay=5)
    stage.simulator.fault(kind, verb="POST")
    result = stage.approve(FIRST, ready_resources=["web_0"])
    assert not result.failed
    assert _words(result) == [(FIRST, "still_scheduled")]
    assert stage.posts() == [[FIRST]] * 2
    assert stage.requests(path="events") == ["GET", "POST", "GET", "POST", "GET"]


def test_a_post_that_surely_had_no_effect_is_repeated_once_and_changes_nothing(stage: Stage) -> None:
    """C-8: too many requests; the service has not looked at it."""
    stage.reboot("web_0")
    stage.simulator.fault("status", verb="POST", status=429, times=None)
    result = stage.approve(FIRST, diff=True)
    assert result.failed
    assert (result.changed, _words(result)) == (False, [(FIRST, "refused")])
    assert result["diff"]["before"] == result["diff"]["after"]
    assert stage.posts() == [[FIRST]] * 2


@pytest.mark.parametrize("status", [404, 408, 410, 500, 503])
def test_a_post_that_the_service_could_not_take_is_repeated_once(stage: Stage, status: int) -> None:
    stage.reboot("web_0")
    stage.simulator.fault("status", verb="POST", status=status, times=None)
    result = stage.approve(FIRST, retry_for="1h")
    assert result.failed
    assert (result.changed, _words(result)) == (True, [(FIRST, "still_scheduled")])
    assert stage.posts() == [[FIRST]] * 2
    assert stage.hands.slept == [2.0]


def test_the_pause_that_the_service_asks_for_comes_before_the_second_post(stage: Stage) -> None:
    """C-10"""
    stage.reboot("web_0")
    stage.simulator.fault("status", verb="POST", status=429, headers={"Retry-After": "9"})
    assert not stage.approve(FIRST).failed
    first, second = stage.simulator.posts()
    assert second.at - first.at == 9


def test_a_pause_of_an_hour_is_left_to_the_operator(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.simulator.fault("status", verb="POST", status=503, headers={"Retry-After": "3600"})
    assert stage.approve(FIRST).failed
    assert stage.posts() == [[FIRST]]
    assert stage.hands.slept == []


@pytest.mark.parametrize("status", [400, 401, 403, 405])
def test_a_post_that_is_refused_for_good_is_not_repeated(stage: Stage, status: int) -> None:
    """C-10"""
    stage.reboot("web_0")
    stage.simulator.fault("status", verb="POST", status=status, times=None)
    result = stage.approve(FIRST, retry_for="1h")
    assert result.failed
    assert (result.changed, result["posted"], _words(result)) == (False, False, [(FIRST, "refused")])
    assert len(stage.posts()) == 1


# --- between two posts ------------------------------------------------------------------------------------------------


def _cancel(stage: Stage) -> None:
    stage.simulator.cancel(FIRST)


def _start(stage: Stage) -> None:
    stage.simulator.start(FIRST)


def _grow(stage: Stage) -> None:
    stage.simulator.change(FIRST, resources=["web_0", "web_1"])


def _become_a_deletion(stage: Stage) -> None:
    stage.simulator.change(FIRST, event_type="Terminate")


def _become_unknown(stage: Stage) -> None:
    stage.simulator.change(FIRST, status="Postponed")


@pytest.mark.parametrize(
    ("act", "word", "failed"),
    [
        (_cancel, "gone", False),
        (_start, "approved", False),
        (_grow, "refused", True),
        (_become_a_deletion, "refused", True),
        (_become_unknown, "refused", True),
    ],
)
@pytest.mark.parametrize("kind", ["reset", "status"])
def test_every_check_is_passed_again_before_a_second_post(
    stage: Stage, act: Callable[[Stage], None], word: str, failed: bool, kind: str
) -> None:
    stage.reboot("web_0")
    stage.simulator.fault(kind, verb="POST", **({"status": 500} if kind == "status" else {}))
    stage.hands.during_sleep(1, lambda: act(stage))
    result = stage.approve(FIRST)
    assert stage.posts() == [[FIRST]]
    assert (result.failed, _words(result)) == (failed, [(FIRST, word)])
    assert (result.changed, result["posted"]) == (True, True)


def test_an_event_that_shrinks_between_two_posts_may_be_posted_again(stage: Stage) -> None:
    stage.reboot("web_0", "web_1")
    stage.simulator.fault("reset", verb="POST")
    stage.hands.during_sleep(1, lambda: stage.simulator.change(FIRST, resources=["web_1"]))
    assert not stage.approve(FIRST, ready_resources=["web_0", "web_1"]).failed
    assert stage.posts() == [[FIRST]] * 2


def test_a_neighbours_change_stops_the_second_post_for_all(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.reboot("web_0", event_id=SECOND)
    stage.simulator.fault("reset", verb="POST")
    stage.hands.during_sleep(1, lambda: _grow(stage))
    result = stage.approve(FIRST, SECOND)
    assert result.failed
    assert stage.posts() == [[FIRST, SECOND]]
    assert _words(result) == [(FIRST, "refused"), (SECOND, "still_scheduled")]


def test_what_was_cancelled_between_two_posts_is_left_out_of_the_second(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.reboot("web_0", event_id=SECOND)
    stage.simulator.fault("reset", verb="POST")
    stage.hands.during_sleep(1, lambda: _cancel(stage))
    result = stage.approve(FIRST, SECOND)
    assert not result.failed
    assert stage.posts() == [[FIRST, SECOND], [SECOND]]
    assert _words(result) == [(FIRST, "gone"), (SECOND, "approved")]


# --- how old the document may be --------------------------------------------------------------------------------------


def test_each_post_follows_a_document_at_most_two_seconds_old(stage: Stage) -> None:
    """Also after the ten seconds that it takes to know that another event is gone."""
    stage.reboot("web_0", start_delay=60)
    stage.simulator.fault("reset", verb="POST")
    stage.slow(1.5)
    stage.approve(FIRST, NEVER)
    records = stage.simulator.requests(path="events")
    ages = [post.at - read.at for read, post in zip(records, records[1:]) if post.verb == "POST"]
    assert ages == [1.5, 1.5]


def test_an_old_document_is_read_again_before_the_post(stage: Stage) -> None:
    """The first answer is slow, and the event grows while it is under way."""
    stage.reboot("web_0")
    reads: List[float] = []

    def first_is_slow() -> None:
        reads.append(stage.simulator.now())
        if len(reads) == 1:
            stage.hands.advance(30)
            _grow(stage)

    stage.after("GET", first_is_slow)
    _refused(stage, stage.approve(FIRST, ready_resources=["web_0"]))
    assert len(reads) == 2


@pytest.mark.parametrize("check", [False, True])
def test_a_service_that_is_always_too_slow_gets_no_post(stage: Stage, check: bool) -> None:
    stage.reboot("web_0")
    stage.slow(2.1)
    result = stage.approve(FIRST, ready_resources=["web_0"], check=check)
    _refused(stage, result)
    assert _words(result) == [(FIRST, "refused")]
    assert stage.requests() == ["GET"] * 3


def test_a_service_that_answers_in_time_once_gets_the_post(stage: Stage) -> None:
    stage.reboot("web_0")
    reads: List[float] = []

    def slow_twice() -> None:
        reads.append(stage.simulator.now())
        if len(reads) < 3:
            stage.hands.advance(2.1)

    stage.after("GET", slow_twice)
    assert _words(stage.approve(FIRST, ready_resources=["web_0"])) == [(FIRST, "approved")]
    assert stage.requests() == ["GET", "GET", "GET", "POST", "GET"]


@pytest.mark.parametrize("check", [False, True])
def test_a_slow_service_is_fast_enough_when_there_is_nothing_to_post(stage: Stage, check: bool) -> None:
    """C-25: what has started or is gone is left out, and for that a document may be old."""
    stage.reboot("web_0", runs_for=None)
    stage.simulator.start(FIRST)
    stage.slow(2.5)
    result = stage.approve(FIRST, NEVER, ready_resources=["web_0"], check=check)
    assert not result.failed
    assert (result.changed, result["posted"]) == (False, False)
    assert _words(result) == [(FIRST, "already_started"), (NEVER, "gone")]
    assert stage.requests() == ["GET", "GET"]


def test_what_starts_while_the_service_is_slow_needs_no_post(stage: Stage) -> None:
    stage.reboot("web_0", notice=2, runs_for=None)
    stage.slow(2.5)
    result = stage.approve(FIRST, ready_resources=["web_0"])
    assert not result.failed
    assert _words(result) == [(FIRST, "already_started")]
    assert stage.requests() == ["GET", "GET"]


# --- one id spoils a post for several ---------------------------------------------------------------------------------


def test_a_400_for_several_ids_is_tried_singly(stage: Stage) -> None:
    """C-23"""
    for event_id in (FIRST, SECOND, THIRD):
        stage.reboot("web_0", event_id=event_id)
    stage.simulator.fault("status", verb="POST", status=400, event_id=SECOND, times=None)
    result = stage.approve(FIRST, SECOND, THIRD)
    assert stage.posts() == [[FIRST, SECOND, THIRD], [FIRST], [SECOND], [THIRD]]
    assert _words(result) == [(FIRST, "approved"), (SECOND, "refused"), (THIRD, "approved")]
    assert [entry["posted"] for entry in result["results"]] == [True, False, True]
    assert (result.failed, result.changed, result["posted"]) == (True, True, True)


def test_each_single_post_has_a_document_of_its_own(stage: Stage) -> None:
    for event_id in (FIRST, SECOND):
        stage.reboot("web_0", event_id=event_id)
    stage.simulator.fault("status", verb="POST", status=400)
    assert not stage.approve(FIRST, SECOND, ready_resources=["web_0"]).failed
    assert stage.requests() == ["GET", "POST", "GET", "POST", "GET", "POST", "GET"]


def test_a_change_after_a_400_stops_the_single_posts(stage: Stage) -> None:
    for event_id in (FIRST, SECOND):
        stage.reboot("web_0", event_id=event_id)
    stage.simulator.fault("status", verb="POST", status=400)
    grown: List[bool] = []

    def grow_once() -> None:
        if not grown:
            grown.append(True)
            stage.simulator.change(SECOND, resources=["web_0", "web_1"])

    stage.after("POST", grow_once)
    result = stage.approve(FIRST, SECOND, ready_resources=["web_0"])
    assert result.failed
    assert stage.posts() == [[FIRST, SECOND]]
    assert not result.changed


# --- what the service says beforehand ---------------------------------------------------------------------------------


def test_reading_is_repeated_as_long_as_it_may_be(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.simulator.fault("status", verb="GET", status=410, times=4)
    assert not stage.approve(FIRST, retry_for="90s").failed
    assert stage.posts() == [[FIRST]]


def test_nothing_is_posted_when_nothing_can_be_read(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.simulator.fault("html", verb="GET", times=None)
    _refused(stage, stage.approve(FIRST))


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("path", ["instance", "events"])
def test_a_failure_before_the_approval_says_that_nothing_was_posted(stage: Stage, path: str, check: bool) -> None:
    stage.reboot("web_0")
    stage.simulator.fault("status", verb="GET", path=path, status=500, times=None)
    result = stage.approve(FIRST, check=check, diff=True)
    _refused(stage, result)
    assert "Nothing was posted. Event %s is not approved, and Azure does not wait for it." % FIRST in result.message
    assert {"results", "diff"} & set(result.values) == set()


def test_a_failure_after_the_first_reading_still_tells_of_each_event(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.after("GET", lambda: (stage.hands.advance(3), stage.simulator.fault("status", verb="GET", status=500, times=None)))
    result = stage.approve(FIRST, ready_resources=["web_0"])
    _refused(stage, result)
    assert _words(result) == [(FIRST, "refused")]


def test_an_event_that_is_listed_again_too_late_is_not_called_scheduled(stage: Stage) -> None:
    """C-15: listed again after a gap."""
    stage.reboot("web_0")
    stage.reboot("web_0", event_id=SECOND)
    stage.simulator.fault("drop_event", event_id=SECOND, times=2)
    result = stage.approve(FIRST, SECOND, ready_resources=["web_0"])
    assert (result.failed, result.changed) == (True, True)
    assert _words(result) == [(FIRST, "approved"), (SECOND, "refused")]
    assert stage.posts() == [[FIRST]]


# --- diff -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [False, True])
def test_the_diff_shows_what_is_approved(stage: Stage, check: bool) -> None:
    stage.reboot("web_0", runs_for=None)
    stage.reboot("web_0", event_id=SECOND, runs_for=None)
    stage.simulator.start(SECOND)
    result = stage.approve(FIRST, SECOND, NEVER, diff=True, check=check)
    assert result["diff"] == {
        "before": {FIRST: "scheduled", SECOND: "started", NEVER: "absent"},
        "after": {FIRST: "approved", SECOND: "started", NEVER: "absent"},
    }


def test_the_diff_of_a_refusal_is_empty(stage: Stage) -> None:
    stage.reboot("web_0", "web_1")
    result = stage.approve(FIRST, diff=True)
    assert result["diff"]["before"] == result["diff"]["after"] == {FIRST: "scheduled"}


def test_what_is_changed_is_in_the_diff(stage: Stage) -> None:
    """Also when Azure takes the approval and starts the event later."""
    stage.reboot("web_0", start_delay=60)
    result = stage.approve(FIRST, diff=True)
    assert result.changed
    assert result["diff"]["before"] != result["diff"]["after"]
