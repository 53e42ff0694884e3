# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ready handlers and what they act upon, each in a small world of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import ready_scenes


@pytest.fixture
def scene_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """A fresh scene of the handler of this name, with stubs of its programs on PATH."""
    made: List[ready_scenes.Scene] = []

    def make(name: str) -> ready_scenes.Scene:
        scene = ready_scenes.SCENES[name](tmp_path / str(len(made)))
        made.append(scene)
        monkeypatch.setenv("PATH", "%s:/usr/bin:/bin" % scene.programs)
        return scene

    yield make
    for scene in made:
        scene.close()
