# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the collection, installs it into an empty folder and uses it there; then uses it with nothing but its four runtime folders.

Called with the version of ansible-core (as a name for the folder), a copy of the project, and a copy with the runtime folders only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

from places import CACHE, COLLECTION, NAME, NAMESPACE

KINDS = {"module": "modules", "lookup": "lookup", "filter": "filter"}


class Fault(Exception):
    """The package is not what it should be."""


def call(command: List[str], collections: Path) -> str:
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
    }
    sys.stdout.write(f"$ {' '.join(command)}\n")
    sys.stdout.flush()
    answer = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise Fault(f"{command[0]} ended with {answer.returncode}\n{answer.stdout}{answer.stderr}")
    return answer.stdout


def installed(project: Path, folder: Path) -> Path:
    """The folder of collections into which the built archive was installed, offline: nothing may be missing from the archive."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    call(["ansible-galaxy", "collection", "build", str(project), "--output-path", str(folder)], folder)
    archive = next(folder.glob(f"{NAMESPACE}-{NAME}-*.tar.gz"))
    top = folder / "collections"
    call(["ansible-galaxy", "collection", "install", str(archive), "-p", str(top), "--offline", "--no-deps"], top)
    sys.stdout.write(f"{archive.name}: {archive.stat().st_size // 1024} KiB\n")
    return top


def expected(project: Path) -> Dict[str, List[str]]:
    """The plugins that the source has, for each kind that documents itself."""
    return {
        kind: sorted(f"{COLLECTION}.{path.stem}" for path in (project / "plugins" / folder).glob("[!_]*.py"))
        for kind, folder in KINDS.items()
    }


def check_plugins(project: Path, collections: Path) -> None:
    """ansible-doc lists exactly what the source has, and can show each of them."""
    for kind, names in expected(project).items():
        if not names:
            continue
        listed = sorted(json.loads(call(["ansible-doc", "-t", kind, "-l", "-j", COLLECTION], collections)))
        if listed != names:
            raise Fault(f"ansible-doc lists {listed} for {kind}, the source has {names}")
        shown = json.loads(call(["ansible-doc", "-t", kind, "-j", *names], collections))
        undocumented = [name for name in names if not shown.get(name, {}).get("doc")]
        if undocumented:
            raise Fault(f"without documentation: {undocumented}")
        sys.stdout.write(f"{kind}: {', '.join(names)}\n")


def check_use(collections: Path) -> None:
    """A module of the package reads a document from the simulator of the same package."""
    simulator = collections / "ansible_collections" / NAMESPACE / NAME / "roles" / "imds_simulator" / "files"
    sys.path.insert(0, str(simulator))
    try:
        import imds_simulator
        from imds_simulator import Simulator  # only now: it is the packaged one that is to be used

        if not str(imds_simulator.__file__).startswith(str(simulator)):
            raise Fault(f"another simulator was imported: {imds_simulator.__file__}")
        with Simulator() as running:
            running.add_vm("only")
            event = running.schedule("Reboot", ["only"])
            arguments = f"endpoint={running.endpoint('only')}"
            module = f"{COLLECTION}.azure_scheduled_events_info"
            answer = call(["ansible", "localhost", "-m", module, "-a", arguments], collections)
        if event.event_id not in answer:
            raise Fault(f"the module did not show event {event.event_id}:\n{answer}")
        sys.stdout.write(f"{module} read an event from the packaged simulator\n")
    finally:
        sys.path.remove(str(simulator))


def main(core: str, project: Path, bare: Path) -> None:
    top = installed(project, CACHE / "package" / core)
    check_plugins(project, top)
    check_use(top)
    check_plugins(project, bare.parent.parent.parent)
    for name in [name for name in sys.modules if name.split(".")[0] == "imds_simulator"]:
        del sys.modules[name]
    check_use(bare.parent.parent.parent)


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    except Fault as fault:
        sys.exit(str(fault))
