# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _document
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import (
    Document,
    Event,
    affects,
    event_result,
    fold,
    known_as,
    load_json,
    parse_document,
    same_name,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import DocumentError

OLDEST = "2017-03-01"
DOCUMENTS = Path(__file__).parent / "fixtures" / "documents"
# 2026-11-18T10:00:00Z
TEN_O_CLOCK = 1794996000.0

ENTRY: Dict[str, Any] = {
    "EventId": "602D9444-D2CD-49C7-8624-8643E7171297",
    "EventType": "Reboot",
    "ResourceType": "VirtualMachine",
    "Resources": ["web_3", "web_4"],
    "EventStatus": "Scheduled",
    "NotBefore": "Wed, 18 Nov 2026 10:00:00 GMT",
    "Description": "Host maintenance.",
    "EventSource": "Platform",
    "DurationInSeconds": 9,
}
EVENT = Event(
    event_id="602D9444-D2CD-49C7-8624-8643E7171297",
    event_type="Reboot",
    event_status="Scheduled",
    event_source="Platform",
    resource_type="VirtualMachine",
    resources=("web_3", "web_4"),
    not_before=TEN_O_CLOCK,
    description="Host maintenance.",
    duration_seconds=9,
)


def body_of(*entries: Any, incarnation: Any = 1) -> bytes:
    return json.dumps({"DocumentIncarnation": incarnation, "Events": list(entries)}).encode()


def parsed(*entries: Any, underscored: bool = False) -> Tuple[Event, ...]:
    return parse_document(body_of(*entries), underscored=underscored).events


def changed(**changes: Any) -> Dict[str, Any]:
    return {**ENTRY, **changes}


def without(key: str) -> Dict[str, Any]:
    return {name: value for name, value in ENTRY.items() if name != key}


def refusal(body: bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_document(body, underscored=False)
    return caught.value.message


def test_a_document_has_its_incarnation_its_events_and_what_was_received() -> None:
    """C-12, C-13: the whole document of the newest version."""
    document = parse_document(body_of(ENTRY, incarnation=7), underscored=False)
    assert document == Document(7, (EVENT,), {"DocumentIncarnation": 7, "Events": [ENTRY]})


@pytest.mark.parametrize(
    ("name", "incarnation", "events"),
    [
        ("2020-07-01-empty", 1, []),
        (
            "2017-03-01-redeploy-underscore",
            5,
            [("762D06A2-8289-469B-AB27-4D26C9C745B3", "Redeploy", "Scheduled", None, ("mysrv",), 1492454406.0, "", None)],
        ),
        (
            "2017-08-01-two-events",
            192,
            [
                ("28512AF7-C957-4500-9BC4-842D6FB531E4", "Reboot", "Scheduled", None, ("sample_4",), 1516828844.0, "", None),
                ("0B4F1E0C-62C9-4F0E-9E6E-0D6B1B8C6A11", "Redeploy", "Scheduled", None, ("sample_40",), 1516829102.0, "", None),
            ],
        ),
        (
            "2017-11-01-preempt",
            7,
            [("A123BC45-1234-5678-AB90-ABCDEF123456", "Preempt", "Scheduled", None, ("myspotvm",), 1615856326.0, "", None)],
        ),
        (
            "2019-01-01-terminate",
            3,
            [("5DD55B64-45AD-49D3-BBC9-F57D4EA97BD7", "Terminate", "Scheduled", None, ("scale_3",), 1576270270.0, "", None)],
        ),
        (
            "2019-08-01-freeze-started",
            208,
            [
                (
                    "D3D9DFEC-1DCA-4B49-97AA-780E02F45DFE",
                    "Freeze",
                    "Started",
                    "Platform",
                    ("aks-nodepool1-21922338-vmss_47",),
                    None,
                    "Host server is undergoing maintenance.",
                    None,
                )
            ],
        ),
        (
            "2020-07-01-freeze-shared-wrong-weekday",
            2,
            [
                (
                    "C7061BAC-AFDC-4513-B24B-AA5F13A16123",
                    "Freeze",
                    "Scheduled",
                    "Platform",
                    ("WestNO_0", "WestNO_1"),
                    1775946418.0,
                    "Virtual machine is being paused because of a memory-preserving Live Migration operation.",
                    5,
                )
            ],
        ),
        (
            "2020-07-01-hardware-failure-started-first",
            17,
            [
                (
                    "f020ba2e-3bc0-4c40-a10b-86575a9eabd5",
                    "Redeploy",
                    "Started",
                    "Platform",
                    ("DB-2",),
                    None,
                    "Virtual machine has encountered a failure.",
                    None,
                )
            ],
        ),
        (
            "2020-07-01-unknown-type-iso-date",
            9,
            [
                (
                    "11111111-2222-3333-4444-555555555555",
                    "GuestImageUpdate",
                    "Scheduled",
                    "User",
                    ("scale_a1b2c3d4",),
                    1777485600.0,
                    "",
                    0,
                )
            ],
        ),
        (
            "2020-07-01-user-reboot-unknown-duration",
            4,
            [
                (
                    "CA9C0DC4-3D55-4A5A-9C2B-0A3E5E8D9F10",
                    "Reboot",
                    "Scheduled",
                    "User",
                    ("db-1",),
                    1678975288.0,
                    "Virtual machine is going to be restarted as requested by authorized user.",
                    None,
                )
            ],
        ),
    ],
)
def test_a_document_of_each_version_and_case_says_what_it_means(name: str, incarnation: int, events: List[Tuple[Any, ...]]) -> None:
    """C-6, C-12 to C-17, C-20."""
    document = parse_document((DOCUMENTS / (name + ".json")).read_bytes(), underscored=name.startswith("2017-03-01"))
    assert document.incarnation == incarnation
    assert [
        (
            event.event_id,
            event.event_type,
            event.event_status,
            event.event_source,
            event.resources,
            event.not_before,
            event.description,
            event.duration_seconds,
        )
        for event in document.events
    ] == events
    assert [event.resource_type for event in document.events] == ["VirtualMachine"] * len(events)


@pytest.mark.parametrize(
    ("key", "field", "meant"),
    [
        ("NotBefore", "not_before", None),
        ("EventSource", "event_source", None),
        ("DurationInSeconds", "duration_seconds", None),
        ("Description", "description", ""),
        ("ResourceType", "resource_type", ""),
    ],
)
@pytest.mark.parametrize("absent", [True, False], ids=["absent", "null"])
def test_what_a_version_lacks_is_unknown(key: str, field: str, meant: Optional[str], absent: bool) -> None:
    """C-13: keys that a version lacks are absent; null is taken for the same."""
    entry = without(key) if absent else changed(**{key: None})
    assert parsed(entry) == (replace(EVENT, **{field: meant}),)


@pytest.mark.parametrize(
    ("key", "value", "field", "meant"),
    [
        ("EventType", "GuestImageUpdate", "event_type", "GuestImageUpdate"),
        ("EventStatus", "Paused", "event_status", "Paused"),
        ("EventSource", "Nobody", "event_source", "Nobody"),
        ("ResourceType", "Rack", "resource_type", "Rack"),
        ("Resources", [], "resources", ()),
        ("Resources", ["_web", "__web"], "resources", ("_web", "__web")),
        ("NotBefore", "2026-11-18T10:00:00Z", "not_before", TEN_O_CLOCK),
        ("DurationInSeconds", 0, "duration_seconds", 0),
        ("DurationInSeconds", 2.9, "duration_seconds", 2),
        ("DurationInSeconds", -1, "duration_seconds", None),
        ("DurationInSeconds", -0.5, "duration_seconds", None),
        ("SomethingNew", {"k": [1]}, "event_type", "Reboot"),
    ],
)
def test_a_field_is_taken_as_it_came(key: str, value: Any, field: str, meant: Any) -> None:
    """C-14, C-17: the unknown passes through unharmed; a duration of -1 is unknown, 0 is none."""
    assert parsed(changed(**{key: value})) == (replace(EVENT, **{field: meant}),)


def test_the_oldest_version_loses_one_underscore_of_each_name() -> None:
    """C-20."""
    (event,) = parsed(changed(Resources=["_web_3", "__web", "web", "_"]), underscored=True)
    assert event.resources == ("web_3", "_web", "web", "")


def test_the_whole_numbers_of_a_duration_stay_whole() -> None:
    (event,) = parsed(changed(DurationInSeconds=2.0))
    assert isinstance(event.duration_seconds, int)


@pytest.mark.parametrize(
    ("incarnation", "meant"), [(1, 1), (0, 0), (-3, -3), ("17", 17), ("007", 7), ("9" * 30, int("9" * 30)), (2**70, 2**70)]
)
def test_an_incarnation_is_a_whole_number_or_its_digits(incarnation: Any, meant: int) -> None:
    """C-12: a string of digits is accepted."""
    assert parse_document(body_of(incarnation=incarnation), underscored=False).incarnation == meant


@pytest.mark.parametrize(
    ("incarnation", "said"),
    [
        (True, "True"),
        (1.0, "1.0"),
        (None, "None"),
        ("", "''"),
        ("1.0", "'1.0'"),
        ("-1", "'-1'"),
        (" 1", "' 1'"),
        ("9" * 31, "'" + "9" * 31 + "'"),
        ("\u0663", r"'\u0663'"),
        ("\u00b2", r"'\xb2'"),
        ([1], "a list"),
    ],
)
def test_any_other_incarnation_is_refused(incarnation: Any, said: str) -> None:
    assert refusal(body_of(incarnation=incarnation)) == (
        "the answer is not a document of scheduled events: DocumentIncarnation is %s, not a whole number" % said
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        (b"not JSON", "it is not JSON"),
        (b'{"DocumentIncarnation": 1, "Events": [', "it is not JSON"),
        (b'{"DocumentIncarnation": 1, "Events": []}]', "it is not JSON"),
        (b'{"DocumentIncarnation": NaN, "Events": []}', "it is not JSON"),
        (b'{"DocumentIncarnation": 1, "Events": [], "Odd": -Infinity}', "it is not JSON"),
        (b'{"DocumentIncarnation": 1, "Events": [], "Odd": 1e999}', "it is not JSON"),
        (b'{"DocumentIncarnation": 1, "Events": [], "Odd": -1e999}', "it is not JSON"),
        (b'{"DocumentIncarnation": 1, "Events": [], "Odd": "\\ud800"}', "it is not JSON"),
        (b'{"DocumentIncarnation": 1, "Events": [], "\\udfff": 1}', "it is not JSON"),
        (b"[" * 100000, "it is not JSON"),
        (b" \r\n<html></html>", "it is not JSON but HTML, as a captive proxy sends it"),
        (b"<", "it is not JSON but HTML, as a captive proxy sends it"),
        (b"[]", "it is JSON, but not an object"),
        (b"null", "it is JSON, but not an object"),
        (b'"Events"', "it is JSON, but not an object"),
        (b"{}", "it is JSON without DocumentIncarnation and a list Events"),
        (b'{"Events": []}', "it is JSON without DocumentIncarnation and a list Events"),
        (b'{"DocumentIncarnation": 1}', "it is JSON without DocumentIncarnation and a list Events"),
        (b'{"DocumentIncarnation": 1, "Events": null}', "it is JSON without DocumentIncarnation and a list Events"),
        (b'{"DocumentIncarnation": 1, "Events": {}}', "it is JSON without DocumentIncarnation and a list Events"),
        (b'{"documentIncarnation": 1, "events": []}', "it is JSON without DocumentIncarnation and a list Events"),
        (b'{"DocumentIncarnation": 1, "Events": [[]]}', "event 1 is not an object"),
    ],
)
def test_what_is_not_a_document_is_refused_in_words(body: bytes, why: str) -> None:
    """C-5: anything else is an error, never "no events"."""
    assert refusal(body) == "the answer is not a document of scheduled events: " + why


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (without("EventId"), "EventId: missing"),
        (changed(EventId=None), "EventId: missing"),
        (changed(EventId=""), "EventId: missing"),
        (changed(EventId="  "), "EventId: missing"),
        (changed(EventId=7), "EventId: 7"),
        (without("EventType"), "EventType: missing"),
        (changed(EventType=[]), "EventType: a list"),
        (without("EventStatus"), "EventStatus: missing"),
        (changed(EventStatus=True), "EventStatus: True"),
        (changed(EventSource=1), "EventSource: 1"),
        (changed(ResourceType={}), "ResourceType: a dict"),
        (changed(Description=0), "Description: 0"),
        (without("Resources"), "Resources: missing"),
        (changed(Resources=None), "Resources: missing"),
        (changed(Resources="web_3"), "Resources: 'web_3'"),
        (changed(Resources={"web_3": 1}), "Resources: a dict"),
        (changed(Resources=["web_3", None]), "Resources: a list with None"),
        (changed(Resources=["web_3", ""]), "Resources: a list with ''"),
        (changed(Resources=[" "]), "Resources: a list with ' '"),
        (changed(NotBefore="soon"), "NotBefore: 'soon'"),
        (changed(NotBefore=1794996000), "NotBefore: 1794996000"),
        (changed(DurationInSeconds="9"), "DurationInSeconds: '9'"),
        (changed(DurationInSeconds=True), "DurationInSeconds: True"),
        (changed(DurationInSeconds=[9]), "DurationInSeconds: a list"),
    ],
)
def test_an_event_that_is_none_is_refused_by_number_and_field(entry: Dict[str, Any], said: str) -> None:
    good = changed(EventId="A")
    assert refusal(body_of(good, entry)) == "the answer is not a document of scheduled events: event 2 has " + said


