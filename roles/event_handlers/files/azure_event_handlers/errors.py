# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong, in words for the operator."""

from __future__ import annotations


class HandlersError(Exception):
    """Something that was asked for cannot be done; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RefusedError(HandlersError):
    """A request is refused, and nothing has changed."""


class BrokenRecordError(HandlersError):
    """A record cannot be read; nothing runs for its event until somebody has looked at it."""


class StoreError(HandlersError):
    """State cannot be read or written: a disk is full, read-only or broken."""


class BusyError(StoreError):
    """Another executor has the state."""
