# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent makes of what it sees, turn by turn; the rows are those of what-if.md."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Settings, Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Document, Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConnectionFailed, StatusError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import Reading, Vm
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import Policy, default_policy, parse_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import parse_windows
from azure_event_handlers import guard, memory, metrics, spool
from azure_event_handlers import records as r
from azure_event_handlers.configuration import PREPARE, PREPARE_AND_APPROVE, WATCH, Configuration, Handler
from azure_event_handlers.memory import LOST, SENDING, TAKEN, Memory, Sight
from azure_event_handlers.published import Status
from azure_event_handlers.records import Driver, Record, Step, Work
from azure_event_handlers.seen import Plan, Seen
from azure_event_handlers.store import Hold
from azure_event_handlers.terms import Term

NOW = 1_800_000_000.0
BOOT, VM_ID = "boot 1", "vm-1"
VM = Vm("web_0", VM_ID)
# Asked for by a user, so that everything begins at once.
EVENT = Event("E-1", "Reboot", "Scheduled", "User", "VirtualMachine", ("WEB_0",), NOW + 7200.0, "", 9)
SHARED = replace(EVENT, resources=("web_0", "web_1"))
FOREIGN = replace(EVENT, event_id="E-2", resources=("web_1",))
STARTED = replace(EVENT, event_status="Started", not_before=None)
FREEZE = replace(EVENT, event_type="Freeze", event_source="Platform", duration_seconds=None, not_before=NOW + 300.0)
SETTINGS = Settings(shortest_preparation=5.0)
HANDLERS = (Handler("10-a", "/h/10-a", limit=100.0), Handler("20-b", "/h/20-b", limit=50.0, required=False))
AGENT, PLAYBOOK = Driver("agent", "agent", Term(NOW + 120.0)), Driver("playbook", "run 1", Term(NOW + 120.0))
TIMES = Times(EVENT.not_before, 100.0, 60.0, 5.0)
READY = Step("10-a", "10-a", 100.0, True, prepare=Work(r.ENDED, r.DONE))
NOT_NOW = parse_policy([{"name": "later", "event_types": ["Reboot"], "action": "prepare_and_approve", "start": {"before": "30m"}}])


def configured(mode: str = PREPARE_AND_APPROVE, **more: Any) -> Configuration:
    return Configuration(mode=mode, **{"settings": SETTINGS, "handlers": HANDLERS, **more})


def rules(*values: Dict[str, Any]) -> Policy:
    return parse_policy([{"name": "rule", **value} for value in values])


def record(state: str = r.SEEN, event: Event = EVENT, **more: Any) -> Record:
    driven = state in (r.PREPARING, r.PREPARED, r.COMMITTED)
    standard: Dict[str, Any] = dict(
        event=event,
        occurrence=1,
        vm_id=VM_ID,
        state=state,
        times=TIMES,
        view=r.STARTED if event.started else r.SCHEDULED,
        driver=AGENT if driven else None,
        attempt=int(driven or state == r.BACKED_OUT),
        steps=(READY,) if driven else (),
        first_seen=NOW - 60.0,
        last_seen=NOW,
        changed_at=NOW,
        decision="prepare_and_approve",
    )
    return Record(**{**standard, **more})


def document(*events: Event, asked_at: float = 0.0) -> Reading:
    return Reading(Document(1, tuple(events), {}), NOW + asked_at, asked_at)


class Life:
    """One agent in mind. Time is that of the last turn; what the executor shows is given, and stays until it is given anew."""

    def __init__(self, configuration: Optional[Configuration] = None, *records: Record, **seen: Any) -> None:
        self.configuration = configured() if configuration is None else configuration
        self.records: Sequence[Record] = records
        self.memory = Memory(BOOT)
        self.seen: Dict[str, Any] = dict(vm=VM, synchronised=True, difference=0.0, boot=BOOT, **seen)
        self.hold: Optional[Hold] = None
        self.reading: Optional[Reading] = None
        self.plan = Plan(self.memory)

    def turn(self, at: float, *events: Event, fresh: bool = True, answered: bool = True, **more: Any) -> Plan:
        """At so many seconds, with a whole document of these events; or with the last one."""
        if fresh:
            self.reading = document(*events, asked_at=at)
        status = Status(NOW, "b", VM_ID, self.hold, records=tuple(self.records))
        values: Dict[str, Any] = {
            "now": NOW + at,
            "monotonic": at,
            "configuration": self.configuration,
            "reading": self.reading,
            "fresh": fresh,
            "answered": answered or fresh,
            "status": status,
            **self.seen,
            **more,
        }
        self.plan = guard.look(self.memory, Seen(**values))
        # Whatever is remembered survives the agent's own end.
        self.memory = memory.from_json(json.loads(json.dumps(memory.to_json(self.plan.memory), allow_nan=False)), boot=values["boot"])
        assert self.memory == self.plan.memory
        assert set(self.plan.refusals) <= set(metrics.REFUSALS)
        assert {problem.word for problem in self.plan.problems} <= set(metrics.PROBLEMS)
        return self.plan

    def sight(self, event_id: str = "e-1") -> Sight:
        return self.memory.sights[event_id]


def asked_for(plan: Plan, *what: str) -> List[Tuple[str, Any]]:
    """What is filed, without the notes unless they are asked for."""
    return [(wish.what, wish.values) for wish in plan.wishes if (wish.what in what if what else wish.what != spool.NOTE)]


def whats(plan: Plan) -> List[str]:
    return [what for what, _values in asked_for(plan)]


def notes(plan: Plan, name: str) -> List[Any]:
    return [values["detail"] for _what, values in asked_for(plan, spool.NOTE) if values["note"] == name]


def words(plan: Plan) -> List[str]:
    return [problem.word for problem in plan.problems]


def gone(plan: Plan) -> List[str]:
    return [event_id for _what, values in asked_for(plan, spool.OBSERVE) for event_id in values["gone"]]


def observed(plan: Plan) -> List[Tuple[str, bool, Optional[str]]]:
    return [
        (entry["event"]["event_id"], entry["named"], entry["decision"])
        for _what, values in asked_for(plan, spool.OBSERVE)
        for entry in values["events"]
    ]


def shown(state: str = r.SEEN, event: Event = EVENT, life: Optional[Life] = None, **more: Any) -> Record:
    """A record as the executor would show it after what the agent has told it."""
    decision = None if life is None else life.sight(event.event_id.lower()).decision
    told = {} if decision is None else {"decision": decision.effective_action, "reason": decision.reason}
    return record(state, event, **{**told, **more})


def driven(state: str, *, mode: str = PREPARE_AND_APPROVE, event: Event = EVENT, configuration: Any = None, **more: Any) -> Life:
    """An agent that has seen the event and asked for its preparation, with the record in this state by now."""
    life = Life(configured(mode) if configuration is None else configuration)
    life.turn(0.0, event)
    life.records = [shown(state, event, life, **more)]
    return life


# --- who, and what concerns whom -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("vm", [None, Vm("web_0"), Vm("web_0", None, "/r")])
def test_nothing_is_filed_before_it_is_known_which_vm_this_is(vm: Optional[Vm]) -> None:
    """C-28: right after creation the answer may be missing or incomplete."""
    plan = Life().turn(0.0, EVENT, vm=vm)
    assert (plan.wishes, plan.approval, plan.read_whole) == ((), None, True)


@pytest.mark.parametrize("mode", [WATCH, PREPARE, PREPARE_AND_APPROVE])
def test_an_event_of_other_vms_starts_nothing(mode: str) -> None:
    """C-20, mistake 5: web_1 and web_01 are not web_0."""
    life = Life(configured(mode))
    plan = life.turn(0.0, FOREIGN, replace(FOREIGN, event_id="E-3", resources=("web_01", "xweb_0")), replace(FOREIGN, event_id="E-4"))
    assert (plan.wishes, plan.problems, plan.approval, dict(life.memory.sights)) == ((), (), None, {})


def test_an_executor_that_does_not_know_the_vm_is_told() -> None:
    """W-29: without that it touches nothing; it has no network."""
    life = Life()
    plan = life.turn(0.0, status=None)
    assert asked_for(plan) == [("observe", {"vm_id": VM_ID, "events": [], "gone": []})]
    assert whats(life.turn(1.0, status=None)) == []
    assert whats(life.turn(5.0, status=None)) == ["observe"]
    assert whats(life.turn(6.0)) == []


