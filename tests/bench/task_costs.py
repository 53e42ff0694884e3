# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one task of ours costs beside others, measured in one run of ansible-playbook."""

from __future__ import annotations

import json
import re
import shlex
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Tuple

import playing
import server
import servers

CALLBACKS = Path(__file__).resolve().parents[1] / "tools" / "callback"
PING, URI, INFO = "ping", "uri", "azure_scheduled_events_info"
KINDS = (PING, URI, INFO)
# Thrown away: the first rounds fill the caches of the file system and of Ansible.
WARM_UP = 2


# Stands in for the Python of the target: the same Python, and a line about the time that it took of the processor.
INTERPRETER = """\
#!/bin/sh
{python} "$@"
code=$?
echo "$1" >> {log}
times >> {log}
exit $code
"""
CHILDREN = re.compile(r"AnsiballZ_(\w+)\.py\n.*\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s")


@dataclass(frozen=True)
class Costs:
    """Seconds of each kind of task, round by round; all lists are of one length.

    processor: of that, what the module's own process and its children took of the processor. What else the machine does hardly
    touches it.
    """

    seconds: Dict[str, List[float]]
    processor: Dict[str, List[float]]

    def median(self, kind: str) -> float:
        return statistics.median(self.seconds[kind])

    def processor_mean(self, kind: str) -> float:
        """The mean, since many a shell counts in hundredths of a second only."""
        return statistics.fmean(self.processor[kind])

    def ratio(self, kind: str, other: str) -> Tuple[float, float, float]:
        """The median of the ratios of single rounds, between their quartiles.

        The tasks of one round are neighbours in time: what else the machine does hits them alike, and cancels out.
        """
        lower, middle, upper = statistics.quantiles([one / two for one, two in zip(self.seconds[kind], self.seconds[other])], n=4)
        return lower, middle, upper


def measure(rounds: int) -> Costs:
    with servers.running("simulator", events=1) as endpoint, tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "playbook.yml").write_text(json.dumps(_play(endpoint, rounds + WARM_UP)), encoding="utf-8")
        _run(folder)
        return Costs(_seconds(folder / "events", rounds), _processor(folder / "times", rounds))


def _play(endpoint: str, rounds: int) -> List[Dict[str, Any]]:
    tasks = [task for number in range(rounds) for task in _round(endpoint, number)]
    return [{"name": "Costs", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]


def _round(endpoint: str, number: int) -> List[Dict[str, Any]]:
    """One task of each kind; each kind comes equally often first, second and third."""
    first = number % len(KINDS)
    return [{"name": "%s %d" % (kind, number), **_task(kind, endpoint)} for kind in KINDS[first:] + KINDS[:first]]


def _task(kind: str, endpoint: str) -> Dict[str, Any]:
    if kind == PING:
        return {"ansible.builtin.ping": {}}
    if kind == URI:
        asked = {"url": endpoint + server.EVENTS_PATH, "headers": {"Metadata": "true"}, "return_content": True, "use_proxy": False}
        return {"ansible.builtin.uri": asked}
    return {"cloud_maintenance.azure.azure_scheduled_events_info": {"endpoint": endpoint}}


def _run(folder: Path) -> None:
    environment = {
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "task_events",
        "CLOUD_MAINTENANCE_TASK_EVENTS": str(folder / "events"),
    }
    # One Python for all three, with requests: no discovery, no start under another one.
    arguments = ["-i", "localhost,", "-e", "ansible_python_interpreter=%s" % _interpreter(folder), str(folder / "playbook.yml")]
    playing.play(folder, arguments, environment)


def _interpreter(folder: Path) -> Path:
    path = folder / "python"
    path.write_text(INTERPRETER.format(python=shlex.quote(sys.executable), log=shlex.quote(str(folder / "times"))), encoding="utf-8")
    path.chmod(0o755)
    return path


def _seconds(events: Path, rounds: int) -> Dict[str, List[float]]:
    seconds: Dict[str, List[float]] = {kind: [0.0] * rounds for kind in KINDS}
    began: Dict[str, float] = {}
    for line in events.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        kind, number = entry["task"].split()
        if entry["kind"] == "start":
            began[entry["task"]] = entry["at"]
        elif int(number) >= WARM_UP:
            seconds[kind][int(number) - WARM_UP] = entry["at"] - began[entry["task"]]
    if not all(all(values) for values in seconds.values()):
        raise RuntimeError("some task left no time behind")
    return seconds


def _processor(times: Path, rounds: int) -> Dict[str, List[float]]:
    """From the words of the shell: its own user and system time, then those of its children, each as 0m0.123s."""
    seconds: Dict[str, List[float]] = {kind: [] for kind in KINDS}
    for kind, *parts in CHILDREN.findall(times.read_text(encoding="utf-8")):
        minutes_user, user, minutes_system, system = (float(part) for part in parts)
        seconds[kind].append((minutes_user + minutes_system) * 60 + user + system)
    if any(len(values) != rounds + WARM_UP for values in seconds.values()):
        raise RuntimeError("the shell did not tell how long each module took of the processor")
    return {kind: values[WARM_UP:] for kind, values in seconds.items()}
