# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever bytes come: a document that says what they say, or our own error."""

from __future__ import annotations

import codecs
import contextlib
import copy
import json
import math
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Document, event_result, parse_document
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import DocumentError
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.dice import Dice, thrown
from hypothesis import example, given
from hypothesis import strategies as st

VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
NEWEST = VERSIONS[-1]
SAMPLES = {path.stem: path.read_bytes() for path in sorted((Path(__file__).parent / "fixtures" / "documents").glob("*.json"))}
BODIES = tuple(SAMPLES.values())
# Values that belong nowhere, and some that belong somewhere else.
STRANGE: Tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    -0.0,
    2**63,
    10**400,
    1e308,
    math.inf,
    -math.inf,
    math.nan,
    "",
    " ",
    "0",
    "17",
    "9" * 31,
    "\u0663",
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udfffy",
    "\ufeff",
    "\u0130\u0131\u00df",
    "\U0001f600",
    "Reboot",
    "started",
    "mysrv",
    "_mysrv",
    "Mon, 19 Sep 2016 18:29:47 GMT",
    "2016-09-19T18:29:47+23:59",
    "0001-01-01T00:00:00+00:01",
    "Sat, 31 Dec 9999 23:59:60 GMT",
    [],
    {},
    [None],
    [[]],
    ["a", "A"],
    {"Events": []},
    {"": None},
)
KEYS = (
    "EventId",
    "EventType",
    "ResourceType",
    "Resources",
    "EventStatus",
    "NotBefore",
    "Description",
    "EventSource",
    "DurationInSeconds",
    "DocumentIncarnation",
    "Events",
    "Else",
    "\udc00",
    "",
)


def outcome_of(body: bytes, api_version: str = NEWEST) -> Optional[Document]:
    """A document that has been checked against its bytes; None for our own error. Anything else goes through."""
    try:
        document = parse_document(body, underscored=api_version == "2017-03-01")
    except DocumentError as error:
        message = error.message
    else:
        check(document, body, underscore=api_version == "2017-03-01")
        return document
    assert message.startswith("the answer is not a document of scheduled events: ")
    assert message.isascii()
    assert message.isprintable()
    return None


def check(document: Document, body: bytes, *, underscore: bool) -> None:
    """The document against a second, plain reading of the same bytes."""
    content = json.loads(body[3:] if body.startswith(codecs.BOM_UTF8) else body)
    assert document.raw == content
    assert document.incarnation == int(content["DocumentIncarnation"])
    entries = {entry["EventId"].lower(): entry for entry in content["Events"]}
    assert [event.event_id.lower() for event in document.events] == list(entries)
    for event, entry in zip(document.events, entries.values()):
        check_event(event_result(event, queried_at=0.5, vm_name=None), entry, underscore=underscore)
    printable(document.raw)


def check_event(result: Dict[str, Any], entry: Dict[str, Any], *, underscore: bool) -> None:
    for key, field in (("EventType", "event_type"), ("EventStatus", "event_status"), ("EventSource", "event_source")):
        assert result[field] == entry.get(key)
    for key, field in (("ResourceType", "resource_type"), ("Description", "description")):
        assert result[field] == (entry.get(key) or "")
    marked = [name[:1] == "_" for name in entry["Resources"]]
    assert result["resources"] == [name[underscore and mark :] for name, mark in zip(entry["Resources"], marked)]
    announced = entry.get("DurationInSeconds")
    assert result["duration_seconds"] == (None if announced is None or announced < 0 else math.trunc(announced))
    has_no_time = entry["EventStatus"].lower() == "started" or not (entry.get("NotBefore") or "").strip()
    assert (result["not_before"] is None) == has_no_time
    printable(result)


def printable(value: Any) -> None:
    """What goes into a result travels through other people's JSON and UTF-8."""
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8) | st.sampled_from(STRANGE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=5),
    max_leaves=5,
)


@given(st.binary(max_size=200))
@example(b"")
@example(b"\x00")
@example(codecs.BOM_UTF8)
@example(codecs.BOM_UTF16_LE + '{"DocumentIncarnation": 1, "Events": []}'.encode("utf-16-le"))
@example(b"[" * 100000)
@example(b'{"a":' * 100000)
@example(b"9" * 100000)
@example(b'{"DocumentIncarnation": ' + b"9" * 5000 + b', "Events": []}')
@example(b'{"DocumentIncarnation": 1e400, "Events": []}')
@example(b"<!DOCTYPE html><html></html>")
def test_any_bytes_give_our_error_or_a_document(body: bytes) -> None:
    """C-5: never another exception, never "no events" for an answer that is not a document."""
    outcome_of(body)


