"""The common part of the sinks of all formats; see `ds_format.drivers.base.Sink`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import Type
from ..base.text import unescape
from ..body import Opened, path_text
from ..body.target import FolderTarget, Target, naming
from ..codec.encode import type_of
from ..datasets import META, as_array
from ..errors import DsError, MissingError
from ..model.marks import Marks
from .base import LossWarning, Metadata, warn


class BaseSink(Opened, ABC):
    """Base of all sinks.

    Parameters
    ----------
    path : str, bytes or PathLike
        Path of the file, also used in messages.
    meta : Metadata
    """

    category: ClassVar[type[LossWarning]] = LossWarning
    """Category of the warnings of the format."""

    def __init__(self, path: Any, meta: Metadata):
        self.path = path_text(path)
        self.meta = meta
        self._is_open = True
        self._begun: dict[str, bool] = {}
        """Keys of variables → whether all of the variable is written."""
        self._ahead = iter(meta)
        self._passed: set[str] = set()
        """Keys that `_ahead` has yielded."""
        self._added: set[str] = set()
        """Keys of variables without values that the caller has not written yet."""

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write one variable; see `Sink.write`.

        Raises
        ------
        MissingError
            If the metadata do not have this variable.
        UnsupportedError
            If the format does not support a value.
        DsError
            If the number of values is not that of `.size`, the variable was written before, or the file is finished.
        """
        self._check_open()
        if name not in self.meta or name == META:
            raise MissingError("variable not found in the metadata", path=self.path, variable=unescape(name))
        self._add_before(name)
        marks = None if self._keeps_marks(name) else Marks.of_type(self.meta[name])
        try:
            seen = blocks if marks is None else marks.over(blocks)
            counted = self._counted(seen, self.meta[name].get(".size"))
            if name in self._added:
                self._added.remove(name)
            elif name in self._begun:
                raise DsError("written for the second time")
            else:
                self._begun[name] = False
                self._write(name, counted)
            for _ in counted:  # a driver may stop after the last expected value
                pass
            self._begun[name] = True
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))
        if marks is not None and (told := marks.told()):
            warn(f"{told}: a mask does not tell them apart", self.path, unescape(name), category=self.category)

    def _keeps_marks(self, name: str) -> bool:
        """Return whether the file keeps by which number each missing value of a variable is marked."""
        return False

    def _check_open(self) -> None:
        if not self._is_open:
            raise DsError("the file is already finished or aborted", path=self.path)

    def _counted(self, blocks: Iterable[Any], size: Sequence[int] | None) -> Iterator[Any]:
        """Yield blocks, and raise a DsError if they have not as many values as `.size` says."""
        n, expected = 0, 0 if size is None else math.prod(size)
        said = f".size {None if size is None else list(size)} says"
        for block in blocks:
            n += np.size(block)
            if n > expected:
                raise DsError(f"found more values than {said}")
            yield block
        if n != expected:
            raise DsError(f"found {n} values, expected {expected} as {said}")

    def _add_before(self, name: str) -> None:
        """Write the variables without values that come before a variable, so that they keep their order if left out."""
        while name not in self._passed:
            key = next(self._ahead)
            self._passed.add(key)
            size = self.meta[key].get(".size")
            if key not in (name, META) and key not in self._begun and (size is None or 0 in size):
                self.write(key, ())
                self._added.add(key)

    def _write_omitted(self) -> None:
        """Write the variables that were left out, which have no values; see `Sink.write`.

        Raises
        ------
        DsError
            If one of them has values.
        """
        for key in self.meta:
            if key != META and key not in self._begun:
                self.write(key, ())

    @abstractmethod
    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write a variable that is in the metadata.

        Parameters
        ----------
        name : str
        blocks : iterable
            The blocks as `write` got them. Iterating over all of them raises an error if there are not as many values
            as `.size` says.
        """


class TargetSink(BaseSink):
    """A file or folder being written. It gets its final name when it is complete."""

    _target: Target | FolderTarget

    def commit(self) -> None:
        """Finish the file, and rename it to its final name.

        Raises
        ------
        DsError, OSError
            If this fails. Then an existing file of this name is unchanged.
        """
        self._check_open()
        try:
            for key, is_complete in self._begun.items():
                if not is_complete:
                    raise DsError("writing it failed, so the file cannot be finished", variable=unescape(key))
            with naming(self.path):
                self._write_omitted()
                self._finish()
                self._target.commit()
            self._is_open = False
        except DsError as error:
            self.abort()
            raise error.at(path=self.path)
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Remove everything that was written."""
        self._is_open = False
        try:
            self._close()
        finally:
            self._target.abort()

    @abstractmethod
    def _finish(self) -> None:
        """Write the remaining data, and close the file. All variables are written."""

    @abstractmethod
    def _close(self) -> None:
        """Close everything that is open, finished or not. It may be called again."""