def test_a_vm_that_was_made_anew_has_nothing_to_do_with_the_old_ones_events() -> None:
    """W-28: what was seen is forgotten, and the executor hears the new name."""
    life = driven(r.PREPARED)
    plan = life.turn(1.0, EVENT, vm=Vm("web_0", "vm-2"))
    assert life.memory.vm_id == "vm-2"
    (observe,) = [values for what, values in asked_for(plan) if what == "observe"]
    assert observe["vm_id"] == "vm-2"
    assert "commit" not in whats(plan)


def test_a_record_of_another_vm_is_not_driven() -> None:
    """W-29: a copied disk."""
    life = driven(r.PREPARED)
    life.records = [record(r.PREPARED, vm_id="vm-0")]
    assert "commit" not in whats(life.turn(1.0, EVENT))
    life.records = [record(r.PREPARED, replace(EVENT, event_id="E-9"), vm_id="vm-0")]
    life.turn(2.0, EVENT)
    assert "e-9" not in life.memory.sights


def test_the_id_of_a_vm_is_compared_without_case() -> None:
    """C-20, W-28: the same VM in other letters; what is told is spelled as the executor has it, who would take it for another one."""
    life = driven(r.PREPARED)
    plan = life.turn(1.0, EVENT, vm=Vm("web_0", VM_ID.upper()))
    assert whats(plan) == ["commit"]
    assert life.memory.vm_id == VM_ID
    life.records = [record(r.PREPARED, vm_id="Vm-1"), record(r.IMPACT, replace(STARTED, event_id="E-9"), vm_id="VM-1")]
    plan = life.turn(10.0, EVENT, vm=Vm("web_0", VM_ID.upper()))
    assert whats(plan) == ["commit"]
    assert "e-9" in life.memory.sights
    plan = life.turn(20.0, EVENT, vm=Vm("web_0", VM_ID.upper()))
    (observe,) = [values for what, values in asked_for(plan) if what == "observe"]
    assert (observe["vm_id"], observe["gone"]) == (VM_ID, ["E-9"])


def test_what_is_prepared_is_prepared_for_the_vm_as_the_executor_spells_it() -> None:
    life = Life()
    plan = life.turn(0.0, EVENT, vm=Vm("web_0", VM_ID.upper()))
    assert {what: values["vm_id"] for what, values in asked_for(plan)} == {"observe": VM_ID, "prepare": VM_ID}


def test_an_executor_that_shows_nothing_hears_the_id_as_it_was_known_before() -> None:
    life = Life()
    life.turn(0.0)
    plan = life.turn(1.0, vm=Vm("web_0", VM_ID.upper()), status=None)
    assert asked_for(plan) == [("observe", {"vm_id": VM_ID, "events": [], "gone": []})]


def test_another_boot_knows_nothing_of_the_clock_before() -> None:
    life = Life()
    life.turn(1000.0, EVENT)
    assert life.memory.sights
    life.turn(5.0, boot="boot 2")
    assert (life.memory.boot, dict(life.memory.sights), life.memory.good_at) == ("boot 2", {}, 5.0)


# --- what the executor is told -------------------------------------------------------------------------------------------


def test_a_new_event_is_told_with_the_decision_and_its_reason() -> None:
    plan = Life(configured(WATCH)).turn(0.0, EVENT)
    ((what, values),) = asked_for(plan)
    assert (what, values["vm_id"], values["gone"]) == ("observe", VM_ID, [])
    (entry,) = values["events"]
    assert (entry["named"], entry["decision"]) == (True, "prepare_and_approve")
    assert entry["reason"].startswith("due now: rule asked for by us, start now; last safe start ")
    assert entry["event"]["resources"] == ("WEB_0",)
    assert [values["note"] for _what, values in asked_for(plan, spool.NOTE)] == ["identity", "clock", "decision"]


def test_what_is_shown_is_not_told_again() -> None:
    life = Life(configured(WATCH))
    life.turn(0.0, EVENT)
    life.records = [shown(life=life)]
    for second in range(1, 100):
        assert life.turn(float(second), EVENT, fresh=second % 7 == 0).wishes == ()


def test_what_is_not_shown_is_told_again_ever_more_rarely_and_then_an_alarm() -> None:
    """The request may be lost with a boot, or the executor be dead."""
    life = Life(configured(WATCH))
    told = [second for second in range(200) if whats(life.turn(float(second), EVENT))]
    assert told == [0, 5, 15, 35, 75, 135, 195]
    assert "executor" in words(life.plan)
    assert "observe" in life.plan.problems[0].text


def test_one_alarm_for_an_executor_that_does_nothing_is_enough() -> None:
    life = Life(configured(WATCH))
    other = replace(EVENT, event_id="E-0")
    for second in range(100):
        life.turn(float(second), EVENT, other)
    assert words(life.plan) == ["executor"]


