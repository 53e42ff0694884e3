# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers as units of systemd, with programs that only say what systemd and the journal say.

The real ones: tests/lab/hosts/test_units.py.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Sequence

import pytest
from azure_event_handlers.errors import HandlersError
from azure_event_handlers.launcher import LONGEST_TAIL, Job, Seen
from azure_event_handlers.systemd import OURS, Ran, Systemd, run

NAME = "azure-event-handler-0123456789abcdef-1-0-prepare-0-0"
JOB = Job(["/var/lib/copies/ab", "prepare"], {"PATH": "/bin", "PHASE": "prepare"}, b'{"event": 1}\n', 20.0)
MISSING = {"LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead", "Result": "success", "ExecMainCode": "0", "Job": ""}
IDLE = {**MISSING, "LoadState": "loaded"}
RUNNING = {**IDLE, "ActiveState": "active", "SubState": "running"}
EXITED = {**IDLE, "ActiveState": "active", "SubState": "exited", "ExecMainCode": "1", "ExecMainStatus": "0"}
FAILED = {**IDLE, "ActiveState": "failed", "SubState": "failed", "Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "3"}


class Programs:
    """Says of each unit what it was told to say, and remembers what was asked."""

    def __init__(self) -> None:
        self.shown: Dict[str, Mapping[str, str]] = {}
        self.journal = ""
        self.asked: List[List[str]] = []
        self.answers: Dict[str, Callable[[], Ran]] = {}

    def __call__(self, words: Sequence[str], limit: float) -> Ran:
        assert 0 < limit <= 60
        self.asked.append(list(words))
        what = " ".join(words[:2]) if words[0] == "systemctl" else words[0]
        answer = self.answers.get(what)
        if answer is not None:
            return answer()
        if what == "systemctl show":
            return Ran(0, self._show(words[2]))
        return Ran(0, self.journal if what == "journalctl" and "--sync" not in words else "")

    def _show(self, pattern: str) -> str:
        if pattern.endswith("*.service"):
            return "\n".join(_block(name, shown) for name, shown in self.shown.items())
        name = pattern[: -len(".service")]
        return _block(name, self.shown.get(name, MISSING))

    def run(self, program: str) -> List[List[str]]:
        return [words for words in self.asked if words[0] == program or " ".join(words[:2]) == program]


def _block(name: str, shown: Mapping[str, str]) -> str:
    return "".join("%s=%s\n" % pair for pair in [("Id", name + ".service"), *shown.items()])


def _hang() -> Ran:
    raise HandlersError("systemctl gives no answer within 20 s.")


@pytest.fixture
def programs() -> Programs:
    return Programs()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "units"


@pytest.fixture
def launcher(programs: Programs, folder: Path) -> Systemd:
    return Systemd(str(folder), run=programs)


# What the command that stops finds in its environment.
WHILE_IT_RAN = "PATH=/bin\0SERVICE_RESULT=success\0MAINPID=17\0"


def when_it_had(code: str, status: str) -> str:
    return "PATH=/bin\0A=ä\nb\0SERVICE_RESULT=success\0EXIT_CODE=%s\0EXIT_STATUS=%s\0" % (code, status)


def mark(folder: Path, told: Optional[str] = None) -> None:
    folder.mkdir(exist_ok=True)
    (folder / (NAME + ".begun")).mkdir()
    if told is not None:
        (folder / (NAME + ".told")).write_text(told, encoding="utf-8")


# --- seeing --------------------------------------------------------------------------------------------------------------


def test_the_boot_is_the_same_until_the_folder_is_empty_as_after_a_boot(programs: Programs, folder: Path) -> None:
    """In a container the kernel's own id does not change."""
    first = Systemd(str(folder), run=programs).boot
    assert Systemd(str(folder), run=programs).boot == first
    assert os.listdir(folder) == ["boot"]
    shutil.rmtree(folder)
    assert Systemd(str(folder), run=programs).boot != first


def test_where_nothing_can_be_written_the_boot_is_the_kernels(programs: Programs, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    kernels = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    assert Systemd(str(tmp_path / "file" / "units"), run=programs).boot == kernels


def test_where_nothing_has_begun_there_are_no_units(launcher: Systemd) -> None:
    """Also before the folder is there."""
    assert launcher.units() == {}


@pytest.mark.parametrize(
    "shown",
    [
        RUNNING,
        {**IDLE, "Job": "17"},
        {**IDLE, "ActiveState": "activating", "SubState": "start-pre"},
        {**IDLE, "ActiveState": "activating", "SubState": "start"},
        {**RUNNING, "ActiveState": "deactivating", "SubState": "stop-sigterm"},
        {**FAILED, "ActiveState": "deactivating", "SubState": "final-sigterm"},
    ],
    ids=["at work", "queued", "about to begin", "beginning", "being stopped", "failed, its children not ended"],
)
def test_a_unit_runs_from_its_job_until_all_of_it_has_ended(launcher: Systemd, programs: Programs, shown: Mapping[str, str]) -> None:
    programs.shown[NAME] = shown
    assert launcher.units() == {NAME: Seen(running=True)}
    assert not programs.run("journalctl")


@pytest.mark.parametrize(
    ("shown", "code"),
    [
        (EXITED, 0),
        ({**EXITED, "ExecMainStatus": "77"}, 77),
        (FAILED, 3),
        ({**FAILED, "ExecMainStatus": "203"}, 203),
        ({**EXITED, "ExecMainCode": "2", "ExecMainStatus": "15"}, None),
        ({**FAILED, "Result": "signal", "ExecMainCode": "2", "ExecMainStatus": "9"}, None),
        ({**FAILED, "Result": "core-dump", "ExecMainCode": "3", "ExecMainStatus": "11"}, None),
        ({**FAILED, "Result": "timeout", "ExecMainStatus": "0"}, None),
        ({**FAILED, "Result": "oom-kill", "ExecMainStatus": "0"}, None),
        ({**FAILED, "ExecMainCode": "0", "ExecMainStatus": "0"}, None),
        ({**FAILED, "Result": "resources", "ExecMainCode": "0", "ExecMainStatus": "0"}, None),
    ],
    ids=[
        "done",
        "was so already",
        "failed",
        "could not be run",
        "killed by a signal that systemd takes for a clean end",
        "killed",
        "core dumped",
        "out of time, whatever it said then",
        "out of memory, whatever it said then",
        "did not begin, as its mark could not be made",
        "did not begin, as a file was missing",
    ],
)
def test_a_unit_that_has_ended_tells_the_exit_code_that_counts(
    launcher: Systemd, programs: Programs, shown: Mapping[str, str], code: Optional[int]
) -> None:
    programs.shown[NAME] = shown
    seen = launcher.units()[NAME]
    assert (seen.running, seen.exit) == (False, code)


def test_success_of_a_unit_that_does_not_exist_means_nothing(launcher: Systemd, programs: Programs) -> None:
    """systemctl show says Result=success of it."""
    programs.shown[NAME] = MISSING
    assert launcher.units() == {}


def test_a_unit_without_a_job_and_without_a_mark_has_not_begun(launcher: Systemd, programs: Programs) -> None:
    programs.shown[NAME] = IDLE
    assert launcher.units() == {}


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (None, None),
        (WHILE_IT_RAN, None),
        (when_it_had("killed", "TERM"), None),
        (when_it_had("exited", "0"), 0),
        (when_it_had("exited", "77"), 77),
        (when_it_had("exited", ""), None),
        ("", None),
    ],
)
@pytest.mark.parametrize("shown", [MISSING, IDLE])
def test_a_unit_that_is_gone_has_ended_as_it_told(
    launcher: Systemd, programs: Programs, folder: Path, shown: Mapping[str, str], told: Optional[str], code: Optional[int]
) -> None:
    """An operator has stopped it: it is not begun again, and its answer is not lost where it had one."""
    mark(folder, told)
    programs.shown[NAME] = shown
    seen = launcher.units()[NAME]
    assert (seen.running, seen.exit) == (False, code)


