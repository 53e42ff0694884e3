# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: azure_scheduled_events
short_description: Read the maintenance that Azure announces to the machine where Ansible runs
version_added: 1.0.0
author:
  - cloud_maintenance contributors (!UNKNOWN)
description:
  - B(It runs where Ansible runs, not on the target host.) It sees the events of the controller's own scope, so it is of use
    when the controller is an Azure VM, such as an execution node in the same availability set, or with C(ansible-pull) or a
    local connection on the host itself. Everywhere else, use M(cloud_maintenance.azure.azure_scheduled_events_info).
  - Asking switches the feature on for the whole scope of the machine that asks, as described for
    M(cloud_maintenance.azure.azure_scheduled_events_info).
  - Use C(query), as the examples do, since C(lookup) gives one event as a dictionary,
    but none or two as a list.
options:
  _terms:
    description:
      - Names of VMs as Azure writes them. Only events that hit at least one of them are given.
      - They are added to O(resources).
    type: list
    elements: str
extends_documentation_fragment:
  - cloud_maintenance.azure.connection
  - cloud_maintenance.azure.connection.lookup
  - cloud_maintenance.azure.selection
seealso:
  - module: cloud_maintenance.azure.azure_scheduled_events_info
"""

EXAMPLES = r"""
- name: Show what Azure announces to the scope of the controller
  ansible.builtin.debug:
    msg: "{{ query('cloud_maintenance.azure.azure_scheduled_events') }}"

- name: Do not start while the controller itself is about to be hit
  ansible.builtin.assert:
    that: query('cloud_maintenance.azure.azure_scheduled_events', this_vm_only=true, starts_within='30m') | length == 0
    fail_msg: Azure is about to interrupt the machine that runs this play.

- name: List the events of two VMs of the controller's scope
  ansible.builtin.debug:
    msg: "{{ item.event_type }} of {{ item.resources | join(', ') }}, not before {{ item.not_before }}"
  loop: "{{ query('cloud_maintenance.azure.azure_scheduled_events', 'web_0', 'web_1') }}"
  loop_control:
    label: "{{ item.event_id }}"

- name: Keep only the ids, with JMESPath
  ansible.builtin.debug:
    msg: "{{ query('cloud_maintenance.azure.azure_scheduled_events', query='events[].event_id') }}"
"""

RETURN = r"""
_list:
  description:
    - The events that match, each with the keys of RV(cloud_maintenance.azure.azure_scheduled_events_info#module:events).
    - With O(query), what the expression finds; something else than a list comes as a list of one.
  type: list
  elements: raw
  sample:
    - event_id: 602D9444-D2CD-49C7-8624-8643E7171297
      event_type: Reboot
      event_status: Scheduled
      event_source: Platform
      resource_type: VirtualMachine
      resources: [web_3, web_4]
      not_before: "2026-11-18T10:00:00Z"
      seconds_to_not_before: 840
      description: ""
      duration_seconds: 9
      affects_this_vm: null
"""

from dataclasses import asdict
from typing import Any, Dict, Iterator, List, Mapping, Optional

from ansible.errors import AnsibleLookupError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.lookup import LookupBase
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import (
    connection_arguments,
    connection_of,
    selection_arguments,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError, LibraryMissing, MaintenanceError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import connect
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._info import Question, answer

_ARGUMENTS = {**connection_arguments(), **selection_arguments()}
# The names under which the options of the connection may be given as Ansible variables.
_VARIABLES = {option: "azure_scheduled_events_%s" % option for option in connection_arguments()}


class LookupModule(LookupBase):
    def run(self, terms: List[Any], variables: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> List[Any]:
        try:
            return self._read(terms, variables or {}, kwargs)
        except LibraryMissing as missing:
            failure = _say_library(missing.library)
        except MaintenanceError as error:
            failure = error.message
        # Not inside the handlers: newer versions of Ansible append the message of every cause, and the sentence drowns.
        raise AnsibleLookupError(failure)

    def _read(self, terms: List[Any], variables: Mapping[str, Any], given: Dict[str, Any]) -> List[Any]:
        self.set_options(var_options=self._templated(variables), direct=_checked(given))
        options = {option: self.get_option(option) for option in _ARGUMENTS}
        if terms:
            options["resources"] = [*_flat(terms), *(options["resources"] or ())]
        result = answer(connect(**asdict(connection_of(options)), clock=Clock()), Question.of(options))
        found = result["query_result"] if options["query"] is not None else result["events"]
        return found if isinstance(found, list) else [found]

    def _templated(self, variables: Mapping[str, Any]) -> Dict[str, Any]:
        """Ansible hands variables to a lookup as they were written: with their templates, and a version as a date."""
        given = {option: self._templar.template(variables[name]) for option, name in _VARIABLES.items() if name in variables}
        return {_VARIABLES[option]: value for option, value in _checked(given).items()}


def _flat(terms: List[Any]) -> Iterator[Any]:
    """A variable that holds a list is one term to Ansible, and its names to whoever wrote it."""
    for term in terms:
        if isinstance(term, list):
            yield from term
        else:
            yield term


def _checked(given: Mapping[str, Any]) -> Dict[str, Any]:
    """The options as a module would take them.

    Ansible itself reads over a mistyped option of a lookup, and takes any word for false: then every event matches.
    """
    unknown = sorted(set(given) - set(_ARGUMENTS))
    if unknown:
        raise ConfigurationError("Unknown option %s; known are %s." % (", ".join(unknown), ", ".join(sorted(_ARGUMENTS))))
    checked = ArgumentSpecValidator(_ARGUMENTS).validate(given)
    if checked.error_messages:
        raise ConfigurationError(checked.error_messages[0])
    return {option: checked.validated_parameters[option] for option in given}


def _say_library(library: str) -> str:
    return "The Python library %s is missing where Ansible runs: install it for the Python that ansible --version names." % library
