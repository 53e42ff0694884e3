# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What monitoring is told, read by a strict reader of our own; and that alarms and documentation speak of the same metrics."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple

import pytest
import yaml
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import VERSION, guard
from azure_event_handlers import metrics as m
from azure_event_handlers import records as r
from azure_event_handlers.configuration import Configuration
from azure_event_handlers.metrics import AgentCounters, render
from azure_event_handlers.published import Status
from azure_event_handlers.records import Driver, Record, Step, Work
from azure_event_handlers.store import Hold
from azure_event_handlers.terms import Term

ROOT = Path(__file__).resolve().parents[4]
FILES = ROOT / "roles" / "event_handlers" / "files"
NOW = 1_800_000_000.0
EVENT = Event("../../x", "Reboot", "Scheduled", None, "VirtualMachine", ("web_0",), NOW + 900, "", 9)
BEGUN = replace(EVENT, event_status="Started")
RECORD = Record(EVENT, 1, "vm")
STATUS = Status(NOW - 5, "boot", "vm")
DONE = Work(r.ENDED, r.DONE, 0, began=NOW - 400, ended=NOW - 300)

# --- a reader that is as strict as Prometheus's own --------------------------------------------------------------------

Key = Tuple[str, FrozenSet[Tuple[str, str]]]
_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_SAMPLE = re.compile(r"(?P<name>%s)(?:\{(?P<labels>.*)\})? (?P<value>[^ ]+)" % _NAME)
_LABEL = re.compile(r'(?P<name>[a-zA-Z_][a-zA-Z0-9_]*)="(?P<value>(?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,(?=[a-zA-Z_])|$)')
_VALUE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|Inf)|NaN")
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Text:
    """What was read: values by name and labels, types and helps by name."""

    def __init__(self, text: str) -> None:
        assert text.endswith("\n"), "the last line has no end"
        self.values: Dict[Key, float] = {}
        self.kinds: Dict[str, str] = {}
        self.helps: Dict[str, str] = {}
        current = None
        for line in text[:-1].split("\n"):
            if line.startswith("# HELP "):
                name, words = line[7:].split(" ", 1)
                assert name not in self.helps, "two helps of " + name
                assert words
                self.helps[name] = words
                current = name
            elif line.startswith("# TYPE "):
                name, kind = line[7:].split(" ")
                assert name == current, "a type that does not follow its help: " + line
                assert kind in ("gauge", "counter")
                self.kinds[name] = kind
            else:
                self._sample(line, current)

    def _sample(self, line: str, current: Optional[str]) -> None:
        match = _SAMPLE.fullmatch(line)
        assert match, "not a sample: %r" % line
        assert match.group("name") == current, "a sample away from its type: %r" % line
        assert _VALUE.fullmatch(match.group("value")), "not a number: %r" % line
        labels = frozenset(self._labels(match.group("labels")))
        key = (match.group("name"), labels)
        assert key not in self.values, "twice: %r" % line
        self.values[key] = float(match.group("value").replace("Inf", "inf"))

    @staticmethod
    def _labels(text: Optional[str]) -> List[Tuple[str, str]]:
        found, position = [], 0
        while text is not None and position < len(text):
            match = _LABEL.match(text, position)
            assert match, "not labels: %r" % text[position:]
            value = re.sub(r'\\\\|\\"|\\n', lambda escape: _ESCAPES[escape.group()], match.group("value"))
            found.append((match.group("name"), value))
            position = match.end()
        assert len({name for name, _value in found}) == len(found)
        return found

    def of(self, name: str, **labels: str) -> Optional[float]:
        return self.values.get((m.PREFIX + name, frozenset(labels.items())))

    def all(self, name: str) -> Dict[FrozenSet[Tuple[str, str]], float]:
        return {labels: value for (found, labels), value in self.values.items() if found == m.PREFIX + name}


