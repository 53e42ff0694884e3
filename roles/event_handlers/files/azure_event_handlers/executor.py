# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sees, asks for the one next thing to do, does it, and sees again.

It keeps nothing in mind that counts: killed anywhere and started again it goes on where it was. Only the seconds that handlers have run,
those of a freeze left out, begin anew then; a unit's own limit stands behind them.
"""

from __future__ import annotations

import json
from typing import Callable, Dict, List, Mapping, Optional, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import (
    KNOWN_SOURCES,
    KNOWN_TYPES,
    event_result,
    known_as,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant

from . import reconcile
from . import records as r
from .launcher import UNIT, Job, Launcher, Seen
from .reconcile import Action, Discard, Facts, Run, Save, Stop, Unit
from .records import Record
from .shelf import Shelf
from .store import no_crash

# What a handler finds its programs by; nothing of the executor's own environment reaches it.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Between two looks; a longer pause between them was a freeze, or a machine that did not get to it, and counts for nobody's limit.
LOOK = 0.2
_LONGEST_TICK = 1.0

# Where a test kills the executor; host.md has the same list, less what is the driver's.
CRASH_POINTS = (
    "before intent",
    "after intent, before the unit",
    "unit running",
    "unit ended, not journaled",
    "journaled, not stopped",
    "last result, not PREPARED",
    "before COMMITTED is durable",
    "before another COMMITTED is durable",
    "recover: before intent",
    "recover: after intent, before the unit",
    "recover: unit running",
    "recover: unit ended, not journaled",
    "recover: journaled, not stopped",
    "last recover, not CLOSED",
)
# Before a record in this state is written.
_BEFORE_STATE = {r.PREPARED: "last result, not PREPARED", r.COMMITTED: "before COMMITTED is durable", r.CLOSED: "last recover, not CLOSED"}


def _nobody(_before: Optional[Record], _record: Record, _why: str) -> None:
    """Who is told by default."""


class Executor:
    """Of one host. The store's lock is to be held: there is one. told: hears of each record that has changed."""

    def __init__(
        self,
        shelf: Shelf,
        launcher: Launcher,
        clock: Clock,
        *,
        vm_id: Callable[[], Optional[str]],
        recover_budget: float = 120.0,
        crash: Callable[[str], None] = no_crash,
        told: Callable[[Optional[Record], Record, str], None] = _nobody,
    ) -> None:
        self._shelf = shelf
        self._launcher = launcher
        self._clock = clock
        self._vm_id = vm_id
        self._recover_budget = recover_budget
        self._crash = crash
        self._told = told
        # Whether there may be units: after a start nobody knows.
        self._looking = True
        self._ran: Dict[str, float] = {}
        self._looked_at: Optional[float] = None

    def step(self) -> bool:
        """Whether something was done."""
        action = reconcile.next_action(self._shelf.records, self._facts())
        return action is not None and self._do(action)

    # --- seeing ---------------------------------------------------------------------------------------------------

    def _facts(self) -> Facts:
        seen = self._needed(self._units())
        self._tick([name for name, unit in seen.items() if unit.running])
        now = self._clock.wall()
        return Facts(
            now=now,
            boot=self._launcher.boot,
            vm_id=self._vm_id(),
            units={name: Unit(unit.running, unit.exit, self._ran.get(name, 0.0), unit.tail) for name, unit in seen.items()},
            # What cannot be written down is not begun either.
            held=self._shelf.held(now) is not None or self._shelf.problem is not None,
            held_because="this host is held" if self._shelf.problem is None else "its disk does not take what is to be written down",
            recover_budget=self._recover_budget,
            passed=self._clock.monotonic(),
        )

    def _units(self) -> Mapping[str, Seen]:
        """Asking costs a program: only while there may be some."""
        if not (self._looking or reconcile.at_work(self._shelf.records)):
            return {}
        seen = self._launcher.units()
        self._looking = bool(seen)
        return seen

    def _needed(self, seen: Mapping[str, Seen]) -> Mapping[str, Seen]:
        """Without those whose end is only in mind: while the disk does not have it, they are kept, and tell it again after a kill."""
        kept = tuple("%s-%s-" % (UNIT, key) for key in self._shelf.unwritten)
        if not kept:
            return seen
        wanted = reconcile.at_work(self._shelf.records)
        return {name: unit for name, unit in seen.items() if unit.running or name in wanted or not name.startswith(kept)}

    def _tick(self, running: List[str]) -> None:
        now = self._clock.monotonic()
        passed = 0.0 if self._looked_at is None else now - self._looked_at
        self._looked_at = now
        for name in running:
            self._ran[name] = self._ran.get(name, 0.0) + min(passed, _LONGEST_TICK)

    # --- doing ----------------------------------------------------------------------------------------------------

    def _do(self, action: Action) -> bool:
        if isinstance(action, Save):
            return self._save(action)
        if isinstance(action, Run):
            self._begin(action, self._shelf.records[action.key])
        elif isinstance(action, Stop):
            self._launcher.stop(action.unit)
        elif isinstance(action, Discard):
            self._launcher.discard(action.unit)
            self._ran.pop(action.unit, None)
        return True

    def _save(self, action: Save) -> bool:
        record, before = action.record, self._shelf.records.get(action.record.key)
        moved = before is not None and before.state != record.state
        if moved and record.state in _BEFORE_STATE:
            self._crash(_BEFORE_STATE[record.state])
        if before is not None and not moved and before.word_of is None and record.word_of is not None:
            self._crash("before another COMMITTED is durable")
        changed = None if before is None or moved else _changed_work(before, record)
        if changed is not None:
            self._crash("%s%s" % (_prefix(changed[0]), "before intent" if changed[1] == r.INTENDED else "unit ended, not journaled"))
        if not self._shelf.save(record):
            return False
        if changed is not None:
            point = "after intent, before the unit" if changed[1] == r.INTENDED else "journaled, not stopped"
            self._crash("%s%s" % (_prefix(changed[0]), point))
        self._told(before, record, action.why)
        return True

    def _begin(self, action: Run, record: Record) -> None:
        self._launcher.begin(action.unit, job_of(record, action.index, action.phase, now=self._clock.wall()))
        self._crash("%sunit running" % _prefix(action.phase))


