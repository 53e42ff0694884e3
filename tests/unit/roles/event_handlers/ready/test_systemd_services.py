# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of systemd: in which order, which of them, and how they come back."""

from __future__ import annotations

from typing import Callable

import pytest
from ready_scenes import Scene, ServicesScene


@pytest.fixture
def scene(scene_of: Callable[[str], Scene]) -> ServicesScene:
    made = scene_of("systemd_services")
    assert isinstance(made, ServicesScene)
    return made


def test_services_stop_in_their_order_and_start_in_the_reverse_one(scene: ServicesScene) -> None:
    assert scene.call("inspect") == (1, "web.service, worker.service running.")
    assert scene.call("prepare") == (0, "web.service, worker.service stopped.")
    assert scene.log("stop") == ["web.service", "worker.service"]
    assert scene.call("recover") == (0, "worker.service, web.service running again.")
    assert scene.log("start") == ["worker.service", "web.service"]
    assert scene.active() == ["active", "inactive", "active"]


@pytest.mark.parametrize("state", ["activating", "reloading", "active"])
def test_a_service_that_begins_again_and_again_is_one_that_runs(scene: ServicesScene, state: str) -> None:
    scene.write("batch.service", active=state)
    scene.call("prepare")
    scene.call("recover")
    assert scene.log("start") == ["worker.service", "batch.service", "web.service"]


def test_a_service_that_had_failed_is_not_started(scene: ServicesScene) -> None:
    scene.write("batch.service", active="failed")
    assert scene.call("prepare").code == 0
    scene.call("recover")
    assert scene.active() == ["active", "failed", "active"]


def test_the_next_one_stops_when_the_one_before_has_stopped(scene: ServicesScene) -> None:
    (scene.world / "web.service" / "slow").touch()
    assert scene.call("prepare") == (75, "web.service is being stopped.")
    assert scene.call("inspect").code == 1
    assert scene.log("stop") == ["web.service"]
    scene.write("web.service", active="inactive")
    assert scene.call("prepare").code == 0
    assert scene.log("stop") == ["web.service", "worker.service"]
    scene.call("recover")
    assert scene.active() == ["active", "inactive", "active"]


def test_what_somebody_else_is_stopping_is_waited_for_and_not_started_again(scene: ServicesScene) -> None:
    """W-42"""
    scene.take_out_by_hand()
    scene.write("worker.service", active="deactivating")
    (scene.world / "worker.service" / "slow").touch()
    assert scene.call("prepare").code == 75
    scene.write("worker.service", active="inactive")
    assert scene.call("prepare") == (77, "web.service, batch.service, worker.service had stopped before.")
    assert scene.call("recover").code == 0
    assert scene.log("start") == []


def test_a_service_that_cannot_be_stopped_is_named(scene: ServicesScene) -> None:
    (scene.world / "worker.service" / "refuses").touch()
    assert scene.call("prepare") == (1, "worker.service cannot be stopped: Job for worker.service failed.")
    assert scene.call("recover").code == 0
    assert scene.active() == ["active", "inactive", "active"]


def test_a_service_that_cannot_be_started_is_named_and_tried_again(scene: ServicesScene) -> None:
    """W-43"""
    scene.call("prepare")
    (scene.world / "web.service" / "breaks").touch()
    words = "web.service cannot be started (Job for web.service failed): see `journalctl -u web.service`."
    assert scene.call("recover") == (1, words)
    assert scene.call("recover") == (1, words)
    assert scene.active() == ["failed", "inactive", "active"]
    (scene.world / "web.service" / "breaks").unlink()
    assert scene.call("recover").code == 0
    assert scene.active() == ["active", "inactive", "active"]


@pytest.mark.parametrize(
    ("kind", "becomes", "code", "words"),
    [
        ("simple", "activating", 75, "web.service is being started."),
        ("simple", "inactive", 1, "web.service has ended right after its start: see `journalctl -u web.service`."),
        ("oneshot", "inactive", 0, "worker.service, web.service running again."),
        ("simple", "failed", 1, "web.service cannot be started (it says nothing): see `journalctl -u web.service`."),
    ],
)
def test_what_becomes_of_a_start_is_looked_at(scene: ServicesScene, kind: str, becomes: str, code: int, words: str) -> None:
    scene.call("prepare")
    scene.write("web.service", type=kind, becomes=becomes)
    assert scene.call("recover") == (code, words)
    assert (scene.kept() == []) is (code == 0)


def test_the_health_command_has_to_be_content(scene: ServicesScene) -> None:
    health = scene.folder / "health"
    health.write_text('#!/bin/sh\necho starting\necho "not ready: $1."\nexit 3\n', encoding="ascii")
    health.chmod(0o755)
    scene.environment["SERVICES_HEALTH"] = "%s 'two words'" % health
    scene.call("prepare")
    assert scene.call("recover") == (75, "Everything is started, and %s is not content yet: not ready: two words." % health)
    assert scene.active() == ["active", "inactive", "active"]
    health.write_text("#!/bin/sh\n", encoding="ascii")
    assert scene.call("recover").code == 0


def test_a_health_command_that_is_not_there_is_named(scene: ServicesScene) -> None:
    scene.environment["SERVICES_HEALTH"] = "/nowhere/health"
    scene.call("prepare")
    assert scene.call("recover") == (1, "/nowhere/health cannot be run (No such file or directory): is it installed?")


def test_what_a_person_has_masked_meanwhile_stays_so(scene: ServicesScene) -> None:
    scene.call("prepare")
    scene.write("worker.service", load="masked")
    said = scene.call("recover")
    assert said == (0, "web.service running again. Somebody else has masked worker.service meanwhile: that stays as it is.")
    assert scene.active() == ["active", "inactive", "inactive"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("web.service nothing.service", "There is no unit nothing.service on this host, or it cannot be loaded (not-found)."),
        ("web.service --now", "SERVICES has '--now', which is no name of a unit."),
        ("web;reboot", "SERVICES has 'web;reboot', which is no name of a unit."),
    ],
)
def test_a_name_that_is_wrong_is_named_before_anything_is_stopped(scene: ServicesScene, names: str, words: str) -> None:
    scene.environment["SERVICES"] = names
    assert scene.call("prepare") == (1, words)
    assert scene.active() == ["active", "inactive", "active"]


def test_two_handlers_with_services_of_their_own_do_not_know_of_each_other(scene: ServicesScene) -> None:
    scene.environment["SERVICES"] = "web.service"
    scene.call("prepare")
    scene.environment["SERVICES"] = "worker.service"
    scene.call("prepare")
    assert len(scene.kept()) == 2
    scene.call("recover")
    assert scene.active() == ["inactive", "inactive", "active"]
