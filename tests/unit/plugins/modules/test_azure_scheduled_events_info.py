# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What azure_scheduled_events_info gives, and what it asks for."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import FIRST, Result, Stage

KEYS = {"EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"}


def _ids(result: Result) -> List[str]:
    assert not result.failed, result.message
    return [event["event_id"] for event in result["events"]]


@pytest.fixture
def busy(stage: Stage) -> Stage:
    """A scope in which much is going on."""
    simulator = stage.simulator
    simulator.schedule("Freeze", ["web_0"], event_id="FREEZE", notice=900, duration=5)
    simulator.schedule("Reboot", ["web_0", "web_1"], event_id="REBOOT", notice=1800, duration=540)
    simulator.schedule("Redeploy", ["web_2"], event_id="REDEPLOY", notice=604800, duration=-1)
    simulator.schedule("Reboot", ["WEB_0"], event_id="by-user", notice=840, source="User", duration=0)
    simulator.schedule("GuestUpdate", ["web_1"], event_id="NEW", notice=3600, extra={"EventSource": "Robot", "EventStatus": "Postponed"})
    simulator.fail_hardware("web_2", event_id="FAILURE", runs_for=None)
    return stage


ALL = ["FREEZE", "REBOOT", "REDEPLOY", "by-user", "NEW", "FAILURE"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ALL),
        ({"event_ids": ["freeze", "BY-USER", "nobody"]}, ["FREEZE", "by-user"]),
        ({"event_ids": []}, []),
        ({"event_ids": ["FREEZ"]}, []),
        ({"event_types": ["Reboot"]}, ["REBOOT", "by-user"]),
        ({"event_types": ["Redeploy", "unknown"]}, ["REDEPLOY", "NEW", "FAILURE"]),
        ({"event_types": []}, []),
        ({"event_statuses": ["Started"]}, ["FAILURE"]),
        ({"event_statuses": ["Scheduled"]}, ["FREEZE", "REBOOT", "REDEPLOY", "by-user"]),
        ({"event_statuses": ["unknown"]}, ["NEW"]),
        ({"event_sources": ["User"]}, ["by-user"]),
        ({"event_sources": ["Platform"]}, ["FREEZE", "REBOOT", "REDEPLOY", "FAILURE"]),
        ({"event_sources": ["unknown"]}, ["NEW"]),
        ({"resources": ["Web_1"]}, ["REBOOT", "NEW"]),
        ({"resources": ["web_1", "web_2"]}, ["REBOOT", "REDEPLOY", "NEW", "FAILURE"]),
        ({"resources": ["web"]}, []),
        ({"resources": []}, []),
        ({"this_vm_only": True}, ["FREEZE", "REBOOT", "by-user"]),
        ({"this_vm_only": True, "vm_name": "WEB_2"}, ["REDEPLOY", "FAILURE"]),
        ({"starts_within": "15m"}, ["FREEZE", "by-user", "FAILURE"]),
        ({"starts_within": "899"}, ["by-user", "FAILURE"]),
        ({"starts_within": 0}, ["FAILURE"]),
        ({"starts_within": "7d"}, ALL),
        ({"min_duration": "5s"}, ["FREEZE", "REBOOT"]),
        ({"min_duration": "0"}, ["FREEZE", "REBOOT", "by-user"]),
        ({"max_duration": "5"}, ["FREEZE", "by-user"]),
        ({"min_duration": "6s", "max_duration": "9m"}, ["REBOOT"]),
        ({"min_duration": "9m", "max_duration": "540s"}, ["REBOOT"]),
        ({"event_types": ["Reboot"], "this_vm_only": True, "max_duration": "1m"}, ["by-user"]),
        ({"event_types": "Freeze,Reboot", "resources": "web_0"}, ["FREEZE", "REBOOT", "by-user"]),
    ],
)
def test_a_filter_lets_through_what_it_says(busy: Stage, options: Dict[str, Any], expected: List[str]) -> None:
    result = busy.info(**options)
    assert _ids(result) == expected
    assert [entry["EventId"] for entry in result["document"]["Events"]] == ALL


def test_an_event_has_the_same_form_everywhere(stage: Stage) -> None:
    stage.reboot("web_0", "web_1", description="Host server is undergoing maintenance.", duration=9)
    result = stage.info()
    assert result.values["events"] == [
        {
            "event_id": FIRST,
            "event_type": "Reboot",
            "event_status": "Scheduled",
            "event_source": "Platform",
            "resource_type": "VirtualMachine",
            "resources": ["web_0", "web_1"],
            "not_before": "2026-11-18T10:00:00Z",
            "seconds_to_not_before": 840,
            "description": "Host server is undergoing maintenance.",
            "duration_seconds": 9,
            "affects_this_vm": None,
        }
    ]
    assert result["document_incarnation"] == 2
    assert result["queried_at"] == "2026-11-18T09:46:00Z"
    assert result["vm"] is None
    assert not result.changed
    assert "query_result" not in result.values


