"""Finished local files → files elsewhere, which appear when they are complete.

A bucket gets one upload, in parts if the file is large. Any exception aborts it, so nothing is left. File systems that
can rename files get a temporary one first. File objects get the bytes one after another.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Iterable, Iterator
from typing import Any

from ...base.optional import library
from ...errors import UnsupportedError
from ...kernels.files.names import temporary_name
from .settings import current
from .stores import EXTRA, call_library, repeated

MAX_PARTS = 9_000
"""Parts of an upload to a bucket; S3 allows 10,000."""
SLOWEST = 1 << 20
"""Bytes per second: an upload may take as long as one at this rate."""


def seconds_for(size: int) -> float:
    """Return the time that a request with so many bytes may take."""
    return max(current().timeout, size / SLOWEST)


def blocks_of(file: str) -> Iterator[bytes]:
    """Yield the bytes of a local file in pieces."""
    with open(file, "rb") as opened:
        while block := opened.read(current().piece):
            yield block


def to_store(store: Any, path: str, file: str, name: str, *, create: bool) -> None:
    """Upload a local file to a store.

    Parameters
    ----------
    store : obspec.Put
    path : str
        Path in the store.
    file : str
        The local file.
    name : str
        The address, for messages.
    create : bool
        Whether it must not exist.

    Raises
    ------
    FileExistsError, FileNotFoundError, PermissionError, OSError
        If it cannot be uploaded. Then there is no such file, or the one from before.
    """
    size = os.stat(file).st_size
    options: dict[str, Any] = {"mode": "create"} if create else {}
    if size > current().piece and not create:
        options = {"chunk_size": max(current().piece, -(-size // MAX_PARTS)), "max_concurrency": current().lanes}

    def put() -> None:
        # the store takes blocks in this thread, where an interrupt from the keyboard ends the upload
        blocks = blocks_of(file) if size > current().piece else b"".join(blocks_of(file))
        call_library(store, lambda: store.put(path, blocks, **options))

    repeated(put, name, f"upload of {size} bytes")


def to_file_system(system: Any, path: str, file: str, name: str, *, create: bool) -> None:
    """Upload a local file to a file system of fsspec. Parameters and errors are those of `to_store`."""
    size = os.stat(file).st_size

    def put() -> None:
        if create and system.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        if not _renames(system):
            _put(system, path, file, size)
            return
        temporary = temporary_name(path)
        try:
            _put(system, temporary, file, size)
            system.mv(temporary, path)
        except BaseException:
            with contextlib.suppress(Exception):
                system.rm_file(temporary)
            raise

    repeated(lambda: call_library(system, put), name, f"upload of {size} bytes")


def _put(system: Any, path: str, file: str, size: int) -> None:
    if size > current().piece:
        system.put_file(file, path)
    else:
        system.pipe_file(path, b"".join(blocks_of(file)))


def _renames(system: Any) -> bool:
    """Return whether a file system has its own way of renaming. Others copy, as buckets do, which need no renaming."""
    general = library("fsspec.spec", EXTRA).AbstractFileSystem.mv
    return getattr(type(system), "mv", general) is not general


def check_handed(thing: Any, name: str, *, create: bool, durable: bool) -> None:
    """Check that a file object can be written.

    Raises
    ------
    TypeError
        If it is none, or is open for text.
    UnsupportedError
        If there are options of writing that only files with a path have.
    """
    if isinstance(thing, io.TextIOBase):
        raise TypeError(f'{name}: the file is open for text, expected bytes: open it with the mode "wb"')
    if not callable(getattr(thing, "write", None)):
        raise TypeError(f"{name}: found {type(thing).__name__}, expected a file object that is open for writing")
    for option, is_given in {"atomic": create, "durable": durable}.items():
        if is_given:
            raise UnsupportedError(f"the option `{option}` is one for files with a path or address", path=name)


def to_object(thing: Any, name: str, buffers: Iterable[Any]) -> None:
    """Write buffers to a file object, one after another, from its position on.

    Raises
    ------
    OSError
        If it takes no more bytes. Those before are written then.
    """
    for buffer in buffers:
        left = memoryview(buffer)
        left = left.cast("B") if left.nbytes else memoryview(b"")
        while left:
            n = thing.write(left)
            if n is None and isinstance(thing, io.RawIOBase):
                raise BlockingIOError(errno.EAGAIN, "the file object would block", name)
            left = left[len(left) if n is None else n :]
