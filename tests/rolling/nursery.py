# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the programs of hosts in folders are born: one process that has read them, and forks for each that is wanted.

A fleet has many hosts, and a play asks each of them often: to start Python and read the same files each time would take most of a test.
What is forked here is a process as any other, which can be killed and stopped by its id. All end with this one, and it with the tests.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

HERE = Path(__file__).resolve().parent
HANDLERS = HERE.parents[1] / "roles" / "event_handlers" / "files"
PATIENCE = 60.0
_PR_SET_PDEATHSIG = 1
_LONGEST = 65536
# The command of a host: it says what it was called with, lends its input and outputs, and ends as the other end tells it.
COMMAND = """#!{python} -IS
import json, os, socket, sys
asked = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
asked.connect({path!r})
socket.send_fds(asked, [json.dumps({{"program": "cli", "arguments": sys.argv[1:]}}).encode()], [0, 1, 2])
sys.exit(int(asked.recv(16) or b"70"))
"""


def die_with_parent() -> None:
    """Whoever is killed cannot end its children any more."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


# --- for the tests -------------------------------------------------------------------------------------------------------


class Nursery:
    """The process, and how it is asked. folder: short, for the address of a socket has little room."""

    def __init__(self, folder: Path, collections: str) -> None:
        self._socket = folder / "nursery"
        self.command = folder / "azure-event-handlers"
        self.command.write_text(COMMAND.format(python=sys.executable, path=str(self._socket)), encoding="utf-8")
        self.command.chmod(0o755)
        path = os.pathsep.join([str(HANDLERS), collections])
        environment = {**os.environ, "PYTHONPATH": path}
        # In a session of its own: who presses Ctrl-C means whoever has started it.
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self._socket)], env=environment, stdin=subprocess.DEVNULL, start_new_session=True
        )
        end = time.monotonic() + PATIENCE
        while not self._socket.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the nursery does not start")
            time.sleep(0.02)

    def start(self, program: str, *arguments: str, log: Path) -> int:
        """The id of a new process."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked, open(log, "ab") as output, open(os.devnull, "rb") as nothing:
            asked.connect(str(self._socket))
            message = json.dumps({"program": program, "arguments": arguments}).encode()
            socket.send_fds(asked, [message], [nothing.fileno(), output.fileno(), output.fileno()])
            return int(asked.recv(16))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def kill(pids: Sequence[int]) -> None:
    """And see that they are gone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while any(is_alive(pid) for pid in pids):
        if time.monotonic() > end:
            raise RuntimeError("a process does not end: %s" % pids)
        time.sleep(0.005)


def processes_of(folder: Path) -> List[Tuple[int, str]]:
    """Id and command of every process with this folder in its command or environment: no child can hide from that."""
    mark, found = os.fsencode(folder), []
    for process in Path("/proc").glob("[0-9]*"):
        # It may end between two looks.
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes()
            if mark in command or mark in (process / "environ").read_bytes():
                found.append((int(process.name), command.replace(b"\0", b" ").decode(errors="replace")[:200]))
    return found


# --- the process ---------------------------------------------------------------------------------------------------------


def _programs() -> Mapping[str, Callable[[List[str]], int]]:
    from azure_event_handlers import agent, cli, service

    return {"agent": agent.main, "service": service.main, "cli": cli.main}


def serve(path: str) -> None:
    """For ever."""
    die_with_parent()
    if os.getppid() == 1:
        return
    programs = _programs()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path + ".new")
    listening.listen(128)
    os.rename(path + ".new", path)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    while True:
        asked, _address = listening.accept()
        if os.fork() == 0:
            listening.close()
            code = 70
            try:
                code = _live(asked, programs)
            except Exception:  # noqa: BLE001  (a child never comes back into the loop of its parent)
                traceback.print_exc()
            finally:
                _end(asked, code)
        asked.close()


def _live(asked: socket.socket, programs: Mapping[str, Callable[[List[str]], int]]) -> int:
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, handles, _flags, _address = socket.recv_fds(asked, _LONGEST, 3)
    wanted: Dict[str, Any] = json.loads(message)
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.setsid()
    if wanted["program"] != "cli":
        asked.sendall(b"%d" % os.getpid())
        asked.close()
    sys.argv = [wanted["program"], *wanted["arguments"]]
    try:
        return programs[wanted["program"]](wanted["arguments"])
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1


def _end(asked: socket.socket, code: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Who asked may be gone: a connection has dropped.
    with contextlib.suppress(OSError):
        asked.sendall(b"%d" % code)
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
