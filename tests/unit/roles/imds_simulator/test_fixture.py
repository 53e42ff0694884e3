# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator as a fixture: clock, hooks, request log, listeners, and what it says no to."""

from __future__ import annotations

import gc
import json
import socket
import threading
import time
import warnings
from typing import Any, List
from urllib.parse import urlsplit

import pytest
from imds_simulator import REALISTIC, ConflictError, InvalidError, Notice, Simulator, SimulatorError, UnknownError


def test_a_manual_clock_stands_until_it_is_moved(sim: Any) -> None:
    before = sim.now()
    time.sleep(0.01)
    assert sim.now() == before == int(before)
    assert sim.advance(900) == sim.now() == before + 900


def test_a_running_clock_can_be_faster_and_be_moved(make_sim: Any) -> None:
    sim = make_sim(clock="real", rate=1000.0)
    before = sim.now()
    sim.advance(1e6)
    time.sleep(0.02)
    assert sim.now() - before > 1e6 + 20


def test_events_happen_by_themselves_on_a_running_clock(make_sim: Any) -> None:
    """C-26: nobody has to ask for it."""
    sim = make_sim(clock="real", rate=1000.0)
    sim.add_vm("web_0")
    over = threading.Event()
    sim.on("end", lambda _notice: over.set())
    event = sim.schedule("Reboot", ["web_0"], notice=40, runs_for=40)
    assert over.wait(60)
    assert (event.started_at, event.gone_at) == (event.not_before, event.not_before + 40)


def test_what_was_approved_starts_by_itself_and_the_hooks_are_told(make_sim: Any, asker: Any) -> None:
    """C-24: on a running clock, although nobody asks again."""
    sim = make_sim(clock="real", rate=100.0)
    sim.add_vm("web_0")
    told = threading.Event()
    sim.on("start", lambda _notice: told.set())
    event = sim.schedule("Reboot", ["web_0"], notice=86400, start_delay=5)
    asker(sim).post("web_0", event.event_id)
    assert told.wait(60)
    assert event.started_at == event.approved_at + 5


def test_time_never_goes_back(sim: Any) -> None:
    with pytest.raises(InvalidError, match="advance: time only goes forward"):
        sim.advance(-1)
    for options, text in (({"rate": -1}, "rate: "), ({"rate": 0}, "rate: "), ({"clock": "lunar"}, "clock: 'lunar' is neither of")):
        with pytest.raises(InvalidError, match=text):
            Simulator(**options)


def test_a_big_step_lets_everything_happen_in_its_order_and_at_its_time(sim: Any) -> None:
    """C-15"""
    seen: List[Any] = []
    for phase in ("start", "end", "cancel"):
        sim.on(phase, lambda notice: seen.append((notice.phase, notice.at - began, notice.event["event_id"])))
    began = sim.now()
    sim.schedule("Reboot", ["web_0"], notice=100, runs_for=300, event_id="A")
    sim.schedule("Freeze", ["web_1"], notice=200, runs_for=50, event_id="B")
    sim.schedule("Freeze", ["web_1"], event_id="C", announce_in=10)
    sim.cancel("C")
    sim.advance(86400)
    assert seen == [("cancel", 0, "C"), ("start", 100, "A"), ("start", 200, "B"), ("end", 250, "B"), ("end", 400, "A")]


def test_an_event_can_be_announced_later(sim: Any, ask: Any) -> None:
    event = sim.schedule("Reboot", ["web_0"], announce_in=60, notice=900)
    assert (ask.events("web_0"), event.state) == ([], "planned")
    assert ask.post("web_0", event.event_id).status == 200
    sim.advance(60)
    assert ask.status("web_0") == "Scheduled"
    assert event.not_before == sim.now() + 900


def test_hooks_are_told_the_whole_event_and_may_use_the_simulator(sim: Any) -> None:
    told: List[Notice] = []

    def reboot(notice: Notice) -> None:
        told.append(notice)
        sim.schedule("Freeze", ["web_1"], event_id="after")

    sim.on("start", reboot)
    sim.schedule("Reboot", ["web_0"], notice=0, event_id="A")
    assert [notice.phase for notice in told] == ["start"]
    assert (told[0].event["vms"], told[0].event["state"]) == (["web_0"], "Started")
    assert sim.event("after").state == "Scheduled"


