# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong around a run: the service, the hosts, the way to them, and people who do something else meanwhile.

Nights in which many things go wrong at once, for hosts that have nothing to do with each other.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict

import pytest
from cores import NEWEST, played
from fleet import Fleet, Host, Running, until
from imds_simulator import Event, Notice
from nights import ANY_NUMBER, DAY, SHORT, Night, committed_before

Fleets = Callable[..., Fleet]


def _until_state(fleet: Fleet, running: Running, name: str, event: Event, *states: str) -> None:
    host = fleet[name]
    until(lambda: host.state(event) in states or running.is_over, timeout=120, what="%s is %s" % (name, " or ".join(states)))
    assert not running.is_over, "the run ended before %s was %s\n%s" % (name, " or ".join(states), running.told())


def _is_done(night: Night, name: str, host_name: str) -> None:
    """As if nothing had gone wrong."""
    assert night.went_well(name, host_name)
    assert host_name not in night.run.message


# --- what becomes of an approval -----------------------------------------------------------------------------------------


@played("approving")
def _approving(request: pytest.FixtureRequest, fleets: Fleets) -> Night:
    """All in one scope, with neighbours that nothing happens to."""
    fleet = fleets()
    names = ("troubled", "broken", "refused", "taken", "cut", "stuck")
    # Of a scope the first two are asked, and so they are the witnesses of the others.
    fleet.add("idle1 idle2", scope="posts")
    fleet.add(" ".join(name + "1" for name in names), scope="posts")
    fleet.ready()
    events = {name: fleet.schedule("Reboot", name + "1", stuck=name in ("stuck", "broken"), start_delay=1.0) for name in names}
    post = {name: {"verb": "POST", "event_id": event.event_id} for name, event in events.items()}
    fleet.simulator.fault("status", status=500, **post["troubled"])
    fleet.simulator.fault("status", status=500, times=None, **post["broken"])
    fleet.simulator.fault("status", status=400, times=None, **post["refused"])
    fleet.simulator.fault("lost_answer", **post["taken"])
    fleet.simulator.fault("reset", **post["cut"])
    run = fleet.play(request.param, lease="5m", **ANY_NUMBER, **SHORT)
    return Night(fleet, events, run)


def test_an_approval_that_is_answered_by_500_is_posted_once_more(approving: Night) -> None:
    """W-35: and not before the whole gate was passed again."""
    assert [post.status for post in approving.posts("troubled")] == [500, 200]
    _is_done(approving, "troubled", "troubled1")


def test_an_approval_whose_answer_is_lost_is_found_out_by_reading(approving: Night) -> None:
    """W-35: it was taken, and so the event starts; at most one more is posted, if it has not by then."""
    assert len(approving.posts("taken")) in (1, 2)
    assert approving.posts("taken")[0].status is None
    assert approving.events["taken"].approved_at is not None
    _is_done(approving, "taken", "taken1")


def test_an_approval_that_never_arrived_is_posted_once_more(approving: Night) -> None:
    """W-35."""
    assert [post.status for post in approving.posts("cut")] == [None, 200]
    _is_done(approving, "cut", "cut1")


def test_what_only_ever_answers_500_is_not_tried_for_ever_and_the_host_keeps_its_word(approving: Night) -> None:
    """W-35, W-5: nobody knows whether an approval was taken, so nobody is put back."""
    event, host = approving.events["broken"], approving.fleet["broken1"]
    posts = approving.posts("broken")
    assert 2 <= len(posts) <= 4
    assert {post.status for post in posts} == {500}
    assert "broken1" in approving.run.message
    assert host.state(event) == "COMMITTED"
    assert not host.in_service
    # Its own guard ends it, whenever that is.
    approving.fleet.happen(event)
    host.wait_until_back()
    assert host.runs() == ["10-pool prepare", "10-pool recover"]


def test_what_the_service_refuses_had_no_effect_and_the_host_is_given_back(approving: Night) -> None:
    """W-36."""
    event, host = approving.events["refused"], approving.fleet["refused1"]
    posts = approving.posts("refused")
    assert 1 <= len(posts) <= 2
    assert {post.status for post in posts} == {400}
    assert event.approved_at is None
    assert host.wait(event, "BACKED_OUT")
    assert host.in_service
    assert "refused1" in approving.run.message
    assert approving.result("refused") == "refused"


