# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Time zones from the bytes of their files, in the format TZif of RFC 8536. Pure.

Private to the collection. A file has a table of changes and, since its second version, a rule for all times after it;
the rule is written out into the same table, so that a zone is nothing but data.
"""

from __future__ import annotations

import calendar
import re
import struct
from dataclasses import dataclass
from datetime import date
from typing import Iterable, Iterator, Match, Optional, Sequence, Tuple

from ._errors import ConfigurationError
from ._time import DAY, HOUR, MINUTE, quoted
from ._windows import Zone

Change = Tuple[int, int]

# Magic, version, then how many: flags of two kinds, leap seconds, changes, types, characters of abbreviations.
_HEADER = struct.Struct(">4sc15x6L")
_MAGIC = b"TZif"
_FIRST_VERSION = b"\0"
# Offset from UTC, daylight saving or not, place of the abbreviation.
_TYPE = struct.Struct(">lBB")
# Bytes of an instant in the block of the first version, and in the one that later versions add.
_NARROW, _WIDE = 4, 8
_CODES = {_NARROW: "l", _WIDE: "q"}
# The format allows offsets between these two.
_LOWEST_OFFSET, _HIGHEST_OFFSET = -25 * HOUR, 26 * HOUR
# A rule is written out for these years: no maintenance is announced for later ones.
_YEARS = range(1970, 2200)
_EPOCH = date(1970, 1, 1).toordinal()
_LEAP_DAY = 60
_WEEK = 7
_DEFAULT_CLOCK = 2 * HOUR

_NAME = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)"
_OFFSET = r"[+-]?[0-9]{1,2}(?::[0-5][0-9]){0,2}"
# Later versions let a rule name hours of other days.
_CLOCK = r"[+-]?[0-9]{1,3}(?::[0-5][0-9]){0,2}"
_DAY = r"M(?:[1-9]|1[0-2])\.[1-5]\.[0-6]|J[0-9]{1,3}|[0-9]{1,3}"
_RULE = re.compile(
    _NAME + "(?P<standard>" + _OFFSET + ")"
    "(?:" + _NAME + "(?P<summer>" + _OFFSET + ")?"
    ",(?P<begin>" + _DAY + ")(?:/(?P<begin_clock>" + _CLOCK + "))?"
    ",(?P<end>" + _DAY + ")(?:/(?P<end_clock>" + _CLOCK + "))?)?"
)


class _Malformed(Exception):
    """The bytes are not what the format says."""


@dataclass(frozen=True)
class _Header:
    """How many of each thing the block behind it has."""

    version: bytes
    utc_flags: int
    standard_flags: int
    leaps: int
    changes: int
    types: int
    characters: int

    def size(self, width: int) -> int:
        changes, leaps = self.changes * (width + 1), self.leaps * (width + 4)
        return changes + self.types * _TYPE.size + self.characters + leaps + self.standard_flags + self.utc_flags


class _Reader:
    """Bytes, taken from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def take(self, size: int) -> bytes:
        if size > len(self._data):
            raise _Malformed("they end too early")
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def rest(self) -> bytes:
        return self._data


def parse_zone(name: str, data: bytes) -> Zone:
    """The zone in the bytes of a file, or ConfigurationError."""
    try:
        return _zone(name, _Reader(data))
    except _Malformed as error:
        raise ConfigurationError("the data of the time zone %s cannot be used: %s" % (quoted(name), error)) from error


def _zone(name: str, reader: _Reader) -> Zone:
    header, width, rule = _header(reader), _NARROW, ""
    if header.version != _FIRST_VERSION:
        # The second block says the same and more.
        reader.take(header.size(_NARROW))
        header, width = _header(reader), _WIDE
    block = reader.take(header.size(width))
    if width == _WIDE:
        rule = _footer(reader.rest())
    offset, table = _table(block, header, width)
    last = table[-1][0] if table else None
    later = (change for change in _changes_of(rule) if last is None or change[0] > last)
    return Zone(name, offset, _real_changes(offset, (*table, *later)))


def _header(reader: _Reader) -> _Header:
    magic, *fields = _HEADER.unpack(reader.take(_HEADER.size))
    if magic != _MAGIC:
        raise _Malformed("they are not TZif")
    return _Header(*fields)


