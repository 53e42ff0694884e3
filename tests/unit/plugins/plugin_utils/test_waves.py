# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which waves there are, who shares one, and what is said of those for whom there is none (`_waves`)."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import plan
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import DAY, HOUR, MINUTE
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    AT_ONCE,
    NOW,
    event,
    facing,
    heard,
    hosts,
    record,
    status,
)

WEEK = 7 * DAY
USER = {"event_source": "User"}
# Each has a minute's handler: its hosts are back 19 min 10 s after the begin, and the last safe start is 2 min 30 s before NotBefore.
APPROVED: Dict[str, Any] = {"action": "prepare_and_approve", "start": "now"}
WINDOW = {"windows": [{"from": "10:00", "to": "10:30", "timezone": "UTC"}]}


class Made:
    """The plan of a run over some hosts; those in db are in a group of that name."""

    def __init__(self, *events: Dict[str, Any], count: int = 6, db: str = "", told: Optional[Dict[str, Any]] = None, **given: Any) -> None:
        hostvars = {
            "h%d" % number: heard(
                "web_%d" % number,
                *events,
                status=(told or {}).get("h%d" % number, status()),
                rolling_maintenance_scope="s",
                group_names=["db"] if "h%d" % number in db.split() else [],
            )
            for number in range(count)
        }
        self.plan = plan(hosts(hostvars), facing(forks=given.pop("forks", 5), **given))

    @property
    def waves(self) -> List[str]:
        return ["%s %s" % (wave["begin"][11:16], " ".join(wave["hosts"])) for wave in self.plan["waves"]]

    def entry(self, event_id: str) -> Dict[str, Any]:
        (found,) = [entry for entry in self.plan["events"] if entry["event"]["event_id"] == event_id]
        return dict(found)

    def reason(self, event_id: str) -> str:
        return str(self.entry(event_id)["reason"])


# --- in which order ------------------------------------------------------------------------------------------------------


def test_what_has_the_least_time_left_comes_first() -> None:
    made = Made(event("E1", "web_0", NOW + WEEK, **USER), event("E2", "web_1", NOW + 2 * HOUR, **USER))
    assert made.waves == ["09:00 h1", "09:19 h0"]


def test_what_azure_can_start_at_any_moment_comes_before_everything() -> None:
    """Until it is done it counts as out."""
    made = Made(event("E1", "web_0", None, **USER), event("E2", "web_1", NOW + 2 * HOUR, **USER))
    assert made.waves == ["09:00 h0", "09:19 h1"]


def test_while_the_first_one_still_waits_another_one_is_done() -> None:
    made = Made(event("E1", "web_0", NOW + 30 * MINUTE), event("E2", "web_1", NOW + WEEK, **USER), within="1h")
    assert made.waves == ["09:00 h1", "09:27 h0"]
    # There is no time for that.
    made = Made(event("E1", "web_0", NOW + 20 * MINUTE), event("E2", "web_1", NOW + WEEK, **USER), within="1h")
    assert made.waves == ["09:17 h0", "09:36 h1"]


def test_a_host_that_is_ready_from_an_earlier_run_keeps_its_place() -> None:
    """It is out already, whoever is more urgent."""
    told = {"h0": status(record("PREPARED"))}
    made = Made(event("E1", "web_0", NOW + WEEK, **USER), event("E2", "web_1", NOW + 2 * HOUR, **USER), told=told)
    assert made.waves == ["09:00 h0", "09:19 h1"]


# --- who shares a wave ---------------------------------------------------------------------------------------------------


def test_whoever_is_not_due_for_a_while_does_not_join() -> None:
    made = Made(event("E1", "web_0", **USER), event("E2", "web_1", NOW + 50 * MINUTE), within="1h", max_unavailable=2)
    assert made.waves == ["09:00 h0", "09:47 h1"]


def test_whoever_would_be_too_late_afterwards_joins_before_it_is_due() -> None:
    """Twenty minutes before NotBefore there would be time; two minutes later there is none."""
    made = Made(event("E1", "web_0", NOW + WEEK, **USER), event("E2", "web_1", NOW + 20 * MINUTE), within="1h", max_unavailable=2)
    assert made.waves == ["09:17 h1 h0"]


