# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One answer of the service as values: documents and their events. Pure.

Private to the collection. Whatever bytes come, parsing gives a Document or raises DocumentError: never another
exception, and never "no events" for an answer that is not a document (C-5).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, NoReturn, Optional, Tuple

from ._errors import DocumentError, TimeFormatError
from ._time import format_instant, parse_instant, quoted

SCHEDULED = "Scheduled"
STARTED = "Started"
FREEZE, REBOOT, REDEPLOY, PREEMPT, TERMINATE = "Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"
KNOWN_TYPES = (FREEZE, REBOOT, REDEPLOY, PREEMPT, TERMINATE)
# What these announce is the end of the VM (C-14).
DELETIONS = (PREEMPT, TERMINATE)
KNOWN_STATUSES = (SCHEDULED, STARTED)
KNOWN_SOURCES = ("Platform", "User")
# What a filter or a rule writes for a value that is none of the known ones.
UNKNOWN = "unknown"
# Deeper than any document, shallower than any interpreter's stack.
_DEEPEST = 64
# Digits of an incarnation: more than 64 bits hold, less than Python refuses to convert.
_MOST_DIGITS = 30


@dataclass(frozen=True)
class Event:
    """One entry of a document, as received (C-13); names lose the underscore of 2017-03-01."""

    event_id: str
    event_type: str
    event_status: str
    event_source: Optional[str]
    resource_type: str
    resources: Tuple[str, ...]
    not_before: Optional[float]
    description: str
    duration_seconds: Optional[int]

    @property
    def started(self) -> bool:
        return same_name(self.event_status, STARTED)

    @property
    def scheduled(self) -> bool:
        return same_name(self.event_status, SCHEDULED)


@dataclass(frozen=True)
class Document:
    """One good answer. The incarnation is for comparing, never for ordering (C-12)."""

    incarnation: int
    events: Tuple[Event, ...]
    raw: Dict[str, Any]

    def find(self, event_id: str) -> Optional[Event]:
        for event in self.events:
            if same_name(event.event_id, event_id):
                return event
        return None


def fold(name: str) -> str:
    """The form in which names and ids are compared: whole, and without case (C-18, C-20)."""
    return name.lower()


def same_name(one: str, other: str) -> bool:
    return fold(one) == fold(other)


def known_as(value: Optional[str], known: Iterable[str]) -> str:
    """The known spelling of a value, or "unknown"."""
    for name in known:
        if value is not None and same_name(name, value):
            return name
    return UNKNOWN


def affects(event: Event, vm_name: str) -> bool:
    return any(same_name(name, vm_name) for name in event.resources)


def parse_document(body: bytes, *, underscored: bool) -> Document:
    """The document in the body of an answer, or DocumentError. underscored: names have one underscore in front (C-20)."""
    raw = _json_object(body)
    if "DocumentIncarnation" not in raw or not isinstance(raw.get("Events"), list):
        _refuse("it is JSON without DocumentIncarnation and a list Events")
    events = [_event(entry, number, underscored) for number, entry in enumerate(raw["Events"], 1)]
    return Document(_incarnation(raw["DocumentIncarnation"]), tuple(_once_each(events)), raw)


def event_result(event: Event, *, queried_at: float, vm_name: Optional[str]) -> Dict[str, Any]:
    """The event as every result of this collection shows it."""
    return {
        "event_id": event.event_id,
        "event_type": event.event_type,
        "event_status": event.event_status,
        "event_source": event.event_source,
        "resource_type": event.resource_type,
        "resources": list(event.resources),
        "not_before": None if event.not_before is None else format_instant(event.not_before),
        "seconds_to_not_before": None if event.not_before is None else int(event.not_before - queried_at),
        "description": event.description,
        "duration_seconds": event.duration_seconds,
        "affects_this_vm": None if vm_name is None else affects(event, vm_name),
    }


def load_json(body: bytes) -> Any:
    """JSON from bytes; ValueError for whatever is not JSON that can be printed again as text."""
    text = body.decode("utf-8-sig")
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    _check_depth_and_text(value)
    return value


def _object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Whoever reads a key that is there twice must guess, and nobody may guess the VMs of an event."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key twice in one object")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError("%s is not JSON" % name)


