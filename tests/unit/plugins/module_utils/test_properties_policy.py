# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of every decision, for any event, rules, windows, budgets and moment (`_policy`, `_decision`, `_windows`)."""

from __future__ import annotations

import fnmatch
import functools
import json
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import (
    Decision,
    Facts,
    Settings,
    approval_obstacles,
    decide,
    decision_result,
    still_holds,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import Policy, default_policy, parse_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import (
    UTC,
    Window,
    Zone,
    first_opening,
    open_now,
    parse_windows,
)
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import (
    APIA,
    CHANGING_ZONES,
    DAY,
    HOUR,
    KATHMANDU,
    MINUTE,
    ST_JOHNS,
    Wall,
    utc,
)
from hypothesis import given, settings
from hypothesis import strategies as st

# A reference that tries each minute of days is slow: it gets a part of the examples.
slowly = settings(max_examples=max(100, settings.default.max_examples // 2))

KNOWN = ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"]
DELETIONS = {"preempt", "terminate"}
# Noon near each change of each zone, and one in quiet times.
NOONS = [(zone, instant // DAY * DAY + DAY // 2) for zone in (*CHANGING_ZONES, ST_JOHNS, APIA) for instant, _offset in zone.changes]
NOONS += [(KATHMANDU, utc("2026-11-18 12:00")), (UTC, utc("2026-11-18 12:00"))]
# What is left of an action can only become less while time passes.
RANKS = {"prepare_and_approve": 3, "approve": 3, "prepare": 2, "ignore": 1, "refuse": 1}


@functools.lru_cache(maxsize=None)
def wall(zone: Zone, noon: int) -> Wall:
    return Wall(zone, noon - 6 * DAY, noon + 15 * DAY)


# Strategies are made once: making them anew for each example takes most of the time.
minutes = st.integers(0, 24 * 60 - 1).map(lambda minute: minute * MINUTE)
# The hours in which clocks change.
night = st.sampled_from([hour * HOUR + half * 30 * MINUTE for hour in range(4) for half in (0, 1)])
durations = st.integers(1, 40).map(lambda minute: minute * MINUTE)
notices = st.one_of(st.none(), st.integers(-60, 9 * 24 * 60), st.integers(-5, 30))
weekly = st.builds(
    Window,
    days=st.sets(st.integers(0, 6), min_size=1).map(lambda days: tuple(sorted(days))),
    begin=st.one_of(minutes, night),
    end=st.one_of(minutes, night, st.just(DAY)),
    timezone=st.just("Nowhere/Land"),
).filter(lambda window: window.begin != window.end)
# The NotBefore of these is a notice, in minutes; `at` makes it an instant.
events = st.builds(
    Event,
    event_id=st.just("602D9444"),
    event_type=st.sampled_from([*KNOWN, "REBOOT", "terminate", "GuestImage"]),
    event_status=st.sampled_from(["Scheduled"] * 6 + ["scheduled", "Started", "STARTED", "Paused"]),
    event_source=st.sampled_from(["Platform", "User", "USER", None, "Somebody"]),
    resource_type=st.just("VirtualMachine"),
    resources=st.lists(st.sampled_from(["web_0", "WEB_1", "web_10", "db_1"]), max_size=3).map(tuple),
    not_before=notices,
    description=st.just(""),
    duration_seconds=st.sampled_from([None, 0, 5, 9, 10, 11, 20, 3600]),
)
loose_rules = st.fixed_dictionaries(
    {"action": st.sampled_from(["refuse", "ignore", "approve", "prepare", "prepare_and_approve"])},
    optional={
        "event_types": st.lists(st.sampled_from([*KNOWN, "unknown", "reboot", "PREEMPT"]), min_size=1, max_size=4),
        "event_sources": st.lists(st.sampled_from(["Platform", "User", "user"]), min_size=1, max_size=2),
        "min_duration": st.integers(0, 20),
        "max_duration": st.integers(0, 40),
        "resources": st.lists(st.sampled_from(["*", "web_*", "WEB_?", "db_[0-1]", "web_1"]), min_size=1, max_size=2),
        "shared": st.booleans(),
        "start": st.sampled_from(["now", "window", {"before": "auto"}, {"before": "2m"}, {"before": "1h"}, {"before": "2d"}]),
        "prepare_budget": durations,
    },
)


def valid(rule: Dict[str, Any], name: str) -> Dict[str, Any]:
    """The rule without what contradicts itself."""
    approving, preparing = rule["action"] in ("approve", "prepare_and_approve"), rule["action"] in ("prepare", "prepare_and_approve")
    rule = {"name": name, **rule}
    if not (approving or preparing):
        rule.pop("start", None)
    if not preparing:
        rule.pop("prepare_budget", None)
    if rule.get("min_duration", 0) > rule.get("max_duration", 40):
        del rule["min_duration"]
    if approving and {word.lower() for word in rule.get("event_types", [])} & DELETIONS:
        rule["approve_deletion"] = True
    return rule


rule_lists = st.lists(loose_rules, min_size=1, max_size=4).map(
    lambda rules: [valid(rule, "r%d" % number) for number, rule in enumerate(rules)]
)
IN_A_WINDOW = [{"name": "w", "action": "prepare_and_approve", "start": "window"}]


def at(now: int, event: Event) -> Event:
    return event if event.not_before is None else replace(event, not_before=now + event.not_before * MINUTE)


def placed(windows: List[Window], zone: Optional[Zone]) -> Tuple[Window, ...]:
    return tuple(replace(window, zone=zone) for window in windows)


@dataclass(frozen=True)
class Case:
    """One situation in which something is decided."""

    zone: Zone
    noon: int
    now: int
    rules: List[Dict[str, Any]]
    policy: Policy
    event: Event
    facts: Facts
    settings: Settings

    def decide(self, now: Optional[float] = None) -> Decision:
        moment = self.now if now is None else now
        return decide(self.event, policy=self.policy, facts=self.facts, now=moment, settings=self.settings)

    def without_zone_data(self) -> Case:
        return replace(self, settings=replace(self.settings, windows=placed(list(self.settings.windows), None)))


def case_of(
    place: Tuple[Zone, int], minute: int, rules: List[Dict[str, Any]], event: Event, facts: Facts, settings: Settings, windows: List[Window]
) -> Case:
    zone, noon = place
    now = noon + minute * MINUTE
    return Case(zone, noon, now, rules, parse_policy(rules), at(now, event), facts, replace(settings, windows=placed(windows, zone)))


places = st.sampled_from(NOONS)
rooms = st.one_of(st.integers(0, 90), st.integers(0, 26 * 60)).map(lambda minute: minute * MINUTE)
cases = st.builds(
    case_of,
    place=places,
    minute=st.integers(-24 * 60, 24 * 60),
    rules=st.one_of(rule_lists, st.just(IN_A_WINDOW)),
    event=events,
    facts=st.builds(Facts, clock_error=st.sampled_from([60, 120, 300]), handlers_budget=st.one_of(st.none(), durations)),
    settings=st.builds(
        Settings,
        approve_reserve=st.sampled_from([0, 60, 120]),
        shortest_preparation=st.sampled_from([0, 60]),
        approve=st.sampled_from([True, True, True, False]),
    ),
    windows=st.lists(weekly, max_size=2),
)


# Decisions


@given(cases)
def test_every_event_is_decided_in_words_and_plain_types(case: Case) -> None:
    decision = case.decide()
    result = decision_result(decision)
    assert json.loads(json.dumps(result)) == result
    assert decision.reason
    assert "None" not in decision.reason
    assert (decision.refused is not None) == (decision.effective_action == "refuse")
    assert (decision.start_at is not None) == (decision.effective_action in ("approve", "prepare", "prepare_and_approve"))


@given(cases)
def test_nothing_starts_later_than_the_last_safe_start_or_before_now(case: Case) -> None:
    decision = case.decide()
    if decision.start_at is None:
        return
    assert decision.start_at >= case.now
    if case.event.not_before is None:
        assert decision.start_at == case.now
        return
    assert decision.late or decision.start_at <= (decision.times.last_safe_start or 0)
    assert decision.prepare_within is not None
    finished = decision.start_at + decision.prepare_within + decision.times.approve_reserve + decision.times.clock_error
    assert finished <= case.event.not_before


@given(cases)
def test_who_is_late_or_outside_of_a_window_or_capped_approves_nothing(case: Case) -> None:
    decision = case.decide()
    assert not (decision.approves and (decision.late or decision.outside_window or decision.capped or not case.settings.approve))
    assert not decision.approves or case.event.scheduled


@given(cases, st.integers(-2 * DAY, 20 * DAY))
def test_no_approval_lies_outside_of_a_window(case: Case, seconds: int) -> None:
    """Not in the plan, where the preparation ends before the window does, and not at the gate, whenever it is asked."""
    decision = case.decide()
    if not decision.approves or _rule_of(case, decision).get("start") != "window":
        return
    assert decision.opening is not None
    assert decision.start_at is not None
    assert decision.opening.begin <= decision.start_at
    assert decision.start_at + decision.times.prepare_budget <= decision.opening.end
    openings = [opening for window in case.settings.windows for opening in wall(case.zone, case.noon).openings(window)]
    assert (decision.opening.begin, decision.opening.end) in openings
    moment = case.now + seconds
    allowed = not approval_obstacles(decision, case.event, now=moment, document_age=0, committed=case.event.resources, clock_difference=0)
    assert not allowed or any(begin <= moment <= end for begin, end in openings)


@given(cases)
def test_no_deletion_and_no_unknown_type_is_approved_unless_named(case: Case) -> None:
    decision = case.decide()
    kind = case.event.event_type.lower()
    if not decision.approves or kind in ("freeze", "reboot", "redeploy"):
        return
    rule = _rule_of(case, decision)
    named = [word.lower() for word in rule["event_types"]]
    assert (kind if kind in DELETIONS else "unknown") in named
    assert kind not in DELETIONS or rule["approve_deletion"] is True


@given(events)
def test_the_default_approves_nothing_but_disruptions(drawn: Event) -> None:
    now = utc("2026-11-18 12:00")
    event = at(now, drawn)
    decision = decide(event, policy=default_policy(), facts=Facts(30), now=now, settings=Settings())
    assert not decision.approves or event.event_type.lower() in ("freeze", "reboot", "redeploy")
    if (event.event_source or "").lower() != "user" and decision.approves and event.not_before and event.event_type in KNOWN:
        assert decision.start_at == decision.times.last_safe_start


@given(cases, st.floats(0, 1))
def test_a_decision_is_the_same_until_its_start(case: Case, share: float) -> None:
    decision = case.decide()
    if decision.start_at is None:
        return
    later = case.decide(min(case.now + share * (decision.start_at - case.now), decision.start_at))
    assert (later.effective_action, later.start_at) == (decision.effective_action, decision.start_at)
    assert (later.opening, later.prepare_within, later.times) == (decision.opening, decision.prepare_within, decision.times)
    assert (later.outside_window, later.late, later.rule) == (decision.outside_window, decision.late, decision.rule)
    assert still_holds(decision, case.event, policy=case.policy, settings=case.settings)


@given(cases, st.integers(0, 10 * DAY))
def test_while_time_passes_an_action_only_becomes_less_and_a_start_only_later(case: Case, seconds: int) -> None:
    if case.event.not_before is None or not case.event.scheduled:
        return
    first, second = case.decide(), case.decide(case.now + seconds)
    assert second.rule == first.rule
    assert RANKS[second.effective_action] <= RANKS[first.effective_action]
    if first.start_at is not None and second.start_at is not None:
        assert second.start_at >= first.start_at


@given(cases)
def test_without_zone_data_nothing_in_a_window_is_approved(case: Case) -> None:
    decision = case.without_zone_data().decide()
    assert decision.opening is None
    assert not (decision.approves and _rule_of(case, decision).get("start") == "window")


@slowly
@given(cases)
def test_start_and_action_are_those_of_the_arithmetic(case: Case) -> None:
    """The page's formulas, line by line, with a search for the window minute by minute."""
    decision = case.decide()
    rule = case.policy.rule_for(case.event)
    if rule is None or not case.event.scheduled or rule.action in ("refuse", "ignore"):
        assert decision.start_at is None
        return
    expected = _by_the_formulas(case, rule)
    assert (decision.effective_action, decision.start_at) == expected


def _by_the_formulas(case: Case, rule: Any) -> Tuple[str, Optional[float]]:
    t, nb, e = case.now, case.event.not_before, case.facts.clock_error
    action = rule.action
    if not case.settings.approve:
        action = {"prepare_and_approve": "prepare", "approve": "ignore"}.get(action, action)
    if action == "ignore":
        return "ignore", None
    b = 0 if action == "approve" else rule.prepare_budget or case.facts.handlers_budget or 300
    v = case.settings.approve_reserve if action in ("approve", "prepare_and_approve") else 0
    limit = t + MINUTE if nb is None else int(nb - v - e - b)
    want: Optional[float] = {"now": t, "before": nb and nb - (rule.start.before or b + v + e)}.get(rule.start.kind)
    if rule.start.kind == "window":
        want = wall(case.zone, case.noon).first_start(case.settings.windows, t, int(b), limit)
        if want is None:
            action = {"prepare_and_approve": "prepare", "approve": "ignore"}.get(action, action)
            v = 0
    if action == "ignore":
        return "ignore", None
    if nb is None:
        return action, t
    last_safe_start = nb - v - e - b
    if t <= last_safe_start:
        return action, max(t, min(last_safe_start if want is None else want, last_safe_start))
    if action == "approve":
        return "ignore", None
    return ("refuse", None) if nb - e - t < case.settings.shortest_preparation else ("prepare", t)


def _rule_of(case: Case, decision: Decision) -> Dict[str, Any]:
    return next((rule for rule in case.rules if rule["name"] == decision.rule), {})


# Windows


@pytest.mark.parametrize(("zone", "noon"), NOONS)
def test_every_local_minute_around_a_change_is_found_as_on_the_wall(zone: Zone, noon: int) -> None:
    clock = wall(zone, noon)
    for minute in range(-2 * DAY, 2 * DAY, 5 * MINUTE):
        local = noon + zone.offset_at(noon) + minute
        assert (zone.first(local), zone.last(local)) == (clock.first(local), clock.last(local))


@slowly
@given(places, st.lists(weekly, min_size=1, max_size=3), st.integers(-24 * 60, 24 * 60), rooms, st.integers(0, 9 * 24 * 60))
def test_the_first_start_is_the_one_that_trying_each_minute_finds(
    place: Tuple[Zone, int], windows: List[Window], minute: int, room: int, notice: int
) -> None:
    zone, noon = place
    chosen, now = placed(windows, zone), noon + minute * MINUTE
    before = now + notice * MINUTE
    expected = wall(zone, noon).first_start(chosen, now, room, before)
    opening = first_opening(chosen, now=now, room=room, before=before)
    assert (max(now, opening.begin) if opening else None) == expected
    is_open = open_now(chosen, now=now, room=room) is not None
    assert is_open == (wall(zone, noon).first_start(chosen, now, room, now + MINUTE) == now)


# Rules


@given(rule_lists, events)
def test_the_first_rule_that_matches_decides(plain: List[Dict[str, Any]], event: Event) -> None:
    found = parse_policy(plain).rule_for(event)
    expected = next((rule["name"] for rule in plain if _matches(rule, event)), None)
    assert (found.name if found else None) == expected


def _matches(rule: Dict[str, Any], event: Event) -> bool:
    kind = event.event_type.lower()
    types = {word.lower() for word in rule.get("event_types", ["Freeze", "Reboot", "Redeploy"])}
    if (kind if kind in {known.lower() for known in KNOWN} else "unknown") not in types:
        return False
    if "event_sources" in rule and (event.event_source or "").lower() not in {word.lower() for word in rule["event_sources"]}:
        return False
    limits = rule.get("min_duration", 0), rule.get("max_duration", 1e9)
    if ("min_duration" in rule or "max_duration" in rule) and not limits[0] <= (
        -1 if event.duration_seconds is None else event.duration_seconds
    ) <= limits[1]:
        return False
    names = [name.lower() for name in event.resources]
    if "resources" in rule and (
        not names or not all(any(fnmatch.fnmatch(name, each.lower()) for each in rule["resources"]) for name in names)
    ):
        return False
    return "shared" not in rule or rule["shared"] == (len(set(names)) > 1)


plain_json = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(["now", "prepare", "15m", "22:00"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.text(max_size=4), st.booleans(), st.sampled_from(["name", "action", "start", "before", "from", "to", "days", "timezone"])
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


def refusal(parse: Callable[[Any], Any], values: Any) -> Optional[str]:
    try:
        parse(values)
    except ConfigurationError as error:
        return error.message
    return None


@given(plain_json)
def test_any_plain_data_are_a_policy_or_one_error_of_ours(values: Any) -> None:
    for parse in (parse_policy, parse_windows):
        assert (refusal(parse, values) or "").isprintable()


@given(rule_lists, st.data())
def test_any_wrong_value_is_refused_with_the_number_of_its_rule_and_its_key(plain: List[Dict[str, Any]], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(plain) - 1))
    key = data.draw(st.sampled_from(["event_types", "event_sources", "resources", "min_duration", "max_duration", "shared", "action"]))
    plain[number][key] = data.draw(st.sampled_from([None, "", -1, True if key != "shared" else "no", {}, [], [False], [None], [[]]]))
    with pytest.raises(ConfigurationError) as caught:
        parse_policy(plain)
    assert caught.value.message.startswith("rule %d 'r%d', %s: " % (number + 1, number, key))


@given(st.text(alphabet="ab-[]!^\\*?.&|~AZ09", min_size=1, max_size=12), st.text(alphabet="abAZ-", max_size=4))
def test_a_pattern_that_is_taken_never_fails_when_it_is_used(pattern: str, name: str) -> None:
    """On old Pythons too, where a range that runs backwards is an error."""
    rules_of_one = [{"action": "refuse", "resources": [pattern]}]
    refused = refusal(parse_policy, rules_of_one)
    if refused:
        assert refused.endswith("has a range that runs backwards")
        return
    event = Event("1", "Reboot", "Scheduled", None, "", (name,), 0.0, "", None)
    assert (parse_policy(rules_of_one).rule_for(event) is not None) == fnmatch.fnmatchcase(name.lower(), pattern.lower())


@given(cases, st.sampled_from(["not_before", "resources", "event_status", "policy"]))
def test_a_decision_is_made_again_when_what_it_rests_on_changes(case: Case, changed: str) -> None:
    decision = case.decide()
    changes: Dict[str, Any] = {"not_before": 1.0, "resources": ("other",), "event_status": "Other"}
    policy = parse_policy([{"name": "another", "action": "refuse"}]) if changed == "policy" else case.policy
    event = case.event if changed == "policy" else replace(case.event, **{changed: changes[changed]})
    assert not still_holds(decision, event, policy=policy, settings=case.settings)
