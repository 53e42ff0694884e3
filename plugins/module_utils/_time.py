# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Dates and durations, in and out of text. Pure: no clock, no locale, no zone data.

Private to the collection. Inside it an instant is a number of seconds since the epoch, a duration a number of seconds.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

from ._errors import TimeFormatError

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# The names of RFC 1123 are English in every locale; strptime's are not (C-16).
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# The weekday is read over: real documents carry wrong ones (C-16).
_RFC_1123 = re.compile(
    r"(?:[^,0-9]*,)?\s*(?P<day>[0-9]{1,2})\s+(?P<month>[A-Za-z]{3})\s+(?P<year>[0-9]{4})"
    r"\s+(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})\s+(?:GMT|UTC)"
)
_ISO_8601 = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})[Tt ]"
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?P<fraction>\.[0-9]{1,9})?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<offset_hours>[0-9]{2}):?(?P<offset_minutes>[0-9]{2}))"
)
_DURATION = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(?P<unit>[smhd]?)")
_UNITS = {"": 1, "s": 1, "m": MINUTE, "h": HOUR, "d": DAY}
_SPOKEN = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", 1))
# A value quoted in a message: enough to recognise it, not enough to drown the sentence.
_QUOTED = 60


def parse_instant(value: Any) -> Optional[float]:
    """An instant from RFC 1123 or ISO 8601; None from nothing at all, as Azure writes it once started (C-16)."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise _no_date(value)
    text = value.strip()
    if not text:
        return None
    match = _RFC_1123.fullmatch(text) or _ISO_8601.fullmatch(text)
    if match is None:
        raise _no_date(value)
    try:
        return _instant_of(match.groupdict())
    except (ValueError, OverflowError) as error:
        raise _no_date(value) from error


def format_instant(instant: float) -> str:
    """ISO 8601 in UTC to the second, cut and not rounded, so that it is never later than the instant."""
    moment = _EPOCH + timedelta(seconds=math.floor(instant))
    return "%04d-%02d-%02dT%02d:%02d:%02dZ" % (
        moment.year,
        moment.month,
        moment.day,
        moment.hour,
        moment.minute,
        moment.second,
    )


def parse_duration(value: Any) -> float:
    """Seconds from a number, or from text such as 90, 90s, 15m, 2h, 7d."""
    if isinstance(value, bool):
        raise _no_duration(value)
    if isinstance(value, (int, float)):
        return _checked_seconds(value)
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise _no_duration(value)
    return float(match.group("number")) * _UNITS[match.group("unit")]


def say_duration(seconds: float) -> str:
    """A duration for people: its two largest units, rounded to the second."""
    rest = round(abs(seconds))
    words = []
    for unit, size in _SPOKEN:
        count, rest = divmod(rest, size)
        if count:
            words.append("%d %s" % (count, unit))
    return " ".join(words[:2]) or "0 s"


def _instant_of(parts: Any) -> float:
    moment = datetime(
        int(parts["year"]),
        _month_number(parts["month"]),
        int(parts["day"]),
        int(parts["hour"]),
        int(parts["minute"]),
        tzinfo=timezone.utc,
    )
    instant = (moment - _EPOCH).total_seconds() + _seconds(parts) - _offset(parts)
    format_instant(instant)  # an offset may leave the years that a date can have
    return instant


def _month_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    return _MONTHS.index(text.lower()) + 1


def _seconds(parts: Any) -> float:
    second = int(parts["second"])
    if second > MINUTE:  # 60 is a leap second, and counts as the next minute
        raise ValueError("second out of range")
    return second + float(parts.get("fraction") or 0)


def _offset(parts: Any) -> int:
    if not parts.get("sign"):
        return 0
    hours, minutes = int(parts["offset_hours"]), int(parts["offset_minutes"])
    if hours > 23 or minutes > 59:
        raise ValueError("offset out of range")
    seconds = hours * HOUR + minutes * MINUTE
    return -seconds if parts["sign"] == "-" else seconds


def _checked_seconds(value: float) -> float:
    try:
        seconds = float(value)
    except OverflowError as error:
        raise _no_duration(value) from error
    if not math.isfinite(seconds) or seconds < 0:
        raise _no_duration(value)
    return seconds


def _no_date(value: Any) -> TimeFormatError:
    return TimeFormatError("%s is not a date of RFC 1123 or ISO 8601" % quoted(value))


def _no_duration(value: Any) -> TimeFormatError:
    return TimeFormatError("%s is not a duration: give seconds, or a number with s, m, h or d such as 15m" % quoted(value))


def quoted(value: Any) -> str:
    """A foreign value inside a sentence: one line, ASCII, cut to a length that a sentence can bear."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a dict"
    text = ascii(value) if isinstance(value, (str, int, float, bool, type(None))) else "a %s" % type(value).__name__
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "..."
