# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plain data, as YAML and AWX hand it over, read key by key. Pure.

Private to the collection. Rules and windows are lists of entries; whatever is wrong in one is refused in one sentence
that names the entry and the key.
"""

from __future__ import annotations

from typing import Any, List, Mapping, NoReturn, Optional, Sequence, Tuple, TypeVar

from ._document import same_name
from ._errors import ConfigurationError, TimeFormatError
from ._time import parse_duration, quoted

Value = TypeVar("Value")


class Entry:
    """One entry of a list; each value comes in its form or is refused by name."""

    def __init__(self, values: Any, *, kind: str, number: int, keys: Sequence[str]) -> None:
        self.label = "%s %d" % (kind, number)
        if not isinstance(values, Mapping):
            raise ConfigurationError("%s: %s is not a mapping of keys to values" % (self.label, quoted(values)))
        if isinstance(values.get("name"), str):
            self.label += " " + quoted(values["name"])
        self._values = values
        for key in values:
            if key not in keys:
                raise ConfigurationError("%s: %s is not a key of a %s; it has %s" % (self.label, quoted(key), kind, ", ".join(keys)))

    def has(self, key: str) -> bool:
        return key in self._values

    def value(self, key: str) -> Any:
        """The value as it came; a key that is not there is refused."""
        if key not in self._values:
            raise ConfigurationError("%s: the key %s is missing" % (self.label, key))
        return self._values[key]

    def text(self, key: str) -> str:
        return self._text(key, self.value(key))

    def texts(self, key: str) -> Tuple[str, ...]:
        """A list with at least one text: an empty one would match nothing, and hardly anybody means that."""
        values = self.value(key)
        if not isinstance(values, (list, tuple)):
            self.refuse(key, "%s is not a list" % quoted(values))
        if not values:
            self.refuse(key, "the list is empty")
        return tuple(self._text(key, value) for value in values)

    def word(self, key: str, known: Mapping[str, Value]) -> Value:
        """What a text stands for, among known words, without case."""
        return self._known(key, self.text(key), known)

    def words(self, key: str, known: Mapping[str, Value]) -> Tuple[Value, ...]:
        return tuple(self._known(key, text, known) for text in self.texts(key))

    def flag(self, key: str) -> Optional[bool]:
        """True or False, None without the key. A word such as "yes" is refused: it is true wherever text is tested."""
        if not self.has(key):
            return None
        value = self.value(key)
        if not isinstance(value, bool):
            self.refuse(key, "%s is not true or false" % quoted(value))
        return value

    def duration(self, key: str) -> Optional[float]:
        return self.seconds(key, self.value(key)) if self.has(key) else None

    def seconds(self, key: str, value: Any) -> float:
        try:
            return parse_duration(value)
        except TimeFormatError as error:
            return self.refuse(key, error.message)

    def refuse(self, key: str, why: str) -> NoReturn:
        raise ConfigurationError("%s, %s: %s" % (self.label, key, why))

    def _text(self, key: str, value: Any) -> str:
        if isinstance(value, bool):
            self.refuse(key, "%s is not text; YAML makes a boolean of an unquoted yes, no, on or off: put it in quotes" % value)
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, "%s is not text" % quoted(value))
        return str(value)

    def _known(self, key: str, text: str, known: Mapping[str, Value]) -> Value:
        for word, value in known.items():
            if same_name(word, text):
                return value
        return self.refuse(key, "%s is none of %s" % (quoted(text), ", ".join(known)))


def read_entries(values: Any, *, kind: str, keys: Sequence[str]) -> List[Entry]:
    """The entries of a list, counted from 1 as people count."""
    if not isinstance(values, (list, tuple)):
        raise ConfigurationError("%s is not a list of %ss" % (quoted(values), kind))
    return [Entry(value, kind=kind, number=number, keys=keys) for number, value in enumerate(values, 1)]
