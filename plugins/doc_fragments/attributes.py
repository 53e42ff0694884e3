# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """What the modules promise to Ansible."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and tell what it would do without doing it.
  diff_mode:
    description: Returns details on what has changed, or would be, in diff mode.
  idempotent:
    description: When run twice in a row outside check mode, with the same options, the second run changes nothing.
  platform:
    description: Where it can be run.
    support: full
    platforms: posix
  action_group:
    description: Use C(group/cloud_maintenance.azure.azure) in C(module_defaults) to set options for these modules at once.
    support: full
    membership:
      - cloud_maintenance.azure.azure
"""

    # For modules that only read.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: It only reads, and does the same in check mode.
  diff_mode:
    support: N/A
    details: It never changes anything.
  idempotent:
    support: full
    details: It never changes anything.
"""
