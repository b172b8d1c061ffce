"""JSON: an object with the structure of a dataset, variables as nested lists, null for missing values.

::

    {"x": [1, null], ..., ".": {"x": {".dims": [...], ".type": ..., ".size": [...], attribute: value}, ".": {...}}}

`.type` and `.size` add information that lists do not have: the width of numbers, the shape of arrays without values,
and whether text is bytes. Without them, the type is inferred from the data. Bytes are decoded as UTF-8, with one lone
surrogate U+DC80...U+DCFF for each invalid byte (Python's error handler `surrogateescape`). Each sequence of bytes has
one text, and each text at most one sequence.
"""

from __future__ import annotations

import contextlib
import json
import math
import warnings
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..base import signatures
from ..base.dtypes import TYPES, Type
from ..base.exact import NARROW, exact_array, shortest
from ..base.text import escape, unescape
from ..body.body import open_unread
from ..body.target import naming
from ..codec.attributes import from_json, to_json
from ..codec.encode import type_of
from ..codec.header import DTYPES, MAX_DIMS, PRIVATE, TOO_DEEP, check_dims, is_too_deep, kind_of
from ..datasets import as_array
from ..errors import DsError, FormatError, UnsupportedError
from ..kernels.json.arrays import decode_variables
from ..kernels.json.decode import Unusual
from ..kernels.json.values import dumps
from .base import Metadata, warn
from .sink import FileSink, count_payloads, typed_blocks
from .source import HeldSource
from .strings import as_text

HELD: dict[str, set[type]] = {"f": {int, float}, "i": {int}, "u": {int}, "?": {bool}, "O": {str}}
"""First letter of a type's code → types of JSON values that represent it."""


def array_of(text: bytes, data: Any, type_name: Any, size: Any, where: str) -> Any:
    """Return the array that a JSON value represents.

    Parameters
    ----------
    text : bytes
        That of the file.
    data : object
        A number, string or boolean, null, or nested lists of these, also as a tuple of `decode_variables`.
    type_name, size : object
        The properties `.type` and `.size`, None where they are absent. Data that contradict them decide.
    where : str
        The variable, for a warning.

    Returns
    -------
    ndarray, MaskedArray or None
        None if there are no data: null, where `.size` is not that of a scalar.

    Raises
    ------
    FormatError
        If the lists have no common shape, or values have mixed types; the message names the position.
    """
    if data is None and size != []:
        return None
    ds_type = TYPES.get(type_name) if type(type_name) is str else None
    if type(data) is tuple:
        values, mask, least, most, start, end = data
        is_clear = ds_type is not None or type_name is None
        array = _converted(values, mask, least, most, ds_type) if is_clear else None
        if array is not None:
            return array
        data = json.loads(text[start:end])
    shape = _shape(data)
    kinds: set[type] = set()
    _check(data, shape, (), kinds)
    if 0 in shape:
        return np.zeros(_full_shape(shape, size), "f8" if ds_type is None else ds_type.code)
    array = None if ds_type is None else _typed(data, shape, kinds, ds_type)
    if array is not None:
        return array
    try:
        array = as_array(data) if shape or data is not None else np.ma.MaskedArray(0.0, True)
    except UnsupportedError as error:
        raise FormatError(error.message) from None
    if type_name is not None:
        found = json.dumps(type_name)
        message = f".type: found {found[:60]}, which cannot hold the values; read as {array.dtype}"
        warnings.warn(str(DsError(f"{where}: {message}")), stacklevel=4)
    return array


def _shape(data: Any) -> tuple[int, ...]:
    """Return the shape that the first list of each level has."""
    shape = []
    while type(data) is list:
        shape.append(len(data))
        if len(shape) > MAX_DIMS:
            raise FormatError(f"found more than {MAX_DIMS} nested lists")
        data = data[0] if data else None
    return tuple(shape)


def _check(data: Any, shape: tuple[int, ...], position: tuple[int, ...], kinds: set[type]) -> None:
    """Raise unless all lists are of this shape, and collect the types of the values."""
    axis = len(position)
    if axis == len(shape):
        _check_values([data], position, kinds, numbered=False)
        return
    if type(data) is not list:
        raise FormatError(f"{_at(position)}found {kind_of(data)}, expected a list of {shape[axis]}")
    if len(data) != shape[axis]:
        raise FormatError(f"{_at(position)}found a list of {len(data)}, expected {shape[axis]} as in the first one")
    if axis == len(shape) - 1:
        _check_values(data, position, kinds, numbered=True)
        return
    for i, item in enumerate(data):
        _check(item, shape, (*position, i), kinds)


