"""Version line and JSON line ↔ what they say of each variable."""

import functools
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from ..base import signatures
from ..base.dtypes import PACKED, TYPES
from ..base.text import escape, unescape
from ..errors import FormatError, TruncatedError, VersionError
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

KNOWN = tuple(TYPES.values())
"""The types of ds-1.0, by the numbers that kernels know them by."""
NUMBERS = {ds_type.name: number for number, ds_type in enumerate(KNOWN)}
REMEMBERED_SIZE = 16 * 1024
"""Bytes of the longest header that is remembered."""
FLAT = frozenset({str, int, float, bool, type(None)})
BACKSLASH = "\\"
LONGEST_TOKEN = 8
"""Characters in which JSON that is cut goes wrong: those of an escape or a literal, and one before."""
SPACED_COLON = r"[ \t\r]:"


class Described(NamedTuple):
    """What a header says of one variable."""

    var: VarHeader | None
    """None if a property is wrong."""
    error: str
    """Which one, and how."""
    meta: Entry
    """What the metadata of a dataset keep: attributes, `.dims`, `.size`, `.type`, and properties unknown here."""
    is_flat: bool
    """Whether nothing in `meta` but `.dims` and `.size` could be changed in place."""


class Header(NamedTuple):
    """What the first bytes of a file say. Headers are shared: nothing in them may be changed."""

    version: str
    """`1.0` or `2.0.1`."""
    body: int
    """Where the body starts, in bytes from the start of the file."""
    is_own: bool
    """Whether this package wrote the file, as those of the 2.0.1 layout tell."""
    keys: tuple[str, ...]
    """Of all variables, as in a dataset, in the order of the file."""
    variables: Mapping[str, Described]
    """By these keys."""
    compiled: Compiled | None
    """The same for kernels; None: the header is not of the usual kind."""
    is_doubtful: bool
    """Whether some older writer gets the `.len` of a variable wrong, and with it the offsets of all behind it."""
    may_be_packed: bool
    """Whether a variable may be one of those that are unpacked by default; see `packing.is_unpacked_by`."""
    has_dtypes: bool
    """Whether the metadata may have `.dtypes`."""


class _Compiled(dict[str, Described]):
    """Key → what the kernel has found of a variable: filled as variables are asked for."""

    def __init__(self, found: Compiled):
        self._found = found
        self._places: dict[str, int] = {}

    def __missing__(self, key: str) -> Described:
        if not self._places:
            self._places = {name: i for i, name in enumerate(self._found.keys)}
        which, size, offset, length, big, missing = self._found.variable(self._places[key])
        var = VarHeader(KNOWN[which] if which >= 0 else None, size, offset, length, big, missing)
        described = self[key] = Described(var, "", {}, False)
        return described


