# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's count of inotify instances, which is for all of root's processes together: each host's systemd takes some of them.

Debian allows 128. Some eighteen hosts use them up, in one lab or in several, and a systemd that gets none does not start. The first
lab of a machine raises the limit, the last one puts it back. Labs of all checkouts share it, so what it was is kept for all of them,
where a boot of the machine forgets it as it forgets the limit.
"""

from __future__ import annotations

import contextlib
import fcntl
from pathlib import Path
from typing import Iterator

from .errors import Missing

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
BEFORE = Path("/run/cloud-maintenance.inotify")
ENOUGH = 1024
# How the names of all labs' groups of processes begin.
GROUP = "cloud-maintenance-lab-"
_OF_A_HOST = 8


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    with open(LIMIT, encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def make_room(hosts: int) -> None:
    """For a lab of so many hosts, which by now has its group of processes."""
    with _alone():
        now = LIMIT.read_text(encoding="ascii").strip()
        if int(now) >= ENOUGH:
            return
        try:
            if not BEFORE.exists():
                BEFORE.write_text(now, encoding="ascii")
            LIMIT.write_text(str(ENOUGH), encoding="ascii")
        except OSError as problem:
            BEFORE.unlink(missing_ok=True)
            if hosts * _OF_A_HOST > int(now):
                raise Missing(
                    "A lab of %d hosts needs %d inotify instances, %s holds %s and cannot be raised: %s."
                    % (hosts, hosts * _OF_A_HOST, LIMIT, now, problem.strerror)
                ) from problem


def give_back(groups: Path) -> None:
    """When no lab has a group of processes among these any more."""
    with _alone():
        if any(groups.glob(GROUP + "*")):
            return
        with contextlib.suppress(FileNotFoundError):
            before = BEFORE.read_text(encoding="ascii").strip()
            if before:
                LIMIT.write_text(before, encoding="ascii")
            BEFORE.unlink()
