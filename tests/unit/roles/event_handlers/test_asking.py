# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who follows a request takes nothing for a yes that is another one's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import asking, published, spool
from azure_event_handlers import records as r
from azure_event_handlers.asking import Asking
from azure_event_handlers.paths import Paths
from azure_event_handlers.published import Status
from azure_event_handlers.records import Driver, Record, Who
from azure_event_handlers.spool import Answer
from azure_event_handlers.terms import Term

EVENT = Event("E-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), 2000.0, "", 9)
DRIVER = Driver("playbook", "run 1", Term(1600.0))
DOUBTED = "10-a says that it is in service"


class Executor:
    """Says yes to everything, and shows one record."""

    def __init__(self, folder: Path, record: Record) -> None:
        self.paths = Paths(str(folder))
        for path in (self.paths.requests, self.paths.answers):
            os.makedirs(path)
        published.write(self.paths.status, Status(1000.0, "boot", "vm", records=(record,)))

    def asking(self) -> Asking:
        return Asking(self.paths, Clock(sleep=self._answer), lambda _record: None)

    def _answer(self, _seconds: float) -> None:
        for request in spool.waiting(self.paths.requests, by_agent=False)[0]:
            spool.give_answer(self.paths.answers, request, Answer(True))


@pytest.mark.parametrize(
    ("run", "verdict", "message"),
    [
        ("run 1", asking.COMMITTED, "This host gives its word: the event may be approved."),
        ("run 2", asking.COMMIT_REFUSED, "This host does not give its word: it is in the hands of playbook (run run 1) by now."),
    ],
)
def test_a_word_is_given_to_who_has_the_host_in_hand(tmp_path: Path, run: str, verdict: str, message: str) -> None:
    """W-37, W-38: the lease of one who asks can be over before the handlers have looked."""
    record = Record(EVENT, 1, "vm", state=r.COMMITTED, driver=DRIVER, given_to=(DRIVER.who,))
    shown: Any = {"event_id": "E-1", "resources": ["web_0"]}
    said = Executor(tmp_path, record).asking().ask(spool.COMMIT, "E-1", timeout=5.0, event=shown, driver="playbook", run=run, lease=600.0)
    assert (said.verdict, said.message) == (verdict, message)


@pytest.mark.parametrize(
    ("more", "verdict", "message"),
    [
        (dict(given_to=(Who("playbook", "run 0"), DRIVER.who)), asking.COMMITTED, "This host gives its word: the event may be approved."),
        (dict(given_to=(DRIVER.who,), committing=True), asking.PENDING, asking._PENDING % 1.0),
        (
            dict(given_to=(Who("playbook", "run 0"),), commit_refused=DOUBTED),
            asking.COMMIT_REFUSED,
            "This host does not give its word: 10-a says that it is in service;"
            " it stays as it is, for its word was given to playbook (run run 0) before, and an approval may be on its way.",
        ),
        (
            dict(given_to=(Who("playbook", "run 0"),)),
            asking.COMMIT_REFUSED,
            "This host does not give its word: nobody has looked at it since it was asked;"
            " it stays as it is, for its word was given to playbook (run run 0) before, and an approval may be on its way.",
        ),
    ],
    ids=["looked at afresh", "not yet", "in service", "not looked at"],
)
def test_the_answer_is_that_of_the_look_that_was_asked_for(tmp_path: Path, more: Any, verdict: str, message: str) -> None:
    """W-41, W-5: a word that another one was given before is no answer, and what stands is said."""
    record = Record(EVENT, 1, "vm", state=r.COMMITTED, driver=DRIVER, **more)
    shown: Any = {"event_id": "E-1", "resources": ["web_0"]}
    asks = Executor(tmp_path, record).asking()
    said = asks.ask(spool.COMMIT, "E-1", timeout=1.0, event=shown, driver="playbook", run="run 1", lease=600.0)
    assert (said.verdict, said.message) == (verdict, message)


def test_a_host_that_has_lost_its_records_is_not_waited_for(tmp_path: Path) -> None:
    """W-49: its disk was wiped; nothing of the event is in effect there, and it says so."""
    executor = Executor(tmp_path, Record(EVENT, 1, "vm", state=r.COMMITTED, driver=DRIVER))
    waiting = executor.asking().wait("E-1", timeout=0.0)
    assert waiting is not None
    assert waiting.verdict == asking.PENDING
    published.write(executor.paths.status, Status(1000.0, "boot 2", "vm"))
    forgotten = executor.asking().wait("E-1", timeout=0.0)
    assert forgotten is not None
    assert (forgotten.verdict, forgotten.record) == (asking.OVER, None)
    assert forgotten.message == "This host knows of no such event, so nothing of it is in effect."
