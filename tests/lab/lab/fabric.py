# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the platform does to hosts when an event starts. Runs inside the lab's namespaces."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any, Callable, List, Mapping, Sequence

from imds_simulator import Simulator
from imds_simulator.contract import STARTED
from imds_simulator.errors import ConflictError
from imds_simulator.model import Notice

from .errors import LabError
from .machine import RUNNING, Machine

# Azure promises no order between the end of the event in the document and the host at work again.
HOST_FIRST, TOGETHER, DOCUMENT_FIRST = "host_first", "together", "document_first"
ORDERS = (HOST_FIRST, TOGETHER, DOCUMENT_FIRST)
# A host that does not come back ends the event all the same.
_PATIENCE = 30.0


@dataclass(frozen=True)
class Habits:
    """How the platform behaves; times in seconds.

    order: what comes first, the host at work again or the event gone, and gap by how much.
    impact_after: from Started in the document to the blow. away: how long a host is off, or frozen.
    """

    order: str = HOST_FIRST
    gap: float = 2.0
    impact_after: float = 0.0
    away: float = 2.0


def habits(current: Habits, changes: Mapping[str, Any]) -> Habits:
    known = asdict(current)
    for name, value in changes.items():
        if name not in known:
            raise LabError("the platform has no habit %r, only %s" % (name, ", ".join(known)))
        if name == "order" and value not in ORDERS:
            raise LabError("order: %r is none of %s" % (value, ", ".join(ORDERS)))
        if name != "order" and (isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0):
            raise LabError("%s: a number of seconds is needed, not %r" % (name, value))
    return replace(current, **changes)


@dataclass(frozen=True)
class Blow:
    """What an event does to each of its hosts; back undoes it, where it can be undone."""

    strike: Callable[[Machine], None]
    back: Callable[[Machine], None]
    deletes: bool = False


def _stay_away(machine: Machine) -> None:
    pass


BLOWS: Mapping[str, Blow] = {
    "Freeze": Blow(Machine.freeze, Machine.thaw),
    "Reboot": Blow(lambda machine: machine.power_off(orderly=True), Machine.boot_if_down),
    "Redeploy": Blow(Machine.replace_hardware, Machine.boot_if_down),
    "Preempt": Blow(Machine.delete, _stay_away, deletes=True),
    "Terminate": Blow(Machine.delete, _stay_away, deletes=True),
}


class Fabric:
    """Acts on hosts as the simulator's events start, several events at a time."""

    def __init__(self, simulator: Simulator, machines: Mapping[str, Machine], current: Habits) -> None:
        self.habits = current
        self._simulator = simulator
        self._by_vm = {machine.plan.vm_name.casefold(): machine for machine in machines.values()}
        simulator.on("start", self._started)

    def _started(self, notice: Notice) -> None:
        threading.Thread(target=self._act, args=(dict(notice.event),), daemon=True).start()

    def _act(self, event: Mapping[str, Any]) -> None:
        event_id, blow = str(event["event_id"]), BLOWS.get(str(event["event_type"]))
        machines = [self._by_vm[vm.casefold()] for vm in event["vms"] if vm.casefold() in self._by_vm]
        if blow is None or not machines:
            return
        now = self.habits
        try:
            self._hit(event_id, blow, {machine: machine.made for machine in machines}, now)
        except Exception:  # noqa: BLE001  (a thread of its own: nobody else would hear of it)
            traceback.print_exc(file=sys.stderr)
        finally:
            self._complete(event_id)

    def _hit(self, event_id: str, blow: Blow, made: Mapping[Machine, int], now: Habits) -> None:
        """Returns when the event is to leave the document, or some time after it has."""
        time.sleep(now.impact_after)
        if self._simulator.event(event_id).state != STARTED:
            return
        # A host that was made anew under the name meanwhile is another one.
        machines = [machine for machine, number in made.items() if machine.made == number]
        _each(blow.strike, machines)
        if now.order == DOCUMENT_FIRST:
            self._complete(event_id)
            time.sleep(now.gap if blow.deletes else max(now.gap, now.away))
            _each(blow.back, machines)
            return
        time.sleep(now.away)
        _each(blow.back, machines)
        if not blow.deletes:
            _each(_wait, machines)
        if now.order == HOST_FIRST:
            time.sleep(now.gap)

    def _complete(self, event_id: str) -> None:
        """Unless it is gone already: it was completed, its VMs were deleted, or whoever scheduled it said when it is over."""
        if self._simulator.event(event_id).state == STARTED:
            with contextlib.suppress(ConflictError):
                self._simulator.complete(event_id)


def _wait(machine: Machine) -> None:
    """Until it is back, unless it is not to come back."""
    end = time.monotonic() + _PATIENCE
    while machine.state == RUNNING and not machine.is_at_work() and time.monotonic() < end:
        time.sleep(0.05)


def _each(act: Callable[[Machine], None], machines: Sequence[Machine]) -> None:
    """To all at once: an event is one."""
    if not machines:
        return
    with ThreadPoolExecutor(max_workers=len(machines)) as workers:
        done: List[Any] = [workers.submit(act, machine) for machine in machines]
    for future in done:
        future.result()
