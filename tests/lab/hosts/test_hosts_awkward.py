# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real hosts at their worst: handlers that misbehave, drivers that die, events that change their minds, disks and clocks that are wrong.

All scenarios are played at the same time, each on a host of its own; each test then says what came of one.
"""

from __future__ import annotations

import json
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence
from urllib.parse import quote

import pytest
from lab import Lab, LabError
from lab.ansible import Controller
from lab.client import LabEvent
from lab.guarded import COMMAND, ETC, TOP, Guarded, Run, never_two_at_once

RUN = "/run/azure-event-handlers"
STATE = "/var/lib/azure-event-handlers"
RULE = {"name": "all", "event_types": ["Freeze", "Reboot", "Redeploy"], "action": "prepare_and_approve", "start": "now"}
APPROVING = {
    "mode": "prepare_and_approve",
    "rules": [RULE],
    "prepare_budget": "60s",
    "approve_reserve": "5s",
    "recover_budget": "5s",
}
PREPARING = {**APPROVING, "mode": "prepare"}
WATCHING = {**APPROVING, "mode": "watch"}
ALPHA, BETA = "10-alpha", "20-beta"
OUT = [ALPHA, BETA]
PREPARED = ["10-alpha prepare", "20-beta prepare"]
RECOVERED = ["20-beta recover", "10-alpha recover"]
ROUND = PREPARED + RECOVERED
# With handlers of 8 s each: long enough to give back and to get ready again, and not so.
FAR, NEAR = 900, 80
PATIENCE = 180.0
# Whoever looks at this event sees it Started before it strikes, also on a machine that has much to do.
IMPACT_AFTER = 6.0
# A spelling that Azure's users may see, and that the lab's platform does not act on: what happens is up to the test.
UNSTRUCK = "reboot"
HOLDS = "import socket, time; s = socket.create_server(('127.0.0.1', 9443)); time.sleep(1e6)"
SILENT_SINK = '[Service]\\nExecStart=/usr/bin/python3 -c "%s"\\n[Install]\\nWantedBy=multi-user.target\\n' % HOLDS
AN_HOUR_BEHIND = "import time; time.time = lambda right=time.time: right() - 3600"
APPROVAL = """
import json, sys, urllib.request
body = json.dumps({"StartRequests": [{"EventId": sys.argv[1]}]}).encode()
url = "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"
urllib.request.urlopen(urllib.request.Request(url, data=body, headers={"Metadata": "true"}), timeout=20).read()
"""


class Awkward(Guarded):
    """Looks without starting a program of ours: two dozen of them look all the time."""

    def status(self) -> Dict[str, Any]:
        found: Dict[str, Any] = json.loads(self.host.run("cat", RUN + "/status.json"))
        return found

    def wait(self, event: LabEvent, *states: str, timeout: float = PATIENCE) -> Dict[str, Any]:
        return super().wait(event, *states, timeout=timeout)

    def wait_for(self, look: Any, timeout: float = PATIENCE) -> None:
        """The file that is looked at may be missing while the host boots."""
        end = time.monotonic() + timeout
        while True:
            try:
                if look():
                    return
            except (LabError, ValueError):
                pass
            if time.monotonic() > end:
                raise LabError("%s: not within %g s" % (self.host.name, timeout))
            time.sleep(0.25)

    def wait_for_run(self, what: str) -> None:
        """Until this handler is in this phase, or has been."""
        self.wait_for(lambda: what in self.said())

    def metric(self, name: str) -> float:
        """As monitoring reads it; with labels as they are written there."""
        for line in self.host.run("cat", RUN + "/agent/azure_event_handlers.prom").splitlines():
            if line.startswith("azure_event_handlers_%s " % name):
                return float(line.split()[-1])
        return 0.0

    def alarm(self, kind: str) -> bool:
        return self.metric('agent_problems{problem="%s"}' % kind) >= 1

    def request(self, what: str, event: LabEvent, *words: str) -> Dict[str, Any]:
        return self.ask("request", what, event.event_id, *words, timeout=PATIENCE)

    def drive(self, what: str, event: LabEvent, run: str, lease: str) -> Dict[str, Any]:
        """As a playbook does."""
        return self.request(what, event, "--driver", "playbook", "--run-id", run, "--lease", lease)

    def posts(self) -> List[Dict[str, Any]]:
        return self.lab.requests(self.host, verb="POST")

    def change(self, event: LabEvent, **what: Any) -> None:
        self.lab.simulator("POST", "/events/%s/change" % event.event_id, what)

    def ghost(self, number: int = 1) -> str:
        """Another VM of this host's scope, of which there is only the name."""
        name = "Ghost-%s-%d" % (self.host.name, number)
        self.lab.simulator("POST", "/vms", {"name": name, "scope": self.host.plan.scope})
        return name


