# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records as JSON and as names; whatever is read gives a record or BrokenRecordError."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Dict, List, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import records as r
from azure_event_handlers.errors import BrokenRecordError
from azure_event_handlers.records import Driver, Post, Record, Step, Who, Work
from azure_event_handlers.terms import Term
from hypothesis import given
from hypothesis import strategies as st

EVENT = Event("E-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0", "web_1"), 2000.5, "text", 9)
WORK = Work(r.ENDED, r.DONE, 0, 2, 1, "boot", 3.0, 1.0, 2.0, "last lines")
RECORD = Record(
    EVENT,
    2,
    "vm",
    state=r.PREPARED,
    times=Times(2000.5, 300.0, 60.0, 5.0),
    driver=Driver("playbook", "run 1", Term(1100.0, 600.0, 90.0, "boot-1")),
    given_to=(Who("playbook", "run 0"), Who("playbook", "run 1")),
    post=Post("playbook", "run 1", "web_5", 1050.0, r.UNCLEAR, 1051.0, maybe=True),
    attempt=1,
    deadline=Term(1300.0, 300.0, 390.0, "boot-1"),
    steps=(Step("10-alpha", "alpha", 30.0, True, prepare=WORK), Step("20-beta", "beta", 30.0, False)),
    decision="prepare",
)
GOOD: Dict[str, Any] = json.loads(json.dumps(r.to_json(RECORD)))


def broken(data: Any) -> str:
    with pytest.raises(BrokenRecordError) as error:
        r.from_json(data)
    return error.value.message


@pytest.mark.parametrize("record", [RECORD, Record(EVENT, 1, "vm"), Record(replace(EVENT, event_source=None, not_before=None), 1, "")])
def test_what_is_written_is_read(record: Record) -> None:
    assert r.from_json(r.parsed(json.dumps(r.to_json(record)).encode())) == record


def without(key: str) -> Dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != key}


def test_a_newer_record_is_not_touched_by_an_older_program() -> None:
    for data in ({**GOOD, "format": True}, {**GOOD, "format": 3}, without("format")):
        assert broken(data) == "record: it has not format 2, which is what this program reads"


def _of_before(state: str = r.COMMITTED, **more: Any) -> Dict[str, Any]:
    """As the program wrote it that knew neither the word on an approval nor a clock that nobody sets."""
    old = {key: value for key, value in GOOD.items() if key not in ("given_to", "post")}
    driver = {"name": "playbook", "run": "run 1", "lease_until": 1100.0}
    return {**old, "format": 1, "state": state, "driver": driver, "deadline": 1300.0, **more}


@pytest.mark.parametrize(
    ("data", "driver", "given_to", "deadline"),
    [
        (_of_before(), Driver("playbook", "run 1", Term(1100.0)), (Who("playbook", "run 1"),), Term(1300.0)),
        (_of_before(r.PREPARED, deadline=None), Driver("playbook", "run 1", Term(1100.0)), (), None),
        (_of_before(driver=None), None, (), Term(1300.0)),
    ],
)
def test_a_host_that_is_upgraded_while_it_is_out_of_service_is_still_put_back(
    data: Dict[str, Any], driver: Any, given_to: Any, deadline: Any
) -> None:
    """W-47: and nobody but the driver that has its word can say that nothing was posted."""
    record = r.from_json(data)
    assert (record.driver, record.given_to, record.post, record.deadline) == (driver, given_to, None, deadline)
    assert record.steps == RECORD.steps
    assert r.from_json(json.loads(json.dumps(r.to_json(record)))) == record


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "record: not an object"),
        ([], "record: not an object"),
        ({**GOOD, "steps": {}}, "steps: not a list"),
        ({**GOOD, "steps": [1]}, "step: not an object"),
        ({**GOOD, "event": None}, "event: not an object"),
        ({**GOOD, "state": "ASLEEP"}, "state: 'ASLEEP' is none of %s" % ", ".join(r.STATES)),
        ({**GOOD, "view": "hidden"}, "view: 'hidden' is none of scheduled, started, gone, not_named"),
        ({**GOOD, "attempt": True}, "record.attempt: True is not what belongs there"),
        ({**GOOD, "attempt": "1"}, "record.attempt: '1' is not what belongs there"),
        ({**GOOD, "committing": 1}, "record.committing: 1 is not what belongs there"),
        ({**GOOD, "attempt": 10**400}, "record.attempt: not a number to count with"),
        ({**GOOD, "deadline": {**GOOD["deadline"], "ends": float("inf")}}, "deadline.ends: inf is not a number to count with"),
        ({**GOOD, "driver": {**GOOD["driver"], "lease": 7}}, "lease: not an object"),
        ({**GOOD, "given_to": {}}, "given_to: not a list"),
        (
            {**GOOD, "post": {**GOOD["post"], "outcome": "lost"}},
            "outcome: 'lost' is none of taken, refused, unclear, already_started, gone",
        ),
        (_of_before(given_to=[]), "record: it has keys that format 1 has not"),
        (_of_before(driver=7), "driver: not an object"),
        (_of_before(driver={"name": "playbook", "run": "run 1"}), "driver.lease_until: None is not what belongs there"),
        (_of_before(deadline="soon"), "record.deadline: 'soon' is not what belongs there"),
        ({**GOOD, "vm_id": None}, "record.vm_id: None is not what belongs there"),
        ({**GOOD, "event": {**GOOD["event"], "resources": ["a", 1]}}, "event.resources: not a list of texts"),
    ],
)
def test_what_is_not_as_it_was_written_is_broken(data: Any, message: str) -> None:
    assert broken(data) == message


