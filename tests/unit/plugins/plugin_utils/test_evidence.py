# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One schema for the evidence of a run (`_outcomes`) and of a host (`evidence`), and a page that has every key of both."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Facts, Settings, decide, decision_result
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import Vm
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import default_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils import _outcomes, _votes
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import event_of
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import convert
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import plan
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._told import OF_A_GATE, OF_AN_OUTCOME, told
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    AT_ONCE,
    NOW,
    answer,
    event,
    facing,
    heard,
    hosts,
    record,
    status,
)
from azure_event_handlers import evidence
from azure_event_handlers import records as r
from azure_event_handlers.records import Driver, Record, Step, Work
from azure_event_handlers.terms import Term

PAGE = Path(__file__).resolve().parents[4] / "docs" / "docsite" / "rst" / "evidence.rst"
KEY = "e1|5ub|rg"
EVENT = event(names="web_0")

# What a run has of each host instead, because each of its VMs has one of its own.
OF_ONE_VM = {"occurrence", "vm_id", "identity", "clock", "boot_ids", "state"}
# What it has there only as the host has written it: these are long, and twice is too often.
ONLY_IN_OWN = {"handlers", "requests", "history"}
# The agent's words for its metrics; the driver says which step of the wave it was.
ONLY_OF_AN_AGENT = {"gate_refusals": {"word"}}


def iso(seconds: float) -> str:
    return format_instant(NOW + seconds)


def lines() -> Iterator[Dict[str, Any]]:
    """What a host writes down of an event that its agent and a driver have had in hand, one line of each kind at least."""

    def noted(note: str, writer: str, **detail: Any) -> Dict[str, Any]:
        return {"at": iso(5), "what": evidence.NOTED, "note": note, "by": writer, "detail": detail}

    seen = {"view": r.SCHEDULED, "status": "Scheduled", "not_before": iso(3600), "resources": ["web_0"]}
    yield {"at": iso(0), "what": evidence.SAW, **seen}
    yield {"at": iso(300), "what": evidence.SAW, **seen, "status": "Started"}
    decision = decide(
        event_of(EVENT), policy=default_policy(), facts=Facts(clock_error=5.0), now=NOW, settings=Settings(approve_reserve=60.0)
    )
    details = {key: value for key, value in decision_result(decision).items() if key != "resources"}
    yield noted("identity", "agent", **asdict(Vm("web_0", zone="1")))
    yield noted("clock", "agent", difference=0.2, synchronised=True, error=5.0)
    yield noted("decision", "agent", **details)
    yield noted("names", "driver", inventory_name="h0", scope="scope s")
    yield noted("gate", "agent", result="refused", word="held", reason="it is held")
    yield noted("post", "driver", result="taken", posted=True, driver="playbook", run="7", witness="h1", sent=iso(200), reason=None)
    yield noted("gap", "agent", seconds=70)
    yield {"at": iso(9), "what": evidence.ASKED, "request": "prepare", "by": "playbook", "run": "7", "agent": False}
    yield {"at": iso(9), "what": evidence.REFUSED, "request": "commit", "reason": "it is held"}
    yield {"at": iso(10), "what": evidence.MOVED, "from": None, "to": r.PREPARING, "reason": "it is time"}
    yield {"at": iso(10), "what": evidence.RAN, "handler": "10-web", "phase": "prepare", "from": iso(9), "to": iso(10), "output": ["x"]}
    yield {"at": iso(320), "what": evidence.BOOTED, "boot": "b2"}


def of_a_host(**changes: Any) -> Dict[str, Any]:
    work = Work(r.ENDED, r.DONE, 0, 1, 0, "boot", NOW + 9, NOW + 9, NOW + 10, "x")
    whole = Record(
        event_of(EVENT),
        1,
        "id of web_0",
        state=r.CLOSED,
        driver=Driver("playbook", "7", Term(NOW, 600.0, 90.0, "b1")),
        attempt=1,
        steps=(Step("10-web", "web", 30.0, True, prepare=work, recover=replace(work, ended=NOW + 400)),),
        decision="prepare_and_approve",
        reason="it is over",
        result="recovered",
        first_seen=NOW,
        last_seen=NOW + 300,
        started_at=NOW + 300,
        gone_at=NOW + 380,
    )
    return evidence.of(replace(whole, **changes), list(lines()), now=NOW + 500)


def of_a_run() -> Dict[str, Any]:
    """As it is carried out: planned, refused once by its gate, posted, watched, with what its host has told afterwards."""
    hostvars: Dict[str, Any] = {name: heard("web_%s" % name[1:], EVENT, status=status(), group_names=["web"]) for name in ("h0", "h1")}
    given = convert({"rules": [AT_ONCE], "driver": "playbook", "run_id": "7"})
    made = plan(hosts(hostvars), facing(rules=[AT_ONCE]))
    committed = record("COMMITTED", changed_at=iso(20), last_seen=iso(15), post={"witness": "h1", "sent_at": iso(200)})
    said = {"ok": True, "verdict": "ready", "state": "COMMITTED", "message": "", "handlers": [], **status(committed)}
    hostvars["h0"]["rolling_maintenance__answer"] = answer(EVENT)
    refused = _votes.gate(made["waves"][0], plan=made, options=given, told=told(hostvars, ["h0"], OF_A_GATE), now=NOW + 20, step="vote")
    hostvars["h0"].update(
        {
            "rolling_maintenance__prepared": {KEY: said},
            "rolling_maintenance__committed": {KEY: said},
            "rolling_maintenance__sending": {KEY: said},
            "rolling_maintenance__gate": refused,
            "rolling_maintenance__posted": [
                {"key": KEY, "witness": "h1", "at": iso(201), "result": {"result": "approved"}, "outcome": "taken", "msg": "slowly"}
            ],
            "rolling_maintenance__watched": {
                KEY: {"state": "gone", "started_at": iso(299), "started_seen": True, "by": "h1", "at": iso(390)}
            },
            "rolling_maintenance__evidence": {KEY: of_a_host()},
        }
    )
    reports = told(hostvars, _outcomes.hosts_of_plan(made), OF_AN_OUTCOME)
    (found,) = _outcomes.outcome(made, options=given, told=reports, now=NOW + 500, final=True, check=False)["events"]
    return dict(found)


