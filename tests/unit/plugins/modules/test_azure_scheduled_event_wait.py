# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When azure_scheduled_event_wait ends, and what it has seen until then. Nobody waits here: the clock is moved by hand."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import FIRST, NEVER, SECOND, Result, Stage


def _states(result: Result) -> List[Tuple[str, bool]]:
    return [(entry["state"], entry["started_seen"]) for entry in result["events"]]


# --- until gone -------------------------------------------------------------------------------------------------------


def test_an_event_is_followed_from_its_announcement_to_its_end(stage: Stage) -> None:
    stage.reboot("web_0", runs_for=30)
    result = stage.wait(FIRST)
    assert not result.failed
    assert not result.changed
    assert result["events"][0] == {
        "event_id": FIRST,
        "state": "gone",
        "started_seen": True,
        "first_seen": "2026-11-18T09:46:00Z",
        "last_seen": "2026-11-18T10:00:25Z",
        "event": {
            "event_id": FIRST,
            "event_type": "Reboot",
            "event_status": "Started",
            "event_source": "Platform",
            "resource_type": "VirtualMachine",
            "resources": ["web_0"],
            "not_before": None,
            "seconds_to_not_before": None,
            "description": "The host of this virtual machine is being serviced; the virtual machine is restarted.",
            "duration_seconds": 9,
            "affects_this_vm": None,
        },
    }
    # 840 s to the start, 30 s of it, and 10 s to be sure.
    assert result["waited_seconds"] == 880
    assert set(stage.hands.slept) == {5.0}
    assert set(stage.requests()) == {"GET"}


def test_gone_takes_two_answers_ten_seconds_apart(stage: Stage) -> None:
    """C-15"""
    stage.reboot("web_0", runs_for=None)
    stage.simulator.start(FIRST)
    stage.hands.during_sleep(1, lambda: stage.simulator.complete(FIRST))
    result = stage.wait(FIRST, poll_interval="1m")
    assert _states(result) == [("gone", True)]
    assert stage.hands.slept == [60.0, 10.0]


def test_many_looks_within_the_ten_seconds_prove_nothing(stage: Stage) -> None:
    stage.reboot("web_0", runs_for=None)
    stage.simulator.start(FIRST)
    stage.hands.during_sleep(1, lambda: stage.simulator.complete(FIRST))
    assert stage.wait(FIRST, poll_interval="1s")["waited_seconds"] == 11


@pytest.mark.parametrize("fault", ["empty", "drop_event", "late"])
def test_one_answer_without_the_event_is_not_the_end(stage: Stage, fault: str) -> None:
    """C-15, C-21: hosts may see different answers, or late ones."""
    stage.hands.advance(60)
    stage.reboot("web_0", runs_for=30, notice=60)
    options: Dict[str, Any] = {"late": {"seconds": 120}}.get(fault, {})
    for number in (2, 5, 9):
        stage.hands.during_sleep(number, lambda: stage.simulator.fault(fault, **options))
    result = stage.wait(FIRST)
    assert _states(result) == [("gone", True)]
    assert result["waited_seconds"] == 100


def test_an_id_that_returns_is_there_again(stage: Stage) -> None:
    """C-15, open: listed again after a gap."""
    stage.reboot("web_0", runs_for=10)
    stage.simulator.start(FIRST)
    stage.hands.during_sleep(3, lambda: stage.simulator.relist(FIRST, notice=60))
    result = stage.wait(FIRST)
    assert _states(result) == [("gone", True)]
    assert result["events"][0]["last_seen"] == "2026-11-18T09:47:15Z"
    assert result["waited_seconds"] == 90


def test_completed_and_cancelled_can_be_told_apart(stage: Stage) -> None:
    """C-15: from Scheduled to gone it was cancelled, or over between two looks."""
    stage.reboot("web_0")
    stage.reboot("web_1", event_id=SECOND, runs_for=20)
    stage.simulator.start(SECOND)
    stage.hands.during_sleep(1, lambda: stage.simulator.cancel(FIRST))
    assert _states(stage.wait(FIRST, SECOND)) == [("gone", False), ("gone", True)]