@given(json_values, st.integers(0, 6), st.booleans())
@example([], 0, True)
@example({"DocumentIncarnation": 1, "Events": []}, 0, True)
@example("\ud800", 6, True)
def test_any_json_gives_our_error_or_a_document(value: Any, place: int, escaped: bool) -> None:
    """C-5, C-14: as the whole answer, as each part of one, and beside what belongs there."""
    document = json.loads(SAMPLES["2020-07-01-freeze-shared-wrong-weekday"])
    key = KEYS[len(repr(value)) % 9]
    places: Tuple[Callable[[], Any], ...] = (
        lambda: value,
        lambda: {**document, "Events": value},
        lambda: {**document, "DocumentIncarnation": value},
        lambda: {**document, "Events": [value]},
        lambda: {**document, "Events": [*document["Events"], value]},
        lambda: {**document, "Events": [{**document["Events"][0], key: value}]},
        lambda: {**document, "Events": [{**document["Events"][0], "Unknown": value}], "Unknown": value},
    )
    outcome_of(json.dumps(places[place](), ensure_ascii=escaped).encode("utf-8", "surrogatepass"))


Place = Tuple[Any, Any]


def places_in(value: Any) -> List[Place]:
    """Every place of a value, as its container and the key or index in it."""
    found: List[Place] = []
    waiting = [value]
    while waiting:
        container = waiting.pop()
        inside: Iterator[Any] = iter(container.items() if isinstance(container, dict) else enumerate(container))
        for key, item in list(inside):
            found.append((container, key))
            if isinstance(item, (dict, list)):
                waiting.append(item)
    return found


def drop(container: Any, key: Any, _gene: int) -> None:
    del container[key]


def retype(container: Any, key: Any, gene: int) -> None:
    container[key] = copy.deepcopy(STRANGE[gene % len(STRANGE)])


def respell(container: Any, key: Any, gene: int) -> None:
    if isinstance(container[key], str):
        text = container[key]
        container[key] = (text.swapcase(), text + "\x00", text[::-1], " " + text, "_" + text, text[: gene % 9], text * 2)[gene % 7]


def rename(container: Any, key: Any, gene: int) -> None:
    if isinstance(container, dict):
        container[KEYS[gene % len(KEYS)]] = container.pop(key)


def repeat(container: Any, key: Any, gene: int) -> None:
    if isinstance(container, list):
        container.insert(gene % (len(container) + 1), copy.deepcopy(container[key]))
    else:
        container[KEYS[gene % len(KEYS)]] = copy.deepcopy(container[key])


def bury(container: Any, key: Any, gene: int) -> None:
    """Deeper by one, or around the depth that is refused, or far beyond."""
    for level in range((1, 1, 2, 58, 61, 62, 66)[gene % 7]):
        container[key] = [container[key]] if (gene + level) % 2 else {"k": container[key]}


def scale(container: Any, key: Any, gene: int) -> None:
    if isinstance(container[key], (int, float)):
        container[key] = container[key] * (-1, 0.1, 10**25, 1e300, 2**64, -(10**400))[gene % 6] if container[key] == container[key] else 0


MUTATIONS = (drop, retype, retype, respell, rename, repeat, bury, scale)


