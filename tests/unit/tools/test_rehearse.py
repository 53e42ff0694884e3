# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How `make rehearse` tells its story. That it fails when a step does not hold: tests/rehearsal."""

from __future__ import annotations

import io
import re
import subprocess
from typing import Any, Dict

import pytest
import rehearse
from story import MARKS, Page, Terminal

SOURCE = rehearse.SOURCE.read_text(encoding="utf-8")
PLAIN = Terminal(colour=False, utf8=False, width=60)
RICH = Terminal(colour=True, utf8=True, width=60)


class Stream(io.StringIO):
    """A place for text that says of itself what a test wants."""

    def __init__(self, *, terminal: bool, encoding: str) -> None:
        super().__init__()
        self._terminal = terminal
        self._encoding = encoding

    def isatty(self) -> bool:
        return self._terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]  # io declares a plain attribute
        return self._encoding


@pytest.mark.parametrize(
    ("terminal", "variables", "colour"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (False, {"TERM": "xterm"}, False),
    ],
)
def test_colours_only_where_they_are_seen_and_wanted(terminal: bool, variables: Dict[str, str], colour: bool) -> None:
    assert Terminal.of(Stream(terminal=terminal, encoding="utf-8"), variables).colour is colour


@pytest.mark.parametrize(
    ("encoding", "variables", "utf8"),
    [
        ("utf-8", {"LANG": "en_US.UTF-8"}, True),
        ("utf-8", {"LANG": "C.utf8"}, True),
        ("utf-8", {"LANG": "en_US.UTF-8", "LC_ALL": "C"}, False),
        ("utf-8", {}, False),
        ("iso8859-1", {"LANG": "en_US.UTF-8"}, False),
    ],
)
def test_marks_beyond_ascii_only_where_they_can_be_shown(encoding: str, variables: Dict[str, str], utf8: bool) -> None:
    assert Terminal.of(Stream(terminal=True, encoding=encoding), variables).utf8 is utf8


def everything_on(terminal: Terminal) -> str:
    stream = io.StringIO()
    page = Page(stream, terminal)
    page.heading("Left", "right")
    page.text("And so on …")
    for mark in MARKS:
        page.marked(mark, "word " * 30)
    page.code(["- name: Ping"])
    page.table([["VM", "state"], ["web_0", page.mark("good")]])
    return stream.getvalue()


def test_a_plain_terminal_gets_ascii_and_no_colour() -> None:
    text = everything_on(PLAIN)
    assert text.isascii()
    assert "\033" not in text
    assert "And so on ..." in text


def test_no_line_is_wider_than_the_terminal() -> None:
    assert max(len(line) for line in everything_on(PLAIN).splitlines()) <= PLAIN.width


def test_a_rich_terminal_gets_marks_and_colours() -> None:
    text = everything_on(RICH)
    assert "✔" in text
    assert "\033[" in text


@pytest.mark.parametrize("chapter", rehearse.STORY, ids=lambda chapter: chapter.title)
def test_every_step_of_the_story_is_a_task_of_the_playbook_with_its_proof_after_it(chapter: rehearse.Chapter) -> None:
    shown, proof = (SOURCE.index("- name: %s\n" % name) for name in (chapter.task, chapter.proof))
    assert shown < proof
    assert rehearse.task_text(SOURCE, chapter.proof, {})[1].strip() == "ansible.builtin.assert:"


def test_the_story_knows_every_setting_of_the_playbook_by_its_name() -> None:
    in_playbook = set(re.findall(r"^    (rehearse_\w+): ", SOURCE, flags=re.MULTILINE))
    assert in_playbook == {*rehearse.SETTINGS, "rehearse_data_url", "rehearse_control_url"}


def test_every_proof_of_the_playbook_is_told() -> None:
    proofs = re.findall(r"- name: (Prove .*)", SOURCE)
    assert proofs == [chapter.proof for chapter in rehearse.STORY]


