# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts a lab has: names, addresses and scopes. Pure.

No two of a host's names are alike: who takes the host name or the name in the inventory for the name of the VM is found out here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from .errors import LabError

DEFAULT_HOSTS = 6
MOST_HOSTS = 64
METADATA_ADDRESS = "169.254.169.254"
# Of the bridge, behind which the controller sits. No address here is routed anywhere.
CONTROLLER_ADDRESS, PREFIX = "10.77.0.1", 24
CONTROLLER_MAC = "02:00:00:00:00:01"
_FIRST = 11


@dataclass(frozen=True)
class HostPlan:
    """One host. name: in the inventory; host_name: what it calls itself; vm_name: what Azure calls it."""

    name: str
    host_name: str
    vm_name: str
    scope: str
    number: int

    @property
    def address(self) -> str:
        return "10.77.0.%d" % (_FIRST + self.number)

    @property
    def mac(self) -> str:
        return "02:00:00:00:01:%02x" % self.number

    @property
    def port(self) -> str:
        """The host's end of the cable at the bridge."""
        return "port%d" % self.number


@dataclass(frozen=True)
class ScopePlan:
    name: str
    kind: str
    options: Mapping[str, Any]


SCOPES = (
    ScopePlan("frontends", "availability_set", {}),
    ScopePlan("workers", "scale_set", {"scale_set": "Workers"}),
    ScopePlan("bastions", "single", {}),
    ScopePlan("pool", "scale_set", {"scale_set": "pool", "flexible": True}),
)
# The scopes of the first hosts, then of all further ones, over and over.
_FIRST_SCOPES = ("frontends", "workers", "frontends", "workers", "bastions", "pool")
_FURTHER_SCOPES = ("frontends", "workers", "pool")


def plan(hosts: int) -> List[HostPlan]:
    """So many hosts; from six on an availability set, a uniform and a flexible scale set, and a VM on its own."""
    if not 1 <= hosts <= MOST_HOSTS:
        raise LabError("a lab has 1 to %d hosts, not %d" % (MOST_HOSTS, hosts))
    result: List[HostPlan] = []
    for number in range(hosts):
        scope = _scope(number)
        position = sum(1 for other in result if other.scope == scope)
        name, host_name, vm_name = _names(scope, position)
        result.append(HostPlan(name, host_name, vm_name, scope, number))
    return result


def _scope(number: int) -> str:
    if number < len(_FIRST_SCOPES):
        return _FIRST_SCOPES[number]
    return _FURTHER_SCOPES[(number - len(_FIRST_SCOPES)) % len(_FURTHER_SCOPES)]


def _names(scope: str, position: int) -> Tuple[str, str, str]:
    """In the inventory, on the host, in Azure."""
    if scope == "frontends":
        return "frontend%d" % (position + 1), "srv-fe%d" % (position + 1), "Web-FE%d" % (position + 1)
    if scope == "workers":
        # Instances that were deleted leave holes.
        instance = position * 3
        return "worker%d" % (position + 1), "workers%06d" % instance, "Workers_%d" % instance
    if scope == "pool":
        return "pool%d" % (position + 1), "pool%s" % _letters(position), "pool_%08x" % (0x3F9A1C07 + position * 0x11)
    return "bastion", "gateway", "Jump-Box"


def _letters(position: int) -> str:
    """As Azure ends the computer names of a flexible scale set."""
    return "VX4T%s%s" % (chr(ord("A") + position // 26), chr(ord("A") + position % 26))


def scopes(hosts: Sequence[HostPlan]) -> List[Dict[str, Any]]:
    """The scopes that have hosts, as the simulator takes them."""
    return [
        {
            "name": scope.name,
            "kind": scope.kind,
            **scope.options,
            "vms": [
                {"name": host.vm_name, "address": host.address, "compute": {"osProfile": {"computerName": host.host_name}}}
                for host in hosts
                if host.scope == scope.name
            ],
        }
        for scope in SCOPES
        if any(host.scope == scope.name for host in hosts)
    ]


def inventory(hosts: Sequence[HostPlan], variables: Mapping[str, str]) -> str:
    """As YAML: a group for each scope, below `azure`."""
    lines = ["azure:", "  vars:"]
    lines += ["    %s: %s" % (name, _quoted(value)) for name, value in variables.items()]
    lines.append("  children:")
    for scope in SCOPES:
        members = [host for host in hosts if host.scope == scope.name]
        if members:
            lines += ["    %s:" % scope.name, "      hosts:"]
            lines += ["        %s: {ansible_host: %s}" % (host.name, host.address) for host in members]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return "'%s'" % value.replace("'", "''")
