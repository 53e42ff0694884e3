# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What azure_event_handlers asks of a host's command, and what it makes of the answers: with a command that says what it is told to."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import FIRST, HANDLERS, SECOND, Result, run_module
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules.test_results_are_documented import (
    _differences,
    _documented,
    _own,
    _paths,
    _sent,
)
from azure_event_handlers import asking, evidence, published
from azure_event_handlers import records as r
from azure_event_handlers.records import Driver, Post, Record, Step, Who, Work
from azure_event_handlers.store import Hold
from azure_event_handlers.terms import Term

# It writes down how it was called, and plays the answers of its folder one after the other: NAME.1, NAME.2, ...; the last one stays.
# Each is a script that starts no program.
STUB = """#!/bin/sh
cd {place} || exit 1
printf '%s\\037' "$@" >> calls
echo >> calls
[ "$1" != --root ] || shift 2
number=1
while [ -e "$1.$((number + 1))" ] && [ -e "$1.$number.played" ]; do number=$((number + 1)); done
: > "$1.$number.played"
. "./$1.$number"
"""

MINE = {"driver": "playbook", "run_id": "4711"}
NOW = time.time()
# An agent that is there; that the tests take their time makes it no silent one.
THERE = NOW + 3600.0
WRITTEN = NOW - 600.0
LATER = NOW + 7200.0
EVENT = Event(FIRST, "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), LATER, "", 9)
WORK = {
    "inspect": Work(r.ENDED, r.UNCHANGED, 1),
    "prepare": Work(r.ENDED, r.DONE, 0, began=1.0, ended=2.0),
}
FRESH = Record(EVENT, 1, "vm-1", first_seen=LATER - 7300.0, last_seen=LATER - 7300.0, changed_at=LATER - 7300.0)


CONFIGURED = {
    "problem": None,
    "mode": "watch",
    "allow_empty_prepare": False,
    "handlers": [{"name": "10-web", "event_types": ["Reboot"], "limit": 60.0, "required": True}],
}


def _driver(name: str = "playbook", run: str = "4711", seconds: float = 600.0) -> Driver:
    return Driver(name, run, Term(time.time() + seconds))


def _record(state: str, driver: Optional[Driver] = None, **changes: Any) -> Record:
    return replace(FRESH, state=state, driver=driver, attempt=1, steps=(Step("10-web", "/copy", 60.0, True, **WORK),), **changes)


class Host:
    """A host whose command has been told what to say."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.command = place / "azure-event-handlers"
        self.command.write_text(STUB.format(place=shlex.quote(str(place))), encoding="utf-8")
        self.command.chmod(0o755)
        self._told: Dict[str, int] = {}

    def say(self, word: str, out: Any, *, code: int = 0, err: str = "") -> None:
        self._told[word] = number = self._told.get(word, 0) + 1
        text = out if isinstance(out, str) else json.dumps(out)
        script = "printf %%s %s\nprintf %%s %s >&2\nexit %d\n" % (shlex.quote(text), shlex.quote(err), code)
        (self.place / ("%s.%d" % (word, number))).write_text(script, encoding="utf-8")

    def show(self, *records: Record, hold: Optional[Hold] = None, agent: Any = None, **changes: Any) -> None:
        status = published.Status(WRITTEN, "boot-1", "vm-1", hold=hold, records=tuple(records))
        self.say("status", {**published.to_json(status), "agent": agent, "configured": CONFIGURED, **changes})

    def answer(self, verdict: str, record: Optional[Record] = None, message: str = "As it is.") -> None:
        given = asking.Verdict("any", verdict, message, FIRST, record)
        self.say("request", given.as_dict(), code=0 if given.good else 1)

    def run(self, *, check: bool = False, diff: bool = False, **options: Any) -> Result:
        return run_module(HANDLERS, {"command": str(self.command), **options}, check=check, diff=diff)

    def ask(self, request: str, **options: Any) -> Result:
        driving = MINE if request in ("prepare", "commit", "abort", "sending", "approved") else {}
        event = {} if request == "hold" else {"event_id": FIRST}
        return self.run(request=request, **{**driving, **event, **options})

    @property
    def calls(self) -> List[List[str]]:
        path = self.place / "calls"
        return [line.split("\037")[:-1] for line in path.read_text(encoding="utf-8").split("\n")[:-1]] if path.exists() else []

    @property
    def requests(self) -> List[List[str]]:
        return [call for call in self.calls if "request" in call]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


# --- what is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"request": "prepare", "event_id": FIRST, "run_id": 4711, "within": "5m", "budget": 600, "clock_error": "2s", "lease": 90},
            [
                *["prepare", FIRST, "--json", "--driver=playbook", "--run-id=4711", "--timeout=30m"],
                *["--lease=90", "--within=5m", "--budget=600", "--clock-error=2s"],
            ],
        ),
        (
            {"request": "commit", "event_id": FIRST, "run_id": "4711", "driver": "tower", "timeout": "90s"},
            ["commit", FIRST, "--json", "--driver=tower", "--run-id=4711", "--timeout=90s", "--lease=10m"],
        ),
        (
            {"request": "abort", "event_id": " %s " % FIRST, "run_id": "-x --y"},
            ["abort", FIRST, "--json", "--driver=playbook", "--run-id=-x --y", "--timeout=30m"],
        ),
        (
            {"request": "commit", "event_id": FIRST, "run_id": "4711", "inventory_name": "web 5", "scope": "as-1"},
            [
                *("commit", FIRST, "--json", "--driver=playbook", "--run-id=4711", "--timeout=30m"),
                *("--inventory-name=web 5", "--scope=as-1", "--lease=10m"),
            ],
        ),
        (
            {"request": "sending", "event_id": FIRST, "run_id": "4711", "witness": "web_5"},
            ["sending", FIRST, "--json", "--driver=playbook", "--run-id=4711", "--timeout=30m", "--witness=web_5"],
        ),
        (
            {"request": "approved", "event_id": FIRST, "run_id": "4711", "outcome": "already_started"},
            ["approved", FIRST, "--json", "--driver=playbook", "--run-id=4711", "--timeout=30m", "--outcome=already_started"],
        ),
        ({"request": "recover", "event_id": FIRST}, ["recover", FIRST, "--json", "--timeout=30m"]),
        (
            {"request": "hold", "by": "ann", "hold_for": "2h", "reason": "a\nrestore of $HOME; `id`\n"},
            ["hold", "--json", "--by=ann", "--timeout=30m", "--for=2h", "--reason=a restore of $HOME; `id`"],
        ),
        ({"request": "release", "by": "ann"}, ["release", "--json", "--by=ann", "--timeout=30m"]),
        (
            {"request": "release", "event_id": FIRST, "by": "ann", "force": "yes"},
            ["release", FIRST, "--json", "--by=ann", "--timeout=30m", "--force"],
        ),
    ],
    ids=lambda value: value["request"] + ("+" if "force" in value else "") if isinstance(value, dict) else "",
)
def test_a_request_becomes_these_words_and_no_shell_sees_them(host: Host, options: Dict[str, Any], words: List[str]) -> None:
    host.show()
    host.answer("done")
    result = host.run(**options)
    assert not result.failed
    assert host.requests == [["request", *words]]
    assert result["asked"] == [str(host.command), "request", *words]


def test_options_of_other_requests_are_left_out_so_that_they_can_be_defaults(host: Host) -> None:
    host.show()
    host.answer("done")
    host.ask("recover", lease="2h", run_id="4711", within="1m", hold_for="2h", reason="x")
    assert host.requests == [["request", "recover", FIRST, "--json", "--timeout=30m"]]


def test_a_rehearsal_has_its_own_root_in_each_call(host: Host, tmp_path: Path) -> None:
    host.show()
    host.answer("done")
    host.say("evidence", "", code=1, err="There is no record of an event X here; there are: none.\n")
    host.ask("recover", root=str(tmp_path), gather_evidence=True)
    assert [call[:2] for call in host.calls] == [["--root", str(tmp_path)]] * 4


def test_without_a_request_only_the_status_is_read(host: Host) -> None:
    host.show(_record(r.PREPARED, _driver()))
    result = host.run()
    assert host.calls == [["status", "--json"]]
    assert not result.changed
    assert {"ok", "verdict", "message", "asked", "evidence"}.isdisjoint(result.values)
    assert (result["state"], result["handlers"]) == (None, [])
    assert [record["state"] for record in result["status"]["records"]] == ["PREPARED"]


def test_the_state_and_the_handlers_of_one_event_can_be_asked_for(host: Host) -> None:
    host.show(_record(r.CLOSED), replace(_record(r.PREPARED, _driver()), occurrence=2))
    result = host.run(event_id=FIRST.lower())
    assert result["state"] == "PREPARED"
    assert [(one["name"], one["prepare"]) for one in result["handlers"]] == [("10-web", {"outcome": "done", "exit": 0})]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"request": "recover", "event_id": ""}, "event_id: '' is not the id of an event."),
        ({"request": "release", "event_id": " "}, "event_id: ' ' is not the id of an event."),
        ({"request": "recover", "event_id": "--force"}, "event_id: '--force' is not the id of an event."),
        ({"request": "recover", "event_id": "a b"}, "event_id: 'a b' is not the id of an event."),
        ({"request": "hold", "event_id": FIRST}, "event_id: a hold is for all events of this host; leave it out."),
        (
            {"request": "release", "force": True},
            "force: it is for request: release of one event; give its event_id, or leave force out.",
        ),
        (
            {"request": "recover", "event_id": FIRST, "force": True},
            "force: it is for request: release of one event; give its event_id, or leave force out.",
        ),
        ({"gather_evidence": True}, "gather_evidence: whose? Give event_id as well."),
        ({"wait_until": "over"}, "wait_until: of which event? Give event_id as well."),
        (
            {"wait_until": "over", "request": "recover", "event_id": FIRST},
            "wait_until: it waits and asks for nothing; make request a task of its own.",
        ),
        ({"asked_at": 1e300}, "asked_at: 1e+300 is not a time in seconds since 1970, such as now().timestamp()."),
        ({"asked_at": float("nan")}, "asked_at: nan is not a time in seconds since 1970, such as now().timestamp()."),
        ({"request": "sending", "event_id": FIRST, "run_id": "1", "witness": " "}, "witness: ' ' is not a line of text."),
        ({"request": "hold", "by": "a\x07b"}, "by: 'a\\x07b' is not a line of text."),
        ({"request": "abort", "event_id": FIRST, "run_id": ""}, "run_id: '' is not a line of text."),
        (
            {"request": "hold", "hold_for": "soon"},
            "hold_for: 'soon' is not a duration: give seconds, or a number with s, m, h or d such as 15m.",
        ),
        (
            {"request": "recover", "event_id": FIRST, "timeout": "9 minutes"},
            "timeout: '9 minutes' is not a duration: give seconds, or a number with s, m, h or d such as 15m.",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_host_is_asked(host: Host, options: Dict[str, Any], message: str) -> None:
    """An empty variable must not turn "give this event back" into "end the hold"."""
    for check in (False, True):
        result = host.run(check=check, **options)
        assert (result.failed, result.message) == (True, message)
    assert host.calls == []


@pytest.mark.parametrize("request_", ["prepare", "commit", "abort", "sending", "approved"])
def test_a_driver_has_to_say_in_which_run(host: Host, request_: str) -> None:
    result = host.run(request=request_, event_id=FIRST)
    assert result.failed
    assert "run_id" in result.message
    assert host.calls == []


def test_what_became_of_an_approval_is_said_in_one_word(host: Host) -> None:
    missing = host.run(request="approved", event_id=FIRST, run_id="4711")
    assert (missing.failed, "outcome" in missing.message) == (True, True)
    assert host.calls == []


# --- clocks and waiting -----------------------------------------------------------------------------------------------


def test_the_clock_of_the_host_is_compared_before_anything_else(host: Host) -> None:
    """W-34: else the time that the host's command takes would count as its clock's."""
    host.show(PREPARED)
    host.answer(asking.READY, PREPARED)
    before = time.time()
    for result in (host.run(asked_at=before + 3600.0), host.ask("prepare", asked_at=str(before + 3600.0))):
        assert -3600.0 <= result["clock_difference"] <= time.time() - before - 3600.0
    assert "clock_difference" not in host.run().values


@pytest.mark.parametrize("check", [False, True])
def test_a_wait_follows_the_event_and_asks_for_nothing(host: Host, check: bool) -> None:
    host.show(_record(r.CLOSED))
    host.say("wait", asking.Verdict("wait", asking.OVER, "It is over.", FIRST, _record(r.CLOSED)).as_dict())
    result = host.run(wait_until="over", event_id=FIRST, timeout="90s", check=check)
    assert host.calls == [["wait", FIRST, "--json", "--timeout=%s" % ("0" if check else "90s")], ["status", "--json"]]
    assert (result.failed, result.changed, result["over"], result["message"]) == (False, False, True, "It is over.")
    assert (result["state"], [one["name"] for one in result["handlers"]]) == ("CLOSED", ["10-web"])


def test_an_event_that_is_not_over_in_time_is_no_failure(host: Host) -> None:
    host.show(PREPARED)
    verdict = asking.Verdict("wait", asking.PENDING, "Not over within 5 s.", FIRST, PREPARED)
    host.say("wait", verdict.as_dict(), code=3)
    result = host.run(wait_until="over", event_id=FIRST, timeout="5s")
    assert (result.failed, result["over"], result["state"]) == (False, False, "PREPARED")


# --- what comes of it -------------------------------------------------------------------------------------------------

PREPARED = _record(r.PREPARED, _driver())
BACKED_OUT = _record(r.BACKED_OUT)
IN_OTHER_HANDS = _record(r.PREPARED, _driver(run="4712"))


@pytest.mark.parametrize(
    ("request_", "verdict", "before", "after", "changed"),
    [
        ("prepare", asking.READY, [], [PREPARED], True),
        ("prepare", asking.READY, [FRESH], [PREPARED], True),
        ("prepare", asking.READY, [PREPARED], [replace(PREPARED, driver=_driver(seconds=1200))], False),
        ("prepare", asking.READY, [replace(PREPARED, driver=_driver(run="4710", seconds=-5))], [PREPARED], True),
        ("prepare", asking.READY, [_record(r.CLOSED)], [replace(PREPARED, occurrence=2)], True),
        ("prepare", asking.NOT_READY, [FRESH], [BACKED_OUT], True),
        ("prepare", asking.NOT_READY, [BACKED_OUT], [replace(BACKED_OUT, attempt=2)], True),
        ("prepare", asking.PENDING, [FRESH], [_record(r.PREPARING, _driver())], True),
        ("prepare", asking.REFUSED, [], [FRESH], False),
        ("commit", asking.COMMITTED, [PREPARED], [_record(r.COMMITTED, _driver())], True),
        ("commit", asking.COMMITTED, [_record(r.COMMITTED, _driver())], [_record(r.COMMITTED, _driver())], False),
        ("commit", asking.COMMIT_REFUSED, [PREPARED], [replace(PREPARED, commit_refused="10-web says that it is in service")], False),
        ("abort", asking.FILED, [PREPARED], [replace(PREPARED, driver=None)], True),
        ("abort", asking.FILED, [BACKED_OUT], [BACKED_OUT], False),
        ("recover", asking.BACK, [PREPARED], [BACKED_OUT], True),
        ("recover", asking.BACK, [BACKED_OUT], [BACKED_OUT], False),
        ("release", asking.BACK, [_record(r.COMMITTED, _driver())], [BACKED_OUT], True),
    ],
)
def test_changed_is_what_the_request_has_changed(
    host: Host, request_: str, verdict: str, before: List[Record], after: List[Record], changed: bool
) -> None:
    host.show(*before)
    host.show(*after)
    host.answer(verdict, after[0])
    result = host.ask(request_, if_refused="ok")
    assert not result.failed
    assert result.changed == changed
    assert result["ok"] == (verdict in asking.GOOD)
    assert (result["verdict"], result["message"], result["state"]) == (verdict, "As it is.", after[0].state)


WORD = _record(r.COMMITTED, _driver(), given_to=(Who("playbook", "4711"),))
SENT = replace(WORD, post=Post("playbook", "4711", "web_5", NOW))
TOLD = replace(WORD, post=Post("playbook", "4711", "web_5", NOW, "taken", NOW, maybe=True))


@pytest.mark.parametrize(
    ("request_", "before", "after", "changed"),
    [
        ("sending", WORD, SENT, True),
        ("sending", SENT, SENT, False),
        ("sending", SENT, replace(SENT, post=Post("playbook", "4711", "web_6", NOW)), True),
        ("approved", SENT, TOLD, True),
        ("approved", TOLD, TOLD, False),
    ],
)
def test_changed_of_an_approval_is_that_something_new_was_said(
    host: Host, request_: str, before: Record, after: Record, changed: bool
) -> None:
    host.show(before)
    host.show(after)
    host.answer(asking.FILED, after)
    result = host.ask(request_, **({"outcome": "taken"} if request_ == "approved" else {}))
    assert (result.failed, result.changed, result["ok"]) == (False, changed, True)
    post = result["status"]["records"][0]["post"]
    assert (post["witness"], post["outcome"], post["sent_at"]) == (
        after.post and after.post.witness,
        after.post and after.post.outcome,
        format_instant(NOW),
    )
    assert result["status"]["records"][0]["given_to"] == [{"name": "playbook", "run": "4711"}]


ANN = Hold("ann", NOW + 7200.0, "restore")


@pytest.mark.parametrize(
    ("request_", "before", "after", "changed"),
    [
        ("hold", None, ANN, True),
        ("hold", ANN, replace(ANN, until=ANN.until + 10.0), False),
        ("hold", ANN, replace(ANN, until=ANN.until + 3600.0), True),
        ("hold", ANN, replace(ANN, reason="upgrade"), True),
        ("hold", replace(ANN, name="bob"), ANN, True),
        ("hold", replace(ANN, until=NOW - 60.0), ANN, True),
        ("release", ANN, None, True),
        ("release", None, None, False),
        ("release", replace(ANN, until=NOW - 60.0), None, False),
        # Its file cannot be read, and so nobody knows until when.
        ("release", replace(ANN, until=WRITTEN), None, True),
    ],
)
def test_changed_of_a_hold_is_that_it_was_set_moved_or_ended(
    host: Host, request_: str, before: Optional[Hold], after: Optional[Hold], changed: bool
) -> None:
    host.show(hold=before)
    host.show(hold=after)
    host.answer(asking.FILED)
    assert host.run(request=request_, by="ann", reason="restore", hold_for="2h").changed == changed


def test_the_verdict_keeps_its_state_when_the_host_has_moved_on(host: Host) -> None:
    host.show(PREPARED)
    host.show(_record(r.IMPACT, _driver()))
    host.answer(asking.COMMITTED, _record(r.COMMITTED, _driver()))
    result = host.ask("commit")
    assert (result["state"], result["status"]["records"][0]["state"]) == ("COMMITTED", "IMPACT")


@pytest.mark.parametrize("verdict", [asking.NOT_READY, asking.COMMIT_REFUSED, asking.REFUSED, asking.PENDING])
def test_a_no_fails_the_task_unless_it_is_wanted_as_data(host: Host, verdict: str) -> None:
    host.show(FRESH)
    host.answer(verdict, BACKED_OUT, "10-web is not ready: failed.")
    failed = host.ask("prepare")
    assert (failed.failed, failed.message, failed["ok"], failed["verdict"]) == (True, "10-web is not ready: failed.", False, verdict)
    told = host.ask("prepare", if_refused="ok")
    assert (told.failed, told["ok"], told["message"], told["handlers"][0]["name"]) == (
        False,
        False,
        "10-web is not ready: failed.",
        "10-web",
    )


def test_a_refusal_on_the_way_to_the_executor_is_a_no_like_any_other(host: Host) -> None:
    """The command itself turns away what the metadata service does not show."""
    host.show(PREPARED)
    host.say("request", {"ok": False, "verdict": "refused", "message": "The service does not show the event."}, code=1)
    result = host.ask("commit", if_refused="ok")
    assert (result.failed, result["ok"], result["verdict"], result["state"]) == (False, False, "refused", "PREPARED")
    assert not result.changed


def test_a_diff_is_of_the_state_and_of_who_has_it_in_hand(host: Host) -> None:
    host.show(FRESH, hold=None)
    host.show(PREPARED, hold=None)
    host.answer(asking.READY, PREPARED)
    assert host.ask("prepare", diff=True)["diff"] == {
        "before": {"state": "SEEN", "driver": None, "run": None, "post": None, "witness": None, "held_by": None},
        "after": {"state": "PREPARED", "driver": "playbook", "run": "4711", "post": None, "witness": None, "held_by": None},
    }
    assert "diff" not in host.ask("prepare").values


# --- check mode -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "records", "hold", "after"),
    [
        ({"request": "prepare"}, [], None, "PREPARED"),
        ({"request": "prepare"}, [FRESH], None, "PREPARED"),
        ({"request": "prepare"}, [_record(r.CLOSED)], None, "PREPARED"),
        ({"request": "prepare"}, [PREPARED], None, None),
        ({"request": "prepare"}, [IN_OTHER_HANDS], None, None),
        ({"request": "prepare"}, [_record(r.PREPARED, _driver(run="4712", seconds=-5))], None, "PREPARED"),
        ({"request": "prepare"}, [_record(r.STAYING)], None, None),
        ({"request": "prepare"}, [FRESH], ANN, None),
        ({"request": "commit"}, [PREPARED], None, "COMMITTED"),
        ({"request": "commit"}, [PREPARED], ANN, None),
        ({"request": "commit"}, [IN_OTHER_HANDS], None, None),
        ({"request": "commit"}, [FRESH], None, None),
        ({"request": "commit"}, [_record(r.COMMITTED, _driver())], None, None),
        ({"request": "commit"}, [_record(r.COMMITTED, _driver(run="4712", seconds=-5))], None, "COMMITTED"),
        ({"request": "commit"}, [_record(r.COMMITTED, _driver(run="4712"))], None, None),
        ({"request": "sending"}, [replace(WORD, commit_refused="10-web says that it is in service")], None, None),
        ({"request": "sending"}, [replace(WORD, committing=True)], None, None),
        ({"request": "prepare"}, [_record(r.COMMITTED, _driver(run="4712", seconds=-5))], None, "COMMITTED"),
        ({"request": "sending", "witness": "web_5"}, [WORD], None, "COMMITTED"),
        ({"request": "sending", "witness": "web_5"}, [SENT], None, None),
        ({"request": "sending", "witness": "web_6"}, [SENT], None, "COMMITTED"),
        ({"request": "sending", "witness": "web_5"}, [WORD], ANN, None),
        ({"request": "sending"}, [PREPARED], None, None),
        ({"request": "sending"}, [], None, None),
        ({"request": "approved", "outcome": "taken"}, [SENT], None, "COMMITTED"),
        ({"request": "approved", "outcome": "taken"}, [TOLD], None, None),
        ({"request": "approved", "outcome": "taken"}, [WORD], None, None),
        ({"request": "approved", "outcome": "gone"}, [replace(SENT, state=r.RECOVERING)], None, "RECOVERING"),
        ({"request": "abort"}, [WORD], None, "PREPARED"),
        ({"request": "abort"}, [SENT], None, "PREPARED"),
        ({"request": "abort"}, [TOLD], None, None),
        ({"request": "abort"}, [replace(WORD, given_to=(Who("playbook", "4710"), Who("playbook", "4711")))], None, None),
        ({"request": "abort"}, [replace(WORD, driver=_driver(run="4712", seconds=-5))], None, None),
        ({"request": "abort"}, [PREPARED], None, "PREPARED"),
        ({"request": "abort"}, [_record(r.PREPARED)], None, None),
        ({"request": "abort"}, [IN_OTHER_HANDS], None, None),
        ({"request": "abort"}, [BACKED_OUT], None, None),
        ({"request": "recover"}, [IN_OTHER_HANDS], None, "BACKED_OUT"),
        ({"request": "recover"}, [_record(r.STAYING)], None, "BACKED_OUT"),
        ({"request": "recover"}, [_record(r.COMMITTED, _driver())], None, None),
        ({"request": "recover"}, [], None, None),
        ({"request": "release"}, [_record(r.COMMITTED, _driver())], None, None),
        ({"request": "release", "force": True}, [_record(r.COMMITTED, _driver())], None, "BACKED_OUT"),
    ],
)
def test_check_mode_asks_nothing_and_foresees_the_change(
    host: Host, options: Dict[str, Any], records: List[Record], hold: Optional[Hold], after: Optional[str]
) -> None:
    """A request that would be refused changes nothing, and check mode never says that a host is ready."""
    host.show(*records, hold=hold)
    result = host.ask(**options, check=True, diff=True)
    assert host.calls == [["status", "--json"]]
    assert (result.failed, result["ok"], result["verdict"]) == (False, False, "not_asked")
    assert result.changed == (after is not None)
    assert result["asked"][1:4] == ["request", options["request"], FIRST]
    changed = result["diff"]["before"] != result["diff"]["after"]
    assert changed == (after is not None)
    assert result["diff"]["after"]["state"] == (after or (records[0].state if records else None))


@pytest.mark.parametrize(
    ("options", "hold", "changed"),
    [
        ({"request": "hold", "by": "ann", "reason": "restore", "hold_for": "2h"}, None, True),
        ({"request": "hold", "by": "ann", "reason": "restore", "hold_for": "2h"}, ANN, False),
        ({"request": "hold", "by": "ann", "reason": "restore", "hold_for": "4h"}, ANN, True),
        ({"request": "hold", "by": "ann", "reason": "restore"}, ANN, True),
        ({"request": "hold", "reason": "restore", "hold_for": "2h"}, ANN, True),
        ({"request": "release"}, ANN, True),
        ({"request": "release"}, None, False),
    ],
)
def test_check_mode_foresees_a_hold_and_its_end(host: Host, options: Dict[str, Any], hold: Optional[Hold], changed: bool) -> None:
    host.show(hold=None if hold is None else replace(hold, until=time.time() + 7200.0))
    result = host.run(check=True, **options)
    assert (result.failed, result.changed, host.requests) == (False, changed, [])


# --- what keeps the host from answering -------------------------------------------------------------------------------

NO_EXECUTOR = asking._NO_ANSWER % asking.ANSWER_WITHIN


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"out": {"ok": False, "verdict": "no_answer", "message": NO_EXECUTOR}, "code": 4}, NO_EXECUTOR),
        (
            {"out": {"ok": False, "verdict": "error", "message": "/etc/x/config.json, mode: 'a' is none of watch"}, "code": 2},
            "/etc/x/config.json, mode: 'a' is none of watch.",
        ),
        ({"out": {"ok": False, "verdict": "error", "message": "GET URL failed: ..."}, "code": 5}, "GET URL failed: ..."),
        (
            {"out": "", "err": "usage: x\nx: error: unrecognized arguments: --y\n", "code": 2},
            "{command} request failed with exit code 2: x: error: unrecognized arguments: --y.",
        ),
        ({"out": "", "err": "", "code": 70}, "{command} request failed with exit code 70: it said nothing."),
        ({"out": "Done.", "code": 0}, "{command} request {strange}"),
        ({"out": [1], "code": 0}, "{command} request {strange}"),
        ({"out": {"ok": "yes", "verdict": "ready", "message": ""}, "code": 0}, "{command} request {strange}"),
        ({"out": {"verdict": "ready"}, "code": 0}, "{command} request {strange}"),
    ],
)
@pytest.mark.parametrize("if_refused", ["fail", "ok"])
def test_a_host_that_cannot_answer_fails_the_task_whatever_is_done_about_a_no(
    host: Host, answer: Dict[str, Any], message: str, if_refused: str
) -> None:
    strange = "answered what is not known here: let the role event_handlers install the version of this collection, which the module is of."
    host.show()
    host.say("request", **answer)
    result = host.ask("prepare", if_refused=if_refused)
    assert (result.failed, result.message) == (True, message.format(command=host.command, strange=strange))
    assert "ok" not in result.values


@pytest.mark.parametrize(
    ("missing", "why"),
    [("nowhere", "is not there"), ("folder", "cannot be run (Permission denied)"), ("calls/azure-event-handlers", "is not there")],
)
def test_a_command_that_is_missing_is_said_with_what_to_do(host: Host, missing: str, why: str) -> None:
    (host.place / "folder").mkdir()
    (host.place / "calls").touch()
    command = str(host.place / missing)
    result = host.ask("prepare", command=command, if_refused="ok")
    assert (result.failed, result.message) == (
        True,
        "%s %s: install it with the role cloud_maintenance.azure.event_handlers, or say in command where it is." % (command, why),
    )


def test_a_host_without_the_role_fails_with_the_commands_own_words(host: Host) -> None:
    message = "/run/azure-event-handlers/status.json is not there: is the role event_handlers installed on this host?"
    host.say("status", {"ok": False, "verdict": "error", "message": message}, code=4)
    result = host.run()
    assert (result.failed, result.message) == (True, message)


@pytest.mark.parametrize(
    "changes", [{"records": None}, {"hold": 7}, {"records": [{"event": {}}]}, {"agent": "?"}, {"configured": None}, {"configured": {}}]
)
def test_a_status_of_another_version_is_not_guessed_at(host: Host, changes: Mapping[str, Any]) -> None:
    host.show(**changes)
    result = host.run(event_id=FIRST)
    assert result.failed
    assert result.message.startswith("%s status answered what is not known here: " % host.command)


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_evidence_of_an_event_that_nobody_knows_is_nothing(host: Host) -> None:
    host.show()
    host.say("evidence", "", code=1, err="There is no record of an event %s here; there are: none.\n" % FIRST)
    assert host.run(event_id=FIRST, gather_evidence=True)["evidence"] is None


def test_evidence_that_cannot_be_read_is_a_failure(host: Host) -> None:
    host.show()
    host.say("evidence", "", code=1, err="/var/lib/azure-event-handlers/records: permission denied; run this as root, or with sudo.\n")
    result = host.run(event_id=FIRST, gather_evidence=True)
    assert result.failed
    assert result.message == "/var/lib/azure-event-handlers/records: permission denied; run this as root, or with sudo."


# --- results ----------------------------------------------------------------------------------------------------------


def _results(host: Host) -> List[Tuple[str, Result]]:
    """The module in the moods in which it ends, with everything filled in that there can be."""
    whole = replace(
        _record(r.PREPARED, _driver(), commit_refused="10-web says that it is in service", deadline=Term(NOW), started_at=NOW, gone_at=NOW),
        given_to=(Who("playbook", "4711"),),
        post=TOLD.post,
        decision="prepare",
        result="recovered",
    )
    second = replace(FRESH, event=replace(EVENT, event_id=SECOND, not_before=None))
    agent = {"written_at": THERE, "good_since": NOW - 600.0, "mode": "watch"}
    host.show(whole, second, hold=ANN, agent=agent, problems=["The disk is full."], broken=["x.broken-1"])
    host.say("evidence", evidence.of(whole, [], now=NOW))
    host.answer(asking.READY, whole)
    found = [
        ("success", host.run(event_id=FIRST, gather_evidence=True)),
        ("success", host.ask("prepare", gather_evidence=True)),
        ("success", host.ask("prepare", check=True, diff=True, gather_evidence=True)),
        ("success", host.run(asked_at=NOW)),
    ]
    host.say("wait", asking.Verdict("wait", asking.OVER, "It is over.", FIRST, whole).as_dict())
    found.append(("success", host.run(wait_until="over", event_id=FIRST)))
    host.answer(asking.REFUSED, whole)
    return [*found, ("refused", host.ask("prepare", gather_evidence=True)), ("success", host.ask("prepare", if_refused="ok"))]


def test_each_key_in_a_result_is_documented_and_the_other_way_round(host: Host) -> None:
    documented = _documented(HANDLERS)
    seen: Set[str] = set()
    for mood, result in _results(host):
        assert result.failed == (mood != "success"), result.message
        assert list(_differences(documented, _own(result))) == []
        seen.update(_sent(documented, _own(result)))
    assert seen == set(_paths(documented))


def test_times_are_words_and_nothing_else_is_left_as_the_host_has_it(host: Host) -> None:
    status = dict(_results(host)[0][1]["status"])
    assert status["written_at"] == format_instant(WRITTEN)
    assert status["agent_seen_at"] == format_instant(THERE)
    assert (status["agent_good_since"], status["mode"]) == (format_instant(NOW - 600.0), "watch")
    assert (status["problems"], status["broken"]) == (["The disk is full."], ["x.broken-1"])
    assert (status["hold"]["by"], status["hold"]["reason"], status["hold"]["until"][-1]) == ("ann", "restore", "Z")
    record = status["records"][0]
    assert (record["driver"]["name"], record["driver"]["run"], record["driver"]["lease_until"][-1]) == ("playbook", "4711", "Z")
    assert record["open"]
    assert status["records"][1]["driver"] is None
    assert set(asdict(FRESH)) - set(record) == {"steps", "times", "committing", "started_seen", "hit_ready", "noticed"}


@pytest.mark.parametrize(
    ("agent", "configured", "mode", "since"),
    [
        (None, CONFIGURED, "watch", None),
        ({"written_at": THERE, "good_since": 1794995160.0, "mode": "prepare"}, CONFIGURED, "prepare", "2026-11-18T09:46:00Z"),
        ({"written_at": THERE, "good_since": None, "mode": "watch"}, CONFIGURED, "watch", None),
        # It has not said anything for so long that it may have missed everything meanwhile.
        ({"written_at": NOW - 400.0, "good_since": NOW - 900.0, "mode": "watch"}, CONFIGURED, "watch", None),
        (None, {"problem": "x.json is missing", "mode": None, "allow_empty_prepare": None, "handlers": []}, None, None),
    ],
)
def test_who_plans_with_a_host_sees_whether_it_can_be_counted_on(
    host: Host, agent: Any, configured: Mapping[str, Any], mode: Optional[str], since: Optional[str]
) -> None:
    """W-33, W-50: its agent, its mode, and what it would run."""
    host.show(agent=agent, configured=configured)
    status = host.run()["status"]
    assert (status["mode"], status["agent_good_since"]) == (mode, since)
    assert (status["allow_empty_prepare"], status["handlers_configured"]) == (configured["allow_empty_prepare"], configured["handlers"])
    wrong = ["The configuration is wrong, so nothing is begun here. x.json is missing."]
    assert status["problems"] == ([] if configured["problem"] is None else wrong)
