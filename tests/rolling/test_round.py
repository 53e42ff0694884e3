# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One short round of the playbook: what must hold before anything else is worth playing."""

from __future__ import annotations

from typing import Callable

import pytest
from cores import played
from fleet import Fleet
from nights import ANY_NUMBER, DAY, Night


@played("night")
def _round(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add("web1 web2 web3", scope="web")
    fleet.add("stranger1", scope="stranger")
    fleet.add("stranger2", scope="stranger", managed=False)
    fleet.add("witness1 witness2 posted1", scope="posted")
    fleet["web3"].behave("prepare", "code=1")
    fleet["posted1"].be_busy("25s")
    fleet.ready()
    events = {
        "single": fleet.schedule("Reboot", "web1"),
        "failing": fleet.schedule("Reboot", "web3", notice=9 * DAY),
        "stranger": fleet.schedule("Reboot", "stranger1 stranger2"),
        "posted": fleet.schedule("Reboot", "posted1"),
    }
    running = fleet.begin(request.param, **ANY_NUMBER)
    fleet["posted1"].wait(events["posted"], "PREPARING", timeout=120)
    # It has said what it sees, and is the one that is to post.
    fleet["witness1"].go_dark()
    fleet["posted1"].go_on()
    return Night(fleet, events, running.wait())


def test_a_ready_host_is_approved_once_by_another_one_and_comes_back(night: Night) -> None:
    event, host = night.events["single"], night.fleet["web1"]
    (post,) = night.posts("single")
    assert post.vm in ("web2", "web3")
    assert event.started_at is not None
    assert event.started_at < event.not_before - 600
    assert (host.state(event), host.in_service) == ("CLOSED", True)
    assert host.runs() == ["10-pool prepare", "10-pool recover"]
    assert night.result("single") == "recovered"


def test_a_stand_by_posts_when_the_witness_is_dead(night: Night) -> None:
    (post,) = night.posts("posted")
    assert (post.vm, post.status) == ("witness2", 200)
    assert night.went_well("posted", "posted1")


def test_a_host_that_fails_is_given_back_and_not_approved(night: Night) -> None:
    """W-1."""
    assert night.nobody_approved("failing")
    night.fleet["web3"].wait_until_back()
    assert night.result("failing") == "not_prepared"


def test_an_event_of_a_vm_that_nobody_manages_is_refused(night: Night) -> None:
    """W-53: its host is not touched, and the run says whom it does not know."""
    assert night.nobody_approved("stranger")
    assert night.fleet["stranger1"].runs() == []
    assert night.result("stranger") == "refused"
    assert "Vm-stranger2" in night.run.message


def test_the_round_ends_with_an_error_that_names_who_was_not_ready(night: Night) -> None:
    assert night.run.code == 2
    assert night.run.stats["azure_maintenance_result"] == "failed"
    assert "web3" in night.run.message
    assert "web1" not in night.run.message
