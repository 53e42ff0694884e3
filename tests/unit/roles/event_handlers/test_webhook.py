# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The webhook against a sink on loopback: one that listens, one that is down, slow, full, wrong, or hangs."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import NoAnswer, RawAnswer, Request, Transport
from azure_event_handlers import records as r
from azure_event_handlers import webhook as w
from azure_event_handlers.configuration import Webhook
from azure_event_handlers.paths import Paths
from azure_event_handlers.webhook import RequestsTransport, Sender, announce

NOW = 1_800_000_000.0
# As the executor tells of a transition.
DATA: Dict[str, Any] = {
    "at": NOW,
    "key": "0f3a91c2d4e5b697",
    "event": {"event_id": "ID-1", "event_type": "Reboot", "event_status": "Scheduled", "resources": ["web_0"], "not_before": NOW + 900},
    "state": "PREPARED",
    "before": "PREPARING",
    "reason": "every handler is done",
    "result": None,
}

Reply = Tuple[int, Dict[str, str]]


class Sink:
    """A web server on loopback that keeps what it gets. replies: one for each request, the last one for all others."""

    def __init__(self) -> None:
        self.replies: List[Reply] = [(200, {})]
        self.requests: List[Tuple[str, Dict[str, str], bytes]] = []
        self.arrived = threading.Event()
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sink.requests.append((self.path, dict(self.headers.items()), body))
                status, headers = sink.replies.pop(0) if len(sink.replies) > 1 else sink.replies[0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()
                sink.arrived.set()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the name that the server gives it)
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = "http://127.0.0.1:%d/services/very-secret" % self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def bodies(self) -> List[Dict[str, Any]]:
        return [json.loads(body) for _path, _headers, body in self.requests]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    yield made
    made.close()


class Host:
    """An outbox, and a sender whose clock is ours: time passes by what the sender itself waits."""

    def __init__(self, root: Path) -> None:
        self.paths = Paths(str(root))
        os.makedirs(self.paths.outbox)
        self.now = NOW
        self.said: List[str] = []

    def announce(self, **changes: Any) -> None:
        announce(self.paths, {**DATA, "at": self.now, **changes})

    def sender(self, hook: Webhook, transport: Optional[Transport] = None) -> Sender:
        return Sender(
            self.paths.outbox,
            hook,
            transport or RequestsTransport(),
            clock=Clock(wall=lambda: self.now),
            say=self.said.append,
            host="web0",
            vm_name="web_0",
            chance=lambda: 0.0,
        )

    def waiting(self) -> List[str]:
        return sorted(name for name in os.listdir(self.paths.outbox) if name.endswith(".json"))

    def states(self) -> List[str]:
        return [json.loads((Path(self.paths.outbox) / name).read_text())["state"] for name in self.waiting()]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def answering(*statuses: int, **headers: str) -> Tuple[Transport, List[Request]]:
    """A transport instead of a sink, where only the answer counts; the last status is given for ever."""
    left, seen = list(statuses), []

    def transport(request: Request, _timeout: float) -> RawAnswer:
        seen.append(request)
        return RawAnswer(left.pop(0) if len(left) > 1 else left[0], {name.replace("_", "-"): value for name, value in headers.items()}, b"")

    return transport, seen


def run_until_empty(host: Host, sender: Sender, most: int = 5000) -> List[float]:
    pauses = []
    while host.waiting():
        assert len(pauses) < most, "it does not come to an end"
        pauses.append(sender.step())
        host.now += pauses[-1]
    return pauses


# --- announcing --------------------------------------------------------------------------------------------------------


def test_without_an_outbox_nobody_wants_to_know(tmp_path: Path) -> None:
    announce(Paths(str(tmp_path)), DATA)
    assert list(tmp_path.iterdir()) == []


