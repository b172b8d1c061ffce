"""What is known of a file format: a `Format`, which is light, and its `Driver`, which is loaded with the first file.

The formats of this package are in `BUILT_IN`. Other packages have theirs in the entry point group `ds_format.formats`.
"""

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..base import signatures
from ..base.text import on_one_line
from ..body import path_text
from ..body.body import FIRST_SIZE, Body
from ..errors import DriverError, DsError, FormatError, UnsupportedError
from .base import Metadata, Report, Sink, SmallFiles, Source

if TYPE_CHECKING:
    from ..base.progress import Progress

GROUP = "ds_format.formats"
"""Entry points of this group are instances of `Format`."""

FILE = frozenset({"atomic", "durable"})
"""Of a format whose data are one file: how it comes to its name."""
TIMES = frozenset({"time_units", "calendar"})
"""Of a format that has no times of its own."""
TEXT_TIMES = frozenset({"times"})
"""Of a format that other programs read without attributes: times can be text."""
RECORDS = frozenset({"dim", "durable", "key"}) | TIMES | TEXT_TIMES
"""Of records: each container makes its files as it must, always so that they appear when they are whole."""


def _only_read(path: Any, meta: Metadata, **options: Any) -> NoReturn:
    raise UnsupportedError("files of this format can only be read", path=path_text(path))


class Driver(NamedTuple):
    """What can be done with files of one format; None where a format cannot do it."""

    open: Callable[..., Source]
    """Takes a path, and the options in `Format.options`; with `Format.takes_body` also `body`, the file as it is open,
    and its `stamp`."""
    create: Callable[..., Sink] = _only_read
    """Takes a path, the metadata of all variables, and the options in `Format.creation`."""
    read: Callable[..., Any] | None = None
    """A short cut for small files: takes path, keys, `full`, `strings` and `unpack`, as `api.files.read`. It returns a
    dataset, or what this file is to be opened with: its body, or None."""
    write: Callable[..., None] | None = None
    """A short cut: takes a path, arrays, their metadata, and the options in `Format.creation`."""
    check: Callable[..., Source | None] | None = None
    """Takes a path, a `base.Report`, `strict` and `progress`. It reports what is wrong with a file beyond its
    variables, and returns a Source if these are still to be read."""
    title: Callable[[Source], str] | None = None
    """Returns the usual name of the format of an open file, if files of this format differ in it."""
    reindex: Callable[..., int] | None = None
    """Takes a path, `cut` and `progress`. It rebuilds the index of records, and returns their number."""
    publish: Callable[..., None] | None = None
    """Takes a finished file, its name, and what exchanges one file: it exchanges all files of a dataset at once."""


class Format(NamedTuple):
    """A file format.

    Examples
    --------
    >>> from ds_format.drivers import FORMATS
    >>> FORMATS["netcdf"].suffixes[0], "format" in FORMATS["netcdf"].creation
    ('.nc', True)
    """

    name: str
    suffixes: tuple[str, ...]
    """Of file names, in lower case."""
    load: Callable[[], Driver]
    """Imports what reads and writes its files. Call `drivers.load`, which does so once."""
    title: str = ""
    """The usual name of the format, for people."""
    meta: Callable[[Any], Metadata] | None = None
    """Takes a path, and returns the metadata, with less to import than `load`."""
    marks: tuple[bytes, ...] = ()
    """First bytes that only files of this format have."""
    recognises: Callable[[Body], bool] | None = None
    """Whether a file without such a mark, whose name does not tell its format, is one of this format."""
    is_sidecar: Callable[[str], bool] | None = None
    """Whether a file belongs to the data file of a dataset of several files."""
    small: Callable[[], SmallFiles] | None = None
    """Imports what reads small files together, and those that are alike as one."""
    needs: tuple[str, str] | None = None
    """The library that `load` imports, and what pip installs for it."""
    options: frozenset[str] = frozenset()
    """What `open` can do beyond the protocol: `mmap`, `strings`, `verify`, `skip_unsupported`."""
    creation: frozenset[str] = frozenset()
    """What a file can be created with: the options of `create`, and those of times; see `api.creation`."""
    unpack: bool | None = False
    """Which packed values are unpacked before they are written; see `packing.is_unpacked_by`. None: the format cannot
    keep the scale for all programs that read its files, so these get the values that `read` returns."""
    dates: bool = False
    """Whether Julian dates have their units and calendar as attributes."""
    masks: bool = False
    """Whether users expect masked arrays of numbers, also where nothing is missing."""
    is_exact: bool = False
    """Whether a file holds everything that a dataset has, in the same types."""
    is_shaped: bool = True
    """Whether a file holds the shapes of variables."""
    is_positioned: bool = False
    """Whether sources have positions that a handle can read at; others are `handle.Reopened`."""
    takes_body: bool = False
    """Whether `Driver.open` looks at the first bytes, and so takes a file that is open."""


