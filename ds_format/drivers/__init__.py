"""The format of a file: suffix, or otherwise content → `Format` → `Driver`.

Modules of a format are imported when a file of it is first used. Formats of other packages are only searched if no
built-in format fits.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..base.text import hint
from ..body import MEMBER_MARK, NO_FILE, Address, Location, absolute, path_text, size_of as body_size, suffix_of
from ..body.body import FIRST_SIZE, Body, open_body
from ..body.stamp import Stamp, Watch
from ..errors import DriverError, UnsupportedError, explained
from .formats import BUILT_IN, CODED, FILE, RECORDS, TABLE, TEXT_TIMES, TIMES, Driver, Format, of_other_packages

if TYPE_CHECKING:
    from .base import Metadata, Origin, SmallFiles, Source

__all__ = [
    "BUILT_IN",
    "BY_SUFFIX",
    "CODED",
    "FILE",
    "FORMATS",
    "RECORDS",
    "TABLE",
    "TEXT_TIMES",
    "TIMES",
    "Driver",
    "Format",
    "all_formats",
    "all_suffixes",
    "check_creation",
    "checked_reading",
    "creation_options",
    "find",
    "find_existing",
    "find_output",
    "is_known",
    "is_one_file",
    "is_sidecar",
    "load",
    "located",
    "located_each",
    "meta",
    "of_existing",
    "of_folder",
    "of_format",
    "of_mark",
    "of_suffix",
    "open_source",
    "recognise",
    "size_of",
    "small_files_of",
]

FORMATS: dict[str, Format] = dict(BUILT_IN)
"""Formats by name. Those of other packages are added on first demand."""
BY_SUFFIX = {suffix: format for format in FORMATS.values() for suffix in format.suffixes}

UNKNOWN = "\0"
"""A suffix that no file has."""

SMALL_SUFFIXES = tuple(suffix for suffix, format in BY_SUFFIX.items() if format.small is not None)
"""Suffixes of formats whose small files are read into memory."""

_loaded: dict[str, Driver] = {}
"""Drivers by the name of the format. Added when all imports are complete, since several threads may import."""
_loaded_by_suffix: dict[str, Driver] = {}
"""The same by suffix."""
_MODULES = {
    "arrow": "arrow_",
    "binpickle": "binpickle_",
    "csv": "csv_",
    "datadings": "records.datadings",
    "json": "json_",
    "parquet": "arrow_",
    "zarr": "zarr_",
    "zds": "records.zds",
}
"""Modules whose name is not that of the format."""


def located(path: Any, storage_options: Mapping[str, Any] | None = None, store: Any = None) -> Any:
    """Do the same as `body.locating.located`, which a plain path does not load."""
    if storage_options is None and store is None:
        if type(path) is str and "://" not in path:
            return path if MEMBER_MARK not in path else _locating().member_of()(path) or path
        if isinstance(path, Address):
            return path
    return _locating().located(path, storage_options, store)


@functools.cache
def _locating() -> Any:
    """Return `body.locating`, imported once: an import statement takes time at each execution."""
    from ..body import locating

    return locating


def is_one_file(paths: Any) -> bool:
    """Return whether an argument is a single file, and not an iterable of files."""
    one = (str, bytes, os.PathLike, bytearray, memoryview)
    return isinstance(paths, one) or hasattr(paths, "read") or not isinstance(paths, Iterable)


def located_each(
    paths: Iterable[Any], storage_options: Mapping[str, Any] | None = None, store: Any = None
) -> list[Location]:
    """Return local paths as text, and everything else as addresses; parameters and errors as for `located`."""
    found: list[Location] = _locating().located_each(paths, storage_options, store)
    return found


def all_formats() -> Mapping[str, Format]:
    """Return all formats by name, including those of other packages."""
    _add_others()
    return FORMATS


@functools.cache
def _add_others() -> None:
    """Add the formats of other packages. It may run in several threads at once, with the same result."""
    for format in of_other_packages():
        FORMATS[format.name] = format
        BY_SUFFIX.update(dict.fromkeys(format.suffixes, format))


def all_suffixes() -> list[str]:
    """Return the suffixes of all formats, including those of other packages."""
    all_formats()
    return [*BY_SUFFIX]


def find(path: Any) -> Format:
    """Return the format of a file by its name.

    Parameters
    ----------
    path : str, bytes or PathLike

    Raises
    ------
    DriverError
        If no format has the suffix.
    """
    name = path if type(path) is str else path_text(path)
    format = BY_SUFFIX.get(name[name.rfind(".") :])
    if format is None or type(path) is not str:
        format = of_suffix(suffix_of(path))
    if format is None:
        raise DriverError(f"unknown file format: expected one of {' '.join(sorted(BY_SUFFIX))}", path=name)
    return format


def of_suffix(suffix: str) -> Format | None:
    """Return the format with a suffix, in lower case and with its dot, or None if there is none."""
    format = BY_SUFFIX.get(suffix)
    if format is None and suffix:
        all_formats()
        format = BY_SUFFIX.get(suffix)
    return format


def find_output(path: Any, options: dict[str, Any]) -> Format:
    """Return the format of a file to write: by the option `format` if it names one, otherwise by the suffix.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    options : dict
        Options of writing. `format` is removed if it names a format. It stays if it is an option of the format, as
        `NETCDF3_CLASSIC` is.

    Raises
    ------
    DriverError
        If there is no such format, or it cannot be written to an address.
    """
    name = options.get("format")
    # most are text, of which the abstract class takes long to say that it is no address
    address = path if type(path) is not str and isinstance(path, Address) else None
    if not isinstance(name, str):
        if address is not None and not address.suffix:
            message = "unknown file format: its name has no suffix, so `format` must name it"
            raise DriverError(message, path=address.name)
        format = find(path)
    else:
        format, is_option = _named_output(path, name)
        if not is_option:
            del options["format"]
            suffix = f".{name.removeprefix('.')}".lower()
            options.update({option: value for known, option, value in format.implied if known == suffix})
    if address is not None and format.creation and not FILE.issubset(format.creation):
        message = f"{format.title} datasets consist of several files: they can only be written to local paths"
        raise DriverError(message, path=address.name)
    return format


def _named_output(path: Any, name: str) -> tuple[Format, bool]:
    """Return the format of a file to write by the option `format`, and whether it is an option of the format itself."""
    by_suffix = find(path) if is_known(path) else None
    owner = next((one for one in FORMATS.values() if name in one.variants), None)
    if owner is not None:
        return by_suffix or owner, True
    format = _of_name(name)
    if format is None and by_suffix is not None and by_suffix.variants:
        return by_suffix, True
    return format or of_format(name), False


def _of_name(name: str) -> Format | None:
    return FORMATS.get(name) or of_suffix(f".{name.removeprefix('.')}".lower()) or FORMATS.get(name)


def of_format(name: str) -> Format:
    """Return a format by its name or by a suffix of its files, with or without the dot.

    Raises
    ------
    DriverError
        If the format is unknown.
    """
    format = _of_name(name)
    if format is None:
        known = [*FORMATS, *(suffix[1:] for suffix in BY_SUFFIX if suffix[1:] not in FORMATS)]
        message = f'unknown file format "{name}": expected one of {" ".join(sorted(known))}{hint(name, known)}'
        raise DriverError(message)
    return format


def is_known(path: Any) -> bool:
    """Return whether the suffix of a file is that of a format."""
    return of_suffix(suffix_of(path)) is not None


def of_folder(path: Any) -> Format | None:
    """Return the format of a local folder that is a dataset. Return None for any other path.

    Examples
    --------
    >>> import os
    >>> from ds_format import drivers
    >>> os.makedirs("store/collections")
    >>> drivers.of_folder("store").name, drivers.of_folder("store/collections")
    ('zds', None)
    """
    from ..kernels.files.names import is_file, is_folder

    name = path_text(path)
    for format in _searched():
        for mark in format.folder_marks:
            if (is_folder if mark.endswith("/") else is_file)(os.path.join(name, mark)):
                return format
    return None


def folder_files() -> frozenset[str]:
    """Return the names of files by which folders that are datasets are found in a list of files."""
    return frozenset(mark for format in all_formats().values() for mark in format.folder_marks if mark[-1] != "/")


def of_folder_elsewhere(address: Address) -> tuple[Format, Body] | None:
    """Return the format of a folder that is elsewhere, and the open file that marks it; None if there is no such file.

    Each file that does not exist takes a request.
    """
    for format in _searched():
        for mark in format.folder_marks:
            if not mark.endswith("/"):
                with contextlib.suppress(OSError):
                    return format, address.sibling(mark if address.name.endswith("/") else f"/{mark}").open(FIRST_SIZE)
    return None


def find_existing(path: Any) -> Format:
    """Return the format of a file to read: by its suffix, otherwise by its content; or of a folder that is a dataset.

    Raises
    ------
    OSError
        If the suffix is unknown, and the file does not exist or cannot be read.
    DriverError
        If no format has the suffix and the content is not recognised, or the path is another folder.
    """
    path = located(path)
    try:
        return find(path)
    except DriverError as error:
        if not isinstance(path, Address):
            try:
                os.stat(path)
            except FileNotFoundError as absent:
                raise explained(absent) from None
            if os.path.isdir(path):
                folder = of_folder(path)
                if folder is None:
                    titles = " or ".join(one.title for one in all_formats().values() if one.folder_marks)
                    message = f"a folder that is not a dataset in {titles}: expected a file"
                    raise DriverError(message, path=path_text(path)) from None
                return folder
        try:
            format = recognise(path)
        except OSError:
            found = of_folder_elsewhere(path) if isinstance(path, Address) else None
            if found is None:
                raise
            return found[0]
        if format is None:
            accepting = "`ds.read`, `ds.open`, `ds info` and `ds select` take its `format`"
            message = f"{error.message}, or recognised content; {accepting}"
            raise DriverError(message, path=error.path) from None
        return format


def recognise(path: Any) -> Format | None:
    """Return the format of a file by its content; None if it is not recognised, or is not a regular file.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    try:
        file = open_body(path)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise
    if isinstance(path, Address):
        path.keep(file)
    found = of_mark(file.head(FIRST_SIZE))
    return found or next((one for one in _searched() if one.recognises is not None and one.recognises(file)), None)


