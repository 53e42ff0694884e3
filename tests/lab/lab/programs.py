# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs and processes of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import List, Optional

from .errors import LabError

# Before a command: namespaces of its own for processes and mounts, which end with it in whatever way it ends.
APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")


def run(*words: str) -> str:
    answer = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise LabError("%s failed: %s" % (" ".join(words), answer.stderr.strip() or answer.stdout.strip()))
    return answer.stdout


def stat(pid: int) -> Optional[List[str]]:
    """What the kernel tells of a process, from its state on; None: it is gone."""
    try:
        return Path("/proc/%d/stat" % pid).read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
