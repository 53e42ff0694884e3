# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_standing
short_description: Tell whether maintenance is near a host or its peers
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance), and of little use without it.
  - For those who only want to know, as before a deployment.
positional: options, now, host
options:
  host:
    description: The name of the host in the inventory.
    type: str
    required: true
seealso:
  - plugin: cloud_maintenance.azure.maintenance_plan
    plugin_type: filter
extends_documentation_fragment:
  - cloud_maintenance.azure.planning
  - cloud_maintenance.azure.planning.deciding
"""

EXAMPLES = r"""
- name: Do not deploy while Azure is about to interrupt this host or one of its peers
  ansible.builtin.assert:
    that: standing.answer == 'clear'
    fail_msg: "{{ standing.why }}"
  vars:
    options: "{{ {'gate_within': '30m'} | cloud_maintenance.azure.maintenance_options }}"
    fleet: "{{ hostvars | cloud_maintenance.azure.maintenance_fleet(groups['all'], in_run=ansible_play_hosts_all) }}"
    standing: "{{ fleet | cloud_maintenance.azure.maintenance_standing(options, now().timestamp(), inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: The answer.
  type: dict
  contains:
    answer:
      description:
        - V(maintenance) if an event of the host or of one that shares its document begins within the option C(gate_within), has
          started, or still has a host out of service.
        - V(unknown) if no host of the scope has answered, or if no event is shown and the feature may be too young for one.
        - V(clear) else.
      type: str
      sample: maintenance
    why: {description: The reason in words., type: str, sample: Reboot of this host in 9 min}
    events: {description: The events that are near., type: list, elements: dict}
"""

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._edge import as_filter, facing_in
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import hosts_of
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._standing import standing


def maintenance_standing(fleet: Any, options: Any, now: Any, host: Any) -> Any:
    return standing(hosts_of(fleet), facing_in(options, now, 1), str(host))


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_standing": as_filter("maintenance_standing", maintenance_standing)}
