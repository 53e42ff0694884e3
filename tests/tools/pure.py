# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files are pure: those whose first docstring says `Pure`. They are held to every branch, and to mutation testing."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import List

from places import ROOT

FOLDERS = ("plugins/module_utils", "plugins/plugin_utils")
ALWAYS = ("_document", "_policy", "_selection", "_time")  # losing one of these by a slip of the pen must not go unnoticed
MARK = re.compile(r"\bPure\b[.:]")


def says_pure(path: Path) -> bool:
    return bool(MARK.search(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""))


def pure_files() -> List[Path]:
    result = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("_*.py") if says_pure(path))
    lost = sorted(set(ALWAYS) - {path.stem for path in result})
    if lost:
        raise SystemExit(f"these files no longer say that they are pure: {', '.join(lost)}")
    return result
