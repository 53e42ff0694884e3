# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real hosts with handlers and an agent, and nobody at the controller: what becomes of each kind of event.

All scenarios are played at the same time, each on a host of its own; each test then says what came of one.
"""

from __future__ import annotations

import functools
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Dict, Iterator, List

import pytest
from lab import Lab
from lab.ansible import Controller
from lab.guarded import Guarded, never_two_at_once

APPROVING = {
    "mode": "prepare_and_approve",
    "rules": [
        {"name": "deletion", "event_types": ["Preempt", "Terminate"], "action": "prepare", "start": "now"},
        {"name": "all", "event_types": ["Freeze", "Reboot", "Redeploy"], "action": "prepare_and_approve", "start": "now"},
    ],
    "prepare_budget": "30s",
    "approve_reserve": "5s",
    "recover_budget": "5s",
}
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
AGENTS = "/run/azure-event-handlers/agent"
KILL, POWER = "kill", "power"
ROUND = ["10-alpha prepare", "20-beta prepare", "20-beta recover", "10-alpha recover"]
NOTICE = 900

Scenario = Callable[[Guarded], None]
SCENARIOS: Dict[str, Scenario] = {}


def scenario(play: Scenario) -> Scenario:
    SCENARIOS[play.__name__] = play
    return play


def _assert_recovered(host: Guarded) -> None:
    assert host.said() == ROUND
    assert never_two_at_once(host.runs("inspect", "prepare", "recover"))
    assert host.out() == []


@scenario
def a_reboot_is_approved_and_recovered(host: Guarded) -> None:
    before = host.host.boot_id
    event = host.lab.schedule("Reboot", host.host, notice=NOTICE)
    host.wait(event, "CLOSED", timeout=120)
    _assert_recovered(host)
    told = host.evidence(event)
    assert host.host.boot_id != before
    assert (told["result"], told["approved_by"], len(told["posts"])) == ("recovered", "us", 1), told
    assert len(told["boot_ids"]) == 2
    assert [run["phase"] for run in told["handlers"]].count("inspect") == 4
    assert told["seconds_drained"] > 0
    assert host.lab.requests(host.host, verb="POST")


@scenario
def a_redeploy_is_approved_and_recovered(host: Guarded) -> None:
    host.host.shell("touch /mnt/resource/mark")
    event = host.lab.schedule("Redeploy", host.host, notice=NOTICE)
    host.wait(event, "CLOSED", timeout=120)
    _assert_recovered(host)
    assert host.host.shell("ls /mnt/resource").split() == []
    assert host.evidence(event)["result"] == "recovered"


@scenario
def a_freeze_is_approved_and_recovered(host: Guarded) -> None:
    before = host.host.boot_id
    event = host.lab.schedule("Freeze", host.host, notice=NOTICE, duration=60)
    host.wait(event, "CLOSED", timeout=120)
    _assert_recovered(host)
    assert host.host.boot_id == before
    assert host.evidence(event)["result"] == "recovered"


@scenario
def a_preemption_is_prepared_and_not_hastened(host: Guarded) -> None:
    event = host.lab.schedule("Preempt", host.host, notice=25)
    host.wait(event, "PREPARED", timeout=20)
    assert host.said() == ROUND[:2]
    event.wait("gone", timeout=60)
    assert host.lab.requests(host.host, verb="POST") == []


@scenario
def a_cancelled_preemption_is_recovered(host: Guarded) -> None:
    """W-27."""
    event = host.lab.schedule("Preempt", host.host, notice=60)
    host.wait(event, "PREPARED", timeout=20)
    event.cancel()
    host.wait(event, "CLOSED")
    _assert_recovered(host)
    assert host.evidence(event)["result"] == "cancelled"


@scenario
def an_event_that_is_cancelled_while_a_handler_drains_stops_it(host: Guarded) -> None:
    """W-13."""
    host.behave("20-beta", "prepare", "sleep 40")
    host.configure(**{**APPROVING, "prepare_budget": "120s"})
    host.add("20-beta", limit="60s")
    event = host.lab.schedule("Reboot", host.host, notice=NOTICE)
    host.wait_for(lambda: "20-beta prepare" in host.said())
    event.cancel()
    host.wait(event, "CLOSED")
    assert host.said() == ROUND
    assert host.runs()[1].cut
    assert host.out() == []
    assert host.evidence(event)["result"] == "cancelled"


@scenario
def a_hardware_failure_runs_nothing(host: Guarded) -> None:
    """W-24."""
    before = host.host.boot_id
    event = host.lab.fail_hardware(host.host)
    host.wait(event, "CLOSED", timeout=90)
    assert host.host.boot_id != before
    assert host.said("inspect", "prepare", "recover") == []
    assert host.evidence(event)["result"] == "started_without_notice"


@scenario
def two_overlapping_events_put_the_host_back_once(host: Guarded) -> None:
    """W-22."""
    first = host.lab.schedule("Freeze", host.host, notice=NOTICE, duration=60)
    second = host.lab.schedule("Reboot", host.host, notice=NOTICE)
    host.wait(first, "CLOSED", timeout=150)
    host.wait(second, "CLOSED", timeout=150)
    runs = host.runs()
    assert never_two_at_once(host.runs("inspect", "prepare", "recover"))
    assert host.out() == []
    assert [run.phase for run in runs].count("recover") == 2, runs
    assert [run.phase for run in runs][-2:] == ["recover", "recover"], runs


@scenario
def an_id_that_returns_is_prepared_afresh(host: Guarded) -> None:
    """W-15."""
    event = host.lab.schedule("Reboot", host.host, notice=NOTICE)
    host.wait(event, "CLOSED", timeout=120)
    host.lab.simulator("POST", "/events/%s/relist" % event.event_id, {})
    host.wait_for(lambda: host.record(event).get("occurrence") == 2)
    host.wait(event, "CLOSED", timeout=120)
    assert host.said() in (ROUND, ROUND * 2)


@scenario
def an_answer_without_events_in_the_middle_changes_nothing(host: Guarded) -> None:
    """W-32."""
    host.configure(**{**APPROVING, "mode": "prepare"})
    event = host.lab.schedule("Reboot", host.host, notice=40)
    host.wait(event, "PREPARED", timeout=20)
    for _time in range(3):
        host.lab.simulator("POST", "/faults", {"kind": "empty", "vm": host.host.vm_name, "times": 1})
    host.wait(event, "CLOSED", timeout=120)
    _assert_recovered(host)
    told = host.evidence(event)
    assert [line["to"] for line in told["history"] if "to" in line] == ["PREPARING", "PREPARED", "IMPACT", "RECOVERING", "CLOSED"]


@scenario
def an_incarnation_that_repeats_hides_nothing(host: Guarded) -> None:
    """W-31: seen by the unconditional look within a minute."""
    host.lab.simulator("POST", "/faults", {"kind": "repeat_incarnation", "vm": host.host.vm_name, "times": None})
    event = host.lab.schedule("Reboot", host.host, notice=NOTICE)
    host.wait(event, "CLOSED", timeout=240)
    _assert_recovered(host)


@scenario
def an_event_of_others_starts_nothing_here(host: Guarded) -> None:
    neighbour = host.lab.hosts["frontend1"] if host.host.name != "frontend1" else host.lab.hosts["frontend2"]
    before = len(host.lab.requests(host.host, verb="POST"))
    host.lab.hosts[neighbour.name].wait_until_it_serves()
    assert host.said("inspect", "prepare", "recover") == []
    assert len(host.lab.requests(host.host, verb="POST")) == before


# The agent's crash points; the executor's are in test_hosts_killed.py.
NOT_POSTED, NOT_READ, NOT_JOURNALED = AGENT_POINTS = ("COMMITTED, not posted", "posted, answer not read", "answer read, not journaled")
DROP_IN = """[Service]
ExecStart=
ExecStart=/usr/bin/python3 -B /usr/local/lib/crashing_agent.py
"""


def _agent_ends_at(host: Guarded, how: str, point: str) -> None:
    """Whatever it had in hand is taken up again, and the host is put back once."""
    folder, text = "/etc/systemd/system/azure-event-agent.service.d", (PROGRAMS / "crashing_agent.py").read_text(encoding="utf-8")
    host.host.shell("cat > /usr/local/lib/crashing_agent.py <<'END'\n%s\nEND" % text)
    host.host.shell("mkdir -p %s; cat > %s/crash.conf <<'END'\n%sEND\nsystemctl daemon-reload" % (folder, folder, DROP_IN))
    host.host.shell("printf '%%s %%s' '%s' '%s' > %s/crash; chmod 644 %s/crash" % (how, point, AGENTS, AGENTS))
    host.host.run("systemctl", "restart", "azure-event-agent")
    if point == NOT_READ:
        # The service does what it is asked, and never says so.
        host.lab.simulator("POST", "/faults", {"kind": "hang", "verb": "POST", "vm": host.host.vm_name, "acts": True})
    event = host.lab.schedule("Reboot", host.host, notice=NOTICE, start_delay=8)
    if point == NOT_READ:
        host.wait_for(lambda: event.as_dict()["approved_at"] is not None, timeout=60)
        host.host.run("systemctl", "kill", "--signal=KILL" if how == KILL else "--signal=STOP", "azure-event-agent")
    else:
        host.wait_for(lambda: host.host.shell("ls %s/crashed 2>/dev/null || true" % AGENTS).strip() != "", timeout=60)
    if how == POWER:
        host.host.vanish()
        host.host.boot()
    host.wait(event, "CLOSED", timeout=180)
    _assert_recovered(host)
    told = host.evidence(event)
    assert (told["result"], told["approved_by"]) == ("recovered", "us")
    # Repeated after the whole gate, where nobody knows whether the first was taken; never more often.
    posts = host.lab.requests(host.host, verb="POST")
    assert len(posts) in ((1,) if point == NOT_POSTED else (1, 2)), posts


for _how in (KILL, POWER):
    for _point in AGENT_POINTS:
        SCENARIOS["%s: %s" % (_how, _point)] = functools.partial(_agent_ends_at, how=_how, point=_point)


@pytest.fixture(scope="module")
def lab(wanted: List[str]) -> Iterator[Lab]:
    # Two dozen hosts that boot together do not all look within the usual two seconds.
    with Lab(hosts=max(2, len(wanted)), gap=8.0) as opened:
        yield opened


@pytest.fixture(scope="module")
def played(wanted: List[str], lab: Lab, newest_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """What went wrong in each scenario that is wanted; empty: nothing."""
    controller = Controller(lab, "newest", newest_programs, tmp_path_factory.mktemp("controller"))
    role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers"}}
    installed = controller.play([role], ansible_become=True, event_handlers_mode="watch", timeout=300)
    assert installed.code == 0, installed.output
    hosts = [Guarded(lab, host) for host in lab.hosts.values()]
    with ThreadPoolExecutor(max_workers=len(SCENARIOS)) as workers:
        outcomes = list(workers.map(_play, [SCENARIOS[name] for name in wanted], hosts))
    return dict(zip(wanted, outcomes))


def _play(play: Scenario, host: Guarded) -> str:
    try:
        host.install("10-alpha", "20-beta")
        host.configure(**APPROVING)
        play(host)
    except Exception:  # noqa: BLE001  (each scenario's end is its own test's matter)
        return "%s\n%s" % (traceback.format_exc(), _journal(host))
    return ""


def _journal(host: Guarded) -> str:
    try:
        return host.journal(60)
    except Exception as problem:  # noqa: BLE001
        return str(problem)


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_event_is_lived_through(played: Dict[str, str], name: str) -> None:
    """W-13, W-15, W-22, W-24, W-27, W-31, W-32: see the scenario of this name."""
    assert not played[name], played[name]


def test_the_list_of_points_is_that_of_the_code(lab: Lab) -> None:
    program = (
        "import sys; sys.path.insert(0, '/usr/local/lib/azure-event-handlers');"
        "from azure_event_handlers import agent; print('|'.join(agent.CRASH_POINTS))"
    )
    host = next(host for host in lab.hosts.values() if host.state()["state"] == "running")
    assert host.run("/usr/bin/python3", "-c", program).strip().split("|") == list(AGENT_POINTS)
