# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run does about one event, when, and in which words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Facts
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import ANSWER
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._verdicts import (
    HELD,
    LEFT,
    PLACES,
    REFUSED,
    RUNNING,
    WAVES,
    Facing,
    Verdict,
    after_its_window,
    azure_starts,
    beyond_this_run,
    facts_of,
    host_obstacles,
    is_queued,
    next_run_at,
    next_run_is_in_time,
    outage,
    pulled_forward,
    rule_starts_by_not_before,
    window_is_over,
    window_words,
    without_approval,
)
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils import fleet_as_data
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    AT_ONCE,
    DAY,
    HOUR,
    NB,
    NOW,
    UNREACHABLE,
    answer,
    driver,
    event,
    facing,
    failed,
    handler,
    heard,
    hold,
    hosts,
    judged,
    listed,
    record,
    verdict,
    vm,
)

LAST_SAFE_START, LAST_SAFE_START_UNAPPROVED = NB - 390, NB - 330
STARTS = "Azure starts at Wed 2026-11-18 10:00 UTC"
LAST = "last safe start Wed 2026-11-18 09:53:30 UTC"
# In Berlin it is an hour later: from 9:20 to 9:40 UTC.
WINDOW: Dict[str, Any] = {
    "windows": [{"days": ["Wed"], "from": "10:20", "to": "10:40", "timezone": "Europe/Berlin"}],
    "rules": [{"name": "w", "action": "prepare_and_approve", "start": "window"}],
}
OPENS, CLOSES = NOW + 1200, NOW + 2400
PREPARE_ONLY: Dict[str, Any] = {"rules": [{"name": "p", "action": "prepare", "event_types": ["Reboot"]}]}


def status(*records: Mapping[str, Any], **fields: Any) -> Dict[str, Any]:
    """Of a host whose handlers may take as long as is usual."""
    return fleet_as_data.status(*records, **{"handlers_configured": [handler(limit=300.0)], **fields})


def one(hostvars: Mapping[str, Mapping[str, Any]], run: Optional[Facing] = None, *, outside: Tuple[str, ...] = ()) -> Verdict:
    (found,) = judged(hostvars, run, outside=outside)
    return found


def due(*states: Dict[str, Any], run: Optional[Facing] = None, **fields: Any) -> Verdict:
    """About a shared event that is due, of hosts in these states."""
    names = " ".join("web_%d" % number for number in range(len(states)))
    hostvars = {"h%d" % number: heard("web_%d" % number, status=state) for number, state in enumerate(states)}
    hostvars["h0"][ANSWER] = answer(event(names=names, **fields), who=vm("web_0"))
    found = one(hostvars, run or facing(LAST_SAFE_START))
    assert found.place == WAVES
    return found


def looked_at(*states: Dict[str, Any], run: Optional[Facing] = None, **fields: Any) -> Verdict:
    run = run or facing(LAST_SAFE_START)
    return host_obstacles(due(*states, run=run, **fields), run)


# In which place


@pytest.mark.parametrize(
    ("fields", "place", "action", "reason"),
    [
        ({"names": ""}, LEFT, "prepare_and_approve", "left alone: it names no VM"),
        ({"names": "x y"}, LEFT, "prepare_and_approve", "left alone: it names no host of this run, but x, y"),
        (
            {"names": "x web_9"},
            LEFT,
            "prepare_and_approve",
            "left alone: it names no host of this run, but x, web_9 (h9 of the inventory, not in this run)",
        ),
        ({"event_status": "Started"}, RUNNING, "watch", "watched until it is gone: Azure has started it"),
        ({"event_status": "Started", "event_type": "Preempt"}, RUNNING, "watch", "watched until it is gone: Azure has started it"),
        (
            {"event_type": "Freeze", "duration_seconds": 5},
            LEFT,
            "ignore",
            "left to Azure: %s; rule short pause" % STARTS,
        ),
        ({"event_type": "GuestImage"}, REFUSED, "refuse", "refused: no rule matches the type 'GuestImage', %s" % STARTS),
        ({"event_status": "Paused"}, REFUSED, "refuse", "refused: the status 'Paused' is unknown, %s; rule disruption" % STARTS),
        ({"not_before": NOW + 89}, REFUSED, "refuse", "refused: too late, Azure starts at Wed 2026-11-18 09:01:29 UTC; rule disruption"),
        (
            {"names": "web_0 x web_9"},
            REFUSED,
            "prepare_and_approve",
            "refused: it also hits x, web_9, no host of this run (h9 of the inventory: take it into the run); add it to the run, "
            "or name it in rolling_maintenance_allow_unmanaged to have it hit unprepared; %s" % STARTS,
        ),
        ({}, HELD, "prepare_and_approve", "held until Wed 2026-11-18 09:53:30 UTC: rule disruption, as late as is safe; %s" % LAST),
        ({"event_source": "User"}, WAVES, "prepare_and_approve", "due now: rule asked for by us, start now; %s" % LAST),
        ({"not_before": None}, WAVES, "prepare_and_approve", "due now: rule disruption, as late as is safe"),
        (
            {"event_type": "Terminate"},
            WAVES,
            "prepare",
            "due now: rule deletion, start now; not approved, %s; last safe start Wed 2026-11-18 09:54:30 UTC" % STARTS,
        ),
    ],
)
def test_each_event_has_a_place_and_a_reason(fields: Dict[str, Any], place: str, action: str, reason: str) -> None:
    found = one({"h0": heard("web_0", event(**fields)), "h9": listed("web_9")}, outside=("h9",))
    assert (found.place, found.action, found.reason) == (place, action, reason)
    taken_on = place in (WAVES, HELD)
    assert found.approves is (taken_on and action == "prepare_and_approve")
    assert (found.prepares, found.key) == (taken_on, found.sighting.key)
    assert PLACES == ("waves", "held", "refused", "running", "left")


