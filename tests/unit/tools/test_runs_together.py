# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that judge the same run of the playbook share a worker, and where time is short each scenario is played with one version."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROLLING = Path(__file__).resolve().parents[2] / "rolling"
sys.path.append(str(ROLLING))
cores: Any = importlib.import_module("cores")
CONFTEST = """
import cores

def pytest_xdist_make_scheduler(config, log):
    return cores.RunsTogether(config, log)
"""
# Each run of the fixture leaves a file with a name of its own.
TESTS = """
import os, pytest, tempfile, time
from cores import played

@played("shared")
def _shared(request):
    tempfile.mkstemp(prefix=request.param + "-", dir=os.environ["PLAYED"])
    time.sleep(0.2)

@pytest.mark.parametrize("other", ["a", "b-c", "d@e"])
def test_one(shared, other):
    time.sleep(0.1)

def test_two(shared):
    time.sleep(0.1)

@pytest.mark.parametrize("number", range(4))
def test_alone(number):
    time.sleep(0.1)
"""


def test_each_run_is_played_once_though_several_tests_judge_it(tmp_path: Path) -> None:
    folder, runs = tmp_path / "tests", tmp_path / "played"
    folder.mkdir()
    runs.mkdir()
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_some.py").write_text(TESTS, encoding="utf-8")
    # The plugins that ansible-test names there are not found under another PYTHONPATH.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**kept, "PYTHONPATH": str(ROLLING), "PLAYED": str(runs)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--numprocesses", "3", str(folder)]
    played = subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "12 passed" in played.stdout
    assert sorted(run.name.split("-")[0] for run in runs.iterdir()) == ["2.16", "newest"]


def test_each_scenario_is_played_with_one_version_and_both_versions_play_some() -> None:
    both = ["t.py::test_%d[%s]" % (number, core) for number in range(40) for core in cores.CORES]
    kept = cores.one_core_each(both)
    assert sorted(name.split("[")[0] for name in kept) == sorted({name.split("[")[0] for name in both})
    assert all(sum(core in name for name in kept) > 10 for core in cores.CORES)


def test_all_tests_of_a_run_stay_or_go_together() -> None:
    names = ["t.py::test_%s[night@%s%s]" % (test, core, more) for test, more in (("a", ""), ("b", "-x")) for core in cores.CORES]
    kept = cores.one_core_each(names)
    assert [name.split("[")[0] for name in kept] == ["t.py::test_a", "t.py::test_b"]
    assert len({name.split("@")[1].split("-")[0].rstrip("]") for name in kept}) == 1


def test_what_only_one_version_or_none_plays_stays() -> None:
    names = ["t.py::test_old[2.16]", "t.py::test_new[night@newest]", "t.py::test_plain", "t.py::test_of_newest_things[one]"]
    names += ["%s::test_differently[%s]" % (cores.ALWAYS_EACH, core) for core in cores.CORES]
    assert cores.one_core_each(names) == names
