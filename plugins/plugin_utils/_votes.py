# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a wave goes on: before its hosts are prepared, before they give their word, and before anything is posted. Pure.

Private to the collection. Decided over the hosts that were planned, not over those that are still there. Only a positive key of a
host's own answer is a yes; whatever is missing or cannot be understood is a no with its reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ..module_utils._decision import _LARGEST_CLOCK_DIFFERENCE, APPROVE_RESERVE, SHORTEST_IN_A_PLAYBOOK
from ..module_utils._document import FREEZE, Event, fold
from ..module_utils._errors import ConfigurationError, TimeFormatError
from ..module_utils._policy import IGNORE
from ..module_utils._time import format_instant, say_duration
from ..module_utils._windows import EARLIEST, LATEST, Zone, say_instant
from ._capacity import Limit, limits_in, reason_of
from ._fleet import ANSWER, STATUS, Hold, Record, Status, event_of, status_in
from ._told import (
    COMMITTED,
    GATE,
    PREPARED,
    TROUBLE,
    Told,
    azure_starts,
    done,
    entries_of,
    instant,
    is_marked_well,
    items,
    label,
    mapping,
    names,
    not_before_of,
    number,
    plain,
    same,
    sentence,
    sentences,
    text,
)
from ._verdicts import HELD, LEFT
from ._verdicts import REFUSED as REFUSED_BY_PLAN

LOOK, CHECK, VOTE = "look", "gate", "vote"
STEPS = (LOOK, CHECK, VOTE)
# Asking all hosts of a large wave takes its time, and one of an earlier step must not pass for a new one. The post itself rests on a
# document of its own, which is two seconds old at most.
OLDEST_ANSWER = 180.0
# Instants in results are cut to the second, and a clock that was compared over SSH is known to some tenths.
_CLOCK_SLACK = 5.0
_AGENT = "agent"
_MOST_NAMES = 5
# What wrong shapes do to a reader that expects the right ones.
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, TimeFormatError, ConfigurationError)
_NOT_DONE = {LOOK: "is not prepared", CHECK: "is not approved", VOTE: "is not approved"}


@dataclass(frozen=True)
class Scene:
    """One step of a wave. told: what its hosts have reported."""

    step: str
    now: float
    told: Told
    driver: str
    run_id: Optional[str]
    reserve: float

    @property
    def at(self) -> Optional[str]:
        """None where nobody knows what time it is."""
        return format_instant(self.now) if EARLIEST <= self.now <= LATEST else None


@dataclass(frozen=True)
class Heard:
    """What one host has said. no: why that is no yes, whatever the event; events: None where it has shown no document."""

    name: str
    facts: Mapping[str, Any]
    events: Optional[Tuple[Event, ...]]
    status: Optional[Status]
    no: Optional[str]

    def shown(self, event_id: str) -> Optional[Event]:
        return next((event for event in self.events or () if same(event.event_id, event_id)), None)


@dataclass(frozen=True)
class Finding:
    """What becomes of one event in this step. Only `goes` is a yes; noes: by host, why; said: the whole sentence of an earlier step."""

    kind: str
    why: str = ""
    said: Optional[str] = None
    noes: Mapping[str, str] = field(default_factory=dict)
    not_before: Optional[float] = None


GOES, GONE, STARTED, REFUSED, WAITS = "goes", "gone", "started", "refused", "waits"


def hosts_of_wave(wave: Any, plan: Any, counted: Any = None) -> List[str]:
    """Whose reports are needed."""
    entries = entries_of(plan)
    events = [key for component in _components(wave) for key in names(component.get("events"))]
    planned = [name for key in events for name in names(mapping(entries.get(key)).get("hosts"))]
    return list(dict.fromkeys([*planned, *(name for name in mapping(counted) if isinstance(name, str))]))