def test_what_is_approved_and_never_starts_is_an_alarm_and_its_host_stays_ready(approving: Night) -> None:
    """W-18."""
    event, host = approving.events["stuck"], approving.fleet["stuck1"]
    (post,) = approving.posts("stuck")
    assert post.status == 200
    assert approving.run.code == 2
    assert "stuck1" in approving.run.message
    assert host.state(event) == "COMMITTED"
    assert not host.in_service
    assert approving.result("stuck") == "stuck"
    approving.fleet.happen(event)
    host.wait_until_back()
    assert host.runs() == ["10-pool prepare", "10-pool recover"]


def test_whatever_became_of_it_nobody_was_approved_who_had_not_given_his_word(approving: Night) -> None:
    for name, event in approving.events.items():
        for post in approving.posts(name):
            assert committed_before(approving.fleet, post, event) == [name + "1"]


# --- what the service says while it is asked -----------------------------------------------------------------------------

# Of each scope two do not get a good answer, and the third one does; its own event is shown to all three.
SCOPES: Dict[str, Dict[str, Dict[str, Any]]] = {
    "page": {"html": {}, "half_json": {}},
    "code": {"status": {"status": 404}, "status ": {"status": 500}},
    "busy": {"status": {"status": 429, "headers": {"Retry-After": "30"}}, "delay": {"seconds": 25.0}},
}


@played("asking", NEWEST)
def _asking(request: pytest.FixtureRequest, fleets: Fleets) -> Night:
    fleet = fleets()
    for scope in SCOPES:
        fleet.add(" ".join(scope + number for number in "123"), scope=scope)
    fleet.add("blind1 healed1")
    fleet.ready()
    events = {scope: fleet.schedule("Reboot", scope + "3", start_delay=1.0) for scope in SCOPES}
    events["blind"] = fleet.schedule("Reboot", "blind1", stuck=True)
    events["healed"] = fleet.schedule("Reboot", "healed1", start_delay=1.0)
    for scope, faults in SCOPES.items():
        for number, (kind, more) in enumerate(faults.items(), 1):
            fleet.simulator.fault(kind.strip(), vm="%s%d" % (scope, number), path="events", times=None, **more)
    fleet.simulator.fault("html", vm="blind1", path="events", times=None)
    fleet.simulator.fault("status", vm="healed1", path="events", status=500, times=None)
    proxy = "http://127.0.0.1:9"
    environment = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"), proxy)
    running = fleet.begin(request.param, environment=environment, discover_timeout="6s", lease="5m", **ANY_NUMBER, **SHORT)
    # Its own agent asks as well: as long as nobody asks in the run, it stays as it is.
    running.until("Ask what Azure announces", host="healed1")
    time.sleep(2.5)
    fleet.simulator.clear_faults(vm="healed1")
    return Night(fleet, events, running.wait())


@pytest.mark.parametrize("scope", list(SCOPES))
def test_who_does_not_get_a_good_answer_is_left_for_the_next_of_his_scope(asking: Night, scope: str) -> None:
    """A page of a proxy, half an answer, 404, 429, 500 and an answer that takes its time (C-5, C-7, C-10); beside it a dead proxy (C-4)."""
    (post,) = asking.posts(scope)
    assert post.status == 200
    _is_done(asking, scope, scope + "3")


def test_an_error_that_passes_is_waited_for(asking: Night) -> None:
    _is_done(asking, "healed", "healed1")


def test_a_host_that_gets_no_good_answer_is_reported_and_not_taken_for_one_without_events(asking: Night) -> None:
    """C-5: an error page is never "no events"."""
    assert asking.nobody_approved("blind")
    assert asking.fleet["blind1"].runs() == []
    assert asking.run.code == 2
    assert "blind1" in asking.run.message


# --- who is not what he seems, and who does not want ---------------------------------------------------------------------

# As the clock of a host that somebody has set wrong.
WRONG_CLOCK = """import time
right = time.time
time.time = lambda: right() + 3600.0
"""


