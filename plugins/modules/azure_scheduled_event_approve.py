#!/usr/bin/python
# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: azure_scheduled_event_approve
short_description: Tell Azure to go ahead with announced maintenance, when all its VMs are ready
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Approves scheduled events, so that Azure does not wait for their NotBefore any longer.
  - B(An approval cannot be taken back, and it holds for every VM of the event.) So an event is refused unless all VMs in its
    resources are named as ready; one refused event is enough for nothing at all to be posted.
  - Events that have started or are gone are left out, so it can be repeated.
  - Every check is made on a document that is at most two seconds old when the approval is posted. A post whose answer is
    lost is resolved by reading. It is repeated once, and only after every check has passed again.
  - Azure may start an approved event later all the same, for instance because others on the same host have to agree. Only
    an event that was seen to start, or to be gone, is reported as V(approved).
options:
  event_ids:
    description:
      - The ids of the events, compared without case. With an empty list there is nothing to do.
    type: list
    elements: str
    required: true
  ready_resources:
    description:
      - The names of the VMs that are ready, as Azure writes them, compared without case as a whole.
      - Without it, this VM alone counts as ready, and its name is asked from the metadata service.
    type: list
    elements: str
  allow_unready:
    description:
      - The exact names of VMs that may be hit although they are not ready. There is no word for all of them.
    type: list
    elements: str
    default: []
  allow_types:
    description:
      - Types of events that are refused unless they are named here. These are V(Preempt) and V(Terminate), which delete the
        VM, and every type that Azure has not documented.
    type: list
    elements: str
    default: []
  if_missing:
    description:
      - What to do about an id that two documents ten seconds apart do not have.
      - V(ok) reports it as gone; with a warning, because a mistyped id looks the same.
      - V(fail) refuses, and nothing at all is posted.
    type: str
    choices: [ok, fail]
    default: ok
  wait_for_start:
    description:
      - Wait until Azure has started what was approved, and fail if it does not in time.
      - A VM that reboots takes this module with it. So use it from a neighbour in the same scope, with C(delegate_to) and
        O(ready_resources), or for a Freeze.
    type: bool
    default: false
  start_timeout:
    description:
      - How long O(wait_for_start) waits, as seconds or as V(90s), V(15m), V(2h).
    type: str
    default: 5m
extends_documentation_fragment:
  - cloud_maintenance.azure.attributes
  - cloud_maintenance.azure.connection
attributes:
  check_mode:
    support: full
    details: All checks are made and nothing is posted. What would be refused fails as it would otherwise.
  diff_mode:
    support: full
  idempotent:
    support: partial
    details: An approved event that Azure has not started yet is approved once more, which does no harm. It is idempotent
      once the event has started.
seealso:
  - module: cloud_maintenance.azure.azure_scheduled_events_info
  - module: cloud_maintenance.azure.azure_scheduled_event_wait
"""

EXAMPLES = r"""
- name: See what hits this host
  cloud_maintenance.azure.azure_scheduled_events_info:
    this_vm_only: true
    event_types: [Freeze, Reboot, Redeploy]
    event_statuses: [Scheduled]
  register: mine

- name: Let it come, now that this host is ready; shared events are refused
  cloud_maintenance.azure.azure_scheduled_event_approve:
    event_ids: "{{ mine.events | map(attribute='event_id') | list }}"

- name: Approve an event of two hosts that are both ready, and see it start
  cloud_maintenance.azure.azure_scheduled_event_approve:
    event_ids: [602D9444-D2CD-49C7-8624-8643E7171297]
    ready_resources: [web_0, web_1]
    wait_for_start: true
    start_timeout: 10m

- name: Let a spot VM go at once, because it is drained
  cloud_maintenance.azure.azure_scheduled_event_approve:
    event_ids: [A123BC45-1234-5678-AB90-ABCDEF123456]
    allow_types: [Preempt]

- name: Approve although one VM of the event belongs to somebody who agreed
  cloud_maintenance.azure.azure_scheduled_event_approve:
    event_ids: [C7061BAC-AFDC-4513-B24B-AA5F13A16123]
    ready_resources: [web_0]
    allow_unready: [batch_7]
