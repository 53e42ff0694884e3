# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom an event names since it was posted (`_newcomers`, W-10)."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.filter.maintenance_newcomers import FilterModule
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._newcomers import joined, newcomers
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import Night, entry, key_of

E1, E2 = key_of("E1"), key_of("E2")


def host(name: str, vm_name: Any, **changes: Any) -> Dict[str, Any]:
    """As maintenance_fleet has it."""
    return {"name": name, "vm_name": vm_name, "subscription": "SUB", "resource_group": "Fleet", "in_run": True, **changes}


FLEET: Dict[str, Any] = {
    "hosts": [
        host("web1", "vm-web1"),
        host("web9", "VM-Web9"),
        host("twin", "vm-web9", resource_group="other"),
        host("left8", "vm-web8", in_run=False),
        host("blank", None),
    ]
}
PLAN = Night(entry("E1", "web1"), entry("E2", "web1")).plan


def post(*names: str, key: str = E1, outcome: str = "taken") -> Dict[str, Any]:
    return {"key": key, "outcome": outcome, "result": {"result": "approved", "event": {"resources": list(names)}}}


def test_a_host_of_the_run_that_has_joined_is_found_by_its_name_in_the_resource_group_of_the_event() -> None:
    """C-18, C-20."""
    assert newcomers(FLEET, PLAN, [post("VM-WEB1", "vm-web9")]) == [{"key": E1, "vm_name": "vm-web9", "host": "web9"}]


def test_whoever_is_no_host_of_the_run_is_nobody_who_could_be_asked() -> None:
    posts = [post("vm-web1", "vm-web8", "stranger")]
    assert newcomers(FLEET, PLAN, posts) == []
    assert joined(PLAN["events"][0], posts) == ["vm-web8", "stranger"]


def test_each_event_and_each_name_counts_once_however_often_it_was_posted() -> None:
    posts = [post("vm-web9"), post("VM-WEB9"), post("vm-web9", key=E2)]
    assert [one["key"] for one in newcomers(FLEET, PLAN, posts)] == [E1, E2]


@pytest.mark.parametrize(
    "posts",
    [[], [post("vm-web1")], [post("vm-web9", outcome="refused")], [post("vm-web9", key="another")], [{"key": E1}], [{"key": 7}], ["words"]],
)
def test_where_nobody_has_joined_there_is_nobody(posts: List[Any]) -> None:
    """What was refused is not begun early, so there is time for another plan."""
    assert newcomers(FLEET, PLAN, posts) == []


@pytest.mark.parametrize("value", [None, "words", 7, [], {}, {"hosts": "words"}, {"events": [{"key": E1}]}])
def test_whatever_it_is_given_it_does_not_fail(value: Any) -> None:
    asked = FilterModule().filters()["maintenance_newcomers"]
    assert asked(value, PLAN, [post("vm-web9")]) == []
    assert asked(FLEET, value, [post("vm-web9")]) == []
    assert asked(FLEET, PLAN, value) == []
