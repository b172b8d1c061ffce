"""Complete files with a wrong header, from older writers.

ds-format 3.0 to 5.0 writes a too large `.len` for some strings, so that the offsets of all later variables are too
large. ds-format 2.0.1 writes a too small `.len` for byte strings, and counts lengths of non-ASCII text in characters.
It stores byte strings of object arrays in Python's notation. Such files are read correctly if the error can be
recognised with certainty. A warning is given if this needs more than the variable itself.
"""

from __future__ import annotations

import ast
import contextlib
import math
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.text import on_one_line, unescape
from ..body.body import Body
from ..errors import DsError, FormatError
from ..kernels.ds.values import unpack_bits
from .decode import Decoder, decode
from .header import VarHeader
from .layout import locate

BYTES_LITERAL = re.compile(rb"""b'(?:[^'\\]|\\.)*'|b"(?:[^"\\]|\\.)*\"""", re.DOTALL)


def true_offsets(variables: dict[str, VarHeader], body: Body, version: str) -> dict[str, VarHeader]:
    """Return the variables with correct offsets.

    They differ from the given ones, for which `layout.are_offsets_doubtful` is true, only if the sum of the true
    lengths is exactly the size of the body.

    Parameters
    ----------
    variables : dict
        Key → header of each variable, in the order of the file.
    body : Body
    version : str
        `1.0` or `2.0.1`.
    """
    corrected: dict[str, VarHeader] = {}
    offset = 0
    try:
        for key, var in variables.items():
            corrected[key] = var._replace(offset=offset)
            offset += _true_length(corrected[key], body, version)
    except DsError:
        return variables
    if offset != body.size or corrected == variables:
        return variables
    warnings.warn(
        "offsets in the header are wrong, as in files of older writers; variables are read by their true lengths",
        stacklevel=2,
    )
    return corrected


def _true_length(var: VarHeader, body: Body, version: str) -> int:
    if var.size is None or var.type is None or 0 in var.size:
        return 0
    if version == "2.0.1" and var.type.is_string:
        return int(_StoredStrings(var, body).size)
    return Decoder(var, locate(var, body.size), body).end - var.offset


def warn_of_masks(variables: dict[str, VarHeader], body: Body) -> None:
    """Warn if masks of a 2.0.1 file may be stored with the wrong variables.

    ds-format 2.0.1 stores each variable with the mask of the previous one, and the first variable with the mask of the
    last one. It cannot write a variable with a mask after one without. `.len` shows whether a file has this error,
    because it counts the values that are present in the correct mask. If both masks are equal, nothing is wrong.
    """
    ring = [(key, var) for key, var in variables.items() if var.type and var.size is not None and 0 not in var.size]
    moved = []
    with contextlib.suppress(FormatError):
        for i, (key, var) in enumerate(ring):
            before, after = ring[i - 1][1], ring[(i + 1) % len(ring)][1]
            if var.missing and not before.missing and _mask(var, var, body).any():
                return
            if var.missing and after.missing:
                stored, right = _mask(var, var, body), _mask(after, var, body)
                if not _is_right(var, right, before):
                    return
                if not np.array_equal(stored, right):
                    moved.append(key)
    if moved:
        names = ", ".join(map(unescape, moved[:5])) + ("" if len(moved) <= 5 else f" and {len(moved) - 5} more")
        warnings.warn(
            on_one_line(
                f"the masks of {names} may be those of other variables, because ds-format 2.0.1 confuses them: other "
                "values may be missing"
            ),
            stacklevel=3,
        )


