# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role event_handlers on real hosts, on both versions of Ansible: from nothing over an event to nothing."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping

import pytest
from lab import Host, Lab
from lab.ansible import Controller, Played

HOST, WATCHED, OTHER = "bastion", "worker1", "worker2"
# Whoever wants to see what was run, looks here; it is below none of the folders that are compared.
LOG = "/var/tmp/handlers.log"
COMPARED = "/etc /usr/local /var/lib /run"
# What changes by itself, or with every connection.
RESTLESS = r"^/run/(systemd|udev|user|log|sudo|utmp)|^/var/lib/(systemd|sudo|dbus|private)|^/run/(lock|sshd|shm|motd)|\.pyc$|/__pycache__$"
COMPARE, REMOVE, START = (
    "Compare the host with what is wanted",
    "Compare the host with one that has nothing of it",
    "Start the services, now and with the host",
)


@pytest.fixture
def python(controller: Controller, lab: Lab, targets: Mapping[str, str]) -> Dict[str, str]:
    """The oldest Python of a target where this Ansible bears it, which lies in root's home here; else the distribution's own."""
    if controller.core != "2.16":
        return {}
    for unit in ("agent", "executor"):
        folder = "/etc/systemd/system/azure-event-%s.service.d" % unit
        lab.hosts[HOST].shell(
            "mkdir -p %s && printf '[Service]\\nProtectHome=read-only\\nInaccessiblePaths=\\n' > %s/lab.conf" % (folder, folder)
        )
    return {"ansible_python_interpreter": targets["3.8"], "event_handlers_python": targets["3.8"]}


def _handler(version: int, **more: Any) -> Dict[str, Any]:
    """Says what it does, and in which version."""
    script = '#!/bin/sh\n[ "$1" = inspect ] && exit 2\necho "$1 version %d for $WHOM" >> %s\n' % (version, LOG)
    return {"name": "drain", "order": "10", "content": script, "limit": 5, "environment": {"WHOM": "web"}, **more}


def _play(controller: Controller, *, hosts: str = HOST, check: bool = False, good: bool = True, **variables: Any) -> Played:
    role = {
        "name": "role",
        "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers", "apply": {"diff": True}},
    }
    played = controller.play([role], hosts=hosts, check=check, ansible_become=True, **variables)
    assert (played.code == 0) == good, played.output
    return played


def _changed(played: Played, host: str = HOST) -> List[str]:
    return [task for task, hosts in played.results.items() if hosts.get(host, {}).get("changed")]


def _diff(played: Played, task: str) -> str:
    """The lines that would come, and those that would go."""
    (diff,) = played.results[task][HOST]["diff"]
    before, after = (str(diff[side]).splitlines() for side in ("before", "after"))
    return "\n".join(["+ " + line for line in after if line not in before] + ["- " + line for line in before if line not in after])


def _footprint(host: Host) -> str:
    """Every path, and every user and group."""
    return host.shell("find %s -xdev | grep -vE '%s' | sort; cut -d: -f1 /etc/passwd /etc/group" % (COMPARED, RESTLESS))


def _content(host: Host) -> str:
    """What is in the files that a role writes, and when they were written."""
    folders = "/etc /usr/local"
    return host.shell("find %s -xdev -type f -printf '%%p %%T@ %%m %%u %%g\\n' | grep -vE '\\.pyc |/etc/.pwd.lock' | sort" % folders)


def _status(host: Host) -> Any:
    return json.loads(host.run("azure-event-handlers", "status", "--json"))


def _log(host: Host) -> List[str]:
    return host.shell("cat %s 2>/dev/null; true" % LOG).splitlines()


def _active(host: Host) -> Dict[str, str]:
    units = ("azure-event-agent.service", "azure-event-executor.path", "azure-event-executor.service")
    return {unit: host.shell("systemctl is-enabled %s; systemctl is-active %s; true" % (unit, unit)) for unit in units}


def _main_process(host: Host, unit: str) -> str:
    return host.run("systemctl", "show", "--property=MainPID", "--value", unit).strip()


