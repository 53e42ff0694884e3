# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each type of event does to a host, seen on the host."""

from __future__ import annotations

import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, Iterator, List

import pytest
from lab import Host, Lab, LabError
from lab.waiting import until

# Writes the time of the host's own monotonic clock five times a second, which a frozen process cannot.
CONNECT = "import socket; socket.create_connection(('%s', 22), 1)"
TICK = "while :; do cut -d' ' -f1 /proc/uptime >> /var/tmp/ticks; sleep 0.2; done"


@pytest.fixture
def host(lab: Lab) -> Host:
    return lab.hosts["frontend1"]


@pytest.fixture(autouse=True)
def _quick(lab: Lab) -> Iterator[None]:
    lab.habits(order="host_first", gap=0.2, impact_after=0, away=0.5)
    yield
    lab.habits(order="host_first", gap=0.2, impact_after=0, away=0.5)


def _mark(host: Host) -> None:
    host.shell("echo kept > /var/lib/mark; echo kept > /mnt/resource/mark; echo kept > /run/mark; sync")


def _marks(host: Host) -> Dict[str, bool]:
    left = host.shell("ls /var/lib/mark /mnt/resource/mark /run/mark 2>/dev/null; true").split()
    return {
        name: any(path.startswith(start) for path in left) for name, start in (("disk", "/var"), ("temporary", "/mnt"), ("memory", "/run"))
    }


def test_a_reboot_keeps_both_disks(lab: Lab, host: Host) -> None:
    """C-14: non-persistent memory is lost, and nothing else."""
    _mark(host)
    before, other = host.boot_id, lab.hosts["frontend2"].boot_id
    lab.schedule("Reboot", host, notice=1).wait("gone")
    assert host.boot_id != before
    assert lab.hosts["frontend2"].boot_id == other
    assert _marks(host) == {"disk": True, "temporary": True, "memory": False}
    # The kernel's own uptime is the machine's; the host's age is that of its first process.
    assert 0 <= int(host.run("ps", "-o", "etimes=", "-p", "1")) < 120
    assert "Stopped" in host.run("journalctl", "--boot=-1", "--unit=ssh.service", "--output=cat")


def test_a_redeploy_empties_the_temporary_disk(lab: Lab, host: Host) -> None:
    """C-14: ephemeral disks are lost; and the old machine does not end in order."""
    _mark(host)
    before = host.boot_id
    lab.schedule("Redeploy", host, notice=1).wait("gone")
    assert host.boot_id != before
    assert _marks(host) == {"disk": True, "temporary": False, "memory": False}


def test_a_freeze_stops_every_process_and_every_packet(lab: Lab, host: Host) -> None:
    """C-14: paused, with memory, files and processes kept."""
    lab.habits(away=3)
    _mark(host)
    before, processes = host.boot_id, host.shell("pgrep -x systemd-journal; pgrep -xo sshd")
    host.ssh("nohup sh -c %r > /dev/null 2>&1 &" % TICK)
    event = lab.schedule("Freeze", host, notice=1)
    event.wait("Started")
    until(lambda: bool(host.state()["frozen"]))
    # The kernel of a host that only does not run would still take the connection.
    assert "timed out" in lab.run(["python3", "-c", CONNECT % host.address]).stderr
    event.wait("gone")
    assert (host.boot_id, host.shell("pgrep -x systemd-journal; pgrep -xo sshd")) == (before, processes)
    assert all(_marks(host).values())
    assert _longest_pause(host) > 2.5
    host.run("pkill", "-u", "ops", "-f", "ticks", check=False)


def _longest_pause(host: Host) -> float:
    """Only what came after it ends the pause."""
    before = len(_ticks(host))
    until(lambda: len(_ticks(host)) > before + 1)
    ticks = _ticks(host)
    return max(later - earlier for earlier, later in zip(ticks, ticks[1:]))


def _ticks(host: Host) -> List[float]:
    return [float(line) for line in host.run("cat", "/var/tmp/ticks").split()]


def test_an_event_of_two_hosts_hits_both(lab: Lab) -> None:
    """C-20."""
    hosts = [lab.hosts["worker1"], lab.hosts["worker2"]]
    before = [host.boot_id for host in hosts]
    lab.schedule("Reboot", *hosts, notice=1).wait("gone")
    assert all(host.boot_id != was for host, was in zip(hosts, before))


def test_broken_hardware_comes_without_notice(lab: Lab, host: Host) -> None:
    """C-15: Started at first sight."""
    _mark(host)
    before = host.boot_id
    lab.fail_hardware(host).wait("gone")
    assert host.boot_id != before
    assert _marks(host)["temporary"] is False
    assert "Stopped" not in host.run("journalctl", "--boot=-1", "--unit=ssh.service", "--output=cat")


