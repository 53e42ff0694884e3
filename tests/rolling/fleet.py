# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet: hosts in folders, each with its executor and its agent as real processes, a metadata service that they all ask, and a
controller that plays the playbook on them with the version of Ansible that a test wants.

What Azure does to a host when an event starts and ends happens here too: a Reboot ends its processes and what is below /run, a Freeze
stops them, and nobody reaches it meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

from azure_event_handlers.processes import Processes
from imds_simulator import Event, Notice, Simulator
from imds_simulator.identity import instance
from nursery import Nursery, kill, processes_of
from places import ANSIBLE_CFG

HERE = Path(__file__).resolve().parent
PLAYBOOK = "cloud_maintenance.azure.rolling_maintenance"
LOOK = 0.05
BUSY = 3.0  # times slower is a machine on which much else runs
# For what takes a moment: a host that starts, a process that ends.
SOON = 30.0
# For a whole run; most take a tenth of it, and a night in which hosts are lost half. It is there to end a run that hangs.
LONGEST_RUN = 900.0
# Two good answers ten seconds apart, and the handlers.
BACK = 60.0
NAME = "azure-event-handlers"
# What a host does not have to its VM's name is found out by these: other words, and other letters than Azure's inventory has.
VM_NAME = "Vm-%s"
RESOURCE_GROUP = "Fleet"
# Without it an event of the default policy waits for its last safe start.
AT_ONCE: Sequence[Mapping[str, Any]] = (
    {
        "name": "at once",
        "event_types": ["Freeze", "Reboot", "Redeploy"],
        "action": "prepare_and_approve",
        "start": "now",
    },
)
# As short as things on this machine are.
OPTIONS: Mapping[str, Any] = {
    "rules": AT_ONCE,
    "prepare_budget": "20s",
    "approve_reserve": "10s",
    "recover_budget": "10s",
    "start_timeout": "40s",
    "watch_timeout": "60s",
    "return_timeout": "60s",
    "recover_timeout": "60s",
    "settle": "0s",
    "look": "3s",
    "lease": "30s",
}
HANDLER = """#!/bin/sh
# In service while its pool file is there. What {folder}/behave has for a phase runs first, and may set code.
code=0
echo "$(date +%s.%N) begin {name} $1 $EVENT_TYPE" >> {folder}/handlers.log
if [ -e {folder}/behave/{name}.$1 ]; then . {folder}/behave/{name}.$1; fi
if [ $code = 0 ]; then
  case $1 in
    inspect) test ! -e {folder}/pool/{name} || code=1 ;;
    prepare) rm -f {folder}/pool/{name} ;;
    recover) : > {folder}/pool/{name} ;;
  esac
fi
echo "$(date +%s.%N) end {name} $1 $code" >> {folder}/handlers.log
exit $code
"""


def until(condition: Callable[[], Any], *, timeout: float, what: str) -> Any:
    """Its value, once there is one. timeout: ends a test that hangs, on a machine with nothing else to do."""
    end = time.monotonic() + BUSY * timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("not within %g s: %s" % (BUSY * timeout, what))
        time.sleep(LOOK)


# --- a host --------------------------------------------------------------------------------------------------------------