def gate(wave: Any, *, plan: Any, options: Any, told: Told, now: float, step: str, counted: Any = None) -> Dict[str, Dict[str, Any]]:
    """The verdict on each component of a wave. Never raises, whatever its arguments are."""
    given = mapping(plain(options))
    scene = Scene(
        step=step,
        now=now,
        told={str(name): mapping(plain(facts)) for name, facts in told.items()},
        driver=text(given.get("driver")) or "",
        run_id=text(given.get("run_id")),
        reserve=_or(number(given.get("approve_reserve")), APPROVE_RESERVE),
    )
    planned, fresh = mapping(plain(plan)), mapping(plain(wave))
    found = [_Component(component, entries_of(planned), scene) for component in _components(fresh)]
    room = _Room(planned, fresh, counted, scene)
    return {component.name: component.verdict(room) for component in found}


def _components(wave: Any) -> List[Mapping[str, Any]]:
    found = [mapping(component) for component in items(mapping(wave).get("components"))]
    return [component for component in found if isinstance(component.get("name"), str)]


# --- one component -------------------------------------------------------------------------------------------------------


class _Component:
    def __init__(self, component: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]], scene: Scene) -> None:
        self.name = str(component["name"])
        self._alone = component.get("over_capacity") is True
        self._scene = scene
        self._keys = list(dict.fromkeys(names(component.get("events"))))
        self._entries = {key: entries[key] for key in self._keys if key in entries}
        self._heard = {name: _heard(name, scene) for entry in self._entries.values() for name in names(entry.get("hosts"))}

    def verdict(self, room: _Room) -> Dict[str, Any]:
        found = {key: self._finding(key) for key in self._keys}
        found = self._with_company(found)
        found = self._with_room(found, room)
        goes = [key for key, finding in found.items() if finding.kind == GOES]
        return {
            "go": bool(goes),
            "why": self._why(found, goes),
            "step": self._scene.step,
            "at": self._scene.at,
            "events": goes,
            "refused": self._said(found, REFUSED),
            "refused_at": {key: self._refused_at(key) for key, finding in found.items() if finding.kind == REFUSED},
            "refusals": {key: self._refusal(key, finding) for key, finding in found.items() if finding.kind == REFUSED},
            "ready": {key: sorted(_vm_names(self._entries[key]).values()) for key in goes},
            GONE: self._said(found, GONE),
            STARTED: self._said(found, STARTED),
            WAITS: self._said(found, WAITS),
        }

    def _finding(self, key: str) -> Finding:
        entry = self._entries.get(key)
        if entry is None:
            return Finding(REFUSED, "the plan does not have it")
        return _finding(key, entry, [self._heard[name] for name in names(entry.get("hosts"))], self._scene)

    def _refused_at(self, key: str) -> str:
        """In which step it was refused first."""
        before = self._before(key)
        return self._scene.step if before is None else before.step

    def _refusal(self, key: str, finding: Finding) -> Dict[str, Any]:
        """The same with when and by whom; of an earlier step as it was said then."""
        before = self._before(key)
        if before is not None:
            return {"at": text(before.refusal.get("at")), "step": before.step, "hosts": names(before.refusal.get("hosts"))}
        return {"at": self._scene.at, "step": self._scene.step, "hosts": sorted(finding.noes)}

    def _before(self, key: str) -> Optional[_Before]:
        return _refused_before(key, [self._heard[name] for name in names(mapping(self._entries.get(key)).get("hosts"))], self._scene)

    def _with_company(self, found: Mapping[str, Finding]) -> Dict[str, Finding]:
        """An event waits for everybody who shares one with a host that fails; what only prepares stops nobody."""
        approving = [key for key in found if key in self._entries and self._entries[key].get("approves") is True]
        failed = {name: heard.no for name, heard in self._heard.items() if heard.no is not None}
        for key in approving:
            failed.update(found[key].noes)
        tied: Dict[str, str] = {}
        for hosts in (names(self._entries[key].get("hosts")) for key in approving):
            why = next((failed[name] for name in hosts if name in failed), None)
            if why is not None:
                tied.update((name, why) for name in hosts if name not in tied)
        tied.update(failed)
        return {key: self._beside(key, finding, tied) for key, finding in found.items()}

    def _beside(self, key: str, finding: Finding, tied: Mapping[str, str]) -> Finding:
        if finding.kind != GOES:
            return finding
        for name in names(self._entries[key].get("hosts")):
            if name in tied:
                why = "another event of %s cannot go on (%s)" % (name, tied[name])
                return replace(finding, kind=REFUSED, why=why, noes={name: tied[name]})
        return finding

    def _with_room(self, found: Mapping[str, Finding], room: _Room) -> Dict[str, Finding]:
        goes = [key for key, finding in found.items() if finding.kind == GOES]
        hosts = {name for key in goes for name in _taken_by(self._entries[key])}
        objection = room.objection(hosts, alone=self._alone) if goes else None
        if objection is None:
            room.take(hosts)
            return dict(found)
        return {key: replace(finding, kind=REFUSED, why=objection) if key in goes else finding for key, finding in found.items()}

    def _said(self, found: Mapping[str, Finding], kind: str) -> Dict[str, str]:
        return {key: self._sentence(key, finding) for key, finding in found.items() if finding.kind == kind}

    def _sentence(self, key: str, finding: Finding) -> str:
        if finding.said is not None:
            return finding.said
        entry = self._entries.get(key)
        if entry is None:
            return "event %s %s: %s" % (key, _NOT_DONE.get(self._scene.step, "is left alone"), finding.why)
        if finding.kind == GONE:
            return "%s is not announced any more: there is nothing to do" % label(entry)
        if finding.kind == STARTED:
            return "Azure has started %s: it is watched, and neither prepared nor approved" % label(entry)
        starts = azure_starts(finding.not_before)
        if finding.kind == WAITS:
            return "%s is prepared, and the plan does not approve it; %s" % (label(entry), starts)
        not_done = _NOT_DONE.get(self._scene.step, "is left alone")
        if entry.get("approves") is not True:
            not_done = _NOT_DONE[LOOK]
        return "%s %s: %s; %s" % (label(entry), not_done, finding.why, starts)

    def _why(self, found: Mapping[str, Finding], goes: Sequence[str]) -> Optional[str]:
        """None where everything goes."""
        said = [self._sentence(key, finding) for key, finding in found.items() if finding.kind != GOES]
        if not found:
            return "the plan gives it no event"
        if not said:
            return None
        going = ["%s goes on" % label(self._entries[key]) for key in goes]
        return ". ".join([*said, *going])


