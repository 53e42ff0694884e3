# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What came of each event of a plan, as far as a controller can know it, and of the run as a whole. Pure.

Private to the collection. The hosts know best what happened to them, and the worst of their words counts; where a host says nothing, what
the run has seen does. It can be asked at any time, also when half of it is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..module_utils._document import DELETIONS, KNOWN_TYPES, SCHEDULED, STARTED, known_as
from ..module_utils._time import format_instant
from ..module_utils._windows import say_instant
from ._fleet import STATUS
from ._newcomers import joined
from ._told import (
    COMMITTED,
    EVIDENCE,
    GATE,
    NEWCOMERS,
    OPEN,
    OVER,
    POSTED,
    PREPARED,
    SENDING,
    STOP,
    TROUBLE,
    WATCHED,
    Told,
    azure_starts,
    done,
    entries_of,
    instant,
    items,
    label,
    mapping,
    names,
    not_before_of,
    number,
    plain,
    same,
    say_blind,
    sentence,
    sentences,
    text,
)
from ._verdicts import HELD as IS_HELD
from ._verdicts import LEFT, RUNNING, WAVES
from ._verdicts import REFUSED as IS_REFUSED
from ._votes import CHECK, VOTE
from ._votes import GONE as GONE_THERE
from ._votes import STARTED as STARTED_THERE

# Of a host's own evidence as well: what has the same name has the same shape and meaning there. What is known of one VM alone is below
# `hosts`, and what only a run knows has names of its own.
SCHEMA = 1
KIND = "run"
RECOVERED, CANCELLED, HIT_UNPREPARED, NOT_PREPARED = "recovered", "cancelled", "hit_unprepared", "not_prepared"
REFUSED, IGNORED, DELETED, STUCK = "refused", "ignored", "deleted", "stuck"
WITHOUT_NOTICE, HELD, PLANNED = "started_without_notice", "held", "planned"
# The worst first: of several hosts the first of these is the event's.
WORST_FIRST = (STUCK, HIT_UNPREPARED, NOT_PREPARED, REFUSED, WITHOUT_NOTICE, DELETED, RECOVERED, CANCELLED, IGNORED, HELD, PLANNED)
# What a run is answerable for.
_FAILED = (STUCK, HIT_UNPREPARED, NOT_PREPARED, REFUSED)
_OF_PLACE = {IS_HELD: HELD, IS_REFUSED: REFUSED, LEFT: IGNORED}
OK, NOTHING_TO_DO, FAILED = "ok", "nothing_to_do", "failed"

TAKEN, UNCLEAR, ALREADY_STARTED, NOT_TAKEN, NO_EVENT = "taken", "unclear", "already_started", "refused", "gone"
_MAYBE_OURS = (TAKEN, UNCLEAR)
# By whom something was done, in the words of a host's own evidence.
_DRIVER = "driver"
# Of what the plan says of an event, and of the decision below it, what belongs to how it was decided.
_SAID = ("rule", "approves", "prepares", "late", "policy_hash", "due_at", "not_before", "last_safe_start", "latest")
_BOUNDS = ("budget", "clock_error", "window", "over_capacity", "allowed_unready")
_DECIDED = ("action", "reason", "refused", "configuration_error", "capped", "outside_window", "want", "ready_by")
_COUNTED = ("window_opens", "window_closes", "prepare_within", "prepare_budget", "approve_reserve")
_OF_THE_EVENT = ("event_id", "event_type", "event_status")
_OF_THE_RUN = ("recover_budget", "within", "period")
# States in which a host waits for Azure, with everything done that was to be done.
_READY = ("PREPARED", "COMMITTED")
# States in which a host is after Azure was faster than its preparation.
_HIT = ("IMPACT", "RECOVERING", "CLOSED")
_VIEWS = ("absent", "scheduled", "started", "gone")
_UNEXPLAINED = "Wave %s was begun and has not come to its end, and its hosts go on by themselves: see %s with azure-event-handlers status."
LOCALHOST = "localhost"


