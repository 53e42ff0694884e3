# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine must have for a lab."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Dict, List

from .errors import Missing

# Each program, and the Debian package that brings it.
PROGRAMS: Dict[str, str] = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "bridge": "iproute2",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
}
# Programs of root's that are not on everybody's PATH.
_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def packages() -> List[str]:
    """The Debian packages whose programs are not there, each once."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_FOLDERS])
    return sorted({package for name, package in PROGRAMS.items() if shutil.which(name, path=path) is None})


def cgroup_root() -> str:
    """Where the one hierarchy of cgroups of version 2 is mounted, alone or beside others."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _device, folder, kind = line.split()[:3]
            if kind == "cgroup2":
                return folder
    raise Missing("A lab needs cgroups of version 2, and no file system of type cgroup2 is mounted here.")


def _check_cgroups() -> None:
    folder = cgroup_root()
    probe = os.path.join(folder, "cloud-maintenance-probe-%d" % os.getpid())
    try:
        os.mkdir(probe)
        os.rmdir(probe)
    except OSError as problem:
        raise Missing(
            "A lab needs groups of processes of its own, and none can be made in %s: %s." % (folder, problem.strerror)
        ) from problem


def check() -> None:
    """Missing, with all that is missing in one message."""
    complaints = []
    if not sys.platform.startswith("linux"):
        raise Missing("A lab needs Linux: its hosts are namespaces of this machine, run by systemd-nspawn.")
    if os.geteuid() != 0:
        complaints.append("A lab needs root, for namespaces and mounts: run it as root or with sudo.")
    lacking = packages()
    if lacking:
        complaints.append("A lab needs %s: apt-get install %s." % (", ".join(lacking), " ".join(lacking)))
    with open("/proc/filesystems", encoding="utf-8") as kinds:
        if not any(line.split()[-1] == "overlay" for line in kinds) and shutil.which("modprobe") is None:
            complaints.append("A lab needs the file system overlay, which this kernel has not got.")
    if complaints:
        raise Missing(" ".join(complaints))
    _check_cgroups()
