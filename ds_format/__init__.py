"""Fast scientific file I/O: the ds format, conversion between formats, selection, and a drop-in for ds-format 5.0.2.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .base import forks as _forks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import cmd as cmd, op as op
    from ._version import __version__ as __version__
    from .api.buffers import dumps as dumps, loads as loads
    from .api.conversion import convert as convert
    from .api.differing import diff as diff
    from .api.digests import digest as digest, digests as digests
    from .api.files import from_netcdf as from_netcdf, open as open, read as read, to_netcdf as to_netcdf
    from .api.verification import verify as verify
    from .api.writing import write as write
    from .base.isolation import set as set  # noqa: A004 - its name is `ds.set`
    from .base.text import escape as escape, unescape as unescape
    from .body.remote.settings import remote as remote
    from .comparison.records import Difference as Difference, Differences as Differences
    from .datasets import Dataset as Dataset, validate as validate
    from .drivers.base import LossWarning as LossWarning, Problem as Problem
    from .errors import (
        BusyError as BusyError,
        DriverError as DriverError,
        DsError as DsError,
        DsWarning as DsWarning,
        FormatError as FormatError,
        IntegrityError as IntegrityError,
        MissingError as MissingError,
        MissingGroupError as MissingGroupError,
        ReplacedError as ReplacedError,
        TruncatedError as TruncatedError,
        UnsafeError as UnsafeError,
        UnsupportedError as UnsupportedError,
        VersionError as VersionError,
    )
    from .many.converting.running import Conversion as Conversion, convert_many as convert_many
    from .many.folders import index as index, readdir as readdir
    from .many.merging import merge_files as merge_files
    from .many.pack_writing import pack as pack
    from .many.querying import dataset as dataset, sql as sql
    from .many.ragged import merge_ragged as merge_ragged
    from .many.reading import read_many as read_many
    from .ops import (
        apply as apply,
        attr as attr,
        attrs as attrs,
        copy as copy,
        dim as dim,
        dims as dims,
        find as find,
        findall as findall,
        get_attrs as get_attrs,
        get_dims as get_dims,
        get_meta as get_meta,
        get_vars as get_vars,
        group_by as group_by,
        merge as merge,
        meta as meta,
        rename as rename,
        rename_attr as rename_attr,
        rename_attr_m as rename_attr_m,
        rename_dim as rename_dim,
        rename_dim_m as rename_dim_m,
        rename_m as rename_m,
        require as require,
        rm as rm,
        rm_attr as rm_attr,
        select as select,
        size as size,
        split as split,
        time as time,
        type as type,
        var as var,
        vars as vars,
        with_mode as with_mode,
    )
    from .tables.arrow import to_arrow as to_arrow
    from .tables.frames import to_pandas as to_pandas
    from .timeaxis import time_dt as time_dt
    from .views.lazy import File as File, Variable as Variable
    from .virtual.kerchunk import references as references
    from .virtual.writing import virtualize as virtualize
    from .xarray_.lazy_variables import to_xarray as to_xarray
    from .xarray_.many import open_many as open_many
    from .xarray_.writing import from_xarray as from_xarray

_MODULES = {
    "_version": "__version__",
    "api.buffers": "dumps loads",
    "api.conversion": "convert",
    "api.differing": "diff",
    "api.digests": "digest digests",
    "api.files": "from_netcdf open read to_netcdf",
    "api.verification": "verify",
    "api.writing": "write",
    "base.isolation": "set",
    "base.text": "escape unescape",
    "body.remote.settings": "remote",
    "comparison.records": "Difference Differences",
    "datasets": "Dataset validate",
    "drivers.base": "LossWarning Problem",
    "errors": (
        "BusyError DriverError DsError DsWarning FormatError IntegrityError MissingError MissingGroupError "
        "ReplacedError TruncatedError UnsafeError UnsupportedError VersionError"
    ),
    "many.appending": "append compact",
    "many.converting.running": "Conversion convert_many",
    "many.folders": "index readdir",
    "many.merging": "merge_files",
    "many.pack_writing": "pack",
    "many.querying": "dataset sql",
    "many.ragged": "merge_ragged",
    "many.reading": "read_many",
    "ops": (
        "apply attr attrs copy dim dims find findall get_attrs get_dims get_meta get_vars group_by merge meta "
        "rename rename_attr rename_attr_m rename_dim rename_dim_m rename_m require rm rm_attr select size "
        "split time type var vars with_mode"
    ),
    "tables.arrow": "to_arrow",
    "tables.frames": "to_pandas",
    "timeaxis": "time_dt",
    "views.lazy": "File Variable",
    "virtual.kerchunk": "references",
    "virtual.writing": "virtualize",
    "xarray_.many": "open_many",
    "xarray_.lazy_variables": "to_xarray",
    "xarray_.writing": "from_xarray",
}
"""Modules → the public names that they define. Nothing of a module is loaded before one of its names is used."""
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}
_ALIASES = {"op": "op", "io": "io", "misc": "misc", "cmd": "cmd", "drivers": "drivers"}
"""Modules that other programs know by these names."""

__all__ = sorted([
    "cmd",
    "op",
    *(name for name, home in _HOMES.items() if not home.startswith("xarray_") and name != "set"),
])
"""Without those that need xarray, which may be absent, and without one that would hide a builtin class."""


class _Package(ModuleType):
    """The package, whose `mode` is that of `ds_format.base.modes`."""

    @property
    def mode(self) -> str:
        """The reaction to names that do not exist: `soft`, `moderate` or `strict`."""
        from .base import modes

        return modes.get()

    @mode.setter
    def mode(self, mode: str) -> None:
        from .base import modes

        modes.put(mode)

    @property
    def output(self) -> str:
        """The default output of the functions of `cmd`: `pst` or `json`."""
        from .cmd import style

        return str(style.output)

    @output.setter
    def output(self, output: str) -> None:
        from .cmd import style

        style.output = output

    @property
    def indent(self) -> bool:
        """Whether their output may have several lines."""
        from .cmd import style

        return bool(style.indent)

    @indent.setter
    def indent(self, indent: bool) -> None:
        from .cmd import style

        style.indent = indent


class _Former:
    """Refuses objects that version 0.2.0 or before pickled: handles of variables, arrays and graphs of dask."""

    modules = frozenset(
        f"{__name__}.{name}"
        for name in (
            *(
                "classic.layout",
                "drivers.ds.handle",
                "drivers.ds.plan",
                "drivers.ds.regions",
                "drivers.stamp",
                "dtypes",
            ),
            *("drivers.netcdf.classic.handle", "many.concatenation", "xarray_.arrays", "xarray_.chunked"),
            *("xarray_.missing", "xarray_.reading"),
        )
    )
    """Modules that no longer exist, and whose classes are in such pickles."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> None:
        """Return None: no module is found here. Python calls this after all other finders have found nothing."""
        if name in cls.modules:
            message = "it was pickled by ds_format 0.2.0 or before: open the file again with this version"
            raise ImportError(message, name=name)


