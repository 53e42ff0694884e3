# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of records: real files, programs that are killed between two steps, disks that take nothing."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable, List

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import records as r
from azure_event_handlers import store as stores
from azure_event_handlers.errors import BusyError, HandlersError, StoreError
from azure_event_handlers.records import Record, Step
from azure_event_handlers.store import Hold, Store

NOW = 1_800_000_000.0
EVENT = Event("../../x", "Reboot", "Scheduled", None, "VirtualMachine", ("web_0",), NOW + 900, "", 9)
RECORD = Record(EVENT, 1, "vm", steps=(Step("10-alpha", "alpha", 30.0, True),))
LATER = Record(EVENT, 1, "vm", state=r.IMPACT)

# As host.md has them under "Durability"; a point that is added there or in the code is missed here.
DOCUMENTED = "between temporary file and rename · between rename and fsync of the folder"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    made.mkdir()
    return made


def names(folder: Path) -> List[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_saved_is_loaded(folder: Path) -> None:
    """W-58: the name of a file has nothing of the id in it."""
    Store(str(folder)).save(RECORD)
    loaded = Store(str(folder)).load()
    assert loaded.records == {RECORD.key: RECORD}
    assert loaded.broken == {}
    assert names(folder) == [RECORD.key + ".json"]
    assert (folder / names(folder)[0]).stat().st_mode & 0o777 == 0o600


def test_a_second_save_replaces_the_first(folder: Path) -> None:
    store = Store(str(folder))
    store.save(RECORD)
    store.save(LATER)
    assert store.load().records == {RECORD.key: LATER}


def test_what_is_forgotten_is_gone_and_may_be_forgotten_again(folder: Path) -> None:
    store = Store(str(folder))
    store.save(RECORD)
    store.forget(RECORD.key)
    store.forget(RECORD.key)
    assert names(folder) == []


BROKEN = {
    "empty": b"",
    "half": json.dumps(r.to_json(RECORD)).encode()[:200],
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "of another program": b'{"format": 2}',
    "not a number": json.dumps({**r.to_json(RECORD), "first_seen": float("nan")}).encode(),
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_broken_record_is_put_aside_whole_and_told_of(folder: Path, body: bytes) -> None:
    name = RECORD.key + ".json"
    (folder / name).write_bytes(body)
    loaded = Store(str(folder)).load()
    assert loaded.records == {}
    assert list(loaded.broken) == [name + ".broken-1"]
    assert (folder / (name + ".broken-1")).read_bytes() == body
    assert Store(str(folder)).load().broken == {}
    assert Store(str(folder)).broken() == [name + ".broken-1"]


def test_the_next_broken_one_does_not_replace_the_first(folder: Path) -> None:
    name = RECORD.key + ".json"
    for body in (b"one", b"two"):
        (folder / name).write_bytes(body)
        Store(str(folder)).load()
    assert [(folder / (name + ".broken-%d" % number)).read_bytes() for number in (1, 2)] == [b"one", b"two"]


def test_a_record_under_the_name_of_another_one_is_broken(folder: Path) -> None:
    (folder / "0123456789abcdef.json").write_text(json.dumps(r.to_json(RECORD)))
    loaded = Store(str(folder)).load()
    assert loaded.records == {}
    assert list(loaded.broken.values()) == ["record: it is of %s, not of its file 0123456789abcdef.json" % RECORD.key]


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (folder / (RECORD.key + ".json.new")).symlink_to(target)
    with pytest.raises(StoreError):
        Store(str(folder)).save(RECORD)
    assert target.read_text() == "mine"


def test_where_nothing_can_be_written_a_broken_record_stays_and_is_told_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-48: the others are recovered all the same."""
    store = Store(str(folder), lock=str(folder / "elsewhere"))
    store.save(RECORD)
    (folder / "0123456789abcdef.json").write_bytes(b"")

    def fails(*arguments: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "rename", fails)
    loaded = store.load()
    assert list(loaded.records) == [RECORD.key]
    assert list(loaded.broken) == ["0123456789abcdef.json"]
    store.acquire()
    store.release()
    assert "elsewhere" in names(folder)


# --- one executor --------------------------------------------------------------------------------------------------------


def test_there_is_one_executor(folder: Path) -> None:
    first, second = Store(str(folder)), Store(str(folder))
    first.acquire()
    with pytest.raises(BusyError) as refused:
        second.acquire()
    assert refused.value.message == "Another executor works in %s." % folder
    first.release()
    second.acquire()
    second.release()
    second.release()


def test_the_folder_is_made(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "a" / "b"))
    store.acquire()
    store.save(RECORD)
    store.release()
    assert RECORD.key in store.load().records


# --- killed --------------------------------------------------------------------------------------------------------------

CHILD = """
import json, os, signal, sys
from azure_event_handlers import records as r, store

def crash(point):
    if point == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

kept = store.Store(sys.argv[1], crash)
kept.acquire()
kept.save(r.from_json(json.load(sys.stdin)))
"""


def kill_at(point: str, folder: Path, record: Record) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", CHILD, str(folder), point],
        input=json.dumps(r.to_json(record)).encode(),
        env=environment,
        check=False,
        timeout=60,
        stderr=subprocess.PIPE,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.parametrize(
    ("point", "expected"), [(stores.BEFORE_RENAME, RECORD), (stores.BEFORE_FSYNC, LATER)], ids=["before rename", "before fsync"]
)
def test_killed_in_between_leaves_the_old_record_or_the_new_one(folder: Path, point: str, expected: Record) -> None:
    Store(str(folder)).save(RECORD)
    kill_at(point, folder, LATER)
    store = Store(str(folder))
    store.acquire()
    loaded = store.load()
    assert loaded.records == {RECORD.key: expected}
    assert loaded.broken == {}
    store.save(LATER)
    assert store.load().records == {RECORD.key: LATER}
    store.release()
    assert names(folder) == [RECORD.key + ".json", "lock"]


def test_killed_at_the_first_save_leaves_no_record(folder: Path) -> None:
    kill_at(stores.BEFORE_RENAME, folder, RECORD)
    assert Store(str(folder)).load().records == {}


def test_the_crash_points_are_those_that_are_written_down(folder: Path) -> None:
    hit: List[str] = []
    Store(str(folder), hit.append).save(RECORD)
    assert tuple(hit) == stores.CRASH_POINTS == tuple(DOCUMENTED.split(" · "))


# --- disks that take nothing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("fsync", errno.ENOSPC, "No space left on device"),
        ("fsync", errno.EIO, "Input/output error"),
        ("rename", errno.EROFS, "Read-only file system"),
        ("open", errno.EROFS, "Read-only file system"),
    ],
)
def test_a_disk_that_takes_nothing_is_told_of(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int, words: str) -> None:
    """W-48: and the record that was there is still there."""
    store = Store(str(folder))
    store.save(RECORD)

    def fails(*arguments: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, name, fails)
        with pytest.raises(StoreError) as error:
            store.save(LATER)
    assert error.value.message == "Cannot write %s.json in the state folder %s: %s." % (RECORD.key, folder, words)
    assert store.load().records == {RECORD.key: RECORD}
    assert names(folder) == [RECORD.key + ".json"]


def test_a_really_full_disk_is_told_of(folder: Path) -> None:
    """W-48: every file of /dev/full is full."""

    def to_a_full_disk(point: str) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:
            full.write("x")

    with pytest.raises(StoreError, match="No space left on device"):
        Store(str(folder), to_a_full_disk).save(RECORD)
    assert names(folder) == []


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.acquire(),
        lambda store: store.load(),
        lambda store: store.save(RECORD),
        lambda store: store.forget(RECORD.key),
    ],
    ids=["acquire", "load", "save", "forget"],
)
def test_a_folder_that_is_none_is_an_error_in_words(tmp_path: Path, act: Callable[[Store], object]) -> None:
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(HandlersError) as error:
        act(Store(str(place)))
    assert str(place) in error.value.message


def test_a_hold_that_cannot_be_read_for_want_of_a_disk_holds(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    hold = Store(str(tmp_path / "file")).held(NOW)
    assert str(hold) == "by somebody (the file %s cannot be read)" % (tmp_path / "file" / "hold.json")


# --- the hold ------------------------------------------------------------------------------------------------------------


def test_a_hold_ends_by_itself(folder: Path) -> None:
    """W-55."""
    store, hold = Store(str(folder)), Hold("ann", NOW + 60, "disk swap")
    assert store.held(NOW) is None
    store.hold(hold)
    assert Store(str(folder)).held(NOW) == hold
    assert str(hold) == "by ann until 2027-01-15T08:01:00Z (disk swap)"
    assert store.held(NOW + 60) is None


def test_a_hold_is_let_go(folder: Path) -> None:
    store = Store(str(folder))
    store.hold(Hold("ann", NOW + 60))
    store.let_go()
    store.let_go()
    assert store.held(NOW) is None
    assert store.load().records == {}


@pytest.mark.parametrize("body", [b"", b"[]", b'{"name": "ann"}', b'{"name": 1, "until": 2, "reason": ""}'])
def test_a_hold_that_cannot_be_read_holds(folder: Path, body: bytes) -> None:
    (folder / "hold.json").write_bytes(body)
    hold = Store(str(folder)).held(NOW)
    assert hold is not None
    assert "hold.json" in hold.reason
