# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab takes what its hosts need of the kernel, and the last one gives it back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Tuple

import pytest
from lab import Lab, limits
from lab.errors import Missing

DEBIAN = "128\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tuple[Path, Path]:
    """A machine of its own for the account: the limit, and the groups of processes of labs."""
    limit, groups = tmp_path / "limit", tmp_path / "groups"
    limit.write_text(DEBIAN, encoding="ascii")
    groups.mkdir()
    monkeypatch.setattr(limits, "LIMIT", limit)
    monkeypatch.setattr(limits, "BEFORE", tmp_path / "before")
    return limit, groups


def test_the_last_lab_puts_the_limit_back(machine: Tuple[Path, Path]) -> None:
    limit, groups = machine
    first, second = groups / (limits.GROUP + "1"), groups / (limits.GROUP + "2")
    for group in (first, second):
        group.mkdir()
        limits.make_room(6)
    assert int(limit.read_text(encoding="ascii")) == limits.ENOUGH
    first.rmdir()
    limits.give_back(groups)
    assert int(limit.read_text(encoding="ascii")) == limits.ENOUGH
    second.rmdir()
    limits.give_back(groups)
    assert int(limit.read_text(encoding="ascii")) == int(DEBIAN)
    assert not limits.BEFORE.exists()


def test_a_limit_that_is_high_enough_is_left_alone(machine: Tuple[Path, Path]) -> None:
    limit, groups = machine
    limit.write_text("8192\n", encoding="ascii")
    limits.make_room(6)
    limits.give_back(groups)
    assert limit.read_text(encoding="ascii") == "8192\n"
    assert not limits.BEFORE.exists()


def test_where_it_cannot_be_raised_a_small_lab_goes_on_and_a_large_one_says_why(
    machine: Tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, groups = machine
    monkeypatch.setattr(limits, "BEFORE", groups / "no" / "such" / "folder")
    limits.make_room(16)
    with pytest.raises(Missing, match=r"A lab of 17 hosts needs 136 inotify instances, .* holds 128 and cannot be raised"):
        limits.make_room(17)
    limits.give_back(groups)
    assert limit.read_text(encoding="ascii") == DEBIAN


def test_more_hosts_come_up_than_the_usual_limit_carries() -> None:
    """Twenty-four of them take some 170 instances."""
    with Lab("limits-%d" % os.getpid(), hosts=24) as lab:
        assert len(lab.hosts) == 24
        assert int(limits.LIMIT.read_text(encoding="ascii")) >= limits.ENOUGH
