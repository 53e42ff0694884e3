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
host     Only where it is asked for: it needs root, brings up a lab and takes some six minutes. Hosts of one lab are watched in the
         same minute by our agent, by Debian's azure-events-az as Pacemaker runs it every 10 s, by a poller of a dozen lines,
         and by nobody: one minute without an event and one with an event. Memory is what is resident, of all processes of the
         services together, ten times a second. Processor time is that of the services; beside it how much more the whole host takes
         than the one that nobody watches. The cluster commands of azure-events-az do nothing and take no time, and the shell that
         stands for Pacemaker is not in its memory. Before that, events are scheduled at random moments: the time from then until the first
         line of a handler, on hosts where all but the agent is at rest.

It judges nothing: what was wanted stands beside what was seen, and it ends with 0 unless it could not measure.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

import parsing
import task_costs
import throughput
from task_costs import INFO, PING, URI

ROOT = Path(__file__).resolve().parents[2]
# What a task may cost at most, as a ratio.
WANTED = {URI: 1.0, PING: 1.35}
# Linear, give or take what caches of the processor and the collector of garbage do.
WANTED_GROWTH = 1.5
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


def watching(options: argparse.Namespace) -> None:
    sys.path[:0] = [str(ROOT / place) for place in ("tests/lab", "roles/imds_simulator/files", "tests/tools")]
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


PARTS: Dict[str, Callable[[argparse.Namespace], None]] = {"tasks": tasks, "server": serving, "parsing": reading, "host": watching}
BY_NAME_ONLY = ("host",)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="%s (default: all but %s)" % (", ".join(PARTS), ", ".join(BY_NAME_ONLY)))
    parser.add_argument("--rounds", type=int, default=21, help="rounds of tasks, at least 4 (default: %(default)s)")
    parser.add_argument("--requests", type=int, default=8000, help="requests per measurement of the server (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for which a host is watched (default: %(default)g)")
    parser.add_argument("--samples", type=int, default=20, help="events until whose handlers time is taken (default: %(default)s)")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error("no such part: %s; there are %s" % (", ".join(unknown), ", ".join(PARTS)))
    if options.rounds < 4 or options.requests < throughput.CONNECTIONS:
        parser.error("at least 4 rounds and %d requests are needed" % throughput.CONNECTIONS)
    if options.seconds < 1 or options.samples < 1:
        parser.error("at least one second and one sample are needed")
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
