# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong, in words for whoever called."""

from __future__ import annotations


class LabError(Exception):
    """The lab cannot do what was asked; the message says why."""


class Missing(LabError):
    """This machine lacks something that a lab needs; the message says what and how to get it."""
