# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role's page, its defaults, its argument spec and the program say the same; and every rule of the contract has a test."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import Any, Dict, List, Set

import imds_simulator
import pytest
from imds_simulator import REALISTIC, Settings, Simulator, arguments, cli, faults, scenario, settings
from imds_simulator.control_plane import ROUTES

ROLE = Path(imds_simulator.__file__).parent.parent.parent
PAGE = (ROLE / "README.md").read_text(encoding="utf-8")
RULES = ["C-%d" % number for number in range(1, 29)]


def _section(title: str) -> str:
    return PAGE.split("\n## %s\n" % title)[1].split("\n## ")[0]


def _rows(text: str) -> List[List[str]]:
    """The cells of all tables, less their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


def _first_words(text: str) -> List[str]:
    return [word for row in _rows(text) for word in re.findall(r"`([^`]+)`", row[0])]


@pytest.fixture(scope="module")
def yaml() -> Any:
    return pytest.importorskip("yaml", reason="the role's own files are YAML; a target's bare Python has no parser for it")


@pytest.fixture(scope="module")
def defaults(yaml: Any) -> Dict[str, Any]:
    return yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def options(yaml: Any) -> Dict[str, Any]:
    return yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]


def test_defaults_and_argument_spec_agree(defaults: Any, options: Any) -> None:
    assert defaults == {name: option["default"] for name, option in options.items()}
    assert list(defaults) == list(options)


def test_the_page_lists_every_variable_with_its_default(defaults: Any) -> None:
    listed = {row[0].strip("`"): row[1].strip("`") for row in _rows(_section("As a service")) if row[0].startswith("`imds_simulator_")}
    assert listed == {name: value if isinstance(value, str) else json.dumps(value) for name, value in defaults.items()}


def test_every_variable_has_the_prefix_and_is_used(yaml: Any, defaults: Any) -> None:
    used = "".join(
        file.read_text(encoding="utf-8") for folder in ("tasks", "templates", "handlers", "vars") for file in (ROLE / folder).iterdir()
    )
    assert all(name.startswith("imds_simulator_") for name in defaults)
    assert [name for name in defaults if not re.search(r"\b%s\b" % name, used)] == []
    internal = yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))
    assert all(name.startswith("__imds_simulator_") for name in internal)
    assert [name for name in internal if len(re.findall(r"\b%s\b" % name, used)) < 2] == []


def test_the_defaults_are_the_programs_own(defaults: Any) -> None:
    plan = scenario.Scenario()
    assert (defaults["imds_simulator_data_host"], defaults["imds_simulator_data_port"]) == plan.data
    assert (defaults["imds_simulator_control_host"], defaults["imds_simulator_control_port"]) == plan.control
    assert (defaults["imds_simulator_log_size"], defaults["imds_simulator_clock_rate"]) == (plan.log_size, plan.rate)
    assert defaults["imds_simulator_realistic"] is plan.realistic


def test_the_page_lists_every_fault_as_the_program_explains_it() -> None:
    assert {row[0].strip("`"): row[1] for row in _rows(_section("Faults"))[1:]} == dict(faults.KINDS)


def test_the_page_lists_every_call_of_the_control_plane() -> None:
    listed = [(row[0].strip("`"), row[1]) for row in _rows(_section("The control plane"))[1:]]
    assert listed == [("GET /", "all calls")] + [("%s %s" % (verb, path), words) for verb, path, _action, words in ROUTES]


def test_the_page_lists_every_setting() -> None:
    rows = _rows(_section("Settings"))[1:]
    known = settings.as_dict(Settings())

    def value(cell: str, name: str) -> Any:
        return cell.strip("`") if isinstance(known[name], str) else json.loads(cell)

    assert {row[0].strip("`"): value(row[1], row[0].strip("`")) for row in rows} == known
    assert {row[0].strip("`"): value(row[2], row[0].strip("`")) for row in rows if row[2]} == dict(REALISTIC)


def test_the_page_lists_every_verb() -> None:
    assert set(_first_words(_section("From the command line"))) == {"serve", "check", *cli.VERBS}


@pytest.mark.parametrize(
    ("title", "tables"),
    [
        ("Options of scopes and VMs", (arguments.SCOPE_TABLE, arguments.VM_TABLE)),
        ("Options of events", (arguments.SCHEDULE_TABLE,)),
    ],
)
def test_the_page_lists_every_option(title: str, tables: Any) -> None:
    known: Set[str] = {name for table in tables for name in table}
    assert set(_first_words(_section(title))) == known


def test_the_page_lists_every_call_of_the_fixture() -> None:
    public = {name for name, _member in inspect.getmembers(Simulator, inspect.isfunction) if not name.startswith("_")}
    named = {re.split(r"[.(]", word)[0] for word in _first_words(_section("In tests"))}
    inner = {"open", "close", "settle", "catch_up", "real_seconds_to_next", "on_change"}
    assert public - named - inner == set()


def test_the_page_says_of_each_rule_how_it_is_kept() -> None:
    rows = _rows(_section("What it keeps, and what it does not model"))[1:]
    assert [row[0] for row in rows] == RULES
    assert all(row[1] for row in rows)


def test_the_scenario_of_the_page_is_in_order(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "scenario.json").write_text(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    assert cli.main(["check", str(tmp_path / "scenario.json")]) == 0
    assert capsys.readouterr().out.endswith("is in order: 3 VMs in 2 scopes, 1 event\n")
    assert set(json.loads((tmp_path / "scenario.json").read_text())) == set(scenario._TABLE)


def test_the_example_for_tests_works() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})


def test_the_commands_of_the_page_are_understood() -> None:
    parser = cli._parser()
    commands = re.findall(r"^python3 -m imds_simulator (.*?)(?: &)?$", PAGE, re.MULTILINE)
    assert [parser.parse_args(command.split()).verb for command in commands] == ["serve", "add-scope", "schedule", "advance", "status"]


def test_the_example_of_the_role_uses_what_there_is(yaml: Any, defaults: Any) -> None:
    (play,) = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    given = play["roles"][0]["vars"]
    assert set(given) <= set(defaults)
    plan = scenario.parse({name[len("imds_simulator_") :]: value for name, value in given.items()})
    assert len(scenario.simulator(plan).fabric.vms) == 2


def test_every_rule_of_the_contract_has_a_test_that_cites_it() -> None:
    """The first words of a test's docstring are the numbers of the rules that it proves."""
    cited: Set[str] = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            words = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") else None
            found = re.match(r"C-\d+(, C-\d+)*\b", words or "")
            cited.update(found.group().split(", ") if found else ())
    assert sorted(set(RULES) - cited) == []
    assert sorted(cited - set(RULES)) == []
