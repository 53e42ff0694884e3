# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be shown of an event afterwards: its record, and line by line what happened. One schema, for a host and for a playbook.

The lines are for people. Nothing is decided by them, so that a disk that takes none is in nobody's way.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import event_result
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant, parse_instant

from . import reconcile
from . import records as r
from .records import Record, Step, Work

SCHEMA = 1
# A run over many hosts has evidence of the kind `run`: what is of one VM alone is below `hosts` there.
KIND = "host"
# Of the lines of one record; a handler that says "not yet" for days must not fill a disk.
LARGEST = 512 * 1024
# The note that has them: how a driver calls the host.
NAMES = "names"
# Of a handler's output.
_LINES = 20
# What is known of an approval, whoever has made it.
_OF_A_POST = ("driver", "run", "witness", "sent", "posted", "reason")

# What a line tells of.
SAW, MOVED, RAN, ASKED, REFUSED, NOTED, BOOTED = "saw", "moved", "ran", "asked", "refused", "noted", "booted"


class Journals:
    """A file of lines for each record. Nothing here raises: see above."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def tell(self, key: str, at: float, what: str, **detail: Any) -> None:
        line = json.dumps({"at": format_instant(at), "what": what, **detail}, sort_keys=True)
        try:
            os.makedirs(self._folder, mode=0o750, exist_ok=True)
            with open(self._path(key), "ab", opener=_careful) as file:
                if file.tell() + len(line) < LARGEST:
                    file.write(line.encode("utf-8", "backslashreplace") + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
        except OSError:
            return

    def lines(self, key: str) -> List[Dict[str, Any]]:
        """A line that was cut short is left out."""
        try:
            with open(self._path(key), "rb", opener=_careful_reading) as file:
                return list(_objects(file.read(2 * LARGEST)))
        except OSError:
            return []

    def forget(self, key: str) -> None:
        try:
            os.unlink(self._path(key))
        except OSError:
            return

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, key + ".jsonl")


def _careful(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)


def _careful_reading(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


def _objects(body: bytes) -> Iterator[Dict[str, Any]]:
    for line in body.splitlines():
        try:
            value = json.loads(line.decode("utf-8"))
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def changes(before: Optional[Record], after: Record) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """What is worth a line between two values of one record."""
    if before is None or _seen_so(before) != _seen_so(after):
        yield SAW, _seen_so(after)
    if before is not None and before.state != after.state:
        yield MOVED, {"from": before.state, "to": after.state, "reason": after.reason}
    if before is not None and before.committing and not after.committing and after.commit_refused is not None:
        yield REFUSED, {"request": "commit", "reason": after.commit_refused}
    earlier = {} if before is None or before.attempt != after.attempt else {step.handler: step for step in before.steps}
    for step in after.steps:
        for phase in r.PHASES:
            work = step.work(phase)
            old = earlier[step.handler].work(phase) if step.handler in earlier else Work()
            # What was over and is asked once more has told of itself already.
            if not old.over and (work.over or work.tries > old.tries):
                yield RAN, _run(step, phase, after.attempt)


def _seen_so(record: Record) -> Dict[str, Any]:
    event = record.event
    return {
        "view": record.view,
        "status": event.event_status,
        "not_before": _said(event.not_before),
        "resources": list(event.resources),
    }


def _run(step: Step, phase: str, attempt: int) -> Dict[str, Any]:
    work = step.work(phase)
    return {
        "handler": step.handler,
        "phase": r.INSPECT if phase == r.CHECK else phase,
        "at_commit": phase == r.CHECK,
        "attempt": attempt,
        "try": work.tries + int(work.over),
        "interrupted": work.interrupted,
        "from": _said(work.began),
        "to": _said(work.ended),
        "outcome": work.outcome or "again",
        "exit": work.exit,
        "output": work.tail.splitlines()[-_LINES:],
    }


def of(record: Record, lines: Sequence[Mapping[str, Any]], *, now: float) -> Dict[str, Any]:
    """The evidence of one event."""
    driver = record.driver
    sightings = [line for line in lines if line.get("what") == SAW]
    notes = [line for line in lines if line.get("what") == NOTED]
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "key": record.key,
        "occurrence": record.occurrence,
        "event": event_result(record.event, queried_at=now, vm_name=None),
        "vm_id": record.vm_id,
        "identity": _identity(notes),
        "first_seen": _said(record.first_seen),
        "last_seen": _said(record.last_seen),
        "notice_seconds": _notice(record, sightings),
        "changes": sightings[1:],
        "clock": _last(notes, "clock"),
        "decision": record.decision,
        "decision_details": _last(notes, "decision"),
        "reason": record.reason,
        "driver": None if driver is None else driver.name,
        "run": None if driver is None else driver.run,
        "attempts": record.attempt,
        "handlers": [line for line in lines if line.get("what") == RAN],
        "requests": [line for line in lines if line.get("what") in (ASKED, REFUSED)],
        "posts": [_post(line) for line in _posts(notes)],
        "gate_refusals": [_refusal(line) for line in _named(notes, "gate")],
        "approved_by": _approved_by(record, notes),
        "started": _said(record.started_at),
        "gone": _said(record.gone_at),
        "boot_ids": list(dict.fromkeys(str(line["boot"]) for line in lines if line.get("boot"))),
        "healthy": record.result is not None and not _claimed(record),
        "recovered": _ended(record),
        "seconds_drained": _drained(record, now),
        "state": record.state,
        "result": reconcile.result_so_far(record, now),
        "history": [line for line in lines if line.get("what") in (MOVED, BOOTED)],
        "notes": [line for line in notes if line.get("note") not in ("identity", NAMES, "clock", "decision", "post", "gate")],
    }


def _named(notes: Sequence[Mapping[str, Any]], name: str) -> List[Mapping[str, Any]]:
    return [line for line in notes if line.get("note") == name]


def _posts(notes: Sequence[Mapping[str, Any]]) -> List[Mapping[str, Any]]:
    """What came of each; of one that nobody heard of again, that it was sent."""
    posts: List[Mapping[str, Any]] = []
    for line in _named(notes, "post"):
        if posts and _detail(posts[-1], "result") == "sending" and _same_sender(posts[-1], line):
            posts.pop()
        posts.append(line)
    return posts


def _post(line: Mapping[str, Any]) -> Dict[str, Any]:
    """What is called the result of the note is what became of the post."""
    detail = _details(line)
    outcome = detail.pop("result", None)
    return {"at": line.get("at"), "by": line.get("by"), **dict.fromkeys(_OF_A_POST), **detail, "outcome": outcome}


def _refusal(line: Mapping[str, Any]) -> Dict[str, Any]:
    """Its result is always the same."""
    detail = _details(line)
    detail.pop("result", None)
    return {"at": line.get("at"), "by": line.get("by"), "reason": None, "word": None, **detail}


def _details(line: Mapping[str, Any]) -> Dict[str, Any]:
    detail = line.get("detail")
    return dict(detail) if isinstance(detail, dict) else {}


def _same_sender(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(_detail(one, key) == _detail(other, key) for key in ("driver", "run", "witness"))


def _detail(line: Mapping[str, Any], key: str) -> Any:
    return _details(line).get(key)


def _last(notes: Sequence[Mapping[str, Any]], name: str) -> Optional[Any]:
    found = _named(notes, name)
    return found[-1].get("detail") if found else None


def _identity(notes: Sequence[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    """Who it is to Azure, as the agent has it; and to the driver, which alone knows its inventory. None while nobody has said anything."""
    vm, names = _last(notes, "identity"), _last(notes, NAMES)
    if vm is None and names is None:
        return None
    vm, names = vm or {}, names or {}
    scope = names.get("scope") or vm.get("placement_group_id")
    return {**vm, "inventory_name": names.get("inventory_name"), "scope": scope}


def _notice(record: Record, sightings: Sequence[Mapping[str, Any]]) -> Optional[int]:
    """How long before its NotBefore, as it was then, the event was first seen here."""
    first = parse_instant(sightings[0].get("not_before")) if sightings else None
    return None if first is None or not record.noticed else int(first - record.first_seen)


def _approved_by(record: Record, notes: Sequence[Mapping[str, Any]]) -> str:
    """us: a post of this host's agent or driver may have been taken. Who else may have approved, the service does not tell (C-23)."""
    if any(_is_ours(line) for line in _posts(notes)):
        return "us"
    if record.started_at is None:
        return "nobody"
    early = record.event.not_before is not None and record.started_at < record.event.not_before
    return "other" if early and record.noticed else "nobody"


def _is_ours(line: Mapping[str, Any]) -> bool:
    """Of an event that had started already, the driver says that somebody else was first."""
    return bool(_detail(line, "posted")) and _detail(line, "result") != r.ALREADY_STARTED


def _claimed(record: Record) -> bool:
    return any(step.claimed for step in record.steps)


def _ended(record: Record) -> Optional[str]:
    ends = [step.recover.ended for step in record.steps if step.recover.over and step.recover.ended is not None]
    return _said(max(ends)) if ends and not _claimed(record) else None


def _drained(record: Record, now: float) -> Optional[int]:
    """From the first handler that changed something to the last that undid it."""
    ours = [step for step in record.steps if step.prepare.began is not None and step.prepare.outcome != r.UNCHANGED]
    if not ours:
        return None
    begin = min(step.prepare.began or 0.0 for step in ours)
    ends = [step.recover.ended for step in ours if step.recover.over and step.recover.ended is not None]
    return int((now if _claimed(record) or not ends else max(ends)) - begin)


def _said(moment: Optional[float]) -> Optional[str]:
    return None if moment is None else format_instant(moment)
