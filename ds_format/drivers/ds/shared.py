"""A ds file that several processes write, on one host or several, without a lock.

All that is written has its place before, and each step may be done again by anybody, to the same bytes: what runs the
steps may so lose a process in the middle. The order is `create`, then `Region.write` of all regions and `append` of one
variable after another, then `finish`.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ...body.target import Target, naming, resolve
from ...codec.header import VarHeader
from ...errors import DsError, TruncatedError
from ...kernels.files import ranges, regions
from ...kernels.files.portable import BINARY, temporary_name
from ...names import unescape
from ..base import Metadata
from .appending import Appender
from .checksums import of_file
from .plan import Plan
from .regions import Region, Unfinished, identity


class Made(NamedTuple):
    """What is known of a file when it was created."""

    identity: int
    """Of the file; see `regions.identity`."""
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

    def create(self, arrays: Mapping[str, Any]) -> Made:
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
                fd = target.create()
                try:
                    regions.extend(fd, self._end)
                    appender = self._appender(fd, self._end)
                    variables = {key: self._put(appender, key, array) for key, array in arrays.items()}
                    return Made(identity(os.fstat(fd)), appender.end, variables)
                finally:
                    os.close(fd)
        except BaseException:
            target.abort()
            raise

    def append(self, made: Made, end: int, key: str, array: Any) -> Appended:
        """Write one whole variable behind the others.

        Parameters
        ----------
        made : Made
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
        with self.file.opened(made.identity) as fd:
            if fd < 0:
                return Appended(made.identity, end, VarHeader(None, None))  # it is done: nobody looks at this
            appender = self._appender(fd, end)
            variable = self._put(appender, key, array)
        return Appended(made.identity, appender.end, variable)

    def _appender(self, fd: int, end: int) -> Appender:
        return Appender(fd, self.plan, end, self.path, os.path.dirname(self.path))

    def _put(self, appender: Appender, key: str, array: Any) -> VarHeader:
        try:
            return appender.put(key, iter(() if array is None else (array,)))
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(key))

    def finish(self, made: Made, appended: Mapping[str, Appended], written: Mapping[str, Mapping[int, int]]) -> None:
        """Write the header, and give the file its name, if all was written; do nothing if it was done before.

        Parameters
        ----------
        made : Made
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
        with self.file.opened(made.identity) as fd:
            if fd < 0:
                return
            if len(files) > 1:
                raise DsError("parts were written to a file that somebody else removed", path=self.path)
            size = os.fstat(fd).st_size
            if size < end:
                raise TruncatedError(f"{size} bytes were written, expected {end}", path=self.path)
            os.ftruncate(fd, end)
            variables = {key: each.variable for key, each in appended.items()}
            line = self.plan.header({**made.variables, **self._placed, **variables})
            ranges.write_at(fd, 0, line)
            if self.checksum:
                ranges.write_at(fd, end, self._trailer(line))
        with naming(self.path):
            self._target().commit()

    def _trailer(self, line: bytes) -> bytes:
        fd = os.open(self.file.written, os.O_RDONLY | BINARY)
        try:
            return of_file(fd, line)
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Remove the file, unless it has its name already: nothing but `create` makes it again."""
        with contextlib.suppress(OSError):
            os.unlink(self.file.written)
