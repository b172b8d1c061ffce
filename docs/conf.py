"""Sphinx settings; `make docs` builds without a warning."""

import sys
from pathlib import Path

from ds_format import __version__

sys.path.insert(0, str(Path(__file__).parent))  # `layers`, a directive

project = "ds_format"
author = "The ds_format developers"
copyright = "2026, The ds_format developers"  # noqa: A001 - the name that Sphinx wants
release = __version__

extensions = ["layers", "myst_parser", "numpydoc", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings tell types
numpydoc_show_class_members = False

html_theme = "furo"
html_static_path = ["_static"]
html_title = f"ds_format {release}"
