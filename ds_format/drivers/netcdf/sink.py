"""Writing: a NetCDF file as a Sink. A small netCDF-4 file is composed here.

Others are written by the netCDF4 library, and by h5py what is compressed here.
"""

from __future__ import annotations

import contextlib
import functools
from contextlib import AbstractContextManager
from typing import Any

from numpy.typing import NDArray

from ...base.text import unescape
from ...body import path_text
from ...body.body import OutputBody
from ...body.target import naming
from ...errors import DsError, UnsupportedError
from ...hdf5.composing import NotCovered
from ...model.missing import candidates
from ...model.rounding import Rounding
from ...model.settings import HDF5, as_netcdf, setting
from ..base import Metadata
from ..library.guard import ERRORS, LOCK, Guard
from ..library.plan import Facts, VariablePlan
from ..library.sink import LibrarySink
from ..sink import FileSink
from . import direct
from .attributes import encode
from .calls import append_to_file, close_file, create_file, defining, drop
from .defining import Replay
from .definition import (
    DefinedVariable,
    Definer,
    NetCDFPlan,
    choose_format,
    known_numbers,
    known_strings,
    plan_file,
    storable,
)
from .format import PROPERTY, NetCDFWarning, check_type, file_dtype, is_available, warn
from .hdf5.composing import compose
from .hdf5.recording import RecordingWriter, is_small, write_by_library
from .options import StorageOptions, container_name, set_rounding
from .records import VariableRecord
from .writers import SlabWriter, VariableWriter


class NetCDFSink(LibrarySink[VariablePlan], FileSink):
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
    **storage
        As `options.StorageOptions`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    DriverError
        If options are wrong.
    MissingError
        If options name a variable or dimension that does not exist.
    UnsupportedError
        If NetCDF, or the requested format, cannot hold the dataset, or a variable cannot be rounded as requested.
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
        **storage: Any,
    ):
        self._wanted = format
        try:
            self._storage = StorageOptions(**storage)
        except DsError as error:
            raise error.at(path=path_text(path))
        self._defined: dict[str, DefinedVariable] = {}
        self._roundings: dict[str, Rounding] = {}
        self._containers: dict[str, str] = {}
        """Algorithm of a rounding → name of the variable that has it."""
        self._is_direct = False
        self._arrays: dict[str, NDArray[Any]] = {}
        """Values of variables of a file that is composed."""
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._begin()

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is None or isinstance(file, OutputBody):
            return
        if self._is_direct:
            LOCK.later(lambda: _close_quietly(file))
        else:
            drop(file)

    def _plan_file(self) -> NetCDFPlan:
        plan = plan_file(as_netcdf(self.meta))
        for each in plan.variables.values():
            check_type(each.type, each.name)
        self._storage.apply(plan, self.meta)
        self._format, reason = choose_format(plan, self._wanted, is_compressed=bool(self._storage.compressions))
        if reason is not None:
            variable, what = reason
            recorded = plan.recorded_format
            warn(f"the format {recorded} cannot hold {what}: written as {self._format}", self.path, variable)
        for key, properties in self.meta.items():
            members = setting(properties.get(HDF5), "enum", dict)
            if members and PROPERTY not in properties:
                warn("left out: the names of its HDF5 enumeration", self.path, unescape(key))
        return plan

    def _create_file(self) -> Any:
        if is_small(self._plan, self._format, self._storage.compressions):
            with naming(self.path):
                return self._target.open()
        with self._lent() as written:
            return create_file(written, self._format, self.path)

    def _complete(self) -> None:
        """Write a file whose definitions and values are known now."""
        if not isinstance(self._file, OutputBody):
            return
        records = self._definer.records
        try:
            self._file.write(0, compose(records, self._arrays))
        except NotCovered:
            self._end()
            with self._target.lent_again() as written:
                self._file = create_file(written, self._format, self.path)
            write_by_library(records, self._arrays, self._file)

    def _close_file(self, file: Any) -> None:
        if self._is_direct or isinstance(file, OutputBody):
            file.close()
        else:
            close_file(file)

    def _define_file(self) -> None:
        plan, file = self._plan, self._file
        for compression in sorted(self._storage.compressions):
            if not is_available(file, compression):
                raise UnsupportedError(f"compression {compression} is not available in this netCDF library")
        self._definer = Definer(plan, self._format, self.path)
        if self._format.startswith("NETCDF3"):
            # every value is written, so that none need be pre-filled
            file.set_fill_off()
        self._replay = None if isinstance(file, OutputBody) else Replay(self._definer.records, file)
        self._undefined = {each.name: each for each in plan.variables.values()}
        self._facts = {name: super(NetCDFSink, self)._known(each) for name, each in self._undefined.items()}
        self._define_known()
        may_be_direct = self._format.startswith("NETCDF4") and self._replay is not None
        self._may_be_direct = may_be_direct and direct.is_worth([*plan.variables.values()])

    def _define_known(self) -> None:
        """Define variables in their order, up to the first one whose values decide how it is defined.

        A variable that is defined later moves all data already in a classic file, once for those defined together.
        """
        with self._defining():
            for name, plan in [*self._undefined.items()]:
                facts = self._facts[name]
                if facts is None:
                    return
                with Guard(UnsupportedError, self.path, name):
                    self._defined[name] = self._define(plan, facts)

    def _defining(self) -> AbstractContextManager[None]:
        """Return a block in which variables are defined together."""
        return contextlib.nullcontext() if self._replay is None else defining(self._file)

    def _define(self, plan: VariablePlan, facts: Facts) -> DefinedVariable:
        del self._undefined[plan.name]
        rounding = self._storage.rounding(plan, facts.type)
        if rounding is not None:
            self._roundings[plan.name] = rounding
            set_rounding(plan, rounding, self._container(rounding))
        defined = self._definer.define(plan, facts, functools.partial(is_available, self._file))
        if self._replay is not None:
            self._replay.define()
        return defined

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

    def _writer(self, plan: VariablePlan, facts: Facts) -> VariableWriter:
        defined = self._defined.pop(plan.name, None)
        if defined is None:
            self._give_to_library()
            self._facts[plan.name] = facts
            if plan is not next(iter(self._undefined.values())):  # written before another one that is undefined
                with self._defining():
                    defined = self._define(plan, facts)
            self._define_known()
            defined = defined or self._defined.pop(plan.name)
        rounding = self._roundings.get(plan.name)
        if self._replay is None:
            return RecordingWriter(defined, rounding, self._arrays)
        if self._is_direct or (self._may_be_direct and direct.gains(plan)):
            self._give_to_h5py()
            writer = direct.writer_of(self._file, defined, rounding)
            if writer is not None:
                return writer
        self._give_to_library()
        return SlabWriter(defined, rounding, self._replay.find(plan.name))

    def _give_to_h5py(self) -> None:
        """Let h5py have the file, which the library closes."""
        if not self._is_direct:
            self._end()
            with self._target.lent_again() as written:
                self._file = direct.open_file(written)
            self._is_direct = True

    def _give_to_library(self) -> None:
        """Let the library have the file, which h5py closes."""
        if self._is_direct and self._replay is not None:
            self._end()
            self._is_direct = False
            with self._target.lent_again() as written:
                self._file = append_to_file(written, self.path)
            self._replay.file = self._file


def _close_quietly(file: Any) -> None:
    with contextlib.suppress(*ERRORS):
        file.close()
