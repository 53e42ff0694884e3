# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ready handlers act upon: programs that are stubs, servers that are threads, and files."""

from __future__ import annotations

import contextlib
import importlib.machinery
import io
import json
import shutil
import socketserver
import sys
import tempfile
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Type

import pytest

HANDLERS = Path(__file__).resolve().parents[5] / "roles" / "event_handlers" / "files" / "handlers"


class Said(NamedTuple):
    code: int
    text: str


def load(name: str) -> types.ModuleType:
    """The handler as a module; its file has no ending, and nothing is written beside it."""
    known = "ready_handler_" + name
    if known not in sys.modules:
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            loader = importlib.machinery.SourceFileLoader(known, str(HANDLERS / name))
            module = types.ModuleType(known)
            module.__file__ = loader.path
            # Its dataclasses look themselves up there.
            sys.modules[known] = module
            loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = before
    return sys.modules[known]


class Scene:
    """A handler and its world. restores: whether recover has something to put back."""

    name = ""
    kind = ""
    restores = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.programs.mkdir(parents=True)
        self.state = folder / "state"
        self.now = 1_000_000.0
        self.environment: Dict[str, str] = {"STATE_FOLDER": str(self.state), "EVENT_KEY": "e1"}

    def close(self) -> None:
        pass

    def program(self, name: str, script: str) -> None:
        path = self.programs / name
        path.write_text("#!/bin/sh\n" + script, encoding="utf-8")
        path.chmod(0o755)

    def call(self, phase: str, **more: str) -> Said:
        """As the executor would call it; the clock is the scene's."""
        module = load(self.name)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = module.main(getattr(module, self.kind), [phase], {**self.environment, **more}, lambda: self.now)
        text = output.getvalue()
        assert text.endswith("\n")
        assert text.count("\n") == 1
        return Said(code, text.strip())

    def until_done(self, phase: str, **more: str) -> Said:
        """Asked again as long as it says so, with time passing."""
        for _turn in range(20):
            said = self.call(phase, **more)
            if said.code != 75:
                return said
            self.now += 5
            self.time_passes()
        raise AssertionError("for ever: %s" % said.text)

    def kept(self) -> List[str]:
        """What it remembers."""
        return sorted(path.name for path in self.state.glob("*.json")) if self.state.exists() else []

    # What each of them tells and does.

    def is_out(self) -> bool:
        raise NotImplementedError

    def take_out_by_hand(self) -> None:
        raise NotImplementedError

    def put_back_by_hand(self) -> None:
        raise NotImplementedError

    def vanish(self) -> str:
        """What it acts upon cannot be reached any more; what the handler then says."""
        raise NotImplementedError

    def time_passes(self) -> None:
        """What the world does by itself."""


# --- haproxy -------------------------------------------------------------------------------------------------------------

_STATE_COLUMNS = (
    "be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change "
    "srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port"
)
_CONNECTION_COLUMNS = (
    "bkname/svname bkid/svid addr port - purge_delay used_cur used_max need_est unsafe_nb safe_nb idle_lim idle_cur idle_per_thr[2]"
)
_BITS = {"ready": 0, "drain": 8, "maint": 1}


class FakeServer:
    """One server of a HAProxy. rises: looks that it takes to be up again."""

    def __init__(self, name: str, address: str, port: int = 80) -> None:
        self.backend, self.name = name.split("/")
        self.address, self.port = address, port
        self.admin, self.sessions, self.idle, self.rises, self.is_up = 0, 0, 0, 0, True

    def set(self, state: str) -> None:
        if state == "maint" and not self.admin & 1:
            self.idle = 0
        self.admin = _BITS[state] | self.admin & 4
        self.is_up = self.is_up and state != "maint"

    def look(self) -> None:
        if not self.admin & ~4 and not self.is_up:
            self.rises -= 1
            self.is_up = self.rises < 0