@pytest.mark.parametrize(
    "wrong",
    [
        "a 1",
        "# HELP a b\n# TYPE a gauge\na  1\n",
        "# HELP a b\n# TYPE a gauge\na 1,5\n",
        "# HELP a b\n# TYPE a gauge\na 1\na 1\n",
        '# HELP a b\n# TYPE a gauge\na{x="1",} 1\n',
        '# HELP a b\n# TYPE a gauge\na{x="1" y="2"} 1\n',
        '# HELP a b\n# TYPE a gauge\na{x="\\t"} 1\n',
        "# HELP a b\n# TYPE a gauge\nb 1\n",
        "# TYPE a gauge\na 1\n",
        "a 1\n",
    ],
)
def test_the_reader_of_these_tests_takes_nothing_that_is_wrong(wrong: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        Text(wrong)


# --- figures -----------------------------------------------------------------------------------------------------------


def counters(**values: Any) -> AgentCounters:
    return AgentCounters(written_at=NOW, **values)


def read(status: Optional[Status] = STATUS, configuration: Optional[Configuration] = None, **values: Any) -> Text:
    return Text(render(status, configuration or Configuration(), counters(**values), version="1.2.3"))


def with_records(*records: Record) -> Text:
    return read(replace(STATUS, records=records))


def test_every_name_follows_the_conventions_of_prometheus() -> None:
    text = read()
    assert list(text.helps) == list(text.kinds) == [m.PREFIX + metric.name for metric in m.METRICS]
    for name, kind in text.kinds.items():
        assert re.fullmatch(r"azure_event_handlers_[a-z_]+", name)
        assert name.endswith("_total") == (kind == "counter")
        assert not re.search(r"_(ms|milliseconds|minutes|hours|percent|kb)(_|$)", name)
        assert text.helps[name].endswith(".")


def test_what_nobody_knows_has_no_sample_and_is_not_a_zero() -> None:
    text = read(None)
    named = {name[len(m.PREFIX) :] for name, _labels in text.values}
    assert named == {
        "written_timestamp_seconds",
        "build_info",
        "polls_total",
        "pauses_total",
        "longest_pause_seconds",
        "gate_refusals_total",
        "agent_problems",
        "competing_approvers_total",
    }
    assert text.of("written_timestamp_seconds") == NOW


def test_an_idle_host_has_zeros_where_alarms_look() -> None:
    text = read()
    for name in ("open_records", "refused_records", "recover_failed_handlers", "held", "broken_records", "problems"):
        assert text.of(name) == 0, name
    assert set(text.all("overdue").values()) == {0}
    for name in ("hold_until", "lease_until", "prepared_since", "next_event", "last_good_document"):
        assert text.all(name + "_timestamp_seconds") == {}
    assert text.all("clock_difference_seconds") == {}
    assert text.of("status_written_timestamp_seconds") == NOW - 5


def test_records_are_counted_by_state_and_by_types_that_are_known() -> None:
    """C-14: a type that nobody has announced is one series, whatever its name."""
    strange = [replace(RECORD, event=replace(EVENT, event_id=str(number), event_type="New%d\n" % number)) for number in range(3)]
    folded = replace(RECORD, event=replace(EVENT, event_id="y", event_type="rEBOOT"))
    closed = replace(RECORD, occurrence=2, state=r.CLOSED)
    text = with_records(RECORD, folded, closed, *strange)
    assert text.all("records") == {
        frozenset({("state", "SEEN"), ("event_type", "Reboot")}): 2,
        frozenset({("state", "SEEN"), ("event_type", "unknown")}): 3,
        frozenset({("state", "CLOSED"), ("event_type", "Reboot")}): 1,
    }
    assert text.of("open_records") == 5


def test_an_event_that_the_policy_refuses_is_counted_while_it_is_there() -> None:
    refused = replace(RECORD, decision="refuse")
    assert with_records(refused, replace(RECORD, occurrence=2, decision="prepare")).of("refused_records") == 1
    assert with_records(replace(refused, view=r.GONE)).of("refused_records") == 0
    assert with_records(replace(refused, state=r.CLOSED)).of("refused_records") == 0


def test_the_next_event_is_the_earliest_that_is_still_scheduled() -> None:
    later = replace(RECORD, event=replace(EVENT, event_id="y", not_before=NOW + 5000))
    started = replace(RECORD, event=replace(EVENT, event_id="z", not_before=NOW - 50), view=r.STARTED)
    blank = replace(RECORD, event=replace(EVENT, event_id="b", not_before=None))
    assert with_records(later, RECORD, started, blank).of("next_event_timestamp_seconds") == NOW + 900
    assert with_records(started, blank).all("next_event_timestamp_seconds") == {}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((Step("10-a", "a", 9.0, True),), None),
        ((Step("10-a", "a", 9.0, True, prepare=replace(DONE, outcome=r.UNCHANGED)),), None),
        ((Step("10-a", "a", 9.0, True, prepare=DONE, recover=DONE),), None),
        ((Step("10-a", "a", 9.0, True, prepare=DONE), Step("20-b", "b", 9.0, True, prepare=replace(DONE, began=NOW - 100))), NOW - 400),
        ((Step("10-a", "a", 9.0, True, prepare=Work(r.INTENDED, began=NOW - 7)),), NOW - 7),
    ],
)
def test_prepared_is_what_handlers_have_done_and_not_undone(steps: Tuple[Step, ...], expected: Optional[float]) -> None:
    """W-42: who found everything done has taken nothing out of service."""
    assert with_records(replace(RECORD, state=r.PREPARED, steps=steps)).of("prepared_since_timestamp_seconds") == expected
    assert with_records(replace(RECORD, state=r.CLOSED, steps=steps)).of("prepared_since_timestamp_seconds") is None


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (RECORD, set()),
        (replace(RECORD, event=replace(EVENT, not_before=NOW - 900)), set()),
        (replace(RECORD, event=replace(EVENT, not_before=NOW - 901)), {"start"}),
        (replace(RECORD, event=BEGUN, view=r.STARTED, started_at=NOW - 1800), set()),
        (replace(RECORD, event=BEGUN, view=r.STARTED, started_at=NOW - 1801), {"end"}),
        (replace(RECORD, event=BEGUN, view=r.GONE, started_at=NOW - 9999, gone_at=NOW - 600), set()),
        (replace(RECORD, event=BEGUN, view=r.GONE, started_at=NOW - 9999, gone_at=NOW - 601), {"recovery"}),
        (replace(RECORD, view=r.GONE, gone_at=NOW - 601, state=r.CLOSED), set()),
    ],
)  # fmt: skip
def test_what_takes_too_long_is_overdue_by_kind(record: Record, expected: Set[str]) -> None:
    """W-18, W-59: a start, an end, a recovery; each has its own alarm."""
    found = with_records(record).all("overdue")
    assert {dict(labels)["kind"] for labels, value in found.items() if value} == expected
    assert {dict(labels)["kind"] for labels in found} == {"start", "end", "recovery"}


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (Work(), 0),
        (Work(tries=1, exit=1), 1),
        (Work(tries=3, exit=None), 1),
        (Work(r.INTENDED, tries=1, exit=1), 1),
        (Work(tries=2, exit=75), 0),
        (replace(DONE, tries=4), 0),
    ],
)
def test_a_recovery_that_failed_is_counted_until_it_succeeds(work: Work, expected: int) -> None:
    """W-43: with an alarm. One that says "not yet" has not failed."""
    record = replace(RECORD, state=r.RECOVERING, steps=(Step("10-a", "a", 9.0, True, prepare=DONE, recover=work),))
    assert with_records(record).of("recover_failed_handlers") == expected
    assert with_records(replace(record, state=r.CLOSED)).of("recover_failed_handlers") == 0


