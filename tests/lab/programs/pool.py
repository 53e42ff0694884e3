# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On the load balancer of the lab: takes a server out of the pool until nobody uses it any more (leave), puts it back until it serves
(enter), or says how it is (status). A server that is out, or in, already is as good. Step by step as the page on extension points has it.
"""

from __future__ import annotations

import csv
import socket
import sys
import time
from typing import Callable, Dict

HAPROXY = ("127.0.0.1", 9999)
LIMIT = 40.0


def ask(command: str) -> str:
    with socket.create_connection(HAPROXY, timeout=5) as connection:
        connection.sendall(command.encode() + b"\n")
        with connection.makefile(encoding="utf-8") as answer:
            return answer.read()


def row_of(server: str) -> Dict[str, str]:
    rows = csv.DictReader(ask("show stat -1 4 -1").lstrip("# ").splitlines())
    return next(row for row in rows if "%s/%s" % (row["pxname"], row["svname"]) == server)


def is_empty(row: Dict[str, str]) -> bool:
    return int(row["scur"]) + int(row["qcur"]) == 0


def serves(row: Dict[str, str]) -> bool:
    return row["status"] == "UP"


def main(what: str, server: str) -> str:
    """What went wrong; empty if nothing did."""
    if what == "status":
        print(row_of(server)["status"])
        return ""
    if what == "enter":
        return told(server, "ready") or waited(server, serves)
    # HAProxy closes its idle connections when a server enters maintenance; `drain` again, so that its health is looked at.
    return told(server, "drain") or waited(server, is_empty) or told(server, "maint") or told(server, "drain")


def told(server: str, state: str) -> str:
    return ask("set server %s state %s" % (server, state)).strip()


def waited(server: str, done: Callable[[Dict[str, str]], bool]) -> str:
    end = time.monotonic() + LIMIT
    while not done(row_of(server)):
        if time.monotonic() > end:
            return "%s is not done after %g s" % (server, LIMIT)
        time.sleep(0.2)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]) or 0)
