# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent at a simulated VM: what it sends is read from the simulator's log, what it asks from an executor that keeps the real rules."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError, LibraryMissing
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import Vm
from ansible_collections.cloud_maintenance.azure.tests.unit.roles.event_handlers.watched import Host
from azure_event_handlers import agent as program
from azure_event_handlers import configuration as configurations
from azure_event_handlers import records as r
from azure_event_handlers import spool
from azure_event_handlers.configuration import PREPARE, PREPARE_AND_APPROVE, WATCH, Configuration
from azure_event_handlers.paths import Paths
from azure_event_handlers.store import Hold


@pytest.fixture
def host(simulator: Any, tmp_path: Path) -> Host:
    simulator.add_scope("web", vms=["web_0", "web_1", "web_2"])
    return Host(simulator, tmp_path)


def test_an_event_of_this_vm_alone_is_prepared_for_approved_and_recovered_from(host: Host) -> None:
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900, runs_for=120)
    took = host.run_until(lambda: host.executor.state(event.event_id) == r.IMPACT, within=30)
    assert took <= 10
    assert host.posts() == [event.event_id]
    host.run_until(lambda: host.executor.state(event.event_id) == r.CLOSED, within=200)
    assert [state for _id, state in host.executor.moves] == [
        r.SEEN,
        r.PREPARING,
        r.PREPARED,
        r.COMMITTED,
        r.IMPACT,
        r.RECOVERING,
        r.CLOSED,
    ]
    record = host.executor.current(event.event_id)
    assert record is not None
    assert record.result == "recovered"
    # Written down before it is sent: the approval may stop the machine at once.
    assert [(note["result"], note["posted"]) for note in host.executor.notes("post")] == [("sending", True), ("taken", True)]
    assert host.executor.notes("approved_by") == [{"by": "agent"}]


# --- whole lives with the simulator --------------------------------------------------------------------------------------


def test_gone_needs_two_whole_documents_on_the_wire(host: Host) -> None:
    """W-32, C-9: an answer that was empty once changes nothing, and while an event is missing no question has a condition."""
    event = host.simulator.schedule("Reboot", ["web_0"], notice=9000)
    host.run(5)
    host.simulator.fault(kind="empty", vm="web_0")
    host.run(30)
    assert host.executor.moves == [(event.event_id, r.SEEN)]
    host.simulator.cancel(event.event_id)
    before = len(host.requests())
    host.run_until(lambda: host.executor.state(event.event_id) == r.CLOSED, within=20)
    asked = host.requests()[before + 1 :]
    assert len(asked) >= 10
    assert not [one for one in asked if "If-None-Match" in one.headers]


def test_idle_questions_have_a_condition_and_one_a_minute_has_none(host: Host) -> None:
    """C-9, W-31."""
    host.run(200)
    log = host.requests(path="events")
    whole = [number for number, one in enumerate(log) if "if-none-match" not in {name.lower() for name in one.headers}]
    assert (len(log), len(whole)) == (199, 4)
    assert {one.status for number, one in enumerate(log) if number not in whole} == {304}


def test_an_event_behind_a_tag_that_repeats_is_seen_within_a_minute(host: Host) -> None:
    """W-31: same incarnation and tag, other content."""
    host.run(5)
    host.simulator.fault(kind="repeat_incarnation", vm="web_0", times=None)
    event = host.simulator.schedule("Reboot", ["web_0"], notice=9000)
    assert host.run_until(lambda: host.executor.state(event.event_id) is not None, within=70) > 10


def test_after_a_pause_the_next_question_has_no_condition_and_says_who_asks(host: Host) -> None:
    """W-19, W-20: a frozen machine may have missed anything, and may wake up as another one."""
    host.run(5)
    host.simulator.advance(30)
    before = len(host.requests())
    host.run(2)
    asked = host.requests()[before:]
    assert [one.path for one in asked] == ["/metadata/instance", "/metadata/scheduledevents"]
    assert "If-None-Match" not in asked[1].headers
    host.run(5)
    assert (host.metric("pauses_total"), host.metric("longest_pause_seconds")) == (1, 31)


