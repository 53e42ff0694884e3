# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The executor as it lives on a host: takes requests, does what is to be done, and lets others see the state.

It owns the state and trusts nobody with it. It has no network: what the metadata service shows is told to it. It ends when nothing can
happen by itself, and is started by the next request, or by the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import RECOVER_BUDGET, Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import KNOWN_TYPES, Event, fold, known_as, same_name
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import APPROVE
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import EARLIEST, LATEST

from . import asked, configuration, evidence, executor, files, published, spool, trials, webhook
from . import records as r
from .clocks import host_clock
from .configuration import Configuration
from .errors import BusyError, HandlersError, RefusedError, StoreError
from .evidence import Journals
from .executor import Executor
from .launcher import TRIAL, UNIT, Launcher
from .paths import Paths
from .processes import Processes
from .published import Status
from .records import Driver, Record, Step
from .shelf import Shelf
from .spool import Answer, Request, Values
from .store import Hold, Store, no_crash
from .systemd import Systemd
from .terms import Moment, term_of

# It stays so long after the last thing that happened: the next request is often not far.
LINGER = 10.0
# Tries to write what the disk did not take.
_TRY_AGAIN = 10.0
# Closed records that are shown.
_SHOWN = 20
_LONGEST_LEASE = 24 * 3600.0
_LONGEST_HOLD = 30 * 24 * 3600.0
_LONGEST_NOTE = 16 * 1024
_LONGEST_NAME = 200
# Who asked for work on the host longer ago does not expect it any more.
_OLDEST_REQUEST = 120.0
# Between two looks for what trials have left behind.
_TRIALS_EVERY = 2.0
# Between two looks for answers that nobody has come for.
_TIDY_EVERY = 300.0
# Of what a handler said, in the published state; all of it is in the evidence.
_SHOWN_TAIL = 400
_NOT_WRITTEN = "It cannot be written down here that an approval is sent: %s"
_DAY = 86400.0
_KEEP = 90 * _DAY


