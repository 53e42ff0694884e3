# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a part of the program that lies beside this file: start.py PART ...

Called with `python -I`, which listens to nothing of the caller's: neither variables nor the working folder add code to it.
"""

from __future__ import annotations

import os
import runpy
import sys

# By the names of the units; a person is served by the command line.
PARTS = ("agent", "cli", "service", "webhook")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit("start.py: one of %s is missing" % ", ".join(PARTS))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    runpy.run_module("azure_event_handlers." + sys.argv.pop(1), run_name="__main__", alter_sys=True)
