# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role event_handlers does on a host, a whole step in one call: a task for each file would take a minute per host.

    look     says what is there, and describes it in one text; the role compares that with the text of what should be there
    settle   tries the new configuration with the new program beside the old one, and only then puts it in place
    recover  gives the host back for events
    remove   takes everything away that the role has made, unless there is work to be undone

It needs nothing but the standard library. It prints one line of JSON, the last one.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import grp
import hashlib
import json
import os
import pwd
import py_compile
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

NAME = "azure-event-handlers"
AGENT, WEBHOOK = "azure-event-agent", "azure-event-webhook"
PATH_UNIT, EXECUTOR_UNIT = "azure-event-executor.path", "azure-event-executor.service"
AGENT_UNIT, WEBHOOK_UNIT = AGENT + ".service", WEBHOOK + ".service"
# In the order in which they are stopped: first whoever asks for work.
UNITS = (AGENT_UNIT, PATH_UNIT, EXECUTOR_UNIT, WEBHOOK_UNIT)
# And in which they are started again: first who guards, and who is called by it.
_AGAIN = (PATH_UNIT, AGENT_UNIT, EXECUTOR_UNIT, WEBHOOK_UNIT)
# Of renameat2(2): paths from the root, and two names that change places.
_HERE, _EXCHANGE = -100, 2
_PATIENCE = 60.0
_RECOVERY = 900.0

# States of records in which handlers may have something to undo only if one says so, and those that are over.
_UNCLAIMED_IS_HARMLESS = frozenset(("SEEN", "BACKED_OUT", "IMPACT", "RECOVERING"))
_OVER = frozenset(("CLOSED", "FOREIGN"))
# Of the records that this version can read.
_FORMATS = (1, 2)
_RECORD = re.compile(r"[0-9a-f]{16}\.json")


class Place:
    """Where things are. root: empty on a host, a folder in tests."""

    def __init__(self, root: str = "") -> None:
        self.root = root
        self.library = root + "/usr/local/lib/" + NAME
        self.command = root + "/usr/local/sbin/" + NAME
        self.folder = root + "/etc/" + NAME
        self.configuration = self.folder + "/config.json"
        self.secret = self.folder + "/webhook.secret"
        self.handlers = self.folder + "/handlers.d"
        self.options = self.folder + "/options.d"
        self.units = root + "/etc/systemd/system"
        self.tmpfiles = root + "/etc/tmpfiles.d/" + NAME + ".conf"
        self.state = root + "/var/lib/" + NAME
        self.run = root + "/run/" + NAME
        self.outbox = self.run + "/outbox"
        # There as long as program, handlers, options and configuration may not belong together: no host is prepared with half of them.
        self.changing = self.folder + "/.changing"
        # Root's alone, and gone with the next boot if a role run is cut off.
        self.staging = root + "/run/" + NAME + ".staging"
        # What the role has made beside the fixed names: handlers and a link. With them, so that it is there as long as they are.
        self.manifest = self.folder + "/.installed.json"
        # There as long as a change is not through, so that whoever comes next does all of it again.
        self.unfinished = self.library + "/unfinished"
        self.start = self.library + "/start.py"
        # The next program until it is whole, and the earlier one where both cannot change places at once.
        self.fresh = self.library + ".new"
        self.aside = self.library + ".old"

    def unit(self, name: str) -> str:
        return self.units + "/" + name

    def wanted_by(self) -> List[str]:
        """The links by which units start at boot."""
        return [
            self.units + "/multi-user.target.wants/" + AGENT_UNIT,
            self.units + "/multi-user.target.wants/" + EXECUTOR_UNIT,
            self.units + "/multi-user.target.wants/" + WEBHOOK_UNIT,
            self.units + "/paths.target.wants/" + PATH_UNIT,
        ]


class Manifest(NamedTuple):
    """handlers: names such as 10-drain; links: paths."""

    handlers: Tuple[str, ...] = ()
    links: Tuple[str, ...] = ()


class Work(NamedTuple):
    """An open event for which this host has done something."""

    event_id: str
    event_type: str
    state: str


class Failure(Exception):
    """Nothing more can be done; a sentence for the operator."""


# --- what is there -----------------------------------------------------------------------------------------------------


