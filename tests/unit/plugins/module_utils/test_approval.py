# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every way that an approval can go, on a wire by hand: what is posted, when, and what is said of it."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._approval import Approval, Outcome
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._gate import Terms
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import NoAnswer, NotSent, RawAnswer, Request
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.fakes import (
    HandClock,
    Wire,
    answer,
    document,
    event,
    service,
    started,
)

LOST = NoAnswer("the connection was reset")
TAKEN = answer(200)
ANYWAY = "Azure starts it anyway at 2026-11-18T10:00:00Z (in %s) or shortly after."


class Run:
    """An approval of some ids, with what came of it and what went over the wire."""

    def __init__(
        self,
        *replies: Any,
        ids: Sequence[str] = ("E-1",),
        ready: Sequence[str] = ("web_0",),
        missing_allowed: bool = True,
        start_timeout: Optional[float] = None,
        rehearse: bool = False,
    ) -> None:
        self.hand = HandClock()
        self.wire = Wire(*replies)
        terms = Terms.of(ready=ready, unready_allowed=(), types_allowed=(), missing_allowed=missing_allowed)
        approval = Approval(service(self.wire, self.hand), self.hand.clock, event_ids=ids, terms=terms)
        self.outcome: Outcome = approval.rehearse() if rehearse else approval.run(start_timeout=start_timeout)

    @property
    def verbs(self) -> str:
        return " ".join(request.method for request in self.wire.requests)

    @property
    def results(self) -> Dict[str, str]:
        return {result["event_id"]: result["result"] for result in self.outcome.results}

    @property
    def posted(self) -> List[List[str]]:
        return [[start["EventId"] for start in post["StartRequests"]] for post in self.wire.posts]


def test_an_approval_reads_posts_once_and_reads_again() -> None:
    """C-24: only Started or gone proves it."""
    run = Run(document(event()), TAKEN, document(started()))
    assert run.verbs == "GET POST GET"
    assert run.results == {"E-1": "approved"}
    assert (run.outcome.posted, run.outcome.failure, run.outcome.before) == (True, None, {"E-1": "scheduled"})


def test_several_events_go_into_one_post() -> None:
    """C-22: several ids at once."""
    run = Run(document(event("A"), event("B")), TAKEN, document(started("A"), started("B")), ids=["A", "B"])
    assert run.posted == [["A", "B"]]
    assert run.results == {"A": "approved", "B": "approved"}


def test_the_id_is_posted_as_the_service_writes_it() -> None:
    """C-18: compared without case, sent as received."""
    run = Run(document(event("ABC")), TAKEN, document(started("ABC")), ids=["abc"])
    assert (run.posted, run.results) == ([["ABC"]], {"abc": "approved"})


def test_an_accepted_approval_that_has_not_started_is_not_called_approved() -> None:
    """C-24: others on the same Azure host may have to agree."""
    run = Run(document(event()), TAKEN, document(event()))
    assert (run.results, run.outcome.posted, run.outcome.failure) == ({"E-1": "still_scheduled"}, True, None)


def test_an_event_gone_after_the_post_was_approved() -> None:
    run = Run(document(event()), TAKEN, document(), document())
    assert (run.results, run.hand.slept) == ({"E-1": "approved"}, [10.0])


def test_started_and_gone_events_are_left_out_of_the_post() -> None:
    """C-25: clients leave such ids out."""
    run = Run(document(event("A"), started("B")), document(event("A"), started("B")), TAKEN, document(started("A"), started("B")),
              ids=["A", "B", "C"])  # fmt: skip
    assert run.posted == [["A"]]
    assert run.results == {"A": "approved", "B": "already_started", "C": "gone"}
    assert run.outcome.missing == ["C"]


def test_nothing_is_posted_when_nothing_is_due() -> None:
    run = Run(document(started()))
    assert (run.verbs, run.outcome.posted, run.results) == ("GET", False, {"E-1": "already_started"})


def test_one_refused_event_stops_all_of_them() -> None:
    """C-23: an approval holds for every VM of the event."""
    run = Run(document(event("A"), event("B", Resources=["web_0", "web_1"])), ids=["A", "B"])
    assert run.verbs == "GET"
    assert run.results == {"A": "refused", "B": "refused"}
    assert run.outcome.failure == (
        "Refused, nothing was posted: event B (Reboot) also hits web_1, not known to be ready (ready is: web_0): prepare, then name"
        " every VM by its Azure name in ready_resources. " + ANYWAY % "14 min" + " Event A is not approved either. " + ANYWAY % "14 min"
    )


