# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts, their answers and their states as the modules return them, and the options of a run: what the tests of planning are made of."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import event_result
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import ANSWER, STATUS, Host, event_of, fleet_of, hosts_of
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import Options, convert, options_of
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._sightings import Sighting, sightings
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._verdicts import Facing, Verdict, verdicts
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import BERLIN, DAY, HOUR, utc

NOW = float(utc("2026-11-18 09:00"))
# In an hour. With the defaults: ready by 9:58:30, last safe start 9:53:30; without an approval 9:59:30 and 9:54:30.
NB = NOW + HOUR
REALM = ("5ub", "rg")
KEY = ("e1", *REALM)

AT_ONCE = {"name": "at once", "event_types": ["Freeze", "Reboot", "Redeploy"], "action": "prepare_and_approve", "start": "now"}


def event(event_id: str = "E1", names: str = "web_0", not_before: Optional[float] = NB, **fields: Any) -> Dict[str, Any]:
    """As azure_scheduled_events_info returns it. names: of VMs, with blanks between them."""
    started = fields.get("event_status", "Scheduled").lower() == "started"
    values: Dict[str, Any] = {
        "event_id": event_id,
        "event_type": "Reboot",
        "event_status": "Scheduled",
        "event_source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": names.split(),
        "not_before": None if not_before is None or started else format_instant(not_before),
        "description": "",
        "duration_seconds": 9,
        **fields,
    }
    return event_result(event_of(values), queried_at=NOW, vm_name=None)


def vm(name: str, *, group: str = "RG", **fields: Any) -> Dict[str, Any]:
    """Who a host says that it is."""
    plain = {
        "name": name,
        "resource_group": group,
        "subscription_id": "5UB",
        "vm_id": "id of %s" % name,
        "placement_group_id": "",
        "zone": "",
    }
    return {**plain, **fields}


def answer(*events: Mapping[str, Any], who: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """The result of azure_scheduled_events_info."""
    return {
        "changed": False,
        "failed": False,
        "events": list(events),
        "document_incarnation": 7,
        "document": {"DocumentIncarnation": 7, "Events": []},
        "queried_at": format_instant(NOW),
        "vm": who,
    }


def record(state: str, event_id: str = "E1", **fields: Any) -> Dict[str, Any]:
    """One of the records in the result of azure_event_handlers."""
    return {
        "event": event(event_id),
        "state": state,
        "open": state not in ("CLOSED", "FOREIGN"),
        "attempt": 1,
        "driver": None,
        "started_at": None,
        "reason": "10-pool: exit code 1",
        **fields,
    }


def driver(name: str = "playbook", run: str = "other", until: float = NOW + 600) -> Dict[str, Any]:
    return {"name": name, "run": run, "lease_until": format_instant(until)}


def hold(until: float = NOW + HOUR, reason: str = "") -> Dict[str, Any]:
    return {"by": "ann", "until": format_instant(until), "reason": reason}


def handler(name: str = "10-pool", **fields: Any) -> Dict[str, Any]:
    return {
        "name": name,
        "event_types": ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"],
        "limit": 60.0,
        "required": True,
        **fields,
    }


def status(*records: Mapping[str, Any], clock_difference: Optional[float] = 0.1, **fields: Any) -> Dict[str, Any]:
    """The result of azure_event_handlers without a request."""
    plain = {
        "vm_id": None,
        "mode": "watch",
        "allow_empty_prepare": False,
        "agent_seen_at": format_instant(NOW),
        "agent_good_since": format_instant(NOW - DAY),
        "handlers_configured": [handler()],
        "hold": None,
        "problems": [],
        "broken": [],
        "records": list(records),
    }
    return {
        "changed": False,
        "failed": False,
        "state": None,
        "handlers": [],
        "status": {**plain, **fields},
        "clock_difference": clock_difference,
    }


UNREACHABLE = {"unreachable": True, "changed": False, "msg": "Failed to connect to the host via ssh: no route to host"}


def failed(message: str) -> Dict[str, Any]:
    return {"failed": True, "changed": False, "msg": message}


def listed(name: str, *, group: str = "RG", **variables: Any) -> Dict[str, Any]:
    """The variables of a host that is known from Azure's inventory."""
    path = "/subscriptions/5UB/resourceGroups/%s/providers/Microsoft.Compute/virtualMachines/%s" % (group, name)
    return {"id": path, "name": name, "group_names": ["web"], **variables}


def heard(name: str, *events: Mapping[str, Any], **more: Any) -> Dict[str, Any]:
    """The variables of one that has answered, and perhaps said its state."""
    variables: Dict[str, Any] = {**listed(name), ANSWER: answer(*events, who=vm(name))}
    told = more.pop("status", None)
    return {**variables, **more} if told is None else {**variables, STATUS: told, **more}


def hosts(hostvars: Mapping[str, Mapping[str, Any]], *, outside: Sequence[str] = ()) -> Tuple[Host, ...]:
    """outside: who is in the inventory and not in this run."""
    names = list(hostvars)
    return hosts_of(fleet_of(hostvars, names, in_run=[name for name in names if name not in outside], before=None, groups=None))


def seen(hostvars: Mapping[str, Mapping[str, Any]], *, outside: Sequence[str] = ()) -> Tuple[Sighting, ...]:
    return sightings(hosts(hostvars, outside=outside))


def options(**given: Any) -> Options:
    return options_of(convert(given), {"Europe/Berlin": BERLIN})


def facing(now: float = NOW, forks: int = 5, **given: Any) -> Facing:
    return Facing(options(**given), now, forks)


def judged(hostvars: Mapping[str, Mapping[str, Any]], run: Optional[Facing] = None, *, outside: Sequence[str] = ()) -> Tuple[Verdict, ...]:
    return verdicts(seen(hostvars, outside=outside), run or facing())


def verdict(run: Optional[Facing] = None, **fields: Any) -> Verdict:
    """About one event of one host, web_0, whose handlers may take as long as is usual."""
    slow = status(handlers_configured=[handler(limit=300.0)])
    (found,) = judged({"h0": heard("web_0", event(**fields), status=slow)}, run)
    return found
