# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lookup gives, where its options may come from, and what it refuses; all of it through templates."""

from __future__ import annotations

import datetime
import sys
from typing import Any, Callable, Dict, List

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules import _error_cases
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._error_cases import Case
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import FIRST, INFO, SECOND, Stage

Ask = Callable[..., Any]

# What ansible-core 2.19 and newer put in front of the words of a lookup.
PREFIXES = ("", "The lookup plugin 'cloud_maintenance.azure.azure_scheduled_events' failed: ")
# In these the words are Ansible's, and differ between its versions: see the tests by hand.
OWN_CASES = tuple(case for case in _error_cases.SHARED if case.module == INFO)


def _failure(ask: Ask, *terms: Any, **options: Any) -> str:
    """The words of a failure, less what Ansible puts in front."""
    with pytest.raises(AnsibleError) as failed:
        ask(*terms, **options)
    text = str(failed.value)
    return text[len(PREFIXES[1]) :] if text.startswith(PREFIXES[1]) else text


def _ids(events: List[Dict[str, Any]]) -> List[str]:
    return [event["event_id"] for event in events]


# --- the same as the module -------------------------------------------------------------------------------------------


def test_an_event_has_the_form_that_the_module_gives_it(stage: Stage, ask: Ask) -> None:
    stage.reboot("web_0", "web_1")
    assert ask(endpoint=stage.endpoint) == stage.info()["events"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [FIRST, SECOND]),
        ({"event_ids": [FIRST.lower()]}, [FIRST]),
        ({"event_types": ["Freeze"]}, [SECOND]),
        ({"event_types": "Freeze,Reboot"}, [FIRST, SECOND]),
        ({"event_statuses": ["Started"]}, []),
        ({"event_sources": ["Platform"]}, [FIRST, SECOND]),
        ({"resources": ["WEB_1"]}, [SECOND]),
        ({"this_vm_only": True}, [FIRST]),
        ({"this_vm_only": "yes"}, [FIRST]),
        ({"this_vm_only": True, "vm_name": "web_1"}, [SECOND]),
        ({"starts_within": "14m"}, [FIRST]),
        ({"min_duration": 6}, [FIRST]),
        ({"max_duration": "5s"}, [SECOND]),
        ({"gather_vm": True}, [FIRST, SECOND]),
        ({"query": "events[?event_type=='Freeze'].event_id | [0]"}, [SECOND]),
    ],
)
def test_it_has_the_options_of_the_module(stage: Stage, ask: Ask, options: Dict[str, Any], expected: List[str]) -> None:
    stage.reboot("web_0", duration=9)
    stage.schedule("Freeze", "web_1", event_id=SECOND, notice=900, duration=5)
    found = ask(endpoint=stage.endpoint, **options)
    assert (found if "query" in options else _ids(found)) == expected
    assert set(stage.requests()) == {"GET"}


def test_the_identity_is_asked_for_only_when_it_is_needed(stage: Stage, ask: Ask) -> None:
    ask("web_0", endpoint=stage.endpoint)
    assert stage.requests(path="instance") == []
    ask(endpoint=stage.endpoint, this_vm_only=True)
    assert stage.requests(path="instance") == ["GET"]


# --- terms, query and lookup ------------------------------------------------------------------------------------------


