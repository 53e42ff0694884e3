# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans as a run gets them: what is done about each event, in which wave, and what is said about it (`_plan`, `_planned`)."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import parse_instant
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import concerned, plan
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import DAY, HOUR, MINUTE
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    ANSWER,
    AT_ONCE,
    NOW,
    UNREACHABLE,
    answer,
    event,
    facing,
    failed,
    handler,
    heard,
    hold,
    hosts,
    listed,
    record,
    status,
    vm,
)

WEEK = 7 * DAY
TWO_AT_ONCE = {"rules": [AT_ONCE], "max_unavailable": 2}
IN_THE_NIGHT: Dict[str, Any] = {
    "rules": [{"name": "night", "action": "prepare_and_approve", "start": "window"}],
    "windows": [{"from": "22:00", "to": "04:00", "timezone": "Europe/Berlin"}],
}


def fleet(count: int, *events: Mapping[str, Any], **variables: Any) -> Dict[str, Dict[str, Any]]:
    """Hosts h0, h1, ... of one scope, that are the VMs web_0, web_1, ...; each has a handler for a minute."""
    told = {"status": status(), "rolling_maintenance_scope": "s", **variables}
    return {"h%d" % number: heard("web_%d" % number, *events, **told) for number in range(count)}


def planned(hostvars: Mapping[str, Mapping[str, Any]], outside: str = "", **given: Any) -> Dict[str, Any]:
    return plan(hosts(hostvars, outside=outside.split()), facing(**given))


def entry(made: Mapping[str, Any], event_id: str = "E1") -> Dict[str, Any]:
    (found,) = [one for one in made["events"] if one["event"]["event_id"] == event_id]
    return dict(found)


def waves(made: Mapping[str, Any]) -> List[Any]:
    """When each begins, and its hosts."""
    return [(wave["begin"][11:16], " ".join(wave["hosts"])) for wave in made["waves"]]


def places(made: Mapping[str, Any]) -> Dict[str, str]:
    return {one["event"]["event_id"]: one["place"] for one in made["events"]}


# --- one event -----------------------------------------------------------------------------------------------------------


def test_what_is_due_has_all_that_a_run_needs_to_know() -> None:
    made = planned(fleet(3, event(names="WEB_0")), rules=[AT_ONCE])
    assert entry(made) == {
        "key": "e1|5ub|rg",
        "event": event(names="WEB_0"),
        "place": "waves",
        "reason": "wave 1 at Wed 2026-11-18 09:00 UTC: rule at once, start now; last safe start Wed 2026-11-18 09:57:30 UTC",
        "rule": "at once",
        "action": "prepare_and_approve",
        "approves": True,
        "prepares": True,
        "hosts": ["h0"],
        "vm_names": {"h0": "WEB_0"},
        "vm_ids": {"h0": "id of web_0"},
        "unmanaged": [],
        "known_outside": [],
        "allowed_unready": [],
        "realm": {"subscription": "5ub", "resource_group": "rg"},
        "scope": "scope s",
        "seen_by": ["h0", "h1", "h2"],
        "notes": [],
        "start_at": "2026-11-18T09:00:00Z",
        "due_at": None,
        "not_before": "2026-11-18T10:00:00Z",
        "last_safe_start": "2026-11-18T09:57:30Z",
        "latest": "2026-11-18T09:57:30Z",
        "budget": 60.0,
        "clock_error": 30.0,
        "needs_deletion": False,
        "window": None,
        "over_capacity": False,
        "late": False,
        "policy_hash": made["policy_hash"],
        "decision": {
            "action": "prepare_and_approve",
            "reason": "due now: rule at once, start now; last safe start Wed 2026-11-18 09:57:30 UTC",
            "refused": None,
            "configuration_error": None,
            "capped": False,
            "outside_window": False,
            "want": "2026-11-18T09:00:00Z",
            "start_at": "2026-11-18T09:00:00Z",
            "ready_by": "2026-11-18T09:58:30Z",
            "window_opens": None,
            "window_closes": None,
            "prepare_within": 60.0,
            "prepare_budget": 60.0,
            "approve_reserve": 60.0,
        },
        "witnesses": ["h1", "h2", "h0"],
        "wave": 1,
        "component": "1.1",
    }
    assert made["waves"] == [
        {
            "number": 1,
            "begin": "2026-11-18T09:00:00Z",
            "ready": "2026-11-18T09:01:00Z",
            # A minute to prepare, one to approve, ten for the reboot, five to be back, two to recover, ten seconds to settle.
            "after": 1090.0,
            "end": "2026-11-18T09:19:10Z",
            "hosts": ["h0"],
            "guard": "h1",
            "batch": ["h0", "h1"],
            "components": [
                {
                    "name": "1.1",
                    "hosts": ["h0"],
                    "events": ["e1|5ub|rg"],
                    "witnesses": ["h1", "h2", "h0"],
                    "approves": True,
                    "over_capacity": False,
                }
            ],
        }
    ]
    assert (made["made_at"], made["changed"], made["due_next"], made["due_next_event"]) == ("2026-11-18T09:00:00Z", None, None, None)
    assert made["counts"] == {"waves": 1, "held": 0, "refused": 0, "running": 0, "left": 0}


