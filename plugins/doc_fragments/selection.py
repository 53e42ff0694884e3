# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Which events are meant, and what else is asked with them."""

    DOCUMENTATION = r"""
options:
  event_ids:
    description:
      - Only events with one of these ids, compared without case.
      - Like every list here, an empty list matches nothing.
    type: list
    elements: str
  event_types:
    description:
      - Only events of these types. V(unknown) stands for each type that Azure has not documented.
    type: list
    elements: str
    choices: [Freeze, Reboot, Redeploy, Preempt, Terminate, unknown]
  event_statuses:
    description:
      - Only events with one of these statuses. V(unknown) stands for every other one.
    type: list
    elements: str
    choices: [Scheduled, Started, unknown]
  event_sources:
    description:
      - Only events from one of these sources. V(unknown) stands for every other one, also for none, which is what versions
        before C(2019-08-01) give.
    type: list
    elements: str
    choices: [Platform, User, unknown]
  resources:
    description:
      - Only events that hit at least one of these VMs. Whole names as Azure writes them, compared without case.
    type: list
    elements: str
  this_vm_only:
    description:
      - Only events that hit this VM. Its name is asked from the metadata service unless O(vm_name) gives it.
    type: bool
    default: false
  starts_within:
    description:
      - Only events that start by themselves within this time, as seconds or as V(90s), V(15m), V(2h), V(7d).
      - Events without a known time match as well, because they have started, or may at any moment.
    type: str
  min_duration:
    description:
      - Only events whose announced interruption lasts at least this long. An unknown duration never matches.
    type: str
  max_duration:
    description:
      - Only events whose announced interruption lasts at most this long. An unknown duration never matches.
    type: str
  vm_name:
    description:
      - The name of this VM, which then need not be asked for. It is B(not) the host name.
    type: str
  gather_vm:
    description:
      - Ask who this VM is to Azure as well.
    type: bool
    default: false
  query:
    description:
      - A JMESPath expression that is evaluated over the whole result.
      - Needs the Python library jmespath where the question is asked.
    type: str
"""
