# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The language of the rules (`_policy`, `_language`): what each key means, and one sentence for each thing that is wrong."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import (
    DEFAULT_RULES,
    Policy,
    Rule,
    Start,
    default_policy,
    is_shared,
    parse_policy,
)


def event(
    event_type: str = "Reboot",
    source: Optional[str] = "Platform",
    resources: Tuple[str, ...] = ("web_0",),
    duration: Optional[int] = 9,
) -> Event:
    return Event("602D9444", event_type, "Scheduled", source, "VirtualMachine", resources, 1e9, "", duration)


def rule(**keys: Any) -> Rule:
    (parsed,) = parse_policy([{"name": "it", "action": "prepare", **keys}]).rules
    return parsed


# Meaning


def test_a_rule_says_nothing_but_its_action() -> None:
    assert parse_policy([{"action": "prepare"}]) == Policy((Rule("number 1", "prepare", ("Freeze", "Reboot", "Redeploy")),))


def test_every_key_of_a_rule_reaches_its_value() -> None:
    parsed = rule(
        name="all of it",
        event_types=["TERMINATE", "reboot", "Unknown"],
        event_sources=["user", "Platform"],
        min_duration="90s",
        max_duration=120,
        resources=["Web_*", "db-?"],
        shared=False,
        action="Prepare_And_Approve",
        start={"before": "15m"},
        prepare_budget="2h",
        approve_deletion=True,
    )
    assert parsed == Rule(
        name="all of it",
        action="prepare_and_approve",
        event_types=("Terminate", "Reboot", "unknown"),
        event_sources=("User", "Platform"),
        min_duration=90,
        max_duration=120,
        resources=("Web_*", "db-?"),
        shared=False,
        start=Start("before", 900),
        prepare_budget=7200,
        approve_deletion=True,
    )


@pytest.mark.parametrize(
    ("value", "start", "words"),
    [
        ("now", Start("now"), "start now"),
        ("NOW", Start("now"), "start now"),
        ("window", Start("window"), "window"),
        ({"before": "auto"}, Start("before", None), "as late as is safe"),
        ({"before": "15m"}, Start("before", 900), "15 min before"),
        ({"before": 90}, Start("before", 90), "1 min 30 s before"),
    ],
)
def test_a_start_and_its_words(value: Any, start: Start, words: str) -> None:
    assert rule(start=value).start == start
    assert str(start) == words


def test_without_a_start_a_rule_begins_as_late_as_is_safe() -> None:
    assert rule().start == Start("before", None)


@pytest.mark.parametrize("action", ["refuse", "ignore", "approve", "prepare", "prepare_and_approve"])
def test_each_action_is_known(action: str) -> None:
    assert rule(action=action).action == action


@pytest.mark.parametrize("action", ["approve", "prepare", "prepare_and_approve"])
def test_actions_that_begin_something_have_a_start(action: str) -> None:
    assert rule(action=action, start="now").start == Start("now")


@pytest.mark.parametrize("action", ["prepare", "prepare_and_approve"])
def test_actions_that_prepare_have_a_budget(action: str) -> None:
    assert rule(action=action, prepare_budget=0.5).prepare_budget == 0.5


@pytest.mark.parametrize("action", ["approve", "prepare_and_approve"])
@pytest.mark.parametrize("deletion", ["Preempt", "Terminate"])
def test_a_deletion_is_approved_when_the_rule_says_so_twice(action: str, deletion: str) -> None:
    parsed = rule(event_types=[deletion], action=action, approve_deletion=True)
    assert parsed.approve_deletion is True


@pytest.mark.parametrize("action", ["refuse", "ignore", "prepare"])
def test_a_deletion_that_is_not_approved_needs_no_second_word(action: str) -> None:
    assert rule(event_types=["Preempt", "Terminate"], action=action, approve_deletion=False).approve_deletion is False


def test_the_default_is_the_one_that_is_documented() -> None:
    assert DEFAULT_RULES == [
        {"name": "deletion", "event_types": ["Preempt", "Terminate"], "action": "prepare", "start": "now"},
        {"name": "short pause", "event_types": ["Freeze"], "max_duration": "10s", "action": "ignore"},
        {
            "name": "asked for by us",
            "event_types": ["Reboot", "Redeploy"],
            "event_sources": ["User"],
            "action": "prepare_and_approve",
            "start": "now",
        },
        {
            "name": "disruption",
            "event_types": ["Freeze", "Reboot", "Redeploy"],
            "action": "prepare_and_approve",
            "start": {"before": "auto"},
        },
    ]
    assert default_policy() == parse_policy(DEFAULT_RULES)


