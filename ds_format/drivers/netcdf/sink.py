"""Writing: a NetCDF file as a Sink, by the netCDF4 library."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

from ...base.names import unescape
from ...errors import DsError, UnsupportedError
from .. import strings
from ..base import Metadata
from ..library import missing
from ..library.guard import Guard
from ..library.plan import VariablePlan, split
from ..library.sink import LibrarySink, LibraryWriter
from ..settings import HDF5, as_netcdf, setting
from ..strings import encoded
from .attributes import write_attributes
from .calls import Variable, close_file, create_file, drop, fit_cache, library, release_cache
from .definition import DefinedVariable, Definer, define_enum
from .format import PROPERTY, file_dtype, warn
from .plan import (
    ENCODING_ATTRIBUTE,
    Facts,
    NetCDFPlan,
    characters,
    choose_format,
    known_facts,
    plan_file,
    storable,
    survey,
)


def file_values(defined: DefinedVariable, block: Any) -> NDArray[Any]:
    """Return values in the form of the file.

    Parameters
    ----------
    defined : DefinedVariable
    block : ndarray, MaskedArray or scalar

    Returns
    -------
    (N,) array of numbers, (N, L) array of S1, or (N,) array of objects
        In C order.

    Raises
    ------
    UnsupportedError
        If a value is not possible in the variable.
    """
    if defined.kind in ("char", "string"):
        return _strings(defined, block)
    return _numbers(defined, block)


def _strings(defined: DefinedVariable, block: Any) -> NDArray[Any]:
    values, mask = strings.as_objects(block)
    if mask is not None and defined.mark is None:
        raise UnsupportedError('found missing strings, expected none (property ".missing")')
    strings.check_kind(values, mask, defined.type)
    is_char = defined.kind == "char"
    encoding = "utf-8" if is_char else str(defined.plan.attributes.get(ENCODING_ATTRIBUTE, "utf-8"))
    convert = functools.partial(storable, encoding=encoding, inner_nul=is_char)
    raw = encoded(values, mask, defined.mark or b"", convert).ravel()
    if not is_char:
        return raw
    if defined.length is None:
        return characters(raw, 1)[:, 0]
    return characters(raw, defined.length)


def _numbers(defined: DefinedVariable, block: Any) -> NDArray[Any]:
    values = np.asarray(np.ma.getdata(block)).ravel()
    mask = np.ma.getmask(block)
    is_missing = np.asarray(mask).ravel() if mask is not np.ma.nomask and np.any(mask) else None
    values = _cast(values, is_missing, defined)
    for position, sentinel in enumerate(defined.sentinels):
        hits = missing.is_value(values, sentinel)
        n = int(np.count_nonzero(hits if is_missing is None else hits & ~is_missing))
        if n and defined.is_own_fill and position == 0:
            raise UnsupportedError(
                f"{n} present values equal {sentinel}, which was to mark missing ones; "
                f'the attribute "{missing.FILL_ATTRIBUTE}" can name another'
            )
        if n:
            defined.clashes[position] = defined.clashes.get(position, 0) + n
    if is_missing is None:
        return values
    if not defined.sentinels:
        raise UnsupportedError('found missing values, expected none (property ".missing")')
    return missing.filled(values, is_missing, defined.sentinels)


def _cast(values: NDArray[Any], is_missing: NDArray[np.bool_] | None, defined: DefinedVariable) -> NDArray[Any]:
    """Return numbers in the dtype of the file, if that keeps them as they are."""
    dtype = file_dtype(defined.type)
    if values.dtype == dtype and defined.kind == "number":
        return values.astype(dtype.newbyteorder("="), copy=False)
    if values.dtype.kind not in "fiub":
        raise UnsupportedError(f"found values of type {values.dtype}, expected {defined.type}")
    if values.dtype.kind != "b" or defined.kind != "bool":
        present = values if is_missing is None else values[~is_missing]
        expected = np.dtype(bool) if defined.kind == "bool" else dtype
        with np.errstate(invalid="ignore", over="ignore"):
            back = present.astype(expected).astype(values.dtype)
        if not np.array_equal(back, present, equal_nan=values.dtype.kind == "f"):
            raise UnsupportedError(f"found values of type {values.dtype} that do not fit {defined.type}")
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(dtype)


@contextmanager
def any_enum_value(variable: Variable, values: NDArray[Any]) -> Iterator[None]:
    """Let the library write what files may hold: values of an enum type that have no name."""
    enum = variable.datatype
    if not isinstance(enum, netCDF4.EnumType):
        yield
        return
    members = enum.enum_dict
    enum.enum_dict = {str(value): value for value in np.unique(values).tolist()}
    try:
        yield
    finally:
        enum.enum_dict = members


class VariableWriter(LibraryWriter[VariablePlan]):
    """Takes the blocks of one variable.

    Parameters
    ----------
    defined : DefinedVariable
    """

    def __init__(self, defined: DefinedVariable):
        super().__init__(defined.plan)
        self.defined = defined
        fit_cache(defined.variable)

    def values(self, block: Any) -> NDArray[Any]:
        """Return numbers, strings, or characters along a second dimension; see `LibraryWriter.values`."""
        return file_values(self.defined, block)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `LibraryWriter.put`."""
        variable, length = self.defined.variable, self.defined.length
        if length is not None:
            slices = (*slices, slice(0, length))
        with any_enum_value(variable, values):
            if not slices:
                variable[...] = values[()]
            elif length != 0:
                variable[slices] = values

    def finish(self) -> list[str]:
        """Give back what writing took; see `LibraryWriter.finish`."""
        release_cache(self.defined.variable)
        found = [(n, self.defined.sentinels[i]) for i, n in self.defined.clashes.items()]
        return [f"{n} present values equal {value}, which means missing" for n, value in found]


