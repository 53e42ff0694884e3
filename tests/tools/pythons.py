# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the Pythons of this machine by running them: a name on PATH proves nothing, pyenv's shims least of all."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Optional

LOWEST, HIGHEST = (3, 8), (3, 14)
NAMES = re.compile(r"python3(\.\d+)?$")
# A wheel with native code cannot be used by a free-threaded or debug build; ensurepip is what fills a virtual environment.
PROBE = (
    "import ensurepip, sys, sysconfig, venv; "
    "print('%d.%d' % sys.version_info[:2] if not sysconfig.get_config_var('Py_GIL_DISABLED') else 'free-threaded')"
)


def _folders() -> Iterator[Path]:
    homes = [Path.home(), Path(pwd.getpwuid(os.getuid()).pw_dir)]
    roots = [Path(os.environ["PYENV_ROOT"])] if os.environ.get("PYENV_ROOT") else []
    roots += [home / ".pyenv" for home in homes] + [Path("/opt/pyenv"), Path("/usr/local/pyenv")]
    for root in roots:
        yield from sorted(_below(root, "versions/*/bin"), key=_version_key, reverse=True)
    for home in homes:
        yield from sorted(_below(home, ".local/share/uv/python/*/bin"))
    yield from (Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry and "shims" not in entry)
    yield from (Path("/usr/local/bin"), Path("/usr/bin"))
    yield from sorted(Path("/opt").glob("*/bin"))


def _below(folder: Path, pattern: str) -> List[Path]:
    """Nothing where somebody else's home is closed."""
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _version_key(folder: Path) -> List[int]:
    return [int(part) for part in re.findall(r"\d+", folder.parent.name)]


def _candidates(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        try:
            yield from sorted(entry for entry in folder.iterdir() if NAMES.fullmatch(entry.name))
        except OSError:
            continue


def _ask(python: Path) -> Optional[str]:
    """The version that this program says it is, None when it is no usable Python."""
    try:
        answer = subprocess.run(
            [str(python), "-I", "-c", PROBE], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = answer.stdout.strip()
    return version if answer.returncode == 0 and re.fullmatch(r"3\.\d+", version) else None


@lru_cache(maxsize=None)
def found() -> Dict[str, Path]:
    """Version ("3.12") to program, the first of each; Pythons inside a virtual environment do not count."""
    result: Dict[str, Path] = {}
    asked = set()
    for candidate in _candidates(_folders()):
        real = candidate.resolve()
        if real in asked or (candidate.parent.parent / "pyvenv.cfg").exists():
            continue
        asked.add(real)
        version = _ask(candidate)
        if version and LOWEST <= tuple(int(part) for part in version.split(".")) <= HIGHEST:
            result.setdefault(version, candidate)
    return result


def first(*versions: str) -> Optional[str]:
    """The first of these versions that the machine has."""
    return next((version for version in versions if version in found()), None)


def search_path() -> str:
    """A PATH on which `python3.N` works for each Python found."""
    folders = [str(path.parent) for path in found().values()]
    rest = [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if "shims" not in entry]
    return os.pathsep.join(dict.fromkeys(folders + rest))


if __name__ == "__main__":
    for name, program in sorted(found().items(), key=lambda item: int(item[0].split(".")[1])):
        sys.stdout.write(f"{name:5} {program}\n")
