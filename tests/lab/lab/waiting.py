# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for something to become true."""

from __future__ import annotations

import time
from typing import Callable

from .errors import LabError


def until(condition: Callable[[], bool], *, timeout: float = 60.0, pause: float = 0.02) -> None:
    """LabError when it does not within this time."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise LabError("not within %g s" % timeout)
        time.sleep(pause)
