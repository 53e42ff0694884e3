# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zones as data, so that the tests hold on a machine without any, and a plain reference for windows, minute by minute."""

from __future__ import annotations

import calendar
import struct
import time
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import Window, Zone

MINUTE, HOUR, DAY = 60, 3600, 86400


def utc(text: str) -> int:
    """The instant of "2026-03-29 01:00" in UTC."""
    date, clock = text.split()
    year, month, day = (int(part) for part in date.split("-"))
    hour, minute, second = (int(part) for part in (clock + ":00").split(":")[:3])
    return calendar.timegm((year, month, day, hour, minute, second))


BERLIN = Zone(
    "Europe/Berlin",
    HOUR,
    ((utc("2026-03-29 01:00"), 2 * HOUR), (utc("2026-10-25 01:00"), HOUR), (utc("2027-03-28 01:00"), 2 * HOUR)),
)
NEW_YORK = Zone(
    "America/New_York",
    -5 * HOUR,
    ((utc("2026-03-08 07:00"), -4 * HOUR), (utc("2026-11-01 06:00"), -5 * HOUR), (utc("2027-03-14 07:00"), -4 * HOUR)),
)
LORD_HOWE = Zone(
    "Australia/Lord_Howe",
    11 * HOUR,
    ((utc("2026-04-04 15:00"), 37800), (utc("2026-10-03 15:30"), 11 * HOUR), (utc("2027-04-03 15:00"), 37800)),
)
KATHMANDU = Zone("Asia/Kathmandu", 20700)
# Its clocks went back at one minute past midnight, and so to the day before.
ST_JOHNS = Zone("America/St_Johns", -9000, ((utc("2010-11-07 02:31"), -12600),))
# It left out the 30th of December 2011.
APIA = Zone("Pacific/Apia", -10 * HOUR, ((utc("2011-12-30 10:00"), 14 * HOUR),))

CHANGING_ZONES = (BERLIN, NEW_YORK, LORD_HOWE)


def tzif(
    rule: str = "", changes: Sequence[Tuple[int, int]] = (), types: Sequence[int] = (0,), version: bytes = b"2", leaps: int = 0
) -> bytes:
    """A file with changes as (instant, number of the type); its first block is empty, as newer tools write it."""
    if version == b"\0":
        return _block(b"\0", "l", changes, types, leaps)
    return _block(version, "l", (), (0,), 0) + _block(version, "q", changes, types, leaps) + b"\n" + rule.encode() + b"\n"


def _block(version: bytes, code: str, changes: Sequence[Tuple[int, int]], types: Sequence[int], leaps: int) -> bytes:
    header = struct.pack(">4sc15x6L", b"TZif", version, 1, 1, leaps, len(changes), len(types), 4)
    instants = struct.pack(">%d%s" % (len(changes), code), *(instant for instant, _kind in changes))
    kinds = bytes(kind for _instant, kind in changes)
    offsets = b"".join(struct.pack(">lBB", offset, 0, 0) for offset in types)
    leap_size = 12 if code == "q" else 8
    return header + instants + kinds + offsets + b"ABC\0" + bytes(leap_size * leaps) + b"\0" + b"\0"


class Wall:
    """A clock on the wall, read at each full minute of some days: the plain reference for everything about local time."""

    def __init__(self, zone: Zone, since: int, until: int) -> None:
        self.minutes = [(instant, instant + zone.offset_at(instant)) for instant in range(since, until, MINUTE)]
        self.showing: Dict[int, List[int]] = {}
        for instant, local in self.minutes:
            self.showing.setdefault(local, []).append(instant)

    def first(self, local: int) -> int:
        return self.showing[local][0] if local in self.showing else self._after_the_gap(local)

    def last(self, local: int) -> int:
        return self.showing[local][-1] if local in self.showing else self._after_the_gap(local)

    def openings(self, window: Window) -> List[Tuple[int, int]]:
        """All openings that lie within the days of this clock, but for those near their ends."""
        shown = self.minutes[0][1] + 2 * DAY, self.minutes[-1][1] - 2 * DAY
        days = [day for day in range(shown[0] // DAY, shown[1] // DAY) if calendar.weekday(*_date(day)) in window.days]
        return [(self.first(day * DAY + window.begin), self.last(_closing_day(window, day) * DAY + window.end)) for day in days]

    def first_start(self, windows: Sequence[Window], now: int, room: int, before: int) -> Optional[int]:
        """The first minute at which a window is open and long enough, tried one after the other."""
        openings = [opening for window in windows for opening in self.openings(window)]
        for minute in range(now, before, MINUTE):
            if any(begin <= minute < end and minute + room <= end for begin, end in openings):
                return minute
        return None

    def _after_the_gap(self, local: int) -> int:
        return next(instant for instant, shown in self.minutes if shown > local)


def _closing_day(window: Window, day: int) -> int:
    return day if window.end > window.begin else day + 1


def _date(day: int) -> Tuple[int, int, int]:
    moment = time.gmtime(day * DAY)
    return moment.tm_year, moment.tm_mon, moment.tm_mday
