"""Which file format is which: suffix, or else content → module → what to install.

Modules are imported when a file of theirs is touched.
"""

import importlib
import os
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ..body.stamp import Stamp, Watch
from ..errors import DriverError, explained
from ..kernels.files.presence import is_file, is_folder
from ..nearest import hint
from ..optional import unavailable
from .base import Metadata, Origin, Source
from .small import SmallFiles


class Driver(NamedTuple):
    """One file format."""

    suffixes: tuple[str, ...]
    """Of file names, in lower case."""
    module: str
    """Has `open(path, ...) -> Source`, `create(path, meta, ...) -> Sink`, perhaps `read` and `write` as short cuts
    (`read` may return None: this file takes the long way), and `check(path, report, strict=..., progress=...)`, which
    reports what is wrong with a file beyond its variables, and returns a Source if these are still to be read."""
    header: str | None = None
    """Has `meta(path) -> Metadata`, with less to import than `module`."""
    needs: tuple[str, str] | None = None
    """The library that `module` imports, and what pip installs for it."""
    options: frozenset[str] = frozenset()
    """What `open` can do beyond the protocol: `mmap`, `strings`, `verify`, `skip_unsupported`."""
    creation: frozenset[str] = frozenset()
    """What a file can be created with: the options of `create`, and those of times; see `creation`."""
    unpack: bool | None = False
    """Which packed values are unpacked before they are written; see `packing.is_unpacked_by`. None: the format cannot
    keep the scale for all programs that read its files, so these get the values that `read` returns."""
    dates: bool = False
    """Whether Julian dates have their units and calendar as attributes."""
    masks: bool = False
    """Whether whoever reads numbers expects masked arrays, also where nothing is missing."""
    reopens: bool = True
    """Whether sources are `handle.Reopened`: they have no positions that a handle could read at."""
    holds: bool = False
    """Whether `module` is a `small.SmallFiles`: small files are read together, and those that are alike as one."""


FILE = frozenset({"atomic", "durable"})
"""Of a format whose data are one file: how it comes to its name."""
TIMES = frozenset({"time_units", "calendar"})
"""Of a format that has no times of its own."""
TEXT_TIMES = frozenset({"times"})
"""Of a format that other programs read without attributes: times can be text."""
RECORDS = frozenset({"dim", "durable", "key"}) | TIMES | TEXT_TIMES
"""Of records: each container makes its files as it must, always so that they appear when they are whole."""

DRIVERS = {
    "binpickle": Driver(
        (".bpk",),
        "ds_format.drivers.binpickle_",
        options=frozenset({"skip_unsupported"}),
        creation=FILE | TIMES | {"mappable", "version"},
    ),
    "csv": Driver(
        (".csv", ".tsv", ".tab"),
        "ds_format.drivers.csv_",
        creation=FILE | TIMES | TEXT_TIMES,
        unpack=None,
    ),
    "datadings": Driver(
        (".msgpack",),
        "ds_format.drivers.records.datadings",
        options=frozenset({"skip_unsupported"}),
        creation=RECORDS,
        unpack=None,
    ),
    "ds": Driver(
        (".ds",),
        "ds_format.drivers.ds",
        "ds_format.drivers.ds_header",
        options=frozenset({"mmap", "strings", "verify"}),
        creation=FILE | {"checksum", "version"},
        reopens=False,
        holds=True,
    ),
    "hdf5": Driver(
        (".h5", ".hdf5", ".hdf", ".he5"),
        "ds_format.drivers.hdf5",
        needs=("h5py", "ds-format-cython[hdf5]"),
        options=frozenset({"skip_unsupported"}),
        creation=FILE | TIMES | {"compression", "level"},
        dates=True,
    ),
    "json": Driver((".json",), "ds_format.drivers.json_", creation=FILE | TIMES),
    "netcdf": Driver(
        (".nc", ".nc4", ".nc3", ".cdf", ".netcdf"),
        "ds_format.drivers.netcdf",
        options=frozenset({"skip_unsupported"}),
        creation=FILE | TIMES | {"format"},
        dates=True,
        masks=True,
        holds=True,
    ),
    "zds": Driver(
        (".zds",),
        "ds_format.drivers.records.zds",
        options=frozenset({"skip_unsupported"}),
        creation=RECORDS,
        unpack=None,
    ),
}