def test_what_is_a_week_away_is_held_and_the_plan_says_until_when() -> None:
    made = planned(fleet(2, event(not_before=NOW + WEEK), event("E2", "web_1", NOW + WEEK + HOUR)))
    assert places(made) == {"E1": "held", "E2": "held"}
    assert entry(made)["reason"] == (
        "held until Wed 2026-11-25 08:57:30 UTC: rule disruption, as late as is safe; last safe start Wed 2026-11-25 08:57:30 UTC"
    )
    assert (made["due_next"], made["due_next_event"]) == ("2026-11-25T08:55:30Z", "E1")
    assert (made["waves"], entry(made)["wave"], entry(made)["budget"]) == ([], None, 60.0)


def test_a_run_of_every_night_takes_on_what_the_next_one_would_be_too_late_for() -> None:
    """W-54: it waits no longer than it may, and so the approval is given early."""
    made = planned(fleet(2, event(not_before=NOW + 20 * HOUR)), period="1d", within="30m")
    assert waves(made) == [("09:30", "h0")]
    assert planned(fleet(2, event(not_before=NOW + WEEK)), period="1d")["due_next"] == "2026-11-24T08:55:30Z"


def test_what_only_waits_for_azure_is_not_prepared_hours_too_early() -> None:
    rule = {"name": "wait", "event_types": ["Reboot"], "action": "prepare"}
    made = planned(fleet(2, event(not_before=NOW + 20 * HOUR)), period="1d", rules=[rule])
    assert entry(made)["place"] == "refused"
    assert "raise rolling_maintenance_within" in entry(made)["reason"]


def test_a_window_that_opens_in_this_run_is_waited_for() -> None:
    made = planned(fleet(2, event(not_before=NOW + WEEK)), within="13h", **IN_THE_NIGHT)
    assert waves(made) == [("21:00", "h0")]
    assert entry(made)["reason"] == (
        "wave 1 at Wed 2026-11-18 22:00 Europe/Berlin: rule night, window; last safe start Wed 2026-11-25 09:57:30 Europe/Berlin"
    )
    assert entry(made)["window"]["timezone"] == "Europe/Berlin"


def test_what_is_hit_already_is_watched_and_waits_for_nobody() -> None:
    made = planned(fleet(2, event(event_status="Started")))
    assert (entry(made)["place"], entry(made)["action"], entry(made)["start_at"]) == ("running", "watch", None)
    assert (made["waves"], concerned(hosts(fleet(2, event(event_status="Started"))), facing())) == ([], [])


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"event_type": "Freeze", "duration_seconds": 5}, "left"),
        ({"names": "nobody"}, "left"),
        ({"event_type": "GuestImage"}, "refused"),
        ({"not_before": NOW + 30, "event_type": "Preempt"}, "refused"),
        ({"names": "web_0 stranger", "event_source": "User"}, "refused"),
    ],
)
def test_what_is_not_for_us_is_left_or_refused(fields: Dict[str, Any], place: str) -> None:
    made = planned(fleet(2, event(**fields)))
    assert entry(made)["place"] == place
    assert made["counts"][place] == 1


def test_a_deletion_and_what_nobody_knows_are_only_hastened_with_a_word_for_it() -> None:
    rule = {"name": "end", "event_types": ["Terminate"], "action": "approve", "approve_deletion": True, "start": "now"}
    made = planned(fleet(2, event(event_type="Terminate")), rules=[rule])
    assert (entry(made)["place"], entry(made)["needs_deletion"]) == ("waves", True)
    assert (entry(made)["budget"], entry(made)["prepares"]) == (0.0, False)
    prepared = planned(fleet(2, event(event_type="Terminate")))
    assert (entry(prepared)["place"], entry(prepared)["needs_deletion"]) == ("waves", False)


