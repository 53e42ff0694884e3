# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who counts as out of service and why, and whether there is room for more."""

from __future__ import annotations

import json
import math
from typing import Any, Collection, Dict, List, Optional, Sequence, Set, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._capacity import (
    EVERYBODY,
    OUT,
    EventKey,
    Hit,
    Limit,
    Reason,
    Room,
    capacity_result,
    deleted,
    groups_of,
    hits_of,
    limits_in,
    limits_of,
    out_of_service,
    reason_of,
)
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import STATUS, status_in
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.dice import Dice, thrown
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    HOUR,
    KEY,
    NB,
    NOW,
    REALM,
    UNREACHABLE,
    event,
    facing,
    failed,
    handler,
    heard,
    hold,
    hosts,
    judged,
    listed,
    options,
    record,
    status,
)
from hypothesis import given

E1, E2, E3 = KEY, ("e2", *REALM), ("e3", *REALM)
NO_ROLE = failed("/usr/local/sbin/azure-event-handlers is not there: install it with the role cloud_maintenance.azure.event_handlers.")


def fleet(count: int, **groups: Sequence[int]) -> Any:
    """Hosts h0, h1, ... groups: the numbers of those that are in each."""
    members = {"h%d" % number: [name for name, numbers in groups.items() if number in numbers] for number in range(count)}
    return hosts({name: {**listed(name), "group_names": found} for name, found in members.items()})


# Bounds


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [Limit(EVERYBODY, 10, 1, 1)]),
        ({"max_unavailable": "25%", "min_available": "25%"}, [Limit(EVERYBODY, 10, 2, 3)]),
        ({"max_unavailable": 0, "min_available": 0}, [Limit(EVERYBODY, 10, 0, 0)]),
        (
            {"groups": {"web": {"max_unavailable": "50%"}, "db": {"min_available": 2}, "none": {"min_available": 1}}},
            [Limit(EVERYBODY, 10, 1, 1), Limit("db", 3, 1, 2), Limit("none", 0, 1, 1), Limit("web", 5, 2, 1)],
        ),
    ],
)
def test_all_hosts_and_each_group_have_bounds(given: Dict[str, Any], expected: List[Limit]) -> None:
    assert list(limits_of(fleet(10, web=range(5), db=(0, 8, 9)), options(**given), ())) == expected


def test_hosts_of_the_inventory_count_that_are_not_in_the_run() -> None:
    """W-39: the users of a service do not know of --limit."""
    found = hosts({"h0": listed("web_0"), "h1": listed("web_1")}, outside=["h1"])
    assert limits_of(found, options(), ()) == (Limit(EVERYBODY, 2, 1, 1),)
    assert groups_of(found, limits_of(found, options(), ()), ()) == {"h0": (0,), "h1": (0,)}


def test_a_host_that_is_deleted_counts_nowhere() -> None:
    given = options(max_unavailable="50%", groups={"web": {"max_unavailable": "50%"}})
    limits = limits_of(fleet(4, web=(0, 1)), given, {"h1"})
    assert limits == (Limit(EVERYBODY, 3, 1, 1), Limit("web", 1, 1, 1))
    assert groups_of(fleet(4, web=(0, 1)), limits, {"h1"}) == {"h0": (0, 1), "h2": (0,), "h3": (0,)}


@pytest.mark.parametrize(("size", "least_in", "stay"), [(0, 1, 0), (1, 1, 0), (1, 5, 0), (2, 1, 1), (4, 9, 3), (4, 0, 0)])
def test_a_group_of_one_host_has_nobody_who_could_stay(size: int, least_in: int, stay: int) -> None:
    assert Limit("web", size, 1, least_in).must_stay == stay


# Who is out


