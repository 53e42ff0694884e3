# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of every plan, for any hosts, answers, events, rules, windows, bounds and moment (`_plan`, `_waves`, `_components`, `_queue`).

Everything is looked at from the outside: in the plain data of a plan, beside the hosts and events that it was made of.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import parse_instant
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._fleet import Answer, Driver, Handler, Hold, Host, Record, Status
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._options import Options, convert, options_of
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import concerned, plan
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._verdicts import Facing
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.dice import Dice, thrown
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import BERLIN, MINUTE, utc
from hypothesis import given, settings
from hypothesis import strategies as st

NOW = float(utc("2026-11-18 09:00"))
GROUPS = ("web", "db")
SCOPES = ("s0", "s1")
OUT = {"PREPARING", "PREPARED", "COMMITTED", "STAYING", "IMPACT", "BACKING_OUT", "RECOVERING"}
TYPES = ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"]
BACK = 5 * MINUTE
SETTLE = 10.0
RECOVER = 2 * MINUTE

APPROVED: Dict[str, Any] = {"name": "r", "event_types": ["Freeze", "Reboot", "Redeploy"], "action": "prepare_and_approve"}
RULES: List[Any] = [
    [{**APPROVED, "start": "now"}],
    None,
    [{**APPROVED, "start": "window"}],
    [{**APPROVED, "start": {"before": "40m"}, "prepare_budget": "10m"}],
    [{**APPROVED, "event_types": ["Reboot"], "start": "now", "prepare_budget": "20m"}, {**APPROVED, "name": "s", "start": "now"}],
    # Some have to wait for a window, and others that take long have not.
    [{**APPROVED, "event_types": ["Reboot"], "start": "now", "prepare_budget": "10m"}, {**APPROVED, "name": "s", "start": "window"}],
    [{**APPROVED, "action": "prepare", "start": "now"}],
    [{**APPROVED, "action": "approve", "start": "now"}],
    [{**APPROVED, "event_types": ["Freeze"], "action": "ignore"}, {**APPROVED, "name": "s", "event_sources": ["User"], "start": "now"}],
]
# Those by which everything wants to begin at once.
AT_ONCE = [RULES[0], RULES[4], RULES[7]]
WINDOWS: List[Any] = [
    [{"from": "10:00", "to": "10:40", "timezone": "Europe/Berlin"}],
    [{"from": "09:30", "to": "18:00", "timezone": "UTC"}],
    [{"from": "09:00", "to": "09:06", "timezone": "UTC"}, {"from": "22:00", "to": "04:00", "timezone": "Europe/Berlin"}],
]
SHARES = [1, 2, "50%", "100%", 3, 4]
BOUNDS: List[Any] = [
    {},
    {"web": {"max_unavailable": 1}},
    {"web": {"max_unavailable": 2, "min_available": 1}, "db": {"max_unavailable": "50%"}},
]
# In minutes: many at the same time, as Azure does it.
NOTICES = [60, 90, 90, 90, 180, 240, 120, 45, 24 * 60, 7 * 24 * 60]
SHORT_NOTICES = [*NOTICES, 30, 20, 15, 12, 8, 7, 5, 2, 0, -3, None]


@functools.lru_cache(maxsize=None)
def _options(key: str) -> Options:
    return options_of(convert(json.loads(key)), {"Europe/Berlin": BERLIN})


@dataclass(frozen=True)
class Case:
    """One situation in which a run is planned."""

    hosts: Tuple[Host, ...]
    given: Mapping[str, Any]
    facing: Facing

    @property
    def options(self) -> Options:
        return self.facing.options

    def plan(self, order: Optional[Sequence[Host]] = None) -> Dict[str, Any]:
        return plan(self.hosts if order is None else order, self.facing)