# The scanner behind `json.loads`, without its search for white space on both sides.
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def _make_encoder() -> Callable[[Any], str]:
    """Make once what `json.dumps` makes anew for each call."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(check_circular=False).encode
    pieces = make(None, None, json.encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True)
    return lambda value: "".join(pieces(value, 0))


_encode = _make_encoder()


def find_end(data: bytes | bytearray, whole: bool) -> int:
    """Return where the header line ends, or -1 if more bytes are needed to tell.

    Parameters
    ----------
    data : bytes or bytearray
        The first bytes of a file.
    whole : bool
        Whether these are all bytes of the file: a header line without LF ends with it.

    Raises
    ------
    FormatError, VersionError
        If these are not the first bytes of a ds file, or the line ends nowhere within `MAX_HEADER_SIZE`.
    """
    end = data.find(b"\n", len(VERSION_LINE) if data.startswith(VERSION_LINE) else _start(data))
    if end < 0:
        if len(data) > MAX_HEADER_SIZE:
            raise FormatError(f"the header line does not end within {MAX_HEADER_SIZE} bytes")
        if whole:
            return len(data)
    return end


def _start(data: bytes | bytearray) -> int:
    """Return where a header line starts that is not behind the version line."""
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
"""Reads headers of the usual kind; where it returns None, `interpreted` does what is to be done."""
compiled = PARSER.parse


def decompiled(found: Compiled) -> Header:
    """Return what the kernel has found in a header."""
    doubtful, packed, dtypes = found.is_doubtful, found.may_be_packed, found.has_dtypes
    return Header("1.0", found.body, False, found.keys, _Compiled(found), found, doubtful, packed, dtypes)


def parse(data: bytes | bytearray, end: int, keys: Collection[str] | None = None) -> tuple[Header, dict[str, Entry]]:
    """Read the header from the first bytes of a file, up to the LF at `end` as `find_end` returned it.

    Parameters
    ----------
    data : bytes or bytearray
    end : int
    keys : collection of str, optional
        Of which variables to return the metadata, besides those of the dataset; all by default.

    Returns
    -------
    Header
    dict
        The metadata of a dataset, with plain JSON values. Nobody else holds them.

    Raises
    ------
    FormatError
        If the line is not a JSON object of the form the format wants.
    """
    found = compiled(data, keys)
    return interpreted(data, end, keys) if found is None else (decompiled(found[0]), found[1])


def interpreted(
    data: bytes | bytearray, end: int, keys: Collection[str] | None = None
) -> tuple[Header, dict[str, Entry]]:
    """Do what `parse` does with a header of any kind."""
    line = bytes(data[:end])
    header, attributes = (_parse_once if end <= REMEMBERED_SIZE else _parse)(line, end >= len(data))
    meta = {key: _metadata(header.variables[key]) for key in header.keys if keys is None or key in keys}
    meta["."] = {key: _copied(value) for key, value in attributes.items() if key != WRITER}
    return header, meta


def _parse(line: bytes, is_last: bool) -> tuple[Header, Entry]:
    """Read a header of any kind, or tell what is wrong with it; also return the attributes of the dataset.

    `is_last`: the file ends with the line.
    """
    versioned = line.startswith(VERSION_LINE)
    start = len(VERSION_LINE) if versioned else _start(line)
    try:
        text = line[start:].decode()
        entries, stop = _scan(text, 0)
    except UnicodeDecodeError as error:
        if is_last and error.end == len(line) - start:
            raise _cut(line) from None
        raise FormatError(f"header: not UTF-8 at byte {start + error.start}") from None
    except (json.JSONDecodeError, StopIteration):
        text, entries, stop = _scan_spaced(text, line if is_last else b"")
    except RecursionError:
        raise FormatError(f"header: {TOO_DEEP}") from None
    except ValueError as error:  # an integer of more digits than Python converts
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
"""Files written by one program tend to have one header. The last few small ones are remembered."""


def _cut(line: bytes | bytearray) -> TruncatedError:
    return TruncatedError(f"the header ends after {len(line)} bytes: the file is truncated")


def _scan_spaced(text: str, last: bytes) -> tuple[str, Any, int]:
    """Scan a header line that may begin with white space, or tell what is wrong with it.

    `last`: the line, if the file ends with it.
    """
    text = text.strip(" \t\r")
    try:
        return text, *_scan(text, 0)
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

    Each key of the text is followed by a colon, and most by `":`; where there are as many of these as keys came out,
    none can have got lost. Strings with colons only mean that a slower test has to decide.
    """
    n = len(entries)
    reserved = []
    for key, entry in entries.items():
        if type(entry) is dict:
            n += len(entry)
        if key.startswith(".") and key != ".":
            reserved.append(key)
    if text.count(":") != n and (text.count('":') != n or re.search(SPACED_COLON, text)):
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
    r"""Give names that begin with `\` the keys of a dataset: in 2.0.1 they are not escaped, in 1.0 not always.

    Raises
    ------
    FormatError
        If two names are the same.
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
    """Read the entry of one variable, and keep what can be kept of a damaged one."""
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
    """Return a JSON value that shares nothing with another that could be changed."""
    if type(value) is dict:
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if type(value) is list else value


def _metadata(described: Described) -> Entry:
    """Return the metadata of one variable, for somebody to keep and change."""
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


def build(entries: Entry, attributes: Entry, version: str = "1.0", room: int = 0) -> bytes:
    """Return version line and header line, padded with spaces so that the body starts at a multiple of `ALIGNMENT`.

    Parameters
    ----------
    entries : dict
        Key of a dataset → properties and attributes, plain JSON values.
    attributes : dict
        Attributes of the dataset.
    version : str
        `1.0`, or `2.0.1`, whose names are not escaped.
    room : int
        Bytes to fill, a multiple of `ALIGNMENT`; 0: as few as will do.

    Raises
    ------
    ValueError
        If the header does not fit `room`.
    """
    lead = VERSION_LINE
    if version == "2.0.1":
        lead, attributes = b"", {**attributes, WRITER: "ds_format"}
    text = _encode({**entries, ".": attributes}).encode()
    size = len(lead) + len(text) + 1
    padded = room or size + -size % ALIGNMENT
    if size > padded:
        raise ValueError(f"a header of {size} bytes does not fit {room} bytes")
    return lead + text + b" " * (padded - size) + b"\n"


class HeaderLine:
    """A header line that is right. What it says is made when it is asked for.

    Parameters
    ----------
    data : bytes or bytearray
        The first bytes of a file, with all of the line, which may not be changed afterwards.

    Raises
    ------
    FormatError, VersionError
        As `find_end` and `parse`.
    """

    __slots__ = ("_data", "_found")

    def __init__(self, data: bytes | bytearray):
        self._data = data
        found = compiled(data, ())
        self._found = found[0] if found is not None else interpreted(data, find_end(data, whole=True), ())[0]

    def text(self) -> str:
        """Return the line as it stands, behind the version line if there is one."""
        return self._data[: self._found.body].decode()

    def header(self) -> Header:
        """Return the header."""
        return self._found if isinstance(self._found, Header) else decompiled(self._found)

    def meta(self, typed: Callable[[Entry], Entry]) -> dict[str, Entry]:
        """Return the metadata as `parse` does. Each call makes new ones, which the caller may change.

        Parameters
        ----------
        typed : callable
            Gives attributes their types back, in place, and returns them: `attributes.from_json`.
        """
        found = compiled(self._data, None, typed)
        if found is not None:
            return found[1]
        meta = interpreted(self._data, self._found.body - 1)[1]
        return {key: typed(entry) for key, entry in meta.items()}