def test_others_see_since_when_nothing_was_missed(host: Host) -> None:
    """A gap of less than five minutes hides nothing that a second answer would not show; a longer one does."""
    host.run(5)
    since = host.facts()["good_since"]
    assert host.simulator.now() - since <= 5.0
    host.simulator.fault("status", status=500, vm="web_0", times=None)
    host.run(240)
    host.simulator.clear_faults()
    host.begin()
    host.run(30)
    assert abs(host.facts()["good_since"] - since) <= 1.0
    host.simulator.fault("status", status=500, vm="web_0", times=None)
    host.run(330)
    assert host.facts()["good_since"] is None
    host.simulator.clear_faults()
    host.run(30)
    assert host.simulator.now() - host.facts()["good_since"] <= 31.0


def test_a_slow_service_is_no_pause(host: Host) -> None:
    host.run(5)
    slow = iter([True])

    def served() -> bool:
        """Time goes by within a turn."""
        if next(slow, False):
            host.simulator.advance(30)
        return True

    host.agent._synchronised = served
    host.run(10)
    assert host.metric("pauses_total") == 0


def test_a_vm_that_is_made_anew_tells_the_executor(host: Host) -> None:
    """W-28: the old one's work is not touched."""
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000, start_delay=9000)
    host.run(10)
    assert host.executor.state(event.event_id) == r.COMMITTED
    before = host.executor.vm_id
    host.simulator.recreate_vm("web_0")
    host.simulator.advance(600)
    host.run(10)
    assert (event.event_id, r.FOREIGN) in host.executor.moves
    assert host.executor.vm_id not in (before, None)


def test_an_answer_that_was_lost_leads_to_one_more_post(host: Host) -> None:
    """W-35: read, gate, once more; whether the first has taken or not."""
    for acts in (False, True):
        event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000, start_delay=60)
        host.simulator.fault(kind="reset", verb="POST", vm="web_0", acts=acts)
        host.run(30)
        assert host.posts().count(event.event_id) == 2
        first, second = (post.at for post in host.simulator.posts()[-2:])
        reads = [one for one in host.requests(verb="GET", path="events") if first < one.at <= second]
        assert second - [one.at for one in reads][-1] <= 2.0
        assert all("If-None-Match" not in one.headers for one in reads)
        host.run_until(lambda lost=event: host.executor.state(lost.event_id) == r.CLOSED, within=700)  # type: ignore[misc]
    results = [note["result"] for note in host.executor.notes("post")]
    assert results == ["sending", "unclear", "sending", "taken"] * 2


def test_nothing_is_posted_that_the_executor_has_not_written_down(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not be told from somebody else's approval afterwards."""
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900)
    host.run_until(lambda: host.executor.state(event.event_id) == r.COMMITTED, within=30)
    with monkeypatch.context() as dead:
        dead.setattr(host.executor, "turn", lambda: None)
        host.run(10)
        assert host.posts() == []
        assert "requests" in host.problems()
    host.run_until(lambda: host.executor.state(event.event_id) == r.IMPACT, within=30)
    assert host.posts() == [event.event_id]


def test_a_post_that_is_forbidden_is_not_repeated_and_the_host_goes_back(host: Host) -> None:
    """C-10: never retried; and the driver says that surely nothing was posted."""
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.simulator.fault(kind="status", status=403, verb="POST", vm="web_0", times=None)
    host.run(60)
    assert host.posts() == [event.event_id]
    assert [state for _id, state in host.executor.moves][-2:] == [r.BACKING_OUT, r.BACKED_OUT]
    assert "post" in host.problems()


def test_an_agent_that_is_ended_between_mind_and_wire_posts_after_its_restart(host: Host) -> None:
    """W-5: what was on its way counts as lost, and the gate is passed again."""
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000, start_delay=100)

    def killed(ids: Any) -> None:
        raise program.Ended

    host.run_until(lambda: host.executor.state(event.event_id) == r.COMMITTED, within=10)
    host.agent._poster = type("Killed", (), {"approve": staticmethod(killed)})()  # type: ignore[assignment]
    with pytest.raises(program.Ended):
        host.run(5)
    assert host.posts() == []
    host.begin()
    host.run(10)
    assert host.posts() == [event.event_id]