def test_terms_are_names_of_vms(stage: Stage, ask: Ask) -> None:
    stage.reboot("web_0", "web_1")
    stage.reboot("web_2", event_id=SECOND)
    assert _ids(ask("WEB_1", endpoint=stage.endpoint)) == [FIRST]
    assert _ids(ask("web", endpoint=stage.endpoint)) == []
    assert _ids(ask("web_1", "web_2", endpoint=stage.endpoint)) == [FIRST, SECOND]
    assert _ids(ask(["web_1", "web_2"], endpoint=stage.endpoint)) == [FIRST, SECOND]
    assert _ids(ask([], endpoint=stage.endpoint)) == []
    assert _ids(ask("web_1", endpoint=stage.endpoint, resources=["web_2"])) == [FIRST, SECOND]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("events[].event_id", [FIRST]),
        ("length(events)", [1]),
        ("document.Events[0]", None),
        ("events[?event_id=='x']", []),
        ("nothing", [None]),
    ],
)
def test_a_query_that_finds_no_list_comes_as_a_list_of_one(stage: Stage, ask: Ask, expression: str, found: Any) -> None:
    stage.reboot("web_0")
    answer = ask(endpoint=stage.endpoint, query=expression)
    assert answer == found if found is not None else _is_one_entry(answer)


def _is_one_entry(answer: List[Any]) -> bool:
    return [entry["EventId"] for entry in answer] == [FIRST]


def test_lookup_gives_a_dictionary_for_one_event_and_a_list_otherwise(stage: Stage, ask: Ask) -> None:
    """Why the examples use query()."""
    assert ask(endpoint=stage.endpoint, function="lookup") == []
    stage.reboot("web_0")
    assert ask(endpoint=stage.endpoint, function="lookup")["event_id"] == FIRST
    stage.reboot("web_0", event_id=SECOND)
    assert _ids(ask(endpoint=stage.endpoint, function="lookup")) == [FIRST, SECOND]


# --- where options come from ------------------------------------------------------------------------------------------


def test_the_connection_may_come_from_variables_with_templates_in_them(stage: Stage, ask: Ask) -> None:
    stage.reboot("web_0")
    variables = {
        "azure_scheduled_events_endpoint": "{{ scheme }}://{{ address }}",
        "azure_scheduled_events_api_version": "{{ versions | first }}",
        "azure_scheduled_events_timeout": "{{ 2 * 5 }}",
        "azure_scheduled_events_retry_for": 0,
        "scheme": "http",
        "address": stage.endpoint.split("://")[1],
        "versions": ["2017-03-01"],
    }
    assert _ids(ask(variables=variables)) == [FIRST]
    assert stage.simulator.requests()[0].query == {"api-version": "2017-03-01"}


def test_a_version_without_quotes_is_a_date_to_yaml_and_a_version_to_us(stage: Stage, ask: Ask) -> None:
    variables = {"azure_scheduled_events_endpoint": stage.endpoint, "azure_scheduled_events_api_version": datetime.date(2019, 8, 1)}
    assert ask(variables=variables) == []
    assert ask(endpoint=stage.endpoint, api_version=datetime.date(2019, 8, 1)) == []
    assert [record.query for record in stage.simulator.requests()] == [{"api-version": "2019-08-01"}] * 2


