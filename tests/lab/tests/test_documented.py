# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What docs/lab.md shows is true."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping

import pytest
from lab import Host, Lab, LabError, LabEvent
from lab.client import folder_of
from lab.plan import plan

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lab.md"


def test_the_scenario_of_the_page_holds(lab: Lab) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: Dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    (scenario,) = (value for name, value in names.items() if name.startswith("test_"))
    scenario(lab)


def test_every_call_of_the_page_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for word, kind in (("lab", Lab), ("host", Host), ("event", LabEvent)):
        for name in re.findall(r"`%s\.(\w+)" % word, text):
            assert hasattr(kind, name) or name in ("hosts",), "%s.%s" % (word, name)


def test_the_names_of_the_page_are_those_of_the_lab() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for host in plan(6):
        assert all("`%s`" % name in text for name in (host.name, host.host_name, host.vm_name))


def test_the_command_line_brings_a_lab_up_and_takes_it_down(newest_programs: Path, tmp_path: Path) -> None:
    """As `make lab` does, under a name of its own: somebody's lab may be running."""
    lab = [sys.executable, "-B", "-m", "lab"]
    environment = {**os.environ, "PATH": os.pathsep.join([str(newest_programs), os.environ["PATH"]])}
    up = _run([*lab, "up", "--hosts", "2", "--name", "documented"], environment)
    try:
        assert up.returncode == 0, up.stderr
        shown = dict(re.findall(r"^(inventory|Ansible|an event|a host) +(.*)$", up.stdout, re.MULTILINE))
        assert "frontend1" in Path(shown["inventory"]).read_text(encoding="utf-8")
        asked = _run(shlex.split(shown["Ansible"]), environment)
        assert asked.stdout.count('"events": []') == 2, asked.stdout + asked.stderr
        announced = _run(shlex.split(shown["an event"]), environment)
        assert "Reboot of Web-FE1 is Scheduled" in announced.stdout, announced.stderr
        assert _run([*shlex.split(shown["a host"]), "hostname"], environment).stdout == "srv-fe1\n"
        again = _run([*lab, "up", "--name", "documented"], environment)
        assert again.returncode == 1
        assert again.stderr.endswith("take it down first, `make lab` by `make lab-down`\n")
        copied = tmp_path / "run"
        shutil.copy(shown["Ansible"].split()[0], copied)
    finally:
        down = _run([*lab, "down", "--name", "documented"], environment)
    assert (down.returncode, down.stdout) == (0, "The lab is down.\n")
    assert _run([*lab, "down", "--name", "documented"], environment).stdout == "There is no lab.\n"
    # Its process is gone, and the number may be somebody else's: nothing may run outside of a lab by mistake.
    late = _run([str(copied), "true"], environment)
    assert (late.returncode, late.stderr) == (1, "the lab is not running any more\n")


@pytest.mark.parametrize("name", ["", "..", "../x", "A", "a/b"])
def test_a_name_that_could_be_another_folder_is_refused(name: str) -> None:
    with pytest.raises(LabError, match="a lab's name is of small letters"):
        folder_of(name)


def _run(words: List[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