def test_a_host_that_was_put_back_by_hand_while_its_agent_was_away_is_not_approved(host: Host) -> None:
    """W-41, W-5: the word that it has is minutes old, and so the handlers look again; nothing is taken back, for it may have posted."""
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000, start_delay=100)

    def killed(ids: Any) -> None:
        raise program.Ended

    host.run_until(lambda: host.executor.state(event.event_id) == r.COMMITTED, within=10)
    host.agent._poster = type("Killed", (), {"approve": staticmethod(killed)})()  # type: ignore[assignment]
    with pytest.raises(program.Ended):
        host.run(5)
    host.executor.in_service = True
    host.simulator.advance(300)
    host.begin()
    host.run(60)
    assert (host.executor.state(event.event_id), host.posts()) == (r.COMMITTED, [])
    assert "commit" in host.problems()
    host.executor.in_service = False
    host.run(120)
    assert host.posts() == [event.event_id]


def test_a_restarted_agent_goes_on_where_it_was(host: Host) -> None:
    """Host.md: killing the agent never causes a second run."""
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000, start_delay=100)
    for _life in range(12):
        host.run(1)
        host.begin()
    host.run_until(lambda: host.executor.state(event.event_id) == r.CLOSED, within=900)
    assert host.posts() == [event.event_id]
    assert host.executor.whats().count(spool.PREPARE) == 1
    assert host.executor.whats().count(spool.COMMIT) == 1


def test_a_rebooted_agent_recovers_what_an_event_has_left(host: Host) -> None:
    """W-3, W-6: what is open and in no document is gone by the two-answers rule."""
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900, runs_for=20)
    host.run_until(lambda: host.executor.state(event.event_id) == r.IMPACT, within=20)
    for file in Path(host.paths.agents_own).iterdir():
        file.unlink()
    host.boot = "boot 2"
    host.simulator.advance(90)
    host.begin()
    assert host.run_until(lambda: host.executor.state(event.event_id) == r.CLOSED, within=30) >= 10


def test_a_clock_that_is_an_hour_wrong_approves_nothing(host: Host) -> None:
    """W-34: measured against the service's own time."""
    for ahead in (3600.0, -3600.0):
        host.ahead = ahead
        event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
        host.run(60)
        assert host.executor.state(event.event_id) == r.PREPARED
        assert host.metric("clock_difference_seconds") == pytest.approx(-ahead, abs=2)
        assert "gate" in host.problems()
        assert host.posts() == []
        host.simulator.cancel(event.event_id)
        host.run(60)


def test_another_one_who_approves_first_is_noted_and_not_raced(host: Host) -> None:
    """W-40."""
    host.configure(mode=PREPARE)
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.run(10)
    host.simulator.start(event.event_id)
    host.run(10)
    assert host.executor.notes("approved_by") == [{"by": "other"}]
    assert (host.executor.state(event.event_id), host.posts()) == (r.IMPACT, [])
    assert host.metric("competing_approvers_total") == 1


def test_a_host_that_says_at_commit_that_it_is_in_service_is_not_approved(host: Host) -> None:
    """W-41: put back by hand after it was prepared."""
    host.executor.in_service = True
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.run(40)
    assert (host.executor.state(event.event_id), host.posts()) == (r.PREPARED, [])
    assert "commit" in host.problems()
    host.executor.in_service = False
    host.run(60)
    assert host.posts() == [event.event_id]


def test_a_held_host_is_left_alone_until_the_hold_ends(host: Host) -> None:
    """W-55."""
    host.executor.hold = Hold("ann", host.simulator.now() + 100.0)
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.run(50)
    assert (host.executor.state(event.event_id), host.problems()) == (r.SEEN, ["held"])
    host.executor.hold = None
    host.run(30)
    assert host.posts() == [event.event_id]


def test_a_preparation_that_fails_is_tried_once_more(host: Host) -> None:
    """W-1: in time, and after a while."""
    exits = iter([1, 0])
    host.executor.prepare_exit = lambda: next(exits)
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.run(290)
    assert host.executor.state(event.event_id) == r.BACKED_OUT
    host.run(40)
    assert host.posts() == [event.event_id]