@dataclass(frozen=True)
class HostView:
    """What one host did about one event. prepared, committed, over: results, empty where there is none."""

    name: str
    vm_name: Optional[str]
    vm_id: Optional[str]
    # How far its clock is ahead of the controller's.
    ahead: Optional[float]
    prepared: Mapping[str, Any]
    committed: Mapping[str, Any]
    sending: Mapping[str, Any]
    over: Mapping[str, Any]
    trouble: Tuple[str, ...]
    evidence: Mapping[str, Any]

    @property
    def asked(self) -> bool:
        return bool(self.prepared)

    @property
    def ready(self) -> bool:
        return done(self.prepared).get("ok") is True

    @property
    def knows_nothing(self) -> bool:
        """It answers, and has no record of the event: it never was told of it, or its disk was wiped meanwhile (W-49)."""
        over = done(self.over)
        return over.get("over") is True and over.get("state") is None and not self.evidence

    @property
    def state(self) -> Optional[str]:
        """The last that is known."""
        if self.knows_nothing:
            return None
        for source in (self.evidence, self.over, self.committed, self.prepared):
            if isinstance(source.get("state"), str):
                return str(source["state"])
        return None

    @property
    def rebooted(self) -> bool:
        """While its record was open."""
        return len(items(self.evidence.get("boot_ids"))) > 1

    @property
    def was_ready(self) -> bool:
        """For this run, or for one before it: then its own evidence tells from which state it began to recover."""
        moves = [mapping(line) for line in items(self.evidence.get("history"))]
        return self.ready or any(move.get("to") == "RECOVERING" and move.get("from") in _READY for move in moves)

    @property
    def is_over(self) -> Optional[bool]:
        """Whether nothing of it is in effect any more; None where the host has not said."""
        over = done(self.over).get("over")
        if isinstance(over, bool):
            return over
        healthy = self.evidence.get("healthy")
        return healthy if isinstance(healthy, bool) else None


@dataclass(frozen=True)
class Seen:
    """What the run has seen and done about one event."""

    posts: Tuple[Mapping[str, Any], ...]
    # What came last, and all that was seen.
    watched: Mapping[str, Any]
    looks: Tuple[Mapping[str, Any], ...]
    gates: Tuple[Mapping[str, Any], ...]
    # Hosts that were asked to get ready because the event names them since it was posted, with their answers.
    newcomers: Tuple[Mapping[str, Any], ...]

    @property
    def started(self) -> bool:
        return self.watched.get("started_seen") is True

    @property
    def gone(self) -> bool:
        return self.watched.get("state") == "gone"

    @property
    def posted(self) -> bool:
        """A post may have been taken."""
        return any(post.get("outcome") in _MAYBE_OURS for post in self.posts)

    def begun(self, key: str) -> bool:
        """Whether its hosts were to get ready: it was refused later, or not at all."""
        return any(
            key in names(verdict.get("events"))
            or key in mapping(verdict.get("waits"))
            or mapping(verdict.get("refused_at")).get(key) in (CHECK, VOTE)
            for verdict in self.gates
        )

    def said(self, kind: str, key: str) -> Optional[str]:
        """The gate's sentence on it."""
        for verdict in self.gates:
            found = sentence(mapping(verdict.get(kind)).get(key))
            if found is not None:
                return found
        return None

    def judged(self, kind: str, key: str) -> Iterator[Any]:
        """When the gate has found it so."""
        return (verdict.get("at") for verdict in self.gates if key in mapping(verdict.get(kind)))


def hosts_of_plan(plan: Any) -> List[str]:
    """Whose reports are needed."""
    entries = entries_of(plan).values()
    waves = [mapping(wave) for wave in items(mapping(plan).get("waves"))]
    parts = [entry.get(part) for entry in entries if entry.get("place") in (WAVES, RUNNING) for part in ("hosts", "witnesses")]
    parts += [wave.get(part) for wave in waves for part in ("batch", "hosts")]
    return list(dict.fromkeys([LOCALHOST, *(name for part in parts for name in names(part))]))


def outcome(plan: Any, *, options: Any, told: Told, now: float, final: bool, check: bool) -> Dict[str, Any]:
    """What came of the run. final: it is over; check: nothing but the plan was made."""
    planned = mapping(plain(plan))
    run = _Run(planned, mapping(plain(options)), {name: mapping(plain(facts)) for name, facts in told.items()}, now, final, check)
    events = [_Event(entry, run) for entry in entries_of(planned).values()]
    evidence = [event.evidence() for event in events]
    failures = [] if check else list(dict.fromkeys([*run.failures(), *(words for event in events for words in event.failures())]))
    failures = failures or list(run.unexplained())
    result = _result(run, events, failures)
    return {
        "result": result,
        "events": evidence,
        "failures": failures,
        "summary": "\n".join(_summary(run, events, failures, result)),
        "due_next": text(planned.get("due_next")),
    }


