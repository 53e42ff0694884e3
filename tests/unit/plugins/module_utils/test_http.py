# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from dataclasses import replace
from typing import Any, Callable, Iterator

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _http
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConnectionFailed, ServiceError, StatusError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import (
    HttpClient,
    NoAnswer,
    NotHttp,
    NotSent,
    RawAnswer,
    Request,
    RequestsTransport,
)
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.fakes import HandClock, Wire, answer

GET = Request("GET", "http://127.0.0.1:1/metadata/scheduledevents")
POST = Request("POST", "http://127.0.0.1:1/metadata/scheduledevents", body=b"{}")
CHECK = " Check that this host is an Azure VM, that endpoint is its metadata service and that no firewall is in between."
RETRY_LATER = " The metadata service is in trouble: try again in a few minutes, or raise retry_for."


def client(wire: Wire, hand: HandClock, *, retry_for: float = 90.0, chance: float = 0.0) -> HttpClient:
    return HttpClient(wire, timeout=130.0, retry_for=retry_for, clock=hand.clock, chance=lambda: chance)


def test_a_good_answer_is_given_with_the_time_of_its_request() -> None:
    hand = HandClock(now=1000.0)

    def slow(request: Request) -> RawAnswer:
        hand.passed += 3.0
        return answer(body="x", headers={"etag": "1"})

    got = client(Wire(slow), hand).get(GET)
    assert (got.body, got.headers, got.sent_at, got.arrived_at) == (b'"x"', {"etag": "1"}, 0.0, 1003.0)


def test_a_conditional_read_may_be_answered_with_nothing_new() -> None:
    """C-9: 304 is a good answer to a request with a tag, and has no body."""
    asked = Request("GET", GET.url, headers={"If-None-Match": '"7"'})
    got = client(Wire(answer(304, b"stray", {"etag": '"7"'})), HandClock()).get(asked)
    assert (got.unchanged, got.body, got.headers) == (True, b"", {"etag": '"7"'})
    assert not client(Wire(answer(200)), HandClock()).get(asked).unchanged


def test_nothing_can_be_unchanged_for_who_sent_no_tag() -> None:
    """C-9: a proxy that answers so has not understood the question."""
    wire = Wire(answer(304))
    with pytest.raises(StatusError, match="the service answered 304 Not Modified"):
        client(wire, HandClock()).get(GET)
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    ("headers", "moment"),
    [({"date": "Wed, 18 Nov 2026 09:46:05 GMT"}, 1794995165.0), ({"date": "yesterday"}, None), ({"date": ""}, None), ({}, None)],
)
def test_the_services_own_time_is_read_where_it_is_said(headers: Any, moment: Any) -> None:
    """W-34: what a host's clock is held against."""
    assert client(Wire(answer(200, headers=headers)), HandClock()).get(GET).served_at == moment


@pytest.mark.parametrize("status", [404, 408, 410, 429, 500, 502, 503, 504, 599])
def test_a_read_is_repeated_when_that_can_help(status: int) -> None:
    """C-10: 404, 408, 410, 429 and 5xx are repeated."""
    wire = Wire(answer(status), answer(status), answer(200))
    hand = HandClock()
    client(wire, hand).get(GET)
    assert len(wire.requests) == 3
    assert hand.slept == [1.0, 2.0]


