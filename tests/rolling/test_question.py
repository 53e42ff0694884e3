# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A person at a terminal is asked before each approval: only a typed yes counts."""

from __future__ import annotations

import json
import time
from typing import Any, Callable, Mapping

import pytest
from cores import played
from fleet import PLAYBOOK, Fleet, until
from nights import ANY_NUMBER, DAY, SHORT, Night

# By event, and so by host: what the person types, after how many seconds.
TYPED: Mapping[str, Any] = {"agreed": ("yes", 1.0), "loud": ("  YES ", 1.0), "short": ("y", 1.0), "enter": ("", 1.0), "late": ("yes", 13.0)}
ASK_TIMEOUT = "10s"
APPROVED = ("agreed", "loud")


@played("questions")
def _questions(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Night:
    fleet = fleets()
    fleet.add(" ".join(TYPED), scope="web")
    fleet.add("idle1", scope="web")
    fleet.ready()
    events = {name: fleet.schedule("Reboot", name, notice=DAY) for name in TYPED}
    running = fleet.begin(request.param, terminal=True, ask=True, ask_timeout=ASK_TIMEOUT, **ANY_NUMBER)
    left = dict(TYPED)
    while left:
        until(lambda: running.is_over or any(_is_asked(running.output, name) for name in left), timeout=120, what="a question is asked")
        name = next((name for name in left if _is_asked(running.output, name)), None)
        if name is None:
            break
        words, seconds = left.pop(name)
        # What is typed before the question is thrown away.
        time.sleep(seconds)
        running.type(words + "\r")
    return Night(fleet, events, running.wait())


def test_a_yes_to_an_earlier_run_of_the_same_process_is_none_to_a_later_one(fleet: Fleet, core: str) -> None:
    """Both ask of the first component of the first wave."""
    fleet.add("first1 second1 idle1", scope="web")
    fleet.ready()
    # Whoever looks at more of a host than is asked for is lost here.
    fleet.variables["secret"] = "{{ lookup('ansible.builtin.file', '/nowhere/at/all') }}"
    events = {"first": fleet.schedule("Reboot", "first1", notice=DAY)}
    scheduled, book = fleet.folder / "scheduled", fleet.folder / "twice.yml"
    one = {"name": "Take the hosts through", "ansible.builtin.import_playbook": PLAYBOOK}
    wait = {"name": "Wait for the next event", "ansible.builtin.wait_for": {"path": str(scheduled), "timeout": 60}}
    between = {"name": "Come to the next", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [wait]}
    book.write_text(json.dumps([one, between, one]), encoding="utf-8")
    running = fleet.begin(core, playbook=str(book), terminal=True, ask=True, ask_timeout=ASK_TIMEOUT, **ANY_NUMBER, **SHORT)
    running.answer("first1", "yes")
    running.until("Wait for the next event")
    events["second"] = fleet.schedule("Reboot", "second1", notice=DAY)
    scheduled.touch()
    running.answer("second1", "no")
    night = Night(fleet, events, running.wait())
    assert night.went_well("first", "first1")
    assert night.nobody_approved("second")
    fleet["second1"].wait(events["second"], "BACKED_OUT")


def _is_asked(output: str, name: str) -> bool:
    return "of %s, which are ready?" % name in output


def test_each_is_asked_about_once_its_hosts_are_ready(questions: Night) -> None:
    for name, event in questions.events.items():
        assert questions.run.output.count("Approve %s of %s, which are ready?" % (event.event_id, name)) == 1
        assert questions.fleet[name].runs()[0] == "10-pool prepare"


def test_only_a_typed_yes_is_one(questions: Night) -> None:
    for name in TYPED:
        assert len(questions.posts(name)) == int(name in APPROVED), name
    for name in APPROVED:
        assert questions.went_well(name, name)


@pytest.mark.parametrize("name", [name for name in TYPED if name not in APPROVED])
def test_whoever_is_not_approved_is_given_back_and_the_reason_says_that_nobody_has_said_yes(questions: Night, name: str) -> None:
    host = questions.fleet[name]
    assert (host.state(questions.events[name]), host.in_service) == ("BACKED_OUT", True)
    assert "nobody has said yes to the approval of %s" % questions.events[name].event_id in questions.run.message


def test_a_run_in_which_somebody_has_said_no_is_no_success(questions: Night) -> None:
    assert questions.run.code == 2
    assert questions.run.stats["azure_maintenance_result"] == "failed"
