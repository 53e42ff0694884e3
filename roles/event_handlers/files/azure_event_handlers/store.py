# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where records are kept so that neither a kill nor a loss of power leaves half of one: files of one folder.

A record is on the disk when `save` returns, whole; before that the old one is, whole. There is one executor for a folder. A hold is a file
beside the records and ends by itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant

from . import records as r
from .errors import BrokenRecordError, BusyError, StoreError
from .records import Record

# Where a test ends the program; docs and the tests have the same list.
BEFORE_RENAME = "between temporary file and rename"
BEFORE_FSYNC = "between rename and fsync of the folder"
CRASH_POINTS = (BEFORE_RENAME, BEFORE_FSYNC)

_RECORD = re.compile(r"[0-9a-f]{16}\.json")
_TEMPORARY = ".new"
_LOCK, _HOLD, _PROBE = "lock", "hold.json", "probe"
# A record has a few KB; what is far larger was not written here.
_LARGEST = 4 * 1024 * 1024
# The end of a hold that cannot be read.
NOBODY_KNOWS = 0.0


@dataclass(frozen=True)
class Hold:
    """Nobody prepares, commits or approves here until then."""

    name: str
    until: float
    reason: str = ""

    def __str__(self) -> str:
        because = " (%s)" % self.reason if self.reason else ""
        until = "" if self.until == NOBODY_KNOWS else " until %s" % format_instant(self.until)
        return "by %s%s%s" % (self.name, until, because)


@dataclass(frozen=True)
class Loaded:
    """What the folder has. broken: what was put aside now, with the reason of each; for an alarm."""

    records: Mapping[str, Record]
    broken: Mapping[str, str]


def no_crash(point: str) -> None:
    """A test puts something else here."""


class Store:
    """The folder of records.

    crash: called with the name of each point at which a kill was thought of. lock: a file elsewhere, where the state may be read-only.
    """

    def __init__(self, folder: str, crash: Callable[[str], None] = no_crash, lock: Optional[str] = None) -> None:
        self._folder = folder
        self._crash = crash
        self._lock_file = self._path(_LOCK) if lock is None else lock
        self._lock: Optional[int] = None

    # One executor.

    def acquire(self) -> None:
        """BusyError while another one has it; the system lets go of it when its owner ends, however it ends."""
        try:
            os.makedirs(self._folder, mode=0o755, exist_ok=True)
            lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._failure("use", error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise BusyError("Another executor works in %s." % self._folder) from error
        except OSError as error:
            os.close(lock)
            raise self._failure("lock", error) from error
        self._lock = lock

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # Records.

    def load(self) -> Loaded:
        """All records. One that cannot be read is put aside under another name, so that it is looked at by a person and by nobody else."""
        records: Dict[str, Record] = {}
        broken: Dict[str, str] = {}
        for name in self._names():
            try:
                record = self._record(name)
            except BrokenRecordError as error:
                broken[self._put_aside(name)] = error.message
            else:
                records[record.key] = record
        return Loaded(records, broken)

    def broken(self) -> List[str]:
        """The names of all that were put aside, now or before."""
        return [name for name in self._listed() if ".broken-" in name]

    def save(self, record: Record) -> None:
        """On the disk when this returns."""
        self._write(record.key + ".json", r.to_json(record))

    def forget(self, key: str) -> None:
        """The record's time to be kept is over."""
        self._remove(key + ".json")

    def probe(self) -> None:
        """StoreError where a record could not be written now."""
        self._write(_PROBE, {})
        self._remove(_PROBE)

    # The hold.

    def hold(self, hold: Hold) -> None:
        self._write(_HOLD, asdict(hold))

    def let_go(self) -> None:
        """No more hold, if there is one."""
        self._remove(_HOLD)

    def held(self, now: float) -> Optional[Hold]:
        """The hold that is in force. One that cannot be read holds too, as nobody knows until when: it was meant to."""
        try:
            data = self._read(_HOLD)
        except FileNotFoundError:
            return None
        except (BrokenRecordError, StoreError):
            return self._unreadable_hold()
        try:
            hold = _hold(data)
        except BrokenRecordError:
            return self._unreadable_hold()
        return hold if now < hold.until else None

    def _unreadable_hold(self) -> Hold:
        return Hold("somebody", NOBODY_KNOWS, "the file %s cannot be read" % self._path(_HOLD))

    # Files.

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _listed(self) -> List[str]:
        try:
            return sorted(os.listdir(self._folder))
        except OSError as error:
            raise self._failure("read", error) from error

    def _names(self) -> List[str]:
        return [name for name in self._listed() if _RECORD.fullmatch(name)]

    def _record(self, name: str) -> Record:
        record = r.from_json(self._read(name))
        if record.key + ".json" != name:
            raise BrokenRecordError("record: it is of %s, not of its file %s" % (record.key, name))
        return record

    def _read(self, name: str) -> Any:
        try:
            with open(self._path(name), "rb") as file:
                body = file.read(_LARGEST + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._failure("read", error) from error
        if len(body) > _LARGEST:
            raise BrokenRecordError("record: longer than %d bytes" % _LARGEST)
        return r.parsed(body)

    def _put_aside(self, name: str) -> str:
        """Its bytes stay as they are, and no earlier one is lost. Where nothing can be written it stays where it is."""
        taken = set(self._listed())
        number = next(number for number in range(1, len(taken) + 2) if "%s.broken-%d" % (name, number) not in taken)
        aside = "%s.broken-%d" % (name, number)
        try:
            os.rename(self._path(name), self._path(aside))
            self._sync_folder()
        except OSError:
            return name
        return aside

    def _write(self, name: str, data: Mapping[str, Any]) -> None:
        body = json.dumps(data, sort_keys=True, allow_nan=False).encode("ascii")
        temporary = self._path(name + _TEMPORARY)
        try:
            self._write_durably(temporary, body)
            self._crash(BEFORE_RENAME)
            os.rename(temporary, self._path(name))
            self._crash(BEFORE_FSYNC)
            self._sync_folder()
        except OSError as error:
            self._tidy(temporary)
            raise self._failure("write %s in" % name, error) from error

    @staticmethod
    def _write_durably(path: str, body: bytes) -> None:
        with open(path, "wb", opener=_private) as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())

    def _sync_folder(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _remove(self, name: str) -> None:
        try:
            os.unlink(self._path(name))
            self._sync_folder()
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._failure("remove %s from" % name, error) from error

    @staticmethod
    def _tidy(temporary: str) -> None:
        """On a full disk a file that is of no use is in the way of the next try."""
        try:
            os.unlink(temporary)
        except OSError:
            return

    def _failure(self, doing: str, error: OSError) -> StoreError:
        return StoreError("Cannot %s the state folder %s: %s." % (doing, self._folder, error.strerror or error))


def _private(path: str, flags: int) -> int:
    """State may name resources; only root reads it. A link that somebody put there is not followed."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _hold(data: Any) -> Hold:
    hold: Hold = r.made(Hold, data, "hold")
    return hold
