# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers as plain processes, without root and without systemd: for rehearsals, and for tests.

Each unit is a folder and a keeper, a small process in a session of its own that begins the handler once, waits for it, writes down how it
ended, and ends what it has left behind. The keeper knows nothing of the executor, which may come and go.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set

from .launcher import BACKSTOP, LONGEST_TAIL, Job, Launcher, Seen

_JOB, _STDIN, _OUTPUT, _BEGUN, _EXIT = "job.json", "stdin", "output", "begun", "exit"
_KILLED = "killed"
# A keeper that was told to stop gives the handler so long.
GRACE = 5.0
# A handler may say much; what is kept on the disk is bounded.
_LARGEST_OUTPUT = 1024 * 1024
_POLL = 0.02
_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_PUNCH_HOLE = 3  # of fallocate(2), with the size kept
_BLOCK = 4096


class Processes(Launcher):
    """folder: empty after a start of the machine, as /run is. A rehearsal makes that true by reboot()."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._units = folder / "units"
        self._units.mkdir(parents=True, exist_ok=True)
        self._boot = folder / "boot"
        if not self._boot.exists():
            _write(self._boot, uuid.uuid4().hex)

    @property
    def boot(self) -> str:
        return self._boot.read_text(encoding="ascii")

    def units(self) -> Mapping[str, Seen]:
        """One whose folder is there and that has not begun is not there: whoever made the folder was killed."""
        found: Dict[str, Seen] = {}
        for unit in sorted(self._units.iterdir()):
            if (unit / _BEGUN).exists():
                found[unit.name] = _seen(unit)
        return found

    def begin(self, name: str, job: Job) -> None:
        unit = self._units / name
        unit.mkdir(exist_ok=True)
        _write(unit / _JOB, json.dumps({"command": list(job.command), "environment": dict(job.environment), "limit": job.limit * BACKSTOP}))
        _write(unit / _STDIN, job.stdin.decode("utf-8"))
        # Of several keepers one begins; a keeper that comes too late finds that out by itself.
        path = os.pathsep.join([str(Path(__file__).resolve().parent.parent), *filter(None, sys.path)])
        subprocess.run(
            [sys.executable, "-B", "-m", "azure_event_handlers.processes", str(unit)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )

    def stop(self, name: str) -> None:
        keeper = _keeper(self._units / name)
        if keeper is not None:
            _send(keeper, signal.SIGTERM)
        end = time.monotonic() + 2 * GRACE
        while _seen(self._units / name).running and time.monotonic() < end:
            time.sleep(_POLL)

    def discard(self, name: str) -> None:
        self.stop(name)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._units / name)

    def reboot(self) -> None:
        """As if the machine had stopped now and started again."""
        for unit in self._units.iterdir():
            keeper = _keeper(unit)
            if keeper is not None:
                # Stopped first: it begins nothing more, and inherits what its children leave.
                _send(keeper, signal.SIGSTOP)
                while _kill(_descendants(keeper)):
                    time.sleep(_POLL)
                _send(keeper, signal.SIGKILL)
            shutil.rmtree(unit)
        _write(self._boot, uuid.uuid4().hex)


def _seen(unit: Path) -> Seen:
    # In this order: what a keeper that is gone has not written by now, it never writes.
    alive = _keeper(unit) is not None
    ended = _text(unit / _EXIT)
    tail = _tail(unit / _OUTPUT)
    if ended is None:
        return Seen(running=alive, tail=tail)
    return Seen(running=False, exit=None if ended == _KILLED else int(ended), tail=tail)


def _keeper(unit: Path) -> Optional[int]:
    """Its process, while it lives."""
    pid = _number(unit / _BEGUN)
    if pid is None:
        return None
    try:
        words = Path("/proc/%d/cmdline" % pid).read_bytes().split(b"\0")
    except OSError:
        return None
    return pid if os.fsencode(str(unit)) in words else None


def _number(path: Path) -> Optional[int]:
    text = _text(path)
    return int(text) if text else None


def _text(path: Path) -> Optional[str]:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _tail(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LONGEST_TAIL))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    new = path.with_name("%s.%d.new" % (path.name, os.getpid()))
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def _kill(pids: Iterable[int]) -> bool:
    """Whether there was anybody to kill."""
    known = list(pids)
    for pid in known:
        _send(pid, signal.SIGKILL)
    return bool(known)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _descendants(pid: int) -> List[int]:
    """Its children, theirs, and so on; of the dead, only what they have left."""
    dead: Set[int] = set()
    below: Dict[int, List[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                words = (entry / "stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
                below.setdefault(int(words[1]), []).append(int(entry.name))
                dead |= {int(entry.name)} if words[0] == "Z" else set()
    found, waiting = [], [pid]
    while waiting:
        children = below.get(waiting.pop(), [])
        found += children
        waiting += children
    return [one for one in found if one not in dead]


# --- the keeper ----------------------------------------------------------------------------------------------------------


def _keep(unit: Path) -> int:
    """Returns in the one who was asked when the handler has begun; goes on in a process that belongs to nobody."""
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        os.read(reading, 1)
        return 0
    os.setsid()
    own = unit / ("%s.%d" % (_BEGUN, os.getpid()))
    own.write_text(str(os.getpid()), encoding="ascii")
    try:
        # There at once with its content, and only for the first.
        os.link(own, unit / _BEGUN)
    except FileExistsError:
        return 0
    finally:
        own.unlink()
    # Whatever the handler leaves behind becomes a child of this one, and can be found.
    ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.close(writing)
    outcome = _outcome(unit, json.loads((unit / _JOB).read_text(encoding="utf-8")))
    # Again and again: one of them may just have begun another.
    while _kill(_descendants(os.getpid())):
        time.sleep(_POLL)
    _write(unit / _EXIT, outcome)
    return 0


def _outcome(unit: Path, job: Mapping[str, Any]) -> str:
    told: List[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: told.append(number))
    with open(unit / _STDIN, "rb") as stdin, open(unit / _OUTPUT, "wb") as output:
        try:
            process = subprocess.Popen(job["command"], stdin=stdin, stdout=output, stderr=output, env=job["environment"], cwd="/")
        except OSError as problem:
            output.write(("%s\n" % problem).encode("utf-8"))
            return "127"
        end = time.monotonic() + float(job["limit"])
        while process.poll() is None:
            if told or time.monotonic() > end:
                _end(process)
            _bound(unit / _OUTPUT)
            time.sleep(_POLL)
        # A flood can come and end between two looks.
        _bound(unit / _OUTPUT)
    return _KILLED if process.returncode < 0 else str(process.returncode)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asked first, and then not any more."""
    process.terminate()
    try:
        process.wait(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _bound(output: Path) -> None:
    """Of what a handler floods, all but the end becomes a hole, which costs nothing."""
    seen = output.stat()
    if seen.st_blocks * 512 > _LARGEST_OUTPUT:
        with open(output, "r+b") as file:
            begin = max(0, seen.st_size - LONGEST_TAIL) // _BLOCK * _BLOCK
            ctypes.CDLL(None, use_errno=True).fallocate(file.fileno(), _PUNCH_HOLE, ctypes.c_int64(0), ctypes.c_int64(begin))


if __name__ == "__main__":
    sys.exit(_keep(Path(sys.argv[1])))