@pytest.mark.parametrize(
    ("result", "why", "key"),
    [
        (status(), None, None),
        (UNREACHABLE, "cannot be reached", None),
        (failed("The task took too long."), "does not say its state", None),
        (NO_ROLE, None, None),
        (status(hold=hold(NOW + 1)), "held by ann", None),
        (status(hold=hold(NOW)), None, None),
        (status(problems=["The disk is full.", "More."]), "The disk is full", None),
        (status(broken=["x.json cannot be read."]), "x.json cannot be read", None),
        *((status(record(state)), "%s for event E1" % state, E1) for state in OUT),
        *((status(record(state)), None, None) for state in ("SEEN", "BACKED_OUT", "CLOSED", "FOREIGN")),
        (status(record("SEEN"), record("IMPACT", "E2")), "IMPACT for event E2", E2),
    ],
)
def test_why_a_host_is_out_by_what_it_says_of_itself(result: Any, why: Optional[str], key: Optional[EventKey]) -> None:
    """W-39, W-44, W-45: from the hosts' own records, at each gate; whoever hangs says nothing, and that is no yes."""
    found = status_in(result)
    assert found is not None
    assert reason_of(found, REALM, now=NOW) == (None if why is None else Reason(why, key))


def test_who_is_out_now() -> None:
    hostvars = {
        "a": heard("web_0", event("E1", "web_0 web_1 web_5", event_status="Started"), status=status(record("IMPACT", "E1"))),
        "b": heard("web_1", status=status(problems=["The disk is full."])),
        "c": heard("web_2", status=UNREACHABLE),
        "d": heard("web_3", event("E2", "web_3"), status=status(record("PREPARED", "E2"))),
        "e": heard("web_4", status=status()),
        "f": listed("web_5"),
        "g": listed("web_6"),
    }
    outside = ["f", "g"]
    found = out_of_service(hosts(hostvars, outside=outside), judged(hostvars, outside=outside), now=NOW)
    assert found == {
        "a": Reason("event E1 has started", E1),
        "b": Reason("event E1 has started", E1),
        "c": Reason("cannot be reached"),
        "d": Reason("PREPARED for event E2", E2),
        "f": Reason("event E1 has started", E1),
    }


@pytest.mark.parametrize(
    ("event_type", "event_status", "gone"),
    [
        ("Terminate", "Started", ["h0", "out"]),
        ("PREEMPT", "Started", ["h0", "out"]),
        ("Terminate", "Scheduled", []),
        ("Reboot", "Started", []),
    ],
)
def test_a_deletion_that_has_started_ends_a_host(event_type: str, event_status: str, gone: List[str]) -> None:
    hostvars = {"h0": heard("web_0", event(names="web_0 web_1", event_type=event_type, event_status=event_status)), "out": listed("web_1")}
    assert sorted(deleted(judged(hostvars, outside=["out"]))) == gone


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({}, NB),
        ({"not_before": None}, -math.inf),
        ({"event_type": "GuestImage"}, NB),
        ({"event_type": "Freeze", "duration_seconds": None}, NB),
        ({"event_type": "Freeze", "duration_seconds": 5}, None),
        ({"event_type": "FREEZE", "duration_seconds": 5}, None),
        ({"event_status": "Started"}, None),
        ({"event_status": "Paused"}, NB),
    ],
)
def test_what_is_still_to_come_hits_its_hosts(fields: Dict[str, Any], at: Optional[float]) -> None:
    """But a pause that a rule leaves to Azure keeps its host in service (C-14), and what has started is no more to come."""
    hostvars = {"h0": heard("web_0", event(names="web_0 web_1 web_2", **fields)), "out": listed("web_1")}
    found = hits_of(judged(hostvars, outside=["out"]))
    assert found == ([] if at is None else [Hit(at, "h0", E1), Hit(at, "out", E1)])


def test_a_reboot_that_a_rule_leaves_to_azure_hits_all_the_same() -> None:
    run = facing(rules=[{"event_types": ["Reboot"], "action": "ignore"}])
    assert hits_of(judged({"h0": heard("web_0", event())}, run)) == [Hit(NB, "h0", E1)]


# Room


def room(
    size: int = 10,
    *,
    most_out: int = 2,
    least_in: int = 1,
    web: Collection[str] = (),
    web_out: int = 1,
    out: Optional[Dict[str, Reason]] = None,
    hits: Sequence[Hit] = (),
    gone: Collection[str] = (),
) -> Room:
    """Hosts h0, h1, ...; some of them in a group."""
    names = ["h%d" % number for number in range(size) if "h%d" % number not in gone]
    limits = [Limit(EVERYBODY, len(names), most_out, least_in), Limit("web", len(web), web_out, least_in)]
    groups = {name: (0, 1) if name in web else (0,) for name in names}
    return Room(limits, groups, out or {}, hits)


