# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding the data of a zone on the machine, and what happens on one that has none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Facts, Settings, check_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import default_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import UTC, open_now, parse_windows
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._zone import FOLDERS, place_windows, read_zone, zone_folders
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import BERLIN, tzif, utc

BERLIN_FILE = tzif("CET-1CEST,M3.5.0,M10.5.0/3", types=(3600,))


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Berlin").write_bytes(BERLIN_FILE)
    (tmp_path / "Europe" / "Broken").write_bytes(b"TZif")
    return str(tmp_path)


def test_a_zone_is_read_from_the_first_folder_that_has_it(folder: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    zone = read_zone("Europe/Berlin", folders=[str(tmp_path / "empty"), str(tmp_path / "absent"), folder])
    assert zone.name == "Europe/Berlin"
    assert set(BERLIN.changes) < set(zone.changes)


def test_utc_is_there_on_every_machine() -> None:
    assert read_zone("UTC", folders=[]) is UTC


@pytest.mark.parametrize(("folders", "said"), [([], "any folder"), (["/nowhere", "/neither"], "/nowhere, /neither")])
def test_missing_data_are_an_error_of_the_configuration(folders: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_zone("Europe/Berlin", folders=folders)
    assert caught.value.message == "there are no data of the time zone 'Europe/Berlin' in %s: check the name, or install tzdata" % said


def test_a_folder_of_zones_is_no_zone(folder: str) -> None:
    with pytest.raises(ConfigurationError, match="there are no data of the time zone 'Europe' in"):
        read_zone("Europe", folders=[folder])


def test_a_broken_file_is_an_error_of_the_configuration(folder: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_zone("Europe/Broken", folders=[folder])
    assert caught.value.message == "the data of the time zone 'Europe/Broken' cannot be used: they end too early"


@pytest.mark.skipif(not os.path.isfile("/proc/self/mem"), reason="needs a file that exists and cannot be read, even by root")
def test_a_file_that_cannot_be_read_is_an_error_of_the_configuration() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_zone("mem", folders=["/proc/self"])
    assert caught.value.message == "the data of a time zone in /proc/self/mem cannot be read: Input/output error"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../etc/passwd",
        "Europe/../Berlin",
        "Europe//Berlin",
        "Europe/Berlin/",
        "Europe\\Berlin",
        "a b",
        "Europe/Berlin\n",
    ],
)
def test_a_name_does_not_lead_out_of_the_folder(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_zone(name, folders=["/"])
    assert caught.value.message == "%r is not the name of a time zone such as Europe/Berlin" % name


def test_folders_are_looked_at_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tzdata").mkdir()
    (tmp_path / "tzdata" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    inside = str(tmp_path / "tzdata" / "zoneinfo")
    assert zone_folders({"TZDIR": "/my/zones"}) == ("/my/zones", *FOLDERS, inside)
    assert zone_folders({"TZDIR": ""}) == (*FOLDERS, inside)


def test_a_machine_without_the_package_has_the_folders_of_its_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    assert zone_folders({}) == FOLDERS


def test_tzdir_names_the_folder_to_read(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setenv("TZDIR", folder)
    assert set(BERLIN.changes) < set(read_zone("Europe/Berlin").changes)


def windows_of(*names: str) -> Any:
    return parse_windows([{"from": "00:00", "to": "24:00", "timezone": name} for name in names])


def test_windows_get_their_zones_and_the_problems_are_named_once(folder: str) -> None:
    windows, problems = place_windows(windows_of("UTC", "Europe/Berlin", "Nowhere/Land", "Nowhere/Land"), folders=[folder])
    assert [window.zone.name if window.zone else None for window in windows] == ["UTC", "Europe/Berlin", None, None]
    assert problems == ("there are no data of the time zone 'Nowhere/Land' in %s: check the name, or install tzdata" % folder,)


def test_on_a_machine_without_data_the_check_fails_and_no_window_counts_as_open() -> None:
    windows, problems = place_windows(windows_of("UTC", "Europe/Berlin"), folders=[])
    assert len(problems) == 1
    assert open_now(windows[1:], now=utc("2026-11-18 10:00"), room=0) is None
    assert open_now(windows, now=utc("2026-11-18 10:00"), room=0) is not None
    with pytest.raises(ConfigurationError) as caught:
        check_policy(default_policy(), facts=Facts(clock_error=30), settings=Settings(windows=windows))
    assert caught.value.message == "window 2, timezone: there are no data for 'Europe/Berlin', the window can never be open"
