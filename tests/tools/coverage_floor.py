# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails unless enough of the plugins was run: a share of all lines, and each branch of the pure files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Dict, List

from places import ROOT
from pure import pure_files

FLOOR = 95.0  # percent of the lines of plugins


def judge(report: Dict[str, Any]) -> List[str]:
    """What falls short, in sentences."""
    files = {path: each["summary"] for path, each in report["files"].items()}
    pure = [path.relative_to(ROOT).as_posix() for path in pure_files()]
    faults = [f"{path} was not measured" for path in pure if path not in files]
    for path in pure:
        missed = files[path]["missing_branches"] + files[path]["missing_lines"] if path in files else 0
        if missed:
            faults.append(f"{path}: {missed} lines or branches were not run, and every one must be")
    lines = sum(each["num_statements"] for each in files.values())
    share = 100.0 * sum(each["covered_lines"] for each in files.values()) / max(1, lines)
    sys.stdout.write(f"lines of the plugins: {share:.1f} % of {lines} (at least {FLOOR:.0f} %)\n")
    if share < FLOOR:
        faults.append(f"only {share:.1f} % of the lines of the plugins were run, {FLOOR:.0f} % are wanted")
    return faults


if __name__ == "__main__":
    found = judge(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    sys.exit("\n".join(found) if found else 0)
