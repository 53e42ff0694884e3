# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose disk was wiped on the way, and the evidence that the playbook has of its own (`_outcomes`)."""

from __future__ import annotations

from typing import Any, Dict

from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.nights import Night, at, entry, key_of

KEY = key_of("E1")
FORGOTTEN = "This host knows of no such event, so nothing of it is in effect."


def redeployed() -> Night:
    """An event of two hosts, who gave their word. One of them has come back without its records, as it was first installed."""
    night = Night(entry("E1", "web1 web2", event={"event_type": "Redeploy"}))
    night.give_word()
    night.remember("vote")
    seen = {"state": "gone", "started_seen": True, "started_at": at(70), "by": "idle1", "at": at(120)}
    said = {"key": KEY, "witness": "idle1", "at": at(60), "result": None, "outcome": "taken", "msg": ""}
    night.tell("web1", watched={KEY: seen}, posted=[said])
    closed: Dict[str, Any] = {"over": True, "state": "CLOSED", "message": "Nothing of this event is in effect here.", "failed": False}
    night.tell("web1", over={KEY: closed}, evidence={KEY: {"schema": 1, "result": "recovered", "state": "CLOSED", "healthy": True}})
    night.tell("web2", over={KEY: {"over": True, "state": None, "message": FORGOTTEN, "failed": False}}, evidence={KEY: None})
    return night


def test_the_playbooks_evidence_has_what_the_disk_had() -> None:
    """W-49: who was ready, who gave its word, what was posted and from where, and when the event was seen to start and to be gone."""
    (told,) = redeployed().outcome()["events"]
    assert told["event"]["event_type"] == "Redeploy"
    yes = {"ok": True, "at": at(20)}
    assert (told["votes"], told["commits"]) == ({"web1": yes, "web2": yes}, {"web1": yes, "web2": yes})
    assert [(post["witness"], post["outcome"]) for post in told["posts"]] == [("idle1", "taken")]
    assert (told["approved_by"], told["started"], told["gone"], told["witness"]) == ("us", at(70), at(120), "idle1")
    forgotten = told["hosts"]["web2"]
    assert (forgotten["own"], forgotten["result"], forgotten["over"], forgotten["message"]) == (None, None, True, FORGOTTEN.rstrip("."))
    assert forgotten["prepared"]["ok"] is True
    assert forgotten["committed"]["ok"] is True
    assert [host["state"] for host in told["hosts"].values()] == ["CLOSED", None]
    assert (told["healthy"], told["result"]) == (True, "recovered")
    assert redeployed().outcome()["failures"] == []