def test_nobody_joins_who_would_make_a_wave_last_until_it_is_too_late_for_others() -> None:
    """One more round of preparing is a minute that the third one does not have."""
    events = [
        event("E1", "web_0", NOW + 20 * MINUTE, **USER),
        event("E2", "web_1", NOW + 22 * MINUTE, **USER),
        event("E3", "web_2", NOW + WEEK, **USER),
    ]
    given: Dict[str, Any] = {"max_unavailable": 2, "groups": {"db": {"max_unavailable": 1}}, "db": "h0 h1"}
    assert Made(*events, forks=2, **given).waves == ["09:00 h0 h2", "09:19 h1"]
    assert Made(*events, forks=1, **given).waves == ["09:00 h0", "09:19 h1", "09:38 h2"]


def test_whoever_is_too_slow_for_another_one_does_not_share_his_wave() -> None:
    rules = [{**APPROVED, "name": "slow", "event_types": ["Redeploy"], "prepare_budget": "30m"}, AT_ONCE]
    made = Made(
        event("E1", "web_0", NOW + 30 * MINUTE), event("E2", "web_1", NOW + 3 * HOUR, event_type="Redeploy"), rules=rules, max_unavailable=2
    )
    assert made.waves == ["09:00 h0", "09:19 h1"]


def test_whose_window_opens_later_does_not_share_an_earlier_wave() -> None:
    rules = [{"name": "w", "event_types": ["Redeploy"], "action": "prepare_and_approve", "start": "window"}, AT_ONCE]
    made = Made(
        event("E1", "web_0"), event("E2", "web_1", NOW + WEEK, event_type="Redeploy"), rules=rules, max_unavailable=2, within="2h", **WINDOW
    )
    assert made.waves == ["09:00 h0", "10:00 h1"]


def test_what_is_over_capacity_shares_with_nobody() -> None:
    """W-51."""
    deletion = event("E1", "web_0 web_1", NOW + 10 * MINUTE, event_type="Terminate")
    made = Made(deletion, event("E2", "web_2", NOW + WEEK, **USER))
    assert made.waves == ["09:00 h0 h1", "09:27 h2"]
    assert [component["over_capacity"] for wave in made.plan["waves"] for component in wave["components"]] == [True, False]
    assert made.reason("E1").startswith("wave 1 at Wed 2026-11-18 09:00 UTC: rule deletion, start now; not approved")


@pytest.mark.parametrize(("tied", "other", "waves"), [(10, 120, ["09:00 h0 h1", "09:27 h2"]), (120, 30, ["09:00 h2", "09:19 h0 h1"])])
def test_what_is_over_capacity_shares_with_nobody_of_another_group_either(tied: int, other: int, waves: List[str]) -> None:
    """W-51: whichever comes first."""
    events = [event("E1", "web_0 web_1", NOW + tied * MINUTE, event_type="Terminate"), event("E2", "web_2", NOW + other * MINUTE, **USER)]
    made = Made(*events, within="3h", max_unavailable=4, groups={"db": {"max_unavailable": 1, "min_available": 0}}, db="h0 h1")
    assert made.waves == waves
    assert made.entry("E1")["over_capacity"]


def _behind(first: str = "web_2", second: str = "web_1", **given: Any) -> Made:
    """Between a pause and one that takes long to prepare there is no time for another pause."""
    slow = {**APPROVED, "name": "slow", "event_types": ["Redeploy"], "prepare_budget": "20m"}
    events = [
        event("E0", "web_0", NOW + 80 * MINUTE, event_type="Redeploy"),
        event("E1", second, NOW + 70 * MINUTE, event_type="Freeze"),
        event("E2", first, NOW + 40 * MINUTE, event_type="Freeze"),
    ]
    return Made(*events, rules=[slow, {"name": "r", "action": "prepare_and_approve"}], within="3h", **given)


