"""Writing: a file of a library as a Sink.

Blocks of one variable become slabs of the file. If all values of a variable must be known before the first one is
written, blocks are spooled and read twice.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...body import Opened
from ...body.target import naming
from ...errors import DsError, UnsupportedError
from ...model.missing import Sentinels, is_value
from ..base import BLOCK_SIZE, Metadata, warn
from ..sink import FileSink
from ..slabs import slab_runs
from ..strings import as_bytes, as_objects, check_kind, encoded
from .guard import Guard, telling_of_a_full_disk
from .plan import FilePlan, Plan


class Spool(Opened):
    """Blocks that can be gone through again: the only one, or a file without a name."""

    def __init__(self, blocks: Iterable[Any], total: int, folder: str):
        rest = iter(blocks)
        first = list(_take(rest))
        self._only = first if not first or np.size(first[0]) >= total else None
        if self._only is None:
            # pickle suits every kind of block; no other process can reach what is in between
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
    type_name : str
        ds type.
    dtype : dtype, optional
        Dtype of numbers in the file.
    sentinels : list
        Numbers that mean "missing" to readers.
    mark : bytes, optional
        Written for a missing string.
    """

    CLASH: ClassVar[str] = "which means missing"
    """Why present values that equal a sentinel are a problem; the end of a warning."""

    def __init__(
        self, plan: Plan, type_name: str, dtype: np.dtype[Any] | None, sentinels: Sentinels, mark: bytes | None
    ):
        self.plan = plan
        self.type = type_name
        self.dtype = np.dtype(TYPES[type_name].code) if dtype is None else dtype
        self.sentinels = sentinels
        self.mark = mark
        self.written = 0
        """Values so far."""
        self.clashes = [0] * len(sentinels)
        """Present values that equal each of the sentinels."""

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

    def finish(self) -> list[str]:
        """Finish the variable when all values are written; return what to warn of."""
        found = [(n, value) for n, value in zip(self.clashes, self.sentinels, strict=True) if n]
        return [f"{n} present values equal {value}, {self.CLASH}" for n, value in found]

    def byte_strings(self, block: Any, convert: Callable[[Any], bytes] = as_bytes) -> NDArray[Any]:
        """Return strings as (N,) byte strings, with the mark for missing ones."""
        values, mask = as_objects(block)
        if mask is not None and self.mark is None:
            raise UnsupportedError('found missing strings, expected none (property ".missing")')
        check_kind(values, mask, self.type)
        return encoded(values, mask, self.mark or b"", convert).reshape(-1)

    def numbers(self, block: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return (N,) numbers in the type of the file, which must hold them exactly, and which are missing."""
        values = np.asarray(np.ma.getdata(block)).reshape(-1)
        mask = np.ma.getmask(block)
        gone = np.asarray(mask).reshape(-1) if mask is not np.ma.nomask and np.any(mask) else None
        expected = np.dtype(TYPES[self.type].code)
        if values.dtype != expected:
            if values.dtype.kind not in "fiub":
                raise UnsupportedError(f"found values of type {values.dtype}, expected {self.type}")
            present = values if gone is None else values[~gone]
            with np.errstate(invalid="ignore", over="ignore"):
                back = present.astype(expected).astype(values.dtype)
            if not np.array_equal(back, present, equal_nan=values.dtype.kind == "f"):
                raise UnsupportedError(f"found values of type {values.dtype} that do not fit {self.type}")
        with np.errstate(invalid="ignore", over="ignore"):
            return values.astype(self.dtype, copy=False), gone

    def count_clashes(self, values: NDArray[Any], gone: NDArray[np.bool_] | None) -> None:
        """Count present values that equal a sentinel."""
        for i, sentinel in enumerate(self.sentinels):
            self.clashes[i] += count_present(values, gone, sentinel)

    def add(self, values: NDArray[Any], guard: Guard) -> None:
        """Write (N, ...) values of the file after those already written, with the library guarded."""
        start = self.written
        with guard:
            for slices in slab_runs(self.plan.shape or (), start, start + len(values)):
                sizes = [s.stop - s.start for s in slices]
                n = math.prod(sizes)
                part = values[self.written - start : self.written - start + n]
                self.put(slices, part.reshape([*sizes, *values.shape[1:]]))
                self.written += n


Form = TypeVar("Form")
"""Facts about all values of a variable that defining it needs."""


def count_present(values: NDArray[Any], gone: NDArray[np.bool_] | None, number: np.generic) -> int:
    """Return how many values that are not missing equal a number."""
    hits = is_value(values, number)
    return int(np.count_nonzero(hits if gone is None else hits & ~gone))


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
        try:
            self._plan = self._plan_file()
        except DsError as error:
            raise error.at(path=self.path) from error.__cause__
        try:
            # the library would report a missing folder as a lack of permission
            with naming(self.path), self._target.lent() as written:
                self._file = self._create_file(written)
            with Guard(UnsupportedError, self.path):
                self._define_file()
        except BaseException:
            self.abort()
            raise

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
        """Return the facts that defining a variable needs, if its metadata have them."""

    @abstractmethod
    def _survey(self, plan: Plan, blocks: Iterable[Any]) -> Form:
        """Return the facts that defining a variable needs, from all its values."""

    @abstractmethod
    def _writer(self, plan: Plan, form: Form) -> LibraryWriter[Plan]:
        """Define a variable, and return its writer."""

    def _complete(self) -> None:
        """Write what needs all variables, before the file is closed."""

    @abstractmethod
    def _close_file(self, file: Any) -> None:
        """Close the file."""

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        plan = self._plan.variables[name]
        with telling_of_a_full_disk(self._target, self.path):
            form = self._known(plan)
            if form is not None:
                self._put_all(plan, form, blocks)
                return
            with contextlib.closing(Spool(blocks, plan.total, os.path.dirname(self._target.final))) as spool:
                self._put_all(plan, self._survey(plan, spool), spool)

    def _put_all(self, plan: Plan, form: Form, blocks: Iterable[Any]) -> None:
        with Guard(UnsupportedError, self.path, plan.name):
            writer = self._writer(plan, form)
        guard = Guard(DsError, self.path, plan.name)
        for block in blocks:
            with Guard(UnsupportedError, self.path, plan.name):
                values = writer.values(block)
            writer.add(values, guard)
        with guard:
            told = writer.finish()
        for message in told:
            warn(message, self.path, plan.name, category=self.category)

    def _finish(self) -> None:
        with telling_of_a_full_disk(self._target, self.path):
            with Guard(DsError, self.path):
                self._complete()
            self._end()

    def _close(self) -> None:
        # what made the library fail before makes it fail again
        with contextlib.suppress(DsError):
            self._end()

    def _end(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with Guard(DsError, self.path):
                self._close_file(file)
