# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the page about AWX shows is true: its project, played as AWX plays it, and its data."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Sequence

import environments
import pytest
import yaml
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils import _options
from cores import played
from fleet import AT_ONCE, OPTIONS, Fleet
from imds_simulator import Event

PAGE = Path(__file__).resolve().parents[2] / "docs" / "docsite" / "rst" / "awx.rst"
LONGEST_JOB = 240.0
# What AWX tells every job of itself, under both of its names.
META = {
    "awx_job_id": 42,
    "awx_job_launch_type": "workflow",
    "awx_job_template_id": 7,
    "awx_job_template_name": "Azure maintenance, run",
    "awx_workflow_job_id": 41,
    "awx_workflow_job_name": "Azure maintenance with approval",
    "awx_user_name": "ann",
    "awx_inventory_id": 1,
    "awx_inventory_name": "azure",
}
PUBLISHED: Mapping[str, Any] = {
    "azure_maintenance_result": str,
    "azure_maintenance_summary": str,
    "azure_maintenance_events": list,
    "azure_maintenance_failures": list,
    "azure_maintenance_due_next": (str, type(None)),
    "azure_maintenance_digest": str,
    "azure_maintenance_evidence": (str, type(None)),
}


def _shown(name: str) -> str:
    """A file that the page shows; its first line is a comment with its name."""
    blocks = re.findall(r"\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)", PAGE.read_text(encoding="utf-8"))
    (block,) = [block for block in blocks if block.startswith("   # %s\n" % name)]
    return re.sub(r"^   ", "", block, flags=re.MULTILINE)


def _loaded(name: str) -> Any:
    return yaml.safe_load(_shown(name))


# --- jobs ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """As the API of AWX has it."""

    code: int
    output: str
    artifacts: Mapping[str, Any]


@dataclass(frozen=True)
class Workflow:
    """Plan, run with what the plan has published, and another run with it on another day."""

    fleet: Fleet
    events: Mapping[str, Event]
    plan: Job
    posts_of_plan: int
    run: Job
    late: Job

    def told(self) -> str:
        return "\n".join([self.plan.output, self.run.output, self.late.output, self.fleet.told()])


def _runner() -> str:
    return os.environ.get("CLOUD_MAINTENANCE_RUNNER") or str(environments.ensure("core-newest") / "ansible-runner")


def _job(fleet: Fleet, core: str, name: str, extra: Mapping[str, Any], *arguments: str) -> Job:
    """As AWX does it: a folder of its own with project, inventory and variables, which ansible-runner plays."""
    fleet.ready()
    top = fleet.folder / "jobs" / name
    for folder in ("project", "inventory", "env"):
        (top / folder).mkdir(parents=True)
    for file in ("requirements.yml", "site.yml"):
        (top / "project" / file).write_text(_shown(file), encoding="utf-8")
    (top / "inventory" / "hosts.json").write_text(json.dumps(fleet._inventory(core)), encoding="utf-8")
    (top / "env" / "extravars").write_text(json.dumps({**extra, **META}), encoding="utf-8")
    (top / "env" / "cmdline").write_text(" ".join(arguments), encoding="utf-8")
    command = [_runner(), "run", str(top), "-p", "site.yml", "--ident", name]
    environment = {key: value for key, value in fleet._environment(core).items() if not key.startswith("ANSIBLE_CALLBACK")}
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=LONGEST_JOB
    )
    artifacts = top / "artifacts" / name
    code = (artifacts / "rc").read_text(encoding="utf-8") if (artifacts / "rc").exists() else ""
    return Job(int(code or ended.returncode), ended.stdout + ended.stderr, _artifacts(artifacts / "job_events"))


def _artifacts(folder: Path) -> Dict[str, Any]:
    """What is in the last event of a job, where AWX takes it from."""
    events = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    (stats,) = [event for event in events if event["event"] == "playbook_on_stats"]
    return dict(stats["event_data"].get("artifact_data", {}))


def _texts(options: Mapping[str, Any]) -> Dict[str, str]:
    """As fields of a survey and of a template are: nothing but text."""
    return {"rolling_maintenance_" + key: value if isinstance(value, str) else json.dumps(value) for key, value in options.items()}