def test_an_event_that_may_be_approved_already_is_not_called_not_approved_either() -> None:
    """W-35: its first post was lost; then another one of the task is refused."""
    both, grown = document(event("A"), event("B")), document(event("A"), event("B", Resources=["web_0", "web_1"]))
    run = Run(both, LOST, grown, ids=["A", "B"])
    assert run.results == {"A": "still_scheduled", "B": "refused"}
    assert "approved either" not in str(run.outcome.failure)
    assert " Event A was posted without a clear answer and is still Scheduled" in str(run.outcome.failure)


def test_an_event_whose_first_post_was_turned_away_is_told_with_that_when_another_is_refused() -> None:
    both, grown = document(event("A"), event("B")), document(event("A"), event("B", Resources=["web_0", "web_1"]))
    run = Run(both, answer(429), grown, ids=["A", "B"])
    assert run.results == {"A": "refused", "B": "refused"}
    assert str(run.outcome.failure).count("Event A is not approved. ") == 1
    assert "the service answered 429" in str(run.outcome.failure)


def test_every_refused_event_is_named() -> None:
    run = Run(document(event("A", Resources=["x"]), event("B", Resources=["y"])), ids=["A", "B"])
    assert run.outcome.failure is not None
    assert "event A (Reboot) hits x" in run.outcome.failure
    assert "event B (Reboot) hits y" in run.outcome.failure
    assert "either" not in run.outcome.failure


def test_a_missing_event_is_refused_when_asked_for() -> None:
    run = Run(document(event("A")), ids=["A", "B"], missing_allowed=False)
    assert "POST" not in run.verbs
    assert run.outcome.failure == (
        "Refused, nothing was posted: event B is not in the document: it is over, was cancelled, or the id is mistyped; if that"
        " is all right, set if_missing to ok. Event A is not approved either. " + ANYWAY % "13 min 50 s"
    )
    assert run.results == {"A": "refused", "B": "gone"}


def test_a_rehearsal_makes_every_check_and_posts_nothing() -> None:
    """Mistake 8: a dry run that still approves."""
    good = Run(document(event()), rehearse=True)
    assert (good.verbs, good.results, good.outcome.posted) == ("GET", {"E-1": "would_approve"}, False)
    bad = Run(document(event(Resources=["web_9"])), rehearse=True)
    assert (bad.verbs, bad.results) == ("GET", {"E-1": "refused"})
    assert bad.outcome.failure is not None


def test_a_lost_answer_is_resolved_by_reading() -> None:
    """W-35, mistake 12: the post may have taken."""
    run = Run(document(event()), LOST, document(started()))
    assert run.verbs == "GET POST GET GET"
    assert (run.results, run.outcome.posted, run.outcome.failure) == ({"E-1": "approved"}, True, None)


HTML = answer(200, b"<html>Welcome</html>")


@pytest.mark.parametrize("unclear", [LOST, HTML, answer(500), answer(503), answer(410), answer(404), answer(204), answer(302)])
def test_an_unclear_post_is_repeated_once_after_all_checks(unclear: Any) -> None:
    """W-35: read, gate, once more."""
    run = Run(document(event()), unclear, document(event()), TAKEN, document(started()))
    assert run.verbs == "GET POST GET POST GET"
    assert (run.results, run.outcome.failure, run.hand.slept) == ({"E-1": "approved"}, None, [2.0])


def test_a_page_of_a_proxy_is_not_taken_for_an_approval() -> None:
    """C-5, mistake 12: 200 with HTML; nothing was approved, and nothing says so but the document."""
    run = Run(document(event()), HTML, document(event()), HTML, document(event()))
    assert (run.results, run.verbs) == ({"E-1": "still_scheduled"}, "GET POST GET POST GET")
    assert run.outcome.failure is not None
    assert run.outcome.failure.startswith(
        "Event E-1 was posted without a clear answer and is still Scheduled; it may be approved all the same."
        " POST http://127.0.0.1:1/metadata/scheduledevents failed: the answer is HTML."
    )


@pytest.mark.parametrize("no", [answer(429), NotSent("the connection was refused")])
def test_a_post_that_surely_had_no_effect_is_repeated_and_changes_nothing(no: Any) -> None:
    run = Run(document(event()), no, document(event()), no, document(event()))
    assert run.posted == [["E-1"], ["E-1"]]
    assert (run.results, run.outcome.posted) == ({"E-1": "refused"}, False)
    assert run.outcome.failure is not None
    assert run.outcome.failure.endswith("Event E-1 is not approved. " + ANYWAY % "13 min 58 s")


