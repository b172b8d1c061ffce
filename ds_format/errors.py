"""Every error of the package, as one tree.

::

    DsError
    ├── FormatError (ValueError)             the bytes of a file are wrong
    │   ├── TruncatedError                   fewer bytes than its header promises
    │   └── VersionError                     written by a newer program
    ├── MissingError (NameError, KeyError)   no such variable, dimension or attribute
    ├── MissingGroupError (KeyError, OSError)
    │                                        no such group: OSError, as from other engines of xarray
    ├── UnsupportedError (ValueError)        data that a file format cannot hold
    ├── DriverError (ValueError, OSError)    no driver for this file name, or its library is absent
    ├── IntegrityError (ValueError)          a checksum differs
    ├── BusyError (BlockingIOError)          another process is writing it
    ├── ReplacedError (OSError)              the file was replaced or modified after it was opened
    └── UnsafeError (ValueError)             would run code, write outside its target, or exhaust memory

Each is also a builtin exception, so that code which knows nothing of this package can catch it.
The operating system's own errors (`FileNotFoundError`, `PermissionError`, ...) pass through unchanged.
"""

from __future__ import annotations

import errno
import os
import re

from .base.text import on_one_line

SCHEMES = ("ftp", "gs", "http", "https", "s3")
"""Schemes of addresses. A `pathlib.Path` removes one of the slashes after them."""


class DsError(Exception):
    """Something about a file or a dataset is wrong.

    Parameters
    ----------
    message : str
        The problem: the value found and the value expected.
    path : str or Address, optional
        The file, an address by its name. Layers that know no paths leave it out; the layer above fills it in with `at`.
    variable : str, optional
        The variable, by its unescaped name.

    Examples
    --------
    >>> from ds_format import write
    >>> try:
    ...     write("error.ds", {"z": [1j]})
    ... except DsError as error:
    ...     print(error.path, error.variable, isinstance(error, ValueError))
    error.ds z True
    """

    keeps_lines = False
    """Whether the message has lines, as that of another library may have. Other messages are one line, with escapes for
    characters that end lines or control a terminal: names come from files."""

    def __init__(self, message: str, *, path: str | os.PathLike[str] | None = None, variable: str | None = None):
        super().__init__(message)
        self.message = message
        self.path = _shown(path)
        self.variable = variable

    def at(self, *, path: str | os.PathLike[str] | None = None, variable: str | None = None) -> DsError:
        """Fill in where it happened, unless a layer below already did."""
        self.path = self.path or _shown(path)
        self.variable = self.variable if self.variable is not None else variable
        return self

    def __str__(self) -> str:
        where = [] if self.path is None else [self.path]
        if self.variable is not None:
            where.append(f'variable "{self.variable}"')
        lines = self.message.split("\n") if self.keeps_lines else [self.message]
        return "\n".join(map(on_one_line, [": ".join([*where, lines[0]]), *lines[1:]]))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message,), vars(self)


class DsWarning(UserWarning):
    """The result may not be what was meant. The parent of other warnings of the package."""


class FormatError(DsError, ValueError):
    """The bytes of a file violate its format."""


class TruncatedError(FormatError):
    """A file ends before the data that its header promises."""


class VersionError(FormatError):
    """The version of a file is not supported."""


class MissingError(DsError, NameError, KeyError):
    """A variable, dimension or attribute that does not exist."""


class MissingGroupError(DsError, KeyError, OSError):
    """A group that does not exist. It is an OSError too, as from the engines netcdf4 and h5netcdf of xarray."""


class UnsupportedError(DsError, ValueError):
    """Data that a file format cannot hold."""


class DriverError(DsError, ValueError, OSError):
    """No driver for a file name, or the library it needs is not installed."""


class IntegrityError(DsError, ValueError):
    """A checksum differs."""


class BusyError(DsError, BlockingIOError):
    """Another process is writing the file or folder."""


class ReplacedError(DsError, OSError):
    """The file was replaced or modified after it was opened, or while it was read."""


