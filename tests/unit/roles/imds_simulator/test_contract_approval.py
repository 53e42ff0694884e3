# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the contract says about approval and identity: C-22 to C-28."""

from __future__ import annotations

import json
from typing import Any

import pytest


def test_one_post_may_approve_several_events(sim: Any, ask: Any) -> None:
    """C-22"""
    events = [sim.schedule(kind, ["web_0"]) for kind in ("Freeze", "Reboot")]
    answer = ask.post("web_0", *[event.event_id for event in events])
    assert (answer.status, answer.body) == (200, b"")
    assert [event.state for event in events] == ["Started", "Started"]


@pytest.mark.parametrize("incarnation", [2, "2", 99])
def test_an_incarnation_in_the_body_is_accepted(sim: Any, ask: Any, incarnation: Any) -> None:
    """C-22: once asked for, and of no effect."""
    event = sim.schedule("Reboot", ["web_0"])
    body = json.dumps({"DocumentIncarnation": incarnation, "StartRequests": [{"EventId": event.event_id}]}).encode()
    assert ask.post("web_0", body=body).status == 200
    assert event.state == "Started"


def test_an_approval_holds_for_all_vms_of_the_event(sim: Any, ask: Any) -> None:
    """C-23, C-20: one of them says go, and it starts for both."""
    sim.schedule("Reboot", ["web_0", "web_1"])
    ask.post("web_0", ask.only("web_0")["EventId"])
    assert (ask.status("web_0"), ask.status("web_1")) == ("Started", "Started")


def test_any_vm_of_the_scope_may_approve_also_one_that_is_not_affected(sim: Any, ask: Any) -> None:
    """C-21, C-23"""
    event = sim.schedule("Reboot", ["web_0"])
    ask.post("web_1", event.event_id)
    assert (event.state, event.approved_by) == ("Started", "web_1")


def test_a_second_approval_is_answered_like_the_first_and_changes_nothing(sim: Any, ask: Any) -> None:
    """C-23: 200 also when somebody approved it before; the first one counts."""
    event = sim.schedule("Reboot", ["web_0"], start_delay=60)
    assert ask.post("web_0", event.event_id).status == 200
    sim.advance(30)
    number = ask.incarnation("web_0")
    assert ask.post("web_1", event.event_id).status == 200
    assert (event.approved_by, ask.incarnation("web_0")) == ("web_0", number)
    sim.advance(30)
    assert event.state == "Started"


def test_the_start_may_come_later_than_the_approval(sim: Any, ask: Any) -> None:
    """C-24: nothing shows meanwhile that it was approved."""
    event = sim.schedule("Reboot", ["web_0"], notice=900, start_delay=120)
    before = ask.get("web_0").json()
    ask.post("web_0", event.event_id)
    sim.advance(119)
    assert ask.get("web_0").json() == before
    sim.advance(1)
    assert ask.status("web_0") == "Started"


def test_an_approval_never_makes_the_start_later(sim: Any, ask: Any) -> None:
    """C-24, C-26: other tenants may have to agree, but NotBefore holds for them too."""
    event = sim.schedule("Reboot", ["web_0"], notice=900, start_delay=7200)
    ask.post("web_0", event.event_id)
    sim.advance(899)
    assert event.state == "Scheduled"
    sim.advance(1)
    assert event.state == "Started"


def test_an_event_can_be_stuck_although_it_was_approved(sim: Any, ask: Any) -> None:
    """C-24: it starts when it is told to."""
    event = sim.schedule("Reboot", ["web_0"], notice=900, stuck=True)
    ask.post("web_0", event.event_id)
    sim.advance(7200)
    assert (ask.status("web_0"), event.approved_by) == ("Scheduled", "web_0")
    sim.start(event.event_id)
    assert ask.status("web_0") == "Started"


def test_terminate_waits_until_every_pending_delete_is_approved(sim: Any, ask: Any) -> None:
    """C-24: of the scope; other events do not take part in it."""
    sim.add_scope("set", kind="scale_set", vms=["set_0", "set_1", "set_2"])
    first, second = (sim.schedule("Terminate", [vm], notice=600, start_delay=5) for vm in ("set_0", "set_1"))
    sim.schedule("Reboot", ["set_2"], notice=600)
    ask.post("set_0", first.event_id)
    sim.advance(60)
    assert first.state == "Scheduled"
    ask.post("set_2", second.event_id)
    sim.advance(5)
    assert (first.state, second.state) == ("Started", "Started")


def test_terminate_no_longer_waits_for_a_delete_that_was_cancelled(sim: Any, ask: Any) -> None:
    """C-24, C-15"""
    first, second = (sim.schedule("Terminate", [vm], notice=600) for vm in ("web_0", "web_1"))
    ask.post("web_0", first.event_id)
    assert first.state == "Scheduled"
    sim.cancel(second.event_id)
    assert ask.status("web_0") == "Started"


def test_terminate_starts_at_not_before_whoever_has_not_approved(sim: Any, ask: Any) -> None:
    """C-24, C-26"""
    first = sim.schedule("Terminate", ["web_0"], notice=600)
    second = sim.schedule("Terminate", ["web_1"], notice=900)
    ask.post("web_0", first.event_id)
    sim.advance(600)
    assert (first.state, second.state) == ("Started", "Scheduled")


