# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A metadata service that keeps the contract of Azure Scheduled Events: for tests, and for rehearsals before Azure calls."""

from __future__ import annotations

from .errors import ConflictError, InvalidError, SimulatorError, UnknownError
from .faults import Fault
from .journal import Record
from .model import Event, Notice
from .settings import REALISTIC, Settings
from .simulator import Simulator

__all__ = [
    "REALISTIC",
    "ConflictError",
    "Event",
    "Fault",
    "InvalidError",
    "Notice",
    "Record",
    "Settings",
    "Simulator",
    "SimulatorError",
    "UnknownError",
]
