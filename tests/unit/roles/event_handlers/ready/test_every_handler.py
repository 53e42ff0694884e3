# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every ready handler, whatever it acts upon."""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Callable, List

import pytest
from ready_scenes import HANDLERS, SCENES, Scene

RESTORING = sorted(name for name, scene in SCENES.items() if scene.restores)
NAMES = sorted({scene.name for scene in SCENES.values()})
DONE, FAILED, NOT_YET, WAS_SO = 0, 1, 75, 77
OUT, IN, CANNOT_TELL = 0, 1, 2


@pytest.fixture(params=sorted(SCENES))
def scene(request: pytest.FixtureRequest, scene_of: Callable[[str], Scene]) -> Scene:
    return scene_of(request.param)


@pytest.fixture(params=RESTORING)
def restoring(request: pytest.FixtureRequest, scene_of: Callable[[str], Scene]) -> Scene:
    """Where recover has something to put back."""
    return scene_of(request.param)


def test_there_is_a_scene_for_each_handler() -> None:
    assert sorted(path.name for path in HANDLERS.iterdir() if path.is_file()) == NAMES


# --- phases, once and again ----------------------------------------------------------------------------------------------


def test_prepare_takes_out_of_service_and_recover_puts_back(scene: Scene) -> None:
    assert scene.call("inspect").code == IN
    assert scene.until_done("prepare").code == DONE
    assert scene.is_out()
    assert scene.call("inspect").code == OUT
    assert scene.until_done("recover").code == DONE
    assert scene.is_out() is not scene.restores
    assert scene.call("inspect").code == (IN if scene.restores else OUT)
    assert scene.kept() == []


def test_prepare_a_second_time_is_as_good_as_once(scene: Scene) -> None:
    scene.until_done("prepare")
    assert scene.call("prepare", ATTEMPT="2", INTERRUPTED="1").code == DONE
    assert scene.is_out()
    assert scene.call("inspect").code == OUT


def test_another_event_finds_what_this_handler_has_done(scene: Scene) -> None:
    """W-22: it is still this handler's to undo."""
    scene.until_done("prepare")
    assert scene.call("prepare", EVENT_KEY="e2").code == DONE
    scene.until_done("recover", EVENT_KEY="e2")
    assert scene.is_out() is not scene.restores


def test_recover_a_second_time_changes_nothing(scene: Scene) -> None:
    scene.until_done("prepare")
    scene.until_done("recover")
    scene.take_out_by_hand()
    assert scene.call("recover").code == DONE
    assert scene.is_out()


def test_recover_without_prepare_changes_nothing(scene: Scene) -> None:
    assert scene.call("recover").code == DONE
    assert not scene.is_out()
    scene.take_out_by_hand()
    assert scene.call("recover").code == DONE
    assert scene.is_out()


def test_what_somebody_else_took_out_is_never_put_back(scene: Scene) -> None:
    """W-42"""
    scene.take_out_by_hand()
    assert scene.call("inspect").code == OUT
    assert scene.until_done("prepare").code == WAS_SO
    assert scene.kept() == []
    assert scene.call("prepare").code == WAS_SO
    assert scene.call("inspect").code == OUT
    assert scene.until_done("recover").code == DONE
    assert scene.is_out()


def test_who_puts_it_back_by_hand_is_seen_at_commit(scene: Scene) -> None:
    """W-41"""
    scene.until_done("prepare")
    scene.put_back_by_hand()
    assert scene.call("inspect").code == IN


def test_a_new_preparation_after_a_recovery_is_as_the_first(restoring: Scene) -> None:
    for event in ("e1", "e2"):
        assert restoring.until_done("prepare", EVENT_KEY=event).code == DONE
        assert restoring.is_out()
        assert restoring.until_done("recover", EVENT_KEY=event).code == DONE
        assert not restoring.is_out()


# --- what cannot be reached, and what is not set -------------------------------------------------------------------------


def test_what_cannot_be_reached_is_named(scene: Scene) -> None:
    words = scene.vanish()
    assert scene.call("inspect") == (CANNOT_TELL, words)
    assert scene.call("prepare") == (FAILED, words)
    assert scene.kept() == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_set_is_named(scene_of: Callable[[str], Scene], name: str) -> None:
    """One after the other, until it has all that it needs; those who need nothing fail for another reason."""
    scene = scene_of(name)
    needed = {
        "haproxy": "HAPROXY_SOCKETS",
        "nginx_health_file": "HEALTH_FILE",
        "systemd_services": "SERVICES",
        "keepalived": "KEEPALIVED_TRACK_FILE",
        "postgresql_switchover": "PATRONI_MEMBER",
        "redis_switchover": "REDIS_MASTER_NAME",
        "kubernetes_drain": "KUBERNETES_NODE",
    }[name]
    scene.environment.pop(needed, None)
    said = scene.call("prepare", REDIS_SENTINEL="127.0.0.1:1")
    assert said == (FAILED, "The variable %s is missing: set it in the environment of this handler." % needed)


def test_nothing_is_changed_where_it_cannot_be_remembered(scene: Scene) -> None:
    """W-48: the intent is on the disk before the effect, or there is none."""
    scene.state.write_text("no folder")
    said = scene.until_done("prepare")
    assert said.code == FAILED
    assert not scene.is_out()
    assert said.text.startswith(("Nothing was changed now: the state file ", "The state file "))


def test_a_state_file_that_cannot_be_read_is_left_to_a_person(restoring: Scene) -> None:
    restoring.until_done("prepare")
    (name,) = restoring.kept()
    path = restoring.state / name
    words = "The state file %s cannot be read: look what is out of service, put it back by hand, then remove the file." % path
    for body in (b"", b"[]", b'{"format": 2}', b"\xff"):
        path.write_bytes(body)
        for phase in ("prepare", "recover"):
            assert restoring.call(phase) == (FAILED, words)
        assert restoring.is_out()


# --- as files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_handler_is_one_executable_file(name: str, tmp_path: Path) -> None:
    """W-47: a copy under any other name works, without anything beside it; what it is not told, it says."""
    copy = tmp_path / "10-copy"
    copy.write_bytes((HANDLERS / name).read_bytes())
    copy.chmod(0o755)
    assert (HANDLERS / name).stat().st_mode & stat.S_IXUSR
    for words, code in ((["prepare"], FAILED), (["inspect"], CANNOT_TELL)):
        done = subprocess.run([str(copy), *words], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["10-copy"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", [[], ["begin"], ["prepare", "now"]])
def test_another_phase_is_refused(name: str, words: List[str]) -> None:
    done = subprocess.run([str(HANDLERS / name), *words], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "Say one of prepare, recover, inspect.\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_handler_is_python_3_8(name: str) -> None:
    ast.parse((HANDLERS / name).read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("begin", ["# --- The same in every ready handler", "# --- The same wherever programs are run"])
def test_what_handlers_share_is_the_same_in_each(begin: str) -> None:
    shared = {}
    for name in NAMES:
        found = re.search(r"^%s.*?^# --- Up to here" % re.escape(begin), (HANDLERS / name).read_text(encoding="utf-8"), re.M | re.S)
        if found is not None:
            shared[name] = found.group()
    assert len(shared) == (7 if "every" in begin else 4)
    assert len(set(shared.values())) == 1
