# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers for as long as a measurement lasts, each a process of its own that ends with the one who started it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Iterator

SERVER = Path(__file__).resolve().parent / "server.py"
STOP_LIMIT = 10  # seconds; a server that has lost its standard input ends at once


@contextlib.contextmanager
def running(kind: str, *, events: int) -> Iterator[str]:
    """The URL of a server: `simulator`, or `plain` for Python's own http.server with the same document."""
    process = subprocess.Popen([sys.executable, str(SERVER), kind, str(events)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the %s server did not start" % kind)
        yield str(json.loads(line)["url"])
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=STOP_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
