# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The third part of `make rehearse`: a fleet of hosts, four events, and the playbook that takes the fleet through them.

The hosts are folders with a real executor and a real agent each, as the tests of the playbook have them; the playbook is
cloud_maintenance.azure.rolling_maintenance as it is. It ends with 0 only if the plan was what it should be, every host was out of service
before its event was approved and is in service now, nobody else was touched, and the evidence says all that.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FLEETS = ROOT / "tests" / "rolling"
SIMULATOR, HANDLERS = ROOT / "roles" / "imds_simulator" / "files", ROOT / "roles" / "event_handlers" / "files"
sys.path[:0] = [str(HERE), str(FLEETS), str(SIMULATOR), str(HANDLERS)]
# What runs on a host shares its module_utils with the modules.
sys.path += os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep)

from fleet import PLAYBOOK, Controller, Fleet, Host, Played, Running
from imds_simulator import Event, Notice
from nursery import Nursery
from story import Page

HOUR, DAY = 3600.0, 86400.0
# Seconds; a run takes a tenth of it.
LIMIT = 300.0
# Long enough for what happens at once to be told at once.
LOOK = 0.3
CORE = "play"
PLACES = ("running", "waves", "held", "refused", "left")
# In some hours, so that it is never open now.
WINDOW_IN, WINDOW_FOR = 6, 4
SETTINGS = """\
rolling_maintenance_max_unavailable: 3
rolling_maintenance_rules:
  - name: moves at night
    event_types: [Redeploy]
    action: prepare_and_approve
    start: window
  - name: at once
    action: prepare_and_approve
    start: now
rolling_maintenance_windows:
  - {from: "%02d:00", to: "%02d:00", timezone: UTC}
"""


@dataclass(frozen=True)
class Announced:
    """What Azure announces, where the plan has to put it, and what has to come of it."""

    event_type: str
    vms: str
    why: str
    place: str
    result: str
    options: Mapping[str, Any]


ANNOUNCED: Mapping[str, Announced] = {
    "shared": Announced("Reboot", "web2 web3", "two VMs share it: both or none", "waves", "recovered", {"runs_for": 3.0}),
    "freeze": Announced("Freeze", "web4", "too long to be ignored", "waves", "recovered", {"duration": 30}),
    "held": Announced("Redeploy", "web1", "in two days, and a window opens before", "held", "held", {"notice": 2 * DAY}),
    "refused": Announced("Reboot", "batch1 legacy", "nobody manages the other VM", "refused", "refused", {"notice": HOUR}),
}
BYSTANDERS = ("web1", "batch1")
"""Hosts on which nothing may run."""
# Of each state a mark, and what is said of one host and of several.
STATES: Mapping[str, Sequence[str]] = {
    "PREPARING": ("busy", "gets ready", "get ready"),
    "PREPARED": ("full", "is out of service", "are out of service"),
    "COMMITTED": ("full", "gives its word", "give their word"),
    "IMPACT": ("busy", "sees the event start", "see the event start"),
    "RECOVERING": ("busy", "sees that it is over, and is put back", "see that it is over, and are put back"),
    "CLOSED": ("good", "is back in service", "are back in service"),
    "BACKING_OUT": ("bad", "is given back", "are given back"),
    "BACKED_OUT": ("bad", "was given back", "were given back"),
    "STAYING": ("bad", "stays out of service, and is not approved", "stay out of service, and are not approved"),
}


