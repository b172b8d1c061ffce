"""What is open in one process, and neither travels to another nor is copied."""

from __future__ import annotations

from typing import NoReturn


class Opened:
    """Something that holds an open file.

    A copy would have the bare number of a descriptor: it would close, read or write whatever file has that number then.
    """

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled, which both ask for this.

        Raises
        ------
        TypeError
            Always; it says what to do instead.
        """
        path = getattr(self, "path", None)
        where = f" of {path!r}" if isinstance(path, str) else ""
        raise TypeError(
            f"{type(self).__name__}{where} cannot be copied or pickled, for it holds a file that is open here: "
            "hand on the path, and open the file again there"
        )
