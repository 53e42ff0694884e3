# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """What the filters of rolling maintenance are given. Read by: plugins/plugin_utils/_edge.py."""

    # What hosts have answered.
    DOCUMENTATION = r"""
options:
  _input:
    description: The fleet, as P(cloud_maintenance.azure.maintenance_fleet#filter) gives it.
    type: dict
    required: true
"""

    # By what is decided, and when.
    DECIDING = r"""
options:
  options:
    description: The options, as P(cloud_maintenance.azure.maintenance_options#filter) gives them.
    type: dict
    required: true
  now:
    description: What time it is, in seconds since 1970.
    type: float
    required: true
"""

    # How many hosts at a time.
    FORKS = r"""
options:
  forks:
    description: How many hosts Ansible works on at a time. Hosts that have to wait for others get ready later.
    type: int
    default: 5
"""

    # What hosts have reported in a run, which is never refused.
    REPORTED = r"""
options:
  hostvars:
    description: The variables of all hosts, where they have reported.
    type: dict
    required: true
"""
