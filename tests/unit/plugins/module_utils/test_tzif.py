# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of time zones, made byte by byte: what is read of them, and what is no such file."""

from __future__ import annotations

from typing import Sequence, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._tzif import parse_zone
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import Zone
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import (
    BERLIN,
    DAY,
    HOUR,
    LORD_HOWE,
    NEW_YORK,
    tzif,
    utc,
)
from hypothesis import given
from hypothesis import strategies as st


def changes_in(rule: str, year: int) -> Tuple[Tuple[int, int], ...]:
    zone = parse_zone("Test/Rule", tzif(rule))
    return tuple(change for change in zone.changes if utc("%d-01-01 00:00" % year) <= change[0] < utc("%d-01-01 00:00" % (year + 1)))


# The table


def test_a_file_without_changes_is_one_offset() -> None:
    assert parse_zone("Test/One", tzif("<+0545>-5:45", types=(20700,))) == Zone("Test/One", 20700, ())


def test_the_first_version_has_a_table_of_narrow_instants() -> None:
    data = tzif(changes=((-100, 1), (200, 0)), types=(0, HOUR), version=b"\0")
    assert parse_zone("Test/Old", data) == Zone("Test/Old", 0, ((-100, HOUR), (200, 0)))


def test_later_versions_have_wide_instants_and_the_first_block_is_left_out() -> None:
    data = tzif(changes=((-(2**40), 1), (2**40, 0)), types=(-HOUR, HOUR), version=b"3")
    assert parse_zone("Test/New", data) == Zone("Test/New", -HOUR, ((-(2**40), HOUR), (2**40, -HOUR)))


def test_a_change_of_the_abbreviation_alone_is_no_change() -> None:
    data = tzif(changes=((0, 1), (100, 2), (200, 0), (300, 1)), types=(0, 0, HOUR))
    assert parse_zone("Test/Same", data).changes == ((100, HOUR), (200, 0))


def test_offsets_up_to_the_limits_of_the_format_are_taken() -> None:
    types = (-25 * HOUR + 1, 26 * HOUR - 1)
    assert parse_zone("Test/Far", tzif(changes=((0, 1),), types=types)) == Zone("Test/Far", types[0], ((0, types[1]),))


# The rule for later times


@pytest.mark.parametrize(
    ("rule", "zone"),
    [
        ("CET-1CEST,M3.5.0,M10.5.0/3", BERLIN),
        ("EST5EDT,M3.2.0,M11.1.0", NEW_YORK),
        ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", LORD_HOWE),
    ],
)
def test_a_rule_is_written_out_into_changes(rule: str, zone: Zone) -> None:
    last_year = tuple(change for change in zone.changes if change[0] >= utc("2027-01-01 00:00"))
    assert changes_in(rule, 2026) + last_year[:1] == zone.changes
    assert changes_in(rule, 2027)[0] == last_year[0]


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        # Days by number: J counts without 29 February from 1, the plain number with it from 0.
        ("AAA0BBB,J59,J60", (("2024-02-28 02:00", HOUR), ("2024-03-01 01:00", 0))),
        ("AAA0BBB,58,59", (("2024-02-28 02:00", HOUR), ("2024-02-29 01:00", 0))),
        ("AAA0BBB,J1,J365", (("2024-01-01 02:00", HOUR), ("2024-12-31 01:00", 0))),
        ("AAA0BBB,0,364", (("2024-01-01 02:00", HOUR), ("2024-12-30 01:00", 0))),
        # Months, weeks and weekdays: 5 is the last one, the fourth or the fifth.
        ("AAA0BBB,M2.5.4,M3.5.5", (("2024-02-29 02:00", HOUR), ("2024-03-29 01:00", 0))),
        ("AAA0BBB,M2.4.4,M3.5.3", (("2024-02-22 02:00", HOUR), ("2024-03-27 01:00", 0))),
        ("AAA0BBB,M1.1.1,M12.4.6", (("2024-01-01 02:00", HOUR), ("2024-12-28 01:00", 0))),
        ("AAA0BBB,M9.1.0,M9.2.0", (("2024-09-01 02:00", HOUR), ("2024-09-08 01:00", 0))),
        # Clocks of the change, also on other days.
        ("AAA0BBB,J100/0,J200/24", (("2024-04-10 00:00", HOUR), ("2024-07-19 23:00", 0))),
        ("AAA0BBB,J100/-1:30,J200/+25:00:30", (("2024-04-09 22:30", HOUR), ("2024-07-20 00:00:30", 0))),
        # Offsets of all kinds; summer is one hour more where nothing is said.
        ("AAA+3BBB,J100,J200", (("2024-04-10 05:00", -2 * HOUR), ("2024-07-19 04:00", -3 * HOUR))),
        ("<-0330>3:30:15BBB2,J100,J200", (("2024-04-10 05:30:15", -2 * HOUR), ("2024-07-19 04:00", -12615))),
        # Winter time as the exception, as Ireland writes it.
        ("IST-1GMT0,M10.5.0,M3.5.0/1", (("2024-03-31 01:00", HOUR), ("2024-10-27 01:00", 0))),
    ],
)
def test_each_form_of_a_rule(rule: str, changes: Sequence[Tuple[str, int]]) -> None:
    assert changes_in(rule, 2024) == tuple((utc(instant), offset) for instant, offset in changes)


def test_a_number_of_the_day_in_a_common_year() -> None:
    assert changes_in("AAA0BBB,J59,J60", 2026) == ((utc("2026-02-28 02:00"), HOUR), (utc("2026-03-01 01:00"), 0))