def _vm_names(entry: Mapping[str, Any]) -> Dict[str, str]:
    given = mapping(entry.get("vm_names"))
    return {name: given[name] for name in names(entry.get("hosts")) if isinstance(given.get(name), str)}


def _taken_by(entry: Mapping[str, Any]) -> List[str]:
    """Everybody of the inventory whom it hits, also whom this run may not touch."""
    return [*names(entry.get("hosts")), *names(entry.get("known_outside"))]


def _joined(reasons: Sequence[str]) -> str:
    more = len(reasons) - _MOST_NAMES
    return ", ".join([*reasons[:_MOST_NAMES], *(["%d more of this kind" % more] if more > 0 else [])])


# --- one host ------------------------------------------------------------------------------------------------------------


def _heard(name: str, scene: Scene) -> Heard:
    facts = mapping(scene.told.get(name))
    status = _status(facts.get(STATUS))
    events, no = _document(name, facts.get(ANSWER), status, scene)
    return Heard(name, facts, events, status, no or _no_of_status(name, status, scene) or _trouble(name, facts, scene))


def _trouble(name: str, facts: Mapping[str, Any], scene: Scene) -> Optional[str]:
    """What went wrong before this wave has begun is not of this wave."""
    said = [] if scene.step == LOOK else sentences(facts.get(TROUBLE))
    return "on %s something went wrong (%s)" % (name, said[0]) if said else None


