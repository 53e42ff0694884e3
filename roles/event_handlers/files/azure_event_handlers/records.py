# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of one event on this host, and what was done for it: a value that is written whole before each effect. Pure."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event, fold, same_name

from .errors import BrokenRecordError
from .terms import Moment, Term

# Of the file. A newer one is not touched by an older program; one of before is read, as a host may be upgraded while it is out of service.
FORMAT = 2
BEFORE = 1

SEEN, PREPARING, PREPARED, COMMITTED, STAYING = "SEEN", "PREPARING", "PREPARED", "COMMITTED", "STAYING"
IMPACT, BACKING_OUT, BACKED_OUT, RECOVERING = "IMPACT", "BACKING_OUT", "BACKED_OUT", "RECOVERING"
CLOSED, FOREIGN = "CLOSED", "FOREIGN"
STATES = (SEEN, PREPARING, PREPARED, COMMITTED, STAYING, IMPACT, BACKING_OUT, BACKED_OUT, RECOVERING, CLOSED, FOREIGN)
# Nothing more is done for these by itself.
OVER = frozenset((CLOSED, FOREIGN))

# How the event was last shown to this host; gone by two good answers, or without this VM's name.
SCHEDULED, STARTED, GONE, NOT_NAMED = "scheduled", "started", "gone", "not_named"
VIEWS = (SCHEDULED, STARTED, GONE, NOT_NAMED)

# What a handler can be asked to do. CHECK is `inspect` once more, at commit.
INSPECT, PREPARE, CHECK, RECOVER = "inspect", "prepare", "check", "recover"
PHASES = (INSPECT, PREPARE, CHECK, RECOVER)

# Of one piece of work: nothing done yet, about to be done or under way, over.
IDLE, INTENDED, ENDED = "idle", "intended", "ended"
PROGRESS = (IDLE, INTENDED, ENDED)
# How it ended. UNCHANGED: it was so before, and is not ours to undo.
DONE, UNCHANGED, FAILED, OUT_OF_TIME, STOPPED = "done", "unchanged", "failed", "out_of_time", "stopped"
OUTCOMES = (DONE, UNCHANGED, FAILED, OUT_OF_TIME, STOPPED)

# What became of an approval, in its driver's word.
TAKEN, REFUSED, UNCLEAR, ALREADY_STARTED, NO_EVENT = "taken", "refused", "unclear", "already_started", "gone"
POST_OUTCOMES = (TAKEN, REFUSED, UNCLEAR, ALREADY_STARTED, NO_EVENT)
# After one of these nobody can say any more that surely nothing was posted.
MAYBE_POSTED = frozenset((TAKEN, UNCLEAR, ALREADY_STARTED))

# Seconds between readings of two clocks, one after the other.
_A_LOOK = 1.0


@dataclass(frozen=True)
class Work:
    """One phase of one handler.

    tries: how often it ended without being over (75, or a recovery that failed). interrupted: how often the machine stopped while it
    ran. boot: the boot in which it was last intended. not_before: when it is tried again.
    """

    progress: str = IDLE
    outcome: Optional[str] = None
    exit: Optional[int] = None
    tries: int = 0
    interrupted: int = 0
    boot: str = ""
    not_before: float = 0.0
    began: Optional[float] = None
    ended: Optional[float] = None
    tail: str = ""

    @property
    def over(self) -> bool:
        return self.progress == ENDED

    @property
    def begun(self) -> bool:
        """Whether it may have had an effect."""
        return self.progress != IDLE or self.tries > 0


@dataclass(frozen=True)
class Step:
    """One handler of this event, as it was configured when preparation began. file: a copy; limit: seconds for one run; environment:
    NAME=value each; properties: of its unit.
    """

    handler: str
    file: str
    limit: float
    required: bool
    environment: Tuple[str, ...] = ()
    properties: Tuple[str, ...] = ()
    inspect: Work = Work()
    prepare: Work = Work()
    check: Work = Work()
    recover: Work = Work()

    def work(self, phase: str) -> Work:
        found: Work = getattr(self, phase)
        return found

    def having(self, phase: str, work: Work) -> Step:
        changes: Dict[str, Any] = {phase: work}
        return dataclasses.replace(self, **changes)

    @property
    def claimed(self) -> bool:
        """Whether there is something of ours to undo."""
        if self.recover.over:
            return False
        if self.prepare.over and self.prepare.outcome == UNCHANGED:
            return False
        return self.prepare.begun

    @property
    def ready(self) -> bool:
        return self.prepare.over and self.prepare.outcome in (DONE, UNCHANGED) and not self.recover.begun


@dataclass(frozen=True)
class Who:
    """A driver, in one of its runs."""

    name: str
    run: str

    def __str__(self) -> str:
        return "%s (run %s)" % (self.name, self.run)


@dataclass(frozen=True)
class Driver:
    """Who has this record in hand, and how long it is his without a new word."""

    name: str
    run: str
    lease: Term

    @property
    def who(self) -> Who:
        return Who(self.name, self.run)

    def is_same(self, other: Driver) -> bool:
        return self.who == other.who


