"""A ds file that several processes write, on one or several hosts, without a lock.

All positions are planned in advance. Each step may be repeated by any process, with the same bytes as a result, so a
scheduler may lose a process at any time. The order of steps is: `create`, then `Region.write` for all regions and
`append` for one variable after another, then `finish`.
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
from ...codec.slab_reading import strided_ranges
from ...errors import DsError, TruncatedError
from ...kernels.files.names import status, temporary_name
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
        The final name of the file; absolute, without links.
    written : str
        The temporary name until the file is complete.
    """

    path: str
    written: str

    @contextlib.contextmanager
    def opened(self, made: int) -> Iterator[OutputBody | None]:
        """Open the file for writing only, and close it at the end of the block.

        Return None if the file has its final name, and so is complete already.

        Parameters
        ----------
        made : int
            The `identity` of the file when it was created.

        Raises
        ------
        FileNotFoundError
            If the file has neither name on this host.
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
        """Return the identity of the file with the final name, or None if there is none."""
        found = status(self.path)
        return None if found is None else identity(found)

    def _unseen(self) -> str:
        return (
            f"host {host()} does not see {os.path.basename(self.written)}, under which name the file is being written: "
            "another process removed it, or not all workers have the same folder"
        )


def identity(found: os.stat_result) -> int:
    """Return a number that identifies a file in its file system.

    If hosts disagree on it, no data are lost. Only if the process that finishes a file is lost, the file cannot be
    recognised as complete.
    """
    return found.st_ino


@dataclass(frozen=True)
class Region:
    """The position of one variable of numbers or booleans in a file that several processes write. It can be pickled.

    Parameters
    ----------
    file : Unfinished
    key : str
        Key of the variable.
    offset : int
        Position of the first value, in bytes from the start of the file.
    shape : tuple of int
    type : str
        Name of the ds type, except strings.
    """

    file: Unfinished
    key: str
    offset: int
    shape: tuple[int, ...]
    type: str

    def write(self, part: Slab, block: Any, made: int) -> int:
        """Write a part of the variable. Writing it again gives the same bytes.

        Parameters
        ----------
        part : tuple of slice
        block : array_like
            The values, in the shape of the part, in any byte order and memory layout.
        made : int
            As for `Unfinished.opened`.

        Returns
        -------
        int
            Number of values that were written.

        Raises
        ------
        DsError
            If shape or type are not those of the part, a value is missing, or booleans share a byte with those of
            another part. The message names file and variable.
        FileNotFoundError
            If the file does not exist on this host.
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
        """Return the positions of the bytes of a part, in as few ranges as possible, and the bytes of each range."""
        starts, n = runs(self.shape, part)
        bits = TYPES[self.type].bits
        if bits == 1 and n and not is_apart(starts, n, math.prod(self.shape)):
            raise DsError(f"found a chunk of booleans at {part} that shares bytes with others")
        return self.offset + starts * bits // 8, (n * bits + 7) // 8


def runs(shape: Sequence[int], part: Slab) -> tuple[Any, int]:
    """Return the runs of values of a part of an array, in C order, as few and as long as possible.

    Returns
    -------
    starts : (N,) int64
        Number of values before each run.
    n : int
        Number of values in each run; 0 if the part is empty.
    """
    sizes = tuple([item.stop - item.start for item in part])
    if 0 in sizes:
        return np.zeros(0, np.int64), 0
    strides = tuple([math.prod(shape[axis + 1 :]) for axis in range(len(shape))])
    begin = sum(item.start * stride for item, stride in zip(part, strides, strict=True))
    starts, lengths = strided_ranges(begin, sizes, strides, 1)
    return starts, int(lengths[0])


def is_apart(starts: Any, n: int, total: int) -> bool:
    """Return whether no bit of the runs shares a byte with bits of others, in a variable of `total` bits."""
    return not (starts % 8).any() and (n % 8 == 0 or int(starts[-1]) + n == total)


