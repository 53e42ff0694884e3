# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether maintenance is near a host, for those who only want to know: before a deployment, for instance. Pure.

Private to the collection. "Nobody knows" is an answer of its own: where the feature is young, an empty document says nothing (C-7).
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Sequence

from ..module_utils._document import event_result
from ..module_utils._errors import ConfigurationError
from ..module_utils._time import MINUTE, quoted, say_duration
from ._capacity import OUT, is_left_pause
from ._fleet import Host
from ._sightings import sightings
from ._verdicts import Facing, Verdict, verdicts

CLEAR, MAINTENANCE, UNKNOWN = "clear", "maintenance", "unknown"
# The first call can take two minutes, and the events of then five more (C-7).
_FEATURE_IS_YOUNG = 7.0 * MINUTE


def standing(hosts: Sequence[Host], facing: Facing, name: str) -> Dict[str, Any]:
    """clear, maintenance or unknown for a host and those who share its document, in plain data."""
    host = next((one for one in hosts if one.name == name), None)
    if host is None:
        raise ConfigurationError("%s is no host of this fleet" % quoted(name))
    members = sorted((one for one in hosts if one.scope_key == host.scope_key), key=lambda one: one.name)
    shown = [verdict for verdict in verdicts(sightings(hosts), facing) if _concerns(verdict, members)]
    near = [verdict for verdict in shown if _is_near(verdict, facing)]
    work = [words for one in members for words in _work_on(one)]
    if near or work:
        return _said(MAINTENANCE, [*(_say_near(verdict, host, facing) for verdict in near), *work], near, facing)
    why = _doubt(members, bool(shown), facing)
    if why is not None:
        return _said(UNKNOWN, [why], [], facing)
    return _said(CLEAR, [_say_clear(shown, facing)], [], facing)


def _said(answer: str, why: Sequence[str], found: Sequence[Verdict], facing: Facing) -> Dict[str, Any]:
    events = [event_result(verdict.sighting.event, queried_at=facing.now, vm_name=None) for verdict in found]
    return {"answer": answer, "why": "; ".join(why), "events": events}


def _concerns(verdict: Verdict, members: Sequence[Host]) -> bool:
    names = {host.name for host in members}
    return not names.isdisjoint(verdict.sighting.seen_by) or not names.isdisjoint(host.name for host in verdict.hosts)


def _is_near(verdict: Verdict, facing: Facing) -> bool:
    """A short pause that is left to Azure keeps its host in service (C-14)."""
    if is_left_pause(verdict):
        return False
    not_before = verdict.not_before
    return not_before is None or not_before - facing.now <= facing.options.gate_within


def _say_near(verdict: Verdict, host: Host, facing: Facing) -> str:
    event, not_before = verdict.sighting.event, verdict.not_before
    whom = "this host" if any(one.name == host.name for one in verdict.hosts) else "a peer, %s" % ", ".join(event.resources)
    if event.started:
        return "%s of %s has started" % (event.event_type, whom)
    if not_before is None:
        return "%s of %s can start at any moment" % (event.event_type, whom)
    return "%s of %s in %s" % (event.event_type, whom, say_duration(max(0.0, not_before - facing.now)))


def _work_on(host: Host) -> Iterator[str]:
    """An event that is gone already may still have its host out of service."""
    for record in () if host.status is None else host.status.records:
        if record.state in OUT:
            yield "%s is %s for event %s" % (host.name, record.state, record.event_id)


def _doubt(members: Sequence[Host], something: bool, facing: Facing) -> Optional[str]:
    """Why nobody knows. Where an event is shown, the feature is on."""
    answers = [(host, host.answer) for host in members if host.answer is not None]
    if not any(answer.ok for _host, answer in answers):
        said = ["%s: %s" % (host.name, answer.why.rstrip(".")) for host, answer in answers] or ["nobody was asked"]
        return "there is no answer of the metadata service (%s)" % ", ".join(said)
    if something:
        return None
    since = [host.status.agent_good_since for host in members if host.status is not None and host.status.agent_good_since is not None]
    age = facing.now - min(since, default=facing.now)
    if age >= _FEATURE_IS_YOUNG:
        return None
    if age > 0.0:
        return "no event is shown, and this scope has been watched for %s only: Azure may not have begun to announce events" % say_duration(
            age
        )
    words = "no event is shown, and no agent of this scope is known to watch: is the role event_handlers there, and was this asked as root?"
    return words + " Azure may not have begun to announce events"


def _say_clear(shown: Sequence[Verdict], facing: Facing) -> str:
    later = [verdict for verdict in shown if verdict.not_before is not None and not is_left_pause(verdict)]
    if not later:
        return "no event is near"
    first = later[0]
    return "the next one is a %s in %s" % (first.sighting.event.event_type, say_duration((first.not_before or 0.0) - facing.now))