CHANGES: Sequence[Any] = [
    dict(not_before=NOW + 9000.0),
    dict(resources=("web_0", "web_1")),
    dict(event_type="Redeploy"),
    dict(event_status="Started", not_before=None),
    dict(event_status="Paused"),
    dict(description="new words"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_told(change: Any) -> None:
    """C-15: open, so it is assumed that it happens."""
    life = Life(configured(WATCH))
    life.turn(0.0, EVENT)
    life.records = [shown(life=life)]
    plan = life.turn(1.0, replace(EVENT, **change))
    assert [event_id for event_id, _named, _decision in observed(plan)] == ["E-1"]


OTHERS = replace(SHARED, resources=("web_1",))


def test_an_event_that_does_not_name_this_vm_any_more_is_told_so() -> None:
    """W-12: treated as gone for it, so by two documents; one alone may be wrong (C-21)."""
    life = Life(configured(WATCH))
    life.turn(0.0, SHARED)
    life.records = [shown(event=SHARED, life=life)]
    for second in (1.0, 5.0, 10.0):
        plan = life.turn(second, OTHERS)
        assert (whats(plan), plan.read_whole) == ([], True)
    plan = life.turn(11.0, OTHERS)
    assert (observed(plan), gone(plan)) == ([("E-1", False, None)], [])
    assert whats(life.turn(12.0, OTHERS)) == []
    assert observed(life.turn(16.0, OTHERS)) == [("E-1", False, None)]
    life.records = [record(r.RECOVERING, view=r.NOT_NAMED)]
    assert life.turn(17.0, OTHERS).wishes == ()
    assert dict(life.memory.sights) == {}


def test_an_event_that_did_not_name_this_vm_once_still_does() -> None:
    """C-21."""
    life = Life(configured(WATCH))
    life.turn(0.0, SHARED)
    life.records = [shown(event=SHARED, life=life)]
    life.turn(1.0, OTHERS)
    assert life.turn(8.0, SHARED).wishes == ()
    for second in (9.0, 18.0):
        assert whats(life.turn(second, OTHERS)) == []


def test_an_event_that_names_this_vm_again_is_told_so() -> None:
    life = Life(configured(WATCH))
    life.turn(0.0, SHARED)
    life.records = [shown(event=SHARED, life=life)]
    life.turn(1.0, OTHERS)
    life.turn(11.0, OTHERS)
    assert guard.state_of(life.memory, life.sight()) == "not_named"
    life.records = [record(r.RECOVERING, view=r.NOT_NAMED)]
    assert observed(life.turn(12.0, SHARED)) == [("E-1", True, "prepare_and_approve")]


def test_an_event_that_names_others_only_is_dropped_if_nobody_has_a_record_of_it() -> None:
    life = Life(configured(WATCH))
    life.turn(0.0, SHARED)
    life.turn(1.0, OTHERS)
    plan = life.turn(11.0, OTHERS)
    assert (whats(plan), dict(life.memory.sights)) == ([], {})


def test_a_gone_event_that_comes_back_for_others_is_none_of_ours() -> None:
    life = Life(configured(WATCH))
    life.turn(0.0, SHARED)
    life.records = [shown(event=SHARED, life=life)]
    life.turn(1.0)
    life.turn(11.0)
    assert observed(life.turn(12.0, OTHERS)) == []
    assert life.sight().gone


def test_while_an_event_is_missing_nothing_is_begun_and_nothing_is_lost() -> None:
    """W-32: the lease is renewed; neither prepare nor commit nor approval, and nothing is let go."""
    for state in (r.SEEN, r.PREPARING, r.PREPARED, r.COMMITTED):
        life = driven(state)
        plan = life.turn(115.0)
        assert plan.approval is None
        assert whats(plan) == (["renew"] if state in (r.PREPARING, r.PREPARED) else [])


def test_gone_takes_two_whole_documents_ten_seconds_apart() -> None:
    """W-32, C-15: one answer may be empty for a moment."""
    life = Life(configured(WATCH))
    life.turn(0.0, EVENT)
    life.records = [shown(life=life)]
    plan = life.turn(1.0)
    assert (gone(plan), plan.read_whole) == ([], True)
    assert gone(life.turn(2.0, fresh=False)) == []
    assert gone(life.turn(10.9)) == []
    assert guard.state_of(life.memory, life.sight()) == "missing"
    assert gone(life.turn(20.0, fresh=False)) == []
    assert gone(life.turn(21.0)) == ["E-1"]
    assert guard.state_of(life.memory, life.sight()) == "gone"
    assert gone(life.turn(22.0)) == []
    assert gone(life.turn(26.0)) == ["E-1"]
    life.records = [record(r.CLOSED, view=r.GONE)]
    plan = life.turn(27.0)
    assert (plan.wishes, plan.read_whole, dict(life.memory.sights)) == ((), False, {})


def test_while_nobody_can_read_what_the_executor_shows_gone_is_told_until_it_is_shown() -> None:
    """Where there is no state at all there is no record; the executor may have one all the same, of a host to be recovered."""
    life = driven(r.PREPARED)
    life.turn(1.0, status=None)
    told = [second for second in range(2, 200) if gone(life.turn(float(second), status=None))]
    assert told == [11, 16, 26, 46, 86, 146]
    assert "executor" in words(life.plan)
    life.records = [record(r.CLOSED, view=r.GONE)]
    plan = life.turn(200.0)
    assert (gone(plan), dict(life.memory.sights)) == ([], {})


def test_while_nobody_can_read_what_the_executor_shows_it_hears_that_an_event_does_not_name_this_vm_any_more() -> None:
    """W-12."""
    life = Life(configured(WATCH))
    life.turn(0.0, SHARED)
    life.turn(1.0, OTHERS, status=None)
    told = [second for second in range(2, 50) if observed(life.turn(float(second), OTHERS, status=None)) == [("E-1", False, None)]]
    assert told == [11, 16, 26, 46]


def test_an_event_that_was_missing_in_one_answer_is_not_gone_and_begins_anew() -> None:
    """W-32."""
    life = Life(configured(WATCH))
    life.turn(0.0, EVENT)
    life.records = [shown(life=life)]
    life.turn(1.0)
    assert life.turn(8.0, EVENT).wishes == ()
    assert life.turn(9.0).wishes == ()
    assert gone(life.turn(12.0)) == []
    assert gone(life.turn(19.0)) == ["E-1"]


def test_a_record_whose_event_is_in_no_document_after_a_boot_is_gone_by_the_same_rule() -> None:
    """W-3: what was prepared before the boot is recovered after it."""
    life = Life(configured(WATCH), record(r.IMPACT, STARTED, last_seen=NOW - 100.0))
    assert gone(life.turn(0.0)) == []
    assert gone(life.turn(9.0)) == []
    assert gone(life.turn(10.0)) == ["E-1"]


def test_before_the_first_document_nothing_is_told_of_events() -> None:
    life = Life(configured(WATCH), record(last_seen=NOW - 9000.0))
    plan = life.turn(0.0, fresh=False, answered=False)
    assert (plan.wishes, list(life.memory.sights)) == ((), ["e-1"])


@pytest.mark.parametrize("state", [r.CLOSED, r.FOREIGN])
def test_an_id_that_is_listed_again_after_it_was_gone_is_told_anew(state: str) -> None:
    """W-15: the executor makes a second occurrence of it."""
    life = Life(configured(WATCH), record(state, view=r.GONE))
    assert observed(life.turn(0.0, EVENT)) == [("E-1", True, "prepare_and_approve")]


def test_an_id_that_is_listed_again_before_the_executor_has_heard_that_it_was_gone_is_another_one() -> None:
    """W-15: nothing of the first one's decision or posts counts for it."""
    life = driven(r.COMMITTED)
    life.memory = guard.sending(life.memory, EVENT, monotonic=0.0)
    life.turn(1.0)
    life.turn(11.0)
    assert life.sight().gone
    life.turn(12.0, EVENT)
    assert (life.sight().gone, life.sight().posts, life.sight().first_seen) == (False, 0, NOW + 12.0)


def test_an_event_that_stays_is_confirmed_each_hour() -> None:
    """W-33: so that the record says after a boot how long nobody has looked."""
    life = Life(configured(WATCH))
    far = replace(EVENT, not_before=NOW + 9e5)
    life.turn(0.0, far)
    life.records = [shown(event=far, life=life)]
    assert whats(life.turn(3599.0, far)) == []
    assert whats(life.turn(3600.0, far, fresh=False, answered=False)) == []
    assert whats(life.turn(3601.0, far, fresh=False)) == ["observe"]


def test_an_event_that_is_still_there_after_a_boot_is_told_of_anew() -> None:
    """W-13: so that the record can tell a boot that the event made from another one, after which the event was still to come."""
    for last_seen, told in ((NOW - 30.0, True), (NOW, False)):
        life = Life(configured(WATCH), record(r.PREPARED, driver=PLAYBOOK, last_seen=last_seen))
        assert ("observe" in whats(life.turn(0.0, EVENT))) is told


def test_a_started_event_that_is_shown_as_such_needs_no_more_words() -> None:
    """C-16: the record keeps the NotBefore that it had, and an event never goes back (C-15)."""
    life = Life(configured(WATCH), record(r.IMPACT, replace(STARTED, not_before=EVENT.not_before), view=r.STARTED))
    assert whats(life.turn(0.0, STARTED)) == []
    assert whats(life.turn(1.0, EVENT)) == []


# --- what is decided -----------------------------------------------------------------------------------------------------

OF_TYPES = [
    ("Freeze", "Platform", 5, "ignore"),
    ("Freeze", "Platform", None, "prepare_and_approve"),
    ("Freeze", "Platform", 60, "prepare_and_approve"),
    ("Reboot", "Platform", 9, "prepare_and_approve"),
    ("Reboot", "User", 9, "prepare_and_approve"),
    ("Redeploy", "Platform", 9, "prepare_and_approve"),
    ("Preempt", "Platform", 9, "prepare"),
    ("Terminate", "Platform", 9, "prepare"),
    ("Upgrade", "Platform", 9, "refuse"),
]


@pytest.mark.parametrize("mode", [WATCH, PREPARE, PREPARE_AND_APPROVE])
@pytest.mark.parametrize(("kind", "source", "duration", "word"), OF_TYPES)
def test_each_type_is_decided_by_the_policy_and_prepared_when_it_is_due(
    mode: str, kind: str, source: str, duration: Optional[int], word: str
) -> None:
    """C-14: with the default rules, and what the mode leaves of it."""
    event = replace(EVENT, event_type=kind, event_source=source, duration_seconds=duration, not_before=NOW + 900.0)
    life = Life(configured(mode, scope_size=3, handlers=()))
    expected = "prepare" if word == "prepare_and_approve" and mode == PREPARE else word
    assert observed(life.turn(0.0, event)) == [("E-1", True, expected)]
    # By the last safe start of the latest one, with an approval or without.
    life.records = [shown(event=event, life=life)]
    asked = set(whats(life.plan)) | {what for second in range(1, 600) for what in whats(life.turn(float(second), event))}
    prepares = mode != WATCH and word in ("prepare", "prepare_and_approve")
    assert ("prepare" in asked) == prepares
    assert not asked & {"commit", "abort"}
    assert ("refused" in words(life.plan)) == (word == "refuse")


def test_an_event_that_is_not_due_is_left_in_service() -> None:
    """Mistake 6: nobody is drained seven days before."""
    life = Life(configured(policy=NOT_NOW))
    assert whats(life.turn(0.0, EVENT)) == ["observe"]
    life.records = [shown(life=life, last_seen=NOW + 5000.0)]
    due = 7200.0 - 1800.0
    assert whats(life.turn(due - 1.0, EVENT)) == []
    assert whats(life.turn(due, EVENT)) == ["prepare"]


def test_the_executor_is_given_the_times_of_the_arithmetic() -> None:
    life = Life()
    ((_observe, _values), (what, values)) = asked_for(life.turn(0.0, EVENT))
    assert (what, values["driver"], values["run"], values["vm_id"]) == ("prepare", "agent", "agent", VM_ID)
    assert (values["lease"], values["within"], values["event"]["event_id"]) == (120.0, 100.0, "E-1")
    # The sum of the required handlers' limits, the reserve for the approval, and a clock that is kept right.
    assert values["times"] == {"not_before": EVENT.not_before, "prepare_budget": 100.0, "approve_reserve": 60.0, "clock_error": 5.0}


def test_a_decision_is_made_once() -> None:
    life = Life(configured(policy=NOT_NOW))
    life.turn(0.0, EVENT)
    first = life.sight().decision
    life.records = [shown(life=life)]
    life.turn(50.0, EVENT, synchronised=False, difference=60.0)
    assert life.sight().decision == first
    life.configuration = configured()
    life.turn(51.0, EVENT)
    assert life.sight().decision != first


def test_a_start_that_is_a_few_seconds_late_is_not_late() -> None:
    """A turn a second never hits the last safe start itself; fifteen seconds later it is another matter."""
    for second, word in ((14.0, "prepare_and_approve"), (16.0, "prepare")):
        life = Life(configured(policy=rules({"action": "prepare_and_approve"})))
        life.turn(0.0, EVENT)
        life.records = [shown(life=life)]
        plan = life.turn(7200.0 - 165.0 + second, EVENT)
        decision = life.sight().decision
        assert decision is not None
        assert (decision.effective_action, whats(plan)[-1]) == (word, "prepare")


def test_an_event_that_comes_too_late_is_prepared_for_in_what_is_left() -> None:
    """W-26: a spot VM has thirty seconds."""
    life = Life()
    plan = life.turn(0.0, replace(EVENT, event_type="Preempt", not_before=NOW + 30.0))
    prepare = dict(asked_for(plan))["prepare"]
    assert prepare["within"] == 25.0
    life = Life()
    assert whats(life.turn(0.0, replace(EVENT, event_type="Preempt", not_before=NOW + 9.0))) == ["observe"]
    assert words(life.plan) == ["refused"]


def test_time_that_has_gone_by_is_not_given_to_the_handlers() -> None:
    life = Life()
    life.turn(0.0, EVENT, status=None)
    assert life.sight().decision is not None
    plan = life.turn(7200.0 - 100.0, EVENT)
    assert dict(asked_for(plan))["prepare"]["within"] == 95.0


def test_no_preparation_is_begun_that_cannot_end_in_time() -> None:
    """The few seconds by which a start may be late can be all that there are."""
    life = Life(configured(PREPARE, policy=rules({"action": "prepare"}), handlers=(Handler("10-a", "/h/10-a", limit=6.0),)))
    life.turn(0.0, EVENT)
    life.records = [shown(life=life, last_seen=NOW + 7000.0)]
    assert whats(life.turn(7191.0, EVENT, status=None)) == ["observe"]
    assert dict(asked_for(life.turn(7189.5, EVENT)))["prepare"]["within"] == 5.5
    assert whats(life.turn(7191.0, EVENT)) == []


def test_an_event_without_a_time_is_prepared_for_at_once() -> None:
    """C-16: blank while it is still Scheduled."""
    assert whats(Life().turn(0.0, replace(EVENT, not_before=None))) == ["observe", "prepare"]


def test_a_slower_agent_is_given_more_time_to_hit_the_last_safe_start() -> None:
    life = Life(configured(poll_interval=15.0, policy=rules({"action": "prepare_and_approve"})))
    life.turn(0.0, EVENT)
    life.records = [shown(life=life)]
    life.turn(7200.0 - 165.0 + 44.0, EVENT)
    decision = life.sight().decision
    assert decision is not None
    assert decision.effective_action == "prepare_and_approve"


@pytest.mark.parametrize("status", ["Started", "Paused"])
def test_what_has_started_or_is_unknown_is_only_told(status: str) -> None:
    """W-24, W-25, C-14."""
    not_before = None if status == "Started" else EVENT.not_before
    plan = Life().turn(0.0, replace(EVENT, event_status=status, not_before=not_before))
    assert (whats(plan), plan.starts) == (["observe"], ())


# --- getting ready -------------------------------------------------------------------------------------------------------


def test_a_preparation_begins_on_a_whole_document_only() -> None:
    """Host.md: an unconditional question before every act."""
    life = Life(configured(policy=NOT_NOW))
    life.turn(0.0, EVENT)
    life.records = [shown(life=life, last_seen=NOW + 5000.0)]
    plan = life.turn(5400.0, EVENT, fresh=False)
    assert (whats(plan), plan.read_whole) == ([], True)
    plan = life.turn(5401.0, EVENT)
    assert (whats(plan), plan.read_whole) == (["prepare"], False)


def test_a_preparation_that_is_not_shown_is_asked_for_again() -> None:
    life = driven(r.SEEN)
    assert [second for second in range(1, 20) if "prepare" in whats(life.turn(float(second), EVENT))] == [1, 6, 16]


@pytest.mark.parametrize("mode", [WATCH, PREPARE, PREPARE_AND_APPROVE])
@pytest.mark.parametrize("state", [r.PREPARING, r.PREPARED, r.COMMITTED])
def test_who_has_the_host_in_hand_is_not_disturbed(mode: str, state: str) -> None:
    """W-37: one lease, one driver."""
    life = driven(state, mode=mode, driver=PLAYBOOK)
    for second in range(1, 300):
        plan = life.turn(float(second), EVENT)
        assert (whats(plan), plan.approval) == ([], None)


@pytest.mark.parametrize("mode", [WATCH, PREPARE, PREPARE_AND_APPROVE])
@pytest.mark.parametrize("state", [r.STAYING, r.IMPACT, r.BACKING_OUT, r.RECOVERING])
def test_in_these_states_there_is_nothing_to_drive(mode: str, state: str) -> None:
    life = driven(state, mode=mode)
    assert whats(life.turn(1.0, EVENT)) == []


def test_an_agent_that_only_watches_drives_nothing_even_of_its_own() -> None:
    """Its mode was changed; the lease ends, and the executor gives back or stays."""
    for state in (r.SEEN, r.PREPARING, r.PREPARED, r.COMMITTED):
        life = driven(state, mode=WATCH)
        plan = life.turn(119.0, EVENT)
        assert (whats(plan), plan.approval) == ([], None)


@pytest.mark.parametrize("state", [r.PREPARING, r.PREPARED])
def test_the_lease_is_renewed_before_half_of_it_is_over(state: str) -> None:
    life = driven(state, mode=PREPARE)
    assert whats(life.turn(59.0, EVENT)) == []
    ((what, values),) = asked_for(life.turn(60.0, EVENT, fresh=False, answered=False))
    assert (what, values["event_id"], values["lease"], values["driver"], values["run"]) == ("renew", "E-1", 120.0, "agent", "agent")
    assert whats(life.turn(61.0, EVENT)) == []
    assert whats(life.turn(65.0, EVENT)) == ["renew"]
    life.records = [replace(life.records[0], driver=replace(AGENT, lease=Term(NOW + 185.0)))]
    assert whats(life.turn(66.0, EVENT)) == []


def test_a_short_lease_is_renewed_in_time() -> None:
    life = driven(r.PREPARED, configuration=configured(PREPARE, lease=5.0), driver=replace(AGENT, lease=Term(NOW + 5.0)))
    assert [second for second in range(1, 6) if whats(life.turn(float(second), EVENT))] == [3, 5]


def test_started_while_it_prepares_is_told_and_nothing_more() -> None:
    """W-17: no commit, no post; the executor stops what runs."""
    life = driven(r.PREPARING)
    plan = life.turn(1.0, STARTED)
    assert (whats(plan), plan.approval) == (["observe"], None)
    life.records = [shown(r.PREPARED, life=life)]
    plan = life.turn(2.0, STARTED)
    assert (plan.approval, "commit" in whats(plan)) == (None, False)


def test_not_before_that_passes_while_it_prepares_changes_nothing() -> None:
    """W-16: go on; more likely than not it starts first."""
    life = driven(r.PREPARING, driver=replace(AGENT, lease=Term(NOW + 9000.0)))
    plan = life.turn(7300.0, EVENT)
    assert whats(plan) == ["observe"] or whats(plan) == []
    assert "abort" not in whats(plan)


@pytest.mark.parametrize("state", [r.PREPARING, r.PREPARED])
def test_a_host_is_let_go_when_its_event_has_moved_far_away(state: str) -> None:
    life = driven(state, configuration=configured(policy=NOT_NOW), event=replace(EVENT, not_before=NOW + 1200.0))
    moved = replace(EVENT, not_before=NOW + 9e5)
    ((_observe, _values), (what, values)) = asked_for(life.turn(1.0, moved))
    assert (what, values) == ("abort", {"driver": "agent", "run": "agent", "event_id": "E-1"})


def test_a_host_is_kept_ready_when_its_event_has_moved_a_little() -> None:
    """There is no time to serve before it is taken out again; and nothing is approved before its time."""
    policy = rules({"action": "prepare_and_approve", "start": {"before": "200s"}})
    life = driven(r.PREPARED, configuration=configured(policy=policy), event=replace(EVENT, not_before=NOW + 180.0))
    moved = replace(EVENT, not_before=NOW + 300.0)
    assert whats(life.turn(1.0, moved)) == ["observe"]
    life.records = [shown(r.PREPARED, moved, life)]
    assert whats(life.turn(2.0, moved)) == []
    assert whats(life.turn(101.0, moved)) == ["renew", "commit"]


def test_a_host_that_is_half_ready_is_not_let_go_because_it_has_become_late() -> None:
    """NotBefore has moved nearer: it stays in our hands, and is not approved."""
    life = driven(r.PREPARING)
    for second, not_before in ((1.0, NOW + 60.0), (2.0, NOW + 4.0)):
        plan = life.turn(second, replace(EVENT, not_before=not_before))
        assert not set(whats(plan)) & {"abort", "commit"}


def test_a_host_is_let_go_when_the_policy_wants_nothing_more() -> None:
    life = driven(r.PREPARED)
    life.configuration = configured(policy=rules({"action": "ignore"}))
    assert whats(life.turn(1.0, EVENT)) == ["abort"]


def backed_out(**more: Any) -> Life:
    return driven(r.BACKED_OUT, **more)


def test_a_second_try_comes_after_a_while_and_no_third() -> None:
    """W-1: fewer than two attempts, and time enough."""
    life = backed_out(changed_at=NOW)
    assert [second for second in range(298, 303) if whats(life.turn(float(second), EVENT))] == [300]
    life = backed_out(changed_at=NOW, attempt=2)
    assert whats(life.turn(400.0, EVENT)) == []
    assert words(life.plan) == ["not_ready"]


def test_a_second_try_does_not_miss_the_last_safe_start() -> None:
    life = backed_out(event=replace(EVENT, not_before=NOW + 300.0), changed_at=NOW)
    assert whats(life.turn(134.0, replace(EVENT, not_before=NOW + 300.0))) == []
    assert whats(life.turn(136.0, replace(EVENT, not_before=NOW + 300.0))) == ["prepare"]
    life = backed_out(event=replace(EVENT, not_before=NOW + 300.0), changed_at=NOW + 100.0)
    assert whats(life.turn(200.0, replace(EVENT, not_before=NOW + 300.0))) == []


def test_without_a_not_before_the_second_try_comes_after_a_while() -> None:
    blank = replace(EVENT, not_before=None)
    life = backed_out(event=blank, changed_at=NOW)
    assert [second for second in range(298, 303) if whats(life.turn(float(second), blank))] == [300]


@pytest.mark.parametrize("state", [r.SEEN, r.BACKED_OUT])
def test_a_held_host_is_not_prepared(state: str) -> None:
    """W-55: held by whom and until when is said, and said once in the evidence."""
    life = driven(state, changed_at=NOW - 1000.0)
    life.hold = Hold("ann", NOW + 500.0, "disks")
    plan = life.turn(6.0, EVENT)
    assert (whats(plan), words(plan), plan.refusals) == ([], ["held"], ("held",))
    assert plan.problems[0].text == ("Event E-1 (Reboot) is not prepared for: this host is held by ann until 2027-01-15T08:08:20Z (disks).")
    assert len(notes(plan, "gate")) == 1
    plan = life.turn(7.0, EVENT)
    assert (words(plan), plan.refusals, notes(plan, "gate")) == (["held"], (), [])
    assert "prepare" in whats(life.turn(500.0, EVENT))


def test_a_hold_that_nobody_can_read_holds() -> None:
    life = driven(r.SEEN)
    life.hold = Hold("somebody", NOW, "it cannot be read")
    assert whats(life.turn(6.0, EVENT)) == []


def test_a_host_whose_executor_has_never_said_anything_is_not_driven() -> None:
    assert whats(Life().turn(0.0, EVENT, status=None)) == ["observe"]


# --- long pauses of many -------------------------------------------------------------------------------------------------


def freeze(event_id: str, *names: str, **more: Any) -> Event:
    return replace(FREEZE, event_id=event_id, resources=names, **more)


OURS = freeze("F-0", "web_0", not_before=NOW + 160.0)


@pytest.mark.parametrize(
    ("size", "others", "drained"),
    [
        (None, [], True),
        (None, [freeze("F-1", "web_1", not_before=NOW + 160.0)], False),
        (None, [freeze("F-1", "web_1", not_before=NOW + 86400.0)], True),
        (4, [freeze("F-1", "web_1", not_before=NOW + 160.0)], True),
        (3, [freeze("F-1", "web_1", not_before=NOW + 160.0)], False),
        (4, [freeze("F-1", "web_1", "web_2", not_before=NOW + 100.0)], False),
        (4, [freeze("F-1", "web_1", "WEB_0", not_before=NOW + 160.0)], True),
        (4, [freeze("F-1", "web_1", "web_2", not_before=None, event_status="Started")], False),
        (4, [freeze("F-1", "web_1", "web_2", duration_seconds=5)], True),
        (4, [replace(freeze("F-1", "web_1", "web_2"), event_type="Reboot")], True),
        (4, [freeze("F-1", "web_1", "web_2", not_before=NOW + 8.0)], False),
        (1, [], False),
    ],
)
@pytest.mark.parametrize("duration", [None, 240])
def test_a_host_is_not_drained_for_a_pause_that_most_of_its_scope_shares(
    size: Optional[int], others: List[Event], drained: bool, duration: Optional[int]
) -> None:
    """W-57: at most half of the scope, by due events; without its size, nobody else."""
    life = Life(configured(scope_size=size))
    ours = replace(OURS, duration_seconds=duration)
    plan = life.turn(0.0, ours, *others)
    assert ("prepare" in whats(plan), words(plan)) == (drained, [] if drained else ["freeze"])
    if not drained:
        assert plan.refusals == ("scope",)
        life.records = [shown(event=ours, life=life)]
        assert life.turn(1.0, ours, *others).refusals == ()


def test_the_reason_not_to_drain_names_the_figures() -> None:
    """W-57: an alarm in words."""
    life = Life(configured(scope_size=3))
    plan = life.turn(0.0, OURS, freeze("F-1", "web_1", not_before=NOW + 160.0))
    assert plan.problems[0].text == (
        "Event F-0 (Freeze) is not prepared for: 2 VMs are about to be paused (the scope has 3), and if all were drained for that, too few"
        " would serve."
    )
    life = Life(configured())
    assert "(scope_size is not configured)" in life.turn(0.0, OURS, freeze("F-1", "web_1", not_before=NOW + 160.0)).problems[0].text


# --- commit and approval -------------------------------------------------------------------------------------------------


def test_a_host_that_is_ready_is_committed_and_then_approved() -> None:
    life = driven(r.PREPARED)
    plan = life.turn(1.0, EVENT, fresh=False)
    assert (whats(plan), plan.read_whole) == ([], True)
    plan = life.turn(2.0, EVENT)
    ((what, values),) = asked_for(plan)
    assert (what, values["event"]["event_id"], values["lease"], values["driver"]) == ("commit", "E-1", 120.0, "agent")
    life.records = [replace(life.records[0], committing=True)]
    assert (whats(life.turn(3.0, EVENT)), life.plan.approval) == ([], None)
    life.records = [shown(r.COMMITTED, life=life)]
    plan = life.turn(4.0, EVENT, fresh=False)
    assert (plan.approval, plan.read_whole) == (None, True)
    assert life.turn(5.0, EVENT).approval == EVENT


@pytest.mark.parametrize("mode", [WATCH, PREPARE])
@pytest.mark.parametrize("state", [r.PREPARED, r.COMMITTED])
def test_only_one_mode_approves(mode: str, state: str) -> None:
    life = driven(state, mode=mode)
    plan = life.turn(1.0, EVENT)
    assert (plan.approval, "commit" in whats(plan)) == (None, False)


@pytest.mark.parametrize("approve", [True, False])
def test_a_shared_event_is_prepared_for_and_never_approved(approve: bool) -> None:
    """Mistake 5, C-23: an approval holds for the other VM as well, and nobody here knows whether that is ready."""
    life = Life(configured(settings=replace(SETTINGS, approve=approve)))
    ((_what, values), (prepare, _values)) = asked_for(life.turn(0.0, SHARED))
    assert (values["events"][0]["decision"], prepare) == ("prepare", "prepare")
    assert values["events"][0]["reason"].endswith("; it is shared, and only a playbook approves for other VMs") is approve
    for state in (r.PREPARED, r.COMMITTED):
        life.records = [shown(state, SHARED, life, reason="all done")]
        for second in range(1, 50):
            plan = life.turn(float(second), SHARED)
            assert (plan.approval, "commit" in whats(plan)) == (None, False)


def test_an_event_that_becomes_shared_after_the_commit_is_let_go() -> None:
    """W-10, W-11."""
    life = driven(r.COMMITTED)
    plan = life.turn(1.0, SHARED)
    assert (plan.approval, whats(plan), plan.refusals) == (None, ["observe", "abort"], ("shared",))
    assert notes(plan, "gate") == [
        {"result": "refused", "word": "shared", "reason": "it is shared, and only a playbook approves for other VMs"}
    ]


def test_what_has_been_let_go_is_not_posted_any_more() -> None:
    """The executor may be slow to hear it; what it has been told stays true."""
    life = driven(r.COMMITTED)
    life.turn(1.0, SHARED)
    life.records = [shown(r.COMMITTED, life=life)]
    for second in range(2, 60):
        plan = life.turn(float(second), EVENT)
        assert plan.approval is None
    life.records = [shown(r.BACKED_OUT, life=life, changed_at=NOW)]
    assert whats(life.turn(400.0, EVENT)) == ["prepare"]
    life.records = [shown(r.COMMITTED, life=life, changed_at=NOW + 400.0)]
    assert life.turn(401.0, EVENT).approval == EVENT


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        (dict(difference=301.0), "clock"),
        (dict(difference=-3600.0), "clock"),
        (dict(difference=None, synchronised=False), "clock"),
    ],
)
def test_a_clock_that_is_wrong_approves_nothing(seen: Any, word: str) -> None:
    """W-34: beyond five minutes, or unknown."""
    life = driven(r.PREPARED)
    plan = life.turn(1.0, EVENT, **seen)
    assert (whats(plan), words(plan), plan.refusals) == ([], ["gate"], (word,))
    life = driven(r.COMMITTED)
    plan = life.turn(1.0, EVENT, **seen)
    assert (plan.approval, whats(plan), plan.refusals) == (None, [], (word,))
    assert life.turn(2.0, EVENT).approval == EVENT