@pytest.mark.parametrize("status", [400, 401, 403, 405])
def test_a_post_turned_away_after_a_lost_one_is_not_called_not_approved(status: int) -> None:
    """W-35: the first one may have taken, so nobody may give the host back."""
    run = Run(document(event()), LOST, document(event()), answer(status), document(event()))
    assert (run.results, run.outcome.posted) == ({"E-1": "still_scheduled"}, True)
    assert run.outcome.failure is not None
    assert "is not approved" not in run.outcome.failure
    assert run.outcome.failure.startswith("Event E-1 was posted without a clear answer")


def test_a_lost_post_of_an_event_that_came_and_went_is_no_refusal() -> None:
    run = Run(document(event()), LOST, document(), missing_allowed=False)
    assert (run.results, run.outcome.posted, run.outcome.failure) == ({"E-1": "gone"}, True, None)


def test_a_lost_joint_post_that_is_then_called_malformed_is_tried_singly_within_the_limit() -> None:
    """W-36: no id is in more than two posts that may have had an effect."""
    both = document(event("A"), event("B"))
    run = Run(both, LOST, both, answer(400), both, LOST, both, LOST, both, ids=["A", "B"])
    assert run.posted == [["A", "B"], ["A", "B"], ["A"], ["B"]]


def test_waiting_for_the_start_includes_what_was_posted_without_a_clear_answer() -> None:
    """W-35: resolved by reading, for as long as the user allows."""
    still = [document(event())] * 5
    run = Run(document(event()), LOST, document(event()), LOST, *still, document(started()), start_timeout=300.0)
    assert (run.results, run.outcome.failure) == ({"E-1": "approved"}, None)


def test_what_was_accepted_before_a_refusal_is_followed_all_the_same() -> None:
    grown = document(started("A"), event("B", Resources=["web_0", "web_9"]))
    both = document(event("A"), event("B"))
    run = Run(both, answer(400), both, TAKEN, grown, ids=["A", "B"])
    assert run.results == {"A": "approved", "B": "refused"}
    assert run.outcome.failure is not None
    assert run.outcome.failure.startswith("Refused, nothing more was posted: event B (Reboot) also hits web_9")


def test_following_the_start_needs_no_extra_look() -> None:
    """C-8: one look a second at most."""
    run = Run(document(event()), TAKEN, document(started()), start_timeout=300.0)
    assert run.verbs == "GET POST GET"


def test_two_unclear_posts_are_the_last() -> None:
    run = Run(document(event()), LOST, document(event()), LOST, document(event()))
    assert run.verbs == "GET POST GET POST GET"
    assert (run.results, run.outcome.posted) == ({"E-1": "still_scheduled"}, True)
    assert run.outcome.failure == (
        "Event E-1 was posted without a clear answer and is still Scheduled; it may be approved all the same."
        " POST http://127.0.0.1:1/metadata/scheduledevents failed: the connection was reset. Check that this host is an Azure VM,"
        " that endpoint is its metadata service and that no firewall is in between. " + ANYWAY % "13 min 58 s"
    )


def test_an_event_that_grows_between_two_posts_is_refused() -> None:
    """W-10, W-11: the second post passes every check again."""
    run = Run(document(event()), LOST, document(event(Resources=["web_0", "web_1"])))
    assert run.verbs == "GET POST GET GET"
    assert (run.results, run.outcome.posted) == ({"E-1": "refused"}, True)
    assert run.outcome.failure is not None
    assert run.outcome.failure.startswith(
        "Refused, nothing more was posted, though an earlier post without a clear answer may have taken (POST http://127.0.0.1:1/"
    )
    assert "event E-1 (Reboot) also hits web_1" in run.outcome.failure


def test_an_event_that_is_cancelled_between_two_posts_is_gone() -> None:
    run = Run(document(event()), LOST, document())
    assert (run.posted, run.results, run.outcome.failure) == ([["E-1"]], {"E-1": "gone"}, None)


def test_an_event_that_starts_between_two_posts_is_not_posted_again() -> None:
    run = Run(document(event()), LOST, document(started()))
    assert (run.posted, run.results) == ([["E-1"]], {"E-1": "approved"})


