# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the contract says about the document: C-12 to C-21."""

from __future__ import annotations

import locale
from email.utils import parsedate_to_datetime
from typing import Any, Iterator, Set

import pytest
from imds_simulator import InvalidError

MINUTE = 60
BASE = {"EventId", "EventStatus", "EventType", "NotBefore", "ResourceType", "Resources"}
KEYS = {
    "2017-03-01": BASE,
    "2017-08-01": BASE,
    "2017-11-01": BASE,
    "2019-01-01": BASE,
    "2019-04-01": BASE | {"Description"},
    "2019-08-01": BASE | {"Description", "EventSource"},
    "2020-07-01": BASE | {"Description", "EventSource", "DurationInSeconds"},
}
# 2016-09-19 18:29:47, a Monday: the contract's own example.
EXAMPLE = 1474309787.0


def test_a_document_is_an_incarnation_and_a_list(ask: Any) -> None:
    """C-12: and nothing else."""
    assert ask.get("web_0").json() == {"DocumentIncarnation": 1, "Events": []}


def test_the_incarnation_changes_whenever_the_list_does(sim: Any, ask: Any) -> None:
    """C-12: with every step of an event's life, and only then."""
    seen = [ask.incarnation("web_0")]
    event = sim.schedule("Reboot", ["web_0"])
    for step in (
        lambda: None,
        lambda: sim.change(event.event_id, not_before=1200),
        lambda: sim.change(event.event_id, resources=["web_1"]),
        lambda: sim.start(event.event_id),
        lambda: sim.complete(event.event_id),
    ):
        step()
        seen.append(ask.incarnation("web_0"))
        assert ask.incarnation("web_0") == seen[-1]
    assert len(set(seen)) == len(seen)
    assert ask.incarnation("lonely") == 1


def test_the_incarnation_may_skip_numbers_and_may_be_a_text(sim: Any, ask: Any) -> None:
    """C-12: as seen."""
    sim.configure(incarnation_step=5, text_incarnation=True)
    sim.schedule("Reboot", ["web_0"])
    assert ask.incarnation("web_0") == "6"


def test_the_incarnation_can_be_set_back_by_hand(sim: Any, ask: Any) -> None:
    """C-12, C-9: the same number and tag with another list."""
    sim.schedule("Reboot", ["web_0"])
    before = ask.get("web_0")
    sim.schedule("Freeze", ["web_1"])
    sim.set_incarnation("web_0", 2)
    after = ask.get("web_0")
    assert after.headers["ETag"] == before.headers["ETag"]
    assert after.json()["DocumentIncarnation"] == 2
    assert len(after.events()) == 2


@pytest.mark.parametrize("version", sorted(KEYS))
def test_each_version_has_its_keys_and_no_others(sim: Any, ask: Any, version: str) -> None:
    """C-13, C-6: what a version lacks is absent, not null."""
    event = sim.schedule("Reboot", ["web_0"], duration=9, description="planned work")
    (entry,) = ask.get("web_0", version).events()
    assert set(entry) == KEYS[version]
    assert entry["ResourceType"] == "VirtualMachine"
    assert entry["EventId"] == event.event_id
    assert entry.get("Description", "planned work") == "planned work"
    assert entry.get("EventSource", "Platform") == "Platform"
    assert entry.get("DurationInSeconds", 9) == 9


@pytest.mark.parametrize(("event_type", "since"), [("Preempt", "2017-11-01"), ("Terminate", "2019-01-01")])
def test_a_version_does_not_know_the_types_of_later_ones(sim: Any, ask: Any, event_type: str, since: str) -> None:
    """C-6, C-14: they are not listed."""
    sim.schedule(event_type, ["web_0"])
    assert [version for version in KEYS if ask.get("web_0", version).events()] == [version for version in KEYS if version >= since]


