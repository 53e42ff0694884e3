# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On a host of the lab, behind its nginx: an application that takes its time, a fifth of a second or five."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECONDS = {"/slow": 5.0, "/health": 0.0}


class Application(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        time.sleep(SECONDS.get(self.path, 0.2))
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_words: object) -> None:
        """Nobody reads it."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 9000), Application).serve_forever()
