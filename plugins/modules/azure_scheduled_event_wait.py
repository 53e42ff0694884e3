#!/usr/bin/python
# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: azure_scheduled_event_wait
short_description: Wait until announced maintenance has started or is gone
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Follows scheduled events in the documents of the metadata service until each has started, or is gone.
  - An event is gone when two good answers ten seconds apart do not have it. A single answer without it proves nothing.
  - Errors of the service are borne until the time is over, and so are freezes of the VM itself. A VM that reboots
    takes this module with it, so follow a Reboot, Redeploy, Preempt or Terminate from another VM of the same scope.
  - Asking keeps the feature switched on, see M(cloud_maintenance.azure.azure_scheduled_events_info).
options:
  event_ids:
    description:
      - The ids of the events, compared without case. With an empty list there is nothing to wait for.
    type: list
    elements: str
    required: true
  until:
    description:
      - V(gone) waits until every event is gone, which is when its VMs can be taken back into service.
      - V(started) waits until every event was seen started, or is gone.
    type: str
    choices: [started, gone]
    default: gone
  wait_timeout:
    description:
      - How long to wait, as seconds or as V(90s), V(15m), V(2h), V(7d).
    type: str
    default: 1h
  poll_interval:
    description:
      - Pause between two looks, as seconds or as V(5s), V(1m). At least one second.
    type: str
    default: 5s
  allow_absent:
    description:
      - Accept ids that were never seen. Without it they fail at once, since a mistyped id looks like that.
    type: bool
    default: false
extends_documentation_fragment:
  - cloud_maintenance.azure.attributes
  - cloud_maintenance.azure.attributes.info_module
  - cloud_maintenance.azure.connection
attributes:
  check_mode:
    details: It looks, and tells the states without waiting for others.
seealso:
  - module: cloud_maintenance.azure.azure_scheduled_events_info
  - module: cloud_maintenance.azure.azure_scheduled_event_approve
"""

EXAMPLES = r"""
- name: Follow the maintenance of a neighbour to its end
  cloud_maintenance.azure.azure_scheduled_event_wait:
    event_ids: [602D9444-D2CD-49C7-8624-8643E7171297]
  register: followed

- name: Tell what was seen of it
  ansible.builtin.debug:
    msg: "{{ 'completed' if followed.events[0].started_seen else 'cancelled, or over between two looks' }}"

- name: Wait up to two hours for an event that may be over already
  cloud_maintenance.azure.azure_scheduled_event_wait:
    event_ids: [C7061BAC-AFDC-4513-B24B-AA5F13A16123]
    until: started
    wait_timeout: 2h
    poll_interval: 2s
    allow_absent: true
"""

RETURN = r"""
events:
  description: What was seen of each id, in the order of O(event_ids).
  returned: when the events could be read
  type: list
  elements: dict
  contains:
    event_id:
      description: The id, as given.
      type: str
      returned: always
      sample: 602D9444-D2CD-49C7-8624-8643E7171297
    state:
      description:
        - V(scheduled) and V(started) are how it was last seen.
        - V(gone) was seen, and is not there any more.
        - V(absent) was never seen.
      type: str
      returned: always
      sample: gone
    started_seen:
      description:
        - Whether it was ever seen started. An event that is gone without it was cancelled, or was over between two looks.
      type: bool
      returned: always
      sample: true
    first_seen:
      description: When it was first seen, ISO 8601 in UTC; V(null) if never.
      type: str
      returned: always
      sample: "2026-11-18T09:46:00Z"
    last_seen:
      description: When it was last seen, ISO 8601 in UTC; V(null) if never.
      type: str
      returned: always
      sample: "2026-11-18T10:03:20Z"
    event:
      description:
        - The event when it was last seen, with the keys of RV(cloud_maintenance.azure.azure_scheduled_events_info#module:events);
          V(null) if it never was.
      type: dict
      returned: always
      contains:
        event_id: {description: The id., type: str, returned: always, sample: 602D9444-D2CD-49C7-8624-8643E7171297}
        event_type: {description: The type., type: str, returned: always, sample: Reboot}
        event_status: {description: The status., type: str, returned: always, sample: Started}
        event_source: {description: The source., type: str, returned: always, sample: Platform}
        resource_type: {description: What is hit., type: str, returned: always, sample: VirtualMachine}
        resources: {description: The names of the VMs., type: list, elements: str, returned: always, sample: [web_3, web_4]}
        not_before: {description: When it starts by itself., type: str, returned: always, sample: "2026-11-18T10:00:00Z"}
        seconds_to_not_before: {description: The same in seconds from the end of the task., type: int, returned: always, sample: 840}
        description: {description: What Azure says about it., type: str, returned: always, sample: ""}
        duration_seconds: {description: Expected interruption., type: int, returned: always, sample: 9}
        affects_this_vm: {description: "Always V(null) here.", type: bool, returned: always}
waited_seconds:
  description: How long the module waited.
  returned: when the events could be read
  type: int
  sample: 214
"""

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import (
    SHORTEST_POLL_INTERVAL,
    duration_of,
    names_of,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._module import Report, Task, run
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._wait import Wait

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "event_ids": {"type": "list", "elements": "str", "required": True},
    "until": {"type": "str", "choices": ["started", "gone"], "default": "gone"},
    "wait_timeout": {"type": "str", "default": "1h"},
    "poll_interval": {"type": "str", "default": "5s"},
    "allow_absent": {"type": "bool", "default": False},
}


def wait(task: Task) -> Report:
    params = task.params
    waiting = Wait(
        event_ids=names_of(params, "event_ids"),
        until=params["until"],
        wait_timeout=duration_of(params, "wait_timeout"),
        poll_interval=duration_of(params, "poll_interval", at_least=SHORTEST_POLL_INTERVAL),
        absent_allowed=params["allow_absent"],
    )
    ended = waiting.look(task.service, task.clock) if task.check_mode else waiting.run(task.service, task.clock)
    return Report({"changed": False, "events": ended.events, "waited_seconds": ended.waited_seconds}, ended.failure)


def main() -> None:
    run(ARGUMENTS, wait)


if __name__ == "__main__":
    main()
