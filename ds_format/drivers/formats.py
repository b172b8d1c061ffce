"""File formats: a `Format` with its properties, which is light, and its `Driver`, which is loaded for the first file.

The formats of this package are in `BUILT_IN`. Other packages have theirs in the entry point group `ds_format.formats`.
"""

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..base import signatures
from ..base.text import on_one_line
from ..body import Address, path_text
from ..body.body import FIRST_SIZE, Body, MemoryBody
from ..errors import DsError, UnsupportedError
from .base import Entries, Metadata, Report, Sink, SmallFiles, Source

if TYPE_CHECKING:
    from ..base.progress import Progress

GROUP = "ds_format.formats"
"""Entry points of this group are instances of `Format`."""

FILE = frozenset({"atomic", "durable"})
"""Options of a format whose data are one file: the way in which it is written."""
TIMES = frozenset({"time_units", "calendar"})
"""Options of a format without a representation of times."""
CODED = frozenset({"widen"})
"""Options of a format that other programs read which lack types of ds: values get a wider type."""
STORAGE = frozenset({"bits", "chunks", "compression", "digits", "encoding", "level", "shuffle"})
"""Options of NetCDF files: the storage of variables."""
TEXT_TIMES = frozenset({"times"})
"""Options of a format that other programs read without attributes: times may be text."""
TABLE = frozenset({"comments", "decimal", "delimiter", "skip", "units"})
"""Options of reading a table of text."""
COLUMNS = FILE | TIMES | TEXT_TIMES | {"compression", "level", "scalars"}
"""Options of tables with types."""
RECORDS = frozenset({"dim", "durable", "key"}) | TIMES | TEXT_TIMES
"""Options of records. Each container has its own way of writing, which is always atomic."""


PYARROW = ("pyarrow", "ds-format-cython[tables]")
"""The library for tables with types; see `Format.needs`."""


def _only_read(path: Any, meta: Metadata, **options: Any) -> NoReturn:
    raise UnsupportedError("files of this format can only be read", path=path_text(path))


