# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The executor as it lives on a host: what may be asked of it and by whom, what it lets others see, and that it goes on without a disk."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import evidence, files, published, spool, trials
from azure_event_handlers import records as r
from azure_event_handlers.errors import BusyError, StoreError
from azure_event_handlers.evidence import Journals
from azure_event_handlers.launcher import Job, Launcher, Seen
from azure_event_handlers.paths import Paths
from azure_event_handlers.records import Record
from azure_event_handlers.service import LINGER, Service
from azure_event_handlers.store import Store
from azure_event_handlers.trials import Mark

VM, OTHER_VM = "11111111-0000-4000-8000-000000000000", "22222222-0000-4000-8000-000000000000"
NOW = 1_800_000_000.0
EVENT = Event("E-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), NOW + 7200.0, "", 9)
STARTED = replace(EVENT, event_status="Started", not_before=None)
PERSON = {"driver": "playbook", "run": "run 1", "lease": 600.0}
AGENT = {"driver": "agent", "run": "agent", "lease": 120.0}


class Fake(Launcher):
    """Handlers that end at once, as told."""

    def __init__(self) -> None:
        self.now_boot = "boot 1"
        self.ends: Dict[str, int] = {}
        self.jobs: List[Job] = []
        self._units: Dict[str, Seen] = {}

    @property
    def boot(self) -> str:
        return self.now_boot

    def units(self) -> Dict[str, Seen]:
        return dict(self._units)

    def begin(self, name: str, job: Job) -> None:
        self.jobs.append(job)
        self._units[name] = Seen(False, self.ends.get(job.command[1], 0 if job.command[1] != "inspect" else self._inspected()))

    def _inspected(self) -> int:
        """Out of service once it was prepared and not recovered."""
        done = [job.command[1] for job in self.jobs if job.command[1] in ("prepare", "recover")]
        return 0 if done[-1:] == ["prepare"] else 1

    def stop(self, name: str) -> None:
        self._units[name] = Seen(False, None)

    def discard(self, name: str) -> None:
        self._units.pop(name, None)

    @property
    def ran(self) -> List[str]:
        return [job.command[1] for job in self.jobs]


class Host:
    """A host in a folder, with one handler, and time that passes when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.paths = Paths(str(folder))
        for path in (self.paths.handlers, self.paths.options, self.paths.requests, self.paths.agents_requests, self.paths.answers):
            os.makedirs(path)
        for place in folder.rglob("*"):
            if place.is_dir():
                place.chmod(0o755)
        self.write_handler("10-web", "#!/bin/sh\nexit 0\n")
        self.configure()
        self.launcher = Fake()
        self.passed = 0.0
        # By so much somebody has set the wall clock.
        self.set_by = 0.0
        self.said: List[str] = []
        self.service: Optional[Service] = None

    def write_handler(self, name: str, text: str) -> Path:
        path = Path(self.paths.handlers) / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def configure(self, **values: Any) -> None:
        path = Path(self.paths.configuration)
        path.write_text(json.dumps({"format": 1, **values}), encoding="utf-8")
        path.chmod(0o644)

    def start(self) -> Service:
        """A new life; the earlier one was killed."""
        if self.service is not None:
            self.service._store.release()
        clock = Clock(wall=lambda: NOW + self.passed + self.set_by, monotonic=lambda: self.passed, sleep=self.sleep)
        self.service = Service(self.paths, self.launcher, clock, owner=os.getuid(), say=self.said.append)
        self.service._store.acquire()
        self.service._wake()
        return self.service

    def sleep(self, seconds: float) -> None:
        self.passed += seconds

    def settle(self) -> None:
        """Until nothing more happens at this time."""
        assert self.service is not None
        for _turn in range(200):
            if not self.service.turn():
                return
        raise AssertionError("it does not come to rest")

    def ask(self, what: str, *, by_agent: bool = False, **values: Any) -> spool.Answer:
        name = spool.file_request(self.paths.agents_requests if by_agent else self.paths.requests, what, **values)
        if self.service is None:
            self.start()
        self.settle()
        answer = spool.answer_of(self.paths.answers, name)
        assert answer is not None
        return answer

    def observe(self, *events: Event, gone: Any = (), named: bool = True, vm_id: str = VM) -> spool.Answer:
        shown = [{"event": asdict(event), "named": named, "decision": None, "reason": ""} for event in events]
        return self.ask("observe", by_agent=True, vm_id=vm_id, events=shown, gone=list(gone))

    def prepare(self, event: Event = EVENT, *, by_agent: bool = False, **changes: Any) -> spool.Answer:
        driver = AGENT if by_agent else PERSON
        times = asdict(Times(event.not_before, 300.0, 60.0, 5.0))
        values = {"event": asdict(event), "vm_id": VM, "times": times, "within": 300.0, **driver, **changes}
        return self.ask("prepare", by_agent=by_agent, **values)

    @property
    def status(self) -> published.Status:
        found = published.read(self.paths.status)
        assert found is not None
        return found

    @property
    def record(self) -> Record:
        found = self.status.find("E-1")
        assert found is not None
        return found

    def evidence(self) -> Dict[str, Any]:
        return evidence.of(self.record, Journals(self.paths.journals).lines(self.record.key), now=NOW + self.passed)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    yield made
    if made.service is not None:
        made.service._store.release()


def test_a_whole_life_from_the_first_sight_to_the_closed_record(host: Host) -> None:
    host.observe(EVENT)
    assert host.record.state == r.SEEN
    assert host.prepare().ok
    assert host.record.state == r.PREPARED
    assert host.ask("commit", event=asdict(EVENT), **PERSON).ok
    assert host.record.state == r.COMMITTED
    host.observe(STARTED)
    assert host.record.state == r.IMPACT
    host.observe(gone=["e-1"])
    assert (host.record.state, host.record.result) == (r.CLOSED, "recovered")
    assert host.launcher.ran == ["inspect", "prepare", "inspect", "recover"]


def test_who_has_the_answer_sees_what_came_of_the_request(host: Host) -> None:
    """Else a second preparation would look like the first one, which failed."""
    host.observe(EVENT)
    times = asdict(Times(EVENT.not_before, 300.0, 60.0, 5.0))
    name = spool.file_request(host.paths.requests, "prepare", event=asdict(EVENT), vm_id=VM, times=times, within=300.0, **PERSON)
    assert host.service is not None
    host.service._take_requests()
    answer = spool.answer_of(host.paths.answers, name)
    assert answer is not None
    assert answer.ok
    assert host.record.state == r.PREPARING


def test_the_evidence_tells_the_whole_life(host: Host) -> None:
    test_a_whole_life_from_the_first_sight_to_the_closed_record(host)
    told = host.evidence()
    assert [line["to"] for line in told["history"] if "to" in line] == [
        "PREPARING",
        "PREPARED",
        "COMMITTED",
        "IMPACT",
        "RECOVERING",
        "CLOSED",
    ]
    assert [(run["handler"], run["phase"], run["exit"]) for run in told["handlers"]] == [
        ("10-web", "inspect", 1),
        ("10-web", "prepare", 0),
        ("10-web", "inspect", 0),
        ("10-web", "recover", 0),
    ]
    assert [(line["request"], line["by"]) for line in told["requests"]] == [("prepare", "playbook"), ("commit", "playbook")]
    assert (told["result"], told["healthy"], told["approved_by"]) == ("recovered", True, "other")
    assert told["notice_seconds"] == 7200


def test_the_evidence_says_by_which_names_the_driver_knows_the_host(host: Host) -> None:
    """host.md, Evidence: inventory name and scope are part of the identity; the agent knows the rest."""
    assert host.prepare().ok
    assert host.evidence()["identity"] is None
    vm = {"event_id": "E-1", "note": "identity", "detail": {"name": "web_0", "placement_group_id": "pg-1"}}
    assert host.ask("note", by_agent=True, **vm).ok
    assert host.evidence()["identity"] == {"name": "web_0", "placement_group_id": "pg-1", "inventory_name": None, "scope": "pg-1"}
    assert host.ask("commit", event=asdict(EVENT), inventory_name=" web\n5 ", scope="as-1", **PERSON).ok
    told = host.evidence()
    assert (told["identity"]["inventory_name"], told["identity"]["scope"], told["notes"]) == ("web 5", "as-1", [])


def test_names_are_known_where_the_agent_has_not_said_anything(host: Host) -> None:
    assert host.prepare(inventory_name="web5").ok
    assert host.evidence()["identity"] == {"inventory_name": "web5", "scope": None}


def test_a_refusal_is_part_of_the_evidence(host: Host) -> None:
    host.prepare()
    answer = host.ask("renew", event_id="e-1", driver="other", run="run 2", lease=60.0)
    assert host.evidence()["requests"][-1]["reason"] == answer.message


def test_each_transition_is_one_structured_line(host: Host) -> None:
    test_a_whole_life_from_the_first_sight_to_the_closed_record(host)
    lines = [json.loads(line) for line in host.said]
    assert [(line["from"], line["to"]) for line in lines] == [
        (None, "SEEN"),
        ("SEEN", "PREPARING"),
        ("PREPARING", "PREPARED"),
        ("PREPARED", "COMMITTED"),
        ("COMMITTED", "IMPACT"),
        ("IMPACT", "RECOVERING"),
        ("RECOVERING", "CLOSED"),
    ]
    assert {line["event_type"] for line in lines} == {"Reboot"}


def test_the_agent_asks_for_nothing_but_what_it_may(host: Host) -> None:
    host.observe(EVENT)
    for what in ("hold", "release", "recover"):
        answer = host.ask(what, by_agent=True, by="agent", event_id="E-1", until=NOW + 60)
        assert answer == spool.Answer(False, "The agent may not ask for %s." % what)
    assert host.status.hold is None


def test_the_agent_cannot_speak_for_another_driver_nor_another_for_the_agent(host: Host) -> None:
    assert host.prepare(by_agent=True, driver="playbook").message == "The name agent is the agent's, and it has no other."
    assert host.prepare(driver="agent").message == "The name agent is the agent's, and it has no other."
    assert host.launcher.ran == []


def test_two_drivers_do_not_have_one_host(host: Host) -> None:
    """W-37: the loser is told who has it."""
    assert host.prepare().ok
    answer = host.prepare(by_agent=True)
    assert not answer.ok
    assert answer.message.startswith("This host is in the hands of playbook (run run 1) until ")


@pytest.mark.parametrize("name", ["x.json", "0" * 32 + ".txt", "a b.json", "A" * 32 + ".json"])
def test_what_is_no_request_is_thrown_away(host: Host, name: str) -> None:
    path = Path(host.paths.agents_requests) / name
    path.write_text("{}", encoding="utf-8")
    host.start()
    host.settle()
    assert not path.exists()
    assert "A request was thrown away" in host.said[-1]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{",
        '{"format": 2, "what": "hold", "values": {}}',
        '{"format": 1, "what": 7, "values": {}}',
        '{"format": 1, "what": "hold", "values": []}',
        "[" * 100_000,
    ],
)
def test_a_request_that_cannot_be_read_is_thrown_away(host: Host, body: str) -> None:
    path = Path(host.paths.agents_requests) / ("0" * 32 + ".json")
    path.write_text(body, encoding="utf-8")
    host.start()
    host.settle()
    assert not path.exists()


def test_a_link_in_the_agents_folder_is_not_followed(host: Host, tmp_path: Path) -> None:
    """A secret that only root reads does not come out in an answer."""
    secret = tmp_path / "secret"
    secret.write_text('{"format": 1, "what": "note", "values": {}}', encoding="utf-8")
    os.symlink(secret, Path(host.paths.agents_requests) / ("0" * 32 + ".json"))
    os.mkfifo(Path(host.paths.agents_requests) / ("1" * 32 + ".json"))
    host.start()
    host.settle()
    assert secret.exists()
    assert os.listdir(host.paths.agents_requests) == []
    assert os.listdir(host.paths.answers) == []


@pytest.mark.parametrize(
    ("what", "values", "words"),
    [
        ("dance", {}, "Nobody can ask for dance here."),
        (
            "renew",
            {"event_id": "E-9", **PERSON},
            "This host knows of no event E-9; `azure-event-handlers status` lists those that it knows.",
        ),
        ("renew", {"event_id": "E-1", **PERSON, "lease": -1}, "A lease is at most a day long."),
        ("renew", {"event_id": "E-1", **PERSON, "lease": True}, "The request lacks lease, a number."),
        ("renew", {"event_id": "E-1", **PERSON, "lease": 1e300}, "The request lacks lease, a number."),
        ("renew", {"event_id": "", **PERSON}, "The request lacks event_id."),
        ("hold", {"by": "ann", "until": NOW - 1}, "A hold ends in the future, and within 30 days."),
        ("hold", {"by": "ann", "until": NOW + 40 * 86400}, "A hold ends in the future, and within 30 days."),
        ("note", {"event_id": "E-1", "note": "x", "detail": []}, "The request lacks detail, an object."),
        ("observe", {"vm_id": VM, "events": [{"event": {"event_id": 7}}]}, None),
        ("observe", {"vm_id": VM, "events": ["x"]}, "The request has events, which is not a list of objects."),
        ("observe", {"vm_id": VM, "gone": [7]}, "The request has gone, which is not a list of texts."),
    ],
)
def test_a_request_with_wrong_values_is_refused_and_changes_nothing(
    host: Host, what: str, values: Dict[str, Any], words: Optional[str]
) -> None:
    host.observe(EVENT)
    before = host.record
    answer = host.ask(what, **values)
    assert not answer.ok
    assert answer.message == words or words is None
    assert host.record == before


def test_the_event_of_an_evil_id_is_one_like_others(host: Host) -> None:
    """W-58."""
    evil = replace(EVENT, event_id="../../x\x00; reboot")
    assert host.observe(evil).ok
    (name,) = [name for name in os.listdir(host.paths.records) if name.endswith(".json")]
    assert len(name) == 16 + len(".json")


def test_a_host_that_is_held_does_not_get_ready_and_says_who_holds_it(host: Host) -> None:
    """W-55."""
    assert host.ask("hold", by="ann", until=NOW + 3600, reason="database restore").ok
    answer = host.prepare()
    assert answer.message == "This host is held by ann until 2027-01-15T09:00:00Z (database restore)."
    assert host.launcher.ran == []
    host.passed = 3601.0
    assert host.prepare().ok


def test_a_hold_stops_a_commit_and_not_a_recovery(host: Host) -> None:
    """W-55."""
    host.prepare()
    host.ask("hold", by="ann", until=NOW + 3600)
    assert host.ask("commit", event=asdict(EVENT), **PERSON).message.startswith("This host is held by ann until")
    host.observe(STARTED)
    host.observe(gone=["E-1"])
    assert host.record.state == r.CLOSED
    assert host.launcher.ran[-1] == "recover"


def test_without_a_handler_nobody_is_ready(host: Host) -> None:
    """W-50."""
    os.unlink(os.path.join(host.paths.handlers, "10-web"))
    assert host.prepare().message.startswith("No handler is there for this event")
    host.configure(allow_empty_prepare=True)
    assert host.prepare().ok
    assert host.record.state == r.PREPARED


def test_a_wrong_configuration_begins_nothing_and_recovers_all_the_same(host: Host) -> None:
    host.prepare()
    Path(host.paths.configuration).write_text("{", encoding="utf-8")
    answer = host.prepare(replace(EVENT, event_id="E-2"))
    assert answer.message.startswith("The configuration of this host is wrong, so nothing is begun: ")
    assert any("config.json" in problem for problem in host.status.problems)
    host.observe(STARTED)
    host.observe(gone=["E-1"])
    assert host.record.state == r.CLOSED


def test_a_handler_that_was_changed_meanwhile_undoes_by_its_old_copy(host: Host) -> None:
    """W-47."""
    host.prepare()
    host.write_handler("10-web", "#!/bin/sh\nexit 1\n")
    host.observe(STARTED)
    host.observe(gone=["E-1"])
    prepared, recovered = (job.command[0] for job in host.launcher.jobs if job.command[1] in ("prepare", "recover"))
    assert prepared == recovered
    assert Path(recovered).read_text(encoding="utf-8") == "#!/bin/sh\nexit 0\n"


def test_copies_that_no_record_needs_are_removed_and_others_stay(host: Host) -> None:
    host.prepare()
    Path(host.paths.copies, "old").write_text("x", encoding="utf-8")
    host.start()
    assert [os.path.join(host.paths.copies, name) for name in os.listdir(host.paths.copies)] == [host.record.steps[0].file]


def test_environment_and_confinement_of_a_handler_come_from_its_options(host: Host) -> None:
    path = Path(host.paths.options) / "10-web.json"
    path.write_text(json.dumps({"environment": {"POOL": "web"}, "properties": ["ProtectHome=yes"], "limit": "7s"}), encoding="utf-8")
    path.chmod(0o644)
    host.prepare()
    job = host.launcher.jobs[0]
    assert (job.environment["POOL"], list(job.properties), job.limit) == ("web", ["ProtectHome=yes"], 7.0)


def test_nothing_runs_before_it_is_known_which_vm_this_is(host: Host) -> None:
    """W-29: after a boot the disk may be a copy, and the record another VM's."""
    host.prepare()
    host.observe(STARTED)
    os.unlink(host.paths.identity)
    host.launcher.now_boot = "boot 2"
    ran = list(host.launcher.ran)
    host.start()
    host.passed += 86400.0
    host.settle()
    assert (host.record.state, host.launcher.ran) == (r.IMPACT, ran)
    host.observe(vm_id=OTHER_VM, gone=["E-1"])
    assert (host.record.state, host.launcher.ran) == (r.FOREIGN, ran)


def test_an_id_that_returns_is_a_new_occurrence(host: Host) -> None:
    """W-15."""
    host.observe(EVENT)
    host.observe(gone=["E-1"])
    host.observe(EVENT)
    assert (host.record.occurrence, host.record.state) == (2, r.SEEN)


def test_an_event_without_this_vm_is_treated_as_gone(host: Host) -> None:
    """W-12."""
    host.prepare()
    host.observe(replace(EVENT, resources=("web_1",)), named=False)
    assert host.record.state == r.CLOSED
    assert host.launcher.ran[-1] == "recover"


def test_nothing_runs_for_a_record_that_cannot_be_read(host: Host) -> None:
    host.prepare()
    (path,) = Path(host.paths.records).glob("????????????????.json")
    path.write_text("{}", encoding="utf-8")
    host.start()
    host.observe(EVENT)
    assert host.prepare().message.startswith("The record of this event cannot be read")
    assert [name for name in host.status.broken if name.startswith(path.name)]
    assert host.launcher.ran == ["inspect", "prepare"]


class Full(Store):
    """A disk that takes nothing."""

    def _write(self, name: str, data: Any) -> None:
        raise StoreError("Cannot write %s in the state folder: No space left on device." % name)


def test_a_full_disk_keeps_a_host_in_service(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-48: before prepare."""
    host.observe(EVENT)
    monkeypatch.setattr(Store, "_write", Full._write)
    answer = host.prepare()
    assert answer.message.startswith("This host cannot get ready: Cannot write ")
    assert host.launcher.ran == []
    assert any("No space left" in problem for problem in host.status.problems)


def test_a_full_disk_keeps_no_host_out_of_service(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-48: before recover; what could not be written is written when there is space again."""
    host.prepare()
    with monkeypatch.context() as full:
        full.setattr(Store, "_write", Full._write)
        host.observe(STARTED)
        host.observe(gone=["E-1"])
        assert host.launcher.ran == ["inspect", "prepare", "recover"]
        assert host.record.state == r.CLOSED
        assert Store(host.paths.records).load().records[host.record.key].state == r.PREPARED
        assert any("recovery goes on" in problem for problem in host.status.problems)
    host.passed += 60.0
    host.settle()
    assert Store(host.paths.records).load().records[host.record.key].state == r.CLOSED
    host.settle()
    assert host.status.problems == ()


def test_a_commit_is_not_given_on_a_full_disk(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-48: what is not written down, Azure must not rest on."""
    host.prepare()
    monkeypatch.setattr(Store, "_write", Full._write)
    host.observe(replace(EVENT, description="x"))
    answer = host.ask("commit", event=asdict(replace(EVENT, description="x")), **PERSON)
    assert answer.message.startswith("This host cannot give its word: ")
    assert host.record.state == r.PREPARED


def test_a_result_that_only_the_executor_knew_is_told_again_after_a_kill(host: Host) -> None:
    """W-48: a kill while the disk is full loses no claim, and nothing is run twice."""
    host.start()
    begin = host.launcher.begin
    full = pytest.MonkeyPatch()

    def fill_while_it_runs(name: str, job: Job) -> None:
        begin(name, job)
        if job.command[1] == "prepare":
            full.setattr(Store, "_write", Full._write)

    host.launcher.begin = fill_while_it_runs  # type: ignore[method-assign]
    host.prepare()
    assert host.record.steps[0].prepare.outcome == r.DONE
    full.undo()
    host.start()
    host.settle()
    assert host.launcher.ran == ["inspect", "prepare"]
    assert host.record.state == r.PREPARED
    host.observe(STARTED)
    host.observe(gone=["E-1"])
    assert host.launcher.ran == ["inspect", "prepare", "recover"]
    assert host.launcher.units() == {}


def test_a_record_that_cannot_even_be_put_aside_is_an_alarm_and_is_not_written_over(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.prepare()
    (path,) = Path(host.paths.records).glob("????????????????.json")
    path.write_text("{", encoding="utf-8")
    copies = os.listdir(host.paths.copies)

    def read_only(*_names: Any) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as broken:
        broken.setattr(os, "rename", read_only)
        host.start()
    host.observe(EVENT)
    assert host.status.broken == (path.name,)
    assert path.read_text(encoding="utf-8") == "{"
    assert os.listdir(host.paths.copies) == copies


def test_a_post_is_not_written_down_when_the_word_does_not_hold_any_more(host: Host) -> None:
    """Between what the agent has read and its post somebody may have taken the host back, or holds it."""
    sending = {"event_id": "E-1", "note": "post", "detail": {"result": "sending", "posted": True}}
    host.prepare(by_agent=True)
    assert "it is PREPARED" in host.ask("note", by_agent=True, **sending).message
    host.ask("commit", by_agent=True, event=asdict(EVENT), **AGENT)
    assert host.ask("note", by_agent=True, **sending).ok
    host.ask("hold", by="ann", until=NOW + 60)
    assert "held by ann" in host.ask("note", by_agent=True, **sending).message
    host.ask("release", by="ann")
    host.ask("release", event_id="E-1", by="ann", force=True)
    assert "The word of this host does not hold: it is BACKED_OUT" in host.ask("note", by_agent=True, **sending).message


MINE = {"driver": "playbook", "run": "run 1"}


def _commit(host: Host) -> None:
    host.prepare()
    assert host.ask("commit", event=asdict(EVENT), **PERSON).ok
    assert host.record.state == r.COMMITTED


def test_what_a_driver_says_of_its_approval_is_on_the_disk_and_in_the_evidence_once(host: Host) -> None:
    """W-5, W-6: whoever comes later knows that one may have been posted."""
    _commit(host)
    ran = list(host.launcher.ran)
    for _time in range(2):
        assert host.ask("sending", event_id="e-1", witness="web_5", **MINE).ok
    host.start()
    post = host.record.post
    assert post is not None
    assert (post.driver, post.run, post.witness, post.outcome) == ("playbook", "run 1", "web_5", None)
    assert [(line["by"], line["outcome"]) for line in host.evidence()["posts"]] == [("driver", "sending")]
    for _time in range(2):
        assert host.ask("approved", event_id="E-1", witness="web_5", outcome="taken", **MINE).ok
    told = host.evidence()
    assert [(line["outcome"], line["witness"]) for line in told["posts"]] == [("taken", "web_5")]
    assert told["approved_by"] == "us"
    assert (host.record.state, host.launcher.ran) == (r.COMMITTED, ran)
    host.observe(STARTED)
    assert (host.record.state, host.evidence()["approved_by"]) == (r.IMPACT, "us")


def test_a_note_that_was_cut_off_is_made_when_it_is_said_again(host: Host) -> None:
    """The record is written first, and who was not answered asks once more."""
    _commit(host)
    host.ask("sending", event_id="E-1", witness="web_5", **MINE)
    journal = Path(host.paths.journals) / (host.record.key + ".jsonl")
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if '"post"' not in line), encoding="utf-8")
    assert host.evidence()["posts"] == []
    host.ask("sending", event_id="E-1", witness="web_5", **MINE)
    assert len(host.evidence()["posts"]) == 1


@pytest.mark.parametrize(("outcome", "by"), [("taken", "us"), ("unclear", "us"), ("refused", "other"), ("already_started", "other")])
def test_the_evidence_says_who_approved(host: Host, outcome: str, by: str) -> None:
    """W-40."""
    _commit(host)
    host.ask("sending", event_id="E-1", witness="web_5", **MINE)
    host.observe(STARTED)
    assert host.ask("approved", event_id="E-1", outcome=outcome, **MINE).ok
    assert host.evidence()["approved_by"] == by


def test_an_approval_is_not_announced_on_a_disk_that_does_not_take_it(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-48: what became of one that was announced is told all the same."""
    _commit(host)

    def full(*_anything: Any) -> None:
        raise StoreError("No space left on device.")

    with monkeypatch.context() as broken:
        broken.setattr(Store, "save", full)
        refused = host.ask("sending", event_id="E-1", witness="web_5", **MINE)
        assert (refused.ok, host.record.post) == (False, None)
    host.sleep(60)
    host.settle()
    assert host.ask("sending", event_id="E-1", witness="web_5", **MINE).ok
    monkeypatch.setattr(Store, "save", full)
    assert host.ask("approved", event_id="E-1", witness="web_5", outcome="unclear", **MINE).ok


def test_the_agent_and_strangers_say_nothing_of_a_drivers_approval(host: Host) -> None:
    _commit(host)
    assert host.ask("sending", by_agent=True, event_id="E-1", witness="x", **MINE).message == "The agent may not ask for sending."
    assert "is in the hands of playbook (run run 1)" in host.ask("sending", event_id="E-1", driver="playbook", run="run 2").message
    assert "is one of taken, refused" in host.ask("approved", event_id="E-1", outcome="x", **MINE).message


def test_a_run_that_comes_after_a_lost_one_takes_its_word_over_and_cannot_take_it_back(host: Host) -> None:
    """W-5, W-6."""
    _commit(host)
    other = {"driver": "playbook", "run": "run 2", "lease": 600.0}
    assert host.prepare(**other).message.startswith("This host is in the hands of playbook (run run 1) until ")
    host.sleep(601)
    assert host.prepare(**other).ok
    assert "its handlers have not been asked since" in host.ask("sending", event_id="E-1", driver="playbook", run="run 2").message
    assert host.ask("commit", event=asdict(EVENT), **other).ok
    assert [who.run for who in host.record.given_to] == ["run 1", "run 2"]
    assert "was given to playbook (run run 1), and only" in host.ask("abort", event_id="E-1", driver="playbook", run="run 2").message
    assert host.ask("sending", event_id="E-1", driver="playbook", run="run 2").ok
    assert (host.record.state, host.launcher.ran) == (r.COMMITTED, ["inspect", "prepare", "inspect", "inspect"])


def test_a_host_that_was_put_back_by_hand_after_its_first_commit_is_not_approved_by_a_second_run(host: Host) -> None:
    """W-41, W-5: nor put back by itself, for the lost run may have posted; once it is out again, the next look says yes."""
    _commit(host)
    host.sleep(601)
    other = {"driver": "playbook", "run": "run 2", "lease": 600.0}
    host.launcher.ends["inspect"] = 1
    assert host.prepare(**other).ok
    assert host.ask("commit", event=asdict(EVENT), **other).ok
    refused = host.record
    assert (refused.state, refused.commit_refused) == (r.COMMITTED, "10-web says that it is in service")
    assert [who.run for who in refused.given_to] == ["run 1"]
    for run in ("run 1", "run 2"):
        assert not host.ask("sending", event_id="E-1", driver="playbook", run=run).ok
    assert "was given to playbook (run run 1), and only" in host.ask("abort", event_id="E-1", driver="playbook", run="run 2").message
    assert (host.record.state, host.launcher.ran) == (r.COMMITTED, ["inspect", "prepare", "inspect", "inspect"])
    assert "10-web says that it is in service" in [line.get("reason") for line in host.evidence()["requests"]]
    assert [one["phase"] for one in host.evidence()["handlers"]] == host.launcher.ran
    host.launcher.ends["inspect"] = 0
    assert host.ask("commit", event=asdict(EVENT), **other).ok
    assert [who.run for who in host.record.given_to] == ["run 1", "run 2"]
    assert host.ask("sending", event_id="E-1", driver="playbook", run="run 2").ok


def test_a_word_is_not_given_to_another_one_on_a_disk_that_does_not_take_it(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-48, W-5: after a kill nobody would know that it may have posted too."""
    _commit(host)
    host.sleep(601)
    other = {"driver": "playbook", "run": "run 2", "lease": 600.0}
    assert host.prepare(**other).ok
    save = Store.save

    def full(store: Store, record: Optional[Record] = None) -> None:
        if record is None or len(record.given_to) > 1:
            raise StoreError("No space left on device.")
        save(store, record)

    monkeypatch.setattr(Store, "save", full)
    monkeypatch.setattr(Store, "probe", full)
    host.ask("commit", event=asdict(EVENT), **other)
    host.settle()
    assert (host.record.state, [who.run for who in host.record.given_to]) == (r.COMMITTED, ["run 1"])
    assert host.record.commit_refused == "its disk does not take what is to be written down"


@pytest.mark.parametrize("by", [3600.0, -3600.0, -200.0])
def test_a_clock_that_is_set_while_a_host_gets_ready_neither_ends_its_time_nor_makes_it_longer(host: Host, by: float) -> None:
    """W-34: nor is who said "not yet" asked later than after five seconds."""
    host.launcher.ends["prepare"] = 75
    assert host.prepare().ok
    host.sleep(10)
    host.settle()
    host.set_by = by
    for _again in range(20):
        tries = host.record.steps[0].prepare.tries
        host.sleep(6)
        host.settle()
        assert (host.record.state, host.record.steps[0].prepare.tries) == (r.PREPARING, tries + 1)
    assert host.passed == 130.0
    host.sleep(300.0 - host.passed)
    host.settle()
    assert host.record.state == r.PREPARING
    host.sleep(6)
    host.settle()
    assert (host.record.state, host.record.reason) == (r.BACKED_OUT, "the time to prepare is over")


@pytest.mark.parametrize("by", [3600.0, -3600.0])
def test_who_is_ready_in_time_is_ready_whatever_the_clock_says(host: Host, by: float) -> None:
    """W-34: its driver has its lease as well."""
    host.launcher.ends["prepare"] = 75
    assert host.prepare().ok
    host.set_by = by
    host.sleep(200)
    host.launcher.ends["prepare"] = 0
    host.settle()
    assert host.record.state == r.PREPARED
    host.sleep(390)
    host.settle()
    assert host.record.state == r.PREPARED
    host.sleep(11)
    host.settle()
    assert (host.record.state, host.record.reason) == (r.BACKED_OUT, "playbook has not been heard of")


TRIAL = Mark("10-web", "Reboot", "azure-event-trial-1", NOW - 60.0)


def test_a_real_event_is_not_prepared_for_while_a_handler_is_tried(host: Host) -> None:
    """Never two handlers at the same time."""
    host.start()
    with trials.alone(host.paths, Clock()):
        assert host.prepare().message == "A handler is being tried on this host by hand: ask again when that is over."
    assert (host.record.state, host.launcher.ran) == (r.SEEN, [])
    assert host.prepare().ok


def test_the_executor_stays_and_warns_until_the_trial_has_recovered(host: Host) -> None:
    service = host.start()
    trials.write(host.paths, TRIAL)
    with trials.alone(host.paths, Clock()):
        host.sleep(3.0)
        host.settle()
        assert host.status.problems == ()
        assert not service._may_rest()
    host.sleep(3.0)
    host.settle()
    assert host.status.problems == (str(TRIAL),)
    assert not service._may_rest()
    trials.forget(host.paths, "10-web")
    host.sleep(3.0)
    host.settle()
    assert host.status.problems == ()
    assert service._may_rest()


def test_after_a_boot_the_first_thing_shown_is_what_a_trial_has_left(host: Host) -> None:
    trials.write(host.paths, TRIAL)
    host.start()
    assert host.status.problems == (str(TRIAL),)
    # What it has begun does not run any more, so it is in nobody's way.
    assert host.prepare().ok


def test_who_only_wants_to_be_seen_is_answered(host: Host) -> None:
    assert host.ask("look").ok
    assert host.ask("look", by_agent=True).message == "The agent may not ask for look."


def test_another_identity_in_a_request_changes_nothing(host: Host) -> None:
    """C-28: an incomplete answer must not make all records another VM's."""
    host.prepare()
    answer = host.prepare(replace(EVENT, event_id="E-2"), vm_id="web_0")
    assert answer.message == "The metadata service says that this is VM web_0, and it is known here as %s: ask again." % VM
    assert host.record.state == r.PREPARED
    assert host.prepare(vm_id=VM.upper()).ok


def test_only_who_has_the_word_says_that_nothing_was_posted(host: Host) -> None:
    """W-5: also when its lease is over."""
    host.prepare()
    host.ask("commit", event=asdict(EVENT), **PERSON)
    host.passed = PERSON["lease"] + 60.0  # type: ignore[operator]
    answer = host.ask("abort", event_id="E-1", driver="person bob", run="1")
    assert answer.message.startswith("The word of this host was given to playbook (run run 1), and only who has it can say")
    assert host.record.state == r.COMMITTED
    assert host.ask("abort", event_id="E-1", driver=PERSON["driver"], run=PERSON["run"]).ok


def test_what_handlers_say_never_makes_the_state_too_long_to_read(host: Host) -> None:
    tail = "\u2713" * 4096
    for number in range(20, 40):
        host.write_handler("%d-more%d" % (number, number), "#!/bin/sh\nexit 0\n")
    host.configure(prepare_budget="2h")
    begin = host.launcher.begin

    def talk(name: str, job: Job) -> None:
        begin(name, job)
        host.launcher._units[name] = replace(host.launcher._units[name], tail=tail)

    host.launcher.begin = talk  # type: ignore[method-assign]
    assert host.prepare().ok
    assert os.path.getsize(host.paths.status) < files.LARGEST / 4
    assert next(run["output"] for run in host.evidence()["handlers"]) == [tail]


@pytest.mark.parametrize("moment", [2.0**50, -(2.0**50)])
def test_a_time_that_no_calendar_has_is_refused(host: Host, moment: float) -> None:
    answer = host.observe(replace(EVENT, not_before=moment))
    assert answer.message == "The request has an event at a time that no calendar has."


def test_a_request_that_breaks_the_program_is_refused_and_the_next_one_answered(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.start()
    with monkeypatch.context() as broken:
        broken.setattr("azure_event_handlers.asked.first_sight", lambda *_a, **_k: 1 / 0)
        assert host.observe(EVENT).message == "The request cannot be carried out: ZeroDivisionError: division by zero."
    assert host.observe(EVENT).ok


def test_what_cannot_be_thrown_away_stops_nobody(host: Host) -> None:
    folder = Path(host.paths.agents_requests) / "folder"
    (folder / "inside").mkdir(parents=True)
    (Path(host.paths.agents_requests) / "empty").mkdir()
    host.start()
    host.settle()
    assert os.listdir(host.paths.agents_requests) == ["folder"]
    assert host.observe(EVENT).ok
    assert any("is no request and cannot be removed" in problem for problem in host.status.problems)


def test_a_hold_that_cannot_be_read_holds_and_ends_nobody(host: Host) -> None:
    host.start()
    os.mkdir(os.path.join(host.paths.records, "hold.json"))
    assert host.prepare().message.startswith("This host is held by somebody (the file ")
    written = host.status.written_at
    host.passed += 5.0
    host.settle()
    assert host.status.written_at == written


def test_a_person_gets_the_host_back_at_once_also_near_the_event(host: Host) -> None:
    near = replace(EVENT, not_before=NOW + 300)
    host.prepare(near)
    assert host.ask("recover", event_id="E-1", by="ann").ok
    assert host.record.state == r.BACKED_OUT


def test_an_old_request_for_work_is_not_carried_out(host: Host) -> None:
    host.start()
    times = asdict(Times(EVENT.not_before, 300.0, 60.0, 5.0))
    name = spool.file_request(host.paths.requests, "prepare", event=asdict(EVENT), vm_id=VM, times=times, within=300.0, **PERSON)
    path = os.path.join(host.paths.requests, name + ".json")
    os.utime(path, (os.stat(path).st_mtime - 3600,) * 2)
    host.settle()
    answer = spool.answer_of(host.paths.answers, name)
    assert answer is not None
    assert "seconds old, and who filed it may not be there any more" in answer.message
    assert host.launcher.ran == []


def test_a_request_that_was_withdrawn_meanwhile_is_not_carried_out(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    service = host.start()
    first, second = (spool.file_request(host.paths.requests, "hold", by=by, until=NOW + 60) for by in ("ann", "bob"))
    for number, name in enumerate((first, second)):
        os.utime(os.path.join(host.paths.requests, name + ".json"), (number, number))
    carried = service._carry_out

    def slow(request: spool.Request) -> spool.Answer:
        spool.drop(os.path.join(host.paths.requests, second + ".json"))
        return carried(request)

    monkeypatch.setattr(service, "_carry_out", slow)
    host.settle()
    assert spool.answer_of(host.paths.answers, second) is None
    assert host.status.hold is not None
    assert host.status.hold.name == "ann"


def test_there_is_one_executor(host: Host) -> None:
    host.start()
    second = Service(host.paths, host.launcher, Clock(), owner=os.getuid())
    with pytest.raises(BusyError):
        second.run()


def test_it_ends_when_nothing_can_happen_by_itself(host: Host) -> None:
    host.observe(EVENT)
    assert host.service is not None
    host.service._store.release()
    began = host.passed
    host.service.run()
    assert LINGER <= host.passed - began < LINGER + 2


def test_it_stays_while_a_lease_runs_and_gives_the_host_back_after_it(host: Host) -> None:
    """W-3: nobody comes by, and the host is back all the same."""
    host.prepare()
    assert host.service is not None
    host.service._store.release()
    host.service.run()
    assert host.record.state == r.BACKED_OUT
    assert host.launcher.ran == ["inspect", "prepare", "recover"]
    assert PERSON["lease"] < host.passed < PERSON["lease"] + 30


def test_a_person_gives_a_committed_host_back_only_by_force(host: Host) -> None:
    """W-5."""
    host.prepare()
    host.ask("commit", event=asdict(EVENT), **PERSON)
    assert "only `release --force`" in host.ask("release", event_id="E-1", by="ann").message
    assert host.ask("release", event_id="E-1", by="ann", force=True).ok
    assert host.record.state == r.BACKED_OUT


def test_an_answer_that_cannot_be_given_loses_nothing(host: Host) -> None:
    os.rmdir(host.paths.answers)
    spool.file_request(host.paths.requests, "hold", by="ann", until=NOW + 60)
    host.start()
    host.settle()
    assert host.status.hold is not None
    assert os.listdir(host.paths.requests) == []


def test_records_and_their_lines_are_kept_for_their_time(host: Host) -> None:
    test_a_whole_life_from_the_first_sight_to_the_closed_record(host)
    host.passed += 89 * 86400.0
    host.start()
    assert host.record.state == r.CLOSED
    host.passed += 2 * 86400.0
    host.start()
    assert host.status.records == ()
    assert os.listdir(host.paths.journals) == []
    assert os.listdir(host.paths.copies) == []


def test_files_that_others_read_are_whole_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "status.json"
    files.write_json(str(path), {"a": 1})

    def fails(*_arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    replaced: Callable[..., None] = fails
    monkeypatch.setattr(os, "replace", replaced)
    with pytest.raises(OSError, match="No space"):
        files.write_json(str(path), {"a": 2})
    assert files.read_json(str(path)) == {"a": 1}
    assert os.listdir(tmp_path) == ["status.json"]
