# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the outside talks to a lab: one question and one answer, each a line of JSON, on a socket in the lab's folder."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any, Dict, Iterator

from .errors import LabError

SOCKET = "socket"
LONGEST = 64 * 1024 * 1024


@contextlib.contextmanager
def _short(folder: Path) -> Iterator[str]:
    """A name for the socket that is never too long, however deep the folder is."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield "/proc/self/fd/%d/%s" % (handle, SOCKET)
    finally:
        os.close(handle)


def listen(folder: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _short(folder) as name:
        listener.bind(name)
    os.chmod(folder / SOCKET, 0o600)
    listener.listen(64)
    return listener


def ask(folder: Path, question: Dict[str, Any], *, timeout: float = 120.0) -> Any:
    """The answer; LabError when the lab says no, or is not there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            with _short(folder) as name:
                connection.connect(name)
            send(connection, question)
            answer = receive(connection)
        except (OSError, ValueError) as problem:
            raise LabError("no lab answers in %s (%s)" % (folder, problem or type(problem).__name__)) from problem
    if "error" in answer:
        raise LabError(str(answer["error"]))
    return answer["result"]


def send(connection: socket.socket, message: Dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode("utf-8") + b"\n")


def receive(connection: socket.socket) -> Dict[str, Any]:
    """ValueError when what comes is no whole message."""
    with connection.makefile("rb") as stream:
        line = stream.readline(LONGEST)
    message = json.loads(line.decode("utf-8"))
    if not isinstance(message, dict):
        raise ValueError("not a message")
    return message
