# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do with an event: the language of the rules, the default ones, and which rule matches. Pure.

Private to the collection. When it is done, and the decision in words, is the matter of `_decision`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ._document import DELETIONS, FREEZE, KNOWN_SOURCES, KNOWN_TYPES, PREEMPT, REBOOT, REDEPLOY, TERMINATE, Event, fold, known_as
from ._errors import ConfigurationError
from ._language import Entry, read_entries
from ._selection import TYPE_CHOICES, duration_within
from ._time import quoted, say_duration

REFUSE = "refuse"
IGNORE = "ignore"
APPROVE = "approve"
PREPARE = "prepare"
PREPARE_AND_APPROVE = "prepare_and_approve"
ACTIONS = (REFUSE, IGNORE, APPROVE, PREPARE, PREPARE_AND_APPROVE)
APPROVING = (APPROVE, PREPARE_AND_APPROVE)
PREPARING = (PREPARE, PREPARE_AND_APPROVE)
# The others have nothing that could start.
STARTING = (APPROVE, PREPARE, PREPARE_AND_APPROVE)
# What is left of an action where nothing may be approved.
WITHOUT_APPROVAL = {APPROVE: IGNORE, PREPARE_AND_APPROVE: PREPARE}

NOW = "now"
WINDOW = "window"
BEFORE = "before"
AUTO = "auto"

# A rule that names no types means these: what it is to delete a VM, or what nobody knows, must be named.
DISRUPTIONS = (FREEZE, REBOOT, REDEPLOY)

KEYS = (
    "name",
    "event_types",
    "event_sources",
    "min_duration",
    "max_duration",
    "resources",
    "shared",
    "action",
    "start",
    "prepare_budget",
    "approve_deletion",
)

# No deletion is hastened, nobody is drained earlier than needed, nothing unknown is approved.
DEFAULT_RULES: List[Dict[str, Any]] = [
    {"name": "deletion", "event_types": [PREEMPT, TERMINATE], "action": PREPARE, "start": NOW},
    {"name": "short pause", "event_types": [FREEZE], "max_duration": "10s", "action": IGNORE},
    {
        "name": "asked for by us",
        "event_types": [REBOOT, REDEPLOY],
        "event_sources": ["User"],
        "action": PREPARE_AND_APPROVE,
        "start": NOW,
    },
    {
        "name": "disruption",
        "event_types": [FREEZE, REBOOT, REDEPLOY],
        "action": PREPARE_AND_APPROVE,
        "start": {"before": AUTO},
    },
]

_CHARACTER_SET = re.compile(r"\[!?(\]?[^\]]*)\]")
_RANGE = re.compile(r"(.)-(.)", re.DOTALL)


@dataclass(frozen=True)
class Start:
    """When the work begins: now, in a window, or some time before NotBefore (None: as late as is safe)."""

    kind: str = BEFORE
    before: Optional[float] = None

    def __str__(self) -> str:
        if self.kind == NOW:
            return "start now"
        if self.kind == WINDOW:
            return "window"
        return "as late as is safe" if self.before is None else "%s before" % say_duration(self.before)


@dataclass(frozen=True)
class Rule:
    """One rule; None asks for nothing."""

    name: str
    action: str
    event_types: Tuple[str, ...] = DISRUPTIONS
    event_sources: Optional[Tuple[str, ...]] = None
    min_duration: Optional[float] = None
    max_duration: Optional[float] = None
    resources: Optional[Tuple[str, ...]] = None
    shared: Optional[bool] = None
    start: Start = Start()
    prepare_budget: Optional[float] = None
    approve_deletion: bool = False

    def matches(self, event: Event) -> bool:
        return (
            known_as(event.event_type, KNOWN_TYPES) in self.event_types
            and (self.event_sources is None or known_as(event.event_source, KNOWN_SOURCES) in self.event_sources)
            and duration_within(event.duration_seconds, self.min_duration, self.max_duration)
            and (self.resources is None or _all_named(event.resources, self.resources))
            and (self.shared is None or self.shared == is_shared(event))
        )


@dataclass(frozen=True)
class Policy:
    """Rules in their order: the first that matches decides."""

    rules: Tuple[Rule, ...]

    def rule_for(self, event: Event) -> Optional[Rule]:
        for rule in self.rules:
            if rule.matches(event):
                return rule
        return None


def parse_policy(values: Any) -> Policy:
    """The policy in plain data, valid as a whole, or ConfigurationError that names rule and key."""
    entries = read_entries(values, kind="rule", keys=KEYS)
    if not entries:
        raise ConfigurationError("the list of rules is empty: every event would be refused")
    rules = tuple(_rule(entry, number) for number, entry in enumerate(entries, 1))
    _refuse_same_names(rules)
    return Policy(rules)