@pytest.mark.parametrize(
    ("difference", "synchronised", "error"),
    [
        (0.0, True, 5.0),
        (0.0, False, 5.0),
        (6.0, True, 11.0),
        (3600.0, True, 3605.0),
        (-200.0, False, 205.0),
        (None, True, 5.0),
        (None, False, 30.0),
    ],
)
def test_the_error_of_the_clock_grows_with_the_difference(difference: Optional[float], synchronised: bool, error: float) -> None:
    """W-34: the service's own time is the better witness, whatever the host says of its clock."""
    life = Life()
    life.turn(0.0, EVENT, difference=difference, synchronised=synchronised)
    decision = life.sight().decision
    assert decision is not None
    assert decision.times.clock_error == error


def test_a_clock_that_nobody_can_compare_but_somebody_keeps_right_will_do() -> None:
    life = driven(r.COMMITTED)
    assert life.turn(1.0, EVENT, difference=None, synchronised=True).approval == EVENT


def test_a_refusal_that_lasts_lets_the_host_go() -> None:
    """Surely nothing was posted."""
    life = driven(r.COMMITTED)
    life.hold = Hold("ann", NOW + 9000.0)
    asked = {second: whats(life.turn(float(second), EVENT)) for second in range(1, 40)}
    assert [second for second, what in asked.items() if "abort" in what] == [31, 36]
    assert len(life.plan.refusals) == 0