def test_a_missing_and_an_unknown_key_are_broken() -> None:
    assert broken(without("view")).startswith("record: has the keys ")
    assert broken({**GOOD, "more": 1}).startswith("record: has the keys ")


def test_words_of_work_are_checked() -> None:
    def with_work(**more: Any) -> Dict[str, Any]:
        step = {**GOOD["steps"][0], "prepare": {**GOOD["steps"][0]["prepare"], **more}}
        return {**GOOD, "steps": [step]}

    assert broken(with_work(progress="half")) == "progress: 'half' is none of idle, intended, ended"
    assert broken(with_work(outcome="fine")).startswith("outcome: 'fine' is none of ")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"nul", b"1" * 10_000])
def test_what_is_no_json_is_broken(body: bytes) -> None:
    with pytest.raises(BrokenRecordError, match=r"not JSON|not an object"):
        r.from_json(r.parsed(body))


# --- properties ----------------------------------------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([*r.STATES, *r.PROGRESS])
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8
)
Path = Tuple[Any, ...]


def paths(data: Any, before: Path = ()) -> List[Path]:
    """The place of each value in it."""
    found: List[Path] = [before] if before else []
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        found.extend(paths(value, (*before, key)))
    return found


def changed(data: Any, path: Path, value: Any) -> Any:
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = changed(copy[path[0]], path[1:], value) if len(path) > 1 else value
    return copy


def is_used(record: Record) -> None:
    """Nothing that the core asks of a record that was read fails."""
    assert r.from_json(r.parsed(json.dumps(r.to_json(record)).encode())) == record
    assert re.fullmatch("[0-9a-f]{16}", record.key)
    for index in range(len(record.steps)):
        for phase in r.PHASES:
            assert r.unit_of(record, index, phase)
    assert record.ready in (True, False)


def reads(data: Any) -> None:
    try:
        record = r.from_json(data)
    except BrokenRecordError:
        return
    is_used(record)


@given(JSON)
def test_any_json_is_a_record_or_broken(data: Any) -> None:
    reads(data)
    if isinstance(data, dict):
        reads({**GOOD, **data})
        reads({"format": 1, **data})


@given(st.sampled_from(paths(GOOD)), JSON)
def test_a_good_record_with_another_value_is_a_record_or_broken(path: Path, value: Any) -> None:
    reads(changed(GOOD, path, value))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_broken(body: bytes) -> None:
    try:
        reads(r.parsed(body))
    except BrokenRecordError:
        return


# --- names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event_id", ["../../x", "a b; rm -rf /", "\ud800", "", "E" * 10_000, "\x00"])
def test_an_id_is_never_part_of_a_name(event_id: str) -> None:
    """W-58."""
    record = Record(replace(EVENT, event_id=event_id), 1, "vm", steps=RECORD.steps)
    assert re.fullmatch("[0-9a-f]{16}", record.key)
    assert re.fullmatch("azure-event-handler-[0-9a-f]{16}-0-1-prepare-0-0", r.unit_of(record, 1, r.PREPARE))


def test_names_differ_by_occurrence_attempt_handler_phase_try_and_cut() -> None:
    """W-15."""
    two = (RECORD.steps[0], RECORD.steps[0])
    base = replace(RECORD, steps=two)
    names = [
        r.unit_of(base, 0, r.PREPARE),
        r.unit_of(replace(base, occurrence=1), 0, r.PREPARE),
        r.unit_of(replace(base, attempt=2), 0, r.PREPARE),
        r.unit_of(base, 1, r.PREPARE),
        r.unit_of(base, 0, r.RECOVER),
        r.unit_of(base.having(0, r.PREPARE, replace(WORK, tries=3)), 0, r.PREPARE),
        r.unit_of(base.having(0, r.PREPARE, replace(WORK, interrupted=3)), 0, r.PREPARE),
    ]
    assert len(set(names)) == len(names)


def test_an_id_is_the_same_in_any_case() -> None:
    assert r.key_of("abc", 1) == r.key_of("ABC", 1) != r.key_of("ABC", 2)


@pytest.mark.parametrize(
    ("works", "claimed"),
    [
        ({}, False),
        ({"prepare": Work(r.INTENDED)}, True),
        ({"prepare": Work(tries=1)}, True),
        ({"prepare": Work(r.ENDED, r.DONE)}, True),
        ({"prepare": Work(r.ENDED, r.FAILED)}, True),
        ({"prepare": Work(r.ENDED, r.STOPPED)}, True),
        ({"prepare": Work(r.ENDED, r.UNCHANGED)}, False),
        ({"prepare": Work(r.ENDED, r.DONE), "recover": Work(tries=1)}, True),
        ({"prepare": Work(r.ENDED, r.DONE), "recover": Work(r.ENDED, r.DONE)}, False),
    ],
)
def test_recovered_is_what_was_begun_and_did_not_say_77(works: Dict[str, Work], claimed: bool) -> None:
    """W-42."""
    record = replace(RECORD, steps=(Step("alpha", "alpha", 30.0, True, **works),))
    assert record.claims("alpha") is claimed
    assert not replace(record, state=r.CLOSED).claims("alpha")
    assert not record.claims("beta")
