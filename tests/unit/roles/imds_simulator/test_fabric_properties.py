# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is done to the fabric in whatever order, the contract holds. Pure: the time is an argument."""

from __future__ import annotations

import heapq
from typing import Any, Dict, List, Tuple

from hypothesis import given
from hypothesis import strategies as st
from imds_simulator import Settings, SimulatorError
from imds_simulator.fabric import Fabric

ORDER = {"planned": 0, "Scheduled": 1, "Started": 2, "gone": 3}
VMS = ("set_0", "set_1", "set_2")

steps = st.lists(
    st.tuples(
        st.sampled_from(("schedule", "approve", "cancel", "start", "complete", "change", "advance", "fail", "call")),
        st.sampled_from(("Freeze", "Reboot", "Terminate", "Preempt")),
        st.sampled_from(VMS),
        st.integers(0, 5),
        st.integers(0, 2000),
    ),
    max_size=40,
)


class Run:
    """Plays steps and keeps what was seen."""

    def __init__(self, settings: Settings) -> None:
        self.fabric = Fabric(settings)
        self.now = 1000.0
        self.fabric.add_scope("set", now=self.now, kind="scale_set")
        for vm in VMS:
            self.fabric.add_vm(vm, now=self.now, scope="set")
        self.events: List[Any] = []

    def play(self, what: str, event_type: str, vm: str, which: int, seconds: int) -> None:
        fabric, now = self.fabric, self.now
        chosen = self.events[which % len(self.events)].event_id if self.events else "none"
        if what == "schedule":
            self.events.append(fabric.schedule(event_type, [vm], now=now, notice=seconds, start_delay=which, runs_for=seconds))
        elif what == "fail":
            self.events.append(fabric.fail_hardware(vm, now=now))
        elif what == "approve":
            fabric.call(fabric.vm(vm), now=now)
            fabric.approve(fabric.vm(vm), [chosen], now=now)
        elif what == "advance":
            self.now += seconds
        elif what == "call":
            fabric.call(fabric.vm(vm), now=now)
        elif what == "change":
            fabric.change(chosen, now=now, not_before=seconds)
        else:
            getattr(fabric, what)(chosen, now=now)
        self.fabric.advance(self.now)


@given(steps, st.sampled_from((0.0, 60.0)))
def test_an_event_never_goes_back_and_never_starts_too_late(played: List[Tuple[Any, ...]], late: float) -> None:
    """C-15, C-26: in every order of what can be done to it."""
    run = Run(Settings(late_start=late))
    before: Dict[str, int] = {}
    for step in played:
        try:
            run.play(*step)
        except SimulatorError:
            continue
        for event in run.events:
            assert ORDER[event.state] >= before.get(event.event_id, 0)
            before[event.event_id] = ORDER[event.state]
            if event.state == "Scheduled":
                assert run.now < event.not_before + late


@given(steps)
def test_the_incarnation_differs_whenever_the_list_does(played: List[Tuple[Any, ...]]) -> None:
    """C-12: and all VMs of the scope see the same."""
    run = Run(Settings())
    lists: Dict[int, Any] = {}
    for step in played:
        try:
            run.play(*step)
        except SimulatorError:
            continue
        page = run.fabric.page(run.fabric.vm("set_0"))
        assert lists.setdefault(page.incarnation, page.events) == page.events
        assert all(run.fabric.page(run.fabric.vm(vm)) == page for vm in VMS)
        assert [event.event_id for event in page.events] == [event.event_id for event in run.events if event.state != "gone"]
        assert all((event.not_before is None) == (event.status == "Started") for event in page.events)


@given(steps)
def test_no_terminate_starts_early_while_another_is_not_approved(played: List[Tuple[Any, ...]]) -> None:
    """C-24: unless somebody started it by hand, or its own NotBefore has come."""
    run = Run(Settings())
    for step in played:
        if step[0] in ("start", "change"):
            continue
        deletions = [event for event in run.events if event.event_type == "Terminate" and event.state == "Scheduled"]
        try:
            run.play(*step)
        except SimulatorError:
            continue
        for event in deletions:
            if event.state != "Scheduled" and event.outcome != "cancelled" and event.started_at < event.not_before:
                assert all(
                    other.approved_at is not None or other.state == "gone" or other.started_at == other.not_before for other in deletions
                )


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=20))
def test_one_big_step_is_as_good_as_many_small_ones(times: List[Tuple[int, int]]) -> None:
    """C-15: everything happens at its own instant, however the clock gets there."""
    lives = []
    for stride in (1, 200):
        run = Run(Settings())
        for notice, runs_for in times:
            run.events.append(run.fabric.schedule("Reboot", ["set_0"], now=run.now, notice=notice, runs_for=runs_for))
        for _step in range(200 // stride):
            run.play("advance", "", "set_0", 0, stride)
        lives.append([(event.started_at, event.gone_at) for event in run.events])
    assert lives[0] == lives[1] == [(1000.0 + notice, 1000.0 + notice + runs_for) for notice, runs_for in times]
    assert heapq.nsmallest(1, run.fabric._due) == []
