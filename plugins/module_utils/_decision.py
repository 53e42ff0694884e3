# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When the work for an event begins, whether it is approved, and why: one decision, made once and kept. Pure.

Private to the collection. The letters in the comments are those of the policy's arithmetic: NB NotBefore, B prepare
budget, V approve reserve, E error of the clocks, G recover budget. All instants are of one clock, the caller's.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any, Collection, Dict, FrozenSet, Iterator, Optional, Tuple

from ._document import Event, fold, same_name
from ._errors import ConfigurationError
from ._policy import APPROVE, APPROVING, IGNORE, NOW, REFUSE, STARTING, WINDOW, WITHOUT_APPROVAL, Policy, Rule, Start
from ._time import MINUTE, format_instant, quoted, say_duration
from ._windows import EARLIEST, LATEST, UTC, Opening, Window, first_opening, open_now, say_instant

# What is done about an event that has started: no rule can ask for it, and none can prevent it.
WATCH = "watch"

# B, when neither the rule nor the hosts say how long their handlers may take: time to drain a usual service.
PREPARE_BUDGET = 5.0 * MINUTE
# V: the gate asks every host, then one posts and reads again.
APPROVE_RESERVE = 60.0
# G: a host must be back and useful before it is worth giving it back.
RECOVER_BUDGET = 2.0 * MINUTE
# E on the controller, at the least: what a round trip over SSH leaves unknown about a host's clock.
CONTROLLER_CLOCK_ERROR = 30.0
# E on a host whose clock is synchronised.
HOST_CLOCK_ERROR = 5.0
# Less time than this to prepare is none: a playbook needs it to reach the hosts, an executor to start a handler.
SHORTEST_IN_A_PLAYBOOK = 60.0
SHORTEST_ON_A_HOST = 5.0
# J: what a scheduler takes from its hour to the first task.
JOB_STARTUP = 2.0 * MINUTE
# Serving for less than this is not worth two changes of state.
_WORTH_GIVING_BACK = 60.0
# Azure starts within a minute or two after NotBefore (C-26).
_OVERDUE_START = 15.0 * MINUTE
# A Freeze stays Started for minutes (C-27), and the announced duration is an estimate (C-17).
_OVERDUE_RUN = 30.0 * MINUTE
_OVERDUE_FACTOR = 10
_OVERDUE_RECOVERY = 10.0 * MINUTE
# An approval cannot be taken back (C-23), so it rests on what was true a moment ago.
_OLDEST_DOCUMENT = 2.0
# Clocks that differ by more are wrong, and so is whatever was computed with them.
_LARGEST_CLOCK_DIFFERENCE = 300.0