def _status(result: Any) -> Optional[Status]:
    try:
        return status_in(result) if is_marked_well(result) else None
    except _UNREADABLE:
        return None


def _document(name: str, result: Any, status: Optional[Status], scene: Scene) -> Tuple[Optional[Tuple[Event, ...]], Optional[str]]:
    """What the host was shown, and why that does not count."""
    answer, given = done(result), mapping(result)
    if given.get("unreachable"):
        return None, "%s cannot be reached" % name
    if answer.get("document_incarnation") is None or not isinstance(answer.get("events"), list):
        why = sentence(given.get("msg"))
        return None, "%s has not shown what Azure announces%s" % (name, " (%s)" % why if why else "")
    try:
        events = tuple(event_of(event) for event in answer["events"])
    except _UNREADABLE:
        return None, "what %s was shown cannot be understood" % name
    return _fresh(name, events, instant(answer.get("queried_at")), status, scene)


def _fresh(
    name: str, events: Tuple[Event, ...], queried_at: Optional[float], status: Optional[Status], scene: Scene
) -> Tuple[Optional[Tuple[Event, ...]], Optional[str]]:
    """By the controller's clock. The word of a host is itself given on a fresh document, so that a vote needs no newer one."""
    if queried_at is None:
        return None, "%s does not say when it was shown what Azure announces" % name
    age = scene.now - queried_at + _or(_ahead(status), 0.0)
    if -_CLOCK_SLACK <= age <= OLDEST_ANSWER + _CLOCK_SLACK or (scene.step == VOTE and age >= -_CLOCK_SLACK):
        return events, None
    return None, "what %s was shown is of %s, not of now" % (name, say_instant(queried_at))


def _ahead(status: Optional[Status]) -> Optional[float]:
    """How far the clock of the host is ahead, if anybody has compared it."""
    return None if status is None else number(status.clock_difference)


def _or(value: Optional[float], otherwise: float) -> float:
    return otherwise if value is None else value


def _no_of_status(name: str, status: Optional[Status], scene: Scene) -> Optional[str]:
    if status is None:
        return "%s has not said how it is" % name
    if not status.reachable:
        return "%s cannot be reached" % name
    if not status.ok:
        return "%s does not say how it is: %s" % (name, status.why.rstrip("."))
    return None if status.hold is None else _held(name, status.hold, scene)


def _held(name: str, hold: Hold, scene: Scene) -> Optional[str]:
    """W-55."""
    if hold.until <= scene.now:
        return None
    why = " (%s)" % hold.reason if hold.reason else ""
    return "%s is held by %s%s until %s" % (name, hold.by, why, say_instant(hold.until))


# --- one event -----------------------------------------------------------------------------------------------------------


def _finding(key: str, entry: Mapping[str, Any], heard: Sequence[Heard], scene: Scene) -> Finding:
    event = _planned(entry)
    if event is None or not heard or len(_vm_names(entry)) != len(heard) or scene.step not in STEPS:
        return Finding(REFUSED, "what is asked about it cannot be understood", not_before=not_before_of(entry))
    shown = {one.name: one.shown(event.event_id) for one in heard}
    seen = [one for one in shown.values() if one is not None]
    not_before = seen[0].not_before if seen else not_before_of(entry)
    if any(one.started for one in seen):
        return Finding(STARTED)
    if not seen and all(one.events is not None for one in heard):
        return Finding(GONE)
    before = _refused_before(key, heard, scene)
    if before is not None:
        return Finding(REFUSED, "it was refused before", before.said, not_before=not_before)
    noes = {one.name: one.no for one in heard if one.no is not None}
    if not noes:
        noes = {one.name: no for one in heard for no in [_no_of_event(key, entry, event, one, scene)] if no is not None}
    if noes:
        return Finding(REFUSED, _joined(list(dict.fromkeys(noes.values()))), noes=noes, not_before=not_before)
    why = _changed(entry, event, shown, scene) or _not_allowed(entry, event, scene)
    if why is not None:
        return Finding(REFUSED, why, not_before=not_before)
    waits = scene.step != LOOK and entry.get("approves") is not True
    return Finding(WAITS if waits else GOES, not_before=not_before)


