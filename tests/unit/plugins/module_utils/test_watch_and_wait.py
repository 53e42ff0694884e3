# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any, List, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import parse_document
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import DocumentError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import NoAnswer
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import Reading
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._wait import Ended, Wait
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._watch import Sighting, Watch, say_start, settle, sighting_result
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.fakes import (
    NOW,
    HandClock,
    Wire,
    answer,
    document,
    event,
    service,
    started,
)


def reading(at: float, *events: Any) -> Reading:
    return Reading(parse_document(document(*events).body, underscored=False), NOW + at, at)


def only(watch: Watch) -> Sighting:
    (sighting,) = watch.sightings
    return sighting


def watched(*readings: Reading) -> Sighting:
    watch = Watch(["E-1"])
    for one in readings:
        watch.observe(one)
    return only(watch)


def test_an_event_that_is_there_has_its_status_as_state() -> None:
    assert watched(reading(0, event())).state == "scheduled"
    assert watched(reading(0, event()), reading(1, started())).state == "started"


def test_ids_are_compared_without_case_and_asked_for_once() -> None:
    """C-18: upper case in real documents, lower case in the documentation."""
    watch = Watch(["e-1", "E-1"])
    watch.observe(reading(0, event("E-1")))
    assert [(sighting.event_id, sighting.state) for sighting in watch.sightings] == [("e-1", "scheduled")]


def test_one_answer_without_the_event_proves_nothing() -> None:
    """C-15, W-32: an answer may be empty for a moment."""
    sighting = watched(reading(0, event()), reading(5))
    assert (sighting.state, sighting.unsure, sighting.over, sighting.began) == ("scheduled", True, False, False)


@pytest.mark.parametrize(("second", "over"), [(14.9, False), (15.0, True), (3600.0, True)])
def test_gone_means_two_answers_ten_seconds_apart_without_it(second: float, over: bool) -> None:
    """C-15, C-21: and the hosts of a scope may see different answers."""
    sighting = watched(reading(0, event()), reading(5), reading(second))
    assert (sighting.over, sighting.unsure) == (over, not over)
    assert sighting.state == ("gone" if over else "scheduled")


def test_an_event_that_comes_back_in_between_is_there() -> None:
    """C-15: listed again after a gap."""
    sighting = watched(reading(0, event()), reading(5), reading(10, event()), reading(16))
    assert (sighting.state, sighting.missing_since) == ("scheduled", 16)


def test_an_event_that_comes_back_after_it_was_gone_is_there_again() -> None:
    """C-15, W-15: the same id returns."""
    sighting = watched(reading(0, event()), reading(5), reading(15), reading(60, event()))
    assert (sighting.state, sighting.over) == ("scheduled", False)


def test_gone_stays_gone() -> None:
    assert watched(reading(0, event()), reading(5), reading(15), reading(16)).state == "gone"


def test_an_id_that_was_never_seen_is_absent() -> None:
    """W-56: a mistyped id."""
    assert watched(reading(0), reading(9.9)).unsure
    sighting = watched(reading(0), reading(10))
    assert (sighting.state, sighting.over, sighting.started_seen) == ("absent", True, False)


def test_started_is_remembered_even_when_the_document_takes_it_back() -> None:
    """C-15: an event never goes back; if one does, it had started all the same."""
    sighting = watched(reading(0, started()), reading(5, event()))
    assert (sighting.state, sighting.started_seen, sighting.began) == ("scheduled", True, True)


def test_the_times_of_sight_are_those_of_the_answers_that_had_it() -> None:
    sighting = watched(reading(0), reading(3, event()), reading(8, event()), reading(9))
    assert (sighting.first_seen, sighting.last_seen) == (NOW + 3, NOW + 8)


def test_a_sighting_becomes_a_result() -> None:
    result = sighting_result(watched(reading(0, event())), now=NOW + 1)
    assert result["event"]["seconds_to_not_before"] == 839
    assert {key: value for key, value in result.items() if key != "event"} == {
        "event_id": "E-1",
        "state": "scheduled",
        "started_seen": False,
        "first_seen": "2026-11-18T09:46:00Z",
        "last_seen": "2026-11-18T09:46:00Z",
    }
    assert sighting_result(watched(), now=NOW) == {
        "event_id": "E-1",
        "state": "absent",
        "started_seen": False,
        "first_seen": None,
        "last_seen": None,
        "event": None,
    }


