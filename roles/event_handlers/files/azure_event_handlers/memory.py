# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent remembers from one turn to the next, and over its own end within one boot. Pure.

Whatever is lost of it is learnt again from the service and from the executor's state: it only costs time.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Decision, Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import Opening, Zone

from .errors import BrokenRecordError
from .records import made

FORMAT = 1

# What is known of a post: on its way, taken by the service, or without a clear answer.
SENDING, TAKEN, LOST = "sending", "taken", "lost"


@dataclass(frozen=True)
class Sight:
    """One event as good documents have shown it so far. first_seen, started_at and noted are wall time, every other moment is monotonic.

    named: whether the last document named this VM. posts: those that may have taken; posted: what is known of the last one; try_at: not
    before then once more. barred: why we do not approve it any more. refused: what kept us last from approving it; refused_since: if it
    still does. let_go: the executor has been told that surely nothing was posted, and so nothing may be. noted: the moment of the
    decision that is in the evidence.
    """

    event: Event
    named: bool = True
    first_seen: float = 0.0
    started_at: Optional[float] = None
    missing_since: Optional[float] = None
    gone: bool = False
    decision: Optional[Decision] = None
    posts: int = 0
    posted: Optional[str] = None
    posted_at: Optional[float] = None
    try_at: Optional[float] = None
    barred: Optional[str] = None
    refused: Optional[str] = None
    refused_since: Optional[float] = None
    let_go: bool = False
    noted: Optional[float] = None

    @property
    def unsure(self) -> bool:
        """The last document lacked it, and one document proves nothing."""
        return self.missing_since is not None and not self.gone


@dataclass(frozen=True)
class Told:
    """A request that was filed: what it said, when it was said last (monotonic), and how often."""

    said: str
    at: float
    times: int = 1


@dataclass(frozen=True)
class Memory:
    """boot: in which all this was seen. good_at: the last good answer; good_since: the first of those that came without a long gap;
    trusted_since: the first of those between which there was none of five minutes.

    unknown: after an outage in which the service may have forgotten us, what is not listed need not be gone. gap: how long that was.
    """

    boot: str = ""
    vm_id: Optional[str] = None
    good_at: Optional[float] = None
    good_since: Optional[float] = None
    trusted_since: Optional[float] = None
    unknown: bool = False
    gap: Optional[float] = None
    sights: Mapping[str, Sight] = field(default_factory=dict)
    told: Mapping[str, Told] = field(default_factory=dict)


def to_json(memory: Memory) -> Dict[str, Any]:
    return {"format": FORMAT, **dataclasses.asdict(memory)}


def from_json(data: Any, *, boot: str) -> Memory:
    """What was remembered in this boot; nothing of an earlier one, and nothing that this program has not written so."""
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("boot") != boot:
        return Memory(boot)
    try:
        return _memory({key: value for key, value in data.items() if key != "format"})
    except (BrokenRecordError, TypeError, ValueError, AttributeError, KeyError):
        return Memory(boot)


def _memory(values: Dict[str, Any]) -> Memory:
    # An agent of before, on a host that is upgraded now, did not keep it; what it has posted must not be forgotten for that.
    values.setdefault("trusted_since", None)
    values["sights"] = {str(key): _sight(sight) for key, sight in values["sights"].items()}
    values["told"] = {str(key): made(Told, told, "told") for key, told in values["told"].items()}
    memory: Memory = made(Memory, values, "memory")
    return memory


def _sight(data: Mapping[str, Any]) -> Sight:
    values = dict(data)
    values["event"] = made(Event, values["event"], "event")
    values["decision"] = None if values["decision"] is None else _decision(values["decision"])
    sight: Sight = made(Sight, values, "sight")
    return sight


def _decision(data: Mapping[str, Any]) -> Decision:
    values = dict(data)
    values["event"] = made(Event, values["event"], "event")
    values["times"] = made(Times, values["times"], "times")
    values["opening"] = None if values["opening"] is None else _opening(values["opening"])
    decision: Decision = made(Decision, values, "decision")
    return decision


def _opening(data: Mapping[str, Any]) -> Opening:
    zone = data["zone"]
    changes = tuple((int(instant), int(offset)) for instant, offset in zone["changes"])
    return Opening(float(data["begin"]), float(data["end"]), Zone(str(zone["name"]), int(zone["offset"]), changes))