def _planned(entry: Mapping[str, Any]) -> Optional[Event]:
    try:
        return event_of(mapping(entry.get("event")))
    except _UNREADABLE:
        return None


@dataclass(frozen=True)
class _Before:
    """A refusal of an earlier step of this wave: in which one, the sentence, and when and by whom."""

    step: str
    said: Optional[str]
    refusal: Mapping[str, Any]


def _refused_before(key: str, heard: Sequence[Heard], scene: Scene) -> Optional[_Before]:
    """Whoever was refused in an earlier step of this wave has not been through it."""
    earlier = STEPS[: STEPS.index(scene.step)] if scene.step in STEPS else ()
    for one in heard:
        for verdict in mapping(one.facts.get(GATE)).values():
            before = mapping(verdict)
            first = mapping(before.get("refused_at")).get(key)
            if key in mapping(before.get("refused")) and (before.get("step") in earlier or first in earlier):
                said, refusal = mapping(before["refused"])[key], mapping(mapping(before.get("refusals")).get(key))
                return _Before(str(first if first in STEPS else before["step"]), sentence(said), refusal)
    return None


def _changed(entry: Mapping[str, Any], planned: Event, shown: Mapping[str, Optional[Event]], scene: Scene) -> Optional[str]:
    """W-11, W-12: a plan is for the event as it was."""
    for name, event in shown.items():
        if event is None:
            others = ", ".join(other for other, one in shown.items() if one is not None)
            return "%s is not shown it, and %s %s: try again in a minute" % (name, others, "are" if "," in others else "is")
        if not event.scheduled:
            return "its status is %s, and nobody knows what that means" % event.event_status
        if not same(event.event_type, planned.event_type):
            return "it is a %s now and was a %s: a new plan is needed" % (event.event_type, planned.event_type)
        if _folded(event.resources) != _folded(planned.resources):
            now, before = ", ".join(event.resources) or "nobody", ", ".join(planned.resources)
            return "it hits %s now and did hit %s: a new plan is needed" % (now, before)
        why = _moved(entry, planned, event, scene)
        if why is not None:
            return why
    return None


def _moved(entry: Mapping[str, Any], planned: Event, event: Event, scene: Scene) -> Optional[str]:
    """Whether there is still time for what has to be done."""
    moved = event.not_before != planned.not_before
    if event.not_before is None:
        return "Azure does not say any more when it starts: a new plan is needed" if moved else None
    left = event.not_before - _or(number(entry.get("clock_error")), 0.0) - scene.now
    needed = _needed(entry, scene, moved=moved)
    if left >= needed:
        return None
    if scene.step == LOOK:
        words = "its NotBefore has moved to %s" % say_instant(event.not_before) if moved else "it is too late"
        return "%s, %s are left and %s are needed" % (words, say_duration(max(0.0, left)), say_duration(needed))
    return "its NotBefore is over, and so Azure may be starting it"


def _needed(entry: Mapping[str, Any], scene: Scene, *, moved: bool) -> float:
    """A wave that begins a little later than planned still tries: what is approved in the end is only what is ready in time. A wave that is
    planned as late as is safe always begins a little later.
    """
    if scene.step != LOOK:
        return 0.0
    budget = _or(number(entry.get("budget")), 0.0)
    reserve = scene.reserve if entry.get("approves") is True else 0.0
    least = SHORTEST_IN_A_PLAYBOOK if entry.get("late") is True else 0.0
    if moved:
        return max(least, budget + reserve)
    return max(least, min(SHORTEST_IN_A_PLAYBOOK, budget / 2 + reserve)) if entry.get("prepares") is True else 0.0


