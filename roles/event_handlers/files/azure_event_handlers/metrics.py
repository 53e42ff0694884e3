# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What monitoring is told of this host, as text that Prometheus reads. Pure.

No id, name or text of the service becomes a label: whoever schedules events must not be able to fill a database. A figure that nobody
knows has no sample, so that no alarm mistakes it for a zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import overdue
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import KNOWN_TYPES, known_as
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import REFUSE
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._selection import TYPE_CHOICES

from . import VERSION
from . import records as r
from .configuration import Configuration
from .published import Status
from .reconcile import NOT_YET
from .records import Record, Step
from .store import Hold
from .terms import Moment

PREFIX = "azure_event_handlers_"
GAUGE, COUNTER = "gauge", "counter"

# The words by which the agent counts; any other one is counted as OTHER, so that there are never more series than these.
OTHER = "other"
GOOD, UNCHANGED, NO_ANSWER, BAD_STATUS, NO_DOCUMENT = "good", "unchanged", "no_answer", "bad_status", "no_document"
POLL_RESULTS = (GOOD, UNCHANGED, NO_ANSWER, BAD_STATUS, NO_DOCUMENT, OTHER)
# Who posted an approval: this host's agent, the driver that this host has committed to, or somebody else.
AGENT, DRIVER = "agent", "driver"
APPROVERS = (AGENT, DRIVER, OTHER)
# What the service said to a post, and that the event was then seen to start.
TAKEN, UNCLEAR, REFUSED, STARTED = "taken", "unclear", "refused", "started"
APPROVAL_RESULTS = (TAKEN, UNCLEAR, REFUSED, STARTED, OTHER)
# Why the last check said no, and what a person should know now: the words of guard and agent.
REFUSALS = ("shared", "scope", "policy", "type", "held", "commit_refused", "clock", "stale", OTHER)
_OF_EVENTS = ("overdue", "refused", "held", "freeze", "not_ready", "commit", "gate", "post")
_OF_THE_HOST = ("outage", "service", "identity", "configuration", "executor", "requests", "files")
PROBLEMS = (*_OF_EVENTS, *_OF_THE_HOST, OTHER)
# What is overdue: the start after NotBefore, the end after the start, the recovery after the end.
START, END, RECOVERY = "start", "end", "recovery"
OVERDUE = (START, END, RECOVERY)


@dataclass
class AgentCounters:
    """What only the agent knows. written_at: its clock when the text is made; passed: the one that nobody sets. problems: how many there
    are now, by word; all other counts only go up.
    """

    written_at: float
    passed: float = 0.0
    last_good_document: Optional[float] = None
    polls: Dict[str, int] = field(default_factory=dict)
    clock_difference: Optional[float] = None
    pauses: int = 0
    longest_pause: float = 0.0
    approvals: Dict[Tuple[str, str], int] = field(default_factory=dict)
    refusals: Dict[str, int] = field(default_factory=dict)
    competing_approver: int = 0
    problems: Dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """Everything that a figure is made of. status: None while nobody can read it."""

    status: Optional[Status]
    configuration: Configuration
    counters: AgentCounters
    version: str

    @property
    def now(self) -> float:
        return self.counters.written_at

    @property
    def open(self) -> Sequence[Record]:
        return [] if self.status is None else [record for record in self.status.records if record.is_open]


Labels = Mapping[str, str]
Samples = Iterator[Tuple[Labels, float]]


@dataclass(frozen=True)
class Metric:
    """name: without the prefix."""

    name: str
    kind: str
    help: str
    samples: Callable[[Seen], Samples]

    def lines(self, seen: Seen) -> Iterator[str]:
        name = PREFIX + self.name
        yield "# HELP %s %s" % (name, self.help)
        yield "# TYPE %s %s" % (name, self.kind)
        for labels, value in self.samples(seen):
            yield "%s%s %s" % (name, _say_labels(labels), say_number(value))


def render(status: Optional[Status], configuration: Configuration, counters: AgentCounters, *, version: str = VERSION) -> str:
    """All metrics. Seconds that go by are left to whoever reads: there are instants only."""
    seen = Seen(status, configuration, counters, version)
    return "".join("%s\n" % line for metric in METRICS for line in metric.lines(seen))


def say_number(value: float) -> str:
    """As Prometheus reads it: whole numbers without a point, and nothing rounded."""
    if isinstance(value, int):
        return "%d" % value
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "%d" % value if value.is_integer() else repr(value)


def escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _say_labels(labels: Labels) -> str:
    return "{%s}" % ",".join('%s="%s"' % (name, escaped(value)) for name, value in labels.items()) if labels else ""


# --- of the records ----------------------------------------------------------------------------------------------------


def _records(seen: Seen) -> Samples:
    if seen.status is None:
        return
    counts: Dict[Tuple[str, str], int] = {}
    for record in seen.status.records:
        place = (record.state, known_as(record.event.event_type, KNOWN_TYPES))
        counts[place] = counts.get(place, 0) + 1
    for state in r.STATES:
        for kind in TYPE_CHOICES:
            if (state, kind) in counts:
                yield {"state": state, "event_type": kind}, counts[state, kind]


def _open_records(seen: Seen) -> Samples:
    if seen.status is not None:
        yield {}, len(seen.open)


def _refused_records(seen: Seen) -> Samples:
    if seen.status is not None:
        yield {}, sum(1 for record in seen.open if record.decision == REFUSE and not record.gone)


def _next_event(seen: Seen) -> Samples:
    yield from _earliest(record.event.not_before for record in seen.open if record.view == r.SCHEDULED)


def _prepared_since(seen: Seen) -> Samples:
    """Of what is ours to undo: work that found everything done already has taken nothing out of service."""
    claimed = [step for record in seen.open for step in record.steps if step.claimed]
    yield from _earliest(step.prepare.ended if step.prepare.began is None else step.prepare.began for step in claimed)


def _overdue(seen: Seen) -> Samples:
    if seen.status is None:
        return
    late = {_overdue_kind(record, seen.now) for record in seen.open}
    for kind in OVERDUE:
        yield {"kind": kind}, int(kind in late)


def _overdue_kind(record: Record, now: float) -> Optional[str]:
    event = record.event
    if overdue(event, now=now, started_at=record.started_at, gone_at=record.gone_at) is None:
        return None
    if record.gone_at is not None:
        return RECOVERY
    return END if event.started else START


def _recover_failed(seen: Seen) -> Samples:
    if seen.status is not None:
        yield {}, sum(1 for record in seen.open for step in record.steps if _has_failed_to_recover(step))


def _has_failed_to_recover(step: Step) -> bool:
    """One that says "not yet" has not failed; if it never ends, that is overdue."""
    return step.recover.tries > 0 and not step.recover.over and step.recover.exit != NOT_YET


def _lease_until(seen: Seen) -> Samples:
    """A lease no longer counts once there is no return."""
    held = [record for record in seen.open if record.state in (r.PREPARING, r.PREPARED)]
    moment = Moment(seen.now, seen.counters.passed, "" if seen.status is None else seen.status.boot)
    yield from _earliest(None if record.driver is None else seen.now + record.driver.lease.left(moment) for record in held)


# --- of the host -------------------------------------------------------------------------------------------------------


def _held(seen: Seen) -> Samples:
    if seen.status is not None:
        yield {}, int(_hold_in_force(seen.status, seen.now) is not None)


def _hold_until(seen: Seen) -> Samples:
    hold = None if seen.status is None else _hold_in_force(seen.status, seen.now)
    yield from _known(None if hold is None else hold.until)


def _hold_in_force(status: Status, now: float) -> Optional[Hold]:
    """It ends by itself, without a new status. One that was over when it was published cannot be read, and is in force."""
    hold = status.hold
    return hold if hold is not None and (now < hold.until or hold.until <= status.written_at) else None


def _broken(seen: Seen) -> Samples:
    if seen.status is not None:
        yield {}, len(seen.status.broken)


def _problems(seen: Seen) -> Samples:
    if seen.status is not None:
        yield {}, len(seen.status.problems)


def _status_written(seen: Seen) -> Samples:
    yield from _known(None if seen.status is None else seen.status.written_at)


# --- of the agent ------------------------------------------------------------------------------------------------------


def _written(seen: Seen) -> Samples:
    yield {}, seen.now


def _build(seen: Seen) -> Samples:
    yield {"version": seen.version, "mode": seen.configuration.mode}, 1


def _last_good_document(seen: Seen) -> Samples:
    yield from _known(seen.counters.last_good_document)


def _polls(seen: Seen) -> Samples:
    for word, count in _counted(seen.counters.polls, POLL_RESULTS):
        yield {"result": word}, count


def _clock_difference(seen: Seen) -> Samples:
    yield from _known(seen.counters.clock_difference)


def _pauses(seen: Seen) -> Samples:
    yield {}, seen.counters.pauses