def _binpickle() -> Driver:
    from . import binpickle_

    return Driver(binpickle_.open, binpickle_.create, check=binpickle_.check)


def _csv() -> Driver:
    from . import csv_

    return Driver(csv_.open, csv_.create, title=csv_.title)


def _datadings() -> Driver:
    from .records import datadings as records

    return Driver(
        records.open,
        records.create,
        check=records.check,
        reindex=records.reindex,
        publish=records.publish,
    )


def _is_datadings(file: Body) -> bool:
    """Whether a file has an index next to it."""
    from ..datadings.format import OFFSETS
    from ..kernels.files.names import exists

    return exists(file.name + OFFSETS)


def _is_sidecar_of_datadings(path: str) -> bool:
    from ..datadings.format import is_part as is_sidecar

    return is_sidecar(path)


def _ds() -> Driver:
    from .ds import whole  # enough for small files

    return Driver(_open_ds, _create_ds, whole.read, _write_ds, check=_check_ds)


# an import statement takes as long as a tenth of writing a small file: these two are imported once


@functools.cache
def _ds_source() -> Callable[..., Source]:
    from .ds.source import DsSource

    return DsSource


@functools.cache
def _ds_writer() -> Callable[..., None]:
    from .ds.composing import write

    return write


def _open_ds(path: Any, **options: Any) -> Source:
    return _ds_source()(path, **options)


def _write_ds(path: Any, arrays: dict[str, Any], meta: Metadata, **options: Any) -> None:
    _ds_writer()(path, arrays, meta, **options)


def _create_ds(
    path: Any,
    meta: Metadata,
    *,
    version: str = "1.0",
    atomic: bool = True,
    durable: bool = False,
    checksum: bool = False,
) -> Sink:
    from .ds.sink import DsSink

    return DsSink(path, meta, version=version, atomic=atomic, durable=durable, checksum=checksum)


def _check_ds(path: Any, report: Report, *, strict: bool, progress: "Progress | None" = None) -> Source:
    from .ds.check import check

    return check(path, report, strict=strict, progress=progress)


def _small_ds() -> SmallFiles:
    from .ds.alike import SMALL

    return SMALL


def _ds_meta(path: Any) -> Metadata:
    from .ds import header as ds_header

    return ds_header.meta(path)


def _is_older_ds(file: Body) -> bool:
    """Whether a file is of the layout 2.0.1, which has no version line."""
    from ..codec.legacy import is_older

    return is_older(bytes(file.head(FIRST_SIZE)))


def _hdf5() -> Driver:
    from .hdf5 import create, open

    return Driver(open, create)


def _is_hdf5(file: Body) -> bool:
    """Whether the signature of HDF5 is at the start, or behind a user block."""
    start, mark = 0, signatures.HDF5
    while start + len(mark) <= file.size:
        if bytes(file.read(start, len(mark))) == mark:
            return True
        start = 2 * start or signatures.HDF5_START
    return False


def _json() -> Driver:
    from . import json_

    return Driver(json_.JsonSource, json_.JsonSink)


def _netcdf() -> Driver:
    from .netcdf import check, create, open, read, title

    return Driver(open, create, read, check=check, title=title)


def _small_netcdf() -> SmallFiles:
    from .netcdf.small import SMALL

    return SMALL


