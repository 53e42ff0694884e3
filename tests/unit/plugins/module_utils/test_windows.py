# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Windows over zones that are data: when they open, when they close, and what is no window at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import (
    UTC,
    Opening,
    Window,
    Zone,
    first_opening,
    open_now,
    parse_windows,
    say_instant,
    with_zones,
)
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import (
    APIA,
    BERLIN,
    DAY,
    HOUR,
    KATHMANDU,
    LORD_HOWE,
    MINUTE,
    NEW_YORK,
    ST_JOHNS,
    utc,
)

EVERY_DAY = (0, 1, 2, 3, 4, 5, 6)
SATURDAY, SUNDAY = 5, 6


def window(begin: str, end: str, zone: Optional[Zone] = UTC, days: Tuple[int, ...] = EVERY_DAY) -> Window:
    (parsed,) = parse_windows([{"from": begin, "to": end, "timezone": zone.name if zone else "Nowhere/Land"}])
    return replace(parsed, zone=zone, days=days)


# Zones


@pytest.mark.parametrize(
    ("instant", "offset"),
    [
        (utc("2026-03-29 00:59:59"), HOUR),
        (utc("2026-03-29 01:00"), 2 * HOUR),
        (utc("2026-10-25 00:59:59"), 2 * HOUR),
        (utc("2026-10-25 01:00"), HOUR),
        (utc("2027-03-28 01:00"), 2 * HOUR),
        (utc("2099-01-01 00:00"), 2 * HOUR),
        (-(10**12), HOUR),
    ],
)
def test_an_offset_holds_from_the_instant_of_its_change_on(instant: int, offset: int) -> None:
    assert BERLIN.offset_at(instant) == offset
    assert BERLIN.local(instant) == instant + offset


@pytest.mark.parametrize(
    ("zone", "local", "first", "last"),
    [
        (UTC, "2026-03-29 02:30", "2026-03-29 02:30", "2026-03-29 02:30"),
        (KATHMANDU, "2026-03-29 05:45", "2026-03-29 00:00", "2026-03-29 00:00"),
        (BERLIN, "2026-03-29 01:59", "2026-03-29 00:59", "2026-03-29 00:59"),
        (BERLIN, "2026-03-29 02:00", "2026-03-29 01:00", "2026-03-29 01:00"),
        (BERLIN, "2026-03-29 02:30", "2026-03-29 01:00", "2026-03-29 01:00"),
        (BERLIN, "2026-03-29 03:00", "2026-03-29 01:00", "2026-03-29 01:00"),
        (BERLIN, "2026-03-29 03:01", "2026-03-29 01:01", "2026-03-29 01:01"),
        (BERLIN, "2026-10-25 01:59", "2026-10-24 23:59", "2026-10-24 23:59"),
        (BERLIN, "2026-10-25 02:00", "2026-10-25 00:00", "2026-10-25 01:00"),
        (BERLIN, "2026-10-25 02:30", "2026-10-25 00:30", "2026-10-25 01:30"),
        (BERLIN, "2026-10-25 03:00", "2026-10-25 02:00", "2026-10-25 02:00"),
        (NEW_YORK, "2026-03-08 02:30", "2026-03-08 07:00", "2026-03-08 07:00"),
        (NEW_YORK, "2026-11-01 01:30", "2026-11-01 05:30", "2026-11-01 06:30"),
        (LORD_HOWE, "2026-10-04 02:15", "2026-10-03 15:30", "2026-10-03 15:30"),
        (LORD_HOWE, "2026-10-04 02:30", "2026-10-03 15:30", "2026-10-03 15:30"),
        (LORD_HOWE, "2026-04-05 01:45", "2026-04-04 14:45", "2026-04-04 15:15"),
        (LORD_HOWE, "2026-04-05 02:00", "2026-04-04 15:30", "2026-04-04 15:30"),
        (ST_JOHNS, "2010-11-06 23:30", "2010-11-07 02:00", "2010-11-07 03:00"),
        (APIA, "2011-12-30 12:00", "2011-12-30 10:00", "2011-12-30 10:00"),
    ],
)
def test_a_local_time_has_a_first_and_a_last_instant(zone: Zone, local: str, first: str, last: str) -> None:
    assert zone.first(utc(local)) == utc(first)
    assert zone.last(utc(local)) == utc(last)


