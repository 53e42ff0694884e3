# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be left of a lab: cgroups, processes that were started in it, its folder. Everything else ends with its first process."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import FrozenSet, Iterator, List, Optional, Tuple

from . import limits, needs
from .errors import LabError
from .programs import stat

# In the environment of everything that is started in a lab from outside.
MARK = "CLOUD_MAINTENANCE_LAB"
STATE = "lab.json"
_LIMIT = 20.0


def started_at(pid: int) -> Optional[str]:
    """When a process began, in the kernel's ticks: tells it from a later one of the same number. None: it is gone."""
    words = stat(pid)
    return None if words is None or words[0] == "Z" else words[19]


def alive(folder: Path) -> Optional[int]:
    """The process of the lab in this folder, if it still runs."""
    return _of(folder, "lab")


def _of(folder: Path, who: str) -> Optional[int]:
    try:
        pid, began = json.loads((folder / STATE).read_text(encoding="utf-8"))[who]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return int(pid) if began is not None and started_at(int(pid)) == began else None


def identity(pid: int) -> Tuple[int, Optional[str]]:
    return pid, started_at(pid)


@contextlib.contextmanager
def lock(top: Path) -> Iterator[None]:
    """One process at a time makes or removes a lab's folder."""
    top.mkdir(parents=True, exist_ok=True)
    with open(top.parent / "labs.lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def sweep(top: Path) -> None:
    """Removes what killed labs, and labs of killed owners, have left. Under the lock."""
    for folder in sorted(top.glob("*")) if top.is_dir() else ():
        if folder.is_dir() and not _wanted(folder):
            remove(folder)


def _wanted(folder: Path) -> bool:
    """A lab belongs to the process that opened it; one that was left running belongs to nobody, and runs for itself."""
    return _of(folder, "owner") is not None or (_owned_by_nobody(folder) and alive(folder) is not None)


def _owned_by_nobody(folder: Path) -> bool:
    try:
        return json.loads((folder / STATE).read_text(encoding="utf-8"))["owner"] is None
    except (OSError, ValueError, KeyError, TypeError):
        return False


def remove(folder: Path) -> None:
    """Everything of a lab whose process is gone, or is to go now. Under the lock."""
    groups = _groups(folder)
    end = time.monotonic() + _LIMIT
    while True:
        # First whoever could start something new, then all of its hosts.
        marked = _marked(folder)
        for pid in marked:
            _kill(pid)
        for group in groups:
            with contextlib.suppress(OSError):
                (group / "cgroup.kill").write_text("1", encoding="ascii")
        if not marked and not any(_processes(group) for group in groups):
            break
        if time.monotonic() > end:
            raise LabError("the processes of the lab in %s do not end" % folder)
        time.sleep(0.01)
    for group in groups:
        _remove_group(group)
    shutil.rmtree(folder)
    limits.give_back(Path(needs.cgroup_root()))


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _marked(folder: Path) -> List[int]:
    """The lab's own process, and what was started in the lab from outside, such as a connection that ssh keeps. Not who asks."""
    mark, ours = ("%s=%s" % (MARK, folder)).encode(), _ancestors()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in ours:
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def _ancestors() -> FrozenSet[int]:
    pids, pid = set(), os.getpid()
    while pid > 0 and pid not in pids:
        pids.add(pid)
        words = stat(pid)
        pid = 0 if words is None else int(words[1])
    return frozenset(pids)


def _groups(folder: Path) -> List[Path]:
    """Its groups of processes, in each hierarchy."""
    try:
        name = json.loads((folder / STATE).read_text(encoding="utf-8"))["group"]
    except (OSError, ValueError, KeyError):
        return []
    return [mount / name for mount in _hierarchies() if (mount / name).is_dir()]


def _hierarchies() -> Iterator[Path]:
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _device, folder, kind = line.split()[:3]
            if kind in ("cgroup", "cgroup2"):
                yield Path(folder)


def _processes(group: Path) -> bool:
    for folder, _below, _names in os.walk(group):
        with contextlib.suppress(OSError):
            if (Path(folder) / "cgroup.procs").read_text(encoding="ascii").strip():
                return True
    return False


def _remove_group(group: Path) -> None:
    for folder, _below, _names in os.walk(group, topdown=False):
        end = time.monotonic() + _LIMIT
        while os.path.isdir(folder):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                break
            except OSError as problem:
                # The last process is still being buried.
                if time.monotonic() > end:
                    raise LabError("the group %s cannot be removed: %s" % (folder, problem.strerror)) from problem
                time.sleep(0.01)