@played("doubtful")
def _doubtful(request: pytest.FixtureRequest, fleets: Fleets) -> Night:
    fleet = fleets()
    fleet.add("idle1 joined1 grown1 wider1 wider2 undrained1 manual1 silent1 reset1 late1", scope="gate")
    fleet.add("clock1", hostvars=_wrong_clock(fleet, request.param))
    fleet.add("empty1", handlers=())
    fleet.add("held1 anew1")
    fleet.add("copied1", azure_known=False)
    fleet.ready()
    for name in ("manual1", "silent1"):
        (fleet[name].folder / "pool" / "10-pool").unlink()
    fleet["silent1"].behave("inspect", "code=3")
    fleet["silent1"].behave("prepare", "code=77")
    fleet["late1"].be_busy("25s")
    events = {
        "grown": fleet.schedule("Reboot", "grown1", start_delay=20.0),
        "wider": fleet.schedule("Reboot", "wider1"),
        "clock": fleet.schedule("Reboot", "clock1", notice=DAY),
        "copied": _copied(fleet, "copied1"),
        "anew": _made_anew(fleet, "anew1"),
    }
    for name in ("undrained", "manual", "silent", "reset", "late", "empty", "held"):
        events[name] = fleet.schedule("Reboot", name + "1", start_delay=1.0)
    assert fleet["held1"].ask("request", "hold", "--by", "ann", "--for", "2h", "--reason", "the database is being restored")["ok"]
    # The last approval is held up on its way.
    fleet.simulator.fault("delay", verb="POST", event_id=events["grown"].event_id, seconds=2.0)
    running = fleet.begin(request.param, lease="5m", **ANY_NUMBER, **{**SHORT, "start_timeout": "30s"})
    for name in ("wider", "undrained", "reset"):
        _until_state(fleet, running, name + "1", events[name], "PREPARED")
    _until_state(fleet, running, "late1", events["late"], "PREPARING")
    (fleet["undrained1"].folder / "pool" / "10-pool").touch()
    fleet.simulator.change(events["wider"].event_id, resources=["wider1", "wider2"])
    # Numbers begin anew, and one that was there before stands for something else.
    fleet.simulator.set_incarnation("reset1", 1)
    fleet["late1"].go_on()
    until(lambda: fleet.posts(events["grown"]) or running.is_over, timeout=120, what="the approval is on its way")
    fleet.simulator.change(events["grown"].event_id, resources=["grown1", "joined1"])
    return Night(fleet, events, running.wait())


def _wrong_clock(fleet: Fleet, core: str) -> Dict[str, Any]:
    """What makes whatever Ansible starts on a host believe that it is an hour later."""
    folder = fleet.folder / "clock"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WRONG_CLOCK, encoding="utf-8")
    python = folder / "python"
    program = fleet.controller.programs[core]
    python.write_text('#!/bin/sh\nPYTHONPATH=%s exec %s/python "$@"\n' % (folder, program), encoding="utf-8")
    python.chmod(0o755)
    return {"ansible_python_interpreter": str(python)}


def _copied(fleet: Fleet, name: str) -> Event:
    """A host that has got ready lives on as another VM, which is shown an event with the same id."""
    host = fleet[name]
    first = fleet.schedule("Reboot", name, stuck=True)
    assert host.ask("request", "prepare", first.event_id, "--run-id", "1")["verdict"] == "ready"
    host.stop()
    fleet.simulator.recreate_vm(name)
    host.boot()
    host.wait(first, "FOREIGN")
    again = fleet.simulator.relist(first.event_id)
    assert isinstance(again, Event)
    return again


def _made_anew(fleet: Fleet, name: str) -> Event:
    """A VM that is another one than the inventory thinks."""
    fleet[name].stop()
    fleet.simulator.recreate_vm(name)
    fleet[name].boot()
    fleet.ready()
    return fleet.schedule("Reboot", name, stuck=True)


def test_what_grows_on_its_way_to_azure_is_an_alarm(doubtful: Night) -> None:
    """W-10."""
    (post,) = doubtful.posts("grown")
    assert committed_before(doubtful.fleet, post, doubtful.events["grown"]) == ["grown1"]
    assert "Vm-joined1" in doubtful.run.message
    for name in ("grown1", "joined1"):
        doubtful.fleet[name].wait_until_back()


def test_what_grows_on_its_way_to_azure_makes_the_newcomer_get_ready(doubtful: Night) -> None:
    """W-10."""
    assert doubtful.fleet["joined1"].runs("prepare") == ["10-pool prepare"]


