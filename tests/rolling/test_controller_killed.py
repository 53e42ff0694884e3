# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed in each phase (W-3 to W-7).

Some of the hosts never hear of it again, and end in service by their own guards. Others are in a second run, which goes on from where
they are.
"""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

import pytest
from cores import NEWEST, OLDEST
from fleet import Fleet, Host, until
from imds_simulator import Event
from nights import ANY_NUMBER, DAY, committed_before, moved_to, task_file

DISCOVER, PLAN, PREPARE, GATE, POST = "discover", "plan", "prepare", "gate", "post"
# Everything is posted, and nobody has looked yet what becomes of it.
APPROVED, WATCH, RECOVER, PUBLISH = "approved", "watch", "recover", "publish"
PHASES = (DISCOVER, PLAN, PREPARE, GATE, POST, WATCH, RECOVER, PUBLISH)
# Where an extension point waits until the controller is dead.
WAITS: Mapping[str, str] = {PLAN: "after_plan", APPROVED: "after_approve", PUBLISH: "before_publish"}
# No host has been asked for anything by then, and in these others there are events that have begun and last until they have been seen.
UNTOUCHED, LASTING = (DISCOVER, PLAN), (APPROVED, WATCH)
# What is in the evidence by then.
VOTED, POSTED = (GATE, POST, APPROVED, WATCH, RECOVER, PUBLISH), (APPROVED, WATCH, RECOVER, PUBLISH)
# By event its hosts: those of the first are left alone, those of the second are taken up again.
ALONE: Mapping[str, Tuple[str, ...]] = {"far": ("far1",), "pair": ("pair1", "pair2"), "near": ("near1",)}
AGAIN: Mapping[str, Tuple[str, ...]] = {"single": ("single1",), "shared": ("shared1", "shared2")}
# Nobody's driver after this. Long enough for a run on a machine that is busy.
LEASE = 40.0
# What is moved so near when the controller is dead, that nobody is given back before it.
NEAR = 110.0
# Handlers that are at work until the controller is dead; and so at the gate, when they are asked once more, and the host is out of service.
LIMIT = "25s"
FIRST, SECOND = "first", "second"


@dataclass(frozen=True)
class Killed:
    """A run that was killed in a phase, and the events that it was busy with."""

    fleet: Fleet
    phase: str
    events: Dict[str, Event]
    names: Mapping[str, Tuple[str, ...]]

    def hosts(self, name: str) -> List[Host]:
        return [self.fleet[host] for host in self.names[name]]

    def states(self) -> List[Optional[str]]:
        return [host.state(self.events[name]) for name in self.names for host in self.hosts(name)]


def _case(number: signal.Signals, core: str, phase: str, *, again: bool) -> Any:
    return pytest.param(number, core, phase, again, id="%s-%s-%s%s" % (number.name, core, phase, "-again" if again else ""))


@pytest.mark.parametrize(
    ("number", "core", "phase", "again"),
    # What a process leaves behind when it is killed so is the same with every version; what goes on from there may not be.
    [_case(signal.SIGKILL, NEWEST, phase, again=True) for phase in PHASES]
    + [_case(signal.SIGKILL, OLDEST, APPROVED, again=True)]
    # AWX cancels a job so. It may be launched once more, as another job.
    + [_case(signal.SIGTERM, OLDEST, phase, again=False) for phase in PHASES]
    + [_case(signal.SIGTERM, NEWEST, phase, again=False) for phase in (PREPARE, POST)]
    + [_case(signal.SIGTERM, NEWEST, GATE, again=True)],
)
def test_wherever_the_controller_dies_every_host_ends_in_service(fleet: Fleet, number: int, core: str, phase: str, again: bool) -> None:
    """W-3, W-4, W-5, W-6 and W-7: by their own guards, or by a second run that goes on from where they are."""
    killed = _kill_in(phase, number, fleet, core, {**ALONE, **(AGAIN if again else {})})
    _is_written_down(killed)
    if again:
        _start_again(killed, core)
    for name in ALONE:
        _ends_by_its_own_guard(killed, name)
    _every_post_was_allowed(killed, restarts=int(again))


# --- the first run -------------------------------------------------------------------------------------------------------


def _kill_in(phase: str, number: int, fleet: Fleet, core: str, names: Mapping[str, Tuple[str, ...]]) -> Killed:
    fleet.add(" ".join(name for hosts in names.values() for name in hosts), scope="killed")
    fleet.add("idle1", scope="killed")
    fleet.ready()
    # What is to be watched lasts until it has been seen.
    lasts = None if phase in LASTING else 2.0
    begins: Dict[str, Any] = {"start_delay": 5.0} if phase == APPROVED else {}
    events = {
        name: fleet.schedule("Reboot", " ".join(hosts), notice=9 * DAY if name == "far" else 1200.0, runs_for=lasts, **begins)
        for name, hosts in names.items()
    }
    killed = Killed(fleet, phase, events, names)
    _slow_down(killed)
    began = fleet.simulator.now()
    hooks: Dict[str, Any] = {WAITS[phase]: [_waits(fleet)]} if phase in WAITS else {}
    running = fleet.begin(core, run_id=FIRST, lease="%gs" % LEASE, **hooks, **ANY_NUMBER)
    until(lambda: _is_reached(killed, began) or running.is_over, timeout=200, what="the run is in the phase %s" % phase)
    assert not running.is_over, "the run ended before it was killed\n%s" % running.told()
    assert running.kill(number) != 0
    if events["near"].state == "Scheduled" and phase != APPROVED:
        fleet.simulator.change(events["near"].event_id, not_before=NEAR)
    for host in fleet.hosts.values():
        host.go_on()
    (fleet.folder / "go-on").touch()
    return killed


def _waits(fleet: Fleet) -> str:
    """An extension point that says where it is, and goes on when the controller is dead."""
    script = "touch %s/waits; until [ -e %s/go-on ]; do sleep 0.1; done" % (fleet.folder, fleet.folder)
    task = {"name": "Wait", "ansible.builtin.command": {"argv": ["sh", "-c", script]}, "changed_when": False}
    return task_file(fleet, "waits", {**task, "delegate_to": "localhost", "become": False})


def _slow_down(killed: Killed) -> None:
    fleet, phase = killed.fleet, killed.phase
    for host in fleet.hosts.values():
        host.add_handler("10-pool", limit=LIMIT)
        if phase == PREPARE:
            host.behave("prepare", host.until_told)
        elif phase == GATE and host.name != "far1":
            host.behave("inspect", f"[ -e {host.folder}/pool/10-pool ] || {host.until_told}")
        elif phase == RECOVER:
            host.behave("recover", host.until_told)
    if phase != POST:
        return
    for name, event in killed.events.items():
        # Taken when whoever has sent it is dead; or it never arrives, and the one that is posted in its place neither.
        arrives = name in ("far", "pair", "shared")
        kind, times = ("delay", 1) if arrives else ("hang", 2)
        fleet.simulator.fault(kind, verb="POST", event_id=event.event_id, seconds=3.0, times=times)


def _is_reached(killed: Killed, began: float) -> bool:
    """By what hosts and service see of it."""
    phase, states = killed.phase, killed.states()
    if phase in WAITS:
        return (killed.fleet.folder / "waits").exists()
    if phase == DISCOVER:
        return _is_asking(killed.fleet, began)
    if phase == PREPARE:
        return "PREPARING" in states and all(state in ("PREPARING", "PREPARED") for state in states)
    if phase == POST:
        return all(killed.fleet.posts(event) for event in killed.events.values())
    if phase == WATCH:
        # Azure can be quicker than whoever has posted is done with it.
        begun = all(event.state == "Started" for event in killed.events.values())
        return begun and [run["phase"] for run in killed.fleet.evidence()] == ["approve"]
    return {GATE: "COMMITTED", RECOVER: "RECOVERING"}[phase] in states


def _is_asking(fleet: Fleet, began: float) -> bool:
    """The agents of the hosts ask only whether something has changed."""
    asked = fleet.simulator.requests(verb="GET", path="events")
    return any("if-none-match" not in one.headers and one.at > began for one in asked)


# --- what it has left behind ---------------------------------------------------------------------------------------------


def _is_written_down(killed: Killed) -> None:
    """Whoever comes in the morning finds who was ready, what was posted and how it stood, although nobody has published anything."""
    if killed.phase in UNTOUCHED:
        assert not killed.fleet.posts()
        for host in killed.fleet.hosts.values():
            assert (host.in_service, host.runs("inspect", "prepare", "recover")) == (True, [])
    if killed.phase not in VOTED:
        return
    (path,) = killed.fleet.evidence_folder.iterdir()
    assert FIRST in path.name
    assert json.loads(path.read_text(encoding="utf-8"))["run"] == FIRST
    for name, event in killed.events.items():
        written = killed.fleet.evidence_of(event)
        assert {host: vote["ok"] for host, vote in written["votes"].items()} == dict.fromkeys(killed.names[name], True), name
        if killed.phase in POSTED:
            assert [post["outcome"] for post in written["posts"]] == ["taken"], name
            assert written["approved_by"] == "us"
        if killed.phase == PUBLISH:
            assert written["result"] == "recovered"


# --- the second one ------------------------------------------------------------------------------------------------------


def _start_again(killed: Killed, core: str) -> None:
    """With half of the hosts. In the same job it takes up what is still in its hands; another job waits until nobody's is."""
    fleet, same = killed.fleet, killed.phase == PREPARE
    for name in () if same else AGAIN:
        for host in killed.hosts(name):
            _wait_until_nobody_has(host, killed.events[name])
    # What is over when it begins is no event of it any more.
    left = [name for name in AGAIN if killed.events[name].state != "gone"]
    began = fleet.simulator.now()
    limit = ",".join(["idle1", *(name for hosts in AGAIN.values() for name in hosts)])
    running = fleet.begin(core, run_id=FIRST if same else SECOND, lease="30s", limit=limit, **ANY_NUMBER)
    if killed.phase in LASTING:
        until(lambda: _is_asking(fleet, began) or running.is_over, timeout=90, what="the second run has begun")
        time.sleep(2.0)
        for name in AGAIN:
            fleet.happen(killed.events[name])
    run = running.wait()
    assert run.code == 0, run.output
    for name in AGAIN:
        for host in killed.hosts(name):
            host.wait(killed.events[name], "CLOSED")
            # On a machine that is very slow its own guard may have been quicker than the second run.
            given_back = moved_to(host, killed.events[name], "BACKED_OUT") is not None
            _is_put_back(host, rounds=2 if same and given_back else 1)
        if name in left:
            assert fleet.evidence_of(killed.events[name])["result"] == "recovered"


