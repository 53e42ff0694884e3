# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Becomes another program that does not outlive who has started it."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
import termios

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    command = sys.argv[1:]
    if command[0] == "--terminal":
        # Standard input is one, and from now on the controlling one: whoever reads from it is in the foreground.
        command = command[1:]
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.execv(command[0], command)