class FileSink(TargetSink):
    """A file being written. It gets its final name when it is complete.

    Parameters
    ----------
    path : str, bytes or PathLike
        If it is a link, the target of the link is written.
    meta : Metadata
    atomic, durable : bool
        As for `target.Target`.

    Raises
    ------
    OSError
        If something other than a file has this name; without `atomic`, if a file has it.
    """

    _target: Target

    def __init__(self, path: Any, meta: Metadata, *, atomic: bool, durable: bool):
        super().__init__(path, meta)
        self._target = Target(path, atomic=atomic, durable=durable)

    def _create(self) -> int:
        """Create the file, and return a descriptor for reading and writing; see `Target.create`."""
        with naming(self.path):
            return self._target.create()

    @contextmanager
    def _lent(self) -> Iterator[str]:
        """Create the file for a library, which opens it by this name; see `Target.lent`."""
        # the library would report a missing folder as a lack of permission
        with naming(self.path), self._target.lent() as written:
            yield written


class FolderSink(TargetSink):
    """A folder being written. It gets its final name when it is complete.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
    durable : bool
    replaces : callable
        As for `target.FolderTarget`.

    Raises
    ------
    OSError
        If a folder has this name that must not be replaced.
    """

    _target: FolderTarget

    def __init__(self, path: Any, meta: Metadata, *, durable: bool, replaces: Callable[[str], bool]):
        super().__init__(path, meta)
        self._target = FolderTarget(path, durable=durable, replaces=replaces)

    def _create(self) -> str:
        """Create the folder under a temporary name, and return its path."""
        with naming(self.path):
            return self._target.create()


def regrouped(blocks: Iterable[Any], n: int) -> Iterator[NDArray[Any]]:
    """Yield the values of blocks in arrays of other lengths, as chunks of a file need them.

    Parameters
    ----------
    blocks : iterable of ndarray
        Their shapes do not matter.
    n : int
        Values of each array except the last one; at least 1.

    Yields
    ------
    ndarray
        (n,)
    """
    held: list[NDArray[Any]] = []
    size = 0
    for block in blocks:
        flat = block.reshape(-1)
        while size + flat.size >= n:
            held.append(flat[: n - size])
            flat = flat[n - size :]
            yield held[0] if len(held) == 1 else np.concatenate(held)
            held, size = [], 0
        if flat.size:
            held.append(flat)
            size += flat.size
    if held:
        yield np.concatenate(held)


def typed_blocks(blocks: Iterable[Any], hint: str | None) -> Iterator[tuple[Any, Type]]:
    """Yield the blocks of a variable as arrays, each with the ds type that all of them have.

    Parameters
    ----------
    blocks : iterable
    hint : str, optional
        `.type` of the variable: the type of text in a block without a present value.

    Raises
    ------
    UnsupportedError
        If there is no ds type for a block.
    DsError
        If a block has another type than the first one.
    """
    first: Type | None = None
    for block in blocks:
        array = as_array(block)
        found = type_of(array, hint if first is None else first.name)
        if first is not None and found is not first:
            raise DsError(f"found values of type {found.name}, expected {first.name}")
        first = found
        yield array, found


def count_payloads(array: Any) -> int:
    """Return the number of present NaN values with unusual bits, which text cannot represent.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Array of any dtype. The sign of a NaN is ignored: it has no meaning, and processors produce both.
    """
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    if data.dtype.kind != "f":
        return 0
    flags = np.isnan(data)
    found = data[flags if mask is np.ma.nomask else flags & ~mask]
    found = found.astype(found.dtype.newbyteorder("="), copy=False)
    bits = found.view(f"u{found.itemsize}")
    usual = np.array([np.nan], found.dtype).view(bits.dtype)  # 1-d: NumPy 1 shifts no 0-d uint64
    return int(np.count_nonzero(bits << 1 != usual << 1))
