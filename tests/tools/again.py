# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs pytest; tests of real processes, sockets and hosts that fail are played once more, alone, when all others are done.

Whoever passes then is unsteady: named in the table of `make test`, and no failure. A real process on a busy machine may come too late for
a reason that is not ours. What only computes has no such excuse and no second chance; nor have many failures at once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Sequence, Set

# Where tests are of real processes and hosts; of the unit tests the files that open sockets or start programs.
REAL = (
    "tests/lab/",
    "tests/lives/",
    "tests/rehearsal/",
    "tests/rolling/",
    "tests/unit/plugins/module_utils/test_contract_client.py",
    "tests/unit/plugins/module_utils/test_http.py",
    "tests/unit/roles/event_handlers/ready/",
    "tests/unit/roles/event_handlers/test_agent.py",
    "tests/unit/roles/event_handlers/test_webhook.py",
    "tests/unit/roles/imds_simulator/test_cli.py",
    "tests/unit/roles/imds_simulator/test_contract_transport.py",
    "tests/unit/roles/imds_simulator/test_control_plane.py",
    "tests/unit/roles/imds_simulator/test_fixture.py",
    "tests/unit/roles/imds_simulator/test_independent_clients.py",
    "tests/unit/roles/imds_simulator/test_transport.py",
)
MOST = 5  # failures of one check that may be chance; more are none
UNSTEADY = "unsteady: "  # how a line begins that names a test; `everything` and `loud` know it
AGAIN = "played again: "
ANEW = "everything is played again from its beginning"
TESTS_FAILED = 1  # pytest's exit code: all tests were run, and some failed
ONLY = "--only-these"


@dataclass
class Seen:
    """What became of the tests of one run, by their names."""

    passed: Set[str] = field(default_factory=set)
    failed: Dict[str, str] = field(default_factory=dict)  # with what is the same for all tests that failed of one cause


def chances(failed: Dict[str, str]) -> List[str]:
    """The tests that get a second chance: all that failed, or none."""
    if any(not name.startswith(REAL) for name in failed) or len(set(failed.values())) > MOST:
        return []
    return list(failed)


def cause(name: str, when: str, trouble: Any) -> str:
    """Each test fails for itself, but for tests of one file whose common preparation failed."""
    crash = getattr(trouble, "reprcrash", None)
    if when != "setup" or crash is None:
        return name
    return f"{name.split('::')[0]}, {crash.path}:{crash.lineno}: {crash.message}"


class Watch:
    """A plugin of pytest, in the process that collects what all workers tell: keeps what was seen, and leaves out what is not wanted."""

    def __init__(self, only: Sequence[str]) -> None:
        self.seen = Seen()
        self._only = frozenset(only)

    def pytest_collection_modifyitems(self, config: Any, items: List[Any]) -> None:
        if not self._only:
            return
        left_out = [item for item in items if item.nodeid not in self._only]
        items[:] = [item for item in items if item.nodeid in self._only]
        config.hook.pytest_deselected(items=left_out)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.seen.failed.setdefault(f"(what is in) {report.nodeid}", report.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.seen.failed.setdefault(report.nodeid, cause(report.nodeid, report.when, report.longrepr))
        elif report.when == "call" and report.passed:
            self.seen.passed.add(report.nodeid)


def play(arguments: Sequence[str], only: Sequence[str] = ()) -> Any:
    """pytest's exit code, and what was seen."""
    import pytest

    sys.path[0] = os.getcwd()  # as `python -m pytest` has it
    watch = Watch(only)
    return int(pytest.main(list(arguments), plugins=[watch])), watch.seen


def alone(arguments: Sequence[str], names: Sequence[str]) -> Set[str]:
    """Those of the tests that pass when nothing runs beside them, in a process that knows nothing of the first run."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, told = Path(folder, "wanted"), Path(folder, "told")
        wanted.write_text(json.dumps(list(names)), encoding="utf-8")
        command = [sys.executable, __file__, ONLY, str(wanted), str(told), *arguments, "--numprocesses", "0"]
        if subprocess.call(command) not in (0, TESTS_FAILED) or not told.exists():
            return set()
        seen = json.loads(told.read_text(encoding="utf-8"))
    return set(seen["passed"]) - set(seen["failed"])


def play_alone(wanted: Path, told: Path, arguments: Sequence[str]) -> int:
    code, seen = play(arguments, json.loads(wanted.read_text(encoding="utf-8")))
    told.write_text(json.dumps({"passed": sorted(seen.passed), "failed": sorted(seen.failed)}), encoding="utf-8")
    return int(code)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == [ONLY]:
        return play_alone(Path(arguments[1]), Path(arguments[2]), arguments[3:])
    code, seen = play(arguments)
    names = chances(seen.failed) if code == TESTS_FAILED else []
    if not names:
        return int(code)
    say("")
    for name in names:
        say(AGAIN + name)
    good = alone(arguments, names)
    for name in names:
        if name in good:
            say(UNSTEADY + name)
    return 0 if good.issuperset(names) else TESTS_FAILED


def unsteady_in(log: str) -> List[str]:
    """The tests that a log names so."""
    return re.findall(rf"^{UNSTEADY}(.+)$", log, re.MULTILINE)


def counted_in(log: str) -> str:
    """What counts of a log whose tests were all played twice."""
    return log.rpartition(ANEW)[2]


def played_again_in(log: str) -> int:
    return len(re.findall(rf"^{AGAIN}", log, re.MULTILINE))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
