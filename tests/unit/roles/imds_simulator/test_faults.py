# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on demand: each does what it says, to whom it says, as often as it says."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any, Callable

import pytest
from imds_simulator import InvalidError, UnknownError
from imds_simulator.faults import KINDS


def _no_answer(action: Callable[[], Any], problem: type = OSError) -> None:
    with pytest.raises(problem):
        action()


@pytest.mark.parametrize("status", [204, 304, 418, 599])
def test_any_status_can_be_answered(sim: Any, ask: Any, status: int) -> None:
    sim.fault(kind="status", status=status, body="", headers={"X-Seen": "yes"})
    answer = ask.get("web_0")
    assert (answer.status, answer.body, answer.headers["X-Seen"]) == (status, b"", "yes")


@pytest.mark.parametrize(("body", "sent"), [("no JSON", b"no JSON"), (b"\xff", b"\xff"), ({"Events": {}}, b'{"Events": {}}'), ([], b"[]")])
def test_a_status_may_come_with_any_body(sim: Any, ask: Any, body: Any, sent: bytes) -> None:
    sim.fault(kind="status", status=200, body=body)
    assert ask.get("web_0").body == sent


def test_a_failed_post_has_not_acted_unless_it_is_told_to(sim: Any, ask: Any) -> None:
    """C-10, C-23"""
    event = sim.schedule("Reboot", ["web_0"])
    sim.fault(kind="status", status=500, verb="POST")
    assert ask.post("web_0", event.event_id).status == 500
    assert event.state == "Scheduled"
    sim.fault(kind="status", status=500, verb="POST", acts=True)
    assert ask.post("web_0", event.event_id).status == 500
    assert event.state == "Started"


def test_one_bad_id_can_spoil_a_post(sim: Any, ask: Any) -> None:
    """C-10, C-22: 400 as long as the id is in it; singly, the others go through."""
    bad, good = (sim.schedule(kind, ["web_0"]) for kind in ("Freeze", "Reboot"))
    sim.fault(kind="status", status=400, event_id=bad.event_id.lower(), verb="POST", times=None)
    assert ask.post("web_0", good.event_id, bad.event_id).status == 400
    assert (ask.post("web_0", bad.event_id).status, ask.post("web_0", good.event_id).status) == (400, 200)
    assert (bad.state, good.state) == ("Scheduled", "Started")


def test_an_answer_can_be_delayed(sim: Any, ask: Any) -> None:
    sim.fault(kind="delay", seconds=0.15)
    began = time.monotonic()
    assert ask.get("web_0").status == 200
    assert time.monotonic() - began >= 0.15


def test_a_delayed_post_acts_although_its_sender_has_lost_patience(sim: Any, ask: Any) -> None:
    """C-11, C-23"""
    event = sim.schedule("Reboot", ["web_0"])
    sim.fault(kind="delay", seconds=1.0, verb="POST")
    _no_answer(lambda: ask.post("web_0", event.event_id, timeout=0.3))
    assert event.state == "Scheduled"
    deadline = time.monotonic() + 60
    while event.state == "Scheduled" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert event.state == "Started"


def test_a_request_can_hang_for_ever_or_for_a_while(sim: Any, ask: Any) -> None:
    sim.fault(kind="hang")
    _no_answer(lambda: ask.get("web_0", timeout=0.05))
    sim.fault(kind="hang", seconds=0.05)
    _no_answer(lambda: ask.get("web_0"), http.client.RemoteDisconnected)
    assert [record.status for record in sim.requests()] == [None, None]


@pytest.mark.parametrize(("kind", "problem"), [("reset", ConnectionResetError), ("close", http.client.RemoteDisconnected)])
def test_a_connection_can_end_without_an_answer(sim: Any, ask: Any, kind: str, problem: type) -> None:
    event = sim.schedule("Reboot", ["web_0"])
    sim.fault(kind=kind)
    _no_answer(lambda: ask.post("web_0", event.event_id), problem)
    assert event.state == "Scheduled"


def test_an_answer_can_be_lost_after_it_acted(sim: Any, ask: Any) -> None:
    """C-23: the only way to know is to read."""
    event = sim.schedule("Reboot", ["web_0"])
    sim.fault(kind="lost_answer", verb="POST")
    _no_answer(lambda: ask.post("web_0", event.event_id), ConnectionResetError)
    assert ask.status("web_0") == "Started"
    assert (sim.posts()[0].status, sim.posts()[0].faults) == (None, ("lost_answer",))