@pytest.mark.parametrize(
    ("not_before", "said"),
    [
        ("Wed, 18 Nov 2026 10:00:00 GMT", "Azure starts it anyway at 2026-11-18T10:00:00Z (in 14 min) or shortly after."),
        ("Wed, 18 Nov 2026 09:46:00 GMT", "Azure starts it anyway at any moment: its NotBefore was 0 s ago."),
        ("Wed, 18 Nov 2026 09:44:00 GMT", "Azure starts it anyway at any moment: its NotBefore was 2 min ago."),
        ("", "Azure starts it at a time that it does not announce."),
    ],
)
def test_what_azure_does_anyway_is_said_with_its_time(not_before: str, said: str) -> None:
    """C-26: never approved, it starts at NotBefore or within a minute or two after it."""
    sighting = watched(reading(0, event(NotBefore=not_before)))
    assert sighting.event is not None
    assert say_start(sighting.event, NOW) == said


def test_settling_takes_one_look_when_everything_is_there() -> None:
    hand, wire = HandClock(), Wire(document(event()))
    settle(service(wire, hand), hand.clock, Watch(["E-1"]))
    assert (len(wire.requests), hand.slept) == (1, [])


def test_settling_takes_a_second_look_when_something_is_missing() -> None:
    hand, wire = HandClock(), Wire(document())
    watch = Watch(["E-1"])
    settle(service(wire, hand), hand.clock, watch)
    assert (len(wire.requests), hand.slept, only(watch).state) == (2, [10.0], "absent")


def test_events_that_end_one_after_another_contradict_nobody() -> None:
    hand = HandClock()
    names = ["A", "B", "C", "D", "E"]
    wire = Wire(*[document(*[event(name) for name in names[gone:]]) for gone in range(1, 6)], document())
    watch = Watch(names)
    settle(service(wire, hand), hand.clock, watch)
    assert [sighting.over for sighting in watch.sightings] == [True] * 5


def test_answers_that_never_agree_are_given_up() -> None:
    """C-21: answers within a scope may differ; nothing may be built on these."""
    hand = HandClock()
    wire = Wire(*[document(event("AB"[number % 2])) for number in range(20)])
    with pytest.raises(DocumentError) as caught:
        settle(service(wire, hand), hand.clock, Watch(["A", "B"]))
    assert str(caught.value) == (
        "The answers of http://127.0.0.1:1/metadata/scheduledevents contradict each other: events come and go in them."
        " Try again in a minute."
    )
    assert len(wire.requests) == 5


# The wait itself.


def wait(
    *replies: Any,
    until: str = "gone",
    wait_timeout: float = 3600.0,
    poll_interval: float = 5.0,
    absent_allowed: bool = False,
    event_ids: Optional[List[str]] = None,
    hand: Optional[HandClock] = None,
) -> Ended:
    hand = hand or HandClock()
    waiting = Wait(tuple(event_ids or ["E-1"]), until, wait_timeout, poll_interval, absent_allowed)
    return waiting.run(service(Wire(*replies), hand), hand.clock)


def states(ended: Ended) -> List[Any]:
    return [(found["state"], found["started_seen"]) for found in ended.events]


def test_a_wait_follows_an_event_to_its_end() -> None:
    """C-15, C-27: recover only when it is gone."""
    ended = wait(document(event()), document(started()), document(started()), document())
    assert states(ended) == [("gone", True)]
    assert (ended.failure, ended.waited_seconds) == (None, 25)


def test_a_cancelled_event_is_gone_without_having_been_seen_started() -> None:
    """C-15: a cancelled event goes from Scheduled to gone."""
    assert states(wait(document(event()), document())) == [("gone", False)]


def test_one_empty_answer_does_not_end_a_wait() -> None:
    """W-32: two answers, ten seconds apart."""
    ended = wait(document(event()), document(), document(started()), document())
    assert states(ended) == [("gone", True)]


def test_a_wait_for_the_start_ends_with_the_start() -> None:
    ended = wait(document(event()), document(started()), until="started")
    assert (states(ended), ended.waited_seconds) == ([("started", True)], 5)


