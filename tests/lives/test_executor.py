# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The executor with real handlers and a real store: killed with SIGKILL at each point, and by a machine that stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Mapping, Sequence

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import asked, executor
from azure_event_handlers import records as r
from azure_event_handlers.executor import CRASH_POINTS, Executor, job_of
from azure_event_handlers.processes import Processes
from azure_event_handlers.records import Driver, Record, Step
from azure_event_handlers.shelf import Shelf
from azure_event_handlers.store import Store
from azure_event_handlers.terms import Moment, Term

VM = "11111111-0000-4000-8000-000000000000"
FAR = 4_000_000_000.0
DRIVER = Driver("playbook", "run 1", Term(time.time() + 3600.0))
SECOND = replace(DRIVER, run="run 2")
EVENT = Event("E-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), FAR, "", 9)
HANDLER = """#!/bin/sh
log={log}
echo "$(date +%s%N) begin {name} $1 $ATTEMPT $INTERRUPTED" >> $log
case $1 in
  inspect) test -e {state}; code=$?; [ $code = 0 ] || code=1 ;;
  prepare) sleep 0.05; touch {state}; code=0 ;;
  recover) sleep 0.05; rm -f {state}; code=0 ;;
esac
echo "$(date +%s%N) end {name} $1 $ATTEMPT $INTERRUPTED" >> $log
exit $code
"""
# One life of the executor, killed when it comes to a point for the first time: prepare, commit, the event goes, recover.
LIFE = """
import os, signal, sys
sys.path[:0] = {path!r}
from azure_event_handlers import executor
from test_executor_life import live
executor.LOOK = 0.02
def crash(point):
    if point == {point!r} and not os.path.exists({killed!r}):
        open({killed!r}, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
live({folder!r}, crash)
"""


class Host:
    """Two handlers and the folders of an executor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.log.touch()
        for name in ("alpha", "beta"):
            handler = folder / name
            handler.write_text(HANDLER.format(log=self.log, name=name, state=folder / (name + ".out")), encoding="utf-8")
            handler.chmod(0o755)

    def launcher(self) -> Processes:
        return Processes(self.folder / "run")

    def lines(self) -> List[List[str]]:
        return [line.split()[1:] for line in self.log.read_text(encoding="utf-8").splitlines()]

    def runs(self, *phases: str) -> List[str]:
        return ["%s %s" % (line[1], line[2]) for line in self.lines() if line[0] == "begin" and line[2] in phases]

    def out_of_service(self) -> List[str]:
        return [name for name in ("alpha", "beta") if (self.folder / (name + ".out")).exists()]

    def records(self) -> Dict[str, Record]:
        return dict(Store(str(self.folder / "state")).load().records)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    yield made
    made.launcher().reboot()


def live(folder: str, crash: Callable[[str], None]) -> None:
    """What the executor and its driver do in one life, from wherever they are."""
    place = Path(folder)
    store = Store(str(place / "state"))
    store.acquire()
    shelf = Shelf(store)
    made = Executor(
        shelf,
        Processes(place / "run"),
        Clock(),
        vm_id=lambda: VM,
        crash=crash,
    )
    steps = tuple(Step(name, str(place / name), 30.0, True) for name in ("alpha", "beta"))
    records = shelf.records
    record = next(iter(records.values()), Record(EVENT, 1, VM, first_seen=time.time()))
    if record.state == r.SEEN:
        times = Times(FAR, 300.0, 60.0, 5.0)
        shelf.save(asked.prepare(record, DRIVER, times=times, within=300.0, steps=steps, empty_allowed=False, now=_now()))
    _run(made, shelf, until=lambda now: _only(now).state in (r.PREPARED, r.COMMITTED, r.IMPACT, r.RECOVERING, r.CLOSED))
    if _only(shelf.records).state == r.PREPARED:
        shelf.save(asked.commit(_only(shelf.records), DRIVER, EVENT, now=_now(), held=None))
    _run(made, shelf, until=lambda now: _only(now).state in (r.COMMITTED, r.IMPACT, r.RECOVERING, r.CLOSED))
    # A second run comes, to which the first one is lost.
    if _only(shelf.records).state == r.COMMITTED and SECOND.who not in _only(shelf.records).given_to:
        lost = replace(_only(shelf.records), driver=replace(DRIVER, lease=Term(0.0)))
        shelf.save(asked.commit(lost, SECOND, EVENT, now=_now(), held=None))
        _run(made, shelf, until=lambda now: not _only(now).committing)
        assert _only(shelf.records).given_to == (DRIVER.who, SECOND.who)
    for seen in (_started(EVENT), None):
        current = _only(shelf.records)
        if current.view in (r.SCHEDULED, r.STARTED):
            shelf.save(asked.observe(current, seen, now=time.time(), named=True))
            _run(
                made, shelf, until=lambda now, view=seen: _only(now).state in ((r.IMPACT, r.RECOVERING, r.CLOSED) if view else (r.CLOSED,))
            )
    _run(made, shelf, until=lambda now: _only(now).state == r.CLOSED)


def _run(made: Executor, shelf: Shelf, *, until: Callable[[Mapping[str, Record]], bool]) -> None:
    """Step by step, until the records are so."""
    while True:
        while made.step():
            pass
        if until(shelf.records):
            return
        time.sleep(executor.LOOK)


def _now() -> Moment:
    return Moment(time.time(), time.monotonic(), "")


def _started(event: Event) -> Event:
    return replace(event, event_status="Started", not_before=None)


def _only(records: Mapping[str, Record]) -> Record:
    (record,) = records.values()
    return record


def _life(host: Host, point: str) -> int:
    script = LIFE.format(
        path=[str(Path(__file__).parent), *sys.path], point=point, folder=str(host.folder), killed=str(host.folder / "killed")
    )
    script = script.replace("test_executor_life", Path(__file__).stem)
    return subprocess.run([sys.executable, "-B", "-c", script], check=False, timeout=60).returncode


def _assert_a_whole_life(host: Host, *, most_runs: int = 1) -> None:
    (record,) = host.records().values()
    assert (record.state, record.result) == (r.CLOSED, "recovered")
    assert host.out_of_service() == []
    begun = host.runs("prepare", "recover")
    assert list(dict.fromkeys(begun)) == ["alpha prepare", "beta prepare", "beta recover", "alpha recover"]
    assert max(begun.count(run) for run in begun) <= most_runs
    _assert_one_at_a_time(host.lines())


def _assert_one_at_a_time(lines: Sequence[Sequence[str]]) -> None:
    running: List[str] = []
    for what, *who in lines:
        if what == "begin":
            assert not running, "two handlers at the same time"
            running = who[:2]
        else:
            running = []


def test_a_life_without_a_kill(host: Host) -> None:
    assert _life(host, "never") == 0
    _assert_a_whole_life(host)
    assert host.launcher().units() == {}
    assert host.runs("inspect") == 3 * ["alpha inspect", "beta inspect"]


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_kill_of_the_executor_costs_nothing(host: Host, point: str) -> None:
    """The promise of host.md: never a second run, and everything is put back."""
    assert _life(host, point) == -signal.SIGKILL, "this point is never reached"
    assert _life(host, point) == 0
    _assert_a_whole_life(host)


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_machine_that_stops_runs_what_was_cut_once_more_and_says_so(host: Host, point: str) -> None:
    assert _life(host, point) == -signal.SIGKILL
    host.launcher().reboot()
    # The log may end in the middle of a run that was cut.
    host.log.write_text(host.log.read_text(encoding="utf-8") + "0 end cut cut 0 0\n", encoding="utf-8")
    assert _life(host, point) == 0
    (record,) = host.records().values()
    assert record.state == r.CLOSED
    assert host.out_of_service() == []
    begun = [line for line in host.lines() if line[0] == "begin" and line[2] in ("prepare", "recover")]
    for line in begun:
        earlier = [other for other in begun if other[1:3] == line[1:3]]
        assert len(earlier) <= 2
        assert [other[4] for other in earlier] == sorted(other[4] for other in earlier)
        if len(earlier) == 2:
            assert earlier[1][4] == "1", "it is not told that it was interrupted"


def test_ids_and_free_text_never_become_words_of_a_command() -> None:
    """W-58: only what we know reaches the environment; the rest is JSON on standard input."""
    evil = Event("../../x; rm -rf /", "$(reboot)", "Scheduled", "`id`", "VirtualMachine", ("web_0\n",), None, "'; drop", None)
    job = job_of(Record(evil, 1, VM, steps=(Step("alpha", "/handlers/alpha", 5.0, True),)), 0, r.PREPARE, now=0.0)
    assert list(job.command) == ["/handlers/alpha", "prepare"]
    assert job.environment["EVENT_TYPE"] == job.environment["EVENT_SOURCE"] == "unknown"
    assert not [value for value in job.environment.values() for sign in "$`;'\n" if sign in value]
    assert json.loads(job.stdin)["event"]["event_id"] == "../../x; rm -rf /"


def test_a_pause_in_which_the_executor_did_not_run_counts_for_no_limit(tmp_path: Path) -> None:
    """W-20: a freeze of 12 seconds does not end a healthy handler with a limit of 8."""
    passed = [0.0]
    launcher, store = Processes(tmp_path / "run"), Store(str(tmp_path / "state"))
    store.acquire()
    made = Executor(Shelf(store), launcher, Clock(wall=lambda: passed[0], monotonic=lambda: passed[0]), vm_id=lambda: VM)
    for seconds, counted in ((0.0, 0.0), (0.2, 0.2), (12.0, 1.2), (0.2, 1.4)):
        passed[0] += seconds
        made._tick(["unit"])
        assert made._ran["unit"] == pytest.approx(counted)
    assert os.listdir(tmp_path / "run" / "units") == []
