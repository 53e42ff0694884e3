# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host: its disks, its boots and its ends. Runs inside the lab's namespaces."""

from __future__ import annotations

import contextlib
import glob
import os
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import network
from .errors import LabError
from .image import USER
from .plan import HostPlan
from .programs import run

# What a host may write, and what is counted only when it does.
DISK_SIZE = "768m"
TEMPORARY_DISK_SIZE = "64m"
TEMPORARY_DISK = "/mnt/resource"
# An orderly end that takes longer is cut short, as a platform does.
ORDERLY = 10.0
# Against whoever writes while the disk is being filled.
_FILLS = 20
# What systemd as the first process takes for "power off".
_POWER_OFF = signal.SIGRTMIN + 4
_REBOOTED = 133  # systemd-nspawn's exit code when the host asked for a reboot
RUNNING, DOWN, DELETED = "running", "down", "deleted"


@dataclass(frozen=True)
class Soil:
    """What all hosts of a lab stand on."""

    image: Path
    disks: Path  # a folder of the lab's own mount namespace
    cgroup: Path
    public_key: str
    binds: Sequence[str]  # folders of this machine that hosts can read
    console: Path  # a folder for what hosts say at boot


class Machine:
    """A host that can be booted, stopped, frozen and deleted, by one caller at a time."""

    def __init__(self, plan: HostPlan, soil: Soil) -> None:
        self.plan = plan
        self.state = DOWN
        self.frozen = False
        self.thaws = 0
        self.boots = 0
        # How often its disks were made: another number is another host under the same name.
        self.made = 0
        # What ssh may expect of it; None if there is no host.
        self.host_key: Optional[str] = None
        self._freezes = 0
        # A host that is kept down does not come back, whatever the fabric does.
        self.kept_down = False
        # Faults of its network, which outlast a reboot.
        self._cut_off = False
        self._metadata_refused = False
        self._soil = soil
        self._top = soil.disks / plan.name
        self._root = self._top / "root"
        self._cgroup = soil.cgroup / plan.name
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._ending = False
        self._lock = threading.RLock()

    @property
    def _console(self) -> Path:
        return self._soil.console / (self.plan.name + ".log")

    def last_words(self) -> str:
        """What it said on its console, the end of it."""
        with contextlib.suppress(OSError):
            return "\n".join(self._console.read_text(encoding="utf-8", errors="replace").splitlines()[-8:])
        return ""

    def as_dict(self) -> Dict[str, Any]:
        return {
            "name": self.plan.name,
            "state": self.state,
            "frozen": self.frozen,
            "freezes": self._freezes,
            "thaws": self.thaws,
            "boots": self.boots,
            "kept_down": self.kept_down,
        }

    # --- disks ----------------------------------------------------------------------------------------------------

    def make(self) -> None:
        """Disks and identity, as new."""
        with self._lock:
            self._mount()
            etc = self._root / "etc"
            (etc / "hostname").write_text(self.plan.host_name + "\n", encoding="utf-8")
            # Without it systemd would take this for a first boot, and enable what Debian does not.
            (etc / "machine-id").write_text(uuid.uuid4().hex + "\n", encoding="ascii")
            (etc / "hosts").write_text("127.0.0.1 localhost\n127.0.1.1 %s\n" % self.plan.host_name, encoding="utf-8")
            key = etc / "ssh" / "ssh_host_ed25519_key"
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key))
            self.host_key = key.with_suffix(".pub").read_text(encoding="utf-8").strip()
            self.made += 1
            self._admit()
            self._open_ways_to_binds()

    def _open_ways_to_binds(self) -> None:
        """What is mounted from this machine, maybe from root's home, is for all users of a host."""
        for bind in self._soil.binds:
            for parent in Path(bind).parents:
                folder = self._root / parent.relative_to("/")
                if folder.is_dir():
                    folder.chmod(folder.stat().st_mode | 0o111)

    def _mount(self) -> None:
        disk, temporary = self._top / "disk", self._top / "temporary"
        for folder in (disk, temporary, self._root):
            folder.mkdir(parents=True)
        run("mount", "-t", "tmpfs", "-o", "mode=755,size=" + DISK_SIZE, "disk", str(disk))
        run("mount", "-t", "tmpfs", "-o", "mode=755,size=" + TEMPORARY_DISK_SIZE, "temporary", str(temporary))
        (disk / "upper").mkdir()
        (disk / "work").mkdir()
        layers = "lowerdir=%s,upperdir=%s,workdir=%s" % (self._soil.image, disk / "upper", disk / "work")
        run("mount", "-t", "overlay", "-o", layers, "root", str(self._root))

    def _admit(self) -> None:
        home = self._root / "home" / USER
        owner = os.stat(home)
        folder = home / ".ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "authorized_keys").write_text(self._soil.public_key, encoding="utf-8")
        for path in (folder, folder / "authorized_keys"):
            os.chown(path, owner.st_uid, owner.st_gid)

    def destroy(self) -> None:
        """The disks are gone; unmounting waits for what the kernel still holds."""
        with self._lock:
            self.host_key = None
            for folder in (self._root, self._top / "temporary", self._top / "disk"):
                run("umount", "--lazy", str(folder))
            shutil.rmtree(self._top)

    def wipe_temporary_disk(self) -> None:
        """As a new machine brings it: empty."""
        folder = self._top / "temporary"
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def fill_disk(self) -> None:
        """Not a byte more fits. The disk is made smaller instead of filled, since it is memory."""
        for attempt in range(_FILLS):
            used = os.statvfs(self._top / "disk")
            try:
                run("mount", "-o", "remount,size=%d" % ((used.f_blocks - used.f_bfree) * used.f_frsize), str(self._top / "disk"))
                return
            except LabError:
                # Somebody has written meanwhile, and a disk cannot be smaller than what is on it.
                if attempt == _FILLS - 1:
                    raise

    def empty_disk(self) -> None:
        run("mount", "-o", "remount,size=" + DISK_SIZE, str(self._top / "disk"))

    def set_environment(self, variables: Mapping[str, str]) -> None:
        """What sessions from now on have in their environment; nothing else."""
        lines = ["%s=%s\n" % item for item in variables.items()]
        (self._root / "etc" / "environment").write_text("".join(lines), encoding="utf-8")

    def faketime(self, seconds: int) -> Dict[str, str]:
        """The variables under which a process believes another time; its monotonic clock stays right."""
        found = glob.glob(str(self._root / "usr/lib/*/faketime/libfaketime.so.1"))
        if not found:
            raise LabError("there is no libfaketime on %s" % self.plan.name)
        library = "/" + os.path.relpath(found[0], self._root)
        return {"LD_PRELOAD": library, "FAKETIME": "%+d" % seconds, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    # --- boots and ends -------------------------------------------------------------------------------------------

    def boot(self) -> None:
        with self._lock:
            if self.state != DOWN:
                raise LabError("%s cannot boot: it is %s" % (self.plan.name, self.state))
            if self.kept_down:
                return
            self._start()

    def boot_if_down(self) -> None:
        """As the platform does it: whoever else has booted or deleted it meanwhile was first."""
        with self._lock:
            if self.state == DOWN:
                self.boot()

    def replace_hardware(self) -> None:
        """Off at once, and on again elsewhere: with an empty temporary disk."""
        with self._lock:
            if self.state != DELETED:
                self.power_off(orderly=False)
                self.wipe_temporary_disk()

    def _start(self) -> None:
        self._connect()
        self._cgroup.mkdir(exist_ok=True)
        command = [
            "systemd-nspawn",
            "--quiet",
            "--boot",
            "--directory=%s" % self._root,
            "--network-namespace-path=/run/netns/%s" % self.plan.name,
            "--register=no",
            "--keep-unit",
            "--console=read-only",
            "--resolv-conf=off",
            "--timezone=off",
            "--bind=%s:%s" % (self._top / "temporary", TEMPORARY_DISK),
            *("--bind-ro=%s" % folder for folder in self._soil.binds),
        ]
        # It enters its group before it has children, so that nothing of the host is ever outside.
        script = "echo 0 > %s/cgroup.procs && exec %s" % (shlex.quote(str(self._cgroup)), " ".join(shlex.quote(word) for word in command))
        # Hosts of today have one hierarchy of cgroups, whatever this machine has.
        environment = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        with open(self._console, "ab") as output:
            self._process = subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
        self.state = RUNNING
        self.boots += 1
        self._ending = False
        threading.Thread(target=self._watch, args=(self._process,), daemon=True).start()

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """A host may also end by itself: then it reboots if it said so, and otherwise stays down."""
        code = process.wait()
        with self._lock:
            if process is not self._process or self._ending:
                return
            self._over()
            if code == _REBOOTED and not self.kept_down:
                self._start()

    def _over(self) -> None:
        """A host that is off is silent: what its kernel still wants to send, and what others send to it, goes nowhere."""
        network.disconnect(self.plan)
        self._process = None
        self.state = DOWN
        self.frozen = False
        self._freezes = 0

    def power_off(self, *, orderly: bool) -> None:
        """In order within its time, or at once and without a word on the network, as when a machine breaks."""
        with self._lock:
            process = self._process
            if process is None:
                return
            self._ending = True
            if not orderly:
                network.cut(self.plan)
            elif not self.frozen:
                self._ask_to_end(process)
            self._kill(process)
            self._over()

    def _ask_to_end(self, process: subprocess.Popen[bytes]) -> None:
        leader = self.leader()
        if leader is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(leader, _POWER_OFF)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=ORDERLY)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        self._write("cgroup.kill", "1")
        process.kill()  # in case that it has not entered its group yet
        process.wait()
        self._write("cgroup.freeze", "0")
        for _attempt in range(500):
            if "populated 0" in (self._cgroup / "cgroup.events").read_text(encoding="utf-8"):
                return
            time.sleep(0.01)
        raise LabError("the processes of %s do not end" % self.plan.name)

    def delete(self) -> None:
        """Gone for good: no host, no disks; its cable stays silent."""
        with self._lock:
            if self.state == DELETED:
                return
            self.power_off(orderly=False)
            self.destroy()
            self.state = DELETED

    def recreate(self) -> None:
        """A new host with the old name: other disks, other keys."""
        with self._lock:
            self.delete()
            self.state = DOWN
            self.kept_down = False
            self.make()
            self.boot()

    def keep_down(self, *, down: bool) -> None:
        """Whether it fails to come back from its next end."""
        self.kept_down = down

    def freeze(self) -> None:
        """No process runs and no packet passes, until thaw()."""
        with self._lock:
            if self._process is None:
                return
            self._freezes += 1
            network.cut(self.plan)
            self._write("cgroup.freeze", "1")
            self.frozen = True

    def thaw(self) -> None:
        with self._lock:
            self._freezes = max(0, self._freezes - 1)
            if not self.frozen or self._freezes:
                return
            self._write("cgroup.freeze", "0")
            if not self._cut_off:
                network.mend(self.plan)
            self.frozen = False
            self.thaws += 1

    # --- its network ----------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        network.connect(self.plan)
        if self._cut_off:
            network.cut(self.plan)
        if self._metadata_refused:
            network.refuse_metadata(self.plan)

    def cut_off(self, *, off: bool) -> None:
        """Packets vanish both ways, and nobody is told."""
        with self._lock:
            self._cut_off = off
            if self._process is not None and not self.frozen:
                (network.cut if off else network.mend)(self.plan)

    def refuse_metadata(self, *, refuse: bool) -> None:
        """Connections to the metadata service are refused."""
        with self._lock:
            if self._process is not None and refuse != self._metadata_refused:
                (network.refuse_metadata if refuse else network.allow_metadata)(self.plan)
            self._metadata_refused = refuse

    def _write(self, name: str, value: str) -> None:
        (self._cgroup / name).write_text(value, encoding="ascii")

    # --- looking inside -------------------------------------------------------------------------------------------

    def leader(self) -> Optional[int]:
        """The first process of the host."""
        process = self._process
        if process is None:
            return None
        try:
            children = Path("/proc/%d/task/%d/children" % (process.pid, process.pid)).read_text(encoding="ascii").split()
        except OSError:
            return None
        return int(children[0]) if children and _is_first_process(children[0]) else None

    def run(self, command: Sequence[str], *, timeout: float) -> Dict[str, Any]:
        """A command on the host as root, also where no packet reaches it."""
        leader = self.leader()
        if leader is None:
            raise LabError("%s is %s" % (self.plan.name, "still booting" if self.state == RUNNING else self.state))
        enter = ["nsenter", "--target", str(leader), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--"]
        try:
            answer = subprocess.run(
                # Its own time-out, which ends what it has started on the host too.
                [*enter, "timeout", "--kill-after=1", "%g" % timeout, *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout + 5,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise LabError("%s: no answer within %g s on %s" % (" ".join(command), timeout, self.plan.name)) from late
        return {"code": answer.returncode, "stdout": answer.stdout, "stderr": answer.stderr}

    def serves(self) -> bool:
        """Whether its sshd answers."""
        try:
            with socket.create_connection((self.plan.address, 22), timeout=0.5) as connection:
                connection.settimeout(1.0)
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def is_at_work(self) -> bool:
        """Whether its sshd listens, seen from inside: faults of the network make no difference."""
        leader = self.leader()
        if leader is None or self.frozen:
            return False
        try:
            tables = [Path("/proc/%d/net/%s" % (leader, name)).read_text(encoding="ascii") for name in ("tcp", "tcp6")]
        except OSError:
            return False
        return any(_is_listening(line.split()) for table in tables for line in table.splitlines()[1:])

    def wait_until_it_serves(self, *, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.state == RUNNING and not self.frozen and self.serves():
                return True
            time.sleep(0.05)
        return False


def _is_first_process(pid: str) -> bool:
    """Not a helper of systemd-nspawn's, which is still outside the host."""
    try:
        status = Path("/proc/%s/status" % pid).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    fields = dict(line.split(":", 1) for line in status if ":" in line)
    return fields.get("Name", "").strip() == "systemd" and fields.get("NSpid", "").split()[-1:] == ["1"]


def _is_listening(words: Sequence[str]) -> bool:
    """A line of the kernel's table of sockets: port 22, state 10."""
    return len(words) > 3 and words[1].endswith(":0016") and words[3] == "0A"


def serving(machines: List[Machine], *, timeout: float) -> List[Machine]:
    """Those that do not serve after this time."""
    end = time.monotonic() + timeout
    return [machine for machine in machines if not machine.wait_until_it_serves(timeout=max(0.1, end - time.monotonic()))]
