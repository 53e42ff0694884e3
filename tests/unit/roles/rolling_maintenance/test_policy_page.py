# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples on the page about plans are what the plan makes of them, word by word."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import parse_duration
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import plan
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import utc
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    event,
    facing,
    heard,
    hosts,
    status,
)

PAGE = Path(__file__).resolve().parents[4] / "docs" / "docsite" / "rst" / "rolling_policy.rst"
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
    parts = re.split(r"\n([^\n]+)\n-+\n", PAGE.read_text(encoding="utf-8"))
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
    """By id. Four hosts of one scope, whose handlers may take a minute."""
    hostvars = {name: heard(name, *events, status=status(), rolling_maintenance_scope="web") for name in HOSTS}
    entries = plan(hosts(hostvars), facing(now, **settings))["events"]
    return {entry["event"]["event_id"]: entry for entry in entries}


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
