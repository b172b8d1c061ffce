"""Writing: a file of a library as a Sink.

Blocks of one variable become slabs of the file. Where all values of a variable must be known before the first one is
written, blocks are spooled and read twice.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...body import Opened
from ...body.target import naming
from ...errors import DsError, UnsupportedError
from ..base import BLOCK_SIZE, Metadata
from ..sink import FileSink
from ..slabs import slab_runs
from .guard import Guard, telling_of_a_full_disk
from .plan import FilePlan, Plan


class Spool(Opened):
    """Blocks that can be gone through again: the only one, or a file without a name."""

    def __init__(self, blocks: Iterable[Any], total: int, folder: str):
        rest = iter(blocks)
        first = list(_take(rest))
        self._only = first if not first or np.size(first[0]) >= total else None
        if self._only is None:
            # pickle suits every kind of block; nobody else can reach what lies in between
            self._file = tempfile.SpooledTemporaryFile(BLOCK_SIZE, dir=folder or None)  # noqa: SIM115
            try:
                for block in (*first, *rest):
                    pickle.dump(block, self._file, protocol=5)
            except BaseException:
                self._file.close()
                raise

    def __iter__(self) -> Iterator[Any]:
        if self._only is not None:
            yield from self._only
            return
        self._file.seek(0)
        while True:
            try:
                yield pickle.load(self._file)
            except EOFError:
                return

    def close(self) -> None:
        """Give back memory and file."""
        if self._only is None:
            self._file.close()


def _take(blocks: Iterator[Any]) -> Iterator[Any]:
    for block in blocks:
        yield block
        return


class LibraryWriter(ABC, Generic[Plan]):
    """Takes the blocks of one variable, which is defined in the file.

    Parameters
    ----------
    plan : VariablePlan
    """

    def __init__(self, plan: Plan):
        self.plan = plan
        self.written = 0
        """Values so far."""

    @abstractmethod
    def values(self, block: Any) -> NDArray[Any]:
        """Return a block as (N, ...) values of the file, in C order.

        Raises
        ------
        UnsupportedError
            If a value is not possible in the variable.
        """

    @abstractmethod
    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Write a slab, of the shape of the slices; without any, one value."""

    @abstractmethod
    def finish(self) -> list[str]:
        """Finish the variable when all values are written; return what to warn of."""

    def add(self, values: NDArray[Any]) -> None:
        """Write (N, ...) values of the file behind those already written."""
        if self.written + len(values) > self.plan.total:
            raise UnsupportedError(f"found more than {self.plan.total} values")
        start = self.written
        for slices in slab_runs(self.plan.shape or (), start, start + len(values)):
            sizes = [s.stop - s.start for s in slices]
            n = math.prod(sizes)
            part = values[self.written - start : self.written - start + n]
            self.put(slices, part.reshape([*sizes, *values.shape[1:]]))
            self.written += n


Form = TypeVar("Form")
"""What must be known of all values of a variable before it can be defined."""


class LibrarySink(FileSink, Generic[Plan, Form]):
    """A file being written by a library; see `ds_format.drivers.base.Sink`.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    UnsupportedError
        If the format cannot hold the dataset.
    """

    def __init__(self, path: Any, meta: Metadata, *, atomic: bool, durable: bool):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._file: Any = None
        self._written: dict[str, int] = {}
        try:
            self._plan = self._plan_file()
        except DsError as error:
            raise error.at(path=self.path) from error.__cause__
        try:
            # the library would report a missing folder as a lack of permission
            with naming(self.path), self._target.lent() as written:
                self._file = self._create_file(written)
            with self._guard(UnsupportedError):
                self._define_file()
        except BaseException:
            self.abort()
            raise

    @abstractmethod
    def _guard(self, error: type[DsError], variable: str | None = None) -> Guard:
        """Guard calls of the library."""

    @abstractmethod
    def _plan_file(self) -> FilePlan[Plan]:
        """Return what the file needs, or raise an UnsupportedError."""

    @abstractmethod
    def _create_file(self, written: str) -> Any:
        """Begin the file, and return it as the library has it."""

    @abstractmethod
    def _define_file(self) -> None:
        """Define what can be defined already: groups, attributes."""

    @abstractmethod
    def _known(self, plan: Plan) -> Form | None:
        """Return what must be known of a variable, if its metadata tell it."""

    @abstractmethod
    def _survey(self, plan: Plan, blocks: Iterable[Any]) -> Form:
        """Return what must be known of a variable from all its values."""

    @abstractmethod
    def _writer(self, plan: Plan, form: Form) -> LibraryWriter[Plan]:
        """Define a variable, and return what writes it."""

    @abstractmethod
    def _warn(self, message: str, variable: str) -> None:
        """Warn of what becomes of a variable."""

    def _complete(self) -> None:
        """Write what needs all variables, before the file is closed."""

    @abstractmethod
    def _close_file(self, file: Any) -> None:
        """Close the file."""

    def _check_open(self) -> None:
        if self._file is None:
            raise DsError("the file is finished, or given up")

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        self._check_open()
        plan = self._plan.variables[name]
        if plan.name in self._written:
            raise DsError("written for the second time")
        with telling_of_a_full_disk(self._target, self.path):
            form = self._known(plan)
            if form is not None:
                self._put_all(plan, form, blocks)
                return
            with contextlib.closing(Spool(blocks, plan.total, os.path.dirname(self._target.final))) as spool:
                self._put_all(plan, self._survey(plan, spool), spool)

    def _put_all(self, plan: Plan, form: Form, blocks: Iterable[Any]) -> None:
        with self._guard(UnsupportedError, plan.name):
            writer = self._writer(plan, form)
        for block in blocks:
            with self._guard(UnsupportedError, plan.name):
                values = writer.values(block)
            with self._guard(DsError, plan.name):
                writer.add(values)
        with self._guard(DsError, plan.name):
            told = writer.finish()
        for message in told:
            self._warn(message, plan.name)
        self._written[plan.name] = writer.written

    def _finish(self) -> None:
        self._check_open()
        with telling_of_a_full_disk(self._target, self.path):
            for plan in self._plan.variables.values():
                if plan.name not in self._written:
                    self._put_all(plan, self._known(plan) or self._survey(plan, ()), ())
                written = self._written[plan.name]
                if written != plan.total:
                    raise UnsupportedError(f"found {written} values, expected {plan.total}", variable=plan.name)
            with self._guard(DsError):
                self._complete()
            self._end()

    def _close(self) -> None:
        # what made the library fail before makes it fail again
        with contextlib.suppress(DsError):
            self._end()

    def _end(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with self._guard(DsError):
                self._close_file(file)
