# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`azure-event-handlers`: what a person types on a host, and what a playbook runs there."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import signal
import socket
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times, host_clock_error
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import KNOWN_TYPES, Event, affects, event_result
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError, ServiceError, TimeFormatError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import MetadataService, Vm, connect
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant, parse_duration, say_duration

from . import asking, configuration, evidence, files, published, spool, trial, trials
from . import records as r
from .asking import Asking, Verdict
from .clocks import host_clock
from .configuration import Configuration, Handler
from .errors import BrokenRecordError, HandlersError, RefusedError
from .evidence import Journals
from .paths import Paths
from .published import Status
from .records import Record
from .terms import Moment

# The exit codes, also on the page of the command.
AS_ASKED, NO, WRONG_USE, NOT_YET, NO_EXECUTOR, NO_SERVICE = 0, 1, 2, 3, 4, 5
_CODES = {asking.PENDING: NOT_YET, asking.NO_ANSWER: NO_EXECUTOR}
_OF_A_DRIVER = (spool.PREPARE, spool.COMMIT, spool.ABORT, spool.SENDING, spool.APPROVED)
_ON_AN_EVENT = (*_OF_A_DRIVER, spool.RECOVER)
# A status that old was written by an agent or an executor that is not there any more; the agent writes every few seconds.
_STALE = 60.0
_RETRY_FOR = 20.0


class _Usage(Exception):
    """What was typed cannot be meant."""


@dataclass(frozen=True)
class Command:
    """One call: its options, where everything is, and the clocks."""

    options: argparse.Namespace
    paths: Paths
    clock: Clock
    owner: int

    def configured(self) -> Configuration:
        return configuration.load(self.paths, owner=self.owner)

    def status(self) -> Optional[Status]:
        """With its times by the wall clock as it is now, wherever that was set meanwhile."""
        status = published.read(self.paths.status)
        if status is None:
            return None
        now = Moment(self.clock.wall(), self.clock.monotonic(), status.boot)
        return replace(status, records=tuple(record.said_at(now) for record in status.records))


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    paths = Paths(os.path.abspath(options.root) if options.root else "")
    command = Command(options, paths, host_clock(), os.getuid() if options.root else 0)
    try:
        code: int = options.run(command)
    except RefusedError as problem:
        # As much a no as the executor's own.
        return _fail(options, problem.message, NO, asking.REFUSED)
    except HandlersError as problem:
        return _fail(options, problem.message, NO)
    except _Usage as problem:
        return _fail(options, str(problem), WRONG_USE)
    except (ConfigurationError, TimeFormatError) as problem:
        return _fail(options, problem.message, WRONG_USE)
    except ServiceError as problem:
        return _fail(options, problem.message, NO_SERVICE)
    except PermissionError as problem:
        return _fail(options, "%s: permission denied; run this as root, or with sudo." % problem.filename, NO)
    except FileNotFoundError as problem:
        return _fail(options, "%s is not there: is the role event_handlers installed on this host?" % problem.filename, NO_EXECUTOR)
    except OSError as problem:
        return _fail(options, "%s: %s." % (problem.filename, problem.strerror), NO)
    return code


def _fail(options: argparse.Namespace, message: str, code: int, verdict: str = "error") -> int:
    if getattr(options, "json", False):
        print(json.dumps({"ok": False, "verdict": verdict, "message": message}, sort_keys=True))
    else:
        print(message, file=sys.stderr)
    return code


# --- request -------------------------------------------------------------------------------------------------------------


def _request(command: Command) -> int:
    options = command.options
    return _told(options, _asked(command, _asking(command)))


def _asking(command: Command) -> Asking:
    options = command.options
    return Asking(command.paths, command.clock, _Teller(options.follow and not options.json))


def _told(options: argparse.Namespace, verdict: Verdict) -> int:
    if options.json:
        print(json.dumps(verdict.as_dict(), sort_keys=True))
    else:
        print(verdict.message, file=sys.stdout if verdict.good else sys.stderr)
    return AS_ASKED if verdict.good else _CODES.get(verdict.verdict, NO)


