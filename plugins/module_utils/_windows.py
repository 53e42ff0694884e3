# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Weekly windows in local time, and when they are open. Pure: the changes of a zone's offset are data.

Private to the collection. A local time that does not exist means the first instant after the gap; one that comes
twice means the first for the opening of a window and the second for its end. So no window is ever cut short, and none
opens before its time.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any, Iterator, List, Mapping, Optional, Tuple

from ._language import Entry, read_entries
from ._time import DAY, HOUR, MINUTE, format_instant, quoted

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
KEYS = ("days", "from", "to", "timezone")

_FULL_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAYS = {**{name: day for day, name in enumerate(WEEKDAYS)}, **{name: day for day, name in enumerate(_FULL_NAMES)}}
# The epoch fell on a Thursday.
_EPOCH_WEEKDAY = 3
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_MIDNIGHT_AT_THE_END = "24:00"
# No offset from UTC is as large: what lies further away cannot be the same local time.
_FAR = 2 * DAY
# A window that takes the work at all does so within a year and its changes of the offset; Azure announces seven days (C-19).
_FARTHEST_OPENING = 400 * DAY
# The years that a date can have.
EARLIEST, LATEST = -62135596800, 253402300799


@dataclass(frozen=True)
class Zone:
    """A zone as data: its offset from UTC in seconds before the first change, then (instant, offset from then on)."""

    name: str
    offset: int
    changes: Tuple[Tuple[int, int], ...] = ()

    def offset_at(self, instant: float) -> int:
        passed = self._changes_until(instant)
        return self.changes[passed - 1][1] if passed else self.offset

    def local(self, instant: float) -> float:
        """What clocks on the wall show, as seconds since their 1970-01-01 00:00."""
        return instant + self.offset_at(instant)

    def first(self, local: float) -> float:
        """The first instant at which clocks show this time or, after a gap, a later one."""
        return min(max(begin, local - offset) for begin, end, offset in self._spans(local) if local - offset < end)

    def last(self, local: float) -> float:
        """The last instant until which clocks have not gone past this time; in a gap, its end."""
        return max(min(end, local - offset) for begin, end, offset in self._spans(local) if begin + offset <= local)

    def _changes_until(self, instant: float) -> int:
        return bisect_right(self.changes, (instant, math.inf))

    def _spans(self, local: float) -> List[Tuple[float, float, int]]:
        """Begin, end and offset of each time of one offset in which this local time can be."""
        near = self.changes[self._changes_until(local - _FAR) : self._changes_until(local + _FAR)]
        borders = [-math.inf, *(instant for instant, _offset in near), math.inf]
        offsets = [self.offset_at(local - _FAR), *(offset for _instant, offset in near)]
        return list(zip(borders, borders[1:], offsets))


UTC = Zone("UTC", 0)


@dataclass(frozen=True)
class Opening:
    """One time of being open, its end included: what ends just then is still inside."""

    begin: float
    end: float
    zone: Zone

    def has_room(self, start: float, room: float) -> bool:
        return self.begin <= start < self.end and start + room <= self.end

    def covers(self, instant: float) -> bool:
        return self.begin <= instant <= self.end


@dataclass(frozen=True)
class Window:
    """A window of each week. Begin and end in seconds after midnight; one that ends before it begins ends on the next day."""

    days: Tuple[int, ...]
    begin: int
    end: int
    timezone: str
    # None: there is no data for the zone, and the window never counts as open.
    zone: Optional[Zone] = None

    def openings(self, *, since: float, until: float) -> Iterator[Opening]:
        """In order, all that may be open between the two instants, and perhaps a few around them."""
        if self.zone is None:
            return
        # A window of the day before yesterday can still be open: where clocks go back over midnight, they show two dates.
        first, last = _day(self.zone.local(since)) - 2, _day(self.zone.local(until)) + 1
        for day in range(first, last + 1):
            if _weekday(day) in self.days:
                yield self._opening(self.zone, day)

    def _opening(self, zone: Zone, day: int) -> Opening:
        last_day = day if self.end > self.begin else day + 1
        return Opening(zone.first(day * DAY + self.begin), zone.last(last_day * DAY + self.end), zone)


def parse_windows(values: Any) -> Tuple[Window, ...]:
    """Windows from plain data; only UTC brings its zone along, `with_zones` gives the others theirs."""
    return tuple(_window(entry) for entry in read_entries(values, kind="window", keys=KEYS))


def with_zones(windows: Tuple[Window, ...], zones: Mapping[str, Zone]) -> Tuple[Window, ...]:
    return tuple(replace(window, zone=zones.get(window.timezone, window.zone)) for window in windows)


def first_opening(windows: Tuple[Window, ...], *, now: float, room: float, before: float) -> Optional[Opening]:
    """The opening in which work of this length can start first, at `now` or later and before a limit; of two, the one that ends later."""
    found = [opening for opening in (_first_of(window, now, room, before) for window in windows) if opening]
    return min(found, key=lambda opening: (max(now, opening.begin), -opening.end), default=None)


def open_now(windows: Tuple[Window, ...], *, now: float, room: float) -> Optional[Opening]:
    """The opening in which work of this length can start at this moment; of two, the one that ends later."""
    around = [opening for window in windows for opening in window.openings(since=now, until=now)]
    return max((opening for opening in around if opening.has_room(now, room)), key=lambda opening: opening.end, default=None)


def say_instant(instant: float, zone: Zone = UTC) -> str:
    """An instant for people, such as "Sat 2026-11-21 22:00 Europe/Berlin"; seconds only where there are any."""
    local = min(max(zone.local(instant), EARLIEST), LATEST)
    date, clock = format_instant(local)[:-1].split("T")
    return "%s %s %s %s" % (WEEKDAYS[_weekday(_day(local))], date, clock[:5] if clock.endswith(":00") else clock, zone.name)


def _first_of(window: Window, now: float, room: float, before: float) -> Optional[Opening]:
    for opening in window.openings(since=now, until=min(before, now + _FARTHEST_OPENING)):
        start = max(now, opening.begin)
        if start < before and opening.has_room(start, room):
            return opening
    return None


def _day(local: float) -> int:
    return math.floor(local / DAY)


def _weekday(day: int) -> int:
    return (day + _EPOCH_WEEKDAY) % len(WEEKDAYS)


def _window(entry: Entry) -> Window:
    days = entry.words("days", _DAYS) if entry.has("days") else tuple(range(len(WEEKDAYS)))
    begin, end = _clock(entry, "from"), _clock(entry, "to")
    if begin == end:
        entry.refuse("to", "it is the same as from; a whole day is from 00:00 to 24:00")
    timezone = entry.text("timezone")
    return Window(tuple(sorted(set(days))), begin, end, timezone, UTC if timezone == UTC.name else None)


def _clock(entry: Entry, key: str) -> int:
    """Seconds after midnight. YAML reads an unquoted 22:00 as 1320, and 06:00 as text: only text is taken."""
    value = entry.value(key)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        entry.refuse(key, "%s is not a time of day; YAML makes a number of an unquoted 22:00: put it in quotes" % quoted(value))
    text = entry.text(key)
    if key == "to" and text == _MIDNIGHT_AT_THE_END:
        return DAY
    match = _CLOCK.fullmatch(text)
    if match is None:
        entry.refuse(key, '%s is not a time of day such as "22:00"' % quoted(text))
    return int(match.group(1)) * HOUR + int(match.group(2)) * MINUTE
