# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a host that `make rehearse` shows: it fails where the host was not ready, and leaves nothing behind."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, List, Tuple

import pytest
from host_life import HostLife, live
from nursery import processes_of
from story import Page, Terminal


def _live(**options: Any) -> Tuple[int, str]:
    stream = io.StringIO()
    code = live(Page(stream, Terminal(width=100, utf8=True, colour=False)), **options)
    return code, stream.getvalue()


def test_a_host_that_is_ready_is_approved_and_recovered_and_nothing_is_left() -> None:
    folders: List[str] = []
    code, story = _live(spoil=lambda _simulator, host: folders.append(str(host.folder)))
    assert code == 0, story
    states = ["SEEN", "PREPARING", "PREPARED", "COMMITTED", "IMPACT", "RECOVERING", "CLOSED"]
    places = [story.index("%s. " % state) for state in states if "%s. " % state in story]
    assert places == sorted(places)
    assert "10-pool recover: requests come again" in story
    assert not os.path.exists(folders[0])
    assert processes_of(Path(folders[0])) == []


def test_a_handler_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("host_life.LIMIT", 15.0)

    def spoil(_simulator: Any, host: HostLife) -> None:
        handler = host.folder / "etc" / "azure-event-handlers" / "handlers.d" / "10-pool"
        handler.write_text("#!/bin/sh\necho 'the pool does not answer'; test $1 = recover\n", encoding="utf-8")

    code, story = _live(spoil=spoil)
    assert code == 1
    assert "10-pool prepare: the pool does not answer" in story
    assert "After 15 seconds the host is BACKED_OUT." in story
