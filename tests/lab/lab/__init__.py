# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of real hosts: systemd, sshd, a network and a metadata address of their own, and a fabric that freezes, reboots and deletes them.

`with Lab(hosts=6) as lab: ...` brings one up; docs/lab.md tells what can be done with it.
"""

from __future__ import annotations

from .client import Host, Lab, LabEvent
from .errors import LabError, Missing

__all__ = ["Host", "Lab", "LabError", "LabEvent", "Missing"]
