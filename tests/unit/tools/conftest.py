# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the tools behind the checks importable: a check that cannot fail is worse than none, so they are tested too."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "mutation")]
