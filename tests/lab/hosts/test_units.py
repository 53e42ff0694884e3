# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers as transient units of a real systemd, which runs them once, ends them whole and remembers how they ended."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

import pytest
from lab import Host, Lab, LabError
from lab.ansible import folders_of
from lab.client import ROOT
from lab.waiting import until

PROGRAM = ROOT / "roles" / "event_handlers" / "files"
UNITS = "/run/azure-event-handlers/units"
# What the executor does with its launcher; each call is an executor that knows nothing of those before it.
EXECUTOR = """
import json, sys, time
sys.path.insert(0, %r)
from azure_event_handlers.errors import HandlersError
from azure_event_handlers.launcher import Job
from azure_event_handlers.systemd import Systemd
launcher, act, told = Systemd(%r), sys.argv[1], json.loads(sys.argv[2])
at = time.monotonic()
try:
    if act == "units":
        print(json.dumps({name: [unit.running, unit.exit, unit.tail] for name, unit in launcher.units().items()}))
    elif act == "begin":
        job = Job(told["command"], told["environment"], told["stdin"].encode(), told["limit"], told["properties"])
        launcher.begin(told["name"], job)
        print(json.dumps([at, time.monotonic()]))
    else:
        getattr(launcher, act)(told["name"])
except HandlersError as problem:
    sys.exit(problem.message)
""" % (str(PROGRAM), UNITS)
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def lab(targets: Mapping[str, str]) -> Iterator[Lab]:
    with Lab(hosts=2, binds=[*folders_of([targets["3.8"]]), PROGRAM]) as opened:
        yield opened


@pytest.fixture
def host(lab: Lab) -> Host:
    return lab.hosts["frontend1"]


@pytest.fixture
def unit(host: Host, targets: Mapping[str, str]) -> Iterator[Unit]:
    yield from _fresh(host, targets)


@pytest.fixture
def elsewhere(lab: Lab, targets: Mapping[str, str]) -> Iterator[Unit]:
    """On a host that the test may reboot or freeze."""
    yield from _fresh(lab.hosts["worker1"], targets)


def _fresh(host: Host, targets: Mapping[str, str]) -> Iterator[Unit]:
    made = Unit(host, targets["3.8"], "azure-event-handler-0123456789abcdef-1-0-prepare-%d-0" % next(_NUMBERS))
    host.run("rm", "-f", "/run/runs", "/run/at-work")
    yield made
    made.ask("discard")
    assert made.host.shell("ls -A %s" % UNITS) == ""


class Unit:
    """One unit of a host, and the executor that has it."""

    def __init__(self, host: Host, python: str, name: str) -> None:
        self.host = host
        self.name = name
        self._python = python

    def words(self, act: str, **more: Any) -> List[str]:
        return [self._python, "-B", "-c", EXECUTOR, act, json.dumps({"name": self.name, **more})]

    def ask(self, act: str, **more: Any) -> Any:
        said = self.host.run(*self.words(act, **more), timeout=60)
        return json.loads(said) if said else None

    def job(
        self,
        script: str,
        *,
        command: Optional[Sequence[str]] = None,
        limit: float = 30.0,
        stdin: str = "{}",
        properties: Sequence[str] = (),
        environment: Optional[Mapping[str, str]] = None,
    ) -> Dict[str, Any]:
        return {
            "command": command or ["/bin/sh", "-c", script],
            "environment": {"PATH": "/usr/bin:/bin", **(environment or {})},
            "stdin": stdin,
            "limit": limit,
            "properties": list(properties),
        }

    def begin(self, script: str = "", **options: Any) -> List[float]:
        """When it was asked for, and when that was done."""
        times: List[float] = self.ask("begin", **self.job(script, **options))
        return times

    def seen(self) -> Optional[List[Any]]:
        """Runs, exit code, tail."""
        found: Optional[List[Any]] = self.ask("units").get(self.name)
        return found

    def ended(self, *, timeout: float = 20.0) -> List[Any]:
        """Exit code, tail."""
        until(self.has_ended, timeout=timeout)
        seen = self.seen()
        assert seen is not None
        return seen[1:]

    def has_ended(self) -> bool:
        seen = self.seen()
        return seen is not None and not seen[0]

    def begun(self, script: str, **options: Any) -> None:
        """A handler that is at work, and has come so far."""
        self.begin("touch /run/at-work; %s" % script, **options)
        until(lambda: self.host.shell("rm /run/at-work 2>/dev/null && echo yes; true") == "yes\n")

    def systemctl(self, verb: str) -> None:
        """By an operator."""
        self.host.run("systemctl", verb, self.name + ".service")

    def processes(self, words: str) -> List[str]:
        return self.host.shell("pgrep -f -x '%s'; true" % words).split()


