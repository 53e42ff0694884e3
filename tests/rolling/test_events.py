# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What events do to a run: nights in which many things happen to hosts that have nothing to do with each other, each its own test."""

from __future__ import annotations

from typing import Callable, Dict

import pytest
from cores import played
from fleet import Fleet, Running, until
from imds_simulator import Event
from nights import ANY_NUMBER, DAY, Night, moved_to, out_of_service

# --- what is done about events that are due ------------------------------------------------------------------------------


@played("calm")
def _calm(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    """Nothing comes in between."""
    fleet = fleets()
    for name, hosts in (
        ("single", "single1 single2"),
        ("shared", "shared1 shared2 shared3"),
        ("broken", "broken1 broken2"),
        ("twice", "twice1"),
    ):
        fleet.add(hosts, scope=name, groups=[name])
    fleet.add("stranger1 allowed1", scope="stranger")
    fleet.add("stranger2 allowed2", scope="stranger", managed=False)
    fleet.ready()
    events = {
        "single": fleet.schedule("Reboot", "single1"),
        "shared": fleet.schedule("Redeploy", "shared1 shared2"),
        "failed": fleet.simulator.fail_hardware("broken1", runs_for=30.0),
        "freeze": fleet.schedule("Freeze", "twice1", runs_for=1.0),
        "reboot": fleet.schedule("Reboot", "twice1", start_delay=4.0),
        "stranger": fleet.schedule("Reboot", "stranger1 stranger2"),
        "allowed": fleet.schedule("Reboot", "allowed1 allowed2"),
    }
    return Night(fleet, events, fleet.play(request.param, allow_unmanaged=["vm-ALLOWED2"], **ANY_NUMBER))


def test_one_host_is_prepared_approved_by_its_witness_watched_and_put_back(calm: Night) -> None:
    (post,) = calm.posts("single")
    assert post.vm == "single2"
    event = calm.events["single"]
    assert event.started_at is not None
    assert event.started_at < event.not_before - 600
    assert calm.went_well("single", "single1")


def test_a_shared_event_is_approved_once_when_all_its_hosts_are_ready(calm: Night) -> None:
    (post,) = calm.posts("shared")
    assert post.vm == "shared3"
    for name in ("shared1", "shared2"):
        assert calm.went_well("shared", name)
    assert calm.fleet["shared3"].runs() == []


def test_what_is_started_at_first_sight_is_watched_and_nothing_is_run(calm: Night) -> None:
    """W-24."""
    assert calm.nobody_approved("failed")
    event, host = calm.events["failed"], calm.fleet["broken1"]
    until(lambda: event.state == "gone", timeout=60, what="the failure is over")
    assert host.runs("inspect", "prepare", "recover") == []
    assert host.in_service
    assert calm.result("failed") == "started_without_notice"


def test_two_events_of_one_host_drain_it_once_and_put_it_back_after_the_last(calm: Night) -> None:
    """W-22: claims."""
    freeze, reboot, host = calm.events["freeze"], calm.events["reboot"], calm.fleet["twice1"]
    assert freeze.approved_at is not None
    assert reboot.approved_at is not None
    host.wait(freeze, "CLOSED")
    host.wait(reboot, "CLOSED")
    assert host.in_service
    # Each event calls its handlers for itself; only the last one that claims their work undoes it.
    assert host.runs() == ["10-pool prepare", "10-pool prepare", "10-pool recover"]
    assert {calm.result("freeze"), calm.result("reboot")} == {"recovered"}


def test_a_vm_that_nobody_manages_keeps_its_event_from_being_touched(calm: Night) -> None:
    assert calm.untouched("stranger", "stranger1")
    assert calm.result("stranger") == "refused"
    assert "Vm-stranger2" in calm.run.said
    assert "allow_unmanaged" in calm.run.said


def test_a_vm_that_nobody_manages_may_be_allowed_by_its_name(calm: Night) -> None:
    """Compared without case, as a whole."""
    (post,) = calm.posts("allowed")
    assert post.status == 200
    assert calm.went_well("allowed", "allowed1")


def test_a_night_ends_with_an_error_that_names_what_was_refused_and_nothing_that_went_well(calm: Night) -> None:
    assert calm.run.code == 2
    assert calm.run.stats["azure_maintenance_result"] == "failed"
    assert "stranger1" in calm.run.message
    for host in ("single1", "shared1", "allowed1", "twice1"):
        assert host not in calm.run.message


def test_a_freeze_of_unknown_length_is_approved_once_and_its_host_is_put_back_when_it_is_over(fleet: Fleet, core: str) -> None:
    fleet.add("frozen1 idle1", scope="frozen")
    fleet.ready()
    event, host = fleet.schedule("Freeze", "frozen1", duration=-1, runs_for=4.0), fleet["frozen1"]
    night = Night(fleet, {"freeze": event}, fleet.play(core, **ANY_NUMBER))
    (post,) = night.posts("freeze")
    assert (post.vm, post.status) == ("idle1", 200)
    assert event.started_at is not None
    assert event.started_at < event.not_before - 600
    # It was out of service before it stood still, and until it did no more.
    ((out, back),) = out_of_service(host)
    assert out < event.started_at < event.started_at + 3.5 < back
    assert night.went_well("freeze", "frozen1")
    assert night.run.code == 0


# --- what comes in between -----------------------------------------------------------------------------------------------

# So near that nobody is given back before it.
NEAR = 110.0


@played("disturbed")
def _disturbed(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    for name in ("slow", "far", "near", "cancelled"):
        fleet.add("%s1 %s2" % (name, name), scope=name)
    fleet.add("started1 idle1", scope="started")
    fleet["slow2"].add_handler("10-pool", limit="3s")
    fleet["slow2"].behave("prepare", "sleep 60")
    fleet["far2"].behave("prepare", "code=1")
    for busy in ("cancelled1", "started1", "near2"):
        fleet[busy].be_busy("60s", after="; code=1" if busy == "near2" else "")
    fleet.ready()
    events = {
        "slow": fleet.schedule("Reboot", "slow1 slow2"),
        "far": fleet.schedule("Reboot", "far1 far2", notice=9 * DAY),
        "near": fleet.schedule("Reboot", "near1 near2"),
        "cancelled while preparing": fleet.schedule("Reboot", "cancelled1"),
        "cancelled before the approval": fleet.schedule("Reboot", "cancelled2"),
        "started while preparing": fleet.schedule("Reboot", "started1"),
    }
    running = fleet.begin(request.param, **ANY_NUMBER)
    _disturb(fleet, events, running)
    return Night(fleet, events, running.wait())


def _disturb(fleet: Fleet, events: Dict[str, Event], running: Running) -> None:
    """While some hosts are still getting ready, and so long before the gate of any."""
    cancelled, too_late = events["cancelled while preparing"], events["cancelled before the approval"]
    near, started = events["near"], events["started while preparing"]
    for name, event, state in (
        ("cancelled1", cancelled, "PREPARING"),
        ("started1", started, "PREPARING"),
        ("near2", near, "PREPARING"),
        ("near1", near, "PREPARED"),
        ("cancelled2", too_late, "PREPARED"),
    ):
        fleet[name].wait(event, state, timeout=120)
    assert not running.is_over
    fleet.simulator.cancel(cancelled.event_id)
    fleet.simulator.cancel(too_late.event_id)
    fleet.simulator.start(started.event_id)
    before, hosts = near.not_before, (fleet["near1"], fleet["near2"])
    fleet.simulator.change(near.event_id, not_before=NEAR)
    until(lambda: all(host.record(near)["event"]["not_before"] < before - 300 for host in hosts), timeout=60, what="both have seen it")
    fleet["near2"].go_on()


def test_one_that_is_too_slow_keeps_its_partner_from_being_approved(disturbed: Night) -> None:
    assert disturbed.nobody_approved("slow")
    for name in ("slow1", "slow2"):
        disturbed.fleet[name].wait_until_back()
    assert disturbed.result("slow") == "not_prepared"
    assert "slow2" in disturbed.run.said


def test_ready_hosts_are_given_back_when_their_event_is_days_away(disturbed: Night) -> None:
    """W-1: one prepare fails and there is time enough: nobody is approved, and everybody serves again."""
    assert disturbed.nobody_approved("far")
    event = disturbed.events["far"]
    for name in ("far1", "far2"):
        assert disturbed.fleet[name].wait(event, "BACKED_OUT")
    # What failed half-way is put back as well.
    assert disturbed.fleet["far1"].in_service
    assert disturbed.fleet["far1"].runs() == ["10-pool prepare", "10-pool recover"]
    assert disturbed.fleet["far2"].runs() == ["10-pool prepare", "10-pool recover"]
    assert disturbed.result("far") == "not_prepared"


def test_ready_hosts_stay_when_their_event_is_minutes_away(disturbed: Night) -> None:
    """W-2: they stay out of service, unapproved, and come back when it is gone."""
    assert disturbed.nobody_approved("near")
    event = disturbed.events["near"]
    # They have been, also where the event has begun since.
    assert moved_to(disturbed.fleet["near1"], event, "STAYING") is not None
    assert moved_to(disturbed.fleet["near1"], event, "BACKED_OUT") is None
    disturbed.fleet.happen(event)
    for name in ("near1", "near2"):
        disturbed.fleet[name].wait(event, "CLOSED", timeout=90)
        assert disturbed.fleet[name].in_service
    assert disturbed.fleet["near1"].runs() == ["10-pool prepare", "10-pool recover"]
    assert not disturbed.posts("near")


def test_a_host_whose_event_is_cancelled_while_it_drains_comes_back(disturbed: Night) -> None:
    """W-13: the handler is stopped and what it had done is undone."""
    assert disturbed.nobody_approved("cancelled while preparing")
    event, host = disturbed.events["cancelled while preparing"], disturbed.fleet["cancelled1"]
    assert host.wait(event, "CLOSED")["result"] == "cancelled"
    assert host.in_service
    assert host.runs() == ["10-pool prepare", "10-pool recover"]
    assert disturbed.result("cancelled while preparing") == "cancelled"


def test_what_is_cancelled_before_the_approval_is_not_approved(disturbed: Night) -> None:
    assert disturbed.nobody_approved("cancelled before the approval")
    event, host = disturbed.events["cancelled before the approval"], disturbed.fleet["cancelled2"]
    assert host.wait(event, "CLOSED")["result"] == "cancelled"
    assert host.in_service
    assert disturbed.result("cancelled before the approval") == "cancelled"


def test_what_starts_while_a_host_prepares_is_not_approved_and_the_host_comes_back(disturbed: Night) -> None:
    """W-17."""
    assert disturbed.nobody_approved("started while preparing")
    event, host = disturbed.events["started while preparing"], disturbed.fleet["started1"]
    host.wait(event, "CLOSED")
    assert host.in_service
    assert host.runs()[0] == "10-pool prepare"
    assert host.runs()[-1] == "10-pool recover"
    assert disturbed.result("started while preparing") == "hit_unprepared"


def test_the_night_ends_with_an_error_that_names_who_was_not_ready(disturbed: Night) -> None:
    assert disturbed.run.code == 2
    assert disturbed.run.stats["azure_maintenance_result"] == "failed"
    for host in ("slow2", "far2", "near2", "started1"):
        assert host in disturbed.run.message
    # What was cancelled is no error.
    for host in ("cancelled1", "cancelled2"):
        assert host not in disturbed.run.message


# --- what the default policy makes of a night ----------------------------------------------------------------------------


@played("default")
def _default(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("week1 user1 user2 freeze0 freeze5 frozen1 tied1 later1")
    fleet.add("spot1", mode="prepare")
    events = {
        "week": fleet.schedule("Redeploy", "week1", notice=7 * DAY),
        "later": fleet.schedule("Reboot", "later1"),
        "user": fleet.schedule("Reboot", "user1", source="User"),
        # Azure's document has no time at all for it.
        "blank": fleet.schedule("Reboot", "user2", source="User", extra={"NotBefore": ""}),
        "freeze of 0 s": fleet.schedule("Freeze", "freeze0", duration=0),
        "freeze of 5 s": fleet.schedule("Freeze", "freeze5", duration=5),
        "freeze of unknown length": fleet.schedule("Freeze", "frozen1", duration=-1),
        "tied now": fleet.schedule("Reboot", "tied1", source="User"),
        "tied later": fleet.schedule("Redeploy", "tied1", notice=6 * DAY),
    }
    fleet.ready()
    events["spot"] = fleet.schedule("Preempt", "spot1", notice=30.0)
    run = fleet.play(request.param, rules=None, **ANY_NUMBER)
    return Night(fleet, events, run)


def test_what_comes_in_seven_days_is_held_and_the_run_says_until_when(default: Night) -> None:
    assert default.nobody_approved("week")
    assert default.fleet["week1"].runs() == []
    assert default.entry("week")["place"] == "held"
    assert "held until" in default.entry("week")["reason"]
    assert default.run.stats["azure_maintenance_due_next"]


def test_what_comes_in_fifteen_minutes_is_held_until_it_is_due(default: Night) -> None:
    assert default.nobody_approved("later")
    assert default.fleet["later1"].runs() == []
    assert default.entry("later")["place"] == "held"


@pytest.mark.parametrize(("name", "host"), [("freeze of 0 s", "freeze0"), ("freeze of 5 s", "freeze5")])
def test_a_short_freeze_is_left_to_azure(default: Night, name: str, host: str) -> None:
    assert default.untouched(name, host)
    assert default.entry(name)["place"] == "left"
    assert "short pause" in default.entry(name)["reason"]


def test_a_freeze_of_unknown_length_is_a_disruption(default: Night) -> None:
    assert default.untouched("freeze of unknown length", "frozen1")
    assert default.entry("freeze of unknown length")["place"] == "held"
    assert "disruption" in default.entry("freeze of unknown length")["reason"]


@pytest.mark.parametrize(("name", "host"), [("user", "user1"), ("blank", "user2")])
def test_what_a_user_asked_for_is_done_at_once_also_without_a_time(default: Night, name: str, host: str) -> None:
    assert len(default.posts(name)) == 1
    assert default.fleet[host].in_service
    assert default.fleet[host].runs() == ["10-pool prepare", "10-pool recover"]
    assert default.result(name) == "recovered"


def test_of_two_events_of_one_host_only_the_due_one_is_done(default: Night) -> None:
    """W-23: components over due events only."""
    assert len(default.posts("tied now")) == 1
    assert default.nobody_approved("tied later")
    assert default.fleet["tied1"].runs() == ["10-pool prepare", "10-pool recover"]
    assert default.entry("tied later")["place"] == "held"


def test_thirty_seconds_are_too_short_for_a_run_and_the_hosts_own_handlers_do_it(default: Night) -> None:
    """W-26."""
    assert default.nobody_approved("spot")
    assert default.entry("spot")["place"] in ("refused", "running")
    assert default.fleet["spot1"].runs("prepare") == ["10-pool prepare"]


def test_a_night_in_which_something_was_refused_is_no_success(default: Night) -> None:
    assert default.run.code == 2
    assert "Preempt" in default.run.message
