# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control plane: the world's actions as JSON over HTTP, on a listener of its own."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Match, Optional, Tuple
from urllib.parse import unquote

from . import arguments
from . import settings as setting
from .errors import InvalidError, SimulatorError
from .model import VM
from .transport import Handling, Reply, Request
from .world import World

LOG_SHOWN = 100


@dataclass(frozen=True)
class Call:
    """What a handler of the control plane gets: the name in the path, the query, the body."""

    world: World
    name: str
    query: Mapping[str, str]
    body: Any


Action = Callable[[Call], Any]


def _status(call: Call) -> Any:
    return call.world.status()


def _vm_as_dict(vm: VM) -> Dict[str, Any]:
    return {
        "vm": vm.key,
        "name": vm.name,
        "scope": vm.scope.name,
        "zone": vm.zone,
        "resource_group": vm.resource_group,
        "address": vm.address,
        "path": "/vm/" + vm.key,
    }


def _vms(call: Call) -> Any:
    return {"vms": [_vm_as_dict(vm) for vm in call.world.fabric.vms.values()]}


def _vm(call: Call) -> Any:
    return _vm_as_dict(call.world.fabric.vm(call.name))


def _add_vm(call: Call) -> Any:
    name, options = arguments.named("VM", call.body, arguments.VM_TABLE, "name")
    return _vm_as_dict(call.world.add_vm(name, **options))


def _remove_vm(call: Call) -> Any:
    call.world.remove_vm(call.name)
    return {"removed": call.name}


def _recreate_vm(call: Call) -> Any:
    return _vm_as_dict(call.world.recreate_vm(call.name))


def _switch_off(call: Call) -> Any:
    call.world.switch_off(call.name)
    return {"switched_off": call.name}


def _set_incarnation(call: Call) -> Any:
    incarnation = arguments.checked("incarnation", call.body, arguments.INCARNATION_TABLE)["incarnation"]
    call.world.set_incarnation(call.name, incarnation)
    return {"vm": call.name, "incarnation": incarnation}


def _scopes(call: Call) -> Any:
    return {"scopes": [{"scope": scope.name, "kind": scope.kind, "vms": list(scope.vms)} for scope in call.world.fabric.scopes.values()]}


def _add_scope(call: Call) -> Any:
    name, options = arguments.scope(call.body)
    scope = call.world.add_scope(name, **options)
    return {"scope": scope.name, "kind": scope.kind, "vms": [_vm_as_dict(vm) for vm in scope.vms.values()]}


def _events(call: Call) -> Any:
    return {"events": [event.as_dict() for event in call.world.events()]}


def _event(call: Call) -> Any:
    return call.world.event(call.name).as_dict()


def _schedule(call: Call) -> Any:
    options = arguments.checked("event", call.body, arguments.SCHEDULE_TABLE)
    return call.world.schedule(options.pop("event_type"), options.pop("resources"), **options).as_dict()


def _fail(call: Call) -> Any:
    name, options = arguments.named("failure", call.body, arguments.FAILURE_TABLE, "vm")
    return call.world.fail_hardware(name, **options).as_dict()


def _start(call: Call) -> Any:
    return call.world.start(call.name).as_dict()


def _complete(call: Call) -> Any:
    return call.world.complete(call.name).as_dict()


def _cancel(call: Call) -> Any:
    return call.world.cancel(call.name).as_dict()


def _change(call: Call) -> Any:
    return call.world.change(call.name, **arguments.checked("change", call.body, arguments.CHANGE_TABLE)).as_dict()


def _relist(call: Call) -> Any:
    return call.world.relist(call.name, **arguments.checked("relist", call.body, arguments.RELIST_TABLE)).as_dict()


def _faults(call: Call) -> Any:
    return {"faults": [fault.as_dict() for fault in call.world.faults.waiting()]}


def _add_fault(call: Call) -> Any:
    kind, options = arguments.named("fault", call.body, arguments.FAULT_TABLE, "kind")
    return call.world.fault(kind, **options).as_dict()


def _clear_faults(call: Call) -> Any:
    return {"cleared": call.world.clear_faults(vm=call.query.get("vm"))}


def _clear_fault(call: Call) -> Any:
    return {"cleared": call.world.clear_faults(number=_number("fault", call.name))}


def _clock(call: Call) -> Any:
    return {"now": call.world.now(), "clock": call.world.clock.kind, "rate": call.world.clock.rate}


def _advance(call: Call) -> Any:
    call.world.advance(arguments.checked("advance", call.body, arguments.ADVANCE_TABLE)["seconds"])
    return _clock(call)


def _log(call: Call) -> Any:
    journal = call.world.journal
    found = journal.find(vm=call.query.get("vm"), verb=call.query.get("verb"), path=call.query.get("path"))
    last = _number("last", call.query.get("last", str(LOG_SHOWN)))
    return {
        "size": journal.size,
        "received": journal.received,
        "forgotten": journal.forgotten,
        "found": len(found),
        "requests": [record.as_dict() for record in (found[-last:] if last else [])],
    }