@pytest.mark.parametrize("event_type", ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", "GuestImageUpdate"])
def test_every_type_can_be_played_also_one_that_nobody_knows(sim: Any, ask: Any, event_type: str) -> None:
    """C-14"""
    sim.schedule(event_type, ["web_0"])
    assert ask.only("web_0")["EventType"] == event_type


def test_unknown_keys_and_statuses_can_be_played(sim: Any, ask: Any) -> None:
    """C-14: for clients that must let them pass."""
    event = sim.schedule("Reboot", ["web_0"], extra={"Tickets": [7]})
    sim.change(event.event_id, status="Deferred")
    sim.configure(extra_fields=True)
    entry = ask.only("web_0")
    assert (entry["Tickets"], entry["EventStatus"]) == ([7], "Deferred")
    assert "AddedByALaterVersion" in entry


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate"])
def test_a_deleted_vm_can_be_gone_for_good(make_sim: Any, asker: Any, event_type: str) -> None:
    """C-14: its metadata service is not there any more, its neighbour goes on."""
    sim = make_sim(deletes_vms=True)
    sim.add_scope("set", kind="scale_set", vms=["set_0", "set_1"])
    gone = sim.data_url + "/vm/set_0"
    sim.schedule(event_type, ["set_0"], runs_for=30)
    sim.advance(400)
    assert asker(sim).send(None, gone[len(sim.data_url) :] + "/metadata/scheduledevents?api-version=2020-07-01").status == 400
    assert asker(sim).events("set_1") == []


def test_an_event_is_scheduled_then_started_then_gone(sim: Any, ask: Any) -> None:
    """C-15, C-16: a finished event is simply not there any more, and a started one has no NotBefore."""
    sim.schedule("Reboot", ["web_0"], notice=900, runs_for=30)
    assert ask.only("web_0")["NotBefore"] != ""
    sim.advance(900)
    assert (ask.status("web_0"), ask.only("web_0")["NotBefore"]) == ("Started", "")
    sim.advance(29)
    assert ask.status("web_0") == "Started"
    sim.advance(1)
    assert ask.events("web_0") == []


def test_a_cancelled_event_goes_from_scheduled_to_gone(sim: Any, ask: Any) -> None:
    """C-15: and never starts."""
    event = sim.schedule("Reboot", ["web_0"])
    sim.cancel(event.event_id)
    assert ask.events("web_0") == []
    sim.advance(3600)
    assert (event.state, event.outcome, event.started_at) == ("gone", "cancelled", None)


@pytest.mark.parametrize("event_type", ["Redeploy", "Reboot"])
def test_a_hardware_failure_appears_as_started(sim: Any, ask: Any, event_type: str) -> None:
    """C-15: without any notice, with an unknown duration."""
    sim.fail_hardware("web_0", event_type=event_type, runs_for=60)
    entry = ask.only("web_1")
    assert (entry["EventType"], entry["EventStatus"], entry["NotBefore"]) == (event_type, "Started", "")
    assert (entry["EventSource"], entry["DurationInSeconds"], entry["Resources"]) == ("Platform", -1, ["web_0"])
    sim.advance(60)
    assert ask.events("web_1") == []


@pytest.mark.parametrize(("rule", "state"), [("User", "Started"), ("User:Reboot", "Started"), ("User:Redeploy", "Scheduled")])
def test_what_is_approved_by_policy_appears_as_started(make_sim: Any, asker: Any, rule: str, state: str) -> None:
    """C-15: a user's operation, where the scope says so."""
    sim = make_sim()
    sim.add_scope("web", vms=["web_0"], auto_approve=[rule])
    sim.schedule("Reboot", ["web_0"], source="User")
    assert asker(sim).status("web_0") == state
    assert sim.schedule("Reboot", ["web_0"]).state == "Scheduled"


def test_a_reboot_may_come_as_a_freeze(sim: Any, ask: Any) -> None:
    """C-15"""
    event = sim.schedule("Reboot", ["web_0"])
    sim.start(event.event_id)
    sim.change(event.event_id, event_type="Freeze")
    assert (ask.only("web_0")["EventType"], ask.status("web_0")) == ("Freeze", "Started")


def test_an_id_can_be_listed_again_after_it_was_gone(sim: Any, ask: Any) -> None:
    """C-15: open; with relist, or with a new event of the same id."""
    event = sim.schedule("Reboot", ["web_0"], duration=7)
    sim.start(event.event_id)
    sim.advance(30)
    assert ask.events("web_0") == []
    again = sim.relist(event.event_id)
    entry = ask.only("web_0")
    assert (entry["EventId"], entry["EventStatus"], entry["DurationInSeconds"]) == (event.event_id, "Scheduled", 7)
    sim.cancel(again.event_id)
    sim.schedule("Freeze", ["web_0"], event_id=event.event_id.lower())
    assert ask.only("web_0")["EventId"] == event.event_id.lower()


def test_not_before_can_move_and_the_start_moves_with_it(sim: Any, ask: Any) -> None:
    """C-15: open."""
    event = sim.schedule("Reboot", ["web_0"], notice=900)
    sim.change(event.event_id, not_before=60)
    assert parsedate_to_datetime(ask.only("web_0")["NotBefore"]).timestamp() == sim.now() + 60
    sim.advance(60)
    assert ask.status("web_0") == "Started"
    later = sim.schedule("Reboot", ["web_1"], notice=900)
    sim.change(later.event_id, not_before=+1800)
    sim.advance(900)
    assert later.state == "Scheduled"


def test_resources_can_grow_and_shrink(sim: Any, ask: Any) -> None:
    """C-15: open."""
    event = sim.schedule("Reboot", ["web_0"])
    sim.change(event.event_id, resources=["web_0", "web_1"])
    assert ask.only("web_0")["Resources"] == ["web_0", "web_1"]
    sim.change(event.event_id, resources=["web_1"])
    assert ask.only("web_0")["Resources"] == ["web_1"]


@pytest.fixture
def example(make_sim: Any, asker: Any) -> Any:
    """An event at the instant of the contract's own example."""
    sim = make_sim(start=EXAMPLE - 900)
    sim.add_vm("web_0")
    sim.schedule("Reboot", ["web_0"], notice=900)
    return sim, asker(sim)


def test_not_before_is_rfc_1123_in_gmt(example: Any) -> None:
    """C-16"""
    assert example[1].only("web_0")["NotBefore"] == "Mon, 19 Sep 2016 18:29:47 GMT"


def test_not_before_can_be_iso_8601_or_have_a_wrong_weekday(example: Any) -> None:
    """C-16: as seen."""
    sim, ask = example
    sim.configure(wrong_weekdays=True)
    assert ask.only("web_0")["NotBefore"] == "Thu, 19 Sep 2016 18:29:47 GMT"
    sim.configure(dates="iso8601")
    assert ask.only("web_0")["NotBefore"] == "2016-09-19T18:29:47Z"


@pytest.mark.parametrize(("form", "expected"), [("empty", {"NotBefore": ""}), ("null", {"NotBefore": None}), ("missing", {})])
def test_a_blank_not_before_has_three_forms(example: Any, form: str, expected: Any) -> None:
    """C-16"""
    sim, ask = example
    sim.configure(blank_not_before=form)
    sim.advance(900)
    assert {key: value for key, value in ask.only("web_0").items() if key == "NotBefore"} == expected


@pytest.fixture
def another_locale() -> Iterator[None]:
    before = locale.setlocale(locale.LC_TIME)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "ja_JP.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_TIME, name)
            break
        except locale.Error:
            continue
    yield
    locale.setlocale(locale.LC_TIME, before)


@pytest.mark.usefixtures("another_locale")
def test_dates_are_english_under_every_locale(make_sim: Any, asker: Any) -> None:
    """C-16: every day of the week and every month, the same that Python's English-only parser reads."""
    sim = make_sim(start=EXAMPLE)
    sim.add_vm("web_0")
    for _month in range(12):
        sim.advance(31 * 86400)
        event = sim.schedule("Reboot", ["web_0"], notice=60)
        text = asker(sim).only("web_0")["NotBefore"]
        moment = parsedate_to_datetime(text)
        assert moment.timestamp() == sim.now() + 60
        assert text.startswith(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()] + ", ")
        sim.cancel(event.event_id)


