# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples on the pages about policy and plans are what the code makes of them, word by word."""

from __future__ import annotations

import re
import textwrap
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import (
    APPROVE_RESERVE,
    CONTROLLER_CLOCK_ERROR,
    HOST_CLOCK_ERROR,
    PREPARE_BUDGET,
    SHORTEST_IN_A_PLAYBOOK,
    SHORTEST_ON_A_HOST,
    Facts,
    Settings,
    Times,
    check_policy,
    decide,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import ACTIONS, DEFAULT_RULES, KEYS, Policy, parse_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import parse_duration, parse_instant
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import parse_windows, with_zones
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import plan
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import BERLIN, utc
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    event,
    facing,
    heard,
    hosts,
    status,
)

PAGES = Path(__file__).resolve().parents[4] / "docs" / "docsite" / "rst"
PLANS, POLICY = (PAGES / name for name in ("rolling_policy.rst", "policy.rst"))
HOSTS = ("web1", "web2", "web3", "web4")
PREFIX = "rolling_maintenance_"


class Row(NamedTuple):
    """One event of an example: its cells, and what they say."""

    what: str
    place: str
    reason: str

    @property
    def announced(self) -> Tuple[str, List[str], float]:
        """Type, VMs and notice of "Reboot of web1 and web2 in 15 min"."""
        found = re.fullmatch(r"``(\w+)`` of ((?:\w+(?:, | and )?)+) in (\d+) ([smhd])\w*", self.what)
        assert found, self.what
        return found.group(1), re.split(", | and ", found.group(2)), parse_duration(found.group(3) + found.group(4))


def _examples() -> List[Tuple[str, str]]:
    """The sections with an example, by their headings."""
    parts = re.split(r"\n([^\n]+)\n-+\n", PLANS.read_text(encoding="utf-8"))
    return [(parts[number], parts[number + 1]) for number in range(1, len(parts) - 1, 2) if "   * - Event\n" in parts[number + 1]]


def _settings(section: str, yaml: Any) -> Dict[str, Any]:
    blocks = re.findall(r"\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)", section)
    found: Dict[str, Any] = yaml.safe_load(textwrap.dedent(blocks[0])) if blocks else {}
    return {name[len(PREFIX) :]: value for name, value in found.items()}


def _tables(section: str) -> List[Tuple[float, List[Row]]]:
    """With the time that is said before each."""
    found = []
    for date, table in re.findall(r"On \w+ ([\d-]+ at \d\d:\d\d):\n\n\.\. list-table::\n((?:   .*\n|\n)+)", section):
        rows = [re.split(r"\n     - ", row) for row in table.split("   * - ")[2:]]
        found.append((float(utc(date.replace(" at", ""))), [Row(*(" ".join(cell.split()) for cell in row)) for row in rows]))
    return found


def _event(row: Row, number: int, now: float) -> Dict[str, Any]:
    kind, names, notice = row.announced
    return event("E%d" % number, " ".join(names), now + notice, event_type=kind, duration_seconds=30 if kind == "Freeze" else 9)


def _planned(events: Sequence[Mapping[str, Any]], now: float, settings: Mapping[str, Any]) -> Dict[str, Mapping[str, Any]]:
    """By id."""
    return {entry["event"]["event_id"]: entry for entry in _plan(events, now, settings)["events"]}


def _plan(events: Sequence[Mapping[str, Any]], now: float, settings: Mapping[str, Any]) -> Dict[str, Any]:
    """For four hosts of one scope, whose handlers may take a minute."""
    hostvars = {name: heard(name, *events, status=status(), rolling_maintenance_scope="web") for name in HOSTS}
    return plan(hosts(hostvars), facing(now, **settings))


def _shown(entry: Mapping[str, Any]) -> str:
    return "wave %s" % entry["component"] if entry["place"] == "waves" else str(entry["place"])


EXAMPLES = _examples()


