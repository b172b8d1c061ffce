"""The file that a sink writes: under a temporary name until it is whole."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import Any

from .errors import DsError
from .kernels import files
from .kernels.portable import temporary_name
from .kernels.presence import is_link, real_path


def resolve(path: Any) -> tuple[str, int | None]:
    """Follow links, and return the path of the file behind them with its permission bits (None: it does not exist).

    Raises
    ------
    OSError
        If something stands there that is not a file.
    """
    real = os.fsdecode(path)
    if is_link(real):
        real = real_path(real)
    try:
        mode = os.stat(real).st_mode
    except FileNotFoundError:
        return real, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fsdecode(path))
    return real, stat.S_IMODE(mode)


@contextlib.contextmanager
def naming(path: Any) -> Iterator[None]:
    """Give errors of the system the name that the user knows, instead of a temporary one or none."""
    try:
        yield
    except OSError as error:
        if not isinstance(error, DsError):
            error.filename, error.filename2 = os.fsdecode(path), None
        raise


class Target:
    """A file to be written.

    Parameters
    ----------
    path : str, bytes or PathLike
    atomic : bool
        Write under a temporary name in the same folder; `commit` renames. Else the file must not exist yet, and is
        written under its own name.
    durable : bool
        Flush file and folder to the disk on `commit`.

    Attributes
    ----------
    written : str
        The path to write to.
    """

    def __init__(self, path: Any, *, atomic: bool = True, durable: bool = False):
        self.final, self.mode = resolve(path)
        self.durable = durable
        self.written = self.final
        if atomic:
            self.written = temporary_name(self.final)
        elif self.mode is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(path))

    def commit(self) -> None:
        """Move the written file, which is closed, to its name."""
        if self.durable:
            fd = os.open(self.written, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        if self.written != self.final:
            if self.mode is not None:
                os.chmod(self.written, self.mode)
            os.replace(self.written, self.final)
        if self.durable:
            files.sync_folder(self.final)

    def abort(self) -> None:
        """Remove what was written."""
        with contextlib.suppress(OSError):
            os.unlink(self.written)
