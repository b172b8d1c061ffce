"""What stands in for the writer of data.jsonl where a collection keeps no lines."""

from __future__ import annotations

from collections.abc import Iterator

from .documents import Document


class NoLines:
    """A `LineWriter` that has no lines and gets none, so that who changes a collection need not ask for one."""

    is_unfinished = False
    """There never is something for `finish` to do."""

    def __len__(self) -> int:
        return 0

    def __contains__(self, id: str) -> bool:
        return False

    def get(self, id: str) -> None:
        """Return that there is no document."""

    def documents(self) -> Iterator[Document]:
        """Iterate over nothing; as `lines` and `ids`."""
        return iter(())

    def lines(self) -> Iterator[bytes]:
        """Iterate over nothing."""
        return iter(())

    def ids(self) -> Iterator[str]:
        """Iterate over nothing."""
        return iter(())

    def discard(self, id: str) -> bool:
        """Return that there was no document."""
        return False

    def flush(self, durable: bool = False) -> None:
        """Do nothing, as `compact`, `finish` and `close`."""

    def compact(self) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
