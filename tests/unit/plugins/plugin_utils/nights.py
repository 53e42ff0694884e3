# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan with one wave, and what its hosts report while it is carried out, as the modules and the role have it."""

from __future__ import annotations

import copy
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant, parse_instant
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils import _outcomes, _votes
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._told import OF_A_GATE, OF_AN_OUTCOME, told

NOW = parse_instant("2026-11-18T09:46:00Z") or 0.0
NOT_BEFORE = "2026-11-18T10:00:00Z"
DRIVER, RUN = "playbook", "4711"
OPTIONS: Mapping[str, Any] = {"driver": DRIVER, "run_id": RUN, "approve_reserve": 60.0, "max_unavailable": 1, "min_available": 1}
REALM = {"subscription": "sub", "resource_group": "fleet"}
STARTS = "Azure starts it at Wed 2026-11-18 10:00 UTC"


def at(seconds: float) -> str:
    """So long after now."""
    return format_instant(NOW + seconds)


def key_of(event_id: str) -> str:
    return "%s|sub|fleet" % event_id.lower()


def event(event_id: str, hosts: str, **changes: Any) -> Dict[str, Any]:
    """As every result shows it. Hosts are known to Azure as vm-NAME."""
    return {
        "event_id": event_id,
        "event_type": "Reboot",
        "event_status": "Scheduled",
        "event_source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": ["vm-%s" % name for name in hosts.split()],
        "not_before": NOT_BEFORE,
        "seconds_to_not_before": 840,
        "description": "",
        "duration_seconds": 9,
        "affects_this_vm": None,
        **changes,
    }


def entry(event_id: str, hosts: str, **changes: Any) -> Dict[str, Any]:
    """Of a plan. changes of the event itself are in `event`."""
    shown = event(event_id, hosts, **changes.pop("event", {}))
    return {
        "key": key_of(event_id),
        "event": shown,
        "place": "waves",
        "reason": "due now: rule at once; last safe start Wed 2026-11-18 09:53:30 UTC",
        "rule": "at once",
        "action": "prepare_and_approve",
        "approves": True,
        "prepares": True,
        "hosts": hosts.split(),
        "vm_names": {name: "vm-%s" % name for name in hosts.split()},
        "unmanaged": [],
        "known_outside": [],
        "allowed_unready": [],
        "realm": REALM,
        "scope": "scope one",
        "seen_by": hosts.split(),
        "notes": [],
        "start_at": at(0),
        "due_at": None,
        "not_before": shown["not_before"],
        "last_safe_start": "2026-11-18T09:53:30Z",
        "latest": "2026-11-18T09:53:30Z",
        "budget": 300.0,
        "clock_error": 30.0,
        "needs_deletion": False,
        "window": None,
        "over_capacity": False,
        "late": False,
        "policy_hash": "5e3f",
        "decision": {"action": "prepare_and_approve", "want": at(0), "ready_by": "2026-11-18T09:58:30Z", "approve_reserve": 60.0},
        "witnesses": ["idle1"],
        "wave": 1,
        "component": "1.1",
        **changes,
    }


PREPARE_ONLY = {"action": "prepare", "approves": False}
APPROVE_ONLY = {"action": "approve", "prepares": False, "budget": 0.0}


def status(records: Sequence[Mapping[str, Any]] = (), *, ahead: Optional[float] = 0.3, **changes: Any) -> Dict[str, Any]:
    """A result of azure_event_handlers."""
    shown = {
        "vm_id": "5c08b38e",
        "mode": "watch",
        "allow_empty_prepare": False,
        "agent_seen_at": at(-2),
        "agent_good_since": at(-9000),
        "hold": None,
        "problems": [],
        "broken": [],
        "records": list(records),
        "handlers_configured": [],
        **changes,
    }
    return {"changed": False, "failed": False, "status": shown, "clock_difference": ahead}


def record(event_id: str, state: str, *, driver: Optional[Mapping[str, Any]] = None, **changes: Any) -> Dict[str, Any]:
    """Of a host's status."""
    return {
        "event": event(event_id, "web1"),
        "state": state,
        "open": state not in ("CLOSED", "FOREIGN"),
        "attempt": 1,
        "driver": driver,
        "started_at": None,
        "last_seen": at(15),
        "changed_at": at(20),
        "reason": "every handler is done",
        **changes,
    }


def answered(request: str, event_id: str, verdict: str, state: str, **changes: Any) -> Dict[str, Any]:
    """The result of one request."""
    good = verdict in ("ready", "committed")
    return {
        "changed": True,
        "failed": False,
        "ok": good,
        "verdict": verdict,
        "message": "This host is ready." if good else "This host is %s: 10-pool has failed." % state,
        "asked": ["/usr/local/sbin/azure-event-handlers", "request", request, event_id, "--json", "--driver=playbook", "--run-id=4711"],
        "state": state,
        "handlers": [],
        "status": status([record(event_id, state)])["status"],
        **changes,
    }


UNREACHABLE = {"unreachable": True, "changed": False, "msg": "Failed to connect to the host via ssh"}
SKIPPED = {"skipped": True, "changed": False, "skip_reason": "Conditional result was False"}