def objection(found: Room, *names: str, number: int = 1, end: float = NB, alone: bool = False) -> Optional[str]:
    objected = found.objection(names, number=number, end=end, alone=alone)
    return None if objected is None else objected.why


REACH = Reason("cannot be reached")
READY = Reason("PREPARED for event E1", E1)


@pytest.mark.parametrize(
    ("found", "names", "why"),
    [
        (room(), ["h0", "h1"], None),
        (room(), ["h0", "h1", "h2"], "3 of all hosts would be out, and at most 2 may be"),
        (room(web=["h0", "h1", "h2"]), ["h0", "h3"], None),
        (room(web=["h0", "h1", "h2"]), ["h0", "h1"], "2 of the group web would be out, and at most 1 may be"),
        (room(2), ["h0", "h1"], "0 of the 2 hosts would be left, and 1 must stay"),
        (room(1), ["h0"], None),
        (room(4, most_out=4, least_in=3), ["h0", "h1"], "2 of the 4 hosts would be left, and 3 must stay"),
        # Beside those who are out.
        (room(out={"h9": REACH}), ["h0"], None),
        (room(out={"h9": REACH}), ["h0", "h1"], "3 of all hosts would be out beside h9 (cannot be reached), and at most 2 may be"),
        (
            room(3, out={"h2": REACH}),
            ["h0", "h1"],
            "0 of the 3 hosts would be left beside h2 (cannot be reached), and 1 must stay",
        ),
        (room(web=["h0", "h9"], out={"h9": REACH}), ["h1"], None),
        (
            room(3, most_out=9, least_in=0, web=["h0", "h1", "h2"], out={"h2": REACH}),
            ["h0"],
            "2 of the group web would be out beside h2 (cannot be reached), and at most 1 may be",
        ),
        # One of them is out already, and is not counted twice.
        (room(out={"h0": READY, "h9": REACH}), ["h0"], None),
        (room(out={"h0": REACH, "h1": REACH}), ["h0", "h1"], None),
        # Somebody whom nobody counts.
        (room(), ["stranger"], None),
        (room(out={"stranger": REACH}), ["h0", "h1"], None),
    ],
)
def test_whether_hosts_can_be_taken_out(found: Room, names: List[str], why: Optional[str]) -> None:
    assert objection(found, *names) == why


def test_of_many_that_are_out_some_are_named() -> None:
    found = room(20, most_out=9, out={"h1%d" % number: REACH for number in range(9)})
    named = ", ".join("h1%d (cannot be reached)" % number for number in range(5))
    assert objection(found, "h0", "h1") == "11 of all hosts would be out beside %s, 4 more, and at most 9 may be" % named


@pytest.mark.parametrize(
    ("at", "end", "number", "named"),
    [
        (NB, NB, 1, None),
        (NB - 1, NB, 1, "h9 (event E2 starts at Wed 2026-11-18 09:59:59 UTC)"),
        (NB - 1, NB, 7, "h9 (event E2 starts at Wed 2026-11-18 09:59:59 UTC)"),
        (-math.inf, NB, 1, "h9 (event E2 can start at any moment)"),
    ],
)
def test_what_is_hit_before_a_wave_ends_counts_as_out(at: float, end: float, number: int, named: Optional[str]) -> None:
    found = room(most_out=1, hits=[Hit(at, "h9", E2), Hit(NB + HOUR, "h9", E3)])
    expected = None if named is None else "2 of all hosts would be out beside %s, and at most 1 may be" % named
    assert objection(found, "h0", end=end, number=number) == expected
    assert objection(found, "h9", end=end, number=number) is None


def test_who_is_out_is_not_hit_a_second_time() -> None:
    found = room(out={"h9": REACH}, hits=[Hit(NOW, "h9", E2)])
    assert objection(found, "h0") is None
    assert objection(found, "h0", "h1") == "3 of all hosts would be out beside h9 (cannot be reached), and at most 2 may be"