def counting(script: str) -> str:
    return "echo run >> /run/runs; " + script


def runs(host: Host) -> int:
    return host.shell("cat /run/runs; rm /run/runs").count("run\n")


# --- how it ends ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 75, 77, 255])
def test_a_unit_tells_how_its_handler_ended(unit: Unit, code: int) -> None:
    unit.begin("cat; echo said; echo aside >&2; exit %d" % code, stdin='{"event": "ü"}\n')
    assert unit.ended() == [code, '{"event": "ü"}\nsaid\naside\n']
    assert unit.host.shell("systemctl is-failed --quiet %s && echo yes; true" % unit.name) == ("" if code in (0, 75, 77) else "yes\n")


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        ("rm -f /root/handler", 127, "No such file or directory"),
        ("printf '#!/nowhere/python\\n' > /root/handler; chmod 755 /root/handler", 127, "No such file or directory"),
        ("echo > /root/handler; chmod 644 /root/handler", 126, "Permission denied"),
    ],
    ids=["not there", "of a language that is not there", "not executable"],
)
def test_a_handler_that_cannot_be_run_says_why(unit: Unit, make: str, code: int, words: str) -> None:
    unit.host.shell(make)
    unit.begin(command=["/root/handler", "prepare"])
    ended, tail = unit.ended()
    assert (ended, "/root/handler" in tail, words in tail) == (code, True, True), tail


def test_a_unit_that_hangs_ends_at_three_times_its_limit(unit: Unit) -> None:
    """And with all that it has started."""
    begun = time.monotonic()
    unit.begin("setsid sleep 4711 & echo waiting; sleep 4711", limit=0.7)
    assert unit.ended() == [None, "waiting\nsystemd: timeout\n"]
    assert 2.1 < time.monotonic() - begun < 60
    assert unit.processes("sleep 4711") == []


def test_what_a_handler_says_when_its_time_is_over_does_not_count(unit: Unit) -> None:
    unit.begin("trap 'exit 0' TERM; sleep 4712 & wait", limit=0.3)
    assert unit.ended() == [None, "systemd: timeout\n"]


def test_a_handler_that_does_not_want_to_end_is_ended(unit: Unit) -> None:
    unit.begun("trap '' TERM; while :; do sleep 1; done")
    begun = time.monotonic()
    unit.ask("stop")
    assert 4 < time.monotonic() - begun < 60
    assert unit.ended()[0] is None


def test_a_handler_that_was_killed_has_no_exit_code(unit: Unit) -> None:
    unit.begun("kill -9 $$")
    assert unit.ended()[0] is None


def test_a_signal_that_systemd_takes_for_a_clean_end_is_none(unit: Unit) -> None:
    unit.begun("kill -TERM $$")
    assert unit.ended()[0] is None


def test_what_a_handler_leaves_in_the_background_ends_when_it_is_discarded(unit: Unit) -> None:
    unit.begin("setsid sleep 4713 & exit 0")
    assert unit.ended()[0] == 0
    assert len(unit.processes("sleep 4713")) == 1
    unit.ask("discard")
    assert unit.processes("sleep 4713") == []
    assert unit.seen() is None


def test_a_flood_is_bounded_and_so_is_its_tail(unit: Unit) -> None:
    unit.begin("seq 400000; exit 3")
    code, tail = unit.ended()
    lines = [int(line) for line in tail.splitlines()]
    assert (code, len(lines)) == (3, 20)
    assert lines == list(range(lines[0], lines[0] + 20))
    kept = int(unit.host.shell("journalctl -q -o cat _SYSTEMD_UNIT=%s.service | wc -l" % unit.name))
    assert 500 < kept < 10000


# --- once ----------------------------------------------------------------------------------------------------------------


def test_a_handler_is_begun_once_however_often_it_is_asked_for(unit: Unit) -> None:
    """Also by several at the same time, each of whom believes to be the only one."""
    job = unit.job(counting("sleep 0.5; exit 77"))
    words = unit.words("begin", **job)
    together = "import subprocess, sys, json; words = json.loads(sys.argv[1])\n"
    together += "sys.exit(max([one.wait() for one in [subprocess.Popen(words) for _turn in range(4)]]))"
    unit.host.run(words[0], "-c", together, json.dumps(words))
    assert unit.ended()[0] == 77
    unit.begin(job["command"][2])
    assert unit.ended()[0] == 77
    assert runs(unit.host) == 1


