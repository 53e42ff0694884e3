# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extension points: when and where a user's tasks run, what they know, and what becomes of a run in which they go wrong."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Sequence

import pytest
from cores import played
from fleet import Done, Fleet, until
from nights import ANY_NUMBER, DAY, SHORT, Attempts, Night, Task, task_file

PHASES = ("discover", "plan", "prepare", "gate", "approve", "watch", "recover", "publish")
ONCE = ("discover", "plan", "publish")
HOOKS = tuple("%s_%s" % (side, phase) for phase in PHASES for side in ("before", "after"))
NOTE = "Note where we are"


def _balancer(fleet: Fleet) -> Path:
    """A load balancer of the simplest kind, on the controller: whoever has a file there gets requests."""
    folder = fleet.folder / "balancer"
    folder.mkdir()
    for name in fleet.names():
        (folder / name).touch()
    return folder


def _switch(state: str, balancer: Path) -> Task:
    """As with a module for a load balancer, which runs on the controller for each host."""
    return {
        "name": "Let the balancer know",
        "ansible.builtin.file": {"path": "%s/{{ inventory_hostname }}" % balancer, "state": state, "mode": "0644"},
        "delegate_to": "localhost",
        "become": False,
    }


# --- when, where and with what -------------------------------------------------------------------------------------------


