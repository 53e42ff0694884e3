# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that an extension point or an error that nobody has foreseen takes out of the run, and results that are lost."""

from __future__ import annotations

from pathlib import Path
from typing import Dict

import pytest
import yaml
from cores import OLDEST
from fleet import Fleet, until
from nights import ANY_NUMBER, DAY, ON_THE_CONTROLLER, SHORT, Night, out_of_service, task_file, undrain

VARS = Path(__file__).resolve().parents[2] / "roles" / "rolling_maintenance" / "vars" / "main.yml"
WORD = "Take the word of every host"


def broken(name: str, condition: str) -> Dict[str, str]:
    """A variable of the role that is as usual unless this is so, and then cannot be worked out."""
    usual = yaml.safe_load(VARS.read_text(encoding="utf-8"))[name].strip()
    return {name: "{{ nowhere if %s else (%s) }}" % (condition, usual.removeprefix("{{").removesuffix("}}"))}


def ask_the_dead(fleet: Fleet, host: str) -> str:
    """An extension point that loses a host: it speaks for it to somebody who is not there."""
    task = {"name": "Ask a balancer", "ansible.builtin.ping": {}, "delegate_to": "dead1", "when": "inventory_hostname == '%s'" % host}
    return task_file(fleet, "dead", task)


def test_hosts_that_fail_or_cannot_be_reached_any_more_are_put_back_by_the_closing_play(fleet: Fleet, core: str) -> None:
    """They have given their word, so that no lease ends it, and their events are days away."""
    fleet.add("idle1 lost1 mate1 failed1", scope="lost")
    fleet.add("dead1")
    fleet.ready()
    days = 9 * DAY
    events = {"lost": fleet.schedule("Reboot", "lost1 mate1", notice=days), "failed": fleet.schedule("Reboot", "failed1", notice=days)}
    fleet["dead1"].go_dark()
    pool, told = fleet.folder / "pool", fleet.folder / "told"
    pool.mkdir()
    tell = {"name": "Tell", "ansible.builtin.command": {"argv": ["sh", "-c", "echo once >> %s" % told]}, "changed_when": True}
    verdicts = "rolling_maintenance__done.results | default([]) | selectattr('verdict', 'defined') | map(attribute='verdict')"
    run = fleet.play(
        core,
        limit="idle1,lost1,mate1,failed1",
        before_approve=[ask_the_dead(fleet, "lost1")],
        after_recover=[undrain(fleet, pool)],
        after_publish=[task_file(fleet, "tell", {**tell, **ON_THE_CONTROLLER})],
        extra=broken("__rolling_maintenance_by_key", "inventory_hostname == 'failed1' and 'committed' in " + verdicts),
        **ANY_NUMBER,
        **SHORT,
    )
    night = Night(fleet, events, run)
    in_waves = [done for done in run.done if done.play.startswith("Maintain")]
    outcomes = {done.host: done.outcome for done in in_waves if done.outcome in ("failed", "unreachable")}
    assert outcomes == {"lost1": "unreachable", "failed1": "failed"}
    for name in events:
        assert night.nobody_approved(name)
        assert night.result(name) == "refused"
    for name, event in (("lost1", events["lost"]), ("mate1", events["lost"]), ("failed1", events["failed"])):
        fleet[name].wait(event, "BACKED_OUT")
        assert fleet[name].in_service
    assert sorted(path.name for path in pool.iterdir()) == ["failed1", "lost1", "mate1"]
    # Who was taken back does nothing a second time that is done once.
    assert told.read_text(encoding="utf-8") == "once\n"
    assert run.code == 2


def test_nobody_is_approved_when_the_last_verdict_cannot_be_given(fleet: Fleet, core: str) -> None:
    """One host gives it for all, of whom none is idle; and the verdict of the step before does not stand in for it."""
    fleet.add("mute1 mute2", scope="mute")
    fleet.ready()
    event = fleet.schedule("Reboot", "mute1 mute2", notice=9 * DAY)
    extra = broken("__rolling_maintenance_verdicts", "rolling_maintenance__step == 'vote'")
    night = Night(fleet, {"mute": event}, fleet.play(core, extra=extra, **ANY_NUMBER, **SHORT))
    assert [done.outcome for done in night.run.ran("See that everybody has given it").values()] == ["ignored"]
    assert night.nobody_approved("mute")
    assert "nobody could say whether its wave goes on" in night.run.said
    assert night.result("mute") == "refused"
    assert night.run.code == 2
    for name in ("mute1", "mute2"):
        fleet[name].wait(event, "BACKED_OUT")
        assert fleet[name].in_service


