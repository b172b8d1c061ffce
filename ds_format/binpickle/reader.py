"""Reading a file: its object, or its errors."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.progress import Advance, Progress
from ..body import Address, Closing, Opened, path_text
from ..body.body import FIRST_SIZE, Body, open_unread, opened_body
from ..body.mapped import open_mapped
from ..errors import DsError, FormatError, IntegrityError
from ..kernels.files import files
from . import machine
from .buffers import decoded, scan
from .format import (
    CHECKSUMS,
    HEADER,
    MAX_TRAILER_SIZE,
    SMALL_SIZE,
    FileHeader,
    FileTrailer,
    IndexEntry,
    checksum_text,
    decode_index,
    decode_trailers,
    small_buffers,
)
from .machine.allowed import Postponed
from .machine.outline import postponable

RATIO, LEAST = 1100, 1 << 26
"""Limit of decoding by default: more than zlib can make of each byte of a file, and 64 MiB."""


def load(file: Any, *, trusted: bool = False, max_size: int | None = None) -> Any:
    """Load the object of a file.

    Arrays are writable copies, unless they were read-only when they were saved. All checksums are compared.

    Parameters
    ----------
    file : str, bytes or PathLike
    trusted : bool
        Load by Python's own pickle, which runs any code that the file names. Use it only for files that you trust
        like a program. By default only plain values, arrays, and supported or registered types are made.
    max_size : int, optional
        Bytes that all buffers may have together after decoding. The default is 64 MiB plus 1100 times the size of
        the file. zlib cannot exceed it, other codecs can.

    Returns
    -------
    object
        The saved object. A PickleBuffer becomes a `bytearray` or `memoryview`.

    Raises
    ------
    FormatError, TruncatedError, VersionError
        If it is not a BinPickle file, or is damaged.
    IntegrityError
        If a checksum differs.
    UnsafeError
        If the file has anything that could run code; the message names it.
    UnsupportedError
        If a codec is not supported, or its library is not installed.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format import binpickle
    >>> path = tempfile.mkdtemp() + "/x.bpk"
    >>> binpickle.dump({"answer": 42}, path)
    >>> binpickle.load(path)
    {'answer': 42}
    """
    source = file
    if not isinstance(file, Address):
        opened = files.read_or_open(file, SMALL_SIZE, FIRST_SIZE)
        if isinstance(opened, tuple):
            source = opened_body(path_text(file), opened)
        else:
            found = small_buffers(opened)
            if found is not None and (max_size is None or len(opened) <= max_size):
                return _made(path_text(file), *found, trusted, max_size)
    with BinPickleFile(source, trusted=trusted, max_size=max_size) as whole:
        return whole.load()


def _made(path: str, buffers: Iterable[Any], pickled: Any, trusted: bool, max_size: int | None) -> Any:
    """Return the object of a pickle; parameters as of `load`."""
    try:
        if trusted:
            return pickle.loads(pickled, buffers=buffers)
        return machine.load(pickled, buffers, budget=max_size)
    except DsError as error:
        error.at(path=path)
        raise


class BinPickleFile(Closing, Opened):
    """A file that is open for reading.

    Opening reads header, trailer and index, and checks that they fit together. Nothing is decoded before `load` or
    `find_errors`.

    Parameters
    ----------
    filename : str, bytes or PathLike
    direct : bool
        Map the file into memory: uncompressed arrays become read-only views of it, which takes no time for any size.
        They stay valid after `close`, and after another file was renamed to this name, as this package writes files.
        Truncating the mapped file in place, as BinPickle does when it writes, kills the process (SIGBUS). "nowarn" is
        the same as True.
    verify : bool, optional
        Compare checksums of everything except mapped buffers (None), of everything (True), or of nothing (False).
    trusted : bool
    max_size : int, optional
        As for `load`.

    Attributes
    ----------
    filename : str
    header : FileHeader
    trailer : FileTrailer
    entries : list of IndexEntry
        One for each buffer, the pickle last.

    Raises
    ------
    FormatError, TruncatedError, VersionError
        If it is not a BinPickle file, is truncated, or its index is impossible.
    IntegrityError
        If the checksum of the index differs.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ds_format import binpickle
    >>> path = tempfile.mkdtemp() + "/x.bpk"
    >>> binpickle.dump({"x": np.arange(3.0)}, path, mappable=True)
    >>> with binpickle.BinPickleFile(path, direct=True) as file:
    ...     x = file.load()["x"]
    ...     print(file.is_mappable, file.entries[0].enc_length, file.find_errors())
    True 24 []
    >>> x, x.flags.writeable
    (array([0., 1., 2.]), False)
    """

    def __init__(
        self,
        filename: Any,
        *,
        direct: bool | str = False,
        verify: bool | None = None,
        trusted: bool = False,
        max_size: int | None = None,
    ):
        self.filename = filename.name if isinstance(filename, Body) else path_text(filename)
        self._verify, self._trusted, self._max_size = verify, trusted, max_size
        self._source: Body | None = None
        if isinstance(filename, Body):  # of this module: it is open
            source = filename
        else:
            source = open_mapped(self.filename) if direct else open_unread(filename, FIRST_SIZE)
        try:
            self.header = FileHeader.decode(source.read(0, min(HEADER.size, source.size)))
            self.header.check_length(source.size)
            self.trailer, index = self._read_index(source)
            self.entries = decode_index(index, self.header, self.trailer.offset)
        except BaseException as error:
            del source  # which closes the file
            if isinstance(error, DsError):
                error.at(path=self.filename)
            raise
        self._source = source

    def _read_index(self, source: Body) -> tuple[FileTrailer, bytes]:
        """Return the trailer and the index that fit each other."""
        length = self.header.length
        tail = bytes(source.read(max(length - MAX_TRAILER_SIZE, 0), min(length, MAX_TRAILER_SIZE)))
        trailers = decode_trailers(tail, self.header)
        for trailer in trailers:
            index = bytes(source.read(trailer.offset, trailer.length))
            found = CHECKSUMS[self.header.version](index)
            if found == trailer.checksum or self._verify is False:
                return trailer, index
        expected = checksum_text(trailers[0].checksum)
        raise IntegrityError(f"index: checksum: found {checksum_text(found)}, expected {expected}")

    @property
    def is_mappable(self) -> bool:
        """Whether all buffers are uncompressed, so that they can be views of a mapped file."""
        return not any(entry.steps for entry in self.entries)

    @property
    def max_size(self) -> int:
        """Bytes that all buffers may have together after decoding."""
        return LEAST + RATIO * self.header.length if self._max_size is None else self._max_size

    def load(self) -> Any:
        """Load the object. Each call makes a new one.

        Returns
        -------
        object
            As from `binpickle.load`. With `direct`, arrays are read-only unless they were decoded.

        Raises
        ------
        FormatError, TruncatedError, IntegrityError, UnsafeError, UnsupportedError, OSError
            As from `binpickle.load`.
        ValueError
            If the file is closed.
        """
        pickled = self.read_pickle()
        source = self._opened()
        try:
            self._check_size(self.entries)
        except DsError as error:
            error.at(path=self.filename)
            raise
        buffers = decoded(source, self.entries, range(len(self.entries) - 1), self.header.version, self._verify)
        return _made(self.filename, buffers, pickled, self._trusted, self._max_size)

    def load_postponed(self) -> Any:
        """Load the object, but leave arrays in dictionaries and lists in the file.

        Returns
        -------
        object
            As from `load`, with a `PostponedArray` or `PostponedMasked` for each array in dictionaries and lists.
            `read_entry` and `fill` read their bytes.

        Raises
        ------
        FormatError, TruncatedError, IntegrityError, UnsafeError, UnsupportedError, OSError, ValueError
            As from `load`.
        """
        pickled = self.read_pickle()
        sizes = [entry.dec_length for entry in self.entries[:-1]]
        try:
            self._check_size(self.entries)
            later = postponable(pickled, sizes)
            buffers = (Postponed(i, size) if i in later else self.read_entry(i) for i, size in enumerate(sizes))
            return machine.load(pickled, buffers, budget=self._max_size)
        except DsError as error:
            error.at(path=self.filename)
            raise

    def read_pickle(self) -> Any:
        """Return the decoded bytes of the pickle, without loading it.

        Raises
        ------
        FormatError, TruncatedError, IntegrityError, UnsafeError, UnsupportedError, OSError, ValueError
            As from `load`.
        """
        if not self.entries:
            raise FormatError("index: found no entries, expected a pickle: the file has no object", path=self.filename)
        return self._read(len(self.entries) - 1, self._verify is not False)

    def read_entry(self, i: int) -> Any:
        """Return one buffer, decoded.

        Parameters
        ----------
        i : int
            Index into `entries`.

        Raises
        ------
        FormatError, TruncatedError, IntegrityError, UnsupportedError, OSError, ValueError
            As from `load`.
        """
        return self._read(i, self._verify)

    @property
    def gap(self) -> int:
        """Largest gap, in bytes, between two ranges that are read as one; ValueError if the file is closed."""
        return self._opened().gap

    def fill(self, i: int, starts: NDArray[np.int64], size: int, out: Any) -> None:
        """Fill a buffer with ranges of an uncompressed entry. No checksum is compared.

        Parameters
        ----------
        i : int
            Index into `entries`.
        starts : (n,) int64
            Start of each range, in bytes from the start of the entry.
        size : int
            Bytes of each range.
        out : writable, C-contiguous buffer of n * size bytes

        Raises
        ------
        TruncatedError
            If the file has become shorter.
        OSError, ValueError
            As from `load`.
        """
        try:
            self._opened().ranges(starts + self.entries[i].offset, np.full(len(starts), size, np.int64), [out])
        except DsError as error:
            error.at(path=self.filename)
            raise

    def verify_entry(self, i: int) -> None:
        """Compare the checksum of one entry, in blocks; IntegrityError if it differs, otherwise as `fill`."""
        try:
            scan(self._opened(), i, self.entries[i], self.header.version)
        except DsError as error:
            error.at(path=self.filename)
            raise

    def _read(self, i: int, verify: bool | None) -> Any:
        source = self._opened()
        try:
            self._check_size(self.entries[i : i + 1])
            return next(decoded(source, self.entries, range(i, i + 1), self.header.version, verify))
        except DsError as error:
            error.at(path=self.filename)
            raise

    def _check_size(self, entries: Sequence[IndexEntry]) -> None:
        size = sum(entry.dec_length for entry in entries)
        if size > self.max_size:
            raise FormatError(
                f"index: dec_length: {size} bytes in all, expected at most {self.max_size}; if you trust the file, "
                "pass a larger max_size"
            )

    def find_errors(self, progress: Progress | None = None) -> list[str]:
        """Find all errors in the file, without loading it or running any code.

        Compares all checksums and decodes compressed buffers one at a time, up to the size in the index and
        `max_size`.

        Parameters
        ----------
        progress : callable, optional
            Called with the number of bytes processed, and their total.

        Returns
        -------
        list of str
            A sentence for each error.

        Raises
        ------
        ValueError
            If the file is closed.
        OSError
            If the file cannot be read.
        """
        source, version, errors = self._opened(), self.header.version, []
        if source.size > self.header.length:
            errors.append(f"header: length: found {self.header.length}, expected {source.size}, the size of the file")
        index = source.read(self.trailer.offset, self.trailer.length)
        if CHECKSUMS[version](index) != self.trailer.checksum:
            errors.append("index: checksum differs")
        is_bounded = True
        try:
            self._check_size(self.entries)
        except FormatError as error:
            is_bounded = False
            errors.append(error.message)
        advance = Advance(progress, sum(entry.enc_length for entry in self.entries))
        for i, entry in enumerate(self.entries):
            try:
                scan(source, i, entry, version)
                if entry.steps and is_bounded:
                    next(decoded(source, self.entries, range(i, i + 1), version, verify=False))
            except DsError as error:
                errors.append(error.message)
            except MemoryError:
                errors.append(f"entry {i}: no memory for {entry.dec_length} bytes")
            advance.add(entry.enc_length)
        return errors

    def _opened(self) -> Body:
        if self._source is None:
            raise ValueError(f"{self.filename}: the file is closed")
        return self._source

    def close(self) -> None:
        """Close the file. Arrays from it stay valid."""
        self._source = None
