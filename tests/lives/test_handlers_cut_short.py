# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each ready handler, killed before each thing that it asks for outside itself; hundreds of lives take too long for a unit test."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import urllib.request
from typing import Any, Callable, Iterator, List

import pytest
from ready_scenes import SCENES, Scene

DONE, NOT_YET, WAS_SO = 0, 75, 77


class Killed(BaseException):
    """The machine stops here."""


@pytest.fixture
def killed_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Kills before the so-manieth time that a handler asks for anything outside itself, and so after the effect of the one before."""
    left: List[int] = [0]

    def guarded(where: Any, name: str) -> None:
        original = getattr(where, name)

        def guard(*args: Any, **more: Any) -> Any:
            # The servers of a scene are threads of their own.
            if threading.current_thread() is threading.main_thread():
                if left[0] == 1:
                    raise Killed
                left[0] -= 1
            return original(*args, **more)

        monkeypatch.setattr(where, name, guard)

    for name in ("fsync", "replace", "rename", "unlink", "ftruncate"):
        guarded(os, name)
    guarded(subprocess, "run")
    guarded(socket.socket, "sendall")
    guarded(urllib.request.OpenerDirector, "open")

    def at(number: int) -> None:
        left[0] = number

    yield at
    left[0] = 0


def killed(scene: Scene, phase: str, killed_at: Callable[[int], None], number: int) -> bool:
    """False: it was done before."""
    killed_at(number)
    try:
        while scene.call(phase).code == NOT_YET:
            scene.now += 5
    except Killed:
        return True
    finally:
        killed_at(0)
    return False


@pytest.mark.parametrize("after", ["recover", "prepare and recover"])
@pytest.mark.parametrize("name", sorted(SCENES))
def test_a_preparation_that_was_cut_short_is_undone(
    scene_of: Callable[[str], Scene], killed_at: Callable[[int], None], name: str, after: str
) -> None:
    """Whether it is asked to go on first or not, and wherever it was cut."""
    for number in range(1, 200):
        scene = scene_of(name)
        if not killed(scene, "prepare", killed_at, number):
            break
        if after == "prepare and recover":
            assert scene.until_done("prepare", INTERRUPTED="1").code in (DONE, *(() if scene.restores else (WAS_SO,)))
            assert scene.is_out()
        assert scene.until_done("recover").code == DONE
        assert not (scene.restores and scene.is_out()), "killed at %d" % number
        assert scene.kept() == []
    assert 4 < number < 199


@pytest.mark.parametrize("name", sorted(SCENES))
def test_a_recovery_that_was_cut_short_goes_on(scene_of: Callable[[str], Scene], killed_at: Callable[[int], None], name: str) -> None:
    for number in range(1, 200):
        scene = scene_of(name)
        scene.until_done("prepare")
        if not killed(scene, "recover", killed_at, number):
            break
        assert scene.until_done("recover", INTERRUPTED="1").code == DONE
        assert scene.is_out() is not scene.restores
        assert scene.kept() == []
    assert 1 < number < 199