def test_the_same_entry_twice_is_one_event() -> None:
    """C-15: an answer may list an event twice."""
    other = changed(EventId="A", Description="")
    assert [event.event_id for event in parsed(ENTRY, other, ENTRY)] == [EVENT.event_id, "A"]


def test_the_same_entry_in_other_letters_is_one_event() -> None:
    """C-18: ids and VM names are compared without case."""
    other = changed(EventId=EVENT.event_id.lower(), Resources=[name.upper() for name in EVENT.resources])
    assert parsed(ENTRY, other) == (EVENT,)


def test_a_started_event_has_no_not_before_whatever_is_written_there() -> None:
    """C-16: empty once Started; an old time must not make a running event look like one of next week."""
    (event,) = parsed(changed(EventStatus="started"))
    assert (ENTRY["NotBefore"] != "", event.not_before) == (True, None)


def test_a_date_that_is_none_is_refused_in_a_started_event_as_well() -> None:
    assert "event 1 has NotBefore: 'soon'" in refusal(body_of(changed(EventStatus="Started", NotBefore="soon")))


def test_a_key_twice_in_one_object_is_refused() -> None:
    """C-5: who reads it must guess, and nobody may guess the VMs of an event."""
    body = body_of(ENTRY).replace(b'"Resources"', b'"Resources": ["web_9"], "Resources"')
    assert refusal(body) == "the answer is not a document of scheduled events: it is not JSON"


