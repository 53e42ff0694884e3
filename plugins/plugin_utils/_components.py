# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which hosts are tied to each other by events that are due. Pure.

Private to the collection. What is tied is never split: it is prepared together, and approved together or not at all. Events that are
still to come tie nobody (W-23).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple

from ._capacity import named_by
from ._verdicts import Verdict


@dataclass(frozen=True)
class Component:
    """Due events, in the order in which they came, and the hosts that they name together, by name.

    away: with hosts of the inventory that go down with them although they are not in this run.
    """

    verdicts: Tuple[Verdict, ...]
    hosts: Tuple[str, ...]
    away: Tuple[str, ...]

    @property
    def over_capacity(self) -> bool:
        return any(verdict.over_capacity for verdict in self.verdicts)


def component_of(verdicts: Sequence[Verdict]) -> Component:
    hosts = {host.name for verdict in verdicts for host in verdict.hosts}
    away = {name for verdict in verdicts for name in named_by(verdict)}
    return Component(tuple(verdicts), tuple(sorted(hosts)), tuple(sorted(away)))


def components(due: Sequence[Verdict]) -> Tuple[Component, ...]:
    """Each event in one, each host in one."""
    above = list(range(len(due)))

    def top(number: int) -> int:
        while above[number] != number:
            above[number] = number = above[above[number]]
        return number

    first: Dict[str, int] = {}
    for number, verdict in enumerate(due):
        for host in verdict.hosts:
            one, other = sorted((top(first.setdefault(host.name, number)), top(number)))
            above[other] = one
    tied: Dict[int, List[Verdict]] = {}
    for number, verdict in enumerate(due):
        tied.setdefault(top(number), []).append(verdict)
    return tuple(component_of(verdicts) for verdicts in tied.values())
