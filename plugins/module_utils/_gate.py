# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must be true of an event before anybody approves it. Pure.

Private to the collection. An approval cannot be taken back and holds for every VM of the event (C-23).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import FrozenSet, Iterable, List, Optional, Tuple

from ._document import DELETIONS, KNOWN_TYPES, Event, fold, known_as
from ._time import quoted

# Of the names that counted as ready, in an objection: enough to see that they are of another kind.
_MOST_NAMES = 5


@dataclass(frozen=True)
class Terms:
    """What the one who approves vouches for; names and types are compared without case. ready_names: as they were given."""

    ready: FrozenSet[str]
    unready_allowed: FrozenSet[str] = frozenset()
    types_allowed: FrozenSet[str] = frozenset()
    missing_allowed: bool = True
    ready_names: Tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        ready: Iterable[str],
        unready_allowed: Iterable[str],
        types_allowed: Iterable[str],
        missing_allowed: bool,
    ) -> Terms:
        names = tuple(ready)
        return cls(_folded(names), _folded(unready_allowed), _folded(types_allowed), missing_allowed, names)


def objection(event: Event, terms: Terms) -> Optional[str]:
    """Why this event must not be approved on these terms, or None."""
    name = "event %s (%s)" % (event.event_id, event.event_type)
    if not event.scheduled:
        return "%s has the status %s, and only Scheduled events can be approved" % (name, quoted(event.event_status))
    if not event.resources:
        return "%s names no VM, so nobody can be known to be ready for it" % name
    unready = [vm for vm in event.resources if fold(vm) not in terms.ready | terms.unready_allowed]
    if unready:
        return _objection_to_resources(event, name, terms, unready)
    return _objection_to_type(event, name, terms)


def _objection_to_resources(event: Event, name: str, terms: Terms, unready: List[str]) -> str:
    """Host names are the usual mistake, so it says what counted as ready."""
    hits = "also hits" if any(fold(vm) in terms.ready for vm in event.resources) else "hits"
    return "%s %s %s, not known to be ready%s: prepare, then name every VM by its Azure name in ready_resources" % (
        name,
        hits,
        ", ".join(unready),
        _say_ready(terms.ready_names),
    )


def _say_ready(names: Tuple[str, ...]) -> str:
    if not names:
        return ""
    more = " and %d more" % (len(names) - _MOST_NAMES) if len(names) > _MOST_NAMES else ""
    return " (ready %s: %s%s)" % ("is" if len(names) == 1 else "are", ", ".join(names[:_MOST_NAMES]), more)


def _objection_to_type(event: Event, name: str, terms: Terms) -> Optional[str]:
    if fold(event.event_type) in terms.types_allowed:
        return None
    known = known_as(event.event_type, KNOWN_TYPES)
    if known in DELETIONS:
        return "%s deletes %s, and allow_types does not name %s" % (name, ", ".join(event.resources), known)
    if known not in KNOWN_TYPES:
        return "%s has an effect that nobody documents, and allow_types does not name %s" % (name, event.event_type)
    return None


def _folded(names: Iterable[str]) -> FrozenSet[str]:
    return frozenset(fold(name) for name in names)
