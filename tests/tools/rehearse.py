# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make rehearse`: plays the playbook cloud_maintenance.azure.rehearse on a simulator of its own and tells the story.

The playbook does the steps and proves each of them. This program starts the simulator, tells what happens while it happens,
and counts the proofs: it ends with 0 only if there is one for every step and the simulator's own books agree. Then a host lives through
an event by itself: host_life.py. And then a fleet is taken through four events by the playbook for it: fleet_life.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "roles" / "imds_simulator" / "files")]

from fleet_life import fleet_life, staged
from host_life import live
from imds_simulator import Notice, Simulator
from places import ANSIBLE_CFG
from story import Page

PLAYBOOK = "cloud_maintenance.azure.rehearse"
SOURCE = ROOT / "playbooks" / "rehearse.yml"
# What the playbook leaves to be set. The event runs until the last step follows it, however slow the machine is.
SETTINGS: Mapping[str, str] = {
    "rehearse_notice": "15m",
    "rehearse_start_delay": "3s",
    "rehearse_runs_for": "10m",
    "rehearse_patience": "40s",
}
LIMIT = 240.0  # seconds; a rehearsal takes a tenth of it
LOOK = 0.05
LONGEST_END = 5.0  # seconds in which somebody who is ending may still write
PATIENCE = 3.0  # seconds between asking a process to end and ending it
TAIL = 30  # lines of Ansible's own words when it ends without a reason that we know
ANSWER = 600  # characters of an answer that is shown because something is wrong with it
STAGED = "Let Azure announce a Reboot of two of them"
LOOKED = "Keep what it said"

Result = Mapping[str, Any]
Results = Mapping[str, Result]  # by host
States = Tuple[str, str, str]  # of web_0, web_1 and web_2