class Stage:
    """The fleet, the metadata service that it asks, and what was announced. It is set up before it is shown, since that takes a moment."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="stage-"))
        self._closing = contextlib.ExitStack()
        self._closing.callback(shutil.rmtree, self._folder, ignore_errors=True)
        collections = os.environ["ANSIBLE_COLLECTIONS_PATH"]
        nursery = Nursery(self._folder, collections)
        self._closing.callback(nursery.close)
        programs = {CORE: str(Path(shutil.which("ansible-playbook") or sys.executable).parent)}
        self.fleet = self._closing.enter_context(Fleet(nursery, Controller(programs, collections, environment())))
        self.notices: queue.Queue[Notice] = queue.Queue()
        for phase in ("start", "end"):
            self.fleet.simulator.on(phase, self.notices.put)
        self.events: Dict[str, Event] = {}
        self.settings = SETTINGS % tuple((time.gmtime().tm_hour + hours) % 24 for hours in (WINDOW_IN, WINDOW_IN + WINDOW_FOR))
        self.vars = self._folder / "maintenance.yml"
        self.vars.write_text(self.settings, encoding="utf-8")

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._closing.close()

    def set(self) -> None:
        fleet = self.fleet
        # Nobody here is another user than the one who looks on.
        fleet.variables["ansible_become"] = False
        fleet.add("web1 web2 web3 web4", scope="web", vm_name="shop-%s")
        fleet.add("batch1", scope="batch", vm_name="shop-%s")
        fleet.add("legacy", scope="batch", vm_name="old-%s", managed=False)
        fleet.ready()
        self.events = {name: fleet.schedule(one.event_type, one.vms, **one.options) for name, one in ANNOUNCED.items()}

    def play(self, *, check: bool = False) -> Running:
        """The playbook with the settings that are shown; what takes minutes on Azure takes seconds here."""
        return self.fleet.begin(CORE, "-e", "@%s" % self.vars, check=check, lease="5m")

    def host(self, name: str) -> Host:
        return self.fleet[name]


def environment() -> Dict[str, str]:
    """The caller's environment less its settings of Ansible, which could make another story of it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
    if "utf" not in (kept.get("LC_ALL") or kept.get("LC_CTYPE") or kept.get("LANG") or "").lower():
        kept["LC_ALL"] = "C.UTF-8"  # Ansible refuses to start without
    return kept


# --- what is told while it happens ---------------------------------------------------------------------------------------


class Story:
    """What hosts, Azure and the run do, told when it is seen."""

    def __init__(self, page: Page, stage: Stage) -> None:
        self._page = page
        self._stage = stage
        self._states: Dict[Any, str] = {}
        self._posts = 0

    def follow(self, run: Running) -> Optional[Played]:
        """Until the run is over; None where it does not end."""
        end = time.monotonic() + LIMIT
        while not run.is_over:
            self.look()
            if time.monotonic() > end:
                run.end()
                return None
            time.sleep(LOOK)
        self.look()
        return run.wait()

    def look(self) -> None:
        self._see_posts()
        while not self._stage.notices.empty():
            self._see(self._stage.notices.get())
        changed: Dict[str, List[str]] = {}
        for host in self._stage.fleet.hosts.values():
            for record in host.records():
                key, state = (host.name, record["event"]["event_id"]), str(record["state"])
                if self._states.get(key) != state:
                    self._states[key] = state
                    changed.setdefault(state, []).append(host.name)
        for state, names in changed.items():
            if state in STATES:
                mark, one, many = STATES[state]
                self._page.marked(mark, "%s %s" % (" and ".join(sorted(names)), one if len(names) == 1 else many))

    def _see_posts(self) -> None:
        posts = self._stage.fleet.posts()
        for post in posts[self._posts :]:
            event = next((one for one in self._stage.events.values() if one.event_id.upper() in post.body.upper()), None)
            what = "something that nobody has announced" if event is None else said(event)
            self._page.marked("event", "%s approves the %s." % (post.vm, what), "bold")
        self._posts = len(posts)

    def _see(self, notice: Notice) -> None:
        words = {"start": "Azure begins: %s of %s.", "end": "Azure is done with the %s of %s."}[notice.phase]
        self._page.marked("event", words % (notice.event["event_type"], " and ".join(notice.event["vms"])), "busy")


def said(event: Event) -> str:
    return "%s of %s" % (event.event_type, " and ".join(event.resources))


# --- what is proven ------------------------------------------------------------------------------------------------------