@pytest.mark.parametrize("duration", [0, 5, 3600, -1])
def test_a_duration_is_an_announcement_and_no_promise(sim: Any, ask: Any, duration: int) -> None:
    """C-17: 0 is none, -1 unknown; how long it takes is another matter."""
    sim.schedule("Freeze", ["web_0"], duration=duration, notice=0, runs_for=240)
    assert ask.only("web_0")["DurationInSeconds"] == duration
    sim.advance(239)
    assert ask.status("web_0") == "Started"


def test_ids_are_upper_case_and_found_in_any_case(sim: Any, ask: Any) -> None:
    """C-18: and can be shown in lower case, as the documentation does."""
    event = sim.schedule("Reboot", ["web_0"])
    assert ask.only("web_0")["EventId"] == event.event_id.upper()
    sim.configure(lower_case_ids=True)
    assert ask.only("web_0")["EventId"] == event.event_id.lower()
    assert ask.post("web_0", event.event_id.swapcase()).status == 200
    assert ask.status("web_0") == "Started"


def test_names_are_found_in_any_case_and_shown_as_they_were_given(sim: Any, ask: Any) -> None:
    """C-18"""
    sim.schedule("Reboot", ["WEB_0", "Web_1"])
    assert ask.only("web_0")["Resources"] == ["WEB_0", "Web_1"]
    assert ask.send(None, "/vm/WeB_0/metadata/scheduledevents?api-version=2020-07-01").status == 200