class Stopped(Exception):
    """Somebody wants us to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@dataclass(frozen=True)
class Chapter:
    """One step: the task that is shown, the task that proves it, and the words around them."""

    title: str
    why: str
    task: str
    proof: str
    tell: Callable[[Results], str]
    proven: Callable[[Result], str]
    before: States
    after: States
    hosts: int = 1  # that play it


@dataclass(frozen=True)
class Failure:
    task: str
    reasons: Sequence[str]


@dataclass
class Course:
    """How far the rehearsal has come."""

    began: float
    answers: Dict[str, Dict[str, Result]] = field(default_factory=dict)  # of each task, by host
    passed: Dict[str, int] = field(default_factory=dict)  # how many hosts a task was ok on
    told: List[str] = field(default_factory=list)
    proven: List[str] = field(default_factory=list)
    failures: List[Failure] = field(default_factory=list)
    event: Dict[str, Any] = field(default_factory=dict)

    def seconds(self) -> float:
        return time.monotonic() - self.began


def utc(instant: float) -> str:
    return time.strftime("%H:%M:%S UTC", time.gmtime(instant))


def span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return "%d min %d s" % (minutes, rest) if minutes else "%d s" % rest


def only(results: Results) -> Result:
    return next(iter(results.values()))


def tell_seen(results: Results) -> str:
    event = only(results)["events"][0]
    text = "Each of the %d VMs is told the same: %s of %s, Scheduled, not before %s (in %s), an interruption of about %d s."
    start = event["not_before"][11:19] + " UTC"
    names, left = " and ".join(event["resources"]), span(event["seconds_to_not_before"])
    return text % (len(results), event["event_type"], names, start, left, event["duration_seconds"])


def tell_refused(results: Results) -> str:
    return '"%s"' % only(results)["msg"]


def tell_asked(results: Results) -> str:
    return "Result: %s. In check mode every check is made, and nothing is sent." % only(results)["results"][0]["result"]


def tell_approved(results: Results) -> str:
    result = only(results)["results"][0]["result"]
    if result == "approved":
        return "Result: approved. Azure took it, and the event has started already."
    return "Result: %s. Azure took it, but others on the same host have to agree: only the start proves an approval." % result


def tell_started(results: Results) -> str:
    event = only(results)["events"][0]
    return "State: %s, last seen at %s UTC. It has no NotBefore any more." % (event["state"], event["last_seen"][11:19])


def tell_gone(results: Results) -> str:
    result = only(results)
    text = "State: %s, and it was seen started: completed, not cancelled. Watched for %s, ten seconds of them to be sure."
    return text % (result["events"][0]["state"], span(result["waited_seconds"]))


def posts(facts: Result) -> str:
    return {0: "no approval", 1: "one approval"}.get(len(facts["rehearse_posts"]), "%d approvals" % len(facts["rehearse_posts"]))


SERVING, DRAINED, HIT, BACK = "in service", "drained, ready", "rebooting", "back in service"
STATE_MARKS = {SERVING: "empty", DRAINED: "full", HIT: "busy", BACK: "good"}
NOBODY_READY: States = (SERVING, SERVING, SERVING)
ONE_READY: States = (DRAINED, SERVING, SERVING)
BOTH_READY: States = (DRAINED, DRAINED, SERVING)
BOTH_DOWN: States = (HIT, HIT, SERVING)
ALL_BACK: States = (BACK, BACK, SERVING)

STORY: Sequence[Chapter] = (
    Chapter(
        "See it coming",
        "All VMs of an availability set see one document, so each of them asks. The neighbour web_2 is told too.",
        "See what Azure announces",
        "Prove that every VM was told of the Reboot, and which of them it hits",
        tell_seen,
        lambda facts: "The simulator was asked by each VM and has seen %s." % posts(facts),
        NOBODY_READY,
        NOBODY_READY,
        hosts=3,
    ),
    Chapter(
        "One VM is not ready",
        "web_0 is drained, web_1 still serves. An approval holds for every VM of the event, so this one must be refused.",
        "Approve while only web_0 is ready",
        "Prove that it was refused because of web_1, and that nothing was posted",
        tell_refused,
        lambda facts: "Refused, and the simulator has seen %s." % posts(facts),
        ONE_READY,
        ONE_READY,
    ),
    Chapter(
        "Both are ready: ask first",
        "web_1 is drained now. Check mode tells what would happen.",
        "Ask what an approval would do",
        "Prove that it would be approved, and that nothing was posted",
        tell_asked,
        lambda facts: "The simulator has still seen %s; the event waits." % posts(facts),
        BOTH_READY,
        BOTH_READY,
    ),
    Chapter(
        "Approve",
        "Any VM of the set may approve. web_2 does it, because it will still be there afterwards.",
        "Approve, now that both are ready",
        "Prove that one approval was posted, for this event alone",
        tell_approved,
        lambda facts: "The simulator has seen %s, from web_2, for this event alone." % posts(facts),
        BOTH_READY,
        BOTH_READY,
    ),
    Chapter(
        "Watch it start",
        "web_2 follows the event while its neighbours go down.",
        "Watch it start",
        "Prove that the approval started it, long before NotBefore",
        tell_started,
        lambda facts: (
            "The simulator started it %.1f s after the approval, %s before NotBefore."
            % (
                facts["rehearse_simulated"]["started_at"] - facts["rehearse_simulated"]["approved_at"],
                span(facts["rehearse_simulated"]["not_before"] - facts["rehearse_simulated"]["started_at"]),
            )
        ),
        BOTH_READY,
        BOTH_DOWN,
    ),
    Chapter(
        "Watch it go",
        "There is no word for completed: an event is over when two answers ten seconds apart do not have it any more.",
        "Watch it go",
        "Prove that it is completed and not announced any more",
        tell_gone,
        lambda facts: "The simulator says %s, and has seen %s in all." % (facts["rehearse_simulated"]["outcome"], posts(facts)),
        BOTH_DOWN,
        ALL_BACK,
    ),
)


def task_text(source: str, name: str, settings: Mapping[str, str]) -> List[str]:
    """A task as it stands in the playbook, moved to the left; our own settings by their values, everything else as it is."""
    lines = source.splitlines()
    start = next(number for number, line in enumerate(lines) if line.strip() == "- name: " + name)
    indent = len(lines[start]) - len(lines[start].lstrip())
    taken = [lines[start]]
    for line in lines[start + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        taken.append(line)
    text = "\n".join(line[indent:] for line in taken).rstrip()
    for setting, value in settings.items():
        text = re.sub(r"\"?\{\{ %s \}\}\"?" % setting, value, text)
    return text.splitlines()


class Narrator:
    """Turns what Ansible and the simulator report into the story."""

    def __init__(self, page: Page, course: Course, settings: Mapping[str, str], story: Sequence[Chapter] = STORY) -> None:
        self._page = page
        self._course = course
        self._settings = settings
        self._story = story
        self._source = SOURCE.read_text(encoding="utf-8")
        self._facts: Result = {}
        self._shown: Optional[States] = None

    def prologue(self, control_url: str) -> None:
        page = self._page
        page.heading("A rehearsal of Azure's maintenance")
        page.text("Three VMs in an availability set, and a simulator that keeps Azure's contract. Nothing here reaches Azure.")
        page.text("The tasks are those that one writes for Azure; Ansible runs them from the playbook %s." % PLAYBOOK)
        page.line()
        page.text("The simulator listens on loopback. While this runs, ask it too:")
        page.line("   curl %s/events" % control_url)

    def hear(self, entry: Mapping[str, Any]) -> None:
        """One line of the callback plugin."""
        if entry["kind"] == "start":
            self._begin(entry["task"])
            return
        result = entry["result"]
        self._course.answers.setdefault(entry["task"], {})[entry["host"]] = result
        if entry["outcome"] in ("failed", "unreachable"):
            self._course.failures.append(Failure(entry["task"], reasons_of(result)))
        elif entry["outcome"] == "ok":
            self._course.passed[entry["task"]] = self._course.passed.get(entry["task"], 0) + 1
            self._end(entry["task"], result)

    def notice(self, notice: Notice) -> None:
        """Something that the simulator did by itself."""
        names = " and ".join(notice.event["resources"])
        words = {
            "start": "the platform begins: %s go down",
            "end": "the platform is done: %s are up again",
            "cancel": "the event of %s is cancelled",
        }
        self._page.marked("event", "%s  %s" % (utc(notice.at), words[notice.phase] % names), "busy")

    def epilogue(self, asked: int, posted: int) -> None:
        page = self._page
        page.heading("The end", "%d s" % self._course.seconds())
        page.text(
            "%d steps, %d proofs; %d questions were asked and %d approval was sent."
            % (len(self._story), len(self._course.proven), asked, posted)
        )
        page.line()
        for sentence in LESSONS:
            page.marked("said", sentence)
        page.line()
        page.text(
            "The playbook is playbooks/rehearse.yml: copy from it. To rehearse your own, install the simulator with the role"
            " cloud_maintenance.azure.imds_simulator and give the modules its address as endpoint."
        )

    def failed(self, output: str) -> None:
        """Why it ended, in the words of the step that did not hold."""
        page = self._page
        page.line()
        missing = [chapter.title for chapter in self._story if chapter.proof not in self._course.proven]
        page.marked(
            "bad", "The rehearsal failed: not every step did what it says. Without proof: %s." % (", ".join(missing) or "none"), "bad"
        )
        for failure in self._course.failures[:3]:
            page.marked("bad", 'Task "%s"' % failure.task, "bad")
            for reason in failure.reasons:
                page.text("  " + reason)
        self._show_answers()
        if not self._course.failures:
            page.text("Ansible's last words:")
            for line in output.splitlines()[-TAIL:]:
                page.line("     " + line)

    def _show_answers(self) -> None:
        """What the modules of the step without proof had said."""
        chapter = next((chapter for chapter in self._story if chapter.proof not in self._course.proven), None)
        for host, result in self._course.answers.get(chapter.task if chapter else "", {}).items():
            self._page.text("The answer on %s: %s" % (host, json.dumps(result)[:ANSWER]))

    def _begin(self, task: str) -> None:
        chapter = next((chapter for chapter in self._story if chapter.task == task), None)
        if chapter is None or chapter.title in self._course.told:
            return
        self._course.told.append(chapter.title)
        self._page.heading("%d. %s" % (len(self._course.told), chapter.title), "%d s" % self._course.seconds())
        self._page.text(chapter.why)
        self._show(chapter.before)
        self._page.code(task_text(self._source, task, self._settings))

    def _end(self, task: str, result: Result) -> None:
        if task == STAGED:
            self._stage(result["json"])
        if task == LOOKED:
            self._facts = result["ansible_facts"]
        chapter = next((chapter for chapter in self._story if chapter.proof == task), None)
        if chapter and self._course.passed[task] == chapter.hosts:
            self._conclude(chapter)

    def _conclude(self, chapter: Chapter) -> None:
        """What the modules said is told when it is proven, and not before."""
        self._course.proven.append(chapter.proof)
        self._page.marked("said", chapter.tell(self._course.answers[chapter.task]), "bold")
        self._page.marked("good", chapter.proven(self._facts), "good")
        self._show(chapter.after)

    def _stage(self, event: Dict[str, Any]) -> None:
        self._course.event = event
        self._page.line()
        names = " and ".join(event["resources"])
        self._page.marked("event", "%s  Azure announces a %s of %s." % (utc(event["announced_at"]), event["event_type"], names), "busy")
        self._show(NOBODY_READY)

    def _show(self, states: States) -> None:
        """The VMs, where something has changed since they were shown."""
        if states == self._shown:
            return
        self._shown = states
        self._page.line()
        rows = [["VM", "", "state", "hit by the event"]]
        for number, state in enumerate(states):
            name = "web_%d" % number
            rows.append([name, self._page.mark(STATE_MARKS[state]), state, "yes" if name in self._course.event["resources"] else "no"])
        self._page.table(rows)


HAPPENED = {
    "start": "The platform begins: %s go down.",
    "end": "The platform is done: %s are up again.",
    "cancel": "The platform has cancelled the event of %s.",
}
LESSONS = (
    "Ask on any VM of the set: all of them see the event, under its Azure names, which need not be host names.",
    "Approve only what is ready. One VM that is not holds up the whole event, and nothing is posted.",
    "Check mode tells whether it would be approved, without sending anything.",
    "An approval is proved by the event's start, not by the answer to the post.",
    "Follow an event from a VM that it does not hit, and take its VMs back into service when it is gone.",
)


def reasons_of(result: Result) -> List[str]:
    """What a failed task says: the message, and the condition if it was one of ours."""
    reasons = [" ".join(str(result.get("msg") or "It failed without a message.").split())]
    if result.get("assertion"):
        reasons.append("This did not hold: %s" % result["assertion"])
    for item in result.get("results") or ():
        if isinstance(item, dict) and item.get("failed") and item.get("msg"):
            reasons.append(str(item["msg"]))
    return reasons


class Run:
    """ansible-playbook with the playbook, in a session and a folder of its own."""

    def __init__(self, program: str, simulator: Simulator, settings: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rehearse-")
        folder = Path(self._folder.name)
        self._events, self._output = folder / "events", folder / "output"
        self._events.touch()
        (folder / "ansible.cfg").write_text(ANSIBLE_CFG, encoding="utf-8")
        given = {**settings, "rehearse_data_url": simulator.data_url, "rehearse_control_url": simulator.control_url}
        with open(self._output, "wb") as output:
            self._process = subprocess.Popen(
                [program, "--inventory", "localhost,", "--extra-vars", json.dumps(given), PLAYBOOK],
                env=environment(folder, self._events),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def entries(self) -> Iterator[Optional[Mapping[str, Any]]]:
        """What the callback plugin writes, as it comes; None while nothing does. Ends with the process."""
        deadline = time.monotonic() + LIMIT
        with open(self._events, encoding="utf-8") as file:
            rest = ""
            while True:
                over = self._process.poll() is not None
                rest += file.read()
                *lines, rest = rest.split("\n")
                yield from (json.loads(line) for line in lines)
                if over or time.monotonic() > deadline:
                    return
                yield None
                time.sleep(LOOK)

    def output(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace")

    @property
    def succeeded(self) -> bool:
        return self._process.poll() == 0

    def close(self) -> None:
        """Leaves no process behind, neither Ansible nor what it started."""
        started = descendants(self._process.pid)
        if self._process.poll() is None:
            end_group(self._process)
        for pid in started:
            end(pid)
        until = time.monotonic() + LONGEST_END
        while True:
            try:
                self._folder.cleanup()
                return
            except OSError:  # whoever is just ending may write there once more
                if time.monotonic() > until:
                    raise
                time.sleep(LOOK)


def environment(folder: Path, events: Path) -> Dict[str, str]:
    """The caller's environment less its settings of Ansible, which could make another story of it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_") or key == "ANSIBLE_COLLECTIONS_PATH"}
    if "utf" not in (kept.get("LC_ALL") or kept.get("LC_CTYPE") or kept.get("LANG") or "").lower():
        kept["LC_ALL"] = "C.UTF-8"  # Ansible refuses to start without
    return {
        **kept,
        "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_LOCAL_TEMP": str(folder / "local"),
        "ANSIBLE_REMOTE_TMP": str(folder / "remote"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback"),
        "ANSIBLE_CALLBACKS_ENABLED": "task_events",
        "CLOUD_MAINTENANCE_TASK_EVENTS": str(events),
    }


def descendants(pid: int) -> List[int]:
    """The processes below one: Ansible gives its workers sessions of their own."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    children: Dict[int, List[int]] = {}
    for line in listed.stdout.splitlines():
        child, parent = (int(word) for word in line.split())
        children.setdefault(parent, []).append(child)
    found: List[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def end_group(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def books_agree(simulator: Simulator, course: Course) -> List[str]:
    """What the simulator's own books say against the story, in sentences; nothing when they agree."""
    if not course.event:
        return ["no event was announced"]
    event = simulator.event(course.event["event_id"])
    approvals = [record for record in simulator.posts() if event.event_id.upper() in record.body.upper()]
    wrong = []
    if [record.status for record in approvals] != [200]:
        wrong.append("the simulator has seen %d approvals of the event and not one" % len(approvals))
    if event.outcome != "completed":
        wrong.append("the simulator's event is %s and not completed" % (event.outcome or event.state))
    if event.started_at is None or event.started_at >= event.not_before:
        wrong.append("the simulator's event did not start because of the approval")
    return wrong


def rehearse(
    page: Page,
    *,
    settings: Optional[Mapping[str, str]] = None,
    spoil: Optional[Callable[[Simulator], None]] = None,
    meanwhile: Optional[Callable[[], None]] = None,
) -> int:
    """One rehearsal, and its exit code. A test spoils the simulator to see that this is noticed.

    meanwhile: what can be done in the last step, in which everybody waits for ten seconds.
    """
    program = shutil.which("ansible-playbook", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if program is None or "ANSIBLE_COLLECTIONS_PATH" not in os.environ:
        page.marked("bad", "ansible-playbook and ANSIBLE_COLLECTIONS_PATH are needed. `make rehearse` sets everything up.", "bad")
        return 2
    wanted = {**SETTINGS, **(settings or {})}
    course = Course(time.monotonic())
    narrator = Narrator(page, course, wanted)
    with Simulator() as simulator:
        notices: queue.Queue[Notice] = queue.Queue()
        for phase in HAPPENED:
            simulator.on(phase, notices.put)
        if spoil:
            spoil(simulator)
        narrator.prologue(simulator.control_url)
        run = Run(program, simulator, wanted)
        try:
            follow(run, narrator, notices, LastStep(course, simulator, meanwhile))
            course.failures += [Failure("the simulator's books", [sentence]) for sentence in _objections(run, simulator, course)]
            if not run.succeeded or course.failures or len(course.proven) != len(STORY):
                narrator.failed(run.output())
                return 1
            narrator.epilogue(len(simulator.requests(verb="GET", path="events")), len(simulator.posts()))
            return 0
        finally:
            run.close()


def _objections(run: Run, simulator: Simulator, course: Course) -> List[str]:
    return books_agree(simulator, course) if run.succeeded else []


class LastStep:
    """Ends the event once the task of the last step has asked for it and so follows it; work that is to be done meanwhile begins then."""

    def __init__(self, course: Course, simulator: Simulator, work: Optional[Callable[[], None]]) -> None:
        self._course = course
        self._simulator = simulator
        self._work = work
        self._asked_before: Optional[int] = None
        self._is_over = False

    def look(self) -> None:
        if self._is_over or len(self._course.told) < len(STORY):
            return
        asked = len(self._simulator.requests(verb="GET", path="events"))
        if self._asked_before is None:
            self._asked_before = asked
        if asked == self._asked_before:
            return
        self._is_over = True
        if self._simulator.event(self._course.event["event_id"]).state == "Started":
            self._simulator.complete(self._course.event["event_id"])
        if self._work is not None:
            self._work()


def follow(run: Run, narrator: Narrator, notices: queue.Queue[Notice], last_step: LastStep) -> None:
    parent = os.getppid()
    for entry in run.entries():
        while not notices.empty():
            narrator.notice(notices.get())
        if entry is not None:
            narrator.hear(entry)
        elif os.getppid() != parent:
            raise Stopped(signal.SIGHUP)
        else:
            last_step.look()


def rehearse_all(page: Page) -> int:
    """The three parts. The fleet of the last one is set up, and asked for its plan, while everybody waits for Azure in the ones before."""
    with staged() as set_up:
        return rehearse(page, meanwhile=set_up.begin) or live(page) or fleet_life(page, set_up.stage, set_up.planning)


def _stop(number: int, _frame: Optional[FrameType]) -> None:
    for again in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)  # once is enough: what follows is tidying up
    raise Stopped(number)


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    page = Page.on(sys.stdout)
    try:
        return rehearse_all(page)
    except Stopped as stopped:
        page.line()
        page.marked("bad", "Stopped. Nothing is left running.", "bad")
        return 128 + stopped.number
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # who read the story has gone; nothing to say any more
        return 1


if __name__ == "__main__":
    sys.exit(main())
