# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which events there are, whom they name, and what counts where answers differ (C-20, C-21)."""

from __future__ import annotations

import itertools
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import ANSWER
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._sightings import Sighting, blind, sightings
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    HOUR,
    NB,
    REALM,
    UNREACHABLE,
    answer,
    event,
    failed,
    heard,
    hosts,
    listed,
    seen,
    vm,
)


def one(hostvars: Dict[str, Dict[str, Any]], *, outside: Sequence[str] = ()) -> Sighting:
    (found,) = seen(hostvars, outside=outside)
    return found


def pair(*first: Dict[str, Any], other: Sequence[Dict[str, Any]] = ()) -> Dict[str, Dict[str, Any]]:
    """What two hosts of one scope are shown."""
    return {
        "h0": heard("web_0", *first, rolling_maintenance_scope="set"),
        "h1": heard("web_1", *other, rolling_maintenance_scope="set"),
    }


def differing(field: str, ours: Any, theirs: Any, **same: Any) -> Sighting:
    return one(pair(event(**same, **{field: ours}), other=[event(**same, **{field: theirs})]))


# Whom an event names


def test_an_event_names_the_hosts_whose_vms_it_lists() -> None:
    """Whole names without case: web_1 is not web_10 (C-20)."""
    found = one({"h1": heard("web_1", event(names="WEB_1 web_10")), "h10": heard("Web_10"), "h2": heard("web_2"), "h0": heard("web_0")})
    assert [host.name for host in found.hosts] == ["h1", "h10"]
    assert (found.key, found.realm, found.scope, found.seen_by) == (("e1", *REALM), REALM, "host h1", ("h1",))
    assert (found.unmanaged, found.doubles, found.known_outside, found.notes) == ((), (), (), ())


def test_a_name_that_is_listed_twice_is_one_vm() -> None:
    found = one({"h0": heard("web_0", event(names="web_0 WEB_0 other Other"))})
    assert [host.name for host in found.hosts] == ["h0"]
    assert found.unmanaged == ("other",)


def test_what_no_host_of_the_run_belongs_to_is_unmanaged() -> None:
    """W-53: after --limit; the inventory knows some of them."""
    hostvars = {"h0": heard("web_0", event(names="web_0 web_1 Web_2 stranger")), "h1": listed("web_1"), "h2": heard("web_2", event("E2"))}
    found = one(hostvars, outside=["h1", "h2"])
    assert [host.name for host in found.hosts] == ["h0"]
    assert (found.unmanaged, found.known_outside) == (("web_1", "Web_2", "stranger"), ("h1", "h2"))


def test_one_name_in_two_resource_groups_is_two_vms() -> None:
    """W-30: a name is looked up in the resource group of the host that was shown it."""
    hostvars = {
        "a": heard("app_0", event(names="app_0")),
        "b": {**listed("app_0", group="two"), ANSWER: answer(who=vm("app_0", group="two"))},
        "c": {**listed("app_1", group="two"), ANSWER: answer(event(names="app_0 app_1"), who=vm("app_1", group="two"))},
    }
    first, second = sorted(seen(hostvars), key=lambda found: found.realm)
    assert (first.realm, [host.name for host in first.hosts], first.unmanaged) == (("5ub", "rg"), ["a"], ())
    assert (second.realm, [host.name for host in second.hosts], second.unmanaged) == (("5ub", "two"), ["b", "c"], ())


def test_a_host_whose_name_at_azure_nobody_knows_is_named_by_nothing() -> None:
    found = one({"h0": heard("web_0", event(names="web_0 h1")), "h1": {}})
    assert ([host.name for host in found.hosts], found.unmanaged) == (["h0"], ("h1",))


def test_two_hosts_that_are_one_vm_are_said() -> None:
    hostvars = {"b": listed("web_1"), "a": heard("web_1", event(names="web_1 web_2")), "c": listed("Web_2"), "d": listed("web_2")}
    found = one(hostvars)
    assert [host.name for host in found.hosts] == ["a", "b", "c", "d"]
    assert found.doubles == (("a", "b"), ("c", "d"))


# Which events there are


def test_events_come_by_their_not_before_whoever_was_shown_them_first() -> None:
    events = [event("C", not_before=NB + 60), event("B", not_before=NB), event("a", not_before=NB), event("Z", event_status="Started")]
    for order in itertools.permutations(events):
        assert [found.event.event_id for found in seen({"h0": heard("web_0", *order)})] == ["Z", "a", "B", "C"]


def test_nothing_is_seen_where_nobody_has_answered() -> None:
    assert seen({"a": {}, "b": {**listed("web_1"), ANSWER: UNREACHABLE}, "c": heard("web_2")}) == ()
    assert sightings(()) == ()


def test_what_is_shown_outside_the_run_is_not_looked_at() -> None:
    assert seen({"a": heard("web_0", event())}, outside=["a"]) == ()


def test_the_same_event_at_several_hosts_is_one() -> None:
    """C-18: ids and names have no case."""
    found = one(pair(event("E1", "web_0 web_1"), other=[event("e1", "WEB_1 Web_0")]))
    assert (found.event.event_id, found.event.resources, found.seen_by, found.notes) == ("E1", ("web_0", "web_1"), ("h0", "h1"), ())


