"""Files that are open, of which there are never too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..subset import Path, Subset

MAX_OPEN = 64
"""Files that are open at the same time."""


class OpenFiles:
    """Opens files when they are asked for, and keeps them open until the end, but for those that would be too many.

    The files that are asked for first are kept, and the last place is everybody else's: whoever goes through all files
    again and again opens only those again that have no place. If the one that was not used for the longest time were
    closed, all would be opened again each time.

    Parameters
    ----------
    open_one : callable
        Path → Subset.
    """

    def __init__(self, open_one: Callable[[Any], Subset]):
        self._open_one = open_one
        self._kept: dict[Path, Subset] = {}
        self._last: tuple[Path, Subset] | None = None

    def __getitem__(self, path: Path) -> Subset:
        found = self._kept.get(path)
        if found is None and self._last is not None and self._last[0] == path:
            found = self._last[1]
        if found is None:
            self._close_last()
            found = self._open_one(path)
            if len(self._kept) < MAX_OPEN - 1:
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
