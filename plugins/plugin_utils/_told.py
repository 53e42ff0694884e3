# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hosts have reported in a run, read so that nothing in it can stop the reader. Pure.

Private to the collection. In the middle of a wave everything can be missing, half there or of another kind: it is read as if it had not
been said.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Type

from ..module_utils._document import fold
from ..module_utils._errors import TimeFormatError
from ..module_utils._time import parse_instant
from ..module_utils._windows import EARLIEST, LATEST, say_instant
from ._fleet import ANSWER, STATUS

_FACT = "rolling_maintenance__%s"
PREPARED, COMMITTED, SENDING = _FACT % "prepared", _FACT % "committed", _FACT % "sending"
GATE, POSTED, WATCHED, OVER = _FACT % "gate", _FACT % "posted", _FACT % "watched", _FACT % "over"
TROUBLE, EVIDENCE, NEWCOMERS = _FACT % "trouble", _FACT % "evidence", _FACT % "newcomers"
# Of localhost.
OPEN, STOP = _FACT % "open", _FACT % "stop"
OF_A_GATE = (ANSWER, STATUS, PREPARED, COMMITTED, GATE, TROUBLE, "group_names")
OF_AN_OUTCOME = (STATUS, PREPARED, COMMITTED, SENDING, GATE, POSTED, WATCHED, OVER, TROUBLE, EVIDENCE, NEWCOMERS, OPEN, STOP)
# How Ansible marks a result of what was not done.
_MARKS = ("skipped", "unreachable", "failed")
# Deeper than any result of ours.
_DEEPEST = 40

Told = Mapping[str, Mapping[str, Any]]

_BLIND = (
    "Nobody knows what Azure announces to %s, for no host of their scope has answered, and Azure goes ahead all the same: ask one with "
    "azure_scheduled_events_info. The first answer of a scope can take two minutes, see rolling_maintenance_discover_timeout."
)


def told(
    hostvars: Any, names: Iterable[str], keys: Iterable[str], *, unreadable: Tuple[Type[BaseException], ...] = ()
) -> Dict[str, Dict[str, Any]]:
    """What these hosts have reported, in plain data. unreadable: what a variable that cannot be templated raises."""
    wanted = tuple(keys)
    return {name: _of_host(hostvars, name, wanted, unreadable) for name in dict.fromkeys(names)}


def _of_host(hostvars: Any, name: str, keys: Tuple[str, ...], unreadable: Tuple[Type[BaseException], ...]) -> Dict[str, Any]:
    """The host's variables are looked up once: for Ansible that is no small work."""
    try:
        variables = hostvars[name] if isinstance(hostvars, Mapping) and name in hostvars else None
    except unreadable:
        return {}
    if not isinstance(variables, Mapping):
        return {}
    return {key: _of_key(variables, key, unreadable) for key in keys}


def _of_key(variables: Mapping[str, Any], key: str, unreadable: Tuple[Type[BaseException], ...]) -> Any:
    try:
        return plain(variables[key]) if key in variables else None
    except unreadable:
        return None


def plain(value: Any, depth: int = _DEEPEST) -> Any:
    """The same in plain data; what is none, such as a variable that nobody has defined, is None."""
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth and isinstance(value, Mapping):
        return {str(key): plain(one, depth - 1) for key, one in value.items() if isinstance(key, str)}
    if depth and isinstance(value, (list, tuple)):
        return [plain(one, depth - 1) for one in value]
    return None


# --- of what is plain ----------------------------------------------------------------------------------------------------


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def names(value: Any) -> List[str]:
    """A list in which there is anything but text is none."""
    found = items(value)
    return found if all(isinstance(one, str) for one in found) else []


def text(value: Any) -> Optional[str]:
    """In one line, and None where there is none."""
    words = " ".join(value.split()) if isinstance(value, str) else ""
    return words or None


def sentence(value: Any) -> Optional[str]:
    """Without its end, so that it can stand inside another one."""
    words = text(value)
    return None if words is None else words.rstrip(".") or None


def sentences(value: Any) -> List[str]:
    """One or many. What is there and no sentence is still something that went wrong."""
    if not value:
        return []
    given = value if isinstance(value, list) else [value]
    return [sentence(one) or "something that it does not say in words" for one in given]


def instant(value: Any) -> Optional[float]:
    """Seconds since 1970 of a number or a date; None for what is neither."""
    if not isinstance(value, str):
        found = number(value)
        return None if found is None or found < EARLIEST else found
    try:
        return parse_instant(value)
    except TimeFormatError:
        return None


def moment(value: Any) -> float:
    """What time it is; without a time nothing is fresh. Scalars that went through a template can be text."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def flag(value: Any) -> bool:
    """A condition that went through a template can be text."""
    return value is True or (isinstance(value, str) and fold(value.strip()) in ("true", "yes", "on", "1"))


def number(value: Any) -> Optional[float]:
    """Of a size that can be counted with."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LATEST:
        return None
    return float(value)


def same(one: Any, other: Any) -> bool:
    """Ids and names are compared without case (C-18)."""
    return isinstance(one, str) and isinstance(other, str) and fold(one) == fold(other)


def done(value: Any) -> Mapping[str, Any]:
    """A result of what was really done on a host, else nothing: what was skipped, failed or did not get there has a result as well."""
    result = mapping(value)
    return result if all(result.get(key, False) is False for key in _MARKS) else {}


def is_marked_well(value: Any) -> bool:
    """Whether a result says of itself how it has ended; what is neither true nor false there was spoilt on the way."""
    return isinstance(value, Mapping) and all(isinstance(value.get(key, False), bool) for key in _MARKS)


# --- an event of a plan in words -----------------------------------------------------------------------------------------


def entries_of(plan: Any) -> Dict[str, Mapping[str, Any]]:
    """The events of a plan by their keys; what is none is left out."""
    found = (mapping(entry) for entry in items(mapping(plan).get("events")))
    return {str(entry["key"]): entry for entry in found if isinstance(entry.get("key"), str)}


def label(entry: Mapping[str, Any]) -> str:
    """Which event it is, for people: type, id and hosts."""
    event = mapping(entry.get("event"))
    hosts = ", ".join(names(entry.get("hosts"))) or ", ".join(names(event.get("resources"))) or "nobody"
    return "%s %s of %s" % (text(event.get("event_type")) or "event", text(event.get("event_id")) or "without an id", hosts)


def azure_starts(not_before: Optional[float]) -> str:
    return "Azure can start it at any moment" if not_before is None else "Azure starts it at %s" % say_instant(not_before)


def not_before_of(entry: Mapping[str, Any]) -> Optional[float]:
    return instant(entry.get("not_before") or mapping(entry.get("event")).get("not_before"))


def say_blind(plan: Any) -> Optional[str]:
    """Of whom a plan knows nothing, and what to do about it; None if it knows of everybody."""
    blind = names(mapping(plan).get("blind"))
    return _BLIND % ", ".join(blind) if blind else None
