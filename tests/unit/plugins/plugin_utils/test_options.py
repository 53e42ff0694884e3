# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a run: every form in which one may come, and one sentence for each thing that is wrong."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Settings, policy_hash
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import DEFAULT_RULES, default_policy
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import (
    HOOKS,
    Bounds,
    Options,
    Share,
    convert,
    defaults,
    options_of,
    result_of,
    zones_named,
)
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import BERLIN

DIGEST = "0123456789abcdef" * 4
NIGHT = {"days": ["Sat"], "from": "22:00", "to": "04:00", "timezone": "Europe/Berlin"}
RULE = {"name": "it", "action": "prepare"}


def converted(key: str, value: Any) -> Any:
    """What becomes of one option."""
    return convert({key: value})[key]


def refusal(raw: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        convert(raw)
    return caught.value.message


def hook(**values: Any) -> Dict[str, Any]:
    return {"tasks": None, "role": None, "tasks_from": "main", "vars": {}, **values}


# Without a word of the user


def test_the_defaults_are_those_of_the_policy() -> None:
    assert defaults() == {
        "hosts": "all",
        "rules": DEFAULT_RULES,
        "windows": [],
        "prepare_budget": 300.0,
        "approve_reserve": 60.0,
        "recover_budget": 120.0,
        "max_unavailable": 1,
        "min_available": 1,
        "groups": {},
        "allow_unmanaged": [],
        "within": 0.0,
        "period": 0.0,
        "lease": 600.0,
        "prepare_timeout": None,
        "start_timeout": 900.0,
        "watch_timeout": 3600.0,
        "return_timeout": 900.0,
        "recover_timeout": 600.0,
        "settle": 10.0,
        "look": 20.0,
        "ask": False,
        "ask_timeout": 600.0,
        "plan_digest": None,
        "run_id": None,
        "driver": "playbook",
        "evidence_dir": "~/.azure_maintenance/evidence",
        "recount_at_most": 50,
        "discover_timeout": 10.0,
        "gate_within": 3600.0,
        **{name: [] for name in HOOKS},
    }


def test_there_is_a_hook_on_either_side_of_each_phase() -> None:
    phases = "discover plan prepare gate approve watch recover publish"
    assert list(HOOKS) == ["%s_%s" % (side, phase) for phase in phases.split() for side in ("before", "after")]


def test_without_options_each_has_its_default() -> None:
    assert convert({}) == defaults()


@pytest.mark.parametrize("nothing", [None, "", "  ", "\n"])
def test_an_empty_field_of_a_survey_is_no_word_at_all(nothing: Any) -> None:
    """But for a file that somebody does not want."""
    assert convert(dict.fromkeys(defaults(), nothing)) == {**defaults(), "evidence_dir": None}


def test_what_was_made_of_the_options_may_come_back_with_them() -> None:
    assert convert({**defaults(), "policy_hash": "old", "hooks_wanted": ["before_prepare"]}) == defaults()


# One value


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("hosts", "web:&azure", "web:&azure"),
        ("hosts", " web,\n db ", "web, db"),
        ("hosts", ["web_1", "web_2"], "web_1,web_2"),
        ("hosts", ("web_1",), "web_1"),
        ("prepare_budget", "90s", 90.0),
        ("prepare_budget", "90", 90.0),
        ("prepare_budget", 90, 90.0),
        ("approve_reserve", "0", 0.0),
        ("recover_budget", 0, 0.0),
        ("within", "2h", 7200.0),
        ("period", "1d", 86400.0),
        ("period", "366d", 31622400.0),
        ("lease", "1d", 86400.0),
        ("prepare_timeout", "15m", 900.0),
        ("max_unavailable", 2, 2),
        ("max_unavailable", " 2 ", 2),
        ("max_unavailable", "0", 0),
        ("max_unavailable", "20%", {"percent": 20}),
        ("max_unavailable", " 20 % ", {"percent": 20}),
        ("max_unavailable", {"percent": "100"}, {"percent": 100}),
        ("min_available", "0%", {"percent": 0}),
        ("groups", {"web": {"max_unavailable": "10%"}}, {"web": {"max_unavailable": {"percent": 10}, "min_available": 1}}),
        ("groups", '{"web": {"min_available": 2}}', {"web": {"max_unavailable": 1, "min_available": 2}}),
        ("groups", {2024: {"min_available": 2}}, {"2024": {"max_unavailable": 1, "min_available": 2}}),
        ("allow_unmanaged", "web_1, Web_2,", ["web_1", "Web_2"]),
        ("allow_unmanaged", '["web_1", "web_2"]', ["web_1", "web_2"]),
        ("allow_unmanaged", ["web_1", 7], ["web_1", "7"]),
        ("rules", json.dumps([RULE]), [RULE]),
        ("rules", (RULE,), [RULE]),
        ("windows", json.dumps([NIGHT]), [NIGHT]),
        ("windows", "[]", []),
        ("plan_digest", DIGEST, DIGEST),
        ("run_id", 4711, "4711"),
        ("run_id", " job  4711 ", "job 4711"),
        ("driver", "awx", "awx"),
        ("evidence_dir", "/var/log/evidence", "/var/log/evidence"),
        ("evidence_dir", "~/evidence", "~/evidence"),
        ("recount_at_most", "0", 0),
        ("recount_at_most", 999999, 999999),
    ],
)
def test_a_value_in_each_form_in_which_it_may_come(key: str, value: Any, expected: Any) -> None:
    assert converted(key, value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((word, True) for word in (True, 1, "true", "True", " YES ", "on", "1")),
        *((word, False) for word in (False, 0, "false", "False", "no", " Off", "0")),
    ],
)
def test_the_word_false_is_not_true(value: Any, expected: bool) -> None:
    assert converted("ask", value) is expected


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("hosts", True, "True is not text"),
        ("hosts", 1.5, "1.5 is not text"),
        ("hosts", {"web": 1}, "a dict is not text"),
        ("hosts", "web\x00", "'web\\x00' is not a line of text"),
        ("hosts", ["web", " "], "a name is empty"),
        ("hosts", [], "it names no host"),
        ("prepare_budget", "soon", "'soon' is not a duration: give seconds, or a number with s, m, h or d such as 15m"),
        ("prepare_budget", 0, "it must be longer than nothing"),
        ("prepare_budget", -1, "-1 is not a duration: give seconds, or a number with s, m, h or d such as 15m"),
        ("within", "367d", "'367d' is more than 366 d"),
        ("lease", "0", "it must be longer than nothing"),
        ("lease", "25h", "'25h' is more than a day"),
        ("max_unavailable", "few", "'few' is neither a number of hosts nor a share such as 20%"),
        ("max_unavailable", -1, "-1 is neither a number of hosts nor a share such as 20%"),
        ("max_unavailable", True, "True is neither a number of hosts nor a share such as 20%"),
        ("max_unavailable", 1.0, "1.0 is neither a number of hosts nor a share such as 20%"),
        ("max_unavailable", "1000000", "'1000000' is neither a number of hosts nor a share such as 20%"),
        ("max_unavailable", "101%", "101% is more than all"),
        ("max_unavailable", {"percent": 101}, "101% is more than all"),
        ("max_unavailable", {"percent": "x"}, "'x' is not a number of hosts"),
        ("max_unavailable", {"share": 1}, "a dict is neither a number of hosts nor a share such as 20%"),
        ("recount_at_most", 1000000, "1000000 is not a number of hosts"),
        ("groups", "web", "'web' is neither YAML nor JSON of it"),
        ("groups", "[]", "'[]' is neither YAML nor JSON of it"),
        ("groups", ["web"], "a list is not a dictionary of groups"),
        ("groups", {"web": {}}, "group 'web' has not just max_unavailable and min_available"),
        ("groups", {"web": 1}, "group 'web' has not just max_unavailable and min_available"),
        ("groups", {"web": {"max": 1}}, "group 'web' has not just max_unavailable and min_available"),
        (
            "groups",
            {"web": {"max_unavailable": "x"}},
            "group 'web', max_unavailable: 'x' is neither a number of hosts nor a share such as 20%",
        ),
        ("groups", {" ": {"max_unavailable": 1}}, "the name of a group is empty"),
        (
            "groups",
            {"all": {"max_unavailable": 1}},
            "the bounds of all hosts are rolling_maintenance_max_unavailable and rolling_maintenance_min_available",
        ),
        ("allow_unmanaged", 5, "5 is not a list"),
        ("allow_unmanaged", "[web_1", "'[web_1' is neither YAML nor JSON of it"),
        ("allow_unmanaged", ["web_1", ""], "a name is empty"),
        ("allow_unmanaged", ["web_1", ["web_2"]], "a list is not text"),
        ("rules", "now", "'now' is neither YAML nor JSON of it"),
        ("rules", "[NaN]", "'[NaN]' is neither YAML nor JSON of it"),
        ("rules", '[{"name": "a", "name": "b"}]', '\'[{"name": "a", "name": "b"}]\' is neither YAML nor JSON of it'),
        ("rules", [], "the list of rules is empty: every event would be refused"),
        ("rules", [{"action": "panic"}], "rule 1, action: 'panic' is none of refuse, ignore, approve, prepare, prepare_and_approve"),
        ("windows", [{"to": "04:00"}], "window 1: the key from is missing"),
        ("ask", "maybe", "'maybe' is neither true nor false"),
        ("ask", 2, "2 is neither true nor false"),
        ("ask", ["yes"], "a list is neither true nor false"),
        ("plan_digest", "abc", "'abc' is not the digest of a plan"),
        ("plan_digest", DIGEST + "0", "'%s... is not the digest of a plan" % DIGEST[:59]),
        ("run_id", ["4711"], "a list is not text"),
        ("driver", " Agent", "this name belongs to the agent of a host"),
        ("evidence_dir", "evidence", "'evidence' is not an absolute path"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(key: str, value: Any, why: str) -> None:
    assert refusal({key: value}) == "rolling_maintenance_%s: %s." % (key, why)


@pytest.mark.parametrize("depth", [63, 100, 10**5])
def test_text_that_is_nested_too_deeply_is_not_json(depth: int) -> None:
    assert "is neither YAML nor JSON of it" in refusal({"rules": "[" * depth}) + refusal({"allow_unmanaged": "[" * depth})


@pytest.mark.parametrize("name", ["all", "ALL", "any", "ungrouped", "web_*", "web_?", "web_[0-9]", "!web_1", "~web"])
def test_nobody_can_allow_more_than_he_names(name: str) -> None:
    """W-53: an approval is for all VMs of an event, and so nobody says yes for one that he has not looked at."""
    why = "%r is not the whole name of one VM; name each VM that may be hit without being prepared" % name
    assert refusal({"allow_unmanaged": ["web_1", name]}) == "rolling_maintenance_allow_unmanaged: %s." % why


def test_everything_that_is_wrong_is_said_at_once() -> None:
    raw = {"within": "soon", "ask": "maybe", "withn": 1, "two words": 1, 7: 1}
    assert refusal(raw) == (
        "rolling_maintenance_withn: there is no such option. rolling_maintenance_'two words': there is no such option. "
        "rolling_maintenance_7: there is no such option. "
        "rolling_maintenance_within: 'soon' is not a duration: give seconds, or a number with s, m, h or d such as 15m. "
        "rolling_maintenance_ask: 'maybe' is neither true nor false."
    )


@pytest.mark.parametrize(("raw", "said"), [(None, "None"), ("{}", "'{}'"), ([], "a list"), (object(), "a object")])
def test_options_are_a_dictionary(raw: Any, said: str) -> None:
    assert refusal(raw) == "The options are %s, not a dictionary." % said


def test_a_group_has_the_bound_that_it_does_not_give_from_the_whole() -> None:
    groups = {"web": {"max_unavailable": 2}, "db": {"min_available": "50%"}}
    assert convert({"groups": groups, "max_unavailable": "10%", "min_available": 3})["groups"] == {
        "web": {"max_unavailable": 2, "min_available": 3},
        "db": {"max_unavailable": {"percent": 10}, "min_available": {"percent": 50}},
    }


# Extension points


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/etc/drain.yml", [hook(tasks="/etc/drain.yml")]),
        ("/etc/a.yml,/etc/b.yml", [hook(tasks="/etc/a.yml"), hook(tasks="/etc/b.yml")]),
        (["/etc/a.yml", {"tasks": "/etc/b.yml"}], [hook(tasks="/etc/a.yml"), hook(tasks="/etc/b.yml")]),
        ('["/etc/a.yml"]', [hook(tasks="/etc/a.yml")]),
        ({"tasks": "/etc/a.yml", "vars": {"pool": "web"}}, [hook(tasks="/etc/a.yml", vars={"pool": "web"})]),
        (' {"tasks": "/etc/a.yml", "vars": {"pool": [1, 2]}}', [hook(tasks="/etc/a.yml", vars={"pool": [1, 2]})]),
        ({"role": "acme.lb.drain"}, [hook(role="acme.lb.drain")]),
        ({"role": "acme.lb.sub.drain", "tasks_from": "out"}, [hook(role="acme.lb.sub.drain", tasks_from="out")]),
        ({"role": "/roles/drain", "tasks_from": "out.yml"}, [hook(role="/roles/drain", tasks_from="out")]),
        ({"role": "/roles/drain", "tasks_from": "out.v2.yaml"}, [hook(role="/roles/drain", tasks_from="out.v2")]),
        ({"role": "/roles/drain", "tasks_from": None, "vars": None}, [hook(role="/roles/drain")]),
    ],
)
def test_an_extension_is_a_path_or_a_role(value: Any, expected: List[Dict[str, Any]]) -> None:
    assert converted("before_prepare", value) == expected
    assert converted("before_prepare", expected) == expected


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (5, "5 is not a list"),
        ("{tasks: /etc/a.yml}", "'{tasks: /etc/a.yml}' is neither YAML nor JSON of it"),
        (
            "hooks/drain.yml",
            "entry 1: 'hooks/drain.yml' is not an absolute path, and files beside your playbook cannot be seen from here",
        ),
        (["/a.yml", 5], "entry 2: it is neither a path nor a dictionary of tasks, role, tasks_from, vars"),
        ([{"file": "/a.yml"}], "entry 1: it is neither a path nor a dictionary of tasks, role, tasks_from, vars"),
        ([{}], "entry 1: it needs either tasks or role"),
        ([{"tasks": "/a.yml", "role": "a.b.c"}], "entry 1: it needs either tasks or role"),
        (
            [{"role": "drain"}],
            "entry 1: 'drain' is neither the full name of a role, namespace.collection.role, nor an absolute path to one",
        ),
        ([{"role": "/r", "tasks_from": "../other"}], "entry 1: tasks_from: '../other' is not the name of a file of tasks"),
        ([{"role": "/r", "tasks_from": ""}], "entry 1: tasks_from: '' is not the name of a file of tasks"),
        ([{"role": "/r", "tasks_from": "out.yml.yml"}], "entry 1: tasks_from: 'out.yml.yml' is not the name of a file of tasks"),
        ([{"role": "/r", "vars": ["x"]}], "entry 1: vars: a list is not a dictionary"),
        ([{"role": "/r", "vars": {"two words": 1}}], "entry 1: vars: 'two words' cannot be set here"),
        ([{"role": "/r", "vars": {5: 1}}], "entry 1: vars: 5 cannot be set here"),
        ([{"role": "/r", "vars": {"rolling_maintenance_lease": 1}}], "entry 1: vars: 'rolling_maintenance_lease' cannot be set here"),
    ],
)
def test_an_extension_that_could_not_be_found_is_refused_before_anything_is_touched(value: Any, why: str) -> None:
    assert refusal({"after_gate": value}) == "rolling_maintenance_after_gate: %s." % why


