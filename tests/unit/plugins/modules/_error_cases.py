# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every failure that an operator can meet, word by word: how it comes about, and what is said.

Private to the tests. In a message <endpoint> stands for the option of that name, <url> and <instance> for the two addresses
below it. The lookup goes through the same table as the module that reads.
"""

from __future__ import annotations

import errno
import json
import random
import socket
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, List, Mapping, NoReturn, Tuple

from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import (
    APPROVE,
    FIRST,
    INFO,
    NEVER,
    SECOND,
    THIRD,
    WAIT,
    Stage,
)


def _as_it_is(stage: Stage) -> None:
    """Nothing special is going on."""


@dataclass(frozen=True)
class Case:
    name: str
    message: str
    prepare: Callable[[Stage], object] = _as_it_is
    module: str = INFO
    options: Mapping[str, Any] = field(default_factory=dict)
    check: bool = False

    def expected(self, stage: Stage) -> str:
        text = self.message.replace("<url>", stage.url).replace("<instance>", stage.instance_url)
        return text.replace("<endpoint>", stage.endpoint)


# --- what happens on the wire -----------------------------------------------------------------------------------------


def _listening(stage: Stage, backlog: int = 5) -> socket.socket:
    server = stage.closing.enter_context(socket.socket())
    server.bind(("127.0.0.1", 0))
    server.listen(backlog)
    stage.endpoint = "http://127.0.0.1:%d" % server.getsockname()[1]
    return server


def _dead(stage: Stage) -> None:
    _listening(stage).close()


def _another_program(stage: Stage) -> None:
    """A port on which something else than HTTP is spoken."""
    server = _listening(stage)

    def greet() -> None:
        connection, _peer = server.accept()
        with connection:
            connection.sendall(b"220 mail.example.com ready\r\n")
            connection.recv(65536)

    thread = threading.Thread(target=greet, daemon=True)
    thread.start()
    stage.closing.callback(thread.join, 5)


def _deaf(stage: Stage) -> None:
    """A listener whose queue is full takes no further connection: the packets of one more are dropped."""
    server = _listening(stage, backlog=0)
    for _number in range(3):
        client = stage.closing.enter_context(socket.socket())
        client.setblocking(False)
        client.connect_ex(server.getsockname())


def _without_route(stage: Stage) -> None:
    def refuse(_socket: socket.socket, _address: Any) -> NoReturn:
        raise OSError(errno.EHOSTUNREACH, "No route to host")

    stage.patch.setattr(socket.socket, "connect", refuse)


def _unknown_host(stage: Stage) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    stage.patch.setattr(socket, "getaddrinfo", refuse)
    stage.endpoint = "http://metadata.invalid"


def _control_plane(stage: Stage) -> None:
    """A port on which another HTTP service listens."""
    stage.endpoint = stage.simulator.control_url


def _fault(kind: str, *, verb: str = "GET", path: str = "events", times: Any = None, **parameters: Any) -> Callable[[Stage], object]:
    def prepare(stage: Stage) -> None:
        stage.simulator.fault(kind, verb=verb, path=path, times=times, **parameters)

    return prepare


def _status(status: int, **parameters: Any) -> Callable[[Stage], object]:
    return _fault("status", status=status, **parameters)


def _body(body: str, path: str = "events") -> Callable[[Stage], object]:
    return _fault("status", status=200, body=body, path=path)


def _seeded(prepare: Callable[[Stage], object]) -> Callable[[Stage], object]:
    """Chance takes a part of each pause away; always the same part here."""

    def prepared(stage: Stage) -> None:
        random.seed(1)
        prepare(stage)

    return prepared


_UNREACHABLE = "Check that this host is an Azure VM, that endpoint is its metadata service and that no firewall is in between."
_FORBIDDEN = (
    "A security policy of the metadata service (enforce mode) keeps this process out and asking again cannot help:"
    " have the policy allow it, or run where it is allowed."
)
_TROUBLE = "The metadata service is in trouble: try again in a few minutes, or raise retry_for."
_SOMEBODY_ELSE = "The metadata service does not answer so: check endpoint."
_UPDATING = "The service is being updated: try again in a few minutes, or raise retry_for."
_NO_DOCUMENT = "Something else than the metadata service answered: check endpoint, and that no proxy is in between."
_AT_TEN = "Azure starts it anyway at 2026-11-18T10:00:00Z (in 14 min) or shortly after."


def _event(**changes: Any) -> str:
    """A document with one event, the second of two, that differs from a good one."""
    good = {
        "EventId": FIRST,
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web_0"],
        "EventStatus": "Scheduled",
        "NotBefore": "Mon, 19 Sep 2016 18:29:47 GMT",
    }
    bad = {key: value for key, value in {**good, "EventId": SECOND, **changes}.items() if value is not None}
    return json.dumps({"DocumentIncarnation": 1, "Events": [good, bad]})


def _no_document(why: str) -> str:
    return "GET <url> failed: the answer is not a document of scheduled events: %s. %s" % (why, _NO_DOCUMENT)


CONNECTION: Tuple[Case, ...] = (
    Case("dead endpoint", "GET <url> failed: the connection was refused. " + _UNREACHABLE, _dead),
    Case(
        "dead endpoint, asked again",
        "GET <url> failed: the connection was refused, tried 3 times in 2 s. " + _UNREACHABLE,
        _seeded(_dead),
        options={"retry_for": "4s"},
    ),
    Case(
        "wrong port, another protocol",
        "GET <url> failed: what came is not HTTP. The metadata service does not answer so: check endpoint.",
        _another_program,
    ),
    Case(
        "wrong port, another service",
        "GET <url> failed: the service answered 404 Not Found (there is nothing at /metadata/scheduledevents; GET / lists what there is)."
        " Either the service is being updated, then try again in a minute, or the path of endpoint is wrong.",
        _control_plane,
    ),
    Case(
        "nobody takes the connection",
        "GET <url> failed: no connection within 1 s. " + _UNREACHABLE,
        _deaf,
        options={"timeout": "1s"},
    ),
    Case("time-out", "GET <url> failed: no answer within 1 s. " + _UNREACHABLE, _fault("hang"), options={"timeout": "1s"}),
    Case("no route", "GET <url> failed: there is no route to it. " + _UNREACHABLE, _without_route),
    Case("unknown host", "GET <url> failed: the host name is not known. " + _UNREACHABLE, _unknown_host),
    Case("reset", "GET <url> failed: the connection was reset. " + _UNREACHABLE, _fault("reset")),
    Case("closed", "GET <url> failed: the connection was closed without an answer. " + _UNREACHABLE, _fault("close")),
    Case("cut-off body", "GET <url> failed: the answer was cut off. " + _UNREACHABLE, _fault("truncate")),
    Case(
        "endless body",
        "GET <url> failed: the answer is larger than 64 MiB. " + _UNREACHABLE,
        _fault("status", status=200, body=b" " * (64 * 1024 * 1024 + 1)),
    ),
)

STATUSES: Tuple[Case, ...] = (
    Case(
        "redirect",
        "GET <url> failed: the service answered 302 Found."
        " The metadata service never redirects, so a proxy or a wrong address answered: check endpoint.",
        _fault("redirect"),
    ),
    Case(
        "304, which nobody asked for",
        "GET <url> failed: the service answered 304 Not Modified."
        " The metadata service never redirects, so a proxy or a wrong address answered: check endpoint.",
        _status(304),
    ),
    Case(
        "400",
        "GET <url> failed: the service answered 400 Bad Request (Bad request.). Check api_version and endpoint.",
        _status(400),
    ),
    Case(
        "unknown version",
        "GET <url> failed: the service answered 400 Bad Request (Bad request: api-version '2099-01-01' is not supported.)."
        " Check api_version and endpoint.",
        options={"api_version": "2099-01-01"},
    ),
    Case(
        "401",
        "GET <url> failed: the service answered 401 Unauthorized (Unauthorized: the request carries no valid signature.). " + _FORBIDDEN,
        _status(401),
        options={"retry_for": "90s"},
    ),
    Case(
        "403",
        "GET <url> failed: the service answered 403 Forbidden (Forbidden by the host's access policy.). " + _FORBIDDEN,
        _status(403),
        options={"retry_for": "90s"},
    ),
    Case(
        "404",
        "GET <url> failed: the service answered 404 Not Found (Not found: the metadata is being updated.)."
        " Either the service is being updated, then try again in a minute, or the path of endpoint is wrong.",
        _status(404),
    ),
    Case(
        "405",
        "GET <url> failed: the service answered 405 Method Not Allowed (Method not allowed.). " + _SOMEBODY_ELSE,
        _status(405),
        options={"retry_for": "90s"},
    ),
    Case("402", "GET <url> failed: the service answered 402 Payment Required. " + _SOMEBODY_ELSE, _status(402, body="insert coin")),
    Case("a status that nobody knows", "GET <url> failed: the service answered 799. " + _SOMEBODY_ELSE, _status(799, body="")),
    Case(
        "410 for ever",
        "GET <url> failed: the service answered 410 Gone (Gone: the metadata service is being updated, try again.),"
        " tried 11 times in 1 min 23 s. " + _UPDATING,
        _seeded(_status(410)),
        options={"retry_for": "90s"},
    ),
    Case(
        "429",
        "GET <url> failed: the service answered 429 Too Many Requests (Too many requests.), tried 4 times in 1 min 30 s."
        " It takes 5 requests a second from one VM: find what else on this VM asks it, or raise retry_for.",
        _status(429, headers={"Retry-After": "30"}),
        options={"retry_for": "90s"},
    ),
    Case("500", "GET <url> failed: the service answered 500 Internal Server Error (Internal error.). " + _TROUBLE, _status(500)),
    Case(
        "503, for longer than we wait",
        "GET <url> failed: the service answered 503 Service Unavailable (Service unavailable.). " + _TROUBLE,
        _status(503, headers={"Retry-After": "3600"}),
        options={"retry_for": "90s"},
    ),
    Case(
        "an error of many words",
        "GET <url> failed: the service answered 500 Internal Server Error (%s). %s" % ("no " * 66 + "no", _TROUBLE),
        _status(500, body='{"error": "%s"}' % ("no \\n " * 200)),
    ),
)

DOCUMENTS: Tuple[Case, ...] = (
    Case("HTML with 200", _no_document("it is not JSON but HTML, as a captive proxy sends it"), _fault("html")),
    Case("half a JSON", _no_document("it is not JSON"), _fault("half_json")),
    Case("an empty body", _no_document("it is not JSON"), _body("")),
    Case("a number that is none", _no_document("it is not JSON"), _body('{"DocumentIncarnation": NaN, "Events": []}')),
    Case("a list", _no_document("it is JSON, but not an object"), _body("[]")),
    Case("no incarnation", _no_document("it is JSON without DocumentIncarnation and a list Events"), _body('{"Events": []}')),
    Case("no list", _no_document("it is JSON without DocumentIncarnation and a list Events"), _body('{"DocumentIncarnation": 1}')),
    Case(
        "an incarnation in words",
        _no_document("DocumentIncarnation is 'one', not a whole number"),
        _body('{"DocumentIncarnation": "one", "Events": []}'),
    ),
    Case(
        "an event that is text",
        _no_document("event 1 is not an object"),
        _body('{"DocumentIncarnation": 1, "Events": ["Reboot"]}'),
    ),
    Case("no id", _no_document("event 2 has EventId: missing"), _body(_event(EventId=None))),
    Case("an id that is a number", _no_document("event 2 has EventId: 7"), _body(_event(EventId=7))),
    Case("a blank type", _no_document("event 2 has EventType: missing"), _body(_event(EventType=" "))),
    Case("no status", _no_document("event 2 has EventStatus: missing"), _body(_event(EventStatus=None))),
    Case("no resources", _no_document("event 2 has Resources: missing"), _body(_event(Resources=None))),
    Case("resources that are text", _no_document("event 2 has Resources: 'web_0'"), _body(_event(Resources="web_0"))),
    Case("a resource that is a number", _no_document("event 2 has Resources: a list with 1"), _body(_event(Resources=[1]))),
    Case("a date of another form", _no_document("event 2 has NotBefore: '19.09.2016'"), _body(_event(NotBefore="19.09.2016"))),
    Case("a duration in words", _no_document("event 2 has DurationInSeconds: 'long'"), _body(_event(DurationInSeconds="long"))),
    Case("a source that is an object", _no_document("event 2 has EventSource: a dict"), _body(_event(EventSource={}))),
    Case(
        "a value of great length",
        _no_document("event 2 has NotBefore: '%s..." % ("x" * 59)),
        _body(_event(NotBefore="x" * 500)),
    ),
    Case(
        "two events of one id",
        _no_document("it lists event '%s' twice with different content" % FIRST.lower()),
        _body(_event(EventId=FIRST.lower(), Resources=["web_1"])),
    ),
)

_NO_NAME = (
    "GET <instance> failed: the answer does not say the VM's name. The VM may be too young for it: try again in a minute, or give vm_name."
)

_NOT_WAITED_FOR = " Nothing was posted. Event %s is not approved, and Azure does not wait for it."

IDENTITY: Tuple[Case, ...] = (
    Case(
        "a VM too young",
        "GET <instance> failed: the service answered 404 Not Found (Not found: the metadata is being updated.)."
        " Either the service is being updated, then try again in a minute, or the path of endpoint is wrong.",
        _status(404, path="instance"),
        options={"this_vm_only": True},
    ),
    Case("an identity without a name", _NO_NAME, _body('{"compute": {"name": ""}}', "instance"), options={"gather_vm": True}),
    Case(
        "an identity that is HTML",
        "GET <instance> failed: the answer is not the identity of a VM. Something else than the metadata service answered:"
        " check endpoint, and that no proxy is in between.",
        _fault("html", path="instance"),
        options={"gather_vm": True},
    ),
    Case(
        "no identity to approve for",
        _NO_NAME.replace("vm_name", "ready_resources") + _NOT_WAITED_FOR % FIRST,
        _body("{}", "instance"),
        module=APPROVE,
        options={"event_ids": [FIRST]},
    ),
)

# --- options ----------------------------------------------------------------------------------------------------------


def _no_duration(option: str, value: str) -> str:
    return "%s: %s is not a duration: give seconds, or a number with s, m, h or d such as 15m." % (option, value)


def _no_name(option: str, value: str) -> str:
    return "%s: %s is not a name or id of Azure; give a YAML list of whole names, not the text of a list." % (option, value)


OPTIONS: Tuple[Case, ...] = (
    Case(
        "an endpoint without http",
        "endpoint: '169.254.169.254' is not the base URL of a metadata service; give something like http://169.254.169.254.",
        options={"endpoint": "169.254.169.254"},
    ),
    Case(
        "an endpoint with a query",
        "endpoint: 'http://127.0.0.1/?api-version=2020-07-01' is not the base URL of a metadata service;"
        " give something like http://169.254.169.254.",
        options={"endpoint": "http://127.0.0.1/?api-version=2020-07-01"},
    ),
    Case(
        "a version that is none",
        "api_version: 'latest' is not a version; give a date such as 2020-07-01.",
        options={"api_version": "latest"},
    ),
    Case("timeout", _no_duration("timeout", "'soon'"), options={"timeout": "soon"}),
    Case("a negative timeout", _no_duration("timeout", "'-1'"), options={"timeout": "-1"}),
    Case("no patience at all", "timeout must be at least 1 s, not '0.5s'.", options={"timeout": "0.5s"}),
    Case("patience without end", "timeout must be at most 365 d, not '999999999999d'.", options={"timeout": "999999999999d"}),
    Case(
        "a port that is none",
        "endpoint: 'http://127.0.0.1:99999' is not the base URL of a metadata service; give something like http://169.254.169.254.",
        options={"endpoint": "http://127.0.0.1:99999"},
    ),
    Case("retry_for", _no_duration("retry_for", "'1w'"), options={"retry_for": "1w"}),
    Case("starts_within", _no_duration("starts_within", "'half an hour'"), options={"starts_within": "half an hour"}),
    Case("min_duration", _no_duration("min_duration", "'10 sec'"), options={"min_duration": "10 sec"}),
    Case("max_duration", _no_duration("max_duration", "'inf'"), options={"max_duration": "inf"}),
    Case(
        "durations that contradict each other",
        "min_duration (10 min) is longer than max_duration (9 s), so no event can match.",
        options={"min_duration": "10m", "max_duration": "9s"},
    ),
    Case("a list of ids as text", _no_name("event_ids", "\"['%s'\"" % FIRST), options={"event_ids": "['%s', '%s']" % (FIRST, SECOND)}),
    Case("names in one text", _no_name("resources", "'web_0 web_1'"), options={"resources": "web_0 web_1"}),
    Case("an empty name", _no_name("resources", "''"), options={"resources": [""]}),
    Case("a name that is a list", _no_name("vm_name", "'[web_0]'"), options={"vm_name": "[web_0]"}),
    Case(
        "start_timeout", _no_duration("start_timeout", "'later'"), module=APPROVE, options={"event_ids": [FIRST], "start_timeout": "later"}
    ),
    Case("ids to approve as text", _no_name("event_ids", "\"['%s']\"" % FIRST), module=APPROVE, options={"event_ids": "['%s']" % FIRST}),
    Case(
        "ready VMs as text",
        _no_name("ready_resources", "'web_0 web_1'"),
        module=APPROVE,
        options={"event_ids": [FIRST], "ready_resources": "web_0 web_1"},
    ),
    Case(
        "unready VMs as text",
        _no_name("allow_unready", "'{web_0}'"),
        module=APPROVE,
        options={"event_ids": [FIRST], "ready_resources": [], "allow_unready": "{web_0}"},
    ),
    Case(
        "types as text",
        _no_name("allow_types", "'\"Preempt\"'"),
        module=APPROVE,
        options={"event_ids": [FIRST], "ready_resources": [], "allow_types": '"Preempt"'},
    ),
    Case(
        "wait_timeout", _no_duration("wait_timeout", "'for ever'"), module=WAIT, options={"event_ids": [FIRST], "wait_timeout": "for ever"}
    ),
    Case("poll_interval", _no_duration("poll_interval", "'often'"), module=WAIT, options={"event_ids": [FIRST], "poll_interval": "often"}),
    Case(
        "looks too close to each other (C-8)",
        "poll_interval must be at least 1 s, not '0.2s'.",
        module=WAIT,
        options={"event_ids": [FIRST], "poll_interval": "0.2s"},
    ),
    Case("ids to wait for as text", _no_name("event_ids", "'[%s]'" % FIRST), module=WAIT, options={"event_ids": "[%s]" % FIRST}),
    Case(
        "a query that is not JMESPath",
        "query: 'events[' is not a JMESPath expression that can be evaluated here: Invalid jmespath expression: Incomplete expression:"
        ' "events[" ^.',
        options={"query": "events["},
    ),
    Case(
        "a query with a step of nothing",
        "query: 'events[::0]' is not a JMESPath expression that can be evaluated here: slice step cannot be zero.",
        options={"query": "events[::0]"},
    ),
    Case(
        "a query that nobody can evaluate",
        "query: 'length(document_incarnation)' is not a JMESPath expression that can be evaluated here: In function length(),"
        " invalid type for value: 1, expected one of: ['string', 'array', 'object'], received: \"number\".",
        options={"query": "length(document_incarnation)"},
    ),
)

# --- refusals ---------------------------------------------------------------------------------------------------------


def _reboot(*resources: str, **options: Any) -> Callable[[Stage], object]:
    return lambda stage: stage.reboot(*(resources or ("web_0",)), **options)


def _typed(event_type: str, *resources: str, **options: Any) -> Callable[[Stage], object]:
    return lambda stage: stage.schedule(event_type, *resources, **options)


def _approve(*event_ids: str, **options: Any) -> Mapping[str, Any]:
    return {"event_ids": list(event_ids or (FIRST,)), "ready_resources": ["web_0"], **options}


def _all(*steps: Callable[[Stage], object]) -> Callable[[Stage], object]:
    def prepare(stage: Stage) -> None:
        for step in steps:
            step(stage)

    return prepare


def _overdue(stage: Stage) -> None:
    stage.reboot("web_0", "web_1", stuck=True)
    stage.hands.advance(960)


REFUSALS: Tuple[Case, ...] = (
    Case(
        "one of two events hits a neighbour",
        "Refused, nothing was posted: event %s (Reboot) also hits web_1, not known to be ready (ready is: web_0): prepare, then name"
        " every VM by its Azure name in ready_resources. %s Event %s is not approved either."
        " Azure starts it anyway at 2026-11-18T09:56:00Z (in 10 min) or shortly after." % (SECOND, _AT_TEN, FIRST),
        _all(_reboot("web_0", notice=600), _reboot("web_0", "web_1", event_id=SECOND)),
        APPROVE,
        _approve(FIRST, SECOND),
    ),
    Case(
        "host names instead of Azure's",
        "Refused, nothing was posted: event %s (Reboot) hits web_0, web_1, not known to be ready (ready are: web-a, web-b): prepare, then"
        " name every VM by its Azure name in ready_resources. %s" % (FIRST, _AT_TEN),
        _reboot("web_0", "web_1"),
        APPROVE,
        _approve(ready_resources=["web-a", "web-b"]),
    ),
    Case(
        "many names",
        "Refused, nothing was posted: event %s (Reboot) also hits web_1, not known to be ready (ready are: a0, a1, a2, a3, a4 and 16 more):"
        " prepare, then name every VM by its Azure name in ready_resources. %s" % (FIRST, _AT_TEN),
        _reboot("web_0", "web_1"),
        APPROVE,
        _approve(ready_resources=["a%d" % number for number in range(20)] + ["web_0"]),
    ),
    Case(
        "nobody is ready",
        "Refused, nothing was posted: event %s (Reboot) hits web_0, not known to be ready: prepare, then name every VM by its Azure name in"
        " ready_resources. %s" % (FIRST, _AT_TEN),
        _reboot("web_0"),
        APPROVE,
        _approve(ready_resources=[]),
    ),
    Case(
        "a neighbour is not ready",
        "Refused, nothing was posted: event %s (Reboot) also hits web_1, web_2, not known to be ready (ready is: web_0): prepare, then name"
        " every VM by its Azure name in ready_resources. %s" % (FIRST, _AT_TEN),
        _reboot("web_0", "web_1", "web_2"),
        APPROVE,
        _approve(),
    ),
    Case(
        "the same in check mode",
        "Refused, nothing was posted: event %s (Reboot) also hits web_1, not known to be ready (ready is: web_0): prepare, then name"
        " every VM by its Azure name in ready_resources. %s" % (FIRST, _AT_TEN),
        _reboot("web_0", "web_1"),
        APPROVE,
        _approve(),
        check=True,
    ),
    Case(
        "it is overdue",
        "Refused, nothing was posted: event %s (Reboot) also hits web_1, not known to be ready (ready is: web_0): prepare, then name"
        " every VM by its Azure name in ready_resources. Azure starts it anyway at any moment: its NotBefore was 2 min ago." % FIRST,
        _overdue,
        APPROVE,
        _approve(),
    ),
    Case(
        "it has no time",
        "Refused, nothing was posted: event %s (Reboot) also hits web_1, not known to be ready (ready is: web_0): prepare, then name"
        " every VM by its Azure name in ready_resources. Azure starts it at a time that it does not announce." % FIRST,
        _reboot("web_0", "web_1", extra={"NotBefore": ""}),
        APPROVE,
        _approve(),
    ),
    Case(
        "a VM would be deleted",
        "Refused, nothing was posted: event %s (Preempt) deletes web_0, and allow_types does not name Preempt."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 14 min) or shortly after." % FIRST,
        _typed("Preempt", "web_0"),
        APPROVE,
        _approve(),
    ),
    Case(
        "VMs would be deleted",
        "Refused, nothing was posted: event %s (Terminate) deletes web_0, and allow_types does not name Terminate. %s" % (FIRST, _AT_TEN),
        _typed("Terminate", "web_0"),
        APPROVE,
        _approve(allow_types=["Preempt"]),
    ),
    Case(
        "a type that nobody documents",
        "Refused, nothing was posted: event %s (GuestUpdate) has an effect that nobody documents, and allow_types does not name"
        " GuestUpdate. %s" % (FIRST, _AT_TEN),
        _typed("GuestUpdate", "web_0"),
        APPROVE,
        _approve(),
    ),
    Case(
        "a status that nobody documents",
        "Refused, nothing was posted: event %s (Reboot) has the status 'Postponed', and only Scheduled events can be approved. %s"
        % (FIRST, _AT_TEN),
        _reboot("web_0", extra={"EventStatus": "Postponed"}),
        APPROVE,
        _approve(),
    ),
    Case(
        "an event that names nobody",
        "Refused, nothing was posted: event %s (Reboot) names no VM, so nobody can be known to be ready for it. %s" % (FIRST, _AT_TEN),
        _reboot("web_0", extra={"Resources": []}),
        APPROVE,
        _approve(),
    ),
    Case(
        "two objections",
        "Refused, nothing was posted: event %s (Reboot) hits web_1, not known to be ready (ready is: web_0): prepare, then name"
        " every VM by its Azure name in ready_resources. %s event %s (Preempt) deletes web_0, and allow_types does not name Preempt. %s"
        " Event %s is not approved either. %s" % (FIRST, _AT_TEN, SECOND, _AT_TEN, THIRD, _AT_TEN),
        _all(_reboot("web_1"), _typed("Preempt", "web_0", event_id=SECOND), _reboot("web_0", event_id=THIRD)),
        APPROVE,
        _approve(FIRST, SECOND, THIRD),
    ),
    Case(
        "an id that is not there",
        "Refused, nothing was posted: event %s is not in the document: it is over, was cancelled, or the id is mistyped;"
        " if that is all right, set if_missing to ok. Event %s is not approved either."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 50 s) or shortly after." % (NEVER, FIRST),
        _reboot("web_0"),
        APPROVE,
        _approve(FIRST, NEVER, if_missing="fail"),
    ),
    Case(
        "an id that is not there, alone and in check mode",
        "Refused, nothing was posted: event %s is not in the document: it is over, was cancelled, or the id is mistyped;"
        " if that is all right, set if_missing to ok." % NEVER,
        _reboot("web_0"),
        APPROVE,
        _approve(NEVER, if_missing="fail"),
        check=True,
    ),
    Case(
        "a service too slow for a check",
        "Refused, nothing was posted: <url> takes more than 2 s to answer, too long to know that the events are still the same."
        " Try again in a minute. Event %s is not approved."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 51 s) or shortly after." % FIRST,
        _all(_reboot("web_0"), lambda stage: stage.slow(3)),
        APPROVE,
        _approve(),
    ),
    Case(
        "a service too slow for a check, foreseen in check mode",
        "Refused, nothing was posted: <url> takes more than 2 s to answer, too long to know that the events are still the same."
        " Try again in a minute. Event %s is not approved. Azure starts it anyway at 2026-11-18T10:00:00Z"
        " (in 13 min 51 s) or shortly after."
        " Event %s is not approved. Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 51 s) or shortly after." % (FIRST, SECOND),
        _all(_reboot("web_0"), _reboot("web_0", event_id=SECOND), lambda stage: stage.slow(3)),
        APPROVE,
        _approve(FIRST, SECOND),
        check=True,
    ),
    Case(
        "a slow service, and a neighbour is not ready",
        "Refused, nothing was posted: event %s (Reboot) also hits web_1, not known to be ready (ready is: web_0): prepare, then name"
        " every VM by its Azure name in ready_resources. Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 57 s) or shortly after."
        % FIRST,
        _all(_reboot("web_0", "web_1"), lambda stage: stage.slow(3)),
        APPROVE,
        _approve(),
    ),
)


def _contradictory(stage: Stage) -> None:
    """Two events of which each answer lacks another one."""
    stage.reboot("web_0")
    stage.reboot("web_0", event_id=SECOND)
    stage.simulator.fault("drop_event", event_id=FIRST)
    for number, event_id in ((1, SECOND), (2, FIRST), (3, SECOND), (4, FIRST), (5, SECOND)):
        stage.hands.during_sleep(number, lambda event_id=event_id: stage.simulator.fault("drop_event", event_id=event_id))  # type: ignore[misc]


def _between_posts(act: Callable[[Stage], object]) -> Callable[[Stage], object]:
    """The answer to the first post is lost before it acted; then something happens."""

    def prepare(stage: Stage) -> None:
        stage.reboot("web_0")
        stage.simulator.fault("reset", verb="POST")
        stage.hands.during_sleep(1, lambda: act(stage))

    return prepare


def _grow(stage: Stage) -> None:
    stage.simulator.change(FIRST, resources=["web_0", "web_1"])


def _gets_fail_after_the_post(stage: Stage) -> None:
    """The post is taken; then the service is gone."""
    stage.after("POST", lambda: _status(503)(stage))


def _slow_and_then_gone(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.reboot("web_0", event_id=SECOND, runs_for=None)
    stage.simulator.start(SECOND)
    stage.after("GET", lambda: (stage.hands.advance(3), _status(500)(stage)))


def _malformed_with_the_second(stage: Stage) -> None:
    """A post with this id is malformed to the service, so each id is posted alone."""
    stage.reboot("web_0", start_delay=60)
    stage.reboot("web_0", event_id=SECOND)
    _status(400, verb="POST", event_id=SECOND)(stage)


def _gone_before_the_second_of_two_is_posted(stage: Stage) -> None:
    _malformed_with_the_second(stage)
    stage.hands.during_sleep(2, lambda: _status(503)(stage))


def _gone_after_both_were_posted(stage: Stage) -> None:
    _malformed_with_the_second(stage)
    stage.after("POST", lambda: _status(503)(stage) if len(stage.posts()) == 3 else None)


def _gone_during_the_pause_for_another_post(stage: Stage) -> None:
    stage.reboot("web_0")
    _status(429, verb="POST")(stage)
    stage.hands.during_sleep(1, lambda: _status(503)(stage))


def _missing_while_the_other_is_posted(stage: Stage) -> None:
    stage.reboot("web_0")
    stage.reboot("web_0", event_id=SECOND)
    _fault("drop_event", event_id=SECOND, times=2)(stage)


_SERVICE_GONE = "GET <url> failed: the service answered 503 Service Unavailable (Service unavailable.). %s" % _TROUBLE

APPROVALS: Tuple[Case, ...] = (
    Case(
        "a reading that fails before the approval",
        "GET <url> failed: the service answered 403 Forbidden (Forbidden by the host's access policy.). "
        + _FORBIDDEN
        + _NOT_WAITED_FOR % FIRST
        + " Event %s is not approved, and Azure does not wait for it." % SECOND,
        _status(403),
        APPROVE,
        _approve(FIRST, SECOND, FIRST.lower()),
    ),
    Case(
        "the same in check mode",
        "GET <url> failed: the answer is not a document of scheduled events: it is not JSON but HTML, as a captive proxy sends it. "
        + _NO_DOCUMENT
        + _NOT_WAITED_FOR % FIRST,
        _fault("html"),
        APPROVE,
        _approve(),
        check=True,
    ),
    Case(
        "an identity that cannot be asked for",
        "GET <instance> failed: the service answered 403 Forbidden (Forbidden by the host's access policy.). "
        + _FORBIDDEN
        + _NOT_WAITED_FOR % FIRST
        + " Event %s is not approved, and Azure does not wait for it." % SECOND,
        _status(403, path="instance"),
        APPROVE,
        {"event_ids": [FIRST, SECOND, FIRST.lower()]},
    ),
    Case(
        "the second reading fails, and nothing was posted",
        "GET <url> failed: the service answered 500 Internal Server Error (Internal error.). %s Nothing was posted. Event %s is not"
        " approved. Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 54 s) or shortly after." % (_TROUBLE, FIRST),
        _slow_and_then_gone,
        APPROVE,
        _approve(FIRST, SECOND),
    ),
    Case(
        "the reading before another post fails",
        _SERVICE_GONE + " Nothing was posted. POST <url> failed: the service answered 429 Too Many Requests (Too many requests.)."
        " It takes 5 requests a second from one VM: find what else on this VM asks it. Event %s is not approved."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 58 s) or shortly after." % FIRST,
        _gone_during_the_pause_for_another_post,
        APPROVE,
        _approve(),
    ),
    Case(
        "the service is gone before the second of two is posted",
        "The approval was sent, but what came of it cannot be read: " + _SERVICE_GONE + " Event %s is not approved."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 56 s) or shortly after." % SECOND,
        _gone_before_the_second_of_two_is_posted,
        APPROVE,
        _approve(FIRST, SECOND),
    ),
    Case(
        "the service is gone after the first of two was turned away",
        "The approval was sent, but what came of it cannot be read: " + _SERVICE_GONE + " POST <url> failed: the service answered"
        " 400 Bad Request (Bad request.). Check api_version and endpoint. Event %s is not approved."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 56 s) or shortly after." % SECOND,
        _gone_after_both_were_posted,
        APPROVE,
        _approve(SECOND, FIRST),
    ),
    Case(
        "an event is listed again after the others were posted",
        "Event %s was missing and is listed again: run the task again. Event %s is not approved."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 50 s) or shortly after." % (SECOND, SECOND),
        _missing_while_the_other_is_posted,
        APPROVE,
        _approve(FIRST, SECOND),
    ),
    Case(
        "answers that contradict each other",
        "The answers of <url> contradict each other: events come and go in them. Try again in a minute. Nothing was posted."
        " Event %s is not approved. Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 20 s) or shortly after."
        " Event %s is not approved. Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 20 s) or shortly after." % (FIRST, SECOND),
        _contradictory,
        APPROVE,
        _approve(FIRST, SECOND),
    ),
    Case(
        "a post that is malformed to the service",
        "POST <url> failed: the service answered 400 Bad Request (Bad request.). Check api_version and endpoint."
        " Event %s is not approved. %s" % (FIRST, _AT_TEN),
        _all(_reboot("web_0"), _status(400, verb="POST")),
        APPROVE,
        _approve(),
    ),
    Case(
        "a post that a policy forbids",
        "POST <url> failed: the service answered 403 Forbidden (Forbidden by the host's access policy.). %s"
        " Event %s is not approved. %s" % (_FORBIDDEN, FIRST, _AT_TEN),
        _all(_reboot("web_0"), _status(403, verb="POST")),
        APPROVE,
        _approve(),
    ),
    Case(
        "a post that a policy forbids, without a signature",
        "POST <url> failed: the service answered 401 Unauthorized (Unauthorized: the request carries no valid signature.). %s"
        " Event %s is not approved. %s" % (_FORBIDDEN, FIRST, _AT_TEN),
        _all(_reboot("web_0"), _status(401, verb="POST")),
        APPROVE,
        _approve(),
    ),
    Case(
        "posts without an answer",
        "Event %s was posted without a clear answer and is still Scheduled; it may be approved all the same."
        " POST <url> failed: the connection was reset. %s"
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 58 s) or shortly after." % (FIRST, _UNREACHABLE),
        _all(_reboot("web_0"), _fault("reset", verb="POST")),
        APPROVE,
        _approve(),
    ),
    Case(
        "a post to a service in trouble",
        "Event %s was posted without a clear answer and is still Scheduled; it may be approved all the same."
        " POST <url> failed: the service answered 500 Internal Server Error (Internal error.). %s"
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 58 s) or shortly after."
        % (FIRST, _TROUBLE.replace(", or raise retry_for", "")),
        _all(_reboot("web_0"), _status(500, verb="POST")),
        APPROVE,
        _approve(),
    ),
    Case(
        "a post that a proxy answers",
        "Event %s was posted without a clear answer and is still Scheduled; it may be approved all the same."
        " POST <url> failed: the answer is HTML. Something else than the metadata service answered: check endpoint, and that no proxy"
        " is in between. Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 58 s) or shortly after." % FIRST,
        _all(_reboot("web_0"), _fault("html", verb="POST")),
        APPROVE,
        _approve(),
    ),
    Case(
        "a post that is to wait for an hour",
        "POST <url> failed: the service answered 429 Too Many Requests (Too many requests.)."
        " It takes 5 requests a second from one VM: find what else on this VM asks it. Event %s is not approved. %s" % (FIRST, _AT_TEN),
        _all(_reboot("web_0"), _status(429, verb="POST", headers={"Retry-After": "3600"})),
        APPROVE,
        _approve(),
    ),
    Case(
        "an hour's pause before a post of its own",
        "POST <url> failed: the service answered 400 Bad Request (Bad request.). Check api_version and endpoint."
        " The service asks for a pause of 1 h, so nothing more is posted. Event %s is not approved. %s Event %s is not approved. %s"
        % (FIRST, _AT_TEN, SECOND, _AT_TEN),
        _all(_reboot("web_0"), _reboot("web_0", event_id=SECOND), _status(400, verb="POST", headers={"Retry-After": "3600"})),
        APPROVE,
        _approve(FIRST, SECOND),
    ),
    Case(
        "the event grows between two posts",
        "Refused, nothing more was posted, though an earlier post without a clear answer may have taken"
        " (POST <url> failed: the connection was reset. %s): event %s (Reboot) also hits web_1, not known to be ready (ready is: web_0):"
        " prepare, then name every VM by its Azure name in ready_resources. Azure starts it anyway at"
        " 2026-11-18T10:00:00Z (in 13 min 58 s) or shortly after." % (_UNREACHABLE, FIRST),
        _between_posts(_grow),
        APPROVE,
        _approve(),
    ),
    Case(
        "the service is gone after the post",
        "The approval was sent, but what came of it cannot be read: " + _SERVICE_GONE,
        _all(_reboot("web_0"), _gets_fail_after_the_post),
        APPROVE,
        _approve(),
    ),
    Case(
        "it does not start in time",
        "Event %s is approved but has not started within 1 min; others on the same Azure host may have to agree. Keep its VMs prepared."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min) or shortly after." % FIRST,
        _reboot("web_0", start_delay=120),
        APPROVE,
        _approve(wait_for_start=True, start_timeout="1m"),
    ),
)

# --- waiting ----------------------------------------------------------------------------------------------------------

WAITS: Tuple[Case, ...] = (
    Case(
        "an id that was never seen",
        "No document has %s: the event is long over, or the id is mistyped."
        " Look with azure_scheduled_events_info; if that is all right, set allow_absent." % NEVER,
        module=WAIT,
        options={"event_ids": [NEVER]},
    ),
    Case(
        "two ids that were never seen, in check mode",
        "No document has %s, not-an-id: the event is long over, or the id is mistyped."
        " Look with azure_scheduled_events_info; if that is all right, set allow_absent."
        " Event %s (Reboot of web_0) was still Scheduled when last seen, at 2026-11-18T09:46:10Z."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min 50 s) or shortly after." % (NEVER, FIRST),
        _reboot("web_0"),
        WAIT,
        {"event_ids": [NEVER, FIRST, "not-an-id"]},
        check=True,
    ),
    Case(
        "an id that was never seen, beside one that has started",
        "No document has %s: the event is long over, or the id is mistyped."
        " Look with azure_scheduled_events_info; if that is all right, set allow_absent."
        " Event %s (Reboot of web_0) was Started when last seen, at 2026-11-18T10:00:10Z (Started since 2026-11-18T10:00:00Z or earlier)."
        % (NEVER, FIRST),
        _all(_reboot("web_0", runs_for=None), lambda stage: stage.hands.advance(840)),
        WAIT,
        {"event_ids": [FIRST, NEVER]},
    ),
    Case(
        "it does not start in time",
        "Waited 1 min for events to be started. Event %s (Reboot of web_0, web_1) was still Scheduled when"
        " last seen, at 2026-11-18T09:47:00Z."
        " Azure starts it anyway at 2026-11-18T10:00:00Z (in 13 min) or shortly after." % FIRST,
        _reboot("web_0", "web_1"),
        WAIT,
        {"event_ids": [FIRST], "until": "started", "wait_timeout": "1m"},
    ),
    Case(
        "it does not end in time",
        "Waited 1 h for events to be gone. Event %s (Reboot of web_0) was Started when last seen, at 2026-11-18T10:46:00Z"
        " (Started since 2026-11-18T10:00:00Z or earlier)."
        " Event %s (Freeze of web_1) was still Scheduled when last seen, at 2026-11-18T10:46:00Z. Azure"
        " starts it anyway at 2026-11-18T11:00:00Z (in 14 min)"
        " or shortly after." % (FIRST, SECOND),
        _all(_reboot("web_0", runs_for=None), _typed("Freeze", "web_1", event_id=SECOND, notice=4440)),
        WAIT,
        {"event_ids": [FIRST, SECOND]},
    ),
    Case(
        "too short a time to know that it is gone",
        "Waited 5 s for events to be gone. Event %s (Reboot of web_0) was Started when last seen, at 2026-11-18T10:00:00Z (Started since"
        " 2026-11-18T10:00:00Z or earlier), and is missing in the last answer, which alone proves nothing." % FIRST,
        _all(
            _reboot("web_0", notice=0, runs_for=None),
            lambda stage: stage.hands.advance(840),
            lambda stage: stage.hands.during_sleep(1, lambda: stage.simulator.complete(FIRST)),
        ),
        WAIT,
        {"event_ids": [FIRST], "wait_timeout": "5s"},
    ),
    Case(
        "no good answer at all",
        "Waited 10 s for events to be gone. Event %s was not seen in any answer. The last look failed: GET <url> failed:"
        " the service answered 500 Internal Server Error (Internal error.). %s" % (FIRST, _TROUBLE),
        _status(500),
        WAIT,
        {"event_ids": [FIRST], "wait_timeout": "10s"},
    ),
    Case(
        "a policy that keeps us out",
        "Waited 5 s for events to be gone. Event %s (Reboot of web_0) was still Scheduled when last seen, at"
        " 2026-11-18T09:46:00Z. Azure starts it anyway at"
        " 2026-11-18T10:00:00Z (in 13 min 55 s) or shortly after. The last look failed: GET <url> failed: the service answered"
        " 403 Forbidden (Forbidden by the host's access policy.). %s" % (FIRST, _FORBIDDEN),
        _all(_reboot("web_0"), lambda stage: stage.hands.during_sleep(1, lambda: _status(403)(stage))),
        WAIT,
        {"event_ids": [FIRST]},
    ),
)

# --- what Ansible itself says, where it does not depend on its version ------------------------------------------------

_ONE_OF = "value of %s must be one of: %s, got: %s"
_SOME_OF = "value of %s must be one or more of: %s. Got no match for: %s"

ARGUMENTS: Tuple[Case, ...] = (
    Case("no ids to approve", "missing required arguments: event_ids", module=APPROVE),
    Case("no ids to wait for", "missing required arguments: event_ids", module=WAIT),
    Case(
        "a type that is none",
        _SOME_OF % ("event_types", "Freeze, Reboot, Redeploy, Preempt, Terminate, unknown", "reboot"),
        options={"event_types": ["reboot"]},
    ),
    Case(
        "a status that is none",
        _SOME_OF % ("event_statuses", "Scheduled, Started, unknown", "Completed"),
        options={"event_statuses": ["Completed"]},
    ),
    Case(
        "a source that is none",
        _SOME_OF % ("event_sources", "Platform, User, unknown", "Azure"),
        options={"event_sources": ["Azure"]},
    ),
    Case(
        "if_missing",
        _ONE_OF % ("if_missing", "ok, fail", "ignore"),
        module=APPROVE,
        options={"event_ids": [], "if_missing": "ignore"},
    ),
    Case("until", _ONE_OF % ("until", "started, gone", "finished"), module=WAIT, options={"event_ids": [], "until": "finished"}),
)

SHARED: Tuple[Case, ...] = CONNECTION + STATUSES + DOCUMENTS + IDENTITY + OPTIONS + REFUSALS + APPROVALS + WAITS
CASES: Tuple[Case, ...] = SHARED + ARGUMENTS


# What is not a failure of a module, or holds the name of the machine; each has a test of its own.
ELSEWHERE: Tuple[str, ...] = (
    "Event %s is not in the document: it is over, was cancelled, or the id is mistyped." % NEVER,
    "Unknown option event_type; known are api_version, endpoint.",
    "The Python library requests is missing where Ansible runs: install it for the Python that ansible --version names.",
)


def names(cases: Tuple[Case, ...]) -> List[str]:
    return ["%s: %s" % (case.module[len("azure_scheduled_event") :].strip("s_"), case.name) for case in cases]
