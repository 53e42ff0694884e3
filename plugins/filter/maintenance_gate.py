# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_gate
short_description: Whether a wave of maintenance goes on
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Used by the role C(rolling_maintenance), and of no use without it. It decides over the hosts that were planned, from what they
    have reported themselves. What a host has not said is a no.
  - It never fails. What cannot be understood is refused, with the reason.
positional: plan
options:
  _input:
    description: One wave of the plan.
    type: dict
    required: true
  plan:
    description: The plan, of which it is a wave.
    type: dict
    required: true
  step:
    description:
      - V(look) comes before the hosts are prepared, and looks whether everything is as it was planned.
      - V(gate) comes before they give their word. Every host must be ready, and capacity is counted again.
      - V(vote) comes before the post. Every host must have given its word.
    type: str
    choices: [look, gate, vote]
    required: true
  counted:
    description: What hosts have said of themselves, by their names, to count capacity with.
    type: dict
extends_documentation_fragment:
  - cloud_maintenance.azure.planning.deciding
  - cloud_maintenance.azure.planning.reported
"""

EXAMPLES = r"""
- name: Ask whether the first wave may be posted
  ansible.builtin.debug:
    msg: >-
      {{ run.rolling_maintenance__plan.waves[0] | cloud_maintenance.azure.maintenance_gate(plan=run.rolling_maintenance__plan,
         options=run.rolling_maintenance__options, hostvars=hostvars, now=now().timestamp(), step='vote') }}
  vars:
    run: "{{ hostvars['localhost'] }}"
"""

RETURN = r"""
_value:
  description: The verdict on each component of the wave, by its name.
  type: dict
  contains:
    go: {description: Whether any of its events goes on., type: bool}
    why: {description: What does not go on and why. V(null) if everything does., type: str}
    step: {description: The step., type: str}
    at: {description: When it was given., type: str}
    events: {description: The keys of the events that go on., type: list, elements: str}
    refused: {description: Of each event that is refused the reason and what Azure does., type: dict}
    refused_at: {description: In which step each of them was refused first., type: dict}
    refusals: {description: "When each of them was refused first, in which step, and the hosts that are the reason.", type: dict}
    ready: {description: Of each event that goes on the names of its VMs., type: dict}
    gone: {description: Events that are not announced any more., type: dict}
    started: {description: Events that Azure has started., type: dict}
    waits: {description: Events that are ready and not to be approved., type: dict}
"""

from typing import Any, Dict

from ansible.errors import AnsibleError
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._harmless import harmless
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._told import OF_A_GATE, moment, plain, told
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._votes import gate, hosts_of_wave


def maintenance_gate(
    wave: Any, plan: Any = None, options: Any = None, hostvars: Any = None, now: Any = None, step: Any = None, counted: Any = None
) -> Any:
    """Never raises: in the middle of a wave a failure would leave hosts as they are."""
    wave, plan, counted = plain(wave), plain(plan), plain(counted)
    reports = told(hostvars, hosts_of_wave(wave, plan, counted), OF_A_GATE, unreadable=(AnsibleError,))
    verdicts = gate(wave, plan=plan, options=plain(options), told=reports, now=moment(plain(now)), step=str(plain(step)), counted=counted)
    return harmless(verdicts)


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_gate": maintenance_gate}
