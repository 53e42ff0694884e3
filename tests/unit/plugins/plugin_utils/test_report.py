# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as a table (`_report`)."""

from __future__ import annotations

from typing import Any, List

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._report import WIDTH, report
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import Night, at, entry

FULL_ID = "602D9444-D2CD-49C7-8624-8643E7171297"


def plan_of_all_kinds() -> Night:
    night = Night(entry(FULL_ID, "web1 web2", reason="wave 1 at Wed 2026-11-18 09:46 UTC: rule at once", notes=["web9 was not shown it"]))
    others = [
        entry(
            "A2-later",
            "db1",
            place="held",
            reason="held until Sat 22:00 Europe/Berlin: rule disruption, window; last safe start Sun 03:10",
            due_at="2026-11-21T20:58:00Z",
        ),
        entry("B3", "", place="left", action="ignore", event={"resources": ["x"], "event_type": "Freeze"}, reason="left to Azure"),
        entry("C4", "web3", place="refused", unmanaged=["vm-x"], reason="refused: it also hits vm-x, no host of this run"),
        entry("D5", "web4", place="running", not_before=None, event={"not_before": None, "event_type": "Redeploy"}, reason="watched"),
    ]
    night.plan["events"] += [{**one, "wave": None, "component": None} for one in others]
    night.plan.update(due_next="2026-11-21T20:58:00Z", due_next_event="A2-later")
    return night


def lines(night: Night) -> List[str]:
    return report(night.plan, night.options).splitlines()


def test_the_whole_plan() -> None:
    assert lines(plan_of_all_kinds()) == [
        "5 events: 1 in 1 wave, 1 running, 1 held, 1 refused, 1 left",
        "",
        "PLACE      EVENT     TYPE       HOSTS             WHEN (UTC)        REASON",
        "running    D5        Redeploy   web4              -                 watched",
        "wave 1.1   602D9444  Reboot     web1 web2         Wed 11-18 09:46   wave 1 at Wed 2026-11-18 09:46",
        "                                                                    UTC: rule at once; web9 was not",
        "                                                                    shown it",
        "held       A2-later  Reboot     db1               Sat 11-21 20:58   held until Sat 22:00",
        "                                                                    Europe/Berlin: rule disruption,",
        "                                                                    window; last safe start Sun",
        "                                                                    03:10",
        "refused    C4        Reboot     web3 (vm-x)       Wed 11-18 10:00   refused: it also hits vm-x, no",
        "                                                                    host of this run",
        "left       B3        Freeze     -                 Wed 11-18 10:00   left to Azure",
        "",
        "Wave 1, Wed 2026-11-18 09:46 UTC to about 10:16: web1, web2; guard idle1.",
        "Due next: Sat 2026-11-21 20:58 UTC, event A2-later.",
        "Bounds of all hosts: max_unavailable 1, min_available 1",
        "Digest of this plan: %s" % ("ab" * 32),
    ]


def test_no_line_is_wider_than_a_terminal() -> None:
    night = plan_of_all_kinds()
    night.plan["events"] += [
        entry("E" * 300, "h" * 200, place="held", reason="r" * 500, event={"event_type": "T" * 50}),
        entry("F6", " ".join("host%d" % number for number in range(40)), place="held"),
    ]
    night.plan.update(blind=["b%d" % number for number in range(90)], conflicts=["c " * 90], changed="d " * 90)
    assert max(map(len, lines(night))) <= WIDTH
    told = " ".join(" ".join(lines(night)).split())
    assert "Nobody knows what Azure announces to b0, b1," in told
    assert "Look at the inventory: c c c" in told
    assert "Nothing is begun: d d d" in told


def test_many_hosts_are_counted() -> None:
    night = Night(entry("E1", " ".join("host%02d" % number for number in range(15))))
    told = "\n".join(lines(night))
    assert "and 3 more" in told
    assert "host14" not in told.split("Wave 1", maxsplit=1)[0]


def test_waves_come_in_their_order_and_events_by_their_time() -> None:
    night = Night(entry("E1", "web1"), entry("E2", "web2", wave=2, component="2.1"))
    second = {**night.wave, "number": 2, "begin": at(1800), "end": None, "guard": None, "hosts": ["web2"]}
    night.plan["waves"] = [second, night.wave]
    night.plan["events"].reverse()
    told = lines(night)
    assert told[0] == "2 events: 2 in 2 waves, 0 running, 0 held, 0 refused, 0 left"
    assert [line.split()[1] for line in told if line.startswith("wave")] == ["1.1", "2.1"]
    assert [line for line in told if line.startswith("Wave")] == [
        "Wave 1, Wed 2026-11-18 09:46 UTC to about 10:16: web1, web2; guard idle1.",
        "Wave 2: web2.",
    ]


def test_a_wave_over_midnight_ends_on_another_day() -> None:
    night = Night(entry("E1", "web1"))
    night.wave["end"] = at(86400)
    assert "Wave 1, Wed 2026-11-18 09:46 UTC to about Thu 11-19 09:46: web1; guard idle1." in lines(night)


def test_a_share_is_said_in_percent() -> None:
    night = Night(entry("E1", "web1"))
    night.options.update(max_unavailable={"percent": 20}, min_available=2)
    assert "Bounds of all hosts: max_unavailable 20%, min_available 2" in lines(night)


@pytest.mark.parametrize("plan", [None, "plan", {}, {"events": []}])
def test_nothing_announced(plan: Any) -> None:
    assert report(plan, None) == "Azure announces no maintenance to these hosts."


def test_where_nobody_has_answered_nobody_says_that_nothing_is_announced() -> None:
    told = report({"events": [], "blind": ["web1"]}, None).splitlines()
    assert told[0] == "No event is known, and not every host could be asked."
    assert told[1].startswith("Nobody knows what Azure announces to web1, for no host of their scope has answered,")


def test_what_cannot_be_understood_is_shown_as_such() -> None:
    plan = {
        "events": [{"key": "x", "event": None, "place": ["waves"], "wave": {}}, {"key": "y", "place": "waves", "hosts": [7], "wave": []}],
        "waves": [{"number": "one", "hosts": 7}],
    }
    assert report(plan, {}).splitlines() == [
        "2 events: 1 in 1 wave, 0 running, 0 held, 0 refused, 0 left",
        "",
        "PLACE      EVENT     TYPE       HOSTS             WHEN (UTC)        REASON",
        "wave ?     ?         ?          -                 -                 -",
        "?          ?         ?          -                 -                 -",
        "",
        "Wave 0: nobody.",
    ]