def test_once_started_there_is_no_time_to_wait_for(stage: Stage) -> None:
    """C-16: NotBefore is blank then."""
    stage.reboot("web_0")
    stage.simulator.start(FIRST)
    event = stage.info()["events"][0]
    assert (event["event_status"], event["not_before"], event["seconds_to_not_before"]) == ("Started", None, None)


def test_a_not_before_that_has_passed_counts_below_zero(stage: Stage) -> None:
    """C-26: the start may come a minute or two later."""
    stage.reboot("web_0", stuck=True)
    stage.hands.advance(900)
    assert stage.info()["events"][0]["seconds_to_not_before"] == -60


def test_an_unknown_duration_is_null(stage: Stage) -> None:
    """C-17"""
    stage.reboot("web_0", duration=-1)
    assert stage.info()["events"][0]["duration_seconds"] is None


def test_no_event_is_a_good_answer(stage: Stage) -> None:
    result = stage.info()
    assert not result.failed
    assert result["events"] == []
    assert result["document"] == {"DocumentIncarnation": 1, "Events": []}


def test_the_neighbours_of_the_scope_are_seen_and_told_apart(stage: Stage) -> None:
    """C-21"""
    stage.reboot("web_1")
    assert [event["affects_this_vm"] for event in stage.info(gather_vm=True)["events"]] == [False]
    stage.on("web_1")
    assert [event["affects_this_vm"] for event in stage.info(gather_vm=True)["events"]] == [True]
    stage.on("lonely")
    assert stage.info()["events"] == []


def test_the_name_of_the_host_is_not_the_name_of_the_vm(stage: Stage) -> None:
    """C-20"""
    stage.reboot("web_0")
    vm = stage.info(gather_vm=True)["vm"]
    assert vm["computer_name"] != vm["name"] == "web_0"
    assert stage.info(this_vm_only=True, vm_name=vm["computer_name"])["events"] == []


def test_a_name_within_a_longer_one_does_not_match(stage: Stage) -> None:
    """C-20: vm_1 is not vm_10."""
    stage.simulator.add_scope("app", kind="availability_set", vms=["vm_1", "vm_10"])
    stage.on("vm_1").reboot("vm_10")
    assert stage.info(this_vm_only=True)["events"] == []
    assert stage.info(resources=["vm_1"])["events"] == []


@pytest.mark.parametrize(
    ("options", "instance_requests"),
    [
        ({}, 0),
        ({"resources": ["web_0"], "event_types": ["Reboot"], "query": "events"}, 0),
        ({"vm_name": "web_0"}, 0),
        ({"this_vm_only": True, "vm_name": "web_0"}, 0),
        ({"this_vm_only": True}, 1),
        ({"gather_vm": True}, 1),
        ({"gather_vm": True, "this_vm_only": True}, 1),
        ({"gather_vm": True, "this_vm_only": True, "vm_name": "web_0"}, 1),
    ],
)
def test_the_identity_is_asked_for_only_when_it_is_needed(stage: Stage, options: Dict[str, Any], instance_requests: int) -> None:
    stage.reboot("web_0")
    assert _ids(stage.info(**options)) == [FIRST]
    assert stage.requests(path="instance") == ["GET"] * instance_requests
    assert stage.requests(path="events") == ["GET"]


def test_gather_vm_tells_who_this_vm_is(stage: Stage) -> None:
    """C-28: what does not apply is an empty string there, and null here."""
    vm = stage.info(gather_vm=True)["vm"]
    assert vm["name"] == "web_0"
    assert vm["resource_id"].endswith("/resourceGroups/%s/providers/Microsoft.Compute/virtualMachines/web_0" % vm["resource_group"])
    assert vm["scale_set"] is None
    assert vm["zone"] is None
    assert all(value is None or value for value in vm.values())


def test_an_identity_that_is_not_complete_yet_is_enough(stage: Stage) -> None:
    """C-28: right after creation only some of it is known."""
    stage.simulator.fault("incomplete", path="instance")
    assert stage.info(gather_vm=True)["vm"]["name"] == "web_0"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("events[].event_id", [FIRST]),
        ("length(events)", 1),
        ("events[?event_type=='Freeze']", []),
        ("document_incarnation", 2),
        ("vm.name", None),
        ("document.Events[0].EventStatus", "Scheduled"),
        ("changed", None),
    ],
)
def test_a_query_looks_at_the_whole_result(stage: Stage, query: str, found: Any) -> None:
    stage.reboot("web_0")
    result = stage.info(query=query)
    assert result["query_result"] == found
    assert _ids(result) == [FIRST]


