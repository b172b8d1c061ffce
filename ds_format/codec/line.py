"""Version line and JSON line ↔ entries of all variables, and attributes of the dataset.

`parse` calls the kernel for usual headers, and `parse_any` for all others. Only these need Python's `json`, which takes
longer to load than a small file to read.
"""

import functools
import re
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
    DTYPES,
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
REMEMBERED_SIZE = 16 * 1024
"""Maximum bytes of a header that is remembered."""
FLAT = frozenset({str, int, float, bool, type(None)})
BACKSLASH = "\\"
LONGEST_TOKEN = 8
"""Maximum distance, in characters, from an error to the end of truncated JSON: an escape or literal, and one before."""
SPACED_COLON = r"[ \t\r]:"


class Described(NamedTuple):
    """The entry of one variable in a header."""

    var: VarHeader | None
    """None if a property is invalid."""
    error: str
    """The message about the invalid property."""
    meta: Entry
    """The part that belongs to the metadata of a dataset: attributes, `.dims`, `.size`, `.type`, unknown properties."""
    is_flat: bool
    """Whether only `.dims` and `.size` in `meta` have mutable values."""


class Header(NamedTuple):
    """The content of a header. Headers are shared: do not change anything in them."""

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
        described = self[key] = Described(var, "", {}, False)
        return described


@functools.cache
def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    """Return the scanner of `json.loads`, without its search for white space at both ends."""
    import json

    scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
    return scan


@functools.cache
def _encoder() -> Callable[[Any], str]:
    """Return an encoder that is made once. `json.dumps` makes one for each call."""
    import json

    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(check_circular=False).encode
    pieces = make(None, None, json.encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True)
    return lambda value: "".join(pieces(value, 0))


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


def parse(data: bytes | bytearray, end: int, keys: Collection[str] | None = None) -> tuple[Header, dict[str, Entry]]:
    """Parse the header in the first bytes of a file.

    Parameters
    ----------
    data : bytes or bytearray
    end : int
        End of the header line, the result of `find_end`.
    keys : collection of str, optional
        Variables whose metadata to return, in addition to the metadata of the dataset. Default: all variables.

    Returns
    -------
    Header
    dict
        The metadata of a dataset, with plain JSON values. They are not shared, so you may change them.

    Raises
    ------
    FormatError
        If the line is not a JSON object with the structure of a header.
    """
    parsed = parse_usual(data, keys)
    return parse_any(data, end, keys) if parsed is None else (header_of(parsed[0]), parsed[1])


def parse_any(
    data: bytes | bytearray, end: int, keys: Collection[str] | None = None
) -> tuple[Header, dict[str, Entry]]:
    """Parse a header like `parse`, but without the kernel, which supports usual headers only."""
    line = bytes(data[:end])
    header, attributes = (_parse_once if end <= REMEMBERED_SIZE else _parse)(line, end >= len(data))
    meta = {key: _metadata(header.variables[key]) for key in header.keys if keys is None or key in keys}
    meta["."] = {key: _copied(value) for key, value in attributes.items() if key != WRITER}
    return header, meta


def _parse(line: bytes, is_last: bool) -> tuple[Header, Entry]:
    """Parse a header without the kernel; also return the attributes of the dataset. An error names the fault.

    `is_last`: whether the file ends with the line.
    """
    import json

    versioned = line.startswith(VERSION_LINE)
    start = len(VERSION_LINE) if versioned else _start(line)
    try:
        text = line[start:].decode()
        entries, stop = _scanner()(text, 0)
    except UnicodeDecodeError as error:
        if is_last and error.end == len(line) - start:
            raise _cut(line) from None
        raise FormatError(f"header: not UTF-8 at byte {start + error.start}") from None
    except (json.JSONDecodeError, StopIteration):
        text, entries, stop = _scan_spaced(text, line if is_last else b"")
    except RecursionError:
        raise FormatError(f"header: {TOO_DEEP}") from None
    except ValueError as error:  # an integer with more digits than Python converts
        raise FormatError(f"header: {error}") from None
    if type(entries) is not dict:
        raise FormatError(f"header: found {kind_of(entries)}, expected an object")
    if stop != len(text) and text[stop:].strip(" \t\r"):
        raise FormatError(f"header: found more after the JSON value, at character {stop}")
    _check_keys(text, entries)
    attributes = entries.pop(".", {})
    if type(attributes) is not dict:
        raise FormatError(f'header: ".": found {kind_of(attributes)}, expected an object')
    for key, value in attributes.items():
        if type(value) not in FLAT and is_too_deep(value):
            raise FormatError(f'header: attribute "{unescape(key)}": {TOO_DEEP}')
    version = "1.0" if versioned else "2.0.1"
    if BACKSLASH in text:
        entries = {name: _renamed(entry, version) for name, entry in _renamed(entries, version).items()}
        attributes = _renamed(attributes, version)
    variables = {key: describe(entry, version) for key, entry in entries.items()}
    doubtful = any(_is_doubtful(described.var, version) for described in variables.values())
    packed = any(_may_be_packed(described.meta) for described in variables.values())
    own = WRITER in attributes
    header = Header(version, len(line) + 1, own, tuple(variables), variables, None, doubtful, packed, True)
    return header, attributes


_parse_once = functools.lru_cache(maxsize=8)(_parse)
"""Files written by the same program often have the same header. The last eight small ones are remembered."""


