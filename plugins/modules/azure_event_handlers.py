#!/usr/bin/python
# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: azure_event_handlers
short_description: Ask a host to get ready for announced maintenance, to give its word, or to go back into service
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - Runs the command C(azure-event-handlers), which the role C(event_handlers) installs, and
    returns the host's own verdict as data. What is asked for is done by the executor of the host. It goes on by itself when
    the connection drops, and no handler is started a second time by asking again.
  - B(Only RV(ok) says that the host is ready, or has given its word.) A task that did not run, was skipped, ran in check
    mode or could not reach the host has said nothing, and nothing is a no.
  - It approves nothing. A playbook that has the word of every host of an event does that with
    M(cloud_maintenance.azure.azure_scheduled_event_approve).
  - Needs to run as root.
options:
  request:
    description:
      - What is asked of the host. Without it nothing is asked, and the result is the status alone.
      - V(prepare) runs the handlers that take this host out of service for O(event_id).
      - V(commit) asks for the word on which the event may be approved. The handlers are asked once more whether the host is
        out of service. From then on the host is not given back until the event is gone. They are asked anew each time, also by a
        run that takes over a host which has given its word before.
      - V(abort) lets go of the event, and says that surely nothing was posted. The host is given back if there is time
        enough for that, and stays ready otherwise. Once the host has given its word, only the driver and run that asked for
        it can say so, unless another one has taken the host over meanwhile, or O(request=approved) has left it open.
      - V(sending) says that an approval is about to be posted, V(approved) what became of it, in O(outcome). Both are written
        down on the host, so that whoever comes later knows, and nothing else is done. Only the driver and run that have the
        host in hand can say V(sending), and only who has said it can say V(approved), in whatever state the host is by then.
      - V(recover) wants the host back in service before the event is gone. It is refused once the host has given its word.
      - V(hold) keeps everybody from preparing and committing this host for a while.
      - V(release) ends the hold. With O(event_id) it is like V(recover), and O(force) gives back the host also after it has
        given its word.
    type: str
    choices: [prepare, commit, abort, sending, approved, recover, hold, release]
  event_id:
    description:
      - The id of the event, compared without case. Needed for all requests but V(hold) and V(release), and for O(wait_until).
      - Without O(request) it chooses the event for RV(state) and RV(handlers).
    type: str
  driver:
    description:
      - Who asks, for V(prepare), V(commit), V(abort), V(sending) and V(approved). While somebody has a host in hand, everybody
        else is refused with this name. The name C(agent) belongs to the host's own agent.
      - Another driver, or another run, can take the host over when the lease of the one before is over.
    type: str
    default: playbook
  run_id:
    description:
      - In which run, for the requests with O(driver), which need it. It has to be the same in all tasks of a run and
        another one in the next run, for instance the number of the job.
    type: str
  lease:
    description:
      - For V(prepare) and V(commit). When the driver has not been heard of for so long, a host that has not given its word
        is given back, or stays ready if the event is too near. While this module waits it renews the lease by itself.
      - As seconds or as V(90s), V(15m), V(2h); at most a day.
    type: str
    default: 10m
  within:
    description:
      - How long V(prepare) may take on this host. Without it, what the policy's arithmetic leaves.
    type: str
  budget:
    description:
      - How long the whole preparation may take, all hosts together, for the arithmetic of V(prepare). Without it, what the
        handlers of this host may take.
    type: str
  clock_error:
    description:
      - How far clocks may differ, for the arithmetic of V(prepare). Without it the host counts on its own synchronised clock.
    type: str
  inventory_name:
    description:
      - For V(prepare) and V(commit), how the host is called in the inventory of whoever asks. It is written into the evidence.
    type: str
  scope:
    description:
      - For V(prepare) and V(commit), to which scope whoever asks counts the host. It is written into the evidence. Without it the
        evidence has the placement group, where the metadata service names one.
    type: str
  timeout:
    description:
      - How long the request is followed. What is not done by then goes on, with RV(verdict=pending).
      - Of O(wait_until), how long it waits. After that RV(over) is V(false), and the task succeeds.
    type: str
    default: 30m
  wait_until:
    description:
      - V(over) waits until nothing of O(event_id) is in effect on this host any more, and returns RV(over). That is so when
        the event is gone and the host is back, when the host was given back before, and when the host knows of no such event.
      - Asks for nothing, and so it is without O(request). In check mode it looks once.
      - Right after a boot nobody can say yet what is, and it waits for that as well.
    type: str
    choices: [over]
  witness:
    description:
      - For V(sending) and V(approved), the name of the VM from which the approval is posted.
    type: str
  outcome:
    description:
      - For V(approved), which needs it. V(taken) and V(refused) are what the service said, V(unclear) that nobody knows whether
        the post was taken, V(already_started) and V(gone) that there was nothing to approve any more.
      - After V(taken), V(unclear) and V(already_started) nobody can V(abort) this event any more.
    type: str
    choices: [taken, refused, unclear, already_started, gone]
  asked_at:
    description:
      - What time it is by the clock of whoever asks, in seconds since 1970. RV(clock_difference) is how far this host's clock is
        ahead of it. What it takes to bring the task to the host is in it, so that it is some tenths of a second too much.
    type: float
  by:
    description:
      - Who wants it, for V(recover), V(hold) and V(release). Without it, the user who runs the command.
    type: str
  hold_for:
    description:
      - How long V(hold) holds, at most 30 days. Without it, C(hold_for) of the host's configuration.
    type: str
  reason:
    description:
      - Why V(hold) holds, for everybody who is refused.
    type: str
  force:
    description:
      - For V(release) with O(event_id), also after the host has given its word. Azure may act on the host at any moment then.
    type: bool
    default: false
  if_refused:
    description:
      - What a no of the host does to the task. V(fail) fails with the host's sentence.
      - V(ok) lets the task succeed, so that a play can decide over the answers of all its hosts. RV(ok) is V(false) then.
      - What keeps the host from answering always fails, such as a command that is missing, an executor that is dead, a
        configuration that is wrong, or a metadata service that cannot be read.
    type: str
    choices: [fail, ok]
    default: fail
  gather_evidence:
    description:
      - Return everything that is known of O(event_id) on this host.
    type: bool
    default: false
  command:
    description:
      - The command on the host.
    type: path
    default: /usr/local/sbin/azure-event-handlers
  root:
    description:
      - A folder that stands for the host, in a rehearsal.
    type: path