def test_what_grows_while_its_host_gets_ready_is_not_approved(doubtful: Night) -> None:
    """W-11: the gate refuses, and there is time enough to give back."""
    assert doubtful.nobody_approved("wider")
    assert "Vm-wider2" in doubtful.run.said
    assert "wider1" in doubtful.run.message
    host = doubtful.fleet["wider1"]
    host.wait(doubtful.events["wider"], "BACKED_OUT")
    assert host.in_service
    assert doubtful.result("wider") == "refused"


def test_a_host_that_somebody_puts_back_by_hand_does_not_give_its_word(doubtful: Night) -> None:
    """W-41: the handlers are asked once more."""
    assert doubtful.nobody_approved("undrained")
    assert "10-pool says that it is in service" in doubtful.run.said
    host = doubtful.fleet["undrained1"]
    host.wait(doubtful.events["undrained"], "BACKED_OUT")
    assert host.in_service
    assert doubtful.result("undrained") == "refused"


@pytest.mark.parametrize(("name", "runs"), [("manual", []), ("silent", ["10-pool prepare"])])
def test_a_host_that_somebody_took_out_by_hand_is_approved_and_never_put_back(doubtful: Night, name: str, runs: Any) -> None:
    """W-42: by what `inspect` says, and by what `prepare` does."""
    (post,) = doubtful.posts(name)
    assert post.status == 200
    event, host = doubtful.events[name], doubtful.fleet[name + "1"]
    assert host.state(event) == "CLOSED"
    assert host.runs() == runs
    assert not host.in_service
    assert doubtful.result(name) == "recovered"


@pytest.mark.parametrize("name", ["reset", "late"])
def test_numbers_of_documents_that_begin_anew_hide_nothing(doubtful: Night, name: str) -> None:
    """W-31."""
    (post,) = doubtful.posts(name)
    assert post.status == 200
    _is_done(doubtful, name, name + "1")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        # W-34: nothing is approved by what was counted with such a clock.
        ("clock", ("clock1", "clock", "differs by")),
        # W-50: who has nothing to do is not ready by that.
        ("empty", ("empty1 has no handler", "install")),
        # W-55: with who and until when.
        ("held", ("held1 is held by ann", "the database is being restored", "until")),
        # W-28: the inventory knows another VM of this name.
        ("anew", ("anew1", "refresh the inventory")),
        # W-29: the record is of the VM that this one was copied from.
        ("copied", ("copied1", "another VM")),
    ],
)
def test_who_is_not_ready_for_a_reason_is_refused_with_it_and_left_alone(doubtful: Night, name: str, words: Any) -> None:
    assert doubtful.nobody_approved(name)
    entry = doubtful.entry(name)
    assert entry["place"] == "refused"
    for word in words:
        assert word in entry["reason"]
    assert "Azure" in entry["reason"]
    assert doubtful.result(name) == "refused"
    assert name + "1" in doubtful.run.message
    # The copied one had got ready in its earlier life, and nobody undoes that.
    assert doubtful.fleet[name + "1"].runs() == (["10-pool prepare"] if name == "copied" else [])


def test_who_is_held_says_until_when(doubtful: Night) -> None:
    """W-55."""
    hold = doubtful.fleet["held1"].status()["hold"]
    until_when = time.strftime("%H:%M", time.gmtime(hold["until"]))
    assert until_when in doubtful.entry("held")["reason"]


# --- hosts that nobody reaches -------------------------------------------------------------------------------------------


