# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role's page, its defaults, its argument spec, its units and the program say the same."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Dict, Set

import azure_event_handlers
import installer
import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import parse_duration
from azure_event_handlers import configuration
from azure_event_handlers.paths import Paths

ROLE = Path(azure_event_handlers.__file__).parent.parent.parent
UTILS = ROLE.parent.parent / "plugins" / "module_utils"
PREFIX = "ansible_collections.cloud_maintenance.azure.plugins.module_utils."


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
def options(yaml: Any) -> Dict[str, Any]:
    return yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]


def _text(*folders: str) -> str:
    return "".join(file.read_text(encoding="utf-8") for folder in folders for file in sorted((ROLE / folder).iterdir()))


def test_defaults_and_argument_spec_agree(defaults: Any, options: Any) -> None:
    """Null says the same as nothing, and a spec has no word for it."""
    assert defaults == {name: option.get("default") for name, option in options.items()}


def test_the_page_names_every_option_with_its_default(defaults: Any) -> None:
    page = (ROLE / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^- `(event_handlers_[a-z_]+)`(?: \(`([^`]*)`\))?", page, re.MULTILINE))
    shown = {
        name: "" if value in (None, []) else str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in defaults.items()
    }
    assert listed == shown


def test_every_option_has_the_prefix_and_is_used(defaults: Any, internal: Any) -> None:
    used = _text("tasks", "templates", "vars")
    assert all(name.startswith("event_handlers_") for name in defaults)
    assert [name for name in defaults if not re.search(r"\b%s\b" % name, used)] == []
    assert all(name.startswith("__event_handlers_") for name in internal)
    assert [name for name in internal if len(re.findall(r"\b%s\b" % name, used)) < 2] == []


def test_every_key_of_the_configuration_is_written(defaults: Any) -> None:
    written = set(re.findall(r"^  '([a-z_]+)':", (ROLE / "templates" / "config.json.j2").read_text(encoding="utf-8"), re.MULTILINE))
    assert written == set(configuration._KEYS)
    assert {"event_handlers_" + key for key in configuration._KEYS if key != "format"} <= set(defaults)


def test_the_defaults_are_the_programs_own(defaults: Any) -> None:
    """So that a key that is left out means the same as the default of the role."""
    plain = configuration.Configuration()
    own = {name: getattr(plain, name) for name in ("lease", "hold_for", "keep_closed", "poll_interval", "timeout")}
    own.update({name: getattr(plain.settings, name) for name in ("prepare_budget", "approve_reserve", "recover_budget")})
    assert {name: parse_duration(defaults["event_handlers_" + name]) for name in own} == own
    assert defaults["event_handlers_endpoint"] == plain.endpoint
    assert defaults["event_handlers_api_version"] == plain.api_version
    assert defaults["event_handlers_mode"] == plain.mode
    assert defaults["event_handlers_allow_empty_prepare"] is plain.allow_empty_prepare


def test_role_installer_and_program_agree_where_everything_is(internal: Any) -> None:
    paths, place = Paths(), installer.Place()
    assert (place.configuration, place.handlers, place.options) == (paths.configuration, paths.handlers, paths.options)
    assert (place.state, place.run, place.outbox) == (paths.state, paths.run, paths.outbox)
    assert place.changing == paths.changing
    assert {
        name[len("__event_handlers_") :]: value
        for name, value in internal.items()
        if str(value).startswith(("/usr", "/etc", "/var", "/run"))
    } == {
        "library": place.library,
        "command": place.command,
        "config_folder": place.folder,
        "state_folder": paths.state,
        "run_folder": paths.run,
        "staging": place.staging,
        "secret": place.secret,
    }
    assert (internal["__event_handlers_agent"], internal["__event_handlers_webhook_user"]) == (installer.AGENT, installer.WEBHOOK)
    assert set(installer.UNITS) == {path.name[: -len(".j2")] for path in (ROLE / "templates").glob("azure-event-*.j2")}


def test_every_folder_below_run_is_made(internal: Any) -> None:
    paths = Paths()
    lines = (ROLE / "templates" / "tmpfiles.conf.j2").read_text(encoding="utf-8").replace("{{ __event_handlers_run_folder }}", paths.run)
    made = set(re.findall(r"^d (\S+)", lines, re.MULTILINE))
    assert made == {paths.run, paths.requests, paths.agents_requests, paths.answers, paths.agents_own, paths.units, paths.outbox}


def _imports(source: Path) -> Set[str]:
    """Of the collection's shared code, by name."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith(PREFIX):
            found.add((node.module or "")[len(PREFIX) :])
        if isinstance(node, ast.ImportFrom) and node.level == 1 and source.parent == UTILS:
            found.add(node.module or "")
    return found


def test_exactly_what_the_program_imports_is_installed(internal: Any) -> None:
    """And none of it needs Ansible."""
    waiting = {name for source in (ROLE / "files" / "azure_event_handlers").glob("*.py") for name in _imports(source)}
    needed: Set[str] = set()
    while waiting:
        name = waiting.pop()
        needed.add(name)
        source = UTILS / (name + ".py")
        assert not re.search(r"^\s*(from|import) ansible\b", source.read_text(encoding="utf-8"), re.MULTILINE), name
        waiting |= _imports(source) - needed
    assert internal["__event_handlers_module_utils"] == sorted(needed)


def test_one_number_is_the_oldest_systemd() -> None:
    pages = [
        ROLE / "README.md",
        ROLE / "meta" / "argument_specs.yml",
        ROLE / "tasks" / "look.yml",
        ROLE / "files" / "azure_event_handlers" / "systemd.py",
    ]
    said = {
        path.name: set(re.findall(r"systemd ([0-9]{3})\s+or\s+newer|systemd or 0\) >= ([0-9]{3})", path.read_text(encoding="utf-8")))
        for path in pages
    }
    assert {name: {number for pair in pairs for number in pair if number} for name, pairs in said.items()} == {
        path.name: {"245"} for path in pages
    }


def test_every_unit_starts_a_part_of_the_program() -> None:
    started = re.findall(r"start\.py ([a-z]+)", _text("templates"))
    (parts,) = re.findall(r"^PARTS = (\(.+\))$", (ROLE / "files" / "start.py").read_text(encoding="utf-8"), re.MULTILINE)
    parts = ast.literal_eval(parts)
    assert sorted(started) == sorted(parts)
    assert all((ROLE / "files" / "azure_event_handlers" / (part + ".py")).exists() for part in parts)


def test_the_handlers_of_the_page_are_taken_by_the_argument_spec(yaml: Any, options: Any) -> None:
    page = (ROLE / "README.md").read_text(encoding="utf-8")
    examples = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    given = [values for plays in examples for play in plays for values in [play["roles"][0].get("vars", {})]]
    assert {name for values in given for name in values} <= set(options)
    known = set(options["event_handlers_handlers"]["options"])
    handlers = [handler for values in given for handler in values.get("event_handlers_handlers", [])]
    assert handlers
    assert {key for handler in handlers for key in handler} <= known