def of_mark(first: bytes | bytearray) -> Format | None:
    """Return the format that alone has files with these first bytes, or None."""
    return next((one for one in _searched() if first.startswith(one.marks)), None)


def _searched() -> Iterator[Format]:
    """Yield all formats in the order in which files are compared with them."""
    yield from reversed(BUILT_IN.values())
    yield from [one for one in all_formats().values() if one.name not in BUILT_IN]


def is_sidecar(path: str, among: Collection[str] | None = None) -> bool:
    """Return whether a file is a sidecar file of a dataset in several files.

    Parameters
    ----------
    path : str
    among : collection of str, optional
        All paths in a list of files that are elsewhere; by default the file system is asked.

    Examples
    --------
    >>> from ds_format import drivers, write
    >>> write("shard.msgpack", {"x": [1, 2]})
    >>> drivers.is_sidecar("shard.msgpack.keys"), drivers.is_sidecar("other.msgpack.keys")
    (True, False)
    """
    exists = () if among is None else (among.__contains__,)
    return any(format.is_sidecar is not None and format.is_sidecar(path, *exists) for format in all_formats().values())


def of_existing(path: Any) -> Driver:
    """Return the driver of a file to read; see `find_existing` and `load`."""
    suffix = path[path.rfind(".") :] if type(path) is str else path.suffix if isinstance(path, Address) else ""
    return _loaded_by_suffix.get(suffix) or load(find_existing(path))