def test_a_document_that_is_too_old_is_nothing_to_act_on() -> None:
    """C-23: two seconds."""
    for state in (r.PREPARED, r.COMMITTED):
        life = driven(state)
        life.reading = document(EVENT, asked_at=0.5)
        plan = life.turn(3.0, fresh=False)
        slow = Seen(
            now=NOW + 3.0,
            monotonic=3.0,
            boot=BOOT,
            configuration=life.configuration,
            reading=life.reading,
            fresh=True,
            answered=True,
            vm=VM,
            status=Status(NOW, "b", VM_ID, None, records=tuple(life.records)),
            difference=0.0,
            synchronised=True,
        )
        plan = guard.look(life.memory, slow)
        assert (plan.approval, whats(plan), plan.refusals) == (None, [], ("stale",))


def test_an_approval_does_not_leave_its_window() -> None:
    windows = parse_windows([{"from": "08:00", "to": "08:10", "timezone": "UTC"}])
    policy = rules({"action": "prepare_and_approve", "start": "window"})
    configuration = configured(policy=policy, settings=replace(SETTINGS, windows=windows))
    life = driven(r.COMMITTED, configuration=configuration)
    assert life.sight().decision is not None
    assert life.turn(1.0, EVENT).approval == EVENT
    plan = life.turn(700.0, EVENT)
    assert (plan.approval, "abort" in whats(plan), plan.refusals) == (None, True, ("policy",))


