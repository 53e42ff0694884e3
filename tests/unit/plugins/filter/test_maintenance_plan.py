# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters that make a fleet and a plan of it, one after the other, as a role does it."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.cloud_maintenance.azure.plugins.filter import (
    maintenance_askers,
    maintenance_concerned,
    maintenance_fleet,
    maintenance_options,
    maintenance_plan,
    maintenance_standing,
)
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import NOW, event, heard, listed, status
from jinja2 import Undefined

MODULES = (
    maintenance_askers,
    maintenance_concerned,
    maintenance_fleet,
    maintenance_options,
    maintenance_plan,
    maintenance_standing,
)
FILTERS: Dict[str, Any] = {name: work for module in MODULES for name, work in module.FilterModule().filters().items()}
SCOPE = {"rolling_maintenance_scope": "s"}


def use(name: str, *given: Any, **named: Any) -> Any:
    """The result, through JSON, as facts are."""
    return json.loads(json.dumps(FILTERS["maintenance_" + name](*given, **named)))


def fleet(before: Any = None, **hostvars: Any) -> Any:
    return use("fleet", hostvars, list(hostvars), in_run=[name for name in hostvars if name != "outside"], before=before)


def test_a_plan_is_made_step_by_step() -> None:
    known = {name: {**listed("web_%s" % name), **SCOPE} for name in ("a", "b", "c")}
    first = fleet(**known)
    assert use("askers", first, 1) == ["a", "b"]
    answered = {name: heard("web_%s" % name, event(names="web_c", event_source="User"), **SCOPE) for name in ("a", "b")}
    second = fleet(before=first, **{**known, **answered})
    assert use("askers", second, 2) == []
    options = use("options", {"max_unavailable": "50%"})
    assert use("concerned", second, options, NOW, 5) == ["a", "b", "c"]
    told = {name: {**variables, "rolling_maintenance__status": status()} for name, variables in known.items()}
    third = fleet(before=second, **told)
    made = use("plan", third, options, str(NOW), "5")
    assert [wave["hosts"] for wave in made["waves"]] == [["c"]]
    assert made["events"][0]["witnesses"] == ["a", "b", "c"]
    assert use("standing", third, options, NOW, "a")["answer"] == "maintenance"


def test_every_key_of_an_event_is_documented() -> None:
    yaml = pytest.importorskip("yaml", reason="a target's bare Python has no parser for it")
    documented = yaml.safe_load(maintenance_plan.RETURN)["_value"]["contains"]
    made = use("plan", fleet(a=heard("web_0", event(), status=status())), use("options", {}), NOW)
    assert set(made) == set(documented)
    assert set(made["events"][0]) == set(documented["events"]["contains"])
    assert set(made["events"][0]["decision"]) == set(documented["events"]["contains"]["decision"]["contains"])


def test_nothing_that_comes_from_azure_or_from_a_host_is_a_template_afterwards() -> None:
    hostvars = {"a": heard("web_0", event(description="{{ lookup('pipe', 'id') }}"), status=status(problems=["{% raw %}"]))}
    known = fleet(**hostvars)
    assert "{{" not in json.dumps(known)
    made = use("plan", known, use("options", {}), NOW)
    assert made["events"][0]["event"]["description"] == "{ { lookup('pipe', 'id') }}"


def test_only_groups_that_count_are_kept() -> None:
    known = FILTERS["maintenance_fleet"]({"a": {"group_names": ["web", "all_of_us"]}}, ["a"], groups=["web"])
    assert known["hosts"][0]["groups"] == ["web"]
    assert known["hosts"][0]["in_run"] is False


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("askers", [Undefined()], "maintenance_askers: what it is used on is not defined, in whole or in part."),
        ("askers", [{"hosts": []}, "first"], "maintenance_askers: round is 'first', not a number"),
        ("fleet", [{}, "a,b"], "maintenance_fleet: names is 'a,b', not a list of names"),
        ("plan", [{"hosts": []}, {}, Undefined()], "maintenance_plan: argument 2 is not defined, in whole or in part."),
        ("plan", [{"hosts": []}, {}, "soon"], "maintenance_plan: now is 'soon', not a number"),
        ("plan", [{"hosts": []}, {"within": "soon"}, NOW], "maintenance_plan: rolling_maintenance_within: 'soon' is not a duration"),
        ("plan", [{"hosts": [{}]}, {}, NOW], "maintenance_plan: This is not a fleet that maintenance_fleet has made (KeyError 'name')."),
        ("concerned", [[], {}, NOW], "maintenance_concerned: This is not a fleet that maintenance_fleet has made"),
        ("standing", [{"hosts": []}, {}, NOW, "a"], "maintenance_standing: 'a' is no host of this fleet"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(name: str, given: Any, words: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        use(name, *given)
    assert str(refused.value).startswith(words)


def test_where_there_is_nobody_there_is_nothing_to_do() -> None:
    made = use("plan", {"hosts": []}, {}, NOW)
    assert (made["events"], made["waves"], made["blind"]) == ([], [], [])
    assert use("concerned", {"hosts": []}, {}, NOW) == []
    assert use("askers", {"hosts": []}) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_each_filter_is_named_as_its_file(module: Any) -> None:
    assert list(module.FilterModule().filters()) == [module.__name__.rpartition(".")[2]]
