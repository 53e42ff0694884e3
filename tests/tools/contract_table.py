# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the contract: each rule, the tests of the simulator that keep it and the tests of the client that survive it.

A test proves the rules with whose numbers its docstring begins, as in "C-9, C-12: ...". Nothing is run to collect them.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

from places import ROOT

TESTS = ROOT / "tests" / "unit"
SIMULATOR_TESTS = TESTS / "roles" / "imds_simulator"
PAGE = ROOT / "docs" / "docsite" / "rst" / "contract.rst"
COMMAND = "python tests/tools/contract_table.py"

SIMULATOR, CLIENT = "simulator", "client"
SIDES = (SIMULATOR, CLIENT)
# Enough to look at; the docstrings of the tests name the others.
MOST_SHOWN = 3
_NUMBERS = re.compile(r"C-\d+(?:(?:, | and | to )C-\d+)*")
_NUMBER_OR_TO = re.compile(r"C-(\d+)|( to )")

# What a side has nothing to do with, and why: {(number, side): "reason"}. Both sides have a part in every rule today.
ONE_SIDED: Dict[Tuple[int, str], str] = {}

# Title, and what the platform does. The numbers are those that tests and comments cite.
RULES: Mapping[int, Tuple[str, str]] = {
    1: (
        "Address",
        "Events are read with ``GET`` and approved with ``POST`` under ``/metadata/scheduledevents`` of a link-local address,"
        " in plain HTTP and only from inside the VM; classic VMs find another address, so it is a setting.",
    ),
    2: ("Header", "A request without the header ``Metadata: true`` is answered 400, from version 2017-08-01 on."),
    3: ("Refused requests", "A request that was forwarded (``X-Forwarded-For``), or that gives a query key twice, is answered 400."),
    4: ("No proxies, no redirects", "The service is never behind a proxy and never redirects: whatever does either is something else."),
    5: (
        "What counts as an answer",
        "Captive proxies answer 200 with HTML; only a JSON object with an incarnation and a list of events is a document.",
    ),
    6: (
        "Versions",
        "There are seven versions from 2017-03-01 to 2020-07-01; a missing or unknown one is answered 400, and the platform's"
        " own list lacks some.",
    ),
    7: (
        "The first call",
        "The first answer takes up to two minutes and events up to five more; that call switches the feature on for the scope,"
        " and a day without calls switches it off.",
    ),
    8: ("Rate", "A VM has five requests a second for the whole metadata service, then gets 429; once a second is often enough."),
    9: (
        "Tags",
        "An answer carries an ``ETag``, and ``If-None-Match`` gets 304 while nothing has changed; the tag may repeat after a reset.",
    ),
    10: (
        "Errors",
        "404, 410, 429 and 5xx pass, 410 within 70 seconds; 400, 401, 403 and 405 do not; ``Retry-After`` says how long to"
        " wait, and the body says why.",
    ),
    11: ("Patience", "A client that gives up early and asks again in a loop causes 429 by that alone."),
    12: ("Incarnation", "It is another one whenever the list is another one; it may skip numbers, be a string of digits, and start anew."),
    13: (
        "Keys of an event",
        "Description came with 2019-04-01, the source with 2019-08-01, the duration with 2020-07-01; before, the key is absent.",
    ),
    14: ("Types", "Freeze, Reboot, Redeploy, Preempt and Terminate are documented, and others exist; the last two delete the VM."),
    15: (
        "Life",
        "An event is Scheduled, then Started, then gone; it may be cancelled, appear as Started, change, be missing from an"
        " answer or come back after it was gone.",
    ),
    16: (
        "NotBefore",
        "It is a date of RFC 1123 in GMT or of ISO 8601, sometimes with a wrong weekday, and blank once the event has started.",
    ),
    17: ("Duration", "The announced interruption in seconds is an estimate; 0 is none, and -1 is unknown."),
    18: ("Letter case", "Ids and VM names come in upper and lower case and mean the same."),
    19: ("Notice", "Each type has a promised notice, from 30 seconds to 15 minutes and up to 7 days; less than promised was seen."),
    20: (
        "Names",
        "``Resources`` names one or more VMs by their Azure names, which are no host names; the first version puts an underscore in front.",
    ),
    21: (
        "Scope",
        "An event is shown to every VM of an availability set, placement group or cloud service, not always to all at the same moment.",
    ),
    22: ("Approving", "One ``POST`` of ``StartRequests`` approves one or several events."),
    23: (
        "What an approval means",
        "It holds for all VMs of the event and cannot be taken back; any valid id is answered 200, also a second time.",
    ),
    24: (
        "Start after an approval",
        "It may come later, because others on the host have to agree too; a Terminate waits for all pending ones.",
    ),
    25: ("Ids that wait for nothing", "For an unknown, started or finished event the answer is 200, and nothing happens."),
    26: ("Without an approval", "The event starts at NotBefore, or within a minute or two after it."),
    27: ("While it is Started", "Further short interruptions may come, and it may stay so for minutes; it is over when it is gone."),
    28: (
        "Identity",
        "``/metadata/instance`` says who the VM is, whole or in parts; what does not apply is empty, and a young VM may be unknown.",
    ),
}

