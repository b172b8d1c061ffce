"""Datasets of xarray, one of each file → one dataset; and which files are read by one task."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray
from numpy.typing import NDArray
from xarray import Dataset, Variable
from xarray.core.utils import equivalent

from ..base.optional import library
from ..base.text import escape, hint, unescape
from ..errors import MissingError, UnsupportedError
from ..many.scanning import NAMING, JoinOptions
from ..model.conventions import named
from ..model.dataset_attributes import AttributeComparison
from .coders import refusal

DASK = ("ds-format-cython[dask]", "arrays of dask")
"""The package to install, and its purpose."""
MOST_FILES = 1000
"""Files that one task reads by default."""
TEXT_SIZE = 64
"""Estimated bytes of a string."""


def lengths_of_chunks(opened: Dataset, dim: str, lengths: NDArray[np.int64], chunks: Any) -> Any:
    """Return chunks as `xarray.Dataset.chunk` takes them, which end where files do.

    Parameters
    ----------
    opened : xarray.Dataset
    dim : str
        Dimension along which files are combined.
    lengths : (n,) ndarray
        How many positions each has.
    chunks : dict, int or "auto"
        See `open_many`.
    """
    others = {name: size for name, size in chunks.items() if name != dim} if isinstance(chunks, Mapping) else {}
    wanted = chunks.get(dim, "auto") if isinstance(chunks, Mapping) else chunks
    if dim not in opened.dims:
        return others
    if isinstance(wanted, (bool, np.bool_)) or not (wanted == "auto" or isinstance(wanted, (int, tuple, np.integer))):
        raise ValueError(f'chunks: found {wanted!r}, expected a number, lengths of chunks, or "auto"')
    if isinstance(wanted, tuple) or wanted == -1:
        return {dim: wanted, **others}
    if wanted == "auto":
        found = _groups(lengths, _positions(opened, dim), MOST_FILES)
    elif wanted < 1:
        raise ValueError(f"chunks: found {wanted}, expected 1 or more, or -1 for all in one")
    elif isinstance(chunks, Mapping):
        found = _groups(lengths, int(wanted), len(lengths))
    else:
        found = _groups(lengths, int(lengths.sum()), int(wanted))
    return {dim: found, **others}


def _positions(opened: Dataset, dim: str) -> int:
    """Return the number of positions of a dimension that fill a chunk of dask's size."""
    config, utils = (library(name, *DASK) for name in ("dask.config", "dask.utils"))
    size = 1
    for variable in opened.variables.values():
        if dim in variable.dims:
            item = TEXT_SIZE if variable.dtype.kind == "O" else variable.dtype.itemsize
            size = max(size, item * variable.size // max(opened.sizes[dim], 1))
    return max(int(utils.parse_bytes(config.get("array.chunk-size"))) // size, 1)


def _groups(lengths: NDArray[np.int64], most: int, most_files: int) -> tuple[int, ...]:
    """Return how many positions groups of files have; a file that has too many is cut into pieces of its own."""
    out = []
    size = files = 0
    for length in lengths.tolist():
        if size and (size + length > most or files == most_files):
            out.append(size)
            size = files = 0
        while length > most:
            out.append(most)
            length -= most
        size += length
        files += 1
    return tuple([*out, size] if size or not out else out)


AS_STORED = ("dtype", "scale_factor", "add_offset", "_FillValue", "missing_value")
"""Keys of an encoding that describe the numbers of a file. They are dropped if files differ in them."""
OF_VALUES = ("units", "calendar", "scale_factor", "add_offset")
"""Attributes without which values say something else."""
OF_ONE_FILE = ("source", "original_shape", "preferred_chunks", "chunksizes")
"""Keys of an encoding that describe one file alone."""


class OpenedFile(NamedTuple):
    """A file among those that are combined."""

    path: str
    dataset: Dataset


def combined(parts: Sequence[OpenedFile], wanted: JoinOptions, join: str, sortby: str | None, chunks: Any) -> Dataset:
    """Put the datasets of files together, as `xarray.open_mfdataset` does with `combine="nested"`.

    Parameters
    ----------
    parts : sequence of Part
        At least one.
    wanted : JoinOptions
        How: `dim`, `stack`, `attributes`, `overrides`, `fills` and `first_units`.
    join : str
        As of `xarray.align`.
    sortby : str, optional
        Name of a variable along the dimension by which the dataset is sorted; files are put in order first.
    chunks : dict, int, "auto" or None
        As of `open_many`; None: those of the parts.

    Raises
    ------
    MissingError
        If a dataset lacks a variable or an attribute that others have, unless it is filled.
    UnsupportedError
        If datasets do not fit together; the message names the first file that does not.
    """
    dim, first = wanted.dim, parts[0].dataset
    comparison = AttributeComparison(dim, wanted.attributes)
    for part in parts:
        comparison.add(part.path, {escape(str(name)): value for name, value in part.dataset.attrs.items()})
    comparison.report("first")
    if sortby is not None:
        parts = sorted(parts, key=lambda part: _least(part, sortby))
    if not wanted.fills:
        _check_variables(parts)
    if not wanted.first_units:
        _check_units(parts)
    parts = _aligned(parts, dim, join)
    names = _names_along(parts, wanted)
    if not wanted.overrides:
        _check_constants(parts, dim, names)
    along = [_with_attributes(part.path, _along(part.dataset, dim, names), wanted) for part in parts]
    try:
        whole: Dataset = xarray.concat(
            along,
            dim,
            data_vars="minimal",
            coords="minimal",
            compat="override",
            join="override",
            combine_attrs="override",
        )
    except (ValueError, TypeError) as error:
        raise UnsupportedError(f"xarray cannot combine the files: {refusal(error)}", path=parts[0].path) from error
    whole.attrs = {name: value for name, value in first.attrs.items() if escape(str(name)) not in wanted.attributes}
    for name in whole.variables.keys() & first.variables.keys():
        whole.variables[name].attrs = first.variables[name].attrs
    _settle_encodings(whole, parts, has_gaps=wanted.fills or join in ("outer", "left", "right"))
    if sortby is not None:
        whole = whole.sortby(sortby)
    if chunks is not None:
        lengths = np.array([dataset.sizes.get(dim, 1) for dataset in along])
        whole = whole.chunk(lengths_of_chunks(whole, dim, lengths, chunks))
    return whole


def _least(part: OpenedFile, name: str) -> tuple[bool, Any]:
    """Return what puts a dataset in order; those without values come last."""
    if name not in part.dataset.variables:
        raise MissingError("variable not found, expected it for sortby", path=part.path, variable=name)
    values = part.dataset.variables[name].values
    return (False, values.min()) if values.size else (True, 0)


def _check_variables(parts: Sequence[OpenedFile]) -> None:
    """Check that all have the same variables."""
    first = parts[0]
    for part in parts[1:]:
        names, expected = part.dataset.variables, first.dataset.variables
        for given, others, other in ((part, expected, first), (first, names, part)):
            absent = next((name for name in others if name not in given.dataset.variables), None)
            if absent is not None:
                message = f'variable not found, expected as in {other.path}; missing="fill" fills it'
                raise MissingError(message, path=given.path, variable=str(absent))


def _check_units(parts: Sequence[OpenedFile]) -> None:
    """Check that values of a variable mean the same. Times and packed numbers that were decoded do."""
    for part, name, variable, first in _pairs(parts):
        for attribute in OF_VALUES:
            found, expected = variable.attrs.get(attribute), first.dataset.variables[name].attrs.get(attribute)
            if not equivalent(found, expected):
                message = f"{attribute}: found {found!r}, expected {expected!r} as in {first.path}"
                if attribute == "units":
                    message += '; units="first" takes those of the first file'
                raise UnsupportedError(message, path=part.path, variable=str(name))


def _pairs(parts: Sequence[OpenedFile]) -> Iterator[tuple[OpenedFile, Hashable, Variable, OpenedFile]]:
    """Yield the variables of each part, with the first part that has one of the same name, unless that is the same."""
    firsts: dict[Hashable, OpenedFile] = {}
    for part in parts:
        for name, variable in part.dataset.variables.items():
            first = firsts.setdefault(name, part)
            if first is not part:
                yield part, name, variable, first


def _with_attributes(path: str, dataset: Dataset, wanted: JoinOptions) -> Dataset:
    """Return a dataset some of whose attributes are variables along the dimension."""
    for name in map(unescape, wanted.attributes):
        if name in dataset.variables:
            message = "both a variable and an attribute of the dataset have this name"
            raise UnsupportedError(message, path=path, variable=name)
        if name in dataset.attrs:
            value = dataset.attrs[name]
            values = np.full(dataset.sizes.get(wanted.dim, 1), value, object if isinstance(value, str) else None)
            dataset = dataset.assign({name: (wanted.dim, values)})
        elif not wanted.fills:
            message = f'attribute "{name}" of the dataset not found{hint(name, [*map(str, dataset.attrs)])}'
            raise MissingError(message, path=path)
    return dataset


def _aligned(parts: Sequence[OpenedFile], dim: str, join: str) -> list[OpenedFile]:
    """Return parts whose index coordinates are the same, but for that of the dimension."""
    datasets = [part.dataset for part in parts]
    try:
        aligned = xarray.align(*datasets, join=join, exclude={dim}, copy=False)  # type: ignore[call-overload]
    except ValueError as error:
        raise UnsupportedError(
            f'index coordinates: {refusal(error)} (join="{join}")', path=_unaligned(parts, dim, join)
        ) from error
    return [OpenedFile(part.path, dataset) for part, dataset in zip(parts, aligned, strict=True)]


def _unaligned(parts: Sequence[OpenedFile], dim: str, join: str) -> str:
    """Return the path of the first file that does not fit to the first one."""
    for part in parts[1:]:
        try:
            xarray.align(parts[0].dataset, part.dataset, join=join, exclude={dim}, copy=False)  # type: ignore[call-overload]
        except ValueError:
            return part.path
    return parts[0].path


def _names_along(parts: Sequence[OpenedFile], wanted: JoinOptions) -> set[Hashable]:
    """Return the names of variables without the dimension that get it."""
    exists = any(wanted.dim in part.dataset.dims for part in parts)
    found: set[Hashable] = set()
    if wanted.stack is not None:
        found = set(map(unescape, wanted.stack))
    elif not exists:
        found = {name for part in parts for name in part.dataset.data_vars} - _of_coordinates(parts)
    if not wanted.overrides:
        for _, name, variable, first in _pairs(parts):
            other = first.dataset.variables[name]
            if name in first.dataset.coords and not variable.dims and not other.dims and not _equal(variable, other):
                found |= {name, *_named(variable, NAMING)}
    return found


def _of_coordinates(parts: Sequence[OpenedFile]) -> set[Hashable]:
    """Return the names of bounds and grid mappings, which do not get a new dimension."""
    found: set[Hashable] = set()
    for part in parts:
        for name, variable in part.dataset.variables.items():
            found |= _named(variable, ("grid_mapping",))
            if name in part.dataset.coords and variable.dims:
                found |= _named(variable, NAMING)
    return found


def _named(variable: Variable, attributes: Sequence[str]) -> set[Hashable]:
    """Return the names that attributes of a variable have, which xarray may have moved to its encoding."""
    return set(map(unescape, named("", {**variable.encoding, **variable.attrs}, attributes)))


def _check_constants(parts: Sequence[OpenedFile], dim: str, along: set[Hashable]) -> None:
    """Check that variables which do not get longer have the same values in each part."""
    for part, name, variable, first in _pairs(parts):
        expected = first.dataset.variables[name]
        is_longer = name in along or dim in variable.dims or dim in expected.dims
        if not is_longer and name not in part.dataset.xindexes and not _equal(variable, expected):
            raise UnsupportedError(
                f'other values than in {first.path}, expected the same, for it has no dimension "{dim}" '
                '(compat="override" takes those of the first file)',
                path=part.path,
                variable=str(name),
            )


def _equal(one: Variable, other: Variable) -> bool:
    return bool(one.equals(other))  # type: ignore[no-untyped-call]


def _along(dataset: Dataset, dim: str, names: set[Hashable]) -> Dataset:
    """Return a dataset some of whose variables have the dimension, along which their values are repeated."""
    length = dataset.sizes.get(dim, 1)
    longer = {}
    for name in names & dataset.variables.keys():
        variable = dataset.variables[name].to_base_variable()
        if dim not in variable.dims:
            longer[name] = variable.set_dims({dim: length, **variable.sizes})  # type: ignore[no-untyped-call]
    return dataset.assign(longer) if longer else dataset


def _settle_encodings(whole: Dataset, parts: Sequence[OpenedFile], has_gaps: bool) -> None:
    """Leave out of encodings what does not hold for all files."""
    different: set[Hashable] = set()
    for _, name, variable, first in _pairs(parts):
        expected = first.dataset.variables[name].encoding
        if not all(equivalent(variable.encoding.get(key), expected.get(key)) for key in AS_STORED):
            different.add(name)
    whole.encoding.pop("source", None)
    for name, variable in whole.variables.items():
        lost: tuple[str, ...] = OF_ONE_FILE
        has_no_fill = variable.encoding.keys().isdisjoint(("_FillValue", "missing_value"))
        if name in different or (has_gaps and has_no_fill):
            lost += AS_STORED
        variable.encoding = {key: value for key, value in variable.encoding.items() if key not in lost}