def test_a_shared_event_is_prepared_for_and_left_to_azure(host: Host) -> None:
    """C-23, mistake 5."""
    event = host.simulator.schedule("Reboot", ["web_0", "web_1"], source="User", notice=600, runs_for=60)
    host.run_until(lambda: host.executor.state(event.event_id) == r.IMPACT, within=700)
    assert host.posts() == []
    record = host.executor.current(event.event_id)
    assert record is not None
    assert (record.hit_ready, host.executor.whats().count(spool.COMMIT)) == (True, 0)


@pytest.mark.parametrize("mode", [WATCH, PREPARE])
def test_other_modes_post_nothing(host: Host, mode: str) -> None:
    host.configure(mode=mode)
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=120, runs_for=10)
    host.run(200)
    record = host.executor.current(event.event_id)
    assert record is not None
    assert (record.state, record.attempt, host.posts()) == (r.CLOSED, int(mode == PREPARE), [])


def test_an_incomplete_identity_is_asked_for_again_and_nothing_is_filed_before(host: Host) -> None:
    """C-28."""
    host.simulator.fault(kind="incomplete", vm="web_0", times=3)
    event = host.simulator.schedule("Reboot", ["web_0"], notice=9000)
    took = host.run_until(lambda: host.executor.state(event.event_id) is not None, within=60)
    assert 15 <= took <= 20
    asked = [one.at for one in host.requests(path="instance")]
    assert [later - earlier for earlier, later in zip(asked, asked[1:])] == [5.0] * 3


def test_a_configured_name_goes_before_the_services_word(simulator: Any, tmp_path: Path) -> None:
    simulator.add_scope("web", vms=["web_0", "web_1"])
    host = Host(simulator, tmp_path, vm_name="web_1")
    mine, other = (simulator.schedule("Reboot", [vm], notice=9000) for vm in ("web_1", "web_0"))
    host.run(5)
    assert (host.executor.state(mine.event_id), host.executor.state(other.event_id)) == (r.SEEN, None)


# --- trouble -------------------------------------------------------------------------------------------------------------


def test_a_wrong_configuration_leaves_the_one_before_in_force(host: Host) -> None:
    host.run(3)
    host.wrong = "config.json, mode: 'x' is none of watch, prepare, prepare_and_approve."
    host.agent.reload = True
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.run(20)
    assert host.posts() == [event.event_id]
    assert host.problems() == ["configuration"]
    assert host.facts()["problems"][0]["text"] == (
        "The configuration is wrong, the one before is used. config.json, mode: 'x' is none of watch, prepare, prepare_and_approve."
    )
    host.wrong = None
    host.run(11)
    assert host.problems() == []
    assert [line["problem"] for line in host.lines("solved")] == ["configuration"]


def test_without_any_configuration_a_host_is_guarded_and_nothing_is_begun_until_there_is_one(host: Host) -> None:
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.wrong = "config.json is missing."
    host.begin()
    host.run(20)
    assert host.executor.state(event.event_id) == r.SEEN
    assert (host.executor.asked_for(spool.PREPARE), host.posts()) == ([], [])
    assert (host.problems(), host.facts()["mode"]) == (["configuration"], "watch")
    assert host.facts()["problems"][0]["text"] == (
        "The configuration is wrong, until it is mended this host is only watched and given back: nothing is prepared for, and nothing"
        " approved. config.json is missing."
    )
    assert host.metric('agent_problems{problem="configuration"}') == 1
    host.wrong = None
    host.run_until(lambda: host.executor.state(event.event_id) == r.IMPACT, within=30)
    assert host.posts() == [event.event_id]
    assert (host.problems(), host.facts()["mode"]) == ([], PREPARE_AND_APPROVE)
    assert [line["mode"] for line in host.lines("configuration")] == [PREPARE_AND_APPROVE]
    # Another one asks now, and what was counted counts on.
    assert host.metric('polls_total{result="unchanged"}') >= 15


