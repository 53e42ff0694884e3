# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible inside a lab: a controller of one version, which plays from the lab's own network."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .client import Host, Lab, finish
from .errors import LabError

Step = Tuple[Callable[[], bool], Callable[[], None]]  # a condition, and what is done once it holds
# Writes what each task came to as lines of JSON.
CALLBACKS = Path(__file__).resolve().parents[2] / "tools" / "callback"


@dataclass(frozen=True)
class Played:
    """What a playbook came to: the results of its tasks, by task and host."""

    code: int
    output: str
    results: Dict[str, Dict[str, Any]]


class Controller:
    """Plays in a lab, with one version of Ansible."""

    def __init__(self, lab: Lab, core: str, programs: Path, folder: Path) -> None:
        """core: its version, for whoever plays; programs: the folder with ansible-playbook; folder: for what it writes."""
        self._lab = lab
        self.core = core
        self._bin = programs
        self._folder = folder
        self._events = folder / "events"

    def play(
        self, tasks: List[Dict[str, Any]], *, hosts: str = "all", check: bool = False, timeout: float = 150.0, **variables: Any
    ) -> Played:
        book = self._write(tasks, hosts)
        return self.play_book(book, *(["--check"] if check else []), timeout=timeout, **variables)

    def play_book(
        self, book: Union[str, Path], *arguments: str, timeout: float, environment: Optional[Mapping[str, str]] = None, **variables: Any
    ) -> Played:
        """A playbook by its name or its path."""
        command = [*self._command(book, variables), *arguments]
        with self._lab.start(command, env={**self._environment(), **(environment or {})}) as process:
            answer = finish(process, timeout=timeout)
        return Played(answer.returncode, answer.stdout + answer.stderr, _results(self._events))

    def begin(self, tasks: List[Dict[str, Any]], *, hosts: str = "all", **variables: Any) -> subprocess.Popen[str]:
        """The same, not waited for."""
        book = self._write(tasks, hosts)
        return self._lab.start(self._command(book, variables), env=self._environment(), stderr=subprocess.STDOUT)

    @contextlib.contextmanager
    def meanwhile(self, *steps: Step) -> Iterator[None]:
        """While the play inside runs, each act is done once its condition holds, one after the other, however slow the machine is."""
        over = threading.Event()
        with ThreadPoolExecutor(max_workers=1) as watcher:
            taken = watcher.submit(_take, steps, over)
            try:
                yield
            finally:
                over.set()
        if taken.result() < len(steps):
            raise LabError("the play ended before the condition of step %d of %d held" % (taken.result() + 1, len(steps)))

    def has_done(self, task: str, *hosts: Host) -> bool:
        """The play under way has done the task of this name on all of these hosts."""
        done = _results(self._events).get(task, {})
        return all(host.name in done for host in hosts)

    def asks_after(self, task: str, *hosts: Host) -> Callable[[], bool]:
        """A condition: the play under way has done this task on all of these hosts, and each of them has asked the service since."""
        before: Dict[str, int] = {}

        def asked() -> bool:
            if not before:
                if self.has_done(task, *hosts):
                    before.update({host.name: len(self._lab.requests(host)) for host in hosts})
                return False
            return all(len(self._lab.requests(host)) > before[host.name] for host in hosts)

        return asked

    def _write(self, tasks: List[Dict[str, Any]], hosts: str) -> Path:
        play = [{"name": "In the lab", "hosts": hosts, "gather_facts": False, "tasks": tasks}]
        book = self._folder / "play.yml"
        book.write_text(json.dumps(play), encoding="utf-8")
        return book

    def _command(self, book: Union[str, Path], variables: Mapping[str, Any]) -> List[str]:
        return [str(self._bin / "ansible-playbook"), str(book), "--extra-vars", json.dumps(variables)]

    def _environment(self) -> Dict[str, str]:
        """Of a run that is about to begin: nothing is left of what an earlier one has written."""
        self._events.unlink(missing_ok=True)
        return {
            **self._lab.environment(),
            "PATH": os.pathsep.join([str(self._bin), os.environ["PATH"]]),
            "ANSIBLE_HOME": str(self._folder / "home"),
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "task_events",
            "CLOUD_MAINTENANCE_TASK_EVENTS": str(self._events),
        }


def _take(steps: Sequence[Step], over: threading.Event) -> int:
    """How many steps were taken."""
    for number, (holds, act) in enumerate(steps):
        while not holds():
            if over.wait(0.1):
                return number
        act()
    return len(steps)


def _results(events: Path) -> Dict[str, Dict[str, Any]]:
    found: Dict[str, Dict[str, Any]] = {}
    for line in events.read_text(encoding="utf-8").splitlines() if events.exists() else ():
        entry = json.loads(line)
        if entry["kind"] == "end":
            found.setdefault(entry["task"], {})[entry["host"]] = {"outcome": entry["outcome"], **entry["result"]}
    return found


def folders_of(pythons: Sequence[str]) -> List[str]:
    """What a host must be able to read, at the same place, to run these Pythons of virtual environments."""
    folders = []
    for program in pythons:
        command = [program, "-c", "import sys; print(sys.prefix); print(sys.base_prefix)"]
        folders += subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout.split("\n")[:2]
    return sorted(set(folders))