@pytest.mark.parametrize("again", [changed(Resources=["web_3"]), changed(EventId=EVENT.event_id.lower(), DurationInSeconds=8)])
def test_one_id_with_two_contents_is_nothing_to_act_on(again: Dict[str, Any]) -> None:
    """C-18: also when the ids differ in case."""
    assert refusal(body_of(ENTRY, again)) == (
        "the answer is not a document of scheduled events: it lists event %r twice with different content" % again["EventId"]
    )


def test_a_document_is_read_with_a_byte_order_mark_as_well() -> None:
    assert parse_document(b"\xef\xbb\xbf" + body_of(ENTRY), underscored=False).events == (EVENT,)


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_json_may_be_as_deep_as_any_document_and_no_deeper() -> None:
    value = load_json(nested(64))
    for _level in range(63):
        (value,) = value
    assert value == []
    with pytest.raises(ValueError, match=r"^nested too deeply$"):
        load_json(nested(65))


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_json_too_deep_for_the_interpreter_is_a_value_error(opening: bytes) -> None:
    with pytest.raises(ValueError, match=r"^nested too deeply$"):
        load_json(opening * 200000)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_the_numbers_of_python_alone_are_not_json(word: str) -> None:
    with pytest.raises(ValueError, match="^%s is not JSON$" % word):
        load_json(word.encode())


