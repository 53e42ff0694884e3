# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes from the system and not from PyPI: a few Debian packages, and the locales made from one of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pythons
from environments import Missing, lock
from places import CACHE, LAB

# Languages that spell months and weekdays differently from English, and one (Turkish) whose letter case differs.
LOCALES = ("de_DE.UTF-8", "fr_FR.UTF-8", "ja_JP.UTF-8", "tr_TR.UTF-8", "ar_EG.UTF-8")
LOCALE_SOURCES = Path("/usr/share/i18n/locales")


def prepare_bootstrap() -> None:
    """Debian's own Python comes without `venv`: fetch it where it would be the only Python."""
    if not pythons.found():
        need([("python3-venv", "virtual environments")], done=lambda: bool(_look_again()))


def _look_again() -> Dict[str, Path]:
    pythons.found.cache_clear()
    return pythons.found()


def need(packages: List[Tuple[str, str]], done: Callable[[], bool]) -> None:
    """Installs Debian packages as root; for anybody else, says which are missing and what for."""
    names = [name for name, _purpose in packages]
    if _can_install():
        with lock("apt"):
            if not done():
                _apt(names)
    if not done():
        wanted = ", ".join(f"{name} (for {purpose})" for name, purpose in packages)
        raise Missing(f"System package missing: {wanted}; install it with `apt-get install {' '.join(names)}` or its like here")


def prepare_lab() -> None:
    """What a lab of real hosts needs: programs that a normal Debian lacks are installed; what else is missing is told at once."""
    sys.path[:0] = [path for path in LAB if path not in sys.path]
    from lab import errors, needs

    if _can_install() and needs.packages():
        need([(package, "the lab") for package in needs.packages()], done=lambda: not needs.packages())
    try:
        needs.check()
    except errors.Missing as missing:
        raise Missing(str(missing)) from missing


def _can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _apt(names: List[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    sys.stderr.write(f"apt-get install {' '.join(names)}\n")
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *names]):
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)


def locales() -> Dict[str, str]:
    """The environment variables under which the five locales can be used; makes them first if need be."""
    folder = CACHE / "locales"
    need([("locales", "the sources of the locales")], done=lambda: LOCALE_SOURCES.is_dir() and shutil.which("localedef") is not None)
    with lock("locales"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in LOCALES:
            language, charset = name.split(".")
            if not (folder / name).exists():
                command = ["localedef", "--no-archive", "-i", language, "-f", charset, str(folder / name)]
                subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return {"LOCPATH": str(folder), "CLOUD_MAINTENANCE_LOCALES": " ".join(LOCALES)}
