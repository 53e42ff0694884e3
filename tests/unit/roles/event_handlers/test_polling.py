# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the agent asks, with how much patience, and what it makes of the service's clock; on a wire by hand."""

from __future__ import annotations

from typing import Any, List, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import NoAnswer, NotSent, RawAnswer, Request
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.fakes import (
    NOW,
    HandClock,
    Wire,
    answer,
    document,
    event,
    service,
)
from azure_event_handlers.metrics import BAD_STATUS, GOOD, NO_ANSWER, NO_DOCUMENT, UNCHANGED
from azure_event_handlers.polling import Poller

IDENTITY = answer(body={"compute": {"name": "web_0", "vmId": "vm-1"}})
SILENCE = NoAnswer("no answer within 10 s")


class Asking:
    """A poller that knows who it is, a turn a second."""

    def __init__(self, *replies: Any, known: bool = True, chance: float = 0.0, interval: float = 1.0) -> None:
        self.hand = HandClock()
        self.wire = Wire(IDENTITY, *replies)
        self.poller = Poller(
            service(self.wire, self.hand),
            self.hand.clock,
            timeout=130.0,
            interval=interval,
            vm_name=None,
            known_to_answer=known,
            chance=lambda: chance,
        )
        self.moments: List[float] = []
        self.turn()

    def turn(self, *, whole: bool = False) -> Any:
        before = len(self.wire.requests)
        heard = self.poller.turn(whole=whole)
        if len(self.wire.requests) > before:
            self.moments.append(self.hand.passed)
        self.hand.passed += 1.0
        return heard

    def run(self, turns: int) -> List[float]:
        """The seconds at which a question was sent."""
        self.moments = []
        for _turn in range(turns):
            self.turn()
        return self.moments


def tagged(tag: str = '"1"', served_at: Optional[float] = None) -> RawAnswer:
    headers = {"etag": tag, **({} if served_at is None else {"date": format_instant(served_at)})}
    return RawAnswer(200, headers, document(event()).body)


def conditional(request: Request) -> RawAnswer:
    """A service on which nothing changes."""
    return answer(304, headers={"etag": '"1"'}) if "If-None-Match" in request.headers else tagged()


def test_the_first_question_ever_has_the_patience_that_the_contract_asks_for() -> None:
    """C-7: the first answer may take two minutes; once it is there, silence is a fault."""
    asking = Asking(document(), known=False)
    asking.run(2)
    assert asking.wire.patience[1:] == [130.0, 10.0]


def test_each_silence_doubles_the_patience_and_an_answer_restores_it() -> None:
    """C-11: many short time-outs in a row are an attack, and a service that is switched on again needs its two minutes (C-7)."""
    asking = Asking(*[SILENCE] * 6, answer(503), document())
    asking.run(60)
    assert asking.wire.patience[1:10] == [10.0, 20.0, 40.0, 80.0, 130.0, 130.0, 130.0, 130.0, 10.0]


@pytest.mark.parametrize(("chance", "pauses"), [(0.0, [1, 2, 4, 5, 5, 5]), (1.0, [1, 2, 3, 3, 3, 3])])
def test_failures_are_followed_by_pauses_that_grow_to_five_seconds(chance: float, pauses: List[int]) -> None:
    """C-10, C-19: a spot VM has thirty seconds. Chance keeps the hosts of a scope out of step."""
    asking = Asking(answer(503), chance=chance)
    moments = asking.run(30)
    assert [later - earlier for earlier, later in zip(moments, moments[1:])][:6] == pauses
    assert asking.poller.failures >= 6


