# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the hosts of a run agree on its options. Pure.

Private to the collection. Options count for the whole run, and those of one host are read: a window in the variables of another group
would count for nobody, and a variable of an extension point that is made of the name of a host would name this one to all of them.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ._options import HOOKS, PREFIX, convert, defaults, is_empty

# It may be made of the time, and is worked out once.
_MAY_DIFFER = ("run_id",)


def disagreements(given: Mapping[str, Any], hostvars: Mapping[str, Any], hosts: Sequence[str]) -> List[str]:
    """A sentence for each option that these hosts do not have alike. given: what is read, of which a play or a task may say more."""
    options = [option for option in defaults() if option not in _MAY_DIFFER]
    first = _options_of(hostvars[hosts[0]], options) if hosts else {}
    asked = [option for option in options if _is_of_hosts(option, given, first)]
    others: Dict[str, str] = {}
    for host in hosts[1:]:
        its = _options_of(hostvars[host], asked)
        others.update((option, host) for option in asked if option not in others and its.get(option) != first.get(option))
    return [_say(option, hosts[0], others[option]) for option in asked if option in others]


def _options_of(variables: Mapping[str, Any], options: Sequence[str]) -> Dict[str, Any]:
    """Only what is there is read, for each is a template. An empty one is the default."""
    found = {option: variables[PREFIX + option] for option in options if PREFIX + option in variables}
    return {option: value for option, value in found.items() if not is_empty(value)}


def _is_of_hosts(option: str, given: Mapping[str, Any], first: Mapping[str, Any]) -> bool:
    """Whether the value that counts is the one among the variables of hosts, or the default since there is none."""
    if option in first:
        return bool(given.get(option) == first[option])
    return bool(convert({option: given.get(option)})[option] == convert({})[option])


def _say(option: str, one: str, other: str) -> str:
    words = "%s%s: it counts for the whole run, and %s and %s do not have the same: give it with -e"
    return words % (PREFIX, option, one, other) + _hint(option)


def _hint(option: str) -> str:
    if option in HOOKS:
        return " or in group_vars/all, and use the name of a host in the tasks themselves"
    # The hosts of a play are chosen before there are variables of any.
    return "" if option == "hosts" else " or in group_vars/all"