@played("dark")
def _dark(request: pytest.FixtureRequest, fleets: Fleets) -> Night:
    fleet = fleets()
    fleet.add("witness1 witness2", scope="dark")
    fleet.add("gone1 gone2 lost1 dropped1 rebooted1 away1 sick1 busy1", scope="dark")
    fleet.ready()
    fleet["busy1"].be_busy("25s")
    fleet["dropped1"].be_busy("25s")
    fleet["sick1"].behave("recover", "code=1")
    events = {name: fleet.schedule("Reboot", name + "1", start_delay=1.0) for name in ("dropped", "lost", "rebooted", "sick", "busy")}
    events["gone"] = fleet.schedule("Reboot", "gone1 gone2")
    events["away"] = fleet.schedule("Redeploy", "away1", start_delay=1.0)
    fleet.simulator.on("start", lambda notice: _never_comes_back(fleet, notice, events["away"]))
    running = fleet.begin(request.param, lease="75s", **ANY_NUMBER, **SHORT)
    for name in ("gone1", "gone2", "rebooted1", "away1", "lost1", "sick1"):
        _until_state(fleet, running, name, events[name[:-1]], "PREPARED")
    for name in ("busy1", "dropped1"):
        _until_state(fleet, running, name, events[name[:-1]], "PREPARING")
    # The answers of those that are ready are on their way to the controller.
    time.sleep(1.5)
    # Who has his word to give does not answer any more, or not as he did; and with him whoever is asked to post first.
    fleet["gone2"].go_dark()
    fleet["lost1"].go_dark()
    fleet["dropped1"].drop()
    _reboot(fleet["rebooted1"])
    fleet["witness1"].go_dark()
    fleet["dropped1"].go_on()
    fleet["busy1"].go_on()
    return Night(fleet, events, running.wait())


def _reboot(host: Host) -> None:
    host.go_dark()
    host.stop()
    host.boot()
    host.come_back()


def _never_comes_back(fleet: Fleet, notice: Notice, event: Event) -> None:
    """Nothing starts it again when the event is over."""
    if notice.event["event_id"] == event.event_id:
        fleet["away1"].has_role = False


def test_a_host_that_is_dark_at_the_gate_keeps_its_partner_from_being_approved(dark: Night) -> None:
    """W-9: and it is said when Azure starts."""
    assert dark.nobody_approved("gone")
    assert "gone2" in dark.run.message
    assert "Azure starts" in dark.run.message
    event = dark.events["gone"]
    dark.fleet["gone1"].wait(event, "BACKED_OUT")
    # Nobody reaches this one: its own guard gives it back when its driver has not been heard of.
    dark.fleet["gone2"].wait(event, "BACKED_OUT", timeout=150)
    for name in ("gone1", "gone2"):
        assert dark.fleet[name].in_service
        assert dark.fleet[name].runs() == ["10-pool prepare", "10-pool recover"]
    assert dark.result("gone") == "refused"


def test_a_host_that_is_dark_for_ever_after_it_got_ready_is_put_back_by_itself(dark: Night) -> None:
    assert dark.nobody_approved("lost")
    host = dark.fleet["lost1"]
    host.wait(dark.events["lost"], "BACKED_OUT", timeout=150)
    assert host.in_service
    assert "lost1" in dark.run.message
    assert dark.result("lost") == "refused"


def test_a_connection_that_drops_while_a_handler_works_is_a_no(dark: Night) -> None:
    """W-8: the host goes on, nothing is begun a second time, and it comes back."""
    assert dark.nobody_approved("dropped")
    host = dark.fleet["dropped1"]
    host.wait_until_back(timeout=150)
    assert host.runs() == ["10-pool prepare", "10-pool recover"]
    assert "dropped1" in dark.run.message


def test_a_host_that_reboots_by_itself_before_the_approval_is_still_ready(dark: Night) -> None:
    (post,) = dark.posts("rebooted")
    assert committed_before(dark.fleet, post, dark.events["rebooted"]) == ["rebooted1"]
    _is_done(dark, "rebooted", "rebooted1")


def test_a_stand_by_posts_when_the_witness_is_dead(dark: Night) -> None:
    (post,) = dark.posts("busy")
    assert (post.vm, post.status) == ("witness2", 200)
    _is_done(dark, "busy", "busy1")


def test_a_host_that_does_not_come_back_is_an_alarm(dark: Night) -> None:
    """W-45."""
    assert len(dark.posts("away")) == 1
    assert dark.events["away"].started_at is not None
    assert "away1" in dark.run.message
    assert dark.result("away") == "stuck"


def test_a_host_whose_recovery_fails_stays_out_and_is_tried_for_ever(dark: Night) -> None:
    """W-43."""
    event, host = dark.events["sick"], dark.fleet["sick1"]
    assert len(dark.posts("sick")) == 1
    assert host.state(event) == "RECOVERING"
    assert not host.in_service
    assert host.runs("recover").count("10-pool recover") >= 2
    assert "sick1" in dark.run.message
    assert dark.result("sick") == "stuck"
    host.behave("recover", "")
    host.wait_until_back(timeout=150)


