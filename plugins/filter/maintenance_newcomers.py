# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_newcomers
short_description: Tell which hosts an event hits as well since it was posted
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance), and of no use without it. What an event names can grow in the two seconds between the last
    look and the post.
  - It never fails. What cannot be understood names nobody.
positional: plan, posts
options:
  plan:
    description: The plan.
    type: dict
    required: true
  posts:
    description: What was posted, with what became of it.
    type: list
    elements: dict
    required: true
extends_documentation_fragment:
  - cloud_maintenance.azure.planning
seealso:
  - plugin: cloud_maintenance.azure.maintenance_gate
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show who was not planned for
  ansible.builtin.debug:
    msg: >-
      {{ run.rolling_maintenance__fleet
         | cloud_maintenance.azure.maintenance_newcomers(run.rolling_maintenance__plan, rolling_maintenance__posted) }}
  vars:
    run: "{{ hostvars['localhost'] }}"
"""

RETURN = r"""
_value:
  description: The hosts of this run that nobody has planned for, once for each event.
  type: list
  elements: dict
  contains:
    key: {description: The key of the event in the plan., type: str}
    vm_name: {description: The name that the event has., type: str}
    host: {description: The name of the host in the inventory., type: str}
"""

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._harmless import harmless
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._newcomers import newcomers
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._told import plain


def maintenance_newcomers(fleet: Any, plan: Any = None, posts: Any = None) -> Any:
    """Never raises: in the middle of a wave a failure would leave hosts as they are."""
    return harmless(newcomers(plain(fleet), plain(plan), plain(posts)))


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_newcomers": maintenance_newcomers}
