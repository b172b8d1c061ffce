"""Reading: a NetCDF file as a Source, by the netCDF4 library."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

from ...base.once import once
from ...body import path_text
from ...body.body import open_body
from ...body.stamp import Stamp
from ...errors import DsError, FormatError, TruncatedError, UnsupportedError
from ..library.catalog import DescribedFile, DescribedGroup, DescribedVariable, FileVariable, Refused
from ..library.guard import ERRORS, Guard
from ..library.source import LibrarySource
from ..slabs import Slices, insert, read_filled
from .calls import Group, Lease, Variable, fit_cache, release_cache
from .catalog import FIELDS, read_catalog
from .classic.check import variable_ends
from .defining import read_attribute
from .format import NetCDFWarning, warn
from .hdf5.auditing import audited


def walk(group: Group, prefix: str = "") -> Iterator[tuple[str, Group]]:
    """Yield all groups with the prefix of their names (`""`, `"g/"`, `"g/h/"`, ...), outer ones first."""
    yield prefix, group
    for name, child in group.groups.items():
        yield from walk(child, f"{prefix}{name}/")


def dimension_names(variable: Variable) -> list[str]:
    """Return the names of a variable's dimensions, each with the group that defines it.

    Raises
    ------
    FormatError
        If a dimension is in no group around the variable, which the library does not expect.
    """
    names = []
    try:
        dimensions = variable.get_dims()
    except AttributeError:
        message = f"its dimensions {', '.join(variable.dimensions)} are not all in its group or one around it"
        raise FormatError(message, variable=variable.name) from None
    for dimension in dimensions:
        path = dimension.group().path.strip("/")
        names.append(f"{path}/{dimension.name}" if path else dimension.name)
    return names


def find_type(group: Group, name: str, kind: str) -> str:
    """Return the name of a user-defined type with the group that defines it: this one, or one around it."""
    while group.parent is not None and name not in getattr(group, kind):
        group = group.parent
    path = group.path.strip("/")
    return f"{path}/{name}" if path else name


Refuse = Callable[[UnsupportedError], None]
"""Takes the error of an unsupported attribute, and raises it or warns."""


def describe(
    file: Group, path: str, skipped: list[tuple[str, str]], skip_unsupported: bool, structured: bool = False
) -> DescribedFile:
    """Return the description of an open file.

    Parameters
    ----------
    file : netCDF4.Dataset
    path : str
        For warnings.
    skipped : list of (variable, type)
        Variables that the library does not show.
    skip_unsupported : bool
        Whether to warn of attributes that ds cannot hold, and go on.
    structured : bool
        Whether to describe variables of compound types, instead of refusing them.

    Raises
    ------
    UnsupportedError
        If the file has an attribute that ds cannot hold. Those of variables are reported on access.
    """

    def refuse(error: UnsupportedError) -> None:
        if not skip_unsupported:
            raise error.at(path=path)
        warn(f"left out: {error.message}", path, error.variable)

    groups = list(walk(file))
    return DescribedFile(
        file.data_model,
        [
            (prefix + name, int(dimension.size), dimension.isunlimited())
            for prefix, group in groups
            for name, dimension in group.dimensions.items()
        ],
        [DescribedGroup(prefix, *_attributes(group, None, refuse)) for prefix, group in groups],
        _variables(groups, skipped, refuse, structured),
        [
            (prefix + name, _enum_record(group, enum))
            for prefix, group in groups
            for name, enum in group.enumtypes.items()
        ],
    )


def read_scalar(variable: Variable) -> NDArray[Any] | None:
    """Return the value of a variable without dimensions; None if the library cannot read it."""
    try:
        return np.asarray(variable[...])
    except ERRORS:
        # reading it raises the reason
        return None


def warn_of_types(file: Group, path: str) -> None:
    """Warn of types unknown to ds that no variable has. Variables of such types were refused before."""
    groups = list(walk(file))
    used = {getattr(v.datatype, "name", None) for _, group in groups for v in group.variables.values()}
    for prefix, group in groups:
        for name in {*group.cmptypes, *group.vltypes} - used:
            warn(f'left out: the type "{prefix}{name}" is not supported by ds', path)


def _variables(
    groups: list[tuple[str, Group]], skipped: list[tuple[str, str]], refuse: Refuse, structured: bool
) -> Iterator[DescribedVariable | Refused]:
    for name, kind in skipped:
        yield Refused(name, UnsupportedError(f"the {kind} type is not supported by ds"))
    for prefix, group in groups:
        for base, variable in group.variables.items():
            try:
                yield _variable(prefix + base, variable, refuse, structured)
            except UnsupportedError as error:
                yield Refused(prefix + base, error, dimension_names(variable))


def _variable(name: str, variable: Variable, refuse: Refuse, structured: bool) -> DescribedVariable:
    is_compound = structured and isinstance(variable.datatype, netCDF4.CompoundType)
    code = FIELDS if is_compound else _code_of(variable)
    attributes, strings = _attributes(variable, name, refuse)
    is_number = code not in ("S1", "O", FIELDS)
    chunks = variable.chunking()
    storage: dict[str, Any] = {}
    if variable.endian() == "big" and is_number and variable.dtype.itemsize > 1:
        storage["endian"] = "big"
    if isinstance(variable.datatype, netCDF4.EnumType):
        storage["enum"] = _enum_record(variable.group(), variable.datatype)
    if is_compound:
        name_of_type = find_type(variable.group(), variable.datatype.name, "cmptypes")
        storage["compound"] = {"name": name_of_type, "size": variable.dtype.itemsize, "fields": _fields(variable.dtype)}
    if isinstance(chunks, list) and chunks:
        storage["chunks"] = [int(n) for n in chunks]
        storage.update(_read_filters(variable.filters() or {}))
    return DescribedVariable(
        name,
        dimension_names(variable),
        tuple(int(n) for n in variable.shape),
        code,
        attributes,
        strings,
        is_number and variable.get_fill_value() is not None,
        storage,
        tuple(int(n) for n in chunks) if isinstance(chunks, list) else None,
        variable,
    )


def _fields(dtype: np.dtype[Any]) -> Any:
    """Return the fields of a compound type, or the type of a field; see `ds_format.drivers.netcdf.format`."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return [_fields(base), [*shape]]
    if dtype.fields is not None:
        return {name: _fields(field[0]) for name, field in dtype.fields.items()}
    return "char" if dtype.kind == "S" else dtype.name


