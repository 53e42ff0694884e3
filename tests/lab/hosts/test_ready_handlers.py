# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ready handlers with a real HAProxy, a real nginx and real units."""

from __future__ import annotations

import shlex
from typing import Callable, Iterator, List, Mapping, NamedTuple

import pytest
from lab import Host, Lab, LabError
from lab.ansible import folders_of
from lab.client import ROOT
from lab.waiting import until

HANDLERS = ROOT / "roles" / "event_handlers" / "files" / "handlers"
# What the executor gives a handler, and nothing else.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DONE, NOT_YET, WAS_SO = 0, 75, 77
OUT, IN = 0, 1

NGINX = """
server { listen 80; root /var/www; location = /health { try_files /health =404; } location / { return 200 "served\\n"; } }
"""
# A check in five a second; of the file in `web`, and of nothing but a connection in `plain`.
HAPROXY = """
global
    stats socket /run/haproxy/admin.sock mode 600 level admin
    stats socket ipv4@0.0.0.0:9999 level admin
defaults
    mode tcp
    timeout connect 2s
    timeout client 30s
    timeout server 30s
    default-server check inter 200ms fall 1 rise 3
frontend plain
    bind :81
    default_backend plain
backend plain
    server first {first}:80
    server second {second}:80
backend web
    option httpchk GET /health
    server first {first}:80
frontend kept
    mode http
    bind :82
    default_backend kept
backend kept
    mode http
    server first {first}:80
"""
# Keeps a connection open until it is stopped.
CLIENT = (
    "import socket, time; connection = socket.create_connection((%r, 81)); connection.sendall(b'GET / HTTP/1.1\\r\\n'); time.sleep(600)"
)
ASK = """
import socket
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/haproxy/admin.sock")
connection.sendall(b"{0}\\n")
print(connection.makefile().read())
"""


class Said(NamedTuple):
    code: int
    text: str


class Ready:
    """A ready handler on a host, called as its executor would call it."""

    def __init__(self, host: Host, name: str, **environment: str) -> None:
        self.host, self.name = host, name
        self.environment: Mapping[str, str] = {"PATH": PATH, "EVENT_KEY": "0123456789abcdef", **environment}

    def __call__(self, phase: str, **more: str) -> Said:
        variables = " ".join(shlex.quote("%s=%s" % pair) for pair in {**self.environment, **more}.items())
        script = "env -i %s %s %s < /dev/null 2>&1; echo $?" % (variables, shlex.quote(str(HANDLERS / self.name)), phase)
        *lines, code = self.host.shell(script).splitlines()
        return Said(int(code), "\n".join(lines))

    def until_done(self, phase: str) -> Said:
        said = [self(phase)]

        def is_done() -> bool:
            said[0] = self(phase)
            return said[0].code != NOT_YET

        try:
            if said[0].code == NOT_YET:
                until(is_done, timeout=20, pause=0.2)
        except LabError as error:
            raise LabError("%s: %s says %r" % (error, self.name, said[0].text)) from error
        return said[0]


@pytest.fixture(scope="module")
def lab(targets: Mapping[str, str]) -> Iterator[Lab]:
    with Lab(hosts=3, binds=[HANDLERS, *folders_of(list(targets.values()))]) as opened:
        yield opened


@pytest.fixture(scope="module")
def backend(lab: Lab) -> Host:
    """A web server, which is what gets events here."""
    for host in (lab.hosts["frontend1"], lab.hosts["frontend2"]):
        host.shell("rm -f /etc/nginx/sites-enabled/*; mkdir -p /var/www; echo healthy > /var/www/health")
        host.shell("cat > /etc/nginx/conf.d/lab.conf <<'END'\n%sEND\nsystemctl start nginx" % NGINX)
    return lab.hosts["frontend1"]


@pytest.fixture(scope="module")
def balancer(lab: Lab, backend: Host) -> Host:
    host = lab.hosts["worker1"]
    configuration = HAPROXY.format(first=backend.address, second=lab.hosts["frontend2"].address)
    host.shell("cat > /etc/haproxy/haproxy.cfg <<'END'\n%sEND\nsystemctl start haproxy" % configuration)
    until(lambda: status(host, "web/first") == status(host, "plain/first") == "UP")
    return host


def status(balancer: Host, name: str) -> str:
    """In HAProxy's own words."""
    return shown(balancer, name, 17)


