# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A request from a person or a playbook: filed, answered, and followed to where it leads."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Mapping, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import same_name

from . import published, spool
from . import records as r
from .paths import Paths
from .records import Record

# For the executor to be started and to answer; it takes tenths of a second.
ANSWER_WITHIN = 15.0
LOOK = 0.1
# Nothing is left to be undone.
_NOTHING_LEFT = (r.CLOSED, r.BACKED_OUT, r.FOREIGN)
# How often the same id is thought to come back.
_OCCURRENCES = 50
# Of a lease, so much passes between two words of a driver that is still there.
RENEWED_AFTER = 1 / 3

READY, COMMITTED, BACK, FILED, OVER = "ready", "committed", "back_in_service", "done", "over"
NOT_READY, COMMIT_REFUSED, REFUSED, PENDING, NO_ANSWER = "not_ready", "commit_refused", "refused", "pending", "no_answer"
# As asked; of the others, whoever asked must not go on.
GOOD = frozenset((READY, COMMITTED, BACK, FILED, OVER))
# Of a wait, which asks nothing of anybody.
WAIT = "wait"


@dataclass(frozen=True)
class Verdict:
    """The host's own word. message: a sentence for a person."""

    request: str
    verdict: str
    message: str
    event_id: Optional[str] = None
    record: Optional[Record] = None

    @property
    def good(self) -> bool:
        return self.verdict in GOOD

    def as_dict(self) -> Dict[str, Any]:
        record = self.record
        return {
            "request": self.request,
            "verdict": self.verdict,
            "ok": self.good,
            "message": self.message,
            "event_id": self.event_id,
            "state": None if record is None else record.state,
            "reason": None if record is None else record.reason,
            "attempt": None if record is None else record.attempt,
            "driver": None if record is None or record.driver is None else asdict(record.driver),
            "handlers": [] if record is None else [_handler(step) for step in record.steps],
        }


def _handler(step: r.Step) -> Dict[str, Any]:
    return {
        "name": step.handler,
        "required": step.required,
        **{phase: {"outcome": step.work(phase).outcome, "exit": step.work(phase).exit} for phase in r.PHASES},
    }


class Asking:
    """By one who is root on this host. heard: hears of each change while it is followed."""

    def __init__(self, paths: Paths, clock: Clock, heard: Callable[[Record], None]) -> None:
        self._paths = paths
        self._clock = clock
        self._heard = heard

    def ask(self, request: str, event_id: Optional[str] = None, *, timeout: float, **values: Any) -> Verdict:
        """Filed, and followed for so many seconds."""
        if event_id is not None and "event" not in values:
            values["event_id"] = event_id
        answer = self._answered(spool.file_request(self._paths.requests, request, **values))
        if answer is None:
            return Verdict(request, NO_ANSWER, _NO_ANSWER % ANSWER_WITHIN, event_id)
        if not answer.ok:
            return Verdict(request, REFUSED, answer.message, event_id, self._record(event_id))
        if event_id is None or request not in _ENDS:
            return Verdict(request, FILED, _DONE.get(request, "Done."), event_id, self._record(event_id))
        return self._followed(request, event_id, timeout, values)

    def _answered(self, name: str) -> Optional[spool.Answer]:
        end = self._clock.monotonic() + ANSWER_WITHIN
        while self._clock.monotonic() < end:
            answer = spool.answer_of(self._paths.answers, name)
            if answer is not None:
                return answer
            self._clock.sleep(LOOK)
        # Not to be carried out when nobody expects it any more.
        withdrawn = spool.drop(os.path.join(self._paths.requests, name + ".json"))
        answer = spool.answer_of(self._paths.answers, name)
        return spool.Answer(False, _TAKEN) if answer is None and not withdrawn else answer

    def _followed(self, request: str, event_id: str, timeout: float, values: Mapping[str, Any]) -> Verdict:
        end = self._clock.monotonic() + timeout
        renewed = self._clock.monotonic()
        last: Optional[Record] = None
        while True:
            record = self._record(event_id)
            if record is not None:
                if record != last:
                    self._heard(record)
                last = record
                waits = request in (spool.RECOVER, spool.RELEASE) and self._is_being_put_back(event_id)
                verdict = None if waits else _ENDS[request](record)
                other = _other_driver(record, values) if verdict is not None and request == spool.COMMIT else None
                if other is not None:
                    return Verdict(request, COMMIT_REFUSED, _TAKEN_OVER % other, event_id, record)
                if verdict is not None:
                    return Verdict(request, verdict, _say(verdict, record), event_id, record)
            now = self._clock.monotonic()
            if now >= end:
                return Verdict(request, PENDING, _PENDING % timeout, event_id, record)
            if "lease" in values and now - renewed >= values["lease"] * RENEWED_AFTER:
                renewed = now
                told = {key: values[key] for key in ("driver", "run", "lease")}
                spool.file_request(self._paths.requests, spool.RENEW, event_id=event_id, **told)
            self._clock.sleep(LOOK)

    def wait(self, event_id: str, *, timeout: float) -> Optional[Verdict]:
        """Until nothing of this event is in effect here any more; None where nobody said what is, as right after a boot."""
        end = self._clock.monotonic() + timeout
        last: Optional[Record] = None
        while True:
            status = published.read(self._paths.status)
            record = None if status is None else status.find(event_id)
            if record is not None and record != last:
                self._heard(record)
                last = record
            if status is not None and _is_over(status, event_id):
                return Verdict(WAIT, OVER, _say_over(record), event_id, record)
            if self._clock.monotonic() >= end:
                return None if status is None else Verdict(WAIT, PENDING, self._say_not_over(record, timeout), event_id, record)
            self._clock.sleep(LOOK)

    def _say_not_over(self, record: Optional[Record], timeout: float) -> str:
        if record is None:
            return "The record of this event cannot be read: look at the files named broken in %s." % self._paths.records
        return "Not over within %g s: this host is %s (%s)." % (timeout, record.state, record.reason)

    def _is_being_put_back(self, event_id: str) -> bool:
        """Also an earlier occurrence of the same event."""
        status = published.read(self._paths.status)
        states = (r.BACKING_OUT, r.RECOVERING)
        return status is not None and any(one.state in states and same_name(one.event.event_id, event_id) for one in status.records)

    def _record(self, event_id: Optional[str]) -> Optional[Record]:
        status = published.read(self._paths.status)
        return None if status is None or event_id is None else status.find(event_id)