@pytest.mark.parametrize("body", [b"1e999", b"[-1e999]", b'{"a": 1e999}'])
def test_a_number_out_of_range_is_not_json(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"^a number out of range$"):
        load_json(body)


@pytest.mark.parametrize("body", [b'"\\ud800"', b'["\\udc00"]', b'{"\\ud800": 1}', b'{"a": {"b": ["\\ud800"]}}'])
def test_text_that_cannot_be_printed_is_not_json(body: bytes) -> None:
    with pytest.raises(UnicodeEncodeError):
        load_json(body)


def test_json_has_every_other_value() -> None:
    values: List[Any] = [None, True, 1, -1.5, 1e308, "\u00fc \U0001f600", {"a": {"b": []}}]
    assert load_json(json.dumps(values).encode()) == values


def test_a_result_shows_the_event_as_everywhere() -> None:
    assert event_result(EVENT, queried_at=TEN_O_CLOCK - 840.5, vm_name="WEB_4") == {
        "event_id": "602D9444-D2CD-49C7-8624-8643E7171297",
        "event_type": "Reboot",
        "event_status": "Scheduled",
        "event_source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": ["web_3", "web_4"],
        "not_before": "2026-11-18T10:00:00Z",
        "seconds_to_not_before": 840,
        "description": "Host maintenance.",
        "duration_seconds": 9,
        "affects_this_vm": True,
    }


