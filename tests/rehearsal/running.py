# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes that have to do with a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List


def processes_of(folder: Path) -> List[str]:
    """Every other process with this folder in its environment or command: no child of a rehearsal can hide from that."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:
            continue
        if int(process.name) != os.getpid() and os.fsencode(folder) in command + environment:
            found.append("%s %s" % (process.name, command.replace(b"\0", b" ").decode(errors="replace")[:200]))
    return found
