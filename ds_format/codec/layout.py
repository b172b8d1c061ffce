"""Where the bytes of a variable lie in the body. Every check that header and file size alone decide is here.

All numbers are Python integers, which cannot overflow. Code that holds a `Layout` may trust it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..errors import FormatError, TruncatedError
from .header import VarHeader


def check_numbers(var: VarHeader, body_size: int) -> None:
    """Check that numbers without a mask lie inside of the body.

    Raises
    ------
    TruncatedError
        If they need bytes beyond the end of the file.
    """
    if var.size is not None and var.type is not None:
        end = var.offset + math.prod(var.size) * var.type.size
        if end > body_size:
            raise TruncatedError(
                f".size {list(var.size)}: the data end at byte {end} of the body (.offset {var.offset}), "
                f"which has {body_size} bytes"
            )


class Layout(NamedTuple):
    """Where one variable lies. All but `n` are bytes, counted from the start of the body."""

    n: int
    """Values, missing ones included."""
    start: int
    """Of the mask, or of the values if there is no mask."""
    values: int
    """Of what follows the mask: values, bits, or the lengths of strings."""
    end: int
    """Of the body: nothing of the variable lies behind it."""

    @property
    def room(self) -> int:
        """Bytes that values, bits, or lengths and strings may take."""
        return self.end - self.values


def locate(var: VarHeader, body_size: int) -> Layout:
    """Find mask and values of a variable that has data.

    Parameters
    ----------
    var : VarHeader
        With a `.size`.
    body_size : int
        Bytes from the start of the body to the end of the file.

    Raises
    ------
    TruncatedError
        If the variable needs bytes beyond the end of the file. With a mask, or for strings, this is the least that they
        need; `values_size` checks again when their number is known.
    """
    if var.size is None or var.type is None:
        raise FormatError(".size: found null, expected a variable with data")
    n = math.prod(var.size)
    if n == 0:
        return Layout(0, 0, 0, 0)
    mask_size = (n + 7) // 8 if var.missing else 0
    layout = Layout(n, var.offset, var.offset + mask_size, body_size)
    if layout.room < 0:
        raise TruncatedError(
            f"{'mask' if var.missing else 'data'} of {mask_size} bytes at .offset {var.offset} "
            f"go beyond the {body_size} bytes of the body"
        )
    if not var.missing:
        values_size(var, n, layout.room)
    return layout


def values_size(var: VarHeader, n: int, room: int) -> int:
    """Return the bytes that `n` present values take: values, bits, or lengths of strings.

    Raises
    ------
    TruncatedError
        If they are more than `room` bytes.
    """
    bits = var.type.bits if var.type else 0
    size = (n * bits + 7) // 8
    if size > room:
        raise TruncatedError(
            f".size {list(var.size or ())}: {n} values need {size} bytes at .offset {var.offset}, "
            f"but the file has {max(room, 0)}"
        )
    return size