BY_SUFFIX = {suffix: driver for driver in DRIVERS.values() for suffix in driver.suffixes}

UNKNOWN = "\0"
"""The suffix of no file."""
HELD = tuple(suffix for suffix, driver in BY_SUFFIX.items() if driver.holds)
"""Suffixes of formats whose small files are held in memory."""

_loaded: dict[str, Any] = {}
"""Modules by their names, once they are whole: `sys.modules` has them already while another thread imports them."""
_loaded_by_suffix: dict[str, Any] = {}
"""The same by the suffixes of their files."""


def find(path: Any) -> Driver:
    """Return the driver of a file by its name.

    Parameters
    ----------
    path : str, bytes or PathLike

    Raises
    ------
    DriverError
        If no driver has the suffix.
    """
    name = path if type(path) is str else os.fsdecode(path)
    driver = BY_SUFFIX.get(name[name.rfind(".") :])
    if driver is None:
        driver = BY_SUFFIX.get(os.path.splitext(name)[1].lower())
    if driver is None:
        raise DriverError(f"unknown file format: expected one of {' '.join(sorted(BY_SUFFIX))}", path=name)
    return driver


def of_format(format: str) -> Driver:
    """Return the driver of a format by its name or by a suffix of its files, with or without the dot.

    Raises
    ------
    DriverError
        If there is no such format.
    """
    driver = DRIVERS.get(format) or BY_SUFFIX.get(f".{format.removeprefix('.')}".lower())
    if driver is None:
        known = [*DRIVERS, *(suffix[1:] for suffix in BY_SUFFIX if suffix[1:] not in DRIVERS)]
        message = f'unknown file format "{format}": expected one of {" ".join(sorted(known))}{hint(format, known)}'
        raise DriverError(message)
    return driver


def is_known(path: Any) -> bool:
    """Whether there is a driver for files of this name."""
    return os.path.splitext(os.fsdecode(path))[1].lower() in BY_SUFFIX


def is_store(path: Any) -> bool:
    """Whether a path is that of a folder that is a ZDS store."""
    name = os.fsdecode(path)
    return is_folder(os.path.join(name, "collections")) or is_file(os.path.join(name, "zds.json"))


def find_existing(path: Any) -> Driver:
    """Return the driver of a file to be read, by its suffix or else by its content, or of a folder that is a store.

    Raises
    ------
    OSError
        If the suffix is unknown, and the file does not exist or cannot be read.
    DriverError
        If no driver has the suffix, and the content is not recognised; or if it is another folder.
    """
    try:
        return find(path)
    except DriverError as error:
        try:
            os.stat(path)
        except FileNotFoundError as absent:
            raise explained(absent) from None
        if is_store(path):
            return DRIVERS["zds"]
        if os.path.isdir(path):
            raise DriverError("a folder, and no ZDS store: expected a file", path=os.fsdecode(path)) from None
        driver = recognise(path)
        if driver is None:
            accepting = "`ds.read`, `ds.open`, `ds info` and `ds select` take its `format`"
            message = f"{error.message}, or recognised content; {accepting}"
            raise DriverError(message, path=error.path) from None
        return driver


