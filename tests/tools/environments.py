# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual environments below .cache/venv: made once for a Python and a set of requirements, shared by all checks, kept between runs."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

import pythons
from places import CACHE, REQUIREMENTS

DONE = "complete"  # written last: an environment without it was interrupted and is made again


class Missing(Exception):
    """Something that this machine lacks. The message says what, what for, and how to get it."""


@dataclass(frozen=True)
class Recipe:
    """The Pythons that may serve, best first, and the requirement files."""

    pythons: Tuple[str, ...]
    requirements: Tuple[str, ...]
    purpose: str


NEWEST = ("3.13", "3.12", "3.14")  # what ansible-core 2.21 runs on; 3.13 first: each tool has wheels for it
OLDEST = ("3.12", "3.11", "3.10")  # what ansible-core 2.16 runs on
# For each ansible-core the lowest Python of a target, and what may serve as the highest.
TARGETS: Dict[str, Tuple[str, Tuple[str, ...]]] = {"2.16": ("3.8", ("3.12",)), "newest": ("3.9", ("3.14", "3.13"))}
ANY = (*NEWEST, "3.11", "3.10")  # where an ansible-core older than the newest will do
RECIPES: Dict[str, Recipe] = {
    "nox": Recipe(("3.12", "3.13", "3.14", "3.11", "3.10", "3.9"), ("nox",), "nox, which runs the checks,"),
    # One environment for nearly everything: its packages agree with each other, and it is made in half a minute.
    "core-newest": Recipe(
        NEWEST, ("ansible-newest", "ansible-test", "runtime", "unit", "tools"), "ansible-core 2.21, ansible-lint and other tools"
    ),
    "core-2.16": Recipe(OLDEST, ("ansible-2.16", "ansible-test", "runtime"), "ansible-core 2.16"),
    # Made only where the newest ansible-core does not run.
    "any": Recipe(ANY, ("ansible-any", "runtime", "unit"), "unit tests, the rehearsal"),
    "static-3.8": Recipe(NEWEST, ("static-3.8",), "mypy for Python 3.8"),
    # What modules run with on the hosts of the lab, mounted there.
    "target-3.8": Recipe(("3.8",), ("runtime",), "hosts of the lab with the oldest Python of ansible-core 2.16"),
    "target-3.9": Recipe(("3.9",), ("runtime",), "hosts of the lab with the oldest Python of the newest ansible-core"),
}


FIRST = ("nox", "core-newest")  # the only environments that `make test` needs


def play() -> str:
    """The name of the environment for what runs with any supported ansible-core."""
    return "core-newest" if pythons.first(*NEWEST) else "any"


def how_to_get(version: str) -> str:
    return f"install it, for example with `pyenv install {version}`"


def python_for(recipe: Recipe) -> str:
    version = pythons.first(*recipe.pythons)
    if version is None:
        raise Missing(_missing(recipe.pythons, [recipe.purpose]))
    return version


def _missing(wanted: Sequence[str], purposes: Sequence[str]) -> str:
    names = " or ".join(sorted(wanted, key=lambda version: int(version.split(".")[1])))
    return f"Python {names} is missing, so this cannot run: {', '.join(purposes)}; {how_to_get(wanted[0])}"


def lacking(*, everything: bool = True) -> List[str]:
    """What this machine has not got, in a sentence for each choice of Pythons; for `make test` alone, or for everything."""
    purposes: Dict[Tuple[str, ...], List[str]] = {}
    for name, recipe in RECIPES.items():
        if everything or name in FIRST:
            purposes.setdefault(recipe.pythons, []).append(recipe.purpose)
    for core, (low, high) in TARGETS.items():
        if everything:
            purposes.setdefault((low,), []).append(f"targets of ansible-core {core}")
        if everything or core == "newest":  # sanity-newest plays with it
            purposes.setdefault(high, []).append(f"targets of ansible-core {core}")
    return [_missing(wanted, names) for wanted, names in purposes.items() if pythons.first(*wanted) is None]


def choices() -> List[str]:
    """What was chosen, one line for each ansible-core."""
    result = []
    for core, label in (("core-2.16", "2.16"), ("core-newest", "newest")):
        runs_on = pythons.first(*RECIPES[core].pythons) or "none"
        low, high = TARGETS[label]
        targets = f"{low if pythons.first(low) else 'none'} and {pythons.first(*high) or 'none'}"
        result.append(f"ansible-core {label} runs on Python {runs_on}; targets: {targets}")
    return result


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """One process at a time, across processes."""
    folder = CACHE / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def ensure(name: str) -> Path:
    """The folder with the programs of this environment, which is made first if need be."""
    recipe = RECIPES[name]
    version = python_for(recipe)
    files = [REQUIREMENTS / f"{part}.txt" for part in recipe.requirements]
    seal = "\n".join([str(pythons.found()[version].resolve())] + [path.read_text(encoding="utf-8") for path in files])
    folder = CACHE / "venv" / f"{name}-{hashlib.sha256(seal.encode()).hexdigest()[:12]}"
    with lock(f"venv-{name}"):
        if not (folder / DONE).exists():
            _forget_older(name, folder)
            _make(folder, version, files)
    return folder / "bin"


def _forget_older(name: str, folder: Path) -> None:
    """What an earlier recipe of this name has made, and what was made by recipes that are gone."""
    for old in folder.parent.glob("*-*"):
        if old.name.rsplit("-", 1)[0] not in set(RECIPES) - {name}:
            shutil.rmtree(old)


def _make(folder: Path, version: str, files: list[Path]) -> None:
    listed = " ".join(part for path in files for part in ("-r", str(path))).split()
    sys.stderr.write(f"making the environment {folder.name} with Python {version}\n")
    sys.stderr.flush()
    program = pythons.found()[version]
    subprocess.run([str(program), "-m", "venv", str(folder)], check=True, stdin=subprocess.DEVNULL)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    # Python compiles what it imports below PYTHONPYCACHEPREFIX, which is a small part. A host of the lab has no such place.
    if not folder.name.startswith("target-"):
        pip.append("--no-compile")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPYCACHEPREFIX"}
    subprocess.run(pip + listed, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno())
    (folder / DONE).touch()


def home(name: str) -> Path:
    """A home for a tool that writes there, so that the user's own is left alone."""
    folder = CACHE / "home" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def clean_environment() -> Dict[str, str]:
    """The environment for a check: no settings of Python or Ansible of the caller's, every Python on PATH."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "PYTHON", "VIRTUAL_ENV"))}
    kept["PATH"] = pythons.search_path()
    kept["NO_COLOR"] = "1"
    # What Python and pytest have compiled is kept, but not beside the sources.
    kept["PYTHONPYCACHEPREFIX"] = str(CACHE / "bytecode")
    return kept
