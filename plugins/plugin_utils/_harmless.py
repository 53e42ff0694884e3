# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What filters give, without anything that ansible-core would take for a template. Pure.

Private to the collection. On ansible-core 2.16 a fact that was made of other hosts' answers is templated again wherever it is used. A
description of an event, or the output of a handler, must not become a lookup on the controller.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

_OPENING = re.compile(r"\{(?=[{%#])")


def harmless(value: Any) -> Any:
    """The same plain data, in which no brace is followed by another one, by a percent sign or by a hash."""
    if isinstance(value, str):
        return _OPENING.sub("{ ", value)
    if isinstance(value, Mapping):
        return {harmless(key): harmless(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [harmless(one) for one in value]
    return value
