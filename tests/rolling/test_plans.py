# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run takes on and what it leaves: who may be out at once, who somebody else has in hand, who is who, and who has agreed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

import pytest
from cores import NEWEST, OLDEST, played
from fleet import AT_ONCE, Fleet, Played, until
from imds_simulator import Event
from nights import ANY_NUMBER, DAY, HOUR, Attempts, Night, entry_of, out_of_service

MAINTAIN = "Maintain, wave by wave"
PUBLISHED = {
    "azure_maintenance_result",
    "azure_maintenance_events",
    "azure_maintenance_digest",
    "azure_maintenance_due_next",
    "azure_maintenance_summary",
    "azure_maintenance_evidence",
    "azure_maintenance_failures",
}


# --- who is who ----------------------------------------------------------------------------------------------------------


@played("named")
def _named(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("case1 case2", scope="case", vm_name="%s")
    fleet.simulator.add_scope("pool", kind="scale_set")
    fleet.add("pool000003", scope="pool", vm_name="pool_3")
    fleet.add("pool000004", scope="pool", vm_name="pool_4")
    for colour in ("Blue", "Green"):
        fleet.add(colour.lower(), scope=colour, vm_name="app_0", resource_group=colour)
    fleet.add("double1 double3", scope="double")
    fleet.add("double2", scope="double", hostvars={"rolling_maintenance_vm_name": "vm-DOUBLE1"})
    fleet.add("torn1 torn2", scope="torn")
    fleet.add("missing1 missing2", scope="missing")
    fleet.add("grown1 grown2 grown3", scope="grown")
    fleet.ready()
    events = {
        "case": fleet.schedule("Reboot", "CASE1"),
        "pool": fleet.schedule("Reboot", "pool000003"),
        "blue": fleet.schedule("Reboot", "blue"),
        "double": fleet.schedule("Reboot", "double1"),
        "torn": fleet.schedule("Freeze", "torn1"),
        "missing": fleet.schedule("Reboot", "missing1"),
        "grown": fleet.schedule("Reboot", "grown1"),
    }
    # From now on these see what was there before.
    for name in ("torn2", "grown1"):
        fleet.simulator.fault("late", vm=name, path="events", times=None)
    fleet.simulator.fault("drop_event", vm="missing2", path="events", times=None)
    fleet.simulator.change(events["torn"].event_id, event_type="Redeploy")
    fleet.simulator.change(events["grown"].event_id, resources=["grown1", "grown2"])
    return Night(fleet, events, fleet.play(request.param, **ANY_NUMBER))


def test_a_name_in_other_letters_is_the_same_vm(named: Night) -> None:
    """C-18."""
    assert named.events["case"].resources == ["CASE1"]
    assert [post.vm for post in named.posts("case")] == ["case2"]
    assert named.went_well("case", "case1")


def test_a_vm_of_a_scale_set_is_known_by_its_name_there(named: Night) -> None:
    assert named.entry("pool")["vm_names"] == {"pool000003": "pool_3"}
    assert [post.vm for post in named.posts("pool")] == ["pool000004"]
    assert named.went_well("pool", "pool000003")


def test_of_two_vms_of_one_name_the_one_in_the_resource_group_of_the_event_is_meant(named: Night) -> None:
    """W-30: identity is subscription, resource group and name."""
    assert named.entry("blue")["hosts"] == ["blue"]
    assert named.went_well("blue", "blue")
    assert named.fleet["green"].runs("inspect", "prepare", "recover") == []


def test_two_hosts_that_are_one_vm_are_refused(named: Night) -> None:
    assert named.untouched("double", "double1", "double2", "double3")
    assert named.entry("double")["place"] == "refused"
    assert "double1, double2 are one VM to Azure" in named.entry("double")["reason"]


def test_an_event_of_which_two_hosts_say_different_types_is_refused(named: Night) -> None:
    assert named.untouched("torn", "torn1", "torn2")
    assert named.entry("torn")["place"] == "refused"
    assert "torn1 and torn2 disagree on its type" in named.run.said


def test_an_event_that_a_neighbour_does_not_see_is_there_all_the_same(named: Night) -> None:
    """C-21: and whoever does not see it neither posts nor says that it is gone."""
    assert "missing2 was not shown it" in named.run.said
    assert [post.vm for post in named.posts("missing")] == ["missing1"]
    assert named.went_well("missing", "missing1")


def test_where_answers_differ_in_resources_everybody_who_is_named_gets_ready(named: Night) -> None:
    """C-21: what one sees already, another one sees later."""
    assert named.entry("grown")["hosts"] == ["grown1", "grown2"]
    assert "disagree on its Resources, all of them count" in named.run.said
    event = named.events["grown"]
    if named.fleet.approved(event):
        assert all(named.fleet[name].runs("prepare") == ["10-pool prepare"] for name in ("grown1", "grown2"))
    for name in ("grown1", "grown2"):
        named.fleet[name].wait_until_back()


# --- who may not be taken out --------------------------------------------------------------------------------------------


@played("bounded")
def _bounded(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("dark1 dark2", scope="dark")
    fleet.add("lost1")
    fleet.add("full1 full2 full3", groups=["full"])
    fleet.add("held1")
    fleet.add("left1 left2", scope="left")
    fleet.add("queue1 queue2 queue3 queue4 queue5", groups=["queue"])
    fleet.ready()
    for name in ("full1", "held1"):
        fleet[name].ask("request", "hold", "--by", "ann", "--for", "3h", "--reason", "a restore")
    events = {
        "dark": fleet.schedule("Reboot", "dark1"),
        "full": fleet.schedule("Reboot", "full2"),
        "held": fleet.schedule("Reboot", "held1"),
        "left": fleet.schedule("Reboot", "left1 left2"),
        **{name: fleet.schedule("Reboot", name) for name in ("queue1", "queue2", "queue3", "queue4", "queue5")},
    }
    for name in ("dark1", "lost1"):
        fleet[name].go_dark()
    # One group that nobody is in: its name is mistyped.
    groups = {"full": {"max_unavailable": 1}, "queue": {"max_unavailable": 1}, "ful": {"max_unavailable": 1}}
    return Night(fleet, events, fleet.play(request.param, limit="all:!left2", groups=groups, **ANY_NUMBER))


def test_a_host_that_cannot_be_reached_is_refused_and_named(bounded: Night) -> None:
    assert bounded.untouched("dark", "dark1", "dark2")
    assert bounded.entry("dark")["place"] == "refused"
    assert "dark1 cannot be reached; Azure starts at" in bounded.entry("dark")["reason"]
    assert "dark1" in bounded.run.message


def test_a_host_of_which_nobody_knows_anything_is_no_success(bounded: Night) -> None:
    assert "lost1" in bounded.run.message
    assert bounded.run.code == 2


def test_where_as_many_are_out_as_may_be_nobody_else_is_taken_out(bounded: Night) -> None:
    assert bounded.untouched("full", "full1", "full2", "full3")
    assert bounded.entry("full")["place"] in ("held", "refused")
    assert "2 of the group full would be out beside full1 (held by ann), and at most 1 may be" in bounded.entry("full")["reason"]


def test_a_host_that_a_person_holds_is_not_ready_and_the_reason_says_who_and_until(bounded: Night) -> None:
    """W-55."""
    assert bounded.untouched("held", "held1")
    assert "held1 is held by ann (a restore) until" in bounded.entry("held")["reason"]


def test_of_events_at_the_same_time_that_do_not_fit_one_after_the_other_the_rest_is_refused(bounded: Night) -> None:
    """W-52: at plan time, with the times. Azure takes all of them before the first would be back, so there is no first."""
    for name in ("queue1", "queue2", "queue3", "queue4", "queue5"):
        assert bounded.untouched(name, name)
        assert bounded.entry(name)["place"] == "refused"
        reason = bounded.entry(name)["reason"]
        assert "5 of the group queue would be out beside" in reason
        assert "and at most 1 may be; Azure starts at" in reason
        assert name in bounded.run.message


def test_a_limit_that_leaves_out_one_of_two_tied_hosts_refuses_their_event(bounded: Night) -> None:
    """W-53: unmanaged in this run."""
    assert bounded.untouched("left", "left1", "left2")
    reason = bounded.entry("left")["reason"]
    assert "it also hits Vm-left2, no host of this run (left2 of the inventory: take it into the run)" in reason


def test_every_event_has_one_place_and_a_reason_in_words(bounded: Night) -> None:
    entries = bounded.run.stats["azure_maintenance_events"]
    announced = sorted(event.event_id.lower() for event in bounded.events.values())
    assert sorted(one["event"]["event_id"].lower() for one in entries) == announced
    for one in entries:
        assert one["place"] in ("waves", "held", "refused", "running", "left")
        assert one["reason"]


def test_bounds_of_a_group_that_nobody_is_in_are_named(bounded: Night) -> None:
    assert "the group ful of rolling_maintenance_groups has no host, so its bounds hold for nobody" in bounded.run.said


# --- who has it in hand --------------------------------------------------------------------------------------------------


@played("hands")
def _hands(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    # Its own policy would wait until shortly before NotBefore, and so the playbook comes first.
    fleet.add("late1 late2", scope="late", mode="prepare_and_approve")
    fleet.add("quick1", mode="prepare_and_approve", rules=AT_ONCE)
    fleet["quick1"].be_busy("300s")
    fleet.ready()
    events = {"late": fleet.schedule("Reboot", "late1"), "quick": fleet.schedule("Reboot", "quick1")}
    quick = fleet["quick1"]
    until(lambda: quick.state(events["quick"]) == "PREPARING", timeout=30, what="its own agent is at work")
    running = fleet.begin(request.param, **ANY_NUMBER)
    running.until("Show the plan", kind="end")
    fleet["quick1"].go_on()
    return Night(fleet, events, running.wait())


def test_the_agent_of_a_host_does_nothing_about_what_a_playbook_has_in_hand(hands: Night) -> None:
    """W-37: one prepares, one posts."""
    assert [post.vm for post in hands.posts("late")] == ["late2"]
    assert hands.went_well("late", "late1")


def test_a_playbook_does_nothing_about_what_the_agent_of_a_host_has_in_hand(hands: Night) -> None:
    """W-37: the loser waits."""
    assert hands.entry("quick")["place"] == "held"
    assert "on quick1 its own agent has it in hand" in hands.entry("quick")["reason"]
    event, host = hands.events["quick"], hands.fleet["quick1"]
    host.wait(event, "CLOSED")
    assert [post.vm for post in hands.posts("quick")] == ["quick1"]
    assert (host.in_service, host.runs()) == (True, ["10-pool prepare", "10-pool recover"])


# --- more than may be out, and Azure takes them all the same --------------------------------------------------------------


@played("crowd")
def _crowd(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("tied1 tied2 tied3 tied4", scope="tied", groups=["tied"])
    fleet.add("pair1 pair2", scope="pair", groups=["pair"])
    fleet.ready()
    events = {
        "pair": fleet.schedule("Reboot", "pair1 pair2"),
        "tied": fleet.schedule("Reboot", "tied1 tied2 tied3", notice=150.0, runs_for=20.0),
    }
    groups = {"tied": {"max_unavailable": 1, "min_available": 1}, "pair": {"max_unavailable": 2, "min_available": 1}}
    # What is only prepared is prepared as late as is safe; the run waits for that. There is time to spare for a machine with other work.
    rules = [{**rule, "prepare_budget": "80s"} for rule in AT_ONCE]
    running = fleet.begin(request.param, groups=groups, rules=rules, within="3m", **ANY_NUMBER)
    tied = [fleet[name] for name in ("tied1", "tied2", "tied3")]
    until(lambda: running.is_over or all(host.state(events["tied"]) == "PREPARED" for host in tied), timeout=150, what="all are prepared")
    # And have said so.
    running.until("See that everybody is ready", kind="end", timeout=60)
    if events["tied"].state == "Scheduled":
        fleet.simulator.start(events["tied"].event_id)
    return Night(fleet, events, running.wait())


def test_an_event_of_more_hosts_than_may_be_out_is_prepared_and_not_approved(crowd: Night) -> None:
    """W-51: Azure takes them together anyway."""
    entry = crowd.entry("tied")
    assert (entry["place"], entry["over_capacity"], entry["approves"]) == ("waves", True, False)
    assert not crowd.posts("tied")
    for name in ("tied1", "tied2", "tied3"):
        crowd.fleet[name].wait(crowd.events["tied"], "CLOSED")
        assert crowd.fleet[name].runs() == ["10-pool prepare", "10-pool recover"]
    assert crowd.fleet["tied4"].runs() == []
    assert crowd.result("tied") == "recovered"


def test_an_event_that_would_leave_too_few_in_service_is_refused(crowd: Night) -> None:
    """W-51: min_available is kept."""
    assert crowd.untouched("pair", "pair1", "pair2")
    assert crowd.entry("pair")["place"] == "refused"
    assert "2 of the group pair are hit together, there are 2, and 1 must stay" in crowd.entry("pair")["reason"]
    assert crowd.run.code == 2


# --- two controllers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rivals:
    fleet: Fleet
    events: Mapping[str, Event]
    first: Played
    second: Played

    def told(self) -> str:
        return self.fleet.told()


@played("rivals", NEWEST)
def _rivals(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Rivals:
    """Two runs, of an old and of a new version of Ansible, on the same hosts and on two halves of a group."""
    fleet = fleets()
    fleet.add("same1 same2", scope="same")
    fleet.add("one1 one2", scope="one", groups=["half", "first"])
    fleet.add("two1 two2", scope="two", groups=["half", "second"])
    for name in ("same1", "one1"):
        fleet[name].be_busy("300s")
    fleet.ready()
    events = {"same": fleet.schedule("Reboot", "same1"), "one": fleet.schedule("Reboot", "one1"), "two": fleet.schedule("Reboot", "two1")}
    options: Dict[str, Any] = {**ANY_NUMBER, "groups": {"half": {"max_unavailable": 1}}}
    first = fleet.begin(OLDEST, limit="same1,same2,first", run_id="first", **options)
    for name, event in (("same1", "same"), ("one1", "one")):
        fleet[name].wait(events[event], "PREPARING", timeout=90)
    second = fleet.play(NEWEST, limit="same1,same2,second", run_id="second", **options)
    for name in ("same1", "one1"):
        fleet[name].go_on()
    return Rivals(fleet, events, first.wait(), second)


def test_what_one_controller_has_in_hand_is_refused_to_the_other(rivals: Rivals) -> None:
    """W-38."""
    entry = entry_of(rivals.second, rivals.events["same"])
    assert entry["place"] == "refused"
    assert "same1 is in the hands of playbook (run first) until" in entry["reason"]
    host = rivals.fleet["same1"]
    assert len(rivals.fleet.posts(rivals.events["same"])) == 1
    assert (host.in_service, host.runs()) == (True, ["10-pool prepare", "10-pool recover"])
    assert rivals.fleet.evidence_of(rivals.events["same"])["result"] in ("recovered", "refused")


def test_two_controllers_together_take_no_more_out_of_a_group_than_may_be(rivals: Rivals) -> None:
    """W-39: counted from the hosts' own records, also from those that are in no limit of this run."""
    assert rivals.fleet.approved(rivals.events["one"])
    assert rivals.fleet["one1"].runs() == ["10-pool prepare", "10-pool recover"]
    out = [out_of_service(rivals.fleet[name]) for name in ("one1", "two1")]
    assert not [(one, two) for one in out[0] for two in out[1] if one[0] < two[1] and two[0] < one[1]]
    if not rivals.fleet.approved(rivals.events["two"]):
        assert "one1" in entry_of(rivals.second, rivals.events["two"])["reason"] or "one1" in rivals.second.message


# --- shown, then agreed to, then done ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """The same hosts and events: shown, with another plan, asked for without an answer, and with the plan that was shown.

    after: what was posted and which handlers had run when each run had ended. written: whether there was a folder for evidence then.
    """

    fleet: Fleet
    events: Mapping[str, Event]
    shown: Played
    other: Played
    asked: Played
    agreed: Played
    after: Mapping[str, Tuple[int, Sequence[str], Optional[str]]]
    written: Mapping[str, bool]

    def told(self) -> str:
        return self.fleet.told()


NIGHTLY = [{"name": "nightly", "resources": ["vm-night*", "vm-week*"], "action": "prepare_and_approve"}, *AT_ONCE]


@played("agreement")
def _agreement(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Agreement:
    fleet = fleets()
    fleet.add("web1 web2", scope="web")
    fleet.add("night1 night2", scope="night")
    fleet.add("week1")
    fleet.ready()
    events = {
        # So long that whoever watches sees it started.
        "web": fleet.schedule("Reboot", "web1", runs_for=25.0),
        "night": fleet.schedule("Reboot", "night1", notice=20 * HOUR),
        "week": fleet.schedule("Redeploy", "week1", notice=7 * DAY),
    }
    options: Dict[str, Any] = {"rules": NIGHTLY, "period": "1d", **ANY_NUMBER}
    after, written = {}, {}

    def play(name: str, **more: Any) -> Played:
        run = fleet.play(request.param, **{**options, **more})
        written[name] = fleet.evidence_folder.exists()
        after[name] = (len(fleet.posts()), [*fleet["web1"].runs(), *fleet["night1"].runs()], fleet["web1"].state(events["web"]))
        return run

    shown = play("shown", check=True)
    digest = shown.stats["azure_maintenance_digest"]
    other = play("other", plan_digest="0" * 64)
    asked = play("asked", ask=True, ask_timeout="5s")
    agreed = play("agreed", plan_digest=digest)
    return Agreement(fleet, events, shown, other, asked, agreed, after, written)


def test_check_mode_shows_the_plan_and_changes_nothing(agreement: Agreement) -> None:
    assert agreement.after["shown"] == (0, [], "SEEN")
    assert agreement.shown.code == 0
    assert agreement.shown.stats["azure_maintenance_result"] == "planned"
    for name in ("web1", "night1", "week1"):
        assert name in agreement.shown.output
    assert not [one for one in agreement.shown.done if one.result.get("changed") and not one.task.lower().startswith("publish")]


def test_check_mode_does_not_come_to_the_maintenance(agreement: Agreement) -> None:
    """Nothing is skipped there: nothing of it is there."""
    assert not [one.task for one in agreement.shown.done if one.play == MAINTAIN]
    assert "Plan" in {one.play for one in agreement.shown.done}
    assert [one.task for one in agreement.agreed.done if one.play == MAINTAIN and one.host == "web1"]


def test_check_mode_writes_no_evidence(agreement: Agreement) -> None:
    """Also no folder for it, which every other run makes before anything else."""
    assert agreement.written == {"shown": False, "other": True, "asked": True, "agreed": True}
    assert agreement.shown.stats["azure_maintenance_evidence"] is None


def test_the_first_line_of_check_mode_says_that_asking_has_switched_the_feature_on(agreement: Agreement) -> None:
    """C-7."""
    (shown,) = agreement.shown.ran("Show the plan").values()
    assert shown.result["msg"][0].startswith("Asking has switched scheduled events on for every VM of the scopes that were asked;")
    # And so it is printed, before anything else that the plan says.
    _before, printed = agreement.shown.output.split('"msg": [', 1)
    assert printed.split('"')[1] == shown.result["msg"][0]


def test_what_the_next_night_would_come_too_late_for_is_due_tonight(agreement: Agreement) -> None:
    """W-54: the period of the scheduler counts."""
    assert entry_of(agreement.shown, agreement.events["night"])["place"] == "waves"


def test_what_comes_in_seven_days_waits_also_for_a_nightly_run(agreement: Agreement) -> None:
    """W-54."""
    entry = entry_of(agreement.shown, agreement.events["week"])
    assert entry["place"] == "held"
    assert "held until" in entry["reason"]
    assert agreement.shown.stats["azure_maintenance_due_next"]
    assert agreement.fleet["week1"].runs() == []


def test_a_plan_that_nobody_has_agreed_to_is_not_carried_out(agreement: Agreement) -> None:
    assert agreement.after["other"] == (0, [], "SEEN")
    assert agreement.other.code == 2
    assert agreement.other.stats["azure_maintenance_result"] == "failed"
    assert "the plan has changed since it was approved" in agreement.other.message


def test_a_question_that_nobody_answers_is_a_no_and_the_hosts_are_given_back(agreement: Agreement) -> None:
    """Without a terminal there is no answer, and only a typed yes is one."""
    posts, _runs, state = agreement.after["asked"]
    assert (posts, state) == (0, "BACKED_OUT")
    assert agreement.asked.code == 2
    assert agreement.fleet["web1"].runs()[:2] == ["10-pool prepare", "10-pool recover"]


def test_the_plan_that_was_agreed_to_is_carried_out(agreement: Agreement) -> None:
    assert agreement.agreed.code == 0
    assert agreement.agreed.stats["azure_maintenance_result"] == "ok"
    assert agreement.agreed.stats["azure_maintenance_digest"] == agreement.shown.stats["azure_maintenance_digest"]
    for name, host in (("web", "web1"), ("night", "night1")):
        assert len(agreement.fleet.posts(agreement.events[name])) == 1
        assert agreement.fleet[host].in_service
        assert agreement.fleet.evidence_of(agreement.events[name])["result"] == "recovered"
    assert not agreement.fleet.posts(agreement.events["week"])


# --- what else is set, and what goes wrong --------------------------------------------------------------------------------


@played("settings")
def _settings(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    """With settings of a user that would break most playbooks, and one host that does not get ready."""
    fleet = fleets()
    fleet.add("good1 good2", scope="good")
    fleet.add("bad1 bad2", scope="bad")
    fleet["bad1"].behave("prepare", "code=1")
    # Longer than a task may take, and shorter than all of the waiting.
    fleet["good1"].add_handler("10-pool", limit="30s")
    fleet["good1"].behave("prepare", "rm -f %s/pool/10-pool; sleep 11" % fleet["good1"].folder)
    fleet.ready()
    events = {"good": fleet.schedule("Reboot", "good1"), "bad": fleet.schedule("Reboot", "bad1 bad2", notice=9 * DAY)}
    environment = {
        "ANSIBLE_STRATEGY": "free",
        "ANSIBLE_ANY_ERRORS_FATAL": "true",
        "ANSIBLE_FORKS": "1",
        "ANSIBLE_TASK_TIMEOUT": "10",
        "ANSIBLE_INJECT_FACT_VARS": "false",
        "ANSIBLE_ERROR_ON_UNDEFINED_VARS": "true",
        "ANSIBLE_GATHERING": "explicit",
        "ANSIBLE_FORCE_HANDLERS": "true",
        "http_proxy": "http://127.0.0.1:9",
    }
    run = fleet.play(request.param, environment=environment, **ANY_NUMBER)
    return Night(fleet, events, run)


def test_neighbours_go_on_whatever_a_user_has_set_about_strategy_errors_and_forks(settings: Night) -> None:
    assert len(settings.posts("good")) == 1
    assert settings.went_well("good", "good1")


def test_a_failure_is_given_back_whatever_a_user_has_set_about_strategy_errors_and_forks(settings: Night) -> None:
    assert not settings.posts("bad")
    for name in ("bad1", "bad2"):
        settings.fleet[name].wait_until_back()
    assert settings.result("bad") == "not_prepared"
    assert settings.run.code == 2
    assert "bad1" in settings.run.message


def test_evidence_is_written_and_published_after_a_failure_too(settings: Night) -> None:
    assert set(settings.run.stats) == PUBLISHED
    assert settings.run.stats["azure_maintenance_result"] == "failed"
    assert any("bad1" in sentence for sentence in settings.run.stats["azure_maintenance_failures"])
    assert not any("good1" in sentence for sentence in settings.run.stats["azure_maintenance_failures"])
    path = Path(settings.run.stats["azure_maintenance_evidence"])
    assert path.is_file()
    assert settings.fleet.evidence_folder in path.parents
    for name in ("good1", "bad1"):
        assert name in settings.run.stats["azure_maintenance_summary"]


def test_evidence_is_written_and_published_after_a_success(agreement: Agreement) -> None:
    assert set(agreement.agreed.stats) == PUBLISHED
    assert agreement.agreed.stats["azure_maintenance_failures"] == []
    evidence = agreement.fleet.evidence_of(agreement.events["web"])
    assert evidence["event"]["event_id"] == agreement.events["web"].event_id
    for key in (
        "decision",
        "decision_details",
        "driver",
        "run",
        "posts",
        "approved_by",
        "started",
        "gone",
        "witness",
        "recovered",
        "hosts",
    ):
        assert evidence[key], key
    assert evidence["approved_by"] == "us"
    # Nobody else can read what is in it.
    assert Path(agreement.agreed.stats["azure_maintenance_evidence"]).stat().st_mode & 0o077 == 0


# --- refused before a host is touched -------------------------------------------------------------------------------------

WRONG: Mapping[str, Any] = {
    "typo": {"extra": {"rolling_maintenance_max_unavailble": 2}},
    "value": {"windows": [{"days": ["Sat"], "from": 1320, "to": "04:00", "timezone": "Europe/Berlin"}], "max_unavailable": "120%"},
    # As a plan that somebody hands over, and whom to ask by it.
    "private": {
        "extra": {
            "rolling_maintenance__plan": {"waves": [{"number": 1, "batch": ["web2"], "hosts": ["web2"], "components": []}], "events": []},
            "rolling_maintenance__askers": ["web2"],
        }
    },
    "slice": {"extra": {"awx_workflow_job_id": 7, "awx_workflow_job_name": "Maintenance", "awx_job_template_name": "Maintenance"}},
    "everybody": {"allow_unmanaged": "all"},
    "host": {"before_prepare": [{"tasks": "/etc/drain.yml", "vars": {"member": "{{ inventory_hostname }}"}}]},
}
SAYS: Mapping[str, Sequence[str]] = {
    "typo": ["rolling_maintenance_max_unavailble", "there is no such option"],
    "value": ["rolling_maintenance_windows", "22:00", "rolling_maintenance_max_unavailable", "120% is more than all"],
    "private": ["rolling_maintenance__plan", "rolling_maintenance__askers"],
    "slice": ["slice"],
    "everybody": ["rolling_maintenance_allow_unmanaged", "'all' is not the whole name of one VM"],
    "host": ["rolling_maintenance_before_prepare", "web1 and web2 do not have the same"],
}


@played("refusals")
def _refusals(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Attempts:
    fleet = fleets()
    fleet.add("web1 web2", scope="web")
    fleet.ready()
    fleet.schedule("Reboot", "web1")
    # Whoever touches one of them is told so.
    for name in ("web1", "web2"):
        fleet[name].go_dark()
    return Attempts(fleet, {name: fleet.play(request.param, **how) for name, how in WRONG.items()})


def test_hosts_that_only_the_inventory_names_are_not_forgotten(fleet: Fleet, core: str) -> None:
    """A play is told its hosts before any of them has variables: it would be all of them."""
    fleet.add("web1 db1", scope="web")
    fleet.variables["rolling_maintenance_hosts"] = "web1"
    fleet.ready()
    for name in ("web1", "db1"):
        fleet[name].go_dark()
    refused = fleet.play(core)
    assert refused.code == 2
    assert "rolling_maintenance_hosts is web1, and this play has others as well (db1)." in refused.message
    assert not [one for one in refused.done if one.outcome == "unreachable"]
    for how in ({"limit": "web1"}, {"hosts": "web*:!db1"}, {"hosts": "all[0]"}, {"hosts": ["web1"]}):
        allowed = fleet.play(core, check=True, **how)  # type: ignore[arg-type]
        assert "this play has others as well" not in allowed.message
        assert {one.host for one in allowed.done if one.outcome == "unreachable"} == {"web1"}


@pytest.mark.parametrize("name", list(WRONG))
def test_what_cannot_be_meant_ends_the_run_before_a_host_is_touched(refusals: Attempts, name: str) -> None:
    run = refusals.runs[name]
    assert run.code == 2
    assert not [one for one in run.done if one.outcome == "unreachable"]
    assert refusals.fleet["web1"].runs("inspect", "prepare", "recover") == []
    for words in SAYS[name]:
        assert words in run.message