@pytest.fixture(scope="module")
def host() -> Dict[str, Any]:
    return of_a_host()


@pytest.fixture(scope="module")
def run() -> Dict[str, Any]:
    return of_a_run()


# --- one schema ----------------------------------------------------------------------------------------------------------


def differences(host: Any, run: Any, place: str, lacking: Set[str]) -> Iterator[str]:
    """What has another shape. Of lists the elements, of mappings each key that the host has; null has no shape."""
    if host is None or run is None:
        return
    if isinstance(host, dict) and isinstance(run, dict):
        for key, value in host.items():
            if key in run:
                yield from differences(value, run[key], "%s.%s" % (place, key), set())
            elif key not in lacking:
                yield "%s.%s is missing" % (place, key)
    elif isinstance(host, list) and isinstance(run, list):
        for one in run:
            for other in host[:1]:
                yield from differences(other, one, place + "[]", lacking)
    elif type(host) is not type(run) and not {type(host), type(run)} <= {int, float}:
        yield "%s is %s and %s" % (place, type(host).__name__, type(run).__name__)


def test_the_evidence_of_a_run_has_every_key_of_a_hosts(host: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    assert set(host) - set(run) == OF_ONE_VM | ONLY_IN_OWN
    assert set(run["hosts"]["h0"]) >= OF_ONE_VM
    assert run["hosts"]["h0"]["own"] == {**{key: value for key, value in host.items() if key != "event"}, "event_as_seen": host["event"]}


def test_what_has_the_same_name_has_the_same_shape(host: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    found = [line for key in set(host) & set(run) for line in differences(host[key], run[key], key, ONLY_OF_AN_AGENT.get(key, set()))]
    found += [line for key in OF_ONE_VM for line in differences(host[key], run["hosts"]["h0"][key], "hosts." + key, set())]
    assert found == []


def test_the_sample_leaves_no_shape_out(host: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """Else there would be nothing to compare."""
    assert [key for key, value in host.items() if value in (None, [], {})] == []
    assert [key for key in run if key in host and run[key] in (None, [], {})] == []
    assert [key for key in OF_ONE_VM if run["hosts"]["h0"][key] in (None, [], {})] == []


def test_each_says_whose_it_is(host: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    assert (host["schema"], host["kind"]) == (1, "host")
    assert (run["schema"], run["kind"]) == (1, "run")


def test_the_same_thing_is_said_of_the_same_approval(host: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    same = ("by", "driver", "run", "witness", "sent", "posted", "outcome")
    assert [[post[key] for key in same] for post in host["posts"]] == [[post[key] for key in same] for post in run["posts"]]


def test_an_agents_approval_has_every_key_as_well() -> None:
    line = {"at": iso(5), "what": evidence.NOTED, "note": "post", "by": "agent", "detail": {"result": "taken", "posted": True}}
    (post,) = evidence.of(Record(event_of(EVENT), 1, "vm"), [line, {**line, "note": "gate", "detail": "spoilt"}], now=NOW)["posts"]
    nobody = {"driver": None, "run": None, "witness": None, "sent": None, "reason": None}
    assert post == {"at": iso(5), "by": "agent", **nobody, "posted": True, "outcome": "taken"}


# --- the page ------------------------------------------------------------------------------------------------------------


def rows(heading: str) -> List[Tuple[str, ...]]:
    """The cells of the table with this heading, less the head."""
    table = PAGE.read_text(encoding="utf-8").split("   * - %s\n" % heading)[1]
    body = re.split(r"\n(?=\S)", table, maxsplit=1)[0]
    return [tuple(" ".join(cell.split()) for cell in re.split(r"\n     - ", row)) for row in body.split("   * - ")[1:]]


def on_the_page(heading: str, kind: str) -> List[str]:
    return [key.strip("`") for key, where, _what in rows(heading) if where in ("both", kind)]


@pytest.mark.parametrize(
    ("heading", "part"),
    [("Key of a decision", "decision_details"), ("Key of an approval", "posts"), ("Key of a refusal", "gate_refusals"), ("Key", None)],
)
def test_the_page_has_every_key_and_no_other(host: Mapping[str, Any], run: Mapping[str, Any], heading: str, part: Optional[str]) -> None:
    for kind, whole in (("host", host), ("run", run)):
        found = whole if part is None else whole[part]
        assert sorted(on_the_page(heading, kind)) == sorted(found[0] if isinstance(found, list) else found)


def test_the_page_has_every_key_of_a_host_in_a_run(run: Mapping[str, Any]) -> None:
    assert sorted(key.strip("`") for key, _what in rows("Key of a host")) == sorted(run["hosts"]["h0"])