def test_thirty_seconds_are_too_short_for_a_playbook() -> None:
    """W-26: the host's own handlers do it."""
    found = verdict(event_type="Preempt", not_before=NOW + 30)
    assert (found.place, found.reason) == (
        REFUSED,
        "refused: too late, Azure starts at Wed 2026-11-18 09:00:30 UTC; rule deletion; "
        "handlers of the host itself are quicker: event_handlers_mode: prepare",
    )


def test_a_minute_is_enough_to_prepare_for_a_deletion_and_nothing_is_approved() -> None:
    found = verdict(event_type="Preempt", not_before=NOW + 90)
    assert (found.place, found.approves, found.time_left(NOW)) == (WAVES, False, 60)
    assert found.reason == (
        "due now: rule deletion, start now; late, 1 min to prepare; not approved, Azure starts at Wed 2026-11-18 09:01:30 UTC"
    )


@pytest.mark.parametrize(("state", "place"), [("IMPACT", RUNNING), ("RECOVERING", RUNNING), ("PREPARED", HELD), ("STAYING", HELD)])
def test_a_host_that_was_hit_knows_better_than_the_document(state: str, place: str) -> None:
    """W-6: what has started is watched, and never approved."""
    found = one({"h0": heard("web_0", event(names="web_0 web_1"), status=status(record(state))), "h1": heard("web_1", status=status())})
    assert (found.place, found.approves) == (place, place == HELD)
    if place == RUNNING:
        assert found.reason == "watched until it is gone: h0 is %s" % state


def test_who_has_been_hit_is_named() -> None:
    hostvars = {
        "h0": heard("web_0", event(names="web_0 web_1 web_2 web_3"), status=status(record("IMPACT"))),
        "h1": heard("web_1", status=status(record("RECOVERING"))),
        "h2": heard("web_2", status=status(record("PREPARED"))),
        "h3": heard("web_3", status=status()),
    }
    assert one(hostvars).reason == "watched until it is gone: h0 is IMPACT, h1 is RECOVERING"


# What is in the way, whenever it would begin


def test_two_hosts_that_are_one_vm_are_not_touched() -> None:
    hostvars = {"h0": heard("web_0", event(names="web_0 web_1")), "h1": listed("web_0"), "h2": listed("web_1"), "h3": listed("Web_1")}
    assert one(hostvars).reason == (
        "refused: h0, h1 and h2, h3 are one VM to Azure: correct the inventory, or leave all but one out; %s" % STARTS
    )


def test_a_vm_that_was_made_again_is_not_the_one_in_the_inventory() -> None:
    """W-28: whatever it is, it is not touched."""
    hostvars = {"h0": listed("web_0", vmid="old", **{ANSWER: answer(event(), who=vm("web_0", vm_id="new"))})}
    found = one(hostvars)
    assert (found.place, found.reason) == (
        REFUSED,
        "refused: h0 says that it is the VM with the id new, and the inventory has old: refresh the inventory; %s" % STARTS,
    )


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({}, REFUSED),
        ({"allow_unmanaged": ["STRANGER"]}, HELD),
        ({"allow_unmanaged": ["stranger_1", "strange"]}, REFUSED),
        (PREPARE_ONLY, HELD),
    ],
)
def test_what_nobody_manages_is_hit_only_if_it_was_named(options: Dict[str, Any], place: str) -> None:
    """An approval holds for all Resources (C-23); where nothing is approved, Azure hits it anyway."""
    assert verdict(facing(**options), names="web_0 stranger").place == place