def test_the_lease_is_that_of_the_first_driver_who_may_be_given_up() -> None:
    def driven(number: int, state: str, until: float) -> Record:
        return replace(RECORD, occurrence=number, state=state, driver=Driver("agent", "agent", Term(until)))

    text = with_records(driven(1, r.PREPARED, NOW + 90), driven(2, r.PREPARING, NOW + 60), driven(3, r.COMMITTED, NOW + 5))
    assert text.of("lease_until_timestamp_seconds") == NOW + 60


@pytest.mark.parametrize(
    ("hold", "held", "until"),
    [
        (None, 0, None),
        (Hold("ann", NOW + 60), 1, NOW + 60),
        (Hold("ann", NOW - 1), 0, None),
        (Hold("somebody", STATUS.written_at, "cannot be read"), 1, STATUS.written_at),
    ],
)
def test_a_hold_is_in_force_until_it_ends_by_itself(hold: Optional[Hold], held: int, until: Optional[float]) -> None:
    """W-55: and one that cannot be read holds for as long as it is there."""
    text = read(replace(STATUS, hold=hold))
    assert text.of("held") == held
    assert text.of("hold_until_timestamp_seconds") == until


def test_what_is_broken_is_counted() -> None:
    text = read(replace(STATUS, broken=("a", "b"), problems=("a sentence",)))
    assert (text.of("broken_records"), text.of("problems")) == (2, 1)


def test_the_agent_tells_its_version_and_mode() -> None:
    assert read(None, Configuration(mode="prepare")).of("build_info", version="1.2.3", mode="prepare") == 1


def test_the_agents_own_figures_are_told() -> None:
    text = read(last_good_document=NOW - 1.5, clock_difference=-3.25, pauses=2, longest_pause=12.5, competing_approver=1)
    assert text.of("last_good_document_timestamp_seconds") == NOW - 1.5
    assert text.of("clock_difference_seconds") == -3.25
    assert (text.of("pauses_total"), text.of("longest_pause_seconds"), text.of("competing_approvers_total")) == (2, 12.5, 1)


