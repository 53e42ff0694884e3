# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A VM of the simulator on which an agent lives, second by second."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.tests.unit.roles.event_handlers.fake_executor import FakeExecutor
from azure_event_handlers import agent as program
from azure_event_handlers.agent import Agent
from azure_event_handlers.configuration import PREPARE_AND_APPROVE, Configuration
from azure_event_handlers.paths import Paths


class Host:
    """A VM of the simulator with an agent and an executor; a second of all three is one turn."""

    def __init__(self, simulator: Any, folder: Path, vm: str = "web_0", **options: Any) -> None:
        self.simulator = simulator
        self.vm = vm
        self.paths = Paths(str(folder))
        for path in (self.paths.agents_requests, self.paths.answers, self.paths.agents_own, self.paths.handlers, self.paths.options):
            Path(path).mkdir(parents=True, exist_ok=True)
        self.wrong: Optional[str] = None
        self.options = options
        self.configuration = Configuration(endpoint=simulator.endpoint(vm), **{"mode": PREPARE_AND_APPROVE, **options})
        # What there is to guard by without a usable configuration.
        self.guarding = Configuration(endpoint=simulator.endpoint(vm))
        self.executor = FakeExecutor(self.paths, simulator.now)
        self.said: List[str] = []
        self.ahead = 0.0
        self.synchronised = True
        self.boot = "boot 1"
        self.agent = self.begin()

    def begin(self) -> Agent:
        """A new life of the agent."""
        self.agent = Agent(
            self.paths,
            self.clock,
            load=self._load,
            guarding=lambda: self.guarding,
            boot=self.boot,
            connected=program.service_of,
            synchronised=lambda: self.synchronised,
            say=self.said.append,
        )
        return self.agent

    @property
    def clock(self) -> Clock:
        return Clock(wall=lambda: self.simulator.now() + self.ahead, monotonic=self.simulator.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        """While the agent waits, the executor works."""
        self.simulator.advance(seconds)
        self.executor.turn()

    def _load(self) -> Configuration:
        if self.wrong is not None:
            raise ConfigurationError(self.wrong)
        return self.configuration

    def configure(self, **changes: Any) -> None:
        self.options = {**self.options, **changes}
        self.configuration = Configuration(endpoint=self.simulator.endpoint(self.vm), **{"mode": PREPARE_AND_APPROVE, **self.options})
        self.agent.reload = True

    def run(self, seconds: float, *, until: Callable[[], bool] = lambda: False, each: Callable[[], None] = lambda: None) -> float:
        """So many turns, or until something is so; the seconds it took."""
        for second in range(int(seconds)):
            each()
            self.agent.safe_turn()
            self.executor.turn()
            if until():
                return float(second)
            self.simulator.advance(1.0)
        return seconds

    def run_until(self, until: Callable[[], bool], *, within: float) -> float:
        took = self.run(within, until=until)
        assert took < within, (self.executor.moves, self.lines()[-5:])
        return took

    def lines(self, what: Optional[str] = None) -> List[Dict[str, Any]]:
        found = [json.loads(line) for line in self.said]
        return [line for line in found if what in (None, line["what"])]

    def facts(self) -> Dict[str, Any]:
        found: Dict[str, Any] = json.loads(Path(self.paths.agents_facts).read_text(encoding="utf-8"))
        return found

    def problems(self) -> List[str]:
        return [problem["word"] for problem in self.facts()["problems"]]

    def metric(self, name: str) -> float:
        for line in Path(self.paths.metrics).read_text(encoding="utf-8").splitlines():
            if line.startswith("azure_event_handlers_%s " % name):
                return float(line.split()[-1])
        raise AssertionError(name)

    def requests(self, **more: Any) -> List[Any]:
        return self.simulator.requests(vm=self.vm, **more)

    def posts(self) -> List[str]:
        return [entry["EventId"] for post in self.simulator.posts(vm=self.vm) for entry in post.json()["StartRequests"]]
