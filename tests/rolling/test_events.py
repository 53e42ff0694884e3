# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What events do to a run: nights in which many things happen to hosts that have nothing to do with each other, each its own test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List

import pytest
from cores import NEWEST, played
from fleet import Fleet, Played, Running, until
from imds_simulator import Event

DAY = 86400.0
# Everybody may go at once: here each event is looked at alone.
ANY_NUMBER = {"max_unavailable": "100%", "min_available": 0}


@dataclass(frozen=True)
class Night:
    """A run, and the events that came before it and in it."""

    fleet: Fleet
    events: Dict[str, Event]
    run: Played

    def told(self) -> str:
        return self.fleet.told()

    def posts(self, name: str) -> List[Any]:
        return self.fleet.posts(self.events[name])

    def result(self, name: str) -> str:
        """What came of it, by the controller's evidence."""
        return str(self.fleet.evidence_of(self.events[name])["result"])

    def nobody_approved(self, name: str) -> bool:
        return not self.posts(name) and not self.fleet.approved(self.events[name])


# --- what is done about events that are due ------------------------------------------------------------------------------


@played("night")
def _night(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    events = _announce(fleet)
    running = fleet.begin(request.param, allow_unmanaged=["vm-ALLOWED2"], **ANY_NUMBER)
    _disturb(fleet, events, running)
    return Night(fleet, events, running.wait())


def _announce(fleet: Fleet) -> Dict[str, Event]:
    for name, hosts in (
        ("single", "single1 single2"),
        ("shared", "shared1 shared2 shared3"),
        ("slow", "slow1 slow2"),
        ("far", "far1 far2"),
        ("near", "near1 near2"),
        ("cancelled", "cancelled1 cancelled2"),
        ("started", "started1"),
        ("broken", "broken1 broken2"),
        ("twice", "twice1"),
    ):
        fleet.add(hosts, scope=name, groups=[name])
    fleet.add("stranger1 allowed1", scope="stranger")
    fleet.add("stranger2 allowed2", scope="stranger", managed=False)
    fleet["slow2"].add_handler("10-pool", limit="3s")
    fleet["slow2"].behave("prepare", "sleep 60")
    for failing in ("far2", "near2"):
        fleet[failing].behave("prepare", "code=1")
    # Long enough to be overtaken by what happens to them.
    for busy in ("cancelled1", "started1"):
        fleet[busy].behave("prepare", "rm -f %s/pool/10-pool; sleep 8" % fleet[busy].folder)
    fleet.ready()
    return {
        "single": fleet.schedule("Reboot", "single1"),
        "shared": fleet.schedule("Redeploy", "shared1 shared2"),
        "slow": fleet.schedule("Reboot", "slow1 slow2"),
        "far": fleet.schedule("Reboot", "far1 far2", notice=9 * DAY),
        "near": fleet.schedule("Reboot", "near1 near2", notice=115.0),
        "cancelled while preparing": fleet.schedule("Reboot", "cancelled1"),
        "cancelled before the approval": fleet.schedule("Reboot", "cancelled2"),
        "started while preparing": fleet.schedule("Reboot", "started1"),
        "failed": fleet.simulator.fail_hardware("broken1", runs_for=30.0),
        "freeze": fleet.schedule("Freeze", "twice1", runs_for=1.0),
        "reboot": fleet.schedule("Reboot", "twice1", start_delay=4.0),
        "stranger": fleet.schedule("Reboot", "stranger1 stranger2"),
        "allowed": fleet.schedule("Reboot", "allowed1 allowed2"),
    }


def _disturb(fleet: Fleet, events: Dict[str, Event], running: Running) -> None:
    """While two hosts are still getting ready, and so long before the gate of any."""
    first, second = events["cancelled while preparing"], events["cancelled before the approval"]
    started = events["started while preparing"]
    for name, event, state in (("cancelled1", first, "PREPARING"), ("started1", started, "PREPARING"), ("cancelled2", second, "PREPARED")):
        host = fleet[name]
        until(lambda host=host, event=event, state=state: host.state(event) == state, timeout=120, what="%s is %s" % (name, state))
    assert not running.is_over
    fleet.simulator.cancel(first.event_id)
    fleet.simulator.cancel(second.event_id)
    fleet.simulator.start(started.event_id)


def test_one_host_is_prepared_approved_by_its_witness_watched_and_put_back(night: Night) -> None:
    (post,) = night.posts("single")
    assert post.vm == "single2"
    event, host = night.events["single"], night.fleet["single1"]
    assert event.started_at is not None
    assert event.started_at < event.not_before - 600
    assert (host.state(event), host.in_service) == ("CLOSED", True)
    assert host.runs() == ["10-pool prepare", "10-pool recover"]
    assert night.result("single") == "recovered"


def test_a_shared_event_is_approved_once_when_all_its_hosts_are_ready(night: Night) -> None:
    (post,) = night.posts("shared")
    assert post.vm == "shared3"
    event = night.events["shared"]
    for name in ("shared1", "shared2"):
        host = night.fleet[name]
        assert (host.state(event), host.in_service) == ("CLOSED", True)
        assert host.runs() == ["10-pool prepare", "10-pool recover"]
    assert night.result("shared") == "recovered"
    assert night.fleet["shared3"].runs() == []


def test_one_that_is_too_slow_keeps_its_partner_from_being_approved(night: Night) -> None:
    assert night.nobody_approved("slow")
    for name in ("slow1", "slow2"):
        night.fleet[name].wait_until_back()
    assert night.result("slow") == "not_prepared"
    assert "slow2" in night.run.said


def test_ready_hosts_are_given_back_when_their_event_is_days_away(night: Night) -> None:
    """W-1: one prepare fails and there is time enough: nobody is approved, and everybody serves again."""
    assert night.nobody_approved("far")
    event = night.events["far"]
    for name in ("far1", "far2"):
        assert night.fleet[name].wait(event, "BACKED_OUT")
    # What failed half-way is put back as well.
    assert night.fleet["far1"].in_service
    assert night.fleet["far1"].runs() == ["10-pool prepare", "10-pool recover"]
    assert night.fleet["far2"].runs() == ["10-pool prepare", "10-pool recover"]
    assert night.result("far") == "not_prepared"


def test_ready_hosts_stay_when_their_event_is_minutes_away(night: Night) -> None:
    """W-2: they stay out of service, unapproved, and come back when it is gone."""
    assert night.nobody_approved("near")
    event = night.events["near"]
    if event.state == "Scheduled":
        assert night.fleet["near1"].wait(event, "STAYING")
        assert not night.fleet["near1"].in_service
    night.fleet.happen(event)
    for name in ("near1", "near2"):
        night.fleet[name].wait(event, "CLOSED", timeout=90)
        assert night.fleet[name].in_service
    assert night.fleet["near1"].runs() == ["10-pool prepare", "10-pool recover"]
    assert not night.posts("near")


def test_a_host_whose_event_is_cancelled_while_it_drains_comes_back(night: Night) -> None:
    """W-13: the handler is stopped and what it had done is undone."""
    assert night.nobody_approved("cancelled while preparing")
    event, host = night.events["cancelled while preparing"], night.fleet["cancelled1"]
    assert host.wait(event, "CLOSED")["result"] == "cancelled"
    assert host.in_service
    assert host.runs() == ["10-pool prepare", "10-pool recover"]
    assert night.result("cancelled while preparing") == "cancelled"


def test_what_is_cancelled_before_the_approval_is_not_approved(night: Night) -> None:
    assert night.nobody_approved("cancelled before the approval")
    event, host = night.events["cancelled before the approval"], night.fleet["cancelled2"]
    assert host.wait(event, "CLOSED")["result"] == "cancelled"
    assert host.in_service
    assert night.result("cancelled before the approval") == "cancelled"


def test_what_starts_while_a_host_prepares_is_not_approved_and_the_host_comes_back(night: Night) -> None:
    """W-17."""
    assert night.nobody_approved("started while preparing")
    event, host = night.events["started while preparing"], night.fleet["started1"]
    host.wait(event, "CLOSED")
    assert host.in_service
    assert host.runs()[0] == "10-pool prepare"
    assert host.runs()[-1] == "10-pool recover"
    assert night.result("started while preparing") == "hit_unprepared"


def test_what_is_started_at_first_sight_is_watched_and_nothing_is_run(night: Night) -> None:
    """W-24."""
    assert night.nobody_approved("failed")
    event, host = night.events["failed"], night.fleet["broken1"]
    until(lambda: event.state == "gone", timeout=60, what="the failure is over")
    assert host.runs("inspect", "prepare", "recover") == []
    assert host.in_service
    assert night.result("failed") == "started_without_notice"


def test_two_events_of_one_host_drain_it_once_and_put_it_back_after_the_last(night: Night) -> None:
    """W-22: claims."""
    freeze, reboot, host = night.events["freeze"], night.events["reboot"], night.fleet["twice1"]
    assert freeze.approved_at is not None
    assert reboot.approved_at is not None
    host.wait(freeze, "CLOSED")
    host.wait(reboot, "CLOSED")
    assert host.in_service
    # Each event calls its handlers for itself; only the last one that claims their work undoes it.
    assert host.runs() == ["10-pool prepare", "10-pool prepare", "10-pool recover"]
    assert {night.result("freeze"), night.result("reboot")} == {"recovered"}


def test_a_vm_that_nobody_manages_keeps_its_event_from_being_touched(night: Night) -> None:
    assert night.nobody_approved("stranger")
    host = night.fleet["stranger1"]
    assert (host.in_service, host.runs()) == (True, [])
    assert night.result("stranger") == "refused"
    reason = night.run.said
    assert "Vm-stranger2" in reason
    assert "allow_unmanaged" in reason


def test_a_vm_that_nobody_manages_may_be_allowed_by_its_name(night: Night) -> None:
    """Compared without case, as a whole."""
    (post,) = night.posts("allowed")
    assert post.status == 200
    event, host = night.events["allowed"], night.fleet["allowed1"]
    assert (host.state(event), host.in_service) == ("CLOSED", True)
    assert night.result("allowed") == "recovered"


def test_the_night_ends_with_an_error_that_names_what_went_wrong_and_when_azure_starts(night: Night) -> None:
    assert night.run.code == 2
    assert night.run.stats["azure_maintenance_result"] == "failed"
    for host in ("slow2", "far2", "near2"):
        assert host in night.run.message
    # Nothing of what went well is an error.
    for host in ("single1", "shared1", "allowed1", "twice1"):
        assert host not in night.run.message


# --- what the default policy makes of a night ----------------------------------------------------------------------------


@played("default", NEWEST)
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


def _entry(night: Night, name: str) -> Dict[str, Any]:
    """What the plan says of it."""
    wanted = night.events[name].event_id.lower()
    (found,) = [one for one in night.run.stats["azure_maintenance_events"] if one["event"]["event_id"].lower() == wanted]
    entry: Dict[str, Any] = found
    return entry


def test_what_comes_in_seven_days_is_held_and_the_run_says_until_when(default: Night) -> None:
    assert default.nobody_approved("week")
    assert default.fleet["week1"].runs() == []
    assert _entry(default, "week")["place"] == "held"
    assert "held until" in _entry(default, "week")["reason"]
    assert default.run.stats["azure_maintenance_due_next"]


def test_what_comes_in_fifteen_minutes_is_held_until_it_is_due(default: Night) -> None:
    assert default.nobody_approved("later")
    assert default.fleet["later1"].runs() == []
    assert _entry(default, "later")["place"] == "held"


@pytest.mark.parametrize("name", ["freeze of 0 s", "freeze of 5 s"])
def test_a_short_freeze_is_left_to_azure(default: Night, name: str) -> None:
    assert default.nobody_approved(name)
    assert _entry(default, name)["place"] == "left"
    assert "short pause" in _entry(default, name)["reason"]


def test_a_freeze_of_unknown_length_is_a_disruption(default: Night) -> None:
    assert _entry(default, "freeze of unknown length")["place"] == "held"
    assert "disruption" in _entry(default, "freeze of unknown length")["reason"]


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
    assert _entry(default, "tied later")["place"] == "held"


def test_thirty_seconds_are_too_short_for_a_run_and_the_hosts_own_handlers_do_it(default: Night) -> None:
    """W-26."""
    assert default.nobody_approved("spot")
    assert _entry(default, "spot")["place"] in ("refused", "running")
    assert default.fleet["spot1"].runs("prepare") == ["10-pool prepare"]


def test_a_night_in_which_something_was_refused_is_no_success(default: Night) -> None:
    assert default.run.code == 2
    assert "Preempt" in default.run.message
