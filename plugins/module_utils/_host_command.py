# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command `azure-event-handlers` of a host: what is asked of it, what it answers, and what has changed by that.

Private to the collection. A no is an answer; only what keeps the host from answering is an error. Starts no program itself.
"""

from __future__ import annotations

import errno
import json
import unicodedata
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ._arguments import duration_of
from ._clock import Clock
from ._document import Event, event_result, same_name
from ._errors import ConfigurationError, HostError
from ._time import format_instant, quoted

PREPARE, COMMIT, ABORT = "prepare", "commit", "abort"
SENDING, APPROVED = "sending", "approved"
RECOVER, HOLD, RELEASE = "recover", "hold", "release"
REQUESTS = (PREPARE, COMMIT, ABORT, SENDING, APPROVED, RECOVER, HOLD, RELEASE)
# What became of an approval, in the host's words.
OUTCOMES = ("taken", "refused", "unclear", "already_started", "gone")
NOT_ASKED, REFUSED = "not_asked", "refused"
_NOT_ASKED = {"ok": False, "verdict": NOT_ASKED, "message": "Nothing was asked: check mode."}
# In these the host has not answered; every other word is its own.
_NO_WORD = ("error", "no_answer")

# Which options belong to which request, and how the command calls them.
_DRIVING = {"driver": "--driver", "run_id": "--run-id", "timeout": "--timeout"}
_NAMING = {"inventory_name": "--inventory-name", "scope": "--scope"}
_WISHING = {"by": "--by", "timeout": "--timeout"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    PREPARE: {**_DRIVING, **_NAMING, "lease": "--lease", "within": "--within", "budget": "--budget", "clock_error": "--clock-error"},
    COMMIT: {**_DRIVING, **_NAMING, "lease": "--lease"},
    ABORT: _DRIVING,
    SENDING: {**_DRIVING, "witness": "--witness"},
    APPROVED: {**_DRIVING, "witness": "--witness", "outcome": "--outcome"},
    RECOVER: _WISHING,
    HOLD: {**_WISHING, "hold_for": "--for", "reason": "--reason"},
    RELEASE: _WISHING,
}
_DURATIONS = ("timeout", "lease", "within", "budget", "clock_error", "hold_for")

# Where a request leads if nothing is in its way; the host's states of a record.
_LEADS_TO = {PREPARE: "PREPARED", COMMIT: "COMMITTED", ABORT: "PREPARED", RECOVER: "BACKED_OUT", RELEASE: "BACKED_OUT"}
_OVER = ("CLOSED", "FOREIGN")
_UNTOUCHED = ("SEEN", "BACKED_OUT")
_ON_ITS_WAY = ("PREPARING", "PREPARED")
# 9999-12-31T23:59:59Z.
_LATEST = 253402300799.0
# An agent that has not said anything for so long, and one that had no answer for so long, has missed what happened meanwhile.
_TRUSTED_GAP = 300.0
# A hold is counted from now. One that a repeated task moves by less than this is the same hold.
_SAME_HOLD = 60.0

_PHASES = ("inspect", "prepare", "check", "recover")

_STRANGE = (
    "%s %s answered what is not known here: let the role event_handlers install the version of this collection, which the module is of."
)

# What starts a program: its words; the exit code, standard output and standard error. OSError where there is no such program.
Run = Callable[[Sequence[str]], Tuple[int, str, str]]


@dataclass(frozen=True)
class Wish:
    """One request, as it was given. words: the end of the command line."""

    what: str
    words: Tuple[str, ...]
    event_id: Optional[str] = None
    driver: Optional[str] = None
    run_id: Optional[str] = None
    force: bool = False
    by: Optional[str] = None
    reason: str = ""
    hold_for: Optional[float] = None
    witness: Optional[str] = None
    outcome: Optional[str] = None


def wish_of(options: Mapping[str, Any]) -> Optional[Wish]:
    """None: only the status is wanted. ConfigurationError for what cannot be meant."""
    event_id = _event_id(options["event_id"])
    if options["gather_evidence"] and event_id is None:
        raise ConfigurationError("gather_evidence: whose? Give event_id as well.")
    if options["wait_until"] is not None and event_id is None:
        raise ConfigurationError("wait_until: of which event? Give event_id as well.")
    what = options["request"]
    if what is None:
        return None
    if options["wait_until"] is not None:
        raise ConfigurationError("wait_until: it waits and asks for nothing; make request a task of its own.")
    if what == HOLD and event_id is not None:
        raise ConfigurationError("event_id: a hold is for all events of this host; leave it out.")
    if options["force"] and (what != RELEASE or event_id is None):
        raise ConfigurationError("force: it is for request: release of one event; give its event_id, or leave force out.")
    given = {option: _said(option, options) for option in _OPTIONS[what]}
    words = ["request", what, *([] if event_id is None else [event_id]), "--json"]
    words += ["%s=%s" % (_OPTIONS[what][option], value) for option, value in given.items() if value is not None]
    words += ["--force"] if options["force"] else []
    return Wish(
        what,
        tuple(words),
        event_id=event_id,
        driver=given.get("driver"),
        run_id=given.get("run_id"),
        force=options["force"],
        by=given.get("by"),
        reason=given.get("reason") or "",
        hold_for=duration_of(options, "hold_for") if what == HOLD and options["hold_for"] is not None else None,
        witness=given.get("witness"),
        outcome=given.get("outcome"),
    )


def wait_of(options: Mapping[str, Any], *, once: bool) -> Optional[Tuple[str, ...]]:
    """The words of a wait; None: none is wanted. once: one look is enough."""
    if options["wait_until"] is None:
        return None
    timeout = _said("timeout", options)
    return ("wait", str(_event_id(options["event_id"])), "--json", "--timeout=%s" % ("0" if once else timeout))


def difference_of(options: Mapping[str, Any], clock: Clock) -> Dict[str, float]:
    """How far this host's clock is ahead of that of whoever has said what time it is."""
    asked_at = options["asked_at"]
    if asked_at is None:
        return {}
    if not abs(asked_at) <= _LATEST:
        raise ConfigurationError("asked_at: %s is not a time in seconds since 1970, such as now().timestamp()." % quoted(asked_at))
    return {"clock_difference": clock.wall() - asked_at}