def test_the_night_of_the_dark_hosts_ends_with_an_error_and_everything_is_published(dark: Night) -> None:
    assert dark.run.code == 2
    assert dark.run.stats["azure_maintenance_result"] == "failed"
    for name in ("gone2", "lost1", "dropped1", "away1", "sick1"):
        assert any(name in failure for failure in dark.run.stats["azure_maintenance_failures"])
    for name in ("busy1", "rebooted1"):
        assert name not in dark.run.message


def test_a_connection_that_hangs_holds_nobody_up_for_ever(fleet: Fleet, core: str) -> None:
    """It answers again when the run has given up waiting for its first answer, and is given back."""
    fleet.add("idle1 hung1 busy1", scope="hung")
    fleet.ready()
    fleet["busy1"].be_busy("25s")
    events = {name: fleet.schedule("Reboot", name + "1", start_delay=1.0) for name in ("hung", "busy")}
    running = fleet.begin(core, lease="5m", discover_timeout="3s", **ANY_NUMBER, **SHORT)
    _until_state(fleet, running, "hung1", events["hung"], "PREPARED")
    _until_state(fleet, running, "busy1", events["busy"], "PREPARING")
    time.sleep(1.5)
    fleet["hung1"].hang()
    fleet["busy1"].go_on()
    until(lambda: events["busy"].state != "Scheduled" or running.is_over, timeout=200, what="the other one goes on")
    fleet["hung1"].come_back()
    night = Night(fleet, events, running.wait())
    assert night.nobody_approved("hung")
    assert night.run.code == 2
    assert "hung1" in night.run.message
    assert night.result("hung") == "refused"
    fleet["hung1"].wait(events["hung"], "BACKED_OUT")
    assert fleet["hung1"].in_service
    _is_done(night, "busy", "busy1")


# --- what takes longer than anybody waits, and what is listed twice -----------------------------------------------------


@played("lasting")
def _lasting(request: pytest.FixtureRequest, fleets: Fleets) -> Night:
    fleet = fleets()
    fleet.add("idle1 idle2 endless1 hurried1", scope="lasting")
    fleet.ready()
    fleet["hurried1"].be_busy("20s")
    events = {
        "endless": fleet.schedule("Reboot", "endless1", runs_for=7200.0, start_delay=1.0),
        "hurried": fleet.schedule("Reboot", "hurried1", stuck=True),
    }
    running = fleet.begin(request.param, lease="5m", **ANY_NUMBER, **{**SHORT, "watch_timeout": "15s"})
    _until_state(fleet, running, "hurried1", events["hurried"], "PREPARING")
    fleet.simulator.change(events["hurried"].event_id, not_before=0.0)
    fleet["hurried1"].go_on()
    return Night(fleet, events, running.wait())


def test_an_event_that_does_not_end_is_an_alarm_and_left_to_the_guard_of_its_host(lasting: Night) -> None:
    """W-59."""
    event, host = lasting.events["endless"], lasting.fleet["endless1"]
    assert len(lasting.posts("endless")) == 1
    assert lasting.run.code == 2
    assert "of endless1 is not over" in lasting.run.message
    assert "what guards its hosts goes on" in lasting.run.message
    assert lasting.result("endless") == "stuck"
    assert not host.in_service
    lasting.fleet.happen(event)
    host.wait(event, "CLOSED")
    assert host.in_service


def test_what_may_be_starting_while_its_host_gets_ready_is_not_approved(lasting: Night) -> None:
    """W-16: NotBefore is over and it is still Scheduled; its host goes on getting ready, and there is no time to give it back."""
    event, host = lasting.events["hurried"], lasting.fleet["hurried1"]
    assert lasting.nobody_approved("hurried")
    assert "its NotBefore is over, and so Azure may be starting it" in lasting.run.message
    assert lasting.result("hurried") == "refused"
    assert (host.state(event), host.in_service) == ("STAYING", False)
    lasting.fleet.happen(event)
    host.wait(event, "CLOSED")
    assert host.in_service
    assert host.runs() == ["10-pool prepare", "10-pool recover"]