HEAD = """\
.. Copyright: (c) 2026, cloud_maintenance contributors
.. GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
.. SPDX-License-Identifier: GPL-3.0-or-later
.. Written by tests/tools/contract_table.py from the tests: run it again instead of changing this page.

.. _ansible_collections.cloud_maintenance.azure.docsite.contract:

The contract, and what proves it
================================

Azure cannot be asked from a test, so what it does is written down in rules. The simulator keeps each of them, and the client of the
modules and of the lookup survives each of them: both are shown by tests, and this table is made from those. A test that proves a rule
begins its description with the rule's number.

Of each side at most three tests are named here, those about the fewest rules first. The tests of the simulator are below
``tests/unit/roles/imds_simulator``, those of the client elsewhere below ``tests/unit``.

.. list-table::
   :header-rows: 1
   :widths: 36 32 32

   * - Rule, and what the platform does
     - Kept by the simulator
     - Survived by the client
"""


@dataclass(frozen=True)
class Proof:
    """A test, and the rules with whose numbers its docstring begins."""

    path: Path
    line: int
    name: str
    rules: Tuple[int, ...]

    @property
    def side(self) -> str:
        return SIMULATOR if SIMULATOR_TESTS in self.path.parents else CLIENT

    @property
    def rank(self) -> Tuple[int, bool, str, int]:
        """Those about few rules and in the files about the contract come first."""
        return len(self.rules), not self.path.name.startswith("test_contract"), str(self.path), self.line


def rules_of(docstring: str) -> Tuple[int, ...]:
    """The numbers with which a docstring begins: a list, where "to" stands for those in between."""
    match = _NUMBERS.match(docstring.strip())
    found: List[int] = []
    up_to = False
    for number, to in _NUMBER_OR_TO.findall(match.group() if match else ""):
        if to:
            up_to = True
            continue
        found += range(found[-1] + 1, int(number) + 1) if up_to else [int(number)]
        up_to = False
    return tuple(found)


def proofs_in(path: Path, source: str) -> Iterator[Proof]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            rules = rules_of(ast.get_docstring(node) or "")
            if rules:
                yield Proof(path, node.lineno, node.name, rules)


def collect(tests: Path = TESTS) -> List[Proof]:
    paths = sorted(tests.rglob("test_*.py"))
    return [proof for path in paths for proof in proofs_in(path, path.read_text(encoding="utf-8"))]


def proofs_for(number: int, side: str, proofs: Sequence[Proof]) -> List[Proof]:
    return sorted((proof for proof in proofs if number in proof.rules and proof.side == side), key=lambda proof: proof.rank)


def complaints(proofs: Sequence[Proof]) -> List[str]:
    """What keeps the table from being true and whole."""
    found = [
        f"{proof.path.name}: {proof.name} names C-{number}, and there is no such rule"
        for proof in proofs
        for number in proof.rules
        if number not in RULES
    ]
    for number in RULES:
        for side in SIDES:
            there, reason = bool(proofs_for(number, side, proofs)), ONE_SIDED.get((number, side))
            if not there and not reason:
                found.append(f"C-{number} has no test of the {side}")
            if there and reason:
                found.append(f"C-{number} has a test of the {side}, and a reason why it needs none")
    return found


def page(proofs: Sequence[Proof]) -> str:
    return HEAD + "".join(_row(number, proofs) for number in RULES)


def _row(number: int, proofs: Sequence[Proof]) -> str:
    title, platform = RULES[number]
    cells = [f"**C-{number}** {title}. {platform}", *(_cell(number, side, proofs) for side in SIDES)]
    return "   * - " + "\n     - ".join(cells) + "\n"


def _cell(number: int, side: str, proofs: Sequence[Proof]) -> str:
    reason = ONE_SIDED.get((number, side))
    if reason:
        return f"Not the {side}'s: {reason}."
    shown = proofs_for(number, side, proofs)[:MOST_SHOWN]
    return "\n       ".join(f"* ``{proof.name}`` in ``{proof.path.name}``" for proof in shown)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only, and fail when the page is not up to date")
    check = parser.parse_args(arguments).check
    proofs = collect()
    wrong = complaints(proofs)
    if wrong:
        sys.stderr.write("\n".join(wrong) + "\n")
        return 1
    text = page(proofs)
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"{PAGE.relative_to(ROOT)} is not what the tests say: run `{COMMAND}`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
