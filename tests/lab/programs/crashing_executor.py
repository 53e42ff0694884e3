# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On a host of the lab, in place of the executor: the same, but it stops once at one point, as a kill or a loss of power would have it."""

from __future__ import annotations

import os
import signal
import sys

sys.path.insert(0, "/usr/local/lib/azure-event-handlers")

from azure_event_handlers import service

TOP = "/var/lib/handlers-test"


def crash(point: str) -> None:
    if os.path.exists(TOP + "/crashed") or not os.path.exists(TOP + "/crash"):
        return
    with open(TOP + "/crash", encoding="utf-8") as file:
        how, wanted = file.read().split(" ", 1)
    if point == wanted:
        with open(TOP + "/crashed", "w", encoding="utf-8") as file:
            os.fsync(file.fileno())
        # Stopped, it waits for the machine to be switched off.
        os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSTOP)


if __name__ == "__main__":
    sys.exit(service.main(sys.argv[1:], crash=crash))
