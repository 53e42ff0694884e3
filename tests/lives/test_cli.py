# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line, with a real executor, real handlers and the simulator, without root."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
from azure_event_handlers import asking, cli, trials
from azure_event_handlers.paths import Paths
from azure_event_handlers.processes import Processes

# Out of service while its file is there.
HANDLER = """#!/bin/sh
case $1 in
  inspect) test -e {state} || exit 1 ;;
  prepare) echo "draining {state}"; touch {state}; exit {code} ;;
  recover) rm -f {state} ;;
esac
"""


class Place:
    """A host in a folder, and an executor that lives as long as the test."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        self.paths = Paths(str(folder))
        self.state = folder / "out-of-service"
        for path in (self.paths.handlers, self.paths.options, self.paths.requests, self.paths.agents_requests, self.paths.answers):
            os.makedirs(path)
        for place in folder.rglob("*"):
            place.chmod(0o755)
        self.configure(endpoint=endpoint, timeout=2)
        self.write_handler(0)
        self.executor: Any = None

    def configure(self, **values: Any) -> None:
        path = Path(self.paths.configuration)
        path.write_text(json.dumps({"format": 1, **values}), encoding="utf-8")
        path.chmod(0o644)

    def write_handler(self, code: int) -> None:
        path = Path(self.paths.handlers) / "10-web"
        path.write_text(HANDLER.format(state=self.state, code=code), encoding="utf-8")
        path.chmod(0o755)

    def start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-B", "-m", "azure_event_handlers.service", "--root", str(self.folder)]
        self.executor = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        if self.executor is not None:
            self.executor.terminate()
            self.executor.wait(timeout=20)

    def call(self, capsys: pytest.CaptureFixture[str], *words: str) -> Tuple[int, str, str]:
        code = cli.main(["--root", str(self.folder), *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    def answer(self, capsys: pytest.CaptureFixture[str], *words: str) -> Dict[str, Any]:
        code, out, err = self.call(capsys, *words, "--json")
        found: Dict[str, Any] = json.loads(out)
        assert found["ok"] == (code == 0), err
        return found


@pytest.fixture
def place(tmp_path: Path, simulator: Any) -> Iterator[Place]:
    simulator.add_vm("web_0")
    made = Place(tmp_path, simulator.endpoint("web_0"))
    yield made
    made.stop()


def _schedule(simulator: Any, **options: Any) -> str:
    event = simulator.schedule("Reboot", ["web_0"], **{"notice": 9000, "runs_for": None, **options})
    return str(event.event_id)


def test_a_person_takes_a_host_through_an_event_by_hand(place: Place, simulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    event = _schedule(simulator)
    place.start()
    code, out, _err = place.call(capsys, "request", "prepare", "--follow")
    assert code == cli.AS_ASKED
    assert out.splitlines()[-1] == "This host is ready: every handler is done."
    assert "  10-web prepare: done (exit 0)" in out.splitlines()
    assert place.state.exists()
    code, out, _err = place.call(capsys, "status")
    assert code == cli.AS_ASKED
    assert "PREPARED" in out
    assert "10-web: inspect unchanged (exit 1), prepare done" in out
    assert place.answer(capsys, "request", "commit", event)["verdict"] == asking.COMMITTED
    refused = place.answer(capsys, "request", "release", event)
    assert (refused["verdict"], refused["state"]) == (asking.REFUSED, "COMMITTED")
    assert place.answer(capsys, "request", "release", event, "--force")["verdict"] == asking.BACK
    assert not place.state.exists()
    code, out, _err = place.call(capsys, "evidence", event)
    assert [line["to"] for line in json.loads(out)["history"] if "to" in line][-1] == "BACKED_OUT"


def test_a_driver_says_what_it_posts_and_waits_until_all_is_over(place: Place, simulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """W-5, W-6: what a playbook asks of a host, in its order; and a second run that comes after the first one was lost."""
    event = _schedule(simulator)
    place.start()
    mine = ["--driver", "playbook", "--run-id", "1"]
    for what in ("prepare", "commit"):
        assert place.answer(capsys, "request", what, event, *mine, "--lease", "1")["ok"]
    said = place.answer(capsys, "request", "sending", event, *mine, "--witness", "web_5")
    assert (said["verdict"], said["state"]) == (asking.FILED, "COMMITTED")
    assert said["message"] == "It is written down that an approval may be on its way."
    time.sleep(1.5)
    other = ["--driver", "playbook", "--run-id", "2"]
    for what in ("prepare", "commit"):
        assert place.answer(capsys, "request", what, event, *other)["state"] == "COMMITTED"
    assert "and only who has it can say that nothing was posted" in place.answer(capsys, "request", "abort", event, *other)["message"]
    assert place.answer(capsys, "request", "approved", event, *mine, "--outcome", "taken")["ok"]
    waited = place.answer(capsys, "wait", event, "--timeout", "0.2")
    assert (waited["verdict"], waited["message"]) == (
        asking.PENDING,
        "Not over within 0.2 s: this host is COMMITTED (playbook may approve).",
    )
    assert place.answer(capsys, "request", "release", event, "--force")["ok"]
    over = place.answer(capsys, "wait", event)
    assert (over["verdict"], over["state"]) == (asking.OVER, "BACKED_OUT")
    posts = json.loads(place.call(capsys, "evidence", event)[1])["posts"]
    assert [(line["outcome"], line["run"], line["witness"]) for line in posts] == [("taken", "1", "web_5")]


def test_what_nobody_has_said_yet_is_not_over(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Right after a boot; and an event that is not known has nothing in effect."""
    code, out, err = place.call(capsys, "wait", "E-0", "--timeout", "0.2")
    assert (code, out, "status.json is not there" in err) == (cli.NO_EXECUTOR, "", True)
    place.start()
    code, out, _err = place.call(capsys, "wait", "E-0", "--follow")
    assert (code, out) == (cli.AS_ASKED, "This host knows of no such event, so nothing of it is in effect.\n")


