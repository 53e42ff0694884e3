# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault strikes as it says, and is over afterwards."""

from __future__ import annotations

import time

import pytest
from lab import Host, Lab, LabError
from lab.waiting import until

CONNECT = "python3 -c 'import socket; socket.create_connection((\"169.254.169.254\", 80), 3)'"
INSTANCE = "/metadata/instance/compute/vmId?api-version=2021-02-01&format=text"
ASK = """python3 -c '
import urllib.request
request = urllib.request.Request("http://169.254.169.254%s", headers={"Metadata": "true"})
print(urllib.request.urlopen(request).read().decode())
'"""


@pytest.fixture
def host(lab: Lab) -> Host:
    return lab.hosts["frontend1"]


def test_an_unreachable_host_is_silent(host: Host) -> None:
    with host.unreachable():
        answer = host.ssh("true", patience=1)
        assert answer.returncode == 255
        assert "timed out" in answer.stderr
        assert host.run("hostname").strip() == host.plan.host_name
    assert host.ssh("true").returncode == 0


def test_faults_of_the_network_outlast_a_reboot(host: Host) -> None:
    with host.unreachable(), host.without_metadata():
        boots = host.state()["boots"]
        host.run("systemctl", "reboot", check=False)
        until(lambda: host.state()["boots"] == boots + 1)
        assert not host.act("wait", timeout=3)
        assert "ConnectionRefusedError" in host.shell(CONNECT + " 2>&1; true")
    host.wait_until_it_serves()
    assert host.ssh(CONNECT).returncode == 0


def test_a_host_that_is_off_is_silent(host: Host) -> None:
    host.vanish()
    assert "timed out" in host.ssh("true", patience=1).stderr
    host.boot()
    host.wait_until_it_serves()


def test_ssh_can_be_refused(host: Host) -> None:
    with host.without_ssh():
        assert "Connection refused" in host.ssh("true").stderr
    assert host.ssh("true").returncode == 0


def test_the_metadata_service_can_be_refused_for_one_host(lab: Lab, host: Host) -> None:
    with host.without_metadata():
        assert "ConnectionRefusedError" in host.ssh(CONNECT).stderr
        assert lab.hosts["frontend2"].ssh(CONNECT).returncode == 0
    assert host.ssh(CONNECT).returncode == 0


def test_the_metadata_service_can_be_slow_for_one_host(lab: Lab, host: Host) -> None:
    def seconds(asked: Host) -> float:
        began = time.monotonic()
        assert asked.ssh(ASK % INSTANCE).returncode == 0
        return time.monotonic() - began

    with host.slow_metadata(15.0):
        assert seconds(host) > 15.0
        assert seconds(lab.hosts["frontend2"]) < 15.0
    assert lab.simulator("GET", "/faults")["faults"] == []


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_host_can_believe_a_wrong_time(host: Host, seconds: int) -> None:
    times = "python3 -c 'import time; print(time.time(), time.monotonic())'"
    with host.wrong_clock(seconds):
        wall, monotonic = (float(word) for word in host.ssh(times).stdout.split())
        assert abs(wall - time.time() - seconds) < 30
        assert abs(monotonic - time.monotonic()) < 30
    assert abs(float(host.ssh(times).stdout.split()[0]) - time.time()) < 30


def test_a_disk_can_be_full(host: Host) -> None:
    with host.full_disk():
        assert "No space left on device" in host.ssh("echo x > ~/x").stderr
        assert host.ssh("echo x > /mnt/resource/x || sudo sh -c 'echo x > /mnt/resource/x'").returncode == 0
    assert host.ssh("echo x > ~/x && cat ~/x").stdout == "x\n"


def test_a_host_can_vanish_without_closing_its_connections(lab: Lab, host: Host) -> None:
    with lab.start(["ssh", "-F", str(lab.folder / "ssh" / "config"), host.name, "echo there; sleep 60"]) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == "there\n"
        host.vanish()
        assert host.state()["state"] == "down"
        time.sleep(2)
        assert held.poll() is None
        host.boot()
        host.wait_until_it_serves()
        held.kill()


def test_a_host_can_fail_to_come_back(lab: Lab, host: Host) -> None:
    lab.habits(gap=0.2, away=0.5)
    host.keep_down()
    lab.schedule("Reboot", host, notice=1).wait("gone")
    assert host.state()["state"] == "down"
    host.boot_again()
    host.wait_until_it_serves()


@pytest.mark.parametrize("name", ["worker1", "bastion"])
@pytest.mark.parametrize("deleted_before", [False, True])
def test_a_host_can_be_made_anew_under_its_old_names(lab: Lab, name: str, deleted_before: bool) -> None:
    """C-28: with another vmId, and with other keys and disks."""
    host = lab.hosts[name]
    lab.habits(gap=0.2, away=0.2)
    host.shell("echo old > /var/lib/mark")
    vm_id, machine_id, key = host.ssh(ASK % INSTANCE).stdout, host.run("cat", "/etc/machine-id"), host.state()["host_key"]
    if deleted_before:
        lab.schedule("Preempt", host, notice=1).wait("gone")
    host.recreate()
    host.wait_until_it_serves()
    assert host.ssh("hostname").stdout.strip() == host.plan.host_name
    assert host.ssh(ASK % INSTANCE).stdout not in ("", vm_id)
    assert host.run("cat", "/etc/machine-id") != machine_id
    assert host.state()["host_key"] != key
    assert host.shell("cat /var/lib/mark 2>/dev/null; true") == ""


def test_nothing_outlasts_its_time(lab: Lab, host: Host) -> None:
    began = time.monotonic()
    with pytest.raises(LabError, match="not done within 1 s"):
        lab.run(["sleep", "20"], timeout=1)
    with pytest.raises(LabError, match="ended with 124"):
        host.run("sleep", "777", timeout=1)
    assert time.monotonic() - began < 20
    assert host.shell("pgrep -f 'sleep 77[7]'; true") == ""


def test_faults_of_sessions_can_be_nested(host: Host) -> None:
    with host.environment(OUTER="1"):
        with host.wrong_clock(3600):
            assert "OUTER=1" in host.ssh("env").stdout.splitlines()
            assert float(host.ssh("date +%s").stdout) > time.time() + 3000
        assert "OUTER=1" in host.ssh("env").stdout.splitlines()
    assert "OUTER=1" not in host.ssh("env").stdout.splitlines()


def test_what_makes_no_sense_is_refused_in_one_sentence(lab: Lab, host: Host) -> None:
    with pytest.raises(LabError, match="order: 'never' is none of host_first, together, document_first"):
        lab.habits(order="never")
    with pytest.raises(LabError, match="gap: a number of seconds is needed"):
        lab.habits(gap=-1)
    with pytest.raises(LabError, match="no habit 'mood'"):
        lab.habits(mood="bad")
    with pytest.raises(LabError, match="cannot boot: it is running"):
        host.boot()
    with pytest.raises(LabError, match="nobody can 'tickle' a host"):
        host.act("tickle")
    with pytest.raises(LabError, match="there is no VM 'nobody'"):
        lab.schedule("Reboot", "nobody")