Scenario = Callable[[Awkward], None]
SCENARIOS: Dict[str, Scenario] = {}


def scenario(play: Scenario) -> Scenario:
    SCENARIOS[play.__name__] = play
    return play


def _assert_all_back(host: Awkward) -> None:
    assert host.out() == []
    assert never_two_at_once(host.runs("inspect", "prepare", "recover"))


def _assert_round(host: Awkward) -> None:
    assert host.said() == ROUND
    _assert_all_back(host)


def _assert_refused(told: Dict[str, Any], why: str) -> None:
    assert told["verdict"] == "refused", told
    assert why in told["message"]


def _runs_of(host: Awkward, who: str, phase: str) -> List[Run]:
    return [run for run in host.runs(phase) if run.who == who]


def _outcomes(told: Dict[str, Any], who: str, phase: str) -> List[str]:
    return [run["outcome"] for run in told["handlers"] if (run["handler"], run["phase"]) == (who, phase)]


# --- handlers at their worst ---------------------------------------------------------------------------------------------


@scenario
def one_that_fails_or_hangs_far_from_the_event_is_given_back(host: Awkward) -> None:
    """W-1: what the first handler has done is undone; after two attempts it is not tried again, and somebody is told."""
    host.install(ALPHA, BETA, limit="5s")
    host.behave(BETA, "prepare", "code=1")
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "BACKED_OUT")
    _assert_round(host)
    host.behave(BETA, "prepare", "sleep 600")
    assert host.drive("prepare", event, "2", "2m")["verdict"] == "not_ready"
    host.wait(event, "BACKED_OUT")
    assert host.said() == ROUND * 2
    assert [run.cut for run in _runs_of(host, BETA, "prepare")] == [False, True]
    _assert_all_back(host)
    third = host.drive("prepare", event, "3", "2m")
    _assert_refused(third, "has tried 2 times")
    host.wait_for(lambda: host.alarm("not_ready"))
    told = host.evidence(event)
    assert _outcomes(told, BETA, "prepare") == ["failed", "out_of_time"], told["handlers"]
    assert (told["posts"], told["approved_by"], host.posts()) == ([], "nobody", [])


@scenario
def one_that_hangs_near_the_event_stays_unapproved(host: Awkward) -> None:
    """W-2: and it ignores SIGTERM."""
    host.install(ALPHA, BETA, limit="5s")
    host.behave(BETA, "prepare", "trap '' TERM; sleep 600")
    event = host.lab.schedule("Reboot", host.host, notice=NEAR)
    host.wait(event, "STAYING")
    assert host.said() == PREPARED
    assert host.runs()[-1].cut
    assert host.out() == [ALPHA]
    assert host.host.shell("pgrep -fx 'sleep 600' || true") == ""
    event.start()
    host.wait(event, "CLOSED")
    _assert_round(host)
    assert host.evidence(event)["result"] == "not_prepared"
    assert host.posts() == []


@scenario
def what_is_left_behind_is_ended_and_a_flood_is_bounded(host: Awkward) -> None:
    host.install(ALPHA, BETA, limit="25s")
    host.configure(**PREPARING)
    host.behave(
        ALPHA, "prepare", "setsid sleep 98765 < /dev/null > /dev/null 2>&1 & sleep 98765 & sleep 0.5; pgrep -fx 'sleep 98765' > left"
    )
    host.behave(BETA, "prepare", "yes flood | head -n 300000")
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "PREPARED")
    assert [run.code for run in host.runs()] == [0, 0]
    assert len(host.host.shell("cat %s/left" % TOP).split()) == 2
    host.wait_for(lambda: host.host.shell("pgrep -fx 'sleep 98765' || true") == "")
    lines = int(host.host.shell("journalctl -q -o cat -u 'azure-event-handler-*' | grep -c flood"))
    assert 0 < lines < 10000
    told = host.evidence(event)
    said = [run["output"] for run in told["handlers"] if (run["handler"], run["phase"]) == (BETA, "prepare")]
    # The journal is asked for a few seconds only, and on a machine that is at its end it has no answer by then.
    assert [len(output) <= 20 for output in said] == [True]
    assert len(json.dumps(told)) < 64 * 1024
    assert host.request("recover", event)["verdict"] == "back_in_service"
    _assert_round(host)


