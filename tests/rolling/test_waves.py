# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waves, one after the other: nobody goes out before the one before is back, and none is begun while an earlier one is open."""

from __future__ import annotations

from typing import Any, Callable, Dict

import pytest
from cores import played
from fleet import Fleet
from nights import ANY_NUMBER, DAY, Night, out_of_service, task_file

GROUP: Dict[str, Any] = {"groups": {"row": {"max_unavailable": 1}}, **ANY_NUMBER}
MAINTAIN = "Maintain, wave by wave"


# --- one after the other ---------------------------------------------------------------------------------------------------


@played("queue")
def _queue(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    """Two events of one group, of which one host may be out; and one that is nobody's neighbour."""
    fleet = fleets()
    fleet.add("first1 second1 idle1", scope="row", groups=["row"])
    fleet.ready()
    # Azure takes neither before the other one is back.
    events = {"first": fleet.schedule("Reboot", "first1"), "second": fleet.schedule("Reboot", "second1", notice=DAY)}
    return Night(fleet, events, fleet.play(request.param, **GROUP))


def test_two_hosts_of_a_group_of_which_one_may_be_out_are_both_done_in_one_run(queue: Night) -> None:
    assert [queue.entry(name)["wave"] for name in ("first", "second")] == [1, 2]
    for name in ("first", "second"):
        assert queue.went_well(name, name + "1")
    assert (queue.run.code, queue.run.stats["azure_maintenance_result"]) == (0, "ok")


def test_the_second_one_is_not_out_before_the_first_one_is_back(queue: Night) -> None:
    """By what their handlers have written."""
    (first,) = out_of_service(queue.fleet["first1"])
    (second,) = out_of_service(queue.fleet["second1"])
    assert first[0] < first[1] < second[0] < second[1]


def test_each_of_two_waves_has_one_post_and_the_second_comes_after_the_first_host_is_back(queue: Night) -> None:
    posts = queue.fleet.posts()
    assert [post.status for post in posts] == [200, 200]
    assert posts == [*queue.posts("first"), *queue.posts("second")]
    ((_out, back),) = out_of_service(queue.fleet["first1"])
    assert posts[0].at < back < posts[1].at


# --- what is left open -----------------------------------------------------------------------------------------------------


@played("left_open")
def _left_open(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    """In the first wave of two an extension point ends the batch when everybody has given his word."""
    fleet = fleets()
    fleet.add("first1 first2 second1 idle1", scope="row", groups=["row"])
    fleet.ready()
    events = {"first": fleet.schedule("Reboot", "first1 first2", notice=DAY), "second": fleet.schedule("Reboot", "second1", notice=2 * DAY)}
    ends = {"name": "That is all", "ansible.builtin.meta": "end_batch", "when": "rolling_maintenance_wave | int == 1"}
    hooks: Dict[str, Any] = {"before_approve": [task_file(fleet, "ends", ends)]}
    return Night(fleet, events, fleet.play(request.param, groups={"row": {"max_unavailable": 2}}, **hooks, **ANY_NUMBER))


def test_a_wave_that_is_left_open_is_not_approved_and_its_hosts_serve_again(left_open: Night) -> None:
    assert left_open.entry("first")["wave"] == 1
    assert left_open.nobody_approved("first")
    for name in ("first1", "first2"):
        left_open.fleet[name].wait(left_open.events["first"], "BACKED_OUT")
        assert left_open.fleet[name].in_service
        assert left_open.fleet[name].runs() == ["10-pool prepare", "10-pool recover"]


def test_no_wave_is_begun_after_one_that_is_left_open(left_open: Night) -> None:
    """Its batch is there all the same: what ends one does not end the play."""
    assert left_open.entry("second")["wave"] == 2
    assert left_open.untouched("second", "second1")
    assert not left_open.fleet.posts()
    assert left_open.fleet["second1"].state(left_open.events["second"]) == "SEEN"
    begun = {one.host for one in left_open.run.done if one.play == MAINTAIN and one.outcome != "skipped"}
    assert {"first1", "first2"} <= begun
    assert "second1" not in begun


def test_a_run_whose_wave_is_left_open_fails_and_names_each_event_that_was_not_done(left_open: Night) -> None:
    assert left_open.run.code == 2
    assert left_open.run.stats["azure_maintenance_result"] == "failed"
    failures = left_open.run.stats["azure_maintenance_failures"]
    for name, hosts in (("first", "first1, first2"), ("second", "second1")):
        assert left_open.result(name) == "refused"
        said = "Reboot %s of %s is not approved" % (left_open.events[name].event_id, hosts)
        assert len([words for words in failures if words.startswith(said)]) == 1
    assert "its wave was not begun" in left_open.run.message
