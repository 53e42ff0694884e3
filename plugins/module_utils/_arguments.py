# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that modules and lookup share: their form, their defaults, and the one conversion into values.

Private to the collection. The words are in the documentation fragments of the same names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Tuple

from ._errors import ConfigurationError, TimeFormatError
from ._http import SHORTEST_TIMEOUT
from ._selection import SOURCE_CHOICES, STATUS_CHOICES, TYPE_CHOICES, Selection
from ._time import DAY, parse_duration, quoted, say_duration

DEFAULT_ENDPOINT = "http://169.254.169.254"
DEFAULT_API_VERSION = "2020-07-01"
# The first answer ever takes up to two minutes (C-7).
DEFAULT_TIMEOUT = "130s"
# Above the 70 seconds for which the service may answer 410 (C-10).
DEFAULT_RETRY_FOR = "90s"
# Asking more often is asking too often (C-8).
SHORTEST_POLL_INTERVAL = 1.0

_ENDPOINT = re.compile(
    r"https?://(?:[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:/[A-Za-z0-9._~/%-]*)?"
)
_HIGHEST_PORT = 65535
# Longer than Azure announces anything, and short enough for every clock to count.
LONGEST_DURATION = 365.0 * DAY
_API_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:-[a-z]+)?")
# What a list that was given as the text of a list falls into; no name or id of Azure has these.
_NOT_IN_A_NAME = re.compile(r"[\s\[\]{}'\",]")


def connection_arguments() -> Dict[str, Dict[str, Any]]:
    return {
        "endpoint": {"type": "str", "default": DEFAULT_ENDPOINT},
        "api_version": {"type": "str", "default": DEFAULT_API_VERSION},
        "timeout": {"type": "str", "default": DEFAULT_TIMEOUT},
        "retry_for": {"type": "str", "default": DEFAULT_RETRY_FOR},
    }


def selection_arguments() -> Dict[str, Dict[str, Any]]:
    return {
        "event_ids": {"type": "list", "elements": "str"},
        "event_types": {"type": "list", "elements": "str", "choices": list(TYPE_CHOICES)},
        "event_statuses": {"type": "list", "elements": "str", "choices": list(STATUS_CHOICES)},
        "event_sources": {"type": "list", "elements": "str", "choices": list(SOURCE_CHOICES)},
        "resources": {"type": "list", "elements": "str"},
        "this_vm_only": {"type": "bool", "default": False},
        "starts_within": {"type": "str"},
        "min_duration": {"type": "str"},
        "max_duration": {"type": "str"},
        "vm_name": {"type": "str"},
        "gather_vm": {"type": "bool", "default": False},
        "query": {"type": "str"},
    }


@dataclass(frozen=True)
class Connection:
    """Where and how to ask."""

    endpoint: str
    api_version: str
    timeout: float
    retry_for: float


def connection_of(options: Mapping[str, Any]) -> Connection:
    return Connection(
        endpoint=_endpoint(options["endpoint"]),
        api_version=_api_version(options["api_version"]),
        timeout=duration_of(options, "timeout", at_least=SHORTEST_TIMEOUT),
        retry_for=duration_of(options, "retry_for"),
    )


def selection_of(options: Mapping[str, Any]) -> Selection:
    selection = Selection(
        event_ids=optional_names_of(options, "event_ids"),
        event_types=_optional_tuple(options["event_types"]),
        event_statuses=_optional_tuple(options["event_statuses"]),
        event_sources=_optional_tuple(options["event_sources"]),
        resources=optional_names_of(options, "resources"),
        this_vm_only=options["this_vm_only"],
        starts_within=_optional_duration(options, "starts_within"),
        min_duration=_optional_duration(options, "min_duration"),
        max_duration=_optional_duration(options, "max_duration"),
    )
    shortest, longest = selection.min_duration, selection.max_duration
    if shortest is not None and longest is not None and shortest > longest:
        raise ConfigurationError(
            "min_duration (%s) is longer than max_duration (%s), so no event can match." % (say_duration(shortest), say_duration(longest))
        )
    return selection


def names_of(options: Mapping[str, Any], option: str) -> Tuple[str, ...]:
    """The ids or VM names of a list, each looked at."""
    return tuple(_name(option, name) for name in options[option] or ())


def optional_names_of(options: Mapping[str, Any], option: str) -> Optional[Tuple[str, ...]]:
    return None if options[option] is None else names_of(options, option)


def vm_name_of(options: Mapping[str, Any]) -> Optional[str]:
    return None if options["vm_name"] is None else _name("vm_name", options["vm_name"])


def duration_of(options: Mapping[str, Any], option: str, *, at_least: float = 0.0) -> float:
    try:
        seconds = parse_duration(options[option])
    except TimeFormatError as error:
        raise ConfigurationError("%s: %s." % (option, error.message)) from error
    if seconds > LONGEST_DURATION:
        raise ConfigurationError("%s must be at most %s, not %s." % (option, say_duration(LONGEST_DURATION), quoted(options[option])))
    if seconds < at_least:
        raise ConfigurationError("%s must be at least %s, not %s." % (option, say_duration(at_least), quoted(options[option])))
    return seconds


def _optional_duration(options: Mapping[str, Any], option: str) -> Optional[float]:
    return None if options[option] is None else duration_of(options, option)


def _optional_tuple(values: Any) -> Optional[Tuple[str, ...]]:
    return None if values is None else tuple(values)


def _name(option: str, value: Any) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if not name or _NOT_IN_A_NAME.search(name):
        raise ConfigurationError(
            "%s: %s is not a name or id of Azure; give a YAML list of whole names, not the text of a list." % (option, quoted(value))
        )
    return name


def _endpoint(value: str) -> str:
    match = _ENDPOINT.fullmatch(value)
    if not match or int(match.group("port") or 0) > _HIGHEST_PORT:
        raise ConfigurationError(
            "endpoint: %s is not the base URL of a metadata service; give something like %s." % (quoted(value), DEFAULT_ENDPOINT)
        )
    return value.rstrip("/")


def _api_version(value: str) -> str:
    if not _API_VERSION.fullmatch(value):
        raise ConfigurationError("api_version: %s is not a version; give a date such as %s." % (quoted(value), DEFAULT_API_VERSION))
    return value
