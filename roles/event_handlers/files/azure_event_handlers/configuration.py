# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator has configured on this host, valid as a whole before any of it is used.

What lies in these folders is run as root. So whatever somebody else than root could have written is not taken, however right it looks.
"""

from __future__ import annotations

import ipaddress
import os
import re
import stat
import unicodedata
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar
from urllib.parse import urlsplit

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import (
    DEFAULT_API_VERSION,
    DEFAULT_ENDPOINT,
    DEFAULT_RETRY_FOR,
    DEFAULT_TIMEOUT,
    LONGEST_DURATION,
    SHORTEST_POLL_INTERVAL,
    Connection,
    connection_of,
    vm_name_of,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import (
    APPROVE_RESERVE,
    HOST_CLOCK_ERROR,
    PREPARE_BUDGET,
    RECOVER_BUDGET,
    SHORTEST_ON_A_HOST,
    Facts,
    Settings,
    check_policy,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import KNOWN_TYPES, Event, known_as, load_json
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._language import Entry
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import Policy, default_policy, parse_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._selection import TYPE_CHOICES
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import DAY, HOUR, MINUTE, quoted, say_duration
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._windows import Window, parse_windows
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._zone import place_windows

from .paths import Paths
from .records import STATES
from .systemd import OURS, SYSTEMDS

FORMAT = 1
WATCH, PREPARE, PREPARE_AND_APPROVE = "watch", "prepare", "prepare_and_approve"
MODES = (WATCH, PREPARE, PREPARE_AND_APPROVE)
BY_POLICY, NEVER = "policy", "none"
AS_JSON, AS_TEXT = "json", "text"

# Long enough for a run to look at a few hundred other hosts meanwhile.
LEASE = 2.0 * MINUTE
# Where nobody answers.
NOBODY = "http://127.0.0.1:9"
# A hold that somebody forgot ends before the next day.
HOLD_FOR = 4.0 * HOUR
KEEP_CLOSED = 90.0 * DAY
POLL_INTERVAL = 1.0
LIMIT = 60.0
# A driver who lives must have the time to say so several times; the network may swallow some of them.
SHORTEST_LEASE = 5.0
_POLLS_PER_LEASE = 3
# A spot VM is deleted 30 seconds after its notice (C-19).
LONGEST_POLL_INTERVAL = 15.0
# More than anybody writes by hand.
_LARGEST_FILE = 1024 * 1024

# What a handler learns of its event and of this run stands under these names. PATH is a default that may be replaced.
_OUR_NAMES = frozenset(("PHASE", "ATTEMPT", "TRY", "INTERRUPTED", *SYSTEMDS))
_OUR_PREFIX = "EVENT_"

_KEYS = (
    "format",
    "mode",
    "endpoint",
    "api_version",
    "timeout",
    "vm_name",
    "approve",
    "rules",
    "windows",
    "prepare_budget",
    "approve_reserve",
    "recover_budget",
    "allow_empty_prepare",
    "scope_size",
    "lease",
    "hold_for",
    "keep_closed",
    "poll_interval",
    "webhook",
)
_WEBHOOK_KEYS = ("url", "secret_file", "form", "events")
_OPTION_KEYS = ("event_types", "limit", "required", "environment", "properties")

_HANDLER = re.compile(r"[0-9]{2}-(?P<name>[a-z0-9][a-z0-9_-]*)")
_OPTION_SUFFIX = ".json"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_PROPERTY = re.compile(r"(?P<name>[A-Z][A-Za-z0-9]*)=(?P<value>.*)", re.DOTALL)

_SETTINGS = Settings(shortest_preparation=SHORTEST_ON_A_HOST)

Value = TypeVar("Value")


@dataclass(frozen=True)
class Handler:
    """One executable; limit: seconds for one run; environment: NAME=value each, sorted; properties: of its unit."""

    name: str
    file: str
    event_types: Tuple[str, ...] = KNOWN_TYPES
    limit: float = LIMIT
    required: bool = True
    environment: Tuple[str, ...] = ()
    properties: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Webhook:
    """states: of those that are told, None: of all."""

    url: str
    secret_file: Optional[str] = None
    form: str = AS_JSON
    states: Optional[Tuple[str, ...]] = None


@dataclass(frozen=True)
class Configuration:
    """scope_size: of how many VMs the scope is, None: nobody has said."""

    mode: str = WATCH
    endpoint: str = DEFAULT_ENDPOINT
    api_version: str = DEFAULT_API_VERSION
    timeout: float = 130.0
    vm_name: Optional[str] = None
    policy: Policy = field(default_factory=default_policy)
    settings: Settings = _SETTINGS
    allow_empty_prepare: bool = False
    scope_size: Optional[int] = None
    lease: float = LEASE
    hold_for: float = HOLD_FOR
    keep_closed: float = KEEP_CLOSED
    poll_interval: float = POLL_INTERVAL
    webhook: Optional[Webhook] = None
    handlers: Tuple[Handler, ...] = ()

    def applicable(self, event: Event) -> Tuple[Handler, ...]:
        """What is to be done for this event; for a type that nobody knows, only what is meant for "unknown"."""
        kind = known_as(event.event_type, KNOWN_TYPES)
        return tuple(handler for handler in self.handlers if kind in handler.event_types)


def load(paths: Paths, *, owner: int = 0) -> Configuration:
    """The configuration, or ConfigurationError with the first thing that is wrong. owner: who may have written it."""
    configuration, problems = _examined(paths, owner)
    if not problems:
        return configuration
    more = "" if len(problems) == 1 else "; and %d more: see `azure-event-handlers check-config`" % (len(problems) - 1)
    raise ConfigurationError(problems[0] + more)


def check(paths: Paths, *, owner: int = 0) -> List[str]:
    """All that is wrong, a sentence each. As the webhook's secret is of no use to others, only this looks whether it is there."""
    configuration, problems = _examined(paths, owner)
    hook = configuration.webhook
    if hook is not None and hook.secret_file is not None and not os.path.isfile(hook.secret_file):
        problems.append("%s, webhook, secret_file: there is no file %s" % (paths.configuration, ascii(hook.secret_file)))
    return problems