def manifest_of(place: Place) -> Manifest:
    try:
        with open(place.manifest, encoding="utf-8") as file:
            data = json.load(file)
        return Manifest(tuple(data["handlers"]), tuple(data["links"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Manifest()


def text_of(place: Place, paths: Sequence[str], *, more: Sequence[str] = ()) -> str:
    """The description of all that is there of these, in the words in which the role describes what it wants."""
    return "".join("=== %s\n" % line for line in more) + "".join(_describe(place, path) for path in sorted(set(paths)))


def _describe(place: Place, path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    shown = path[len(place.root) :]
    if stat.S_ISLNK(found.st_mode):
        return "=== %s -> %s\n" % (shown, os.readlink(path))
    owner = "%s:%s %04o" % (_user(found.st_uid), _group(found.st_gid), stat.S_IMODE(found.st_mode))
    if stat.S_ISDIR(found.st_mode):
        return "=== %s/ %s\n" % (shown, owner)
    if not stat.S_ISREG(found.st_mode):
        return "=== %s %s, not a regular file\n" % (shown, owner)
    with open(path, "rb") as file:
        body = file.read()
    if path.startswith(place.library + "/"):
        return "=== %s %s sha256 %s\n" % (shown, owner, hashlib.sha256(body).hexdigest())
    text = body.decode("utf-8", "backslashreplace")
    return "=== %s %s\n%s%s" % (shown, owner, text, "" if text.endswith("\n") or not text else "\n(without an end of line)\n")


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def library_files(place: Place) -> List[str]:
    """Less what Python keeps of them in another form, and less the mark of an unfinished change."""
    found = []
    for folder, names, files in os.walk(place.library):
        names[:] = [name for name in names if name != "__pycache__"]
        found += [os.path.join(folder, name) for name in files]
    return [path for path in found if path != place.unfinished]


def fixed_files(place: Place) -> List[str]:
    return [place.command, place.manifest, place.configuration, place.tmpfiles, *(place.unit(name) for name in UNITS)]


def own_handlers(place: Place, names: Sequence[str]) -> List[str]:
    return [path for name in names for path in (place.handlers + "/" + name, place.options + "/" + name + ".json")]


def strangers(place: Place, names: Sequence[str]) -> List[str]:
    """Below the folder of the configuration, all that is not the role's."""
    ours = {*own_handlers(place, names), place.manifest, place.changing, place.configuration, place.secret, place.handlers, place.options}
    found = []
    for folder in (place.folder, place.handlers, place.options):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            found += [path for path in (os.path.join(folder, name) for name in sorted(os.listdir(folder))) if path not in ours]
    return found


def text_of_present(place: Place, *, handlers: Sequence[str], link: Optional[str], secret: bool) -> str:
    known = manifest_of(place)
    paths = [place.library, place.state, place.folder, place.handlers, place.options]
    paths += [*library_files(place), *fixed_files(place), *own_handlers(place, [*known.handlers, *handlers])]
    paths += [*known.links, *([link] if link else [])]
    if not secret:
        paths.append(place.secret)
    return text_of(place, paths, more=_unfinished(place))


def _unfinished(place: Place) -> List[str]:
    if not os.path.isdir(place.library):
        return []
    missing = [name for name in ("requests", "agent-requests", "answers", "agent", "units") if not os.path.isdir(place.run + "/" + name)]
    if os.path.exists(place.unfinished) or os.path.exists(place.changing) or missing or not _is_compiled(place):
        return ["an earlier change is not through"]
    return []


def text_of_absent(place: Place, *, link: Optional[str]) -> str:
    """All that is to go: folders that others use, too, are not."""
    known = manifest_of(place)
    paths = [*library_files(place), *fixed_files(place), *own_handlers(place, known.handlers), place.secret]
    paths += [place.library, place.fresh, place.aside, place.state, place.run, place.unfinished, place.changing]
    paths += [*place.wanted_by(), *known.links]
    if link and os.path.islink(link) and os.readlink(link).startswith(place.run + "/"):
        paths.append(link)
    left = strangers(place, known.handlers)
    folders = [place.handlers, place.options]
    paths += [folder for folder in folders if not any(path.startswith(folder + "/") for path in left)]
    if not left:
        paths.append(place.folder)
    return text_of(place, paths)


# --- work that is not done yet -----------------------------------------------------------------------------------------


def open_work(place: Place) -> List[Work]:
    """By the records on the disk, and by those that only the executor has in mind because the disk takes nothing."""
    found: Dict[str, Work] = {}
    for data in [*_records(place).values(), *_published(place)]:
        work = work_in(data)
        if work is not None:
            found[work.event_id.lower()] = work
    return [found[key] for key in sorted(found)]


def _listed(place: Place) -> List[str]:
    """Without the folder there has never been an event; with one that cannot be read nobody knows."""
    try:
        return sorted(os.listdir(place.state + "/records"))
    except FileNotFoundError:
        return []


def _records(place: Place) -> Dict[str, Any]:
    """Those that can be read, by the names of their files."""
    found = {}
    for name in _listed(place):
        if _RECORD.fullmatch(name):
            with contextlib.suppress(Failure):
                found[name] = _record(place, name)
    return found


def _record(place: Place, name: str) -> Any:
    """Failure: why nobody knows what is in it."""
    try:
        data = _json(os.path.join(place.state, "records", name))
    except (ValueError, RecursionError) as error:
        raise Failure("it is not JSON") from error
    except OSError as error:
        raise Failure(str(error.strerror)) from error
    if not isinstance(data, dict) or isinstance(data.get("format"), bool) or data.get("format") not in _FORMATS:
        raise Failure("it has not format %s, which is what this version of the role knows" % " or ".join(map(str, _FORMATS)))
    if not isinstance(data.get("event"), dict):
        raise Failure("it names no event")
    return data


def _published(place: Place) -> List[Any]:
    """Only what it has in mind beyond the disk: of a record that is on the disk, the disk has the last word."""
    try:
        data = _json(place.run + "/status.json")
    except (OSError, ValueError):
        return []
    if not isinstance(data, dict) or not data.get("problems"):
        return []
    records = data.get("records")
    return records if isinstance(records, list) else []


def _json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def broken_records(place: Place) -> Dict[str, str]:
    """With the reason of each: those that the executor has put aside, and those that it would."""
    found = {}
    for name in _listed(place):
        if ".broken-" in name:
            found[name] = "the executor has put it aside"
        elif _RECORD.fullmatch(name):
            try:
                _record(place, name)
            except Failure as problem:
                found[name] = str(problem)
    return found


def work_in(data: Any) -> Optional[Work]:
    """None for a record that leaves nothing to undo and holds nobody's word."""
    if not isinstance(data, dict) or not isinstance(data.get("event"), dict):
        return None
    state, steps = data.get("state"), data.get("steps")
    try:
        claimed = any(is_claimed(step) for step in steps) if isinstance(steps, list) else True
    except (KeyError, TypeError):
        # Whoever has written it, handlers may have begun.
        claimed = True
    if state in _OVER or (state in _UNCLAIMED_IS_HARMLESS and not claimed):
        return None
    event = data["event"]
    return Work(str(event.get("event_id")), str(event.get("event_type")), str(state))


def is_claimed(step: Any) -> bool:
    """As the executor counts it: begun, not found done already, and not undone."""
    prepare, recover = step["prepare"], step["recover"]
    if recover["progress"] == "ended":
        return False
    if prepare["progress"] == "ended" and prepare["outcome"] == "unchanged":
        return False
    return bool(prepare["progress"] != "idle" or prepare["tries"])


def refusals(place: Place) -> List[str]:
    """Why the role is not removed now, a sentence for each event, with what to do."""
    found = []
    for work in open_work(place):
        what = "The event %s (%s) is %s on this host" % (work.event_id, work.event_type, work.state)
        if work.state == "COMMITTED":
            found.append(
                what + ": it may be approved already, and Azure may act at any time. Wait until it is gone; only if surely nothing was"
                " posted: azure-event-handlers request release %s --force." % work.event_id
            )
        else:
            found.append(
                what + ": handlers have taken it out of service, and without this role nobody puts it back. Wait until the event is over,"
                " or run: azure-event-handlers request recover %s, or set event_handlers_recover_first to true." % work.event_id
            )
    for name, why in broken_records(place).items():
        found.append(
            "The record %s/records/%s cannot be read: %s. Nobody knows whether handlers have something to undo: look at it, put right what"
            " is to be put right, and remove the file." % (place.state[len(place.root) :], name, why)
        )
    return found + [
        "%s has not recovered since a trial asked it to prepare: see azure-event-handlers status." % name for name in tried(place)
    ]


def tried(place: Place) -> List[str]:
    """The handlers that a trial has left as they are before an event; also those of a trial that goes on."""
    try:
        return sorted(name[: -len(".json")] for name in os.listdir(place.state + "/trials") if name.endswith(".json") and name[0] != ".")
    except OSError:
        return []


# --- looking -----------------------------------------------------------------------------------------------------------


def look(place: Place, options: argparse.Namespace) -> Dict[str, Any]:
    shutil.rmtree(place.staging, ignore_errors=True)
    os.mkdir(place.staging, mode=0o700)
    link = options.link or None
    if options.absent:
        text = text_of_absent(place, link=link)
    else:
        text = text_of_present(place, handlers=options.handlers, link=link, secret=options.secret)
    _write_new(place.staging + "/host", text, "0600")
    refused = refusals(place)
    if options.absent and (not text or (refused and not options.recover_first)):
        shutil.rmtree(place.staging)
    known = manifest_of(place)
    return {
        "there": bool(text),
        "systemd": systemd_version() if os.path.isdir("/run/systemd/system") else None,
        "python": list(sys.version_info[:3]),
        "requests": options.absent or has_requests(),
        "family": family(),
        "accounts": accounts(),
        "units": unit_states(),
        "published": os.path.exists(place.run + "/status.json"),
        "work": [work._asdict() for work in open_work(place)],
        "refusals": refused,
        "strangers": [path[len(place.root) :] for path in strangers(place, known.handlers)] + drop_ins(place),
    }


def systemd_version() -> Optional[int]:
    match = re.match(r"systemd ([0-9]+)", _said("systemctl", "--version"))
    return int(match.group(1)) if match else None


def has_requests() -> bool:
    """As the program will find it: without the variables and the folders of whoever runs this."""
    return _ran(sys.executable, "-I", "-c", "import requests").returncode == 0


def family() -> Optional[str]:
    words: List[str] = []
    with contextlib.suppress(OSError), open("/etc/os-release", encoding="utf-8") as file:
        for line in file:
            name, _sign, value = line.partition("=")
            if name in ("ID", "ID_LIKE"):
                words += value.strip().strip("\"'").split()
    if {"debian", "ubuntu"} & set(words):
        return "Debian"
    return "RedHat" if {"rhel", "fedora", "centos"} & set(words) else None


def accounts() -> List[str]:
    """Of the role's users and groups those that are there, as `user NAME` and `group NAME`."""
    users = {entry.pw_name for entry in pwd.getpwall()}
    groups = {entry.gr_name for entry in grp.getgrall()}
    return ["user " + name for name in (AGENT, WEBHOOK) if name in users] + ["group " + name for name in (AGENT, WEBHOOK) if name in groups]


def unit_states() -> Dict[str, Dict[str, bool]]:
    shown = _said("systemctl", "show", "--property=Id,LoadState,ActiveState,UnitFileState", *UNITS)
    found = {}
    for block in shown.split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        found[values.get("Id", "")] = {
            "exists": values.get("LoadState") == "loaded",
            "enabled": values.get("UnitFileState") == "enabled",
            "active": values.get("ActiveState") in ("active", "activating", "reloading"),
        }
    absent = {"exists": False, "enabled": False, "active": False}
    return {name: found.get(name, absent) for name in UNITS}


def drop_ins(place: Place) -> List[str]:
    """What an operator has added to the units."""
    folders = [place.unit(name) + ".d" for name in sorted(UNITS)]
    return [folder[len(place.root) :] for folder in folders if os.path.isdir(folder)]


# --- settling ----------------------------------------------------------------------------------------------------------


def settle(place: Place, *, only_check: bool) -> Dict[str, Any]:
    """With a bundle: what it wants; without one, nothing has changed, and the configuration is looked through as it is."""
    bundle_file = place.staging + "/bundle.json"
    try:
        if not os.path.exists(bundle_file):
            return {"problems": checked(place.start), "changed": [], "restarted": []}
        bundle = _json(bundle_file)
        problems = conflicts(place, bundle) or stage(place, bundle)
        if problems or only_check:
            return {"problems": problems, "changed": [], "restarted": []}
        return apply(place, bundle)
    finally:
        shutil.rmtree(place.staging, ignore_errors=True)


def conflicts(place: Place, bundle: Mapping[str, Any]) -> List[str]:
    """Nobody's handler is overwritten."""
    known = manifest_of(place)
    taken = set(own_handlers(place, bundle["handlers"])) - set(own_handlers(place, known.handlers))
    found = []
    for entry in bundle["files"]:
        path = place.root + entry["path"]
        if not _is_text(entry.get("content", "")):
            found.append("%s is not text in UTF-8: a handler is a script, which may call any program" % entry["path"])
        elif path in taken and os.path.lexists(path) and not _holds(path, entry["content"]):
            found.append("%s is there, and this role has not made it: remove it, or give the handler another name or order" % entry["path"])
        if "link" in entry and not os.path.isdir(os.path.dirname(path)):
            found.append("event_handlers_metrics_folder: %s is not a folder on this host" % os.path.dirname(entry["path"]))
        elif "link" in entry and os.path.lexists(path) and not os.path.islink(path):
            found.append("%s is there, and this role has not made it: remove it" % entry["path"])
    return found


def _is_text(content: str) -> bool:
    """Ansible hands over other bytes in a form that cannot be written."""
    try:
        content.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _holds(path: str, content: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read() == content.encode("utf-8")
    except OSError:
        return False


def stage(place: Place, bundle: Mapping[str, Any]) -> List[str]:
    """The new program reads the new configuration, together with what others have put there."""
    root = place.staging + "/root"
    there = Place(root)
    for entry in bundle["files"]:
        if "content" in entry and entry["path"].startswith((Place().library + "/", Place().folder + "/")):
            _write_new(root + entry["path"], _with_root(entry, root), entry["mode"])
    for folder in (there.handlers, there.options):
        os.makedirs(folder, mode=0o755, exist_ok=True)
    ours = {*manifest_of(place).handlers, *bundle["handlers"]}
    for path in strangers(place, tuple(ours)):
        _imitate(path, root + path[len(place.root) :])
    if bundle["secret"]:
        _write_new(there.secret, "in the test the file only has to be there\n", "0600")
    return checked(there.start, root=root)


def _with_root(entry: Mapping[str, Any], root: str) -> str:
    """The configuration names the file of the secret, which is not there before the configuration is right."""
    content = str(entry["content"])
    if entry["path"] != Place().configuration:
        return content
    return content.replace(json.dumps(Place().secret), json.dumps(root + Place().secret))


def _write_new(path: str, content: str, mode: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(content)
    os.chmod(path, int(mode, 8))


def _imitate(path: str, copy: str) -> None:
    """As much of a file as the check looks at. It counts what kind of thing it is, whose, and what is in it."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(path), copy)
    elif stat.S_ISDIR(found.st_mode):
        os.mkdir(copy)
    elif stat.S_ISREG(found.st_mode):
        shutil.copyfile(path, copy)
    else:
        os.mkfifo(copy)
    os.chown(copy, found.st_uid, found.st_gid, follow_symlinks=False)
    if not stat.S_ISLNK(found.st_mode):
        os.chmod(copy, stat.S_IMODE(found.st_mode))


def checked(start: str, *, root: str = "") -> List[str]:
    """What `check-config` says; of a trial it names the files by the names that they are going to have."""
    said = _ran(sys.executable, "-I", "-B", start, "cli", *(["--root", root] if root else []), "check-config", "--json")
    try:
        answer = json.loads(said.stdout.splitlines()[-1])
        problems = [str(problem) for problem in answer.get("problems", [answer.get("message")])]
    except (ValueError, IndexError):
        problems = ["The program does not run here: %s" % (said.stderr.strip().splitlines() or ["exit code %d" % said.returncode])[-1]]
    return [problem.replace(root, "") if root else problem for problem in problems]


# --- putting in place --------------------------------------------------------------------------------------------------


def apply(place: Place, bundle: Mapping[str, Any]) -> Dict[str, Any]:
    known, files = manifest_of(place), bundle["files"]
    again = os.path.exists(place.unfinished) or os.path.exists(place.changing) or not _is_compiled(place)
    os.makedirs(place.library, mode=0o755, exist_ok=True)
    _write_new(place.unfinished, "", "0600")
    changed: List[str] = []
    # Before anything new is there, so that what the role has made is known whatever comes in between.
    everything = Manifest(tuple(sorted({*known.handlers, *bundle["handlers"]})), tuple(sorted({*known.links, *bundle["links"]})))
    _replace(place.manifest, json.dumps(everything._asdict()), 0, 0, 0o644)
    if not bundle["webhook"]:
        _forget_webhook(place)
    own_list = [entry for entry in files if place.root + entry["path"] == place.manifest]
    if _is_new(place, known, bundle):
        _replace(place.changing, "", 0, 0, 0o644)
        _sync(place.folder)
    program, rest = _parted(files)
    changed += _put_program(place, program, again)
    changed += [entry["path"] for entry in rest if entry not in own_list and _put(place.root + entry["path"], entry)]
    changed += _remove_the_old(place, known, bundle)
    for entry in own_list:
        _put(place.manifest, entry)
    # Only when all of it is on the disk: a mark that is gone while files are not would say that they belong together.
    for folder in (place.handlers, place.options, place.folder):
        _sync(folder)
    _unlink(place.changing)
    _sync(place.folder)
    restarted = _take_effect(place, changed, again)
    os.unlink(place.unfinished)
    return {"problems": [], "changed": sorted(changed), "restarted": restarted}


def _parted(files: Sequence[Mapping[str, Any]]) -> Tuple[List[Mapping[str, Any]], List[Mapping[str, Any]]]:
    """Those of the program, and the others."""
    folder = Place().library + "/"
    program = [entry for entry in files if entry["path"].startswith(folder)]
    return program, [entry for entry in files if not entry["path"].startswith(folder)]


def _put_program(place: Place, files: Sequence[Mapping[str, Any]], again: bool) -> List[str]:
    """Whole beside the one that is there, and then in its place at once: half of one never runs, wherever the machine stops."""
    wanted = {place.root + entry["path"] for entry in files}
    changed = [str(entry["path"]) for entry in files if not _is_there(place.root + entry["path"], entry)]
    changed += [path[len(place.root) :] for path in library_files(place) if path not in wanted]
    if not changed and not again:
        return []
    for left in (place.fresh, place.aside):
        shutil.rmtree(left, ignore_errors=True)
    for entry in files:
        _put(place.fresh + entry["path"][len(Place().library) :], entry)
    _write_new(place.fresh + place.unfinished[len(place.library) :], "", "0600")
    _compile(place)
    for folder, _names, _files in os.walk(place.fresh):
        _sync(folder)
    _swap(place)
    _sync(os.path.dirname(place.library))
    for left in (place.fresh, place.aside):
        shutil.rmtree(left, ignore_errors=True)
    return changed


def _is_there(path: str, entry: Mapping[str, Any]) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    owner = (found.st_uid, found.st_gid) == (0, _group_number(entry["group"])) or os.getuid() != 0
    return stat.S_ISREG(found.st_mode) and owner and stat.S_IMODE(found.st_mode) == int(entry["mode"], 8) and _holds(path, entry["content"])


def _swap(place: Place) -> None:
    """Where the file system cannot exchange them there is a moment without any program, and still never half of one."""
    if not _exchange(place.fresh, place.library):
        os.rename(place.library, place.aside)
        os.rename(place.fresh, place.library)


def _exchange(one: str, other: str) -> bool:
    """Whether both have changed their names in one step, as renameat2(2) does it."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _is_new(place: Place, known: Manifest, bundle: Mapping[str, Any]) -> bool:
    """Whether there is a time in which program, handlers, options and configuration do not belong together."""
    wanted = {place.root + entry["path"]: entry["content"] for entry in bundle["files"] if "content" in entry}
    wanted = {path: content for path, content in wanted.items() if path.startswith((place.library + "/", place.folder + "/"))}
    wanted.pop(place.manifest, None)
    old = [*library_files(place), *own_handlers(place, known.handlers)]
    return any(os.path.lexists(path) for path in old if path not in wanted) or any(not _holds(*one) for one in wanted.items())


def _sync(folder: str) -> None:
    """What was renamed or removed in it stays so when the machine stops."""
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def _put(path: str, entry: Mapping[str, Any]) -> bool:
    """Whether it was not so before. A file is whole at any time, and hidden while it is written."""
    if "link" in entry:
        return _link(path, entry["link"])
    owner, group, mode = 0 if os.getuid() == 0 else os.getuid(), _group_number(entry["group"]), int(entry["mode"], 8)
    if "content" in entry:
        return _replace(path, entry["content"], owner, group, mode)
    made = not os.path.isdir(path)
    os.makedirs(path, mode=0o755, exist_ok=True)
    return _own(path, owner, group, mode) or made


def _link(path: str, target: str) -> bool:
    if os.path.islink(path) and os.readlink(path) == target:
        return False
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    os.symlink(target, path)
    return True


def _replace(path: str, content: str, owner: int, group: int, mode: int) -> bool:
    if os.path.isfile(path) and not os.path.islink(path) and _holds(path, content):
        return _own(path, owner, group, mode)
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".new", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8"))
            if os.getuid() == 0:
                os.fchown(file.fileno(), owner, group)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return True


def _own(path: str, owner: int, group: int, mode: int) -> bool:
    found = os.lstat(path)
    if os.getuid() != 0:
        owner, group = found.st_uid, found.st_gid
    if (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (owner, group, mode):
        return False
    os.chown(path, owner, group)
    os.chmod(path, mode)
    return True


def _group_number(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return 0


def _remove_the_old(place: Place, known: Manifest, bundle: Mapping[str, Any]) -> List[str]:
    """What an earlier version or an earlier configuration has left. Options first: without their handler they are an error."""
    wanted = {place.root + entry["path"] for entry in bundle["files"]}
    old = [*reversed(own_handlers(place, known.handlers)), *known.links, *fixed_files(place)]
    if not bundle["secret"]:
        old.append(place.secret)
    removed = []
    for path in old:
        if path not in wanted and os.path.lexists(path):
            os.unlink(path)
            removed.append(path[len(place.root) :])
    return removed


def _forget_webhook(place: Place) -> None:
    """Without its folder the executor tells nothing."""
    if os.path.exists(place.unit(WEBHOOK_UNIT)):
        _ran("systemctl", "disable", "--now", "--quiet", WEBHOOK_UNIT)
    shutil.rmtree(place.outbox, ignore_errors=True)


def _take_effect(place: Place, changed: Sequence[str], again: bool) -> List[str]:
    library = place.library[len(place.root) :] + "/"
    units = place.units[len(place.root) :] + "/"
    program = again or any(path.startswith(library) and path.endswith(".py") for path in changed)
    _must("systemd-tmpfiles", "--create", place.tmpfiles)
    if again or any(path.startswith(units) for path in changed):
        _must("systemctl", "daemon-reload")
    wanted = [AGENT_UNIT, WEBHOOK_UNIT]
    if again or units + PATH_UNIT in changed:
        wanted.append(PATH_UNIT)
    # It reads the configuration anew for each event, and a handler that it runs is a unit of its own, which goes on.
    if program or units + EXECUTOR_UNIT in changed:
        wanted.append(EXECUTOR_UNIT)
    running = [name for name in wanted if _ran("systemctl", "is-active", "--quiet", name).returncode == 0]
    for name in running:
        _must("systemctl", "try-restart", name)
    return running


def _compile(place: Place) -> None:
    """The fresh one, so that nobody has to do it at each start; a program that runs unprivileged could not keep it."""
    for folder, _names, files in os.walk(place.fresh):
        for path in [os.path.join(folder, name) for name in files if name.endswith(".py")]:
            py_compile.compile(path, cfile=_compiled(path), dfile=place.library[len(place.root) :] + path[len(place.fresh) :], doraise=True)


def _is_compiled(place: Place) -> bool:
    """By this Python; a distribution brings another one with its updates."""
    return all(os.path.exists(_compiled(path)) for path in _sources(place))


def _compiled(path: str) -> str:
    folder, name = os.path.split(path)
    return "%s/__pycache__/%s.%s.pyc" % (folder, name[: -len(".py")], sys.implementation.cache_tag)


def _sources(place: Place) -> List[str]:
    return [path for path in library_files(place) if path.endswith(".py")]


# --- going -------------------------------------------------------------------------------------------------------------


def recover(place: Place) -> Dict[str, Any]:
    """One after the other; what cannot be given back is said."""
    problems = []
    for work in open_work(place):
        asked = [place.command, "request", "recover", work.event_id, "--by", "removal of the role", "--json", "--timeout", "%d" % _RECOVERY]
        said = _ran(*asked, patience=_RECOVERY + _PATIENCE)
        if said.returncode != 0:
            problems.append("%s: %s" % (work.event_id, _message(said)))
    return {"problems": problems}


def _message(said: subprocess.CompletedProcess[str]) -> str:
    try:
        return str(json.loads(said.stdout.splitlines()[-1])["message"])
    except (ValueError, IndexError, KeyError, TypeError):
        return (said.stderr.strip().splitlines() or ["exit code %d" % said.returncode])[-1]


def remove(place: Place, options: argparse.Namespace) -> Dict[str, Any]:
    """First everybody stops, and then the last look counts: nobody begins anything any more."""
    shutil.rmtree(place.staging, ignore_errors=True)
    problems = refusals(place)
    if problems:
        return {"problems": problems}
    states = unit_states()
    try:
        problems = _stop_and_remove(place, states, options.link or None)
    except (Failure, OSError) as problem:
        problems = [
            "%s. The removal has not come to its end; what ran before was started again." % str(problem).rstrip("."),
            *_start_again(states),
        ]
    else:
        if problems:
            problems += _start_again(states)
    if problems:
        return {"problems": problems}
    _must("systemctl", "daemon-reload")
    _ran("systemctl", "reset-failed", "azure-event-*")
    return {"problems": []}


def _stop_and_remove(place: Place, states: Mapping[str, Mapping[str, bool]], link: Optional[str]) -> List[str]:
    """Also those are stopped that do not run: a request may just have started the executor."""
    there = [name for name in UNITS if states[name]["exists"] or states[name]["active"]]
    for name in there:
        _must("systemctl", "stop", name)
    problems = refusals(place)
    if not problems:
        for name in there:
            if states[name]["exists"]:
                _must("systemctl", "disable", "--quiet", name)
        _remove_files(place, link)
    return problems


def _start_again(states: Mapping[str, Mapping[str, bool]]) -> List[str]:
    """As it was before; a host on which nobody guards is worse than one that still has the role. What does not start is said."""
    problems = []
    for name in _AGAIN:
        for verb, wanted in (("enable", states[name]["enabled"]), ("start", states[name]["active"])):
            try:
                if wanted:
                    _must("systemctl", verb, *(["--quiet"] if verb == "enable" else []), name)
            except Failure as problem:
                problems.append("%s was there before and is not now (%s): systemctl %s %s." % (name, problem, verb, name))
    return problems


def _remove_files(place: Place, link: Optional[str]) -> None:
    known = manifest_of(place)
    # The list of what the role has made is the last of it.
    fixed = [path for path in fixed_files(place) if path != place.manifest]
    gone = [*fixed, *reversed(own_handlers(place, known.handlers)), place.secret, *place.wanted_by(), *known.links]
    gone += [place.changing, place.manifest]
    if link and os.path.islink(link) and os.readlink(link).startswith(place.run + "/"):
        gone.append(link)
    for path in gone:
        _unlink(path)
    for folder in (place.run, place.state, place.library, place.fresh, place.aside):
        if os.path.isdir(folder):
            shutil.rmtree(folder)
    for folder in (place.options, place.handlers, place.folder):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


# --- programs ----------------------------------------------------------------------------------------------------------


def _ran(*words: str, patience: float = _PATIENCE) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise Failure("%s has not ended within %g s" % (" ".join(words), patience)) from late
    except OSError as error:
        return subprocess.CompletedProcess(list(words), 127, "", "%s: %s" % (words[0], error.strerror))


def _said(*words: str) -> str:
    return _ran(*words).stdout


def _must(*words: str) -> None:
    said = _ran(*words)
    if said.returncode != 0:
        raise Failure("%s: %s" % (" ".join(words), said.stderr.strip() or "exit code %d" % said.returncode))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("look", "settle", "recover", "remove"))
    parser.add_argument("--absent", action="store_true")
    parser.add_argument("--recover-first", action="store_true")
    parser.add_argument("--only-check", action="store_true")
    parser.add_argument("--secret", action="store_true", help="there is to be a file with the secret")
    parser.add_argument("--link", default="", help="of the metrics")
    parser.add_argument("--handlers", nargs="*", default=[], help="that there are to be, such as 10-drain")
    options = parser.parse_args(arguments)
    place = Place()
    os.umask(0o022)
    # A connection that is lost must not leave half of it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        if options.verb == "look":
            answer = look(place, options)
        elif options.verb == "settle":
            answer = settle(place, only_check=options.only_check)
        elif options.verb == "recover":
            answer = recover(place)
        else:
            answer = remove(place, options)
    except (Failure, OSError) as problem:
        answer = {"problems": [str(problem)]}
    print(json.dumps(answer, sort_keys=True))
    return 1 if answer.get("problems") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
