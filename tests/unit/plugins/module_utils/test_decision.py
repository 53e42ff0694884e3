# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done about an event, when, and in which words: the arithmetic of times at its borders."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Dict, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import (
    JOB_STARTUP,
    SHORTEST_IN_A_PLAYBOOK,
    SHORTEST_ON_A_HOST,
    Decision,
    Facts,
    Settings,
    approval_obstacles,
    check_policy,
    controller_clock_error,
    decide,
    decision_result,
    due_now,
    host_clock_error,
    may_give_back,
    overdue,
    policy_hash,
    still_holds,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import parse_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import Opening, parse_windows, with_zones
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import BERLIN, DAY, HOUR, utc

NB = utc("2026-11-18 10:00")
CONTROLLER = Facts(clock_error=30)
NO_WINDOWS = Settings()
# With the defaults on the controller: ready by 9:58:30, last safe start 9:53:30; without an approval 9:59:30 and 9:54:30.
READY_BY, LAST_SAFE_START = NB - 90, NB - 390
READY_BY_UNAPPROVED, LAST_SAFE_START_UNAPPROVED = NB - 30, NB - 330


def event(**fields: Any) -> Event:
    values: Dict[str, Any] = {
        "event_id": "602D9444",
        "event_type": "Reboot",
        "event_status": "Scheduled",
        "event_source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": ("web_0", "web_1"),
        "not_before": NB,
        "description": "",
        "duration_seconds": 9,
    }
    return Event(**{**values, **fields})


def by(action: str = "prepare_and_approve", **keys: Any) -> Any:
    return parse_policy([{"name": "it", "action": action, **keys}])


def decided(
    policy: Any, now: float, *, settings: Settings = NO_WINDOWS, facts: Facts = CONTROLLER, about: Optional[Event] = None
) -> Decision:
    return decide(about or event(), policy=policy, facts=facts, now=now, settings=settings)


def windows(*data: Tuple[str, str], days: Tuple[str, ...] = ("Wed",)) -> Settings:
    values = [{"days": list(days), "from": begin, "to": end, "timezone": "Europe/Berlin"} for begin, end in data]
    return Settings(windows=with_zones(parse_windows(values), {"Europe/Berlin": BERLIN}))


# The error of the clocks


@pytest.mark.parametrize(("measured", "error"), [(None, 30), (0, 30), (30, 30), (31, 31), (-45.5, 45.5)])
def test_the_controller_trusts_clocks_to_30_seconds_at_best(measured: Optional[float], error: float) -> None:
    assert controller_clock_error(measured) == error
    assert host_clock_error(measured, synchronised=False) == error
    assert host_clock_error(measured, synchronised=True) == 5


# When


def test_as_late_as_is_safe_means_the_last_safe_start() -> None:
    decision = decided(by(), NB - 7 * DAY)
    assert (decision.effective_action, decision.approves) == ("prepare_and_approve", True)
    assert (decision.times.ready_by, decision.times.last_safe_start) == (READY_BY, LAST_SAFE_START)
    assert (decision.want, decision.start_at, decision.prepare_within) == (LAST_SAFE_START, LAST_SAFE_START, 300)
    assert not decision.late
    assert decision.reason == (
        "held until Wed 2026-11-18 09:53:30 UTC: rule it, as late as is safe; last safe start Wed 2026-11-18 09:53:30 UTC"
    )


@pytest.mark.parametrize(
    ("start", "now", "want", "start_at"),
    [
        ("now", NB - 7 * DAY, NB - 7 * DAY, NB - 7 * DAY),
        ("now", LAST_SAFE_START, LAST_SAFE_START, LAST_SAFE_START),
        ({"before": "15m"}, NB - 901, NB - 900, NB - 900),
        ({"before": "15m"}, NB - 900, NB - 900, NB - 900),
        ({"before": "15m"}, NB - 899, NB - 900, NB - 899),
        ({"before": "auto"}, LAST_SAFE_START - 1, LAST_SAFE_START, LAST_SAFE_START),
        ({"before": "auto"}, LAST_SAFE_START, LAST_SAFE_START, LAST_SAFE_START),
        # Too small a time is a configuration error, and the start is the last safe one all the same.
        ({"before": 389}, NB - 900, NB - 389, LAST_SAFE_START),
    ],
)
def test_a_start_is_never_later_than_the_last_safe_one(start: Any, now: float, want: float, start_at: float) -> None:
    decision = decided(by(start=start), now)
    assert (decision.want, decision.start_at, decision.effective_action) == (want, start_at, "prepare_and_approve")
    assert (decision.late, decision.outside_window) == (False, False)