class FakeHAProxy:
    def __init__(self, servers: List[FakeServer], path: str = "") -> None:
        self.servers = {"%s/%s" % (one.backend, one.name): one for one in servers}
        self.refuses: Optional[str] = None
        self.commands: List[str] = []
        fake = self

        class Connection(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                command = self.rfile.readline().decode().strip()
                if not command:
                    return  # whoever asked was killed
                self.wfile.write((fake.answer(command) + "\n").encode())

        kind: Any = type("Server", (socketserver.ThreadingMixIn, socketserver.UnixStreamServer if path else socketserver.TCPServer), {})
        kind.daemon_threads = True
        self.server = kind(path or ("127.0.0.1", 0), Connection)
        self.place = path or "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, command: str) -> str:
        self.commands.append(command)
        words = command.split()
        if command == "show servers state":
            return "\n".join(["1", "# " + _STATE_COLUMNS, *(self.row(one) for one in self.servers.values())])
        if words[:2] == ["show", "stat"]:
            lines = ["%s,%s,0,0,%d,0,,0,0,0,0" % (one.backend, one.name, one.sessions) for one in self.servers.values()]
            return "\n".join(["# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq", *lines])
        if command == "show servers conn":
            lines = ["%s/%s 3/1 - 80 - 5000 0 9 2 0 0 -1 %d 0 0" % (one.backend, one.name, one.idle) for one in self.servers.values()]
            return "\n".join(["# " + _CONNECTION_COLUMNS, *lines])
        if words[:2] == ["set", "server"] and words[3] == "state":
            if self.refuses is not None:
                return self.refuses
            if words[2] not in self.servers:
                return "No such server.\n"
            self.servers[words[2]].set(words[4])
            return ""
        return "Unknown command: %r" % command

    def row(self, one: FakeServer) -> str:
        one.look()
        values = ["3", one.backend, "1", one.name, one.address, "2" if one.is_up else "0", str(one.admin)]
        return " ".join([*values, "1", "1", "9", "1", "0", "0", "0", "0", "0", "0", "-", str(one.port)])

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class HAProxyScene(Scene):
    """Two load balancers, one by a socket of this host and one by TCP."""

    name, kind = "haproxy", "HAProxy"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # The name of a socket is short.
        self.short = tempfile.mkdtemp(prefix="ha")
        self.proxies = [FakeHAProxy(self.servers(), self.short + "/admin"), FakeHAProxy(self.servers())]
        places = ",".join(proxy.place for proxy in self.proxies)
        self.environment.update(HAPROXY_SOCKETS=places, HAPROXY_SERVERS="app/web1 api/web1")

    @staticmethod
    def servers() -> List[FakeServer]:
        return [FakeServer("app/web1", "10.0.0.5", 80), FakeServer("app/web2", "10.0.0.6", 80), FakeServer("api/web1", "10.0.0.5", 81)]

    def close(self) -> None:
        for proxy in self.proxies:
            proxy.close()
        shutil.rmtree(self.short)

    def ours(self) -> List[FakeServer]:
        return [proxy.servers[name] for proxy in self.proxies for name in ("app/web1", "api/web1")]

    def admin(self) -> List[int]:
        return [server.admin for server in self.ours()]

    def is_out(self) -> bool:
        states = {server.admin != 0 for server in self.ours()}
        assert not any(proxy.servers["app/web2"].admin for proxy in self.proxies)
        return states == {True}

    def take_out_by_hand(self) -> None:
        for server in self.ours():
            server.set("maint")

    def put_back_by_hand(self) -> None:
        self.ours()[0].set("ready")

    def vanish(self) -> str:
        gone = self.proxies[1]
        gone.server.shutdown()
        gone.server.server_close()
        return "HAProxy at %s does not answer: Connection refused." % gone.place


# --- nginx_health_file ---------------------------------------------------------------------------------------------------


class HealthFileScene(Scene):
    name, kind = "nginx_health_file", "HealthFile"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "www" / "health"
        self.path.parent.mkdir()
        self.path.write_text("healthy\n", encoding="utf-8")
        self.path.chmod(0o640)
        self.environment.update(HEALTH_FILE=str(self.path), HEALTH_SETTLE="10s")

    def is_out(self) -> bool:
        if self.path.exists():
            assert self.path.read_text(encoding="utf-8") == "healthy\n"
            assert self.path.stat().st_mode & 0o777 == 0o640
        return not self.path.exists()

    def take_out_by_hand(self) -> None:
        self.path.unlink()

    def put_back_by_hand(self) -> None:
        self.path.write_text("healthy\n", encoding="utf-8")

    def vanish(self) -> str:
        self.environment["HEALTH_FILE"] = "health"
        return "HEALTH_FILE is 'health': write the whole path, from / on."


class MaintenanceFileScene(Scene):
    """The file is there while the host is out of service."""

    name, kind = "nginx_health_file", "HealthFile"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "www" / "maintenance"
        self.path.parent.mkdir()
        self.environment.update(HEALTH_FILE=str(self.path), HEALTH_FILE_MEANS="out_of_service", HEALTH_SETTLE="10")

    def is_out(self) -> bool:
        return self.path.exists()

    def take_out_by_hand(self) -> None:
        self.path.write_text("by hand\n", encoding="utf-8")

    def put_back_by_hand(self) -> None:
        self.path.unlink()

    def vanish(self) -> str:
        self.environment["HEALTH_FILE_MEANS"] = "nothing"
        return "The variable HEALTH_FILE_MEANS is 'nothing': it can be in_service or out_of_service."


# --- systemd_services ----------------------------------------------------------------------------------------------------

_SYSTEMCTL = """
echo "$*" >> {world}/log
for unit; do :; done
at={world}/$unit
[ "$1" = show ] || [ -d "$at" ] || {{ echo "Unit $unit not found." >&2; exit 5; }}
case $1 in
show) [ -d "$at" ] || {{ echo LoadState=not-found; echo ActiveState=inactive; exit 0; }}
  echo "LoadState=$(cat "$at/load")"; echo "ActiveState=$(cat "$at/active")"; echo "Type=$(cat "$at/type")" ;;
stop) if [ -e "$at/refuses" ]; then echo "Job for $unit failed." >&2; exit 1; fi
  if [ -e "$at/slow" ]; then echo deactivating > "$at/active"; else echo inactive > "$at/active"; fi ;;
start) if [ -e "$at/breaks" ]; then echo failed > "$at/active"; echo "Job for $unit failed." >&2; exit 1; fi
  cat "$at/becomes" > "$at/active" ;;
esac
"""


class ServicesScene(Scene):
    """web and worker run, batch does not."""

    name, kind = "systemd_services", "Services"
    units = ("web.service", "batch.service", "worker.service")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.world = folder / "units"
        self.world.mkdir()
        for unit in self.units:
            (self.world / unit).mkdir()
            self.write(unit, load="loaded", active="inactive" if unit.startswith("batch") else "active", type="simple", becomes="active")
        self.program("systemctl", _SYSTEMCTL.format(world=self.world))
        self.environment["SERVICES"] = " ".join(self.units)

    def write(self, unit: str, **values: str) -> None:
        for name, value in values.items():
            (self.world / unit / name).write_text(value + "\n", encoding="ascii")

    def active(self) -> List[str]:
        return [(self.world / unit / "active").read_text(encoding="ascii").strip() for unit in self.units]

    def log(self, verb: str) -> List[str]:
        path = self.world / "log"
        lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        return [line.split()[-1] for line in lines if line.startswith(verb + " ")]

    def is_out(self) -> bool:
        assert self.active()[1] == "inactive"
        return self.active()[0] == self.active()[2] == "inactive"

    def take_out_by_hand(self) -> None:
        for unit in self.units:
            self.write(unit, active="inactive")

    def put_back_by_hand(self) -> None:
        self.write("worker.service", active="active")

    def vanish(self) -> str:
        self.program("systemctl", "echo 'Failed to connect to bus' >&2; exit 1\n")
        return "systemd does not tell the state of web.service: Failed to connect to bus."


# --- keepalived ----------------------------------------------------------------------------------------------------------


class KeepalivedScene(Scene):
    """keepalived gives the address up as soon as the file says -254."""

    name, kind = "keepalived", "Keepalived"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "track"
        self.path.write_text("0\n", encoding="ascii")
        script = '[ "$*" = "-o address show to 10.0.0.100" ] || exit 9\ngrep -qx -e -254 {path} && [ ! -e {path}.deaf ] || echo "2: eth0"\n'
        self.program("ip", script.format(path=self.path))
        self.environment.update(KEEPALIVED_TRACK_FILE=str(self.path), KEEPALIVED_ADDRESSES="10.0.0.100/24")

    def is_out(self) -> bool:
        text = self.path.read_text(encoding="ascii")
        assert text in ("0\n", "-254\n")
        return text == "-254\n"

    def take_out_by_hand(self) -> None:
        self.path.write_text("-254\n", encoding="ascii")

    def put_back_by_hand(self) -> None:
        self.path.write_text("0\n", encoding="ascii")

    def vanish(self) -> str:
        self.path.unlink()
        return "%s is not there: let keepalived follow it (track_file, with init_file 0)." % self.path


# --- postgresql_switchover -----------------------------------------------------------------------------------------------


class FakePatroni:
    def __init__(self) -> None:
        self.members = ["pg1", "pg2"]
        self.leader: Optional[str] = "pg1"
        # It says that it leads after it has lost the leadership; or it keeps the leadership for a while after it was asked.
        self.lingers, self.is_late = False, False
        self.refuses: Optional[str] = None
        self.posted: List[Mapping[str, Any]] = []
        self.headers: List[Optional[str]] = []
        fake = self

        class Connection(BaseHTTPRequestHandler):
            def log_message(self, *_args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.reply(*fake.get(self.path))

            def do_POST(self) -> None:
                fake.headers.append(self.headers.get("Authorization"))
                self.reply(*fake.post(json.loads(self.rfile.read(int(self.headers["Content-Length"])))))

            def reply(self, status: int, text: str) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def get(self, path: str) -> Tuple[int, str]:
        leads = self.leader == "pg1"
        if path == "/patroni":
            return 200, json.dumps({"state": "running", "role": "master" if leads or self.lingers else "replica"})
        members = [{"name": name, "role": "leader" if name == self.leader else "replica"} for name in self.members]
        return 200, json.dumps({"members": members})

    def post(self, wanted: Mapping[str, Any]) -> Tuple[int, str]:
        self.posted.append(wanted)
        if self.refuses is not None:
            return 412, self.refuses
        if self.is_late:
            return 503, "Switchover status unknown"
        if wanted["leader"] != self.leader:
            return 412, "leader name does not match"
        self.leader = wanted.get("candidate") or "pg2"
        return 200, 'Successfully switched over to "pg2"'

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class PatroniScene(Scene):
    name, kind, restores = "postgresql_switchover", "Patroni", False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.patroni = FakePatroni()
        self.environment.update(PATRONI_URL=self.patroni.url, PATRONI_MEMBER="pg1")

    def close(self) -> None:
        self.patroni.close()

    def is_out(self) -> bool:
        return self.patroni.leader != "pg1"

    def take_out_by_hand(self) -> None:
        self.patroni.leader = "pg2"

    def put_back_by_hand(self) -> None:
        self.patroni.leader = "pg1"

    def vanish(self) -> str:
        self.patroni.close()
        return "Patroni at %s does not answer: Connection refused." % self.patroni.url


# --- redis_switchover ----------------------------------------------------------------------------------------------------

_REDIS = """
echo "$*" >> {world}/log
port=; while [ $# -gt 0 ]; do case $1 in -h) shift 2 ;; -p) port=$2; shift 2 ;; --raw) shift ;; *) break ;; esac; done
echo "$REDISCLI_AUTH" >> {world}/secrets
[ ! -e {world}/down ] || {{ echo "Could not connect to Redis at 127.0.0.1:$port: Connection refused" >&2; exit 1; }}
role=$(cat {world}/role)
case "$*" in
ROLE) if [ -e {world}/locked ]; then echo "NOAUTH Authentication required."; exit 0; fi
  echo "$role"; echo 3129659 ;;
"INFO replication") printf '# Replication\\r\\n'; cat {world}/replicas
  printf 'master_failover_state:%s\\r\\n' "$(cat {world}/failover)" ;;
"INFO server") printf 'run_id:aaaa\\r\\n' ;;
"SENTINEL MASTER app") printf 'name\\napp\\nrunid\\n%s\\nflags\\nmaster\\n' "$(cat {world}/runid)" ;;
"SENTINEL FAILOVER app") if [ -e {world}/refuses ]; then cat {world}/refuses; exit 0; fi
  echo x >> {world}/failovers; echo bbbb > {world}/runid; [ -e {world}/lingers ] || echo slave > {world}/role; echo OK ;;
"FAILOVER TIMEOUT 30000") if [ -e {world}/refuses ]; then cat {world}/refuses; exit 0; fi
  echo x >> {world}/failovers
  if [ -e {world}/lingers ]; then echo failover-in-progress > {world}/failover; else echo slave > {world}/role; fi; echo OK ;;
*) echo "ERR unknown command"; ;;
esac
"""


REPLICA = "slave0:ip=10.0.0.6,port=6379,state=%s,offset=14,lag=1\r"


class RedisScene(Scene):
    """Without a Sentinel."""

    name, kind, restores = "redis_switchover", "Redis", False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.world = folder / "redis"
        self.world.mkdir()
        self.write(role="master", replicas=REPLICA % "online", failover="no-failover", runid="aaaa")
        self.program("redis-cli", _REDIS.format(world=self.world))

    def write(self, **values: str) -> None:
        for name, value in values.items():
            (self.world / name).write_text(value + "\n", encoding="ascii")

    def read(self, name: str) -> str:
        path = self.world / name
        return path.read_text(encoding="ascii") if path.exists() else ""

    def is_out(self) -> bool:
        assert self.read("failovers") in ("", "x\n")
        return self.read("role") == "slave\n"

    def take_out_by_hand(self) -> None:
        self.write(role="slave")

    def put_back_by_hand(self) -> None:
        self.write(role="master")

    def vanish(self) -> str:
        self.write(down="")
        return "Redis at 127.0.0.1:6379 does not answer: Could not connect to Redis at 127.0.0.1:6379: Connection refused."


class SentinelScene(RedisScene):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.environment.update(REDIS_SENTINEL="127.0.0.1:26379", REDIS_MASTER_NAME="app")


# --- kubernetes_drain ----------------------------------------------------------------------------------------------------

_KUBECTL = """
echo "$*" >> {world}/log
[ ! -e {world}/down ] || {{ echo "The connection to the server 10.0.0.1:6443 was refused" >&2; exit 1; }}
cordoned=false; [ ! -e {world}/cordoned ] || cordoned=true
case "$1 $2" in
"get node") [ ! -e {world}/deleted ] || {{ echo 'Error from server (NotFound): nodes "n1" not found' >&2; exit 1; }}
  conditions="$(printf '[{{"type": "Ready", "status": "%s"}}]' "$(cat {world}/ready)")"
  printf '{{"spec": {{"unschedulable": %s}}, "status": {{"conditions": %s}}}}' $cordoned "$conditions" ;;
"get pods") cat {world}/stay.json; for pod in {world}/pods/*; do [ -e "$pod" ] || continue
  printf ', {{"metadata": {{"namespace": "shop", "name": "%s"}}, "status": {{"phase": "Running"}}}}' "${{pod##*/}}"; done; echo ']}}' ;;
"cordon n1") touch {world}/cordoned ;;
"uncordon n1") rm -f {world}/cordoned ;;
"drain n1") touch {world}/cordoned
  if [ -e {world}/refuses ]; then cat {world}/refuses >&2; exit 1; fi
  if [ -e {world}/slow ]; then rm {world}/slow
    echo 'error when waiting for pod "a" in namespace "shop" to terminate: global timeout reached: 20s' >&2; exit 1; fi
  rm -f {world}/pods/* ;;
esac
"""
# Pods of the node itself, and one that has finished.
_STAY = [
    {"metadata": {"namespace": "kube-system", "name": "proxy", "ownerReferences": [{"kind": "DaemonSet", "controller": True}]}},
    {"metadata": {"namespace": "kube-system", "name": "etcd", "annotations": {"kubernetes.io/config.mirror": "x"}}},
    {"metadata": {"namespace": "shop", "name": "job"}, "status": {"phase": "Succeeded"}},
]


class KubernetesScene(Scene):
    name, kind = "kubernetes_drain", "Kubernetes"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.world = folder / "cluster"
        (self.world / "pods").mkdir(parents=True)
        self.write(ready="True")
        (self.world / "stay.json").write_text(json.dumps({"items": _STAY})[:-2], encoding="ascii")
        for pod in ("a", "b"):
            (self.world / "pods" / pod).touch()
        self.program("kubectl", _KUBECTL.format(world=self.world))
        self.environment["KUBERNETES_NODE"] = "n1"

    def write(self, **values: str) -> None:
        for name, value in values.items():
            (self.world / name).write_text(value, encoding="ascii")

    def log(self) -> List[str]:
        return (self.world / "log").read_text(encoding="ascii").splitlines()

    def is_out(self) -> bool:
        return (self.world / "cordoned").exists()

    def take_out_by_hand(self) -> None:
        self.write(cordoned="")
        for pod in (self.world / "pods").iterdir():
            pod.unlink()

    def put_back_by_hand(self) -> None:
        (self.world / "cordoned").unlink()

    def vanish(self) -> str:
        self.write(down="")
        return "Kubernetes does not tell of node n1: The connection to the server 10.0.0.1:6443 was refused."


SCENES: Dict[str, Type[Scene]] = {
    "haproxy": HAProxyScene,
    "nginx_health_file": HealthFileScene,
    "nginx_health_file that means out": MaintenanceFileScene,
    "systemd_services": ServicesScene,
    "keepalived": KeepalivedScene,
    "postgresql_switchover": PatroniScene,
    "redis_switchover": RedisScene,
    "redis_switchover by Sentinel": SentinelScene,
    "kubernetes_drain": KubernetesScene,
}


# --- for tests ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def scene_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Scene]]:
    """A fresh scene of the handler of this name, with stubs of its programs on PATH."""
    made: List[Scene] = []

    def make(name: str) -> Scene:
        scene = SCENES[name](tmp_path / str(len(made)))
        made.append(scene)
        monkeypatch.setenv("PATH", "%s:/usr/bin:/bin" % scene.programs)
        return scene

    yield make
    for scene in made:
        scene.close()