class Driver(NamedTuple):
    """The functions of a format; None for those that it does not have."""

    open: Callable[..., Source]
    """Called with a path and the options in `Format.options`. With `Format.takes_body`, the open file is given as
    `body`, too, and its `stamp`."""
    create: Callable[..., Sink] = _only_read
    """Called with a path, the metadata of all variables, and the options in `Format.creation`."""
    read: Callable[..., Any] | None = None
    """Fast way for small files. Called with path, keys, `full`, `strings` and `unpack`, as for `api.files.read`.
    Returns a dataset, or the body with which to open the file, or None."""
    read_folder: Callable[..., Any] | None = None
    """The same for a folder."""
    read_small: Callable[[Any, int], tuple[dict[str, Any], Metadata, int] | Body] | None = None
    """Fast way for small files that are converted. Called with a path, and the maximum bytes of all values in memory.
    Returns arrays and metadata as `write` takes them, and the bytes of the arrays as `base.value_size` counts them; or
    the body with which to open any other file."""
    write: Callable[..., bool] | None = None
    """Fast way of writing. Called with a path, arrays, their metadata, and the options in `Format.creation`. Returns
    whether it wrote the file; otherwise `create` does."""
    loads: Callable[..., Any] | None = None
    """Fast way for files in memory. Called with a name, a memoryview of bytes, and as `read`; returns a dataset."""
    dumps: Callable[..., bytes | None] | None = None
    """Fast way of making them. Called as `write`, but without a path and the options `FILE`. Returns the bytes, or None
    if `create` has to make them."""
    check: Callable[..., Source | None] | None = None
    """Called with a path, a `base.Report`, `strict` and `progress`. Reports faults of a file other than those of its
    variables, and returns a Source if these must still be read."""
    title: Callable[[Source], str] | None = None
    """Called with an open file; returns the usual name of its format, if this differs between files."""
    reindex: Callable[..., int] | None = None
    """Called with a path, `cut` and `progress`. Rebuilds the index of records, and returns their number."""
    publish: Callable[..., None] | None = None
    """Called with a finished file, its final name, and a function that renames one file. Replaces all files of a
    dataset together."""


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
    """Suffixes of file names, in lower case."""
    load: Callable[[], Driver]
    """Imports the driver. Call `drivers.load` instead, which does this once."""
    title: str = ""
    """The usual name of the format, for messages."""
    meta: Callable[[Any], Metadata | None] | None = None
    """Called with a path; returns the metadata, with fewer imports than `load`. None: only an open `Source` has them.
    Numbers of attributes may be `base.dtypes.TypedNumbers`."""
    title_of: Callable[[Entries], str] | None = None
    """Called with what `meta` returned; returns the usual name of the format with its variant."""
    marks: tuple[bytes, ...] = ()
    """First bytes that only files of this format have."""
    recognises: Callable[[Body], bool] | None = None
    """Whether a file with an unknown suffix and without such a mark has this format."""
    folder_marks: tuple[str, ...] = ()
    """Names of files, one of which is in each folder that is a dataset. The name of a folder has a slash at its end."""
    is_sidecar: Callable[..., bool] | None = None
    """Whether a file is a sidecar file of a dataset in several files. Called with its path and, for files that are
    elsewhere, a function that says whether there is a file of a path."""
    small: Callable[[], SmallFiles] | None = None
    """Imports the functions for small files, which are read together."""
    needs: tuple[str, str] | None = None
    """The library that `load` imports, and the name by which pip installs it."""
    options: frozenset[str] = frozenset()
    """Options of `open` beyond the protocol: `mmap`, `strings`, `verify`, `skip_unsupported`, `structured`, those in
    `TABLE`, and those of formats of other packages."""
    creation: frozenset[str] = frozenset()
    """Options of creating a file: those of `create`, and those of times; see `api.creation`."""
    variants: frozenset[str] = frozenset()
    """Values of the option `format` of creating a file, which name this format, too."""
    implied: tuple[tuple[str, str, Any], ...] = ()
    """(suffix, option, value) of creating a file: the suffix implies this option where a file has no name."""
    unpack: bool | None = False
    """Which packed values are unpacked before they are written; see `packing.is_unpacked_by`. None: not all programs
    that read such files would apply the scale, so they get the values that `read` returns."""
    is_table: bool = False
    """Whether a file is a table of text for people and other programs: columns are in the order of the request, and
    these values have the decimals of their scale."""
    dates: bool = False
    """Whether Julian dates have their units and calendar as attributes."""
    masks: bool = False
    """Whether users expect masked arrays of numbers, even if nothing is missing."""
    is_exact: bool = False
    """Whether a file contains everything in a dataset, in the same types."""
    is_shaped: bool = True
    """Whether a file contains the shapes of variables."""
    is_positioned: bool = False
    """Whether handles read at positions in the file. Other sources are `source.ReopenedSource`."""
    takes_body: bool = False
    """Whether `Driver.open` reads the first bytes, and so accepts an open file."""
    last: int = 0
    """Bytes from the end of a file that have metadata, so that they are requested with the first ones."""


def _arrow() -> Driver:
    from . import arrow_

    return Driver(arrow_.open_arrow, arrow_.create_arrow)


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
    """Return whether a file has an index next to it."""
    from ..datadings.format import OFFSETS
    from ..kernels.files.names import exists

    return not file.is_elsewhere and exists(file.name + OFFSETS)


def _is_sidecar_of_datadings(path: str, *exists: Callable[[str], bool]) -> bool:
    from ..datadings.format import is_sidecar

    return is_sidecar(path, *exists)


def _ds() -> Driver:
    from .ds import whole  # enough for small files

    return Driver(
        _open_ds,
        _create_ds,
        read=whole.read,
        read_folder=_read_series,
        read_small=whole.read_small,
        write=_write_ds,
        loads=whole.loads,
        dumps=_dump_ds,
        check=_check_ds,
        title=_ds_title,
    )


def _ds_title(source: Any) -> str:
    n = len(getattr(source, "segments", ()))
    return f"ds series, {n} {'segment' if n == 1 else 'segments'}" if n else "ds"


# an import statement takes a tenth of the time of writing a small file, so these are imported once


@functools.cache
def _ds_source() -> Callable[..., Source]:
    from .ds.source import DsSource

    return DsSource


@functools.cache
def _ds_writers() -> tuple[Callable[..., bool], Callable[..., bytes]]:
    from .ds.composing import dumps, write

    return write, dumps