@scenario
def not_yet_for_ever_ends_at_the_deadline_and_was_so_is_never_undone(host: Awkward) -> None:
    host.install(ALPHA, BETA, limit="5s")
    host.behave(ALPHA, "prepare", "code=77")
    host.behave(BETA, "prepare", "code=75")
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    record = host.wait(event, "BACKED_OUT")
    assert host.said() == [PREPARED[0], *[PREPARED[1]] * (len(host.runs()) - 2), RECOVERED[0]]
    assert len(_runs_of(host, BETA, "prepare")) >= 2
    told = host.evidence(event)
    assert [line["reason"] for line in told["history"] if line.get("to") == "BACKING_OUT"] == ["the time to prepare is over"]
    assert (record["attempt"], host.posts()) == (1, [])


@scenario
def a_recovery_that_fails_is_repeated_until_it_succeeds(host: Awkward) -> None:
    """W-43: and the event may go meanwhile."""
    host.configure(**PREPARING)
    host.behave(BETA, "recover", "echo x >> beta.tries; [ $(wc -l < beta.tries) -gt 3 ] || code=1")
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "PREPARED")
    assert host.request("recover", event, "--timeout", "1s")["verdict"] == "pending"
    event.cancel()
    host.wait_for(lambda: host.metric("recover_failed_handlers") == 1)
    assert host.out() == OUT
    host.wait(event, "CLOSED")
    assert host.said() == [*PREPARED, *[RECOVERED[0]] * 4, RECOVERED[1]]
    _assert_all_back(host)
    runs = _runs_of(host, BETA, "recover")
    assert [run.code for run in runs] == [1, 1, 1, 0]
    pauses = [later.begin - earlier.end for earlier, later in zip(runs, runs[1:])]
    assert all(pause >= least - 0.5 for pause, least in zip(pauses, (5, 10, 20))), pauses
    host.wait_for(lambda: host.metric("recover_failed_handlers") == 0)


@scenario
def a_freeze_ends_no_healthy_handler(host: Awkward) -> None:
    """W-19, W-20, W-21: 12 seconds of it, for a handler that may take 8; then a Reboot is announced, and a Freeze is what happens."""
    before = host.host.boot_id
    host.configure(**PREPARING)
    # In small steps: one long sleep would be over as soon as the machine goes on.
    host.behave(BETA, "prepare", "for step in $(seq 25); do sleep 0.2; done")
    event = host.lab.schedule(UNSTRUCK, host.host, notice=FAR)
    host.wait_for_run("20-beta prepare")
    _freeze(host, 12)
    host.wait(event, "PREPARED")
    assert host.said() == PREPARED
    beta = host.runs()[-1]
    assert (beta.code, beta.end - beta.begin > 12) == (0, True), beta
    _freeze_until_noticed(host)
    event.start()
    host.wait(event, "IMPACT")
    _freeze(host, 3)
    event.complete()
    host.wait(event, "CLOSED")
    _assert_round(host)
    assert host.evidence(event)["result"] == "recovered"
    assert host.host.boot_id == before


def _freeze_until_noticed(host: Awkward) -> None:
    """A freeze that falls into a question of the agent looks to it like a slow service, and is no pause."""
    for _time in range(5):
        try:
            host.wait_for(lambda: host.metric("pauses_total") >= 1, timeout=20)
            return
        except LabError:
            _freeze(host, 12)
    raise LabError("%s has noticed none of its freezes" % host.host.name)


def _freeze(host: Awkward, seconds: float) -> None:
    host.host.act("freeze")
    time.sleep(seconds)
    host.host.act("thaw")


# --- drivers that die, and those that compete ----------------------------------------------------------------------------


@scenario
def a_driver_that_dies_days_before_is_replaced_by_the_guard(host: Awkward) -> None:
    """W-3: and the next run gets it ready once more."""
    host.configure(**WATCHING)
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "SEEN")
    assert host.drive("prepare", event, "1", "12s")["verdict"] == "ready"
    host.wait(event, "BACKED_OUT")
    _assert_round(host)
    history = host.evidence(event)["history"]
    assert [line["reason"] for line in history if line.get("to") == "BACKING_OUT"] == ["playbook has not been heard of"]
    assert host.drive("prepare", event, "2", "2m")["verdict"] == "ready"
    assert host.out() == OUT
    assert host.request("recover", event)["verdict"] == "back_in_service"
    assert host.said() == ROUND * 2