@pytest.mark.parametrize("status", [204, 301, 302, 307, 400, 401, 403, 405, 406, 418, 600])
def test_a_read_is_not_repeated_when_the_answer_is_final(status: int) -> None:
    """C-4, C-10: 400, 401, 403, 405 and redirects are final."""
    wire = Wire(answer(status), answer(200))
    with pytest.raises(StatusError):
        client(wire, HandClock()).get(GET)
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    ("reply", "permanent", "ineffective", "malformed"),
    [
        (answer(400), True, True, True),
        (answer(401), True, True, False),
        (answer(403), True, True, False),
        (answer(405), True, True, False),
        (answer(429), False, True, False),
        (NotSent("the connection was refused"), False, True, False),
        # Of these nobody knows whether the request was acted on.
        (answer(204), False, False, False),
        (answer(302), False, False, False),
        (answer(404), False, False, False),
        (answer(410), False, False, False),
        (answer(500), False, False, False),
        (NoAnswer("the connection was reset"), False, False, False),
        (NotHttp("what came is not HTTP"), False, False, False),
    ],
)
def test_a_failure_says_what_is_known_of_its_effect(reply: Any, permanent: bool, ineffective: bool, malformed: bool) -> None:
    """C-10, C-23: an approval cannot be taken back, so "not approved" is said only of what surely had no effect."""
    with pytest.raises(ServiceError) as caught:
        client(Wire(reply), HandClock()).post(POST)
    error = caught.value
    assert (error.permanent, error.ineffective, error.malformed) == (permanent, ineffective, malformed)


def test_a_failed_connection_is_repeated() -> None:
    """C-10: refused and timed-out connections are repeated."""
    wire = Wire(NoAnswer("the connection was refused"), answer(200))
    client(wire, HandClock()).get(GET)
    assert len(wire.requests) == 2


def test_pauses_double_up_to_the_longest_and_the_budget_ends_them() -> None:
    """C-10: the service may answer 410 for 70 seconds, so the default budget goes beyond."""
    wire, hand = Wire(answer(410)), HandClock()
    with pytest.raises(StatusError) as caught:
        client(wire, hand).get(GET)
    assert hand.slept == [1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0, 15.0, 15.0]
    assert sum(hand.slept) == 90.0
    assert str(caught.value) == (
        "GET http://127.0.0.1:1/metadata/scheduledevents failed: the service answered 410 Gone, tried 10 times in 1 min 30 s."
        " The service is being updated: try again in a few minutes, or raise retry_for."
    )
    assert not caught.value.permanent


def test_chance_shortens_a_pause_by_up_to_half() -> None:
    hand = HandClock()
    client(Wire(answer(500), answer(500), answer(200)), hand, chance=1.0).get(GET)
    assert hand.slept == [0.5, 1.0]


def test_no_budget_means_one_attempt() -> None:
    wire = Wire(answer(500))
    with pytest.raises(StatusError) as caught:
        client(wire, HandClock(), retry_for=0.0).get(GET)
    assert len(wire.requests) == 1
    assert str(caught.value) == (
        "GET http://127.0.0.1:1/metadata/scheduledevents failed: the service answered 500 Internal Server Error." + RETRY_LATER
    )


@pytest.mark.parametrize(
    ("value", "pause"),
    [("3", 3.0), ("Wed, 18 Nov 2026 09:46:05 GMT", 5.0), ("Wed, 18 Nov 2026 09:00:00 GMT", 1.0), ("soon", 1.0), ("", 1.0), ("-4", 1.0)],
)
def test_retry_after_lengthens_the_pause(value: str, pause: float) -> None:
    """C-10: Retry-After is honoured, as seconds or as a date; nonsense in it counts as absent."""
    hand = HandClock()
    client(Wire(answer(429, headers={"retry-after": value}), answer(200)), hand).get(GET)
    assert hand.slept == [pause]


def test_a_retry_after_beyond_the_budget_ends_the_attempts_at_once() -> None:
    wire, hand = Wire(answer(503, headers={"retry-after": "91"})), HandClock()
    with pytest.raises(StatusError) as caught:
        client(wire, hand).get(GET)
    assert (len(wire.requests), hand.slept, caught.value.retry_after) == (1, [], 91.0)


def test_a_caller_with_less_time_shortens_budget_and_patience() -> None:
    wire, hand = Wire(answer(500)), HandClock()
    with pytest.raises(StatusError):
        client(wire, hand).get(GET, at_most=4.0)
    assert hand.slept == [1.0, 2.0]
    assert wire.patience == [4.0, 3.0, 1.0]


