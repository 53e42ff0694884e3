# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real hosts whose executor is killed, and whose machine stops, at each point at which that could matter."""

from __future__ import annotations

import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Dict, Iterator, List, Tuple

import pytest
from lab import Lab
from lab.ansible import Controller
from lab.guarded import TOP, Guarded, never_two_at_once

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
KILL, POWER = "kill", "power"
HOSTS = 6
# Of the executor and its store; tests/unit has those of the agent. The page host.rst lists all of them.
POINTS = (
    "before intent",
    "after intent, before the unit",
    "unit running",
    "unit ended, not journaled",
    "journaled, not stopped",
    "last result, not PREPARED",
    "before COMMITTED is durable",
    "before another COMMITTED is durable",
    "recover: before intent",
    "recover: after intent, before the unit",
    "recover: unit running",
    "recover: unit ended, not journaled",
    "recover: journaled, not stopped",
    "last recover, not CLOSED",
    "between temporary file and rename",
    "between rename and fsync of the folder",
)
CASES = [(how, point) for point in POINTS for how in (KILL, POWER)]
DROP_IN = (
    """[Service]
ExecStart=
ExecStart=/usr/bin/python3 -B /usr/local/lib/crashing_executor.py
ReadWritePaths=-%s
"""
    % TOP
)


@pytest.fixture(scope="module")
def cases(request: pytest.FixtureRequest) -> List[Tuple[str, str]]:
    return [case for case in CASES if any("[%s-%s]" % case in item.name for item in request.session.items)]


@pytest.fixture(scope="module")
def lab(cases: List[Tuple[str, str]]) -> Iterator[Lab]:
    with Lab(hosts=max(1, min(HOSTS, len(cases)))) as opened:
        yield opened


@pytest.fixture(scope="module")
def lived(
    cases: List[Tuple[str, str]], lab: Lab, newest_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Dict[Tuple[str, str], str]:
    """What went wrong in each case that is wanted; empty: nothing. Some hosts, each with one case after the other."""
    controller = Controller(lab, "newest", newest_programs, tmp_path_factory.mktemp("controller"))
    role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers"}}
    installed = controller.play([role], ansible_become=True, timeout=300)
    assert installed.code == 0, installed.output
    free: Queue[Guarded] = Queue()
    for host in lab.hosts.values():
        guarded = Guarded(lab, host)
        _set_the_stage(guarded)
        free.put(guarded)

    def play(case: Tuple[str, str]) -> str:
        host = free.get()
        try:
            return _lived(host, *case)
        finally:
            free.put(host)

    with ThreadPoolExecutor(max_workers=HOSTS) as workers:
        return dict(zip(cases, workers.map(play, cases)))


def _set_the_stage(host: Guarded) -> None:
    """The agent is not there: driver.py plays its part, without waiting for a service."""
    host.host.run("systemctl", "disable", "--now", "azure-event-agent")
    for name in ("crashing_executor", "driver"):
        text = (PROGRAMS / (name + ".py")).read_text(encoding="utf-8")
        host.host.shell("cat > /usr/local/lib/%s.py <<'END'\n%s\nEND" % (name, text))
    folder = "/etc/systemd/system/azure-event-executor.service.d"
    host.host.shell("mkdir -p %s; cat > %s/crash.conf <<'END'\n%sEND" % (folder, folder, DROP_IN))
    host.host.run("systemctl", "daemon-reload")


def _lived(host: Guarded, how: str, point: str) -> str:
    try:
        host.host.run("systemctl", "stop", "azure-event-executor.service")
        host.install("10-alpha", "20-beta")
        host.host.shell("printf '%%s %%s' '%s' '%s' > %s/crash" % (how, point, TOP))
        event = "E-%d" % CASES.index((how, point))
        _drive(host, how, event)
        _judge(host, how, event)
    except Exception:  # noqa: BLE001  (each case's end is its own test's matter)
        return "%s\n%s" % (traceback.format_exc(), host.host.shell("journalctl -o cat -n 40 -u 'azure-event-*'", check=False))
    return ""


def _drive(host: Guarded, how: str, event: str) -> None:
    if how == KILL:
        assert _driven(host, event) == "recovered"
        assert host.host.shell("ls %s/crashed" % TOP), "this point is never reached"
        return
    host.host.shell("nohup /usr/bin/python3 -B /usr/local/lib/driver.py %s > /dev/null 2>&1 &" % event)
    host.wait_for(lambda: host.host.shell("ls %s/crashed 2>/dev/null || true" % TOP).strip() != "")
    host.host.vanish()
    host.host.boot()
    host.host.wait_until_it_serves()
    assert _driven(host, event) == "recovered"


def _driven(host: Guarded, event: str) -> str:
    return host.host.run("/usr/bin/python3", "-B", "/usr/local/lib/driver.py", event, timeout=90.0, check=False).strip()


def _judge(host: Guarded, how: str, event: str) -> None:
    runs = host.runs()
    assert host.out() == [], "left out of service"
    assert never_two_at_once(host.runs("inspect", "prepare", "recover"))
    order: List[str] = list(dict.fromkeys("%s %s" % (run.who, run.phase) for run in runs))
    assert order == ["10-alpha prepare", "20-beta prepare", "20-beta recover", "10-alpha recover"]
    for name in order:
        same = [run for run in runs if "%s %s" % (run.who, run.phase) == name]
        # Once; once more only if the machine stopped while it may have run, and then it is told so.
        assert len(same) <= (1 if how == KILL else 2), runs
        told = [run.interrupted for run in same]
        assert told == list(range(len(same))) or (how == POWER and told == [1]), runs
    states = [record["state"] for record in host.status()["records"] if record["event"]["event_id"] == event]
    assert states == ["CLOSED"]
    units = host.host.shell("systemctl list-units --all --plain --no-legend 'azure-event-handler-*' | wc -l").strip()
    assert units == "0"


@pytest.mark.parametrize(("how", "point"), CASES)
def test_nothing_is_lost_and_nothing_runs_twice(lived: Dict[Tuple[str, str], str], how: str, point: str) -> None:
    """The promise of the host, at each point of its list."""
    assert not lived[(how, point)], lived[(how, point)]


def test_the_list_of_points_is_that_of_the_code(lab: Lab) -> None:
    program = (
        "import sys; sys.path.insert(0, '/usr/local/lib/azure-event-handlers');"
        "from azure_event_handlers import executor, store; print('|'.join(executor.CRASH_POINTS + store.CRASH_POINTS))"
    )
    host = next(iter(lab.hosts.values()))
    assert host.run("/usr/bin/python3", "-c", program).strip().split("|") == list(POINTS)