@pytest.mark.parametrize(
    ("event_type", "source", "duration", "name"),
    [
        ("Preempt", "Platform", 0, "deletion"),
        ("Terminate", "User", None, "deletion"),
        ("Freeze", "Platform", 0, "short pause"),
        ("Freeze", "Platform", 10, "short pause"),
        ("Freeze", "Platform", 11, "disruption"),
        ("Freeze", "Platform", None, "disruption"),
        ("Freeze", "User", 11, "disruption"),
        ("Reboot", "User", 9, "asked for by us"),
        ("redeploy", "user", None, "asked for by us"),
        ("Reboot", "Platform", 9, "disruption"),
        ("Redeploy", None, 9, "disruption"),
        ("Reboot", "Somebody", 9, "disruption"),
        ("GuestImageUpdate", "Platform", 9, None),
    ],
)
def test_which_rule_of_the_default_decides(event_type: str, source: Optional[str], duration: Optional[int], name: Optional[str]) -> None:
    found = default_policy().rule_for(event(event_type, source, duration=duration))
    assert (found.name if found else None) == name


# Matching


@pytest.mark.parametrize(
    ("types", "matched"),
    [
        (None, ["Freeze", "Reboot", "Redeploy", "REBOOT"]),
        (["Preempt"], ["Preempt"]),
        (["unknown"], ["GuestImageUpdate", "unknown"]),
        (["terminate", "UNKNOWN"], ["Terminate", "GuestImageUpdate", "unknown"]),
    ],
)
def test_the_types_that_a_rule_matches(types: Optional[list], matched: list) -> None:
    keys = {} if types is None else {"event_types": types}
    every = ["Freeze", "Reboot", "Redeploy", "REBOOT", "Preempt", "Terminate", "GuestImageUpdate", "unknown"]
    assert [each for each in every if rule(**keys).matches(event(each))] == matched


@pytest.mark.parametrize(
    ("sources", "matched"),
    [
        (None, ["Platform", "User", "USER", "Somebody", None]),
        (["User"], ["User", "USER"]),
        (["Platform", "User"], ["Platform", "User", "USER"]),
    ],
)
def test_an_absent_source_matches_only_a_rule_without_the_key(sources: Optional[list], matched: list) -> None:
    keys = {} if sources is None else {"event_sources": sources}
    every = ["Platform", "User", "USER", "Somebody", None]
    assert [each for each in every if rule(**keys).matches(event(source=each))] == matched


@pytest.mark.parametrize(
    ("keys", "matched"),
    [
        ({}, [None, 0, 9, 10, 11, 60]),
        ({"max_duration": 10}, [0, 9, 10]),
        ({"min_duration": 10}, [10, 11, 60]),
        ({"min_duration": 10, "max_duration": 10}, [10]),
        ({"min_duration": 0}, [0, 9, 10, 11, 60]),
    ],
)
def test_an_unknown_duration_matches_no_limit(keys: Dict[str, Any], matched: list) -> None:
    """C-17."""
    every = [None, 0, 9, 10, 11, 60]
    assert [each for each in every if rule(**keys).matches(event(duration=each))] == matched


@pytest.mark.parametrize(
    ("patterns", "names", "matches"),
    [
        (["web_1"], ("web_1",), True),
        (["web_1"], ("WEB_1",), True),
        (["WEB_1"], ("web_1",), True),
        (["web_1"], ("web_10",), False),
        (["eb_1"], ("web_1",), False),
        (["web_*"], ("web_1", "web_22"), True),
        (["web_*"], ("web_1", "db_1"), False),
        (["web_*", "DB_?"], ("web_1", "db_1"), True),
        (["web_[!A-C]"], ("web_d",), True),
        (["web_[!A-C]"], ("web_B",), False),
        (["web_[b-b]"], ("web_b",), True),
        (["*"], (), False),
    ],
)
def test_all_names_of_the_event_fit_the_patterns(patterns: list, names: Tuple[str, ...], matches: bool) -> None:
    """C-20: whole names, without case."""
    assert rule(resources=patterns).matches(event(resources=names)) is matches


@pytest.mark.parametrize(
    ("names", "shared"), [((), False), (("a",), False), (("a", "A"), False), (("a", "b"), True), (("a", "b", "c"), True)]
)
def test_an_event_is_shared_by_more_than_one_vm(names: Tuple[str, ...], shared: bool) -> None:
    assert is_shared(event(resources=names)) is shared
    assert rule(shared=True).matches(event(resources=names)) is shared
    assert rule(shared=False).matches(event(resources=names)) is not shared
    assert rule().matches(event(resources=names)) is True


