# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ServiceError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._ledger import Entry

LOST = ServiceError("lost")
BUSY = ServiceError("busy", ineffective=True)
FORBIDDEN = ServiceError("forbidden", permanent=True, ineffective=True)


def after(*errors: Optional[ServiceError]) -> Entry:
    entry = Entry()
    for error in errors:
        entry = entry.after(error)
    return entry


def test_what_was_never_posted_is_open_and_surely_not_taken() -> None:
    entry = Entry()
    assert (entry.posts, entry.taken, entry.may_be_taken, entry.open, entry.error, entry.unclear) == (0, False, False, True, None, None)


def test_what_was_taken_is_closed() -> None:
    entry = after(None)
    assert (entry.posts, entry.taken, entry.may_be_taken, entry.open) == (1, True, True, False)


def test_what_was_lost_may_be_taken_and_is_posted_once_more() -> None:
    """W-35: read, gate, once more."""
    assert (after(LOST).may_be_taken, after(LOST).open, after(LOST).unclear) == (True, True, LOST)
    assert (after(LOST, LOST).posts, after(LOST, LOST).open) == (2, False)


def test_what_surely_had_no_effect_is_not_taken_and_is_posted_once_more() -> None:
    assert (after(BUSY).may_be_taken, after(BUSY).open, after(BUSY).error) == (False, True, BUSY)
    assert (after(BUSY, BUSY).may_be_taken, after(BUSY, BUSY).open) == (False, False)


def test_what_is_turned_away_for_good_is_closed() -> None:
    """C-10: never retried."""
    assert (after(FORBIDDEN).may_be_taken, after(FORBIDDEN).open) == (False, False)


def test_a_later_refusal_does_not_make_an_earlier_post_undone() -> None:
    """C-23: an approval cannot be taken back."""
    entry = after(LOST, FORBIDDEN)
    assert (entry.may_be_taken, entry.unclear, entry.error) == (True, LOST, FORBIDDEN)


def test_the_last_unclear_post_is_the_one_that_is_told() -> None:
    again = ServiceError("lost again")
    assert after(LOST, again).unclear is again


def test_what_is_taken_in_the_end_is_taken() -> None:
    entry = after(LOST, None)
    assert (entry.taken, entry.may_be_taken, entry.posts, entry.open) == (True, True, 2, False)


@pytest.mark.parametrize(("pause", "is_open"), [(0.0, True), (30.0, True), (30.1, False)])
def test_a_service_that_asks_for_a_long_pause_gets_no_second_post(pause: float, is_open: bool) -> None:
    """C-10: its pause is honoured or nothing is sent; an operator cannot wait for an hour without a word."""
    assert after(ServiceError("busy", retry_after=pause)).open is is_open