def _wait_until_nobody_has(host: Host, event: Event) -> None:
    until(lambda: not _is_in_hand(host, event), timeout=90, what="nobody has it in hand")


def _is_in_hand(host: Host, event: Event) -> bool:
    """Whether whoever was killed is still thought to be there. Of a host that is down nobody thinks anything."""
    driver = host.record(event).get("driver")
    return driver is not None and bool(driver["lease"]["until"] > time.time())


# --- those that are left alone -------------------------------------------------------------------------------------------


def _ends_by_its_own_guard(killed: Killed, name: str) -> None:
    event, hosts = killed.events[name], killed.hosts(name)
    if killed.phase in UNTOUCHED:
        for host in hosts:
            host.wait(event, "SEEN")
    if killed.phase == PREPARE:
        for host in hosts:
            _is_given_back_or_stays(host, event, near=name == "near")
    if killed.phase == GATE:
        for host in hosts:
            _keeps_its_word(host, event)
    if killed.phase == GATE and name == "far":
        _is_back_when_a_person_wants_it(hosts[0], event)
    killed.fleet.happen(event)
    for host in hosts:
        host.wait(event, "CLOSED", timeout=90)
        if killed.phase in UNTOUCHED:
            assert (host.in_service, host.runs()) == (True, [])
        else:
            _is_put_back(host)