def test_a_hook_that_fails_is_reported_and_stops_nobody(sim: Any, capfd: Any) -> None:
    seen: List[str] = []
    sim.on("start", lambda _notice: 1 // 0)
    sim.on("start", lambda notice: seen.append(notice.event["event_id"]))
    sim.hooks.run("start", ["/nonexistent/program"])
    sim.schedule("Reboot", ["web_0"], notice=0, event_id="A")
    assert seen == ["A"]
    said = capfd.readouterr().err
    assert "imds_simulator: the start hook <lambda> failed for event A: integer division" in said
    assert "the start hook /nonexistent/program failed for event A" in said


def test_a_command_gets_the_event_as_variables_and_as_json(sim: Any, tmp_path: Any) -> None:
    sim.hooks.run(
        "end",
        [
            "sh",
            "-c",
            'cat >"$0"; echo "$IMDS_SIMULATOR_PHASE $IMDS_SIMULATOR_EVENT_TYPE $IMDS_SIMULATOR_VMS" >"$0.env"',
            str(tmp_path / "event"),
        ],
    )
    sim.schedule("Reboot", ["web_0", "web_1"], notice=0, runs_for=5, event_id="A")
    sim.advance(5)
    assert json.loads((tmp_path / "event").read_text())["outcome"] == "completed"
    assert (tmp_path / "event.env").read_text() == "end Reboot web_0,web_1\n"


@pytest.mark.parametrize(("phase", "command"), [("later", ["true"]), ("start", []), ("start", [7])])
def test_a_hook_that_makes_no_sense_is_refused(sim: Any, phase: str, command: Any) -> None:
    with pytest.raises(InvalidError, match="hook: "):
        sim.hooks.run(phase, command)


def test_the_log_remembers_who_asked_for_what_and_what_was_answered(sim: Any, ask: Any) -> None:
    ask.get("web_0", "2019-08-01", headers={"METADATA": "true", "X-Test": "1"})
    ask.post("web_1", "some-id")
    ask.instance("lonely", "/compute/name", "&format=text")
    sim.advance(5)
    ask.get("web_0", "1999-01-01")
    first, second, third, fourth = sim.requests()
    assert (first.vm, first.verb, first.path, first.query) == ("web_0", "GET", "/metadata/scheduledevents", {"api-version": "2019-08-01"})
    assert (first.headers["metadata"], first.headers["X-TEST"], first.status, first.at) == ("true", "1", 200, sim.now() - 5)
    assert second.json() == {"StartRequests": [{"EventId": "some-id"}]}
    assert (third.path, third.query["format"]) == ("/metadata/instance/compute/name", "text")
    assert (fourth.status, fourth.at) == (400, sim.now())
    assert sim.posts() == [second]
    assert sim.requests(vm="WEB_0") == sim.requests(vm="web_0", verb="GET", path="events") == [first, fourth]
    assert sim.requests(path="instance") == sim.requests(path="/metadata/instance/compute/name") == [third]


def test_the_log_is_bounded_and_says_so(make_sim: Any, asker: Any) -> None:
    sim = make_sim(log_size=3)
    sim.add_vm("web_0")
    for _request in range(5):
        asker(sim).get("web_0")
    assert [record.number for record in sim.requests()] == [3, 4, 5]
    assert sim.status()["log"] == {"size": 3, "received": 5, "forgotten": 2}
    with pytest.raises(InvalidError, match="log_size: "):
        Simulator(log_size=0)


def test_a_vm_is_told_by_its_address_or_because_it_is_alone(make_sim: Any, asker: Any) -> None:
    """C-1: so that an unchanged client finds its service on an address of its own."""
    sim = make_sim()
    sim.add_vm("one")
    event = sim.schedule("Reboot", ["one"])
    assert asker(sim).only(None)["EventId"] == event.event_id
    sim.add_vm("two", address="127.0.0.1")
    assert asker(sim).events(None) == []
    assert sim.requests()[-1].vm == "two"


def test_it_listens_on_loopback_and_the_planes_are_apart(sim: Any, ask: Any) -> None:
    assert sim.data_url.startswith("http://127.0.0.1:")
    assert sim.control_url.startswith("http://127.0.0.1:")
    assert sim.data_url != sim.control_url
    assert ask.send(None, "/vm/web_0/status").status == 404


def test_it_says_loudly_when_it_listens_elsewhere(capfd: Any) -> None:
    with Simulator(data=("0.0.0.0", 0)):
        said = capfd.readouterr().err
    assert said.startswith("imds_simulator: WARNING: the data plane listens on http://0.0.0.0:")
    assert "control plane" not in said


def test_an_address_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        with pytest.raises(SimulatorError, match="cannot listen on 127.0.0.1 port %d: Address already in use" % port):
            Simulator(control=("127.0.0.1", port)).open()
    with pytest.raises(InvalidError, match="70000 is no port"):
        Simulator(data=("127.0.0.1", 70000)).open()


def test_it_can_be_closed_with_requests_under_way(make_sim: Any, asker: Any) -> None:
    sim = make_sim()
    sim.add_vm("web_0")
    sim.fault(kind="hang", times=None)
    problems: List[BaseException] = []

    def call() -> None:
        try:
            asker(sim).get("web_0", timeout=60)
        except OSError as problem:
            problems.append(problem)

    callers = [threading.Thread(target=call) for _number in range(5)]
    for caller in callers:
        caller.start()
    deadline = time.monotonic() + 60
    while len(sim.requests()) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    sim.close()
    for caller in callers:
        caller.join(60)
    assert len(problems) == 5
    with pytest.raises(OSError, match="refused"):
        asker(sim).get("web_0")


def test_a_connection_that_has_only_just_come_is_closed_with_it(make_sim: Any) -> None:
    """Accepted, and not yet known to the server: a transport that is left open is a warning in whichever test runs next."""
    gc.collect()  # what others have left open is not the matter here
    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always")
        for _time in range(20):
            sim = make_sim()
            parts = urlsplit(sim.data_url)
            clients = [socket.create_connection((parts.hostname, parts.port), timeout=60) for _client in range(3)]
            sim.close()
            for client in clients:
                client.close()
        del sim
        gc.collect()
    assert [str(warning.message) for warning in left_open if "unclosed" in str(warning.message)] == []


def test_it_cannot_be_opened_twice(sim: Any) -> None:
    with pytest.raises(ConflictError, match="open already"):
        sim.open()


def test_being_realistic_is_one_word(make_sim: Any) -> None:
    """C-7, C-8, C-26: the settings exist, and are strict."""
    settings = make_sim(**REALISTIC).settings
    assert (settings.first_call_delay, settings.events_delay, settings.rate_limit, settings.switched_on) == (120, 300, 5, False)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"nonsense": 1}, "settings: there is no 'nonsense', only first_call_delay, "),
        ({"rate_limit": -1}, "settings: rate_limit must be a number of at least 0, not -1"),
        ({"rate_limit": 1.5}, "settings: rate_limit must be a whole number, not 1.5"),
        ({"rate_limit": True}, "settings: rate_limit must be a number of at least 0, not True"),
        ({"dates": "french"}, "settings: dates must be one of rfc1123, iso8601, not 'french'"),
        ({"wrong_weekdays": "no"}, "settings: wrong_weekdays must be true or false, not 'no'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(sim: Any, changes: Any, text: str) -> None:
    with pytest.raises(InvalidError) as refused:
        sim.configure(**changes)
    assert str(refused.value).startswith(text)


@pytest.mark.parametrize(
    ("action", "problem", "text"),
    [
        (lambda sim: sim.schedule("Reboot", ["web_7"]), UnknownError, "there is no VM 'web_7'; there are lonely, web_0, web_1"),
        (lambda sim: sim.schedule("Reboot", []), InvalidError, "resources: a list of at least one VM is needed, not []"),
        (lambda sim: sim.schedule("Reboot", "web_0"), InvalidError, "resources: a list of at least one VM is needed, not 'web_0'"),
        (lambda sim: sim.schedule("Reboot", ["web_0", "WEB_0"]), InvalidError, "resources: web_0, WEB_0 names a VM twice"),
        (lambda sim: sim.schedule("Reboot", ["web_0"], event_id="a"), ConflictError, "event a is there already"),
        (lambda sim: sim.cancel("B"), ConflictError, "event B cannot be cancelled: it is Started"),
        (lambda sim: sim.start("B"), ConflictError, "event B cannot start: it is Started"),
        (lambda sim: sim.complete("A"), ConflictError, "event A cannot be completed: it is Scheduled, not Started"),
        (lambda sim: sim.relist("A"), ConflictError, "event A cannot be listed again: it is Scheduled"),
        (lambda sim: sim.change("B", not_before=60), ConflictError, "event B has no NotBefore to move: it is Started"),
        (lambda sim: sim.change("C", duration=60), ConflictError, "event C cannot change: it is gone"),
        (lambda sim: sim.change("A", resources=["lonely"]), InvalidError, "event A cannot leave scope 'web'"),
        (lambda sim: sim.event("Z"), UnknownError, "there is no event 'Z'"),
        (lambda sim: sim.add_vm("web_0"), ConflictError, "there is a VM 'web_0' already"),
        (lambda sim: [sim.add_vm(name, address="10.0.0.9") for name in ("x", "y")], ConflictError, "address 10.0.0.9 belongs to VM 'x'"),
        (lambda sim: sim.add_vm("a/b"), InvalidError, "a VM needs a name without a slash, not 'a/b'"),
        (lambda sim: sim.add_vm("x", scope="nowhere"), UnknownError, "there is no scope 'nowhere'; there are lonely, web"),
        (lambda sim: sim.add_vm("x", scope="lonely"), ConflictError, "scope 'lonely' is a single VM's"),
        (lambda sim: sim.add_scope("web"), ConflictError, "there is a scope 'web' already"),
        (lambda sim: sim.add_scope(""), ConflictError, "a scope needs a name"),
        (
            lambda sim: sim.add_scope("x", kind="heap"),
            InvalidError,
            "kind: 'heap' is none of availability_set, scale_set, cloud_service, single",
        ),
        (
            lambda sim: sim.add_scope("x", per_zone=True),
            InvalidError,
            "gpu_single_fault_domain, per_zone, flexible and scale_set belong to a scale_set, not to kind availability_set",
        ),
        (lambda sim: sim.add_scope("x", vms="web_9"), InvalidError, "vms: a list is needed, not 'web_9'"),
        (lambda sim: sim.add_scope("x", kind="single", vms=["a", "b"]), InvalidError, "a scope of kind single has one VM, not 2"),
        (lambda sim: sim.add_scope("x", auto_approve="User"), InvalidError, "auto_approve: a list is needed, such as ['User'], not a text"),
        (
            lambda sim: sim.add_scope("x", auto_approve=["Me"]),
            InvalidError,
            "auto_approve: 'Me' is no source such as User, and no source with a type such as User:Reboot",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(sim: Any, action: Any, problem: Any, text: str) -> None:
    sim.schedule("Reboot", ["web_0"], event_id="A")
    sim.schedule("Reboot", ["web_0"], event_id="B", notice=0)
    sim.cancel(sim.schedule("Reboot", ["web_0"], event_id="C").event_id)
    with pytest.raises(problem) as refused:
        action(sim)
    assert str(refused.value) == text


def test_a_scope_that_cannot_be_filled_is_not_there(sim: Any) -> None:
    with pytest.raises(ConflictError):
        sim.add_scope("other", vms=["other_0", "web_0"])
    sim.add_scope("other", vms=["other_0"])


def test_a_vm_can_be_removed_with_what_is_its_own(sim: Any, ask: Any) -> None:
    """C-14, C-20: a shared event goes on for the others."""
    shared = sim.schedule("Freeze", ["web_0", "web_1"])
    own = sim.schedule("Reboot", ["web_0"])
    sim.remove_vm("web_0")
    assert (ask.only("web_1")["Resources"], shared.state, own.outcome) == (["web_1"], "Scheduled", "deleted")
    sim.remove_vm("lonely")
    sim.add_vm("lonely", address="10.0.0.9")
    sim.remove_vm("lonely")
    sim.add_vm("lonely", address="10.0.0.9")
    sim.add_vm("web_0", scope="web")
    assert len(ask.events("web_0")) == 1


def test_the_feature_can_be_switched_off_by_hand(sim: Any, ask: Any) -> None:
    """C-7: without waiting for a day."""
    sim.schedule("Reboot", ["web_0"])
    assert ask.incarnation("web_0") == 2
    sim.switch_off("web_1")
    assert sim.schedule("Reboot", ["web_0"], source="User").state == "Started"
    assert ask.incarnation("web_0") == 1


def test_events_tell_their_lives(sim: Any, ask: Any) -> None:
    event = sim.schedule("Reboot", ["web_0"], notice=900, start_delay=5, runs_for=10, event_id="A")
    ask.post("web_1", "a")
    sim.advance(15)
    (told,) = [told.as_dict() for told in sim.events()]
    began = event.announced_at
    assert (told["approved_at"], told["started_at"], told["gone_at"]) == (began, began + 5, began + 15)
    assert (told["approved_by"], told["outcome"], told["state"], event.status, event.resources) == (
        "web_1",
        "completed",
        "gone",
        "gone",
        ["web_0"],
    )
    assert repr(event) == "<gone Reboot A of web_0>"
