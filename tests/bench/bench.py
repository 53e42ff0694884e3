# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection costs: side by side, from one run, as ratios.

tasks    One run of ansible-playbook on localhost does ansible.builtin.ping, ansible.builtin.uri and
         azure_scheduled_events_info in turn, many times, each kind equally often first, second and third. uri and ours
         send the same GET to a simulator in another process. A callback plugin takes the time of each task, from the
         moment it is handed out until its result is there. A ratio is that of the two tasks of one round; shown is the
         median of all rounds, and the quartiles. The first two rounds do not count. Beside it what the module's process took
         of the processor, which a busy machine changes least. uri imports cryptography where that is installed, as it is
         beside ansible-core.
server   Eight connections that stay open, one request at a time on each, from bare sockets in another process than the
         server. Beside it Python's own http.server, which sends the same bytes without looking at the request. Best of three.
parsing  From the bytes of a document to the filtered events of a result: median time of the processor per event, and as a
         ratio to that of a document of 100 events. Once with a filter of few names, once with as many names as events.
plan     The filter maintenance_plan on fleets of 100, 1,000 and 10,000 hosts, of which every tenth has an event: median time of the
         processor per host, and as a ratio to that of 1,000 hosts. Once under the default policy, where most events wait; once where
         all are due and the waves grow with the fleet; and once where they do not, so that there are more of them.
discovery  Only where it is asked for: it takes minutes. 500 hosts in scopes of twenty, on local connections, and a simulator that they
         all ask. What two hosts of each scope are asked against what it costs to ask every host, by the same playbook: the scopes are
         known in one case and in the other they are not. The simulator's own log says how many questions there were; more than two
         per scope end the measurement. Once with the playbook, in check mode, and once with the role's entry point in a play of all
         hosts.
overhead Only where it is asked for: it needs root and brings up a lab. A Reboot that two hosts share, whose handlers do nothing: the
         playbook against the smallest one that a person would write (uri GET, uri POST, uri until the event is gone,
         wait_for_connection). Seconds of whole runs, in turn. What the playbook reads once more for safety is listed with its time,
         and the ratio is without it; beside it the ratio with it, and the tasks that take most.
host     Only where it is asked for: it needs root, brings up a lab and takes some six minutes. Hosts of one lab are watched in the
         same minute by our agent, by Debian's azure-events-az as Pacemaker runs it every 10 s, by a poller of a dozen lines,
         and by nobody: one minute without an event and one with an event. Memory is what is resident, of all processes of the
         services together, ten times a second. Processor time is that of the services; beside it how much more the whole host takes
         than the one that nobody watches. The cluster commands of azure-events-az do nothing and take no time, and the shell that
         stands for Pacemaker is not in its memory. Before that, events are scheduled at random moments: the time from then until the first
         line of a handler, on hosts where all but the agent is at rest.
lab      Only where it is asked for: it needs root. Seconds until six hosts of a lab answer ansible's ping, from nothing but the image; and
         what each of sixteen takes of the machine's memory.

It judges nothing: what was wanted stands beside what was seen, and it ends with 0 unless it could not measure.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence

import discovery
import parsing
import planning
import task_costs
import throughput
from task_costs import INFO, PING, URI

ROOT = Path(__file__).resolve().parents[2]
# What a task may cost at most, as a ratio.
WANTED = {URI: 1.0, PING: 1.35}
# Linear, give or take what caches of the processor and the collector of garbage do.
WANTED_GROWTH = 1.5
# Seconds to plan the largest fleet; cost of asking two hosts of a scope against asking all; of a wave against the smallest playbook.
WANTED_PLAN = 2.0
WANTED_DISCOVERY = 0.25
WANTED_OVERHEAD = 1.5
MOST_TASKS = 15
# Seconds until a handler runs, at one question a second; processor and memory of our agent against others.
WANTED_LATENCY = 1.1
WANTED_PROCESSOR = 0.1
WANTED_MEMORY = 1.6


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def verdict(seen: float, wanted: float) -> str:
    return "as wanted" if seen <= wanted else "more than wanted"


def tasks(options: argparse.Namespace) -> None:
    say("One task, %d rounds in one run (local connection, one Python for all)" % options.rounds)
    costs = task_costs.measure(options.rounds)
    say("  %-30s %-9s %s" % ("", "task", "of it the module's processor time"))
    for kind in (PING, URI, INFO):
        say("  %-30s %4.0f ms   %4.0f ms" % (kind, costs.median(kind) * 1000, costs.processor_mean(kind) * 1000))
    say("  %-30s %-6s %-8s" % ("ours against", "seen", "wanted"))
    for other, wanted in WANTED.items():
        low, seen, high = costs.ratio(INFO, other)
        processor = costs.processor_mean(INFO) / costs.processor_mean(other)
        said = (other, seen, wanted, verdict(seen, wanted), low, high, processor)
        say("  %-30s %-6.2f <= %-5.2f %s (quartiles %.2f and %.2f; processor time %.2f)" % said)


