# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the evidence of a run in a file of the controller. Its documentation is in plugins/modules."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, Optional

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._told import plain

_ARGUMENTS = {"path": {"type": "path", "required": True}, "evidence": {"type": "dict", "required": True}}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core brings no types
    _requires_connection = False
    TRANSFERS_FILES = False

    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        _checked, given = self.validate_argument_spec(argument_spec=_ARGUMENTS)
        path = str(given["path"])
        if not self._task.check_mode:
            try:
                _write(path, json.dumps(plain(given["evidence"]), indent=4, sort_keys=True) + "\n")
            except OSError as problem:
                raise AnsibleActionFail("%s cannot be written: %s" % (path, problem.strerror or problem)) from problem
        return {**result, "changed": not self._task.check_mode, "path": path}


def _write(path: str, text: str) -> None:
    """As a whole or not at all, and durable: the run may be killed at any moment, and so may its machine."""
    folder = os.path.dirname(path)
    number, new = tempfile.mkstemp(prefix=".evidence-", dir=folder)  # nobody else can read it
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError:
        os.unlink(new)
        raise
    there = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(there)
    finally:
        os.close(there)