def test_a_stranger_is_named_with_what_can_be_done() -> None:
    assert verdict(names="web_0 stranger").reason == (
        "refused: it also hits stranger, no host of this run; add it to the run, or name it in rolling_maintenance_allow_unmanaged "
        "to have it hit unprepared; %s" % STARTS
    )


# When


@pytest.mark.parametrize(
    ("now", "options", "place", "start", "latest", "due_at"),
    [
        (NOW, {}, HELD, LAST_SAFE_START, LAST_SAFE_START, LAST_SAFE_START - 120),
        (NOW, {"within": "30m"}, HELD, LAST_SAFE_START, LAST_SAFE_START, LAST_SAFE_START - 1800),
        (NOW, {"within": "30m", "period": "40m"}, HELD, LAST_SAFE_START, LAST_SAFE_START, LAST_SAFE_START - 2520),
        (NOW, {"within": "1h"}, WAVES, LAST_SAFE_START, LAST_SAFE_START, None),
        (NOW, {"period": "1h"}, WAVES, LAST_SAFE_START, LAST_SAFE_START, None),
        # The next run would come too late.
        (LAST_SAFE_START - 120, {}, HELD, LAST_SAFE_START, LAST_SAFE_START, LAST_SAFE_START - 120),
        (LAST_SAFE_START - 119, {}, WAVES, LAST_SAFE_START, LAST_SAFE_START, None),
        (LAST_SAFE_START, {}, WAVES, LAST_SAFE_START, LAST_SAFE_START, None),
        # Late: until a minute is left.
        (LAST_SAFE_START + 1, {}, WAVES, LAST_SAFE_START + 1, NB - 90, None),
    ],
)
def test_it_is_due_or_held_until_it_is(
    now: float, options: Dict[str, Any], place: str, start: float, latest: float, due_at: Optional[float]
) -> None:
    found = verdict(facing(now, **options))
    assert (found.place, found.start, found.floor, found.latest, found.due_at) == (place, start, now, latest, due_at)


@pytest.mark.parametrize(
    ("days", "place"),
    [(7, HELD), (6, HELD), (2, HELD), (1, WAVES)],
)
def test_a_nightly_job_takes_it_on_in_the_last_night_that_comes_in_time(days: int, place: str) -> None:
    """W-54: Redeploy in seven days, and at the last safe start no job runs. Each night the same time."""
    now = NB - days * DAY - 60
    found = verdict(facing(now, period="1d"), event_type="Redeploy")
    assert found.place == place
    assert next_run_at(found, facing(now, period="1d")) == LAST_SAFE_START - DAY - 120
    assert next_run_is_in_time(found, facing(now, period="1d")) is (place == HELD)


def test_without_a_not_before_there_is_no_last_moment() -> None:
    found = verdict(not_before=None)
    assert (found.start, found.latest, found.due_at) == (NOW, math.inf, None)
    assert (found.last_safe_start, next_run_at(found, facing())) == (None, None)
    assert azure_starts(found) == "Azure can start at any moment"
    assert next_run_is_in_time(found, facing(period="1d"))


def test_one_that_is_late_without_a_not_before_does_not_exist() -> None:
    late = verdict(facing(NB - 300))
    timeless = replace(late.decision, times=replace(late.decision.times, not_before=None))
    assert (late.latest, replace(late, decision=timeless).time_left(NOW)) == (NB - 90, 300)


def test_a_window_is_where_it_has_to_stay() -> None:
    found = verdict(facing(**WINDOW))
    assert (found.place, found.start, found.floor, found.latest, found.due_at) == (HELD, OPENS, OPENS, CLOSES - 300, OPENS)
    assert found.reason == (
        "held until Wed 2026-11-18 10:20 Europe/Berlin: rule w, window; last safe start Wed 2026-11-18 10:53:30 Europe/Berlin"
    )
    assert window_words(found.decision) == {"opens": OPENS, "closes": CLOSES, "timezone": "Europe/Berlin", "offset": 3600}
    assert window_words(verdict().decision) is None
    assert (found.ready_until, found.must_begin_by(1), found.must_begin_by(3)) == (CLOSES, CLOSES - 300, CLOSES - 900)
    inside = verdict(facing(OPENS + 60, **WINDOW))
    assert (inside.place, inside.start, inside.floor) == (WAVES, OPENS + 60, OPENS + 60)
    timeless = verdict(facing(OPENS + 60, **WINDOW), not_before=None)
    assert (timeless.place, timeless.latest, timeless.ready_until) == (WAVES, CLOSES - 300, CLOSES)