extends_documentation_fragment:
  - cloud_maintenance.azure.attributes
attributes:
  action_group:
    description: Use C(group/cloud_maintenance.azure.host) in C(module_defaults). It is not in the group of the modules that
      ask the metadata service, because it has none of their options.
    membership:
      - cloud_maintenance.azure.host
  check_mode:
    support: full
    details: Nothing is asked. The status is read, C(changed) is foreseen from it, and RV(ok) is V(false), because the host
      has given no answer.
  diff_mode:
    support: full
  idempotent:
    support: full
    details: A hold that is repeated within a minute is the same hold; later it is a longer one.
seealso:
  - module: cloud_maintenance.azure.azure_scheduled_event_approve
  - module: cloud_maintenance.azure.azure_scheduled_events_info
"""

EXAMPLES = r"""
- name: See what is known and done on this host
  cloud_maintenance.azure.azure_event_handlers:
  register: host

# my_run is another one in each run: -e my_run=$(date +%s)
- name: Get ready, and let the play go on with the answer, whatever it is
  cloud_maintenance.azure.azure_event_handlers:
    request: prepare
    event_id: 602D9444-D2CD-49C7-8624-8643E7171297
    run_id: "{{ awx_job_id | default(my_run) }}"
    within: 5m
    if_refused: ok
  register: prepared

- name: Take the host's word for it
  cloud_maintenance.azure.azure_event_handlers:
    request: commit
    event_id: 602D9444-D2CD-49C7-8624-8643E7171297
    run_id: "{{ awx_job_id | default(my_run) }}"
  when: prepared.ok | default(false)

- name: Write down on the host that the approval is about to be posted
  cloud_maintenance.azure.azure_event_handlers:
    request: sending
    event_id: 602D9444-D2CD-49C7-8624-8643E7171297
    run_id: "{{ awx_job_id | default(my_run) }}"
    witness: web_5

- name: Write down what became of it
  cloud_maintenance.azure.azure_event_handlers:
    request: approved
    event_id: 602D9444-D2CD-49C7-8624-8643E7171297
    run_id: "{{ awx_job_id | default(my_run) }}"
    outcome: taken

