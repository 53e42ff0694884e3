#!/usr/bin/python
# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: azure_scheduled_events_info
short_description: Read the maintenance that Azure announces to this VM
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Asks the metadata service of the target host for its scheduled events, and gives those that match.
  - One document holds the events of a whole scope, such as an availability set or the placement group of a scale set. So
    every VM of the scope sees them all, also those that hit only its neighbours.
  - B(Asking switches the feature on.) The first question of a scope makes Azure announce its events from then on, and makes
    a restart or a redeployment by a user wait for an approval, or up to 15 minutes. The first answer can take two minutes.
    24 hours without a question switch it off again.
extends_documentation_fragment:
  - cloud_maintenance.azure.attributes
  - cloud_maintenance.azure.attributes.info_module
  - cloud_maintenance.azure.connection
  - cloud_maintenance.azure.selection
seealso:
  - module: cloud_maintenance.azure.azure_scheduled_event_approve
  - module: cloud_maintenance.azure.azure_scheduled_event_wait
  - plugin: cloud_maintenance.azure.azure_scheduled_events
    plugin_type: lookup
    description: The same data, read by the controller instead of the target host.
"""

EXAMPLES = r"""
- name: See everything that Azure announces to the scope of this host
  cloud_maintenance.azure.azure_scheduled_events_info:
  register: maintenance

- name: Say when this very host is hit
  cloud_maintenance.azure.azure_scheduled_events_info:
    this_vm_only: true
  register: mine

- name: Stop a deployment when something disruptive begins within half an hour
  cloud_maintenance.azure.azure_scheduled_events_info:
    event_types: [Reboot, Redeploy, Preempt, Terminate, unknown]
    starts_within: 30m
  register: soon
  failed_when: soon is failed or soon.events | length > 0

- name: Know the pauses of ten seconds and more that Azure plans for two VMs
  cloud_maintenance.azure.azure_scheduled_events_info:
    event_types: [Freeze]
    min_duration: 10s
    resources: [web_0, web_1]

- name: Keep only the ids of what the platform has scheduled, with JMESPath
  cloud_maintenance.azure.azure_scheduled_events_info:
    event_sources: [Platform]
    event_statuses: [Scheduled]
    query: events[].event_id
  register: scheduled

- name: Learn who this VM is to Azure
  cloud_maintenance.azure.azure_scheduled_events_info:
    gather_vm: true
  register: identity
"""

RETURN = r"""
events:
  description: The events that match, in the order of the document.
  returned: success
  type: list
  elements: dict
  contains: &event
    event_id:
      description: The id, as received. It is compared without case.
      type: str
      returned: always
      sample: 602D9444-D2CD-49C7-8624-8643E7171297
    event_type:
      description: V(Freeze), V(Reboot), V(Redeploy), V(Preempt), V(Terminate), or what else Azure writes.
      type: str
      returned: always
      sample: Reboot
    event_status:
      description: V(Scheduled) or V(Started). A finished or cancelled event is simply not there any more.
      type: str
      returned: always
      sample: Scheduled
    event_source:
      description: V(Platform) or V(User); V(null) where the version of the interface does not tell.
      type: str
      returned: always
      sample: Platform
    resource_type:
      description: What RV(events[].resources) are.
      type: str
      returned: always
      sample: VirtualMachine
    resources:
      description: The names of all VMs that the event hits, as Azure calls them. Host names may differ.
      type: list
      elements: str
      returned: always
      sample: [web_3, web_4]
    not_before:
      description: The time before which the event does not start by itself, ISO 8601 in UTC; V(null) once started.
      type: str
      returned: always
      sample: "2026-11-18T10:00:00Z"
    seconds_to_not_before:
      description: The same as seconds from RV(queried_at), negative when it is past; V(null) once started.
      type: int
      returned: always
      sample: 840
    description:
      description: What Azure says about it, often nothing.
      type: str
      returned: always
      sample: Host server is undergoing maintenance.
    duration_seconds:
      description: How long the interruption is expected to last; V(null) when unknown or not announced.
      type: int
      returned: always
      sample: 9
    affects_this_vm:
      description: Whether RV(events[].resources) names this VM; V(null) when no option needed the name of the VM.
      type: bool
      returned: always
      sample: true
document_incarnation:
  description: The number of the document. It changes with the list of events, and may start again from one.
  returned: success
  type: int
  sample: 17
document:
  description: The answer of the service as it came, with all its events.
  returned: success
  type: dict
  sample: {"DocumentIncarnation": 17, "Events": []}
vm:
  description: Who this VM is; V(null) unless O(gather_vm=true). What does not apply to the VM is V(null).
  returned: success
  type: dict
  contains:
    name:
      description: The name that RV(events[].resources) uses.
      type: str
      returned: always
      sample: web_3
    vm_id:
      description: The unique id of the VM.
      type: str
      returned: always
      sample: 13f56399-bd52-4150-9748-7190aae1ff21
    resource_id:
      description: The full id of the resource.
      type: str
      returned: always
      sample: /subscriptions/8d10da13-8125-4ba9-a717-bf7490507b3d/resourceGroups/web/providers/Microsoft.Compute/virtualMachines/web_3
    resource_group:
      description: The resource group, in which the name of a VM is unique.
      type: str
      returned: always
      sample: web
    subscription_id:
      description: The subscription.
      type: str
      returned: always
      sample: 8d10da13-8125-4ba9-a717-bf7490507b3d
    location:
      description: The region.
      type: str
      returned: always
      sample: westeurope
    zone:
      description: The availability zone.
      type: str
      returned: always
      sample: "2"
    scale_set:
      description: The scale set to which it belongs.
      type: str
      returned: always
      sample: web
    placement_group_id:
      description: The placement group of the scale set, which is the scope of its events.
      type: str
      returned: always
      sample: f67c14ab-e92c-408c-ae2d-da15866ec79a
    fault_domain:
      description: The fault domain.
      type: str
      returned: always
      sample: "1"
    update_domain:
      description: The update domain.
      type: str
      returned: always
      sample: "3"
    computer_name:
      description: The host name that it was created with.
      type: str
      returned: always
      sample: web000003
queried_at:
  description: When the answer was there by the clock of the target host, ISO 8601 in UTC.
  returned: success
  type: str
  sample: "2026-11-18T09:46:00Z"
query_result:
  description: What O(query) finds in the result.
  returned: when O(query) is given
  type: raw
  sample: [602D9444-D2CD-49C7-8624-8643E7171297]
"""

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import selection_arguments
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._info import Question, answer
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._module import Report, Task, run


def read(task: Task) -> Report:
    question = Question.of(task.params)
    return Report({"changed": False, **answer(task.service, question)})


def main() -> None:
    run(selection_arguments(), read)


if __name__ == "__main__":
    main()
