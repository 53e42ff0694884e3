# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each failure of the modules, word by word."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Iterator, Pattern, Set

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _http
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules import _error_cases
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._error_cases import Case
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import MODULES, Stage


@pytest.mark.parametrize("case", _error_cases.CASES, ids=_error_cases.names(_error_cases.CASES))
def test_a_failure_says_what_happened_where_and_what_to_do(stage: Stage, case: Case) -> None:
    case.prepare(stage)
    result = stage.run(case.module, check=case.check, **case.options)
    assert result.message == case.expected(stage)
    assert result.failed


@pytest.mark.parametrize("case", _error_cases.CASES, ids=_error_cases.names(_error_cases.CASES))
def test_a_failure_names_the_address_the_option_or_the_event(case: Case) -> None:
    options = ("event_ids", "event_types", "event_statuses", "event_sources", "if_missing", "until", *case.options)
    named = {"<url>", "<instance>", *options, *case.options.get("event_ids", ())}
    assert any(name in case.message for name in named)


# Texts that stay inside: another sentence is said in their place.
_NEVER_SAID = {
    "The Python library %s is missing: %s",  # Ansible's own sentence, or the lookup's
    "requests, jmespath",  # what is probed for, not a sentence
    "nested too deeply",  # these: "it is not JSON"
    "a key twice in one object",
    "%s is not JSON",
    "a number out of range",
    "second out of range",  # these three: the field is named with its value
    "offset out of range",
    "%s is not a date of RFC 1123 or ISO 8601",
}


def test_every_sentence_in_the_plugins_is_in_the_table() -> None:
    said = [case.message for case in _error_cases.CASES] + list(_error_cases.ELSEWHERE)
    sources = _sources()
    assert {"_http.py", "_gate.py", "_wait.py"} <= {path.name for path in sources}
    sentences = {text for path in sources for text in _sentences(path)}
    assert sentences >= _NEVER_SAID
    missing = [text for text in sorted(sentences - _NEVER_SAID) if not any(_pattern(text).search(message) for message in said)]
    assert not missing


def _sources() -> Set[Path]:
    """The modules, the lookup and what they import of the collection, directly or not."""
    utils = Path(str(_http.__file__)).parent
    plugins = utils.parent
    found: Set[Path] = set()
    waiting = [plugins / "modules" / (name + ".py") for name in MODULES] + [plugins / "lookup" / "azure_scheduled_events.py"]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [utils / (name + ".py") for name in _imported(path)]
    return found


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and (node.level == 1 or ".module_utils._" in node.module):
            yield node.module.rsplit(".", 1)[-1]


def _sentences(path: Path) -> Iterator[str]:
    """Each text of several words that is neither documentation nor a regular expression."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if _documents(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in documentation:
            continue
        if " " in node.value and "(?P<" not in node.value:
            yield node.value


def _documents(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id in ("DOCUMENTATION", "EXAMPLES", "RETURN")
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _pattern(text: str) -> Pattern[str]:
    """What the text looks like with something in its places."""
    return re.compile(re.sub(r"%[sd]", ".*", re.escape(text)))
