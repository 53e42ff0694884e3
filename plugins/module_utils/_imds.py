# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The metadata service of Azure: its paths, its versions and what its answers mean.

Private to the collection. Nothing else in it knows a path of the service.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Mapping, Optional

from ._clock import Clock
from ._document import Document, load_json, parse_document
from ._errors import DocumentError, IdentityError
from ._http import CONDITION, Answer, HttpClient, Request, RequestsTransport

# Enforced from 2017-08-01 on, and harmless before (C-2).
_HEADERS = {"Metadata": "true"}
_EVENTS_PATH = "/metadata/scheduledevents"
_INSTANCE_PATH = "/metadata/instance"
# The version of C-28; the instance part of the service has versions of its own.
_INSTANCE_VERSION = "2021-02-01"
_NO_DOCUMENT = "Something else than the metadata service answered: check endpoint, and that no proxy is in between."
_NO_NAME = "The VM may be too young for it: try again in a minute, or give %s."
# This version writes one underscore in front of each name (C-20).
_UNDERSCORE_VERSION = "2017-03-01"


@dataclass(frozen=True)
class Reading:
    """A document, when it was there (wall time), and when it was asked for (monotonic), which bounds its age."""

    document: Document
    queried_at: float
    asked_at: float


@dataclass(frozen=True)
class Poll:
    """One of many looks. reading: None where nothing has changed since the tag that was sent.

    tag: what to send next time, if the service gives one. served_at: the service's wall time, queried_at ours at that moment;
    asked_at is monotonic.
    """

    reading: Optional[Reading]
    tag: Optional[str]
    served_at: Optional[float]
    queried_at: float
    asked_at: float


@dataclass(frozen=True)
class Vm:
    """Who this VM is (C-28). A part that does not apply is None, where the service sends an empty string."""

    name: str
    vm_id: Optional[str] = None
    resource_id: Optional[str] = None
    resource_group: Optional[str] = None
    subscription_id: Optional[str] = None
    location: Optional[str] = None
    zone: Optional[str] = None
    scale_set: Optional[str] = None
    placement_group_id: Optional[str] = None
    fault_domain: Optional[str] = None
    update_domain: Optional[str] = None
    computer_name: Optional[str] = None


_VM_KEYS = {
    "vm_id": "vmId",
    "resource_id": "resourceId",
    "resource_group": "resourceGroupName",
    "subscription_id": "subscriptionId",
    "location": "location",
    "zone": "zone",
    "scale_set": "vmScaleSetName",
    "placement_group_id": "placementGroupId",
    "fault_domain": "platformFaultDomain",
    "update_domain": "platformUpdateDomain",
}


class MetadataService:
    """What one VM may ask of its metadata service, and say to it."""

    def __init__(self, http: HttpClient, *, endpoint: str, api_version: str) -> None:
        self._http = http
        self._endpoint = endpoint
        self._api_version = api_version

    @property
    def events_url(self) -> str:
        return self._endpoint + _EVENTS_PATH

    def read(self, *, at_most: Optional[float] = None) -> Reading:
        """The document as it is now. Unconditional: a tag may repeat with other content (C-9, C-12)."""
        return self._reading(self._get_events({}, at_most))

    def poll(self, *, tag: Optional[str] = None, at_most: Optional[float] = None) -> Poll:
        """The document, with a tag only if it is another one than before: for idle polling, never before an act."""
        answer = self._get_events({} if tag is None else {CONDITION: tag}, at_most)
        reading = None if answer.unchanged else self._reading(answer)
        return Poll(reading, answer.headers.get("etag") or None, answer.served_at, answer.arrived_at, answer.sent_at)

    def _get_events(self, condition: Mapping[str, str], at_most: Optional[float]) -> Answer:
        request = Request("GET", self.events_url, {"api-version": self._api_version}, {**_HEADERS, **condition})
        return self._http.get(request, at_most=at_most)

    def _reading(self, answer: Answer) -> Reading:
        try:
            document = parse_document(answer.body, underscored=self._api_version == _UNDERSCORE_VERSION)
        except DocumentError as error:
            raise DocumentError("GET %s failed: %s. %s" % (self.events_url, error.message, _NO_DOCUMENT)) from error
        return Reading(document, answer.arrived_at, answer.sent_at)

    def approve(self, event_ids: Iterable[str]) -> None:
        """One post for all ids (C-22). Returning proves only that the service took it, not that the event starts (C-24)."""
        body = {"StartRequests": [{"EventId": event_id} for event_id in event_ids]}
        headers = {"Content-Type": "application/json", **_HEADERS}
        request = Request("POST", self.events_url, {"api-version": self._api_version}, headers, json.dumps(body).encode("ascii"))
        answer = self._http.post(request)
        if answer.body.lstrip()[:1] == b"<":  # the page of a captive proxy (C-5)
            raise DocumentError("POST %s failed: the answer is HTML. %s" % (self.events_url, _NO_DOCUMENT))

    def vm(self, *, otherwise: str, known_name: Optional[str] = None, at_most: Optional[float] = None) -> Vm:
        """The identity of this VM. otherwise: the option by which a user can do without; known_name: what he has given there."""
        url = self._endpoint + _INSTANCE_PATH
        answer = self._http.get(Request("GET", url, {"api-version": _INSTANCE_VERSION}, _HEADERS), at_most=at_most)
        compute = _compute(answer.body)
        if compute is None:
            raise DocumentError("GET %s failed: the answer is not the identity of a VM. %s" % (url, _NO_DOCUMENT))
        name = known_name or _text(compute, "name")
        if not name:
            raise IdentityError("GET %s failed: the answer does not say the VM's name. %s" % (url, _NO_NAME % otherwise))
        return _vm(name, compute)


def connect(*, endpoint: str, api_version: str, timeout: float, retry_for: float, clock: Clock) -> MetadataService:
    """The service at an address, over HTTP. Nothing is sent yet."""
    http = HttpClient(RequestsTransport(), timeout=timeout, retry_for=retry_for, clock=clock)
    return MetadataService(http, endpoint=endpoint, api_version=api_version)


def _compute(body: bytes) -> Optional[Mapping[str, Any]]:
    """The part on the VM, empty where it is missing; None for what is not an answer of this service."""
    try:
        instance = load_json(body)
    except ValueError:
        return None
    if not isinstance(instance, dict):
        return None
    compute = instance.get("compute")
    return compute if isinstance(compute, dict) else {}


def _vm(name: str, compute: Mapping[str, Any]) -> Vm:
    parts: Dict[str, Any] = {part: _text(compute, key) for part, key in _VM_KEYS.items()}
    profile = compute.get("osProfile")
    if isinstance(profile, dict):
        parts["computer_name"] = _text(profile, "computerName")
    return Vm(name=name, **parts)


def _text(values: Mapping[str, Any], key: str) -> Optional[str]:
    value = values.get(key)
    return value if isinstance(value, str) and value else None
