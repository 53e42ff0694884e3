# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which events there are, from what several hosts have been shown, and which hosts they name. Pure.

Private to the collection. The answers of a scope may differ at the same moment (C-21): they are joined to the reading that is
safe to act on, and each difference is said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..module_utils._document import STARTED, Event, fold
from ..module_utils._windows import say_instant
from ._fleet import Host, Identity, by_scope

Realm = Tuple[str, str]
# A type that no rule can name: what one host calls a Freeze and another one a Redeploy is neither.
_CONTRADICTION = "%s or %s"


@dataclass(frozen=True)
class Sighting:
    """One event as all who were shown it have it together. realm: in which its names are looked up (C-20).

    unmanaged: names of VMs that are no host of this run. doubles: hosts of this run that are one VM to Azure. known_outside: hosts of
    the inventory that the unmanaged names belong to. notes: what was not the same everywhere.
    """

    event: Event
    realm: Realm
    scope: str
    seen_by: Tuple[str, ...]
    hosts: Tuple[Host, ...]
    unmanaged: Tuple[str, ...]
    doubles: Tuple[Tuple[str, ...], ...]
    known_outside: Tuple[str, ...]
    notes: Tuple[str, ...]

    @property
    def key(self) -> Tuple[str, str, str]:
        return (fold(self.event.event_id), *self.realm)

    @property
    def order(self) -> Tuple[float, str, Realm]:
        """The same whatever the order in which hosts have answered."""
        not_before = self.event.not_before
        return (float("-inf") if not_before is None else not_before, fold(self.event.event_id), self.realm)


@dataclass(frozen=True)
class _Report:
    host: Host
    event: Event


def sightings(hosts: Sequence[Host]) -> Tuple[Sighting, ...]:
    """Every event once, the first NotBefore first."""
    running = sorted((host for host in hosts if host.in_run), key=lambda host: host.name)
    managed, outside = _by_identity(running), _by_identity(host for host in hosts if not host.in_run)
    silent = _silent_of(running)
    found = (_joined(reports, managed, outside, silent) for reports in _reports(running).values())
    return tuple(sorted(found, key=lambda sighting: sighting.order))


def blind(hosts: Sequence[Host]) -> Tuple[Host, ...]:
    """Hosts of this run whose events nobody knows: no host of their scope has answered."""
    scopes = by_scope(sorted((host for host in hosts if host.in_run), key=lambda host: host.name)).values()
    dark = [members for members in scopes if not any(host.answer is not None and host.answer.ok for host in members)]
    return tuple(host for members in dark for host in members)


def _by_identity(hosts: Iterable[Host]) -> Dict[Identity, List[Host]]:
    found: Dict[Identity, List[Host]] = {}
    for host in hosts:
        identity = host.identity
        if identity is not None:
            found.setdefault(identity, []).append(host)
    return found


def _reports(hosts: Sequence[Host]) -> Dict[Tuple[str, Realm], List[_Report]]:
    """By id, within the resource group of who was shown it: another group may have VMs of the same names (W-30)."""
    found: Dict[Tuple[str, Realm], List[_Report]] = {}
    for host in hosts:
        for event in host.answer.events if host.answer is not None else ():
            found.setdefault((fold(event.event_id), host.realm), []).append(_Report(host, event))
    return found


def _silent_of(hosts: Sequence[Host]) -> Mapping[str, FrozenSet[str]]:
    """Who has answered, by scope."""
    scopes = by_scope(host for host in hosts if host.answer is not None and host.answer.ok)
    return {scope: frozenset(host.name for host in members) for scope, members in scopes.items()}


def _joined(
    reports: Sequence[_Report],
    managed: Mapping[Identity, List[Host]],
    outside: Mapping[Identity, List[Host]],
    answered: Mapping[str, FrozenSet[str]],
) -> Sighting:
    event, conflicts = _joined_event(reports)
    seen_by = tuple(report.host.name for report in reports)
    realm = reports[0].host.realm
    names = list({fold(name): name for name in reversed(event.resources)}.values())[::-1]
    identities = {name: (*realm, fold(name)) for name in names}
    named = [managed.get(identity, []) for identity in identities.values()]
    unmanaged = tuple(name for name, identity in identities.items() if identity not in managed)
    return Sighting(
        event=event,
        realm=realm,
        scope=reports[0].host.scope_key,
        seen_by=seen_by,
        hosts=tuple(sorted((host for hosts in named for host in hosts), key=lambda host: host.name)),
        unmanaged=unmanaged,
        doubles=tuple(tuple(host.name for host in hosts) for hosts in named if len(hosts) > 1),
        known_outside=tuple(sorted(host.name for name in unmanaged for host in outside.get(identities[name], ()))),
        notes=(*conflicts, *_missing_at(reports, seen_by, answered)),
    )


