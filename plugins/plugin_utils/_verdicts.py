# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run does about each event, before it is known how many it can take on at once. Pure.

Private to the collection. When and what is `_decision`'s matter; here is what only a run over many hosts knows: who is not among them,
who cannot get ready, how many are prepared at a time, and what has to wait for others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from ..module_utils._decision import (
    _LARGEST_CLOCK_DIFFERENCE,
    JOB_STARTUP,
    SHORTEST_IN_A_PLAYBOOK,
    WATCH,
    Decision,
    Facts,
    controller_clock_error,
    decide,
    due_now,
)
from ..module_utils._document import DELETIONS, FREEZE, KNOWN_TYPES, fold, known_as, same_name
from ..module_utils._policy import BEFORE, IGNORE, PREPARING, REFUSE, WITHOUT_APPROVAL, Policy, Rule
from ..module_utils._time import MINUTE, say_duration
from ..module_utils._windows import say_instant
from ._fleet import Host, Record, Status
from ._options import Options
from ._sightings import Sighting

WAVES, HELD, REFUSED, RUNNING, LEFT = "waves", "held", "refused", "running", "left"
PLACES = (WAVES, HELD, REFUSED, RUNNING, LEFT)
# What is in another place is neither prepared nor approved, whatever its rule says.
_TAKEN_ON = (WAVES, HELD)

# How long an event keeps its VMs, from its start until they are back: what is usual, for nobody announces it well (C-17).
_OUTAGE_OF_A_FREEZE = 5.0 * MINUTE
_OUTAGE = 10.0 * MINUTE
_RETURN = 5.0 * MINUTE
# When to look again at what waits for something that nobody can foresee.
RETRY = 10.0 * MINUTE
# States of a host's record. What has been hit, or is put back after it, can only be watched.
_HIT = ("IMPACT", "RECOVERING")
_READY_OR_ON_THE_WAY = ("PREPARING", "PREPARED", "COMMITTED")
_STAYING, _BACKED_OUT, _FOREIGN = "STAYING", "BACKED_OUT", "FOREIGN"
# A host does not try more often to get ready for one event.
_MOST_ATTEMPTS = 2
_AGENT = "agent"
_INSTALL = "ansible-playbook cloud_maintenance.azure.install_event_handlers -e event_handlers_hosts=%s"


