# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to the executor, and its answers: a file each. Whoever asks needs nothing but the right to write into one folder.

A request that could be read is answered once: yes, or no with the reason. What comes of a yes is seen in the published state.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from . import files
from .errors import RefusedError
from .records import made

FORMAT = 1
OBSERVE, PREPARE, RENEW, COMMIT, ABORT = "observe", "prepare", "renew", "commit", "abort"
RECOVER, HOLD, RELEASE, NOTE = "recover", "hold", "release", "note"
# A driver's word on its approval: before it is posted, and what became of it.
SENDING, APPROVED = "sending", "approved"
# That something is to be seen here that no request tells of.
LOOK = "look"
# What the agent may ask. Everything else is for people and playbooks, who are root here.
OF_THE_AGENT = frozenset((OBSERVE, PREPARE, RENEW, COMMIT, ABORT, NOTE))
AGENT = "agent"

_REQUEST = re.compile(r"[0-9a-f]{32}\.json")
# An answer that nobody has read by then, nobody waits for.
_ANSWER_KEPT = 600.0
_MOST_AT_ONCE = 100


@dataclass(frozen=True)
class Request:
    """path: the file it lies in, until it is answered."""

    id: str
    what: str
    values: Mapping[str, Any]
    by_agent: bool
    path: str
    # Seconds since it was filed.
    age: float = 0.0


@dataclass(frozen=True)
class Answer:
    """key: of the record that it is about."""

    ok: bool
    message: str = ""
    key: Optional[str] = None


def file_request(folder: str, what: str, **values: Any) -> str:
    """OSError where it cannot be written: then the executor does not know of it."""
    name = uuid.uuid4().hex
    files.write_json(os.path.join(folder, name + ".json"), {"format": FORMAT, "what": what, "values": values})
    return name


def answer_of(answers: str, request: str) -> Optional[Answer]:
    """None while there is none."""
    try:
        found: Answer = made(Answer, files.read_json(os.path.join(answers, request + ".json")), "answer")
    except (OSError, ValueError):
        return None
    return found


def give_answer(answers: str, request: Request, answer: Answer) -> None:
    """First the answer, then no more request: who is killed between answers twice, and every request may be carried out twice."""
    files.write_json(os.path.join(answers, request.id + ".json"), asdict(answer))
    drop(request.path)


def drop(path: str) -> bool:
    """Whether it was still there; a folder that somebody put there goes too, if it is empty."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except IsADirectoryError:
        os.rmdir(path)
    return True


def waiting(folder: str, *, by_agent: bool) -> Tuple[List[Request], List[Tuple[str, str]]]:
    """The oldest ones first, and what lies there and is no request, with the reason."""
    requests, strange = [], []
    for path in _in_order(folder):
        try:
            requests.append(_read(path, by_agent))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RefusedError) as problem:
            strange.append((path, str(problem)))
    return requests, strange


def _in_order(folder: str) -> List[str]:
    found: List[Tuple[int, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                # A name that begins with a dot is still being written.
                if not entry.name.startswith("."):
                    found.append((_age(entry), entry.path))
    except FileNotFoundError:
        return []
    return [path for _moment, path in sorted(found)[:_MOST_AT_ONCE]]


def _age(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _read(path: str, by_agent: bool) -> Request:
    name = os.path.basename(path)
    if not _REQUEST.fullmatch(name):
        raise RefusedError("its name is not that of a request")
    data = files.read_json(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT or set(data) != {"format", "what", "values"}:
        raise RefusedError("it is not a request of format %d" % FORMAT)
    if not isinstance(data["what"], str) or not isinstance(data["values"], dict):
        raise RefusedError("it is not a request of format %d" % FORMAT)
    age = max(0.0, time.time() - os.lstat(path).st_mtime)
    return Request(name[: -len(".json")], data["what"], data["values"], by_agent, path, age)


def tidy(answers: str, *, now: Optional[float] = None) -> None:
    """Answers that nobody has come for."""
    moment = time.time() if now is None else now
    for path in _stale(answers, moment - _ANSWER_KEPT):
        drop(path)


def _stale(folder: str, before: float) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _age(entry) < before * 1e9:
                    yield entry.path
    except FileNotFoundError:
        return


class Values:
    """What a request brings, value by value, each of its type or refused."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def text(self, key: str) -> str:
        value = self._values.get(key)
        if not isinstance(value, str) or not value:
            raise RefusedError("The request lacks %s." % key)
        return value

    def optional_text(self, key: str) -> Optional[str]:
        return self.text(key) if self._values.get(key) is not None else None

    def number(self, key: str) -> float:
        value = self._values.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not -(2**53) <= value <= 2**53:
            raise RefusedError("The request lacks %s, a number." % key)
        return float(value)

    def flag(self, key: str) -> bool:
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise RefusedError("The request has %s, which is not true or false." % key)
        return value

    def object(self, key: str) -> Dict[str, Any]:
        value = self._values.get(key)
        if not isinstance(value, dict):
            raise RefusedError("The request lacks %s, an object." % key)
        return value

    def objects(self, key: str) -> List[Dict[str, Any]]:
        value = self._values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise RefusedError("The request has %s, which is not a list of objects." % key)
        return value

    def texts(self, key: str) -> List[str]:
        value = self._values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise RefusedError("The request has %s, which is not a list of texts." % key)
        return value

    def made(self, kind: Any, key: str) -> Any:
        """The dataclass of an object in it."""
        return made(kind, self._values.get(key), key)