def test_no_window_in_time_is_prepared_without_one() -> None:
    found = verdict(facing(CLOSES, **WINDOW))
    assert (found.place, found.approves, found.start) == (HELD, False, LAST_SAFE_START_UNAPPROVED)
    assert found.reason == (
        "held until Wed 2026-11-18 09:54:30 UTC: rule w, window; no window opens in time; not approved, %s; "
        "last safe start Wed 2026-11-18 09:54:30 UTC" % STARTS
    )


# For how many hosts


@pytest.mark.parametrize(("hosts_", "forks", "rounds"), [(0, 5, 1), (1, 5, 1), (5, 5, 1), (6, 5, 2), (11, 5, 3), (3, 1, 3)])
def test_hosts_wait_for_those_that_ansible_works_on(hosts_: int, forks: int, rounds: int) -> None:
    assert facing(forks=forks).rounds(hosts_) == rounds


@pytest.mark.parametrize(
    ("options", "limits", "budget"),
    [
        ({}, [100.0, 50.0], 150.0),
        ({}, [], 300.0),
        ({"prepare_budget": 90}, [], 90.0),
        ({"rules": [{**AT_ONCE, "prepare_budget": 70}]}, [100.0], 70.0),
    ],
)
def test_each_round_of_hosts_has_the_whole_budget(options: Dict[str, Any], limits: List[float], budget: float) -> None:
    """Three hosts, two at a time."""
    ours = status(handlers_configured=[handler("%d0" % place, limit=limit) for place, limit in enumerate(limits)])
    hostvars = {name: heard(name, status=ours) for name in ("web_0", "web_1", "web_2")}
    hostvars["web_0"][ANSWER] = answer(event(names="web_0 web_1 web_2"), who=vm("web_0"))
    one_by_one, at_once = one(hostvars, facing(forks=2, **options)), one(hostvars, facing(forks=3, **options))
    assert (one_by_one.budget, at_once.budget) == (budget, budget)
    assert (at_once.last_safe_start, one_by_one.last_safe_start) == (NB - 90 - budget, NB - 90 - 2 * budget)
    assert one_by_one.decision.policy_hash == at_once.decision.policy_hash == facing(**options).options.policy_hash
    assert (at_once.must_begin_by(1), at_once.must_begin_by(2)) == (NB - 90 - budget, NB - 90 - 2 * budget)


def test_one_that_comes_late_has_what_is_left() -> None:
    late = verdict(facing(NB - 300))
    assert [late.time_left(begin) for begin in (NB - 340, NB - 330, NB - 300, NB - 90)] == [300, 300, 270, 60]
    assert (late.must_begin_by(1), late.must_begin_by(9), late.ready_until) == (NB - 90, NB - 90, math.inf)
    assert verdict().time_left(NB - 90) == 300


def test_what_is_known_of_the_hosts_of_an_event() -> None:
    """W-34: the largest difference of a clock; the largest sum of limits of handlers that are required and apply."""
    optional, other = handler("20", limit=900, required=False), handler("30", limit=900, event_types=["Freeze"])
    mine = [handler(limit=100), optional, other, handler("40", limit=11)]
    hostvars = {
        "a": heard("web_0", status=status(clock_difference=-45.5, handlers_configured=mine)),
        "b": heard("web_1", status=status(clock_difference=12, handlers_configured=None)),
        "c": heard("web_2", status=UNREACHABLE),
        "d": heard("web_3"),
    }
    found = hosts(hostvars)
    assert facts_of(found, "Reboot") == Facts(45.5, 111)
    assert facts_of(found, "Freeze") == Facts(45.5, 1011)
    assert facts_of(found[2:], "Reboot") == Facts(30, None)
    assert facts_of((), "Reboot") == Facts(30, None)