@played("order")
def _order(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("web1 web2 web3", scope="web")
    balancer = _balancer(fleet)
    note = task_file(fleet, "note", {"name": NOTE, "ansible.builtin.debug": {"msg": {"hook": "{{ hook }}", **KNOWN}}})
    role = fleet.folder / "roles" / "notifier"
    for name, tasks in (
        ("tasks", [{"name": "Change", "ansible.builtin.command": "true", "changed_when": True, "notify": "Reload"}]),
        ("handlers", [{"name": "Reload", "ansible.builtin.debug": {"msg": "reloaded"}}]),
    ):
        (role / name).mkdir(parents=True)
        (role / name / "main.yml").write_text(json.dumps(tasks), encoding="utf-8")
    hooks: Dict[str, Any] = {name: [{"tasks": note, "vars": {"hook": name}}] for name in HOOKS}
    hooks["before_prepare"] += [task_file(fleet, "drain", _switch("absent", balancer)), {"role": str(role)}]
    hooks["after_recover"] += [task_file(fleet, "undrain", _switch("touch", balancer))]
    fleet.ready()
    events = {"web": fleet.schedule("Reboot", "web1 web2")}
    return Night(fleet, events, fleet.play(request.param, **hooks, **ANY_NUMBER))


# What a hook may rely on, as the page of the extension points has it.
KNOWN: Mapping[str, str] = {
    "phase": "{{ rolling_maintenance_phase }}",
    "wave": "{{ rolling_maintenance_wave }}",
    "events": "{{ rolling_maintenance_events }}",
}


def _noted(night: Night) -> Dict[str, List[Done]]:
    found: Dict[str, List[Done]] = {}
    for one in night.run.done:
        if one.task.endswith(NOTE) and one.outcome == "ok":
            found.setdefault(str(one.result["msg"]["hook"]), []).append(one)
    return found


def _handled(night: Night, host: str, *, what: str, phase: str) -> float:
    """When its handler began or ended a phase."""
    log = (night.fleet[host].folder / "handlers.log").read_text(encoding="utf-8")
    (at,) = [float(line.split()[0]) for line in log.splitlines() if line.split()[1] == what and line.split()[3] == phase]
    return at


def test_every_extension_point_is_reached_in_the_order_of_the_phases(order: Night) -> None:
    noted = _noted(order)
    assert set(noted) == set(HOOKS)
    assert sorted(HOOKS, key=lambda name: min(one.at for one in noted[name])) == list(HOOKS)


def test_each_knows_its_phase_its_wave_and_the_entries_of_the_plan(order: Night) -> None:
    for name, done in _noted(order).items():
        phase = name.split("_")[1]
        for one in done:
            known = one.result["msg"]
            assert known["phase"] == phase, name
            # Before ansible-core 2.19 a number that comes out of a template is a string.
            assert (known["wave"] if phase in ONCE else int(known["wave"])) == (None if phase in ONCE else 1), name
            entries = known["events"]
            if phase == "discover" or name == "before_plan":
                assert entries == [], name
                continue
            assert [entry["hosts"] for entry in entries] == [["web1", "web2"]], name
            assert entries[0]["event"]["event_id"] == order.events["web"].event_id
            assert entries[0]["vm_names"] == {"web1": "Vm-web1", "web2": "Vm-web2"}
            assert entries[0]["not_before"]


def test_those_of_the_work_run_on_the_hosts_of_the_event_and_the_others_once(order: Night) -> None:
    for name, done in _noted(order).items():
        hosts = sorted(one.host for one in done)
        if name.split("_")[1] in ONCE:
            assert len(hosts) == 1, name
        else:
            assert hosts == ["web1", "web2"], name


def test_they_surround_what_they_are_named_after(order: Night) -> None:
    noted = _noted(order)
    (post,) = order.fleet.posts()
    for name in ("web1", "web2"):
        assert max(one.at for one in noted["before_prepare"]) < _handled(order, name, what="begin", phase="prepare")
        assert _handled(order, name, what="end", phase="prepare") < min(one.at for one in noted["after_prepare"])
        assert _handled(order, name, what="end", phase="recover") < min(one.at for one in noted["after_recover"])
    assert max(one.at for one in noted["before_approve"]) < post.at < min(one.at for one in noted["after_approve"])


def test_a_handler_that_a_role_notifies_runs_before_the_hosts_prepare(order: Night) -> None:
    """It has not to wait for the end of the play, when all is over."""
    reloaded = order.run.ran("Reload")
    assert sorted(reloaded) == ["web1", "web2"]
    for name, one in reloaded.items():
        assert one.at < _handled(order, name, what="begin", phase="prepare")


def test_a_drain_by_a_delegated_task_is_undone_by_its_counterpart(order: Night) -> None:
    switched = [one for one in order.run.done if one.task.endswith("Let the balancer know") and one.outcome == "ok"]
    assert all(one.result["changed"] for one in switched)
    # Both at a time, in whatever order.
    hosts = [one.host for one in sorted(switched, key=lambda one: one.at)]
    assert [sorted(hosts[:2]), sorted(hosts[2:])] == [["web1", "web2"], ["web1", "web2"]]
    assert sorted(path.name for path in (order.fleet.folder / "balancer").iterdir()) == ["web1", "web2", "web3"]


def test_the_run_is_a_success(order: Night) -> None:
    assert order.run.code == 0
    assert order.result("web") == "recovered"


# --- whom they concern -----------------------------------------------------------------------------------------------------


@played("unready")
def _unready(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("unready1 partner1", scope="pair")
    fleet.add("fine1 left1 idle1", scope="fine")
    fleet["unready1"].behave("prepare", "code=1")
    note = task_file(fleet, "note", {"name": NOTE, "ansible.builtin.debug": {"msg": {"hook": "{{ hook }}"}}})
    hooks: Dict[str, Any] = {name: [{"tasks": note, "vars": {"hook": name}}] for name in HOOKS if name.split("_")[1] not in ONCE}
    at_once = {"action": "prepare_and_approve", "start": "now"}
    rules = [{"name": "leave to Azure", "event_types": ["Freeze"], "action": "prepare", "start": "now"}, {"name": "at once", **at_once}]
    fleet.ready()
    events = {
        "pair": fleet.schedule("Reboot", "unready1 partner1", notice=9 * DAY),
        "fine": fleet.schedule("Reboot", "fine1"),
        "left": fleet.schedule("Freeze", "left1"),
    }
    running = fleet.begin(request.param, rules=rules, **hooks, **ANY_NUMBER)
    running.until("See it start")
    fleet.simulator.start(events["left"].event_id)
    return Night(fleet, events, running.wait())


def test_before_its_handlers_every_host_that_goes_on_is_told(unready: Night) -> None:
    assert {one.host for one in _noted(unready)["before_prepare"]} == {"unready1", "partner1", "fine1", "left1"}


@pytest.mark.parametrize("name", ["after_prepare", "before_gate"])
def test_what_may_be_done_out_of_service_is_done_on_no_host_that_is_not_ready(unready: Night, name: str) -> None:
    assert {one.host for one in _noted(unready)[name]} == {"partner1", "fine1", "left1"}


@pytest.mark.parametrize("name", ["after_gate", "before_approve"])
def test_what_comes_after_the_gate_is_done_on_no_host_that_has_not_passed_it(unready: Night, name: str) -> None:
    assert unready.nobody_approved("pair")
    assert unready.nobody_approved("left")
    assert {one.host for one in _noted(unready)[name]} == {"fine1", "left1"}


def test_whoever_goes_back_is_told_whatever_it_was(unready: Night) -> None:
    for name in ("before_recover", "after_recover"):
        assert {one.host for one in _noted(unready)[name]} == {"unready1", "partner1", "fine1", "left1"}


# --- what goes wrong on one host ------------------------------------------------------------------------------------------


@played("troubled")
def _troubled(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("fails1 fails2", scope="fails")
    fleet.add("hangs1 fine1 late1 ends1")
    balancer = _balancer(fleet)
    hooks: Dict[str, Any] = {
        "before_prepare": task_file(
            fleet,
            "before_prepare",
            _switch("absent", balancer),
            {"name": "Fail here", "ansible.builtin.fail": {"msg": "no room"}, "when": "inventory_hostname == 'fails1'"},
            {"name": "Hang here", "ansible.builtin.raw": "sleep 60", "timeout": 2, "when": "inventory_hostname == 'hangs1'"},
            {"name": "Leave", "ansible.builtin.meta": "end_host", "when": "inventory_hostname == 'ends1'"},
        ),
        "before_recover": task_file(fleet, "before_recover", _switch("touch", balancer)),
        "after_recover": task_file(
            fleet,
            "after_recover",
            {"name": "Fail late", "ansible.builtin.fail": {"msg": "no smoke"}, "when": "inventory_hostname == 'late1'"},
        ),
    }
    fleet.ready()
    events = {name: fleet.schedule("Reboot", hosts, notice=DAY) for name, hosts in HOSTS.items()}
    return Night(fleet, events, fleet.play(request.param, **hooks, **ANY_NUMBER))


HOSTS = {"fails": "fails1 fails2", "hangs": "hangs1", "fine": "fine1", "late": "late1", "ends": "ends1"}


@pytest.mark.parametrize("name", ["fails", "hangs", "ends"])
def test_hosts_whose_hook_goes_wrong_are_not_approved_and_serve_again(troubled: Night, name: str) -> None:
    """A hook that hangs is cut off by the timeout of its own task; one that takes its host out of the play is no yes."""
    assert troubled.nobody_approved(name)
    for host in HOSTS[name].split():
        troubled.fleet[host].wait_until_back()
    assert troubled.result(name) == "not_prepared"
    assert HOSTS[name].split()[0] in troubled.run.message


def test_what_a_hook_had_done_is_undone_by_its_counterpart_when_it_fails_later(troubled: Night) -> None:
    """Not where the host has left the play: that can be promised for handlers alone."""
    there = {path.name for path in (troubled.fleet.folder / "balancer").iterdir()}
    assert there >= {"fails1", "fails2", "hangs1", "fine1", "late1"}


def test_neighbours_of_a_hook_that_goes_wrong_are_done(troubled: Night) -> None:
    assert len(troubled.fleet.posts(troubled.events["fine"])) == 1
    assert troubled.result("fine") == "recovered"
    assert troubled.fleet["fine1"].in_service


def test_a_hook_that_fails_after_the_event_is_told_and_the_host_is_back(troubled: Night) -> None:
    assert troubled.fleet["late1"].in_service
    assert troubled.fleet["late1"].state(troubled.events["late"]) == "CLOSED"
    assert "no smoke" in troubled.run.message
    assert "late1" in troubled.run.message


def test_a_run_with_a_hook_that_goes_wrong_is_no_success(troubled: Night) -> None:
    assert troubled.run.code == 2
    assert troubled.run.stats["azure_maintenance_result"] == "failed"
    assert "no room" in troubled.run.message


# --- what goes wrong for all ----------------------------------------------------------------------------------------------


@played("ended")
def _ended(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    """All are prepared when a hook ends the play."""
    fleet = fleets()
    fleet.add("web1 web2 web3", scope="web")
    fleet.ready()
    events = {"web": fleet.schedule("Reboot", "web1 web2", notice=DAY)}
    hook = task_file(fleet, "ends", {"name": "That is all", "ansible.builtin.meta": "end_play"})
    return Night(fleet, events, fleet.play(request.param, after_prepare=hook, **ANY_NUMBER))


@played("once")
def _once(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    """All are prepared when a hook that runs once goes to a host that is not there."""
    fleet = fleets()
    fleet.add("web1 web2 web3", scope="web")
    fleet.add("dead1")
    fleet.ready()
    events = {"web": fleet.schedule("Reboot", "web1 web2", notice=DAY)}
    fleet["dead1"].go_dark()
    task = {"name": "Ask the balancer", "ansible.builtin.ping": {}, "run_once": True, "delegate_to": "dead1"}
    run = fleet.play(request.param, limit="web1,web2,web3", after_prepare=task_file(fleet, "once", task), **ANY_NUMBER)
    return Night(fleet, events, run)


def test_a_hook_that_ends_the_play_leads_to_no_approval_and_no_drained_host(ended: Night) -> None:
    assert ended.nobody_approved("web")
    for name in ("web1", "web2"):
        ended.fleet[name].wait_until_back()
        assert ended.fleet[name].runs() == ["10-pool prepare", "10-pool recover"]
    assert ended.run.code == 2
    # They were ready, and nobody has posted it.
    assert ended.result("web") == "refused"
    assert "web1" in ended.run.message


def test_a_hook_that_runs_once_on_a_dead_host_leads_to_no_approval_and_no_drained_host(once: Night) -> None:
    """At the latest by the hosts' own guards, when the lease of the lost driver is over."""
    assert once.nobody_approved("web")
    for name in ("web1", "web2"):
        once.fleet[name].wait_until_back()
        assert once.fleet[name].runs() == ["10-pool prepare", "10-pool recover"]
    assert once.run.code != 0


# --- what does not come back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("comes_back", [False, True], ids=["for ever", "too late"])
def test_a_hook_that_hangs_without_a_timeout_keeps_no_host_out_of_service(fleet: Fleet, core: str, comes_back: bool) -> None:
    """W-3: the run sends no word while it hangs, so the lease of its hosts ends, and what guards them gives them back."""
    fleet.add("hangs1 fine1 idle1", scope="web")
    fleet.ready()
    events = {"hangs": fleet.schedule("Reboot", "hangs1", notice=DAY), "fine": fleet.schedule("Reboot", "fine1", notice=DAY)}
    hangs = fleet.folder / "hangs"
    script = "touch %s; %s" % (hangs, fleet["hangs1"].until_told)
    hang = {"name": "Hang here", "ansible.builtin.raw": script, "when": "inventory_hostname == 'hangs1'"}
    running = fleet.begin(core, after_prepare=[task_file(fleet, "hang", hang)], lease="20s", **ANY_NUMBER, **SHORT)
    until(lambda: hangs.exists() or running.is_over, timeout=120, what="the hook hangs")
    for name, event in events.items():
        host = fleet[name + "1"]
        assert (host.state(event), host.in_service) == ("PREPARED", False)
    for name, event in events.items():
        host = fleet[name + "1"]
        host.wait(event, "BACKED_OUT", timeout=120)
        assert host.in_service
        assert host.runs() == ["10-pool prepare", "10-pool recover"]
    assert not running.is_over
    assert not fleet.posts()
    if comes_back:
        fleet["hangs1"].go_on()
        night = Night(fleet, events, running.wait())
        assert night.run.code == 2
        assert "hangs1" in night.run.message
    else:
        assert running.kill(signal.SIGTERM) != 0
    for event in events.values():
        assert not fleet.approved(event)
    assert not fleet.posts()
    for name in ("hangs1", "fine1"):
        assert fleet[name].in_service
        assert fleet[name].runs() == ["10-pool prepare", "10-pool recover"]


# --- what is wrong before it begins ---------------------------------------------------------------------------------------

MISTAKES: Mapping[str, Callable[[Fleet], Any]] = {
    "module": lambda fleet: task_file(fleet, "typo", {"name": "Wait", "ansible.builtin.pauze": {"seconds": 1}}),
    "keyword": lambda fleet: task_file(fleet, "keyword", {"name": "Wait", "ansible.builtin.debug": {"msg": "x"}, "wen": True}),
    "file": lambda fleet: str(fleet.folder / "hooks" / "nowhere.yml"),
    "role": lambda fleet: {"role": str(fleet.folder / "roles" / "nowhere")},
}
NAMED: Mapping[str, Sequence[str]] = {"module": ["pauze"], "keyword": ["wen"], "file": ["nowhere.yml"], "role": ["nowhere"]}


@played("mistakes")
def _mistakes(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Attempts:
    """In the hook that would be the last to run on a host."""
    fleet = fleets()
    fleet.add("web1 web2", scope="web")
    fleet.ready()
    fleet.schedule("Reboot", "web1")
    # Whoever touches one of them is told so.
    for name in ("web1", "web2"):
        fleet[name].go_dark()
    return Attempts(fleet, {name: fleet.play(request.param, after_recover=[hook(fleet)]) for name, hook in MISTAKES.items()})


@pytest.mark.parametrize("name", list(MISTAKES))
def test_a_mistake_in_the_last_hook_is_found_before_a_host_is_touched(mistakes: Attempts, name: str) -> None:
    run = mistakes.runs[name]
    assert run.code != 0
    assert not [one for one in run.done if one.outcome == "unreachable"]
    assert mistakes.fleet["web1"].runs("inspect", "prepare", "recover") == []
    for words in NAMED[name]:
        assert words in run.said
