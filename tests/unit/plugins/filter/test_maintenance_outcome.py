# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance_outcome, with what templates hand to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.filter.maintenance_outcome import FilterModule
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import Night, entry
from jinja2 import StrictUndefined


def asked(night: Night, **changes: Any) -> Any:
    outcome = FilterModule().filters()["maintenance_outcome"]
    given = {"options": night.options, "hostvars": night.hostvars, "now": night.now, **changes}
    return outcome(given.pop("plan", night.plan), **given)


@pytest.fixture
def night() -> Night:
    made = Night(entry("E1", "web1 web2"))
    made.give_word()
    return made


def test_it_says_what_came_of_the_run(night: Night) -> None:
    assert asked(night) == night.outcome(final=False)
    assert asked(night, final=True) == night.outcome(final=True)
    assert asked(night, check=True) == night.outcome(final=False, check=True)


def test_conditions_can_be_text(night: Night) -> None:
    assert asked(night, final="True") == night.outcome(final=True)
    assert asked(night, final="False", check="False") == night.outcome(final=False)


@pytest.mark.parametrize("argument", ["plan", "options", "hostvars", "now", "final", "check"])
@pytest.mark.parametrize("value", [StrictUndefined(name="x"), None, "words", 7, [], {}])
def test_no_argument_keeps_it_from_telling(night: Night, argument: str, value: Any) -> None:
    told = asked(night, **{argument: value})
    assert set(told) == {"result", "events", "failures", "summary", "due_next"}
    assert json.loads(json.dumps(told)) == told


def test_nothing_that_a_host_says_is_a_template(night: Night) -> None:
    night.tell("web2", trouble=["{{ lookup('pipe', 'id') }}"])
    told = json.dumps(asked(night))
    assert "lookup" in told
    assert "{{" not in told
