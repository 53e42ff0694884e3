# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any, Dict

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._arguments import (
    Connection,
    connection_arguments,
    connection_of,
    duration_of,
    names_of,
    optional_names_of,
    selection_arguments,
    selection_of,
    vm_name_of,
)
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._selection import Selection

DEFAULTS = {name: argument.get("default") for name, argument in {**connection_arguments(), **selection_arguments()}.items()}


def options(**changes: Any) -> Dict[str, Any]:
    return {**DEFAULTS, **changes}


def refusal(function: Any, **changes: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        function(options(**changes))
    return str(caught.value)


def test_the_defaults_bear_a_slow_first_answer_and_an_update_of_the_service() -> None:
    """C-7, C-10: two minutes for the first answer ever, and more than 70 seconds of 410."""
    assert connection_of(options()) == Connection("http://169.254.169.254", "2020-07-01", 130.0, 90.0)


@pytest.mark.parametrize(
    "endpoint",
    ["http://127.0.0.1", "https://imds.example", "http://127.0.0.1:8080/vm/web_0", "http://[::1]:80", "http://168.63.129.16/x-y/%20~"],
)
def test_a_base_url_may_have_port_and_path(endpoint: str) -> None:
    """C-1: another address by DHCP option 245, so the base URL is a setting."""
    assert connection_of(options(endpoint=endpoint)).endpoint == endpoint
    assert connection_of(options(endpoint=endpoint + "/")).endpoint == endpoint


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "127.0.0.1",
        "ftp://127.0.0.1",
        "http://",
        "http://a b",
        "http://a?x=1",
        "http://a#x",
        "http://u:p@a",
        "http://a:123456",
        "http://a:65536",
        "http://a..b",
        "http://.a",
    ],
)
def test_what_is_no_base_url_is_refused(endpoint: str) -> None:
    assert refusal(connection_of, endpoint=endpoint) == (
        "endpoint: %r is not the base URL of a metadata service; give something like http://169.254.169.254." % endpoint
    )


def test_a_label_of_a_host_name_has_at_most_63_letters() -> None:
    assert connection_of(options(endpoint="http://%s.b" % ("a" * 63))).endpoint == "http://%s.b" % ("a" * 63)
    assert refusal(connection_of, endpoint="http://%s.b" % ("a" * 64)).startswith("endpoint: 'http://aaa")


@pytest.mark.parametrize("version", ["", "latest", "2020-7-1", "2020-07-01&x", "20200701"])
def test_what_is_no_version_is_refused(version: str) -> None:
    assert refusal(connection_of, api_version=version) == "api_version: %r is not a version; give a date such as 2020-07-01." % version


def test_a_version_that_nobody_knows_yet_is_left_to_the_service() -> None:
    """C-6: no list of versions is complete."""
    assert connection_of(options(api_version="2031-01-01-preview")).api_version == "2031-01-01-preview"


def test_a_time_out_below_a_second_is_refused() -> None:
    """C-11: many short time-outs themselves cause 429."""
    assert refusal(connection_of, timeout="0.5") == "timeout must be at least 1 s, not '0.5'."
    assert connection_of(options(timeout="1")).timeout == 1.0


@pytest.mark.parametrize("option", ["timeout", "retry_for"])
def test_what_is_no_duration_is_refused_with_the_name_of_the_option(option: str) -> None:
    assert refusal(connection_of, **{option: "soon"}) == (
        "%s: 'soon' is not a duration: give seconds, or a number with s, m, h or d such as 15m." % option
    )


@pytest.mark.parametrize("option", ["starts_within", "min_duration", "max_duration"])
def test_the_durations_of_a_selection_are_optional_and_looked_at(option: str) -> None:
    assert getattr(selection_of(options()), option) is None
    assert getattr(selection_of(options(**{option: "15m"})), option) == 900.0
    assert refusal(selection_of, **{option: "-1"}).startswith("%s: '-1' is not a duration" % option)


def test_no_option_selects_everything() -> None:
    assert selection_of(options()) == Selection()


def test_options_become_a_selection() -> None:
    wanted = {
        "event_ids": ["A"],
        "event_types": ["Freeze"],
        "event_statuses": ["Started"],
        "event_sources": ["User"],
        "resources": [" web_0", "web_1"],
        "this_vm_only": True,
    }
    assert selection_of(options(**wanted)) == Selection(("A",), ("Freeze",), ("Started",), ("User",), ("web_0", "web_1"), True)


def test_durations_that_exclude_each_other_are_refused() -> None:
    assert refusal(selection_of, min_duration="2h", max_duration="90s") == (
        "min_duration (2 h) is longer than max_duration (1 min 30 s), so no event can match."
    )
    assert selection_of(options(min_duration="90s", max_duration="90s")).max_duration == 90.0


@pytest.mark.parametrize("name", ["", " ", "['web_0'", "web_0 web_1", "{{x}}", "a,b", '"a"', None, 7])
@pytest.mark.parametrize("option", ["event_ids", "resources"])
def test_what_is_no_name_is_refused_with_the_name_of_the_option(option: str, name: Any) -> None:
    assert refusal(selection_of, **{option: [name]}) == (
        "%s: %r is not a name or id of Azure; give a YAML list of whole names, not the text of a list." % (option, name)
    )


def test_an_empty_list_of_names_is_not_the_same_as_none() -> None:
    assert optional_names_of(options(resources=[]), "resources") == ()
    assert optional_names_of(options(), "resources") is None
    assert names_of(options(), "resources") == ()


def test_a_vm_name_is_looked_at_like_the_others() -> None:
    assert vm_name_of(options()) is None
    assert vm_name_of(options(vm_name="web_0")) == "web_0"
    assert refusal(vm_name_of, vm_name="web 0").startswith("vm_name: 'web 0' is not a name")


def test_no_duration_is_longer_than_a_year() -> None:
    """Longer ones are beyond what some clocks can count."""
    assert duration_of({"wait_timeout": "365d"}, "wait_timeout") == 365 * 86400.0
    with pytest.raises(ConfigurationError, match=r"^wait_timeout must be at most 365 d, not '366d'\.$"):
        duration_of({"wait_timeout": "366d"}, "wait_timeout")


def test_a_duration_may_have_a_floor() -> None:
    assert duration_of({"poll_interval": "1s"}, "poll_interval", at_least=1.0) == 1.0
    with pytest.raises(ConfigurationError, match=r"^poll_interval must be at least 1 s, not '0'\.$"):
        duration_of({"poll_interval": "0"}, "poll_interval", at_least=1.0)
