# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every filter of rolling maintenance does with what templates hand to it (`_edge`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.plugin_utils._edge import as_filter, facing_in, names_in, number_in, options_in
from jinja2 import StrictUndefined, Undefined

IN_BERLIN = {
    "windows": [{"from": "22:00", "to": "04:00", "timezone": "Europe/Berlin"}],
    "rules": [{"action": "prepare", "start": "window"}],
}


def given(*values: Any, **named: Any) -> List[Any]:
    return [*values, *named.values()]


def test_what_comes_out_is_plain_and_no_template() -> None:
    assert as_filter("f", given)("{{ 1 }}", x=(1, 2.5, None)) == ["{ { 1 }}", [1, 2.5, None]]


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ([StrictUndefined(name="x")], {}, "f: what it is used on is not defined, in whole or in part."),
        ([1, Undefined(name="x")], {}, "f: argument 1 is not defined, in whole or in part."),
        ([1], {"now": StrictUndefined(name="x"), "forks": [Undefined()]}, "f: now and forks is not defined, in whole or in part."),
        ([{"a": [{"b": Undefined()}]}], {}, "f: what it is used on is not defined, in whole or in part."),
    ],
)
def test_what_is_not_defined_is_refused(values: List[Any], named: Any, words: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        as_filter("f", given)(*values, **named)
    assert str(refused.value) == words


def test_every_failure_of_ours_is_a_sentence_with_the_name_of_the_filter() -> None:
    def broken() -> None:
        raise ConfigurationError("it is wrong")

    with pytest.raises(AnsibleFilterError) as refused:
        as_filter("f", broken)()
    assert str(refused.value) == "f: it is wrong"
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(("value", "number"), [(5, 5.0), ("1763456400.5", 1763456400.5), (2.5, 2.5)])
def test_numbers_may_come_as_text(value: Any, number: float) -> None:
    assert number_in(value, "now") == number


@pytest.mark.parametrize("value", ["now", None, [], "nan", "inf", True])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"now is .*, not a number"):
        number_in(value, "now")


def test_names_are_a_list() -> None:
    assert names_in(("a", 7), "names") == ["a", "7"]
    with pytest.raises(ConfigurationError, match="names is 'a,b', not a list of names"):
        names_in("a,b", "names")


def test_there_is_always_one_fork() -> None:
    assert (facing_in({}, 5, "0").forks, facing_in({}, 5, 7).forks, facing_in({}, "5", 7).now) == (1, 7, 5.0)


def test_the_data_of_zones_are_read_where_ansible_runs() -> None:
    zone = options_in(IN_BERLIN).settings.windows[0].zone
    assert zone is not None
    assert zone.offset_at(0.0) == 3600


def test_missing_data_of_a_zone_are_a_mistake_of_the_windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ansible_collections.cloud_maintenance.azure.plugins.module_utils._zone.FOLDERS", (str(tmp_path),))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv("TZDIR", raising=False)
    with pytest.raises(ConfigurationError, match="rolling_maintenance_windows: there are no data of the time zone 'Europe/Berlin'"):
        options_in(IN_BERLIN)