def _event_id(value: Optional[str]) -> Optional[str]:
    if value is None:
        return None
    event_id = value.strip()
    # A dash at the beginning would make an option of it.
    if not event_id or event_id.startswith("-") or any(letter.isspace() or _is_control(letter) for letter in event_id):
        raise ConfigurationError("event_id: %s is not the id of an event." % quoted(value))
    return event_id


def _said(option: str, options: Mapping[str, Any]) -> Optional[str]:
    value = options[option]
    if value is None:
        return None
    text = " ".join(value.split())
    if option in _DURATIONS:
        duration_of(options, option)
        return text
    if (not text and option != "reason") or any(_is_control(letter) for letter in text):
        raise ConfigurationError("%s: %s is not a line of text." % (option, quoted(value)))
    return text


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) == "Cc"


# --- asking --------------------------------------------------------------------------------------------------------------


class HostCommand:
    """The command on this host. root: a folder that stands for one, in a rehearsal."""

    def __init__(self, command: str, root: Optional[str], run: Run) -> None:
        self._words = [command, *([] if root is None else ["--root", root])]
        self._run = run

    def line(self, wish: Wish) -> List[str]:
        """What would be run, or is."""
        return [*self._words, *wish.words]

    def status(self) -> Dict[str, Any]:
        return self._answer(["status", "--json"])

    def ask(self, words: Sequence[str]) -> Dict[str, Any]:
        """The host's own word. HostError where there is none."""
        answer = self._answer(words)
        if not isinstance(answer.get("ok"), bool) or not all(isinstance(answer.get(key), str) for key in ("verdict", "message")):
            raise HostError(self._strange(words[0]))
        return answer

    def evidence(self, event_id: str) -> Optional[Dict[str, Any]]:
        """None where nothing is known of the event."""
        code, output, errors = self._ran(["evidence", event_id])
        if code == 0:
            return self._parsed(output, "evidence")
        if errors.startswith("There is no record"):
            return None
        raise HostError(_sentence(errors) or self._strange("evidence"))

    def _answer(self, words: Sequence[str]) -> Dict[str, Any]:
        code, output, errors = self._ran(words)
        if not output.strip() and code:
            lines = errors.strip().splitlines() or ["it said nothing"]
            raise HostError("%s %s failed with exit code %d: %s" % (self._words[0], words[0], code, _sentence(lines[-1])))
        answer = self._parsed(output, words[0])
        if answer.get("verdict") in _NO_WORD:
            raise HostError(_sentence(str(answer.get("message"))))
        return answer

    def _ran(self, words: Sequence[str]) -> Tuple[int, str, str]:
        command = self._words[0]
        try:
            return self._run([*self._words, *words])
        except OSError as error:
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            why = "is not there" if missing else "cannot be run (%s)" % error.strerror
            raise HostError(
                "%s %s: install it with the role cloud_maintenance.azure.event_handlers, or say in command where it is." % (command, why)
            ) from error

    def _parsed(self, output: str, word: str) -> Dict[str, Any]:
        try:
            answer = json.loads(output)
        except ValueError as error:
            raise HostError(self._strange(word)) from error
        if not isinstance(answer, dict):
            raise HostError(self._strange(word))
        return answer

    def _strange(self, word: str) -> str:
        return _STRANGE % (self._words[0], word)


