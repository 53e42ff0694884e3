# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What begins earlier because others come after it (`_queue`, `_verdicts.pulled_forward`)."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._plan import plan
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import DAY, HOUR, MINUTE
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    NB,
    NOW,
    event,
    facing,
    handler,
    heard,
    hosts,
    status,
)

# With handlers that take a minute: 2 min 30 s before NotBefore, and everybody is back 19 min 10 s later.
LENGTH = 19 * MINUTE + 10
AT = NOW + DAY
LAST = AT - 150


def starts(*events: Dict[str, Any], told: Any = None, forks: int = 5, **given: Any) -> List[float]:
    """When each begins: how many seconds before its last safe start."""
    hostvars = {"h%d" % n: heard("web_%d" % n, *events, status=told or status(), rolling_maintenance_scope="s") for n in range(6)}
    made = plan(hosts(hostvars), facing(forks=forks, **given))
    by_id = {entry["event"]["event_id"]: entry for entry in made["events"]}
    return [_seconds(by_id[one["event_id"]]) for one in events]


def _seconds(entry: Dict[str, Any]) -> float:
    from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import parse_instant

    return float((parse_instant(entry["last_safe_start"]) or 0) - (parse_instant(entry["start_at"]) or 0))


def test_whoever_is_alone_begins_as_late_as_is_safe() -> None:
    assert starts(event(not_before=AT)) == [0]


def test_of_several_at_one_time_each_leaves_time_for_those_behind_it() -> None:
    events = [event("E%d" % number, "web_%d" % number, AT) for number in range(3)]
    assert starts(*events) == [2 * LENGTH, LENGTH, 0]


def test_whoever_fits_beside_the_last_one_needs_no_time_of_his_own() -> None:
    events = [event("E%d" % number, "web_%d" % number, AT) for number in range(3)]
    assert starts(*events, max_unavailable=2) == [LENGTH, 0, 0]
    assert starts(*events, max_unavailable=3) == [0, 0, 0]


def test_one_that_is_over_before_the_next_begins_is_not_hurried() -> None:
    assert starts(event(not_before=AT), event("E2", "web_1", AT + LENGTH)) == [0, 0]
    assert starts(event(not_before=AT), event("E2", "web_1", AT + LENGTH - 60)) == [60, 0]


def test_one_that_begins_while_another_is_out_begins_together_with_it() -> None:
    assert starts(event(not_before=AT), event("E2", "web_1", AT + 5 * MINUTE), max_unavailable=2) == [0, 5 * MINUTE]


def test_two_events_of_one_host_take_one_place() -> None:
    assert starts(event(not_before=AT), event("E2", "web_0", AT)) == [0, 0]


def test_hosts_that_wait_for_others_to_be_prepared_need_more_time() -> None:
    """Two at a time: one more round of preparing, before the last safe start of each alone."""
    events = [event("E%d" % number, "web_%d" % number, AT) for number in range(3)]
    assert starts(*events, max_unavailable=3, forks=1) == [2 * MINUTE] * 3
    assert starts(*events, max_unavailable=3, forks=2) == [MINUTE] * 3


def test_the_slowest_handlers_count() -> None:
    slow = status(handlers_configured=[handler(limit=600.0)])
    events = [event("E%d" % number, "web_%d" % number, AT) for number in range(2)]
    assert starts(*events, told=slow) == [LENGTH + 9 * MINUTE, 0]


@pytest.mark.parametrize(
    "given",
    [
        # What a window opens, what begins at once and what is only prepared has its own time.
        {"rules": [{"action": "prepare_and_approve", "start": "window"}], "windows": [{"from": "20:00", "to": "22:00", "timezone": "UTC"}]},
        {"rules": [{"action": "prepare_and_approve", "start": "now"}]},
        {"rules": [{"action": "prepare"}]},
    ],
)
def test_only_what_is_counted_back_from_its_notbefore_and_approved_is_moved(given: Dict[str, Any]) -> None:
    events = [event("E%d" % number, "web_%d" % number, AT) for number in range(2)]
    first, second = starts(*events, **given)
    assert first == second


def test_what_is_larger_than_allowed_is_in_nobodys_queue() -> None:
    assert starts(event(names="web_0 web_1", not_before=AT), event("E2", "web_2", AT)) == [0, 0]


def test_what_must_begin_now_for_those_behind_it_is_due() -> None:
    events = [event("E%d" % number, "web_%d" % number, NB) for number in range(4)]
    assert starts(*events)[0] == 57.5 * MINUTE
    assert starts(event(not_before=NOW + HOUR)) == [0]