def test_a_change_two_days_away_does_not_disturb() -> None:
    change = utc("2026-03-29 01:00")
    for distance in (-3 * DAY, -2 * DAY - 1, -2 * DAY, -2 * DAY + 1, 2 * DAY - 1, 2 * DAY, 2 * DAY + 1, 3 * DAY):
        local = change + distance
        offset = HOUR if distance < 0 else 2 * HOUR
        assert BERLIN.first(local) == BERLIN.last(local) == local - offset


def test_the_largest_offsets_are_found_next_to_their_change() -> None:
    east, west = Zone("Test/East", 0, ((0, 26 * HOUR),)), Zone("Test/West", 0, ((0, -25 * HOUR),))
    assert (east.first(26 * HOUR), east.last(26 * HOUR - 1)) == (0, 0)
    assert (west.first(-25 * HOUR), west.last(-25 * HOUR)) == (-25 * HOUR, 0)


# Openings


@pytest.mark.parametrize(
    ("zone", "begin", "end", "opens", "closes"),
    [
        (UTC, "09:00", "17:00", "2026-11-18 09:00", "2026-11-18 17:00"),
        (UTC, "22:00", "06:00", "2026-11-17 22:00", "2026-11-18 06:00"),
        (KATHMANDU, "22:00", "06:00", "2026-11-17 16:15", "2026-11-18 00:15"),
        (UTC, "00:00", "24:00", "2026-11-17 00:00", "2026-11-18 00:00"),
        # Clocks go forward: the gap from 02:00 to 03:00 is not there to be open in.
        (BERLIN, "01:00", "04:00", "2026-03-29 00:00", "2026-03-29 02:00"),
        (BERLIN, "02:30", "04:00", "2026-03-29 01:00", "2026-03-29 02:00"),
        (BERLIN, "01:00", "02:30", "2026-03-29 00:00", "2026-03-29 01:00"),
        (NEW_YORK, "02:30", "04:00", "2026-03-08 07:00", "2026-03-08 08:00"),
        (LORD_HOWE, "02:15", "03:00", "2026-10-03 15:30", "2026-10-03 16:00"),
        # Clocks go back: from the first 02:30 to the second.
        (BERLIN, "02:30", "02:45", "2026-10-25 00:30", "2026-10-25 01:45"),
        (BERLIN, "01:00", "02:30", "2026-10-24 23:00", "2026-10-25 01:30"),
        (NEW_YORK, "01:30", "05:00", "2026-11-01 05:30", "2026-11-01 10:00"),
        (LORD_HOWE, "01:30", "01:45", "2026-04-04 14:30", "2026-04-04 15:15"),
    ],
)
def test_a_window_opens_and_closes_by_its_own_clock(zone: Zone, begin: str, end: str, opens: str, closes: str) -> None:
    found = first_opening((window(begin, end, zone),), now=utc(opens), room=0, before=utc(closes))
    assert found == Opening(utc(opens), utc(closes), zone)


def test_a_window_that_lies_in_a_gap_is_never_open_that_day() -> None:
    night = (window("02:00", "03:00", BERLIN),)
    since = utc("2026-03-28 12:00")
    found = first_opening(night, now=since, room=0, before=since + 10 * DAY)
    assert found == Opening(utc("2026-03-30 00:00"), utc("2026-03-30 01:00"), BERLIN)


def test_a_window_on_a_day_that_does_not_exist_is_not_open() -> None:
    friday = (window("09:00", "17:00", APIA, days=(4,)),)
    found = first_opening(friday, now=utc("2011-12-29 12:00"), room=0, before=utc("2012-01-10 00:00"))
    assert found is not None
    assert found.begin == utc("2012-01-06 09:00") - 14 * HOUR