@scenario
def a_driver_that_dies_minutes_before_leaves_the_host_as_it_is(host: Awkward) -> None:
    """W-4, W-7: the guard watches, and recovers when the event is gone."""
    host.configure(**WATCHING)
    event = host.lab.schedule("Reboot", host.host, notice=NEAR)
    host.wait(event, "SEEN")
    assert host.drive("prepare", event, "1", "12s")["verdict"] == "ready"
    host.wait(event, "STAYING")
    assert host.out() == OUT
    event.start()
    host.wait(event, "CLOSED")
    _assert_round(host)
    assert (host.evidence(event)["result"], host.posts()) == ("recovered", [])


@scenario
def a_committed_host_waits_for_the_event_unless_it_is_forced(host: Awkward) -> None:
    """W-5: nobody posts, and no lease, no recovery and no plain release gives it back."""
    host.configure(**WATCHING)
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "SEEN")
    assert host.drive("prepare", event, "1", "25s")["verdict"] == "ready"
    assert host.drive("commit", event, "1", "25s")["verdict"] == "committed"
    _wait_for_the_lease(host, event)
    for what in ("recover", "release"):
        refused = host.request(what, event)
        _assert_refused(refused, "release --force")
    assert host.state(event) == "COMMITTED"
    assert host.out() == OUT
    assert host.request("release", event, "--force")["verdict"] == "back_in_service"
    _assert_round(host)
    assert host.posts() == []


def _wait_for_the_lease(host: Awkward, event: LabEvent) -> None:
    """Until it is over, and the executor has had the time to see that."""
    until = host.record(event)["driver"]["lease"]["until"]
    host.wait_for(lambda: float(host.host.run("date", "+%s")) > until + 2)


@scenario
def a_driver_that_dies_after_its_post_is_not_needed_any_more(host: Awkward) -> None:
    """W-5, W-6: a run takes over what another one has committed, posts and dies; the guard does the rest."""
    before = host.host.boot_id
    host.configure(**WATCHING)
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "SEEN")
    assert host.drive("prepare", event, "1", "25s")["verdict"] == "ready"
    assert host.drive("commit", event, "1", "25s")["verdict"] == "committed"
    _wait_for_the_lease(host, event)
    assert host.drive("commit", event, "2", "30s")["verdict"] == "committed"
    time.sleep(2)  # C-8: this VM has just asked several times
    host.host.run("python3", "-c", APPROVAL, event.event_id)
    host.wait(event, "CLOSED")
    _assert_round(host)
    told = host.evidence(event)
    assert told["result"] == "recovered"
    assert [note["detail"]["by"] for note in told["notes"] if note["note"] == "approved_by"] == ["driver"], told["notes"]
    assert len(host.posts()) == 1
    assert host.host.boot_id != before


@scenario
def a_connection_that_drops_leaves_one_driver_and_no_second(host: Awkward) -> None:
    """W-8, W-38: the executor goes on, others are told who has the host, and a recovery stops what runs."""
    host.configure(**{**WATCHING, "prepare_budget": "120s"})
    host.add(BETA, limit="60s")
    host.behave(ALPHA, "prepare", "until [ -e cut ]; do sleep 0.2; done")
    host.behave(BETA, "prepare", "sleep 50")
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "SEEN")
    words = "%s request prepare %s --driver playbook --run-id 1 --lease 2m" % (COMMAND, event.event_id)
    process = host.host.shell("nohup %s > /dev/null 2>&1 & echo $!" % words).strip()
    host.wait_for_run("10-alpha prepare")
    assert "request" in host.host.shell("tr '\\0' ' ' < /proc/%s/cmdline" % process)
    host.host.run("kill", "-KILL", process)
    host.host.run("touch", TOP + "/cut")
    other = host.drive("prepare", event, "2", "2m")
    _assert_refused(other, "in the hands of playbook (run 1)")
    host.wait_for_run("20-beta prepare")
    assert host.request("recover", event)["verdict"] == "back_in_service"
    _assert_round(host)
    assert [run.cut for run in host.runs()] == [False, True, False, False]


