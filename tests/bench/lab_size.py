# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How soon the hosts of a lab answer Ansible, and what memory they take."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from lab import Lab, image
from lab.client import CACHE

FEW, MANY = 6, 16


def seconds_to_answer() -> float:
    """From nothing but the image to the answer of the last host."""
    image.ensure(CACHE)
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        with Lab("quick-%d" % os.getpid(), hosts=FEW) as lab:
            program = Path(sys.executable).parent / "ansible"
            answer = lab.run([str(program), "all", "-m", "ping"], env={**lab.environment(), "ANSIBLE_HOME": home})
            seconds = time.monotonic() - began
    if answer.stdout.count('"ping": "pong"') != FEW:
        raise RuntimeError("not every host answers: %s" % answer.stdout)
    return seconds


def memory_of_a_host() -> float:
    """MiB, with all that belongs to a host: processes, disks, and the lab's own."""
    before = _available()
    with Lab("large-%d" % os.getpid(), hosts=MANY) as lab:
        for host in lab.hosts.values():
            host.wait_until_it_serves()
        return (before - _available()) / MANY


def _available() -> float:
    """MiB that the machine could still give."""
    (line,) = (line for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) / 1024
