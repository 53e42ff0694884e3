# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time to plan fleets of different sizes, a tenth of whose hosts have an event, by the filter that a run uses."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping

from ansible_collections.cloud_maintenance.azure.plugins.filter import maintenance_fleet, maintenance_options, maintenance_plan
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import ANSWER, STATUS
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils import fleet_as_data as data

SIZES = (100, 1000, 10000)
# Below so many hosts what every plan costs shows.
YARDSTICK = 1000
HOSTS_PER_EVENT = 10
SCOPE = 20
# Every so many-th event is shared by two hosts, every so many-th has started.
SHARED, STARTED = 5, 50
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
# So many hosts at least are planned for one figure: below, the clock is too coarse.
LEAST_HOSTS = 2000
FORKS = 50

# Under the default policy most events wait for their last safe start. In the others every one is due now: as many hosts may be out as the
# fleet is large, or always so few that a larger fleet needs more waves as well.
_DUE = {"rules": [data.AT_ONCE]}
CASES: Mapping[str, Mapping[str, Any]] = {
    "most events wait": {"max_unavailable": "5%"},
    "all events are due, 1% of the hosts at a time": {**_DUE, "max_unavailable": "1%"},
    "all events are due, 30 hosts at a time": {**_DUE, "max_unavailable": 30},
}

_FLEET = maintenance_fleet.FilterModule().filters()["maintenance_fleet"]
_OPTIONS = maintenance_options.FilterModule().filters()["maintenance_options"]
_PLAN = maintenance_plan.FilterModule().filters()["maintenance_plan"]


@dataclass(frozen=True)
class Cost:
    """seconds: of the processor per host, so that what else the machine does counts less; placed: what became of the events, in words."""

    hosts: int
    seconds: float
    placed: str


def fleet_of(hosts: int) -> Dict[str, Any]:
    """Scopes of twenty, of which two have answered with the events of all twenty; each host has said its own state."""
    hostvars: Dict[str, Dict[str, Any]] = {}
    for number in range(hosts):
        name = _name(number)
        variables: Dict[str, Any] = {
            **data.listed(name),
            "rolling_maintenance_scope": "scope %d" % (number // SCOPE),
            STATUS: data.status(),
        }
        if number % SCOPE < 2:
            variables[ANSWER] = data.answer(*_events(number - number % SCOPE, hosts), who=data.vm(name))
        hostvars[name] = variables
    return dict(_FLEET(hostvars, list(hostvars), in_run=list(hostvars)))


def _name(number: int) -> str:
    return "web_%d" % number


def _events(first: int, hosts: int) -> List[Dict[str, Any]]:
    """Those of the scope that begins with this host."""
    return [_event(number) for number in range(first, min(first + SCOPE, hosts), HOSTS_PER_EVENT)]


def _event(number: int) -> Dict[str, Any]:
    """Of one host or of two, in half an hour to seven days."""
    index = number // HOSTS_PER_EVENT
    hit = number + 5
    names = [_name(hit)] + ([_name(hit + 1)] if index % SHARED == 0 else [])
    status = "Started" if index % STARTED == STARTED - 1 else "Scheduled"
    notice = HOUR / 2 + (index * 7919 % 1000) / 1000 * 7 * DAY
    return data.event("event-%d" % index, " ".join(names), data.NOW + notice, event_status=status)


def once(fleet: Mapping[str, Any], options: Mapping[str, Any]) -> Mapping[str, Any]:
    plan: Mapping[str, Any] = _PLAN(fleet, options, data.NOW, FORKS)
    return plan


def measure(case: Mapping[str, Any], *, turns: int = 3) -> List[Cost]:
    """Of each size the median. Each turn takes every size, small ones often."""
    options = _OPTIONS(case)
    fleets = {size: fleet_of(size) for size in SIZES}
    seconds: Dict[int, List[float]] = {size: [] for size in SIZES}
    for _turn in range(turns):
        for size, fleet in fleets.items():
            seconds[size].append(_per_host(fleet, options, size))
    return [Cost(size, statistics.median(values), _placed(fleets[size], options, size)) for size, values in seconds.items()]


def _per_host(fleet: Mapping[str, Any], options: Mapping[str, Any], hosts: int) -> float:
    repetitions = max(1, LEAST_HOSTS // hosts)
    began = time.process_time()
    for _repetition in range(repetitions):
        once(fleet, options)
    return (time.process_time() - began) / repetitions / hosts


def _placed(fleet: Mapping[str, Any], options: Mapping[str, Any], hosts: int) -> str:
    plan = once(fleet, options)
    if sum(plan["counts"].values()) != hosts // HOSTS_PER_EVENT:
        raise RuntimeError("of %d events the plan has %s" % (hosts // HOSTS_PER_EVENT, plan["counts"]))
    said = ["%d %s" % (number, place) for place, number in plan["counts"].items() if number]
    return "events: %s; %d waves" % (", ".join(said), len(plan["waves"]))
