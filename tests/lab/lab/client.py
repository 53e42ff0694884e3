# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab as seen from outside: bring it up, look into hosts, let events come, take it down."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, Union

from . import image, leftovers, limits, needs, wire
from .errors import LabError
from .plan import DEFAULT_HOSTS, HostPlan, inventory, plan
from .programs import APART

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parents[2]
SIMULATOR = ROOT / "roles" / "imds_simulator" / "files"
CACHE = ROOT / ".cache" / "lab"
_UP_LIMIT = 180.0
_POLL = 0.1
_ALL = 10000  # requests, which is what the simulator remembers


_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def folder_of(name: str) -> Path:
    """Of the lab of this name."""
    if not _NAME.fullmatch(name):
        raise LabError("a lab's name is of small letters, digits and dashes, not %r" % name)
    return CACHE / "labs" / name


class LabEvent:
    """An event of the lab's fabric, by its id."""

    def __init__(self, lab: Lab, event_id: str) -> None:
        self.event_id = event_id
        self._lab = lab

    def as_dict(self) -> Dict[str, Any]:
        found: Dict[str, Any] = self._lab.simulator("GET", "/events/" + self.event_id)
        return found

    @property
    def state(self) -> str:
        return str(self.as_dict()["state"])

    def wait(self, state: str, *, timeout: float = 60.0) -> None:
        """Until the event is in this state: Scheduled, Started or gone."""
        end = time.monotonic() + timeout
        while self.state != state:
            if time.monotonic() > end:
                raise LabError("event %s is %s and not %s after %g s" % (self.event_id, self.state, state, timeout))
            time.sleep(_POLL)

    def start(self) -> None:
        self._lab.simulator("POST", "/events/%s/start" % self.event_id)

    def complete(self) -> None:
        self._lab.simulator("POST", "/events/%s/complete" % self.event_id)

    def cancel(self) -> None:
        self._lab.simulator("POST", "/events/%s/cancel" % self.event_id)


class Host:
    """One host of a lab. What it is told from outside reaches it whatever its network does, except for ssh()."""

    def __init__(self, lab: Lab, host: HostPlan) -> None:
        self.plan = host
        self.name = host.name
        self.vm_name = host.vm_name
        self.address = host.address
        self._lab = lab
        self._variables: Dict[str, str] = {}

    def __repr__(self) -> str:
        return "<host %s (%s)>" % (self.name, self.vm_name)

    # --- looking inside -------------------------------------------------------------------------------------------

    def run(self, *command: str, timeout: float = 30.0, check: bool = True) -> str:
        """The standard output of a command that root runs on the host, without ssh."""
        answer = self._lab.ask("exec", host=self.name, command=list(command), timeout=timeout, patience=timeout + 30)
        if check and answer["code"] != 0:
            raise LabError(
                "%s on %s ended with %d: %s" % (" ".join(command), self.name, answer["code"], answer["stderr"] or answer["stdout"])
            )
        return str(answer["stdout"])

    def shell(self, script: str, *, timeout: float = 30.0, check: bool = True) -> str:
        return self.run("sh", "-c", script, timeout=timeout, check=check)

    def ssh(self, script: str, *, patience: int = 5, timeout: float = 30.0) -> subprocess.CompletedProcess[str]:
        """A script that the user of Ansible runs, over the network. patience: for the connection, in seconds."""
        command = ["ssh", "-F", str(self._lab.folder / "ssh" / "config"), "-o", "ConnectTimeout=%d" % patience, self.name, script]
        return self._lab.run(command, timeout=timeout)

    @property
    def boot_id(self) -> str:
        """Another one for each boot."""
        return self.run("cat", "/proc/sys/kernel/random/boot_id").strip()

    def state(self) -> Dict[str, Any]:
        return next(host for host in self._lab.ask("status")["hosts"] if host["name"] == self.name)

    # --- acting on it ---------------------------------------------------------------------------------------------

    def act(self, act: str, **options: Any) -> Any:
        return self._lab.ask("host", host=self.name, act=act, **options)

    def vanish(self) -> None:
        """Off at once; whoever has a connection to it hears nothing."""
        self.act("vanish")

    def boot(self) -> None:
        self.act("boot")

    def keep_down(self) -> None:
        """Its next end is one without return, until boot_again()."""
        self.act("keep_down", down=True)

    def boot_again(self) -> None:
        self.act("keep_down", down=False)
        self.boot()

    def recreate(self) -> None:
        """A new host under all the old names, with another vmId, other disks and other keys."""
        self.act("recreate")
        self._lab.learn_keys()

    def wait_until_it_serves(self, *, timeout: float = 60.0) -> None:
        if not self.act("wait", timeout=timeout):
            raise LabError("%s does not serve after %g s" % (self.name, timeout))

    # --- faults, each for as long as the block lasts --------------------------------------------------------------

    @contextlib.contextmanager
    def unreachable(self) -> Iterator[None]:
        """Nothing comes through, and nobody is told; also across a reboot."""
        self.act("cut_off", off=True)
        try:
            yield
        finally:
            self.act("cut_off", off=False)

    @contextlib.contextmanager
    def without_ssh(self) -> Iterator[None]:
        """Connections to sshd are refused; those that are there go on."""
        self.run("systemctl", "stop", "ssh.service")
        try:
            yield
        finally:
            self.run("systemctl", "start", "ssh.service")

    @contextlib.contextmanager
    def without_metadata(self) -> Iterator[None]:
        """Connections to the metadata service are refused."""
        self.act("refuse_metadata", refuse=True)
        try:
            yield
        finally:
            self.act("refuse_metadata", refuse=False)

    @contextlib.contextmanager
    def slow_metadata(self, seconds: float) -> Iterator[None]:
        fault = self._lab.simulator("POST", "/faults", {"kind": "delay", "vm": self.vm_name, "seconds": seconds, "times": None})
        try:
            yield
        finally:
            self._lab.simulator("DELETE", "/faults/%d" % fault["fault"])

    @contextlib.contextmanager
    def wrong_clock(self, seconds: int) -> Iterator[None]:
        """What new connections, and what they start, take for the time."""
        with self.environment(**self.act("faketime", seconds=seconds)):
            yield

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        self.act("fill_disk")
        try:
            yield
        finally:
            self.act("empty_disk")

    @contextlib.contextmanager
    def environment(self, **variables: str) -> Iterator[None]:
        """What new connections have in their environment, beside what outer blocks have set. Connections that are kept end."""
        outer = dict(self._variables)
        self._set_environment({**outer, **variables})
        try:
            yield
        finally:
            self._set_environment(outer)

    def _set_environment(self, variables: Dict[str, str]) -> None:
        self._variables = variables
        self.act("environment", variables=variables)
        self.run("sh", "-c", "pkill -u %s sshd; true" % image.USER)


