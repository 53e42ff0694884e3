# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one seam to HTTP: a transport on requests, and above it the one budget for attempts.

Private to the collection. Nothing else in it knows HTTP. Reads are repeated as C-10 says; a post is sent once,
whatever comes of it: only who has looked at the document again may post again.
"""

from __future__ import annotations

import errno
import http.client
import random
import socket
import traceback
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Type

from ._clock import Clock
from ._document import load_json
from ._errors import ConnectionFailed, LibraryMissing, ServiceError, StatusError, TimeFormatError
from ._time import parse_duration, parse_instant, say_duration

# A link-local address takes a connection at once or not at all; more patience would only hide that (C-11).
CONNECT_TIMEOUT = 5.0
# Less patience than this makes many requests, and so the 429 that it meant to avoid (C-11).
SHORTEST_TIMEOUT = 1.0
# First pause between two attempts; each is twice the one before, up to the longest.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 15.0
# Part of a pause that chance may take away, so that the hosts of a scope do not ask in step.
JITTER = 0.5
# Asking again can help, and so it does with every 5xx (C-10).
RETRIED = frozenset((404, 408, 410, 429))
# The service says no for good (C-10).
PERMANENT = frozenset((400, 401, 403, 405))
# The service has looked at the request and not acted on it. Of every other failure that remains open.
INEFFECTIVE = PERMANENT | {429}
# Asks for an answer only if it is another one than that of the tag (C-9).
CONDITION = "If-None-Match"
_NOT_MODIFIED = 304
# Ten thousand events take some four megabytes; what sends more is not the metadata service.
LARGEST_BODY = 64 * 1024 * 1024
_CHUNK = 16 * 1024
# Of the service's own words in an error: enough to understand them.
_LONGEST_QUOTE = 200

# What asking again for longer does, for those who ask; a post is never repeated by itself.
_LONGER = ", or raise retry_for"
_UNREACHABLE = "Check that this host is an Azure VM, that endpoint is its metadata service and that no firewall is in between."
_FORBIDDEN = (
    "A security policy of the metadata service (enforce mode) keeps this process out and asking again cannot help:"
    " have the policy allow it, or run where it is allowed."
)
_TROUBLE = "The metadata service is in trouble: try again in a few minutes%s."
_REDIRECTED = "The metadata service never redirects, so a proxy or a wrong address answered: check endpoint."
_SOMEBODY_ELSE = "The metadata service does not answer so: check endpoint."
_ADVICE = {
    400: "Check api_version and endpoint.",
    401: _FORBIDDEN,
    403: _FORBIDDEN,
    404: "Either the service is being updated, then try again in a minute, or the path of endpoint is wrong.",
    408: _TROUBLE,
    410: "The service is being updated: try again in a few minutes%s.",
    429: "It takes 5 requests a second from one VM: find what else on this VM asks it%s.",
}
# No number of bytes is longer; more digits than this are nonsense.
_MOST_DIGITS = 15


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Optional[bytes] = None


@dataclass(frozen=True)
class RawAnswer:
    """What came over the wire; the names of the headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """A good answer: when its request was sent (monotonic), and when it was there (wall time).

    unchanged: the service says that nothing has changed since the tag that was sent along; there is no body then.
    """

    body: bytes
    headers: Mapping[str, str]
    sent_at: float
    arrived_at: float
    unchanged: bool = False

    @property
    def served_at(self) -> Optional[float]:
        """The service's own wall time, to the second; None where it does not say it in a form that we know."""
        try:
            return parse_instant(self.headers.get("date"))
        except TimeFormatError:
            return None


class NoAnswer(Exception):
    """No whole answer came; the text says why, as the end of a sentence. The request may have been acted on."""


class NotSent(NoAnswer):
    """There was nobody to send the request to."""


class NotHttp(NoAnswer):
    """Something else than a web server answered."""


# The seam. Sends one request, bears so many seconds of silence, and gives the answer or raises NoAnswer.
Transport = Callable[[Request, float], RawAnswer]


