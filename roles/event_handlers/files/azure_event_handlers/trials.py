# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""That a handler is tried by hand keeps real events out for as long as that takes; and what a trial has left behind is not forgotten.

A lock says that a trial lives, however it ends. A mark on the disk says that a handler was asked to prepare; it is there until the
handler has recovered, also over a kill and over a boot.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from dataclasses import asdict, dataclass
from typing import Iterator, List

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant

from . import files
from .errors import BrokenRecordError, RefusedError
from .paths import Paths
from .records import made

_ENDING = ".json"
_TRIED = "A handler is being tried on this host by hand: ask again when that is over."
_ANOTHER = "Another trial goes on on this host: wait for its end."
# Who only looks, looks for a moment.
_PATIENCE, _LOOK = 1.0, 0.02


@dataclass(frozen=True)
class Mark:
    """unit: the last one that was begun; asked_at: when it was asked to prepare."""

    handler: str
    event_type: str
    unit: str
    asked_at: float

    def __str__(self) -> str:
        return "A trial asked %s to prepare at %s, and it has not recovered since, so this host may be out of service: `%s`." % (
            self.handler,
            format_instant(self.asked_at),
            again(self.handler, self.event_type),
        )


def again(handler: str, event_type: str) -> str:
    """What puts it back."""
    return "azure-event-handlers test %s --type %s --phase recover" % (handler, event_type)


@contextlib.contextmanager
def alone(paths: Paths, clock: Clock) -> Iterator[None]:
    """A trial, and nobody else. RefusedError where there is another one; who only looks is waited for."""
    os.makedirs(paths.run, mode=0o755, exist_ok=True)
    end = clock.monotonic() + _PATIENCE
    with _opened(paths) as lock:
        while not _is_locked(lock, fcntl.LOCK_EX):
            if clock.monotonic() >= end:
                raise RefusedError(_ANOTHER)
            clock.sleep(_LOOK)
        yield


@contextlib.contextmanager
def none(paths: Paths) -> Iterator[None]:
    """No trial meanwhile; RefusedError where there is one. Where there can be no lock, as on a full /run, there can be no trial."""
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(_opened(paths))
        except OSError:
            lock = None
        if lock is not None and not _is_locked(lock, fcntl.LOCK_SH):
            raise RefusedError(_TRIED)
        yield


@contextlib.contextmanager
def _opened(paths: Paths) -> Iterator[int]:
    lock = os.open(paths.trying, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield lock
    finally:
        os.close(lock)


def _is_locked(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write(paths: Paths, mark: Mark) -> None:
    """On the disk when this returns; OSError where it cannot be."""
    os.makedirs(paths.trials, mode=0o700, exist_ok=True)
    path = _path(paths, mark.handler)
    files.write_json(path, asdict(mark), mode=0o600)
    for place in (path, paths.trials, paths.state):
        _sync(place)


def forget(paths: Paths, handler: str) -> None:
    """It is in service again. A disk that does not take that leaves a mark for which there is nothing to do but to recover once more."""
    with contextlib.suppress(OSError):
        os.unlink(_path(paths, handler))
        _sync(paths.trials)


def marks(paths: Paths) -> List[Mark]:
    """Of all trials, also of one that goes on."""
    found = []
    for name in _names(paths):
        with contextlib.suppress(OSError, ValueError, BrokenRecordError):
            found.append(made(Mark, files.read_json(os.path.join(paths.trials, name)), "mark"))
    return found


def left(paths: Paths) -> List[Mark]:
    """By trials that are not there any more."""
    known = marks(paths)
    if not known:
        return []
    try:
        with none(paths):
            return known
    except RefusedError:
        return []


def _names(paths: Paths) -> List[str]:
    try:
        return sorted(name for name in os.listdir(paths.trials) if name.endswith(_ENDING) and not name.startswith("."))
    except OSError:
        return []


def _path(paths: Paths, handler: str) -> str:
    return os.path.join(paths.trials, handler + _ENDING)


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