def _check_values(values: list[Any], position: tuple[int, ...], kinds: set[type], numbered: bool) -> None:
    found = set(map(type, values))
    if list in found or dict in found:
        i = next(i for i, value in enumerate(values) if type(value) in (list, dict))
        place = (*position, i) if numbered else position
        raise FormatError(f"{_at(place)}found {kind_of(values[i])}, expected a value")
    kinds |= found


def _at(position: tuple[int, ...]) -> str:
    return f"at {''.join(f'[{i}]' for i in position)}: " if position else ""


def _full_shape(shape: tuple[int, ...], size: Any) -> tuple[int, ...]:
    """Return `.size` where it goes on from the 0 at which lists end, and else what the lists say."""
    if type(size) is not list or size[: len(shape)] != list(shape) or len(size) > MAX_DIMS:
        return shape
    if not all(type(n) is int and 0 <= n < 1 << 31 for n in size):
        raise FormatError(f".size: found {json.dumps(size)[:60]}, expected integers from 0 to {(1 << 31) - 1}")
    try:
        return np.zeros(size, np.bool_).shape
    except ValueError as error:
        raise FormatError(f".size: {error}") from None


def _typed(data: Any, shape: tuple[int, ...], kinds: set[type], ds_type: Type) -> Any:
    """Return an array of the type that is promised, or None if it cannot hold the values."""
    none: type = type(None)
    if not kinds <= {*HELD[ds_type.code[0]], none}:
        return None
    source, mask = data, None
    if none in kinds:
        source = np.array(data, object)
        mask = np.fromiter((value is None for value in source.flat), np.bool_, source.size).reshape(shape)
        source[mask] = "" if ds_type.is_string else 0
    try:
        array = _cast(source, mask, ds_type)
        if ds_type.code[0] == "f" and int in kinds:
            _check_integers(data, shape, array.dtype)
    except (OverflowError, UnicodeEncodeError):
        return None
    return array


def _converted(
    values: NDArray[Any], mask: NDArray[np.bool_] | None, least: int, most: int, ds_type: Type | None
) -> Any:
    """Return what `decode_variables` made of lists as an array of a type, or None if that may not hold the values."""
    if ds_type is None:
        return values if mask is None else np.ma.MaskedArray(values, mask)
    kind, found = ds_type.code[0], values.dtype.kind
    if kind in "iu" and found == "i":
        limits = np.iinfo(ds_type.code)
        is_held = limits.min <= least and most <= limits.max
    elif kind == "f" and found in "if":
        is_held = max(-least, most) <= 2 << np.finfo(ds_type.code).nmant
    else:
        is_held = kind == found
    if not is_held:
        return None
    if mask is not None and ds_type.is_string:
        values[mask] = ""
    try:
        return _cast(values, mask, ds_type)
    except OverflowError:
        return None


def _cast(source: Any, mask: NDArray[np.bool_] | None, ds_type: Type) -> Any:
    """Return an array of a type. Raise OverflowError or UnicodeEncodeError if it cannot hold one of the values."""
    values: NDArray[Any] = (_narrow if ds_type.name in NARROW else exact_array)(source, ds_type.code)
    if ds_type.name == "str":
        flat = [text.encode("utf-8", "surrogateescape") for text in values.flat]
        values = np.fromiter(flat, object, len(flat)).reshape(values.shape)
    return values if mask is None else np.ma.MaskedArray(values, mask, copy=False)


def _narrow(source: Any, code: str) -> NDArray[Any]:
    doubles = np.array(source, "f8")
    with np.errstate(over="ignore"):
        values: NDArray[Any] = doubles.astype(code)
    if (np.isinf(values) & np.isfinite(doubles)).any():
        raise OverflowError
    return values


