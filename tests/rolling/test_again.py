# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last look of a run: what has come meanwhile is named, so that nobody learns of it from Azure."""

from __future__ import annotations

import json
from typing import List

from fleet import PLAYBOOK, Fleet
from nights import ANY_NUMBER, DAY, Night, Task, entry_of


def test_what_is_announced_while_a_run_works_is_due_next(fleet: Fleet, core: str) -> None:
    """Also where a plan was approved before, which it is not in."""
    fleet.add("web1 late1 idle1", scope="web")
    fleet.ready()
    event = fleet.schedule("Reboot", "web1")
    shown = fleet.play(core, check=True, **ANY_NUMBER)
    running = fleet.begin(core, plan_digest=shown.stats["azure_maintenance_digest"], **ANY_NUMBER)
    running.until("Show the plan", kind="end")
    late = fleet.schedule("Redeploy", "late1")
    run = running.wait()
    assert Night(fleet, {"web": event}, run).went_well("web", "web1")
    assert entry_of(shown, event)["place"] == "waves"
    assert late.approved_at is None
    assert run.stats["azure_maintenance_due_next"] is not None
    assert "Due next" in run.stats["azure_maintenance_summary"]
    assert late.event_id in run.stats["azure_maintenance_summary"]


def test_a_run_that_only_watches_looks_again_too(fleet: Fleet, core: str) -> None:
    fleet.add("began1 late1 idle1", scope="web")
    fleet.ready()
    fleet.acts = False
    began = fleet.schedule("Reboot", "began1", runs_for=20.0)
    fleet.simulator.start(began.event_id)
    running = fleet.begin(core, **ANY_NUMBER)
    running.until("Show the plan", kind="end")
    late = fleet.schedule("Redeploy", "late1")
    run = running.wait()
    assert entry_of(run, began)["place"] == "running"
    assert late.event_id in run.stats["azure_maintenance_summary"]


def test_what_was_due_next_in_an_earlier_run_of_the_same_process_is_forgotten(fleet: Fleet, core: str) -> None:
    fleet.add("web1 later1 idle1", scope="web")
    fleet.ready()
    event, later = fleet.schedule("Reboot", "web1"), fleet.schedule("Freeze", "later1", notice=7 * DAY)
    signal, book = fleet.folder / "cancelled", fleet.folder / "book.yml"
    wait: Task = {"ansible.builtin.wait_for": {"path": str(signal), "timeout": 90}, "delegate_to": "localhost", "run_once": True}
    pause: Task = {"hosts": "idle1", "gather_facts": False, "tasks": [{"name": "Wait until Azure has thought better of it", **wait}]}
    run: Task = {"ansible.builtin.import_playbook": PLAYBOOK}
    book.write_text(json.dumps([run, pause, run]), encoding="utf-8")
    rules: List[Task] = [{"name": "reboots", "event_types": ["Reboot"], "action": "prepare_and_approve", "start": "now"}]
    rules += [{"name": "pauses", "event_types": ["Freeze"], "action": "prepare_and_approve", "start": {"before": "auto"}}]
    running = fleet.begin(core, playbook=str(book), rules=rules, **ANY_NUMBER)
    running.until("Wait until Azure has thought better of it")
    fleet.simulator.cancel(later.event_id)
    signal.touch()
    played = running.wait()
    assert played.code == 0
    assert Night(fleet, {"web": event}, played).went_well("web", "web1")
    assert later.event_id.upper() in played.said.upper()
    assert played.stats["azure_maintenance_result"] == "nothing_to_do"
    assert played.stats["azure_maintenance_due_next"] is None
