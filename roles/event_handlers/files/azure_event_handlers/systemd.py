# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers as transient units of systemd. Wants systemd 245 or newer.

Beside each unit lie small files, below /run like the unit itself:

* `.stdin` and `.environment` are what the handler is given. On no command line, in no unit file: others read those.
* `.begun`, a folder: the handler has begun, or may never begin. systemd makes it just before the handler starts, with full privileges
  however the handler is confined, and does not start the handler where it is there already. So a unit that an operator has stopped, reset
  or restarted is not begun a second time in this boot.
* `.told`: what systemd knew of the handler's end when it was told to stop the unit, which it then forgets. It is the environment of the
  command that stops. A handler that still ran has no exit code that counts, whatever it says on its way out.
* `.refused`: why systemd has not taken the unit.

No shell is in it.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import uuid
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional, Sequence

from .errors import HandlersError
from .files import write_text
from .launcher import BACKSTOP, LONGEST_TAIL, UNIT, Job, Launcher, Seen

# When the machine stops it ends first: else it would take handlers that end with the machine for failed ones.
EXECUTOR = "azure-event-executor.service"
# Seconds between the two signals to a handler that is to end.
GRACE = 5
# Of what a handler says; the end is what a person wants to read.
TAIL_LINES = 20
# Lines in so many seconds that the journal takes of one handler; it multiplies them by up to six where its disk has room.
_MOST_LINES, _PER_SECONDS = 1000, 30
# Until a program is believed to hang. A stop may take the grace twice; the journal is not worth waiting for.
_PATIENCE, _PATIENCE_TO_STOP, _PATIENCE_FOR_JOURNAL = 20.0, 30.0, 5.0
_PROGRAMS = "/usr/sbin:/usr/bin:/sbin:/bin"
_BOOT, _KERNELS_BOOT = "boot", "/proc/sys/kernel/random/boot_id"

_STDIN, _ENVIRONMENT, _BEGUN, _TOLD, _REFUSED = ".stdin", ".environment", ".begun", ".told", ".refused"
# systemd tells the command that stops by these how the handler has ended.
_CODE, _STATUS = "EXIT_CODE", "EXIT_STATUS"
SYSTEMDS = frozenset((_CODE, _STATUS, "SERVICE_RESULT"))
_LONGEST_REASON = 1000
# Neither a failure nor worth an alarm: "not yet", and "it was so already".
_ANSWERS = "75 77"
# As waitid(2) says it.
_EXITED = "1"
_SHOWN = "Id,LoadState,ActiveState,SubState,Result,ExecMainCode,ExecMainStatus,Job"

