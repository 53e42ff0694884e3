# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a wave of the playbook costs when the hosts have nothing to do, beside the smallest playbook that a person would write."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import environments
import system
from lab import Lab, LabError
from lab.ansible import CALLBACKS, Controller

PLAYBOOK = "cloud_maintenance.azure.rolling_maintenance"
OURS, SMALLEST = "rolling_maintenance", "uri GET, uri POST, uri until gone, wait_for_connection"
# Of one scope: one Reboot hits two of them, and the third one can see it.
HIT, WITNESS = ("frontend1", "frontend2"), "frontend3"
HOSTS = 7  # the smallest lab that has them
NOTICE = 4 * 3600.0
LIMIT = 240.0
# From the post to Started. Whoever posts from a host that is hit would else not hear the answer.
START_DELAY = 3.0
# Between two good answers without the event (_watch.GONE_AFTER).
GONE_AFTER = 10.0
NOTHING = '#!/bin/sh\n[ "$1" = inspect ] && exit 2\nexit 0\n'
OPTIONS: Mapping[str, Any] = {
    "hosts": ":".join((*HIT, WITNESS)),
    "rules": [{"name": "at once", "action": "prepare_and_approve", "start": "now"}],
    "max_unavailable": 2,
    "prepare_budget": "60s",
    "approve_reserve": "10s",
    "recover_budget": "30s",
    # A pause between waves; there is only one.
    "settle": "0s",
}
EVENTS_URL = "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"
_ASKED = {"url": EVENTS_URL, "headers": {"Metadata": "true"}, "use_proxy": False, "return_content": True}
_SMALL_PLAY = [
    {
        "name": "The smallest playbook",
        "hosts": ":".join(HIT),
        "gather_facts": False,
        "tasks": [
            {"name": "See what is announced", "ansible.builtin.uri": _ASKED, "register": "seen"},
            {
                "name": "Tell Azure to go ahead",
                "ansible.builtin.uri": {
                    **_ASKED,
                    "method": "POST",
                    "body_format": "json",
                    "body": {"StartRequests": [{"EventId": "{{ seen.json.Events[0].EventId }}"}]},
                },
                "run_once": True,
            },
            {
                "name": "See it go",
                "ansible.builtin.uri": _ASKED,
                "register": "left",
                "until": "left.json.Events | length == 0",
                "retries": 200,
                "delay": 1,
                "delegate_to": WITNESS,
                "run_once": True,
            },
            {"name": "Wait for the hosts", "ansible.builtin.wait_for_connection": {"sleep": 1}},
        ],
    }
]
# Answers that are asked for once more because things may have changed, and for the states of the hosts. By play and task; the first look of
# all, which the smallest playbook has as well, is none of them.
_IN_A_WAVE = "Maintain, wave by wave"
SAFETY_READS = (
    ("Ask the hosts concerned", "Ask what is known and done on the host"),
    (_IN_A_WAVE, "Ask what Azure announces"),
    (_IN_A_WAVE, "Ask others what is known and done there"),
    ("Look again", "Ask what Azure announces"),
)


@dataclass(frozen=True)
class Spent:
    """Seconds of one run, by play and task in the order of their first time; how often each came."""

    whole: float
    start: float
    tasks: Mapping[Tuple[str, str], float]
    times: Mapping[Tuple[str, str], int]

    @property
    def reads(self) -> Dict[str, float]:
        found = {"%s (%s)" % (task, play): seconds for (play, task), seconds in self.tasks.items() if (play, task) in SAFETY_READS}
        return {**found, "a second good answer without the event": GONE_AFTER}

    @property
    def without_reads(self) -> float:
        return self.whole - sum(self.reads.values())


