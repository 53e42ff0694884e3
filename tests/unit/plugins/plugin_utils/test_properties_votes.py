# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of every wave, whatever its hosts report: no event goes on unless each of its planned hosts has proved everything."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any, Callable, Dict, List, Sequence

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import parse_instant
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.dice import Dice, thrown
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import (
    APPROVE_ONLY,
    NOW,
    PREPARE_ONLY,
    SKIPPED,
    UNREACHABLE,
    Night,
    answered,
    at,
    entry,
    key_of,
    record,
    status,
)
from hypothesis import given
from hypothesis import strategies as st

STEPS = ("look", "gate", "vote")
HOSTS = ("web1", "web2", "web3")
IDS = ("E1", "E2", "E3")


class Undefined:
    """A variable that nobody has defined: whatever is done with it fails."""

    def __getattr__(self, name: str) -> Any:
        raise TypeError(name)

    def __bool__(self) -> bool:
        raise TypeError("undefined")

    def __str__(self) -> str:
        raise TypeError("undefined")

    def __deepcopy__(self, _memo: Any) -> Undefined:
        return self


UNDEFINED = Undefined()
SHAPES: Sequence[Any] = (None, "", "words", 0, 7, True, False, [], ["x"], {}, {"ok": True}, UNDEFINED, float("nan"), SKIPPED, UNREACHABLE)


def some_shape(dice: Dice, *others: Any) -> Any:
    """A copy, so that no world changes another one or holds itself."""
    return copy.deepcopy(dice.one_of((*SHAPES, *others)))


# --- worlds --------------------------------------------------------------------------------------------------------------


def worlds(dice: Dice) -> Night:
    """A wave in which everybody has proved everything, with some of it spoilt."""
    entries = []
    for event_id in IDS[: 1 + dice.below(3)]:
        hosts = [name for name in HOSTS if dice.below(2)] or [dice.one_of(HOSTS)]
        entries.append(entry(event_id, " ".join(hosts), **dice.one_of(({}, {}, {}, PREPARE_ONLY, APPROVE_ONLY))))
    night = Night(*entries)
    night.give_word()
    for _time in range(dice.below(4)):
        spoil(night, dice)
    return night


def spoil(night: Night, dice: Dice) -> None:
    how: Callable[[Night, Dice], None] = dice.one_of((_fact, _vote, _vote, _field, _event_shown, _plan, _wave, _host))
    how(night, dice)


def _any_host(night: Night, dice: Dice) -> str:
    return str(dice.one_of(night.wave["hosts"])) if isinstance(night.wave, dict) and night.wave.get("hosts") else "web1"


def _facts(night: Night, dice: Dice) -> Dict[str, Any]:
    found = night.hostvars.get(_any_host(night, dice))
    return found if isinstance(found, dict) else {}


def _fact(night: Night, dice: Dice) -> None:
    """A whole report."""
    name = dice.one_of(("answer", "status", "prepared", "committed", "trouble", "gate"))
    facts = _facts(night, dice)
    if dice.below(4) == 0:
        facts.pop("rolling_maintenance__" + name, None)
    else:
        facts["rolling_maintenance__" + name] = some_shape(dice)


def _vote(night: Night, dice: Dice) -> None:
    """One result, replaced or changed."""
    request, fact, good, state = dice.one_of(
        (("prepare", "prepared", "ready", "PREPARED"), ("commit", "committed", "committed", "COMMITTED"))
    )
    event_id = dice.one_of(IDS)
    results = _facts(night, dice).setdefault("rolling_maintenance__" + fact, {})
    if not isinstance(results, dict):
        return
    states = ("PREPARED", "COMMITTED", "STAYING", "IMPACT", "BACKED_OUT")
    spoilt = answered(
        dice.one_of((request, "prepare", "commit")),
        dice.one_of((event_id, *IDS)),
        dice.one_of((good, "ready", "committed", "not_ready", "pending", "not_asked")),
        dice.one_of((state, *states)),
    )
    spoilt.update(dice.one_of(({}, {"ok": True}, {"ok": False}, {"unreachable": True}, {"failed": True}, {"skipped": True}, {"asked": 7})))
    shown = dice.one_of((None, state, *states))
    spoilt["status"] = UNDEFINED if shown is None else status([record(event_id, shown)])["status"]
    results[key_of(event_id)] = spoilt if dice.below(3) else some_shape(dice)