class NetCDFSink(LibrarySink[VariablePlan, Facts]):
    """A NetCDF file being written; see `ds_format.drivers.base.Sink`.

    It grows under another name in the folder of its target, and takes the target's place as a whole.

    Parameters
    ----------
    path : str, bytes or PathLike
        The target; behind a link, what the link points to.
    meta : dict
        Metadata of the dataset. The property `.netcdf` (see `ds_format.drivers.netcdf.format`) restores how a file was
        stored that it was read from; nothing depends on it.
    format : str, optional
        `NETCDF4`, `NETCDF4_CLASSIC`, `NETCDF3_CLASSIC`, `NETCDF3_64BIT_OFFSET` or `NETCDF3_64BIT_DATA`. By default the
        one that the dataset was read from, if it can hold it (a `NetCDFWarning` otherwise); else `NETCDF4`.
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    UnsupportedError
        If NetCDF, or the format asked for, cannot hold the dataset.
    """

    _plan: NetCDFPlan

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        format: str | None = None,
        atomic: bool = True,
        durable: bool = False,
    ):
        self._wanted = format
        self._facts: dict[str, Facts | None] = {}
        self._defined: dict[str, DefinedVariable] = {}
        super().__init__(path, meta, atomic=atomic, durable=durable)

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            drop(file)

    def _guard(self, error: type[DsError], variable: str | None = None) -> Guard:
        return library(error, self.path, variable)

    def _plan_file(self) -> NetCDFPlan:
        plan = plan_file(as_netcdf(self.meta))
        self._format, reason = choose_format(plan, self._wanted)
        if reason is not None:
            variable, what = reason
            recorded = plan.recorded_format
            warn(f"the format {recorded} cannot hold {what}: written as {self._format}", self.path, variable)
        for key, properties in self.meta.items():
            members = setting(properties.get(HDF5), "enum", dict)
            if members and PROPERTY not in properties:
                warn("left out: the names of its numbers, an enumeration of HDF5", self.path, unescape(key))
        return plan

    def _create_file(self, written: str) -> Any:
        return create_file(written, self._format, self.path)

    def _close_file(self, file: Any) -> None:
        close_file(file)

    def _define_file(self) -> None:
        plan, file = self._plan, self._file
        taken = {name for each in plan.variables.values() for name in (each.name, *each.dims)}
        self._definer = definer = Definer(file, self.path, self._format, taken)
        if self._format.startswith("NETCDF3"):
            # every value is written, so that none need be pre-filled
            file.set_fill_off()
        for group in plan.groups:
            file.createGroup(group)
        for name, size in plan.dimensions.items():
            group, base = split(name)
            is_unlimited = name in plan.unlimited
            definer.group(group).createDimension(base, None if is_unlimited else size)
        for record in plan.enums:
            define_enum(definer, record)
        for group, values in plan.attributes.items():
            prefix = f"{group}/" if group else ""
            strings = [name.removeprefix(prefix) for name in plan.strings if split(name)[0] == group]
            write_attributes(definer.group(group), definer.attributes(values, strings, {}, None, prefix))
        for variable in plan.variables.values():
            # to define it later would move all that a classic file holds by then
            facts = self._facts[variable.name] = known_facts(variable, self._format)
            if facts is not None:
                with self._guard(UnsupportedError, variable.name):
                    self._defined[variable.name] = definer.define(variable, facts)

    def _known(self, plan: VariablePlan) -> Facts | None:
        return self._facts[plan.name]

    def _survey(self, plan: VariablePlan, blocks: Iterable[Any]) -> Facts:
        return survey(blocks, plan.type)

    def _writer(self, plan: VariablePlan, form: Facts) -> VariableWriter:
        return VariableWriter(self._defined.get(plan.name) or self._definer.define(plan, form))

    def _warn(self, message: str, variable: str) -> None:
        warn(message, self.path, variable)
