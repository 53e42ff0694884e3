# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who sees an event without being hit, and who keeps a wave company (`_witnesses`, `_planned`)."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import plan
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._planned import shared_witnesses
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import DAY, MINUTE
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    ANSWER,
    AT_ONCE,
    NOW,
    STATUS,
    UNREACHABLE,
    event,
    facing,
    heard,
    hosts,
    listed,
    status,
)


def made(hostvars: Dict[str, Any], **given: Any) -> Dict[str, Any]:
    return plan(hosts(hostvars), facing(rules=[AT_ONCE], **given))


def scope(count: int, *events: Any, name: str = "s", first: int = 0) -> Dict[str, Any]:
    return {"h%d" % n: heard("web_%d" % n, *events, status=status(), rolling_maintenance_scope=name) for n in range(first, first + count)}


def witnesses(plan_: Dict[str, Any], event_id: str = "E1") -> List[str]:
    (found,) = [entry for entry in plan_["events"] if entry["event"]["event_id"] == event_id]
    return list(found["witnesses"])


def test_those_who_were_shown_it_come_first_then_its_own_hosts() -> None:
    """C-21: one of a scope may not have it yet, and would call it gone."""
    hostvars = {
        **scope(2, event()),
        **scope(2, first=2),
        **scope(1, name="other", first=5),
        "h9": listed("web_9", rolling_maintenance_scope="s"),
    }
    assert witnesses(made(hostvars)) == ["h1", "h0"]


def test_of_many_peers_a_few_are_enough() -> None:
    assert witnesses(made(scope(9, event(names="web_3 web_4")), max_unavailable=9)) == ["h0", "h1", "h2", "h5", "h6", "h3", "h4"]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (event("E2", "web_1"), ["h2", "h0"]),
        (event("E2", "web_1", event_status="Started"), ["h2", "h0"]),
        (event("E2", "web_1", NOW + 15 * MINUTE, event_type="Terminate"), ["h2", "h0"]),
        (event("E2", "web_1", None, event_type="Terminate"), ["h2", "h0"]),
        (event("E2", "web_1", NOW + 7 * DAY, event_type="Terminate"), ["h1", "h2", "h0"]),
    ],
)
def test_whoever_is_hit_soon_himself_is_no_witness(other: Dict[str, Any], expected: List[str]) -> None:
    assert witnesses(made(scope(3, event(not_before=NOW + 7 * DAY), other), max_unavailable=3)) == expected


def one_by_one(count: int, *, not_before: float = NOW + 7 * DAY) -> Dict[str, Any]:
    """A scope of which every host has an event of its own, and a wave."""
    return scope(count, *(event("E%d" % number, "web_%d" % number, not_before) for number in range(count)))


def test_where_a_whole_scope_has_its_turn_those_watch_whose_turn_is_in_another_wave() -> None:
    made_ = made(one_by_one(3), max_unavailable=1)
    assert [wave["hosts"] for wave in made_["waves"]] == [["h0"], ["h1"], ["h2"]]
    assert [witnesses(made_, "E%d" % number) for number in range(3)] == [["h1", "h2", "h0"], ["h0", "h2", "h1"], ["h0", "h1", "h2"]]


def test_those_who_are_free_come_before_those_whose_turn_is_later() -> None:
    hostvars = {**one_by_one(2), **scope(1, *(event("E%d" % number, "web_%d" % number, NOW + 7 * DAY) for number in range(2)), first=2)}
    assert witnesses(made(hostvars, max_unavailable=1), "E0") == ["h2", "h1", "h0"]


def test_nobody_watches_whose_turn_is_in_the_same_wave_or_whom_azure_may_hit_meanwhile() -> None:
    together = made({**one_by_one(2), **scope(2, first=2)}, max_unavailable=2)
    assert [wave["hosts"] for wave in together["waves"]] == [["h0", "h1"]]
    assert witnesses(together, "E0") == ["h0"]
    near = scope(3, event("E0", "web_0", NOW + 40 * MINUTE), event("E1", "web_1", NOW + 7 * DAY), event("E2", "web_2", NOW + 8 * DAY))
    made_ = made(near, max_unavailable=1)
    last = made_["waves"][-1]
    assert last["end"] > made_["events"][0]["event"]["not_before"]
    assert "h0" not in witnesses(made_, "E%s" % last["hosts"][0][1:])


def test_whoever_is_only_paused_for_a_moment_can_watch() -> None:
    """C-14."""
    pause = event("E2", "web_1", NOW + 15 * MINUTE, event_type="Freeze", duration_seconds=5)
    found = plan(hosts(scope(3, event(event_source="User"), pause)), facing())
    assert witnesses(found) == ["h1", "h2", "h0"]


def test_a_component_has_those_who_can_watch_all_of_it() -> None:
    assert shared_witnesses([["a", "b", "h"], ["b", "h", "i"]]) == ["b", "h"]
    assert shared_witnesses([["a", "h"], ["i"]]) == ["a", "h", "i"]


def test_each_wave_takes_along_one_that_has_nothing_to_do_and_watches_it_if_possible() -> None:
    two = {**scope(3, event()), **scope(3, event("E2", "web_3"), name="other", first=3)}
    assert [wave["guard"] for wave in made(two)["waves"]] == ["h1", "h4"]
    # One of them has no witness: a stranger who was asked, then one who was not.
    alone = {**scope(1, event()), **scope(1, event("E2", "web_1"), name="other", first=1)}
    idle = {"idle1": listed("idle_1"), "idle2": heard("idle_2"), "dark": {**listed("dark"), ANSWER: UNREACHABLE}}
    assert [wave["guard"] for wave in made({**alone, **idle}, max_unavailable=2)["waves"]] == ["idle2", "idle1"]


def test_a_wave_is_alone_where_nobody_is_left() -> None:
    dark = {"dark": {**heard("web_8"), STATUS: UNREACHABLE}}
    (wave,) = made({**scope(1, event()), **dark}, max_unavailable=2, min_available=0)["waves"]
    assert (wave["guard"], wave["batch"]) == (None, ["h0"])