@pytest.mark.parametrize("verb", ["stop", "kill", "restart"])
def test_what_an_operator_ends_is_not_begun_again(unit: Unit, verb: str) -> None:
    unit.begun(counting("sleep 4714"))
    unit.host.shell("systemctl %s %s; true" % (verb, unit.name))
    assert unit.ended()[0] is None
    unit.begin(counting("exit 0"))
    assert unit.ended()[0] is None
    assert runs(unit.host) == 1
    assert unit.processes("sleep 4714") == []


def test_an_answer_is_not_lost_when_an_operator_stops_what_has_ended(unit: Unit) -> None:
    """Else a handler that has changed nothing would be recovered."""
    unit.begin(counting("echo said; exit 77"))
    unit.ended()
    unit.systemctl("stop")
    assert unit.host.run("systemctl", "show", "--value", "--property=LoadState", unit.name) == "not-found\n"
    assert unit.ended() == [77, "said\n"]
    unit.begin(counting("exit 0"))
    assert unit.ended()[0] == 77
    assert runs(unit.host) == 1


def test_a_failure_that_an_operator_resets_is_not_begun_again(unit: Unit) -> None:
    unit.begin(counting("exit 1"))
    unit.ended()
    unit.host.run("systemctl", "reset-failed")
    assert unit.ended()[0] is None
    unit.begin(counting("exit 0"))
    assert unit.ended()[0] is None
    assert runs(unit.host) == 1


def test_one_that_was_discarded_may_begin_again_under_its_name(unit: Unit) -> None:
    unit.begin(counting("exit 1"))
    assert unit.ended()[0] == 1
    unit.ask("discard")
    unit.begin(counting("exit 0"))
    assert unit.ended()[0] == 0
    assert runs(unit.host) == 2


def test_a_systemd_that_is_reloaded_or_begins_anew_keeps_its_handlers(unit: Unit) -> None:
    unit.begun("while ! test -e /run/go-on; do sleep 0.1; done; exit 77", environment={"A": "$HOME"})
    unit.host.run("systemctl", "daemon-reload")
    unit.host.run("systemctl", "daemon-reexec")
    assert unit.seen() == [True, None, ""]
    unit.host.shell("touch /run/go-on")
    assert unit.ended()[0] == 77
    unit.host.shell("rm /run/go-on; systemctl daemon-reload")
    unit.systemctl("stop")
    assert unit.ended()[0] == 77


def test_without_its_mark_a_handler_does_not_begin(unit: Unit) -> None:
    unit.host.shell("mkdir -p %s; touch %s/%s.begun" % (UNITS, UNITS, unit.name))
    unit.begin(counting("exit 0"))
    code, tail = unit.ended()
    unit.host.shell("rm %s/%s.begun; touch /run/runs" % (UNITS, unit.name))
    assert (code, runs(unit.host)) == (None, 0)
    assert "mkdir" in tail


def test_a_reboot_forgets_a_handler_and_the_executor_ends_before_it(elsewhere: Unit) -> None:
    """So it has no chance to take a handler that ended with the machine for one that failed."""
    host = elsewhere.host
    say = "trap 'sleep 0.2; cut -d\" \" -f1 /proc/uptime > /var/tmp/%s; exit 1' TERM; touch /run/%s; while :; do sleep 0.05; done"
    host.run("systemd-run", "--quiet", "--unit=azure-event-executor", "sh", "-c", say % ("executor", "executor"))
    elsewhere.begun(say % ("handler", "handler"))
    until(lambda: "executor" in host.shell("ls /run"))
    boot = host.boot_id
    host.ssh("sudo systemctl reboot")
    until(lambda: host.state()["boots"] == 2, timeout=30)
    host.wait_until_it_serves()
    assert host.boot_id != boot
    executor, handler = (float(host.run("cat", "/var/tmp/" + name)) for name in ("executor", "handler"))
    assert executor <= handler
    assert elsewhere.seen() is None
    elsewhere.begin("exit 0")
    assert elsewhere.ended()[0] == 0


# --- what it gets, and what it may ---------------------------------------------------------------------------------------


def test_a_handler_has_the_environment_that_it_is_given_and_what_systemd_adds(unit: Unit) -> None:
    """In every character, and nobody but root can look at it."""
    told = {"A": "a \"b\" $HOME ${HOME} %n 'c' `d` \\e \\\\ \\$ # ; ü ", "TOKEN": "secret-4715", "EMPTY": ""}
    unit.begin(command=["/usr/bin/python3", "-c", "import json, os; print(json.dumps(dict(os.environ)))"], environment=told)
    seen = json.loads(unit.ended()[1])
    added = {"INVOCATION_ID", "JOURNAL_STREAM", "LANG", "SYSTEMD_EXEC_PID"}
    assert {name: value for name, value in seen.items() if name not in added and name != "LC_CTYPE"} == {**told, "PATH": "/usr/bin:/bin"}
    anybody = "setpriv --reuid=nobody --clear-groups sh -c 'systemctl show %s; cat /run/systemd/transient/* %s/*; true' 2>&1" % (
        unit.name,
        UNITS,
    )
    said = unit.host.shell(anybody)
    assert unit.name in said
    assert "secret-4715" not in said


