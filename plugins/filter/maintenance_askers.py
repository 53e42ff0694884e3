# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_askers
short_description: Tell which hosts are asked for scheduled events
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance), and of little use without it.
  - Two hosts of each scope are asked, and two others where none has answered. Whoever shares a document with nobody that is known is
    asked himself.
positional: round
options:
  round:
    description: The number of the round, from 1 on.
    type: int
    default: 1
seealso:
  - plugin: cloud_maintenance.azure.maintenance_fleet
    plugin_type: filter
extends_documentation_fragment:
  - cloud_maintenance.azure.planning
"""

EXAMPLES = r"""
- name: Show who would be asked first
  ansible.builtin.debug:
    msg: "{{ fleet | cloud_maintenance.azure.maintenance_askers(1) }}"
  vars:
    fleet: "{{ hostvars | cloud_maintenance.azure.maintenance_fleet(groups['all'], in_run=ansible_play_hosts_all) }}"
"""

RETURN = r"""
_value:
  description: The names of the hosts.
  type: list
  elements: str
"""

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._edge import as_filter, number_in
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import askers, hosts_of


def maintenance_askers(fleet: Any, round: Any = 1) -> Any:  # noqa: A002  the name under which the role gives it
    return askers(hosts_of(fleet), int(number_in(round, "round")))


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_askers": as_filter("maintenance_askers", maintenance_askers)}