@pytest.mark.parametrize(
    ("kind", "rule", "approved"),
    [
        ("Terminate", {"event_types": ["Terminate"], "approve_deletion": True}, True),
        ("preempt", {"event_types": ["Preempt"], "approve_deletion": True}, True),
        ("Upgrade", {"event_types": ["unknown"]}, True),
        ("Reboot", {"event_types": ["Reboot"]}, True),
    ],
)
def test_a_dangerous_type_is_approved_only_by_a_rule_that_names_it(kind: str, rule: Any, approved: bool) -> None:
    """C-14: the rule has said both, that it is meant and that it may."""
    event = replace(EVENT, event_type=kind)
    policy = rules({"action": "prepare_and_approve", "start": "now", **rule})
    life = driven(r.COMMITTED, configuration=configured(policy=policy), event=event)
    assert (life.turn(1.0, event).approval == event) is approved


def test_the_gate_refuses_a_dangerous_type_that_the_rule_has_not_allowed() -> None:
    """The parser of the rules refuses such a rule; the gate does not rely on that."""
    policy = rules({"action": "prepare_and_approve", "start": "now", "event_types": ["Terminate"], "approve_deletion": True})
    careless = Policy(tuple(replace(rule, approve_deletion=False) for rule in policy.rules))
    event = replace(EVENT, event_type="Terminate")
    life = driven(r.COMMITTED, configuration=configured(policy=careless), event=event)
    plan = life.turn(1.0, event)
    assert (plan.approval, plan.refusals, "abort" in whats(plan)) == (None, ("type",), True)


def test_a_commit_that_was_refused_is_asked_for_again_and_said_once() -> None:
    """W-41: a person has put it back by hand; the host is not approved, and looked at again."""
    life = driven(r.PREPARED, commit_refused="10-a says that it is in service", driver=replace(AGENT, lease=Term(NOW + 9000.0)))
    plan = life.turn(1.0, EVENT)
    assert (whats(plan), words(plan), plan.refusals) == (["commit"], ["commit"], ("commit_refused",))
    assert plan.problems[0].text == "Event E-1 (Reboot) is not approved: 10-a says that it is in service."
    again = [second for second in range(2, 100) if "commit" in whats(life.turn(float(second), EVENT))]
    assert again == [6, 16, 36, 76]
    assert (life.plan.refusals, words(life.plan)) == ((), ["commit"])


def test_a_rule_that_only_approves_needs_no_work_on_the_host() -> None:
    """Policy.md: approve means no work here; the gate is the same."""
    configuration = configured(policy=rules({"action": "approve", "start": "now"}))
    life = Life(configuration)
    plan = life.turn(0.0, EVENT)
    assert (whats(plan), plan.approval) == (["observe"], None)
    life.records = [shown(life=life)]
    life.hold = Hold("ann", NOW + 1.5)
    plan = life.turn(1.0, EVENT)
    assert (whats(plan), plan.approval, plan.refusals) == ([], None, ("held",))
    assert life.turn(2.0, EVENT).approval == EVENT
    life = Life(configuration)
    life.turn(0.0, SHARED)
    life.records = [shown(event=SHARED, life=life)]
    assert life.turn(1.0, SHARED).approval is None


def test_two_events_are_posted_one_after_the_other() -> None:
    second = replace(EVENT, event_id="E-0")
    life = driven(r.COMMITTED)
    life.turn(0.0, EVENT, second)
    life.records = [shown(r.COMMITTED, EVENT, life), shown(r.COMMITTED, second, life)]
    assert life.turn(1.0, EVENT, second).approval == second


