# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On a host of the lab, in place of agent and playbook: takes one event through its life, from wherever it is, and says what it came to."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, replace

sys.path.insert(0, "/usr/local/lib/azure-event-handlers")

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import published, spool
from azure_event_handlers.paths import Paths
from azure_event_handlers.records import Record

FAR = 4_000_000_000.0
VM = "11111111-0000-4000-8000-000000000000"
PATHS = Paths()
LIMIT = 60.0
# Its word is asked for twice, as by a run whose answer was lost.
COMMITTED_ONCE, LOOKED_AT = "COMMITTED for the first time", "COMMITTED, and looked at once more"


def main(event_id: str) -> int:
    event = Event(event_id, "Reboot", "Scheduled", "Platform", "VirtualMachine", ("vm",), FAR, "", 9)
    driver = {"driver": "playbook", "run": "run 1", "lease": 3600.0}
    prepare = {"event": asdict(event), "vm_id": VM, "times": asdict(Times(FAR, 300.0, 60.0, 5.0)), "within": 300.0, **driver}
    started = replace(event, event_status="Started", not_before=None)
    asked = {
        "": ("prepare", prepare),
        "SEEN": ("prepare", prepare),
        "PREPARED": ("commit", {"event": asdict(event), **driver}),
        COMMITTED_ONCE: ("commit", {"event": asdict(event), **driver}),
        "COMMITTED": ("observe", {"vm_id": VM, "events": [{"event": asdict(started), "named": True}], "gone": []}),
        "IMPACT": ("observe", {"vm_id": VM, "events": [], "gone": [event_id]}),
    }
    # After a boot nobody knows which VM this is until it is told.
    spool.file_request(PATHS.requests, "observe", vm_id=VM, events=[], gone=[])
    end, last, state = time.monotonic() + LIMIT, None, "unknown"
    while time.monotonic() < end:
        status = published.read(PATHS.status)
        if status is None or status.vm_id is None:
            time.sleep(0.02)
            continue
        record = status.find(event_id)
        state = "" if record is None else _state(record)
        if state == "CLOSED":
            print(record.result)
            return 0
        if state in asked and state != last:
            what, values = asked[state]
            name = spool.file_request(PATHS.requests, what, **values)
            last = state
            again = time.monotonic() + 3.0
            while spool.answer_of(PATHS.answers, name) is None and time.monotonic() < again:
                time.sleep(0.02)
            if spool.answer_of(PATHS.answers, name) is None:
                last = None
        time.sleep(0.02)
    print("still %s" % state)
    return 1


def _state(record: Record) -> str:
    if record.state != "COMMITTED":
        return record.state
    if record.committing:
        return LOOKED_AT
    return "COMMITTED" if all(step.check.tries for step in record.steps) else COMMITTED_ONCE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