def test_an_answer_given_after_it_was_told_to_stop_does_not_count(launcher: Systemd, programs: Programs, folder: Path) -> None:
    mark(folder, WHILE_IT_RAN)
    programs.shown[NAME] = FAILED
    assert launcher.units()[NAME].exit is None


def test_a_second_begin_does_not_hide_the_answer_of_the_first(launcher: Systemd, programs: Programs, folder: Path) -> None:
    """It was stopped when it had ended, and begun again: systemd has made no second mark, and remembers only that."""
    mark(folder, when_it_had("exited", "77"))
    programs.shown[NAME] = {**FAILED, "ExecMainCode": "0", "ExecMainStatus": "0"}
    assert launcher.units()[NAME].exit == 77


def test_one_question_to_systemd_is_enough_for_all_units(launcher: Systemd, programs: Programs) -> None:
    other = NAME.replace("prepare", "recover")
    programs.shown = {NAME: RUNNING, other: {**RUNNING, "ActiveState": "activating"}}
    assert set(launcher.units()) == {NAME, other}
    assert len(programs.asked) == 1


def test_a_unit_that_begins_between_two_looks_is_not_taken_for_one_that_is_gone(
    launcher: Systemd, programs: Programs, folder: Path
) -> None:
    """Somebody who was killed had asked for it; systemd comes to it just now."""

    def late() -> Ran:
        mark(folder)
        return Ran(0, "")

    folder.mkdir()
    programs.answers["systemctl show"] = late
    assert launcher.units() == {}