@scenario
def of_all_who_want_the_host_at_once_one_has_it(host: Awkward) -> None:
    """W-37: the agent and three playbooks."""
    host.configure(**PREPARING)
    host.behave(BETA, "prepare", "sleep 2")
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    one = "%s request prepare %s --driver p$run --run-id $run --lease 2m --json > p$run.told" % (COMMAND, event.event_id)
    told = host.host.shell("cd %s; for run in 1 2 3; do %s & done; wait; cat p*.told" % (TOP, one), timeout=PATIENCE)
    verdicts = [json.loads(line)["verdict"] for line in told.splitlines()]
    record = host.wait(event, "PREPARED")
    assert len(verdicts) == 3
    assert sorted(verdicts) == ["refused"] * 3 if record["driver"]["name"] == "agent" else ["ready", "refused", "refused"], verdicts
    assert host.said() == PREPARED
    event.cancel()
    host.wait(event, "CLOSED")
    _assert_round(host)


# --- events that change their minds --------------------------------------------------------------------------------------


@scenario
def a_shared_event_is_never_approved_by_a_host(host: Awkward) -> None:
    """W-10, W-11, W-12: Resources grow to this host, then beyond it while it gets ready, and then lose it."""
    host.configure(**{**APPROVING, "prepare_budget": "5m"})
    host.add(BETA, limit="2m")
    host.behave(BETA, "prepare", "until [ -e grown ]; do sleep 0.2; done")
    ghost = host.ghost()
    event = host.lab.schedule("Reboot", ghost, notice=FAR)
    host.change(event, resources=[host.host.vm_name])
    host.wait_for_run("20-beta prepare")
    host.change(event, resources=[host.host.vm_name, ghost])
    host.wait_for(lambda: len(host.record(event)["event"]["resources"]) == 2)
    host.host.run("touch", TOP + "/grown")
    host.wait(event, "PREPARED")
    decided = host.evidence(event)["decision_details"]
    assert (decided["action"], decided["effective_action"]) == ("prepare_and_approve", "prepare"), decided
    host.change(event, resources=[ghost])
    host.wait(event, "CLOSED")
    _assert_round(host)
    told = host.evidence(event)
    assert (told["result"], told["posts"], host.posts()) == ("cancelled", [], [])


@scenario
def a_cancelled_event_and_one_in_its_place_do_not_flap(host: Awkward) -> None:
    """W-14: at once, and some seconds after the first is known to be gone."""
    host.configure(**PREPARING)
    first = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(first, "PREPARED")
    first.cancel()
    second = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(first, "CLOSED")
    host.wait(second, "PREPARED")
    assert host.said("recover") == []
    assert host.out() == OUT
    second.cancel()
    host.wait(second, "RECOVERING")
    # Nobody else counts on it any more, and this one comes just in time.
    third = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(second, "CLOSED")
    host.wait(third, "PREPARED")
    assert host.said("recover") == []
    assert host.out() == OUT
    third.cancel()
    host.wait(third, "CLOSED")
    assert host.said("recover") == RECOVERED
    _assert_all_back(host)


@scenario
def a_notice_that_runs_out_while_it_prepares_is_gone_on_with(host: Awkward) -> None:
    """W-16: Azure is late; without time for an approval there is none."""
    host.install(ALPHA, BETA, limit="30s")
    host.behave(BETA, "prepare", 'while [ "$(date +%s)" -le "$(date -d "$EVENT_NOT_BEFORE" +%s)" ]; do sleep 0.3; done')
    event = host.lab.schedule("Reboot", host.host, notice=30, late=600)
    record = host.wait(event, "PREPARED")
    assert float(host.host.run("date", "+%s")) >= record["event"]["not_before"]
    assert record["view"] == "scheduled"
    event.start()
    host.wait(event, "CLOSED")
    _assert_round(host)
    assert (host.evidence(event)["result"], host.posts()) == ("recovered", [])


@scenario
def another_one_who_approves_first_is_not_raced(host: Awkward) -> None:
    """W-17, W-40: it starts while a handler runs, which is stopped; what was begun is recovered."""
    host.install(ALPHA, BETA, limit="25s")
    host.behave(BETA, "prepare", "sleep 24")
    event = host.lab.schedule(UNSTRUCK, host.host, notice=FAR)
    host.wait_for_run("20-beta prepare")
    host.host.run("python3", "-c", APPROVAL, event.event_id)
    host.wait(event, "IMPACT")
    assert host.said() == PREPARED
    assert host.runs()[1].cut
    event.complete()
    host.wait(event, "CLOSED")
    _assert_round(host)
    told = host.evidence(event)
    assert (told["result"], told["approved_by"], told["posts"], len(host.posts())) == ("not_prepared", "other", [], 1), told


