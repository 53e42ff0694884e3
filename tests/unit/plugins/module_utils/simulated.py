# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Our client at a simulated VM: the time of both is the simulator's, and waiting moves it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Callable, Dict, Iterable, List, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._approval import Approval, Outcome
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import (
    connection_arguments,
    connection_of,
    selection_arguments,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._gate import Terms
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import MetadataService, connect
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._info import Question, answer
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._wait import UNTIL_GONE, Ended, Wait

Step = Callable[[], Any]


def clock_of(simulator: Any, *, meanwhile: Iterable[Step] = ()) -> Clock:
    """Nobody sleeps: a pause of the client is time that passes in the simulator. Before each pause the next step happens."""
    steps = iter(meanwhile)

    def sleep(seconds: float) -> None:
        next(steps, lambda: None)()
        simulator.advance(seconds)

    return Clock(wall=simulator.now, monotonic=simulator.now, sleep=sleep)


def service_of(simulator: Any, vm: str, *, clock: Optional[Clock] = None, **options: Any) -> MetadataService:
    """The metadata service of one VM, with the options of a task."""
    defaults = {name: argument["default"] for name, argument in connection_arguments().items()}
    connection = connection_of({**defaults, "endpoint": simulator.endpoint(vm), **options})
    return connect(**asdict(connection), clock=clock or clock_of(simulator))


def ask(simulator: Any, vm: str, *, api_version: str = "2020-07-01", **options: Any) -> Dict[str, Any]:
    """What azure_scheduled_events_info and the lookup answer on this VM."""
    defaults = {name: argument.get("default") for name, argument in selection_arguments().items()}
    return answer(service_of(simulator, vm, api_version=api_version), Question.of({**defaults, **options}))


def events_of(simulator: Any, vm: str, **options: Any) -> List[Dict[str, Any]]:
    events: List[Dict[str, Any]] = ask(simulator, vm, **options)["events"]
    return events


def ids_of(simulator: Any, vm: str, **options: Any) -> List[str]:
    return [event["event_id"] for event in events_of(simulator, vm, **options)]


def approval_of(
    simulator: Any,
    vm: str,
    event_ids: Iterable[str],
    *,
    ready: Iterable[str],
    unready_allowed: Iterable[str] = (),
    types_allowed: Iterable[str] = (),
    missing_allowed: bool = True,
    **options: Any,
) -> Approval:
    terms = Terms.of(ready=ready, unready_allowed=unready_allowed, types_allowed=types_allowed, missing_allowed=missing_allowed)
    return Approval(service_of(simulator, vm, **options), clock_of(simulator), event_ids=event_ids, terms=terms)


def approve(
    simulator: Any, vm: str, event_ids: Iterable[str], *, ready: Iterable[str], start_timeout: Optional[float] = None, **options: Any
) -> Outcome:
    """What azure_scheduled_event_approve does on this VM."""
    return approval_of(simulator, vm, event_ids, ready=ready, **options).run(start_timeout=start_timeout)


def words_of(outcome: Outcome) -> List[str]:
    """The result for each id."""
    return [result["result"] for result in outcome.results]


def wait(
    simulator: Any,
    vm: str,
    event_ids: Iterable[str],
    *,
    until: str = UNTIL_GONE,
    wait_timeout: float = 3600.0,
    poll_interval: float = 5.0,
    absent_allowed: bool = False,
    meanwhile: Iterable[Step] = (),
    **options: Any,
) -> Ended:
    """What azure_scheduled_event_wait does on this VM."""
    waiting = Wait(tuple(event_ids), until, wait_timeout, poll_interval, absent_allowed)
    return waiting.run(service_of(simulator, vm, **options), clock_of(simulator, meanwhile=meanwhile))


def states_of(ended: Ended) -> List[str]:
    return [event["state"] for event in ended.events]


def posted_ids(simulator: Any) -> List[List[str]]:
    """The ids of each start request that was sent, whatever became of it."""
    return [[entry["EventId"] for entry in record.json()["StartRequests"]] for record in simulator.posts()]