class Lab:
    """A lab that is there from open() to close(), and no longer than the process that opened it, unless it is left running."""

    def __init__(
        self,
        name: str = "",
        *,
        hosts: int = DEFAULT_HOSTS,
        binds: Sequence[Union[str, Path]] = (),
        simulator: Optional[Mapping[str, Any]] = None,
        variables: Optional[Mapping[str, str]] = None,
        exports: Optional[Mapping[str, str]] = None,
        **habits: Any,
    ) -> None:
        """binds: folders of this machine that hosts can read. variables: of all hosts in the inventory. exports: what commands inside
        the lab have in their environment. habits: of the platform.
        """
        self.folder = folder_of(name or "of-%d-%s" % (os.getpid(), uuid.uuid4().hex[:6]))
        self.hosts = {host.name: Host(self, host) for host in plan(hosts)}
        self._settings = {"hosts": hosts, "binds": [str(folder) for folder in binds], "simulator": dict(simulator or {}), "habits": habits}
        self._variables = dict(variables or {})
        self._exports = dict(exports or {})
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._group = limits.GROUP + uuid.uuid4().hex[:8]

    @classmethod
    def attach(cls, name: str) -> Lab:
        """The lab of this name, which somebody else has brought up."""
        folder = folder_of(name)
        if leftovers.alive(folder) is None:
            raise LabError("there is no lab %r; `make lab` brings one up" % name)
        return cls(name, hosts=json.loads((folder / "settings.json").read_text(encoding="utf-8"))["hosts"])

    # --- up and down ----------------------------------------------------------------------------------------------

    def open(self, *, leave_running: bool = False) -> Lab:
        needs.check()
        with leftovers.lock(self.folder.parent):
            leftovers.sweep(self.folder.parent)
            if self.folder.exists():
                raise LabError("a lab is running in %s; take it down first, `make lab` by `make lab-down`" % self.folder)
            self.folder.mkdir()
            self._remember()
        try:
            self._write_settings(image.ensure(CACHE), attached=not leave_running)
            self._start(leave_running)
            self._write_ways_in()
            self.learn_keys()
            if leave_running:
                self._remember(owned=False)
        except BaseException:
            self.close()
            raise
        return self

    def _write_settings(self, root_of_image: Path, *, attached: bool) -> None:
        for name in ("ssh", "console"):
            (self.folder / name).mkdir()
        key = self.folder / "ssh" / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(key)], check=True, stdin=subprocess.DEVNULL)
        settings: Dict[str, Any] = {
            **self._settings,
            "attached": attached,
            "image": str(root_of_image),
            "cgroup": "%s/%s" % (needs.cgroup_root(), self._group),
            "public_key": key.with_suffix(".pub").read_text(encoding="utf-8"),
        }
        self._write("settings.json", json.dumps(settings, indent=1))
        os.mkdir(settings["cgroup"])
        limits.make_room(len(self.hosts))

    def _start(self, leave_running: bool) -> None:
        """In new namespaces for processes, mounts and networks. The first process of a namespace takes all others with it."""
        command = [*APART, "--net", sys.executable, "-B", "-m", "lab.supervisor", str(self.folder)]
        # Marked, so that it is found even if its number was never written down.
        path = os.pathsep.join([str(PACKAGE.parent), str(SIMULATOR)])
        environment = {**os.environ, "PYTHONPATH": path, leftovers.MARK: str(self.folder)}
        log = self.folder / "supervisor.log"
        with open(log, "wb") as output:
            self._process = subprocess.Popen(
                command,
                # As long as the other end of the pipe is open, the lab is wanted.
                stdin=subprocess.DEVNULL if leave_running else subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        self._remember()
        end = time.monotonic() + _UP_LIMIT
        while True:
            said = log.read_text(encoding="utf-8", errors="replace")
            if "ready\n" in said:
                return
            if self._process.poll() is not None or time.monotonic() > end:
                raise LabError("the lab does not come up:\n%s" % "\n".join(said.splitlines()[-15:]))
            time.sleep(0.05)

    def _remember(self, *, owned: bool = True) -> None:
        """For whoever finds the folder after all are gone."""
        owner = leftovers.identity(os.getpid()) if owned else None
        lab = None if self._process is None else leftovers.identity(self._process.pid)
        self._write(leftovers.STATE, json.dumps({"group": self._group, "owner": owner, "lab": lab}))

    def close(self) -> None:
        """Nothing of it is left."""
        with leftovers.lock(self.folder.parent):
            if self.folder.exists():
                leftovers.remove(self.folder)
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Lab:
        return self.open()

    def __exit__(self, kind: Optional[Type[BaseException]], problem: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    # --- ways in --------------------------------------------------------------------------------------------------

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory.yml"

    def _write_ways_in(self) -> None:
        ssh = self.folder / "ssh"
        options = {
            "User": image.USER,
            "IdentityFile": str(ssh / "key"),
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": str(ssh / "known_hosts"),
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "BatchMode": "yes",
        }
        lines = ["Host %s\n  HostName %s" % (host.name, host.address) for host in self.hosts.values()]
        lines += ["Host *"] + ["  %s %s" % option for option in options.items()]
        self._write("ssh/config", "\n".join(lines) + "\n")
        self._write(
            "inventory.yml", inventory([host.plan for host in self.hosts.values()], {**self._ansible_variables(), **self._variables})
        )
        self._write("ansible.cfg", _ANSIBLE.format(folder=self.folder, ssh=self._keeping_connections()))
        exports = "".join("export %s=%s\n" % (name, shlex.quote(value)) for name, value in self._own_environment().items())
        pid = self._pid()
        self._write("run", _RUN.format(exports=exports, pid=pid, network=os.readlink("/proc/%d/ns/net" % pid)))
        os.chmod(self.folder / "run", 0o755)

    def _keeping_connections(self) -> str:
        short = len(str(self.folder)) <= _LONGEST_NAME
        return "control_path_dir = %s/ssh/cp" % self.folder if short else "ssh_args = -o ControlMaster=no"

    def _ansible_variables(self) -> Dict[str, str]:
        ssh = self.folder / "ssh"
        return {
            "ansible_user": image.USER,
            "ansible_ssh_private_key_file": str(ssh / "key"),
            "ansible_ssh_common_args": "-o UserKnownHostsFile=%s -o GlobalKnownHostsFile=/dev/null -o IdentitiesOnly=yes"
            % (ssh / "known_hosts"),
        }

    def learn_keys(self) -> None:
        keys = {host["name"]: host["host_key"] for host in self.ask("status")["hosts"]}
        lines = ["%s %s\n" % (host.address, keys[host.name]) for host in self.hosts.values() if keys[host.name]]
        self._write("ssh/known_hosts", "".join(lines))

    def _write(self, name: str, text: str) -> None:
        """Whole or not at all: somebody may be reading."""
        path = self.folder / name
        new = path.with_name(path.name + ".new")
        new.write_text(text, encoding="utf-8")
        os.replace(new, path)

    # --- using it -------------------------------------------------------------------------------------------------

    def ask(self, question: str, *, patience: float = 120.0, **options: Any) -> Any:
        return wire.ask(self.folder, {"ask": question, **options}, timeout=patience)

    def simulator(self, verb: str, path: str, body: Any = None, query: Any = None) -> Any:
        """The control plane of the metadata service."""
        return self.ask("simulator", verb=verb, path=path, body=body, query=query)

    def habits(self, **changes: Any) -> None:
        """From the next event on the platform behaves so."""
        self.ask("habits", **changes)

    def schedule(self, event_type: str, *hosts: Union[Host, str], **options: Any) -> LabEvent:
        """An event for these hosts, or for VMs by their names in any spelling. It is over when the fabric has done its work."""
        resources = [host.vm_name if isinstance(host, Host) else host for host in hosts]
        body = {"event_type": event_type, "resources": resources, "runs_for": None, **options}
        return LabEvent(self, str(self.simulator("POST", "/events", body)["event_id"]))

    def fail_hardware(self, host: Host, **options: Any) -> LabEvent:
        """The host is hit without notice."""
        answer = self.simulator("POST", "/failures", {"vm": host.vm_name, "runs_for": None, **options})
        return LabEvent(self, str(answer["event_id"]))

    def requests(self, host: Optional[Host] = None, **query: str) -> List[Dict[str, Any]]:
        """What hosts have asked the metadata service."""
        where = {"last": str(_ALL), **query, **({} if host is None else {"vm": host.vm_name})}
        found: List[Dict[str, Any]] = self.simulator("GET", "/log", query=where)["requests"]
        return found

    def command(self, words: Sequence[str]) -> List[str]:
        """The same command inside the lab's network."""
        return ["nsenter", "--target", str(self._pid()), "--net", "--", *words]

    def environment(self) -> Dict[str, str]:
        """Of commands inside the lab's network."""
        return {**os.environ, **self._own_environment()}

    def _own_environment(self) -> Dict[str, str]:
        return {**self._exports, leftovers.MARK: str(self.folder), "ANSIBLE_CONFIG": str(self.folder / "ansible.cfg")}

    def start(self, words: Sequence[str], **more: Any) -> subprocess.Popen[str]:
        """A command inside the lab's network, which the caller waits for."""
        options: Dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "env": self.environment(),
        }
        # A session of its own, so that it can be ended with all that it has started.
        return subprocess.Popen(self.command(words), text=True, start_new_session=True, **{**options, **more})

    def run(self, words: Sequence[str], *, timeout: float = 120.0, **more: Any) -> subprocess.CompletedProcess[str]:
        with self.start(words, **more) as process:
            return finish(process, timeout=timeout)

    def _pid(self) -> int:
        pid = leftovers.alive(self.folder)
        if pid is None:
            raise LabError("the lab in %s is not running" % self.folder)
        return pid


def finish(process: subprocess.Popen[str], *, timeout: float) -> subprocess.CompletedProcess[str]:
    """What a command that start() has begun came to; it does not outlast its time."""
    words: List[str] = list(process.args)  # type: ignore[arg-type]
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as late:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise LabError("%s: not done within %g s" % (" ".join(words), timeout)) from late
    return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)


_ANSIBLE = """\
[defaults]
inventory = {folder}/inventory.yml
host_key_checking = True
retry_files_enabled = False
forks = 32
interpreter_python = auto_silent

[ssh_connection]
{ssh}
"""
# The name of a socket is short: the folder, what ssh puts behind it, and an end.
_LONGEST_NAME = 108 - 50

# What `make lab` prints: a command inside the lab's network, with Ansible told about the lab. Where the lab is not any more, the
# number may be another process's, and the network the machine's own.
_RUN = """\
#!/bin/sh
# run COMMAND...: the command inside the lab's network; for example: run ansible all -m ping
if [ "$(readlink /proc/{pid}/ns/net)" != "{network}" ]; then echo "the lab is not running any more" >&2; exit 1; fi
{exports}exec nsenter --target {pid} --net -- "$@"
"""
