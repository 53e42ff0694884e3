# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways out of a run: nobody is approved who is not there, and nothing stays drained that nobody will put back."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, timezone
from typing import Any, Dict

from fleet import AT_ONCE, PLAYBOOK, Fleet, until
from nights import ANY_NUMBER, DAY, ON_THE_CONTROLLER, SHORT, Night, task_file, undrain

ROLE = "cloud_maintenance.azure.rolling_maintenance"
APPROVE = [{"name": "yes", "action": "approve", "start": "now"}]


def test_a_host_that_has_given_its_word_and_misses_that_nobody_is_approved_hears_it_later(fleet: Fleet, core: str) -> None:
    """W-9: no lease ends a word, and its event is days away."""
    fleet.add("idle1 word1 drawn1", scope="word")
    fleet.ready()
    event = fleet.schedule("Reboot", "word1 drawn1", notice=9 * DAY)
    host, other = fleet["word1"], fleet["drawn1"]
    # The other one is asked for its word too, and somebody has put it back meanwhile.
    other.behave("inspect", "sleep 3; code=1")
    running = fleet.begin(core, lease="5m", **ANY_NUMBER, **SHORT)
    until(lambda: host.state(event) == "COMMITTED" or running.is_over, timeout=120, what="the word is given")
    host.go_dark()
    running.until("Wait until the host can be reached", host="word1")
    assert host.state(event) == "COMMITTED"
    host.come_back()
    night = Night(fleet, {"word": event}, running.wait())
    assert night.nobody_approved("word")
    assert night.result("word") == "refused"
    for one in (host, other):
        one.wait(event, "BACKED_OUT")
        assert one.in_service


def test_what_needs_no_preparation_is_not_approved_when_one_of_its_hosts_has_left_the_run(fleet: Fleet, core: str) -> None:
    fleet.add("idle1 plain1 plain2", scope="plain")
    fleet.ready()
    event = fleet.schedule("Reboot", "plain1 plain2")
    leave = task_file(fleet, "leave", {"name": "Leave", "ansible.builtin.meta": "end_host", "when": "inventory_hostname == 'plain2'"})
    night = Night(fleet, {"plain": event}, fleet.play(core, rules=APPROVE, before_approve=[leave], **ANY_NUMBER, **SHORT))
    assert night.entry("plain")["place"] == "waves"
    assert night.nobody_approved("plain")
    assert night.run.code == 2
    assert night.result("plain") == "refused"


def test_what_needs_no_preparation_is_approved_unless_a_person_holds_a_host_by_then(fleet: Fleet, core: str) -> None:
    """W-55: nobody asks such a host for its word."""
    fleet.add("idle1 free1 held1", scope="free")
    fleet.ready()
    events = {"free": fleet.schedule("Reboot", "free1"), "held": fleet.schedule("Reboot", "held1")}
    hold = "%s --root %s request hold --by ann --for 2h --reason backup" % (fleet.nursery.command, fleet["held1"].folder)
    late = {"name": "Hold it", "ansible.builtin.command": hold, "changed_when": True, "when": "inventory_hostname == 'held1'"}
    before = task_file(fleet, "late", {**late, **ON_THE_CONTROLLER})
    night = Night(fleet, events, fleet.play(core, rules=APPROVE, before_gate=[before], **ANY_NUMBER, **SHORT))
    assert night.nobody_approved("held")
    assert "ann" in night.run.message
    (post,) = night.posts("free")
    assert post.status == 200
    assert night.result("free") == "recovered"


def test_a_host_that_is_given_back_goes_back_into_its_pool_although_an_extension_point_fails_before(fleet: Fleet, core: str) -> None:
    fleet.add("idle1 good1 bad1", scope="pair")
    fleet.ready()
    fleet["bad1"].behave("prepare", "code=1")
    event = fleet.schedule("Reboot", "good1 bad1", notice=9 * DAY)
    pool = fleet.folder / "pool"
    pool.mkdir()
    fail = task_file(fleet, "fail", {"name": "Fail", "ansible.builtin.fail": {"msg": "the chat is down"}, **ON_THE_CONTROLLER})
    hooks: Dict[str, Any] = {"before_recover": [fail], "after_recover": [undrain(fleet, pool)]}
    night = Night(fleet, {"pair": event}, fleet.play(core, **hooks, **ANY_NUMBER, **SHORT))
    assert night.nobody_approved("pair")
    assert "before_recover failed: the chat is down" in night.run.said
    assert (pool / "good1").exists()
    fleet["good1"].wait(event, "BACKED_OUT")


