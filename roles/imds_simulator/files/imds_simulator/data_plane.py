# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data plane: what a VM sees of the metadata service, rule by rule, and what faults make of it."""

from __future__ import annotations

import dataclasses
import json
from collections import deque
from dataclasses import dataclass
from typing import Any, Deque, Dict, Generator, List, Mapping, Optional, Sequence, Set, Tuple

from . import contract, faults, identity
from .contract import Page, fold
from .faults import Fault
from .journal import Headers, Record
from .model import VM
from .transport import HTML_TYPE, TEXT_TYPE, Ending, Handling, HangUp, Pause, Reply, Request, Until, Wait
from .world import World

PREFIX = "/vm/"
HTML_PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in to the network</h1></body></html>"
MALFORMED_EVENT: Mapping[str, Any] = {
    "EventId": None,
    "EventType": 7,
    "ResourceType": [],
    "Resources": "not a list",
    "EventStatus": {"Scheduled": True},
    "NotBefore": -1,
    "Description": 0,
    "EventSource": False,
    "DurationInSeconds": "soon",
}
UNKNOWN_VM = (
    "The simulator cannot tell which VM this request comes from: there is no VM %s. "
    "Put /vm/NAME before /metadata, or give a VM this address."
)


@dataclass(frozen=True)
class Asked:
    """A request whose sender and subject are known."""

    request: Request
    record: Record
    vm: Optional[VM]
    path: str
    subject: str  # events | instance | other
    struck: Sequence[Fault]

    def fault(self, kind: str) -> Optional[Fault]:
        return next((fault for fault in self.struck if fault.kind == kind), None)

    def ending(self) -> Optional[Fault]:
        return next((fault for fault in self.struck if fault.kind in faults.ENDINGS), None)