def _case(dice: Dice) -> Case:
    """In one of two nobody is ill, dark, held or late, and waves are full of hosts."""
    calm = not dice.below(2)
    given = {
        "rules": dice.one_of(RULES),
        "windows": dice.one_of(WINDOWS),
        "max_unavailable": dice.one_of(SHARES),
        "min_available": dice.one_of([0, 1] if calm else [0, 1, 2]),
        "groups": dice.one_of(BOUNDS),
        "allow_unmanaged": dice.one_of([[], ["stranger"]]),
        "within": dice.one_of([0, "1h", "3h", "8d"]),
        "period": dice.one_of([0, 0, "1h", "1d"]),
    }
    forks = dice.one_of([5, 1, 2])
    count = 2 + dice.below(9)
    events = [_event(dice, number, count, calm=calm) for number in range(1 + dice.below(7))]
    hosts = tuple(_host(dice, number, events, calm=calm) for number in range(count))
    return Case(hosts, given, Facing(_options(json.dumps(given)), NOW, forks))


def _event(dice: Dice, number: int, count: int, *, calm: bool) -> Tuple[int, Event]:
    """With the scope that is shown it."""
    scope = dice.below(len(SCOPES))
    size = dice.one_of([1, 1, 1, 1, 2, 3])
    first = dice.below(count)
    names = ["vm%d" % ((first + step) % count) for step in range(min(size, count))]
    if not dice.below(30):
        names.append("Stranger")
    status = "Started" if not calm and dice.below(10) == 9 else "Scheduled"
    notice = dice.one_of(NOTICES if calm else SHORT_NOTICES)
    return scope, Event(
        event_id="E%d" % number,
        event_type=dice.one_of(["Reboot", "Reboot", "Redeploy", "Freeze"] if calm else ["Reboot", *TYPES]),
        event_status=status,
        event_source=dice.one_of(["User", "Platform"]),
        resource_type="VirtualMachine",
        resources=tuple(names),
        not_before=None if notice is None or status == "Started" else NOW + notice * MINUTE,
        description="",
        duration_seconds=dice.one_of([9, None, 0, 3600]),
    )


def _host(dice: Dice, number: int, events: Sequence[Tuple[int, Event]], *, calm: bool) -> Host:
    scope = dice.below(len(SCOPES))
    shown = tuple(event for place, event in events if place == scope)
    kind = "ok" if calm else dice.one_of(["ok"] * 12 + ["dark", "unasked", "held", "ill", "record", "record", "bare", "outside", "mute"])
    return Host(
        name="h%d" % number,
        vm_name="vm%d" % number,
        resource_group="rg",
        subscription="sub",
        vm_id=None,
        scope=SCOPES[scope],
        groups=frozenset(group for group in GROUPS if dice.below(2)),
        in_run=kind != "outside",
        identified=True,
        conflict=None,
        answer=None if kind == "mute" else Answer(True, True, "", shown),
        status=_status(dice, kind, events),
    )


def _status(dice: Dice, kind: str, events: Sequence[Tuple[int, Event]]) -> Optional[Status]:
    if kind == "unasked":
        return None
    if kind == "dark":
        return Status(False, False, True, "no route to host")
    return Status(
        ok=True,
        reachable=True,
        installed=True,
        why="",
        hold=Hold("ann", NOW + dice.one_of([10, 60]) * MINUTE, "") if kind == "held" else None,
        problems=("its health is bad",) if kind == "ill" else (),
        records=(_record(dice, dice.one_of(events)[1].event_id),) if kind == "record" else (),
        handlers=() if kind == "bare" else (Handler("10-pool", None, float(dice.one_of([60, 60, 300, 600])), True),),
        clock_difference=dice.one_of([0.0, 0.0, 100.0]) if kind != "ill" else dice.one_of([0.0, None, 400.0]),
    )


def _record(dice: Dice, event_id: str) -> Record:
    state = dice.one_of(["PREPARED", "COMMITTED", "STAYING", "IMPACT", "RECOVERING", "SEEN", "BACKED_OUT"])
    driver = dice.one_of(
        [None, Driver("playbook", "old", NOW - 1), Driver("agent", "agent", NOW + 300), Driver("playbook", "other", NOW + 300)]
    )
    return Record(event_id, state, 1, driver, None, "")