def serving(options: argparse.Namespace) -> None:
    say("The simulator with keep-alive, %d requests on %d connections" % (options.requests, throughput.CONNECTIONS))
    for events, (ours, plain) in throughput.measure(options.requests).items():
        text = "  %-30s %6.0f requests a second; http.server with the same bytes %.0f: %.2f of it"
        say(text % ("document of %d event%s" % (events, "s" if events > 1 else ""), ours, plain, ours / plain))


def reading(_options: argparse.Namespace) -> None:
    for title, filters in (("few names", parsing.few_names), ("as many names as events", parsing.many_names)):
        say("Parsing a document and filtering it by %s" % title)
        say("  %-30s %-12s %-6s %s" % ("events", "per event", "seen", "wanted: linear"))
        measured = parsing.measure(filters)
        yardstick = dict(measured)[100]
        for size, seconds in measured:
            ratio = seconds / yardstick
            # Below 100 events what every document costs shows.
            say("  %-30d %7.1f us   %-6.2f <= %.2f %s" % (size, seconds * 1e6, ratio, WANTED_GROWTH, verdict(ratio, WANTED_GROWTH)))


def plans(_options: argparse.Namespace) -> None:
    for title, case in planning.CASES.items():
        say("Planning fleets with an event for every tenth host, %s" % title)
        say("  %-30s %-12s %-6s %s" % ("hosts", "per host", "seen", "wanted: linear"))
        measured = planning.measure(case)
        yardstick = next(cost.seconds for cost in measured if cost.hosts == planning.YARDSTICK)
        for cost in measured:
            ratio = cost.seconds / yardstick
            said = (cost.hosts, cost.seconds * 1e6, ratio, WANTED_GROWTH, verdict(ratio, WANTED_GROWTH), cost.placed)
            say("  %-30d %7.1f us   %-6.2f <= %.2f %s (%s)" % said)
        whole = measured[-1].hosts * measured[-1].seconds
        say("  %d hosts in %.2f s, wanted <= %.1f s: %s" % (measured[-1].hosts, whole, WANTED_PLAN, verdict(whole, WANTED_PLAN)))


def discovering(_options: argparse.Namespace) -> None:
    hosts = discovery.SCOPES * discovery.HOSTS_PER_SCOPE
    for title, costs in discovery.measure().items():
        say("Finding out what is announced for %d hosts in %d scopes: %s" % (hosts, discovery.SCOPES, title))
        say("  %-30s %-9s %-11s %-10s %s" % ("asked", "run", "processor", "questions", "most of one scope"))
        for who, cost in costs.items():
            say("  %-30s %5.1f s   %7.1f s   %-10d %d" % (who, cost.seconds, cost.processor, cost.questions, cost.most))
        few, every = costs[discovery.SCOPED], costs[discovery.EVERYBODY]
        seen = few.seconds / every.seconds
        said = (seen, WANTED_DISCOVERY, verdict(seen, WANTED_DISCOVERY), few.processor / every.processor)
        say("  of the cost of asking every host: %.2f <= %.2f %s (processor time %.2f)" % said)


def overhead(options: argparse.Namespace) -> None:
    _find_lab()
    import overhead as waves  # brings in the lab, which the others do without

    costs = waves.measure(options.waves)
    say("A wave of two hosts that share a Reboot and have nothing to do, %d times each" % options.waves)
    for who, spent in ((waves.OURS, costs.ours), (waves.SMALLEST, costs.smallest)):
        said = (who, _seconds(one.whole for one in spent), _seconds(costs.events[who]))
        say("  %-54s %s, of which from the post until the event was gone %s" % said)
    say("  what is read once more for safety:")
    reads = {name: [one.reads[name] for one in costs.ours if name in one.reads] for name in costs.ours[-1].reads}
    for name, seconds in reads.items():
        say("    %-70s %s" % (name, _seconds(seconds)))
    seen = costs.ratio(reads=False)
    judged = (seen, WANTED_OVERHEAD, verdict(seen, WANTED_OVERHEAD), costs.ratio(reads=True))
    say("  without that, against the smallest playbook: %.2f <= %.2f %s (with it %.2f)" % judged)
    say("  where the time goes, the last time: %.1f s until the first play, then" % costs.ours[-1].start)
    tasks = sorted(costs.ours[-1].tasks.items(), key=lambda one: -one[1])
    for (play, task), cost in tasks[:MOST_TASKS]:
        say("    %6.2f s  %2d times  %s (%s)" % (cost, costs.ours[-1].times[play, task], task, play))
    say("    %6.2f s  %d others" % (sum(cost for _name, cost in tasks[MOST_TASKS:]), len(tasks[MOST_TASKS:])))


