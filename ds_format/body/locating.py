"""The location of a file that a user names, a local path or an address; and requests ahead, for many of them.

Local paths load nothing that only addresses need.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from . import MEMBER_MARK, Address, Location, path_text
from .body import FIRST_SIZE, Body
from .stamp import Stamp

L = TypeVar("L", bound=Location)

AHEAD = 4
"""Number of files that each lane may request ahead. Each takes at most `FIRST_SIZE` bytes."""


def located(path: Any, storage_options: Mapping[str, Any] | None = None, store: Any = None) -> Any:
    """Return a local path as it is, and everything else that names a file as an address.

    All functions that open files take the result. It costs next to nothing for a local path.

    Parameters
    ----------
    path : str, bytes, PathLike, UPath, file object, bytearray or memoryview
        `bytes` are a path.
    storage_options : mapping, optional
        Options of the library that reads the address.
    store : object, optional
        The store that has the file: one with the interface `Get` of obspec, or a file system of fsspec.

    Returns
    -------
    str, bytes, PathLike or Address

    Raises
    ------
    TypeError
        If the path is none of these.
    """
    if storage_options is None and store is None:
        if type(path) is str:
            if "://" not in path:
                return _member_or_path(path)
        elif isinstance(path, Address):
            return path
        elif isinstance(path, (bytes, os.PathLike)) and not getattr(path, "protocol", ""):
            return _member_or_path(path)
    from .remote.addresses import address_of

    address = address_of(path, storage_options, store)
    if not isinstance(address, Address):
        return _member_or_path(address)
    if MEMBER_MARK not in address.name:
        return address
    from .packs import far_member_of

    return far_member_of(address)


def _member_or_path(path: Any) -> Any:
    name = path if type(path) is str else path_text(path)
    return path if MEMBER_MARK not in name else member_of()(name) or path


@functools.cache
def member_of() -> Callable[[str], Any]:
    """Return `packs.member_of`, imported once: an import statement takes time at each execution."""
    from .packs import member_of

    return member_of


def located_each(
    paths: Iterable[Any], storage_options: Mapping[str, Any] | None = None, store: Any = None
) -> list[Location]:
    """Return local paths as text, and everything else as addresses; parameters and errors as for `located`."""
    found: list[Location] = []
    last: Any = None  # a member of a pack, after which there are often others
    top = "\0"  # what precedes its name
    for path in paths:
        if type(path) is str and path.startswith(top):
            found.append(type(last)(last.pack, path[len(top) :], path))
            continue
        one: Any = located(path, storage_options, store)
        if type(one) is not str:
            one = one if isinstance(one, Address) else path_text(one)
            if getattr(one, "is_near", False):
                last, top = one, one.name[: len(one.name) - len(one.member)]
        found.append(one)
    return found


def first_bytes(addresses: Iterable[Address]) -> Iterator[Body | Exception]:
    """Request the first bytes of files side by side, and iterate over their bodies or errors, in order."""
    from .remote.fetching import in_order
    from .remote.settings import current

    lanes = current().lanes

    def request(address: Address) -> Body | Exception:
        try:
            body: Body = address.open(FIRST_SIZE)
        except Exception as error:  # noqa: BLE001 - raised when it is the turn of the file
            return error
        return body

    return in_order((functools.partial(request, address) for address in addresses), lanes, AHEAD * lanes)


def arriving(paths: Iterable[L]) -> Iterator[L]:
    """Iterate over paths. The first bytes of files that are elsewhere are requested ahead, side by side."""
    left, ahead = itertools.tee(paths)
    bodies: Iterator[Body | Exception] | None = None
    for path in left:
        if isinstance(path, Address) and not path.is_near:
            if bodies is None:
                bodies = first_bytes(path for path in ahead if isinstance(path, Address) and not path.is_near)
            body = next(bodies)
            if not isinstance(body, Exception):
                path.keep(body)
        yield path


@contextlib.contextmanager
def kept_after(path: Location) -> Iterator[None]:
    """Open a file that is elsewhere for a `with` block, and keep it for the function that opens it after that."""
    if isinstance(path, str):
        yield
        return
    body = path.open(FIRST_SIZE)
    path.keep(body)
    yield
    path.keep(body)


def version_number(stamp: Stamp | None) -> int:
    """Return a hash of the version of a file that is elsewhere, an int64; 0 if the version is not known."""
    version = b"" if stamp is None else stamp.digest
    return int.from_bytes(hashlib.blake2b(version, digest_size=8).digest(), "little", signed=True) if version else 0


def pack_members(path: Location) -> list[str] | None:
    """Return the names of the members of a local pack; None for any other path, and for stores of documents.

    Raises
    ------
    OSError, DsError
        If the pack cannot be read, or is damaged.
    """
    if not isinstance(path, str) or not path.endswith(MEMBER_MARK[:-1]) or not os.path.isfile(path):
        return None
    from .packs import names_in

    return names_in(os.path.abspath(path))