def guarding(paths: Paths, *, owner: int = 0) -> Configuration:
    """For a host whose configuration is wrong: it is watched and nothing is begun. Whom to ask, and as whom, may be known all the same."""
    notes = _Notes()
    entry = notes.taken(partial(_config_object, paths, owner), None)
    alone = Configuration() if entry is None else _configuration(entry, (), notes)
    if notes.problems:
        # A rehearsal has a service of its own, and never asks the real one by default.
        return Configuration(endpoint=NOBODY) if paths.root else Configuration()
    return Configuration(endpoint=alone.endpoint, api_version=alone.api_version, timeout=alone.timeout, vm_name=alone.vm_name)


class _Notes:
    """Goes on after a mistake, so that an operator hears of all of them at once."""

    def __init__(self) -> None:
        self.problems: List[str] = []

    def add(self, problem: str) -> None:
        sentence = problem.rstrip(".")
        if sentence not in self.problems:
            self.problems.append(sentence)

    def add_all(self, problems: Iterator[str]) -> None:
        for problem in problems:
            self.add(problem)

    def taken(self, read: Callable[[], Value], otherwise: Value) -> Value:
        try:
            return read()
        except ConfigurationError as error:
            self.add(error.message)
            return otherwise


class _Object(Entry):
    """The one object of a file, where messages begin with the file."""

    def __init__(self, values: Any, *, label: str, keys: Sequence[str]) -> None:
        self.label = label
        if not isinstance(values, Mapping):
            raise ConfigurationError("%s: it is not a JSON object" % label)
        self._values = values
        for key in values:
            if key not in keys:
                raise ConfigurationError("%s: %s is not a key of it; it has %s" % (label, quoted(key), ", ".join(keys)))

    def is_given(self, key: str) -> bool:
        """For keys where null says the same as nothing."""
        return self.has(key) and self.value(key) is not None

    def time(self, key: str, otherwise: float, *, at_least: float = 0.0, at_most: float = LONGEST_DURATION) -> float:
        seconds = self.duration(key)
        if seconds is None:
            return otherwise
        if not at_least <= seconds <= at_most:
            self.refuse(key, "it must be from %s to %s, not %s" % (say_duration(at_least), say_duration(at_most), quoted(self.value(key))))
        return seconds

    def one_of(self, key: str, known: Sequence[str], otherwise: str) -> str:
        return self.word(key, {word: word for word in known}) if self.has(key) else otherwise

    def object(self, key: str, keys: Sequence[str]) -> _Object:
        return _Object(self.value(key), label="%s, %s" % (self.label, key), keys=keys)


