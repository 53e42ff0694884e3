# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A scenario: where to listen, how to run the clock, and what there is at the beginning, as one JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Tuple

from . import arguments
from .arguments import LIST, MAPPING, Field, Table
from .errors import InvalidError
from .hooks import Hooks
from .journal import DEFAULT_SIZE
from .settings import REALISTIC
from .simulator import Simulator
from .world import World

DEFAULT_HOST = "127.0.0.1"
DEFAULT_DATA_PORT = 9254
DEFAULT_CONTROL_PORT = 9255


def _above_zero(value: Any) -> float:
    number = arguments.seconds(value)
    if number <= 0:
        raise ValueError(value)
    return number


_NUMBER = Field("a number above 0", _above_zero)
_LISTEN: Table = {"host": arguments.TEXT, "port": arguments.WHOLE}
_CLOCK: Table = {"kind": arguments.TEXT, "rate": _NUMBER}
_TABLE: Table = {
    "data": MAPPING,
    "control": MAPPING,
    "clock": MAPPING,
    "log_size": arguments.WHOLE,
    "realistic": arguments.FLAG,
    "settings": MAPPING,
    "scopes": LIST,
    "vms": LIST,
    "events": LIST,
    "faults": LIST,
    "hooks": MAPPING,
}


@dataclass(frozen=True)
class Scenario:
    """What a file says; the parts that describe the world are played by `play`."""

    data: Tuple[str, int] = (DEFAULT_HOST, DEFAULT_DATA_PORT)
    control: Tuple[str, int] = (DEFAULT_HOST, DEFAULT_CONTROL_PORT)
    clock: str = "real"
    rate: float = 1.0
    log_size: int = DEFAULT_SIZE
    realistic: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    scopes: Tuple[Any, ...] = ()
    vms: Tuple[Any, ...] = ()
    events: Tuple[Any, ...] = ()
    faults: Tuple[Any, ...] = ()
    hooks: Mapping[str, Any] = field(default_factory=dict)


def read(path: str) -> Scenario:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as problem:
        raise InvalidError("cannot read the scenario %s: %s" % (path, problem.strerror or problem)) from problem
    except (UnicodeDecodeError, ValueError, RecursionError) as problem:
        raise InvalidError("the scenario %s is not JSON: %s" % (path, problem)) from problem
    return parse(data)


def parse(data: Any) -> Scenario:
    given = arguments.checked("scenario", data, _TABLE)
    clock = arguments.checked("clock", given.get("clock", {}), _CLOCK)
    return Scenario(
        data=_address("data", given, DEFAULT_DATA_PORT),
        control=_address("control", given, DEFAULT_CONTROL_PORT),
        clock=clock.get("kind", "real"),
        rate=clock.get("rate", 1.0),
        log_size=given.get("log_size", DEFAULT_SIZE),
        realistic=given.get("realistic", False),
        settings=given.get("settings", {}),
        scopes=tuple(given.get("scopes", ())),
        vms=tuple(given.get("vms", ())),
        events=tuple(given.get("events", ())),
        faults=tuple(given.get("faults", ())),
        hooks=given.get("hooks", {}),
    )


def simulator(scenario: Scenario) -> Simulator:
    """A simulator that is not open yet, with everything in it that the scenario says there is."""
    # What is said expressly counts more than the one word.
    settings = dict(REALISTIC if scenario.realistic else {}, **scenario.settings)
    made = Simulator(
        scenario.clock,
        scenario.rate,
        data=scenario.data,
        control=scenario.control,
        log_size=scenario.log_size,
        **settings,
    )
    play(scenario, made)
    return made


def play(scenario: Scenario, world: World) -> None:
    """Make what the scenario says there is."""
    for data in scenario.scopes:
        name, options = arguments.scope(data)
        world.add_scope(name, **options)
    for data in scenario.vms:
        name, options = arguments.named("VM", {"name": data} if isinstance(data, str) else data, arguments.VM_TABLE, "name")
        world.add_vm(name, **options)
    add_hooks(scenario, world.hooks)
    for data in scenario.events:
        options = arguments.checked("event", data, arguments.SCHEDULE_TABLE)
        world.schedule(options.pop("event_type"), options.pop("resources"), **options)
    for data in scenario.faults:
        kind, options = arguments.named("fault", data, arguments.FAULT_TABLE, "kind")
        world.fault(kind, **options)


def add_hooks(scenario: Scenario, hooks: Hooks) -> None:
    for phase, commands in scenario.hooks.items():
        if not isinstance(commands, list) or not all(isinstance(command, list) for command in commands):
            raise InvalidError("hooks: %s must be a list of commands, each a list of words, not %r" % (phase, commands))
        for command in commands:
            hooks.run(phase, command)


def _address(name: str, given: Dict[str, Any], port: int) -> Tuple[str, int]:
    listen = arguments.checked(name, given.get(name, {}), _LISTEN)
    return listen.get("host", DEFAULT_HOST), listen.get("port", port)
