# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from typing import Any, List, Optional, Tuple

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.connection.local import Connection as Local

DOCUMENTATION = r"""
name: folder
short_description: Reach a host that is a folder on this machine, unless that host is dark
description:
  - Works as the connection C(local) does.
  - While there is a file C(dark) in the host's folder, nobody reaches it, and whoever is connected is thrown out.
  - While there is a file C(hung), whoever speaks to it hears nothing, without end. A file C(stale) is the same until the
    connection is reset, as with a connection whose other side has vanished and come back.
  - While there is a file C(broken), every task ends with an error that is none of the connection's, as where sudo does not answer.
options:
  fleet_folder:
    description: The folder of the host.
    type: path
    vars:
      - name: fleet_folder
  # The connection C(local) of later versions asks for these.
  become_success_timeout:
    description: As of C(local).
    type: int
    default: 10
  become_strip_preamble:
    description: As of C(local).
    type: bool
    default: true
extends_documentation_fragment:
  - connection_pipelining
"""

LOOK = 0.05
DARK, HUNG, STALE, BROKEN = "dark", "hung", "stale", "broken"


class Connection(Local):  # type: ignore[misc]  # ansible-core brings no types
    transport = "folder"

    def _connect(self) -> Any:
        self._refuse_if_dark()
        return super()._connect()

    def exec_command(self, cmd: Any, in_data: Optional[bytes] = None, sudoable: bool = True) -> Tuple[int, bytes, bytes]:
        """Whatever runs there when the connection breaks goes on by itself, and nobody hears of it."""
        self._hang()
        self._connect()
        process = subprocess.Popen(
            cmd,
            shell=isinstance(cmd, (str, bytes)),
            executable="/bin/sh",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        said: List[Tuple[bytes, bytes]] = []
        listening = threading.Thread(target=lambda: said.append(process.communicate(in_data)), daemon=True)
        listening.start()
        while listening.is_alive():
            listening.join(LOOK)
            self._refuse_if_dark()
            self._freeze(process)
        self._hang()
        self._refuse_if_dark()
        return process.returncode, *said[0]

    def put_file(self, in_path: str, out_path: str) -> None:
        self._hang()
        self._refuse_if_dark()
        super().put_file(in_path, out_path)

    def fetch_file(self, in_path: str, out_path: str) -> None:
        self._hang()
        self._refuse_if_dark()
        super().fetch_file(in_path, out_path)

    def reset(self) -> None:
        """The old connection is thrown away, and what has hung with it."""
        if self._has(STALE):
            os.unlink(self._path(STALE))
        self._refuse_if_dark()

    def _hang(self) -> None:
        while self._has(HUNG) or self._has(STALE):
            time.sleep(LOOK)

    def _freeze(self, process: subprocess.Popen[bytes]) -> None:
        """A host that stands still, and then what runs on it goes on as well."""
        if not self._has(HUNG):
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGSTOP)
        self._hang()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGCONT)

    def _refuse_if_dark(self) -> None:
        if self._has(DARK):
            raise AnsibleConnectionFailure("ssh: connect to host %s port 22: No route to host" % self._play_context.remote_addr)
        if self._has(BROKEN):
            raise AnsibleError("Timeout (12s) waiting for privilege escalation prompt")

    def _has(self, mark: str) -> bool:
        return os.path.exists(self._path(mark))

    def _path(self, mark: str) -> str:
        return os.path.join(str(self.get_option("fleet_folder")), mark)