def test_where_a_wrong_clock_has_eaten_the_time_the_reason_names_it() -> None:
    """W-34: "too late" alone would send nobody to the clock."""
    found = one({"h0": heard("web_0", event(not_before=NOW + 900), status=status(clock_difference=-3600.0)), "h1": heard("web_1", event())})
    assert (found.place, found.reason) == (
        REFUSED,
        "refused: too late, Azure starts at Wed 2026-11-18 09:15 UTC; rule disruption; the clock of h0 differs by 1 h: set it right",
    )


def test_a_clock_that_is_an_hour_off_leaves_no_time_to_approve() -> None:
    """W-34."""
    found = one({"h0": heard("web_0", event(not_before=NOW + 2 * HOUR), status=status(clock_difference=3600.0))}, facing(NOW + HOUR))
    assert not found.approves


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"event_type": "Freeze", "duration_seconds": 20}, 300),
        ({"event_type": "FREEZE", "duration_seconds": 400}, 400),
        ({"duration_seconds": None}, 600),
        ({"event_type": "Redeploy", "duration_seconds": 3600}, 3600),
    ],
)
def test_how_long_an_event_keeps_its_hosts(fields: Dict[str, Any], seconds: float) -> None:
    assert outage(verdict(**fields).sighting) == seconds


def test_when_hosts_are_back() -> None:
    """Approved, after the reserve for it; else when Azure starts: outage, return, recovery and settling."""
    run = facing()
    approved, prepared, timeless = verdict(run), verdict(facing(**PREPARE_ONLY)), verdict(facing(**PREPARE_ONLY), not_before=None)
    after = 600 + 300 + 120 + 10
    assert approved.back_at(NOW, run.options) == NOW + 60 + after
    assert (prepared.back_at(NOW, run.options), prepared.back_at(NB + 5, run.options)) == (NB + after, NB + 5 + after)
    assert timeless.back_at(NOW, run.options) == NOW + after
    assert approved.until_done(run.options, 2) == 2 * 300 + 60 + after


# After what its hosts say of themselves


def test_hosts_that_can_get_ready_are_in_nobodys_way() -> None:
    found = due(status(), status(record("SEEN"), record("PREPARED", "E2", driver=driver())))
    assert host_obstacles(found, facing(LAST_SAFE_START)) is found


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (None, "nobody has asked h1 for its state"),
        (UNREACHABLE, "h1 cannot be reached"),
        (
            failed("/x is not there: install it with the role cloud_maintenance.azure.event_handlers."),
            "h1 has no event handlers: install them with `ansible-playbook cloud_maintenance.azure.install_event_handlers "
            "-e event_handlers_hosts=h1`",
        ),
        (failed("The executor is dead."), "h1 does not say its state: The executor is dead"),
        # W-28, W-29
        (status(record("FOREIGN")), "the record on h1 belongs to another VM"),
        (status(vm_id="other"), "h1 is the VM with the id other, and id of web_1 was expected: refresh the inventory"),
        # What has been tried before.
        (status(record("STAYING")), "h1 was not ready in time, and stays out of service until the event is gone"),
        (
            status(record("BACKED_OUT", attempt=2)),
            "h1 has tried 2 times to get ready for it, and does not try again (10-pool: exit code 1)",
        ),
        # W-38
        (
            status(record("PREPARED", driver=driver("awx", "4710", LAST_SAFE_START))),
            "h1 is in the hands of awx (run 4710) until Wed 2026-11-18 09:53:30 UTC",
        ),
        (status(record("COMMITTED", driver=driver())), "h1 is in the hands of playbook (run other) until Wed 2026-11-18 09:10 UTC"),
        # W-50
        (
            status(handlers_configured=[]),
            "h1 has no handler for Reboot: install one with `ansible-playbook cloud_maintenance.azure.install_event_handlers "
            "-e event_handlers_hosts=h1`, or set event_handlers_allow_empty_prepare where hooks do the work",
        ),
        (
            status(record("BACKED_OUT"), handlers_configured=[handler(event_types=["Freeze"])]),
            "h1 has no handler for Reboot: install one with `ansible-playbook cloud_maintenance.azure.install_event_handlers "
            "-e event_handlers_hosts=h1`, or set event_handlers_allow_empty_prepare where hooks do the work",
        ),
        (
            status(handlers_configured=[], problems=["The configuration is wrong."]),
            "h1 has no handler that works: The configuration is wrong",
        ),
        # W-34
        (status(clock_difference=-301.0), "the clock of h1 differs by 5 min 1 s, and an approval allows 5 min: set it right"),
        (status(clock_difference=None), "nobody has compared the clock of h1"),
    ],
)
def test_one_host_that_cannot_get_ready_keeps_the_whole_event_from_being_touched(state: Optional[Dict[str, Any]], why: str) -> None:
    hostvars = {"h0": heard("web_0", event(names="web_0 web_1"), status=status()), "h1": heard("web_1", status=state)}
    run = facing(within="2h")
    found = host_obstacles(one(hostvars, run), run)
    assert (found.place, found.reason, found.due_at) == (REFUSED, "refused: %s; %s" % (why, STARTS), None)


