# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_options
short_description: Convert the options of rolling maintenance
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance), and of little use without it.
  - A survey sends text for everything, and a list or a dictionary as JSON. All of it is converted here, once, and checked as a whole.
  - Options that were converted before come out the same.
  - The data of the time zones that windows name are read where Ansible runs.
options:
  _input:
    description: The options by their names without the prefix C(rolling_maintenance_). An empty one has its default.
    type: dict
    required: true
  hostvars:
    description: The variables of all hosts. Options count for the whole run, so it is an error if V(hosts) do not have the same.
    type: dict
  hosts:
    description: The names of the hosts of the run.
    type: list
    elements: str
    default: []
seealso:
  - plugin: cloud_maintenance.azure.maintenance_plan
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Convert two options
  ansible.builtin.debug:
    msg: "{{ {'max_unavailable': '20%', 'within': '2h'} | cloud_maintenance.azure.maintenance_options }}"
"""

RETURN = r"""
_value:
  description: Every option in its type, and what is made of them.
  type: dict
  contains:
    policy_hash: {description: Another hash is another policy., type: str}
    hooks_wanted: {description: The extension points that have something in them., type: list, elements: str}
"""

from typing import Any, Dict, Sequence

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._agreement import disagreements
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._edge import as_filter, names_in, options_in
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import convert, result_of


def maintenance_options(raw: Any, hostvars: Any = None, hosts: Sequence[str] = ()) -> Any:
    converted = convert(raw)
    options = options_in(converted)
    problems = disagreements(raw, hostvars, names_in(hosts, "hosts")) if hosts else []
    if problems:
        raise ConfigurationError(". ".join(problems) + ".")
    return result_of(converted, options)


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_options": as_filter("maintenance_options", maintenance_options)}