def test_a_good_answer_ends_the_pauses() -> None:
    asking = Asking(answer(503), answer(503), document())
    assert asking.run(8) == [1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert (asking.poller.failures, asking.poller.error) == (0, None)


@pytest.mark.parametrize(("asked", "pause"), [("3", 3.0), ("30", 30.0), ("86400", 300.0), ("nonsense", 1.0)])
def test_a_pause_that_the_service_asks_for_is_granted_within_reason(asked: str, pause: float) -> None:
    """C-10: and after a day of silence it would have forgotten this VM."""
    asking = Asking(answer(429, headers={"retry-after": asked}), document())
    moments = asking.run(400)
    assert moments[1] - moments[0] == pause


@pytest.mark.parametrize("status", [400, 401, 403, 405])
def test_what_is_forbidden_is_asked_once_a_minute(status: int) -> None:
    """C-10: a policy, never retried; but policies change."""
    assert Asking(answer(status)).run(200) == [1.0, 61.0, 121.0, 181.0]


def test_a_longer_interval_is_the_shortest_pause() -> None:
    asking = Asking(answer(503), interval=8.0)
    moments = asking.run(40)
    assert moments == [1.0, 9.0, 17.0, 25.0, 33.0]


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (document(), GOOD),
        (SILENCE, NO_ANSWER),
        (NotSent("the connection was refused"), NO_ANSWER),
        (answer(500), BAD_STATUS),
        (answer(302), BAD_STATUS),
        (answer(200, b"<html>Welcome</html>"), NO_DOCUMENT),
    ],
)
def test_each_answer_is_counted_by_what_it_was(reply: Any, word: str) -> None:
    asking = Asking(reply)
    asking.turn()
    assert asking.poller.polls == {word: 1}


def test_a_question_has_a_condition_unless_something_speaks_against_it() -> None:
    """C-9, W-31: at the start, once a minute, after an error, when something is to be done, and after a pause."""
    asking = Asking(conditional)
    asking.run(3)
    asking.turn(whole=True)
    asking.turn()
    asking.poller.forget_tag()
    asking.run(2)
    conditions = [request.headers.get("If-None-Match") for request in asking.wire.requests[1:]]
    assert conditions == [None, '"1"', '"1"', None, '"1"', None, '"1"']
    assert asking.poller.polls == {GOOD: 3, UNCHANGED: 4}
    asking = Asking(tagged(), answer(503), tagged(), tagged())
    asking.run(5)
    assert [request.headers.get("If-None-Match") for request in asking.wire.requests[1:]] == [None, '"1"', None, '"1"', '"1"']


def test_once_a_minute_the_question_has_no_condition() -> None:
    """W-31."""
    asking = Asking(conditional)
    fresh = [second for second in range(1, 130) if asking.turn().fresh]
    assert fresh == [1, 61, 121]


def test_a_service_without_tags_is_always_asked_for_everything() -> None:
    asking = Asking(document())
    assert all(asking.turn().fresh for _turn in range(5))
    assert not any("If-None-Match" in request.headers for request in asking.wire.requests)


# --- whose clock is right ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("served", "took", "difference"),
    [
        (NOW + 1.0, 0.0, 0.0),
        (NOW, 0.0, 0.0),
        (NOW, 1.5, 0.0),
        (NOW - 1.0, 1.5, 1.0),
        (NOW - 10.0, 0.0, 10.0),
        (NOW - 10.0, 4.0, 10.0),
        (NOW + 10.0, 0.0, -9.0),
        (NOW - 3600.0, 0.0, 3600.0),
    ],
)
def test_the_difference_of_the_clocks_is_what_neither_rounding_nor_waiting_explains(served: float, took: float, difference: float) -> None:
    """W-34: the service says whole seconds, at some moment between question and answer."""
    asking = Asking()

    def slow(_request: Request) -> RawAnswer:
        asking.hand.passed += took
        return tagged(served_at=served)

    asking.wire.replies = [slow]
    asking.turn()
    assert asking.poller.difference == difference


@pytest.mark.parametrize("reply", [document(), RawAnswer(200, {"date": "yesterday"}, document().body)])
def test_a_service_that_does_not_say_its_time_cannot_be_compared(reply: RawAnswer) -> None:
    asking = Asking(tagged(served_at=NOW - 50.0), reply)
    asking.run(1)
    assert asking.poller.difference is not None
    asking.run(1)
    assert asking.poller.difference is None


# --- who asks ------------------------------------------------------------------------------------------------------------


def lives(*replies: Any) -> Asking:
    """One that has to find out first who it is."""
    asking = Asking(*replies)
    asking.wire.replies = [*replies, document()]
    asking.poller.vm = None
    asking.poller.ask_who()
    return asking


def paths(asking: Asking) -> List[str]:
    return [request.url.rsplit("/", 1)[1] for request in asking.wire.requests[1:]]


