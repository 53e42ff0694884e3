# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the agent asks the metadata service, with or without a condition, with how much patience, and who it is that asks."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Callable, Dict, Optional, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._clock import Clock
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import same_name
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import (
    ConnectionFailed,
    DocumentError,
    IdentityError,
    ServiceError,
    StatusError,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import MetadataService, Poll, Reading, Vm
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import MINUTE

from .metrics import BAD_STATUS, GOOD, NO_ANSWER, NO_DOCUMENT, OTHER, UNCHANGED

# A tag may repeat with other content (C-9, W-31), so now and then the question is asked without one.
WHOLE_EVERY = 1.0 * MINUTE
# Once the service is known to answer, silence is a fault, and a long wait would hide an event. Each that fails doubles the patience, as
# the service may be just switching its notices on again (C-7), and many short time-outs are themselves an attack (C-11).
PATIENCE = 10.0
# After a failure, growing up to the longest; a spot VM has thirty seconds (C-19). Chance takes up to half of what is above the interval.
LONGEST_PAUSE = 5.0
JITTER = 0.5
# What a policy forbids it will hardly allow a second later (C-10).
PERMANENT_PAUSE = 1.0 * MINUTE
# No service that means us asks for a longer silence: after a day of it, it would have forgotten us.
LONGEST_RETRY_AFTER = 5.0 * MINUTE
# The identity until it is known; and then, as a VM's name can be given to a new one.
IDENTITY_AGAIN = 5.0
IDENTITY_EVERY = 10.0 * MINUTE
# That this is another VM than before means that all its work is let go: two answers must say so, so long after each other.
OTHER_AFTER = 3.0
# What the user can configure instead of the service's word.
NAME_OPTION = "vm_name in the configuration"


@dataclass(frozen=True)
class Heard:
    """What one turn has learnt: a good answer, and whether it was a whole document."""

    answered: bool = False
    fresh: bool = False


class Poller:
    """One question a turn at the most. reading, vm, error: the last document, who this is, and why there is no answer just now.

    known_id: of the VM that this was before, for as long as vm is not known.
    """

    def __init__(
        self,
        service: MetadataService,
        clock: Clock,
        *,
        timeout: float,
        interval: float,
        vm_name: Optional[str],
        known_to_answer: bool = False,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._service = service
        self._clock = clock
        self._timeout = timeout
        self._interval = interval
        self._vm_name = vm_name
        self._known_to_answer = known_to_answer
        self._chance = chance
        self._tag: Optional[str] = None
        self._whole_at: Optional[float] = None
        self._next_at = 0.0
        self.asked_at: Optional[float] = None
        self._identity_at = 0.0
        self._failures = 0
        self._silences = 0
        self.reading: Optional[Reading] = None
        self.vm: Optional[Vm] = None
        self.known_id: Optional[str] = None
        self._other: Optional[Tuple[str, float]] = None
        self.error: Optional[ServiceError] = None
        self.identity_error: Optional[ServiceError] = None
        self.difference: Optional[float] = None
        self.good_at: Optional[float] = None
        self.polls: Dict[str, int] = {}

    @property
    def failures(self) -> int:
        """In a row."""
        return self._failures

    def take_over(self, other: Poller, *, same_service: bool) -> None:
        """What another one, with another configuration, has counted; and what it has learnt, where it asked the same."""
        self.polls, self.good_at = other.polls, other.good_at
        if same_service:
            self.vm, self.reading, self.difference = other.vm, other.reading, other.difference

    def forget_tag(self) -> None:
        """Something may have happened unseen."""
        self._tag = None

    def ask_who(self) -> None:
        """Whoever has slept may wake up as somebody else."""
        self._identity_at = 0.0

    def turn(self, *, whole: bool) -> Heard:
        """The one question that is due, if any is."""
        now = self._clock.monotonic()
        if whole:
            self._tag = None
        if now < self._next_at:
            return Heard()
        self.asked_at = now
        if now >= self._identity_at:
            self._identify(now)
            return Heard()
        return self._poll(now)

    # --- who this is ---

    def _identify(self, now: float) -> None:
        """It takes the place of a look at the document (C-8), and the next turn makes up for it."""
        before = self.vm
        self._identity_at = now + IDENTITY_AGAIN
        try:
            vm = self._service.vm(otherwise=NAME_OPTION, known_name=self._vm_name, at_most=PATIENCE)
        except ServiceError as error:
            self.identity_error = error
            if error.permanent:
                self._identity_at = now + PERMANENT_PAUSE
            return
        self.identity_error = None
        if vm.vm_id is None:
            # Right after the creation of a VM the answer may be incomplete (C-28).
            self.identity_error = IdentityError("The metadata service does not say the id of this VM yet. It is asked again.")
            return
        if self._is_doubtful(vm.vm_id, now):
            self.identity_error = IdentityError(
                "The metadata service says that this VM is another one than before. It is asked again before that is believed."
            )
            return
        self.vm = vm
        self._identity_at = now + IDENTITY_EVERY
        if before != vm:
            self._tag = None

    def _is_doubtful(self, vm_id: str, now: float) -> bool:
        """Whether this is another VM than the known one, and only this answer says so (W-28)."""
        known = self.known_id if self.vm is None else self.vm.vm_id
        if known is None or same_name(known, vm_id):
            self._other = None
            return False
        if self._other is None or not same_name(self._other[0], vm_id):
            self._other = vm_id, now
        return now - self._other[1] < OTHER_AFTER

    # --- the document ---

    def _poll(self, now: float) -> Heard:
        whole = self._tag is None or self._whole_at is None or now - self._whole_at >= WHOLE_EVERY
        try:
            poll = self._service.poll(tag=None if whole else self._tag, at_most=self._patience())
        except ServiceError as error:
            self._failed(error)
            return Heard()
        self._answered(poll)
        if poll.reading is None:
            self._count(UNCHANGED)
            return Heard(answered=True)
        self._count(GOOD)
        self._whole_at = poll.asked_at
        self.reading = poll.reading
        return Heard(answered=True, fresh=True)

    def _patience(self) -> float:
        if not self._known_to_answer:
            return self._timeout
        return min(self._timeout, PATIENCE * 2.0 ** min(self._silences, 10))

    def _answered(self, poll: Poll) -> None:
        self._tag = poll.tag
        self._failures = self._silences = 0
        self._known_to_answer = True
        self.error = None
        self.good_at = poll.queried_at
        self.difference = _difference(poll, self._clock.monotonic())

    def _failed(self, error: ServiceError) -> None:
        self._tag = None
        self._failures += 1
        silent = isinstance(error, ConnectionFailed)
        self._silences += int(silent)
        self.error = error
        self._count(_word(error))
        self._next_at = self._clock.monotonic() + self._pause(error)

    def _pause(self, error: ServiceError) -> float:
        if error.permanent:
            return PERMANENT_PAUSE
        grown = min(self._interval * 2.0 ** min(self._failures - 1, 10), max(LONGEST_PAUSE, self._interval))
        pause = grown - JITTER * self._chance() * (grown - self._interval)
        return max(pause, min(error.retry_after, LONGEST_RETRY_AFTER))

    def _count(self, word: str) -> None:
        self.polls[word] = self.polls.get(word, 0) + 1


def _word(error: ServiceError) -> str:
    if isinstance(error, ConnectionFailed):
        return NO_ANSWER
    if isinstance(error, StatusError):
        return BAD_STATUS
    return NO_DOCUMENT if isinstance(error, DocumentError) else OTHER


def _difference(poll: Poll, monotonic: float) -> Optional[float]:
    """How far this host's clock is ahead of the service's; 0 where both may be the same.

    The service says whole seconds, and its word was spoken at some moment between question and answer.
    """
    if poll.served_at is None:
        return None
    latest = poll.queried_at - poll.served_at
    earliest = latest - 1.0 - max(0.0, monotonic - poll.asked_at)
    if earliest <= 0.0 <= latest:
        return 0.0
    return earliest if earliest > 0.0 else latest