@dataclass(frozen=True)
class _Run:
    plan: Mapping[str, Any]
    options: Mapping[str, Any]
    told: Told
    now: float
    final: bool
    check: bool

    def facts(self, name: str) -> Mapping[str, Any]:
        return mapping(self.told.get(name))

    @property
    def stop(self) -> Optional[str]:
        return sentence(self.facts(LOCALHOST).get(STOP))

    def unexplained(self) -> Iterator[str]:
        """A wave that was not closed, although nothing is known to have gone wrong in it."""
        for wave in items(self.facts(LOCALHOST).get(OPEN)) if self.final and not self.check else ():
            yield _UNEXPLAINED % (wave, ", ".join(self._hosts_of(wave)) or "them")

    def _hosts_of(self, wave: Any) -> List[str]:
        waves = [mapping(one) for one in items(self.plan.get("waves"))]
        return [name for one in waves if one.get("number") == wave for name in names(one.get("hosts"))]

    def failures(self) -> Iterator[str]:
        """What is wrong with more than one event."""
        changed = sentence(self.plan.get("changed"))
        if changed is not None:
            yield changed + "."
        blind = say_blind(self.plan)
        if blind is not None:
            yield blind
        if self.stop is not None:
            yield "The run has stopped: %s." % self.stop
        for name in self.told:
            for words in sentences(self.facts(name).get(TROUBLE)):
                yield "%s: %s." % (name, words)


def _result(run: _Run, events: Sequence[_Event], failures: Sequence[str]) -> str:
    if failures:
        return FAILED
    doing = [event for event in events if event.place in (WAVES, RUNNING)]
    if not doing and not run.check:
        return NOTHING_TO_DO
    return PLANNED if run.check or (not run.final and any(event.result == PLANNED for event in doing)) else OK


# --- one event -----------------------------------------------------------------------------------------------------------