def test_an_agent_that_starts_with_a_wrong_configuration_has_a_host_that_was_hit_recovered(host: Host) -> None:
    """W-3."""
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900, runs_for=20)
    host.run_until(lambda: host.executor.state(event.event_id) == r.IMPACT, within=20)
    host.wrong = "handlers.d/notes.txt is not the name of a handler."
    host.begin()
    host.run_until(lambda: host.executor.state(event.event_id) == r.CLOSED, within=60)
    assert host.problems() == ["configuration"]


def test_while_the_configuration_is_wrong_what_is_right_of_it_is_taken_when_it_changes(host: Host) -> None:
    host.wrong = "handlers.d/notes.txt is not the name of a handler."
    mine = host.simulator.schedule("Reboot", ["web_1"], notice=9000)
    host.begin()
    host.run(5)
    assert host.executor.state(mine.event_id) is None
    host.guarding = replace(host.guarding, vm_name="web_1")
    host.run(15)
    assert host.executor.state(mine.event_id) == r.SEEN
    # As long as it stays as it is, the one that asks stays too.
    asked = len(host.requests(path="instance"))
    host.run(50)
    assert len(host.requests(path="instance")) == asked


def test_a_configuration_that_only_a_mistake_keeps_from_being_loaded_leaves_no_host_unguarded(host: Host) -> None:
    event = host.simulator.schedule("Reboot", ["web_0"], notice=9000)

    def mistaken() -> Configuration:
        raise RuntimeError("no")

    agent = host.begin()
    agent._load = mistaken
    host.run(8)
    assert (host.executor.state(event.event_id), host.problems()) == (r.SEEN, ["configuration"])
    assert [line["text"] for line in host.lines("mistake")] == ["A turn has failed, which is a mistake in this program: RuntimeError: no"]


class Tree:
    """The files of a configuration."""

    def __init__(self, root: Path, **values: Any) -> None:
        self.paths = Paths(str(root))
        for folder in (self.paths.handlers, self.paths.options):
            Path(folder).mkdir(parents=True)
        self.config = Path(self.paths.configuration)
        self.config.write_text(json.dumps({"format": 1, **values}), encoding="utf-8")
        for place in (root, *root.rglob("*")):
            place.chmod(0o755)

    def guarding(self) -> Configuration:
        return configurations.guarding(self.paths, owner=os.getuid())


KNOWN: Dict[str, Any] = dict(endpoint="http://127.0.0.1:1", api_version="2019-08-01", timeout=60, vm_name="web_1")
MORE: Dict[str, Any] = dict(mode="prepare_and_approve", poll_interval=5, allow_empty_prepare=True, scope_size=3)


def stray(tree: Tree) -> None:
    (Path(tree.paths.handlers) / "notes.txt").touch()


def writable(tree: Tree) -> None:
    handler = Path(tree.paths.handlers) / "10-web"
    handler.touch()
    handler.chmod(0o775)


def too_long(tree: Tree) -> None:
    handler, options = Path(tree.paths.handlers) / "10-web", Path(tree.paths.options) / "10-web.json"
    handler.touch(mode=0o755)
    options.write_text(json.dumps({"limit": "20h"}), encoding="utf-8")
    options.chmod(0o644)


@pytest.mark.parametrize("wrong", [stray, writable, too_long])
def test_a_host_is_guarded_by_what_its_own_file_says_of_the_service_and_the_vm(tmp_path: Path, wrong: Callable[[Tree], None]) -> None:
    tree = Tree(tmp_path / "root", **KNOWN, **MORE)
    wrong(tree)
    with pytest.raises(ConfigurationError):
        configurations.load(tree.paths, owner=os.getuid())
    assert tree.guarding() == Configuration(**KNOWN)


@pytest.mark.parametrize("text", [None, "{", "[]", '{"format": 2}', json.dumps({"format": 1, **KNOWN, "mode": "x"})])
def test_without_a_right_file_a_host_is_guarded_by_the_defaults(tmp_path: Path, text: Optional[str]) -> None:
    tree = Tree(tmp_path / "root")
    if text is None:
        tree.config.unlink()
    else:
        tree.config.write_text(text, encoding="utf-8")
    assert tree.guarding() == Configuration(endpoint=configurations.NOBODY)
    assert configurations.NOBODY.startswith("http://127.0.0.1:")
    assert tree.guarding().mode == WATCH