class DataPlane:
    """Answers one request at a time; everything it knows is in the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        # C-8: when each VM's requests of the last second were taken.
        self._taken: Dict[str, Deque[float]] = {}

    def handle(self, request: Request) -> Handling:
        asked = self._look(request)
        for fault in asked.struck:
            if fault.kind == "delay":
                yield Pause(fault.seconds)
        ending = asked.ending()
        if ending is None:
            reply = yield from self._act(asked)
            return self._sent(asked, reply)
        if ending.acts or ending.kind in faults.ALWAYS_ACT:
            reply = yield from self._act(asked)
            return (yield from self._spoil(asked, ending, reply))
        return (yield from self._spoil(asked, ending, Reply(200)))

    # --- who asks for what ----------------------------------------------------------------------------------------

    def _look(self, request: Request) -> Asked:
        with self._world.lock:
            now = self._world.settle()
            name, path = _split(request.path)
            vm = self._vm(name, request.peer)
            subject = _subject(path)
            key = vm.key if vm else None
            struck = self._world.faults.strike(vm=key, verb=request.verb, path=subject, ids=_ids_of(request))
            record = Record(
                number=self._world.journal.received + 1,
                at=now,
                vm=key if vm else name,
                verb=request.verb,
                path=path,
                query=dict(request.query),
                headers=request.headers,
                body=request.body.decode("utf-8", "replace"),
                faults=tuple(fault.kind for fault in struck),
            )
            self._world.journal.add(record)
            return Asked(request, record, vm, path, subject, struck)

    def _vm(self, name: Optional[str], peer: str) -> Optional[VM]:
        fabric = self._world.fabric
        if name is not None:
            return fabric.vm(name) if fabric.has_vm(name) else None
        if peer in fabric.by_address:
            return fabric.by_address[peer]
        # One VM alone needs no name.
        return next(iter(fabric.vms.values())) if len(fabric.vms) == 1 else None

    # --- acting upon it -------------------------------------------------------------------------------------------

    def _act(self, asked: Asked) -> Generator[Wait, None, Reply]:
        vm = asked.vm
        if vm is None or vm.key not in self._world.fabric.vms:
            return _error(400, UNKNOWN_VM % (repr(asked.record.vm) if asked.record.vm else "at address " + asked.request.peer))
        with self._world.lock:
            reply, ready_at = self._answer(asked, vm, self._world.settle())
        if reply is not None:
            return reply
        yield Until(ready_at)
        with self._world.lock:
            return self._get_events(asked, vm, self._world.settle())

    def _answer(self, asked: Asked, vm: VM, now: float) -> Tuple[Optional[Reply], float]:
        """The answer; none yet after a first call (C-7), and then the instant when there is one."""
        refusal = self._refusal(asked, vm, now)
        if refusal is not None:
            return refusal, now
        if asked.subject == faults.INSTANCE:
            return self._get_instance(asked, vm, now), now
        if asked.subject != faults.EVENTS:
            return _json(200, {"apiVersions": list(contract.INSTANCE_VERSIONS)}), now
        ready_at = self._world.fabric.call(vm, now=now)
        if asked.request.verb == "POST":
            return self._post(asked, vm, now), now
        return (self._get_events(asked, vm, now) if ready_at <= now else None), ready_at

    def _refusal(self, asked: Asked, vm: VM, now: float) -> Optional[Reply]:
        if asked.subject == "other" and asked.path != contract.VERSIONS_PATH:
            return _error(404, contract.NOT_FOUND % asked.path)
        verbs = ("GET", "POST") if asked.subject == faults.EVENTS else ("GET",)
        if asked.request.verb not in verbs:
            return _error(405, contract.status_text(405), headers=(("Allow", ", ".join(verbs)),))
        problem = _problem(asked)
        if problem is not None:
            return _error(400, problem)
        if not self._within_rate(vm, now):
            return _error(429, contract.status_text(429))
        return None

    def _within_rate(self, vm: VM, now: float) -> bool:
        """C-8"""
        limit = self._world.settings.rate_limit
        if not limit:
            return True
        taken = self._taken.setdefault(vm.key, deque())
        while taken and now - taken[0] >= contract.RATE_WINDOW:
            taken.popleft()
        if len(taken) >= limit:
            return False
        taken.append(now)
        return True

    def _post(self, asked: Asked, vm: VM, now: float) -> Reply:
        try:
            ids = contract.start_request_ids(asked.request.body)
        except ValueError as problem:
            return _error(400, str(problem))
        self._world.fabric.approve(vm, ids, now=now)
        self._world.settle()
        # Something may be due sooner than what the server's timer waits for.
        self._world.on_change()
        return Reply(200)

    def _get_events(self, asked: Asked, vm: VM, now: float) -> Reply:
        spoilers = [fault for fault in asked.struck if fault.kind in _SPOILERS]
        if spoilers:
            # A spoiled answer has a number and a tag of its own, and so has the next one: else a client that sends the tag would never
            # see it, or never again anything else.
            self._world.fabric.bump(vm, now=now)
        page = self._page(asked, vm, now)
        body = self._body(asked, vm, page, spoilers)
        if spoilers:
            self._world.fabric.bump(vm, now=now)
        tag = contract.tag(page.incarnation)
        if _same_tag(asked.request.headers.get("if-none-match", ""), tag):
            return Reply(304, headers=(("ETag", tag),))
        return Reply(200, body, headers=(("ETag", tag),))

    def _page(self, asked: Asked, vm: VM, now: float) -> Page:
        fabric = self._world.fabric
        late, repeated = asked.fault("late"), asked.fault("repeat_incarnation")
        page = fabric.page(vm) if late is None else self._late_page(vm, late, now)
        if repeated is None:
            return page
        kept = fabric.page(vm, revision=repeated.revision).incarnation if repeated.incarnation is None else repeated.incarnation
        return dataclasses.replace(page, incarnation=kept)

    def _body(self, asked: Asked, vm: VM, page: Page, spoilers: Sequence[Fault]) -> bytes:
        """The answer; the same for all VMs of a scope that ask in the same version, as long as nobody spoils it."""
        version = dict(asked.request.query)["api-version"]
        feature = vm.feature()
        shared = page is feature.page() and not spoilers
        if shared and version in feature.bodies:
            return feature.bodies[version]
        document = contract.document(page, version, self._world.settings)
        for fault in spoilers:
            _SPOILERS[fault.kind](document["Events"], fault)
        body = json.dumps(document).encode("utf-8")
        if shared:
            feature.bodies[version] = body
        return body

    def _late_page(self, vm: VM, late: Fault, now: float) -> Page:
        if late.seconds is None:
            return self._world.fabric.page(vm, revision=late.revision)
        return self._world.fabric.page(vm, at=now - late.seconds)

    def _get_instance(self, asked: Asked, vm: VM, now: float) -> Reply:
        age = now - vm.created_at
        if age < vm.missing_for:
            return _error(404, contract.status_text(404))
        whole = identity.instance(vm, incomplete=age < vm.incomplete_for or asked.fault("incomplete") is not None)
        steps = [step for step in asked.path[len(contract.INSTANCE_PATH) :].split("/") if step]
        try:
            found = identity.part(whole, steps)
        except LookupError:
            return _error(404, contract.NOT_FOUND % asked.path)
        form = dict(asked.request.query).get("format", "json")
        if form == "text":
            return Reply(200, identity.as_text(found).encode("utf-8"), content_type=TEXT_TYPE)
        if form != "json":
            return _error(400, contract.BAD_FORMAT % form)
        if identity.is_leaf(found):
            return _error(400, contract.LEAF_NEEDS_TEXT)
        return _json(200, found)

    # --- how it ends ----------------------------------------------------------------------------------------------

    def _sent(self, asked: Asked, reply: Reply) -> Reply:
        asked.record.status = reply.status
        return reply

    def _spoil(self, asked: Asked, fault: Fault, reply: Reply) -> Generator[Wait, None, Ending]:
        kind = fault.kind
        headers = tuple(fault.headers.items())
        if kind == "status":
            status = fault.status or 500
            body = contract.error_body(contract.status_text(status)) if fault.body is None else _bytes(fault.body)
            return self._sent(asked, Reply(status, b"" if status == 304 else body, headers=headers))
        if kind == "html":
            body = HTML_PAGE if fault.body is None else _bytes(fault.body)
            return self._sent(asked, Reply(200, body, content_type=HTML_TYPE, headers=headers))
        if kind == "redirect":
            return self._sent(asked, Reply(302, headers=(("Location", fault.location),)))
        if kind == "truncate":
            return self._sent(asked, Reply(reply.status, reply.body, reply.content_type, reply.headers, cut=True))
        if kind == "half_json":
            return self._sent(asked, Reply(reply.status, reply.body[: len(reply.body) // 2], reply.content_type, reply.headers))
        if kind == "hang":
            yield Pause(fault.seconds)
        return HangUp(reset=kind in ("reset", "lost_answer"))


def _split(path: str) -> Tuple[Optional[str], str]:
    """The VM's name, if the path begins with one, and the rest."""
    if not path.startswith(PREFIX):
        return None, path
    name, slash, rest = path[len(PREFIX) :].partition("/")
    return name, slash + rest