class _Event:
    def __init__(self, entry: Mapping[str, Any], run: _Run) -> None:
        self.entry = entry
        self.key = str(entry["key"])
        self.place = entry.get("place")
        self._run = run
        self.hosts = [_host_view(name, entry, run) for name in names(entry.get("hosts"))]
        self.seen = _seen(self.key, entry, run)
        self.result = self._result()

    @property
    def label(self) -> str:
        return label(self.entry)

    @property
    def approves(self) -> bool:
        return self.entry.get("approves") is True

    @property
    def _is_deletion(self) -> bool:
        return known_as(text(mapping(self.entry.get("event")).get("event_type")), KNOWN_TYPES) in DELETIONS

    @property
    def _is_only_approved(self) -> bool:
        """Its hosts had nothing to do for it."""
        return self.entry.get("prepares") is not True and self.seen.posted

    def _result(self) -> str:
        place = _OF_PLACE.get(str(self.place))
        if place is not None:
            return place
        if self._run.check:
            return PLANNED
        words = [self._word_of(host) for host in self.hosts]
        known = [word for word in words if word is not None]
        if known and len(known) == len(words):
            return _worst(known)
        return _worst([*known, self._so_far()])

    def _word_of(self, host: HostView) -> Optional[str]:
        """What the host says that came of it; None while it has nothing to say."""
        word = host.evidence.get("result")
        if word == NOT_PREPARED and self._was_overtaken(host):
            return HIT_UNPREPARED
        if word == CANCELLED and (self.seen.started or (self.seen.gone and (host.ready or self._is_only_approved))):
            # A host that is down, or frozen, is not there to see it start.
            return self._word_by_sight(host)
        if word == CANCELLED and host.asked and host.rebooted:
            return HIT_UNPREPARED
        if word in WORST_FIRST:
            return str(word)
        if self._is_deletion and host.is_over is not True and (self.seen.started or (self.seen.gone and host.over.get("unreachable"))):
            return DELETED
        if host.is_over is True and (host.state == "CLOSED" or (host.knows_nothing and host.ready)) and self.seen.gone:
            return self._word_by_sight(host)
        return None

    def _word_by_sight(self, host: HostView) -> str:
        if not self.seen.started and not self.seen.posted:
            return CANCELLED
        if host.was_ready or self._is_only_approved:
            return RECOVERED
        return HIT_UNPREPARED if self._was_overtaken(host) or not host.asked else NOT_PREPARED

    def _was_overtaken(self, host: HostView) -> bool:
        """Azure has started it while the host was getting ready, and nothing else was wrong (W-17)."""
        return host.asked and not host.ready and host.prepared.get("state") in _HIT

    def _so_far(self) -> str:
        """By what the run has seen."""
        seen, final = self.seen, self._run.final
        if self.place == RUNNING:
            return self._running_so_far()
        if seen.posted or (seen.started and all(host.ready for host in self.hosts)):
            return STUCK if final else PLANNED
        if seen.started or seen.said("started", self.key) is not None:
            return HIT_UNPREPARED if final or not all(host.ready for host in self.hosts) else PLANNED
        if seen.gone or seen.said("gone", self.key) is not None:
            return STUCK if final and any(host.asked and host.is_over is False for host in self.hosts) else CANCELLED
        return self._unstarted()

    def _running_so_far(self) -> str:
        if not self._run.final:
            return PLANNED
        prepared = any(_or_zero(number(host.evidence.get("attempts"))) > 0 for host in self.hosts)
        return STUCK if prepared or any(host.is_over is False for host in self.hosts) else WITHOUT_NOTICE

    def _unstarted(self) -> str:
        """Azure has not begun it, as far as anybody knows."""
        asked = [host for host in self.hosts if host.asked]
        late = [host for host in self.hosts if not host.ready] if self.entry.get("prepares") is True else []
        if any(host.asked for host in late) or (late and self._run.final and (asked or self.seen.begun(self.key))):
            return NOT_PREPARED
        if self.seen.said("refused", self.key) is not None:
            return REFUSED
        if not self._run.final:
            return PLANNED
        return STUCK if asked and not self.approves else REFUSED

    # --- in words ---

    def failures(self) -> Iterator[str]:
        for name in joined(self.entry, self.seen.posts):
            yield "%s hits %s as well since it was approved: %s; %s." % (self.label, name, self._say_newcomer(name), self._where())
        if self.result not in _FAILED or self.place in (IS_HELD, LEFT) or (self.place == RUNNING and self.result != STUCK):
            return
        if self.place == IS_REFUSED:
            yield "%s: %s." % (self.label, sentence(self.entry.get("reason")) or "refused")
            return
        words = {STUCK: self._stuck, NOT_PREPARED: self._not_prepared, HIT_UNPREPARED: self._hit, REFUSED: self._refused}
        yield from list(words[self.result]()) or ["%s has ended as %s: %s." % (self.label, self.result, self._where())]

    def _say_newcomer(self, vm_name: str) -> str:
        """W-10: it was asked as soon as it was seen, and nobody has waited for it."""
        asked = next((one for one in self.seen.newcomers if same(one.get("vm_name"), vm_name)), None)
        if asked is None:
            return "nobody has got that ready"
        answer = mapping(asked.get("answer"))
        words = sentence(answer.get("message")) or sentence(answer.get("msg")) or "it has not answered"
        return "%s was asked to get ready (%s)" % (text(asked.get("host")), words)

    def _stuck(self) -> Iterator[str]:
        away = [host for host in self.hosts if host.is_over is not True] if self.seen.gone else []
        for host in away:
            why = sentence(host.over.get("message")) or sentence(host.over.get("msg"))
            yield "%s is not back after %s, which is gone%s." % (host.name, self.label, " (%s)" % why if why else "")
        if not away:
            yield "%s is not over: %s; what guards its hosts goes on." % (self.label, self._where())

    def _not_prepared(self) -> Iterator[str]:
        for host in self.hosts:
            if not host.ready:
                yield "%s was not ready for %s: %s; nobody is approved, %s." % (host.name, self.label, self._no_of(host), self._where())

    def _no_of(self, host: HostView) -> str:
        if host.prepared.get("unreachable"):
            return "it could not be reached"
        said = sentence(host.prepared.get("message")) or sentence(host.prepared.get("msg"))
        return said or (host.trouble[0] if host.trouble else "it has not answered")

    def _hit(self) -> Iterator[str]:
        late = [host.name for host in self.hosts if not host.ready] or [host.name for host in self.hosts]
        yield "Azure has started %s before %s ready." % (self.label, "%s %s" % (", ".join(late), "was" if len(late) == 1 else "were"))

    def _refused(self) -> Iterator[str]:
        yield "%s." % self._why_refused()

    def _why_refused(self) -> str:
        said = self.seen.said("refused", self.key)
        if said is not None:
            return said
        for post in self.seen.posts:
            why = sentence(post.get("msg"))
            if why is not None:
                return "%s is not approved: %s; %s" % (self.label, why, self._where())
        if any(host.asked for host in self.hosts):
            why = "its hosts were ready, and nobody has posted it"
        else:
            why = self._run.stop or "its wave was not begun, or its hosts were lost on the way"
        return "%s is not approved: %s; %s" % (self.label, why, self._where())

    def _where(self) -> str:
        """What Azure does and when."""
        if self.seen.gone:
            return "the event is gone"
        if self.seen.started:
            return "Azure has started it"
        if self.seen.posted:
            taken = any(post.get("outcome") == TAKEN for post in self.seen.posts)
            return "%s, and Azure has not been seen to start it" % ("it is approved" if taken else "it may be approved")
        return azure_starts(not_before_of(self.entry))

    def lines(self) -> Iterator[str]:
        """For people who read how a run has ended."""
        yield "%s: %s" % (self.label, self.result)
        reason = sentence(self.entry.get("reason"))
        if self.place in (IS_HELD, IS_REFUSED, LEFT) or self._run.check:
            yield "  %s" % reason if reason else "  without a reason"
            return
        steps = [*self._steps()]
        if steps:
            yield "  %s" % ", ".join(steps)
        for host in self.hosts:
            if host.is_over is False:
                yield "  %s is not back: %s" % (host.name, sentence(host.over.get("message")) or host.state or "nobody knows why")

    def _steps(self) -> Iterator[str]:
        ready = [host.name for host in self.hosts if host.ready]
        if ready:
            yield "ready: %s" % " ".join(ready)
        for post in self.seen.posts:
            yield "posted from %s: %s" % (text(post.get("witness")) or "nobody knows where", text(post.get("outcome")) or "unclear")
        state = text(self.seen.watched.get("state"))
        if state is not None:
            yield "seen %s" % state
        back = [host.name for host in self.hosts if host.is_over is True]
        if back:
            yield "back: %s" % " ".join(back)

    # --- as evidence ---

    def evidence(self) -> Dict[str, Any]:
        entry, run, seen = self.entry, self._run, self.seen
        own = [host.evidence for host in self.hosts if host.evidence]
        started = self._started(own)
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "key": self.key,
            "event": dict(mapping(entry.get("event"))),
            "realm": dict(mapping(entry.get("realm"))),
            "scope": entry.get("scope"),
            "first_seen": _earliest([run.plan.get("made_at"), *(one.get("first_seen") for one in own)]),
            "last_seen": _latest([run.plan.get("made_at"), seen.watched.get("at"), *(one.get("last_seen") for one in own)]),
            "notice_seconds": _largest(own, "notice_seconds"),
            "changes": self._lines("changes"),
            "shown_differently": sentences(entry.get("notes")),
            "decision": entry.get("action"),
            "decision_details": _details(entry, run),
            "reason": entry.get("reason"),
            "driver": run.options.get("driver"),
            "run": run.options.get("run_id"),
            "place": self.place,
            "wave": entry.get("wave"),
            "component": entry.get("component"),
            "attempts": _largest(own, "attempts"),
            "votes": {host.name: _word(host.prepared, entry) for host in self.hosts if host.asked},
            "commits": {host.name: _word(host.committed, entry) for host in self.hosts if host.committed},
            "posts": [self._post(post) for post in seen.posts],
            "gate_refusals": self._gate_refusals(),
            "approved_by": self._approved_by(),
            "witness": text(seen.posts[-1].get("witness")) if seen.posts else None,
            "watched_by": text(seen.watched.get("by")),
            "started": started,
            "started_seen": seen.started or any(one.get("started") for one in own),
            "started_between": None if started is None else [self._scheduled_before(started), started],
            "gone": _latest([seen.watched.get("at") if seen.gone else None, *(one.get("gone") for one in own)]),
            "gone_seen": self._found_gone(own),
            "healthy": self._healthy(),
            "recovered": _latest([one.get("recovered") for one in own]),
            "seconds_drained": _largest(own, "seconds_drained"),
            "result": self.result,
            "unmanaged": names(entry.get("unmanaged")),
            "joined": joined(entry, seen.posts),
            "newcomers": [
                {"host": one.get("host"), "vm_name": one.get("vm_name"), "prepared": _answer(mapping(one.get("answer")), entry)}
                for one in seen.newcomers
            ],
            "hosts": {host.name: _host_evidence(host, entry) for host in self.hosts},
            "notes": self._lines("notes"),
        }

    def _lines(self, key: str) -> List[Dict[str, Any]]:
        """What hosts have written down, line by line."""
        return [{"host": host.name, **mapping(line)} for host in self.hosts for line in items(host.evidence.get(key))]

    def _post(self, post: Mapping[str, Any]) -> Dict[str, Any]:
        """The module's own result has the event once more."""
        options, outcome = self._run.options, text(post.get("outcome"))
        return {
            "at": _earliest([post.get("at")]),
            "by": _DRIVER,
            "driver": options.get("driver"),
            "run": options.get("run_id"),
            "witness": text(post.get("witness")),
            "sent": self._sent(post),
            "posted": outcome not in (NOT_TAKEN, NO_EVENT),
            "outcome": outcome,
            "answer": text(mapping(post.get("result")).get("result")),
            "reason": text(post.get("msg")),
        }

    def _sent(self, post: Mapping[str, Any]) -> Optional[str]:
        """When the first of its hosts has written down that it is on its way from there."""
        written = [mapping(_record(host.sending, self.entry).get("post")) for host in self.hosts]
        return _earliest(one.get("sent_at") for one in written if one.get("witness") == post.get("witness"))

    def _gate_refusals(self) -> List[Dict[str, Any]]:
        """Each verdict is kept by many hosts."""
        found = [self._gate_refusal(verdict) for verdict in self.seen.gates if self.key in mapping(verdict.get("refused"))]
        first: Dict[Tuple[Any, Any], Dict[str, Any]] = {}
        for one in sorted(found, key=_when):
            first.setdefault((one["step"], one["reason"]), one)
        return list(first.values())

    def _gate_refusal(self, verdict: Mapping[str, Any]) -> Dict[str, Any]:
        first = mapping(mapping(verdict.get("refusals")).get(self.key))
        return {
            "at": _earliest([first.get("at")]),
            "by": _DRIVER,
            "step": text(first.get("step")) or text(verdict.get("step")),
            "reason": sentence(mapping(verdict.get("refused")).get(self.key)),
            "hosts": names(first.get("hosts")),
        }

    def _approved_by(self) -> str:
        """us: a post of this run, or of whoever had its hosts in hand before, may have been taken."""
        said = [host.evidence.get("approved_by") for host in self.hosts]
        if self.seen.posted or "us" in said:
            return "us"
        if "other" in said:
            return "other"
        started, not_before = instant(self._started([host.evidence for host in self.hosts])), not_before_of(self.entry)
        overtaken = any(post.get("outcome") == ALREADY_STARTED for post in self.seen.posts)
        early = started is not None and not_before is not None and started < not_before
        return "other" if overtaken and early else "nobody"

    def _started(self, own: Iterable[Mapping[str, Any]]) -> Optional[str]:
        watched = self.seen.watched
        at = watched.get("at") if watched.get("state") == "started" else watched.get("started_at")
        return _earliest([at, *self.seen.judged(STARTED_THERE, self.key), *(one.get("started") for one in own)])

    def _scheduled_before(self, started: str) -> Optional[str]:
        """When it was last seen before it started."""
        moments = [found for found in map(instant, self._scheduled()) if found is not None]
        return _latest(moment for moment in moments if moment <= _or_zero(instant(started)))

    def _scheduled(self) -> Iterator[Any]:
        """When anybody has seen that it waits."""
        if same(mapping(self.entry.get("event")).get("event_status"), SCHEDULED):
            yield self._run.plan.get("made_at")
        for look in self.seen.looks:
            yield look.get("at") if look.get("state") == "scheduled" else None
        for host in self.hosts:
            for answer in (host.prepared, host.committed, host.sending):
                record = _record(answer, self.entry)
                yield record.get("last_seen") if same(mapping(record.get("event")).get("event_status"), SCHEDULED) else None
            for line in map(mapping, items(host.evidence.get("changes"))):
                yield line.get("at") if same(line.get("status"), SCHEDULED) else None

    def _found_gone(self, own: Iterable[Mapping[str, Any]]) -> List[str]:
        """Each who has found it gone, by himself: when, the first one first."""
        looks = [look.get("at") for look in self.seen.looks if look.get("state") == "gone"]
        found = map(instant, [*looks, *self.seen.judged(GONE_THERE, self.key), *(one.get("gone") for one in own)])
        return [format_instant(moment) for moment in sorted({moment for moment in found if moment is not None})]

    def _healthy(self) -> Optional[bool]:
        said = [host.is_over for host in self.hosts]
        if not said or (None in said and False not in said):
            return None
        return all(word is True for word in said)


