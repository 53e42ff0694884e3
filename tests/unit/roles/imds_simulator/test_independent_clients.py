# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that know nothing of this collection go through the life of an event."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, List

import pytest

SCRIPT = Path(__file__).with_name("independent_client.py")


def test_a_script_with_urllib_goes_through_a_full_life(make_sim: Any) -> None:
    """C-1, C-2, C-12, C-13, C-15, C-22, C-24: query, approve, started, gone."""
    sim = make_sim(clock="real", rate=20.0)
    sim.add_scope("web", vms=["web_0", "web_1"])
    event = sim.schedule("Reboot", ["web_0", "web_1"], notice=900, start_delay=4, runs_for=8)
    run = subprocess.run(
        [sys.executable, str(SCRIPT), sim.endpoint("web_0"), "0.05"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={"http_proxy": "http://127.0.0.1:9"},
    )
    assert (run.stderr, run.returncode, run.stdout.split()) == ("", 0, ["Scheduled", "Started", "gone"])
    assert (event.outcome, event.approved_by, len(sim.posts())) == ("completed", "web_0", 1)


@pytest.fixture
def curl() -> str:
    program = shutil.which("curl")
    if program is None:
        pytest.fail("curl is missing: this test takes an event through its life with it; install curl (Debian: apt-get install curl)")
    return program


def test_curl_goes_through_a_full_life(sim: Any, curl: str) -> None:
    """C-1, C-2, C-9, C-12, C-15, C-22, C-25: query, approve, started, gone."""
    url = sim.endpoint("web_1") + "/metadata/scheduledevents?api-version=2020-07-01"

    def run(*options: str) -> str:
        command: List[str] = [curl, "--silent", "--show-error", "--noproxy", "*", "--max-time", "10", "--header", "Metadata:true"]
        return subprocess.run([*command, *options, url], capture_output=True, text=True, timeout=30, check=True).stdout

    def status() -> List[str]:
        return [entry["EventStatus"] for entry in json.loads(run())["Events"]]

    assert status() == []
    event = sim.schedule("Redeploy", ["web_0"], start_delay=10, runs_for=60)
    assert status() == ["Scheduled"]
    approval = json.dumps({"StartRequests": [{"EventId": event.event_id}]})
    assert run("--data", approval, "--write-out", "%{http_code}") == "200"
    assert status() == ["Scheduled"]
    sim.advance(10)
    assert status() == ["Started"]
    assert run("--data", approval, "--write-out", "%{http_code}") == "200"
    sim.advance(60)
    assert status() == []
    assert run("--header", 'If-None-Match: "%d"' % json.loads(run())["DocumentIncarnation"], "--write-out", "%{http_code}") == "304"
    assert [record.json()["StartRequests"] for record in sim.posts()] == [[{"EventId": event.event_id}]] * 2
