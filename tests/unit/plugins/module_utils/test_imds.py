# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import DocumentError, IdentityError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._http import RawAnswer
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._imds import MetadataService, Vm, connect
from ansible_collections.cloud_maintenance.azure.tests.unit.plugins.module_utils.fakes import (
    NOW,
    HandClock,
    Wire,
    answer,
    document,
    event,
    service,
)

EVENTS = "http://127.0.0.1:1/metadata/scheduledevents"


def test_a_reading_carries_the_document_and_both_its_times() -> None:
    hand = HandClock()
    hand.passed = 7.0
    reading = service(Wire(document(event())), hand).read()
    assert [found.event_id for found in reading.document.events] == ["E-1"]
    assert (reading.queried_at, reading.asked_at) == (NOW + 7.0, 7.0)


def test_the_document_is_asked_for_without_condition_and_with_the_header() -> None:
    """C-1, C-2, C-9: a tag may repeat with other content, so no If-None-Match before an act."""
    wire = Wire(document())
    service(wire, HandClock()).read()
    (request,) = wire.requests
    assert (request.method, request.url, dict(request.params)) == ("GET", EVENTS, {"api-version": "2020-07-01"})
    assert dict(request.headers) == {"Metadata": "true"}
    assert request.body is None


def test_a_poll_sends_the_tag_of_the_last_one_and_learns_the_next() -> None:
    """C-9: an answer without a document says only that the list is that of the tag."""
    tagged = RawAnswer(200, {"etag": '"1"', "date": "Wed, 18 Nov 2026 09:46:05 GMT"}, document(event()).body)
    wire = Wire(tagged, answer(304, headers={"etag": '"1"'}), document())
    hand = HandClock()
    asked = service(wire, hand)
    first = asked.poll()
    assert first.reading is not None
    assert [found.event_id for found in first.reading.document.events] == ["E-1"]
    assert (first.tag, first.served_at, first.queried_at, first.asked_at) == ('"1"', NOW + 5.0, NOW, 0.0)
    hand.passed = 7.0
    second = asked.poll(tag=first.tag)
    assert (second.reading, second.tag, second.served_at, second.queried_at, second.asked_at) == (None, '"1"', None, NOW + 7.0, 7.0)
    third = asked.poll(tag=second.tag)
    assert third.reading is not None
    assert (third.reading.document.events, third.tag) == ((), None)
    assert [dict(request.headers) for request in wire.requests] == [
        {"Metadata": "true"},
        {"Metadata": "true", "If-None-Match": '"1"'},
        {"Metadata": "true", "If-None-Match": '"1"'},
    ]


def test_a_poll_bears_no_more_than_it_is_told_to() -> None:
    wire = Wire(document())
    service(wire, HandClock()).poll(at_most=10.0)
    assert wire.patience == [10.0]


def test_a_poll_takes_only_a_document_for_an_answer() -> None:
    """C-5."""
    with pytest.raises(DocumentError):
        service(Wire(answer(200, b"<html>Welcome</html>")), HandClock()).poll(tag='"1"')


def test_an_approval_is_one_post_for_all_ids_with_the_header() -> None:
    """C-2, C-22: several ids at once, and the header on POST as well."""
    wire = Wire(answer(200))
    service(wire, HandClock()).approve(["A", "b"])
    (request,) = wire.requests
    assert (request.method, request.url, dict(request.params)) == ("POST", EVENTS, {"api-version": "2020-07-01"})
    assert dict(request.headers) == {"Metadata": "true", "Content-Type": "application/json"}
    assert wire.posts == [{"StartRequests": [{"EventId": "A"}, {"EventId": "b"}]}]


def test_what_is_not_a_document_names_the_address_and_what_to_check() -> None:
    """C-5: a page of a captive proxy is an error, never "no events"."""
    with pytest.raises(DocumentError) as caught:
        service(Wire(answer(200, b"<html>Welcome</html>")), HandClock()).read()
    assert str(caught.value) == (
        "GET http://127.0.0.1:1/metadata/scheduledevents failed: the answer is not a document of scheduled events: it is not JSON but"
        " HTML, as a captive proxy sends it. Something else than the metadata service answered: check endpoint, and that no"
        " proxy is in between."
    )
    assert not caught.value.permanent


