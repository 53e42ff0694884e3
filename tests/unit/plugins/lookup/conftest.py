# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup as templates reach it: through Ansible's collection loader, its configuration and its templating."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, Optional

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.utils.collection_loader import AnsibleCollectionConfig
from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder
from ansible_collections.cloud_maintenance.azure.plugins.module_utils import _http
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.modules import _harness

NAME = "cloud_maintenance.azure.azure_scheduled_events"
Ask = Callable[..., Any]


def _trusted(text: str) -> Any:
    """Since ansible-core 2.19 only text that somebody vouches for is a template."""
    try:
        from ansible.template import trust_as_template
    except ImportError:
        return text
    return trust_as_template(text)


def _collections() -> Dict[str, Any]:
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] == "ansible_collections"}


@pytest.fixture(scope="module")
def loader() -> Iterator[None]:
    """Ansible's collection loader: ansible-test has it in place, plain pytest has imported the collection without it."""
    if AnsibleCollectionConfig.collection_finder is not None:
        yield
        return
    tree = str(Path(str(_http.__file__)).parents[5])
    before = _collections()
    for name in before:
        del sys.modules[name]
    _AnsibleCollectionFinder(paths=[tree])._install()
    yield
    _AnsibleCollectionFinder._remove()
    for name in _collections():
        del sys.modules[name]
    sys.modules.update(before)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[_harness.Stage]:
    """Three VMs of one scope, and one by itself; the clock stands at 2026-11-18T09:46:00Z until somebody sleeps."""
    with _harness.stage(monkeypatch) as prepared:
        yield prepared


@pytest.fixture
def ask(loader: None, stage: _harness.Stage, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """What a template with the lookup in it gives, on the VM of the stage."""
    from ansible.plugins.loader import lookup_loader

    plugin = sys.modules[type(lookup_loader.get(NAME)).__module__]
    monkeypatch.setattr(plugin, "Clock", stage.hands.clock)
    for option in ("ENDPOINT", "API_VERSION", "TIMEOUT", "RETRY_FOR"):
        monkeypatch.delenv("AZURE_SCHEDULED_EVENTS_" + option, raising=False)

    def asked(*terms: Any, function: str = "query", variables: Optional[Mapping[str, Any]] = None, **options: Any) -> Any:
        given = {"terms": list(terms), "options": options, **(variables or {})}
        given = {name: _trusted(value) if isinstance(value, str) else value for name, value in given.items()}
        template = _trusted("{{ %s('%s', *terms, **options) }}" % (function, NAME))
        return Templar(loader=DataLoader(), variables=given).template(template)

    return asked