def test_a_handler_that_fails_is_a_no_with_its_name(place: Place, simulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _schedule(simulator)
    place.write_handler(1)
    place.start()
    answer = place.answer(capsys, "request", "prepare")
    assert (answer["verdict"], answer["handlers"][0]["prepare"]) == (asking.NOT_READY, {"outcome": "failed", "exit": 1})
    assert "10-web is not ready: failed" in answer["message"]


def test_a_hold_is_refused_to_everybody_until_it_is_released(place: Place, simulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """W-55."""
    _schedule(simulator)
    place.start()
    assert place.answer(capsys, "request", "hold", "--by", "ann", "--reason", "restore")["verdict"] == asking.FILED
    assert "is held by ann until" in place.answer(capsys, "request", "prepare")["message"]
    assert "held by ann" in place.call(capsys, "status")[1]
    assert place.answer(capsys, "request", "release", "--by", "ann")["ok"]
    assert place.answer(capsys, "request", "prepare")["ok"]


def test_an_executor_that_is_dead_is_said_and_the_request_withdrawn(
    place: Place, simulator: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _schedule(simulator)
    monkeypatch.setattr(asking, "ANSWER_WITHIN", 0.3)
    code, _out, err = place.call(capsys, "request", "prepare")
    assert code == cli.NO_EXECUTOR
    assert "The executor has not answered within 0.3 s and the request was withdrawn" in err
    assert os.listdir(place.paths.requests) == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["request", "commit", "E-0"],
            cli.NO,
            "The service does not show the event E-0; `azure-event-handlers events` lists what it shows.",
        ),
        (["request", "prepare"], cli.WRONG_USE, "Name the event; for web_0 there is none."),
        (["request", "abort"], cli.WRONG_USE, "Name the event; this host has none."),
        (["request", "release", "--force"], cli.WRONG_USE, "`release --force` is for one event: name it."),
        (["request", "hold", "--for", "soon"], cli.WRONG_USE, "soon"),
        (["evidence", "E-0"], cli.NO, "There is no record of an event E-0 here; there are: none."),
        (["test", "20-db", "--type", "Reboot"], cli.WRONG_USE, "There is no handler 20-db; there are: 10-web."),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_sentence(
    place: Place, capsys: pytest.CaptureFixture[str], words: List[str], code: int, said: str
) -> None:
    os.makedirs(place.paths.records)
    got, out, err = place.call(capsys, *words)
    assert (got, out) == (code, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_host_without_the_role_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--root", str(tmp_path), "status"]) == cli.NO_EXECUTOR
    assert "is the role event_handlers installed on this host?" in capsys.readouterr().err


def test_a_service_that_cannot_be_read_has_an_exit_code_of_its_own(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.configure(endpoint="http://127.0.0.1:9", timeout=1)
    monkeypatch.setattr(cli, "_RETRY_FOR", 0.0)
    code, _out, err = place.call(capsys, "events")
    assert code == cli.NO_SERVICE
    assert "Check that this host is an Azure VM" in err


def test_events_are_shown_with_whose_they_are(place: Place, simulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    event = _schedule(simulator)
    code, out, _err = place.call(capsys, "events")
    assert code == cli.AS_ASKED
    assert out.startswith("Reboot %s, at " % event)
    assert out.endswith(", this VM: web_0\n")
    code, out, _err = place.call(capsys, "events", "--json")
    assert [(one["event_id"], one["affects_this_vm"]) for one in json.loads(out)["events"]] == [(event, True)]


def test_everything_that_is_wrong_in_the_configuration_is_said_at_once(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.call(capsys, "check-config") == (cli.AS_ASKED, "The configuration is right.\n", "")
    place.configure(mode="sometimes", lease="x")
    code, out, err = place.call(capsys, "check-config")
    assert (code, out) == (cli.WRONG_USE, "")
    assert len(err.splitlines()) >= 2
    place.start()
    _until(Path(place.paths.status).exists)
    configured = json.loads(place.call(capsys, "status", "--json")[1])["configured"]
    assert (configured["mode"], configured["handlers"]) == (None, [])
    assert "mode" in configured["problem"]
    Path(place.paths.handlers, "10-web").chmod(0o777)
    assert any("10-web" in problem for problem in place.answer(capsys, "check-config")["problems"])


def test_a_trial_runs_the_whole_round_and_ends_in_service(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = place.call(capsys, "test", "10-web", "--type", "Reboot")
    assert code == cli.AS_ASKED
    assert [line for line in out.splitlines() if not line.startswith("  |")] == [
        "inspect: in service",
        "prepare: ready",
        "inspect: out of service",
        "recover: back in service",
        "inspect: in service",
    ]
    assert "  | draining %s" % place.state in out
    assert not place.state.exists()


def test_a_trial_of_a_handler_that_fails_puts_it_back(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.write_handler(3)
    code, out, _err = place.call(capsys, "test", "10-web", "--type", "Reboot")
    assert code == cli.NO
    assert "prepare: failed (exit 3)" in out
    assert not place.state.exists()


# Once it is out of service it does not end to say so.
SLOW = """#!/bin/sh
case $1 in
  inspect) test ! -e {state} || exec sleep 600; exit 1 ;;
  prepare) touch {state} ;;
  recover) rm -f {state} ;;
esac
"""


def _begin_trial(place: Place, handler: str = SLOW) -> Any:
    """As a person does it, in a process of its own."""
    path = Path(place.paths.handlers) / "10-web"
    path.write_text(handler.format(state=place.state), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-B", "-m", "azure_event_handlers.cli", "--root", str(place.folder), "test", "10-web", "--type", "Reboot"]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        start_new_session=True,
        preexec_fn=_hear_signals,  # noqa: PLW1509  (nothing else is done there)
    )


def _hear_signals() -> None:
    """Whoever has started these tests may ignore some, as nohup does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_trial_that_is_cut_off_puts_the_host_back_first(place: Place, number: signal.Signals) -> None:
    """Also when whoever sits there is impatient and does it twice."""
    trial = _begin_trial(place)
    assert [trial.stdout.readline() for _line in range(2)] == ["inspect: in service\n", "prepare: ready\n"]
    assert place.state.exists()
    trial.send_signal(number)
    assert "it is asked to recover now" in trial.stderr.readline()
    trial.send_signal(number)
    _out, err = trial.communicate(timeout=30)
    assert not place.state.exists()
    assert trial.returncode == cli.NO
    assert err.splitlines() == ["recover: back in service", "The trial was cut off by %s." % number.name]


def test_a_trial_whose_reader_goes_away_puts_the_host_back(place: Place) -> None:
    trial = _begin_trial(place)
    assert trial.stdout.readline() == "inspect: in service\n"
    trial.stdout.close()
    err = trial.stderr.read()
    trial.stderr.close()
    assert trial.wait(timeout=30) == cli.NO
    assert not place.state.exists()
    assert err.splitlines()[1:] == ["recover: back in service", "The trial was cut off: nobody reads what it says."]


def test_a_trial_that_is_cut_off_and_cannot_recover_says_what_to_do(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write_handler(0)
    path = Path(place.paths.handlers) / "10-web"
    path.write_text(path.read_text(encoding="utf-8").replace("rm -f", "exit 4 #"), encoding="utf-8")

    def show(run: Any, *, as_json: bool) -> None:
        if run.phase == "prepare":
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(cli, "_show_run", show)
    code, _out, err = place.call(capsys, "test", "10-web", "--type", "Reboot")
    assert code == cli.NO
    assert err.splitlines()[1:] == [
        "recover: failed (exit 4)",
        "The host may still be out of service: azure-event-handlers test 10-web --type Reboot --phase recover.",
        "The trial was cut off by SIGTERM.",
    ]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def _problems(place: Place, capsys: pytest.CaptureFixture[str]) -> List[str]:
    found: List[str] = json.loads(place.call(capsys, "status", "--json")[1])["problems"]
    return found


def _is_left(problem: str) -> bool:
    return problem.startswith("A trial asked 10-web to prepare at ") and problem.endswith(
        "Z, and it has not recovered since, so this host may be out of service:"
        " `azure-event-handlers test 10-web --type Reboot --phase recover`."
    )


RECOVER_BY_HAND = ("test", "10-web", "--type", "Reboot", "--phase", "recover")


def test_a_phase_alone_is_left_as_it_is_and_is_named_until_it_is_undone(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.start()
    _until(Path(place.paths.status).exists)
    for _time in range(2):
        assert place.call(capsys, "test", "10-web", "--type", "Reboot", "--phase", "prepare")[0] == cli.AS_ASKED
    assert place.state.exists()
    (problem,) = _problems(place, capsys)
    assert _is_left(problem)
    assert "problem: " + problem in place.call(capsys, "status")[1].splitlines()
    for _time in range(2):
        assert place.call(capsys, *RECOVER_BY_HAND)[0] == cli.AS_ASKED
    assert not place.state.exists()
    _until(lambda: not _problems(place, capsys))


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


# It ends when it is told to, and not before.
HANGING = """#!/bin/sh
case $1 in
  inspect) test -e {state} || exit 1 ;;
  prepare) touch {state}; while test ! -e {state}.go; do sleep 0.1; done ;;
  recover) rm -f {state} ;;
esac
"""


def test_a_trial_and_a_real_event_keep_out_of_each_others_way(place: Place, simulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Never two handlers at the same time; a trial that is killed is not forgotten, and what it has begun is ended first."""
    event = _schedule(simulator)
    place.start()
    trial = _begin_trial(place, HANGING)
    assert trial.stdout.readline() == "inspect: in service\n"
    _until(place.state.exists)
    assert place.answer(capsys, "request", "prepare", event)["message"] == (
        "A handler is being tried on this host by hand: ask again when that is over."
    )
    assert place.call(capsys, *RECOVER_BY_HAND)[2] == "Another trial goes on on this host: wait for its end.\n"
    assert _problems(place, capsys) == []
    trial.kill()
    trial.communicate(timeout=30)
    # The executor is there, and has seen it by itself.
    _until(lambda: any(map(_is_left, json.loads(Path(place.paths.status).read_text(encoding="utf-8"))["problems"])))
    refused = place.answer(capsys, "request", "prepare", event)["message"]
    assert refused.startswith("What a trial that was cut off has begun still runs. A trial asked 10-web to prepare at ")
    assert place.call(capsys, *RECOVER_BY_HAND)[0] == cli.AS_ASKED
    Path(str(place.state) + ".go").touch()
    assert place.answer(capsys, "request", "prepare", event)["verdict"] == asking.READY
    refused = place.call(capsys, *RECOVER_BY_HAND)[2]
    assert refused == "There is work for %s in progress; only `--phase inspect` is safe now.\n" % event


def test_a_host_that_stopped_in_a_trial_says_so_when_it_is_back(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    trial = _begin_trial(place, HANGING)
    _until(place.state.exists)
    trial.kill()
    trial.communicate(timeout=30)
    Processes(Path(place.paths.run) / "trials").reboot()
    for path in (place.paths.status, place.paths.trying):
        Path(path).unlink(missing_ok=True)
    place.start()
    _until(lambda: Path(place.paths.status).exists() and any(map(_is_left, _problems(place, capsys))))
    assert place.call(capsys, *RECOVER_BY_HAND)[0] == cli.AS_ASKED
    assert not place.state.exists()


def test_work_that_no_executor_shows_keeps_a_trial_out(place: Place, simulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Right after a boot nothing is published yet."""
    event = _schedule(simulator)
    place.start()
    place.answer(capsys, "request", "prepare")
    place.stop()
    Path(place.paths.status).unlink()
    assert "There is work for %s in progress" % event in place.call(capsys, *RECOVER_BY_HAND)[2]
    assert place.call(capsys, "test", "10-web", "--type", "Reboot", "--phase", "inspect")[0] == cli.AS_ASKED


def test_nothing_is_tried_that_cannot_be_written_down(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-48: and what is out of service is put back all the same."""

    def full(path: str, *_more: Any, **_others: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", path)

    with monkeypatch.context() as disk:
        disk.setattr(trials.files, "write_json", full)
        code, _out, err = place.call(capsys, "test", "10-web", "--type", "Reboot", "--phase", "prepare")
        assert (code, "No space left on device" in err, place.state.exists()) == (cli.NO, True, False)
    assert place.call(capsys, "test", "10-web", "--type", "Reboot", "--phase", "prepare")[0] == cli.AS_ASKED
    monkeypatch.setattr(trials.files, "write_json", full)
    assert place.call(capsys, *RECOVER_BY_HAND)[0] == cli.AS_ASKED
    assert not place.state.exists()


def test_a_trial_is_refused_while_there_is_work_to_do(place: Place, simulator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    event = _schedule(simulator)
    place.start()
    place.answer(capsys, "request", "prepare")
    code, _out, err = place.call(capsys, "test", "10-web", "--type", "Reboot")
    assert (code, err) == (cli.NO, "There is work for %s in progress; only `--phase inspect` is safe now.\n" % event)
    assert place.call(capsys, "test", "10-web", "--type", "Reboot", "--phase", "inspect")[0] == cli.AS_ASKED
