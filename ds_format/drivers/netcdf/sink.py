"""Writing: a NetCDF file as a Sink, by the netCDF4 library."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

from ...base.text import unescape
from ...errors import UnsupportedError
from ...model import missing
from ...model.settings import HDF5, as_netcdf, setting
from ..base import Metadata
from ..library.catalog import split
from ..library.guard import Guard
from ..library.plan import Facts, VariablePlan, survey
from ..library.sink import LibrarySink, LibraryWriter
from .attributes import write_attributes
from .calls import Variable, close_file, create_file, drop, fit_cache, release_cache
from .definition import (
    DefinedVariable,
    Definer,
    NetCDFPlan,
    characters,
    choose_format,
    define_enum,
    known_facts,
    plan_file,
    storable,
)
from .format import ENCODING_ATTRIBUTE, PROPERTY, NetCDFWarning, file_dtype, warn


@contextmanager
def any_enum_value(variable: Variable, values: NDArray[Any]) -> Iterator[None]:
    """Let the library write enum values without a name, which files may hold."""
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
        dtype = file_dtype(defined.type) if defined.kind in ("number", "bool") else None
        super().__init__(defined.plan, defined.type, dtype, defined.sentinels, defined.mark)
        self.defined = defined
        fit_cache(defined.variable)

    def values(self, block: Any) -> NDArray[Any]:
        """Return numbers, strings, or characters along a second dimension; see `LibraryWriter.values`."""
        kind, length = self.defined.kind, self.defined.length
        if kind == "string":
            encoding = str(self.plan.attributes.get(ENCODING_ATTRIBUTE, "utf-8"))
            return self.byte_strings(block, functools.partial(storable, encoding=encoding, inner_nul=False))
        if kind == "char":
            raw = self.byte_strings(block, storable)
            return characters(raw, 1)[:, 0] if length is None else characters(raw, length)
        values, gone = self.numbers(block)
        self.count_clashes(values, gone)
        if self.defined.is_own_fill and self.clashes[0]:
            raise UnsupportedError(
                f"{self.clashes[0]} present values equal {self.sentinels[0]}, which was chosen to mark missing ones; "
                f'name another in the attribute "{missing.FILL_ATTRIBUTE}"'
            )
        if gone is None:
            return values
        if not self.sentinels:
            raise UnsupportedError('found missing values, expected none (property ".missing")')
        return missing.filled(values, gone, self.sentinels)

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
        return super().finish()


class NetCDFSink(LibrarySink[VariablePlan, Facts]):
    """A NetCDF file being written; see `ds_format.drivers.base.Sink`.

    It is written under another name in the folder of its target, and replaces the target atomically.

    Parameters
    ----------
    path : str, bytes or PathLike
        The target; a symbolic link is followed.
    meta : dict
        Metadata of the dataset. The property `.netcdf` (see `ds_format.drivers.netcdf.format`) restores the storage
        settings of the file that the dataset was read from. It is optional.
    format : str, optional
        `NETCDF4`, `NETCDF4_CLASSIC`, `NETCDF3_CLASSIC`, `NETCDF3_64BIT_OFFSET` or `NETCDF3_64BIT_DATA`. By default the
        format that the dataset was read from, else `NETCDF4`. If the former cannot hold the dataset, a `NetCDFWarning`
        is issued and `NETCDF4` is used.
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    UnsupportedError
        If NetCDF, or the requested format, cannot hold the dataset.
    """

    category = NetCDFWarning
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
                warn("left out: the names of its HDF5 enumeration", self.path, unescape(key))
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
            # defining it later would move all data already in a classic file
            facts = self._facts[variable.name] = known_facts(variable, self._format)
            if facts is not None:
                with Guard(UnsupportedError, self.path, variable.name):
                    self._defined[variable.name] = definer.define(variable, facts)

    def _known(self, plan: VariablePlan) -> Facts | None:
        return self._facts[plan.name]

    def _survey(self, plan: VariablePlan, blocks: Iterable[Any]) -> Facts:
        return survey(blocks, plan.type, lambda name: missing.candidates(file_dtype(name)), storable)

    def _writer(self, plan: VariablePlan, form: Facts) -> VariableWriter:
        return VariableWriter(self._defined.get(plan.name) or self._definer.define(plan, form))
