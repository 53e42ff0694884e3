# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On a host of the lab, in place of the agent: the same, but it stops once at one point, as a kill or a loss of power would have it."""

from __future__ import annotations

import os
import signal
import sys

sys.path.insert(0, "/usr/local/lib/azure-event-handlers")

from azure_event_handlers import agent

# The only folder that the agent may write to and a test can look into.
TOP = "/run/azure-event-handlers/agent"


def crash(point: str) -> None:
    try:
        with open(TOP + "/crash", encoding="utf-8") as file:
            how, wanted = file.read().split(" ", 1)
    except FileNotFoundError:
        return
    if point == wanted:
        os.rename(TOP + "/crash", TOP + "/crashed")
        # Stopped, it waits for the machine to be switched off.
        os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSTOP)


if __name__ == "__main__":
    sys.exit(agent.main(sys.argv[1:], crash=crash))