def test_all_ids_must_be_gone(stage: Stage) -> None:
    stage.reboot("web_0", notice=30, runs_for=10)
    stage.reboot("web_1", notice=300, runs_for=10, event_id=SECOND)
    result = stage.wait(FIRST.lower(), SECOND)
    assert _states(result) == [("gone", True), ("gone", True)]
    assert [entry["event_id"] for entry in result["events"]] == [FIRST.lower(), SECOND]
    assert result["waited_seconds"] == 320


def test_days_of_waiting_are_borne(stage: Stage) -> None:
    """C-19: degraded hardware is announced up to seven days ahead. The day without a call never comes, since each look is one."""
    stage.reboot("web_0", notice=7 * 86400, runs_for=60)
    result = stage.wait(FIRST, wait_timeout="8d", poll_interval="1h")
    assert _states(result)[0][0] == "gone"
    assert result["waited_seconds"] >= 7 * 86400


# --- until started ----------------------------------------------------------------------------------------------------


def test_until_started_ends_with_the_start(stage: Stage) -> None:
    stage.reboot("web_0", runs_for=None)
    result = stage.wait(FIRST, until="started")
    assert not result.failed
    assert _states(result) == [("started", True)]
    assert result["waited_seconds"] == 840


def test_until_started_ends_at_once_where_it_has_started(stage: Stage) -> None:
    stage.simulator.fail_hardware("web_0", event_id=FIRST)
    assert _states(stage.wait(FIRST, until="started")) == [("started", True)]
    assert stage.hands.slept == []


def test_until_started_is_content_with_gone(stage: Stage) -> None:
    """It was over between two looks, or cancelled: it will not start any more."""
    stage.reboot("web_0")
    stage.hands.during_sleep(1, lambda: stage.simulator.cancel(FIRST))
    result = stage.wait(FIRST, until="started")
    assert not result.failed
    assert _states(result) == [("gone", False)]


def test_one_answer_without_it_is_no_start(stage: Stage) -> None:
    stage.reboot("web_0", notice=30, runs_for=None)
    stage.hands.during_sleep(1, lambda: stage.simulator.fault("empty"))
    result = stage.wait(FIRST, until="started")
    assert _states(result) == [("started", True)]
    assert result["waited_seconds"] == 30


# --- absent -----------------------------------------------------------------------------------------------------------


def test_an_id_that_was_never_seen_is_absent_and_fails_after_two_looks(stage: Stage) -> None:
    stage.reboot("web_0")
    result = stage.wait(NEVER, FIRST, poll_interval="1m")
    assert result.failed
    assert _states(result) == [("absent", False), ("scheduled", False)]
    assert result["waited_seconds"] == 10


@pytest.mark.parametrize("until", ["started", "gone"])
def test_an_absent_id_can_be_allowed(stage: Stage, until: str) -> None:
    stage.reboot("web_0", notice=30, runs_for=10)
    result = stage.wait(NEVER, FIRST, until=until, allow_absent=True)
    assert not result.failed
    assert result["events"][0] == {
        "event_id": NEVER,
        "state": "absent",
        "started_seen": False,
        "first_seen": None,
        "last_seen": None,
        "event": None,
    }


def test_an_id_that_comes_into_sight_late_is_not_absent(stage: Stage) -> None:
    """C-7: events can take minutes after the feature was switched on; ten seconds are given."""
    stage.reboot("web_0", announce_in=8, notice=10, runs_for=10)
    assert _states(stage.wait(FIRST)) == [("gone", True)]


def test_nothing_is_asked_when_there_is_nothing_to_wait_for(stage: Stage) -> None:
    result = stage.wait()
    assert (result.failed, result["events"], result["waited_seconds"]) == (False, [], 0)
    assert stage.requests() == []


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("status", {"status": 404}),
        ("status", {"status": 410}),
        ("status", {"status": 429}),
        ("status", {"status": 500}),
        ("html", {}),
        ("half_json", {}),
        ("malformed_event", {}),
        ("truncate", {}),
        ("reset", {}),
        ("close", {}),
    ],
)
def test_what_may_pass_is_borne(stage: Stage, kind: str, options: Dict[str, Any]) -> None:
    stage.reboot("web_0", notice=60, runs_for=30)
    stage.simulator.fault(kind, times=3, **options)
    stage.hands.during_sleep(8, lambda: stage.simulator.fault(kind, times=3, **options))
    assert _states(stage.wait(FIRST)) == [("gone", True)]


