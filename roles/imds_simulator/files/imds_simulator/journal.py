# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The request log: what came in on the data plane, and what went out. Bounded, and it says so."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, Iterator, List, Mapping, Optional, Tuple

from . import contract
from .contract import fold
from .errors import InvalidError
from .faults import EVENTS, INSTANCE

DEFAULT_SIZE = 10000

_PATHS = {EVENTS: contract.EVENTS_PATH, INSTANCE: contract.INSTANCE_PATH}


class Headers(Mapping[str, str]):
    """Header fields; names are looked up without case, as HTTP wants it."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = dict(fields)  # keys in lower case

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._fields

    def __repr__(self) -> str:
        return "Headers(%r)" % self._fields


@dataclass(eq=False)
class Record:
    """One request. `status` is None as long as, and whenever, no answer was sent."""

    number: int
    at: float  # simulated time
    vm: Optional[str]
    verb: str
    path: str  # without the part that names the VM
    query: Dict[str, str]
    headers: Headers
    body: str
    status: Optional[int] = None
    faults: Tuple[str, ...] = field(default=())

    def json(self) -> Any:
        return json.loads(self.body)

    def as_dict(self) -> Dict[str, Any]:
        return {
            "number": self.number,
            "at": self.at,
            "vm": self.vm,
            "verb": self.verb,
            "path": self.path,
            "query": self.query,
            "headers": dict(self.headers),
            "body": self.body,
            "status": self.status,
            "faults": list(self.faults),
        }


class Journal:
    """The last `size` requests."""

    def __init__(self, size: int = DEFAULT_SIZE) -> None:
        if size < 1:
            raise InvalidError("log_size: the log keeps at least one request, not %d" % size)
        self._records: Deque[Record] = deque(maxlen=size)
        self.size = size
        self.received = 0

    @property
    def forgotten(self) -> int:
        return self.received - len(self._records)

    def add(self, record: Record) -> None:
        self.received += 1
        self._records.append(record)

    def clear(self) -> None:
        self._records.clear()
        self.received = 0

    def find(self, *, vm: Optional[str] = None, verb: Optional[str] = None, path: Optional[str] = None) -> List[Record]:
        """`path` is `events`, `instance` (and what is below it), or a path in full."""
        wanted = _PATHS.get(path, path) if path else None
        return [
            record
            for record in self._records
            if (vm is None or (record.vm is not None and fold(record.vm) == fold(vm)))
            and (verb is None or record.verb == verb)
            and (wanted is None or record.path == wanted or (path == INSTANCE and record.path.startswith(wanted + "/")))
        ]
