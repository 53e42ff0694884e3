# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that lacks something hears what it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lab import Lab, Missing, needs


def test_missing_programs_are_named_with_the_command_that_brings_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(needs, "_FOLDERS", ())
    with pytest.raises(Missing) as told:
        Lab("never").open()
    assert str(told.value) == (
        "A lab needs iproute2, mmdebstrap, mount, openssh-client, systemd-container, util-linux:"
        " apt-get install iproute2 mmdebstrap mount openssh-client systemd-container util-linux."
    )


def test_whoever_is_not_root_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Missing, match=r"^A lab needs root, for namespaces and mounts: run it as root or with sudo\.$"):
        Lab("never").open()


def test_another_system_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(Missing, match="A lab needs Linux"):
        Lab("never").open()
