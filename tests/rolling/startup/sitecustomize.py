# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Python reads this at its start. A module of Ansible comes as an archive that each process compiles, half of what the module costs.

Here the result is kept, by the hash of the source; a traceback names the archive that was compiled first. Each module still runs in a
process of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import zipimport
from types import CodeType
from typing import Any

_compile: Any = getattr(zipimport, "_compile_source", None)  # no part of its interface: without it, nothing is kept


def _compiled(path: str, source: bytes) -> CodeType:
    kept = os.path.join(str(sys.pycache_prefix), "archives", hashlib.sha256(sys.version.encode() + source).hexdigest())
    with contextlib.suppress(OSError, EOFError, ValueError, TypeError), open(kept, "rb") as file:
        found: CodeType = marshal.loads(file.read())
        return found
    made: CodeType = _compile(path, source)
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        new = "%s.%d" % (kept, os.getpid())
        with open(new, "wb") as file:
            file.write(marshal.dumps(made))
        os.rename(new, kept)
    return made


if sys.pycache_prefix and _compile is not None:
    setattr(zipimport, "_compile_source", _compiled)  # noqa: B010
