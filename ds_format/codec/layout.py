"""Positions of the bytes of a variable in the body, with all checks that need only header and file size.

All numbers are Python integers, which cannot overflow. You may trust a `Layout`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import FormatError, TruncatedError
from .header import VarHeader


def check_numbers(var: VarHeader, body_size: int) -> None:
    """Check that numbers without a mask are within the body.

    Raises
    ------
    TruncatedError
        If they need bytes after the end of the file.
    """
    if var.size is not None and var.type is not None:
        end = var.offset + math.prod(var.size) * var.type.size
        if end > body_size:
            raise TruncatedError(
                f".size {list(var.size)}: the data end at byte {end} of the body (.offset {var.offset}), "
                f"which has {body_size} bytes"
            )


def are_offsets_doubtful(variables: Iterable[VarHeader], body_size: int) -> bool:
    """Return whether all offsets are the running sum of `.len`, whose total is not the size of the body.

    In that case a `.len` by an older writer may be wrong, along with all later offsets; see `legacy.true_offsets`.
    """
    total = 0
    for var in variables:
        if var.offset != total and var.size is not None:
            return False
        total += var.length
    return total != body_size


class Layout(NamedTuple):
    """The position of one variable. All fields except `n` are bytes from the start of the body."""

    n: int
    """Number of values, missing ones included."""
    start: int
    """Start of the mask, or of the values if there is no mask."""
    values: int
    """Start of the values, bits, or lengths of strings, which follow the mask."""
    end: int
    """End of the body, and so the maximum end of the variable."""

    @property
    def available(self) -> int:
        """Maximum bytes of values, bits, or lengths and strings."""
        return self.end - self.values


def locate(var: VarHeader, body_size: int) -> Layout:
    """Compute the positions of mask and values of a variable that has data.

    Parameters
    ----------
    var : VarHeader
        With a `.size`.
    body_size : int
        Bytes from the start of the body to the end of the file.

    Raises
    ------
    TruncatedError
        If the variable needs bytes after the end of the file. With a mask, or for strings, only their minimum size is
        checked. `values_size` checks again once the number of present values is known.
    """
    if var.size is None or var.type is None:
        raise FormatError(".size: found null, expected a variable with data")
    n = math.prod(var.size)
    if n == 0:
        return Layout(0, 0, 0, 0)
    mask_size = (n + 7) // 8 if var.missing else 0
    layout = Layout(n, var.offset, var.offset + mask_size, body_size)
    if layout.available < 0:
        raise TruncatedError(
            f"{'mask' if var.missing else 'data'} of {mask_size} bytes at .offset {var.offset} "
            f"go beyond the {body_size} bytes of the body"
        )
    if not var.missing:
        values_size(var, n, layout.available)
    return layout


def values_size(var: VarHeader, n: int, available: int) -> int:
    """Return the bytes that `n` present values take: values, bits, or lengths of strings.

    Raises
    ------
    TruncatedError
        If they are more than `available` bytes.
    """
    bits = var.type.bits if var.type else 0
    size = (n * bits + 7) // 8
    if size > available:
        raise TruncatedError(
            f".size {list(var.size or ())}: {n} values need {size} bytes at .offset {var.offset}, "
            f"but the file has {max(available, 0)}"
        )
    return size
