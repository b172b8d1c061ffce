"""Where the files of a dataset are: a folder, or an address of which files are requested by their names."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import warnings
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest

from ...body import Address, path_text
from ...body.body import FIRST_SIZE
from ...body.stamp import Stamp, Watch
from ...body.target import naming
from ...errors import DsError, FormatError
from ...kernels.files import names

MARKS = ("zarr.json", ".zgroup", ".zmetadata")
"""Files of a folder that is a store, with its metadata."""


@contextlib.contextmanager
def guarded(path: str, variable: str | None = None, kind: type[DsError] = FormatError) -> Iterator[None]:
    """Turn errors of the library, which have many types, into one of this package, and suppress its warnings.

    Parameters
    ----------
    path : str
    variable : str, optional
        Its name.
    kind : type
        The type of the error.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of types and consolidated metadata that are no part of the specification
            yield
    except DsError as error:
        raise error.at(path=path, variable=variable)
    except (OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno is None:
            raise kind(f"the zarr library: {error}", path=path, variable=variable) from error
        with naming(path):
            raise
    except Exception as error:
        message = f"the zarr library: {type(error).__name__}: {error}"
        raise kind(message, path=path, variable=variable) from error


def open_group(path: Any) -> Any:
    """Open a dataset for reading, and return its root group.

    Raises
    ------
    OSError
        If it does not exist.
    FormatError
        If it is not a group of Zarr.
    """
    store: Any = AddressStore(path) if isinstance(path, Address) else path_text(path)
    if isinstance(store, str) and not os.path.isdir(store):
        os.stat(store)
        raise FormatError("a file, expected a folder", path=store)
    with guarded(path_text(path)):
        return zarr.open_group(store, mode="r")


class StoreWatch(Watch):
    """A store that is open. Its files are found by their names, and a missing chunk means fill values.

    So a store that was replaced, or has another name, must not be read any more. There can be very many files, so
    only those with metadata of the whole store are compared.
    """

    @classmethod
    def of(cls, path: Any) -> Watch:
        """Return the watch of a store that is about to be opened. A store at an address is not watched."""
        if isinstance(path, Address) or not os.path.isdir(path):
            return Watch()
        name = os.path.abspath(path_text(path))
        return cls(name, _stamp_of(name))

    def check(self) -> None:
        """Compare the store with what it was when it was opened; see `Watch.check`."""
        if self.stamp is not None:
            try:
                found = _stamp_of(self.path)
            except OSError as error:
                raise self.stamp.gone(error, self.path) from None
            self.stamp.compare(found, self.path)


def _stamp_of(path: str) -> Stamp:
    every = (names.status(os.path.join(path, mark)) for mark in MARKS)
    found = [None if status is None else (status.st_size, status.st_mtime_ns) for status in every]
    return Stamp.of(os.stat(path), repr(found).encode())


class AddressStore(Store):
    """The files below an address, as the library requests them: each in a thread, so that they are requested together.

    Parameters
    ----------
    address : Address
    """

    supports_writes = supports_deletes = False
    supports_listing = True

    def __init__(self, address: Any):
        super().__init__(read_only=True)
        self._address = address
        self._names: Sequence[str] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddressStore) and other._address == self._address

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Return the bytes of a file, or None if it does not exist."""
        data = await asyncio.to_thread(self._read, key, byte_range)
        return None if data is None else prototype.buffer.from_bytes(data)

    def _read(self, key: str, part: Any) -> bytes | None:
        last = part.suffix if isinstance(part, SuffixByteRequest) else 0
        try:
            file = self._file(key).open(1 if part is not None else FIRST_SIZE, last)
        except FileNotFoundError:
            return None
        start, end = 0, file.size
        if isinstance(part, RangeByteRequest):
            start, end = part.start, min(part.end, end)
        elif isinstance(part, OffsetByteRequest):
            start = part.offset
        elif last:
            start = max(end - last, 0)
        return bytes(file.read(start, end - start))

    def _file(self, key: str) -> Any:
        return self._address.at(f"{self._address.location.rstrip('/')}/{key}")

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Any]:
        """Return parts of files."""
        return await asyncio.gather(*[self.get(key, prototype, part) for key, part in key_ranges])

    async def exists(self, key: str) -> bool:
        """Return whether there is a file."""
        return await asyncio.to_thread(self._read, key, RangeByteRequest(0, 1)) is not None

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Iterate over the names of files that begin with a prefix."""
        if not self._names:
            self._names = await asyncio.to_thread(lambda: [one[0] for one in self._address.listed(recursive=True)])
        for name in self._names:
            if name.startswith(prefix):
                yield name

    async def list(self) -> AsyncIterator[str]:
        """Iterate over the names of all files."""
        async for name in self.list_prefix(""):
            yield name

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Iterate over the names in a folder."""
        start = f"{prefix.rstrip('/')}/".lstrip("/")
        seen: set[str] = set()
        async for name in self.list_prefix(start):
            first = name[len(start) :].partition("/")[0]
            if first not in seen:
                seen.add(first)
                yield first

    async def set(self, key: str, value: Any) -> NoReturn:
        """Refuse to write."""
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), self._address.name)

    async def delete(self, key: str) -> NoReturn:
        """Refuse to delete."""
        await self.set(key, None)
