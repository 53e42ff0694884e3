# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages about hosts say what the programs do: the example works, the tables are whole, and no message lacks its place."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Pattern, Sequence, Tuple

import azure_event_handlers
import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _host_command
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import cli, configuration, executor, trial
from azure_event_handlers import records as r
from azure_event_handlers.configuration import Configuration
from azure_event_handlers.paths import Paths
from azure_event_handlers.published import Status
from azure_event_handlers.records import Record, Step
from azure_event_handlers.store import Hold

PROGRAMS = Path(azure_event_handlers.__file__).parent
PAGES = Path(__file__).resolve().parents[4] / "docs" / "docsite" / "rst"


def _page(name: str) -> str:
    return (PAGES / (name + ".rst")).read_text(encoding="utf-8")


HANDLERS, HOST, TROUBLES = _page("handlers"), _page("host"), _page("host_troubleshooting")


def _blocks(page: str, language: str) -> List[str]:
    found = re.findall(r"^( *)\.\. code-block:: %s\n\n((?:\1   .*\n|\n)+)" % language, page, re.MULTILINE)
    return [textwrap.dedent(block).strip("\n") + "\n" for _indent, block in found]


def _rows(page: str, first_heading: str) -> List[Tuple[str, str]]:
    """The first two cells of each row of the table with this heading, less the head."""
    table = page.split("   * - %s\n" % first_heading, 1)[1]
    table = re.split(r"\n(?=\S)", table, maxsplit=1)[0]
    return [(cells[0], cells[1]) for cells in (re.split(r"\n     - ", row) for row in table.split("   * - ")[1:])]


def _words(cell: str) -> List[str]:
    return re.findall(r"``([^`]+)``", cell)


# --- the example of a handler -----------------------------------------------------------------------------------------

CONSOLE = _blocks(HANDLERS, "console")
OPTIONS = next((block for block in _blocks(HANDLERS, "json") if "event_types" in block), "{}")