@scenario
def what_is_approved_and_does_not_start_is_an_alarm(host: Awkward) -> None:
    """W-18: the host stays prepared, and nothing is posted twice."""
    event = host.lab.schedule("Reboot", host.host, notice=FAR, stuck=True)
    host.wait(event, "COMMITTED")
    host.wait_for(lambda: len(host.posts()) == 1)
    host.change(event, not_before=-1200)
    host.wait_for(lambda: host.alarm("overdue") and host.metric('overdue{kind="start"}') == 1)
    assert host.state(event) == "COMMITTED"
    assert host.out() == OUT
    event.start()
    host.wait(event, "CLOSED")
    _assert_round(host)
    told = host.evidence(event)
    assert (told["result"], told["approved_by"], len(host.posts())) == ("recovered", "us", 1)


@scenario
def an_event_that_is_not_due_does_not_hold_up_one_that_is(host: Awkward) -> None:
    """W-23: two for the same VM, one of them in six days."""
    later = {**RULE, "name": "later", "event_types": ["Reboot"], "start": {"before": "auto"}}
    host.configure(**{**APPROVING, "rules": [later, {**RULE, "event_types": ["Redeploy"]}]})
    held = host.lab.schedule("Reboot", host.host, notice=6 * 86400)
    due = host.lab.schedule("Redeploy", host.host, notice=FAR)
    host.wait(due, "CLOSED")
    _assert_round(host)
    assert host.evidence(due)["result"] == "recovered"
    record = host.record(held)
    assert (record["state"], record["attempt"], record["steps"]) == ("SEEN", 0, []), record
    assert len(host.posts()) == 1


@scenario
def without_notice_or_without_handlers_nothing_is_begun(host: Awkward) -> None:
    """W-25, W-50."""
    at_once = host.lab.schedule("Reboot", host.host, at_once=True, source="User")
    host.wait(at_once, "CLOSED")
    told = host.evidence(at_once)
    assert (told["result"], told["event"]["event_source"]) == ("started_without_notice", "User"), told
    assert host.said("inspect", "prepare", "recover") == []

    host.install()
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "SEEN")
    refused = host.drive("prepare", event, "1", "2m")
    _assert_refused(refused, "No handler is there")
    # The agent has asked too.
    host.wait_for(lambda: any(line.get("request") == "prepare" for line in host.evidence(event)["requests"] if line["what"] == "refused"))
    assert host.state(event) == "SEEN"
    assert host.posts() == []


# --- hosts that are not what they were -----------------------------------------------------------------------------------


@scenario
def the_image_of_a_prepared_host_does_nothing_for_another_vm(host: Awkward) -> None:
    """W-28, W-29: the VM is deleted, and made anew under its name from an image that was captured while it was prepared."""
    host.configure(**PREPARING)
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "PREPARED")
    kept = "etc/azure-event-handlers etc/systemd/system etc/tmpfiles.d etc/passwd etc/group usr/local " + STATE[1:]
    image = host.host.shell("tar -C / -cz %s | base64 -w 0" % kept, timeout=60.0)
    host.host.recreate()
    host.host.wait_until_it_serves(timeout=PATIENCE)
    for start in range(0, len(image), 60000):
        host.host.shell("printf %%s '%s' >> /root/image" % image[start : start + 60000])
    script = "base64 -d /root/image | tar -C / -xz && mkdir %s && systemd-tmpfiles --create azure-event-handlers.conf" % TOP
    host.host.shell(script + " && systemctl daemon-reload")
    host.host.shell("systemctl start azure-event-executor.path azure-event-executor azure-event-agent", timeout=90.0)
    host.wait(event, "FOREIGN")
    assert host.said("inspect", "prepare", "recover") == []
    refused = host.request("recover", event)
    assert not refused["ok"], refused
    # What concerns the new one is its own.
    own = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(own, "PREPARED")
    own.cancel()
    host.wait(own, "CLOSED")
    _assert_round(host)
    assert host.state(event) == "FOREIGN"


