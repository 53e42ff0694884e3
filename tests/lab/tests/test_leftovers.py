# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab leaves nothing behind, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping

import pytest
from lab import Lab, LabError, leftovers
from lab.client import CACHE
from lab.waiting import until

# A run that is killed: it holds a lab with a frozen host, a command inside the lab, and a connection that ssh keeps.
RUN = """
import sys, time
from lab import Lab
if "stops" in sys.argv:
    Lab.learn_keys = lambda self: time.sleep(600)
lab = Lab(sys.argv[1], hosts=2).open(leave_running=sys.argv[2] == "left")
visitor = lab.start(["sleep", "600"])
lab.run(["ssh", "-F", str(lab.folder / "ssh" / "config"), "-o", "ControlMaster=auto", "-o", "ControlPersist=600",
         "-o", "ControlPath=%s/ssh/cp" % lab.folder, "worker1", "true"])
lab.hosts["frontend1"].act("freeze")
print("up", flush=True)
if sys.argv[2] == "held":
    time.sleep(600)
"""


def _snapshot(lab: str) -> Dict[str, Any]:
    """What of the machine a lab could change. Other labs may come and go meanwhile: they change nothing of this either."""
    return {
        "mounts": sorted(line.split()[1] for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()),
        "links": sorted(os.listdir("/sys/class/net")),
        "namespaces": sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else None,
        "run": sorted(name for name in os.listdir("/run") if "lab" in name or "nspawn" in name),
        "nspawn": sorted(os.listdir("/run/systemd/nspawn")) if os.path.isdir("/run/systemd/nspawn") else None,
        "machines": sorted(os.listdir("/var/lib/machines")) if os.path.isdir("/var/lib/machines") else None,
        "folder": os.path.exists(CACHE / "labs" / lab),
        "processes": _processes(str(CACHE / "labs" / lab)),
    }


def _processes(word: str) -> List[str]:
    """Those that have the lab's folder among their words or in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if word.encode() in (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes():
                    found.append(entry.name)
            except OSError:
                continue
    return found


def _groups(group: str) -> List[str]:
    return [folder for folder, _below, _names in os.walk("/sys/fs/cgroup") if group in folder]


@pytest.fixture
def name() -> Iterator[str]:
    name = "leftovers-%d" % os.getpid()
    yield name
    folder = CACHE / "labs" / name
    with leftovers.lock(folder.parent):
        if folder.exists():
            leftovers.remove(folder)


def _launch(name: str, *how: str, tmp_path: Path) -> subprocess.Popen[str]:
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(RUN), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-B", str(script), name, *how], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def _begin(name: str, how: str, tmp_path: Path) -> subprocess.Popen[str]:
    """Until it is up."""
    process = _launch(name, how, tmp_path=tmp_path)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "up\n"
    return process


def _state(name: str) -> Dict[str, Any]:
    found: Dict[str, Any] = json.loads((CACHE / "labs" / name / "lab.json").read_text(encoding="utf-8"))
    return found


def test_a_lab_that_ends_in_order_leaves_the_machine_as_it_was(name: str) -> None:
    before = _snapshot(name)
    with Lab(name, hosts=2) as lab:
        lab.hosts["frontend1"].act("freeze")
        group = _state(name)["group"]
        assert _groups(group)
    assert _snapshot(name) == before
    assert _groups(group) == []


def test_a_run_that_is_killed_can_be_started_again_at_once(name: str, tmp_path: Path) -> None:
    before = _snapshot(name)
    groups = []
    for _turn in range(2):
        process = _begin(name, "held", tmp_path)
        groups.append(_state(name)["group"])
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with Lab(name, hosts=1) as lab:
        assert lab.hosts["frontend1"].run("true") == ""
    assert _snapshot(name) == before
    assert [_groups(group) for group in groups] == [[], []]


def test_a_killed_run_takes_its_hosts_along(name: str, tmp_path: Path) -> None:
    """Nobody needs to come by: the hosts end with the run that wanted them."""
    process = _begin(name, "held", tmp_path)
    pid, group = _state(name)["lab"][0], _state(name)["group"]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: leftovers.started_at(pid) is None)
    assert not any(_read(folder) for folder in _groups(group))


def test_a_lab_that_was_left_running_goes_on_and_can_be_taken_down(name: str, tmp_path: Path) -> None:
    before = _snapshot(name)
    assert _begin(name, "left", tmp_path).wait(timeout=60) == 0
    with leftovers.lock(CACHE / "labs"):
        leftovers.sweep(CACHE / "labs")
    lab = Lab.attach(name)
    group = _state(name)["group"]
    assert lab.hosts["worker1"].run("true") == ""
    with pytest.raises(LabError, match="make lab-down"):
        Lab(name).open()
    lab.close()
    assert _snapshot(name) == before
    assert _groups(group) == []


def test_a_lab_whose_own_process_is_killed_is_swept_by_the_next(name: str, tmp_path: Path) -> None:
    before = _snapshot(name)
    assert _begin(name, "left", tmp_path).wait(timeout=60) == 0
    pid, group = _state(name)["lab"][0], _state(name)["group"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: leftovers.started_at(pid) is None)
    with pytest.raises(LabError, match="there is no lab"):
        Lab.attach(name)
    with Lab(name, hosts=1) as lab:
        assert lab.hosts["frontend1"].run("true") == ""
    assert _snapshot(name) == before
    assert _groups(group) == []


def test_a_lab_that_cannot_come_up_says_why_and_leaves_nothing(name: str) -> None:
    before = _snapshot(name)
    with pytest.raises(LabError, match=r"the lab does not come up:\n(.|\n)*there is no 'mood'"):
        Lab(name, hosts=1, simulator={"mood": "bad"}).open()
    assert _snapshot(name) == before


def _read(folder: str) -> str:
    try:
        return (Path(folder) / "cgroup.procs").read_text(encoding="ascii").strip()
    except OSError:
        return ""


SWEEPING = """
from lab import leftovers
from lab.client import CACHE
while True:
    with leftovers.lock(CACHE / "labs"):
        leftovers.sweep(CACHE / "labs")
