"""Read, open and write whole files: find the driver and call it.

Modules that small files do not need are imported in functions. Loading them takes longer than reading such a file.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from .. import drivers
from ..base.text import keys_of, on_one_line
from ..body import MEMBER_MARK, path_text
from ..datasets import META, Dataset, checked
from ..errors import UnsupportedError, explained

if TYPE_CHECKING:
    from ..body.body import Body
    from ..model.selection import Selection
    from ..views.lazy import File
    from ..views.subset import Input, Path, Subset
    from .options import NetCDFOptions, TableReadOptions, WriteOptions


def read(
    filename: Input,
    variables: str | Iterable[str] | None = None,
    sel: Mapping[str, Any] | None = None,
    range_: Mapping[str, Any] | None = None,
    at: Mapping[str, Any] | None = None,
    between: Mapping[str, Any] | None = None,
    full: bool = False,
    jd: bool = False,
    *,
    unpack: bool | None = None,
    mmap: bool = False,
    strings: str = "object",
    skip_unsupported: bool = False,
    verify: bool = False,
    format: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **table: Unpack[TableReadOptions],
) -> Dataset:
    """Read a dataset from a file of any supported format.

    Only the selected bytes are read. If several selectors apply to one dimension, the positions that all of them
    select are read.

    Parameters
    ----------
    filename : str, bytes, PathLike, file object, bytearray or memoryview
        A path, or an address such as `https://host/x.ds` or `s3://bucket/x.ds`. The suffix determines the format. If
        it is unknown, the content does.
    variables : str or iterable of str, optional
        Names of the variables to read; all by default. The mode decides what happens if one does not exist: see
        `ds_format.mode`.
    sel : dict, optional
        Dimension name → index: an int (which removes the dimension), a slice, or a list of int or bool. Several lists
        select a grid.
    range_ : dict, optional
        Dimension name → (first, end): positions from `first` up to, but without, `end`. None leaves a side open.
    at : dict, optional
        Name of a 1-d variable → value: the position along its dimension where the variable is nearest to the value. A
        list of values keeps the dimension. A time can be text in ISO 8601, whatever the units of the variable.
    between : dict, optional
        Name of a 1-d variable → (low, high): the positions where low ≤ value < high. None leaves a side open.
    full : bool
        Return also the metadata of variables that are not read.
    jd : bool
        Convert variables with units of time to Julian dates: days since -4713-11-24 12:00 UTC of the proleptic
        Gregorian calendar, float64. A variable that cannot be converted is left as it is, with a warning.
    unpack : bool, optional
        Unpack packed numbers: multiply by the attribute `scale_factor`, add `add_offset`, in the dtype that NumPy
        promotes to. These attributes are removed, and so are those that describe packed values: `_FillValue`,
        `missing_value`, `valid_min`, `valid_max`, `valid_range`. By default numbers are unpacked if they are from a
        NetCDF or HDF5 file, even if the file was converted to another format since. True also unpacks integers of
        other files, whose floats often have these attributes from before they were unpacked.
    mmap : bool
        Map a ds file copy-on-write instead of reading it. Large arrays without missing values are then views of the
        file. They do not change when the file is replaced, and changing them does not change the file. Truncating a
        mapped file in place kills the process (SIGBUS). No file is mapped without this option.
    strings : {"object", "numpy"}
        Return text as object arrays of `str`, or as NumPy's StringDType, which needs NumPy 2.
    skip_unsupported : bool
        Leave out variables that the ds model cannot hold, with a warning, instead of raising an error.
    verify : bool
        Compare the checksums of the header and of each variable that is read. The file must be a ds file written with
        `checksum=True`; otherwise there is a warning. With a selection the whole variable is read for this.
    format : str, optional
        The format of the file, whatever its suffix and content: a name such as "netcdf", or a suffix such as "tsv".
    storage_options : dict, optional
        Options for an address: for web servers `headers`, `token`, `auth`, `cookies` and `ca_certs`; for buckets those
        of obstore or s3fs; otherwise those of the file system of fsspec.
    store : object, optional
        The store that has the file, if `filename` is a path in one: a store of obstore, or of another library with its
        method `get`, or a file system of fsspec.
    **table
        Options for CSV files. `decimal`: the character before decimals, "." or ",". `delimiter`: the character between
        cells; by default ",", ";" or a tab is found in the line of names. `comments`: the character at the start of
        lines that are skipped, as "#"; by default no line is skipped. `skip`: the number of lines before the names that
        are skipped. `units`: whether the line below the names has units, which become attributes.

    Returns
    -------
    Dataset
        Key → array in native byte order. An array is a MaskedArray if a value is missing; numbers of NetCDF files are
        always MaskedArrays, except Julian dates. Values of a compound type are structured arrays. A variable without
        dimensions is a NumPy scalar, `str` or `bytes`; one without data is None. `"."` → metadata.

    Raises
    ------
    OSError
        If the file cannot be read.
    DriverError
        If the suffix is unknown and the content is not recognised, or if `format` does not exist. If `strings` is
        "numpy" and NumPy is older than 2.0. If the format does not have an option, or its value is invalid.
    FormatError
        If the file is damaged. The message names the file, the variable and the field.
    IntegrityError
        With `verify`, if a checksum differs. The message names the file, the variable and both sums.
    IndexError
        If a position is out of bounds.
    UnsupportedError
        If a selector is invalid, or cannot be applied to the variable that it names. If a variable has a type that ds
        does not have.

    Examples
    --------
    >>> import ds_format as ds
    >>> meta = {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}}
    >>> ds.write("base.ds", {"t": [1, 2, 3], "x": [16.0, 18.0, 21.0], ".": meta})
    >>> ds.read("base.ds", "x")["x"]
    array([16., 18., 21.])
    >>> ds.read("base.ds", ["x"], sel={"t": 0})["x"]
    np.float64(16.0)
    >>> ds.read("base.ds", "x", between={"t": (2, None)})["x"]
    array([18., 21.])
    """
    is_plain = type(filename) is str and "://" not in filename and MEMBER_MARK not in filename
    if not is_plain or storage_options is not None or store is not None:
        filename = drivers.located(filename, storage_options, store)
    known = None if format is None else drivers.of_format(format)
    body = None
    if not (sel or range_ or at or between or mmap or jd or verify or table):
        driver = drivers.of_existing(filename) if known is None else drivers.load(known)
        if driver.read is not None:
            keys = None if variables is None else keys_of(variables)
            numpy = strings != "object" and wants_numpy(strings)
            try:
                found: Dataset | Body | None = driver.read(filename, keys, full, numpy, unpack)
            except FileNotFoundError as error:
                raise explained(error) from None
            except IsADirectoryError:
                if driver.read_folder is None:
                    raise
                found = driver.read_folder(filename, keys, full, numpy, unpack)
            if isinstance(found, dict):
                if keys is not None and len(found) <= len(keys):
                    missing = [key for key in keys if key not in found or key == META]
                    if missing:
                        _say_missing(filename, missing)
                return found
            body = found
    options: dict[str, Any] = {"mmap": mmap, "strings": wants_numpy(strings), "unpack": unpack, "masked": True}
    options["skip_unsupported"], options["structured"] = skip_unsupported, True
    options["verify"] = verify
    _, opened, selection = _views()
    part = selection(variables, sel, range_, at, between, jd)
    with opened(filename, part, format=known, body=body, reading=table, **options) as subset:
        if verify and getattr(subset.source, "sums", ()) is None:
            warnings.warn(on_one_line(f"{subset.path}: no checksum"), stacklevel=2)
        return _whole(subset, full)


@functools.cache
def _views() -> tuple[type[File], Callable[..., Subset], type[Selection]]:
    """Return the names that open a part of a file, imported once: an import statement takes time at each execution."""
    from ..model.selection import Selection
    from ..views.lazy import File
    from ..views.subset import open_subset

    return File, open_subset, Selection


@functools.cache
def _settled() -> Callable[..., dict[str, Any]]:
    """Return `model.marks.settled`, imported once, because reading a small file does not need it."""
    from ..model.marks import settled

    return settled


def _say_missing(filename: Any, keys: Sequence[str]) -> None:
    from ..base import modes

    if modes.effective() != "soft":
        from ..views.subset import say_missing

        say_missing(filename, keys, drivers.meta(filename))


def _whole(subset: Subset, full: bool) -> Dataset:
    keys = [key for key in subset.meta if key != META]
    subset.announce(dict.fromkeys(keys))
    with subset.telling_of_skipping():
        dataset = Dataset((key, subset.read(key)) for key in keys)
    every = {**(subset.source.meta if full else {}), **_settled()(subset.meta, dataset)}
    meta = {key: {name: value for name, value in entry.items() if name != ".missing"} for key, entry in every.items()}
    dataset[META] = meta
    return dataset


def wants_numpy(strings: str) -> bool:
    """Return whether the option `strings` asks for NumPy's StringDType, which it checks."""
    if strings == "object":
        return False
    if strings != "numpy":
        raise ValueError(f'strings: found {strings!r}, expected "object" or "numpy"')
    from ..base.optional import string_dtype

    string_dtype('strings="numpy"')
    return True


