"""Sphinx settings; `make docs` builds without a warning, and `.ci/site` opens what was built in a browser."""

import sys
from pathlib import Path

from ds_format import __version__

sys.path.insert(0, str(Path(__file__).parent))  # extensions of these documents

project = "ds_format"
author = "The ds_format developers"
copyright = "2026, The ds_format developers"  # noqa: A001 - the name that Sphinx wants
release = __version__

extensions = [
    *("command_help", "layers", "pictures"),
    *("sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"),
    *("myst_nb", "sphinx_design", "sphinx_gallery.gen_gallery"),
]
exclude_patterns = ["_build", "_screenshots", "jupyter_execute", "gallery_src", "**.ipynb_checkpoints"]
templates_path = ["_templates"]

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"  # what is stored is shown: docs/stored.py executes notebooks

default_role = "literal"  # words in single backticks of docstrings are names
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings tell types
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery_src",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_.*\.py",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("pictures.scrape",),
    "reset_modules": ("pictures.fresh",),
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "notebook_extensions": set(),
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e6,
    "run_stale_examples": True,  # a drawing changes with the package, not only with its script
}

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
pygments_dark_style = "one-dark"
html_title = f"ds_format {release}"