@pytest.mark.parametrize("how", ["unknown", "another scope's", "finished", "cancelled", "started"])
def test_an_id_that_waits_for_nothing_gets_200_and_changes_nothing(sim: Any, ask: Any, how: str) -> None:
    """C-25"""
    event = sim.schedule("Reboot", ["lonely" if how == "another scope's" else "web_0"], event_id=None, runs_for=600)
    if how in ("finished", "started"):
        sim.start(event.event_id)
    if how == "finished":
        sim.complete(event.event_id)
    if how == "cancelled":
        sim.cancel(event.event_id)
    before, state = ask.get("web_0").json(), event.state
    assert ask.post("web_0", "no-such-id" if how == "unknown" else event.event_id).status == 200
    assert ask.get("web_0").json() == before
    assert (event.state, event.approved_by) == (state, None)


def test_a_valid_id_beside_an_unknown_one_is_approved(sim: Any, ask: Any) -> None:
    """C-25, C-22"""
    event = sim.schedule("Reboot", ["web_0"])
    assert ask.post("web_0", "unknown", event.event_id).status == 200
    assert event.state == "Started"


def test_an_event_that_is_not_shown_yet_cannot_be_approved(make_sim: Any, asker: Any) -> None:
    """C-25, C-7: nobody can know its id."""
    sim = make_sim(switched_on=False, events_delay=300)
    sim.add_vm("web_0")
    event = sim.schedule("Reboot", ["web_0"])
    assert asker(sim).post("web_0", event.event_id).status == 200
    assert event.state == "Scheduled"


@pytest.mark.parametrize("late", [0, 60, 120])
def test_an_event_that_nobody_approves_starts_at_not_before_or_a_little_later(make_sim: Any, asker: Any, late: int) -> None:
    """C-26"""
    sim = make_sim(late_start=late)
    sim.add_vm("web_0")
    sim.schedule("Reboot", ["web_0"], notice=900)
    sim.advance(900 + late - 1)
    assert asker(sim).status("web_0") == "Scheduled"
    sim.advance(1)
    assert asker(sim).status("web_0") == "Started"


def test_an_approval_after_not_before_still_starts_a_late_event(sim: Any, ask: Any) -> None:
    """C-26, C-23"""
    event = sim.schedule("Reboot", ["web_0"], notice=900, late=120)
    sim.advance(930)
    ask.post("web_0", event.event_id)
    assert event.state == "Started"


@pytest.mark.parametrize("approve", [True, False])
def test_a_users_restart_waits_for_approval_or_a_quarter_of_an_hour(sim: Any, ask: Any, approve: bool) -> None:
    """C-7, C-23, C-26"""
    event = sim.schedule("Reboot", ["web_0"], source="User", duration=-1)
    entry = ask.only("web_0")
    assert (entry["EventSource"], entry["EventStatus"], entry["DurationInSeconds"]) == ("User", "Scheduled", -1)
    if approve:
        ask.post("web_0", event.event_id)
    else:
        sim.advance(15 * 60)
    assert event.state == "Started"


def test_an_event_stays_started_as_long_as_it_takes(sim: Any, ask: Any) -> None:
    """C-27: a Freeze for minutes; one without end until it is completed by hand."""
    short = sim.schedule("Freeze", ["web_0"], notice=0, duration=5, runs_for=240)
    endless = sim.schedule("Freeze", ["lonely"], notice=0, duration=5, runs_for=None)
    sim.advance(239)
    assert (short.state, endless.state) == ("Started", "Started")
    sim.advance(86400)
    assert (short.state, endless.state) == ("gone", "Started")
    sim.complete(endless.event_id)
    assert ask.events("lonely") == []


COMPUTE = (
    "name",
    "vmId",
    "resourceId",
    "resourceGroupName",
    "subscriptionId",
    "location",
    "zone",
    "vmScaleSetName",
    "placementGroupId",
    "platformFaultDomain",
    "platformUpdateDomain",
)


def test_the_instance_answers_in_whole(ask: Any) -> None:
    """C-28: strings, empty when not applicable."""
    whole = ask.instance("web_0").json()
    assert sorted(whole) == ["compute", "network"]
    compute = whole["compute"]
    assert all(isinstance(compute[key], str) for key in COMPUTE)
    assert (compute["name"], compute["vmScaleSetName"], compute["zone"], compute["tagsList"]) == ("web_0", "", "", [])
    assert compute["osProfile"]["computerName"] != "web_0"


def test_the_instance_answers_in_parts(ask: Any) -> None:
    """C-28: a path below it gives that part."""
    whole = ask.instance("web_0").json()
    assert ask.instance("web_0", "/compute").json() == whole["compute"]
    assert ask.instance("web_0", "/compute/osProfile").json() == whole["compute"]["osProfile"]
    assert ask.instance("web_0", "/network/interface/0/ipv4").json() == whole["network"]["interface"][0]["ipv4"]


