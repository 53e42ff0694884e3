# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of rolling maintenance, converted once and in one place. Pure: the data of time zones are an argument.

Private to the collection. A survey sends text for everything, and an argument spec checks without converting: whatever a run does
is decided by what comes out of here, and by nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, NoReturn, Optional

from ..module_utils._decision import CONTROLLER_CLOCK_ERROR, Facts, Settings, check_policy, policy_hash
from ..module_utils._document import fold, load_json
from ..module_utils._errors import ConfigurationError, TimeFormatError
from ..module_utils._policy import DEFAULT_RULES, Policy, parse_policy
from ..module_utils._time import DAY, HOUR, MINUTE, parse_duration, quoted, say_duration
from ..module_utils._windows import Zone, parse_windows, with_zones

# In front of each option, where a user writes it.
PREFIX = "rolling_maintenance_"
PHASES = ("discover", "plan", "prepare", "gate", "approve", "watch", "recover", "publish")
HOOKS = tuple("%s_%s" % (side, phase) for phase in PHASES for side in ("before", "after"))
HOOK_KEYS = ("tasks", "role", "tasks_from", "vars")
# Made from the options and handed on beside them; what comes back with them is made anew.
MADE = ("policy_hash", "hooks_wanted")

_LONGEST = 366.0 * DAY
# A host that waits longer for its driver than this was forgotten.
_LONGEST_LEASE = float(DAY)
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_NUMBER = re.compile(r"[0-9]{1,6}")
_PERCENT = re.compile(r"([0-9]{1,3}) ?%")
_PERCENT_KEY = "percent"
_LIMITS = ("max_unavailable", "min_available")
# What no name of a VM can have, and a pattern needs.
_PATTERN = re.compile(r"[*?\[\]!~]")
_ALL = "all"
_EVERYBODY = (_ALL, "any", "ungrouped")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ROLE = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*){2,}")
_TASKS_FROM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENDING = re.compile(r"\.ya?ml$")
# The agent of a host drives under this name, and a playbook that did would be taken for it.
_TAKEN_DRIVER = "agent"


