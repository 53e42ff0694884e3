# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a fleet that `make rehearse` shows: it fails where a step does not do what it says, and leaves nothing behind."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple

import fleet_life
import pytest
from fleet_life import Stage
from nursery import processes_of
from story import Page, Terminal

TOOLS = Path(__file__).resolve().parents[2] / "tests" / "tools"
LIMIT = 180.0  # seconds for what takes a few
# The whole rehearsal without the parts before.
ALONE = "import rehearse; rehearse.rehearse = rehearse.live = lambda page, **more: 0; raise SystemExit(rehearse.main())"


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Stage() as made:
        made.set()
        yield made
    assert list(tmp_path.iterdir()) == []
    assert processes_of(tmp_path) == []


def told(stage: Stage) -> Tuple[int, str]:
    """The exit code, and what was told, in one line."""
    stream = io.StringIO()
    code = fleet_life.fleet_life(Page(stream, Terminal(width=100, utf8=True, colour=False)), stage, stage.play(check=True))
    return code, re.sub(r"\s+", " ", stream.getvalue())


def approve_what_is_held(stage: Stage) -> None:
    body = '{"StartRequests": [{"EventId": "%s"}]}' % stage.events["held"].event_id
    address = stage.host("web1").endpoint + "/metadata/scheduledevents?api-version=2020-07-01"
    request = urllib.request.Request(address, body.encode(), {"Metadata": "true"}, method="POST")
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200


def allow_the_stranger(stage: Stage) -> None:
    stage.vars.write_text(stage.settings + "rolling_maintenance_allow_unmanaged: [old-legacy]\n", encoding="utf-8")


def ask_for_nonsense(stage: Stage) -> None:
    stage.vars.write_text(stage.settings + "rolling_maintenance_max_unavailabel: 3\n", encoding="utf-8")


def break_a_handler(stage: Stage) -> None:
    stage.host("web2").behave("prepare", "code=1")


FAULTS: Dict[str, Tuple[Callable[[Stage], Any], str]] = {
    "an approval while only the plan was asked for": (
        approve_what_is_held,
        "Somebody has approved something, and it was only asked for the plan.",
    ),
    "an event in another place": (
        allow_the_stranger,
        "The plan has the Reboot of shop-batch1 and old-legacy in waves and not in refused.",
    ),
    "options that are wrong": (ask_for_nonsense, "rolling_maintenance_max_unavailabel"),
    "a host that is not ready": (
        break_a_handler,
        "The Reboot of shop-web2 and shop-web3 was approved 0 times and not once.",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_as_it_was_said_is_noticed(fault: str, stage: Stage) -> None:
    spoil, reason = FAULTS[fault]
    spoil(stage)
    code, story = told(stage)
    assert code == 1, story
    assert reason in story


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=["kill", "kill -9"])
def test_a_fleet_that_is_stopped_leaves_no_process_behind(number: int, code: int, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8", "PYTHONPATH": str(TOOLS)}
    process = subprocess.Popen([sys.executable, "-B", "-c", ALONE], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout:
        for line in process.stdout:
            if "out of service" in line:
                break
        assert len(processes_of(tmp_path)) > 10, "nothing was running that could be left behind"
        process.send_signal(number)
        assert process.wait(timeout=LIMIT) == code
    deadline = time.monotonic() + LIMIT
    while processes_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes_of(tmp_path) == []