class Service:
    """One life of the executor. owner: whose files handlers must be; root's, but for a rehearsal."""

    def __init__(
        self,
        paths: Paths,
        launcher: Launcher,
        clock: Clock,
        *,
        owner: int = 0,
        stay: bool = False,
        crash: Callable[[str], None] = no_crash,
        say: Callable[[str], None] = print,
    ) -> None:
        """stay: also when there is nothing to do, where nobody starts it again."""
        self._stay = stay
        self._paths = paths
        self._launcher = launcher
        self._clock = clock
        self._owner = owner
        self._say = say
        self._store = Store(paths.records, crash=crash, lock=paths.lock)
        self._journals = Journals(paths.journals)
        self._crash = crash
        self._vm_id: Optional[str] = None
        self._recover_budget = RECOVER_BUDGET
        self._keep_closed = _KEEP
        self._published: Optional[Status] = None
        self._problems: Dict[str, str] = {}
        self._tried_at = 0.0
        self._tidied_at = -_TIDY_EVERY
        self._looked_for_trials_at = -_TRIALS_EVERY
        # Whether one goes on, or has left something behind.
        self._is_tried = False
        self.stopping = False

    # --- its life -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Until there is nothing to do, or somebody wants it to end. BusyError: there is one already."""
        os.makedirs(self._paths.run, mode=0o755, exist_ok=True)
        self._store.acquire()
        try:
            self._wake()
            self._live()
        finally:
            self._store.release()

    def _wake(self) -> None:
        self._shelf = Shelf(self._store)
        self._vm_id = _identity(self._paths.identity)
        with contextlib.suppress(ConfigurationError):
            config = self._configured()
            self._keep_closed, self._recover_budget = config.keep_closed, config.settings.recover_budget
        self._executor = Executor(
            self._shelf,
            self._launcher,
            self._clock,
            vm_id=lambda: self._vm_id,
            recover_budget=self._recover_budget,
            crash=self._crash,
            told=self._tell,
        )
        self._count_terms_on()
        for record in self._open():
            self._journals.tell(record.key, self._clock.wall(), evidence.BOOTED, boot=self._launcher.boot)
        self._forget_the_old()
        self._care_for_trials()
        self._publish()

    def _count_terms_on(self) -> None:
        """By the clock of this boot. Where the disk does not take that, in mind."""
        for record in self._open():
            counted = record.counted_in(self._now())
            if counted != record:
                self._shelf.save(counted)

    def _live(self) -> None:
        busy_at = self._clock.monotonic()
        while not self.stopping:
            if self.turn():
                busy_at = self._clock.monotonic()
            elif self._may_rest() and self._clock.monotonic() - busy_at > LINGER:
                return
            else:
                self._clock.sleep(executor.LOOK)

    def turn(self) -> bool:
        """Whether something was done. Requests come first: one may be to stop."""
        did = self._take_requests()
        did = self._step() or did
        self._tidy()
        self._care_for_the_disk()
        self._care_for_trials()
        self._publish()
        return did

    def _tidy(self) -> None:
        if self._clock.monotonic() - self._tidied_at >= _TIDY_EVERY:
            self._tidied_at = self._clock.monotonic()
            spool.tidy(self._paths.answers)

    def _step(self) -> bool:
        """Whoever does not know which VM this is, may hold another one's records, and touches nothing (W-29)."""
        if self._vm_id is None:
            return False
        try:
            did = self._executor.step()
        except HandlersError as problem:
            self._problem("systemd", problem.message)
            return False
        self._solved("systemd")
        return did

    def _may_rest(self) -> bool:
        """Nothing happens by itself to what is only known, and what was given back waits for somebody to ask."""
        if self._shelf.problem is not None or self._stay or self._is_tried:
            return False
        return all(record.state in (r.SEEN, r.BACKED_OUT) and record.view == r.SCHEDULED for record in self._open())

    def _open(self) -> List[Record]:
        return [record for record in self._shelf.records.values() if record.is_open]

    def _care_for_the_disk(self) -> None:
        if self._shelf.problem is None:
            self._solved("disk")
            return
        self._problem("disk", "%s Nothing is prepared here until that is mended; recovery goes on." % self._shelf.problem)
        if self._clock.monotonic() - self._tried_at >= _TRY_AGAIN:
            self._tried_at = self._clock.monotonic()
            self._shelf.try_again()

    def _care_for_trials(self) -> None:
        """A trial that was killed has told nobody; what it has taken out of service, only a person can say is to be put back now."""
        now = self._clock.monotonic()
        if now - self._looked_for_trials_at < _TRIALS_EVERY:
            return
        self._looked_for_trials_at = now
        self._is_tried = bool(trials.marks(self._paths))
        left = trials.left(self._paths) if self._is_tried else []
        if left:
            self._problem("trial", " ".join(map(str, left)))
        else:
            self._solved("trial")

    def _forget_the_old(self) -> None:
        before = self._clock.wall() - self._keep_closed
        for record in [one for one in self._shelf.records.values() if not one.is_open and one.changed_at < before]:
            with contextlib.suppress(StoreError):
                self._shelf.forget(record.key)
                self._journals.forget(record.key)
        # A record that cannot be read may be mended, and then needs its own.
        if not self._shelf.broken():
            _forget_copies(self._paths.copies, self._shelf.records)

    # --- what others see ------------------------------------------------------------------------------------------

    def _problem(self, about: str, words: str) -> None:
        if self._problems.get(about) != words:
            self._problems[about] = words
            self._say(json.dumps({"problem": about, "message": words}, sort_keys=True))

    def _solved(self, about: str) -> None:
        if self._problems.pop(about, None) is not None:
            self._say(json.dumps({"problem": about, "message": "over"}, sort_keys=True))

    def _publish(self) -> None:
        now = self._clock.wall()
        closed = sorted((one for one in self._shelf.records.values() if not one.is_open), key=lambda one: -one.changed_at)
        status = Status(
            written_at=now,
            boot=self._launcher.boot,
            vm_id=self._vm_id,
            hold=self._shelf.held(now),
            broken=tuple(self._shelf.broken()),
            problems=tuple(self._problems[about] for about in sorted(self._problems)),
            records=tuple(
                [_shown(one, _SHOWN_TAIL) for one in sorted(self._open(), key=lambda one: one.key)]
                + [_shown(one, 0) for one in closed[:_SHOWN]]
            ),
        )
        if self._published is not None and replace(status, written_at=self._published.written_at) == self._published:
            return
        try:
            published.write(self._paths.status, status)
        except OSError as problem:
            self._say(json.dumps({"problem": "status", "message": "Cannot write %s: %s" % (self._paths.status, problem.strerror)}))
            return
        self._published = status

    def _tell(self, before: Optional[Record], record: Record, why: str) -> None:
        now = self._clock.wall()
        if before is None:
            self._journals.tell(record.key, now, evidence.BOOTED, boot=self._launcher.boot)
        for what, detail in evidence.changes(before, record):
            self._journals.tell(record.key, now, what, **detail)
        if before is None or before.state != record.state:
            self._announce(before, record, why)

    def _announce(self, before: Optional[Record], record: Record, why: str) -> None:
        event = record.event
        line: Dict[str, Any] = {
            "record": record.key,
            "event_type": known_as(event.event_type, KNOWN_TYPES),
            "from": None if before is None else before.state,
            "to": record.state,
            "reason": record.reason or why,
            "result": record.result,
            "driver": None if record.driver is None else record.driver.name,
        }
        self._say(json.dumps(line, sort_keys=True))
        told = {
            "at": self._clock.wall(),
            "key": record.key,
            "event": {
                "event_id": event.event_id,
                "event_type": event.event_type,
                "event_status": event.event_status,
                "resources": list(event.resources),
                "not_before": event.not_before,
            },
            "state": record.state,
            "before": line["from"],
            "reason": line["reason"],
            "result": record.result,
        }
        webhook.announce(self._paths, told)

    # --- requests -------------------------------------------------------------------------------------------------

    def _take_requests(self) -> bool:
        taken = 0
        for folder, by_agent in ((self._paths.requests, False), (self._paths.agents_requests, True)):
            requests, strange = spool.waiting(folder, by_agent=by_agent)
            for path, why in strange:
                taken += self._throw_away(path, why)
            for request in requests:
                # One that was withdrawn meanwhile is not carried out.
                if os.path.lexists(request.path):
                    self._answer(request)
                    taken += 1
        return taken > 0

    def _throw_away(self, path: str, why: str) -> int:
        """What cannot be removed is told of once, and stops nobody."""
        try:
            spool.drop(path)
        except OSError as problem:
            self._problem("request", "%s is no request and cannot be removed: %s." % (path, problem.strerror))
            return 0
        self._say(json.dumps({"problem": "request", "message": "A request was thrown away: %s." % why}))
        return 1

    def _answer(self, request: Request) -> None:
        try:
            answer = self._carry_out(request)
        except HandlersError as refusal:
            answer = Answer(False, refusal.message)
            self._tell_refused(request, refusal.message)
        except ConfigurationError as refusal:
            answer = Answer(False, "The configuration of this host is wrong, so nothing is begun: %s." % refusal.message)
        except Exception as problem:  # noqa: BLE001  (one request must not end the executor, which puts hosts back)
            answer = Answer(False, "The request cannot be carried out: %s: %s." % (type(problem).__name__, problem))
            self._say(json.dumps({"problem": "request", "message": answer.message}))
        # Before the answer: whoever has it looks there next, and must not take the state of before for what came of the request.
        self._publish()
        with contextlib.suppress(OSError):
            spool.give_answer(self._paths.answers, request, answer)
            return
        # Nobody hears of it, but it was done.
        with contextlib.suppress(OSError):
            spool.drop(request.path)

    def _carry_out(self, request: Request) -> Answer:
        known: Mapping[str, Callable[[Values, bool], Answer]] = {
            spool.OBSERVE: self._observe,
            spool.PREPARE: self._prepare,
            spool.RENEW: self._renew,
            spool.COMMIT: self._commit,
            spool.ABORT: self._abort,
            spool.SENDING: self._sending,
            spool.APPROVED: self._approved,
            spool.RECOVER: self._recover,
            spool.HOLD: self._hold,
            spool.RELEASE: self._release,
            spool.NOTE: self._note,
            # Looked around is in each turn; it was enough to be started.
            spool.LOOK: lambda _values, _by_agent: Answer(True),
        }
        if request.what not in known:
            raise RefusedError("Nobody can ask for %s here." % (request.what,))
        if request.by_agent and request.what not in spool.OF_THE_AGENT:
            raise RefusedError("The agent may not ask for %s." % request.what)
        if request.what in (spool.PREPARE, spool.COMMIT) and request.age > _OLDEST_REQUEST:
            raise RefusedError("The request is %d seconds old, and who filed it may not be there any more: ask again." % request.age)
        return known[request.what](Values(request.values), request.by_agent)

    def _observe(self, values: Values, _by_agent: bool) -> Answer:
        self._meet(values.text("vm_id"))
        now = self._clock.wall()
        for shown in values.objects("events"):
            one = Values(shown)
            self._see(_event(one), one, now)
        for event_id in values.texts("gone"):
            self._miss(event_id, now)
        return Answer(True)

    def _meet(self, vm_id: str) -> None:
        """Who this is, until the machine stops: then it may be somebody else's disk."""
        if self._vm_id is None or fold(vm_id) != fold(self._vm_id):
            with contextlib.suppress(OSError):
                files.write_json(self._paths.identity, {"vm_id": vm_id})
            self._vm_id = vm_id

    def _refuse_another_vm(self, vm_id: str) -> None:
        """Only the agent, which asks twice, says that this is another VM now: its records would be nobody's any more."""
        if self._vm_id is not None and fold(vm_id) != fold(self._vm_id):
            raise RefusedError(
                "The metadata service says that this is VM %s, and it is known here as %s: ask again." % (vm_id, self._vm_id)
            )
        self._meet(vm_id)

    def _see(self, event: Event, shown: Values, now: float) -> None:
        record = self._current(event.event_id)
        named = shown.flag("named")
        if record is not None and not record.gone:
            self._put(record, asked.observe(record, event, now=now, named=named))
        elif named and self._vm_id is not None:
            fresh = asked.first_sight(self._shelf.records.values(), event, vm_id=self._vm_id, now=now)
            if fresh is not None and not self._shelf.is_broken(fresh.key):
                self._put(None, fresh)
        self._decide(event.event_id, shown, now)

    def _decide(self, event_id: str, shown: Values, now: float) -> None:
        word, record = shown.optional_text("decision"), self._current(event_id)
        if word is not None and record is not None and record.is_open:
            reason = shown.optional_text("reason") or ""
            decided = asked.decide(record, word, reason, now=now)
            if (decided.decision, decided.reason) != (record.decision, record.reason):
                self._put(record, decided)

    def _miss(self, event_id: str, now: float) -> None:
        for record in [one for one in self._open() if same_name(one.event.event_id, event_id)]:
            self._put(record, asked.observe(record, None, now=now, named=False))

    def _prepare(self, values: Values, by_agent: bool) -> Answer:
        event = _event(values)
        self._refuse_another_vm(values.text("vm_id"))
        moment = self._now()
        now = moment.wall
        record = self._current(event.event_id)
        if record is None or record.gone or not record.is_open:
            fresh = asked.first_sight(self._shelf.records.values(), event, vm_id=values.text("vm_id"), now=now)
            if fresh is None or self._shelf.is_broken(fresh.key):
                raise RefusedError("The record of this event cannot be read: look at the files named broken in %s." % self._paths.records)
            record = self._put(None, fresh)
        record = self._put(record, asked.observe(record, event, now=now, named=True))
        held = self._shelf.held(now)
        if held is not None:
            raise RefusedError("This host is held %s." % held)
        if self._shelf.problem is not None:
            raise RefusedError("This host cannot get ready: %s" % self._shelf.problem)
        # Once this is written down, no trial begins; see cli.
        with trials.none(self._paths):
            self._refuse_while_a_trial_ends()
            config = self._configured()
            prepared = asked.prepare(
                record,
                self._driver(values, by_agent, moment),
                times=values.made(Times, "times"),
                within=values.number("within"),
                steps=self._steps(record, config),
                empty_allowed=config.allow_empty_prepare,
                now=moment,
            )
            self._told_asked(prepared.key, "prepare", values, by_agent, now)
            self._note_names(prepared.key, values, now)
            return self._answered(record, prepared)

    def _refuse_while_a_trial_ends(self) -> None:
        """A trial can be killed, and its handler goes on; two never run at the same time."""
        known = trials.marks(self._paths)
        running = launcher_of(self._paths, trial=True).units() if known else {}
        for mark in known:
            if mark.unit in running and running[mark.unit].running:
                raise RefusedError("What a trial that was cut off has begun still runs. %s" % mark)

    def _steps(self, record: Record, config: Configuration) -> Tuple[Step, ...]:
        """With copies of the handlers, taken once: a later version does not undo an earlier one's work (W-47)."""
        if record.state not in (r.SEEN, r.BACKED_OUT):
            return ()
        return tuple(
            Step(
                handler.name,
                _copied(handler.file, self._paths.copies),
                handler.limit,
                handler.required,
                environment=handler.environment,
                properties=handler.properties,
            )
            for handler in config.applicable(record.event)
        )

    def _renew(self, values: Values, by_agent: bool) -> Answer:
        now, record = self._now(), self._wanted(values)
        return self._answered(record, asked.renew(record, self._driver(values, by_agent, now), now=now))

    def _commit(self, values: Values, by_agent: bool) -> Answer:
        event = _event(values)
        now, record = self._now(), self._wanted(values, event.event_id)
        if self._shelf.problem is not None:
            raise RefusedError("This host cannot give its word: %s" % self._shelf.problem)
        held = self._shelf.held(now.wall)
        self._told_asked(record.key, "commit", values, by_agent, now.wall)
        self._note_names(record.key, values, now.wall)
        committing = asked.commit(record, self._driver(values, by_agent, now), event, now=now, held=None if held is None else str(held))
        return self._answered(record, committing)

    def _abort(self, values: Values, by_agent: bool) -> Answer:
        now, record = self._now(), self._wanted(values)
        self._told_asked(record.key, "abort", values, by_agent, now.wall)
        return self._answered(record, asked.abort(record, self._driver(values, by_agent, now, lease=0.0), now=now))

    def _sending(self, values: Values, by_agent: bool) -> Answer:
        """On the disk before it is answered: a machine that stops now comes back with it."""
        now, record = self._now(), self._wanted(values)
        held = self._shelf.held(now.wall)
        driver = self._driver(values, by_agent, now, lease=0.0)
        told = asked.sending(record, driver, witness=_line(values, "witness") or "", held=None if held is None else str(held), now=now.wall)
        # Also what a failing disk has taken into mind alone.
        if record.key in self._shelf.unwritten:
            raise RefusedError(_NOT_WRITTEN % self._shelf.problem)
        self._put(record, told, otherwise=_NOT_WRITTEN)
        self._note_post(told)
        return Answer(True, key=told.key)

    def _approved(self, values: Values, by_agent: bool) -> Answer:
        now, record = self._now(), self._wanted(values)
        outcome = values.text("outcome")
        if outcome not in r.POST_OUTCOMES:
            raise RefusedError("What became of the approval is one of %s." % ", ".join(r.POST_OUTCOMES))
        driver = self._driver(values, by_agent, now, lease=0.0)
        told = asked.approved(record, driver, outcome=outcome, witness=_line(values, "witness"), now=now.wall)
        self._put(record, told)
        self._note_post(told)
        return Answer(True, key=told.key)

    def _note_post(self, record: Record) -> None:
        """Into the evidence once, also when the first time was cut off after the record was written."""
        post = record.post
        if post is None:
            return
        result = post.outcome or "sending"
        detail = {
            "result": result,
            "posted": result not in (r.REFUSED, r.NO_EVENT),
            "driver": post.driver,
            "run": post.run,
            "witness": post.witness,
            "sent": format_instant(post.sent_at),
            "reason": None,
        }
        if not any(line.get("detail") == detail for line in self._journals.lines(record.key)):
            self._journals.tell(record.key, self._clock.wall(), evidence.NOTED, note="post", by="driver", detail=detail)

    def _recover(self, values: Values, by_agent: bool) -> Answer:
        now, record = self._clock.wall(), self._wanted(values)
        self._told_asked(record.key, "recover", values, by_agent, now)
        return self._answered(record, asked.give_back(record, by=values.text("by"), forced=False, now=now))

    def _hold(self, values: Values, _by_agent: bool) -> Answer:
        now, until = self._clock.wall(), values.number("until")
        if not now < until <= now + _LONGEST_HOLD:
            raise RefusedError("A hold ends in the future, and within 30 days.")
        self._shelf.hold(Hold(values.text("by"), until, values.optional_text("reason") or ""))
        return Answer(True)

    def _release(self, values: Values, by_agent: bool) -> Answer:
        if values.optional_text("event_id") is None:
            self._shelf.let_go()
            return Answer(True)
        now, record = self._clock.wall(), self._wanted(values)
        self._told_asked(record.key, "release", values, by_agent, now)
        return self._answered(record, asked.give_back(record, by=values.text("by"), forced=values.flag("force"), now=now))

    def _note(self, values: Values, by_agent: bool) -> Answer:
        record = self._wanted(values)
        if by_agent and _is_sending(values):
            self._refuse_unless_given(record)
        by = spool.AGENT if by_agent else "driver"
        self._journals.tell(record.key, self._clock.wall(), evidence.NOTED, note=values.text("note")[:40], by=by, detail=_short(values))
        return Answer(True, key=record.key)

    def _refuse_unless_given(self, record: Record) -> None:
        """The last look before a post: what was true when the agent read the state may not be so any more."""
        held = self._shelf.held(self._clock.wall())
        if held is not None:
            raise RefusedError("This host is held %s." % held)
        mine = record.word_of is not None and record.word_of.name == spool.AGENT
        without_work = record.state == r.SEEN and record.decision == APPROVE
        if not (without_work or mine) or record.view != r.SCHEDULED:
            why = record.commit_refused if record.state == r.COMMITTED and record.commit_refused is not None else record.reason
            raise RefusedError("The word of this host does not hold: it is %s (%s)." % (record.state, why))

    # --- of all requests ------------------------------------------------------------------------------------------

    def _current(self, event_id: str) -> Optional[Record]:
        return r.last_of(self._shelf.records.values(), event_id)

    def _wanted(self, values: Values, event_id: Optional[str] = None) -> Record:
        wanted = values.text("event_id") if event_id is None else event_id
        record = self._current(wanted)
        if record is None:
            raise RefusedError("This host knows of no event %s; `azure-event-handlers status` lists those that it knows." % wanted)
        return record

    def _now(self) -> Moment:
        return Moment(self._clock.wall(), self._clock.monotonic(), self._launcher.boot)

    def _driver(self, values: Values, by_agent: bool, now: Moment, lease: Optional[float] = None) -> Driver:
        seconds = values.number("lease") if lease is None else lease
        if not 0 <= seconds <= _LONGEST_LEASE:
            raise RefusedError("A lease is at most a day long.")
        name, run = values.text("driver"), values.text("run")
        if by_agent != (name == spool.AGENT):
            raise RefusedError("The name %s is the agent's, and it has no other." % spool.AGENT)
        return Driver(name, run, term_of(seconds, now))

    def _put(self, before: Optional[Record], record: Record, *, otherwise: str = "This host cannot get ready: %s") -> Record:
        """Written down, or refused."""
        if before == record:
            return record
        if not self._shelf.save(record):
            raise RefusedError(otherwise % self._shelf.problem)
        self._tell(before, record, record.reason)
        return record

    def _answered(self, before: Record, record: Record) -> Answer:
        self._put(before, record)
        return Answer(True, key=record.key)

    def _told_asked(self, key: str, request: str, values: Values, by_agent: bool, now: float) -> None:
        who = values.optional_text("driver") or values.optional_text("by") or ""
        self._journals.tell(key, now, evidence.ASKED, request=request, by=who, run=values.optional_text("run"), agent=by_agent)

    def _note_names(self, key: str, values: Values, now: float) -> None:
        """By which the driver knows this host; nobody here can know them otherwise."""
        names = {name: _line(values, name) for name in ("inventory_name", "scope")}
        if any(names.values()):
            self._journals.tell(key, now, evidence.NOTED, note=evidence.NAMES, by="driver", detail=names)

    def _tell_refused(self, request: Request, reason: str) -> None:
        """Also what was refused belongs to what is known of an event."""
        event = request.values.get("event")
        event_id = event.get("event_id") if isinstance(event, dict) else request.values.get("event_id")
        record = self._current(event_id) if isinstance(event_id, str) else None
        if record is not None:
            self._journals.tell(record.key, self._clock.wall(), evidence.REFUSED, request=request.what, reason=reason)

    def _configured(self) -> Configuration:
        """ConfigurationError, which is a problem as long as it is there."""
        try:
            config = configuration.load(self._paths, owner=self._owner)
        except ConfigurationError as problem:
            self._problem("configuration", problem.message)
            raise
        self._solved("configuration")
        return config


