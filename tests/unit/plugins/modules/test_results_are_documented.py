# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What RETURN says and what a module sends are the same, key by key, at every depth, in success and in failure."""

from __future__ import annotations

import importlib
from typing import Any, Dict, Iterator, List, Mapping, Set, Tuple

import pytest
import yaml
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import (
    FIRST,
    INFO,
    MODULES,
    NEVER,
    SECOND,
    Result,
    Stage,
)

# Ansible's own: documented once for all modules.
COMMON = {"changed", "failed", "msg", "diff", "warnings", "invocation", "exception"}
TYPES: Mapping[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool, "list": list, "dict": dict, "raw": object}


def _documented(module: str) -> Dict[str, Any]:
    source = importlib.import_module("ansible_collections.cloud_maintenance.azure.plugins.modules." + module)
    return dict(yaml.safe_load(source.RETURN))


def _differences(documented: Mapping[str, Any], values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Keys that are sent and not documented, and values of another type than documented."""
    for key, value in values.items():
        place = path + key
        if key not in documented:
            yield "%s is not documented" % place
            continue
        entry = documented[key]
        if value is None:
            continue
        if not isinstance(value, TYPES[entry["type"]]) or (entry["type"] == "int" and isinstance(value, bool)):
            yield "%s is no %s: %r" % (place, entry["type"], value)
        for item in _nested(entry, value):
            yield from _differences(entry["contains"], item, place + ".")
            yield from ("%s.%s is missing" % (place, name) for name in set(entry["contains"]) - set(item))


def _nested(entry: Mapping[str, Any], value: Any) -> List[Mapping[str, Any]]:
    if "contains" not in entry:
        return []
    return list(value) if isinstance(value, list) else [value]


def _paths(documented: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for key, entry in documented.items():
        yield path + key
        yield from _paths(entry.get("contains", {}), path + key + ".")


def _sent(documented: Mapping[str, Any], values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield path + key
        for item in _nested(documented[key], value) if value is not None else ():
            yield from _sent(documented[key]["contains"], item, path + key + ".")


def _results(stage: Stage, module: str) -> Iterator[Tuple[str, Result]]:
    """The module in all the moods in which it ends."""
    stage.reboot("web_0", runs_for=None)
    stage.reboot("web_0", "web_1", event_id=SECOND)
    needed: Dict[str, Any] = {} if module == INFO else {"event_ids": [FIRST]}
    yield "bad option", stage.run(module, timeout="soon", **needed)
    stage.simulator.fault("status", status=403)
    yield "service", stage.run(module, **needed)
    yield from getattr(_Moods, module.split("_")[-1])(stage)


class _Moods:
    @staticmethod
    def info(stage: Stage) -> Iterator[Tuple[str, Result]]:
        yield "success", stage.info(gather_vm=True, query="events[].event_id")
        yield "success", stage.info()
        yield "success", stage.info(api_version="2017-03-01", check=True)
        yield "success", stage.info(event_ids=[])

    @staticmethod
    def approve(stage: Stage) -> Iterator[Tuple[str, Result]]:
        yield "success", stage.approve()
        yield "refused", stage.approve(FIRST, SECOND)
        yield "refused", stage.approve(FIRST, NEVER, if_missing="fail", check=True)
        yield "success", stage.approve(FIRST, check=True, diff=True)
        yield "success", stage.approve(FIRST, NEVER, diff=True)
        yield "success", stage.approve(FIRST)

    @staticmethod
    def wait(stage: Stage) -> Iterator[Tuple[str, Result]]:
        yield "success", stage.wait()
        yield "late", stage.wait(FIRST, wait_timeout="1s")
        yield "absent", stage.wait(NEVER, FIRST)
        yield "success", stage.wait(FIRST, until="started", check=True)
        yield "success", stage.wait(FIRST, NEVER, until="started", allow_absent=True)


def _own(result: Result) -> Dict[str, Any]:
    return {key: value for key, value in result.values.items() if key not in COMMON}


@pytest.mark.parametrize("module", MODULES)
def test_each_key_in_a_result_is_documented_and_the_other_way_round(stage: Stage, module: str) -> None:
    documented = _documented(module)
    seen: Set[str] = set()
    for mood, result in _results(stage, module):
        assert result.failed == (mood != "success"), result.message
        assert list(_differences(documented, _own(result))) == []
        seen.update(_sent(documented, _own(result)))
    assert seen == set(_paths(documented))


@pytest.mark.parametrize("module", MODULES)
def test_each_key_is_returned_when_its_documentation_says(stage: Stage, module: str) -> None:
    documented = _documented(module)
    for mood, result in _results(stage, module):
        promised = {key for key, entry in documented.items() if entry["returned"] == "always" or entry["returned"] == mood}
        assert promised <= set(result.values), mood
        if mood != "success":
            assert not {key for key, entry in documented.items() if entry["returned"] == "success"} & set(result.values), mood
