# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: maintenance_plan
short_description: Plan the maintenance of an inventory
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Says of every scheduled event what a run does about it, when, in which wave, and why.
  - It touches nothing and asks nobody. The same answers at the same moment give the same plan.
positional: options, now, forks
seealso:
  - plugin: cloud_maintenance.azure.maintenance_options
    plugin_type: filter
  - plugin: cloud_maintenance.azure.maintenance_fleet
    plugin_type: filter
extends_documentation_fragment:
  - cloud_maintenance.azure.planning
  - cloud_maintenance.azure.planning.deciding
  - cloud_maintenance.azure.planning.forks
"""

EXAMPLES = r"""
- name: Show what a run would do about each event
  ansible.builtin.debug:
    msg: "{{ plan.events | map(attribute='reason') }}"
  vars:
    options: "{{ {'max_unavailable': '20%'} | cloud_maintenance.azure.maintenance_options }}"
    fleet: "{{ hostvars | cloud_maintenance.azure.maintenance_fleet(groups['all'], in_run=ansible_play_hosts_all) }}"
    plan: "{{ fleet | cloud_maintenance.azure.maintenance_plan(options, now().timestamp(), ansible_forks) }}"
"""

RETURN = r"""
_value:
  description: The plan. Instants are ISO 8601 in UTC, durations are seconds.
  type: dict
  contains:
    digest:
      description:
        - Of what is to be done, and not of when. A person approves it, and a run with the option C(plan_digest) does nothing else.
      type: str
    made_at: {description: When the plan was made., type: str}
    policy_hash: {description: Another hash is another policy., type: str}
    changed:
      description: Why nothing is done although something is due. It is another plan than the one that was approved.
      type: str
    events:
      description: Every event once, the first NotBefore first.
      type: list
      elements: dict
      contains:
        key: {description: "What identifies it in this run. The id, the subscription and the resource group.", type: str}
        event:
          description: The event, with the keys of RV(cloud_maintenance.azure.azure_scheduled_events_info#module:events).
          type: dict
        place:
          description:
            - V(waves), it is prepared and perhaps approved in this run. V(held), it becomes due later. V(refused), nothing is done
              although something ought to be. V(running), it has started and is watched. V(left), it is left to Azure, or hits no
              host of this run.
          type: str
          sample: held
        reason:
          description: Why, in words.
          type: str
          sample: "held until Sat 2026-11-21 22:00 Europe/Berlin: rule disruption, window; last safe start Sun 2026-11-22 03:10"
        rule: {description: The rule of the policy that decides., type: str}
        action: {description: What is done., type: str}
        approves: {description: Whether it is approved., type: bool}
        prepares: {description: Whether its hosts are prepared., type: bool}
        hosts: {description: The hosts of this run that it hits., type: list, elements: str}
        vm_names: {description: The name of each host in the event., type: dict}
        vm_ids: {description: "The id of the VM of each host, where it is known.", type: dict}
        unmanaged: {description: VMs that it hits and that are no hosts of this run., type: list, elements: str}
        known_outside: {description: Hosts of the inventory among these., type: list, elements: str}
        allowed_unready: {description: Those of them that may be hit unprepared., type: list, elements: str}
        realm: {description: Subscription and resource group in which its names are looked up., type: dict}
        scope: {description: The scope that was shown it., type: str}
        seen_by: {description: The hosts that were shown it., type: list, elements: str}
        notes: {description: What different hosts were shown differently., type: list, elements: str}
        start_at: {description: When its preparation should begin., type: str}
        due_at: {description: When a run takes it on., type: str}
        not_before: {description: When Azure starts it at the earliest. V(null) if at any moment., type: str}
        last_safe_start: {description: Until when its preparation can begin., type: str}
        latest: {description: Until when it is begun in this run., type: str}
        budget: {description: What one host may take to get ready., type: float}
        clock_error: {description: By how much the clocks may differ., type: float}
        needs_deletion: {description: Whether its approval hastens a deletion or something unknown., type: bool}
        window: {description: The window in which it has to begin and to be approved., type: dict}
        over_capacity: {description: Whether it hits more hosts at once than may be out of service., type: bool}
        late: {description: "Whether it came after its last safe start: prepared in what is left, and not approved.", type: bool}
        policy_hash: {description: The policy by which it was decided., type: str}
        decision:
          description: What its rule alone makes of it, before other events and the hosts were looked at, and what that was counted with.
          type: dict
          contains:
            action: {description: What the rule says. What is done stands beside it., type: str}
            reason: {description: The decision in words., type: str}
            refused: {description: Why the rule cannot be followed. V(null) if it can., type: str}
            configuration_error: {description: What is wrong with the rule for this event., type: str}
            capped: {description: Whether its approval is left out because approvals are switched off., type: bool}
            outside_window: {description: Whether no window opens in time., type: bool}
            want: {description: When the rule wants its preparation to begin., type: str}
            start_at: {description: When it begins then. Not before now and not after the last safe start., type: str}
            ready_by: {description: When its hosts have to be ready., type: str}
            window_opens: {description: When the window opens., type: str}
            window_closes: {description: When the window closes., type: str}
            prepare_within: {description: What all its hosts may take. What is left for one that is late., type: float}
            prepare_budget: {description: "What all its hosts may take, one round of them after the other.", type: float}
            approve_reserve: {description: What is kept for the approval., type: float}
        witnesses: {description: Who can watch and post it. The first ones are not hit themselves., type: list, elements: str}
        wave: {description: The number of its wave., type: int}
        component: {description: The name of its component., type: str}
    waves:
      description: What is done in this run, one wave after the other.
      type: list
      elements: dict
      contains:
        number: {description: From 1 on., type: int}
        begin: {description: When it is expected to begin., type: str}
        ready: {description: When all its hosts are ready at the latest., type: str}
        after: {description: How many seconds it takes from there if Azure goes ahead at once., type: float}
        end: {description: When all its hosts are expected to be in service again., type: str}
        hosts: {description: The hosts that are hit., type: list, elements: str}
        guard: {description: An idle host that keeps it company., type: str}
        batch: {description: The hosts and the guard., type: list, elements: str}
        components:
          description: Hosts that are tied by shared events. What is tied is approved together, or not at all.
          type: list
          elements: dict
    due_next: {description: When the first of the held events becomes due., type: str}
    due_next_event: {description: The id of that event., type: str}
    blind: {description: Hosts whose events nobody knows because nobody of their scope has answered., type: list, elements: str}
    conflicts: {description: "What is wrong in the inventory, in sentences.", type: list, elements: str}
    capacity: {description: "How many hosts may be out of service, and which are.", type: dict}
    counts: {description: How many events have each place., type: dict}
"""

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._edge import as_filter, facing_in
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import hosts_of
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import plan


def maintenance_plan(fleet: Any, options: Any, now: Any, forks: Any = 5) -> Any:
    return plan(hosts_of(fleet), facing_in(options, now, forks))


class FilterModule:
    def filters(self) -> Dict[str, Any]:
        return {"maintenance_plan": as_filter("maintenance_plan", maintenance_plan)}
