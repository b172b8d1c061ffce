"""Writing: a netCDF-4 file as a Sink, by the netCDF4 library, and by h5py what is compressed here."""

from __future__ import annotations

import contextlib
from typing import Any

from ...errors import UnsupportedError
from ..base import Metadata
from ..library.guard import ERRORS, LOCK
from ..library.plan import Facts, VariablePlan
from . import direct
from .calls import append_to_file, close_file, create_file, defining, drop
from .defining import Replay
from .definition import DefinedVariable
from .format import is_available
from .sink import NetCDFSink, WritingPlan
from .slab_writing import SlabWriter
from .writers import VariableWriter


class LibraryNetCDFSink(NetCDFSink):
    """A netCDF-4 file that the library writes; see `NetCDFSink`."""

    def __init__(self, path: Any, meta: Metadata, planned: WritingPlan, *, atomic: bool, durable: bool):
        self._is_direct = False
        super().__init__(path, meta, planned, atomic=atomic, durable=durable)

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is None:
            return
        if self._is_direct:
            LOCK.later(lambda: _close_quietly(file))
        else:
            drop(file)

    def _create_file(self) -> Any:
        with self._lent() as written:
            return create_file(written, self._format, self.path)

    def _close_file(self, file: Any) -> None:
        if self._is_direct:
            file.close()
        else:
            close_file(file)

    def _begin_definitions(self) -> None:
        for compression in sorted(self._storage.compressions):
            if not self._is_available(compression):
                raise UnsupportedError(f"compression {compression} is not available in this netCDF library")
        self._replay = Replay(self._definer.records, self._file)
        self._may_be_direct = direct.is_worth([*self._plan.variables.values()])

    def _is_available(self, compression: str) -> bool:
        return is_available(self._file, compression)

    def _define_known(self) -> None:
        with defining(self._file):
            super()._define_known()

    def _define(self, plan: VariablePlan, facts: Facts) -> DefinedVariable:
        defined = super()._define(plan, facts)
        with defining(self._file):
            self._replay.define()
        return defined

    def _writer(self, plan: VariablePlan, facts: Facts) -> VariableWriter:
        if plan.name not in self._defined:
            self._give_to_library()
        defined = self._definition(plan, facts)
        rounding = self._roundings.get(plan.name)
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
        if self._is_direct:
            self._end()
            self._is_direct = False
            with self._target.lent_again() as written:
                self._file = append_to_file(written, self.path)
            self._replay.file = self._file


def _close_quietly(file: Any) -> None:
    with contextlib.suppress(*ERRORS):
        file.close()
