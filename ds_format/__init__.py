"""Fast scientific file I/O: the ds format, conversion between formats, selection, and a drop-in for ds-format 5.0.2.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import op
    from .cli import functions as cmd
    from .comparison.records import Difference
    from .comparison.told import Differences
    from .conversion import convert
    from .dataset import Dataset, validate
    from .differing import diff
    from .drivers.base import Problem
    from .drivers.loss import LossWarning
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
    from .files import from_netcdf, open, read, to_netcdf
    from .lazy import File, Variable
    from .many.converting.records import Conversion
    from .many.converting.running import convert_many
    from .many.folders import index, readdir
    from .many.merging import merge_files
    from .many.reading import read_many
    from .names import escape, unescape
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
    from .verification import verify
    from .writing import write
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
    "comparison.records": ("Difference",),
    "comparison.told": ("Differences",),
    "conversion": ("convert",),
    "dataset": ("Dataset", "validate"),
    "differing": ("diff",),
    "drivers.base": ("Problem",),
    "drivers.loss": ("LossWarning",),
    "errors": _ERRORS,
    "files": ("from_netcdf", "open", "read", "to_netcdf"),
    "lazy": ("File", "Variable"),
    "many.converting.records": ("Conversion",),
    "many.converting.running": ("convert_many",),
    "many.folders": ("index", "readdir"),
    "many.reading": ("read_many",),
    "many.merging": ("merge_files",),
    "names": ("escape", "unescape"),
    "ops": _OPS,
    "timeaxis": ("time_dt",),
    "verification": ("verify",),
    "writing": ("write",),
    # not in __all__, since not everybody has xarray
    "xarray_.many": ("open_many",),
    "xarray_.reading": ("to_xarray",),
    "xarray_.writing": ("from_xarray",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_ALIASES = {"op": "op", "io": "io", "misc": "misc", "cmd": "cli.functions", "drivers": "drivers"}
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
    """The package, whose `mode` is that of `ds_format.modes`."""

    @property
    def mode(self) -> str:
        """What happens when a name does not exist: `soft`, `moderate` or `strict`."""
        from . import modes

        return modes.get()

    @mode.setter
    def mode(self, mode: str) -> None:
        from . import modes

        modes.put(mode)

    @property
    def output(self) -> str:
        """What the functions of `cmd` print where they are not told: `pst` or `json`."""
        from .cli import style

        return style.output

    @output.setter
    def output(self, output: str) -> None:
        from .cli import style

        style.output = output

    @property
    def indent(self) -> bool:
        """Whether what they print may spread over lines."""
        from .cli import style

        return style.indent

    @indent.setter
    def indent(self, indent: bool) -> None:
        from .cli import style

        style.indent = indent


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    from importlib import import_module

    module = _ALIASES.get(name) or _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value: Any = import_module(f"{__name__}.{module}")
    except ImportError as error:
        from .optional import not_compiled

        raise not_compiled(error.name) or error from None
    if name in _HOMES:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "indent", "mode", "output"]
