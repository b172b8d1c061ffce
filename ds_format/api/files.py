"""Whole files: find the driver, call it.

What small files do not need is imported in functions: to load it takes longer than to read such a file.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import drivers
from ..base import modes
from ..base.text import keys_of, on_one_line
from ..body import path_text
from ..dataset import META, Dataset, checked
from ..errors import UnsupportedError, explained
from ..model.missing import settled

if TYPE_CHECKING:
    from ..body.body import Body
    from ..model.selection import Selection
    from ..views.lazy import File
    from ..views.subset import Path, Subset


def read(
    filename: Path,
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
) -> Dataset:
    """Read a dataset from a file of any supported format.

    Only the bytes of what is wanted are read. Where several selectors speak of one dimension, the positions that all of
    them want are taken.

    Parameters
    ----------
    filename : str, bytes or PathLike
        The suffix tells the format. If it is unknown, the content does.
    variables : str or iterable of str, optional
        Names of the variables to read; all by default. What happens if one does not exist depends on the mode, see
        `ds_format.mode`.
    sel : dict, optional
        Dimension name → index: an int (which removes the dimension), slice, or list of int or bool. Several select a
        grid.
    range_ : dict, optional
        Dimension name → (first, end): positions from `first` up to but without `end`; None is open.
    at : dict, optional
        Name of a 1-d variable → value: the position along its dimension where it is nearest. A list of values keeps the
        dimension. A time may be given as text in ISO 8601, whatever its units.
    between : dict, optional
        Name of a 1-d variable → (low, high): the positions where low ≤ value < high; None is open.
    full : bool
        Whether to return also the metadata of variables that are not read.
    jd : bool
        Whether variables with units of time become Julian dates: days since -4713-11-24 12:00 UTC of the proleptic
        Gregorian calendar, float64. One that cannot be converted stays as it is, with a warning.
    unpack : bool, optional
        Whether packed integers become what they stand for: multiplied by their attribute `scale_factor`, plus
        `add_offset`, in the type that NumPy promotes to. These attributes leave, and those which tell of packed values:
        `_FillValue`, `missing_value`, `valid_min`, `valid_max`, `valid_range`. By default those of NetCDF and HDF5
        files do, also where they were converted to another format since, and integers that other files were
        written with do not.
    mmap : bool
        Map a ds file copy-on-write instead of reading it: large arrays without missing values are views of the file,
        which do not change when it is replaced. Changing them does not change the file. Only for files that nobody
        shortens in place meanwhile: that takes their memory away, and the system ends this process. No file is mapped
        without this.
    strings : {"object", "numpy"}
        Text as object arrays of `str`, or as NumPy's StringDType.
    skip_unsupported : bool
        Leave out variables that the ds model cannot hold, with a warning, instead of raising.
    verify : bool
        Compare the checksums of the header and of each variable that is read, of a ds file written with
        `checksum=True`. With a selection the whole variable is read for this. A file without checksums gives a warning.
    format : str, optional
        The format of the file, whatever its suffix and content: its name, as "netcdf", or a suffix, as "tsv".

    Returns
    -------
    Dataset
        Key → array in native byte order; MaskedArray where a value is missing, and for all numbers of NetCDF files but
        Julian dates; NumPy scalar, `str` or `bytes` for no dimensions; None without data. `"."` → metadata.

    Raises
    ------
    OSError
        If the file cannot be read.
    DriverError
        If no driver has the suffix, and the content is not recognised; if there is no such `format`.
    FormatError
        If the file is damaged; the message names file, variable and field.
    IntegrityError
        With `verify`, if a checksum differs; the message names file, variable, and both sums.
    IndexError
        If a position is out of bounds.
    UnsupportedError
        If a selector is none, or cannot select from the variable that it names; if a variable is of a type that ds
        does not have.

    Examples
    --------
    >>> write("base.ds", {"t": [1, 2, 3], "x": [16.0, 18.0, 21.0], ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}}})
    >>> read("base.ds", "x")["x"]
    array([16., 18., 21.])
    >>> read("base.ds", ["x"], sel={"t": 0})["x"]
    np.float64(16.0)
    >>> read("base.ds", "x", between={"t": (2, None)})["x"]
    array([18., 21.])
    """
    known = None if format is None else drivers.of_format(format)
    body = None
    if not (sel or range_ or at or between or mmap or jd or verify):
        driver = drivers.of_existing(filename) if known is None else drivers.load(known)
        if driver.read is not None:
            keys = None if variables is None else keys_of(variables)
            numpy = strings != "object" and _as_numpy(strings)
            try:
                found: Dataset | Body | None = driver.read(filename, keys, full, numpy, unpack)
            except FileNotFoundError as error:
                raise explained(error) from None
            if isinstance(found, dict):
                if keys is not None and len(found) <= len(keys):
                    missing = [key for key in keys if key not in found or key == META]
                    if missing and modes.effective() != "soft":
                        from ..views.subset import say_missing

                        say_missing(filename, missing, drivers.meta(filename))
                return found
            body = found
    options: dict[str, Any] = {"mmap": mmap, "strings": _as_numpy(strings), "unpack": unpack, "masked": True}
    options["skip_unsupported"] = skip_unsupported
    options["verify"] = verify
    _, opened, selection = _views()
    part = selection(variables, sel, range_, at, between, jd)
    with opened(filename, part, format=known, body=body, **options) as subset:
        if verify and getattr(subset.source, "sums", ()) is None:
            warnings.warn(on_one_line(f"{subset.path}: no checksum"), stacklevel=2)
        return _whole(subset, full)


@functools.cache
def _views() -> tuple[type[File], Callable[..., Subset], type[Selection]]:
    """Return what opens files in parts, imported once: an import statement takes a while each time."""
    from ..model.selection import Selection
    from ..views.lazy import File
    from ..views.subset import open_subset

    return File, open_subset, Selection


def _whole(subset: Subset, full: bool) -> Dataset:
    with subset.telling_of_skipping():
        dataset = Dataset((key, subset.read(key)) for key in subset.meta if key != META)
    every = {**(subset.source.meta if full else {}), **settled(subset.meta, dataset)}
    meta = {key: {name: value for name, value in entry.items() if name != ".missing"} for key, entry in every.items()}
    dataset[META] = meta
    return dataset


def _as_numpy(strings: str) -> bool:
    if strings == "object":
        return False
    if strings != "numpy":
        raise ValueError(f'strings: found {strings!r}, expected "object" or "numpy"')
    return True


def open(
    filename: Path,
    *,
    unpack: bool | None = None,
    mmap: bool = False,
    strings: str = "object",
    skip_unsupported: bool = False,
    format: str | None = None,
) -> File:
    """Open a file whose variables are read when they are indexed.

    Parameters
    ----------
    filename, unpack, mmap, strings, skip_unsupported, format
        As `read`.

    Returns
    -------
    File
        Name → variable, which knows shape, dtype, dims and attributes, and reads the bytes that an index asks for.

    Raises
    ------
    OSError, DriverError, FormatError
        As `read`.

    Examples
    --------
    >>> import numpy as np
    >>> write("waves.ds", {"height": np.arange(12.0).reshape(3, 4), ".": {"height": {".dims": ["time", "buoy"]}}})
    >>> with open("waves.ds") as file:
    ...     file["height"].dims, file["height"].shape, file["height"][-1, :2]
    (('time', 'buoy'), (3, 4), array([8., 9.]))
    """
    file, opened, _ = _views()
    source = opened(
        filename,
        unpack=unpack,
        masked=True,
        mmap=mmap,
        strings=_as_numpy(strings),
        skip_unsupported=skip_unsupported,
        format=None if format is None else drivers.of_format(format),
    )
    return file(source)


def write(filename: Path, d: Mapping[str, Any], **options: Any) -> None:
    """Write a dataset, a dict, to a file of any supported format; see `ds_format.write`, which knows other things too.

    Parameters
    ----------
    filename : str, bytes or PathLike
    d : dict
    **options
        Of the format.

    Raises
    ------
    OSError, DriverError, UnsupportedError, ValueError
        As `ds_format.write`.

    Examples
    --------
    >>> write("rain.ds", {"rain": [0.0, None, 2.5], ".": {"rain": {".dims": ["day"], "units": "mm"}}})
    >>> read("rain.ds")["rain"].tolist()
    [0.0, None, 2.5]
    """
    _write(drivers.find(filename), filename, d, options)


def _write(format: drivers.Format, filename: Path, d: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    write = drivers.load(format).write
    try:
        arrays, given = checked(d)
        given = settled(given, arrays)
        if write is not None:
            if options:
                options = drivers.creation_options(format, filename, options)
            write(filename, arrays, given, **options)
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
    filename: Path,
    variables: str | Iterable[str] | None = None,
    sel: Mapping[str, Any] | None = None,
    full: bool = False,
    jd: bool = False,
    *,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
) -> Dataset:
    """Read a NetCDF file, whatever its suffix; see `read`.

    Examples
    --------
    >>> to_netcdf("data", {"x": [1, 2]})
    >>> from_netcdf("data")["x"].filled(0)
    array([1, 2])
    """
    options: dict[str, Any] = {"unpack": unpack, "masked": True, "skip_unsupported": skip_unsupported}
    _, opened, selection = _views()
    part = selection(variables, sel, jd=jd)
    with opened(filename, part, format=drivers.FORMATS["netcdf"], **options) as subset:
        return _whole(subset, full)


def to_netcdf(
    filename: Path, d: Mapping[str, Any], time_units: str | None = None, calendar: str | None = None, **options: Any
) -> None:
    """Write a NetCDF file, whatever its suffix; see `write`.

    Parameters
    ----------
    filename : str, bytes or PathLike
    d : dict
        Dataset.
    time_units, calendar : str, optional
        Units and calendar in which Julian dates are written: variables with a true `.time`. By default Julian dates,
        in the proleptic Gregorian calendar.
    **options
        Of the driver.

    Examples
    --------
    >>> meta = {"time": {".dims": ["time"], ".time": True}}
    >>> to_netcdf("noon", {"time": [2451545.0, 2451546.0], ".": meta}, "hours since 2000-01-01", "standard")
    >>> from_netcdf("noon")["time"].tolist()
    [12.0, 36.0]
    """
    times = {"time_units": time_units, "calendar": calendar}
    _write(drivers.FORMATS["netcdf"], filename, d, {**times, **options})
