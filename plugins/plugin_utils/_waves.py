# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which components are handled at the same time, and when: waves, one after the other. Pure.

Private to the collection. What is most urgent comes first. Whoever cannot begin in time joins an earlier wave where there is room, or
is refused with the figures before anything is touched (W-52).
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Set, Tuple

from ..module_utils._windows import say_instant
from ._capacity import EventKey, Room
from ._components import Component, component_of, components
from ._verdicts import (
    RETRY,
    WAVES,
    Facing,
    Verdict,
    after_its_window,
    beyond_this_run,
    by_next_run,
    held,
    next_run_is_in_time,
    refused,
    window_is_over,
    without_approval,
)

Urgency = Tuple[bool, float, float, EventKey]


@dataclass(frozen=True)
class Wave:
    """Components that are handled at the same time. Its number is its place, from one on.

    ready: when all its hosts are; after: how much longer it takes if Azure is told to go ahead then.
    """

    begin: float
    ready: float
    after: float
    end: float
    components: Tuple[Component, ...]

    @property
    def hosts(self) -> int:
        return sum(len(component.hosts) for component in self.components)


@dataclass(frozen=True)
class Filled:
    """The waves, and what is said of every event that was due. In a wave its verdict has its place there."""

    waves: Tuple[Wave, ...]
    verdicts: Dict[EventKey, Verdict]


def filled(due: Sequence[Verdict], room: Room, facing: Facing) -> Filled:
    """Each due event in one wave, or held, or refused."""
    taken = [_taken_on(verdict, facing) for verdict in due]
    sized = [verdict for component in components(_in_place(taken)) for verdict in _sized(component, room, facing)]
    apart = [verdict for component in components(_in_place(sized)) for verdict in _apart(component, facing)]
    filling = _Filling(room, facing)
    filling.take(components(_in_place(apart)))
    said = {verdict.key: verdict for verdict in (*taken, *sized, *apart)}
    return Filled(tuple(wave.closed() for wave in filling.waves), {**said, **filling.said})


def _in_place(verdicts: Sequence[Verdict]) -> List[Verdict]:
    return sorted((verdict for verdict in verdicts if verdict.place == WAVES), key=lambda verdict: verdict.sighting.order)


# --- before any wave -----------------------------------------------------------------------------------------------------


def _taken_on(verdict: Verdict, facing: Facing) -> Verdict:
    """A run waits only so long: what is due because the next run comes too late begins at the latest then."""
    why = beyond_this_run(verdict, facing)
    if why is not None:
        return refused(verdict, why)
    return replace(verdict, start=max(verdict.floor, min(verdict.start, facing.now + facing.options.wait)))


def _sized(component: Component, room: Room, facing: Facing) -> Sequence[Verdict]:
    """W-51: what is larger than allowed is not approved, and what would leave too few in service is not touched."""
    counts = [sum(1 for name in component.away if index in room.counted_in(name)) for index in range(len(room.limits))]
    for count, limit in zip(counts, room.limits):
        if count and limit.hosts - count < limit.must_stay:
            why = "%d %s are hit together, there are %d, and %d must stay" % (count, limit.said, limit.hosts, limit.must_stay)
            return [refused(verdict, why) for verdict in component.verdicts]
    for count, limit in zip(counts, room.limits):
        if count > limit.most_out:
            why = "%d %s are hit together, and at most %d may be out" % (count, limit.said, limit.most_out)
            return [_alone(verdict, why, facing) for verdict in component.verdicts]
    return component.verdicts


def _alone(verdict: Verdict, why: str, facing: Facing) -> Verdict:
    if not verdict.approves:
        return replace(verdict, over_capacity=True)
    fallen = without_approval(verdict, why, facing)
    return _taken_on(fallen, facing) if fallen.place == WAVES else fallen