def _not_allowed(entry: Mapping[str, Any], event: Event, scene: Scene) -> Optional[str]:
    """What nobody of the hosts can know: an approval holds for all of Resources (C-23), and a window closes."""
    if entry.get("approves") is not True:
        return None
    known = _folded([*_vm_names(entry).values(), *names(entry.get("allowed_unready"))])
    strangers = [name for name in event.resources if fold(name) not in known]
    if not event.resources:
        return "it names no VM, so nobody can be known to be ready"
    if strangers:
        return "it also hits %s, of whom nobody knows whether they are ready" % ", ".join(strangers)
    return _outside_window(mapping(entry.get("window")), scene)


def _outside_window(window: Mapping[str, Any], scene: Scene) -> Optional[str]:
    zone = Zone(text(window.get("timezone")) or "UTC", int(_or(number(window.get("offset")), 0.0)))
    opens, closes = instant(window.get("opens")), instant(window.get("closes"))
    if opens is not None and scene.now < opens - _CLOCK_SLACK:
        return "its window opens at %s" % say_instant(opens, zone)
    if closes is not None and scene.now > closes:
        return "its window was open until %s" % say_instant(closes, zone)
    return None


def _folded(given: Iterable[str]) -> FrozenSet[str]:
    return frozenset(fold(name) for name in given)


# --- what a host says of an event ----------------------------------------------------------------------------------------


def _no_of_event(key: str, entry: Mapping[str, Any], event: Event, heard: Heard, scene: Scene) -> Optional[str]:
    no = _wrong_clock(entry, heard)
    if no is not None:
        return no
    if scene.step == LOOK:
        return _no_of_record(entry, event, heard, scene)
    if entry.get("prepares") is not True:
        return None
    no = _no_vote(heard, PREPARED, key, event, _READY)
    if no is not None or scene.step == CHECK or entry.get("approves") is not True:
        return no
    return _no_vote(heard, COMMITTED, key, event, _WORD)


def _wrong_clock(entry: Mapping[str, Any], heard: Heard) -> Optional[str]:
    """W-34. What nobody has compared is no proof either."""
    if entry.get("approves") is not True:
        return None
    difference = _ahead(heard.status)
    if difference is None:
        return "nobody knows how far the clock of %s differs" % heard.name
    if abs(difference) <= _LARGEST_CLOCK_DIFFERENCE:
        return None
    words = "the clock of %s differs by %s, and an approval allows %s: set it right"
    return words % (heard.name, say_duration(difference), say_duration(_LARGEST_CLOCK_DIFFERENCE))


def _no_of_record(entry: Mapping[str, Any], event: Event, heard: Heard, scene: Scene) -> Optional[str]:
    """Before it is prepared."""
    status = heard.status
    expected = mapping(entry.get("vm_ids")).get(heard.name)
    shown = mapping(mapping(heard.facts.get(ANSWER)).get("vm")).get("vm_id")
    is_now = None if status is None else status.vm_id
    for other in (expected, shown):
        if isinstance(other, str) and isinstance(is_now, str) and not same(other, is_now):
            return "%s is the VM with the id %s, and %s was expected: refresh the inventory" % (heard.name, is_now, other)
    record = None if status is None else status.record_of(event.event_id)
    return None if record is None else _no_of_state(heard.name, record, scene)


def _no_of_state(name: str, record: Record, scene: Scene) -> Optional[str]:
    if record.state == "FOREIGN":
        return "the record on %s belongs to another VM" % name
    driver = record.driver
    if driver is None or driver.lease_until < scene.now or (driver.name, driver.run) == (scene.driver, scene.run_id):
        return None
    who = "its own agent" if driver.name == _AGENT else "%s (run %s)" % (driver.name, driver.run)
    return "%s is in the hands of %s until %s" % (name, who, say_instant(driver.lease_until))


@dataclass(frozen=True)
class _Yes:
    """What a yes looks like. missing: how it is said that there is none."""

    request: str
    verdict: str
    states: Tuple[str, ...]
    missing: str


_READY = _Yes("prepare", "ready", ("PREPARED", "COMMITTED"), "has not said that it is ready")
_WORD = _Yes("commit", "committed", ("COMMITTED",), "has not given its word")