@pytest.mark.parametrize(
    ("now", "begin"),
    [(NB - HOUR, "due now"), (NB - 2 * HOUR, "held until Wed 2026-11-18 09:00 UTC")],
)
def test_the_words_say_whether_it_is_held_or_due(now: float, begin: str) -> None:
    decision = decided(by(start={"before": "1h"}), now)
    assert decision.reason == begin + ": rule it, 1 h before; last safe start Wed 2026-11-18 09:53:30 UTC"


@pytest.mark.parametrize(
    ("action", "keys", "facts", "expected"),
    [
        ("prepare_and_approve", {}, Facts(30), (300, 60, 30)),
        ("prepare_and_approve", {}, Facts(30, 0), (300, 60, 30)),
        ("prepare_and_approve", {}, Facts(30, 90), (90, 60, 30)),
        ("prepare_and_approve", {"prepare_budget": 7}, Facts(5, 90), (7, 60, 5)),
        ("prepare", {}, Facts(30), (300, 0, 30)),
        ("approve", {}, Facts(30, 90), (0, 60, 30)),
        ("ignore", {}, Facts(30), (300, 0, 30)),
    ],
)
def test_budget_reserve_and_error_of_a_decision(action: str, keys: Dict[str, Any], facts: Facts, expected: Tuple[float, ...]) -> None:
    times = decided(by(action, **keys), NB - HOUR, facts=facts).times
    assert (times.prepare_budget, times.approve_reserve, times.clock_error) == expected
    assert times.needed == sum(expected)
    assert times.ready_by == NB - expected[1] - expected[2]
    assert times.last_safe_start == NB - sum(expected)


def test_budget_and_reserve_can_be_configured() -> None:
    settings = Settings(prepare_budget=100, approve_reserve=20)
    times = decided(by(), NB - HOUR, settings=settings).times
    assert (times.prepare_budget, times.approve_reserve, times.last_safe_start) == (100, 20, NB - 150)


def test_the_settings_have_the_defaults_of_the_policy() -> None:
    assert Settings() == Settings(300, 60, 120, 60, True, ())
    assert (SHORTEST_IN_A_PLAYBOOK, SHORTEST_ON_A_HOST, JOB_STARTUP) == (60, 5, 120)


# Without NotBefore


@pytest.mark.parametrize("start", ["now", {"before": "15m"}, {"before": "auto"}])
def test_without_a_not_before_the_work_starts_at_once(start: Any) -> None:
    decision = decided(by(start=start), NB, about=event(not_before=None))
    assert (decision.start_at, decision.want, decision.effective_action, decision.late) == (NB, NB, "prepare_and_approve", False)
    assert (decision.times.ready_by, decision.times.last_safe_start, decision.prepare_within) == (None, None, 300)


def test_the_words_of_an_event_that_may_start_at_any_moment() -> None:
    assert decided(by(start="now"), NB, about=event(not_before=None)).reason == "due now: rule it, start now"
    prepared = decided(by("prepare", start="now"), NB, about=event(not_before=None))
    assert prepared.reason == "due now: rule it, start now; not approved, Azure can start at any moment"


@pytest.mark.parametrize(
    ("begin", "end", "action"),
    [
        ("10:00", "12:00", "prepare_and_approve"),
        ("11:00", "11:05", "prepare_and_approve"),
        ("11:00", "11:04", "prepare"),
        ("11:01", "12:00", "prepare"),
    ],
)
def test_without_a_not_before_only_a_window_that_is_open_now_counts(begin: str, end: str, action: str) -> None:
    decision = decided(by(start="window"), NB, about=event(not_before=None), settings=windows((begin, end)))
    assert (decision.effective_action, decision.start_at) == (action, NB)
    assert decision.want == (NB if decision.approves else None)
    assert decision.outside_window is not decision.approves


# Late


@pytest.mark.parametrize(
    ("now", "within"),
    [(LAST_SAFE_START + 0.5, 300), (LAST_SAFE_START_UNAPPROVED, 300), (LAST_SAFE_START_UNAPPROVED + 1, 299), (NB - 90, 60)],
)
def test_one_who_comes_late_prepares_in_what_is_left_and_does_not_approve(now: float, within: float) -> None:
    decision = decided(by(start="now"), now)
    assert (decision.action, decision.effective_action, decision.approves) == ("prepare_and_approve", "prepare", False)
    assert (decision.late, decision.start_at, decision.prepare_within) == (True, now, within)
    assert (decision.times.approve_reserve, decision.times.ready_by) == (0, READY_BY_UNAPPROVED)
    assert decision.times.last_safe_start == LAST_SAFE_START_UNAPPROVED
    assert decision.times.prepare_budget == 300


def test_the_words_of_one_who_comes_late() -> None:
    decision = decided(by(start="now"), NB - 150)
    assert decision.reason == "due now: rule it, start now; late, 2 min to prepare; not approved, Azure starts at Wed 2026-11-18 10:00 UTC"


