# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control plane: everything that can be done to the world, as JSON over HTTP, and what is refused."""

from __future__ import annotations

import http.client
import json
from typing import Any, Callable, Mapping, Optional, Tuple
from urllib.parse import urlsplit

import pytest

Control = Callable[..., Tuple[int, Any]]


@pytest.fixture
def control(sim: Any) -> Control:
    parts = urlsplit(sim.control_url)

    def ask(verb: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None) -> Tuple[int, Any]:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            connection.request(verb, path, sent, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    return ask


def test_a_rehearsal_can_be_directed_from_elsewhere(control: Control, ask: Any) -> None:
    """C-15, C-21: a scope, an event, its life, all by HTTP."""
    assert control("POST", "/scopes", {"name": "db", "kind": "scale_set", "vms": ["db_0", {"name": "db_1", "zone": "2"}]})[0] == 200
    status, event = control("POST", "/events", {"event_type": "Reboot", "resources": ["db_0"], "notice": "15m", "runs_for": 30})
    assert (status, event["state"], event["scope"]) == (200, "Scheduled", "db")
    assert ask.status("db_1") == "Scheduled"
    assert control("POST", "/clock/advance", {"seconds": "15m"})[1]["now"] == event["not_before"]
    assert ask.status("db_1") == "Started"
    assert control("POST", "/events/%s/complete" % event["event_id"])[1]["outcome"] == "completed"
    assert control("POST", "/events/%s/relist" % event["event_id"], {"notice": 60})[1]["state"] == "Scheduled"
    assert control("POST", "/events/%s/change" % event["event_id"], {"not_before": "-1s"})[1]["state"] == "Started"
    assert control("GET", "/events/" + event["event_id"])[1]["event_type"] == "Reboot"
    assert len(control("GET", "/events")[1]["events"]) == 2


def test_events_can_be_started_and_cancelled(control: Control) -> None:
    """C-15"""
    ids = [control("POST", "/events", {"event_type": "Freeze", "resources": ["web_0"]})[1]["event_id"] for _event in range(2)]
    assert control("POST", "/events/%s/start" % ids[0])[1]["state"] == "Started"
    assert control("POST", "/events/%s/cancel" % ids[1])[1]["outcome"] == "cancelled"
    assert control("POST", "/failures", {"vm": "lonely", "runs_for": None})[1]["ends_at"] is None


def test_vms_can_come_and_go(control: Control, sim: Any) -> None:
    """C-28, C-7, C-12"""
    assert control("POST", "/vms", {"name": "new", "azure_name": "app_0", "resource_group": "g"})[1]["path"] == "/vm/new"
    assert control("GET", "/vms/new")[1]["name"] == "app_0"
    assert [vm["vm"] for vm in control("GET", "/vms")[1]["vms"]] == ["web_0", "web_1", "lonely", "new"]
    assert [scope["scope"] for scope in control("GET", "/scopes")[1]["scopes"]] == ["web", "lonely", "new"]
    control("POST", "/vms/new/recreate")
    assert sim.fabric.vm("new").generation == 2
    control("POST", "/vms/new/incarnation", {"incarnation": 40})
    assert sim.fabric.page(sim.fabric.vm("new")).incarnation == 40
    control("POST", "/vms/new/switch-off")
    assert sim.schedule("Reboot", ["new"], source="User").state == "Started"
    assert control("DELETE", "/vms/new") == (200, {"removed": "new"})
    assert control("GET", "/vms/new")[0] == 404


def test_faults_can_be_set_and_taken_away(control: Control, ask: Any) -> None:
    given = {"kind": "status", "status": 503, "vm": "web_0", "verb": "GET", "path": "events", "times": None, "headers": {"X-A": "1"}}
    fault = control("POST", "/faults", given)[1]
    assert (ask.get("web_0").status, ask.get("web_1").status) == (503, 200)
    assert control("GET", "/faults")[1]["faults"][0]["hits"] == 1
    assert control("DELETE", "/faults?vm=web_1")[1] == {"cleared": 0}
    assert control("DELETE", "/faults/%d" % fault["fault"])[1] == {"cleared": 1}
    assert control("DELETE", "/faults")[1] == {"cleared": 0}
    assert ask.get("web_0").status == 200


def test_the_log_can_be_read_and_forgotten(control: Control, ask: Any) -> None:
    ask.get("web_0")
    ask.post("web_1", "some-id")
    log = control("GET", "/log")[1]
    assert (log["received"], log["found"], log["forgotten"], len(log["requests"])) == (2, 2, 0, 2)
    assert control("GET", "/log?last=1")[1]["requests"][0]["body"] == '{"StartRequests": [{"EventId": "some-id"}]}'
    assert control("GET", "/log?last=0")[1]["requests"] == []
    assert [control("GET", "/log?" + query)[1]["found"] for query in ("vm=web_0", "verb=POST", "path=instance")] == [1, 1, 0]
    control("DELETE", "/log")
    assert control("GET", "/log")[1]["received"] == 0


def test_status_clock_and_settings_can_be_read_and_changed(control: Control, sim: Any) -> None:
    assert control("POST", "/settings", {"rate_limit": 5})[1]["rate_limit"] == control("GET", "/settings")[1]["rate_limit"] == 5
    status = control("GET", "/status")[1]
    assert (status["now"], status["clock"], status["vms"], status["scopes"]) == (sim.now(), "manual", 3, 2)
    assert control("GET", "/clock")[1] == {"now": sim.now(), "clock": "manual", "rate": 0.0}


def test_it_tells_what_can_be_asked(control: Control) -> None:
    calls = control("GET", "/")[1]["calls"]
    assert "POST /events: schedule an event" in calls


def test_the_answer_does_not_wait_for_a_slow_hook(control: Control, sim: Any) -> None:
    import threading

    release = threading.Event()
    sim.on("start", lambda _notice: release.wait(10))
    assert control("POST", "/failures", {"vm": "lonely"})[1]["state"] == "Started"
    assert not release.is_set()
    release.set()


@pytest.mark.parametrize(
    ("verb", "path", "body", "status", "text"),
    [
        ("GET", "/nothing", None, 404, "there is nothing at /nothing; GET / lists what there is"),
        ("PUT", "/events", None, 405, "/events takes GET and POST, not PUT"),
        ("POST", "/events", b"{", 400, "the body is not JSON"),
        ("POST", "/events", b"\xff", 400, "the body is not JSON"),
        ("POST", "/events", [], 400, "event: an object is needed, not []"),
        ("POST", "/events", {}, 400, "event: event_type is missing"),
        ("POST", "/events", {"event_type": "Reboot", "resources": "web_0"}, 400, "event: resources must be a list of texts, not 'web_0'"),
        (
            "POST",
            "/events",
            {"event_type": "Reboot", "resources": ["web_0"], "notice": "soon"},
            400,
            "event: notice must be a number of seconds, or a text such as 90s, 15m, 2h, 7d, not 'soon'",
        ),
        (
            "POST",
            "/events",
            {"event_type": "Reboot", "resources": ["web_0"], "notice": True},
            400,
            "event: notice must be a number of seconds, or a text such as 90s, 15m, 2h, 7d, not True",
        ),
        (
            "POST",
            "/events",
            {"event_type": "Reboot", "resources": ["web_0"], "notice": -1},
            400,
            "event: notice must be a number of seconds, or a text such as 90s, 15m, 2h, 7d, not -1",
        ),
        (
            "POST",
            "/events",
            {"event_type": "Reboot", "resources": ["web_0"], "duration": True},
            400,
            "event: duration must be a whole number, not True",
        ),
        (
            "POST",
            "/events",
            {"event_type": "Reboot", "resources": ["nobody"]},
            404,
            "there is no VM 'nobody'; there are lonely, web_0, web_1",
        ),
        ("POST", "/events/none/cancel", None, 404, "there is no event 'none'"),
        ("POST", "/scopes", {"name": "x", "vms": [7]}, 400, "scope x, vms: an object is needed, not 7"),
        ("POST", "/scopes", {"name": "x", "vms": [{"zone": "1"}]}, 400, "scope x, vms: name is missing"),
        ("POST", "/vms", {"name": "lonely"}, 409, "there is a VM 'lonely' already"),
        ("POST", "/events/none/relist", {"wait": 1}, 400, "relist: there is no 'wait', only notice"),
        (
            "POST",
            "/clock/advance",
            {"seconds": -5},
            400,
            "advance: seconds must be a number of seconds, or a text such as 90s, 15m, 2h, 7d, not -5",
        ),
        ("POST", "/settings", [1], 400, "settings: an object is needed, not [1]"),
        ("GET", "/log?last=all", None, 400, "last: a number is needed, not 'all'"),
        ("DELETE", "/faults/x", None, 400, "fault: a number is needed, not 'x'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(control: Control, verb: str, path: str, body: Any, status: int, text: str) -> None:
    assert control(verb, path, body) == (status, {"error": text})


def test_a_page_in_a_browser_cannot_use_it(control: Control) -> None:
    answer = control("POST", "/clock/advance", {"seconds": 1}, headers={"Origin": "http://example.com"})
    assert answer == (403, {"error": "the control plane does not serve web pages"})


def test_no_command_can_be_given_by_http(control: Control) -> None:
    """Hooks run programs: only who starts the simulator may name them."""
    assert "hook" not in json.dumps(control("GET", "/")[1])
    status, answer = control("POST", "/events", {"event_type": "Reboot", "resources": ["web_0"], "hooks": {"start": [["true"]]}})
    assert (status, answer["error"].startswith("event: there is no 'hooks'")) == (400, True)
