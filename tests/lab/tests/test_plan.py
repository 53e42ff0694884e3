# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts a lab has."""

from __future__ import annotations

import pytest
from lab import LabError
from lab.plan import MOST_HOSTS, inventory, plan, scopes


@pytest.mark.parametrize("hosts", [1, 6, 7, 16, MOST_HOSTS])
def test_no_two_names_of_a_lab_are_alike_in_any_letter_case(hosts: int) -> None:
    names = [name.casefold() for host in plan(hosts) for name in (host.name, host.host_name, host.vm_name)]
    assert len(set(names)) == len(names) == 3 * hosts
    assert len({host.address for host in plan(hosts)} | {host.mac for host in plan(hosts)}) == 2 * hosts


def test_six_hosts_are_an_availability_set_two_kinds_of_scale_set_and_a_vm_alone() -> None:
    made = {scope["name"]: scope for scope in scopes(plan(6))}
    assert {name: (scope["kind"], len(scope["vms"])) for name, scope in made.items()} == {
        "frontends": ("availability_set", 2),
        "workers": ("scale_set", 2),
        "bastions": ("single", 1),
        "pool": ("scale_set", 1),
    }
    assert made["pool"]["flexible"]
    assert "flexible" not in made["workers"]


def test_a_host_keeps_its_names_in_a_larger_lab() -> None:
    assert plan(16)[:6] == plan(6)


@pytest.mark.parametrize("hosts", [0, -1, MOST_HOSTS + 1])
def test_other_numbers_of_hosts_are_refused(hosts: int) -> None:
    with pytest.raises(LabError, match="1 to %d hosts" % MOST_HOSTS):
        plan(hosts)


def test_the_inventory_has_a_group_for_each_scope() -> None:
    text = inventory(plan(2), {"ansible_user": "it's me"})
    assert "        frontend1: {ansible_host: 10.77.0.11}\n" in text
    assert "    ansible_user: 'it''s me'\n" in text
    assert [line for line in text.splitlines() if line.endswith(":") and line.startswith("    ") and not line.startswith("     ")] == [
        "    frontends:",
        "    workers:",
    ]
