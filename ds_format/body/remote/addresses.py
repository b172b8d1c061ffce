"""Where files are that have no path: addresses, paths in stores, file objects and buffers."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import urllib.parse
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import UnsupportedError, links_of, plain_name, split_query
from .. import Address, name_of, suffix_of
from ..body import Body, MemoryBody
from ..stamp import Stamp
from ..target import write_whole
from .fetching import Fetcher, HeldBody, RemoteBody, open_remote
from .filesystems import SystemStore, file_system, system_files_below
from .handed import body_of, is_handed
from .objects import SCHEMES, ObjectStore, bucket_store, objects_below
from .stores import FileRecord, Store
from .uploads import blocks_of, check_handed, seconds_for, to_file_system, to_object, to_store
from .web import HttpStore

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)")
"""The start of an address; anything else is a path."""
LOCAL = ("file", "local")
"""Schemes of addresses that are paths."""


class RemoteAddress(Address):
    """A file of which ranges are requested."""

    __slots__ = ()
    _kept: list[Body]

    @abstractmethod
    def store(self) -> Store:
        """Return access to the file."""

    @property
    @abstractmethod
    def location(self) -> str:
        """The part of the address that ends with the path of the file."""

    @abstractmethod
    def at(self, location: str) -> RemoteAddress:
        """Return the address of another file in the same store, with the same options."""

    @abstractmethod
    def listed(self, *, recursive: bool) -> Iterable[FileRecord]:
        """Return the files below this address, or only those in this folder itself, in any order.

        Raises
        ------
        UnsupportedError
            If the store does not list files.
        TemporaryFailure, OSError
            If they cannot be listed.
        """

    def names(self, *, recursive: bool) -> Iterable[str]:
        """Return the paths of `listed`."""
        return [one.path for one in self.listed(recursive=recursive)]

    def is_known(self) -> bool:
        """Return whether there is a file of this name, if that takes no request."""
        return False

    def sibling(self, ending: str) -> RemoteAddress:
        """Return the address of an accompanying file; see `Address`."""
        return self.at(self.location + ending)

    def keep(self, body: Body | None) -> None:
        """Keep a body for the next `open`; see `Address`."""
        self._kept[:] = [] if body is None else [body]

    def open(self, first: int, last: int = 0) -> Body:
        """Open the file with one request; see `Address`."""
        with contextlib.suppress(IndexError):
            return self._kept.pop()
        return open_remote(self.name, self.store(), first, last)

    def reopened(self, stamp: Stamp, known: tuple[tuple[int, bytes], ...] = ()) -> Body:
        """Return the body of a file that was opened before; see `Address`."""
        version = stamp.digest.decode()
        if known and len(known[0][1]) == stamp.size:
            return HeldBody.of(self.name, known[0][1], version)
        return RemoteBody(Fetcher(self.name, self.store(), stamp.size, version, known), 0, stamp.size)

    def put(self, buffers: Iterable[Any], *, create: bool = False, durable: bool = False) -> None:
        """Write a file that consists of buffers; see `Address`."""
        write_whole(self, buffers, atomic=not create, durable=durable)


@dataclass(frozen=True, slots=True)
class UrlAddress(RemoteAddress):
    """A URL, and the options that the library for it gets. Picklable, with its options."""

    url: str = field(repr=False)
    options: Mapping[str, Any] = field(repr=False, hash=False)
    name: str
    suffix: str
    _kept: list[Body] = field(default_factory=list, repr=False, compare=False)

    def __reduce__(self) -> Any:
        return UrlAddress.of, (self.url, self.options)

    def __dask_tokenize__(self) -> Any:
        return "UrlAddress", self.url, self.options

    @classmethod
    def of(cls, url: str, options: Mapping[str, Any] | None) -> UrlAddress:
        """Return the address of a URL."""
        return cls(url, dict(options or {}), plain_name(url), suffix_of_url(url))

    def store(self) -> Store:
        """Return access to the file, by the library for its scheme."""
        scheme = self.url.partition("://")[0].lower()
        if scheme in ("http", "https"):
            return HttpStore(self.url, self.options, self.name)
        if scheme in SCHEMES:
            return ObjectStore(*bucket_store(self.url, self.options))
        return SystemStore(*file_system(self.url, self.options))

    def uploader(self, *, create: bool = False, durable: bool = False) -> Callable[[str], None]:
        """Return a function that uploads a file; see `Address`. An upload that has ended is on disks."""
        scheme = self.url.partition("://")[0].lower()
        if scheme in ("http", "https"):
            message = "web servers are read only: write a local file, and upload it with a program for this server"
            raise UnsupportedError(message, path=self.name)
        if scheme in SCHEMES:
            bucket_store(self.url, self.options)  # options are checked before anything is written
            return functools.partial(self._to_bucket, create=create)
        system, path = file_system(self.url, self.options)
        return functools.partial(to_file_system, system, path, name=self.name, create=create)

    @property
    def location(self) -> str:
        """The first part of the URL, without its query."""
        return split_query(links_of(self.url)[0])[0]

    def at(self, location: str) -> UrlAddress:
        """Return the address of another file, with the same query and the same further parts of a chain."""
        return UrlAddress.of(location + self.url[len(self.location) :], self.options)

    def listed(self, *, recursive: bool) -> Iterable[FileRecord]:
        """Return the files below this address; see `RemoteAddress`."""
        scheme = self.url.partition("://")[0].lower()
        if scheme in ("http", "https"):
            message = "web servers do not list their files: give the address of each file"
            raise UnsupportedError(message, path=self.name)
        if scheme in SCHEMES:
            return objects_below(*bucket_store(self.url, self.options), recursive=recursive)
        return system_files_below(*file_system(self.url, self.options), recursive=recursive)

    def _to_bucket(self, file: str, *, create: bool) -> None:
        store, path = bucket_store(self.url, self.options, seconds_for(os.stat(file).st_size))
        to_store(store, path, file, self.name, create=create)


@dataclass(frozen=True, slots=True)
class StoreAddress(RemoteAddress):
    """A path in a store with the interface of obspec, or in a file system of fsspec. Picklable if the store is."""

    container: Any = field(repr=False, hash=False)
    path: str = field(repr=False)
    name: str
    suffix: str
    _kept: list[Body] = field(default_factory=list, repr=False, compare=False)

    def __reduce__(self) -> Any:
        return StoreAddress.of, (self.container, self.path)

    def __dask_tokenize__(self) -> Any:
        return "StoreAddress", self.container, self.path

    @classmethod
    def of(cls, container: Any, path: str) -> StoreAddress:
        """Return the address of a path in a store."""
        return cls(container, path, plain_name(path), suffix_of_url(path) if "://" in path else suffix_of(path))

    def store(self) -> Store:
        """Return access to the file."""
        if hasattr(self.container, "cat_file"):
            return SystemStore(self.container, self.path)
        return ObjectStore(self.container, self.path)

    def uploader(self, *, create: bool = False, durable: bool = False) -> Callable[[str], None]:
        """Return a function that uploads a file; see `Address`. The timeout of a request is that of the store."""
        if hasattr(self.container, "pipe_file"):
            return functools.partial(to_file_system, self.container, self.path, name=self.name, create=create)
        if not hasattr(self.container, "put"):
            message = f"the store, a {type(self.container).__name__}, has no method `put` to write files"
            raise UnsupportedError(message, path=self.name)
        return functools.partial(to_store, self.container, self.path, name=self.name, create=create)

    @property
    def location(self) -> str:
        """The path."""
        return self.path

    def at(self, location: str) -> StoreAddress:
        """Return the address of another file in the store."""
        return StoreAddress.of(self.container, location)

    def listed(self, *, recursive: bool) -> Iterable[FileRecord]:
        """Return the files below this path; see `RemoteAddress`."""
        if hasattr(self.container, "find"):
            return system_files_below(self.container, self.path, recursive=recursive)
        if hasattr(self.container, "list"):
            return objects_below(self.container, self.path, recursive=recursive)
        message = f"the store, a {type(self.container).__name__}, has no method `list`: give the path of each file"
        raise UnsupportedError(message, path=self.name)


class HandedAddress(Address):
    """A file object or a buffer. It belongs to its process.

    Parameters
    ----------
    thing : file object, bytearray or memoryview
    name : str, optional
        For messages; by default its own name or type.
    """

    __slots__ = ("_body", "name", "suffix", "thing")
    is_picklable = False

    def __init__(self, thing: Any, name: str | None = None):
        self.thing = thing
        self.name = name_of(thing) if name is None else name
        self.suffix = os.path.splitext(self.name)[1].lower()
        self._body: Body | None = None

    def open(self, first: int, last: int = 0) -> Body:
        """Return the bytes of the object. If it cannot seek, it is read once."""
        if self._body is None:
            body = body_of(self.thing, self.name)
            if not isinstance(body, MemoryBody):
                return body
            self._body = body
        return self._body

    def reopened(self, stamp: Stamp, known: tuple[tuple[int, bytes], ...] = ()) -> Body:
        """Return the bytes of the object."""
        return self.open(0)

    def uploader(self, *, create: bool = False, durable: bool = False) -> Callable[[str], None]:
        """Return a function that writes a file to the object, from its position on; see `Address`."""
        check_handed(self.thing, self.name, create=create, durable=durable)
        return lambda file: to_object(self.thing, self.name, blocks_of(file))

    def put(self, buffers: Iterable[Any], *, create: bool = False, durable: bool = False) -> None:
        """Write buffers to the object, from its position on."""
        check_handed(self.thing, self.name, create=create, durable=durable)
        to_object(self.thing, self.name, buffers)

    def sibling(self, ending: str) -> Address:
        """Raise a FileNotFoundError: nothing is next to a file object."""
        raise FileNotFoundError(None, "a file object has no accompanying files: give the path or address", self.name)

    def __reduce__(self) -> Any:
        """Refuse to be pickled.

        Raises
        ------
        TypeError
            Always; it says what to do instead.
        """
        raise TypeError(
            f"{self.name}: a file object cannot be sent to another process: give the path or address, as text"
        )


def address_of(path: Any, storage_options: Mapping[str, Any] | None = None, store: Any = None) -> Any:
    """Return a local path as it is, and everything else as an address.

    Parameters
    ----------
    path : str, bytes, PathLike, UPath, file object, bytearray or memoryview
    storage_options : mapping, optional
        Options of the library that reads the address: headers, credentials, endpoints.
    store : obspec.Get or fsspec.AbstractFileSystem, optional
        The store that has the file. The path is a path in it.

    Returns
    -------
    str, bytes, PathLike or Address

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if isinstance(path, Address):
        return path
    if store is not None:
        if storage_options is not None:
            raise TypeError("storage_options: a store has its own options")
        return StoreAddress.of(store, os.fspath(path) if isinstance(path, os.PathLike) else str(path))
    if isinstance(path, str):
        return _of_text(path, storage_options)
    protocol = getattr(path, "protocol", None)
    if isinstance(protocol, str) and hasattr(path, "storage_options") and hasattr(path, "path"):
        return _of_text(str(path) if protocol else path.path, {**path.storage_options, **(storage_options or {})})
    if hasattr(path, "fs") and isinstance(getattr(path, "path", None), str):  # a file of fsspec, open or not
        return StoreAddress.of(path.fs, path.path)
    if isinstance(path, (bytes, os.PathLike)):
        return path
    if is_handed(path):
        return HandedAddress(path)
    expected = "a path, an address, a file object, a bytearray or a memoryview"
    raise TypeError(f"found {type(path).__name__}, expected {expected}")


def _of_text(path: str, options: Mapping[str, Any] | None) -> Any:
    if not ADDRESS.match(path):
        return path
    scheme, _, rest = path.partition("://")
    if scheme.lower() in LOCAL and "::" not in path:
        return urllib.parse.unquote(rest) if scheme.lower() == "file" else rest
    return UrlAddress.of(path, options)


def suffix_of_url(url: str) -> str:
    """Return the suffix of the file at a URL: of the first part of a chain that names one.

    Examples
    --------
    >>> suffix_of_url("https://host/a.DS?x=b.nc"), suffix_of_url("simplecache::s3://bucket/a.nc")
    ('.ds', '.nc')
    """
    first = next((part for part in links_of(url) if "://" in part), url)
    return os.path.splitext(split_query(first)[0].partition("://")[2])[1].lower()
