# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clocks of a host, as all its programs read them."""

from __future__ import annotations

import time

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock


def since_boot() -> float:
    """A clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def host_clock() -> Clock:
    return Clock(monotonic=since_boot)