def _check_integers(data: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise an OverflowError if a float cannot hold one of the integers."""
    for value in np.array(data, object).flat if shape else (data,):
        if type(value) is int and int(dtype.type(value)) != value:
            raise OverflowError


BEGINNINGS = b'{["-0123456789tfnNI\xef'
"""First bytes of JSON texts; the last one is that of a byte order mark."""


class JsonSource(HeldSource):
    """An open JSON file; see `ds_format.drivers.base.Source`.

    Its values are held in memory as arrays; while it is opened, its text, and lists of unusual values, too.

    Parameters
    ----------
    path : str, bytes or PathLike

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not JSON, or not a dataset; the message names line and column, or variable and position.
    """

    def __init__(self, path: Any):
        super().__init__(path)
        file = open_unread(path)
        data = bytes(file.read(0, file.size))
        try:
            self._take(data)
        except DsError as error:
            raise error.at(path=self.path)

    def _take(self, text: bytes) -> None:
        """Make arrays and metadata of the root object, variable by variable, and release the lists."""
        try:
            root = decode_variables(text)
        except (Unusual, UnicodeDecodeError):
            root = _parse(text)
        given = root.pop(".", {})
        if type(given) is not dict:
            raise FormatError(f'".": found {kind_of(given)}, expected an object')
        for key, entry in given.items():
            if type(entry) is not dict:
                raise FormatError(f'".": "{key}": found {kind_of(entry)}, expected an object')
        attributes = given.pop(".", {})
        for raw in [*root, *(raw for raw in given if raw not in root)]:
            if raw.startswith("."):
                raise FormatError(f'found the name "{raw}", expected "\\{raw}" for a variable that begins with a dot')
            key = escape(unescape(raw)) if raw.startswith("\\") else raw
            if key in self.arrays:
                raise FormatError("occurs twice in one object", variable=unescape(key))
            entry = given.get(raw, {})
            if raw not in root:
                entry = {**entry, ".size": None}  # what a size says of data that are not there is no missing scalar
            try:
                self.arrays[key], self.meta[key] = self._variable(text, key, root.pop(raw, None), entry)
            except DsError as error:
                raise error.at(variable=unescape(key))
        self.meta["."] = _attributes(attributes)

    def _variable(self, text: bytes, key: str, data: Any, entry: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        hint = entry.get(".type")
        where = str(DsError("", path=self.path, variable=unescape(key)))[:-2]
        array = array_of(text, data, hint, entry.get(".size"), where)
        meta = _attributes(entry)
        if array is None:
            meta.update({".size": None, ".type": hint if type(hint) is str and hint in TYPES else None})
        else:
            meta.update({".size": list(array.shape), ".type": type_of(array, hint).name})
        if ".dims" in meta:
            check_dims(meta[".dims"], None if array is None else array.shape)
        meta[".missing"] = isinstance(array, np.ma.MaskedArray)
        return array, meta


def _attributes(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry, with typed attributes under canonical keys, and without file internals."""
    for key, value in entry.items():
        if is_too_deep(value):
            raise FormatError(f'attribute "{unescape(key)}": {TOO_DEEP}')
    return {
        escape(unescape(key)) if key.startswith("\\") else key: value
        for key, value in from_json(dict(entry)).items()
        if key not in PRIVATE
    }


def _parse(data: bytes) -> dict[str, Any]:
    """Return the root object of a JSON text."""
    if not data.strip(b" \t\r\n"):
        raise FormatError("the file is empty")
    if data.lstrip(b" \t\r\n")[:1] not in BEGINNINGS:
        raise FormatError(f"not JSON, but {signatures.describe(data)}")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{_place(data, error.start)}: found the byte 0x{data[error.start]:02x}, expected UTF-8"
        ) from None
    if text.startswith("\ufeff"):
        raise FormatError("line 1, column 1: found a byte order mark, expected JSON")
    try:
        root = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        message = error.msg.removesuffix(" at")
        raise FormatError(f"line {error.lineno}, column {error.colno}: {message[:1].lower()}{message[1:]}") from None
    except RecursionError:
        raise FormatError(TOO_DEEP) from None
    except DsError:
        raise
    except ValueError as error:
        raise FormatError(str(error)) from None
    if type(root) is not dict:
        raise FormatError(f"found {kind_of(root)}, expected an object")
    return root


def _place(data: bytes, offset: int) -> str:
    line = data.count(b"\n", 0, offset) + 1
    start = data.rfind(b"\n", 0, offset) + 1
    return f"line {line}, column {len(data[start:offset].decode()) + 1}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FormatError(f'"{twice}" occurs twice in one object')
    return entry


