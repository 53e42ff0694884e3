# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules over SSH on real hosts, at the default address, with every Python that they must bear."""

from __future__ import annotations

import venv
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping

import pytest
from lab import Host, Lab
from lab.ansible import Controller, Played, folders_of

NAMESPACE = "cloud_maintenance.azure."
# Where nobody listens: whoever asks this proxy gets no answer.
PROXY = "http://10.77.0.1:3128"
OF_CORE = {"2.16": "3.8", "newest": "3.9"}
# From the approval to the start, unless the test lets it start: once the waits of all hosts have begun.
START_DELAY = 3600


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of a later version than the distribution's, without requests."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "venv", with_pip=False)
    return folder / "venv"


@pytest.fixture(scope="module")
def lab(bare: Path, targets: Mapping[str, str]) -> Iterator[Lab]:
    """The fabric's freezes are short: a play goes on through them."""
    folders = folders_of([*targets.values(), str(bare / "bin" / "python")])
    proxy = {"http_proxy": PROXY, "HTTP_PROXY": PROXY, "all_proxy": PROXY}
    with Lab(binds=folders, away=0.3, gap=0.2) as opened, opened.hosts["worker1"].environment(**proxy):
        yield opened


def _tasks() -> List[Dict[str, Any]]:
    """The three modules as a user writes them who sets nothing about the connection."""
    named = "{{ events[inventory_hostname] }}"
    return [
        {"name": "info", NAMESPACE + "azure_scheduled_events_info": {}},
        {
            "name": "approve",
            NAMESPACE + "azure_scheduled_event_approve": {"event_ids": [named]},
            "when": "inventory_hostname in first",
        },
        {"name": "wait", NAMESPACE + "azure_scheduled_event_wait": {"event_ids": [named], "poll_interval": "1s"}},
    ]


def _play(lab: Lab, controller: Controller, **variables: Any) -> Played:
    """An event in each scope goes from Scheduled to gone, seen by all of its hosts and approved by one."""
    first: Dict[str, Host] = {}
    for host in lab.hosts.values():
        first.setdefault(host.plan.scope, host)
    scheduled = {scope: lab.schedule("Freeze", host, notice=7200, start_delay=START_DELAY) for scope, host in first.items()}
    events = {scope: event.event_id for scope, event in scheduled.items()}

    def start() -> None:
        for event in scheduled.values():
            event.start()

    with controller.meanwhile((controller.asks_after("approve", *lab.hosts.values()), start)):
        played = controller.play(
            _tasks(),
            events={host.name: events[host.plan.scope] for host in lab.hosts.values()},
            first=[host.name for host in first.values()],
            timeout=600,
            **variables,
        )
    assert played.code == 0, played.output
    for host in lab.hosts.values():
        told = played.results["info"][host.name]
        assert [(event["event_id"], event["resources"]) for event in told["events"]] == [
            (events[host.plan.scope], [first[host.plan.scope].vm_name])
        ]
    assert {name: each["outcome"] for name, each in played.results["approve"].items() if each["outcome"] != "skipped"} == {
        host.name: "ok" for host in first.values()
    }
    for host in lab.hosts.values():
        assert [event["state"] for event in played.results["wait"][host.name]["events"]] == ["gone"]
    assert {record["vm"] for record in lab.requests() if record["verb"] == "POST"} >= {host.vm_name for host in first.values()}
    return played


def test_the_modules_work_with_no_option_set(lab: Lab, controller: Controller) -> None:
    """C-4: whatever proxy the environment names; with the distribution's Python, found by Ansible itself."""
    assert "http_proxy=%s" % PROXY in lab.hosts["worker1"].ssh("env").stdout.splitlines()
    _play(lab, controller)


def test_the_modules_work_with_the_oldest_python_of_a_target(lab: Lab, controller: Controller, targets: Mapping[str, str]) -> None:
    _play(lab, controller, ansible_python_interpreter=targets[OF_CORE[controller.core]])


def test_the_modules_find_a_python_with_requests_by_themselves(lab: Lab, controller: Controller, bare: Path) -> None:
    """Where the first Python that Ansible finds, or is told of, has none."""
    wrapper = "/usr/local/bin/python3.12"
    for host in lab.hosts.values():
        host.shell("printf '#!/bin/sh\\nexec %s/bin/python \"$@\"\\n' > %s; chmod 755 %s" % (bare, wrapper, wrapper))
        assert "No module named" in host.shell("%s -c 'import requests' 2>&1; true" % wrapper)
    try:
        # Ansible 2.16 knows where Debian has its Python and looks no further.
        told = {"ansible_python_interpreter": wrapper} if controller.core == "2.16" else {}
        played = _play(lab, controller, **told)
        if not told:
            found = {each["ansible_facts"]["discovered_interpreter_python"] for each in played.results["info"].values()}
            assert found == {wrapper}
    finally:
        for host in lab.hosts.values():
            host.run("rm", wrapper)
