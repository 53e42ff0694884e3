# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: task_times
type: notification
short_description: Write when each play and each task begins to a file, as lines of JSON
description:
  - A task lasts until the next one begins, which is what it costs the run, on however many hosts it is done or skipped.
  - The file is named by the environment variable C(CLOUD_MAINTENANCE_TASK_TIMES).
requirements: []
"""

import json
import os
import time
from typing import Any

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core brings no types
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "task_times"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._file = os.environ["CLOUD_MAINTENANCE_TASK_TIMES"]
        self._play = ""

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._play = play.get_name().strip()
        self._write("")

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._write(task.name or task.action)

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self._write(task.name or task.action)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._play = ""
        self._write("")

    def _write(self, task: str) -> None:
        with open(self._file, "a", encoding="utf-8") as file:
            file.write(json.dumps({"at": time.time(), "play": self._play, "task": task}) + "\n")