def objections_to_the_plan(stage: Stage, played: Optional[Played]) -> Iterator[str]:
    if played is None or played.code:
        yield "The plan was not made: %s" % words_of(played)
        return
    if stage.fleet.posts():
        yield "Somebody has approved something, and it was only asked for the plan."
    touched = [host.name for host in stage.fleet.hosts.values() if host.runs() or not host.in_service]
    if touched:
        yield "It was only asked for the plan, and something was done on %s." % ", ".join(touched)
    for name, place in places(stage, played).items():
        if place != ANNOUNCED[name].place:
            yield "The plan has the %s in %s and not in %s." % (said(stage.events[name]), place, ANNOUNCED[name].place)


def places(stage: Stage, played: Played) -> Dict[str, str]:
    entries = {entry["event"]["event_id"].lower(): entry for entry in played.stats.get("azure_maintenance_events", ())}
    return {name: str(entries.get(event.event_id.lower(), {}).get("place")) for name, event in stage.events.items()}


def objections_to_the_run(stage: Stage, played: Optional[Played]) -> Iterator[str]:
    if played is None:
        yield "The run has not ended after %g s." % LIMIT
        return
    # What was refused has to be looked at, so that it is no success.
    if played.code != 2 or stage.events["refused"].event_id.lower() not in played.message.lower():
        yield "The run ended with %d, and not with 2 because of what was refused: %s" % (played.code, words_of(played))
    for name in ("shared", "freeze"):
        yield from _objections_to_an_approval(stage, name)
    for name in ("held", "refused"):
        if stage.fleet.posts(stage.events[name]):
            yield "Somebody has approved the %s." % said(stage.events[name])
    for bystander in BYSTANDERS:
        if stage.host(bystander).runs():
            yield "Handlers were run on %s, which was not to be touched." % bystander
    out = [host.name for host in stage.fleet.hosts.values() if not host.in_service]
    if out:
        yield "Out of service at the end: %s." % ", ".join(out)


def _objections_to_an_approval(stage: Stage, name: str) -> Iterator[str]:
    event, hit = stage.events[name], ANNOUNCED[name].vms.split()
    posts = stage.fleet.posts(event)
    if [post.status for post in posts] != [200]:
        yield "The %s was approved %d times and not once." % (said(event), len(posts))
        return
    if posts[0].vm in hit:
        yield "%s approved the %s, which hits it." % (posts[0].vm, said(event))
    for host in hit:
        times = handler_times(stage.host(host))
        if not times.get("prepare", posts[0].at) < posts[0].at:
            yield "%s was not out of service when the %s was approved." % (host, said(event))
        if event.gone_at is None or not event.gone_at < times.get("recover", 0.0):
            yield "%s was not put back after the %s was over." % (host, said(event))


