"""Fast scientific file I/O: the ds format, conversion between formats, selection, and a drop-in for ds-format 5.0.2.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import cmd, op
    from .api.conversion import convert
    from .api.differing import diff
    from .api.files import from_netcdf, open, read, to_netcdf
    from .api.verification import verify
    from .api.writing import write
    from .base.names import escape, unescape
    from .comparison.records import Difference, Differences
    from .dataset import Dataset, validate
    from .drivers.base import LossWarning, Problem
    from .errors import (
        BusyError,
        DriverError,
        DsError,
        FormatError,
        IntegrityError,
        MissingError,
        MissingGroupError,
        ReplacedError,
        TruncatedError,
        UnsafeError,
        UnsupportedError,
        VersionError,
    )
    from .many.converting.running import Conversion, convert_many
    from .many.folders import index, readdir
    from .many.merging import merge_files
    from .many.reading import read_many
    from .ops import (
        apply,
        attr,
        attrs,
        copy,
        dim,
        dims,
        find,
        findall,
        get_attrs,
        get_dims,
        get_meta,
        get_vars,
        group_by,
        merge,
        meta,
        rename,
        rename_attr,
        rename_attr_m,
        rename_dim,
        rename_dim_m,
        rename_m,
        require,
        rm,
        rm_attr,
        select,
        size,
        split,
        time,
        type,
        var,
        vars,
        with_mode,
    )
    from .timeaxis import time_dt
    from .views.lazy import File, Variable
    from .xarray_.many import open_many as open_many
    from .xarray_.reading import to_xarray as to_xarray
    from .xarray_.writing import from_xarray as from_xarray

_OPS = (
    *("apply", "attr", "attrs", "copy", "dim", "dims", "find", "findall", "get_attrs", "get_dims", "get_meta"),
    *("get_vars", "group_by", "merge", "meta", "rename", "rename_attr", "rename_attr_m", "rename_dim"),
    *("rename_dim_m", "rename_m", "require", "rm", "rm_attr", "select", "size", "split", "time", "type", "var", "vars"),
    "with_mode",
)
_ERRORS = (
    *("BusyError", "DriverError", "DsError", "FormatError", "IntegrityError", "MissingError"),
    *("MissingGroupError", "ReplacedError", "TruncatedError", "UnsafeError", "UnsupportedError", "VersionError"),
)
_MODULES = {
    "comparison.records": ("Difference", "Differences"),
    "api.conversion": ("convert",),
    "dataset": ("Dataset", "validate"),
    "api.differing": ("diff",),
    "drivers.base": ("LossWarning", "Problem"),
    "errors": _ERRORS,
    "api.files": ("from_netcdf", "open", "read", "to_netcdf"),
    "views.lazy": ("File", "Variable"),
    "many.converting.running": ("Conversion", "convert_many"),
    "many.folders": ("index", "readdir"),
    "many.reading": ("read_many",),
    "many.merging": ("merge_files",),
    "base.names": ("escape", "unescape"),
    "ops": _OPS,
    "timeaxis": ("time_dt",),
    "api.verification": ("verify",),
    "api.writing": ("write",),
    # not in __all__, since not everybody has xarray
    "xarray_.many": ("open_many",),
    "xarray_.reading": ("to_xarray",),
    "xarray_.writing": ("from_xarray",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_ALIASES = {"op": "op", "io": "io", "misc": "misc", "cmd": "cmd", "drivers": "drivers"}
"""Modules that other programs know by these names."""

__all__ = [
    "BusyError",
    "Conversion",
    "Dataset",
    "Difference",
    "Differences",
    "DriverError",
    "DsError",
    "File",
    "FormatError",
    "IntegrityError",
    "LossWarning",
    "MissingError",
    "MissingGroupError",
    "Problem",
    "ReplacedError",
    "TruncatedError",
    "UnsafeError",
    "UnsupportedError",
    "Variable",
    "VersionError",
    "__version__",
    "apply",
    "attr",
    "attrs",
    "cmd",
    "convert",
    "convert_many",
    "copy",
    "diff",
    "dim",
    "dims",
    "escape",
    "find",
    "findall",
    "from_netcdf",
    "get_attrs",
    "get_dims",
    "get_meta",
    "get_vars",
    "group_by",
    "index",
    "merge",
    "merge_files",
    "meta",
    "op",
    "open",
    "read",
    "read_many",
    "readdir",
    "rename",
    "rename_attr",
    "rename_attr_m",
    "rename_dim",
    "rename_dim_m",
    "rename_m",
    "require",
    "rm",
    "rm_attr",
    "select",
    "size",
    "split",
    "time",
    "time_dt",
    "to_netcdf",
    "type",
    "unescape",
    "validate",
    "var",
    "vars",
    "verify",
    "with_mode",
    "write",
]


class _Package(ModuleType):
    """The package, whose `mode` is that of `ds_format.base.modes`."""

    @property
    def mode(self) -> str:
        """What happens when a name does not exist: `soft`, `moderate` or `strict`."""
        from .base import modes

        return modes.get()

    @mode.setter
    def mode(self, mode: str) -> None:
        from .base import modes

        modes.put(mode)

    @property
    def output(self) -> str:
        """What the functions of `cmd` print where they are not told: `pst` or `json`."""
        from .cmd import style

        return str(style.output)

    @output.setter
    def output(self, output: str) -> None:
        from .cmd import style

        style.output = output

    @property
    def indent(self) -> bool:
        """Whether what they print may spread over lines."""
        from .cmd import style

        return bool(style.indent)

    @indent.setter
    def indent(self, indent: bool) -> None:
        from .cmd import style

        style.indent = indent


class _Former:
    """Refuses objects that version 0.2.0 or before pickled, whose modules no longer exist: handles, graphs of dask."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Raise a ModuleNotFoundError with the reason. Python calls this after no other finder has found the module."""
        if name.startswith(f"{__name__}.") and not name.startswith(f"{__name__}.kernels."):
            message = "if it was pickled by ds_format 0.2.0 or before: open the file again with this version"
            raise ModuleNotFoundError(f"No module named {name!r}; {message}", name=name)


sys.modules[__name__].__class__ = _Package
sys.meta_path.append(_Former)


def shown_as_text(dataset: Mapping[Any, Any]) -> str:
    """Return a dataset as a table of its variables. What shows it is loaded with the first one."""
    from .show.overview import text

    return text(dataset)


def shown_as_html(dataset: Mapping[Any, Any], title: str | None = None) -> str:
    """Return a dataset as HTML, or with a title the metadata of an open file."""
    from .show.overview import html, html_of_meta

    return html(dataset) if title is None else html_of_meta(title, dataset)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    module = _ALIASES.get(name) or _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value: Any = import_module(f"{__name__}.{module}")
    except ImportError as error:
        from .base.optional import not_compiled

        raise not_compiled(error.name) or error from None
    if name in _HOMES:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "indent", "mode", "output"]
