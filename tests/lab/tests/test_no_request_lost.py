# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service behind HAProxy while every one of its hosts is rebooted by Azure: with handlers and agent no request is lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from lab import Host, Lab
from lab.ansible import Controller
from lab.client import finish
from lab.guarded import Guarded
from lab.waiting import until

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
BALANCER, *BACKENDS = ["frontend1", "frontend2", "worker1", "worker2"]
# Whatever is lost is seen: HAProxy repeats nothing and sends nothing elsewhere.
HAPROXY = """global
    stats socket ipv4@0.0.0.0:9999 level admin
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 30s
    retries 0
    option httpchk GET /health
    default-server check inter 500ms fall 2 rise 2
frontend service
    bind :80
    default_backend web
backend web
    balance roundrobin
"""
NGINX = """server {
  listen 80 default_server;
  keepalive_timeout 60;
  location / { proxy_pass http://127.0.0.1:9000; proxy_http_version 1.1; proxy_set_header Connection ""; }
}
"""
UNIT = """[Service]
ExecStart=/usr/bin/python3 -B /usr/local/lib/backend.py
[Install]
WantedBy=multi-user.target
"""
RULES = [{"name": "all", "event_types": ["Reboot"], "action": "prepare_and_approve", "start": "now"}]
SETTINGS = {"rules": RULES, "approve_reserve": "10s", "prepare_budget": "60s", "recover_budget": "30s"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(hosts=4) as opened:
        yield opened


@pytest.fixture(scope="module")
def backends(lab: Lab, newest_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> List[Guarded]:
    """The service is up, and the role on the hosts that serve."""
    servers = "".join("    server %s %s:80\n" % (name, lab.hosts[name].address) for name in BACKENDS)
    _write(lab.hosts[BALANCER], "/etc/haproxy/haproxy.cfg", HAPROXY + servers)
    lab.hosts[BALANCER].run("systemctl", "start", "haproxy")
    for name in BACKENDS:
        host = lab.hosts[name]
        _write(host, "/etc/nginx/sites-enabled/default", NGINX)
        _write(host, "/usr/local/lib/backend.py", (PROGRAMS / "backend.py").read_text(encoding="utf-8"))
        _write(host, "/etc/systemd/system/backend.service", UNIT)
        host.shell("systemctl daemon-reload; systemctl enable --now --quiet backend nginx")
    controller = Controller(lab, "newest", newest_programs, tmp_path_factory.mktemp("controller"))
    role = {"name": "role", "ansible.builtin.include_role": {"name": "cloud_maintenance.azure.event_handlers"}}
    handler = {
        "name": "haproxy",
        "order": 10,
        "ready": "haproxy",
        "limit": "30s",
        "environment": {"HAPROXY_SOCKETS": "%s:9999" % lab.hosts[BALANCER].address, "HAPROXY_SERVERS": "web/{{ inventory_hostname }}"},
    }
    installed = controller.play(
        [role], hosts=",".join(BACKENDS), ansible_become=True, event_handlers_mode="watch", event_handlers_handlers=[handler], timeout=300
    )
    assert installed.code == 0, installed.output
    until(lambda: _ask(lab, "/health").returncode == 0, timeout=20)
    return [Guarded(lab, lab.hosts[name]) for name in BACKENDS]


def _write(host: Host, path: str, text: str) -> None:
    host.shell("cat > %s <<'END'\n%s\nEND" % (path, text))


def _ask(lab: Lab, path: str) -> subprocess.CompletedProcess[str]:
    program = "import urllib.request; urllib.request.urlopen('http://%s%s', timeout=5)" % (lab.hosts[BALANCER].address, path)
    return lab.run(["python3", "-c", program])


class Load:
    """Requests from the beginning of the block to its end."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.told: Dict[str, Any] = {}

    def __enter__(self) -> Load:
        command = ["python3", "-B", str(PROGRAMS / "generator.py"), self._lab.hosts[BALANCER].address]
        self._process = self._lab.start(command, stdin=subprocess.PIPE)
        return self

    def __exit__(self, *_problem: object) -> None:
        # Closing its standard input is the sign.
        self.told = json.loads(finish(self._process, timeout=60).stdout)


def test_no_request_is_lost_with_handlers_and_many_without(lab: Lab, backends: List[Guarded]) -> None:
    """Every backend is rebooted in turn; nobody is at the controller."""
    lab.habits(away=2.0, impact_after=0.0)
    for host in backends:
        host.configure(**SETTINGS, mode="prepare_and_approve")
    with Load(lab) as load:
        for host in backends:
            event = lab.schedule("Reboot", host.host, notice=900)
            host.wait(event, "CLOSED", timeout=120)
            assert host.evidence(event)["approved_by"] == "us"
    print("with handlers: %d good, %d lost" % (load.told["good"], len(load.told["lost"])))
    assert load.told["lost"] == []
    assert load.told["good"] > 500

    for host in backends:
        host.configure(**SETTINGS, mode="watch")
    for host in backends:
        with Load(lab) as bare:
            event = lab.schedule("Reboot", host.host, notice=3)
            event.wait("gone")
            host.host.wait_until_it_serves()
        print("without: %d good, %d lost" % (bare.told["good"], len(bare.told["lost"])))
        assert bare.told["lost"] != [], "the measurement sees nothing"