sys.modules[__name__].__class__ = _Package
sys.meta_path.append(_Former)
_forks.register()


def shown_as_text(dataset: Mapping[Any, Any]) -> str:
    """Return a dataset as a table of its variables. The module that prints it is imported on first use."""
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
        raise _with_rival(AttributeError(f"module {__name__!r} has no attribute {name!r}"), name)
    try:
        value: Any = import_module(f"{__name__}.{module}")
    except ImportError as error:
        from .base.optional import not_compiled

        raise _with_rival(not_compiled(error.name) or error, name) from None
    if name in _HOMES:
        value = getattr(value, name)
    globals()[name] = value
    return value


def _with_rival(error: Exception, name: str) -> Exception:
    """Return an error, with a note if another package has files in this folder.

    Probes get none: those for `__x__`, and those of `from .. import x` for a module, which is imported then.
    """
    from importlib.machinery import PathFinder

    if name.startswith("__") or PathFinder.find_spec(f"{__name__}.{name}", __path__) is not None:
        return error
    from .base import rival

    if rival.warning():
        error.add_note(rival.warning())
    return error


def __dir__() -> list[str]:
    from importlib.util import find_spec

    absent = find_spec("xarray") is None
    unlisted = [name for name in _HOMES if name not in __all__]
    unlisted = [name for name in unlisted if not (absent and _HOMES[name].startswith("xarray_"))]
    return [*__all__, *unlisted, "indent", "mode", "output"]
