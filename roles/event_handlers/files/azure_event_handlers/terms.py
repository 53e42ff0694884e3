# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long somebody has time, counted by a clock that nobody sets. Pure.

A wall clock that jumps by an hour must neither end a lease nor make it longer (W-34). But the clock that nobody sets begins anew with each
boot. So a term keeps both; and after a boot, when nobody has counted, it is over rather too early than too late.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

DAY = 86400.0


@dataclass(frozen=True)
class Moment:
    """Now: by the wall clock, and by the one that nobody sets, which counts within one boot."""

    wall: float
    passed: float
    boot: str


@dataclass(frozen=True)
class Term:
    """until: by the wall clock as it was, for people, and for what is left after a boot. ends: by the other clock, in that boot.

    seconds: how long it was at the most.
    """

    until: float
    seconds: float = DAY
    ends: float = 0.0
    boot: str = ""

    def left(self, now: Moment) -> float:
        """Seconds; below 0 it is over."""
        if self.boot == now.boot:
            return self.ends - now.passed
        left = self.until - now.wall
        # More than there ever was: the clock was set back.
        return left if left <= self.seconds else -1.0

    def is_over(self, now: Moment) -> bool:
        return self.left(now) < 0.0

    def said_at(self, now: Moment) -> Term:
        """The same, with the end that the wall clock will show."""
        return replace(self, until=now.wall + self.left(now)) if self.boot == now.boot else self

    def counted_in(self, now: Moment) -> Term:
        """The same, from now on by the clock of this boot."""
        return self if self.boot == now.boot else Term(self.until, self.seconds, now.passed + self.left(now), now.boot)


def term_of(seconds: float, now: Moment) -> Term:
    return Term(now.wall + seconds, seconds, now.passed + seconds, now.boot)