@pytest.mark.parametrize(
    ("version", "keys", "source", "duration"),
    [
        ("2017-03-01", KEYS, None, None),
        ("2017-08-01", KEYS, None, None),
        ("2017-11-01", KEYS, None, None),
        ("2019-01-01", KEYS, None, None),
        ("2019-04-01", KEYS | {"Description"}, None, None),
        ("2019-08-01", KEYS | {"Description", "EventSource"}, "Platform", None),
        ("2020-07-01", KEYS | {"Description", "EventSource", "DurationInSeconds"}, "Platform", 9),
    ],
)
def test_each_version_gives_what_it_has_and_null_for_the_rest(stage: Stage, version: str, keys: Any, source: Any, duration: Any) -> None:
    """C-13, and C-20: the underscore of 2017-03-01 stays in the document alone."""
    stage.reboot("web_0", "web_1", duration=9, description="what Azure says")
    result = stage.info(api_version=version, this_vm_only=True)
    entry, event = result["document"]["Events"][0], result["events"][0]
    mark = "_" if version == "2017-03-01" else ""
    assert set(entry) == keys
    assert entry["Resources"] == [mark + "web_0", mark + "web_1"]
    assert event["resources"] == ["web_0", "web_1"]
    assert (event["event_source"], event["duration_seconds"]) == (source, duration)
    assert event["description"] == ("what Azure says" if "Description" in keys else "")
    assert event["affects_this_vm"] is True
    assert stage.simulator.requests(path="events")[0].query == {"api-version": version}


def test_what_azure_adds_later_passes_through_unharmed(stage: Stage) -> None:
    """C-14"""
    stage.schedule("GuestUpdate", "web_0", extra={"EventStatus": "Postponed", "Colour": {"nested": [1]}})
    result = stage.info()
    assert (result["events"][0]["event_type"], result["events"][0]["event_status"]) == ("GuestUpdate", "Postponed")
    assert result["document"]["Events"][0]["Colour"] == {"nested": [1]}


def test_check_mode_gives_the_same_answer(busy: Stage) -> None:
    assert busy.info(this_vm_only=True, check=True).values == busy.info(this_vm_only=True).values


def test_asking_never_changes_anything(busy: Stage) -> None:
    assert not busy.info(gather_vm=True, query="events").changed
    assert set(busy.requests()) == {"GET"}


def test_proxies_and_forwarding_stay_out(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-2, C-3, C-4: a proxy of the environment is not for a link-local address."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert not stage.info().failed
    headers = stage.simulator.requests()[0].headers
    assert headers["metadata"] == "true"
    assert "x-forwarded-for" not in headers


def test_a_redirect_is_not_followed(stage: Stage) -> None:
    """C-4"""
    stage.simulator.fault("redirect", location=stage.simulator.endpoint("lonely") + "/metadata/scheduledevents?api-version=2020-07-01")
    assert stage.info().failed
    assert len(stage.requests()) == 1


@pytest.mark.parametrize("fault", ["reset", "close", "truncate", 404, 408, 410, 429, 500, 503, 504])
def test_what_may_pass_is_asked_again(stage: Stage, fault: Any) -> None:
    """C-10"""
    stage.reboot("web_0")
    kind: Tuple[str, Dict[str, Any]] = ("status", {"status": fault}) if isinstance(fault, int) else (fault, {})
    stage.simulator.fault(kind[0], times=3, **kind[1])
    assert _ids(stage.info(retry_for="90s")) == [FIRST]
    assert len(stage.requests()) == 4
    assert [0.5 <= pause <= 4 for pause in stage.hands.slept] == [True] * 3


@pytest.mark.parametrize("status", [302, 304, 400, 401, 403, 405])
def test_what_cannot_pass_is_not_asked_again(stage: Stage, status: int) -> None:
    """C-10, C-11"""
    stage.simulator.fault("status", status=status, times=None)
    assert stage.info(retry_for="90s").failed
    assert len(stage.requests()) == 1
    assert stage.hands.slept == []


@pytest.mark.parametrize("asked_for", ["7", "Wed, 18 Nov 2026 09:46:07 GMT"])
def test_the_pause_that_the_service_asks_for_is_kept(stage: Stage, asked_for: str) -> None:
    """C-10: Retry-After, as seconds or as a date."""
    stage.simulator.fault("status", status=429, headers={"Retry-After": asked_for})
    assert not stage.info(retry_for="90s").failed
    assert stage.hands.slept == [7.0]


def test_an_incarnation_that_starts_anew_is_no_reason_to_stop(stage: Stage) -> None:
    """C-12"""
    stage.reboot("web_0")
    stage.simulator.set_incarnation("web_0", 900)
    assert stage.info()["document_incarnation"] == 900
    stage.simulator.switch_off("web_0")
    result = stage.info()
    assert result["document_incarnation"] == 1
    assert _ids(result) == [FIRST]


def test_a_path_in_the_endpoint_is_kept(stage: Stage) -> None:
    """C-1: the base URL is a setting; a slash at its end is not doubled."""
    assert not stage.info(endpoint=stage.endpoint + "/").failed
    assert [record.path for record in stage.simulator.requests()] == ["/metadata/scheduledevents"]