def _apart(component: Component, facing: Facing) -> Sequence[Verdict]:
    """Whoever cannot begin yet when another event of the same hosts must, or would be out for days before Azure comes, waits for it."""
    if len(component.verdicts) == 1:
        return component.verdicts
    rounds = facing.rounds(len(component.hosts))
    first = min(component.verdicts, key=lambda verdict: (verdict.must_begin_by(rounds), verdict.key))
    begin = first.must_begin_by(rounds)
    end = _Unit(component_of([first]), facing).end(begin)
    why = "its hosts are taken through event %s before" % first.sighting.event.event_id

    def kept(verdict: Verdict) -> Verdict:
        return held(verdict, why, until=verdict.start, due_at=by_next_run(verdict.start, verdict, facing))

    return [kept(verdict) if _can_wait(verdict, begin, end, facing) else verdict for verdict in component.verdicts]


def _can_wait(verdict: Verdict, begin: float, end: float, facing: Facing) -> bool:
    """begin and end: of what comes first, at the latest."""
    waits = verdict.floor > begin or (not verdict.approves and verdict.start > end)
    return waits and end <= verdict.latest and next_run_is_in_time(verdict, replace(facing, now=end))


# --- a component, and a wave while it is filled --------------------------------------------------------------------------


class _Unit:
    """A component with the figures that decide on its place."""

    def __init__(self, component: Component, facing: Facing) -> None:
        verdicts = component.verdicts
        self.component = component
        self.hosts = component.hosts
        self.away = component.away
        self.alone = component.over_capacity
        self.rounds = facing.rounds(len(component.hosts))
        self.floor = max(verdict.floor for verdict in verdicts)
        self.deadline = min(verdict.must_begin_by(self.rounds) for verdict in verdicts)
        self.start = max(self.floor, min(self.deadline, max(verdict.start for verdict in verdicts)))
        # For one who shares a wave: everybody is ready when the slowest is.
        self.latest = min(verdict.latest for verdict in verdicts)
        self.ready_until = min(verdict.ready_until for verdict in verdicts)
        # Back so long after everybody is ready, and not before.
        self.after, self.earliest_end = _back(verdicts, facing)
        # What Azure can start at any moment counts as out for everybody else until it is done.
        self.at_any_moment = any(verdict.not_before is None for verdict in verdicts)
        self.urgency: Urgency = (not self.at_any_moment, self.deadline, self.start, verdicts[0].key)

    def slowest(self, begin: float) -> float:
        return max(verdict.time_left(begin) for verdict in self.component.verdicts)

    def end(self, begin: float) -> float:
        """If it has a wave for itself."""
        return max(begin + self.slowest(begin) * self.rounds + self.after, self.earliest_end)


def _back(verdicts: Sequence[Verdict], facing: Facing) -> Tuple[float, float]:
    after, earliest = 0.0, -math.inf
    for verdict in verdicts:
        if verdict.approves or verdict.not_before is None:
            after = max(after, verdict.back_at(0.0, facing.options))
        else:
            back = verdict.back_at(verdict.not_before, facing.options)
            after, earliest = max(after, back - verdict.not_before), max(earliest, back)
    return after, earliest


class _Wave:
    """A wave while it is filled."""

    def __init__(self, unit: _Unit, begin: float, room: Room, number: int, facing: Facing) -> None:
        self.number = number
        self.begin = begin
        self.units: List[_Unit] = []
        self.hosts: Set[str] = set()
        self.away: Set[str] = set()
        self.alone = unit.alone
        self._facing = facing
        self._load = room.load(number)
        self._slowest = self._after = 0.0
        self._latest = self._ready_until = math.inf
        self._earliest_end = -math.inf
        self.end = begin
        self.add(unit)

    def add(self, unit: _Unit) -> None:
        self.end = self.end_with(unit)
        self._slowest = max(self._slowest, unit.slowest(self.begin))
        self._after = max(self._after, unit.after)
        self._latest = min(self._latest, unit.latest)
        self._ready_until = min(self._ready_until, unit.ready_until)
        self._earliest_end = max(self._earliest_end, unit.earliest_end)
        self.units.append(unit)
        self.hosts.update(unit.hosts)
        self._load.add(set(unit.away) - self.away)
        self.away.update(unit.away)

    def end_with(self, unit: _Unit) -> float:
        ready = self._ready_with(unit)
        return max(ready + max(self._after, unit.after), self._earliest_end, unit.earliest_end)

    def is_in_time_with(self, unit: _Unit) -> bool:
        """Whether everybody is, who shares it."""
        if not unit.floor <= self.begin <= min(self._latest, unit.latest):
            return False
        return self._ready_with(unit) <= min(self._ready_until, unit.ready_until)

    def has_room_for(self, unit: _Unit, end: float) -> bool:
        return self._load.fits(set(unit.away) - self.away, end=end)

    def closed(self) -> Wave:
        in_order = sorted((unit.component for unit in self.units), key=lambda component: component.verdicts[0].sighting.order)
        ready = self.begin + self._slowest * self._facing.rounds(len(self.hosts))
        return Wave(self.begin, ready, self._after, self.end, tuple(in_order))

    def _ready_with(self, unit: _Unit) -> float:
        rounds = self._facing.rounds(len(self.hosts) + len(unit.hosts))
        return self.begin + max(self._slowest, unit.slowest(self.begin)) * rounds


