# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many small choices from one drawn value: ten thousand examples with twenty draws each would take minutes."""

from __future__ import annotations

from typing import Any, Sequence

from hypothesis import strategies as st


def thrown(count: int) -> Any:
    """The bytes for so many choices at most."""
    return st.binary(min_size=2 * count, max_size=2 * count)


class Dice:
    """Choices in the order in which they are asked for; the first of everything once the dice are used up."""

    def __init__(self, dice: bytes) -> None:
        self._left = iter(dice)

    def below(self, limit: int) -> int:
        """A number from 0, of at most 65536."""
        return (next(self._left, 0) * 256 + next(self._left, 0)) % limit

    def one_of(self, choices: Sequence[Any]) -> Any:
        return choices[self.below(len(choices))]