class Host:
    """A host in a folder. name: in the inventory."""

    def __init__(self, fleet: Fleet, name: str, folder: Path, *, handlers: Sequence[str], hostvars: Mapping[str, Any]) -> None:
        self.fleet = fleet
        self.name = name
        self.folder = folder
        self.hostvars = dict(hostvars)
        self.has_role = True
        self._pids: Dict[str, int] = {}
        self.handlers = list(handlers)
        for below in ("etc/%s/handlers.d" % NAME, "etc/%s/options.d" % NAME, "pool", "behave"):
            (folder / below).mkdir(parents=True)
        self._make_run()
        for handler in handlers:
            self.add_handler(handler)
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)

    # --- what it is to have and to do ---

    def configure(self, **values: Any) -> None:
        """The whole configuration; its agent takes it by itself."""
        given = {"format": 1, "mode": "watch", "endpoint": self.endpoint, "timeout": 5, "approve_reserve": "10s", "recover_budget": "10s"}
        given.update(values)
        _write(self.folder / "etc" / NAME / "config.json", json.dumps(given), 0o644)

    def add_handler(self, name: str, **options: Any) -> None:
        etc = self.folder / "etc" / NAME
        _write(etc / "options.d" / (name + ".json"), json.dumps({"limit": "10s", **options}), 0o644)
        _write(etc / "handlers.d" / name, HANDLER.format(folder=self.folder, name=name), 0o755)
        (self.folder / "pool" / name).touch()

    def behave(self, phase: str, script: str, handler: str = "10-pool") -> None:
        """From now on, in shell: it may take its time or set code. Empty: as usual."""
        path = self.folder / "behave" / ("%s.%s" % (handler, phase))
        path.unlink(missing_ok=True)
        if script:
            path.write_text(script + "\n", encoding="utf-8")

    @property
    def until_told(self) -> str:
        """A script that works until the host may go on."""
        return f"until [ -e {self.folder}/go-on ]; do sleep 0.1; done"

    def be_busy(self, limit: str, after: str = "") -> None:
        """Its handler takes it out of service and then prepares until it may go on, but no longer than its limit."""
        self.add_handler("10-pool", limit=limit)
        self.behave("prepare", f"rm -f {self.folder}/pool/10-pool; {self.until_told}{after}")

    def go_on(self) -> None:
        self.mark("go-on")

    @property
    def endpoint(self) -> str:
        return self.fleet.simulator.endpoint(self.name)

    @property
    def vm_name(self) -> str:
        """Azure's."""
        return str(self.fleet.simulator.fabric.vm(self.name).name)

    # --- its life ---

    def boot(self) -> None:
        for program, more in (("service", ["--stay"]), ("agent", [])):
            self._pids[program] = self.fleet.nursery.start(program, "--root", str(self.folder), *more, log=self.folder / (program + ".log"))

    def stop(self) -> None:
        """Its power is gone."""
        kill(list(self._pids.values()))
        self._pids.clear()
        units = self.folder / "run" / NAME / "processes"
        if units.exists():
            Processes(units).reboot()
        shutil.rmtree(self.folder / "run")
        self._make_run()

    def kill(self, program: str) -> None:
        """service or agent; nobody starts it again."""
        kill([self._pids.pop(program)])

    def freeze(self) -> None:
        self.mark("hung")
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)
        self.unmark("hung")

    def go_dark(self) -> None:
        """Nobody reaches it; it goes on by itself."""
        self.mark("dark")

    def come_back(self) -> None:
        for mark in ("dark", "hung", "stale", "broken"):
            self.unmark(mark)

    def drop(self) -> None:
        """The connection alone: the host is there, and who asks it again is answered."""
        self.go_dark()
        time.sleep(0.5)
        self.come_back()

    def hang(self) -> None:
        """Whoever speaks to it hears nothing."""
        self.mark("hung")

    def break_down(self) -> None:
        """Whoever speaks to it is told of an error that no connection has."""
        self.mark("broken")

    def mark(self, name: str) -> None:
        (self.folder / name).touch()

    def unmark(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    @property
    def is_up(self) -> bool:
        return bool(self._pids)

    def _send(self, number: int) -> None:
        for pid in self._pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _make_run(self) -> None:
        for below in ("requests", "agent-requests", "answers", "agent"):
            path = self.folder / "run" / NAME / below
            path.mkdir(parents=True)
            path.chmod(0o755)

    # --- how it is ---

    @property
    def in_service(self) -> bool:
        return all((self.folder / "pool" / handler).exists() for handler in self.handlers)

    def status(self) -> Dict[str, Any]:
        """Empty while there is none."""
        return _read_json(self.folder / "run" / NAME / "status.json") or {}

    @property
    def watches(self) -> bool:
        """Executor and agent are there, and know who they are."""
        return self.status().get("vm_id") is not None and (self.folder / "run" / NAME / "agent" / "seen.json").exists()

    def watches_if_up(self) -> bool:
        return self.watches or not self.is_up

    def records(self) -> List[Dict[str, Any]]:
        return list(self.status().get("records", ()))

    def record(self, event: Event) -> Dict[str, Any]:
        """Of its last occurrence; empty while there is none."""
        same = [one for one in self.records() if one["event"]["event_id"].lower() == event.event_id.lower()]
        return max(same, key=lambda one: int(one["occurrence"]), default={})

    def state(self, event: Event) -> Optional[str]:
        return self.record(event).get("state")

    def wait(self, event: Event, *states: str, timeout: float = BACK) -> Dict[str, Any]:
        what = "%s: the record is %s" % (self.name, " or ".join(states))
        until(lambda: self.state(event) in states, timeout=timeout, what=what)
        return self.record(event)

    def wait_until_back(self, timeout: float = BACK) -> None:
        """In service, and nothing is open."""

        def back() -> bool:
            return self.in_service and all(one["state"] in ("CLOSED", "FOREIGN", "SEEN", "BACKED_OUT") for one in self.records())

        until(back, timeout=timeout, what="%s is back in service" % self.name)

    def ask(self, *words: str) -> Dict[str, Any]:
        """What the command of this host answers."""
        command = [str(self.fleet.nursery.command), "--root", str(self.folder), *words]
        answer = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)
        found: Dict[str, Any] = json.loads(answer.stdout)
        return found

    def evidence(self, event: Event) -> Dict[str, Any]:
        command = [str(self.fleet.nursery.command), "--root", str(self.folder), "evidence", event.event_id]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL, timeout=60)
        found: Dict[str, Any] = json.loads(answer.stdout)
        return found

    def runs(self, *phases: str) -> List[str]:
        """What its handlers were begun for, in order: "10-pool prepare"; all phases but inspect by default."""
        log = self.folder / "handlers.log"
        lines = [line.split() for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
        return ["%s %s" % (line[2], line[3]) for line in lines if line[1] == "begin" and line[3] in (phases or ("prepare", "recover"))]

    def told(self) -> str:
        logs = []
        for program in ("service", "agent"):
            log = self.folder / (program + ".log")
            if log.exists():
                logs += ["  %s: %s" % (program, line[:600]) for line in log.read_text("utf-8", "replace").splitlines()[-12:]]
        states = ["%s %s" % (one["state"], one["reason"]) for one in self.records()]
        head = "%s (%s): %s; %s" % (self.name, self.folder, "in service" if self.in_service else "OUT OF SERVICE", "; ".join(states))
        return "\n".join([head, *logs])


def _write(path: Path, text: str, mode: int) -> None:
    """Whole or not at all, for its reader is at work."""
    new = path.with_name(".%s.new" % path.name)
    new.write_text(text, encoding="utf-8")
    new.chmod(mode)
    new.replace(path)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


# --- a run ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    """One task on one host. outcome: ok, skipped, failed, ignored or unreachable."""

    at: float
    play: str
    task: str
    host: str
    outcome: str
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Played:
    """What a run came to. said: its words, with single spaces and without the escapes of JSON."""

    core: str
    code: int
    output: str
    seconds: float
    plays: Sequence[str]
    done: Sequence[Done]
    stats: Mapping[str, Any]

    @property
    def said(self) -> str:
        return " ".join([_plain(self.output), *(_plain(text) for one in self.done for text in _texts(one.result))])

    @property
    def message(self) -> str:
        """Of what ended the run; empty if nothing did."""
        failed = [one for one in self.done if one.outcome == "failed"]
        return _plain(str(failed[-1].result.get("msg", ""))) if failed else ""

    def ran(self, task: str) -> Dict[str, Done]:
        """By host, where a task whose name contains this has done something."""
        return {one.host: one for one in self.done if task.lower() in one.task.lower() and one.outcome != "skipped"}


def _plain(text: str) -> str:
    return " ".join(text.replace('\\"', '"').replace("\\n", " ").split())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)