# --- waves one after the other -------------------------------------------------------------------------------------------


class _Filling:
    """Waves, and what is said of events that are in none."""

    def __init__(self, room: Room, facing: Facing) -> None:
        self.waves: List[_Wave] = []
        self.said: Dict[EventKey, Verdict] = {}
        self._room = room
        self._facing = facing
        # Those that still have no wave, the most urgent first, and their deadlines in order.
        self._queue: List[_Unit] = []
        self._deadlines: List[float] = []
        # Of the next wave, as long as nobody is in it.
        self._nobody = room.load(1)

    def take(self, parts: Sequence[Component]) -> None:
        self._enqueue(parts)
        while self._queue:
            self._next()

    @property
    def _free_at(self) -> float:
        return self.waves[-1].end if self.waves else self._facing.now

    def _enqueue(self, parts: Sequence[Component]) -> None:
        for component in parts:
            unit = _Unit(component, self._facing)
            if unit.floor > unit.deadline:
                self._give_up(unit)
                continue
            self._queue.append(unit)
            insort(self._deadlines, unit.deadline)
        self._queue.sort(key=lambda unit: unit.urgency)

    def _remove(self, unit: _Unit) -> None:
        self._queue.remove(unit)
        del self._deadlines[bisect_left(self._deadlines, unit.deadline)]

    def _next(self) -> None:
        """One wave more, or less to do."""
        if self._deadlines[0] < self._free_at:
            late = next(unit for unit in self._queue if unit.deadline < self._free_at)
            self._remove(late)
            if not self._joins_earlier(late):
                self._give_up(late)
            return
        first = next((unit for unit in self._queue if self._fits(unit, self._begin(unit))), None)
        if first is None:
            self._nothing_fits()
            return
        self._fill(self._instead_of_waiting(first) or first)

    # --- a new wave ---

    def _begin(self, unit: _Unit) -> float:
        """When it wants to, or when those before it are done. It is in time: whoever is not was sorted out."""
        return max(self._free_at, unit.start)

    def _fits(self, unit: _Unit, begin: float) -> bool:
        if unit.alone:
            return self._why_not(unit, begin) is None
        return self._nobody.fits(unit.away, end=unit.end(begin))

    def _why_not(self, unit: _Unit, begin: float) -> Optional[str]:
        objection = self._room.objection(unit.away, number=len(self.waves) + 1, end=unit.end(begin), alone=unit.alone)
        return None if objection is None else objection.why

    def _instead_of_waiting(self, first: _Unit) -> Optional[_Unit]:
        """Somebody who is done before the first one wants to begin."""
        begin, now = self._begin(first), self._free_at
        candidates = (unit for unit in self._queue if unit.start <= now and unit.end(now) <= begin) if begin > now else iter(())
        return next((unit for unit in candidates if self._fits(unit, now)), None)

    def _fill(self, first: _Unit) -> None:
        """The wave with the first one, and with whoever fits beside it."""
        self._remove(first)
        wave = _Wave(first, self._begin(first), self._room, len(self.waves) + 1, self._facing)
        for unit in [] if wave.alone else list(self._queue):
            if self._room.is_full(wave.away):
                break
            if self._may_join(wave, unit):
                wave.add(unit)
                self._remove(unit)
        self.waves.append(wave)
        for unit in wave.units:
            self._place(unit, wave)

    def _may_join(self, wave: _Wave, unit: _Unit) -> bool:
        """Whoever is not ready to begin joins only if it is too late afterwards; nobody else may be late because of it."""
        urgent = unit.deadline < wave.end
        if unit.alone or (unit.start > wave.begin and not urgent) or not wave.is_in_time_with(unit):
            return False
        end = wave.end_with(unit)
        return (urgent or not self._makes_late(unit, wave.end, end)) and wave.has_room_for(unit, end)

    def _makes_late(self, unit: _Unit, before: float, after: float) -> bool:
        """Whether somebody else could begin when a wave is over, and cannot if it lasts longer."""
        between = bisect_left(self._deadlines, after) - bisect_left(self._deadlines, before)
        return between > (1 if before <= unit.deadline < after else 0)

    def _place(self, unit: _Unit, wave: _Wave) -> None:
        self._room.place(unit.away, {verdict.key for verdict in unit.component.verdicts}, number=wave.number)
        self._nobody = self._room.load(len(self.waves) + 1)

    # --- who has no wave ---

    def _joins_earlier(self, unit: _Unit) -> bool:
        """Into a wave that is there already, if that does not move those behind it."""
        until, at_any_moment = math.inf, set(unit.away)
        for wave in reversed(self.waves):
            if not (unit.alone or wave.alone) and wave.is_in_time_with(unit):
                end = wave.end_with(unit)
                if end <= until and self._has_room_left(wave, at_any_moment, end):
                    wave.add(unit)
                    self._place(unit, wave)
                    return True
            until = wave.begin
            # They are done after this wave, and were out before it.
            at_any_moment.update(name for one in wave.units if one.at_any_moment for name in one.away)
        return False

    def _has_room_left(self, wave: _Wave, more: Set[str], end: float) -> bool:
        if self._room.is_full(wave.away) or (wave is self.waves[-1] and end > wave.end):
            return False
        return self._room.objection(wave.away | more, number=wave.number, end=end) is None

    def _give_up(self, unit: _Unit) -> None:
        """Those of its events for which it is too late; the others try again, and perhaps they are not tied any more."""
        begin = max(self._free_at, unit.floor)
        why = self._too_late(unit, begin)
        left = []
        for verdict in unit.component.verdicts:
            last = verdict.must_begin_by(unit.rounds)
            if last >= begin:
                left.append(verdict)
            elif window_is_over(verdict):
                self._say(after_its_window(verdict, self._facing))
            else:
                self._say(refused(verdict, "%s, and it had to begin by %s" % (why, say_instant(last))))
        self._enqueue(components(left))

    def _too_late(self, unit: _Unit, begin: float) -> str:
        objection = self._why_not(unit, max(self._facing.now, unit.deadline))
        if objection is not None:
            return objection
        if not self.waves:
            return "what it is tied to does not begin before %s" % say_instant(begin)
        waves = "%d wave%s" % (len(self.waves), "" if len(self.waves) == 1 else "s")
        return "it would begin at %s, after %s of other hosts" % (say_instant(begin), waves)

    def _nothing_fits(self) -> None:
        """Not now; a later run may find room."""
        for unit in self._queue:
            why = str(self._why_not(unit, self._begin(unit)))
            hopeful = self._may_fit_later(unit)
            for verdict in unit.component.verdicts:
                if hopeful and next_run_is_in_time(verdict, self._facing):
                    self._say(held(verdict, why, until=None, due_at=by_next_run(self._facing.now + RETRY, verdict, self._facing)))
                else:
                    self._say(refused(verdict, why))
        self._queue.clear()
        self._deadlines.clear()

    def _may_fit_later(self, unit: _Unit) -> bool:
        """Nobody foresees who is back by then. But where the others are hit at the same time it does not help to wait (W-52)."""
        since = self._facing.now + RETRY
        return unit.alone or self._room.may_fit_later(unit.away, since=min(since, unit.deadline), before=unit.deadline, end=unit.end)

    def _say(self, verdict: Verdict) -> None:
        self.said[verdict.key] = verdict
