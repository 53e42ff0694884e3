# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bare client for the tests of the simulator: nothing between the test and the wire but http.client."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional
from urllib.parse import urlsplit

import pytest
from imds_simulator import Simulator

NEWEST = "2020-07-01"


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        return json.loads(self.body)

    def error(self) -> str:
        data = self.json()
        assert list(data) == ["error"]
        return data["error"]

    def events(self) -> List[Dict[str, Any]]:
        assert self.status == 200
        return self.json()["Events"]


class Asker:
    """Asks the data plane as one VM or another."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim

    def send(
        self,
        vm: Optional[str],
        target: str,
        *,
        verb: str = "GET",
        body: Optional[bytes] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: float = 5.0,
    ) -> Answer:
        parts = urlsplit(self.sim.endpoint(vm) if vm else self.sim.data_url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
        try:
            connection.request(verb, parts.path + target, body, dict({"Metadata": "true"} if headers is None else headers))
            answer = connection.getresponse()
            return Answer(answer.status, answer.read(), answer.headers)
        finally:
            connection.close()

    def get(self, vm: Optional[str], version: str = NEWEST, **more: Any) -> Answer:
        return self.send(vm, "/metadata/scheduledevents?api-version=" + version, **more)

    def post(self, vm: str, *ids: str, version: str = NEWEST, body: Optional[bytes] = None, **more: Any) -> Answer:
        wanted = json.dumps({"StartRequests": [{"EventId": event_id} for event_id in ids]}).encode() if body is None else body
        return self.send(vm, "/metadata/scheduledevents?api-version=" + version, verb="POST", body=wanted, **more)

    def instance(self, vm: str, path: str = "", more: str = "", **options: Any) -> Answer:
        return self.send(vm, "/metadata/instance%s?api-version=2021-02-01%s" % (path, more), **options)

    def events(self, vm: str) -> List[Dict[str, Any]]:
        return self.get(vm).events()

    def only(self, vm: str) -> Dict[str, Any]:
        (event,) = self.events(vm)
        return event

    def status(self, vm: str) -> Optional[str]:
        """The status of the one event that this VM sees; None if it sees none."""
        events = self.events(vm)
        assert len(events) < 2
        return events[0]["EventStatus"] if events else None

    def incarnation(self, vm: str) -> Any:
        return self.get(vm).json()["DocumentIncarnation"]


@pytest.fixture
def make_sim() -> Iterator[Callable[..., Simulator]]:
    """Simulators with a clock that stands, and with settings; all are closed in the end."""
    opened: List[Simulator] = []

    def make(**settings: Any) -> Simulator:
        opened.append(Simulator(**dict({"clock": "manual"}, **settings)).open())
        return opened[-1]

    yield make
    for sim in opened:
        sim.close()


@pytest.fixture
def sim(make_sim: Callable[..., Simulator]) -> Simulator:
    """An availability set of two, and a VM by itself."""
    made = make_sim()
    made.add_scope("web", vms=["web_0", "web_1"])
    made.add_vm("lonely")
    return made


@pytest.fixture
def ask(sim: Simulator) -> Asker:
    return Asker(sim)


@pytest.fixture
def asker() -> Callable[[Simulator], Asker]:
    """An asker for a simulator that the test has made itself."""
    return Asker
