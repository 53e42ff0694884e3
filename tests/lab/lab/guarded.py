# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with the role event_handlers: handlers that write down what they do, and ways to look at what becomes of events."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence

from .client import Host, Lab, LabEvent
from .errors import LabError
from .waiting import until

ETC = "/etc/azure-event-handlers"
# What handlers write, and how they are told to behave; survives a reboot.
TOP = "/var/lib/handlers-test"
COMMAND = "/usr/local/sbin/azure-event-handlers"
_HANDLER = """#!/bin/sh
# A service that is out while $WHO.out is there. $WHO.PHASE says how to behave, in shell: it may set code, or take its time.
cd {top} || exit 1
echo "$(date +%s.%N) begin $WHO $1 $EVENT_TYPE $ATTEMPT $TRY $INTERRUPTED" >> log
code=0
if [ -e "$WHO.$1" ]; then . "./$WHO.$1"; fi
if [ $code = 0 ]; then
  case $1 in
    inspect) test -e "$WHO.out" || code=1 ;;
    prepare) : > "$WHO.out" ;;
    recover) rm -f "$WHO.out" ;;
  esac
fi
echo "$(date +%s.%N) end $WHO $1 $code" >> log
sync -d log
exit $code
"""


@dataclass(frozen=True)
class Run:
    """One start of a handler; code and end: None if it was cut."""

    who: str
    phase: str
    attempt: int
    interrupted: int
    begin: float
    end: float
    code: int
    cut: bool


class Guarded:
    """A host of a lab on which the role is installed."""

    def __init__(self, lab: Lab, host: Host) -> None:
        self.lab = lab
        self.host = host

    # --- how it is to behave --------------------------------------------------------------------------------------

    def configure(self, **values: Any) -> None:
        """The whole configuration, and an agent that has it."""
        text = json.dumps({"format": 1, **values})
        self.host.shell("printf %%s '%s' > %s/config.json" % (text, ETC))
        self.host.run("systemctl", "restart", "azure-event-agent")

    def install(self, *names: str, **options: Any) -> None:
        """These handlers and no others."""
        self.host.shell("rm -rf %s && mkdir -p %s && rm -f %s/handlers.d/* %s/options.d/*" % (TOP, TOP, ETC, ETC))
        for name in names:
            self.add(name, **options)

    def add(self, name: str, **options: Any) -> None:
        values = {"environment": {"WHO": name}, "limit": "8s", **options}
        script = _HANDLER.format(top=TOP)
        for path, text, mode in (("handlers.d/" + name, script, "755"), ("options.d/%s.json" % name, json.dumps(values), "644")):
            self.host.shell("cat > %s/%s <<'END'\n%s\nEND\nchmod %s %s/%s" % (ETC, path, text, mode, ETC, path))

    def behave(self, name: str, phase: str, script: str) -> None:
        """From now on; an empty script: as usual."""
        path = "%s/%s.%s" % (TOP, name, phase)
        self.host.shell("rm -f %s" % path if not script else "cat > %s <<'END'\n%s\nEND" % (path, script))

    # --- what became of it ----------------------------------------------------------------------------------------

    def runs(self, *phases: str) -> List[Run]:
        """What handlers have written down, in order; all phases but inspect by default."""
        wanted = phases or ("prepare", "recover")
        found: List[Run] = []
        begun: Dict[str, List[str]] = {}
        for line in self.host.shell("cat %s/log 2>/dev/null || true" % TOP).splitlines():
            words = line.split()
            key = "%s %s" % (words[2], words[3])
            if words[1] == "begin":
                found += [_run(earlier, None) for earlier in begun.values()]
                begun.clear()
                begun[key] = words
            elif key in begun:
                found.append(_run(begun.pop(key), words))
        found += [_run(words, None) for words in begun.values()]
        return [run for run in sorted(found, key=lambda run: run.begin) if run.phase in wanted]

    def said(self, *phases: str) -> List[str]:
        return ["%s %s" % (run.who, run.phase) for run in self.runs(*phases)]

    def out(self) -> List[str]:
        """The handlers whose service is out."""
        return [name[: -len(".out")] for name in self.host.shell("cd %s && ls *.out 2>/dev/null; true" % TOP).split()]

    def status(self) -> Dict[str, Any]:
        found: Dict[str, Any] = json.loads(self.host.run(COMMAND, "status", "--json"))
        return found

    def ask(self, *words: str, timeout: float = 90.0) -> Dict[str, Any]:
        """What the command answers, as JSON, whatever its exit code."""
        found: Dict[str, Any] = json.loads(self.host.run(COMMAND, *words, "--json", check=False, timeout=timeout))
        return found

    def record(self, event: LabEvent) -> Dict[str, Any]:
        """The last occurrence of this event; empty while there is none."""
        same = [one for one in self.status()["records"] if one["event"]["event_id"].lower() == event.event_id.lower()]
        return max(same, key=lambda one: one["occurrence"], default={})

    def state(self, event: LabEvent) -> str:
        return str(self.record(event).get("state", ""))

    def wait(self, event: LabEvent, *states: str, timeout: float = 60.0) -> Dict[str, Any]:
        """Until the record is in one of these states."""
        end = time.monotonic() + timeout
        while True:
            record = self._record_if_up(event)
            if record.get("state") in states:
                return record
            if time.monotonic() > end:
                raise LabError(
                    "%s: %s is %s (%s) and not %s after %g s\n%s"
                    % (
                        self.host.name,
                        event.event_id,
                        record.get("state"),
                        record.get("reason"),
                        " or ".join(states),
                        timeout,
                        self.journal(),
                    )
                )
            time.sleep(0.25)

    def _record_if_up(self, event: LabEvent) -> Dict[str, Any]:
        """Nothing while the host is down, or has only just come back."""
        try:
            return self.record(event)
        except (LabError, ValueError):
            return {}

    def evidence(self, event: LabEvent) -> Dict[str, Any]:
        found: Dict[str, Any] = json.loads(self.host.run(COMMAND, "evidence", event.event_id))
        return found

    def journal(self, lines: int = 30) -> str:
        return self.host.shell("journalctl -o cat -n %d -u 'azure-event-*' 2>&1 || true" % lines, check=False)

    def executor_rests(self) -> bool:
        return self.host.shell("systemctl is-active azure-event-executor || true").strip() == "inactive"

    def wait_for(self, look: Any, timeout: float = 30.0) -> None:
        until(look, timeout=timeout)


def _run(begin: Sequence[str], end: Any) -> Run:
    return Run(
        who=begin[2],
        phase=begin[3],
        attempt=int(begin[5]),
        interrupted=int(begin[7]),
        begin=float(begin[0]),
        end=float("inf") if end is None else float(end[0]),
        code=-1 if end is None else int(end[4]),
        cut=end is None,
    )


def never_two_at_once(runs: Sequence[Run]) -> bool:
    """A run that was cut has no end of its own: it ended before the next begin, or nobody knows."""
    return all(earlier.cut or earlier.end <= later.begin for earlier, later in zip(runs, runs[1:]))
