# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who the hosts are to Azure, what counts as an answer of theirs, and whom to ask."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _host_command
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError, HostError
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import (
    ANSWER,
    STATUS,
    Answer,
    Driver,
    Handler,
    Hold,
    Host,
    Record,
    Status,
    askers,
    by_scope,
    event_of,
    fleet_of,
    hosts_of,
    status_in,
)
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    DAY,
    HOUR,
    NB,
    NOW,
    UNREACHABLE,
    answer,
    driver,
    event,
    failed,
    handler,
    hold,
    hosts,
    listed,
    record,
    status,
    vm,
)

# A task that was left out has a result as well, and so has one of another name.
NO_RESULTS: List[Any] = [None, "text", 5, [], {"skipped": True, "changed": False}, {"skipped": True, "failed": True}]


def host(**variables: Any) -> Host:
    (found,) = hosts({"h0": variables})
    return found


def told(result: Any) -> Status:
    found = status_in(result)
    assert found is not None
    return found


# Which hosts


def test_each_host_is_there_once_and_those_of_the_run_say_so() -> None:
    hostvars = {"a": {"group_names": ["web", "blue"]}, "b": {}}
    fleet = fleet_of(hostvars, ["a", "b", "unknown"], in_run=["b", "late", "b"], before=None, groups=None)
    assert [(entry["name"], entry["in_run"], entry["groups"]) for entry in fleet["hosts"]] == [
        ("a", False, ["web", "blue"]),
        ("b", True, []),
        ("unknown", False, []),
        ("late", True, []),
    ]
    assert json.loads(json.dumps(fleet)) == fleet


def test_only_groups_with_bounds_of_their_own_are_kept() -> None:
    fleet = fleet_of({"a": {"group_names": ["web", "blue"]}}, ["a"], in_run=[], before=None, groups=["blue", "db"])
    assert fleet["hosts"][0]["groups"] == ["blue"]


def test_only_the_variables_that_are_needed_are_read() -> None:
    """Each is a template, and may be one that fails."""

    class Variables(Mapping[str, Any]):
        def __init__(self) -> None:
            self.read: List[str] = []

        def __contains__(self, key: object) -> bool:
            return True

        def __getitem__(self, key: str) -> Any:
            self.read.append(key)
            return None

        def __iter__(self) -> Iterator[str]:
            raise AssertionError("nobody goes through all variables")

        def __len__(self) -> int:
            raise AssertionError("nobody counts all variables")

    variables = Variables()
    fleet_of({"a": variables}, ["a"], in_run=["a"], before=None, groups=None)
    own = ["vm_name", "resource_group", "subscription", "scope", "endpoint", "command", "root"]
    assert sorted(set(variables.read)) == sorted(
        [ANSWER, STATUS, "group_names", "id", "zone", *("rolling_maintenance_%s" % key for key in own)]
    )


def test_how_a_host_is_asked_comes_from_its_own_variables() -> None:
    variables = {"rolling_maintenance_endpoint": "http://127.0.0.1:1", "rolling_maintenance_command": "/c", "rolling_maintenance_root": " "}
    (entry,) = fleet_of({"a": variables}, ["a"], in_run=[], before=None, groups=None)["hosts"]
    assert (entry["endpoint"], entry["command"], entry["root"]) == ("http://127.0.0.1:1", "/c", None)


# Who it is (C-20)


def test_azures_inventory_says_who_a_host_is() -> None:
    found = host(**listed("web_0", vmid="ID-1"))
    assert (found.vm_name, found.resource_group, found.subscription, found.vm_id) == ("web_0", "RG", "5UB", "ID-1")
    assert (found.identity, found.realm) == (("5ub", "rg", "web_0"), ("5ub", "rg"))
    assert (found.identified, found.conflict) == (True, None)


@pytest.mark.parametrize(
    "variables",
    [
        {"name": "web_0"},
        {"id": 7, "name": "web_0"},
        {"id": "i-0123456789", "name": "web_0"},
        {"id": "/subscriptions/5UB/resourceGroups/RG/providers/Microsoft.Network/loadBalancers/web_0", "name": "web_0"},
    ],
)
def test_a_variable_name_says_nothing_without_an_id_of_azure(variables: Dict[str, Any]) -> None:
    found = host(**variables)
    assert (found.vm_name, found.identity, found.identified, found.realm) == (None, None, False, ("", ""))