@pytest.mark.parametrize(
    ("event_type", "notice"),
    [
        ("Freeze", 15 * MINUTE),
        ("Reboot", 15 * MINUTE),
        ("Redeploy", 10 * MINUTE),
        ("Preempt", 30),
        ("Terminate", 5 * MINUTE),
    ],
)
def test_each_type_has_its_notice(sim: Any, event_type: str, notice: int) -> None:
    """C-19"""
    event = sim.schedule(event_type, ["web_0"])
    assert event.not_before == sim.now() + notice
    sim.advance(notice - 1)
    assert event.state == "Scheduled"
    sim.advance(1)
    assert event.state == "Started"


def test_terminate_has_the_notice_of_its_scale_set(sim: Any) -> None:
    """C-19: 5 to 15 minutes as configured."""
    sim.add_scope("set", kind="scale_set", vms=["set_0"], terminate_notice=12 * MINUTE)
    assert sim.schedule("Terminate", ["set_0"]).not_before == sim.now() + 12 * MINUTE
    for seconds in (4 * MINUTE, 16 * MINUTE):
        with pytest.raises(InvalidError, match="is not between 300 and 900"):
            sim.add_scope("other", kind="scale_set", terminate_notice=seconds)


@pytest.mark.parametrize("notice", [7 * 86400, 5 * MINUTE, 8, 0])
def test_the_notice_may_be_longer_or_shorter(sim: Any, notice: int) -> None:
    """C-19: degraded hardware up to 7 days; seen: 5 minutes where 15 were promised, under 10 s, none."""
    event = sim.schedule("Redeploy", ["web_0"], notice=notice)
    assert event.not_before == sim.now() + notice
    assert event.state == ("Scheduled" if notice else "Started")


def test_the_notice_is_never_shortened_by_the_rounding_of_dates(make_sim: Any) -> None:
    """C-16, C-19: the document knows whole seconds only."""
    sim = make_sim(start=1000.25)
    sim.add_vm("web_0")
    assert sim.schedule("Preempt", ["web_0"]).not_before == 1031.0


def test_an_event_may_name_several_vms(sim: Any, ask: Any) -> None:
    """C-20: one event, seen by each of them."""
    sim.schedule("Freeze", ["web_0", "web_1"])
    assert ask.only("web_0") == ask.only("web_1")
    assert ask.only("web_0")["Resources"] == ["web_0", "web_1"]


def test_the_preview_puts_an_underscore_before_each_name(sim: Any, ask: Any) -> None:
    """C-20: 2017-03-01 only."""
    sim.schedule("Freeze", ["web_0", "web_1"])
    assert [ask.get("web_0", version).events()[0]["Resources"][0] for version in ("2017-03-01", "2017-08-01")] == ["_web_0", "web_0"]


