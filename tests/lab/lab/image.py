# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk that all hosts share below their own: a small Debian, made once and kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

from .errors import LabError
from .programs import APART

SUITE = "bookworm"
PACKAGES = (
    "ca-certificates",
    "dbus",
    "iproute2",
    "libfaketime",
    "libpam-systemd",
    "openssh-server",
    "procps",
    "python3",
    "python3-requests",
    "sudo",
    "systemd",
    "systemd-sysv",
    # What ready handlers take out of service; none of them is started at boot.
    "haproxy",
    "nginx",
    # For a Python of another version, which is mounted from this machine.
    "libbz2-1.0",
    "libffi8",
    "liblzma5",
    "libreadline8",
    "libsqlite3-0",
    "libssl3",
    "zlib1g",
)
# Units that have nothing to do here, and only cost time at boot.
MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "console-getty.service",
)
# Services of packages that a test starts by itself, where it needs them.
DISABLED = ("haproxy.service", "nginx.service")
USER = "ops"
_PREPARE = """
set -e
useradd --root "$1" --create-home --shell /bin/bash %(user)s
echo '%(user)s ALL=(ALL) NOPASSWD: ALL' > "$1/etc/sudoers.d/%(user)s"
chmod 440 "$1/etc/sudoers.d/%(user)s"
rm -f "$1"/etc/ssh/ssh_host_* "$1/etc/resolv.conf" "$1/etc/hostname" "$1/etc/machine-id"
touch "$1/etc/resolv.conf" "$1/etc/default/locale"
mkdir -p "$1/var/log/journal" "$1/mnt/resource"
for unit in %(masked)s; do ln -sf /dev/null "$1/etc/systemd/system/$unit"; done
systemctl --root="$1" --quiet disable %(disabled)s
""" % {"user": USER, "masked": " ".join(MASKED), "disabled": " ".join(DISABLED)}


def ensure(cache: Path) -> Path:
    """The folder with the image, which is made first if it is not there or not made by these rules."""
    seal = "\n".join([SUITE, *PACKAGES, _PREPARE])
    folder = cache / ("image-" + hashlib.sha256(seal.encode()).hexdigest()[:12])
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "image.lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not folder.exists():
            for old in cache.glob("image-*"):
                _forget(old)
            _make(folder, handle.fileno())
    return folder / "root"


def _forget(folder: Path) -> None:
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        if any((line.split()[1] + "/").startswith(str(folder) + "/") for line in mounts):
            raise LabError("Something is mounted below %s: unmount it, then it can be made anew." % folder)
    shutil.rmtree(folder)


def _make(folder: Path, lock: int) -> None:
    """Beside, and then under its name: what was interrupted is never taken for an image.

    In namespaces of its own, since mmdebstrap mounts parts of this machine: whenever it ends, they end with it. It holds the lock itself,
    so that nobody begins anew while one whose caller was killed goes on.
    """
    print("making the image of the hosts: Debian %s, a minute or less, once" % SUITE, file=sys.stderr, flush=True)
    new = folder.with_name(folder.name + ".new")
    new.mkdir()
    command = [*APART, "mmdebstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES), "--customize-hook=" + _PREPARE]
    command += [SUITE, str(new / "root"), *_mirror()]
    log = new / "log"
    with open(log, "wb") as output:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[lock], check=False)
    if answer.returncode != 0:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        raise LabError("The image of the hosts cannot be made: mmdebstrap ended with %d:\n%s" % (answer.returncode, tail))
    new.rename(folder)


def _mirror() -> List[str]:
    """Where packages come from; without LAB_MIRROR, where Debian's come from."""
    mirror = os.environ.get("LAB_MIRROR")
    return [mirror] if mirror else []