def test_the_connection_may_come_from_the_environment(stage: Stage, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.reboot("web_0")
    monkeypatch.setenv("AZURE_SCHEDULED_EVENTS_ENDPOINT", stage.endpoint)
    monkeypatch.setenv("AZURE_SCHEDULED_EVENTS_API_VERSION", "2019-08-01")
    monkeypatch.setenv("AZURE_SCHEDULED_EVENTS_TIMEOUT", "10s")
    monkeypatch.setenv("AZURE_SCHEDULED_EVENTS_RETRY_FOR", "20s")
    stage.simulator.fault("status", status=503)
    assert _ids(ask()) == [FIRST]
    assert stage.simulator.requests()[0].query == {"api-version": "2019-08-01"}


def test_what_is_nearer_wins(stage: Stage, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option of the call before the variable before the environment."""
    dead = "http://127.0.0.1:9"
    stage.reboot("web_0")
    monkeypatch.setenv("AZURE_SCHEDULED_EVENTS_ENDPOINT", dead)
    assert _ids(ask(variables={"azure_scheduled_events_endpoint": stage.endpoint})) == [FIRST]
    assert _ids(ask(endpoint=stage.endpoint, variables={"azure_scheduled_events_endpoint": dead})) == [FIRST]


# --- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", OWN_CASES, ids=_error_cases.names(OWN_CASES))
def test_a_failure_has_the_words_of_the_module(stage: Stage, ask: Ask, case: Case) -> None:
    """Once, and without what libraries underneath have to say."""
    case.prepare(stage)
    options: Dict[str, Any] = {"endpoint": stage.endpoint, "timeout": "10s", "retry_for": "0", **case.options}
    assert _failure(ask, **options) == case.expected(stage)


def test_an_unknown_option_is_refused(stage: Stage, ask: Ask) -> None:
    """Ansible itself reads over it, and then every event matches."""
    assert _failure(ask, endpoint=stage.endpoint, event_type=["Reboot"], until="gone") == (
        "Unknown option event_type, until; known are api_version, endpoint, event_ids, event_sources, event_statuses, event_types,"
        " gather_vm, max_duration, min_duration, query, resources, retry_for, starts_within, this_vm_only, timeout, vm_name."
    )
    assert stage.requests() == []


@pytest.mark.parametrize("option", ["this_vm_only", "gather_vm"])
def test_a_boolean_given_as_a_word_is_refused(stage: Stage, ask: Ask, option: str) -> None:
    """Ansible's configuration takes every word that it does not know for false, and then every event matches."""
    text = _failure(ask, endpoint=stage.endpoint, **{option: "perhaps"})
    assert option in text
    assert "'perhaps' is not a valid boolean" in text
    assert stage.requests() == []


@pytest.mark.parametrize(
    ("option", "choices"),
    [
        ("event_types", "Freeze, Reboot, Redeploy, Preempt, Terminate, unknown"),
        ("event_statuses", "Scheduled, Started, unknown"),
        ("event_sources", "Platform, User, unknown"),
    ],
)
def test_a_word_that_is_no_choice_is_refused_with_those_that_are(stage: Stage, ask: Ask, option: str, choices: str) -> None:
    text = _failure(ask, endpoint=stage.endpoint, **{option: ["nonsense"]})
    assert text == "value of %s must be one or more of: %s. Got no match for: nonsense" % (option, choices)
    assert stage.requests() == []


@pytest.mark.parametrize("term", ["['web_0', 'web_1']", "web_0 web_1", "", 7, [["web_0"]]])
def test_a_term_that_is_no_name_is_refused(stage: Stage, ask: Ask, term: Any) -> None:
    text = _failure(ask, term, endpoint=stage.endpoint)
    assert text.startswith("resources: ")
    assert text.endswith(" is not a name or id of Azure; give a YAML list of whole names, not the text of a list.")
    assert stage.requests() == []


@pytest.mark.parametrize(("library", "options"), [("requests", {}), ("jmespath", {"query": "events"})])
def test_a_missing_library_is_named_with_the_place_where_it_is_missing(
    stage: Stage, ask: Ask, monkeypatch: pytest.MonkeyPatch, library: str, options: Dict[str, Any]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == library] + [library]:
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    assert _failure(ask, endpoint=stage.endpoint, **options) == (
        "The Python library %s is missing where Ansible runs: install it for the Python that ansible --version names." % library
    )
    assert stage.requests() == []


def test_jmespath_is_needed_only_for_a_query(stage: Stage, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jmespath", None)  # type: ignore[arg-type]
    assert ask(endpoint=stage.endpoint) == []


# --- its page ---------------------------------------------------------------------------------------------------------


def test_the_keys_of_an_event_are_those_of_the_sample(stage: Stage, ask: Ask) -> None:
    """RETURN names the module's page for their meaning."""
    plugin = __import__("ansible_collections.cloud_maintenance.azure.plugins.lookup.azure_scheduled_events", fromlist=["RETURN"])
    sample = yaml.safe_load(plugin.RETURN)["_list"]["sample"][0]
    stage.reboot("web_0")
    assert set(ask(endpoint=stage.endpoint)[0]) == set(sample)
