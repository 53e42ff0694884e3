# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of the options of a run, whatever comes for them (`_options`)."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Mapping, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import HOOKS, convert, defaults, options_of, result_of
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.dice import Dice, thrown
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import BERLIN
from hypothesis import given
from hypothesis import strategies as st

KEYS = sorted(defaults())
# What is right for one option is at hand for every other one.
DURATIONS: List[Any] = [0, 5, 90.5, "90s", "15m", "2h", "7d", 86400]
SHARES: List[Any] = [0, 1, 3, "2", "20%", "100 %", {"percent": 30}]
NAMES: List[Any] = [[], ["web_1"], ["web_1", "Web_2", 7]]
RULES: List[Any] = [
    {"action": "refuse"},
    {"name": "it", "action": "prepare", "start": {"before": "15m"}, "resources": ["web_*"], "shared": True},
    {"name": "night", "action": "prepare_and_approve", "start": "window", "prepare_budget": 90, "max_duration": 9.5},
    {"name": "end", "event_types": ["Terminate"], "action": "approve", "approve_deletion": True},
]
WINDOWS: List[Any] = [
    {"from": "22:00", "to": "04:00", "timezone": "Europe/Berlin"},
    {"days": ["Sat", "sunday"], "from": "00:00", "to": "24:00", "timezone": "UTC"},
]
ENTRIES: List[Any] = [
    "/etc/drain.yml",
    {"tasks": "/etc/pool.yml", "vars": {"pool": ["a", 1, None, {"b": 0.5}]}},
    {"role": "acme.lb.drain", "tasks_from": "out.yml"},
    {"role": "/roles/drain"},
]
GROUPS: List[Any] = [{"web": {"max_unavailable": 2}}, {"web": {"min_available": "30%"}, "db": {"max_unavailable": 0, "min_available": 1}}]
DIGEST = "0123456789abcdef" * 4


def _some(choices: List[Any]) -> Callable[[Dice], Any]:
    return lambda dice: dice.one_of(choices)


def _several(choices: List[Any]) -> Callable[[Dice], Any]:
    """A list without the same twice, in the order of the choices."""
    return lambda dice: [choice for choice in choices if dice.below(2)]


def _hook(dice: Dice) -> Any:
    entries = _several(ENTRIES)(dice)
    return entries[0] if len(entries) == 1 and dice.below(2) else entries


GOOD: Mapping[str, Callable[[Dice], Any]] = {
    "hosts": _some(["all", "web:&azure", "web_1,web_2", 7]),
    "rules": lambda dice: _several(RULES)(dice) or RULES[:1],
    "windows": _several(WINDOWS),
    **{key: _some(SHARES) for key in ("max_unavailable", "min_available")},
    "groups": _some([{}, *GROUPS]),
    "allow_unmanaged": _some(NAMES),
    "lease": _some([1, "10m", "1d"]),
    "ask": _some([True, False]),
    "plan_digest": _some([None, DIGEST]),
    "run_id": _some([None, 4711, "4711"]),
    "driver": _some(["playbook", "awx"]),
    "evidence_dir": _some([None, "/evidence", "~/evidence"]),
    "recount_at_most": _some([0, 50]),
    **{key: _some(DURATIONS) for key in ("approve_reserve", "recover_budget", "within", "period", "settle", "gate_within")},
    **dict.fromkeys(HOOKS, _hook),
}
POSITIVE: Callable[[Dice], Any] = _some(DURATIONS[1:])
# Drawn once for each example: drawing whole trees of them would take minutes.
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["", " ", "all", "20%", "[", "{", "[]", "{}", '["a"]', '{"a": 1}', "[NaN]", "true", "15m", "\ud800", "/x", "{{ x }}"]),
)
WORDS = ["percent", "max_unavailable", "web", "name", "action", "start", "before", "from", "to", "timezone", "tasks", "role", "vars", "x y"]


def wrapped(value: Any, dice: Dice) -> Any:
    """In lists and dictionaries, beside others."""
    for _depth in range(dice.below(4)):
        shape, word = dice.below(4), dice.one_of(WORDS)
        if shape == 0:
            value = [value]
        elif shape == 1:
            value = {word: value}
        elif shape == 2:
            value = [dice.one_of([*RULES, *WINDOWS, *ENTRIES, "web_1"]), value]
        else:
            value = {**dice.one_of([*RULES, *WINDOWS, *GROUPS, *ENTRIES[1:]]), word: value}
    return value


def good(dice: Dice) -> Dict[str, Any]:
    """Some options, each in one of the forms that it may have."""
    wanted = [key for key in KEYS if dice.below(4) == 0]
    return {key: GOOD.get(key, POSITIVE)(dice) for key in wanted}


def as_text(value: Any) -> str:
    """As a survey sends it: text is itself, nothing is empty, and everything else is JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and list(value) == ["percent"]:
        return "%d%%" % value["percent"]
    return "" if value is None else json.dumps(value)


def refused(work: Callable[[], Any]) -> Tuple[Any, str]:
    """What comes of it, or the sentence with which it is refused; any other failure is one of the test."""
    try:
        return work(), ""
    except ConfigurationError as error:
        return None, error.message


@given(scalars, thrown(12))
def test_whatever_comes_is_converted_or_refused_in_words(scalar: Any, dice: bytes) -> None:
    throws = Dice(dice)
    value = wrapped(scalar, throws)
    first, sentence = refused(lambda: convert({throws.one_of([*KEYS, "policy_hash", "withn"]): value}))
    if first is None:
        assert sentence.startswith("rolling_maintenance_")
        assert sentence.isprintable()
        return
    assert sorted(first) == KEYS
    assert convert(first) == first


@given(thrown(60))
def test_what_was_converted_comes_out_the_same_also_after_a_survey_and_a_fact(dice: bytes) -> None:
    native = good(Dice(dice))
    converted = convert(native)
    assert convert({key: as_text(value) for key, value in native.items()}) == converted
    options, sentence = refused(lambda: options_of(converted, {"Europe/Berlin": BERLIN}))
    kept = converted if options is None else result_of(converted, options)
    travelled = json.loads(json.dumps(kept))
    assert travelled == kept
    assert convert(travelled) == converted
    assert options is not None or sentence.startswith("rolling_maintenance_rules: ")