def test_a_vm_that_may_be_hit_unprepared_counts_as_out_if_the_inventory_knows_it() -> None:
    """W-53: it is not in this run, and goes down with the others."""
    hostvars = fleet(4, event(names="web_0 Web_3"))
    given = {"rules": [AT_ONCE], "allow_unmanaged": "WEB_3"}
    made = planned(hostvars, "h3", max_unavailable=2, **given)
    assert (entry(made)["unmanaged"], entry(made)["allowed_unready"], waves(made)) == (["Web_3"], ["Web_3"], [("09:00", "h0")])
    assert "2 of all hosts are hit together, and at most 1 may be out" in entry(planned(hostvars, "h3", **given))["reason"]
    assert entry(planned(hostvars, "h3", rules=[AT_ONCE]))["place"] == "refused"


# --- several of them -----------------------------------------------------------------------------------------------------


def test_waves_come_one_after_the_other_when_only_one_host_may_be_out() -> None:
    made = planned(fleet(4, event(), event("E2", "web_1"), event("E3", "web_2")), rules=[AT_ONCE])
    assert waves(made) == [("09:00", "h0"), ("09:19", "h1"), ("09:38", "h2")]
    assert [wave["guard"] for wave in made["waves"]] == ["h3", None, None]
    assert entry(made, "E3")["component"] == "3.1"


def test_whoever_fits_beside_shares_a_wave_and_keeps_his_own_component() -> None:
    made = planned(fleet(4, event(), event("E2", "web_1"), event("E3", "web_2")), **TWO_AT_ONCE)
    assert waves(made) == [("09:00", "h0 h1"), ("09:19", "h2")]
    assert [component["name"] for component in made["waves"][0]["components"]] == ["1.1", "1.2"]


def test_hosts_that_are_tied_by_events_are_one_component() -> None:
    made = planned(
        fleet(5, event(names="web_0 web_1"), event("E2", "web_1 web_2"), event("E3", "web_3")), rules=[AT_ONCE], max_unavailable=4
    )
    assert [component["hosts"] for component in made["waves"][0]["components"]] == [["h0", "h1", "h2"], ["h3"]]
    assert made["waves"][0]["components"][0]["events"] == ["e1|5ub|rg", "e2|5ub|rg"]


def test_an_event_of_next_week_ties_nobody() -> None:
    """W-23."""
    made = planned(fleet(3, event(event_source="User"), event("E2", "web_0 web_1", NOW + WEEK)))
    assert (waves(made), entry(made, "E2")["place"]) == ([("09:00", "h0")], "held")


def test_more_than_may_be_out_together_is_prepared_alone_and_not_approved() -> None:
    """W-51."""
    together = event(names="web_0 web_1 web_2", event_source="User", not_before=NOW + 5 * MINUTE)
    made = planned(fleet(5, together, event("E2", "web_3", event_source="User")), within="10m")
    flagged = entry(made)
    assert flagged["reason"] == (
        "wave 1 at Wed 2026-11-18 09:03:30 UTC: 3 of all hosts are hit together, and at most 1 may be out, "
        "so it is prepared and not approved; Azure starts at Wed 2026-11-18 09:05 UTC"
    )
    assert (flagged["action"], flagged["approves"], flagged["over_capacity"]) == ("prepare", False, True)
    assert [(wave["hosts"], wave["components"][0]["over_capacity"]) for wave in made["waves"]] == [
        (["h0", "h1", "h2"], True),
        (["h3"], False),
    ]


def test_an_event_that_would_leave_too_few_is_not_touched() -> None:
    """W-51: what must stay in service stays, whoever has to be hit unprepared."""
    made = planned(fleet(3, event(names="web_0 web_1 web_2", event_source="User")))
    assert entry(made)["reason"] == (
        "refused: 3 of all hosts are hit together, there are 3, and 1 must stay; Azure starts at Wed 2026-11-18 10:00 UTC"
    )


def test_five_that_come_at_the_same_time_in_a_quarter_of_an_hour_are_refused_with_the_times() -> None:
    """W-52."""
    soon = [event("E%d" % number, "web_%d" % number, NOW + 15 * MINUTE) for number in range(5)]
    made = planned(fleet(7, *soon), rules=[AT_ONCE])
    assert set(places(made).values()) == {"refused"}
    assert entry(made, "E0")["reason"] == (
        "refused: 5 of all hosts would be out beside h1 (event E1 starts at Wed 2026-11-18 09:15 UTC), h2 (event E2 starts at "
        "Wed 2026-11-18 09:15 UTC), h3 (event E3 starts at Wed 2026-11-18 09:15 UTC), h4 (event E4 starts at "
        "Wed 2026-11-18 09:15 UTC), and at most 1 may be; Azure starts at Wed 2026-11-18 09:15 UTC"
    )


