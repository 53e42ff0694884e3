# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one turn of the agent knows, and what comes of it; and what time alone makes of its memory. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Iterable, List, Mapping, Optional, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import HOST_CLOCK_ERROR, host_clock_error
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event, same_name
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import Reading, Vm
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import DAY, MINUTE, say_duration

from . import spool
from .configuration import Configuration
from .memory import Memory
from .published import Status
from .records import Record, Who
from .terms import Moment

# The same over all restarts, so that an agent that comes back goes on with what it had in hand.
RUN = "agent"
# Good answers further apart than this are a gap, worth a note.
LONGEST_GAP = 60.0
# And this one makes who plans with this host look for another witness.
TRUSTED_GAP = 5.0 * MINUTE
# Without a call for so long the service forgets this VM, and events may take five minutes to come back (C-7, W-33).
FORGOTTEN_AFTER = 1.0 * DAY
BELIEVED_AFTER = 5.0 * MINUTE


@dataclass(frozen=True)
class Seen:
    """All that this turn knows.

    now: wall time, monotonic: the clock of Memory. reading: the last whole document; fresh: it came in this turn. answered: a good answer
    came in this turn, though it may have said only that nothing has changed. difference: of this host's clock from the service's, where
    that says its time; synchronised: whether somebody keeps this host's clock right.
    """

    now: float
    monotonic: float
    boot: str
    configuration: Configuration
    reading: Optional[Reading] = None
    fresh: bool = False
    answered: bool = False
    vm: Optional[Vm] = None
    status: Optional[Status] = None
    difference: Optional[float] = None
    synchronised: bool = False

    @property
    def clock_difference(self) -> Optional[float]:
        """None: nobody knows. A clock that is kept right needs no other witness."""
        return 0.0 if self.difference is None and self.synchronised else self.difference

    @property
    def clock_error(self) -> float:
        """What the service's own time shows to be wrong is known, whoever keeps this clock or does not (W-34)."""
        if self.difference is not None:
            return HOST_CLOCK_ERROR + abs(self.difference)
        return host_clock_error(None, synchronised=self.synchronised)

    @property
    def moment(self) -> Moment:
        """As the executor counts the terms that it shows."""
        return Moment(self.now, self.monotonic, "" if self.status is None else self.status.boot)

    @property
    def held(self) -> Optional[str]:
        hold = None if self.status is None else self.status.hold
        if self.status is None or hold is None:
            return None
        # A hold that was over when it was published is one that nobody could read, and holds.
        return str(hold) if self.now < hold.until or hold.until <= self.status.written_at else None


@dataclass(frozen=True)
class Wish:
    """A request to be filed."""

    what: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """Something that a person should know. word: of a small set; about: an event's id."""

    word: str
    text: str
    about: Optional[str] = None


@dataclass(frozen=True)
class Plan:
    """What comes of one turn.

    approval: an event to be posted at once, on the document of this turn. read_whole: the next question must be without condition.
    refusals: a word for each refusal that is new. starts: for each event that has started now, who made it, in the words of the metrics,
    or nobody.
    """

    memory: Memory
    wishes: Tuple[Wish, ...] = ()
    approval: Optional[Event] = None
    read_whole: bool = False
    problems: Tuple[Problem, ...] = ()
    refusals: Tuple[str, ...] = ()
    starts: Tuple[str, ...] = ()


def note(event: Event, what: str, detail: Mapping[str, Any]) -> Wish:
    """Something for the evidence."""
    return Wish(spool.NOTE, {"event_id": event.event_id, "note": what, "detail": dict(detail)})


def is_ours(record: Record) -> bool:
    return record.driver is not None and record.driver.who == Who(spool.AGENT, RUN)


# --- memory and time -----------------------------------------------------------------------------------------------------


def of_this_vm(memory: Memory, seen: Seen) -> Memory:
    """Nothing of another boot, whose clock was another, or of another VM, whose events were others (W-28)."""
    if memory.boot != seen.boot:
        memory = Memory(seen.boot)
    vm_id = None if seen.vm is None else seen.vm.vm_id
    if vm_id is None:
        return memory
    if memory.vm_id is None:
        return replace(memory, vm_id=vm_id)
    if same_name(memory.vm_id, vm_id):
        return memory
    return Memory(seen.boot, vm_id, memory.good_at, memory.good_since, memory.trusted_since)


def timed(memory: Memory, seen: Seen) -> Memory:
    """What a good answer, or its absence, says of the events that are not seen."""
    if not seen.answered or seen.status is None:
        return memory
    gap = _gap(memory, seen)
    forgotten = gap is not None and gap > FORGOTTEN_AFTER
    together = memory.good_since is not None and not (gap is not None and gap > LONGEST_GAP)
    since = memory.good_since if together else seen.monotonic
    trusted = memory.trusted_since is not None and not (gap is not None and gap > TRUSTED_GAP)
    believed = since is not None and seen.monotonic - since >= BELIEVED_AFTER
    return replace(
        memory,
        good_at=seen.monotonic,
        good_since=since,
        trusted_since=memory.trusted_since if trusted else seen.monotonic,
        unknown=forgotten or (memory.unknown and not believed),
        # After a boot nobody knows how long the gap really was.
        gap=gap if memory.good_at is not None and gap is not None and gap > LONGEST_GAP else None,
    )


def _gap(memory: Memory, seen: Seen) -> Optional[float]:
    """Since the last good answer; after a boot, since a record of an open event was last confirmed."""
    if memory.good_at is not None:
        return seen.monotonic - memory.good_at
    confirmed = [record.last_seen for record in open_records(seen)]
    return max(0.0, seen.now - max(confirmed)) if confirmed else None


def open_records(seen: Seen) -> List[Record]:
    """Of events that are not known to be over."""
    known = () if seen.status is None else seen.status.records
    return [record for record in known if record.is_open and not record.gone]


def outage(memory: Memory, seen: Seen) -> Iterable[Problem]:
    """W-33: what is not seen any more after a day without the service is not known to be gone."""
    silent = 0.0 if memory.good_at is None else seen.monotonic - memory.good_at
    if silent > FORGOTTEN_AFTER:
        yield Problem(
            "outage", "The metadata service has not answered for %s: what became of the events is unknown." % say_duration(silent)
        )
    elif memory.unknown:
        yield Problem(
            "outage",
            "The metadata service had not been asked for more than a day, and may have switched its notices off: until it has answered for"
            " %s, an event that it does not list is unknown and not gone." % say_duration(BELIEVED_AFTER),
        )