def _examined(paths: Paths, owner: int) -> Tuple[Configuration, List[str]]:
    notes = _Notes()
    notes.taken(partial(_refuse_half, paths), None)
    entry = notes.taken(partial(_config_object, paths, owner), None)
    handlers = _handlers(paths, owner, notes)
    configuration = Configuration(handlers=handlers) if entry is None else _configuration(entry, handlers, notes)
    for problem in _budget_problems(configuration):
        notes.add("%s, %s" % (paths.configuration, problem))
    return configuration, notes.problems


def _refuse_half(paths: Paths) -> None:
    """With half of the handlers a host would seem ready that is not."""
    if os.path.lexists(paths.changing):
        raise ConfigurationError(
            "%s: the role event_handlers has not put everything in place yet: if it does not run now, it was"
            " cut off; run it again to its end" % paths.changing
        )


# --- config.json -------------------------------------------------------------------------------------------------------


def _config_object(paths: Paths, owner: int) -> _Object:
    path = paths.configuration
    if not os.path.lexists(path):
        raise ConfigurationError("%s is missing: let the role event_handlers install it" % path)
    _refuse_first(_folder_problems(paths, os.path.dirname(path), owner))
    values = _read(path, owner)
    # Of another format the keys mean nothing, so its number is the first thing to look at.
    found = values.get("format") if isinstance(values, dict) else None
    if isinstance(values, dict) and (isinstance(found, bool) or found != FORMAT):
        raise ConfigurationError("%s, format: it is %s, and this program reads %d" % (path, quoted(found), FORMAT))
    return _Object(values, label=path, keys=_KEYS)


def _configuration(entry: _Object, handlers: Tuple[Handler, ...], notes: _Notes) -> Configuration:
    """What is wrong gets its default, so that the rest can be looked at; nobody uses it then."""
    plain = Configuration(handlers=handlers)
    connection = notes.taken(lambda: _connection(entry), Connection(plain.endpoint, plain.api_version, plain.timeout, 0.0))
    mode = notes.taken(lambda: entry.one_of("mode", MODES, WATCH), WATCH)
    poll = notes.taken(
        lambda: entry.time("poll_interval", POLL_INTERVAL, at_least=SHORTEST_POLL_INTERVAL, at_most=LONGEST_POLL_INTERVAL), POLL_INTERVAL
    )
    policy = notes.taken(lambda: _policy(entry), plain.policy)
    settings = _settings(entry, mode, notes)
    notes.taken(lambda: _check_together(entry, policy, settings), None)
    return Configuration(
        mode=mode,
        endpoint=connection.endpoint,
        api_version=connection.api_version,
        timeout=connection.timeout,
        vm_name=notes.taken(lambda: _vm_name(entry), None),
        policy=policy,
        settings=settings,
        allow_empty_prepare=notes.taken(lambda: bool(entry.flag("allow_empty_prepare")), False),
        scope_size=notes.taken(lambda: _scope_size(entry), None),
        lease=notes.taken(lambda: entry.time("lease", LEASE, at_least=max(SHORTEST_LEASE, _POLLS_PER_LEASE * poll)), LEASE),
        hold_for=notes.taken(lambda: entry.time("hold_for", HOLD_FOR, at_least=1.0), HOLD_FOR),
        keep_closed=notes.taken(lambda: entry.time("keep_closed", KEEP_CLOSED), KEEP_CLOSED),
        poll_interval=poll,
        webhook=notes.taken(lambda: _webhook(entry), None),
        handlers=handlers,
    )


def _connection(entry: _Object) -> Connection:
    options: Dict[str, Any] = {
        "endpoint": entry.text("endpoint") if entry.has("endpoint") else DEFAULT_ENDPOINT,
        "api_version": entry.text("api_version") if entry.has("api_version") else DEFAULT_API_VERSION,
        "timeout": entry.value("timeout") if entry.has("timeout") else DEFAULT_TIMEOUT,
        "retry_for": DEFAULT_RETRY_FOR,
    }
    return _said_of("%s, " % entry.label, lambda: connection_of(options))