def test_a_result_shows_what_is_not_known_as_none() -> None:
    result = event_result(replace(EVENT, not_before=None, duration_seconds=None, event_source=None), queried_at=0.0, vm_name=None)
    unknown = {key for key, value in result.items() if value is None}
    assert unknown == {"not_before", "seconds_to_not_before", "duration_seconds", "event_source", "affects_this_vm"}


@pytest.mark.parametrize(("queried_at", "seconds"), [(TEN_O_CLOCK, 0), (TEN_O_CLOCK + 90, -90), (TEN_O_CLOCK - 0.5, 0)])
def test_the_seconds_to_not_before_are_whole_and_may_be_over(queried_at: float, seconds: int) -> None:
    assert event_result(EVENT, queried_at=queried_at, vm_name="web_30")["seconds_to_not_before"] == seconds


@pytest.mark.parametrize(
    ("vm_name", "hit"), [("web_3", True), ("WEB_4", True), ("web_30", False), ("web_", False), ("eb_3", False), ("web_3 ", False)]
)
def test_an_event_affects_the_vms_that_it_names_and_no_other(vm_name: str, hit: bool) -> None:
    """C-18, C-20: whole names, without case."""
    assert affects(EVENT, vm_name) is hit
    assert event_result(EVENT, queried_at=0.0, vm_name=vm_name)["affects_this_vm"] is hit


@pytest.mark.parametrize(
    ("status", "scheduled", "started"),
    [("Scheduled", True, False), ("scheduled", True, False), ("Started", False, True), ("STARTED", False, True), ("Paused", False, False)],
)
def test_a_status_is_scheduled_started_or_neither(status: str, scheduled: bool, started: bool) -> None:
    event = replace(EVENT, event_status=status)
    assert (event.scheduled, event.started) == (scheduled, started)


def test_a_document_finds_an_event_by_its_id_without_case() -> None:
    """C-18."""
    document = Document(1, (replace(EVENT, event_id="A-1"), replace(EVENT, event_id="A-10")), {})
    assert document.find("a-10") is document.events[1]
    assert document.find("A-1") is document.events[0]
    assert document.find("A-") is None


def test_names_are_compared_whole_and_without_case() -> None:
    """C-18, C-20."""
    assert same_name("VM_1", "vm_1")
    assert not same_name("vm_1", "vm_10")
    assert fold("VM_1") == "vm_1"


@pytest.mark.parametrize(
    ("value", "known"), [("Reboot", "Reboot"), ("REBOOT", "Reboot"), ("Reboots", "unknown"), ("", "unknown"), (None, "unknown")]
)
def test_a_value_is_known_by_its_spelling_in_the_contract(value: Optional[str], known: str) -> None:
    assert known_as(value, ("Freeze", "Reboot")) == known


def test_the_words_of_the_contract_are_spelled_as_there() -> None:
    """C-13 to C-15."""
    assert _document.KNOWN_TYPES == ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")
    assert _document.KNOWN_STATUSES == ("Scheduled", "Started")
    assert _document.KNOWN_SOURCES == ("Platform", "User")
