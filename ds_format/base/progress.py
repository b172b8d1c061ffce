"""Progress of work: bytes done, and bytes in total."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Progress = Callable[[int, int], None]
"""(bytes done, bytes in total) → None."""


class Advance:
    """Adds up the bytes that are done, and reports their sum.

    Parameters
    ----------
    progress : callable, optional
        None: progress is not reported.
    total : int
        Bytes in total.

    Attributes
    ----------
    total : int
        You may increase it when you find more work.

    Examples
    --------
    >>> advance = Advance(print, 6)
    >>> b"".join(advance.over([b"abc", b"def"]))
    3 6
    6 6
    b'abcdef'
    """

    def __init__(self, progress: Progress | None, total: int = 0):
        self.total = total
        self._progress = progress
        self._done = 0

    def add(self, n: int) -> None:
        """Count `n` more bytes as done."""
        self._done += n
        if self._progress is not None:
            self._progress(self._done, self.total)

    def over(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield blocks of bytes. A block counts as done when the next one is requested."""
        for block in blocks:
            yield block
            self.add(len(block))

    def over_arrays(self, blocks: Iterable[Any], item_size: int) -> Iterator[Any]:
        """Yield arrays. Each of their values counts as `item_size` bytes; see `over`."""
        for block in blocks:
            yield block
            self.add(block.size * item_size)


def share_of(progress: Progress | None, before: int, size: int, total: int) -> Progress | None:
    """Return a callable that converts progress of one part of the work to progress of the whole.

    Parameters
    ----------
    progress : callable, optional
        Called with the progress of the whole.
    before, size, total : int
        Bytes of all parts before this one, of this part, and of all parts.

    Examples
    --------
    >>> half = share_of(print, 100, 100, 200)
    >>> half(1, 2)
    150 200
    """
    if progress is None:
        return None
    report = progress

    def report_part(done: int, of: int) -> None:
        report(before + (min(size * done // of, size) if of else 0), total)

    return report_part
