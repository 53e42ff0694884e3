# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutation testing of the pure files: how many small mistakes would the unit tests notice?

`make mutation` takes all pure files, `make mutation ARGS="_time _gate"` those named. Each mutant is tried in a process of its own that
is forked after the tests were collected: there the code of the changed function takes the place of the right one. A change outside of
functions is tried by importing the changed file anew, which takes longer.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import pytest
from mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from places import CACHE, COLLECTION  # noqa: E402  found through the line above
from pure import pure_files  # noqa: E402

FLOOR = 95.0  # percent of the mutants that the tests must notice
SLOWER = 5.0  # a mutant may take this many times as long as the right code, then it counts as noticed
GRACE = 10  # seconds on top of that
LONGEST = 7200  # seconds for all mutants of a file


def module_name(path: Path) -> str:
    return ".".join(["ansible_collections", COLLECTION, *path.relative_to(ROOT).with_suffix("").parts])


def tests_of(path: Path) -> List[str]:
    """The test files that speak of this file by name, those named after it first; tests over the network are too slow to be repeated."""
    word = re.compile(rf"\b{path.stem}\b")
    texts = {test: test.read_text(encoding="utf-8") for test in sorted((ROOT / "tests" / "unit").rglob("test_*.py"))}
    near = [test for test, text in texts.items() if word.search(text) and "imds_simulator" not in text and "simulator" not in text]
    return [str(test) for test in sorted(near, key=lambda test: (path.stem.strip("_") not in test.stem, "properties" in test.stem, test))]


def functions(namespace: types.ModuleType) -> Dict[str, types.FunctionType]:
    """Every function that a module itself defines, by its qualified name."""
    found: Dict[str, types.FunctionType] = {}
    for value in vars(namespace).values():
        members = vars(value).values() if isinstance(value, type) and value.__module__ == namespace.__name__ else [value]
        for member in members:
            function = _bare(member)
            if function is not None and function.__module__ == namespace.__name__:
                found[function.__qualname__] = function
    return found


def _bare(member: Any) -> Optional[types.FunctionType]:
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, functools.cached_property):
        member = member.func
    member = getattr(member, "__func__", member)
    member = getattr(member, "__wrapped__", member)
    return member if isinstance(member, types.FunctionType) else None


def load(name: str, tree: ast.Module, origin: str) -> types.ModuleType:
    """A module from a changed tree, beside the one that is imported under its name."""
    module = types.ModuleType(name)
    module.__package__ = name.rpartition(".")[0]
    module.__file__ = origin
    kept = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        exec(compile(tree, origin, "exec"), vars(module))  # the tree is made from a file of this project
    finally:
        if kept is not None:
            sys.modules[name] = kept
    return module


def transplant(name: str, mutant: Mutant, origin: str) -> None:
    """Gives the functions of an imported module the code of their changed twins."""
    right, wrong = functions(sys.modules[name]), functions(load(name, mutant.tree, origin))
    for key, function in wrong.items():
        if key in right and right[key].__code__.co_freevars == function.__code__.co_freevars:
            right[key].__code__ = function.__code__
    for value in vars(sys.modules[name]).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def in_fork(work: Callable[[], int], limit: float) -> int:
    """Starts work in a forked process that says nothing and ends after the limit; the process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit)
        code = work()
    finally:
        os._exit(code)


def all_in_forks(works: Sequence[Callable[[], int]], limit: float, jobs: int) -> List[int]:
    """The exit code of each work, negative where a signal ended it; several at a time."""
    codes = [1] * len(works)
    running: Dict[int, int] = {}
    waiting = list(range(len(works)))
    while waiting or running:
        while waiting and len(running) < jobs:
            number = waiting.pop(0)
            running[in_fork(works[number], limit)] = number
        pid, status = os.wait()
        codes[running.pop(pid)] = os.waitstatus_to_exitcode(status)
    return codes


class Trial:
    """A pytest plugin: collects as usual, then tries each mutant in a fork instead of running the tests once."""

    def __init__(self, name: str, origin: str, unchanged: Mutant, candidates: Sequence[Mutant], jobs: int) -> None:
        self.name, self.origin, self.unchanged, self.candidates, self.jobs = name, origin, unchanged, candidates, jobs
        self.codes: List[int] = []
        self.seconds = 0.0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        began = time.monotonic()
        if all_in_forks([lambda: self._run(session, self.unchanged)], LONGEST, 1) != [0]:
            raise pytest.UsageError("the tests fail without any change")  # or our own machinery does: either way no mutant counts
        self.seconds = time.monotonic() - began
        works = [functools.partial(self._run, session, mutant) for mutant in self.candidates]
        self.codes = all_in_forks(works, self.limit, self.jobs)
        return True

    @property
    def limit(self) -> float:
        return GRACE + SLOWER * self.seconds

    def _run(self, session: pytest.Session, mutant: Mutant) -> int:
        transplant(self.name, mutant, self.origin)
        items = session.items
        for item, following in zip(items, [*items[1:], None]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return 1
        return 0


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a changed tree in the place of one file."""

    def __init__(self, name: str, mutant: Mutant, origin: str) -> None:
        self.name, self.mutant, self.origin = name, mutant, origin

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        return importlib.util.spec_from_loader(fullname, self, origin=self.origin) if fullname == self.name else None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(compile(self.mutant.tree, self.origin, "exec"), vars(module))  # as above


