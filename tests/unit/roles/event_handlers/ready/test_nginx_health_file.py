# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A health file: how long it takes to be seen, and whose it is."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List

import pytest
from ready_scenes import HealthFileScene, MaintenanceFileScene, Scene


@pytest.fixture
def scene(scene_of: Callable[[str], Scene]) -> HealthFileScene:
    made = scene_of("nginx_health_file")
    assert isinstance(made, HealthFileScene)
    return made


@pytest.fixture
def maintenance(scene_of: Callable[[str], Scene]) -> MaintenanceFileScene:
    made = scene_of("nginx_health_file that means out")
    assert isinstance(made, MaintenanceFileScene)
    return made


@pytest.fixture
def probe(scene: HealthFileScene) -> Iterator[List[int]]:
    """What the probe's address answers; empty: by the file."""
    fixed: List[int] = []

    class Connection(BaseHTTPRequestHandler):
        def log_message(self, *_args: Any) -> None:
            pass

        def do_GET(self) -> None:
            status = fixed[0] if fixed else 200 if scene.path.exists() else 404
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/elsewhere")
                fixed[:] = [200]
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    scene.environment["HEALTH_URL"] = "http://127.0.0.1:%d/health" % server.server_address[1]
    yield fixed
    server.shutdown()
    server.server_close()


# --- the time that a load balancer takes ---------------------------------------------------------------------------------


def test_the_load_balancer_has_time_to_see_it(scene: HealthFileScene) -> None:
    said = scene.call("prepare")
    assert said == (75, "%s takes this host out of service, and the load balancer has 11 s more to see it." % scene.path)
    assert scene.is_out()
    assert scene.call("inspect").code == 1
    scene.now += 9
    assert scene.call("prepare").code == 75
    scene.now += 1
    assert scene.call("prepare").code == 0
    assert scene.call("inspect").code == 0


def test_without_a_time_it_is_done_at_once(scene: HealthFileScene) -> None:
    scene.environment["HEALTH_SETTLE"] = "0"
    assert scene.call("prepare").code == 0


def test_a_clock_that_was_set_back_begins_the_wait_anew(scene: HealthFileScene) -> None:
    """W-34: and not after an hour."""
    scene.call("prepare")
    scene.now -= 3600
    assert scene.call("prepare").code == 75
    scene.now += 10
    assert scene.call("prepare").code == 0


def test_the_wait_begins_anew_when_it_was_put_back_by_hand(scene: HealthFileScene) -> None:
    scene.until_done("prepare")
    scene.put_back_by_hand()
    assert scene.call("prepare").code == 75
    assert scene.is_out()


# --- whose file it is ----------------------------------------------------------------------------------------------------


def test_a_link_comes_back_as_a_link(scene: HealthFileScene) -> None:
    scene.path.unlink()
    scene.path.symlink_to("elsewhere")
    scene.until_done("prepare")
    assert not os.path.lexists(scene.path)
    scene.call("recover")
    assert os.readlink(scene.path) == "elsewhere"


def test_a_file_that_a_deployment_brought_back_is_kept(scene: HealthFileScene) -> None:
    scene.until_done("prepare")
    scene.path.write_text("newer", encoding="ascii")
    assert scene.call("recover").code == 0
    assert scene.path.read_text(encoding="ascii") == "newer"
    assert os.listdir(scene.path.parent) == ["health"]


def test_a_file_that_was_tidied_away_is_made_anew(scene: HealthFileScene) -> None:
    scene.until_done("prepare")
    (aside,) = scene.path.parent.iterdir()
    aside.unlink()
    assert scene.call("recover").code == 0
    assert scene.path.read_text(encoding="ascii") == ""
    assert scene.path.stat().st_mode & 0o777 == 0o640


def test_what_somebody_did_while_a_preparation_was_cut_short_is_his(scene: HealthFileScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-42: the file tells who took it away, however close that was."""

    def killed(*_args: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr(os, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            scene.call("prepare")
    scene.take_out_by_hand()
    assert scene.call("prepare").code == 77
    assert scene.call("recover").code == 0
    assert scene.is_out()


def test_a_file_of_somebody_else_is_not_removed(maintenance: MaintenanceFileScene) -> None:
    maintenance.until_done("prepare")
    maintenance.take_out_by_hand()
    said = maintenance.call("recover")
    assert said == (0, "Somebody else keeps this host out of service by %s: that stays as it is." % maintenance.path)
    assert maintenance.path.read_text(encoding="ascii") == "by hand\n"


# --- the probe's own address ---------------------------------------------------------------------------------------------


def test_the_address_is_asked_too(scene: HealthFileScene, probe: List[int]) -> None:
    assert scene.call("inspect").code == 1
    assert scene.until_done("prepare").code == 0
    assert scene.call("inspect").code == 0
    assert scene.call("recover").code == 0


@pytest.mark.parametrize("status", [404, 503, 302])
def test_recover_waits_until_the_host_is_healthy(scene: HealthFileScene, probe: List[int], status: int) -> None:
    scene.until_done("prepare")
    probe[:] = [status]
    said = scene.call("recover")
    assert said == (
        75,
        "%s is as it was, and %s does not say yet that this host is healthy." % (scene.path, scene.environment["HEALTH_URL"]),
    )
    assert not scene.is_out()
    probe.clear()
    assert scene.call("recover").code == 0
    assert scene.kept() == []


def test_a_file_that_the_probe_does_not_ask_for_is_found_out(scene: HealthFileScene, probe: List[int]) -> None:
    probe[:] = [200]
    said = scene.until_done("prepare")
    words = "%s takes this host out of service, but %s still says that it is healthy."
    assert said == (1, words % (scene.path, scene.environment["HEALTH_URL"]))
    assert scene.call("inspect").code == 1


# --- what is wrong is said -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"HEALTH_SETTLE": "-1"}, "The variable HEALTH_SETTLE is '-1': write seconds, or a time like 90s or 5m."),
        ({"HEALTH_SETTLE": "0", "HEALTH_URL": "health"}, "HEALTH_URL is 'health': write an address like http://127.0.0.1/health."),
    ],
)
def test_a_setting_that_is_wrong_is_named(scene: HealthFileScene, settings: Dict[str, str], words: str) -> None:
    scene.environment.update(settings)
    assert scene.call("prepare") == (1, words)


def test_a_folder_that_is_not_there_is_named(maintenance: MaintenanceFileScene) -> None:
    maintenance.path.parent.rmdir()
    assert maintenance.call("prepare") == (1, "The folder %s is not there, or cannot be written." % maintenance.path.parent)
    assert maintenance.kept() == []
