# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the contract says about the transport: C-1 to C-11."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Callable

import pytest

VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
EVENTS = "/metadata/scheduledevents"


def test_events_are_read_and_approved_at_one_path_below_any_base_url(sim: Any, ask: Any) -> None:
    """C-1: GET and POST on the same path; the base URL is a setting and has a path of its own here."""
    event = sim.schedule("Reboot", ["web_0"])
    assert ask.get("web_0").status == 200
    assert ask.post("web_0", event.event_id).status == 200
    assert ask.send("web_0", "/metadata/scheduledEventz?api-version=2020-07-01").status == 404


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize("headers", [{}, {"Metadata": "false"}, {"Metadata": ""}])
def test_the_header_is_required_from_the_second_version_on(ask: Any, version: str, headers: Any) -> None:
    """C-2: without `Metadata: true` it is 400, for GET and for POST."""
    assert ask.get("web_0", version, headers=headers).error() == "Bad request: the header 'Metadata: true' is required."
    assert ask.post("web_0", "some-id", version=version, headers=headers).status == 400


def test_the_preview_version_asks_for_no_header(ask: Any) -> None:
    """C-2: it is enforced from 2017-08-01 on."""
    assert ask.get("web_0", "2017-03-01", headers={}).status == 200
    assert ask.post("web_0", "some-id", version="2017-03-01", headers={}).status == 200


@pytest.mark.parametrize("headers", [{"metadata": "TRUE"}, {"METADATA": "True"}, {"MetaData": "true"}])
def test_the_header_may_have_any_letter_case(ask: Any, headers: Any) -> None:
    """C-2: name and value."""
    assert ask.get("web_0", headers=headers).status == 200


def test_a_post_without_the_header_approves_nothing(sim: Any, ask: Any) -> None:
    """C-2, C-22: a refused approval has no effect."""
    event = sim.schedule("Reboot", ["web_0"])
    assert ask.post("web_0", event.event_id, headers={}).status == 400
    assert ask.status("web_0") == "Scheduled"


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_a_forwarded_request_is_refused(ask: Any, verb: str) -> None:
    """C-3: with X-Forwarded-For, whatever it says."""
    answer = ask.send("web_0", EVENTS + "?api-version=2020-07-01", verb=verb, headers={"Metadata": "true", "X-Forwarded-For": "127.0.0.1"})
    assert answer.status == 400
    assert answer.error() == "Bad request: a forwarded request (X-Forwarded-For) is refused."


@pytest.mark.parametrize("query", ["api-version=2020-07-01&api-version=2020-07-01", "api-version=2020-07-01&a=1&A=2"])
def test_a_query_key_twice_is_refused(ask: Any, query: str) -> None:
    """C-3: even when both say the same."""
    answer = ask.send("web_0", EVENTS + "?" + query)
    assert answer.status == 400
    assert answer.error().startswith("Bad request: the query key ")


def test_no_redirect_is_sent_except_as_a_fault(sim: Any, ask: Any) -> None:
    """C-4: something else answers, and sends the client elsewhere."""
    assert ask.get("web_0").status == 200
    sim.fault(kind="redirect", vm="web_0", location="http://127.0.0.1:9/login")
    answer = ask.get("web_0")
    assert (answer.status, answer.headers["Location"]) == (302, "http://127.0.0.1:9/login")


def test_a_captive_proxy_answers_200_with_html(sim: Any, ask: Any) -> None:
    """C-5: nothing in it is JSON."""
    sim.fault(kind="html", vm="web_0")
    answer = ask.get("web_0")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    with pytest.raises(ValueError, match="Expecting value"):
        answer.json()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_of_the_contract_answers(ask: Any, version: str) -> None:
    """C-6: from the preview to the newest."""
    assert sorted(ask.get("web_0", version).json()) == ["DocumentIncarnation", "Events"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "Bad request: api-version is missing."),
        ("?api-version=", "Bad request: api-version is missing."),
        ("?api-version=2020-07-02", "Bad request: api-version '2020-07-02' is not supported."),
        ("?api-version=latest", "Bad request: api-version 'latest' is not supported."),
        ("?api-version=2021-02-01", "Bad request: api-version '2021-02-01' is not supported."),
    ],
)
def test_a_missing_or_unknown_version_is_refused(ask: Any, query: str, text: str) -> None:
    """C-6: with a body that says so."""
    answer = ask.send("web_0", EVENTS + query)
    assert (answer.status, answer.error()) == (400, text)


def test_the_list_of_versions_lacks_four_that_work(ask: Any) -> None:
    """C-6: so nobody should check a version against it."""
    listed = ask.send("web_0", "/metadata/versions").json()["apiVersions"]
    assert sorted(set(VERSIONS) - set(listed)) == ["2017-11-01", "2019-01-01", "2019-04-01", "2020-07-01"]


def _first_call(make_sim: Any, asker: Any, **settings: Any) -> Any:
    sim = make_sim(switched_on=False, **settings)
    sim.add_scope("web", vms=["web_0", "web_1"])
    return sim, asker(sim)


