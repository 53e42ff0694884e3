# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Written from the contract alone, with nothing of this collection: see an event, approve it, see it start, see it go.

Usage: independent_client.py BASE_URL SECONDS_BETWEEN_QUERIES
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request

base, pause = sys.argv[1], float(sys.argv[2])
url = base + "/metadata/scheduledevents?api-version=2020-07-01"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(body=None):
    data = None if body is None else json.dumps(body).encode()
    with opener.open(urllib.request.Request(url, data, {"Metadata": "true"}), timeout=120) as answer:
        return answer.read()


event = json.loads(ask())["Events"][0]
print(event["EventStatus"])
ask({"StartRequests": [{"EventId": event["EventId"]}]})
last = event["EventStatus"]
for _query in range(200):
    time.sleep(pause)
    found = [entry for entry in json.loads(ask())["Events"] if entry["EventId"].lower() == event["EventId"].lower()]
    state = found[0]["EventStatus"] if found else "gone"
    if state != last:
        print(state)
    last = state
    if state == "gone":
        sys.exit(0)
sys.exit("the event did not go away")