def test_counts_by_word_begin_at_zero_and_strange_words_are_one() -> None:
    text = read(
        polls={"good": 5, "a": 1, "b": 2},
        refusals={"shared": 1, "x\ny": 3},
        approvals={("agent", "taken"): 2, ("web_0", "taken"): 1, ("nobody", "taken"): 1},
        problems={"gate": 1},
    )
    assert {dict(labels)["result"]: value for labels, value in text.all("polls_total").items()} == {
        "good": 5, "unchanged": 0, "no_answer": 0, "bad_status": 0, "no_document": 0, "other": 3,
    }  # fmt: skip
    assert text.of("gate_refusals_total", reason="shared") == 1
    assert text.of("gate_refusals_total", reason="other") == 3
    assert text.of("gate_refusals_total", reason="clock") == 0
    assert text.of("approvals_total", by="agent", result="taken") == 2
    assert text.of("approvals_total", by="other", result="taken") == 2
    assert text.of("agent_problems", problem="gate") == 1


@pytest.mark.parametrize(("program", "some"), [("guard.py", {"gate", "overdue"}), ("agent.py", {"configuration", "requests"})])
def test_every_word_for_a_problem_is_known_here(program: str, some: Set[str]) -> None:
    """A word that is not would be counted as "other", where no alarm looks."""
    calls = [node for node in ast.walk(parsed(program)) if isinstance(node, ast.Call)]
    told = set()
    for call in calls:
        if _called(call) in ("Problem", "_problem", "_trouble") and call.args:
            told |= _words(call.args[0])
    assert told <= set(m.PROBLEMS)
    assert some <= told, "this test looks for them in the wrong place"


def test_every_word_for_a_refusal_is_known_here() -> None:
    refusal = next(node for node in ast.walk(parsed("guard.py")) if isinstance(node, ast.FunctionDef) and node.name == "_refusal")
    pairs = [pair for pair in ast.walk(refusal) if isinstance(pair, ast.Tuple) and isinstance(pair.ctx, ast.Load)]
    words = set().union(*(_words(pair.elts[0]) for pair in pairs if isinstance(pair.elts[0], ast.Constant)))
    assert words <= set(m.REFUSALS)
    assert {"shared", "held"} <= words, "this test looks for them in the wrong place"


def test_what_the_guard_makes_of_its_refusals_is_known_here() -> None:
    assert set(guard._PROBLEM_OF) <= set(m.REFUSALS)
    assert set(guard._PROBLEM_OF.values()) <= set(m.PROBLEMS)


def parsed(program: str) -> ast.Module:
    return ast.parse((FILES / "azure_event_handlers" / program).read_text(encoding="utf-8"))


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _words(tree: ast.AST) -> Set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_there_is_no_way_to_make_more_series_than_a_few_hundred() -> None:
    """Whoever schedules events, or answers in the service's place, must not be able to fill a database."""
    events = [replace(EVENT, event_id="id-%d" % number, event_type="T%d" % number, description="d" * 99) for number in range(500)]
    records = tuple(replace(RECORD, event=event, state=state) for event in events for state in r.STATES)
    words = {"w%d" % number: 1 for number in range(1000)}
    pairs = {(word, word): 1 for word in words}
    text = render(replace(STATUS, records=records), Configuration(), counters(polls=words, refusals=words, approvals=pairs, problems=words))
    assert len(Text(text).values) < 200
    assert not re.search(r"id-\d|T\d|ddd|web_0|vm\b", "\n".join(line for line in text.splitlines() if not line.startswith("#")))


@pytest.mark.parametrize("version", ['1"2', "1\\2", "1\n2", '\\"', "1{2}", "\u00e9", '\\\\n"'])
def test_every_value_of_a_label_is_escaped(version: str) -> None:
    text = Text(render(None, Configuration(), counters(), version=version))
    assert text.of("build_info", version=version, mode="watch") == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (3.0, "3"), (-2.5, "-2.5"), (1_800_000_000.0, "1800000000"), (1_800_000_000.25, "1800000000.25"),
     (math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN"), (True, "1"), (1e-9, "1e-09")],
)  # fmt: skip
def test_numbers_are_written_as_prometheus_reads_them(value: float, expected: str) -> None:
    assert m.say_number(value) == expected
    assert _VALUE.fullmatch(expected)


# --- alarms and documentation ------------------------------------------------------------------------------------------

