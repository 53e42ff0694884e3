# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible itself refuses before a module begins; the words differ between versions of ansible-core."""

from __future__ import annotations

import re
from typing import Any, Dict

import pytest
from ansible.module_utils.parsing.convert_bool import BOOLEANS
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules._harness import APPROVE, FIRST, INFO, WAIT, Stage

# Until ansible-core 2.18, and since.
BOOLEAN_MESSAGES = {
    "argument '%s' is of type <class 'str'> and we were unable to convert to bool:"
    " The value 'perhaps' is not a valid boolean.  Valid booleans include: ",
    "argument '%s' is of type str and we were unable to convert to bool:"
    " The value 'perhaps' is not a valid boolean. Valid booleans include: ",
}
LIST_MESSAGES = {
    "argument '%s' is of type <class 'dict'> and we were unable to convert to list: <class 'dict'> cannot be converted to a list",
    "argument '%s' is of type dict and we were unable to convert to list: <class 'dict'> cannot be converted to a list",
}


@pytest.mark.parametrize(
    ("module", "option", "needed"),
    [
        (INFO, "this_vm_only", {}),
        (INFO, "gather_vm", {}),
        (APPROVE, "wait_for_start", {"event_ids": [FIRST]}),
        (WAIT, "allow_absent", {"event_ids": [FIRST]}),
    ],
)
def test_a_boolean_given_as_a_word_is_refused(stage: Stage, module: str, option: str, needed: Dict[str, Any]) -> None:
    result = stage.run(module, **needed, **{option: "perhaps"})
    assert result.failed
    sentence, marker, words = result.message.partition("include: ")
    assert sentence + marker in {message % option for message in BOOLEAN_MESSAGES}
    assert {word.strip(" '") for word in words.split(",")} == {str(value) for value in BOOLEANS if not isinstance(value, bool)}
    assert stage.requests() == []


@pytest.mark.parametrize("word", ["yes", "True", "1", 1])
def test_the_usual_words_for_a_boolean_are_understood(stage: Stage, word: Any) -> None:
    stage.reboot("web_1")
    assert stage.info(this_vm_only=word)["events"] == []


@pytest.mark.parametrize(
    ("module", "option", "needed"),
    [
        (INFO, "event_ids", {}),
        (INFO, "resources", {}),
        (INFO, "event_types", {}),
        (APPROVE, "event_ids", {}),
        (APPROVE, "ready_resources", {"event_ids": [FIRST]}),
        (APPROVE, "allow_unready", {"event_ids": [FIRST]}),
        (WAIT, "event_ids", {}),
    ],
)
def test_a_mapping_is_no_list(stage: Stage, module: str, option: str, needed: Dict[str, Any]) -> None:
    result = stage.run(module, **{**needed, option: {"web_0": True}})
    assert result.failed
    assert result.message in {message % option for message in LIST_MESSAGES}
    assert stage.requests() == []


@pytest.mark.parametrize(("module", "needed"), [(INFO, {}), (APPROVE, {"event_ids": [FIRST]}), (WAIT, {"event_ids": [FIRST]})])
def test_an_unknown_option_is_refused_with_those_that_exist(stage: Stage, module: str, needed: Dict[str, Any]) -> None:
    result = stage.run(module, **needed, event_id=FIRST)
    assert result.failed
    found = re.fullmatch(r"Unsupported parameters for \(\S+\) module: event_id\. Supported parameters include: (.*)\.", result.message)
    assert found is not None
    assert {"endpoint", "api_version", "timeout", "retry_for", "event_ids"} <= set(found.group(1).replace(" (", ", ").split(", "))
    assert stage.requests() == []


@pytest.mark.parametrize("given", [FIRST + "," + FIRST.lower(), FIRST])
def test_ids_between_commas_are_a_list(stage: Stage, given: str) -> None:
    """Ansible's own reading of text where a list is wanted."""
    stage.reboot("web_0")
    assert len(stage.info(event_ids=given)["events"]) == 1
