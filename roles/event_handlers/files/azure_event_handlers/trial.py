# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One handler tried with a made-up event, in the same way as a real one runs it: same launcher, same environment, same limits."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Callable, Generator, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event

from . import executor
from . import records as r
from .configuration import Handler
from .launcher import TRIAL, Launcher, Seen
from .paths import Paths
from .reconcile import IN_SERVICE, NOT_YET, WAS_SO
from .records import Record, Step
from .service import launcher_of

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
    launcher = launcher_of(paths, trial=True)
    drained = False
    try:
        for one in _ROUND if phase is None else (phase,):
            drained = drained or (phase is None and one == r.PREPARE)
            seen = _once(launcher, record, one, clock)
            drained = drained and one != r.RECOVER
            yield seen
    finally:
        if drained:
            cut()
            late(_once(launcher, record, r.RECOVER, clock))


def _once(launcher: Launcher, record: Record, phase: str, clock: Clock) -> Run:
    began = clock.monotonic()
    limit = record.steps[0].limit
    while True:
        seen = _unit(launcher, record, phase, clock)
        if seen.exit != NOT_YET or phase == r.INSPECT or clock.monotonic() - began > limit:
            break
        clock.sleep(_ASK_AGAIN)
    words = _WORDS[phase].get(seen.exit if seen.exit is not None else -1)
    return Run(
        phase, seen.exit, words or _say(seen, phase), seen.tail, clock.monotonic() - began, words is not None or _is_silent(seen, phase)
    )


def _unit(launcher: Launcher, record: Record, phase: str, clock: Clock) -> Seen:
    name = "%s-%s" % (TRIAL, uuid.uuid4().hex[:16])
    limit = record.steps[0].limit
    began = clock.monotonic()
    try:
        launcher.begin(name, executor.job_of(record, 0, phase, now=clock.wall()))
        while True:
            seen = launcher.units().get(name, Seen(running=False))
            if not seen.running or clock.monotonic() - began > limit:
                return seen if not seen.running else Seen(running=False, tail=seen.tail)
            clock.sleep(executor.LOOK)
    finally:
        try:
            launcher.discard(name)
        except BaseException:
            # Cut off here the unit may still run, and must not when the next one begins.
            launcher.discard(name)
            raise


def _is_silent(seen: Seen, phase: str) -> bool:
    """A handler need not be able to tell."""
    return phase == r.INSPECT and seen.exit is not None


def _say(seen: Seen, phase: str) -> str:
    if seen.exit is None:
        return "ended after its limit, or killed"
    if phase == r.INSPECT:
        return "cannot tell (exit %d)" % seen.exit
    return "not yet (exit 75), and its limit is over" if seen.exit == NOT_YET else "failed (exit %d)" % seen.exit