def test_an_overnight_window_belongs_to_the_day_on_which_it_opens() -> None:
    saturday = (window("22:00", "06:00", BERLIN, days=(SATURDAY,)),)
    opening = Opening(utc("2026-11-21 21:00"), utc("2026-11-22 05:00"), BERLIN)
    friday_night, sunday_morning = utc("2026-11-20 22:00"), utc("2026-11-22 04:00")
    assert first_opening(saturday, now=friday_night, room=0, before=friday_night + 7 * DAY) == opening
    assert open_now(saturday, now=friday_night, room=0) is None
    assert open_now(saturday, now=sunday_morning, room=0) == opening
    assert open_now(saturday, now=sunday_morning + DAY, room=0) is None


@pytest.mark.parametrize("weekday", range(7))
def test_weekdays_are_those_of_the_calendar(weekday: int) -> None:
    """The 16th of November 2026 is a Monday."""
    noon = utc("2026-11-%d 12:00" % (16 + weekday))
    is_open = [open_now((window("00:00", "24:00", days=(day,)),), now=noon, room=0) is not None for day in range(7)]
    assert is_open == [day == weekday for day in range(7)]


def test_the_day_is_the_one_on_the_wall_and_not_in_utc() -> None:
    monday_in_kathmandu = utc("2026-11-15 18:15")
    monday = (window("00:00", "24:00", KATHMANDU, days=(0,)),)
    assert open_now(monday, now=monday_in_kathmandu - 1, room=0) is None
    assert open_now(monday, now=monday_in_kathmandu, room=0) is not None


def test_a_window_of_the_day_before_yesterday_can_be_open_where_clocks_go_back_over_midnight() -> None:
    """At 02:30:30 UTC the calendar shows the 7th, and half a minute later the 6th again."""
    daily = (window("23:45", "23:30", ST_JOHNS, days=(4,)),)  # Friday the 5th, until Saturday the 6th
    assert ST_JOHNS.local(utc("2010-11-07 02:30:30")) == utc("2010-11-07 00:00:30")
    found = open_now(daily, now=utc("2010-11-07 02:30:30"), room=0)
    assert found == Opening(utc("2010-11-06 02:15"), utc("2010-11-07 03:00"), ST_JOHNS)


def test_both_borders_of_an_opening_in_seconds() -> None:
    """Work starts from the first second on and ends at the last; nothing starts when it ends."""
    opening = Opening(100, 200, UTC)
    assert [opening.has_room(start, 0) for start in (99.9, 100, 199.9, 200)] == [False, True, True, False]
    assert [opening.has_room(start, 50) for start in (99.9, 100, 150, 150.1)] == [False, True, True, False]
    assert [opening.covers(instant) for instant in (99.9, 100, 200, 200.1)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("now", "room", "begins"),
    [
        ("2026-11-18 08:00", 8 * HOUR, "2026-11-18 09:00"),
        ("2026-11-18 09:00", 8 * HOUR, "2026-11-18 09:00"),
        ("2026-11-18 09:01", 8 * HOUR, "2026-11-19 09:00"),
        ("2026-11-18 16:55", 5 * MINUTE, "2026-11-18 09:00"),
        ("2026-11-18 16:56", 5 * MINUTE, "2026-11-19 09:00"),
        ("2026-11-18 16:59:59", 0, "2026-11-18 09:00"),
        ("2026-11-18 17:00", 0, "2026-11-19 09:00"),
    ],
)
def test_the_whole_work_has_room_before_a_window_closes(now: str, room: int, begins: str) -> None:
    found = first_opening((window("09:00", "17:00"),), now=utc(now), room=room, before=utc(now) + 9 * DAY)
    assert found is not None
    assert found.begin == utc(begins)
    at_once = open_now((window("09:00", "17:00"),), now=utc(now), room=room)
    assert (at_once is not None) == (utc(begins) <= utc(now))


def test_work_longer_than_the_window_never_starts() -> None:
    now = utc("2026-11-18 08:00")
    assert first_opening((window("09:00", "17:00"),), now=now, room=8 * HOUR + 1, before=now + 9999 * DAY) is None


def test_the_search_goes_on_for_400_days_and_the_one_that_follows() -> None:
    """Only the one night with 25 hours has room, and it is seen from far away and not from everywhere."""
    whole_day = (window("00:00", "24:00", BERLIN),)
    long_day = utc("2026-10-24 22:00")
    for days, found in ((401, True), (402, False)):
        opening = first_opening(whole_day, now=long_day - days * DAY, room=25 * HOUR, before=long_day + DAY)
        assert (opening is not None) == found


