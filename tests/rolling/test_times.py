# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Neighbours of one wave: nobody is late because another one has time, and nobody is given back because another one is slow."""

from __future__ import annotations

import time

from fleet import Fleet, until
from nights import ANY_NUMBER, Night

LATER = [{"name": "later", "action": "prepare_and_approve", "start": {"before": "auto"}}]


def test_a_wave_of_tied_events_begins_in_time_for_the_first_of_them(fleet: Fleet, core: str) -> None:
    """The run may wait for what is due within two hours, and each event alone has another time to begin."""
    fleet.add("tied1 idle1", scope="tied")
    fleet.add("other1 idle2", scope="other")
    fleet.ready()
    # A minute is what has to be left of each.
    events = {
        "first": fleet.schedule("Freeze", "tied1", notice=95.0),
        "last": fleet.schedule("Reboot", "tied1", notice=3600.0),
    }
    night = Night(fleet, events, fleet.play(core, rules=LATER, within="2h", **ANY_NUMBER))
    assert night.entry("first")["component"] == night.entry("last")["component"]
    assert night.entry("first")["start_at"] < night.entry("last")["start_at"]
    for name, event in events.items():
        assert event.approved_at is not None, name
        assert event.approved_at < events["first"].not_before, name
        assert night.result(name) == "recovered"
    assert fleet["tied1"].in_service


def test_a_host_that_is_ready_early_keeps_its_place_beside_a_slow_one(fleet: Fleet, core: str) -> None:
    fleet.add("quick1 slow1 idle1", scope="pace")
    fleet.ready()
    fleet["slow1"].be_busy("100s")
    events = {"quick": fleet.schedule("Reboot", "quick1"), "slow": fleet.schedule("Redeploy", "slow1")}
    at_once = {"action": "prepare_and_approve", "start": "now"}
    rules = [{"name": "slow", "event_types": ["Redeploy"], "prepare_budget": "2m", **at_once}, {"name": "quick", **at_once}]
    running = fleet.begin(core, rules=rules, lease="10s", **ANY_NUMBER)
    fleet["quick1"].wait(events["quick"], "PREPARED", timeout=120)
    # Longer than its own budget would let it wait.
    patience = time.monotonic() + 50
    until(lambda: time.monotonic() > patience or running.is_over, timeout=60, what="time goes by")
    assert fleet["quick1"].state(events["quick"]) == "PREPARED"
    fleet["slow1"].go_on()
    night = Night(fleet, events, running.wait())
    for name in events:
        assert night.went_well(name, name + "1")
    assert night.run.code == 0