def test_an_error_between_the_two_answers_does_not_make_it_gone(stage: Stage) -> None:
    stage.reboot("web_0", runs_for=None)
    stage.simulator.start(FIRST)
    stage.hands.during_sleep(1, lambda: stage.simulator.fault("empty"))
    stage.hands.during_sleep(2, lambda: stage.simulator.fault("status", status=500, times=4))
    result = stage.wait(FIRST, wait_timeout="1m")
    assert result.failed
    assert _states(result) == [("started", True)]


@pytest.mark.parametrize("status", [400, 401, 403, 405])
def test_what_cannot_pass_ends_the_waiting(stage: Stage, status: int) -> None:
    """C-10"""
    stage.reboot("web_0")
    stage.hands.during_sleep(2, lambda: stage.simulator.fault("status", status=status, times=None))
    result = stage.wait(FIRST)
    assert result.failed
    assert "The last look failed: GET %s failed: the service answered %d " % (stage.url, status) in result.message
    assert _states(result) == [("scheduled", False)]
    assert len(stage.hands.slept) == 2


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wait_timeout", "looks"), [("0", 1), ("1s", 2), ("12s", 4), ("15s", 4)])
def test_the_last_look_is_at_the_end_of_the_time(stage: Stage, wait_timeout: str, looks: int) -> None:
    stage.reboot("web_0")
    result = stage.wait(FIRST, wait_timeout=wait_timeout)
    assert result.failed
    assert _states(result) == [("scheduled", False)]
    assert len(stage.requests()) == looks


@pytest.mark.parametrize("retry_for", ["0", "90s", "1h"])
def test_retries_may_not_outlast_the_waiting(stage: Stage, retry_for: str) -> None:
    """Two time-outs that contradict each other: the one of the whole task wins."""
    stage.simulator.fault("status", status=503, times=None)
    result = stage.wait(FIRST, wait_timeout="20s", retry_for=retry_for, timeout="2h")
    assert result.failed
    assert sum(stage.hands.slept) == pytest.approx(20)


def test_a_request_may_not_outlast_the_waiting(stage: Stage) -> None:
    """In real time: the service hangs, and the request has two hours, but the task has one second."""
    stage.simulator.fault("hang", times=None)
    stage.slow(1)
    result = stage.wait(FIRST, wait_timeout="1s", timeout="2h")
    assert result.failed
    assert "no answer within 1 s" in result.message


def test_a_clock_that_is_set_does_not_change_how_long_is_waited(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is measured with the monotonic clock; a correction of the wall clock in between does not count."""
    from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _module
    from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock

    hands = stage.hands.clock()

    def corrected() -> float:
        return hands.wall() - (86400 if len(stage.hands.slept) > 3 else 0)

    monkeypatch.setattr(_module, "Clock", lambda: Clock(wall=corrected, monotonic=hands.monotonic, sleep=hands.sleep))
    stage.reboot("web_0", notice=60, runs_for=30)
    result = stage.wait(FIRST, wait_timeout="5m")
    assert not result.failed
    assert result["waited_seconds"] == 100


# --- check mode -------------------------------------------------------------------------------------------------------


def test_check_mode_tells_how_things_stand_without_waiting(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.simulator.fail_hardware("web_1", event_id=SECOND)
    result = stage.wait(FIRST, SECOND, check=True)
    assert not result.failed
    assert _states(result) == [("scheduled", False), ("started", True)]
    assert stage.hands.slept == []


def test_check_mode_takes_the_ten_seconds_that_make_an_id_absent(stage: Stage) -> None:
    result = stage.wait(NEVER, check=True, allow_absent=True)
    assert not result.failed
    assert _states(result) == [("absent", False)]
    assert result["waited_seconds"] == 10