@pytest.mark.parametrize(
    ("properties", "script", "expected"),
    [
        (["ProtectSystem=strict"], "touch /run/x 2>/dev/null || echo read-only", "read-only\n"),
        (["User=nobody"], "id -un; cat", "nobody\n{}"),
        (["DynamicUser=yes", "PrivateTmp=yes"], "cat; ls /tmp", "{}"),
        (["InaccessiblePaths=/run/azure-event-handlers"], "test -e %s || echo none" % UNITS, "none\n"),
        (["CapabilityBoundingSet=", "NoNewPrivileges=yes", "SystemCallFilter=~mkdir mkdirat"], "echo confined", "confined\n"),
    ],
    ids=["read-only system", "another user", "nobody's user", "without our folder", "without privileges"],
)
def test_a_confined_handler_is_marked_and_fed_all_the_same(unit: Unit, properties: List[str], script: str, expected: str) -> None:
    unit.begin("cd /; %s; exit 77" % script, properties=properties)
    assert unit.ended()[0] == 77
    assert unit.ended()[1].replace("\n", "") == expected.replace("\n", "")
    assert "%s.begun" % unit.name in unit.host.shell("ls %s" % UNITS)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("Nonsense=yes", "Unknown assignment: Nonsense=yes"),
        ("MemoryMax=much", "much"),
        ("ExecStartPre=/bin/true", "the property ExecStartPre is not for handlers"),
    ],
)
def test_what_systemd_does_not_take_has_failed_and_says_why(unit: Unit, entry: str, why: str) -> None:
    unit.begin(counting("exit 0"), properties=[entry])
    code, tail = unit.ended()
    assert (code, why in tail) == (None, True), tail
    unit.host.shell("touch /run/runs")
    assert runs(unit.host) == 0


# --- where it is hard ----------------------------------------------------------------------------------------------------


def test_no_message_bus_and_no_network_are_needed(unit: Unit) -> None:
    """As the executor has none."""
    alone = ["unshare", "--net", "--"]
    unit.host.run("systemctl", "stop", "dbus.socket", "dbus.service")
    try:
        unit.host.run(*alone, *unit.words("begin", **unit.job("echo said; exit 77")))
        until(unit.has_ended)
        assert json.loads(unit.host.run(*alone, *unit.words("units"))) == {unit.name: [False, 77, "said\n"]}
        unit.host.run(*alone, *unit.words("discard"))
    finally:
        unit.host.run("systemctl", "start", "dbus.socket")
    assert unit.seen() is None


def test_without_a_journal_there_is_no_tail_and_everything_else(unit: Unit) -> None:
    sockets = "systemd-journald.service systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket"
    unit.host.shell("systemctl stop %s 2>/dev/null; true" % sockets)
    try:
        unit.begin("echo said; exit 3")
        assert unit.ended() == [3, ""]
        unit.ask("discard")
    finally:
        unit.host.shell("systemctl start %s 2>/dev/null; true" % sockets)


def test_on_a_full_disk_handlers_run(unit: Unit) -> None:
    """W-48: as recovering has to."""
    with unit.host.full_disk():
        unit.begin("exit 77")
        assert unit.ended()[0] == 77
        unit.ask("discard")


def test_a_freeze_longer_than_the_limit_ends_no_handler(elsewhere: Unit) -> None:
    """W-20: 12 s of freeze on a limit of 8 s: the unit's own is 24 s."""
    elsewhere.begun("sleep 3; exit 77", limit=8.0)
    elsewhere.host.act("freeze")
    try:
        time.sleep(12)
    finally:
        elsewhere.host.act("thaw")
    assert elsewhere.ended()[0] == 77


def test_what_cannot_be_stopped_is_said(unit: Unit) -> None:
    """An operator has forbidden it."""
    unit.begun("sleep 4716")
    folder = "/run/systemd/system/%s.service.d" % unit.name
    unit.host.run("mkdir", "-p", folder)
    unit.host.shell("printf '[Unit]\\nRefuseManualStop=yes\\n' > %s/no.conf; systemctl daemon-reload" % folder)
    try:
        with pytest.raises(LabError, match="Cannot stop the unit %s: .* See: systemctl status" % unit.name):
            unit.ask("stop")
        assert unit.seen() == [True, None, ""]
    finally:
        unit.host.shell("rm -r %s; systemctl daemon-reload" % folder)
