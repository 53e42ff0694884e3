# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In the lab's network: clients that ask one thing after the other, keep their connections, and never ask anything twice.

Ends when its standard input does, and says how many answers were good and how many requests were lost.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from typing import List

CLIENTS = 8
ONE_SLOW_IN = 12
PATIENCE = 10.0


class Client(threading.Thread):
    def __init__(self, address: str, number: int) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._number = number
        self.good = 0
        self.lost: List[str] = []
        self.over = False

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._address, 80, timeout=PATIENCE)
        turn = self._number
        while not self.over:
            turn += 1
            path = "/slow" if turn % ONE_SLOW_IN == 0 else "/quick"
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    raise OSError("status %d" % answer.status)
                self.good += 1
            except (OSError, http.client.HTTPException) as problem:
                self.lost.append("%.1f %s: %s" % (time.time(), path, problem))
                connection.close()
                time.sleep(0.1)


def main(address: str) -> None:
    clients = [Client(address, number) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    sys.stdin.read()
    for client in clients:
        client.over = True
    for client in clients:
        client.join(PATIENCE + 5)
    print(json.dumps({"good": sum(client.good for client in clients), "lost": sorted(line for client in clients for line in client.lost)}))


if __name__ == "__main__":
    main(sys.argv[1])
