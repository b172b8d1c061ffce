"""Writing: a NetCDF file as a Sink, whatever writes it; see `creating`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ...base.text import unescape
from ...body import path_text
from ...errors import DsError, UnsupportedError
from ...model.missing import candidates
from ...model.rounding import Rounding
from ...model.settings import HDF5, as_netcdf, setting
from ..base import Metadata
from ..library.plan import Facts, VariablePlan
from ..library.sink import LibrarySink, OwnFileSink
from ..sink import FileSink
from .attributes import encode, storable
from .definition import (
    DefinedVariable,
    Definer,
    NetCDFPlan,
    choose_format,
    known_numbers,
    known_strings,
    plan_file,
)
from .format import PROPERTY, NetCDFWarning, check_type, file_dtype, warn
from .options import StorageOptions, container_name, set_rounding
from .records import VariableRecord


class WritingPlan(NamedTuple):
    """The decisions that are made before a file is created."""

    plan: NetCDFPlan
    format: str
    storage: StorageOptions


def plan_writing(path: Any, meta: Metadata, format: str | None, **storage: Any) -> WritingPlan:
    """Plan a file; parameters and errors as of `creating.create`."""
    name = path_text(path)
    try:
        options = StorageOptions(**storage)
        plan = plan_file(as_netcdf(meta))
        for each in plan.variables.values():
            check_type(each.type, each.name)
        options.apply(plan, meta)
        chosen, reason = choose_format(plan, format, is_compressed=bool(options.compressions))
    except DsError as error:
        raise error.at(path=name) from error.__cause__
    if reason is not None:
        variable, what = reason
        warn(f"the format {plan.recorded_format} cannot hold {what}: written as {chosen}", name, variable)
    for key, properties in meta.items():
        members = setting(properties.get(HDF5), "enum", dict)
        if members and PROPERTY not in properties:
            warn("left out: the names of its HDF5 enumeration", name, unescape(key))
    return WritingPlan(plan, chosen, options)


class NetCDFSink(LibrarySink[VariablePlan], FileSink):
    """A NetCDF file being written; see `ds_format.drivers.base.Sink`.

    It is written under another name in the folder of its target, and replaces the target atomically.

    Parameters
    ----------
    path : str, bytes or PathLike
        The target; a symbolic link is followed.
    meta : dict
        Metadata of the dataset.
    planned : WritingPlan
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    UnsupportedError
        If the format cannot hold the dataset, or a variable cannot be rounded as requested.
    """

    category = NetCDFWarning
    _plan: NetCDFPlan

    def __init__(self, path: Any, meta: Metadata, planned: WritingPlan, *, atomic: bool, durable: bool):
        self._planned = planned
        self._format = planned.format
        self._storage = planned.storage
        self._defined: dict[str, DefinedVariable] = {}
        self._roundings: dict[str, Rounding] = {}
        self._containers: dict[str, str] = {}
        """Algorithm of a rounding → name of the variable that has it."""
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._begin()

    def _plan_file(self) -> NetCDFPlan:
        return self._planned.plan

    def _define_file(self) -> None:
        self._definer = Definer(self._plan, self._format, self.path)
        self._undefined = {each.name: each for each in self._plan.variables.values()}
        self._facts = {name: super(NetCDFSink, self)._known(each) for name, each in self._undefined.items()}
        self._begin_definitions()
        self._define_known()

    def _begin_definitions(self) -> None:
        """Define what is no variable."""

    def _define_known(self) -> None:
        """Define variables in their order, up to the first one whose values decide how it is defined."""
        for name, plan in [*self._undefined.items()]:
            facts = self._facts[name]
            if facts is None:
                return
            with self._guard(UnsupportedError, name):
                self._defined[name] = self._define(plan, facts)

    def _define(self, plan: VariablePlan, facts: Facts) -> DefinedVariable:
        del self._undefined[plan.name]
        rounding = self._storage.rounding(plan, facts.type)
        if rounding is not None:
            self._roundings[plan.name] = rounding
            set_rounding(plan, rounding, self._container(rounding))
        return self._definer.define(plan, facts, self._is_available)

    def _definition(self, plan: VariablePlan, facts: Facts) -> DefinedVariable:
        """Return a variable that is defined, now if its values decided how."""
        defined = self._defined.pop(plan.name, None)
        if defined is not None:
            return defined
        self._facts[plan.name] = facts
        if plan is not next(iter(self._undefined.values())):  # written before another one that is undefined
            defined = self._define(plan, facts)
        self._define_known()
        return defined or self._defined.pop(plan.name)

    @abstractmethod
    def _is_available(self, compression: str) -> bool:
        """Return whether the writer knows a compression."""

    def _container(self, rounding: Rounding) -> str:
        """Return the name of the variable with the algorithm of a rounding, which is defined for the first one."""
        found = self._containers.get(rounding.algorithm)
        if found is None:
            found, exists = container_name(rounding, self._plan.variables.values(), self._definer.taken)
            if not exists:
                attributes = {name: encode(value, self._format) for name, value in rounding.container().items()}
                self._definer.add(VariableRecord(found, "char", attributes=attributes))
            self._containers[rounding.algorithm] = found
        return found

    def _keeps_marks(self, name: str) -> bool:
        return True

    def _known(self, plan: VariablePlan) -> Facts | None:
        return self._facts[plan.name]

    def _known_numbers(self, plan: VariablePlan, type_name: str) -> Facts | None:
        return known_numbers(plan, type_name)

    def _known_strings(self, plan: VariablePlan, type_name: str) -> Facts | None:
        return known_strings(plan, type_name, self._format)

    def _candidates(self, plan: VariablePlan, type_name: str) -> NDArray[Any]:
        return candidates(file_dtype(type_name))

    _as_bytes = staticmethod(storable)


class OwnSink(OwnFileSink[VariablePlan], NetCDFSink):
    """A file that is written without a library; see `NetCDFSink`."""
