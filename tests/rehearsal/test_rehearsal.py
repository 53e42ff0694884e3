# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make rehearse` as a whole: it ends with 0 when every step holds, and only then; and it leaves nothing behind."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Tuple

import pytest
import rehearse
from nursery import processes_of
from story import Page, Terminal

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "tools" / "rehearse.py"
# Little patience for what should not happen, and a start that comes late enough to be waited for on a slow machine.
NOT_LONG = {"rehearse_patience": "3s", "rehearse_start_delay": "30s"}
COLLECTION = Path("ansible_collections") / "cloud_maintenance" / "azure"
PLAYED = ("meta", "playbooks", "plugins", "galaxy.yml")
LIMIT = 60.0  # seconds for what takes a few


@pytest.fixture(autouse=True, scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of what the playbook needs, where Ansible finds it; a test may spoil its own copy of it."""
    top = copy_of(ROOT, tmp_path_factory.mktemp("collection"))
    before = os.environ.get("ANSIBLE_COLLECTIONS_PATH")
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(top)
    yield top
    os.environ.pop("ANSIBLE_COLLECTIONS_PATH")
    if before is not None:
        os.environ["ANSIBLE_COLLECTIONS_PATH"] = before


def copy_of(source: Path, top: Path) -> Path:
    for name in PLAYED:
        target = top / COLLECTION / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source / name, target)
    return top


def rehearsed(*, settings: Optional[Mapping[str, str]] = None, spoil: Optional[Callable[[Any], None]] = None) -> Tuple[int, str]:
    stream = io.StringIO()
    code = rehearse.rehearse(Page(stream, Terminal(colour=False, utf8=False, width=100)), settings=settings, spoil=spoil)
    return code, re.sub(r"\s+", " ", stream.getvalue())


FAULTY_SERVICE: Dict[str, Tuple[Callable[[Any], None], Dict[str, str], str, str]] = {
    "an event that one VM is not told of": (
        lambda simulator: hide_from(simulator, "rehearsal-web_1"),
        NOT_LONG,
        "See it coming",
        "The module and the simulator do not agree about what was announced to web_1.",
    ),
    "an approval that the service does not take": (
        lambda simulator: simulator.fault("status", verb="POST", path="events", status=403, times=None),
        NOT_LONG,
        "Approve",
        "the service answered 403 Forbidden",
    ),
    "an approval that does not start the event": (
        lambda _simulator: None,
        NOT_LONG,
        "Watch it start",
        "Waited 3 s for events to be started.",
    ),
    "an event that does not end": (
        lambda simulator: setattr(simulator, "complete", lambda _event_id: None),
        {"rehearse_patience": "6s"},
        "Watch it go",
        "Waited 6 s for events to be gone.",
    ),
}


def hide_from(simulator: Any, vm: str) -> None:
    """The fault can be set once the VM is there: on its first question."""
    original = simulator.schedule

    def schedule(*arguments: Any, **options: Any) -> Any:
        simulator.fault("drop_event", vm=vm, times=None)
        return original(*arguments, **options)

    simulator.schedule = schedule


@pytest.mark.parametrize("case", FAULTY_SERVICE)
def test_a_service_that_breaks_a_step_fails_the_rehearsal_at_this_step(case: str) -> None:
    spoil, settings, step, reason = FAULTY_SERVICE[case]
    code, text = rehearsed(settings=settings, spoil=spoil)
    assert code == 1, text
    assert "Without proof: %s" % step in text
    assert reason in text


# A change in the collection, the step that must notice it, and what it says then.
FAULTY_MODULE: Dict[str, Tuple[str, str, str, str, str]] = {
    "a gate that lets everything pass": (
        "module_utils/_gate.py",
        "    unready = [",
        "    return None\n    unready = [",
        "One VM is not ready",
        'Task "Approve while only web_0 is ready"',
    ),
    "a check mode that posts": (
        "modules/azure_scheduled_event_approve.py",
        "    if task.check_mode:",
        "    if False:",
        "Both are ready: ask first",
        "Check mode did not say that it would approve, or it posted something.",
    ),
    "an approval that is reported and not sent": (
        "module_utils/_imds.py",
        "        answer = self._http.post(request)",
        "        return\n        answer = self._http.post(request)",
        "Approve",
        "The approval did not reach the simulator once, as it should.",
    ),
    "a wait that does not wait": (
        "module_utils/_watch.py",
        "            if error is None and until(watch):",
        "            if error is None:",
        "Watch it start",
        "The module says that the event has started, and the simulator says otherwise.",
    ),
}


@pytest.mark.parametrize("case", FAULTY_MODULE)
def test_a_module_that_breaks_its_promise_fails_the_rehearsal_at_this_step(
    case: str, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, good, bad, step, reason = FAULTY_MODULE[case]
    top = copy_of(collection / COLLECTION, tmp_path)
    file = top / COLLECTION / "plugins" / name
    source = file.read_text(encoding="utf-8")
    assert source.count(good) == 1, "the place to spoil has moved"
    file.write_text(source.replace(good, bad), encoding="utf-8")
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(top))
    code, text = rehearsed(settings=NOT_LONG)
    assert code == 1, text
    assert "Without proof: %s" % step in text
    assert reason in text


@pytest.mark.parametrize("notice", ["30s", "59", "soon"])
def test_a_notice_too_short_to_approve_in_is_refused_before_anything_is_announced(notice: str) -> None:
    code, text = rehearsed(settings={"rehearse_notice": notice})
    assert code == 1, text
    assert "rehearse_notice is %s: give at least 1m" % notice in text


def test_the_page_has_every_variable_of_the_playbook_with_its_default() -> None:
    playbook = (ROOT / "playbooks" / "rehearse.yml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "docsite" / "rst" / "rehearsing.rst").read_text(encoding="utf-8")
    defaults = re.findall(r"^    (rehearse_\w+): ([^\n{]+)$", playbook, re.MULTILINE)
    assert len(defaults) == 6
    assert sorted(re.findall(r"\* - ``(rehearse_\w+)``\n     - ``(.+)``", page)) == sorted(defaults)


def test_without_ansible_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSIBLE_COLLECTIONS_PATH")
    code, text = rehearsed()
    assert code == 2
    assert "`make rehearse` sets everything up" in text


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
    ids=["Ctrl-C", "a closed terminal", "kill -9"],
)
def test_a_rehearsal_that_is_stopped_leaves_no_process_behind(number: int, code: int, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen([sys.executable, str(PROGRAM)], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout:
        for line in process.stdout:
            if "Watch it start" in line:
                break
        assert len(processes_of(tmp_path)) > 1, "nothing was running that could be left behind"
        process.send_signal(number)
        assert process.wait(timeout=LIMIT) == code
    deadline = time.monotonic() + LIMIT
    while processes_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes_of(tmp_path) == []