def open(
    filename: Input,
    *,
    unpack: bool | None = None,
    mmap: bool = False,
    strings: str = "object",
    skip_unsupported: bool = False,
    format: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **table: Unpack[TableReadOptions],
) -> File:
    """Open a file. Only its header is read; variables are read when you index them.

    Parameters
    ----------
    filename, unpack, mmap, strings, skip_unsupported, format, storage_options, store, **table
        As `ds_format.read`.

    Returns
    -------
    File
        Name → `Variable`, which has shape, dtype, dims and attributes, and reads the bytes that an index selects.

    Raises
    ------
    OSError, DriverError, FormatError
        As `ds_format.read`.

    Examples
    --------
    >>> import numpy as np
    >>> import ds_format as ds
    >>> meta = {"height": {".dims": ["time", "buoy"]}}
    >>> ds.write("waves.ds", {"height": np.arange(12.0).reshape(3, 4), ".": meta})
    >>> with ds.open("waves.ds") as file:
    ...     file["height"].dims, file["height"].shape, file["height"][-1, :2]
    (('time', 'buoy'), (3, 4), array([8., 9.]))
    """
    file, opened, _ = _views()
    source = opened(
        drivers.located(filename, storage_options, store),
        unpack=unpack,
        masked=True,
        mmap=mmap,
        strings=wants_numpy(strings),
        skip_unsupported=skip_unsupported,
        structured=True,
        format=None if format is None else drivers.of_format(format),
        reading=table,
    )
    return file(source)