def recognise(path: Any) -> Driver | None:
    """Return the driver of a file by its content; None if it is not recognised, or is no regular file.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    recognition = importlib.import_module(".recognition", __package__)  # most files have a suffix
    name = recognition.format_of(os.fsdecode(path), lambda name: load(DRIVERS[name]))
    return None if name is None else DRIVERS[name]


def is_part(path: str) -> bool:
    """Whether a file belongs to the data file of a dataset of several files.

    Examples
    --------
    >>> from ds_format import drivers, write
    >>> write("shard.msgpack", {"x": [1, 2]})
    >>> drivers.is_part("shard.msgpack.keys"), drivers.is_part("other.msgpack.keys")
    (True, False)
    """
    found: bool = load(DRIVERS["datadings"]).is_part(path)
    return found


def of_existing(path: Any) -> Any:
    """Return the module of the driver of a file to be read; see `find_existing` and `load`."""
    if type(path) is str and (loaded := _loaded_by_suffix.get(path[path.rfind(".") :])) is not None:
        return loaded
    return load(find_existing(path))


def holder(path: str) -> tuple[str, SmallFiles | None]:
    """Return the suffix of a file to be read, and the module of its driver, if that holds small files in memory.

    Of paths that end with this suffix there is no need to ask again. `UNKNOWN`: no path does.
    """
    suffix = path[path.rfind(".") :]
    driver = find_existing(path)
    return suffix if suffix in driver.suffixes else UNKNOWN, load(driver) if driver.holds else None


def __getattr__(name: str) -> Any:
    if name in DRIVERS:
        return load(DRIVERS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load(driver: Driver) -> Any:
    """Import the module of a driver.

    Raises
    ------
    DriverError
        If the library it needs is not installed.
    ImportError
        If a kernel of this package is not compiled.
    """
    module = _loaded.get(driver.module)
    if module is not None:
        return module
    try:
        module = importlib.import_module(driver.module)
    except ImportError as error:
        if driver.needs is None:
            raise
        raise unavailable(error, *driver.needs) from error
    _loaded[driver.module] = module
    _loaded_by_suffix.update(dict.fromkeys(driver.suffixes, module))
    return module


def open_source(path: Any, driver: Driver | None = None, **options: Any) -> Source:
    """Open a file to read from.

    Parameters
    ----------
    path : str, bytes or PathLike
    driver : Driver, optional
        Instead of the one that the suffix tells.
    **options
        Those that are not None go to the driver.

    Raises
    ------
    OSError
        As the system says.
    DriverError
        If there is no driver, or it has no such option.
    FormatError
        If the file is damaged.
    """
    if driver is None:
        driver = find_existing(path)
    try:
        return _open(path, driver, options)
    except FileNotFoundError as error:
        raise explained(error) from None


def _open(path: Any, driver: Driver, options: Mapping[str, Any]) -> Source:
    wanted = {name: value for name, value in options.items() if value}
    if wanted and not driver.options.issuperset(wanted):
        names = ", ".join(sorted(wanted.keys() - driver.options))
        raise DriverError(f"{names} is not possible with this format", path=os.fsdecode(path))
    if not driver.reopens:
        source: Source = load(driver).open(path, **wanted)
        return source
    name = next(name for name, one in DRIVERS.items() if one is driver)
    absolute = os.path.abspath(os.fsdecode(path))
    stamp = Stamp.of_path(os.fsdecode(path))  # before it is opened
    watch = Watch(absolute, stamp)
    with watch:
        reopened: Any = load(driver).open(path, **wanted)
    reopened.origin = Origin(absolute, name, wanted, stamp)
    if reopened.is_watched_by_path:
        reopened.watch = watch
    opened: Source = reopened
    return opened


def creation_options(driver: Driver, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of creating a file that are given: those that are not None.

    Raises
    ------
    DriverError
        If the format has no such option.
    """
    given = {name: value for name, value in options.items() if value is not None}
    check_creation(driver, path, given, driver.creation)
    return given


def check_creation(driver: Driver, path: Any, names: Collection[str], known: Collection[str]) -> None:
    """Check that files of a format can be created with options of these names.

    Parameters
    ----------
    driver : Driver
    path : str, bytes or PathLike
    names : collection of str
    known : collection of str
        Those among which the user chose.

    Raises
    ------
    DriverError
        If not; it names what there is.
    """
    unknown = [name for name in names if name not in driver.creation]
    if unknown:
        format = next(name for name, one in DRIVERS.items() if one is driver)
        found = sorted(driver.creation.intersection(known))
        expected = f", expected one of {', '.join(found)}" if found else ""
        message = f'the format {format} has no option "{unknown[0]}"{expected}{hint(unknown[0], found)}'
        raise DriverError(message, path=os.fsdecode(path))


def meta(path: Any) -> Metadata:
    """Return the metadata of a file from its header alone, with no more imports than the format needs.

    Raises
    ------
    OSError
        As the system says.
    DriverError, FormatError
        If there is no driver, or the header is wrong.
    """
    driver = find_existing(path)
    if driver.header is not None:
        metadata: Metadata = importlib.import_module(driver.header).meta(path)
        return metadata
    source = open_source(path, driver)
    try:
        return dict(source.meta)
    finally:
        source.close()
