# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One reading as a result: what the module azure_scheduled_events_info and the lookup of nearly that name both give.

Private to the collection.
"""

from __future__ import annotations

import traceback
from dataclasses import asdict, dataclass
from typing import Any, Dict, Mapping, Optional

from ._arguments import selection_of, vm_name_of
from ._document import event_result
from ._errors import ConfigurationError, LibraryMissing
from ._imds import MetadataService, Vm
from ._selection import Selection
from ._time import format_instant, quoted

# The option with which nobody needs to ask for the VM's name.
_OTHERWISE = "vm_name"


@dataclass(frozen=True)
class Question:
    """What is asked for, checked before anything is sent."""

    selection: Selection
    vm_name: Optional[str]
    gather_vm: bool
    expression: Optional[Any]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Question:
        query = options["query"]
        return cls(
            selection=selection_of(options),
            vm_name=vm_name_of(options),
            gather_vm=options["gather_vm"],
            expression=None if query is None else _compiled(query),
        )


def answer(service: MetadataService, question: Question) -> Dict[str, Any]:
    """The result; the VM's name is asked for only when something needs it."""
    vm = service.vm(otherwise=_OTHERWISE) if question.gather_vm else None
    vm_name = question.vm_name or (vm.name if vm else None)
    if question.selection.this_vm_only and vm_name is None:
        vm_name = service.vm(otherwise=_OTHERWISE).name
    reading = service.read()
    events = question.selection.select(reading.document.events, now=reading.queried_at, vm_name=vm_name)
    result = {
        "events": [event_result(event, queried_at=reading.queried_at, vm_name=vm_name) for event in events],
        "document_incarnation": reading.document.incarnation,
        "document": reading.document.raw,
        "vm": vm_result(vm) if vm else None,
        "queried_at": format_instant(reading.queried_at),
    }
    if question.expression is not None:
        result["query_result"] = _searched(question.expression, result)
    return result


def vm_result(vm: Vm) -> Dict[str, Any]:
    return asdict(vm)


def _compiled(query: str) -> Any:
    try:
        import jmespath
        import jmespath.exceptions
    except ImportError as error:
        raise LibraryMissing("jmespath", traceback.format_exc()) from error
    try:
        return jmespath.compile(query)
    except jmespath.exceptions.JMESPathError as error:
        raise _bad_query(query, error) from error


def _searched(expression: Any, result: Dict[str, Any]) -> Any:
    import jmespath.exceptions

    try:
        return expression.search(result)
    except (jmespath.exceptions.JMESPathError, ValueError) as error:  # a slice by steps of 0 is a bare ValueError
        raise _bad_query(expression.expression, error) from error


def _bad_query(query: str, error: Exception) -> ConfigurationError:
    reason = " ".join(str(error).split())
    return ConfigurationError("query: %s is not a JMESPath expression that can be evaluated here: %s." % (quoted(query), reason))