# As values


@pytest.mark.parametrize(
    ("share", "hosts", "at_most", "at_least"),
    [
        (Share(count=0), 9, 0, 0),
        (Share(count=3), 2, 3, 3),
        (Share(percent=0), 9, 0, 0),
        (Share(percent=1), 9, 1, 1),
        (Share(percent=20), 9, 1, 2),
        (Share(percent=20), 10, 2, 2),
        (Share(percent=50), 3, 1, 2),
        (Share(percent=100), 7, 7, 7),
        (Share(percent=10), 0, 1, 0),
    ],
)
def test_a_share_is_rounded_to_the_side_that_keeps_more_hosts_in_service(share: Share, hosts: int, at_most: int, at_least: int) -> None:
    assert (share.at_most(hosts), share.at_least(hosts)) == (at_most, at_least)


def test_the_values_are_those_of_the_options() -> None:
    raw: Mapping[str, Any] = {
        "prepare_budget": 100,
        "approve_reserve": 20,
        "recover_budget": 30,
        "max_unavailable": "20%",
        "min_available": 2,
        "groups": {"web": {"min_available": "50%"}},
        "allow_unmanaged": ["Web_1"],
        "within": "1h",
        "period": "1d",
        "settle": 5,
        "watch_timeout": 700,
        "driver": "awx",
        "run_id": 4711,
        "plan_digest": DIGEST,
        "recount_at_most": 3,
        "gate_within": "5m",
    }
    settings = Settings(prepare_budget=100.0, approve_reserve=20.0, recover_budget=30.0)
    assert options_of(convert(raw), {}) == Options(
        policy=default_policy(),
        settings=settings,
        policy_hash=policy_hash(default_policy(), settings),
        overall=Bounds(Share(percent=20), Share(count=2)),
        groups={"web": Bounds(Share(percent=20), Share(percent=50))},
        allow_unmanaged=frozenset({"web_1"}),
        wait=3600,
        period=86400,
        settle=5,
        watch_timeout=700,
        driver="awx",
        run_id="4711",
        plan_digest=DIGEST,
        recount_at_most=3,
        gate_within=300,
    )