COMPUTE = {
    "name": "Web_0",
    "vmId": "1",
    "resourceId": "/r",
    "resourceGroupName": "rg",
    "subscriptionId": "s",
    "location": "westeurope",
    "zone": "",
    "vmScaleSetName": "web",
    "placementGroupId": "p",
    "platformFaultDomain": "0",
    "platformUpdateDomain": "4",
    "osProfile": {"computerName": "web000000"},
}


def test_the_identity_is_what_the_service_says_and_null_where_it_says_nothing() -> None:
    """C-28: strings, empty when not applicable."""
    wire = Wire(answer(200, {"compute": COMPUTE, "network": {}}))
    assert service(wire, HandClock()).vm(otherwise="vm_name") == Vm(
        "Web_0", "1", "/r", "rg", "s", "westeurope", None, "web", "p", "0", "4", "web000000"
    )
    (request,) = wire.requests
    assert (request.url, dict(request.params)) == ("http://127.0.0.1:1/metadata/instance", {"api-version": "2021-02-01"})
    assert dict(request.headers) == {"Metadata": "true"}


def test_a_computer_name_is_not_needed() -> None:
    assert service(Wire(answer(200, {"compute": {"name": "a"}})), HandClock()).vm(otherwise="vm_name") == Vm("a")


@pytest.mark.parametrize("body", [{}, {"compute": None}, {"compute": {}}, {"compute": {"name": ""}}, {"compute": {"name": 1}}])
def test_an_identity_without_a_name_is_an_error_that_says_what_to_do(body: Any) -> None:
    """C-28: right after creation the answer may be incomplete."""
    with pytest.raises(IdentityError) as caught:
        service(Wire(answer(200, body)), HandClock()).vm(otherwise="vm_name")
    assert str(caught.value) == (
        "GET http://127.0.0.1:1/metadata/instance failed: the answer does not say the VM's name. The VM may be too young for it:"
        " try again in a minute, or give vm_name."
    )


def test_a_name_that_is_known_need_not_be_in_the_answer() -> None:
    """C-28: what the user has given goes before what the service says."""
    for body in ({"compute": {"vmId": "1"}}, {"compute": {"name": "web_0", "vmId": "1"}}):
        wire = Wire(answer(200, body))
        assert service(wire, HandClock()).vm(otherwise="vm_name", known_name="db_0", at_most=5.0) == Vm("db_0", "1")
        assert wire.patience == [5.0]


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b"web_0", b"", [], "web_0"])
def test_what_is_no_identity_at_all_names_the_address_and_what_to_check(body: Any) -> None:
    """C-5, C-28: a captive proxy answers here as well."""
    with pytest.raises(DocumentError) as caught:
        service(Wire(answer(200, body)), HandClock()).vm(otherwise="vm_name")
    assert str(caught.value) == (
        "GET http://127.0.0.1:1/metadata/instance failed: the answer is not the identity of a VM. Something else than the metadata"
        " service answered: check endpoint, and that no proxy is in between."
    )


def test_the_option_that_makes_the_question_needless_is_the_callers() -> None:
    with pytest.raises(IdentityError, match=r"or give ready_resources\.$"):
        service(Wire(answer(200, {})), HandClock()).vm(otherwise="ready_resources")


@pytest.mark.parametrize("body", [b"", b"{}", b"accepted"])
def test_what_the_service_says_to_a_post_does_not_matter(body: bytes) -> None:
    """C-24: only the document proves an approval."""
    service(Wire(answer(200, body)), HandClock()).approve(["A"])


def test_a_page_of_a_proxy_is_no_answer_to_a_post() -> None:
    """C-5, mistake 12: status 200 with HTML approves nothing."""
    with pytest.raises(DocumentError) as caught:
        service(Wire(answer(200, b" <!doctype html>")), HandClock()).approve(["A"])
    assert str(caught.value) == (
        "POST http://127.0.0.1:1/metadata/scheduledevents failed: the answer is HTML. Something else than the metadata service"
        " answered: check endpoint, and that no proxy is in between."
    )
    assert not caught.value.ineffective


def test_an_address_becomes_a_service_without_a_word_being_sent() -> None:
    address = "http://127.0.0.1:1/vm/a"
    made = connect(endpoint=address, api_version="2019-08-01", timeout=1.0, retry_for=0.0, clock=HandClock().clock)
    assert isinstance(made, MetadataService)
    assert made.events_url == "http://127.0.0.1:1/vm/a/metadata/scheduledevents"
