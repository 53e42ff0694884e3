# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_log
type: notification
short_description: Write what a run does to a file, as lines of JSON
description:
  - Plays, the beginning and the end of each task on each host, and what C(set_stats) has left.
  - The file is named by the environment variable C(FLEET_LOG).
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
    CALLBACK_NAME = "fleet_log"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._file = os.environ["FLEET_LOG"]
        self._play = ""

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._play = play.get_name().strip()
        self._write("play")

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        self._write("start", host=host.get_name(), task=task.get_name())

    def v2_runner_on_ok(self, result: Any) -> None:
        self._end("ok", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._end("skipped", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._end("ignored" if ignore_errors else "failed", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._end("unreachable", result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._write("stats", custom=dict(stats.custom))

    def _end(self, outcome: str, result: Any) -> None:
        task = result._task
        self._write("end", host=result._host.get_name(), task=task.get_name(), outcome=outcome, result=result._result)

    def _write(self, kind: str, **more: Any) -> None:
        line = json.dumps({"kind": kind, "at": time.time(), "play": self._play, **more}, default=str)
        with open(self._file, "a", encoding="utf-8") as file:
            file.write(line + "\n")