def _table(block: bytes, header: _Header, width: int) -> Tuple[int, Tuple[Change, ...]]:
    """The offset before the first change, and the changes."""
    if header.leaps:
        raise _Malformed("they count leap seconds")
    instants = struct.unpack_from(">%d%s" % (header.changes, _CODES[width]), block)
    kinds = block[header.changes * width : header.changes * (width + 1)]
    offsets = _offsets(block[header.changes * (width + 1) :], header.types)
    if any(kind >= header.types for kind in kinds):
        raise _Malformed("a change has an unknown type")
    if any(one >= other for one, other in zip(instants, instants[1:])):
        raise _Malformed("the changes are not in order")
    return offsets[0], tuple((instant, offsets[kind]) for instant, kind in zip(instants, kinds))


def _offsets(block: bytes, count: int) -> Sequence[int]:
    offsets = [_TYPE.unpack_from(block, number * _TYPE.size)[0] for number in range(count)]
    if not offsets:
        raise _Malformed("they have no type")
    for offset in offsets:
        _check_offset(offset)
    return offsets


def _check_offset(offset: int) -> int:
    if not _LOWEST_OFFSET < offset < _HIGHEST_OFFSET:
        raise _Malformed("an offset is out of range")
    return offset


def _real_changes(offset: int, changes: Iterable[Change]) -> Tuple[Change, ...]:
    """Without those that change nothing; of two at one instant the later holds."""
    real = []
    for instant, following in dict(changes).items():
        if following != offset:
            real.append((instant, following))
        offset = following
    return tuple(real)


def _footer(rest: bytes) -> str:
    rule, end, _more = rest[1:].partition(b"\n")
    if not rest.startswith(b"\n") or not end:
        raise _Malformed("they have no rule for later times")
    return rule.decode("ascii", "replace")


def _changes_of(text: str) -> Sequence[Change]:
    """The changes that a rule such as CET-1CEST,M3.5.0,M10.5.0/3 makes in all years; none without a rule."""
    match = _RULE.fullmatch(text)
    if text and match is None:
        raise _Malformed("their rule %s cannot be read" % quoted(text))
    if match is None or match.group("begin") is None:
        return ()
    return sorted(_changes_of_each_year(match), key=lambda change: change[0])


def _changes_of_each_year(match: Match[str]) -> Iterator[Change]:
    # The rule counts westwards: CET-1 is one hour before UTC.
    standard = _check_offset(-_seconds(match.group("standard")))
    given = match.group("summer")
    summer = _check_offset(standard + HOUR if given is None else -_seconds(given))
    begin_clock, end_clock = _clock(match.group("begin_clock")), _clock(match.group("end_clock"))
    for year in _YEARS:
        yield _midnight(year, match.group("begin")) + begin_clock - standard, summer
        yield _midnight(year, match.group("end")) + end_clock - summer, standard


def _clock(text: Optional[str]) -> int:
    return _DEFAULT_CLOCK if text is None else _seconds(text)


def _seconds(text: str) -> int:
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    seconds = sum(part * unit for part, unit in zip(parts, (HOUR, MINUTE, 1)))
    return -seconds if text.startswith("-") else seconds


def _midnight(year: int, day: str) -> int:
    """Local midnight of a rule's day: M month.week.weekday, J day without 29 February, or day from 0 with it."""
    if day.startswith("M"):
        return _day_of_month(year, *(int(part) for part in day[1:].split("."))) * DAY
    first = date(year, 1, 1).toordinal() - _EPOCH
    if day.startswith("J"):
        number = int(day[1:])
        return (first + number - 1 + (calendar.isleap(year) and number >= _LEAP_DAY)) * DAY
    return (first + int(day)) * DAY


def _day_of_month(year: int, month: int, week: int, weekday: int) -> int:
    """The week-th such weekday of a month, its last one for 5; Sunday is 0."""
    first_weekday, length = calendar.monthrange(year, month)
    day = 1 + (weekday - first_weekday - 1) % _WEEK + (week - 1) * _WEEK
    if day > length:
        day -= _WEEK
    return date(year, month, day).toordinal() - _EPOCH
