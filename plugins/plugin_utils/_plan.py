# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a run: what is done about each event, in which wave, and why. Pure: the moment and all answers are arguments.

Private to the collection. Each event is in exactly one place: in a wave, held, refused, running or left.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ..module_utils._document import fold
from ..module_utils._time import format_instant
from ._capacity import (
    EVERYBODY,
    EventKey,
    Limit,
    Reason,
    Room,
    capacity_result,
    deleted,
    groups_of,
    hits_of,
    limits_of,
    named_by,
    out_of_service,
)
from ._fleet import Host
from ._planned import Placed, allowed_of, entry_of, key_of, wave_of
from ._queue import queued
from ._sightings import blind, sightings
from ._verdicts import HELD, PLACES, WAVES, Facing, Verdict, host_obstacles, refused, verdicts
from ._waves import Wave, filled
from ._witnesses import Witnesses, guards


@dataclass(frozen=True)
class _Capacity:
    """How many may be out, and who is."""

    limits: Tuple[Limit, ...]
    groups: Mapping[str, Tuple[int, ...]]
    out: Mapping[str, Reason]

    def room(self, found: Iterable[Verdict]) -> Room:
        return Room(self.limits, self.groups, self.out, hits_of(found))


def plan(hosts: Sequence[Host], facing: Facing) -> Dict[str, Any]:
    """The plan in plain data."""
    hosts = sorted(hosts, key=lambda host: host.name)
    first = verdicts(sightings(hosts), facing)
    capacity = _capacity(hosts, first, facing)
    found = _queued(first, capacity, facing)
    found = tuple(host_obstacles(verdict, facing) if verdict.place == WAVES else verdict for verdict in found)
    done = filled([verdict for verdict in found if verdict.place == WAVES], capacity.room(found), facing)
    found = tuple(done.verdicts.get(verdict.key, verdict) for verdict in found)
    return _published(found, done.waves, hosts, capacity, facing)


def concerned(hosts: Sequence[Host], facing: Facing) -> List[str]:
    """Whose own state has to be asked before planning: of events that are to be done, and what capacity counts where one is due.

    How long its handlers take decides when an event becomes due, so hosts of those that are held are asked as well.
    """
    hosts = sorted(hosts, key=lambda host: host.name)
    first = verdicts(sightings(hosts), facing)
    capacity = _capacity(hosts, first, facing)
    found = _queued(first, capacity, facing)
    due, later = _hosts_of(found, WAVES), _hosts_of(found, HELD)
    counted = {index for name in due for index in capacity.groups.get(name, ()) if _binds(capacity.limits[index])}
    others = {name for name, groups in capacity.groups.items() if counted.intersection(groups)}
    return sorted(due | later | others)


def _hosts_of(found: Iterable[Verdict], place: str) -> FrozenSet[str]:
    return frozenset(host.name for verdict in found if verdict.place == place for host in verdict.hosts)


def _binds(limit: Limit) -> bool:
    """Whether anybody can be one too many."""
    return limit.most_out < limit.hosts or limit.must_stay > 0


def _capacity(hosts: Sequence[Host], found: Sequence[Verdict], facing: Facing) -> _Capacity:
    gone = deleted(found)
    limits = limits_of(hosts, facing.options, gone)
    return _Capacity(limits, groups_of(hosts, limits, gone), out_of_service(hosts, found, now=facing.now))


def _queued(found: Sequence[Verdict], capacity: _Capacity, facing: Facing) -> Tuple[Verdict, ...]:
    return queued(found, facing, limits=capacity.limits, groups=capacity.groups, out=capacity.out)


def _placed(found: Sequence[Verdict], waves: Sequence[Wave], witnesses: Witnesses) -> Tuple[Placed, ...]:
    """Each verdict with its witnesses and, if it is in one, its wave and component."""
    placed: Dict[EventKey, Placed] = {}
    for number, wave in enumerate(waves, 1):
        spared = witnesses.spared_in(wave)
        for place, component in enumerate(wave.components, 1):
            name, members = "%d.%d" % (number, place), frozenset(component.hosts)
            for verdict in component.verdicts:
                placed[verdict.key] = Placed(verdict, witnesses.of(verdict, members, spared), number, name, wave)
    return tuple(placed.get(one.key) or Placed(one, witnesses.of(one, frozenset(host.name for host in one.hosts))) for one in found)


