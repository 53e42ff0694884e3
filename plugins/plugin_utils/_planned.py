# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan in plain data, as it is published: events, waves, components. Pure.

Private to the collection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..module_utils._decision import Decision
from ..module_utils._document import KNOWN_TYPES, event_result, fold, known_as
from ..module_utils._policy import DISRUPTIONS
from ..module_utils._time import format_instant
from ..module_utils._windows import EARLIEST, LATEST, UTC, say_instant
from ._capacity import EventKey
from ._components import Component
from ._verdicts import HELD, WAVES, Facing, Verdict, window_words
from ._waves import Wave


@dataclass(frozen=True)
class Placed:
    """A verdict in its place. number, component and wave: None where it is in none."""

    verdict: Verdict
    witnesses: Tuple[str, ...]
    number: Optional[int] = None
    component: Optional[str] = None
    wave: Optional[Wave] = None


def key_of(verdict: Verdict) -> str:
    return "|".join(verdict.key)


def allowed_of(verdict: Verdict, facing: Facing) -> List[str]:
    """VMs that may be hit unprepared."""
    return [name for name in verdict.sighting.unmanaged if fold(name) in facing.options.allow_unmanaged]


def entry_of(one: Placed, facing: Facing) -> Dict[str, Any]:
    verdict, sighting, decision = one.verdict, one.verdict.sighting, one.verdict.decision
    event = sighting.event
    begins = verdict.place in (WAVES, HELD)
    return {
        "key": key_of(verdict),
        "event": event_result(event, queried_at=facing.now, vm_name=None),
        "place": verdict.place,
        "reason": _reason(one),
        "rule": decision.rule,
        "action": verdict.action,
        "approves": verdict.approves,
        "prepares": verdict.prepares,
        "hosts": [host.name for host in verdict.hosts],
        "vm_names": _vm_names(verdict),
        "vm_ids": {host.name: host.vm_id for host in verdict.hosts if host.vm_id is not None},
        "unmanaged": list(sighting.unmanaged),
        "known_outside": list(sighting.known_outside),
        "allowed_unready": allowed_of(verdict, facing),
        "realm": {"subscription": sighting.realm[0], "resource_group": sighting.realm[1]},
        "scope": sighting.scope,
        "seen_by": list(sighting.seen_by),
        "notes": list(sighting.notes),
        "start_at": _iso(verdict.start if begins else None),
        "due_at": _iso(verdict.due_at),
        "not_before": _iso(event.not_before),
        "last_safe_start": _iso(verdict.last_safe_start),
        "latest": _iso(verdict.latest if one.wave is None else verdict.must_begin_by(_rounds(one, facing))),
        "budget": _budget(one),
        "clock_error": decision.times.clock_error,
        "needs_deletion": verdict.approves and known_as(event.event_type, KNOWN_TYPES) not in DISRUPTIONS,
        "window": window_words(decision),
        "over_capacity": verdict.over_capacity,
        "late": decision.late,
        "policy_hash": decision.policy_hash,
        "decision": _decision(decision),
        "witnesses": list(one.witnesses),
        "wave": one.number,
        "component": one.component,
    }


def _decision(decision: Decision) -> Dict[str, Any]:
    """What its rule alone has made of it, and what that was counted with; less what stands beside it."""
    opening, times = decision.opening, decision.times
    return {
        "action": decision.action,
        "reason": decision.reason,
        "refused": decision.refused,
        "configuration_error": decision.configuration_error,
        "capped": decision.capped,
        "outside_window": decision.outside_window,
        "want": _iso(decision.want),
        "start_at": _iso(decision.start_at),
        "ready_by": _iso(times.ready_by),
        "window_opens": _iso(None if opening is None else opening.begin),
        "window_closes": _iso(None if opening is None else opening.end),
        "prepare_within": decision.prepare_within,
        "prepare_budget": times.prepare_budget,
        "approve_reserve": times.approve_reserve,
    }


def wave_of(number: int, wave: Wave, guard: Optional[str], placed: Mapping[EventKey, Placed]) -> Dict[str, Any]:
    hosts = [name for component in wave.components for name in component.hosts]
    return {
        "number": number,
        "begin": format_instant(wave.begin),
        "ready": format_instant(wave.ready),
        "after": wave.after,
        "end": format_instant(wave.end),
        "hosts": hosts,
        "guard": guard,
        "batch": hosts if guard is None else [*hosts, guard],
        "components": [_component(component, placed) for component in wave.components],
    }


def shared_witnesses(lists: Sequence[Sequence[str]]) -> List[str]:
    """Who can be one for all events of a component, else for any of them."""
    common = [name for name in lists[0] if all(name in other for other in lists[1:])]
    return common or list(dict.fromkeys(name for names in lists for name in names))


def _component(component: Component, placed: Mapping[EventKey, Placed]) -> Dict[str, Any]:
    members = [placed[verdict.key] for verdict in component.verdicts]
    return {
        "name": members[0].component,
        "hosts": list(component.hosts),
        "events": [key_of(verdict) for verdict in component.verdicts],
        "witnesses": shared_witnesses([one.witnesses for one in members]),
        "approves": any(verdict.approves for verdict in component.verdicts),
        "over_capacity": component.over_capacity,
    }


def _reason(one: Placed) -> str:
    """In a wave its number and its begin come before the reason of the rule."""
    if one.wave is None or one.verdict.place != WAVES:
        return one.verdict.reason
    opening = one.verdict.decision.opening
    begin = say_instant(one.wave.begin, UTC if opening is None else opening.zone)
    return "wave %s at %s: %s" % (one.number, begin, one.verdict.reason.partition(": ")[2])


def _vm_names(verdict: Verdict) -> Dict[str, str]:
    """As Azure writes them in this event."""
    listed = {fold(name): name for name in verdict.sighting.event.resources}
    return {host.name: listed[fold(host.vm_name or "")] for host in verdict.hosts}


def _rounds(one: Placed, facing: Facing) -> int:
    return facing.rounds(len(one.verdict.hosts) if one.wave is None else one.wave.hosts)


def _budget(one: Placed) -> float:
    """What one host may take to get ready."""
    return one.verdict.budget if one.wave is None else one.verdict.time_left(one.wave.begin)


def _iso(instant: Optional[float]) -> Optional[str]:
    """Never is nothing."""
    if instant is None or math.isinf(instant):
        return None
    return format_instant(min(max(instant, EARLIEST), LATEST))
