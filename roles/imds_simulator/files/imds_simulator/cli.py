# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `serve` runs a simulator, every other verb tells a running one what to do."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shlex
import signal
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote

from . import arguments, faults, scenario
from .client import Client, RefusedError, UnreachableError
from .contract import NOTICE, iso8601
from .errors import SimulatorError
from .hooks import Hooks
from .model import SCOPE_KINDS
from .scenario import DEFAULT_CONTROL_PORT, DEFAULT_DATA_PORT, DEFAULT_HOST, Scenario
from .simulator import Simulator

DONE, REFUSED, USAGE, UNREACHABLE = 0, 1, 2, 3
CONTROL_VARIABLE = "IMDS_SIMULATOR_CONTROL"
DEFAULT_CONTROL = "http://%s:%d" % (DEFAULT_HOST, DEFAULT_CONTROL_PORT)

DESCRIPTION = """\
A metadata service that keeps the contract of Azure Scheduled Events, for tests and for rehearsals.
`serve` runs it, `check` looks through a scenario for it; the other verbs tell a running one what to do.
"""
EPILOG = """\
a first rehearsal:
  %(prog)s serve &
  %(prog)s add-scope web --kind availability_set --vms web_0,web_1
  %(prog)s schedule Reboot web_0,web_1 --notice 15m --runs-for 1m
  curl -H Metadata:true 'http://127.0.0.1:9254/vm/web_0/metadata/scheduledevents?api-version=2020-07-01'
  %(prog)s advance 15m
  %(prog)s status

exit codes: 0 done, 1 the simulator says no, 2 wrong usage, 3 no simulator answers
"""

Options = argparse.Namespace
Request = Tuple[str, str, Any, Dict[str, Optional[str]]]


@dataclasses.dataclass(frozen=True)
class Verb:
    """A verb of the client: what it asks the control plane, and how it says the answer."""

    ask: Callable[[Options], Request]
    say: Callable[[Any], str]


def main(argv: Optional[Sequence[str]] = None) -> int:
    options = _parser().parse_args(argv)
    try:
        if options.verb == "serve":
            return _serve(options)
        if options.verb == "check":
            return _check(options)
        return _client(options, VERBS[options.verb])
    except (RefusedError, UnreachableError, SimulatorError) as problem:
        print("imds_simulator: %s" % problem, file=sys.stderr)
        return UNREACHABLE if isinstance(problem, UnreachableError) else REFUSED


# --- serve ------------------------------------------------------------------------------------------------------------


def _serve(options: Options) -> int:
    plan = _with_options(scenario.read(options.config) if options.config else Scenario(), options)
    simulator = scenario.simulator(plan)
    for phase, command in [("start", command) for command in options.on_start] + [("end", command) for command in options.on_end]:
        simulator.hooks.run(phase, shlex.split(command))
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: over.set())
    with simulator:
        _announce(simulator, plan.realistic)
        if options.ready_file:
            _tell_that_it_is_ready(simulator, options.ready_file)
        over.wait()
    return DONE


def _check(options: Options) -> int:
    """Play the scenario where nobody sees it; its hooks are looked at and not run."""
    plan = scenario.read(options.config)
    scenario.add_hooks(plan, Hooks())
    made = scenario.simulator(dataclasses.replace(plan, hooks={}))
    print(
        "%s is in order: %s in %s, %s"
        % (options.config, _count(len(made.fabric.vms), "VM"), _count(len(made.fabric.scopes), "scope"), _count(len(plan.events), "event"))
    )
    return DONE


def _with_options(plan: Scenario, options: Options) -> Scenario:
    """What is said on the command line counts more than what the scenario says."""
    changes: Dict[str, Any] = {}
    if options.data:
        changes["data"] = options.data
    if options.control_bind:
        changes["control"] = options.control_bind
    if options.clock:
        changes["clock"] = options.clock
    if options.rate is not None:
        changes["rate"] = options.rate
    if options.log_size is not None:
        changes["log_size"] = options.log_size
    if options.realistic:
        changes["realistic"] = True
    return dataclasses.replace(plan, **changes)