@pytest.mark.parametrize(
    ("now", "settings", "facts", "refused"),
    [
        (NB - 90, NO_WINDOWS, Facts(30), False),
        (NB - 89.9, NO_WINDOWS, Facts(30), True),
        (NB + HOUR, NO_WINDOWS, Facts(30), True),
        (NB - 10, Settings(shortest_preparation=5), Facts(5), False),
        (NB - 9.9, Settings(shortest_preparation=5), Facts(5), True),
        # A short budget does not make the time short that is left.
        (NB - 95, NO_WINDOWS, Facts(30, 20), False),
    ],
)
def test_too_late_is_refused(now: float, settings: Settings, facts: Facts, refused: bool) -> None:
    """W-26: a playbook needs a minute, a host five seconds."""
    decision = decided(by(start="now"), now, settings=settings, facts=facts)
    assert decision.late
    assert (decision.refused is not None) is refused
    assert decision.effective_action == ("refuse" if refused else "prepare")
    assert (decision.start_at is None) is refused


def test_the_words_of_one_who_comes_too_late() -> None:
    decision = decided(by(start="now"), NB - 30)
    assert decision.refused == "too late, Azure starts at Wed 2026-11-18 10:00 UTC"
    assert decision.reason == "refused: too late, Azure starts at Wed 2026-11-18 10:00 UTC; rule it"
    assert decision.prepare_within is None


def test_a_preparation_alone_can_start_later_and_is_late_later() -> None:
    assert not decided(by("prepare"), LAST_SAFE_START_UNAPPROVED).late
    late = decided(by("prepare"), LAST_SAFE_START_UNAPPROVED + 1)
    assert (late.late, late.effective_action, late.prepare_within) == (True, "prepare", 299)


def test_an_approval_alone_that_is_late_is_left_to_azure() -> None:
    assert decided(by("approve"), NB - 90).effective_action == "approve"
    late = decided(by("approve"), NB - 89)
    assert (late.effective_action, late.late, late.start_at, late.want) == ("ignore", True, None, None)
    assert late.reason == "left to Azure: too late to approve, Azure starts at Wed 2026-11-18 10:00 UTC; rule it"


# Windows


def test_work_is_held_until_the_window_opens() -> None:
    """Saturday 22:00 in Berlin, for an event on Sunday morning."""
    sunday = utc("2026-11-22 02:16:30")
    decision = decided(
        by(name="disruption", start="window"),
        NB,
        about=event(not_before=sunday),
        settings=windows(("22:00", "06:00"), days=("Sat",)),
    )
    opening = Opening(utc("2026-11-21 21:00"), utc("2026-11-22 05:00"), BERLIN)
    assert (decision.start_at, decision.want, decision.opening) == (opening.begin, opening.begin, opening)
    assert decision.approves
    assert decision.reason == (
        "held until Sat 2026-11-21 22:00 Europe/Berlin: rule disruption, window; last safe start Sun 2026-11-22 03:10 Europe/Berlin"
    )


def test_work_starts_now_in_a_window_that_is_open() -> None:
    decision = decided(by(start="window"), NB - HOUR, settings=windows(("08:00", "12:00")))
    assert (decision.start_at, decision.want, decision.outside_window) == (NB - HOUR, NB - HOUR, False)
    assert decision.reason == "due now: rule it, window; last safe start Wed 2026-11-18 10:53:30 Europe/Berlin"


@pytest.mark.parametrize(
    ("begin", "end", "approves"),
    [
        ("10:53", "10:58", True),
        ("10:53", "10:57", False),
        ("10:54", "12:00", False),
        ("11:00", "12:00", False),
    ],
)
def test_a_window_counts_when_the_preparation_fits_and_starts_in_time(begin: str, end: str, approves: bool) -> None:
    decision = decided(by(start="window"), NB - 9 * HOUR, settings=windows((begin, end)))
    assert decision.approves is approves
    assert decision.outside_window is not approves
    assert (decision.opening is not None) is approves


def test_outside_of_all_windows_it_is_prepared_at_the_last_safe_start_and_not_approved() -> None:
    decision = decided(by(start="window"), NB - DAY, settings=windows(("12:00", "13:00")))
    assert (decision.effective_action, decision.outside_window, decision.late) == ("prepare", True, False)
    assert (decision.want, decision.start_at) == (LAST_SAFE_START_UNAPPROVED, LAST_SAFE_START_UNAPPROVED)
    assert (decision.times.approve_reserve, decision.prepare_within) == (0, 300)
    assert decision.reason == (
        "held until Wed 2026-11-18 09:54:30 UTC: rule it, window; no window opens in time; "
        "not approved, Azure starts at Wed 2026-11-18 10:00 UTC; last safe start Wed 2026-11-18 09:54:30 UTC"
    )


