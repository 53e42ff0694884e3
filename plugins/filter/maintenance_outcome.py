# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_outcome
short_description: What came of a plan of maintenance
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance), and of no use without it. It gathers what hosts have reported and what the run has seen into
    one piece of evidence for each event, and says whether the run has done what it should.
  - It can be asked at any time, also when half of the run is missing, and never fails.
options:
  _input:
    description: The plan.
    type: dict
    required: true
  final:
    description: Whether the run is over. What is not done by then is not done.
    type: bool
    default: false
  check:
    description: Whether nothing but the plan was made, as in check mode.
    type: bool
    default: false
extends_documentation_fragment:
  - cloud_maintenance.azure.planning.deciding
  - cloud_maintenance.azure.planning.reported
"""

EXAMPLES = r"""
- name: Show what came of the run so far
  ansible.builtin.debug:
    msg: >-
      {{ (run.rolling_maintenance__plan | cloud_maintenance.azure.maintenance_outcome(options=run.rolling_maintenance__options,
         hostvars=hostvars, now=now().timestamp())).summary }}
  vars:
    run: "{{ hostvars['localhost'] }}"
"""

RETURN = r"""
_value:
  description: What came of the run.
  type: dict
  contains:
    result:
      description: V(ok), V(planned), V(nothing_to_do) or V(failed). V(failed) as soon as anything went wrong.
      type: str
    events:
      description:
        - The evidence of each event of the plan. R(Evidence,ansible_collections.cloud_maintenance.azure.docsite.evidence) has its keys.
      type: list
      elements: dict
    failures: {description: "What went wrong, a sentence each.", type: list, elements: str}
    summary: {description: All of it in some lines of text., type: str}
    due_next: {description: When the next run is due. V(null) if nothing waits., type: str}
"""

from typing import Any, Dict

from ansible.errors import AnsibleError
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._harmless import harmless
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._outcomes import hosts_of_plan, outcome
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._told import OF_AN_OUTCOME, flag, moment, plain, told


def maintenance_outcome(
    plan: Any, options: Any = None, hostvars: Any = None, now: Any = None, final: Any = False, check: Any = False
) -> Any:
    """Never raises: what came of a run must be told whatever came of it."""
    plan = plain(plan)
    reports = told(hostvars, hosts_of_plan(plan), OF_AN_OUTCOME, unreadable=(AnsibleError,))
    found = outcome(plan, options=plain(options), told=reports, now=moment(plain(now)), final=flag(plain(final)), check=flag(plain(check)))
    return harmless(found)


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_outcome": maintenance_outcome}