def test_a_file_that_somebody_else_could_have_written_tells_nobody_where_to_ask(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", **KNOWN)
    tree.config.chmod(0o664)
    assert tree.guarding() == Configuration(endpoint=configurations.NOBODY)
    assert configurations.NOBODY.startswith("http://127.0.0.1:")


def test_an_executor_whose_state_cannot_be_read_hears_that_an_event_is_gone(host: Host) -> None:
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=900, runs_for=20)
    host.run_until(lambda: host.executor.state(event.event_id) == r.IMPACT, within=20)
    host.agent._read_status = lambda: None
    host.run_until(lambda: host.executor.state(event.event_id) == r.CLOSED, within=60)


def test_one_answer_that_names_another_vm_changes_nothing_even_for_an_agent_that_has_just_begun(host: Host) -> None:
    """W-28: what is known is the executor's word, over the end of the agent and over a boot."""
    event = host.simulator.schedule("Reboot", ["web_0"], notice=9000)
    host.run(5)
    known = host.executor.vm_id
    assert known is not None
    for file in Path(host.paths.agents_own).iterdir():
        file.unlink()
    host.boot = "boot 2"
    agent = host.begin()
    host.executor.requests.clear()
    host.run(1, until=lambda: agent._poller is not None)
    assert agent._poller is not None
    honest = agent._poller._service.vm
    answers = iter([Vm("web_0", "f00d")])
    agent._poller._service.vm = lambda **more: next(answers, None) or honest(**more)  # type: ignore[method-assign]
    agent._poller.vm = None
    agent._poller.ask_who()
    host.run(3)
    assert host.problems() == ["identity"]
    host.run(10)
    assert {values["vm_id"] for values in host.executor.asked_for(spool.OBSERVE)} <= {known}
    assert (host.executor.vm_id, host.executor.state(event.event_id), host.problems()) == (known, r.SEEN, [])


def test_a_configuration_whose_file_has_changed_is_loaded_again(host: Host) -> None:
    host.run(2)
    Path(host.paths.configuration).parent.mkdir(parents=True, exist_ok=True)
    host.configuration = Configuration(endpoint=host.simulator.endpoint("web_0"), mode=WATCH)
    host.run(3)
    assert host.facts()["mode"] == PREPARE_AND_APPROVE
    Path(host.paths.configuration).write_text("{}", encoding="utf-8")
    host.run(5)
    assert host.facts()["mode"] == WATCH
    assert [line["mode"] for line in host.lines("configuration")] == [PREPARE_AND_APPROVE, WATCH]
    host.configure(mode=PREPARE, poll_interval=5.0)
    host.run(2)
    # It has counted on, and knows who it is.
    assert host.metric('polls_total{result="unchanged"}') >= 3
    assert len(host.requests(path="instance")) == 3


def test_an_executor_that_takes_no_requests_does_not_fill_the_folder(host: Host) -> None:
    event = host.simulator.schedule("Reboot", ["web_0"], notice=9000)
    host.run(3)
    host.executor.turn = lambda: None  # type: ignore[method-assign]
    for number in range(400):
        host.simulator.change(event.event_id, not_before=9000.0 + 2 * number)
        host.run(1)
    assert len(list(Path(host.paths.agents_requests).iterdir())) == program.MOST_WAITING
    assert "requests" in host.problems()


def test_a_full_run_is_said_and_the_agent_goes_on(host: Host) -> None:
    """Host.md: a full disk is in nobody's way."""
    host.run(3)
    own = Path(host.paths.agents_own)
    own.rename(own.with_name("away"))
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.run(100)
    # Without a memory of it nothing is posted: whoever restarts would not know.
    assert (host.executor.state(event.event_id), host.posts()) == (r.COMMITTED, [])
    said = [line for line in host.lines("problem") if line["problem"] == "files"]
    assert len(said) == 1
    own.with_name("away").rename(own)
    host.run(10)
    assert host.posts() == [event.event_id]
    assert "files" not in host.problems()