def test_units_under_another_prefix_are_anothers(programs: Programs, folder: Path) -> None:
    """Those of a trial in the same folder are not the executor's to end."""
    mark(folder)
    trial = Systemd(str(folder), prefix="azure-event-trial", run=programs)
    assert trial.units() == {}
    assert programs.asked[0][2] == "azure-event-trial-*.service"
    with pytest.raises(HandlersError, match="is not the name of a handler's unit"):
        trial.discard(NAME)


def test_when_systemd_cannot_be_asked_nobody_guesses(launcher: Systemd, programs: Programs, folder: Path) -> None:
    mark(folder)
    programs.answers["systemctl show"] = lambda: Ran(1, "", "Failed to connect to bus: No such file or directory\n")
    with pytest.raises(HandlersError) as problem:
        launcher.units()
    assert problem.value.message == (
        "Cannot see which handlers run: systemctl show failed: Failed to connect to bus: No such file or directory."
    )


# --- what it has said ----------------------------------------------------------------------------------------------------


def test_the_tail_is_the_units_own_of_this_boot_and_asked_for_once(launcher: Systemd, programs: Programs) -> None:
    programs.shown[NAME] = EXITED
    programs.journal = "one\ntwo\n"
    assert [launcher.units()[NAME].tail for _look in range(3)] == ["one\ntwo\n"] * 3
    sync, asked = programs.run("journalctl")
    assert sync == ["journalctl", "--sync"]
    assert "--lines=20" in asked
    assert asked[-1:] == ["_SYSTEMD_UNIT=%s.service" % NAME]


def test_the_tail_of_a_unit_that_is_gone_is_found_by_its_name(launcher: Systemd, programs: Programs, folder: Path) -> None:
    mark(folder)
    programs.journal = "one\n"
    assert launcher.units()[NAME].tail == "one\n"


