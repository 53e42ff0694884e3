# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator as a fixture: `with Simulator(clock="manual") as sim: ...`."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, List, Optional, Type

from .clock import make_clock
from .control_plane import ControlPlane
from .data_plane import PREFIX, DataPlane
from .errors import ConflictError
from .hooks import Callback
from .journal import DEFAULT_SIZE, Record
from .server import Address, Server, base_url, is_loopback
from .settings import Settings, changed
from .world import World

LOOPBACK = "127.0.0.1"


class Simulator(World):
    """A simulated world and its two listeners, on loopback and on free ports unless told otherwise.

    Further keywords are the settings of `Settings`, such as `rate_limit=5`.
    """

    def __init__(
        self,
        clock: str = "real",
        rate: float = 1.0,
        *,
        start: Optional[float] = None,
        data: Address = (LOOPBACK, 0),
        control: Address = (LOOPBACK, 0),
        log_size: int = DEFAULT_SIZE,
        **settings: Any,
    ) -> None:
        super().__init__(make_clock(clock, rate=rate, start=start), changed(Settings(), settings), log_size=log_size)
        self._wanted = (data, control)
        self._server: Optional[Server] = None
        self.data_url = ""
        self.control_url = ""

    def open(self) -> Simulator:
        if self._server is not None:
            raise ConflictError("the simulator is open already")
        server = Server(self)
        data, control = self._wanted
        try:
            self.data_url = base_url(server.listen(data, DataPlane(self).handle))
            self.control_url = base_url(server.listen(control, ControlPlane(self).handle))
            server.start()
        except BaseException:
            server.stop()
            raise
        _warn("data plane", data, self.data_url)
        _warn("control plane", control, self.control_url)
        self._server = server
        self.on_change = server.changed
        return self

    def close(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None
        self.hooks.close()

    def __enter__(self) -> Simulator:
        return self.open()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        problem: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def endpoint(self, vm: str) -> str:
        """The base URL under which this VM finds its metadata service."""
        return self.data_url + PREFIX + self.fabric.vm(vm).key

    def on(self, phase: str, callback: Callback) -> None:
        """Call a function with each `Notice` of a phase: `start`, `end` or `cancel`."""
        self.hooks.call(phase, callback)

    def requests(self, vm: Optional[str] = None, verb: Optional[str] = None, path: Optional[str] = None) -> List[Record]:
        """What the log remembers of the data plane, oldest first."""
        with self.lock:
            return self.journal.find(vm=vm, verb=verb, path=path)

    def posts(self, vm: Optional[str] = None) -> List[Record]:
        """The start requests."""
        return self.requests(vm=vm, verb="POST", path="events")

    def _changed(self) -> None:
        super()._changed()
        # Whoever schedules or advances finds the hooks done; the server's own thread must not stop for them.
        if self._server is None or not self._server.is_own_thread():
            self.hooks.wait()


def _warn(plane: str, address: Address, url: str) -> None:
    if not is_loopback(address[0]):
        print(
            "imds_simulator: WARNING: the %s listens on %s and not only on loopback. It asks nobody for a password: whoever reaches it "
            "can use it." % (plane, url),
            file=sys.stderr,
            flush=True,
        )