def _check_depth_and_text(value: Any) -> None:
    """Results travel through other people's JSON and UTF-8: refuse what would break there and not here."""
    level: List[Any] = [value]
    for _depth in range(_DEEPEST):
        following: List[Any] = []
        for item in level:
            if isinstance(item, str):
                item.encode("utf-8")
            elif isinstance(item, dict):
                following.extend(item.keys())
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
            elif isinstance(item, float) and item in (float("inf"), float("-inf")):
                raise ValueError("a number out of range")
        if not following:
            return
        level = following
    raise ValueError("nested too deeply")


def _json_object(body: bytes) -> Dict[str, Any]:
    try:
        value = load_json(body)
    except ValueError as error:
        raise DocumentError(_refusal("it is not JSON%s" % _html_hint(body))) from error
    if not isinstance(value, dict):
        _refuse("it is JSON, but not an object")
    return dict(value)


def _html_hint(body: bytes) -> str:
    return " but HTML, as a captive proxy sends it" if body.lstrip()[:1] == b"<" else ""


def _refusal(why: str) -> str:
    return "the answer is not a document of scheduled events: %s" % why


def _refuse(why: str) -> NoReturn:
    raise DocumentError(_refusal(why))


def _incarnation(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS:
        return int(value)
    return _refuse("DocumentIncarnation is %s, not a whole number" % quoted(value))


def _event(entry: Any, number: int, underscored: bool) -> Event:
    if not isinstance(entry, dict):
        _refuse("event %d is not an object" % number)
    fields = _Fields(entry, number)
    names = fields.names("Resources")
    status = fields.text("EventStatus")
    not_before = fields.instant("NotBefore")
    return Event(
        event_id=fields.text("EventId"),
        event_type=fields.text("EventType"),
        event_status=status,
        event_source=fields.optional_text("EventSource"),
        resource_type=fields.optional_text("ResourceType") or "",
        resources=tuple(_without_underscore(name) for name in names) if underscored else names,
        # A time that is over would make a running event look like one of next week (C-16).
        not_before=None if same_name(status, STARTED) else not_before,
        description=fields.optional_text("Description") or "",
        duration_seconds=fields.duration("DurationInSeconds"),
    )


def _without_underscore(name: str) -> str:
    return name[1:] if name.startswith("_") else name


class _Fields:
    """The fields of one entry, each in the form of the contract or refused by name."""

    def __init__(self, entry: Dict[str, Any], number: int) -> None:
        self._entry = entry
        self._number = number

    def text(self, key: str) -> str:
        value = self.optional_text(key)
        if value is None or not value.strip():
            self._refuse(key, "missing")
        return value

    def optional_text(self, key: str) -> Optional[str]:
        value = self._entry.get(key)
        if value is not None and not isinstance(value, str):
            self._refuse(key, quoted(value))
        return value

    def names(self, key: str) -> Tuple[str, ...]:
        value = self._entry.get(key)
        if not isinstance(value, list):
            self._refuse(key, "missing" if value is None else quoted(value))
        for name in value:
            if not isinstance(name, str) or not name.strip():
                self._refuse(key, "a list with %s" % quoted(name))
        return tuple(value)

    def instant(self, key: str) -> Optional[float]:
        try:
            return parse_instant(self._entry.get(key))
        except TimeFormatError:
            return self._refuse(key, quoted(self._entry.get(key)))

    def duration(self, key: str) -> Optional[int]:
        """Seconds; None for absent and for the -1 that says unknown (C-17)."""
        value = self._entry.get(key)
        if value is None:
            return None
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self._refuse(key, quoted(value))
        return int(value) if value >= 0 else None

    def _refuse(self, key: str, value: str) -> NoReturn:
        _refuse("event %d has %s: %s" % (self._number, key, value))


def _compared(event: Event) -> Event:
    """Ids and names in the form in which they are compared (C-18)."""
    return replace(event, event_id=fold(event.event_id), resources=tuple(fold(name) for name in event.resources))


def _once_each(events: List[Event]) -> List[Event]:
    """Each event once: the same entry twice is one, one id with two contents is nothing to act on."""
    seen: Dict[str, Event] = {}
    for event in events:
        first = seen.setdefault(fold(event.event_id), event)
        if _compared(first) != _compared(event):
            _refuse("it lists event %s twice with different content" % quoted(event.event_id))
    return list(seen.values())
