# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance_options, with what templates hand to it."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.cloud_maintenance.azure.plugins.filter.maintenance_options import FilterModule
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import defaults
from jinja2 import Undefined

convert = FilterModule().filters()["maintenance_options"]


def test_a_survey_sends_text_for_everything() -> None:
    made = convert({"max_unavailable": "20%", "within": "2h", "allow_unmanaged": "vm_1, vm_2", "before_gate": '["/etc/ask.yml"]'})
    assert (made["max_unavailable"], made["within"], made["allow_unmanaged"]) == ({"percent": 20}, 7200.0, ["vm_1", "vm_2"])
    assert made["hooks_wanted"] == ["before_gate"]
    assert len(made["policy_hash"]) == 64


def test_what_was_converted_before_comes_out_the_same() -> None:
    once = convert({"max_unavailable": "20%", "windows": '[{"from": "22:00", "to": "04:00", "timezone": "Europe/Berlin"}]'})
    assert convert(once) == once
    assert set(once) == {*defaults(), "policy_hash", "hooks_wanted"}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"withn": "2h"}, "maintenance_options: rolling_maintenance_withn: there is no such option."),
        ("words", "maintenance_options: The options are 'words', not a dictionary."),
        (
            {"rules": [{"action": "prepare", "start": "window"}]},
            "maintenance_options: rolling_maintenance_rules: rule number 1, start: there is no window.",
        ),
        (Undefined(), "maintenance_options: what it is used on is not defined, in whole or in part."),
        ({"within": Undefined()}, "maintenance_options: what it is used on is not defined, in whole or in part."),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(raw: object, words: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        convert(raw)
    assert str(refused.value) == words


def test_options_that_hosts_do_not_have_alike_are_refused_in_a_sentence() -> None:
    hostvars = {"a": {}, "b": {"rolling_maintenance_ask": True}}
    assert convert({}, hostvars=hostvars, hosts=["a"])["ask"] is False
    with pytest.raises(AnsibleFilterError) as refused:
        convert({}, hostvars=hostvars, hosts=["a", "b"])
    assert str(refused.value).startswith(
        "maintenance_options: rolling_maintenance_ask: it counts for the whole run, and a and b do not have"
    )
