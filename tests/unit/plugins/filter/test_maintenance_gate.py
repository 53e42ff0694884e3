# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance_gate, with what templates hand to it."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping

import pytest
from ansible.errors import AnsibleUndefinedVariable
from ansible_collections.cloud_maintenance.azure.plugins.filter import maintenance_gate
from ansible_collections.cloud_maintenance.azure.plugins.filter.maintenance_gate import FilterModule
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import Night, answered, entry, key_of
from jinja2 import StrictUndefined

E1 = key_of("E1")


class Variables(Mapping[str, Any]):
    """Of a host, as Ansible has them: what cannot be templated raises when it is looked at."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        if value is StrictUndefined:
            raise AnsibleUndefinedVariable("it is undefined")
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def asked(night: Night, **changes: Any) -> Any:
    gate = FilterModule().filters()["maintenance_gate"]
    given = {"plan": night.plan, "options": night.options, "hostvars": night.hostvars, "now": night.now, "step": "vote", **changes}
    return gate(given.pop("wave", night.wave), **given)


@pytest.fixture
def night() -> Night:
    made = Night(entry("E1", "web1 web2"))
    made.give_word()
    return made


def test_it_gives_the_verdict_on_each_component(night: Night) -> None:
    verdicts = asked(night)
    assert verdicts == night.gate("vote")
    assert verdicts["1.1"]["ready"] == {E1: ["vm-web1", "vm-web2"]}


def test_every_key_of_a_verdict_is_documented(night: Night) -> None:
    yaml = pytest.importorskip("yaml", reason="a target's bare Python has no parser for it")
    assert set(asked(night)["1.1"]) == set(yaml.safe_load(maintenance_gate.RETURN)["_value"]["contains"])


def test_numbers_can_be_text(night: Night) -> None:
    assert asked(night, now=str(night.now))["1.1"]["go"]


def test_capacity_is_counted_again(night: Night) -> None:
    night.plan["capacity"]["limits"][0]["most_out"] = 2
    assert asked(night, step="gate")["1.1"]["go"]
    assert not asked(night, step="gate", counted={"db1": {"unreachable": True}})["1.1"]["go"]


@pytest.mark.parametrize("fact", ["answer", "status", "prepared", "committed"])
@pytest.mark.parametrize("value", [StrictUndefined, StrictUndefined(name="x"), None])
def test_what_is_undefined_is_no_yes(night: Night, fact: str, value: Any) -> None:
    night.tell("web2", **{fact: value})
    hostvars = {name: Variables(values) for name, values in night.hostvars.items()}
    verdict = asked(night, hostvars=Variables(hostvars))["1.1"]
    assert (verdict["go"], list(verdict["refused"])) == (False, [E1])


def test_a_host_that_cannot_be_looked_up_has_said_nothing(night: Night) -> None:
    hostvars = Variables({**night.hostvars, "web2": StrictUndefined})
    assert not asked(night, hostvars=hostvars)["1.1"]["go"]


@pytest.mark.parametrize("argument", ["plan", "options", "hostvars", "now", "step", "counted"])
@pytest.mark.parametrize("value", [StrictUndefined(name="x"), None, "words", 7, []])
def test_no_argument_makes_it_fail_in_the_middle_of_a_wave(night: Night, argument: str, value: Any) -> None:
    verdicts = asked(night, **{argument: value})
    assert list(verdicts) == ["1.1"]
    assert json.loads(json.dumps(verdicts)) == verdicts
    if argument in ("plan", "hostvars", "step"):
        assert not verdicts["1.1"]["go"]


@pytest.mark.parametrize("wave", [StrictUndefined(name="x"), None, "words", 7, [], {}])
def test_what_is_no_wave_has_no_verdict(night: Night, wave: Any) -> None:
    assert asked(night, wave=wave) == {}


def test_nothing_that_a_host_says_is_a_template(night: Night) -> None:
    said = answered("commit", "E1", "commit_refused", "PREPARED", message="{{ lookup('pipe', 'id') }}")
    night.tell("web2", committed={E1: said})
    assert "{{" not in json.dumps(asked(night))
