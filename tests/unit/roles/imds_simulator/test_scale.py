# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several thousand VMs in one process, and nothing that grows with them."""

from __future__ import annotations

import http.client
from typing import Any
from urllib.parse import urlsplit

VMS = 3000


def test_three_thousand_vms_live_in_one_process(make_sim: Any) -> None:
    """C-21: a hundred scopes, a third of the VMs alone; each asks once and sees what is its own."""
    sim = make_sim(log_size=100)
    for scope in range(100):
        sim.add_scope("set%d" % scope, kind="scale_set", vms=["set%d_%d" % (scope, number) for number in range(20)])
    for number in range(VMS - 2000):
        sim.add_vm("vm%d" % number)
    for scope in range(0, 100, 2):
        sim.schedule("Reboot", ["set%d_0" % scope], notice=900, runs_for=60)
    parts = urlsplit(sim.data_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    seen = 0
    for vm in list(sim.fabric.vms):
        connection.request("GET", "/vm/%s/metadata/scheduledevents?api-version=2020-07-01" % vm, headers={"Metadata": "true"})
        seen += b"Scheduled" in connection.getresponse().read()
    connection.close()
    assert seen == 50 * 20
    assert sim.status()["log"] == {"size": 100, "received": VMS, "forgotten": VMS - 100}
    sim.advance(900)
    sim.advance(60)
    assert [event.outcome for event in sim.events()] == ["completed"] * 50
