# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of a run is there as a whole, for its owner alone, and what keeps it from being written is said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict

import pytest
from ansible.errors import AnsibleError
from ansible_collections.cloud_maintenance.azure.plugins.action.maintenance_evidence import ActionModule

NAME = "cloud_maintenance.azure.maintenance_evidence"
EVIDENCE = {"schema": 1, "events": [{"event_id": "Ä", "posts": []}]}


def _keep(check_mode: bool = False, **arguments: Any) -> Dict[str, Any]:
    task = SimpleNamespace(args=arguments, check_mode=check_mode, async_val=0, diff=False)
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None))
    action = ActionModule(task=task, connection=connection, play_context=None, loader=None, templar=None, shared_loader_obj=None)
    action._load_name = NAME  # as Ansible's loader does
    result: Dict[str, Any] = action.run(task_vars={})
    return result


def test_it_is_kept_as_json_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    result = _keep(path=str(path), evidence=EVIDENCE)
    assert (result["path"], result["changed"]) == (str(path), True)
    assert json.loads(path.read_text(encoding="utf-8")) == EVIDENCE
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["run.json"]


def test_what_was_kept_before_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for number in (1, 2):
        _keep(path=str(path), evidence={"number": number})
    assert json.loads(path.read_text(encoding="utf-8")) == {"number": 2}


def test_a_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _keep(path="~/run.json", evidence=EVIDENCE)["path"] == str(tmp_path / "run.json")


def test_in_check_mode_nothing_is_written(tmp_path: Path) -> None:
    assert _keep(check_mode=True, path=str(tmp_path / "run.json"), evidence=EVIDENCE)["changed"] is False
    assert list(tmp_path.iterdir()) == []


def test_the_reason_is_said_where_it_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "run.json"
    with pytest.raises(AnsibleError, match="%s cannot be written: No such file or directory" % path):
        _keep(path=str(path), evidence=EVIDENCE)


def test_nothing_is_left_of_what_could_not_be_put_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.mkdir()
    with pytest.raises(AnsibleError, match="cannot be written: Is a directory"):
        _keep(path=str(path), evidence=EVIDENCE)
    assert os.listdir(tmp_path) == ["run.json"]


@pytest.mark.parametrize("arguments", [{"path": "/x"}, {"evidence": {}}, {"path": "/x", "evidence": {}, "mode": "0644"}])
def test_what_cannot_be_meant_is_refused(arguments: Dict[str, Any]) -> None:
    with pytest.raises(AnsibleError, match=r"evidence|path|mode"):
        _keep(**arguments)
