# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records as the executor works with them: on the disk, and in mind what a disk cannot take.

A full or read-only disk keeps nobody from putting a host back into service. It does keep a host from being taken out: what is not written
down nobody would undo (W-48).
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Mapping, Optional

from . import records as r
from .errors import StoreError
from .records import Record
from .store import Hold, Store

# Only on the disk a host can come to these.
_DURABLE_STATES = frozenset((r.PREPARING, r.PREPARED, r.COMMITTED))
_DURABLE_PHASES = (r.INSPECT, r.PREPARE, r.CHECK)


class Shelf:
    """Of the one executor. problem: why the disk does not take what it should; None while it does."""

    def __init__(self, store: Store) -> None:
        self._store = store
        loaded = store.load()
        self._records: Dict[str, Record] = dict(loaded.records)
        # Where nothing can be renamed, a broken one keeps its name, and is not written over later.
        self._broken = frozenset(loaded.broken)
        self._unwritten: Dict[str, Record] = {}
        self.problem: Optional[str] = None

    @property
    def records(self) -> Mapping[str, Record]:
        return self._records

    @property
    def unwritten(self) -> FrozenSet[str]:
        """The records that the disk has in an earlier state."""
        return frozenset(self._unwritten)

    def broken(self) -> List[str]:
        """The names of all that cannot be read."""
        try:
            return sorted(self._broken.union(self._store.broken()))
        except StoreError:
            return sorted(self._broken)

    def is_broken(self, key: str) -> bool:
        """Nothing runs for the event of a record that cannot be read, until somebody has looked at it."""
        return any(name.startswith(key) for name in self.broken())

    def save(self, record: Record) -> bool:
        """Whether it counts: it is on the disk, or it is something that must go on without one."""
        try:
            self._store.save(record)
        except StoreError as error:
            self.problem = error.message
            if _needs_a_disk(self._records.get(record.key), record):
                return False
            self._unwritten[record.key] = record
        else:
            self._unwritten.pop(record.key, None)
            if not self._unwritten:
                self.problem = None
        self._records[record.key] = record
        return True

    def try_again(self) -> None:
        """What is only in mind, onto the disk; and if nothing is, whether the disk takes something."""
        for record in list(self._unwritten.values()):
            self.save(record)
        if self.problem is not None and not self._unwritten:
            try:
                self._store.probe()
            except StoreError as error:
                self.problem = error.message
            else:
                self.problem = None

    def forget(self, key: str) -> None:
        self._store.forget(key)
        self._records.pop(key, None)

    def held(self, now: float) -> Optional[Hold]:
        return self._store.held(now)

    def hold(self, hold: Hold) -> None:
        self._store.hold(hold)

    def let_go(self) -> None:
        self._store.let_go()


def _needs_a_disk(before: Optional[Record], after: Record) -> bool:
    """Whether it is a step towards taking the host out of service, or towards an approval."""
    if after.state not in _DURABLE_STATES or after.gone or after.view == r.STARTED:
        return False
    if before is None or before.state != after.state or before.given_to != after.given_to:
        return True
    if after.post != before.post and after.post is not None and after.post.outcome is None:
        return True
    earlier = {step.handler: step for step in before.steps}
    return any(
        step.work(phase).progress == r.INTENDED and earlier[step.handler].work(phase).progress != r.INTENDED
        for step in after.steps
        for phase in _DURABLE_PHASES
        if step.handler in earlier
    )
