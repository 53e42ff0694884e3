# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host of the lab is, before anything happens to it."""

from __future__ import annotations

import json

import pytest
from lab import Host, Lab
from lab.plan import plan
from lab.waiting import until

NAMES = [host.name for host in plan(6)]
ASK = """python3 -c '
import urllib.request
request = urllib.request.Request("http://169.254.169.254%s", headers={"Metadata": "true"})
print(urllib.request.urlopen(request).read().decode())
'"""
EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
MANY = """python3 -c '
import http.client
for _ in range(8):
    connection = http.client.HTTPConnection("169.254.169.254")
    connection.request("GET", "%s", headers={"Metadata": "true"})
    print(connection.getresponse().status)
'"""
INSTANCE = "/metadata/instance?api-version=2021-02-01"


@pytest.fixture(params=NAMES)
def host(request: pytest.FixtureRequest, lab: Lab) -> Host:
    return lab.hosts[request.param]


def test_a_host_is_a_whole_system(host: Host) -> None:
    assert host.run("cat", "/proc/1/comm").strip() == "systemd"
    assert host.run("systemctl", "is-system-running", "--wait").strip() == "running"
    assert host.run("stat", "--file-system", "--format=%T", "/").strip() == "overlayfs"
    assert host.run("findmnt", "--noheadings", "--output=FSTYPE", "/mnt/resource").strip() == "tmpfs"


def test_a_host_is_reached_by_ssh_with_a_key(host: Host) -> None:
    answer = host.ssh("hostname; id -un; sudo -n id -un")
    assert answer.stdout.split() == [host.plan.host_name, "ops", "root"], answer.stderr


def test_the_metadata_service_knows_a_host_by_its_address(host: Host) -> None:
    """C-1, C-28: at the true address, and each is told its own name, which is none of the others it has."""
    compute = json.loads(host.ssh(ASK % INSTANCE).stdout)["compute"]
    assert compute["name"] == host.vm_name
    assert compute["osProfile"]["computerName"] == host.plan.host_name
    assert host.vm_name.casefold() not in (host.name.casefold(), host.plan.host_name.casefold())


def test_hosts_see_the_events_of_their_scope_alone(lab: Lab) -> None:
    """C-21: told by a Resources in another letter case than the VM's own."""
    event = lab.schedule("Reboot", "web-fe2", notice=600)
    try:
        told = {name: json.loads(host.ssh(ASK % EVENTS).stdout)["Events"] for name, host in lab.hosts.items()}
    finally:
        event.cancel()
    assert {name for name, events in told.items() if events} == {"frontend1", "frontend2"}
    assert [each["Resources"] for each in told["frontend1"]] == [["web-fe2"]]


def test_the_rate_limit_is_on(lab: Lab) -> None:
    """C-8: five a second for each VM; the other hosts are not hit."""
    one, other = lab.hosts["worker1"], lab.hosts["worker2"]
    answers = one.ssh(MANY % EVENTS).stdout.split()
    assert answers.count("200") >= 5
    assert "429" in answers
    assert json.loads(other.ssh(ASK % EVENTS).stdout)["Events"] == []


def test_no_route_leads_outside(lab: Lab) -> None:
    """Neither for a host nor for whoever runs in the lab's network."""
    shown = lab.run(["ip", "-json", "route"])
    assert [route["dst"] for route in json.loads(shown.stdout)] == ["10.77.0.0/24"]
    assert sorted(link["ifname"] for link in json.loads(lab.run(["ip", "-json", "link"]).stdout)) == sorted(
        ["lo", "lab0", *(host.plan.port for host in lab.hosts.values())]
    )
    for host in lab.hosts.values():
        assert sorted(route["dst"] for route in json.loads(host.run("ip", "-json", "route"))) == ["10.77.0.0/24", "169.254.169.254"]
        for address in ("192.0.2.1", "8.8.8.8", "2001:db8::1"):
            assert "unreachable" in host.shell("ip route get %s 2>&1; true" % address)
    for address in ("192.0.2.1", "8.8.8.8"):
        assert "unreachable" in lab.run(["ip", "route", "get", address]).stderr


def test_a_host_that_reboots_by_itself_comes_back(lab: Lab) -> None:
    host = lab.hosts["pool1"]
    before = host.boot_id
    host.ssh("sudo systemctl reboot")
    until(lambda: host.state()["boots"] == 2, timeout=30)
    host.wait_until_it_serves()
    assert host.boot_id != before


def test_a_host_that_is_powered_off_inside_stays_off(lab: Lab) -> None:
    host = lab.hosts["pool1"]
    host.ssh("sudo systemctl poweroff")
    until(lambda: host.state()["state"] == "down", timeout=30)
    host.boot()
    host.wait_until_it_serves()
