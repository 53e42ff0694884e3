# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs a host to be watched over, by us and by others, and how soon a handler runs."""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import environments
import resource_agent
import system
from accounts import Account, Reading
from lab import Host, Lab, LabError
from lab.ansible import Controller
from lab.guarded import Guarded
from lab.waiting import until

ROOT = Path(__file__).resolve().parents[2]
WATCHING, APPROVING, AGENT_OF_DEBIAN, POLLER, NOBODY = (
    "ours, mode watch",
    "ours, mode prepare_and_approve",
    "azure-events-az every 10 s",
    "smallest poller",
    "nobody",
)
# Hosts of one lab, measured in the same minute, so that what else the machine does falls on all.
SEATS = {WATCHING: "frontend1", APPROVING: "frontend2", AGENT_OF_DEBIAN: "worker1", POLLER: "worker2", NOBODY: "bastion"}
SHARED = ((WATCHING, APPROVING), (AGENT_OF_DEBIAN, POLLER))
OUR_UNITS = ("azure-event-agent.service", "azure-event-executor.service")
ALL_UNITS = (*OUR_UNITS, "azure-event-executor.path")
HANDLER = "10-service"
NOTICE = 3600
# What was prepared at once has been written down by then, and the executor of a host where nothing is to be done has ended.
SETTLED = 25.0
BETWEEN_LOOKS = 0.1
CACHE = ROOT / ".cache" / "bench"

# Pacemaker starts a resource agent so. Its commands are there in name only, and answer at once.
_ENVIRONMENT = "export PATH=/opt/cluster:$PATH OCF_ROOT=/usr/lib/ocf OCF_RESOURCE_INSTANCE=events OCF_RESKEY_CRM_meta_interval=10000"
_INSTALL = """
set -e
cp -r '{root}/{top}' /usr/lib/ocf
mkdir -p /opt/cluster
for name in crm_attribute crm_resource crm_simulate; do ln -sf /bin/true /opt/cluster/$name; done
printf '#!/bin/sh\\necho "1 {host} member"\\n' > /opt/cluster/crm_node
chmod 755 /opt/cluster/crm_node
{environment}
/{program} monitor
"""
_AS_PACEMAKER = "%s; while :; do /%s monitor; sleep 10; done" % (_ENVIRONMENT, resource_agent.PROGRAM)
_RULES = {"event_types": ["Freeze", "Reboot", "Redeploy"], "start": "now"}
_BUDGETS = {"prepare_budget": "30s", "approve_reserve": "5s", "recover_budget": "5s"}


@dataclass(frozen=True)
class Cost:
    """Of one host in one minute: memory in MiB, processor in seconds; whole is that of the host with all that is on it."""

    memory: float
    most_memory: float
    processor: float
    whole: float
    requests: float
    processes: float


@dataclass(frozen=True)
class Costs:
    """By watcher, without an event and with one. latencies: seconds. missing: why azure-events-az could not be measured."""

    idle: Mapping[str, Cost]
    busy: Mapping[str, Cost]
    latencies: Sequence[float]
    missing: Optional[str]


def measure(*, seconds: float, samples: int) -> Costs:
    try:
        system.prepare_lab()
        with Lab(hosts=len(SEATS), binds=[_cache(), ROOT / "tests" / "bench"]) as lab:
            return _Bench(lab).measure(seconds, samples)
    except (LabError, environments.Missing) as problem:
        raise RuntimeError(str(problem)) from problem


def _cache() -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE


class _Bench:
    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._hosts = {watcher: lab.hosts[name] for watcher, name in SEATS.items()}
        self._guarded = {watcher: Guarded(lab, host) for watcher, host in self._hosts.items() if watcher != NOBODY}

    def measure(self, seconds: float, samples: int) -> Costs:
        self._install()
        latencies = self._latencies(samples)
        missing = self._seat()
        time.sleep(SETTLED)
        idle = self._minute(seconds, missing)
        for pair in SHARED:
            # Of both hosts, so that it is prepared and not approved: it stays for the whole minute.
            self._lab.schedule("Reboot", *(self._hosts[watcher] for watcher in pair), notice=NOTICE)
        time.sleep(SETTLED)
        busy = self._minute(seconds, missing)
        self._check()
        return Costs(idle, busy, latencies, missing)

    def _install(self) -> None:
        role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers"}}
        with tempfile.TemporaryDirectory() as folder:
            controller = Controller(self._lab, "newest", Path(sys.executable).parent, Path(folder))
            hosts = ",".join(host.host.name for host in self._guarded.values())
            played = controller.play([role], hosts=hosts, ansible_become=True, event_handlers_mode="watch", timeout=300)
        if played.code != 0:
            raise LabError("the role cannot be installed:\n%s" % played.output[-2000:])
        for guarded in self._guarded.values():
            guarded.install(HANDLER)

    # --- how soon a handler runs ---

    def _latencies(self, samples: int) -> List[float]:
        """On one host after the other, each of them at rest."""
        for guarded in self._guarded.values():
            guarded.configure(mode="prepare", rules=[{"name": "all", "action": "prepare", **_RULES}], **_BUDGETS)
        guarded_hosts = list(self._guarded.values())
        last: Dict[int, Any] = {}
        found: List[float] = []
        for number in range(samples):
            seat = number % len(guarded_hosts)
            guarded = guarded_hosts[seat]
            if seat in last:
                guarded.wait(last[seat], "CLOSED")
            guarded.wait_for(guarded.executor_rests, timeout=60)
            time.sleep(random.random())
            event = last[seat] = self._lab.schedule("Reboot", guarded.host, notice=NOTICE)
            found.append(_until_handled(guarded, time.time()))
            guarded.wait(event, "PREPARED")
            event.cancel()
        for seat, event in last.items():
            guarded_hosts[seat].wait(event, "CLOSED")
        return found

    # --- what it costs ---

    def _seat(self) -> Optional[str]:
        """Each watcher on its host; the reason if one of them is not to be had."""
        self._guarded[WATCHING].configure(mode="watch", **_BUDGETS)
        rules = [{"name": "all", "action": "prepare_and_approve", **_RULES}]
        self._guarded[APPROVING].configure(mode="prepare_and_approve", rules=rules, **_BUDGETS)
        for watcher in (AGENT_OF_DEBIAN, POLLER):
            self._hosts[watcher].run("systemctl", "disable", "--now", *ALL_UNITS)
        for watcher in (WATCHING, APPROVING):
            # Another life than the one that has just lived through all these events.
            self._hosts[watcher].run("systemctl", "restart", OUR_UNITS[0])
        _start(self._hosts[POLLER], "/usr/bin/python3", "-I", str(ROOT / "tests" / "bench" / "small_poller.py"))
        try:
            root = resource_agent.fetch(CACHE)
        except resource_agent.NotThere as problem:
            return str(problem)
        host = self._hosts[AGENT_OF_DEBIAN]
        names = {"root": root, "top": resource_agent.TOP, "program": resource_agent.PROGRAM, "host": host.plan.host_name}
        host.shell(_INSTALL.format(environment=_ENVIRONMENT, **names))
        _start(host, "/bin/sh", "-c", _AS_PACEMAKER)
        return None

    def _accounts(self, missing: Optional[str]) -> Dict[str, Account]:
        services = {WATCHING: OUR_UNITS, APPROVING: OUR_UNITS, NOBODY: ()}
        return {
            watcher: Account(self._lab, host, services.get(watcher, ("watcher.service",)), without=("sh", "sleep"))
            for watcher, host in self._hosts.items()
            if not (watcher == AGENT_OF_DEBIAN and missing)
        }

    def _minute(self, seconds: float, missing: Optional[str]) -> Dict[str, Cost]:
        accounts = self._accounts(missing)
        began, before = time.time(), {watcher: account.read() for watcher, account in accounts.items()}
        while time.time() < began + seconds:
            for account in accounts.values():
                account.look_at_memory()
            time.sleep(BETWEEN_LOOKS)
        ended, after = time.time(), {watcher: account.read() for watcher, account in accounts.items()}
        per_minute = 60.0 / (ended - began)
        costs = {}
        for watcher, account in accounts.items():
            asked = sum(1 for request in self._lab.requests(self._hosts[watcher]) if began <= request["at"] < ended)
            costs[watcher] = _cost(account, before[watcher], after[watcher], asked, per_minute)
        return costs

    def _check(self) -> None:
        """That what was measured did what it should."""
        states = {watcher: [one["state"] for one in self._guarded[watcher].status()["records"][:1]] for watcher in (WATCHING, APPROVING)}
        if states != {WATCHING: ["SEEN"], APPROVING: ["PREPARED"]}:
            raise LabError("the event was not handled as it should: %s" % states)


def _cost(account: Account, before: Reading, after: Reading, asked: int, per_minute: float) -> Cost:
    return Cost(
        memory=statistics.fmean(account.memory),
        most_memory=max(account.memory),
        processor=(after.services - before.services) * per_minute,
        whole=(after.whole - before.whole) * per_minute,
        requests=asked * per_minute,
        processes=(after.last_process - before.last_process) * per_minute,
    )


def _start(host: Host, *command: str) -> None:
    host.run("systemd-run", "--quiet", "--unit=watcher", "--property=StandardOutput=journal", *command)


def _until_handled(guarded: Guarded, since: float) -> float:
    """Until the first line that a handler writes of itself, by the same clock."""

    def begun() -> List[float]:
        return [run.begin for run in guarded.runs("inspect", "prepare") if run.begin > since]

    time.sleep(1.5)  # looking too costs, so it comes after most samples
    until(lambda: bool(begun()), timeout=30.0, pause=0.5)
    return min(begun()) - since


def median_and_worst(values: Sequence[float]) -> Tuple[float, float]:
    return statistics.median(values), max(values)
