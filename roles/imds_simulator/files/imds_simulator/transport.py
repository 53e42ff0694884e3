# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP/1.1 on asyncio, just as much as both planes need, and able to misbehave: cut answers, resets, silence.

A handler is a generator. It yields what it waits for and returns how the request ends. Most return at once, and then
the answer is written in the same turn of the loop.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Callable, Dict, Generator, List, Mapping, Optional, Set, Tuple, Union
from urllib.parse import parse_qsl, unquote

from .journal import Headers

MAX_HEAD = 64 * 1024
MAX_BODY = 1024 * 1024
MAX_WAITING = 2 * MAX_BODY

REASONS: Mapping[int, str] = {
    200: "OK",
    201: "Created",
    302: "Found",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    411: "Length Required",
    413: "Payload Too Large",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
JSON_TYPE = "application/json; charset=utf-8"
HTML_TYPE = "text/html; charset=utf-8"
TEXT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    verb: str
    path: str  # decoded
    raw_path: str
    query: Tuple[Tuple[str, str], ...]
    headers: Headers
    body: bytes
    peer: str


@dataclass(frozen=True)
class Pause:
    """Wait for so many seconds of real time; None: for ever."""

    seconds: Optional[float]


@dataclass(frozen=True)
class Until:
    """Wait until the simulated clock has reached this instant."""

    instant: float


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: Tuple[Tuple[str, str], ...] = ()
    cut: bool = False  # half of the body, then the end


@dataclass(frozen=True)
class HangUp:
    """No answer: the connection is closed in order, or reset."""

    reset: bool = True


Wait = Union[Pause, Until]
Ending = Union[Reply, HangUp]
Handling = Generator[Wait, None, Ending]
Handler = Callable[[Request], Handling]


class Waiters:
    """What waits for an instant of the simulated clock, which may be moved at any time. Used in the loop's thread only."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        now: Callable[[], float],
        real_seconds_until: Callable[[float], Optional[float]],
    ) -> None:
        self._loop = loop
        self._now = now
        self._real_seconds_until = real_seconds_until
        self._waiting: Dict[int, Tuple[float, Callable[[], None]]] = {}
        self._counter = 0

    def add(self, instant: float, then: Callable[[], None]) -> None:
        self._counter += 1
        number = self._counter
        self._waiting[number] = (instant, then)
        self._arm(number, instant)

    def look(self) -> None:
        """The clock was moved."""
        for number, (instant, _then) in list(self._waiting.items()):
            if instant <= self._now():
                self._release(number)

    def _arm(self, number: int, instant: float) -> None:
        seconds = self._real_seconds_until(instant)
        if seconds is not None:
            self._loop.call_later(seconds, self._check, number)

    def _check(self, number: int) -> None:
        if number not in self._waiting:
            return
        instant = self._waiting[number][0]
        if instant <= self._now():
            self._release(number)
            return
        self._arm(number, instant)

    def _release(self, number: int) -> None:
        _instant, then = self._waiting.pop(number)
        then()


class Connection(asyncio.Protocol):
    """One client. Requests are served one after the other, also when the client sends several at once."""

    def __init__(self, handler: Handler, waiters: Waiters, connections: Set[Connection], date: Callable[[], str]) -> None:
        self._handler = handler
        self._waiters = waiters
        self._connections = connections
        self._date = date
        self._buffer = bytearray()
        self._busy = False
        self._keep = True
        self._transport: Optional[asyncio.Transport] = None
        self._peer = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._peer = (transport.get_extra_info("peername") or ("",))[0]
        self._connections.add(self)

    def connection_lost(self, _exc: Optional[Exception]) -> None:
        # A request under way goes on all the same: the platform, too, acts upon a post whose sender has lost patience.
        self._transport = None
        self._connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > MAX_WAITING:
            self.hang_up(reset=True)
            return
        self._next()

    def hang_up(self, *, reset: bool) -> None:
        if self._transport is None:
            return
        if not reset:
            self._transport.close()
            return
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            # No lingering: the peer gets a RST and not a proper end.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _next(self) -> None:
        while not self._busy and self._transport is not None:
            taken = self._take()
            if taken is None:
                return
            self._busy = True
            if isinstance(taken, Reply):
                self._keep = False
                self._end("", taken)
                return
            self._go_on(taken.verb, self._handler(taken))

    def _go_on(self, verb: str, handling: Handling) -> None:
        try:
            wait = next(handling)
        except StopIteration as done:
            self._end(verb, done.value)
            return
        self._wait(wait, lambda: self._resume(verb, handling))

    def _resume(self, verb: str, handling: Handling) -> None:
        self._go_on(verb, handling)
        self._next()

    def _wait(self, wait: Wait, then: Callable[[], None]) -> None:
        if isinstance(wait, Until):
            self._waiters.add(wait.instant, then)
            return
        if wait.seconds is not None:
            asyncio.get_running_loop().call_later(wait.seconds, then)

    def _end(self, verb: str, ending: Ending) -> None:
        self._busy = False
        if self._transport is None:
            return
        if isinstance(ending, HangUp):
            self.hang_up(reset=ending.reset)
            return
        self._write(verb, ending)
        if ending.cut or not self._keep:
            self._transport.close()

    def _write(self, verb: str, reply: Reply) -> None:
        assert self._transport is not None
        head = ["HTTP/1.1 %d %s" % (reply.status, REASONS.get(reply.status, "Unknown")), "Date: " + self._date()]
        bodiless = verb == "HEAD" or reply.status == 304 or 100 <= reply.status < 200
        if reply.body:
            head.append("Content-Type: " + reply.content_type)
        if reply.status != 304:
            head.append("Content-Length: %d" % len(reply.body))
        if not self._keep:
            head.append("Connection: close")
        head.extend("%s: %s" % (name, value) for name, value in reply.headers)
        body = b"" if bodiless else reply.body
        if reply.cut:
            body = body[: len(body) // 2]
        self._transport.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1", "replace") + body)

    def _take(self) -> Union[Request, Reply, None]:
        """The next whole request in the buffer, or what to answer to something that is none."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return _refusal(431, "The head of the request is too long.") if len(self._buffer) > MAX_HEAD else None
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            return _refusal(400, "This is not HTTP/1.1.")
        fields = _fields(lines[1:])
        if fields is None:
            return _refusal(400, "A header field is malformed.")
        if "transfer-encoding" in fields:
            return _refusal(411, "A body needs a Content-Length.")
        length = fields.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            return _refusal(400, "Content-Length is not a number.")
        if int(length) > MAX_BODY:
            return _refusal(413, "The body is too long.")
        start, stop = end + 4, end + 4 + int(length)
        if len(self._buffer) < stop:
            self._encourage(fields, start)
            return None
        body = bytes(self._buffer[start:stop])
        del self._buffer[:stop]
        wish = fields.get("connection", "").lower()
        self._keep = wish == "keep-alive" if parts[2] == "HTTP/1.0" else wish != "close"
        return _request(parts[0], parts[1], fields, body, self._peer)

    def _encourage(self, fields: Dict[str, str], start: int) -> None:
        if fields.get("expect", "").lower() == "100-continue" and len(self._buffer) == start and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _fields(lines: List[str]) -> Optional[Dict[str, str]]:
    fields: Dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            return None
        key = name.lower()
        fields[key] = fields[key] + ", " + value.strip() if key in fields else value.strip()
    return fields


def _request(verb: str, target: str, fields: Dict[str, str], body: bytes, peer: str) -> Request:
    if target.startswith("http://"):
        # The absolute form, which is what a client sends that takes this for a proxy.
        target = "/" + target[len("http://") :].partition("/")[2]
    raw_path, _mark, query = target.partition("?")
    return Request(
        verb=verb,
        path=unquote(raw_path),
        raw_path=raw_path,
        query=tuple(parse_qsl(query, keep_blank_values=True)),
        headers=Headers(fields),
        body=body,
        peer=peer,
    )


def _refusal(status: int, text: str) -> Reply:
    return Reply(status, ('{"error": "%s"}' % text).encode("ascii"))