def test_an_event_that_is_listed_again_after_it_was_gone_is_another_one(fleet: Fleet, core: str) -> None:
    """W-15: its host gets ready afresh, and its approval is another approval."""
    fleet.add("idle1 again1", scope="again")
    fleet.ready()
    first = fleet.schedule("Reboot", "again1")
    nights = [Night(fleet, {"again": first}, fleet.play(core, **ANY_NUMBER))]
    fleet["again1"].wait(first, "CLOSED")
    second = fleet.simulator.relist(first.event_id)
    nights.append(Night(fleet, {"again": second}, fleet.play(core, **ANY_NUMBER)))
    fleet["again1"].wait(second, "CLOSED")
    assert [night.run.code for night in nights] == [0, 0]
    assert [event.approved_at is not None for event in (first, second)] == [True, True]
    assert len(fleet.posts()) == 2
    assert fleet["again1"].record(second)["occurrence"] == 2
    assert fleet["again1"].runs() == 2 * ["10-pool prepare", "10-pool recover"]
    assert fleet["again1"].in_service


# --- waves that do not end well ------------------------------------------------------------------------------------------


def test_a_wave_whose_only_host_is_lost_ends_the_run_with_an_error_after_publishing(fleet: Fleet, core: str) -> None:
    """Nobody of it is left for a task to run on, and no guard either."""
    fleet.add("only1")
    fleet["only1"].behave("prepare", "sleep 1")
    event = fleet.schedule("Reboot", "only1")
    running = fleet.begin(core, **ANY_NUMBER, **SHORT, lease="10s")
    _until_state(fleet, running, "only1", event, "PREPARING")
    fleet["only1"].go_dark()
    run = running.wait()
    assert run.code not in (0, None)
    assert run.stats["azure_maintenance_result"] == "failed"
    assert any("only1" in failure for failure in run.stats["azure_maintenance_failures"])
    assert fleet.evidence_of(event)["result"] == "not_prepared"
    assert not fleet.posts()
    fleet["only1"].wait_until_back()


def test_a_host_that_does_not_come_back_ends_its_wave_as_the_last_one_and_counts_in_the_next_run(fleet: Fleet, core: str) -> None:
    """W-45: it stays out of service and counted as such, and those that were to come after it are left in service."""
    fleet.add("away1 next1 idle1", scope="row", groups=["row"])
    first, second = fleet.schedule("Reboot", "away1"), fleet.schedule("Reboot", "next1", notice=DAY)
    fleet.simulator.on("start", lambda notice: _never_comes_back(fleet, notice, first))
    run = fleet.play(core, **{**SHORT, "return_timeout": "5s", "recover_timeout": "15s"})
    _is_the_last_wave(Night(fleet, {"first": first, "second": second}, run), "away1", "next1")
    assert not fleet["away1"].is_up
    again = Night(fleet, {"second": second}, fleet.play(core, **SHORT))
    assert again.untouched("second", "next1")
    # There is a day left for it to come back.
    assert again.entry("second")["place"] == "held"
    assert "2 of all hosts would be out beside away1 (cannot be reached), and at most 1 may be" in again.entry("second")["reason"]


def test_a_wave_after_which_a_host_is_not_healthy_is_the_last_one_although_there_is_room(fleet: Fleet, core: str) -> None:
    """W-44: the wave stops the run, not only what there would be no room for."""
    fleet.add("away1 away2 next1 idle1", scope="row")
    fleet["away1"].behave("recover", "code=75")
    first, second = fleet.schedule("Reboot", "away1 away2"), fleet.schedule("Reboot", "next1", notice=DAY)
    run = fleet.play(core, **{**SHORT, "recover_timeout": "15s", "max_unavailable": 2})
    _is_the_last_wave(Night(fleet, {"first": first, "second": second}, run), "away1", "next1")
    assert fleet["away2"].in_service


def _is_the_last_wave(night: Night, lost: str, waiting: str) -> None:
    assert len(night.posts("first")) == 1
    assert not night.fleet[lost].in_service
    assert night.untouched("second", waiting)
    assert (night.entry("second")["place"], night.entry("second")["wave"]) == ("waves", 2)
    assert night.run.code == 2
    assert (night.result("first"), night.result("second")) == ("stuck", "refused")
    # Each event says why.
    assert "%s is not back after" % lost in night.run.message
    assert "of %s is not approved: wave 1 has not ended well" % waiting in night.run.message