def _is_put_back(host: Host, *, rounds: int = 1) -> None:
    """Nothing was begun twice, and what was begun is undone."""
    assert host.in_service
    assert host.runs() == ["10-pool prepare", "10-pool recover"] * rounds


def _is_given_back_or_stays(host: Host, event: Event, *, near: bool) -> None:
    if not near:
        # W-3: there is time enough to serve until Azure comes.
        host.wait(event, "BACKED_OUT", timeout=90)
        assert host.in_service
    elif event.state == "Scheduled":
        # W-4: there is not.
        host.wait(event, "STAYING", timeout=90)
        assert not host.in_service


def _keeps_its_word(host: Host, event: Event) -> None:
    """W-5: a post may exist, so the end of the lease does not give it back."""
    _wait_until_nobody_has(host, event)
    if event.state == "Scheduled" and moved_to(host, event, "COMMITTED") is not None:
        time.sleep(1.0)
        assert host.state(event) == "COMMITTED"
        assert not host.in_service


def _is_back_when_a_person_wants_it(host: Host, event: Event) -> None:
    """W-5."""
    assert host.ask("request", "release", event.event_id)["verdict"] == "refused"
    assert host.ask("request", "release", event.event_id, "--force")["verdict"] == "back_in_service"
    assert host.in_service


# --- what must hold wherever it died -------------------------------------------------------------------------------------


def _every_post_was_allowed(killed: Killed, *, restarts: int) -> None:
    """By the word of every host. At most one, one more for each whose end nobody knows, and one more for a run that came after it."""
    for name, event in killed.events.items():
        posts: List[Any] = killed.fleet.posts(event)
        for post in posts:
            assert committed_before(killed.fleet, post, event) == sorted(killed.names[name]), "%s was approved too early" % name
        unclear = [post for post in posts if post.status is None]
        assert len(posts) <= 1 + len(unclear) + restarts