# --- after a post --------------------------------------------------------------------------------------------------------

UNCLEAR = ConnectionFailed("the connection was reset.")
FORBIDDEN = StatusError("the service answered 403.", permanent=True, ineffective=True)
BUSY = StatusError("the service answered 429.", ineffective=True, retry_after=7.0)


def posted(life: Life, error: Any, at: float) -> Any:
    """As the agent does it."""
    life.memory = guard.sending(life.memory, EVENT, monotonic=at)
    life.memory, note = guard.sent(life.memory, EVENT, error, monotonic=at)
    assert note.values["note"] == "post"
    return note.values["detail"]


def test_a_post_that_was_taken_is_followed_and_not_repeated() -> None:
    """C-24."""
    life = driven(r.COMMITTED)
    assert posted(life, None, 1.0) == {"result": "taken", "posted": True, "reason": None}
    for second in range(2, 3602):
        plan = life.turn(float(second), EVENT, fresh=False)
        assert (plan.approval, [what for what in whats(plan) if what != "observe"]) == (None, [])
        assert words(plan) == []


def test_an_approved_event_that_does_not_start_is_an_alarm_after_an_hour() -> None:
    """W-18: it stays prepared."""
    life = driven(r.COMMITTED)
    posted(life, None, 1.0)
    plan = life.turn(3602.0, EVENT)
    assert (plan.approval, words(plan)) == (None, ["post"])
    assert plan.problems[0].text == "Event E-1 (Reboot) was approved 1 h 1 s ago and has not started."


def test_a_post_whose_answer_was_lost_is_repeated_once_after_the_whole_gate() -> None:
    """W-35."""
    life = driven(r.COMMITTED)
    assert posted(life, UNCLEAR, 1.0) == {"result": "unclear", "posted": True, "reason": "the connection was reset."}
    assert life.turn(2.0, EVENT).approval is None
    plan = life.turn(3.0, EVENT, difference=1000.0)
    assert (plan.approval, plan.refusals) == (None, ("clock",))
    assert life.turn(4.0, EVENT).approval == EVENT
    posted(life, UNCLEAR, 4.0)
    for second in range(5, 100):
        plan = life.turn(float(second), EVENT)
        assert (plan.approval, "abort" in whats(plan), words(plan)) == (None, False, ["post"])
    assert plan.problems[0].text == "Event E-1 (Reboot) was posted twice without a clear answer; it may be approved all the same."


def test_what_may_have_been_posted_is_never_let_go() -> None:
    """Host.md: surely nothing was posted, or nothing is said."""
    life = driven(r.COMMITTED)
    posted(life, UNCLEAR, 1.0)
    for second in range(2, 100):
        assert "abort" not in whats(life.turn(float(second), SHARED))


def test_a_post_that_was_turned_away_for_good_lets_the_host_go_and_is_not_repeated() -> None:
    """C-10: the policy of the service, and it is an alarm."""
    life = driven(r.COMMITTED)
    assert posted(life, FORBIDDEN, 1.0) == {"result": "refused", "posted": False, "reason": "the service answered 403."}
    plan = life.turn(2.0, EVENT)
    assert (whats(plan), plan.approval, words(plan)) == (["abort"], None, ["post"])
    life.records = [shown(r.SEEN, life=life)]
    plan = life.turn(8.0, EVENT)
    decision = life.sight().decision
    assert decision is not None
    assert decision.effective_action == "prepare"
    assert asked_for(plan, "observe")[0][1]["events"][0]["reason"].endswith("; the service has refused the approval")


def test_a_post_that_was_turned_away_for_now_is_repeated_when_the_service_likes() -> None:
    """C-10: it has surely not acted on it."""
    life = driven(r.COMMITTED)
    posted(life, BUSY, 1.0)
    assert (life.sight().posts, life.sight().posted) == (0, None)
    assert [second for second in range(2, 9) if life.turn(float(second), EVENT).approval] == [8]


def test_a_second_post_that_was_turned_away_leaves_the_first_one_unclear() -> None:
    life = driven(r.COMMITTED)
    posted(life, UNCLEAR, 1.0)
    posted(life, BUSY, 5.0)
    assert (life.sight().posts, life.sight().posted) == (1, LOST)
    posted(life, FORBIDDEN, 20.0)
    assert "abort" not in whats(life.turn(21.0, EVENT))


def test_an_agent_that_was_ended_while_it_posted_takes_it_for_a_lost_answer() -> None:
    """W-5: gate again, and post again, once."""
    life = driven(r.COMMITTED)
    life.memory = guard.sending(life.memory, EVENT, monotonic=1.0)
    assert life.sight().posted == SENDING
    assert life.turn(2.0, EVENT).approval is None
    assert life.turn(3.0, EVENT).approval == EVENT
    life.memory = guard.sending(life.memory, EVENT, monotonic=3.0)
    assert life.turn(9.0, EVENT).approval is None
    assert words(life.plan) == ["post"]


@pytest.mark.parametrize("posts", [0, 1])
def test_an_old_word_is_asked_for_once_more_before_it_is_approved_on(posts: int) -> None:
    """W-41, W-5, W-35: who put the host back by hand meanwhile is not overrun, by the first post or by the second one."""
    life = driven(r.COMMITTED, driver=replace(AGENT, lease=Term(NOW + 9000.0)))
    for _post in range(posts):
        life.memory = guard.sending(life.memory, EVENT, monotonic=1.0)
    plan = life.turn(61.0, EVENT)
    assert (whats(plan), plan.approval) == (["commit"], None)
    life.records = [replace(life.records[0], committing=True, changed_at=NOW + 61.0)]
    plan = life.turn(62.0, EVENT)
    assert (whats(plan), plan.approval) == ([], None)
    life.records = [replace(life.records[0], committing=False, changed_at=NOW + 62.0)]
    assert life.turn(63.0, EVENT).approval == EVENT


@pytest.mark.parametrize("posts", [0, 1])
def test_a_word_that_is_doubted_is_not_approved_on(posts: int) -> None:
    """W-41: it is asked for again, and given up after a while; unless it was posted before, for then it cannot be taken back."""
    life = driven(r.COMMITTED, driver=replace(AGENT, lease=Term(NOW + 9000.0)), commit_refused="10-a says that it is in service")
    for _post in range(posts):
        life.memory = guard.sending(life.memory, EVENT, monotonic=0.5)
    plan = life.turn(4.0, EVENT)
    assert (whats(plan), plan.approval, plan.refusals) == (["commit"], None, ("commit_refused",))
    assert plan.problems[0].text == "Event E-1 (Reboot) is not approved: 10-a says that it is in service."
    asked = [what for second in range(5, 60) for what in whats(life.turn(float(second), EVENT)) if what != spool.NOTE]
    assert asked[:3] == ["commit", "commit", "commit" if posts else "abort"]
    assert life.plan.approval is None


def test_an_agent_that_remembers_nothing_of_its_commit_posts_once_more_and_lets_nothing_go() -> None:
    """W-5: a post may exist."""
    life = Life(configured(), record(r.COMMITTED))
    life.turn(0.0, EVENT)
    assert (life.sight().posts, life.sight().posted) == (1, LOST)
    assert life.plan.approval == EVENT
    life = Life(configured(), record(r.COMMITTED))
    assert "abort" not in whats(life.turn(0.0, SHARED))
    life = Life(configured(), record(r.COMMITTED, driver=PLAYBOOK))
    life.turn(0.0, EVENT)
    assert (life.sight().posts, life.plan.approval) == (0, None)


def test_a_post_of_what_nobody_remembers_changes_nothing() -> None:
    assert guard.sending(Memory(BOOT), EVENT, monotonic=1.0) == Memory(BOOT)


@pytest.mark.parametrize(
    ("post", "state", "at", "by"),
    [
        (None, r.COMMITTED, 10.0, "agent"),
        (UNCLEAR, r.COMMITTED, 10.0, "agent"),
        ("no", r.COMMITTED, 10.0, "other"),
        ("no", r.PREPARING, 10.0, "other"),
        ("no", r.SEEN, 7190.0, "other"),
        ("no", r.SEEN, 7196.0, "nobody"),
    ],
)
def test_who_made_it_start_is_noted_once(post: Any, state: str, at: float, by: str) -> None:
    """W-40: as seen started, and never an attempt to win."""
    life = driven(state)
    if post != "no":
        posted(life, post, 1.0)
    plan = life.turn(at, STARTED)
    assert (notes(plan, "approved_by"), plan.starts, plan.approval) == ([{"by": by}], (by,), None)
    plan = life.turn(at + 1.0, STARTED)
    assert (notes(plan, "approved_by"), plan.starts) == ([], ())


