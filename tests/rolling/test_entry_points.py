# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role in playbooks of others: each entry point by itself, a rolling update that takes Azure's events along, and a mere question."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Mapping, Sequence

import pytest
from cores import played
from fleet import Fleet
from nights import ANY_NUMBER, DAY, SHORT, Night, committed_before, out_of_service

ROLE = "cloud_maintenance.azure.rolling_maintenance"
WORK = ("prepare", "gate", "approve", "watch", "recover")
Task = Dict[str, Any]


def _entry(point: str, **more: Any) -> Task:
    return {"name": point, "ansible.builtin.include_role": {"name": ROLE, "tasks_from": point}, **more}


def _play(hosts: str, *tasks: Task, **more: Any) -> Dict[str, Any]:
    return {"name": "Somebody's play on %s" % hosts, "hosts": hosts, "gather_facts": False, **more, "tasks": list(tasks)}


def _book(fleet: Fleet, *plays: Dict[str, Any]) -> str:
    path = fleet.folder / "book.yml"
    path.write_text(json.dumps(plays), encoding="utf-8")
    return str(path)


# --- in a rolling update of somebody else's -------------------------------------------------------------------------------


@played("update")
def _update(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    """Two hosts at a time, as the update has it: an event of two that come together, and one of two that do not."""
    fleet = fleets()
    fleet.add("web1 web2", scope="one", groups=["web"])
    fleet.add("web3 web4 web5 web6", scope="two", groups=["web"])
    fleet.ready()
    events = {"together": fleet.schedule("Reboot", "web1 web2"), "apart": fleet.schedule("Reboot", "web4 web5", notice=DAY)}
    work = [_entry(point) for point in WORK]
    upgrade = {"name": "Upgrade", "ansible.builtin.debug": {"msg": "something is installed"}}
    book = _book(
        fleet,
        _play("web", _entry("discover"), _entry("plan")),
        _play("web", *work, upgrade, serial=2),
        _play("web", _entry("publish")),
    )
    return Night(fleet, events, fleet.play(request.param, playbook=book, **ANY_NUMBER))


def test_a_rolling_update_takes_the_events_of_its_batch_along(update: Night) -> None:
    assert len(update.posts("together")) == 1
    for name in ("web1", "web2"):
        host = update.fleet[name]
        assert (host.state(update.events["together"]), host.in_service) == ("CLOSED", True)
        assert host.runs() == ["10-pool prepare", "10-pool recover"]
    assert update.result("together") == "recovered"


def test_the_update_itself_goes_on_when_the_hosts_are_back(update: Night) -> None:
    upgraded = update.run.ran("Upgrade")
    assert {"web1", "web2"} <= set(upgraded)
    log = (update.fleet["web1"].folder / "handlers.log").read_text(encoding="utf-8").splitlines()
    assert float(log[-1].split()[0]) < upgraded["web1"].at


def test_hosts_of_an_event_that_do_not_come_together_are_not_touched(update: Night) -> None:
    """A component is never split, in whatever batches somebody takes his hosts."""
    assert not update.posts("apart")
    assert not update.fleet.approved(update.events["apart"])
    for name in ("web4", "web5"):
        assert update.fleet[name].runs("inspect", "prepare", "recover") == []


def test_what_was_not_done_is_published_and_ends_the_playbook_with_an_error(update: Night) -> None:
    assert update.run.code == 2
    assert update.run.stats["azure_maintenance_result"] == "failed"
    assert "web4" in update.run.message
    assert "web1" not in update.run.message


def test_each_batch_of_a_wave_asks_about_its_own_events(fleet: Fleet, core: str) -> None:
    fleet.add("one1 two1 idle1", scope="web")
    fleet.ready()
    events = {name: fleet.schedule("Reboot", name + "1", notice=DAY) for name in ("one", "two")}
    plays = [
        _play("one1,two1", _entry("discover"), _entry("plan")),
        _play("one1,two1", *[_entry(point) for point in WORK], serial=1),
        _play("one1,two1", _entry("publish")),
    ]
    running = fleet.begin(core, playbook=_book(fleet, *plays), terminal=True, ask=True, **ANY_NUMBER)
    for name in ("one1", "two1"):
        running.answer(name, "yes")
    night = Night(fleet, events, running.wait())
    assert night.went_well("one", "one1")
    assert night.went_well("two", "two1")


# --- all of them at once --------------------------------------------------------------------------------------------------


def test_the_role_by_itself_takes_an_event_through(fleet: Fleet, core: str) -> None:
    """And what stands after it in somebody's play comes after it."""
    fleet.add("web1 web2", scope="web")
    fleet.ready()
    after = {"name": "Upgrade", "ansible.builtin.debug": {"msg": "something is installed"}}
    events = {"web": fleet.schedule("Reboot", "web1")}
    book = _book(fleet, _play("web1,web2", {"name": "Do what Azure wants", "ansible.builtin.include_role": {"name": ROLE}}, after))
    night = Night(fleet, events, fleet.play(core, playbook=book, **ANY_NUMBER))
    (post,) = night.posts("web")
    assert (post.vm, post.status) == ("web2", 200)
    assert night.went_well("web", "web1")
    assert fleet["web2"].runs("inspect", "prepare", "recover") == []
    assert (night.run.code, night.run.stats["azure_maintenance_result"]) == (0, "ok")
    ((_out, back),) = out_of_service(fleet["web1"])
    assert set(night.run.ran("Upgrade")) == {"web1", "web2"}
    assert back < night.run.ran("Upgrade")["web1"].at


# --- under another strategy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("everywhere", [False, True], ids=["work", "everywhere"])
def test_the_strategy_free_leads_to_no_wrong_post_and_no_drained_host(fleet: Fleet, core: str, everywhere: bool) -> None:
    """Each host goes its own way, and nobody is approved whose partner is not ready."""
    fleet.add("pair1 pair2 single1 idle1", scope="web", groups=["web"])
    # They are not ready at the same time.
    fleet["pair2"].behave("prepare", "rm -f %s/pool/10-pool; sleep 4" % fleet["pair2"].folder)
    fleet.ready()
    events = {"pair": fleet.schedule("Reboot", "pair1 pair2", notice=DAY), "single": fleet.schedule("Reboot", "single1", notice=DAY)}
    work = [_entry(point) for point in WORK]
    strategy = {"strategy": "free"}
    first = strategy if everywhere else {}
    book = _book(
        fleet,
        _play("web", _entry("discover"), _entry("plan"), **first),
        _play("web", *work, **strategy),
        _play("web", _entry("publish"), **first),
    )
    night = Night(fleet, events, fleet.play(core, playbook=book, lease="20s", **ANY_NUMBER, **SHORT))
    for name, event in events.items():
        for post in night.posts(name):
            assert committed_before(fleet, post, event) == sorted(vm.key for vm in event.vms), "%s was approved too early" % name
        assert len(night.posts(name)) <= 1
        for vm in event.vms:
            fleet[vm.key].wait_until_back()
            assert fleet[vm.key].runs() in ([], ["10-pool prepare", "10-pool recover"])
        if fleet.approved(event):
            assert all(fleet[vm.key].state(event) == "CLOSED" for vm in event.vms)
        else:
            # What was not done is no success.
            assert night.run.code == 2
    assert fleet["idle1"].runs("inspect", "prepare", "recover") == []


# --- one alone -----------------------------------------------------------------------------------------------------------

BEFORE: Mapping[str, str] = {
    "plan": "discover",
    "prepare": "discover and plan",
    "approve": "prepare",
    "watch": "prepare",
    "recover": "prepare",
    "publish": "discover and plan",
}


@played("alone")
def _alone(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    """Each entry point without those that come before it, and with an option that is wrong."""
    fleet = fleets()
    fleet.add("web1")
    fleet.ready()
    events = {"web": fleet.schedule("Reboot", "web1")}
    said = {"name": "Say", "ansible.builtin.debug": {"msg": "{{ ansible_failed_result.msg }}"}}
    tasks = [{"name": point, "block": [_entry(point)], "rescue": [{**said, "name": "Say of " + point}]} for point in BEFORE]
    wrong = _entry("discover", vars={"rolling_maintenance_windows": "no list"})
    tasks.append({"name": "wrong", "block": [wrong], "rescue": [{**said, "name": "Say of wrong"}]})
    return Night(fleet, events, fleet.play(request.param, playbook=_book(fleet, _play("web1", *tasks))))


@pytest.mark.parametrize("point", list(BEFORE))
def test_an_entry_point_that_comes_too_early_says_what_comes_before_it(alone: Night, point: str) -> None:
    (one,) = alone.run.ran("Say of " + point).values()
    assert BEFORE[point] in str(one.result["msg"])
    assert alone.fleet["web1"].runs("inspect", "prepare", "recover") == []


def test_the_options_of_an_entry_point_are_checked(alone: Night) -> None:
    (one,) = alone.run.ran("Say of wrong").values()
    assert "rolling_maintenance_windows" in json.dumps(one.result["msg"])


# --- for whoever only wants to know ---------------------------------------------------------------------------------------


@played("question")
def _question(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("near1 near2", scope="near")
    fleet.add("far1 young1 dark1 out1 left1")
    fleet.ready()
    events = {
        "near": fleet.schedule("Reboot", "near1", notice=540.0),
        "far": fleet.schedule("Redeploy", "far1", notice=9 * DAY),
        "out": fleet.schedule("Redeploy", "out1", notice=9 * DAY),
        "left": fleet.schedule("Freeze", "left1", duration=5),
    }
    fleet["out1"].wait(events["out"], "SEEN")
    fleet["out1"].ask("request", "prepare", "--run-id", "somebody")
    fleet["dark1"].go_dark()
    answer = {"name": "Say", "ansible.builtin.debug": {"msg": "{{ rolling_maintenance_gate }}"}}
    wanted = {"name": "Deploy", "ansible.builtin.debug": {"msg": "deployed"}, "when": "rolling_maintenance_gate.answer == 'clear'"}
    book = _book(fleet, _play("all", _entry("gate"), answer, wanted))
    return Night(fleet, events, fleet.play(request.param, playbook=book, rules=None))


@pytest.mark.parametrize(
    ("host", "answer", "words"),
    [
        ("near1", "maintenance", ["Reboot of this host in"]),
        ("near2", "maintenance", ["Reboot of a peer, Vm-near1 in"]),
        ("far1", "clear", ["the next one is a Redeploy in"]),
        # What a rule leaves to Azure keeps its host in service.
        ("left1", "clear", ["no event is near"]),
        ("out1", "maintenance", ["out1 is PREPARED for event"]),
        ("young1", "unknown", ["no event is shown", "Azure may not have begun to announce events"]),
        ("dark1", "unknown", ["there is no answer of the metadata service (dark1: "]),
    ],
)
def test_the_gate_tells_whoever_asks_whether_maintenance_is_near(question: Night, host: str, answer: str, words: Sequence[str]) -> None:
    """C-7: where the feature is young, an empty document says nothing."""
    said = question.run.ran("Say")[host].result["msg"]
    assert said["answer"] == answer
    for word in words:
        assert word in said["why"]


def test_a_question_changes_nothing(question: Night) -> None:
    assert not question.fleet.posts()
    for name in ("near1", "near2", "far1", "young1", "left1"):
        assert question.fleet[name].runs("inspect", "prepare", "recover") == []
    assert question.run.code == 0
    assert set(question.run.ran("Deploy")) == {"far1", "left1"}