def _is_netcdf4(file: Body) -> bool:
    """Whether an HDF5 file is netCDF-4, or h5py, which would read it, cannot be imported."""
    if not _is_hdf5(file):
        return False
    from .netcdf import is_netcdf4

    with contextlib.suppress(DriverError, FormatError, ImportError):
        if is_netcdf4(file.name):
            return True
    try:
        _hdf5()
    except ImportError:
        return True
    return False


def _zds() -> Driver:
    from .records import zds as records

    return Driver(records.open, records.create, check=records.check, reindex=records.reindex)


def _is_zds(file: Body) -> bool:
    """Whether a file is an archive with a store."""
    if file.head(len(signatures.ZIP)) != signatures.ZIP:
        return False
    from ..zds.store_access import open_store

    try:
        open_store(file.name, strict=None).close()
    except DsError:
        return False
    return True


BUILT_IN = {
    format.name: format
    for format in (
        Format(
            "binpickle",
            (".bpk",),
            _binpickle,
            title="BinPickle",
            marks=(signatures.BINPICKLE,),
            options=frozenset({"skip_unsupported"}),
            creation=FILE | TIMES | {"mappable", "version"},
        ),
        Format(
            "csv",
            (".csv", ".tsv", ".tab"),
            _csv,
            title="CSV",
            creation=FILE | TIMES | TEXT_TIMES,
            unpack=None,
            is_shaped=False,
        ),
        Format(
            "datadings",
            (".msgpack",),
            _datadings,
            title="datadings",
            recognises=_is_datadings,
            is_sidecar=_is_sidecar_of_datadings,
            options=frozenset({"skip_unsupported"}),
            creation=RECORDS,
            unpack=None,
        ),
        Format(
            "ds",
            (".ds",),
            _ds,
            title="ds",
            meta=_ds_meta,
            marks=(signatures.DS,),
            recognises=_is_older_ds,
            small=_small_ds,
            options=frozenset({"mmap", "strings", "verify"}),
            creation=FILE | {"checksum", "version"},
            is_exact=True,
            is_positioned=True,
        ),
        Format(
            "hdf5",
            (".h5", ".hdf5", ".hdf", ".he5"),
            _hdf5,
            title="HDF5",
            recognises=_is_hdf5,
            needs=("h5py", "ds-format-cython[hdf5]"),
            options=frozenset({"skip_unsupported"}),
            creation=FILE | TIMES | {"compression", "level"},
            dates=True,
        ),
        Format("json", (".json",), _json, title="JSON", creation=FILE | TIMES),
        Format(
            "netcdf",
            (".nc", ".nc4", ".nc3", ".cdf", ".netcdf"),
            _netcdf,
            title="NetCDF",
            marks=signatures.CLASSIC_NETCDF,
            recognises=_is_netcdf4,
            small=_small_netcdf,
            options=frozenset({"skip_unsupported"}),
            creation=FILE | TIMES | {"format"},
            dates=True,
            masks=True,
            takes_body=True,
        ),
        Format(
            "zds",
            (".zds",),
            _zds,
            title="ZDS",
            recognises=_is_zds,
            options=frozenset({"skip_unsupported"}),
            creation=RECORDS,
            unpack=None,
        ),
    )
}
"""The formats of this package, by name."""


def of_other_packages() -> list[Format]:
    """Return the formats of other packages that are installed, in the order of their names.

    One that cannot be loaded, or whose name or suffixes another format has already, is left out with a warning.
    """
    from importlib.metadata import entry_points

    formats: list[Format] = []
    names, suffixes = set(BUILT_IN), {suffix for one in BUILT_IN.values() for suffix in one.suffixes}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            format = point.load()
        except Exception as error:  # noqa: BLE001 - whatever it raises, other formats work
            fault = f"cannot be loaded: {type(error).__name__}: {error}"
        else:
            if not isinstance(format, Format):
                fault = f"found {type(format).__name__}, expected ds_format.drivers.Format"
            elif format.name in names or not suffixes.isdisjoint(format.suffixes):
                fault = f"another format has its name or a suffix of it: {' '.join([format.name, *format.suffixes])}"
            else:
                formats.append(format)
                names.add(format.name)
                suffixes.update(format.suffixes)
                continue
        warnings.warn(on_one_line(f"entry point {point.name} of {GROUP}, {point.value}: {fault}"), stacklevel=3)
    return formats