def _clear_log(call: Call) -> Any:
    call.world.journal.clear()
    return {"cleared": True}


def _settings(call: Call) -> Any:
    return setting.as_dict(call.world.settings)


def _configure(call: Call) -> Any:
    if not isinstance(call.body, dict):
        raise InvalidError("settings: an object is needed, not %r" % (call.body,))
    return setting.as_dict(call.world.configure(**call.body))


def _number(what: str, text: str) -> int:
    if not text.isdigit():
        raise InvalidError("%s: a number is needed, not %r" % (what, text))
    return int(text)


# The role's page lists the same; a test compares.
ROUTES: Tuple[Tuple[str, str, Action, str], ...] = (
    ("GET", "/status", _status, "clock, live events, waiting faults, size of the log, settings"),
    ("GET", "/vms", _vms, "all VMs"),
    ("POST", "/vms", _add_vm, "a new VM, in a scope or by itself"),
    ("GET", "/vms/NAME", _vm, "one VM"),
    ("DELETE", "/vms/NAME", _remove_vm, "delete a VM"),
    ("POST", "/vms/NAME/recreate", _recreate_vm, "delete it and make it anew under the same name: another vmId"),
    ("POST", "/vms/NAME/switch-off", _switch_off, "as after a day without a call (C-7)"),
    ("POST", "/vms/NAME/incarnation", _set_incarnation, "set the incarnation of what this VM sees"),
    ("GET", "/scopes", _scopes, "all scopes"),
    ("POST", "/scopes", _add_scope, "a new scope, with VMs"),
    ("GET", "/events", _events, "events that are there, then those that were"),
    ("POST", "/events", _schedule, "schedule an event"),
    ("GET", "/events/ID", _event, "one event and its life"),
    ("POST", "/events/ID/start", _start, "let a scheduled event start"),
    ("POST", "/events/ID/complete", _complete, "let a started event be over"),
    ("POST", "/events/ID/cancel", _cancel, "cancel a scheduled event"),
    ("POST", "/events/ID/change", _change, "move NotBefore, change Resources and more (C-15)"),
    ("POST", "/events/ID/relist", _relist, "list an event that is gone once more (C-15)"),
    ("POST", "/failures", _fail, "let a VM's hardware fail: an event that is Started at once"),
    ("GET", "/faults", _faults, "faults that wait"),
    ("POST", "/faults", _add_fault, "a new fault"),
    ("DELETE", "/faults", _clear_faults, "no faults any more; ?vm=NAME: none of this VM's own"),
    ("DELETE", "/faults/NUMBER", _clear_fault, "take one fault away"),
    ("GET", "/clock", _clock, "the simulated time"),
    ("POST", "/clock/advance", _advance, "move the clock forward"),
    ("GET", "/log", _log, "the last requests of the data plane; ?vm= ?verb= ?path= ?last="),
    ("DELETE", "/log", _clear_log, "forget all requests"),
    ("GET", "/settings", _settings, "all settings"),
    ("POST", "/settings", _configure, "change some settings"),
)
_PLACE = re.compile(r"[A-Z]+")
_COMPILED = tuple((verb, re.compile("^%s$" % _PLACE.sub("([^/]+)", path)), action) for verb, path, action, _words in ROUTES)


class ControlPlane:
    """Finds the action for a request and says in one sentence what is wrong if there is none."""

    def __init__(self, world: World) -> None:
        self._world = world

    def handle(self, request: Request) -> Handling:
        yield from ()
        try:
            return _json(200, self._do(request))
        except SimulatorError as problem:
            return _json(problem.status, {"error": str(problem)})

    def _do(self, request: Request) -> Any:
        if "origin" in request.headers:
            # A page in somebody's browser must not get at it.
            raise _Forbidden("the control plane does not serve web pages")
        if request.path == "/":
            return {"calls": ["%s %s: %s" % (verb, path, words) for verb, path, _action, words in ROUTES]}
        action, name = _find(request)
        call = Call(self._world, name, dict(request.query), _body(request))
        with self._world.lock:
            return action(call)


class _Forbidden(SimulatorError):
    status = 403


class _NoRoute(SimulatorError):
    status = 404


class _WrongVerb(SimulatorError):
    status = 405


def _find(request: Request) -> Tuple[Action, str]:
    other: List[str] = []
    for verb, pattern, action in _COMPILED:
        found: Optional[Match[str]] = pattern.match(request.raw_path)
        if found is None:
            continue
        if verb == request.verb:
            return action, unquote(found.group(1)) if found.groups() else ""
        other.append(verb)
    if other:
        raise _WrongVerb("%s takes %s, not %s" % (request.path, " and ".join(other), request.verb))
    raise _NoRoute("there is nothing at %s; GET / lists what there is" % request.path)


def _body(request: Request) -> Any:
    if not request.body:
        return {}
    try:
        return json.loads(request.body.decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise InvalidError("the body is not JSON") from None


def _json(status: int, value: Any) -> Reply:
    return Reply(status, json.dumps(value).encode("utf-8") + b"\n")
