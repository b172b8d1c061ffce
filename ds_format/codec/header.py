"""The ds format: its constants, and the entry of one variable in the header.

::

    file         = version-line header-line body         (ds-1.0)
                 | header-line body                      (2.0.1: no version line)
    version-line = "ds-1.0" LF
    header-line  = one JSON object, UTF-8, LF
    body         = raw bytes up to the end of the file

Sources: the storage format pages of the ds-format documentation 2.0.1 and 3.0 to 5.0. Where they leave a question open,
files written by ds-format 2.0.1 and 5.0.2.
"""

import math
import sys
from typing import Any, NamedTuple

from ..base.dtypes import TYPES, Type
from ..errors import FormatError

VERSIONS = ("1.0", "2.0.1")
"""Versions of the format, with the names that options and `Header.version` use."""
VERSION_LINE = b"ds-1.0\n"
"""First bytes of a ds-1.0 file."""
VERSION_MARK = b"ds-"
"""First bytes of every versioned file."""
MAX_VERSION_SIZE = 64
"""Maximum bytes of a version line."""
MAX_HEADER_SIZE = 1 << 28
"""Maximum bytes of the header line."""
MAX_DIMS = 64
"""Maximum number of dimensions of a variable, the same as in NumPy."""
MAX_VALUES = sys.maxsize // 16
"""Maximum number of values of an array of any type in NumPy. NumPy ignores dimensions of size 0 when it checks this."""
ALIGNMENT = 64
"""Bytes: the body and large variables start at a multiple of this. A reader accepts any offset."""
LARGE_SIZE = 4096
"""Minimum bytes of a large variable. Smaller ones start at a multiple of their item size."""
NEAR_SIZE = 16 * 1024
"""Variables of fewer bytes are written before all others, so that they come with the header of a file elsewhere."""
DTYPES = ".dtypes"
"""Property of a variable, and of the entry `"."`: attribute key → name of its dtype, or [name, *shape] of an array.

An extension of this package. Readers of ds-format keep and ignore unknown properties."""
WRITER = ".writer"
"""Property of the entry `"."` in files of the 2.0.1 layout that this package writes.

It distinguishes them from files of ds-format 2.0.1, which have errors (see `legacy`)."""
PRIVATE = frozenset({".offset", ".len", ".endian", ".missing", ".dsize", WRITER})
"""Properties that describe the storage of a variable. All others belong to the metadata of the dataset."""
Entry = dict[str, Any]


