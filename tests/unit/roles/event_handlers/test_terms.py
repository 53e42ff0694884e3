# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases and deadlines: a clock that is set, and a machine that stops, neither end one at once nor make one longer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from azure_event_handlers.terms import DAY, Moment, Term, term_of

NOW = Moment(wall=1_800_000_000.0, passed=5000.0, boot="boot 1")
TERM = term_of(600.0, NOW)


def later(seconds: float, *, wall: float = 0.0) -> Moment:
    """wall: by how much the clock was set meanwhile."""
    return replace(NOW, wall=NOW.wall + seconds + wall, passed=NOW.passed + seconds)


def after_boot(seconds: float, *, passed: float = 30.0) -> Moment:
    return Moment(NOW.wall + seconds, passed, "boot 2")


@pytest.mark.parametrize("wall", [0.0, 3600.0, -3600.0])
@pytest.mark.parametrize(("seconds", "over"), [(0.0, False), (600.0, False), (600.5, True)])
def test_a_clock_that_is_set_changes_nothing(seconds: float, wall: float, *, over: bool) -> None:
    """W-34."""
    moment = later(seconds, wall=wall)
    assert TERM.is_over(moment) is over
    assert TERM.left(moment) == 600.0 - seconds


def test_people_are_told_the_end_as_their_clock_will_show_it() -> None:
    assert TERM.until == NOW.wall + 600.0
    assert TERM.said_at(later(60.0, wall=3600.0)).until == NOW.wall + 600.0 + 3600.0
    assert TERM.said_at(after_boot(60.0)) is TERM


@pytest.mark.parametrize(
    ("seconds", "left"),
    [
        (60.0, 540.0),
        (700.0, -100.0),
        # The clock of a machine that has just booted may be far back: more than there ever was is nothing.
        (-60.0, -1.0),
    ],
)
def test_after_a_boot_the_wall_clock_says_what_is_left_and_from_then_on_the_other_one(seconds: float, left: float) -> None:
    moment = after_boot(seconds)
    counted = TERM.counted_in(moment)
    assert (counted.left(moment), counted.boot, counted.seconds) == (left, "boot 2", 600.0)
    assert counted.left(replace(moment, wall=moment.wall + 86_400.0, passed=moment.passed + 10.0)) == left - 10.0
    assert counted.counted_in(moment) is counted


def test_what_was_written_without_another_clock_lasts_a_day_at_the_most() -> None:
    assert Term(NOW.wall + DAY).left(NOW) == DAY
    assert Term(NOW.wall + DAY + 1.0).is_over(NOW)