def _sentence(text: str) -> str:
    """An end for what has none."""
    words = " ".join(text.split())
    return words if not words or words[-1] in ".?!" else words + "."


# --- what came of it -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """A host at one moment: the record of the event that was asked about, and the hold that is in force."""

    record: Optional[Mapping[str, Any]]
    hold: Optional[Mapping[str, Any]]
    now: float

    @property
    def mark(self) -> Tuple[Any, ...]:
        """Another one when the record has gone from one state to another, or into other hands."""
        if self.record is None:
            return ()
        driver, post = self.record["driver"] or {}, self.record.get("post") or {}
        said = post.get("driver"), post.get("run"), post.get("witness"), post.get("outcome")
        return (self.record["occurrence"], self.record["state"], self.record["attempt"], driver.get("name"), driver.get("run"), *said)

    def shown(self) -> Dict[str, Any]:
        """For a diff."""
        record = self.record or {}
        driver, post = record.get("driver") or {}, record.get("post")
        return {
            "state": record.get("state"),
            "driver": driver.get("name"),
            "run": driver.get("run"),
            "post": None if post is None else post["outcome"] or SENDING,
            "witness": None if post is None else post["witness"],
            "held_by": (self.hold or {}).get("name"),
        }


def standing_of(status: Mapping[str, Any], event_id: Optional[str], *, now: float) -> Standing:
    record = None
    if event_id is not None:
        same = [one for one in status["records"] if same_name(one["event"]["event_id"], event_id)]
        record = max(same, key=lambda one: int(one["occurrence"]), default=None)
    return Standing(record, status["hold"] if _is_in_force(status, now) else None, now)


def _is_in_force(status: Mapping[str, Any], now: float) -> bool:
    """One that is over stays in the status until there is something to write; one that was over when it was written cannot be read."""
    hold = status["hold"]
    return hold is not None and bool(hold["until"] > now or hold["until"] <= status["written_at"])


def has_changed(wish: Wish, verdict: str, before: Standing, after: Standing) -> bool:
    if verdict == REFUSED:
        return False
    if wish.what == HOLD or (wish.what == RELEASE and wish.event_id is None):
        return not _is_same_hold(before.hold, after.hold)
    return before.mark != after.mark


def _is_same_hold(one: Optional[Mapping[str, Any]], other: Optional[Mapping[str, Any]]) -> bool:
    if one is None or other is None:
        return one is other
    same = (one["name"], one["reason"]) == (other["name"], other["reason"])
    return bool(same and abs(one["until"] - other["until"]) < _SAME_HOLD)


def foreseen(wish: Wish, before: Standing) -> Standing:
    """How it would be afterwards, if the handlers do what they should. What would surely be refused changes nothing."""
    if wish.what == HOLD:
        return Standing(before.record, _hold_foreseen(wish, before), before.now)
    if wish.what == RELEASE and wish.event_id is None:
        return Standing(before.record, None, before.now)
    if wish.what in (SENDING, APPROVED):
        return Standing(_posted(wish, before), before.hold, before.now)
    if not _would_move(wish, before):
        return before
    leaves = wish.what in (ABORT, RECOVER, RELEASE)
    record = {
        "occurrence": 1,
        "attempt": 0,
        **(before.record or {}),
        "state": _leads_to(wish, before),
        "driver": None if leaves else {"name": wish.driver, "run": wish.run_id},
    }
    return Standing(record, before.hold, before.now)


def _leads_to(wish: Wish, before: Standing) -> str:
    """A word that was given stays given, whoever takes the host over."""
    kept = wish.what == PREPARE and before.record is not None and before.record["state"] == "COMMITTED"
    return "COMMITTED" if kept else _LEADS_TO[wish.what]


