# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The platform's contract from the client's side: each rule is survived, or kept, against the simulator."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import (
    SHORTEST_POLL_INTERVAL,
    connection_arguments,
    connection_of,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Facts, Settings, controller_clock_error, decide
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import (
    ConnectionFailed,
    DocumentError,
    IdentityError,
    StatusError,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import (
    CONNECT_TIMEOUT,
    SHORTEST_TIMEOUT,
    HttpClient,
    NoAnswer,
    RawAnswer,
    Request,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import default_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._wait import UNTIL_STARTED
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.simulated import (
    approve,
    ask,
    events_of,
    ids_of,
    posted_ids,
    service_of,
    states_of,
    wait,
    words_of,
)

VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
FACTS = Facts(clock_error=controller_clock_error(None))


@pytest.fixture
def web(simulator: Any) -> Any:
    """An availability set of two."""
    simulator.add_scope("web", kind="availability_set", vms=["web_0", "web_1"])
    return simulator


def gets(simulator: Any) -> List[Any]:
    records: List[Any] = simulator.requests(verb="GET", path="events")
    return records


def default_connection() -> Any:
    return connection_of({name: argument["default"] for name, argument in connection_arguments().items()})


def test_the_service_is_found_wherever_the_endpoint_says(web: Any) -> None:
    """C-1: the base URL is a setting, with a path of its own or without, and GET and POST go below it."""
    event = web.schedule("Reboot", ["web_0"])
    assert web.endpoint("web_0").endswith("/vm/web_0")
    assert service_of(web, "web_0", endpoint=web.endpoint("web_0") + "/").read().document.find(event.event_id)
    approve(web, "web_0", [event.event_id], ready=["web_0"])
    assert {(record.verb, record.vm, record.path) for record in web.requests()} == {
        ("GET", "web_0", "/metadata/scheduledevents"),
        ("POST", "web_0", "/metadata/scheduledevents"),
    }
    assert default_connection().endpoint == "http://169.254.169.254"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_request_carries_the_header(web: Any, version: str) -> None:
    """C-2, C-6: on GET and POST, in each version; the service takes them all."""
    event = web.schedule("Reboot", ["web_0"])
    approve(web, "web_0", [event.event_id], ready=["web_0"], api_version=version)
    service_of(web, "web_0", api_version=version).vm(otherwise="vm_name")
    assert {record.verb for record in web.requests()} == {"GET", "POST"}
    assert {record.headers.get("Metadata") for record in web.requests()} == {"true"}
    assert {record.status for record in web.requests()} == {200}


def test_no_request_looks_forwarded_or_asks_a_key_twice(web: Any) -> None:
    """C-3: the service answers 400 to X-Forwarded-For and to a key that is there twice, so 200 throughout proves both."""
    event = web.schedule("Reboot", ["web_0"])
    approve(web, "web_0", [event.event_id], ready=["web_0"])
    ask(web, "web_0", gather_vm=True)
    assert [(record.verb, record.status) for record in web.requests()] == [
        ("GET", 200),
        ("POST", 200),
        ("GET", 200),
        ("GET", 200),
        ("GET", 200),
    ]


def test_a_proxy_of_the_environment_is_not_asked(web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-4: proxies are bypassed, whatever the environment sets."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    event = web.schedule("Reboot", ["web_0"])
    assert ids_of(web, "web_0") == [event.event_id]


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_a_redirect_is_not_followed(web: Any, verb: str) -> None:
    """C-4: following one would mean that something else answered."""
    event = web.schedule("Reboot", ["web_0"])
    elsewhere = web.endpoint("web_1") + "/metadata/scheduledevents?api-version=2020-07-01"
    web.fault("redirect", verb=verb, times=None, location=elsewhere)
    service = service_of(web, "web_0")
    act: Callable[[], Any] = service.read if verb == "GET" else lambda: service.approve([event.event_id])
    with pytest.raises(StatusError, match="the service answered 302 Found") as caught:
        act()
    assert "never redirects, so a proxy or a wrong address answered" in caught.value.message
    assert (len(web.requests()), web.requests(vm="web_1")) == (1, [])


@pytest.mark.parametrize(
    ("kind", "parameters", "said"),
    [
        ("html", {}, "it is not JSON but HTML, as a captive proxy sends it"),
        ("html", {"body": b""}, "it is not JSON"),
        ("html", {"body": b"{}"}, "it is JSON without DocumentIncarnation and a list Events"),
        ("html", {"body": b'{"DocumentIncarnation": 1, "Events": {}}'}, "it is JSON without DocumentIncarnation and a list Events"),
        ("half_json", {}, "it is not JSON"),
        ("malformed_event", {}, "event 1 has Resources: 'not a list'"),
    ],
)
def test_what_is_not_a_document_is_an_error_and_never_no_events(web: Any, kind: str, parameters: Dict[str, Any], said: str) -> None:
    """C-5: an answer counts only if it is a JSON object with DocumentIncarnation and a list Events."""
    web.schedule("Reboot", ["web_0"])
    web.fault(kind, times=1, **parameters)
    with pytest.raises(DocumentError) as caught:
        ask(web, "web_0")
    assert "the answer is not a document of scheduled events: %s." % said in caught.value.message


def test_an_unknown_version_is_an_error_at_once_and_no_list_of_versions_is_asked(web: Any) -> None:
    """C-6, C-10: 400 is never retried, and /metadata/versions lacks versions that the service has."""
    with pytest.raises(StatusError) as caught:
        ask(web, "web_0", api_version="2030-01-01")
    assert (caught.value.malformed, caught.value.permanent) == (True, True)
    assert [record.path for record in web.requests()] == ["/metadata/scheduledevents"]


def test_the_first_answer_ever_may_take_two_minutes(web: Any) -> None:
    """C-7: one request with the default time-out lives through it, instead of many that give up."""
    web.configure(first_call_delay=120.0, events_delay=300.0)
    web.switch_off("web_0")
    event = web.schedule("Reboot", ["web_0"], notice=900)
    began = web.now()
    found: List[Any] = []
    asking = threading.Thread(target=lambda: found.append(service_of(web, "web_0", clock=Clock()).read()), daemon=True)
    asking.start()
    for _time in range(1000):
        asking.join(0.01)
        if not asking.is_alive():
            break
        web.advance(1.0 if gets(web) else 0.0)
    assert [reading.document.events for reading in found] == [()]
    assert (len(gets(web)), web.now() - began >= 120.0) == (1, True)
    assert default_connection().timeout > 120.0
    # And events come five minutes later: a document without them was no proof that there are none.
    web.advance(300.0)
    assert ids_of(web, "web_0") == [event.event_id]


def test_a_client_that_asks_too_often_waits_and_gets_its_answer(web: Any) -> None:
    """C-8: 429 above five requests a second; the client backs off by itself."""
    web.configure(rate_limit=5)
    event = web.schedule("Reboot", ["web_0"])
    for _time in range(12):
        assert ids_of(web, "web_0") == [event.event_id]
    statuses = [record.status for record in gets(web)]
    assert statuses.count(200) == 12
    assert statuses.count(429) >= 2


def test_a_wait_asks_once_a_second_at_most(web: Any) -> None:
    """C-8: the shortest interval that can be asked for is a second."""
    assert SHORTEST_POLL_INTERVAL == 1.0
    web.configure(rate_limit=1)
    event = web.schedule("Reboot", ["web_0"], notice=20, runs_for=20)
    assert states_of(wait(web, "web_0", [event.event_id], poll_interval=SHORTEST_POLL_INTERVAL)) == ["gone"]
    asked_at = [record.at for record in gets(web)]
    assert min(later - earlier for earlier, later in zip(asked_at, asked_at[1:])) >= 1.0
    assert {record.status for record in gets(web)} == {200}


def test_a_tag_that_repeats_with_other_content_hides_nothing(web: Any) -> None:
    """C-9, C-12: after a reset incarnation and tag may be those of another list, so every GET is unconditional."""
    first = web.schedule("Reboot", ["web_0"], notice=900)
    service = service_of(web, "web_0")
    before = service.read().document
    web.fault("repeat_incarnation", times=None)
    second = web.schedule("Freeze", ["web_1"], notice=900)
    after = service.read().document
    assert before.incarnation == after.incarnation
    assert [event.event_id for event in after.events] == [first.event_id, second.event_id]
    assert not any("if-none-match" in record.headers for record in web.requests())
    assert {record.status for record in web.requests()} == {200}


@pytest.mark.parametrize("status", [404, 408, 410, 429, 500, 502, 503, 504])
def test_an_error_that_may_pass_is_tried_again_with_growing_pauses(web: Any, status: int) -> None:
    """C-10: within one budget for all attempts together."""
    event = web.schedule("Reboot", ["web_0"])
    web.fault("status", verb="GET", status=status, times=4)
    assert ids_of(web, "web_0") == [event.event_id]
    asked_at = [record.at for record in gets(web)]
    pauses = [later - earlier for earlier, later in zip(asked_at, asked_at[1:])]
    assert len(pauses) == 4
    # One second and its doubles, of which chance takes away up to a half.
    assert all(longest / 2 <= pause <= longest for pause, longest in zip(pauses, (1.0, 2.0, 4.0, 8.0)))


@pytest.mark.parametrize("status", [400, 401, 403, 405])
def test_an_error_that_cannot_pass_is_not_tried_again(web: Any, status: int) -> None:
    """C-10: malformed, kept out by a policy, wrong verb."""
    web.fault("status", verb="GET", status=status, times=None)
    with pytest.raises(StatusError) as caught:
        ask(web, "web_0")
    assert ("answered %d " % status in str(caught.value), caught.value.permanent, len(gets(web))) == (True, True, 1)


@pytest.mark.parametrize("kind", ["reset", "close", "truncate"])
def test_a_connection_that_breaks_is_tried_again(web: Any, kind: str) -> None:
    """C-10: as refused and timed-out ones; half an answer is none."""
    event = web.schedule("Reboot", ["web_0"])
    web.fault(kind, verb="GET", times=2)
    assert ids_of(web, "web_0") == [event.event_id]
    assert len(gets(web)) == 3


def test_seventy_seconds_of_gone_are_outlasted(web: Any) -> None:
    """C-10: 410 is to be retried for up to 70 s, and the default budget is above that."""
    event = web.schedule("Reboot", ["web_0"])
    began = web.now()
    web.fault("status", verb="GET", status=410, times=None)

    def sleep(seconds: float) -> None:
        web.advance(seconds)
        if web.now() - began >= 70.0:
            web.clear_faults()

    service = service_of(web, "web_0", clock=Clock(wall=web.now, monotonic=web.now, sleep=sleep))
    assert service.read().document.find(event.event_id)
    assert web.now() - began >= 70.0
    assert default_connection().retry_for > 70.0


def test_the_service_says_how_long_to_wait(web: Any) -> None:
    """C-10: Retry-After is honoured, above the pause that would have been made."""
    web.fault("status", verb="GET", status=429, times=1, headers={"Retry-After": "20"})
    ask(web, "web_0")
    first, second = gets(web)
    assert second.at - first.at >= 20.0


def test_the_words_of_the_service_are_passed_on(web: Any) -> None:
    """C-10: an error has the body {"error": "text"}."""
    web.fault("status", verb="GET", status=400, times=1, body={"error": "Bad request: api-version is missing."})
    with pytest.raises(StatusError) as caught:
        ask(web, "web_0")
    assert "the service answered 400 Bad Request (Bad request: api-version is missing.)." in caught.value.message


def test_one_long_time_out_is_preferred_to_many_short_ones(web: Any) -> None:
    """C-11: short time-outs in a tight loop themselves cause 429, also when the caller has hardly any time left."""
    borne: List[float] = []

    def silent(_request: Request, timeout: float) -> RawAnswer:
        borne.append(timeout)
        web.advance(timeout)
        raise NoAnswer("no answer")

    clock = Clock(wall=web.now, monotonic=web.now, sleep=web.advance)
    client = HttpClient(silent, timeout=130.0, retry_for=90.0, clock=clock)
    for at_most in (None, 130.0, 0.01, 0.0):
        with pytest.raises(ConnectionFailed, match="no answer"):
            client.get(Request("GET", "http://127.0.0.1:9/"), at_most=at_most)
    assert borne[0] == 130.0
    assert min(borne) >= SHORTEST_TIMEOUT == 1.0
    assert CONNECT_TIMEOUT >= SHORTEST_TIMEOUT


@pytest.mark.parametrize("settings", [{"text_incarnation": True}, {"incarnation_step": 7}, {}])
def test_an_incarnation_may_be_text_skip_numbers_and_start_anew(web: Any, settings: Dict[str, Any]) -> None:
    """C-12: it says that something changed, never in which direction."""
    web.configure(**settings)
    event = web.schedule("Reboot", ["web_0"], notice=900, runs_for=30)
    web.set_incarnation("web_0", 900)
    service = service_of(web, "web_0")
    assert service.read().document.incarnation == 900
    web.set_incarnation("web_0", 1)
    assert service.read().document.incarnation == 1
    web.start(event.event_id)
    assert service.read().document.events[0].started
    assert states_of(wait(web, "web_0", [event.event_id])) == ["gone"]


@pytest.mark.parametrize(
    ("version", "description", "source", "duration"),
    [
        ("2017-03-01", "", None, None),
        ("2017-08-01", "", None, None),
        ("2017-11-01", "", None, None),
        ("2019-01-01", "", None, None),
        ("2019-04-01", "for a test", None, None),
        ("2019-08-01", "for a test", "User", None),
        ("2020-07-01", "for a test", "User", 9),
    ],
)
def test_what_a_version_lacks_is_unknown_and_the_rest_is_there(
    web: Any, version: str, description: str, source: Any, duration: Any
) -> None:
    """C-6, C-13, C-20: the keys of each version, and the underscore of the first."""
    web.schedule("Reboot", ["web_0", "web_1"], duration=9, source="User", description="for a test")
    (event,) = events_of(web, "web_0", api_version=version, vm_name="web_0")
    assert (event["description"], event["event_source"], event["duration_seconds"]) == (description, source, duration)
    assert event["resources"] == ["web_0", "web_1"]
    assert (event["event_type"], event["event_status"], event["resource_type"]) == ("Reboot", "Scheduled", "VirtualMachine")
    assert event["affects_this_vm"] is True


def test_an_unknown_type_and_status_pass_through_and_are_not_approved(web: Any) -> None:
    """C-14: guest-image events exist whose type nobody documents."""
    strange = web.schedule("GuestImageUpdate", ["web_0"], extra={"SomethingNew": {"k": "v"}})
    paused = web.schedule("Reboot", ["web_0"])
    web.change(paused.event_id, status="Paused")
    result = ask(web, "web_0")
    assert [(event["event_type"], event["event_status"]) for event in result["events"]] == [
        ("GuestImageUpdate", "Scheduled"),
        ("Reboot", "Paused"),
    ]
    assert result["document"]["Events"][0]["SomethingNew"] == {"k": "v"}
    assert ids_of(web, "web_0", event_types=["unknown"]) == [strange.event_id]
    assert ids_of(web, "web_0", event_statuses=["unknown"]) == [paused.event_id]
    assert words_of(approve(web, "web_0", [strange.event_id, paused.event_id], ready=["web_0"])) == ["refused", "refused"]
    assert web.posts() == []
    named = approve(web, "web_0", [strange.event_id], ready=["web_0"], types_allowed=["GuestImageUpdate"])
    assert words_of(named) == ["approved"]


@pytest.mark.parametrize("deletion", ["Preempt", "Terminate"])
def test_a_deletion_is_approved_only_by_name(simulator: Any, deletion: str) -> None:
    """C-14: Preempt and Terminate delete the VM."""
    simulator.add_scope("pool", kind="scale_set", vms=["pool_0"])
    event = simulator.schedule(deletion, ["pool_0"])
    refused = approve(simulator, "pool_0", [event.event_id], ready=["pool_0"])
    assert (words_of(refused), simulator.posts()) == (["refused"], [])
    assert "deletes pool_0, and allow_types does not name %s" % deletion in str(refused.failure)
    assert words_of(approve(simulator, "pool_0", [event.event_id], ready=["pool_0"], types_allowed=[deletion])) == ["approved"]


def test_one_answer_without_the_event_proves_nothing(web: Any) -> None:
    """C-15: gone means two good answers ten seconds apart."""
    event = web.schedule("Reboot", ["web_0"], notice=60, runs_for=60)
    began = web.now()
    for kind in ("drop_event", "empty"):
        web.fault(kind, times=1)
    ended = wait(web, "web_0", [event.event_id])
    assert (states_of(ended), ended.events[0]["started_seen"]) == (["gone"], True)
    assert web.now() - began >= 60 + 60 + 10


def test_an_event_that_one_answer_leaves_out_is_still_approved(web: Any) -> None:
    """C-15: and the answer that lists it twice is no other."""
    event = web.schedule("Reboot", ["web_0"])
    web.fault("drop_event", times=1)
    web.fault("duplicate_event", times=None)
    assert words_of(approve(web, "web_0", [event.event_id], ready=["web_0"])) == ["approved"]


def test_a_cancelled_event_is_told_from_a_completed_one(web: Any) -> None:
    """C-15: it goes from Scheduled to gone, and was never seen started."""
    cancelled = web.schedule("Reboot", ["web_0"], notice=900)
    completed = web.schedule("Freeze", ["web_0"], notice=20, runs_for=30)
    ended = wait(web, "web_0", [cancelled.event_id, completed.event_id], meanwhile=[lambda: web.cancel(cancelled.event_id)])
    assert [(event["state"], event["started_seen"]) for event in ended.events] == [("gone", False), ("gone", True)]


def test_an_event_may_appear_as_started(web: Any) -> None:
    """C-15: a hardware failure, or what a policy approved by itself; there is nothing to approve any more."""
    event = web.fail_hardware("web_0", runs_for=60)
    assert words_of(approve(web, "web_0", [event.event_id], ready=[])) == ["already_started"]
    assert web.posts() == []
    decision = decide(
        service_of(web, "web_0").read().document.events[0], policy=default_policy(), facts=FACTS, now=web.now(), settings=Settings()
    )
    assert (decision.effective_action, decision.start_at) == ("watch", None)
    assert states_of(wait(web, "web_0", [event.event_id], until=UNTIL_STARTED)) == ["started"]


def test_an_event_listed_again_after_a_gap_is_followed_on(web: Any) -> None:
    """C-15: nobody promises that an id does not come back; one gap is not enough to be gone."""
    event = web.schedule("Reboot", ["web_0"], notice=900, runs_for=30)
    steps = [lambda: web.cancel(event.event_id), lambda: web.relist(event.event_id, notice=60), lambda: None]
    began = web.now()
    ended = wait(web, "web_0", [event.event_id], meanwhile=steps)
    assert (states_of(ended), ended.events[0]["started_seen"]) == (["gone"], True)
    assert web.now() - began >= 60 + 30 + 10


def test_what_moves_or_changes_is_seen_as_it_is_now(web: Any) -> None:
    """C-15: NotBefore that moves, a Reboot that comes as a Freeze, Resources that grow."""
    event = web.schedule("Reboot", ["web_0"], notice=900)
    web.change(event.event_id, not_before=60, event_type="Freeze", resources=["web_0", "web_1"])
    (shown,) = events_of(web, "web_0")
    assert (shown["event_type"], shown["seconds_to_not_before"], shown["resources"]) == ("Freeze", 60, ["web_0", "web_1"])
    refused = approve(web, "web_0", [event.event_id], ready=["web_0"])
    assert (words_of(refused), web.posts()) == (["refused"], [])


@pytest.mark.parametrize("dates", ["rfc1123", "iso8601"])
@pytest.mark.parametrize("wrong_weekdays", [False, True])
def test_a_date_is_read_in_either_form_whatever_the_weekday(web: Any, dates: str, wrong_weekdays: bool) -> None:
    """C-16: RFC 1123 and ISO 8601, and weekdays that are wrong."""
    web.configure(dates=dates, wrong_weekdays=wrong_weekdays)
    web.schedule("Reboot", ["web_0"], notice=840)
    (event,) = events_of(web, "web_0")
    assert (event["seconds_to_not_before"], event["not_before"][-1]) == (840, "Z")


@pytest.mark.parametrize("blank", ["empty", "null", "missing"])
def test_a_started_event_has_no_not_before(web: Any, blank: str) -> None:
    """C-16: empty, null or missing, it means the same."""
    web.configure(blank_not_before=blank)
    event = web.schedule("Reboot", ["web_0"])
    web.start(event.event_id)
    (shown,) = events_of(web, "web_0")
    assert (shown["event_status"], shown["not_before"], shown["seconds_to_not_before"]) == ("Started", None, None)


@pytest.mark.parametrize(("announced", "meant"), [(0, 0), (9, 9), (-1, None)])
def test_a_duration_of_minus_one_is_unknown_and_one_of_zero_is_none(web: Any, announced: int, meant: Any) -> None:
    """C-17: an unknown duration is within no limit."""
    event = web.schedule("Freeze", ["web_0"], duration=announced)
    assert [shown["duration_seconds"] for shown in events_of(web, "web_0")] == [meant]
    assert ids_of(web, "web_0", max_duration="10s") == ([] if meant is None else [event.event_id])
    assert ids_of(web, "web_0", min_duration="0s") == ([] if meant is None else [event.event_id])


@pytest.mark.parametrize("lower_case_ids", [True, False])
def test_ids_and_names_are_compared_without_case(web: Any, lower_case_ids: bool) -> None:
    """C-18: upper case in real documents, lower case in the documentation."""
    web.configure(lower_case_ids=lower_case_ids)
    event = web.schedule("Reboot", ["WEB_0"], runs_for=30)
    asked = event.event_id if lower_case_ids else event.event_id.lower()
    (shown,) = events_of(web, "web_0", event_ids=[asked], resources=["wEb_0"], vm_name="web_0")
    assert (shown["event_id"] == asked, shown["affects_this_vm"]) == (False, True)
    assert words_of(approve(web, "web_0", [asked], ready=["Web_0"])) == ["approved"]
    assert states_of(wait(web, "web_0", [asked])) == ["gone"]


@pytest.mark.parametrize(
    ("event_type", "notice", "action", "late", "seconds"),
    [
        ("Reboot", 15 * 60, "prepare_and_approve", False, 300),
        ("Reboot", 5 * 60, "prepare", True, 270),
        ("Redeploy", 7 * 86400, "prepare_and_approve", False, 300),
        ("Preempt", 8, "refuse", True, None),
    ],
)
def test_a_notice_shorter_than_promised_is_used_for_what_it_is_worth(
    web: Any, event_type: str, notice: int, action: str, late: bool, seconds: Any
) -> None:
    """C-19: 5 minutes were seen where 15 are promised, and under 10 seconds for a Preempt."""
    web.schedule(event_type, ["web_0"], notice=notice)
    (event,) = service_of(web, "web_0").read().document.events
    decision = decide(event, policy=default_policy(), facts=FACTS, now=web.now(), settings=Settings())
    assert (decision.effective_action, decision.late, decision.prepare_within) == (action, late, seconds)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_is_compared_whole_in_every_version(simulator: Any, version: str) -> None:
    """C-20: vm_1 is not vm_10, also where each has an underscore in front."""
    simulator.add_scope("pool", kind="scale_set", vms=["vm_1", "vm_10", "_vm_1"])
    for name in ("vm_1", "vm_10", "_vm_1"):
        event = simulator.schedule("Reboot", [name])
        assert ids_of(simulator, name, this_vm_only=True, api_version=version) == [event.event_id]
        assert ids_of(simulator, "vm_1", resources=[name.upper()], api_version=version) == [event.event_id]


def test_a_host_name_is_no_vm_name(simulator: Any) -> None:
    """C-20, C-28: a scale set's instances have host names of their own."""
    simulator.add_scope("pool", kind="scale_set", vms=["pool_3"])
    event = simulator.schedule("Reboot", ["pool_3"])
    result = ask(simulator, "pool_3", gather_vm=True)
    assert (result["vm"]["name"], result["vm"]["computer_name"]) == ("pool_3", "pool000003")
    assert [shown["affects_this_vm"] for shown in result["events"]] == [True]
    assert ids_of(simulator, "pool_3", resources=["pool000003"]) == []
    assert ids_of(simulator, "pool_3", this_vm_only=True) == [event.event_id]


def test_a_neighbour_sees_the_event_and_knows_that_it_is_not_hit(web: Any) -> None:
    """C-21: every VM of the scope is shown every event of it."""
    event = web.schedule("Reboot", ["web_1"])
    (shown,) = events_of(web, "web_0", vm_name="web_0")
    assert (shown["event_id"], shown["affects_this_vm"]) == (event.event_id, False)
    assert ids_of(web, "web_0", this_vm_only=True) == []


def test_a_witness_approves_for_the_vms_of_its_scope(web: Any) -> None:
    """C-21, C-23: any VM of the scope may post, once all the VMs of the event are ready."""
    event = web.schedule("Reboot", ["web_1"])
    assert words_of(approve(web, "web_0", [event.event_id], ready=["web_1"])) == ["approved"]
    assert [record.vm for record in web.posts()] == ["web_0"]


def test_a_vm_that_is_not_told_of_its_neighbours_posts_nothing_for_them(simulator: Any) -> None:
    """C-21: a GPU scale set with one fault domain."""
    simulator.add_scope("gpu", kind="scale_set", vms=["gpu_0", "gpu_1"], gpu_single_fault_domain=True)
    event = simulator.schedule("Reboot", ["gpu_1"])
    assert (ids_of(simulator, "gpu_0"), ids_of(simulator, "gpu_1")) == ([], [event.event_id])
    missing = approve(simulator, "gpu_0", [event.event_id], ready=["gpu_1"], missing_allowed=False)
    assert (words_of(missing), missing.missing, simulator.posts()) == (["gone"], [event.event_id], [])
    assert "is not in the document" in str(missing.failure)


def test_hosts_of_a_scope_may_be_answered_differently(web: Any) -> None:
    """C-21: a late answer to one of them does not make the event gone there."""
    event = web.schedule("Reboot", ["web_0", "web_1"], notice=60, runs_for=60)
    web.advance(1)
    web.fault("late", vm="web_1", seconds=10, times=1)
    assert (ids_of(web, "web_0"), ids_of(web, "web_1")) == ([event.event_id], [])
    web.fault("late", vm="web_1", seconds=10, times=1)
    ended = wait(web, "web_1", [event.event_id])
    assert (states_of(ended), ended.events[0]["started_seen"]) == (["gone"], True)


def test_several_events_are_approved_in_one_post(web: Any) -> None:
    """C-22: ids as received, and no incarnation beside them."""
    events = [web.schedule("Reboot", ["web_0"]), web.schedule("Freeze", ["web_0", "web_1"])]
    ids = [event.event_id for event in events]
    assert words_of(approve(web, "web_0", [one.lower() for one in ids], ready=["web_0", "web_1"])) == ["approved", "approved"]
    (post,) = web.posts()
    assert post.json() == {"StartRequests": [{"EventId": ids[0]}, {"EventId": ids[1]}]}
    assert post.headers["Content-Type"] == "application/json"


def test_an_event_is_approved_for_all_its_vms_or_not_at_all(web: Any) -> None:
    """C-23: an approval holds for all Resources and cannot be taken back."""
    alone, shared = web.schedule("Reboot", ["web_0"]), web.schedule("Reboot", ["web_0", "web_1"])
    outcome = approve(web, "web_0", [alone.event_id, shared.event_id], ready=["web_0"])
    assert web.posts() == []
    assert words_of(outcome)[1] == "refused"
    assert str(outcome.failure).startswith("Refused, nothing was posted: event %s (Reboot) also hits web_1" % shared.event_id)


def test_what_somebody_else_has_approved_may_be_approved_again(web: Any) -> None:
    """C-23: 200 for any valid id; the first approval stands."""
    event = web.schedule("Reboot", ["web_0"], start_delay=300)
    for vm in ("web_1", "web_0"):
        assert words_of(approve(web, vm, [event.event_id], ready=["web_0"])) == ["still_scheduled"]
    assert (event.approved_by, len(web.posts())) == ("web_1", 2)


def test_an_id_that_the_service_calls_malformed_does_not_spoil_the_others(web: Any) -> None:
    """C-23: 400 for several ids is tried singly, each time on a fresh document."""
    good, bad = web.schedule("Reboot", ["web_0"]), web.schedule("Freeze", ["web_0"])
    web.fault("status", verb="POST", event_id=bad.event_id, status=400, times=None)
    outcome = approve(web, "web_0", [good.event_id, bad.event_id], ready=["web_0"])
    assert words_of(outcome) == ["approved", "refused"]
    assert posted_ids(web) == [[good.event_id, bad.event_id], [good.event_id], [bad.event_id]]
    assert "the service answered 400 Bad Request" in str(outcome.failure)


def test_an_approval_is_proved_by_started_and_not_by_200(web: Any) -> None:
    """C-24: other tenants of the host may have to agree first."""
    event = web.schedule("Reboot", ["web_0"], notice=900, start_delay=120)
    posted = approve(web, "web_0", [event.event_id], ready=["web_0"])
    assert (words_of(posted), posted.posted, posted.failure) == (["still_scheduled"], True, None)
    began = web.now()
    seen = approve(web, "web_0", [event.event_id], ready=["web_0"], start_timeout=300.0)
    assert (words_of(seen), seen.failure) == (["approved"], None)
    assert web.now() - began >= 120


def test_an_approval_that_does_not_start_in_time_is_a_failure_in_words(web: Any) -> None:
    """C-24, C-26: and Azure starts it anyway."""
    event = web.schedule("Reboot", ["web_0"], notice=900, start_delay=600)
    outcome = approve(web, "web_0", [event.event_id], ready=["web_0"], start_timeout=60.0)
    assert words_of(outcome) == ["still_scheduled"]
    assert "is approved but has not started within 1 min; others on the same Azure host may have to agree." in str(outcome.failure)
    assert "Azure starts it anyway at" in str(outcome.failure)


def test_a_terminate_waits_for_the_others_and_is_not_called_approved_before(simulator: Any) -> None:
    """C-24: until every pending delete of the scale set is approved."""
    simulator.add_scope("pool", kind="scale_set", vms=["pool_0", "pool_1"])
    first, second = (simulator.schedule("Terminate", [name]) for name in ("pool_0", "pool_1"))
    alone = approve(simulator, "pool_0", [first.event_id], ready=["pool_0"], types_allowed=["Terminate"])
    assert words_of(alone) == ["still_scheduled"]
    both = approve(simulator, "pool_1", [second.event_id], ready=["pool_1"], types_allowed=["Terminate"])
    assert words_of(both) == ["approved"]
    assert words_of(approve(simulator, "pool_0", [first.event_id], ready=["pool_0"])) == ["already_started"]


def test_a_post_whose_answer_is_lost_is_resolved_by_reading(web: Any) -> None:
    """C-24: it acted, the document says so, and it is not posted a second time."""
    event = web.schedule("Reboot", ["web_0"])
    web.fault("lost_answer", verb="POST", times=1)
    outcome = approve(web, "web_0", [event.event_id], ready=["web_0"])
    assert (words_of(outcome), outcome.failure, len(web.posts())) == (["approved"], None, 1)


def test_started_finished_and_unknown_ids_are_left_out_of_the_post(web: Any) -> None:
    """C-25: the service would answer 200 and change nothing, which proves nothing."""
    started, finished, due = (web.schedule("Reboot", ["web_0"]) for _time in range(3))
    web.start(started.event_id)
    web.cancel(finished.event_id)
    unknown = "00000000-0000-0000-0000-000000000000"
    ids = [started.event_id, finished.event_id, unknown, due.event_id]
    outcome = approve(web, "web_0", ids, ready=["web_0"])
    assert words_of(outcome) == ["already_started", "gone", "gone", "approved"]
    assert posted_ids(web) == [[due.event_id]]


def test_what_is_never_approved_starts_by_itself_and_is_followed(web: Any) -> None:
    """C-26: at NotBefore or within a minute or two after it."""
    event = web.schedule("Reboot", ["web_0"], notice=60, runs_for=30, late=120)
    began = web.now()
    ended = wait(web, "web_0", [event.event_id], until=UNTIL_STARTED)
    assert (states_of(ended), ended.failure) == (["started"], None)
    assert web.now() - began >= 180
    assert states_of(wait(web, "web_0", [event.event_id])) == ["gone"]


def test_a_started_event_is_not_over_before_it_is_gone(web: Any) -> None:
    """C-27: a Freeze stays Started for minutes, and further short interruptions may come."""
    event = web.schedule("Freeze", ["web_0"], notice=30, duration=5, runs_for=240)
    began = web.now()
    ended = wait(web, "web_0", [event.event_id])
    assert (states_of(ended), ended.events[0]["started_seen"]) == (["gone"], True)
    # Notice, run, and ten seconds that make sure.
    assert web.now() - began >= 30 + 240 + 10
    assert not [record for record in web.requests() if record.verb == "POST"]


def test_a_vm_is_who_the_service_says_and_what_does_not_apply_is_unknown(simulator: Any) -> None:
    """C-28: compute holds strings, empty where they do not apply."""
    simulator.add_scope("pool", kind="scale_set", vms=[{"name": "pool_2", "zone": "2", "resource_group": "shop"}])
    simulator.add_vm("lonely")
    vm = ask(simulator, "pool_2", gather_vm=True)["vm"]
    assert (vm["name"], vm["scale_set"], vm["zone"], vm["resource_group"], vm["location"]) == ("pool_2", "pool", "2", "shop", "westeurope")
    assert len(vm["placement_group_id"]) == 36
    assert vm["resource_id"].endswith("/virtualMachineScaleSets/pool/virtualMachines/2")
    alone = ask(simulator, "lonely", gather_vm=True)["vm"]
    assert (alone["name"], alone["scale_set"], alone["zone"], alone["placement_group_id"]) == ("lonely", None, None, None)
    identity = simulator.requests(path="instance")[0]
    assert (identity.path, identity.query, identity.headers["Metadata"]) == ("/metadata/instance", {"api-version": "2021-02-01"}, "true")


def test_a_vm_too_young_to_be_known_is_waited_for(simulator: Any) -> None:
    """C-28: right after creation the service may answer 404, or lack a part."""
    simulator.add_scope("pool", kind="scale_set")
    simulator.add_vm("pool_0", scope="pool", missing_for=20.0, incomplete_for=120.0)
    vm = ask(simulator, "pool_0", gather_vm=True)["vm"]
    assert (vm["name"], vm["vm_id"], vm["scale_set"]) == ("pool_0", None, None)
    assert [record.status for record in simulator.requests(path="instance")].count(404) >= 3


@pytest.mark.parametrize("body", [{}, {"compute": {}}, {"compute": {"name": ""}}, {"compute": {"name": 7}}, {"compute": "web_0"}])
def test_an_answer_without_a_name_is_an_error_and_not_another_vm(web: Any, body: Any) -> None:
    """C-28: nobody is taken for a VM without a name."""
    web.fault("html", path="instance", times=1, body=body)
    with pytest.raises(IdentityError, match="the answer does not say the VM's name"):
        ask(web, "web_0", this_vm_only=True)


def test_the_name_is_asked_for_only_when_it_is_needed(web: Any) -> None:
    """C-8, C-28: one request less for everybody who does not ask for this VM."""
    ask(web, "web_0")
    ask(web, "web_0", this_vm_only=True, vm_name="web_0")
    assert web.requests(path="instance") == []
