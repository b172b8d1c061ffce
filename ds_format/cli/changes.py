"""What commands that change a dataset share: its files, and who is to blame."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from ..api import files as whole
from ..base.progress import Advance, share_of
from ..errors import DsError, UnsupportedError
from ..ops import attrs
from ..views.subset import open_subset
from . import large, options
from .arguments import Request, UsageError, text


def files(request: Request) -> tuple[list[Any], Any, str]:
    """Return the arguments of a command line, the word for the input, and the name of the output.

    Raises
    ------
    UsageError
        If there are not two files.
    """
    options.checked_files([word for word in request.words if not isinstance(word, dict)])
    if isinstance(request.words[-2], dict):
        name = next(iter(request.words[-2]), "")
        raise UsageError(f"found {name}: between INPUT and OUTPUT: options are first or last, arguments before INPUT")
    *rest, source, target = request.words
    return rest, source, text(target, "OUTPUT")


def read(request: Request, source: Any) -> dict[str, Any]:
    """Return the dataset of a file, or the part of it that the options of reading select.

    Times are Julian dates if they are to be written in other units.
    """
    path = text(source, "INPUT")
    selection = options.reading(request)._replace(jd=options.are_times_converted(request))
    if request.progress is not None:
        with open_subset(path, selection, masked=True) as part:
            total = large.size_of(part.meta)
            if total >= large.SIZE:
                return large.read(part, Advance(share_of(request.progress, 0, total, 2 * total), total))
    return whole.read(path, *selection[:5], jd=selection.jd, unpack=False)


def write(request: Request, target: str, d: dict[str, Any]) -> None:
    """Write a dataset as the options of writing say."""
    given = options.writing(request, target)
    total = large.size_of_data(d)
    if request.progress is None or total < large.SIZE:
        whole.write(target, d, **given)
        return
    try:
        large.write(target, d, Advance(share_of(request.progress, total, total, 2 * total), total), **given)
    except UnsupportedError as error:
        raise error.at(path=target)


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
