# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-test needs so that it works with nothing but a package mirror: a home of its own with pip settings and a way to get pip."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Dict

import environments

BOOTSTRAP = '''\
"""Stands in for get-pip.py: the pip that Python brings, and then the versions asked for, from the usual index."""

import ensurepip
import os
import subprocess
import sys

packages = [argument for argument in sys.argv[1:] if "==" in argument]
environment = {key: value for key, value in os.environ.items() if key != "GET_PIP"}
ensurepip.bootstrap()  # switches the settings of pip off in os.environ, for good
command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
sys.exit(subprocess.call(command, env=environment) if packages else 0)
'''


def home(core: str, purpose: str) -> Path:
    """The home for one command of one ansible-core: ansible-test keeps its virtual environments there, from run to run."""
    folder = environments.home(f"{purpose}-{core}")
    cache = folder / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in _pip_versions(core):
        (cache / f"get_pip_{version.replace('.', '_')}.py").write_text(BOOTSTRAP, encoding="utf-8")
    settings = folder / ".config" / "pip"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "pip.conf").write_text(_pip_settings(core), encoding="utf-8")
    return folder


def _pip_versions(core: str) -> set[str]:
    """Each release of ansible-core names the pip that it starts an environment with; this reads the name where it stands."""
    library = environments.ensure(f"core-{core}").parent / "lib"
    source = next(library.glob("python3*/site-packages/ansible_test/_internal/python_requirements.py"))
    return set(re.findall(r"\bpip=['\"]([\d.]+)['\"]", source.read_text(encoding="utf-8")))


def _pip_settings(core: str) -> str:
    """The user's settings of pip as a file, since ansible-test passes neither the user's home nor PIP_ variables on."""
    python = str(environments.ensure(f"core-{core}") / "python")
    answer = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    lines = ["[global]"]
    for setting, value in re.findall(r"^(?:global|install|:env:)\.([\w-]+)='(.*)'$", answer.stdout, re.MULTILINE):
        lines.append(f"{setting} = " + value.replace("\\n", "\n    "))
    return "\n".join(_last_of_each(lines)) + "\n"


def _last_of_each(lines: list[str]) -> list[str]:
    return list({line.split(" = ")[0]: line for line in lines}.values())


def environment(core: str, purpose: str) -> Dict[str, str]:
    """The environment for ansible-test of this ansible-core, for one of its commands."""
    bin_folder = environments.ensure(f"core-{core}")
    result = environments.clean_environment()
    result["HOME"] = str(home(core, purpose))
    result["PATH"] = os.pathsep.join([str(bin_folder), result["PATH"]])
    return result