def small_files_of(path: Location) -> tuple[str, SmallFiles | None]:
    """Return the suffix of a file to read, and the functions for small files of its format, or None.

    Paths with the same suffix give the same result. The suffix is `UNKNOWN` if no other path does.
    """
    suffix = path[path.rfind(".") :] if isinstance(path, str) else path.suffix
    format = find_existing(path)
    return suffix if suffix in format.suffixes else UNKNOWN, format.small() if format.small is not None else None


def __getattr__(name: str) -> Any:
    # ds-format 5.0.2 has its drivers as attributes of this module
    if name not in BUILT_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    load(BUILT_IN[name])
    return sys.modules[f"{__name__}.{_MODULES.get(name, name)}"]


def load(format: Format) -> Driver:
    """Return the driver of a format.

    Raises
    ------
    DriverError
        If the required library is not installed.
    ImportError
        If a kernel of this package is not compiled.
    """
    driver = _loaded.get(format.name)
    if driver is not None:
        return driver
    try:
        driver = format.load()
    except ImportError as error:
        if format.needs is None:
            raise
        from ..base.optional import unavailable

        raise unavailable(error, *format.needs) from error
    _loaded[format.name] = driver
    _loaded_by_suffix.update(dict.fromkeys(format.suffixes, driver))
    return driver


def open_source(path: Any, format: Format | None = None, *, body: Body | None = None, **options: Any) -> Source:
    """Open a file for reading.

    Parameters
    ----------
    path : str, bytes or PathLike
    format : Format, optional
        Use this format instead of the one of the suffix.
    body : Body, optional
        The file, if `Driver.read` has opened it already.
    **options
        Options for the driver, if true.

    Raises
    ------
    OSError
        If the file cannot be opened.
    DriverError
        If there is no driver, or it does not have an option.
    FormatError
        If the file is damaged.
    """
    path = located(path)
    if format is None:
        format = find_existing(path)
    from .base import OtherFormatError

    try:
        try:
            return _open(path, format, body, options)
        except OtherFormatError as other:
            format = of_format(other.format)
            # the caller chose the options for the other format
            return _open(path, format, body, {name: options[name] for name in options if name in format.options})
    except FileNotFoundError as error:
        raise explained(error) from None


