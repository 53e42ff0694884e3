# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance_report, with what templates hand to it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.filter.maintenance_report import FilterModule
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._report import report
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import Night, entry
from jinja2 import StrictUndefined

show = FilterModule().filters()["maintenance_report"]


def test_it_shows_the_plan() -> None:
    night = Night(entry("E1", "web1 web2"))
    assert show(night.plan, night.options) == report(night.plan, night.options)
    assert show(night.plan) == report(night.plan, None)


@pytest.mark.parametrize("value", [StrictUndefined(name="x"), None, "words", 7, [], {}])
def test_no_plan_is_no_maintenance(value: Any) -> None:
    assert show(value, value) == "Azure announces no maintenance to these hosts."


def test_nothing_in_a_plan_is_a_template() -> None:
    night = Night(entry("E1", "web1", reason="{{ 7 * 7 }}"))
    assert "{{" not in show(night.plan, night.options)
