# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric: what the platform does with VMs and events. No clock, no network, no threads: the time is an argument.

Whatever is due by a given time happens when `advance` is called with it, in order, each at its own instant.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
import uuid
from collections import deque
from typing import Any, Deque, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import contract
from .contract import Page, fold
from .errors import ConflictError, InvalidError, UnknownError
from .model import (
    AVAILABILITY_SET,
    DEFAULT_RESOURCE_GROUP,
    GONE,
    PLANNED,
    SCALE_SET,
    SCOPE_KINDS,
    SINGLE,
    VM,
    Event,
    Feature,
    Notice,
    Scope,
)
from .settings import Settings

DEFAULT_RUNS_FOR = 30.0
EVENTS_REMEMBERED = 10000

Target = Union[Event, Feature]


class Fabric:
    """All VMs, scopes and events, and the rules by which they change."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.scopes: Dict[str, Scope] = {}
        self.vms: Dict[str, VM] = {}
        self.by_address: Dict[str, VM] = {}
        self.past: Deque[Event] = deque(maxlen=EVENTS_REMEMBERED)
        self._folded: Dict[str, VM] = {}
        self._generations: Dict[str, int] = {}  # of VMs that are gone: one of the same name is another
        self._due: List[Tuple[float, int, str, Target]] = []
        self.revision = 0
        self._counter = 0
        self._notices: List[Notice] = []

    def configure(self, settings: Settings) -> None:
        """Other settings from now on; what was switched on stays so."""
        self.settings = settings
        for scope in self.scopes.values():
            for feature in scope.features.values():
                feature.bodies.clear()

    # --- VMs and scopes -------------------------------------------------------------------------------------------

    def add_scope(
        self,
        name: str,
        *,
        now: float,
        kind: str = AVAILABILITY_SET,
        gpu_single_fault_domain: bool = False,
        per_zone: bool = False,
        auto_approve: Sequence[str] = (),
        terminate_notice: Optional[float] = None,
        scale_set: str = "",
        flexible: bool = False,
    ) -> Scope:
        """C-21: a new scope without VMs."""
        if not name or name in self.scopes:
            raise ConflictError("there is a scope %r already" % name if name else "a scope needs a name")
        if kind not in SCOPE_KINDS:
            raise InvalidError("kind: %r is none of %s" % (kind, ", ".join(SCOPE_KINDS)))
        if kind != SCALE_SET and (gpu_single_fault_domain or per_zone or flexible or scale_set):
            raise InvalidError("gpu_single_fault_domain, per_zone, flexible and scale_set belong to a scale_set, not to kind %s" % kind)
        scope = Scope(
            name=name,
            kind=kind,
            blind=gpu_single_fault_domain,
            per_zone=per_zone,
            auto_approve=_auto_approval(auto_approve),
            terminate_notice=_terminate_notice(terminate_notice),
            scale_set=(scale_set or name) if kind == SCALE_SET else "",
            flexible=flexible,
        )
        self.scopes[name] = scope
        if not per_zone:
            self._add_feature(scope, "", now)
        return scope

    def add_vm(
        self,
        key: str,
        *,
        now: float,
        scope: Optional[str] = None,
        name: Optional[str] = None,
        zone: str = "",
        resource_group: str = DEFAULT_RESOURCE_GROUP,
        address: str = "",
        compute: Optional[Mapping[str, Any]] = None,
        missing_for: float = 0.0,
        incomplete_for: float = 0.0,
    ) -> VM:
        """A VM in a scope that exists, or by itself."""
        if not key or "/" in key:
            raise InvalidError("a VM needs a name without a slash, not %r" % key)
        if fold(key) in self._folded:
            raise ConflictError("there is a VM %r already" % self._folded[fold(key)].key)
        if address and address in self.by_address:
            raise ConflictError("address %s belongs to VM %r" % (address, self.by_address[address].key))
        home = self.scope(scope) if scope else self.add_scope(key, now=now, kind=SINGLE)
        if home.kind == SINGLE and home.vms:
            raise ConflictError("scope %r is a single VM's" % home.name)
        vm = VM(
            key=key,
            name=name or key,
            scope=home,
            created_at=now,
            generation=self._generations.get(fold(key), 0) + 1,
            zone=zone,
            resource_group=resource_group,
            address=address,
            compute=dict(compute or {}),
            missing_for=missing_for,
            incomplete_for=incomplete_for,
        )
        home.vms[key] = vm
        if home.per_zone and zone not in home.features:
            self._add_feature(home, zone, now)
        self.vms[key] = self._folded[fold(key)] = vm
        if address:
            self.by_address[address] = vm
        return vm

    def remove_vm(self, key: str, *, now: float) -> None:
        """The VM is deleted: events lose its name, and one that names nobody any more is gone."""
        vm = self.vm(key)
        for event in [event for event in vm.scope.events.values() if event.names(vm)]:
            kept = [index for index, named in enumerate(event.vms) if named is not vm]
            if not kept:
                self._end(event, now, outcome="deleted")
                continue
            event.vms = tuple(event.vms[index] for index in kept)
            event.spelled = tuple(event.spelled[index] for index in kept)
            self._changed(event, now)
        self._generations[fold(vm.key)] = vm.generation
        del vm.scope.vms[vm.key]
        del self.vms[vm.key]
        del self._folded[fold(vm.key)]
        if vm.address:
            del self.by_address[vm.address]
        if vm.scope.kind == SINGLE:
            del self.scopes[vm.scope.name]

    def recreate_vm(self, key: str, *, now: float) -> VM:
        """Deleted and made anew under the same name: another vmId (C-28), and no event of the old one."""
        vm = self.vm(key)
        for event in [event for event in vm.scope.events.values() if event.vms == (vm,)]:
            self._end(event, now, outcome="deleted")
        vm.generation += 1
        vm.created_at = now
        return vm

    def vm(self, key: str) -> VM:
        vm = self._folded.get(fold(key))
        if vm is None:
            raise UnknownError("there is no VM %r%s" % (key, _known(self.vms)))
        return vm

    def remove_scope(self, name: str, *, now: float) -> None:
        for key in list(self.scope(name).vms):
            self.remove_vm(key, now=now)
        self.scopes.pop(name, None)

    def has_vm(self, key: str) -> bool:
        return fold(key) in self._folded

    def scope(self, name: str) -> Scope:
        if name not in self.scopes:
            raise UnknownError("there is no scope %r%s" % (name, _known(self.scopes)))
        return self.scopes[name]

    def live_events(self) -> List[Event]:
        return [event for scope in self.scopes.values() for event in scope.events.values()]

    def event(self, event_id: str) -> Event:
        """The event of this id that is there, else the last one that was."""
        for scope in self.scopes.values():
            if fold(event_id) in scope.events:
                return scope.events[fold(event_id)]
        for event in reversed(self.past):
            if fold(event.event_id) == fold(event_id):
                return event
        raise UnknownError("there is no event %r" % event_id)

    # --- events ---------------------------------------------------------------------------------------------------

    def schedule(
        self,
        event_type: str,
        resources: Sequence[str],
        *,
        now: float,
        notice: Optional[float] = None,
        duration: Optional[int] = None,
        runs_for: Optional[float] = DEFAULT_RUNS_FOR,
        source: str = contract.PLATFORM,
        description: Optional[str] = None,
        event_id: Optional[str] = None,
        start_delay: float = 0.0,
        late: Optional[float] = None,
        stuck: bool = False,
        announce_in: float = 0.0,
        at_once: bool = False,
        extra: Optional[Mapping[str, Any]] = None,
    ) -> Event:
        """Announce an event now, or in `announce_in` seconds."""
        vms, spelled = self._resources(resources)
        scope = vms[0].scope
        if event_id is not None and any(fold(event_id) == fold(event.event_id) for event in self.live_events()):
            raise ConflictError("event %s is there already" % event_id)
        announced_at = now + announce_in
        event = Event(
            event_id=event_id or str(uuid.uuid4()).upper(),
            event_type=event_type,
            scope=scope,
            vms=vms,
            spelled=spelled,
            source=source,
            description=contract.DESCRIPTION.get((source, event_type), "") if description is None else description,
            duration=contract.DURATION.get(event_type, contract.UNKNOWN_DURATION) if duration is None else duration,
            announced_at=announced_at,
            # Up to the next whole second, since the document knows no fractions (C-16): the promised notice is kept.
            not_before=float(math.ceil(announced_at + (self._notice(scope, event_type, source) if notice is None else notice))),
            runs_for=runs_for,
            start_delay=start_delay,
            late=self.settings.late_start if late is None else late,
            stuck=stuck,
            at_once=at_once,
            extra=tuple((extra or {}).items()),
        )
        scope.events[fold(event.event_id)] = event
        if announce_in > 0:
            self._at(announced_at, "announce", event)
            return event
        self._announce(event, now)
        return event

    def fail_hardware(
        self,
        key: str,
        *,
        now: float,
        event_type: str = contract.REDEPLOY,
        duration: int = contract.UNKNOWN_DURATION,
        runs_for: Optional[float] = DEFAULT_RUNS_FOR,
        event_id: Optional[str] = None,
        description: str = contract.FAILURE_DESCRIPTION,
    ) -> Event:
        """C-15: an event that appears as Started, without any notice."""
        return self.schedule(
            event_type,
            [key],
            now=now,
            notice=0.0,
            duration=duration,
            runs_for=runs_for,
            event_id=event_id,
            description=description,
            at_once=True,
        )

    def approve(self, vm: VM, ids: Iterable[str], *, now: float) -> List[str]:
        """C-22 to C-25: start requests of one VM. Ids that it does not see, or that wait for nothing, change nothing."""
        approved = []
        for event_id in ids:
            event = vm.scope.events.get(fold(event_id))
            if event is None or not self._sees(vm, event, now) or event.state != contract.SCHEDULED or event.approved_at is not None:
                continue
            event.approved_at = now
            event.approved_by = vm.key
            approved.append(event.event_id)
            self._plan_start(event, now)
            if event.event_type == contract.TERMINATE:
                self._plan_terminates(vm.scope, now)
        self.advance(now)
        return approved

    def start(self, event_id: str, *, now: float) -> Event:
        event = self.event(event_id)
        if event.state != contract.SCHEDULED:
            raise ConflictError("event %s cannot start: it is %s" % (event.event_id, event.state))
        self._start(event, now)
        return event

    def complete(self, event_id: str, *, now: float) -> Event:
        event = self.event(event_id)
        if event.state != contract.STARTED:
            raise ConflictError("event %s cannot be completed: it is %s, not Started" % (event.event_id, event.state))
        self._end(event, now, outcome="completed")
        return event

    def cancel(self, event_id: str, *, now: float) -> Event:
        """C-15: from Scheduled to gone."""
        event = self.event(event_id)
        if event.state not in (PLANNED, contract.SCHEDULED):
            raise ConflictError("event %s cannot be cancelled: it is %s" % (event.event_id, event.state))
        self._end(event, now, outcome="cancelled")
        return event

    def change(
        self,
        event_id: str,
        *,
        now: float,
        not_before: Optional[float] = None,
        resources: Optional[Sequence[str]] = None,
        event_type: Optional[str] = None,
        duration: Optional[int] = None,
        description: Optional[str] = None,
        source: Optional[str] = None,
        status: Optional[str] = None,
        extra: Optional[Mapping[str, Any]] = None,
    ) -> Event:
        """C-15, open: what nobody promised to leave alone. `not_before` is in seconds from now; `status` is only shown."""
        event = self.event(event_id)
        if event.state == GONE:
            raise ConflictError("event %s cannot change: it is gone" % event.event_id)
        if not_before is not None and event.state == contract.STARTED:
            raise ConflictError("event %s has no NotBefore to move: it is Started" % event.event_id)
        if resources is not None:
            vms, spelled = self._resources(resources)
            if vms[0].scope is not event.scope:
                raise InvalidError("event %s cannot leave scope %r" % (event.event_id, event.scope.name))
            event.vms, event.spelled = vms, spelled
        event.event_type = event.event_type if event_type is None else event_type
        event.duration = event.duration if duration is None else duration
        event.description = event.description if description is None else description
        event.source = event.source if source is None else source
        event.shown_status = event.shown_status if status is None else status
        event.extra = event.extra if extra is None else tuple(extra.items())
        if not_before is not None:
            event.not_before = float(math.ceil(now + not_before))
            if event.state == contract.SCHEDULED:
                self._plan_start(event, now)
        self._changed(event, now)
        self.advance(now)
        return event

    def relist(self, event_id: str, *, now: float, notice: Optional[float] = None) -> Event:
        """C-15, open: the same id listed again after it was gone."""
        gone = self.event(event_id)
        if gone.state != GONE:
            raise ConflictError("event %s cannot be listed again: it is %s" % (gone.event_id, gone.state))
        return self.schedule(
            gone.event_type,
            [vm.key for vm in gone.vms],
            now=now,
            notice=notice,
            duration=gone.duration,
            runs_for=gone.runs_for,
            source=gone.source,
            description=gone.description,
            event_id=gone.event_id,
            start_delay=gone.start_delay,
            late=gone.late,
            stuck=gone.stuck,
            extra=dict(gone.extra),
        )

    # --- what a VM sees -------------------------------------------------------------------------------------------

    def call(self, vm: VM, *, now: float) -> float:
        """C-7: a call switches the feature on. Returns the instant from which it answers."""
        feature = vm.feature()
        if not feature.is_on(now):
            self._switch_on(feature, now, delayed=True)
        feature.last_call = now
        return feature.ready_at

    def page(self, vm: VM, *, at: Optional[float] = None, revision: Optional[int] = None) -> Page:
        """What this VM is shown, now or as it was at an earlier instant or revision."""
        feature = vm.feature()
        page = feature.page()
        if at is not None:
            page = feature.page_at(at)
        if revision is not None:
            page = feature.page_of(revision)
        if not vm.scope.blind:
            return page
        return dataclasses.replace(page, events=tuple(event for event in page.events if vm.key in event.keys))

    def bump(self, vm: VM, *, now: float) -> int:
        """Another incarnation without a change of the list: numbers may be skipped (C-12)."""
        feature = vm.feature()
        feature.incarnation += self.settings.incarnation_step
        self._publish(feature, now)
        return feature.incarnation

    def set_incarnation(self, vm: VM, incarnation: int, *, now: float) -> None:
        """C-12, seen: the number starts anew although the list goes on."""
        feature = vm.feature()
        feature.incarnation = incarnation
        self._publish(feature, now)

    def switch_off(self, vm: VM) -> None:
        """C-7: as after a day without a call."""
        vm.feature().switched_on_at = None

    # --- the passing of time --------------------------------------------------------------------------------------

    def next_due(self) -> Optional[float]:
        return self._due[0][0] if self._due else None

    def advance(self, now: float) -> None:
        """Let everything happen that is due by now."""
        while self._due and self._due[0][0] <= now:
            at, _number, what, target = heapq.heappop(self._due)
            self._happen(what, target, at)

    def take_notices(self) -> List[Notice]:
        notices, self._notices = self._notices, []
        return notices

    def _at(self, instant: float, what: str, target: Target) -> None:
        self._counter += 1
        heapq.heappush(self._due, (instant, self._counter, what, target))

    def _happen(self, what: str, target: Target, at: float) -> None:
        # What was planned and has been overtaken since is recognised by its instant, and dropped.
        if isinstance(target, Feature):
            if target.events_from == at and target.switched_on_at is not None:
                self._bump_feature(target, at)
            return
        if what == "announce" and target.state == PLANNED and target.announced_at == at:
            self._announce(target, at)
        elif what == "start" and target.state == contract.SCHEDULED and target.start_at == at:
            self._start(target, at)
        elif what == "end" and target.state == contract.STARTED and target.ends_at == at:
            self._end(target, at, outcome="completed")

    # --- inside ---------------------------------------------------------------------------------------------------

    def _resources(self, names: Sequence[str]) -> Tuple[Tuple[VM, ...], Tuple[str, ...]]:
        if isinstance(names, str) or not names:
            raise InvalidError("resources: a list of at least one VM is needed, not %r" % (names,))
        vms = tuple(self.vm(name) for name in names)
        if any(vm.scope is not vms[0].scope for vm in vms):
            raise InvalidError("resources: %s are not in one scope, and an event belongs to one" % ", ".join(names))
        if len({vm.key for vm in vms}) != len(vms):
            raise InvalidError("resources: %s names a VM twice" % ", ".join(names))
        # A VM is shown by its Azure name, in the letter case in which it was asked for (C-18).
        spelled = tuple(name if fold(name) == fold(vm.name) else vm.name for name, vm in zip(names, vms))
        return vms, spelled

    def _notice(self, scope: Scope, event_type: str, source: str) -> float:
        if event_type == contract.TERMINATE:
            return scope.terminate_notice
        if source == contract.USER:
            return contract.USER_NOTICE
        return contract.NOTICE.get(event_type, contract.DEFAULT_NOTICE)

    def _add_feature(self, scope: Scope, zone: str, now: float) -> None:
        feature = Feature(scope)
        scope.features[zone] = feature
        if self.settings.switched_on:
            self._switch_on(feature, now, delayed=False)
            return
        self._publish(feature, now)

    def _switch_on(self, feature: Feature, now: float, *, delayed: bool) -> None:
        feature.switched_on_at = feature.last_call = now
        feature.ready_at = now + (self.settings.first_call_delay if delayed else 0.0)
        feature.events_from = feature.ready_at + (self.settings.events_delay if delayed else 0.0)
        feature.incarnation = contract.FIRST_INCARNATION
        feature.pages.clear()
        self._publish(feature, now)
        if feature.events_from > now:
            self._at(feature.events_from, "reveal", feature)

    def _sees(self, vm: VM, event: Event, now: float) -> bool:
        if vm.scope.blind and not event.names(vm):
            return False
        feature = vm.feature()
        return event.state != PLANNED and feature.is_on(now) and now >= feature.events_from

    def _announce(self, event: Event, now: float) -> None:
        event.state = contract.SCHEDULED
        if self._starts_at_once(event, now):
            self._start(event, now)
            return
        self._plan_start(event, now)
        self._changed(event, now)
        self.advance(now)

    def _starts_at_once(self, event: Event, now: float) -> bool:
        """C-15: a failure, or approved by policy. C-7: and a user need not wait where nobody listens."""
        if event.at_once:
            return True
        if event.source in event.scope.auto_approve or "%s:%s" % (event.source, event.event_type) in event.scope.auto_approve:
            return True
        listening = any(vm.feature().is_on(now) for vm in event.vms)
        return event.source == contract.USER and not listening

    def _plan_start(self, event: Event, now: float) -> None:
        """C-24, C-26: at NotBefore or a little later, and earlier only if that was approved."""
        if event.stuck:
            event.start_at = None
            return
        start_at = event.not_before + event.late
        if event.approved_at is not None and not self._waits_for_others(event):
            start_at = min(start_at, max(now, event.approved_at + event.start_delay))
        if event.start_at != start_at:
            event.start_at = start_at
            self._at(start_at, "start", event)

    def _waits_for_others(self, event: Event) -> bool:
        """C-24: no Terminate starts before every pending one of the scope is approved."""
        return event.event_type == contract.TERMINATE and any(other.approved_at is None for other in self._pending_terminates(event.scope))

    def _pending_terminates(self, scope: Scope) -> List[Event]:
        return [event for event in scope.events.values() if event.event_type == contract.TERMINATE and event.state == contract.SCHEDULED]

    def _plan_terminates(self, scope: Scope, now: float) -> None:
        for event in self._pending_terminates(scope):
            self._plan_start(event, now)

    def _start(self, event: Event, now: float) -> None:
        event.state = contract.STARTED
        event.started_at = now
        if event.runs_for is not None:
            event.ends_at = now + event.runs_for
            self._at(event.ends_at, "end", event)
        self._changed(event, now)
        self._note("start", event, now)
        self._after_leaving(event, now)

    def _end(self, event: Event, now: float, *, outcome: str) -> None:
        """C-15: there is no status for it, the event is simply not there any more."""
        announced = event.scope.shown.pop(fold(event.event_id), None) is not None
        started = event.state == contract.STARTED
        event.state = GONE
        event.gone_at = now
        event.outcome = outcome
        del event.scope.events[fold(event.event_id)]
        self.past.append(event)
        if announced:
            self._bump_scope(event.scope, now)
        self._note("end" if started else "cancel", event, now)
        self._after_leaving(event, now)
        if started and outcome == "completed" and self.settings.deletes_vms and event.event_type in contract.DELETIONS:
            for vm in event.vms:
                self.remove_vm(vm.key, now=now)

    def _after_leaving(self, event: Event, now: float) -> None:
        if event.event_type == contract.TERMINATE:
            self._plan_terminates(event.scope, now)

    def _note(self, phase: str, event: Event, now: float) -> None:
        self._notices.append(Notice(phase=phase, at=now, event=event.as_dict()))

    def _changed(self, event: Event, now: float) -> None:
        if event.state != PLANNED:
            event.scope.shown[fold(event.event_id)] = event.show()
            self._bump_scope(event.scope, now)

    def _bump_scope(self, scope: Scope, now: float) -> None:
        for feature in scope.features.values():
            self._bump_feature(feature, now)

    def _bump_feature(self, feature: Feature, now: float) -> None:
        feature.incarnation += self.settings.incarnation_step
        self._publish(feature, now)

    def _publish(self, feature: Feature, now: float) -> None:
        visible = now >= feature.events_from
        events = tuple(feature.scope.shown.values()) if visible else ()
        self.revision += 1
        feature.pages.append(Page(at=now, revision=self.revision, incarnation=feature.incarnation, events=events))
        feature.bodies.clear()


def _auto_approval(rules: Sequence[str]) -> Tuple[str, ...]:
    if isinstance(rules, str):
        raise InvalidError("auto_approve: a list is needed, such as [%r], not a text" % rules)
    for rule in rules:
        if rule.partition(":")[0] not in (contract.PLATFORM, contract.USER):
            raise InvalidError("auto_approve: %r is no source such as User, and no source with a type such as User:Reboot" % rule)
    return tuple(rules)


def _terminate_notice(seconds: Optional[float]) -> float:
    shortest, longest = contract.TERMINATE_NOTICE_RANGE
    if seconds is None:
        return contract.NOTICE[contract.TERMINATE]
    if not shortest <= seconds <= longest:
        raise InvalidError("terminate_notice: %g s is not between %g and %g (C-19)" % (seconds, shortest, longest))
    return float(seconds)


def _known(names: Mapping[str, Any]) -> str:
    if not names:
        return ", and no other either"
    shown = sorted(names)[:8]
    return "; there are %s%s" % (", ".join(shown), " and %d more" % (len(names) - len(shown)) if len(names) > len(shown) else "")
