"""Whether a file is what its format demands: everything is read, in blocks, and whatever is wrong is listed.

What this package repairs or can do without is a warning; what makes data wrong or unreadable is an error.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import drivers
from .codec.decode import Decoder
from .codec.header import VarHeader
from .codec.layout import locate
from .dataset import META, dims
from .drivers.base import Source
from .drivers.ds.source import DsSource
from .drivers.ds.variables import all_headers
from .errors import DsError, FormatError
from .names import unescape
from .regular import open_binary

ERROR = "error"
WARNING = "warning"
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class Problem(NamedTuple):
    """Something that is wrong with a file.

    Examples
    --------
    >>> problem = Problem("a.ds", "x", "text is not UTF-8", "error")
    >>> problem.variable, problem.severity
    ('x', 'error')
    """

    path: str
    """The file."""
    variable: str | None
    """Its variable, by the unescaped name; None: the file as a whole."""
    message: str
    """What was found and what was expected."""
    severity: str
    """`error`: data are wrong or cannot be read. `warning`: this package reads them, others perhaps not."""


def verify(path: Path, *, strict: bool = False) -> list[Problem]:
    """Check a file of any supported format: read all of it, and list what is wrong.

    Memory stays bounded: data are read in blocks. Nothing about the file raises an error.

    Parameters
    ----------
    path : str, bytes or PathLike
        The suffix tells the format. A file that does not exist, or of an unknown format, is a problem, too.
    strict : bool
        Whether to warn also of what is allowed in a ds file but seldom meant: variables that share bytes, values that
        JSON does not have, names that are no text.

    Returns
    -------
    list of Problem
        Of the file first, then of its variables in their order; empty if all is well.

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
    found = _Findings(os.fsdecode(path))
    with found.of(None):
        driver = drivers.find_existing(path)
        module = drivers.load(driver)
        if hasattr(module, "check"):
            faults, goes_on = module.check(path)
            found.problems += [Problem(f.path, None, f.message, ERROR if f.is_error else WARNING) for f in faults]
            if not goes_on:
                return found.problems
        skip = "skip_unsupported" in driver.options
        with contextlib.closing(drivers.open_source(path, skip_unsupported=skip)) as source:
            with found.of(None):
                _check_dims(source, found)
            if isinstance(source, DsSource):
                _check_ds(source, found, strict)
            for key in source.meta:
                if key != META:
                    with found.of(unescape(key)):
                        _read(source, key)
    places = {name: i for i, name in enumerate(found.names)}
    return sorted(dict.fromkeys(found.problems), key=lambda problem: places.get(problem.variable, -1))


class _Findings:
    """What has been found in one file."""

    def __init__(self, path: str):
        self.path = path
        self.problems: list[Problem] = []
        self.names: list[str | None] = []
        """Of the variables."""

    def add(self, variable: str | None, message: str, severity: str) -> None:
        for lead in (self.path, f'variable "{variable}"'):
            message = message.removeprefix(f"{lead}: ")
        message = " ".join(message.split())
        if Problem(self.path, None, message, severity) not in self.problems:
            self.problems.append(Problem(self.path, variable, message, severity))

    @contextlib.contextmanager
    def of(self, variable: str | None) -> Iterator[None]:
        """Note errors and warnings of a `with` block, which errors end."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            except Exception as error:  # noqa: BLE001 - whatever a damaged file leads to is to be told
                where = error.variable if isinstance(error, DsError) else None
                self.add(variable if where is None else where, _told(error), ERROR)
        for warning in caught:
            self.add(variable, str(warning.message), WARNING)


def _told(error: Exception) -> str:
    if isinstance(error, DsError):
        return error.message
    if isinstance(error, FileNotFoundError):
        return "File does not exist"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"


def _read(source: Source, key: str) -> None:
    """Read one variable in blocks.

    Raises
    ------
    FormatError
        If these do not add up to its size.
    """
    size = source.meta[key].get(".size")
    if size is None or 0 in size:
        source.read(key)
        return
    n = sum(block.size for block in source.blocks(key))
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


def _check_ds(source: DsSource, found: _Findings, strict: bool) -> None:
    """Check what a ds file says about itself and reading does not need."""
    with found.of(None):
        variables = all_headers(source.header, source.body)
    extents: dict[str, tuple[int, int]] = {}
    for key, var in variables.items():
        described = source.header.variables[key].var
        if described is not None and described.offset != var.offset:
            found.add(unescape(key), f".offset: found {described.offset}, expected {var.offset}", WARNING)
        if source.header.version == "2.0.1" and var.type is not None and var.type.is_string:
            continue  # their true extent is known only to who decodes them
        with contextlib.suppress(DsError):
            start, end = extents[key] = _extent(source, var)
            if var.length not in (0, end - start):
                found.add(unescape(key), f".len: found {var.length}, expected {end - start}", WARNING)
    if len(extents) == len(source.header.keys):
        end = max((end for _, end in extents.values()), default=0)
        if end < source.body.size:
            found.add(None, f"found {source.body.size - end} bytes behind the last variable", WARNING)
    if strict:
        _check_shared(extents, found)
        with found.of(None):
            _check_json(source, found)


def _extent(source: DsSource, var: VarHeader) -> tuple[int, int]:
    """Return where the bytes of a variable begin and end in the body."""
    if var.size is None or 0 in var.size:
        return 0, 0
    return var.offset, Decoder(var, locate(var, source.body.size), source.body).end


def _check_shared(extents: dict[str, tuple[int, int]], found: _Findings) -> None:
    before, last = 0, ""
    for key, (start, end) in sorted(extents.items(), key=lambda item: item[1]):
        if start < before and end > start:
            found.add(unescape(key), f'shares bytes with variable "{unescape(last)}"', WARNING)
        if end > before:
            before, last = end, key


def _check_json(source: DsSource, found: _Findings) -> None:
    """Warn of what Python's JSON has beyond the standard."""
    with open_binary(source.path) as file:
        text = file.read(source.header.body).decode()
    words: dict[str, Any] = {}
    json.loads(text[text.index("{") :], parse_constant=words.setdefault)
    for word in words:
        found.add(None, f"header: {word} is not JSON: other readers may refuse it", WARNING)
    for key in source.header.keys:
        if any("\ud800" <= character <= "\udfff" for character in key):
            found.add(unescape(key), "the name is not text: it has half a character", WARNING)
