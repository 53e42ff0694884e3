# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import TimeFormatError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import (
    DAY,
    HOUR,
    MINUTE,
    format_instant,
    parse_duration,
    parse_instant,
    quoted,
    say_duration,
)

# 2016-09-19T18:29:47Z, the example of the contract.
INSTANT = 1474309787.0
FIRST_SECOND = -62135596800.0  # 0001-01-01T00:00:00Z
LAST_SECOND = 253402300799.0  # 9999-12-31T23:59:59Z


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("Mon, 19 Sep 2016 18:29:47 GMT", INSTANT),
        ("Fri, 19 Sep 2016 18:29:47 GMT", INSTANT),
        ("Lundi, 19 Sep 2016 18:29:47 GMT", INSTANT),
        ("Mié, 19 Sep 2016 18:29:47 GMT", INSTANT),
        ("Mon., 19 Sep 2016 18:29:47 GMT", INSTANT),
        ("19 Sep 2016 18:29:47 GMT", INSTANT),
        ("Mon,19 sep 2016 18:29:47 UTC", INSTANT),
        ("mon,  19  SEP  2016  18:29:47  GMT", INSTANT),
        ("  Mon, 19 Sep 2016 18:29:47 GMT\r\n", INSTANT),
        ("Thu, 1 Jan 1970 00:00:00 GMT", 0.0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1.0),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 1709164800.0),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1483228800.0),
        ("Mon, 01 Jan 0001 00:00:00 GMT", FIRST_SECOND),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LAST_SECOND),
        ("2016-09-19T18:29:47Z", INSTANT),
        ("2016-09-19t18:29:47z", INSTANT),
        ("2016-09-19 18:29:47Z", INSTANT),
        ("\t2016-09-19T18:29:47Z ", INSTANT),
        ("2016-09-19T18:29:47.5Z", INSTANT + 0.5),
        ("2016-09-19T18:29:47.000000000Z", INSTANT),
        ("2016-09-19T18:29:47+00:00", INSTANT),
        ("2016-09-19T20:29:47+02:00", INSTANT),
        ("2016-09-19T20:59:47+0230", INSTANT),
        ("2016-09-19T15:59:47-02:30", INSTANT),
        ("2016-09-20T18:28:47+23:59", INSTANT),
        ("2016-12-31T23:59:60Z", 1483228800.0),
        ("0001-01-01T00:00:00Z", FIRST_SECOND),
        ("0001-01-01T00:00:00-00:01", FIRST_SECOND + 60),
        ("9999-12-31T23:59:59Z", LAST_SECOND),
        ("9999-12-31T23:59:59+00:01", LAST_SECOND - 60),
    ],
)
def test_a_date_of_either_form_is_an_instant(text: str, instant: float) -> None:
    """C-16: RFC 1123 and ISO 8601, whatever the weekday says."""
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    ("month", "instant"),
    [
        ("Jan", 1483228800.0),
        ("Feb", 1485907200.0),
        ("Mar", 1488326400.0),
        ("Apr", 1491004800.0),
        ("May", 1493596800.0),
        ("Jun", 1496275200.0),
        ("Jul", 1498867200.0),
        ("Aug", 1501545600.0),
        ("Sep", 1504224000.0),
        ("Oct", 1506816000.0),
        ("Nov", 1509494400.0),
        ("Dec", 1512086400.0),
    ],
)
def test_each_month_has_its_english_name(month: str, instant: float) -> None:
    assert parse_instant("Sun, 01 %s 2017 00:00:00 GMT" % month) == instant


