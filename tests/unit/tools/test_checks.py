# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools behind `make test`: what they find missing, how they count, and when they say no."""

from __future__ import annotations

import importlib
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest

coverage_floor: Any = importlib.import_module("coverage_floor")
environments: Any = importlib.import_module("environments")
everything: Any = importlib.import_module("everything")
mutants: Any = importlib.import_module("mutants")
pythons: Any = importlib.import_module("pythons")
system: Any = importlib.import_module("system")


def having(monkeypatch: pytest.MonkeyPatch, *versions: str) -> None:
    monkeypatch.setattr(pythons, "found", lambda: {version: Path("/usr/bin/python" + version) for version in versions})


def test_nothing_is_missing_where_all_pythons_are(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, "3.8", "3.9", "3.12", "3.13")
    assert environments.lacking() == []


def test_a_missing_python_is_named_with_what_cannot_run_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, "3.9", "3.12", "3.13")
    assert environments.lacking() == [
        "Python 3.8 is missing, so this cannot run: hosts of the lab with the oldest Python of ansible-core 2.16,"
        " targets of ansible-core 2.16; install it, for example with `pyenv install 3.8`"
    ]


def test_a_machine_with_an_older_python_only_lacks_the_newest_ansible_but_can_rehearse(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, "3.8", "3.9", "3.11")
    lacking = environments.lacking()
    assert lacking[0].startswith(
        "Python 3.12 or 3.13 or 3.14 is missing, so this cannot run: ansible-core 2.21, ansible-lint and other tools, "
    )
    assert not [line for line in lacking if "rehears" in line or "unit tests" in line or "ansible-core 2.16," in line]
    assert environments.python_for(environments.RECIPES[environments.play()]) == "3.11"


def test_a_system_package_that_is_not_there_is_named_with_its_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_can_install", lambda: False)
    with pytest.raises(
        environments.Missing, match=r"^System package missing: locales \(for dates\); install it with `apt-get install locales`"
    ):
        system.need([("locales", "dates")], done=lambda: False)


def test_a_system_package_is_installed_where_that_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: List[str] = []
    monkeypatch.setattr(system, "_can_install", lambda: True)
    monkeypatch.setattr(system, "_apt", installed.extend)
    system.need([("locales", "dates")], done=lambda: bool(installed))
    assert installed == ["locales"]


def test_a_program_that_is_no_python_is_not_taken_for_one(tmp_path: Path) -> None:
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.12: command not found' >&2\nexit 127\n", encoding="utf-8")
    shim.chmod(0o755)
    assert pythons._ask(shim) is None


@pytest.mark.parametrize(
    ("log", "counted"),
    [
        ("...\n85 passed in 2.18s\n", {"passed": 85}),
        ("==== 1 failed, 591 passed, 2 skipped in 3.37s ====\n", {"failed": 1, "passed": 591, "skipped": 2}),
        ("==== 3 passed in 1.75s ====\nnoise\n==== 4 passed, 1 error in 61.00s (0:01:01) ====\n", {"passed": 7, "failed": 1}),
        ("all 12 files passed in time\n", {}),
    ],
)
def test_the_tests_of_a_log_are_counted(log: str, counted: Dict[str, int]) -> None:
    assert everything._count(log) == counted


def test_a_check_that_wants_the_machine_for_itself_comes_last_and_beside_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everything, "TIMES", tmp_path / "times.json")
    one, two, lab = (everything.Check(name, "", frozenset(tags)) for name, tags in (("one", ()), ("two", ()), ("lab", ["alone"])))
    assert everything._longest_first([lab, one, two]) == [one, two, lab]
    running = [everything.Run(one, subprocess.Popen(["true"]), tmp_path / "log", 0.0)]
    running[0].process.wait()
    assert everything._next([lab], running) is None
    assert everything._next([lab, two], running) == two
    assert everything._next([lab], []) == lab
    running[0].check = lab
    assert everything._next([two], running) is None


def test_a_command_without_a_check_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everything, "sessions", lambda: [everything.Check("ruff", "", frozenset([everything.FIRST]))])
    assert [check.name for check in everything._chosen(everything.FIRST, [])] == ["ruff"]
    with pytest.raises(environments.Missing, match=r"^noxfile\.py has no check with the tag test-all$"):
        everything._chosen(everything.REST, [])


