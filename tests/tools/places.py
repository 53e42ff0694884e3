# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are. Everything that the checks write is below CACHE, which git ignores."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache"
LOGS = CACHE / "logs"
REQUIREMENTS = ROOT / "tests" / "requirements"
NAMESPACE, NAME = "cloud_maintenance", "azure"
COLLECTION = f"{NAMESPACE}.{NAME}"
# For `import lab`: the lab itself, and the metadata service that it runs.
LAB = (str(ROOT / "tests" / "lab"), str(ROOT / "roles" / "imds_simulator" / "files"))
# Of runs that mostly wait: by default Ansible looks a thousand times a second whether a task is done.
ANSIBLE_CFG = "[defaults]\ninternal_poll_interval = 0.01\n"