def _missing_at(reports: Sequence[_Report], seen_by: Sequence[str], answered: Mapping[str, FrozenSet[str]]) -> Iterator[str]:
    """An event that one of two has not got is there all the same (C-21)."""
    scopes = {report.host.scope_key for report in reports}
    missing = sorted(name for scope in scopes for name in answered[scope] - set(seen_by))
    if missing:
        yield "%s %s not shown it" % (", ".join(missing), "was" if len(missing) == 1 else "were")


def _joined_event(reports: Sequence[_Report]) -> Tuple[Event, Tuple[str, ...]]:
    """The event, and where the answers differ: then the reading that is more cautious."""
    events = [report.event for report in reports]
    first = events[0]
    if all(_content(event) == _content(first) for event in events):
        return first, ()
    status, types = _status(events), sorted({fold(event.event_type): event.event_type for event in events}.items())
    joined = replace(
        first,
        event_type=types[0][1] if len(types) == 1 else _CONTRADICTION % (types[0][1], types[-1][1]),
        event_status=status,
        event_source=_same([event.event_source for event in events]),
        resources=tuple(_union(events)),
        not_before=None if fold(status) == fold(STARTED) else _earliest(events),
        duration_seconds=_longest(events),
    )
    return joined, tuple(_differences(reports, joined))


def _content(event: Event) -> Tuple[object, ...]:
    """What is acted on, in the form in which it is compared."""
    names = tuple(sorted(fold(name) for name in event.resources))
    status = fold(event.event_status)
    return fold(event.event_type), status, event.event_source, names, event.not_before, event.duration_seconds


def _status(events: Sequence[Event]) -> str:
    """An event never goes back: what one has seen started has started."""
    started = [event.event_status for event in events if event.started]
    unknown = sorted(event.event_status for event in events if not event.scheduled)
    return (started or unknown or [events[0].event_status])[0]


def _same(sources: Sequence[Optional[str]]) -> Optional[str]:
    """Unless all say the same nobody knows, and no rule for a source matches."""
    return sources[0] if len({source and fold(source) for source in sources}) == 1 else None


def _union(events: Sequence[Event]) -> Iterator[str]:
    names: Dict[str, str] = {}
    for event in events:
        for name in event.resources:
            names.setdefault(fold(name), name)
    return iter(names.values())


def _earliest(events: Sequence[Event]) -> Optional[float]:
    """One without a NotBefore can start at any moment, and nothing is earlier."""
    instants = [event.not_before for event in events if not event.started]
    known = [instant for instant in instants if instant is not None]
    return min(known) if len(known) == len(instants) else None


def _longest(events: Sequence[Event]) -> Optional[int]:
    """Unknown is longer than any."""
    known = [event.duration_seconds for event in events if event.duration_seconds is not None]
    return max(known) if len(known) == len(events) else None


def _differences(reports: Sequence[_Report], joined: Event) -> Iterator[str]:
    events = [report.event for report in reports]
    who = "%s disagree" % " and ".join(sorted({report.host.name for report in reports}))
    if len({fold(event.event_type) for event in events}) > 1:
        yield "%s on its type" % who
    if len({fold(event.event_status) for event in events}) > 1:
        yield "%s on its status, %s counts" % (who, joined.event_status)
    if len({frozenset(fold(name) for name in event.resources) for event in events}) > 1:
        yield "%s on its Resources, all of them count" % who
    if len({event.not_before for event in events if not event.started}) > 1:
        first = "none at all" if joined.not_before is None else say_instant(joined.not_before)
        yield "%s on its NotBefore, %s counts" % (who, first)
    if len({event.event_source for event in events}) > 1 or len({event.duration_seconds for event in events}) > 1:
        yield "%s on its source or its duration, what is longer or unknown counts" % who