def test_a_window_at_the_last_safe_start_does_not_lie_before_it() -> None:
    last_safe_start = utc("2026-11-18 09:30")
    about = event(not_before=last_safe_start + 390)
    for begin, approves in (("10:30", False), ("10:29", True)):
        decision = decided(by(start="window"), NB - DAY, about=about, settings=windows((begin, "12:00")))
        assert decision.approves is approves


def test_late_and_outside_of_all_windows() -> None:
    settings = windows(("10:00", "12:00"))
    between = decided(by(start="window"), LAST_SAFE_START + 1, settings=settings)
    assert (between.outside_window, between.late, between.start_at) == (True, False, LAST_SAFE_START_UNAPPROVED)
    late = decided(by(start="window"), LAST_SAFE_START_UNAPPROVED + 30, settings=settings)
    assert (late.outside_window, late.late, late.prepare_within) == (True, True, 270)
    assert late.reason == (
        "due now: rule it, window; no window opens in time; late, 4 min 30 s to prepare; "
        "not approved, Azure starts at Wed 2026-11-18 10:00 UTC"
    )


def test_an_approval_alone_needs_a_window_and_no_room_in_it() -> None:
    approved = decided(by("approve", start="window"), NB - DAY, settings=windows(("10:57", "10:58")))
    assert (approved.effective_action, approved.start_at) == ("approve", utc("2026-11-18 09:57"))
    left = decided(by("approve", start="window"), NB - DAY, settings=windows(("11:57", "11:58")))
    assert (left.effective_action, left.start_at, left.want, left.outside_window) == ("ignore", None, None, True)
    assert left.reason == "left to Azure: no window opens in time, Azure starts at Wed 2026-11-18 10:00 UTC; rule it"


def test_a_preparation_alone_waits_for_its_window_too() -> None:
    decision = decided(by("prepare", start="window"), NB - DAY, settings=windows(("09:00", "12:00")))
    assert (decision.effective_action, decision.start_at) == ("prepare", utc("2026-11-18 08:00"))


def test_without_windows_or_their_data_none_is_open() -> None:
    no_data = Settings(windows=parse_windows([{"from": "00:00", "to": "24:00", "timezone": "Europe/Berlin"}]))
    for settings in (NO_WINDOWS, no_data):
        decision = decided(by(start="window"), NB - DAY, settings=settings)
        assert (decision.effective_action, decision.outside_window) == ("prepare", True)


# Nothing to start


def test_an_event_that_no_rule_matches_is_refused_by_its_type() -> None:
    decision = decided(by(), NB - HOUR, about=event(event_type="GuestImage"))
    assert (decision.rule, decision.action, decision.effective_action) == (None, "refuse", "refuse")
    assert decision.refused == "no rule matches the type 'GuestImage', Azure starts at Wed 2026-11-18 10:00 UTC"
    assert decision.reason == "refused: " + decision.refused
    assert (decision.start_at, decision.want, decision.prepare_within) == (None, None, None)
    assert decision.times.prepare_budget == 300


def test_a_rule_can_refuse() -> None:
    decision = decided(by("refuse"), NB - HOUR)
    assert (decision.rule, decision.action, decision.effective_action, decision.start_at) == ("it", "refuse", "refuse", None)
    assert decision.reason == "refused: its rule says so, Azure starts at Wed 2026-11-18 10:00 UTC; rule it"


def test_a_rule_can_leave_it_to_azure() -> None:
    decision = decided(by("ignore"), NB + HOUR)
    assert (decision.effective_action, decision.refused, decision.start_at, decision.late) == ("ignore", None, None, False)
    assert decision.reason == "left to Azure: Azure starts at Wed 2026-11-18 10:00 UTC; rule it"


@pytest.mark.parametrize("action", ["refuse", "ignore", "approve", "prepare", "prepare_and_approve"])
def test_a_started_event_is_watched_whatever_the_rules_say(action: str) -> None:
    decision = decided(by(action), NB, about=event(event_status="STARTED", not_before=None))
    assert (decision.rule, decision.action, decision.effective_action) == ("it", action, "watch")
    assert (decision.start_at, decision.refused, decision.approves) == (None, None, False)
    assert decision.reason == "watched until it is gone: Azure has started it"


def test_an_unknown_status_is_refused() -> None:
    decision = decided(by(), NB - HOUR, about=event(event_status="Paused"))
    assert (decision.effective_action, decision.start_at) == ("refuse", None)
    assert decision.reason == "refused: the status 'Paused' is unknown, Azure starts at Wed 2026-11-18 10:00 UTC; rule it"


# Approvals switched off


