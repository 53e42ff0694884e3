# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""C-28: who a VM is, as the instance service tells it."""

from __future__ import annotations

import re
import uuid
from typing import Any, Dict, List, Optional, Sequence

from .model import DEFAULT_LOCATION, DEFAULT_SUBSCRIPTION, SCALE_SET, VM

_NAMES = uuid.UUID("6f1c6b0e-9a4e-4d0b-8f0a-5d6c1f3f2a10")
# What is filled in last after creation.
KNOWN_LATE = ("resourceId", "vmScaleSetName", "placementGroupId", "zone", "tagsList", "vmId")


def instance(vm: VM, *, incomplete: bool = False) -> Dict[str, Any]:
    """The whole answer. The same VM always gets the same ids; one that was made anew under the same name gets others."""
    compute = _compute(vm)
    if incomplete:
        for key in KNOWN_LATE:
            compute.pop(key, None)
    return {"compute": compute, "network": {"interface": [_interface(vm)]}}


def part(whole: Any, path: Sequence[str]) -> Any:
    """What is at this path below the whole; LookupError if there is nothing. Keys are compared without case."""
    found = whole
    for step in path:
        if isinstance(found, list):
            found = found[_index(step)]
        elif isinstance(found, dict):
            found = found[_key(found, step)]
        else:
            raise LookupError(step)
    return found


def as_text(value: Any) -> str:
    """A leaf as it is; of anything else the names of what is below, a slash after those that have something below themselves."""
    if isinstance(value, dict):
        return "\n".join(key + _slash(below) for key, below in value.items())
    if isinstance(value, list):
        return "\n".join("%d%s" % (index, _slash(below)) for index, below in enumerate(value))
    return str(value)


def is_leaf(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def _slash(value: Any) -> str:
    return "" if is_leaf(value) else "/"


def _index(step: str) -> int:
    if not step.isdigit():
        raise LookupError(step)
    return int(step)


def _key(found: Dict[str, Any], step: str) -> str:
    for key in found:
        if key.lower() == step.lower():
            return key
    raise LookupError(step)


def _stable(*words: object) -> str:
    return str(uuid.uuid5(_NAMES, "/".join(str(word) for word in words)))


def _compute(vm: VM) -> Dict[str, Any]:
    scope = vm.scope
    subscription = str(vm.compute.get("subscriptionId", DEFAULT_SUBSCRIPTION))
    compute: Dict[str, Any] = {
        "azEnvironment": "AzurePublicCloud",
        "location": DEFAULT_LOCATION,
        "name": vm.name,
        "osProfile": {"computerName": _computer_name(vm)},
        "osType": "Linux",
        "placementGroupId": _stable("placement group", scope.name) if scope.kind == SCALE_SET and not scope.flexible else "",
        "platformFaultDomain": str(_position(vm) % (1 if scope.blind else 3)),
        "platformUpdateDomain": str(_position(vm) % 5),
        "resourceGroupName": vm.resource_group,
        "resourceId": _resource_id(vm, subscription),
        "subscriptionId": subscription,
        "tags": "",
        "tagsList": [],
        "vmId": _stable(subscription, vm.resource_group, vm.name, vm.generation),
        "vmScaleSetName": scope.scale_set,
        "vmSize": "Standard_D2s_v5",
        "zone": vm.zone,
    }
    compute.update(vm.compute)
    return compute


def _position(vm: VM) -> int:
    return int(_number(vm) or 0)


def _number(vm: VM) -> Optional[str]:
    found = re.search(r"_(\d{1,9})$", vm.name)
    return found.group(1) if found else None


def _computer_name(vm: VM) -> str:
    """C-20: never the VM's name, so that whoever takes one for the other is found out."""
    number = _number(vm)
    if vm.scope.kind == SCALE_SET and number is not None:
        return "%s%06d" % (vm.name[: -len(number) - 1], int(number))
    return "host-" + re.sub(r"[^a-z0-9-]+", "-", vm.name.lower())


def _resource_id(vm: VM, subscription: str) -> str:
    scope = vm.scope
    group = "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute" % (subscription, vm.resource_group)
    number = _number(vm)
    if scope.kind == SCALE_SET and not scope.flexible and number is not None:
        return "%s/virtualMachineScaleSets/%s/virtualMachines/%s" % (group, scope.scale_set, number)
    return "%s/virtualMachines/%s" % (group, vm.name)


def _interface(vm: VM) -> Dict[str, Any]:
    addresses: List[Dict[str, str]] = [{"privateIpAddress": vm.address or "10.0.0.%d" % (4 + _position(vm) % 250), "publicIpAddress": ""}]
    return {
        "ipv4": {"ipAddress": addresses, "subnet": [{"address": "10.0.0.0", "prefix": "24"}]},
        "ipv6": {"ipAddress": []},
        "macAddress": "0022%08X" % (uuid.uuid5(_NAMES, vm.key).int % (1 << 32)),
    }
