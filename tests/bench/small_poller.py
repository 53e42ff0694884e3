# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A yardstick: about the least that watches for events with requests. It decides nothing, and sees no failure through."""

import time

import requests

session = requests.Session()
session.headers["Metadata"] = "true"
seen = []
while True:
    answer = session.get("http://169.254.169.254/metadata/scheduledevents", params={"api-version": "2020-07-01"}, timeout=130)
    events = answer.json()["Events"]
    if events != seen:
        print(events, flush=True)
        seen = events
    time.sleep(1)
