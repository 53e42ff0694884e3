# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where everything is on a host: one place, so that the role, the units and the programs agree."""

from __future__ import annotations

import os
from dataclasses import dataclass

NAME = "azure-event-handlers"


@dataclass(frozen=True)
class Paths:
    """root: empty on a host; a folder in a rehearsal and in tests, with the same tree in it.

    What is needed to recover does not depend on a disk that can be written: requests, answers and the published state are below /run.
    """

    root: str = ""

    def _at(self, *parts: str) -> str:
        return os.path.join(self.root + "/", *parts)

    # The user's, written by the role.

    @property
    def configuration(self) -> str:
        return self._at("etc", NAME, "config.json")

    @property
    def handlers(self) -> str:
        return self._at("etc", NAME, "handlers.d")

    @property
    def options(self) -> str:
        return self._at("etc", NAME, "options.d")

    @property
    def changing(self) -> str:
        """There as long as the program and these may not belong together, because the role is at work, or was cut off."""
        return self._at("etc", NAME, ".changing")

    # Durable, the executor's alone.

    @property
    def state(self) -> str:
        return self._at("var", "lib", NAME)

    @property
    def records(self) -> str:
        return os.path.join(self.state, "records")

    @property
    def copies(self) -> str:
        return os.path.join(self.state, "copies")

    @property
    def journals(self) -> str:
        return os.path.join(self.state, "evidence")

    @property
    def trials(self) -> str:
        """A mark for each handler that a trial has asked to prepare, until it has recovered."""
        return os.path.join(self.state, "trials")

    # Until the machine stops.

    @property
    def run(self) -> str:
        return self._at("run", NAME)

    @property
    def lock(self) -> str:
        return os.path.join(self.run, "lock")

    @property
    def trying(self) -> str:
        """Locked by a trial as long as it lives."""
        return os.path.join(self.run, "trial.lock")

    @property
    def status(self) -> str:
        return os.path.join(self.run, "status.json")

    @property
    def identity(self) -> str:
        return os.path.join(self.run, "identity.json")

    @property
    def requests(self) -> str:
        """Of root: a person, or a playbook."""
        return os.path.join(self.run, "requests")

    @property
    def agents_requests(self) -> str:
        """Of the agent, the only folder that it can write to beside its own."""
        return os.path.join(self.run, "agent-requests")

    @property
    def answers(self) -> str:
        return os.path.join(self.run, "answers")

    @property
    def units(self) -> str:
        """What units are given on standard input, and the marks of those that have begun."""
        return os.path.join(self.run, "units")

    @property
    def outbox(self) -> str:
        """Transitions that the webhook is to tell of; not there: nobody wants to know."""
        return os.path.join(self.run, "outbox")

    @property
    def agents_own(self) -> str:
        """What the agent remembers over its own end, and its metrics."""
        return os.path.join(self.run, "agent")

    @property
    def metrics(self) -> str:
        return os.path.join(self.agents_own, "azure_event_handlers.prom")

    @property
    def agents_facts(self) -> str:
        """What the agent sees, for the command line."""
        return os.path.join(self.agents_own, "seen.json")
