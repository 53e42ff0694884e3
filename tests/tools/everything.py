# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test` and `make test-all`: the checks of noxfile.py that belong to each, several at a time, with a table at the end.

Checks that only compute are played at a low priority, one for each core. One check that waits for real processes is played beside
them, and goes before them: it finds the machine as good as free, and its waiting costs no time.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, FrozenSet, List, Optional, Sequence, Tuple

import environments
import pythons
from places import CACHE, COLLECTION, LOGS, ROOT

TIMES = CACHE / "times.json"
FIRST, REST = "test", "test-all"  # the tags of the checks of the two commands
ALONE = "alone"  # the tag of checks that share the machine with no other: they keep all of it busy, and have deadlines
WAITS = "waits"  # the tag of checks whose processes go before those of others, since they have deadlines
HASTE = 10  # how much nicer the others are
LIMIT = 45 * 60  # seconds; a check that takes longer hangs
SIGN_OF_LIFE = 60  # seconds without news after which we say what is running
MOST = 4  # checks that compute at a time, unless JOBS says otherwise; more than that wait for each other's resources
TAIL = 60  # lines of a failed check's log
POLL = 0.2
SUMMARY = re.compile(r"^(?:=+ )?((?:\d+ \w+(?:, )?)+) in [\d.]+s", re.MULTILINE)  # the last line of pytest
NOISE = re.compile(r"\s*(Collecting|Downloading|Installing|Looking in|Processing|Successfully installed|Using cached|━)")
COMPLAINT = re.compile(r"ERROR|FAILED|FATAL|E  ")
SKIPPED = re.compile(r"^nox > Session \S+ skipped: (.+?)(?: \(took .+\))?\.?$", re.MULTILINE)
COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


@dataclass(frozen=True)
class Check:
    """One session of noxfile.py; two checks that share a resource never run at the same time."""

    name: str
    description: str
    resources: FrozenSet[str]  # the tags of its session

    @property
    def alone(self) -> bool:
        """It runs when nothing else does."""
        return ALONE in self.resources

    @property
    def waits(self) -> bool:
        """It runs beside those that compute, and takes the place of none."""
        return WAITS in self.resources


@dataclass
class Run:
    """A check under way or over."""

    check: Check
    process: subprocess.Popen[bytes]
    log: Path
    began: float
    seconds: float = 0.0
    busy: float = 0.0  # seconds of a core, all that the check started included
    tests: Dict[str, int] = field(default_factory=dict)
    skipped: str = ""  # why it was not played, which only a session itself can say

    @property
    def ok(self) -> bool:
        return self.process.returncode == 0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def nox_command() -> List[str]:
    return [str(environments.ensure("nox") / "nox"), "--noxfile", str(ROOT / "noxfile.py"), "--envdir", str(CACHE / "nox")]