def test_requests_that_cannot_be_filed_are_a_problem(host: Host) -> None:
    host.run(3)
    Path(host.paths.agents_requests).rmdir()
    host.executor.turn = lambda: None  # type: ignore[method-assign]
    host.simulator.schedule("Reboot", ["web_0"], notice=9000)
    host.run(5)
    assert host.facts()["problems"][0]["text"] == "Cannot file a request in %s: No such file or directory." % host.paths.agents_requests


def test_a_request_that_the_executor_refuses_is_said(host: Host) -> None:
    host.run(3)
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    refuse = program.spool.Answer(False, "No handler is there for this event.")
    answer = host.executor._answer
    host.executor._answer = lambda request: refuse if request.what == spool.PREPARE else answer(request)  # type: ignore[method-assign]
    host.run(10)
    (line,) = host.lines("refused")
    assert line["text"] == "The executor refuses to prepare: No handler is there for this event."
    assert host.executor.state(event.event_id) == r.SEEN


def test_a_mistake_in_one_turn_is_said_and_the_next_turn_comes(host: Host) -> None:
    host.run(3)
    broken = iter([True] * 5)

    def synchronised() -> bool:
        if next(broken, False):
            raise RuntimeError("no")
        return True

    host.agent._synchronised = synchronised
    host.run(20)
    (line,) = host.lines("mistake")
    assert line["text"] == "A turn has failed, which is a mistake in this program: RuntimeError: no"
    event = host.simulator.schedule("Reboot", ["web_0"], source="User", notice=9000)
    host.run(10)
    assert host.posts() == [event.event_id]
    assert host.metric('polls_total{result="other"}') == 5


def test_without_its_library_the_agent_ends_with_a_sentence(host: Host) -> None:
    def missing(*_what: Any) -> Any:
        raise LibraryMissing("requests", "No module named 'requests'")

    host.agent._connected = missing
    with pytest.raises(LibraryMissing):
        host.agent.run()


def test_a_service_that_is_away_is_a_problem_after_three_failures(host: Host) -> None:
    host.run(3)
    host.simulator.fault(kind="status", status=503, vm="web_0", times=2)
    host.run(20)
    assert not host.lines("problem")
    host.simulator.fault(kind="status", status=503, vm="web_0", times=None)
    host.run(60)
    assert host.problems() == ["service"]
    assert len(host.lines("problem")) == 1
    # From one second to five, and no more than that.
    asked = [one.at for one in host.requests() if one.status == 503][-8:]
    assert all(1.0 <= later - earlier <= 6.0 for earlier, later in zip(asked, asked[1:]))
    host.simulator.clear_faults()
    host.run(8)
    assert host.problems() == []


def test_a_service_that_forbids_is_asked_once_a_minute(host: Host) -> None:
    """C-10: never retried at once, and an alarm at the first."""
    host.run(3)
    host.simulator.fault(kind="status", status=403, vm="web_0", times=None)
    host.run(5)
    assert "service" in host.problems()
    host.run(600)
    asked = [one.at for one in host.requests() if one.status == 403]
    assert 9 <= len(asked) <= 12


def test_the_document_is_shown_to_the_command_line(host: Host) -> None:
    mine = host.simulator.schedule("Reboot", ["web_0"], notice=9000)
    host.simulator.schedule("Reboot", ["web_1"], notice=9000)
    host.run(3)
    facts = host.facts()
    assert (facts["format"], facts["vm"]["name"], facts["document"]["left_out"]) == (1, "web_0", 0)
    assert [event["affects_this_vm"] for event in facts["document"]["events"]] == [True, False]
    assert [(event["event_id"], event["state"], event["decision"]["effective_action"]) for event in facts["events"]] == [
        (mine.event_id, "scheduled", "prepare_and_approve")
    ]
    assert host.simulator.now() - 5.0 <= facts["last_good_document"] < host.simulator.now()
    written = Path(host.paths.agents_facts).stat()
    host.run(10)
    assert Path(host.paths.agents_facts).stat().st_mtime_ns == written.st_mtime_ns
    host.run(10)
    assert Path(host.paths.agents_facts).stat().st_mtime_ns > written.st_mtime_ns