@pytest.mark.parametrize("section", [section for _title, section in EXAMPLES], ids=[title for title, _section in EXAMPLES])
def test_an_example_is_what_the_plan_makes_of_it(section: str) -> None:
    yaml = pytest.importorskip("yaml", reason="the examples are YAML; a target's bare Python has no parser for it")
    settings, tables = _settings(section, yaml), _tables(section)
    assert tables
    for now, rows in tables:
        found = _planned([_event(row, number, now) for number, row in enumerate(rows)], now, settings)
        for number, row in enumerate(rows):
            entry = found["E%d" % number]
            assert (row.place, row.reason) == (_shown(entry), entry["reason"]), row.what


def test_the_page_has_all_its_examples() -> None:
    assert len(EXAMPLES) >= 7
    text = PLANS.read_text(encoding="utf-8")
    assert sum(len(_tables(section)) for _title, section in EXAMPLES) == text.count("   * - Event\n")
    dates = re.findall(r"\bOn (\w+day) (\d{4}-\d\d-\d\d) at", text)
    assert dates
    assert [(day, datetime.strptime(date, "%Y-%m-%d").strftime("%A")) for day, date in dates] == [(day, day) for day, _date in dates]


def test_a_wave_is_as_long_as_the_page_says() -> None:
    at_once = [{"name": "at once", "action": "prepare_and_approve", "start": "now"}]
    now = float(utc("2026-11-18 09:00"))
    (wave,) = _plan([event("E0", "web1", now + 3600.0)], now, {"rules": at_once})["waves"]
    found = re.search(r"a wave with a ``Reboot`` takes (\d+) min (\d+) s here", PLANS.read_text(encoding="utf-8"))
    assert found
    assert (parse_instant(wave["end"]) or 0.0) - (parse_instant(wave["begin"]) or 0.0) == int(found.group(1)) * 60 + int(found.group(2))


def test_what_is_due_next_is_as_the_page_says() -> None:
    (section,) = (section for title, section in EXAMPLES if title == "Nothing to do yet")
    ((now, rows),) = _tables(section)
    due = str(_plan([_event(row, number, now) for number, row in enumerate(rows)], now, {})["due_next"])
    assert "says that the next thing is due at %s." % due[11:19] in " ".join(section.split())


# --- the page about the policy ----------------------------------------------------------------------------------------

# When its decisions were made, and when an event comes of which it does not say when.
DECIDED, USUAL = float(utc("2026-11-18 12:00")), 15 * 60.0
ON_CONTROLLER = Facts(CONTROLLER_CLOCK_ERROR)


@pytest.fixture(scope="module")
def yaml() -> Any:
    return pytest.importorskip("yaml", reason="the page's rules and windows are YAML; a target's bare Python has no parser for it")


def _policy_page() -> str:
    return POLICY.read_text(encoding="utf-8")


def _yaml_after(heading: str, yaml: Any) -> Any:
    block = re.search(r"\n%s\n-+\n[\s\S]*?code-block:: yaml\n\n((?:   .*\n|\n)+)" % heading, _policy_page())
    assert block, heading
    return yaml.safe_load(textwrap.dedent(block.group(1)))


def _rows_of(heading: str) -> List[List[Tuple[str, str]]]:
    """Of each table with this heading the two cells of its rows."""
    tables = [re.split(r"\n(?=\S)", table, maxsplit=1)[0] for table in _policy_page().split("   * - %s\n" % heading)[1:]]
    found = []
    for table in tables:
        cells = [row.split("\n     - ", 1) for row in table.split("   * - ")[1:]]
        found.append([(" ".join(first.split()), " ".join(second.split())) for first, second in cells])
    return found


def _announced(what: str, reason: str) -> Event:
    """What a cell such as "``Reboot`` in 15 min, asked for by a user" means. Of a type that nobody knows the reason has the name."""
    known = re.fullmatch(r"``(\w+)``(?: in (\d+) ([smd])\w*)?(?: of (\d+) s)?(, asked for by a user)?", what)
    unknown = re.search(r"the type '(\w+)'", reason)
    started = what == "any, already started"
    assert started or (known and not unknown) or (what == "a type that nobody knows" and unknown), what
    notice = parse_duration(known.group(2) + known.group(3)) if known and known.group(2) else USUAL
    return Event(
        event_id="E",
        event_type=known.group(1) if known else unknown.group(1) if unknown else "Reboot",
        event_status="Started" if started else "Scheduled",
        event_source="User" if known and known.group(5) else "Platform",
        resource_type="VirtualMachine",
        resources=("web_0",),
        not_before=None if started else DECIDED + notice,
        description="",
        duration_seconds=int(known.group(4)) if known and known.group(4) else 9,
    )