def sessions(balancer: Host, name: str) -> str:
    return shown(balancer, name, 4)


def idle_connections(balancer: Host, name: str) -> str:
    """Its columns are named in the first line."""
    names, *rows = [line.lstrip("# ").split() for line in asked(balancer, "show servers conn")]
    return next(row[names.index("idle_cur")] for row in rows if row[0] == name)


def shown(balancer: Host, name: str, column: int) -> str:
    rows = [line.split(",") for line in asked(balancer, "show stat -1 4 -1")]
    return next(row[column] for row in rows if "/".join(row[:2]) == name)


def asked(balancer: Host, command: str) -> List[str]:
    """HAProxy itself."""
    return [line for line in balancer.run("python3", "-c", ASK.format(command)).splitlines() if line.strip()]


def test_nothing_of_the_image_serves_by_itself(lab: Lab) -> None:
    """A host of any other test is not to have a web server."""
    fresh = lab.hosts["frontend2"].shell("systemctl is-enabled nginx haproxy; true").split()
    assert fresh == ["disabled", "disabled"]


@pytest.mark.parametrize("how", ["its socket", "TCP"])
@pytest.mark.parametrize("state", ["drain", "maint"])
def test_a_server_of_haproxy_is_emptied_and_put_back(backend: Host, balancer: Host, how: str, state: str) -> None:
    here = balancer if how == "its socket" else backend
    place = "/run/haproxy/admin.sock" if how == "its socket" else "%s:9999" % balancer.address
    handler = Ready(here, "haproxy", HAPROXY_SOCKETS=place, HAPROXY_SERVERS="plain/first", HAPROXY_STATE=state)
    client = "lab-client-%s-%s" % (state, len(how))
    # The other server is out of the way, so that the client gets to this one.
    second = Ready(here, "haproxy", HAPROXY_SOCKETS=place, HAPROXY_SERVERS="plain/second", HAPROXY_STATE="maint")
    assert second("prepare").code == DONE
    balancer.run("systemd-run", "--unit=" + client, "python3", "-c", CLIENT % balancer.address)
    until(lambda: sessions(balancer, "plain/first") == "1")
    assert second("recover").code in (DONE, NOT_YET)

    assert handler("inspect").code == IN
    said = handler("prepare")
    assert said == (NOT_YET, "The servers plain/first at %s have 1 session left." % place)
    assert status(balancer, "plain/first") == {"drain": "DRAIN", "maint": "MAINT"}[state]
    assert status(balancer, "plain/second") != "MAINT"
    assert handler("inspect").code == IN
    balancer.run("systemctl", "stop", client)
    assert handler.until_done("prepare").code == DONE
    assert handler("inspect") == (OUT, "The servers plain/first at %s are out of service." % place)

    assert handler.until_done("recover").code == DONE
    assert status(balancer, "plain/first") == "UP"
    assert handler("recover").code == DONE
    assert handler("inspect").code == IN
    assert second.until_done("recover").code == DONE


@pytest.mark.parametrize("state", ["drain", "maint"])
def test_a_server_of_haproxy_comes_back_without_the_idle_connections_from_before(backend: Host, balancer: Host, state: str) -> None:
    """The host goes down and closes nothing; HAProxy would keep the connection for the first request after its return."""
    socket = "/run/haproxy/admin.sock"
    handler = Ready(balancer, "haproxy", HAPROXY_SOCKETS=socket, HAPROXY_SERVERS="kept/first", HAPROXY_STATE=state)
    program = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:82/', timeout=5).read().decode())"

    def leaves_a_connection() -> bool:
        """HAProxy counts it as idle some time after the answer, and closes it some seconds later."""
        assert balancer.run("python3", "-c", program).strip() == "served"
        return idle_connections(balancer, "kept/first") != "0"

    until(leaves_a_connection)
    assert handler.until_done("prepare").code == DONE
    assert idle_connections(balancer, "kept/first") == "0"
    assert status(balancer, "kept/first") == {"drain": "DRAIN", "maint": "MAINT"}[state]
    backend.vanish()
    backend.boot()
    backend.wait_until_it_serves()
    backend.run("systemctl", "start", "nginx")
    assert handler.until_done("recover").code == DONE
    until(lambda: {status(balancer, name) for name in ("kept/first", "plain/first", "web/first")} == {"UP"})
    assert balancer.run("python3", "-c", program).strip() == "served"