def _code_of(variable: Variable) -> str:
    """Return the code of a variable; see `DescribedVariable`.

    Raises
    ------
    UnsupportedError
        If ds has no such type: compound, ragged.
    """
    dtype: Any = variable.dtype
    if dtype is str:
        return "O"
    if isinstance(variable.datatype, netCDF4.CompoundType):
        raise UnsupportedError(f'the compound type "{variable.datatype.name}" is not supported by ds')
    if isinstance(variable.datatype, netCDF4.VLType):
        raise UnsupportedError(f'the variable-length type "{variable.datatype.name}" is not supported by ds')
    code: str = dtype.str[1:]
    return code


def _attributes(owner: Group | Variable, variable: str | None, refuse: Refuse) -> tuple[dict[str, Any], list[str]]:
    """Return attributes by name, and the names of those that are one text of the type string."""
    values: dict[str, Any] = {}
    strings: list[str] = []
    for name in owner.ncattrs():
        try:
            values[name], is_string = read_attribute(owner, name)
        except UnsupportedError as error:
            error.at(variable=variable)
            refuse(error)
            continue
        if is_string and isinstance(values[name], str):
            strings.append(name)
    return values, strings


def _enum_record(group: Group, enum: Any) -> dict[str, Any]:
    """Return the record of an enum type; see `ds_format.drivers.netcdf.format`."""
    members = {name: int(value) for name, value in enum.enum_dict.items()}
    return {"name": find_type(group, enum.name, "enumtypes"), "type": enum.dtype.name, "members": members}


