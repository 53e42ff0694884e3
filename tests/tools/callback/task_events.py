# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: task_events
type: notification
short_description: Write the beginning and the end of each task to a file, as lines of JSON
description:
  - For programs that run ansible-playbook and want to know what happens while it happens.
  - The file is named by the environment variable C(CLOUD_MAINTENANCE_TASK_EVENTS).
  - Ends the run when the program that started it, in a session of its own, is not there any more.
requirements: []
"""

import json
import os
import signal
import threading
import time
from typing import Any, Dict

from ansible.plugins.callback import CallbackBase

LOOK_AT_PARENT = 0.5  # seconds


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core brings no types
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "task_events"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._file = os.environ["CLOUD_MAINTENANCE_TASK_EVENTS"]
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        self._write("start", host, task)

    def v2_runner_on_ok(self, result: Any) -> None:
        self._end("ok", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._end("skipped", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._end("ignored" if ignore_errors else "failed", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._end("unreachable", result)

    def _end(self, outcome: str, result: Any) -> None:
        self._write("end", result._host, result._task, outcome=outcome, result=result._result)

    def _write(self, kind: str, host: Any, task: Any, **more: Any) -> None:
        line: Dict[str, Any] = {"kind": kind, "at": time.perf_counter(), "host": host.get_name(), "task": task.name, **more}
        with open(self._file, "a", encoding="utf-8") as file:
            file.write(json.dumps(line, default=str) + "\n")


def _end_with(parent: int) -> None:
    """A program that is killed cannot end its children any more, so this child looks after itself."""
    while os.getppid() == parent:
        time.sleep(LOOK_AT_PARENT)
    os.killpg(os.getpgrp(), signal.SIGTERM)
