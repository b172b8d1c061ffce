"""All other file systems, and chains of them such as `zip://a.ds::https://host/pack.zip`, by fsspec."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...base.optional import library
from ...errors import links_of, plain_name
from .stores import EXTRA, Answer, FileRecord, call_library, has_only_values

VERSIONS = ("ETag", "etag", "md5", "generation", "LastModified", "last_modified", "mtime", "created", "CRC")
"""Properties that file systems report of a file and that differ if its content does, best first."""


def file_system(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the file system of fsspec for an address, and the path in it.

    Raises
    ------
    OSError
        If fsspec does not know the address or an option, or cannot connect.
    """
    fsspec = library("fsspec.core", EXTRA, f"the address {plain_name(url)}")
    given = _unshared(options, [link.partition("://")[0] for link in links_of(url)])
    found: tuple[Any, str] = call_library(
        {**options, "url": url}, lambda: fsspec.url_to_fs(url, **given), plain_name(url)
    )
    return found


def _unshared(options: Mapping[str, Any], protocols: Collection[str]) -> dict[str, Any]:
    """Return options with which fsspec creates a file system, instead of another one whose options look alike.

    Parameters
    ----------
    options : mapping
    protocols : collection of str
        Names of further mappings among the options.
    """
    found = {
        name: _unshared(value, ()) if name in protocols and isinstance(value, Mapping) else value
        for name, value in options.items()
    }
    return found if has_only_values(options) else {**found, "skip_instance_cache": True}


def system_files_below(system: Any, path: str, *, recursive: bool) -> Iterator[FileRecord]:
    """Yield the files below a path in a file system; see `RemoteAddress.listed`."""
    top = str(system._strip_protocol(path)).rstrip("/")  # noqa: SLF001 - the form in which paths are listed

    def listed() -> Any:
        system.invalidate_cache()  # listings are kept
        return system.find(top, maxdepth=None if recursive else 1, detail=True)

    found = call_library(system, listed)
    for name, info in found.items():
        if name.startswith(f"{top}/") or not top:
            yield FileRecord(name[len(top) :].lstrip("/"), int(info.get("size") or 0), _version(info))


def _version(info: Mapping[str, Any]) -> str:
    return next((str(info[name]) for name in VERSIONS if info.get(name) is not None), "")


class SystemStore:
    """A file in a file system of fsspec; see `stores.Store`.

    Answers have bytes and nothing else, so size and version cost a request each time they are needed.

    Parameters
    ----------
    system : fsspec.AbstractFileSystem
    path : str
    """

    def __init__(self, system: Any, path: str):
        self._system = system
        self._path = path

    def first(self, size: int) -> Answer:
        """Return the first bytes."""
        known = self._info()
        n = min(size, known.size or 0)
        data = self._bytes(0, n) if n else b""
        return known._replace(data=data if len(data) == known.size else data[:n])

    def last(self, size: int) -> None:
        """Return None: where the last bytes are is known only after the first request."""

    def get(self, start: int, stop: int) -> Answer:
        """Return a range of bytes."""
        return Answer(self._bytes(start, stop), None, None)

    def now(self) -> Answer:
        """Return size and version of the file now."""
        return self._info()

    def _bytes(self, start: int, stop: int) -> bytes:
        # by keywords: s3fs takes the second positional argument for a version
        data: bytes = call_library(self._system, lambda: self._system.cat_file(self._path, start=start, end=stop))
        if start and len(data) > stop - start:
            message = f"found {len(data)} bytes, expected {stop - start}: the server may not support ranges"
            raise OSError(errno.EIO, message)
        return data

    def _info(self) -> Answer:

        def read() -> Any:
            self._system.invalidate_cache(self._system._parent(self._path))  # noqa: SLF001 - listings are kept
            return self._system.info(self._path)

        info = call_library(self._system, read)
        if info.get("type") == "directory":
            raise IsADirectoryError(None, "it is a folder, expected a file")
        size = info.get("size")
        if size is None:
            raise OSError(None, "its size is unknown")
        return Answer(b"", int(size), _version(info))