def test_a_message_is_a_file_under_a_sortable_name(host: Host) -> None:
    for state in ("PREPARING", "PREPARED", "COMMITTED"):
        host.announce(state=state)
    assert host.states() == ["PREPARING", "PREPARED", "COMMITTED"]
    assert all(len(name) == len("00000000000000000000.json") for name in host.waiting())
    first = Path(host.paths.outbox) / host.waiting()[0]
    assert json.loads(first.read_text()) == {**DATA, "state": "PREPARING"}
    assert first.stat().st_mode & 0o777 == 0o644
    assert sorted(os.listdir(host.paths.outbox)) == host.waiting()  # and no temporary file


def test_the_order_is_kept_when_the_clock_goes_back(host: Host) -> None:
    """W-34: a clock that is set right must not make an old transition the newest."""
    host.announce(state="PREPARING")
    host.now -= 3600
    host.announce(state="PREPARED")
    host.now += 7200
    host.announce(state="IMPACT")
    assert host.states() == ["PREPARING", "PREPARED", "IMPACT"]


def test_a_number_does_not_come_again_when_the_outbox_was_emptied(host: Host) -> None:
    host.announce()
    (before,) = host.waiting()
    os.unlink(os.path.join(host.paths.outbox, before))
    host.now += 1
    host.announce()
    assert host.waiting() > [before]


def test_the_oldest_go_when_there_are_too_many_and_are_counted(host: Host, sink: Sink) -> None:
    """W-60: with a sink that is down the queue never grows beyond its bound."""
    for number in range(w.MOST_MESSAGES + 7):
        host.announce(reason=str(number))
        assert len(host.waiting()) <= w.MOST_MESSAGES
    assert len(host.waiting()) == w.MOST_MESSAGES
    sender = host.sender(Webhook(sink.url))
    sender.step()
    sender.step()
    assert [(body["reason"], body["dropped"]) for body in sink.bodies] == [("7", 7), ("8", 0)]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {**DATA, "at": None},
        {**DATA, "at": "now"},
        {**DATA, "at": float("nan")},
        {**DATA, "at": float("inf")},
        {**DATA, "at": -1e30},
        {**DATA, "at": 1e30},
        {**DATA, 5: 1, "x": 2},
        {**DATA, "reason": float("nan")},
    ],
)
def test_what_cannot_be_written_is_left_and_nothing_is_raised(host: Host, data: Dict[str, Any]) -> None:
    announce(host.paths, data)
    assert host.waiting() == []
    circle: Dict[str, Any] = dict(DATA)
    circle["reason"] = circle
    announce(host.paths, circle)
    assert host.waiting() == []


def test_what_json_does_not_know_is_told_as_text(host: Host) -> None:
    announce(host.paths, {**DATA, "reason": Path("/x")})
    assert len(host.waiting()) == 1


def test_a_message_of_any_size_is_small_in_the_outbox(host: Host) -> None:
    names = ["web_%d" % number for number in range(20000)]
    host.announce(event={"event_id": "x", "resources": names}, reason="r" * 100_000)
    path = Path(host.paths.outbox) / host.waiting()[0]
    assert path.stat().st_size < w.LARGEST_MESSAGE
    found = json.loads(path.read_text())
    assert (found["state"], found["key"], found["shortened"]) == ("PREPARED", DATA["key"], True)


def test_what_the_webhooks_user_puts_there_is_neither_followed_nor_waited_for(host: Host, tmp_path: Path) -> None:
    """The executor is root and the folder is not only root's: a pipe would hold it up, a link would lead it elsewhere."""
    elsewhere = tmp_path / "shadow"
    elsewhere.write_text("theirs")
    outbox = Path(host.paths.outbox)
    (outbox / ".new").symlink_to(elsewhere)
    os.mkfifo(outbox / ".dropped")
    host.announce()
    os.mkfifo(outbox / ".new")
    host.announce()
    for number in range(w.MOST_MESSAGES):
        (outbox / ("%020d.json" % number)).touch()
    host.announce()
    assert elsewhere.read_text() == "theirs"
    assert len(host.waiting()) == w.MOST_MESSAGES
    # No number comes after this one.
    (outbox / ("9" * 20 + ".json")).touch()
    before = host.waiting()
    host.announce()
    assert host.waiting() == before


