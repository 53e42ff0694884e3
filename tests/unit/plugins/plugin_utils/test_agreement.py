# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options count for the whole run, so all of its hosts have the same."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._agreement import disagreements

NIGHT = [{"from": "22:00", "to": "04:00", "timezone": "UTC"}]


def hosts(**values: Any) -> Dict[str, Dict[str, Any]]:
    """Hosts with these values of rolling_maintenance_windows."""
    return {name: {} if value is None else {"rolling_maintenance_windows": value, "other": name} for name, value in values.items()}


@pytest.mark.parametrize(
    ("hostvars", "given", "other"),
    [
        (hosts(a=NIGHT, b=NIGHT), NIGHT, None),
        (hosts(a=None, b=None), [], None),
        (hosts(a=None, b=""), None, None),
        (hosts(a=None, b=NIGHT, c=NIGHT), [], "b"),
        (hosts(a=NIGHT, b=NIGHT, c=None), NIGHT, "c"),
        (hosts(a=NIGHT, b=[]), NIGHT, "b"),
        # Said in another way, or said although it is the default.
        (hosts(a=NIGHT, b=json.dumps(NIGHT)), NIGHT, None),
        (hosts(a=None, b=[]), [], None),
        (hosts(a=NIGHT, b="no list"), NIGHT, "b"),
        # A play or a task has said something else.
        (hosts(a=None, b=NIGHT), NIGHT, None),
        (hosts(a=NIGHT, b=None), [], None),
    ],
)
def test_an_option_is_the_same_for_all_hosts_of_a_run(hostvars: Dict[str, Any], given: Any, other: Any) -> None:
    words = (
        "rolling_maintenance_windows: it counts for the whole run, and a and %s do not have the same: give it with -e or in group_vars/all"
    )
    assert disagreements({"windows": given}, hostvars, list(hostvars)) == ([] if other is None else [words % other])


def test_only_the_hosts_of_the_run_count() -> None:
    assert disagreements({}, hosts(a=None, b=None, c=NIGHT), ["a", "b"]) == []
    assert disagreements({}, hosts(a=NIGHT), []) == []


def test_a_variable_of_an_extension_point_that_is_made_of_the_name_of_a_host_is_refused() -> None:
    hooks = {name: [{"tasks": "/etc/drain.yml", "vars": {"member": name}}] for name in ("web1", "web2")}
    hostvars = {name: {"rolling_maintenance_before_prepare": hook} for name, hook in hooks.items()}
    (said,) = disagreements({"before_prepare": hooks["web1"]}, hostvars, ["web1", "web2"])
    assert said.startswith("rolling_maintenance_before_prepare: it counts for the whole run, and web1 and web2 do not have the same:")
    assert said.endswith("use the name of a host in the tasks themselves")


def test_the_hosts_themselves_are_no_variable_of_a_group() -> None:
    hostvars: Dict[str, Dict[str, Any]] = {"a": {}, "b": {"rolling_maintenance_hosts": "b"}}
    (said,) = disagreements({"hosts": "all"}, hostvars, ["a", "b"])
    assert said.endswith("a and b do not have the same: give it with -e")


@pytest.mark.parametrize("option", ["run_id", "evidence_dir"])
def test_what_may_be_made_of_the_time_is_read_once(option: str) -> None:
    hostvars = {name: {"rolling_maintenance_" + option: "/of/" + name} for name in ("a", "b")}
    assert disagreements({option: "/of/a"}, hostvars, ["a", "b"]) == []


def test_what_belongs_to_a_host_may_differ() -> None:
    hostvars = {name: {"rolling_maintenance_vm_name": name, "rolling_maintenance_scope": name} for name in ("a", "b")}
    assert disagreements({}, hostvars, ["a", "b"]) == []
