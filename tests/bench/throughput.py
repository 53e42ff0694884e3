# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests per second over connections that stay open, on loopback."""

from __future__ import annotations

import selectors
import socket
import time
from typing import Dict, List, Tuple
from urllib.parse import urlsplit

import server
import servers

CONNECTIONS = 8
PATIENCE = 30.0  # seconds of silence after which a server counts as dead


class Client:
    """One connection, one request under way at a time. Bare sockets: an HTTP library would cost more than the server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        address = (str(parts.hostname), int(parts.port or 80))
        self.sock = socket.create_connection(address, timeout=PATIENCE)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = ("GET %s%s HTTP/1.1\r\nHost: %s:%d\r\nMetadata: true\r\n\r\n" % (parts.path, server.EVENTS_PATH, *address)).encode()
        self._buffer = b""

    def ask(self) -> None:
        self.sock.sendall(self._request)

    def answered(self) -> bool:
        """Takes what has come; true once the answer is whole."""
        received = self.sock.recv(1 << 20)
        if not received:
            raise RuntimeError("the server closed a connection that should stay open")
        self._buffer += received
        head, blank, body = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError("the server answered %r" % head.split(b"\r\n")[0])
        if len(body) < _length(head):
            return False
        self._buffer = b""
        return True


def _length(head: bytes) -> int:
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    return int(fields[b"content-length"])


def per_second(url: str, requests: int) -> float:
    """How many of so many requests are answered a second, over eight connections at once."""
    clients = [Client(url) for _number in range(CONNECTIONS)]
    try:
        began = time.perf_counter()
        _exchange(clients, requests)
        return requests / (time.perf_counter() - began)
    finally:
        for client in clients:
            client.sock.close()


def _exchange(clients: List[Client], requests: int) -> None:
    left, answers = requests, 0
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.sock, selectors.EVENT_READ, client)
            client.ask()
            left -= 1
        while answers < requests:
            ready = selector.select(PATIENCE)
            if not ready:
                raise RuntimeError("the server was silent for %d s" % PATIENCE)
            for key, _mask in ready:
                client = key.data
                if not client.answered():
                    continue
                answers += 1
                if left > 0:
                    client.ask()
                    left -= 1


def measure(requests: int, *, turns: int = 3) -> Dict[int, Tuple[float, float]]:
    """For documents of one and of a hundred events: the simulator's and http.server's best of some turns, taken in turn."""
    result = {}
    for events in (1, 100):
        with servers.running("simulator", events=events) as simulated, servers.running("plain", events=events) as plain:
            seen = [(per_second(simulated, requests), per_second(plain, requests)) for _turn in range(turns)]
        result[events] = (max(ours for ours, _theirs in seen), max(theirs for _ours, theirs in seen))
    return result