@dataclass(frozen=True)
class Costs:
    """Of each round. events: seconds from the post until it was gone, which both wait for."""

    ours: Sequence[Spent]
    smallest: Sequence[Spent]
    events: Mapping[str, Sequence[float]]

    def ratio(self, *, reads: bool) -> float:
        """The median of the rounds' ratios: the two runs of one round are neighbours in time."""
        pairs = zip(self.ours, self.smallest)
        return statistics.median((one.whole if reads else one.without_reads) / other.whole for one, other in pairs)


def measure(rounds: int) -> Costs:
    try:
        system.prepare_lab()
        with Lab(hosts=HOSTS) as lab, tempfile.TemporaryDirectory(prefix="bench-") as folder:
            return _Bench(lab, Path(folder)).measure(rounds)
    except (LabError, environments.Missing) as problem:
        raise RuntimeError(str(problem)) from problem


class _Bench:
    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        self._folder = folder
        self._controller = Controller(lab, "newest", Path(sys.executable).parent, folder)
        self._events: Dict[str, List[float]] = defaultdict(list)

    def measure(self, rounds: int) -> Costs:
        self._install()
        small = self._folder / "small.json"
        small.write_text(json.dumps(_SMALL_PLAY), encoding="utf-8")
        options = {"rolling_maintenance_" + name: value for name, value in OPTIONS.items()}
        options["rolling_maintenance_evidence_dir"] = str(self._folder / "evidence")
        ours, smallest = [], []
        for _round in range(rounds):
            ours.append(self._run(OURS, PLAYBOOK, options))
            smallest.append(self._run(SMALLEST, str(small), {}))
        return Costs(ours, smallest, self._events)

    def _install(self) -> None:
        role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers"}}
        nothing = {"name": "nothing", "order": 10, "content": NOTHING, "limit": "10s"}
        hosts = ",".join((*HIT, WITNESS))
        played = self._controller.play(
            [role],
            hosts=hosts,
            ansible_become=True,
            event_handlers_mode="watch",
            event_handlers_approve_reserve="10s",
            event_handlers_recover_budget="30s",
            event_handlers_handlers=[nothing],
            timeout=300,
        )
        if played.code != 0:
            raise LabError("the role cannot be installed:\n%s" % played.output[-2000:])

    def _run(self, who: str, book: str, variables: Mapping[str, Any]) -> Spent:
        log = self._folder / "times"
        log.unlink(missing_ok=True)
        environment = {
            "ANSIBLE_CALLBACK_PLUGINS": "%s:%s" % (CALLBACKS, Path(__file__).resolve().parent / "callback"),
            "ANSIBLE_CALLBACKS_ENABLED": "task_events,task_times",
            "CLOUD_MAINTENANCE_TASK_TIMES": str(log),
        }
        event = self._lab.schedule("Reboot", *(self._lab.hosts[name] for name in HIT), notice=NOTICE, start_delay=START_DELAY, duration=30)
        began = time.time()
        played = self._controller.play_book(book, timeout=LIMIT, environment=environment, **variables)
        ended = time.time()
        told = event.as_dict()
        if played.code != 0 or told["state"] != "gone":
            raise LabError("the run of %s ended with %d, the event is %s:\n%s" % (who, played.code, told["state"], played.output[-3000:]))
        self._events[who].append(told["gone_at"] - told["approved_at"])
        for name in HIT:
            self._lab.hosts[name].wait_until_it_serves()
        # The hosts' own guards have seen it too, and hosts and controller are at rest again.
        time.sleep(GONE_AFTER + 5)
        return _spent([json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()], began, ended)


def _spent(lines: Sequence[Mapping[str, Any]], began: float, ended: float) -> Spent:
    seconds: Dict[Tuple[str, str], float] = defaultdict(float)
    times: Counter[Tuple[str, str]] = Counter()
    for line, later in zip(lines, lines[1:]):
        key = (line["play"], line["task"] or "(the play begins)")
        seconds[key] += later["at"] - line["at"]
        times[key] += 1
    return Spent(ended - began, lines[0]["at"] - began, dict(seconds), dict(times))
