# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many hosts are out of service, and whether there is room for more. Pure.

Private to the collection. Counted over the hosts of the inventory and over each group that has bounds of its own, not only over those
of a run: the users of a service do not know of `--limit`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from typing import Any, Callable, Collection, Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ..module_utils._document import DELETIONS, FREEZE, KNOWN_TYPES, known_as, same_name
from ..module_utils._policy import IGNORE
from ..module_utils._time import MINUTE
from ..module_utils._windows import say_instant
from ._fleet import Host, Status
from ._options import Bounds, Options
from ._verdicts import Verdict

EventKey = Tuple[str, str, str]
# A host is out of service in these states of a record; in SEEN and BACKED_OUT nothing of ours is in effect.
OUT = ("PREPARING", "PREPARED", "COMMITTED", "STAYING", "IMPACT", "BACKING_OUT", "RECOVERING")
# Of the hosts that are out, in a sentence.
_MOST_NAMES = 5
EVERYBODY = ""
# How long a host is usually out that is hit: until it is back.
_HIT_FOR = 15.0 * MINUTE
# At so many moments room is looked for; where there is so much going on, a later run finds out.
_MOST_LOOKS = 50
# After every name of a host.
_BEHIND = chr(0x10FFFF)


@dataclass(frozen=True)
class Limit:
    """The bounds of one group, as numbers. name: EVERYBODY for all hosts."""

    name: str
    hosts: int
    most_out: int
    least_in: int

    @property
    def said(self) -> str:
        return "of all hosts" if self.name == EVERYBODY else "of the group %s" % self.name

    @property
    def said_with_number(self) -> str:
        return "%d hosts%s" % (self.hosts, "" if self.name == EVERYBODY else " of the group %s" % self.name)

    @property
    def must_stay(self) -> int:
        """A group of one host has nobody who could stay."""
        return min(self.least_in, max(0, self.hosts - 1))


@dataclass(frozen=True)
class Reason:
    """Why a host is out of service. event: after which it is back, None where nobody knows."""

    why: str
    event: Optional[EventKey] = None


@dataclass(frozen=True)
class Hit:
    """From this moment on a host counts as out, because an event names it."""

    at: float
    host: str
    event: EventKey


@dataclass(frozen=True)
class Objection:
    """Why hosts cannot be taken out."""

    why: str


def limits_of(hosts: Sequence[Host], options: Options, gone: Collection[str]) -> Tuple[Limit, ...]:
    """The bounds of all hosts and of each group, less hosts that are deleted."""
    counted = [host for host in hosts if host.name not in gone]
    sizes = {name: sum(1 for host in counted if name in host.groups) for name in options.groups}
    whole = _limit(EVERYBODY, len(counted), options.overall)
    return (whole, *(_limit(name, sizes[name], bounds) for name, bounds in sorted(options.groups.items())))


def _limit(name: str, hosts: int, bounds: Bounds) -> Limit:
    return Limit(name, hosts, bounds.max_unavailable.at_most(hosts), bounds.min_available.at_least(hosts))


def deleted(found: Iterable[Verdict]) -> FrozenSet[str]:
    """Hosts whose deletion has started."""
    ending = [verdict for verdict in found if verdict.sighting.event.started and _is_deletion(verdict)]
    return frozenset(name for verdict in ending for name in named_by(verdict))


def _is_deletion(verdict: Verdict) -> bool:
    return known_as(verdict.sighting.event.event_type, KNOWN_TYPES) in DELETIONS


def named_by(verdict: Verdict) -> Iterator[str]:
    """The hosts of the inventory that it hits, in this run or not."""
    yield from (host.name for host in verdict.hosts)
    yield from verdict.sighting.known_outside


def out_of_service(hosts: Sequence[Host], found: Iterable[Verdict], *, now: float) -> Dict[str, Reason]:
    """Who is out now. What has started comes first: then it is known what ends it."""
    reasons: Dict[str, Reason] = {}
    for verdict in found:
        if verdict.sighting.event.started:
            words = "event %s has started" % verdict.sighting.event.event_id
            reasons.update((name, Reason(words, verdict.key)) for name in named_by(verdict))
    for host in hosts:
        if host.name not in reasons:
            reason = _reason(host, now)
            if reason is not None:
                reasons[host.name] = reason
    return reasons


