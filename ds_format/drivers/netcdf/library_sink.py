"""Writing: a netCDF-4 file as a Sink, by the netCDF4 library."""

from __future__ import annotations

from typing import Any

from ...errors import UnsupportedError
from ..library.plan import Facts, VariablePlan
from .calls import close_file, create_file, defining, drop
from .defining import Replay
from .definition import DefinedVariable
from .format import is_available
from .sink import NetCDFSink
from .slab_writing import SlabWriter
from .writers import VariableWriter


class LibraryNetCDFSink(NetCDFSink):
    """A netCDF-4 file that the library writes; see `NetCDFSink`."""

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            drop(file)

    def _create_file(self) -> Any:
        with self._lent() as written:
            return create_file(written, self._format, self.path)

    def _close_file(self, file: Any) -> None:
        close_file(file)

    def _begin_definitions(self) -> None:
        for compression in sorted(self._storage.compressions):
            if not self._is_available(compression):
                raise UnsupportedError(f"compression {compression} is not available in this netCDF library")
        self._replay = Replay(self._definer.records, self._file)

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
        defined = self._definition(plan, facts)
        return SlabWriter(defined, self._roundings.get(plan.name), self._replay.find(plan.name))
