# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent makes of what it sees: what it asks of the executor, what it approves, what it is alarmed at. Pure.

It is called once a turn, whether there was a good answer or not. It says nothing twice that the executor shows already, and says again
what it does not show. Events that do not name this VM never start anything.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from typing import Any, Dict, FrozenSet, Iterable, List, Optional, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import WATCH as WATCH_IT
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import (
    Decision,
    approval_obstacles,
    decision_result,
    may_give_back,
    overdue,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import (
    DELETIONS,
    FREEZE,
    KNOWN_TYPES,
    UNKNOWN,
    Event,
    fold,
    known_as,
    same_name,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ServiceError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._gate import Terms, objection
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import Reading, Vm
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._ledger import MOST_POSTS
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import APPROVE, PREPARING, REFUSE, is_shared
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import HOUR, MINUTE, say_duration

from . import records as r
from . import spool
from .configuration import WATCH
from .memory import LOST, SENDING, TAKEN, Memory, Sight, Told
from .reconcile import MOST_ATTEMPTS
from .records import Record
from .seen import RUN, Plan, Problem, Seen, Wish, is_ours, note, of_this_vm, open_records, outage, timed
from .sightings import IDLE, Sightings

# The executor takes a request within a moment. What it does not show after this time may be lost, and is said again, ever more rarely.
RETELL = 5.0
LONGEST_RETELL = 60.0
# So often an event that has not changed is told again: the record then says how long it was seen, also after a boot.
REFRESH = 1.0 * HOUR
# A word of the host that is older is asked for once more before it is approved on.
WORD_GOOD_FOR = 1.0 * MINUTE
# After a preparation that failed, before the second and last one.
SECOND_TRY_AFTER = 5.0 * MINUTE
# Between two posts of one event: the first may have taken, and the document must have had the time to show it.
POST_AGAIN_AFTER = 2.0
# A refusal by something that may pass, such as a clock that is just being set, is borne for so long before the host is let go.
GATE_PATIENCE = 30.0
# Others on the same Azure host may have to agree (C-24), but this long somebody should look (W-18).
START_EXPECTED_WITHIN = 1.0 * HOUR
# Times that a request was filed in vain, until it is an alarm.
_IN_VAIN = 4
# Refusals that do not pass while event and policy stay as they are.
_FINAL = ("shared", "policy", "type")
# Where it is not the gate that says no.
_PROBLEM_OF = {"held": "held", "scope": "freeze", "commit_refused": "commit"}


def look(memory: Memory, seen: Seen) -> Plan:
    """One turn."""
    known = timed(of_this_vm(memory, seen), seen)
    if seen.vm is None or seen.vm.vm_id is None:
        return Plan(known, read_whole=True, problems=tuple(outage(known, seen)))
    turn = _Turn(known, seen, seen.vm, _spelled(known, seen, seen.vm.vm_id))
    turn.take_in()
    turn.observe()
    turn.drive()
    return turn.plan()


def _spelled(memory: Memory, seen: Seen, vm_id: str) -> str:
    """The id of this VM as the executor has it: in other letters it could be taken for another VM's."""
    shown = None if seen.status is None else seen.status.vm_id
    return next((known for known in (shown, memory.vm_id) if known is not None and same_name(known, vm_id)), vm_id)


def sending(memory: Memory, event: Event, *, monotonic: float) -> Memory:
    """To be kept before a post is sent: if nothing more is heard of it, it may have taken."""
    return _with_sight(memory, event, lambda sight: replace(sight, posts=sight.posts + 1, posted=SENDING, posted_at=monotonic))


def sent(memory: Memory, event: Event, error: Optional[ServiceError], *, monotonic: float) -> Tuple[Memory, Wish]:
    """What came of it, and the note of it."""
    if error is None:
        return _with_sight(memory, event, lambda sight: replace(sight, posted=TAKEN)), note_post(event, "taken", None)
    again = monotonic + max(POST_AGAIN_AFTER, error.retry_after)
    if not error.ineffective:
        return _with_sight(memory, event, lambda sight: replace(sight, posted=LOST, try_at=again)), note_post(event, "unclear", error)

    def turned_away(sight: Sight) -> Sight:
        later = max(again, monotonic + RETELL)
        barred = error.message if error.permanent else None
        # Of an earlier post it is still not known whether it took.
        posted = LOST if sight.posts > 1 else None
        return replace(sight, posts=sight.posts - 1, posted=posted, try_at=later, barred=barred)

    return _with_sight(memory, event, turned_away), note_post(event, "refused", error)


def _doubt_of(record: Record) -> Optional[Tuple[str, str]]:
    """Why the handlers' last look does not bear an approval out."""
    return None if record.commit_refused is None else ("commit_refused", record.commit_refused)


def state_of(memory: Memory, sight: Sight) -> str:
    """One word for a person who asks what the agent thinks of an event."""
    if memory.unknown and sight.missing_since is not None:
        return "unknown"
    if sight.gone:
        return "gone"
    if sight.unsure:
        return "missing"
    if not sight.named:
        return "not_named"
    return "started" if sight.event.started else "scheduled"


def _with_sight(memory: Memory, event: Event, change: Any) -> Memory:
    sights = dict(memory.sights)
    sight = sights.get(fold(event.event_id))
    if sight is not None:
        sights[fold(event.event_id)] = change(sight)
    return replace(memory, sights=sights)


def note_post(event: Event, result: str, error: Optional[ServiceError]) -> Wish:
    """posted: whether it may have been taken."""
    return note(event, "post", {"result": result, "posted": result != "refused", "reason": None if error is None else error.message})


# --- one turn ------------------------------------------------------------------------------------------------------------


class _Turn(Sightings):
    """What is gathered in one turn."""

    def __init__(self, memory: Memory, seen: Seen, vm: Vm, vm_id: str) -> None:
        super().__init__(memory, seen, vm, vm_id)
        self._told: Dict[str, Told] = {}
        self._problems: List[Problem] = list(outage(memory, seen))
        self._refusals: List[str] = []
        self._approval: Optional[Event] = None
        self._stale = False

    def plan(self) -> Plan:
        unsure = self._memory.unknown or any(sight.unsure for sight in self._sights.values())
        self._problems += self._overdue()
        return Plan(
            memory=replace(self._memory, sights=self._sights, told=self._told),
            wishes=tuple(self._wishes),
            approval=self._approval,
            read_whole=self._stale or unsure,
            problems=tuple(self._problems),
            refusals=tuple(self._refusals),
            starts=tuple(self._starts),
        )

    def _reason(self, sight: Sight, decision: Decision) -> str:
        if decision.capped and self._configuration.mode != WATCH:
            if sight.barred is not None:
                return "%s; the service has refused the approval" % decision.reason
            if is_shared(sight.event) and self._configuration.settings.approve:
                return "%s; it is shared, and only a playbook approves for other VMs" % decision.reason
        return decision.reason

    # --- what the executor is told ---

    def observe(self) -> None:
        """All that it does not show yet, in one request."""
        events: List[Dict[str, Any]] = []
        gone: List[str] = []
        for key, sight in sorted(self._sights.items()):
            entry = self._untold(sight)
            if entry is None or not self._say("observe " + key, json.dumps(entry, sort_keys=True)):
                continue
            if sight.gone:
                gone.append(sight.event.event_id)
            else:
                events.append(entry)
        stranger = self._is_a_stranger()
        if events or gone or stranger:
            self._file(spool.OBSERVE, vm_id=self._vm_id, events=events, gone=gone)
        self._note_decisions()
        if self._memory.gap is not None and self._seen.answered:
            self._note_gap(self._memory.gap)

    def _is_a_stranger(self) -> bool:
        """The executor has no network: it knows from us alone which VM this is."""
        status = self._seen.status
        known = status is not None and status.vm_id is not None and same_name(status.vm_id, self._vm_id)
        return not known and self._say("identity", self._vm_id)

    def _untold(self, sight: Sight) -> Optional[Dict[str, Any]]:
        """How it is to be shown, if it is not shown so."""
        record = self._record(sight.event.event_id)
        if sight.gone:
            return {"gone": sight.event.event_id}
        if sight.unsure or self._seen.reading is None:
            return None
        decision = sight.decision if sight.named else None
        reason = "" if decision is None else self._reason(sight, decision)
        word = None if decision is None else decision.effective_action
        if record is not None and sight.named and not self._differs(record, sight.event, word, reason):
            return None
        return {"event": dataclasses.asdict(sight.event), "named": sight.named, "decision": word, "reason": reason}

    def _differs(self, record: Record, event: Event, word: Optional[str], reason: str) -> bool:
        # Also after a boot, so that the record knows that the event was still there.
        in_this_boot = record.was_seen_since(self._seen.now - self._seen.monotonic)
        if self._seen.answered and (not in_this_boot or self._seen.now - record.last_seen >= REFRESH):
            return True
        if record.view == r.STARTED and not event.started:
            return False  # an event never goes back (C-15)
        kept = replace(event, not_before=record.event.not_before) if event.started else event
        shown = r.STARTED if event.started else r.SCHEDULED
        if record.view != shown or record.event != kept:
            return True
        return record.state == r.SEEN and (record.decision, record.reason) != (word, reason)

    def _note_decisions(self) -> None:
        """For the evidence: after the request that makes the record."""
        if self._seen.status is None or self._seen.reading is None:
            return
        for sight in list(self._sights.values()):
            decision = sight.decision
            if decision is None or sight.gone or decision.decided_at == sight.noted:
                continue
            if decision.effective_action == WATCH_IT and sight.noted is not None:
                continue  # what was decided before the start is worth more
            clock = {"difference": self._seen.difference, "synchronised": self._seen.synchronised, "error": self._seen.clock_error}
            details = {key: value for key, value in decision_result(decision).items() if key != "resources"}
            for what, detail in (("identity", dataclasses.asdict(self._vm)), ("clock", clock), ("decision", details)):
                self._wishes.append(note(sight.event, what, detail))
            self._keep_in_mind(replace(sight, noted=decision.decided_at))

    def _note_gap(self, gap: float) -> None:
        for record in open_records(self._seen):
            self._wishes.append(note(record.event, "gap", {"seconds": round(gap)}))

    def _say(self, key: str, said: str, *, pause: float = RETELL) -> bool:
        """Whether it is time to say it: it is new, or it was said a while ago in vain."""
        due = self._is_due(key, said, pause)
        if due:
            self._mark(key, said)
        return due

    def _is_due(self, key: str, said: str, pause: float = RETELL, *, answered: bool = False) -> bool:
        """answered: the executor has heard it, and shows why it says no."""
        before = self._memory.told.get(key)
        if before is None or before.said != said:
            return True
        self._told[key] = before
        if before.times >= _IN_VAIN and not answered:
            self._alarm_executor(key)
        return self._seen.monotonic - before.at >= min(pause * 2.0 ** min(before.times - 1, 10), LONGEST_RETELL)

    def _mark(self, key: str, said: str) -> None:
        before = self._memory.told.get(key)
        times = before.times + 1 if before is not None and before.said == said else 1
        self._told[key] = Told(said, self._seen.monotonic, times)

    def _alarm_executor(self, key: str) -> None:
        self._problem(
            "executor",
            "The executor does not do what it is asked for (%s): see `systemctl status azure-event-executor` and its journal."
            % key.split()[0],
        )

    def _file(self, what: str, **values: Any) -> None:
        self._wishes.append(Wish(what, values))

    def _ask(self, key: str, said: str, what: str, sight: Sight, *, answered: bool = False, **values: Any) -> bool:
        """A step towards or away from the event; each begins on a document of this turn. Whether it was asked for now."""
        full_key = "%s %s" % (key, fold(sight.event.event_id))
        if not self._is_due(full_key, said, answered=answered):
            return False
        if not self._seen.fresh:
            self._stale = True
            return False
        self._mark(full_key, said)
        self._file(what, driver=spool.AGENT, run=RUN, **values)
        return True

    def _problem(self, word: str, text: str, sight: Optional[Sight] = None) -> None:
        problem = Problem(word, text, None if sight is None else sight.event.event_id)
        if problem not in self._problems:
            self._problems.append(problem)

    # --- what is done about it ---

    def drive(self) -> None:
        for key in sorted(self._sights, key=lambda key: _urgency(self._sights[key].event)):
            sight = self._sights[key]
            decision = sight.decision
            if decision is None or sight.gone or not sight.named:
                continue
            if decision.effective_action == REFUSE:
                self._problem("refused", "%s is %s." % (_say(sight.event), self._reason(sight, decision)), sight)
            self._tell_of_posts(sight)
            if self._is_ours_to_drive(sight):
                self._step(sight, decision)

    def _is_ours_to_drive(self, sight: Sight) -> bool:
        return self._configuration.mode != WATCH and self._seen.status is not None and sight.event.scheduled

    def _step(self, sight: Sight, decision: Decision) -> None:
        """What is in other hands is not disturbed (W-37)."""
        record = self._record(sight.event.event_id)
        if record is None or record.state in IDLE:
            if not sight.unsure and (record is None or record.view == r.SCHEDULED):
                self._begin(sight, decision, record)
        elif record.view != r.SCHEDULED or not is_ours(record):
            return
        elif record.state in (r.PREPARING, r.PREPARED):
            self._keep(sight, decision, record)
        elif record.state == r.COMMITTED and not sight.unsure and not record.committing:
            self._approve(sight, decision, record)

    def _is_due_now(self, decision: Decision) -> bool:
        return decision.start_at is not None and decision.start_at <= self._seen.now

    def _begin(self, sight: Sight, decision: Decision, record: Optional[Record]) -> None:
        if not self._is_due_now(decision):
            return
        if decision.effective_action == APPROVE:
            if record is not None and record.state == r.SEEN:
                self._approve(sight, decision, record)
        elif decision.effective_action in PREPARING and self._may_prepare(sight, decision, record):
            self._prepare(sight, decision, record)

    def _may_prepare(self, sight: Sight, decision: Decision, record: Optional[Record]) -> bool:
        if self._seen.held is not None:
            self._note_refusal(sight, ("held", "this host is held %s" % self._seen.held), doing="prepared for")
            return False
        if record is not None and record.state == r.BACKED_OUT and not self._may_try_again(sight, decision, record):
            return False
        crowd = self._crowd(sight.event)
        if crowd is not None:
            self._note_refusal(sight, ("scope", crowd), doing="prepared for")
        return crowd is None

    def _may_try_again(self, sight: Sight, decision: Decision, record: Record) -> bool:
        if record.attempt >= MOST_ATTEMPTS:
            self._problem("not_ready", "This host could not get ready for %s, and it is not tried again." % _say(sight.event), sight)
            return False
        if decision.late:
            return False
        last = decision.times.last_safe_start
        soon = record.changed_at + SECOND_TRY_AFTER
        return self._seen.now >= (soon if last is None else min(soon, last))

    def _prepare(self, sight: Sight, decision: Decision, record: Optional[Record]) -> None:
        left = decision.times.left(self._seen.now)
        within = min(decision.prepare_within or decision.times.prepare_budget, left)
        if within < self._configuration.settings.shortest_preparation:
            return
        said = "new" if record is None else "%d %d" % (record.occurrence, record.attempt)
        values = self._values(sight, within=within, vm_id=self._vm_id, times=dataclasses.asdict(decision.times))
        if self._ask("prepare", said, spool.PREPARE, sight, **values):
            self._keep_in_mind(replace(sight, let_go=False, refused_since=None))

    def _values(self, sight: Sight, **more: Any) -> Dict[str, Any]:
        return {"event": dataclasses.asdict(sight.event), "lease": self._configuration.lease, **more}

    def _keep_in_mind(self, sight: Sight) -> Sight:
        self._sights[fold(sight.event.event_id)] = sight
        return sight

    def _crowd(self, event: Event) -> Optional[str]:
        """W-57: a long pause of many VMs at once is not made longer by taking all of them out of service."""
        if known_as(event.event_type, KNOWN_TYPES) != FREEZE:
            return None
        names = self._names_in_due_freezes() | {fold(name) for name in event.resources}
        others, size = names - {fold(self._vm.name)}, self._configuration.scope_size
        if (size is None and not others) or (size is not None and 2 * len(names) <= size):
            return None
        of_them = "scope_size is not configured" if size is None else "the scope has %d" % size
        return "%d VMs are about to be paused (%s), and if all were drained for that, too few would serve" % (len(names), of_them)

    def _names_in_due_freezes(self) -> FrozenSet[str]:
        events = () if self._seen.reading is None else self._seen.reading.document.events
        freezes = [event for event in events if known_as(event.event_type, KNOWN_TYPES) == FREEZE and self._is_due_elsewhere(event)]
        return frozenset(fold(name) for event in freezes for name in event.resources)

    def _is_due_elsewhere(self, event: Event) -> bool:
        """By the same policy, which the other hosts are thought to have too."""
        if event.started:
            return True
        decision = self._decide(event, self._settings_for(event))
        return decision.late or self._is_due_now(decision)

    def _keep(self, sight: Sight, decision: Decision, record: Record) -> None:
        """Ours, and on its way: held on to, let go, or committed. While the event is missing in the document, held on to."""
        if sight.unsure:
            self._renew(sight, record)
            return
        if not self._is_still_wanted(decision):
            said = "%s %s" % (record.state, decision.decided_at)
            self._ask("abort", said, spool.ABORT, sight, event_id=sight.event.event_id)
            return
        self._renew(sight, record)
        if record.state != r.PREPARED or not decision.approves or not self._is_due_now(decision):
            return
        refusal = self._refusal(sight, decision)
        doubted = _doubt_of(record)
        self._note_refusal(sight, refusal or doubted)
        if refusal is None and not record.committing:
            self._ask("commit", str(record.attempt), spool.COMMIT, sight, answered=doubted is not None, **self._values(sight))

    def _is_still_wanted(self, decision: Decision) -> bool:
        """A host that is out of service already stays so where there is no time to serve before it is taken out again."""
        if decision.late:
            return True
        if decision.effective_action not in PREPARING:
            return False
        settings = self._configuration.settings
        return self._is_due_now(decision) or not may_give_back(decision, now=self._seen.now, committed=False, settings=settings)

    def _renew(self, sight: Sight, record: Record) -> None:
        lease = self._configuration.lease
        held = None if record.driver is None else record.driver.lease
        if held is not None and held.left(self._seen.moment) > lease / 2.0:
            return
        if self._say("renew " + fold(sight.event.event_id), repr(held), pause=min(RETELL, lease / 4.0)):
            self._file(spool.RENEW, event_id=sight.event.event_id, driver=spool.AGENT, run=RUN, lease=lease)

    # --- the gate ---

    def _approve(self, sight: Sight, decision: Decision, record: Record) -> None:
        """The last check, and the post that follows it at once. What may have been posted is never let go."""
        if sight.posted == TAKEN or sight.posts >= MOST_POSTS:
            return
        if sight.let_go or sight.barred is not None:
            self._let_go(sight, record)
            return
        doubted = _doubt_of(record)
        if doubted is not None:
            self._look_again(sight, decision, record, doubted)
            return
        if self._is_old(record) and self._may_post(sight) and self._refusal(sight, decision) is None:
            self._ask("commit", "%d %s" % (record.attempt, record.changed_at), spool.COMMIT, sight, **self._values(sight))
            return
        if not self._seen.fresh:
            self._stale = True
            return
        refusal = self._refusal(sight, decision)
        noted = self._note_refusal(sight, refusal)
        if refusal is not None:
            if refusal[0] in _FINAL or self._lasts(noted):
                self._let_go(noted, record)
        elif self._approval is None and self._may_post(sight):
            self._approval = sight.event
        else:
            self._stale = True  # its turn comes soon, and rests on a document of that moment

    def _is_old(self, record: Record) -> bool:
        """What the handlers have said long ago may not be so any more (W-41): as after a post that was lost, or our own end (W-35)."""
        return record.state == r.COMMITTED and abs(self._seen.now - record.changed_at) > WORD_GOOD_FOR

    def _look_again(self, sight: Sight, decision: Decision, record: Record, doubted: Tuple[str, str]) -> None:
        """The handlers have found it in service. What may have been posted is never let go; the next look may say yes."""
        refusal = self._refusal(sight, decision)
        noted = self._note_refusal(sight, refusal or doubted)
        if (refusal is not None and refusal[0] in _FINAL) or self._lasts(noted):
            self._let_go(noted, record)
        if refusal is None and (sight.posts or not self._lasts(noted)):
            self._ask("commit", str(record.attempt), spool.COMMIT, sight, answered=True, **self._values(sight))

    def _lasts(self, sight: Sight) -> bool:
        return sight.refused_since is not None and self._seen.monotonic - sight.refused_since >= GATE_PATIENCE

    def _may_post(self, sight: Sight) -> bool:
        """A post that our own end has cut off is one whose answer was lost (W-35)."""
        earliest = 0.0 if sight.posted_at is None else sight.posted_at + POST_AGAIN_AFTER
        return self._seen.monotonic >= max(earliest, sight.try_at or 0.0)

    def _let_go(self, sight: Sight, record: Record) -> None:
        if sight.posts or record.state != r.COMMITTED:
            return
        if self._ask("abort", record.state, spool.ABORT, sight, event_id=sight.event.event_id):
            self._keep_in_mind(replace(sight, let_go=True))

    def _refusal(self, sight: Sight, decision: Decision) -> Optional[Tuple[str, str]]:
        """A word and a sentence for the first thing that speaks against the approval."""
        event, reading = sight.event, self._seen.reading
        if is_shared(event):
            return "shared", "it is shared, and only a playbook approves for other VMs"
        for word, reasons in (
            ("policy", self._obstacles(sight, decision)),
            ("type", _as_reasons(objection(event, self._terms(decision)))),
            ("held", _as_reasons(self._seen.held and "this host is held %s" % self._seen.held)),
            ("clock", self._obstacles(sight, decision, difference=self._seen.clock_difference)),
            ("stale", self._obstacles(sight, decision, age=0.0 if reading is None else self._age(reading))),
        ):
            if reasons:
                return word, "; ".join(reasons)
        return None

    def _age(self, reading: Reading) -> float:
        """Before a commit is asked for, the document need not be of this moment; that it is asked for on a fresh one, _ask sees to."""
        return self._seen.monotonic - reading.asked_at if self._seen.fresh else 0.0

    def _obstacles(self, sight: Sight, decision: Decision, *, age: float = 0.0, difference: Optional[float] = 0.0) -> Tuple[str, ...]:
        return approval_obstacles(
            decision,
            sight.event,
            now=self._seen.now,
            document_age=age,
            committed=[self._vm.name],
            clock_difference=difference,
        )

    def _terms(self, decision: Decision) -> Terms:
        """This VM alone, and of the dangerous types those that the rule names with what they need."""
        rule = next((rule for rule in self._policy.rules if rule.name == decision.rule), None)
        known = known_as(decision.event.event_type, KNOWN_TYPES)
        meant = rule is not None and known in rule.event_types and (known == UNKNOWN or (known in DELETIONS and rule.approve_deletion))
        types = (decision.event.event_type,) if meant else ()
        return Terms.of(ready=[self._vm.name], unready_allowed=(), types_allowed=types, missing_allowed=False)

    def _note_refusal(self, sight: Sight, refusal: Optional[Tuple[str, str]], *, doing: str = "approved") -> Sight:
        """Once for each change of the reason, for the evidence; and an alarm as long as it lasts."""
        if refusal is None:
            return self._keep_in_mind(replace(sight, refused_since=None))
        word, reason = refusal
        if reason != sight.refused:
            self._refusals.append(word)
            self._wishes.append(note(sight.event, "gate", {"result": "refused", "word": word, "reason": reason}))
        self._problem(_PROBLEM_OF.get(word, "gate"), "%s is not %s: %s." % (_say(sight.event), doing, reason), sight)
        since = self._seen.monotonic if sight.refused_since is None else sight.refused_since
        return self._keep_in_mind(replace(sight, refused=reason, refused_since=since))

    def _tell_of_posts(self, sight: Sight) -> None:
        if sight.barred is not None:
            self._problem("post", "%s is not approved: %s" % (_say(sight.event), sight.barred), sight)
        if not sight.event.scheduled or sight.posted_at is None or not sight.posts:
            return
        since = self._seen.monotonic - sight.posted_at
        if sight.posted == TAKEN and since > START_EXPECTED_WITHIN:
            self._problem("post", "%s was approved %s ago and has not started." % (_say(sight.event), say_duration(since)), sight)
        elif sight.posted != TAKEN and sight.posts >= MOST_POSTS:
            self._problem("post", "%s was posted twice without a clear answer; it may be approved all the same." % _say(sight.event), sight)

    # --- what lasts too long ---

    def _overdue(self) -> Iterable[Problem]:
        for sight in self._sights.values():
            late = None if sight.gone or sight.unsure else overdue(sight.event, now=self._seen.now, started_at=sight.started_at)
            if late is not None and sight.named:
                yield Problem("overdue", "%s is overdue: %s." % (_say(sight.event), late), sight.event.event_id)
        for record in () if self._seen.status is None else self._seen.status.records:
            late = overdue(record.event, now=self._seen.now, gone_at=record.gone_at) if record.is_open and record.gone_at else None
            if late is not None:
                yield Problem("overdue", "%s is overdue: %s." % (_say(record.event), late), record.event.event_id)


def _as_reasons(reason: Optional[str]) -> Tuple[str, ...]:
    return (reason,) if reason else ()


def _urgency(event: Event) -> Tuple[bool, float, str]:
    return event.not_before is not None, event.not_before or 0.0, fold(event.event_id)


def _say(event: Event) -> str:
    return "Event %s (%s)" % (event.event_id, event.event_type)
