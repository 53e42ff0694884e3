# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wire: keep-alive, several requests at once, requests in pieces, and what is not HTTP."""

from __future__ import annotations

import http.client
import json
import re
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

TARGET = b"/vm/web_0/metadata/scheduledevents?api-version=2020-07-01"
GET = b"GET " + TARGET + b" HTTP/1.1\r\nHost: h\r\nMetadata: true\r\n\r\n"
LAST = GET.replace(b"Host: h", b"Host: h\r\nConnection: close")


@pytest.fixture
def wire(sim: Any) -> Any:
    parts = urlsplit(sim.data_url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as sock:
        yield sock


def _all(sock: socket.socket) -> bytes:
    received = b""
    while True:
        piece = sock.recv(65536)
        if not piece:
            return received
        received += piece


def test_a_connection_is_kept_for_many_requests(sim: Any) -> None:
    parts = urlsplit(sim.data_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    ports = set()
    for _request in range(50):
        connection.request("GET", TARGET.decode(), headers={"Metadata": "true"})
        assert connection.getresponse().read().startswith(b'{"DocumentIncarnation"')
        ports.add(connection.sock.getsockname())
    connection.close()
    assert len(ports) == 1


def test_requests_that_come_at_once_are_answered_in_order(wire: Any) -> None:
    wire.sendall(GET + GET.replace(b"2020-07-01", b"1999-01-01") + LAST)
    assert re.findall(rb"HTTP/1\.1 (\d+)", _all(wire)) == [b"200", b"400", b"200"]


def test_a_request_behind_a_slow_one_waits_for_it(sim: Any, wire: Any) -> None:
    sim.fault(kind="delay", seconds=0.05)
    wire.sendall(GET + LAST)
    assert _all(wire).count(b"HTTP/1.1 200 OK") == 2
    assert [record.faults for record in sim.requests()] == [("delay",), ()]


def test_a_request_may_come_in_pieces(wire: Any) -> None:
    for byte in LAST:
        wire.sendall(bytes([byte]))
    assert _all(wire).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_body_may_come_after_a_word_of_encouragement(sim: Any, wire: Any) -> None:
    """C-22: as curl sends large bodies."""
    event = sim.schedule("Reboot", ["web_0"])
    body = json.dumps({"StartRequests": [{"EventId": event.event_id}]}).encode()
    head = b"POST %s HTTP/1.1\r\nMetadata: true\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    wire.sendall(head % (TARGET, len(body)))
    assert wire.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
    wire.sendall(body)
    assert _all(wire).startswith(b"HTTP/1.1 200 OK\r\n")
    assert event.state == "Started"


def test_the_older_http_closes_and_the_absolute_form_is_understood(wire: Any) -> None:
    wire.sendall(b"GET http://169.254.169.254" + TARGET + b" HTTP/1.0\r\nMetadata: true\r\n\r\n")
    assert _all(wire).startswith(b"HTTP/1.1 200 OK\r\n")


def test_every_answer_tells_the_simulated_time(sim: Any, ask: Any) -> None:
    sim.advance(86400)
    from email.utils import parsedate_to_datetime

    assert parsedate_to_datetime(ask.get("web_0").headers["Date"]).timestamp() == sim.now()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / SPDY/3\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nName : spaced\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nLong: " + b"x" * 70000, 431),
    ],
)
def test_what_is_not_http_is_refused_and_the_connection_closed(wire: Any, sent: bytes, status: int) -> None:
    """C-10: in the form of every other error."""
    wire.sendall(sent)
    head, _gap, body = _all(wire).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert list(json.loads(body)) == ["error"]


def test_endless_input_is_cut_off(sim: Any, wire: Any) -> None:
    sim.fault(kind="hang")
    with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
        wire.sendall(GET * 200000)
