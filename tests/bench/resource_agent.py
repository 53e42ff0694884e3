# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian's resource agent azure-events-az, taken from its package when it is to be measured. Nothing of it is kept in this checkout."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import List

from lab.image import SUITE
from lab.programs import APART

PACKAGE = "resource-agents"
TOP = "usr/lib/ocf"
PROGRAM = TOP + "/resource.d/heartbeat/azure-events-az"
_LIMIT = 300.0
# Which version there is, and that it is Debian's, is for apt of that Debian to say, which mmdebstrap sets up beside that of this machine.
_FETCH = 'cd {folder} && APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get download {package}'


class NotThere(Exception):
    """It cannot be had; the message says why."""


def fetch(cache: Path) -> Path:
    """The folder with the files of the package, fetched first if they are not there."""
    folder = cache / ("%s-%s" % (PACKAGE, hashlib.sha256((SUITE + _FETCH).encode()).hexdigest()[:12]))
    if not folder.exists():
        new = folder.with_name(folder.name + ".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        try:
            _unpack(_download(new), new / "root")
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise NotThere(str(problem)) from problem
        if not (new / "root" / PROGRAM).exists():
            raise NotThere("the package %s of Debian %s has no %s" % (PACKAGE, SUITE, PROGRAM))
        new.rename(folder)
    return folder / "root"


def _download(folder: Path) -> Path:
    hook = _FETCH.format(folder=shlex.quote(str(folder)), package=PACKAGE)
    mirror = os.environ.get("LAB_MIRROR")
    command = [*APART, "mmdebstrap", "--variant=custom", "--customize-hook=" + hook, SUITE, str(folder / "empty")]
    _run([*command, *([mirror] if mirror else [])])
    found = sorted(folder.glob("*.deb"))
    if len(found) != 1:
        raise NotThere("%s was not downloaded" % PACKAGE)
    return found[0]


def _unpack(package: Path, root: Path) -> None:
    _run(["dpkg-deb", "--extract", str(package), str(root)])


def _run(command: List[str]) -> None:
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_LIMIT)
    if answer.returncode != 0:
        raise NotThere("%s ended with %d: %s" % (command[-1], answer.returncode, answer.stderr.strip()[-300:]))
