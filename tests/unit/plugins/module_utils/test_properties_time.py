# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Any date of both forms under any locale, and any duration, against plain references."""

from __future__ import annotations

import locale
import math
import os
import re
import sys
import time
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Iterator, Optional, Tuple, Union

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import TimeFormatError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import (
    format_instant,
    parse_duration,
    parse_instant,
    say_duration,
)
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.dice import Dice, thrown
from hypothesis import example, given
from hypothesis import strategies as st

# What the checks have made: each of them must work. Elsewhere those run that the system offers, and the ids of the tests say which.
MADE = os.environ.get("CLOUD_MAINTENANCE_LOCALES", "").split()
WANTED = ("de_DE.UTF-8", "fr_FR.UTF-8", "ja_JP.UTF-8", "tr_TR.UTF-8", "ar_EG.UTF-8", "C.UTF-8")

EPOCH = datetime(1970, 1, 1)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FIRST_SECOND, LAST_SECOND = -62135596800, 253402300799


def can_be_set(name: str) -> bool:
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return True


LOCALES = MADE or ["C", *(name for name in WANTED if can_be_set(name))]


@pytest.fixture(scope="module", params=LOCALES)
def in_locale(request: Any) -> Iterator[str]:
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, request.param)
    yield request.param
    locale.setlocale(locale.LC_ALL, before)


def test_there_is_at_least_the_plain_locale_and_in_the_checks_there_are_five_others() -> None:
    if MADE:
        assert len(set(MADE) - {"C", "C.UTF-8", "POSIX"}) >= 5
    else:
        assert LOCALES[0] == "C"


def test_the_locale_is_in_force_and_spells_dates_in_its_own_way(in_locale: str) -> None:
    """Else the tests below would run under C whatever their ids say."""
    assert locale.setlocale(locale.LC_TIME) == in_locale
    spelled = time.strftime("%A %d %B", time.struct_time((2016, 12, 19, 0, 0, 0, 0, 354, 0)))
    assert (spelled == "Monday 19 December") is (in_locale in ("C", "C.UTF-8"))


WEEKDAYS = ("", "Mon, ", "Tue, ", "sun, ", "Thu,", "Wednesday, ", "Lundi, ", "Mié, ", "Xyz,  ")
SPELLINGS = (str, str.upper, str.lower)


def date_of(die: Dice) -> Tuple[int, ...]:
    """Year to second, mostly as a calendar has them; also the value before the first and after the last of each."""
    return die.below(10000), die.below(14), die.below(33), die.below(25), die.below(61), die.below(62)


def reference(numbers: Tuple[int, ...], *, ahead: int = 0) -> Optional[int]:
    """The instant by datetime's own arithmetic; None for what no calendar has. Second 60 is the first of the next minute."""
    year, month, day, hour, minute, second = numbers
    if second > 60:
        return None
    try:
        passed = datetime(year, month, day, hour, minute) + timedelta(seconds=second - ahead) - EPOCH
    except (ValueError, OverflowError):
        return None
    return passed.days * 86400 + passed.seconds


def check(text: str, expected: Union[int, Fraction, None]) -> None:
    if expected is None:
        with pytest.raises(TimeFormatError):
            parse_instant(text)
        return
    instant = parse_instant(text)
    assert isinstance(instant, float)
    # Whole seconds exactly; of a fraction as much as numbers of this size can hold.
    assert abs(Fraction(instant) - expected) <= (0 if Fraction(expected).denominator == 1 else (abs(expected) + 10**5) / 2**51)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Mon, 19 Sep 2016 18:29:47 GMT", (2016, 9, 19, 18, 29, 47)),
        ("Mon, 11 Apr 2026 22:26:58 GMT", (2026, 4, 11, 22, 26, 58)),
        ("Sat, 31 Dec 2016 23:59:60 GMT", (2016, 12, 31, 23, 59, 60)),
        ("Fri, 31 Dec 9999 23:59:60 GMT", (9999, 12, 31, 23, 59, 60)),
        ("Wed, 29 Feb 2023 00:00:00 GMT", (2023, 2, 29, 0, 0, 0)),
        ("2016-09-19T18:29:47Z", (2016, 9, 19, 18, 29, 47)),
        ("2016-02-30T18:29:47Z", (2016, 2, 30, 18, 29, 47)),
    ],
)
def test_a_date_of_either_form_is_the_same_under_any_locale(in_locale: str, text: str, numbers: Tuple[int, ...]) -> None:
    """C-16."""
    check(text, reference(numbers))


@given(thrown(20))
def test_any_date_of_rfc_1123_is_what_the_calendar_says_under_any_locale(in_locale: str, dice: bytes) -> None:
    """C-16: in English whatever the locale, and whatever the weekday."""
    die = Dice(dice)
    numbers = date_of(die)
    year, month, day, hour, minute, second = numbers
    name = die.one_of(SPELLINGS)(MONTHS[month - 1] if 1 <= month <= 12 else "Foo")
    date = (die.one_of(WEEKDAYS), die.one_of(("%02d", "%d")) % day, name, year, hour, minute, second, die.one_of(("GMT", "UTC")))
    check("%s%s %s %04d %02d:%02d:%02d %s" % date, reference(numbers))


