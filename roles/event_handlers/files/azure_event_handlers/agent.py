# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent as it lives on a host: asks the service once a second, has the guard judge, files what it wishes, posts what it may.

It has no rights but to ask, and to write into two folders. It keeps nothing in mind that counts for long: what it did is in the
executor's records, what it saw is seen again. Whatever goes wrong in one turn, the next one comes.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import signal
import sys
import traceback
from collections import Counter
from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import decision_result
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event, event_result
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import (
    ConfigurationError,
    LibraryMissing,
    MaintenanceError,
    ServiceError,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import MetadataService, Reading, connect
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import MINUTE, format_instant

from . import configuration as configurations
from . import files, guard, memory, metrics, published, spool
from .clocks import host_clock
from .configuration import Configuration
from .memory import Memory
from .metrics import AgentCounters
from .paths import Paths
from .polling import Heard, Poller
from .published import Status
from .seen import TRUSTED_GAP, Plan, Problem, Seen, Wish
from .sightings import NOBODY
from .store import no_crash

# A turn that comes so much later than it should is a machine that stood still, and may have missed anything.
PAUSE = 5.0
# How old the document may be on which a post rests (C-23).
FRESH = 2.0
# Silence after a post is looked into soon: it is repeated only after another look (W-35).
POST_PATIENCE = 10.0
# Failures in a row that somebody should hear of; fewer are everyday life.
WORTH_A_WORD = 3
METRICS_EVERY = 5.0
FACTS_EVERY = 15.0
MEMORY_EVERY = 1.0 * MINUTE
# A configuration that is wrong is looked at again.
LOAD_AGAIN = 10.0
# Requests that lie there untaken; with more the executor is not there, and /run is for others too.
MOST_WAITING = 64
# An answer that has not come by then does not come.
ANSWER_WITHIN = 60.0
# The executor of a host that has given its word is there; it looks for requests several times a second.
WRITTEN_WITHIN = 1.0
# Where a test kills the agent. In between, before the answer is read, it is killed while the service withholds it.
NOT_POSTED, NOT_JOURNALED = "COMMITTED, not posted", "answer read, not journaled"
CRASH_POINTS = (NOT_POSTED, "posted, answer not read", NOT_JOURNALED)
_LOOK = 0.05
# The same line not again within this time; and not more lines than these, whatever they say.
SAME_LINE_EVERY = 60.0
MOST_LINES = 60
# Events that the command line is shown; the document of a large scope may have thousands.
MOST_EVENTS = 500

_ONLY_GUARDED = "until it is mended this host is only watched and given back: nothing is prepared for, and nothing approved."
_CLOCK_MARK = "/run/systemd/timesync/synchronized"
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_STA_UNSYNC = 0x0040
_TIME_ERROR = 5


class Ended(BaseException):
    """Somebody wants this program to end; raised wherever it is, also in the middle of a long wait."""


class Log:
    """Lines of JSON, not too many of them."""

    def __init__(self, say: Callable[[str], None], clock: Clock) -> None:
        self._say = say
        self._clock = clock
        self._said: Dict[str, float] = {}

    def line(self, level: str, what: str, text: str, **more: Any) -> None:
        now = self._clock.monotonic()
        self._said = {line: at for line, at in self._said.items() if now - at < SAME_LINE_EVERY}
        entry = {"level": level, "what": what, "text": text, **more}
        line = json.dumps(entry, sort_keys=True)
        if line in self._said or len(self._said) >= MOST_LINES:
            return
        self._said[line] = now
        self._say(json.dumps({"at": format_instant(self._clock.wall()), **entry}, sort_keys=True))


class Agent:
    """One life of it. Everything outside comes in here, so that an hour can be tried in seconds."""

    def __init__(
        self,
        paths: Paths,
        clock: Clock,
        *,
        load: Callable[[], Configuration],
        guarding: Callable[[], Configuration],
        boot: str,
        connected: Callable[[Configuration, float, Clock], MetadataService],
        synchronised: Callable[[], bool],
        say: Callable[[str], None] = print,
        status: Optional[Callable[[], Optional[Status]]] = None,
        crash: Callable[[str], None] = no_crash,
    ) -> None:
        self._crash = crash
        self._paths = paths
        self._clock = clock
        self._load = load
        self._guarding = guarding
        self._boot = boot
        self._connected = connected
        self._synchronised = synchronised
        self._read_status = status if status is not None else _Shown(paths.status).read
        self._log = Log(say, clock)
        self._counters = AgentCounters(0.0)
        self._configuration: Optional[Configuration] = None
        self._poller: Optional[Poller] = None
        self._poster: Optional[MetadataService] = None
        # By these a change of the configuration is known.
        self._configured_in = paths.configuration, paths.handlers, paths.options
        self._configured_by: Any = None
        self._load_at = 0.0
        # Whether a configuration that is right has been loaded in this life.
        self._loaded = False
        self._wrong: Optional[str] = None
        self._memory = self._remembered()
        self._saved = _without_time(self._memory)
        self._saved_at = 0.0
        self._whole = True
        self._ended_at: Optional[float] = None
        self._metrics_at: Optional[float] = None
        self._facts: Any = None
        self._facts_at = 0.0
        # What others are shown of a document, made when there is another one.
        self._shown: Tuple[Any, ...] = ()
        self._shown_document: Optional[Dict[str, Any]] = None
        self._filed: Dict[str, Tuple[str, float]] = {}
        self._troubles: Dict[str, str] = {}
        self._told: Set[Tuple[str, Optional[str], str]] = set()
        self.reload = False

    # --- its life ---

    def run(self) -> None:
        """Until it is ended."""
        self._log.line("info", "start", "The agent watches.")
        while True:
            began = self._clock.monotonic()
            self.safe_turn()
            # From question to question: a slow answer is followed by the next question at once, never by two.
            asked = None if self._poller is None else self._poller.asked_at
            pause = max(began, asked or 0.0) + self._interval - self._clock.monotonic()
            if pause > 0:
                self._clock.sleep(pause)

    @property
    def _interval(self) -> float:
        return configurations.POLL_INTERVAL if self._configuration is None else self._configuration.poll_interval

    def safe_turn(self) -> None:
        """A mistake of ours in one turn must not leave a host unguarded."""
        try:
            self.turn()
        except LibraryMissing:
            raise  # the next turn will not find it either
        except Exception as error:  # noqa: BLE001  (whatever it is, the next turn comes)
            self._whole = True
            self._counters.polls[metrics.OTHER] = self._counters.polls.get(metrics.OTHER, 0) + 1
            text = "A turn has failed, which is a mistake in this program: %s" % "".join(
                traceback.format_exception_only(type(error), error)
            )
            self._log.line("error", "mistake", text.strip(), where="".join(traceback.format_tb(error.__traceback__)[-3:]))
        self._ended_at = self._clock.monotonic()

    def turn(self) -> None:
        """One second."""
        self._mind_pauses()
        self._mind_configuration()
        configuration, poller = self._configuration, self._poller
        assert configuration is not None
        assert poller is not None
        if poller.vm is None:
            poller.known_id = self._known_id()
        heard = poller.turn(whole=self._whole)
        status = self._read_status()
        plan = guard.look(self._memory, self._seen(configuration, poller, heard, status))
        self._memory, self._whole = plan.memory, plan.read_whole
        self._carry_out(plan, poller)
        self._hear_answers()
        self._write(configuration, status, plan)

    def _known_id(self) -> Optional[str]:
        """Which VM this was: by the executor's word, which outlives a boot, or as far as we remember."""
        status = self._read_status()
        return self._memory.vm_id if status is None or status.vm_id is None else status.vm_id

    def _seen(self, configuration: Configuration, poller: Poller, heard: Heard, status: Optional[Status]) -> Seen:
        return Seen(
            now=self._clock.wall(),
            monotonic=self._clock.monotonic(),
            boot=self._boot,
            configuration=configuration,
            reading=poller.reading,
            fresh=heard.fresh,
            answered=heard.answered,
            vm=poller.vm,
            status=status,
            difference=poller.difference,
            synchronised=self._synchronised(),
        )

    def _mind_pauses(self) -> None:
        """A frozen or sleeping machine (W-19, W-20). A service that is slow is something else, so only what is between two turns counts."""
        passed = 0.0 if self._ended_at is None else self._clock.monotonic() - self._ended_at
        if passed < self._interval + PAUSE or self._poller is None:
            return
        self._counters.pauses += 1
        self._counters.longest_pause = max(self._counters.longest_pause, passed)
        self._poller.forget_tag()
        self._poller.ask_who()
        self._log.line("warning", "pause", "Nothing ran here for a while.", seconds=round(passed))

    # --- the configuration ---

    def _mind_configuration(self) -> None:
        """Loaded again when its files have changed, or when somebody asks for it."""
        now, files_now = self._clock.monotonic(), tuple(map(_stamp, self._configured_in))
        broken = self._wrong is not None or not self._loaded
        if self.reload or files_now != self._configured_by or (broken and now >= self._load_at):
            self.reload = False
            self._configured_by, self._load_at = files_now, now + LOAD_AGAIN
            self._load_it()
        elif self._configuration is None:
            self._configure(self._guarding())  # a mistake of ours, and not of the configuration, has ended the first turn

    def _load_it(self) -> None:
        """Without any that is right, the host is guarded all the same: what was hit before must be recovered."""
        try:
            loaded = self._load()
        except ConfigurationError as error:
            self._wrong = error.message
            if not self._loaded:
                self._configure(self._guarding())
            return
        if loaded != self._configuration or not self._loaded:
            self._log.line("info", "configuration", "The configuration is loaded.", mode=loaded.mode)
        self._configure(loaded)
        self._wrong, self._loaded = None, True

    def _configure(self, configuration: Configuration) -> None:
        """Nothing is done where nothing has changed."""
        before, used = self._poller, self._configuration
        if configuration == used:
            return
        poller = Poller(
            self._connected(configuration, configuration.timeout, self._clock),
            self._clock,
            timeout=configuration.timeout,
            interval=configuration.poll_interval,
            vm_name=configuration.vm_name,
            # After a restart it is known from before; after a boot it may take the two minutes of a first call (C-7).
            known_to_answer=self._memory.good_at is not None,
        )
        if before is not None and used is not None:
            same = all(getattr(used, name) == getattr(configuration, name) for name in ("endpoint", "api_version", "vm_name"))
            poller.take_over(before, same_service=same)
        self._poster = self._connected(configuration, min(POST_PATIENCE, configuration.timeout), self._clock)
        self._configuration, self._poller = configuration, poller

    # --- what is done ---

    def _carry_out(self, plan: Plan, poller: Poller) -> None:
        for wish in plan.wishes:
            self._file(wish)
        for word in plan.refusals:
            self._counters.refusals[word] = self._counters.refusals.get(word, 0) + 1
        for by in plan.starts:
            self._count_start(by)
        if plan.approval is not None:
            self._post(plan.approval, poller)
        self._save(always=False)

    def _count_start(self, by: str) -> None:
        if by == NOBODY:
            return
        self._count_approval(by, metrics.STARTED)
        if by == metrics.OTHER:
            self._counters.competing_approver += 1

    def _count_approval(self, by: str, result: str) -> None:
        self._counters.approvals[by, result] = self._counters.approvals.get((by, result), 0) + 1

    def _post(self, event: Event, poller: Poller) -> None:
        """At once, while the document of the checks is fresh; kept in mind before it is sent, so that our own end loses nothing."""
        before = self._memory
        if self._poster is None or poller.reading is None:
            return
        self._memory = guard.sending(before, event, monotonic=self._clock.monotonic())
        kept = self._save(always=True) and self._is_written(guard.note_post(event, "sending", None))
        if not kept or self._clock.monotonic() - poller.reading.asked_at > FRESH:
            self._memory = before
            return
        self._crash(NOT_POSTED)
        error: Optional[ServiceError] = None
        try:
            self._poster.approve([event.event_id])
        except ServiceError as failed:
            error = failed
        self._crash(NOT_JOURNALED)
        self._count_approval(metrics.AGENT, _result(error))
        self._memory, note = guard.sent(self._memory, event, error, monotonic=self._clock.monotonic())
        self._whole = True
        text = "The approval of event %s was posted." % event.event_id if error is None else error.message
        self._log.line("info" if error is None else "error", "post", text, event_id=event.event_id)
        self._file(note)

    def _is_written(self, wish: Wish) -> bool:
        """On the executor's disk: the approval may stop this machine at once, and what this program knows is gone with it."""
        request, end = self._file(wish), self._clock.monotonic() + WRITTEN_WITHIN
        while request is not None and self._clock.monotonic() < end:
            answer = spool.answer_of(self._paths.answers, request)
            if answer is not None:
                return answer.ok
            self._clock.sleep(_LOOK)
        self._trouble("requests", "The executor does not write down that an event is to be approved, so it is not approved now.")
        return False

    def _file(self, wish: Wish) -> Optional[str]:
        folder = self._paths.agents_requests
        try:
            if len(os.listdir(folder)) >= MOST_WAITING:
                self._trouble("requests", "%s has %d requests that nobody takes: the executor does not run." % (folder, MOST_WAITING))
                return None
            request = spool.file_request(folder, wish.what, **wish.values)
        except OSError as error:
            self._trouble("requests", "Cannot file a request in %s: %s." % (folder, error.strerror))
            return None
        self._troubles.pop("requests", None)
        self._filed[request] = (wish.what, self._clock.monotonic())
        if wish.what not in (spool.NOTE, spool.RENEW):
            self._log.line("info", wish.what, "The executor is asked to %s." % wish.what, **_subject(wish))
        return request

    def _hear_answers(self) -> None:
        """A yes is seen in the state; a no is worth a line."""
        now = self._clock.monotonic()
        for request, (what, at) in list(self._filed.items()):
            answer = spool.answer_of(self._paths.answers, request)
            if answer is not None and not answer.ok and what != spool.NOTE:
                self._log.line("warning", "refused", "The executor refuses to %s: %s" % (what, answer.message))
            if answer is not None or now - at > ANSWER_WITHIN:
                del self._filed[request]

    # --- what is kept, and shown ---

    def _trouble(self, word: str, text: str) -> None:
        self._troubles[word] = text

    def _remembered(self) -> Memory:
        with contextlib.suppress(OSError, ValueError):
            return memory.from_json(files.read_json(self._memory_file), boot=self._boot)
        return Memory(self._boot)

    @property
    def _memory_file(self) -> str:
        return os.path.join(self._paths.agents_own, "memory.json")

    def _save(self, *, always: bool) -> bool:
        """Whether it is kept. That time goes by is not worth a file each second."""
        now = self._clock.monotonic()
        memory_now = _without_time(self._memory)
        if not (always or memory_now != self._saved or now - self._saved_at >= MEMORY_EVERY):
            return True
        kept = self._write_file(self._memory_file, json.dumps(memory.to_json(self._memory), allow_nan=False), mode=0o640)
        if kept:
            self._saved, self._saved_at = memory_now, now
        return kept

    def _write_file(self, path: str, text: str, *, mode: int) -> bool:
        """A full /run is said once, and is in nobody's way."""
        try:
            files.write_text(path, text, mode=mode)
        except OSError as error:
            self._trouble("files", "Cannot write to %s: %s." % (self._paths.agents_own, error.strerror))
            return False
        self._troubles.pop("files", None)
        return True

    def _write(self, configuration: Configuration, status: Optional[Status], plan: Plan) -> None:
        now = self._clock.monotonic()
        problems = [*plan.problems, *self._own_problems()]
        self._tell(problems)
        if self._metrics_at is None or now - self._metrics_at >= METRICS_EVERY:
            self._metrics_at = now
            self._write_metrics(configuration, status, problems)
        facts = self._facts_of(configuration, problems)
        if facts != self._facts or now - self._facts_at >= FACTS_EVERY:
            self._facts, self._facts_at = facts, now
            poller = self._poller
            moments = {
                "written_at": self._clock.wall(),
                "last_good_document": None if poller is None else poller.good_at,
                "good_since": self._good_since(),
            }
            self._write_file(self._paths.agents_facts, json.dumps({**facts, **moments}, sort_keys=True, allow_nan=False), mode=0o640)

    def _good_since(self) -> Optional[float]:
        """Since when nobody who counts on this host's eyes need have missed anything."""
        known, now = self._memory, self._clock.monotonic()
        if known.trusted_since is None or known.good_at is None or now - known.good_at > TRUSTED_GAP:
            return None
        return self._clock.wall() - (now - known.trusted_since)

    def _write_metrics(self, configuration: Configuration, status: Optional[Status], problems: Sequence[Problem]) -> None:
        poller = self._poller
        polls = dict(self._counters.polls)
        for word, count in () if poller is None else poller.polls.items():
            polls[word] = polls.get(word, 0) + count
        difference = None if poller is None else poller.difference
        counters = replace(
            self._counters,
            written_at=self._clock.wall(),
            passed=self._clock.monotonic(),
            last_good_document=None if poller is None else poller.good_at,
            # Told the other way round: what the service is ahead of this host.
            clock_difference=None if difference is None else 0.0 - difference,
            polls=polls,
            problems=dict(Counter(problem.word for problem in problems)),
        )
        self._write_file(self._paths.metrics, metrics.render(status, configuration, counters), mode=0o644)

    def _own_problems(self) -> List[Problem]:
        found = [Problem(word, text) for word, text in sorted(self._troubles.items())]
        wrong = self._wrong if self._loaded else self._wrong or "It cannot be loaded, which is a mistake in this program: see the journal."
        if wrong is not None:
            used = "the one before is used." if self._loaded else _ONLY_GUARDED
            found.append(Problem("configuration", "The configuration is wrong, %s %s" % (used, wrong)))
        poller = self._poller
        if poller is None:
            return found
        error = poller.error
        if error is not None and (error.permanent or poller.failures >= WORTH_A_WORD):
            found.append(Problem("service", error.message))
        if poller.vm is None and poller.identity_error is not None:
            found.append(Problem("identity", "It is not known which VM this is, so nothing is done. %s" % poller.identity_error.message))
        return found

    def _tell(self, problems: Sequence[Problem]) -> None:
        """Each when it comes, and when it goes; that a number in it grows is no news."""
        now = {(problem.word, problem.about, re.sub("[0-9]+", "#", problem.text)): problem for problem in problems}
        for key in sorted(set(now) - self._told, key=repr):
            self._log.line("error", "problem", now[key].text, problem=key[0], event_id=key[1])
        for key in sorted(self._told - set(now), key=repr):
            if not any(key[:2] == other[:2] for other in now):
                self._log.line("info", "solved", "The problem is over: %s" % key[0], problem=key[0], event_id=key[1])
        self._told = set(now)

    def _facts_of(self, configuration: Configuration, problems: Sequence[Problem]) -> Dict[str, Any]:
        """What does not change by itself while nothing happens."""
        poller = self._poller
        vm = None if poller is None else poller.vm
        return {
            "format": 1,
            "mode": configuration.mode,
            "vm": None if vm is None else dict(vars(vm)),
            "document": None if poller is None else self._document(poller.reading, None if vm is None else vm.name),
            "events": [
                {
                    "event_id": sight.event.event_id,
                    "state": guard.state_of(self._memory, sight),
                    "decision": None if sight.decision is None else decision_result(sight.decision),
                    "posts": sight.posts,
                }
                for _key, sight in sorted(self._memory.sights.items())
            ],
            "problems": [{"word": problem.word, "text": problem.text, "event_id": problem.about} for problem in problems],
        }

    def _document(self, reading: Optional[Reading], vm_name: Optional[str]) -> Optional[Dict[str, Any]]:
        """A scope may have thousands of events, and most answers say only that nothing has changed."""
        if self._shown != (reading, vm_name):
            self._shown, self._shown_document = (reading, vm_name), None if reading is None else _document(reading, vm_name)
        return self._shown_document


class _Shown:
    """The executor's published state, read when there is another one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stamp: Any = None
        self._status: Optional[Status] = None

    def read(self) -> Optional[Status]:
        stamp = _stamp(self._path)
        if stamp is None or stamp != self._stamp or self._status is None:
            self._stamp, self._status = stamp, published.read(self._path)
        return self._status


def _document(reading: Reading, vm_name: Optional[str]) -> Dict[str, Any]:
    events = reading.document.events
    return {
        "incarnation": reading.document.incarnation,
        "events": [event_result(event, queried_at=reading.queried_at, vm_name=vm_name) for event in events[:MOST_EVENTS]],
        "left_out": max(0, len(events) - MOST_EVENTS),
    }


def _result(error: Optional[ServiceError]) -> str:
    if error is None:
        return metrics.TAKEN
    return metrics.REFUSED if error.ineffective else metrics.UNCLEAR


def _subject(wish: Wish) -> Dict[str, Any]:
    values: Mapping[str, Any] = wish.values
    if "events" in values:
        return {"events": [entry["event"]["event_id"] for entry in values["events"]], "gone": list(values["gone"])}
    return {"event_id": values["event"]["event_id"] if "event" in values else values.get("event_id")}


def _without_time(known: Memory) -> Memory:
    return replace(known, good_at=None)


def _stamp(path: str) -> Any:
    """A file that is replaced has another one."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


# --- the machine -----------------------------------------------------------------------------------------------------------


class _Timex(ctypes.Structure):
    """The beginning of what adjtimex(2) fills in, and room for the rest of it."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("frequency", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


class ClockKept:
    """Whether somebody keeps this host's clock right: the kernel knows, and where it may not be asked, systemd's own service does.

    Asked each second, and so what it takes to ask is put together once.
    """

    def __init__(self, *, mark: str = _CLOCK_MARK) -> None:
        self._mark = mark
        self._answer = _Timex()
        self._place = ctypes.byref(self._answer)
        self._adjtimex: Any = None
        with contextlib.suppress(OSError, AttributeError):
            self._adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex

    def __call__(self) -> bool:
        # Only asked, never set.
        self._answer.modes = 0
        state = -1 if self._adjtimex is None else int(self._adjtimex(self._place))
        if state >= 0:
            return state != _TIME_ERROR and not self._answer.status & _STA_UNSYNC
        return os.path.exists(self._mark)


def boot_id(path: str = _BOOT_ID) -> str:
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def service_of(configuration: Configuration, timeout: float, clock: Clock) -> MetadataService:
    """One attempt for each question: when the next one comes is the poller's matter."""
    return connect(endpoint=configuration.endpoint, api_version=configuration.api_version, timeout=timeout, retry_for=0.0, clock=clock)


def _say(line: str) -> None:
    """To the journal; that nobody listens is nobody's fault here."""
    with contextlib.suppress(OSError):
        print(line, flush=True)


def main(arguments: Sequence[str], crash: Callable[[str], None] = no_crash) -> int:
    """The program of the unit."""
    parser = argparse.ArgumentParser(prog="azure-event-agent", description="Watches Azure's scheduled events for this host.")
    parser.add_argument("--root", default="", help="a folder that has everything, for a rehearsal")
    paths = Paths(parser.parse_args(arguments).root)
    owner = os.getuid() if paths.root else 0
    agent = Agent(
        paths,
        host_clock(),
        load=lambda: configurations.load(paths, owner=owner),
        guarding=lambda: configurations.guarding(paths, owner=owner),
        boot=boot_id(),
        connected=service_of,
        synchronised=ClockKept(),
        say=_say,
        crash=crash,
    )

    def end(_number: int, _frame: Any) -> None:
        raise Ended

    def reload(_number: int, _frame: Any) -> None:
        agent.reload = True

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGHUP, reload)
    try:
        agent.run()
    except Ended:
        return 0
    except MaintenanceError as problem:
        print(problem.message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