def default_policy() -> Policy:
    return parse_policy(DEFAULT_RULES)


def is_shared(event: Event) -> bool:
    """More than one VM; a name that is listed twice is still one."""
    return len({fold(name) for name in event.resources}) > 1


def _all_named(names: Tuple[str, ...], patterns: Tuple[str, ...]) -> bool:
    """Each name fits a pattern; an event without names fits none, it could be about anything."""
    return bool(names) and all(any(fnmatchcase(fold(name), fold(pattern)) for pattern in patterns) for name in names)


def _rule(entry: Entry, number: int) -> Rule:
    action = entry.word("action", {action: action for action in ACTIONS})
    rule = Rule(
        name=entry.text("name") if entry.has("name") else "number %d" % number,
        action=action,
        event_types=entry.words("event_types", {word: word for word in TYPE_CHOICES}) if entry.has("event_types") else DISRUPTIONS,
        event_sources=entry.words("event_sources", {word: word for word in KNOWN_SOURCES}) if entry.has("event_sources") else None,
        min_duration=entry.duration("min_duration"),
        max_duration=entry.duration("max_duration"),
        resources=_patterns(entry) if entry.has("resources") else None,
        shared=entry.flag("shared"),
        start=_start(entry, action) if entry.has("start") else Start(),
        prepare_budget=_prepare_budget(entry, action),
        approve_deletion=bool(entry.flag("approve_deletion")),
    )
    _check_durations(entry, rule)
    _check_deletion(entry, rule)
    return rule


def _patterns(entry: Entry) -> Tuple[str, ...]:
    patterns = entry.texts("resources")
    for pattern in patterns:
        if _has_backward_range(fold(pattern)):
            entry.refuse("resources", "%s has a range that runs backwards" % quoted(pattern))
    return patterns


def _has_backward_range(pattern: str) -> bool:
    """Such a range matches nothing in a new Python, and is an error in the middle of the work in an old one."""
    return any(first > last for found in _CHARACTER_SET.finditer(pattern) for first, last in _RANGE.findall(found.group(1)))


def _start(entry: Entry, action: str) -> Start:
    if action not in STARTING:
        entry.refuse("start", "there is nothing to start with the action %s" % action)
    value = entry.value("start")
    if isinstance(value, Mapping):
        return _start_before(entry, value)
    text = fold(entry.text("start"))
    if text not in (NOW, WINDOW):
        entry.refuse("start", "%s is none of now, window, {before: 15m}, {before: auto}" % quoted(value))
    return Start(text)


def _start_before(entry: Entry, value: Mapping[str, Any]) -> Start:
    if list(value) != [BEFORE]:
        entry.refuse("start", "a mapping has the one key before, as in {before: 15m} or {before: auto}")
    if value[BEFORE] == AUTO:
        return Start(BEFORE)
    return Start(BEFORE, _more_than_none(entry, "start", entry.seconds("start", value[BEFORE])))


def _prepare_budget(entry: Entry, action: str) -> Optional[float]:
    budget = entry.duration("prepare_budget")
    if budget is None:
        return None
    if action not in PREPARING:
        entry.refuse("prepare_budget", "there is nothing to prepare with the action %s" % action)
    return _more_than_none(entry, "prepare_budget", budget)


def _more_than_none(entry: Entry, key: str, seconds: float) -> float:
    if not seconds:
        entry.refuse(key, "it must be longer than nothing")
    return seconds


def _check_durations(entry: Entry, rule: Rule) -> None:
    shortest, longest = rule.min_duration, rule.max_duration
    if shortest is not None and longest is not None and shortest > longest:
        entry.refuse("min_duration", "%s is more than max_duration, %s" % (say_duration(shortest), say_duration(longest)))


def _check_deletion(entry: Entry, rule: Rule) -> None:
    """To hasten a deletion takes two words: its type, and that this is meant."""
    deletions = [word for word in rule.event_types if word in DELETIONS]
    approves_one = rule.action in APPROVING and bool(deletions)
    if approves_one and not rule.approve_deletion:
        entry.refuse("action", "%s of %s, a deletion, needs approve_deletion: true as well" % (rule.action, " and ".join(deletions)))
    if rule.approve_deletion and not approves_one:
        entry.refuse("approve_deletion", "the rule approves no deletion")


def _refuse_same_names(rules: Tuple[Rule, ...]) -> None:
    """A decision is known by the name of its rule."""
    first: Dict[str, int] = {}
    for number, rule in enumerate(rules, 1):
        earlier = first.setdefault(fold(rule.name), number)
        if earlier != number:
            raise ConfigurationError("rule %d %s, name: rule %d has it already" % (number, quoted(rule.name), earlier))
