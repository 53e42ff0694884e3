# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who the hosts of an inventory are to Azure, and what they have answered. Pure.

Private to the collection. An answer counts only if what it must have is there: a task that was skipped, that failed or that did not
reach its host has a result as well, and that result says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Tuple

from ..module_utils._document import Event, fold
from ..module_utils._errors import ConfigurationError, TimeFormatError
from ..module_utils._time import parse_duration, parse_instant

# The variables of a host, in front of which a user's own word comes.
OVERRIDES = ("vm_name", "resource_group", "subscription", "scope", "endpoint", "command", "root")
_OVERRIDE = "rolling_maintenance_%s"
# The names under which a role registers what a host has said.
ANSWER, STATUS = "rolling_maintenance__answer", "rolling_maintenance__status"
_RESOURCE_ID = re.compile(r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.Compute/.+", re.I)
# Nothing can be known of a host that was reached from a result without a sentence.
_NO_WORD = "it has not answered"
_NOT_INSTALLED = "is not there: install it with the role"
# A result of a host's status is some kilobytes long; of its records only these are still something.
_FOREIGN = "FOREIGN"
_RECORD = ("state", "attempt", "started_at", "reason")
_STATUS = ("vm_id", "mode", "allow_empty_prepare", "agent_seen_at", "agent_good_since")
# An answer of this many hosts of a scope is asked for: they may differ (C-21), and one of them may be dark.
ASKED_OF_A_SCOPE = 2

Identity = Tuple[str, str, str]


@dataclass(frozen=True)
class Answer:
    """What a host has said of the document. reachable: whether it could be asked at all."""

    ok: bool
    reachable: bool
    why: str
    events: Tuple[Event, ...]


@dataclass(frozen=True)
class Driver:
    """Who has an event in hand on a host, and until when without a new word."""

    name: str
    run: str
    lease_until: float


@dataclass(frozen=True)
class Record:
    """What a host has done about an event."""

    event_id: str
    state: str
    attempt: int
    driver: Optional[Driver]
    started_at: Optional[float]
    reason: str


@dataclass(frozen=True)
class Hold:
    """Who keeps a host from being prepared."""

    by: str
    until: float
    reason: str


@dataclass(frozen=True)
class Handler:
    """A handler as it is configured. event_types: None for every type."""

    name: str
    event_types: Optional[FrozenSet[str]]
    limit: float
    required: bool

    def applies_to(self, event_type: str) -> bool:
        return self.event_types is None or fold(event_type) in self.event_types


@dataclass(frozen=True)
class Status:
    """What a host says of itself. handlers: None where it does not say which it has."""

    ok: bool
    reachable: bool
    installed: bool
    why: str
    vm_id: Optional[str] = None
    hold: Optional[Hold] = None
    problems: Tuple[str, ...] = ()
    records: Tuple[Record, ...] = ()
    handlers: Optional[Tuple[Handler, ...]] = None
    allow_empty_prepare: bool = False
    clock_difference: Optional[float] = None
    # Since when its agent has had good answers of the metadata service.
    agent_good_since: Optional[float] = None

    def record_of(self, event_id: str) -> Optional[Record]:
        """The last one."""
        found = [record for record in self.records if fold(record.event_id) == fold(event_id)]
        return found[-1] if found else None


@dataclass(frozen=True)
class Host:
    """A host of the inventory. in_run: whether this run may touch it; asked: whether it was asked for the document."""

    name: str
    vm_name: Optional[str]
    resource_group: str
    subscription: str
    vm_id: Optional[str]
    scope: Optional[str]
    groups: FrozenSet[str]
    in_run: bool
    identified: bool
    conflict: Optional[str]
    answer: Optional[Answer]
    status: Optional[Status]

    @property
    def identity(self) -> Optional[Identity]:
        """Names of VMs are unique in a resource group only (C-20)."""
        return None if self.vm_name is None else (fold(self.subscription), fold(self.resource_group), fold(self.vm_name))

    @property
    def realm(self) -> Tuple[str, str]:
        """In which the names of an event that this host was shown are looked up."""
        return fold(self.subscription), fold(self.resource_group)

    @property
    def scope_key(self) -> str:
        """Of whom nobody knows with whom he shares a document, he is a scope of his own."""
        return "host " + self.name if self.scope is None else "scope " + self.scope

    @property
    def unreachable(self) -> bool:
        """Whether the last word of anybody was that it cannot be reached."""
        last = self.status or self.answer
        return last is not None and not last.reachable


# --- from the variables of the hosts -------------------------------------------------------------------------------------


def fleet_of(
    hostvars: Mapping[str, Any],
    names: Sequence[str],
    *,
    in_run: Sequence[str],
    before: Optional[Mapping[str, Any]],
    groups: Optional[Iterable[str]],
) -> Dict[str, Any]:
    """The hosts in plain data. before: the fleet of an earlier look, whose answers stay unless there are new ones."""
    running = set(in_run)
    earlier = {host["name"]: host for host in (before or {}).get("hosts", ())}
    kept = None if groups is None else set(groups)
    every = dict.fromkeys([*names, *in_run])
    return {"hosts": [_host_of(name, hostvars, earlier.get(name), kept, in_run=name in running) for name in every]}


def _host_of(
    name: str, hostvars: Mapping[str, Any], earlier: Optional[Mapping[str, Any]], kept: Optional[Any], *, in_run: bool
) -> Dict[str, Any]:
    # Of an unknown host hostvars have something undefined, also for get.
    variables = hostvars[name] if name in hostvars else {}  # noqa: SIM401
    answer = _answer_of(_read(variables, ANSWER)) or (earlier or {}).get("answer")
    status = _status_of(_read(variables, STATUS)) or (earlier or {}).get("status")
    identity = _identity_of(name, variables, answer)
    groups = [str(group) for group in _read(variables, "group_names") or ()]
    return {
        "name": str(name),
        **identity,
        "groups": groups if kept is None else [group for group in groups if group in kept],
        "in_run": in_run,
        **{key: _word(variables, key) for key in ("endpoint", "command", "root")},
        "answer": answer,
        "status": status,
    }


def _read(variables: Mapping[str, Any], key: str) -> Any:
    """One variable; others are not touched, for each is a template."""
    return variables[key] if key in variables else None  # noqa: SIM401  (a template that fails with a KeyError is no missing one)


def _text(value: Any) -> Optional[str]:
    return str(value) if isinstance(value, str) and value.strip() else None


def _word(variables: Mapping[str, Any], key: str) -> Optional[str]:
    """YAML makes a number of a name such as 2024; passed over, another word would count."""
    value = _read(variables, _OVERRIDE % key)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value)