def test_where_approvals_are_switched_off_hosts_are_only_prepared() -> None:
    decision = decided(by(), NB - HOUR, settings=Settings(approve=False))
    assert (decision.action, decision.effective_action, decision.capped) == ("prepare_and_approve", "prepare", True)
    assert (decision.times.approve_reserve, decision.start_at) == (0, LAST_SAFE_START_UNAPPROVED)
    assert decision.reason == (
        "held until Wed 2026-11-18 09:54:30 UTC: rule it, as late as is safe; approvals are switched off; "
        "not approved, Azure starts at Wed 2026-11-18 10:00 UTC; last safe start Wed 2026-11-18 09:54:30 UTC"
    )


def test_where_approvals_are_switched_off_an_approval_alone_is_left_to_azure() -> None:
    decision = decided(by("approve"), NB - HOUR, settings=Settings(approve=False))
    assert (decision.effective_action, decision.capped, decision.start_at) == ("ignore", True, None)
    assert decision.reason == "left to Azure: approvals are switched off, Azure starts at Wed 2026-11-18 10:00 UTC; rule it"


@pytest.mark.parametrize("action", ["refuse", "ignore", "prepare"])
def test_where_nothing_would_be_approved_the_switch_changes_nothing(action: str) -> None:
    settings = Settings(approve=False)
    assert decided(by(action), NB - HOUR, settings=settings).reason == decided(by(action), NB - HOUR).reason
    assert not decided(by(action), NB - HOUR, settings=settings).capped


# Errors of the configuration


@pytest.mark.parametrize(
    ("keys", "facts", "settings", "message"),
    [
        ({"start": {"before": 390}}, Facts(30), NO_WINDOWS, None),
        (
            {"start": {"before": 389}},
            Facts(30),
            NO_WINDOWS,
            "rule it, start: 6 min 29 s before NotBefore is too late, 6 min 30 s are needed",
        ),
        (
            {"start": {"before": "7m"}},
            Facts(30, 600),
            NO_WINDOWS,
            "rule it, start: 7 min before NotBefore is too late, 11 min 30 s are needed",
        ),
        ({"start": {"before": 67}, "prepare_budget": 2}, Facts(5, 600), NO_WINDOWS, None),
        ({"start": {"before": 330}, "action": "prepare"}, Facts(30), NO_WINDOWS, None),
        (
            {"start": {"before": 329}, "action": "prepare"},
            Facts(30),
            NO_WINDOWS,
            "rule it, start: 5 min 29 s before NotBefore is too late, 5 min 30 s are needed",
        ),
        ({"start": {"before": 330}}, Facts(30), Settings(approve=False), None),
        ({"start": {"before": 90}, "action": "approve"}, Facts(30), NO_WINDOWS, None),
        (
            {"start": {"before": 89}, "action": "approve"},
            Facts(30),
            NO_WINDOWS,
            "rule it, start: 1 min 29 s before NotBefore is too late, 1 min 30 s are needed",
        ),
        ({"start": {"before": 1}, "action": "approve"}, Facts(30), Settings(approve=False), None),
        ({"start": "window"}, Facts(30), NO_WINDOWS, "rule it, start: there is no window"),
        ({"start": "window"}, Facts(30), windows(("22:00", "06:00")), None),
        ({"start": "now"}, Facts(30), NO_WINDOWS, None),
        ({"action": "refuse"}, Facts(30), NO_WINDOWS, None),
    ],
)
def test_the_check_finds_what_the_rules_alone_do_not_show(
    keys: Dict[str, Any], facts: Facts, settings: Settings, message: Optional[str]
) -> None:
    policy = by(**{"action": "prepare_and_approve", **keys})
    if message is None:
        check_policy(policy, facts=facts, settings=settings)
        return
    with pytest.raises(ConfigurationError) as caught:
        check_policy(policy, facts=facts, settings=settings)
    assert caught.value.message == message


def test_the_check_finds_a_window_without_data() -> None:
    settings = Settings(windows=parse_windows([{"from": "00:00", "to": "24:00", "timezone": name} for name in ("UTC", "Europe/Berlin")]))
    with pytest.raises(ConfigurationError) as caught:
        check_policy(POLICY, facts=CONTROLLER, settings=settings)
    assert caught.value.message == "window 2, timezone: there are no data for 'Europe/Berlin', the window can never be open"


def test_the_check_looks_at_every_rule() -> None:
    policy = parse_policy([{"name": "good", "action": "prepare"}, {"name": "bad", "action": "prepare", "start": "window"}])
    with pytest.raises(ConfigurationError, match="rule bad, start: there is no window"):
        check_policy(policy, facts=CONTROLLER, settings=NO_WINDOWS)


