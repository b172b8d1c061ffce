"""Version line and JSON line ↔ entries of all variables, and attributes of the dataset.

`parse` calls the kernel for usual headers, and `parse_any` for all others. Only these need Python's `json`, which takes
longer to load than a small file to read.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from ..base import signatures
from ..base.dtypes import PACKED, TYPES
from ..base.text import escape, unescape
from ..body.body import FIRST_SIZE, Body
from ..errors import DsError, FormatError, TruncatedError, VersionError
from ..kernels.header.header import Header as Compiled
from ..kernels.header.parser import Parser
from .header import (
    ALIGNMENT,
    MAX_HEADER_SIZE,
    MAX_VALUES,
    MAX_VERSION_SIZE,
    PRIVATE,
    TOO_DEEP,
    VERSION_LINE,
    VERSION_MARK,
    WRITER,
    Entry,
    VarHeader,
    check_dims,
    is_too_deep,
    kind_of,
    variable,
)

TYPES_BY_NUMBER = tuple(TYPES.values())
"""The types of ds-1.0, by their numbers in kernels."""
NUMBERS = {ds_type.name: number for number, ds_type in enumerate(TYPES_BY_NUMBER)}
BACKSLASH = "\\"
LONGEST_TOKEN = 8
"""Maximum distance, in characters, from an error to the end of truncated JSON: an escape or literal, and one before."""


class Described(NamedTuple):
    """The entry of one variable in a header."""

    var: VarHeader | None
    """None if a property is invalid."""
    error: str
    """The message about the invalid property."""
    meta: Entry
    """The part that belongs to the metadata of a dataset: attributes, `.dims`, `.size`, `.type`, unknown properties."""


class Header(NamedTuple):
    """The content of a header."""

    version: str
    """`1.0` or `2.0.1`."""
    body: int
    """Start of the body, in bytes from the start of the file."""
    is_own: bool
    """Whether this package wrote the file. Only the 2.0.1 layout has a property for this; otherwise False."""
    keys: tuple[str, ...]
    """Keys of all variables in a dataset, in the order of the file."""
    variables: Mapping[str, Described]
    """Entries by these keys."""
    compiled: Compiled | None
    """The same for kernels; None for an unusual header."""
    is_doubtful: bool
    """Whether an older writer may have stored a wrong `.len` for a variable, and so wrong offsets for all after it."""
    may_be_packed: bool
    """Whether a variable may be unpacked by default; see `packing.is_unpacked_by`."""
    has_dtypes: bool
    """Whether the metadata may have `.dtypes`."""


class _CompiledVariables(dict[str, Described]):
    """Key → entry of a variable in a header that a kernel has parsed. Entries are made on first access."""

    def __init__(self, compiled: Compiled):
        self._compiled = compiled
        self._positions: dict[str, int] = {}

    def __missing__(self, key: str) -> Described:
        if not self._positions:
            self._positions = {name: i for i, name in enumerate(self._compiled.keys)}
        number, size, offset, length, big, missing = self._compiled.variable(self._positions[key])
        var = VarHeader(TYPES_BY_NUMBER[number] if number >= 0 else None, size, offset, length, big, missing)
        described = self[key] = Described(var, "", {})
        return described


def find_end(data: bytes | bytearray, whole: bool) -> int:
    """Return the position of the end of the header line, or -1 if more bytes are needed to find it.

    Parameters
    ----------
    data : bytes or bytearray
        The first bytes of a file.
    whole : bool
        Whether `data` has all bytes of the file. A header line without LF ends with the file.

    Raises
    ------
    FormatError, VersionError
        If these are not the first bytes of a ds file, or the line is longer than `MAX_HEADER_SIZE`.
    """
    end = data.find(b"\n", len(VERSION_LINE) if data.startswith(VERSION_LINE) else _start(data))
    if end < 0:
        if len(data) > MAX_HEADER_SIZE:
            raise FormatError(f"the header line does not end within {MAX_HEADER_SIZE} bytes")
        if whole:
            return len(data)
    return end


def read_line(file: Body) -> bytes | bytearray:
    """Return the header line of an open ds file.

    Returns
    -------
    bytes or bytearray
        All bytes of a small file, or its first bytes up to the end of the header line.

    Raises
    ------
    FormatError, VersionError
        As for `find_end`.
    ReplacedError
        If the file was modified while it was read.
    """
    data = file.head(FIRST_SIZE)
    if len(data) == file.size:
        return data
    try:
        with file.watch:
            whole = len(data) >= file.size
            while (end := find_end(data, whole)) < 0:
                n = len(data)
                data = file.head(2 * n)
                whole = len(data) < 2 * n
    except DsError as error:
        raise error.at(path=file.name)
    return data[: end + 1]


def _start(data: bytes | bytearray) -> int:
    """Return the start of a header line in a file that does not begin with the version line."""
    if data[:MAX_VERSION_SIZE].lstrip(b" \t\r\n").startswith(b"{"):
        return data.index(b"{")
    if not data:
        raise FormatError("the file is empty")
    if not data.startswith(VERSION_MARK):
        raise FormatError(f"not a ds file, but {signatures.describe(data)}")
    if VERSION_LINE.startswith(data):
        raise _cut(data)
    line = bytes(data[:MAX_VERSION_SIZE]).partition(b"\n")[0]
    if line == b"ds-1.0\r":
        raise FormatError("the version line ends with CR LF: a transfer in text mode changed the file")
    raise VersionError(f"format version: found {line.decode('ascii', 'replace')!r}, expected 'ds-1.0'")


PARSER = Parser(NUMBERS)
"""Parses usual headers. It returns None for others, which `parse_any` parses or rejects."""
parse_usual = PARSER.parse


def header_of(compiled: Compiled) -> Header:
    """Return the header that a kernel has parsed."""
    doubtful, packed, dtypes = compiled.is_doubtful, compiled.may_be_packed, compiled.has_dtypes
    variables = _CompiledVariables(compiled)
    return Header("1.0", compiled.body, False, compiled.keys, variables, compiled, doubtful, packed, dtypes)


def parse(
    data: bytes | bytearray,
    end: int,
    keys: Collection[str] | None = None,
    typed: Callable[[Entry], Entry] | None = None,
) -> tuple[Header, dict[str, Entry]]:
    """Parse the header in the first bytes of a file.

    Parameters
    ----------
    data : bytes or bytearray
    end : int
        End of the header line, the result of `find_end`.
    keys : collection of str, optional
        Variables whose metadata to return, in addition to the metadata of the dataset. Default: all variables.
    typed : callable, optional
        Converts attributes to their types in place, and returns them: `attributes.from_json`.

    Returns
    -------
    Header
    dict
        The metadata of a dataset, as plain JSON values, or converted by `typed`. They are not shared, so you may change
        them.

    Raises
    ------
    FormatError
        If the line is not a JSON object with the structure of a header.
    """
    parsed = parse_usual(data, keys, typed)
    if parsed is not None:
        return header_of(parsed[0]), parsed[1]
    header, meta = parse_any(data, end, keys)
    return header, meta if typed is None else {key: typed(entry) for key, entry in meta.items()}


def parse_any(
    data: bytes | bytearray, end: int, keys: Collection[str] | None = None
) -> tuple[Header, dict[str, Entry]]:
    """Parse a header like `parse`, but without the kernel, which supports usual headers only."""
    line = bytes(data[:end])
    versioned = line.startswith(VERSION_LINE)
    start = len(VERSION_LINE) if versioned else _start(line)
    is_last = end >= len(data)
    try:
        text = line[start:].decode().strip(" \t\r")
    except UnicodeDecodeError as error:
        if is_last and error.end == len(line) - start:
            raise _cut(line) from None
        raise FormatError(f"header: not UTF-8 at byte {start + error.start}") from None
    entries = _scan(text, line if is_last else b"")
    attributes = entries.pop(".", {})
    if type(attributes) is not dict:
        raise FormatError(f'header: ".": found {kind_of(attributes)}, expected an object')
    for key, value in attributes.items():
        if is_too_deep(value):
            raise FormatError(f'header: attribute "{unescape(key)}": {TOO_DEEP}')
    version = "1.0" if versioned else "2.0.1"
    if BACKSLASH in text:
        entries = {name: _renamed(entry, version) for name, entry in _renamed(entries, version).items()}
        attributes = _renamed(attributes, version)
    variables = {key: describe(entry, version) for key, entry in entries.items()}
    doubtful = any(_is_doubtful(described.var, version) for described in variables.values())
    packed = any(_may_be_packed(described.meta) for described in variables.values())
    own = WRITER in attributes
    attributes.pop(WRITER, None)
    header = Header(version, len(line) + 1, own, tuple(variables), variables, None, doubtful, packed, True)
    meta = {key: described.meta for key, described in variables.items() if keys is None or key in keys}
    return header, {**meta, ".": attributes}


def _cut(line: bytes | bytearray) -> TruncatedError:
    return TruncatedError(f"the header ends after {len(line)} bytes: the file is truncated")


def _scan(text: str, last: bytes) -> Entry:
    """Return the entries of a header line without white space at both ends, except for variables with reserved names.

    `last`: the line if the file ends with it, else empty.
    """
    import json

    twice: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> Entry:
        entry = dict(pairs)
        if len(entry) != len(pairs):
            seen: set[str] = set()
            twice.extend(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return entry

    try:
        # not `json.loads`, which does not say whether there is no value
        entries, stop = json.JSONDecoder(object_pairs_hook=unique).scan_once(text, 0)  # type: ignore[attr-defined]
    except RecursionError:
        raise FormatError(f"header: {TOO_DEEP}") from None
    except json.JSONDecodeError as error:
        is_begun = error.msg.startswith("Unterminated") or len(text) - error.pos < LONGEST_TOKEN
        if last and text.startswith("{") and is_begun:
            raise _cut(last) from None
        raise FormatError(f"header: {error.msg.removesuffix(' at')} at character {error.pos}") from None
    except ValueError as error:  # an integer with more digits than Python converts
        raise FormatError(f"header: {error}") from None
    except StopIteration as error:
        if last and not text:
            raise _cut(last) from None
        if text.startswith("\ufeff"):
            raise FormatError("header: begins with a byte order mark") from None
        raise FormatError(f"header: no JSON value at character {error.value}") from None
    if type(entries) is not dict:
        raise FormatError(f"header: found {kind_of(entries)}, expected an object")
    if stop != len(text):
        raise FormatError(f"header: found more after the JSON value, at character {stop}")
    if twice:
        raise FormatError(f'header: "{twice[0]}" occurs twice in one object')
    return {key: entry for key, entry in entries.items() if key == "." or not key.startswith(".")}


def _renamed(entry: Any, version: str) -> Any:
    r"""Convert names that begin with `\` to keys of a dataset: 2.0.1 does not escape them, and 1.0 not always.

    Raises
    ------
    FormatError
        If two names are equal.
    """
    if type(entry) is not dict:
        return entry
    out: Entry = {}
    for key, value in entry.items():
        if key.startswith(BACKSLASH):
            key = escape(key if version == "2.0.1" else unescape(key))
        if key in out:
            raise FormatError(f'header: "{unescape(key)}" occurs twice in one object')
        out[key] = value
    return out


def describe(entry: Any, version: str) -> Described:
    """Read the entry of one variable. For an invalid entry, return an error and the valid part of the metadata."""
    meta: Entry = {}
    deep = ""
    for key, value in entry.items() if type(entry) is dict else ():
        if key in PRIVATE:
            continue
        if key != ".size" and is_too_deep(value):
            deep = key
        else:
            meta[key] = value
    try:
        var = variable(entry, version)
        if deep:
            raise FormatError(f'attribute "{unescape(deep)}": {TOO_DEEP}')
    except FormatError as error:
        name, size = meta.get(".type"), meta.get(".size", [])
        meta[".type"] = name if type(name) is str else None
        if type(size) is not list or not all(type(count) is int and 0 <= count <= MAX_VALUES for count in size):
            size = None
        meta[".size"] = size
        try:
            check_dims(meta.get(".dims", []), None if size is None else tuple(size))
        except FormatError:
            meta.pop(".dims", None)
        return Described(None, str(error), meta)
    meta[".size"] = None if var.size is None else list(var.size)
    meta[".type"] = None if var.type is None else var.type.name
    return Described(var, "", meta)


def _is_doubtful(var: VarHeader | None, version: str) -> bool:
    if var is None or var.type is None or not var.type.is_string:
        return False
    return var.type.name == "str" or var.missing or version == "2.0.1"


def _may_be_packed(meta: Entry) -> bool:
    return any(type(value) is dict and PACKED in value for name, value in meta.items() if name.startswith("."))


def build(entries: Entry, attributes: Entry, version: str = "1.0", padded_size: int = 0) -> bytes:
    """Return version line and header line, padded with spaces so that the body starts at a multiple of `ALIGNMENT`.

    Parameters
    ----------
    entries : dict
        Key of a dataset → properties and attributes, plain JSON values.
    attributes : dict
        Attributes of the dataset.
    version : str
        `1.0`, or `2.0.1`, whose names are not escaped.
    padded_size : int
        Bytes of the result, a multiple of `ALIGNMENT`; 0: as few as possible.

    Raises
    ------
    ValueError
        If the header is larger than `padded_size`.
    """
    lead = VERSION_LINE
    if version == "2.0.1":
        lead, attributes = b"", {**attributes, WRITER: "ds_format"}
    import json

    text = json.dumps({**entries, ".": attributes}).encode()
    size = len(lead) + len(text) + 1
    padded = padded_size or size + -size % ALIGNMENT
    if size > padded:
        raise ValueError(f"a header of {size} bytes does not fit into {padded_size} bytes")
    return lead + text + b" " * (padded - size) + b"\n"
