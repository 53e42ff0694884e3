# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small files that others read while they are replaced: whole or not at all. Not for what must survive a loss of power: see store."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any

LARGEST = 4 * 1024 * 1024


def write_json(path: str, data: Any, *, mode: int = 0o640) -> None:
    """OSError where it cannot be written; what was there is still there then. The group is that of the folder, if it hands it on."""
    write_text(path, json.dumps(data, sort_keys=True, allow_nan=False), mode=mode)


def write_text(path: str, text: str, *, mode: int = 0o640) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".new", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        os.replace(temporary, path)
    except BaseException:
        # A signal may have come just after it got its name: then it is not to be told as a file that is not there.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def read_json(path: str) -> Any:
    """OSError or ValueError where there is no such thing. A link is not followed, and a pipe not waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        body = file.read(LARGEST + 1)
    if len(body) > LARGEST:
        raise ValueError("longer than %d bytes" % LARGEST)
    try:
        return json.loads(body.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