def are_apart(type_name: str, shape: Sequence[int], chunks: Sequence[Sequence[int]]) -> bool:
    """Return whether no chunks of a variable share a byte. Chunks of booleans that do cannot be written separately.

    Parameters
    ----------
    type_name : str
    shape : sequence of int
    chunks : sequence
        Lengths of the chunks along each dimension.
    """
    if TYPES[type_name].bits != 1:
        return True
    split = max((axis for axis, lengths in enumerate(chunks) if len(lengths) > 1), default=None)
    if split is None:
        return True
    inner = math.prod(shape[split + 1 :])
    edges = list(accumulate(chunks[split]))
    if math.prod(shape[:split]) == 1:
        edges.pop()  # no other chunk has the last byte of the variable
    return all(edge * inner % 8 == 0 for edge in edges)


class CreatedFile(NamedTuple):
    """State of a file after it was created."""

    identity: int
    """Identity of the file; see `identity`."""
    end: int
    """End of the written and reserved bytes, from the start of the file."""
    variables: dict[str, VarHeader]
    """Key → header of the variables that are already written."""


class Appended(NamedTuple):
    """State of a file after a variable was appended."""

    identity: int
    """Identity of the file."""
    end: int
    """End of the variable, in bytes from the start of the file."""
    variable: VarHeader


class SharedFile:
    """A ds file that several processes write. It can be pickled. Planning it does not access the disk.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`, and `.type` unless it has no data.
    keys : collection of str
        Variables of numbers or booleans without a mask, not of zero size, that are written in regions.
    version : str
        Version of the format: `1.0` or `2.0.1`.
    durable : bool
        Flush file and folder to the disk at the end.
    checksum : bool
        Add a trailer with checksums. For this, the whole file is read at the end; see `checksums`.

    Attributes
    ----------
    regions : dict of Region
        Key → region.

    Raises
    ------
    UnsupportedError
        If the header cannot represent the metadata.
    OSError
        If something other than a file has the path.
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
        self._end = self.plan.start
        for key in keys:
            var = self.plan.place(key, meta[key][".type"], self._end)
            end = self.plan.end(var)
            self._end = max(self._end, end)
            shape = tuple(meta[key][".size"])
            self.regions[key] = Region(self.file, key, end - var.length, shape, meta[key][".type"])
            self._placed[key] = var

    def _target(self) -> Target:
        return Target(self.path, durable=self.durable, shared=self.file.written)

    def create(self, arrays: Mapping[str, Any]) -> CreatedFile:
        """Create the file under its temporary name, reserve the header and all regions, and write some variables.

        Parameters
        ----------
        arrays : dict
            Key → ndarray, MaskedArray, or None for a variable without data.

        Raises
        ------
        DsError
            If the format does not support a value.
        OSError
            If the file cannot be created, or the disk is full. Then the file is removed.
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
        """Write one whole variable after the others.

        Parameters
        ----------
        made : CreatedFile
        end : int
            End of the variable before, or of `made`.
        key : str
        array : ndarray or MaskedArray

        Raises
        ------
        DsError
            If the format does not support a value.
        OSError
            If it cannot be written, or the file does not exist on this host.
        """
        with self.file.opened(made.identity) as file:
            if file is None:
                return Appended(made.identity, end, VarHeader(None, None))  # not used, because the file is complete
            appender = self._appender(file, end, may_be_near=False)  # `finish` compares positions
            variable = self._put(appender, key, array)
        return Appended(made.identity, appender.end, variable)

    def _appender(self, file: OutputBody, end: int, may_be_near: bool = True) -> Appender:
        return Appender(file, self.plan, end, self.path, os.path.dirname(self.path), may_be_near)

    def _put(self, appender: Appender, key: str, array: Any) -> VarHeader:
        try:
            return appender.put(key, iter(() if array is None else (array,)))
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(key))

    def finish(
        self, made: CreatedFile, appended: Mapping[str, Appended], written: Mapping[str, Mapping[int, int]]
    ) -> None:
        """Write the header, and rename the file to its final name, after checking that everything was written.

        Parameters
        ----------
        made : CreatedFile
        appended : dict of Appended
            Key → state, in the order in which the variables were appended.
        written : dict
            Key of each region → identity of the file → number of values written to it.

        Raises
        ------
        DsError, OSError
            If something was not written, or the file cannot be renamed.
        """
        files = {made.identity, *(each.identity for each in appended.values())}
        files.update(*written.values())
        if self.file.finished() in files:
            self.remove()  # the process that finished it was lost before it returned, and steps were repeated
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
        """Remove the file, unless it has its final name. Only `create` makes it again."""
        with contextlib.suppress(OSError):
            os.unlink(self.file.written)