"""

RETURN = r"""
posted:
  description: Whether an approval was sent that Azure took, or may have taken.
  returned: unless an option is wrong
  type: bool
  sample: true
results:
  description: What became of each id, in the order of O(event_ids).
  returned: when the events could be read
  type: list
  elements: dict
  contains:
    event_id:
      description: The id, as given.
      type: str
      returned: always
      sample: 602D9444-D2CD-49C7-8624-8643E7171297
    result:
      description:
        - V(approved), posted, taken by Azure and seen to be started or gone. Also when the answer was lost and the event was
          seen to start.
        - V(already_started), nothing to post any more.
        - V(gone), not in the document any more. When it was posted and the answer was lost, it may have been cancelled, or have
          come and gone.
        - V(still_scheduled), posted and not started; Azure starts it later. When the answer was lost, it may not be approved.
        - V(would_approve), in check mode.
        - V(refused), when the module fails and this event is not approved. It must not be, or another one of O(event_ids) must
          not be, or the service did not take it or is too slow. When it was posted before and the answer was lost, it may be
          approved all the same.
      type: str
      returned: always
      sample: approved
    posted:
      description: Whether an approval of this event was sent that Azure took, or may have taken.
      type: bool
      returned: always
      sample: true
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
"""

from typing import Any, Dict, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._approval import Approval, Outcome
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._approval_words import WOULD_APPROVE, say_unread_events
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import duration_of, names_of, optional_names_of
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ServiceError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._gate import Terms
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._module import Report, Task, run

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "event_ids": {"type": "list", "elements": "str", "required": True},
    "ready_resources": {"type": "list", "elements": "str"},
    "allow_unready": {"type": "list", "elements": "str", "default": []},
    "allow_types": {"type": "list", "elements": "str", "default": []},
    "if_missing": {"type": "str", "choices": ["ok", "fail"], "default": "ok"},
    "wait_for_start": {"type": "bool", "default": False},
    "start_timeout": {"type": "str", "default": "5m"},
}


def approve(task: Task) -> Report:
    event_ids = names_of(task.params, "event_ids")
    start_timeout = duration_of(task.params, "start_timeout")
    try:
        terms = _terms(task, needed=bool(event_ids))
    except ServiceError as error:
        return Report({"changed": False, "posted": False}, say_unread_events(error, event_ids))
    if not event_ids:
        return Report({"changed": False, "posted": False, "results": []})
    approval = Approval(task.service, task.clock, event_ids=event_ids, terms=terms)
    if task.check_mode:
        return _report(approval.rehearse())
    return _report(approval.run(start_timeout=start_timeout if task.params["wait_for_start"] else None))


def _terms(task: Task, *, needed: bool) -> Terms:
    ready = optional_names_of(task.params, "ready_resources")
    if ready is None:
        ready = (task.service.vm(otherwise="ready_resources").name,) if needed else ()
    return Terms.of(
        ready=ready,
        unready_allowed=names_of(task.params, "allow_unready"),
        types_allowed=names_of(task.params, "allow_types"),
        missing_allowed=task.params["if_missing"] == "ok",
    )


def _report(outcome: Outcome) -> Report:
    would_post = any(result["result"] == WOULD_APPROVE for result in outcome.results)
    result: Dict[str, Any] = {"changed": outcome.posted or would_post, "posted": outcome.posted}
    if outcome.results:
        result.update(results=outcome.results, diff=dict(zip(("before", "after"), _diff(outcome))))
    return Report(result, outcome.failure, [_say_missing(event_id) for event_id in outcome.missing])


def _diff(outcome: Outcome) -> Tuple[Dict[str, str], Dict[str, str]]:
    after = {result["event_id"]: _after(outcome, result) for result in outcome.results}
    return outcome.before, after


def _after(outcome: Outcome, result: Dict[str, Any]) -> str:
    if result["posted"] or result["result"] == WOULD_APPROVE:
        return "approved"
    return outcome.before[result["event_id"]]


def _say_missing(event_id: str) -> str:
    return "Event %s is not in the document: it is over, was cancelled, or the id is mistyped." % event_id


def main() -> None:
    run(ARGUMENTS, approve)


if __name__ == "__main__":
    main()