def _eventually(holds: Any, *, timeout: float = 20.0) -> None:
    end = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_handlers_live_on_a_host_from_installation_to_removal(lab: Lab, controller: Controller, python: Dict[str, str]) -> None:
    """W-46, W-47: it is not removed while prepared, and what an older handler has done is not undone by a newer one."""
    host = lab.hosts[HOST]
    host.run("rm", "-f", LOG)
    before = _footprint(host)

    # Check mode on a clean host.
    assert COMPARE in _changed(_play(controller, check=True, event_handlers_handlers=[_handler(1)], **python))
    assert _footprint(host) == before

    # Installed, and again.
    assert {COMPARE, START} <= set(_changed(_play(controller, event_handlers_handlers=[_handler(1)], **python)))
    assert _changed(_play(controller, event_handlers_handlers=[_handler(1)], **python)) == []
    assert {unit: said.split()[0] for unit, said in _active(host).items()} == dict.fromkeys(_active(host), "enabled")
    assert _active(host)["azure-event-agent.service"].split() == ["enabled", "active"]
    assert host.run("stat", "--format=%U", "/proc/%s" % _main_process(host, "azure-event-agent")).strip() == "azure-event-agent"

    # A handler from elsewhere; check mode on an installed host shows what would change, and nothing does.
    other = "/etc/azure-event-handlers/handlers.d/80-other"
    host.shell("printf '#!/bin/sh\\nexit 77\\n' > %s; chmod 755 %s" % (other, other))
    content = _content(host)
    checked = _play(controller, check=True, event_handlers_handlers=[_handler(2)], event_handlers_lease="3m", **python)
    assert _changed(checked) == [COMPARE]
    shown = _diff(checked, COMPARE).splitlines()
    assert [line for line in shown if "lease" in line or "version" in line] == [
        '+   "lease": "3m",',
        '+ echo "$1 version 2 for $WHOM" >> %s' % LOG,
        '-   "lease": "2m",',
        '- echo "$1 version 1 for $WHOM" >> %s' % LOG,
    ]
    assert _content(host) == content

    # A wrong configuration, all of which is said; the old one goes on.
    agent = _main_process(host, "azure-event-agent")
    wrong = _play(controller, good=False, event_handlers_handlers=[_handler(2, limit="2h")], event_handlers_lease="soon", **python)
    assert "/etc/azure-event-handlers/config.json, lease: " in wrong.output
    assert "the required handlers for Reboot may take" in wrong.output
    assert _content(host) == content
    assert _main_process(host, "azure-event-agent") == agent

    # Prepared by one version, upgraded meanwhile.
    event = lab.schedule("Reboot", host, notice=1800)
    _eventually(lambda: [record["state"] for record in _status(host)["records"]] == ["SEEN"])
    told = json.loads(host.run("azure-event-handlers", "request", "prepare", event.event_id, "--lease", "20m", "--json"))
    assert told["verdict"] == "ready"
    upgraded = _play(controller, event_handlers_handlers=[_handler(2)], **python)
    assert _changed(upgraded) == [COMPARE]
    assert "version 2" in host.run("cat", "/etc/azure-event-handlers/handlers.d/10-drain")
    assert _main_process(host, "azure-event-agent") != agent
    assert [record["state"] for record in _status(host)["records"]] == ["PREPARED"]

    # Not removed as it is, and removed when it may be given back first.
    refused = _play(controller, good=False, event_handlers_state="absent", **python)
    assert "The event %s (Reboot) is PREPARED on this host" % event.event_id in refused.output
    assert "azure-event-handlers request recover %s" % event.event_id in refused.output
    assert [record["state"] for record in _status(host)["records"]] == ["PREPARED"]
    assert _log(host) == ["prepare version 1 for web"]
    removed = _play(controller, event_handlers_state="absent", event_handlers_recover_first="true", **python)
    assert {"Give the host back first", REMOVE} <= set(_changed(removed))
    assert _log(host) == ["prepare version 1 for web", "recover version 1 for web"]

    # What is not ours stays, and is said; nothing else does.
    assert other in removed.results["Say what stays"][HOST]["msg"]
    assert _changed(_play(controller, event_handlers_state="absent", **python)) == []
    host.run("rm", "-r", "/etc/azure-event-handlers")
    event.cancel()
    assert _footprint(host).splitlines() == before.splitlines()
    assert host.shell("systemctl list-units --all --no-legend 'azure-event*'") == ""


