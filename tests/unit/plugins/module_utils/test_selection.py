# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _selection
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._selection import Selection, duration_within

NOW = 1794995160.0


def event(**changes: Any) -> Event:
    """A Reboot of web_1 in 14 minutes, with changes."""
    fields = dict(
        event_id="E-1",
        event_type="Reboot",
        event_status="Scheduled",
        event_source="Platform",
        resource_type="VirtualMachine",
        resources=("web_1",),
        not_before=NOW + 840,
        description="",
        duration_seconds=9,
    )
    return Event(**{**fields, **changes})


def passes(selection: Selection, candidate: Event, *, vm_name: Optional[str] = None) -> bool:
    return list(selection.select([candidate], now=NOW, vm_name=vm_name)) == [candidate]


def test_without_a_filter_every_event_passes() -> None:
    assert passes(Selection(), event())
    assert passes(Selection(), event(event_type="New", event_status="New", event_source=None, duration_seconds=None, not_before=None))


@pytest.mark.parametrize(
    ("option", "wanted", "candidate", "passing"),
    [
        ("event_ids", ("e-1",), event(), True),
        ("event_ids", ("E-2", "E-1"), event(), True),
        ("event_ids", ("E-10",), event(), False),
        ("event_ids", ("E-",), event(), False),
        ("event_ids", (), event(), False),
        ("event_types", ("reboot",), event(), True),
        ("event_types", ("Freeze", "Redeploy"), event(), False),
        ("event_types", (), event(), False),
        ("event_types", ("unknown",), event(event_type="GuestImageUpdate"), True),
        ("event_types", ("unknown",), event(), False),
        ("event_types", ("GuestImageUpdate",), event(event_type="GuestImageUpdate"), False),
        ("event_statuses", ("Scheduled",), event(event_status="SCHEDULED"), True),
        ("event_statuses", ("Started",), event(), False),
        ("event_statuses", ("unknown",), event(event_status="Paused"), True),
        ("event_sources", ("Platform",), event(), True),
        ("event_sources", ("User",), event(), False),
        ("event_sources", ("unknown",), event(event_source=None), True),
        ("event_sources", ("unknown",), event(event_source="Nobody"), True),
        ("event_sources", ("Platform", "User"), event(event_source=None), False),
        ("resources", ("WEB_1",), event(), True),
        ("resources", ("web_2",), event(resources=("web_1", "web_2")), True),
        ("resources", ("web_10",), event(), False),
        ("resources", ("web_1",), event(resources=("web_10",)), False),
        ("resources", ("web_1",), event(resources=()), False),
        ("resources", (), event(), False),
    ],
)
def test_a_list_asks_for_one_of_its_whole_names_without_case(option: str, wanted: Tuple[str, ...], candidate: Event, passing: bool) -> None:
    """C-14, C-18, C-20."""
    assert passes(Selection(**{option: wanted}), candidate) is passing


@pytest.mark.parametrize(("vm_name", "passing"), [("web_1", True), ("WEB_1", True), ("web_10", False), ("web", False), (None, False)])
def test_this_vm_only_asks_for_events_that_name_this_vm(vm_name: Optional[str], passing: bool) -> None:
    """C-20."""
    assert passes(Selection(this_vm_only=True), event(), vm_name=vm_name) is passing
    assert passes(Selection(), event(), vm_name=vm_name) is True


@pytest.mark.parametrize(
    ("not_before", "passing"),
    [
        (NOW + 900, True),
        (NOW + 900.1, False),
        (NOW + 901, False),
        (NOW, True),
        (NOW - 3600, True),
        (None, True),
    ],
)
def test_starts_within_keeps_what_may_start_by_then_also_without_a_time(not_before: Optional[float], passing: bool) -> None:
    """C-16: an event without NotBefore has started, or may at any moment."""
    assert passes(Selection(starts_within=900.0), event(not_before=not_before)) is passing


def test_starts_within_no_time_keeps_what_is_due() -> None:
    assert passes(Selection(starts_within=0.0), event(not_before=NOW))
    assert not passes(Selection(starts_within=0.0), event(not_before=NOW + 1))


@pytest.mark.parametrize(
    ("seconds", "shortest", "longest", "within"),
    [
        (None, None, None, True),
        (None, 0.0, None, False),
        (None, None, 1e9, False),
        (9, None, None, True),
        (9, 9.0, None, True),
        (9, 9.1, None, False),
        (9, None, 9.0, True),
        (9, None, 8.9, False),
        (9, 5.0, 10.0, True),
        (4, 5.0, 10.0, False),
        (11, 5.0, 10.0, False),
        (0, 0.0, 0.0, True),
        (0, None, 5.0, True),
    ],
)
def test_an_unknown_duration_is_within_no_limit(
    seconds: Optional[int], shortest: Optional[float], longest: Optional[float], within: bool
) -> None:
    """C-17."""
    assert duration_within(seconds, shortest, longest) is within
    assert passes(Selection(min_duration=shortest, max_duration=longest), event(duration_seconds=seconds)) is within


@pytest.mark.parametrize(
    "failing",
    [
        dict(event_ids=("E-2",)),
        dict(event_types=("Freeze",)),
        dict(event_statuses=("Started",)),
        dict(event_sources=("User",)),
        dict(resources=("web_2",)),
        dict(this_vm_only=True),
        dict(starts_within=1.0),
        dict(min_duration=10.0),
        dict(max_duration=8.0),
    ],
)
def test_all_filters_must_agree(failing: Any) -> None:
    agreeing = dict(
        event_ids=("E-1",),
        event_types=("Reboot",),
        event_statuses=("Scheduled",),
        event_sources=("Platform",),
        resources=("web_1",),
        starts_within=900.0,
        min_duration=5.0,
        max_duration=10.0,
    )
    assert passes(Selection(**agreeing), event())
    assert not passes(Selection(**{**agreeing, **failing}), event(), vm_name="web_3")


def test_what_passes_keeps_its_order() -> None:
    first, second, third = event(event_id="B"), event(event_id="A", event_type="Freeze"), event(event_id="C")
    assert list(Selection(event_types=("Reboot",)).select([first, second, third], now=NOW, vm_name=None)) == [first, third]


def test_filters_offer_the_known_words_and_unknown() -> None:
    assert _selection.TYPE_CHOICES == ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", "unknown")
    assert _selection.STATUS_CHOICES == ("Scheduled", "Started", "unknown")
    assert _selection.SOURCE_CHOICES == ("Platform", "User", "unknown")