@pytest.mark.parametrize("obstacle", ["a file", "a folder in the way"])
def test_an_outbox_that_takes_nothing_is_in_nobodys_way(tmp_path: Path, obstacle: str) -> None:
    paths = Paths(str(tmp_path))
    if obstacle == "a file":
        Path(paths.run).mkdir(parents=True)
        Path(paths.outbox).write_text("")
    else:
        (Path(paths.outbox) / ".new").mkdir(parents=True)
    announce(paths, DATA)
    assert not Path(paths.outbox).is_dir() or os.listdir(paths.outbox) == [".new"]


# --- what arrives ------------------------------------------------------------------------------------------------------


def test_messages_arrive_in_order_and_once(host: Host, sink: Sink) -> None:
    for state in ("PREPARING", "PREPARED", "COMMITTED"):
        host.announce(state=state)
    assert run_until_empty(host, host.sender(Webhook(sink.url))) == [0.0, 0.0, 0.0]
    assert [body["state"] for body in sink.bodies] == ["PREPARING", "PREPARED", "COMMITTED"]
    assert sink.bodies[1] == {**DATA, "format": 1, "host": "web0", "vm_name": "web_0", "dropped": 0}
    path, headers, _body = sink.requests[0]
    assert path == "/services/very-secret"
    assert headers["Content-Type"] == "application/json"
    assert len({headers[w.DELIVERY] for _path, headers, _body in sink.requests}) == 3
    assert w.SIGNATURE not in headers
    assert host.said == []


def test_an_empty_outbox_and_one_that_is_not_there_are_looked_at_again(host: Host) -> None:
    transport, seen = answering(200)
    sender = host.sender(Webhook("https://example.com"), transport)
    assert sender.step() == w.LOOK
    os.rmdir(host.paths.outbox)
    assert sender.step() == w.LOOK
    assert seen == []


def test_only_the_states_that_were_asked_for_are_told(host: Host, sink: Sink) -> None:
    for state in ("PREPARING", "PREPARED", "IMPACT", "CLOSED"):
        host.announce(state=state)
    run_until_empty(host, host.sender(Webhook(sink.url, states=(r.PREPARED, r.CLOSED))))
    assert [body["state"] for body in sink.bodies] == ["PREPARED", "CLOSED"]


def test_a_chat_gets_one_sentence(host: Host, sink: Sink) -> None:
    host.announce()
    host.announce(before=None, state="CLOSED", reason="", result="recovered", event={"event_id": "ID-1", "event_type": "Reboot"})
    run_until_empty(host, host.sender(Webhook(sink.url, form="text")))
    assert sink.bodies == [
        {"text": "web0: Reboot ID-1: PREPARED (was PREPARING): every handler is done; not before 2027-01-15T08:15:00Z"},
        {"text": "web0: Reboot ID-1: CLOSED; result: recovered"},
    ]


@pytest.mark.parametrize(
    ("event_id", "not_before"),
    [("<!channel>", NOW), ("@here", 1e300), ("a\nb\u2028c\x1b[1m", float("1e18")), ("`x`", "soon"), ("x" * 9999, None)],
)
def test_nothing_that_the_service_sends_is_markup_in_a_chat(event_id: str, not_before: Any) -> None:
    words = w.sentence({**DATA, "host": "web0", "event": {"event_id": event_id, "event_type": "Reboot", "not_before": not_before}})
    assert not set(words) & set("<>@`\n\u2028\x1b")
    assert words.startswith("web0: Reboot ")
    assert len(words) <= 1000


