"""All other file systems, and chains of them such as `zip://a.ds::https://host/pack.zip`, by fsspec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...base.optional import library
from ...errors import plain_name
from .stores import EXTRA, Answer, FileRecord, mapped, refused

VERSIONS = ("ETag", "etag", "md5", "generation", "LastModified", "last_modified", "mtime", "created", "CRC")
"""Properties that file systems report of a file and that differ if its content does, best first."""


def file_system(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the file system of fsspec for an address, and the path in it.

    Raises
    ------
    OSError
        If fsspec does not know the address or an option, or cannot connect.
    """
    fsspec = library("fsspec.core", EXTRA, f"the address {url.partition('?')[0]}")
    try:
        system, path = fsspec.url_to_fs(url, **options)
    except Exception as error:
        raise refused(error, plain_name(url)) from error
    return system, path


def system_files_below(system: Any, path: str, *, recursive: bool) -> Iterator[FileRecord]:
    """Yield the files below a path in a file system; see `RemoteAddress.listed`."""
    top = str(system._strip_protocol(path)).rstrip("/")  # noqa: SLF001 - the form in which paths are listed
    try:
        system.invalidate_cache()  # listings are kept
        found = system.find(top, maxdepth=None if recursive else 1, detail=True)
    except Exception as error:
        raise mapped(error) from error
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
        return known._replace(data=self._bytes(0, n) if n else b"")

    def last(self, size: int) -> None:
        """Return None: where the last bytes are is known only after the first request."""

    def get(self, start: int, stop: int) -> Answer:
        """Return a range of bytes."""
        return Answer(self._bytes(start, stop), None, None)

    def now(self) -> Answer:
        """Return size and version of the file now."""
        return self._info()

    def _bytes(self, start: int, stop: int) -> bytes:
        try:
            # by keywords: s3fs takes the second positional argument for a version
            data: bytes = self._system.cat_file(self._path, start=start, end=stop)
        except Exception as error:
            raise mapped(error) from error
        return data

    def _info(self) -> Answer:
        try:
            self._system.invalidate_cache(self._system._parent(self._path))  # noqa: SLF001 - listings are kept
            info = self._system.info(self._path)
        except Exception as error:
            raise mapped(error) from error
        if info.get("type") == "directory":
            raise IsADirectoryError(None, "it is a folder, expected a file")
        size = info.get("size")
        if size is None:
            raise OSError(None, "its size is unknown")
        return Answer(b"", int(size), _version(info))