def _announce(simulator: Simulator, realistic: bool) -> None:
    print("imds_simulator: data plane     %s/vm/NAME" % simulator.data_url)
    print("imds_simulator: control plane  %s" % simulator.control_url)
    print(
        "imds_simulator: %s in %s, clock %s%s%s; the log keeps %d requests"
        % (
            _count(len(simulator.fabric.vms), "VM"),
            _count(len(simulator.fabric.scopes), "scope"),
            simulator.clock.kind,
            "" if simulator.clock.rate in (0.0, 1.0) else " x %g" % simulator.clock.rate,
            ", realistic: as slow and as strict as the platform may be" if realistic else "",
            simulator.journal.size,
        ),
        flush=True,
    )


def _tell_that_it_is_ready(simulator: Simulator, ready_file: str) -> None:
    ready = {"data": simulator.data_url, "control": simulator.control_url, "pid": os.getpid()}
    # Whole or not at all: somebody waits for it.
    with open(ready_file + ".new", "w", encoding="utf-8") as file:
        json.dump(ready, file)
    os.replace(ready_file + ".new", ready_file)


# --- the client's verbs -------------------------------------------------------------------------------------------------


def _client(options: Options, verb: Verb) -> int:
    method, path, body, query = verb.ask(options)
    answer = Client(options.control).ask(method, path, body, query)
    print(json.dumps(answer, indent=2) if options.json else verb.say(answer))
    return DONE


def _given(options: Options, *names: str) -> Dict[str, Any]:
    """The options that were given, under the names of the control plane."""
    return {name: getattr(options, name) for name in names if getattr(options, name) not in (None, False, [])}


def _post(path: str, body: Any) -> Request:
    return "POST", path, body, {}


def _ask_add_vm(options: Options) -> Request:
    return _post("/vms", _given(options, "name", "azure_name", "scope", "zone", "resource_group", "address"))


def _ask_add_scope(options: Options) -> Request:
    return _post(
        "/scopes",
        _given(
            options,
            "name",
            "kind",
            "vms",
            "gpu_single_fault_domain",
            "per_zone",
            "auto_approve",
            "terminate_notice",
            "scale_set",
            "flexible",
        ),
    )


def _ask_schedule(options: Options) -> Request:
    body = _given(
        options,
        "event_type",
        "resources",
        "notice",
        "duration",
        "source",
        "description",
        "event_id",
        "start_delay",
        "late",
        "stuck",
        "announce_in",
    )
    return _post("/events", dict(body, **_runs_for(options)))


def _ask_fail(options: Options) -> Request:
    return _post("/failures", dict(_given(options, "vm", "event_type", "event_id"), **_runs_for(options)))


def _runs_for(options: Options) -> Dict[str, Any]:
    if options.runs_for is None:
        return {}
    return {"runs_for": None if options.runs_for == "ever" else options.runs_for}


def _ask_event(action: str) -> Callable[[Options], Request]:
    return lambda options: _post("/events/%s/%s" % (quote(options.event_id, safe=""), action), {})


def _ask_change(options: Options) -> Request:
    return _post(
        "/events/%s/change" % quote(options.event_id, safe=""),
        _given(options, "not_before", "resources", "event_type", "duration", "description", "status"),
    )


def _ask_fault(options: Options) -> Request:
    body = _given(options, "kind", "vm", "on", "path", "event_id", "status", "seconds", "body", "location", "incarnation", "acts")
    if "on" in body:
        body["verb"] = body.pop("on")
    body["times"] = None if options.times == "ever" else int(options.times)
    if options.header:
        body["headers"] = dict(options.header)
    return _post("/faults", body)


def _ask_clear_faults(options: Options) -> Request:
    return "DELETE", "/faults", None, {"vm": options.vm}


def _ask_log(options: Options) -> Request:
    return "GET", "/log", None, {"vm": options.vm, "verb": options.on, "path": options.path, "last": str(options.last)}


def _ask_status(_options: Options) -> Request:
    return "GET", "/status", None, {}


def _count(number: int, thing: str) -> str:
    return "%d %s%s" % (number, thing, "" if number == 1 else "s")


def _say_vm(vm: Mapping[str, Any]) -> str:
    return "VM %(vm)s is there, in scope %(scope)s; its metadata service is at %(path)s" % vm


def _say_scope(scope: Mapping[str, Any]) -> str:
    names = ", ".join(vm["vm"] for vm in scope["vms"]) or "no VM yet"
    return "Scope %s is there (%s): %s" % (scope["scope"], scope["kind"], names)