class Place:
    """A host in a folder with the page's handler, its flag and its jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths = Paths(str(folder / "root"))
        self.flag, self.jobs = folder / "out-of-service", folder / "jobs"
        for path in (self.paths.handlers, self.paths.options, self.paths.run):
            Path(path).mkdir(parents=True)
        self.jobs.mkdir()
        options = json.loads(OPTIONS)
        options["environment"] = {"FLAG": str(self.flag), "JOBS": str(self.jobs)}
        self._write(Path(self.paths.configuration), json.dumps({"format": 1}), 0o644)
        self._write(Path(self.paths.options) / "10-drain.json", json.dumps(options), 0o644)
        (self.handler,) = _blocks(HANDLERS, "sh")
        self._write(Path(self.paths.handlers) / "10-drain", self.handler, 0o755)
        for above in (folder / "root").rglob("*"):
            above.chmod(0o755)

    def _write(self, path: Path, text: str, mode: int) -> None:
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def call(self, words: Sequence[str]) -> int:
        return cli.main(["--root", self.paths.root, *words])

    def phase(self, phase: str) -> str:
        """What the trial says of one phase."""
        config = configuration.load(self.paths, owner=self.folder.stat().st_uid)
        (run,) = trial.run(config.handlers[0], "Reboot", phase, self.paths, Clock(sleep=self._jobs_end))
        return run.words

    def _jobs_end(self, seconds: float) -> None:
        Clock().sleep(min(seconds, 0.02))
        if seconds >= 1.0:
            for job in self.jobs.iterdir():
                job.unlink()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_the_page_types_gives_what_the_page_shows(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    session = CONSOLE[0].splitlines()
    commands = [number for number, line in enumerate(session) if line.startswith("# ")]
    assert len(commands) == 2
    for begin, end in zip(commands, [*commands[1:], len(session)]):
        assert place.call(session[begin].split()[2:]) == cli.AS_ASKED
        assert capsys.readouterr().out.splitlines() == session[begin + 1 : end]
    assert not place.flag.exists()


def test_the_example_has_twenty_lines() -> None:
    (example,) = _blocks(HANDLERS, "sh")
    assert len(example.splitlines()) <= 23


def test_the_example_waits_for_its_jobs_with_not_yet(place: Place) -> None:
    (place.jobs / "4711").touch()
    assert place.phase("prepare") == "ready"
    assert list(place.jobs.iterdir()) == []


def test_the_example_leaves_alone_what_somebody_else_has_taken_out(place: Place) -> None:
    """W-42."""
    place.flag.write_text("ann\n", encoding="utf-8")
    assert place.phase("inspect") == "out of service"
    assert place.phase("prepare") == "was so before, nothing was changed"
    assert place.flag.read_text(encoding="utf-8") == "ann\n"


def test_the_example_says_that_it_was_put_back_by_hand(place: Place) -> None:
    """W-41."""
    assert place.phase("prepare") == "ready"
    place.flag.unlink()
    assert place.phase("inspect") == "in service"


def test_the_example_is_safe_to_repeat(place: Place) -> None:
    said = [place.phase(phase) for phase in ("prepare", "prepare", "recover", "recover")]
    assert said == ["ready", "ready", "back in service", "back in service"]
    assert not place.flag.exists()


def test_the_commands_of_the_pages_are_understood() -> None:
    parser = cli._parser()
    typed = [line for page in (HANDLERS, HOST, TROUBLES) for block in _blocks(page, "console") for line in block.splitlines()]
    commands = [line.split("   #")[0].split('"')[0] for line in typed if line.startswith("# azure-event-handlers")]
    commands += re.findall(r"``(azure-event-handlers [a-z][^`]*)``", HANDLERS + HOST + TROUBLES)
    assert len(commands) > 20
    for command in commands:
        # A text in quotes was cut off, and one in capitals stands for something.
        words = " ".join(command.lstrip("# ").split()).replace("TYPE", "Reboot").split()[1:]
        parser.parse_args([*words, "x"] if words[-1] == "--reason" else words)


# --- what a handler is told -------------------------------------------------------------------------------------------

EVENT = Event("E-1", "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0", "web_1"), 1794996000.0, "", 9)
RECORD = Record(EVENT, 1, "vm-1", attempt=1, steps=(Step("10-drain", "/copy", 60.0, True, environment=("FLAG=/x",)),))


def test_the_page_lists_every_variable_and_what_is_on_standard_input() -> None:
    job = executor.job_of(RECORD, 0, r.PREPARE, now=1794995160.0)
    listed = [name for first, _second in _rows(HANDLERS, "Variable") for name in _words(first)]
    assert sorted(listed) == sorted(set(job.environment) - {"FLAG"})
    assert "``%s``" % job.environment["PATH"] in HANDLERS
    (shown,) = [json.loads(block) for block in _blocks(HANDLERS, "json") if "occurrence" in block]
    told = json.loads(job.stdin.decode("utf-8"))
    assert shown == {**told, "event": {**told["event"], "event_id": shown["event"]["event_id"]}}


def test_the_page_lists_every_option_with_its_default() -> None:
    rows = _rows(HANDLERS, "Option")
    assert [_words(first)[0] for first, _second in rows] == list(configuration._OPTION_KEYS)
    plain = configuration.Handler("10-x", "/x")
    defaults = {_words(first)[0]: second.strip() for first, second in rows}
    assert (defaults["limit"], defaults["required"]) == ("``%ds``" % plain.limit, "``%s``" % str(plain.required).lower())
    assert (plain.event_types, plain.environment, plain.properties) == (configuration.KNOWN_TYPES, (), ())


def test_the_example_of_options_is_right(place: Place) -> None:
    config = configuration.load(place.paths, owner=place.folder.stat().st_uid)
    assert [(one.name, one.limit) for one in config.handlers] == [("10-drain", 120.0)]


# --- the page about hosts ---------------------------------------------------------------------------------------------


def test_the_page_lists_every_state_and_every_mode() -> None:
    assert [_words(first)[0] for first, _second in _rows(HOST, "State")] == list(r.STATES)
    assert [_words(first)[0] for first, _second in _rows(HOST, "``mode``")] == list(configuration.MODES)


def test_the_page_lists_every_result() -> None:
    """As reconcile gives them."""
    tree = ast.parse((PROGRAMS / "reconcile.py").read_text(encoding="utf-8"))
    given = {"deleted"}
    for function in [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in ("_result", "result_so_far")]:
        given |= {word for word in _constants(function) if re.fullmatch(r"[a-z_]{5,}", word)}
    listed = [word for first, _second in _rows(HOST, "Result") for word in _words(first)]
    assert len(given) == 9
    assert sorted(listed) == sorted(given)


def test_the_page_says_the_defaults_that_there_are() -> None:
    plain = Configuration()
    assert (plain.mode, plain.hold_for, plain.keep_closed) == (configuration.WATCH, 4 * 3600.0, 90 * 86400.0)
    assert replace(plain.settings, windows=()).shortest_preparation == 5.0


# --- messages ---------------------------------------------------------------------------------------------------------

# Whose messages have to be on the page, and whose may be.
SPEAKING = ("cli", "asking", "asked", "service", "store")
ALSO_SPEAKING = ("reconcile", "trial", "trials", "spool", "configuration")
# What only argparse shows, by --help.
_HELP = ("_parser", "_add_request", "_with_json", "_with_following", "main")
_NEVER_SAID = {
    "between temporary file and rename",  # where tests kill it
    "between rename and fsync of the folder",
    "vm_name in %s",  # a part of what the metadata service's messages say
    "remove %s from",  # as "write": a part of "Cannot %s the state folder"
    "this VM",  # of lists
    "other VMs",
    "too long",  # in the evidence
}


def _constants(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def _sentences(source: Path, skipped: Sequence[str]) -> Iterator[str]:
    """Each text of two words or more that is neither documentation nor help."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    quiet = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    quiet += [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in skipped]
    left_out = {id(inner) for node in quiet for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out and _says_something(node.value):
            yield node.value


def _says_something(text: str) -> bool:
    return " " in text and len(re.findall(r"[A-Za-z_]{2,}", re.sub(r"%[sdg]", " ", text))) >= 2


def _said(name: str) -> List[str]:
    # What main() of the command line says is said; that of the executor has options only.
    skipped = [one for one in _HELP if one != "main" or name == "service"]
    return [text for text in _sentences(PROGRAMS / (name + ".py"), skipped) if text not in _NEVER_SAID]


def _messages() -> List[str]:
    """Those of the page: an indented line belongs to the one before it."""
    found: List[str] = []
    for block in _blocks(TROUBLES, "text"):
        for line in block.splitlines():
            if line.startswith("    ") and found:
                found[-1] += " " + line.strip()
            elif line.strip():
                found.append(line.strip())
    return found


def _pattern(text: str) -> Pattern[str]:
    """What the text looks like with something in its places."""
    words = " ".join(text.split())
    return re.compile(re.sub(r"%[sdg]", ".*", re.escape(words)))


@pytest.mark.parametrize("name", SPEAKING)
def test_every_message_has_its_place_on_the_page(name: str) -> None:
    sentences = _said(name)
    assert len(sentences) >= 5
    messages = _messages()
    missing = [text for text in sentences if not any(_pattern(text).search(message) for message in messages)]
    assert missing == []


def test_every_message_of_the_module_has_its_place_on_the_page() -> None:
    module = Path(str(_host_command.__file__))
    whole = [text for text in _sentences(module, ()) if text[-1] in ".:%sd" and " " in text.strip()]
    assert len(whole) >= 8
    messages = _messages()
    missing = [text for text in whole if not any(_pattern(text).search(message) for message in messages)]
    assert missing == []


def test_every_message_on_the_page_is_one_that_somebody_says() -> None:
    known: Dict[str, Pattern[str]] = {}
    sources = [PROGRAMS / (name + ".py") for name in (*SPEAKING, *ALSO_SPEAKING)] + [Path(str(_host_command.__file__))]
    for source in sources:
        known.update((text, _pattern(text)) for text in _sentences(source, ()) if text not in _NEVER_SAID)
    # Skeletons of a few letters would match everything.
    telling = [pattern for text, pattern in known.items() if len(re.sub(r"%[sdg]|\W", "", text)) >= 8]
    strange = [message for message in _messages() if not any(pattern.search(message) for pattern in telling)]
    assert strange == []


@pytest.mark.parametrize(("until", "now", "shown"), [(500.0, 400.0, True), (500.0, 600.0, False), (100.0, 600.0, True)])
def test_a_hold_is_shown_while_it_is_in_force_and_when_it_cannot_be_read(until: float, now: float, shown: bool) -> None:
    """Who cannot read until when it holds, says that it was over when the status was written."""
    status = Status(100.0, "boot", "vm-1", hold=Hold("somebody", until, "the file hold.json cannot be read"))
    lines = [line for line in cli._status_lines(status, None, now) if line.startswith("held ")]
    assert len(lines) == shown
    assert all(line.endswith(" (the file hold.json cannot be read): nothing is prepared, committed or approved") for line in lines)


def test_the_exit_codes_of_the_page_are_those_of_the_command(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    codes = re.findall(r"(\d) ([a-z ,]+?)(?:;|\.)", told.split("Exit codes: ")[1])
    shown = dict(
        re.findall(r"(\d) ([a-z ,]+?)(?:;|\.)", " ".join(TROUBLES.split("Exit codes of the command: ")[1].split("\n\n")[0].split()))
    )
    assert len(codes) == 6
    for number, words in codes:
        assert shown[number].startswith(words)


def test_the_page_says_what_becomes_of_a_host_whose_disk_was_wiped() -> None:
    """W-49: documented."""
    (entry,) = [item for item in HOST.split("\n* ") if item.startswith("**A disk that is wiped.**")]
    words = " ".join(entry.split())
    for said in ("``Redeploy``", "*ephemeral OS disk*", "without its records", "The playbook has its own evidence"):
        assert said in words
