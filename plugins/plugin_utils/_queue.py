# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has to begin earlier than it wants to, because others come after it. Pure.

Private to the collection. Events of one group of hosts that all come at the same hour, days from now, would all be due in the same
minute, and then there would be time for one of them. Looked at from the end, each begins early enough for those behind it (W-52).
"""

from __future__ import annotations

import math
from typing import Dict, FrozenSet, List, Mapping, Optional, Sequence, Set, Tuple

from ._capacity import EventKey, Limit, Load, Reason, Room, named_by
from ._verdicts import Facing, Verdict, is_queued, pulled_forward, rule_starts_by_not_before

# All slots are counted as this wave.
_ANY_WAVE = 1


class _Slot:
    """Events that are handled together. begin: at the latest. behind: how many come after it without a pause."""

    def __init__(self, load: Load, *, until: float, behind: int) -> None:
        self.load = load
        # When the one behind it begins.
        self.until = until
        self.behind = behind
        self.begin = math.inf
        self.verdicts: List[Verdict] = []
        self.hosts: Set[str] = set()
        self._ready_until = math.inf
        self._budget = 0.0
        self._after = 0.0

    def add(self, verdict: Verdict, facing: Facing) -> None:
        names = self.new(verdict)
        self.load.add(names)
        self.hosts |= names
        self.verdicts.append(verdict)
        self._ready_until = min(self._ready_until, verdict.ready_until)
        self._budget = max(self._budget, verdict.budget)
        self._after = max(self._after, verdict.until_done(facing.options, 0))
        preparing = self._budget * facing.rounds(len(self.hosts))
        self.begin = min(self.begin, verdict.start, self._ready_until - preparing, self.until - preparing - self._after)

    def new(self, verdict: Verdict) -> FrozenSet[str]:
        return _names(verdict) - self.hosts


def queued(
    found: Sequence[Verdict], facing: Facing, *, limits: Sequence[Limit], groups: Mapping[str, Sequence[int]], out: Mapping[str, Reason]
) -> Tuple[Verdict, ...]:
    """The same verdicts; what others wait for begins earlier."""
    room = Room(limits, groups, out, ())
    movable = [verdict for verdict in found if _is_movable(verdict, facing) and room.too_large(_names(verdict)) is None]
    earlier: Dict[EventKey, Verdict] = {}
    for slot in _slots(movable, room, facing):
        earlier.update((verdict.key, pulled_forward(verdict, slot.begin, slot.behind, facing)) for verdict in slot.verdicts)
    return tuple(earlier.get(verdict.key, verdict) for verdict in found)


def _is_movable(verdict: Verdict, facing: Facing) -> bool:
    return is_queued(verdict) and rule_starts_by_not_before(verdict, facing) and verdict.start > facing.now


def _names(verdict: Verdict) -> FrozenSet[str]:
    return frozenset(named_by(verdict))


def _slots(movable: Sequence[Verdict], room: Room, facing: Facing) -> List[_Slot]:
    """From the last one to the first."""
    slots: List[_Slot] = []
    for verdict in sorted(movable, key=lambda verdict: (verdict.start, verdict.key), reverse=True):
        if not slots or not _shares(slots[-1], verdict, facing):
            slots.append(_slot_before(slots[-1] if slots else None, verdict, room, facing))
        slots[-1].add(verdict, facing)
    return slots


def _shares(slot: _Slot, verdict: Verdict, facing: Facing) -> bool:
    """Whether it is handled with others. Only what they would push is: nobody is drained earlier for company."""
    is_done_before = verdict.start + _length(verdict, facing) <= slot.begin
    return not is_done_before and slot.load.fits(slot.new(verdict), end=verdict.start)


def _slot_before(behind: Optional[_Slot], verdict: Verdict, room: Room, facing: Facing) -> _Slot:
    if behind is None:
        return _Slot(room.load(_ANY_WAVE), until=math.inf, behind=0)
    pushed = verdict.start + _length(verdict, facing) > behind.begin
    return _Slot(room.load(_ANY_WAVE), until=behind.begin, behind=behind.behind + len(behind.verdicts) if pushed else 0)


def _length(verdict: Verdict, facing: Facing) -> float:
    return verdict.until_done(facing.options, facing.rounds(len(verdict.hosts)))
