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
