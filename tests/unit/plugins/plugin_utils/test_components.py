# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts are tied to each other by due events (`_components`)."""

from __future__ import annotations

from typing import List

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._components import component_of, components
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import AT_ONCE, event, facing, heard, judged


def tied(*names: str) -> List[str]:
    """The components of due events with these VMs each, as the hosts and the events of each."""
    events = [event("E%d" % number, each) for number, each in enumerate(names)]
    found = judged({"h%d" % number: heard("web_%d" % number, *events) for number in range(6)}, facing(rules=[AT_ONCE]))
    return ["%s: %s" % (" ".join(one.hosts), " ".join(each.sighting.event.event_id for each in one.verdicts)) for one in components(found)]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], []),
        (["web_0"], ["h0: E0"]),
        (["web_0", "web_1"], ["h0: E0", "h1: E1"]),
        (["web_0", "web_0"], ["h0: E0 E1"]),
        (["web_0 web_1", "web_2", "web_1 web_2"], ["h0 h1 h2: E0 E1 E2"]),
        # Two pairs that a third event ties, and one that it does not.
        (["web_0 web_1", "web_2 web_3", "web_5", "web_3 web_0"], ["h0 h1 h2 h3: E0 E1 E3", "h5: E2"]),
        (["web_3 web_4", "web_2 web_3", "web_1 web_2", "web_0 web_1"], ["h0 h1 h2 h3 h4: E0 E1 E2 E3"]),
    ],
)
def test_whoever_shares_an_event_is_tied(names: List[str], expected: List[str]) -> None:
    assert tied(*names) == expected


def test_a_host_that_goes_down_outside_of_the_run_is_away_with_them() -> None:
    hostvars = {"h%d" % number: heard("web_%d" % number, event(names="web_1 web_0")) for number in range(2)}
    component = component_of(judged(hostvars, facing(rules=[AT_ONCE]), outside=["h0"]))
    assert (component.hosts, component.away, component.over_capacity) == (("h1",), ("h0", "h1"), False)
