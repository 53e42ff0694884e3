# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What acts on the world when an event starts or ends: commands, and functions of whoever runs the simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from .errors import InvalidError
from .model import Notice

PHASES = ("start", "end", "cancel")
Callback = Callable[[Notice], object]

# A hook that freezes or reboots a host takes seconds; one that takes longer must not stop those after it.
COMMAND_LIMIT = 60.0


class Hooks:
    """Runs hooks one after the other in a thread of their own, in the order in which things happened."""

    def __init__(self) -> None:
        self._hooks: Dict[str, List[Tuple[str, Callback]]] = {phase: [] for phase in PHASES}
        self._worker: Optional[ThreadPoolExecutor] = None
        self._thread: Optional[int] = None

    def call(self, phase: str, callback: Callback) -> None:
        self._add(phase, getattr(callback, "__name__", "callback"), callback)

    def run(self, phase: str, command: Sequence[str]) -> None:
        """The event comes as variables and, whole, as JSON on standard input."""
        words = list(command)
        if not words or not all(isinstance(word, str) for word in words):
            raise InvalidError("hook: a command is a list of words, not %r" % (command,))
        self._add(phase, words[0], lambda notice: _run(words, notice))

    def tell(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            for name, callback in self._hooks[notice.phase]:
                self._submit(name, callback, notice)

    def wait(self) -> None:
        """Until every hook so far has come back. A hook does not wait for itself."""
        if self._worker is not None and threading.get_ident() != self._thread:
            # One worker takes one thing after the other: when it comes to this, all before it is done and reported.
            self._worker.submit(_nothing).result()

    def close(self) -> None:
        if self._worker is not None:
            self._worker.shutdown(wait=True)
            self._worker = None

    def _add(self, phase: str, name: str, callback: Callback) -> None:
        if phase not in PHASES:
            raise InvalidError("hook: there is no phase %r, only %s" % (phase, ", ".join(PHASES)))
        self._hooks[phase].append((name, callback))

    def _submit(self, name: str, callback: Callback, notice: Notice) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="imds-simulator-hooks", initializer=self._remember)
        future = self._worker.submit(callback, notice)
        future.add_done_callback(lambda done: _complain(name, notice, done.exception()))

    def _remember(self) -> None:
        self._thread = threading.get_ident()


def _nothing() -> None:
    pass


def _run(words: Sequence[str], notice: Notice) -> None:
    event = notice.event
    environment = dict(
        os.environ,
        IMDS_SIMULATOR_PHASE=notice.phase,
        IMDS_SIMULATOR_EVENT_ID=str(event["event_id"]),
        IMDS_SIMULATOR_EVENT_TYPE=str(event["event_type"]),
        IMDS_SIMULATOR_RESOURCES=",".join(event["resources"]),
        IMDS_SIMULATOR_VMS=",".join(event["vms"]),
    )
    subprocess.run(list(words), input=json.dumps(event).encode("utf-8"), env=environment, timeout=COMMAND_LIMIT, check=True)


def _complain(name: str, notice: Notice, problem: Optional[BaseException]) -> None:
    if problem is not None:
        print(
            "imds_simulator: the %s hook %s failed for event %s: %s" % (notice.phase, name, notice.event["event_id"], problem),
            file=sys.stderr,
            flush=True,
        )
