# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator's time: real, faster than real, or moved by hand. An instant is a float, seconds since the epoch (UTC)."""

from __future__ import annotations

import time
from typing import Optional

from .errors import InvalidError

KINDS = ("real", "manual")


class Clock:
    """A clock that runs at `rate` simulated seconds per real second (0: it stands), and that can always be moved forward."""

    def __init__(self, *, rate: float, start: Optional[float] = None) -> None:
        if rate < 0:
            raise InvalidError("rate: a clock cannot run backwards (%s)" % rate)
        self.rate = rate
        self._start = time.time() if start is None else start
        self._moved = 0.0
        self._origin = time.monotonic()

    @property
    def kind(self) -> str:
        return "real" if self.rate else "manual"

    def now(self) -> float:
        # Monotonic inside, so that a correction of the machine's clock does not start or end events.
        return self._start + self._moved + (time.monotonic() - self._origin) * self.rate

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise InvalidError("advance: time only goes forward (%s)" % seconds)
        self._moved += seconds

    def real_seconds_until(self, instant: float) -> Optional[float]:
        """How long to wait in real time; None while the clock stands and the instant is still ahead."""
        ahead = instant - self.now()
        if ahead <= 0:
            return 0.0
        return ahead / self.rate if self.rate else None


def make_clock(kind: str, *, rate: float = 1.0, start: Optional[float] = None) -> Clock:
    if kind == "manual":
        # Whole seconds: RFC 1123 knows no fractions, and a test can then compare exactly.
        return Clock(rate=0.0, start=float(int(time.time())) if start is None else start)
    if kind != "real":
        raise InvalidError("clock: %r is neither of %s" % (kind, ", ".join(KINDS)))
    if rate <= 0:
        raise InvalidError("rate: a running clock needs a rate above 0 (%s); use the manual clock to make it stand" % rate)
    return Clock(rate=rate, start=start)