def test_what_was_under_way_is_published_although_the_only_host_of_it_is_lost(fleet: Fleet, core: str) -> None:
    fleet.add("idle1 driven1", scope="driven")
    fleet.add("dead1")
    fleet.ready()
    event = fleet.schedule("Reboot", "driven1", runs_for=20.0)
    assert fleet["driven1"].ask("request", "prepare", event.event_id, "--driver", "playbook", "--run-id", "earlier")["verdict"] == "ready"
    fleet["dead1"].go_dark()
    fleet.simulator.start(event.event_id)
    run = fleet.play(core, limit="idle1,driven1", after_recover=[ask_the_dead(fleet, "driven1")], **ANY_NUMBER)
    assert {host: done.outcome for host, done in run.ran("Ask a balancer").items()} == {"driven1": "unreachable"}
    assert "Publish" in run.plays
    assert run.stats["azure_maintenance_evidence"]
    assert fleet["driven1"].in_service


def test_everybody_is_watched_although_a_task_for_all_hosts_has_failed_after_the_approval(fleet: Fleet, core: str) -> None:
    fleet.add("idle1 first1 second1", scope="once")
    fleet.ready()
    # Longer than anybody waits for a host that nobody watches.
    events = {"first": fleet.schedule("Reboot", "first1"), "second": fleet.schedule("Reboot", "second1", start_delay=60.0)}
    fail = task_file(fleet, "fail", {"name": "Fail", "ansible.builtin.fail": {"msg": "no chat"}, "run_once": True, **ON_THE_CONTROLLER})
    options = {**SHORT, "start_timeout": "3m", "recover_timeout": "20s"}
    night = Night(fleet, events, fleet.play(core, after_approve=[fail], **ANY_NUMBER, **options))
    for name, event in events.items():
        assert night.result(name) == "recovered", name
        assert fleet[name + "1"].in_service
        assert fleet[name + "1"].state(event) == "CLOSED"


def test_a_word_of_before_is_none_where_a_new_one_was_asked_for_and_its_answer_is_lost(fleet: Fleet, core: str) -> None:
    """W-41: between the two somebody may have put the host back."""
    fleet.add("idle1 word1", scope="word")
    fleet.ready()
    event = fleet.schedule("Reboot", "word1", notice=9 * DAY)
    host = fleet["word1"]
    host.behave("inspect", "sleep 3")
    nothing = task_file(fleet, "nothing", {"name": "Do nothing", "ansible.builtin.debug": {"msg": "nothing"}})
    running = fleet.begin(core, before_approve=[nothing], **ANY_NUMBER, **SHORT)
    running.until(WORD, host="word1", times=2)
    host.break_down()
    running.until("See that everybody has given it", times=2)
    host.come_back()
    night = Night(fleet, {"word": event}, running.wait())
    assert night.nobody_approved("word")
    assert night.result("word") == "refused"
    host.wait(event, "BACKED_OUT")
    assert host.in_service


@pytest.mark.parametrize("core", [OLDEST])
def test_a_post_that_was_taken_is_not_forgotten_when_the_next_one_ends_with_an_error(fleet: Fleet, core: str) -> None:
    """Later versions keep what became of the others. Whoever was approved stays out until Azure is done with it."""
    fleet.add("idle1 left1 both1 right1", scope="chain")
    fleet.ready()
    events = {
        "left": fleet.schedule("Reboot", "left1 both1", start_delay=40.0),
        "right": fleet.schedule("Reboot", "both1 right1", start_delay=40.0),
    }
    # Whichever is the second one.
    for event in events.values():
        fleet.simulator.fault("delay", verb="POST", event_id=event.event_id, seconds=3.0, times=1)
    running = fleet.begin(core, lease="5m", **ANY_NUMBER, **{**SHORT, "start_timeout": "90s"})
    until(lambda: running.is_over or all(fleet.posts(event) for event in events.values()), timeout=120, what="both are posted")
    fleet["idle1"].break_down()
    # So that nobody passes the gate a second time.
    fleet["right1"].go_dark()
    running.until("Try again through somebody else", timeout=60)
    fleet["idle1"].come_back()
    running.until("See it start")
    fleet["right1"].come_back()
    night = Night(fleet, events, running.wait())
    for name, event in events.items():
        assert event.approved_at is not None
        assert night.result(name) == "recovered", name
        (host,) = (fleet[vm.key] for vm in event.vms if vm.key != "both1")
        assert host.runs() == ["10-pool prepare", "10-pool recover"]
        (span,) = out_of_service(host)
        assert event.gone_at is not None
        assert span[1] > event.gone_at
    assert fleet["both1"].in_service
