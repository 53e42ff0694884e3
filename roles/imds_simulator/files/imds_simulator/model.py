# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The things the fabric is made of: VMs, scopes, events, and the feature that a first call switches on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, List, Mapping, Optional, Tuple

from . import contract
from .contract import Page, Shown

SINGLE = "single"
AVAILABILITY_SET = "availability_set"
SCALE_SET = "scale_set"
CLOUD_SERVICE = "cloud_service"
SCOPE_KINDS = (AVAILABILITY_SET, SCALE_SET, CLOUD_SERVICE, SINGLE)

PLANNED = "planned"
GONE = "gone"

# Enough to look minutes back in a scope that changes every second, without growing for ever.
PAGES_KEPT = 256

DEFAULT_RESOURCE_GROUP = "rehearsal"
DEFAULT_SUBSCRIPTION = "00000000-0000-4000-8000-000000000000"
DEFAULT_LOCATION = "westeurope"


# Compared by identity: two of a kind with the same content are still two.
@dataclass(eq=False, repr=False)
class Feature:
    """C-7: what a call switches on, for a scope or for one zone of it; it has the incarnation and what was shown."""

    scope: Scope
    switched_on_at: Optional[float] = None
    last_call: float = 0.0
    ready_at: float = 0.0
    events_from: float = 0.0
    incarnation: int = contract.FIRST_INCARNATION
    pages: Deque[Page] = field(default_factory=lambda: deque(maxlen=PAGES_KEPT))
    bodies: Dict[str, bytes] = field(default_factory=dict)

    def is_on(self, now: float) -> bool:
        return self.switched_on_at is not None and now - self.last_call < contract.OFF_AFTER

    def page(self) -> Page:
        return self.pages[-1]

    def page_at(self, instant: float) -> Page:
        for page in reversed(self.pages):
            if page.at <= instant:
                return page
        return self.pages[0]

    def page_of(self, revision: int) -> Page:
        for page in reversed(self.pages):
            if page.revision <= revision:
                return page
        return self.pages[0]


@dataclass(eq=False, repr=False)
class VM:
    """One virtual machine. `key` is its name in the simulator, `name` its Azure name (unique per resource group only, C-20)."""

    key: str
    name: str
    scope: Scope
    created_at: float
    zone: str = ""
    resource_group: str = DEFAULT_RESOURCE_GROUP
    address: str = ""
    generation: int = 1
    compute: Mapping[str, Any] = field(default_factory=dict)
    missing_for: float = 0.0
    incomplete_for: float = 0.0

    def feature(self) -> Feature:
        return self.scope.features[self.zone if self.scope.per_zone else ""]


@dataclass(eq=False, repr=False)
class Scope:
    """C-21: the VMs that see, and may approve, the same events."""

    name: str
    kind: str
    blind: bool = False  # told of itself only: a GPU scale set with one fault domain
    per_zone: bool = False  # C-7: switched on zone by zone
    auto_approve: Tuple[str, ...] = ()
    terminate_notice: float = contract.NOTICE[contract.TERMINATE]
    scale_set: str = ""
    flexible: bool = False
    vms: Dict[str, VM] = field(default_factory=dict)
    features: Dict[str, Feature] = field(default_factory=dict)
    events: Dict[str, Event] = field(default_factory=dict)
    shown: Dict[str, Shown] = field(default_factory=dict)  # those of them that are announced


@dataclass(eq=False, repr=False)
class Event:
    """One event and its whole life. `state` goes from planned over Scheduled and Started to gone, and never back (C-15)."""

    event_id: str
    event_type: str
    scope: Scope
    vms: Tuple[VM, ...]
    spelled: Tuple[str, ...]  # the names as they are shown
    source: str
    description: str
    duration: int
    announced_at: float
    not_before: float
    runs_for: Optional[float]
    start_delay: float = 0.0
    late: float = 0.0
    stuck: bool = False
    at_once: bool = False
    shown_status: Optional[str] = None
    extra: Tuple[Tuple[str, Any], ...] = ()
    state: str = PLANNED
    approved_at: Optional[float] = None
    approved_by: Optional[str] = None
    start_at: Optional[float] = None
    ends_at: Optional[float] = None
    started_at: Optional[float] = None
    gone_at: Optional[float] = None
    outcome: Optional[str] = None  # completed | cancelled | deleted

    def __repr__(self) -> str:
        return "<%s %s %s of %s>" % (self.state, self.event_type, self.event_id, ", ".join(self.spelled))

    @property
    def status(self) -> str:
        return self.state

    @property
    def resources(self) -> List[str]:
        return list(self.spelled)

    def names(self, vm: VM) -> bool:
        return any(named is vm for named in self.vms)

    def show(self) -> Shown:
        """What is shown of it, until the next change."""
        return Shown(
            event_id=self.event_id,
            event_type=self.event_type,
            status=self.shown_status or self.state,
            source=self.source,
            resources=self.spelled,
            not_before=self.not_before if self.state == contract.SCHEDULED else None,
            description=self.description,
            duration=self.duration,
            extra=self.extra,
            keys=tuple(vm.key for vm in self.vms),
        )

    def as_dict(self) -> Dict[str, Any]:
        return {
            "event_id": self.event_id,
            "event_type": self.event_type,
            "state": self.state,
            "source": self.source,
            "scope": self.scope.name,
            "resources": list(self.spelled),
            "vms": [vm.key for vm in self.vms],
            "description": self.description,
            "duration": self.duration,
            "announced_at": self.announced_at,
            "not_before": self.not_before,
            "approved_at": self.approved_at,
            "approved_by": self.approved_by,
            "start_at": self.start_at,
            "started_at": self.started_at,
            "ends_at": self.ends_at,
            "gone_at": self.gone_at,
            "outcome": self.outcome,
        }


@dataclass(frozen=True)
class Notice:
    """Something that happened to an event, for hooks: `start`, `end` (completed) or `cancel`."""

    phase: str
    at: float
    event: Mapping[str, Any]
