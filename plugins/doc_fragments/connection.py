# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Where and how the metadata service is asked. Defaults: plugins/module_utils/_arguments.py."""

    DOCUMENTATION = r"""
requirements:
  - requests (Python library)
options:
  endpoint:
    description:
      - Base URL of the metadata service. It may have a path.
      - Set it for VMs outside a virtual network, which find another address by DHCP option 245, and for rehearsals.
    type: str
    default: http://169.254.169.254
  api_version:
    description:
      - Version of the interface. Older ones leave out keys, and versions before C(2017-11-01) know fewer types of events.
    type: str
    default: "2020-07-01"
  timeout:
    description:
      - How long the service may be silent after a request and within its answer, as seconds or as V(90s), V(2m). At least one
        second. A service that keeps sending is heard to the end.
      - The default bears the first answer of a scope, which can take two minutes.
      - A connection is given up after 5 seconds, since a link-local address answers at once or not at all.
    type: str
    default: 130s
  retry_for:
    description:
      - How long a failed question is repeated, all attempts together, as seconds or as V(90s), V(2m). V(0) asks once.
      - Repeated are connections that fail or are cut off, and the statuses 404, 408, 410, 429 and 5xx, with growing pauses.
        Other statuses are final. What the service says about a pause (C(Retry-After)) is respected.
      - It says when the last attempt may begin; that attempt may then use its whole O(timeout).
      - An approval is never repeated by this.
    type: str
    default: 90s
"""

    # For plugins that run on the controller: the same options from elsewhere.
    LOOKUP = r"""
options:
  endpoint:
    env:
      - name: AZURE_SCHEDULED_EVENTS_ENDPOINT
    ini:
      - section: azure_scheduled_events
        key: endpoint
    vars:
      - name: azure_scheduled_events_endpoint
  api_version:
    env:
      - name: AZURE_SCHEDULED_EVENTS_API_VERSION
    ini:
      - section: azure_scheduled_events
        key: api_version
    vars:
      - name: azure_scheduled_events_api_version
  timeout:
    env:
      - name: AZURE_SCHEDULED_EVENTS_TIMEOUT
    ini:
      - section: azure_scheduled_events
        key: timeout
    vars:
      - name: azure_scheduled_events_timeout
  retry_for:
    env:
      - name: AZURE_SCHEDULED_EVENTS_RETRY_FOR
    ini:
      - section: azure_scheduled_events
        key: retry_for
    vars:
      - name: azure_scheduled_events_retry_for
"""