def test_the_order_of_the_answers_changes_nothing() -> None:
    hostvars = pair(event(names="web_0 web_1", not_before=NB + 60), event("E2"), other=[event(names="web_1 x"), event("E3")])
    backwards = dict(reversed(list(hostvars.items())))
    assert seen(backwards) == seen(hostvars)


# Where answers differ (C-21)


def test_an_event_that_a_peer_was_not_shown_is_there_all_the_same() -> None:
    assert one(pair(event())).notes == ("h1 was not shown it",)
    third = {**pair(event()), "h2": heard("web_2", rolling_maintenance_scope="set"), "h3": heard("web_3")}
    assert one(third).notes == ("h1, h2 were not shown it",)


def test_a_peer_that_did_not_answer_misses_nothing() -> None:
    hostvars = pair(event())
    hostvars["h1"][ANSWER] = failed("No answer.")
    assert one(hostvars).notes == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "joined"),
    [
        ("Scheduled", "Started", "Started"),
        ("STARTED", "Scheduled", "STARTED"),
        ("Scheduled", "Paused", "Paused"),
        ("Paused", "Halted", "Halted"),
        ("Started", "Paused", "Started"),
    ],
)
def test_what_one_has_seen_started_has_started(ours: str, theirs: str, joined: str) -> None:
    """C-15: an event never goes back; what nobody understands is not Scheduled either."""
    found = differing("event_status", ours, theirs)
    assert found.event.event_status == joined
    assert found.event.not_before == (None if joined.lower() == "started" else NB)
    assert found.notes == ("h0 and h1 disagree on its status, %s counts" % joined,)


def test_a_type_on_which_hosts_disagree_is_none_that_a_rule_can_name() -> None:
    found = differing("event_type", "Redeploy", "Freeze")
    assert found.event.event_type == "Freeze or Redeploy"
    assert found.notes == ("h0 and h1 disagree on its type",)


def test_of_different_resources_all_count() -> None:
    """W-10: an approval holds for each of them."""
    found = differing("names", "web_0 web_1", "WEB_1 web_2")
    assert found.event.resources == ("web_0", "web_1", "web_2")
    assert found.unmanaged == ("web_2",)
    assert found.notes == ("h0 and h1 disagree on its Resources, all of them count",)


@pytest.mark.parametrize(
    ("ours", "theirs", "joined", "said"),
    [
        (NB, NB + HOUR, NB, "Wed 2026-11-18 10:00 UTC"),
        (NB + HOUR, NB, NB, "Wed 2026-11-18 10:00 UTC"),
        (NB, None, None, "none at all"),
    ],
)
def test_of_two_not_befores_the_earlier_one_counts(ours: float, theirs: Optional[float], joined: Optional[float], said: str) -> None:
    found = differing("not_before", ours, theirs)
    assert found.event.not_before == joined
    assert found.notes == ("h0 and h1 disagree on its NotBefore, %s counts" % said,)


@pytest.mark.parametrize(("ours", "theirs", "joined"), [(5, 9, 9), (9, 5, 9), (5, None, None), (0, 3600, 3600)])
def test_of_two_durations_the_longer_one_counts_and_unknown_is_the_longest(ours: Any, theirs: Any, joined: Any) -> None:
    found = differing("duration_seconds", ours, theirs)
    assert found.event.duration_seconds == joined
    assert found.notes == ("h0 and h1 disagree on its source or its duration, what is longer or unknown counts",)


@pytest.mark.parametrize(("ours", "theirs", "joined"), [("User", "Platform", None), ("User", None, None), ("User", "USER", "User")])
def test_a_source_on_which_hosts_disagree_is_unknown(ours: Any, theirs: Any, joined: Any) -> None:
    assert differing("event_source", ours, theirs).event.event_source == joined


def test_what_several_disagree_on_is_said_of_each_thing_once() -> None:
    hostvars = pair(event(names="web_0"), other=[event(names="web_1", event_type="Freeze", event_status="Started", duration_seconds=None)])
    hostvars["h2"] = heard("web_2", event(names="web_2"), rolling_maintenance_scope="set")
    found = one(hostvars)
    who = "h0 and h1 and h2 disagree"
    assert found.notes == (
        "%s on its type" % who,
        "%s on its status, Started counts" % who,
        "%s on its Resources, all of them count" % who,
        "%s on its source or its duration, what is longer or unknown counts" % who,
    )
    assert (found.event.event_type, found.event.not_before, found.event.duration_seconds) == ("Freeze or Reboot", None, None)


# Of whom nobody knows anything


@pytest.mark.parametrize(
    ("answers", "dark"),
    [
        ({"a": None, "b": None}, ["a", "b"]),
        ({"a": UNREACHABLE, "b": failed("No answer.")}, ["a", "b"]),
        ({"a": UNREACHABLE, "b": answer()}, []),
    ],
)
def test_hosts_of_a_scope_in_which_nobody_has_answered_are_blind(answers: Dict[str, Any], dark: List[str]) -> None:
    hostvars = {name: {**listed(name), "rolling_maintenance_scope": "set", ANSWER: result} for name, result in answers.items()}
    found: Tuple[Any, ...] = blind(hosts({**hostvars, "c": heard("web_2"), "d": {}}, outside=["d"]))
    assert [host.name for host in found] == dark