def try_anew(name: str, mutant: Mutant, origin: str, tests: Sequence[str]) -> int:
    sys.meta_path.insert(0, Changed(name, mutant, origin))
    return int(pytest.main([*OPTIONS, "-x", *tests]) != 0)


OPTIONS = ("-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--assert=plain", f"--rootdir={ROOT}")


def _collected(trial: Trial, tests: Sequence[str], report: Path) -> int:
    code = int(pytest.main([*OPTIONS, *tests], plugins=[trial]))
    report.write_text(json.dumps([trial.codes, trial.seconds]), encoding="utf-8")
    return code


@dataclass(frozen=True)
class Verdict:
    """What became of the mutants of one file."""

    total: int
    unnoticed: List[Mutant]
    late: int  # noticed only because the tests did not end in time
    seconds: float

    @property
    def share(self) -> float:
        return 100.0 * (self.total - len(self.unnoticed)) / max(1, self.total)

    def row(self, name: str) -> str:
        late = f", {self.late} by not ending" if self.late else ""
        return f"{name:14} {self.total - len(self.unnoticed):5} of {self.total:5} noticed  {self.share:5.1f} %  {self.seconds:5.0f} s{late}"


def judge(path: Path, jobs: int) -> Verdict:
    """Tries all mutants of a file."""
    began = time.monotonic()
    name, origin, tests = module_name(path), str(path), tests_of(path)
    source = path.read_text(encoding="utf-8")
    candidates, unchanged = mutants(source), Mutant(0, "none", ast.parse(source), None)
    if not tests:
        return Verdict(len(candidates), candidates, 0, 0.0)
    inside = [each for each in candidates if each.function]
    outside = [each for each in candidates if not each.function]
    report = CACHE / "mutation" / f"{path.stem}.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    trial = Trial(name, origin, unchanged, inside, jobs)
    sound = [lambda: _collected(trial, tests, report), lambda: try_anew(name, unchanged, origin, tests)]
    if all_in_forks(sound, LONGEST, 1) != [0, 0]:
        raise SystemExit(f"the tests of {path.name} do not pass: {' '.join(tests)}")
    codes, seconds = json.loads(report.read_text(encoding="utf-8"))
    works = [functools.partial(try_anew, name, mutant, origin, tests) for mutant in outside]
    codes += all_in_forks(works, GRACE + SLOWER * (seconds + 5), jobs)
    unnoticed = [mutant for mutant, code in zip([*inside, *outside], codes) if code == 0]
    return Verdict(len(candidates), unnoticed, sum(code < 0 for code in codes), time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of the pure files")
    parser.add_argument("names", nargs="*", help="files without .py, for example _time; default: all pure files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    os.environ["HYPOTHESIS_PROFILE"] = "mutation"
    wanted = [path for path in pure_files() if not options.names or path.stem in options.names]
    verdicts = {}
    for path in wanted:
        verdict = verdicts[path.stem] = judge(path, options.jobs)
        for mutant in verdict.unnoticed:
            sys.stdout.write(f"{path.relative_to(ROOT)}:{mutant.line}: unnoticed: {mutant.change}\n")
        sys.stdout.write(verdict.row(path.stem) + "\n")
        sys.stdout.flush()
    everything = Verdict(
        sum(each.total for each in verdicts.values()),
        [mutant for each in verdicts.values() for mutant in each.unnoticed],
        sum(each.late for each in verdicts.values()),
        sum(each.seconds for each in verdicts.values()),
    )
    rows = [verdict.row(name) for name, verdict in verdicts.items()]
    sys.stdout.write("\n" + "\n".join([*rows, everything.row("together")]) + "\n")
    return int(any(verdict.share < FLOOR for verdict in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
