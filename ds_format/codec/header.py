"""The header of a ds file: version line and JSON line ↔ one entry per variable. Every constant of the format is here.

::

    file         = version-line header-line body         (ds-1.0)
                 | header-line body                      (2.0.1: no version line)
    version-line = "ds-1.0" LF
    header-line  = one JSON object, UTF-8, LF
    body         = raw bytes up to the end of the file

Sources: the storage format pages of the ds-format documentation 2.0.1 and 3.0 to 5.0, and files written by ds-format 2.0.1
and 5.0.2 where those are silent.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..dtypes import FLOAT16, TYPES, Type
from ..errors import FormatError, VersionError
from ..names import escape

VERSION_LINE = b"ds-1.0\n"
"""First bytes of a ds-1.0 file."""
VERSION_MARK = b"ds-"
"""First bytes of every versioned file."""
MAX_VERSION_SIZE = 64
"""Bytes within which a version line must end."""
MAX_HEADER_SIZE = 1 << 28
"""Bytes within which the header line must end."""
MAX_DIMS = 64
"""Dimensions of a variable: as many as NumPy allows."""
ALIGNMENT = 64
"""Bytes: the body and large variables start at a multiple of this. A reader accepts any offset."""
PRIVATE = (".offset", ".len", ".endian", ".missing", ".dsize", ".dtypes")
"""Properties that say where and how a variable is stored; the others belong to the metadata of the dataset."""

Entry = dict[str, Any]


class Header(NamedTuple):
    """What the first bytes of a file say."""

    version: str
    """`1.0` or `2.0.1`."""
    body: int
    """Where the body starts, in bytes from the start of the file."""
    attributes: Entry
    """Attributes of the dataset: the entry `"."`."""
    entries: dict[str, Any]
    """Key of a dataset → JSON value. Each is checked only when its variable is read, by `variable`."""


class VarHeader(NamedTuple):
    """Where one variable lies in the body, and how to read it."""

    type: Type | None
    """`.type`; None only without data."""
    size: tuple[int, ...] | None
    """`.size`: the shape; None: the variable has no data."""
    offset: int = 0
    """`.offset`: bytes from the start of the body to its first byte, of the mask if there is one."""
    length: int = 0
    """`.len`: bytes used, mask and string lengths included. Never used to find data: some writers get it wrong."""
    big: bool = True
    """`.endian` is `b`: byte order of values and of string lengths, never of bits."""
    missing: bool = False
    """`.missing`: a mask of one bit per value comes first."""


# The scanner behind `json.loads`, without its search for white space on both sides.
_scan = json.JSONDecoder().scan_once
_encode = json.JSONEncoder().encode


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
    end = data.find(b"\n", _start(data))
    if end < 0:
        if len(data) > MAX_HEADER_SIZE:
            raise FormatError(f"the header line does not end within {MAX_HEADER_SIZE} bytes")
        if whole:
            return len(data)
    return end


def _start(data: bytes | bytearray) -> int:
    """Return where the header line starts."""
    if data.startswith(VERSION_LINE):
        return len(VERSION_LINE)
    if data[:MAX_VERSION_SIZE].lstrip(b" \t\r\n").startswith(b"{"):
        return data.index(b"{")
    if not data:
        raise FormatError("the file is empty")
    if not data.startswith(VERSION_MARK):
        raise FormatError(f"not a ds file: found {bytes(data[:16])!r}, expected {VERSION_LINE!r} or a JSON object")
    line = bytes(data[:MAX_VERSION_SIZE]).partition(b"\n")[0]
    if line == b"ds-1.0\r":
        raise FormatError("the version line ends with CR LF: a transfer in text mode changed the file")
    raise VersionError(f"format version: found {line.decode('ascii', 'replace')!r}, expected 'ds-1.0'")


def parse(data: bytes | bytearray, end: int) -> Header:
    """Read the header from the first bytes of a file, up to the LF at `end` as `find_end` returned it.

    Raises
    ------
    FormatError
        If the line is not a JSON object of the form the format wants.
    """
    start = _start(data)
    try:
        text = data[start:end].decode().rstrip(" \t\r")
        entries, stop = _scan(text, 0)
    except UnicodeDecodeError as error:
        raise FormatError(f"header: not UTF-8 at byte {start + error.start}") from None
    except json.JSONDecodeError as error:
        raise FormatError(f"header: {error.msg} at character {error.pos}") from None
    except StopIteration as error:
        raise FormatError(f"header: no JSON value at character {error.value}") from None
    except RecursionError:
        raise FormatError("header: nested too deeply") from None
    if stop != len(text):
        raise FormatError(f"header: found more after the JSON value, at character {stop}")
    if type(entries) is not dict:
        raise FormatError(f"header: found {_kind(entries)}, expected an object")
    _refuse_duplicates(text, entries)
    attributes = entries.pop(".", {})
    if type(attributes) is not dict:
        raise FormatError(f'header: ".": found {_kind(attributes)}, expected an object')
    if not data.startswith(VERSION_LINE):
        return Header("2.0.1", end + 1, _escaped(attributes), _escaped_entries(entries))
    reserved = [key for key in entries if key.startswith(".")]
    for key in reserved:
        del entries[key]
    return Header("1.0", end + 1, attributes, entries)


def _refuse_duplicates(text: str, entries: Entry) -> None:
    """Raise if a JSON object has a key twice.

    Each key of the text is followed by a colon; when there are as many `":` as keys came out, none can have got lost.
    Other text, such as a string with a quote and a colon in it, only means that the slow test has to decide.
    """
    n = len(entries)
    for entry in entries.values():
        if type(entry) is dict:
            n += len(entry)
    if text.count('":') == n and " :" not in text and "\t:" not in text and "\r:" not in text:
        return
    json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> Entry:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FormatError(f'header: "{twice}" occurs twice in one object')
    return entry


def _escaped_entries(entries: Entry) -> Entry:
    """Give the variables of a 2.0.1 header, whose names are not escaped, the keys of a dataset."""
    return {
        escape(key): _escaped(entry) if type(entry) is dict else entry
        for key, entry in entries.items()
        if not key.startswith(".")
    }


def _escaped(entry: Entry) -> Entry:
    """Escape the names of attributes, which in 2.0.1 cannot begin with `.`."""
    if any(key.startswith("\\") for key in entry):
        return {escape(key) if key.startswith("\\") else key: value for key, value in entry.items()}
    return entry


def variable(entry: Any, version: str = "1.0") -> VarHeader:
    """Read the properties of one variable.

    Parameters
    ----------
    entry : object
        The JSON value of the variable in a header.
    version : str
        `1.0` or `2.0.1`.

    Raises
    ------
    FormatError
        If a property has a value that the format does not allow; the message names it.
    """
    if type(entry) is not dict:
        raise FormatError(f"found {_kind(entry)}, expected an object")
    get = entry.get
    size, offset, length, missing = get(".size", []), get(".offset", 0), get(".len", 0), get(".missing", False)
    if type(size) is list:
        if len(size) > MAX_DIMS:
            raise FormatError(f".size: found {len(size)} dimensions, expected at most {MAX_DIMS}")
        for count in size:
            if type(count) is not int or count < 0:
                raise _wrong(".size", size, "integers of 0 or more")
        shape: tuple[int, ...] | None = tuple(size)
    elif size is None:
        shape = None
    elif version == "2.0.1" and type(size) is int and size == 1:
        shape = ()
    else:
        raise _wrong(".size", size, "a list of integers, or null")
    if type(offset) is not int or offset < 0:
        raise _wrong(".offset", offset, "an integer of 0 or more")
    if type(length) is not int or length < 0:
        raise _wrong(".len", length, "an integer of 0 or more")
    if missing is not True and missing is not False:
        raise _wrong(".missing", missing, "true or false")
    endian = get(".endian", "b")
    if endian != "l" and endian != "b":
        raise _wrong(".endian", endian, '"b" or "l"')
    if ".dims" in entry:
        _check_dims(entry[".dims"], shape)
    return VarHeader(_type(entry, shape, version), shape, offset, length, endian == "b", missing)


def _type(entry: Entry, shape: tuple[int, ...] | None, version: str) -> Type | None:
    name = entry.get(".type", "float64")
    if name is None and shape is None:
        return None
    if type(name) is str:
        if version == "2.0.1" and name in ("float", "int", "uint"):
            bits = entry.get(".dsize")
            found = f"{name}{bits}"
            if found == FLOAT16.name:
                return FLOAT16
            if type(bits) is int and found in TYPES:
                return TYPES[found]
            raise _wrong(".dsize", bits, f"the bits of a known {name}")
        if name in TYPES:
            return TYPES[name]
    raise _wrong(".type", name, "a type of the format")


def _check_dims(dims: Any, shape: tuple[int, ...] | None) -> None:
    if type(dims) is not list or not all(type(dim) is str for dim in dims):
        raise _wrong(".dims", dims, "a list of names")
    if shape is not None and len(dims) != len(shape):
        raise FormatError(f".dims: found {len(dims)} names, expected {len(shape)} as .size has")


def _wrong(field: str, found: Any, expected: str) -> FormatError:
    text = json.dumps(found)
    return FormatError(f"{field}: found {text if len(text) <= 60 else text[:60] + '...'}, expected {expected}")


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def metadata(entry: Entry) -> Entry:
    """Return what the metadata of a dataset keep of the entry of a variable: all but where and how it is stored."""
    return {key: value for key, value in entry.items() if key not in PRIVATE}


def properties(var: VarHeader, version: str) -> Entry:
    """Return the properties of a variable as a header has them: all of them, which the oldest readers need."""
    name = None if var.type is None else var.type.name
    entry: Entry = {".size": None if var.size is None else list(var.size), ".offset": var.offset, ".len": var.length}
    if version == "2.0.1" and var.type is not None:
        entry[".type"] = name if var.type.is_string or name == "bool" else name.rstrip("0123456789")  # type: ignore[union-attr]
        entry[".dsize"] = 8 if var.type.is_string else var.type.bits
        if var.size == ():
            entry[".size"] = 1
    else:
        entry[".type"] = name
    entry[".missing"] = var.missing
    entry[".endian"] = "b" if var.big else "l"
    return entry


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
    lead = VERSION_LINE if version == "1.0" else b""
    text = _encode({**entries, ".": attributes}).encode()
    size = len(lead) + len(text) + 1
    padded = room or size + -size % ALIGNMENT
    if size > padded:
        raise ValueError(f"a header of {size} bytes does not fit {room} bytes")
    return lead + text + b" " * (padded - size) + b"\n"