def _worst(words: Sequence[str]) -> str:
    return min(words, key=WORST_FIRST.index)


def _details(entry: Mapping[str, Any], run: _Run) -> Dict[str, Any]:
    """With all times of the arithmetic. What others have moved, capacity and the queue, is as they have left it."""
    event, decision = mapping(entry.get("event")), mapping(entry.get("decision"))
    return {
        **{key: event.get(key) for key in _OF_THE_EVENT},
        **{key: decision.get(key) for key in (*_DECIDED, *_COUNTED)},
        **{key: entry.get(key) for key in (*_SAID, *_BOUNDS)},
        **{key: run.options.get(key) for key in _OF_THE_RUN},
        "effective_action": entry.get("action"),
        "start_at": entry.get("start_at") or decision.get("start_at"),
        "decided_at": run.plan.get("made_at"),
        "digest": run.plan.get("digest"),
    }


def _host_evidence(host: HostView, entry: Mapping[str, Any]) -> Dict[str, Any]:
    """Its own evidence has the event once more, as the host has seen it: under another name, so that nobody takes it for this one."""
    own = {key: value for key, value in host.evidence.items() if key != "event"}
    occurrence = number(own.get("occurrence"))
    return {
        "occurrence": None if occurrence is None else int(occurrence),
        "vm_name": host.vm_name,
        "vm_id": text(own.get("vm_id")) or host.vm_id,
        "identity": _identity(host, entry),
        "clock": dict(mapping(own.get("clock"))) or None,
        "clock_difference": host.ahead,
        "boot_ids": names(own.get("boot_ids")),
        "state": host.state,
        "prepared": _answer(host.prepared, entry),
        "committed": _answer(host.committed, entry),
        "over": host.is_over,
        "message": sentence(host.over.get("message")),
        "trouble": list(host.trouble),
        "result": own.get("result"),
        "own": {**own, "event_as_seen": host.evidence.get("event")} if own else None,
    }


