# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that a filter gives is taken for a template."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._harmless import harmless
from jinja2 import Environment


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("{{ lookup('pipe', 'id') }}", "{ { lookup('pipe', 'id') }}"),
        ("{% set x = 1 %}", "{ % set x = 1 %}"),
        ("{# note #}", "{ # note #}"),
        ("{{{{", "{ { { {"),
        ("{{% x", "{ { % x"),
        ("{", "{"),
        ("{}", "{}"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        (None, None),
        (True, True),
        (7, 7),
        (0.5, 0.5),
        (["{{ a }}", ("{{ b }}", 1)], ["{ { a }}", ["{ { b }}", 1]]),
        ({"{{ a }}": {"b": ["{{ c }}"]}}, {"{ { a }}": {"b": ["{ { c }}"]}}),
        (MappingProxyType({"a": "{{ b }}"}), {"a": "{ { b }}"}),
    ],
)
def test_what_ansible_would_take_for_a_template_is_taken_apart(value: Any, expected: Any) -> None:
    found = harmless(value)
    assert found == expected
    assert type(found) is type(expected)
    assert harmless(found) == found


@pytest.mark.parametrize("text", ["{{ 6 * 7 }}", "{{{ 6 * 7 }}}", "{%%}", "{#", "a {{{{{ b", "{{%{#"])
def test_what_comes_out_is_text_to_jinja(text: str) -> None:
    assert Environment().from_string(harmless(text)).render() == harmless(text)
