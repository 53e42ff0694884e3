# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which events of a document are meant. Pure.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import FrozenSet, Iterable, Iterator, Optional, Tuple

from ._document import KNOWN_SOURCES, KNOWN_STATUSES, KNOWN_TYPES, UNKNOWN, Event, affects, fold, known_as

TYPE_CHOICES = KNOWN_TYPES + (UNKNOWN,)
STATUS_CHOICES = KNOWN_STATUSES + (UNKNOWN,)
SOURCE_CHOICES = KNOWN_SOURCES + (UNKNOWN,)


@dataclass(frozen=True)
class Selection:
    """What an event must be; None asks for nothing. An empty list matches nothing, as a list does."""

    event_ids: Optional[Tuple[str, ...]] = None
    event_types: Optional[Tuple[str, ...]] = None
    event_statuses: Optional[Tuple[str, ...]] = None
    event_sources: Optional[Tuple[str, ...]] = None
    resources: Optional[Tuple[str, ...]] = None
    this_vm_only: bool = False
    starts_within: Optional[float] = None
    min_duration: Optional[float] = None
    max_duration: Optional[float] = None

    def select(self, events: Iterable[Event], *, now: float, vm_name: Optional[str]) -> Iterator[Event]:
        """The events that pass, in their order."""
        names = _Names.of(self)
        return (event for event in events if names.match(event) and self._fits(event, now, vm_name))

    def _fits(self, event: Event, now: float, vm_name: Optional[str]) -> bool:
        return (
            self._hits_this_vm(event, vm_name)
            and self._starts_in_time(event, now)
            and duration_within(event.duration_seconds, self.min_duration, self.max_duration)
        )

    def _hits_this_vm(self, event: Event, vm_name: Optional[str]) -> bool:
        if not self.this_vm_only:
            return True
        return vm_name is not None and affects(event, vm_name)

    def _starts_in_time(self, event: Event, now: float) -> bool:
        # Without a NotBefore it has started, or may at any moment: leaving it out would hide the most urgent one.
        if self.starts_within is None or event.not_before is None:
            return True
        return event.not_before - now <= self.starts_within


@dataclass(frozen=True)
class _Names:
    """The names of a selection in the form in which they are compared, made once for all events."""

    event_ids: Optional[FrozenSet[str]]
    event_types: Optional[FrozenSet[str]]
    event_statuses: Optional[FrozenSet[str]]
    event_sources: Optional[FrozenSet[str]]
    resources: Optional[FrozenSet[str]]

    @classmethod
    def of(cls, selection: Selection) -> _Names:
        return cls(
            _folded(selection.event_ids),
            _folded(selection.event_types),
            _folded(selection.event_statuses),
            _folded(selection.event_sources),
            _folded(selection.resources),
        )

    def match(self, event: Event) -> bool:
        return (
            _one_of(self.event_ids, [event.event_id])
            and _one_of(self.event_types, [known_as(event.event_type, KNOWN_TYPES)])
            and _one_of(self.event_statuses, [known_as(event.event_status, KNOWN_STATUSES)])
            and _one_of(self.event_sources, [known_as(event.event_source, KNOWN_SOURCES)])
            and _one_of(self.resources, event.resources)
        )


def duration_within(seconds: Optional[int], shortest: Optional[float], longest: Optional[float]) -> bool:
    """An unknown duration is within no limit (C-17)."""
    if shortest is None and longest is None:
        return True
    if seconds is None:
        return False
    return (shortest is None or seconds >= shortest) and (longest is None or seconds <= longest)


def _folded(names: Optional[Tuple[str, ...]]) -> Optional[FrozenSet[str]]:
    return None if names is None else frozenset(fold(name) for name in names)


def _one_of(wanted: Optional[FrozenSet[str]], names: Iterable[str]) -> bool:
    return wanted is None or any(fold(name) in wanted for name in names)
