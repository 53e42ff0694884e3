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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from .client import Lab, LabEvent, finish

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
    def starting(self, event: LabEvent, *, after: str) -> Iterator[None]:
        """Lets the event start once the play inside has done the task of this name on some host, however slow the machine is."""
        over = threading.Event()
        watcher = threading.Thread(target=self._start_after, args=(event, after, over))
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _start_after(self, event: LabEvent, after: str, over: threading.Event) -> None:
        while not over.wait(0.1):
            if after in _results(self._events):
                event.start()
                return

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
