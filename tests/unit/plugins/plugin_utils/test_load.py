# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a wave is counted while it is filled, and whether it helps to wait (`_capacity.Load`, `_capacity.Room.may_fit_later`)."""

from __future__ import annotations

from typing import List, Mapping, Optional, Sequence

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._capacity import EVERYBODY, Hit, Limit, Reason, Room
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import HOUR, MINUTE
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import NOW

ONE, TWO = ("e1", "s", "rg"), ("e2", "s", "rg")
END = NOW + 20 * MINUTE


def room(*hits: Hit, most: int = 2, least: int = 0, out: Optional[Mapping[str, Reason]] = None) -> Room:
    """Five hosts, two of them in a group of which one may be out."""
    limits = (Limit(EVERYBODY, 5, most, least), Limit("db", 2, 1, 0))
    groups = {"a": (0,), "b": (0,), "c": (0,), "d": (0, 1), "e": (0, 1)}
    return Room(limits, groups, out or {}, hits)


def fit(there: Room, *more: str, beside: Sequence[str] = (), number: int = 1, end: float = END) -> bool:
    load = there.load(number)
    load.add(beside)
    return load.fits(more, end=end)


def test_as_many_fit_as_may_be_out() -> None:
    assert fit(room(), "a", "b")
    assert not fit(room(), "a", "b", "c")
    assert fit(room(), "b", beside=["a"])
    assert not fit(room(), "c", beside=["a", "b"])


def test_a_group_has_its_own_bound() -> None:
    assert not fit(room(most=5), "d", "e")
    assert not fit(room(most=5), "e", beside=["d"])
    assert fit(room(most=5), "e", beside=["a", "b"])


def test_what_must_stay_stays() -> None:
    assert fit(room(most=5, least=3), "a", "b")
    assert not fit(room(most=5, least=3), "b", "c", beside=["a"])


def test_whoever_is_out_already_takes_a_place_and_not_a_second_one() -> None:
    out = {"a": Reason("cannot be reached")}
    assert not fit(room(out=out), "b", "c")
    assert fit(room(out=out), "a", "b")
    assert fit(room(out=out), "b", beside=["a"])


def test_whoever_is_hit_before_the_end_counts_and_not_twice() -> None:
    coming = Hit(NOW + 10 * MINUTE, "a", ONE)
    assert not fit(room(coming), "b", "c")
    assert fit(room(coming), "b", "c", end=NOW + 10 * MINUTE)
    assert fit(room(coming), "a", "b")
    assert fit(room(coming), "b", beside=["a"])
    # The wave lasts longer than when he was taken in.
    load = room(coming, Hit(NOW + 15 * MINUTE, "c", TWO)).load(1)
    load.add(["b"])
    assert load.fits(["a"], end=NOW + 14 * MINUTE)
    assert not load.fits(["a"], end=END)


def test_whoever_was_in_an_earlier_wave_is_back() -> None:
    there = room(out={"a": Reason("PREPARED for event E1", ONE)})
    assert not fit(there, "b", "c", number=2)
    there.place(["a"], {ONE}, number=1)
    assert fit(there, "b", "c", number=2)
    assert not fit(there, "b", "c", number=1)


def test_a_deleted_host_counts_nowhere() -> None:
    assert fit(room(), "a", "b", "deleted")


LATER = [Hit(NOW + 15 * MINUTE, name, (name, "s", "rg")) for name in "abc"]


@pytest.mark.parametrize(
    ("hits", "before", "expected"),
    [
        ([], NOW, True),
        # W-52: the others are hit while it would be out, until its last moment.
        (LATER, NOW + 12 * MINUTE, False),
        # They are back long before that.
        (LATER, NOW + HOUR, True),
        # And some more are hit then.
        ([*LATER, *(Hit(NOW + 45 * MINUTE, name, TWO) for name in "xyz")], NOW + 50 * MINUTE, False),
        # Nobody looks at more than some of very many moments.
        ([Hit(NOW + (at // 3) * MINUTE, "abc"[at % 3] + str(at), TWO) for at in range(600)], NOW + 100 * MINUTE, True),
        # Who can be hit at any moment may be over by then.
        ([Hit(float("-inf"), name, TWO) for name in "abc"], NOW, True),
    ],
)
def test_it_helps_to_wait_only_for_those_who_are_not_hit_at_the_same_time(hits: List[Hit], before: float, expected: bool) -> None:
    limits = (Limit(EVERYBODY, 700, 2, 0), Limit("db", 1, 0, 0))
    groups = {**{hit.host: (0,) for hit in hits}, "d": (0,)}
    there = Room(limits, groups, {}, hits)
    since = min(before, NOW + 10 * MINUTE)
    assert there.may_fit_later(["d"], since=since, before=before, end=lambda at: at + 20 * MINUTE) is expected


def test_it_does_not_help_to_wait_where_nobody_may_be_out_at_all() -> None:
    there = Room((Limit(EVERYBODY, 3, 0, 0),), {"a": (0,)}, {}, ())
    assert not there.may_fit_later(["a"], since=NOW, before=NOW + HOUR, end=lambda at: at + MINUTE)
