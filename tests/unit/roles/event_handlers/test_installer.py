# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role does on a host: what it describes, tries, puts in place, leaves alone and refuses."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import installer
import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from azure_event_handlers import configuration, reconcile
from azure_event_handlers import records as r
from azure_event_handlers.paths import Paths
from azure_event_handlers.reconcile import Facts, Run, Save
from azure_event_handlers.records import Record, Step, Work
from installer import Manifest, Place

FILES = Path(installer.__file__).parent
COLLECTION = FILES.parent.parent.parent
EVENT = Event("EV-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), 1000.0, "", None)
PREPARED_STEP = Step("10-drain", "/copy", 60.0, True, prepare=Work(r.ENDED, r.DONE, 0))
CONFIG, HANDLER, OPTIONS = "/etc/azure-event-handlers/config.json", "/handlers.d/10-drain", "/options.d/10-drain.json"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty host."""
    place = Place(str(tmp_path))
    for folder in ("/etc/systemd/system", "/etc/tmpfiles.d", "/usr/local/sbin", "/run"):
        os.makedirs(place.root + folder)
    return place


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> List[str]:
    """The programs of the machine, which are only written down; Python itself runs."""
    commands: List[str] = []
    really = installer._ran

    def record(*words: str, patience: float = 0.0) -> subprocess.CompletedProcess[str]:
        if words[0].startswith("system"):
            commands.append(" ".join(words))
            return subprocess.CompletedProcess(list(words), 0, "", "")
        return really(*words)

    monkeypatch.setattr(installer, "_ran", record)
    return commands


def _entry(path: str, content: str, mode: str = "0644") -> Dict[str, Any]:
    return {"path": path, "group": "root", "mode": mode, "content": content}


def _program() -> List[Dict[str, Any]]:
    library = Place().library
    utils = "/ansible_collections/cloud_maintenance/azure/plugins/module_utils"
    sources = {"/start.py": FILES / "start.py"}
    sources.update({"/azure_event_handlers/" + path.name: path for path in (FILES / "azure_event_handlers").glob("*.py")})
    sources.update({utils + "/" + path.name: path for path in (COLLECTION / "plugins" / "module_utils").glob("_*.py")})
    entries = [_entry(library + name, path.read_text(encoding="utf-8")) for name, path in sources.items()]
    parts = utils[1:].split("/")
    return entries + [_entry("%s/%s/__init__.py" % (library, "/".join(parts[: depth + 1])), "") for depth in range(len(parts))]


def _bundle(config: Optional[Dict[str, Any]] = None, *, options: str = "{}\n", more: Any = (), **values: Any) -> Dict[str, Any]:
    folder = Place().folder
    files = [{"path": path, "group": "root", "mode": "0755"} for path in (folder, folder + "/handlers.d", folder + "/options.d")]
    files += [*_program(), _entry(folder + HANDLER, "#!/bin/sh\n", "0755"), _entry(folder + OPTIONS, options)]
    files += [_entry(CONFIG, json.dumps({"format": 1, **(config or {})})), *more]
    files.append(_entry(Place().manifest, json.dumps({"handlers": ["10-drain"], "links": []}) + "\n"))
    return {"files": files, "handlers": ["10-drain"], "links": [], "secret": False, "webhook": False, **values}


def _keep(place: Place, record: Record, name: str = "0123456789abcdef.json") -> None:
    folder = place.state + "/records"
    os.makedirs(folder, exist_ok=True)
    Path(folder, name).write_text(json.dumps(r.to_json(record)), encoding="utf-8")


# --- work that is not done ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "claimed", "refused"),
    [
        (r.SEEN, False, False),
        (r.PREPARING, True, True),
        (r.PREPARING, False, True),
        (r.PREPARED, True, True),
        (r.PREPARED, False, True),
        (r.COMMITTED, False, True),
        (r.STAYING, True, True),
        (r.STAYING, False, True),
        (r.IMPACT, True, True),
        (r.IMPACT, False, False),
        (r.BACKING_OUT, True, True),
        (r.BACKING_OUT, False, True),
        (r.BACKED_OUT, False, False),
        (r.RECOVERING, True, True),
        (r.RECOVERING, False, False),
        (r.CLOSED, False, False),
        (r.FOREIGN, True, False),
    ],
)
def test_it_is_not_removed_while_handlers_have_something_to_undo(place: Place, state: str, claimed: bool, refused: bool) -> None:
    """W-46: nobody would put the host back afterwards."""
    steps = (PREPARED_STEP,) if claimed else ()
    _keep(place, Record(EVENT, 1, "vm", state=state, steps=steps))
    assert bool(installer.refusals(place)) is refused


def test_a_refusal_says_which_event_and_what_to_do(place: Place) -> None:
    _keep(place, Record(EVENT, 1, "vm", state=r.PREPARED, steps=(PREPARED_STEP,)))
    assert installer.refusals(place) == [
        "The event EV-1 (Reboot) is PREPARED on this host: handlers have taken it out of service, and without this role nobody puts it"
        " back. Wait until the event is over, or run: azure-event-handlers request recover EV-1, or set event_handlers_recover_first to"
        " true."
    ]


def test_a_committed_host_is_not_given_back_by_a_removal(place: Place) -> None:
    """W-46: an approval may be on its way."""
    _keep(place, Record(EVENT, 1, "vm", state=r.COMMITTED, steps=(PREPARED_STEP,)))
    assert installer.refusals(place) == [
        "The event EV-1 (Reboot) is COMMITTED on this host: it may be approved already, and Azure may act at any time. Wait until it is"
        " gone; only if surely nothing was posted: azure-event-handlers request release EV-1 --force."
    ]


def test_a_record_that_cannot_be_read_is_looked_at_before_it_is_thrown_away(place: Place) -> None:
    _keep(place, Record(EVENT, 1, "vm"), "0123456789abcdef.json.broken-1")
    (refusal,) = installer.refusals(place)
    assert refusal.startswith("The record /var/lib/azure-event-handlers/records/0123456789abcdef.json.broken-1 cannot be read: ")


def test_what_a_trial_has_left_is_put_back_before_the_program_goes(place: Place) -> None:
    """W-46."""
    assert installer.tried(place) == []
    os.makedirs(place.state + "/trials")
    for name in ("10-web.json", ".10-web.json.x.new", "other"):
        Path(place.state, "trials", name).touch()
    assert installer.refusals(place) == ["10-web has not recovered since a trial asked it to prepare: see azure-event-handlers status."]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "it is not JSON"),
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it has not format 1 or 2, which is what this version of the role knows"),
        ('{"format": 3, "event": {}}', "it has not format 1 or 2, which is what this version of the role knows"),
        ('{"format": true, "event": {}}', "it has not format 1 or 2, which is what this version of the role knows"),
        ('{"format": 2}', "it names no event"),
    ],
)
def test_what_nobody_can_read_is_no_reason_to_think_there_is_nothing(place: Place, body: str, why: str) -> None:
    """W-46: the executor may not have run since the file was broken."""
    _keep(place, Record(EVENT, 1, "vm"))
    Path(place.state, "records", "0123456789abcdef.json").write_text(body, encoding="utf-8")
    assert installer.refusals(place) == [
        "The record /var/lib/azure-event-handlers/records/0123456789abcdef.json cannot be read: %s. Nobody knows whether handlers have"
        " something to undo: look at it, put right what is to be put right, and remove the file." % why
    ]


def test_a_record_with_steps_of_another_shape_is_work(place: Place) -> None:
    _keep(place, Record(EVENT, 1, "vm", state=r.IMPACT))
    path = Path(place.state, "records", "0123456789abcdef.json")
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "steps": [{"prepare": 1}]}), encoding="utf-8")
    assert [work.state for work in installer.open_work(place)] == [r.IMPACT]


def test_the_installer_knows_the_formats_and_the_states_of_the_program(place: Place) -> None:
    assert installer._FORMATS == (r.BEFORE, r.FORMAT)
    assert installer._OVER == r.OVER
    assert set(r.STATES) - r.OVER > installer._UNCLAIMED_IS_HARMLESS


def test_a_record_that_only_the_executor_has_in_mind_counts(place: Place) -> None:
    """W-48: the disk is full, and so is not the whole truth."""
    os.makedirs(place.run)
    record = r.to_json(Record(EVENT, 1, "vm", state=r.RECOVERING, steps=(PREPARED_STEP,)))
    Path(place.run, "status.json").write_text(json.dumps({"problems": ["The disk is full."], "records": [record]}), encoding="utf-8")
    assert [work.event_id for work in installer.open_work(place)] == ["EV-1"]


def test_a_claim_is_counted_as_the_executor_counts_it() -> None:
    outcomes = (None, *r.OUTCOMES)
    works = [Work(progress, outcome, tries=tries) for progress, outcome, tries in itertools.product(r.PROGRESS, outcomes, (0, 1))]
    for prepare, recover in itertools.product(works, works):
        step = Step("10-drain", "/copy", 60.0, True, prepare=prepare, recover=recover)
        plain = r.to_json(Record(EVENT, 1, "vm", steps=(step,)))["steps"][0]
        assert installer.is_claimed(plain) is step.claimed


def test_work_is_counted_as_the_executor_counts_it() -> None:
    """Open, and either claimed or in a state that holds somebody's word: the two cannot drift apart unseen."""
    works = [Work(progress, outcome, tries=tries) for progress in r.PROGRESS for outcome in (None, *r.OUTCOMES) for tries in (0, 1)]
    steps = [
        Step("10-drain", "/copy", 60.0, True, prepare=prepare, recover=recover) for prepare in works for recover in (Work(), works[-1])
    ]
    for state, view, step in itertools.product(r.STATES, r.VIEWS, steps):
        record = Record(EVENT, 1, "vm", state=state, view=view, steps=(step,))
        found = installer.work_in(json.loads(json.dumps(r.to_json(record))))
        harmless = not step.claimed and state in installer._UNCLAIMED_IS_HARMLESS
        assert (found is not None) is (record.is_open and not harmless)


@pytest.mark.parametrize("state", sorted(installer._UNCLAIMED_IS_HARMLESS))
@pytest.mark.parametrize("view", r.VIEWS)
def test_the_executor_has_nothing_to_undo_where_the_installer_sees_nothing(state: str, view: str) -> None:
    """Whatever comes next by itself, no handler runs."""
    records = {
        "0": Record(EVENT, 1, "vm", state=state, view=view, started_seen=view == r.STARTED, steps=(Step("10-drain", "/copy", 60.0, True),))
    }
    records = {record.key: record for record in records.values()}
    facts = Facts(now=2000.0, boot="b", vm_id="vm", units={}, held=False)
    for _step in range(10):
        action = reconcile.next_action(records, facts)
        assert not isinstance(action, Run)
        if isinstance(action, Save):
            records[action.record.key] = action.record
    assert not any(step.work(phase).begun for record in records.values() for step in record.steps for phase in r.PHASES)


# --- trying ------------------------------------------------------------------------------------------------------------


def test_a_right_configuration_is_tried_without_a_word(place: Place) -> None:
    os.mkdir(place.staging)
    assert installer.stage(place, _bundle({"mode": "prepare"})) == []


def test_all_that_is_wrong_is_said_under_the_names_that_the_files_will_have(place: Place) -> None:
    os.mkdir(place.staging)
    problems = installer.stage(place, _bundle({"mode": "sleep"}, options='{"limit": "2h"}'))
    assert {problem.split(":")[0] for problem in problems} == {CONFIG + ", mode", CONFIG + ", prepare_budget"}
    assert not any(place.staging in problem for problem in problems)


def test_handlers_that_others_have_put_there_are_tried_together_with_ours(place: Place) -> None:
    os.mkdir(place.staging)
    os.makedirs(place.handlers)
    Path(place.handlers, "20-drain").write_text("#!/bin/sh\n", encoding="utf-8")
    os.chmod(place.handlers + "/20-drain", 0o755)
    assert installer.stage(place, _bundle()) == [
        "/etc/azure-event-handlers/handlers.d/20-drain: /etc/azure-event-handlers/handlers.d/10-drain has the same name: remove or rename"
        " one of them"
    ]
    os.chmod(place.handlers + "/20-drain", 0o777)
    assert any("can be written by its group and everybody" in problem for problem in _again(place, _bundle()))


def _again(place: Place, bundle: Dict[str, Any]) -> List[str]:
    shutil.rmtree(place.staging)
    os.mkdir(place.staging)
    return installer.stage(place, bundle)


def test_a_secret_that_is_written_later_does_not_make_the_configuration_wrong(place: Place) -> None:
    os.mkdir(place.staging)
    hook = {"webhook": {"url": "https://example.com/", "secret_file": Place().secret}}
    assert installer.stage(place, _bundle(hook, secret=True)) == []
    assert _again(place, _bundle(hook)) != []


def test_nobodys_handler_is_overwritten(place: Place) -> None:
    os.makedirs(place.handlers)
    Path(place.folder + HANDLER).write_text("#!/bin/sh\nexit 77\n", encoding="utf-8")
    assert installer.conflicts(place, _bundle()) == [
        "/etc/azure-event-handlers/handlers.d/10-drain is there, and this role has not made it: remove it, or give the handler another name"
        " or order"
    ]
    Path(place.folder + HANDLER).write_text("#!/bin/sh\n", encoding="utf-8")
    assert installer.conflicts(place, _bundle()) == []


def test_a_handler_that_is_no_text_is_refused(place: Place) -> None:
    other = _entry(Place().handlers + "/20-program", "\udc7f")
    assert installer.conflicts(place, _bundle(more=[other])) == [
        "/etc/azure-event-handlers/handlers.d/20-program is not text in UTF-8: a handler is a script, which may call any program"
    ]


def test_a_folder_for_metrics_must_be_there(place: Place) -> None:
    link = {"path": "/var/lib/node_exporter/azure_event_handlers.prom", "link": "/run/x"}
    assert installer.conflicts(place, _bundle(more=[link])) == [
        "event_handlers_metrics_folder: /var/lib/node_exporter is not a folder on this host"
    ]


# --- putting in place, and taking away ---------------------------------------------------------------------------------


def test_what_is_in_place_is_not_put_there_again(place: Place, ran: List[str]) -> None:
    first = installer.apply(place, _bundle())
    assert CONFIG in first["changed"]
    assert "systemctl daemon-reload" not in ran
    assert installer.apply(place, _bundle())["changed"] == []
    assert installer.manifest_of(place) == Manifest(("10-drain",))
    assert not os.path.exists(place.unfinished)


def test_files_that_a_new_version_or_configuration_has_not_got_are_removed(place: Place, ran: List[str]) -> None:
    installer.apply(place, _bundle(more=[_entry(Place().library + "/azure_event_handlers/old/old.py", "old = 1\n")]))
    without = _bundle()
    without["files"] = [entry for entry in without["files"] if not entry["path"].endswith((HANDLER, OPTIONS))]
    without["files"][-1] = _entry(Place().manifest, json.dumps({"handlers": [], "links": []}) + "\n")
    without["handlers"] = []
    assert installer.apply(place, without)["changed"] == [
        Place().folder + HANDLER,
        Place().folder + OPTIONS,
        Place().library + "/azure_event_handlers/old/old.py",
    ]
    assert not os.path.exists(place.library + "/azure_event_handlers/old")


def test_handlers_of_others_stay(place: Place, ran: List[str]) -> None:
    installer.apply(place, _bundle())
    other = Path(place.handlers, "80-other")
    other.write_text("#!/bin/sh\n", encoding="utf-8")
    installer.apply(place, _bundle())
    installer._remove_files(place, None)
    assert other.exists()
    assert sorted(os.listdir(place.folder)) == ["handlers.d"]
    assert installer.text_of_absent(place, link=None) == ""


def test_what_the_role_has_made_is_known_also_where_half_of_it_is_gone(place: Place, ran: List[str]) -> None:
    installer.apply(place, _bundle())
    shutil.rmtree(place.library)
    shutil.rmtree(place.run, ignore_errors=True)
    assert "=== /etc/azure-event-handlers/handlers.d/10-drain " in installer.text_of_absent(place, link=None)
    installer._remove_files(place, None)
    assert not os.path.exists(place.folder)
    assert installer.text_of_absent(place, link=None) == ""


def test_the_executor_is_restarted_only_for_a_new_program(place: Place, ran: List[str]) -> None:
    installer.apply(place, _bundle())
    assert installer.apply(place, _bundle({"mode": "prepare"}))["restarted"] == ["azure-event-agent.service", "azure-event-webhook.service"]
    newer = _bundle()
    newer["files"][3]["content"] += "# newer\n"
    assert "azure-event-executor.service" in installer.apply(place, newer)["restarted"]


def test_a_change_that_was_cut_off_is_done_again_as_a_whole(place: Place, ran: List[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when all files are as they should be: nobody may have been told."""

    def fail(*words: str) -> None:
        raise installer.Failure("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(installer, "_must", fail)
        with pytest.raises(installer.Failure):
            installer.apply(place, _bundle())
    assert "=== an earlier change is not through\n" in installer.text_of_present(place, handlers=[], link=None, secret=False)
    assert "azure-event-executor.service" in installer.apply(place, _bundle())["restarted"]
    assert "systemctl daemon-reload" in ran


class _Cut:
    """The first few renames, and then the machine stops."""

    def __init__(self, left: int, really: Callable[..., None]) -> None:
        self._left = left
        self._really = really

    def __call__(self, *paths: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise _PowerIsGone
        self._really(*paths)


class _PowerIsGone(BaseException):
    pass


def _program_of(bundle: Dict[str, Any]) -> Dict[str, str]:
    library = Place().library + "/"
    return {entry["path"]: entry["content"] for entry in bundle["files"] if entry["path"].startswith(library)}


def _program_there(place: Place) -> Dict[str, str]:
    return {path[len(place.root) :]: Path(path).read_text(encoding="utf-8") for path in installer.library_files(place)}


def _small(*values: Any, **more: Any) -> Dict[str, Any]:
    """Of the program the first few files: one like the other."""
    bundle = _bundle(*values, **more)
    library = Place().library + "/"
    few = [entry["path"] for entry in bundle["files"] if entry["path"].startswith(library)][:4]
    bundle["files"] = [entry for entry in bundle["files"] if entry["path"] in few or not entry["path"].startswith(library)]
    return bundle


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_new_program_takes_the_place_of_the_old_one_at_once(
    place: Place, ran: List[str], monkeypatch: pytest.MonkeyPatch, *, can_exchange: bool
) -> None:
    """Whoever is started meanwhile runs all of one of them."""
    newer = _bundle()
    newer["files"][3]["content"] += "# newer\n"
    installer.apply(place, _bundle())
    before, put = Path(place.library).stat().st_ino, installer._put
    seen: List[Dict[str, str]] = []

    def watched(path: str, entry: Dict[str, Any]) -> bool:
        seen.append(_program_there(place))
        return put(path, entry)

    monkeypatch.setattr(installer, "_put", watched)
    exchanged: List[bool] = []
    exchange = installer._exchange
    monkeypatch.setattr(installer, "_exchange", lambda *paths: exchanged.append(can_exchange and exchange(*paths)) or exchanged[-1])
    assert installer.apply(place, newer)["changed"] == [newer["files"][3]["path"]]
    assert exchanged == [can_exchange]
    assert [one for one in seen if one not in (_program_of(_bundle()), _program_of(newer))] == []
    assert _program_there(place) == _program_of(newer)
    assert Path(place.library).stat().st_ino != before
    assert sorted(os.listdir(os.path.dirname(place.library))) == ["azure-event-handlers"]
    assert installer._is_compiled(place)
    assert not os.path.exists(place.unfinished)


def test_a_machine_that_stops_between_two_programs_gets_one_with_the_next_run(
    place: Place, ran: List[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where a file system cannot exchange them."""
    installer.apply(place, _bundle())
    newer = _bundle()
    newer["files"][3]["content"] += "# newer\n"
    really = os.rename
    with monkeypatch.context() as patch:
        patch.setattr(installer, "_exchange", lambda *_paths: False)
        patch.setattr(os, "rename", _Cut(1, really))
        with pytest.raises(_PowerIsGone):
            installer.apply(place, newer)
    assert not os.path.exists(place.library)
    assert "=== /usr/local/lib/azure-event-handlers.new/ " in installer.text_of_absent(place, link=None)
    installer.apply(place, newer)
    assert _program_there(place) == _program_of(newer)
    assert sorted(os.listdir(os.path.dirname(place.library))) == ["azure-event-handlers"]
    installer._remove_files(place, None)
    assert os.listdir(os.path.dirname(place.library)) == []


def test_a_program_whose_files_are_anybodys_is_made_anew(place: Place, ran: List[str]) -> None:
    installer.apply(place, _bundle())
    os.chmod(place.start, 0o666)
    assert installer.apply(place, _bundle())["changed"] == [place.start[len(place.root) :]]
    assert os.stat(place.start).st_mode & 0o777 == 0o644


@pytest.mark.parametrize("first", [False, True])
def test_cut_off_anywhere_the_host_has_all_of_it_or_refuses_to_prepare(
    place: Place, ran: List[str], monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """The machine stops before any one file: nobody prepares with half of the handlers, and the next run does the rest."""
    os.chmod(place.root + "/etc", 0o755)
    newer = _small({"mode": "prepare"}, more=[_entry(Place().handlers + "/20-jobs", "#!/bin/sh\n", "0755")])
    newer["handlers"] = ["10-drain", "20-jobs"]
    newer["files"][3]["content"] += "# newer\n"
    newer["files"] = [entry for entry in newer["files"] if not entry["path"].endswith(OPTIONS)]
    programs = [_program_of(_small()), _program_of(newer), {}]
    wholes = [("watch", ("10-drain",), 5.0), ("prepare", ("10-drain", "20-jobs"), 60.0)]
    really, refused, cut = os.replace, 0, 0
    while True:
        shutil.rmtree(place.library, ignore_errors=True)
        shutil.rmtree(place.folder, ignore_errors=True)
        if not first:
            installer.apply(place, _small({"mode": "watch"}, options='{"limit": 5}'))
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", _Cut(cut, really))
            try:
                installer.apply(place, newer)
            except _PowerIsGone:
                pass
            else:
                break
        assert installer.strangers(place, ["10-drain", "20-jobs"]) == []
        assert _program_there(place) in programs
        try:
            found = configuration.load(Paths(place.root), owner=os.getuid())
        except ConfigurationError:
            refused += 1
        else:
            assert (found.mode, tuple(one.name for one in found.handlers), found.handlers[0].limit) in wholes
        assert not first or refused == cut + 1
        cut += 1
        assert installer.apply(place, newer)["problems"] == []
        assert configuration.load(Paths(place.root), owner=os.getuid()).mode == "prepare"
        assert not os.path.exists(place.changing)
    assert refused > 3


def test_a_change_of_units_alone_keeps_nobody_from_preparing(place: Place, ran: List[str]) -> None:
    installer.apply(place, _bundle())
    assert not installer._is_new(place, installer.manifest_of(place), _bundle(more=[_entry(Place().tmpfiles, "d /x\n")]))
    assert installer._is_new(place, installer.manifest_of(place), _bundle({"mode": "prepare"}))


def test_a_mark_that_was_left_behind_is_seen_and_taken_away(place: Place, ran: List[str]) -> None:
    installer.apply(place, _bundle())
    Path(place.changing).write_text("", encoding="utf-8")
    assert "=== an earlier change is not through\n" in installer.text_of_present(place, handlers=[], link=None, secret=False)
    assert ".changing" in installer.text_of_absent(place, link=None)
    assert "azure-event-executor.service" in installer.apply(place, _bundle())["restarted"]
    assert not os.path.exists(place.changing)


# --- going, and staying after all ----------------------------------------------------------------------------------------


class Systemctl:
    """The units of a host on which the role runs; fails: the command that does not go well, and how."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: str = "", hangs: bool = False) -> None:
        self.active = {name for name in installer.UNITS if name != installer.WEBHOOK_UNIT}
        self.enabled = set(self.active)
        self.exist = frozenset(self.active)
        self.calls: List[str] = []
        self._fails, self._hangs = fails, hangs
        monkeypatch.setattr(installer, "_ran", self._ran)
        monkeypatch.setattr(installer, "unit_states", self._states)

    def _states(self) -> Dict[str, Dict[str, bool]]:
        return {
            name: {"exists": name in self.exist, "enabled": name in self.enabled, "active": name in self.active} for name in installer.UNITS
        }

    def _ran(self, *words: str, patience: float = 0.0) -> subprocess.CompletedProcess[str]:
        said = " ".join(words)
        self.calls.append(said)
        if said == self._fails and self._hangs:
            raise installer.Failure("%s has not ended within 60 s" % said)
        if said == self._fails:
            return subprocess.CompletedProcess(list(words), 1, "", "it does not want to")
        kept, adds = (self.active, words[1] == "start") if words[1] in ("start", "stop") else (self.enabled, words[1] == "enable")
        (kept.add if adds else kept.discard)(words[-1])
        return subprocess.CompletedProcess(list(words), 0, "", "")


OPTIONS_OF_REMOVAL = argparse.Namespace(link="")


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize(
    "fails",
    [
        "systemctl stop azure-event-executor.service",
        "systemctl stop azure-event-executor.path",
        "systemctl disable --quiet azure-event-executor.service",
    ],
)
def test_a_removal_that_fails_leaves_a_host_that_is_guarded(place: Place, monkeypatch: pytest.MonkeyPatch, fails: str, hangs: bool) -> None:
    """W-46: the agent and the path unit run again, and start with the host."""
    systemctl = Systemctl(monkeypatch, fails, hangs)
    (problem,) = installer.remove(place, OPTIONS_OF_REMOVAL)["problems"]
    assert problem.startswith(fails)
    assert problem.endswith(". The removal has not come to its end; what ran before was started again.")
    assert systemctl.active == systemctl.enabled == systemctl.exist
    assert systemctl.calls.index("systemctl start azure-event-agent.service") > systemctl.calls.index(fails)


def test_a_disk_that_takes_no_removal_leaves_a_host_that_is_guarded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl = Systemctl(monkeypatch)

    def fail(_path: str) -> None:
        raise OSError(30, "Read-only file system", place.command)

    monkeypatch.setattr(installer, "_unlink", fail)
    (problem,) = installer.remove(place, OPTIONS_OF_REMOVAL)["problems"]
    assert "Read-only file system" in problem
    assert systemctl.active == systemctl.enabled == systemctl.exist


def test_what_does_not_start_again_is_said_and_holds_up_nobody_else(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl = Systemctl(monkeypatch, "systemctl start azure-event-executor.path", hangs=True)

    def work(_place: Place) -> List[str]:
        return ["There is work."] if systemctl.calls else []

    monkeypatch.setattr(installer, "refusals", work)
    problems = installer.remove(place, OPTIONS_OF_REMOVAL)["problems"]
    assert problems[0] == "There is work."
    assert problems[1].endswith(": systemctl start azure-event-executor.path.")
    assert systemctl.active == systemctl.exist - {"azure-event-executor.path"}


def test_an_executor_that_was_started_meanwhile_is_stopped_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl = Systemctl(monkeypatch)
    systemctl.active.discard("azure-event-executor.service")
    assert installer.remove(place, OPTIONS_OF_REMOVAL)["problems"] == []
    assert "systemctl stop azure-event-executor.service" in systemctl.calls
    assert systemctl.active == systemctl.enabled == set()


def test_the_program_is_compiled_for_the_python_that_is_there(place: Place, ran: List[str]) -> None:
    """So that it need not be at each start, and not under an unprivileged user who cannot keep it."""
    installer.apply(place, _bundle())
    assert installer._is_compiled(place)
    os.unlink(installer._compiled(place.start))
    assert not installer._is_compiled(place)


# --- describing --------------------------------------------------------------------------------------------------------


def test_a_description_has_all_that_counts(place: Place) -> None:
    os.makedirs(place.folder)
    os.chmod(place.folder, 0o755)
    Path(place.configuration).write_text("{}\n", encoding="utf-8")
    os.chmod(place.configuration, 0o640)
    os.symlink("/nowhere", place.command)
    mine = "%s:%s" % (installer._user(os.getuid()), installer._group(os.stat(place.folder).st_gid))
    assert installer.text_of(place, [place.configuration, place.folder, place.command, place.secret]) == (
        "=== /etc/azure-event-handlers/ %s 0755\n"
        "=== /etc/azure-event-handlers/config.json %s 0640\n{}\n"
        "=== /usr/local/sbin/azure-event-handlers -> /nowhere\n" % (mine, mine)
    )


def test_an_empty_host_has_nothing_to_remove(place: Place) -> None:
    assert installer.text_of_absent(place, link=place.root + "/link") == ""
