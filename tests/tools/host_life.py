# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second part of `make rehearse`: one host with a handler and nobody at the controller, as it lives through a Reboot.

Executor and agent are those of the role event_handlers, as plain processes in a folder; the handler is a script that one can read.
It ends with 0 only if the host was out of service before the approval, in service at the end, and its evidence says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "roles" / "imds_simulator" / "files")]

from imds_simulator import Simulator
from story import Page

HANDLERS = ROOT / "roles" / "event_handlers" / "files"
HANDLER = """#!/bin/sh
# What the load balancer asks for is {pool}: without it this host gets no requests.
case $1 in
  inspect) test ! -e {pool} ;;                # 0: out of service, 1: in service
  prepare) rm -f {pool}; echo "no new requests; the last ones are answered" ;;
  recover) echo ok > {pool}; echo "requests come again" ;;
esac
"""
RULES = [{"name": "at once", "event_types": ["Reboot"], "action": "prepare_and_approve", "start": "now"}]
TOLD = {
    "SEEN": "The agent has seen a Reboot of this VM and told the executor.",
    "PREPARING": "The executor runs the handlers in the order of their names.",
    "PREPARED": "Out of service. Nothing is approved yet: first the handler is asked once more whether that is still so.",
    "COMMITTED": "It is. The host gives its word, the agent approves, and Azure need not wait for NotBefore.",
    "IMPACT": "The event has started. Nobody touches the host now.",
    "RECOVERING": "Two good answers, ten seconds apart, do not show the event any more: the handlers are run back, in reverse order.",
    "CLOSED": "In service again, and the record is closed.",
    "BACKING_OUT": "It is given back before the event.",
    "STAYING": "It stays out of service, and is not approved.",
}
LIMIT = 90.0
LOOK = 0.1