def test_what_an_earlier_run_has_taken_out_of_a_pool_goes_back_although_azure_has_begun(fleet: Fleet, core: str) -> None:
    """W-6, W-24: and what no run has taken out stays out."""
    fleet.add("idle1 driven1 person1 manual1", scope="pool")
    fleet.ready()
    events = {name: fleet.schedule("Reboot", name + "1", runs_for=20.0) for name in ("driven", "person", "manual")}
    for name, driver in (("driven", "playbook"), ("person", "ann")):
        request = ("request", "prepare", events[name].event_id, "--driver", driver, "--run-id", "earlier")
        assert fleet[name + "1"].ask(*request)["verdict"] == "ready"
    # A refusal is written down as well, and names nobody.
    other = ("request", "prepare", events["driven"].event_id, "--driver", "other", "--run-id", "other")
    assert fleet["driven1"].ask(*other)["verdict"] == "refused"
    pool = fleet.folder / "pool"
    pool.mkdir()
    for event in events.values():
        fleet.simulator.start(event.event_id)
    run = fleet.play(core, after_recover=[undrain(fleet, pool)], **ANY_NUMBER)
    assert Night(fleet, events, run).entry("driven")["place"] == "running"
    assert fleet["driven1"].in_service
    assert sorted(path.name for path in pool.iterdir()) == ["driven1"]


def test_of_two_events_of_one_host_the_one_that_is_surely_refused_is_given_back(fleet: Fleet, core: str) -> None:
    """W-36: they go out in one post, and then one by one."""
    fleet.add("idle1 both1", scope="both")
    fleet.ready()
    events = {"good": fleet.schedule("Reboot", "both1", start_delay=1.0), "bad": fleet.schedule("Freeze", "both1", stuck=True)}
    fleet.simulator.fault("status", status=400, times=None, verb="POST", event_id=events["bad"].event_id)
    night = Night(fleet, events, fleet.play(core, lease="5m", **ANY_NUMBER, **SHORT))
    assert events["bad"].approved_at is None
    assert night.result("bad") == "refused"
    assert night.result("good") == "recovered"
    fleet["both1"].wait(events["bad"], "BACKED_OUT")
    fleet["both1"].wait_until_back()


def test_a_host_of_an_earlier_wave_that_stays_out_counts_in_the_next_one(fleet: Fleet, core: str) -> None:
    """W-39: it was out for its event when it was planned, and nothing has brought it back."""
    fleet.add("idle1 idle2 kept1 next1", scope="row")
    fleet.ready()
    first, second = fleet.schedule("Reboot", "kept1"), fleet.schedule("Reboot", "next1", notice=DAY)
    host = fleet["kept1"]
    for request in ("prepare", "commit"):
        answer = host.ask("request", request, first.event_id, "--driver", "playbook", "--run-id", "earlier", "--lease", "1s")
        assert answer["ok"], answer
    # A word that was given to another run, and does not hold any more.
    host.behave("inspect", "code=1")
    night = Night(fleet, {"first": first, "second": second}, fleet.play(core, max_unavailable=1, **SHORT))
    assert night.nobody_approved("first")
    assert night.untouched("second", "next1")
    assert not host.in_service
    assert "beside kept1" in night.run.said
    assert night.run.code == 2


