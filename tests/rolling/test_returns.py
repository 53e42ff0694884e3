# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way back: who is waited for and who is not, who is heard once more, and what still becomes of everybody else."""

from __future__ import annotations

from fleet import Fleet, until
from nights import ANY_NUMBER, SHORT, Night, undrain


def test_a_deletion_that_goes_as_planned_is_no_failure_and_nobody_is_waited_for(fleet: Fleet, core: str) -> None:
    fleet.add("idle1 spot1", scope="spot")
    fleet.ready()
    event = fleet.schedule("Preempt", "spot1")
    rules = [{"name": "deletion", "event_types": ["Preempt"], "action": "prepare", "start": "now"}]
    running = fleet.begin(core, rules=rules, **ANY_NUMBER, **SHORT)
    fleet["spot1"].wait(event, "PREPARED", timeout=120)
    running.until("See it start")
    fleet.simulator.start(event.event_id)
    night = Night(fleet, {"spot": event}, running.wait())
    assert night.nobody_approved("spot")
    assert night.result("spot") == "deleted"
    assert (night.run.code, night.run.message) == (0, "")
    assert not night.run.ran("Wait until the host can be reached")


def test_a_host_that_stayed_is_put_back_everywhere_once_its_event_is_over(fleet: Fleet, core: str) -> None:
    """W-2: Azure is done with it while the run still has others in hand."""
    fleet.add("bad1 stays1 idle1", scope="pair")
    fleet.add("long1 idle2", scope="long")
    fleet.ready()
    fleet["bad1"].be_busy("60s", after="; code=1")
    near, long = fleet.schedule("Reboot", "bad1 stays1"), fleet.schedule("Reboot", "long1", runs_for=45.0)
    pool = fleet.folder / "pool"
    pool.mkdir()
    running = fleet.begin(core, after_recover=[undrain(fleet, pool)], **ANY_NUMBER)
    host = fleet["stays1"]
    host.wait(near, "PREPARED", timeout=120)
    fleet.simulator.change(near.event_id, not_before=110.0)
    seen = near.not_before + 60
    until(lambda: host.record(near)["event"]["not_before"] < seen, timeout=60, what="it has seen that it is nearer")
    fleet["bad1"].go_on()
    host.wait(near, "STAYING", timeout=120)
    fleet.happen(near)
    host.wait_until_back()
    night = Night(fleet, {"near": near, "long": long}, running.wait())
    assert night.nobody_approved("near")
    assert night.result("long") == "recovered"
    assert {"stays1", "long1"} <= {path.name for path in pool.iterdir()}


def test_a_connection_that_breaks_off_in_the_recovery_stops_no_later_wave(fleet: Fleet, core: str) -> None:
    fleet.add("first1 second1 idle1", scope="row")
    fleet.ready()
    # Its handler is at work when the connection breaks off.
    fleet["first1"].behave("recover", "sleep 8")
    events = {"first": fleet.schedule("Reboot", "first1"), "second": fleet.schedule("Reboot", "second1", notice=1800.0)}
    running = fleet.begin(core, look="30s", max_unavailable=1, min_available=0)
    running.until("See it over", host="first1")
    fleet["first1"].wait(events["first"], "RECOVERING")
    fleet["first1"].drop()
    night = Night(fleet, events, running.wait())
    looks = [one.outcome for one in night.run.done if "See it over" in one.task and one.host == "first1"]
    assert looks[0] in ("ignored", "unreachable")
    assert night.went_well("first", "first1")
    assert night.went_well("second", "second1")
    assert (night.run.code, night.run.message) == (0, "")


def test_a_host_that_alone_sees_its_event_and_does_not_come_back_is_waited_for_once(fleet: Fleet, core: str) -> None:
    """W-45."""
    fleet.add("alone1")
    fleet.ready()
    event = fleet.schedule("Redeploy", "alone1", start_delay=1.0)
    fleet.simulator.on("start", lambda notice: setattr(fleet["alone1"], "has_role", False))
    night = Night(fleet, {"alone": event}, fleet.play(core, **ANY_NUMBER, **SHORT))
    assert night.result("alone") == "stuck"
    assert "alone1: it cannot be reached" in night.run.message
    waited = [one for one in night.run.done if "Wait until the witness can be reached" in one.task and one.outcome != "skipped"]
    assert len(waited) == 1