def _cut(line: bytes | bytearray) -> TruncatedError:
    return TruncatedError(f"the header ends after {len(line)} bytes: the file is truncated")


def _scan_spaced(text: str, last: bytes) -> tuple[str, Any, int]:
    """Scan a header line that may begin with white space. An error names the fault.

    `last`: the line if the file ends with it, else empty.
    """
    import json

    text = text.strip(" \t\r")
    try:
        return text, *_scanner()(text, 0)
    except RecursionError:
        raise FormatError(f"header: {TOO_DEEP}") from None
    except json.JSONDecodeError as error:
        is_begun = error.msg.startswith("Unterminated") or len(text) - error.pos < LONGEST_TOKEN
        if last and text.startswith("{") and is_begun:
            raise _cut(last) from None
        raise FormatError(f"header: {error.msg.removesuffix(' at')} at character {error.pos}") from None
    except ValueError as error:
        raise FormatError(f"header: {error}") from None
    except StopIteration as error:
        if last and not text:
            raise _cut(last) from None
        if text.startswith("\ufeff"):
            raise FormatError("header: begins with a byte order mark") from None
        raise FormatError(f"header: no JSON value at character {error.value}") from None


def _check_keys(text: str, entries: Entry) -> None:
    """Raise if a JSON object has a key twice, and remove variables with reserved names.

    A colon follows each key in the text, and `":` follows most keys. If their number equals the number of parsed keys,
    no key was overwritten. If strings contain colons, the numbers differ, and a slower check decides.
    """
    n = len(entries)
    reserved = []
    for key, entry in entries.items():
        if type(entry) is dict:
            n += len(entry)
        if key.startswith(".") and key != ".":
            reserved.append(key)
    if text.count(":") != n and (text.count('":') != n or re.search(SPACED_COLON, text)):
        import json

        try:
            json.loads(text, object_pairs_hook=_unique)
        except RecursionError:
            raise FormatError(f"header: {TOO_DEEP}") from None
    for key in reserved:
        del entries[key]


def _unique(pairs: list[tuple[str, Any]]) -> Entry:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FormatError(f'header: "{twice}" occurs twice in one object')
    return entry


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
    is_flat = True
    deep = ""
    for key, value in entry.items() if type(entry) is dict else ():
        if key not in PRIVATE:
            if type(value) not in FLAT and key != ".dims" and key != ".size":
                is_flat = False
                if not (type(value) is list and FLAT.issuperset(map(type, value))) and is_too_deep(value):
                    deep = key
                    continue
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
        return Described(None, str(error), meta, False)
    meta[".size"] = None if var.size is None else list(var.size)
    meta[".type"] = None if var.type is None else var.type.name
    return Described(var, "", meta, is_flat and DTYPES not in meta)


def _is_doubtful(var: VarHeader | None, version: str) -> bool:
    if var is None or var.type is None or not var.type.is_string:
        return False
    return var.type.name == "str" or var.missing or version == "2.0.1"


def _may_be_packed(meta: Entry) -> bool:
    return any(type(value) is dict and PACKED in value for name, value in meta.items() if name.startswith("."))


def _copied(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    if type(value) is dict:
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if type(value) is list else value


def _metadata(described: Described) -> Entry:
    """Return a copy of the metadata of one variable, which the caller may change."""
    if not described.is_flat:
        meta: Entry = _copied(described.meta)
        return meta
    meta = described.meta.copy()
    if ".dims" in meta:
        meta[".dims"] = meta[".dims"].copy()
    if meta[".size"]:
        meta[".size"] = meta[".size"].copy()
    elif meta[".size"] is not None:
        meta[".size"] = []
    return meta


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
    text = _encoder()({**entries, ".": attributes}).encode()
    size = len(lead) + len(text) + 1
    padded = padded_size or size + -size % ALIGNMENT
    if size > padded:
        raise ValueError(f"a header of {size} bytes does not fit into {padded_size} bytes")
    return lead + text + b" " * (padded - size) + b"\n"


class HeaderLine:
    """A valid header line. Its content is parsed on demand.

    Parameters
    ----------
    data : bytes or bytearray
        The first bytes of a file, with the whole line. Do not change them afterwards.

    Raises
    ------
    FormatError, VersionError
        See `find_end` and `parse`.
    """

    __slots__ = ("_data", "_header")

    def __init__(self, data: bytes | bytearray):
        self._data = data
        parsed = parse_usual(data, ())
        self._header = parsed[0] if parsed is not None else parse_any(data, find_end(data, whole=True), ())[0]

    def text(self) -> str:
        """Return the unchanged header line, after the version line if there is one."""
        return self._data[: self._header.body].decode()

    def header(self) -> Header:
        """Return the header."""
        return self._header if isinstance(self._header, Header) else header_of(self._header)

    def meta(self, typed: Callable[[Entry], Entry]) -> dict[str, Entry]:
        """Return the metadata, like `parse`. Each call returns new objects, which the caller may change.

        Parameters
        ----------
        typed : callable
            Converts attributes to their types in place, and returns them: `attributes.from_json`.
        """
        parsed = parse_usual(self._data, None, typed)
        if parsed is not None:
            return parsed[1]
        meta = parse_any(self._data, self._header.body - 1)[1]
        return {key: typed(entry) for key, entry in meta.items()}