def _identity(host: HostView, entry: Mapping[str, Any]) -> Dict[str, Any]:
    """As the host has it; what it has not said is as the plan has it."""
    own, realm = mapping(host.evidence.get("identity")), mapping(entry.get("realm"))
    planned = {
        "name": host.vm_name,
        "vm_id": host.vm_id,
        "resource_group": realm.get("resource_group"),
        "subscription_id": realm.get("subscription"),
        "inventory_name": host.name,
        "scope": entry.get("scope"),
    }
    return {**own, **{key: value for key, value in planned.items() if own.get(key) is None}}


def _answer(result: Mapping[str, Any], entry: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """Of a result what was said, and since when it is so; the status beside it is some kilobytes."""
    if not result:
        return None
    words = {key: result.get(key) for key in ("verdict", "state", "message", "msg", "handlers", "unreachable") if key in result}
    return {**words, **_word(result, entry)}


def _word(result: Mapping[str, Any], entry: Mapping[str, Any]) -> Dict[str, Any]:
    """Whether it is a yes, and when the host came to that, by its own clock; None where it has gone on since."""
    record, state = _record(result, entry), result.get("state")
    at = record.get("changed_at") if state is not None and record.get("state") == state else None
    return {"ok": done(result).get("ok") is True, "at": _earliest([at])}


def _record(result: Mapping[str, Any], entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of the event, as it occurred last, in the status that came with an answer."""
    event_id = mapping(entry.get("event")).get("event_id")
    records = [mapping(record) for record in items(mapping(done(result).get("status")).get("records"))]
    found = [record for record in records if same(mapping(record.get("event")).get("event_id"), event_id)]
    return max(found, key=lambda record: _or_zero(number(record.get("occurrence"))), default={})


def _host_view(name: str, entry: Mapping[str, Any], run: _Run) -> HostView:
    facts, key = run.facts(name), str(entry["key"])
    return HostView(
        name=name,
        vm_name=text(mapping(entry.get("vm_names")).get(name)),
        vm_id=text(mapping(entry.get("vm_ids")).get(name)),
        ahead=number(mapping(facts.get(STATUS)).get("clock_difference")),
        prepared=mapping(mapping(facts.get(PREPARED)).get(key)),
        committed=mapping(mapping(facts.get(COMMITTED)).get(key)),
        sending=mapping(mapping(facts.get(SENDING)).get(key)),
        over=mapping(mapping(facts.get(OVER)).get(key)),
        trouble=tuple(sentences(facts.get(TROUBLE))),
        evidence=mapping(mapping(facts.get(EVIDENCE)).get(key)),
    )


def _seen(key: str, entry: Mapping[str, Any], run: _Run) -> Seen:
    """Whoever was the component's leader has written it down; by now it may be another one."""
    posts = [mapping(post) for name in run.told for post in items(run.facts(name).get(POSTED)) if mapping(post).get("key") == key]
    watched = [mapping(mapping(run.facts(name).get(WATCHED)).get(key)) for name in run.told]
    last = max((one for one in watched if one), key=_advance, default={})
    begun = same(mapping(entry.get("event")).get("event_status"), STARTED)
    started = begun or any(one.get("started_seen") is True or one.get("state") == "started" for one in watched)
    gates = [mapping(mapping(run.facts(name).get(GATE)).get(str(entry.get("component")))) for name in run.told]
    asked = [mapping(one) for name in run.told for one in items(run.facts(name).get(NEWCOMERS)) if mapping(one).get("key") == key]
    return Seen(
        posts=tuple(sorted(posts, key=_when)),
        watched={**last, "started_seen": started},
        looks=tuple(one for one in watched if one),
        gates=tuple(one for one in gates if one),
        newcomers=tuple(asked),
    )


def _advance(watched: Mapping[str, Any]) -> Tuple[int, float]:
    state = watched.get("state")
    return (_VIEWS.index(state) if state in _VIEWS else -1), _or_zero(instant(watched.get("at")))


def _or_zero(value: Optional[float]) -> float:
    return 0.0 if value is None else value


def _when(told: Mapping[str, Any]) -> float:
    return _or_zero(instant(told.get("at")))


def _largest(own: Iterable[Mapping[str, Any]], key: str) -> Optional[int]:
    found = [given for given in (number(one.get(key)) for one in own) if given is not None]
    return int(max(found)) if found else None


def _earliest(values: Iterable[Any]) -> Optional[str]:
    found = [moment for moment in map(instant, values) if moment is not None]
    return format_instant(min(found)) if found else None


def _latest(values: Iterable[Any]) -> Optional[str]:
    found = [moment for moment in map(instant, values) if moment is not None]
    return format_instant(max(found)) if found else None


# --- the run in words ----------------------------------------------------------------------------------------------------


def _summary(run: _Run, events: Sequence[_Event], failures: Sequence[str], result: str) -> Iterator[str]:
    counts = {word: sum(1 for event in events if event.result == word) for word in WORST_FIRST}
    told = ", ".join("%d %s" % (count, word) for word, count in counts.items() if count) or _nothing(run)
    yield "%s: %s" % (result, told)
    for event in events:
        yield from event.lines()
    blind = say_blind(run.plan)
    if blind is not None and run.check:
        yield blind
    if failures:
        yield "What went wrong:"
        yield from ("  %s" % failure for failure in failures)
    for conflict in sentences(run.plan.get("conflicts")):
        yield "Look at the inventory: %s" % conflict
    due = instant(run.plan.get("due_next"))
    if due is not None:
        yield "Due next: %s, event %s" % (say_instant(due), text(run.plan.get("due_next_event")) or "?")


def _nothing(run: _Run) -> str:
    return "Azure announces nothing" if say_blind(run.plan) is None else "no event is known, and not every host could be asked"
