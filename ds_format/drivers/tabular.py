"""Which variables are columns of a file that is one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple, Self

from ..base.text import unescape
from ..datasets import META
from ..errors import DsError, UnsupportedError
from .base import Metadata

SHOWN = 5
"""Names in a list of them."""


class TableColumns(NamedTuple):
    """The columns of a table."""

    keys: list[str]
    """Their variables."""
    scalars: Set[str]
    """All variables without dimensions. Those that are columns are repeated in each row."""
    n: int
    """Number of rows."""
    left_out: list[str]
    """Keys of scalars that are no columns."""

    @classmethod
    def of(cls, meta: Metadata, repeats: bool, title: str, path: str) -> Self:
        """Return the columns of a dataset.

        Parameters
        ----------
        meta : Metadata
            Each variable with `.size`.
        repeats : bool
            Whether scalars are columns. If there are no other variables, they are one row in any case.
        title : str
            The usual name of the format, for messages.
        path : str

        Raises
        ------
        UnsupportedError
            If a variable has no data, or not one dimension, or is not as long as the others, or its name is not UTF-8.
        """
        sizes = {key: entry.get(".size") for key, entry in meta.items() if key != META}
        scalars = {key for key, size in sizes.items() if size is not None and not len(size)}
        is_repeated = repeats or len(scalars) == len(sizes)
        keys = [key for key in sizes if is_repeated or key not in scalars]
        try:
            return cls(keys, scalars, _checked(keys, sizes, title), [key for key in sizes if key not in keys])
        except DsError as error:
            raise error.at(path=path)

    def losses(self) -> list[str]:
        """Return what the file does not hold, in words for one warning."""
        if not self.left_out:
            return []
        return [f"scalars ({listed(self.left_out)}; `--scalars`, in Python `scalars=True`, repeats them)"]


def _checked(keys: list[str], sizes: Mapping[str, Any], title: str) -> int:
    """Return the number of rows."""
    rows: dict[int, str] = {}
    for key in keys:
        name, size = unescape(key), sizes[key]
        if size is None:
            raise UnsupportedError(f"has no data, which {title} cannot represent", variable=name)
        if len(size) > 1:
            found = f"has {len(size)} dimensions, expected one (not supported in {title})"
            raise UnsupportedError(f"{found}: select one position of the others", variable=name)
        if len(size):
            rows.setdefault(size[0], name)
        if len(rows) > 1:
            (n, other), (m, _) = rows.items()
            message = f'has {m} values, but "{other}" has {n}: columns have one length, so name those of one dimension'
            raise UnsupportedError(message, variable=name)
        try:
            name.encode()
        except UnicodeEncodeError:
            raise UnsupportedError("the name has surrogates, which are not characters", variable=name) from None
    return next(iter(rows), min(1, len(keys)))


def quoted(key: str) -> str:
    """Return the name of a variable for a message."""
    return f'"{unescape(key)}"'


def listed(keys: Iterable[str]) -> str:
    """Return the names of variables in one list, of which the first ones are shown."""
    return shortened(map(quoted, keys))


def shortened(texts: Iterable[str]) -> str:
    """Return the first texts of a list, and the number of the others."""
    every = list(texts)
    rest = len(every) - SHOWN
    return ", ".join(every[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
