# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs ansible-test and fails where it only warns: a test that was left out proves nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, List

NOT_DONE = re.compile(r'All targets skipped\.|Required program "\w+" not found')
# A line that pip writes for each package where an index holds only a few of them.
NOISE = "is ignored: it is neither a file nor a directory."


def main(command: List[str]) -> int:
    """The exit code of ansible-test, and not 0 where a part was left out."""
    not_done = ""
    pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, errors="replace", **pipes) as process:
        for line in process.stdout or ():
            not_done = line if NOT_DONE.search(line) else not_done
            if NOISE not in line:
                sys.stdout.write(line)
                sys.stdout.flush()
    if not_done:
        sys.stdout.write(f"a part of the check was left out, which counts as a failure here: {not_done}")
    return process.returncode or int(bool(not_done))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