def test_a_caller_with_no_time_left_still_looks_once() -> None:
    """C-11: never a time-out so short that it only makes more requests."""
    wire = Wire(answer(200))
    client(wire, HandClock()).get(GET, at_most=0.0)
    assert wire.patience == [1.0]


@pytest.mark.parametrize("reply", [answer(500), answer(429), answer(404), answer(400), NoAnswer("the connection was reset")])
def test_a_post_is_sent_once_whatever_comes_of_it(reply: Any) -> None:
    """C-23: an approval cannot be taken back, so only who has looked again may repeat it."""
    wire, hand = Wire(reply), HandClock()
    with pytest.raises(ServiceError):
        client(wire, hand).post(POST)
    assert len(wire.requests) == 1
    assert hand.slept == []


def test_an_unreachable_service_says_what_to_check() -> None:
    with pytest.raises(ConnectionFailed) as caught:
        client(Wire(NoAnswer("the connection was refused")), HandClock(), retry_for=0.0).get(GET)
    assert str(caught.value) == "GET http://127.0.0.1:1/metadata/scheduledevents failed: the connection was refused." + CHECK
    assert not caught.value.permanent


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": "Bad request: api-version\\nis wrong"}', " (Bad request: api-version is wrong)"),
        (b'{"error": " "}', ""),
        (b'{"error": 7}', ""),
        (b"[]", ""),
        (b"<html>", ""),
        (b"\xff", ""),
        (b'{"error": "' + b"x" * 300 + b'"}', " (" + "x" * 200 + ")"),
    ],
)
def test_the_own_words_of_the_service_are_quoted_in_one_line(body: bytes, said: str) -> None:
    """C-10: the body of an error is {"error": "text"}."""
    with pytest.raises(StatusError) as caught:
        client(Wire(answer(400, body)), HandClock()).get(GET)
    assert str(caught.value) == (
        "GET http://127.0.0.1:1/metadata/scheduledevents failed: the service answered 400 Bad Request%s."
        " Check api_version and endpoint." % said
    )


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (302, "302 Found. The metadata service never redirects, so a proxy or a wrong address answered: check endpoint."),
        (405, "405 Method Not Allowed. The metadata service does not answer so: check endpoint."),
        (418, "418"),
        (777, "777. The metadata service does not answer so: check endpoint."),
    ],
)
def test_an_odd_status_says_who_may_have_answered(status: int, said: str) -> None:
    with pytest.raises(StatusError) as caught:
        client(Wire(answer(status)), HandClock()).get(GET)
    assert "the service answered " + said in str(caught.value)


@pytest.mark.parametrize("status", [408, 410, 429, 500])
def test_only_who_asks_is_advised_to_ask_for_longer(status: int) -> None:
    """A post is never repeated by itself, so no option makes it last."""
    with pytest.raises(StatusError) as asked:
        client(Wire(answer(status)), HandClock(), retry_for=0.0).get(GET)
    with pytest.raises(StatusError) as posted:
        client(Wire(answer(status)), HandClock()).post(POST)
    assert str(asked.value).endswith(", or raise retry_for.")
    assert str(posted.value) == str(asked.value).replace("GET", "POST").replace(", or raise retry_for", "")


def test_what_is_not_http_is_said_to_be_somebody_else() -> None:
    with pytest.raises(ConnectionFailed) as caught:
        client(Wire(NotHttp("what came is not HTTP")), HandClock(), retry_for=0.0).get(GET)
    assert str(caught.value).endswith("what came is not HTTP. The metadata service does not answer so: check endpoint.")


# From here on with the real transport, against sockets on loopback.

