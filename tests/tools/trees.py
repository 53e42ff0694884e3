# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""This checkout as `ansible_collections/cloud_maintenance/azure`, the only shape in which Ansible's tools accept it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Dict, List

import environments
from environments import lock
from places import CACHE, NAME, NAMESPACE, ROOT

NEVER_COPIED = (".git", ".cache", ".venv", ".nox", "__pycache__", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache")


def linked() -> Path:
    """A tree of links for running from the checkout.

    Each entry of the root is a link of its own: a link to the root would lead every walk back into the tree without end.
    """
    top = CACHE / "linked"
    folder = top / "ansible_collections" / NAMESPACE / NAME
    with lock("linked"):
        folder.mkdir(parents=True, exist_ok=True)
        wanted = {entry.name for entry in ROOT.iterdir() if entry.name not in NEVER_COPIED}
        present = {entry.name for entry in folder.iterdir()}
        for name in present - wanted:
            (folder / name).unlink()
        for name in wanted - present:
            (folder / name).symlink_to(os.path.relpath(ROOT / name, folder))
    return top


def play_environment() -> Dict[str, str]:
    """The environment in which Ansible plays with the collection of this checkout."""
    bin_folder = environments.ensure(environments.play())
    home, top = environments.home("play"), str(linked())
    base = environments.clean_environment()
    return {
        **base,
        "ANSIBLE_COLLECTIONS_PATH": top,
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_LOCAL_TEMP": str(home / "tmp"),
        "PATH": os.pathsep.join([str(bin_folder), base["PATH"]]),
        "PYTHONPATH": top,
        "VIRTUAL_ENV": str(bin_folder.parent),
    }


def files() -> List[str]:
    """What belongs to the project: tracked, or new and not ignored."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if answer.returncode == 0 and answer.stdout:
            return sorted({name for name in answer.stdout.split("\0") if name and os.path.lexists(ROOT / name)})
    except OSError:
        pass  # no git here: an unpacked archive holds nothing but the project
    return sorted(_walk())


def _walk() -> List[str]:
    result = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if name not in NEVER_COPIED]
        result += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if not name.endswith(".pyc")]
    return result


def copied(purpose: str, only: tuple[str, ...] = ()) -> Path:
    """A fresh copy of the project's files for one check; `only` keeps these entries of the root and drops the rest."""
    top = CACHE / "copies" / purpose
    folder = top / "ansible_collections" / NAMESPACE / NAME
    shutil.rmtree(top, ignore_errors=True)
    for name in files():
        if only and name.split("/")[0] not in only:
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # somebody is at work here, and has just removed it
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("git"):
        _make_root(folder)
    return folder


def _make_root(folder: Path) -> None:
    """Makes the copy a working tree of its own: tools that ask git for the files would find it in the ignored cache of this checkout."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "init", "--quiet", "--template=", "--initial-branch=main", str(folder)]
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL)