def test_of_many_that_will_be_hit_some_are_named() -> None:
    found = room(20, most_out=6, hits=[Hit(NOW, "h1%d" % number, E2) for number in range(8)])
    named = ", ".join("h1%d (event E2 starts at Wed 2026-11-18 09:00 UTC)" % number for number in range(5))
    assert objection(found, "h0") == "9 of all hosts would be out beside %s, 3 more, and at most 6 may be" % named


def test_those_who_are_asked_for_are_not_named_as_the_others() -> None:
    found = room(most_out=1, out={"h1": REACH}, hits=[Hit(NOW, "h0", E2), Hit(NOW, "h9", E2)])
    named = "h9 (event E2 starts at Wed 2026-11-18 09:00 UTC)"
    assert objection(found, "h0", "h1") == "3 of all hosts would be out beside %s, and at most 1 may be" % named


def test_alone_only_what_must_stay_counts() -> None:
    """W-51: max_unavailable 1, and an event names 3 of 4."""
    found = room(4, most_out=1)
    three = ("h0", "h1", "h2")
    assert objection(found, *three) == "3 of all hosts would be out, and at most 1 may be"
    assert objection(found, *three, alone=True) is None
    assert objection(found, *three, "h3", alone=True) == "0 of the 4 hosts would be left, and 1 must stay"
    too_large = found.too_large(three)
    assert too_large is not None
    assert too_large.name == EVERYBODY
    assert found.too_large(("h0",)) is None


def test_a_group_can_be_too_small_for_what_fits_into_the_whole() -> None:
    found = room(most_out=5, web=["h0", "h1", "h2"])
    assert found.too_large(("h0", "h3", "h4")) is None
    assert found.too_large(("h0", "h1")) == Limit("web", 3, 1, 1)
    assert found.too_large(("stranger", "h0")) is None


@pytest.mark.parametrize(("names", "full"), [((), False), (("h0",), False), (("h0", "h1"), True), (("h0", "h1", "h2"), True)])
def test_a_wave_is_full_when_nobody_else_can_fit(names: Tuple[str, ...], full: bool) -> None:
    assert room().is_full(names) is full


# After a wave


def test_what_a_wave_handles_is_over_in_the_next_one() -> None:
    found = room(most_out=1, out={"h9": READY}, hits=[Hit(NB - HOUR, "h0", E2)])
    assert objection(found, "h9", number=1) == (
        "2 of all hosts would be out beside h0 (event E2 starts at Wed 2026-11-18 09:00 UTC), and at most 1 may be"
    )
    found.place(["h0"], {E2}, number=1)
    assert objection(found, "h9", number=1) is None
    found.place(["h9"], {E1}, number=2)
    assert objection(found, "h0", number=2) == "2 of all hosts would be out beside h9 (PREPARED for event E1), and at most 1 may be"
    assert objection(found, "h0", number=3) is None


def test_who_is_out_for_another_reason_is_not_back_after_it() -> None:
    found = room(most_out=1, out={"h9": REACH})
    found.place(["h9"], {E1}, number=1)
    assert objection(found, "h0", number=2) == "2 of all hosts would be out beside h9 (cannot be reached), and at most 1 may be"


def test_a_host_that_is_back_can_be_hit_again() -> None:
    found = room(most_out=1, out={"h9": READY}, hits=[Hit(NB - 60, "h9", E1), Hit(NB - 30, "h9", E2)])
    found.place(["h9"], {E1}, number=1)
    again = "2 of all hosts would be out beside h9 (event E2 starts at Wed 2026-11-18 09:59:30 UTC), and at most 1 may be"
    assert objection(found, "h0", number=2) == again
    assert objection(found, "h0", number=2, end=NB - 30) is None
    assert objection(found, "h9", number=2) is None


def test_a_host_that_is_back_can_be_placed_again() -> None:
    """One that two events name comes into two waves, and after both nobody waits for it any more."""
    found = room(most_out=1, out={"h9": READY}, hits=[Hit(NB - 60, "h9", E1), Hit(NB - 30, "h9", E2), Hit(NB - 20, "h9", E3)])
    found.place(["h9"], {E1}, number=1)
    found.place(["h9"], {E2}, number=2)
    assert objection(found, "h0", number=3, end=NB - 20) is None
    found.place(["h9"], {E3}, number=3)
    assert objection(found, "h0", number=4) is None