STORED = PRIVATE | {".size", ".type", DTYPES}
"""Properties that are computed from the data."""
BLOCK_LENGTH = 1 << 16
"""Values made text at once."""


class JsonSink(FileSink):
    """A JSON file being written; see `ds_format.drivers.base.Sink`.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        If the file cannot be created.
    UnsupportedError
        If an attribute is of a type that JSON cannot hold.
    """

    def __init__(self, path: Any, meta: Metadata, *, atomic: bool = True, durable: bool = False):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._sizes: dict[str, tuple[int, ...] | None] = {}
        self._entries: dict[str, Any] = {}
        for key, entry in meta.items():
            try:
                self._entries[key] = to_json(entry, STORED)
            except DsError as error:
                raise error.at(path=self.path, variable=None if key == "." else unescape(key))
            if key != ".":
                size = entry.get(".size")
                self._sizes[key] = None if size is None else tuple(size)
                self._entries[key].update({".size": size, ".type": entry.get(".type")})
        self._lead = "{"
        self._file: IO[str] = open(self._create(), "w", encoding="ascii")  # noqa: SIM115 - until commit

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        size, entry = self._sizes[name], self._entries[name]
        self._put(f"{self._lead}{json.dumps(name)}: ")
        self._lead = ", "
        if size is None or 0 in size:
            self._put(json.dumps(None if size is None else np.empty(size, np.bool_).tolist()))
            if size is not None and entry[".type"] not in TYPES:
                entry[".type"] = "float64"
            return
        done = payloads = 0
        for array, ds_type in typed_blocks(blocks, entry[".type"]):
            entry[".type"] = ds_type.name
            for piece in _pieces(array):
                payloads += count_payloads(piece)
                for text in nested(done, size, piece, _values):
                    self._put(text)
                done += piece.size
        if payloads:
            warn(f"{payloads} NaN have a payload, which JSON cannot hold", self.path, unescape(name))

    def _put(self, text: str) -> None:
        with naming(self.path):
            self._file.write(text)

    def _finish(self) -> None:
        entries = {key: entry for key, entry in self._entries.items() if key != "."}
        meta = {**entries, ".": self._entries.get(".", {})}
        self._put(f'{self._lead}".": {json.dumps(meta)}}}')
        self._file.close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def _pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat = array.reshape(-1)
    for start in range(0, flat.size, BLOCK_LENGTH):
        yield flat[start : start + BLOCK_LENGTH]


def nested(start: int, size: tuple[int, ...], flat: NDArray[Any], values: Any) -> Iterator[str]:
    """Yield the text of values from position `start` on in nested lists of shape `size`.

    Parameters
    ----------
    start : int
        Values that came before, in C order.
    size : tuple of int
        No 0 among them.
    flat : ndarray or MaskedArray
        (n,) values.
    values : callable
        Converts an array to lists of JSON values.
    """
    if not size:
        yield dumps(values(flat)[0], None, True).decode()
        return
    inner = [math.prod(size[axis:]) for axis in range(len(size) + 1)]
    at, end = start, start + len(flat)
    while at < end:
        axis = next(axis for axis in range(len(size)) if at % inner[axis + 1] == 0 and end - at >= inner[axis + 1])
        n = min(end - at, inner[axis] - at % inner[axis]) // inner[axis + 1]
        part = flat[at - start : at - start + n * inner[axis + 1]]
        opened = sum(at % count == 0 for count in inner[: axis + 1])
        lead = ", " if at else ""
        at += len(part)
        closed = sum(at % count == 0 for count in inner[: axis + 1])
        text = dumps(values(part.reshape(n, *size[axis + 1 :])), None, True).decode()
        yield f"{lead}{'[' * opened}{text[1:-1]}{']' * closed}"


def _values(array: NDArray[Any]) -> list[Any]:
    """Return an array as nested lists of JSON values, None where a value is missing."""
    data = np.ma.getdata(array)
    mask = np.ma.getmask(array)
    if data.dtype.kind in "OSUT":
        texts: list[Any] = as_text(array, "surrogateescape").tolist()
        return texts
    data = shortest(data)
    if mask is not np.ma.nomask and mask.any():
        data = data.astype(object)
        data[mask] = None
    lists: list[Any] = data.tolist()
    return lists
