# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small files that are replaced whole, whoever is interrupted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from azure_event_handlers import files


class Cut(Exception):
    """As a signal raises it, between any two steps."""


@pytest.mark.parametrize("after", [False, True])
def test_who_is_cut_off_while_writing_hears_of_that_and_leaves_nothing(tmp_path: Path, monkeypatch: Any, *, after: bool) -> None:
    path, replace = tmp_path / "a.json", os.replace
    files.write_text(str(path), "old")

    def cut(source: str, target: str) -> None:
        if after:
            replace(source, target)
        raise Cut

    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", cut)
        with pytest.raises(Cut):
            files.write_text(str(path), "new")
    assert path.read_text(encoding="utf-8") == ("new" if after else "old")
    assert os.listdir(tmp_path) == ["a.json"]
