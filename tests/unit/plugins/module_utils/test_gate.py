# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._gate import Terms, objection


def event(**changes: Any) -> Event:
    """A scheduled Reboot of web_0 and web_1, with changes."""
    fields = dict(
        event_id="E-1",
        event_type="Reboot",
        event_status="Scheduled",
        event_source="Platform",
        resource_type="VirtualMachine",
        resources=("web_0", "web_1"),
        not_before=None,
        description="",
        duration_seconds=None,
    )
    return Event(**{**fields, **changes})


def terms(ready: Tuple[str, ...], unready: Tuple[str, ...] = (), types: Tuple[str, ...] = ()) -> Terms:
    return Terms.of(ready=ready, unready_allowed=unready, types_allowed=types, missing_allowed=True)


BOTH = ("web_0", "web_1")


def test_terms_are_kept_without_case() -> None:
    assert Terms.of(ready=["Web_0"], unready_allowed=["WEB_1"], types_allowed=["Preempt"], missing_allowed=False) == Terms(
        ready=frozenset(["web_0"]),
        unready_allowed=frozenset(["web_1"]),
        types_allowed=frozenset(["preempt"]),
        missing_allowed=False,
        ready_names=("Web_0",),
    )


def test_terms_may_be_made_of_names_that_come_one_by_one() -> None:
    made = Terms.of(ready=iter(["Web_0"]), unready_allowed=(), types_allowed=(), missing_allowed=True)
    assert (made.ready, made.ready_names) == (frozenset(["web_0"]), ("Web_0",))


def test_by_themselves_terms_vouch_for_nothing_but_an_event_that_is_gone() -> None:
    assert Terms(frozenset()) == Terms(frozenset(), frozenset(), frozenset(), True, ())


@pytest.mark.parametrize(
    ("candidate", "agreed"),
    [
        (event(), terms(BOTH)),
        (event(), terms(("WEB_0", "Web_1", "web_2"))),
        (event(), terms(("web_0",), unready=("WEB_1",))),
        (event(), terms((), unready=BOTH)),
        (event(event_status="scheduled"), terms(BOTH)),
        (event(event_type="Freeze"), terms(BOTH)),
        (event(event_type="REDEPLOY"), terms(BOTH)),
        (event(event_type="Preempt"), terms(BOTH, types=("preempt",))),
        (event(event_type="terminate"), terms(BOTH, types=("Terminate",))),
        (event(event_type="GuestImageUpdate"), terms(BOTH, types=("guestimageupdate",))),
        (event(event_type="Reboot"), terms(BOTH, types=("Preempt",))),
    ],
)
def test_an_event_whose_vms_are_all_vouched_for_may_be_approved(candidate: Event, agreed: Terms) -> None:
    assert objection(candidate, agreed) is None


@pytest.mark.parametrize(
    ("candidate", "agreed", "reason"),
    [
        (
            event(event_status="Paused"),
            terms(BOTH),
            "event E-1 (Reboot) has the status 'Paused', and only Scheduled events can be approved",
        ),
        (
            event(event_status="Started"),
            terms(BOTH),
            "event E-1 (Reboot) has the status 'Started', and only Scheduled events can be approved",
        ),
        (
            event(resources=()),
            terms(BOTH),
            "event E-1 (Reboot) names no VM, so nobody can be known to be ready for it",
        ),
        (
            event(),
            terms(("web_0",)),
            "event E-1 (Reboot) also hits web_1, not known to be ready (ready is: web_0): prepare, then name every VM by its Azure"
            " name in ready_resources",
        ),
        (
            event(),
            terms(("web_00", "web_10"), unready=("web",)),
            "event E-1 (Reboot) hits web_0, web_1, not known to be ready (ready are: web_00, web_10): prepare, then name every VM by its"
            " Azure name in ready_resources",
        ),
        (
            event(),
            terms((), unready=("web_0",)),
            "event E-1 (Reboot) hits web_1, not known to be ready: prepare, then name every VM by its Azure name in ready_resources",
        ),
        (
            event(),
            terms(("a", "b", "C", "d", "e")),
            "event E-1 (Reboot) hits web_0, web_1, not known to be ready (ready are: a, b, C, d, e): prepare, then name every VM by its"
            " Azure name in ready_resources",
        ),
        (
            event(),
            terms(("a", "b", "C", "d", "e", "f", "WEB_0")),
            "event E-1 (Reboot) also hits web_1, not known to be ready (ready are: a, b, C, d, e and 2 more): prepare, then name every VM"
            " by its Azure name in ready_resources",
        ),
        (
            event(event_type="Preempt"),
            terms(BOTH),
            "event E-1 (Preempt) deletes web_0, web_1, and allow_types does not name Preempt",
        ),
        (
            event(event_type="TERMINATE", resources=("web_0",)),
            terms(BOTH, types=("Preempt",)),
            "event E-1 (TERMINATE) deletes web_0, and allow_types does not name Terminate",
        ),
        (
            event(event_type="GuestImageUpdate"),
            terms(BOTH, types=("unknown",)),
            "event E-1 (GuestImageUpdate) has an effect that nobody documents, and allow_types does not name GuestImageUpdate",
        ),
        (
            event(event_type="Preempt"),
            terms(("web_0",)),
            "event E-1 (Preempt) also hits web_1, not known to be ready (ready is: web_0): prepare, then name every VM by its Azure"
            " name in ready_resources",
        ),
    ],
)
def test_an_objection_names_the_event_and_what_is_missing(candidate: Event, agreed: Terms, reason: Optional[str]) -> None:
    """C-14, C-23: an approval holds for every VM of the event, and a deletion is not hastened by default."""
    assert objection(candidate, agreed) == reason
