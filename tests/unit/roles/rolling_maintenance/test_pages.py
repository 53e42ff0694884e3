# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages about rolling maintenance are whole: no option, extension point, entry point, key or result lacks its place."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Pattern, Sequence, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import OVERRIDES
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import HOOK_KEYS, HOOKS, PREFIX
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._outcomes import WORST_FIRST
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._verdicts import _INSTALL, PLACES

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


# --- examples ---------------------------------------------------------------------------------------------------------

# What the role gives to others: no options, and on the pages all the same.
GIVEN = ("gate", "phase", "events", "wave")


def yaml_blocks(name: str) -> List[str]:
    found = re.findall(r"^( *)\.\. code-block:: (?:yaml|yaml\+jinja)\n\n((?:\1   .*\n|\n)+)", page(name), re.MULTILINE)
    return [textwrap.dedent(block) for _indent, block in found]


def options_in(value: Any) -> Iterator[str]:
    """What is set to anything, however deep, of the role's names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and key.startswith(PREFIX):
                yield key
            yield from options_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from options_in(inner)


@pytest.mark.parametrize("name", ["composing", "extension_points"])
def test_every_example_is_yaml_and_sets_only_what_there_is(name: str, yaml: Any) -> None:
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    known = {*defaults, *(PREFIX + variable for variable in OVERRIDES)}
    examples = [yaml.safe_load(block) for block in yaml_blocks(name)]
    assert len(examples) == page(name).count("code-block:: yaml")
    assert all(isinstance(example, (dict, list)) for example in examples)
    given = [option for example in examples for option in options_in(example)]
    assert given
    assert [option for option in given if option not in known] == []


@pytest.mark.parametrize("name", ["rolling_maintenance", "composing", "extension_points", "failure_and_recovery", "awx"])
def test_a_page_names_no_option_that_there_is_not(name: str, yaml: Any) -> None:
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    known = {*defaults, *(PREFIX + variable for variable in (*OVERRIDES, *GIVEN))}
    # What the terminal shows breaks words.
    text = re.sub(r"code-block:: text\n\n(?:   .*\n|\n)+", "", page(name))
    named = set(re.findall(r"\brolling_maintenance_[a-z][a-z_]*[a-z]\b", text))
    assert named
    assert sorted(named - known) == []


# --- messages ---------------------------------------------------------------------------------------------------------

# Whose sentences an operator is shown. What only `_decision`'s hosts say is on their page.
UTILS, DECISION = ROOT / "plugins" / "plugin_utils", ROOT / "plugins" / "module_utils" / "_decision.py"
OF_HOSTS_ALONE = ("approval_obstacles", "overdue", "_decision_obstacle", "_change_obstacle", "_commit_obstacle", "_clock_obstacle")
# The variables of tasks in which sentences are kept until the end of a run.
KEPT = ("fail_msg", *(PREFIX + "_" + name for name in ("trouble", "untold", "stop", "failures")))
NEVER_A_MESSAGE = {
    _INSTALL: "the command in two messages; it stands beside them",
    "is not there: install it with the role": "looked for in what a module says",
    "is left alone": "for a step that nobody asks for",
    "approvals are switched off": "only a host can be told so",
    "WHEN (UTC)": "the head of the plan, which the page about rolling maintenance shows",
    ", %s to about %s": "the foot of the plan, likewise",
    "Bounds of all hosts: %s": "likewise",
    "Digest of this plan: %s": "likewise",
}
# Rows with words of others.
OF_OTHERS = ("Could not find or access FILE", "HOST (WORDS)")


def _says_something(text: str) -> bool:
    return " " in text.strip() and len(re.findall(r"[A-Za-z_]{2,}", re.sub(r"%[sdg]", " ", text))) >= 2


def _sentences(source: Path) -> Iterator[str]:
    """Each text of two words or more that is no documentation."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    quiet: List[ast.AST] = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    quiet += [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in OF_HOSTS_ALONE]
    left_out = {id(inner) for node in quiet for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out and _says_something(node.value):
            yield node.value


SPOKEN = [path for path in sorted(UTILS.glob("_*.py")) if any(_sentences(path))]


def _values(tasks: Any, keys: Sequence[str]) -> Iterator[str]:
    """What is given to these keys, however deep."""
    if isinstance(tasks, dict):
        for key, value in tasks.items():
            if key in keys and isinstance(value, str):
                yield value
            yield from _values(value, keys)
    elif isinstance(tasks, list):
        for value in tasks:
            yield from _values(value, keys)


def _sentences_of_tasks(yaml: Any) -> List[str]:
    """What a task fails with or keeps for the end: beside templates, and in quotes inside of them."""
    found: List[str] = []
    for path in sorted((ROLE / "tasks").glob("*.yml")):
        for value in _values(yaml.safe_load(path.read_text(encoding="utf-8")), KEPT):
            inside = [text for template in re.findall(r"\{\{.*?\}\}", value, re.DOTALL) for text in re.findall(r"'([^']*)'", template)]
            found += [text for text in (re.sub(r"\{\{.*?\}\}", "%s", value, flags=re.DOTALL), *inside) if _says_something(text)]
    return found


def _messages() -> List[str]:
    """The first cell of each row that explains some."""
    return [row[0].replace("``", "") for row in rows(page("failure_and_recovery"), "You see")]


def _pattern(text: str) -> Pattern[str]:
    """What the text looks like with something in its places."""
    words_of_it = re.escape(" ".join(text.replace("`", "").split())).replace("%%", "%")
    return re.compile(re.sub(r"%[sdg]", ".*", words_of_it))


def _without_a_row(sentences: Iterable[str]) -> List[str]:
    messages = _messages()
    return [text for text in sentences if text not in NEVER_A_MESSAGE and not any(_pattern(text).search(one) for one in messages)]


@pytest.mark.parametrize("source", [*SPOKEN, DECISION], ids=lambda path: str(path.stem))
def test_every_message_has_its_row(source: Path) -> None:
    assert _without_a_row(_sentences(source)) == []


def test_every_message_of_a_task_has_its_row(yaml: Any) -> None:
    sentences = _sentences_of_tasks(yaml)
    assert len(sentences) >= 15
    assert _without_a_row(sentences) == []


def test_a_message_without_a_row_is_found() -> None:
    assert {"_verdicts", "_votes", "_waves", "_capacity", "_outcomes", "_options"} <= {source.stem for source in SPOKEN}
    known = "%s has not given its word (%s)"
    assert _without_a_row([known, known + " today", "the moon stands before %s"]) == [known + " today", "the moon stands before %s"]


def test_every_exception_is_still_said() -> None:
    said = {text for source in SPOKEN for text in _sentences(source)} | set(_sentences(DECISION))
    assert set(NEVER_A_MESSAGE) - said == set()


def test_every_row_is_of_a_message_that_somebody_says(yaml: Any) -> None:
    said = [text for source in (*SPOKEN, DECISION) for text in _sentences(source)] + _sentences_of_tasks(yaml)
    # Skeletons of a few letters would match everything.
    telling = [_pattern(text) for text in said if text not in NEVER_A_MESSAGE and len(re.sub(r"%[sdg]|\W", "", text)) >= 6]
    strange = [one for one in _messages() if not any(pattern.search(one) for pattern in telling)]
    assert [one for one in strange if not one.startswith(OF_OTHERS)] == []
