# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What others were seen to get wrong, one test for each mistake that can be made in reading, approving, waiting and deciding."""

from __future__ import annotations

import time
from typing import Any

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import connection_arguments, connection_of
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import (
    Decision,
    Facts,
    Settings,
    approval_obstacles,
    check_policy,
    controller_clock_error,
    decide,
    due_now,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError, DocumentError, StatusError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import default_policy, parse_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._wait import UNTIL_GONE, Wait
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.simulated import (
    approval_of,
    approve,
    ask,
    events_of,
    ids_of,
    service_of,
    states_of,
    wait,
    words_of,
)

DAY = 86400.0
FACTS = Facts(clock_error=controller_clock_error(None))
SETTINGS = Settings()


@pytest.fixture
def web(simulator: Any) -> Any:
    """Two VMs of an availability set, and one whose name only begins like the first."""
    simulator.add_scope("web", kind="availability_set", vms=["web_1", "web_2", "web_10"])
    return simulator


def seen(simulator: Any, vm: str, event_id: str) -> Event:
    event = service_of(simulator, vm).read().document.find(event_id)
    assert event is not None
    return event


def decision_on(simulator: Any, vm: str, event_id: str) -> Decision:
    return decide(seen(simulator, vm, event_id), policy=default_policy(), facts=FACTS, now=simulator.now(), settings=SETTINGS)


def test_mistake_01_substring_match_of_names(web: Any) -> None:
    """C-20: vm_1 is not vm_10."""
    neighbours = web.schedule("Reboot", ["web_10"])
    assert ids_of(web, "web_1", this_vm_only=True) == []
    assert ids_of(web, "web_1", resources=["web_1"]) == []
    assert [event["affects_this_vm"] for event in events_of(web, "web_1", vm_name="web_1")] == [False]
    outcome = approve(web, "web_1", [neighbours.event_id], ready=["web_1", "web_", "web_100"])
    assert (words_of(outcome), web.posts()) == (["refused"], [])
    assert "hits web_10, not known to be ready" in str(outcome.failure)
    assert ids_of(web, "web_10", this_vm_only=True) == [neighbours.event_id]


def test_mistake_02_host_name_instead_of_vm_name(web: Any) -> None:
    """C-20, C-28: Resources names the VM as compute.name does; the host name is another one."""
    event = web.schedule("Reboot", ["web_1"])
    vm = ask(web, "web_1", gather_vm=True)["vm"]
    assert (vm["name"], vm["computer_name"]) == ("web_1", "host-web-1")
    assert ids_of(web, "web_1", this_vm_only=True) == [event.event_id]
    assert words_of(approve(web, "web_1", [event.event_id], ready=[vm["computer_name"]])) == ["refused"]
    assert words_of(approve(web, "web_1", [event.event_id], ready=[vm["name"]])) == ["approved"]


def test_mistake_03_post_without_the_header(web: Any) -> None:
    """C-2: the header is asked for on GET and POST alike, and so it is sent."""
    event = web.schedule("Reboot", ["web_1"])
    assert words_of(approve(web, "web_1", [event.event_id], ready=["web_1"])) == ["approved"]
    assert {record.verb for record in web.requests()} == {"GET", "POST"}
    assert [record.headers["Metadata"] for record in web.requests()] == ["true"] * len(web.requests())
    assert {record.status for record in web.requests()} == {200}


def test_mistake_04_case_sensitive_names_and_ids(web: Any) -> None:
    """C-18: upper case in real documents, lower case in the documentation, names in any."""
    event = web.schedule("Reboot", ["WEB_1"], runs_for=30)
    given = event.event_id.swapcase()
    assert given != event.event_id
    assert ids_of(web, "web_1", event_ids=[given], resources=["Web_1"]) == [event.event_id]
    assert ids_of(web, "web_1", this_vm_only=True) == [event.event_id]
    assert words_of(approve(web, "web_1", [given], ready=["wEB_1"])) == ["approved"]
    assert states_of(wait(web, "web_1", [given])) == ["gone"]


def test_mistake_05_approving_an_event_that_hits_a_neighbour(web: Any) -> None:
    """C-21, C-23: each VM of a scope may approve, for all the VMs that the event names."""
    neighbours = web.schedule("Reboot", ["web_2"])
    shared = web.schedule("Redeploy", ["web_1", "web_2"])
    outcome = approve(web, "web_1", [neighbours.event_id, shared.event_id], ready=["web_1"])
    assert words_of(outcome) == ["refused", "refused"]
    assert str(outcome.failure).count("hits web_2, not known to be ready") == 2
    assert web.posts() == []
    assert words_of(approve(web, "web_1", [shared.event_id], ready=["web_1", "web_2"])) == ["approved"]


def test_mistake_06_draining_at_once_for_an_event_that_is_seven_days_away(web: Any) -> None:
    """C-19: degraded hardware is announced up to seven days ahead; the work waits for the last safe start."""
    event = web.schedule("Redeploy", ["web_1"], notice=7 * DAY)
    now = web.now()
    decision = decision_on(web, "web_1", event.event_id)
    assert decision.effective_action == "prepare_and_approve"
    # NotBefore less 5 min to prepare, 60 s to approve and 30 s for the clocks.
    assert decision.start_at == now + 7 * DAY - 390
    assert not due_now(decision, now=now)
    assert not due_now(decision, now=now + 6 * DAY)
    assert due_now(decision, now=now + 7 * DAY - 390)
    assert ids_of(web, "web_1", starts_within="1h") == []


def test_mistake_07_approving_although_the_preparation_failed(web: Any) -> None:
    """C-23: who is not ready is not vouched for, and then nothing is posted for anybody."""
    event = web.schedule("Reboot", ["web_1", "web_2"])
    ready = ["web_1"]  # the drain of web_2 failed
    outcome = approve(web, "web_1", [event.event_id], ready=ready)
    assert (words_of(outcome), web.posts()) == (["refused"], [])
    obstacles = approval_obstacles(
        decision_on(web, "web_1", event.event_id),
        seen(web, "web_1", event.event_id),
        now=web.now(),
        document_age=0.0,
        committed=ready,
        clock_difference=0.0,
    )
    assert obstacles == ("not committed: web_2",)


def test_mistake_08_a_dry_run_that_still_approves(web: Any) -> None:
    event = web.schedule("Reboot", ["web_1"])
    outcome = approval_of(web, "web_1", [event.event_id], ready=["web_1"]).rehearse()
    assert (words_of(outcome), outcome.posted, outcome.failure) == (["would_approve"], False, None)
    assert web.posts() == []
    assert event.status == "Scheduled"


def test_mistake_09_an_error_page_read_as_no_events(web: Any) -> None:
    """C-5: a captive proxy answers 200 with HTML; that is an error, and proves nobody gone."""
    event = web.schedule("Reboot", ["web_1"], runs_for=30)
    web.fault("html", times=1)
    with pytest.raises(DocumentError, match="it is not JSON but HTML, as a captive proxy sends it"):
        ask(web, "web_1")
    web.fault("html", times=None)
    ended = wait(web, "web_1", [event.event_id], wait_timeout=60.0)
    assert states_of(ended) == ["absent"]
    assert "was not seen in any answer. The last look failed: GET" in str(ended.failure)


def test_mistake_10_incarnation_compared_by_order(web: Any) -> None:
    """C-12: it starts anew after the feature was off; what counts is the list."""
    first = web.schedule("Reboot", ["web_1"], notice=900, runs_for=30)
    web.set_incarnation("web_1", 500)
    service = service_of(web, "web_1")
    assert service.read().document.incarnation == 500
    web.set_incarnation("web_1", 1)
    second = web.schedule("Freeze", ["web_1"], notice=600, runs_for=30)
    document = service.read().document
    assert document.incarnation < 500
    assert [event.event_id for event in document.events] == [first.event_id, second.event_id]
    assert states_of(wait(web, "web_1", [first.event_id, second.event_id])) == ["gone", "gone"]


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_mistake_11_proxy_used_for_the_link_local_address(web: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """C-4: proxies are bypassed even when the environment sets one."""
    for exception in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(exception, raising=False)
    monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    event = web.schedule("Reboot", ["web_1"])
    assert words_of(approve(web, "web_1", [event.event_id], ready=["web_1"], retry_for="0s")) == ["approved"]


def test_mistake_12_a_failed_post_reported_as_success_and_never_repeated(web: Any) -> None:
    """C-24: what a post did is read from the document, and it is posted again only after every check."""
    event = web.schedule("Reboot", ["web_1"])
    web.fault("status", verb="POST", status=500, times=1)
    repeated = approve(web, "web_1", [event.event_id], ready=["web_1"])
    assert (words_of(repeated), repeated.failure) == (["approved"], None)
    verbs = [record.verb for record in web.requests(path="events")]
    assert verbs == ["GET", "POST", "GET", "POST", "GET"]

    other = web.schedule("Reboot", ["web_2"])
    web.fault("status", verb="POST", status=500, times=None)
    failed = approve(web, "web_2", [other.event_id], ready=["web_2"])
    assert words_of(failed) == ["still_scheduled"]
    assert "was posted without a clear answer and is still Scheduled" in str(failed.failure)


def test_mistake_12_a_post_refused_for_good_is_a_failure_at_once(web: Any) -> None:
    """C-10: 403 is a policy, and asking again cannot help."""
    event = web.schedule("Reboot", ["web_1"])
    web.fault("status", verb="POST", status=403, times=None)
    outcome = approve(web, "web_1", [event.event_id], ready=["web_1"])
    assert (words_of(outcome), outcome.posted, len(web.posts())) == (["refused"], False, 1)
    assert "the service answered 403 Forbidden" in str(outcome.failure)


def test_mistake_15_freeze_treated_like_a_reboot(web: Any) -> None:
    """C-14: a Freeze keeps memory and connections. A short one is left alone, a long one is not; a Reboot never is."""
    short = web.schedule("Freeze", ["web_1"], duration=5)
    long = web.schedule("Freeze", ["web_1"], duration=60)
    unknown = web.schedule("Freeze", ["web_1"], duration=-1)
    reboot = web.schedule("Reboot", ["web_1"], duration=5)
    actions = [decision_on(web, "web_1", event.event_id).effective_action for event in (short, long, unknown, reboot)]
    assert actions == ["ignore", "prepare_and_approve", "prepare_and_approve", "prepare_and_approve"]
    assert decision_on(web, "web_1", short.event_id).start_at is None


@pytest.mark.parametrize("blank", ["empty", "null", "missing"])
def test_mistake_16_a_blank_not_before_crashing_the_parser(web: Any, blank: str) -> None:
    """C-16: once started there is no NotBefore, in three spellings."""
    web.configure(blank_not_before=blank)
    event = web.fail_hardware("web_1", runs_for=30)
    (shown,) = events_of(web, "web_1")
    assert (shown["event_status"], shown["not_before"], shown["seconds_to_not_before"]) == ("Started", None, None)
    assert ids_of(web, "web_1", starts_within="1m") == [event.event_id]
    assert decision_on(web, "web_1", event.event_id).effective_action == "watch"
    assert words_of(approve(web, "web_1", [event.event_id], ready=["web_1"])) == ["already_started"]
    assert web.posts() == []
    assert states_of(wait(web, "web_1", [event.event_id])) == ["gone"]


def test_mistake_17_a_vm_that_nobody_manages_is_approved_anyway_or_crashes_the_tool(web: Any) -> None:
    """C-20, C-23: a name in Resources that is not among the hosts of the run is refused by name, unless it is named exactly."""
    event = web.schedule("Reboot", ["web_1", "web_10"])
    managed = ["web_1", "web_2"]
    refused = approve(web, "web_1", [event.event_id], ready=managed)
    assert (words_of(refused), web.posts()) == (["refused"], [])
    assert "also hits web_10, not known to be ready" in str(refused.failure)
    similar = approve(web, "web_1", [event.event_id], ready=managed, unready_allowed=["web_1*", "web_", "web_100"])
    assert (words_of(similar), web.posts()) == (["refused"], [])
    assert words_of(approve(web, "web_1", [event.event_id], ready=managed, unready_allowed=["WEB_10"])) == ["approved"]


def test_mistake_18_a_request_that_outlasts_the_wait_that_it_belongs_to(web: Any) -> None:
    """The time-out of one request and the budget for all of them give way to the deadline of the task."""
    event = web.schedule("Reboot", ["web_1"])
    web.fault("hang", times=None)
    service = service_of(web, "web_1", clock=Clock(), timeout="130s", retry_for="90s")
    began = time.monotonic()
    ended = Wait((event.event_id,), UNTIL_GONE, 0.5, 1.0, False).run(service, Clock())
    # A second is the shortest patience of a request (C-11).
    assert time.monotonic() - began < 5.0
    assert "The last look failed: GET" in str(ended.failure)
    assert len(web.requests()) == 1


def test_mistake_18_defaults_that_give_up_before_the_service_can_answer() -> None:
    """C-7, C-10: the first answer takes up to two minutes, and 410 lasts up to 70 seconds."""
    connection = connection_of({name: argument["default"] for name, argument in connection_arguments().items()})
    assert connection.timeout > 120.0
    assert connection.retry_for > 70.0


def test_mistake_18_an_error_that_outlasts_one_budget_but_not_the_other(web: Any) -> None:
    """C-10: what may pass is borne to the deadline of the wait, however small the budget of one look."""
    event = web.schedule("Reboot", ["web_1"], notice=60, runs_for=30)
    web.fault("status", verb="GET", status=503, times=20)
    with pytest.raises(StatusError):
        service_of(web, "web_1", retry_for="0s").read()
    ended = wait(web, "web_1", [event.event_id], wait_timeout=3600.0, retry_for="0s", absent_allowed=True)
    assert ended.failure is None


def test_mistake_18_a_start_that_leaves_less_time_than_the_work_needs() -> None:
    """A configuration whose times cannot hold is refused before anything is touched."""
    policy = parse_policy([{"name": "late", "action": "prepare_and_approve", "start": {"before": "5m"}}])
    with pytest.raises(ConfigurationError) as caught:
        check_policy(policy, facts=FACTS, settings=SETTINGS)
    assert caught.value.message == "rule late, start: 5 min before NotBefore is too late, 6 min 30 s are needed"
    with pytest.raises(ConfigurationError, match="min_duration"):
        parse_policy([{"name": "none", "action": "ignore", "min_duration": "2m", "max_duration": "1m"}])