def _wait_for_requests(sim: Any, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(sim.requests()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_the_first_call_is_answered_late(make_sim: Any, asker: Any) -> None:
    """C-7: up to two minutes, for every VM of the scope that asks meanwhile; afterwards at once."""
    sim, ask = _first_call(make_sim, asker, first_call_delay=120)
    answered = []
    callers = [threading.Thread(target=lambda vm=vm: answered.append(ask.get(vm).status)) for vm in ("web_0", "web_1")]
    for number, caller in enumerate(callers, start=1):
        caller.start()
        _wait_for_requests(sim, number)
    sim.advance(119)
    assert answered == []
    sim.advance(1)
    for caller in callers:
        caller.join(60)
    assert answered == [200, 200]
    assert ask.get("web_1").status == 200


def test_the_first_call_is_late_on_a_running_clock_too(make_sim: Any, asker: Any) -> None:
    """C-7: two minutes on a clock that is a thousand times faster."""
    sim, ask = _first_call(make_sim, asker, clock="real", rate=1000.0, first_call_delay=120)
    began = time.monotonic()
    assert ask.get("web_0").status == 200
    assert 0.1 < time.monotonic() - began < 60
    assert sim.requests()[0].status == 200


def test_a_first_call_with_a_short_time_out_gets_nothing(make_sim: Any, asker: Any) -> None:
    """C-7, C-11: and asking again in a loop does not make it faster."""
    sim, ask = _first_call(make_sim, asker, first_call_delay=120)
    for _attempt in range(2):
        with pytest.raises(OSError, match="timed out"):
            ask.get("web_0", timeout=0.05)
    sim.advance(120)
    assert ask.get("web_0").status == 200


def test_events_come_only_some_minutes_after_switching_on(make_sim: Any, asker: Any) -> None:
    """C-7, C-12: five more minutes, and their coming changes the incarnation."""
    sim, ask = _first_call(make_sim, asker, events_delay=300)
    sim.schedule("Redeploy", ["web_0"], notice=86400)
    before = ask.get("web_0").json()
    sim.advance(299)
    assert before["Events"] == ask.events("web_0") == []
    sim.advance(1)
    after = ask.get("web_1").json()
    assert len(after["Events"]) == 1
    assert after["DocumentIncarnation"] != before["DocumentIncarnation"]


def test_a_call_switches_the_whole_scope_on_and_nobody_elses(make_sim: Any, asker: Any) -> None:
    """C-7: a user's restart waits where somebody has asked, and starts at once where nobody has."""
    sim, ask = _first_call(make_sim, asker)
    sim.add_vm("lonely")
    ask.get("web_0")
    heard = sim.schedule("Reboot", ["web_1"], source="User")
    unheard = sim.schedule("Reboot", ["lonely"], source="User")
    assert (heard.state, unheard.state) == ("Scheduled", "Started")
    assert heard.not_before - sim.now() == 15 * 60


def test_a_refused_call_switches_nothing_on(make_sim: Any, asker: Any) -> None:
    """C-7: a request that is refused, and one for the VM's identity, are no calls."""
    sim, ask = _first_call(make_sim, asker)
    assert ask.get("web_0", headers={}).status == 400
    assert ask.instance("web_0").status == 200
    assert sim.schedule("Reboot", ["web_0"], source="User").state == "Started"


def test_a_day_without_a_call_switches_off_and_the_incarnation_starts_anew(sim: Any, ask: Any) -> None:
    """C-7, C-9, C-12: number and tag are then those of another list."""
    sim.schedule("Reboot", ["web_0"], notice=7 * 86400)
    first = ask.get("web_0")
    sim.schedule("Reboot", ["web_1"], notice=7 * 86400)
    assert ask.incarnation("web_0") == 3
    sim.advance(86400)
    assert ask.incarnation("web_0") == 1
    sim.schedule("Freeze", ["web_1"], notice=7 * 86400)
    again = ask.get("web_0")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.json()["DocumentIncarnation"] == first.json()["DocumentIncarnation"]
    assert again.events() != first.events()


def test_a_call_just_in_time_keeps_it_on(sim: Any, ask: Any) -> None:
    """C-7: 24 hours are counted from the last call of any VM of the scope."""
    sim.schedule("Reboot", ["web_0"], notice=7 * 86400)
    number = ask.incarnation("web_0")
    sim.advance(86399)
    assert ask.incarnation("web_1") == number
    sim.advance(86399)
    assert ask.incarnation("web_0") == number


def test_a_zonal_scale_set_is_switched_on_zone_by_zone(make_sim: Any, asker: Any) -> None:
    """C-7: as seen."""
    sim = make_sim(switched_on=False)
    sim.add_scope("set", kind="scale_set", per_zone=True, vms=[{"name": "set_0", "zone": "1"}, {"name": "set_1", "zone": "2"}])
    asker(sim).get("set_0")
    assert sim.schedule("Reboot", ["set_0"], source="User").state == "Scheduled"
    assert sim.schedule("Reboot", ["set_1"], source="User").state == "Started"


def test_more_than_five_requests_a_second_are_too_many(make_sim: Any, asker: Any) -> None:
    """C-8: per VM, over the metadata service as a whole, if it is switched on."""
    sim = make_sim(rate_limit=5)
    sim.add_scope("web", vms=["web_0", "web_1"])
    ask = asker(sim)
    assert [ask.get("web_0").status for _request in range(3)] == [200] * 3
    assert [ask.instance("web_0").status for _request in range(2)] == [200] * 2
    refused = ask.get("web_0")
    assert (refused.status, refused.error()) == (429, "Too many requests.")
    assert ask.get("web_1").status == 200
    sim.advance(1)
    assert ask.get("web_0").status == 200


def test_requests_whose_answers_nobody_waits_for_count_too(make_sim: Any, asker: Any) -> None:
    """C-11: many short time-outs in a tight loop are themselves the cause of 429."""
    sim = make_sim(rate_limit=5)
    sim.add_vm("web_0")
    ask = asker(sim)
    sim.fault(kind="hang", acts=True, times=5)
    for _attempt in range(5):
        with pytest.raises(OSError, match="timed out"):
            ask.get("web_0", timeout=0.03)
    assert ask.get("web_0").status == 429


def test_a_tag_gets_304_while_nothing_changes(sim: Any, ask: Any) -> None:
    """C-9: and the whole answer as soon as something does."""
    tag = ask.get("web_0").headers["ETag"]
    unchanged = ask.get("web_0", headers={"Metadata": "true", "If-None-Match": tag})
    assert (unchanged.status, unchanged.body, unchanged.headers["ETag"]) == (304, b"", tag)
    sim.schedule("Freeze", ["web_1"])
    changed = ask.get("web_0", headers={"Metadata": "true", "If-None-Match": tag})
    assert changed.status == 200
    assert changed.headers["ETag"] != tag


@pytest.mark.parametrize("wanted", ['W/"1"', '"7", "1"', "*"])
def test_a_tag_is_found_in_every_form_that_http_allows(ask: Any, wanted: str) -> None:
    """C-9"""
    assert ask.get("web_0", headers={"Metadata": "true", "If-None-Match": wanted}).status == 304


@pytest.mark.parametrize("verb", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_verbs_are_refused(ask: Any, verb: str) -> None:
    """C-10: 405, with what is allowed."""
    answer = ask.send("web_0", EVENTS + "?api-version=2020-07-01", verb=verb)
    assert (answer.status, answer.error(), answer.headers["Allow"]) == (405, "Method not allowed.", "GET, POST")
    instance = ask.send("web_0", "/metadata/instance?api-version=2021-02-01", verb="POST")
    assert (instance.status, instance.headers["Allow"]) == (405, "GET")


def test_a_head_request_is_refused_without_a_body(ask: Any) -> None:
    """C-10"""
    answer = ask.send("web_0", EVENTS + "?api-version=2020-07-01", verb="HEAD")
    assert (answer.status, answer.body) == (405, b"")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 410, 429, 500, 503, 504])
def test_every_error_of_the_contract_can_be_had_with_its_body(sim: Any, ask: Any, status: int) -> None:
    """C-10: a JSON object with one key, and Retry-After where it is wanted."""
    sim.fault(kind="status", status=status, headers={"Retry-After": "3"})
    answer = ask.get("web_0")
    assert answer.status == status
    assert answer.error()
    assert answer.headers["Retry-After"] == "3"
    assert ask.get("web_0").status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"null",
        b"\xff\xfe",
        b"[" * 5000,
        b"{}",
        b'{"StartRequests": null}',
        b'{"StartRequests": []}',
        b'{"StartRequests": {"EventId": "x"}}',
        b'{"StartRequests": ["x"]}',
        b'{"StartRequests": [{}]}',
        b'{"StartRequests": [{"EventId": ""}]}',
        b'{"StartRequests": [{"EventId": 7}]}',
        b'{"StartRequests": [{"EventId": "x"}, {"Id": "y"}]}',
    ],
)
def test_a_malformed_approval_is_refused(ask: Any, body: bytes) -> None:
    """C-10, C-23: 400 with a body that says what is malformed."""
    answer = ask.post("web_0", body=body)
    assert answer.status == 400
    assert answer.error().startswith("Bad request: ")


def test_a_malformed_entry_spoils_the_whole_approval(sim: Any, ask: Any) -> None:
    """C-23: nothing of it takes effect."""
    event = sim.schedule("Reboot", ["web_0"])
    body = json.dumps({"StartRequests": [{"EventId": event.event_id}, {"EventId": None}]}).encode()
    assert ask.post("web_0", body=body).status == 400
    assert ask.status("web_0") == "Scheduled"


def test_a_request_for_a_vm_that_is_not_there_says_so(ask: Any, sim: Any, asker: Callable[[Any], Any]) -> None:
    """C-10: with 400, which no client repeats, and in the contract's form."""
    answer = ask.send(None, "/vm/nobody/metadata/scheduledevents?api-version=2020-07-01")
    assert answer.status == 400
    assert "there is no VM 'nobody'" in answer.error()
    assert "there is no VM at address 127.0.0.1" in ask.get(None).error()
    assert sim.requests(vm="nobody")[0].status == 400