class HttpClient:
    """Reads with one budget of time for all attempts together; posts once."""

    def __init__(
        self,
        transport: Transport,
        *,
        timeout: float,
        retry_for: float,
        clock: Clock,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._transport = transport
        self._timeout = timeout
        self._retry_for = retry_for
        self._clock = clock
        self._chance = chance

    def get(self, request: Request, *, at_most: Optional[float] = None) -> Answer:
        """The good answer, or ServiceError when no further attempt fits into the budget.

        at_most: the time that the caller has left; no attempt then waits longer than that.
        """
        budget = self._retry_for if at_most is None else min(self._retry_for, at_most)
        began = self._clock.monotonic()
        attempts = 0
        while True:
            attempts += 1
            left = None if at_most is None else at_most - (self._clock.monotonic() - began)
            try:
                return self._once(request, self._patience(left))
            except _Failure as failure:
                pause = self._pause(failure, attempts)
                spent = self._clock.monotonic() - began
                if not failure.retried or spent + pause > budget:
                    raise failure.told(request, attempts, spent) from failure
                self._clock.sleep(pause)

    def post(self, request: Request) -> Answer:
        """One attempt. Whether it took is only to be read from the document (C-24)."""
        try:
            return self._once(request, self._timeout)
        except _Failure as failure:
            raise failure.told(request, 1, 0.0) from failure

    def _patience(self, left: Optional[float]) -> float:
        return self._timeout if left is None else max(SHORTEST_TIMEOUT, min(self._timeout, left))

    def _once(self, request: Request, patience: float) -> Answer:
        sent_at = self._clock.monotonic()
        try:
            raw = self._transport(request, patience)
        except NoAnswer as failure:
            raise _no_answer(failure) from failure
        # Without a condition in the request nothing can be unchanged (C-9).
        unchanged = raw.status == _NOT_MODIFIED and CONDITION in request.headers
        if raw.status != 200 and not unchanged:
            raise _bad_status(raw, self._clock.wall())
        return Answer(b"" if unchanged else raw.body, raw.headers, sent_at, self._clock.wall(), unchanged)

    def _pause(self, failure: _Failure, attempts: int) -> float:
        pause = min(FIRST_PAUSE * 2.0 ** min(attempts - 1, 10), LONGEST_PAUSE)
        return max(pause * (1.0 - JITTER * self._chance()), failure.retry_after)


class _Failure(Exception):
    """One attempt that failed; told() puts it into words once it is the last."""

    def __init__(
        self, reason: str, advice: str, *, status: Optional[int] = None, ineffective: bool = False, retry_after: float = 0.0
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice
        self.status = status
        self.ineffective = ineffective
        self.retry_after = retry_after

    @property
    def retried(self) -> bool:
        return self.status is None or self.status in RETRIED or _in_trouble(self.status)

    def told(self, request: Request, attempts: int, spent: float) -> ServiceError:
        tried = "" if attempts == 1 else ", tried %d times in %s" % (attempts, say_duration(spent))
        advice = self.advice.replace("%s", _LONGER if request.method == "GET" else "")
        kind: Type[ServiceError] = ConnectionFailed if self.status is None else StatusError
        return kind(
            "%s %s failed: %s%s. %s" % (request.method, request.url, self.reason, tried, advice),
            permanent=self.status in PERMANENT,
            ineffective=self.ineffective,
            malformed=self.status == 400,
            retry_after=self.retry_after,
        )


def _no_answer(failure: NoAnswer) -> _Failure:
    advice = _SOMEBODY_ELSE if isinstance(failure, NotHttp) else _UNREACHABLE
    return _Failure(str(failure), advice, ineffective=isinstance(failure, NotSent))


def _bad_status(raw: RawAnswer, now: float) -> _Failure:
    reason = "the service answered %d %s" % (raw.status, http.client.responses.get(raw.status, ""))
    return _Failure(
        reason.rstrip() + _own_words(raw.body),
        _advice(raw.status),
        status=raw.status,
        ineffective=raw.status in INEFFECTIVE,
        retry_after=_retry_after(raw.headers, now),
    )


def _advice(status: int) -> str:
    if 300 <= status <= 399:
        return _REDIRECTED
    if _in_trouble(status):
        return _TROUBLE
    return _ADVICE.get(status, _SOMEBODY_ELSE)


def _in_trouble(status: int) -> bool:
    return 500 <= status <= 599


def _own_words(body: bytes) -> str:
    """The text of {"error": "text"} (C-10), when it is there, in one line."""
    try:
        content = load_json(body)
    except ValueError:
        return ""
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, str) or not error.strip():
        return ""
    return " (%s)" % " ".join(error.split())[:_LONGEST_QUOTE]


def _retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds, or a date; anything else counts as absent."""
    value = headers.get("retry-after", "")
    try:
        return parse_duration(value)
    except TimeFormatError:
        pass
    try:
        moment = parse_instant(value)
    except TimeFormatError:
        return 0.0
    return 0.0 if moment is None else max(0.0, moment - now)


class RequestsTransport:
    """requests, less its conveniences: no environment, no proxy, no redirect, no retry of its own (C-3, C-4)."""

    def __init__(self) -> None:
        try:
            import requests
            import urllib3
        except ImportError as error:
            raise LibraryMissing("requests", traceback.format_exc()) from error
        # Not only its own: a header that makes no sense ends in whatever the layers below raise.
        self._errors = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ValueError, OverflowError)
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers.clear()
        # Even unfollowed, a redirect would be parsed, and its body read whole.
        self._session.get_redirect_target = _nowhere  # type: ignore[method-assign]
        self._request_of = requests.Request
        # Who asks once a second asks the same: what is put together for it costs more than all the rest but the network.
        self._last: Optional[Tuple[Request, Any]] = None

    def __call__(self, request: Request, timeout: float) -> RawAnswer:
        try:
            return self._send(request, timeout)
        except self._errors as error:
            raise _why(error, timeout) from error

    def _send(self, request: Request, timeout: float) -> RawAnswer:
        response = self._session.send(
            self._prepared(request),
            timeout=(min(CONNECT_TIMEOUT, timeout), timeout),
            allow_redirects=False,
            stream=True,
            proxies={},
        )
        with response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            body = b"".join(_bounded(response.iter_content(_CHUNK)))
        _check_whole(headers, body)
        return RawAnswer(response.status_code, headers, body)

    def _prepared(self, request: Request) -> Any:
        if self._last is None or self._last[0] != request:
            headers = {"Accept-Encoding": "identity", **request.headers}
            made = self._request_of(request.method, request.url, headers=headers, params=dict(request.params), data=request.body)
            self._last = request, made.prepare()
        return self._last[1]


def _nowhere(resp: Any) -> Optional[str]:  # noqa: ARG001  (the name that the session gives it)
    return None


def _bounded(chunks: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > LARGEST_BODY:
            raise NoAnswer("the answer is larger than %d MiB" % (LARGEST_BODY // 1024 // 1024))
        yield chunk


def _check_whole(headers: Dict[str, str], body: bytes) -> None:
    """Old versions of requests take a body that was cut off for the whole."""
    announced = headers.get("content-length", "")
    a_number = announced.isascii() and announced.isdigit() and len(announced) <= _MOST_DIGITS
    if a_number and "content-encoding" not in headers and len(body) < int(announced):
        raise NoAnswer("the answer was cut off")


_UNREACHABLE_ERRNOS = frozenset((errno.ENETUNREACH, errno.EHOSTUNREACH))


def _why(error: BaseException, timeout: float) -> NoAnswer:
    """The end of the sentence, from the first cause in the chain that says something to an operator."""
    causes = list(_chain(error))
    if _any_is(causes, ("ConnectTimeout", "ConnectTimeoutError")):
        return NotSent("no connection within %s" % say_duration(min(CONNECT_TIMEOUT, timeout)))
    if _any_is(causes, ("ReadTimeout", "ReadTimeoutError")):
        return NoAnswer("no answer within %s" % say_duration(timeout))
    if _any_is(causes, ("IncompleteRead",)):
        return NoAnswer("the answer was cut off")
    for cause in causes:
        if isinstance(cause, ConnectionRefusedError):
            return NotSent("the connection was refused")
        if isinstance(cause, http.client.RemoteDisconnected):
            return NoAnswer("the connection was closed without an answer")
        if isinstance(cause, ConnectionError):
            return NoAnswer("the connection was reset")
        if isinstance(cause, socket.gaierror):
            return NotSent("the host name is not known")
        if isinstance(cause, OSError) and cause.errno in _UNREACHABLE_ERRNOS:
            return NotSent("there is no route to it")
    return NotHttp("what came is not HTTP")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it carries and what caused it, each once: libraries wrap in all three ways."""
    waiting: List[Any] = [error]
    seen = set()
    while waiting:
        current = waiting.pop(0)
        if not isinstance(current, BaseException) or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [*current.args, getattr(current, "reason", None), current.__cause__, current.__context__]


def _any_is(causes: Any, names: Any) -> bool:
    return any(type(cause).__name__ in names for cause in causes)
