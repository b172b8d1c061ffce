"""A header, read from the body of its file, all checks done: by a kernel, and step by step if the kernel gives up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ..body.body import FIRST_SIZE, Body
from ..errors import TruncatedError
from ..kernels.classic.header import Parser
from .format import CODES, FORMATS, Incomplete, read_items
from .layout import Dimension, Header, Variable, lay_out

T = TypeVar("T")

_parser = Parser(Dimension, Variable, Header, FORMATS, CODES)


def read_header(body: Body, *, share: bool = False) -> Header:
    """Read the header of a classic file.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    share : bool
        Whether attributes of a variable may be the same objects as in the header of another file that says the same of
        the variable. Then nobody may change them.

    Raises
    ------
    OSError
        As the operating system says.
    FormatError, TruncatedError
        If it is damaged; see `format.read_items` and `layout.lay_out`.
    Unusual
        If the library shall read the file.
    """
    return read_on(body, partial(_parse, share=share))


def _parse(data: bytes | bytearray, file_size: int, share: bool) -> Header:
    """Return the header if it ends in these first bytes of a file."""
    parsed = _parser.parse(data, file_size, share)
    if type(parsed) is Header:
        return parsed
    if parsed is not None:
        raise Incomplete(parsed)
    with memoryview(data) as view:
        return lay_out(read_items(view, file_size), file_size)


def read_on(body: Body, parse: Callable[[bytes | bytearray, int], T]) -> T:
    """Parse the first bytes of a file, and more of them as long as they are too few.

    Parameters
    ----------
    body : Body
    parse : callable
        Takes bytes and the size of the file, and raises `Incomplete` if it needs more bytes.

    Raises
    ------
    TruncatedError
        If the file has become shorter than its body.
    """
    size = FIRST_SIZE
    while True:
        data = body.head(size)
        try:
            return parse(data, body.size)
        except Incomplete as error:
            n, size = len(data), min(size, body.size)
            if n < size:
                message = f"header: found the end of the file at byte {n}, expected {size} bytes"
                raise TruncatedError(message) from None
            size = max(error.size, 4 * size)
