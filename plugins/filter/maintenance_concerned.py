# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_concerned
short_description: Tell which hosts are asked for their own state before planning
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance), and of little use without it.
  - While nothing is due nobody has to be asked. Else it is the hosts of what is due, and those that count for how many may be out of
    service.
positional: options, now, forks
seealso:
  - plugin: cloud_maintenance.azure.maintenance_plan
    plugin_type: filter
extends_documentation_fragment:
  - cloud_maintenance.azure.planning
  - cloud_maintenance.azure.planning.deciding
  - cloud_maintenance.azure.planning.forks
"""

EXAMPLES = r"""
- name: Show who would be asked
  ansible.builtin.debug:
    msg: "{{ fleet | cloud_maintenance.azure.maintenance_concerned(options, now().timestamp(), ansible_forks) }}"
  vars:
    options: "{{ {} | cloud_maintenance.azure.maintenance_options }}"
    fleet: "{{ hostvars | cloud_maintenance.azure.maintenance_fleet(groups['all'], in_run=ansible_play_hosts_all) }}"
"""

RETURN = r"""
_value:
  description: The names of the hosts. Empty while nothing is due.
  type: list
  elements: str
"""

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._edge import as_filter, facing_in
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import hosts_of
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import concerned


def maintenance_concerned(fleet: Any, options: Any, now: Any, forks: Any = 5) -> Any:
    return concerned(hosts_of(fleet), facing_in(options, now, forks))


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_concerned": as_filter("maintenance_concerned", maintenance_concerned)}
