# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to find out what Azure has announced for a whole inventory: two questions per scope, or one per host."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping

import playing
from server import Simulator

PLAYBOOK = "cloud_maintenance.azure.rolling_maintenance"
SCOPES, HOSTS_PER_SCOPE = 25, 20
# Azure's inventory knows who a host is, and not with whom it shares a document: that the user says, or nobody.
SCOPED, EVERYBODY = "two hosts of each scope", "every host"
DAY = 86400.0
FORKS = 20
MOST_QUESTIONS = 2
# The role in a play of all hosts, as somebody may have it who composes his own.
OWN_PLAY: List[Mapping[str, Any]] = [
    {
        "name": "Discover",
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {
                "name": "Discover",
                "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.rolling_maintenance", "tasks_from": "discover"},
            }
        ],
    }
]
PLAYED = {"the playbook in check mode": PLAYBOOK, "the role's entry point discover, on all hosts": ""}


@dataclass(frozen=True)
class Cost:
    """Of one run. questions: for a document, in all; most: of those, of one scope."""

    seconds: float
    processor: float
    questions: int
    most: int


def measure() -> Dict[str, Dict[str, Cost]]:
    """By what was played, and by who was asked."""
    with Simulator() as simulator, tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "own.yml").write_text(json.dumps(OWN_PLAY), encoding="utf-8")
        _populate(simulator)
        return {
            title: {who: _cost(simulator, folder, book or str(folder / "own.yml"), scoped=who == SCOPED) for who in (SCOPED, EVERYBODY)}
            for title, book in PLAYED.items()
        }


def _populate(simulator: Simulator) -> None:
    """Each scope has one event, far away: something is to be found, and nothing to be done."""
    for scope in range(SCOPES):
        simulator.add_scope("web%d" % scope, kind="availability_set", vms=_vms(scope))
        simulator.schedule("Reboot", _vms(scope)[-2:], notice=7 * DAY, duration=9)


def _vms(scope: int) -> List[str]:
    return ["web%d_%d" % (scope, number) for number in range(HOSTS_PER_SCOPE)]


def _cost(simulator: Simulator, folder: Path, book: str, *, scoped: bool) -> Cost:
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps(_inventory(simulator, scoped=scoped)), encoding="utf-8")
    earlier = len(_questions(simulator))
    environment = {"ANSIBLE_FORKS": str(FORKS), "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_LOCALHOST_WARNING": "false"}
    arguments = ["-i", str(inventory), book, *(["--check"] if book == PLAYBOOK else [])]
    run = playing.play(folder, arguments, environment)
    asked = _questions(simulator)[earlier:]
    if book == PLAYBOOK and "%d events: 0 in 0 waves, 0 running, %d held" % (SCOPES, SCOPES) not in run.output:
        raise RuntimeError("the plan has not the %d events that there are:\n%s" % (SCOPES, run.output[-2000:]))
    by_scope = Counter(vm.split("_")[0] for vm in asked)
    if len(by_scope) != SCOPES:
        raise RuntimeError("%d of %d scopes were asked" % (len(by_scope), SCOPES))
    most = max(by_scope.values())
    if scoped and most > MOST_QUESTIONS:
        raise RuntimeError("%d questions for the document of one scope, at most %d were wanted" % (most, MOST_QUESTIONS))
    return Cost(run.seconds, run.processor, len(asked), most)


def _questions(simulator: Simulator) -> List[str]:
    """The VMs that have asked for their document."""
    return [str(record.vm) for record in simulator.requests(verb="GET", path="events")]


def _inventory(simulator: Simulator, *, scoped: bool) -> Mapping[str, Any]:
    hosts = {}
    for scope in range(SCOPES):
        for vm in _vms(scope):
            known = {"rolling_maintenance_vm_name": vm, "rolling_maintenance_endpoint": simulator.endpoint(vm)}
            hosts[vm] = {**known, **({"rolling_maintenance_scope": "web%d" % scope} if scoped else {})}
    whole = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "rolling_maintenance_resource_group": "rg",
        "rolling_maintenance_subscription": "sub",
    }
    return {"all": {"hosts": hosts, "vars": whole}}
