"""Faults of a store: reported as warnings or, in strict mode, as errors; or collected as a list of findings."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..base.text import on_one_line
from ..body.body import Body
from ..errors import DsError, DsWarning, FormatError
from ..kernels.json.values import FAULTS, VALID, big_number, check_text
from . import format

ERROR = "error"
WARNING = "warning"
SHOWN = 10
"""Maximum number of lines of one file that are reported individually. For the rest, only their number is reported."""
LISTED = 100
"""Maximum number of findings that are listed for each file and `kind`. For the rest, only their number is listed."""


class ZdsWarning(DsWarning):
    """A fault in a store. The message says whether it was left out or read anyway."""


class Faults(NamedTuple):
    """Reports faults.

    Attributes
    ----------
    strict : bool
        Raise errors instead of warnings.
    """

    strict: bool = False

    def report(self, path: str, message: str, line: int | None = None, offset: int | None = None) -> None:
        """Report a fault.

        Parameters
        ----------
        path : str
        message : str
            The fault, and its consequence.
        line : int, optional
            Number of the line in the file, from 1 on.
        offset : int, optional
            Position in the file, in bytes.

        Raises
        ------
        FormatError
            If `strict`.
        """
        error = FormatError(message_at(message, line, offset), path=path)
        if self.strict:
            raise error
        warnings.warn(str(error), ZdsWarning, stacklevel=3)

    def note(self, path: str, message: str, line: int | None = None, offset: int | None = None) -> None:
        """Report unusual content that leaves no doubt about any document: a warning even if `strict`."""
        self._replace(strict=False).report(path, message, line, offset)


class Silence(Faults):
    """Ignores faults, which have been reported before."""

    __slots__ = ()

    def report(self, path: str, message: str, line: int | None = None, offset: int | None = None) -> None:
        """Do nothing."""


def message_at(message: str, line: int | None, offset: int | None) -> str:
    """Return a message with the position in a file in front of it.

    Examples
    --------
    >>> from ds_format.zds.faults import message_at
    >>> message_at("not an object", 3, 120)
    'line 3, byte 120: not an object'
    """
    where = [f"{word} {number}" for word, number in (("line", line), ("byte", offset)) if number is not None]
    return f"{', '.join(where)}: {message}" if where else message


class Finding(NamedTuple):
    """A fault of a store.

    Attributes
    ----------
    path : str
        Path of the file; in an archive `x.zds!collections/train/meta/data.jsonl`.
    collection : str or None
        None if it concerns the store as a whole.
    line : int or None
        Number of the line in the file, from 1 on.
    offset : int or None
        Position in the file, in bytes.
    severity : str
        `error`: opening with `strict` refuses it. `warning`: it leaves no doubt about any document.
    message : str
        The value found, and the value expected.

    Examples
    --------
    >>> from ds_format.zds.faults import Finding
    >>> print(Finding("data.jsonl", "train", 3, 120, "error", "not an object"))
    data.jsonl: line 3, byte 120: not an object
    """

    path: str
    collection: str | None
    line: int | None
    offset: int | None
    severity: str
    message: str

    def __str__(self) -> str:
        return on_one_line(f"{self.path}: {message_at(self.message, self.line, self.offset)}")


class Findings:
    """Collects the findings of one store.

    Parameters
    ----------
    collection : str, optional
        The collection that they concern; by default the store as a whole.
    """

    def __init__(self, collection: str | None = None):
        self.collection = collection
        self._found: list[Finding] = []
        self._left_out: Counter[tuple[str, str | None, str, str]] = Counter()
        self._n: Counter[tuple[str, str]] = Counter()

    def within(self, collection: str) -> Findings:
        """Return this list for the findings of a collection."""
        own = Findings(collection)
        own._found, own._left_out, own._n = self._found, self._left_out, self._n
        return own

    def report(
        self,
        path: str,
        message: str,
        line: int | None = None,
        offset: int | None = None,
        *,
        severity: str = ERROR,
        kind: str | None = None,
    ) -> None:
        """Add a finding. For each file and `kind`, only the first ones are listed."""
        if kind is not None:
            self._n[path, kind] += 1
            if self._n[path, kind] > LISTED:
                self._left_out[path, self.collection, kind, severity] += 1
                return
        self._found.append(Finding(path, self.collection, line, offset, severity, message))

    def note(
        self, path: str, message: str, line: int | None = None, offset: int | None = None, *, kind: str | None = None
    ) -> None:
        """Add a finding that leaves no doubt about any document."""
        self.report(path, message, line, offset, severity=WARNING, kind=kind)

    @contextlib.contextmanager
    def caught(self, path: str) -> Iterator[None]:
        """Add the error that ends a `with` block, and its warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            except DsError as error:
                self.report(error.path or path, error.message)
            except OSError as error:
                self.report(path, error.strerror or str(error))
        for warning in caught:
            self.note(path, str(warning.message).removeprefix(f"{on_one_line(path)}: "))

    def listed(self) -> list[Finding]:
        """Return all findings, sorted by file and position, and the number of those that were not listed."""
        once = {(finding.path, finding.line, finding.offset, finding.message): finding for finding in self._found[::-1]}
        more = [
            Finding(path, collection, None, None, severity, f"{n} more times: {kind}")
            for (path, collection, kind, severity), n in self._left_out.items()
        ]
        files = {finding.path: i for i, finding in reversed(list(enumerate(self._found)))}
        found = [*reversed(once.values()), *more]
        return sorted(found, key=lambda one: (files[one.path], one.offset is None, one.offset or 0))


class RepeatedKeyError(ValueError):
    """An object has two members with the same name."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(key, _), *_] = (Counter(key for key, _ in pairs)).most_common(1)
        raise RepeatedKeyError(f"found the key {key!r:.100} more than once in one object")
    return found


def _integer(text: str) -> float | int:
    return int(text) if len(text) <= format.MAX_ID_SIZE else float(text)


def load(text: bytes) -> Any:
    """Return the value of valid JSON. Integers with very many digits become floats.

    Raises
    ------
    RepeatedKeyError
        If an object has two members with the same name.

    Examples
    --------
    >>> from ds_format.zds.faults import load
    >>> load(b'{"a":[{"b":1,"b":2}]}')
    Traceback (most recent call last):
        ...
    ds_format.zds.faults.RepeatedKeyError: found the key 'b' more than once in one object
    """
    parse: Callable[[str], Any] | None = _integer if big_number(text) else None
    return json.loads(text, object_pairs_hook=_object, parse_int=parse)


def load_object(file: Body, findings: Findings, max_size: int = format.MAX_LINE_SIZE) -> dict[str, Any] | None:
    """Return the object in a file, or add a finding and return None."""
    if file.size > max_size:
        findings.report(file.name, f"found {file.size} bytes, expected at most {max_size}")
        return None
    text = file.read(0, file.size)
    start = len(format.BOM) if text.startswith(format.BOM) else 0
    if start:  # it is read anyway
        findings.report(file.name, "a byte order mark", offset=0)
        text = text[start:]
    status, error, _, _, _ = check_text(text)
    if status != VALID:
        findings.report(file.name, FAULTS[status], offset=start + error)
        return None
    try:
        found: dict[str, Any] = load(text)
    except RepeatedKeyError as repeated:
        findings.report(file.name, str(repeated))
        found = json.loads(text)
    return found