def test_whoever_cannot_begin_in_time_joins_an_earlier_wave() -> None:
    """W-52: behind the second wave it would be too late for it, and in the first one there is room."""
    assert _behind(max_unavailable=2).waves == ["09:37 h2 h1", "09:51 h0"]


def test_where_the_earlier_wave_is_full_nobody_joins_it() -> None:
    made = _behind("web_2 web_3", max_unavailable=2)
    assert made.waves == ["09:37 h2 h3", "09:51 h0"]
    assert "after 2 waves of other hosts, and it had to begin by Wed 2026-11-18 10:07:30 UTC" in made.reason("E1")


def test_where_a_group_has_no_room_nobody_joins_an_earlier_wave() -> None:
    made = _behind(max_unavailable=3, groups={"db": {"max_unavailable": 1}}, db="h1 h2")
    assert (made.waves, made.entry("E1")["place"]) == (["09:37 h2", "09:51 h0"], "refused")


def test_what_is_over_capacity_does_not_join_an_earlier_wave() -> None:
    """W-51: there would be room in it for others."""
    made = _behind(second="web_1 web_4", max_unavailable=4, groups={"db": {"max_unavailable": 1, "min_available": 0}}, db="h1 h4")
    assert (made.waves, made.entry("E1")["place"]) == (["09:37 h2", "09:51 h0"], "refused")


# --- who has no wave -----------------------------------------------------------------------------------------------------


def test_who_is_too_late_behind_others_is_refused_with_the_figures() -> None:
    """W-52."""
    slow = [{**APPROVED, "prepare_budget": "30m"}]
    made = Made(*(event("E%d" % number, "web_%d" % number, NOW + 75 * MINUTE) for number in range(2)), rules=slow)
    assert made.waves == ["09:00 h0"]
    assert made.reason("E1") == (
        "refused: it would begin at Wed 2026-11-18 09:48:10 UTC, after 1 wave of other hosts, and it had to begin by "
        "Wed 2026-11-18 09:43:30 UTC; Azure starts at Wed 2026-11-18 10:15 UTC"
    )


def test_who_has_no_room_now_is_held_as_long_as_a_later_run_is_in_time() -> None:
    told = {"h5": status(problems=["no quorum"])}
    made = Made(event("E1", "web_0", NOW + WEEK, **USER), told=told)
    assert made.reason("E1") == (
        "held: 2 of all hosts would be out beside h5 (no quorum), and at most 1 may be; last safe start Wed 2026-11-25 08:57:30 UTC"
    )
    assert made.plan["due_next"] == "2026-11-18T09:10:00Z"
    soon = Made(event("E1", "web_0", NOW + 14 * MINUTE, **USER), told=told, period="9m")
    assert soon.plan["due_next"] == "2026-11-18T09:00:30Z"
    assert Made(event("E1", "web_0", None, **USER), told=told).plan["due_next"] == "2026-11-18T09:10:00Z"
    late = Made(event("E1", "web_0", NOW + 4 * MINUTE, **USER), told=told)
    assert late.reason("E1").endswith("at most 1 may be; Azure starts at Wed 2026-11-18 09:04 UTC")


def test_who_is_tied_to_something_that_begins_later_waits_or_is_refused() -> None:
    """The other one is not due any more: its window is open long enough, or there is another way."""
    rules = [{"name": "w", "event_types": ["Redeploy"], "action": "prepare_and_approve", "start": "window"}, AT_ONCE]
    first, second = event("E1", "web_0", NOW + 30 * MINUTE), event("E2", "web_0", NOW + WEEK, event_type="Redeploy")
    made = Made(first, second, rules=rules, within="2h", **WINDOW)
    assert made.waves == ["09:00 h0"]
    assert made.reason("E2") == (
        "held until Wed 2026-11-18 10:00 UTC: its hosts are taken through event E1 before; last safe start Wed 2026-11-25 08:57:30 UTC"
    )
    nightly = Made(first, second, rules=rules, within="2h", period="7d", **WINDOW)
    assert nightly.reason("E1") == (
        "refused: what it is tied to does not begin before Wed 2026-11-18 10:00 UTC, and it had to begin by "
        "Wed 2026-11-18 09:27:30 UTC; Azure starts at Wed 2026-11-18 09:30 UTC"
    )
    assert nightly.waves == ["10:00 h0"]