def test_a_body_can_be_truncated_on_the_wire_or_within(sim: Any, ask: Any) -> None:
    """C-5: neither is an answer."""
    sim.schedule("Reboot", ["web_0"])
    sim.fault(kind="truncate")
    _no_answer(lambda: ask.get("web_0"), http.client.IncompleteRead)
    sim.fault(kind="half_json")
    answer = ask.get("web_0")
    assert answer.status == 200
    with pytest.raises(ValueError, match="line 1 column"):
        answer.json()


def _ids(answer: Any) -> Any:
    return [entry["EventId"] for entry in answer.events()]


@pytest.mark.parametrize("tagged", [True, False])
@pytest.mark.parametrize(("kind", "expected"), [("drop_event", ["B"]), ("empty", []), ("duplicate_event", ["A", "B", "A"])])
def test_the_list_of_one_answer_can_be_wrong(sim: Any, ask: Any, kind: str, expected: Any, tagged: bool) -> None:
    """C-15, C-9, C-12: open; with a number and a tag of its own, so that a client which sends the tag sees both changes."""
    for event_id in ("A", "B"):
        sim.schedule("Reboot", ["web_0"], event_id=event_id)
    tag = ask.get("web_0").headers["ETag"]
    sim.fault(kind=kind, vm="web_0")
    answers = []
    for _query in range(2):
        answers.append(ask.get("web_0", headers=dict({"Metadata": "true"}, **({"If-None-Match": tag} if tagged else {}))))
        tag = answers[-1].headers["ETag"]
    assert [_ids(answer) for answer in answers] == [expected, ["A", "B"]]


@pytest.mark.parametrize(("kind", "expected"), [("drop_event", ["A"]), ("duplicate_event", ["A", "B", "B"])])
def test_an_event_can_be_chosen_for_it(sim: Any, ask: Any, kind: str, expected: Any) -> None:
    for event_id in ("A", "B"):
        sim.schedule("Reboot", ["web_0"], event_id=event_id)
    sim.fault(kind=kind, event_id="b")
    assert _ids(ask.get("web_0")) == expected


def test_an_event_that_is_not_there_cannot_be_dropped(sim: Any, ask: Any) -> None:
    sim.fault(kind="drop_event")
    sim.fault(kind="duplicate_event", event_id="nothing")
    assert ask.events("web_0") == []


def test_an_event_can_be_malformed(sim: Any, ask: Any) -> None:
    """C-5, C-13: by itself or as it is given, in place of one or besides."""
    sim.fault(kind="malformed_event")
    (additional,) = ask.events("web_0")
    assert (additional["EventId"], additional["Resources"]) == (None, "not a list")
    sim.schedule("Reboot", ["web_0"], event_id="A")
    sim.fault(kind="malformed_event", body=["nonsense"])
    assert ask.get("web_0").json()["Events"] == [["nonsense"]]
    assert ask.only("web_0")["EventId"] == "A"


def test_a_host_can_see_what_was_when_the_fault_was_set(sim: Any, ask: Any) -> None:
    """C-21"""
    sim.schedule("Reboot", ["web_0"], event_id="A")
    sim.advance(10)
    sim.fault(kind="late", vm="web_1", times=None)
    sim.advance(10)
    sim.cancel("A")
    sim.advance(100)
    assert (ask.events("web_0"), len(ask.events("web_1"))) == ([], 1)
    sim.clear_faults()
    assert ask.events("web_1") == []


def test_an_incarnation_and_its_tag_can_repeat_with_other_content(sim: Any, ask: Any) -> None:
    """C-9, C-12: a client that trusts them is blind until it asks without a tag."""
    before = ask.get("web_0")
    sim.fault(kind="repeat_incarnation", times=None)
    sim.schedule("Reboot", ["web_0"])
    after = ask.get("web_0")
    assert (after.headers["ETag"], after.json()["DocumentIncarnation"]) == (before.headers["ETag"], before.json()["DocumentIncarnation"])
    assert len(after.events()) == 1
    assert ask.get("web_0", headers={"Metadata": "true", "If-None-Match": before.headers["ETag"]}).status == 304
    sim.clear_faults()
    sim.fault(kind="repeat_incarnation", incarnation=77)
    assert (ask.incarnation("web_0"), ask.incarnation("web_0")) == (77, 2)


