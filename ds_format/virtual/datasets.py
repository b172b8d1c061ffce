"""Files → one virtual dataset: groups of arrays, whose chunks are ranges of the files."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import drivers
from ..base.dtypes import TYPES
from ..base.text import hint, unescape
from ..body import Location, path_text
from ..datasets import META, as_array, attrs, dims
from ..drivers.base import Metadata, check_faults, warn
from ..drivers.native import NativeSource
from ..errors import DsError, MissingError, ReplacedError, UnsupportedError
from ..many.scanning import Advice, JoinOptions, scan
from ..model.merge_plan import DECIDING, MergePlan, Way, plan_merge
from ..model.missing import FILL_ATTRIBUTE, SENTINEL_ATTRIBUTES
from ..model.settings import NETCDF, setting
from ..views.groups import group_of, group_paths
from .arrays import FileChunks, VirtualArray, inlined, joined
from .chunks import Chunks, check_source, find_chunks

INLINE_SIZE = 2048
"""Bytes of values of one file that become part of references, at most."""
COORDINATE_SIZE = 64 * 1024
"""The same of the coordinate of a dimension, which xarray reads when it opens a dataset."""
INLINE_TOTAL = 16 << 20
"""The same of a variable of all files."""
TEXT_SIZE = 16
"""Estimated bytes of a text."""
MAX_TEXTS = 1 << 16
"""Number of texts of a netCDF-4 file, which has no chunks of them, that become part of references."""
LEFT_OUT = "it can be left out: name the others in `variables`"
COMPARED = (*SENTINEL_ATTRIBUTES, "_Unsigned")
"""Attributes that decide what values mean, so that they must be equal in all files."""


class VirtualGroup(NamedTuple):
    """A group of arrays."""

    path: str
    """Empty for the root, otherwise as `a/b`."""
    attributes: Mapping[str, Any]
    arrays: dict[str, VirtualArray]
    """By name."""


class VirtualDataset(NamedTuple):
    """Groups, parents first, and the files that have their chunks."""

    groups: list[VirtualGroup]
    paths: Sequence[Location]

    def arrays(self) -> Iterator[tuple[str, VirtualArray]]:
        """Iterate over the paths of arrays, such as `group/x`, and the arrays."""
        for group in self.groups:
            for name, array in group.arrays.items():
                yield f"{group.path}/{name}" if group.path else name, array


def virtual_dataset(
    paths: Sequence[Location],
    dim: str | None = None,
    variables: frozenset[str] | None = None,
    *,
    without: frozenset[str] = frozenset(),
    inline: bool = True,
) -> VirtualDataset:
    """Return the virtual dataset of one file, or of many that are joined along a dimension.

    Parameters
    ----------
    paths : sequence of str or Address
        Absolute paths; at least one.
    dim : str, optional
        An existing or a new dimension; None: there is one file.
    variables : frozenset of str, optional
        Keys of the variables; None: all.
    without : frozenset of str
        Keys of variables that are left out.
    inline : bool
        Whether small variables become part of references.

    Raises
    ------
    OSError, DriverError, FormatError
        If a file cannot be read.
    MissingError
        If a file lacks a variable.
    UnsupportedError
        If Zarr cannot read a variable from the files, or they cannot be joined; the message names the reason.
    """
    if dim is not None:
        options = JoinOptions(dim, variables, without, advice=Advice(LEFT_OUT, LEFT_OUT, LEFT_OUT))
        return _in_packs(_Joined(paths, options, inline).dataset())
    with _opened(paths[0]) as source:
        _check_names(variables, source.meta, paths[0])
        wanted = (source.meta.keys() if variables is None else variables | {META}) - without
        meta = {key: entry for key, entry in source.meta.items() if key in wanted}
        check_faults(source.faults, meta)
        find = lambda key, entry: _array(source, key, entry, inline)  # noqa: E731 - a short function of this file
        return _in_packs(VirtualDataset(_groups(meta, find, source.path), paths))


def _in_packs(dataset: VirtualDataset) -> VirtualDataset:
    """Replace members of packs by their packs, in which other programs find the chunks, too."""
    packs = [getattr(path, "pack", path) for path in dataset.paths]
    each: Any = zip(packs, dataset.paths, strict=True)
    starts = [0 if pack is path else path.start() for pack, path in each]
    if not any(starts):
        return dataset
    shifts = np.array(starts, np.uint64)
    for group in dataset.groups:
        for name, array in group.arrays.items():
            if array.files is not None and array.offsets is not None:
                group.arrays[name] = array._replace(offsets=array.offsets + shifts[array.files])
    return VirtualDataset(dataset.groups, packs)


def _check_names(variables: frozenset[str] | None, meta: Mapping[str, Any], path: Location) -> None:
    """Refuse names of variables that do not exist."""
    for key in sorted((variables or frozenset()).difference(meta)):
        name, known = unescape(key), [unescape(other) for other in meta if other != META]
        raise MissingError(f"variable not found{hint(name, known)}", path=path_text(path), variable=name)


@contextlib.contextmanager
def _opened(path: Location) -> Iterator[Any]:
    source = drivers.open_source(path)
    try:
        check_source(source)
        yield source
    finally:
        source.close()


def _groups(meta: Metadata, find: Any, path: str) -> list[VirtualGroup]:
    """Return all groups, with the array that `find` returns for the key and the metadata of each variable."""
    groups = []
    names = {unescape(key) for key in meta if key != META}
    for name in group_paths(meta):
        found = group_of(meta, name, path)
        if name[1:] in names:
            raise UnsupportedError("is the name of a group, too", path=path, variable=name[1:])
        arrays = {}
        for short, key in found.keys.items():
            entry = found.meta[short]
            own = unescape(short)
            if own.startswith(".") or own in ("", "__"):
                raise UnsupportedError("an array of Zarr cannot have this name", path=path, variable=unescape(key))
            if entry.get(".size") is None:
                warn("left out: it has no data", path, unescape(key))
            else:
                arrays[own] = find(key, entry)
        groups.append(VirtualGroup(name[1:], attrs(found.meta[META]), arrays))
    return groups


def _array(source: Any, key: str, entry: Mapping[str, Any], inline: bool) -> VirtualArray:
    """Return the array of a variable of one file."""
    shape = tuple(entry[".size"])
    parts: list[Any]
    if _is_inlined(source, key, entry, shape, shape, inline):
        parts = [_values(source, key)]
    else:
        parts = [FileChunks(0, source.path, 0, find_chunks(source, key, attrs(entry)))]
    return _assembled(key, parts, None, entry, is_masked=_is_masked(source, entry))


def _is_masked(source: Any, entry: Mapping[str, Any]) -> bool:
    """Return whether a mask says which values are missing, and not a number in the file."""
    return bool(entry.get(".missing")) and not isinstance(source, NativeSource)


def _is_inlined(
    source: Any, key: str, entry: Mapping[str, Any], shape: tuple[int, ...], total: tuple[int, ...], inline: bool
) -> bool:
    """Return whether a variable becomes part of references.

    Parameters
    ----------
    source : Source
        The first file.
    key : str
    entry : dict
    shape, total : tuple of int
        Shape of the variable in one file, and in all.
    inline : bool
        Whether small ones do.
    """
    if isinstance(source, NativeSource) and source.variables[key].kind == "string":
        return math.prod(total) <= MAX_TEXTS
    size = TYPES[entry[".type"]].size or (TEXT_SIZE if TYPES[entry[".type"]].is_string else 1)
    is_coordinate = len(total) == 1 and entry.get(".dims") == [unescape(key).rpartition("/")[2]]
    most = COORDINATE_SIZE if is_coordinate else INLINE_SIZE
    return inline and size * math.prod(shape) <= most and size * math.prod(total) <= INLINE_TOTAL


def _values(source: Any, key: str) -> Any:
    """Return the values of a variable; of NetCDF files as in the file, and byte strings as characters."""
    values = as_array(source.read(key))
    if not isinstance(source, NativeSource):
        return values
    if source.meta[key][".type"] == "str":
        plain = values.filled(b"") if isinstance(values, np.ma.MaskedArray) else values
        return plain.astype(f"S{max(map(len, plain.flat), default=1) or 1}")
    return np.ma.getdata(values) if values.dtype.kind in "iuf" else values


def _assembled(
    key: str, parts: list[Any], axis: int | None, entry: Mapping[str, Any], *, is_masked: bool
) -> VirtualArray:
    """Return the array that consists of values or chunks.

    Parameters
    ----------
    key : str
    parts : list of FileChunks or ndarray
        If they are arrays, one, or several along an axis.
    axis : int, optional
        As of `joined`.
    entry : dict
        Metadata of the array, with the dimensions of its group.
    is_masked : bool
    """
    shape, attributes = tuple(entry[".size"]), attrs(entry)
    names = tuple(dims("", entry, len(shape)))
    if isinstance(parts[0], FileChunks):
        characters = parts[0].chunks.shape[len(shape) :]
        if characters:
            char = setting(entry.get(NETCDF), "char", dict) or {}
            shape, names = (*shape, *characters), (*names, str(char.get("dim")))
        array = joined(parts, axis, shape, names, attributes, unescape(key))
    else:
        join = np.ma.concatenate if any(isinstance(part, np.ma.MaskedArray) for part in parts) else np.concatenate
        values = parts[0] if axis is None else join(parts, axis)
        is_filled = is_masked or (entry[".type"] == "bool" and FILL_ATTRIBUTE in attributes)
        array = inlined(values, entry[".type"], names, attributes, is_masked=is_filled)
    left_out = SENTINEL_ATTRIBUTES if is_masked else (FILL_ATTRIBUTE,)
    shown = {name: value for name, value in attributes.items() if name not in left_out}
    if entry[".type"] == "bool" and array.dtype.kind == "i" and array.fill is None:
        shown["dtype"] = "bool"
    if entry[".type"] == "unicode" and array.dtype.kind == "S":
        shown["_Encoding"] = "utf-8"
    return array._replace(attributes=shown)


class _Joined:
    """Files that are joined along a dimension.

    Parameters
    ----------
    paths, options, inline
        As of `virtual_dataset`.
    """

    def __init__(self, paths: Sequence[Location], options: JoinOptions, inline: bool):
        self._scanned = scanned = scan(paths, options, None)
        self._paths = scanned.files.paths
        _check_names(options.only, scanned.first, paths[0])
        self._inline = inline
        stacked, repeated = ([unescape(key) for key in keys] for keys in (scanned.stacked, scanned.repeated))
        plans, merged = plan_merge(scanned.inputs, options.dim, None, stacked, False, repeated)
        self._plans = {plan.key: plan for plan in plans if plan.shape is not None}
        self._firsts = np.cumsum([0, *(given.repeat for given in scanned.inputs)]).tolist()
        self._parts: dict[str, list[Any]] = {plan.key: [] for plan in plans}
        self._masked: dict[str, bool] = {}
        self._inlined: dict[str, bool] = {}
        self._meta = {plan.key: {**scanned.first[plan.key], **_properties(merged[plan.key])} for plan in plans}
        self._meta[META] = dict(scanned.first[META])

    def dataset(self) -> VirtualDataset:
        """Return the virtual dataset."""
        for plan in self._plans.values():
            self._check_values(plan)
        for file in range(len(self._paths)):
            wanted = [(plan, start, n) for plan in self._plans.values() for start, n in self._spans(plan, file)]
            if wanted:
                with _opened(self._paths[file]) as source:
                    for plan, start, n in wanted:
                        self._add(source, file, plan, start, n)
        return VirtualDataset(_groups(self._meta, self._array, path_text(self._paths[0])), self._paths)

    def _spans(self, plan: MergePlan, file: int) -> Iterator[tuple[int, int]]:
        """Iterate over the first position and the number of positions of a file in a variable, if it has any."""
        for part in plan.parts[:1] if plan.way is Way.FIRST else plan.parts:
            first, end = self._firsts[part.input], self._firsts[part.input + 1]
            if plan.way is Way.FIRST:
                end = first + 1
            if first <= file < end:
                n = part.n // (self._firsts[part.input + 1] - first) if plan.way is not Way.FIRST else 0
                yield part.start + (file - first) * n, n
                return

    def _check_values(self, plan: MergePlan) -> None:
        """Check that values need no conversion in any file.

        Raises
        ------
        UnsupportedError
            If they do; the message names the file, and the attribute that differs.
        """
        if all(part.convert is None for part in plan.parts):
            return
        metas = [self._scanned.inputs[part.input].meta[plan.key] for part in plan.parts]
        paths = [path_text(self._paths[self._firsts[part.input]]) for part in plan.parts]
        names = [name for name in DECIDING if name not in (".size", ".dims")]
        for meta, path in zip(metas, paths, strict=True):
            for name in names:
                if repr(meta.get(name)) != repr(metas[0].get(name)):
                    found, expected = meta.get(name), metas[0].get(name)
                    message = f"found {name.lstrip('.')} {found!r}, but {expected!r} in {paths[0]}"
                    message = f"{message}: references cannot convert values"
                    raise UnsupportedError(message, path=path, variable=unescape(plan.key))
        raise UnsupportedError("references cannot convert values", path=paths[0], variable=unescape(plan.key))

    def _add(self, source: Any, file: int, plan: MergePlan, start: int, n: int) -> None:
        """Add the part of a variable that a file has."""
        key, entry = plan.key, source.meta.get(plan.key)
        shape = tuple((entry or {}).get(".size") or ())
        total = plan.shape or ()
        own = total if plan.way is Way.FIRST else total[1:]
        if plan.way is Way.JOIN:
            own = (*total[: plan.axis], n, *total[plan.axis + 1 :])
        if entry is None or shape != own:
            raise ReplacedError("the file was replaced while it was read", path=source.path, variable=unescape(key))
        if not self._parts[key]:
            self._masked[key] = _is_masked(source, entry)
            self._inlined[key] = plan.way is Way.REPEAT or _is_inlined(
                source, key, self._meta[key], shape, total, self._inline
            )
        self._compare(source, key, entry)
        if self._inlined[key]:
            values = _values(source, key)
            if plan.way is Way.REPEAT:
                values = np.repeat(values[None], n, 0)
            self._parts[key].append(values[None] if plan.way is Way.STACK else values)
            return
        chunks = find_chunks(source, key, attrs(entry))
        if plan.way is Way.STACK:
            chunks = _stacked(chunks)
        self._parts[key].append(FileChunks(file, source.path, start, chunks))

    def _compare(self, source: Any, key: str, entry: Mapping[str, Any]) -> None:
        """Check that attributes which decide what values mean are those of the first file."""
        first = self._meta[key]
        for name in COMPARED:
            if name in entry or name in first:
                found, expected = (repr(one.get(name)) for one in (entry, first))
                if found != expected:
                    message = f"found the attribute {name} {found}, but {expected} in {path_text(self._paths[0])}"
                    raise UnsupportedError(message, path=source.path, variable=unescape(key))

    def _array(self, key: str, entry: Mapping[str, Any]) -> VirtualArray:
        plan, parts = self._plans[key], self._parts[key]
        axis = None if plan.way is Way.FIRST else plan.axis
        try:
            return _assembled(key, parts, axis, entry, is_masked=self._masked[key])
        except DsError as error:
            raise error.at(path=path_text(self._paths[0]), variable=unescape(key))


def _properties(merged: Mapping[str, Any]) -> dict[str, Any]:
    return {name: merged[name] for name in (".dims", ".size", ".type", ".missing") if name in merged}


def _stacked(chunks: Chunks) -> Chunks:
    """Return the chunks of a variable with a new first axis of length 1."""
    chunk = None if chunks.chunk is None else (1, *chunks.chunk)
    positions = [np.zeros(len(chunks.offsets), np.int64), *chunks.positions]
    return chunks._replace(shape=(1, *chunks.shape), chunk=chunk, positions=positions)
