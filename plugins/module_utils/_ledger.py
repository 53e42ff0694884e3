# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has been posted for each event, and what is known to have come of it. Pure.

Private to the collection. A post may be lost with its effect, so "not approved" is said only of what surely had none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from ._errors import ServiceError

# A post without a clear answer is repeated once (W-35).
MOST_POSTS = 2
# A service that asks for a longer pause than this gets no second post: the operator has to know now.
LONGEST_PAUSE = 30.0


@dataclass(frozen=True)
class Entry:
    """One event. error is that of its last post that failed, unclear that of the last one that may have had an effect."""

    posts: int = 0
    taken: bool = False
    error: Optional[ServiceError] = None
    unclear: Optional[ServiceError] = None

    @property
    def may_be_taken(self) -> bool:
        return self.taken or self.unclear is not None

    @property
    def open(self) -> bool:
        """Whether it may be posted, for the first time or once more."""
        if self.taken or self.posts >= MOST_POSTS:
            return False
        return self.error is None or not (self.error.permanent or self.error.retry_after > LONGEST_PAUSE)

    def after(self, error: Optional[ServiceError]) -> Entry:
        """The entry after one more post, which failed with this error or was taken."""
        if error is None:
            return replace(self, posts=self.posts + 1, taken=True)
        return replace(self, posts=self.posts + 1, error=error, unclear=self.unclear if error.ineffective else error)