def _open(path: Any, format: Format, body: Body | None, options: Mapping[str, Any]) -> Source:
    from .base import Origin

    wanted = {name: value for name, value in options.items() if value}
    if wanted and not format.options.issuperset(wanted):
        names = ", ".join(sorted(wanted.keys() - format.options))
        raise DriverError(f"{names} is not possible with this format", path=path_text(path))
    if format.is_positioned:
        return load(format).open(path, **wanted)
    where = absolute(path)
    is_elsewhere = isinstance(path, Address)
    if body is None and (format.takes_body or is_elsewhere):
        with contextlib.suppress(*([OSError] if format.folder_marks else [])):
            body = open_body(path, FIRST_SIZE, format.last)
    if body is not None and is_elsewhere and not format.takes_body:
        path.keep(body)
    if body is not None and body.watch.stamp is not None:
        watch, stamp = body.watch, body.watch.stamp
    elif is_elsewhere:  # a file object, which is here for as long as the source
        watch, stamp = Watch(), Stamp(0 if body is None else body.size, 0, b"", "", 0)
    else:
        stamp = Stamp.of_path(path_text(path))  # taken before the file is opened
        watch = Watch(where, stamp)
    with watch:
        opened_before = {"body": body, "stamp": stamp} if format.takes_body else {}
        reopened: Any = load(format).open(path, **opened_before, **wanted)
    reopened.origin = Origin(where, format.name, wanted, stamp, reopen)
    if reopened.is_watched_by_path:
        # the descriptor of the body would stay open as long as the source, so the path is watched
        reopened.watch = watch if is_elsewhere else Watch(where, stamp)
    opened: Source = reopened
    return opened


def reopen(origin: Origin) -> Source:
    """Open a file again, as it was opened before."""
    return open_source(origin.path, of_format(origin.driver), **origin.options)


def creation_options(format: Format, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options of creating a file: those that are not None.

    Raises
    ------
    DriverError
        If the format does not have an option.
    """
    given = {name: value for name, value in options.items() if value is not None}
    check_creation(format, path, given, format.creation)
    return given


def check_creation(format: Format, path: Any, names: Collection[str], known: Collection[str]) -> None:
    """Check that a format supports options of creating files.

    Parameters
    ----------
    format : Format
    path : str, bytes or PathLike
    names : collection of str
    known : collection of str
        The options that the user can choose, for the message.

    Raises
    ------
    DriverError
        If it does not; the message names the options that it supports.
    """
    _check_options(format, path, names, format.creation, known)


def checked_reading(format: Format, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of reading if a format supports them; errors as for `check_creation`."""
    _check_options(format, path, options, format.options, TABLE)
    return dict(options)


def _check_options(
    format: Format, path: Any, names: Collection[str], supported: frozenset[str], known: Collection[str]
) -> None:
    unknown = [name for name in names if name not in supported]
    if unknown:
        found = sorted(supported.intersection(known))
        expected = f", expected one of {', '.join(found)}" if found else ""
        message = f'the format {format.name} has no option "{unknown[0]}"{expected}{hint(unknown[0], found)}'
        raise DriverError(message, path=path_text(path))


def size_of(path: Any) -> int:
    """Return the bytes of a file, or of all files in a folder. The size of a file elsewhere takes a request.

    A folder on a web server, which does not list files, has the size of the file that marks the folder.

    Raises
    ------
    OSError
        If the file does not exist, or cannot be read.
    """
    path = located(path)
    if not isinstance(path, Address):
        return body_size(path_text(path))
    try:
        return open_body(path).size
    except OSError as error:
        found = of_folder_elsewhere(path)
        if found is None:
            raise error from None
    from ..body.remote.listing import files_below

    try:
        return sum(one.size for one in files_below(path))
    except UnsupportedError:  # a web server
        return found[1].size


def meta(path: Any) -> Metadata:
    """Return the metadata of a file from its header alone, importing only what the format needs for this.

    Numbers of attributes may be `base.dtypes.TypedNumbers`.

    Raises
    ------
    OSError
        If the file cannot be read.
    DriverError, FormatError
        If there is no driver, or the header is invalid.
    """
    path = located(path)
    format = find_existing(path)
    found = None if format.meta is None else format.meta(path)
    if found is not None:
        return found
    source = open_source(path, format, structured="structured" in format.options)
    try:
        return dict(source.meta)
    finally:
        source.close()