NAMES = {m.PREFIX + metric.name for metric in m.METRICS}
# What a sample of a metric may have as label, and which values.
LABELS: Dict[str, Dict[str, Set[str]]] = {
    "records": {"state": set(r.STATES)},
    "overdue": {"kind": set(m.OVERDUE)},
    "polls_total": {"result": set(m.POLL_RESULTS)},
    "approvals_total": {"by": set(m.APPROVERS), "result": set(m.APPROVAL_RESULTS)},
    "gate_refusals_total": {"reason": set(m.REFUSALS)},
    "agent_problems": {"problem": set(m.PROBLEMS)},
}
_SELECTOR = re.compile(r"(azure_event_handlers_[a-z_]+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'([a-z_]+)(?:=~|!=|!~|=)"([^"]*)"')


def alarms() -> List[Dict[str, Any]]:
    loaded = yaml.safe_load((FILES / "alarms.yml").read_text(encoding="utf-8"))
    assert list(loaded) == ["groups"]
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def documentation() -> str:
    return (ROOT / "docs" / "docsite" / "rst" / "metrics.rst").read_text(encoding="utf-8")


def test_alarms_ask_only_for_metrics_and_labels_that_there_are() -> None:
    for rule in alarms():
        selectors = _SELECTOR.findall(rule["expr"])
        assert selectors, rule["alert"]
        for name, matchers in selectors:
            assert name in NAMES, rule["alert"]
            known = LABELS.get(name[len(m.PREFIX) :], {})
            assert len(_MATCHER.findall(matchers)) == len([part for part in matchers.split('",') if part]), rule["alert"]
            for label, value in _MATCHER.findall(matchers):
                assert label in known, (rule["alert"], label)
                assert set(value.split("|")) <= known[label], (rule["alert"], value)


def test_every_alarm_says_how_long_how_bad_and_what_to_type() -> None:
    for rule in alarms():
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}, rule["alert"]
        assert re.fullmatch(r"[A-Z][A-Za-z]+", rule["alert"])
        assert re.fullmatch(r"[0-9]+[mh]", rule["for"])
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert "{{ $labels.instance }}" in rule["annotations"]["summary"]
        described = rule["annotations"]["description"]
        assert "`" in described or "portal" in described, rule["alert"]
        assert described.endswith(".")


def test_alarms_name_programs_and_commands_that_there_are() -> None:
    """A command that does not exist is worth nothing at two in the morning."""
    source = (FILES / "azure_event_handlers" / "cli.py").read_text(encoding="utf-8")
    described = " ".join(rule["annotations"]["description"] for rule in alarms()) + documentation()
    for command in set(re.findall(r"`azure-event-handlers ([a-z-]+)", described)):
        assert '"%s"' % command in source, command
    units = set(re.findall(r"azure-event-[a-z]+\.[a-z]+", described))
    assert units <= {
        "azure-event-executor.service",
        "azure-event-executor.path",
        "azure-event-agent.service",
        "azure-event-webhook.service",
    }


def test_every_alarm_name_is_used_once() -> None:
    names = [rule["alert"] for rule in alarms()]
    assert len(set(names)) == len(names)


def test_the_documentation_has_exactly_the_metrics_that_are_rendered() -> None:
    assert set(re.findall(r"``(azure_event_handlers_[a-z_]+)", documentation())) == NAMES == set(read().helps)


def test_the_documentation_has_exactly_the_alarms_that_there_are() -> None:
    assert set(re.findall(r"^(Azure[A-Za-z]+)\n~+$", documentation(), re.M)) == {rule["alert"] for rule in alarms()}


def test_the_documentation_names_every_value_of_a_label() -> None:
    text = documentation()
    for metric, labels in LABELS.items():
        for label, values in labels.items():
            assert "``%s``" % label in text
            for value in values - set(r.STATES):
                assert "``%s``" % value in text, (metric, label, value)


def test_the_page_is_part_of_the_guide() -> None:
    sections = yaml.safe_load((ROOT / "docs" / "docsite" / "extra-docs.yml").read_text(encoding="utf-8"))["sections"]
    assert "metrics" in [page for section in sections for page in section["toctree"]]


def test_the_version_is_that_of_the_collection() -> None:
    galaxy = yaml.safe_load((Path(__file__).resolve().parents[4] / "galaxy.yml").read_text(encoding="utf-8"))
    assert galaxy["version"] == VERSION
    assert 'version="%s"' % VERSION in render(None, Configuration(), AgentCounters(0.0))