def test_five_that_come_at_the_same_time_in_hours_begin_early_enough_for_each_other() -> None:
    later = [event("E%d" % number, "web_%d" % number, NOW + 3 * HOUR) for number in range(5)]
    made = planned(fleet(7, *later))
    assert (made["due_next"], made["due_next_event"]) == ("2026-11-18T10:38:50Z", "E0")
    assert "4 after it, one after the other" in entry(made, "E0")["reason"]
    made = planned(fleet(7, *later), within="3h")
    assert waves(made) == [("10:40", "h0"), ("11:00", "h1"), ("11:19", "h2"), ("11:38", "h3"), ("11:57", "h4")]


# --- what else is wrong --------------------------------------------------------------------------------------------------


def test_hosts_whose_events_nobody_knows_are_named() -> None:
    hostvars = {**fleet(2), "dark": {**listed("web_8"), ANSWER: UNREACHABLE}, "outside": listed("web_9")}
    assert planned(hostvars, "outside")["blind"] == ["dark"]


def test_what_is_wrong_in_the_inventory_is_said_whether_an_event_comes_or_not() -> None:
    again = {**listed("web_0"), "vmid": "old", ANSWER: answer(who=vm("web_0"))}
    made = planned({**fleet(1), "again": again}, groups={"wbe": {"max_unavailable": 1}, "web": {"max_unavailable": 2}})
    assert made["conflicts"] == [
        "again says that it is the VM with the id id of web_0, and the inventory has old: refresh the inventory",
        "again, h0 are one VM to Azure: correct the inventory, or leave all but one out",
        "the group wbe of rolling_maintenance_groups has no host, so its bounds hold for nobody",
    ]
    assert planned(fleet(2))["conflicts"] == []


# --- the digest ----------------------------------------------------------------------------------------------------------


def test_a_plan_that_was_approved_is_carried_out_also_some_time_later() -> None:
    hostvars = fleet(3, event(), event("E2", "web_1"), event("E3", "web_2", NOW + WEEK, event_source="Platform"))
    digest = planned(hostvars, **TWO_AT_ONCE)["digest"]
    again = planned(hostvars, now=NOW + 10 * MINUTE, plan_digest=digest, **TWO_AT_ONCE)
    assert (again["digest"], again["changed"], len(again["waves"])) == (digest, None, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"names": "web_0 web_1"},
        {"event_type": "Redeploy"},
        {"event_id": "E7"},
    ],
)
def test_another_plan_than_the_approved_one_touches_nothing(change: Dict[str, Any]) -> None:
    digest = planned(fleet(3, event()), **TWO_AT_ONCE)["digest"]
    made = planned(fleet(3, event(**change)), plan_digest=digest, **TWO_AT_ONCE)
    assert made["digest"] != digest
    assert made["changed"] == (
        "the plan has changed since it was approved; look at the new one, and approve its digest %s" % made["digest"]
    )
    (found,) = made["events"]
    assert (made["waves"], found["place"], found["wave"], found["component"]) == ([], "refused", None, None)
    assert found["reason"] == "refused: %s; Azure starts at Wed 2026-11-18 10:00 UTC" % made["changed"]


def test_what_runs_already_and_what_is_held_stays_so_when_the_plan_has_changed() -> None:
    made = planned(fleet(3, event(event_status="Started"), event("E2", "web_1", NOW + WEEK)), plan_digest="0" * 64)
    assert places(made) == {"E1": "running", "E2": "held"}
    assert made["changed"] is not None


# --- capacity, for a gate ------------------------------------------------------------------------------------------------


def test_a_gate_is_told_whom_to_count_as_long_as_they_are_not_too_many() -> None:
    hostvars = {**fleet(2, event()), "ill": heard("web_8", status=status(problems=["no quorum"]))}
    made = planned(hostvars, rules=[AT_ONCE], max_unavailable=2)
    assert made["capacity"] == {
        "limits": [{"name": "", "hosts": 3, "most_out": 2, "least_in": 1}],
        "groups": {"h0": [0], "h1": [0], "ill": [0]},
        "asked_again": ["h0", "h1"],
        "out": {"ill": {"why": "no quorum", "event": None}},
    }
    fewer = planned(hostvars, rules=[AT_ONCE], max_unavailable=2, recount_at_most=2)
    assert sorted(fewer["capacity"]["groups"]) == ["h0", "ill"]
    assert fewer["capacity"]["asked_again"] == ["h0"]


