# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who sees an event without being hit by it, and who keeps a wave company. Pure.

Private to the collection. A witness watches and posts while the hosts of the event work, so it must not go down with them. A batch of
Ansible that loses all its hosts ends the run: each wave takes one idle host along.
"""

from __future__ import annotations

import math
from itertools import chain, islice
from typing import Dict, FrozenSet, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from ._capacity import hits_of, named_by
from ._fleet import Host
from ._verdicts import RUNNING, WAVES, Verdict
from ._waves import Wave

# One posts, the others stand by; more of them would not make it likelier.
_MOST_PEERS = 5


class Witnesses:
    """Hosts that have answered and will not be hit before the last wave is over; and those that are hit in another wave than one's own."""

    def __init__(self, hosts: Sequence[Host], found: Sequence[Verdict], *, until: float) -> None:
        self._running = _named(verdict for verdict in found if verdict.place == RUNNING or verdict.sighting.event.started)
        self._first_hit: Dict[str, float] = {}
        for hit in hits_of(found):
            self._first_hit[hit.host] = min(hit.at, self._first_hit.get(hit.host, math.inf))
        in_waves = _named(verdict for verdict in found if verdict.place == WAVES)
        self._soon = self._running | in_waves | {name for name, at in self._first_hit.items() if at < until}
        self._answered = {host.name: host for host in hosts if host.in_run and host.answer is not None and host.answer.ok}

    def spared_in(self, wave: Wave) -> FrozenSet[str]:
        """Whose turn is in another wave, as long as Azure does not begin with them by itself before this one is over."""
        now = self._running.union(*(component.hosts for component in wave.components))
        return frozenset(name for name in self._soon - now if self._first_hit.get(name, math.inf) >= wave.end)

    def of(self, verdict: Verdict, component: FrozenSet[str], spared: FrozenSet[str] = frozenset()) -> Tuple[str, ...]:
        """Who was shown it, then its own hosts: they see it until it starts.

        Where a whole scope is taken through its maintenance nobody is free of it: then those who are spared meanwhile. Whoever has answered
        without the event (C-21) would call it gone while it is still there, and is no witness.
        """
        peers = [name for name in verdict.sighting.seen_by if name not in component]
        free = (name for name in peers if name not in self._soon)
        return (*islice(chain(free, filter(spared.__contains__, peers)), _MOST_PEERS), *(host.name for host in verdict.hosts))

    def idle(self, hosts: Sequence[Host], busy: Set[str]) -> Iterator[str]:
        """Who has nothing to do in this run and can be reached, first those who have just answered."""
        free = [host for host in hosts if host.in_run and host.name not in busy and host.name not in self._soon and not host.unreachable]
        return (host.name for host in sorted(free, key=lambda host: (host.name not in self._answered, host.name)))


def _named(found: Iterable[Verdict]) -> FrozenSet[str]:
    return frozenset(name for verdict in found for name in named_by(verdict))


def guards(
    hosts: Sequence[Host], waves: Sequence[Sequence[str]], peers: Sequence[Sequence[str]], witnesses: Witnesses
) -> List[Optional[str]]:
    """One idle host for each wave, if there is one: a witness of it if possible, nobody twice."""
    busy = {name for wave in waves for name in wave}
    idle = list(witnesses.idle(hosts, busy))
    free = dict.fromkeys(idle)
    rest = iter(idle)
    chosen: List[Optional[str]] = []
    for wanted in peers:
        guard = next((name for name in wanted if name in free), None) or next((name for name in rest if name in free), None)
        if guard is not None:
            del free[guard]
        chosen.append(guard)
    return chosen
