"""Writing: a classic file as a Sink, without a library.

When all variables are defined, the position of each is known, and blocks are written where they belong. Values that
arrive before are kept until then. A small file is put together in memory. A piece of a large variable is written while
the next is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.threads import Behind
from ....body.body import OutputBody
from ....classic.composing import ClassicLayout, Extent
from ....model.rounding import Rounding
from ...library.plan import Facts, VariablePlan
from ...spool import BlockPool
from ..definition import DefinedVariable
from ..sink import OwnSink
from ..writers import ConsecutiveWriter, VariableWriter
from .composing import SmallFile, lay_out, put, stored

SMALL_SIZE = 1024 * 1024
"""Bytes of a file that is put together in memory."""

PIECE = 256 * 1024
"""Values that are converted at a time."""

MANY = 4
"""Pieces of a variable from which on a thread writes them."""

FEW = 4096
"""Values of a variable that wait in memory."""


class ClassicSink(OwnSink):
    """A classic file being written; see `NetCDFSink`."""

    _layout: ClassicLayout | None = None
    _pool: BlockPool | None = None
    _behind: Behind | None = None

    def _create_file(self) -> OutputBody:
        self._waiting: dict[str, Iterable[Any]] = {}
        """Names of variables → blocks that were written before all variables were defined."""
        self._untouched: set[str] = set()
        """Names of variables without values so far."""
        return super()._create_file()

    def _close_file(self, file: OutputBody) -> None:
        super()._close_file(file)
        if self._pool is not None:
            self._pool.close()

    def _is_available(self, compression: str) -> bool:
        return False

    def _put_all(self, plan: VariablePlan, facts: Facts, blocks: Iterable[Any]) -> None:
        if plan.name in self._undefined:
            self._facts[plan.name] = facts
            self._define_known()
        if self._undefined:
            if plan.total <= FEW:
                self._waiting[plan.name] = [*blocks]
                return
            self._pool = self._pool or BlockPool(self._target.final)
            self._waiting[plan.name] = self._pool.add(blocks)
            return
        self._lay_out()
        self._put_pieces(plan, facts, blocks)

    def _lay_out(self) -> None:
        """Fix the positions of all variables, and write what waits for it."""
        if self._layout is not None:
            return
        records = self._definer.records
        self._layout = lay_out(records)
        self._extents = dict(zip(records.variables, self._layout.extents, strict=True))
        self._untouched.update(records.variables)
        self._output = SmallFile(self._layout.size) if self._layout.size <= SMALL_SIZE else self._file
        self._output.write(0, self._layout.header)
        plans = {plan.name: plan for plan in self._plan.variables.values()}
        for name, blocks in self._waiting.items():
            facts = self._facts[name]
            if facts is not None:
                with self._at(name):
                    self._put_pieces(plans[name], facts, blocks)

    def _put_pieces(self, plan: VariablePlan, facts: Facts, blocks: Iterable[Any]) -> None:
        self._behind = None
        if plan.total <= MANY * PIECE:
            super()._put_all(plan, facts, _pieces(blocks))
            return
        with Behind() as self._behind:
            super()._put_all(plan, facts, _pieces(blocks))

    def _writer(self, plan: VariablePlan, facts: Facts) -> VariableWriter:
        self._untouched.discard(plan.name)
        defined = self._defined.pop(plan.name)
        rounding, extent = self._roundings.get(plan.name), self._extents[plan.name]
        return ClassicWriter(defined, rounding, self._output, extent, self._behind)

    def _complete(self) -> None:
        self._lay_out()
        for name in self._untouched:
            extent = self._extents[name]
            put(self._output, extent, 0, extent.fill * (extent.size * extent.records // len(extent.fill)))
        if isinstance(self._output, SmallFile):
            self._file.write(0, self._output.data)


def _pieces(blocks: Iterable[Any]) -> Iterator[Any]:
    """Yield the values of blocks in parts that stay in the cache of a processor from one step to the next."""
    for block in blocks:
        if np.size(block) <= PIECE:
            yield block
        else:
            flat = block.reshape(-1)
            for i in range(0, flat.size, PIECE):
                yield flat[i : i + PIECE]


class ClassicWriter(ConsecutiveWriter):
    """Writes values as big-endian bytes.

    Parameters
    ----------
    defined : DefinedVariable
    rounding : Rounding, optional
    output : OutputBody or SmallFile
    extent : Extent
    behind : Behind, optional
        Writes.
    """

    def __init__(
        self,
        defined: DefinedVariable,
        rounding: Rounding | None,
        output: OutputBody | SmallFile,
        extent: Extent,
        behind: Behind | None,
    ):
        super().__init__(defined, rounding)
        self.output = output
        self.extent = extent
        self.behind = behind
        self.position = 0
        """Bytes so far."""

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Write values after those already written, whatever the slices."""
        raw = stored(values, self.extent)
        if self.behind is not None and not np.may_share_memory(raw, values):  # the caller may change its values
            self.behind.call(put, self.output, self.extent, self.position, raw)
        else:
            put(self.output, self.extent, self.position, raw)
        self.position += raw.nbytes

    def finish(self) -> list[str]:
        """Fill what has no values; see `LibraryWriter.finish`."""
        if self.behind is not None:
            self.behind.wait()
        missing = self.extent.size * self.extent.records - self.position
        if missing > 0:
            put(self.output, self.extent, self.position, self.extent.fill * (missing // len(self.extent.fill)))
        return super().finish()