def _posted(wish: Wish, before: Standing) -> Optional[Mapping[str, Any]]:
    """The record as it would be, with what is said of the approval."""
    record = before.record
    if record is None:
        return None
    mine = {"driver": wish.driver, "run": wish.run_id, "witness": wish.witness or "", "outcome": wish.outcome}
    post = record["post"]
    if wish.what == SENDING:
        may = _has_word(wish, record) and _is_mine(wish, before) and before.hold is None
        return {**record, "post": mine} if may else record
    if post is None or (post["driver"], post["run"]) != (wish.driver, wish.run_id):
        return record
    return {**record, "post": {**post, "outcome": wish.outcome, "witness": wish.witness or post["witness"]}}


def _has_word(wish: Wish, record: Mapping[str, Any]) -> bool:
    """Whether the last look at the host was answered to this driver with yes."""
    doubted = record["committing"] or record["commit_refused"] is not None
    last = [(who["name"], who["run"]) for who in record["given_to"][-1:]]
    return record["state"] == "COMMITTED" and not doubted and last == [(wish.driver, wish.run_id)]


def _hold_foreseen(wish: Wish, before: Standing) -> Mapping[str, Any]:
    """What is not given, the host fills in; then nobody knows here, and it counts as new."""
    until = float("inf") if wish.hold_for is None else before.now + wish.hold_for
    return {"name": wish.by, "reason": wish.reason, "until": until}


def _would_move(wish: Wish, before: Standing) -> bool:
    state = None if before.record is None else before.record["state"]
    if wish.what == PREPARE:
        fresh = state is None or state in _UNTOUCHED or state in _OVER
        taken_over = state in (*_ON_ITS_WAY, "COMMITTED") and not _is_mine(wish, before) and _is_free(wish, before)
        return before.hold is None and (fresh or taken_over)
    if wish.what == COMMIT:
        return state in ("PREPARED", "COMMITTED") and before.hold is None and _is_free(wish, before)
    if wish.what == ABORT:
        return (state in _ON_ITS_WAY and _is_free(wish, before)) or (state == "COMMITTED" and _may_take_back(wish, before))
    return state in (*_ON_ITS_WAY, "STAYING") or (state == "COMMITTED" and wish.force)


def _may_take_back(wish: Wish, before: Standing) -> bool:
    """Nobody else was given the word, and it was not said that something may have been posted."""
    record = before.record or {}
    post = record.get("post") or {}
    return _is_mine(wish, before) and len(record["given_to"]) <= 1 and not post.get("maybe")


def _is_mine(wish: Wish, before: Standing) -> bool:
    driver = (before.record or {}).get("driver") or {}
    return (driver.get("name"), driver.get("run")) == (wish.driver, wish.run_id)


def _is_free(wish: Wish, before: Standing) -> bool:
    """Nobody else has it in hand; what nobody has in hand is being given back."""
    driver = (before.record or {}).get("driver")
    return driver is not None and (_is_mine(wish, before) or driver["lease"]["until"] < before.now)


# --- the whole task ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One run of the module."""

    params: Mapping[str, Any]
    check_mode: bool
    host: HostCommand
    clock: Clock


def done(task: Task) -> Tuple[Dict[str, Any], Optional[str]]:
    """The result, and the host's no where that is to fail the task."""
    wish, wait = wish_of(task.params), wait_of(task.params, once=task.check_mode)
    # First of all: whatever is done before makes the host's clock seem to be ahead.
    clocks = difference_of(task.params, task.clock)
    event_id = _event_id(task.params["event_id"])
    # Before anything else is read: right after a boot nothing can be, for a while.
    waited = {} if wait is None else _waited(task, wait)
    before = _look(task, event_id)
    if wish is None:
        return _result(task, before, event_id, {"changed": False, **clocks, **waited}), None
    asked = {"asked": task.host.line(wish), **clocks}
    if task.check_mode:
        after = foreseen(wish, before.standing)
        told = {
            **asked,
            **_NOT_ASKED,
            "changed": has_changed(wish, NOT_ASKED, before.standing, after),
            "diff": _diff(before.standing, after),
        }
        return _result(task, before, event_id, told), None
    answer = task.host.ask(wish.words)
    look = _look(task, event_id)
    told = {
        **asked,
        **{key: answer[key] for key in ("ok", "verdict", "message")},
        "changed": has_changed(wish, answer["verdict"], before.standing, look.standing),
        "diff": _diff(before.standing, look.standing),
    }
    # At the moment of the verdict; a refusal on the way to the executor has none.
    told.update({key: answer[key] for key in ("state", "handlers") if key in answer})
    failure = answer["message"] if not answer["ok"] and task.params["if_refused"] == "fail" else None
    return _result(task, look, event_id, told), failure


