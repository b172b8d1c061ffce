"""Files that are open, of which there are never too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..views.subset import Path, Subset

MAX_OPEN = 64
"""Files that are open at the same time."""
MAX_HELD = 64 * 1024 * 1024
"""Bytes of files that are in memory whole, and so are not open any more."""


class OpenFiles:
    """Opens files when they are asked for, and keeps them open until the end, but for those that would be too many.

    Those whose sources hold them in memory (`held`, their bytes) are not open, and so are kept besides.

    The files that are asked for first are kept, and the last place is everybody else's: whoever goes through all files
    again and again opens only those again that have no place. If the one that was not used for the longest time were
    closed, all would be opened again each time.

    Parameters
    ----------
    open_one : callable
        Path → Subset.
    most : int, optional
        Files that are open at the same time; by default `MAX_OPEN`.
    """

    def __init__(self, open_one: Callable[[Any], Subset], most: int | None = None):
        self._open_one = open_one
        self._most = MAX_OPEN if most is None else most
        self._kept: dict[Path, Subset] = {}
        self._n_open = self._held = 0
        self._last: tuple[Path, Subset] | None = None

    def __getitem__(self, path: Path) -> Subset:
        found = self._kept.get(path)
        if found is None and self._last is not None and self._last[0] == path:
            found = self._last[1]
        if found is None:
            self._close_last()
            found = self._open_one(path)
            held = getattr(found.source, "held", 0)
            if held and self._held + held <= MAX_HELD:
                self._held += held
                self._kept[path] = found
            elif self._n_open < self._most - 1:
                self._n_open += 1
                self._kept[path] = found
            else:
                self._last = path, found
        return found

    def _close_last(self) -> None:
        if self._last is not None:
            last, self._last = self._last[1], None
            last.close()

    def close(self) -> None:
        """Close those that are open."""
        self._close_last()
        while self._kept:
            self._kept.popitem()[1].close()

    def __enter__(self) -> OpenFiles:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
