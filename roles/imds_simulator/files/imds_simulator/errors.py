# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong when the fabric is told to do something: one class per kind of failure."""

from __future__ import annotations


class SimulatorError(Exception):
    """The fabric cannot do what it was told; the text is one clear sentence for a person."""

    status = 500


class InvalidError(SimulatorError):
    """What was asked for makes no sense, now or ever."""

    status = 400


class UnknownError(SimulatorError):
    """It names a VM, a scope, an event or a fault that is not there."""

    status = 404


class ConflictError(SimulatorError):
    """It makes sense, but not in the present state."""

    status = 409
