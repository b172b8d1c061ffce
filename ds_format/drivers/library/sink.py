"""Writing: a file of a library as a Sink.

Blocks of one variable become slabs of the file. If all values of a variable must be known before the first one is
written, blocks are spooled and read twice.
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Generic

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...body.body import OutputBody
from ...body.target import naming
from ...errors import DsError, UnsupportedError
from ...model.missing import Sentinels, filled, is_value
from ..base import warn
from ..sink import FileSink, TargetSink, regrouped
from ..slabs import slab_runs
from ..spool import Spool
from ..strings import as_bytes, as_objects, check_kind, encoded
from .guard import Guard, telling_of_a_full_disk
from .plan import Facts, FilePlan, Plan, survey


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
        self.has_missing = False
        """Whether a value was missing so far."""
        self.step: int | None = None
        """Values that are written together; None: those of a block."""

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

    def marked(self, block: Any) -> NDArray[Any]:
        """Return (N,) numbers in the type of the file, with the first sentinel for missing ones."""
        values, gone = self.numbers(block)
        self.count_clashes(values, gone)
        if gone is None:
            return values
        if not self.sentinels:
            raise UnsupportedError('found missing values, expected none (property ".missing")')
        self.has_missing = True
        return filled(values, gone, self.sentinels)

    def count_clashes(self, values: NDArray[Any], gone: NDArray[np.bool_] | None) -> None:
        """Count present values that equal a sentinel."""
        for i, sentinel in enumerate(self.sentinels):
            self.clashes[i] += count_present(values, gone, sentinel)

    def add(self, values: NDArray[Any], guard: AbstractContextManager[None]) -> None:
        """Write (N, ...) values of the file after those already written, with the library guarded."""
        start = self.written
        with guard:
            for slices in slab_runs(self.plan.shape or (), start, start + len(values)):
                sizes = [s.stop - s.start for s in slices]
                n = math.prod(sizes)
                part = values[self.written - start : self.written - start + n]
                self.put(slices, part.reshape([*sizes, *values.shape[1:]]))
                self.written += n


def count_present(values: NDArray[Any], gone: NDArray[np.bool_] | None, number: np.generic) -> int:
    """Return how many values that are not missing equal a number."""
    hits = is_value(values, number)
    return int(np.count_nonzero(hits if gone is None else hits & ~gone))


class LibrarySink(TargetSink, Generic[Plan]):
    """A file or folder being written by a library; see `ds_format.drivers.base.Sink`.

    A format plans the file, and defines a variable from the facts about its values. It also derives from `FileSink` or
    `FolderSink`, and its constructor ends with `_begin`.
    """

    _plan: FilePlan[Plan]
    _file: Any = None
    """The open file as the library has it."""

    def _begin(self) -> None:
        """Plan the file, create it, and define what can be defined already.

        Raises
        ------
        OSError
            As `open` in mode `x` would; IsADirectoryError if the target is a folder.
        UnsupportedError
            If the format cannot hold the dataset.
        """
        try:
            self._plan = self._plan_file()
        except DsError as error:
            raise error.at(path=self.path) from error.__cause__
        try:
            self._file = self._create_file()
            with self._guard(UnsupportedError):
                self._define_file()
        except BaseException:
            self.abort()
            raise

    def _guard(self, error: type[DsError], variable: str | None = None) -> AbstractContextManager[None]:
        """Return a block that guards the library; parameters as of `Guard`."""
        return Guard(error, self.path, variable)

    @abstractmethod
    def _plan_file(self) -> FilePlan[Plan]:
        """Return what the file needs, or raise an UnsupportedError."""

    @abstractmethod
    def _create_file(self) -> Any:
        """Begin the file, and return it as the library has it."""

    @abstractmethod
    def _define_file(self) -> None:
        """Define what can be defined already: groups, attributes."""

    def _known(self, plan: Plan) -> Facts | None:
        """Return the facts that defining a variable needs, if its metadata have them."""
        if plan.shape is None:
            return Facts(plan.type or "int8")
        if plan.total == 0:
            return Facts(plan.type or "float64")
        if plan.type is None:
            return None
        return (self._known_strings if TYPES[plan.type].is_string else self._known_numbers)(plan, plan.type)

    def _known_numbers(self, plan: Plan, type_name: str) -> Facts | None:
        """Do the same for numbers or booleans: their values matter if a free number has to be found among them."""
        return Facts(type_name) if plan.missing is False or self._candidates(plan, type_name) is None else None

    def _known_strings(self, plan: Plan, type_name: str) -> Facts | None:
        """Do the same for strings: their values matter for the mark of missing ones, and for how they are stored."""
        return None

    def _survey(self, plan: Plan, blocks: Iterable[Any]) -> Facts:
        """Return the facts that defining a variable needs, from all its values."""
        return survey(blocks, plan.type, partial(self._candidates, plan), self._as_bytes)

    @abstractmethod
    def _candidates(self, plan: Plan, type_name: str) -> NDArray[Any] | None:
        """Return numbers of a type that may mark missing values, the best first; None: they are not searched for."""

    _as_bytes: Callable[[Any], bytes] = staticmethod(as_bytes)
    """Makes bytes of a string, or raises an UnsupportedError."""

    @abstractmethod
    def _writer(self, plan: Plan, facts: Facts) -> LibraryWriter[Plan]:
        """Define a variable, and return its writer."""

    def _complete(self) -> None:
        """Write what needs all variables, before the file is closed."""

    @abstractmethod
    def _close_file(self, file: Any) -> None:
        """Close the file."""

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        plan = self._plan.variables[name]
        with telling_of_a_full_disk(self._target, self.path):
            facts = self._known(plan)
            if facts is not None:
                self._put_all(plan, facts, blocks)
                return
            with contextlib.closing(Spool(blocks, plan.total, self._target.final)) as spool:
                self._put_all(plan, self._survey(plan, spool), spool)

    def _put_all(self, plan: Plan, facts: Facts, blocks: Iterable[Any]) -> None:
        with self._guard(UnsupportedError, plan.name):
            writer = self._writer(plan, facts)
        values = self._values(writer, blocks)
        for part in values if writer.step is None else regrouped(values, writer.step):
            writer.add(part, self._guard(DsError, plan.name))
        with self._guard(DsError, plan.name):
            told = writer.finish()
        for message in told:
            warn(message, self.path, plan.name, category=self.category)

    def _values(self, writer: LibraryWriter[Plan], blocks: Iterable[Any]) -> Iterator[NDArray[Any]]:
        for block in blocks:
            with self._guard(UnsupportedError, writer.plan.name):
                values = writer.values(block)
            yield values

    def _finish(self) -> None:
        with telling_of_a_full_disk(self._target, self.path):
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


class OwnFileSink(LibrarySink[Plan], FileSink):
    """A file that is written by the same steps as those of a library, but without one."""

    def _create_file(self) -> OutputBody:
        with naming(self.path):
            return self._target.open()

    def _close_file(self, file: OutputBody) -> None:
        file.close()
        with self._target.lent_again():
            pass  # the HDF5 library locks what it reads: the lock here must not be in its way

    @contextlib.contextmanager
    def _at(self, variable: str | None) -> Iterator[None]:
        try:
            with naming(self.path):
                yield
        except DsError as error:
            raise error.at(path=self.path, variable=variable) from error.__cause__

    def _guard(self, error: type[DsError], variable: str | None = None) -> AbstractContextManager[None]:
        return self._at(variable)