def _read_filters(filters: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if isinstance(filters.get("blosc"), dict):
        record["compression"] = filters["blosc"]["compressor"]
        record["shuffle"] = int(filters["blosc"]["shuffle"])
    elif isinstance(filters.get("szip"), dict):
        record["compression"] = "szip"
        record["szip"] = [filters["szip"]["coding"], int(filters["szip"]["pixels_per_block"])]
    else:
        # zlib of level 0 is none, and the library does not make it
        for name in ("zlib", "zstd", "bzip2"):
            if filters.get(name) and (name != "zlib" or filters["complevel"]):
                record["compression"] = name
        if filters.get("shuffle"):
            record["shuffle"] = True
    if "compression" in record and "szip" not in record:
        record["level"] = int(filters["complevel"])
    if filters.get("fletcher32"):
        record["fletcher32"] = True
    return record


Fetch = Callable[[Slices], NDArray[Any]]


def find_extents(path: str) -> dict[str, tuple[int, ...] | None]:
    """Return the extents of variables of a netCDF-4 file by their names, if `ds_format.hdf5` knows them."""
    audit = audited(open_body(path))
    return {} if audit is None else {name: dataset.shape for name, dataset in audit.datasets.items()}


def read_growing(fetch: Fetch, slices: Slices, extent: tuple[int, ...] | None, axes: tuple[int, ...]) -> NDArray[Any]:
    """Return a slab, with the library's fill values beyond the extent.

    The library misreads values beyond the extent of a variable that is shorter than its dimensions. It reads the stored
    values and appends fill values (netCDF-C 4.10, `NC4_get_vars`). This is right only along the first dimension. Along
    another dimension, values get into wrong positions. With two such dimensions, memory is left uninitialized. Reading
    one index at a time along each unlimited dimension is always right.

    Parameters
    ----------
    fetch : callable
        Slices → what the library returns for them.
    slices : tuple of slice
    extent : tuple of int or None
        None: it is not known.
    axes : tuple of int
        Those that are unlimited.
    """
    last = tuple(slice(s.stop - 1, s.stop) for s in slices)  # beyond the extent if any position is
    if any(s.start >= s.stop for s in slices):
        return fetch(slices)
    if extent is not None:
        return read_filled(fetch, slices, extent, lambda: fetch(last))
    slab = np.empty([s.stop - s.start for s in slices], fetch(last).dtype)
    for index in itertools.product(*(range(slices[axis].start, slices[axis].stop) for axis in axes)):
        part = list(slices)
        for axis, i in zip(axes, index, strict=True):
            part[axis] = slice(i, i + 1)
        insert(slab, slices, tuple(part), fetch(tuple(part)))
    return slab


SMALL_CACHE = 64 * 1024
"""Bytes of chunks that are not worth the two calls which give them back before the file is closed."""


class NetCDFSource(LibrarySource):
    """An open NetCDF file; see `ds_format.drivers.base.Source`.

    Values are returned as stored: `scale_factor`, `add_offset`, `_Unsigned` and `valid_range` are attributes and have
    no effect. A value is missing if it equals `_FillValue` or a `missing_value`. Without a `_FillValue`, the default
    fill value of a pre-filled variable counts as well. The array below the mask keeps the stored values.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out variables and attributes of types that ds does not have, with a `NetCDFWarning`.
    structured : bool
        Read variables of compound types as structured arrays. Otherwise ds does not have these types, too.
    stamp : Stamp, optional
        Size and times of the file, if they are known.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not a NetCDF file, or a damaged one.
    UnsupportedError
        If an attribute is of a type that ds does not have: compound, ragged, opaque. Variables of such types are
        refused when they are read.
    """

    category = NetCDFWarning

    def __init__(
        self, path: Any, *, skip_unsupported: bool = False, structured: bool = False, stamp: Stamp | None = None
    ):
        self.path = path_text(path)
        self._cached: FileVariable | None = None
        self._lease = Lease(self.path, stamp)
        self._size = self._lease.key[1].size
        self._ends: dict[str, int] = {}
        try:
            if self._lease.file.data_model.startswith("NETCDF3"):
                self._ends = variable_ends(self.path)
            with Guard(FormatError, self.path):
                described = describe(self._lease.file, self.path, self._lease.skipped, skip_unsupported, structured)
                self._take(read_catalog(described, self.path, skip_unsupported, self._scalar))
                warn_of_types(self._lease.file, self.path)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        lease = getattr(self, "_lease", None)
        if lease is not None:
            lease.drop()

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        """Yield one variable in blocks, with a cache for the chunks that these cross."""
        variable = self._variables[name]
        with Guard(FormatError, self.path, variable.name):
            fit_cache(variable.place)
        yield from super()._blocks(name, budget)
        # not in a finally: a generator may be dropped in any thread, also in one that must not wait for the library
        self._release()

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        if self._lease.is_open:
            with Guard(DsError, self.path):
                self._lease.close()

    def _fetch(self, variable: FileVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab; see `LibrarySource`."""
        self._check_end(variable)
        if self._cached is not variable:
            self._release()
            self._cached = variable
        with Guard(FormatError, self.path, variable.name):
            array = self._fetch_growing(variable, slices) if variable.growing else _raw(variable, slices)
        return array if variable.dtype is not None else array.astype(array.dtype.newbyteorder("="), copy=False)

    def _scalar(self, variable: Variable) -> NDArray[Any] | None:
        """Return the value of a variable without dimensions; None if it is not in the file, where the library has 0."""
        return read_scalar(variable) if self._ends.get(variable.name, 0) <= self._size else None

    def _check_end(self, variable: FileVariable) -> None:
        end = self._ends.get(variable.name, 0)
        if end > self._size:
            message = f"found {self._size} bytes in the file, expected at least {end}"
            raise TruncatedError(message, path=self.path, variable=variable.name)

    def _fetch_growing(self, variable: FileVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab of a variable that may be shorter than its dimensions."""

        def fetch(slices: Slices) -> NDArray[Any]:
            return _raw(variable, slices)

        return read_growing(fetch, slices, self._extents.get(variable.name), variable.growing)

    @once
    def _extents(self) -> dict[str, tuple[int, ...] | None]:
        return find_extents(self.path)

    def _release(self) -> None:
        """Let the library keep a cache for one variable at a time."""
        variable, self._cached = self._cached, None
        if variable is not None and _cached_size(variable) > SMALL_CACHE and self._lease.is_open:
            with Guard(FormatError, self.path, variable.name):
                release_cache(variable.place)


def _raw(variable: FileVariable, slices: Slices) -> NDArray[Any]:
    """Return a slab as the library does, of full rank."""
    raw = variable.place[slices if slices else ...]
    array = np.asarray(raw, dtype=object) if variable.kind == "string" else np.asarray(raw)
    return array.reshape([s.stop - s.start for s in slices])


def _cached_size(variable: FileVariable) -> int:
    """Return the bytes that all chunks of a variable take in memory."""
    if variable.chunk is None:
        return 0
    axes = zip(variable.shape or (), variable.chunk, strict=True)
    return math.prod(-(-n // step) * step for n, step in axes) * variable.size