def test_an_id_without_a_name_does_not_identify() -> None:
    assert not host(**{**listed("web_0"), "name": None}).identified


def test_what_a_host_says_of_itself_comes_before_the_inventory() -> None:
    said = vm("Web_1", group="Rg2", subscription_id="5ub2", placement_group_id="pg", zone="1")
    found = host(**listed("web_1", vmid="id of web_1"), **{ANSWER: answer(who=said)})
    assert (found.vm_name, found.resource_group, found.subscription, found.vm_id) == ("Web_1", "Rg2", "5ub2", "id of Web_1")
    assert (found.scope, found.scope_key, found.identified, found.conflict) == ("pg", "scope pg", True, None)


def test_a_users_own_word_comes_before_everybody_elses() -> None:
    own = {"rolling_maintenance_%s" % key: key for key in ("vm_name", "resource_group", "subscription", "scope")}
    found = host(**listed("web_1"), **own, **{ANSWER: answer(who=vm("web_1", placement_group_id="pg"))})
    assert (found.vm_name, found.resource_group, found.subscription, found.scope) == ("vm_name", "resource_group", "subscription", "scope")


@pytest.mark.parametrize(("word", "taken"), [(2024, "2024"), ("2024", "2024"), (True, "RG"), (None, "RG"), (" ", "RG"), (["x"], "RG")])
def test_a_name_that_yaml_makes_a_number_of_is_a_name(word: Any, taken: str) -> None:
    assert host(**listed("web_0"), rolling_maintenance_resource_group=word).resource_group == taken


def test_three_own_words_identify_a_host_and_two_do_not() -> None:
    own = {"rolling_maintenance_vm_name": "web_0", "rolling_maintenance_resource_group": "rg"}
    assert not host(**own).identified
    assert host(**own, rolling_maintenance_subscription="5ub").identified


def test_a_host_that_was_asked_is_identified_although_it_says_nothing_more() -> None:
    said = {"name": "web_0"}
    found = host(**{ANSWER: answer(who=said)})
    assert (found.identified, found.identity) == (True, ("", "", "web_0"))


@pytest.mark.parametrize("who", [None, "web_0", {}, {"name": " "}, {"name": None, "vm_id": "x"}])
def test_one_that_does_not_say_its_name_has_said_nothing_of_itself(who: Any) -> None:
    found = host(**{ANSWER: answer(who=who)})
    assert (found.vm_name, found.vm_id, found.identified) == (None, None, False)


@pytest.mark.parametrize(
    ("said", "conflict"),
    [
        (vm("WEB_0", vm_id="ID-1"), None),
        (vm("web_0", vm_id="ID-2"), "h0 says that it is the VM with the id ID-2, and the inventory has id-1: refresh the inventory"),
        (vm("web_1", vm_id="ID-1"), "h0 says that it is the VM web_1, and the inventory has web_0: refresh the inventory"),
        (vm("web_0", vm_id=""), None),
    ],
)
def test_an_inventory_that_is_out_of_date_is_a_conflict(said: Dict[str, Any], conflict: Optional[str]) -> None:
    """W-28: a VM that was made again under its name is another one."""
    assert host(**listed("web_0", vmid="id-1"), **{ANSWER: answer(who=said)}).conflict == conflict


def test_one_name_in_two_resource_groups_is_two_vms() -> None:
    """W-30."""
    one, other = hosts({"a": listed("app_0", group="one"), "b": listed("APP_0", group="two")})
    assert one.identity != other.identity
    assert one.identity == ("5ub", "one", "app_0")


def test_a_host_of_no_known_scope_is_one_of_its_own() -> None:
    """And no scope can be named so that it is taken for one."""
    one, other, third = hosts({"a": {}, "b": {}, "c": {"rolling_maintenance_scope": "a"}})
    assert len({one.scope_key, other.scope_key, third.scope_key}) == 3
    assert by_scope([third, one, replace(third, name="d")]) == {"scope a": [third, replace(third, name="d")], "host a": [one]}


