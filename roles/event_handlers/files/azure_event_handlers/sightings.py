# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What documents show of the events of this VM, turn by turn, and what is decided about each. Pure.

One document may be wrong: it may lack an event, or this VM's name in it. So what is gone is believed only when a second one says so too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Decision, Facts, Settings, decide, still_holds
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event, affects, fold, same_name
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import Reading, Vm
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import Policy, is_shared
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._watch import GONE_AFTER

from . import records as r
from .configuration import PREPARE_AND_APPROVE, WATCH, Configuration
from .memory import LOST, Memory, Sight
from .metrics import AGENT, DRIVER, OTHER
from .records import Record
from .seen import Seen, Wish, is_ours, note, open_records

# Who made an event start; nobody: its time had come.
NOBODY = "nobody"
# A turn a second, and now and then one without a good answer: a start that is so little late is not late. V and E bear it.
GRACE = 15.0
_TURNS_OF_GRACE = 3
# States in which nothing has been done for the event, or nothing is left of it.
IDLE = (r.SEEN, r.BACKED_OUT)


class Sightings:
    """wishes: what is noted of it; starts: who made those events start that have started now."""

    def __init__(self, memory: Memory, seen: Seen, vm: Vm, vm_id: str) -> None:
        self._memory = memory
        self._seen = seen
        self._vm = vm
        self._vm_id = vm_id
        self._sights: Dict[str, Sight] = dict(memory.sights)
        self._wishes: List[Wish] = []
        self._starts: List[str] = []

    def _record(self, event_id: str) -> Optional[Record]:
        """The open record of this VM's event, or None."""
        record = None if self._seen.status is None else self._seen.status.find(event_id)
        over = record is None or not record.is_open or record.gone or not self._is_of_this_vm(record)
        return None if over else record

    def _is_of_this_vm(self, record: Record) -> bool:
        return same_name(record.vm_id, self._vm_id)

    def _is_done_with(self, sight: Sight) -> bool:
        """Nothing is left of it: the executor shows that it knows. As long as it shows nothing at all, it is told."""
        over = sight.gone or not sight.named
        return over and self._seen.status is not None and self._record(sight.event.event_id) is None

    def take_in(self) -> None:
        """A new document into the sights; without one they stay as they are."""
        reading = self._seen.reading
        self._remember_records()
        if reading is not None and self._seen.fresh:
            for event in reading.document.events:
                self._take_in_event(event, reading)
            for key, sight in list(self._sights.items()):
                if reading.document.find(sight.event.event_id) is None:
                    self._sights[key] = self._missed(sight, reading)
        for key, sight in list(self._sights.items()):
            if self._is_done_with(sight):
                del self._sights[key]
            else:
                self._sights[key] = self._decided(sight)

    def _remember_records(self) -> None:
        """Of an earlier life: what is open, whether it is listed or not."""
        for record in open_records(self._seen):
            key = fold(record.event.event_id)
            if key not in self._sights and self._is_of_this_vm(record):
                # It may have been posted, and nobody remembers.
                maybe = record.state == r.COMMITTED and is_ours(record)
                self._sights[key] = Sight(
                    record.event,
                    first_seen=record.first_seen,
                    started_at=record.started_at,
                    posts=1 if maybe else 0,
                    posted=LOST if maybe else None,
                )

    def _take_in_event(self, event: Event, reading: Reading) -> None:
        key, named = fold(event.event_id), affects(event, self._vm.name)
        before = self._sights.get(key)
        if before is None and not named:
            return
        now = self._seen.now
        if before is None or (before.gone and named):
            # Listed again after it was gone, it is another one (W-15).
            before = Sight(event, first_seen=now)
        if not named and not _is_certain(before, reading):
            # Treated as gone (W-12), and so not believed at once.
            self._sights[key] = replace(before, missing_since=_since(before, reading))
            return
        began = event.started and before.started_at is None
        if began and before.event.scheduled:
            self._note_start(before)
        started_at = now if began else before.started_at
        self._sights[key] = replace(before, event=event, named=named, missing_since=None, started_at=started_at)

    def _missed(self, sight: Sight, reading: Reading) -> Sight:
        """Gone: two whole documents without it, some time apart (W-32), and after an outage a while of good answers (W-33)."""
        gone = _is_certain(sight, reading) and not self._memory.unknown
        return replace(sight, missing_since=_since(sight, reading), gone=sight.gone or gone)

    def _note_start(self, before: Sight) -> None:
        """Who made it start: for the evidence (W-40)."""
        record = self._record(before.event.event_id)
        not_before = before.event.not_before
        if before.posts:
            by = AGENT
        elif record is not None and _may_be_drivers(record):
            by = DRIVER
        elif not_before is not None and self._seen.now < not_before - self._seen.clock_error:
            by = OTHER
        else:
            by = NOBODY
        self._starts.append(by)
        if record is not None:
            self._wishes.append(note(before.event, "approved_by", {"by": by}))

    # --- what is decided ---

    def _decided(self, sight: Sight) -> Sight:
        """Made once and kept, unless the event or the policy has changed, or its time has gone by unused."""
        if not sight.named or sight.gone:
            return sight
        settings = self._settings_for(sight.event)
        old = sight.decision
        kept = old is not None and still_holds(old, sight.event, policy=self._policy, settings=settings)
        if kept and old is not None and not self._missed_its_time(sight, old):
            return sight
        return replace(sight, decision=self._decide(sight.event, settings))

    def _decide(self, event: Event, settings: Settings) -> Decision:
        limits = sum(handler.limit for handler in self._configuration.applicable(event) if handler.required)
        facts = Facts(self._seen.clock_error, handlers_budget=limits or None)
        return decide(event, policy=self._policy, facts=facts, now=self._seen.now, settings=settings)

    def _missed_its_time(self, sight: Sight, decision: Decision) -> bool:
        """Nothing was begun for it and now it is too late for what was decided; a hold or a long outage was in between."""
        if self._configuration.mode == WATCH:
            return False  # what would have been right is worth more than that nobody did it
        record = self._record(sight.event.event_id)
        idle = record is None or record.state in IDLE
        wanted = decision.start_at is not None and not decision.late
        grace = max(GRACE, _TURNS_OF_GRACE * self._configuration.poll_interval)
        return idle and wanted and decision.times.is_late(self._seen.now - grace)

    @property
    def _configuration(self) -> Configuration:
        return self._seen.configuration

    @property
    def _policy(self) -> Policy:
        return self._configuration.policy

    def _settings_for(self, event: Event) -> Settings:
        """What concerns other VMs as well, a playbook may approve, and nobody here: it would hold for all of them (C-23)."""
        settings = self._configuration.settings
        mode = self._configuration.mode
        barred = mode != PREPARE_AND_APPROVE or is_shared(event) or self._barred(event)
        return replace(settings, approve=False) if barred and mode != WATCH else settings

    def _barred(self, event: Event) -> bool:
        sight = self._sights.get(fold(event.event_id))
        return sight is not None and sight.barred is not None


def _may_be_drivers(record: Record) -> bool:
    """A driver has the host's word, or had it and has said that it posts."""
    sent = record.post is not None and record.post.outcome not in (r.REFUSED, r.NO_EVENT, r.ALREADY_STARTED)
    return sent or (record.state == r.COMMITTED and not is_ours(record))


def _since(sight: Sight, reading: Reading) -> float:
    """Since when documents have lacked it."""
    return reading.asked_at if sight.missing_since is None else sight.missing_since


def _is_certain(sight: Sight, reading: Reading) -> bool:
    """Whether this is the second document, long enough after the first, that has not got it for this VM."""
    return not sight.named or (sight.missing_since is not None and reading.asked_at - sight.missing_since >= GONE_AFTER)