def _say_event(event: Mapping[str, Any]) -> str:
    said = "Event %s: %s of %s" % (event["event_id"], event["event_type"], ", ".join(event["resources"]))
    if event["state"] == "planned":
        return "%s will be announced at %s" % (said, iso8601(event["announced_at"]))
    if event["state"] == "Scheduled":
        return "%s is Scheduled, not before %s" % (said, iso8601(event["not_before"]))
    if event["state"] == "Started":
        return "%s is Started, until %s" % (said, "it is completed" if event["ends_at"] is None else iso8601(event["ends_at"]))
    return "%s is gone (%s)" % (said, event["outcome"])


def _say_scheduled(event: Mapping[str, Any]) -> str:
    said = _say_event(event)
    if event["event_type"] in NOTICE:
        return said
    return "%s\nAzure documents no type %s, only %s; it is shown all the same" % (said, event["event_type"], ", ".join(NOTICE))


def _say_fault(fault: Mapping[str, Any]) -> str:
    return "Fault %s: %s, %s" % (fault["fault"], fault["kind"], _say_target(fault))


def _say_target(fault: Mapping[str, Any]) -> str:
    left = "until cleared" if fault["left"] is None else _count(fault["left"], "more time")
    return "%s of %s on %s, %s" % (fault["verb"] or "any verb", fault["path"] or "any path", fault["vm"] or "any VM", left)


def _say_cleared(answer: Mapping[str, Any]) -> str:
    return _count(answer["cleared"], "fault") + " taken away"


def _say_clock(answer: Mapping[str, Any]) -> str:
    return "It is %s (clock %s)" % (iso8601(answer["now"]), answer["clock"])


def _say_log(answer: Mapping[str, Any]) -> str:
    lines = [
        "%s  %-4s %-30s %-12s %s%s"
        % (
            iso8601(record["at"]),
            record["verb"],
            record["path"],
            record["vm"] or "?",
            "no answer" if record["status"] is None else record["status"],
            "  (%s)" % ", ".join(record["faults"]) if record["faults"] else "",
        )
        for record in answer["requests"]
    ]
    lines.append(
        "%s shown of %d found; %d received, the log keeps %d and has forgotten %d"
        % (_count(len(answer["requests"]), "request"), answer["found"], answer["received"], answer["size"], answer["forgotten"])
    )
    return "\n".join(lines)


def _say_status(answer: Mapping[str, Any]) -> str:
    lines = [
        "%s; %s in %s" % (_say_clock(answer), _count(answer["vms"], "VM"), _count(answer["scopes"], "scope")),
        "%s received, the log keeps %d" % (_count(answer["log"]["received"], "request"), answer["log"]["size"]),
    ]
    lines += [_say_event(event) for event in answer["events"]] or ["No event is there"]
    lines += [_say_fault(fault) for fault in answer["faults"]] or ["No fault waits"]
    return "\n".join(lines)


VERBS: Mapping[str, Verb] = {
    "add-vm": Verb(_ask_add_vm, _say_vm),
    "add-scope": Verb(_ask_add_scope, _say_scope),
    "schedule": Verb(_ask_schedule, _say_scheduled),
    "start": Verb(_ask_event("start"), _say_event),
    "complete": Verb(_ask_event("complete"), _say_event),
    "cancel": Verb(_ask_event("cancel"), _say_event),
    "change": Verb(_ask_change, _say_event),
    "relist": Verb(_ask_event("relist"), _say_event),
    "fail": Verb(_ask_fail, _say_event),
    "fault": Verb(_ask_fault, _say_fault),
    "clear-faults": Verb(_ask_clear_faults, _say_cleared),
    "advance": Verb(lambda options: _post("/clock/advance", {"seconds": options.seconds}), _say_clock),
    "log": Verb(_ask_log, _say_log),
    "status": Verb(_ask_status, _say_status),
}


# --- the grammar ------------------------------------------------------------------------------------------------------


def _seconds(text: str) -> float:
    try:
        return arguments.seconds(text)
    except ValueError:
        raise argparse.ArgumentTypeError("%r is no duration, such as 90, 90s, 15m, 2h or 7d" % text) from None


def _seconds_or_ever(text: str) -> Any:
    return text if text == "ever" else _seconds(text)