def sessions() -> List[Check]:
    """All checks, in the order of noxfile.py, which gives them their resources as tags."""
    answer = subprocess.run(
        [*nox_command(), "--list-sessions", "--json"],
        cwd=ROOT,
        env=environments.clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise environments.Missing(f"nox cannot list the checks:\n{answer.stderr}")
    return [Check(each["session"], each["description"] or "", frozenset(each["tags"])) for each in json.loads(answer.stdout)]


def announce(checks: Sequence[Check], lacking: Sequence[str]) -> None:
    say(f"{COLLECTION}: {len(checks)} checks, logs in {LOGS.relative_to(ROOT)}")
    say(
        "Pythons: "
        + (", ".join(f"{version} ({program})" for version, program in sorted(pythons.found().items(), key=_by_version)) or "none")
    )
    for line in environments.choices():
        say(line)
    for line in lacking:
        say(f"MISSING: {line}")
    say("Nothing is missing." if not lacking else "The checks that need what is missing will fail; the others run all the same.")
    say("")


def _by_version(item: Tuple[str, Path]) -> int:
    return int(item[0].split(".")[1])


def _jobs() -> int:
    return max(1, int(os.environ.get("JOBS") or min(MOST, os.cpu_count() or 1)))


def _known_times() -> Dict[str, float]:
    try:
        return {str(key): float(value) for key, value in json.loads(TIMES.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError):
        return {}


def _longest_first(checks: Sequence[Check]) -> List[Check]:
    known = _known_times()
    return sorted(checks, key=lambda check: (check.alone, -known.get(check.name, 0.0)))


def _start(check: Check) -> Run:
    log = LOGS / (re.sub(r"\W+", "-", check.name).strip("-") + ".log")
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [*nox_command(), "--session", check.name],
            cwd=ROOT,
            env=environments.clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    if not (check.alone or check.waits):
        _give_way(process.pid)
    return Run(check, process, log, time.monotonic())


def _give_way(pid: int) -> None:
    """Where the kernel shares the processor between sessions first, it asks how nice a session is and not its processes."""
    os.setpriority(os.PRIO_PGRP, pid, HASTE)
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(HASTE), encoding="ascii")


def _is_over(run: Run) -> bool:
    """Like poll, and keeps what the check has cost."""
    if run.process.returncode is None:
        ended, status, usage = os.wait4(run.process.pid, os.WNOHANG)
        if ended:
            run.process.returncode = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            run.busy = usage.ru_utime + usage.ru_stime
    return run.process.returncode is not None


def _stop(run: Run) -> None:
    """Ends what the check started; its processes are a session of their own."""
    try:
        os.killpg(run.process.pid, signal.SIGTERM)
        run.process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()
    except ProcessLookupError:
        pass


def _count(text: str) -> Dict[str, int]:
    total: Dict[str, int] = {}
    for summary in SUMMARY.findall(text):
        for number, what in COUNT.findall(summary):
            key = "failed" if what.startswith("error") else what
            total[key] = total.get(key, 0) + int(number)
    return total


def _close(run: Run) -> None:
    run.seconds = time.monotonic() - run.began
    text = run.log.read_text(encoding="utf-8", errors="replace")
    run.tests = _count(text)
    run.skipped = next(iter(SKIPPED.findall(text)), "")
    if not run.ok:
        lines = [line for line in text.splitlines() if not NOISE.match(line)]
        complaints = [line for line in lines[:-TAIL] if COMPLAINT.match(line)]
        say(f"---- {run.check.name}: what {run.log.relative_to(ROOT)} complains of, and its last {min(TAIL, len(lines))} lines")
        for line in [*complaints[:TAIL], *lines[-TAIL:]]:
            say(f"     {line}")
        say("----")


def _next(waiting: List[Check], running: List[Run]) -> Optional[Check]:
    """The first that may start now."""
    if any(run.check.alone for run in running):
        return None
    taken = frozenset().union(*(run.check.resources for run in running)) if running else frozenset()
    computing = sum(not run.check.waits for run in running)

    def may_start(check: Check) -> bool:
        if check.alone:
            return not running
        return (check.waits or computing < _jobs()) and not check.resources & taken - {FIRST, REST}

    return next((check for check in waiting if may_start(check)), None)


def _work(checks: Sequence[Check]) -> List[Run]:
    waiting, running, over = list(checks), [], []  # type: List[Check], List[Run], List[Run]
    news = time.monotonic()
    try:
        while waiting or running:
            check = _next(waiting, running)
            while check is not None:
                waiting.remove(check)
                running.append(_start(check))
                say(f"start   {check.name}: {check.description}")
                news = time.monotonic()
                check = _next(waiting, running)
            time.sleep(POLL)
            for run in [run for run in running if _is_over(run) or time.monotonic() - run.began > LIMIT]:
                if not _is_over(run):
                    say(f"{run.check.name} did not end within {LIMIT} s")
                    _stop(run)
                running.remove(run)
                _close(run)
                over.append(run)
                say(f"{'ok' if run.ok else 'FAILED':7} {run.check.name} after {run.seconds:.0f} s ({len(over)} of {len(checks)})")
                news = time.monotonic()
            if running and time.monotonic() - news > SIGN_OF_LIFE:
                say("running " + ", ".join(f"{run.check.name} ({time.monotonic() - run.began:.0f} s)" for run in running))
                news = time.monotonic()
    finally:
        for run in running:
            _stop(run)
    return over


def _result(run: Run) -> str:
    if not run.ok:
        return "FAILED"
    return "not run" if run.skipped else "ok"


def _table(runs: Sequence[Run], order: Sequence[Check]) -> Tuple[int, int]:
    """Prints the table and counts: a check without tests of its own counts as one, and one that was not run as none."""
    passed = failed = 0
    by_name = {run.check.name: run for run in runs}
    width = max(len(check.name) for check in order)
    say(f"\n{'check':{width}}  result     time    busy  tests")
    for check in order:
        run = by_name[check.name]
        tests = ", ".join(f"{number} {what}" for what, number in run.tests.items() if number)
        say(f"{check.name:{width}}  {_result(run):7}  {run.seconds:4.0f} s  {run.busy:4.0f} s  {tests or run.skipped}")
        failed += run.tests.get("failed", 0) or int(not run.ok)
        passed += run.tests.get("passed", 0) or int(run.ok and not run.skipped)
    return passed, failed


def _chosen(suite: str, names: Sequence[str]) -> List[Check]:
    """The checks of a command, or those named, whichever command has them."""
    known = [check for check in sessions() if check.resources & {FIRST, REST}]
    unknown = sorted(set(names) - {check.name for check in known})
    if unknown:
        raise environments.Missing(f"no such check: {', '.join(unknown)}; `make checks` lists them")
    chosen = [check for check in known if (check.name in names if names else suite in check.resources)]
    if not chosen:
        raise environments.Missing(f"noxfile.py has no check with the tag {suite}")
    return chosen


def run(suite: str, names: Sequence[str]) -> int:
    """The checks of a command, or those named; 0 only if each of them passed."""
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what runs is ended too
    LOGS.mkdir(parents=True, exist_ok=True)
    checks = _chosen(suite, names)
    lacking = environments.lacking(everything=any(REST in check.resources for check in checks))
    announce(checks, lacking)
    runs = _work(_longest_first(checks))
    passed, failed = _table(runs, checks)
    TIMES.write_text(
        json.dumps({**_known_times(), **{each.check.name: round(each.seconds, 1) for each in runs if each.ok}}), encoding="utf-8"
    )
    say(f"\nThe whole took {(time.monotonic() - began) / 60:.1f} min.")
    for line in lacking:
        say(f"MISSING: {line}")
    for each in runs:
        if each.skipped:
            say(f"NOT RUN: {each.check.name}: {each.skipped}")
    say(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and all(each.ok for each in runs) else 1
