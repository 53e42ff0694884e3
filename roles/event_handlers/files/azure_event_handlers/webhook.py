# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells somebody elsewhere what becomes of events: a program of its own, so that whoever does not listen is in nobody's way (W-60).

The executor leaves a file for each transition and goes on. This program sends them in order, again and again if it must, and removes what
was taken. What was taken just before it was killed is sent twice: the header with the delivery's number tells the two apart.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import hmac
import json
import os
import random
import re
import socket
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError, TimeFormatError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import NoAnswer, RawAnswer, Request, Transport
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import (
    DAY,
    HOUR,
    format_instant,
    parse_duration,
    parse_instant,
    say_duration,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import EARLIEST, LATEST

from . import configuration, files
from .configuration import AS_TEXT, Webhook
from .paths import Paths

FORMAT = 1
# A day of transitions of a busy host; with a sink that is down, the newest are worth more than the oldest.
MOST_MESSAGES = 1000
# A message has some hundred bytes; one that names thousands of VMs goes without their names.
LARGEST_MESSAGE = 64 * 1024
SIGNATURE = "X-Azure-Event-Handlers-Signature"
DELIVERY = "X-Azure-Event-Handlers-Delivery"

TIMEOUT = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
# Hosts of one scope see the same events and must not ask in step.
_JITTER = 0.5
# A sink may ask for more patience than ours, but not for so much that nobody would notice that it is mistaken.
_LONGEST_RETRY_AFTER = 1.0 * HOUR
# Old news are no news.
GIVE_UP_AFTER = 1.0 * DAY
# Between two looks into an empty folder.
LOOK = 1.0
# Of those that say no, these mean: not now.
_AGAIN = frozenset((408, 429))
_LARGEST_SECRET = 4096

_DIGITS = 20
_MESSAGE = re.compile(r"[0-9]{%d}\.json" % _DIGITS)
_SUFFIX, _TEMPORARY, _DROPPED = ".json", ".new", ".dropped"


# --- what the executor calls -------------------------------------------------------------------------------------------


def announce(paths: Paths, data: Mapping[str, Any]) -> None:
    """Leaves a message, if anybody wants one. Never raises and never waits: what it is about matters more than the telling."""
    # All that files, and text that is none, can raise; there is nobody to tell it to.
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        _leave(paths.outbox, data["at"], _body_of(data))


def _leave(folder: str, at: float, body: bytes) -> None:
    """The folder is the webhook's, too, which is not root: what lies there is neither opened nor followed, only replaced."""
    # This raises where there is no folder: then nobody wants to know.
    waiting = _waiting(folder)
    # By time, so that a number does not come again; but never before what waits already, wherever the clock has gone.
    number = max(int(waiting[-1][: -len(_SUFFIX)]) + 1, int(at * 1e6)) if waiting else int(at * 1e6)
    if not 0 <= number < 10**_DIGITS:
        raise ValueError("no name for it")
    temporary = os.path.join(folder, _TEMPORARY)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(handle, "wb") as file:
        # Whoever may enter the folder may read it, whatever the mask of this program.
        os.fchmod(file.fileno(), 0o644)
        file.write(body)
    os.rename(temporary, os.path.join(folder, "%0*d%s" % (_DIGITS, number, _SUFFIX)))
    _make_room(folder, waiting[: max(0, len(waiting) + 1 - MOST_MESSAGES)])


def _make_room(folder: str, too_many: Sequence[str]) -> None:
    for name in too_many:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    if too_many:
        files.write_json(os.path.join(folder, _DROPPED), _dropped(folder) + len(too_many), mode=0o644)


def _body_of(data: Mapping[str, Any]) -> bytes:
    body = json.dumps(data, sort_keys=True, default=str, allow_nan=False).encode("utf-8")
    if len(body) <= LARGEST_MESSAGE:
        return body
    short = {key: value[:1000] if isinstance(value, str) else value for key, value in data.items() if not isinstance(value, (list, dict))}
    return json.dumps({**short, "shortened": True}, sort_keys=True, default=str).encode("utf-8")


def _waiting(folder: str) -> List[str]:
    """The names of messages, the oldest first."""
    return sorted(name for name in os.listdir(folder) if _MESSAGE.fullmatch(name))


def _dropped(folder: str) -> int:
    """How many had to go since the last that was sent."""
    try:
        found = files.read_json(os.path.join(folder, _DROPPED))
    except (OSError, ValueError):
        return 0
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**53 else 0


# --- what is sent ------------------------------------------------------------------------------------------------------


def told(data: Mapping[str, Any], *, hook: Webhook, host: str, vm_name: Optional[str], dropped: int) -> bytes:
    whole: Dict[str, Any] = {"format": FORMAT, "host": host, "vm_name": vm_name, **data, "dropped": dropped}
    if hook.form == AS_TEXT:
        whole = {"text": sentence(whole)}
    return json.dumps(whole, sort_keys=True).encode("utf-8")


def sentence(data: Mapping[str, Any]) -> str:
    """One line for a chat. Nothing in it is markup there, whatever the service has sent."""
    event = data.get("event")
    known: Mapping[str, Any] = event if isinstance(event, dict) else {}
    before = "" if data.get("before") is None else " (was %s)" % data["before"]
    words = "%s: %s %s: %s%s" % (data.get("host"), known.get("event_type"), known.get("event_id"), data.get("state"), before)
    if data.get("reason"):
        words += ": %s" % data["reason"]
    not_before = known.get("not_before")
    if isinstance(not_before, (int, float)) and EARLIEST <= not_before <= LATEST:
        words += "; not before %s" % format_instant(not_before)
    if data.get("result"):
        words += "; result: %s" % data["result"]
    if data.get("dropped"):
        words += "; %d earlier messages were lost" % data["dropped"]
    return _plain(words)[:1000]


def _plain(text: str) -> str:
    changed = text.translate({ord("<"): "(", ord(">"): ")", ord("@"): " at ", ord("`"): "'"})
    return "".join(character if character.isprintable() else " " for character in changed)


def signature(body: bytes, secret: bytes) -> str:
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


class _NotReady(Exception):
    """Why nothing can be sent now, as the end of a sentence."""


def _secret(path: str) -> bytes:
    """Read each time, so that a new one is used at once. Without it nothing is sent: whoever receives it could not believe it."""
    try:
        with open(path, "rb") as file:
            secret = file.read(_LARGEST_SECRET).strip()
    except OSError as error:
        raise _NotReady("its secret cannot be read from %s: %s" % (path, error.strerror)) from error
    if not secret:
        raise _NotReady("its secret in %s is empty" % path)
    return secret


# --- sending -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Message:
    name: str
    data: Mapping[str, Any]
    at: float


class Sender:
    """Sends what waits, in order. One message at a time: a later one must not overtake it."""

    def __init__(
        self,
        folder: str,
        hook: Webhook,
        transport: Transport,
        *,
        clock: Clock,
        say: Callable[[str], None],
        host: str,
        vm_name: Optional[str] = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._folder = folder
        self._hook = hook
        self._transport = transport
        self._clock = clock
        self._say = say
        self._host = host
        self._vm_name = vm_name
        self._chance = chance
        self._failures = 0
        self._trouble: Optional[str] = None
        # What was dealt with and cannot be removed: better said once than sent for ever.
        self._stuck: Set[str] = set()

    def step(self) -> float:
        """Does what can be done for the oldest message, and gives the seconds until the next look is worth it."""
        message = self._oldest()
        if message is None:
            return LOOK
        if self._hook.states is not None and message.data.get("state") not in self._hook.states:
            self._remove(message)
            return 0.0
        try:
            answer = self._sent(message)
        except (NoAnswer, _NotReady) as failure:
            return self._later(message, str(failure), 0.0)
        if 200 <= answer.status <= 299:
            return self._taken(message)
        why = "it answered %d" % answer.status
        if 400 <= answer.status <= 499 and answer.status not in _AGAIN:
            self._give_up(message, why)
            return FIRST_PAUSE
        return self._later(message, why, _retry_after(answer, self._clock.wall()))

    def _oldest(self) -> Optional[_Message]:
        try:
            names = _waiting(self._folder)
        except OSError:
            return None
        for name in names:
            message = None if name in self._stuck else self._read(name)
            if message is not None:
                return message
        return None

    def _read(self, name: str) -> Optional[_Message]:
        """What is no message is removed; one that has just had to go is passed over."""
        try:
            data = files.read_json(os.path.join(self._folder, name))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            data = None
        at = data.get("at") if isinstance(data, dict) else None
        if not isinstance(data, dict) or isinstance(at, bool) or not isinstance(at, (int, float)):
            self._say("The file %s in the outbox is not a message; it is removed." % name)
            self._remove(_Message(name, {}, 0.0))
            return None
        return _Message(name, data, float(at))

    def _sent(self, message: _Message) -> RawAnswer:
        dropped = _dropped(self._folder)
        body = told(message.data, hook=self._hook, host=self._host, vm_name=self._vm_name, dropped=dropped)
        headers = {"Content-Type": "application/json", "User-Agent": "azure-event-handlers", DELIVERY: message.name[: -len(_SUFFIX)]}
        if self._hook.secret_file is not None:
            headers[SIGNATURE] = signature(body, _secret(self._hook.secret_file))
        answer = self._transport(Request("POST", self._hook.url, headers=headers, body=body), TIMEOUT)
        if dropped and 200 <= answer.status <= 299 and _dropped(self._folder) == dropped:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, _DROPPED))
        return answer

    def _taken(self, message: _Message) -> float:
        self._remove(message)
        if self._trouble is not None:
            self._say("The webhook takes messages again.")
        self._failures, self._trouble = 0, None
        return 0.0

    def _later(self, message: _Message, why: str, retry_after: float) -> float:
        if self._clock.wall() - message.at > GIVE_UP_AFTER:
            self._give_up(message, "%s, for %s" % (why, say_duration(GIVE_UP_AFTER)))
        if why != self._trouble:
            self._say("The webhook does not take messages: %s. They are sent again." % why)
        self._trouble = why
        self._failures += 1
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE) * (1.0 - _JITTER * self._chance())
        return max(pause, min(retry_after, _LONGEST_RETRY_AFTER))

    def _give_up(self, message: _Message, why: str) -> None:
        self._remove(message)
        key, state = (_plain(str(message.data.get(name)))[:40] for name in ("key", "state"))
        self._say("The message of record %s, state %s, is given up: %s." % (key, state, why))

    def _remove(self, message: _Message) -> None:
        path = os.path.join(self._folder, message.name)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
        except OSError as error:
            self._stuck.add(message.name)
            self._say("The file %s cannot be removed, and is not sent again: %s." % (path, error.strerror))


