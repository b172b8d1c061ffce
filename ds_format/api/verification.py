"""Check whether a file conforms to its format: read all of it in blocks, and list the problems.

A problem that this package can repair or ignore is a warning. One that makes data wrong or unreadable is an error.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from .. import drivers
from ..base import isolation
from ..base.progress import Advance, Progress
from ..base.text import unescape
from ..body import path_text
from ..datasets import META, dims
from ..drivers.base import ERROR, WARNING, OtherFormatError, Problem, Source
from ..errors import DsError, FormatError, explained, plain_path
from ..views.subset import Input, Path, item_size, memory_size


def verify(
    path: Input,
    *,
    strict: bool = False,
    checksum: bool = False,
    progress: Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> list[Problem]:
    """Check a file of any supported format: read all of it, and list the problems.

    Data are read in blocks, in bounded memory. Problems of the file raise no error. A file that a C library must read
    is read in another process, so that a crash of the library is a problem of the file.

    Parameters
    ----------
    path : str, bytes, PathLike, file object, bytearray or memoryview
        A path or an address. The suffix determines the format. A missing file, or an unknown format, is a problem.
    strict : bool
        Warn also about content that is allowed in a ds file but rarely intended: variables that share bytes, values
        that JSON does not have, names that are not valid text.
    checksum : bool
        Warn about a ds file without checksums: "no checksum". Checksums that a file has are always compared.
    progress : callable, optional
        Called with the number of checked bytes and the total number. Containers are checked first as files, and then
        as datasets.
    storage_options, store
        As for `ds_format.read`.

    Returns
    -------
    list of Problem
        Problems of the file first, then those of its variables in their order. Empty if there are none.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.write("whole.ds", {"x": [1, 2, 3]})
    >>> ds.verify("whole.ds")
    []
    >>> with open("whole.ds", "r+b") as file:
    ...     size = file.seek(-8, 2)
    ...     size = file.truncate()
    >>> [problem] = ds.verify("whole.ds")
    >>> problem.variable, problem.severity
    ('x', 'error')
    """
    with isolation.isolating():
        return _verified(drivers.located(path, storage_options, store), strict, checksum, progress)


def _verified(where: Path, strict: bool, checksum: bool, progress: Progress | None) -> list[Problem]:
    found = _Findings(plain_path(path_text(where)))
    source = None
    if (check_bytes := getattr(where, "check_bytes", None)) is not None:  # of a member of a pack
        with found.of(None):
            check_bytes()
    with found.of(None):
        source = _opened(where, found, strict, progress)
    if source is not None:
        with found.of(None), contextlib.closing(source):
            with found.of(None):
                if checksum and getattr(source, "sums", ()) is None:
                    found.add(None, "no checksum", WARNING)
            if (check_unread := getattr(source, "check_unread", None)) is not None:
                with found.of(None):
                    check_unread()
            _check_dims(source, found)
            advance = Advance(progress, sum(memory_size(entry) for key, entry in source.meta.items() if key != META))
            for key in source.meta:
                if key != META:
                    with found.of(unescape(key)):
                        _read(source, key, advance)
    places = {name: i for i, name in enumerate(found.names)}
    return sorted(dict.fromkeys(found.problems), key=lambda problem: places.get(problem.variable, -1))


class _Findings:
    """The problems of one file."""

    def __init__(self, path: str):
        self.path = path
        self.problems: list[Problem] = []
        self.names: list[str | None] = []
        """Names of the variables, in the order of the file."""

    def add(self, variable: str | None, message: str, severity: str) -> None:
        for lead in (self.path, f'variable "{variable}"'):
            message = message.removeprefix(f"{lead}: ")
        message = " ".join(message.split())
        if Problem(self.path, None, message, severity) not in self.problems:
            self.problems.append(Problem(self.path, variable, message, severity))

    @contextlib.contextmanager
    def of(self, variable: str | None) -> Iterator[None]:
        """Add errors and warnings of a `with` block as problems. An error ends the block."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            except Exception as error:  # noqa: BLE001 - any error that a damaged file leads to is a problem
                where = error.variable if isinstance(error, DsError) else None
                self.add(variable if where is None else where, _told(error), ERROR)
        for warning in caught:
            self.add(variable, str(warning.message), WARNING)


def _opened(path: Path, found: _Findings, strict: bool, progress: Progress | None) -> Source | None:
    """Check the file itself, and return it open if its variables have to be read."""
    format = drivers.find_existing(path)
    check = drivers.load(format).check
    if check is not None:
        try:
            return check(path, found.problems.append, strict=strict, progress=progress)
        except OtherFormatError as other:
            format = drivers.of_format(other.format)
    return drivers.open_source(path, format, skip_unsupported="skip_unsupported" in format.options)


def _told(error: Exception) -> str:
    if isinstance(error, DsError):
        return error.message
    if isinstance(error, FileNotFoundError):
        return str(explained(error).strerror).replace(os.strerror(errno.ENOENT), "File does not exist")
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"


def _read(source: Source, key: str, advance: Advance) -> None:
    """Read one variable in blocks.

    Raises
    ------
    FormatError
        If the number of values does not match its size.
    """
    size = source.meta[key].get(".size")
    if size is None or 0 in size:
        source.read(key)
        return
    if (written_parts := getattr(source, "written_parts", None)) is not None:
        parts = written_parts(key)
        if parts is not None:
            for index in parts:
                source.read(key, index)
            advance.add(memory_size(source.meta[key]))
            return
    n = sum(block.size for block in advance.over_arrays(source.blocks(key), item_size(source.meta[key])))
    if n != math.prod(size):
        raise FormatError(f"found {n} values, expected {math.prod(size)} as .size {list(size)} says")


def _check_dims(source: Source, found: _Findings) -> None:
    """Check that variables agree on the sizes of dimensions."""
    sizes: dict[str, tuple[int, str]] = {}
    for key, entry in source.meta.items():
        if key == META:
            continue
        found.names.append(unescape(key))
        size = entry.get(".size") or ()
        for name, n in zip(dims(key, entry, len(size)), size, strict=False):
            expected, where = sizes.setdefault(name, (n, unescape(key)))
            if n != expected:
                message = f'dimension "{name}": found size {n}, expected {expected} as in variable "{where}"'
                found.add(unescape(key), message, ERROR)
