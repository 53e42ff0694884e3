# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan as a table for people. Pure.

Private to the collection. Plain ASCII as far as the plan is, and narrow enough for a terminal of usual width and for a mail.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..module_utils._windows import say_instant
from ._told import entries_of, instant, items, mapping, names, not_before_of, number, plain, say_blind, sentence, sentences, text
from ._verdicts import HELD, LEFT, REFUSED, RUNNING, WAVES

WIDTH = 100
_GAP = "  "
# The rest is the reason's.
_COLUMNS = (("PLACE", 9), ("EVENT", 8), ("TYPE", 9), ("HOSTS", 16), ("WHEN (UTC)", 16))
_REASON = WIDTH - sum(width + len(_GAP) for _name, width in _COLUMNS)
_ORDER = (RUNNING, WAVES, HELD, REFUSED, LEFT)
_NOTHING = "-"
# More hosts than this make a table of names.
_MOST_HOSTS = 12
_SHORT_ID = 8


@dataclass(frozen=True)
class _Row:
    order: Tuple[float, ...]
    cells: Tuple[str, ...]


def report(plan: Any, options: Any) -> str:
    """Never raises, whatever the plan is."""
    planned = mapping(plain(plan))
    waves = {_or_zero(wave.get("number")): wave for wave in (mapping(wave) for wave in items(planned.get("waves")))}
    rows = sorted((_row(entry, waves) for entry in entries_of(planned).values()), key=lambda row: row.order)
    lines = list(_head(planned, len(rows)))
    if rows:
        lines += ["", *_table([name for name, _width in _COLUMNS] + ["REASON"])]
        for row in rows:
            lines += _table(row.cells)
        lines.append("")
    lines += _foot(planned, mapping(plain(options)), waves)
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _head(plan: Mapping[str, Any], events: int) -> Iterator[str]:
    if not events:
        yield (
            "Azure announces no maintenance to these hosts."
            if say_blind(plan) is None
            else "No event is known, and not every host could be asked."
        )
    else:
        waves = _many(len(items(plan.get("waves"))), "wave")
        said = ["%d in %s" % (_count(plan, WAVES), waves), *("%d %s" % (_count(plan, place), place) for place in _ORDER if place != WAVES)]
        yield "%s: %s" % (_many(events, "event"), ", ".join(said))
    changed = sentence(plan.get("changed"))
    if changed is not None:
        yield from _wrapped("Nothing is begun: %s." % changed)


def _many(number_of: int, what: str) -> str:
    return "%d %s%s" % (number_of, what, "" if number_of == 1 else "s")


def _count(plan: Mapping[str, Any], place: str) -> int:
    return sum(1 for entry in entries_of(plan).values() if entry.get("place") == place)


def _row(entry: Mapping[str, Any], waves: Mapping[float, Mapping[str, Any]]) -> _Row:
    event, place, wave = mapping(entry.get("event")), entry.get("place"), entry.get("wave")
    known = place in _ORDER
    at = _when(entry, waves)
    shown = "wave %s" % (text(entry.get("component")) or "?") if place == WAVES else text(place) or "?"
    cells = (
        shown,
        short_id(event.get("event_id")),
        text(event.get("event_type")) or "?",
        _hosts(entry),
        _NOTHING if at is None else _short(at),
        _reason(entry),
    )
    first = float(_ORDER.index(str(place))) if known else float(len(_ORDER))
    return _Row((first, _or_zero(wave), float("-inf") if at is None else at), cells)


def short_id(event_id: Any) -> str:
    """What people tell events apart by."""
    return (text(event_id) or "?")[:_SHORT_ID]


def _hosts(entry: Mapping[str, Any]) -> str:
    hosts = names(entry.get("hosts"))
    more = ["and %d more" % (len(hosts) - _MOST_HOSTS)] if len(hosts) > _MOST_HOSTS else []
    strangers = ["(%s)" % name for name in names(entry.get("unmanaged"))[:_MOST_HOSTS]]
    return " ".join([*hosts[:_MOST_HOSTS], *more, *strangers]) or _NOTHING


def _reason(entry: Mapping[str, Any]) -> str:
    notes = sentences(entry.get("notes"))
    return "; ".join([sentence(entry.get("reason")) or _NOTHING, *notes])


def _when(entry: Mapping[str, Any], waves: Mapping[float, Mapping[str, Any]]) -> Optional[float]:
    """When something is done: by us, and where we do nothing, by Azure."""
    place = entry.get("place")
    if place == WAVES:
        return instant(mapping(waves.get(_or_zero(entry.get("wave")))).get("begin")) or instant(entry.get("start_at"))
    if place == HELD:
        return instant(entry.get("due_at"))
    return not_before_of(entry)


def _short(at: float) -> str:
    """A day and a time; nobody announces anything a year ahead."""
    day, date, clock = say_instant(at).split(" ")[:3]
    return "%s %s %s" % (day, date[5:], clock[:5])


def _table(cells: Sequence[str]) -> List[str]:
    widths = [*(width for _name, width in _COLUMNS), _REASON]
    columns = [textwrap.wrap(cell, width, break_on_hyphens=False) or [_NOTHING] for cell, width in zip(cells, widths)]
    height = max(len(column) for column in columns)
    rows = ([column[line] if line < len(column) else "" for column in columns] for line in range(height))
    return [_GAP.join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]


def _foot(plan: Mapping[str, Any], options: Mapping[str, Any], waves: Mapping[float, Mapping[str, Any]]) -> Iterator[str]:
    for key in sorted(waves):
        yield from _wrapped(_say_wave(waves[key]))
    blind = say_blind(plan)
    if blind is not None:
        yield from _wrapped(blind)
    for conflict in sentences(plan.get("conflicts")):
        yield from _wrapped("Look at the inventory: %s." % conflict)
    due = instant(plan.get("due_next"))
    if due is not None:
        yield from _wrapped("Due next: %s, event %s." % (say_instant(due), short_id(plan.get("due_next_event"))))
    bounds = ["%s %s" % (key, _share(options.get(key))) for key in ("max_unavailable", "min_available") if key in options]
    if bounds:
        yield "Bounds of all hosts: %s" % ", ".join(bounds)
    digest = text(plan.get("digest"))
    if digest is not None:
        yield "Digest of this plan: %s" % digest


def _share(value: Any) -> str:
    percent = number(mapping(value).get("percent"))
    return str(text(value) or value) if percent is None else "%d%%" % percent


def _say_wave(wave: Mapping[str, Any]) -> str:
    begin, end = instant(wave.get("begin")), instant(wave.get("end"))
    times = "" if begin is None or end is None else ", %s to about %s" % (say_instant(begin), _until(begin, end))
    guard = text(wave.get("guard"))
    return "Wave %d%s: %s%s." % (
        int(_or_zero(wave.get("number"))),
        times,
        ", ".join(names(wave.get("hosts"))) or "nobody",
        "; guard %s" % guard if guard else "",
    )


def _until(begin: float, end: float) -> str:
    """On the same day the clock is enough."""
    first, last = _short(begin), _short(end)
    return last.split(" ")[-1] if first.split(" ")[:2] == last.split(" ")[:2] else last


def _or_zero(value: Any) -> float:
    return number(value) or 0.0


def _wrapped(line: str) -> List[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=_GAP, break_on_hyphens=False)