def _field(night: Night, dice: Dice) -> None:
    """One value somewhere in what a host has reported."""
    report = _facts(night, dice).get("rolling_maintenance__" + dice.one_of(("answer", "status", "prepared", "committed")))
    for _level in range(1 + dice.below(4)):
        if isinstance(report, list) and report:
            report = report[0]
        if not isinstance(report, dict) or not report:
            return
        name = dice.one_of(sorted(report))
        if not isinstance(report[name], (dict, list)) or dice.below(3) == 0:
            break
        report = report[name]
    if isinstance(report, dict) and name in report:
        report[name] = some_shape(dice, at(-900), at(900), "E1", "Started", 301.0, -301.0, 1e300)


def _event_shown(night: Night, dice: Dice) -> None:
    """What one host was shown."""
    name = _any_host(night, dice)
    shown: List[Any] = []
    for key in night.entries:
        planned = night.document[key]
        changes = dice.one_of(
            (
                {},
                {"event_status": "Started", "not_before": None},
                {"event_status": "Paused"},
                {"event_type": "Redeploy"},
                {"resources": ["vm-web1"]},
                {"resources": [*planned["resources"], "vm-x"]},
                {"not_before": at(90)},
                {"not_before": None},
                {"not_before": at(9000)},
            )
        )
        if dice.below(5):
            shown.append({**planned, **changes})
    seconds = dice.one_of((-3.0, -3.0, -100.0, -200.0, -3600.0, 100.0))
    ahead = dice.one_of((0.3, 0.3, None, 250.0, 299.0, 400.0))
    if isinstance(night.hostvars.get(name), dict):
        night.tell(name, answer=night.answer(shown, seconds), status=status(ahead=ahead, **dice.one_of(({}, _hold(dice)))))


def _hold(dice: Dice) -> Dict[str, Any]:
    return {"hold": {"by": "ann", "until": at(dice.one_of((-60, 60, 6000))), "reason": ""}}


def _plan(night: Night, dice: Dice) -> None:
    one = dice.one_of(list(night.entries.values()))
    changes = (
        {"hosts": ["web1"]},
        {"hosts": UNDEFINED},
        {"vm_names": {}},
        {"approves": UNDEFINED},
        {"event": 7},
        {"window": {"closes": NOW - 1}},
        {"allowed_unready": ["vm-x"]},
        {"key": 7},
    )
    one.update(dice.one_of(changes))


def _wave(night: Night, dice: Dice) -> None:
    component = night.wave["components"][0]
    component.update(dice.one_of(({"events": [*night.entries, "x"]}, {"events": UNDEFINED}, {"name": "7"}, {"over_capacity": 7})))


def _host(night: Night, dice: Dice) -> None:
    name = _any_host(night, dice)
    if dice.below(2):
        night.hostvars.pop(name, None)
    else:
        night.hostvars[name] = some_shape(dice)


# --- the reference -------------------------------------------------------------------------------------------------------


def proved(night: Night, step: str, key: str) -> bool:
    """Every proof of every planned host, one after the other and as plainly as can be."""
    one = night.entries[key]
    planned = night.document[key]
    return bool(one["hosts"]) and all(_host_proves(night, step, key, one, planned, name) for name in one["hosts"])


