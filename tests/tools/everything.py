# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test`: every check of noxfile.py, one for each core where they share no resource, with a table at the end."""

from __future__ import annotations

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

import again
import environments
import pythons
from places import CACHE, COLLECTION, LOGS, ROOT

TIMES = CACHE / "times.json"
ALONE = "alone"  # the tag of checks that share the machine with no other
LIMIT = 45 * 60  # seconds; no check comes near it, so one that does hangs
SIGN_OF_LIFE = 60  # seconds without news after which we say what is running
MOST = 4  # checks at a time, unless JOBS says otherwise; more than that wait for each other's resources
TAIL = 60  # lines of a failed check's log
POLL = 0.2
SUMMARY = re.compile(r"^(?:=+ )?((?:\d+ \w+(?:, )?)+) in [\d.]+s", re.MULTILINE)  # the last line of pytest
NOISE = re.compile(r"\s*(Collecting|Downloading|Installing|Looking in|Processing|Successfully installed|Using cached|━)")
COMPLAINT = re.compile(r"ERROR|FAILED|FATAL|E  ")
COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


@dataclass(frozen=True)
class Check:
    """One session of noxfile.py; two checks that share a resource never run at the same time."""

    name: str
    description: str
    resources: FrozenSet[str]

    @property
    def alone(self) -> bool:
        """It runs when nothing else does: its hosts need a machine that is not busy, as everybody's do."""
        return ALONE in self.resources


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
    unsteady: List[str] = field(default_factory=list)  # what failed, and passed when it was played once more

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


def announce(checks: Sequence[Check]) -> None:
    say(f"{COLLECTION}: {len(checks)} checks, at most {_jobs()} at a time, logs in {LOGS.relative_to(ROOT)}")
    say(
        "Pythons: "
        + (", ".join(f"{version} ({program})" for version, program in sorted(pythons.found().items(), key=_by_version)) or "none")
    )
    for line in environments.choices():
        say(line)
    lacking = environments.lacking()
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
    return Run(check, process, log, time.monotonic())


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
    for summary in SUMMARY.findall(again.counted_in(text)):
        for number, what in COUNT.findall(summary):
            key = "failed" if what.startswith("error") else what
            total[key] = total.get(key, 0) + int(number)
    # Who was played again has failed once before, and the second time counts.
    total["failed"] = max(0, total.get("failed", 0) - again.played_again_in(text))
    total["unsteady"] = len(again.unsteady_in(text))
    return {what: number for what, number in total.items() if number or what == "passed"}


def _close(run: Run) -> None:
    run.seconds = time.monotonic() - run.began
    text = run.log.read_text(encoding="utf-8", errors="replace")
    run.tests, run.unsteady = _count(text), again.unsteady_in(text)
    if not run.ok or run.unsteady:
        lines = [line for line in text.splitlines() if not NOISE.match(line)]
        complaints = [line for line in lines[:-TAIL] if COMPLAINT.match(line)]
        say(f"---- {run.check.name}: what {run.log.relative_to(ROOT)} complains of, and its last {min(TAIL, len(lines))} lines")
        for line in [*complaints[:TAIL], *lines[-TAIL:]]:
            say(f"     {line}")
        say("----")


def _next(waiting: List[Check], running: List[Run]) -> Optional[Check]:
    if any(run.check.alone for run in running):
        return None
    taken = frozenset().union(*(run.check.resources for run in running)) if running else frozenset()
    return next((check for check in waiting if not check.resources & taken and not (check.alone and running)), None)


def _work(checks: Sequence[Check]) -> List[Run]:
    waiting, running, over = list(checks), [], []  # type: List[Check], List[Run], List[Run]
    news = time.monotonic()
    try:
        while waiting or running:
            while len(running) < _jobs():
                check = _next(waiting, running)
                if check is None:
                    break
                waiting.remove(check)
                running.append(_start(check))
                say(f"start   {check.name}: {check.description}")
                news = time.monotonic()
            time.sleep(POLL)
            for run in [run for run in running if _is_over(run) or time.monotonic() - run.began > LIMIT]:
                if not _is_over(run):
                    say(f"{run.check.name} did not end within {LIMIT} s")
                    _stop(run)
                running.remove(run)
                _close(run)
                over.append(run)
                say(f"{'ok' if run.ok else 'FAILED':7} {run.check.name} after {run.seconds:.0f} s ({len(over)} of {len(checks)})")
                for test in run.unsteady:
                    say(f"UNSTEADY {run.check.name}: {test}")
                news = time.monotonic()
            if running and time.monotonic() - news > SIGN_OF_LIFE:
                say("running " + ", ".join(f"{run.check.name} ({time.monotonic() - run.began:.0f} s)" for run in running))
                news = time.monotonic()
    finally:
        for run in running:
            _stop(run)
    return over


def _table(runs: Sequence[Run], order: Sequence[Check]) -> Tuple[int, int]:
    """Prints the table and counts: a check without tests of its own counts as one."""
    passed = failed = 0
    by_name = {run.check.name: run for run in runs}
    width = max(len(check.name) for check in order)
    say(f"\n{'check':{width}}  result    time    busy  tests")
    for check in order:
        run = by_name[check.name]
        tests = ", ".join(f"{number} {what}" for what, number in run.tests.items())
        say(f"{check.name:{width}}  {'ok' if run.ok else 'FAILED':6}  {run.seconds:4.0f} s  {run.busy:4.0f} s  {tests}")
        failed += run.tests.get("failed", 0) or int(not run.ok)
        passed += run.tests.get("passed", 0) or int(run.ok)
    return passed, failed


def run(names: Sequence[str]) -> int:
    """All checks, or those named; 0 only if each of them passed."""
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what runs is ended too
    LOGS.mkdir(parents=True, exist_ok=True)
    checks = [check for check in sessions() if not names or check.name in names]
    unknown = sorted(set(names) - {check.name for check in checks})
    if unknown:
        raise environments.Missing(f"no such check: {', '.join(unknown)}; `make checks` lists them")
    announce(checks)
    runs = _work(_longest_first(checks))
    passed, failed = _table(runs, checks)
    TIMES.write_text(
        json.dumps({**_known_times(), **{each.check.name: round(each.seconds, 1) for each in runs if each.ok}}), encoding="utf-8"
    )
    say(f"\nThe whole took {(time.monotonic() - began) / 60:.1f} min.")
    for line in environments.lacking():
        say(f"MISSING: {line}")
    for each in runs:
        for test in each.unsteady:
            log = each.log.relative_to(ROOT)
            say(f"UNSTEADY: {test} failed once in {each.check.name}, and passed when it was played once more, alone: see {log}")
    say(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and all(each.ok for each in runs) else 1