# A plan of many events takes milliseconds, so there is a tenth of the usual number; what is beside the point gets a quarter of that.
often = settings(max_examples=max(100, settings.default.max_examples // 10))
seldom = settings(max_examples=max(100, settings.default.max_examples // 40))
CASES = thrown(150).map(lambda dice: _case(Dice(dice)))


# --- what a plan has -----------------------------------------------------------------------------------------------------


def _instant(text: str) -> float:
    found = parse_instant(text)
    assert found is not None
    return found


def _due(made: Mapping[str, Any]) -> Dict[str, Any]:
    return {entry["key"]: entry for entry in made["events"] if entry["place"] == "waves"}


def _in_waves(made: Mapping[str, Any]) -> Iterator[Tuple[Any, Any, Any]]:
    """Each due event with its wave and its component."""
    due = _due(made)
    for wave in made["waves"]:
        for component in wave["components"]:
            yield from ((wave, component, due[key]) for key in component["events"])


def _rounds(hosts: Sequence[str], case: Case) -> int:
    return max(1, -(-len(hosts) // case.facing.forks))


def _not_before(entry: Mapping[str, Any]) -> Optional[float]:
    text = entry["not_before"]
    return None if text is None else _instant(text)


def _reserve(entry: Mapping[str, Any]) -> float:
    return 60.0 if entry["approves"] else 0.0


# --- what holds ----------------------------------------------------------------------------------------------------------


def _has_exactly_one_place_and_a_reason(case: Case, made: Mapping[str, Any]) -> None:
    shown = {event.event_id.lower() for host in case.hosts if host.in_run and host.answer for event in host.answer.events}
    assert sorted(entry["key"] for entry in made["events"]) == sorted("%s|sub|rg" % name for name in shown)
    assert all(entry["place"] in ("waves", "held", "refused", "running", "left") and entry["reason"] for entry in made["events"])
    assert made["counts"] == {
        place: sum(entry["place"] == place for entry in made["events"]) for place in ("waves", "held", "refused", "running", "left")
    }
    # Each due event is in one component of one wave, and nothing else is in any.
    placed = [key for wave in made["waves"] for component in wave["components"] for key in component["events"]]
    assert sorted(placed) == sorted(_due(made))
    assert all((entry["wave"] is None) == (entry["place"] != "waves") for entry in made["events"])
    assert all((wave["number"], component["name"]) == (entry["wave"], entry["component"]) for wave, component, entry in _in_waves(made))


def _no_component_is_split_and_no_host_is_in_two(case: Case, made: Mapping[str, Any]) -> None:
    component_of: Dict[str, str] = {}
    for _wave, component, entry in _in_waves(made):
        assert set(entry["hosts"]) <= set(component["hosts"])
        for name in entry["hosts"]:
            assert component_of.setdefault(name, component["name"]) == component["name"]
    members = [name for wave in made["waves"] for component in wave["components"] for name in component["hosts"]]
    assert sorted(members) == sorted(component_of)
    # Ansible plays each host once, and a guard that is hit itself guards nobody.
    batches = [name for wave in made["waves"] for name in wave["batch"]]
    assert len(batches) == len(set(batches))
    assert all(wave["batch"] == wave["hosts"] + ([wave["guard"]] if wave["guard"] else []) for wave in made["waves"])
    in_run = {host.name for host in case.hosts if host.in_run}
    assert set(batches) <= in_run


def _is_tied_by_due_events_and_nothing_else(case: Case, made: Mapping[str, Any]) -> None:
    """W-23: only due events tie."""
    due = _due(made)
    for wave in made["waves"]:
        for component in wave["components"]:
            reached = set(due[component["events"][0]]["hosts"])
            for _each in component["events"]:
                reached |= {name for key in component["events"] if reached & set(due[key]["hosts"]) for name in due[key]["hosts"]}
            assert reached == set(component["hosts"])


def _bounds(case: Case, gone: Set[str]) -> List[Tuple[Set[str], int, int]]:
    """Of each group its hosts, how many may be out, and how many must stay."""
    everybody = {host.name for host in case.hosts} - gone
    found = [(everybody, case.given["max_unavailable"], case.given["min_available"])]
    for name, bounds in case.given["groups"].items():
        members = {host.name for host in case.hosts if name in host.groups} - gone
        found.append(
            (
                members,
                bounds.get("max_unavailable", case.given["max_unavailable"]),
                bounds.get("min_available", case.given["min_available"]),
            )
        )
    return [
        (members, _share(most, len(members)), min(_share(least, len(members)), max(0, len(members) - 1))) for members, most, least in found
    ]


def _share(value: Any, hosts: int) -> int:
    if isinstance(value, int):
        return value
    percent = int(value.rstrip("%"))
    return max(1, hosts * percent // 100) if percent else 0


def _names(entry: Mapping[str, Any], case: Case) -> Set[str]:
    """Its hosts, in this run or not."""
    listed = {name.lower() for name in entry["event"]["resources"]}
    return {host.name for host in case.hosts if host.vm_name in listed}


def _is_started(entry: Mapping[str, Any]) -> bool:
    return bool(entry["event"]["event_status"] == "Started")


def _out_now(made: Mapping[str, Any], case: Case) -> Dict[str, Optional[str]]:
    """Who is out, and after which event he is back."""
    out: Dict[str, Optional[str]] = {}
    for host in case.hosts:
        status = host.status
        if status is None:
            continue
        if not status.reachable or status.hold is not None or status.problems:
            out[host.name] = None
        for record in status.records:
            if record.state in OUT and host.name not in out:
                out[host.name] = "%s|sub|rg" % record.event_id.lower()
    out.update((name, entry["key"]) for entry in made["events"] if _is_started(entry) for name in _names(entry, case))
    return out


def _deleted(case: Case, made: Mapping[str, Any]) -> Set[str]:
    deletions = [entry for entry in made["events"] if _is_started(entry) and entry["event"]["event_type"] in ("Preempt", "Terminate")]
    return {name for entry in deletions for name in _names(entry, case)}


def _keeps_capacity(case: Case, made: Mapping[str, Any]) -> None:
    out, bounds = _out_now(made, case), _bounds(case, _deleted(case, made))
    done: Set[str] = set()
    for wave in made["waves"]:
        assert len(wave["components"]) == 1 or not any(component["over_capacity"] for component in wave["components"])
        here = {key for component in wave["components"] for key in component["events"]}
        hit = {name for entry in made["events"] if entry["key"] in here for name in _names(entry, case)}
        away = hit | {name for name, event in out.items() if event not in done}
        for entry in made["events"]:
            is_over = _is_started(entry) or entry["key"] in done | here
            if not is_over and _hits_before(entry, _instant(wave["end"])):
                away |= _names(entry, case)
        for members, most, least in bounds:
            if members & hit:
                assert len(members - away) >= least
                assert len(members & away) <= most or wave["components"][0]["over_capacity"]
        done |= here


def _never_approves_what_is_over_capacity(case: Case, made: Mapping[str, Any]) -> None:
    """W-51."""
    assert all(not entry["approves"] for entry in made["events"] if entry["over_capacity"])
    assert all(component["over_capacity"] == entry["over_capacity"] for _wave, component, entry in _in_waves(made))


def _finds_nothing_too_large_to_be_prepared(case: Case, made: Mapping[str, Any]) -> None:
    """W-51: Azure takes them together anyway, so there is no room to wait for."""
    for members, most, _least in _bounds(case, _deleted(case, made)):
        for entry in made["events"]:
            assert len(_names(entry, case) & members) <= most or "would be out" not in entry["reason"]


def _begins_in_time_for_each_event(case: Case, made: Mapping[str, Any]) -> None:
    """Also where its hosts wait for others, and in the window of each event. Whoever is late has a minute at least."""
    for wave, component, entry in _in_waves(made):
        begin, not_before = _instant(wave["begin"]), _not_before(entry)
        preparing = entry["budget"] * _rounds(component["hosts"], case)
        if entry["late"]:
            assert not_before is not None
            assert _instant(entry["last_safe_start"]) - 60 < NOW
            assert begin + 60 <= not_before - entry["clock_error"]
            assert begin + entry["budget"] <= not_before - entry["clock_error"]
            assert not entry["approves"]
            continue
        if len(wave["components"]) > 1:
            slowest = max(due["budget"] for _wave, _component, due in _in_waves(made) if due["wave"] == wave["number"])
            preparing = slowest * _rounds(wave["hosts"], case)
        if not_before is not None:
            assert begin + preparing + _reserve(entry) + entry["clock_error"] <= not_before
            assert begin <= _instant(entry["last_safe_start"])
        assert entry["latest"] is None or begin <= _instant(entry["latest"])
        if entry["window"] is not None:
            assert entry["window"]["opens"] <= begin
            assert begin + preparing <= entry["window"]["closes"]


def _has_one_wave_after_the_other(case: Case, made: Mapping[str, Any]) -> None:
    free = NOW
    for wave in made["waves"]:
        begin, end = _instant(wave["begin"]), _instant(wave["end"])
        assert free <= begin <= max(free, NOW + case.options.wait)
        assert end > begin
        free = end


def _takes_the_most_urgent_first(case: Case, made: Mapping[str, Any]) -> None:
    """Where nothing else decides: all want to begin at once, nobody is out, is hit meanwhile, or has to wait for another one's turn."""
    if not any(case.given["rules"] is rules for rules in AT_ONCE) or _out_now(made, case):
        return
    done: Set[str] = set()
    for wave, after in zip(made["waves"], made["waves"][1:]):
        hit = any(_hits_before(entry, _instant(after["end"])) for entry in made["events"] if entry["key"] not in done)
        if not hit and max(len(wave["hosts"]), len(after["hosts"])) <= case.facing.forks:
            assert _urgency(wave, made) <= _urgency(after, made)
        done |= {key for component in wave["components"] for key in component["events"]}


def _urgency(wave: Mapping[str, Any], made: Mapping[str, Any]) -> float:
    return min(_instant(entry["latest"]) for one, _component, entry in _in_waves(made) if one is wave)


def _ends_when_all_are_back(case: Case, made: Mapping[str, Any]) -> None:
    for wave, component, entry in _in_waves(made):
        usual = 5 * MINUTE if entry["event"]["event_type"] == "Freeze" else 10 * MINUTE
        outage = max(usual, entry["event"]["duration_seconds"] or 0)
        ready = _instant(wave["begin"]) + entry["budget"] * _rounds(component["hosts"], case)
        struck = ready + 60 if entry["approves"] else max(ready, _not_before(entry) or ready)
        assert _instant(wave["end"]) >= struck + outage + BACK + RECOVER + SETTLE


def _approves_only_what_it_has_in_hand(case: Case, made: Mapping[str, Any]) -> None:
    """W-17, W-34, W-50, W-53: each VM that it names is a host of this run that can get ready, or may be hit unprepared by name."""
    hosts = {host.name: host for host in case.hosts}
    for _wave, _component, entry in _in_waves(made):
        assert entry["hosts"]
        for name in entry["hosts"]:
            host = hosts[name]
            assert host.in_run
            assert host.status is not None
            assert host.status.ok
            assert host.status.hold is None
            if entry["approves"]:
                assert abs(host.status.clock_difference or 0.0) <= 300
        if entry["approves"]:
            ready = set(entry["vm_names"].values()) | set(entry["allowed_unready"])
            assert {name.lower() for name in ready} == {name.lower() for name in entry["event"]["resources"]}


def _says_when_it_goes_on(case: Case, made: Mapping[str, Any]) -> None:
    """W-54: in time for a run that is started as often as the scheduler does it."""
    for entry in made["events"]:
        if entry["place"] == "held":
            due_at = _instant(entry["due_at"])
            assert due_at >= NOW
            if entry["last_safe_start"] is not None and "its own agent has it in hand" not in entry["reason"]:
                assert due_at <= _instant(entry["last_safe_start"])
        if entry["place"] == "refused":
            assert "Azure starts at" in entry["reason"] or "Azure can start at any moment" in entry["reason"]
    dates = [entry["due_at"] for entry in made["events"] if entry["place"] == "held"]
    assert made["due_next"] == min(dates, default=None)


# What a host, or the window that is open, keeps from beginning now ends when it ends, whenever the next run comes.
ENDS_BY_ITSELF = ("its own agent has it in hand", " is held by ", "in the window that is open")
JOB_STARTUP = 2 * MINUTE


def _leaves_nothing_to_a_run_that_comes_too_late(case: Case, made: Mapping[str, Any]) -> None:
    """W-54: what is held is still in time when the scheduler starts the next run, and is due by then."""
    for entry in made["events"]:
        if entry["place"] != "held" or entry["last_safe_start"] is None or any(words in entry["reason"] for words in ENDS_BY_ITSELF):
            continue
        due_at, last_run = _instant(entry["due_at"]), _instant(entry["last_safe_start"]) - case.options.period - JOB_STARTUP
        assert last_run >= NOW or due_at == NOW
        assert due_at <= max(NOW, last_run)


# What the rules, the hosts or the length of a run have against an event; everything else is a matter of its turn or of capacity.
OF_ITSELF = re.compile(
    r"refused: (too late, |no rule matches |it also hits |it is to be prepared at |its window opens at |nobody has (asked|compared) "
    r"|the clock of |h\d+ (cannot be reached|has no handler for|is held by|is in the hands of|was not ready in time|has tried))"
)
INSTANT = r"[A-Z][a-z]{2} (\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) UTC"
TURN = re.compile(
    r"refused: (?:it would begin at %s, after \d+ waves? of other hosts|what it is tied to does not begin before %s)" % (INSTANT, INSTANT)
)
HAD_TO = re.compile("and it had to begin by %s; Azure " % INSTANT)
CAPACITY = re.compile(r"refused: \d+ .*(at most \d+ may be|\b\d+ must stay)")


def _said_at(found: Any) -> float:
    date, clock = (part for part in found.groups() if part is not None)
    return _instant("%sT%s%sZ" % (date, clock, "" if clock.count(":") == 2 else ":00"))


def _refuses_with_the_figures(case: Case, made: Mapping[str, Any]) -> None:
    """W-52: whoever reads that there is no room, or no time, can count it."""
    for entry in made["events"]:
        reason = entry["reason"]
        if entry["place"] != "refused" or OF_ITSELF.match(reason):
            continue
        turn, had_to = TURN.match(reason), HAD_TO.search(reason)
        assert turn is not None or CAPACITY.match(reason) is not None, reason
        if had_to is not None:
            assert _said_at(had_to) <= _instant(entry["latest"])
            assert entry["late"] or _said_at(had_to) <= _instant(entry["last_safe_start"])
        if turn is not None:
            assert had_to is not None, reason
            assert max(NOW, _said_at(had_to)) <= _said_at(turn), reason


def _hits_before(entry: Mapping[str, Any], until: float) -> bool:
    """Also what is not due, and what nothing is done about. A pause that is left to Azure keeps its hosts in service."""
    if _is_left_pause(entry):
        return False
    not_before = _not_before(entry)
    return not_before is None or not_before < until


def _is_left_pause(entry: Mapping[str, Any]) -> bool:
    return bool(entry["event"]["event_type"] == "Freeze" and entry["place"] == "left" and entry["action"] == "ignore")


def _hit_during(wave: Mapping[str, Any], case: Case, made: Mapping[str, Any]) -> Set[str]:
    """In it, or by Azure itself before it is over."""
    under_way = {name for entry in made["events"] if entry["place"] == "running" for name in _names(entry, case)}
    begun = {name for entry in made["events"] if _hits_before(entry, _instant(wave["end"])) for name in _names(entry, case)}
    return under_way | begun | set(wave["hosts"])


def _has_witnesses_that_are_not_hit(case: Case, made: Mapping[str, Any]) -> None:
    answered = {host.name for host in case.hosts if host.in_run and host.answer}
    until = _instant(made["waves"][-1]["end"]) if made["waves"] else NOW
    hit = {name for entry in made["events"] if entry["place"] in ("waves", "running") for name in entry["hosts"]}
    hit |= {name for entry in made["events"] if _hits_before(entry, until) for name in _names(entry, case)}
    for wave, component, entry in _in_waves(made):
        peers = [name for name in entry["witnesses"] if name not in entry["hosts"]]
        spared = [name for name in peers if name in hit]
        assert set(peers) <= answered - set(component["hosts"])
        assert entry["witnesses"] == [*(name for name in peers if name not in hit), *spared, *entry["hosts"]]
        assert not [name for name in spared if name in _hit_during(wave, case, made)]
    assert all(wave["guard"] not in hit for wave in made["waves"])


@often
@given(CASES)
def test_every_event_is_placed_once_and_what_is_tied_is_never_split(case: Case) -> None:
    made = case.plan()
    _has_exactly_one_place_and_a_reason(case, made)
    _no_component_is_split_and_no_host_is_in_two(case, made)
    _is_tied_by_due_events_and_nothing_else(case, made)


@often
@given(CASES)
def test_capacity_is_kept_but_for_a_flagged_component_alone_and_what_must_stay_stays_always(case: Case) -> None:
    made = case.plan()
    _keeps_capacity(case, made)
    _never_approves_what_is_over_capacity(case, made)
    _finds_nothing_too_large_to_be_prepared(case, made)


@often
@given(CASES)
def test_no_deadline_is_broken_by_a_window_by_capacity_or_by_the_queue(case: Case) -> None:
    made = case.plan()
    _begins_in_time_for_each_event(case, made)
    _has_one_wave_after_the_other(case, made)
    _takes_the_most_urgent_first(case, made)
    _ends_when_all_are_back(case, made)


@often
@given(CASES)
def test_what_is_approved_is_in_hand_and_of_everything_else_it_is_said_when_it_goes_on(case: Case) -> None:
    made = case.plan()
    _approves_only_what_it_has_in_hand(case, made)
    _says_when_it_goes_on(case, made)
    _leaves_nothing_to_a_run_that_comes_too_late(case, made)
    _refuses_with_the_figures(case, made)
    _has_witnesses_that_are_not_hit(case, made)


def _shown_otherwise(host: Host, random: Any) -> Host:
    """Each host has its own answer, in an order of its own."""
    if host.answer is None:
        return host
    events = list(host.answer.events)
    random.shuffle(events)
    return replace(host, answer=replace(host.answer, events=tuple(events)))


@seldom
@given(CASES, st.randoms(use_true_random=False))
def test_the_order_in_which_hosts_are_known_and_events_are_shown_changes_nothing(case: Case, random: Any) -> None:
    shuffled = [_shown_otherwise(host, random) for host in case.hosts]
    random.shuffle(shuffled)
    assert case.plan(shuffled) == case.plan()
    assert concerned(shuffled, case.facing) == concerned(case.hosts, case.facing)


def _is_plain(value: Any) -> bool:
    """What only derives from one of these types, as a named tuple or an enumeration does, is not plain."""
    kind = value.__class__
    if kind is dict:
        return all(key.__class__ is str and _is_plain(one) for key, one in value.items())
    if kind is list:
        return all(_is_plain(one) for one in value)
    return value is None or kind in (str, int, bool) or (kind is float and value - value == 0.0)


@seldom
@given(CASES)
def test_a_plan_is_plain_data(case: Case) -> None:
    made = case.plan()
    assert _is_plain(made)
    assert json.loads(json.dumps(made)) == made


@seldom
@given(CASES)
def test_everybody_whose_word_a_plan_needs_is_asked_for_it(case: Case) -> None:
    """A host of a due event has been asked, and nobody is as long as nothing can be due."""
    wanted = set(concerned(case.hosts, case.facing))
    made = case.plan()
    assert {name for entry in _due(made).values() for name in entry["hosts"]} <= wanted
    assert wanted <= {host.name for host in case.hosts}


@seldom
@given(CASES)
def test_another_plan_than_the_approved_one_does_nothing(case: Case) -> None:
    made = case.plan()
    approved = Case(
        case.hosts, case.given, Facing(_options(json.dumps({**case.given, "plan_digest": made["digest"]})), NOW, case.facing.forks)
    )
    assert approved.plan() == made
    other = Case(case.hosts, case.given, Facing(_options(json.dumps({**case.given, "plan_digest": "0" * 64})), NOW, case.facing.forks))
    changed = other.plan()
    assert changed["waves"] == []
    assert changed["digest"] == made["digest"]
    assert changed["changed"]
    for before, after in zip(made["events"], changed["events"]):
        assert after["place"] == ("refused" if before["place"] == "waves" else before["place"])