@pytest.mark.parametrize("blank", [None, "", " ", "\t\r\n"])
def test_a_blank_not_before_means_no_time(blank: Optional[str]) -> None:
    """C-16: blank once started."""
    assert parse_instant(blank) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("soon", "'soon'"),
        ("Mon, 19 Sep 2016 18:29:47", "'Mon, 19 Sep 2016 18:29:47'"),
        ("Mon, 19 Sep 2016 18:29:47 CET", "'Mon, 19 Sep 2016 18:29:47 CET'"),
        ("Mon, 19 Sept 2016 18:29:47 GMT", "'Mon, 19 Sept 2016 18:29:47 GMT'"),
        ("Mon, 19 Foo 2016 18:29:47 GMT", "'Mon, 19 Foo 2016 18:29:47 GMT'"),
        ("Mon, 19 Sep 16 18:29:47 GMT", "'Mon, 19 Sep 16 18:29:47 GMT'"),
        ("Mon, 0 Sep 2016 18:29:47 GMT", "'Mon, 0 Sep 2016 18:29:47 GMT'"),
        ("Mon, 31 Sep 2016 18:29:47 GMT", "'Mon, 31 Sep 2016 18:29:47 GMT'"),
        ("Mon, 29 Feb 2023 18:29:47 GMT", "'Mon, 29 Feb 2023 18:29:47 GMT'"),
        ("Mon, 19 Sep 2016 24:29:47 GMT", "'Mon, 19 Sep 2016 24:29:47 GMT'"),
        ("Mon, 19 Sep 2016 18:60:47 GMT", "'Mon, 19 Sep 2016 18:60:47 GMT'"),
        ("Mon, 19 Sep 2016 18:29:61 GMT", "'Mon, 19 Sep 2016 18:29:61 GMT'"),
        ("Mon, 19 Sep 2016 8:29:47 GMT", "'Mon, 19 Sep 2016 8:29:47 GMT'"),
        ("Mon, 19 Sep 2016 18:29:47 GMT and more", "'Mon, 19 Sep 2016 18:29:47 GMT and more'"),
        ("Mon, 19 Jan 0000 18:29:47 GMT", "'Mon, 19 Jan 0000 18:29:47 GMT'"),
        ("Fri, 31 Dec 9999 23:59:60 GMT", "'Fri, 31 Dec 9999 23:59:60 GMT'"),
        ("2016-09-19", "'2016-09-19'"),
        ("2016-09-19T18:29:47", "'2016-09-19T18:29:47'"),
        ("2016-13-19T18:29:47Z", "'2016-13-19T18:29:47Z'"),
        ("2016-09-19T18:29:47.Z", "'2016-09-19T18:29:47.Z'"),
        ("2016-09-19T18:29:47.0123456789Z", "'2016-09-19T18:29:47.0123456789Z'"),
        ("2016-09-19T18:29:47+24:00", "'2016-09-19T18:29:47+24:00'"),
        ("2016-09-19T18:29:47+00:60", "'2016-09-19T18:29:47+00:60'"),
        ("0001-01-01T00:00:00+00:01", "'0001-01-01T00:00:00+00:01'"),
        ("9999-12-31T23:59:59-00:01", "'9999-12-31T23:59:59-00:01'"),
        ("\uff12\uff10\uff11\uff16-09-19T18:29:47Z", r"'\uff12\uff10\uff11\uff16-09-19T18:29:47Z'"),
        (1474309787, "1474309787"),
        (False, "False"),
        ([], "a list"),
        ({}, "a dict"),
    ],
)
def test_what_is_no_date_is_refused_in_words(value: Any, said: str) -> None:
    with pytest.raises(TimeFormatError) as caught:
        parse_instant(value)
    assert caught.value.message == "%s is not a date of RFC 1123 or ISO 8601" % said


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Mon, 19 Sep 2016 18:29:61 GMT", "second out of range"),
        ("2016-09-19T18:29:47+24:00", "offset out of range"),
        ("2016-09-19T18:29:47+00:60", "offset out of range"),
    ],
)
def test_a_date_that_no_calendar_has_keeps_the_cause_for_whoever_debugs(text: str, cause: str) -> None:
    with pytest.raises(TimeFormatError) as caught:
        parse_instant(text)
    assert str(caught.value.__cause__) == cause


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (INSTANT, "2016-09-19T18:29:47Z"),
        (INSTANT + 0.999, "2016-09-19T18:29:47Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-0.5, "1969-12-31T23:59:59Z"),
        (FIRST_SECOND, "0001-01-01T00:00:00Z"),
        (LAST_SECOND, "9999-12-31T23:59:59Z"),
    ],
)
def test_an_instant_is_written_as_iso_8601_and_never_later_than_it_is(instant: float, text: str) -> None:
    assert format_instant(instant) == text


def test_the_units_are_what_they_are_called() -> None:
    assert (MINUTE, HOUR, DAY) == (60, 3600, 86400)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (0, 0.0),
        (90, 90.0),
        (1.5, 1.5),
        (0.0, 0.0),
        ("0", 0.0),
        ("1", 1.0),
        ("90", 90.0),
        ("90s", 90.0),
        ("15m", 900.0),
        ("2h", 7200.0),
        ("7d", 604800.0),
        ("1.5h", 5400.0),
        ("0.000001", 0.000001),
        ("0.5 d", 43200.0),
        (" 15 m\n", 900.0),
        ("999999999999d", 999999999999.0 * 86400),
    ],
)
def test_a_duration_is_a_number_of_seconds(value: Any, seconds: float) -> None:
    result = parse_duration(value)
    assert result == seconds
    assert isinstance(result, float)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "''"),
        ("soon", "'soon'"),
        ("m", "'m'"),
        ("5M", "'5M'"),
        ("5x", "'5x'"),
        ("5ms", "'5ms'"),
        ("-5", "'-5'"),
        ("+5", "'+5'"),
        (".5", "'.5'"),
        ("5.", "'5.'"),
        ("1e3", "'1e3'"),
        ("1h30m", "'1h30m'"),
        ("1234567890123", "'1234567890123'"),
        ("1.1234567", "'1.1234567'"),
        ("\u0663", r"'\u0663'"),
        (-1, "-1"),
        (-0.001, "-0.001"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (10**400, "1" + "0" * 59 + "..."),
        (True, "True"),
        (False, "False"),
        (None, "None"),
        ([90], "a list"),
        (b"90", "a bytes"),
    ],
)
def test_what_is_no_duration_is_refused_in_words(value: Any, said: str) -> None:
    with pytest.raises(TimeFormatError) as caught:
        parse_duration(value)
    assert caught.value.message == "%s is not a duration: give seconds, or a number with s, m, h or d such as 15m" % said


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (0.6, "1 s"),
        (1, "1 s"),
        (59, "59 s"),
        (59.6, "1 min"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h"),
        (3601, "1 h 1 s"),
        (3661, "1 h 1 min"),
        (86399, "23 h 59 min"),
        (86400, "1 d"),
        (90061, "1 d 1 h"),
        (86405, "1 d 5 s"),
        (8640000, "100 d"),
        (-90, "1 min 30 s"),
    ],
)
def test_a_duration_is_said_with_its_two_largest_units(seconds: float, words: str) -> None:
    assert say_duration(seconds) == words


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("web", "'web'"),
        ("two\nlines", r"'two\nlines'"),
        ("\u00fc\ud800\x00", r"'\xfc\ud800\x00'"),
        ("x" * 58, "'" + "x" * 58 + "'"),
        ("x" * 59, "'" + "x" * 59 + "..."),
        (None, "None"),
        (True, "True"),
        (7, "7"),
        (0.5, "0.5"),
        (["x"], "a list"),
        ({"a": 1}, "a dict"),
    ],
)
def test_a_foreign_value_is_quoted_in_one_short_line_of_ascii(value: Any, said: str) -> None:
    assert quoted(value) == said