def _decided(rows: Sequence[Tuple[str, str]], policy: Policy, settings: Settings) -> List[Tuple[str, str]]:
    return [
        (what, decide(_announced(what, reason), policy=policy, facts=ON_CONTROLLER, now=DECIDED, settings=settings).reason)
        for what, reason in rows
    ]


def test_the_default_policy_is_the_one_that_the_page_shows(yaml: Any) -> None:
    assert _yaml_after("The default", yaml) == DEFAULT_RULES


def test_every_key_and_every_action_is_in_its_table() -> None:
    (keys,), (actions,) = _rows_of("Key"), _rows_of("Action")
    assert sorted(word for cell, _meaning in keys for word in re.findall(r"``(\w+)``", cell)) == sorted(KEYS)
    assert [cell.strip("`") for cell, _meaning in actions] == list(ACTIONS)


def test_every_decision_of_the_page_is_what_the_policy_decides(yaml: Any) -> None:
    by_default, in_a_window = _rows_of("Event")
    assert (len(by_default), len(in_a_window)) == (9, 2)
    assert _decided(by_default, parse_policy(DEFAULT_RULES), Settings()) == by_default
    windows = with_zones(parse_windows(_yaml_after("Windows", yaml)), {"Europe/Berlin": BERLIN})
    at_night = parse_policy([{"name": "at night", "action": "prepare_and_approve", "start": "window"}])
    assert _decided(in_a_window, at_night, Settings(windows=windows)) == in_a_window


def _error_of(rule: Mapping[str, Any]) -> Optional[str]:
    try:
        check_policy(parse_policy([rule]), facts=ON_CONTROLLER, settings=Settings())
    except ConfigurationError as error:
        return error.message
    return None


def test_every_error_of_the_page_is_what_a_policy_is_refused_with() -> None:
    wrong = (
        {"name": "a", "action": "aprove"},
        {"name": "spot", "event_types": ["Preempt"], "action": "approve"},
        {"name": "early", "action": "prepare_and_approve", "start": {"before": "5m"}},
    )
    block = _policy_page().split("What is wrong is named by rule and key:", 1)[1].split(".. code-block:: text\n\n", 1)[1]
    shown = [line.strip() for line in block.split("\n\n", 1)[0].splitlines()]
    assert shown == [_error_of(rule) for rule in wrong]


def test_a_time_without_quotes_is_refused_with_an_explanation() -> None:
    text = " ".join(_policy_page().split())
    assert "YAML makes the number 1320 of an unquoted ``22:00``. That is refused, with this explanation." in text
    with pytest.raises(ConfigurationError, match="YAML makes a number of an unquoted 22:00: put it in quotes"):
        parse_windows([{"from": 1320, "to": "24:00", "timezone": "UTC"}])


def test_the_arithmetic_of_the_page_is_that_of_the_code() -> None:
    text = " ".join(_policy_page().split())
    needed = Times(None, PREPARE_BUDGET, APPROVE_RESERVE, CONTROLLER_CLOCK_ERROR).needed
    parts = (PREPARE_BUDGET / 60, APPROVE_RESERVE, CONTROLLER_CLOCK_ERROR, needed // 60, needed % 60)
    assert "takes %d min + %d s + %d s, and begins at the latest %d min %d s before NotBefore" % parts in text
    assert "else %d min V approve reserve: %d s if the action approves" % (PREPARE_BUDGET / 60, APPROVE_RESERVE) in text
    assert "at least %d s on the controller, %d s on a host" % (CONTROLLER_CLOCK_ERROR, HOST_CLOCK_ERROR) in text
    assert "less than %d seconds left (%d on the host itself)" % (SHORTEST_IN_A_PLAYBOOK, SHORTEST_ON_A_HOST) in text