def test_what_is_ready_only_when_its_window_has_closed_is_given_back(fleet: Fleet, core: str) -> None:
    """An extension point takes longer than anybody thought."""
    fleet.add("idle1 slow1", scope="slow")
    fleet.ready()
    event = fleet.schedule("Reboot", "slow1", notice=9 * DAY)
    # A minute and a half at least.
    closes = (datetime.now(timezone.utc) + timedelta(seconds=150)).replace(second=0, microsecond=0)
    window = {"from": "%02d:00" % ((closes.hour + 22) % 24), "to": closes.strftime("%H:%M"), "timezone": "UTC"}
    sleep = "until [ $(date +%%s) -gt %d ]; do sleep 0.5; done" % closes.timestamp()
    waits = {"name": "Wait too long", "ansible.builtin.command": {"argv": ["sh", "-c", sleep]}, "changed_when": False, **ON_THE_CONTROLLER}
    rules = [{"name": "night", "action": "prepare_and_approve", "start": "window"}]
    hooks: Dict[str, Any] = {"before_approve": [task_file(fleet, "waits", waits)]}
    night = Night(fleet, {"slow": event}, fleet.play(core, rules=rules, windows=[window], **hooks, **ANY_NUMBER, **SHORT))
    assert night.entry("slow")["place"] == "waves"
    assert night.run.ran("Wait too long")
    assert night.nobody_approved("slow")
    assert "its window was open until" in night.run.said
    assert night.result("slow") == "refused"
    fleet["slow1"].wait(event, "BACKED_OUT")
    assert fleet["slow1"].in_service


def test_nobody_is_approved_by_what_was_seen_before_hosts_got_ready(fleet: Fleet, core: str) -> None:
    """W-55: who speaks for the component has nothing to do any more, and one of the others is held."""
    fleet.add("idle1 lead1 next1", scope="lead")
    fleet.ready()
    events = {"over": fleet.schedule("Reboot", "lead1 next1"), "left": fleet.schedule("Freeze", "next1")}
    rules = [{**AT_ONCE[0], "event_types": ["Reboot"]}, {"name": "yes", "event_types": ["Freeze"], "action": "approve", "start": "now"}]
    signal = fleet.folder / "cancelled"
    # So long that everybody is asked again before the wave.
    wait = {"name": "Wait until Azure has thought better of it", "ansible.builtin.wait_for": {"path": str(signal), "timeout": 90}}
    hold = "%s --root %s request hold --by ann --for 2h --reason backup" % (fleet.nursery.command, fleet["next1"].folder)
    late = {"name": "Hold it", "ansible.builtin.command": hold, "changed_when": True, "run_once": True}
    hooks: Dict[str, Any] = {
        "after_plan": [task_file(fleet, "wait", {**wait, **ON_THE_CONTROLLER})],
        "before_gate": [task_file(fleet, "hold", {**late, **ON_THE_CONTROLLER})],
    }
    running = fleet.begin(core, rules=rules, **hooks, **ANY_NUMBER, **SHORT)
    running.until("Show the plan", kind="end")
    fleet.simulator.cancel(events["over"].event_id)
    time.sleep(35)
    signal.touch()
    night = Night(fleet, events, running.wait())
    assert night.run.ran("Hold it")
    assert night.entry("left")["component"] == night.entry("over")["component"]
    assert night.nobody_approved("left")
    assert night.run.code == 2


def test_an_event_that_was_given_back_takes_room_beside_the_next_wave(fleet: Fleet, core: str) -> None:
    """W-39: Azure takes that host before the next one is back."""
    fleet.add("idle1 bad1 good1", scope="row")
    fleet.ready()
    fleet["bad1"].behave("prepare", "code=1")
    events = {"first": fleet.schedule("Reboot", "bad1", notice=720.0), "second": fleet.schedule("Reboot", "good1", notice=DAY)}
    night = Night(fleet, events, fleet.play(core, max_unavailable=1, **SHORT))
    assert [night.entry(name)["wave"] for name in events] == [1, 2]
    fleet["bad1"].wait(events["first"], "BACKED_OUT")
    assert night.untouched("second", "good1")
    assert "beside bad1 (event %s hits it)" % events["first"].event_id in night.run.said