@dataclass(frozen=True)
class Post:
    """The last approval that a driver has spoken of: by it, in which run, from which VM, since when it may be on its way.

    outcome: None while nobody has said what became of it. maybe: of this one or an earlier one it was said that it may have been taken.
    """

    driver: str
    run: str
    witness: str
    sent_at: float
    outcome: Optional[str] = None
    told_at: Optional[float] = None
    maybe: bool = False

    @property
    def who(self) -> Who:
        return Who(self.driver, self.run)


@dataclass(frozen=True)
class Record:
    """One occurrence of one event on this VM.

    given_to: to whom a committed host has given its word, the last one at the end; each of them may have posted. committing: its word is
    asked for, for the first time or once more, and the handlers look.
    """

    event: Event
    occurrence: int
    vm_id: str
    state: str = SEEN
    view: str = SCHEDULED
    times: Optional[Times] = None
    driver: Optional[Driver] = None
    committing: bool = False
    commit_refused: Optional[str] = None
    given_to: Tuple[Who, ...] = ()
    post: Optional[Post] = None
    attempt: int = 0
    deadline: Optional[Term] = None
    steps: Tuple[Step, ...] = ()
    started_seen: bool = False
    # Whether it was out of service when the event struck; None before, and when it did not.
    hit_ready: Optional[bool] = None
    reason: str = ""
    # What the policy said, in its word; whether it was seen before it started.
    decision: Optional[str] = None
    noticed: bool = True
    result: Optional[str] = None
    first_seen: float = 0.0
    last_seen: float = 0.0
    # When it was first seen so, and when it was sure to be gone.
    started_at: Optional[float] = None
    gone_at: Optional[float] = None
    changed_at: float = 0.0

    @property
    def key(self) -> str:
        return key_of(self.event.event_id, self.occurrence)

    @property
    def is_open(self) -> bool:
        return self.state not in OVER

    @property
    def gone(self) -> bool:
        return self.view in (GONE, NOT_NAMED)

    @property
    def ready(self) -> bool:
        return all(step.ready for step in self.steps if step.required)

    def was_seen_since(self, booted_at: float) -> bool:
        """Whether its event was, in the boot that began then; the two clocks are read one after the other."""
        return self.last_seen > booted_at - _A_LOOK

    @property
    def word_of(self) -> Optional[Who]:
        """The driver, if the last look at this host was answered to him with yes: his approval is covered by its word (W-41)."""
        if self.state != COMMITTED or self.committing or self.commit_refused is not None or self.driver is None:
            return None
        return self.driver.who if self.given_to[-1:] == (self.driver.who,) else None

    def step_of(self, handler: str) -> Optional[Step]:
        return next((step for step in self.steps if step.handler == handler), None)

    def claims(self, handler: str) -> bool:
        step = self.step_of(handler)
        return self.is_open and step is not None and step.claimed

    def is_prepared_for(self, handler: str) -> bool:
        """Whether nothing is left to do for this handler before the event."""
        step = self.step_of(handler)
        return step is None or step.prepare.over

    def counted_in(self, now: Moment) -> Record:
        """What is left of its terms after a boot, by the clock of this one."""
        driver = self.driver and dataclasses.replace(self.driver, lease=self.driver.lease.counted_in(now))
        return dataclasses.replace(self, driver=driver, deadline=self.deadline and self.deadline.counted_in(now))

    def said_at(self, now: Moment) -> Record:
        """With the ends of its terms as the wall clock, which may have been set, will show them."""
        driver = self.driver and dataclasses.replace(self.driver, lease=self.driver.lease.said_at(now))
        return dataclasses.replace(self, driver=driver, deadline=self.deadline and self.deadline.said_at(now))

    def having(self, index: int, phase: str, work: Work) -> Record:
        steps = list(self.steps)
        steps[index] = steps[index].having(phase, work)
        return dataclasses.replace(self, steps=tuple(steps))


def last_of(records: Iterable[Record], event_id: str) -> Optional[Record]:
    """The last occurrence of this event."""
    same = [record for record in records if same_name(record.event.event_id, event_id)]
    return max(same, key=lambda record: record.occurrence, default=None)


