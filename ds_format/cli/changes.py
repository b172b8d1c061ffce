"""What commands that change a dataset share: its files, and who is to blame."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from .. import files as whole
from ..errors import DsError
from ..ops import attrs
from . import options
from .arguments import Request, UsageError, text


def files(request: Request) -> tuple[list[Any], Any, str]:
    """Return the arguments of a command line, the word for the input, and the name of the output.

    Raises
    ------
    UsageError
        If there are not two files.
    """
    if sum(not isinstance(word, dict) for word in request.words) < 2 or isinstance(request.words[-2], dict):
        raise UsageError("invalid number of arguments")
    *rest, source, target = request.words
    return rest, source, text(target, "OUTPUT")


def read(request: Request, source: Any) -> dict[str, Any]:
    """Return the dataset of a file, or the part of it that the options of reading select.

    Times are Julian dates if they are to be written in other units.
    """
    timed = options.are_times_converted(request)
    return whole.read(text(source, "INPUT"), jd=timed, unpack=False, **options.reading(request))


def write(request: Request, target: str, d: dict[str, Any]) -> None:
    """Write a dataset as the options of writing say."""
    whole.write(target, d, **options.writing(request, target))


def attributes(d: dict[str, Any], variables: Iterable[str | None]) -> dict[str | None, list[str]]:
    """Return the names of the attributes of some variables; of the dataset for None."""
    return {name: list(attrs(d, name) or ()) for name in variables}


@contextlib.contextmanager
def about(path: Any) -> Iterator[None]:
    """Tell of errors within which file they are about."""
    try:
        yield
    except DsError as error:
        raise error.at(path=str(path))