class VarHeader(NamedTuple):
    """The position of one variable in the body, and its storage."""

    type: Type | None
    """`.type`; None only if the variable does not have data."""
    size: tuple[int, ...] | None
    """`.size`: the shape; None if the variable does not have data."""
    offset: int = 0
    """`.offset`: bytes from the start of the body to the mask, or to the values if there is no mask."""
    length: int = 0
    """`.len`: bytes used, mask and string lengths included. Data are located without it, since it may be wrong."""
    big: bool = True
    """`.endian` is `b`: the byte order of values and of string lengths. It does not apply to bits."""
    missing: bool = False
    """`.missing`: the values follow a mask of one bit per value."""


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
        If a property has a value that the format does not allow. The message names the property.
    """
    if type(entry) is not dict:
        raise FormatError(f"found {kind_of(entry)}, expected an object")
    get = entry.get
    size = get(".size", ())
    if type(size) is list:
        for count in size:
            if type(count) is not int or not 0 < count <= MAX_VALUES:
                _check_counts(size)
                break
        if len(size) > MAX_DIMS:
            raise FormatError(f".size: found {len(size)} dimensions, expected at most {MAX_DIMS}")
        size = tuple(size)
    elif size == 1 and type(size) is int and version == "2.0.1":
        size = ()
    elif size is not None and size != ():
        raise wrong(".size", size, "a list of integers, or null")
    offset = get(".offset", 0)
    if type(offset) is not int or offset < 0:
        raise wrong(".offset", offset, "an integer of 0 or more")
    length = get(".len", 0)
    if type(length) is not int or length < 0:
        raise wrong(".len", length, "an integer of 0 or more")
    missing = get(".missing", False)
    if missing is not True and missing is not False:
        raise wrong(".missing", missing, "true or false")
    endian = get(".endian", "b")
    if endian != "l" and endian != "b":
        raise wrong(".endian", endian, '"b" or "l"')
    if ".dims" in entry:
        check_dims(entry[".dims"], size)
    name = get(".type", "float64")
    ds_type = TYPES.get(name) if type(name) is str else None
    if ds_type is None and (name is not None or size is not None):
        ds_type = _sized_type(name, entry, version)
    return VarHeader(ds_type, size, offset, length, endian == "b", missing)


def _check_counts(size: list[Any]) -> None:
    """Check a `.size` with a count that is 0 or invalid.

    A variable without values fits into any file, so its other counts are limited here.
    """
    for count in size:
        if type(count) is not int or count < 0:
            raise wrong(".size", size, "integers of 0 or more")
    if math.prod(count for count in size if count) > MAX_VALUES:
        raise wrong(".size", size, f"integers whose product, without zeros, is at most {MAX_VALUES}")


def _sized_type(name: Any, entry: Entry, version: str) -> Type:
    """Return a type of the 2.0.1 format, which stores the number of bits in a property of its own."""
    if version == "2.0.1" and name in ("float", "int", "uint"):
        bits = entry.get(".dsize")
        full_name = f"{name}{bits}"
        if type(bits) is int and full_name in TYPES:
            return TYPES[full_name]
        raise wrong(".dsize", bits, f"the number of bits of a supported {name}")
    raise wrong(".type", name, "a type of the format")


def check_dims(dims: Any, shape: tuple[int, ...] | None) -> None:
    """Raise a FormatError if `.dims` is not a list of names, one for each dimension of `shape`, if this is given."""
    if type(dims) is not list:
        raise wrong(".dims", dims, "a list of names")
    for dim in dims:
        if type(dim) is not str:
            raise wrong(".dims", dims, "a list of names")
    if shape is not None and len(dims) != len(shape):
        raise FormatError(f".dims: found {len(dims)} names, expected {len(shape)} as in .size")


def wrong(field: str, found: Any, expected: str) -> FormatError:
    """Return an error with the name of a field, its value, shortened if it is long, and the expected value."""
    import json  # imported for a message only, because it takes longer to load than a small file to read

    try:
        text = json.dumps(found)
    except RecursionError:
        text = kind_of(found)
    return FormatError(f"{field}: found {text if len(text) <= 60 else text[:60] + '...'}, expected {expected}")


def kind_of(value: Any) -> str:
    """Return the JSON type of a value, with its article."""
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def properties(var: VarHeader, version: str) -> Entry:
    """Return all properties of a variable for a header, defaults included, because the oldest readers need them."""
    ds_type, size, offset, length, big, missing = var
    entry: Entry = {
        ".size": None if size is None else list(size),
        ".offset": offset,
        ".len": length,
        ".type": None if ds_type is None else ds_type.name,
        ".missing": missing,
        ".endian": "b" if big else "l",
    }
    if version == "2.0.1" and ds_type is not None:
        if ds_type.is_number:
            entry[".type"] = ds_type.name.rstrip("0123456789")
        entry[".dsize"] = 8 if ds_type.is_string else ds_type.bits
        if size == ():
            entry[".size"] = 1
    return entry


DEPTH = 100
"""Maximum number of nested lists and objects in an attribute."""
TOO_DEEP = f"nested too deeply: more than {DEPTH} lists and objects are inside of one another"
CONTAINERS = frozenset({list, tuple, dict})


def is_too_deep(value: Any, more: int = 0) -> bool:
    """Return whether lists, tuples and dictionaries are nested more than `DEPTH` levels, or contain themselves.

    A shared object is visited once per level at which it occurs.

    Parameters
    ----------
    value : object
    more : int
        Levels allowed in addition, for the containers around attributes.
    """
    level = [value] if type(value) in CONTAINERS else []
    for _ in range(DEPTH + more):
        inner: dict[int, Any] = {}
        for item in level:
            for part in item.values() if type(item) is dict else item:
                if type(part) in CONTAINERS:
                    inner[id(part)] = part
        if not inner:
            return False
        level = list(inner.values())
    return True