def handler_times(host: Host) -> Dict[str, float]:
    """When the last of each phase has ended, by the handler's own log."""
    log = host.folder / "handlers.log"
    lines = [line.split() for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    return {line[3]: float(line[0]) for line in lines if line[1] == "end"}


def objections_to_the_evidence(stage: Stage) -> Iterator[str]:
    for name, event in stage.events.items():
        result = evidence_of(stage, event).get("result", "nothing")
        if result != ANNOUNCED[name].result:
            yield "The evidence of the %s says %s and not %s." % (said(event), result, ANNOUNCED[name].result)


def evidence_of(stage: Stage, event: Event) -> Dict[str, Any]:
    """What the controller has written of it; empty if nothing."""
    for file in reversed(stage.fleet.evidence()):
        for one in file["events"]:
            if one["event"]["event_id"].lower() == event.event_id.lower():
                return dict(one)
    return {}


def words_of(played: Optional[Played]) -> str:
    """Why it has ended, or its last words."""
    if played is None:
        return "it has not ended after %g s." % LIMIT
    return played.message or "\n".join(played.output.splitlines()[-20:])


# --- the story -----------------------------------------------------------------------------------------------------------


def fleet_life(page: Page, stage: Stage, planning: Running) -> int:
    """One life of a fleet, and the exit code. planning: the run in check mode, which may be under way."""
    page.heading("A fleet, and one command")
    _tell_announced(page, stage)
    page.line()
    page.text("First the plan. Check mode asks everybody, and does nothing:")
    story = Story(page, stage)
    planned = story.follow(planning)
    wrong = list(objections_to_the_plan(stage, planned))
    if not wrong and planned is not None:
        _tell_plan(page, planned)
        _tell_run(page)
        played = story.follow(stage.play())
        wrong = [*objections_to_the_run(stage, played), *objections_to_the_evidence(stage)]
        if played is not None:
            _tell_end(page, stage, played)
    for sentence in wrong:
        page.marked("bad", sentence, "bad")
    if not wrong:
        page.marked("good", "Two events were approved once their hosts were ready, two were left alone, and everybody serves.", "good")
    return 1 if wrong else 0


def _tell_announced(page: Page, stage: Stage) -> None:
    page.text("Five hosts, each with handlers, executor and agent as the one above. Azure announces four things at once:")
    page.line()
    rows: List[Sequence[str]] = [("event", "VMs", "")]
    rows += [(one.event_type, " ".join(stage.events[name].resources), one.why) for name, one in ANNOUNCED.items()]
    page.table(rows)
    page.line()
    page.text("web1 to web4 are in one availability set. This is all that is said to the playbook:")
    page.code(stage.settings.splitlines())


def _tell_plan(page: Page, planned: Played) -> None:
    page.line("   $ ansible-playbook -i hosts.yml %s -e @maintenance.yml --check" % PLAYBOOK)
    entries = sorted(planned.stats["azure_maintenance_events"], key=lambda entry: (PLACES.index(entry["place"]), entry["key"]))
    page.line()
    rows: List[Sequence[str]] = [("place", "event", "hosts")]
    for entry in entries:
        unmanaged = ["(%s)" % name for name in entry["unmanaged"]]
        place = "wave %s" % entry["component"] if entry["place"] == "waves" else entry["place"]
        rows.append((place, entry["event"]["event_type"], " ".join([*entry["hosts"], *unmanaged])))
    page.table(rows)
    page.line()
    for entry in entries:
        page.marked("none", "%s: %s." % (entry["event"]["event_type"], entry["reason"]))
    page.marked("good", "Each event has one place and a reason. Nobody was touched, and nothing was approved.", "good")


def _tell_run(page: Page) -> None:
    page.line()
    page.text("And now the same without --check:")
    page.line()


def _tell_end(page: Page, stage: Stage, played: Played) -> None:
    page.line()
    page.text("The run has ended after %d s, with %d, because somebody has to look at what was refused:" % (played.seconds, played.code))
    for line in played.stats.get("azure_maintenance_failures", ()):
        page.marked("said", line)
    page.line()
    page.text("What is left of it is a file on the controller; the short of it:")
    page.line()
    rows: List[Sequence[str]] = [("event", "result", "approved by", "from", "seconds out")]
    for event in stage.events.values():
        told = evidence_of(stage, event)
        rows.append((said(event), *(str(told.get(key) or "-") for key in ("result", "approved_by", "witness", "seconds_drained"))))
    page.table(rows)
    page.line()


class SetUp:
    """A stage that is set while something else is told, and the plan that it is asked for."""

    def __init__(self, closing: contextlib.ExitStack) -> None:
        self._closing = closing
        self._begun: Optional[Tuple[Stage, Running]] = None

    def begin(self) -> None:
        stage = self._closing.enter_context(Stage())
        stage.set()
        self._begun = (stage, stage.play(check=True))

    @property
    def stage(self) -> Stage:
        return self._ready()[0]

    @property
    def planning(self) -> Running:
        return self._ready()[1]

    def _ready(self) -> Tuple[Stage, Running]:
        if self._begun is None:
            self.begin()
        assert self._begun is not None
        return self._begun


@contextlib.contextmanager
def staged() -> Iterator[SetUp]:
    """All of it is gone at the end, whatever happens."""
    with contextlib.ExitStack() as closing:
        yield SetUp(closing)