def write(filename: Path, d: Mapping[str, Any], **options: Unpack[WriteOptions]) -> None:
    """Write a dataset, a dict, to a file of any supported format. `ds_format.write` also writes other objects.

    Parameters
    ----------
    filename : str, bytes or PathLike
    d : dict
    **options
        Options of the format.

    Raises
    ------
    OSError, DriverError, UnsupportedError, ValueError
        As `ds_format.write`.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.write(
    ...     "rain.ds", {"rain": [0.0, None, 2.5], ".": {"rain": {".dims": ["day"], "units": "mm"}}}
    ... )
    >>> ds.read("rain.ds")["rain"].tolist()
    [0.0, None, 2.5]
    """
    given: dict[str, Any] = {**options}
    write_as(drivers.find_output(filename, given), filename, d, given)


def prepared(d: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Mapping[str, Any]]]:
    """Return the data of a dataset as arrays, and its metadata, to be written; errors as `ds_format.validate`."""
    arrays, given = checked(d)
    return arrays, _settled()(given, arrays)


def write_as(format: drivers.Format, filename: Path, d: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Write a dataset to a file of a format; see `write`."""
    write = None if drivers.CODED & options.keys() else drivers.load(format).write
    try:
        arrays, given = prepared(d)
        if write is not None:
            if options:
                options = drivers.creation_options(format, filename, options)
            if write(filename, arrays, given, **options):
                return
        from ..codec.encode import describe

        meta = describe(arrays, given)
    except UnsupportedError as error:
        raise error.at(path=path_text(filename))
    from .creation import created

    with created(filename, meta, format, **options) as sink:
        for key, array in arrays.items():
            sink.write(key, [] if array is None or array.size == 0 else [array])


def from_netcdf(
    filename: Input,
    variables: str | Iterable[str] | None = None,
    sel: Mapping[str, Any] | None = None,
    full: bool = False,
    jd: bool = False,
    *,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
) -> Dataset:
    """Read a NetCDF file, whatever its suffix. Parameters, result and errors are those of `ds_format.read`.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.to_netcdf("data", {"x": [1, 2]})
    >>> ds.from_netcdf("data")["x"].filled(0)
    array([1, 2])
    """
    options: dict[str, Any] = {"unpack": unpack, "masked": True, "skip_unsupported": skip_unsupported}
    options["structured"] = True
    _, opened, selection = _views()
    part = selection(variables, sel, jd=jd)
    with opened(drivers.located(filename), part, format=drivers.FORMATS["netcdf"], **options) as subset:
        return _whole(subset, full)


def to_netcdf(
    filename: Path,
    d: Mapping[str, Any],
    time_units: str | None = None,
    calendar: str | None = None,
    **options: Unpack[NetCDFOptions],
) -> None:
    """Write a NetCDF file, whatever its suffix. See `ds_format.write`.

    Parameters
    ----------
    filename : str, bytes or PathLike
    d : dict
        Dataset.
    time_units, calendar : str, optional
        Units and calendar for Julian dates: variables with `.time: true`. By default they are written as Julian dates
        in the proleptic Gregorian calendar.
    **options
        Options of the format; see `ds_format.write`.

    Examples
    --------
    >>> import ds_format as ds
    >>> dataset = {"time": [2451545.0, 2451546.0], ".": {"time": {".dims": ["time"], ".time": True}}}
    >>> ds.to_netcdf("noon", dataset, "hours since 2000-01-01", "standard")
    >>> ds.from_netcdf("noon")["time"].tolist()
    [12.0, 36.0]
    """
    times = {"time_units": time_units, "calendar": calendar}
    write_as(drivers.FORMATS["netcdf"], drivers.located(filename), d, {**times, **options})
