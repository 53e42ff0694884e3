# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image is made once, whole, and without a trace on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import LabError, image

# A small one: what is to be seen is how the making ends.
MAKE = """
import sys
from pathlib import Path
from lab import image
image.PACKAGES, image._PREPARE = ("procps",), "true"
image.ensure(Path(sys.argv[1]))
"""


def _mounts() -> str:
    return Path("/proc/self/mounts").read_text(encoding="utf-8")


def test_an_image_whose_making_was_killed_is_made_anew(tmp_path: Path) -> None:
    """mmdebstrap mounts parts of this machine: nothing of that may be there afterwards, or be removed with what is left."""
    marker = Path("/dev/shm/lab-%d" % os.getpid())
    marker.touch()
    try:
        before = _mounts()
        for stage in ("root/etc", "root/usr/bin/dpkg"):
            process = subprocess.Popen([sys.executable, "-B", "-c", MAKE, str(tmp_path)], stderr=subprocess.DEVNULL, start_new_session=True)
            end = time.monotonic() + 60
            while not list(tmp_path.glob("image-*.new/" + stage)):
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        assert _mounts() == before
        subprocess.run([sys.executable, "-B", "-c", MAKE, str(tmp_path)], check=True, stdin=subprocess.DEVNULL)
        (made,) = (entry for entry in tmp_path.glob("image-*") if entry.is_dir())
        inode = made.stat().st_ino
        assert (made / "root/usr/bin/free").exists()
        assert [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".new")] == []
        assert marker.exists()
        assert _mounts() == before
        subprocess.run([sys.executable, "-B", "-c", MAKE, str(tmp_path)], check=True, stdin=subprocess.DEVNULL)
        assert [(entry, entry.stat().st_ino) for entry in tmp_path.glob("image-*")] == [(made, inode)]
    finally:
        marker.unlink()


def test_what_cannot_be_made_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_MIRROR", "file:///nowhere")
    with pytest.raises(LabError, match=r"^The image of the hosts cannot be made: mmdebstrap ended with \d+:\n"):
        image.ensure(tmp_path)