def _open_ds(path: Any, **options: Any) -> Source:
    try:
        return _ds_source()(path, **options)
    except IsADirectoryError:
        if isinstance(path, Address):
            raise
        from .ds.series import open_series

        return open_series(path, **options)


def _read_series(path: Any, *args: Any) -> Any:
    from .ds.series import read

    return read(path, *args)


def _write_ds(path: Any, arrays: dict[str, Any], meta: Metadata, **options: Any) -> bool:
    return _ds_writers()[0](path, arrays, meta, **options)


def _dump_ds(arrays: dict[str, Any], meta: Metadata, **options: Any) -> bytes:
    return _ds_writers()[1](arrays, meta, **options)


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


def _ds_meta(path: Any) -> Metadata | None:
    from .ds import header as ds_header

    try:
        return ds_header.read(path)[1]
    except IsADirectoryError:  # a series
        return None


def _is_older_ds(file: Body) -> bool:
    """Return whether a file has the layout 2.0.1, which has no version line."""
    from ..codec.legacy import is_older

    return is_older(bytes(file.head(FIRST_SIZE)))


def _hdf5() -> Driver:
    from .hdf5 import create, open

    return Driver(open, create)


def _is_hdf5(file: Body) -> bool:
    """Return whether the signature of HDF5 is at the start, or after a user block."""
    from ..hdf5 import content

    if file.is_far:  # a user block that is longer than the first bytes is not worth requests
        file = MemoryBody(file.name, file.head(FIRST_SIZE))
    return content(file) is not None


def _json() -> Driver:
    from . import json_

    return Driver(json_.JsonSource, json_.JsonSink)


def _netcdf() -> Driver:
    from .netcdf import opening

    return Driver(
        opening.open,
        opening.create,
        read=opening.read,
        read_small=opening.read_small,
        write=_write_netcdf,
        dumps=_dump_netcdf,
        check=opening.check,
        title=opening.title,
    )


@functools.cache
def _netcdf_writers() -> tuple[Callable[..., bool], Callable[..., bytes | None]]:
    from .netcdf.ordinary import dumps, write

    return write, dumps


def _write_netcdf(path: Any, arrays: dict[str, Any], meta: Metadata, **options: Any) -> bool:
    return _netcdf_writers()[0](path, arrays, meta, **options)


def _dump_netcdf(arrays: dict[str, Any], meta: Metadata, **options: Any) -> bytes | None:
    return _netcdf_writers()[1](arrays, meta, **options)


def _netcdf_meta(path: Any) -> Metadata | None:
    from .netcdf import header as netcdf_header

    return netcdf_header.meta(path)


def _netcdf_title(meta: Entries) -> str:
    from .netcdf import header as netcdf_header

    return netcdf_header.title_of(meta)


def _small_netcdf() -> SmallFiles:
    from .netcdf.opening import SMALL

    return SMALL


def _is_netcdf4(file: Body) -> bool:
    """Return whether an HDF5 file is netCDF-4."""
    if not _is_hdf5(file):
        return False
    from .netcdf.hdf5.recognition import is_netcdf4

    return is_netcdf4(file)


def _parquet() -> Driver:
    from . import arrow_

    return Driver(arrow_.open_parquet, arrow_.create_parquet)


def _zarr() -> Driver:
    from . import zarr_

    return Driver(zarr_.open, zarr_.create)


def _zds() -> Driver:
    from .records import zds as records

    return Driver(records.open, records.create, check=records.check, reindex=records.reindex)