def _times(text: str) -> str:
    if text != "ever" and not (text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError("%r is neither a number above 0 nor `ever`" % text)
    return text


def _names(text: str) -> List[str]:
    return [name for name in text.split(",") if name]


def _address(text: str) -> Tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError("%r is no address with a port, such as 127.0.0.1:9254" % text)
    return host.strip("[]"), int(port)


def _header(text: str) -> Tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError("%r is no header field, such as 'Retry-After: 3'" % text)
    return name.strip(), value.strip()


def _fault_help() -> str:
    return "kinds:\n" + "\n".join("  %-20s %s" % (kind, words) for kind, words in faults.KINDS.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="imds_simulator", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    # An attribute since before Python 3.7's keyword; without it a missing verb is no error.
    verbs.required = True
    common = _common()
    _add_serve(verbs)
    _add_things(verbs, common)
    _add_events(verbs, common)
    _add_faults(verbs, common)
    _add_views(verbs, common)
    return parser


def _common() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--control",
        metavar="URL",
        default=os.environ.get(CONTROL_VARIABLE, DEFAULT_CONTROL),
        help="control plane of the simulator (default: the variable %s, else %s)" % (CONTROL_VARIABLE, DEFAULT_CONTROL),
    )
    common.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    return common


def _add_serve(verbs: Any) -> None:
    serve = verbs.add_parser("serve", help="run a simulator until it is told to end", description="Run a simulator in the foreground.")
    serve.add_argument("--config", metavar="FILE", help="a scenario in JSON: scopes, VMs, events, faults, settings")
    serve.add_argument(
        "--data",
        "--bind",
        type=_address,
        metavar="HOST:PORT",
        help="data plane, what VMs ask (default %s:%d; port 0: any free one)" % (DEFAULT_HOST, DEFAULT_DATA_PORT),
    )
    serve.add_argument(
        "--control",
        dest="control_bind",
        type=_address,
        metavar="HOST:PORT",
        help="control plane, what the other verbs ask (default %s:%d)" % (DEFAULT_HOST, DEFAULT_CONTROL_PORT),
    )
    serve.add_argument("--clock", choices=("real", "manual"), help="manual: time stands until `advance`")
    serve.add_argument("--rate", type=float, metavar="N", help="simulated seconds per real second (default 1)")
    serve.add_argument("--realistic", action="store_true", help="as slow and as strict as the platform may be (C-7, C-8, C-26)")
    serve.add_argument("--log-size", type=int, metavar="N", help="how many requests are remembered (default 10000)")
    serve.add_argument("--on-start", action="append", default=[], metavar="COMMAND", help="run this when an event starts")
    serve.add_argument("--on-end", action="append", default=[], metavar="COMMAND", help="run this when a started event is over")
    serve.add_argument("--ready-file", metavar="FILE", help="write both addresses there, as JSON, once they answer")
    check = verbs.add_parser("check", help="look through a scenario without running it")
    check.add_argument("config", metavar="FILE", help="a scenario in JSON")


def _add_things(verbs: Any, common: argparse.ArgumentParser) -> None:
    vm = verbs.add_parser("add-vm", parents=[common], help="a new VM, in a scope or by itself")
    vm.add_argument("name")
    vm.add_argument("--scope", help="an availability set, scale set or cloud service that is there (default: alone)")
    vm.add_argument("--azure-name", help="its name in Azure, if the simulator's name had to be another one")
    vm.add_argument("--address", help="client address by which it is recognised")
    vm.add_argument("--zone")
    vm.add_argument("--resource-group")
    scope = verbs.add_parser("add-scope", parents=[common], help="a new scope: VMs that see the same events")
    scope.add_argument("name")
    scope.add_argument("--kind", choices=SCOPE_KINDS, default="availability_set")
    scope.add_argument("--vms", type=_names, default=[], metavar="NAME,NAME")
    scope.add_argument("--scale-set", help="name of the scale set, if the scope is one of its several placement groups")
    scope.add_argument("--flexible", action="store_true", help="a scale set of flexible orchestration")
    scope.add_argument("--per-zone", action="store_true", help="a zonal scale set: switched on zone by zone")
    scope.add_argument("--gpu-single-fault-domain", action="store_true", help="a scale set whose VMs are not told of each other")
    scope.add_argument(
        "--auto-approve",
        action="append",
        default=[],
        metavar="SOURCE[:TYPE]",
        help="events that are approved by policy, such as User:Reboot",
    )
    scope.add_argument("--terminate-notice", type=_seconds, metavar="TIME", help="5m to 15m")


def _add_events(verbs: Any, common: argparse.ArgumentParser) -> None:
    schedule = verbs.add_parser("schedule", parents=[common], help="schedule an event")
    schedule.add_argument("event_type", metavar="TYPE", help="Freeze, Reboot, Redeploy, Preempt, Terminate, or what you like")
    schedule.add_argument("resources", type=_names, metavar="VM,VM")
    schedule.add_argument("--notice", type=_seconds, metavar="TIME", help="from now to NotBefore (default: as the type promises)")
    schedule.add_argument("--duration", type=int, metavar="SECONDS", help="announced interruption; -1: unknown")
    _add_runs_for(schedule)
    schedule.add_argument("--source", choices=("Platform", "User"))
    schedule.add_argument("--description")
    schedule.add_argument("--event-id", metavar="ID")
    schedule.add_argument("--start-delay", type=_seconds, metavar="TIME", help="from approval to start")
    schedule.add_argument("--late", type=_seconds, metavar="TIME", help="from NotBefore to start, if nobody approves")
    schedule.add_argument("--stuck", action="store_true", help="starts only when told to, whoever approves")
    schedule.add_argument("--announce-in", type=_seconds, metavar="TIME", help="announce it later")
    fail = verbs.add_parser("fail", parents=[common], help="let a VM's hardware fail: an event that is Started at once")
    fail.add_argument("vm", metavar="VM")
    fail.add_argument("--event-type", metavar="TYPE", help="Redeploy (default) or Reboot")
    fail.add_argument("--event-id", metavar="ID")
    _add_runs_for(fail)
    for name, words in (
        ("cancel", "cancel a scheduled event"),
        ("start", "let a scheduled event start"),
        ("complete", "let a started event be over"),
        ("relist", "list an event that is gone once more"),
    ):
        verbs.add_parser(name, parents=[common], help=words).add_argument("event_id", metavar="ID")
    change = verbs.add_parser("change", parents=[common], help="change what an event says")
    change.add_argument("event_id", metavar="ID")
    change.add_argument("--not-before", type=_seconds, metavar="TIME", help="so long from now")
    change.add_argument("--resources", type=_names, metavar="VM,VM")
    change.add_argument("--event-type", metavar="TYPE")
    change.add_argument("--duration", type=int, metavar="SECONDS")
    change.add_argument("--description")
    change.add_argument("--status", help="a status that is only shown, for clients that must let unknown ones pass")


def _add_runs_for(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs-for", type=_seconds_or_ever, metavar="TIME", help="from start to end; `ever`: until `complete` (default 30s)"
    )


def _add_faults(verbs: Any, common: argparse.ArgumentParser) -> None:
    fault = verbs.add_parser(
        "fault", parents=[common], help="let requests go wrong", epilog=_fault_help(), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    fault.add_argument("kind", choices=tuple(faults.KINDS), metavar="KIND")
    fault.add_argument("--vm", help="only this VM (default: any)")
    fault.add_argument("--verb", dest="on", choices=faults.VERBS, help="only this verb (default: any)")
    fault.add_argument("--path", choices=faults.PATHS, help="only scheduled events, or only the instance service (default: any)")
    fault.add_argument("--times", type=_times, default="1", metavar="N", help="how many requests; `ever`: until cleared (default 1)")
    fault.add_argument("--status", type=int, metavar="N")
    fault.add_argument("--seconds", type=_seconds, metavar="TIME")
    fault.add_argument("--event-id", metavar="ID")
    fault.add_argument("--body", metavar="TEXT")
    fault.add_argument("--header", type=_header, action="append", metavar="'NAME: VALUE'")
    fault.add_argument("--location", metavar="URL")
    fault.add_argument("--incarnation", type=int, metavar="N")
    fault.add_argument("--acts", action="store_true", help="do what was asked for before failing")
    verbs.add_parser("clear-faults", parents=[common], help="no faults any more").add_argument("--vm", help="only those of this VM")


def _add_views(verbs: Any, common: argparse.ArgumentParser) -> None:
    verbs.add_parser("advance", parents=[common], help="move the clock forward").add_argument("seconds", type=_seconds, metavar="TIME")
    log = verbs.add_parser("log", parents=[common], help="the last requests of the data plane")
    log.add_argument("--vm")
    log.add_argument("--verb", dest="on", choices=faults.VERBS)
    log.add_argument("--path", choices=faults.PATHS)
    log.add_argument("--last", type=int, default=20, metavar="N", help="how many (default 20)")
    verbs.add_parser("status", parents=[common], help="what is there and what waits")
