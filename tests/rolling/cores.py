# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With which version of Ansible something is tried."""

from __future__ import annotations

from typing import Any, Callable

import pytest

OLDEST, NEWEST = "2.16", "newest"
CORES = (OLDEST, NEWEST)


def played(name: str, *cores: str) -> Callable[[Any], Any]:
    """A fixture with a run at which several tests look, once with each version; request.param is the version.

    Its tests stay with one worker of pytest-xdist (--dist loadgroup), or it would be played by each.
    """
    params = [pytest.param(core, marks=pytest.mark.xdist_group("%s-%s" % (name, core))) for core in cores or CORES]
    return pytest.fixture(scope="module", params=params, name=name)
