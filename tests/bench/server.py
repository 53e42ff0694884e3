# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server in a process of its own, so that client and server do not share an interpreter: the simulator, or a yardstick.

Prints one line of JSON with its URL and ends when its standard input does, which is when the one who started it ends.
"""

from __future__ import annotations

import http.server
import json
import sys
import threading
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "roles" / "imds_simulator" / "files"))

from imds_simulator import Simulator

API_VERSION = "2020-07-01"
VM = "web_0"
EVENTS_PATH = "/metadata/scheduledevents?api-version=" + API_VERSION


def populate(simulator: Simulator, events: int) -> str:
    """An availability set with so many events, far away; gives the endpoint of its first VM."""
    simulator.add_scope("web", kind="availability_set", vms=[VM, "web_1", "web_2"])
    for _number in range(events):
        simulator.schedule("Reboot", [VM, "web_1"], notice=7 * 24 * 3600, duration=9)
    return str(simulator.endpoint(VM))


def plain_server(body: bytes) -> http.server.ThreadingHTTPServer:
    """What Python's own http.server needs for the same bytes, with keep-alive and without any thought."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # One segment for head and body, and no waiting for an acknowledgement: as fast as it gets.
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is http.server's
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def document(endpoint: str) -> bytes:
    request = urllib.request.Request(endpoint + EVENTS_PATH, headers={"Metadata": "true"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        return bytes(answer.read())


def say(url: str) -> None:
    sys.stdout.write(json.dumps({"url": url}) + "\n")
    sys.stdout.flush()


def main(kind: str, events: int) -> None:
    with Simulator() as simulator:
        endpoint = populate(simulator, events)
        if kind == "simulator":
            say(endpoint)
            sys.stdin.read()
            return
        body = document(endpoint)
    with plain_server(body) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        say("http://127.0.0.1:%d" % server.server_address[1])
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
