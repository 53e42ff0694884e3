# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the hosts of a run agree on its options. Pure.

Private to the collection. Options count for the whole run, and those of one host are read: a window in the variables of another group
would count for nobody, and a variable of an extension point that is made of the name of a host would name this one to all of them.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ..module_utils._errors import MaintenanceError
from ._options import HOOKS, PREFIX, convert, defaults

# They may be made of the time, are worked out once, and decide nothing.
_MAY_DIFFER = ("run_id", "evidence_dir")


def disagreements(given: Mapping[str, Any], hostvars: Mapping[str, Any], hosts: Sequence[str]) -> List[str]:
    """A sentence for each option that these hosts do not have alike. given: what is read, of which a play or a task may say more."""
    options = [option for option in defaults() if option not in _MAY_DIFFER]
    first = _options_of(hostvars[hosts[0]], options) if hosts else {}
    asked = [option for option in options if _meant(option, given.get(option)) == _meant(option, first.get(option))]
    others: Dict[str, str] = {}
    for host in hosts[1:]:
        its = _options_of(hostvars[host], asked)
        others.update((option, host) for option in asked if option not in others and not _alike(option, its.get(option), first.get(option)))
    return [_say(option, hosts[0], others[option]) for option in asked if option in others]


def _options_of(variables: Mapping[str, Any], options: Sequence[str]) -> Dict[str, Any]:
    """Only what is there is read, for each is a template."""
    return {option: variables[PREFIX + option] for option in options if PREFIX + option in variables}


def _alike(option: str, one: Any, other: Any) -> bool:
    return bool(one == other) or _meant(option, one) == _meant(option, other)


def _meant(option: str, value: Any) -> Any:
    """What an option comes to, which is its default where there is nothing. One that is wrong is like no other."""
    try:
        return convert({option: value})[option]
    except MaintenanceError:
        return value


def _say(option: str, one: str, other: str) -> str:
    words = "%s%s: it counts for the whole run, and %s and %s do not have the same: give it with -e"
    return words % (PREFIX, option, one, other) + _hint(option)


def _hint(option: str) -> str:
    if option in HOOKS:
        return " or in group_vars/all, and use the name of a host in the tasks themselves"
    # The hosts of a play are chosen before there are variables of any.
    return "" if option == "hosts" else " or in group_vars/all"
