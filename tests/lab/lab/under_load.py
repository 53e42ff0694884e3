# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service behind HAProxy in a lab, and clients that never ask anything twice: for tests that no request is lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Sequence

from .client import Host, Lab, finish
from .waiting import until

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
HAPROXY_PORT = 9999
# Where the program is that takes a server out of the pool, on the balancer.
POOL = "/usr/local/lib/pool.py"
# Whatever is lost is seen: HAProxy repeats nothing and sends nothing elsewhere.
HAPROXY = """global
    stats socket ipv4@0.0.0.0:%d level admin
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


class Service:
    """Some hosts of a lab behind another one, which balances the load."""

    def __init__(self, lab: Lab, balancer: str, backends: Sequence[str]) -> None:
        self.lab = lab
        self.balancer = lab.hosts[balancer]
        self.backends = [lab.hosts[name] for name in backends]

    def start(self) -> None:
        servers = "".join("    server %s %s:80\n" % (host.name, host.address) for host in self.backends)
        write(self.balancer, "/etc/haproxy/haproxy.cfg", HAPROXY % HAPROXY_PORT + servers)
        write(self.balancer, POOL, (PROGRAMS / "pool.py").read_text(encoding="utf-8"))
        self.balancer.run("systemctl", "start", "haproxy")
        for host in self.backends:
            write(host, "/etc/nginx/sites-enabled/default", NGINX)
            write(host, "/usr/local/lib/backend.py", (PROGRAMS / "backend.py").read_text(encoding="utf-8"))
            write(host, "/etc/systemd/system/backend.service", UNIT)
            host.shell("systemctl daemon-reload; systemctl enable --now --quiet backend nginx")

    def wait_until_all_serve(self) -> None:
        """Each of them, seen by the one who sends the requests."""
        until(lambda: all(self.serves(host) for host in self.backends) and self._answers(), timeout=30)

    def serves(self, host: Host) -> bool:
        """Whether it would be sent a request."""
        return self.balancer.run("python3", "-B", POOL, "status", "web/" + host.name).strip() == "UP"

    def _answers(self) -> bool:
        program = "import urllib.request; urllib.request.urlopen('http://%s/health', timeout=5)" % self.balancer.address
        return self.lab.run(["python3", "-c", program]).returncode == 0

    def handler(self) -> Dict[str, Any]:
        """That takes its own host out, as the role installs it."""
        sockets = {"HAPROXY_SOCKETS": "%s:%d" % (self.balancer.address, HAPROXY_PORT), "HAPROXY_SERVERS": "web/{{ inventory_hostname }}"}
        return {"name": "haproxy", "order": 10, "ready": "haproxy", "limit": "30s", "environment": sockets}


def write(host: Host, path: str, text: str) -> None:
    host.shell("cat > %s <<'END'\n%s\nEND" % (path, text))


class Load:
    """Requests from the beginning of the block to its end."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.good = 0
        self.lost: List[str] = []

    def __enter__(self) -> Load:
        command = ["python3", "-B", str(PROGRAMS / "generator.py"), self._service.balancer.address]
        self._process = self._service.lab.start(command, stdin=subprocess.PIPE)
        return self

    def __exit__(self, *_problem: object) -> None:
        # Closing its standard input is the sign.
        told = json.loads(finish(self._process, timeout=60).stdout)
        self.good, self.lost = told["good"], told["lost"]