# What it has answered


def test_a_good_answer_has_its_events() -> None:
    found = host(**listed("web_0"), **{ANSWER: answer(event("E1", "Web_0 web_1"), event("E2", event_status="Started"))})
    assert found.answer == Answer(
        True,
        True,
        "",
        (
            Event("E1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("Web_0", "web_1"), NB, "", 9),
            Event("E2", "Reboot", "Started", "Platform", "VirtualMachine", ("web_0",), None, "", 9),
        ),
    )


@pytest.mark.parametrize("result", NO_RESULTS)
def test_a_task_that_was_left_out_has_not_answered(result: Any) -> None:
    found = host(**{ANSWER: result, STATUS: result})
    assert (found.answer, found.status, found.unreachable) == (None, None, False)
    assert status_in(result) is None


@pytest.mark.parametrize(
    ("result", "reachable", "why"),
    [
        (UNREACHABLE, False, UNREACHABLE["msg"]),
        ({"unreachable": True}, False, "it has not answered"),
        (failed("No answer in 10 s."), True, "No answer in 10 s."),
        ({**answer(event()), "failed": True, "msg": "late"}, True, "late"),
        ({**answer(event()), "unreachable": True}, False, "it has not answered"),
        ({}, True, "it has not answered"),
        ({"changed": False, "rc": 0}, True, "it has not answered"),
        ({"events": []}, True, "it has not answered"),
        ({"document_incarnation": 7}, True, "it has not answered"),
        ({"document_incarnation": 7, "events": "none"}, True, "it has not answered"),
    ],
)
def test_without_a_document_a_result_is_no_answer(result: Dict[str, Any], reachable: bool, why: str) -> None:
    """C-5: never "no events"."""
    found = host(**{ANSWER: result})
    assert found.answer == Answer(False, reachable, why, ())
    assert found.unreachable is not reachable


def test_an_earlier_answer_stays_until_there_is_a_new_one() -> None:
    first = fleet_of({"a": {ANSWER: answer(event()), STATUS: status()}, "b": {}}, ["a", "b"], in_run=["a", "b"], before=None, groups=None)
    kept = fleet_of({"a": {ANSWER: {"skipped": True}}, "b": {}}, ["a", "b"], in_run=["a", "b"], before=first, groups=None)
    assert hosts_of(kept) == hosts_of(first)
    dark = fleet_of({"a": {ANSWER: UNREACHABLE, STATUS: UNREACHABLE}}, ["a"], in_run=["a"], before=first, groups=None)
    (found,) = hosts_of(dark)
    assert (found.answer and found.answer.ok, found.status and found.status.ok, found.unreachable) == (False, False, True)


def test_the_last_word_of_whether_it_can_be_reached_is_that_of_its_state() -> None:
    assert not host(**{ANSWER: UNREACHABLE, STATUS: status()}).unreachable
    assert host(**{ANSWER: answer(), STATUS: UNREACHABLE}).unreachable
    assert not host().unreachable


# What it says of itself


def test_a_state_is_read_as_a_whole() -> None:
    result = status(
        record("PREPARED", "E1", driver=driver("awx", "4711", NOW + 60), attempt=2, reason="every handler is done"),
        record("IMPACT", "E2", started_at="2026-11-18T08:00:00Z", attempt=None, reason=None),
        record("FOREIGN", "E3"),
        record("CLOSED", "E4"),
        vm_id="ID-1",
        hold=hold(NOW + HOUR, "the database is being restored"),
        problems=["The disk is full."],
        broken=["x.json"],
        handlers_configured=[handler(), handler("20-lb", event_types=None, limit="2m", required=False)],
        allow_empty_prepare=True,
        clock_difference=-2.5,
    )
    found = told(result)
    assert found == Status(
        ok=True,
        reachable=True,
        installed=True,
        why="",
        vm_id="ID-1",
        hold=Hold("ann", NOW + HOUR, "the database is being restored"),
        problems=("The disk is full.", "x.json"),
        records=(
            Record("E1", "PREPARED", 2, Driver("awx", "4711", NOW + 60), None, "every handler is done"),
            Record("E2", "IMPACT", 0, None, NOW - HOUR, ""),
            Record("E3", "FOREIGN", 1, None, None, "10-pool: exit code 1"),
        ),
        handlers=(
            Handler("10-pool", frozenset({"freeze", "reboot", "redeploy", "preempt", "terminate"}), 60, True),
            Handler("20-lb", None, 120, False),
        ),
        allow_empty_prepare=True,
        clock_difference=-2.5,
        agent_good_since=NOW - DAY,
    )
    assert host(**{STATUS: result}).status == found


def test_what_a_host_leaves_open_stays_open() -> None:
    result = status(
        hold={**hold(), "until": None, "reason": None}, handlers_configured=None, allow_empty_prepare=None, clock_difference=None
    )
    del result["clock_difference"]
    found = told(result)
    assert (found.handlers, found.allow_empty_prepare, found.clock_difference) == (None, False, None)
    assert found.hold == Hold("ann", 0.0, "")
    assert told(status(record("PREPARED", driver={**driver(), "lease_until": None}))).records[0].driver == Driver("playbook", "other", 0.0)


def test_the_record_of_an_event_is_the_last_one_and_ids_have_no_case() -> None:
    """W-15: the same id comes again, and is another occurrence."""
    found = told(status(record("RECOVERING", "E1"), record("PREPARED", "e1"), record("SEEN", "E10")))
    assert [one.state for one in (found.record_of("E1"), found.record_of("e10")) if one] == ["PREPARED", "SEEN"]
    assert found.record_of("E2") is None


@pytest.mark.parametrize(
    ("event_types", "event_type", "applies"),
    [(None, "GuestImage", True), (["Reboot"], "reboot", True), (["Reboot"], "Redeploy", False), ([], "Reboot", False)],
)
def test_a_handler_applies_to_its_types(event_types: Optional[Sequence[str]], event_type: str, applies: bool) -> None:
    (found,) = told(status(handlers_configured=[handler(event_types=event_types)])).handlers or ()
    assert found.applies_to(event_type) is applies


@pytest.mark.parametrize(
    ("result", "reachable", "why"),
    [
        (UNREACHABLE, False, UNREACHABLE["msg"]),
        (failed("The executor does not answer."), True, "The executor does not answer."),
        ({**status(), "failed": True}, True, "it has not answered"),
        ({**status(), "unreachable": True}, False, "it has not answered"),
        ({"status": None}, True, "it has not answered"),
        ({"status": {"problems": []}}, True, "it has not answered"),
        ({"status": {"records": "none"}}, True, "it has not answered"),
    ],
)
def test_without_its_records_a_host_has_not_said_how_it_is(result: Dict[str, Any], reachable: bool, why: str) -> None:
    assert told(result) == Status(False, reachable, True, why)


def test_a_host_without_the_role_is_known_by_what_the_module_says() -> None:
    def run(_words: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory")

    with pytest.raises(HostError) as caught:
        _host_command.HostCommand("/usr/local/sbin/azure-event-handlers", None, run).status()
    assert told(failed(caught.value.message)) == Status(False, True, False, caught.value.message)


# From plain data


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (None, "TypeError 'NoneType' object is not subscriptable"),
        ({"hosts": [{}]}, "KeyError 'name'"),
        ({"hosts": [[]]}, "TypeError list indices must be integers or slices, not str"),
    ],
)
def test_something_else_than_a_fleet_is_refused_in_words(change: Any, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        hosts_of(change)
    assert caught.value.message == "This is not a fleet that maintenance_fleet has made (%s)." % why


@pytest.mark.parametrize(
    "spoil",
    [
        lambda entry: entry["answer"]["events"][0].update(not_before="tomorrow"),
        lambda entry: entry["answer"]["events"][0].pop("resources"),
        lambda entry: entry["status"]["records"][0].update(attempt="often"),
        lambda entry: entry["status"]["records"][0].update(driver="playbook"),
        lambda entry: entry["status"]["handlers"][0].update(limit="long"),
        lambda entry: entry.update(groups=None),
    ],
)
def test_a_fleet_that_was_touched_is_refused_in_words(spoil: Any) -> None:
    variables = {ANSWER: answer(event()), STATUS: status(record("SEEN"))}
    fleet = fleet_of({"a": variables}, ["a"], in_run=["a"], before=None, groups=None)
    spoil(fleet["hosts"][0])
    with pytest.raises(ConfigurationError, match=r"^This is not a fleet that maintenance_fleet has made "):
        hosts_of(fleet)


def test_a_host_is_read_as_it_was_written() -> None:
    variables = listed(
        "web_0", vmid="ID-1", rolling_maintenance_scope="set", **{ANSWER: answer(event(), who=vm("web_0", vm_id="id-1")), STATUS: status()}
    )
    fleet = json.loads(json.dumps(fleet_of({"h0": variables}, ["h0"], in_run=["h0"], before=None, groups=None)))
    (found,) = hosts_of(fleet)
    assert found == Host(
        name="h0",
        vm_name="web_0",
        resource_group="RG",
        subscription="5UB",
        vm_id="id-1",
        scope="set",
        groups=frozenset({"web"}),
        in_run=True,
        identified=True,
        conflict=None,
        answer=Answer(True, True, "", (event_of(event()),)),
        status=told(status()),
    )


# Whom to ask (C-21)


def scoped(*names: str, **states: Any) -> Dict[str, Dict[str, Any]]:
    """Hosts of one scope, identified. states: the results that they have given so far."""
    return {name: listed(name, rolling_maintenance_scope="set", **({ANSWER: states[name]} if name in states else {})) for name in names}


GOOD: Dict[str, Any] = answer()
BAD: Dict[str, Any] = failed("No answer.")


@pytest.mark.parametrize(
    ("hostvars", "asked"),
    [
        (scoped("a", "b", "c", "d"), ["a", "b"]),
        (scoped("a"), ["a"]),
        # One has answered, whatever the other one did.
        (scoped("a", "b", "c", a=GOOD), []),
        (scoped("a", "b", "c", a=BAD, b=GOOD), []),
        # Nobody has: the next two, until there is nobody left.
        (scoped("a", "b", "c", "d", "e", a=BAD, b=UNREACHABLE), ["c", "d"]),
        (scoped("a", "b", "c", a=BAD, b=UNREACHABLE), ["c"]),
        (scoped("a", "b", a=BAD, b=UNREACHABLE), []),
        # Of no known scope.
        ({"a": listed("a"), "b": listed("b"), "c": {}}, ["a", "b", "c"]),
        ({"a": listed("a", **{ANSWER: GOOD}), "b": listed("b", **{ANSWER: BAD})}, []),
        # One whose name at Azure nobody knows is asked in any case, and is one of the two.
        ({**scoped("a", "b"), "c": {"rolling_maintenance_scope": "set"}}, ["c", "a"]),
        ({**scoped("a", "b", a=GOOD), "c": {"rolling_maintenance_scope": "set"}}, ["c"]),
        (
            {**scoped("a"), **{name: {"rolling_maintenance_scope": "set"} for name in ("b", "c", "d")}},
            ["b", "c", "d"],
        ),
    ],
)
def test_two_of_each_scope_are_asked_and_others_where_nobody_answers(hostvars: Dict[str, Any], asked: List[str]) -> None:
    assert askers(hosts(hostvars), 1) == asked


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        ("a", []),
        ("a b", ["c"]),
        ("a b c", ["d"]),
        ("a b c d", []),
    ],
)
def test_where_all_who_have_answered_are_hit_one_who_is_not_is_asked_as_well(names: str, asked: List[str]) -> None:
    """An event wants a witness that is still there when it has started."""
    seen = answer(event(names=names))
    assert askers(hosts(scoped("a", "b", "c", "d", a=seen, b=seen)), 2) == asked


def test_nobody_outside_the_run_is_asked() -> None:
    assert askers(hosts(scoped("a", "b", "c"), outside=["a"]), 1) == ["b", "c"]