def _dictionaries(value: Any) -> Iterator[Dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for one in value.values():
            yield from _dictionaries(one)
    elif isinstance(value, list):
        for one in value:
            yield from _dictionaries(one)


def _is_about(one: Mapping[str, Any], event: Event) -> bool:
    """The evidence of host.md: an event, what was decided, and what came of it. What a module has said of a post has no decision."""
    shown = one.get("event")
    return (
        "result" in one
        and "decision" in one
        and isinstance(shown, dict)
        and str(shown.get("event_id", "")).lower() == event.event_id.lower()
    )


class Running:
    """A run under way."""

    def __init__(self, core: str, command: Sequence[str], environment: Mapping[str, str], folder: Path, *, terminal: bool = False) -> None:
        folder.mkdir()
        self.core = core
        self.folder = folder
        self._log = folder / "log"
        self._began = time.monotonic()
        self._command = command
        self._output = folder / "output"
        self._keyboard: Optional[int] = None
        if terminal:
            self._keyboard, there = pty.openpty()
        else:
            there = os.open(os.devnull, os.O_RDONLY)
        with open(self._output, "wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-IS", str(HERE / "mortal.py"), *(["--terminal"] if terminal else []), *command],
                env={**environment, "FLEET_LOG": str(self._log)},
                cwd=folder,
                stdin=there,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        os.close(there)

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def until(self, task: str, *, kind: str = "start", host: Optional[str] = None, times: int = 1, timeout: float = 120.0) -> None:
        """A task whose name contains this has begun on some host (kind start) or ended (end), so many times."""

        def seen() -> bool:
            met = [
                one for one in self._lines() if one["kind"] == kind and task.lower() in one["task"].lower() and host in (None, one["host"])
            ]
            if kind == "end":
                met = [one for one in met if one["outcome"] != "skipped"]
            return len(met) >= times or self.is_over

        until(seen, timeout=timeout, what="the run comes to %r" % task)
        assert not self.is_over, "the run ended with %d before it came to %r\n%s" % (self._process.returncode, task, self.told())

    def type(self, words: str) -> None:
        """What a person types at its terminal."""
        assert self._keyboard is not None
        os.write(self._keyboard, words.encode())

    def answer(self, names: str, words: str) -> None:
        """What a person types once it is asked about the approval of these hosts."""
        until(lambda: self.is_over or "of %s, which are ready?" % names in self.output, timeout=120, what="somebody asks about %s" % names)
        # What is typed before the question is thrown away.
        time.sleep(1)
        self.type(words + "\r")

    def kill(self, number: int = signal.SIGKILL) -> int:
        """The controller alone, and that it is gone. What it has begun on hosts goes on there."""
        self._process.send_signal(number)
        return self._process.wait(timeout=SOON)

    def wait(self, timeout: float = LONGEST_RUN) -> Played:
        try:
            code = self._process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError("the run has not ended after %g s\n%s" % (timeout, self.told())) from None
        lines = self._lines()
        stats: Dict[str, Any] = {}
        for line in lines:
            if line["kind"] == "stats":
                for values in line["custom"].values():
                    stats.update(values)
        return Played(
            core=self.core,
            code=code,
            output=self.output,
            seconds=time.monotonic() - self._began,
            plays=[line["play"] for line in lines if line["kind"] == "play"],
            done=[
                Done(line["at"], line["play"], line["task"], line["host"], line["outcome"], line["result"])
                for line in lines
                if line["kind"] == "end"
            ],
            stats=stats,
        )

    def end(self) -> None:
        """Everything of it, by its id: what it has begun in sessions of its own is the fleet's to find."""
        if not self.is_over:
            self._process.kill()
            self._process.wait()
        if self._keyboard is not None:
            os.close(self._keyboard)
            self._keyboard = None

    @property
    def output(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace")

    def told(self) -> str:
        return "$ %s\n%s" % (" ".join(self._command), self.output)

    def _lines(self) -> List[Dict[str, Any]]:
        """Also of a run that was killed while it wrote one."""
        found = []
        for line in self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else ():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found


# --- the fleet -----------------------------------------------------------------------------------------------------------


@dataclass
class Controller:
    """Where a version of Ansible is, and where it finds the collection."""

    programs: Mapping[str, str]
    collections: str
    environment: Mapping[str, str] = field(default_factory=dict)


class Fleet:
    """Hosts, their metadata service, and runs of the playbook on them."""

    def __init__(self, nursery: Nursery, controller: Controller, **settings: Any) -> None:
        """settings: of the simulator."""
        # Not where tests have theirs: every host must be able to go through it, and an address of a socket has little room.
        self.folder = Path(tempfile.mkdtemp(prefix="fleet-"))
        self.folder.chmod(0o755)
        self.nursery = nursery
        self.controller = controller
        self.simulator = Simulator(**settings)
        self.hosts: Dict[str, Host] = {}
        self.groups: Dict[str, List[str]] = {}
        self.variables: Dict[str, Any] = {}
        self.runs: List[Running] = []
        # Whether hosts come to harm when events start; else the test does it.
        self.acts = True
        self.evidence_folder = self.folder / "evidence"

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def __enter__(self) -> Fleet:
        self.simulator.open()
        for phase, act in (("start", self._struck), ("end", self._over)):
            self.simulator.on(phase, act)
        return self

    def __exit__(self, *_problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything that it has begun, by its id."""
        for run in self.runs:
            run.end()
        self.simulator.close()
        for host in self.hosts.values():
            host.stop()
        # Workers of a killed run, and what they have begun.
        kill([pid for pid, _command in processes_of(self.folder) if pid != os.getpid()])
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- hosts ---

    def add(
        self,
        names: str,
        *,
        scope: Optional[str] = None,
        groups: Sequence[str] = (),
        vm_name: Optional[str] = None,
        resource_group: str = RESOURCE_GROUP,
        handlers: Sequence[str] = ("10-pool",),
        hostvars: Optional[Mapping[str, Any]] = None,
        scope_known: bool = True,
        azure_known: bool = True,
        managed: bool = True,
        role: bool = True,
        **configuration: Any,
    ) -> None:
        """Hosts of these names, a VM each, and they start. scope: they see the same document; None: each stands alone.

        scope_known, azure_known: whether the inventory says the scope, and what Azure's plugin says. managed: whether the inventory has
        them at all. role: whether the role event_handlers is installed. configuration: of the host.
        """
        if scope is not None and scope not in self.simulator.fabric.scopes:
            self.simulator.add_scope(scope)
        for name in names.split():
            azure_name = (vm_name or VM_NAME) % name if "%" in (vm_name or VM_NAME) else vm_name
            self.simulator.add_vm(name, scope=scope, azure_name=azure_name, resource_group=resource_group)
            if not managed:
                continue
            known = self._azure_hostvars(name) if azure_known else {}
            known.update({"rolling_maintenance_scope": scope} if scope is not None and scope_known else {})
            host = Host(self, name, self.folder / "hosts" / name, handlers=handlers, hostvars={**known, **(hostvars or {})})
            host.has_role = role
            host.configure(**configuration)
            self.hosts[name] = host
            for group in groups:
                self.groups.setdefault(group, []).append(name)
            if role:
                host.boot()

    def ready(self) -> None:
        """Every host that is up knows who it is."""
        for host in self.hosts.values():
            until(host.watches_if_up, timeout=SOON, what="%s watches" % host.name)

    def _azure_hostvars(self, name: str) -> Dict[str, Any]:
        """As the inventory plugin azure.azcollection.azure_rm has them: it does not keep the letters of names as the service has them."""
        compute = instance(self.simulator.fabric.vm(name))["compute"]
        vmss = compute["vmScaleSetName"]
        return {
            "id": compute["resourceId"].lower(),
            "name": compute["name"].lower(),
            "vmid": compute["vmId"].upper(),
            "computer_name": compute["osProfile"]["computerName"],
            "resource_group": compute["resourceGroupName"].lower(),
            "location": compute["location"],
            "powerstate": "running",
            "provisioning_state": "succeeded",
            "resource_type": "Microsoft.Compute/virtualMachines",
            "os_profile": {"system": "linux"},
            "tags": {},
            "vmss": {"id": "/scale/sets/" + vmss, "name": vmss} if vmss else {},
        }

    def names(self) -> List[str]:
        return list(self.hosts)

    # --- Azure ---

    def approved(self, event: Event) -> bool:
        """By somebody, before its time."""
        return event.approved_at is not None

    def schedule(self, event_type: str, names: str, **options: Any) -> Event:
        """Of these hosts' VMs; it runs for two seconds once it has started, unless told otherwise."""
        wanted = {"notice": 900.0, "runs_for": 2.0, "start_delay": 0.3, **options}
        event: Event = self.simulator.schedule(event_type, names.split(), **wanted)
        return event

    def happen(self, event: Event) -> None:
        """It starts and is over, as if its time had come."""
        if event.state == "Scheduled":
            self.simulator.start(event.event_id)
        if event.state == "Started":
            self.simulator.complete(event.event_id)

    def posts(self, event: Optional[Event] = None) -> List[Any]:
        """The start requests, all or those that name this event."""
        if event is None:
            return list(self.simulator.posts())
        return [post for post in self.simulator.posts() if event.event_id.upper() in post.body.upper()]

    def _struck(self, notice: Notice) -> None:
        for host in self._hosts_of(notice):
            if notice.event["event_type"] == "Freeze":
                host.freeze()
                continue
            host.go_dark()
            if notice.event["event_type"] == "Redeploy":
                # It vanishes without a word, and old connections to it hang.
                host.mark("stale")
            host.stop()

    def _over(self, notice: Notice) -> None:
        for host in self._hosts_of(notice):
            if notice.event["event_type"] == "Freeze":
                host.thaw()
            elif notice.event["event_type"] not in ("Preempt", "Terminate"):
                host.boot()
                host.unmark("dark")

    def _hosts_of(self, notice: Notice) -> List[Host]:
        known = [self.hosts.get(name) for name in notice.event["vms"]] if self.acts else []
        return [host for host in known if host is not None and host.has_role]

    # --- the controller ---

    def play(self, core: str, *arguments: str, timeout: float = LONGEST_RUN, **how: Any) -> Played:
        return self.begin(core, *arguments, **how).wait(timeout)

    def begin(
        self,
        core: str,
        *arguments: str,
        playbook: str = PLAYBOOK,
        check: bool = False,
        limit: Optional[str] = None,
        extra: Optional[Mapping[str, Any]] = None,
        environment: Optional[Mapping[str, str]] = None,
        terminal: bool = False,
        **options: Any,
    ) -> Running:
        """options: of the role, without the prefix; extra: variables as they are; terminal: a person sits before it."""
        self.ready()
        number = len(self.runs) + 1
        given = {"evidence_dir": str(self.evidence_folder), **OPTIONS, **options}
        variables = {**{"rolling_maintenance_" + key: value for key, value in given.items()}, **(extra or {})}
        folder = self.folder / ("run%d" % number)
        inventory, extras = self.folder / ("inventory%d.json" % number), self.folder / ("extra%d.json" % number)
        inventory.write_text(json.dumps(self._inventory(core), indent=1), encoding="utf-8")
        extras.write_text(json.dumps(variables, indent=1), encoding="utf-8")
        command = [os.path.join(self.controller.programs[core], "ansible-playbook"), "-i", str(inventory), playbook, "-e", "@%s" % extras]
        command += ["--check", "--diff"] if check else []
        command += ["--limit", limit] if limit else []
        running = Running(core, [*command, *arguments], {**self._environment(core), **(environment or {})}, folder, terminal=terminal)
        self.runs.append(running)
        return running

    def evidence(self) -> List[Dict[str, Any]]:
        """What the controller has written, in the order of the files' names."""
        return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self.evidence_folder.rglob("*.json"))]

    def evidence_of(self, event: Event) -> Dict[str, Any]:
        """The last that the controller has written about this event."""
        found = [one for file in self.evidence() for one in _dictionaries(file) if _is_about(one, event)]
        assert found, "the controller has written nothing about %s" % event.event_id
        return found[-1]

    def _inventory(self, core: str) -> Dict[str, Any]:
        python = os.path.join(self.controller.programs[core], "python")
        hosts = {}
        for host in self.hosts.values():
            hosts[host.name] = {
                "ansible_connection": "folder",
                "ansible_python_interpreter": python,
                "fleet_folder": str(host.folder),
                "rolling_maintenance_endpoint": host.endpoint if self.simulator.fabric.has_vm(host.name) else "http://127.0.0.1:9",
                "rolling_maintenance_command": str(self.nursery.command) if host.has_role else str(host.folder / "nothing"),
                "rolling_maintenance_root": str(host.folder),
                **host.hostvars,
            }
        children: Dict[str, Any] = {group: {"hosts": {name: {} for name in names}} for group, names in self.groups.items()}
        return {"all": {"hosts": hosts, "children": children, "vars": self.variables}}

    def _environment(self, core: str) -> Dict[str, str]:
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        # Of its own, so that no other is found.
        configuration = home / "ansible.cfg"
        configuration.write_text(ANSIBLE_CFG, encoding="utf-8")
        return {
            **self.controller.environment,
            "PATH": os.pathsep.join([self.controller.programs[core], self.controller.environment.get("PATH", os.defpath)]),
            "HOME": str(home),
            "ANSIBLE_HOME": str(home / "ansible"),
            "ANSIBLE_CONFIG": str(configuration),
            "ANSIBLE_COLLECTIONS_PATH": self.controller.collections,
            "ANSIBLE_CONNECTION_PLUGINS": str(HERE / "plugins" / "connection"),
            "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "plugins" / "callback"),
            "ANSIBLE_CALLBACKS_ENABLED": "fleet_log",
            "ANSIBLE_DEPRECATION_WARNINGS": "true",
            "ANSIBLE_FORKS": "8",
            "ANSIBLE_PIPELINING": "true",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_NOCOLOR": "1",
            "PYTHONPATH": str(HERE / "startup"),
        }

    # --- for whoever looks at a failure ---

    def told(self) -> str:
        posts = ["%s %s %s" % (post.vm, post.body, post.status) for post in self.posts()]
        return "\n".join([*(run.told() for run in self.runs), "posts: %s" % posts, *(host.told() for host in self.hosts.values())])
