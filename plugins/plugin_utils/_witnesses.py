# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who sees an event without being hit by it, and who keeps a wave company. Pure.

Private to the collection. A witness watches and posts while the hosts of the event work, so it must not go down with them. A batch of
Ansible that loses all its hosts ends the run: each wave takes one idle host along.
"""

from __future__ import annotations

from itertools import islice
from typing import FrozenSet, Iterator, List, Optional, Sequence, Set, Tuple

from ._capacity import hits_of, named_by
from ._fleet import Host
from ._verdicts import RUNNING, WAVES, Verdict

# One posts, the others stand by; more of them would not make it likelier.
_MOST_PEERS = 5


class Witnesses:
    """Hosts that have answered and will not be hit before the last wave is over."""

    def __init__(self, hosts: Sequence[Host], found: Sequence[Verdict], *, until: float) -> None:
        self._soon = _hit_soon(found, until)
        self._answered = {host.name: host for host in hosts if host.in_run and host.answer is not None and host.answer.ok}

    def of(self, verdict: Verdict, component: FrozenSet[str]) -> Tuple[str, ...]:
        """Who was shown it, then its own hosts: they see it until it starts.

        Whoever has answered without it (C-21) would call an event gone that is still there, and is no witness.
        """
        peers = (name for name in verdict.sighting.seen_by if name not in self._soon and name not in component)
        return (*islice(peers, _MOST_PEERS), *(host.name for host in verdict.hosts))

    def idle(self, hosts: Sequence[Host], busy: Set[str]) -> Iterator[str]:
        """Who has nothing to do in this run and can be reached, first those who have just answered."""
        free = [host for host in hosts if host.in_run and host.name not in busy and host.name not in self._soon and not host.unreachable]
        return (host.name for host in sorted(free, key=lambda host: (host.name not in self._answered, host.name)))


def _hit_soon(found: Sequence[Verdict], until: float) -> FrozenSet[str]:
    """A pause that is left to Azure does not count: who is paused goes on where he was (C-14)."""
    now = {name for verdict in found if verdict.place in (WAVES, RUNNING) or verdict.sighting.event.started for name in named_by(verdict)}
    return frozenset(now | {hit.host for hit in hits_of(found) if hit.at < until})


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