def _vm_name(entry: _Object) -> Optional[str]:
    name = entry.text("vm_name") if entry.is_given("vm_name") else None
    return _said_of("%s, " % entry.label, lambda: vm_name_of({"vm_name": name}))


def _policy(entry: _Object) -> Policy:
    if not entry.is_given("rules"):
        return default_policy()
    return _said_of("%s, rules: " % entry.label, lambda: parse_policy(entry.value("rules")))


def _settings(entry: _Object, mode: str, notes: _Notes) -> Settings:
    """In mode `prepare` nothing is approved; in mode `watch` somebody else acts, and the decisions are for the evidence."""
    approve = notes.taken(lambda: entry.one_of("approve", (BY_POLICY, NEVER), BY_POLICY), NEVER)
    return Settings(
        prepare_budget=notes.taken(lambda: entry.time("prepare_budget", PREPARE_BUDGET, at_least=1.0), PREPARE_BUDGET),
        approve_reserve=notes.taken(lambda: entry.time("approve_reserve", APPROVE_RESERVE), APPROVE_RESERVE),
        recover_budget=notes.taken(lambda: entry.time("recover_budget", RECOVER_BUDGET, at_least=1.0), RECOVER_BUDGET),
        shortest_preparation=SHORTEST_ON_A_HOST,
        approve=approve == BY_POLICY and mode != PREPARE,
        windows=notes.taken(lambda: _windows(entry, notes), ()),
    )


def _windows(entry: _Object, notes: _Notes) -> Tuple[Window, ...]:
    if not entry.has("windows"):
        return ()
    beginning = "%s, windows: " % entry.label
    placed, problems = place_windows(_said_of(beginning, lambda: parse_windows(entry.value("windows"))))
    for problem in problems:
        notes.add(beginning + problem)
    return placed


def _check_together(entry: _Object, policy: Policy, settings: Settings) -> None:
    """What rules, windows and budgets cannot be together. A window without data is named already, with the reason."""
    if all(window.zone is not None for window in settings.windows):
        facts = Facts(clock_error=HOST_CLOCK_ERROR)
        _said_of("%s, rules: " % entry.label, lambda: check_policy(policy, facts=facts, settings=settings))


def _scope_size(entry: _Object) -> Optional[int]:
    if not entry.is_given("scope_size"):
        return None
    size = entry.value("scope_size")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        entry.refuse("scope_size", "%s is not a number of VMs" % quoted(size))
    return int(size)


def _webhook(entry: _Object) -> Optional[Webhook]:
    if not entry.is_given("webhook"):
        return None
    hook = entry.object("webhook", _WEBHOOK_KEYS)
    return Webhook(
        url=_url(hook),
        secret_file=_secret_file(hook) if hook.is_given("secret_file") else None,
        form=hook.one_of("form", (AS_JSON, AS_TEXT), AS_JSON),
        states=hook.words("events", {state: state for state in STATES}) if hook.is_given("events") else None,
    )


def _url(hook: _Object) -> str:
    """The address itself is not repeated: with many services its path is the password."""
    url = hook.text("url")
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        hook.refuse("url", "it is not a URL")
    if not host or any(character.isspace() or _is_control(character) for character in url):
        hook.refuse("url", "it is not a URL such as https://example.com/path")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        hook.refuse("url", "it must begin with https://; only to this machine itself http:// will do")
    return url


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _secret_file(hook: _Object) -> str:
    path = hook.text("secret_file")
    if not os.path.isabs(path) or "\0" in path:
        hook.refuse("secret_file", "%s is not an absolute path" % quoted(path))
    return path


# --- handlers.d and options.d ------------------------------------------------------------------------------------------