def test_every_condition_must_hold_and_the_first_rule_decides() -> None:
    policy = parse_policy(
        [
            {"name": "narrow", "event_sources": ["User"], "max_duration": 10, "resources": ["web_*"], "shared": False, "action": "ignore"},
            {"name": "wide", "action": "refuse"},
        ]
    )
    fitting: Dict[str, Any] = {"source": "User", "resources": ("web_1",), "duration": 10}
    for change, name in [
        ({}, "narrow"),
        ({"source": "Platform"}, "wide"),
        ({"duration": 11}, "wide"),
        ({"resources": ("db_1",)}, "wide"),
        ({"resources": ("web_1", "web_2")}, "wide"),
    ]:
        found = policy.rule_for(event(**{**fitting, **change}))
        assert found is not None
        assert found.name == name
    assert policy.rule_for(event("Preempt")) is None


# Refusals

RULE: Dict[str, Any] = {"name": "it", "action": "prepare_and_approve"}
KEYS = "name, event_types, event_sources, min_duration, max_duration, resources, shared, action, start, prepare_budget, approve_deletion"
BOOLEAN_HINT = "is not text; YAML makes a boolean of an unquoted yes, no, on or off: put it in quotes"
DURATION_HINT = "is not a duration: give seconds, or a number with s, m, h or d such as 15m"
BEFORE_HINT = "a mapping has the one key before, as in {before: 15m} or {before: auto}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"event_type": ["Reboot"]}, "rule 2 'it': 'event_type' is not a key of a rule; it has " + KEYS),
        ({True: "now"}, "rule 2 'it': True is not a key of a rule; it has " + KEYS),
        ({"name": ""}, "rule 2 '', name: '' is not text"),
        ({"name": 5}, "rule 2, name: 5 is not text"),
        ({"event_types": "Reboot"}, "rule 2 'it', event_types: 'Reboot' is not a list"),
        ({"event_types": None}, "rule 2 'it', event_types: None is not a list"),
        ({"event_types": {"Reboot": 1}}, "rule 2 'it', event_types: a dict is not a list"),
        ({"event_types": []}, "rule 2 'it', event_types: the list is empty"),
        (
            {"event_types": ["Reboot", "Rebot"]},
            "rule 2 'it', event_types: 'Rebot' is none of Freeze, Reboot, Redeploy, Preempt, Terminate, unknown",
        ),
        ({"event_types": [False]}, "rule 2 'it', event_types: False " + BOOLEAN_HINT),
        ({"event_types": [7]}, "rule 2 'it', event_types: 7 is not text"),
        ({"event_sources": []}, "rule 2 'it', event_sources: the list is empty"),
        ({"event_sources": ["unknown"]}, "rule 2 'it', event_sources: 'unknown' is none of Platform, User"),
        ({"min_duration": "soon"}, "rule 2 'it', min_duration: 'soon' " + DURATION_HINT),
        ({"min_duration": -1}, "rule 2 'it', min_duration: -1 " + DURATION_HINT),
        ({"max_duration": True}, "rule 2 'it', max_duration: True " + DURATION_HINT),
        ({"max_duration": "-5m"}, "rule 2 'it', max_duration: '-5m' " + DURATION_HINT),
        ({"max_duration": None}, "rule 2 'it', max_duration: None " + DURATION_HINT),
        ({"min_duration": 91, "max_duration": 90}, "rule 2 'it', min_duration: 1 min 31 s is more than max_duration, 1 min 30 s"),
        ({"resources": "web_*"}, "rule 2 'it', resources: 'web_*' is not a list"),
        ({"resources": []}, "rule 2 'it', resources: the list is empty"),
        ({"resources": [" "]}, "rule 2 'it', resources: ' ' is not text"),
        ({"resources": [12]}, "rule 2 'it', resources: 12 is not text"),
        ({"resources": ["ok", "web_[9-0]"]}, "rule 2 'it', resources: 'web_[9-0]' has a range that runs backwards"),
        ({"resources": ["x[a]y[!c-a]"]}, "rule 2 'it', resources: 'x[a]y[!c-a]' has a range that runs backwards"),
        ({"resources": ["[]-[]"]}, "rule 2 'it', resources: '[]-[]' has a range that runs backwards"),
        ({"shared": "yes"}, "rule 2 'it', shared: 'yes' is not true or false"),
        ({"shared": 1}, "rule 2 'it', shared: 1 is not true or false"),
        ({"shared": None}, "rule 2 'it', shared: None is not true or false"),
        ({"action": "drain"}, "rule 2 'it', action: 'drain' is none of refuse, ignore, approve, prepare, prepare_and_approve"),
        ({"action": False}, "rule 2 'it', action: False " + BOOLEAN_HINT),
        ({"action": ["prepare"]}, "rule 2 'it', action: a list is not text"),
        ({"start": "soon"}, "rule 2 'it', start: 'soon' is none of now, window, {before: 15m}, {before: auto}"),
        ({"start": "before"}, "rule 2 'it', start: 'before' is none of now, window, {before: 15m}, {before: auto}"),
        ({"start": True}, "rule 2 'it', start: True " + BOOLEAN_HINT),
        ({"start": None}, "rule 2 'it', start: None is not text"),
        ({"start": {}}, "rule 2 'it', start: " + BEFORE_HINT),
        ({"start": {"after": "15m"}}, "rule 2 'it', start: " + BEFORE_HINT),
        ({"start": {"before": "15m", "after": 1}}, "rule 2 'it', start: " + BEFORE_HINT),
        ({"start": {"before": "Auto"}}, "rule 2 'it', start: 'Auto' " + DURATION_HINT),
        ({"start": {"before": False}}, "rule 2 'it', start: False " + DURATION_HINT),
        ({"start": {"before": 0}}, "rule 2 'it', start: it must be longer than nothing"),
        ({"prepare_budget": 0}, "rule 2 'it', prepare_budget: it must be longer than nothing"),
        ({"prepare_budget": "5 minutes"}, "rule 2 'it', prepare_budget: '5 minutes' " + DURATION_HINT),
        ({"approve_deletion": "true"}, "rule 2 'it', approve_deletion: 'true' is not true or false"),
        ({"approve_deletion": True}, "rule 2 'it', approve_deletion: the rule approves no deletion"),
        (
            {"approve_deletion": True, "action": "prepare", "event_types": ["Preempt"]},
            "rule 2 'it', approve_deletion: the rule approves no deletion",
        ),
        (
            {"event_types": ["Reboot", "Preempt"]},
            "rule 2 'it', action: prepare_and_approve of Preempt, a deletion, needs approve_deletion: true as well",
        ),
        (
            {"event_types": ["terminate", "preempt"], "action": "approve", "approve_deletion": False},
            "rule 2 'it', action: approve of Terminate and Preempt, a deletion, needs approve_deletion: true as well",
        ),
    ],
)
def test_what_is_wrong_in_a_rule_is_refused_by_rule_and_key(change: Dict[Any, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_policy([{"name": "good", "action": "refuse"}, {**RULE, **change}])
    assert caught.value.message == message


@pytest.mark.parametrize("action", ["refuse", "ignore"])
def test_a_start_is_refused_where_nothing_starts(action: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        rule(action=action, start="now")
    assert caught.value.message == "rule 1 'it', start: there is nothing to start with the action %s" % action


@pytest.mark.parametrize("action", ["refuse", "ignore", "approve"])
def test_a_budget_is_refused_where_nothing_is_prepared(action: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        rule(action=action, prepare_budget=60)
    assert caught.value.message == "rule 1 'it', prepare_budget: there is nothing to prepare with the action %s" % action


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "None is not a list of rules"),
        ("refuse", "'refuse' is not a list of rules"),
        ({"action": "refuse"}, "a dict is not a list of rules"),
        ([], "the list of rules is empty: every event would be refused"),
        ([{"action": "refuse"}, None], "rule 2: None is not a mapping of keys to values"),
        ([["action"]], "rule 1: a list is not a mapping of keys to values"),
        ([{"name": "it"}], "rule 1 'it': the key action is missing"),
        ([{}], "rule 1: the key action is missing"),
        ([RULE, {"action": "refuse"}, {**RULE, "name": "IT"}], "rule 3 'IT', name: rule 1 has it already"),
        ([{"name": "Number 2", "action": "refuse"}, {"action": "refuse"}], "rule 2 'number 2', name: rule 1 has it already"),
    ],
)
def test_rules_are_a_list_of_mappings_with_names_of_their_own(values: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_policy(values)
    assert caught.value.message == message


def test_a_rule_without_a_name_is_known_by_its_number() -> None:
    assert [each.name for each in parse_policy([RULE, {"action": "refuse"}, {"action": "refuse"}]).rules] == ["it", "number 2", "number 3"]


def test_a_tuple_is_a_list_too_and_a_foreign_kind_of_text_is_text() -> None:
    """Ansible hands over its own kinds of list, mapping and text."""

    class Text(str):
        pass

    (parsed,) = parse_policy(({"name": Text("it"), "action": Text("prepare"), "resources": (Text("web_*"),)},)).rules
    assert parsed == Rule("it", "prepare", resources=("web_*",))
    assert {type(parsed.name), type((parsed.resources or ("",))[0]), type(parsed.action)} == {str}