"""
STAGES: Mapping[str, Callable[[Path], bool]] = {
    "the folder is made": lambda folder: folder.exists(),
    "the settings are written": lambda folder: (folder / "settings.json").exists(),
    "its process has begun": lambda folder: (folder / "supervisor.log").exists(),
    "hosts are booting": lambda folder: any((folder / "console").glob("*.log")),
    "the ways in are written": lambda folder: (folder / "inventory.yml").exists(),
}


@pytest.mark.parametrize("how", ["held", "left"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_is_killed_while_it_brings_hosts_up_leaves_nothing(name: str, tmp_path: Path, stage: str, how: str) -> None:
    """It stops before it could be done: once it is, a lab that was to be left running is rightly there."""
    before, folder = _snapshot(name), CACHE / "labs" / name
    process = _launch(name, how, "stops", tmp_path=tmp_path)
    until(lambda: STAGES[stage](folder), pause=0.0)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with Lab(name, hosts=1) as lab:
        assert lab.hosts["frontend1"].run("true") == ""
    assert _snapshot(name) == before


def test_a_killed_run_takes_its_hosts_along_in_the_middle_of_an_event(name: str, tmp_path: Path) -> None:
    process = _begin(name, "held", tmp_path)
    lab = Lab.attach(name)
    lab.habits(away=60)
    lab.schedule("Reboot", lab.hosts["worker1"], notice=0).wait("Started")
    pid = _state(name)["lab"][0]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: leftovers.started_at(pid) is None, timeout=5)


def test_taking_down_can_be_killed_and_done_again(name: str, tmp_path: Path) -> None:
    before = _snapshot(name)
    assert _begin(name, "left", tmp_path).wait(timeout=60) == 0
    down = [sys.executable, "-B", "-m", "lab", "down", "--name", name]
    for pause in (0.1, 0.2, 0.3):
        with subprocess.Popen(down, stdout=subprocess.DEVNULL) as process:
            time.sleep(pause)
            process.kill()
    assert subprocess.run(down, check=False, stdout=subprocess.DEVNULL).returncode == 0
    assert _snapshot(name) == before


def test_no_process_of_a_lab_outlives_it(name: str) -> None:
    """Neither on its hosts nor beside them; and namespaces live no longer than their processes."""
    with Lab(name, hosts=2):
        state = _state(name)
        pids = [int(pid) for folder in _groups(state["group"]) for pid in _read(folder).split()]
        inside = {leftovers.identity(pid) for pid in [*pids, state["lab"][0]]}
        assert len({began for _pid, began in inside}) > 1
        assert len(inside) > 10
    # On a busy machine the kernel takes a moment to end what was killed.
    until(lambda: not any(leftovers.started_at(pid) == began for pid, began in inside), timeout=5)


def test_another_lab_may_come_and_go_meanwhile(name: str) -> None:
    """Whoever sweeps sees a lab that is being made or removed as a whole or not at all."""
    with subprocess.Popen([sys.executable, "-B", "-c", SWEEPING], stderr=subprocess.PIPE, text=True) as sweeper:
        for _turn in range(3):
            with Lab(name, hosts=1) as lab:
                assert lab.hosts["frontend1"].run("true") == ""
        assert sweeper.poll() is None, sweeper.communicate()[1]
        sweeper.kill()
