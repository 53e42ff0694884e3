# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_report
short_description: A plan of maintenance as a table
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance) to show its plan to people, with at most 100 characters in a line.
  - Of an event that is in a wave it shows when the wave begins, of one that is held when it becomes due, and of all others when Azure
    starts it.
positional: options
options:
  _input:
    description: The plan.
    type: dict
    required: true
  options:
    description: The options of the run, converted.
    type: dict
"""

EXAMPLES = r"""
- name: Show the plan
  ansible.builtin.debug:
    msg: "{{ (run.rolling_maintenance__plan | cloud_maintenance.azure.maintenance_report).splitlines() }}"
  vars:
    run: "{{ hostvars['localhost'] }}"
"""

RETURN = r"""
_value:
  description: The table, in lines.
  type: str
"""

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._harmless import harmless
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._report import report
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._told import plain


def maintenance_report(plan: Any, options: Any = None) -> Any:
    return harmless(report(plain(plan), plain(options)))


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_report": maintenance_report}
