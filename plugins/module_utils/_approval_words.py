# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The words for what became of an approval: one for each event, and sentences for the operator when it did not go as asked.

Private to the collection. Whoever reads it must learn of every event whether it may be approved, and when Azure starts it.
"""

from __future__ import annotations

from typing import Iterable, Optional

from ._document import Event
from ._errors import ServiceError
from ._ledger import Entry
from ._time import say_duration
from ._watch import Sighting, Watch, say_start

APPROVED, ALREADY_STARTED, NOW_GONE = "approved", "already_started", "gone"
STILL_SCHEDULED, WOULD_APPROVE, NOT_APPROVED = "still_scheduled", "would_approve", "refused"


def result_word(sighting: Sighting, entry: Entry, *, refused: bool, would: bool) -> str:
    """What became of one event. would: a rehearsal that nothing speaks against."""
    if entry.taken and sighting.began:
        return APPROVED
    if sighting.over or sighting.event is None:
        return NOW_GONE
    if sighting.event.started:
        return APPROVED if entry.may_be_taken else ALREADY_STARTED
    if would:
        return WOULD_APPROVE
    return STILL_SCHEDULED if entry.may_be_taken and not refused else NOT_APPROVED


def say_refusal(entries: Iterable[Entry], reason: str) -> str:
    """Our own no, for all events of the task."""
    known = list(entries)
    if not any(entry.may_be_taken for entry in known):
        return "Refused, nothing was posted: %s" % reason
    unclear = {str(entry.unclear) for entry in known if entry.unclear is not None and not entry.taken}
    earlier = ", though an earlier post without a clear answer may have taken (%s)" % " ".join(sorted(unclear)) if unclear else ""
    return "Refused, nothing more was posted%s: %s" % (earlier, reason)


def say_missing(event_id: str) -> str:
    return (
        "event %s is not in the document: it is over, was cancelled, or the id is mistyped; if that is all right, set"
        " if_missing to ok." % event_id
    )


def say_too_slow(url: str, fresh: float) -> str:
    return "%s takes more than %s to answer, too long to know that the events are still the same. Try again in a minute." % (
        url,
        say_duration(fresh),
    )


def say_not_approved(event: Event, now: float, error: Optional[ServiceError] = None) -> str:
    """error: how the service turned its post away."""
    text = "Event %s is not approved. %s" % (event.event_id, say_start(event, now))
    return text if error is None else "%s %s" % (error.message, text)


def say_held(event: Event, now: float) -> str:
    """Nothing is wrong with it; it was not posted because of others."""
    return "Event %s is not approved either. %s" % (event.event_id, say_start(event, now))


def say_returned(event: Event, now: float) -> str:
    """It was gone when the others were posted (C-15)."""
    return "Event %s was missing and is listed again: run the task again. %s" % (event.event_id, say_not_approved(event, now))


def say_unseen(event_id: str) -> str:
    """No answer told of it."""
    return "Event %s is not approved, and Azure does not wait for it." % event_id


def say_pause(error: ServiceError) -> str:
    return "The service asks for a pause of %s, so nothing more is posted." % say_duration(error.retry_after)


def say_unread(error: ServiceError, *, posted: bool) -> str:
    """The document could not be read: before anything was posted, or afterwards."""
    if posted:
        return "The approval was sent, but what came of it cannot be read: %s" % error.message
    return "%s Nothing was posted." % error.message


def say_unclear(event: Event, unclear: Optional[ServiceError], now: float) -> str:
    said = "Event %s was posted without a clear answer and is still Scheduled; it may be approved all the same. %s %s"
    return said % (event.event_id, unclear, say_start(event, now))


def say_late(event: Event, start_timeout: float, now: float) -> str:
    return (
        "Event %s is approved but has not started within %s; others on the same Azure host may have to agree."
        " Keep its VMs prepared. %s" % (event.event_id, say_duration(start_timeout), say_start(event, now))
    )


def say_unread_events(error: ServiceError, event_ids: Iterable[str]) -> str:
    """The same, before anything was learnt of these events."""
    return " ".join([say_unread(error, posted=False), *(say_unseen(sighting.event_id) for sighting in Watch(event_ids).sightings)])
