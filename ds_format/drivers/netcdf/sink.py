"""Writing: a NetCDF file as a Sink."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...base.names import unescape
from ...errors import DsError, UnsupportedError
from ..base import Metadata
from ..library.groups import split
from ..library.guard import Guard
from ..library.plan import VariablePlan
from ..library.sink import LibrarySink
from ..settings import HDF5, as_netcdf, setting
from .attributes import write_attributes
from .calls import close_file, create_file, drop, library
from .definition import DefinedVariable, Definer, define_enum
from .losses import warn
from .plan import FilePlan, choose_format, plan_file
from .storage import PROPERTY
from .survey import Facts, known_facts, survey
from .writing import VariableWriter


class NetCDFSink(LibrarySink[VariablePlan, Facts]):
    """A NetCDF file being written; see `ds_format.drivers.base.Sink`.

    It grows under another name in the folder of its target, and takes the target's place as a whole.

    Parameters
    ----------
    path : str, bytes or PathLike
        The target; behind a link, what the link points to.
    meta : dict
        Metadata of the dataset. The property `.netcdf` (see `ds_format.drivers.netcdf.storage`) restores how a file was
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

    _plan: FilePlan

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

    def _plan_file(self) -> FilePlan:
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
