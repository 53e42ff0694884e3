# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which VMs an event names since it was posted (W-10). Pure.

Private to the collection. Between the last look and a post there are up to two seconds, and an approval holds for whatever the event names
then. It is read in the middle of a wave: what is missing or of another kind is nobody.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Tuple

from ..module_utils._document import fold
from ._told import entries_of, items, mapping, names, text

_REFUSED = "refused"


def joined(entry: Mapping[str, Any], posts: Iterable[Mapping[str, Any]]) -> List[str]:
    """The names that nobody has planned for, by what the one who has posted the event saw. What was refused hits nobody early."""
    shown = [mapping(mapping(post.get("result")).get("event")) for post in posts if post.get("outcome") != _REFUSED]
    planned = {fold(name) for name in names(mapping(entry.get("event")).get("resources"))}
    found: Dict[str, str] = {}
    for event in shown:
        for name in names(event.get("resources")):
            found.setdefault(fold(name), name)
    return [name for folded, name in found.items() if folded not in planned]


def newcomers(fleet: Any, plan: Any, posts: Any) -> List[Dict[str, str]]:
    """The hosts of the run among them, with the event that hits each. A name is looked up in the resource group of its event (C-20)."""
    entries, given = entries_of(plan), [mapping(post) for post in items(posts)]
    keys = dict.fromkeys(str(post["key"]) for post in given if isinstance(post.get("key"), str))
    added = {key: joined(entries[key], [post for post in given if post.get("key") == key]) for key in keys if key in entries}
    if not any(added.values()):
        return []
    hosts = dict(_by_identity(fleet))
    wanted = [(key, name, hosts.get((*_realm_of(entries[key]), fold(name)))) for key, found in added.items() for name in found]
    return [{"key": key, "vm_name": name, "host": host} for key, name, host in wanted if host is not None]


def _by_identity(fleet: Any) -> Iterator[Tuple[Tuple[str, str, str], str]]:
    for host in map(mapping, items(mapping(fleet).get("hosts"))):
        vm_name, name = text(host.get("vm_name")), text(host.get("name"))
        if host.get("in_run") is True and vm_name is not None and name is not None:
            yield (*_realm_of({"realm": host}), fold(vm_name)), name


def _realm_of(entry: Mapping[str, Any]) -> Tuple[str, str]:
    realm = mapping(entry.get("realm"))
    return fold(text(realm.get("subscription")) or ""), fold(text(realm.get("resource_group")) or "")