def test_a_long_tail_is_cut_at_its_beginning_and_within_no_character(launcher: Systemd, programs: Programs) -> None:
    programs.shown[NAME] = EXITED
    programs.journal = "ä" * LONGEST_TAIL + "z"
    tail = launcher.units()[NAME].tail
    assert tail == "ä" * ((LONGEST_TAIL - 1) // 2) + "z"


@pytest.mark.parametrize("answer", [_hang, lambda: Ran(1, "", "No journal files were found.\n")])
def test_a_journal_that_is_broken_says_nothing_and_harms_nobody(launcher: Systemd, programs: Programs, answer: Callable[[], Ran]) -> None:
    programs.shown[NAME] = EXITED
    programs.answers["journalctl"] = answer
    assert launcher.units() == {NAME: Seen(running=False, exit=0, tail="")}


def test_the_tail_says_what_systemd_did_to_it(launcher: Systemd, programs: Programs) -> None:
    programs.shown[NAME] = {**FAILED, "Result": "timeout"}
    programs.journal = "still waiting\n"
    assert launcher.units()[NAME].tail == "still waiting\nsystemd: timeout\n"


# --- beginning -----------------------------------------------------------------------------------------------------------


def properties(programs: Programs) -> List[str]:
    (words,) = programs.run("systemd-run")
    return [word[len("--property=") :] for word in words if word.startswith("--property=")]


def test_a_unit_is_begun_by_its_name_and_its_limit_is_the_backstop(launcher: Systemd, programs: Programs, folder: Path) -> None:
    launcher.begin(NAME, JOB)
    (words,) = programs.run("systemd-run")
    assert "--unit=%s.service" % NAME in words
    assert "--no-block" in words
    assert words[words.index("--") :] == ["--", "/usr/bin/env", "/var/lib/copies/ab", "prepare"]
    assert set(properties(programs)) >= {
        "Type=exec",
        "RemainAfterExit=yes",
        "RuntimeMaxSec=60000ms",
        "KillMode=control-group",
        "StandardInput=file:%s/%s.stdin" % (folder, NAME),
        "ExecStartPre=/bin/mkdir %s/%s.begun" % (folder, NAME),
        "PermissionsStartOnly=yes",
        "Before=azure-event-executor.service",
    }


def test_what_a_handler_is_given_is_in_files_of_root_and_in_no_word_of_a_command(
    launcher: Systemd, programs: Programs, folder: Path
) -> None:
    told = {"TOKEN": "a \"b\" $c 'd' \\e\nf", "PATH": "/bin"}
    launcher.begin(NAME, Job(["/copies/ab", "prepare"], told, b"\xff\x00{}\r\n", 20.0))
    stdin, environment = folder / (NAME + ".stdin"), folder / (NAME + ".environment")
    assert stdin.read_bytes() == b"\xff\x00{}\r\n"
    assert environment.read_text() == "PATH='/bin'\nTOKEN='a \"b\" $c '\"'\"'d'\"'\"' \\e\nf'\n"
    assert [path.stat().st_mode & 0o777 for path in (folder, stdin, environment)] == [0o700, 0o600, 0o600]
    assert not [word for words in programs.asked for word in words if "TOKEN" in word]


def test_words_of_a_handler_are_no_variables_of_systemd(launcher: Systemd, programs: Programs) -> None:
    launcher.begin(NAME, Job(["/a", "$HOME"], {}, b"", 1.0))
    assert programs.asked[0][-1] == "$$HOME"


def test_a_limit_is_never_none_at_all(launcher: Systemd, programs: Programs) -> None:
    """0 would mean: for ever."""
    launcher.begin(NAME, Job(["/a"], {}, b"", 0.0))
    assert "RuntimeMaxSec=1ms" in properties(programs)


def test_a_users_properties_come_after_ours(launcher: Systemd, programs: Programs) -> None:
    launcher.begin(NAME, Job(["/a"], {}, b"", 1.0, ("ProtectSystem=strict", "User=nobody")))
    assert properties(programs)[-2:] == ["ProtectSystem=strict", "User=nobody"]


def test_every_property_that_is_set_here_is_refused_to_users(launcher: Systemd, programs: Programs) -> None:
    launcher.begin(NAME, JOB)
    assert {entry.split("=")[0] for entry in properties(programs)} <= OURS


@pytest.mark.parametrize("entry", ["Type=simple", "ExecStartPre=/bin/true", "ConditionPathExists=/a", "LogNamespace=a", "RuntimeMaxSec="])
def test_a_property_that_breaks_the_promise_is_refused_in_the_tail(launcher: Systemd, programs: Programs, entry: str) -> None:
    launcher.begin(NAME, Job(["/a"], {}, b"", 1.0, ("User=nobody", entry)))
    assert not programs.run("systemd-run")
    words = "systemd does not begin it: the property %s is not for handlers\n" % entry.split("=", 1)[0]
    assert launcher.units() == {NAME: Seen(running=False, exit=None, tail=words)}


@pytest.mark.parametrize("variable", ["EXIT_CODE", "EXIT_STATUS", "SERVICE_RESULT"])
def test_a_variable_by_which_systemd_tells_of_an_end_is_refused(launcher: Systemd, programs: Programs, variable: str) -> None:
    """It would be taken for systemd's own."""
    launcher.begin(NAME, Job(["/a"], {"PATH": "/bin", variable: "0"}, b"", 1.0))
    assert not programs.run("systemd-run")
    words = "systemd does not begin it: the variable %s is not for handlers\n" % variable
    assert launcher.units() == {NAME: Seen(running=False, exit=None, tail=words)}


def test_what_has_begun_is_not_begun_again(launcher: Systemd, programs: Programs, folder: Path) -> None:
    """Not even asked for, and what it reads is left alone."""
    mark(folder)
    launcher.begin(NAME, JOB)
    assert programs.asked == []
    assert os.listdir(folder) == [NAME + ".begun"]


@pytest.mark.parametrize("shown", [RUNNING, EXITED, {**IDLE, "Job": "17"}])
def test_a_name_that_systemd_has_is_as_good_as_begun(launcher: Systemd, programs: Programs, folder: Path, shown: Mapping[str, str]) -> None:
    """One that was killed had asked for it, and its mark is not there yet."""
    programs.shown[NAME] = shown
    programs.answers["systemd-run"] = lambda: Ran(1, "", "Unit was already loaded or has a fragment file.\n")
    launcher.begin(NAME, JOB)
    assert not (folder / (NAME + ".begun")).exists()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda: Ran(1, "", "Unknown assignment: Protect=yes\n"), "Unknown assignment: Protect=yes"),
        (lambda: Ran(1, "", ""), "exit code 1"),
        (lambda: Ran(1, "", "one\n two.\n"), "one two"),
        (_hang, "systemctl gives no answer within 20 s."),
    ],
)
def test_what_systemd_does_not_take_has_ended_and_never_begins_late(
    launcher: Systemd, programs: Programs, folder: Path, answer: Callable[[], Ran], why: str
) -> None:
    """The mark is what keeps systemd from beginning it, if the question is still on its way."""
    programs.answers["systemd-run"] = answer
    launcher.begin(NAME, JOB)
    assert (folder / (NAME + ".begun")).is_dir()
    assert launcher.units() == {NAME: Seen(running=False, exit=None, tail="systemd does not begin it: %s\n" % why)}


