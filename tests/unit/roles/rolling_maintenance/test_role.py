# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role's page, its defaults, its argument specs, the conversion of options, and its files say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils import _fleet, _options

ROOT = Path(__file__).resolve().parents[4]
ROLE = ROOT / "roles" / "rolling_maintenance"
PLAYBOOK = ROOT / "playbooks" / "rolling_maintenance.yml"
PREFIX = "rolling_maintenance_"
ENTRIES = ("main", "discover", "plan", "prepare", "gate", "approve", "watch", "recover", "publish")


@pytest.fixture(scope="module")
def yaml() -> Any:
    return pytest.importorskip("yaml", reason="the role's own files are YAML; a target's bare Python has no parser for it")


@pytest.fixture(scope="module")
def defaults(yaml: Any) -> Dict[str, Any]:
    return yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def internal(yaml: Any) -> Dict[str, Any]:
    return yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def specs(yaml: Any) -> Dict[str, Any]:
    return yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]


def _text(folder: str) -> str:
    return "".join(file.read_text(encoding="utf-8") for file in sorted((ROLE / folder).iterdir()))


def _page() -> str:
    return (ROLE / "README.md").read_text(encoding="utf-8")


def test_defaults_and_argument_specs_agree(defaults: Any, specs: Any) -> None:
    """Null says the same as nothing, and a spec has no word for it. Whichever entry point comes first takes the options."""
    assert tuple(specs) == ENTRIES
    for entry in specs.values():
        assert defaults == {name: option.get("default") for name, option in entry["options"].items()}


def test_the_defaults_are_those_of_the_conversion(defaults: Any) -> None:
    given = {name[len(PREFIX) :]: value for name, value in defaults.items()}
    assert _options.convert(given) == _options.convert({})
    assert set(given) == set(_options.defaults())


def test_the_page_names_every_option_with_its_default(defaults: Any) -> None:
    listed = dict(re.findall(r"^- `(rolling_maintenance_[a-z_]+)`(?: \(`([^`]*)`\))?", _page(), re.MULTILINE))
    shown = {
        name: "" if value in (None, [], {}) else json.dumps(value) if isinstance(value, bool) else str(value)
        for name, value in defaults.items()
    }
    assert listed == shown


def test_every_extension_point_is_on_the_page_with_when_where_and_what_a_failure_does() -> None:
    rows = [line for line in _page().splitlines() if line.startswith(("| `before_", "| `after_"))]
    assert sorted(name for row in rows for name in re.findall(r"`((?:before|after)_[a-z]+)`", row.split("|")[1])) == sorted(_options.HOOKS)
    assert all(row.count("|") == 5 for row in rows)


def test_what_belongs_to_one_host_is_on_the_page_and_is_no_option(internal: Any) -> None:
    section = _page().split("## What belongs to one host\n")[1].split("\n## ")[0]
    names = [PREFIX + name for name in _fleet.OVERRIDES]
    assert re.findall(r"`(rolling_maintenance_[a-z]\w+)`", section) == names
    assert set(names) <= set(internal["__rolling_maintenance_not_options"])


def test_every_entry_point_is_a_file_and_on_the_page() -> None:
    section = _page().split("## In a play of yours\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([a-z]+)` \|", section, re.MULTILINE) == list(ENTRIES[1:])
    assert all((ROLE / "tasks" / (name + ".yml")).exists() for name in ENTRIES)


def test_every_file_of_tasks_is_used() -> None:
    used = set(re.findall(r"include_tasks: ([a-z_]+)\.yml", _text("tasks")))
    used |= set(re.findall(r"tasks_from: ([a-z_]+)", PLAYBOOK.read_text(encoding="utf-8")))
    assert {path.stem for path in (ROLE / "tasks").iterdir()} == used | {"main"} | set(ENTRIES)


def test_every_internal_variable_is_used(internal: Any) -> None:
    used = _text("tasks") + _text("vars")
    assert all(name.startswith("__rolling_maintenance_") for name in internal)
    assert [name for name in internal if len(re.findall(r"\b%s\b" % name, used)) < 2] == []


def test_what_is_published_is_on_the_page_and_read_by_nobody() -> None:
    tasks = _text("tasks") + _text("vars") + PLAYBOOK.read_text(encoding="utf-8")
    published = re.findall(r"\b(azure_maintenance_[a-z_]+)", tasks)
    assert len(published) == len(set(published))
    section = _page().split("## What is published\n")[1]
    assert re.findall(r"^\| `(azure_maintenance_[a-z_]+)` \|", section, re.MULTILINE) == published


def test_whatever_asks_a_host_reports_data_and_ends_in_time(yaml: Any) -> None:
    """A failure would take the host out of the play, and a connection that hangs would never end."""
    asked = 0
    for path in sorted((ROLE / "tasks").iterdir()):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            modules = [key for key in task if key.startswith("cloud_maintenance.azure.") or key.endswith(".wait_for_connection")]
            if modules:
                asked += 1
                assert task["failed_when"] is False, (path.name, task["name"])
                assert task["ignore_errors"] is task["ignore_unreachable"] is True, (path.name, task["name"])
                assert "timeout" in task, (path.name, task["name"])
                assert task["register"].startswith("rolling_maintenance__"), (path.name, task["name"])
    assert asked >= 10


def test_every_play_keeps_to_what_waves_rest_on(yaml: Any) -> None:
    for play in yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8")):
        assert play["strategy"] == "ansible.builtin.linear", play["name"]
        # Before anything is touched what is refused is refused for all.
        assert play["any_errors_fatal"] is (play["name"].startswith("Check what was asked for")), play["name"]
        assert play["gather_facts"] is False, play["name"]


def _tasks(yaml: Any) -> Iterator[Dict[str, Any]]:
    """Of all files, with those of blocks."""
    waiting = [task for path in sorted((ROLE / "tasks").iterdir()) for task in yaml.safe_load(path.read_text(encoding="utf-8"))]
    while waiting:
        task = waiting.pop()
        yield task
        waiting += [inner for part in ("block", "rescue") for inner in task.get(part, ())]


def test_no_variable_of_a_task_has_the_name_of_a_fact(yaml: Any) -> None:
    """A fact, and what was registered, counts more than the variables of a task, and so the task would read something else."""
    kept, own = set(), set()
    for task in _tasks(yaml):
        kept |= {task["register"]} if "register" in task else set()
        kept |= set(task.get("ansible.builtin.set_fact", ()))
        own |= set(task.get("vars", ())) | {(task.get("loop_control") or {}).get("loop_var")}
    assert kept & own == set()


def test_nothing_local_becomes_somebody_else(yaml: Any) -> None:
    for path in sorted((ROLE / "tasks").iterdir()):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            if task.get("delegate_to") == "localhost" and "ansible.builtin.set_fact" not in task:
                assert task["become"] is False, (path.name, task["name"])