def test_an_identity_can_be_incomplete(sim: Any, ask: Any) -> None:
    """C-28"""
    sim.fault(kind="incomplete", vm="web_0")
    assert "vmId" not in ask.instance("web_0").json()["compute"]
    assert "vmId" in ask.instance("web_0").json()["compute"]


def test_a_fault_strikes_only_whom_it_names(sim: Any, ask: Any) -> None:
    sim.fault(kind="status", status=503, vm="WEB_0", verb="GET", path="events", times=None)
    assert ask.get("web_0").status == 503
    assert ask.get("web_1").status == 200
    assert ask.post("web_0", "x").status == 200
    assert ask.instance("web_0").status == 200
    sim.fault(kind="status", status=410, path="instance")
    assert ask.get("web_1").status == 200
    assert ask.instance("web_1").status == 410


def test_a_fault_strikes_as_often_as_it_says_and_they_come_in_order(sim: Any, ask: Any) -> None:
    sim.fault(kind="status", status=503, times=2)
    last = sim.fault(kind="status", status=429)
    assert [ask.get("web_0").status for _request in range(4)] == [503, 503, 429, 200]
    assert (last.hits, last.left, sim.status()["faults"]) == (1, 0, [])


def test_a_delay_goes_together_with_other_faults(sim: Any, ask: Any) -> None:
    sim.fault(kind="delay", seconds=0.05)
    sim.fault(kind="status", status=500)
    assert ask.get("web_0").status == 500
    assert sim.requests()[0].faults == ("delay", "status")


def test_faults_can_be_taken_away(sim: Any, ask: Any) -> None:
    for vm in ("web_0", "web_1", None):
        sim.fault(kind="status", status=500, vm=vm, times=None)
    assert sim.clear_faults(vm="web_1") == 1
    assert sim.clear_faults(number=1) == 1
    assert ask.get("web_0").status == 500
    assert sim.clear_faults() == 1
    assert ask.get("web_0").status == 200


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"kind": "nonsense"}, "fault: there is no kind 'nonsense', only delay, status, "),
        ({"kind": "status"}, "fault: kind status needs status"),
        ({"kind": "delay"}, "fault: kind delay needs seconds"),
        ({"kind": "delay", "seconds": -1}, "fault: seconds must be a number of at least 0, not -1"),
        ({"kind": "status", "status": 99}, "fault: status must be a number of at least 100 and at most 999, not 99"),
        ({"kind": "reset", "times": 0}, "fault: times must be a number of at least 1, not 0"),
        ({"kind": "reset", "status": 500}, "fault: status means nothing to kind reset, only to status"),
        ({"kind": "empty", "acts": True}, "fault: acts means nothing to kind empty, only to close, "),
        ({"kind": "reset", "path": "elsewhere"}, "fault: path must be one of events, instance, not 'elsewhere'"),
        ({"kind": "reset", "verb": "get"}, "fault: verb must be one of GET, POST, not 'get'"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(sim: Any, parameters: Any, text: str) -> None:
    with pytest.raises(InvalidError) as refused:
        sim.fault(**parameters)
    assert str(refused.value).startswith(text)


def test_a_fault_for_nobody_is_refused(sim: Any) -> None:
    with pytest.raises(UnknownError, match="there is no VM 'web_2'; there are lonely, web_0, web_1"):
        sim.fault(kind="reset", vm="web_2")
    with pytest.raises(UnknownError, match="there is no fault 7"):
        sim.clear_faults(number=7)


def test_every_kind_of_fault_has_a_test() -> None:
    """A kind that nobody has tried is none: this file, the transport's or the document's names it."""
    from pathlib import Path

    text = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    assert [kind for kind in KINDS if 'kind="%s"' % kind not in text and '("%s", ' % kind not in text] == []


def test_malformed_bodies_in_the_log_do_not_break_it(sim: Any, ask: Any) -> None:
    ask.post("web_0", body=b"\xff{")
    (record,) = sim.posts()
    assert record.body == "\ufffd{"
    with pytest.raises(json.JSONDecodeError):
        record.json()
