# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The platform's contract as data and pure functions: versions, keys, types, dates, errors. Each is named by its rule (C-n)."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .settings import Settings

EVENTS_PATH = "/metadata/scheduledevents"  # C-1
INSTANCE_PATH = "/metadata/instance"  # C-28
VERSIONS_PATH = "/metadata/versions"  # C-6

# C-6
VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
UNDERSCORE_VERSION = "2017-03-01"  # C-20
HEADER_SINCE = "2017-08-01"  # C-2
# C-13: dates of this form compare as text.
DESCRIPTION_SINCE = "2019-04-01"
SOURCE_SINCE = "2019-08-01"
DURATION_SINCE = "2020-07-01"
# C-6: a version does not know what came after it.
TYPE_SINCE: Mapping[str, str] = {"Preempt": "2017-11-01", "Terminate": "2019-01-01"}

# C-28. Four of the versions above are missing here, as in the platform's own list (C-6).
INSTANCE_VERSIONS = (
    "2017-03-01",
    "2017-04-02",
    "2017-08-01",
    "2017-10-01",
    "2017-12-01",
    "2018-02-01",
    "2018-04-02",
    "2018-10-01",
    "2019-02-01",
    "2019-03-11",
    "2019-04-30",
    "2019-06-01",
    "2019-06-04",
    "2019-08-01",
    "2019-08-15",
    "2019-11-01",
    "2020-06-01",
    "2020-07-15",
    "2020-09-01",
    "2020-10-01",
    "2020-12-01",
    "2021-01-01",
    "2021-02-01",
)

# C-14
FREEZE, REBOOT, REDEPLOY, PREEMPT, TERMINATE = "Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"
DELETIONS = (PREEMPT, TERMINATE)
SCHEDULED, STARTED = "Scheduled", "Started"  # C-15
PLATFORM, USER = "Platform", "User"  # C-13
RESOURCE_TYPE = "VirtualMachine"

MINUTE = 60.0
DAY = 86400.0
# C-19. Terminate: as configured, 5 to 15 minutes.
NOTICE: Mapping[str, float] = {
    FREEZE: 15 * MINUTE,
    REBOOT: 15 * MINUTE,
    REDEPLOY: 10 * MINUTE,
    PREEMPT: 30.0,
    TERMINATE: 5 * MINUTE,
}
DEFAULT_NOTICE = 15 * MINUTE
TERMINATE_NOTICE_RANGE = (5 * MINUTE, 15 * MINUTE)
USER_NOTICE = 15 * MINUTE  # C-7
LONGEST_LATE_START = 2 * MINUTE  # C-26
OFF_AFTER = DAY  # C-7
FIRST_INCARNATION = 1  # C-12: after each switching on
# C-17. A move is announced as longer than a pause; a deletion has no end.
DURATION: Mapping[str, int] = {FREEZE: 5, REBOOT: 9, REDEPLOY: 9}
UNKNOWN_DURATION = -1
RATE_WINDOW = 1.0  # C-8

DESCRIPTION: Mapping[Tuple[str, str], str] = {
    (PLATFORM, FREEZE): "The host of this virtual machine is being serviced; it is paused for a moment and keeps its memory.",
    (PLATFORM, REBOOT): "The host of this virtual machine is being serviced; the virtual machine is restarted.",
    (PLATFORM, REDEPLOY): "This virtual machine moves to another host.",
    (PLATFORM, PREEMPT): "This spot virtual machine is being evicted.",
    (USER, REBOOT): "A restart of this virtual machine was requested by an authorized user.",
    (USER, REDEPLOY): "A move of this virtual machine was requested by an authorized user.",
    (PLATFORM, TERMINATE): "This virtual machine is going to be deleted from its scale set.",
    (USER, TERMINATE): "This virtual machine is going to be deleted from its scale set.",
}
FAILURE_DESCRIPTION = "This virtual machine has encountered a hardware failure."

# C-10. The texts are ours; the shape {"error": "text"} is the contract.
STATUS_TEXT: Mapping[int, str] = {
    400: "Bad request.",
    401: "Unauthorized: the request carries no valid signature.",
    403: "Forbidden by the host's access policy.",
    404: "Not found: the metadata is being updated.",
    405: "Method not allowed.",
    408: "Request timed out.",
    410: "Gone: the metadata service is being updated, try again.",
    429: "Too many requests.",
    500: "Internal error.",
    502: "Bad gateway.",
    503: "Service unavailable.",
    504: "Gateway timed out.",
}
NO_HEADER = "Bad request: the header 'Metadata: true' is required."
FORWARDED = "Bad request: a forwarded request (X-Forwarded-For) is refused."
KEY_TWICE = "Bad request: the query key %r is given twice."
NO_VERSION = "Bad request: api-version is missing."
BAD_VERSION = "Bad request: api-version %r is not supported."
NOT_FOUND = "Not found: there is nothing at %s."
LEAF_NEEDS_TEXT = "Bad request: a single value is only available with format=text."
BAD_FORMAT = "Bad request: format %r is neither json nor text."

