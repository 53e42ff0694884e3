# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs every example of the pages of modules and lookup against the simulator, task by task as a reader would copy them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import yaml

COLLECTION = "cloud_maintenance.azure"
FILES = Path("ansible_collections", "cloud_maintenance", "azure", "roles", "imds_simulator", "files")
LONGEST_RUN = 180.0
# All tasks ended well, and none was left out.
RECAP = r"^localhost +: ok=%d +changed=\d+ +unreachable=0 +failed=0 +skipped=0 +rescued=0 +ignored=0"

# The ids in the examples.
SHARED = "602D9444-D2CD-49C7-8624-8643E7171297"
OTHER = "C7061BAC-AFDC-4513-B24B-AA5F13A16123"
DELETION = "A123BC45-1234-5678-AB90-ABCDEF123456"
OWN = "0D5F4A2E-6F0B-4C39-9C7B-2B1E6A7C5D10"


@dataclass(frozen=True)
class Page:
    """Where the examples are, the world in which they make sense, and what they must have posted in the end."""

    kind: str
    name: str
    prepare: Callable[[Any], object]
    posts: Tuple[Tuple[str, ...], ...] = ()


def announced_for_later(simulator: Any) -> None:
    """Nothing disruptive within the half hour after which the examples ask."""
    simulator.schedule("Reboot", ["web_0", "web_1"], event_id=SHARED, notice=7200)
    simulator.schedule("Freeze", ["web_1"], event_id=OTHER, notice=7200, duration=12)


def announced_one_after_the_other(simulator: Any) -> None:
    """First what hits this host alone; the rest comes once that has started."""
    simulator.schedule("Reboot", ["web_0"], event_id=OWN, runs_for=None)

    def announce_the_rest(notice: Any) -> None:
        if notice.event["event_id"] != OWN:
            return
        simulator.complete(OWN)
        simulator.schedule("Reboot", ["web_0", "web_1"], event_id=SHARED, runs_for=None)
        simulator.schedule("Preempt", ["web_0"], event_id=DELETION, notice=3600, runs_for=None)
        simulator.schedule("Reboot", ["web_0", "batch_7"], event_id=OTHER, runs_for=None)

    simulator.on("start", announce_the_rest)


def under_way(simulator: Any) -> None:
    """Both start once somebody looks, and one ends once that was seen: starting a playbook takes as long as it takes."""
    for event_id in (SHARED, OTHER):
        simulator.schedule("Reboot", ["web_1"], event_id=event_id, notice=7200, runs_for=None)

    def go_on() -> None:
        looks = wait_for_looks(simulator, 1)
        simulator.start(SHARED)
        simulator.start(OTHER)
        # The one after the next was asked when it had started already.
        wait_for_looks(simulator, looks + 2)
        simulator.complete(SHARED)

    threading.Thread(target=go_on, daemon=True).start()


def wait_for_looks(simulator: Any, number: int) -> int:
    """How often the service was asked, once that is at least so often."""
    end = time.monotonic() + LONGEST_RUN
    while len(simulator.requests()) < number and time.monotonic() < end:
        time.sleep(0.1)
    return len(simulator.requests())


PAGES = (
    Page("module", "azure_scheduled_events_info", announced_for_later),
    Page(
        "module",
        "azure_scheduled_event_approve",
        announced_one_after_the_other,
        ((OWN,), (SHARED,), (DELETION,), (OTHER,)),
    ),
    Page("module", "azure_scheduled_event_wait", under_way),
    Page("lookup", "azure_scheduled_events", announced_for_later),
)


def main() -> int:
    with ThreadPoolExecutor(len(PAGES)) as pool:
        problems = [problem for found in pool.map(check, PAGES) for problem in found]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def check(page: Page) -> List[str]:
    """What is wrong with the examples of a page."""
    from imds_simulator import Simulator

    tasks = examples(page)
    if not tasks:
        return ["%s has no examples" % page.name]
    with Simulator() as simulator:
        simulator.add_scope("web", kind="availability_set", vms=["web_0", "web_1", "batch_7"])
        page.prepare(simulator)
        ended, output = play(tasks, str(simulator.endpoint("web_0")))
        posts = tuple(tuple(entry["EventId"] for entry in post.json()["StartRequests"]) for post in simulator.posts())
        asked = len(simulator.requests())
    print(output, flush=True)
    problems = []
    if ended or not re.search(RECAP % len(tasks), output, re.MULTILINE):
        problems.append("%s: not each of its %d examples succeeded (exit code %d)" % (page.name, len(tasks), ended))
    if posts != page.posts:
        problems.append("%s: posted %s, not %s" % (page.name, posts, page.posts))
    if not asked:
        problems.append("%s: the simulator was never asked" % page.name)
    return problems


def examples(page: Page) -> List[Dict[str, Any]]:
    name = "%s.%s" % (COLLECTION, page.name)
    command = ["ansible-doc", "--type", page.kind, "--json", name]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=LONGEST_RUN)
    return list(yaml.safe_load(json.loads(answer.stdout)[name]["examples"]))


def play(tasks: List[Dict[str, Any]], endpoint: str) -> Tuple[int, str]:
    """One play of the tasks on this machine, as the VM of the endpoint."""
    defaults = {
        "group/%s.azure" % COLLECTION: {"endpoint": endpoint, "timeout": "5s", "retry_for": 0},
        # Else the examples would take as long as a reader is patient.
        "%s.azure_scheduled_event_wait" % COLLECTION: {"poll_interval": "1s"},
    }
    variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    playbook = [{"hosts": "localhost", "gather_facts": False, "vars": variables, "module_defaults": defaults, "tasks": tasks}]
    environment = dict(
        os.environ,
        AZURE_SCHEDULED_EVENTS_ENDPOINT=endpoint,
        AZURE_SCHEDULED_EVENTS_TIMEOUT="5s",
        AZURE_SCHEDULED_EVENTS_RETRY_FOR="0",
        NO_COLOR="1",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "examples.yml")
        path.write_text(yaml.safe_dump(playbook, sort_keys=False), encoding="utf-8")
        command = ["ansible-playbook", "-i", "localhost,", str(path)]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=LONGEST_RUN, check=False)
    return ended.returncode, ended.stdout.decode("utf-8", "replace")


def simulator_on_path() -> None:
    """The targets run from a copy without the rest of the collection, so it is looked for where Ansible finds the collection."""
    for folder in os.environ["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep):
        if Path(folder, FILES, "imds_simulator", "__init__.py").exists():
            sys.path.insert(0, str(Path(folder, FILES)))
            return
    raise SystemExit("the collection is not below ANSIBLE_COLLECTIONS_PATH")


if __name__ == "__main__":
    simulator_on_path()
    sys.exit(main())