@played("workflow")
def _workflow(request: pytest.FixtureRequest, fleets: Callable[..., Fleet]) -> Workflow:
    fleet = fleets()
    fleet.add("web1 web2 web3", scope="web", groups=["web"])
    fleet.add("old1")
    fleet.ready()
    events = {"web": fleet.schedule("Reboot", "web1")}
    answers = {question["variable"]: question["default"] for question in _loaded("survey.yml")["spec"]}
    options = _texts({**OPTIONS, "rules": AT_ONCE, "evidence_dir": str(fleet.evidence_folder), "ask": False})
    texts = {**{key: str(value) for key, value in answers.items()}, **options, "rolling_maintenance_hosts": "web"}
    assert all(isinstance(value, str) for value in texts.values())
    plan = _job(fleet, request.param, "plan", texts, "--check", "--diff")
    posts = len(fleet.posts())
    run = _job(fleet, request.param, "run", {**texts, **plan.artifacts})
    events["late"] = fleet.schedule("Reboot", "web2")
    late = _job(fleet, request.param, "late", {**texts, **plan.artifacts})
    return Workflow(fleet, events, plan, posts, run, late)


def test_a_job_of_type_check_publishes_the_plan_and_does_nothing(workflow: Workflow) -> None:
    assert (workflow.plan.code, workflow.posts_of_plan) == (0, 0)
    assert workflow.plan.artifacts["azure_maintenance_result"] == "planned"
    assert re.fullmatch("[0-9a-f]{64}", workflow.plan.artifacts["azure_maintenance_digest"])
    assert "web1" in workflow.plan.artifacts["azure_maintenance_summary"]


def test_the_job_after_it_carries_out_the_plan_that_was_approved(workflow: Workflow) -> None:
    """What it is handed as variables is nothing that any task reads but the digest, and everything is text."""
    assert workflow.run.code == 0
    assert workflow.run.artifacts["azure_maintenance_result"] == "ok"
    assert workflow.run.artifacts["azure_maintenance_digest"] == workflow.plan.artifacts["azure_maintenance_digest"]
    assert len(workflow.fleet.posts(workflow.events["web"])) == 1
    assert workflow.fleet["web1"].runs() == ["10-pool prepare", "10-pool recover"]
    assert workflow.fleet["web1"].in_service
    assert workflow.fleet.evidence_of(workflow.events["web"])["run"] == "42"


def test_a_job_with_a_plan_of_another_day_does_nothing_and_says_so(workflow: Workflow) -> None:
    assert workflow.late.code == 2
    assert not workflow.fleet.posts(workflow.events["late"])
    assert workflow.fleet["web2"].runs("inspect", "prepare", "recover") == []
    assert workflow.late.artifacts["azure_maintenance_result"] == "failed"
    assert "the plan has changed since it was approved" in " ".join(workflow.late.artifacts["azure_maintenance_failures"])


@pytest.mark.parametrize("job", ["plan", "run", "late"])
def test_every_key_of_the_page_is_published_and_no_other(workflow: Workflow, job: str) -> None:
    """Also by a job that has failed."""
    artifacts = getattr(workflow, job).artifacts
    assert set(artifacts) == set(PUBLISHED)
    for key, kind in PUBLISHED.items():
        assert isinstance(artifacts[key], kind), key


# --- what is written on the page -----------------------------------------------------------------------------------------


def test_the_page_has_every_key_that_is_published() -> None:
    listed = re.findall(r"^   \* - ``(azure_maintenance_[a-z_]+)``$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(PUBLISHED)


def test_every_question_of_the_survey_is_an_option_and_its_default_is_one_as_well() -> None:
    """As text, which is what most fields send."""
    for question in _loaded("survey.yml")["spec"]:
        key = question["variable"].replace(_options.PREFIX, "", 1)
        assert key in _options.defaults()
        assert _options.convert({key: str(question["default"])})[key] == _options.convert({key: question["default"]})[key]


def test_every_variable_on_the_page_is_an_option() -> None:
    named = set(re.findall(r"\brolling_maintenance_([a-z_]+)", PAGE.read_text(encoding="utf-8")))
    assert named <= set(_options.defaults())


def test_the_templates_of_the_workflow_are_those_of_the_page_and_none_is_sliced() -> None:
    templates: List[Mapping[str, Any]] = [task["awx.awx.job_template"] for task in _loaded("job_templates.yml")]
    (workflow,) = [task["awx.awx.workflow_job_template"] for task in _loaded("workflow.yml")]
    (schedule,) = [task["awx.awx.schedule"] for task in _loaded("schedule.yml")]
    names = {template["name"] for template in templates}
    nodes: Sequence[Mapping[str, Any]] = workflow["workflow_nodes"]
    played_ones = {node["unified_job_template"]["name"] for node in nodes if node["unified_job_template"]["type"] == "job_template"}
    assert played_ones == names
    assert schedule["unified_job_template"] in names
    assert {template["job_slice_count"] for template in templates} == {1}
    follows = {node["identifier"]: node.get("related", {}).get("success_nodes", []) for node in nodes}
    assert follows == {"plan": [{"identifier": "approve"}], "approve": [{"identifier": "run"}], "run": []}
