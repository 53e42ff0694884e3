# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time from the bytes of a document to the filtered events of a result, for documents of different sizes."""

from __future__ import annotations

import json
import statistics
import time
import uuid
from typing import Callable, Dict, List, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import event_result, parse_document
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._selection import Selection

SIZES = (10, 100, 1000, 10000)
# So many events at least are parsed for one figure: below, the clock is too coarse.
LEAST_EVENTS = 2000
NOW = 1793959560.0  # some instant; the events lie after it
TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")


def body_of(events: int) -> bytes:
    """A document as the service writes it; every event has another id and two VMs."""
    entries = [_entry(number) for number in range(events)]
    return json.dumps({"DocumentIncarnation": 7, "Events": entries}).encode()


def _entry(number: int) -> Dict[str, object]:
    return {
        "EventId": str(uuid.UUID(int=number + 1)).upper(),
        "EventStatus": "Scheduled",
        "EventType": TYPES[number % len(TYPES)],
        "ResourceType": "VirtualMachine",
        "Resources": ["web_%d" % number, "web_%d" % (number + 1)],
        "NotBefore": "Sat, 07 Nov 2026 %02d:%02d:%02d GMT" % (number // 3600 % 24, number // 60 % 60, number % 60),
        "Description": "Host server is undergoing maintenance.",
        "EventSource": "Platform",
        "DurationInSeconds": number % 60,
    }


def few_names(_events: int) -> Selection:
    """What a task asks for: the disruptive events of some VMs."""
    return Selection(event_types=("Reboot", "Redeploy"), resources=("web_2", "WEB_7"), starts_within=86400.0, max_duration=600.0)


def many_names(events: int) -> Selection:
    """What a run over a whole inventory asks for: as many names as there are events."""
    return Selection(event_types=TYPES, resources=tuple("WEB_%d" % number for number in range(events)))


def once(body: bytes, selection: Selection) -> int:
    document = parse_document(body, underscored=False)
    chosen = selection.select(document.events, now=NOW, vm_name="web_2")
    return len([event_result(event, queried_at=NOW, vm_name="web_2") for event in chosen])


def measure(filters: Callable[[int], Selection], *, turns: int = 7) -> List[Tuple[int, float]]:
    """The size and the median seconds per event.

    Time of the processor, so that what else the machine does counts less; each turn takes every size, small ones often.
    """
    cases = {size: (body_of(size), filters(size)) for size in SIZES}
    seconds: Dict[int, List[float]] = {size: [] for size in SIZES}
    for _turn in range(turns):
        for size, case in cases.items():
            seconds[size].append(_per_event(size, *case))
    return [(size, statistics.median(values)) for size, values in seconds.items()]


def _per_event(size: int, body: bytes, selection: Selection) -> float:
    repetitions = max(1, LEAST_EVENTS // size)
    began = time.process_time()
    for _repetition in range(repetitions):
        once(body, selection)
    return (time.process_time() - began) / repetitions / size