# Properties that handlers may not bring along. They would break what the executor counts on: when a unit begins, that it begins once, how
# long it may run, what it reads, that its end is seen and its output kept, and that all of it can be ended.
_OURS = """
    Type ExitType RemainAfterExit GuessMainPID PIDFile BusName NotifyAccess CollectMode Names Transient
    ExecStart ExecStartEx ExecStartPre ExecStartPreEx ExecStartPost ExecStartPostEx ExecCondition ExecConditionEx ExecReload ExecReloadEx
    ExecReloadPost ExecReloadPostEx ExecStop ExecStopEx ExecStopPost ExecStopPostEx RootDirectoryStartOnly PermissionsStartOnly
    Restart RestartSec RestartUSec RestartSteps RestartMaxDelaySec RestartMode RestartPreventExitStatus RestartForceExitStatus
    SuccessExitStatus
    RuntimeMaxSec RuntimeMaxUSec RuntimeRandomizedExtraSec TimeoutSec TimeoutStartSec TimeoutStopSec TimeoutAbortSec
    TimeoutStartFailureMode TimeoutStopFailureMode WatchdogSec JobTimeoutSec JobRunningTimeoutSec JobTimeoutAction JobTimeoutRebootArgument
    KillMode KillSignal RestartKillSignal FinalKillSignal WatchdogSignal SendSIGKILL SendSIGHUP
    StandardInput StandardInputText StandardInputData StandardInputFile StandardInputFileDescriptor StandardInputFileDescriptorName
    StandardOutput StandardOutputFile StandardOutputFileToAppend StandardOutputFileToTruncate StandardOutputFileDescriptorName
    StandardError StandardErrorFile StandardErrorFileToAppend StandardErrorFileToTruncate StandardErrorFileDescriptorName
    TTYPath TTYReset TTYVHangup TTYVTDisallocate TTYRows TTYColumns Sockets OpenFile
    LogNamespace LogLevelMax LogRateLimitInterval LogRateLimitIntervalSec LogRateLimitBurst LogFilterPatterns
    Environment EnvironmentFile EnvironmentFiles PassEnvironment UnsetEnvironment
    DefaultDependencies IgnoreOnIsolate RefuseManualStart RefuseManualStop StopWhenUnneeded AllowIsolate SurviveFinalKillSignal
    Requires Requisite RequiresMountsFor WantsMountsFor Wants BindsTo PartOf Upholds Conflicts Before After OnFailure OnFailureJobMode
    OnSuccess OnSuccessJobMode PropagatesReloadTo ReloadPropagatedFrom PropagatesStopTo StopPropagatedFrom JoinsNamespaceOf
    SuccessAction FailureAction SuccessActionExitStatus FailureActionExitStatus RebootArgument
    StartLimitInterval StartLimitIntervalSec StartLimitBurst StartLimitAction
    ConditionArchitecture ConditionFirmware ConditionVirtualization ConditionHost ConditionKernelCommandLine ConditionKernelVersion
    ConditionVersion ConditionCredential ConditionEnvironment ConditionSecurity ConditionCapability ConditionACPower ConditionNeedsUpdate
    ConditionFirstBoot ConditionPathExists ConditionPathExistsGlob ConditionPathIsDirectory ConditionPathIsSymbolicLink
    ConditionPathIsMountPoint ConditionPathIsReadWrite ConditionPathIsEncrypted ConditionPathIsSocket ConditionDirectoryNotEmpty
    ConditionFileNotEmpty ConditionFileIsExecutable ConditionUser ConditionGroup ConditionControlGroupController ConditionMemory
    ConditionCPUs ConditionCPUFeature ConditionOSRelease ConditionMemoryPressure ConditionCPUPressure ConditionIOPressure
    ConditionKernelModuleLoaded
    AssertArchitecture AssertFirmware AssertVirtualization AssertHost AssertKernelCommandLine AssertKernelVersion AssertVersion
    AssertCredential AssertEnvironment AssertSecurity AssertCapability AssertACPower AssertNeedsUpdate AssertFirstBoot AssertPathExists
    AssertPathExistsGlob AssertPathIsDirectory AssertPathIsSymbolicLink AssertPathIsMountPoint AssertPathIsReadWrite AssertPathIsEncrypted
    AssertPathIsSocket AssertDirectoryNotEmpty AssertFileNotEmpty AssertFileIsExecutable AssertUser AssertGroup
    AssertControlGroupController AssertMemory AssertCPUs AssertCPUFeature AssertOSRelease AssertMemoryPressure AssertCPUPressure
    AssertIOPressure AssertKernelModuleLoaded
"""
OURS = frozenset(_OURS.split())


@dataclass(frozen=True)
class Ran:
    """A program that has ended."""

    code: int
    stdout: str = ""
    stderr: str = ""