def _identity_of(name: str, variables: Mapping[str, Any], answer: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """The user's word, then the host's own, then the inventory's."""
    vm = (answer or {}).get("vm") or {}
    listed = _listed_of(variables)
    found = {key: _word(variables, key) or vm.get(key) or listed.get(key) for key in ("vm_name", "resource_group", "subscription")}
    return {
        **found,
        "vm_id": vm.get("vm_id") or listed.get("vm_id"),
        "scope": _word(variables, "scope") or vm.get("scope"),
        "zone": vm.get("zone") or _text(_read(variables, "zone")),
        "identified": bool(vm) or all(found.values()),
        "conflict": _conflict(name, vm, listed),
    }


def _listed_of(variables: Mapping[str, Any]) -> Dict[str, Optional[str]]:
    """What Azure's inventory plugin says. `name` is a word that others use as well: it counts only beside an id of Azure."""
    match = _RESOURCE_ID.fullmatch(_text(_read(variables, "id")) or "")
    if match is None:
        return {}
    return {
        "vm_name": _text(_read(variables, "name")),
        "resource_group": match.group("group"),
        "subscription": match.group("subscription"),
        "vm_id": _text(_read(variables, "vmid")),
    }


def _conflict(name: str, vm: Mapping[str, Any], listed: Mapping[str, Optional[str]]) -> Optional[str]:
    """W-28: a VM that was made again under its name is another one."""
    for key, words in (("vm_id", "the VM with the id"), ("vm_name", "the VM")):
        says, has = vm.get(key), listed.get(key)
        if says and has and fold(says) != fold(has):
            return "%s says that it is %s %s, and the inventory has %s: refresh the inventory" % (name, words, says, has)
    return None


def _reached(result: Any) -> Optional[bool]:
    """Whether the host was reached; None where there is no result of anything that was done."""
    if not isinstance(result, Mapping) or result.get("skipped"):
        return None
    return not result.get("unreachable")


def _answer_of(result: Any) -> Optional[Dict[str, Any]]:
    """A result of azure_scheduled_events_info, as far as it is needed; None where there is none."""
    reached = _reached(result)
    if reached is None:
        return None
    events = result.get("events")
    good = reached and not result.get("failed") and isinstance(events, (list, tuple)) and "document_incarnation" in result
    if not good:
        return {"ok": False, "reachable": reached, "why": _text(result.get("msg")) or _NO_WORD}
    return {
        "ok": True,
        "queried_at": _text(result.get("queried_at")),
        "incarnation": result["document_incarnation"],
        "events": [dict(event) for event in events],
        "vm": _vm_of(result.get("vm")),
    }


def _vm_of(vm: Any) -> Optional[Dict[str, Any]]:
    if not isinstance(vm, Mapping) or not _text(vm.get("name")):
        return None
    return {
        "vm_name": _text(vm.get("name")),
        "resource_group": _text(vm.get("resource_group")),
        "subscription": _text(vm.get("subscription_id")),
        "vm_id": _text(vm.get("vm_id")),
        "scope": _text(vm.get("placement_group_id")),
        "zone": _text(vm.get("zone")),
    }


def _status_of(result: Any) -> Optional[Dict[str, Any]]:
    """A result of azure_event_handlers, as far as it is needed; None where there is none."""
    reached = _reached(result)
    if reached is None:
        return None
    status = result.get("status")
    if not reached or result.get("failed") or not isinstance(status, Mapping) or not isinstance(status.get("records"), (list, tuple)):
        why = _text(result.get("msg")) or _NO_WORD
        return {"ok": False, "reachable": reached, "installed": _NOT_INSTALLED not in why, "why": why}
    return {
        "ok": True,
        **{key: status.get(key) for key in _STATUS},
        "hold": status.get("hold"),
        "problems": [str(problem) for problem in (*status.get("problems", ()), *status.get("broken", ()))],
        "records": [_record_of(record) for record in status["records"] if record.get("open") or record.get("state") == _FOREIGN],
        "handlers": status.get("handlers_configured"),
        "clock_difference": result.get("clock_difference"),
    }


def _record_of(record: Mapping[str, Any]) -> Dict[str, Any]:
    return {"event_id": record["event"]["event_id"], "driver": record.get("driver"), **{key: record.get(key) for key in _RECORD}}


# --- from plain data -----------------------------------------------------------------------------------------------------


def hosts_of(fleet: Any) -> Tuple[Host, ...]:
    """The hosts of a fleet as values. ConfigurationError for what maintenance_fleet has not made so."""
    try:
        return tuple(_host(entry) for entry in fleet["hosts"])
    except (KeyError, TypeError, ValueError, AttributeError, TimeFormatError) as error:
        raise ConfigurationError("This is not a fleet that maintenance_fleet has made (%s %s)." % (type(error).__name__, error)) from error


def event_of(result: Mapping[str, Any]) -> Event:
    """The event that a result of this collection shows."""
    return Event(
        event_id=str(result["event_id"]),
        event_type=str(result["event_type"]),
        event_status=str(result["event_status"]),
        event_source=result["event_source"],
        resource_type=str(result["resource_type"]),
        resources=tuple(str(name) for name in result["resources"]),
        not_before=parse_instant(result["not_before"]),
        description=str(result["description"]),
        duration_seconds=result["duration_seconds"],
    )


def _host(entry: Mapping[str, Any]) -> Host:
    return Host(
        name=str(entry["name"]),
        vm_name=entry["vm_name"],
        resource_group=entry["resource_group"] or "",
        subscription=entry["subscription"] or "",
        vm_id=entry["vm_id"],
        scope=entry["scope"],
        groups=frozenset(entry["groups"]),
        in_run=bool(entry["in_run"]),
        identified=bool(entry["identified"]),
        conflict=entry["conflict"],
        answer=None if entry["answer"] is None else _answer(entry["answer"]),
        status=None if entry["status"] is None else status_of(entry["status"]),
    )


def _answer(entry: Mapping[str, Any]) -> Answer:
    if not entry["ok"]:
        return Answer(False, bool(entry["reachable"]), str(entry["why"]), ())
    return Answer(True, True, "", tuple(event_of(event) for event in entry["events"]))


def status_of(entry: Mapping[str, Any]) -> Status:
    if not entry["ok"]:
        return Status(False, bool(entry["reachable"]), bool(entry["installed"]), str(entry["why"]))
    return Status(
        ok=True,
        reachable=True,
        installed=True,
        why="",
        vm_id=entry["vm_id"],
        hold=_hold(entry["hold"]),
        problems=tuple(entry["problems"]),
        records=tuple(_record(record) for record in entry["records"]),
        handlers=_handlers(entry["handlers"]),
        allow_empty_prepare=bool(entry["allow_empty_prepare"]),
        clock_difference=entry["clock_difference"],
        agent_good_since=parse_instant(entry.get("agent_good_since")),
    )


def status_in(result: Any) -> Optional[Status]:
    """The status in a result of azure_event_handlers; None where there is no result of anything that was done."""
    plain = _status_of(result)
    return None if plain is None else status_of(plain)


def _hold(entry: Optional[Mapping[str, Any]]) -> Optional[Hold]:
    if entry is None:
        return None
    return Hold(str(entry["by"]), parse_instant(entry["until"]) or 0.0, str(entry["reason"] or ""))


def _record(entry: Mapping[str, Any]) -> Record:
    return Record(
        event_id=str(entry["event_id"]),
        state=str(entry["state"]),
        attempt=int(entry["attempt"] or 0),
        driver=_driver(entry["driver"]),
        started_at=parse_instant(entry["started_at"]),
        reason=str(entry["reason"] or ""),
    )


def _driver(entry: Optional[Mapping[str, Any]]) -> Optional[Driver]:
    if entry is None:
        return None
    return Driver(str(entry["name"]), str(entry["run"]), parse_instant(entry["lease_until"]) or 0.0)


def _handlers(entries: Optional[Sequence[Mapping[str, Any]]]) -> Optional[Tuple[Handler, ...]]:
    if entries is None:
        return None
    return tuple(
        Handler(
            name=str(entry["name"]),
            event_types=None if entry["event_types"] is None else frozenset(fold(str(word)) for word in entry["event_types"]),
            limit=parse_duration(entry["limit"]),
            required=bool(entry["required"]),
        )
        for entry in entries
    )


# --- whom to ask ---------------------------------------------------------------------------------------------------------


def askers(hosts: Sequence[Host], number: int) -> List[str]:
    """Who is asked for the document in this round: two of each scope, and then two others where nobody has answered.

    Where everybody who has answered is hit himself, one who is not is asked too: an event wants a witness. Whoever shares his document
    with nobody that is known is asked himself, and so is whoever nobody knows by his name at Azure.
    """
    del number  # what was asked is seen in the hosts; the number is there for whoever reads the log
    chosen: List[str] = []
    for members in by_scope(host for host in hosts if host.in_run).values():
        waiting = [host for host in members if host.answer is None]
        unknown = [host for host in waiting if not host.identified]
        if any(host.answer is not None and host.answer.ok for host in members):
            chosen += [host.name for host in unknown] + _bystander(members)
            continue
        known = [host for host in waiting if host.identified]
        chosen += [host.name for host in unknown] + [host.name for host in known[: max(0, ASKED_OF_A_SCOPE - len(unknown))]]
    return chosen


def _bystander(members: Sequence[Host]) -> List[str]:
    """The first of a scope who has not been asked and is not hit, if all who have answered are."""
    answered = [(host, host.answer) for host in members if host.answer is not None and host.answer.ok]
    named = {(*host.realm, fold(name)) for host, answer in answered for event in answer.events for name in event.resources}
    if any(host.identity not in named for host, _answer in answered):
        return []
    return [host.name for host in members if host.answer is None and host.identified and host.identity not in named][:1]


def by_scope(hosts: Iterable[Host]) -> Dict[str, List[Host]]:
    """In the order in which the hosts came."""
    scopes: Dict[str, List[Host]] = {}
    for host in hosts:
        scopes.setdefault(host.scope_key, []).append(host)
    return scopes