@pytest.mark.parametrize(("order", "serves_when_gone"), [("host_first", True), ("together", True), ("document_first", False)], ids=str)
def test_what_comes_first_is_a_setting(lab: Lab, host: Host, order: str, serves_when_gone: bool) -> None:
    gap = 6
    lab.habits(order=order, gap=gap, away=2)
    event = lab.schedule("Reboot", host, notice=1)
    event.wait("Started")
    until(lambda: host.state()["state"] == "down")
    came_back = None
    while event.state != "gone":
        if came_back is None and host.state()["state"] == "running" and host.act("wait", timeout=0.1):
            came_back = time.monotonic()
        time.sleep(0.05)
    gone = time.monotonic()
    assert (host.state()["state"] == "running") is serves_when_gone
    if order == "host_first":
        assert came_back is not None
        assert gone - came_back > gap / 2
    if order == "together":
        assert came_back is None or gone - came_back < gap / 2
    host.wait_until_it_serves()


def test_an_event_that_is_cancelled_hits_nobody(lab: Lab, host: Host) -> None:
    """C-15."""
    before = host.boot_id
    event = lab.schedule("Reboot", host, notice=2)
    event.cancel()
    time.sleep(2.5)
    assert host.boot_id == before


def test_two_events_at_once_both_come_to_an_end(lab: Lab, host: Host) -> None:
    before = host.boot_id
    events = [lab.schedule("Reboot", host, notice=1), lab.schedule("Redeploy", host, notice=1)]
    for event in events:
        event.wait("gone")
    host.wait_until_it_serves()
    assert host.boot_id != before


def test_of_two_freezes_the_longer_one_counts(lab: Lab, host: Host) -> None:
    lab.habits(away=8)
    short = lab.schedule("Freeze", host, notice=1)
    until(lambda: host.state()["freezes"] == 1)
    lab.habits(away=16)
    long = lab.schedule("Freeze", host, notice=0)
    until(lambda: host.state()["freezes"] == 2)
    until(lambda: host.state()["freezes"] == 1)
    assert host.state()["frozen"], "the end of the short one ended both"
    for event in (short, long):
        event.wait("gone")
    assert not host.state()["frozen"]


def test_an_event_does_not_strike_a_host_that_was_recreated_under_the_name(lab: Lab) -> None:
    """C-28: the old VM's Reboot is of no concern to the new one."""
    hit, recreated = lab.hosts["worker1"], lab.hosts["worker2"]
    struck = hit.boot_id
    lab.habits(impact_after=10)
    event = lab.schedule("Reboot", hit, recreated, notice=0)
    event.wait("Started")
    recreated.recreate()
    recreated.wait_until_it_serves()
    spared = recreated.boot_id
    event.wait("gone")
    assert (hit.boot_id != struck, recreated.boot_id == spared) == (True, True)


def test_a_host_that_nobody_reaches_has_its_event_all_the_same(lab: Lab, host: Host) -> None:
    before = host.boot_id
    with host.unreachable():
        lab.schedule("Reboot", host, notice=1).wait("gone", timeout=20)
        assert host.boot_id != before
    host.wait_until_it_serves()


def test_what_runs_on_a_host_that_is_just_booting_runs_there_or_not_at_all(lab: Lab, host: Host) -> None:
    names, mine = set(), os.uname().nodename
    for _turn in range(4):
        host.vanish()
        host.boot()
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            with contextlib.suppress(LabError):
                names.add(host.run("cat", "/proc/1/comm", "/etc/hostname"))
    assert names == {"systemd\n%s\n" % host.plan.host_name}
    assert mine not in names
    host.wait_until_it_serves()


def test_the_state_of_all_can_be_asked_while_one_is_taken_away(lab: Lab) -> None:
    host = lab.hosts["pool1"]
    with ThreadPoolExecutor(max_workers=1) as other:
        done = other.submit(host.recreate)
        while not done.done():
            assert lab.hosts["frontend2"].state()["state"] == "running"
        done.result()
    host.wait_until_it_serves()


@pytest.mark.parametrize(("event_type", "name"), [("Preempt", "pool1"), ("Terminate", "bastion")])
def test_a_host_that_is_taken_away_is_gone_for_good(lab: Lab, event_type: str, name: str) -> None:
    """C-14: the VM is deleted, its disks with it."""
    host = lab.hosts[name]
    lab.schedule(event_type, host, notice=1).wait("gone")
    assert host.state()["state"] == "deleted"
    assert host.ssh("true", patience=1).returncode == 255
    assert host.vm_name not in [vm["vm"] for vm in lab.simulator("GET", "/vms")["vms"]]
    with pytest.raises(LabError, match="deleted"):
        host.run("true")
    with pytest.raises(LabError, match="deleted"):
        host.boot()