def test_a_run_that_leaves_out_the_gate_approves_nobody(fleet: Fleet, core: str) -> None:
    fleet.add("idle1 web1", scope="web")
    fleet.ready()
    event = fleet.schedule("Freeze", "web1")
    book = fleet.folder / "book.yml"
    points = [{"ansible.builtin.include_role": {"name": ROLE, "tasks_from": point}} for point in ("discover", "plan", "prepare", "approve")]
    tell = {"ansible.builtin.include_role": {"name": ROLE, "tasks_from": "publish"}}
    book.write_text(json.dumps([{"hosts": "web1,idle1", "gather_facts": False, "tasks": [*points, tell]}]), encoding="utf-8")
    night = Night(fleet, {"web": event}, fleet.play(core, playbook=str(book), rules=APPROVE, **ANY_NUMBER, **SHORT))
    assert night.nobody_approved("web")
    assert "the entry point gate comes before approve, and was left out" in night.run.said


def test_what_goes_wrong_before_the_end_is_said_with_everything_else(fleet: Fleet, core: str) -> None:
    fleet.add("web1")
    fleet.ready()
    event = fleet.schedule("Reboot", "web1")
    fail = task_file(fleet, "fail", {"name": "Fail", "ansible.builtin.fail": {"msg": "the chat is down"}, **ON_THE_CONTROLLER})
    night = Night(fleet, {"web": event}, fleet.play(core, before_publish=[fail], **ANY_NUMBER, **SHORT))
    assert night.run.code == 2
    assert night.went_well("web", "web1")
    assert night.run.stats["azure_maintenance_failures"] == ["before_publish failed: the chat is down."]
    assert night.run.stats["azure_maintenance_result"] == "failed"


def test_evidence_that_cannot_be_written_any_more_keeps_no_host_from_coming_back(fleet: Fleet, core: str) -> None:
    """Its folder is gone when everybody is ready, and something else has its name: root may write everywhere else."""
    fleet.add("idle1 web1 web2", scope="web")
    fleet.ready()
    events = {"one": fleet.schedule("Reboot", "web1"), "two": fleet.schedule("Reboot", "web2")}
    folder = fleet.evidence_folder
    script = "test -d %s && rm -r %s && touch %s" % (folder, folder, folder)
    lost = {"name": "Lose the evidence", "ansible.builtin.command": {"argv": ["sh", "-c", script]}, "changed_when": True}
    once = task_file(fleet, "lost", {**lost, "when": "inventory_hostname == 'web1'", **ON_THE_CONTROLLER})
    night = Night(fleet, events, fleet.play(core, before_gate=[once], **ANY_NUMBER, **SHORT))
    assert folder.is_file()
    for name, host in (("one", "web1"), ("two", "web2")):
        (post,) = night.posts(name)
        assert post.status == 200
        assert (fleet[host].state(events[name]), fleet[host].in_service) == ("CLOSED", True)
        assert fleet[host].runs() == ["10-pool prepare", "10-pool recover"]
    # Nothing else has gone wrong.
    (words,) = night.run.stats["azure_maintenance_failures"]
    assert words.startswith("The evidence could not be written: ")
    assert words in night.run.message
    assert night.run.code == 2
    assert night.run.stats["azure_maintenance_result"] == "failed"
    assert not night.run.stats["azure_maintenance_evidence"]


def test_whoever_asks_after_a_run_is_told_how_it_is_then(fleet: Fleet, core: str) -> None:
    fleet.add("idle1 near1", scope="near")
    fleet.ready()
    event = fleet.schedule("Reboot", "near1", notice=540.0)
    book = fleet.folder / "book.yml"
    ask = {"ansible.builtin.include_role": {"name": ROLE, "tasks_from": "gate"}}
    say = {"name": "Say", "ansible.builtin.debug": {"msg": "{{ rolling_maintenance_gate.why }}"}}
    asked = {"hosts": "all", "gather_facts": False, "tasks": [ask, say]}
    book.write_text(json.dumps([asked, {"ansible.builtin.import_playbook": PLAYBOOK}, asked]), encoding="utf-8")
    night = Night(fleet, {"near": event}, fleet.play(core, playbook=str(book), rules=[{"name": "no", "action": "ignore"}], **SHORT))
    said = [one.result["msg"] for one in night.run.done if one.task == "Say" and one.host == "near1"]
    assert len(said) == 2
    assert all("Reboot of this host in" in words for words in said)
    assert night.entry("near")["place"] == "left"