def mutated(body: bytes, genes: List[int]) -> Any:
    """The document after one small change per gene; swaps exchange what two changes hit."""
    document = json.loads(body)
    changed: List[Place] = []
    for gene in genes:
        places = places_in(document)
        if not places:
            break
        container, key = places[gene // 64 % len(places)]
        kind = gene % (len(MUTATIONS) + 1)
        if kind < len(MUTATIONS):
            mutate(MUTATIONS[kind], container, key, gene // 64)
        elif changed and changed[-1] in places:
            other, other_key = changed[-1]
            first, second = copy.deepcopy(container[key]), copy.deepcopy(other[other_key])
            container[key], other[other_key] = second, first
        changed.append((container, key))
    return document


def mutate(mutation: Callable[[Any, Any, int], None], container: Any, key: Any, gene: int) -> None:
    with contextlib.suppress(OverflowError):  # a number too large to be scaled stays as it is
        mutation(container, key, gene)


genes = st.lists(st.integers(0, 2**24), min_size=1, max_size=5)


@given(st.sampled_from(BODIES), genes, st.sampled_from(VERSIONS), st.booleans())
def test_any_mutation_of_a_document_gives_our_error_or_a_document(body: bytes, change: List[int], version: str, escaped: bool) -> None:
    """C-5, C-13, C-14: keys dropped, retyped, renamed, doubled, swapped, buried."""
    text = json.dumps(mutated(body, change), ensure_ascii=escaped)
    outcome_of(text.encode("utf-8", "surrogatepass"), version)


def cut(body: bytes, gene: int) -> bytes:
    return body[: gene % len(body)]


def flip(body: bytes, gene: int) -> bytes:
    place = gene // 8 % len(body)
    return body[:place] + bytes([body[place] ^ (1 << gene % 8)]) + body[place + 1 :]


INSERTED = (*(b"\x00 \xff \xc0\x80 \xed\xa0\x80 \\u0000 \\ud800 [ } , - 1e999 NaN".split()), b'"', codecs.BOM_UTF8)


def insert(body: bytes, gene: int) -> bytes:
    place = gene // len(INSERTED) % len(body)
    return body[:place] + INSERTED[gene % len(INSERTED)] + body[place:]


def leave_out(body: bytes, gene: int) -> bytes:
    place = gene // 16 % len(body)
    return body[:place] + body[place + 1 + gene % 16 :]


def key_twice(body: bytes, gene: int) -> bytes:
    key = b'"%s": ' % KEYS[gene % 11].encode()
    return body.replace(key, key + b"null, " + key, 1)


def recode(body: bytes, gene: int) -> bytes:
    return body.decode("utf-8", "replace").encode(("utf-16", "utf-32", "utf-8-sig", "utf-16-le")[gene % 4])


DAMAGES = (cut, flip, flip, flip, insert, insert, leave_out, key_twice, recode)


@given(st.sampled_from(BODIES), genes)
@example(SAMPLES["2020-07-01-empty"], [0])
def test_any_damage_to_the_bytes_gives_our_error_or_a_document(body: bytes, change: List[int]) -> None:
    """C-5: cut off, flipped, filled up, encoded by somebody else."""
    for gene in change:
        if body:
            body = DAMAGES[gene % len(DAMAGES)](body, gene // len(DAMAGES))
    outcome_of(body)


WORDS = ("Reboot", "freeze", "GuestImageUpdate", "Scheduled", "Started", "Paused", "Platform", "\u00fcber", "x y", "\x00", "\U0001f600")
NAMES = ("vm_1", "VM_1", "vm_10", "_vm", "web-0", "\u0130", "aks-nodepool1-21922338-vmss_47")
DATES = ("", " ", "Mon, 19 Sep 2016 18:29:47 GMT", "Tue, 19 Sep 2016 18:29:47 GMT", "2016-09-19T18:29:47Z", "2016-09-19T20:29:47.0+02:00")
DURATIONS = (-1, 0, 1, 9, 5.5, 86400, 2**40)
FURTHER = ({}, {}, {"Later": None}, {"later": [1.5, {"k": "\u00df"}]}, {"EventID": "X"}, {"": False})


def entry_of(number: int, die: Dice) -> Dict[str, Any]:
    """A good entry; what a version may lack is there, null or absent."""
    entry: Dict[str, Any] = {
        "EventId": "Event-%d" % number,
        "EventType": die.one_of(WORDS),
        "EventStatus": die.one_of(WORDS),
        "Resources": [die.one_of(NAMES) for _name in range(die.below(4))],
    }
    later = (
        ("NotBefore", DATES),
        ("EventSource", WORDS),
        ("DurationInSeconds", DURATIONS),
        ("Description", WORDS),
        ("ResourceType", WORDS),
    )
    for key, values in later:
        value = die.one_of(values)
        entry.update(die.one_of(({}, {key: None}, {key: value}, {key: value})))
    return {**entry, **die.one_of(FURTHER)}


@given(thrown(80), st.integers())
def test_a_good_document_comes_through_unharmed(dice: bytes, incarnation: int) -> None:
    """C-12 to C-18: values as they were put in, unknown types, statuses and fields too."""
    die = Dice(dice)
    version, count = die.one_of(VERSIONS), die.below(5)
    in_digits = str(incarnation) if 0 <= incarnation < 10**30 else incarnation
    content = {
        "DocumentIncarnation": die.one_of((incarnation, in_digits)),
        "Events": [entry_of(number, die) for number in range(count)],
    }
    document = outcome_of(json.dumps(content, ensure_ascii=die.one_of((True, False))).encode(), version)
    assert document is not None
    assert len(document.events) == count
    assert {event.not_before for event in document.events} <= {None, 1474309787.0}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_sample_of_each_version_and_case_is_a_document(name: str) -> None:
    assert outcome_of(SAMPLES[name], name[:10]) is not None


def test_a_mutation_leaves_some_documents_good_and_makes_some_bad() -> None:
    """Else the properties above would prove little."""
    outcomes = [outcome_of(json.dumps(mutated(BODIES[gene % len(BODIES)], [gene * 977])).encode()) for gene in range(500)]
    refused = sum(outcome is None for outcome in outcomes)
    assert 100 < refused < 400
