# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An hour of an agent's life, with a fault on every third answer of the service; two thousand requests take too long for a unit test."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import parse_instant
from ansible_collections.cloud_maintenance.azure.tests.unit.roles.event_handlers.watched import Host
from azure_event_handlers import agent as program
from azure_event_handlers import records as r
from azure_event_handlers.agent import Agent

HOUR = 3600.0
# What can happen to an answer. Those that ask for a longer pause, or say no for good, have tests of their own.
FAULTS: List[Dict[str, Any]] = [
    *({"kind": "status", "status": status} for status in (404, 408, 410, 429, 500, 503, 504)),
    {"kind": "status", "status": 429, "headers": {"Retry-After": "3"}},
    {"kind": "html"},
    {"kind": "redirect"},
    {"kind": "reset"},
    {"kind": "close"},
    {"kind": "truncate"},
    {"kind": "half_json"},
    {"kind": "drop_event"},
    {"kind": "empty"},
    {"kind": "duplicate_event"},
    {"kind": "malformed_event"},
    {"kind": "repeat_incarnation"},
    {"kind": "incomplete"},
]


class Weather:
    """A fault on every third answer."""

    def __init__(self, simulator: Any, vm: str, seed: int) -> None:
        self._simulator = simulator
        self._vm = vm
        self._chance = random.Random(seed)
        self._set_at = 0

    def __call__(self) -> None:
        received = self._simulator.status()["log"]["received"]
        if received >= self._set_at + 3:
            self._simulator.clear_faults()
            self._simulator.fault(vm=self._vm, **self._chance.choice(FAULTS))
            self._set_at = received


def sizes(value: Any, seen: Optional[set[int]] = None) -> int:
    """Everything that an object of ours holds, counted."""
    known = set() if seen is None else seen
    if id(value) in known:
        return 0
    known.add(id(value))
    if isinstance(value, dict):
        return sum(1 + sizes(one, known) for one in value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return sum(1 + sizes(one, known) for one in value)
    if type(value).__module__.startswith("azure_event_handlers"):
        return sizes(vars(value), known)
    return 0


def test_an_hour_of_faults_misses_no_event_and_keeps_its_measure(simulator: Any, tmp_path: Path) -> None:
    """C-8, C-10, C-15: what one good answer has shown is known at once, and nothing is asked more often than it should be."""
    simulator.add_scope("web", vms=["web_0", "web_1", "web_2"])
    host = Host(simulator, tmp_path)
    chance = random.Random(7)
    begin = simulator.now()
    kinds = ["Reboot", "Redeploy", "Freeze"]
    events = [
        simulator.schedule(
            chance.choice(kinds),
            resources,
            announce_in=chance.uniform(30.0, 2400.0),
            notice=chance.choice([60.0, 400.0, 900.0]),
            runs_for=chance.uniform(15.0, 200.0),
            duration=chance.choice([-1, 5, 60]),
            source=chance.choice(["Platform", "User"]),
        )
        for resources in [["web_0"]] * 9 + [["web_0", "web_1"]] * 2 + [["web_2"]] * 3
    ]
    weather, flat = Weather(simulator, "web_0", 11), []

    def a_second(seconds: float) -> None:
        """What the agent takes for its sleep."""
        host.executor.turn()
        weather()
        simulator.advance(seconds)
        passed = simulator.now() - begin
        if passed >= HOUR:
            raise program.Ended
        if int(passed) in (28, 29) or passed > HOUR - 60.0:
            flat.append(sizes(host.agent))

    host.agent = Agent(
        host.paths,
        Clock(wall=simulator.now, monotonic=simulator.now, sleep=a_second),
        load=lambda: host.configuration,
        guarding=lambda: host.guarding,
        boot="b",
        connected=program.service_of,
        synchronised=lambda: True,
        say=host.said.append,
    )
    with pytest.raises(program.Ended):
        host.agent.run()
    log = host.requests()
    ours = [event for event in events if "web_0" in event.as_dict()["vms"]]
    good = [one for one in log if one.status == 200 and not one.faults and one.path.endswith("scheduledevents") and one.verb == "GET"]
    for event in ours:
        record = host.executor.current(event.event_id)
        assert record is not None
        assert (record.state, record.occurrence) == (r.CLOSED, 1), event.as_dict()
        first = next(one.at for one in good if one.at >= event.announced_at)
        assert record.first_seen - first <= 2.0
        # An event that has started is shown so by the next good answer; and after it is gone, by two of them ten seconds apart.
        started = next((one.at for one in good if one.at >= event.started_at), None)
        if record.started_at is not None and started is not None:
            assert record.started_at - started <= 2.0
        assert record.gone_at is not None
        assert 10.0 <= record.gone_at - event.gone_at <= 40.0
    assert not any(host.executor.current(event.event_id) for event in events if event not in ours)
    assert set(host.posts()) <= {event.event_id for event in ours if event.as_dict()["vms"] == ["web_0"]}
    assert len(host.posts()) >= 3
    # The rate: one question a second, and the posts.
    moments = [one.at for one in log if one.verb == "GET"]
    assert len(moments) > 1500
    assert all(later - earlier >= 1.0 for earlier, later in zip(moments, moments[1:]))
    assert sum(1 for one in log if one.faults) > len(log) / 4
    # Said, but not too much of it, and the same not again within a minute.
    assert 20 < len(host.said) < 600
    told: Dict[Any, float] = {}
    for line in host.lines():
        at, key = parse_instant(line.pop("at")), json.dumps(line)
        assert at is not None
        assert at - told.get(key, 0.0) >= 59.0
        told[key] = at
    assert not host.lines("mistake")
    # When all is over, nothing of it is left in mind.
    assert max(flat[-50:]) <= max(flat[:2]) + 40
