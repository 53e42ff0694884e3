# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab from the command line: `make lab` and `make lab-down`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Dict, List, Optional

from . import leftovers, needs
from .client import SIMULATOR, Lab, folder_of
from .errors import LabError
from .plan import DEFAULT_HOSTS

NAME = "default"
# Of the one who brings it up: what Ansible inside the lab needs, to be the same as outside.
_EXPORTED = ("PATH", "ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_HOME", "ANSIBLE_LOCAL_TEMP")


def up(name: str, hosts: int) -> None:
    began = time.monotonic()
    lab = Lab(name, hosts=hosts, exports=_exports())
    lab.open(leave_running=True)
    run = _shown(lab.folder / "run")
    sys.stdout.write("%d hosts are up after %.1f s:\n\n" % (hosts, time.monotonic() - began))
    for host in lab.hosts.values():
        sys.stdout.write("  %-11s %-11s VM %-14s in %s\n" % (host.name, host.address, host.vm_name, host.plan.scope))
    sys.stdout.write(
        """
inventory    %s
Ansible      %s ansible all -m cloud_maintenance.azure.azure_scheduled_events_info
an event     %s python3 -m imds_simulator schedule Reboot %s --notice 30s --runs-for ever
a host       %s ssh -F %s %s
the end      make lab-down
"""
        % (
            _shown(lab.inventory),
            run,
            run,
            next(iter(lab.hosts.values())).vm_name,
            run,
            _shown(lab.folder / "ssh" / "config"),
            next(iter(lab.hosts)),
        )
    )


def down(name: str) -> None:
    needs.check()
    folder = folder_of(name)
    with leftovers.lock(folder.parent):
        there = folder.exists()
        leftovers.sweep(folder.parent)
        if folder.exists():
            leftovers.remove(folder)
    sys.stdout.write("The lab is down.\n" if there else "There is no lab.\n")


def _exports() -> Dict[str, str]:
    kept = {name: os.environ[name] for name in _EXPORTED if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(SIMULATOR)])}


def _shown(path: Path) -> str:
    """As one may type it here."""
    return os.path.relpath(path) if str(path).startswith(os.getcwd() + os.sep) else str(path)


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="lab", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("--name", default=NAME, help="of the lab, if there are several (default: %(default)s)")
    bring_up = verbs.add_parser("up", help="bring it up", parents=[both])
    bring_up.add_argument("--hosts", type=int, default=DEFAULT_HOSTS, help="how many (default: %(default)s)")
    verbs.add_parser("down", help="take it down; what killed ones have left goes too", parents=[both])
    options = parser.parse_args(arguments)
    try:
        if options.verb == "up":
            up(options.name, options.hosts)
        else:
            down(options.name)
    except LabError as problem:
        sys.stderr.write("%s\n" % problem)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
