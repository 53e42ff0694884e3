# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers as plain processes: begun once, ended whole, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest
from azure_event_handlers.launcher import Job, Seen
from azure_event_handlers.processes import Processes

NAME = "azure-event-handler-0123456789abcdef-1-0-prepare-0-0"


@pytest.fixture
def sleep() -> str:
    """Nobody else's, however many of these tests run at the same time."""
    return "sleep 12345.%d%d" % (os.getpid(), time.monotonic_ns())


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Processes]:
    made = Processes(tmp_path / "run")
    yield made
    made.reboot()


def job(script: str, *, limit: float = 30.0, stdin: bytes = b"{}", **environment: str) -> Job:
    return Job(["/bin/sh", "-c", script], {"PATH": os.environ["PATH"], **environment}, stdin, limit)


def ended(launcher: Processes, name: str = NAME) -> Seen:
    until(lambda: not launcher.units()[name].running)
    return launcher.units()[name]


def until(condition: Callable[[], bool], timeout: float = 20.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("code", [0, 1, 75, 77])
def test_a_unit_tells_how_its_handler_ended(launcher: Processes, code: int) -> None:
    launcher.begin(NAME, job("cat; echo said; exit %d" % code, stdin=b'{"event": 1}'))
    assert ended(launcher) == Seen(running=False, exit=code, tail='{"event": 1}said\n')


def test_a_handler_has_the_environment_that_it_is_given_and_no_other(launcher: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    launcher.begin(NAME, job("env", PHASE="prepare"))
    lines = ended(launcher).tail.splitlines()
    assert "PHASE=prepare" in lines
    assert not [line for line in lines if line.startswith("SECRET")]


def test_a_handler_is_begun_once_however_often_it_is_asked_for(launcher: Processes, tmp_path: Path) -> None:
    once = job("echo x >> %s; sleep 0.3" % (tmp_path / "runs"))
    for _turn in range(3):
        launcher.begin(NAME, once)
    ended(launcher)
    launcher.begin(NAME, once)
    assert (tmp_path / "runs").read_text() == "x\n"


def test_a_unit_outlives_who_has_begun_it(launcher: Processes, tmp_path: Path) -> None:
    script = (
        "import sys; sys.path[:0] = %r\nfrom pathlib import Path\nfrom azure_event_handlers.processes import Processes\n"
        "from azure_event_handlers.launcher import Job\nimport os, signal\n"
        "Processes(Path(%r)).begin(%r, Job(['/bin/sh', '-c', 'sleep 0.5; exit 3'], {'PATH': os.environ['PATH']}, b'', 9))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n" % (sys.path, str(tmp_path / "run"), NAME)
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    assert launcher.units()[NAME].running
    assert ended(launcher).exit == 3


def test_who_was_killed_before_the_handler_began_begins_it_again(launcher: Processes, tmp_path: Path) -> None:
    (tmp_path / "run" / "units" / NAME).mkdir()
    assert launcher.units() == {}
    launcher.begin(NAME, job("exit 0"))
    assert ended(launcher).exit == 0


def test_a_unit_whose_keeper_was_killed_has_ended_nobody_knows_how(launcher: Processes, tmp_path: Path) -> None:
    launcher.begin(NAME, job("sleep 60"))
    os.kill(int((tmp_path / "run" / "units" / NAME / "begun").read_text()), signal.SIGKILL)
    assert ended(launcher).exit is None


def test_stopping_ends_it_and_all_that_it_has_started(launcher: Processes, sleep: str) -> None:
    launcher.begin(NAME, job(sleep + " & trap '' TERM; echo begun; sleep 60 & wait; sleep 60"))
    until(lambda: "begun" in launcher.units()[NAME].tail)
    launcher.stop(NAME)
    assert launcher.units()[NAME] == Seen(running=False, exit=None, tail="begun\n")
    assert not _runs("^%s" % sleep)


def test_what_a_handler_leaves_in_the_background_ends_with_it(launcher: Processes, sleep: str) -> None:
    launcher.begin(NAME, job("setsid -w %s & %s & exit 0" % (sleep, sleep)))
    assert ended(launcher).exit == 0
    until(lambda: not _runs("^%s" % sleep))


def test_a_handler_that_floods_its_output_fills_no_disk(launcher: Processes, tmp_path: Path) -> None:
    launcher.begin(NAME, job("yes | head -c 30000000; echo; echo the end"))
    assert ended(launcher).tail.endswith("the end\n")
    output = tmp_path / "run" / "units" / NAME / "output"
    assert output.stat().st_blocks * 512 < 16 * 1024 * 1024


def test_the_backstop_is_three_times_the_limit(launcher: Processes) -> None:
    began = time.monotonic()
    launcher.begin(NAME, job("sleep 60", limit=0.2))
    assert ended(launcher).exit is None
    assert 0.5 < time.monotonic() - began < 60


def test_a_program_that_is_not_there_says_so(launcher: Processes) -> None:
    launcher.begin(NAME, Job(["/nowhere/handler"], {}, b"", 5))
    seen = ended(launcher)
    assert seen.exit == 127
    assert "/nowhere/handler" in seen.tail


def test_a_reboot_ends_and_forgets_everything(launcher: Processes, sleep: str) -> None:
    launcher.begin(NAME, job(sleep))
    boot = launcher.boot
    launcher.reboot()
    assert launcher.units() == {}
    assert launcher.boot != boot
    assert not _runs("^%s" % sleep)


def test_a_discarded_unit_may_begin_again_under_its_name(launcher: Processes) -> None:
    launcher.begin(NAME, job("exit 1"))
    ended(launcher)
    launcher.discard(NAME)
    assert launcher.units() == {}


def _runs(words: str) -> bool:
    return subprocess.run(["pgrep", "-f", words], check=False, stdout=subprocess.DEVNULL).returncode == 0
