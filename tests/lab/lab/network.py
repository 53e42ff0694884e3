# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's own network: one bridge, one cable to each host, and no way out. Runs inside the lab's namespace."""

from __future__ import annotations

import subprocess
import time
from typing import List

from .errors import LabError
from .plan import CONTROLLER_ADDRESS, CONTROLLER_MAC, METADATA_ADDRESS, PREFIX, HostPlan
from .programs import run

BRIDGE = "lab0"
_DISABLED, _FORWARDING = "0", "3"
_PLUGGED = 3.0


def lay() -> None:
    """The bridge. It owns the controller's address and that of the metadata service."""
    _batch(
        [
            "link set lo up",
            "link add %s address %s type bridge" % (BRIDGE, CONTROLLER_MAC),
            "address add %s/%d dev %s" % (CONTROLLER_ADDRESS, PREFIX, BRIDGE),
            "address add %s/32 dev %s" % (METADATA_ADDRESS, BRIDGE),
            "link set %s up" % BRIDGE,
        ]
    )


def connect(host: HostPlan) -> None:
    """A namespace and a cable for a host. Who is whose neighbour is fixed: a dead cable is silent, as on Azure."""
    space = host.name
    run("ip", "netns", "add", space)
    _batch(
        [
            "link add %s type veth peer name eth0 address %s netns %s" % (host.port, host.mac, space),
            "link set %s master %s up" % (host.port, BRIDGE),
            "neigh replace %s lladdr %s dev %s nud permanent" % (host.address, host.mac, BRIDGE),
        ]
    )
    _batch(
        [
            "link set lo up",
            "address add %s/%d dev eth0" % (host.address, PREFIX),
            "link set eth0 up",
            "route add %s dev eth0 src %s" % (METADATA_ADDRESS, host.address),
            "neigh replace %s lladdr %s dev eth0 nud permanent" % (CONTROLLER_ADDRESS, CONTROLLER_MAC),
            "neigh replace %s lladdr %s dev eth0 nud permanent" % (METADATA_ADDRESS, CONTROLLER_MAC),
        ],
        space,
    )
    # The bridge opens the port a moment later, and would undo a cut that was made meanwhile.
    end = time.monotonic() + _PLUGGED
    while "state forwarding" not in run("bridge", "link", "show", "dev", host.port) and time.monotonic() < end:
        time.sleep(0.01)


def disconnect(host: HostPlan) -> None:
    """A later connect() begins afresh."""
    run("ip", "link", "delete", host.port)
    run("ip", "netns", "delete", host.name)


def cut(host: HostPlan) -> None:
    run("bridge", "link", "set", "dev", host.port, "state", _DISABLED)


def mend(host: HostPlan) -> None:
    run("bridge", "link", "set", "dev", host.port, "state", _FORWARDING)


def refuse_metadata(host: HostPlan) -> None:
    """The host takes the address for its own, and nobody listens there."""
    run("ip", "-n", host.name, "route", "replace", "local", METADATA_ADDRESS, "dev", "lo", "table", "local")


def allow_metadata(host: HostPlan) -> None:
    run("ip", "-n", host.name, "route", "del", "local", METADATA_ADDRESS, "dev", "lo", "table", "local")


def _batch(lines: List[str], space: str = "") -> None:
    command = ["ip", *(("-n", space) if space else ()), "-batch", "-"]
    answer = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise LabError("the network of the lab cannot be laid: %s" % answer.stderr.strip())