@dataclass(frozen=True)
class Settings:
    """What is configured beside the rules. `approve` is False where the host's configuration says `approve: none`."""

    prepare_budget: float = PREPARE_BUDGET
    approve_reserve: float = APPROVE_RESERVE
    recover_budget: float = RECOVER_BUDGET
    shortest_preparation: float = SHORTEST_IN_A_PLAYBOOK
    approve: bool = True
    windows: Tuple[Window, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What is known of the event's hosts: E, and the largest sum of the limits of their required handlers."""

    clock_error: float
    handlers_budget: Optional[float] = None


@dataclass(frozen=True)
class Times:
    """NB, B, V and E, and what follows from them; None where there is no NotBefore."""

    not_before: Optional[float]
    prepare_budget: float
    approve_reserve: float
    clock_error: float

    @property
    def needed(self) -> float:
        return self.prepare_budget + self.approve_reserve + self.clock_error

    @property
    def ready_by(self) -> Optional[float]:
        return None if self.not_before is None else self.not_before - self.approve_reserve - self.clock_error

    @property
    def last_safe_start(self) -> Optional[float]:
        return None if self.not_before is None else self.not_before - self.needed

    def is_late(self, now: float) -> bool:
        return self.last_safe_start is not None and now > self.last_safe_start

    def left(self, now: float) -> float:
        """The time in which hosts can still be prepared, when nothing is approved."""
        return math.inf if self.not_before is None else self.not_before - self.clock_error - now


@dataclass(frozen=True)
class Decision:
    """What is done about one event and when. Without `start_at` there is nothing that we start."""

    event: Event
    policy_hash: str
    rule: Optional[str]
    # The rule's action, and what is left of it.
    action: str
    effective_action: str
    # Whether that is so because nothing at all may be approved here.
    capped: bool
    decided_at: float
    times: Times
    reason: str = ""
    refused: Optional[str] = None
    want: Optional[float] = None
    start_at: Optional[float] = None
    # B, or what is left of it for one who comes late.
    prepare_within: Optional[float] = None
    # The opening of a window in which everything happens; an approval may not leave it.
    opening: Optional[Opening] = None
    outside_window: bool = False
    late: bool = False
    configuration_error: Optional[str] = None

    @property
    def approves(self) -> bool:
        return self.effective_action in APPROVING


def controller_clock_error(measured: Optional[float]) -> float:
    """E in a run: the largest difference measured to a host of the event, at least what measuring leaves unknown."""
    return max(CONTROLLER_CLOCK_ERROR, abs(measured or 0.0))


def host_clock_error(measured: Optional[float], *, synchronised: bool) -> float:
    """E on a host; a clock that nobody keeps right is trusted no more than a foreign one."""
    return HOST_CLOCK_ERROR if synchronised else controller_clock_error(measured)


def policy_hash(policy: Policy, settings: Settings) -> str:
    """Another hash is another policy; the data of the windows' zones are part of it."""
    return hashlib.sha256(repr((policy, settings)).encode("utf-8")).hexdigest()


def check_policy(policy: Policy, *, facts: Facts, settings: Settings) -> None:
    """ConfigurationError for what rules alone cannot show: a window without data or none at all, a start later than is safe."""
    for number, window in enumerate(settings.windows, 1):
        if window.zone is None:
            raise ConfigurationError(
                "window %d, timezone: there are no data for %s, the window can never be open" % (number, quoted(window.timezone))
            )
    for rule in policy.rules:
        problem = _problem_of(rule, facts, settings)
        if problem:
            raise ConfigurationError(problem)


def decide(event: Event, *, policy: Policy, facts: Facts, now: float, settings: Settings) -> Decision:
    """The decision for an event; total over all events. One made later, before the start, is the same."""
    rule = policy.rule_for(event)
    draft = _draft(event, rule, policy_hash(policy, settings), facts, now, settings)
    if event.started:
        return replace(draft, effective_action=WATCH, reason="watched until it is gone: Azure has started it")
    if not event.scheduled:
        return _refused(draft, "the status %s is unknown" % quoted(event.event_status))
    if rule is None:
        return _refused(draft, "no rule matches the type %s" % quoted(event.event_type))
    return _ruled(draft, rule, settings)


def still_holds(decision: Decision, event: Event, *, policy: Policy, settings: Settings) -> bool:
    """Whether a kept decision is still the one for this event; else it is made again."""
    return _basis(decision.event, decision.policy_hash) == _basis(event, policy_hash(policy, settings))


def due_now(decision: Decision, *, now: float, wait: float = 0.0, period: float = 0.0, job_startup: float = JOB_STARTUP) -> bool:
    """Whether a run takes the event on: it can wait for the start, or the next run would come too late for it."""
    if decision.start_at is None:
        return False
    last_safe_start = decision.times.last_safe_start
    return decision.start_at <= now + wait or (last_safe_start is not None and last_safe_start < now + period + job_startup)


def may_give_back(decision: Decision, *, now: float, committed: bool, settings: Settings) -> bool:
    """Whether hosts that are ready go back into service; else they stay, prepared and not approved, until the event is gone."""
    return not committed and worth_giving_back(decision.times, now=now, recover_budget=settings.recover_budget)


def worth_giving_back(times: Times, *, now: float, recover_budget: float) -> bool:
    """Whether there is time to recover, to serve for a while, and to get ready once more."""
    if times.not_before is None:
        return False
    return times.not_before - now >= recover_budget + times.needed + _WORTH_GIVING_BACK


def overdue(
    event: Event, *, now: float, started_at: Optional[float] = None, gone_at: Optional[float] = None, recovered: bool = False
) -> Optional[str]:
    """Why somebody must look at this event now, or None. A gone event is given as it was last seen."""
    if gone_at is not None:
        return _overdue("gone for %s and still not recovered", now - gone_at, _OVERDUE_RECOVERY) if not recovered else None
    if event.started and started_at is not None:
        longest = max(_OVERDUE_RUN, _OVERDUE_FACTOR * (event.duration_seconds or 0))
        return _overdue("Started for %s", now - started_at, longest)
    if event.scheduled and event.not_before is not None:
        return _overdue("still Scheduled %s after its NotBefore", now - event.not_before, _OVERDUE_START)
    return None


def approval_obstacles(
    decision: Decision,
    event: Event,
    *,
    now: float,
    document_age: float,
    committed: Collection[str],
    clock_difference: Optional[float],
    allow_unmanaged: Collection[str] = (),
) -> Tuple[str, ...]:
    """Why the event, as a fresh document shows it, may not be approved; empty when it may (C-23). What is unknown is a no."""
    checks = (
        _decision_obstacle(decision, now),
        _change_obstacle(decision.event, event),
        None if event.scheduled else "its status is %s, not Scheduled" % quoted(event.event_status),
        _commit_obstacle(event, (*committed, *allow_unmanaged)),
        None if 0 <= document_age <= _OLDEST_DOCUMENT else "the document is not fresh: read it again",
        _clock_obstacle(clock_difference),
    )
    return tuple(obstacle for obstacle in checks if obstacle)


def decision_result(decision: Decision) -> Dict[str, Any]:
    """The decision in plain types, for results, plans and evidence."""
    opening, times = decision.opening, decision.times
    return {
        "event_id": decision.event.event_id,
        "event_type": decision.event.event_type,
        "event_status": decision.event.event_status,
        "resources": list(decision.event.resources),
        "rule": decision.rule,
        "action": decision.action,
        "effective_action": decision.effective_action,
        "reason": decision.reason,
        "refused": decision.refused,
        "configuration_error": decision.configuration_error,
        "capped": decision.capped,
        "late": decision.late,
        "outside_window": decision.outside_window,
        "decided_at": _text(decision.decided_at),
        "want": _text(decision.want),
        "start_at": _text(decision.start_at),
        "last_safe_start": _text(times.last_safe_start),
        "ready_by": _text(times.ready_by),
        "not_before": _text(times.not_before),
        "window_opens": _text(opening.begin if opening else None),
        "window_closes": _text(opening.end if opening else None),
        "prepare_within": decision.prepare_within,
        "prepare_budget": times.prepare_budget,
        "approve_reserve": times.approve_reserve,
        "clock_error": times.clock_error,
        "policy_hash": decision.policy_hash,
    }


def _draft(event: Event, rule: Optional[Rule], hashed: str, facts: Facts, now: float, settings: Settings) -> Decision:
    action = rule.action if rule else REFUSE
    capped = _capped(action, settings)
    return Decision(
        event=event,
        policy_hash=hashed,
        rule=rule.name if rule else None,
        action=action,
        effective_action=capped,
        capped=capped != action,
        decided_at=now,
        times=_times(event.not_before, rule, capped, facts, settings),
    )


def _ruled(draft: Decision, rule: Rule, settings: Settings) -> Decision:
    if draft.action == REFUSE:
        return _refused(draft, "its rule says so")
    if draft.effective_action == IGNORE:
        return _ignored(draft, "approvals are switched off" if draft.capped else None)
    return _timed(draft, rule, settings)


def _capped(action: str, settings: Settings) -> str:
    return action if settings.approve else WITHOUT_APPROVAL.get(action, action)


def _times(not_before: Optional[float], rule: Optional[Rule], action: str, facts: Facts, settings: Settings) -> Times:
    return Times(
        not_before=not_before,
        prepare_budget=_prepare_budget(rule, action, facts, settings),
        approve_reserve=settings.approve_reserve if action in APPROVING else 0.0,
        clock_error=facts.clock_error,
    )


def _prepare_budget(rule: Optional[Rule], action: str, facts: Facts, settings: Settings) -> float:
    if action == APPROVE:
        return 0.0
    if rule is not None and rule.prepare_budget is not None:
        return rule.prepare_budget
    return facts.handlers_budget or settings.prepare_budget


def _problem_of(rule: Rule, facts: Facts, settings: Settings) -> Optional[str]:
    if rule.start.kind == WINDOW and not settings.windows:
        return "rule %s, start: there is no window" % rule.name
    action = _capped(rule.action, settings)
    return _too_short(rule, _times(None, rule, action, facts, settings)) if action in STARTING else None


def _too_short(rule: Rule, times: Times) -> Optional[str]:
    before = rule.start.before
    if before is None or before >= times.needed:
        return None
    return "rule %s, start: %s before NotBefore is too late, %s are needed" % (
        rule.name,
        say_duration(before),
        say_duration(times.needed),
    )


def _basis(event: Event, hashed: str) -> Tuple[Any, ...]:
    return fold(event.event_id), fold(event.event_type), event.not_before, _folded(event.resources), fold(event.event_status), hashed


def _folded(names: Collection[str]) -> FrozenSet[str]:
    return frozenset(fold(name) for name in names)


def _timed(draft: Decision, rule: Rule, settings: Settings) -> Decision:
    placed = _placed(replace(draft, configuration_error=_too_short(rule, draft.times)), rule, settings)
    if placed.effective_action == IGNORE:
        return _ignored(placed, "no window opens in time")
    if placed.times.is_late(placed.decided_at):
        return _late(placed, rule, settings)
    return _starting(placed, rule, start_at=_start_at(placed), within=placed.times.prepare_budget)


def _placed(draft: Decision, rule: Rule, settings: Settings) -> Decision:
    """With the start that is wanted; where no window opens in time, without the approval."""
    if rule.start.kind != WINDOW:
        return replace(draft, want=_want(rule.start, draft))
    opening = _opening_for(draft, settings.windows)
    if opening:
        return replace(draft, opening=opening, want=max(draft.decided_at, opening.begin))
    fallen = _without_approval(draft)
    return replace(fallen, outside_window=True, want=fallen.times.last_safe_start)


def _want(start: Start, draft: Decision) -> float:
    times = draft.times
    if start.kind == NOW or times.not_before is None:
        return draft.decided_at
    return times.not_before - (times.needed if start.before is None else start.before)


def _opening_for(draft: Decision, windows: Tuple[Window, ...]) -> Optional[Opening]:
    now, room, limit = draft.decided_at, draft.times.prepare_budget, draft.times.last_safe_start
    if limit is None:
        return open_now(windows, now=now, room=room)
    return first_opening(windows, now=now, room=room, before=limit)


def _start_at(draft: Decision) -> float:
    if draft.want is None or draft.times.last_safe_start is None:
        return draft.decided_at
    return max(draft.decided_at, min(draft.want, draft.times.last_safe_start))


def _late(draft: Decision, rule: Rule, settings: Settings) -> Decision:
    """After the last safe start: prepared in what is left and not approved, or not at all."""
    fallen = replace(_without_approval(draft), late=True)
    if fallen.effective_action == IGNORE:
        return _ignored(fallen, "too late to approve")
    left = fallen.times.left(fallen.decided_at)
    if left < settings.shortest_preparation:
        return _refused(fallen, "too late")
    return _starting(fallen, rule, start_at=fallen.decided_at, within=min(fallen.times.prepare_budget, left))


def _without_approval(draft: Decision) -> Decision:
    action = WITHOUT_APPROVAL.get(draft.effective_action, draft.effective_action)
    return replace(draft, effective_action=action, times=replace(draft.times, approve_reserve=0.0))


def _starting(draft: Decision, rule: Rule, *, start_at: float, within: float) -> Decision:
    reason = "; ".join(_words(draft, rule, start_at, within))
    return replace(draft, start_at=start_at, prepare_within=within, reason=reason)


def _words(decision: Decision, rule: Rule, start_at: float, within: float) -> Iterator[str]:
    zone = decision.opening.zone if decision.opening else UTC
    begin = "held until %s" % say_instant(start_at, zone) if start_at > decision.decided_at else "due now"
    yield "%s: rule %s, %s" % (begin, rule.name, rule.start)
    if decision.capped:
        yield "approvals are switched off"
    if decision.outside_window:
        yield "no window opens in time"
    if decision.late:
        yield "late, %s to prepare" % say_duration(within)
    if not decision.approves:
        yield "not approved, %s" % _azure_starts(decision)
    if decision.times.last_safe_start is not None and not decision.late:
        yield "last safe start %s" % say_instant(decision.times.last_safe_start, zone)
    if decision.configuration_error:
        yield decision.configuration_error


def _refused(draft: Decision, why: str) -> Decision:
    refused = "%s, %s" % (why, _azure_starts(draft))
    return replace(draft, effective_action=REFUSE, refused=refused, reason="refused: %s%s" % (refused, _by_rule(draft)))


def _ignored(draft: Decision, why: Optional[str]) -> Decision:
    reason = "left to Azure: %s%s%s" % ("%s, " % why if why else "", _azure_starts(draft), _by_rule(draft))
    return replace(draft, effective_action=IGNORE, want=None, reason=reason)


def _by_rule(draft: Decision) -> str:
    return "; rule %s" % draft.rule if draft.rule else ""


def _azure_starts(decision: Decision) -> str:
    not_before = decision.times.not_before
    return "Azure can start at any moment" if not_before is None else "Azure starts at %s" % say_instant(not_before)


def _decision_obstacle(decision: Decision, now: float) -> Optional[str]:
    if not decision.approves:
        return "it is decided to %s, not to approve" % decision.effective_action
    if decision.opening and not decision.opening.covers(now):
        return "the window is open only from %s to %s" % tuple(
            say_instant(border, decision.opening.zone) for border in (decision.opening.begin, decision.opening.end)
        )
    return None


def _change_obstacle(decided: Event, event: Event) -> Optional[str]:
    """A decision is for the event as it was; one that has changed is decided on again."""
    if not same_name(decided.event_id, event.event_id):
        return "the decision is for another event, %s" % quoted(decided.event_id)
    if not same_name(decided.event_type, event.event_type):
        return "its type was %s and is now %s" % (quoted(decided.event_type), quoted(event.event_type))
    if _folded(decided.resources) != _folded(event.resources):
        return "its Resources have changed since the decision"
    if decided.not_before != event.not_before:
        return "its NotBefore has changed since the decision"
    return None


def _commit_obstacle(event: Event, committed: Collection[str]) -> Optional[str]:
    """Each VM that the event names must be committed: an approval holds for all of them (C-23)."""
    if not event.resources:
        return "it names no VM"
    ready = _folded(committed)
    missing = [name for name in event.resources if fold(name) not in ready]
    return "not committed: %s" % ", ".join(missing) if missing else None


def _clock_obstacle(difference: Optional[float]) -> Optional[str]:
    if difference is None:
        return "the difference of the clocks is not known"
    if abs(difference) <= _LARGEST_CLOCK_DIFFERENCE:
        return None
    return "the clocks differ by more than %s" % say_duration(_LARGEST_CLOCK_DIFFERENCE)


def _overdue(words: str, seconds: float, longest: float) -> Optional[str]:
    return words % say_duration(seconds) if seconds > longest else None


def _text(instant: Optional[float]) -> Optional[str]:
    return None if instant is None else format_instant(min(max(instant, EARLIEST), LATEST))
