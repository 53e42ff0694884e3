# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for the collection as a whole, and the guard around all unit tests, itself tested."""

from __future__ import annotations

import ast
import re
import socket
from pathlib import Path
from typing import Iterator, List

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PURE = sorted(
    path
    for path in (ROOT / "plugins").glob("*_utils/_*.py")
    if re.search(r"\bPure\b[.:]", ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
)
# What a pure file may import: nothing that knows the time, the disk, the network or Ansible.
HARMLESS = set(
    """
    __future__ abc bisect calendar collections dataclasses datetime enum fnmatch functools hashlib itertools json math operator re string
    struct textwrap typing
    """.split()  # noqa: SIM905  a list of one word per line says no more
)
IMPURE_CALLS = {"now", "utcnow", "today", "open", "getenv"}

DOCUMENTATION_ADDRESS = "192.0.2.1"  # RFC 5737: never assigned to anybody


@pytest.mark.parametrize("address", [DOCUMENTATION_ADDRESS, "metadata.invalid"])
def test_a_unit_test_cannot_leave_this_machine(address: str) -> None:
    with socket.socket() as client, pytest.raises(AssertionError, match=r"give it an endpoint on 127\.0\.0\.1"):
        client.connect((address, 80))


def test_a_unit_test_may_use_loopback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=5) as client:
        assert client.getpeername() == server.getsockname()


def imports(tree: ast.Module) -> Iterator[str]:
    """The modules that a file imports, those of its own package with a leading dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def calls(tree: ast.Module) -> List[str]:
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [getattr(function, "attr", getattr(function, "id", "")) for function in functions]


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.stem)
def test_a_pure_file_knows_no_clock_no_file_and_no_network(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = ("_errors", *(other.stem for other in PURE))
    siblings = {package + name for package in (".", "..module_utils.") for name in names}
    assert set(imports(tree)) <= HARMLESS | siblings
    assert not set(calls(tree)) & IMPURE_CALLS


def test_every_action_of_the_group_is_a_module_and_every_module_of_hosts_is_in_the_group() -> None:
    listed = re.findall(r"^    - (\w+)$", (ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"), re.MULTILINE)
    here = {path.stem for path in (ROOT / "plugins" / "action").glob("*.py")}
    assert listed == sorted({path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")} - here)


def test_the_execution_environment_names_what_the_modules_need() -> None:
    listed = re.findall(r"^([a-z]+)", (ROOT / "meta" / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == ["jmespath", "requests"]