def _no_vote(heard: Heard, fact: str, key: str, event: Event, yes: _Yes) -> Optional[str]:
    result = mapping(mapping(heard.facts.get(fact)).get(key))
    if result.get("unreachable"):
        return "%s cannot be reached" % heard.name
    answer = done(result)
    if answer.get("ok") is not True or answer.get("verdict") != yes.verdict:
        why = sentence(result.get("message")) or sentence(result.get("msg"))
        return "%s %s%s" % (heard.name, yes.missing, " (%s)" % why if why else "")
    if answer.get("state") not in yes.states or not _is_about(answer, yes.request, event.event_id):
        return "%s %s for this event" % (heard.name, yes.missing)
    return _taken_back(heard.name, answer, event, yes)


def _is_about(result: Mapping[str, Any], request: str, event_id: str) -> bool:
    """By the words of the request: an answer to another one is none to this."""
    words = names(result.get("asked"))
    return any(words[place : place + 2] == ["request", request] and same(event_id, words[place + 2]) for place in range(len(words) - 2))


def _taken_back(name: str, result: Mapping[str, Any], event: Event, yes: _Yes) -> Optional[str]:
    """What the host shows right after it has answered."""
    status = _status({"status": result.get("status")})
    record = None if status is None else status.record_of(event.event_id)
    if record is None or record.state in yes.states:
        return None
    return "%s has said yes, and is %s now%s" % (name, record.state, " (%s)" % record.reason if record.reason else "")


# --- capacity ------------------------------------------------------------------------------------------------------------


