# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleets of hosts in folders, on which the playbook is played with the oldest and the newest version of Ansible."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

# In this order: what stands here must be found before the imports below.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "roles" / "imds_simulator" / "files"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "roles" / "event_handlers" / "files"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import environments
import trees

# The handlers share their module_utils with the modules, and find them as Ansible does.
sys.path.append(str(trees.linked()))

from cores import CORES, RunsTogether, comes_late, one_core_each
from fleet import Controller, Fleet
from nursery import Nursery


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-core-each", action="store_true", help="play each scenario with one version of Ansible, half of them with each")


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    if config.getoption("--one-core-each"):
        wanted = set(one_core_each([item.nodeid for item in items]))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in wanted])
        items[:] = [item for item in items if item.nodeid in wanted]
    items.sort(key=lambda item: comes_late(item.nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> RunsTogether:
    config.option.loadscopereorder = False  # by how many tests there are of a run: that says nothing of how long it takes
    return RunsTogether(config, log)


def _programs() -> Dict[str, str]:
    """By version of ansible-core the folder of its programs, as noxfile.py has made them; else they are made."""
    given = os.environ.get("CLOUD_MAINTENANCE_CORES")
    if given:
        return dict(json.loads(given))
    return {core: str(environments.ensure("core-" + core)) for core in CORES}


@pytest.fixture(scope="session")
def controller() -> Controller:
    return Controller(_programs(), str(trees.linked()), environments.clean_environment())


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    folder = Path(tempfile.mkdtemp(prefix="nursery-"))
    made = Nursery(folder, str(trees.linked()))
    yield made
    made.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=CORES)
def core(request: pytest.FixtureRequest) -> str:
    """Where the two can differ."""
    return str(request.param)


@pytest.fixture
def fleet(nursery: Nursery, controller: Controller) -> Iterator[Fleet]:
    with Fleet(nursery, controller) as made:
        yield made


@pytest.fixture(scope="module")
def fleets(nursery: Nursery, controller: Controller) -> Iterator[Callable[..., Fleet]]:
    """For what several tests look at: fleets that live as long as the file."""
    made: List[Fleet] = []

    def make(**settings: Any) -> Fleet:
        made.append(Fleet(nursery, controller, **settings).__enter__())
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Of a test that has failed: what the runs of its fleets have said, and how their hosts are."""
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if hasattr(value, "told"):
                report.sections.append(("the fleet", value.told()))
    return report
