# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who gets a second chance, and what the table says of whoever needed it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict

import pytest

again: Any = importlib.import_module("again")
everything: Any = importlib.import_module("everything")
loud: Any = importlib.import_module("loud")

# Fails the first time, and whenever it is told to.
CHANCY = """
import os, pathlib
def test_chancy():
    been = pathlib.Path({been!r})
    first = not been.exists()
    been.touch()
    assert not first
def test_steady():
    pass
"""
BROKEN = "def test_broken():\n    assert False\n"


def play(folder: Path, **files: str) -> Any:
    for name, text in files.items():
        path = folder / "tests" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text, encoding="utf-8")
    command = [sys.executable, again.__file__, "-q", "-p", "no:cacheprovider", "tests"]
    # ansible-test names plugins of pytest in the environment that take no test outside the collection.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("failed", "given"),
    [
        ({}, 0),
        ({"tests/lab/tests/test_a.py::test_b": "one"}, 1),
        # What only computes fails for a reason of ours.
        ({"tests/lab/tests/test_a.py::test_b": "one", "tests/paths/test_c.py::test_d": "two"}, 0),
        ({f"tests/rolling/test_a.py::test_{number}": str(number) for number in range(6)}, 0),
        # One preparation that failed is one failure, however many tests wanted it.
        (dict.fromkeys(("tests/rolling/test_a.py::test_b", "tests/rolling/test_a.py::test_c"), "one"), 2),
    ],
)
def test_real_processes_have_a_second_chance_unless_many_fail(failed: Dict[str, str], given: int) -> None:
    assert again.chances(failed) == list(failed)[:given]


def test_tests_whose_common_preparation_failed_have_one_cause() -> None:
    crash = SimpleNamespace(path="fleet.py", lineno=3, message="no")
    trouble = SimpleNamespace(reprcrash=crash)
    names = ["tests/rolling/test_a.py::test_b", "tests/rolling/test_a.py::test_c"]
    assert len({again.cause(name, "setup", trouble) for name in names}) == 1
    assert len({again.cause(name, "call", trouble) for name in names}) == 2


def test_whoever_passes_the_second_time_is_named_and_is_no_failure(tmp_path: Path) -> None:
    played = play(tmp_path, lives__test_some=CHANCY.format(been=str(tmp_path / "been")))
    assert played.returncode == 0, played.stdout
    assert again.unsteady_in(played.stdout) == ["tests/lives/test_some.py::test_chancy"]
    assert everything._count(played.stdout) == {"passed": 2, "unsteady": 1}


def test_whoever_fails_the_second_time_has_failed(tmp_path: Path) -> None:
    played = play(tmp_path, lives__test_some=CHANCY.format(been=str(tmp_path / "been")), lives__test_bad=BROKEN)
    assert played.returncode == 1
    assert again.unsteady_in(played.stdout) == ["tests/lives/test_some.py::test_chancy"]
    assert everything._count(played.stdout)["failed"] == 1


def test_what_only_computes_is_not_played_again(tmp_path: Path) -> None:
    played = play(tmp_path, paths__test_some=CHANCY.format(been=str(tmp_path / "been")))
    assert played.returncode == 1
    assert again.played_again_in(played.stdout) == 0


def test_a_run_that_is_good_is_played_once(tmp_path: Path) -> None:
    played = play(tmp_path, lives__test_some="def test_steady():\n    pass\n")
    assert (played.returncode, again.played_again_in(played.stdout)) == (0, 0)


# Like ansible-test: says what its pytest says, and stops at the first part with a failure.
UNITS = """
import pathlib, sys
been = pathlib.Path({been!r})
first = not been.exists()
been.touch()
if first or {always!r}:
    print({said!r})
    print("=== 1 failed, 6 passed in 1.00s ===")
    sys.exit(1)
print("=== 7 passed in 1.00s ===")
print("=== 20 passed in 1.00s ===")
"""
SOCKETS = "FAILED tests/unit/plugins/module_utils/test_http.py::test_a[b c] - NoAnswer: the connection was reset"


def units(folder: Path, capfd: Any, said: str, *, always: bool = False) -> Any:
    program = folder / "units.py"
    program.write_text(UNITS.format(been=str(folder / "been"), said=said, always=always), encoding="utf-8")
    code = loud.main([sys.executable, str(program)])
    return code, capfd.readouterr().out


def test_units_of_sockets_have_a_second_chance_with_all_that_was_not_played_because_of_them(tmp_path: Path, capfd: Any) -> None:
    code, output = units(tmp_path, capfd, SOCKETS)
    assert code == 0
    assert again.unsteady_in(output) == ["tests/unit/plugins/module_utils/test_http.py::test_a[b c]"]
    assert everything._count(output) == {"passed": 27, "unsteady": 1}


def test_units_that_fail_twice_fail(tmp_path: Path, capfd: Any) -> None:
    code, output = units(tmp_path, capfd, SOCKETS, always=True)
    assert (code, again.unsteady_in(output)) == (1, [])
    assert everything._count(output) == {"passed": 6, "failed": 1}


@pytest.mark.parametrize(
    "said",
    [
        "FAILED tests/unit/plugins/module_utils/test_policy.py::test_a - assert 1 == 2",
        SOCKETS + "\nFAILED tests/unit/plugins/module_utils/test_policy.py::test_a - assert 1 == 2",
        SOCKETS + "\nERROR tests/unit/plugins/module_utils/test_http.py",
        "ERROR: something else is wrong",
    ],
)
def test_nothing_else_of_units_has_one(tmp_path: Path, capfd: Any, said: str) -> None:
    code, output = units(tmp_path, capfd, said)
    assert (code, again.unsteady_in(output)) == (1, [])
    assert everything._count(output) == {"passed": 6, "failed": 1}