- name: Wait until the event is gone and the host is back in service
  cloud_maintenance.azure.azure_event_handlers:
    wait_until: over
    event_id: 602D9444-D2CD-49C7-8624-8643E7171297
    timeout: 10m
  register: followed
  until: followed.over | default(false)
  retries: 6
  delay: 0

- name: See how far the clock of this host is ahead of the controller's
  cloud_maintenance.azure.azure_event_handlers:
    asked_at: "{{ now().timestamp() }}"
  register: clocks

- name: Give the host back after all, because the event could not be approved
  cloud_maintenance.azure.azure_event_handlers:
    request: abort
    event_id: 602D9444-D2CD-49C7-8624-8643E7171297
    run_id: "{{ awx_job_id | default(my_run) }}"

- name: Keep everybody off while a database is restored
  cloud_maintenance.azure.azure_event_handlers:
    request: hold
    by: ann
    hold_for: 2h
    reason: the database is being restored

- name: Let it be prepared again
  cloud_maintenance.azure.azure_event_handlers:
    request: release
    by: ann

- name: Fetch what is known of an event that is over
  cloud_maintenance.azure.azure_event_handlers:
    event_id: 602D9444-D2CD-49C7-8624-8643E7171297
    gather_evidence: true
  register: report
"""

RETURN = r"""
ok:
  description:
    - Whether the host has done what it was asked for. Nothing else is a yes.
  returned: when O(request) is given and the host could be asked
  type: bool
  sample: true
verdict:
  description:
    - V(ready), V(committed), V(back_in_service) and V(done) are as asked.
    - V(not_ready) is a preparation or a recovery that has failed, V(commit_refused) a host that does not give its word,
      V(refused) a request that was turned away without any effect, and V(pending) one that was not done when O(timeout)
      was over.
    - V(not_asked) is check mode.
  returned: when O(request) is given and the host could be asked
  type: str
  sample: ready
message:
  description: The verdict in a sentence, or what the wait has come to.
  returned: when O(request) or O(wait_until) is given and the host could be asked
  type: str
  sample: "This host is ready: every handler is done."
asked:
  description: The command line of the request, in check mode the one that would be run.
  returned: when O(request) is given and the host could be asked
  type: list
  elements: str
  sample: [/usr/local/sbin/azure-event-handlers, request, release, --json, --by=ann, --timeout=30m]
over:
  description: Whether nothing of O(event_id) is in effect on this host any more.
  returned: when O(wait_until) is given and the host could be asked
  type: bool
  sample: true
clock_difference:
  description: How many seconds the clock of this host is ahead of O(asked_at).
  returned: when O(asked_at) is given and the status could be read
  type: float
  sample: 0.31
state:
  description:
    - The state of O(event_id) on this host, as the page R(host,ansible_collections.cloud_maintenance.azure.docsite.host) has
      them. V(null) without an event, or if nothing is known of it.
  returned: when the status could be read
  type: str
  sample: PREPARED
handlers:
  description: The handlers of O(event_id), and how their work has ended; of a request, at the moment of the verdict.
  returned: when the status could be read
  type: list
  elements: dict
  contains: &handlers
    name: {description: The name of the handler., type: str, returned: always, sample: 10-haproxy}
    required: {description: Whether the host is not ready without it., type: bool, returned: always, sample: true}
    inspect:
      description: Whether the host was out of service before. V(done) is yes, V(unchanged) is no.
      type: dict
      returned: always
      contains: &work
        outcome:
          description: V(done), V(unchanged), V(failed), V(out_of_time) or V(stopped); V(null) while it is not over.
          type: str
          returned: always
          sample: done
        exit: {description: The last exit code., type: int, returned: always, sample: 0}
    prepare:
      description: Taking it out of service. V(unchanged) means that it was so before, and is not put back.
      type: dict
      returned: always
      contains: *work
    check:
      description: The question before the word is given. V(done) is out of service.
      type: dict
      returned: always
      contains: *work
    recover:
      description: Putting it back into service.
      type: dict
      returned: always
      contains: *work
