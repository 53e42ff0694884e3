# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line, as a person or a script uses it: a process that serves, and verbs that tell it what to do."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import imds_simulator
import pytest
from imds_simulator import cli

FILES = str(Path(imds_simulator.__file__).parent.parent)
# Compiled once where there is a place for it, and never beside the sources.
COMPILED = os.environ.get("PYTHONPYCACHEPREFIX")
BYTECODE = {"PYTHONPYCACHEPREFIX": COMPILED} if COMPILED else {"PYTHONDONTWRITEBYTECODE": "1"}
ENVIRONMENT = {"PYTHONPATH": FILES, "PATH": os.environ["PATH"], "COLUMNS": "120", **BYTECODE}
COMMAND = [sys.executable, "-m", "imds_simulator"]
ANY_PORTS = ["--data", "127.0.0.1:0", "--control", "127.0.0.1:0"]

Serve = Callable[..., Dict[str, Any]]
Run = Callable[..., Tuple[int, str, str]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a simulator as a process of its own and waits until it answers."""
    processes: List[subprocess.Popen] = []

    def start(*options: str) -> Dict[str, Any]:
        ready = tmp_path / "ready.json"
        process = subprocess.Popen(
            [*COMMAND, "serve", *ANY_PORTS, "--ready-file", str(ready), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        processes.append(process)
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return dict(json.loads(ready.read_text()), process=process)

    yield start
    for process in processes:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture
def run(capsys: Any, monkeypatch: Any) -> Run:
    """A verb of the client, in this process: exit code, output, complaint."""

    def verb(server: Dict[str, Any], *words: str) -> Tuple[int, str, str]:
        monkeypatch.setenv(cli.CONTROL_VARIABLE, server["control"])
        code = cli.main(list(words))
        said = capsys.readouterr()
        return code, said.out.strip(), said.err.strip()

    return verb


def _document(server: Dict[str, Any], vm: str) -> Any:
    url = "%s/vm/%s/metadata/scheduledevents?api-version=2020-07-01" % (server["data"], vm)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, headers={"Metadata": "true"}), timeout=5) as answer:
        return json.load(answer)


def test_a_rehearsal_from_the_command_line(serve: Serve, run: Run) -> None:
    """C-15, C-21: each verb says in words what came of it."""
    server = serve("--clock", "manual")
    assert run(server, "add-scope", "web", "--kind", "availability_set", "--vms", "web_0,web_1") == (
        0,
        "Scope web is there (availability_set): web_0, web_1",
        "",
    )
    assert run(server, "add-vm", "web_2", "--scope", "web")[1] == ("VM web_2 is there, in scope web; its metadata service is at /vm/web_2")
    code, said, _complaint = run(server, "schedule", "Reboot", "web_0,web_1", "--notice", "15m", "--runs-for", "1m", "--event-id", "A")
    assert code == 0
    assert re.fullmatch(r"Event A: Reboot of web_0, web_1 is Scheduled, not before \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said)
    assert _document(server, "web_2")["Events"][0]["EventStatus"] == "Scheduled"
    assert run(server, "change", "A", "--not-before", "20m", "--resources", "web_0")[1].startswith("Event A: Reboot of web_0 is Scheduled")
    assert re.fullmatch(r"It is \S+Z \(clock manual\)", run(server, "advance", "20m")[1])
    assert run(server, "complete", "A")[1] == "Event A: Reboot of web_0 is gone (completed)"
    assert run(server, "relist", "A")[1].startswith("Event A: Reboot of web_0 is Scheduled")
    assert run(server, "start", "A")[1].startswith("Event A: Reboot of web_0 is Started, until 20")
    assert run(server, "fail", "web_1", "--runs-for", "ever", "--event-id", "B")[1] == (
        "Event B: Redeploy of web_1 is Started, until it is completed"
    )
    assert run(server, "schedule", "Freeze", "web_2", "--announce-in", "1h", "--event-id", "C")[1].startswith(
        "Event C: Freeze of web_2 will be announced at "
    )
    assert run(server, "cancel", "C")[1] == "Event C: Freeze of web_2 is gone (cancelled)"
    assert re.fullmatch(
        r"Event D: Rebot of web_0 is Scheduled, not before \S+Z\n"
        r"Azure documents no type Rebot, only Freeze, Reboot, Redeploy, Preempt, Terminate; it is shown all the same",
        run(server, "schedule", "Rebot", "web_0", "--event-id", "D")[1],
    )
    assert run(server, "status")[1].splitlines()[0].endswith("; 3 VMs in 1 scope")


def test_faults_and_the_log_from_the_command_line(serve: Serve, run: Run) -> None:
    server = serve("--clock", "manual")
    run(server, "add-vm", "web_0")
    assert run(server, "fault", "drop_event", "--vm", "web_0", "--times", "2")[1] == (
        "Fault 1: drop_event, any verb of any path on web_0, 2 more times"
    )
    assert run(server, "fault", "status", "--status", "503", "--verb", "POST", "--header", "Retry-After: 3", "--times", "ever")[1] == (
        "Fault 2: status, POST of any path on any VM, until cleared"
    )
    _document(server, "web_0")
    lines = run(server, "log", "--vm", "web_0")[1].splitlines()
    assert re.fullmatch(r"\S+Z  GET  /metadata/scheduledevents      web_0        200  \(drop_event\)", lines[0])
    assert lines[1] == "1 request shown of 1 found; 1 received, the log keeps 10000 and has forgotten 0"
    assert "Fault 1: drop_event, any verb of any path on web_0, 1 more time" in run(server, "status")[1]
    assert run(server, "clear-faults")[1] == "2 faults taken away"
    status = json.loads(run(server, "status", "--json")[1])
    assert (status["faults"], status["vms"]) == ([], 1)


def test_a_scenario_is_played_at_the_start(serve: Serve, tmp_path: Path) -> None:
    """C-19, C-21: scopes, VMs, events, faults, hooks and settings from one file."""
    scenario = {
        "clock": {"kind": "manual"},
        "log_size": 50,
        "settings": {"dates": "iso8601"},
        "scopes": [{"name": "web", "kind": "availability_set", "vms": ["web_0", {"name": "web_1", "zone": "2"}]}],
        "vms": ["lonely", {"name": "other", "azure_name": "app_0"}],
        "events": [
            {"event_type": "Reboot", "resources": ["web_0", "web_1"], "notice": 0},
            {"event_type": "Freeze", "resources": ["lonely"]},
        ],
        "faults": [{"kind": "empty", "vm": "lonely"}],
        "hooks": {"start": [["sh", "-c", "echo $IMDS_SIMULATOR_EVENT_TYPE >%s" % (tmp_path / "hook")]]},
    }
    (tmp_path / "scenario.json").write_text(json.dumps(scenario))
    server = serve("--config", str(tmp_path / "scenario.json"), "--log-size", "60")
    assert _document(server, "web_1")["Events"][0]["EventStatus"] == "Started"
    assert [_document(server, "lonely")["Events"] == [] for _query in range(2)] == [True, False]
    assert _document(server, "lonely")["Events"][0]["NotBefore"].endswith("Z")
    assert (tmp_path / "hook").read_text() == "Reboot\n"
    server["process"].send_signal(signal.SIGINT)
    said, complaint = server["process"].communicate(timeout=60)
    assert (server["process"].returncode, complaint) == (0, "")
    assert said.splitlines() == [
        "imds_simulator: data plane     %s/vm/NAME" % server["data"],
        "imds_simulator: control plane  %s" % server["control"],
        "imds_simulator: 4 VMs in 3 scopes, clock manual; the log keeps 60 requests",
    ]


def test_commands_can_be_hooked_in_and_the_clock_can_be_faster(serve: Serve, run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = serve("--rate", "100", "--realistic", "--on-start", "sh -c 'echo start >>%s'" % log, "--on-end", "sh -c 'echo end >>%s'" % log)
    run(server, "add-vm", "web_0")
    run(server, "schedule", "Reboot", "web_0", "--notice", "1s", "--late", "0", "--runs-for", "5s")
    deadline = time.monotonic() + 60
    while (not log.exists() or len(log.read_text().split()) < 2) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert log.read_text().split() == ["start", "end"]
    assert json.loads(run(server, "status", "--json")[1])["settings"]["rate_limit"] == 5
    server["process"].terminate()
    said, _complaint = server["process"].communicate(timeout=60)
    assert said.splitlines()[-1] == (
        "imds_simulator: 0 VMs in 0 scopes, clock real x 100, realistic: as slow and as strict as the platform may be; the log keeps"
        " 10000 requests"
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("schedule", "Reboot", "nobody"), "imds_simulator: there is no VM 'nobody', and no other either"),
        (("fault", "reset", "--vm", "nobody"), "imds_simulator: there is no VM 'nobody', and no other either"),
        (("cancel", "a/b"), "imds_simulator: there is no event 'a/b'"),
        (("complete", "none"), "imds_simulator: there is no event 'none'"),
        (("add-vm", "x", "--scope", "nowhere"), "imds_simulator: there is no scope 'nowhere', and no other either"),
        (("fault", "status"), "imds_simulator: fault: kind status needs status"),
    ],
)
def test_what_the_simulator_refuses_is_said_in_one_sentence(serve: Serve, run: Run, words: Any, text: str) -> None:
    assert run(serve(), *words) == (1, "", text)


def _serve_in_vain(*options: str) -> Tuple[int, str]:
    done = subprocess.run([*COMMAND, "serve", *options], capture_output=True, text=True, env=ENVIRONMENT, timeout=20, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr.strip()


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        assert _serve_in_vain("--data", "127.0.0.1:%d" % port) == (
            1,
            "imds_simulator: cannot listen on 127.0.0.1 port %d: Address already in use" % port,
        )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "cannot read the scenario FILE: No such file or directory"),
        ("{", "the scenario FILE is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "scenario: an object is needed, not []"),
        (
            '{"nonsense": 1}',
            "scenario: there is no 'nonsense', only data, control, clock, log_size, realistic, settings, scopes, vms, events, faults,"
            " hooks",
        ),
        ('{"scopes": [{"name": "web", "vms": ["a", "a"]}]}', "there is a VM 'a' already"),
        ('{"clock": {"kind": "real", "rate": 0}}', "clock: rate must be a number above 0, not 0"),
        ('{"hooks": {"start": ["reboot"]}}', "hooks: start must be a list of commands, each a list of words, not ['reboot']"),
        ('{"hooks": {"begin": [["reboot"]]}}', "hook: there is no phase 'begin', only start, end, cancel"),
        ('{"data": {"port": 123456}}', "123456 is no port: 0 (any that is free) to 65535"),
        ('{"settings": {"rate_limit": "5"}}', "settings: rate_limit must be a number of at least 0, not '5'"),
    ],
)
def test_a_scenario_in_trouble_is_said_in_one_sentence(tmp_path: Path, content: Any, text: str) -> None:
    file = tmp_path / "scenario.json"
    if content is not None:
        file.write_text(content)
    code, complaint = _serve_in_vain("--config", str(file))
    assert (code, complaint) == (1, "imds_simulator: " + text.replace("FILE", str(file)))


@pytest.mark.parametrize(
    ("content", "code", "said", "complaint"),
    [
        (
            '{"realistic": true, "vms": ["a"], "scopes": [{"name": "w", "vms": ["w_0", "w_1"]}], "hooks": {"start": [["false"]]},'
            ' "events": [{"event_type": "Reboot", "resources": ["a"], "notice": 0}]}',
            0,
            "FILE is in order: 3 VMs in 2 scopes, 1 event",
            "",
        ),
        ('{"hooks": {"start": [[]]}}', 1, "", "imds_simulator: hook: a command is a list of words, not []"),
        ('{"events": [{"event_type": "Reboot", "resources": ["a"]}]}', 1, "", "imds_simulator: there is no VM 'a', and no other either"),
    ],
)
def test_a_scenario_can_be_looked_through(tmp_path: Path, capsys: Any, content: str, code: int, said: str, complaint: str) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(content)
    assert cli.main(["check", str(file)]) == code
    output = capsys.readouterr()
    assert (output.out.strip(), output.err.strip()) == (said.replace("FILE", str(file)), complaint)


def test_a_simulator_that_does_not_answer_is_named(run: Run) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d" % free.getsockname()[1]
    assert run({"control": url}, "status") == (
        3,
        "",
        "imds_simulator: no simulator answers at %s (Connection refused); start one with `serve`, "
        "or name its control plane with --control" % url,
    )
    assert run({"control": "ftp://nowhere"}, "status") == (
        3,
        "",
        "imds_simulator: 'ftp://nowhere' is no address of a control plane, such as http://127.0.0.1:9255",
    )


def test_something_else_is_not_taken_for_the_control_plane(make_sim: Any, run: Run) -> None:
    """C-5: a captive proxy answers here, too."""
    sim = make_sim()
    sim.fault(kind="html")
    assert run({"control": sim.data_url}, "status") == (
        3,
        "",
        "imds_simulator: what answers at %s is not the control plane of a simulator" % sim.data_url,
    )


def test_the_data_plane_is_not_taken_for_the_control_plane(serve: Serve, run: Run) -> None:
    server = serve()
    code, _said, complaint = run({"control": server["data"]}, "status")
    assert (code, "there is no VM at address 127.0.0.1" in complaint) == (1, True)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "the following arguments are required: VERB"),
        (("advance", "soon"), "argument TIME: 'soon' is no duration, such as 90, 90s, 15m, 2h or 7d"),
        (("fault", "earthquake"), "argument KIND: invalid choice: 'earthquake'"),
        (("fault", "reset", "--times", "0"), "argument --times: '0' is neither a number above 0 nor `ever`"),
        (("fault", "reset", "--header", "x"), "argument --header: 'x' is no header field, such as 'Retry-After: 3'"),
        (("serve", "--data", "9254"), "argument --data/--bind: '9254' is no address with a port, such as 127.0.0.1:9254"),
        (("add-scope", "x", "--kind", "heap"), "argument --kind: invalid choice: 'heap'"),
    ],
)
def test_wrong_usage_is_explained(capsys: Any, words: Any, text: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


def test_the_help_names_every_verb_and_every_kind_of_fault(capsys: Any) -> None:
    for words in (["--help"], ["fault", "--help"], ["serve", "--help"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert ended.value.code == 0
    said = capsys.readouterr().out
    for verb in ["serve", "check", *cli.VERBS]:
        assert re.search(r"^    %s\b" % verb, said, re.MULTILINE), verb
    for kind in cli.faults.KINDS:
        assert re.search(r"^  %s +\w" % kind, said, re.MULTILINE), kind