@pytest.mark.parametrize(("before", "found"), [(0, False), (1, True)])
def test_a_start_lies_before_the_limit_and_not_at_it(before: int, found: bool) -> None:
    begin = utc("2026-11-18 09:00")
    opening = first_opening((window("09:00", "17:00"),), now=begin - HOUR, room=0, before=begin + before)
    assert (opening is not None) == found


def test_a_limit_in_the_past_finds_nothing() -> None:
    now = utc("2026-11-18 12:00")
    for before in (now, now - 1, now - 10 * DAY, -1e17):
        assert first_opening((window("00:00", "24:00"),), now=now, room=0, before=before) is None


def test_of_several_windows_the_first_start_wins_and_then_the_later_end() -> None:
    now = utc("2026-11-18 08:00")
    early, late, long = window("09:00", "10:00"), window("09:30", "20:00"), window("09:00", "11:00")
    for windows in ((early, late, long), (long, late, early)):
        found = first_opening(windows, now=now, room=0, before=now + DAY)
        assert found == Opening(utc("2026-11-18 09:00"), utc("2026-11-18 11:00"), UTC)
    found = first_opening((early, late), now=now, room=2 * HOUR, before=now + DAY)
    assert found is not None
    assert found.begin == utc("2026-11-18 09:30")
    assert open_now((early, long, late), now=utc("2026-11-18 09:45"), room=0) == Opening(
        utc("2026-11-18 09:30"), utc("2026-11-18 20:00"), UTC
    )


def test_a_window_that_is_open_already_starts_now_and_not_at_its_beginning() -> None:
    now = utc("2026-11-18 12:00")
    open_long, opens_soon = window("09:00", "17:00"), window("12:01", "24:00")
    found = first_opening((opens_soon, open_long), now=now, room=0, before=now + DAY)
    assert found is not None
    assert found.begin == utc("2026-11-18 09:00")


def test_without_zone_data_no_window_counts_as_open() -> None:
    closed = (window("00:00", "24:00", None),)
    now = utc("2026-11-18 12:00")
    assert open_now(closed, now=now, room=0) is None
    assert first_opening(closed, now=now, room=0, before=now + 9 * DAY) is None
    assert first_opening((), now=now, room=0, before=now + 9 * DAY) is None
    assert open_now((), now=now, room=0) is None


# Words


@pytest.mark.parametrize(
    ("instant", "zone", "words"),
    [
        (utc("2026-11-21 21:00"), BERLIN, "Sat 2026-11-21 22:00 Europe/Berlin"),
        (utc("2026-11-22 23:59:59"), BERLIN, "Mon 2026-11-23 00:59:59 Europe/Berlin"),
        (utc("2026-11-18 10:00") + 0.9, UTC, "Wed 2026-11-18 10:00 UTC"),
        (utc("2026-11-18 10:00:10"), UTC, "Wed 2026-11-18 10:00:10 UTC"),
        (-1e17, UTC, "Mon 0001-01-01 00:00 UTC"),
        (1e17, BERLIN, "Fri 9999-12-31 23:59:59 Europe/Berlin"),
    ],
)
def test_an_instant_in_words_has_weekday_date_clock_and_zone(instant: float, zone: Zone, words: str) -> None:
    assert say_instant(instant, zone) == words


def test_utc_is_the_zone_of_words_without_one() -> None:
    assert say_instant(0) == "Thu 1970-01-01 00:00 UTC"


# Language


def test_a_window_in_plain_data_becomes_a_value() -> None:
    data = [{"days": ["sat", "Sunday", "SAT", "mon"], "from": "22:00", "to": "06:30", "timezone": "Europe/Berlin"}]
    assert parse_windows(data) == (Window((0, SATURDAY, SUNDAY), 22 * HOUR, 6 * HOUR + 30 * MINUTE, "Europe/Berlin", None),)


