# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What make calls: sets up what a command needs and runs it. Standard library only, any Python from 3.8 on."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import List

import environments
import everything
import places
import pythons
import system
import trees
from places import ROOT


def nox(arguments: List[str]) -> int:
    session, rest = arguments[0], arguments[1:]
    return subprocess.call([*everything.nox_command(), "--session", session, *rest], cwd=ROOT, env=environments.clean_environment())


def script(path: str, arguments: List[str]) -> int:
    """Runs a script of the project with Ansible, the libraries of the target and the collection of this checkout."""
    environment = trees.play_environment()
    if os.environ.get("NO_COLOR") is None:
        environment.pop("NO_COLOR")
    if not (ROOT / path).exists():
        raise environments.Missing(f"{path} is not part of this checkout")
    python = str(environments.ensure(environments.play()) / "python")
    return subprocess.call([python, path, *arguments], cwd=ROOT, env=environment)


def lab(arguments: List[str]) -> int:
    """The lab of tests/lab, with Ansible and the collection of this checkout at hand inside."""
    system.prepare_lab()
    environment = trees.play_environment()
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], *places.LAB])
    python = str(environments.ensure(environments.play()) / "python")
    return subprocess.call([python, "-B", "-m", "lab", *arguments], cwd=ROOT, env=environment)


def list_checks() -> int:
    for check in everything.sessions():
        sys.stdout.write(f"{check.name:24} {check.description}\n")
    return 0


def list_pythons() -> int:
    for version, program in pythons.found().items():
        sys.stdout.write(f"{version:5} {program}\n")
    return 0


def main(arguments: List[str]) -> int:
    command, rest = arguments[0], arguments[1:]
    os.chdir(ROOT)
    system.prepare_bootstrap()
    if command in (everything.FIRST, everything.REST):
        return everything.run(command, rest)
    if command == "nox":
        return nox(rest)
    if command == "rehearse":
        return script("tests/tools/rehearse.py", rest)
    if command == "bench":
        return script("tests/bench/bench.py", rest)
    if command == "lab":
        return lab(rest)
    if command == "list":
        return list_checks()
    return list_pythons()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except environments.Missing as missing:
        sys.exit(str(missing))
    except subprocess.CalledProcessError as failure:
        sys.exit(f"could not set up: {' '.join(map(str, failure.cmd))} ended with {failure.returncode}")
    except KeyboardInterrupt:
        sys.exit(130)