def test_what_a_playbook_was_committed_to_it_has_approved() -> None:
    life = driven(r.COMMITTED, driver=PLAYBOOK)
    assert life.turn(1.0, STARTED).starts == ("driver",)


def test_a_start_of_which_there_is_no_record_is_counted_but_not_noted() -> None:
    life = Life()
    life.turn(0.0, EVENT)
    plan = life.turn(1.0, STARTED)
    assert (notes(plan, "approved_by"), plan.starts) == ([], ("other",))
    blank = replace(EVENT, not_before=None)
    life = Life()
    life.turn(0.0, blank)
    assert life.turn(1.0, STARTED).starts == ("nobody",)


# --- outages -------------------------------------------------------------------------------------------------------------


def test_after_a_day_without_the_service_gone_is_believed_only_after_five_minutes() -> None:
    """W-33: the service may have forgotten this VM, and events take five minutes to come back (C-7)."""
    life = Life(configured(WATCH))
    life.turn(0.0, EVENT)
    life.records = [shown(r.PREPARED, life=life)]
    plan = life.turn(90_000.0, fresh=False, answered=False)
    assert words(plan) == ["outage", "overdue"]
    assert plan.problems[0].text.startswith("The metadata service has not answered for 1 d 1 h")
    back = 100_000.0
    plan = life.turn(back)
    assert (words(plan)[0], plan.read_whole, guard.state_of(life.memory, life.sight())) == ("outage", True, "unknown")
    assert notes(plan, "gap") == [{"seconds": 100_000}]
    for second in range(1, 300, 7):
        plan = life.turn(back + second)
        assert (gone(plan), plan.read_whole) == ([], True)
        assert notes(plan, "gap") == []
    assert gone(life.turn(back + 300.0)) == ["E-1"]
    assert "outage" not in words(life.plan)


def test_good_answers_with_a_long_gap_between_them_begin_anew() -> None:
    """W-33."""
    life = Life(configured(WATCH))
    life.turn(0.0, EVENT)
    life.records = [shown(r.PREPARED, life=life)]
    back = 100_000.0
    for second in (0.0, 60.0, 120.0, 181.0, 241.0, 301.0, 361.0, 421.0, 480.0):
        assert gone(life.turn(back + second)) == []
    assert gone(life.turn(back + 481.0)) == ["E-1"]


def test_a_boot_after_a_day_is_known_by_the_record() -> None:
    """W-33: by when it was last confirmed."""
    life = Life(configured(WATCH), record(r.PREPARED, last_seen=NOW - 90_000.0))
    plan = life.turn(0.0)
    assert words(plan) == ["outage"]
    assert notes(plan, "gap") == []
    assert gone(life.turn(15.0)) == []
    life = Life(configured(WATCH), record(r.PREPARED, last_seen=NOW - 80_000.0))
    assert words(life.turn(0.0)) == []


def test_a_short_outage_is_a_note_and_no_alarm() -> None:
    life = driven(r.SEEN, mode=WATCH)
    assert notes(life.turn(60.0, EVENT), "gap") == []
    plan = life.turn(121.0, EVENT)
    assert (notes(plan, "gap"), words(plan)) == ([{"seconds": 61}], [])


# --- what lasts too long -------------------------------------------------------------------------------------------------


def test_what_is_overdue_is_said() -> None:
    """W-5, W-19, W-59: an alarm, and nothing else."""
    life = driven(r.SEEN, mode=WATCH)
    assert words(life.turn(7200.0 + 901.0, EVENT)) == ["overdue"]
    assert "still Scheduled 15 min 1 s after its NotBefore" in life.plan.problems[0].text
    life = Life(configured(WATCH))
    life.turn(0.0, STARTED)
    life.records = [record(r.IMPACT, STARTED)]
    assert words(life.turn(1800.0, STARTED)) == []
    assert words(life.turn(1801.0, STARTED)) == ["overdue"]
    life.records = [record(r.RECOVERING, STARTED, view=r.GONE, gone_at=NOW + 2000.0)]
    assert words(life.turn(2600.0)) == []
    plan = life.turn(2601.0)
    assert [(problem.word, problem.about) for problem in plan.problems] == [("overdue", "E-1")]
    assert "gone for 10 min 1 s and still not recovered" in plan.problems[0].text


def test_an_event_that_is_refused_is_said_loudly() -> None:
    life = Life(configured(WATCH))
    plan = life.turn(0.0, replace(EVENT, event_type="Upgrade"))
    assert plan.problems[0].text == (
        "Event E-1 (Upgrade) is refused: no rule matches the type 'Upgrade', Azure starts at Fri 2027-01-15 10:00 UTC."
    )


def test_an_id_that_looks_like_a_path_is_an_id() -> None:
    """W-58."""
    life = Life()
    strange = replace(EVENT, event_id="../../x")
    assert [what for what, _values in asked_for(life.turn(0.0, strange))] == ["observe", "prepare"]
    assert list(life.memory.sights) == ["../../x"]


# --- memory --------------------------------------------------------------------------------------------------------------


def test_what_is_remembered_survives_with_everything_in_it() -> None:
    """Life has each turn's memory written and read again; here with a window and a post."""
    windows = parse_windows([{"from": "08:00", "to": "08:10", "timezone": "UTC"}])
    policy = rules({"action": "prepare_and_approve", "start": "window"})
    life = driven(r.COMMITTED, configuration=configured(policy=policy, settings=replace(SETTINGS, windows=windows)))
    posted(life, None, 1.0)
    again = memory.from_json(json.loads(json.dumps(memory.to_json(life.memory))), boot=BOOT)
    assert again == life.memory
    decision = again.sights["e-1"].decision
    assert decision is not None
    assert decision.opening is not None
    assert again.sights["e-1"].posted == TAKEN


def test_an_upgrade_forgets_no_post() -> None:
    """W-5: who forgets it would let go of the host as one for which surely nothing was posted."""
    life = driven(r.COMMITTED)
    posted(life, None, 1.0)
    written = json.loads(json.dumps(memory.to_json(life.memory)))
    del written["trusted_since"]
    again = memory.from_json(written, boot=BOOT)
    assert again == replace(life.memory, trusted_since=None)
    assert again.sights["e-1"].posted == TAKEN


def test_a_zone_with_changes_survives_too() -> None:
    life = driven(r.SEEN)
    written = json.loads(json.dumps(memory.to_json(life.memory)))
    written["sights"]["e-1"]["decision"]["opening"] = {
        "begin": 1.0,
        "end": 2.0,
        "zone": {"name": "Europe/Berlin", "offset": 3600, "changes": [[5, 7200], [9, 3600]]},
    }
    decision = memory.from_json(written, boot=BOOT).sights["e-1"].decision
    assert decision is not None
    assert decision.opening is not None
    assert decision.opening.zone.changes == ((5, 7200), (9, 3600))


def broken(change: Any) -> Any:
    life = driven(r.SEEN)
    written = json.loads(json.dumps(memory.to_json(life.memory)))
    return change(written)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        broken(lambda data: {**data, "format": 2}),
        broken(lambda data: {**data, "boot": "boot 0"}),
        broken(lambda data: {**data, "more": 1}),
        broken(lambda data: {**data, "sights": []}),
        broken(lambda data: {**data, "sights": {"e-1": {}}}),
        broken(lambda data: {**data, "sights": {"e-1": 5}}),
        broken(lambda data: {**data, "told": {"e-1": {"said": 5}}}),
        broken(lambda data: {**data, "good_at": "now"}),
        broken(lambda data: {**data, "sights": {"e-1": {**data["sights"]["e-1"], "decision": {"opening": None}}}}),
    ],
)
def test_what_was_not_written_so_is_forgotten(data: Any) -> None:
    """It only costs time: the service and the executor know all of it."""
    assert memory.from_json(data, boot=BOOT) == Memory(BOOT)


@pytest.mark.parametrize(("event", "named", "state"), [(EVENT, True, "scheduled"), (STARTED, True, "started"), (EVENT, False, "not_named")])
def test_a_word_for_each_state(event: Event, named: bool, state: str) -> None:
    assert guard.state_of(Memory(BOOT), Sight(event, named=named)) == state


def test_the_default_rules_are_those_of_the_policy() -> None:
    assert configured().policy == default_policy()
