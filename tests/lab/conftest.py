# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as a fixture: one for each file of tests, gone when the file is done."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Iterator, List, Mapping

import pytest
from lab import Lab, image, needs
from lab.ansible import Controller, folders_of
from lab.client import CACHE

# What noxfile.py has prepared: folders of programs by version of ansible-core, Pythons by version of target.
CORES: Mapping[str, str] = json.loads(os.environ["CLOUD_MAINTENANCE_CORES"])
TARGETS: Mapping[str, str] = json.loads(os.environ["CLOUD_MAINTENANCE_TARGETS"])


@pytest.fixture(scope="session", autouse=True)
def image_of_the_hosts() -> None:
    """Made before anything is timed."""
    needs.check()
    image.ensure(CACHE)


@pytest.fixture(scope="session")
def targets() -> Mapping[str, str]:
    return TARGETS


@pytest.fixture(scope="session")
def programs() -> Mapping[str, Path]:
    """Where those of each version of Ansible are."""
    return {core: Path(folder) for core, folder in CORES.items()}


@pytest.fixture(scope="session")
def newest_programs(programs: Mapping[str, Path]) -> Path:
    return programs["newest"]


@pytest.fixture(scope="module")
def wanted(request: pytest.FixtureRequest) -> List[str]:
    """The names of the scenarios in SCENARIOS of this file that are to be played."""
    return [name for name in request.module.SCENARIOS if any("[%s]" % name in item.name for item in request.session.items)]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(binds=folders_of(list(TARGETS.values()))) as opened:
        yield opened


@pytest.fixture(params=sorted(CORES))
def controller(request: pytest.FixtureRequest, lab: Lab, tmp_path: Path) -> Controller:
    return Controller(lab, request.param, Path(CORES[request.param]), tmp_path)


@pytest.fixture
def newest(lab: Lab, newest_programs: Path, tmp_path: Path) -> Controller:
    return Controller(lab, "newest", newest_programs, tmp_path)
