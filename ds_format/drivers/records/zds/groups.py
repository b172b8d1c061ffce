"""Several collections as one Source: each is a group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....base.names import escape, unescape
from ....body.stamp import watched, watched_blocks
from ....dataset import META, dims
from ....errors import DsError, MissingError
from ...base import BLOCK_SIZE, Metadata
from ...handle import Reopened
from ..source import RecordSource
from .names import SEPARATOR


class GroupSource(Reopened):
    """Collections by their names; see `ds_format.drivers.base.Source`.

    Variables, dimensions and attributes of each have its name and a slash before theirs.

    Parameters
    ----------
    path : str
        Of the store.
    collections : mapping
        Name → source; all are closed with this one.
    """

    meta: Metadata

    def __init__(self, path: str, collections: Mapping[str, RecordSource]):
        self.path = path
        self._collections = collections
        self._places: dict[str, tuple[str, str]] = {}
        self.meta = {}
        self.faults: dict[str, DsError] = {}
        of_all: dict[str, Any] = {}
        for group, source in collections.items():
            for key, entry in source.meta.items():
                if key == META:
                    of_all.update({_within(group, name): value for name, value in entry.items()})
                    continue
                name = _within(group, key)
                self._places[name] = group, key
                names = dims(key, entry, len(entry.get(".size") or ()))
                within = {} if entry.get(".size") is None else {".dims": [group + SEPARATOR + dim for dim in names]}
                self.meta[name] = {**entry, **within}
                if key in source.faults:
                    self.faults[name] = source.faults[key]
                    self.faults[name].variable = unescape(name)
        self.meta[META] = of_all

    def _place(self, name: str) -> tuple[RecordSource, str]:
        if name not in self._places:
            raise MissingError("variable not found", path=self.path, variable=unescape(name))
        group, key = self._places[name]
        return self._collections[group], key

    @watched
    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`."""
        source, key = self._place(name)
        try:
            return source.read(key, index)
        except DsError as error:
            error.variable = unescape(name) if error.variable == unescape(key) else error.variable
            raise

    @watched_blocks
    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        source, key = self._place(name)
        yield from source.blocks(key, budget)

    def close(self) -> None:
        """Release the files."""
        for source in self._collections.values():
            source.close()


def _within(group: str, key: str) -> str:
    """Return the key of a variable or attribute of a group; properties have no groups."""
    return key if key.startswith(".") else escape(group + SEPARATOR + unescape(key))