Server = Callable[[socket.socket], None]


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Starts a server that treats its connections with the given functions in turn; gives its base URL."""
    listeners = []

    def start(*treatments: Server) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def loop() -> None:
            for treat in treatments:
                try:
                    connection, _peer = listener.accept()
                except OSError:
                    return
                with connection:
                    treat(connection)

        threading.Thread(target=loop, daemon=True).start()
        return "http://127.0.0.1:%d" % listener.getsockname()[1]

    yield start
    for listener in listeners:
        listener.close()


def replying(raw: bytes) -> Server:
    def treat(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(raw)

    return treat


# Each of these servers answers once and closes, and says so: who is not told may send its next request into the closed connection.
ANSWER = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"


def recording(requests: list, raw: bytes = ANSWER) -> Server:
    def treat(connection: socket.socket) -> None:
        text = connection.recv(65536).decode()
        while text.startswith("POST") and not text.endswith("}"):  # the body may come in a packet of its own
            text += connection.recv(65536).decode()
        requests.append(text)
        connection.sendall(raw)

    return treat


def failing_with(base_url: str, timeout: float = 5.0) -> str:
    with pytest.raises(NoAnswer) as caught:
        RequestsTransport()(Request("GET", base_url + "/x"), timeout)
    return str(caught.value)


def test_the_transport_sends_what_it_is_given_and_little_else(serve: Any) -> None:
    """C-1, C-2, C-3: the header is there, X-Forwarded-For is not, and no header of convenience either."""
    requests: list = []
    url = serve(recording(requests)) + "/vm/a/metadata/scheduledevents"
    raw = RequestsTransport()(Request("POST", url, {"api-version": "2020-07-01"}, {"Metadata": "true"}, b'{"x": 1}'), 5.0)
    assert (raw.status, raw.headers, raw.body) == (200, {"connection": "close", "content-length": "2"}, b"{}")
    head, body = requests[0].split("\r\n\r\n")
    first, *headers = head.split("\r\n")
    assert first == "POST /vm/a/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1"
    names = {header.split(":")[0].lower() for header in headers}
    assert {"host", "metadata", "accept-encoding", "content-length"} <= names
    assert names <= {"host", "metadata", "accept-encoding", "content-length", "user-agent"}
    assert body == '{"x": 1}'


def test_what_is_put_together_once_is_sent_as_long_as_it_is_the_same(serve: Any) -> None:
    """Who polls once a second asks the same for minutes; another tag, or another path, is another request (C-9)."""
    requests: list = []
    url, transport = serve(*([recording(requests)] * 5)), RequestsTransport()
    first = Request("GET", url + "/x", {"api-version": "1"}, {"If-None-Match": "1"})
    asked = [first, replace(first), replace(first, headers={"If-None-Match": "2"}), replace(first, url=url + "/y"), first]
    prepared = []
    for request in asked:
        assert transport(request, 5.0).status == 200
        prepared.append(transport._prepared(request))
    assert [one is prepared[0] for one in prepared] == [True, True, False, False, False]
    told = [(text.split(" ")[1], text.split("If-None-Match: ")[1][0]) for text in requests]
    assert told == [("/x?api-version=1", "1"), ("/x?api-version=1", "1"), ("/x?api-version=1", "2"), ("/y?api-version=1", "1"), told[0]]


def test_nothing_of_one_answer_is_in_the_next_request(serve: Any) -> None:
    """C-3: the service sets no cookie; who answers instead of it must not be told anything either."""
    requests: list = []
    cookie = ANSWER.replace(b"Content-Length", b"Set-Cookie: a=b; Path=/\r\nContent-Length")
    url, transport = serve(recording(requests, cookie), recording(requests)), RequestsTransport()
    for path in ("/x", "/y"):
        assert transport(Request("GET", url + path), 5.0).status == 200
    assert "cookie" not in requests[1].lower()


def test_a_proxy_of_the_environment_is_not_used(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-4: proxies are bypassed even when the environment sets one."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    requests: list = []
    assert RequestsTransport()(Request("GET", serve(recording(requests)) + "/x"), 5.0).status == 200
    assert requests[0].startswith("GET /x HTTP/1.1\r\n")


def test_a_redirect_is_not_followed(serve: Any) -> None:
    """C-4: a redirect means that something else answered."""
    requests: list = []
    target = serve(recording(requests))
    redirect = b"HTTP/1.1 302 Found\r\nLocation: %s/y\r\nContent-Length: 0\r\n\r\n" % target.encode()
    raw = RequestsTransport()(Request("GET", serve(replying(redirect)) + "/x"), 5.0)
    assert raw.status == 302
    assert requests == []


def test_a_refused_connection_is_named(unused_port: int) -> None:
    assert failing_with("http://127.0.0.1:%d" % unused_port) == "the connection was refused"


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_silence_is_named_with_the_time_that_was_waited(serve: Any) -> None:
    assert failing_with(serve(lambda connection: time.sleep(1.5)), timeout=1.0) == "no answer within 1 s"


def test_silence_in_the_middle_of_a_body_is_silence(serve: Any) -> None:
    def treat(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        time.sleep(1.5)

    assert failing_with(serve(treat), timeout=1.0) == "no answer within 1 s"


def test_a_body_that_ends_early_is_not_taken_for_the_whole(serve: Any) -> None:
    assert failing_with(serve(replying(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"))) == "the answer was cut off"


def test_a_chunked_body_that_ends_early_is_not_taken_for_the_whole(serve: Any) -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{}"
    assert failing_with(serve(replying(raw))) == "the answer was cut off"


def test_a_connection_closed_without_an_answer_is_named(serve: Any) -> None:
    assert failing_with(serve(lambda connection: connection.recv(65536))) == "the connection was closed without an answer"


def test_a_reset_connection_is_named(serve: Any) -> None:
    def treat(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")

    assert failing_with(serve(treat)) == "the connection was reset"


def test_what_is_not_http_is_named(serve: Any) -> None:
    assert failing_with(serve(replying(b"SSH-2.0-OpenSSH_9.2\r\n"))) == "what came is not HTTP"


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: \xb2",
        b"Content-Length: " + b"9" * 5000,
        b"Content-Length: -1",
        b"Location: http://[::",
        b"Location: http://a..b/",
        b"Transfer-Encoding: chunked\r\nContent-Length: x",
        b"Content-Encoding: gzip",
        b"\x00: \xff",
        b"no colon",
    ],
)
@pytest.mark.parametrize("status", [b"200 OK", b"302 Found"])
def test_no_header_makes_the_transport_stumble(serve: Any, status: bytes, head: bytes) -> None:
    """C-5: whatever answers on this address, it is an answer or our own error."""
    url = serve(replying(b"HTTP/1.1 " + status + b"\r\n" + head + b"\r\n\r\n{}"))
    with contextlib.suppress(NoAnswer):
        assert RequestsTransport()(Request("GET", url + "/x"), 5.0).status in (200, 302)


def test_a_body_without_end_is_given_up(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "LARGEST_BODY", 1024 * 1024)

    def treat(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _number in range(64):
            try:
                connection.sendall(b" " * 65536)
            except OSError:
                return

    assert failing_with(serve(treat)) == "the answer is larger than 1 MiB"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the host name is not known"),
        (OSError(113, "No route to host"), "there is no route to it"),
        (OSError(101, "Network is unreachable"), "there is no route to it"),
        (OSError(5, "Input/output error"), "what came is not HTTP"),
        (http.client.IncompleteRead(b""), "the answer was cut off"),
        (BrokenPipeError(32, "Broken pipe"), "the connection was reset"),
    ],
)
def test_a_cause_is_found_however_the_library_wraps_it(error: Exception, said: str) -> None:
    assert str(_http._why(Exception("wrapped", error), 5.0)) == said


def test_no_connection_is_told_from_no_answer() -> None:
    """C-11: the time-out for an answer is long, the one for a connection is not."""
    import requests

    error = requests.exceptions.ConnectTimeout("connection timed out")
    assert str(_http._why(error, 130.0)) == "no connection within 5 s"
    assert str(_http._why(error, 2.0)) == "no connection within 2 s"


def test_causes_in_a_circle_end() -> None:
    one = Exception("one")
    one.__cause__ = Exception("two", one)
    assert str(_http._why(one, 1.0)) == "what came is not HTTP"
