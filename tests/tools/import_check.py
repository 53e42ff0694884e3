# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets galaxy-importer judge the built collection, where a warning counts as an error, and ansible-builder read what it needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Set

import yaml
from places import CACHE, NAME, NAMESPACE

SETTINGS = """\
[galaxy-importer]
LOG_LEVEL_MAIN = INFO
RUN_ANSIBLE_DOC = True
RUN_ANSIBLE_LINT = True
RUN_ANSIBLE_TEST = False
RUN_FLAKE8 = False
CHECK_REQUIRED_TAGS = True
CHECK_RUNTIME_ENV = False
OFFLINE_ANSIBLE_LINT = True
REQUIRE_V1_README = False
"""

LIBRARIES = {"jmespath", "requests"}  # what the modules may import besides Python itself


def main(project: Path) -> int:
    folder = CACHE / "importer"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.tar.gz"):
        old.unlink()
    settings = folder / "galaxy-importer.cfg"
    settings.write_text(SETTINGS, encoding="utf-8")
    build = ["ansible-galaxy", "collection", "build", str(project), "--output-path", str(folder)]
    subprocess.run(build, check=True, stdin=subprocess.DEVNULL)
    archive = next(folder.glob(f"{NAMESPACE}-{NAME}-*.tar.gz"))
    answer = subprocess.run(
        [sys.executable, "-m", "galaxy_importer.main", str(archive)],
        cwd=folder,
        env={**os.environ, "GALAXY_IMPORTER_CONFIG": str(settings)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    sys.stdout.write(answer.stdout)
    required = _required_libraries(project)
    complaints = [line for line in answer.stdout.splitlines() if line.startswith(("ERROR", "WARNING"))]
    if answer.returncode != 0 or complaints:
        sys.stdout.write(f"galaxy-importer ended with {answer.returncode} and complained {len(complaints)} times\n")
        return 1
    if required != LIBRARIES:
        sys.stdout.write(f"ansible-builder finds {sorted(required)} for an execution environment, wanted are {sorted(LIBRARIES)}\n")
        return 1
    return 0


def _required_libraries(project: Path) -> Set[str]:
    """What ansible-builder would put into an execution environment for this collection."""
    collections = str(project.parent.parent.parent)
    command = ["ansible-builder", "introspect", collections]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    sys.stdout.write(answer.stdout)
    return {re.split(r"\W", requirement)[0] for requirement in yaml.safe_load(answer.stdout)["python"]}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
