# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the executor lets others see: the state of this host, written anew after each change to a file that nobody else can write."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from . import files
from . import records as r
from .errors import BrokenRecordError
from .records import Record
from .store import Hold

FORMAT = 1


@dataclass(frozen=True)
class Status:
    """records: all that are open, and the last ones that are closed. problems: sentences for the operator, what nobody can do now."""

    written_at: float
    boot: str
    vm_id: Optional[str]
    hold: Optional[Hold] = None
    broken: Tuple[str, ...] = ()
    problems: Tuple[str, ...] = ()
    records: Tuple[Record, ...] = ()

    def find(self, event_id: str) -> Optional[Record]:
        """The last record of this event."""
        return r.last_of(self.records, event_id)


def write(path: str, status: Status) -> None:
    files.write_json(path, to_json(status))


def read(path: str) -> Optional[Status]:
    """None where there is none yet, or one that another version wrote."""
    try:
        return from_json(files.read_json(path))
    except (OSError, ValueError, BrokenRecordError):
        return None


def to_json(status: Status) -> Dict[str, Any]:
    plain = dataclasses.asdict(status)
    plain["records"] = [r.to_json(record) for record in status.records]
    return {"format": FORMAT, **plain}


def from_json(data: Any) -> Status:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BrokenRecordError("status: it has not format %d, which is what this program reads" % FORMAT)
    values = {key: value for key, value in data.items() if key != "format"}
    hold = values.get("hold")
    values["hold"] = None if hold is None else r.made(Hold, hold, "hold")
    if not isinstance(values.get("records"), list):
        raise BrokenRecordError("status: records is not a list")
    values["records"] = tuple(r.from_json(record) for record in values["records"])
    status: Status = r.made(Status, values, "status")
    return status