def test_a_start_that_turns_out_too_late_is_moved_and_named_in_the_decision() -> None:
    """The hosts of this event need longer than those known when the configuration was checked."""
    decision = decided(by(start={"before": "10m"}), NB - HOUR, facts=Facts(30, 600))
    error = "rule it, start: 10 min before NotBefore is too late, 11 min 30 s are needed"
    assert decision.configuration_error == error
    assert decision.start_at == NB - 690
    assert decision.reason == (
        "held until Wed 2026-11-18 09:48:30 UTC: rule it, 10 min before; last safe start Wed 2026-11-18 09:48:30 UTC; " + error
    )
    assert decided(by(start={"before": "12m"}), NB - HOUR, facts=Facts(30, 600)).configuration_error is None


# Kept, not made again


POLICY = by()


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"event_id": "602d9444", "resources": ("WEB_1", "web_0"), "event_status": "scheduled"}, True),
        ({"description": "other", "duration_seconds": None, "event_source": "User"}, True),
        ({"not_before": NB + 1}, False),
        ({"not_before": None}, False),
        ({"resources": ("web_0",)}, False),
        ({"resources": ("web_0", "web_1", "web_2")}, False),
        ({"event_status": "Started"}, False),
        ({"event_id": "602D9445"}, False),
    ],
)
def test_a_decision_holds_until_the_event_changes(change: Dict[str, Any], holds: bool) -> None:
    decision = decided(POLICY, NB - HOUR)
    assert still_holds(decision, event(**change), policy=POLICY, settings=NO_WINDOWS) is holds


def test_a_decision_holds_until_the_policy_changes() -> None:
    decision = decided(POLICY, NB - HOUR)
    assert decision.policy_hash == policy_hash(POLICY, NO_WINDOWS)
    assert len(decision.policy_hash) == 64
    assert still_holds(decision, event(), policy=by(), settings=Settings())
    assert not still_holds(decision, event(), policy=by(start="now"), settings=NO_WINDOWS)
    for settings in (Settings(approve=False), Settings(prepare_budget=301), windows(("22:00", "06:00"))):
        assert not still_holds(decision, event(), policy=POLICY, settings=settings)


def test_other_data_of_a_zone_are_another_policy() -> None:
    with_data = windows(("22:00", "06:00"))
    without = Settings(windows=tuple(replace(window, zone=None) for window in with_data.windows))
    assert policy_hash(POLICY, with_data) != policy_hash(POLICY, without)


# Due


@pytest.mark.parametrize(
    ("now", "times", "due"),
    [
        (LAST_SAFE_START - 601, {"wait": 600, "job_startup": 0}, False),
        (LAST_SAFE_START - 600, {"wait": 600, "job_startup": 0}, True),
        (LAST_SAFE_START - 120, {}, False),
        (LAST_SAFE_START - 119, {}, True),
        (LAST_SAFE_START - DAY - 120, {"period": DAY}, False),
        (LAST_SAFE_START - DAY - 119, {"period": DAY}, True),
        (LAST_SAFE_START - 10, {"period": 4, "job_startup": 6}, False),
        (LAST_SAFE_START - 10, {"period": 4, "job_startup": 7}, True),
        (LAST_SAFE_START, {"job_startup": 0}, True),
        (NB + DAY, {}, True),
    ],
)
def test_a_run_takes_on_what_it_can_wait_for_and_what_the_next_run_would_miss(now: float, times: Dict[str, float], due: bool) -> None:
    """W-54: a nightly job does not let an event pass that is due in the afternoon."""
    assert due_now(decided(POLICY, NB - 9 * DAY), now=now, **times) is due


def test_a_window_that_opens_after_the_next_run_is_due_now() -> None:
    decision = decided(by(start="window"), NB - DAY, settings=windows(("10:00", "12:00")))
    assert decision.start_at == utc("2026-11-18 09:00")
    assert not due_now(decision, now=NB - DAY, wait=22 * HOUR)
    assert due_now(decision, now=NB - DAY, wait=23 * HOUR)
    assert due_now(decision, now=NB - DAY, period=DAY)


def test_without_a_not_before_work_is_due_from_its_decision_on() -> None:
    decision = decided(by(start="now"), NB, about=event(not_before=None))
    assert due_now(decision, now=NB)
    assert not due_now(decision, now=NB - 1, period=DAY)


@pytest.mark.parametrize("action", ["refuse", "ignore"])
def test_what_is_not_started_is_never_due(action: str) -> None:
    assert due_now(decided(by(action), NB - HOUR), now=NB + DAY, wait=DAY) is False


# Give back or stay


@pytest.mark.parametrize(
    ("now", "committed", "given_back"),
    [(NB - 570, False, True), (NB - 569.9, False, False), (NB - DAY, True, False), (NB + 1, False, False)],
)
def test_hosts_go_back_only_with_time_to_serve_and_to_get_ready_again(now: float, committed: bool, given_back: bool) -> None:
    """W-1, W-2: G 120, B 300, V 60 and E 30 seconds, and a minute."""
    assert may_give_back(decided(POLICY, NB - DAY), now=now, committed=committed, settings=NO_WINDOWS) is given_back