def test_an_answer_that_nothing_has_changed_costs_no_look_at_the_document(host: Host, monkeypatch: Any) -> None:
    """A scope may have thousands of events."""
    host.simulator.schedule("Reboot", ["web_1"], notice=9000)
    made: List[Any] = []
    shown = program._document
    monkeypatch.setattr(program, "_document", lambda *values: made.append(values) or shown(*values))
    host.run(3)
    before = len(made)
    host.run(50)
    assert len(made) == before
    assert len(host.facts()["document"]["events"]) == 1
    host.run(20)
    assert len(made) == before + 1


def test_what_is_for_others_can_be_read_by_those_it_is_for(host: Host) -> None:
    host.run(3)
    modes = {path: Path(path).stat().st_mode & 0o777 for path in (host.paths.metrics, host.paths.agents_facts)}
    assert modes == {host.paths.metrics: 0o644, host.paths.agents_facts: 0o640}


# --- the program ---------------------------------------------------------------------------------------------------------


def test_the_program_starts_reloads_and_ends_as_it_is_told(simulator: Any, tmp_path: Path) -> None:
    simulator.add_vm("web_0")
    host = Host(simulator, tmp_path)
    Path(host.paths.configuration).parent.mkdir(parents=True, exist_ok=True)
    for folder in (tmp_path, *tmp_path.rglob("*")):
        folder.chmod(0o755)
    config = Path(host.paths.configuration)
    config.write_text(json.dumps({"format": 1, "endpoint": simulator.endpoint("web_0")}), encoding="utf-8")
    config.chmod(0o644)
    command = [sys.executable, "-m", "azure_event_handlers.agent", "--root", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            wait_for(lambda: len(simulator.requests(path="events")) >= 2)
            running.send_signal(signal.SIGHUP)
            wait_for(lambda: len(simulator.requests(path="events")) >= 3)
            running.send_signal(signal.SIGTERM)
            said, _nothing = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 0
    assert [json.loads(line)["what"] for line in said.splitlines()] == ["start", "configuration", "observe"]
    assert host.facts()["vm"]["name"] == "web_0"


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Library:
    """A C library whose adjtimex says so."""

    def __init__(self, state: int, status: int) -> None:
        self._answer = state, status

    def adjtimex(self, asked: Any) -> int:
        asked._obj.status = self._answer[1]
        return self._answer[0]


@pytest.mark.parametrize(("state", "status", "right"), [(0, 0x2001, True), (0, 0x0040, False), (5, 0x2001, False)])
def test_the_kernel_says_whether_the_clock_is_kept_right(monkeypatch: Any, state: int, status: int, right: bool) -> None:
    monkeypatch.setattr(program.ctypes, "CDLL", lambda *_names, **_more: Library(state, status))
    assert program.ClockKept(mark="/nonexistent")() is right


def test_the_kernel_is_asked_each_time_and_found_once(monkeypatch: Any) -> None:
    """W-34: a clock that nobody keeps any more is noticed at once."""
    library, found = Library(0, 0x2001), []
    monkeypatch.setattr(program.ctypes, "CDLL", lambda *_names, **_more: found.append(library) or library)
    kept = program.ClockKept(mark="/nonexistent")
    assert kept() is True
    library._answer = 0, 0x0040
    assert kept() is False
    assert len(found) == 1


def test_where_there_is_no_such_call_the_file_says_it(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(program.ctypes, "CDLL", lambda *_names, **_more: object())
    assert program.ClockKept(mark=str(tmp_path))() is True


@pytest.mark.parametrize("there", [True, False])
def test_where_the_kernel_may_not_be_asked_the_file_of_systemd_says_it(monkeypatch: Any, tmp_path: Path, there: bool) -> None:
    monkeypatch.setattr(program.ctypes, "CDLL", lambda *_names, **_more: Library(-1, 0))
    mark = tmp_path / "synchronized"
    if there:
        mark.touch()
    assert program.ClockKept(mark=str(mark))() is there


def test_this_machine_can_be_asked_for_its_clock_and_its_boot() -> None:
    assert program.ClockKept()() in (True, False)
    assert program.host_clock().monotonic() > 0.0
    assert len(program.boot_id()) == 36