def _reason(host: Host, now: float) -> Optional[Reason]:
    if host.unreachable:
        return Reason("cannot be reached")
    return None if host.status is None else reason_of(host.status, host.realm, now=now)


def reason_of(status: Status, realm: Tuple[str, str], *, now: float) -> Optional[Reason]:
    """Why a host counts as out by what it says of itself."""
    if not status.reachable:
        return Reason("cannot be reached")
    if not status.ok:
        # One that hangs fails as well; one without the role has nothing to say, and serves.
        return Reason("does not say its state") if status.installed else None
    if status.hold is not None and status.hold.until > now:
        return Reason("held by %s" % status.hold.by)
    if status.problems:
        return Reason(status.problems[0].rstrip("."))
    for record in status.records:
        if record.state in OUT:
            return Reason("%s for event %s" % (record.state, record.event_id), (record.event_id.lower(), *realm))
    return None


def hits_of(found: Iterable[Verdict]) -> List[Hit]:
    """Every host that an event still to come will hit. A pause that a rule leaves to Azure keeps its host in service (C-14)."""
    coming = [verdict for verdict in found if not verdict.sighting.event.started and not is_left_pause(verdict)]
    return [Hit(_earliest(verdict), name, verdict.key) for verdict in coming for name in named_by(verdict)]


def _earliest(verdict: Verdict) -> float:
    return -math.inf if verdict.not_before is None else verdict.not_before


def is_left_pause(verdict: Verdict) -> bool:
    return verdict.decision.effective_action == IGNORE and same_name(verdict.sighting.event.event_type, FREEZE)