def _shown(record: Record, tail: int) -> Record:
    """With so much of what its handlers said: who reads the state must be able to, however much that is."""
    steps = []
    for step in record.steps:
        for phase in r.PHASES:
            work = step.work(phase)
            if len(work.tail) > tail:
                step = step.having(phase, replace(work, tail=work.tail[-tail:] if tail else ""))  # noqa: PLW2901
        steps.append(step)
    return replace(record, steps=tuple(steps))


def _short(values: Values) -> Dict[str, Any]:
    """What somebody wants to be remembered, within bounds."""
    found = {key[:80]: value for key, value in list(values.object("detail").items())[:40]}
    return found if len(json.dumps(found)) <= _LONGEST_NOTE else {"note": "too long"}


def _line(values: Values, name: str) -> Optional[str]:
    """A name that somebody gives, within bounds."""
    found = values.optional_text(name)
    return None if found is None else " ".join(found.split())[:_LONGEST_NAME]


def _event(values: Values) -> Event:
    """With a time that can be said."""
    event: Event = values.made(Event, "event")
    if event.not_before is not None and not EARLIEST <= event.not_before <= LATEST:
        raise RefusedError("The request has an event at a time that no calendar has.")
    return event


def _is_sending(values: Values) -> bool:
    return values.text("note") == "post" and values.object("detail").get("result") == "sending"