def _mask(stored_with: VarHeader, var: VarHeader, body: Body) -> NDArray[np.bool_]:
    """Return the mask of a variable, stored with another one, as (n,) flags."""
    n = math.prod(var.size or ())
    flags = np.zeros(n, np.bool_)
    offset = stored_with.offset
    if offset + (n + 7) // 8 > body.size:
        raise FormatError(f".offset: found {offset}, expected space for a mask of {n} values")
    unpack_bits(body.read(offset, (n + 7) // 8), flags.view(np.uint8))
    return flags


def _is_right(var: VarHeader, mask: NDArray[np.bool_], before: VarHeader) -> bool:
    """Return whether `.len` agrees with the mask of a variable, if the stored mask is that of the one before it."""
    if var.type is None or var.type.is_string:
        return True
    present = mask.size - int(np.count_nonzero(mask))
    return var.length == (math.prod(before.size or ()) + 7) // 8 + (present * var.type.bits + 7) // 8


def check_mask(var: VarHeader, body: Body) -> None:
    """Check that the mask of a variable of a 2.0.1 file can be its own.

    Raises
    ------
    FormatError
        If `.len` differs from the bytes of the mask and of the values that are present in it.
    """
    if not var.missing or var.type is None or var.size is None or var.type.is_string or 0 in var.size:
        return
    size = Decoder(var, locate(var, body.size), body).end - var.offset
    if size != var.length:
        raise FormatError(f".len: found {var.length}, expected {size} by the mask, perhaps that of another variable")


def decode_strings(var: VarHeader, body: Body, strings: bool) -> Any:
    """Decode strings of a 2.0.1 file, with the result of `decode`."""
    if var.type is None or var.size is None or 0 in var.size:
        return decode(var, body, strings)
    stored = _StoredStrings(var, body)
    if stored.values is None:
        return decode(var, body, strings)
    out = np.full(stored.flags.size, "" if var.type.name == "unicode" else b"", object)
    out[~stored.flags] = stored.values
    array = out.reshape(var.size)
    if stored.flags.any():
        return np.ma.MaskedArray(array, stored.flags.reshape(var.size))
    return array if var.size else array[()]


class _StoredStrings:
    """The strings of a 2.0.1 variable.

    Attributes
    ----------
    size : int
        Bytes in the body, mask and lengths included.
    flags : (n,) bool
        Whether each value is missing.
    values : (m,) object or None
        The present strings, corrected; None if their lengths and bytes agree.
    """

    def __init__(self, var: VarHeader, body: Body):
        layout = locate(var, body.size)
        self.flags = np.zeros(layout.n, np.bool_)
        if var.missing:
            unpack_bits(body.read(layout.start, layout.values - layout.start), self.flags.view(np.uint8))
        n_missing = int(np.count_nonzero(self.flags))
        present = layout.n - n_missing
        data = layout.values + 8 * present
        if data > layout.end:
            raise FormatError(f".size: {present} lengths of strings go beyond the end of the file")
        order = ">" if var.big else "<"
        lengths = np.frombuffer(body.read(layout.values, 8 * present), f"{order}u8").astype(object)
        total = sum(lengths)
        self.values: NDArray[Any] | None = None
        self.size = data - layout.start + total
        is_right = var.length in (present, self.size)
        stored = total if is_right else var.length - 2 * n_missing - (data - layout.start)
        if stored == total or not 0 <= stored <= layout.end - data:
            return
        self.size = data - layout.start + stored
        raw = bytes(body.read(data, stored))
        if var.type is not None and var.type.name == "unicode":
            self.values = _cut_text(raw, lengths)
        else:
            self.values = _evaluate_literals(raw, lengths)
            warnings.warn("byte strings are stored in Python's notation, as by ds-format 2.0.1", stacklevel=4)


def _cut_text(raw: bytes, lengths: NDArray[Any]) -> NDArray[Any]:
    """Split text into strings by their lengths in characters."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"text is not UTF-8 at its byte {error.start}") from None
    if sum(lengths) != len(text):
        raise FormatError(f"lengths of strings add up to {sum(lengths)}, but there are {len(text)} characters")
    out, start = np.empty(len(lengths), object), 0
    for i, length in enumerate(lengths):
        out[i] = text[start : start + length]
        start += length
    return out


def is_older(first: bytes) -> bool:
    """Return whether a file with these first bytes has the layout 2.0.1: a line of JSON with an `.offset`.

    Examples
    --------
    >>> from ds_format.codec import legacy
    >>> legacy.is_older(b'{"x": {".offset": 0, ".len": 8}}'), legacy.is_older(b'{"x": 1}')
    (True, False)
    """
    return re.match(rb'\{[^\n]*"\.offset"', first) is not None


def _evaluate_literals(raw: bytes, lengths: NDArray[Any]) -> NDArray[Any]:
    """Evaluate byte strings in Python's notation, and compare their lengths."""
    out, start = np.empty(len(lengths), object), 0
    for i, length in enumerate(lengths):
        match = BYTES_LITERAL.match(raw, start)
        value = ast.literal_eval(match[0].decode("latin-1")) if match else b""
        if match is None or len(value) != length:
            raise FormatError(f"string {i}: its bytes do not match its length of {length}")
        out[i], start = value, match.end()
    if start != len(raw):
        raise FormatError(f"found {len(raw) - start} bytes after the last string")
    return out