def _wait(command: Command) -> int:
    options = command.options
    verdict = _asking(command).wait(_one_record(command, options.event), timeout=parse_duration(options.timeout))
    if verdict is None:
        raise FileNotFoundError(2, "", command.paths.status)
    return _told(options, verdict)


class _Teller:
    """Each change of a record that is followed, a line each."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._last: Optional[Record] = None

    def __call__(self, record: Record) -> None:
        if self._wanted:
            if self._last is None or (self._last.state, self._last.reason) != (record.state, record.reason):
                print("%s: %s" % (record.state, record.reason), flush=True)
            for what, detail in evidence.changes(self._last, record):
                if what == evidence.RAN:
                    print("  " + _say_run(detail), flush=True)
        self._last = record


def _say_run(run: Mapping[str, Any]) -> str:
    return "%s %s: %s%s" % (run["handler"], run["phase"], run["outcome"], "" if run["exit"] is None else " (exit %d)" % run["exit"])


def _asked(command: Command, by: Asking) -> Verdict:
    options = command.options
    timeout = parse_duration(options.timeout)
    if options.what == spool.HOLD:
        until = command.clock.wall() + (parse_duration(options.duration) if options.duration else command.configured().hold_for)
        return by.ask(spool.HOLD, timeout=timeout, by=options.by, until=until, reason=options.reason or None)
    if options.what == spool.RELEASE and options.event is None:
        if options.force:
            raise _Usage("`release --force` is for one event: name it. Without --force and event it ends the hold.")
        return by.ask(spool.RELEASE, timeout=timeout, by=options.by)
    if options.what == spool.RELEASE:
        return by.ask(spool.RELEASE, options.event, timeout=timeout, by=options.by, force=options.force)
    if options.what == spool.RECOVER:
        return by.ask(spool.RECOVER, _one_record(command, options.event), timeout=timeout, by=options.by)
    driver = {"driver": options.driver, "run": options.run_id}
    if options.what in (spool.PREPARE, spool.COMMIT):
        names = {"inventory_name": options.inventory_name or None, "scope": options.scope or None}
        return _with_document(command, by, {**driver, **names, "lease": parse_duration(options.lease)}, timeout)
    if options.what == spool.ABORT:
        return by.ask(spool.ABORT, _one_record(command, options.event), timeout=timeout, **driver)
    outcome = {"outcome": options.outcome} if options.what == spool.APPROVED else {}
    event_id = _one_record(command, options.event)
    return by.ask(options.what, event_id, timeout=timeout, witness=options.witness or None, **outcome, **driver)


def _one_record(command: Command, event_id: Optional[str]) -> str:
    """The event that was named, or the only one there is."""
    if event_id is not None:
        return event_id
    status = command.status()
    known = [] if status is None else [record.event.event_id for record in status.records if record.is_open]
    if len(known) != 1:
        raise _Usage("Name the event; this host has %s." % (", ".join(known) or "none"))
    return known[0]


def _with_document(command: Command, by: Asking, driver: Mapping[str, Any], timeout: float) -> Verdict:
    """Prepare and commit rest on what the service shows now."""
    options, config = command.options, command.configured()
    service = _service(config)
    vm = service.vm(otherwise="vm_name in %s" % command.paths.configuration)
    event = _chosen(service, config.vm_name or vm.name, options.event)
    shown = asdict(event)
    if options.what == spool.COMMIT:
        return by.ask(spool.COMMIT, event.event_id, timeout=timeout, event=shown, **driver)
    times = _times(event, config, options)
    within = parse_duration(options.within) if options.within else min(times.prepare_budget, times.left(command.clock.wall()))
    if within <= 0:
        raise RefusedError("There is no time left to get ready: the event starts at %s." % format_instant(event.not_before or 0.0))
    return by.ask(
        spool.PREPARE, event.event_id, timeout=timeout, event=shown, vm_id=_vm_id(vm), times=asdict(times), within=within, **driver
    )


def _service(config: Configuration) -> MetadataService:
    clock = host_clock()
    return connect(endpoint=config.endpoint, api_version=config.api_version, timeout=config.timeout, retry_for=_RETRY_FOR, clock=clock)


def _vm_id(vm: Vm) -> str:
    """Without it nobody can tell this VM from one that is made anew under its name."""
    if not vm.vm_id:
        raise RefusedError("The metadata service does not say the vmId of this VM; a young VM may need a minute: ask again.")
    return vm.vm_id


def _chosen(service: MetadataService, vm_name: str, wanted: Optional[str]) -> Event:
    document = service.read().document
    ours = [event for event in document.events if affects(event, vm_name)]
    if wanted is None:
        if len(ours) != 1:
            raise _Usage("Name the event; for %s there is %s." % (vm_name, ", ".join(event.event_id for event in ours) or "none"))
        return ours[0]
    found = document.find(wanted)
    if found is None:
        raise RefusedError("The service does not show the event %s; `azure-event-handlers events` lists what it shows." % wanted)
    if found not in ours:
        raise RefusedError("The event %s does not name this VM, %s, but %s." % (wanted, vm_name, ", ".join(found.resources)))
    return found


def _times(event: Event, config: Configuration, options: argparse.Namespace) -> Times:
    """As the policy would count; a playbook counts for all hosts and says what it has counted."""
    limits = sum(handler.limit for handler in config.applicable(event) if handler.required)
    return Times(
        not_before=event.not_before,
        prepare_budget=parse_duration(options.budget) if options.budget else limits or config.settings.prepare_budget,
        approve_reserve=config.settings.approve_reserve,
        clock_error=host_clock_error(
            parse_duration(options.clock_error) if options.clock_error else None, synchronised=not options.clock_error
        ),
    )


# --- what is there -------------------------------------------------------------------------------------------------------


def _status(command: Command) -> int:
    status, seen = command.status(), _seen(command.paths)
    if status is None:
        raise FileNotFoundError(2, "", command.paths.status)
    # The executor may not have been there since, and says it otherwise.
    status = replace(
        status, problems=(*status.problems, *(text for text in map(str, trials.left(command.paths)) if text not in status.problems))
    )
    if command.options.json:
        print(json.dumps({**published.to_json(status), "agent": seen, "configured": _configured(command)}, sort_keys=True))
        return AS_ASKED
    for line in _status_lines(status, seen, command.clock.wall()):
        print(line)
    return AS_ASKED


def _configured(command: Command) -> Dict[str, Any]:
    """What counts for who plans with this host; problem: why nothing would be begun here."""
    try:
        config = command.configured()
    except ConfigurationError as wrong:
        return {"problem": wrong.message, "mode": None, "allow_empty_prepare": None, "handlers": []}
    handlers = [
        {"name": one.name, "event_types": list(one.event_types), "limit": one.limit, "required": one.required} for one in config.handlers
    ]
    return {"problem": None, "mode": config.mode, "allow_empty_prepare": config.allow_empty_prepare, "handlers": handlers}


def _status_lines(status: Status, seen: Optional[Mapping[str, Any]], now: float) -> List[str]:
    lines = [_say_agent(seen, now)]
    lines += ["problem: %s" % problem for problem in status.problems]
    lines += ["problem: the record %s cannot be read and was put aside; nothing runs for its event." % name for name in status.broken]
    # One that was over when it was written cannot be read, and holds too.
    if status.hold is not None and (now < status.hold.until or status.hold.until <= status.written_at):
        lines.append("held %s: nothing is prepared, committed or approved" % status.hold)
    opened = [record for record in status.records if record.is_open]
    if not opened:
        lines.append("no event of this VM is open")
    for record in opened:
        lines += _record_lines(record, now)
    return lines


def _say_agent(seen: Optional[Mapping[str, Any]], now: float) -> str:
    at = None if seen is None else seen.get("written_at")
    if not isinstance(at, (int, float)):
        return "the agent has not said anything since the machine started: see `systemctl status azure-event-agent`"
    if now - at > _STALE:
        return "the agent has been silent for %s: see `systemctl status azure-event-agent`" % say_duration(now - at)
    return "the agent is there"


def _record_lines(record: Record, now: float) -> List[str]:
    event, left = record.event, record.event.not_before
    when = (
        ""
        if left is None
        else ", Azure starts at %s%s"
        % (
            format_instant(left),
            "" if record.started_seen else " (in %s)" % say_duration(left - now) if left > now else "",
        )
    )
    lines = ["%s %s, %s%s" % (event.event_type, event.event_id, "started" if record.started_seen else "scheduled", when)]
    lines.append("  %s for %s: %s" % (record.state, say_duration(max(0.0, now - record.changed_at)), record.reason or "nothing to do yet"))
    if record.driver is not None:
        lines.append(
            "  in the hands of %s (run %s) until %s" % (record.driver.name, record.driver.run, format_instant(record.driver.lease.until))
        )
    for step in record.steps:
        words = ["%s %s" % (phase, _say_work(step.work(phase))) for phase in r.PHASES if step.work(phase).begun]
        lines.append("  %s: %s" % (step.handler, ", ".join(words) or "not begun"))
    return lines


def _say_work(work: r.Work) -> str:
    if work.over:
        return "%s%s" % (work.outcome, "" if work.exit in (None, 0) else " (exit %s)" % work.exit)
    if work.progress == r.INTENDED:
        return "running"
    return "again at %s, after %d tries (exit %s)" % (format_instant(work.not_before), work.tries, work.exit)


def _seen(paths: Paths) -> Optional[Dict[str, Any]]:
    try:
        data = files.read_json(paths.agents_facts)
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _events(command: Command) -> int:
    """As the service shows them now, to this VM."""
    config = command.configured()
    service = _service(config)
    name = config.vm_name or service.vm(otherwise="vm_name in %s" % command.paths.configuration).name
    reading = service.read()
    if command.options.json:
        shown = [event_result(event, queried_at=reading.queried_at, vm_name=name) for event in reading.document.events]
        print(json.dumps({"vm_name": name, "events": shown}, sort_keys=True))
        return AS_ASKED
    for event in reading.document.events:
        when = "started" if event.started else "at %s" % format_instant(event.not_before) if event.not_before is not None else "soon"
        whose = "this VM" if affects(event, name) else "other VMs"
        print("%s %s, %s, %s: %s" % (event.event_type, event.event_id, when, whose, ", ".join(event.resources)))
    if not reading.document.events:
        print("the service shows no event to %s" % name)
    return AS_ASKED


def _evidence(command: Command) -> int:
    wanted = command.options.event
    known = _records(command.paths)
    same = sorted((one for one in known if _is_meant(one, wanted)), key=lambda one: -one.occurrence)
    if not same:
        raise RefusedError("There is no record of an event %s here; there are: %s." % (wanted, ", ".join(_ids(known)) or "none"))
    lines = Journals(command.paths.journals).lines(same[0].key)
    print(json.dumps(evidence.of(same[0], lines, now=command.clock.wall()), sort_keys=True, indent=2))
    return AS_ASKED


def _is_meant(record: Record, wanted: str) -> bool:
    return wanted.lower() in (record.event.event_id.lower(), record.key)


def _ids(records: Sequence[Record]) -> List[str]:
    return sorted({record.event.event_id for record in records})


def _records(paths: Paths) -> List[Record]:
    """From the disk, without the lock: each file is whole at any time."""
    found = []
    for name in sorted(os.listdir(paths.records)):
        if name.endswith(".json") and len(name) == len("0123456789abcdef.json"):
            try:
                found.append(r.from_json(files.read_json(os.path.join(paths.records, name))))
            except (OSError, ValueError, BrokenRecordError):
                continue
    return found


def _check_config(command: Command) -> int:
    problems = configuration.check(command.paths, owner=command.owner)
    if command.options.json:
        print(json.dumps({"ok": not problems, "problems": problems}, sort_keys=True))
    else:
        for problem in problems:
            print(problem, file=sys.stderr)
        if not problems:
            print("The configuration is right.")
    return WRONG_USE if problems else AS_ASKED


def _test(command: Command) -> int:
    options, config = command.options, command.configured()
    handler = next((one for one in config.handlers if one.name == options.handler), None)
    if handler is None:
        raise _Usage("There is no handler %s; there are: %s." % (options.handler, ", ".join(one.name for one in config.handlers) or "none"))
    if options.phase == r.INSPECT:
        return _tried(command, handler)
    with trials.alone(command.paths, command.clock):
        opened = _in_progress(command)
        if opened:
            raise RefusedError("There is work for %s in progress; only `--phase inspect` is safe now." % ", ".join(opened))
        _let_look(command.paths)
        return _tried(command, handler)


def _in_progress(command: Command) -> List[str]:
    """Also what the executor has not published, because it does not run."""
    status = command.status()
    known = [] if status is None else list(status.records)
    with contextlib.suppress(FileNotFoundError):
        known += _records(command.paths)
    return sorted({record.event.event_id for record in known if record.is_open and record.steps})


def _let_look(paths: Paths) -> None:
    """The executor stays as long as there is a trial, and raises the alarm if that is killed; without an executor there is none."""
    with contextlib.suppress(OSError):
        spool.file_request(paths.requests, spool.LOOK)


def _tried(command: Command, handler: Handler) -> int:
    options = command.options
    wire = _Tripwire(handler.name, options.type)
    runs = trial.run(handler, options.type, options.phase, command.paths, command.clock, cut=wire.cut, late=wire.late)
    good = True
    try:
        with wire, contextlib.closing(runs):
            for run in runs:
                good = good and run.good
                _show_run(run, as_json=options.json)
    except _CutOffError as problem:
        return _cut_off("The trial was cut off by %s." % problem)
    except BrokenPipeError:
        # Else Python complains at its end that what it has in hand cannot be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _cut_off("The trial was cut off: nobody reads what it says.")
    return AS_ASKED if good else NO


def _show_run(run: trial.Run, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(run), sort_keys=True), flush=True)
        return
    print("%s: %s" % (run.phase, run.words), flush=True)
    for line in run.output.splitlines():
        print("  | " + line, flush=True)


def _cut_off(words: str) -> int:
    _warn(words)
    return NO


def _warn(words: str) -> None:
    """The terminal may be gone; the recovery goes on without it."""
    with contextlib.suppress(OSError):
        print(words, file=sys.stderr, flush=True)


class _CutOffError(Exception):
    """Somebody wants the trial to end."""


class _Tripwire:
    """Turns what would end the program into an exception, once: from then on, or from cut() on, nothing keeps it from the recovery."""

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self, handler: str, event_type: str) -> None:
        self._again = trials.again(handler, event_type)
        self._handler = handler
        self._before: Dict[int, Any] = {}
        self._drained = False

    def __enter__(self) -> None:
        for number in self._SIGNALS:
            # Under nohup it stays as it is.
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._trip)

    def __exit__(self, *_what: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._drained:
            _warn("The host may still be out of service: %s." % self._again)

    def _trip(self, number: int, _frame: object) -> None:
        self._ignore()
        raise _CutOffError(signal.Signals(number).name)

    def _ignore(self) -> None:
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def cut(self) -> None:
        self._ignore()
        self._drained = True
        _warn("Cut off after %s was asked to prepare: it is asked to recover now, which nothing interrupts." % self._handler)

    def late(self, run: trial.Run) -> None:
        self._drained = not run.good
        _warn("recover: %s" % run.words)


# --- the command line ----------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="azure-event-handlers",
        description="Azure's scheduled events on this host: what is known, what is done, and what you want done.",
        epilog="Exit codes: 0 as asked; 1 no, or not ready; 2 wrong use or wrong configuration; 3 not known yet when the time was over;"
        " 4 the executor does not answer; 5 the metadata service cannot be read.",
    )
    parser.add_argument("--root", default="", help="a folder that has everything, for a rehearsal")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_request(commands)
    waits = commands.add_parser(asking.WAIT, help="until nothing of an event is in effect here any more")
    _with_json(waits, _wait)
    _with_following(waits)
    waits.add_argument("event", metavar="EVENT", nargs="?", help="its id; may be left out where there is only one")
    for name, run, words in (
        ("status", _status, "what is known and done here"),
        ("events", _events, "what the metadata service shows to this VM now"),
        ("check-config", _check_config, "everything that is wrong in the configuration"),
    ):
        _with_json(commands.add_parser(name, help=words, description=words), run)
    shown = commands.add_parser("evidence", help="all that is known of one event, as JSON")
    shown.add_argument("event", metavar="EVENT", help="its id, or the key of its record")
    shown.set_defaults(run=_evidence)
    tested = commands.add_parser("test", help="run one handler with a made-up event; it really does its work")
    tested.add_argument("handler", metavar="HANDLER", help="its name, such as 10-haproxy")
    tested.add_argument("--type", choices=KNOWN_TYPES, required=True, help="of the made-up event")
    tested.add_argument("--phase", choices=(r.INSPECT, r.PREPARE, r.RECOVER), help="this one alone; else the whole round, back to service")
    _with_json(tested, _test)
    return parser


def _add_request(commands: Any) -> None:
    words = "ask the executor for something, and follow it to its end"
    request = commands.add_parser("request", help=words, description=words)
    what = request.add_subparsers(dest="what", metavar="WHAT", required=True)
    for name, help_text in (
        (spool.PREPARE, "get ready for an event"),
        (spool.COMMIT, "give the word on which an event is approved"),
        (spool.ABORT, "let go of an event; surely nothing was posted"),
        (spool.SENDING, "say that an approval is about to be posted"),
        (spool.APPROVED, "say what became of the approval"),
        (spool.RECOVER, "put this host back into service before the event is gone"),
        (spool.HOLD, "prepare, commit and approve nothing for a while"),
        (spool.RELEASE, "end the hold; with EVENT: give back the host, with --force also after a commit"),
    ):
        one = what.add_parser(name, help=help_text, description=help_text)
        _with_json(one, _request)
        _with_following(one)
        if name in (*_ON_AN_EVENT, spool.RELEASE):
            one.add_argument("event", metavar="EVENT", nargs="?", help="its id; may be left out where there is only one")
        if name in _OF_A_DRIVER:
            one.add_argument("--driver", default="person %s" % _who(), help="who drives")
            one.add_argument("--run-id", default="%s-%d" % (socket.gethostname(), os.getpid()), help="in which run")
        else:
            one.add_argument("--by", default=_who(), help="who wants it")
        if name in (spool.PREPARE, spool.COMMIT):
            one.add_argument("--lease", default="10m", help="without a word of the driver for so long, the host is given back (10m)")
            one.add_argument("--inventory-name", default="", help="how the driver calls this host, for the evidence")
            one.add_argument("--scope", default="", help="to which scope the driver counts this host, for the evidence")
        if name in (spool.SENDING, spool.APPROVED):
            one.add_argument("--witness", default="", help="the VM that posts it")
        if name == spool.APPROVED:
            one.add_argument("--outcome", choices=r.POST_OUTCOMES, required=True, help="what the service said, or what was read afterwards")
        if name == spool.PREPARE:
            one.add_argument("--within", help="seconds or 5m; else what the policy's arithmetic leaves")
            one.add_argument("--budget", help="of the whole preparation, for the arithmetic; else the handlers' limits")
            one.add_argument("--clock-error", help="how far clocks may differ; else 5s")
        if name == spool.HOLD:
            one.add_argument("--for", dest="duration", metavar="DURATION", help="such as 2h; else hold_for of the configuration")
            one.add_argument("--reason", default="", help="for everybody who is refused")
        if name == spool.RELEASE:
            one.add_argument("--force", action="store_true", help="also after a commit, when Azure may act on this host at any time")


def _with_following(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--follow", action="store_true", help="show each change")
    parser.add_argument("--timeout", default="30m", help="how long it is followed (30m)")


def _with_json(parser: argparse.ArgumentParser, run: Callable[[Command], int]) -> None:
    parser.add_argument("--json", action="store_true", help="the answer as JSON")
    parser.set_defaults(run=run)


def _who() -> str:
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return "uid %d" % os.getuid()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