def _prefix(phase: str) -> str:
    return "recover: " if phase == r.RECOVER else ""


def _changed_work(before: Record, after: Record) -> Optional[Tuple[str, str]]:
    """The phase whose work is now intended or over, and which of both."""
    for earlier, later in zip(before.steps, after.steps):
        for phase in r.PHASES:
            if earlier.work(phase) != later.work(phase):
                return phase, later.work(phase).progress
    return None


def job_of(record: Record, index: int, phase: str, *, now: float) -> Job:
    """Free text of the service goes to standard input only; the environment has words that we know, and numbers."""
    step, event = record.steps[index], record.event
    work = step.work(phase)
    word = r.INSPECT if phase == r.CHECK else phase
    environment = {
        "PATH": PATH,
        **dict(entry.split("=", 1) for entry in step.environment),
        "PHASE": word,
        "ATTEMPT": str(record.attempt),
        "TRY": str(work.tries + 1),
        "INTERRUPTED": str(work.interrupted),
        "EVENT_KEY": record.key,
        "EVENT_TYPE": known_as(event.event_type, KNOWN_TYPES),
        "EVENT_SOURCE": known_as(event.event_source, KNOWN_SOURCES),
        "EVENT_STARTED": "1" if record.view == r.STARTED else "0",
        "EVENT_NOT_BEFORE": "" if event.not_before is None else format_instant(event.not_before),
        "EVENT_DURATION": "" if event.duration_seconds is None else str(event.duration_seconds),
    }
    told = {"event": event_result(event, queried_at=now, vm_name=None), "occurrence": record.occurrence, "phase": word}
    stdin = (json.dumps(told) + "\n").encode("utf-8", "surrogatepass")
    return Job([step.file, word], environment, stdin, step.limit, step.properties)