def test_a_server_of_haproxy_that_a_person_took_out_stays_out(backend: Host, balancer: Host) -> None:
    """W-42: found by the address, in both backends."""
    handler = Ready(backend, "haproxy", HAPROXY_SOCKETS="%s:9999" % balancer.address, HAPROXY_ADDRESS=backend.address)
    by_hand = Ready(balancer, "haproxy", HAPROXY_SOCKETS="/run/haproxy/admin.sock", HAPROXY_SERVERS="web/first", HAPROXY_STATE="maint")
    assert by_hand("prepare").code == DONE
    assert handler("prepare").code == DONE
    assert (status(balancer, "plain/first"), status(balancer, "web/first")) == ("DRAIN", "MAINT")
    assert handler.until_done("recover").code == DONE
    assert (status(balancer, "plain/first"), status(balancer, "web/first")) == ("UP", "MAINT")
    assert handler("prepare").code == DONE
    assert handler.until_done("recover").code == DONE
    assert by_hand.until_done("recover").code == DONE
    assert status(balancer, "web/first") == "UP"


def test_a_haproxy_that_was_restarted_is_told_again(backend: Host, balancer: Host) -> None:
    handler = Ready(backend, "haproxy", HAPROXY_SOCKETS="%s:9999" % balancer.address, HAPROXY_SERVERS="web/first")
    assert handler("prepare").code == DONE
    balancer.run("systemctl", "stop", "haproxy")
    assert handler("inspect") == (2, "HAProxy at %s:9999 does not answer: Connection refused." % balancer.address)
    assert handler("recover").code == 1
    balancer.run("systemctl", "start", "haproxy")
    assert handler("inspect").code == IN
    assert handler("prepare").code == DONE
    assert status(balancer, "web/first") == "DRAIN"
    assert handler.until_done("recover").code == DONE


def test_a_health_file_of_nginx_is_seen_by_the_load_balancer(backend: Host, balancer: Host) -> None:
    handler = Ready(backend, "nginx_health_file", HEALTH_FILE="/var/www/health", HEALTH_SETTLE="2s", HEALTH_URL="http://127.0.0.1/health")
    assert handler("inspect").code == IN
    until(lambda: status(balancer, "web/first") == "UP")
    assert handler("prepare").code == NOT_YET
    assert handler("inspect").code == IN
    assert handler.until_done("prepare").code == DONE
    assert status(balancer, "web/first") == "DOWN"
    assert handler("inspect").code == OUT
    assert handler("recover").code == DONE
    assert backend.run("cat", "/var/www/health") == "healthy\n"
    until(lambda: status(balancer, "web/first") == "UP")
    assert handler("inspect").code == IN


def test_recover_is_not_done_while_nginx_does_not_answer(backend: Host) -> None:
    handler = Ready(backend, "nginx_health_file", HEALTH_FILE="/var/www/health", HEALTH_SETTLE="0", HEALTH_URL="http://127.0.0.1/health")
    assert handler("prepare").code == DONE
    backend.run("systemctl", "stop", "nginx")
    assert handler("recover").code == NOT_YET
    backend.run("systemctl", "start", "nginx")
    assert handler("recover").code == DONE
    backend.run("rm", "/var/www/health")
    assert handler("inspect").code == OUT
    assert handler("prepare").code == WAS_SO
    assert handler("recover").code == DONE
    assert backend.shell("test -e /var/www/health; echo $?").strip() == "1"
    backend.shell("echo healthy > /var/www/health")


@pytest.fixture
def units(backend: Host) -> Callable[[], str]:
    """Four units of which three run; none of them starts at boot. Gives their states, in one word each."""
    unit = "[Service]\nType=simple\nExecStart=/bin/sleep infinity\n"
    for name in ("app-web", "app-batch", "app-idle"):
        backend.shell("printf %s > /etc/systemd/system/%s.service" % (shlex.quote(unit.replace("\n", "\\n")), name))
    # Its end takes a second.
    slow = "[Service]\nExecStart=/bin/sh -c \"trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done\"\n"
    backend.shell("cat > /etc/systemd/system/app-slow.service <<'END'\n%sEND" % slow)
    backend.run("systemctl", "daemon-reload")
    backend.run("systemctl", "start", "app-web", "app-batch", "app-slow")
    names = ("app-web", "app-slow", "app-batch", "app-idle")
    return lambda: " ".join(backend.shell("systemctl is-active %s; true" % " ".join(names)).split())