class UnsafeError(DsError, ValueError):
    """Loading would run code named in the file, write outside of its target, or take unbounded memory."""


class Unusual(Exception):
    """A file, or a part of one, that a reader leaves to a library. Drivers catch it; it never reaches a user.

    Parameters
    ----------
    reason : str
    """

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class NotInHeaderError(Unusual):
    """Metadata that the header alone does not give without code for values: the file must be opened."""


def explained(error: FileNotFoundError, *, is_output: bool = False) -> FileNotFoundError:
    """Let the error of a file that does not exist say why: its name is an address, or its folder does not exist.

    Parameters
    ----------
    error : FileNotFoundError
        As the operating system raised it.
    is_output : bool
        Whether the file was to be written.

    Returns
    -------
    FileNotFoundError
        The same one.
    """
    name = decoded(error.filename)
    if name is not None and error.strerror == os.strerror(errno.ENOENT):
        folder = os.path.dirname(os.path.realpath(name) if os.path.islink(name) else name)
        if is_address(name):
            error.filename = plain_path(name)
            if "://" in name:
                error.strerror = f"addresses are not {'written' if is_output else 'read'} here"
            else:
                error.strerror = "give an address as text: a Path has one of its slashes less"
        elif is_output and folder and not os.path.exists(folder):
            error.strerror = f"the folder {folder} does not exist"
    return error


def is_address(name: str) -> bool:
    """Whether the name of a file is an address, as `https://` or `s3://`."""
    return "://" in name or not {f"{scheme}:" for scheme in SCHEMES}.isdisjoint(name.split("/"))


def split_query(url: str) -> tuple[str, str, str]:
    """Return a URL up to its query or fragment, the mark where that begins, and the rest."""
    found = re.search(r"[?#]", url) if re.match(r"https?://", url, re.IGNORECASE) else None
    return (url, "", "") if found is None else (url[: found.start()], found[0], url[found.end() :])


def links_of(url: str) -> list[str]:
    """Return the parts of a chain of addresses. An address of a web server is not one: its host may be `[::1]`."""
    return [url] if re.match(r"https?://", url, re.IGNORECASE) else url.split("::")


def plain_name(url: str) -> str:
    """Return an address for messages: without user, password, query and fragment.

    An address is invalid if its password has a slash that is not percent-encoded. Everything that may belong to the
    password is left out, too.

    Examples
    --------
    >>> (
    ...     plain_name("https://me:secret@host/a.ds?token=1"),
    ...     plain_name("zip://a.ds::https://host/p.zip?x#y"),
    ...     plain_name("ftp://me:sec/ret@host/a.ds"),
    ... )
    ('https://host/a.ds', 'zip://a.ds::https://host/p.zip', 'ftp://host/a.ds')
    """
    return "::".join(map(_plain_link, links_of(url)))


def plain_path(path: str) -> str:
    """Return a path for messages. If it is an address, with all of its slashes or as a Path has it, see `plain_name`.

    Examples
    --------
    >>> plain_path("folder/https:/me:secret@host/a.ds?token=1")
    'folder/https:/host/a.ds'
    """
    found = re.search(rf"(?:^|/)({'|'.join(SCHEMES)}):/", path)
    if found is None or "://" in path:
        return plain_name(path)
    address = plain_name(f"{found[1]}://{path[found.end() :]}")
    return path[: found.start(1)] + address.replace("://", ":/", 1)


def _shown(path: object) -> str | None:
    name = decoded(path)
    return plain_path(name) if name is not None and is_address(name) else name


def _plain_link(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    rest = re.sub(r"^[^/?#]*@", "", rest)
    host = re.split("[/?#]", rest, maxsplit=1)[0]
    if re.fullmatch(r"(\[[^\]]*\]|[^:]*)(:[0-9]*)?", host) is None:  # not host and port, but user and password
        rest = rest.rpartition("@")[2]
    return split_query(scheme + mark + rest)[0] if mark else url


def decoded(path: object) -> str | None:
    """Return the file that an error of the operating system is about as text; None if it is not a path."""
    return os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else None