def test_the_time_to_recover_counts_before_hosts_go_back() -> None:
    decision = decided(POLICY, NB - DAY)
    assert not may_give_back(decision, now=NB - 571, committed=False, settings=Settings(recover_budget=122))
    assert may_give_back(decision, now=NB - 571, committed=False, settings=Settings(recover_budget=121))


def test_nobody_is_given_back_when_azure_can_start_at_any_moment() -> None:
    decision = decided(POLICY, NB - DAY, about=event(not_before=None))
    assert not may_give_back(decision, now=-1e12, committed=False, settings=NO_WINDOWS)


# Overdue


@pytest.mark.parametrize(
    ("fields", "times", "reason"),
    [
        ({}, {"now": NB + 900}, None),
        ({}, {"now": NB + 901}, "still Scheduled 15 min 1 s after its NotBefore"),
        ({"not_before": None}, {"now": NB + DAY}, None),
        ({"event_status": "Started"}, {"now": NB + 1800, "started_at": NB}, None),
        ({"event_status": "Started"}, {"now": NB + 1801, "started_at": NB}, "Started for 30 min 1 s"),
        ({"event_status": "Started", "duration_seconds": None}, {"now": NB + 1801, "started_at": NB}, "Started for 30 min 1 s"),
        ({"event_status": "Started", "duration_seconds": 180}, {"now": NB + 1801, "started_at": NB}, "Started for 30 min 1 s"),
        ({"event_status": "Started", "duration_seconds": 181}, {"now": NB + 1810, "started_at": NB}, None),
        ({"event_status": "Started", "duration_seconds": 181}, {"now": NB + 1811, "started_at": NB}, "Started for 30 min 11 s"),
        ({"event_status": "Started"}, {"now": NB + DAY}, None),
        ({"event_status": "Started", "not_before": None}, {"now": NB + DAY}, None),
        ({"event_status": "Paused"}, {"now": NB + DAY, "started_at": NB}, None),
        ({"event_status": "Started"}, {"now": NB + 600, "gone_at": NB, "started_at": NB - DAY}, None),
        ({"event_status": "Started"}, {"now": NB + 601, "gone_at": NB}, "gone for 10 min 1 s and still not recovered"),
        ({}, {"now": NB + DAY, "gone_at": NB, "recovered": True}, None),
    ],
)
def test_when_somebody_must_look(fields: Dict[str, Any], times: Dict[str, Any], reason: Optional[str]) -> None:
    """W-18, W-59."""
    assert overdue(event(**fields), **times) == reason


# The gate


def obstacles(decision: Optional[Decision] = None, about: Optional[Event] = None, **facts: Any) -> Tuple[str, ...]:
    values: Dict[str, Any] = {"now": NB - HOUR, "document_age": 0, "committed": ["web_0", "WEB_1"], "clock_difference": 0}
    return approval_obstacles(decision or decided(POLICY, NB - HOUR), about or event(), **{**values, **facts})


def test_an_event_may_be_approved_when_nothing_stands_against_it() -> None:
    assert obstacles() == ()
    assert obstacles(about=event(event_id="602d9444", resources=("web_1", "WEB_0"), event_type="REBOOT")) == ()
    assert obstacles(committed=["web_0"], allow_unmanaged=["web_1"]) == ()


@pytest.mark.parametrize(
    ("facts", "reasons"),
    [
        ({"document_age": 2}, ()),
        ({"document_age": 2.1}, ("the document is not fresh: read it again",)),
        ({"document_age": -0.1}, ("the document is not fresh: read it again",)),
        ({"document_age": float("nan")}, ("the document is not fresh: read it again",)),
        ({"clock_difference": 300}, ()),
        ({"clock_difference": -300}, ()),
        ({"clock_difference": 300.1}, ("the clocks differ by more than 5 min",)),
        ({"clock_difference": -301}, ("the clocks differ by more than 5 min",)),
        ({"clock_difference": float("nan")}, ("the clocks differ by more than 5 min",)),
        ({"clock_difference": None}, ("the difference of the clocks is not known",)),
        ({"committed": []}, ("not committed: web_0, web_1",)),
        ({"committed": ["web_1", "web_00"]}, ("not committed: web_0",)),
        ({"about": event(event_status="Started")}, ("its status is 'Started', not Scheduled",)),
        ({"about": event(event_status="Paused")}, ("its status is 'Paused', not Scheduled",)),
        ({"about": event(event_id="other")}, ("the decision is for another event, '602D9444'",)),
        ({"about": event(event_type="Terminate")}, ("its type was 'Reboot' and is now 'Terminate'",)),
        ({"about": event(not_before=NB + 1)}, ("its NotBefore has changed since the decision",)),
        ({"about": event(resources=("web_0",))}, ("its Resources have changed since the decision",)),
        (
            {"about": event(resources=("web_0", "web_1", "web_2"))},
            ("its Resources have changed since the decision", "not committed: web_2"),
        ),
        ({"about": event(resources=())}, ("its Resources have changed since the decision", "it names no VM")),
    ],
)
def test_what_stands_against_an_approval(facts: Dict[str, Any], reasons: Tuple[str, ...]) -> None:
    """W-10, W-11, W-12, W-34."""
    assert obstacles(**facts) == reasons


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("prepare", "it is decided to prepare, not to approve"),
        ("ignore", "it is decided to ignore, not to approve"),
        ("refuse", "it is decided to refuse, not to approve"),
    ],
)
def test_what_was_not_decided_is_not_approved(action: str, reason: str) -> None:
    assert obstacles(decided(by(action), NB - HOUR)) == (reason,)


