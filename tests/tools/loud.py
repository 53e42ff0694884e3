# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs ansible-test and fails where it only warns: a test that was left out proves nothing.

It runs once more where only tests failed that have a second chance (again.py). All of it, since ansible-test stops at the first part with
a failure.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, List, Tuple

import again

NOT_DONE = re.compile(r'All targets skipped\.|Required program "\w+" not found')
# A line that pip writes for each package where an index holds only a few of them.
NOISE = "is ignored: it is neither a file nor a directory."
# What ansible-test's pytest says at its end; without a name of a test a file could not be read.
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?\.py(?:::.+?)?)(?: - .*)?$")


def main(command: List[str]) -> int:
    code, failed = run(command)
    names = again.chances({name: name for name in failed if "::" in name}) if code else []
    if not names or len(names) < len(failed):
        return code
    sys.stdout.write(f"{again.ANEW}\n")
    code, _failed = run(command)
    for name in names if code == 0 else ():
        sys.stdout.write(f"{again.UNSTEADY}{name}\n")
    return code


def run(command: List[str]) -> Tuple[int, List[str]]:
    """Its exit code, and the names of the tests that failed."""
    failed: List[str] = []
    not_done = ""
    pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, errors="replace", **pipes) as process:
        for line in process.stdout or ():
            failed += FAILED.findall(line)
            not_done = line if NOT_DONE.search(line) else not_done
            if NOISE not in line:
                sys.stdout.write(line)
                sys.stdout.flush()
    if not_done:
        sys.stdout.write(f"a part of the check was left out, which counts as a failure here: {not_done}")
    return process.returncode or int(bool(not_done)), failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
