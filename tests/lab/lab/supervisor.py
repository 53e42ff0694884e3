# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that is a lab: the first one of its own namespaces, so that with it everything else ends.

Started by `client` as `unshare ... python -m lab.supervisor FOLDER`. FOLDER/settings.json says what to bring up.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping

from imds_simulator import Simulator
from imds_simulator.client import Client
from imds_simulator.errors import SimulatorError
from imds_simulator.model import SINGLE

from . import network, wire
from .errors import LabError
from .fabric import Fabric, Habits, habits
from .machine import Machine, Soil, serving
from .plan import METADATA_ADDRESS, HostPlan, plan, scopes
from .programs import run

# Mounted empty in the lab's own mount namespace: whatever writes below /run, also systemd-nspawn, leaves nothing on the machine.
RUN = Path("/run")
DISKS = RUN / "lab"
CONTROL_PORT = 9255
_BOOT_LIMIT = 60.0
_REAP = 0.5


class Supervisor:
    """All parts of a lab, and what can be asked of them from outside."""

    def __init__(self, folder: Path) -> None:
        settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        self._folder = folder
        self._attached = bool(settings["attached"])
        self._plans: List[HostPlan] = plan(settings["hosts"])
        soil = Soil(
            image=Path(settings["image"]),
            disks=DISKS,
            cgroup=Path(settings["cgroup"]),
            public_key=settings["public_key"],
            binds=settings["binds"],
            console=folder / "console",
        )
        self._machines = {host.name: Machine(host, soil) for host in self._plans}
        self._simulator = Simulator(
            data=(METADATA_ADDRESS, 80), control=("127.0.0.1", CONTROL_PORT), rate_limit=5, deletes_vms=True, **settings["simulator"]
        )
        self._control = Client("http://127.0.0.1:%d" % CONTROL_PORT)
        self._fabric = Fabric(self._simulator, self._machines, habits(Habits(), settings["habits"]))

    # --- up and down ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        if self._attached:
            threading.Thread(target=_end_with_the_owner, daemon=True).start()
        run("mount", "-t", "tmpfs", "-o", "mode=755", "lab", str(RUN))
        DISKS.mkdir()
        network.lay()
        self._simulator.open()
        try:
            for scope in scopes(self._plans):
                self._simulator.add_scope(**scope)
            with ThreadPoolExecutor(max_workers=4) as workers:
                list(workers.map(_bring_up, self._machines.values()))
            silent = serving(list(self._machines.values()), timeout=_BOOT_LIMIT)
            if silent:
                raise LabError(
                    "no answer from %s within %g s. The first one said last:\n%s"
                    % (", ".join(machine.plan.name for machine in silent), _BOOT_LIMIT, silent[0].last_words())
                )
            self._answer_questions()
        finally:
            self._simulator.close()

    def _answer_questions(self) -> None:
        """For ever: the end of this process is that of the lab."""
        with wire.listen(self._folder) as listener:
            print("ready", flush=True)
            while True:
                readable = select.select([listener], [], [], _REAP)[0]
                self._reap()
                if readable:
                    connection = listener.accept()[0]
                    threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _reap(self) -> None:
        """As the first process of its namespace it inherits those of hosts that were killed. Nobody else here is called so."""
        for entry in Path("/proc/self/task/%d/children" % os.getpid()).read_text(encoding="ascii").split():
            try:
                stat = Path("/proc/%s/stat" % entry).read_text(encoding="utf-8", errors="replace")
                if stat.rsplit(")", 1)[1].split()[0] == "Z" and "(systemd)" in stat:
                    os.waitpid(int(entry), os.WNOHANG)
            except (OSError, IndexError):
                continue

    # --- questions ------------------------------------------------------------------------------------------------

    def _converse(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(300.0)
            try:
                question = wire.receive(connection)
                answer = {"result": self._answer(question)}
            except (LabError, SimulatorError) as problem:
                answer = {"error": str(problem)}
            except Exception as problem:  # noqa: BLE001  (the one who asks must hear of it)
                traceback.print_exc(file=sys.stderr)
                answer = {"error": "%s: %s" % (type(problem).__name__, problem)}
            with contextlib.suppress(OSError):  # maybe nobody waits for it any more
                wire.send(connection, answer)

    def _answer(self, question: Mapping[str, Any]) -> Any:
        asked: Dict[str, Callable[..., Any]] = {
            "status": self._status,
            "simulator": self._ask_simulator,
            "habits": self._change_habits,
            "exec": self._run_on,
            "host": self._act_on,
        }
        rest = dict(question)
        name = rest.pop("ask", None)
        if name not in asked:
            raise LabError("there is no question %r" % (name,))
        return asked[name](**rest)

    def _status(self) -> Dict[str, Any]:
        return {
            "hosts": [{**machine.as_dict(), "host_key": machine.host_key} for machine in self._machines.values()],
        }

    def _ask_simulator(self, verb: str, path: str, body: Any = None, query: Any = None) -> Any:
        return self._control.ask(verb, path, body, query)

    def _change_habits(self, **changes: Any) -> None:
        self._fabric.habits = habits(self._fabric.habits, changes)

    def _machine(self, host: str) -> Machine:
        if host not in self._machines:
            raise LabError("there is no host %r, only %s" % (host, ", ".join(self._machines)))
        return self._machines[host]

    def _run_on(self, host: str, command: List[str], timeout: float) -> Any:
        return self._machine(host).run(command, timeout=timeout)

    def _act_on(self, host: str, act: str, **options: Any) -> Any:
        machine = self._machine(host)
        acts: Dict[str, Callable[..., Any]] = {
            "cut_off": machine.cut_off,
            "refuse_metadata": machine.refuse_metadata,
            "fill_disk": machine.fill_disk,
            "empty_disk": machine.empty_disk,
            "environment": machine.set_environment,
            "faketime": machine.faketime,
            "freeze": machine.freeze,
            "thaw": machine.thaw,
            "boot": machine.boot,
            "keep_down": machine.keep_down,
            "vanish": lambda: machine.power_off(orderly=False),
            "recreate": lambda: self._recreate(machine),
            "wait": machine.wait_until_it_serves,
        }
        if act not in acts:
            raise LabError("nobody can %r a host, only %s" % (act, ", ".join(acts)))
        return acts[act](**options)

    def _recreate(self, machine: Machine) -> None:
        """The host and its VM: the same names, another vmId."""
        vms = {vm["vm"]: vm for vm in self._control.ask("GET", "/vms")["vms"]}
        name, scope = machine.plan.vm_name, next(scope for scope in scopes(self._plans) if scope["name"] == machine.plan.scope)
        if name in vms:
            self._simulator.recreate_vm(name)
        elif scope["kind"] == SINGLE:
            self._simulator.add_scope(**scope)
        else:
            options = next(vm for vm in scope["vms"] if vm["name"] == name)
            self._simulator.add_vm(name, scope=scope["name"], **{key: value for key, value in options.items() if key != "name"})
        machine.recreate()


def _end_with_the_owner() -> None:
    """Whoever opened this lab holds the other end of a pipe. Without a farewell: the kernel ends all that is in here."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os._exit(0)


def _bring_up(machine: Machine) -> None:
    machine.make()
    machine.boot()


def main(folder: str) -> int:
    try:
        Supervisor(Path(folder)).run()
    except (LabError, SimulatorError, OSError) as problem:
        print("failed: %s" % problem, flush=True)
    return 1


if __name__ == "__main__":
    # Not waiting for threads that wait for hosts.
    os._exit(main(sys.argv[1]))