def _published(
    found: Sequence[Verdict], waves: Sequence[Wave], hosts: Sequence[Host], capacity: _Capacity, facing: Facing
) -> Dict[str, Any]:
    witnesses = Witnesses(hosts, found, until=waves[-1].end if waves else facing.now)
    placed = _placed(found, waves, witnesses)
    digest = _digest([one for one in placed if one.wave is not None], facing)
    changed = _changed(digest, facing)
    if changed is not None:
        placed, waves = tuple(_undone(one, changed) for one in placed), ()
    entries = [entry_of(one, facing) for one in placed]
    names: Set[str] = {name for wave in waves for component in wave.components for name in component.hosts}
    next_due = min((one.verdict for one in placed if one.verdict.place == HELD), key=_due_first, default=None)
    return {
        "digest": digest,
        "made_at": format_instant(facing.now),
        "policy_hash": facing.options.policy_hash,
        "events": entries,
        "waves": _waves(hosts, placed, waves, witnesses),
        "due_next": None if next_due is None or next_due.due_at is None else format_instant(next_due.due_at),
        "due_next_event": None if next_due is None else next_due.sighting.event.event_id,
        "blind": [host.name for host in blind(hosts)],
        "conflicts": [*_conflicts(hosts), *_empty_groups(capacity.limits)],
        "changed": changed,
        "capacity": capacity_result(
            capacity.limits,
            capacity.groups,
            capacity.out,
            others=names | _recounted(names, capacity, facing),
            hit={name for one in placed for name in named_by(one.verdict)},
        ),
        "counts": {place: sum(1 for entry in entries if entry["place"] == place) for place in PLACES},
    }


def _due_first(verdict: Verdict) -> Tuple[float, Tuple[Any, ...]]:
    return (math.inf if verdict.due_at is None else verdict.due_at, verdict.sighting.order)


def _changed(digest: str, facing: Facing) -> Optional[str]:
    """Somebody has approved a plan, and this is another one."""
    approved = facing.options.plan_digest
    if approved is None or approved == digest:
        return None
    return "the plan has changed since it was approved; look at the new one, and approve its digest %s" % digest


def _undone(one: Placed, why: str) -> Placed:
    if one.wave is None:
        return one
    return replace(one, verdict=refused(one.verdict, why), number=None, component=None, wave=None)


def _digest(placed: Iterable[Placed], facing: Facing) -> str:
    """Of what is to be done, and not of when: whoever approves it does so some time before."""
    done = [
        {
            "event": key_of(one.verdict),
            "type": fold(one.verdict.sighting.event.event_type),
            "resources": sorted(fold(name) for name in one.verdict.sighting.event.resources),
            "action": one.verdict.action,
            "hosts": [host.name for host in one.verdict.hosts],
            "allowed_unready": sorted(fold(name) for name in allowed_of(one.verdict, facing)),
            "policy_hash": one.verdict.decision.policy_hash,
        }
        for one in placed
    ]
    return hashlib.sha256(json.dumps(sorted(done, key=lambda one: str(one["event"])), sort_keys=True).encode("utf-8")).hexdigest()


def _waves(hosts: Sequence[Host], placed: Sequence[Placed], waves: Sequence[Wave], witnesses: Witnesses) -> List[Dict[str, Any]]:
    by_key = {one.verdict.key: one for one in placed}
    members = [[name for component in wave.components for name in component.hosts] for wave in waves]
    peers = [[name for component in wave.components for name in by_key[component.verdicts[0].key].witnesses] for wave in waves]
    chosen = guards(hosts, members, peers, witnesses)
    return [wave_of(number, wave, guard, by_key) for number, (wave, guard) in enumerate(zip(waves, chosen), 1)]


def _conflicts(hosts: Sequence[Host]) -> List[str]:
    """What the inventory has wrong, whether an event comes or not."""
    same: Dict[Any, List[str]] = {}
    for host in hosts:
        if host.in_run and host.identity is not None:
            same.setdefault(host.identity, []).append(host.name)
    words = "%s are one VM to Azure: correct the inventory, or leave all but one out"
    doubles = [words % ", ".join(names) for names in same.values() if len(names) > 1]
    return [*(host.conflict for host in hosts if host.in_run and host.conflict is not None), *doubles]


def _empty_groups(limits: Sequence[Limit]) -> List[str]:
    """Bounds of a group that nobody is in bound nobody: its name is mistyped."""
    words = "the group %s of rolling_maintenance_groups has no host, so its bounds hold for nobody"
    return [words % limit.name for limit in limits if limit.name != EVERYBODY and not limit.hosts]


def _recounted(names: Set[str], capacity: _Capacity, facing: Facing) -> Set[str]:
    """Who is asked again at a gate: all who share a bound with a host of a wave, as long as they are not too many."""
    counted = {index for name in names for index in capacity.groups.get(name, ()) if _binds(capacity.limits[index])}
    others = {name for name, groups in capacity.groups.items() if counted.intersection(groups)}
    return others if len(others) <= facing.options.recount_at_most else set()
