# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of Kubernetes: its pods, and who else cordons it."""

from __future__ import annotations

from typing import Callable

import pytest
from ready_scenes import KubernetesScene, Scene


@pytest.fixture
def scene(scene_of: Callable[[str], Scene]) -> KubernetesScene:
    made = scene_of("kubernetes_drain")
    assert isinstance(made, KubernetesScene)
    return made


def test_a_node_is_cordoned_before_it_is_drained(scene: KubernetesScene) -> None:
    assert scene.call("inspect") == (1, "Node n1 is not cordoned.")
    assert scene.call("prepare") == (0, "Node n1 is cordoned and drained.")
    done = [line for line in scene.log() if not line.startswith("get ")]
    assert done == ["cordon n1 --request-timeout=10s", "drain n1 --timeout=20s --ignore-daemonsets"]


def test_how_it_is_drained_can_be_said(scene: KubernetesScene) -> None:
    scene.environment.update(KUBERNETES_DRAIN_OPTIONS="--delete-emptydir-data --pod-selector='app in (a, b)'", KUBERNETES_ROUND="1m")
    scene.call("prepare")
    assert "drain n1 --timeout=60s --delete-emptydir-data --pod-selector=app in (a, b)" in scene.log()


def test_prepare_waits_while_pods_are_evicted(scene: KubernetesScene) -> None:
    scene.write(slow="")
    assert scene.call("prepare") == (75, "Node n1 still has 2 pods (shop/a, shop/b).")
    assert scene.call("inspect") == (1, "Node n1 is cordoned and has 2 pods (shop/a, shop/b).")
    assert scene.call("prepare").code == 0
    assert scene.call("inspect").code == 0


def test_of_many_pods_a_few_are_named(scene: KubernetesScene) -> None:
    for pod in "cde":
        (scene.world / "pods" / pod).touch()
    scene.write(slow="")
    assert scene.call("prepare").text == "Node n1 still has 5 pods (shop/a, shop/b, shop/c and 2 more)."


def test_pods_that_come_after_the_drain_are_in_nobodys_way(scene: KubernetesScene) -> None:
    """One that tolerates everything comes back at once."""
    scene.call("prepare")
    (scene.world / "pods" / "stubborn").touch()
    assert scene.call("inspect").code == 0


def test_what_kubectl_refuses_is_told_and_undone(scene: KubernetesScene) -> None:
    scene.write(refuses="error: cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/a\n")
    words = "Node n1 cannot be drained: error: cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/a."
    assert scene.call("prepare") == (1, words)
    assert scene.call("recover").code == 0
    assert not scene.is_out()


def test_a_node_that_somebody_else_cordoned_is_drained_and_stays_cordoned(scene: KubernetesScene) -> None:
    """W-42"""
    scene.write(cordoned="")
    assert scene.call("inspect").code == 1
    assert scene.call("prepare") == (77, "Node n1 was cordoned before, and is empty.")
    assert scene.call("inspect").code == 0
    assert scene.call("recover").code == 0
    assert scene.is_out()
    assert not [line for line in scene.log() if line.startswith("uncordon")]


def test_recover_waits_until_the_node_is_ready(scene: KubernetesScene) -> None:
    scene.call("prepare")
    for state in ("False", "Unknown"):
        scene.write(ready=state)
        assert scene.call("recover") == (75, "Node n1 is not Ready yet.")
        assert scene.is_out()
    scene.write(ready="True")
    assert scene.call("recover") == (0, "Node n1 is Ready and takes pods again.")
    assert not scene.is_out()


def test_a_node_that_was_uncordoned_by_hand_is_left_so(scene: KubernetesScene) -> None:
    scene.call("prepare")
    scene.put_back_by_hand()
    assert scene.call("recover").code == 0
    assert not [line for line in scene.log() if line.startswith("uncordon")]


def test_a_node_that_is_gone_needs_nothing(scene: KubernetesScene) -> None:
    scene.call("prepare")
    scene.write(deleted="")
    assert scene.call("recover") == (0, "There is no node n1 any more.")
    assert scene.kept() == []


def test_a_node_that_the_cluster_does_not_have_is_named(scene: KubernetesScene) -> None:
    scene.write(deleted="")
    words = "There is no node n1 in this cluster: KUBERNETES_NODE is its name as `kubectl get nodes` shows it."
    assert scene.call("prepare") == (1, words)
    assert scene.call("inspect") == (2, words)


@pytest.mark.parametrize("name", ["--all", "n1;reboot", "N1"])
def test_a_name_that_is_wrong_is_named(scene: KubernetesScene, name: str) -> None:
    scene.environment["KUBERNETES_NODE"] = name
    assert scene.call("prepare") == (1, "KUBERNETES_NODE is %r, which is no name of a node." % name)


def test_something_else_that_answers_is_not_taken_for_kubernetes(scene: KubernetesScene) -> None:
    scene.program("kubectl", "echo hello\n")
    assert scene.call("prepare") == (1, "Kubernetes tells of node n1 what is not JSON: hello.")
