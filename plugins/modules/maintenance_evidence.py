#!/usr/bin/python
# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What it does is in plugins/action: it runs where Ansible runs.

from __future__ import annotations

DOCUMENTATION = r"""
module: maintenance_evidence
short_description: Keep the evidence of a run in a file of the controller
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - B(Runs where Ansible runs), whatever host the task is for, and connects to nobody. The role
    P(cloud_maintenance.azure.rolling_maintenance#role) writes its evidence with it, and other playbooks hardly need it.
  - The file is there as a whole or not at all, and has reached the disk when the task is done. So whoever comes after a run
    that was killed finds what was known last.
options:
  path:
    description:
      - The file, by its absolute path. Its folder has to be there.
      - Only its owner can read it.
    type: path
    required: true
  evidence:
    description: What is kept, as JSON.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode nothing is written.
  diff_mode:
    support: none
    description: Evidence has the output of handlers, which is not for the log of a job.
seealso:
  - plugin: cloud_maintenance.azure.maintenance_outcome
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Keep the evidence
  cloud_maintenance.azure.maintenance_evidence:
    path: /srv/evidence/run.json
    evidence: "{{ plan | cloud_maintenance.azure.maintenance_outcome(options=options, hostvars=hostvars, now=now().timestamp()) }}"
"""

RETURN = r"""
path:
  description: The file.
  type: str
  returned: always
"""