class Night:
    """A plan of one wave with one component, unless it is told otherwise, and the hosts as they are before it begins."""

    def __init__(self, *entries: Mapping[str, Any], components: Optional[Mapping[str, Sequence[str]]] = None, out: Any = None) -> None:
        """components: by their names the ids of their events."""
        self.entries: Dict[str, Dict[str, Any]] = {str(one["key"]): dict(one) for one in entries}
        # As Azure announces them, whatever becomes of the plan.
        self.document = {key: copy.deepcopy(one["event"]) for key, one in self.entries.items()}
        given = components or {"1.1": [one["event"]["event_id"] for one in entries]}
        parts = [self._component(name, [key_of(event_id) for event_id in ids]) for name, ids in given.items()]
        hosts = sorted({name for part in parts for name in part["hosts"]})
        self.wave: Dict[str, Any] = {
            "number": 1,
            "begin": at(0),
            "ready": at(300),
            "after": 1500.0,
            "end": at(1800),
            "hosts": hosts,
            "guard": "idle1",
            "batch": [*hosts, "idle1"],
            "components": parts,
        }
        everybody = sorted({*hosts, *(name for one in entries for name in one["hosts"]), "idle1"})
        self.plan: Dict[str, Any] = {
            "digest": "ab" * 32,
            "made_at": at(-5),
            "policy_hash": "5e3f",
            "events": list(self.entries.values()),
            "waves": [self.wave],
            "due_next": None,
            "due_next_event": None,
            "blind": [],
            "conflicts": [],
            "changed": None,
            "capacity": {
                "limits": [{"name": "", "hosts": 10, "most_out": len(hosts), "least_in": 1}],
                "groups": {name: [0] for name in everybody},
                "out": out or {},
            },
            "counts": {"waves": 1, "held": 0, "refused": 0, "running": 0, "left": 0},
        }
        self.options: Dict[str, Any] = dict(OPTIONS)
        self.now = NOW
        shown = [one["event"] for one in self.entries.values()]
        self.hostvars: Dict[str, Any] = {name: {"group_names": ["web"]} for name in everybody}
        for name in hosts:
            self.hostvars[name].update(rolling_maintenance__answer=self.answer(shown), rolling_maintenance__status=status())
        self.hostvars["localhost"] = {"rolling_maintenance__open": [], "rolling_maintenance__stop": ""}

    def _component(self, name: str, keys: List[str]) -> Dict[str, Any]:
        mine = [self.entries[key] for key in keys]
        return {
            "name": name,
            "hosts": sorted({host for one in mine for host in one["hosts"]}),
            "events": keys,
            "witnesses": ["idle1"],
            "approves": any(one["approves"] for one in mine),
            "over_capacity": False,
        }

    def answer(self, events: Sequence[Mapping[str, Any]], seconds: float = -3.0) -> Dict[str, Any]:
        """The document, as a host was shown it so long after now."""
        return {
            "changed": False,
            "failed": False,
            "events": copy.deepcopy(list(events)),
            "document_incarnation": 7,
            "document": {},
            "queried_at": at(seconds),
            "vm": {"name": "vm", "vm_id": "5C08B38E"},
        }

    def tell(self, name: str, **facts: Any) -> None:
        """The host reports: answer, status, prepared and so on, without the prefix."""
        self.hostvars[name].update({"rolling_maintenance__%s" % key: value for key, value in facts.items()})

    def show(self, **changes: Any) -> None:
        """Every host is shown its events so."""
        for name in self.wave["hosts"]:
            self.tell(name, answer=self.answer([{**one["event"], **changes} for one in self.entries.values()]))

    def get_ready(self, *, ids: Optional[Sequence[str]] = None) -> None:
        """Every host says that it is ready for each of its events."""
        self._say("prepared", "prepare", "ready", "PREPARED", ids)

    def give_word(self) -> None:
        self.get_ready()
        self._say("committed", "commit", "committed", "COMMITTED", None)

    def _say(self, fact: str, request: str, verdict: str, state: str, ids: Optional[Sequence[str]]) -> None:
        for key, one in self.entries.items():
            event_id = one["event"]["event_id"]
            for name in one["hosts"] if ids is None or event_id in ids else ():
                said = self.hostvars[name].setdefault("rolling_maintenance__%s" % fact, {})
                said[key] = answered(request, event_id, verdict, state)

    def gate(self, step: str, **more: Any) -> Dict[str, Dict[str, Any]]:
        names = _votes.hosts_of_wave(self.wave, self.plan, more.get("counted"))
        reports = told(self.hostvars, names, OF_A_GATE)
        return _votes.gate(self.wave, plan=self.plan, options=self.options, told=reports, now=self.now, step=step, **more)

    def remember(self, step: str, **more: Any) -> Dict[str, Dict[str, Any]]:
        """The verdict, which every host keeps."""
        verdicts = self.gate(step, **more)
        for name in self.wave["hosts"]:
            self.tell(name, gate=verdicts)
        return verdicts

    def outcome(self, *, final: bool = True, check: bool = False) -> Dict[str, Any]:
        reports = told(self.hostvars, _outcomes.hosts_of_plan(self.plan), OF_AN_OUTCOME)
        return _outcomes.outcome(self.plan, options=self.options, told=reports, now=self.now, final=final, check=check)