class Room:
    """Who is out when, while waves are being filled.

    A wave is known by its number. What is placed in a wave is back after it: its hosts do not count any more in later ones.
    """

    def __init__(
        self, limits: Sequence[Limit], groups: Mapping[str, Sequence[int]], out: Mapping[str, Reason], hits: Iterable[Hit]
    ) -> None:
        self.limits = limits
        self._groups = groups
        self._out = dict(out)
        self._out_in = [0] * len(limits)
        for name in out:
            for index in groups.get(name, ()):
                self._out_in[index] += 1
        # Who is back after which wave.
        self._back: Dict[str, int] = {}
        self._hits: Dict[str, List[Hit]] = {}
        for hit in sorted(hits, key=lambda hit: (hit.at, hit.event)):
            self._hits.setdefault(hit.host, []).append(hit)
        # Of each group the first hit of each host that is not out already, by time.
        self._coming: List[List[Tuple[float, str]]] = [[] for _limit in limits]
        for name in self._hits:
            self._enter(name)

    def objection(self, hosts: Collection[str], *, number: int, end: float, alone: bool = False) -> Optional[Objection]:
        """Why these hosts, all of the wave together, cannot be out in it until then. alone: only what must stay counts."""
        touched: Dict[int, int] = {}
        for name in hosts:
            for index in self._groups.get(name, ()):
                touched[index] = touched.get(index, 0) + 1
        for index in sorted(touched):
            limit = self.limits[index]
            together = touched[index] + self._others(index, hosts, number, end)
            if limit.hosts - together < limit.must_stay:
                return Objection(self._say(limit, index, together, hosts, number, end, short=True))
            if not alone and together > limit.most_out:
                return Objection(self._say(limit, index, together, hosts, number, end, short=False))
        return None

    def is_full(self, hosts: Collection[str]) -> bool:
        """Whether nobody else fits beside them, whatever happens."""
        return len(hosts) >= self.limits[0].most_out

    def too_large(self, hosts: Collection[str]) -> Optional[Limit]:
        """The bound that these hosts alone exceed."""
        for index, limit in enumerate(self.limits):
            if sum(1 for name in hosts if self._counts_in(name, index)) > limit.most_out:
                return limit
        return None

    def load(self, number: int) -> Load:
        """Nobody yet, in the wave of this number."""
        return Load(self, number)

    def place(self, hosts: Iterable[str], events: Collection[EventKey], *, number: int) -> None:
        """These events are handled in this wave."""
        for name in hosts:
            self._leave(name)
            if name in self._out and self._out[name].event in events:
                self._back[name] = number
            self._hits[name] = [hit for hit in self._hits.get(name, ()) if hit.event not in events]
            self._enter(name)

    def counted_in(self, name: str) -> Sequence[int]:
        """The bounds in which a host counts."""
        return self._groups.get(name, ())

    def is_out(self, name: str, number: int) -> bool:
        return self._is_out(name, number)

    def out_in(self, index: int, number: int) -> int:
        """How many of a group are out in this wave, whatever it does."""
        return self._out_in[index] - sum(1 for name, wave in self._back.items() if wave < number and self._counts_in(name, index))

    def coming_in(self, index: int, end: float) -> int:
        """How many of a group are hit before this moment."""
        return bisect_left(self._coming[index], (end, ""))

    def may_fit_later(self, hosts: Collection[str], *, since: float, before: float, end: Callable[[float], float]) -> bool:
        """Whether there is a moment with room for them if all who are out now are back by then. end: of a wave that begins at a moment.

        Whoever is hit around that time is out, and nobody can wait for that to change.
        """
        for _look in range(_MOST_LOOKS):
            if since > before:
                return False
            hit = self._first_too_many(hosts, since - _HIT_FOR, end(since))
            if hit is None:
                return True
            since = hit + _HIT_FOR
        return True

    def _first_too_many(self, hosts: Collection[str], since: float, until: float) -> Optional[float]:
        """When the first host is hit in a time in which too many are."""
        for index, limit in enumerate(self.limits):
            own = [name for name in hosts if self._counts_in(name, index)]
            mine = sum(1 for name in own if since < self.hit_at(name) < until)
            first, last = bisect_right(self._coming[index], (since, _BEHIND)), bisect_left(self._coming[index], (until, ""))
            together = len(own) + last - first - mine
            if own and (together > limit.most_out or limit.hosts - together < limit.must_stay):
                return self._coming[index][first][0] if last > first else until
        return None

    def hit_at(self, name: str) -> float:
        """When it is hit, as far as it counts as coming."""
        return self._hits[name][0].at if self._counts_by_hit(name) else math.inf

    def _counts_by_hit(self, name: str) -> bool:
        """Whoever is out for good is not counted a second time."""
        return bool(self._hits.get(name)) and (name not in self._out or name in self._back)

    def _enter(self, name: str) -> None:
        if self._counts_by_hit(name):
            for index in self._groups.get(name, ()):
                insort(self._coming[index], (self._hits[name][0].at, name))

    def _leave(self, name: str) -> None:
        if self._counts_by_hit(name):
            for index in self._groups.get(name, ()):
                entry = (self._hits[name][0].at, name)
                del self._coming[index][bisect_left(self._coming[index], entry)]

    def _others(self, index: int, hosts: Collection[str], number: int, end: float) -> int:
        """How many of a group are out beside these hosts."""
        back = sum(1 for name, wave in self._back.items() if wave < number and self._counts_in(name, index))
        mine = sum(1 for name in hosts if self._is_out(name, number) and self._counts_in(name, index))
        coming = bisect_left(self._coming[index], (end, ""))
        mine_coming = sum(1 for name in hosts if self._is_coming(name, index, end))
        return self._out_in[index] - back - mine + coming - mine_coming

    def _is_out(self, name: str, number: int) -> bool:
        return name in self._out and self._back.get(name, number) >= number

    def _is_coming(self, name: str, index: int, end: float) -> bool:
        return self._counts_by_hit(name) and self._counts_in(name, index) and self._hits[name][0].at < end

    def _counts_in(self, name: str, index: int) -> bool:
        """A host that is deleted counts nowhere."""
        return index in self._groups.get(name, ())

    def _say(self, limit: Limit, index: int, together: int, hosts: Collection[str], number: int, end: float, *, short: bool) -> str:
        others = ", ".join(self._named(index, set(hosts), number, end))
        beside = " beside %s" % others if others else ""
        if short:
            left = max(0, limit.hosts - together)
            return "%d of the %s would be left%s, and %d must stay" % (left, limit.said_with_number, beside, limit.must_stay)
        return "%d %s would be out%s, and at most %d may be" % (together, limit.said, beside, limit.most_out)

    def _named(self, index: int, hosts: Set[str], number: int, end: float) -> Iterator[str]:
        """Some of those who are out already, with the reason."""
        count = 0
        for name in sorted(self._out):
            if name not in hosts and self._is_out(name, number) and self._counts_in(name, index):
                count += 1
                if count <= _MOST_NAMES:
                    yield "%s (%s)" % (name, self._out[name].why)
        for at, name in self._coming[index][: bisect_left(self._coming[index], (end, ""))]:
            if name not in hosts:
                count += 1
                if count <= _MOST_NAMES:
                    yield "%s (%s)" % (name, _say_hit(self._hits[name][0], at))
        if count > _MOST_NAMES:
            yield "%d more" % (count - _MOST_NAMES)


