# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam to whatever runs handlers: systemd on a host, plain processes in a rehearsal and in tests.

A unit outlives the executor that has begun it, and is not begun twice under one name within one boot, whoever is killed meanwhile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Mapping, Optional, Sequence

# A unit's own limit is so much longer than the executor's, which does not count the time of a freeze.
BACKSTOP = 3.0
# How the names of units begin: those of records, and those of a trial, which no executor takes for its own.
UNIT, TRIAL = "azure-event-handler", "azure-event-trial"
# Of a handler's output, the end is kept.
LONGEST_TAIL = 4096


@dataclass(frozen=True)
class Job:
    """What to run. environment is all that it gets, stdin the event as JSON, properties what systemd is to confine it by."""

    command: Sequence[str]
    environment: Mapping[str, str]
    stdin: bytes
    limit: float
    properties: Sequence[str] = ()


@dataclass(frozen=True)
class Seen:
    """A unit that runs, or has ended and is not discarded. exit: None when it was killed, or nobody knows how it ended."""

    running: bool
    exit: Optional[int] = None
    tail: str = ""


class Launcher(ABC):
    @property
    @abstractmethod
    def boot(self) -> str:
        """Another one after each start of the machine; units do not outlive it."""

    @abstractmethod
    def units(self) -> Mapping[str, Seen]:
        """All that have begun in this boot and are not discarded."""

    @abstractmethod
    def begin(self, name: str, job: Job) -> None:
        """Without effect where a unit of this name has begun already."""

    @abstractmethod
    def stop(self, name: str) -> None:
        """It and all that it has started; without effect where it has ended."""

    @abstractmethod
    def discard(self, name: str) -> None:
        """Its result is written: forget it, and end what it has left behind."""