def test_daylight_saving_all_the_year_is_one_offset() -> None:
    """Each summer ends when the next one begins."""
    zone = parse_zone("Test/Summer", tzif("XXX3YYY2,0/0,J365/25", types=(-3 * HOUR,)))
    assert zone.changes == ((utc("1970-01-01 03:00"), -2 * HOUR), (utc("2200-01-01 03:00"), -3 * HOUR))


def test_a_rule_holds_from_1970_to_2199() -> None:
    changes = parse_zone("Test/Years", tzif("CET-1CEST,M3.5.0,M10.5.0/3", types=(HOUR,))).changes
    assert changes[0] == (utc("1970-03-29 01:00"), 2 * HOUR)
    assert changes[-1] == (utc("2199-10-27 01:00"), HOUR)
    assert len(changes) == 2 * 230


def test_a_rule_begins_where_the_table_ends() -> None:
    last = utc("2026-03-29 01:00")
    zone = parse_zone("Test/Both", tzif("CET-1CEST,M3.5.0,M10.5.0/3", ((0, 1), (last, 2)), (0, HOUR, 3 * HOUR)))
    assert zone.changes[:4] == ((0, HOUR), (last, 3 * HOUR), (utc("2026-10-25 01:00"), HOUR), (utc("2027-03-28 01:00"), 2 * HOUR))


def test_a_rule_without_summer_adds_nothing() -> None:
    assert parse_zone("Test/Plain", tzif("EST5", ((7, 1),), (0, -5 * HOUR))).changes == ((7, -5 * HOUR),)


def test_an_empty_rule_adds_nothing() -> None:
    assert parse_zone("Test/Empty", tzif("", ((7, 1),), (0, -5 * HOUR))).changes == ((7, -5 * HOUR),)


# What is no such file


GOOD = tzif("CET-1CEST,M3.5.0,M10.5.0/3", ((0, 1),), (0, HOUR))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "they end too early"),
        (GOOD[:43], "they end too early"),
        (GOOD[:44], "they end too early"),
        (GOOD[:100], "they end too early"),
        (b"TZiF" + GOOD[4:], "they are not TZif"),
        (b"<html>" * 20, "they are not TZif"),
        (tzif(leaps=1), "they count leap seconds"),
        (tzif(leaps=1, version=b"\0"), "they count leap seconds"),
        (tzif(types=(), version=b"\0"), "they have no type"),
        (tzif(types=(26 * HOUR,)), "an offset is out of range"),
        (tzif(types=(0, -25 * HOUR)), "an offset is out of range"),
        (tzif(changes=((0, 1),)), "a change has an unknown type"),
        (tzif(changes=((0, 0), (0, 0))), "the changes are not in order"),
        (tzif(changes=((0, 0), (1, 0), (-1, 0))), "the changes are not in order"),
        (GOOD[:-1], "they have no rule for later times"),
        (tzif()[:-2], "they have no rule for later times"),
        (tzif()[:-2] + b"xx\n", "they have no rule for later times"),
        (tzif("A0"), "their rule 'A0' cannot be read"),
        (tzif("CET"), "their rule 'CET' cannot be read"),
        (tzif("CET-1CEST"), "their rule 'CET-1CEST' cannot be read"),
        (tzif("CET-1CEST,M3.5.0"), "their rule 'CET-1CEST,M3.5.0' cannot be read"),
        (tzif("CET-1CEST,M13.5.0,M10.5.0"), "their rule 'CET-1CEST,M13.5.0,M10.5.0' cannot be read"),
        (tzif("CET-1CEST,M3.6.0,M10.5.0"), "their rule 'CET-1CEST,M3.6.0,M10.5.0' cannot be read"),
        (tzif("CET-1CEST,M3.5.7,M10.5.0"), "their rule 'CET-1CEST,M3.5.7,M10.5.0' cannot be read"),
        (tzif("CET-1CEST,M3.5.0,M10.5.0 "), "their rule 'CET-1CEST,M3.5.0,M10.5.0 ' cannot be read"),
        (tzif("\xe9"), "their rule '\\ufffd\\ufffd' cannot be read"),
        (tzif("CET-99CEST,M3.5.0,M10.5.0"), "an offset is out of range"),
        (tzif("CET25CEST,M3.5.0,M10.5.0"), "an offset is out of range"),
        (tzif("CET-1CEST-26,M3.5.0,M10.5.0"), "an offset is out of range"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(data: bytes, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_zone("Test/Bad", data)
    assert caught.value.message == "the data of the time zone 'Test/Bad' cannot be used: " + why


@given(st.binary(max_size=300))
def test_any_bytes_are_a_zone_or_an_error_of_ours(data: bytes) -> None:
    _total(data)


@given(st.data())
def test_any_change_of_a_good_file_is_a_zone_or_an_error_of_ours(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(GOOD) - 1))
    _total(GOOD[:position] + data.draw(st.binary(max_size=8)) + GOOD[position + data.draw(st.integers(0, 8)) :])


@given(st.text(alphabet="CETS<>+-0123456789,MJ./:", max_size=40))
def test_any_rule_is_a_zone_or_an_error_of_ours(rule: str) -> None:
    _total(tzif(rule))


def _total(data: bytes) -> None:
    try:
        zone = parse_zone("Test/Any", data)
    except ConfigurationError:
        return
    instants = [instant for instant, _offset in zone.changes]
    assert instants == sorted(set(instants))
    assert abs(zone.offset_at(utc("2026-11-18 10:00"))) < 2 * DAY
