# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server: two listeners on one event loop in a thread of its own, and the timer that lets things happen unasked."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from typing import Any, Callable, List, Optional, Set, Tuple

from . import contract
from .errors import InvalidError, SimulatorError
from .transport import Connection, Handler, Waiters
from .world import World

BACKLOG = 1024
START_LIMIT = 30.0
LAST_PORT = 65535
LAST_TURNS = 1000  # of the loop, to end what is there; a client that connects without end does not keep the server from ending

Address = Tuple[str, int]


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def base_url(address: Address) -> str:
    host, port = address
    return "http://%s:%d" % ("[%s]" % host if ":" in host else host, port)


class Server:
    """Serves several handlers, each on an address of its own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._loop = asyncio.new_event_loop()
        self._waiters = Waiters(self._loop, world.now, world.clock.real_seconds_until)
        self._connections: Set[Connection] = set()
        self._servers: List[asyncio.AbstractServer] = []
        self._sockets: List[Tuple[socket.socket, Handler]] = []
        self._thread: Optional[threading.Thread] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._date: Tuple[int, str] = (-1, "")

    def listen(self, address: Address, handler: Handler) -> Address:
        """Take an address (port 0: any that is free) at once, so that whoever asks for it knows whether it could be had."""
        host, port = address
        if not 0 <= port <= LAST_PORT:
            raise InvalidError("%d is no port: 0 (any that is free) to %d" % (port, LAST_PORT))
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
            sock.listen(BACKLOG)
        except OSError as problem:
            sock.close()
            raise SimulatorError("cannot listen on %s port %d: %s" % (host, port, problem.strerror or problem)) from problem
        sock.setblocking(False)
        self._sockets.append((sock, handler))
        taken = sock.getsockname()
        return taken[0], taken[1]

    def start(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="imds-simulator", daemon=True)
        self._thread.start()
        if not ready.wait(START_LIMIT):
            raise SimulatorError("the simulator's thread did not start within %d s" % START_LIMIT)

    def stop(self) -> None:
        if self._thread is not None:
            self._call(self._loop.stop)
            self._thread.join()
            self._thread = None
        self._loop.close()
        for sock, _handler in self._sockets:
            sock.close()
        self._sockets = []

    def is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def changed(self) -> None:
        """Another thread, or a handler, has changed the world or moved its clock."""
        if self._thread is not None:
            self._call(self._look)

    def _call(self, action: Callable[[], Any]) -> None:
        self._loop.call_soon_threadsafe(action)

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        for sock, handler in self._sockets:
            self._servers.append(self._loop.run_until_complete(self._serve(sock, handler)))
        self._loop.call_soon(self._look)
        self._loop.call_soon(ready.set)
        self._loop.run_forever()
        self._loop.run_until_complete(self._close())

    async def _close(self) -> None:
        """Leave no transport open: the loop that would close it is about to end."""
        # A connection that was just accepted becomes one of ours in a task of its own, which a closed server would break.
        for _turn in range(LAST_TURNS):
            if len(asyncio.all_tasks()) == 1:
                break
            await asyncio.sleep(0)
        for server in self._servers:
            server.close()
        for _turn in range(LAST_TURNS):
            for connection in list(self._connections):
                connection.hang_up(reset=True)
            await asyncio.sleep(0)
            if not self._connections:
                break

    async def _serve(self, sock: socket.socket, handler: Handler) -> asyncio.AbstractServer:
        return await self._loop.create_server(lambda: Connection(handler, self._waiters, self._connections, self._today), sock=sock)

    def _look(self) -> None:
        """Let happen what is due, release who waited for it, and come back when something is due next."""
        self._world.catch_up()
        self._waiters.look()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        seconds = self._world.real_seconds_to_next()
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._look)

    def _today(self) -> str:
        """The Date field tells the simulated time."""
        second = int(self._world.now())
        if second != self._date[0]:
            self._date = (second, contract.rfc1123(second))
        return self._date[1]
