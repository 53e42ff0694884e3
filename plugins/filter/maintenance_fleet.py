# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_fleet
short_description: Tell what is known of the hosts of an inventory
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance), and of little use without it.
  - Reads from the variables of the hosts who they are to Azure, and what they have answered.
positional: names
options:
  _input:
    description: The variables of all hosts, C(hostvars).
    type: dict
    required: true
  names:
    description: The hosts of the inventory.
    type: list
    elements: str
    required: true
  in_run:
    description: The hosts that this run may touch.
    type: list
    elements: str
    default: []
  before:
    description: The fleet of an earlier look. What it has of a host stays, unless the host has said something new.
    type: dict
  groups:
    description: The groups that count. Without it all groups of a host do.
    type: list
    elements: str
seealso:
  - plugin: cloud_maintenance.azure.maintenance_askers
    plugin_type: filter
  - plugin: cloud_maintenance.azure.maintenance_plan
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show who the hosts of this play are to Azure
  ansible.builtin.debug:
    msg: "{{ hostvars | cloud_maintenance.azure.maintenance_fleet(groups['all'], in_run=ansible_play_hosts_all) }}"
"""

RETURN = r"""
_value:
  description: The fleet, as the other filters take it.
  type: dict
  contains:
    hosts: {description: Each host by its name with its identity and what it has answered., type: list, elements: dict}
"""

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._edge import as_filter, names_in
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import fleet_of


def maintenance_fleet(hostvars: Any, names: Any, in_run: Any = (), before: Any = None, groups: Any = None) -> Any:
    return fleet_of(
        hostvars,
        names_in(names, "names"),
        in_run=names_in(in_run, "in_run"),
        before=before,
        groups=None if groups is None else names_in(groups, "groups"),
    )


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_fleet": as_filter("maintenance_fleet", maintenance_fleet)}