def test_windows_bring_the_data_of_their_zones() -> None:
    given = convert({"windows": [NIGHT, {**NIGHT, "timezone": "UTC"}, NIGHT]})
    assert zones_named(given) == ["Europe/Berlin", "UTC"]
    windows = options_of(given, {"Europe/Berlin": BERLIN}).settings.windows
    assert [window.zone and window.zone.name for window in windows] == ["Europe/Berlin", "UTC", "Europe/Berlin"]
    assert zones_named(convert({})) == []


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"windows": [NIGHT]}, "window 1, timezone: there are no data for 'Europe/Berlin', the window can never be open"),
        ({"rules": [{**RULE, "start": "window"}]}, "rule it, start: there is no window"),
        (
            {"rules": [{**RULE, "start": {"before": "4m"}}]},
            "rule it, start: 4 min before NotBefore is too late, 5 min 30 s are needed",
        ),
    ],
)
def test_rules_windows_and_budgets_have_to_fit_together(raw: Mapping[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        options_of(convert(raw), {})
    assert caught.value.message == "rolling_maintenance_rules: %s." % why


def test_a_role_keeps_the_options_with_what_is_made_of_them() -> None:
    given = convert({"after_watch": "/a.yml", "before_discover": "/b.yml"})
    options = options_of(given, {})
    kept = result_of(given, options)
    assert kept == {**given, "policy_hash": options.policy_hash, "hooks_wanted": ["before_discover", "after_watch"]}
    assert convert(kept) == given
    assert json.loads(json.dumps(kept)) == kept
