# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the modules have in common: from Ansible's parameters to the service, and from errors to fail_json.

Private to the collection. The only file here that knows AnsibleModule.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible.module_utils.common.respawn import has_respawned, probe_interpreters_for_module, respawn_module

from ._arguments import connection_arguments, connection_of
from ._clock import Clock
from ._errors import LibraryMissing, MaintenanceError
from ._imds import MetadataService, connect

# Where distributions keep the Python that their own packages are for; Azure's images have requests there.
_SYSTEM_PYTHONS = ("/usr/bin/python3", "/usr/libexec/platform-python", "/usr/bin/python")


@dataclass(frozen=True)
class Task:
    """One run of a module, for the function that does its work."""

    params: Mapping[str, Any]
    check_mode: bool
    service: MetadataService
    clock: Clock


@dataclass(frozen=True)
class Report:
    """The end of a task: its result, and why it failed if it did."""

    result: Dict[str, Any]
    failure: Optional[str] = None
    warnings: Sequence[str] = ()


def run(arguments: Mapping[str, Any], work: Callable[[Task], Report]) -> None:
    """Do the work of a module and leave, one way or the other."""
    module = AnsibleModule(argument_spec={**connection_arguments(), **arguments}, supports_check_mode=True)
    report = _done(module, work)
    for warning in report.warnings:
        module.warn(warning)
    if report.failure:
        module.fail_json(msg=report.failure, **report.result)
    module.exit_json(**report.result)


def _done(module: AnsibleModule, work: Callable[[Task], Report]) -> Report:
    """The report, also of what could not be done.

    Nothing fails inside a handler: newer versions of Ansible append the message of every cause, and the sentence drowns.
    """
    clock = Clock()
    try:
        service = connect(**asdict(connection_of(module.params)), clock=clock)
        return work(Task(module.params, module.check_mode, service, clock))
    except LibraryMissing as missing:
        _respawn(module.params)
        return Report({"exception": missing.reason}, missing_required_lib(missing.library))
    except MaintenanceError as error:
        return Report({}, error.message)


def _respawn(params: Mapping[str, Any]) -> None:
    """Start again under a Python that has everything this task needs, if there is one; once."""
    if has_respawned():
        return
    libraries = "requests, jmespath" if params.get("query") is not None else "requests"
    interpreter = probe_interpreters_for_module(_SYSTEM_PYTHONS, libraries)
    if interpreter:
        respawn_module(interpreter)