def test_one_that_begins_while_it_is_given_up_goes_on(launcher: Systemd, programs: Programs, folder: Path) -> None:
    def late() -> Ran:
        mark(folder)
        return Ran(0, _block(NAME, MISSING))

    programs.answers = {"systemd-run": _hang, "systemctl show": late}
    launcher.begin(NAME, JOB)
    programs.answers = {}
    programs.shown[NAME] = RUNNING
    assert launcher.units() == {NAME: Seen(running=True)}
    assert not (folder / (NAME + ".refused")).exists()


def test_where_nobody_can_see_whether_it_has_begun_it_is_not_given_up(launcher: Systemd, programs: Programs, folder: Path) -> None:
    programs.answers = {"systemd-run": _hang, "systemctl show": _hang}
    with pytest.raises(HandlersError, match="gives no answer"):
        launcher.begin(NAME, JOB)
    assert not (folder / (NAME + ".begun")).exists()


def test_where_nothing_can_be_written_nothing_begins(launcher: Systemd, programs: Programs, folder: Path) -> None:
    folder.write_text("in the way")
    with pytest.raises(HandlersError) as problem:
        launcher.begin(NAME, JOB)
    assert problem.value.message == "Cannot begin the unit %s: %s: File exists. See: systemctl status %s" % (NAME, folder, NAME)
    assert programs.asked == []


@pytest.mark.parametrize(
    "name", ["azure-event-handler-../x", "azure-event-handler-", "ssh", "azure-event-handler-*", "azure-event-handler-a b"]
)
def test_only_our_own_names_are_units(launcher: Systemd, programs: Programs, name: str) -> None:
    """W-58: a name is made of a hash and numbers."""
    for act in (lambda: launcher.begin(name, JOB), lambda: launcher.stop(name), lambda: launcher.discard(name)):
        with pytest.raises(HandlersError) as problem:
            act()
        assert problem.value.message == "%r is not the name of a handler's unit." % name
    assert programs.asked == []


# --- ending --------------------------------------------------------------------------------------------------------------