def _subject(path: str) -> str:
    if path == contract.EVENTS_PATH:
        return faults.EVENTS
    if path == contract.INSTANCE_PATH or path.startswith(contract.INSTANCE_PATH + "/"):
        return faults.INSTANCE
    return "other"


def _ids_of(request: Request) -> Set[str]:
    if request.verb != "POST":
        return set()
    try:
        return {fold(event_id) for event_id in contract.start_request_ids(request.body)}
    except ValueError:
        return set()


def _problem(asked: Asked) -> Optional[str]:
    """C-2, C-3, C-6: why the request is malformed."""
    request = asked.request
    if "x-forwarded-for" in request.headers:
        return contract.FORWARDED
    names = [name.lower() for name, _value in request.query]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        return contract.KEY_TWICE % twice
    version = dict(request.query).get("api-version")
    if asked.subject == faults.EVENTS:
        return contract.version_problem(version, contract.VERSIONS) or _header_problem(request.headers, str(version))
    if asked.subject == faults.INSTANCE:
        return contract.version_problem(version, contract.INSTANCE_VERSIONS) or _header_problem(request.headers, contract.HEADER_SINCE)
    return _header_problem(request.headers, contract.HEADER_SINCE)


def _header_problem(headers: Headers, version: str) -> Optional[str]:
    if version < contract.HEADER_SINCE or headers.get("metadata", "").lower() == "true":
        return None
    return contract.NO_HEADER


def _same_tag(wanted: str, tag: str) -> bool:
    """C-9"""
    return any(candidate.strip() in (tag, "W/" + tag, "*") for candidate in wanted.split(","))


def _position(events: List[Dict[str, Any]], fault: Fault) -> Optional[int]:
    if fault.event_id is None:
        return 0 if events else None
    return next((index for index, event in enumerate(events) if fold(str(event.get("EventId"))) == fold(fault.event_id)), None)


def _drop(events: List[Dict[str, Any]], fault: Fault) -> None:
    position = _position(events, fault)
    if position is not None:
        del events[position]


def _empty(events: List[Dict[str, Any]], _fault: Fault) -> None:
    del events[:]


def _duplicate(events: List[Dict[str, Any]], fault: Fault) -> None:
    position = _position(events, fault)
    if position is not None:
        events.append(events[position])


def _malform(events: List[Any], fault: Fault) -> None:
    bad = dict(MALFORMED_EVENT) if fault.body is None else fault.body
    position = _position(events, fault)
    if position is None:
        events.append(bad)
        return
    events[position] = bad


# Faults that change the list of one answer.
_SPOILERS = {"drop_event": _drop, "empty": _empty, "duplicate_event": _duplicate, "malformed_event": _malform}


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode("utf-8") if isinstance(body, str) else json.dumps(body).encode("utf-8")


def _json(status: int, value: Any) -> Reply:
    return Reply(status, json.dumps(value).encode("utf-8"))


def _error(status: int, text: str, headers: Tuple[Tuple[str, str], ...] = ()) -> Reply:
    return Reply(status, contract.error_body(text), headers=headers)
