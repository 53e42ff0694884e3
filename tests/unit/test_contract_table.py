# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of the contract is whole, up to date and names tests that exist."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    sys.path.append(str(TOOLS))  # at the end: one of the tools is called like a module of Python
    module = importlib.import_module("contract_table")
    module.collect = functools.lru_cache(maxsize=None)(module.collect)  # hundreds of files are read, and none changes meanwhile
    yield module
    sys.path.remove(str(TOOLS))


def proof(table: Any, rules: Tuple[int, ...], *, side: str, name: str = "test_it") -> Any:
    folder = table.SIMULATOR_TESTS if side == "simulator" else table.TESTS
    return table.Proof(folder / "test_file.py", 1, name, rules)


def whole(table: Any) -> List[Any]:
    return [proof(table, (number,), side=side) for number in table.RULES for side in table.SIDES]


def test_the_table_has_every_rule_with_a_test_of_each_side(table: Any) -> None:
    assert list(table.RULES) == list(range(1, 29))
    assert table.complaints(table.collect()) == []


def test_the_page_is_what_the_tests_say(table: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert table.main(["--check"]) == 0, capsys.readouterr().err


def test_every_test_that_the_page_names_exists(table: Any) -> None:
    named = re.findall(r"\* ``(test_\w+)`` in ``(test_\w+\.py)``", table.PAGE.read_text(encoding="utf-8"))
    files = {path.name: path.read_text(encoding="utf-8") for path in table.TESTS.rglob("test_*.py")}
    assert len(named) >= 2 * 28
    assert [name for name, file in named if "def %s(" % name not in files[file]] == []


def test_the_page_has_no_empty_cell(table: Any) -> None:
    rows = table.PAGE.read_text(encoding="utf-8").split("\n   * - ")[2:]
    assert len(rows) == 28
    for row in rows:
        rule, simulator, client = row.split("\n     - ")
        assert re.match(r"\*\*C-\d+\*\* \w", rule)
        assert simulator.strip()
        assert client.strip()


@pytest.mark.parametrize(
    ("docstring", "rules"),
    [
        ("C-12: the list.", (12,)),
        ("C-9, C-12: a tag.", (9, 12)),
        ("C-9 and C-12: a tag.", (9, 12)),
        ("C-12 to C-14, C-20: the fields.", (12, 13, 14, 20)),
        ("C-7", (7,)),
        ("C-7.", (7,)),
        ("C-11, mistake 18: patience.", (11,)),
        ("As C-7 says.", ()),
        ("", ()),
    ],
)
def test_a_docstring_names_the_rules_with_which_it_begins(table: Any, docstring: str, rules: Tuple[int, ...]) -> None:
    assert table.rules_of(docstring) == rules


def test_only_tests_with_a_rule_are_collected(table: Any) -> None:
    source = (
        "class TestAll:\n"
        "    def test_in_a_class(self):\n        'C-2: x'\n"
        "def test_first():\n    'C-1, C-3: x'\n"
        "def test_without():\n    'x'\n"
        "def helper():\n    'C-1: x'\n"
    )
    found = {(one.name, one.rules, one.line) for one in table.proofs_in(Path("test_file.py"), source)}
    assert found == {("test_in_a_class", (2,), 2), ("test_first", (1, 3), 4)}


def test_a_rule_without_a_test_of_one_side_is_named(table: Any) -> None:
    lacking = [one for one in whole(table) if (one.rules, one.side) != ((11,), "client")]
    assert table.complaints(whole(table)) == []
    assert table.complaints(lacking) == ["C-11 has no test of the client"]


def test_a_rule_of_one_side_says_why_and_then_has_no_test_of_the_other(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.ONE_SIDED, (11, "simulator"), "it is about who asks")
    assert table.complaints(whole(table)) == ["C-11 has a test of the simulator, and a reason why it needs none"]
    lacking = [one for one in whole(table) if (one.rules, one.side) != ((11,), "simulator")]
    assert table.complaints(lacking) == []
    assert "     - Not the simulator's: it is about who asks.\n" in table.page(lacking)


def test_a_rule_that_does_not_exist_is_named(table: Any) -> None:
    assert table.complaints([*whole(table), proof(table, (29,), side="client", name="test_more")]) == [
        "test_file.py: test_more names C-29, and there is no such rule"
    ]


def test_a_page_that_is_not_up_to_date_is_an_error_that_says_what_to_run(
    table: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "contract.rst"
    monkeypatch.setattr(table, "ROOT", tmp_path)
    monkeypatch.setattr(table, "PAGE", page)
    assert table.main(["--check"]) == 1
    assert capsys.readouterr().err == "contract.rst is not what the tests say: run `python tests/tools/contract_table.py`\n"
    assert not page.exists()
    assert table.main([]) == 0
    assert table.main(["--check"]) == 0
    page.write_text("another\n", encoding="utf-8")
    assert table.main(["--check"]) == 1


def test_three_tests_of_a_side_are_shown_those_about_few_rules_first(table: Any) -> None:
    several = [proof(table, (1, 2), side="client", name="test_wide")]
    several += [proof(table, (1,), side="client", name="test_%d" % number) for number in range(2)]
    contract = table.Proof(table.TESTS / "test_contract_x.py", 9, "test_of_the_contract", (1,))
    shown = [one.name for one in table.proofs_for(1, "client", [*several, contract])]
    assert shown == ["test_of_the_contract", "test_0", "test_1", "test_wide"]
    row = table.page([*whole(table), *several, contract]).split("**C-1** ")[1].split("\n   * - ")[0]
    assert row.count("* ``test_") == 1 + table.MOST_SHOWN
    assert "test_wide" not in row