def _waited(task: Task, words: Sequence[str]) -> Dict[str, Any]:
    answer = task.host.ask(words)
    return {"over": answer["ok"], "message": answer["message"], **{key: answer[key] for key in ("state", "handlers") if key in answer}}


@dataclass(frozen=True)
class _Look:
    standing: Standing
    shown: Mapping[str, Any]


def _look(task: Task, event_id: Optional[str]) -> _Look:
    status, now = task.host.status(), task.clock.wall()
    try:
        return _Look(standing_of(status, event_id, now=now), status_result(status, now=now))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HostError(_STRANGE % (task.params["command"], "status")) from error


def _result(task: Task, look: _Look, event_id: Optional[str], told: Mapping[str, Any]) -> Dict[str, Any]:
    record = look.standing.record
    result = {"state": None if record is None else record["state"], "handlers": handlers_of(record), "status": look.shown, **told}
    if task.params["gather_evidence"] and event_id is not None:
        result["evidence"] = task.host.evidence(event_id)
    return result


def _diff(before: Standing, after: Standing) -> Dict[str, Any]:
    return {"before": before.shown(), "after": after.shown()}


# --- as results ----------------------------------------------------------------------------------------------------------


def status_result(status: Mapping[str, Any], *, now: float) -> Dict[str, Any]:
    hold, agent, configured = status["hold"], status["agent"] or {}, status["configured"]
    wrong = [] if configured["problem"] is None else ["The configuration is wrong, so nothing is begun here. %s." % configured["problem"]]
    return {
        "written_at": format_instant(status["written_at"]),
        "boot": status["boot"],
        "vm_id": status["vm_id"],
        "agent_seen_at": _instant(agent.get("written_at")),
        "agent_good_since": _good_since(agent, now),
        "mode": agent.get("mode") or configured["mode"],
        "allow_empty_prepare": configured["allow_empty_prepare"],
        "handlers_configured": list(configured["handlers"]),
        "hold": None if hold is None else {"by": hold["name"], "until": format_instant(hold["until"]), "reason": hold["reason"]},
        "problems": [*status["problems"], *wrong],
        "broken": list(status["broken"]),
        "records": [_record_result(record, now) for record in status["records"]],
    }


def _good_since(agent: Mapping[str, Any], now: float) -> Optional[str]:
    """What an agent says that is not there any more does not count."""
    written_at = agent.get("written_at")
    silent = not isinstance(written_at, (int, float)) or now - written_at > _TRUSTED_GAP
    return None if silent else _instant(agent.get("good_since"))


def _record_result(record: Mapping[str, Any], now: float) -> Dict[str, Any]:
    event = Event(**{**record["event"], "resources": tuple(record["event"]["resources"])})
    plain = ("occurrence", "vm_id", "state", "view", "reason", "decision", "result", "attempt", "commit_refused")
    instants = ("first_seen", "last_seen", "started_at", "gone_at", "changed_at")
    return {
        "event": event_result(event, queried_at=now, vm_name=None),
        **{key: record[key] for key in plain},
        **{key: _instant(record[key]) for key in instants},
        "deadline": _instant((record["deadline"] or {}).get("until")),
        "open": record["state"] not in _OVER,
        "driver": driver_result(record["driver"]),
        "given_to": list(record["given_to"]),
        "post": post_result(record["post"]),
        "handlers": handlers_of(record),
    }


def driver_result(driver: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    if driver is None:
        return None
    return {"name": driver["name"], "run": driver["run"], "lease_until": format_instant(driver["lease"]["until"])}


def post_result(post: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    if post is None:
        return None
    plain = ("driver", "run", "witness", "outcome", "maybe")
    return {**{key: post[key] for key in plain}, "sent_at": _instant(post["sent_at"]), "told_at": _instant(post["told_at"])}


def handlers_of(record: Optional[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """As the command says them with a verdict."""
    steps = [] if record is None else record["steps"]
    return [
        {
            "name": step["handler"],
            "required": step["required"],
            **{phase: {"outcome": step[phase]["outcome"], "exit": step[phase]["exit"]} for phase in _PHASES},
        }
        for step in steps
    ]


def _instant(moment: Any) -> Optional[str]:
    return None if isinstance(moment, bool) or not isinstance(moment, (int, float)) else format_instant(moment)