_NO_ANSWER = (
    "The executor has not answered within %g s and the request was withdrawn: see `systemctl status azure-event-executor.path"
    " azure-event-executor` and `journalctl -u azure-event-executor`."
)
_TAKEN = "The executor has taken the request and not answered: it may have been carried out, see `azure-event-handlers status`."
_TAKEN_OVER = "This host does not give its word: it is in the hands of %s by now."
_PENDING = "Not done within %g s; it goes on by itself, see `azure-event-handlers status`."


# What is only filed has no end to follow it to.
_DONE = {
    spool.SENDING: "It is written down that an approval may be on its way.",
    spool.APPROVED: "It is written down what became of the approval.",
}


def _is_over(status: published.Status, event_id: str) -> bool:
    """Also of an earlier occurrence nothing is left; and the record is not one that nobody can read."""
    if any(name.startswith(r.key_of(event_id, number)) for name in status.broken for number in range(1, _OCCURRENCES + 1)):
        return False
    same = [record for record in status.records if same_name(record.event.event_id, event_id)]
    return all(record.state in _NOTHING_LEFT for record in same)


def _say_over(record: Optional[Record]) -> str:
    if record is None:
        return "This host knows of no such event, so nothing of it is in effect."
    return "Nothing of this event is in effect here: this host is %s (%s)." % (record.state, record.reason)


def _end_of_prepare(record: Record) -> Optional[str]:
    if record.state in (r.PREPARED, r.COMMITTED):
        return READY
    return None if record.state in (r.SEEN, r.PREPARING) else NOT_READY


def _end_of_commit(record: Record) -> Optional[str]:
    if record.state in (r.PREPARED, r.COMMITTED) and record.committing:
        return None
    return COMMITTED if record.word_of is not None else COMMIT_REFUSED


def _other_driver(record: Record, values: Mapping[str, Any]) -> Optional[r.Who]:
    """Who has the host in hand instead of the one that asks, whose lease was over before the handlers had said their word."""
    asks = r.Who(values["driver"], values["run"])
    return None if record.driver is None or record.driver.who == asks else record.driver.who


def _end_of_recovery(record: Record) -> Optional[str]:
    if record.state in (r.CLOSED, r.BACKED_OUT, r.SEEN):
        return BACK
    return NOT_READY if record.state in (r.IMPACT, r.FOREIGN) else None


_ENDS: Mapping[str, Callable[[Record], Optional[str]]] = {
    spool.PREPARE: _end_of_prepare,
    spool.COMMIT: _end_of_commit,
    spool.RECOVER: _end_of_recovery,
    spool.RELEASE: _end_of_recovery,
}


def _say_refused(record: Record) -> str:
    """And what stands all the same."""
    if record.state != r.COMMITTED:
        return record.commit_refused or record.reason or record.state
    why = record.commit_refused or "nobody has looked at it since it was asked"
    before = ", ".join(map(str, record.given_to)) or "somebody"
    return "%s; it stays as it is, for its word was given to %s before, and an approval may be on its way" % (why, before)


def _say(verdict: str, record: Record) -> str:
    if verdict == READY:
        return "This host is ready: %s." % record.reason
    if verdict == COMMITTED:
        return "This host gives its word: the event may be approved."
    if verdict == BACK:
        return "Nothing of this event is in effect any more."
    if verdict == COMMIT_REFUSED:
        return "This host does not give its word: %s." % _say_refused(record)
    return "This host is %s: %s." % (record.state, record.reason)