def test_a_host_that_is_deleted_may_be_named_by_other_events() -> None:
    found = room(3, most_out=1, out={"h2": Reason("event E1 has started", E1)}, hits=[Hit(NB, "h2", E2)], gone=["h2"])
    assert objection(found, "h0", "h2") is None
    found.place(["h0", "h2"], {E1, E2}, number=1)
    assert objection(found, "h1", "h2", number=2) is None
    assert found.too_large(["h0", "h2"]) is None


@given(thrown(40))
def test_counting_step_by_step_is_counting_anew(dice: bytes) -> None:
    """Against a plain count: who is out in this wave, or hit before its end by what no wave before has handled."""
    throws = Dice(dice)
    names, keys = ["h%d" % number for number in range(6)], (E1, E2, E3)
    web = {name for name in names if throws.below(2)}
    reasons = [REACH, Reason("x", E1), Reason("y", E2)]
    out = {name: throws.one_of(reasons) for name in names if throws.below(4) == 0}
    hits = [Hit(float(throws.below(9)), throws.one_of(names), throws.one_of(keys)) for _hit in range(throws.below(7))]
    found = room(6, web=web, most_out=throws.below(4), web_out=throws.below(3), out=out, hits=hits)
    handled: List[Tuple[Set[str], EventKey, int]] = []
    for number in range(1, 5):
        key, end = throws.one_of(keys), float(throws.below(10))
        wave = {name for name in names if throws.below(3) == 0}
        assert (objection(found, *wave, number=number, end=end) is None) is _fits(found.limits, wave, web, out, hits, handled, number, end)
        found.place(sorted(wave), {key}, number=number)
        handled.append((wave, key, number))


def _fits(
    limits: Sequence[Limit],
    wave: Set[str],
    web: Set[str],
    out: Dict[str, Reason],
    hits: Sequence[Hit],
    handled: Sequence[Tuple[Set[str], EventKey, int]],
    number: int,
    end: float,
) -> bool:
    back = {name for names, key, when in handled for name in names if when < number and name in out and out[name].event == key}
    over = {(name, key) for names, key, _when in handled for name in names}
    hit = {hit.host for hit in hits if hit.at < end and (hit.host, hit.event) not in over}
    away = wave | (set(out) - back) | hit
    for limit, members in ((limits[0], away), (limits[1], away & web)):
        touched = wave if limit.name == EVERYBODY else wave & web
        if touched and (len(members) > limit.most_out or limit.hosts - len(members) < limit.must_stay):
            return False
    return True


# For a gate


def test_what_a_gate_counts_with_is_plain_data() -> None:
    limits = (Limit(EVERYBODY, 3, 1, 1), Limit("web", 2, 1, 1))
    groups = {"a": (0, 1), "b": (0,), "c": (0, 1)}
    found = capacity_result(limits, groups, {"c": READY, "x": REACH}, others=["a", "x"], hit=["b"])
    assert found == {
        "limits": [{"name": "", "hosts": 3, "most_out": 1, "least_in": 1}, {"name": "web", "hosts": 2, "most_out": 1, "least_in": 1}],
        "groups": {"a": [0, 1], "b": [0], "c": [0, 1], "x": []},
        "asked_again": ["a", "c"],
        "out": {"c": {"why": "PREPARED for event E1", "event": ["e1", "5ub", "rg"]}, "x": {"why": "cannot be reached", "event": None}},
    }
    assert limits_in(json.loads(json.dumps(found))) == limits


def test_a_host_that_has_no_status_at_all_serves_as_far_as_anybody_knows() -> None:
    hostvars = {
        "a": heard("web_0"),
        "b": {**listed("web_1"), STATUS: {"skipped": True}},
        "c": heard("web_2", status=status(handlers_configured=[handler()])),
    }
    assert out_of_service(hosts(hostvars), (), now=NOW) == {}
