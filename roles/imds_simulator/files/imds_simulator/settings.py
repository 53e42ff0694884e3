# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How closely and in which of its moods the fabric plays the platform: one value object for all switches."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Dict, Mapping

from .errors import InvalidError

DATES = ("rfc1123", "iso8601")
BLANKS = ("empty", "null", "missing")


@dataclass(frozen=True)
class Settings:
    """The default is quick and plain, for tests; `REALISTIC` is as slow and strict as the platform may be."""

    first_call_delay: float = 0.0  # C-7: the first answer after switching on takes so long
    events_delay: float = 0.0  # C-7: and events so much longer
    switched_on: bool = True  # C-7: new scopes begin as if a call had been made
    rate_limit: int = 0  # C-8: requests a second and VM, then 429; 0: no limit
    late_start: float = 0.0  # C-26: events that nobody approved start so long after NotBefore
    incarnation_step: int = 1  # C-12: above 1, numbers are skipped
    dates: str = "rfc1123"  # C-16
    wrong_weekdays: bool = False  # C-16
    blank_not_before: str = "empty"  # C-16: how a started event's NotBefore looks
    lower_case_ids: bool = False  # C-18
    text_incarnation: bool = False  # C-12
    extra_fields: bool = False  # C-14: keys that no version knows
    deletes_vms: bool = False  # C-14: a VM is gone for good once its Preempt or Terminate is over


REALISTIC: Mapping[str, Any] = {
    "first_call_delay": 120.0,
    "events_delay": 300.0,
    "switched_on": False,
    "rate_limit": 5,
    "late_start": 60.0,
    "deletes_vms": True,
}

_CHOICES = {"dates": DATES, "blank_not_before": BLANKS}


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with some of them replaced; every name and value is checked."""
    known = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    checked: Dict[str, Any] = {}
    for name, value in changes.items():
        if name not in known:
            raise InvalidError("settings: there is no %r, only %s" % (name, ", ".join(known)))
        checked[name] = _checked(name, value, known[name])
    return dataclasses.replace(settings, **checked)


def _checked(name: str, value: Any, like: Any) -> Any:
    if isinstance(like, bool):
        if not isinstance(value, bool):
            raise InvalidError("settings: %s must be true or false, not %r" % (name, value))
        return value
    if isinstance(like, str):
        if value not in _CHOICES[name]:
            raise InvalidError("settings: %s must be one of %s, not %r" % (name, ", ".join(_CHOICES[name]), value))
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise InvalidError("settings: %s must be a number of at least 0, not %r" % (name, value))
    if isinstance(like, int) and int(value) != value:
        raise InvalidError("settings: %s must be a whole number, not %r" % (name, value))
    return type(like)(value)


def as_dict(settings: Settings) -> Dict[str, Any]:
    return dataclasses.asdict(settings)
