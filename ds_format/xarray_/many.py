"""Many files as one dataset of xarray."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xarray import Dataset
from xarray.core import indexing

from ..base.optional import library
from ..base.text import escape, hint, keys_of, unescape
from ..body import Location, path_text
from ..body.locating import arriving
from ..datasets import META
from ..drivers.base import Readable
from ..errors import DsError, MissingError
from ..many.opening import ManyFiles, open_files
from ..many.patterns import found_files
from ..many.scanning import JoinOptions
from ..views import groups
from ..views.subset import Input
from . import combining
from .combining import DASK, lengths_of_chunks
from .engine import preferred_chunks
from .lazy_variables import DecodingOptions, HeldArray, opened_dataset, with_indexes

JOINS = ("exact", "override", "outer", "inner", "left", "right")
ALIGNING = JOINS[2:]
"""Values of `join` by which index coordinates that differ are aligned."""
PREFIX = "open_many-"
"""Prefix of the names of tasks."""


def open_many(
    paths: Input | Iterable[Input],
    dim: str,
    *,
    chunks: Any = None,
    threads: int | None = None,
    load: bool = False,
    join: str = "exact",
    compat: str = "equals",
    missing: str = "error",
    units: str = "error",
    sortby: str | None = None,
    decode_times: Any = True,
    mask_and_scale: Any = True,
    variables: str | Iterable[str] | None = None,
    drop_variables: str | Iterable[str] | None = None,
    stack: Iterable[str] | None = None,
    attributes: str | Iterable[str] = (),
    group: str | None = None,
    preprocess: Callable[[Dataset], Dataset] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **decoding: Any,
) -> Dataset:
    """Open many files as one dataset of xarray.

    Files are opened one after another, each once, without making an xarray object of each. Files that are elsewhere are
    requested side by side. Metadata must match: names, dimensions, types, sizes of other dimensions, units, calendars,
    packing. If units of times or packing differ, values are decoded file by file: times are converted to the units of
    the first file, and packed numbers are unpacked. Order and duplicates are kept.

    With `preprocess`, and with a `join` that aligns, each file becomes a dataset of xarray first, and xarray
    concatenates these. This is slower, and needs dask unless `load` is true.

    Parameters
    ----------
    paths : str, PathLike, file object, or iterable of these
        Files of any supported formats by paths or addresses, or a pattern as for `glob.glob`, where `**` is any number
        of folders. Matches of a pattern are sorted. A pattern can be an address, as `s3://bucket/2026/*.nc`, except on
        web servers, which do not list files.
    dim : str
        Dimension along which files are combined: an existing one, or a new one. Along a new one all variables are
        stacked, except grid mappings, coordinates with dimensions, and their bounds. Variables that are not combined
        along `dim` must have the same values in each file.
    chunks : dict, int or "auto", optional
        None: variables are read on indexing. Otherwise they are arrays of dask, with one task for each group of files.
        An integer is the number of files in a group. A dict has the number of positions along `dim`, and may have other
        dimensions, too. "auto" or `{}`: as many files as fit into dask's chunk size, at most 1000. With `preprocess`,
        and with a `join` that aligns, None is one task for each variable of each file.
    threads : int, optional
        Number of threads that read; by default the number of processors, at most four. A task reads in one thread.
    load : bool
        Whether to read everything now, in the same pass.
    join : {"exact", "override", "outer", "inner", "left", "right"}
        "exact": index coordinates must be the same in each file. "override": those of the first file are used. The
        others align the files as `xarray.align` does: to the union or the intersection of their positions, or to the
        positions of the first or the last file. Values at positions that a file lacks are missing.
    compat : {"equals", "override"}
        Whether other variables that are not combined along `dim` must be the same in each file, or are taken from the
        first one. With "equals", scalar coordinates that differ, and their bounds, become variables along `dim`. Index
        coordinates depend on `join` alone.
    missing : {"error", "fill"}
        Whether a variable or an attribute that a file lacks is an error, or missing.
    units : {"error", "first"}
        Whether units that cannot be converted to each other, as those of other variables than times, are an error, or
        are taken from the first file. Values are not changed.
    sortby : str, optional
        Name of a variable along `dim` by which the dataset is sorted. Files are sorted first, so that chunks remain
        groups of files.
    decode_times, mask_and_scale : bool or dict
        As for the engine "ds", like all of `**decoding`.
    variables, drop_variables : str or iterable of str, optional
        Names of the only variables to open, and of variables to leave out.
    stack : iterable of str, optional
        Names of the only variables that get a new dimension. If files have `dim`, these variables get it, too: values
        of each file are repeated along it, and are held in memory.
    attributes : str or iterable of str, optional
        Names of attributes of the dataset that become variables along `dim`. Other attributes are taken from the first
        file, with a `DsWarning` if they differ.
    group : str, optional
        Path of the group to open in each file, such as "a/b"; by default the root.
    preprocess : callable, optional
        Called with the dataset of each file, whose path is `encoding["source"]`. It returns the dataset to combine.
        Variables are arrays of dask or, with `load`, read on indexing.
    storage_options, store
        As for `ds_format.read`.
    **decoding
        `decode_timedelta`, `use_cftime`, `concat_characters`, `decode_coords` and `default_fill`.

    Returns
    -------
    xarray.Dataset
        The variables of one group, by default the root. It holds no file open, and is picklable.

    Raises
    ------
    OSError, DriverError, FormatError
        If a file cannot be read; FileNotFoundError, too, if there is no file.
    MissingError
        If a file lacks a variable or a requested attribute; the message names both. If a requested variable is in no
        file.
    MissingGroupError
        If a file lacks the group.
    UnsupportedError
        If files do not match; the message names the first file that does not, and the variable. In strict mode also if
        attributes of the dataset differ.
    ReplacedError
        When a variable is read, if a file was replaced or modified after it was opened.

    Examples
    --------
    >>> import ds_format as ds
    >>> for day in range(3):
    ...     meta = {
    ...         "time": {".dims": ["time"], "units": f"hours since 2000-01-0{day + 1}"},
    ...         "rain": {".dims": ["time"]},
    ...     }
    ...     ds.write(f"rain{day}.ds", {"time": [0, 12], "rain": [day, day + 0.5], ".": meta})
    >>> rain = open_many("rain*.ds", "time")["rain"]
    >>> rain.sel(time="2000-01-02").values
    array([1. , 1.5])
    >>> str(rain.time.values[-1])
    '2000-01-03T12:00:00.000000000'
    """
    _check("join", join, JOINS)
    _check("compat", compat, ("equals", "override"))
    _check("missing", missing, ("error", "fill"))
    _check("units", units, ("error", "first"))
    _check_types(dim, sortby, threads)
    if load and chunks is not None:
        raise ValueError("load and chunks: found both, expected at most one of them")
    if not (preprocess is None or callable(preprocess)):
        raise TypeError(f"preprocess: found {preprocess!r}, expected a function")
    options = _options({"decode_times": decode_times, "mask_and_scale": mask_and_scale, **decoding})
    found = found_files(paths, storage_options, store)
    wanted = JoinOptions(
        dim,
        None if variables is None else frozenset(keys_of(variables)),
        frozenset(keys_of(drop_variables or ())),
        None if stack is None else frozenset(keys_of(stack)),
        tuple(keys_of(attributes)),
        compat == "override",
        join == "override",
        missing == "fill",
        units == "first",
        None if load else frozenset(),
        _path_of(group),
    )
    if preprocess is not None or join in ALIGNING:
        parts = _parts(found, wanted, options, preprocess, load)
        return combining.combined(parts, wanted, join, sortby, chunks)
    key = None if sortby is None else escape(sortby)
    many = open_files(found, wanted, threads, key, later=threads if chunks is None else 1)
    _check_names(wanted, many.meta)
    opened = _dataset(many, options, found[0], wanted.group)
    if sortby is not None and not _is_sorted(opened, sortby):
        opened = opened.sortby(sortby)
    if load:
        return opened.load()
    if chunks is None:
        return _cached(opened)
    chunked: Dataset = opened.chunk(
        lengths_of_chunks(opened, dim, many.lengths, chunks),
        name_prefix=PREFIX,
        token=_token(many, wanted, options, sortby),
    )
    return chunked


def _check(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        expected = " or ".join(f'"{one}"' for one in known)
        raise ValueError(f"{name}: found {value!r}, expected {expected}{hint(str(value), known)}")


def _check_types(dim: Any, sortby: Any, threads: Any) -> None:
    if not isinstance(dim, str) or not dim:
        raise TypeError(f"dim: found {dim!r}, expected the name of a dimension")
    if not (sortby is None or isinstance(sortby, str)):
        raise TypeError(f"sortby: found {sortby!r}, expected the name of a variable")
    if not (threads is None or (isinstance(threads, (int, np.integer)) and threads >= 1)):
        raise ValueError(f"threads: found {threads!r}, expected 1 or more, or None")


def _path_of(group: Any) -> str | None:
    """Return the path of a group without slashes around it; None: the root."""
    if not (group is None or isinstance(group, str)):
        raise TypeError(f"group: found {group!r}, expected the path of a group")
    return (group or "").strip(groups.SEPARATOR) or None


def _check_names(wanted: JoinOptions, keys: Collection[str]) -> None:
    """Refuse names of variables that are in no file; those to be left out may be in none."""
    for name, asked in (("variables", wanted.only), ("stack", wanted.stack)):
        unknown = sorted((asked or frozenset()).difference(keys))
        if unknown:
            known = [unescape(key) for key in keys if key != META]
            variable = unescape(unknown[0])
            raise MissingError(f"in none of the files, but in `{name}`{hint(variable, known)}", variable=variable)


def _options(decoding: Mapping[str, Any]) -> DecodingOptions:
    known = [name for name in DecodingOptions.__dataclass_fields__ if name != "drop_variables"]
    for name in decoding:
        if name not in known:
            raise TypeError(f"open_many() has no parameter {name!r}{hint(name, known)}")
    return DecodingOptions(**decoding)


def _parts(
    paths: Sequence[Location],
    wanted: JoinOptions,
    options: DecodingOptions,
    preprocess: Callable[[Dataset], Dataset] | None,
    load: bool,
) -> list[combining.OpenedFile]:
    """Return a dataset for each file, with its values, or as arrays of dask."""
    alone = replace(
        wanted,
        dim="",
        stack=frozenset(),
        attributes=(),
        overrides=True,
        overrides_indexes=True,
        fills=True,
        at_once=None if load and preprocess is None else frozenset(),
    )
    parts = []
    names: dict[str, None] = {}
    for path in arriving(paths):
        many = open_files([path], alone, 1)
        names.update(dict.fromkeys(many.meta))
        absent = sorted((wanted.only or frozenset()).difference(many.meta)) if not wanted.fills else []
        if absent:
            raise MissingError("variable not found", path=path, variable=unescape(absent[0]))
        opened = _dataset(many, options, path, wanted.group)
        opened.encoding["source"] = path_text(path)
        if not load:
            opened = _chunked(opened, _token(many, alone, options, None))
        if preprocess is not None:
            opened = preprocess(opened)
            if not isinstance(opened, Dataset):
                raise TypeError(f"preprocess: it returned {type(opened).__name__}, expected an xarray.Dataset: {path}")
        parts.append(combining.OpenedFile(path_text(path), opened.load() if load else opened))
    _check_names(wanted, names)
    return parts


def _chunked(opened: Dataset, token: str) -> Dataset:
    """Return a dataset of arrays of dask: small variables are one chunk each, large ones have those of the engine."""
    for name, variable in opened.variables.items():
        lengths = None if name in opened.xindexes else preferred_chunks(variable.shape, variable.dtype)
        if lengths is not None:
            chunks, key = dict(zip(variable.dims, lengths, strict=True)), f"{PREFIX}{name}-{token}"
            variable.data = variable.chunk(chunks, from_array_kwargs={"name": key}).data
    chunked: Dataset = opened.chunk({}, name_prefix=PREFIX, token=token)
    return chunked


def _dataset(many: ManyFiles, options: DecodingOptions, path: Location, group: str | None) -> Dataset:
    root = groups.group_of(many.meta, None, path_text(path))
    if group is not None:
        root = root._replace(prefix=group + groups.SEPARATOR)

    def readable(name: str) -> Readable | None:
        if name in many.arrays:
            return HeldArray(many.arrays[name], many.meta[name].get(".type"), bool(many.meta[name].get(".missing")))
        return many.lazy.get(name)

    try:
        return with_indexes(opened_dataset(root, readable, options))
    except DsError as error:
        raise error.at(path=path)  # whose attributes they are


def _is_sorted(opened: Dataset, name: str) -> bool:
    values = opened[name].values
    try:
        return bool((values[:-1] <= values[1:]).all())
    except TypeError as error:
        raise DsError(f"cannot sort by it: {error}", variable=unescape(name)) from None


def _cached(opened: Dataset) -> Dataset:
    """Make variables keep their values once all of them were read, as those of `xarray.open_dataset` do."""
    for name, variable in opened.variables.items():
        if name not in opened.xindexes:
            lazy = indexing.CopyOnWriteArray(variable._data)  # noqa: SLF001 - `data` would read it
            variable.data = indexing.MemoryCachedArray(lazy)  # type: ignore[no-untyped-call]
    return opened


def _token(many: ManyFiles, wanted: JoinOptions, options: DecodingOptions, sortby: str | None) -> str:
    """Return what makes the names of tasks: the same if the same files are opened in the same way."""
    tokenize = library("dask.base", *DASK).tokenize
    asked = [sorted(value) if isinstance(value, frozenset) else value for value in vars(wanted).values()]
    decoding = [getattr(options, field) for field in DecodingOptions.__dataclass_fields__]
    token: str = tokenize(many.files.token(), asked, decoding, sortby, np.__version__)
    return token