@pytest.fixture(scope="module")
def installed(lab: Lab, newest_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host with an agent and a webhook, as it is after a start of the machine."""
    newest = Controller(lab, "newest", newest_programs, tmp_path_factory.mktemp("newest"))
    host = lab.hosts[WATCHED]
    sockets = _sockets(host)
    hook = {"url": "https://127.0.0.1:9/hook", "events": ["PREPARED"]}
    assert _changed(_play(newest, hosts=WATCHED, event_handlers_webhook=hook, event_handlers_webhook_secret="hush"), WATCHED)
    lab.schedule("Reboot", host, notice=1).wait("gone")
    host.wait_until_it_serves()
    _eventually(
        lambda: host.shell("systemctl is-active azure-event-agent azure-event-webhook azure-event-executor.path").split() == ["active"] * 3
    )
    assert _sockets(host) == sockets
    yield host
    assert _changed(_play(newest, hosts=WATCHED, event_handlers_state="absent"), WATCHED)


def _sockets(host: Host) -> List[str]:
    """At which somebody listens."""
    lines = host.run("ss", "--listening", "--numeric", "--no-header", "--tcp", "--udp", "--raw", "--unix").splitlines()
    return sorted(" ".join(line.split()[:1] + line.split()[4:5]) for line in lines if "/run/user/" not in line)


# Each way out of the agent's cage, as a name and a function that raises where there is none.
PROBE = """
import ctypes, json, os, socket, subprocess, sys

def to(address, port):
    socket.create_connection((address, port), timeout=3).close()

def unix(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.connect(path)

def write(path):
    with open(path, "w") as file:
        file.write("x")
    os.unlink(path)

def read(path):
    if os.path.isdir(path):
        os.listdir(path)
    else:
        open(path, "rb").read(1)

def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10)

def serve():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        own.listen()

def namespace():
    if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) != 0:
        raise OSError(ctypes.get_errno(), "unshare")

run_folder = "/run/azure-event-handlers/"
ways = {
    "start a unit": lambda: run("systemctl", "--no-ask-password", "start", "probe.service"),
    "run a unit": lambda: run("systemd-run", "--no-ask-password", "--quiet", "true"),
    "reach systemd": lambda: unix("/run/systemd/private"),
    "reach the bus": lambda: unix("/run/dbus/system_bus_socket"),
    "reach another host": lambda: to(sys.argv[1], 22),
    "reach this host": lambda: to("127.0.0.1", 22),
    "serve": serve,
    "become root": lambda: os.setuid(0),
    "signal others": lambda: os.kill(1, 0),
    **{"write " + folder: lambda folder=folder: write(folder + "/probe") for folder in (
        "/etc", "/etc/azure-event-handlers/handlers.d", "/usr/local/lib/azure-event-handlers", "/var/lib/azure-event-handlers",
        "/var/lib", "/tmp", "/var/tmp", "/dev/shm", "/run", run_folder, run_folder + "requests", run_folder + "answers",
        run_folder + "units", run_folder + "outbox", "/etc/systemd/system", "/run/systemd/system", "/root", "/home/ops")},
    **{"read " + path: lambda path=path: read(path) for path in (
        "/etc/shadow", "/etc/ssh/ssh_host_ed25519_key", "/var/lib/azure-event-handlers/records", run_folder + "requests",
        run_folder + "lock", "/etc/azure-event-handlers/webhook.secret", "/proc/1/environ", "/home/ops")},
}
needed = {
    "ask the service": lambda: to("169.254.169.254", 80),
    "file a request": lambda: write(run_folder + "agent-requests/.probe"),
    "write its own": lambda: write(run_folder + "agent/probe"),
    "read the status": lambda: read(run_folder + "status.json"),
    "read the configuration": lambda: read("/etc/azure-event-handlers/config.json"),
    "read answers": lambda: read(run_folder + "answers"),
}
# The last one: what succeeds changes who this is.
last = {"make a namespace": namespace}
found = {}
for name, way in {**ways, **needed, **last}.items():
    try:
        way()
    except Exception as error:
        found[name] = type(error).__name__
    else:
        found[name] = "open"
with open(sys.argv[2], "w") as file:
    json.dump({"ways": {name: found[name] for name in [*ways, *last]}, "needed": {name: found[name] for name in needed}}, file)