def test_names_are_whole_names(sim: Any, ask: Any) -> None:
    """C-20: vm_1 is not vm_10."""
    sim.add_scope("vm", vms=["vm_1", "vm_10"])
    event = sim.schedule("Reboot", ["vm_10"])
    assert [vm.key for vm in event.vms] == ["vm_10"]
    assert ask.send(None, "/vm/vm_/metadata/scheduledevents?api-version=2020-07-01").status == 400


def test_two_vms_of_one_name_live_in_two_resource_groups(sim: Any, ask: Any) -> None:
    """C-20: names are unique within a resource group only."""
    for group in ("blue", "green"):
        sim.add_vm(group + "-app_0", azure_name="app_0", resource_group=group)
    sim.schedule("Reboot", ["green-app_0"])
    assert ask.only("green-app_0")["Resources"] == ["app_0"]
    assert ask.events("blue-app_0") == []
    names, groups, ids = zip(
        *[
            [ask.instance(key).json()["compute"][field] for field in ("name", "resourceGroupName", "vmId")]
            for key in ("blue-app_0", "green-app_0")
        ]
    )
    assert (names, groups, len(set(ids))) == (("app_0", "app_0"), ("blue", "green"), 2)


@pytest.mark.parametrize("kind", ["availability_set", "scale_set", "cloud_service"])
def test_a_scope_sees_the_events_of_all_its_vms(sim: Any, ask: Any, kind: str) -> None:
    """C-21: affected or not; and nobody else does."""
    sim.add_scope("crowd", kind=kind, vms=["crowd_0", "crowd_1", "crowd_2"])
    sim.schedule("Reboot", ["crowd_0"])
    assert [ask.status(vm) for vm in ("crowd_0", "crowd_1", "crowd_2", "lonely", "web_0")] == ["Scheduled"] * 3 + [None] * 2


def test_a_scale_set_with_two_placement_groups_is_two_scopes(sim: Any, ask: Any) -> None:
    """C-21: one name of the set, two documents."""
    sim.add_scope("set-a", kind="scale_set", scale_set="set", vms=["set_0"])
    sim.add_scope("set-b", kind="scale_set", scale_set="set", vms=["set_1"])
    sim.schedule("Reboot", ["set_0"])
    assert (ask.status("set_0"), ask.status("set_1")) == ("Scheduled", None)
    first, second = (ask.instance(vm).json()["compute"] for vm in ("set_0", "set_1"))
    assert first["vmScaleSetName"] == second["vmScaleSetName"] == "set"
    assert first["placementGroupId"] != second["placementGroupId"]


def test_a_gpu_scale_set_with_one_fault_domain_is_not_told_of_its_neighbours(sim: Any, ask: Any) -> None:
    """C-21: neither shown to them, nor approved by them."""
    sim.add_scope("gpu", kind="scale_set", gpu_single_fault_domain=True, vms=["gpu_0", "gpu_1", "gpu_2"])
    sim.schedule("Freeze", ["gpu_0", "gpu_1"])
    event = sim.schedule("Reboot", ["gpu_0"])
    shown: Set[int] = {len(ask.events(vm)) for vm in ("gpu_2",)}
    assert shown == {0}
    assert [len(ask.events(vm)) for vm in ("gpu_0", "gpu_1")] == [2, 1]
    assert ask.post("gpu_1", event.event_id).status == 200
    assert event.state == "Scheduled"
    ask.post("gpu_0", event.event_id)
    assert event.state == "Started"


def test_an_event_belongs_to_one_scope(sim: Any) -> None:
    """C-21"""
    with pytest.raises(InvalidError, match="are not in one scope"):
        sim.schedule("Reboot", ["web_0", "lonely"])


def test_hosts_of_one_scope_may_see_different_answers(sim: Any, ask: Any) -> None:
    """C-21: open; one of them is thirty seconds late."""
    sim.fault(kind="late", vm="web_1", seconds=30, times=None)
    sim.advance(60)
    event = sim.schedule("Reboot", ["web_0"])
    assert (ask.status("web_0"), ask.status("web_1")) == ("Scheduled", None)
    sim.advance(30)
    assert ask.status("web_1") == "Scheduled"
    ask.post("web_1", event.event_id)
    assert (ask.status("web_0"), ask.status("web_1")) == ("Started", "Scheduled")