def test_an_approval_alone_is_an_approval() -> None:
    assert obstacles(decided(by("approve"), NB - HOUR)) == ()


def test_an_approval_does_not_leave_its_window() -> None:
    decision = decided(by(start="window"), NB - DAY, settings=windows(("09:00", "10:30")))
    opens, closes = utc("2026-11-18 08:00"), utc("2026-11-18 09:30")
    closed = ("the window is open only from Wed 2026-11-18 09:00 Europe/Berlin to Wed 2026-11-18 10:30 Europe/Berlin",)
    assert [obstacles(decision, now=now) for now in (opens - 1, opens, closes, closes + 1)] == [closed, (), (), closed]


def test_all_obstacles_are_named_at_once() -> None:
    reasons = obstacles(
        decided(by("ignore"), NB - HOUR), event(event_status="Started"), document_age=3, committed=[], clock_difference=None
    )
    assert reasons == (
        "it is decided to ignore, not to approve",
        "its status is 'Started', not Scheduled",
        "not committed: web_0, web_1",
        "the document is not fresh: read it again",
        "the difference of the clocks is not known",
    )


# In plain types


def test_a_decision_in_plain_types() -> None:
    decision = decided(by(start="window", name="night"), NB - DAY, settings=windows(("09:00", "10:30")))
    result = decision_result(decision)
    assert result == {
        "event_id": "602D9444",
        "event_type": "Reboot",
        "event_status": "Scheduled",
        "resources": ["web_0", "web_1"],
        "rule": "night",
        "action": "prepare_and_approve",
        "effective_action": "prepare_and_approve",
        "reason": decision.reason,
        "refused": None,
        "configuration_error": None,
        "capped": False,
        "late": False,
        "outside_window": False,
        "decided_at": "2026-11-17T10:00:00Z",
        "want": "2026-11-18T08:00:00Z",
        "start_at": "2026-11-18T08:00:00Z",
        "last_safe_start": "2026-11-18T09:53:30Z",
        "ready_by": "2026-11-18T09:58:30Z",
        "not_before": "2026-11-18T10:00:00Z",
        "window_opens": "2026-11-18T08:00:00Z",
        "window_closes": "2026-11-18T09:30:00Z",
        "prepare_within": 300,
        "prepare_budget": 300,
        "approve_reserve": 60,
        "clock_error": 30,
        "policy_hash": decision.policy_hash,
    }
    assert json.loads(json.dumps(result)) == result


def test_what_there_is_not_is_null_in_plain_types() -> None:
    result = decision_result(decided(by("ignore"), NB, about=event(not_before=None)))
    nothing = {key for key, value in result.items() if value is None}
    assert nothing == {
        "refused",
        "configuration_error",
        "want",
        "start_at",
        "last_safe_start",
        "ready_by",
        "not_before",
        "window_opens",
        "window_closes",
        "prepare_within",
    }


@pytest.mark.parametrize(
    ("not_before", "budget", "last_safe_start"),
    [
        ("0001-01-01T00:00:00Z", 300, "0001-01-01T00:00:00Z"),
        ("2026-11-18T10:00:00Z", 1e15, "0001-01-01T00:00:00Z"),
    ],
)
def test_times_before_all_calendars_are_cut(not_before: str, budget: float, last_safe_start: str) -> None:
    instant = NB if not_before.startswith("2026") else -62135596800
    decision = decided(by("prepare"), NB - HOUR, about=event(not_before=instant), facts=Facts(30, budget))
    result = decision_result(decision)
    assert (result["not_before"], result["last_safe_start"]) == (not_before, last_safe_start)


def test_times_after_all_calendars_are_cut() -> None:
    decision = replace(decided(POLICY, NB - HOUR), want=1e15)
    assert decision_result(decision)["want"] == "9999-12-31T23:59:59Z"
