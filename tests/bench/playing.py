# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of ansible-playbook on this machine, without the caller's settings of Ansible."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Sequence


@dataclass(frozen=True)
class Run:
    """seconds: from its start to its end; processor: what it and all that it has started took of the processor."""

    seconds: float
    processor: float
    output: str


def play(folder: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> Run:
    """folder: for an empty ansible.cfg; the caller's settings of Ansible would be measured too."""
    program = shutil.which("ansible-playbook", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))
    if program is None:
        raise RuntimeError("ansible-playbook is not on PATH; `make bench` sets everything up")
    (folder / "ansible.cfg").touch()
    given = {**os.environ, **environment, "ANSIBLE_CONFIG": str(folder / "ansible.cfg")}
    before, began = _processor(), time.monotonic()
    answer = subprocess.run(
        [program, *arguments], env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True
    )
    if answer.returncode != 0:
        raise RuntimeError("ansible-playbook ended with %d:\n%s%s" % (answer.returncode, answer.stdout[-2000:], answer.stderr[-2000:]))
    return Run(time.monotonic() - began, _processor() - before, answer.stdout)


def _processor() -> float:
    """Of all processes that were started here and have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