def test_a_service_that_asks_for_a_pause_gets_it_before_the_second_post() -> None:
    """C-10: Retry-After."""
    run = Run(document(event()), answer(429, headers={"retry-after": "7"}), document(event()), TAKEN, document(started()))
    assert run.hand.slept == [7.0]


def test_a_service_that_asks_for_a_long_pause_gets_no_second_post() -> None:
    run = Run(document(event()), answer(503, headers={"retry-after": "600"}), document(event()))
    assert run.verbs == "GET POST GET"
    assert run.outcome.failure is not None
    assert run.outcome.failure.startswith("Event E-1 was posted without a clear answer")


AN_HOUR = {"retry-after": "3600"}
NOT_POSTED = "The service asks for a pause of 1 h, so nothing more is posted. "


def test_a_long_pause_asked_for_by_one_id_ends_the_posts_of_all() -> None:
    """C-10: nobody sleeps an hour between two checks; what was not posted is told."""
    malformed, trouble = answer(400), answer(503, headers=AN_HOUR)
    both = document(event("A"), event("B"))
    run = Run(both, malformed, both, trouble, both, ids=["A", "B"])
    assert (run.posted, run.hand.slept) == ([["A", "B"], ["A"]], [2.0])
    assert run.results == {"A": "still_scheduled", "B": "refused"}
    assert run.outcome.failure is not None
    assert run.outcome.failure.startswith(NOT_POSTED + "Event B is not approved. " + ANYWAY % "13 min 58 s")
    assert "Event A was posted without a clear answer and is still Scheduled" in run.outcome.failure


def test_a_long_pause_asked_for_by_a_joint_post_leaves_nobody_approved() -> None:
    both = document(event("A"), event("B"))
    run = Run(both, answer(400, headers=AN_HOUR), both, ids=["A", "B"])
    assert (run.verbs, run.hand.slept, run.outcome.posted) == ("GET POST", [], False)
    assert run.results == {"A": "refused", "B": "refused"}
    assert run.outcome.failure == (
        "POST http://127.0.0.1:1/metadata/scheduledevents failed: the service answered 400 Bad Request. Check api_version and"
        " endpoint. " + NOT_POSTED + " ".join("Event %s is not approved. " % one + ANYWAY % "14 min" for one in "AB")
    )


def test_a_long_pause_after_a_lost_joint_post_calls_nobody_not_approved() -> None:
    both = document(event("A"), event("B"))
    run = Run(both, LOST, both, answer(400, headers=AN_HOUR), both, ids=["A", "B"])
    assert (run.posted, run.outcome.posted) == ([["A", "B"], ["A", "B"]], True)
    assert run.results == {"A": "still_scheduled", "B": "still_scheduled"}
    assert run.outcome.failure is not None
    assert "is not approved" not in run.outcome.failure
    assert run.outcome.failure.count("it may be approved all the same") == 2


@pytest.mark.parametrize("status", [400, 401, 403, 405])
def test_a_post_that_is_turned_away_is_not_repeated(status: int) -> None:
    """C-10: a policy, never retried."""
    run = Run(document(event()), answer(status), document(event()))
    assert run.posted == [["E-1"]]
    assert (run.results, run.outcome.posted) == ({"E-1": "refused"}, False)
    assert run.outcome.failure is not None
    assert "the service answered %d" % status in run.outcome.failure
    assert run.outcome.failure.endswith("Event E-1 is not approved. " + ANYWAY % "14 min")


def wire_with_bad_id(bad: str, *events: str) -> Any:
    """A service that takes every id but one, and starts what it takes at once."""
    taken: List[str] = []

    def reply(request: Request) -> RawAnswer:
        if request.method == "GET":
            return document(*[started(one) if one in taken else event(one) for one in events])
        body = (request.body or b"").decode()
        if bad in body:
            return answer(400, {"error": "unknown id"})
        taken.extend(one for one in events if one in body)
        return answer(200)

    return reply


def test_a_bad_id_among_several_does_not_spoil_the_others() -> None:
    """W-36: a 400 for several ids is tried singly."""
    run = Run(wire_with_bad_id("B", "A", "B", "C"), ids=["A", "B", "C"])
    assert run.posted == [["A", "B", "C"], ["A"], ["B"], ["C"]]
    assert run.results == {"A": "approved", "B": "refused", "C": "approved"}
    assert run.outcome.posted
    assert run.outcome.failure == (
        "POST http://127.0.0.1:1/metadata/scheduledevents failed: the service answered 400 Bad Request (unknown id). Check"
        " api_version and endpoint. Event B is not approved. " + ANYWAY % "13 min 54 s"
    )