class Load:
    """The hosts of one wave while it is being filled: counted once, however many more are tried beside them.

    What it has counted holds until the first of them is placed.
    """

    def __init__(self, room: Room, number: int) -> None:
        self._room = room
        # Of each group: how many are out, how many of the wave are in it, and when those of them are hit that count as coming.
        self._out = [room.out_in(index, number) for index in range(len(room.limits))]
        self._hosts = [0] * len(room.limits)
        self._coming: List[List[float]] = [[] for _limit in room.limits]
        self._number = number

    def fits(self, hosts: Collection[str], *, end: float) -> bool:
        """Whether these can be out as well, all of the wave until then. None of them is in it already."""
        return all(
            self._fits(index, [name for name in hosts if index in self._room.counted_in(name)], end) for index in range(len(self._hosts))
        )

    def _fits(self, index: int, hosts: Sequence[str], end: float) -> bool:
        room, limit = self._room, self._room.limits[index]
        count = self._hosts[index] + len(hosts)
        if not count:
            return True
        out = self._out[index] - sum(1 for name in hosts if room.is_out(name, self._number))
        mine = sum(1 for name in hosts if room.hit_at(name) < end)
        together = count + out + room.coming_in(index, end) - mine - bisect_left(self._coming[index], end)
        return together <= limit.most_out and limit.hosts - together >= limit.must_stay

    def add(self, hosts: Iterable[str]) -> None:
        room = self._room
        for name in hosts:
            for index in room.counted_in(name):
                self._hosts[index] += 1
                self._out[index] -= room.is_out(name, self._number)
                insort(self._coming[index], room.hit_at(name))


def _say_hit(hit: Hit, at: float) -> str:
    when = "can start at any moment" if at == -math.inf else "starts at %s" % say_instant(at)
    return "event %s %s" % (hit.event[0].upper(), when)


def groups_of(hosts: Iterable[Host], limits: Sequence[Limit], gone: Collection[str]) -> Dict[str, Tuple[int, ...]]:
    """In which bounds each host counts, as the numbers of the limits."""
    index = {limit.name: number for number, limit in enumerate(limits)}
    return {
        host.name: (0, *(index[name] for name in sorted(host.groups) if name in index and name != EVERYBODY))
        for host in hosts
        if host.name not in gone
    }


def capacity_result(
    limits: Sequence[Limit],
    groups: Mapping[str, Sequence[int]],
    out: Mapping[str, Reason],
    *,
    others: Iterable[str],
    hit: Iterable[str],
) -> Dict[str, Any]:
    """What a gate needs to count again, in plain data: the groups of whoever may be out, and whom to ask whether he is.

    Asked are these others, and who is out for an event: an earlier wave may have brought him back, or not. Whoever is out for another
    reason stays so.
    """
    asked = {*out, *others} - {name for name, reason in out.items() if reason.event is None}
    wanted = {*out, *asked, *hit}
    return {
        "limits": [{"name": limit.name, "hosts": limit.hosts, "most_out": limit.most_out, "least_in": limit.least_in} for limit in limits],
        "groups": {name: list(groups.get(name, ())) for name in sorted(wanted)},
        "asked_again": sorted(asked),
        "out": {
            name: {"why": reason.why, "event": None if reason.event is None else list(reason.event)} for name, reason in sorted(out.items())
        },
    }


def limits_in(capacity: Mapping[str, Any]) -> Tuple[Limit, ...]:
    return tuple(Limit(entry["name"], entry["hosts"], entry["most_out"], entry["least_in"]) for entry in capacity["limits"])
