# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the processes of one host take, as this machine's kernel counts it, so that looking costs the host nothing.

A host's services are groups of processes. The kernel adds up a group's time of the processor, that of processes that have ended
included. The numbers that it gives to a host's processes follow each other, so the last one tells how many were started.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

from lab import Host, Lab

_PROCESSOR = re.compile(r"^usage_usec (\d+)$", re.MULTILINE)
_RESIDENT = re.compile(r"^Rss: +(\d+) kB$", re.MULTILINE)
MIB = 1024.0


@dataclass(frozen=True)
class Reading:
    """At one moment: seconds of the processor of the services and of the whole host, and the last number given to a process."""

    services: float
    whole: float
    last_process: int


class Account:
    """Of some services of a host. without: names of processes that only stand for somebody else."""

    def __init__(self, lab: Lab, host: Host, services: Sequence[str], without: Sequence[str] = ()) -> None:
        self._host = host
        self._top = _top(lab, host)
        self._groups = [self._top / "system.slice" / service for service in services]
        self._without = frozenset(without)
        self.memory: List[float] = []

    def read(self) -> Reading:
        last = self._host.run("cat", "/proc/loadavg").split()[-1]
        return Reading(sum(_processor(group) for group in self._groups), _processor(self._top), int(last))

    def look_at_memory(self) -> None:
        """MiB of all processes together, resident. What two of them share counts for both."""
        self.memory.append(sum(self._resident(pid) for group in self._groups for pid in _processes(group)) / MIB)

    def _resident(self, pid: str) -> int:
        try:
            process = Path("/proc") / pid
            if (process / "comm").read_text(encoding="utf-8").strip() in self._without:
                return 0
            found = _RESIDENT.search((process / "smaps_rollup").read_text(encoding="ascii"))
        except OSError:  # it has just ended
            return 0
        return int(found.group(1)) if found else 0


def _top(lab: Lab, host: Host) -> Path:
    settings: Dict[str, str] = json.loads((lab.folder / "settings.json").read_text(encoding="utf-8"))
    (found,) = Path(settings["cgroup"], host.name).glob("**/system.slice")
    return found.parent


def _processor(group: Path) -> float:
    """Nothing for a service that does not run."""
    try:
        found = _PROCESSOR.search((group / "cpu.stat").read_text(encoding="ascii"))
    except OSError:
        return 0.0
    return int(found.group(1)) / 1e6 if found else 0.0


def _processes(group: Path) -> Tuple[str, ...]:
    try:
        return tuple((group / "cgroup.procs").read_text(encoding="ascii").split())
    except OSError:
        return ()