"""


def _probed_as_the_agent(host: Host, other: Host) -> Any:
    """What the agent could do who runs somebody else's code."""
    answer = "/run/azure-event-handlers/agent/probed.json"
    folder = "/etc/systemd/system/azure-event-agent.service.d"
    start = "/usr/bin/python3 -I -B /usr/local/lib/probe.py %s %s" % (other.address, answer)
    drop_in = "[Service]\\nRestart=no\\nExecStart=\\nExecStart=%s\\n" % start
    host.shell("mkdir %s && printf '%s' > %s/probe.conf && systemctl daemon-reload" % (folder, drop_in, folder))
    try:
        host.run("systemctl", "restart", "azure-event-agent")
        _eventually(lambda: host.shell("test -s %s && echo yes; true" % answer) == "yes\n", timeout=60.0)
        return json.loads(host.run("cat", answer))
    finally:
        host.shell("rm -rf %s %s; systemctl daemon-reload; systemctl restart azure-event-agent" % (folder, answer))


def test_the_agent_can_ask_and_file_requests_and_nothing_else(lab: Lab, installed: Host) -> None:
    host, other = installed, lab.hosts[OTHER]
    said = host.run("systemd-analyze", "security", "--no-pager", "azure-event-agent")
    assert float(said.split("Overall exposure level for azure-event-agent.service:")[1].split()[0]) <= 2.0

    # What is shut for the agent is open for somebody else, so that it is the cage that shuts it.
    unit = "[Service]\\nType=oneshot\\nExecStart=/bin/true\\n"
    host.shell("mkdir -p /run/systemd/system; printf '%s' > /run/systemd/system/probe.service; systemctl daemon-reload" % unit)
    _write(host, "/usr/local/lib/probe.py", PROBE)
    host.run("python3", "-I", "-B", "/usr/local/lib/probe.py", other.address, "/run/probed.json", timeout=60.0)
    free = json.loads(host.run("cat", "/run/probed.json"))
    assert {name for name, found in free["ways"].items() if found != "open"} == set()

    probed = _probed_as_the_agent(host, other)
    assert {name for name, found in probed["needed"].items() if found != "open"} == set()
    shown = host.run("systemctl", "show", "--property=IPAddressAllow,IPAddressDeny", "azure-event-agent").split()
    assert shown[0] == "IPAddressAllow=169.254.169.254/32"
    assert {word.replace("IPAddressDeny=", "") for word in shown[1:]} == {"0.0.0.0/0", "::/0"}
    # The kernel's filter of addresses needs a right that hosts of a lab do not have everywhere; the rest holds everywhere.
    unfiltered = set() if _filters_addresses(host, other) else {"reach another host", "reach this host"}
    assert {name for name, found in probed["ways"].items() if found == "open"} == unfiltered


def _filters_addresses(host: Host, other: Host) -> bool:
    """Whether systemd can keep a unit from an address here."""
    words = "import socket; socket.create_connection((%r, 22), timeout=3)" % other.address
    return "Error" in host.shell(
        "systemd-run --quiet --wait --pipe --property=IPAddressDeny=any python3 -c %s 2>&1; true" % shlex.quote(words)
    )


def _write(host: Host, path: str, text: str) -> None:
    host.run("python3", "-c", "import sys; open(sys.argv[1], 'w').write(sys.argv[2])", path, text)


def test_however_many_requests_come_the_executor_still_hears(lab: Lab, installed: Host) -> None:
    """An agent that floods it, and kills in between: the unit that starts it does not give up."""
    flood = """
    cd /run/azure-event-handlers/agent-requests
    for number in $(seq 40); do
        touch strange-$number; mkdir -p stays; systemctl kill --signal=KILL azure-event-executor.service 2>/dev/null
    done; true
    """
    installed.shell(flood, timeout=60.0)
    told = json.loads(
        installed.run(
            "azure-event-handlers", "request", "hold", "--for", "1h", "--by", "a test", "--reason", "flood", "--json", timeout=60.0
        )
    )
    assert told["ok"], told
    assert installed.run("systemctl", "is-active", "azure-event-executor.path").strip() == "active"
    assert "held by a test" in installed.run("azure-event-handlers", "status")