def _seconds(values: Iterable[float]) -> str:
    found = sorted(values)
    return "%.1f s" % found[0] if len(found) == 1 else "%.1f to %.1f s" % (found[0], found[-1])


def _find_lab() -> None:
    sys.path[:0] = [str(ROOT / place) for place in ("tests/lab", "roles/imds_simulator/files", "tests/tools")]


def lab(_options: argparse.Namespace) -> None:
    _find_lab()
    import lab_size

    say("The lab")
    say("  %-40s %.1f s" % ("%d hosts answer Ansible after" % lab_size.FEW, lab_size.seconds_to_answer()))
    say("  %-40s %.0f MiB" % ("memory of each of %d hosts" % lab_size.MANY, lab_size.memory_of_a_host()))


def watching(options: argparse.Namespace) -> None:
    _find_lab()
    import host  # brings in the lab, which the others do without

    costs = host.measure(seconds=options.seconds, samples=options.samples)
    for title, seen in (("no event", costs.idle), ("one event", costs.busy)):
        say("What it takes to watch over a host, in a minute with %s" % title)
        say("  %-30s %-16s %-11s %-16s %-10s %s" % ("", "memory (most)", "processor", "the whole host", "requests", "processes"))
        nobody = seen[host.NOBODY]
        for watcher, cost in seen.items():
            memory = "%.1f (%.1f) MiB" % (cost.memory, cost.most_memory)
            own, more = "%.3f s" % cost.processor, "%+.3f s" % (cost.whole - nobody.whole)
            text = "  %-30s %-16s %-11s %-16s %-10.0f %.0f"
            say(text % (watcher, memory, own, more, cost.requests, max(0.0, cost.processes - nobody.processes)))
        say("  %-30s %-40s %-6s %s" % ("ours", "against", "seen", "wanted"))
        for ours in (host.WATCHING, host.APPROVING):
            if not costs.missing:
                _say_ratio(ours, host.AGENT_OF_DEBIAN, "processor", _processor(seen, ours, host.AGENT_OF_DEBIAN), WANTED_PROCESSOR)
            _say_ratio(ours, host.POLLER, "processor", _processor(seen, ours, host.POLLER), None)
            _say_ratio(ours, host.POLLER, "memory", seen[ours].memory / seen[host.POLLER].memory, WANTED_MEMORY)
    if costs.missing:
        say("%s cannot be had here, so nothing is said about it: %s" % (host.AGENT_OF_DEBIAN, costs.missing))
    median, worst = host.median_and_worst(costs.latencies)
    say("From an event to the first line of a handler, %d times" % len(costs.latencies))
    say("  median %.2f s, wanted <= %.2f s: %s; worst %.2f s" % (median, WANTED_LATENCY, verdict(median, WANTED_LATENCY), worst))


def _processor(seen: Mapping[str, Any], ours: str, other: str) -> float:
    return float(seen[ours].processor / seen[other].processor)


def _say_ratio(ours: str, other: str, what: str, seen: float, wanted: Optional[float]) -> None:
    judged = "" if wanted is None else "<= %-5.2f %s" % (wanted, verdict(seen, wanted))
    say("  %-30s %-40s %-6.2f %s" % (ours, "%s of %s" % (what, other), seen, judged))


PARTS: Dict[str, Callable[[argparse.Namespace], None]] = {
    "tasks": tasks,
    "server": serving,
    "parsing": reading,
    "plan": plans,
    "discovery": discovering,
    "overhead": overhead,
    "host": watching,
    "lab": lab,
}
BY_NAME_ONLY = ("discovery", "overhead", "host", "lab")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="%s (default: all but %s)" % (", ".join(PARTS), ", ".join(BY_NAME_ONLY)))
    parser.add_argument("--rounds", type=int, default=21, help="rounds of tasks, at least 4 (default: %(default)s)")
    parser.add_argument("--requests", type=int, default=8000, help="requests per measurement of the server (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for which a host is watched (default: %(default)g)")
    parser.add_argument("--samples", type=int, default=20, help="events until whose handlers time is taken (default: %(default)s)")
    parser.add_argument("--waves", type=int, default=3, help="of the playbook and of the smallest one (default: %(default)s)")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error("no such part: %s; there are %s" % (", ".join(unknown), ", ".join(PARTS)))
    if options.rounds < 4 or options.requests < throughput.CONNECTIONS:
        parser.error("at least 4 rounds and %d requests are needed" % throughput.CONNECTIONS)
    if options.seconds < 1 or options.samples < 1 or options.waves < 1:
        parser.error("at least one second, one sample and one wave are needed")
    try:
        for name, part in PARTS.items():
            if name in (options.parts or set(PARTS) - set(BY_NAME_ONLY)):
                part(options)
                say()
    except (RuntimeError, OSError) as problem:
        sys.stderr.write("cannot measure: %s\n" % problem)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