def test_a_gate_knows_the_groups_of_whoever_is_hit_and_asks_only_those_of_a_wave() -> None:
    """Where everybody may be out nobody is asked, and still a host of another group takes no room of this one."""
    hostvars = {
        "db1": {**heard("db_1", event(names="db_1"), status=status(), rolling_maintenance_scope="s"), "group_names": ["db"]},
        "web1": {**heard("web_1", event("E2", "web_1"), status=status(handlers_configured=[])), "group_names": ["web"]},
    }
    groups = {"db": {"max_unavailable": 1, "min_available": 0}, "web": {"max_unavailable": 1, "min_available": 0}}
    made = planned(hostvars, rules=[AT_ONCE], max_unavailable="100%", min_available=0, groups=groups)
    assert places(made) == {"E1": "waves", "E2": "refused"}
    assert made["capacity"]["groups"] == {"db1": [0, 1], "web1": [0, 2]}
    assert made["capacity"]["asked_again"] == ["db1"]


# --- whom to ask ---------------------------------------------------------------------------------------------------------


def asked(hostvars: Mapping[str, Mapping[str, Any]], **given: Any) -> List[str]:
    return concerned(hosts(hostvars), facing(**given))


def silent(count: int, *events: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Nobody has been asked for his own state yet."""
    return {"h%d" % number: heard("web_%d" % number, *events, rolling_maintenance_scope="s") for number in range(count)}


def test_nobody_is_asked_while_nothing_is_announced_that_anybody_would_do() -> None:
    assert asked(silent(3)) == []
    assert asked(silent(3, event(event_type="Freeze", duration_seconds=5))) == []


def test_whose_event_is_held_is_asked_how_long_its_handlers_take() -> None:
    """They decide when it becomes due; whom capacity counts does not matter yet."""
    assert asked(silent(3, event(not_before=NOW + WEEK))) == ["h0"]
    slow = status(handlers_configured=[handler(limit=20 * MINUTE)])
    hostvars = {**silent(2, event(not_before=NOW + 3 * HOUR)), "h0": heard("web_0", event(not_before=NOW + 3 * HOUR), status=slow)}
    made, usual = planned(hostvars), planned(silent(2, event(not_before=NOW + 3 * HOUR)))
    assert parse_instant(entry(usual)["due_at"]) - parse_instant(entry(made)["due_at"]) == 15 * MINUTE


def test_everybody_is_asked_who_counts_when_something_is_due() -> None:
    assert asked(silent(3, event(event_source="User"))) == ["h0", "h1", "h2"]
    # Where everybody may be out nobody else counts.
    assert asked(silent(3, event(event_source="User")), max_unavailable="100%", min_available=0) == ["h0"]
    groups = {"groups": {"db": {"max_unavailable": 1, "min_available": 0}}}
    hostvars = {**silent(3, event(event_source="User")), "db1": {**heard("db_1"), "group_names": ["db"]}}
    assert asked(hostvars, max_unavailable="100%", min_available=0, **groups) == ["h0"]


def test_who_has_not_been_asked_is_refused() -> None:
    made = planned(silent(2, event(event_source="User")))
    assert entry(made)["reason"].startswith("refused: nobody has asked h0 for its state")


# --- what hosts say of themselves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "place", "words"),
    [
        (status(hold=hold(NOW + 10 * MINUTE)), "held", "held until Wed 2026-11-18 09:10 UTC: h0 is held by ann"),
        (status(record("STAYING")), "refused", "h0 was not ready in time"),
        (status(handlers_configured=[]), "refused", "h0 has no handler for Reboot"),
        (UNREACHABLE, "refused", "h0 cannot be reached"),
        (failed("it hangs"), "refused", "h0 does not say its state: it hangs"),
        (status(handlers_configured=[handler(limit=2 * HOUR)]), "waves", "late, 59 min 30 s to prepare"),
    ],
)
def test_what_a_host_says_of_itself_decides(told: Optional[Mapping[str, Any]], place: str, words: str) -> None:
    made = planned({**fleet(2, event()), "h0": heard("web_0", event(), status=told, rolling_maintenance_scope="s")}, rules=[AT_ONCE])
    assert entry(made)["place"] == place
    assert words in entry(made)["reason"]
