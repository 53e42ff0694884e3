# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file that keepalived follows."""

from __future__ import annotations

from typing import Callable, Dict

import pytest
from ready_scenes import KeepalivedScene, Scene


@pytest.fixture
def scene(scene_of: Callable[[str], Scene]) -> KeepalivedScene:
    made = scene_of("keepalived")
    assert isinstance(made, KeepalivedScene)
    return made


def test_prepare_waits_until_the_address_has_left(scene: KeepalivedScene) -> None:
    deaf = scene.path.with_suffix(".deaf")
    deaf.touch()
    assert scene.call("prepare") == (75, "%s says -254, and 10.0.0.100 is still on this host." % scene.path)
    assert scene.call("inspect") == (1, "%s says -254, but 10.0.0.100 is on this host." % scene.path)
    deaf.unlink()
    assert scene.call("prepare") == (0, "%s says -254, and 10.0.0.100 is not on this host." % scene.path)
    assert scene.call("inspect").code == 0


@pytest.mark.parametrize(("found", "after"), [("10\n", "10\n"), ("", "0\n"), ("  -5 \n", "-5\n"), ("+3", "3\n"), ("100000\n", "100000\n")])
def test_recover_writes_the_number_that_was_there(scene: KeepalivedScene, found: str, after: str) -> None:
    scene.path.write_text(found, encoding="ascii")
    assert scene.call("prepare").code == 0
    assert scene.path.read_text(encoding="ascii") == "-254\n"
    assert scene.call("recover").code == 0
    assert scene.path.read_text(encoding="ascii") == after


def test_a_number_that_somebody_has_written_meanwhile_stays(scene: KeepalivedScene) -> None:
    scene.call("prepare")
    scene.path.write_text("-20\n", encoding="ascii")
    assert scene.call("inspect").code == 1
    assert scene.call("recover") == (0, "%s says -20: keepalived takes part again." % scene.path)
    assert scene.path.read_text(encoding="ascii") == "-20\n"


def test_another_number_can_be_the_one_that_gives_up(scene: KeepalivedScene) -> None:
    scene.environment["KEEPALIVED_OUT"] = "-0254"
    scene.call("prepare")
    assert scene.path.read_text(encoding="ascii") == "-254\n"


def test_the_file_stays_the_one_that_keepalived_follows(scene: KeepalivedScene) -> None:
    before = scene.path.stat().st_ino
    scene.call("prepare")
    scene.call("recover")
    assert scene.path.stat().st_ino == before


@pytest.mark.parametrize("body", ["ten\n", "1.5\n", "\u00e9\n"])
def test_a_file_that_is_no_number_is_named(scene: KeepalivedScene, body: str) -> None:
    scene.path.write_text(body, encoding="utf-8")
    assert scene.call("prepare") == (1, "%s cannot be read as a number." % scene.path)
    assert scene.path.read_text(encoding="utf-8") == body


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"KEEPALIVED_OUT": "low"}, "KEEPALIVED_OUT is 'low': write a number."),
        ({"KEEPALIVED_ADDRESSES": ""}, "The variable KEEPALIVED_ADDRESSES is missing: set it in the environment of this handler."),
    ],
)
def test_a_setting_that_is_wrong_is_named(scene: KeepalivedScene, settings: Dict[str, str], words: str) -> None:
    scene.environment.update(settings)
    assert scene.call("prepare") == (1, words)
    assert not scene.is_out()


def test_an_ip_that_fails_is_not_taken_for_an_address_that_is_gone(scene: KeepalivedScene) -> None:
    scene.call("prepare")
    scene.program("ip", "echo 'Error: any valid prefix is expected.' >&2; exit 1\n")
    words = "`ip` does not tell whether 10.0.0.100 is on this host: Error: any valid prefix is expected."
    assert scene.call("prepare") == (1, words)
    assert scene.call("inspect") == (2, words)
