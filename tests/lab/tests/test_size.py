# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How quickly a lab is there, and how many hosts a machine holds."""

from __future__ import annotations

import os
import time
from pathlib import Path

from lab import Lab

WITHIN = 20.0  # seconds, from the call to the answer of every host
OF_A_HOST = 150  # MiB at most


def test_six_hosts_answer_ansible_within_twenty_seconds(newest_programs: Path, tmp_path: Path) -> None:
    """From nothing but the image to the answer of the last host."""
    began = time.monotonic()
    with Lab("quick-%d" % os.getpid()) as lab:
        answer = lab.run([str(newest_programs / "ansible"), "all", "-m", "ping"], env={**lab.environment(), "ANSIBLE_HOME": str(tmp_path)})
        seconds = time.monotonic() - began
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.count('"ping": "pong"') == 6
    print("six hosts answered Ansible %.1f s after the call" % seconds)
    assert seconds < WITHIN


def test_sixteen_hosts_fit_in_memory() -> None:
    """With all that belongs to them: processes, disks, and the lab's own."""
    before = _available()
    with Lab("large-%d" % os.getpid(), hosts=16) as lab:
        assert all(host.ssh("true").returncode == 0 for host in lab.hosts.values())
        used = (before - _available()) / 16
    print("sixteen hosts: %.0f MiB of memory each" % used)
    assert used < OF_A_HOST


def _available() -> float:
    """MiB that the machine could still give."""
    (line,) = (line for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) / 1024
