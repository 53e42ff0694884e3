# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every failure that this collection raises itself, one class per kind.

Private to the collection. Only modules, lookups and filters turn these into Ansible's own failures.
"""

from __future__ import annotations


class MaintenanceError(Exception):
    """Something that an operator must hear about, in words."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConfigurationError(MaintenanceError):
    """An option, a rule or a file says something that cannot be done."""


class TimeFormatError(MaintenanceError):
    """A date or a duration in a form that nobody announced."""


class LibraryMissing(MaintenanceError):
    """A Python library is not there."""

    def __init__(self, library: str, reason: str) -> None:
        super().__init__("The Python library %s is missing: %s" % (library, reason))
        self.library = library
        self.reason = reason


class ServiceError(MaintenanceError):
    """The metadata service did not give a good answer."""

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        ineffective: bool = False,
        malformed: bool = False,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        # Asking again cannot help: the contract forbids the retry (C-10).
        self.permanent = permanent
        # The request surely had no effect; without it, nobody knows.
        self.ineffective = ineffective
        # The service could not make sense of the request.
        self.malformed = malformed
        # Seconds that the service itself asked to wait.
        self.retry_after = retry_after


class ConnectionFailed(ServiceError):
    """No answer: refused, reset, cut off or out of time."""


class StatusError(ServiceError):
    """An answer with another status than 200."""


class DocumentError(ServiceError):
    """An answer that is not a document of scheduled events (C-5)."""


class IdentityError(ServiceError):
    """The service does not say which VM this is (C-28)."""


class HostError(MaintenanceError):
    """The event handlers of a host cannot be asked, or do not answer; a no is an answer."""


class ApprovalRefused(MaintenanceError):
    """One of our own checks says no; nothing was posted by the step that raised it."""