def _longest_pause(seen: Seen) -> Samples:
    yield {}, seen.counters.longest_pause


def _approvals(seen: Seen) -> Samples:
    """Only those that have happened: there are many pairs, and most of them never do."""
    counts: Dict[Tuple[str, str], int] = {}
    for (by, result), count in seen.counters.approvals.items():
        pair = (_one_of(by, APPROVERS), _one_of(result, APPROVAL_RESULTS))
        counts[pair] = counts.get(pair, 0) + count
    for by, result in sorted(counts):
        yield {"by": by, "result": result}, counts[by, result]


def _refusals(seen: Seen) -> Samples:
    for word, count in _counted(seen.counters.refusals, REFUSALS):
        yield {"reason": word}, count


def _agent_problems(seen: Seen) -> Samples:
    for word, count in _counted(seen.counters.problems, PROBLEMS):
        yield {"problem": word}, count


def _competing(seen: Seen) -> Samples:
    yield {}, seen.counters.competing_approver


# --- small ones --------------------------------------------------------------------------------------------------------


def _known(value: Optional[float]) -> Samples:
    if value is not None:
        yield {}, value


def _earliest(values: Iterator[Optional[float]]) -> Samples:
    yield from _known(min((value for value in values if value is not None), default=None))


def _counted(counts: Mapping[str, int], known: Sequence[str]) -> List[Tuple[str, int]]:
    """Each known word, from zero on: a counter that appears with its first event hides it from `increase`."""
    found = dict.fromkeys(known, 0)
    for word, count in counts.items():
        found[_one_of(word, known)] += count
    return list(found.items())


def _one_of(word: str, known: Sequence[str]) -> str:
    return word if word in known else OTHER


# The order in which they are written, and in which the documentation has them.
METRICS: Tuple[Metric, ...] = (
    Metric("records", GAUGE, "Records of events by state and type; what does not occur is left out.", _records),
    Metric("open_records", GAUGE, "Events for which something is still to be done or to be seen.", _open_records),
    Metric("refused_records", GAUGE, "Open events about which the policy refuses to do anything.", _refused_records),
    Metric("next_event_timestamp_seconds", GAUGE, "The earliest NotBefore of a scheduled event of this VM.", _next_event),
    Metric("prepared_since_timestamp_seconds", GAUGE, "Since when handlers have this host out of service for an event.", _prepared_since),
    Metric("overdue", GAUGE, "Whether the start, the end or the recovery of an event is overdue.", _overdue),
    Metric("recover_failed_handlers", GAUGE, "Handlers whose recovery has failed and is tried again.", _recover_failed),
    Metric("lease_until_timestamp_seconds", GAUGE, "When the first driver of an event is given up, unless it is heard of.", _lease_until),
    Metric("held", GAUGE, "Whether a person holds this host: nobody prepares, commits or approves.", _held),
    Metric("hold_until_timestamp_seconds", GAUGE, "When the hold ends by itself.", _hold_until),
    Metric("broken_records", GAUGE, "Records that cannot be read; nothing runs for their events.", _broken),
    Metric("problems", GAUGE, "Things that the executor cannot do now.", _problems),
    Metric("status_written_timestamp_seconds", GAUGE, "When the executor last published its state.", _status_written),
    Metric("written_timestamp_seconds", GAUGE, "When the agent wrote this.", _written),
    Metric("build_info", GAUGE, "The version, and the mode of the agent.", _build),
    Metric("last_good_document_timestamp_seconds", GAUGE, "When the metadata service last gave a good answer.", _last_good_document),
    Metric("polls_total", COUNTER, "Questions to the metadata service by what came of them.", _polls),
    Metric("clock_difference_seconds", GAUGE, "What the metadata service's clock is ahead of this host's.", _clock_difference),
    Metric("pauses_total", COUNTER, "Times that this machine stood still while the agent ran.", _pauses),
    Metric("longest_pause_seconds", GAUGE, "The longest of these pauses.", _longest_pause),
    Metric("approvals_total", COUNTER, "Approvals of events of this VM by who posted them and what came of it.", _approvals),
    Metric("gate_refusals_total", COUNTER, "Preparations and approvals that the last check has refused, by reason.", _refusals),
    Metric("agent_problems", GAUGE, "Things that the agent wants a person to know now, by kind.", _agent_problems),
    Metric("competing_approvers_total", COUNTER, "Events that were approved by somebody whom this host does not know.", _competing),
)