def test_a_wait_for_the_start_ends_when_the_event_is_cancelled() -> None:
    assert states(wait(document(event()), document(), until="started")) == [("gone", False)]


def test_a_wait_goes_on_until_the_last_event() -> None:
    ended = wait(document(event("A"), event("B")), document(event("B")), document(event("B")), document(event("B")), document(),
                 event_ids=["A", "B"])  # fmt: skip
    assert states(ended) == [("gone", False), ("gone", False)]


@pytest.mark.parametrize(
    "trouble", [answer(500), answer(429), answer(410), answer(200, b"<html>"), answer(302), NoAnswer("the connection was reset")]
)
def test_errors_that_may_pass_are_borne(trouble: Any) -> None:
    """C-5, C-10: neither an error nor a page of a proxy is an empty document."""
    ended = wait(document(event()), *[trouble] * 30, document(started()), document())
    assert (states(ended), ended.failure) == ([("gone", True)], None)


@pytest.mark.parametrize("status", [400, 401, 403, 405])
def test_errors_that_cannot_pass_end_the_wait_with_what_was_seen(status: int) -> None:
    """C-10: never retried."""
    ended = wait(document(event()), answer(status))
    assert (states(ended), ended.waited_seconds) == ([("scheduled", False)], 5)
    assert ended.failure is not None
    assert ended.failure.startswith(
        "Waited 5 s for events to be gone. Event E-1 (Reboot of web_0) was still Scheduled when last seen, at 2026-11-18T09:46:00Z."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 55 s) or shortly after. The last look"
        " failed: GET http://127.0.0.1:1/metadata/scheduledevents"
        " failed: the service answered %d " % status
    )


def test_a_service_that_asks_for_a_pause_gets_it() -> None:
    """C-10: Retry-After is honoured between looks as well."""
    hand = HandClock()
    wait(document(event()), answer(429, headers={"retry-after": "120"}), document(started()), until="started", hand=hand)
    assert hand.slept == [5.0, 120.0]


def test_an_id_that_was_never_seen_fails_after_the_second_look() -> None:
    """W-56: a mistyped id must not wait for an hour, nor pass for gone."""
    ended = wait(document(event("E-2")))
    assert states(ended) == [("absent", False)]
    assert ended.waited_seconds == 10
    assert ended.failure == (
        "No document has E-1: the event is long over, or the id is mistyped."
        " Look with azure_scheduled_events_info; if that is all right, set allow_absent."
    )


def test_an_absent_id_is_accepted_when_allowed() -> None:
    assert wait(document(), absent_allowed=True).failure is None


def test_an_absent_id_fails_even_while_others_are_waited_for() -> None:
    ended = wait(document(event("A")), event_ids=["A", "B"])
    assert states(ended) == [("scheduled", False), ("absent", False)]
    assert ended.failure == (
        "No document has B: the event is long over, or the id is mistyped. Look with azure_scheduled_events_info; if that is all"
        " right, set allow_absent. Event A (Reboot of web_0) was still Scheduled when last seen, at 2026-11-18T09:46:10Z."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 50 s) or shortly after."
    )


@pytest.mark.parametrize(("until", "told"), [("started", False), ("gone", True)])
def test_with_an_absent_id_only_what_is_still_waited_for_is_told(until: str, told: bool) -> None:
    ended = wait(document(started("A")), event_ids=["A", "B"], until=until)
    assert str(ended.failure).endswith(
        " Event A (Reboot of web_0) was Started when last seen, at 2026-11-18T09:46:10Z (Started since 2026-11-18T09:46:00Z or earlier)."
        if told
        else "set allow_absent."
    )


def test_a_wait_that_is_too_short_says_how_it_last_saw_the_event() -> None:
    ended = wait(document(event(Resources=["web_3", "web_4"])), wait_timeout=60.0)
    assert ended.waited_seconds == 60
    assert ended.failure == (
        "Waited 1 min for events to be gone. Event E-1 (Reboot of web_3, web_4) was still Scheduled when"
        " last seen, at 2026-11-18T09:47:00Z."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min) or shortly after."
    )