@scenario
def a_clock_that_is_wrong_by_an_hour_approves_nothing(host: Awkward) -> None:
    """W-34."""
    # libfaketime breaks the sleep of a Python that waits by the monotonic clock.
    host.host.shell("echo '%s' > /usr/lib/python3/dist-packages/clock.pth" % AN_HOUR_BEHIND)
    host.host.shell("systemctl restart azure-event-executor azure-event-agent", timeout=90.0)
    host.wait_for(lambda: host.metric("clock_difference_seconds") > 3500)
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "PREPARED")
    host.wait_for(lambda: host.alarm("gate") and host.metric('gate_refusals_total{reason="clock"}') == 1)
    event.cancel()
    host.wait(event, "CLOSED")
    _assert_round(host)
    told = host.evidence(event)
    assert [line["word"] for line in told["gate_refusals"]] == ["clock"], told["gate_refusals"]
    assert host.posts() == []


@scenario
def a_host_that_was_put_back_by_hand_is_not_approved(host: Awkward) -> None:
    """W-41: as soon as everything is ready, a person puts the second one's service back."""
    host.add("30-operator")
    host.behave("30-operator", "prepare", "rm -f 20-beta.out")
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "PREPARED")
    host.wait_for(lambda: host.record(event)["commit_refused"] == "20-beta says that it is in service")
    host.wait_for(lambda: host.alarm("commit"))
    assert host.state(event) == "PREPARED"
    event.cancel()
    host.wait(event, "CLOSED")
    assert host.said("recover") == ["30-operator recover", *RECOVERED]
    _assert_all_back(host)
    told = host.evidence(event)
    assert (told["result"], told["posts"], host.posts()) == ("cancelled", [], [])


@scenario
def what_a_person_has_drained_stays_drained_and_nobody_waits_for_a_silent_sink(host: Awkward) -> None:
    """W-42, W-60: the sink takes connections and never answers, before the reboot and after it."""
    host.host.shell("printf '%s' > /etc/systemd/system/sink.service" % SILENT_SINK.replace("'", "'\\''"))
    host.host.shell("systemctl daemon-reload && systemctl enable --quiet --now sink")
    host.host.shell("touch %s/%s.out" % (TOP, ALPHA))
    host.configure(**APPROVING, webhook={"url": "https://127.0.0.1:9443/hook"})
    host.host.run("systemctl", "restart", "azure-event-webhook")
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "CLOSED")
    assert host.said() == [PREPARED[1], RECOVERED[0]]
    assert host.out() == [ALPHA]
    assert host.evidence(event)["result"] == "recovered"
    record = host.record(event)
    (beta,) = [step for step in record["steps"] if step["handler"] == BETA]
    # Well below the time-out of a sink, and the pauses after it.
    assert beta["recover"]["began"] - record["gone_at"] < 8
    assert len(host.host.run("ls", RUN + "/outbox").split()) >= 2
    assert host.host.run("systemctl", "is-active", "azure-event-webhook", "sink").split() == ["active"] * 2


@scenario
def a_full_disk_keeps_a_host_in_service_and_keeps_none_out(host: Awkward) -> None:
    """W-48: before prepare, and before recover."""
    host.configure(**WATCHING)
    # What handlers write down here must not be what stops them.
    host.host.shell("mount -t tmpfs none %s" % TOP)
    event = host.lab.schedule("Reboot", host.host, notice=FAR)
    host.wait(event, "SEEN")
    with host.host.full_disk():
        refused = host.drive("prepare", event, "1", "2m")
        _assert_refused(refused, "cannot get ready")
        host.wait_for(lambda: host.metric("problems") == 1)
        assert "No space left on device" in host.status()["problems"][0]
        assert host.said("inspect", "prepare", "recover") == []
    host.wait_for(lambda: host.drive("prepare", event, "1", "2m")["verdict"] == "ready")
    assert host.status()["problems"] == []
    with host.host.full_disk():
        event.cancel()
        record = host.wait(event, "CLOSED")
        _assert_round(host)
    path = "%s/records/%s.json" % (STATE, host.evidence(event)["key"])
    host.wait_for(lambda: json.loads(host.host.run("cat", path))["state"] == "CLOSED")
    assert json.loads(host.host.run("cat", path)) == record


