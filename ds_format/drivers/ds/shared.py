"""A ds file that several processes write, on one host or several, without a lock.

All that is written has its place before, and each step may be done again by anybody, to the same bytes: what runs the
steps may so lose a process in the middle. The order is `create`, then `Region.write` of all regions and `append` of one
variable after another, then `finish`.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import TYPES
from ...base.text import unescape
from ...body.body import FileBody, OutputBody
from ...body.lock import host
from ...body.target import Target, naming, resolve
from ...codec.encode import Encoded, encode
from ...codec.header import VarHeader
from ...errors import DsError, TruncatedError
from ...kernels.files.names import status, temporary_name
from ...model.index import flat_positions
from ..base import Metadata
from .checksums import of_file
from .composing import Plan
from .sink import Appender

Slab = tuple[slice, ...]
"""One slice with start and stop, and no step, per dimension."""


@dataclass(frozen=True)
class Unfinished:
    """The two names of a file that several processes write. It can be pickled.

    Parameters
    ----------
    path : str
        The name that the file gets when it is whole; absolute, without links.
    written : str
        The name that it has until then.
    """

    path: str
    written: str

    @contextlib.contextmanager
    def opened(self, made: int) -> Iterator[OutputBody | None]:
        """Open the file for writing only, and close it when the block ends.

        None: it has its final name, and so is whole already.

        Parameters
        ----------
        made : int
            What `identity` told when the file was made.

        Raises
        ------
        FileNotFoundError
            If the file has neither name here.
        """
        file = None
        with naming(self.path):
            try:
                file = OutputBody.open_write_only(self.written)
            except FileNotFoundError:
                if self.finished() != made:
                    raise FileNotFoundError(errno.ENOENT, self._unseen(), self.path) from None
            try:
                yield file
            finally:
                if file is not None:
                    file.close()

    def finished(self) -> int | None:
        """Return the identity of what has the final name; None: nothing has."""
        found = status(self.path)
        return None if found is None else identity(found)

    def _unseen(self) -> str:
        return (
            f"host {host()} does not see {os.path.basename(self.written)}, under which name the file is being written: "
            "somebody removed it, or not all workers have the same folder"
        )


def identity(found: os.stat_result) -> int:
    """Return what tells a file from others of its file system.

    Where hosts do not agree on it nothing is lost, but for the way out after a process that finished a file was lost.
    """
    return found.st_ino


@dataclass(frozen=True)
class Region:
    """Where the numbers or booleans of one variable lie in a file that several processes write. It can be pickled.

    Parameters
    ----------
    file : Unfinished
    key : str
        Of the variable.
    offset : int
        Of the first value, in bytes from the start of the file.
    shape : tuple of int
    type : str
        Name of the ds type, not of strings.
    """

    file: Unfinished
    key: str
    offset: int
    shape: tuple[int, ...]
    type: str

    def write(self, part: Slab, block: Any, made: int) -> int:
        """Write a part of the variable. What is written twice is the same then.

        Parameters
        ----------
        part : tuple of slice
        block : array_like
            The values, of the shape of the part, in any byte order and memory layout.
        made : int
            As `Unfinished.opened`.

        Returns
        -------
        int
            Values that were written.

        Raises
        ------
        DsError
            If shape or type are not those of the part, a value is missing, or booleans share a byte with those of
            another part; it names file and variable.
        FileNotFoundError
            If the file is not seen from here.
        """
        try:
            encoded = self._encoded(part, block)
            offsets, size = self._ranges(part)
        except DsError as error:
            raise error.at(path=self.file.path, variable=unescape(self.key))
        with self.file.opened(made) as file:
            if file is not None and size:
                file.write_ranges(offsets, size, encoded.buffers[0])
        return encoded.n

    def _encoded(self, part: Slab, block: Any) -> Encoded:
        array = np.asanyarray(block)
        wanted = tuple(item.stop - item.start for item in part)
        if array.shape != wanted:
            raise DsError(f"found a chunk of shape {array.shape}, expected {wanted}")
        encoded = encode(array, self.type)
        if encoded.type.name != self.type:
            raise DsError(f"found a chunk of type {encoded.type.name}, expected {self.type}")
        if encoded.missing > 0:
            raise DsError("a value is missing, although the metadata say that none can be")
        return encoded

    def _ranges(self, part: Slab) -> tuple[Any, int]:
        """Return where the bytes of a part go, in as few ranges as possible, and how many bytes each has."""
        starts, n = runs(self.shape, part)
        bits = TYPES[self.type].bits
        if bits == 1 and n and not is_apart(starts, n, math.prod(self.shape)):
            raise DsError(f"found a chunk of booleans at {part} that shares bytes with others")
        return self.offset + starts * bits // 8, (n * bits + 7) // 8


def runs(shape: Sequence[int], part: Slab) -> tuple[Any, int]:
    """Return the stretches of values that a part of an array has in C order: as few and as long as possible.

    Returns
    -------
    starts : (N,) int64
        Values before each.
    n : int
        Values of each; 0 if the part is empty.
    """
    axis = len(shape) - 1
    inner = 1
    while axis > 0 and part[axis] == slice(0, shape[axis]):
        inner *= shape[axis]
        axis -= 1
    if axis < 0:
        return np.zeros(1, np.int64), 1
    sizes = [item.stop - item.start for item in part]
    outer = [range(item.start, item.stop) for item in part[:axis]]
    starts = flat_positions(outer, shape[:axis]) * (shape[axis] * inner) + part[axis].start * inner
    return starts, sizes[axis] * inner if len(starts) else 0


def is_apart(starts: Any, n: int, total: int) -> bool:
    """Return whether no bit of stretches shares a byte with the bits of others, of `total` ones in all."""
    return not (starts % 8).any() and (n % 8 == 0 or int(starts[-1]) + n == total)


def are_apart(type_name: str, shape: Sequence[int], chunks: Sequence[Sequence[int]]) -> bool:
    """Return whether no chunks of a variable share a byte: chunks of booleans that do cannot be written at a time.

    Parameters
    ----------
    type_name : str
    shape : sequence of int
    chunks : sequence
        For each dimension the lengths of the chunks along it.
    """
    if TYPES[type_name].bits != 1:
        return True
    split = max((axis for axis, lengths in enumerate(chunks) if len(lengths) > 1), default=None)
    if split is None:
        return True
    inner = math.prod(shape[split + 1 :])
    edges = list(accumulate(chunks[split]))
    if math.prod(shape[:split]) == 1:
        edges.pop()  # no other part has the last byte of all
    return all(edge * inner % 8 == 0 for edge in edges)


class CreatedFile(NamedTuple):
    """What is known of a file when it was created."""

    identity: int
    """Of the file; see `identity`."""
    end: int
    """Of what it has and has room for, in bytes from the start of the file."""
    variables: dict[str, VarHeader]
    """By key: those written at once."""


class Appended(NamedTuple):
    """What is known of a variable that was appended."""

    identity: int
    """Of the file."""
    end: int
    """Of the variable, in bytes from the start of the file."""
    variable: VarHeader


class SharedFile:
    """A ds file that several processes write. It can be pickled, and is planned without touching the disk.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`, and `.type` unless it has no data.
    keys : collection of str
        Variables of numbers or booleans without a mask, not of zero size, that are written by their regions.
    version : str
        Of the format: `1.0` or `2.0.1`.
    durable : bool
        Flush file and folder to the disk at the end.
    checksum : bool
        Add a trailer with checksums, for which the whole file is read at the end; see `checksums`.

    Attributes
    ----------
    regions : dict of Region
        By the keys.

    Raises
    ------
    UnsupportedError
        If the header cannot hold the metadata.
    OSError
        If a folder stands at the path, or anything else that is no file.
    """

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        keys: Collection[str],
        *,
        version: str = "1.0",
        durable: bool = False,
        checksum: bool = False,
    ):
        self.path = os.path.abspath(resolve(path)[0])
        self.durable = durable
        self.checksum = checksum
        self.file = Unfinished(self.path, temporary_name(self.path))
        try:
            self.plan = Plan(meta, version)
        except DsError as error:
            raise error.at(path=self.path)
        self.regions: dict[str, Region] = {}
        self._placed: dict[str, VarHeader] = {}
        self._end = self.plan.body
        for key in keys:
            var = self.plan.place(key, meta[key][".type"], self._end)
            self._end = self.plan.end(var)
            shape = tuple(meta[key][".size"])
            self.regions[key] = Region(self.file, key, self._end - var.length, shape, meta[key][".type"])
            self._placed[key] = var

    def _target(self) -> Target:
        return Target(self.path, durable=self.durable, shared=self.file.written)

    def create(self, arrays: Mapping[str, Any]) -> CreatedFile:
        """Make the file under its temporary name, with room for the header and all regions, and write some variables.

        Parameters
        ----------
        arrays : dict
            Key → ndarray, MaskedArray, or None for a variable without data.

        Raises
        ------
        DsError
            If the format cannot hold a value.
        OSError
            If the file cannot be made, or the disk has no room for it. Then nothing is left of it.
        """
        target = self._target()
        try:
            with naming(self.path):
                file = target.open()
                try:
                    file.extend(self._end)
                    appender = self._appender(file, self._end)
                    variables = {key: self._put(appender, key, array) for key, array in arrays.items()}
                    return CreatedFile(file.current_stamp().inode, appender.end, variables)
                finally:
                    file.close()
        except BaseException:
            target.abort()
            raise

    def append(self, made: CreatedFile, end: int, key: str, array: Any) -> Appended:
        """Write one whole variable behind the others.

        Parameters
        ----------
        made : CreatedFile
        end : int
            Of the variable before, or of what was made.
        key : str
        array : ndarray or MaskedArray

        Raises
        ------
        DsError
            If the format cannot hold a value.
        OSError
            If it cannot be written, or the file is not seen from here.
        """
        with self.file.opened(made.identity) as file:
            if file is None:
                return Appended(made.identity, end, VarHeader(None, None))  # it is done: this is not used
            appender = self._appender(file, end)
            variable = self._put(appender, key, array)
        return Appended(made.identity, appender.end, variable)

    def _appender(self, file: OutputBody, end: int) -> Appender:
        return Appender(file, self.plan, end, self.path, os.path.dirname(self.path))

    def _put(self, appender: Appender, key: str, array: Any) -> VarHeader:
        try:
            return appender.put(key, iter(() if array is None else (array,)))
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(key))

    def finish(
        self, made: CreatedFile, appended: Mapping[str, Appended], written: Mapping[str, Mapping[int, int]]
    ) -> None:
        """Write the header, and give the file its name, if all was written; do nothing if it was done before.

        Parameters
        ----------
        made : CreatedFile
        appended : dict of Appended
            By key, in the order in which they follow each other.
        written : dict
            Key of each region → identity of the file → how many values were written to it.

        Raises
        ------
        DsError, OSError
            If not all was written, or the file cannot get its name.
        """
        files = {made.identity, *(each.identity for each in appended.values())}
        files.update(*written.values())
        if self.file.finished() in files:
            self.remove()  # whoever finished it was lost before he could tell, and some of the work was done once more
            return
        for key, region in self.regions.items():
            n, wanted = sum(written[key].values()), math.prod(region.shape)
            if n != wanted:
                raise DsError(f"{n} values were written, expected {wanted}", path=self.path, variable=unescape(key))
        end = made.end
        for key, each in appended.items():
            if each.variable.length and self.plan.end(each.variable) - each.variable.length < end:
                raise DsError("was computed twice, with other values", path=self.path, variable=unescape(key))
            end = each.end
        with self.file.opened(made.identity) as file:
            if file is None:
                return
            if len(files) > 1:
                raise DsError("parts were written to a file that another process removed", path=self.path)
            size = file.current_size()
            if size < end:
                raise TruncatedError(f"{size} bytes were written, expected {end}", path=self.path)
            file.truncate(end)
            variables = {key: each.variable for key, each in appended.items()}
            line = self.plan.header({**made.variables, **self._placed, **variables})
            file.write(0, line)
            if self.checksum:
                file.write(end, of_file(FileBody.open(self.file.written), line))
        with naming(self.path):
            self._target().commit()

    def remove(self) -> None:
        """Remove the file, unless it has its name already: nothing but `create` makes it again."""
        with contextlib.suppress(OSError):
            os.unlink(self.file.written)
