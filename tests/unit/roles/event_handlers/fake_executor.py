# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An executor in mind: it takes the agent's requests and keeps the real rules, and its handlers end at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import asked, published, reconcile, spool
from azure_event_handlers import records as r
from azure_event_handlers.errors import RefusedError
from azure_event_handlers.paths import Paths
from azure_event_handlers.published import Status
from azure_event_handlers.reconcile import Discard, Facts, Run, Save, Stop, Unit
from azure_event_handlers.records import Driver, Record, Step
from azure_event_handlers.spool import Answer, Request, Values
from azure_event_handlers.store import Hold
from azure_event_handlers.terms import Moment, term_of

LIMIT = 30.0


class FakeExecutor:
    """requests: all that were taken; moves: every state each event came to; in_service: what `inspect` says at a commit."""

    def __init__(self, paths: Paths, now: Callable[[], float]) -> None:
        self._paths = paths
        self._now = now
        self.records: Dict[str, Record] = {}
        self.vm_id: Optional[str] = None
        self.hold: Optional[Hold] = None
        self.requests: List[Request] = []
        self.moves: List[Tuple[str, str]] = []
        self.prepare_exit: Callable[[], int] = lambda: 0
        self.in_service = False
        self._units: Dict[str, Unit] = {}
        self._published: Optional[Status] = None

    def turn(self) -> None:
        for request in spool.waiting(self._paths.agents_requests, by_agent=True)[0]:
            self.requests.append(request)
            spool.give_answer(self._paths.answers, request, self._answer(request))
        while self.vm_id is not None and self._step():
            pass
        self._publish()

    def whats(self) -> List[str]:
        return [request.what for request in self.requests]

    def asked_for(self, what: str) -> List[Any]:
        return [dict(request.values) for request in self.requests if request.what == what]

    def notes(self, name: str) -> List[Any]:
        return [values["detail"] for values in self.asked_for(spool.NOTE) if values["note"] == name]

    def current(self, event_id: str) -> Optional[Record]:
        same = [one for one in self.records.values() if one.event.event_id.lower() == event_id.lower()]
        return max(same, key=lambda one: one.occurrence, default=None)

    def state(self, event_id: str) -> Optional[str]:
        record = self.current(event_id)
        return None if record is None else record.state

    # --- requests ---

    def _answer(self, request: Request) -> Answer:
        carry_out = {
            spool.OBSERVE: self._observe,
            spool.PREPARE: self._prepare,
            spool.RENEW: self._renew,
            spool.COMMIT: self._commit,
            spool.ABORT: self._abort,
            spool.NOTE: self._note,
        }
        try:
            carry_out[request.what](Values(request.values))
        except RefusedError as refusal:
            return Answer(False, refusal.message)
        return Answer(True)

    def _put(self, record: Record) -> None:
        before = self.records.get(record.key)
        if before is None or before.state != record.state:
            self.moves.append((record.event.event_id, record.state))
        self.records[record.key] = record

    def _observe(self, values: Values) -> None:
        self.vm_id = values.text("vm_id")
        for shown in values.objects("events"):
            event: Event = Values(shown).made(Event, "event")
            self._see(event, named=bool(shown["named"]))
            record = self.current(event.event_id)
            if shown["decision"] is not None and record is not None:
                self._put(asked.decide(record, shown["decision"], shown["reason"], now=self._now()))
        for event_id in values.texts("gone"):
            record = self.current(event_id)
            if record is not None:
                self._put(asked.observe(record, None, now=self._now(), named=False))

    def _see(self, event: Event, *, named: bool) -> None:
        record = self.current(event.event_id)
        if record is not None and record.is_open and not record.gone:
            self._put(asked.observe(record, event, now=self._now(), named=named))
        elif named and self.vm_id is not None:
            fresh = asked.first_sight(self.records.values(), event, vm_id=self.vm_id, now=self._now())
            if fresh is not None:
                self._put(fresh)

    def _wanted(self, event_id: str) -> Record:
        record = self.current(event_id)
        if record is None:
            raise RefusedError("This host knows of no event %s." % event_id)
        return record

    def _driver(self, values: Values, lease: Optional[float] = None) -> Driver:
        seconds = values.number("lease") if lease is None else lease
        return Driver(values.text("driver"), values.text("run"), term_of(seconds, self._moment()))

    def _moment(self) -> Moment:
        return Moment(self._now(), self._now(), "b")

    def _prepare(self, values: Values) -> None:
        event: Event = values.made(Event, "event")
        times: Times = values.made(Times, "times")
        self._see(event, named=True)
        steps = (Step("alpha", "alpha", LIMIT, True),)
        within, now = values.number("within"), self._moment()
        record = self._wanted(event.event_id)
        self._put(asked.prepare(record, self._driver(values), times=times, within=within, steps=steps, empty_allowed=False, now=now))

    def _renew(self, values: Values) -> None:
        self._put(asked.renew(self._wanted(values.text("event_id")), self._driver(values), now=self._moment()))

    def _commit(self, values: Values) -> None:
        event: Event = values.made(Event, "event")
        held = None if self.hold is None else str(self.hold)
        self._put(asked.commit(self._wanted(event.event_id), self._driver(values), event, now=self._moment(), held=held))

    def _abort(self, values: Values) -> None:
        self._put(asked.abort(self._wanted(values.text("event_id")), self._driver(values, 0.0), now=self._moment()))

    def _note(self, values: Values) -> None:
        self._wanted(values.text("event_id"))
        values.text("note")

    # --- the rest of it ---

    def _step(self) -> bool:
        facts = Facts(self._now(), "b", self.vm_id, dict(self._units), held=self.hold is not None, passed=self._now())
        action = reconcile.next_action(self.records, facts)
        if isinstance(action, Save):
            self._put(action.record)
        elif isinstance(action, Run):
            self._units[action.unit] = Unit(False, self._exit(action.phase))
        elif isinstance(action, (Stop, Discard)):
            self._units.pop(action.unit, None)
        return action is not None

    def _exit(self, phase: str) -> int:
        if phase == r.PREPARE:
            return self.prepare_exit()
        if phase == r.INSPECT:
            return 1
        return int(self.in_service) if phase == r.CHECK else 0

    def _publish(self) -> None:
        status = Status(0.0, "b", self.vm_id, self.hold, records=tuple(self.records.values()))
        if status != self._published:
            self._published = status
            published.write(self._paths.status, replace(status, written_at=self._now()))