def test_one_that_waits_runs_beside_those_that_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBS", "2")
    computing = [everything.Check("computes %d" % number, "", frozenset([everything.FIRST])) for number in range(3)]
    waiting = [everything.Check("waits %d" % number, "", frozenset([everything.FIRST, everything.WAITS])) for number in range(3)]
    running: List[Any] = []
    while True:
        check = everything._next([one for one in (*computing, *waiting) if one not in [run.check for run in running]], running)
        if check is None:
            break
        running.append(everything.Run(check, subprocess.Popen(["true"]), tmp_path / "log", 0.0))
        running[-1].process.wait()
    assert [run.check for run in running] == [*computing[:2], waiting[0]]


def test_two_checks_that_share_a_resource_are_not_played_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBS", "2")
    one, two = (everything.Check(name, "", frozenset([everything.REST, "home"])) for name in ("one", "two"))
    running = [everything.Run(one, subprocess.Popen(["true"]), tmp_path / "log", 0.0)]
    running[0].process.wait()
    assert everything._next([two], running) is None


def test_a_check_that_computes_gives_way_with_all_of_its_session() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        try:
            everything._give_way(process.pid)
            assert os.getpriority(os.PRIO_PROCESS, process.pid) == everything.HASTE
            group = Path(f"/proc/{process.pid}/autogroup")
            if group.exists():
                assert group.read_text(encoding="ascii").split()[-1] == str(everything.HASTE)
        finally:
            process.kill()


def test_a_check_that_could_not_be_played_is_no_passed_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = everything.Check("hosts-round", "", frozenset([everything.FIRST]))
    log = tmp_path / "log"
    log.write_text("nox > Session hosts-round skipped: it needs root (took 2 seconds).\n", encoding="utf-8")
    run = everything.Run(check, subprocess.Popen(["true"]), log, 0.0)
    run.process.wait()
    everything._close(run)
    assert everything._table([run], [check]) == (0, 0)
    assert "not run" in capsys.readouterr().out
    assert run.skipped == "it needs root"


def report(covered: int, missing_branches: int) -> Dict[str, Any]:
    summary = {"num_statements": 100, "covered_lines": covered, "missing_lines": 0, "missing_branches": missing_branches}
    files = {path.relative_to(coverage_floor.ROOT).as_posix(): {"summary": summary} for path in coverage_floor.pure_files()}
    return {"files": files}


def test_full_coverage_is_enough() -> None:
    assert coverage_floor.judge(report(covered=100, missing_branches=0)) == []


def test_one_branch_of_a_pure_file_that_was_not_run_is_too_many() -> None:
    faults = coverage_floor.judge(report(covered=100, missing_branches=1))
    assert len(faults) == len(coverage_floor.pure_files())


def test_fewer_lines_than_wanted_are_told() -> None:
    assert "only 94.0 % of the lines of the plugins were run, 95 % are wanted" in coverage_floor.judge(
        report(covered=94, missing_branches=0)
    )


def test_a_pure_file_that_was_not_measured_is_told() -> None:
    assert "plugins/module_utils/_time.py was not measured" in coverage_floor.judge({"files": {}})


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("def f(a):\n    return a < 1\n", ["return None", "a <= 1", "2"]),
        ("def f(a, b):\n    return a and not b\n", ["return None", "a or not b", "b"]),
        ("def f(a):\n    if a:\n        raise ValueError(a)\n", ["if not a:", "pass"]),
        ("def f(a: int) -> str:\n    '''Says it.'''\n    return 'x' + a\n", ["return None", "'XXx'"]),
        ("A = 5\n", ["6"]),
        ("def f(a):\n    return a + 1  # no mutate: nobody sees it\n", []),
    ],
)
def test_the_small_mistakes_of_a_source(source: str, changes: List[str]) -> None:
    assert [each.change.split("  ->  ")[1] for each in mutants.mutants(source)] == changes


def test_a_mutant_is_the_whole_file_with_one_change() -> None:
    one = mutants.mutants("def f(a):\n    return a is None\n\n\ndef g(a):\n    return a\n")[1]
    namespace: Dict[str, Any] = {}
    exec(compile(one.tree, "changed", "exec"), namespace)
    assert (namespace["f"](None), namespace["g"](7)) == (False, 7)
