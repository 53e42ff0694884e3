# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on demand: what to do to which requests, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Set

from .contract import fold
from .errors import InvalidError, UnknownError

EVENTS, INSTANCE = "events", "instance"
PATHS = (EVENTS, INSTANCE)
VERBS = ("GET", "POST")

# One place for what there is: the command line's help and the role's page are held against it.
BEFORE: Mapping[str, str] = {
    "delay": "the request waits for `seconds` of real time before anything is done with it",
}
ENDINGS: Mapping[str, str] = {
    "status": "answers `status` with `body` (default: the contract's error body) and `headers`",
    "html": "answers 200 with a page of HTML, as a captive proxy does (C-5)",
    "redirect": "answers 302 to `location` (C-4)",
    "hang": "takes the request and never answers; with `seconds`, closes after so many seconds of real time",
    "reset": "resets the connection instead of answering",
    "close": "closes the connection in order, without a byte of answer",
    "lost_answer": "does what was asked for, then resets the connection",
    "truncate": "does what was asked for, announces the whole answer, sends half of its body and closes",
    "half_json": "does what was asked for, and answers with the first half of the body as if it were all",
}
DOCUMENT: Mapping[str, str] = {
    "drop_event": "one event is missing from the answer: `event_id`, or the first",
    "empty": "the answer has no event at all",
    "duplicate_event": "one event is listed twice: `event_id`, or the first",
    "malformed_event": "one event (`event_id`, or the first; if there is none, an additional one) is not what the contract says: `body`, "
    "or an entry with wrong types",
    "late": "the answer is `seconds` of simulated time old; without `seconds`, as old as the fault",
    "repeat_incarnation": "incarnation and tag stay `incarnation` (default: what they were when the fault was set) whatever the list says",
}
IDENTITY: Mapping[str, str] = {
    "incomplete": "the instance answer lacks what is known last right after creation (C-28)",
}
KINDS: Mapping[str, str] = {**BEFORE, **ENDINGS, **DOCUMENT, **IDENTITY}
# These end a request after it was acted upon, whatever `acts` says.
ALWAYS_ACT = ("lost_answer", "truncate", "half_json")

# For which kinds a parameter means something.
_PARAMETERS: Mapping[str, FrozenSet[str]] = {
    "status": frozenset(["status"]),
    "seconds": frozenset(["delay", "hang", "late"]),
    "headers": frozenset(["status", "html"]),
    "body": frozenset(["status", "html", "malformed_event"]),
    "location": frozenset(["redirect"]),
    "incarnation": frozenset(["repeat_incarnation"]),
    "acts": frozenset(ENDINGS),
}
_NEEDED: Mapping[str, str] = {"status": "status", "delay": "seconds"}


@dataclass(eq=False)
class Fault:
    """One fault, and how often it has struck."""

    number: int
    kind: str
    revision: int  # of the fabric, when the fault was set
    vm: Optional[str] = None
    verb: Optional[str] = None
    path: Optional[str] = None
    event_id: Optional[str] = None
    times: Optional[int] = 1
    status: Optional[int] = None
    seconds: Optional[float] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    location: str = "http://127.0.0.1:9/elsewhere"
    incarnation: Optional[int] = None
    acts: bool = False
    hits: int = 0

    @property
    def left(self) -> Optional[int]:
        return None if self.times is None else self.times - self.hits

    def meets(self, *, vm: Optional[str], verb: str, path: str, ids: Set[str]) -> bool:
        if self.left == 0 or self.path not in (None, path) or self.verb not in (None, verb):
            return False
        if self.vm is not None and (vm is None or fold(self.vm) != fold(vm)):
            return False
        if self.kind in DOCUMENT:
            return path == EVENTS and verb == "GET"
        if self.kind in IDENTITY:
            return path == INSTANCE
        return self.event_id is None or fold(self.event_id) in ids

    def as_dict(self) -> Dict[str, Any]:
        return {
            "fault": self.number,
            "kind": self.kind,
            "vm": self.vm,
            "verb": self.verb,
            "path": self.path,
            "event_id": self.event_id,
            "times": self.times,
            "hits": self.hits,
            "left": self.left,
        }


class Faults:
    """All faults that wait, in the order in which they were set."""

    def __init__(self) -> None:
        self._faults: List[Fault] = []
        self._counter = 0

    def add(self, kind: str, *, revision: int, **parameters: Any) -> Fault:
        _check(kind, parameters)
        self._counter += 1
        given = {name: value for name, value in parameters.items() if value is not None or name == "times"}
        fault = Fault(number=self._counter, kind=kind, revision=revision, **given)
        self._faults.append(fault)
        return fault

    def clear(self, *, vm: Optional[str] = None, number: Optional[int] = None) -> int:
        """Take faults away: all, those of one VM, or one. Returns how many."""
        gone = [
            fault
            for fault in self._faults
            if (vm is None or (fault.vm is not None and fold(fault.vm) == fold(vm))) and number in (None, fault.number)
        ]
        if number is not None and not gone:
            raise UnknownError("there is no fault %d" % number)
        self._faults = [fault for fault in self._faults if fault not in gone]
        return len(gone)

    def waiting(self) -> List[Fault]:
        return [fault for fault in self._faults if fault.left != 0]

    def strike(self, *, vm: Optional[str], verb: str, path: str, ids: Set[str]) -> Sequence[Fault]:
        """The faults that this request meets, each counted. Of those that end a request only the first counts."""
        if not self._faults:
            return ()
        met: List[Fault] = []
        for fault in self._faults:
            ended = fault.kind in ENDINGS and any(other.kind in ENDINGS for other in met)
            if ended or not fault.meets(vm=vm, verb=verb, path=path, ids=ids):
                continue
            fault.hits += 1
            met.append(fault)
        self._faults = self.waiting()
        return met


def _check(kind: str, parameters: Mapping[str, Any]) -> None:
    if kind not in KINDS:
        raise InvalidError("fault: there is no kind %r, only %s" % (kind, ", ".join(KINDS)))
    if parameters.get("path") not in (None,) + PATHS:
        raise InvalidError("fault: path must be one of %s, not %r" % (", ".join(PATHS), parameters["path"]))
    if parameters.get("verb") not in (None,) + VERBS:
        raise InvalidError("fault: verb must be one of %s, not %r" % (", ".join(VERBS), parameters["verb"]))
    for name, kinds in _PARAMETERS.items():
        if parameters.get(name) and kind not in kinds:
            raise InvalidError("fault: %s means nothing to kind %s, only to %s" % (name, kind, ", ".join(sorted(kinds))))
    needed = _NEEDED.get(kind)
    if needed and parameters.get(needed) is None:
        raise InvalidError("fault: kind %s needs %s" % (kind, needed))
    _check_number("status", parameters.get("status"), lowest=100, highest=999)
    _check_number("times", parameters.get("times"), lowest=1)
    _check_number("seconds", parameters.get("seconds"), lowest=0)


def _check_number(name: str, value: Any, *, lowest: int, highest: Optional[int] = None) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < lowest or (highest is not None and value > highest):
        raise InvalidError(
            "fault: %s must be a number of at least %d%s, not %r"
            % (name, lowest, "" if highest is None else " and at most %d" % highest, value)
        )
