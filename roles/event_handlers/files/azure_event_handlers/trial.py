# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One handler tried with a made-up event, in the same way as a real one runs it: same launcher, same environment, same limits.

Whoever calls it is alone, see trials, but for a look: from before the handler is asked to prepare until it has recovered there is a mark.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Callable, Generator, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event

from . import executor, trials
from . import records as r
from .configuration import Handler
from .launcher import TRIAL, Launcher, Seen
from .paths import Paths
from .reconcile import IN_SERVICE, NOT_YET, WAS_SO
from .records import Record, Step
from .service import launcher_of
from .trials import Mark

_ROUND = (r.INSPECT, r.PREPARE, r.INSPECT, r.RECOVER, r.INSPECT)
_FROM_NOW = 900.0
_WORDS = {
    r.INSPECT: {0: "out of service", IN_SERVICE: "in service"},
    r.PREPARE: {0: "ready", WAS_SO: "was so before, nothing was changed"},
    r.RECOVER: {0: "back in service"},
}
# For "not yet", as the executor does it.
_ASK_AGAIN = 5.0


@dataclass(frozen=True)
class Run:
    phase: str
    exit: Optional[int]
    words: str
    output: str
    seconds: float
    good: bool


def _nobody(_late: Optional[Run] = None) -> None:
    """Who is told by default."""


def run(
    handler: Handler,
    event_type: str,
    phase: Optional[str],
    paths: Paths,
    clock: Clock,
    *,
    cut: Callable[[], None] = _nobody,
    late: Callable[[Run], None] = _nobody,
) -> Generator[Run, None, None]:
    """One phase, or all of them; what was prepared is recovered whatever comes in between, if whoever iterates closes this, too.

    cut: called before a recovery that has to make up for a round which was cut off; late: is told what came of it.
    """
    made = Event("made-up", event_type, "Scheduled", "Platform", "VirtualMachine", ("made-up",), clock.wall() + _FROM_NOW, "a trial", None)
    step = Step(handler.name, handler.file, handler.limit, handler.required, environment=handler.environment, properties=handler.properties)
    record = Record(made, 1, "made-up", attempt=1, steps=(step,))
    bench = _Bench(paths, launcher_of(paths, trial=True), record, clock)
    if phase != r.INSPECT:
        bench.end_the_left()
    drained = False
    try:
        for one in _ROUND if phase is None else (phase,):
            drained = drained or (phase is None and one == r.PREPARE)
            seen = bench.once(one)
            drained = drained and one != r.RECOVER
            yield seen
    finally:
        if drained:
            cut()
            late(bench.once(r.RECOVER))


class _Bench:
    """One handler, what runs it, and the mark of it."""

    def __init__(self, paths: Paths, launcher: Launcher, record: Record, clock: Clock) -> None:
        self._paths = paths
        self._launcher = launcher
        self._record = record
        self._clock = clock
        self._handler = record.steps[0].handler
        self._limit = record.steps[0].limit
        self._mark = next((mark for mark in trials.marks(paths) if mark.handler == self._handler), None)

    def end_the_left(self) -> None:
        """What a trial that was killed had begun; two handlers never run at the same time."""
        for mark in trials.marks(self._paths):
            self._launcher.discard(mark.unit)

    def once(self, phase: str) -> Run:
        began, marked = self._clock.monotonic(), self._mark
        while True:
            seen = self._unit(phase)
            if seen.exit != NOT_YET or phase == r.INSPECT or self._clock.monotonic() - began > self._limit:
                break
            self._clock.sleep(_ASK_AGAIN)
        if (phase == r.RECOVER and seen.exit == 0) or (phase == r.PREPARE and seen.exit == WAS_SO and marked is None):
            self._mark = None
            trials.forget(self._paths, self._handler)
        words = _WORDS[phase].get(seen.exit if seen.exit is not None else -1)
        good = words is not None or _is_silent(seen, phase)
        return Run(phase, seen.exit, words or _say(seen, phase), seen.tail, self._clock.monotonic() - began, good)

    def _unit(self, phase: str) -> Seen:
        name = "%s-%s" % (TRIAL, uuid.uuid4().hex[:16])
        began = self._clock.monotonic()
        self._keep_in_mind(name, phase)
        try:
            self._launcher.begin(name, executor.job_of(self._record, 0, phase, now=self._clock.wall()))
            while True:
                seen = self._launcher.units().get(name, Seen(running=False))
                if not seen.running or self._clock.monotonic() - began > self._limit:
                    return seen if not seen.running else Seen(running=False, tail=seen.tail)
                self._clock.sleep(executor.LOOK)
        finally:
            try:
                self._launcher.discard(name)
            except BaseException:
                # Cut off here the unit may still run, and must not when the next one begins.
                self._launcher.discard(name)
                raise

    def _keep_in_mind(self, unit: str, phase: str) -> None:
        """Before it is begun. Nothing is prepared that could not be written down; it is put back all the same (W-48)."""
        if self._mark is None and phase != r.PREPARE:
            return
        event_type = self._record.event.event_type
        mark = Mark(self._handler, event_type, unit, self._clock.wall() if self._mark is None else self._mark.asked_at)
        try:
            trials.write(self._paths, mark)
        except OSError:
            if phase == r.PREPARE:
                raise
        else:
            self._mark = mark


def _is_silent(seen: Seen, phase: str) -> bool:
    """A handler need not be able to tell."""
    return phase == r.INSPECT and seen.exit is not None


def _say(seen: Seen, phase: str) -> str:
    if seen.exit is None:
        return "ended after its limit, or killed"
    if phase == r.INSPECT:
        return "cannot tell (exit %d)" % seen.exit
    return "not yet (exit 75), and its limit is over" if seen.exit == NOT_YET else "failed (exit %d)" % seen.exit