@pytest.mark.parametrize(
    "state",
    [
        status(vm_id="ID OF WEB_0"),
        status(record("BACKED_OUT", attempt=1)),
        status(record("PREPARED", driver=driver("playbook", "4711", NB))),
        status(record("COMMITTED", driver=driver("awx", "4710", LAST_SAFE_START - 1))),
        status(record("COMMITTED", driver=None)),
        status(handlers_configured=None),
        status(handlers_configured=[], allow_empty_prepare=True),
        *(status(record(state), handlers_configured=[]) for state in ("PREPARING", "PREPARED", "COMMITTED")),
        status(clock_difference=29.0),
        status(hold=hold(LAST_SAFE_START)),
    ],
)
def test_what_is_in_nobodys_way(state: Dict[str, Any]) -> None:
    """W-5: a run that is started again goes on with its own hosts, and with those of one whose lease is over."""
    assert looked_at(state, run=facing(LAST_SAFE_START, run_id=4711)).place == WAVES


def test_a_handler_is_asked_only_of_who_prepares_and_a_clock_only_of_who_approves() -> None:
    approve = facing(NB - 90, rules=[{"action": "approve"}])
    assert looked_at(status(handlers_configured=[]), run=approve).place == WAVES
    assert looked_at(status(clock_difference=None), run=facing(NB - 330, **PREPARE_ONLY)).place == WAVES


@pytest.mark.parametrize(
    ("until", "place", "reason"),
    [
        (LAST_SAFE_START, HELD, "held until Wed 2026-11-18 09:53:30 UTC: h0 is held by ann (the restore); %s" % LAST),
        (LAST_SAFE_START + 1, REFUSED, "refused: h0 is held by ann (the restore) until Wed 2026-11-18 09:53:31 UTC, too late; %s" % STARTS),
    ],
)
def test_a_hold_is_waited_for_as_long_as_there_is_time(until: float, place: str, reason: str) -> None:
    """W-55: with the name and until when."""
    found = looked_at(status(hold=hold(until, "the restore")), run=facing(LAST_SAFE_START - 60))
    assert (found.place, found.reason, found.due_at) == (place, reason, until if place == HELD else None)


def test_the_last_hold_counts() -> None:
    found = looked_at(status(hold=hold(NB - 600)), status(hold=hold(NB - 500)), run=facing(NB - 900, within="1h"))
    assert found.reason == "held until Wed 2026-11-18 09:51:40 UTC: h1 is held by ann; %s" % LAST
    timeless = looked_at(status(hold=hold(NB)), run=facing(NOW), not_before=None)
    assert timeless.reason == "held until Wed 2026-11-18 10:00 UTC: h0 is held by ann; Azure can start at any moment"


@pytest.mark.parametrize(("until", "place"), [(LAST_SAFE_START, HELD), (NB, HELD), (LAST_SAFE_START - 1, WAVES)])
def test_what_the_agent_of_a_host_has_in_hand_is_left_to_it(until: float, place: str) -> None:
    """W-37: one of them works, and the loser waits."""
    found = looked_at(status(record("PREPARING", driver=driver("agent", "", until))))
    assert found.place == place
    if place == HELD:
        assert found.reason.endswith(": on h0 its own agent has it in hand; %s" % LAST)
        assert found.due_at == until


# What must begin earlier, because others come after it


@pytest.mark.parametrize(
    ("run", "fields", "queued"),
    [
        (facing(), {}, True),
        (facing(within="2h"), {}, True),
        (facing(NB - 300), {}, False),
        (facing(**PREPARE_ONLY), {}, False),
        (facing(), {"not_before": None}, False),
        (facing(), {"event_status": "Started"}, False),
        (facing(), {"names": "web_0 stranger"}, False),
    ],
)
def test_only_an_approval_can_be_given_earlier(run: Facing, fields: Dict[str, Any], queued: bool) -> None:
    assert is_queued(verdict(run, **fields)) is queued