def test_a_started_event_needs_no_word_about_its_start() -> None:
    """W-19, W-59: a freeze may stay Started for minutes, a stuck one for hours."""
    ended = wait(document(event()), document(started()), wait_timeout=60.0)
    assert ended.failure == (
        "Waited 1 min for events to be gone. Event E-1 (Reboot of web_0) was Started when last seen, at 2026-11-18T09:47:00Z"
        " (Started since 2026-11-18T09:46:05Z or earlier)."
    )


def test_a_status_that_nobody_documents_is_told_as_it_is() -> None:
    ended = wait(document(event(EventStatus="Postponed")), wait_timeout=60.0)
    assert "was still Postponed when last seen, at 2026-11-18T09:47:00Z. Azure starts it anyway" in str(ended.failure)


def test_an_event_that_went_back_is_told_as_it_is_now() -> None:
    """C-15: it never does; if it did, nothing would be said of a start that counts no more."""
    ended = wait(document(started()), document(event()), wait_timeout=60.0)
    assert "was still Scheduled when last seen, at 2026-11-18T09:47:00Z. Azure starts it anyway" in str(ended.failure)


def test_the_end_of_the_time_between_the_two_looks_says_so() -> None:
    ended = wait(document(event()), document(), wait_timeout=8.0)
    assert ended.failure == (
        "Waited 8 s for events to be gone. Event E-1 (Reboot of web_0) was still Scheduled when last seen, at 2026-11-18T09:46:00Z,"
        " and is missing in the last answer, which alone proves nothing."
    )


def test_a_service_that_never_answers_is_named_at_the_end() -> None:
    ended = wait(answer(503), wait_timeout=8.0)
    assert ended.failure == (
        "Waited 8 s for events to be gone. Event E-1 was not seen in any answer. The last look failed:"
        " GET http://127.0.0.1:1/metadata/scheduledevents failed: the service answered 503 Service Unavailable."
        " The metadata service is in trouble: try again in a few minutes, or raise retry_for."
    )


def test_only_what_is_still_waited_for_is_named() -> None:
    ended = wait(document(started("A"), event("B")), until="started", wait_timeout=5.0, event_ids=["A", "B"])
    assert ended.failure is not None
    assert "A (" not in ended.failure
    assert "Event B (Reboot of web_0) was still Scheduled" in ended.failure


def test_a_wait_of_days_asks_no_oftener_than_told() -> None:
    """C-8: once a second at most; seven days are waited through without a sleep in the test."""
    hand = HandClock()
    ended = wait(document(event()), wait_timeout=7 * 86400.0, poll_interval=60.0, hand=hand)
    assert ended.waited_seconds == 7 * 86400
    assert len(hand.slept) == 7 * 24 * 60


def test_a_long_interval_does_not_lengthen_the_second_look() -> None:
    assert wait(document(event()), document(), poll_interval=600.0).waited_seconds == 610


def test_no_look_outlasts_the_wait() -> None:
    """C-11, mistake 18: the time-out of a request gives way to what is left of the wait."""
    hand, wire = HandClock(), Wire(document(event()))
    Wait(("E-1",), "gone", 7.0, 5.0, False).run(service(wire, hand), hand.clock)
    assert wire.patience == [7.0, 2.0, 1.0]


def test_no_ids_are_waited_for_without_a_question() -> None:
    hand, wire = HandClock(), Wire(answer(500))
    assert Wait((), "gone", 7.0, 5.0, False).run(service(wire, hand), hand.clock) == Ended([], 0)
    assert Wait((), "gone", 7.0, 5.0, False).look(service(wire, hand), hand.clock) == Ended([], 0)
    assert wire.requests == []


def test_a_look_tells_the_state_without_waiting_for_another() -> None:
    hand, wire = HandClock(), Wire(document(event()))
    ended = Wait(("E-1",), "gone", 3600.0, 5.0, False).look(service(wire, hand), hand.clock)
    assert (states(ended), ended.failure, len(wire.requests)) == ([("scheduled", False)], None, 1)


def test_a_look_refuses_an_absent_id_as_the_wait_would() -> None:
    hand = HandClock()
    ended = Wait(("E-1",), "gone", 3600.0, 5.0, False).look(service(Wire(document()), hand), hand.clock)
    assert ended.failure is not None
    assert ended.failure.startswith("No document has E-1")