def _dictionary(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _was_done(result: Any) -> bool:
    return isinstance(result, dict) and all(result.get(flag, False) is False for flag in ("skipped", "unreachable", "failed"))


def _host_proves(night: Night, step: str, key: str, one: Dict[str, Any], planned: Dict[str, Any], name: str) -> bool:
    facts = _dictionary(night.hostvars.get(name))
    ahead = _dictionary(facts.get("rolling_maintenance__status")).get("clock_difference")
    if not _shows_it(facts.get("rolling_maintenance__answer"), planned, ahead, step):
        return False
    said = facts.get("rolling_maintenance__status")
    if not _was_done(said) or not isinstance(_dictionary(said).get("status"), dict):
        return False
    hold = _dictionary(said)["status"].get("hold")
    if isinstance(hold, dict) and (parse_instant(hold["until"]) or 0.0) > NOW:
        return False
    if one["approves"] is True and not (isinstance(ahead, (int, float)) and not isinstance(ahead, bool) and -300 <= ahead <= 300):
        return False
    if step == "look" or one["prepares"] is not True:
        return True
    if not _says(facts, "prepared", key, planned, "prepare", "ready", ("PREPARED", "COMMITTED")):
        return False
    return step == "gate" or _says(facts, "committed", key, planned, "commit", "committed", ("COMMITTED",))


def _shows_it(answer: Any, planned: Dict[str, Any], ahead: Any, step: str) -> bool:
    if not _was_done(answer) or not isinstance(answer.get("events"), list) or answer.get("document_incarnation") is None:
        return False
    clock = ahead if isinstance(ahead, (int, float)) and not isinstance(ahead, bool) and abs(ahead) < 1e11 else 0.0
    queried_at = parse_instant(answer["queried_at"]) if isinstance(answer.get("queried_at"), str) else answer.get("queried_at")
    if isinstance(queried_at, bool) or not isinstance(queried_at, (int, float)):
        return False
    age = NOW - (queried_at - clock)
    if age < -5 or (age > 185 and step != "vote"):
        return False
    for shown in answer["events"]:
        if str(shown["event_id"]).lower() == planned["event_id"].lower():
            return (
                str(shown["event_status"]).lower() == "scheduled"
                and str(shown["event_type"]).lower() == planned["event_type"].lower()
                and {str(vm).lower() for vm in shown["resources"]} == {vm.lower() for vm in planned["resources"]}
            )
    return False


def _says(facts: Dict[str, Any], fact: str, key: str, planned: Dict[str, Any], request: str, verdict: str, states: Sequence[str]) -> bool:
    result = _dictionary(facts.get("rolling_maintenance__" + fact)).get(key)
    if not _was_done(result):
        return False
    asked = " ".join(str(word) for word in result["asked"]) if isinstance(result["asked"], list) else ""
    return (
        result["ok"] is True
        and result["verdict"] == verdict
        and result["state"] in states
        and ("request %s %s " % (request, planned["event_id"])).lower() in asked.lower()
    )


# --- the properties ------------------------------------------------------------------------------------------------------


@given(thrown(48), st.sampled_from(STEPS))
def test_nothing_goes_on_without_every_proof_of_every_planned_host(dice: bytes, step: str) -> None:
    night = worlds(Dice(dice))
    verdicts = night.gate(step)
    assert json.loads(json.dumps(verdicts)) == verdicts
    for verdict in verdicts.values():
        assert verdict["go"] is bool(verdict["events"])
        assert set(verdict["ready"]) == set(verdict["events"])
        for key in verdict["events"]:
            assert proved(night, step, key)
            one = night.entries[key]
            assert verdict["ready"][key] == sorted(one["vm_names"][name] for name in one["hosts"])
            if step != "look":
                assert one["approves"] is True
        parts = [verdict[part] for part in ("events", "refused", "gone", "started", "waits")]
        assert len({key for part in parts for key in part}) == sum(len(part) for part in parts)


@pytest.mark.parametrize("step", STEPS)
def test_without_anything_spoilt_all_that_is_to_be_posted_goes_on(step: str) -> None:
    hosts = ("web1", "web2", "web1 web2")
    kinds: Sequence[Dict[str, Any]] = ({}, PREPARE_ONLY, APPROVE_ONLY)
    for first, second, one, other in itertools.product(hosts, hosts, kinds, kinds):
        entries = [entry("E1", first, **one), entry("E2", second, **other)]
        night = Night(*entries)
        night.give_word()
        verdict = night.gate(step)["1.1"]
        assert verdict["events"] == [one["key"] for one in entries if step == "look" or one["approves"]]
        assert verdict["refused"] == {}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("fact", ["answer", "status", "prepared", "committed"])
def test_no_shape_of_a_report_is_a_proof(step: str, shape: int, fact: str) -> None:
    night = Night(entry("E1", "web1 web2"))
    night.give_word()
    night.tell("web2", **{fact: copy.deepcopy(SHAPES[shape])})
    needed = {"look": ("answer", "status"), "gate": ("answer", "status", "prepared"), "vote": ("answer", "status", "prepared", "committed")}
    assert night.gate(step)["1.1"]["go"] is (fact not in needed[step])