def test_a_leaf_answers_as_plain_text(ask: Any) -> None:
    """C-28: with format=text, and only so."""
    answer = ask.instance("web_0", "/compute/name", "&format=text")
    assert (answer.status, answer.body) == (200, b"web_0")
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert ask.instance("web_0", "/compute/zone", "&format=text").body == b""
    assert ask.instance("web_0", "/compute/name").error() == "Bad request: a single value is only available with format=text."
    assert ask.instance("web_0", "/compute/name", "&format=xml").error() == "Bad request: format 'xml' is neither json nor text."


def test_what_is_no_leaf_lists_its_names_as_text(ask: Any) -> None:
    """C-28"""
    assert ask.instance("web_0", "", "&format=text").body == b"compute/\nnetwork/"
    assert ask.instance("web_0", "/network/interface", "&format=text").body == b"0/"


@pytest.mark.parametrize("path", ["/compute/nothing", "/compute/name/x", "/network/interface/7", "/network/interface/first", "/nowhere"])
def test_a_path_to_nothing_is_404(ask: Any, path: str) -> None:
    """C-28"""
    assert ask.instance("web_0", path).status == 404


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/metadata/instance?api-version=2021-02-01", {}),
        ("/metadata/instance?api-version=2021-02-01", {"Metadata": "true", "X-Forwarded-For": "10.0.0.1"}),
        ("/metadata/instance", {"Metadata": "true"}),
        ("/metadata/instance?api-version=2021-02-02", {"Metadata": "true"}),
        ("/metadata/instance?api-version=2021-02-01&api-version=2021-02-01", {"Metadata": "true"}),
    ],
)
def test_the_instance_has_the_same_rules_of_headers_and_versions(ask: Any, target: str, headers: Any) -> None:
    """C-28, C-2, C-3, C-6"""
    assert ask.send("web_0", target, headers=headers).status == 400


def test_each_kind_of_vm_has_its_identity(sim: Any, ask: Any) -> None:
    """C-28, C-20: uniform and flexible scale sets, availability set, single."""
    sim.add_scope("uni", kind="scale_set", vms=[{"name": "uni_12", "zone": "2"}])
    sim.add_scope("flex", kind="scale_set", flexible=True, vms=["flex_1a2b3c4d"])
    uniform, flexible, member, single = (ask.instance(vm).json()["compute"] for vm in ("uni_12", "flex_1a2b3c4d", "web_0", "lonely"))
    assert (uniform["vmScaleSetName"], flexible["vmScaleSetName"], member["vmScaleSetName"]) == ("uni", "flex", "")
    assert uniform["resourceId"].endswith("/virtualMachineScaleSets/uni/virtualMachines/12")
    assert flexible["resourceId"].endswith("/virtualMachines/flex_1a2b3c4d")
    assert (bool(uniform["placementGroupId"]), flexible["placementGroupId"], single["placementGroupId"]) == (True, "", "")
    assert (uniform["zone"], uniform["osProfile"]["computerName"]) == ("2", "uni000012")
    assert len({compute["vmId"] for compute in (uniform, flexible, member, single)}) == 4


def test_a_vm_may_be_told_who_it_is(sim: Any, ask: Any) -> None:
    """C-28: any field, so that a test can play any inventory."""
    sim.add_vm("app", compute={"location": "northeurope", "osProfile": {"computerName": "app"}, "tagsList": [{"name": "a", "value": "b"}]})
    compute = ask.instance("app").json()["compute"]
    assert (compute["location"], compute["osProfile"]["computerName"], len(compute["tagsList"])) == ("northeurope", "app", 1)


def test_right_after_creation_the_instance_is_missing_and_then_incomplete(sim: Any, ask: Any) -> None:
    """C-28"""
    sim.add_vm("fresh", missing_for=10, incomplete_for=20)
    assert ask.instance("fresh").error() == "Not found: the metadata is being updated."
    sim.advance(10)
    early = ask.instance("fresh").json()["compute"]
    assert early["name"] == "fresh"
    assert "resourceId" not in early
    assert "vmId" not in early
    sim.advance(10)
    assert set(COMPUTE) < set(ask.instance("fresh").json()["compute"])


def test_a_vm_that_is_made_anew_is_another_one(sim: Any, ask: Any) -> None:
    """C-28: the same name, another vmId, and none of the old one's events."""
    sim.schedule("Reboot", ["lonely"])
    before = ask.instance("lonely").json()["compute"]
    sim.recreate_vm("lonely")
    after = ask.instance("lonely").json()["compute"]
    assert (before["name"], before["resourceId"]) == (after["name"], after["resourceId"])
    assert before["vmId"] != after["vmId"]
    assert ask.events("lonely") == []


def test_a_vm_that_was_deleted_and_is_added_again_is_another_one(sim: Any, ask: Any) -> None:
    """C-28: deleted, then made anew, as often as one likes."""
    seen = set()
    for _turn in range(3):
        seen.add(ask.instance("lonely").json()["compute"]["vmId"])
        sim.remove_vm("LONELY")
        sim.add_vm("lonely")
    assert len(seen) == 3
