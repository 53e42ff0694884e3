# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the documentation site without a network: pages from the plugins by antsibull-docs, then Sphinx with every warning an error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import trees
from places import CACHE, COLLECTION, ROOT

SOURCE = ROOT / "docs" / "docsite"
LABEL = re.compile(r"\bansible_collections\.ansible\.builtin\.([a-z0-9_]+_[a-z]+)(__[\w/.-]+)?")

GENERAL = {  # pages of Ansible's own that antsibull-docs refers to
    "action_plugins": "plugins/action.html#action-plugins",
    "ansible_configuration_settings": "reference_appendices/config.html#ansible-configuration-settings",
    "common_return_values": "reference_appendices/common_return_values.html#common-return-values",
}


def inventory(pages: Path) -> bytes:
    """The references to Ansible's own plugins that the pages make, in the form that Sphinx reads."""
    labels = {
        match.group(): f"collections/ansible/builtin/{match.group(1)}.html#{match.group()}"
        for path in pages.rglob("*.rst")
        for match in LABEL.finditer(path.read_text(encoding="utf-8"))
    }
    lines = [f"{label} std:label -1 {page} {label}\n" for label, page in sorted({**GENERAL, **labels}.items())]
    head = "# Sphinx inventory version 2\n# Project: ansible\n# Version: latest\n# The remainder of this file is compressed using zlib.\n"
    return head.encode() + zlib.compress("".join(lines).encode())


def main() -> None:
    top = CACHE / "site"
    pages, html = top / "source", top / "html"
    shutil.rmtree(top, ignore_errors=True)
    pages.mkdir(parents=True, mode=0o700)  # antsibull-docs refuses a folder that others may write to
    copy = trees.copied("site")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(copy.parent.parent.parent)}
    generate = ["antsibull-docs", "--config-file", str(SOURCE / "antsibull-docs.cfg"), "collection", "--use-current", "--fail-on-error"]
    build = ["sphinx-build", "-b", "html", "-W", "--keep-going", "-q", "-d", str(top / "doctrees"), str(pages), str(html)]
    subprocess.run([*generate, "--dest-dir", str(pages), COLLECTION], check=True, env=environment, stdin=subprocess.DEVNULL)
    shutil.copy2(SOURCE / "conf.py", pages)
    shutil.copy2(SOURCE / "index.rst", pages)
    (pages / "ansible.inv").write_bytes(inventory(pages))
    subprocess.run(build, check=True, env=environment, stdin=subprocess.DEVNULL)
    sys.stdout.write(f"{len(list(html.rglob('*.html')))} pages in {html.relative_to(ROOT)}\n")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