@pytest.mark.parametrize(
    ("begin", "followers", "options", "place", "start", "due_at", "reason"),
    [
        (
            NB - 2000,
            2,
            {},
            HELD,
            NB - 2000,
            NB - 2120,
            "held until Wed 2026-11-18 09:26:40 UTC: rule disruption, 2 after it, one after the other; %s" % LAST,
        ),
        (
            NB - 2000,
            0,
            {"within": "20m", "period": "10m"},
            HELD,
            NB - 2000,
            NB - 3200,
            "held until Wed 2026-11-18 09:26:40 UTC: rule disruption, together with what has to begin then; %s" % LAST,
        ),
        (NB - 2000, 1, {"within": "30m"}, WAVES, NB - 2000, None, "due now: rule disruption, 1 after it, one after the other; %s" % LAST),
        (NOW - 60, 1, {}, WAVES, NOW, None, "due now: rule disruption, 1 after it, one after the other; %s" % LAST),
        (NB - 2000, 1, {"period": "1h"}, WAVES, NB - 2000, None, "due now: rule disruption, 1 after it, one after the other; %s" % LAST),
    ],
)
def test_what_others_wait_for_begins_earlier(
    begin: float, followers: int, options: Dict[str, Any], place: str, start: float, due_at: Optional[float], reason: str
) -> None:
    """W-52."""
    run = facing(**options)
    found = pulled_forward(verdict(run), begin, followers, run)
    assert (found.place, found.start, found.due_at, found.reason) == (place, start, due_at, reason)
    assert found.last_safe_start == LAST_SAFE_START


@pytest.mark.parametrize(
    ("run", "fields", "begin"),
    [(facing(), {}, LAST_SAFE_START), (facing(), {"not_before": None}, NOW - 60), (facing(**WINDOW), {}, NOW)],
)
def test_what_cannot_begin_earlier_stays_as_it_is(run: Facing, fields: Dict[str, Any], begin: float) -> None:
    before = verdict(run, **fields)
    assert pulled_forward(before, begin, 1, run) is before


@pytest.mark.parametrize(
    ("rule", "moves"), [({}, True), ({"start": {"before": "1h"}}, True), ({"start": "now"}, False), ({"event_types": ["Freeze"]}, False)]
)
def test_only_a_start_that_is_counted_from_not_before_can_be_moved(rule: Dict[str, Any], moves: bool) -> None:
    run = facing(rules=[{"action": "prepare", **rule}])
    assert rule_starts_by_not_before(verdict(run), run) is moves


# What is larger than allowed (W-51)


def test_more_hosts_than_allowed_are_prepared_and_not_approved() -> None:
    run = facing(**{**WINDOW, "within": "1h"})
    before = verdict(run)
    found = without_approval(before, "3 are hit", run)
    assert (found.place, found.action, found.approves, found.over_capacity) == (WAVES, "prepare", False, True)
    assert (found.start, found.floor, found.latest) == (LAST_SAFE_START_UNAPPROVED, NOW, LAST_SAFE_START_UNAPPROVED)
    assert (found.ready_until, window_words(found.decision)) == (NB - 30, None)
    assert found.reason == "due now: 3 are hit, so it is prepared and not approved; %s" % STARTS


def test_what_is_only_prepared_can_be_prepared_later() -> None:
    found = without_approval(verdict(facing(NB - 900, within="500s")), "3 are hit", facing(NB - 900))
    assert (found.place, found.start, found.due_at) == (HELD, LAST_SAFE_START_UNAPPROVED, LAST_SAFE_START_UNAPPROVED - 120)
    assert found.reason == (
        "held until Wed 2026-11-18 09:54:30 UTC: 3 are hit, so it is prepared and not approved; %s; "
        "last safe start Wed 2026-11-18 09:54:30 UTC" % STARTS
    )


@pytest.mark.parametrize("fields", [{"not_before": None}, {"not_before": NOW + 300}])
def test_without_time_or_late_it_is_prepared_at_once(fields: Dict[str, Any]) -> None:
    found = without_approval(verdict(**fields), "3 are hit", facing())
    assert (found.place, found.start, found.action) == (WAVES, NOW, "prepare")


def test_without_the_approval_nothing_is_left_of_an_approval() -> None:
    run = facing(LAST_SAFE_START, rules=[{"action": "approve"}])
    found = without_approval(verdict(run), "3 are hit", run)
    assert (found.place, found.approves, found.reason) == (REFUSED, False, "refused: 3 are hit, so it is not approved; %s" % STARTS)