@pytest.mark.parametrize(
    ("names", "number"),
    [
        (["Mon", "monday"], 0),
        (["Tue", "tuesday"], 1),
        (["Wed", "wednesday"], 2),
        (["Thu", "thursday"], 3),
        (["Fri", "friday"], 4),
        (["Sat", "saturday"], 5),
        (["Sun", "sunday"], 6),
    ],
)
def test_a_day_has_a_short_name_and_a_full_one(names: Any, number: int) -> None:
    data = [{"days": names, "from": "00:00", "to": "24:00", "timezone": "UTC"}]
    assert parse_windows(data) == (Window((number,), 0, DAY, "UTC", UTC),)


def test_a_window_without_days_is_one_of_every_day() -> None:
    assert parse_windows([{"from": "23:59", "to": "00:01", "timezone": "UTC"}])[0].days == EVERY_DAY


def test_no_windows_are_no_error() -> None:
    assert parse_windows([]) == ()


def test_windows_get_the_zones_that_are_there_and_utc_keeps_its_own() -> None:
    windows = parse_windows([{"from": "01:00", "to": "02:00", "timezone": name} for name in ("Europe/Berlin", "UTC", "Asia/Kathmandu")])
    assert [each.zone for each in with_zones(windows, {"Europe/Berlin": BERLIN})] == [BERLIN, UTC, None]


SHORT_NAMES = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
FULL_NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
WINDOW: Dict[str, Any] = {"days": ["Sat"], "from": "22:00", "to": "06:00", "timezone": "Europe/Berlin"}
NUMBER_HINT = "is not a time of day; YAML makes a number of an unquoted 22:00: put it in quotes"
BOOLEAN_HINT = "is not text; YAML makes a boolean of an unquoted yes, no, on or off: put it in quotes"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"days": "Sat"}, "window 1, days: 'Sat' is not a list"),
        ({"days": []}, "window 1, days: the list is empty"),
        (
            {"days": ["Sat", "Sunn"]},
            "window 1, days: 'Sunn' is none of %s" % ", ".join(SHORT_NAMES + FULL_NAMES),
        ),
        ({"days": [5]}, "window 1, days: 5 is not text"),
        ({"from": 1320}, "window 1, from: 1320 " + NUMBER_HINT),
        ({"to": 360.5}, "window 1, to: 360.5 " + NUMBER_HINT),
        ({"from": False}, "window 1, from: False " + BOOLEAN_HINT),
        ({"from": None}, "window 1, from: None is not text"),
        ({"from": "24:00"}, "window 1, from: '24:00' is not a time of day such as \"22:00\""),
        ({"to": "24:01"}, "window 1, to: '24:01' is not a time of day such as \"22:00\""),
        ({"to": "6:00"}, "window 1, to: '6:00' is not a time of day such as \"22:00\""),
        ({"to": "06:60"}, "window 1, to: '06:60' is not a time of day such as \"22:00\""),
        ({"to": "06:00:00"}, "window 1, to: '06:00:00' is not a time of day such as \"22:00\""),
        ({"to": "22:00"}, "window 1, to: it is the same as from; a whole day is from 00:00 to 24:00"),
        ({"timezone": ""}, "window 1, timezone: '' is not text"),
        ({"timezone": 1}, "window 1, timezone: 1 is not text"),
        ({"zone": "UTC"}, "window 1: 'zone' is not a key of a window; it has days, from, to, timezone"),
        ({True: "UTC"}, "window 1: True is not a key of a window; it has days, from, to, timezone"),
    ],
)
def test_what_is_wrong_in_a_window_is_refused_by_its_key(change: Dict[Any, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_windows([{**WINDOW, **change}])
    assert caught.value.message == message


@pytest.mark.parametrize("key", ["from", "to", "timezone"])
def test_a_window_needs_its_times_and_its_zone(key: str) -> None:
    """A zone that is assumed would move a window by hours."""
    with pytest.raises(ConfigurationError) as caught:
        parse_windows([WINDOW, {name: value for name, value in WINDOW.items() if name != key}])
    assert caught.value.message == "window 2: the key %s is missing" % key


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "None is not a list of windows"),
        (WINDOW, "a dict is not a list of windows"),
        (["x"], "window 1: 'x' is not a mapping of keys to values"),
    ],
)
def test_windows_are_a_list_of_mappings(values: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_windows(values)
    assert caught.value.message == message
