# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx settings of the documentation site; `make docs` builds it with every warning an error."""

from __future__ import annotations

project = "cloud_maintenance.azure"
author = "cloud_maintenance contributors"
copyright = "2026, cloud_maintenance contributors"  # noqa: A001  Sphinx reads this name
version = release = "1.0.0"

extensions = ["sphinx.ext.intersphinx", "sphinx_antsibull_ext"]
# Written by the build from the references that the pages make: nothing is fetched, and a link to Ansible's own pages still leads there.
intersphinx_mapping = {"ansible": ("https://docs.ansible.com/ansible/latest/", "ansible.inv")}
intersphinx_disabled_reftypes = ["std:doc"]

default_role = "any"
nitpicky = True
highlight_language = "YAML+Jinja"
pygments_style = "ansible"

html_theme = "sphinx_ansible_theme"
html_title = "cloud_maintenance.azure"
html_short_title = "cloud_maintenance.azure"
html_theme_options = {"display_version": True, "topbar_links": {}, "vcs_pageview_mode": ""}
html_show_sphinx = False
html_copy_source = False
html_use_index = False