@dataclass(frozen=True)
class Share:
    """A number of hosts, or percent of a group."""

    count: Optional[int] = None
    percent: Optional[int] = None

    def at_most(self, hosts: int) -> int:
        """Percent are rounded down, and at least one where they are more than none."""
        if self.count is not None:
            return self.count
        percent = self.percent or 0
        return max(1, hosts * percent // 100) if percent else 0

    def at_least(self, hosts: int) -> int:
        """Percent are rounded up: half of three is two."""
        return self.count if self.count is not None else -(-hosts * (self.percent or 0) // 100)


@dataclass(frozen=True)
class Bounds:
    """How many hosts of a group may be out of service, and how many must be in it."""

    max_unavailable: Share
    min_available: Share


@dataclass(frozen=True)
class Options:
    """The options that planning looks at."""

    policy: Policy
    settings: Settings
    policy_hash: str
    overall: Bounds
    groups: Mapping[str, Bounds]
    allow_unmanaged: FrozenSet[str]
    wait: float
    period: float
    settle: float
    watch_timeout: float
    driver: str
    run_id: Optional[str]
    plan_digest: Optional[str]
    recount_at_most: int
    gate_within: float


def defaults() -> Dict[str, Any]:
    """Every option as it is without a word of the user."""
    return {key: option.default for key, option in _OPTIONS.items()}


def convert(raw: Any) -> Dict[str, Any]:
    """All options in plain data of the right types, or ConfigurationError with everything that is wrong.

    What was converted before comes out the same.
    """
    if not isinstance(raw, Mapping):
        raise ConfigurationError("The options are %s, not a dictionary." % quoted(raw))
    problems = ["%s%s: there is no such option" % (PREFIX, _said(key)) for key in raw if key not in _OPTIONS and key not in MADE]
    converted: Dict[str, Any] = {}
    for key, option in _OPTIONS.items():
        try:
            converted[key] = option.converted(raw.get(key, option.default))
        except (ConfigurationError, TimeFormatError) as error:
            problems.append("%s%s: %s" % (PREFIX, key, error.message))
    if problems:
        raise ConfigurationError(". ".join(problems) + ".")
    return _with_full_groups(converted)


def zones_named(converted: Mapping[str, Any]) -> List[str]:
    """The time zones whose data the windows need."""
    return sorted({window.timezone for window in parse_windows(converted["windows"])})


def options_of(converted: Mapping[str, Any], zones: Mapping[str, Zone]) -> Options:
    """The options as values. ConfigurationError where rules, windows and budgets do not fit together."""
    policy = parse_policy(converted["rules"])
    settings = Settings(
        prepare_budget=converted["prepare_budget"],
        approve_reserve=converted["approve_reserve"],
        recover_budget=converted["recover_budget"],
        windows=with_zones(parse_windows(converted["windows"]), zones),
    )
    try:
        check_policy(policy, facts=Facts(CONTROLLER_CLOCK_ERROR), settings=settings)
    except ConfigurationError as error:
        raise ConfigurationError("%srules: %s." % (PREFIX, error.message)) from error
    return Options(
        policy=policy,
        settings=settings,
        policy_hash=policy_hash(policy, settings),
        overall=_bounds(converted),
        groups={name: _bounds(bounds) for name, bounds in converted["groups"].items()},
        allow_unmanaged=frozenset(fold(name) for name in converted["allow_unmanaged"]),
        wait=converted["within"],
        period=converted["period"],
        settle=converted["settle"],
        watch_timeout=converted["watch_timeout"],
        driver=converted["driver"],
        run_id=converted["run_id"],
        plan_digest=converted["plan_digest"],
        recount_at_most=converted["recount_at_most"],
        gate_within=converted["gate_within"],
    )


def result_of(converted: Mapping[str, Any], options: Options) -> Dict[str, Any]:
    """The options as a role keeps them."""
    wanted = [hook for hook in HOOKS if converted[hook]]
    return {**converted, "policy_hash": options.policy_hash, "hooks_wanted": wanted}


def _bounds(values: Mapping[str, Any]) -> Bounds:
    return Bounds(_share_of(values["max_unavailable"]), _share_of(values["min_available"]))


def _share_of(value: Any) -> Share:
    return Share(percent=value[_PERCENT_KEY]) if isinstance(value, Mapping) else Share(count=value)


def _with_full_groups(converted: Dict[str, Any]) -> Dict[str, Any]:
    """A group that gives only one bound has the other one from the whole."""
    full = {name: {limit: bounds.get(limit, converted[limit]) for limit in _LIMITS} for name, bounds in converted["groups"].items()}
    return {**converted, "groups": full}


# --- one value -----------------------------------------------------------------------------------------------------------


def _refuse(why: str) -> NoReturn:
    raise ConfigurationError(why)


def _said(key: Any) -> str:
    return key if isinstance(key, str) and _VARIABLE.fullmatch(key) else quoted(key)


def _is_empty(value: Any) -> bool:
    """A field of a survey that was left empty arrives as an empty text."""
    return value is None or (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        _refuse("%s is not text" % quoted(value))
    text = " ".join(str(value).split())
    if not text.isprintable():
        _refuse("%s is not a line of text" % quoted(value))
    return text


def _hosts(value: Any) -> str:
    """Nobody is meant by an empty list, and a play of nobody ends well."""
    pattern = ",".join(_names(value)) if isinstance(value, (list, tuple)) else _text(value)
    return pattern or _refuse("it names no host")


def _driver(value: Any) -> str:
    name = _text(value)
    if fold(name) == _TAKEN_DRIVER:
        _refuse("this name belongs to the agent of a host")
    return name


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = fold(str(value)).strip() if isinstance(value, (str, int)) else ""
    if word in _TRUE:
        return True
    return False if word in _FALSE else _refuse("%s is neither true nor false" % quoted(value))


def _duration(value: Any) -> float:
    seconds = float(parse_duration(value))
    if seconds > _LONGEST:
        _refuse("%s is more than %s" % (quoted(value), say_duration(_LONGEST)))
    return seconds


def _some_time(value: Any) -> float:
    return _duration(value) or _refuse("it must be longer than nothing")


def _lease(value: Any) -> float:
    seconds = _some_time(value)
    return seconds if seconds <= _LONGEST_LEASE else _refuse("%s is more than a day" % quoted(value))


def _count(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6:
        return int(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return int(value)
    return _refuse("%s is not a number of hosts" % quoted(value))


def _share(value: Any) -> Any:
    if isinstance(value, Mapping) and list(value) == [_PERCENT_KEY]:
        return {_PERCENT_KEY: _percent(_count(value[_PERCENT_KEY]))}
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match:
        return {_PERCENT_KEY: _percent(int(match.group(1)))}
    try:
        return _count(value)
    except ConfigurationError:
        return _refuse("%s is neither a number of hosts nor a share such as 20%%" % quoted(value))


def _percent(number: int) -> int:
    return number if number <= 100 else _refuse("%d%% is more than all" % number)


def _loaded(value: Any, kind: Any) -> Any:
    """A list or dictionary; text is JSON, as a survey sends it."""
    if not isinstance(value, str):
        return value
    try:
        loaded = load_json(value.encode("utf-8"))
    except ValueError:
        loaded = None
    return loaded if isinstance(loaded, kind) else _refuse("%s is neither YAML nor JSON of it" % quoted(value))


def _listed(value: Any) -> List[Any]:
    """A list; of text, JSON or names with commas between them."""
    if isinstance(value, str) and not value.strip().startswith("["):
        return [part.strip() for part in value.split(",") if part.strip()]
    loaded = _loaded(value, list)
    return list(loaded) if isinstance(loaded, (list, tuple)) else _refuse("%s is not a list" % quoted(value))


def _names(value: Any) -> List[str]:
    names = [_text(name) for name in _listed(value)]
    return names if all(names) else _refuse("a name is empty")


def _unmanaged(value: Any) -> List[str]:
    """Names alone: who allows everything has approved over the heads of VMs that nobody has looked at."""
    names = _names(value)
    for name in names:
        if fold(name) in _EVERYBODY or _PATTERN.search(name):
            _refuse("%s is not the whole name of one VM; name each VM that may be hit without being prepared" % quoted(name))
    return names


def _rules(value: Any) -> List[Dict[str, Any]]:
    rules = _loaded(value, list)
    parse_policy(rules)
    return [dict(rule) for rule in rules]


def _windows(value: Any) -> List[Dict[str, Any]]:
    windows = _loaded(value, list)
    parse_windows(windows)
    return [dict(window) for window in windows]


def _groups(value: Any) -> Dict[str, Dict[str, Any]]:
    groups = _loaded(value, dict)
    if not isinstance(groups, Mapping):
        _refuse("%s is not a dictionary of groups" % quoted(value))
    return {_group_name(name): _group(name, bounds) for name, bounds in groups.items()}


def _group_name(value: Any) -> str:
    """No host says of itself that it is in the group all, and bounds that count for nobody would be kept by nobody."""
    name = _text(value)
    if not name:
        _refuse("the name of a group is empty")
    return name if name != _ALL else _refuse("the bounds of all hosts are %s" % " and ".join(PREFIX + limit for limit in _LIMITS))


def _group(name: Any, bounds: Any) -> Dict[str, Any]:
    if not isinstance(bounds, Mapping) or not bounds or not set(bounds) <= set(_LIMITS):
        _refuse("group %s has not just %s" % (quoted(name), " and ".join(_LIMITS)))
    converted: Dict[str, Any] = {}
    for limit, value in bounds.items():
        try:
            converted[limit] = _share(value)
        except ConfigurationError as error:
            _refuse("group %s, %s: %s" % (quoted(name), limit, error.message))
    return converted


def _digest(value: Any) -> str:
    digest = _text(value)
    return digest if _DIGEST.fullmatch(digest) else _refuse("%s is not the digest of a plan" % quoted(value))


def _folder(value: Any) -> str:
    """A collection's playbook does not see the folder of whoever calls it, so a relative path means another place each time."""
    path = _text(value)
    return path if path.startswith(("/", "~")) else _refuse("%s is not an absolute path" % quoted(value))


def _hooks(value: Any) -> List[Dict[str, Any]]:
    if isinstance(value, str) and value.strip().startswith("{"):
        value = _loaded(value, dict)
    hooks = [value] if isinstance(value, Mapping) else _listed(value)
    return [_hook(hook, number) for number, hook in enumerate(hooks, 1)]


def _hook(value: Any, number: int) -> Dict[str, Any]:
    try:
        return _hook_of({"tasks": value} if isinstance(value, str) else value)
    except ConfigurationError as error:
        return _refuse("entry %d: %s" % (number, error.message))


def _hook_of(hook: Any) -> Dict[str, Any]:
    if not isinstance(hook, Mapping) or not set(hook) <= set(HOOK_KEYS):
        _refuse("it is neither a path nor a dictionary of %s" % ", ".join(HOOK_KEYS))
    tasks, role = hook.get("tasks"), hook.get("role")
    if (tasks is None) == (role is None):
        _refuse("it needs either tasks or role")
    return {
        "tasks": None if tasks is None else _tasks(tasks),
        "role": None if role is None else _role(role),
        "tasks_from": _tasks_from(hook.get("tasks_from")),
        "vars": _variables(hook.get("vars")),
    }


def _tasks(value: Any) -> str:
    path = _text(value)
    if not path.startswith("/"):
        _refuse("%s is not an absolute path, and files beside your playbook cannot be seen from here" % quoted(value))
    return path


def _role(value: Any) -> str:
    name = _text(value)
    if name.startswith("/") or _ROLE.fullmatch(name):
        return name
    return _refuse("%s is neither the full name of a role, namespace.collection.role, nor an absolute path to one" % quoted(value))


def _tasks_from(value: Any) -> str:
    """Without the ending: with it Ansible reads over the argument spec of the entry point."""
    if value is None:
        return "main"
    name = _ENDING.sub("", _text(value))
    plain = _TASKS_FROM.fullmatch(name) and not _ENDING.search(name)
    return name if plain else _refuse("tasks_from: %s is not the name of a file of tasks" % quoted(value))


def _variables(value: Any) -> Dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _refuse("vars: %s is not a dictionary" % quoted(value))
    for name in value:
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name) or name.startswith(PREFIX):
            _refuse("vars: %s cannot be set here" % quoted(name))
    return {str(name): given for name, given in value.items()}


# --- all of them ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Option:
    """The default in its converted form, how a value is converted, and what nothing at all means: the default, or None."""

    default: Any
    convert: Callable[[Any], Any]
    nothing: bool = False

    def converted(self, value: Any) -> Any:
        if not _is_empty(value):
            return self.convert(value)
        return None if self.nothing else self.convert(self.default)


_OPTIONS: Mapping[str, _Option] = {
    "hosts": _Option("all", _hosts),
    "rules": _Option(DEFAULT_RULES, _rules),
    "windows": _Option([], _windows),
    "prepare_budget": _Option(5.0 * MINUTE, _some_time),
    "approve_reserve": _Option(60.0, _duration),
    "recover_budget": _Option(2.0 * MINUTE, _duration),
    "max_unavailable": _Option(1, _share),
    "min_available": _Option(1, _share),
    "groups": _Option({}, _groups),
    "allow_unmanaged": _Option([], _unmanaged),
    "within": _Option(0.0, _duration),
    "period": _Option(0.0, _duration),
    "lease": _Option(10.0 * MINUTE, _lease),
    "prepare_timeout": _Option(None, _some_time, nothing=True),
    "start_timeout": _Option(15.0 * MINUTE, _some_time),
    "watch_timeout": _Option(float(HOUR), _some_time),
    "return_timeout": _Option(15.0 * MINUTE, _some_time),
    "recover_timeout": _Option(10.0 * MINUTE, _some_time),
    "settle": _Option(10.0, _duration),
    "look": _Option(20.0, _some_time),
    "ask": _Option(False, _flag),
    "ask_timeout": _Option(10.0 * MINUTE, _some_time),
    "plan_digest": _Option(None, _digest, nothing=True),
    "run_id": _Option(None, _text, nothing=True),
    "driver": _Option("playbook", _driver),
    "evidence_dir": _Option("~/.azure_maintenance/evidence", _folder, nothing=True),
    "recount_at_most": _Option(50, _count),
    "discover_timeout": _Option(10.0, _some_time),
    "gate_within": _Option(float(HOUR), _duration),
    **{hook: _Option([], _hooks) for hook in HOOKS},
}
