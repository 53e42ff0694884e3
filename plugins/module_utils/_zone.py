# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The data of a time zone, from the files of the machine. This is the edge: everything else about zones is pure.

Private to the collection. Python 3.8 has no `zoneinfo`, and a small image no data: that is an error of the
configuration, except for UTC, which needs none.
"""

from __future__ import annotations

import importlib.util
import os
import re
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ._errors import ConfigurationError
from ._time import quoted
from ._tzif import parse_zone
from ._windows import UTC, Window, Zone, with_zones

# Where systems keep the data; TZDIR comes before them, Python's package tzdata after.
FOLDERS = ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo")

# Plain parts only: a name must not lead out of its folder.
_NAME = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*")
# The largest file of any zone has a few kilobytes.
_LARGEST_FILE = 1 << 20


def read_zone(name: str, *, folders: Optional[Sequence[str]] = None) -> Zone:
    """The zone of this name; ConfigurationError where there are no data, or none that can be used."""
    if name == UTC.name:
        return UTC
    if not _NAME.fullmatch(name):
        raise ConfigurationError("%s is not the name of a time zone such as Europe/Berlin" % quoted(name))
    searched = zone_folders(os.environ) if folders is None else folders
    for folder in searched:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return parse_zone(name, _content(path))
    raise ConfigurationError(
        "there are no data of the time zone %s in %s: check the name, or install tzdata"
        % (quoted(name), ", ".join(searched) or "any folder")
    )


def place_windows(windows: Tuple[Window, ...], *, folders: Optional[Sequence[str]] = None) -> Tuple[Tuple[Window, ...], Tuple[str, ...]]:
    """The windows with the data of their zones, and what was wrong; a window without data never counts as open."""
    zones: Dict[str, Zone] = {}
    problems: List[str] = []
    for name in sorted({window.timezone for window in windows}):
        try:
            zones[name] = read_zone(name, folders=folders)
        except ConfigurationError as error:
            problems.append(error.message)
    return with_zones(windows, zones), tuple(problems)


def zone_folders(environment: Mapping[str, str]) -> Tuple[str, ...]:
    """Where data may be, in the order in which they are looked for."""
    package = importlib.util.find_spec("tzdata")
    inside = list(package.submodule_search_locations or ()) if package else []
    named = [environment["TZDIR"]] if environment.get("TZDIR") else []
    return (*named, *FOLDERS, *(os.path.join(folder, "zoneinfo") for folder in inside))


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST_FILE)
    except OSError as error:
        raise ConfigurationError("the data of a time zone in %s cannot be read: %s" % (path, error.strerror)) from error
