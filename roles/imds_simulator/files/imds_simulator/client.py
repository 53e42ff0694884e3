# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line's side of the control plane."""

from __future__ import annotations

import http.client
import json
from typing import Any, Dict, Optional
from urllib.parse import urlencode, urlsplit

from .errors import SimulatorError

TIMEOUT = 10.0


class UnreachableError(SimulatorError):
    """No simulator answers at the address."""


class RefusedError(SimulatorError):
    """The simulator says no; the text is its own."""


class Client:
    """Asks a running simulator. No proxy is ever used."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/"):
            raise UnreachableError("%r is no address of a control plane, such as http://127.0.0.1:9255" % url)
        self._url = url
        self._address = (parts.hostname, parts.port or 80)

    def ask(self, verb: str, path: str, body: Any = None, query: Optional[Dict[str, Optional[str]]] = None) -> Any:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = path + ("?" + urlencode(given) if given else "")
        connection = http.client.HTTPConnection(*self._address, timeout=TIMEOUT)
        try:
            connection.request(verb, target, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = json.loads(answer.read().decode("utf-8"))
        except (OSError, http.client.HTTPException) as problem:
            raise UnreachableError(
                "no simulator answers at %s (%s); start one with `serve`, or name its control plane with --control"
                % (self._url, getattr(problem, "strerror", None) or problem or type(problem).__name__)
            ) from problem
        except ValueError as problem:
            raise UnreachableError("what answers at %s is not the control plane of a simulator" % self._url) from problem
        finally:
            connection.close()
        if answer.status >= 400:
            raise RefusedError(str(data.get("error", data)) if isinstance(data, dict) else str(data))
        return data
