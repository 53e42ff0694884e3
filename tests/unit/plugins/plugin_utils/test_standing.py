# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether maintenance is near a host, for those who only want to know (`_standing`)."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._time import format_instant
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._standing import standing
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.zones_as_data import DAY, HOUR, MINUTE
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.plugin_utils.fleet_as_data import (
    ANSWER,
    NOW,
    UNREACHABLE,
    event,
    facing,
    failed,
    heard,
    hosts,
    listed,
    record,
    status,
)

SOON = NOW + 9 * MINUTE


def told(hostvars: Mapping[str, Mapping[str, Any]], host: str = "h0", **given: Any) -> List[str]:
    """The answer and the reason."""
    found = standing(hosts(hostvars), facing(**given), host)
    return [found["answer"], found["why"]]


def scope(*events: Any, status: Optional[Mapping[str, Any]] = None) -> Dict[str, Dict[str, Any]]:
    """Two peers, and one who has nothing to do with them."""
    more: Dict[str, Any] = {} if status is None else {"status": status}
    pair = {"h%d" % n: heard("web_%d" % n, *events, rolling_maintenance_scope="s", **more) for n in range(2)}
    return {**pair, "other": heard("other", rolling_maintenance_scope="t")}


def since(seconds: float) -> Dict[str, Any]:
    return status(agent_good_since=format_instant(NOW - seconds))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"not_before": SOON}, "Reboot of this host in 9 min"),
        ({"not_before": SOON, "names": "WEB_1"}, "Reboot of a peer, WEB_1 in 9 min"),
        ({"not_before": None}, "Reboot of this host can start at any moment"),
        ({"not_before": NOW - 60}, "Reboot of this host in 0 s"),
        ({"event_status": "Started", "names": "web_1"}, "Reboot of a peer, web_1 has started"),
        ({"not_before": SOON, "names": "nobody"}, "Reboot of a peer, nobody in 9 min"),
        ({"not_before": NOW + HOUR}, "Reboot of this host in 1 h"),
    ],
)
def test_an_event_of_the_host_or_of_a_peer_is_maintenance(fields: Dict[str, Any], words: str) -> None:
    assert told(scope(event(**fields))) == ["maintenance", words]


def test_the_events_come_with_the_answer() -> None:
    found = standing(hosts(scope(event(not_before=SOON), event("E2", "web_1", NOW + DAY))), facing(), "h0")
    assert found["events"] == [event(not_before=SOON)]


def test_somebody_elses_event_is_not_our_matter() -> None:
    hostvars = {**scope(status=since(DAY)), "other": heard("other", event("E2", "other", SOON), rolling_maintenance_scope="t")}
    assert told(hostvars) == ["clear", "no event is near"]
    assert told(hostvars, "other")[0] == "maintenance"


def test_how_near_is_for_the_user_to_say() -> None:
    later = scope(event(not_before=NOW + 2 * HOUR))
    assert told(later) == ["clear", "the next one is a Reboot in 2 h"]
    assert told(later, gate_within="2h")[0] == "maintenance"


def test_a_short_pause_that_is_left_to_azure_is_no_maintenance() -> None:
    """C-14. But it shows that the feature is on."""
    assert told(scope(event(not_before=SOON, event_type="Freeze", duration_seconds=5))) == ["clear", "no event is near"]


def test_a_host_that_is_not_back_yet_is_still_in_maintenance() -> None:
    hostvars = scope(status=status(record("RECOVERING"), record("SEEN", "E2")))
    assert told(hostvars) == ["maintenance", "h0 is RECOVERING for event E1; h1 is RECOVERING for event E1"]


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        (None, "unknown"),
        (status(agent_good_since=None), "unknown"),
        (failed("it hangs"), "unknown"),
        (since(6 * MINUTE), "unknown"),
        (since(7 * MINUTE), "clear"),
        (since(DAY), "clear"),
    ],
)
def test_an_empty_document_says_nothing_while_the_feature_is_young(state: Optional[Mapping[str, Any]], answer: str) -> None:
    """C-7: the first call can take two minutes, and events five more."""
    assert told(scope(status=state))[0] == answer


def test_who_does_not_know_says_why() -> None:
    assert told(scope(status=since(60))) == [
        "unknown",
        "no event is shown, and this scope has been watched for 1 min only: Azure may not have begun to announce events",
    ]
    assert told(scope(status=status(agent_good_since=None)))[1] == (
        "no event is shown, and no agent of this scope is known to watch: is the role event_handlers there, and was this asked as root? "
        "Azure may not have begun to announce events"
    )
    dark = {"h0": {**listed("web_0"), ANSWER: UNREACHABLE}}
    assert told(dark) == [
        "unknown",
        "there is no answer of the metadata service (h0: Failed to connect to the host via ssh: no route to host)",
    ]
    assert told({"h0": listed("web_0")}) == ["unknown", "there is no answer of the metadata service (nobody was asked)"]


def test_one_good_answer_of_a_scope_is_enough() -> None:
    hostvars = {**scope(status=since(DAY)), "h1": {**listed("web_1"), ANSWER: UNREACHABLE, "rolling_maintenance_scope": "s"}}
    assert told(hostvars, "h1")[0] == "clear"


def test_a_host_that_nobody_knows_is_a_mistake() -> None:
    with pytest.raises(ConfigurationError, match="'h7' is no host of this fleet"):
        told(scope(), "h7")