def _retry_after(answer: RawAnswer, now: float) -> float:
    """Seconds, or a date; anything else counts as absent."""
    value = answer.headers.get("retry-after", "")
    with contextlib.suppress(TimeFormatError):
        return parse_duration(value)
    with contextlib.suppress(TimeFormatError):
        moment = parse_instant(value)
        return 0.0 if moment is None else max(0.0, moment - now)
    return 0.0


# --- the seam ----------------------------------------------------------------------------------------------------------


class RequestsTransport:
    """requests, without redirects. Other than the metadata service, a webhook may be behind the operator's proxy, and its certificate
    signed by his own authority: both are told to programs by their environment, so this one trusts it.
    """

    def __init__(self) -> None:
        import requests
        import urllib3

        self._words = (
            (requests.exceptions.ProxyError, "the proxy does not let it through"),
            (requests.exceptions.SSLError, "its certificate is not accepted"),
            (requests.exceptions.ConnectTimeout, "there is no connection to it"),
            (requests.exceptions.Timeout, "it does not answer within %s" % say_duration(TIMEOUT)),
            (requests.exceptions.ConnectionError, "there is no connection to it, or it was cut off"),
        )
        self._errors = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError)
        self._session = requests.Session()

    def __call__(self, request: Request, timeout: float) -> RawAnswer:
        try:
            response = self._session.request(
                request.method,
                request.url,
                headers=dict(request.headers),
                data=request.body,
                timeout=timeout,
                allow_redirects=False,
                stream=True,
            )
        except self._errors as error:
            raise NoAnswer(self._why(error)) from error
        # Nobody reads what it says; without its body the connection is of no further use.
        with response:
            return RawAnswer(response.status_code, {name.lower(): value for name, value in response.headers.items()}, b"")

    def _why(self, error: BaseException) -> str:
        """In words of our own: those of the library have the address in them, which may be as good as a password."""
        return next((words for kind, words in self._words if isinstance(error, kind)), "it is not a web server, or its address is wrong")


# --- the program -------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """The program of the unit: until it is stopped."""
    parser = argparse.ArgumentParser(prog="azure-event-webhook", description="Sends what becomes of Azure's events to a webhook.")
    parser.add_argument("--root", default="", help="a folder that has everything, for a rehearsal")
    options = parser.parse_args(arguments)
    paths = Paths(options.root)
    try:
        found = configuration.load(paths, owner=os.getuid() if options.root else 0)
    except ConfigurationError as problem:
        _say(problem.message)
        return 1
    if found.webhook is None:
        _say("There is no webhook in %s: nothing is sent." % paths.configuration)
        return 0
    try:
        transport = RequestsTransport()
    except ImportError:
        _say("The Python library requests is missing: install it, for example as the package python3-requests.")
        return 1
    clock = Clock()
    sender = Sender(paths.outbox, found.webhook, transport, clock=clock, say=_say, host=socket.gethostname(), vm_name=found.vm_name)
    while True:
        clock.sleep(sender.step())


def _say(line: str) -> None:
    """That nobody listens is nobody's fault here."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