def test_a_shown_task_has_our_settings_filled_in_and_the_readers_expressions_left_alone() -> None:
    text = "\n".join(rehearse.task_text(SOURCE, "Watch it start", {"rehearse_patience": "40s"}))
    assert text.startswith("- name: Watch it start\n  cloud_maintenance.azure.azure_scheduled_event_wait:\n")
    assert "    wait_timeout: 40s\n" in text
    assert """event_ids: "{{ maintenance.events | map(attribute='event_id') | list }}"\n""" in text
    assert "rehearse_" not in text


@pytest.mark.parametrize(
    ("result", "reasons"),
    [
        ({"msg": "No\nanswer."}, ["No answer."]),
        ({}, ["It failed without a message."]),
        ({"msg": "They differ.", "assertion": "a == b"}, ["They differ.", "This did not hold: a == b"]),
        (
            {"msg": "One or more items failed", "results": [{"failed": True, "msg": "404"}, {"msg": "fine"}]},
            ["One or more items failed", "404"],
        ),
    ],
)
def test_a_failed_task_is_told_with_its_reason(result: Dict[str, Any], reasons: Any) -> None:
    assert rehearse.reasons_of(result) == reasons


def life(simulator: Any, *, approvals: int = 1, ended: bool = True) -> rehearse.Course:
    """An event that was approved so many times, and has ended or not."""
    simulator.add_scope("web", kind="availability_set", vms=["web_0"])
    event = simulator.schedule("Reboot", ["web_0"], notice=900, runs_for=5)
    for _number in range(approvals):
        simulator.journal.add(_post(simulator, event.event_id))
        simulator.fabric.approve(simulator.fabric.vm("web_0"), [event.event_id], now=simulator.now())
    simulator.advance(10 if ended else 1)
    return rehearse.Course(0.0, event=event.as_dict())


def _post(simulator: Any, event_id: str) -> Any:
    from imds_simulator import Record
    from imds_simulator.journal import Headers

    body = '{"StartRequests": [{"EventId": "%s"}]}' % event_id
    return Record(1, simulator.now(), "web_0", "POST", "/metadata/scheduledevents", {}, Headers({}), body, status=200)


def test_the_simulators_books_agree_with_a_whole_life(simulator: Any) -> None:
    assert rehearse.books_agree(simulator, life(simulator)) == []


def test_the_simulators_books_object_to_a_second_approval(simulator: Any) -> None:
    assert rehearse.books_agree(simulator, life(simulator, approvals=2)) == ["the simulator has seen 2 approvals of the event and not one"]


def test_the_simulators_books_object_to_an_event_that_is_not_over(simulator: Any) -> None:
    assert rehearse.books_agree(simulator, life(simulator, ended=False)) == ["the simulator's event is Started and not completed"]


def test_the_simulators_books_object_to_an_event_that_nobody_approved(simulator: Any) -> None:
    course = life(simulator, approvals=0)
    simulator.advance(3600)
    assert rehearse.books_agree(simulator, course) == [
        "the simulator has seen 0 approvals of the event and not one",
        "the simulator's event did not start because of the approval",
    ]


def test_the_simulators_books_object_to_a_rehearsal_without_an_event(simulator: Any) -> None:
    assert rehearse.books_agree(simulator, rehearse.Course(0.0)) == ["no event was announced"]


class Folder:
    """A folder in which somebody still writes, so many times."""

    def __init__(self, busy: float) -> None:
        self.busy = busy

    def cleanup(self) -> None:
        self.busy -= 1
        if self.busy >= 0:
            raise OSError("Directory not empty")


def closing(folder: Folder) -> Any:
    run: Any = object.__new__(rehearse.Run)
    run._folder = folder
    run._process = subprocess.Popen(["true"], stdin=subprocess.DEVNULL)
    run._process.wait()
    return run


def test_a_folder_goes_when_whoever_is_ending_has_written_there_for_the_last_time() -> None:
    folder = Folder(busy=2)
    closing(folder).close()
    assert folder.busy == -1


def test_a_folder_that_does_not_go_is_not_waited_for_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearse, "LONGEST_END", 0.1)
    with pytest.raises(OSError, match="not empty"):
        closing(Folder(busy=float("inf"))).close()