@dataclass(frozen=True)
class Facing:
    """What a run brings along: its options, the moment, and how many hosts it works on at a time."""

    options: Options
    now: float
    forks: int

    def rounds(self, hosts: int) -> int:
        """As often as hosts have to wait for others before it is their turn."""
        return max(1, -(-hosts // self.forks))


@dataclass(frozen=True)
class Verdict:
    """What is done about one event. place: WAVES stands for due; a capacity that is too small can still change it.

    start: when it should begin. floor: before which it must not. latest: after which it must not, for one round of hosts after the
    other. budget: of one round, B. due_at: when a run takes it on, if it waits.
    """

    sighting: Sighting
    decision: Decision
    place: str
    reason: str
    budget: float = 0.0
    start: float = 0.0
    floor: float = 0.0
    latest: float = math.inf
    due_at: Optional[float] = None
    # The approval is left out because more hosts are hit together than may be out of service.
    over_capacity: bool = False

    @property
    def action(self) -> str:
        return WATCH if self.place == RUNNING else self.decision.effective_action

    @property
    def approves(self) -> bool:
        return self.place in _TAKEN_ON and self.decision.approves

    @property
    def prepares(self) -> bool:
        return self.place in _TAKEN_ON and self.action in PREPARING

    @property
    def key(self) -> Tuple[str, str, str]:
        return self.sighting.key

    @property
    def hosts(self) -> Tuple[Host, ...]:
        return self.sighting.hosts

    @property
    def not_before(self) -> Optional[float]:
        return self.sighting.event.not_before

    @property
    def last_safe_start(self) -> Optional[float]:
        return self.decision.times.last_safe_start

    def must_begin_by(self, rounds: int) -> float:
        """The last moment for a wave that prepares so many rounds of hosts, one after the other."""
        return min(self.latest, self.ready_until - self.budget * rounds)

    @property
    def ready_until(self) -> float:
        """When its hosts have to be ready. Whoever comes late has what is left, and nothing is approved."""
        opening, ready_by = self.decision.opening, self.decision.times.ready_by
        if self.decision.late:
            return math.inf
        return min(math.inf if opening is None else opening.end, math.inf if ready_by is None else ready_by)

    def time_left(self, begin: float) -> float:
        """What one host may take. Whoever comes late has what is left."""
        return min(self.budget, self.decision.times.left(begin)) if self.decision.late else self.budget

    def back_at(self, ready: float, options: Options) -> float:
        """When its hosts are in service again, if they are ready at this moment."""
        struck = ready + self.decision.times.approve_reserve if self.approves else max(ready, self.not_before or ready)
        return struck + outage(self.sighting) + _RETURN + options.settings.recover_budget + options.settle

    def until_done(self, options: Options, rounds: int) -> float:
        """How long it keeps its hosts when it is approved."""
        return self.back_at(self.budget * rounds, options)


def outage(sighting: Sighting) -> float:
    usual = _OUTAGE_OF_A_FREEZE if same_name(sighting.event.event_type, FREEZE) else _OUTAGE
    return max(usual, float(sighting.event.duration_seconds or 0))


def verdicts(found: Sequence[Sighting], facing: Facing) -> Tuple[Verdict, ...]:
    """One for each event; those that are due have the place WAVES, whatever their hosts say of themselves."""
    return tuple(_verdict(sighting, facing) for sighting in found)


def _verdict(sighting: Sighting, facing: Facing) -> Verdict:
    decision = _decided(sighting, facing, facts_of(sighting.hosts, sighting.event.event_type))
    draft = Verdict(sighting, decision, LEFT, decision.reason)
    if not sighting.hosts:
        return replace(draft, reason=_names_nobody(sighting))
    if sighting.event.started or _is_hit(sighting):
        return replace(draft, place=RUNNING, reason=_say_running(sighting, decision))
    if decision.effective_action == IGNORE:
        return draft
    if decision.effective_action == REFUSE:
        return replace(draft, place=REFUSED, reason=decision.reason + _hint(sighting, decision))
    obstacle = _obstacle(sighting, decision, facing)
    if obstacle is not None:
        return refused(draft, obstacle)
    return _timed(draft, facing)


def refused(verdict: Verdict, why: str) -> Verdict:
    return replace(verdict, place=REFUSED, reason="refused: %s; %s" % (why, azure_starts(verdict)), due_at=None)


def held(verdict: Verdict, why: str, *, until: Optional[float], due_at: float) -> Verdict:
    """Not now, and a later run still comes in time."""
    begin = "held" if until is None else "held until %s" % say_instant(until)
    return replace(verdict, place=HELD, reason="%s: %s; %s" % (begin, why, _last_start(verdict)), due_at=due_at)


def azure_starts(verdict: Verdict) -> str:
    not_before = verdict.not_before
    return "Azure can start at any moment" if not_before is None else "Azure starts at %s" % say_instant(not_before)


def _last_start(verdict: Verdict) -> str:
    last = verdict.last_safe_start
    return azure_starts(verdict) if last is None else "last safe start %s" % say_instant(last)


def next_run_is_in_time(verdict: Verdict, facing: Facing) -> bool:
    """Whether whoever comes next can still do it."""
    return not due_now(replace(verdict.decision, start_at=math.inf), now=facing.now, period=facing.options.period)


def next_run_at(verdict: Verdict, facing: Facing) -> Optional[float]:
    """The last moment for it."""
    last = verdict.last_safe_start
    return None if last is None else last - facing.options.period - JOB_STARTUP


def by_next_run(moment: float, verdict: Verdict, facing: Facing) -> float:
    """This moment, or the last one for the next run if that is earlier."""
    last = next_run_at(verdict, facing)
    return moment if last is None else min(moment, last)


# --- what is decided -----------------------------------------------------------------------------------------------------


def facts_of(hosts: Sequence[Host], event_type: str) -> Facts:
    """E from the clocks that were compared, B from the handlers that are required."""
    statuses = [host.status for host in hosts if host.status is not None]
    differences = [abs(status.clock_difference) for status in statuses if status.clock_difference is not None]
    sums = [_sum_of_limits(status, event_type) for status in statuses]
    return Facts(controller_clock_error(max(differences, default=None)), max(sums, default=0.0) or None)


def _sum_of_limits(status: Status, event_type: str) -> float:
    return sum(handler.limit for handler in status.handlers or () if handler.required and handler.applies_to(event_type))


def _decided(sighting: Sighting, facing: Facing, facts: Facts) -> Decision:
    """The decision for so many hosts as are prepared one after the other; its policy is known by the hash of the one that is configured."""
    options, rounds = facing.options, facing.rounds(len(sighting.hosts))
    policy, settings = options.policy, options.settings
    if rounds > 1:
        policy = Policy(tuple(_stretched(rule, rounds) for rule in policy.rules))
        settings = replace(settings, prepare_budget=settings.prepare_budget * rounds)
        facts = replace(facts, handlers_budget=(facts.handlers_budget or 0.0) * rounds or None)
    decision = decide(sighting.event, policy=policy, facts=facts, now=facing.now, settings=settings)
    return replace(decision, policy_hash=options.policy_hash)


def _stretched(rule: Rule, rounds: int) -> Rule:
    return rule if rule.prepare_budget is None else replace(rule, prepare_budget=rule.prepare_budget * rounds)


def _names_nobody(sighting: Sighting) -> str:
    if not sighting.unmanaged:
        return "left alone: it names no VM"
    outside = " (%s of the inventory, not in this run)" % ", ".join(sighting.known_outside) if sighting.known_outside else ""
    return "left alone: it names no host of this run, but %s%s" % (", ".join(sighting.unmanaged), outside)


def _is_hit(sighting: Sighting) -> bool:
    """A host that has seen it start knows better than a document that is a moment old."""
    return any(record.state in _HIT for _host, record in _records(sighting))


def _records(sighting: Sighting) -> Iterator[Tuple[Host, Record]]:
    for host in sighting.hosts:
        record = None if host.status is None else host.status.record_of(sighting.event.event_id)
        if record is not None:
            yield host, record


def _say_running(sighting: Sighting, decision: Decision) -> str:
    if sighting.event.started:
        return decision.reason
    seen = ", ".join("%s is %s" % (host.name, record.state) for host, record in _records(sighting) if record.state in _HIT)
    return "watched until it is gone: %s" % seen


def _hint(sighting: Sighting, decision: Decision) -> str:
    """W-26: what a run is too slow for, a host can still do. W-34: an hour that is not there may be one of the clock."""
    if not decision.late:
        return ""
    if known_as(sighting.event.event_type, KNOWN_TYPES) in DELETIONS:
        return "; handlers of the host itself are quicker: event_handlers_mode: prepare"
    wrong = [_say_clock(host, host.status) for host in sighting.hosts if host.status is not None and _is_far_off(host.status)]
    return "; %s" % ", ".join(wrong) if wrong else ""


def _is_far_off(status: Status) -> bool:
    return status.clock_difference is not None and abs(status.clock_difference) > _LARGEST_CLOCK_DIFFERENCE


def _say_clock(host: Host, status: Status) -> str:
    return "the clock of %s differs by %s: set it right" % (host.name, say_duration(status.clock_difference or 0.0))


# --- what is in the way --------------------------------------------------------------------------------------------------


def _obstacle(sighting: Sighting, decision: Decision, facing: Facing) -> Optional[str]:
    """What holds whenever it would begin."""
    if sighting.doubles:
        return "%s are one VM to Azure: correct the inventory, or leave all but one out" % " and ".join(
            ", ".join(names) for names in sighting.doubles
        )
    conflicts = [host.conflict for host in sighting.hosts if host.conflict is not None]
    if conflicts:
        return conflicts[0]
    strangers = [name for name in sighting.unmanaged if fold(name) not in facing.options.allow_unmanaged]
    if strangers and decision.approves:
        return _say_strangers(sighting, strangers)
    return None


def _say_strangers(sighting: Sighting, strangers: Sequence[str]) -> str:
    """W-17, W-53: an approval holds for every VM of the event (C-23)."""
    which = "it also hits %s, no host of this run" % ", ".join(strangers)
    if sighting.known_outside:
        which += " (%s of the inventory: take it into the run)" % ", ".join(sighting.known_outside)
    return "%s; add it to the run, or name it in rolling_maintenance_allow_unmanaged to have it hit unprepared" % which


def host_obstacles(verdict: Verdict, facing: Facing) -> Verdict:
    """The verdict on a due event, after what its hosts say of themselves."""
    waits: List[Tuple[float, str]] = []
    for host in verdict.hosts:
        status = host.status
        if status is None or not status.ok:
            return refused(verdict, _silence(host))
        why = _no_of(host, status, verdict, facing)
        if why is not None:
            return refused(verdict, why)
        waits += _waits(host, status, verdict, facing)
    if not waits:
        return verdict
    limit = verdict.last_safe_start
    # The agent prepares it by itself, however long that takes.
    hopeless = [(until, why) for until, why in waits if limit is not None and until > limit and _AGENT_HAS_IT not in why]
    until, why = max(hopeless or waits)
    if hopeless:
        return refused(verdict, "%s until %s, too late" % (why, say_instant(until)))
    return held(verdict, why, until=until, due_at=until)


def _silence(host: Host) -> str:
    status = host.status
    if status is None:
        return "nobody has asked %s for its state" % host.name
    if not status.reachable:
        return "%s cannot be reached" % host.name
    if not status.installed:
        return "%s has no event handlers: install them with `%s`" % (host.name, _INSTALL % host.name)
    return "%s does not say its state: %s" % (host.name, status.why.rstrip("."))


def _no_of(host: Host, status: Status, verdict: Verdict, facing: Facing) -> Optional[str]:
    record = status.record_of(verdict.sighting.event.event_id)
    return (
        _stranger(host, status, record)
        or (None if record is None else _spoiled(host, record))
        or (None if record is None else _in_hands(host, record, facing))
        or _empty(host, status, record, verdict)
        or _wrong_clock(host, status, verdict)
    )


def _stranger(host: Host, status: Status, record: Optional[Record]) -> Optional[str]:
    """W-28, W-29: a VM that was made again, or from an image, is not the one that got ready."""
    if record is not None and record.state == _FOREIGN:
        return "the record on %s belongs to another VM" % host.name
    if host.vm_id and status.vm_id and fold(host.vm_id) != fold(status.vm_id):
        return "%s is the VM with the id %s, and %s was expected: refresh the inventory" % (host.name, status.vm_id, host.vm_id)
    return None


def _spoiled(host: Host, record: Record) -> Optional[str]:
    if record.state == _STAYING:
        return "%s was not ready in time, and stays out of service until the event is gone" % host.name
    if record.state == _BACKED_OUT and record.attempt >= _MOST_ATTEMPTS:
        return "%s has tried %d times to get ready for it, and does not try again (%s)" % (host.name, record.attempt, record.reason)
    return None


def _in_hands(host: Host, record: Record, facing: Facing) -> Optional[str]:
    """W-38: the other run goes on with it. The agent is a driver of another kind, see `_waits`."""
    driver = record.driver
    if driver is None or driver.lease_until < facing.now or driver.name == _AGENT:
        return None
    if (driver.name, driver.run) == (facing.options.driver, facing.options.run_id):
        return None
    return "%s is in the hands of %s (run %s) until %s" % (host.name, driver.name, driver.run, say_instant(driver.lease_until))


def _empty(host: Host, status: Status, record: Optional[Record], verdict: Verdict) -> Optional[str]:
    """W-50: whoever has nothing to do is not ready by that."""
    if not verdict.prepares or status.handlers is None or status.allow_empty_prepare:
        return None
    if record is not None and record.state in _READY_OR_ON_THE_WAY:
        return None
    event_type = verdict.sighting.event.event_type
    if any(handler.applies_to(event_type) for handler in status.handlers):
        return None
    if not status.handlers and status.problems:
        return "%s has no handler that works: %s" % (host.name, status.problems[0].rstrip("."))
    words = "%s has no handler for %s: install one with `%s`, or set event_handlers_allow_empty_prepare where hooks do the work"
    return words % (host.name, event_type, _INSTALL % host.name)


def _wrong_clock(host: Host, status: Status, verdict: Verdict) -> Optional[str]:
    """W-34: nothing is approved by what was counted with such a clock."""
    if not verdict.approves:
        return None
    if status.clock_difference is None:
        return "nobody has compared the clock of %s" % host.name
    if not _is_far_off(status):
        return None
    words = "the clock of %s differs by %s, and an approval allows %s: set it right"
    return words % (host.name, say_duration(status.clock_difference), say_duration(_LARGEST_CLOCK_DIFFERENCE))


_AGENT_HAS_IT = "its own agent has it in hand"


def _waits(host: Host, status: Status, verdict: Verdict, facing: Facing) -> Iterator[Tuple[float, str]]:
    """What ends by itself."""
    hold, record = status.hold, status.record_of(verdict.sighting.event.event_id)
    if hold is not None and hold.until > facing.now:
        yield hold.until, "%s is held by %s%s" % (host.name, hold.by, " (%s)" % hold.reason if hold.reason else "")
    driver = None if record is None else record.driver
    if driver is not None and driver.name == _AGENT and driver.lease_until >= facing.now:
        yield driver.lease_until, "on %s %s" % (host.name, _AGENT_HAS_IT)


# --- when ----------------------------------------------------------------------------------------------------------------


def _timed(draft: Verdict, facing: Facing) -> Verdict:
    """Due, or held until it is."""
    decision, rounds = draft.decision, facing.rounds(len(draft.hosts))
    start = facing.now if decision.start_at is None else decision.start_at
    verdict = replace(
        draft,
        budget=decision.times.prepare_budget / rounds,
        start=start,
        floor=facing.now if decision.opening is None else max(facing.now, decision.opening.begin),
        latest=_latest(decision),
    )
    if due_now(decision, now=facing.now, wait=facing.options.wait, period=facing.options.period):
        return replace(verdict, place=WAVES)
    return replace(verdict, place=HELD, due_at=due_at(verdict, facing))


def _latest(decision: Decision) -> float:
    """After which it is not begun, whoever waits for what."""
    opening, times = decision.opening, decision.times
    if decision.late:
        return math.inf if times.not_before is None else times.not_before - times.clock_error - SHORTEST_IN_A_PLAYBOOK
    closes = math.inf if opening is None else opening.end - times.prepare_budget
    return min(closes, math.inf if times.last_safe_start is None else times.last_safe_start)


def due_at(verdict: Verdict, facing: Facing) -> float:
    """When a run would take it on."""
    return max(facing.now, by_next_run(verdict.start - facing.options.wait, verdict, facing))


# --- what must begin earlier, because others come after it ---------------------------------------------------------------


def is_queued(verdict: Verdict) -> bool:
    """An approval can be given earlier, and then the host is back earlier; what only prepares has to wait for Azure."""
    decision = verdict.decision
    return verdict.place in _TAKEN_ON and decision.approves and not decision.late and decision.times.last_safe_start is not None


def pulled_forward(verdict: Verdict, begin: float, followers: int, facing: Facing) -> Verdict:
    """The verdict with a start that leaves time for those behind it."""
    decision = verdict.decision
    last = decision.times.last_safe_start
    if last is None or decision.opening is not None or begin >= verdict.start:
        return verdict
    start = max(facing.now, begin)
    times = replace(decision.times, not_before=(decision.times.not_before or 0.0) - (last - begin))
    earlier = replace(decision, start_at=start, times=times)
    behind = "%d after it, one after the other" % followers if followers else "together with what has to begin then"
    words = "rule %s, %s; %s" % (decision.rule, behind, _last_start(verdict))
    if due_now(earlier, now=facing.now, wait=facing.options.wait, period=facing.options.period):
        return replace(verdict, place=WAVES, start=start, reason="due now: %s" % words, due_at=None)
    by_period = begin - facing.options.period - JOB_STARTUP
    reason = "held until %s: %s" % (say_instant(start), words)
    return replace(verdict, start=start, reason=reason, due_at=max(facing.now, min(start - facing.options.wait, by_period)))


def without_approval(verdict: Verdict, why: str, facing: Facing) -> Verdict:
    """Prepared as late as is safe, for Azure to start it: more hosts are hit together than may be approved together."""
    decision = verdict.decision
    action = WITHOUT_APPROVAL.get(decision.effective_action, decision.effective_action)
    if action == IGNORE:
        return refused(verdict, "%s, so it is not approved" % why)
    times = replace(decision.times, approve_reserve=0.0)
    last = times.last_safe_start
    start = facing.now if last is None or decision.late else max(facing.now, last)
    reason = "%s, so it is prepared and not approved; %s" % (why, azure_starts(verdict))
    fallen = replace(
        verdict,
        decision=replace(decision, effective_action=action, times=times, opening=None, start_at=start, want=start),
        start=start,
        floor=facing.now,
        over_capacity=True,
    )
    fallen = replace(fallen, latest=_latest(fallen.decision))
    if due_now(fallen.decision, now=facing.now, wait=facing.options.wait, period=facing.options.period):
        return replace(fallen, place=WAVES, reason="due now: %s" % reason)
    words = "held until %s: %s; %s" % (say_instant(start), reason, _last_start(fallen))
    return replace(fallen, place=HELD, reason=words, due_at=due_at(fallen, facing))


def beyond_this_run(verdict: Verdict, facing: Facing) -> Optional[str]:
    """Why a run that takes it on because the next one comes too late cannot do it either, or None.

    An approval can be given early. A window opens when it opens; and hosts that are ready long before Azure comes would lose their
    driver, and be put back by their own guard.
    """
    options, decision = facing.options, verdict.decision
    longest = "this run waits at most %s, and the next one comes %s later" % (say_duration(options.wait), say_duration(options.period))
    if verdict.floor > facing.now + options.wait:
        opens = say_instant(verdict.floor) if decision.opening is None else say_instant(verdict.floor, decision.opening.zone)
        return "its window opens at %s; %s: raise rolling_maintenance_within, or start a run then" % (opens, longest)
    not_before = verdict.not_before
    if verdict.approves or not_before is None or verdict.start <= facing.now + options.wait:
        return None
    if not_before - facing.now <= options.watch_timeout:
        return None
    begins = say_instant(verdict.start)
    return "it is to be prepared at %s; %s: raise rolling_maintenance_within, or start a run then" % (begins, longest)


def window_is_over(verdict: Verdict) -> bool:
    """Whether it was the end of a window that left no time, and not NotBefore."""
    opening, last = verdict.decision.opening, verdict.last_safe_start
    return opening is not None and (last is None or opening.end < last)


def after_its_window(verdict: Verdict, facing: Facing) -> Verdict:
    """Held until the next window, or until it is prepared without one."""
    opening = verdict.decision.opening
    later = replace(facing, now=facing.now if opening is None else opening.end + 1.0)
    decision = _decided(verdict.sighting, later, facts_of(verdict.hosts, verdict.sighting.event.event_type))
    if decision.start_at is None:
        return refused(verdict, "there is no room left for it in the window that is open, and no other one opens in time")
    fresh = _timed(Verdict(verdict.sighting, decision, LEFT, ""), later)
    zone_words = say_instant(fresh.start) if decision.opening is None else say_instant(fresh.start, decision.opening.zone)
    reason = "held until %s: there is no room left for it in the window that is open; %s" % (zone_words, _last_start(fresh))
    return replace(fresh, place=HELD, reason=reason, due_at=due_at(fresh, later))


def window_words(decision: Decision) -> Optional[Dict[str, Any]]:
    """The window in which it has to stay, in plain data."""
    opening = decision.opening
    if opening is None:
        return None
    zone = opening.zone
    return {"opens": opening.begin, "closes": opening.end, "timezone": zone.name, "offset": zone.offset_at(opening.begin)}


def rule_starts_by_not_before(verdict: Verdict, facing: Facing) -> bool:
    """Whether its start is counted back from NotBefore, so that it can be moved."""
    rule = facing.options.policy.rule_for(verdict.sighting.event)
    return rule is not None and rule.start.kind == BEFORE