@given(thrown(20))
def test_any_date_of_iso_8601_is_what_the_calendar_says_under_any_locale(in_locale: str, dice: bytes) -> None:
    """C-16: with Z or an offset, with or without a fraction."""
    die = Dice(dice)
    numbers = date_of(die)
    year, month, day, hour, minute, second = numbers
    text = "%04d-%02d-%02d%s%02d:%02d:%02d" % (year, month, day, die.one_of("Tt "), hour, minute, second)
    fraction = die.one_of(("", ".%d" % die.below(10), ".%05d" % die.below(65536), ".%04d%05d" % (die.below(10000), die.below(65536))))
    hours, minutes, sign = die.below(25), die.below(61), die.one_of((1, -1))
    offset = "%s%02d%s%02d" % ("+" if sign > 0 else "-", hours, die.one_of((":", "")), minutes)
    zone = die.one_of(("Z", "z", offset, offset))
    ahead = 0 if zone in "Zz" else sign * (hours * 3600 + minutes * 60)
    seconds = None if zone == offset and (hours > 23 or minutes > 59) else reference(numbers, ahead=ahead)
    if seconds == LAST_SECOND and fraction:
        return  # no float can tell the end of the last second of all from the year after it
    check(text + fraction + zone, None if seconds is None else seconds + Fraction("0" + fraction))


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("0001-01-01T00:00:00+00:01", None),
        ("0001-01-01T00:00:60+00:01", FIRST_SECOND),
        ("9999-12-31T23:59:59-00:01", None),
        ("9999-12-31T23:59:59+00:01", LAST_SECOND - 60),
        ("2016-09-19T18:29:47.999999999-2359", Fraction("1474396127.999999999")),
    ],
)
def test_an_offset_leads_over_the_borders_of_the_calendar_or_not(text: str, instant: Any) -> None:
    check(text, instant)


DATES = ("Mon, ", "19 Sep 2016", "18:29:47", "GMT", "2016-09-19", "T", "Z", "+02:00", ".5", "60", ",", " ")
pieces = st.sampled_from((*DATES, "\u0663", "\x00", "\ud800", "9" * 40))


@given(st.lists(pieces, max_size=7).map("".join) | st.text(max_size=30))
@example("Mon, 19 Sep 2016 18:29:47 GMT")
@example("2016-09-19T18:29:47Z")
@example(" ")
def test_any_text_is_an_instant_no_time_or_our_error(text: str) -> None:
    """C-16: nothing else can come of it, and an instant can be written and read again."""
    try:
        instant = parse_instant(text)
    except TimeFormatError as error:
        message = error.message
    else:
        assert (instant is None) is (not text.strip())
        assert instant is None or parse_instant(format_instant(instant)) == math.floor(instant)
        return
    assert message.endswith(" is not a date of RFC 1123 or ISO 8601")
    assert message.isascii()


@given(st.floats(FIRST_SECOND, LAST_SECOND) | st.integers(FIRST_SECOND, LAST_SECOND))
@example(FIRST_SECOND)
@example(LAST_SECOND)
@example(-0.5)
def test_an_instant_is_written_as_the_second_in_which_it_lies(instant: float) -> None:
    text = format_instant(instant)
    assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", text)
    second = parse_instant(text)
    assert second is not None
    assert second <= instant < second + 1


SIZES = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


@given(
    st.integers(0, 10**13 - 1),
    st.none() | st.text("0123456789", min_size=1, max_size=7),
    st.sampled_from((*SIZES, "min", "S", "w")),
    st.sampled_from(("", " ")),
)
@example(10**12 - 1, None, "d", "")
@example(10**12, None, "d", "")
def test_any_duration_as_text_is_its_number_times_its_unit(count: int, decimals: Optional[str], unit: str, blank: str) -> None:
    text = "%s%d%s%s%s%s" % (blank, count, "" if decimals is None else "." + decimals, blank, unit, blank)
    if unit not in SIZES or count >= 10**12 or len(decimals or "") > 6:
        with pytest.raises(TimeFormatError):
            parse_duration(text)
        return
    exact = Fraction("%d.%s" % (count, decimals or "0")) * SIZES[unit]
    assert abs(Fraction(parse_duration(text)) - exact) <= exact / 2**51


@given(st.integers() | st.floats())
@example(10**400)
@example(math.nan)
@example(math.inf)
@example(-0.0)
def test_any_number_is_a_duration_or_our_error(value: float) -> None:
    if 0 <= value <= sys.float_info.max:
        assert parse_duration(value) == float(value)
        return
    with pytest.raises(TimeFormatError):
        parse_duration(value)


SAID = {"d": 86400, "h": 3600, "min": 60, "s": 1}
AT_MOST = {"d": 10**9, "h": 23, "min": 59, "s": 59}


@given(st.floats(0, 10**9) | st.integers(0, 10**7) | st.builds(lambda a, b: a * 3600 + b, st.integers(0, 100), st.integers(-2, 2)))
@example(59.5)
@example(86399.5)
def test_a_duration_is_said_in_its_two_largest_units_and_loses_only_smaller_ones(seconds: float) -> None:
    text = say_duration(seconds)
    words = [(int(count), unit) for count, unit in re.findall(r"([0-9]+) ([a-z]+)", text)]
    assert " ".join("%d %s" % word for word in words) == text
    sizes = [SAID[unit] for _count, unit in words]
    assert 1 <= len(words) <= 2
    assert sizes == sorted(sizes, reverse=True)
    assert all(0 < count <= AT_MOST[unit] for count, unit in words) or text == "0 s"
    lost = abs(seconds) - sum(count * SAID[unit] for count, unit in words)
    assert -0.5 <= lost <= (sizes[-1] - 0.5 if len(words) == 2 else 0.5)