def test_a_message_is_signed_with_the_secret_of_the_moment(host: Host, sink: Sink, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    sender = host.sender(Webhook(sink.url, secret_file=str(secret)))
    for text in ("first\n", "second"):
        secret.write_text(text)
        host.announce()
        assert sender.step() == 0.0
        _path, headers, body = sink.requests[-1]
        assert headers[w.SIGNATURE] == "sha256=" + hmac.new(text.strip().encode(), body, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("content", "expected"), [(None, "its secret cannot be read from %s: No such file or directory"), ("\n", "its secret in %s is empty")]
)
def test_what_cannot_be_signed_is_not_sent(host: Host, sink: Sink, tmp_path: Path, content: Optional[str], expected: str) -> None:
    secret = tmp_path / "secret"
    if content is not None:
        secret.write_text(content)
    host.announce()
    sender = host.sender(Webhook(sink.url, secret_file=str(secret)))
    assert sender.step() == w.FIRST_PAUSE
    assert sink.requests == []
    assert host.said == ["The webhook does not take messages: %s. They are sent again." % (expected % secret)]
    secret.write_text("here it is")
    assert sender.step() == 0.0
    assert len(sink.requests) == 1


def test_what_is_no_message_is_removed_and_said(host: Host) -> None:
    outbox = Path(host.paths.outbox)
    (outbox / ("%020d.json" % 1)).write_text("{")
    (outbox / ("%020d.json" % 2)).write_text("[]")
    (outbox / ("%020d.json" % 3)).write_text('{"at": true}')
    os.mkfifo(outbox / ("%020d.json" % 4))
    (outbox / ("%020d.json" % 5)).symlink_to("/etc/passwd")
    (outbox / "notes.txt").write_text("not ours")
    host.announce()
    transport, seen = answering(200)
    assert host.sender(Webhook("https://example.com"), transport).step() == 0.0
    assert len(seen) == 1
    assert sorted(os.listdir(outbox)) == ["notes.txt"]
    assert host.said == ["The file %020d.json in the outbox is not a message; it is removed." % number for number in range(1, 6)]


def test_what_cannot_be_removed_is_not_sent_again_and_again(host: Host) -> None:
    outbox = Path(host.paths.outbox)
    (outbox / ("%020d.json" % 1)).mkdir()
    (outbox / ("%020d.json" % 1) / "x").touch()
    host.announce()
    transport, seen = answering(200)
    sender = host.sender(Webhook("https://example.com"), transport)
    assert [sender.step(), sender.step(), sender.step()] == [0.0, w.LOOK, w.LOOK]
    assert len(seen) == 1
    assert len(host.said) == 2  # that it is no message, and that it stays


# --- W-60: a sink that does not take it --------------------------------------------------------------------------------


def refused_url() -> str:
    """Nobody listens there: the port was just given back."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "http://127.0.0.1:%d/very-secret" % probe.getsockname()[1]


def test_a_sink_that_is_down_is_asked_ever_more_rarely_and_then_gets_everything(host: Host, sink: Sink) -> None:
    """W-60: down."""
    for state in ("PREPARING", "PREPARED"):
        host.announce(state=state)
    sender = host.sender(Webhook(refused_url()))
    pauses = [sender.step() for _turn in range(11)]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0]
    assert host.states() == ["PREPARING", "PREPARED"]
    # Said once, and without the path of the address.
    assert host.said == ["The webhook does not take messages: there is no connection to it, or it was cut off. They are sent again."]


@pytest.mark.parametrize(
    ("replies", "pauses"),
    [
        ([(500, {})], [1.0]),
        ([(503, {})] * 3, [1.0, 2.0, 4.0]),
        ([(408, {})], [1.0]),
        ([(429, {})], [1.0]),
        ([(429, {"Retry-After": "40"})], [40.0]),
        ([(429, {"Retry-After": "0"})], [1.0]),
        ([(503, {"Retry-After": "Fri, 15 Jan 2027 08:01:00 GMT"})], [60.0]),  # a minute after the clock of this test
        ([(503, {"Retry-After": "Fri, 15 Jan 1999 08:01:00 GMT"})], [1.0]),
        ([(429, {"Retry-After": "later"})], [1.0]),
        ([(429, {"Retry-After": "999999999"})], [3600.0]),
        ([(302, {"Location": "http://127.0.0.1:1/"})], [1.0]),
        ([(204, {})], []),
        ([(202, {})], []),
    ],
)
def test_a_sink_that_says_not_now_gets_it_later(host: Host, sink: Sink, replies: List[Reply], pauses: List[float]) -> None:
    """W-60: 500, 429 with Retry-After, a redirect."""
    sink.replies = [*replies, (200, {})]
    host.announce()
    host.announce(state="COMMITTED")
    assert [pause for pause in run_until_empty(host, host.sender(Webhook(sink.url))) if pause] == pauses
    tries = len(pauses) + 1
    assert [body["state"] for body in sink.bodies] == ["PREPARED"] * tries + ["COMMITTED"]
    assert len({headers[w.DELIVERY] for _path, headers, _body in sink.requests}) == 2
    if pauses:
        assert host.said[-1] == "The webhook takes messages again."
        assert len(host.said) == 2
    assert "very-secret" not in "".join(host.said)


def test_a_redirect_is_not_followed(host: Host, sink: Sink) -> None:
    """What is meant for one must not be led to another."""
    sink.replies = [(307, {"Location": "/elsewhere"}), (200, {})]
    host.announce()
    assert run_until_empty(host, host.sender(Webhook(sink.url))) == [1.0, 0.0]
    assert {path for path, _headers, _body in sink.requests} == {"/services/very-secret"}


def test_patience_begins_anew_after_each_message_that_was_taken(host: Host) -> None:
    transport, _seen = answering(500, 500, 200, 500, 200)
    host.announce()
    host.announce()
    assert run_until_empty(host, host.sender(Webhook("https://example.com"), transport)) == [1.0, 2.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413])
def test_a_sink_that_says_no_for_good_is_believed(host: Host, sink: Sink, status: int) -> None:
    """W-60: 404. The next message is not held up by it, and the sink is not hammered."""
    sink.replies = [(status, {}), (200, {})]
    host.announce()
    host.announce(state="COMMITTED")
    assert run_until_empty(host, host.sender(Webhook(sink.url))) == [w.FIRST_PAUSE, 0.0]
    assert [body["state"] for body in sink.bodies] == ["PREPARED", "COMMITTED"]
    assert host.said == ["The message of record 0f3a91c2d4e5b697, state PREPARED, is given up: it answered %d." % status]


def test_old_news_are_given_up_after_a_day(host: Host) -> None:
    """W-60: and never earlier; what comes meanwhile waits its turn."""
    transport, seen = answering(500)
    host.announce()
    sender = host.sender(Webhook("https://example.com"), transport)
    while host.now <= NOW + w.GIVE_UP_AFTER:
        assert host.states() == ["PREPARED"]
        host.now += sender.step()
    host.announce(state="COMMITTED")
    sender.step()
    assert host.states() == ["COMMITTED"]
    assert host.said[-1] == "The message of record 0f3a91c2d4e5b697, state PREPARED, is given up: it answered 500, for 1 d."
    assert len(seen) < 320


def test_chance_takes_up_to_half_of_a_pause(host: Host) -> None:
    """Hosts of one scope must not ask in step."""
    host.announce()

    def pause(chance: float) -> float:
        hook, transport = Webhook("https://example.com"), answering(500)[0]
        clock = Clock(wall=lambda: host.now)
        return Sender(host.paths.outbox, hook, transport, clock=clock, say=host.said.append, host="web0", chance=lambda: chance).step()

    assert (pause(0.0), pause(0.5), pause(1.0)) == (1.0, 0.75, 0.5)


def test_a_sink_that_hangs_is_waited_for_only_so_long(host: Host) -> None:
    """W-60: it takes the connection and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        real = RequestsTransport()
        asked: List[float] = []

        def impatient(request: Request, timeout: float) -> RawAnswer:
            asked.append(timeout)
            return real(request, 0.1)

        host.announce()
        sender = host.sender(Webhook("http://127.0.0.1:%d/" % listening.getsockname()[1]), impatient)
        assert sender.step() == w.FIRST_PAUSE
    assert asked == [w.TIMEOUT]
    assert host.said == ["The webhook does not take messages: it does not answer within 10 s. They are sent again."]
    assert len(host.waiting()) == 1


def test_who_announces_does_not_wait_for_a_sink_that_hangs(host: Host) -> None:
    """W-60: own queue, never in the way of recover."""
    hangs, go_on = threading.Event(), threading.Event()

    def hanging(_request: Request, _timeout: float) -> RawAnswer:
        hangs.set()
        assert go_on.wait(60)
        raise NoAnswer("it hangs")

    host.announce(state="PREPARING")
    sender = threading.Thread(target=host.sender(Webhook("https://example.com"), hanging).step, daemon=True)
    sender.start()
    assert hangs.wait(60)
    for number in range(w.MOST_MESSAGES + 50):
        host.announce(reason=str(number))
    assert not go_on.is_set()  # all that while it hung
    assert len(host.waiting()) == w.MOST_MESSAGES
    go_on.set()
    sender.join(60)
    assert not sender.is_alive()
    # The message that it had in hand had to go meanwhile, and is not brought back.
    assert "PREPARING" not in host.states()


# --- the seam and the program ------------------------------------------------------------------------------------------


def no_http(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


def cut_off(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 20")


@pytest.mark.parametrize("answer", [no_http, cut_off])
def test_what_is_no_answer_is_told_without_the_address(answer: Callable[[socket.socket], None]) -> None:
    """With many services whoever knows the path may write there, and journals are read by many."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def serve() -> None:
            connection, _address = listening.accept()
            with connection:
                answer(connection)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        url = "http://127.0.0.1:%d/very-secret" % listening.getsockname()[1]
        with pytest.raises(NoAnswer) as failure:
            RequestsTransport()(Request("POST", url, body=b"{}"), 5.0)
        serving.join(10)
    assert str(failure.value) == "there is no connection to it, or it was cut off"
    assert "very-secret" not in str(failure.value)


def test_the_operators_proxy_is_used(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-4 is about the metadata service; a webhook on the internet may be reached by a proxy only."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", sink.url.rsplit("/", 2)[0])
    answer = RequestsTransport()(Request("POST", "http://hook.invalid/x", body=b"{}"), 5.0)
    assert answer.status == 200
    assert [path for path, _headers, _body in sink.requests] == ["http://hook.invalid/x"]


def configured(root: Path, **webhook: Any) -> Paths:
    paths = Paths(str(root))
    folder = Path(paths.configuration).parent
    folder.mkdir(parents=True)
    for each in (root, folder.parent, folder):
        each.chmod(0o755)
    Path(paths.configuration).write_text(json.dumps({"format": 1, "webhook": webhook or None}))
    os.chmod(paths.configuration, 0o644)
    os.makedirs(paths.outbox)
    return paths


def program(root: Path, **more: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-B", "-m", "azure_event_handlers.webhook", "--root", str(root)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, **more)


def test_the_program_sends_what_waits_until_it_is_stopped(tmp_path: Path, sink: Sink) -> None:
    paths = configured(tmp_path, url=sink.url)
    announce(paths, DATA)
    with program(tmp_path) as running:
        try:
            assert sink.arrived.wait(30)
        finally:
            running.send_signal(signal.SIGTERM)
        assert running.wait(30) == -signal.SIGTERM
    assert [body["state"] for body in sink.bodies] == ["PREPARED"]
    assert sink.bodies[0]["host"] == socket.gethostname()


@pytest.mark.parametrize(("break_it", "code", "said"), [(False, 0, "There is no webhook in "), (True, 1, "is not JSON")])
def test_the_program_ends_where_there_is_nobody_to_send_to(tmp_path: Path, break_it: bool, code: int, said: str) -> None:
    paths = configured(tmp_path)
    if break_it:
        Path(paths.configuration).write_text("{")
    with program(tmp_path) as running:
        _out, error = running.communicate(timeout=30)
    assert running.returncode == code
    assert said in error.decode()
    assert len(error.decode().splitlines()) == 1
