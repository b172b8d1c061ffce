"""Whole files: find the driver, call it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from . import drivers, mode
from .codec.encode import type_of
from .dataset import META, Dataset, arrays_of, check_dims, dims, metadata_of
from .drivers.base import Sink, Source
from .errors import UnsupportedError
from .lazy import File
from .names import escape, unescape
from .selection import Index, normalize, shape_of

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def read(
    path: Path,
    variables: str | Iterable[str] | None = None,
    sel: Mapping[str, Any] | None = None,
    full: bool = False,
    *,
    mmap: bool = False,
    strings: str = "object",
) -> Dataset:
    """Read a dataset from a file of any supported format.

    Parameters
    ----------
    path : str, bytes or PathLike
        The suffix tells the format.
    variables : str or iterable of str, optional
        Names of the variables to read; all by default. What happens if one does not exist depends on the mode, see
        `ds_format.mode`.
    sel : dict, optional
        Dimension name → index: an int (which removes the dimension), slice, or list of int or bool. Several select a
        grid. Only the bytes of the part are read.
    full : bool
        Whether to return also the metadata of variables that are not read.
    mmap : bool
        Map a ds file copy-on-write instead of reading it: large arrays without missing values are views of the file,
        which do not change when it is replaced. Changing them does not change the file.
    strings : {"object", "numpy"}
        Text as object arrays of `str`, or as NumPy's StringDType.

    Returns
    -------
    Dataset
        Key → array in native byte order; MaskedArray where a value is missing; NumPy scalar, `str` or `bytes` for no
        dimensions; None without data. `"."` → metadata.

    Raises
    ------
    OSError
        If the file cannot be read.
    DriverError
        If no driver has the suffix.
    FormatError
        If the file is damaged; the message names file, variable and field.
    IndexError
        If `sel` is out of bounds.
    """
    keys = None if variables is None else _keys(variables)
    if not sel and not mmap:
        module = drivers.of_existing(path)
        if hasattr(module, "read"):
            dataset: Dataset = module.read(path, keys, full, _as_numpy(strings))
            if keys is not None and len(dataset) <= len(keys):
                _say_missing(path, keys, dataset)
            return dataset
    source = drivers.open_source(path, mmap=mmap, strings=_as_numpy(strings))
    try:
        return _read(source, path, keys, sel or {}, full)
    finally:
        source.close()


def _keys(variables: str | Iterable[str]) -> dict[str, None]:
    """Return the keys of variables, each once, in their order."""
    names = [variables] if isinstance(variables, str) else variables
    return dict.fromkeys(escape(name) for name in names)


def _say_missing(path: Path, keys: Iterable[str], found: Mapping[str, Any]) -> None:
    for key in keys:
        if key not in found or key == META:
            mode.missing(f'{os.fsdecode(path)}: variable "{unescape(key)}" not found')


def _read(source: Source, path: Path, keys: Collection[str] | None, sel: Mapping[str, Any], full: bool) -> Dataset:
    dataset = Dataset()
    meta: dict[str, dict[str, Any]] = {}
    every = [key for key in source.meta if key != META]
    if keys is not None:
        _say_missing(path, keys, source.meta)
    for key in every:
        if keys is None or key in keys:
            index, meta[key] = select(path, key, source.meta[key], sel)
            meta[key].pop(".missing", None)
            dataset[key] = source.read(key, index)
        elif full:
            meta[key] = {name: value for name, value in source.meta[key].items() if name != ".missing"}
    say_unknown(path, source.meta, sel)
    meta[META] = source.meta.get(META, {})
    dataset[META] = meta
    return dataset


def select(
    path: Path, key: str, entry: Mapping[str, Any], sel: Mapping[str, Any]
) -> tuple[tuple[Index, ...] | None, dict[str, Any]]:
    """Return the index of a variable that `sel` asks for, and the metadata of what it selects.

    Parameters
    ----------
    path : str, bytes or PathLike
        For messages.
    key : str
        Of the variable.
    entry : dict
        Its metadata.
    sel : dict
        Dimension name → index.

    Returns
    -------
    (tuple or None, dict)
        The index is normalized; None for the whole variable.

    Raises
    ------
    IndexError
        If `sel` is out of bounds; the message names file, variable and dimension.
    """
    size = entry.get(".size")
    names = dims(key, entry, len(size or ()))
    if size is None or sel.keys().isdisjoint(names):
        return None, dict(entry)
    try:
        index = normalize(tuple(sel.get(name, slice(None)) for name in names), size, names)
    except IndexError as error:
        raise IndexError(f'{os.fsdecode(path)}: variable "{unescape(key)}": {error}') from None
    kept = [name for name, item in zip(names, index, strict=True) if not isinstance(item, int)]
    return index, {**entry, ".dims": kept, ".size": list(shape_of(index))}


def say_unknown(path: Path, meta: Mapping[str, Mapping[str, Any]], sel: Mapping[str, Any]) -> None:
    """Say by the mode which dimensions of `sel` no variable has."""
    known = {name for key, entry in meta.items() for name in dims(key, entry, len(entry.get(".size") or ()))}
    for name in sel:
        if name not in known:
            mode.missing(f'{os.fsdecode(path)}: dimension "{name}" not found')


def _as_numpy(strings: str) -> bool:
    if strings not in ("object", "numpy"):
        raise ValueError(f'strings: found {strings!r}, expected "object" or "numpy"')
    return strings == "numpy"


def open(path: Path, *, mmap: bool = False, strings: str = "object") -> File:
    """Open a file whose variables are read when they are indexed.

    Parameters
    ----------
    path, mmap, strings
        As `read`.

    Returns
    -------
    File
        Name → variable, which knows shape, dtype, dims and attributes, and reads the bytes that an index asks for.

    Raises
    ------
    OSError, DriverError, FormatError
        As `read`.
    """
    return File(drivers.open_source(path, mmap=mmap, strings=_as_numpy(strings)), os.fsdecode(path))


def write(path: Path, dataset: Mapping[str, Any], **options: Any) -> None:
    """Write a dataset to a file of any supported format.

    The file appears whole under its name or not at all; a file that stood there stays as it was until then.

    Parameters
    ----------
    path : str, bytes or PathLike
        The suffix tells the format.
    dataset : dict
        Key → data, `"."` → metadata; see `ds_format.dataset`.
    atomic : bool, optional
        For ds files. False: create the file, which must not exist yet, and write straight into it.
    durable : bool, optional
        For ds files. Flush file and folder to the disk.
    version : {"1.0", "2.0.1"}, optional
        Of the ds format.
    **options
        Of the driver.

    Raises
    ------
    OSError
        If the file cannot be written.
    DriverError
        If no driver has the suffix.
    UnsupportedError, ValueError
        If the format cannot hold the dataset, or its metadata do not fit its data.
    """
    driver = drivers.find(path)
    module = drivers.load(driver)
    try:
        given = metadata_of(dataset)
        arrays = arrays_of(dataset, given)
        check_dims(arrays, given)
    except UnsupportedError as error:
        raise error.at(path=os.fsdecode(path))
    if hasattr(module, "write"):
        module.write(path, arrays, given, **options)
        return
    meta = {}
    for key, array in arrays.items():
        entry = given.get(key, {})
        meta[key] = {**entry, **properties_of(array, entry.get(".type"))}
    meta[META] = dict(given.get(META, {}))
    sink: Sink = module.create(path, meta, **options)
    try:
        for key, array in arrays.items():
            sink.write(key, [] if array is None or array.size == 0 else [array])
        sink.commit()
    except BaseException:
        sink.abort()
        raise


def properties_of(array: Any, hint: str | None) -> dict[str, Any]:
    """Return the properties that a Sink wants to know of an array beforehand.

    Raises
    ------
    UnsupportedError
        If no ds type can hold it.
    """
    if array is None:
        return {".size": None}
    missing = bool(np.ma.getmaskarray(array).any()) if isinstance(array, np.ma.MaskedArray) else False
    return {".size": list(array.shape), ".type": type_of(array, hint).name, ".missing": missing}