class HostLife:
    """A host in a folder."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        self.pool = folder / "in-the-pool"
        self.pool.write_text("ok\n", encoding="utf-8")
        etc, run = folder / "etc" / "azure-event-handlers", folder / "run" / "azure-event-handlers"
        for path in (etc / "handlers.d", etc / "options.d", run / "requests", run / "agent-requests", run / "answers", run / "agent"):
            path.mkdir(parents=True)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)
        settings = {
            "format": 1,
            "mode": "prepare_and_approve",
            "endpoint": endpoint,
            "timeout": 5,
            "rules": RULES,
            "approve_reserve": "10s",
        }
        self._write(etc / "config.json", json.dumps(settings), 0o644)
        self.handler = HANDLER.format(pool=self.pool)
        self._write(etc / "handlers.d" / "10-pool", self.handler, 0o755)
        self._processes: List[subprocess.Popen[bytes]] = []

    @staticmethod
    def _write(path: Path, text: str, mode: int) -> None:
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def start(self) -> None:
        for program, more in (("service", ["--stay"]), ("agent", [])):
            log = open(self.folder / (program + ".log"), "wb")  # noqa: SIM115  (it lives as long as the process)
            command = [sys.executable, "-B", "-m", "azure_event_handlers." + program, "--root", str(self.folder), *more]
            self._processes.append(subprocess.Popen(command, env=_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log))
            log.close()

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def failed(self) -> Optional[str]:
        """What a process said that has ended before its time."""
        for process, name in zip(self._processes, ("service", "agent")):
            if process.poll() is not None:
                return "%s: %s" % (name, (self.folder / (name + ".log")).read_text(encoding="utf-8", errors="replace")[-2000:])
        return None

    def record(self) -> Dict[str, Any]:
        try:
            status = json.loads((self.folder / "run" / "azure-event-handlers" / "status.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        records: List[Dict[str, Any]] = status["records"]
        return records[0] if records else {}

    def evidence(self, event_id: str) -> Dict[str, Any]:
        command = [sys.executable, "-B", "-m", "azure_event_handlers.cli", "--root", str(self.folder), "evidence", event_id]
        found: Dict[str, Any] = json.loads(subprocess.run(command, env=_environment(), check=True, capture_output=True).stdout)
        return found


def _environment() -> Dict[str, str]:
    """The collection is where Ansible finds it; the programs are where the role has them."""
    places = [str(HANDLERS), *os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def live(page: Page, *, spoil: Optional[Callable[[Simulator, HostLife], None]] = None) -> int:
    """One life, and the exit code. A test spoils it to see that this is noticed."""
    page.heading("A host by itself", "handlers, executor and agent")
    page.text("This is all that a host needs to get itself ready, one file, called with the phase:")
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder, Simulator() as simulator:
        simulator.add_vm("web_0")
        host = HostLife(Path(folder), simulator.endpoint("web_0"))
        page.code(host.handler.replace(folder, "").splitlines())
        if spoil:
            spoil(simulator, host)
        host.start()
        try:
            event = simulator.schedule("Reboot", ["web_0"], notice=900.0, start_delay=1.0, runs_for=3.0)
            page.marked("event", "Azure announces a Reboot of web_0 in 15 minutes.")
            wrong = list(_told(page, host)) or _objections(host, simulator, event.event_id)
            if not wrong:
                _show(page, host.evidence(event.event_id))
        finally:
            host.stop()
    for sentence in wrong:
        page.marked("bad", sentence, "bad")
    if not wrong:
        page.marked("good", "The host was out of service when it was approved, is in service now, and nobody had to be there.", "good")
    return 1 if wrong else 0


def _told(page: Page, host: HostLife) -> Iterator[str]:
    """Tells each state as it comes; gives what went wrong on the way."""
    end, last, heard = time.monotonic() + LIMIT, "", []  # type: float, str, List[str]
    while last != "CLOSED":
        if time.monotonic() > end:
            yield "After %g seconds the host is %s." % (LIMIT, last or "still waiting for the event")
            return
        broken = host.failed()
        if broken is not None:
            yield "A program has ended: %s" % broken
            return
        record = host.record()
        # Of a closed record only the evidence has what was said.
        closed = record.get("state") == "CLOSED"
        for line in _words(host.evidence(record["event"]["event_id"])) if closed else _runs(record):
            if line not in heard:
                page.text("    " + line)
                heard.append(line)
        if record.get("state", "") != last:
            last = record["state"]
            page.marked("event", "%s. %s" % (last, TOLD.get(last, record["reason"])))
        time.sleep(LOOK)


def _runs(record: Mapping[str, Any]) -> List[str]:
    """What the handlers have said, as far as they have ended."""
    found = []
    for step in record.get("steps", ()):
        for phase in ("inspect", "prepare", "check", "recover"):
            work = step[phase]
            if work["progress"] == "ended" and work["tail"].strip():
                found.append("%s %s: %s" % (step["handler"], phase, work["tail"].strip()))
    return found


def _words(told: Mapping[str, Any]) -> List[str]:
    return ["%s %s: %s" % (run["handler"], run["phase"], " ".join(run["output"])) for run in told["handlers"] if run["output"]]


def _objections(host: HostLife, simulator: Simulator, event_id: str) -> List[str]:
    told = host.evidence(event_id)
    runs = [(run["handler"], run["phase"], run["outcome"]) for run in told["handlers"] if run["phase"] != "inspect"]
    wrong = []
    if runs != [("10-pool", "prepare", "done"), ("10-pool", "recover", "done")]:
        wrong.append("The handler was run so: %s." % runs)
    if (told["result"], told["approved_by"]) != ("recovered", "us"):
        wrong.append("The evidence says %s, approved by %s." % (told["result"], told["approved_by"]))
    if [post.status for post in simulator.posts()] != [200]:
        wrong.append("The simulator has seen %d approvals and not one." % len(simulator.posts()))
    if not host.pool.exists():
        wrong.append("The host is still out of the pool.")
    return wrong


def _show(page: Page, told: Mapping[str, Any]) -> None:
    page.line()
    page.text("`azure-event-handlers evidence` keeps all of it for 90 days; the short of it:")
    rows: List[Sequence[str]] = [("when", "what")]
    for line in told["history"]:
        if "to" in line:
            rows.append((str(line["at"])[11:19], "%s: %s" % (line["to"], line["reason"])))
    page.table(rows)
    page.line()
    page.text("Out of service for %s seconds, approved by %s, result: %s." % (told["seconds_drained"], told["approved_by"], told["result"]))