def test_services_come_back_after_a_reboot_and_no_others(backend: Host, units: Callable[[], str]) -> None:
    handler = Ready(backend, "systemd_services", SERVICES="app-web.service app-slow app-idle app-batch")
    assert handler("inspect").code == IN
    assert handler("prepare") == (DONE, "app-web.service, app-slow, app-batch stopped.")
    assert units() == "inactive inactive inactive inactive"
    assert handler("inspect").code == OUT
    assert handler("prepare", INTERRUPTED="1").code == DONE

    backend.vanish()
    backend.boot()
    backend.wait_until_it_serves()
    assert handler("recover") == (DONE, "app-batch, app-slow, app-web.service running again.")
    assert units() == "active active active inactive"
    assert handler("recover").code == DONE
    assert handler("inspect").code == IN


def test_services_that_a_person_stopped_stay_so(backend: Host, units: Callable[[], str]) -> None:
    handler = Ready(backend, "systemd_services", SERVICES="app-web app-idle", SERVICES_HEALTH="systemctl is-active app-batch")
    backend.run("systemctl", "stop", "app-web")
    assert handler("inspect").code == OUT
    assert handler("prepare").code == WAS_SO
    assert handler("recover").code == DONE
    assert units() == "inactive active active inactive"
    backend.run("systemctl", "start", "app-web")
    assert handler("prepare").code == DONE
    backend.run("systemctl", "stop", "app-batch")
    assert handler("recover") == (NOT_YET, "Everything is started, and systemctl is not content yet: inactive.")
    backend.run("systemctl", "start", "app-batch")
    assert handler("recover").code == DONE
    assert units() == "active active active inactive"


def test_a_service_that_does_not_start_is_told_with_where_to_look(backend: Host, units: Callable[[], str]) -> None:
    """W-43"""
    handler = Ready(backend, "systemd_services", SERVICES="app-web")
    assert handler("prepare").code == DONE
    folder = "/etc/systemd/system/app-web.service.d"
    backend.shell(
        "mkdir %s && printf '[Service]\\nExecStartPre=/bin/false\\n' > %s/broken.conf && systemctl daemon-reload" % (folder, folder)
    )
    said = handler("recover")
    assert said.code == 1
    assert said.text.startswith("app-web cannot be started (")
    assert said.text.endswith("): see `journalctl -u app-web`.")
    backend.shell("rm -r %s; systemctl daemon-reload; systemctl reset-failed app-web" % folder)
    assert handler("recover").code == DONE
    assert units() == "active active active inactive"


def test_on_a_full_disk_nothing_is_taken_out_and_all_is_put_back(backend: Host, balancer: Host, units: Callable[[], str]) -> None:
    """W-48"""
    handlers = [
        Ready(backend, "systemd_services", SERVICES="app-web app-batch"),
        Ready(backend, "nginx_health_file", HEALTH_FILE="/var/www/health", HEALTH_SETTLE="0"),
        Ready(backend, "haproxy", HAPROXY_SOCKETS="%s:9999" % balancer.address, HAPROXY_SERVERS="plain/first"),
    ]
    with backend.full_disk():
        for handler in handlers:
            said = handler("prepare")
            assert said.code == 1
            assert said.text.endswith(" cannot be written (No space left on device).")
            assert handler("inspect").code == IN
    assert [handler("prepare").code for handler in handlers] == [DONE, DONE, DONE]
    with backend.full_disk():
        assert [handler.until_done("recover").code for handler in handlers] == [DONE, DONE, DONE]
        assert [handler("inspect").code for handler in handlers] == [IN, IN, IN]
    assert backend.run("cat", "/var/www/health") == "healthy\n"


@pytest.mark.parametrize("name", sorted(path.name for path in HANDLERS.iterdir()))
def test_a_handler_runs_under_the_oldest_python_of_a_target(backend: Host, targets: Mapping[str, str], name: str) -> None:
    said = Ready(backend, name, PYTHON=targets["3.8"])("begin")
    assert said == (1, "Say one of prepare, recover, inspect.")
