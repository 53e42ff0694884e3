# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages about rolling maintenance are whole: no option, extension point, entry point, key or result lacks its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import OVERRIDES
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import HOOK_KEYS, HOOKS, PREFIX
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._outcomes import WORST_FIRST
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._verdicts import PLACES

ROOT = Path(__file__).resolve().parents[4]
ROLE = ROOT / "roles" / "rolling_maintenance"
# What cannot be said by a value.
SAID = {"rules": "the default policy", "prepare_timeout": "none", "plan_digest": "none", "run_id": "none"}


@pytest.fixture(scope="module")
def yaml() -> Any:
    return pytest.importorskip("yaml", reason="the role's own files are YAML; a target's bare Python has no parser for it")


def page(name: str) -> str:
    return (ROOT / "docs" / "docsite" / "rst" / (name + ".rst")).read_text(encoding="utf-8")


def rows(text: str, heading: str) -> List[Tuple[str, ...]]:
    """The cells of every table with this heading, less the heads."""
    found = []
    for table in text.split("   * - %s\n" % heading)[1:]:
        body = re.split(r"\n(?=\S)", table, maxsplit=1)[0]
        found += [tuple(" ".join(cell.split()) for cell in re.split(r"\n     - ?", row)) for row in body.split("   * - ")[1:]]
    return found


def words(cell: str) -> List[str]:
    return re.findall(r"``([^`]+)``", cell)


def test_every_option_has_its_default_on_the_page(yaml: Any) -> None:
    defaults: Dict[str, Any] = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    plain = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in defaults.items()}
    expected = {name: SAID.get(name[len(PREFIX) :], value) for name, value in plain.items() if name[len(PREFIX) :] not in HOOKS}
    assert {
        words(name)[0]: default.replace("``", "") for name, default, _meaning in rows(page("rolling_maintenance"), "Option")
    } == expected


def test_every_variable_of_a_host_is_on_the_page() -> None:
    told = [name for cell, _meaning in rows(page("rolling_maintenance"), "Variable of a host") for name in words(cell)]
    assert sorted(told) == sorted(PREFIX + name for name in OVERRIDES)


def test_every_place_and_every_result_is_on_the_page() -> None:
    text = page("rolling_maintenance")
    assert sorted(word for cell, _meaning in rows(text, "Place") for word in words(cell)) == sorted(PLACES)
    assert sorted(word for cell, _meaning in rows(text, "Result") for word in words(cell)) == sorted(WORST_FIRST)


def test_every_key_that_is_published_is_on_the_page() -> None:
    published = set(re.findall(r"\bazure_maintenance_\w+\b", (ROLE / "tasks" / "tell.yml").read_text(encoding="utf-8")))
    assert sorted(words(cell)[0] for cell, _value in rows(page("rolling_maintenance"), "Key")) == sorted(published)


def test_every_extension_point_is_in_the_table() -> None:
    told = [name for cell, *_more in rows(page("extension_points"), "Extension points") for name in words(cell)]
    assert sorted(told) == sorted(HOOKS)


def test_every_key_of_an_entry_of_an_extension_point_is_in_the_table() -> None:
    assert [words(cell)[0] for cell, _meaning in rows(page("extension_points"), "Key")] == list(HOOK_KEYS)


def test_every_entry_point_is_in_the_table(yaml: Any) -> None:
    specs = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    assert sorted(words(cell)[0] for cell, *_more in rows(page("composing"), "Entry point")) == sorted(specs)


@pytest.mark.parametrize("name", ["rolling_maintenance", "rolling_policy", "extension_points", "composing", "failure_and_recovery"])
def test_a_page_is_in_the_index_and_ends_in_what_to_read_next(name: str) -> None:
    assert "\n      - %s\n" % name in (ROOT / "docs" / "docsite" / "extra-docs.yml").read_text(encoding="utf-8")
    assert "(docs/docsite/rst/%s.rst)" % name in (ROOT / "README.md").read_text(encoding="utf-8")
    last = page(name).rsplit("\n---", 1)[0].rsplit("\n", 1)[1]
    assert last == "What to read next"