def _handlers(paths: Paths, owner: int, notes: _Notes) -> Tuple[Handler, ...]:
    for folder in (paths.handlers, paths.options):
        if os.path.lexists(folder):
            notes.add_all(_folder_problems(paths, folder, owner))
    names, options = _names(paths.handlers, notes), _names(paths.options, notes)
    for name in options:
        if not (name.endswith(_OPTION_SUFFIX) and name[: -len(_OPTION_SUFFIX)] in names):
            notes.add("%s belongs to no handler: remove it, or install its handler" % os.path.join(paths.options, name))
    found = []
    for name in names:
        file = os.path.join(paths.handlers, name)
        notes.taken(partial(_check_handler, file, owner), None)
        plain = Handler(name, file)
        found.append(notes.taken(partial(_with_options, plain, paths, owner), plain) if name + _OPTION_SUFFIX in options else plain)
    _note_same_names(paths, found, notes)
    return tuple(found)


def _names(folder: str, notes: _Notes) -> List[str]:
    """In order. A hidden file is one that is being written."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        notes.add("%s cannot be read: %s" % (folder, error.strerror))
        return []


def _check_handler(path: str, owner: int) -> None:
    if not _HANDLER.fullmatch(os.path.basename(path)):
        raise ConfigurationError(
            "%s is not the name of a handler, such as 10-drain: rename it, or take it out of this folder" % ascii(path)
        )
    _refuse_first(_file_problems(path, owner))
    if not os.lstat(path).st_mode & stat.S_IXUSR:
        raise ConfigurationError("%s cannot be executed: chmod 755 it, or take it out of this folder" % path)


def _with_options(plain: Handler, paths: Paths, owner: int) -> Handler:
    path = os.path.join(paths.options, plain.name + _OPTION_SUFFIX)
    entry = _Object(_read(path, owner), label=path, keys=_OPTION_KEYS)
    required = entry.flag("required")
    return replace(
        plain,
        event_types=entry.words("event_types", {word: word for word in TYPE_CHOICES}) if entry.has("event_types") else KNOWN_TYPES,
        limit=entry.time("limit", LIMIT, at_least=1.0),
        required=True if required is None else required,
        environment=_environment(entry),
        properties=_properties(entry),
    )


def _environment(entry: _Object) -> Tuple[str, ...]:
    values = entry.value("environment") if entry.has("environment") else {}
    if not isinstance(values, Mapping):
        entry.refuse("environment", "%s is not an object of names and texts" % quoted(values))
    for name, value in values.items():
        if not _VARIABLE.fullmatch(name):
            entry.refuse("environment", "%s is not the name of a variable: capital letters, digits and underscores" % quoted(name))
        if name in _OUR_NAMES or name.startswith(_OUR_PREFIX):
            entry.refuse("environment", "%s is set by the executor: choose another name" % name)
        if not isinstance(value, str):
            entry.refuse("environment", "the value of %s is %s, not text: put it in quotes" % (name, quoted(value)))
        if any(_is_control(character) for character in value):
            entry.refuse("environment", "the value of %s has a control character, such as the end of a line" % name)
    return tuple("%s=%s" % pair for pair in sorted(values.items()))


def _properties(entry: _Object) -> Tuple[str, ...]:
    values = entry.value("properties") if entry.has("properties") else []
    if not isinstance(values, list):
        entry.refuse("properties", "%s is not a list of texts such as ProtectSystem=strict" % quoted(values))
    for value in values:
        match = _PROPERTY.fullmatch(value) if isinstance(value, str) else None
        if match is None or any(_is_control(character) for character in value):
            entry.refuse("properties", "%s is not a property such as ProtectSystem=strict" % quoted(value))
        if match.group("name") in OURS:
            entry.refuse("properties", "%s is the executor's to set, or would break what it promises: leave it out" % match.group("name"))
    return tuple(values)


def _note_same_names(paths: Paths, handlers: Sequence[Handler], notes: _Notes) -> None:
    """Hardly anybody means both: one of them is what is left of a handler that got another number."""
    first: Dict[str, str] = {}
    for handler in handlers:
        name = handler.name.partition("-")[2]
        earlier = first.setdefault(name, handler.name)
        if earlier != handler.name:
            notes.add("%s: %s has the same name: remove or rename one of them" % (handler.file, os.path.join(paths.handlers, earlier)))


# --- budgets -----------------------------------------------------------------------------------------------------------


def _budget_problems(configuration: Configuration) -> Iterator[str]:
    """Handlers that cannot be through in time: preparing would end in giving back, each time."""
    for kind in TYPE_CHOICES:
        needed = sum(handler.limit for handler in configuration.handlers if handler.required and kind in handler.event_types)
        for where, budget in _budgets(configuration, kind):
            if needed > budget:
                yield "%s: the required handlers for %s may take %s together, more than these %s: raise it, or lower their limits" % (
                    where,
                    kind,
                    say_duration(needed),
                    say_duration(budget),
                )


def _budgets(configuration: Configuration, kind: str) -> Iterator[Tuple[str, float]]:
    """The default, which others than the rules may count on, and those of the rules for this type; only one that prepares has its own."""
    yield "prepare_budget", configuration.settings.prepare_budget
    for rule in configuration.policy.rules:
        if rule.prepare_budget is not None and kind in rule.event_types:
            yield "rules, prepare_budget of %s" % quoted(rule.name), rule.prepare_budget


# --- files -------------------------------------------------------------------------------------------------------------


def _read(path: str, owner: int) -> Any:
    """The JSON of a file that nobody else can have written."""
    _refuse_first(_file_problems(path, owner))
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            body = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigurationError("%s cannot be read: %s" % (path, error.strerror)) from error
    if len(body) > _LARGEST_FILE:
        raise ConfigurationError("%s is larger than %d bytes" % (path, _LARGEST_FILE))
    try:
        return load_json(body)
    except ValueError as error:
        raise ConfigurationError("%s is not JSON: %s" % (path, " ".join(str(error).split()))) from error


def _folder_problems(paths: Paths, folder: str, owner: int) -> Iterator[str]:
    """Of a folder and those above it. Above the root of a rehearsal they are the matter of whoever chose that."""
    root = os.path.abspath(paths.root or "/")
    current = os.path.abspath(folder)
    above = False
    while True:
        try:
            yield from folder_problems(current, os.lstat(current), owner=owner, above=above)
        except OSError as error:
            yield "%s cannot be read: %s" % (current, error.strerror)
        if current in (root, "/"):
            return
        current, above = os.path.dirname(current), True


def folder_problems(path: str, found: os.stat_result, *, owner: int, above: bool) -> Iterator[str]:
    """Why what is in the folder may be somebody else's. above: a folder on the way to it, which may be root's in any case."""
    if stat.S_ISLNK(found.st_mode):
        yield "%s is a symbolic link: put the folder itself there" % path
    elif not stat.S_ISDIR(found.st_mode):
        yield "%s is not a folder" % path
    elif found.st_uid != owner and not (above and found.st_uid == 0):
        yield _not_owned(path, found, owner)
    elif not (owner != 0 and found.st_mode & stat.S_ISVTX):
        yield from _writable(path, found)


def _file_problems(path: str, owner: int) -> Iterator[str]:
    try:
        found = os.lstat(path)
    except OSError as error:
        yield "%s cannot be read: %s" % (path, error.strerror)
        return
    if stat.S_ISLNK(found.st_mode):
        yield "%s is a symbolic link: put the file itself there" % path
    elif not stat.S_ISREG(found.st_mode):
        yield "%s is not a regular file: take it out of this folder" % path
    elif found.st_uid != owner:
        yield _not_owned(path, found, owner)
    else:
        yield from _writable(path, found)


def _not_owned(path: str, found: os.stat_result, owner: int) -> str:
    return "%s belongs to the user %d, who could put there what runs as %s: chown it to %s, and look at what is in it" % (
        path,
        found.st_uid,
        _user(owner),
        _user(owner),
    )


def _writable(path: str, found: os.stat_result) -> Iterator[str]:
    who = [word for word, bit in (("its group", stat.S_IWGRP), ("everybody", stat.S_IWOTH)) if found.st_mode & bit]
    if who:
        yield "%s can be written by %s: chmod go-w it, and look at what is in it" % (path, " and ".join(who))


def _user(number: int) -> str:
    return "root" if number == 0 else "the user %d" % number


# --- small ones --------------------------------------------------------------------------------------------------------


def _refuse_first(problems: Iterator[str]) -> None:
    for problem in problems:
        raise ConfigurationError(problem)


def _said_of(beginning: str, read: Callable[[], Value]) -> Value:
    """Messages of other parts name the key; an operator wants the file, too."""
    try:
        return read()
    except ConfigurationError as error:
        raise ConfigurationError(beginning + error.message) from error


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"