def _text_of(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read().strip()


# Its words, and the seconds that it may take. HandlersError where it cannot be run, or takes longer.
Run = Callable[[Sequence[str], float], Ran]


def run(words: Sequence[str], limit: float) -> Ran:
    try:
        ended = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={"PATH": _PROGRAMS, "LC_ALL": "C"},
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise HandlersError("%s gives no answer within %g s." % (words[0], limit)) from late
    except OSError as error:
        raise HandlersError("%s cannot be run: %s." % (words[0], error.strerror)) from error
    return Ran(ended.returncode, ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace"))


@dataclass(frozen=True)
class _Loaded:
    """What systemd says of a unit that it has in mind."""

    running: bool
    exit: Optional[int]
    result: str


@dataclass(frozen=True)
class _Told:
    """How a handler had ended when its unit was stopped; exit: None if it had not."""

    exit: Optional[int]


class Systemd(Launcher):
    """folder: empty after a start of the machine, and root's alone. prefix: of the names of all units that are this one's."""

    def __init__(self, folder: str, *, prefix: str = UNIT, run: Run = run) -> None:
        self._folder = folder
        self._prefix = prefix + "-"
        self._run = run
        self._boot: Optional[str] = None
        # Of those that have ended: the journal is asked once.
        self._tails: Dict[str, str] = {}

    @property
    def boot(self) -> str:
        """By what the machine forgets when it stops, as it forgets units. In a container the kernel's own word for it is not its own."""
        if self._boot is None:
            self._boot = self._boot_of(os.path.join(self._folder, _BOOT))
        return self._boot

    def _boot_of(self, path: str) -> str:
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                return _text_of(path)
            new = "%s.%d" % (path, os.getpid())
            write_text(new, uuid.uuid4().hex, mode=0o600)
            try:
                # There at once with its content, and only for the first.
                with contextlib.suppress(FileExistsError):
                    os.link(new, path)
            finally:
                os.unlink(new)
            return _text_of(path)
        except OSError:
            # A full /run is no reason to put nobody back.
            return _text_of(_KERNELS_BOOT)

    # --- seeing ---------------------------------------------------------------------------------------------------

    def units(self) -> Mapping[str, Seen]:
        # In this order: one that goes in between has left its mark before, and one that comes in between is not taken for one that went.
        begun = self._begun()
        loaded = self._loaded(self._prefix + "*")
        names = sorted({*loaded, *begun})
        return {name: self._seen(name, loaded.get(name)) for name in names}

    def _seen(self, name: str, loaded: Optional[_Loaded]) -> Seen:
        if loaded is not None and loaded.running:
            return Seen(running=True)
        told = self._told(name)
        ended = loaded if told is None else told
        return Seen(running=False, exit=None if ended is None else ended.exit, tail=self._tail(name, loaded))

    def _loaded(self, pattern: str) -> Dict[str, _Loaded]:
        """By name, all that systemd has in mind; one that has neither begun nor a job to begin is not among them."""
        ran = self._run(["systemctl", "show", pattern + ".service", "--property=" + _SHOWN], _PATIENCE)
        if ran.code != 0:
            raise HandlersError("Cannot see which handlers run: systemctl show failed: %s." % _reason(ran))
        found: Dict[str, _Loaded] = {}
        for block in ran.stdout.split("\n\n"):
            shown = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
            unit = _understood(shown)
            if unit is not None:
                found[shown["Id"][: -len(".service")]] = unit
        return found

    def _begun(self) -> List[str]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise HandlersError("Cannot see which handlers have begun: %s: %s." % (self._folder, error.strerror)) from error
        return [name[: -len(_BEGUN)] for name in names if name.startswith(self._prefix) and name.endswith(_BEGUN)]

    def _told(self, name: str) -> Optional[_Told]:
        try:
            with open(self._path(name, _TOLD), "rb") as file:
                variables = dict(entry.partition("=")[::2] for entry in file.read().decode("utf-8", "replace").split("\0"))
        except OSError:
            return None
        status = variables.get(_STATUS, "")
        return _Told(int(status) if variables.get(_CODE) == "exited" and status.isdigit() else None)

    def _tail(self, name: str, loaded: Optional[_Loaded]) -> str:
        if name not in self._tails:
            said = self._said(name) + self._why(name, loaded)
            self._tails[name] = said.encode("utf-8")[-LONGEST_TAIL:].decode("utf-8", "ignore")
        return self._tails[name]

    def _why(self, name: str, loaded: Optional[_Loaded]) -> str:
        """What systemd has to say about an end that is not the handler's own doing."""
        with contextlib.suppress(OSError), open(self._path(name, _REFUSED), encoding="utf-8", errors="replace") as file:
            return "systemd does not begin it: %s\n" % file.read()
        if loaded is None or loaded.result in ("success", "exit-code"):
            return ""
        return "systemd: %s\n" % loaded.result

    def _said(self, name: str) -> str:
        """What a handler has said is good to have, and nothing waits for it: a journal that is broken says nothing.

        Found by the unit's name, which no other try has, also in another boot: the journal does not always know the invocation of a
        process that has ended at once.
        """
        matches = ["_SYSTEMD_UNIT=%s.service" % name]
        try:
            # The last lines are still on their way to the journal when the handler has ended.
            self._run(["journalctl", "--sync"], _PATIENCE_FOR_JOURNAL)
            asked = ["journalctl", "--quiet", "--no-pager", "--output=cat", "--lines=%d" % TAIL_LINES, *matches]
            return self._run(asked, _PATIENCE_FOR_JOURNAL).stdout
        except HandlersError:
            return ""

    # --- doing ----------------------------------------------------------------------------------------------------

    def begin(self, name: str, job: Job) -> None:
        """One that systemd does not take has ended at once, nobody knows how, and its tail says why."""
        self._check(name)
        if os.path.isdir(self._path(name, _BEGUN)):
            return
        self._hand_over(name, job)
        problem = self._start(name, job)
        if problem is not None and name not in self._loaded(name):
            self._refuse(name, problem)

    def _hand_over(self, name: str, job: Job) -> None:
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            write_text(self._path(name, _STDIN), job.stdin.decode("utf-8", "surrogateescape"), mode=0o600)
            write_text(self._path(name, _ENVIRONMENT), _as_file(job.environment), mode=0o600)
        except OSError as error:
            raise self._failure("begin", name, "%s: %s" % (self._folder, error.strerror)) from error

    def _start(self, name: str, job: Job) -> Optional[str]:
        """Why systemd does not take it; maybe because it has it already."""
        for entry in job.properties:
            if entry.split("=", 1)[0] in OURS:
                return "the property %s is not for handlers" % entry.split("=", 1)[0]
        for variable in sorted(SYSTEMDS & set(job.environment)):
            return "the variable %s is not for handlers" % variable
        try:
            ran = self._run(self._command(name, job), _PATIENCE)
        except HandlersError as error:
            return error.message
        return None if ran.code == 0 else _reason(ran)

    def _command(self, name: str, job: Job) -> List[str]:
        properties = [
            "Type=exec",
            "RemainAfterExit=yes",
            "CollectMode=inactive",
            "RuntimeMaxSec=%dms" % max(1, round(job.limit * BACKSTOP * 1000)),
            "KillMode=control-group",
            "TimeoutStopSec=%ds" % GRACE,
            "SuccessExitStatus=%s" % _ANSWERS,
            "StandardInput=file:%s" % self._path(name, _STDIN),
            "StandardOutput=journal",
            "StandardError=inherit",
            "LogRateLimitIntervalSec=%ds" % _PER_SECONDS,
            "LogRateLimitBurst=%d" % _MOST_LINES,
            "EnvironmentFile=%s" % self._path(name, _ENVIRONMENT),
            "Before=%s" % EXECUTOR,
            # Not by a "+" before the two commands: until 254, systemd forgets commands with one when its configuration is read again.
            "PermissionsStartOnly=yes",
            "RootDirectoryStartOnly=yes",
            # Fails, and the handler does not start, where it is there already.
            "ExecStartPre=/bin/mkdir %s" % self._path(name, _BEGUN),
            "ExecStop=/bin/cp /proc/self/environ %s" % self._path(name, _TOLD),
        ]
        own = ["--property=%s" % entry for entry in properties]
        users = ["--property=%s" % entry for entry in job.properties]
        # By env, which says in the handler's output what is wrong with a file that cannot be run; and systemd itself may not be allowed to
        # run what lies below /var, where SELinux is strict.
        words = ["/usr/bin/env", *(word.replace("$", "$$") for word in job.command)]
        return ["systemd-run", "--quiet", "--no-ask-password", "--no-block", "--unit=%s.service" % name, *own, *users, "--", *words]

    def _refuse(self, name: str, problem: str) -> None:
        """Whatever systemd may still have of it on its way: the handler does not begin any more, or it has begun already."""
        try:
            os.mkdir(self._path(name, _BEGUN))
        except FileExistsError:
            return
        except OSError as error:
            raise self._failure("begin", name, "%s; and %s: %s" % (problem, self._folder, error.strerror)) from error
        with contextlib.suppress(OSError):
            write_text(self._path(name, _REFUSED), problem, mode=0o600)

    def stop(self, name: str) -> None:
        self._check(name)
        if not self._runs(name):
            return
        ran = self._systemctl("stop", name, _PATIENCE_TO_STOP)
        if self._runs(name):
            raise self._failure("stop", name, _reason(ran))

    def discard(self, name: str) -> None:
        self._check(name)
        if name in self._loaded(name):
            ran = self._systemctl("stop", name, _PATIENCE_TO_STOP)
            self._systemctl("reset-failed", name, _PATIENCE)
            if name in self._loaded(name):
                raise self._failure("stop", name, _reason(ran))
        self._remove_files(name)
        self._tails.pop(name, None)

    def _systemctl(self, verb: str, name: str, limit: float) -> Ran:
        """Who asks looks then whether it has come true: systemctl fails also where a unit has just gone by itself."""
        try:
            return self._run(["systemctl", verb, "--no-ask-password", name + ".service"], limit)
        except HandlersError as error:
            raise self._failure("stop", name, error.message.rstrip(".")) from error

    def _runs(self, name: str) -> bool:
        unit = self._loaded(name).get(name)
        return unit is not None and unit.running

    def _remove_files(self, name: str) -> None:
        # The mark last: what is there without it is nobody's.
        try:
            for kind in (_STDIN, _ENVIRONMENT, _TOLD, _REFUSED):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path(name, kind))
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(self._path(name, _BEGUN))
        except OSError as error:
            raise self._failure("forget", name, "%s: %s" % (self._folder, error.strerror)) from error

    def _check(self, name: str) -> None:
        """It becomes a word of commands, a pattern and the name of files."""
        if not name.startswith(self._prefix) or not re.fullmatch(r"[a-z0-9-]+[a-z0-9]", name):
            raise HandlersError("%s is not the name of a handler's unit." % ascii(name))

    def _path(self, name: str, kind: str) -> str:
        return os.path.join(self._folder, name + kind)

    @staticmethod
    def _failure(doing: str, name: str, why: str) -> HandlersError:
        return HandlersError("Cannot %s the unit %s: %s. See: systemctl status %s" % (doing, name, why, name))


def _understood(shown: Mapping[str, str]) -> Optional[_Loaded]:
    """systemd also answers for units that it does not have, and says success of them: only what it has loaded counts."""
    if shown.get("LoadState") != "loaded":
        return None
    active = shown.get("ActiveState")
    queued = shown.get("Job", "0") not in ("", "0")
    if active == "inactive" and not queued:
        return None
    # Until all of it has ended, also what a handler that has failed leaves behind, it runs; what one that is done leaves is for discard.
    ended = active == "failed" or (active == "active" and shown.get("SubState") == "exited")
    result = shown.get("Result", "")
    answered = shown.get("ExecMainCode") == _EXITED and result in ("success", "exit-code")
    code = int(shown.get("ExecMainStatus", "0")) if ended and answered else None
    return _Loaded(running=not ended, exit=code, result=result)


def _as_file(environment: Mapping[str, str]) -> str:
    """In single quotes nothing means anything, in all versions; systemd 245 reads a backslash in double quotes in another way."""
    lines = ["%s='%s'\n" % (name, value.replace("'", "'\"'\"'")) for name, value in sorted(environment.items())]
    return "".join(lines).encode("utf-8", "replace").decode("utf-8")


def _reason(ran: Ran) -> str:
    """What a program says against it, in one line."""
    said = " ".join(ran.stderr.split())[:_LONGEST_REASON].rstrip(". ")
    return said or ("exit code %d" % ran.code if ran.code else "it is still there")
