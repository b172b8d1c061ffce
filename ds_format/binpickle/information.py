"""What the first bytes of a file say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..body import NO_FILE, open_binary
from ..errors import FormatError
from .format import HEADER, FileHeader


class FileStatus(Enum):
    """What stands under a name."""

    MISSING = "missing"
    """Nothing."""
    INVALID = "invalid"
    """Something else than a whole BinPickle file."""
    BINPICKLE = "binpickle"
    """A BinPickle file."""


@dataclass(frozen=True)
class FileInfo:
    """What `file_info` found."""

    status: FileStatus
    size: int | None = None
    """Bytes, as the header says."""
    version: int | None = None
    """1 or 2."""

    @property
    def is_valid(self) -> bool:
        """Whether it is a BinPickle file."""
        return self.status is FileStatus.BINPICKLE


def file_info(file: Any) -> FileInfo:
    """Look at the header of a file, and at nothing else.

    Parameters
    ----------
    file : str, bytes or PathLike

    Returns
    -------
    FileInfo

    Raises
    ------
    OSError
        If there is a file that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format import binpickle
    >>> path = tempfile.mkdtemp() + "/x.bpk"
    >>> binpickle.file_info(path).status.name
    'MISSING'
    >>> binpickle.dump(None, path)
    >>> info = binpickle.file_info(path)
    >>> info.is_valid, info.size, info.version
    (True, 91, 1)
    """
    try:
        with open_binary(file, 0) as opened:
            header = FileHeader.decode(opened.read(HEADER.size))
            header.check_length(os.fstat(opened.fileno()).st_size)
    except FileNotFoundError:
        return FileInfo(FileStatus.MISSING)
    except FormatError:
        return FileInfo(FileStatus.INVALID)
    except OSError as error:
        if error.errno in NO_FILE:
            return FileInfo(FileStatus.INVALID)
        raise
    return FileInfo(FileStatus.BINPICKLE, header.length, header.version)