def key_of(event_id: str, occurrence: int) -> str:
    """A name for files and units. What the service sends never becomes part of one (W-58)."""
    return hashlib.sha256(("%s %d" % (fold(event_id), occurrence)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def unit_of(record: Record, index: int, phase: str) -> str:
    """The same name for the same try, so that within one boot it cannot be begun twice."""
    work = record.steps[index].work(phase)
    return "azure-event-handler-%s-%d-%d-%s-%d-%d" % (record.key, record.attempt, index, phase, work.tries, work.interrupted)


# --- as JSON -----------------------------------------------------------------------------------------------------------


def to_json(record: Record) -> Dict[str, Any]:
    return {"format": FORMAT, **dataclasses.asdict(record)}


def parsed(body: bytes) -> Any:
    """The JSON of a file, or BrokenRecordError."""
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BrokenRecordError("record: it is not JSON (%s)" % type(error).__name__) from error


def from_json(data: Any) -> Record:
    """BrokenRecordError for whatever this program has not written so."""
    values = _object(data, "record")
    found = values.pop("format", None)
    if isinstance(found, bool) or found not in (BEFORE, FORMAT):
        raise BrokenRecordError("record: it has not format %d, which is what this program reads" % FORMAT)
    if found == BEFORE:
        values = _of_before(values)
    values["event"] = made(Event, values.get("event"), "event")
    values["times"] = None if values.get("times") is None else made(Times, values["times"], "times")
    values["driver"] = None if values.get("driver") is None else _driver(values["driver"])
    values["deadline"] = None if values.get("deadline") is None else made(Term, values["deadline"], "deadline")
    values["given_to"] = tuple(made(Who, who, "given_to") for who in _list(values.get("given_to"), "given_to"))
    values["post"] = None if values.get("post") is None else _post(values["post"])
    values["steps"] = tuple(_step(step) for step in _list(values.get("steps"), "steps"))
    record: Record = made(Record, values, "record")
    _one_of("state", record.state, STATES)
    _one_of("view", record.view, VIEWS)
    return record


def _of_before(values: Dict[str, Any]) -> Dict[str, Any]:
    """Format 1 had the ends of its terms by the wall clock alone, and the word of a host had one driver."""
    if "given_to" in values or "post" in values:
        raise BrokenRecordError("record: it has keys that format %d has not" % BEFORE)
    given_to = []
    if values.get("driver") is not None:
        who = _object(values["driver"], "driver")
        lease = _term_of_before(who.pop("lease_until", None), "driver.lease_until")
        values["driver"] = {**who, "lease": lease}
        given_to = [who] if values.get("state") == COMMITTED else []
    if values.get("deadline") is not None:
        values["deadline"] = _term_of_before(values["deadline"], "record.deadline")
    return {**values, "given_to": given_to, "post": None}


def _term_of_before(until: Any, what: str) -> Dict[str, Any]:
    """Counted by the wall clock until the executor counts it on."""
    return dataclasses.asdict(Term(_checked(what, until, "float")))


def _driver(data: Any) -> Driver:
    values = _object(data, "driver")
    values["lease"] = made(Term, values.get("lease"), "lease")
    driver: Driver = made(Driver, values, "driver")
    return driver


def _post(data: Any) -> Post:
    post: Post = made(Post, data, "post")
    if post.outcome is not None:
        _one_of("outcome", post.outcome, POST_OUTCOMES)
    return post


def _step(data: Any) -> Step:
    values = _object(data, "step")
    for phase in PHASES:
        work: Work = made(Work, values.get(phase), phase)
        _one_of("progress", work.progress, PROGRESS)
        if work.outcome is not None:
            _one_of("outcome", work.outcome, OUTCOMES)
        values[phase] = work
    step: Step = made(Step, values, "step")
    return step


def _list(data: Any, what: str) -> List[Any]:
    if not isinstance(data, list):
        raise BrokenRecordError("%s: not a list" % what)
    return data


def _object(data: Any, what: str) -> Dict[str, Any]:
    if not isinstance(data, dict):
        raise BrokenRecordError("%s: not an object" % what)
    return dict(data)


# The words in which dataclasses name the types of their fields, and what may stand there in JSON.
_NUMBER = (int, float)
# What a float holds exactly; a larger one was not written here, and counting with it can fail.
_LARGEST_NUMBER = 2**53
_KINDS: Mapping[str, Tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": _NUMBER,
    "Optional[str]": (str, type(None)),
    "Optional[bool]": (bool, type(None)),
    "Optional[int]": (int, type(None)),
    "Optional[float]": (*_NUMBER, type(None)),
}


@functools.lru_cache(maxsize=None)
def _fields(kind: Any) -> Mapping[str, str]:
    """The names of its fields, and their types in words."""
    return {field.name: str(field.type) for field in dataclasses.fields(kind)}


def made(kind: Any, data: Any, what: str) -> Any:
    """The dataclass of these values; every field is there and of its type, and no other."""
    values = _object(data, what)
    fields = _fields(kind)
    if set(values) != set(fields):
        raise BrokenRecordError("%s: has the keys %s instead of %s" % (what, ", ".join(sorted(values)), ", ".join(sorted(fields))))
    for name, words in fields.items():
        values[name] = _checked(what + "." + name, values[name], words)
    return kind(**values)


def _checked(what: str, value: Any, words: str) -> Any:
    if words == "Tuple[str, ...]":
        if not isinstance(value, (list, tuple)) or not all(isinstance(entry, str) for entry in value):
            raise BrokenRecordError("%s: not a list of texts" % what)
        return tuple(value)
    kinds = _KINDS.get(words)
    if isinstance(value, float) and not math.isfinite(value):
        raise BrokenRecordError("%s: %r is not a number to count with" % (what, value))
    if isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
        raise BrokenRecordError("%s: not a number to count with" % what)
    if kinds is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        raise BrokenRecordError("%s: %r is not what belongs there" % (what, value))
    return value


def _one_of(what: str, value: str, known: Tuple[str, ...]) -> None:
    if value not in known:
        raise BrokenRecordError("%s: %r is none of %s" % (what, value, ", ".join(known)))
