# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text for people on a terminal: headings, marks and tables that bear a terminal without colours, UTF-8 or width."""

from __future__ import annotations

import os
import shutil
import textwrap
from dataclasses import dataclass
from typing import Iterable, List, Mapping, Sequence, TextIO, Tuple

WIDEST = 100  # longer lines are hard to read
NARROWEST = 60

# What a mark is called, and how it looks with UTF-8 and without.
MARKS: Mapping[str, Tuple[str, str]] = {
    "good": ("✔", "[ok]"),
    "bad": ("✘", "[failed]"),
    "said": ("▸", ">"),
    "event": ("◆", "@"),
    "empty": ("○", "o"),
    "full": ("●", "*"),
    "busy": ("↻", "~"),
    "none": ("·", "-"),
    "rule": ("─", "-"),
    "side": ("│", "|"),
}
# What a terminal without UTF-8 is shown instead.
PLAIN = str.maketrans({"…": "..."})
COLOURS = {"good": "32", "bad": "31", "bold": "1", "dim": "2", "code": "36", "busy": "33"}


@dataclass(frozen=True)
class Terminal:
    """What the place where the text goes can show."""

    colour: bool
    utf8: bool
    width: int

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str]) -> Terminal:
        columns = shutil.get_terminal_size((80, 24)).columns
        return cls(
            colour=stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM", "") not in ("", "dumb"),
            utf8=_is_utf8(stream.encoding) and _is_utf8(_locale(environment)),
            width=max(NARROWEST, min(WIDEST, columns - 1)),
        )


def _locale(environment: Mapping[str, str]) -> str:
    """Python itself writes UTF-8 also where the locale is C; the terminal may not."""
    return environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""


def _is_utf8(name: str) -> bool:
    return "utf8" in (name or "").lower().replace("-", "")


class Page:
    """Writes a story, line by line, each at once."""

    def __init__(self, stream: TextIO, terminal: Terminal) -> None:
        self._stream = stream
        self.terminal = terminal

    @classmethod
    def on(cls, stream: TextIO) -> Page:
        return cls(stream, Terminal.of(stream, os.environ))

    def mark(self, name: str) -> str:
        rich, plain = MARKS[name]
        return rich if self.terminal.utf8 else plain

    def paint(self, text: str, colour: str) -> str:
        return "\033[%sm%s\033[0m" % (COLOURS[colour], text) if self.terminal.colour else text

    def line(self, text: str = "") -> None:
        if not self.terminal.utf8:
            text = text.translate(PLAIN).encode("ascii", "replace").decode("ascii")
        self._stream.write(text + "\n")
        self._stream.flush()

    def heading(self, left: str, right: str = "") -> None:
        rule = self.mark("rule")
        filled = max(3, self.terminal.width - len(left) - len(right) - 5)
        self.line()
        self.line("%s %s %s %s" % (self.paint(rule * 2, "dim"), self.paint(left, "bold"), self.paint(rule * filled, "dim"), right))

    def text(self, text: str) -> None:
        for line in self._wrapped(text, 3):
            self.line("   " + line)

    def marked(self, mark: str, text: str, colour: str = "") -> None:
        """A paragraph with a mark in front, hanging."""
        shown = self.mark(mark)
        first, *rest = self._wrapped(text, 4 + len(shown))
        self.line("   %s %s" % (self.paint(shown, colour or "dim"), first))
        for line in rest:
            self.line(" " * (4 + len(shown)) + line)

    def code(self, lines: Iterable[str]) -> None:
        self.line()
        for line in lines:
            self.line("   %s %s" % (self.paint(self.mark("side"), "dim"), self.paint(line, "code")))
        self.line()

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """The first row is the heading; cells may hold marks but no colours, so that the columns stay straight."""
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for number, row in enumerate(rows):
            text = "   ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            self.line("     " + (self.paint(text, "dim") if number == 0 else text))

    def _wrapped(self, text: str, indent: int) -> List[str]:
        return textwrap.wrap(text, self.terminal.width - indent, break_long_words=False, break_on_hyphens=False) or [""]