def _is_zds(file: Body) -> bool:
    """Return whether a file is an archive of a store."""
    if bytes(file.head(len(signatures.ZIP))) != signatures.ZIP:
        return False
    if file.is_elsewhere:  # other archives are refused when it is opened
        return True
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
            "arrow",
            (".arrow", ".feather"),
            _arrow,
            title="Arrow",
            marks=(signatures.ARROW,),
            needs=PYARROW,
            options=frozenset({"skip_unsupported"}),
            creation=COLUMNS,
            unpack=None,
            is_shaped=False,
            dates=True,
            last=FIRST_SIZE,
        ),
        Format(
            "binpickle",
            (".bpk",),
            _binpickle,
            title="BinPickle",
            marks=(signatures.BINPICKLE,),
            options=frozenset({"skip_unsupported"}),
            creation=FILE | TIMES | {"mappable", "version"},
            last=FIRST_SIZE,
        ),
        Format(
            "csv",
            (".csv", ".tsv", ".tab"),
            _csv,
            title="CSV",
            options=TABLE,
            creation=FILE | TIMES | TEXT_TIMES | {"decimal", "delimiter", "excel", "scalars", "units"},
            implied=((".tsv", "delimiter", "\t"), (".tab", "delimiter", "\t")),
            unpack=None,
            is_table=True,
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
            folder_marks=("series.json",),
            small=_small_ds,
            options=frozenset({"mmap", "strings", "verify"}),
            creation=FILE | CODED | {"checksum", "version"},
            is_exact=True,
            is_positioned=True,
        ),
        Format(
            "hdf5",
            (".h5", ".hdf5", ".hdf", ".he5"),
            _hdf5,
            title="HDF5",
            recognises=_is_hdf5,
            options=frozenset({"skip_unsupported"}),
            creation=FILE | TIMES | {"compression", "level"},
            dates=True,
            takes_body=True,
            last=FIRST_SIZE,
        ),
        Format("json", (".json",), _json, title="JSON", creation=FILE | TIMES),
        Format(
            "netcdf",
            (".nc", ".nc4", ".nc3", ".cdf", ".netcdf"),
            _netcdf,
            title="NetCDF",
            meta=_netcdf_meta,
            title_of=_netcdf_title,
            marks=signatures.CLASSIC_NETCDF,
            recognises=_is_netcdf4,
            small=_small_netcdf,
            options=frozenset({"skip_unsupported", "structured"}),
            creation=FILE | TIMES | CODED | STORAGE | {"format"},
            variants=frozenset({
                *("NETCDF4", "NETCDF4_CLASSIC"),
                *("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"),
            }),
            dates=True,
            masks=True,
            takes_body=True,
            last=FIRST_SIZE,
        ),
        Format(
            "parquet",
            (".parquet", ".pq"),
            _parquet,
            title="Parquet",
            marks=(signatures.PARQUET,),
            needs=PYARROW,
            options=frozenset({"skip_unsupported"}),
            creation=COLUMNS,
            unpack=None,
            is_shaped=False,
            dates=True,
            last=FIRST_SIZE,
        ),
        Format(
            "zarr",
            (".zarr",),
            _zarr,
            title="Zarr",
            folder_marks=("zarr.json", ".zgroup"),
            needs=("zarr", "ds-format-cython[zarr]"),
            options=frozenset({"skip_unsupported"}),
            creation=TIMES | {"chunks", "compression", "durable", "level", "shards"},
            dates=True,
        ),
        Format(
            "zds",
            (".zds",),
            _zds,
            title="ZDS",
            recognises=_is_zds,
            last=FIRST_SIZE,
            options=frozenset({"skip_unsupported"}),
            folder_marks=("zds.json", "collections/"),
            creation=RECORDS,
            unpack=None,
        ),
    )
}
"""The formats of this package, by name."""


def of_other_packages() -> list[Format]:
    """Return the formats of other installed packages, in the order of the names of their entry points.

    A format is left out with a warning if it cannot be loaded, or another format has its name or one of its suffixes.
    """
    from importlib.metadata import entry_points

    formats: list[Format] = []
    names, suffixes = set(BUILT_IN), {suffix for one in BUILT_IN.values() for suffix in one.suffixes}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            format = point.load()
        except Exception as error:  # noqa: BLE001 - a fault of one format must not affect others
            fault = f"cannot be loaded: {type(error).__name__}: {error}"
        else:
            if not isinstance(format, Format):
                kind = "type" if isinstance(format, type) else type(format).__name__
                fault = f"found {kind}, expected ds_format.drivers.Format"
            elif format.name in names or not suffixes.isdisjoint(format.suffixes):
                fault = f"another format has its name or a suffix of it: {' '.join([format.name, *format.suffixes])}"
            else:
                formats.append(format)
                names.add(format.name)
                suffixes.update(format.suffixes)
                continue
        warnings.warn(on_one_line(f"entry point {point.name} of {GROUP}, {point.value}: {fault}"), stacklevel=3)
    return formats