class _Room:
    """Who is out, counted again with what hosts say of themselves now."""

    def __init__(self, plan: Mapping[str, Any], wave: Mapping[str, Any], counted: Any, scene: Scene) -> None:
        capacity = mapping(plan.get("capacity"))
        self._scene = scene
        self._counts = scene.step != VOTE
        self._wave = wave
        self._plan = plan
        self._groups = mapping(capacity.get("groups"))
        self._counted = mapping(plain(counted))
        self._limits = _limits(capacity)
        self._taken: Set[str] = set()
        self._out = self._all_out(mapping(capacity.get("out"))) if self._counts else {}

    def take(self, hosts: Iterable[str]) -> None:
        self._taken.update(hosts)

    def objection(self, hosts: Set[str], *, alone: bool) -> Optional[str]:
        """W-39, W-45. alone: of a component that is larger than allowed only what must stay counts."""
        if not self._counts:
            return None
        if self._limits is None:
            return "the plan does not say how many hosts may be out"
        for index, limit in enumerate(self._limits):
            mine = [name for name in hosts if self._is_in(name, index)]
            others = sorted(name for name in {*self._out, *self._taken} - hosts if self._is_in(name, index))
            together = len(mine) + len(others)
            if mine and (limit.hosts - together < limit.must_stay or (not alone and together > limit.most_out)):
                return self._say(limit, together, others)
        return None

    def _say(self, limit: Limit, together: int, others: Sequence[str]) -> str:
        named = ", ".join("%s (%s)" % (name, self._out.get(name, "in the same wave")) for name in others[:_MOST_NAMES])
        more = " and %d more" % (len(others) - _MOST_NAMES) if len(others) > _MOST_NAMES else ""
        bounds = "at most %d may be, and %d must stay" % (limit.most_out, limit.must_stay)
        beside = " beside %s%s" % (named, more) if named else ""
        return "%d of the %s would be out%s: %s" % (together, limit.said_with_number, beside, bounds)

    def _is_in(self, name: str, index: int) -> bool:
        """Of whom the plan does not know, his groups do; of whom nobody knows, it counts everywhere."""
        known = self._groups.get(name)
        if isinstance(known, list):
            return index in known
        listed = mapping(self._scene.told.get(name)).get("group_names")
        return index == 0 or not isinstance(listed, list) or (self._limits or ())[index].name in listed

    def _all_out(self, planned: Mapping[str, Any]) -> Dict[str, str]:
        """By the plan, unless the host itself says more."""
        out = dict(self._still_out(planned))
        out.update(self._touched())
        for name, result in self._counted.items():
            status = _status(result)
            reason = None if status is None else reason_of(status, ("", ""), now=self._scene.now)
            if reason is not None:
                out[name] = reason.why
            elif status is not None and status.ok:
                out.pop(name, None)
        out.update(self._hit())
        return out

    def _still_out(self, planned: Mapping[str, Any]) -> Iterator[Tuple[str, str]]:
        """An earlier wave has ended well, or this one would not have been begun: its hosts are back."""
        over = self._earlier(until=-1)
        for name, given in planned.items():
            reason = mapping(given)
            if "|".join(names(reason.get("event"))) not in over:
                yield name, sentence(reason.get("why")) or "out of service"

    def _earlier(self, *, until: int) -> Set[str]:
        """The events of earlier waves. until: 0 also for those of this one that are in another batch of a play."""
        here = _or(number(self._wave.get("number")), 0.0)
        waves = [mapping(wave) for wave in items(self._plan.get("waves"))]
        earlier = [wave for wave in waves if _or(number(wave.get("number")), math.inf) <= here + until]
        return {key for wave in earlier for component in _components(wave) for key in names(component.get("events"))}

    def _touched(self) -> Iterator[Tuple[str, str]]:
        """Hosts of this wave that have been asked to get ready: until they say something else they are."""
        for component in _components(self._wave) if self._scene.step == CHECK else ():
            for name in names(component.get("hosts")):
                asked = mapping(mapping(self._scene.told.get(name)).get(PREPARED))
                if any(key in asked for key in names(component.get("events"))):
                    yield name, "in the same wave"

    def _hit(self) -> Iterator[Tuple[str, str]]:
        """By what is not in hand, and comes before this wave ends."""
        end, earlier = self._end(), self._earlier(until=0) - {key for one in _components(self._wave) for key in names(one.get("events"))}
        for key, entry in entries_of(self._plan).items():
            event, not_before = mapping(entry.get("event")), not_before_of(entry)
            pause = entry.get("action") == IGNORE and same(event.get("event_type"), FREEZE)
            if pause or (not_before is not None and not_before >= end):
                continue
            for name in _taken_by(entry):
                if entry.get("place") in (HELD, REFUSED_BY_PLAN, LEFT) or (key in earlier and self._awaits(name, event)):
                    yield name, "event %s hits it" % text(event.get("event_id"))

    def _end(self) -> float:
        """Of this wave, which may have begun earlier or later than planned."""
        begin, ready, end = (instant(self._wave.get(key)) for key in ("begin", "ready", "end"))
        if begin is None or ready is None or end is None:
            return self._scene.now
        until_ready = ready - begin if self._scene.step == LOOK else 0.0
        entries = entries_of(self._plan)
        keys = [key for component in _components(self._wave) for key in names(component.get("events"))]
        # What nobody approves is over when Azure is.
        waits = any(mapping(entries.get(key)).get("approves") is not True for key in keys)
        return max(self._scene.now + until_ready + _or(number(self._wave.get("after")), 0.0), end if waits else -math.inf)

    def _awaits(self, name: str, event: Mapping[str, Any]) -> bool:
        """Whether a host says that an event of an earlier wave is still to come: it was given back, or that wave was not begun."""
        status = _status(self._counted.get(name))
        record = None if status is None or not status.ok else status.record_of(text(event.get("event_id")) or "")
        return record is not None and record.state != "FOREIGN"


def _limits(capacity: Mapping[str, Any]) -> Optional[Tuple[Limit, ...]]:
    try:
        limits = limits_in(capacity)
        for limit in limits:
            Limit(limit.name + "", int(limit.hosts), int(limit.most_out), int(limit.least_in))
    except _UNREADABLE:
        return None
    return limits or None