status:
  description: What is known and done on this host, read at the end of the task.
  returned: when the status could be read
  type: dict
  contains:
    written_at: {description: "When it last changed, ISO 8601 in UTC.", type: str, returned: always, sample: "2026-11-18T09:46:00Z"}
    boot: {description: The id of the boot., type: str, returned: always, sample: 3f0e6a52-8d6c-4b0f-9d2a-0a1b7c7f6e11}
    vm_id:
      description: The id of the VM to Azure. V(null) while nobody has told it; then nothing runs.
      type: str
      returned: always
      sample: 5c08b38e-4d57-4c23-ac45-aca61037f084
    agent_seen_at:
      description: When the agent of this host last said what it sees. V(null) if it has not since the machine started.
      type: str
      returned: always
      sample: "2026-11-18T09:45:58Z"
    agent_good_since:
      description:
        - Since when the agent has had good answers of the metadata service without a gap of five minutes. V(null) while it has
          none, and when it has not said anything for five minutes.
      type: str
      returned: always
      sample: "2026-11-18T06:12:40Z"
    mode:
      description:
        - What the agent does, V(watch), V(prepare) or V(prepare_and_approve). While the configuration is wrong it may be V(watch)
          whatever is configured. V(null) if the agent has said nothing and the configuration is wrong.
      type: str
      returned: always
      sample: watch
    allow_empty_prepare:
      description: Whether this host is ready for an event that no handler is for. V(null) if the configuration is wrong.
      type: bool
      returned: always
      sample: false
    handlers_configured:
      description: The handlers of this host in their order. Empty if the configuration is wrong, which RV(status.problems) says.
      type: list
      elements: dict
      returned: always
      contains:
        name: {description: The name of the handler., type: str, returned: always, sample: 10-haproxy}
        event_types: {description: For which types it is run., type: list, elements: str, returned: always, sample: [Reboot, Redeploy]}
        limit: {description: How many seconds one run may take., type: float, returned: always, sample: 60.0}
        required: {description: Whether the host is not ready without it., type: bool, returned: always, sample: true}
    hold:
      description: Who keeps this host from being prepared. V(null) if nobody does.
      type: dict
      returned: always
      contains:
        by: {description: Who., type: str, returned: always, sample: ann}
        until: {description: Until when., type: str, returned: always, sample: "2026-11-18T13:46:00Z"}
        reason: {description: Why., type: str, returned: always, sample: the database is being restored}
    problems:
      description: What is wrong on this host, a sentence each.
      type: list
      elements: str
      returned: always
      sample: []
    broken:
      description: Records that cannot be read and were put aside. Nothing runs for their events.
      type: list
      elements: str
      returned: always
      sample: []
    records:
      description: The events of this host, all that are open and the last ones that are over.
      type: list
      elements: dict
      returned: always
      contains:
        event:
          description: The event as it was last seen, with the keys of
            RV(cloud_maintenance.azure.azure_scheduled_events_info#module:events).
          type: dict
          returned: always
          contains: &event
            event_id: {description: The id., type: str, returned: always, sample: 602D9444-D2CD-49C7-8624-8643E7171297}
            event_type: {description: The type., type: str, returned: always, sample: Reboot}
            event_status: {description: The status., type: str, returned: always, sample: Scheduled}
            event_source: {description: The source., type: str, returned: always, sample: Platform}
            resource_type: {description: What is hit., type: str, returned: always, sample: VirtualMachine}
            resources: {description: The names of the VMs., type: list, elements: str, returned: always, sample: [web_3, web_4]}
            not_before: {description: When it starts by itself., type: str, returned: always, sample: "2026-11-18T10:00:00Z"}
            seconds_to_not_before: {description: The same in seconds from now., type: int, returned: always, sample: 840}
            description: {description: What Azure says about it., type: str, returned: always, sample: ""}
            duration_seconds: {description: Expected interruption., type: int, returned: always, sample: 9}
            affects_this_vm: {description: "Always V(null) here.", type: bool, returned: always}
        occurrence: {description: The how many-th time the same id came., type: int, returned: always, sample: 1}
        vm_id: {description: The VM whose record it is., type: str, returned: always, sample: 5c08b38e-4d57-4c23-ac45-aca61037f084}
        state: {description: The state., type: str, returned: always, sample: PREPARED}
        open: {description: Whether anything can still happen., type: bool, returned: always, sample: true}
        view:
          description: How Azure last showed it, V(scheduled), V(started), V(gone) or V(not_named).
          type: str
          returned: always
          sample: scheduled
        reason: {description: Why it is in this state., type: str, returned: always, sample: every handler is done}
        decision: {description: What the host's own policy says., type: str, returned: always, sample: prepare_and_approve}
        result: {description: What came of it in the end., type: str, returned: always, sample: recovered}
        attempt: {description: How often it was prepared., type: int, returned: always, sample: 1}
        commit_refused:
          description: Why the host did not give its word.
          type: str
          returned: always
          sample: 10-haproxy says that it is in service
        driver:
          description: Who has it in hand. V(null) if nobody has.
          type: dict
          returned: always
          contains:
            name: {description: Who., type: str, returned: always, sample: playbook}
            run: {description: In which run., type: str, returned: always, sample: "4711"}
            lease_until: {description: Until when without a new word., type: str, returned: always, sample: "2026-11-18T09:56:00Z"}
        given_to:
          description:
            - To whom this host has given its word, one after the other. Each of them may have posted an approval. Empty if the host
              has not, or has it back.
          type: list
          elements: dict
          returned: always
          contains:
            name: {description: Who., type: str, returned: always, sample: playbook}
            run: {description: In which run., type: str, returned: always, sample: "4711"}
        post:
          description: The last approval that a driver has spoken of here. V(null) if none has.
          type: dict
          returned: always
          contains:
            driver: {description: Who., type: str, returned: always, sample: playbook}
            run: {description: In which run., type: str, returned: always, sample: "4711"}
            witness: {description: From which VM., type: str, returned: always, sample: web_5}
            sent_at: {description: Since when it may be on its way., type: str, returned: always, sample: "2026-11-18T09:48:00Z"}
            outcome:
              description: What became of it, as in O(outcome). V(null) while nobody has said.
              type: str
              returned: always
              sample: taken
            told_at: {description: When that was said., type: str, returned: always, sample: "2026-11-18T09:48:01Z"}
            maybe: {description: Whether this one or an earlier one may have been taken., type: bool, returned: always, sample: true}
        first_seen: {description: When it was first seen., type: str, returned: always, sample: "2026-11-18T09:46:00Z"}
        last_seen: {description: When it was last told of., type: str, returned: always, sample: "2026-11-18T09:46:00Z"}
        started_at: {description: When it was first seen started., type: str, returned: always, sample: "2026-11-18T10:00:00Z"}
        gone_at: {description: When it was sure to be gone., type: str, returned: always, sample: "2026-11-18T10:03:20Z"}
        changed_at: {description: When the record last changed., type: str, returned: always, sample: "2026-11-18T09:47:00Z"}
        deadline: {description: When preparing must be over., type: str, returned: always, sample: "2026-11-18T09:51:00Z"}
        handlers:
          description: The handlers, as in RV(handlers).
          type: list
          elements: dict
          returned: always
          contains: *handlers
evidence:
  description:
    - Everything that is known of O(event_id) on this host; V(null) if that is nothing. A run of the rolling maintenance has the same keys,
      see R(evidence,ansible_collections.cloud_maintenance.azure.docsite.evidence).
  returned: when O(gather_evidence) is V(true) and the status could be read
  type: dict
  contains:
    schema: {description: The version of these keys., type: int, returned: always, sample: 1}
    kind: {description: Whose evidence it is., type: str, returned: always, sample: host}
    key: {description: The name of the record on the host., type: str, returned: always, sample: 0f3a9c2e5b7d1846}
    occurrence: {description: The how many-th time the same id came., type: int, returned: always, sample: 1}
    event: {description: The event., type: dict, returned: always, contains: *event}
    vm_id: {description: The VM., type: str, returned: always, sample: 5c08b38e-4d57-4c23-ac45-aca61037f084}
    identity:
      description: Who the VM is to Azure, and by which C(inventory_name) and C(scope) whoever has asked knows it.
      type: dict
      returned: always
    first_seen: {description: When it was first seen., type: str, returned: always, sample: "2026-11-18T09:46:00Z"}
    last_seen: {description: When it was last told of., type: str, returned: always, sample: "2026-11-18T10:03:10Z"}
    notice_seconds: {description: From then to its NotBefore., type: int, returned: always, sample: 840}
    changes: {description: How it changed later., type: list, elements: dict, returned: always, sample: []}
    clock: {description: What is known of the clock of the host., type: dict, returned: always}
    decision: {description: What the host's own policy says., type: str, returned: always, sample: prepare_and_approve}
    decision_details: {description: The same with all times of the arithmetic., type: dict, returned: always}
    reason: {description: Why it is in its state., type: str, returned: always, sample: every handler is done}
    driver: {description: Who has it in hand., type: str, returned: always, sample: playbook}
    run: {description: In which run., type: str, returned: always, sample: "4711"}
    attempts: {description: How often it was prepared., type: int, returned: always, sample: 1}
    handlers: {description: Each run of a handler with its output., type: list, elements: dict, returned: always, sample: []}
    requests: {description: Who has asked for what and when., type: list, elements: dict, returned: always, sample: []}
    posts:
      description: Each approval that the agent of this host has posted, or a driver has spoken of.
      type: list
      elements: dict
      returned: always
      sample: []
    gate_refusals: {description: Why it did not post one., type: list, elements: dict, returned: always, sample: []}
    approved_by: {description: "V(us), V(other) or V(nobody).", type: str, returned: always, sample: nobody}
    started: {description: When it was first seen started., type: str, returned: always, sample: "2026-11-18T10:00:00Z"}
    gone: {description: When it was sure to be gone., type: str, returned: always, sample: "2026-11-18T10:03:20Z"}
    boot_ids: {description: The boots during the event., type: list, elements: str, returned: always, sample: []}
    healthy: {description: Whether the host is back in service and the event over., type: bool, returned: always, sample: true}
    recovered: {description: When the last handler had put it back., type: str, returned: always, sample: "2026-11-18T10:03:25Z"}
    seconds_drained: {description: How long it was out of service., type: int, returned: always, sample: 980}
    state: {description: The state of the record., type: str, returned: always, sample: CLOSED}
    result: {description: What came of it., type: str, returned: always, sample: recovered}
    history: {description: From state to state., type: list, elements: dict, returned: always, sample: []}
    notes: {description: What else was remembered., type: list, elements: dict, returned: always, sample: []}
"""

from typing import Any, Dict, Optional, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import MaintenanceError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._host_command import (
    OUTCOMES,
    REQUESTS,
    HostCommand,
    Task,
    done,
)

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "request": {"type": "str", "choices": list(REQUESTS)},
    "event_id": {"type": "str"},
    "driver": {"type": "str", "default": "playbook"},
    "run_id": {"type": "str"},
    "lease": {"type": "str", "default": "10m"},
    "within": {"type": "str"},
    "budget": {"type": "str"},
    "clock_error": {"type": "str"},
    "inventory_name": {"type": "str"},
    "scope": {"type": "str"},
    "timeout": {"type": "str", "default": "30m"},
    "wait_until": {"type": "str", "choices": ["over"]},
    "witness": {"type": "str"},
    "outcome": {"type": "str", "choices": list(OUTCOMES)},
    "asked_at": {"type": "float"},
    "by": {"type": "str"},
    "hold_for": {"type": "str"},
    "reason": {"type": "str"},
    "force": {"type": "bool", "default": False},
    "if_refused": {"type": "str", "choices": ["fail", "ok"], "default": "fail"},
    "gather_evidence": {"type": "bool", "default": False},
    "command": {"type": "path", "default": "/usr/local/sbin/azure-event-handlers"},
    "root": {"type": "path"},
}
NEEDED = [
    ("request", "prepare", ["event_id", "run_id"]),
    ("request", "commit", ["event_id", "run_id"]),
    ("request", "abort", ["event_id", "run_id"]),
    ("request", "sending", ["event_id", "run_id"]),
    ("request", "approved", ["event_id", "run_id", "outcome"]),
    ("request", "recover", ["event_id"]),
]


def answer(module: AnsibleModule) -> Tuple[Dict[str, Any], Optional[str]]:
    """The result, and why the task fails if it does; nothing fails inside a handler, where newer Ansible appends the causes."""
    params = module.params

    def run(words: Any) -> Any:
        return module.run_command(words, handle_exceptions=False, expand_user_and_vars=False)

    try:
        return done(Task(params, module.check_mode, HostCommand(params["command"], params["root"], run), Clock()))
    except MaintenanceError as error:
        return {}, error.message


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, required_if=NEEDED, supports_check_mode=True)
    result, failure = answer(module)
    diff = result.pop("diff", None)
    if module._diff and diff is not None:
        result["diff"] = diff
    if failure is not None:
        module.fail_json(msg=failure, **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
