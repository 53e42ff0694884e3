# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all filters of rolling maintenance do with what templates hand to them. This is the edge: it reads the data of time zones.

Private to the collection. On ansible-core 2.16 an undefined variable reaches a filter as an object, and every number as text.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Mapping

from ansible.errors import AnsibleFilterError
from jinja2 import Undefined

from ..module_utils._errors import ConfigurationError, MaintenanceError
from ..module_utils._time import quoted
from ..module_utils._windows import Zone
from ..module_utils._zone import read_zone
from ._harmless import harmless
from ._options import PREFIX, Options, convert, options_of, zones_named
from ._verdicts import Facing

Filter = Callable[..., Any]


def as_filter(name: str, work: Filter) -> Filter:
    """The filter of this name: nothing undefined comes in, plain and harmless data go out, and every failure is a sentence."""

    @functools.wraps(work)
    def filtered(*given: Any, **named: Any) -> Any:
        missing = [*(_place(number) for number, value in enumerate(given) if _is_undefined(value))]
        missing += [key for key, value in named.items() if _is_undefined(value)]
        if missing:
            raise AnsibleFilterError("%s: %s is not defined, in whole or in part." % (name, " and ".join(missing)))
        try:
            return harmless(work(*given, **named))
        except MaintenanceError as error:
            failure = error.message
        # Not inside the handler: newer versions of Ansible append the message of every cause, and the sentence drowns.
        raise AnsibleFilterError("%s: %s" % (name, failure))

    return filtered


def options_in(converted: Any) -> Options:
    """The options as values, with the data of the time zones that they name."""
    plain = convert(converted)
    return options_of(plain, _zones(plain))


def facing_in(options: Any, now: Any, forks: Any) -> Facing:
    """The options, the moment, and how many hosts Ansible works on at a time."""
    return Facing(options_in(options), number_in(now, "now"), max(1, int(number_in(forks, "forks"))))


def number_in(value: Any, what: str) -> float:
    """A number, also one that came as text."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if number - number != 0.0 or isinstance(value, bool):
        raise ConfigurationError("%s is %s, not a number" % (what, quoted(value)))
    return number


def names_in(value: Any, what: str) -> List[str]:
    if not isinstance(value, (list, tuple)):
        raise ConfigurationError("%s is %s, not a list of names" % (what, quoted(value)))
    return [str(name) for name in value]


def _zones(plain: Mapping[str, Any]) -> Dict[str, Zone]:
    try:
        return {name: read_zone(name) for name in zones_named(plain)}
    except ConfigurationError as error:
        raise ConfigurationError("%swindows: %s." % (PREFIX, error.message)) from error


def _place(number: int) -> str:
    return "what it is used on" if number == 0 else "argument %d" % number


def _is_undefined(value: Any) -> bool:
    """The variables of hosts are not looked into: each is a template, and whoever reads one looks himself."""
    if isinstance(value, Undefined):
        return True
    if isinstance(value, dict):
        return any(_is_undefined(one) for one in value.values())
    return isinstance(value, (list, tuple)) and any(_is_undefined(one) for one in value)
