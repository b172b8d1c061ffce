"""Whether a C library that reads files runs in a process of its own, which it may end.

The setting is that of the process: threads that read values have no context of their own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

VARIABLE = "DS_FORMAT_ISOLATE"
"""Environment variable with the setting at the start: off if it is empty or 0."""

_process: list[bool] = []
"""The setting of the process, once it was set."""
_uses: list[isolating] = []
"""Blocks that are being run. Threads append and pop without a lock, which a fork could leave locked."""


def is_on() -> bool:
    """Return whether libraries read files in processes of their own."""
    return bool(_uses) or (_process[0] if _process else os.environ.get(VARIABLE, "") not in ("", "0"))


class isolating:
    """Let libraries read files in processes of their own for a `with` block, whatever the setting is."""

    def __enter__(self) -> None:
        _uses.append(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _uses.pop()


class set:  # noqa: A001 - its name is `ds.set`
    """Change settings of this package, from now on or for a `with` block.

    Parameters
    ----------
    isolate : bool
        Whether the C libraries netCDF and HDF5 read local files in processes of their own. Then a file in which a
        library crashes is a `FormatError`, and this process goes on. By default false, or as the environment variable
        `DS_FORMAT_ISOLATE` says. Only files that this package leaves to a library become slower to read.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.write("unknown.nc", {"x": 1})
    >>> with ds.set(isolate=True):
    ...     int(ds.read("unknown.nc")["x"])
    1
    """

    def __init__(self, *, isolate: bool):
        self._before = [*_process]
        _process[:] = [bool(isolate)]

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _process[:] = self._before
