# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both programs of a host together, at a simulated VM: they meet in files only. Handlers end at once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from ansible_collections.cloud_maintenance.azure.tests.unit.roles.event_handlers.watched import Host
from azure_event_handlers import configuration, evidence, published
from azure_event_handlers import records as r
from azure_event_handlers.evidence import Journals
from azure_event_handlers.launcher import Job, Launcher, Seen
from azure_event_handlers.records import Record
from azure_event_handlers.service import Service


class AtOnce(Launcher):
    """Handlers that do what they should."""

    def __init__(self) -> None:
        self.boot_now = "boot 1"
        self.ran: List[str] = []
        self._units: Dict[str, Seen] = {}

    @property
    def boot(self) -> str:
        return self.boot_now

    def units(self) -> Dict[str, Seen]:
        return dict(self._units)

    def begin(self, name: str, job: Job) -> None:
        phase = job.command[1]
        out_of_service = [one for one in self.ran if one != r.INSPECT][-1:] == [r.PREPARE]
        self.ran.append(phase)
        self._units[name] = Seen(False, 0 if phase != r.INSPECT or out_of_service else 1)

    def stop(self, name: str) -> None:
        self._units[name] = Seen(False, None)

    def discard(self, name: str) -> None:
        self._units.pop(name, None)


class Both:
    """The host of the agent's tests, with the executor that hosts have."""

    def __init__(self, simulator: Any, folder: Path) -> None:
        self.host = Host(simulator, folder)
        self.launcher = AtOnce()
        self.host.executor = self  # type: ignore[assignment]
        paths = self.host.paths
        for path in (paths.handlers, paths.options, paths.requests):
            Path(path).mkdir(parents=True, exist_ok=True)
        handler = Path(paths.handlers) / "10-web"
        handler.write_text("#!/bin/sh\n", encoding="utf-8")
        config = Path(paths.configuration)
        config.write_text(
            json.dumps({"format": 1, "mode": "prepare_and_approve", "endpoint": simulator.endpoint("web_0")}), encoding="utf-8"
        )
        for place in (folder, *folder.rglob("*")):
            place.chmod(0o755)
        config.chmod(0o644)
        self.host.configuration = configuration.load(paths, owner=os.getuid())
        self.said: List[str] = []
        self.service = self.start()

    def start(self) -> Service:
        service = Service(self.host.paths, self.launcher, self.host.clock, owner=os.getuid(), say=self.said.append)
        service._store.acquire()
        service._wake()
        return service

    def turn(self) -> None:
        while self.service.turn():
            pass

    def record(self, event_id: str) -> Record:
        status = published.read(self.host.paths.status)
        assert status is not None
        found = status.find(event_id)
        assert found is not None
        return found

    def is_in(self, event_id: str, state: str) -> bool:
        status = published.read(self.host.paths.status)
        record = None if status is None else status.find(event_id)
        return record is not None and record.state == state

    def evidence(self, event_id: str) -> Dict[str, Any]:
        record = self.record(event_id)
        return evidence.of(record, Journals(self.host.paths.journals).lines(record.key), now=self.host.simulator.now())

    def run_until(self, event_id: str, state: str, *, within: float) -> None:
        took = self.host.run(within, until=lambda: self.is_in(event_id, state))
        assert took < within, self.said[-5:]


@pytest.fixture
def both(simulator: Any, tmp_path: Path) -> Iterator[Both]:
    simulator.add_scope("web", vms=["web_0", "web_1"])
    made = Both(simulator, tmp_path)
    yield made
    made.service._store.release()


def test_an_event_goes_its_whole_way_and_can_be_shown_afterwards(both: Both) -> None:
    event = both.host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900, runs_for=30)
    both.run_until(event.event_id, r.IMPACT, within=30)
    both.run_until(event.event_id, r.CLOSED, within=60)
    assert both.launcher.ran == ["inspect", "prepare", "inspect", "recover"]
    shown = both.evidence(event.event_id)
    assert (shown["result"], shown["approved_by"], shown["identity"]["name"]) == ("recovered", "us", "web_0")
    assert (shown["decision"], shown["decision_details"]["rule"], shown["clock"]["difference"]) == (
        "prepare_and_approve",
        "asked for by us",
        0.0,
    )
    assert [(post["by"], post["outcome"]) for post in shown["posts"]] == [("agent", "taken")]
    assert not both.host.lines("refused")


def test_a_shared_event_is_prepared_for_and_not_approved(both: Both) -> None:
    """Mistake 5."""
    event = both.host.simulator.schedule("Reboot", ["web_0", "web_1"], source="User", notice=900, runs_for=30)
    both.run_until(event.event_id, r.CLOSED, within=1200)
    assert both.host.posts() == []
    shown = both.evidence(event.event_id)
    assert (shown["result"], shown["decision"], shown["approved_by"]) == ("recovered", "prepare", "nobody")


def test_a_cancelled_event_is_recovered_from(both: Both) -> None:
    """W-13."""
    both.host.configuration = configuration.Configuration(endpoint=both.host.simulator.endpoint("web_0"), mode="prepare")
    event = both.host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900)
    both.run_until(event.event_id, r.PREPARED, within=30)
    both.host.simulator.cancel(event.event_id)
    both.run_until(event.event_id, r.CLOSED, within=60)
    assert both.evidence(event.event_id)["result"] == "cancelled"
    assert both.host.posts() == []


def test_no_request_of_a_long_quiet_watch_is_refused_or_repeated(both: Both) -> None:
    """What the executor shows is what the agent has told, word by word; else it would be told again for ever."""
    for kind, notice in (("Reboot", 86400.0), ("Freeze", 86400.0), ("Upgrade", 86400.0)):
        both.host.simulator.schedule(kind, ["web_0"], notice=notice)
    both.host.run(300)
    # Who this is, as soon as that is known; then the events.
    assert [len(line["events"]) for line in both.host.lines("observe")] == [0, 3]
    assert not both.host.lines("refused")
    assert both.host.problems() == ["refused"]


def stray(both: Both) -> Path:
    return Path(both.host.paths.handlers) / "notes.txt"


def writable(both: Both) -> Path:
    return Path(both.host.paths.handlers) / "20-more"


@pytest.mark.parametrize("wrong", [stray, writable])
def test_a_wrong_configuration_at_the_start_of_the_agent_keeps_no_host_from_being_recovered(both: Both, wrong: Any) -> None:
    host = both.host
    first = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900, runs_for=30)
    both.run_until(first.event_id, r.IMPACT, within=30)
    host._load = lambda: configuration.load(host.paths, owner=os.getuid())  # type: ignore[method-assign]
    host.guarding = configuration.guarding(host.paths, owner=os.getuid())
    file = wrong(both)
    file.touch()
    file.chmod(0o775)
    host.begin()
    both.run_until(first.event_id, r.CLOSED, within=60)
    second = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900, runs_for=30)
    both.run_until(second.event_id, r.SEEN, within=10)
    host.run(30)
    assert both.is_in(second.event_id, r.SEEN)
    assert host.problems() == ["configuration"]
    file.unlink()
    both.run_until(second.event_id, r.IMPACT, within=30)
    both.run_until(second.event_id, r.CLOSED, within=60)
    assert host.posts() == [first.event_id, second.event_id]
