# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers for Azure's events on one host: an executor that runs them, an agent that guards, and a command line."""

from __future__ import annotations

# Of the collection that this came with.
VERSION = "1.0.0"
