# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts have reported is read whatever it is (`_told`)."""

from __future__ import annotations

import math
from typing import Any, Dict, Iterator, List, Mapping

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils import _told


class Untemplatable(Mapping[str, Any]):
    """Variables of a host that raise when they are looked at."""

    def __getitem__(self, key: str) -> Any:
        raise LookupError(key)

    def __contains__(self, key: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def nested(depth: int) -> List[Any]:
    value: List[Any] = []
    for _level in range(depth):
        value = [value]
    return value


def test_every_host_has_every_key_and_what_is_not_there_is_none() -> None:
    hostvars = {"web1": {"a": 1, "b": ("x",), "c": 3}, "web2": {}}
    assert _told.told(hostvars, ["web1", "web2", "web1"], ["a", "b"]) == {"web1": {"a": 1, "b": ["x"]}, "web2": {"a": None, "b": None}}


@pytest.mark.parametrize("hostvars", [None, "hosts", [], {"web2": {}}, {"web1": "words"}, {"web1": None}])
def test_a_host_of_whom_there_are_no_variables_has_reported_nothing(hostvars: Any) -> None:
    assert _told.told(hostvars, ["web1"], ["a"]) == {"web1": {}}


def test_variables_that_cannot_be_templated_are_not_there() -> None:
    assert _told.told(Untemplatable(), ["web1"], ["a"], unreadable=(LookupError,)) == {"web1": {}}
    assert _told.told({"web1": Untemplatable()}, ["web1"], ["a"], unreadable=(LookupError,)) == {"web1": {"a": None}}


def test_plain_keeps_what_is_plain_and_drops_the_rest() -> None:
    given: Dict[Any, Any] = {"a": [1, 2.5, True, None, "x", object()], 7: "no text", "b": ({"c": {1}},)}
    assert _told.plain(given) == {"a": [1, 2.5, True, None, "x", None], "b": [{"c": None}]}


def test_plain_does_not_follow_what_has_no_end() -> None:
    endless: List[Any] = []
    endless.append(endless)
    assert isinstance(_told.plain(endless), list)
    assert _told.plain(nested(20)) == nested(20)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), ("", None), ("  ", None), (7, None), (" a\n b ", "a b"), ("A sentence.", "A sentence.")],
)
def test_text(value: Any, expected: Any) -> None:
    assert _told.text(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(None, None), ("A sentence.", "A sentence"), ("...", None), (["a"], None)])
def test_a_sentence_loses_its_end(value: Any, expected: Any) -> None:
    assert _told.sentence(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ([], []),
        ("", []),
        ("It broke.", ["It broke"]),
        (["It broke.", "Twice"], ["It broke", "Twice"]),
        ({"a": 1}, ["something that it does not say in words"]),
        ([7], ["something that it does not say in words"]),
    ],
)
def test_whatever_is_said_of_trouble_is_trouble(value: Any, expected: List[str]) -> None:
    assert _told.sentences(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, None),
        (5, 5.0),
        (1e300, None),
        (-1e11, None),
        (math.nan, None),
        ("1970-01-01T00:00:10Z", 10.0),
        ("soon", None),
        ([], None),
        (None, None),
        ("", None),
    ],
)
def test_instant(value: Any, expected: Any) -> None:
    assert _told.instant(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(True, None), ("5", None), (5, 5.0), (10**400, None), (-3.5, -3.5), (math.inf, None)])
def test_number(value: Any, expected: Any) -> None:
    assert _told.number(value) == expected


@pytest.mark.parametrize(("value", "expected"), [("12.5", 12.5), (3, 3.0), (None, None), ("now", None), (10**400, None)])
def test_the_moment_is_unknown_where_nobody_says_it(value: Any, expected: Any) -> None:
    moment = _told.moment(value)
    assert math.isnan(moment) if expected is None else moment == expected


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), ("True", True), ("no", False), (1, False), (None, False)])
def test_flag(value: Any, expected: bool) -> None:
    assert _told.flag(value) is expected


def test_names_are_names_or_there_are_none() -> None:
    assert _told.names(("a", "b")) == ["a", "b"]
    assert _told.names(["a", 7]) == []
    assert _told.names("ab") == []


def test_ids_are_the_same_without_case() -> None:
    assert _told.same("E1", "e1")
    assert not _told.same("E1", None)
    assert not _told.same(7, "7")


@pytest.mark.parametrize("flagged", ["skipped", "unreachable", "failed"])
def test_a_task_that_was_not_done_has_no_result(flagged: str) -> None:
    assert _told.done({"ok": True, flagged: True}) == {}
    assert _told.done({"ok": True, flagged: False}) == {"ok": True, flagged: False}
    assert _told.done({"ok": True, flagged: None}) == {}
    assert _told.done(None) == {}
    assert _told.is_marked_well({"ok": True, flagged: True})
    assert not _told.is_marked_well({"ok": True, flagged: None})
    assert not _told.is_marked_well("words")


def test_entries_are_those_with_a_key() -> None:
    assert _told.entries_of({"events": [{"key": "a"}, {"key": 7}, "b", {}]}) == {"a": {"key": "a"}}
    assert _told.entries_of(None) == {}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({}, "event without an id of nobody"),
        ({"event": {"event_id": "E1", "event_type": "Reboot", "resources": ["vm-1"]}}, "Reboot E1 of vm-1"),
        ({"event": {"event_id": "E1", "event_type": "Reboot", "resources": ["vm-1"]}, "hosts": ["a", "b"]}, "Reboot E1 of a, b"),
    ],
)
def test_an_event_is_named_by_type_id_and_hosts(entry: Any, expected: str) -> None:
    assert _told.label(entry) == expected


def test_when_azure_starts_it() -> None:
    assert _told.azure_starts(None) == "Azure can start it at any moment"
    assert _told.azure_starts(0.0) == "Azure starts it at Thu 1970-01-01 00:00 UTC"
    assert _told.not_before_of({"event": {"not_before": "1970-01-01T00:00:10Z"}}) == 10.0
    assert _told.not_before_of({"not_before": 5, "event": {"not_before": 7}}) == 5.0