# What this run cannot wait for


def test_a_run_begins_early_what_can_be_approved_early() -> None:
    run = facing(period="2h")
    assert beyond_this_run(verdict(run), run) is None


def test_a_window_opens_when_it_opens() -> None:
    run = facing(within="10m", period="2h", **WINDOW)
    assert beyond_this_run(verdict(run), run) == (
        "its window opens at Wed 2026-11-18 10:20 Europe/Berlin; this run waits at most 10 min, and the next one comes 2 h later: "
        "raise rolling_maintenance_within, or start a run then"
    )
    enough = facing(within="20m", period="2h", **WINDOW)
    assert beyond_this_run(verdict(enough), enough) is None
    # Whoever has no window any more keeps the words.
    moved = replace(verdict(run), floor=OPENS, decision=verdict().decision)
    assert str(beyond_this_run(moved, run)).startswith("its window opens at Wed 2026-11-18 09:20 UTC; ")


@pytest.mark.parametrize(
    ("options", "fields", "beyond"),
    [
        ({"watch_timeout": "50m"}, {}, True),
        ({"watch_timeout": "1h"}, {}, False),
        ({"watch_timeout": "50m", "within": "1h"}, {}, False),
        ({"watch_timeout": "50m"}, {"not_before": None}, False),
    ],
)
def test_who_is_ready_long_before_azure_comes_would_be_put_back(options: Dict[str, Any], fields: Dict[str, Any], beyond: bool) -> None:
    run = facing(period="2h", **PREPARE_ONLY, **options)
    expected = (
        "it is to be prepared at Wed 2026-11-18 09:54:30 UTC; this run waits at most 0 s, and the next one comes 2 h later: "
        "raise rolling_maintenance_within, or start a run then"
    )
    assert beyond_this_run(verdict(run, **fields), run) == (expected if beyond else None)


# A window that is over before it is its turn


@pytest.mark.parametrize(
    ("options", "fields", "over"),
    [
        (WINDOW, {}, True),
        (WINDOW, {"not_before": None}, True),
        ({}, {}, False),
        ({**WINDOW, "windows": [{"from": "10:20", "to": "12:00", "timezone": "Europe/Berlin"}]}, {}, False),
    ],
)
def test_whether_it_was_the_window_that_left_no_time(options: Dict[str, Any], fields: Dict[str, Any], over: bool) -> None:
    assert window_is_over(verdict(facing(OPENS, **options), **fields)) is over


def test_after_its_window_it_is_held_until_the_next_one() -> None:
    run = facing(OPENS, **WINDOW)
    found = after_its_window(verdict(run, not_before=NB + 7 * DAY), run)
    assert (found.place, found.start, found.due_at) == (HELD, OPENS + 7 * DAY, OPENS + 7 * DAY)
    assert found.reason == (
        "held until Wed 2026-11-25 10:20 Europe/Berlin: there is no room left for it in the window that is open; "
        "last safe start Wed 2026-11-25 09:53:30 UTC"
    )


def test_after_its_last_window_it_is_held_until_it_is_prepared_without_one() -> None:
    run = facing(OPENS, **WINDOW)
    found = after_its_window(verdict(run), run)
    assert (found.place, found.start, found.due_at) == (HELD, LAST_SAFE_START_UNAPPROVED, LAST_SAFE_START_UNAPPROVED - 120)
    assert found.reason == (
        "held until Wed 2026-11-18 09:54:30 UTC: there is no room left for it in the window that is open; "
        "last safe start Wed 2026-11-18 09:54:30 UTC"
    )


def test_after_its_last_window_nothing_is_left_of_an_approval() -> None:
    run = facing(OPENS, **{**WINDOW, "rules": [{"name": "w", "action": "approve", "start": "window"}]})
    found = after_its_window(verdict(run), run)
    assert (found.place, found.approves, found.reason) == (
        REFUSED,
        False,
        "refused: there is no room left for it in the window that is open, and no other one opens in time; %s" % STARTS,
    )


def test_what_can_start_at_any_moment_is_prepared_right_after_its_window() -> None:
    run = facing(OPENS, **WINDOW)
    found = after_its_window(verdict(run, not_before=None), run)
    assert (found.place, found.start, found.due_at) == (HELD, CLOSES + 1, CLOSES + 1)


def test_without_a_window_it_is_held_until_it_is_due() -> None:
    found = after_its_window(verdict(), facing())
    assert (found.place, found.due_at) == (HELD, LAST_SAFE_START - 120)
