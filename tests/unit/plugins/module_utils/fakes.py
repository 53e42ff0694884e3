# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A clock by hand and a wire by hand: the only two things that the tests of the core replace."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Union

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import HttpClient, NoAnswer, RawAnswer, Request
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import MetadataService

# 2026-11-18T09:46:00Z
NOW = 1794995160.0


class HandClock:
    """Time passes only in sleep(); what a test hangs on it happens then."""

    def __init__(self, now: float = NOW) -> None:
        self.passed = 0.0
        self.slept: List[float] = []
        self.on_sleep: Callable[[float], None] = lambda seconds: None
        self._begin = now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.passed += seconds
        self.on_sleep(seconds)

    @property
    def clock(self) -> Clock:
        return Clock(wall=lambda: self._begin + self.passed, monotonic=lambda: self.passed, sleep=self.sleep)


Reply = Union[RawAnswer, NoAnswer, Callable[[Request], Union[RawAnswer, NoAnswer]]]


class Wire:
    """Plays answers in order, the last one for ever, and remembers every request with its patience."""

    def __init__(self, *replies: Reply) -> None:
        self.replies: List[Reply] = list(replies)
        self.requests: List[Request] = []
        self.patience: List[float] = []

    def __call__(self, request: Request, timeout: float) -> RawAnswer:
        self.requests.append(request)
        self.patience.append(timeout)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, NoAnswer):
            raise reply
        return reply

    @property
    def posts(self) -> List[Any]:
        return [json.loads(request.body or b"null") for request in self.requests if request.method == "POST"]


def answer(status: int = 200, body: Any = None, headers: Optional[Dict[str, str]] = None) -> RawAnswer:
    """An answer with a body as JSON, or as it is when it is bytes."""
    return RawAnswer(status, headers or {}, body if isinstance(body, bytes) else json.dumps(body).encode())


def document(*events: Dict[str, Any], incarnation: int = 1) -> RawAnswer:
    return answer(body={"DocumentIncarnation": incarnation, "Events": list(events)})


def event(event_id: str = "E-1", **changes: Any) -> Dict[str, Any]:
    """A Reboot of web_0 in 14 minutes, with changes."""
    return {
        "EventId": event_id,
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web_0"],
        "EventStatus": "Scheduled",
        "NotBefore": "Wed, 18 Nov 2026 10:00:00 GMT",
        "Description": "",
        "EventSource": "Platform",
        "DurationInSeconds": 9,
        **changes,
    }


def started(event_id: str = "E-1", **changes: Any) -> Dict[str, Any]:
    return event(event_id, EventStatus="Started", NotBefore="", **changes)


def service(wire: Wire, hand: HandClock, *, timeout: float = 130.0, retry_for: float = 0.0) -> MetadataService:
    http = HttpClient(wire, timeout=timeout, retry_for=retry_for, clock=hand.clock, chance=lambda: 0.0)
    return MetadataService(http, endpoint="http://127.0.0.1:1", api_version="2020-07-01")
