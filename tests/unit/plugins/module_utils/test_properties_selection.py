# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Any combination of filters, against a plain second implementation."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._selection import Selection
from hypothesis import example, given
from hypothesis import strategies as st

NOW = 1794995160.0

# Close to each other on purpose: beginnings, endings and other letter cases of one another.
names = st.sampled_from(("vm_1", "VM_1", "vm_10", "vm_", "m_1", "_vm_1", "vm-1", "Vm_10"))
ids = st.sampled_from(("A-1", "a-1", "A-10", "A", "1", "-1", "B"))
types = st.sampled_from(("Reboot", "REBOOT", "Freeze", "Redeploy", "Preempt", "terminate", "unknown", "GuestImageUpdate", "Re"))
statuses = st.sampled_from(("Scheduled", "scheduled", "Started", "STARTED", "Paused", "Unknown"))
sources = st.sampled_from((None, "Platform", "platform", "User", "Nobody", "unknown"))
seconds = st.none() | st.sampled_from((-1.0, 0.0, 0.5, 9.0, 10.0, 899.5, 900.0, 86400.0))

events = st.builds(
    Event,
    event_id=ids,
    event_type=types,
    event_status=statuses,
    event_source=sources,
    resource_type=st.just("VirtualMachine"),
    resources=st.lists(names, max_size=3).map(tuple),
    not_before=seconds.map(lambda ahead: None if ahead is None else NOW + ahead),
    description=st.just(""),
    duration_seconds=st.none() | st.sampled_from((0, 8, 9, 10, 900)),
)


def some(values: Any) -> Any:
    return st.none() | st.lists(values, max_size=3).map(tuple)


filters = st.fixed_dictionaries(
    {},
    optional={
        "event_ids": some(ids),
        "event_types": some(types),
        "event_statuses": some(statuses),
        "event_sources": some(sources.filter(bool)),
        "resources": some(names),
        "this_vm_only": st.booleans(),
        "starts_within": seconds,
        "min_duration": seconds,
        "max_duration": seconds,
    },
)

KNOWN = {
    "event_types": ["FREEZE", "REBOOT", "REDEPLOY", "PREEMPT", "TERMINATE"],
    "event_statuses": ["SCHEDULED", "STARTED"],
    "event_sources": ["PLATFORM", "USER"],
}


def word(value: Optional[str], known: List[str]) -> str:
    return value.upper() if value and value.upper() in known else "UNKNOWN"


def plain_reference(asked: Dict[str, Any], all_events: List[Event], vm_name: Optional[str]) -> List[Event]:
    """Takes away what each filter excludes, one filter after the other."""
    excluded = set()
    for place, event in enumerate(all_events):
        has = {
            "event_ids": {event.event_id.upper()},
            "event_types": {word(event.event_type, KNOWN["event_types"])},
            "event_statuses": {word(event.event_status, KNOWN["event_statuses"])},
            "event_sources": {word(event.event_source, KNOWN["event_sources"])},
            "resources": {name.upper() for name in event.resources},
        }
        for option, values in has.items():
            wanted = asked.get(option)
            if wanted is not None and values.isdisjoint(name.upper() for name in wanted):
                excluded.add(place)
        if asked.get("this_vm_only") and (vm_name or "?").upper() not in has["resources"]:
            excluded.add(place)
        if asked.get("starts_within") is not None and event.not_before and event.not_before > NOW + asked["starts_within"]:
            excluded.add(place)
        for option, direction in (("min_duration", 1), ("max_duration", -1)):
            limit = asked.get(option)
            if limit is not None and (event.duration_seconds is None or direction * event.duration_seconds < direction * limit):
                excluded.add(place)
    return [event for place, event in enumerate(all_events) if place not in excluded]


@given(filters, st.lists(events, max_size=5), st.none() | names)
@example({"resources": ("vm_1",)}, [], None)
@example({"this_vm_only": True, "event_ids": ()}, [], "vm_1")
def test_any_combination_of_filters_selects_what_a_plain_reference_selects(
    asked: Dict[str, Any], all_events: List[Event], vm_name: Optional[str]
) -> None:
    """C-14, C-17, C-18, C-20: whole names without case, unknown words, unknown durations."""
    selected = list(Selection(**asked).select(all_events, now=NOW, vm_name=vm_name))
    assert selected == plain_reference(asked, all_events, vm_name)