def test_for_whom_the_wave_before_takes_the_whole_window_there_is_the_next_one() -> None:
    rules = [
        {**APPROVED, "name": "slow", "prepare_budget": "90m", "event_types": ["Redeploy"]},
        {**APPROVED, "name": "w", "start": "window"},
    ]
    slow = event("E1", "web_0", NOW + 2 * HOUR + 50 * MINUTE, event_type="Redeploy")
    made = Made(slow, event("E2", "web_1", NOW + WEEK), rules=rules, within="2h", max_unavailable=2, **WINDOW)
    assert made.waves == ["09:00 h0"]
    assert made.reason("E2").startswith("held until Thu 2026-11-19 10:00 UTC: there is no room left for it in the window")


def test_who_finds_no_room_until_it_is_too_late_is_refused_with_those_who_take_it() -> None:
    """Its own group has no room while others are taken through theirs."""
    told = {"h5": status(problems=["no quorum"])}
    slow = {**APPROVED, "name": "slow", "event_types": ["Redeploy"], "prepare_budget": "60m"}
    events = [event("E1", "web_0", NOW + 70 * MINUTE, event_type="Redeploy"), event("E2", "web_1", NOW + 75 * MINUTE)]
    made = Made(
        *events, rules=[slow, AT_ONCE], told=told, groups={"db": {"min_available": 0, "max_unavailable": 1}}, db="h1 h5", max_unavailable=3
    )
    assert made.waves == ["09:00 h0"]
    assert made.reason("E2") == (
        "refused: 2 of the group db would be out beside h5 (no quorum), and at most 1 may be, and it had to begin by "
        "Wed 2026-11-18 10:12:30 UTC; Azure starts at Wed 2026-11-18 10:15 UTC"
    )


def test_nobody_is_prepared_days_ahead_because_of_another_event() -> None:
    rules = [{"name": "wait", "event_types": ["Redeploy"], "action": "prepare"}, AT_ONCE]
    made = Made(event("E1", "web_0"), event("E2", "web_0", NOW + 5 * HOUR, event_type="Redeploy"), rules=rules, within="5h")
    assert (made.waves, made.entry("E2")["place"]) == (["09:00 h0"], "held")


def test_for_whom_the_window_is_too_short_there_is_the_next_one() -> None:
    rules = [{"name": "w", "action": "prepare_and_approve", "start": "window"}]
    now = NOW + HOUR
    made = Made(*(event("E%d" % number, "web_%d" % number, NOW + WEEK) for number in range(3)), rules=rules, now=now, **WINDOW)
    assert made.waves == ["10:00 h0", "10:19 h1"]
    assert made.reason("E2") == (
        "held until Thu 2026-11-19 10:00 UTC: there is no room left for it in the window that is open; "
        "last safe start Wed 2026-11-25 08:57:30 UTC"
    )
    only = [{"name": "w", "action": "approve", "start": "window"}]
    soon = Made(*(event("E%d" % number, "web_%d" % number, NOW + 10 * HOUR) for number in range(4)), rules=only, now=now, **WINDOW)
    assert soon.reason("E3").startswith("refused: there is no room left for it in the window that is open, and no other one opens in time")


@pytest.mark.parametrize("forks", [1, 2])
def test_the_window_is_open_until_the_last_host_is_ready(forks: int) -> None:
    """Four hosts that wait for each other."""
    rules = [{"name": "w", "action": "prepare_and_approve", "start": "window", "prepare_budget": "10m"}]
    made = Made(event("E1", "web_0 web_1 web_2 web_3", NOW + WEEK), rules=rules, within="2h", max_unavailable=4, forks=forks, **WINDOW)
    assert made.waves == (["10:00 h0 h1 h2 h3"] if forks == 2 else [])