def _identity(path: str) -> Optional[str]:
    try:
        data = files.read_json(path)
    except (OSError, ValueError):
        return None
    found = data.get("vm_id") if isinstance(data, dict) else None
    return found if isinstance(found, str) else None


def _copied(path: str, folder: str) -> str:
    """A copy under the name of its content, durable before anything rests on it. Any user may run it: units may have one of their own."""
    try:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        with open(path, "rb") as file:
            body = file.read()
        copy = os.path.join(folder, hashlib.sha256(body).hexdigest()[:32])
        if not os.path.exists(copy):
            handle, temporary = tempfile.mkstemp(dir=folder)
            with os.fdopen(handle, "wb") as file:
                file.write(body)
                os.fchmod(file.fileno(), 0o555)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, copy)
            _sync(folder)
    except OSError as problem:
        raise RefusedError("This host cannot get ready: %s cannot be copied to %s: %s." % (path, folder, problem.strerror)) from problem
    return copy


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _forget_copies(folder: str, records: Mapping[str, Record]) -> None:
    used = {step.file for record in records.values() for step in record.steps}
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if path not in used:
                os.unlink(path)


def main(arguments: Sequence[str], crash: Callable[[str], None] = no_crash) -> int:
    """The program of the unit."""
    parser = argparse.ArgumentParser(prog="azure-event-executor", description="Runs the handlers of Azure's events on this host.")
    parser.add_argument("--root", default="", help="a folder that has everything, for a rehearsal: handlers run as plain processes")
    parser.add_argument("--stay", action="store_true", help="do not end when there is nothing to do, where no systemd starts it again")
    options = parser.parse_args(arguments)
    paths = Paths(options.root)
    owner = os.getuid() if options.root else 0
    service = Service(paths, launcher_of(paths), host_clock(), owner=owner, stay=options.stay, crash=crash, say=_say)

    def stop(_number: int, _frame: Any) -> None:
        service.stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        service.run()
    except BusyError as problem:
        # Whoever has it takes the requests as well.
        _say(problem.message)
    except HandlersError as problem:
        print(problem.message, file=sys.stderr)
        return 1
    return 0


def launcher_of(paths: Paths, *, trial: bool = False) -> Launcher:
    """What runs handlers here; those of a trial stand apart from the executor's."""
    if paths.root:
        return Processes(Path(paths.run) / ("trials" if trial else "processes"))
    return Systemd(paths.units, prefix=TRIAL if trial else UNIT)


def _say(line: str) -> None:
    """To the journal; that nobody listens is nobody's fault here."""
    with contextlib.suppress(OSError):
        print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