# Never by strftime: the names of days and months are English whatever the locale (C-16).
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Shown:
    """What one event shows of itself; the rest of it is the fabric's own business."""

    event_id: str
    event_type: str
    status: str
    source: str
    resources: Tuple[str, ...]
    not_before: Optional[float]
    description: str
    duration: int
    extra: Tuple[Tuple[str, Any], ...] = ()
    # The fabric's own names of the VMs, for a scope that is not told of its neighbours (C-21); never sent.
    keys: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """What a scope shows from one instant on. Revisions tell apart what happened at the same instant, on a clock that stands."""

    at: float
    revision: int
    incarnation: int
    events: Tuple[Shown, ...]


def fold(name: str) -> str:
    """C-18, C-20: names and ids are compared without case, and as a whole."""
    return name.casefold()


def rfc1123(instant: float, *, wrong_weekday: bool = False) -> str:
    """C-16: `Mon, 19 Sep 2016 18:29:47 GMT`, in English under every locale."""
    moment = time.gmtime(instant)
    weekday = _DAYS[(moment.tm_wday + (3 if wrong_weekday else 0)) % 7]
    return "%s, %02d %s %04d %02d:%02d:%02d GMT" % (
        weekday,
        moment.tm_mday,
        _MONTHS[moment.tm_mon - 1],
        moment.tm_year,
        moment.tm_hour,
        moment.tm_min,
        moment.tm_sec,
    )


def iso8601(instant: float) -> str:
    moment = time.gmtime(instant)
    return "%04d-%02d-%02dT%02d:%02d:%02dZ" % tuple(moment[:6])


def tag(incarnation: int) -> str:
    """C-9: derived from the incarnation alone, so that it repeats after a reset."""
    return '"%d"' % incarnation


def document(page: Page, version: str, settings: Settings) -> Dict[str, Any]:
    """C-12, C-13: one answer as this version writes it."""
    return {
        "DocumentIncarnation": str(page.incarnation) if settings.text_incarnation else page.incarnation,
        "Events": [_entry(event, version, settings) for event in page.events if version >= TYPE_SINCE.get(event.event_type, "")],
    }


def _entry(event: Shown, version: str, settings: Settings) -> Dict[str, Any]:
    entry: Dict[str, Any] = {
        "EventId": event.event_id.lower() if settings.lower_case_ids else event.event_id,
        "EventStatus": event.status,
        "EventType": event.event_type,
        "ResourceType": RESOURCE_TYPE,
        "Resources": _resources(event.resources, version),
        "NotBefore": _not_before(event.not_before, settings),
    }
    if event.not_before is None and settings.blank_not_before == "missing":
        del entry["NotBefore"]
    if version >= DESCRIPTION_SINCE:
        entry["Description"] = event.description
    if version >= SOURCE_SINCE:
        entry["EventSource"] = event.source
    if version >= DURATION_SINCE:
        entry["DurationInSeconds"] = event.duration
    if settings.extra_fields:
        entry["AddedByALaterVersion"] = {"nested": [1, "two", None]}
    entry.update(event.extra)
    return entry


def _resources(names: Tuple[str, ...], version: str) -> List[str]:
    mark = "_" if version == UNDERSCORE_VERSION else ""
    return [mark + name for name in names]


def _not_before(instant: Optional[float], settings: Settings) -> Optional[str]:
    if instant is None:
        return None if settings.blank_not_before == "null" else ""
    if settings.dates == "iso8601":
        return iso8601(instant)
    return rfc1123(instant, wrong_weekday=settings.wrong_weekdays)


def error_body(text: str) -> bytes:
    """C-10"""
    return json.dumps({"error": text}).encode("utf-8")


def status_text(status: int) -> str:
    return STATUS_TEXT.get(status, "Error %d." % status)


def version_problem(version: Optional[str], known: Tuple[str, ...]) -> Optional[str]:
    """C-6: why this version is refused, or None."""
    if not version:
        return NO_VERSION
    return None if version in known else BAD_VERSION % version


def start_request_ids(body: bytes) -> Tuple[str, ...]:
    """C-22: the ids of a well-formed approval; ValueError says what is malformed (C-23)."""
    try:
        data = json.loads(body.decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise ValueError("Bad request: the body is not JSON.") from None
    requests = data.get("StartRequests") if isinstance(data, dict) else None
    if not isinstance(requests, list) or not requests:
        raise ValueError("Bad request: the body needs a list StartRequests with at least one entry.")
    return tuple(_event_id(entry) for entry in requests)


def _event_id(entry: Any) -> str:
    event_id = entry.get("EventId") if isinstance(entry, dict) else None
    if not isinstance(event_id, str) or not event_id.strip():
        raise ValueError("Bad request: every entry of StartRequests needs an EventId.")
    return event_id