def test_it_is_asked_until_it_is_known_and_the_document_meanwhile() -> None:
    """C-28: at first there may be no answer, or half of one; and never two questions in one turn (C-8)."""
    incomplete = answer(body={"compute": {"name": "web_0"}})
    asking = lives(answer(404), document(), document(), document(), document(), incomplete)
    asking.run(10)
    assert paths(asking)[:7] == ["instance", *["scheduledevents"] * 4, "instance", "scheduledevents"]
    assert asking.poller.vm is None
    assert str(asking.poller.identity_error) == "The metadata service does not say the id of this VM yet. It is asked again."
    asking.wire.replies = [IDENTITY, document()]
    asking.poller.ask_who()
    asking.run(2)
    assert asking.poller.vm is not None
    assert asking.poller.identity_error is None


def test_who_may_not_know_who_it_is_asks_once_a_minute() -> None:
    asking = lives()

    def reply(request: Request) -> RawAnswer:
        return answer(403) if request.url.endswith("instance") else document()

    asking.wire.replies = [reply]
    asking.run(130)
    assert paths(asking).count("instance") == 3
    assert asking.poller.identity_error is not None


def test_it_is_asked_again_now_and_then_and_an_error_changes_nothing() -> None:
    """W-28: a name can be given to a new VM."""
    asking = Asking(document())
    asking.run(599)
    assert paths(asking).count("instance") == 0
    asking.wire.replies = [answer(500), document()]
    asking.run(2)
    assert paths(asking).count("instance") == 1
    assert asking.poller.vm is not None
    asking.wire.replies = [document(), document(), document(), other("vm-2"), *[document()] * 4, other("vm-2"), document()]
    asking.run(8)
    assert asking.poller.vm.vm_id == "vm-1"
    asking.run(2)
    assert asking.poller.vm.vm_id == "vm-2"


def other(vm_id: str) -> RawAnswer:
    return answer(body={"compute": {"name": "web_0", "vmId": vm_id}})


class Answering:
    """A service that says in turn who this is, and always the same document; asked for both as a host does."""

    def __init__(self, *ids: Any, known: Optional[str] = "vm-1") -> None:
        self.ids = list(ids)
        self.asking = Asking(self.reply)
        self.asking.poller.vm = None
        self.asking.poller.known_id = known
        self.asking.poller.ask_who()

    def reply(self, request: Request) -> RawAnswer:
        if not request.url.endswith("instance"):
            return tagged()
        said = self.ids.pop(0) if len(self.ids) > 1 else self.ids[0]
        return said if isinstance(said, RawAnswer) else other(said)

    def after(self, seconds: int) -> Optional[str]:
        self.asking.run(seconds)
        vm = self.asking.poller.vm
        return None if vm is None else vm.vm_id


def test_another_vm_than_the_known_one_is_believed_when_a_second_answer_says_so() -> None:
    """W-28: one answer may be wrong, and the work of a whole host would be let go for it."""
    answering = Answering("vm-2")
    assert answering.after(5) is None
    assert str(answering.asking.poller.identity_error) == (
        "The metadata service says that this VM is another one than before. It is asked again before that is believed."
    )
    assert answering.after(1) == "vm-2"
    assert answering.asking.poller.identity_error is None


def test_a_vm_of_which_nothing_is_known_is_believed_at_once() -> None:
    assert Answering("vm-2", known=None).after(1) == "vm-2"


@pytest.mark.parametrize("said", ["vm-1", "VM-1"])
def test_the_known_vm_is_believed_at_once_in_any_letters(said: str) -> None:
    answering = Answering(said)
    assert answering.after(1) == said
    answering.ids = [said.swapcase()]
    answering.asking.poller.ask_who()
    assert answering.after(1) == said.swapcase()


def test_two_answers_at_once_are_as_good_as_one() -> None:
    answering = Answering("vm-2")
    answering.after(1)
    for _again in range(2):
        answering.asking.poller.ask_who()
        assert answering.after(1) is None


@pytest.mark.parametrize("between", ["vm-1", "vm-3"])
def test_answers_that_contradict_each_other_are_not_believed(between: str) -> None:
    answering = Answering("vm-1")
    assert answering.after(1) == "vm-1"
    answering.ids = ["vm-2", between, "vm-2", "vm-1"]
    for _answer in range(4):
        answering.asking.poller.ask_who()
        assert answering.after(4) == "vm-1"


def test_an_error_between_two_answers_contradicts_nothing() -> None:
    answering = Answering("vm-2", answer(500), "VM-2")
    assert answering.after(10) is None
    assert answering.after(1) == "VM-2"
