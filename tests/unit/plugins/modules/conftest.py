# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stage on which the modules run."""

from __future__ import annotations

from typing import Iterator

import pytest
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules import _harness


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[_harness.Stage]:
    """Three VMs of one scope, and one by itself; the clock stands at 2026-11-18T09:46:00Z until somebody sleeps."""
    with _harness.stage(monkeypatch) as prepared:
        yield prepared