def test_each_single_post_stands_on_a_reading_of_its_own() -> None:
    run = Run(wire_with_bad_id("B", "A", "B"), ids=["A", "B"])
    assert run.verbs == "GET POST GET POST GET POST GET"


def slow(hand: HandClock, seconds: float, *events: Any) -> Any:
    def reply(request: Request) -> RawAnswer:
        hand.passed += seconds
        return document(*events)

    return reply


def test_a_document_that_is_too_old_is_read_again_before_the_post() -> None:
    """The checks stand on a document at most two seconds old."""
    run = Run.__new__(Run)
    run.hand = HandClock()
    run.wire = Wire(slow(run.hand, 2.1, event()), document(event()), TAKEN, document(started()))
    terms = Terms.of(ready=["web_0"], unready_allowed=(), types_allowed=(), missing_allowed=True)
    run.outcome = Approval(service(run.wire, run.hand), run.hand.clock, event_ids=["E-1"], terms=terms).run(start_timeout=None)
    assert run.verbs == "GET GET POST GET"


def test_a_service_too_slow_for_a_check_is_given_up() -> None:
    hand = HandClock()
    wire = Wire(slow(hand, 3.0, event()))
    terms = Terms.of(ready=["web_0"], unready_allowed=(), types_allowed=(), missing_allowed=True)
    outcome = Approval(service(wire, hand), hand.clock, event_ids=["E-1"], terms=terms).run(start_timeout=None)
    assert outcome.failure == (
        "Refused, nothing was posted: http://127.0.0.1:1/metadata/scheduledevents takes more than 2 s to answer, too long to"
        " know that the events are still the same. Try again in a minute. Event E-1 is not approved. " + ANYWAY % "13 min 51 s"
    )
    assert (wire.posts, len(wire.requests)) == ([], 3)


def test_waiting_for_the_start_ends_with_the_start() -> None:
    run = Run(document(event()), TAKEN, document(event()), document(event()), document(started()), start_timeout=300.0)
    assert (run.results, run.outcome.failure) == ({"E-1": "approved"}, None)


def test_an_approved_event_that_never_starts_is_told_with_what_to_do() -> None:
    """W-18: approved, and Azure takes its time; the VMs must stay prepared."""
    run = Run(document(event()), TAKEN, document(event()), start_timeout=300.0)
    assert (run.results, run.outcome.posted) == ({"E-1": "still_scheduled"}, True)
    assert run.outcome.failure == (
        "Event E-1 is approved but has not started within 5 min; others on the same Azure host may have to agree."
        " Keep its VMs prepared. " + ANYWAY % "9 min"
    )


def test_an_approval_whose_effect_cannot_be_read_says_that_it_was_sent() -> None:
    run = Run(document(event()), TAKEN, answer(500))
    assert (run.results, run.outcome.posted) == ({"E-1": "still_scheduled"}, True)
    assert run.outcome.failure is not None
    assert run.outcome.failure.startswith("The approval was sent, but what came of it cannot be read: GET http://127.0.0.1:1/")


@pytest.mark.parametrize("rehearse", [False, True])
def test_a_service_that_does_not_answer_before_the_post_leaves_nothing_to_tell_but_that(rehearse: bool) -> None:
    run = Run(answer(500), rehearse=rehearse)
    assert (run.results, run.outcome.before, run.outcome.posted) == ({}, {}, False)
    assert str(run.outcome.failure).endswith("Nothing was posted. Event E-1 is not approved, and Azure does not wait for it.")


def test_a_started_event_is_not_told_of_when_a_later_reading_fails() -> None:
    run = Run(document(event("A"), started("B")), answer(429), answer(500), ids=["A", "B"])
    assert run.results == {"A": "refused", "B": "already_started"}
    assert "Event A is not approved." in str(run.outcome.failure)
    assert "Event B" not in str(run.outcome.failure)


def test_what_was_told_is_not_told_again_when_the_last_reading_fails() -> None:
    both = document(event("A"), event("B"))
    run = Run(both, answer(400), both, answer(503, headers=AN_HOUR), answer(500), ids=["A", "B"])
    assert run.results == {"A": "still_scheduled", "B": "refused"}
    assert str(run.outcome.failure).count("Event B is not approved.") == 1
