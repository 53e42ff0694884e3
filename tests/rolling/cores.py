# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With which version of Ansible a scenario is played, and which tests share a run."""

from __future__ import annotations

import re
import zlib
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

import pytest
from xdist.scheduler import LoadScopeScheduling

OLDEST, NEWEST = "2.16", "newest"
CORES = (OLDEST, NEWEST)
# Scenarios of what the versions of Ansible do differently: each version plays all of them.
ALWAYS_EACH = "test_lost.py"
# Runs that take minutes are begun first: the last to end has the machine for itself.
LONG = ("dark", "calm", "doubtful", "approving")
_CORE = "(?:%s)" % "|".join(re.escape(core) for core in CORES)
_VERSION = re.compile(r"(?<=[\[@-])%s(?=[\]-]|$)" % _CORE)
_SHARED = re.compile(r"(\w+)@%s\b" % _CORE)


def played(name: str, *cores: str) -> Callable[[Any], Any]:
    """A fixture with a run that several tests judge, once with each version of Ansible; request.param is the version."""
    params = [pytest.param(core, id="%s@%s" % (name, core)) for core in cores or CORES]
    return pytest.fixture(scope="module", params=params, name=name)


class RunsTogether(LoadScopeScheduling):  # type: ignore[misc]  # xdist brings no types
    """Tests that judge the same run stay with one worker of pytest-xdist, or each worker would play that run again.

    The group marker of pytest-xdist 3.8 is not used: with pytest 9.2 it groups nothing, without a word.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _run_of(nodeid) or nodeid


def one_core_each(names: Sequence[str]) -> List[str]:
    """Of the names of tests those to play where each scenario is played with one version, half of them with each.

    A scenario that there is with one version only is played with that one, and those of ALWAYS_EACH with each.
    """
    scenarios = {name: _scenario(name) for name in names}
    versions: Dict[str, Set[str]] = {}
    for name, scenario in scenarios.items():
        if scenario is not None:
            versions.setdefault(scenario, set()).update(_VERSION.findall(name))
    chosen = {scenario: _one_of(scenario, seen) for scenario, seen in versions.items()}
    return [name for name, scenario in scenarios.items() if scenario is None or chosen[scenario] in _VERSION.findall(name)]


def comes_late(name: str) -> bool:
    """Whether others are to be begun before this test."""
    shared = _SHARED.search(name)
    return shared is None or shared.group(1) not in LONG


def _run_of(name: str) -> Optional[str]:
    """The run that this test judges together with others, by file, fixture and version; None for a test of its own."""
    shared = _SHARED.search(name)
    return "%s %s" % (name.split("::")[0], shared.group()) if shared else None


def _scenario(name: str) -> Optional[str]:
    """What stays the same whichever version plays it; None for what is played always. The tests of one run are one scenario."""
    if name.split("::")[0].endswith(ALWAYS_EACH):
        return None
    found, versions = _VERSION.subn("", _run_of(name) or name)
    return found.rstrip("@") if versions else None


def _one_of(scenario: str, versions: Set[str]) -> str:
    known = [core for core in CORES if core in versions]
    return known[zlib.crc32(scenario.encode()) % len(known)]
