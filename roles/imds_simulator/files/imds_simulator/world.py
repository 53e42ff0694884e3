# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is simulated, behind one lock: clock, fabric, faults, hooks and request log."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from . import settings as setting
from .clock import Clock
from .errors import InvalidError, SimulatorError
from .fabric import Fabric
from .faults import Fault, Faults
from .hooks import Hooks
from .journal import DEFAULT_SIZE, Journal
from .model import SINGLE, VM, Event, Scope
from .settings import Settings


class World:
    """What can be done to the simulated world. Safe to use from several threads; the time is always the world's own."""

    def __init__(self, clock: Clock, settings: Settings, *, log_size: int = DEFAULT_SIZE) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self.fabric = Fabric(settings)
        self.faults = Faults()
        self.journal = Journal(log_size)
        self.hooks = Hooks()
        # The server's: the clock was moved, or something else may be due next.
        self.on_change: Callable[[], None] = lambda: None

    @property
    def settings(self) -> Settings:
        return self.fabric.settings

    # --- time -----------------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self.clock.now()

    def settle(self) -> float:
        """Let happen what is due, and tell the hooks. Returns the time. The lock must be held."""
        now = self.clock.now()
        self.fabric.advance(now)
        self.hooks.tell(self.fabric.take_notices())
        return now

    def advance(self, seconds: float) -> float:
        with self.lock:
            self.clock.advance(seconds)
            now = self.settle()
        self._changed()
        return now

    def real_seconds_to_next(self) -> Optional[float]:
        """How long until something is due by itself; None: nothing is, or the clock stands."""
        with self.lock:
            due = self.fabric.next_due()
            return None if due is None else self.clock.real_seconds_until(due)

    def catch_up(self) -> None:
        with self.lock:
            self.settle()

    # --- VMs and scopes -------------------------------------------------------------------------------------------

    def add_scope(self, name: str, *, vms: Sequence[Any] = (), **options: Any) -> Scope:
        """`vms` are names, or mappings with `name` and the options of `add_vm`."""
        if isinstance(vms, (str, Mapping)):
            raise InvalidError("vms: a list is needed, not %r" % (vms,))
        with self.lock:
            now = self.settle()
            if options.get("kind") == SINGLE and len(vms) > 1:
                raise InvalidError("a scope of kind single has one VM, not %d" % len(vms))
            scope = self.fabric.add_scope(name, now=now, **options)
            try:
                self._fill(scope, vms)
            except SimulatorError:
                self.fabric.remove_scope(name, now=now)
                raise
            return scope

    def add_vm(self, key: str, **options: Any) -> VM:
        with self.lock:
            return self._add_vm(key, **options)

    def remove_vm(self, key: str) -> None:
        self._do(self.fabric.remove_vm, key)

    def recreate_vm(self, key: str) -> VM:
        return self._do(self.fabric.recreate_vm, key)

    def switch_off(self, key: str) -> None:
        with self.lock:
            self.fabric.switch_off(self.fabric.vm(key))

    def set_incarnation(self, key: str, incarnation: int) -> None:
        with self.lock:
            self.fabric.set_incarnation(self.fabric.vm(key), incarnation, now=self.settle())

    def configure(self, **changes: Any) -> Settings:
        with self.lock:
            self.settle()
            self.fabric.configure(setting.changed(self.settings, changes))
            return self.settings

    # --- events ---------------------------------------------------------------------------------------------------

    def schedule(self, event_type: str, resources: Sequence[str], **options: Any) -> Event:
        return self._do(self.fabric.schedule, event_type, resources, **options)

    def fail_hardware(self, key: str, **options: Any) -> Event:
        return self._do(self.fabric.fail_hardware, key, **options)

    def start(self, event_id: str) -> Event:
        return self._do(self.fabric.start, event_id)

    def complete(self, event_id: str) -> Event:
        return self._do(self.fabric.complete, event_id)

    def cancel(self, event_id: str) -> Event:
        return self._do(self.fabric.cancel, event_id)

    def change(self, event_id: str, **changes: Any) -> Event:
        return self._do(self.fabric.change, event_id, **changes)

    def relist(self, event_id: str, **options: Any) -> Event:
        return self._do(self.fabric.relist, event_id, **options)

    def events(self) -> List[Event]:
        """Those that are there, then those that were."""
        with self.lock:
            self.settle()
            return self.fabric.live_events() + list(self.fabric.past)

    def event(self, event_id: str) -> Event:
        with self.lock:
            self.settle()
            return self.fabric.event(event_id)

    # --- faults and log -------------------------------------------------------------------------------------------

    def fault(self, kind: str, *, vm: Optional[str] = None, **parameters: Any) -> Fault:
        with self.lock:
            key = None if vm is None else self.fabric.vm(vm).key
            self.settle()
            return self.faults.add(kind, revision=self.fabric.revision, vm=key, **parameters)

    def clear_faults(self, *, vm: Optional[str] = None, number: Optional[int] = None) -> int:
        with self.lock:
            return self.faults.clear(vm=None if vm is None else self.fabric.vm(vm).key, number=number)

    def status(self) -> Dict[str, Any]:
        with self.lock:
            now = self.settle()
            return {
                "now": now,
                "clock": self.clock.kind,
                "rate": self.clock.rate,
                "scopes": len(self.fabric.scopes),
                "vms": len(self.fabric.vms),
                "events": [event.as_dict() for event in self.fabric.live_events()],
                "faults": [fault.as_dict() for fault in self.faults.waiting()],
                "log": {"size": self.journal.size, "received": self.journal.received, "forgotten": self.journal.forgotten},
                "settings": setting.as_dict(self.settings),
            }

    # --- inside ---------------------------------------------------------------------------------------------------

    def _fill(self, scope: Scope, vms: Sequence[Any]) -> None:
        for vm in vms:
            given = {"name": vm} if isinstance(vm, str) else dict(vm)
            self._add_vm(given.pop("name", ""), **dict(given, scope=scope.name))

    def _add_vm(self, key: str, **options: Any) -> VM:
        options["name"] = options.pop("azure_name", None)
        return self.fabric.add_vm(key, now=self.settle(), **options)

    def _do(self, action: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        with self.lock:
            result = action(*arguments, now=self.settle(), **options)
            self.settle()
        self._changed()
        return result

    def _changed(self) -> None:
        self.on_change()