def test_stopping_waits_for_systemd(launcher: Systemd, programs: Programs) -> None:
    def stopped() -> Ran:
        programs.shown.clear()
        return Ran(0)

    programs.shown[NAME] = RUNNING
    programs.answers["systemctl stop"] = stopped
    launcher.stop(NAME)
    assert programs.run("systemctl stop") == [["systemctl", "stop", "--no-ask-password", NAME + ".service"]]


@pytest.mark.parametrize("shown", [EXITED, FAILED, MISSING])
def test_what_has_ended_is_not_stopped(launcher: Systemd, programs: Programs, shown: Mapping[str, str]) -> None:
    programs.shown[NAME] = shown
    launcher.stop(NAME)
    assert not programs.run("systemctl stop")


def test_what_ends_by_itself_meanwhile_is_stopped_well_enough(launcher: Systemd, programs: Programs) -> None:
    def gone() -> Ran:
        programs.shown.clear()
        return Ran(5, "", "Unit not loaded.")

    programs.shown[NAME] = RUNNING
    programs.answers["systemctl stop"] = gone
    launcher.stop(NAME)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (_hang, "systemctl gives no answer within 20 s"),
        (lambda: Ran(1, "", "Access denied\n"), "Access denied"),
        (lambda: Ran(0), "it is still there"),
    ],
)
def test_what_cannot_be_stopped_is_said(launcher: Systemd, programs: Programs, answer: Callable[[], Ran], why: str) -> None:
    programs.shown[NAME] = RUNNING
    programs.answers["systemctl stop"] = answer
    for end in (launcher.stop, launcher.discard):
        with pytest.raises(HandlersError) as problem:
            end(NAME)
        assert problem.value.message == "Cannot stop the unit %s: %s. See: systemctl status %s" % (NAME, why, NAME)


def test_discarding_ends_what_is_left_and_forgets_all_of_it(launcher: Systemd, programs: Programs, folder: Path) -> None:
    def forget() -> Ran:
        programs.shown.clear()
        return Ran(0)

    programs.answers["systemctl reset-failed"] = forget
    launcher.begin(NAME, JOB)
    mark(folder, when_it_had("exited", "0"))
    programs.shown[NAME] = EXITED
    programs.journal = "of the first\n"
    launcher.units()
    launcher.discard(NAME)
    assert programs.run("systemctl stop")
    assert programs.run("systemctl reset-failed")
    assert os.listdir(folder) == []
    programs.journal = "of the second\n"
    programs.shown[NAME] = EXITED
    assert launcher.units()[NAME].tail == "of the second\n"


def test_discarding_what_is_gone_needs_no_systemd_and_may_be_repeated(launcher: Systemd, programs: Programs, folder: Path) -> None:
    mark(folder)
    launcher.discard(NAME)
    launcher.discard(NAME)
    assert launcher.units() == {}
    assert not programs.run("systemctl stop")


def test_what_cannot_be_ended_keeps_its_mark(launcher: Systemd, programs: Programs, folder: Path) -> None:
    """Else it would be begun again beside itself."""
    mark(folder)
    programs.shown[NAME] = EXITED
    programs.answers["systemctl stop"] = lambda: Ran(1, "", "Transaction is destructive.\n")
    with pytest.raises(HandlersError, match="Transaction is destructive"):
        launcher.discard(NAME)
    assert (folder / (NAME + ".begun")).is_dir()


# --- programs ------------------------------------------------------------------------------------------------------------


def test_a_program_gets_nothing_of_the_environment_but_a_path_and_no_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    ran = run(["env"], 10.0)
    assert (ran.code, sorted(line.split("=")[0] for line in ran.stdout.splitlines())) == (0, ["LC_ALL", "PATH"])


def test_a_program_that_hangs_is_ended() -> None:
    with pytest.raises(HandlersError) as problem:
        run(["sleep", "60"], 0.05)
    assert problem.value.message == "sleep gives no answer within 0.05 s."


def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(HandlersError) as problem:
        run(["systemd-nowhere"], 1.0)
    assert problem.value.message == "systemd-nowhere cannot be run: No such file or directory."


def test_words_of_programs_need_not_be_text() -> None:
    assert run(["printf", r"\377"], 10.0) == Ran(0, "\ufffd", "")
