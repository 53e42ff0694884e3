# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes from outside, by HTTP or in a file, is checked here, by one table per thing that can be asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Tuple

from .errors import InvalidError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SECONDS = re.compile(r"^([+-]?\d+(?:\.\d+)?)([smhd]?)$")


def seconds(value: Any) -> float:
    """A number of seconds, or a text such as 90s, 15m, 2h, 7d; ValueError otherwise."""
    if isinstance(value, bool):
        raise ValueError(value)
    if isinstance(value, (int, float)):
        return float(value)
    found = _SECONDS.match(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    return float(found.group(1)) * _UNITS[found.group(2) or "s"]


def _not_negative(value: Any) -> float:
    found = seconds(value)
    if found < 0:
        raise ValueError(value)
    return found


def _is(*types: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        # A boolean is a number to Python, but to nobody else.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ValueError(value)
        return value

    return check


def _names(value: Any) -> List[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError(value)
    return value


@dataclass(frozen=True)
class Field:
    """How a value must look, in words and as a check."""

    words: str
    check: Callable[[Any], Any]
    required: bool = False
    nullable: bool = False


def _required(field: Field) -> Field:
    return Field(field.words, field.check, required=True)


def _nullable(field: Field) -> Field:
    return Field(field.words + " or null", field.check, nullable=True)


TEXT = Field("a text", _is(str))
FLAG = Field("true or false", _is(bool))
WHOLE = Field("a whole number", _is(int))
SECONDS = Field("a number of seconds, or a text such as 90s, 15m, 2h, 7d", _not_negative)
SIGNED_SECONDS = Field("a number of seconds, or a text such as 90s, 15m, -2h", seconds)
NAMES = Field("a list of texts", _names)
MAPPING = Field("an object", _is(dict))
LIST = Field("a list", _is(list))
ANYTHING = Field("anything", lambda value: value)

Table = Mapping[str, Field]

VM_TABLE: Table = {
    "name": _required(TEXT),
    "azure_name": TEXT,
    "scope": TEXT,
    "zone": TEXT,
    "resource_group": TEXT,
    "address": TEXT,
    "compute": MAPPING,
    "missing_for": SECONDS,
    "incomplete_for": SECONDS,
}
SCOPE_TABLE: Table = {
    "name": _required(TEXT),
    "kind": TEXT,
    "vms": LIST,
    "gpu_single_fault_domain": FLAG,
    "per_zone": FLAG,
    "auto_approve": NAMES,
    "terminate_notice": SECONDS,
    "scale_set": TEXT,
    "flexible": FLAG,
}
_EVENT_TABLE: Table = {
    "event_type": TEXT,
    "duration": WHOLE,
    "runs_for": _nullable(SECONDS),
    "description": TEXT,
    "event_id": TEXT,
}
SCHEDULE_TABLE: Table = {
    **_EVENT_TABLE,
    "event_type": _required(TEXT),
    "resources": _required(NAMES),
    "notice": SECONDS,
    "source": TEXT,
    "start_delay": SECONDS,
    "late": SECONDS,
    "stuck": FLAG,
    "announce_in": SECONDS,
    "at_once": FLAG,
    "extra": MAPPING,
}
FAILURE_TABLE: Table = {**_EVENT_TABLE, "vm": _required(TEXT)}
CHANGE_TABLE: Table = {
    "not_before": SIGNED_SECONDS,
    "resources": NAMES,
    "event_type": TEXT,
    "duration": WHOLE,
    "description": TEXT,
    "source": TEXT,
    "status": TEXT,
    "extra": MAPPING,
}
RELIST_TABLE: Table = {"notice": SECONDS}
FAULT_TABLE: Table = {
    "kind": _required(TEXT),
    "vm": TEXT,
    "verb": TEXT,
    "path": TEXT,
    "event_id": TEXT,
    "times": _nullable(WHOLE),
    "status": WHOLE,
    "seconds": SECONDS,
    "headers": MAPPING,
    "body": ANYTHING,
    "location": TEXT,
    "incarnation": WHOLE,
    "acts": FLAG,
}
ADVANCE_TABLE: Table = {"seconds": _required(SECONDS)}
INCARNATION_TABLE: Table = {"incarnation": _required(WHOLE)}


def checked(what: str, data: Any, table: Table) -> Dict[str, Any]:
    """The data with every name known and every value of its kind; InvalidError names the first that is not."""
    if not isinstance(data, dict):
        raise InvalidError("%s: an object is needed, not %r" % (what, data))
    for name in data:
        if name not in table:
            raise InvalidError("%s: there is no %r, only %s" % (what, name, ", ".join(table) or "nothing"))
    for name, field in table.items():
        if field.required and name not in data:
            raise InvalidError("%s: %s is missing" % (what, name))
    return {name: _value(what, name, value, table[name]) for name, value in data.items()}


def _value(what: str, name: str, value: Any, field: Field) -> Any:
    if value is None and field.nullable:
        return None
    try:
        return field.check(value)
    except ValueError:
        raise InvalidError("%s: %s must be %s, not %r" % (what, name, field.words, value)) from None


def named(what: str, data: Any, table: Table, name: str) -> Tuple[Any, Dict[str, Any]]:
    """The checked data, taken apart into the one argument that is given by position and the rest."""
    options = checked(what, data, table)
    return options.pop(name), options


def scope(data: Any) -> Tuple[str, Dict[str, Any]]:
    """A scope and the VMs in it, which are names or objects."""
    name, options = named("scope", data, SCOPE_TABLE, "name")
    for vm in options.get("vms", ()):
        if not isinstance(vm, str):
            checked("scope %s, vms" % name, vm, VM_TABLE)
    return name, options