@scenario
def a_hold_stops_everything_but_recovery(host: Awkward) -> None:
    """W-55, W-58: for an event with an id that would be a path."""
    assert host.ask("request", "hold", "--by", "Ada", "--for", "1h", "--reason", "looking at it")["ok"]
    event = host.lab.schedule("Reboot", host.host, notice=FAR, event_id="../../x")
    host.wait_for(lambda: host.alarm("held") and host.metric("held") == 1)
    refused = host.drive("prepare", event, "1", "2m")
    _assert_refused(refused, "held by Ada until")
    assert "(looking at it)" in refused["message"]
    assert (host.state(event), host.said("inspect", "prepare")) == ("SEEN", [])
    host.behave(BETA, "prepare", "until [ -e held ]; do sleep 0.2; done")
    assert host.ask("request", "release", "--by", "Ada")["ok"]
    host.wait_for_run("20-beta prepare")
    # Ready it will be, and neither committed nor approved.
    assert host.ask("request", "hold", "--by", "Bo", "--for", "1h")["ok"]
    host.host.run("touch", TOP + "/held")
    host.wait(event, "PREPARED")
    host.wait_for(lambda: host.metric('gate_refusals_total{reason="held"}') == 2)
    assert host.state(event) == "PREPARED"
    host.lab.simulator("POST", "/events/%s/cancel" % quote(event.event_id, safe=""))
    host.wait(event, "CLOSED")
    _assert_round(host)
    told = host.evidence(event)
    assert (told["event"]["event_id"], told["posts"], host.posts()) == ("../../x", [], [])
    assert host.metric("held") == 1
    assert host.host.shell("find / -xdev -name 'x' -newer %s/config.json -not -path '/proc/*'" % ETC).split() == []


@scenario
def nobody_drains_for_a_long_freeze_of_the_whole_scope(host: Awkward) -> None:
    """W-57: unless the scope is known to be large; and what is shared is not approved all the same."""
    ghosts = [host.ghost(number) for number in range(3)]
    event = host.lab.schedule("Freeze", host.host, *ghosts, notice=FAR, duration=300)
    host.wait_for(lambda: host.alarm("freeze"))
    assert (host.state(event), host.said("inspect", "prepare")) == ("SEEN", [])
    told = host.evidence(event)
    assert [line["word"] for line in told["gate_refusals"]] == ["scope"], told["gate_refusals"]
    host.configure(**APPROVING, scope_size=100)
    host.wait(event, "PREPARED")
    event.cancel()
    host.wait(event, "CLOSED")
    _assert_round(host)
    assert host.posts() == []


# --- all of it -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab(wanted: List[str]) -> Iterator[Lab]:
    with Lab(hosts=len(wanted), impact_after=IMPACT_AFTER, away=1.0) as opened:
        yield opened


@pytest.fixture(scope="module")
def played(wanted: List[str], lab: Lab, newest_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """What went wrong in each scenario that is wanted; empty: nothing."""
    hosts = _hosts(lab, wanted)
    controller = Controller(lab, "newest", newest_programs, tmp_path_factory.mktemp("controller"))
    role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers"}}
    # The part that tells a webhook is only where there is one.
    telling = "'%s'" % hosts[SINK].host.name if SINK in hosts else "''"
    hook = "{{ {'url': 'https://127.0.0.1:9443/hook'} if inventory_hostname == %s else none }}" % telling
    names = ",".join(host.host.name for host in hosts.values())
    installed = controller.play([role], hosts=names, ansible_become=True, event_handlers_webhook=hook, timeout=300)
    assert installed.code == 0, installed.output
    with ThreadPoolExecutor(max_workers=len(wanted)) as workers:
        outcomes = list(workers.map(_play, [SCENARIOS[name] for name in wanted], hosts.values()))
    return dict(zip(wanted, outcomes))


SINK = what_a_person_has_drained_stays_drained_and_nobody_waits_for_a_silent_sink.__name__


def _hosts(lab: Lab, wanted: Sequence[str]) -> Dict[str, Awkward]:
    return {name: Awkward(lab, host) for name, host in zip(wanted, lab.hosts.values())}


def _play(play: Scenario, host: Awkward) -> str:
    began = time.monotonic()
    try:
        host.install(ALPHA, BETA)
        host.configure(**APPROVING)
        play(host)
    except Exception:  # noqa: BLE001  (each scenario's end is its own test's matter)
        return "%s\n%s" % (traceback.format_exc(), _journal(host))
    print("%5.1f s  %s" % (time.monotonic() - began, play.__name__))
    return ""


def _journal(host: Awkward) -> str:
    try:
        return host.journal(60)
    except Exception as problem:  # noqa: BLE001
        return str(problem)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_host_at_its_worst_ends_as_it_should(played: Dict[str, str], name: str) -> None:
    """W-1 to W-8, W-10 to W-12, W-14, W-16 to W-21, W-23, W-25, W-28, W-29, W-34, W-37, W-38, W-40 to W-43, W-48, W-50, W-55, W-57, W-58,
    W-60: see the scenario of this name.
    """
    assert not played[name], played[name]
