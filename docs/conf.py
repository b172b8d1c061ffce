"""Sphinx settings; `make docs` builds without a warning, and `.ci/site` opens what was built in a browser."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

from ds_format import __version__, errors
from ds_format.api import buffers, conversion, files, options, writing
from ds_format.many import appending, merging, ragged
from ds_format.many.converting import running
from ds_format.views import subset

sys.path.insert(0, str(Path(__file__).parent))  # extensions of these documents

import inventories

project = "ds_format"
author = "The ds_format developers"
copyright = "2026, The ds_format developers"  # noqa: A001 - the name that Sphinx wants
release = __version__

BUILTIN = [name for name in inventories.objects("python") if "." not in name]
DOCUMENTED = sorted({
    *(name for name in vars(errors) if name.endswith("Error")),
    *("Conversion", "Dataset", "Difference", "Differences", "File", "Problem", "Variable"),
})
INTERNAL = [
    *("Document", "Where", "query.Where", "ds_format.base.modes.use", "ds_format.binpickle.inspection.FileInfo"),
    *("ds_format.binpickle.machine.outline.Node", "ds_format.zds.faults.Finding", "numpy.int64"),
    *("ds_format.body.Address", "ds_format.body.body.Body", "ds_format.kernels.table.arrow.Batch"),
    *(
        "ds_format.zds.changes.OpenOptions",
        "ds_format.zds.store_access.WritableStore",
        "ds_format.zds.training.Batches",
    ),
    *("Address", "Input", "NetCDFOptions", "TableReadOptions"),
    *("ds_format.api.options.Writable", "ds_format.views.subset.FileObject"),
    *(f"ds_format.api.options.{name}" for name in vars(options) if name.endswith("Options")),
]
"""Types in signatures that have no page."""
for module in (appending, buffers, conversion, files, merging, ragged, running, writing):
    # they import these for type checkers only, but Sphinx evaluates their annotations
    imported = {name: value for name, value in vars(options).items() if name.endswith(("Options", "Writable"))}
    vars(module).update(imported, Input=subset.Input)

extensions = [
    *("command_help", "inventories", "layers", "names", "pictures"),
    *("sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode", "numpydoc"),
    *("myst_nb", "sphinx_copybutton", "sphinx_design", "sphinx_gallery.gen_gallery"),
]
exclude_patterns = ["_build", "_screenshots", "jupyter_execute", "gallery_src", "**.ipynb_checkpoints"]
templates_path = ["_templates"]

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"  # what is stored is shown: docs/stored.py executes notebooks

default_role = "name"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
nitpick_ignore = [("py:class", name) for name in INTERNAL]
maximum_signature_line_length = 72  # a longer signature has one line for each parameter
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # words that are not in the next table
numpydoc_xref_aliases = {
    **{name: f":obj:`{name}`" for name in BUILTIN},
    **{name: f"ds_format.{name}" for name in DOCUMENTED},
    "PathLike": "os.PathLike",
    "callable": "collections.abc.Callable",
    "iterable": "collections.abc.Iterable",
    "iterator": "collections.abc.Iterator",
    "mapping": "collections.abc.Mapping",
    "sequence": "collections.abc.Sequence",
    "MaskedArray": "numpy.ma.MaskedArray",
    "ndarray": "numpy.ndarray",
    "dtype": "numpy.dtype",
    "DataArray": "xarray.DataArray",
    "DataTree": "xarray.DataTree",
    **{f"xarray.{name}": f":obj:`xarray.{name}`" for name in ("Dataset", "DataArray", "DataTree")},
    **{name: name for name in ("array_like", "scalar")},  # numpydoc would link them to a glossary
}
"""Words of the types in docstrings → the objects that they link to."""

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # output has no button

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
html_static_path = ["_static", "../examples/javascript/ds.mjs"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
pygments_dark_style = "github-dark"
html_title = f"ds_format {release}"


def setup(app: Sphinx) -> None:
    """Give the page on other languages a ds file to open."""
    app.connect("build-finished", write_sample)


def write_sample(app: Sphinx, error: Exception | None) -> None:
    """Convert the sample into the folder of static files."""
    if error is None and app.builder.format == "html":
        sample = Path(__file__).parents[1] / "examples" / "sample.nc"
        conversion.convert(sample, Path(app.outdir, "_static", "sample.ds"))
