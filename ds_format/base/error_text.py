"""An exception → its message on one line, for stderr and for reports of many files."""

from __future__ import annotations

import errno
import os

from ..errors import DsError, decoded, explained
from .optional import not_compiled
from .text import hint, on_one_line, visible

NOT_RECOGNISED = "left out: neither suffix nor content is known"
"""Message about a file in a folder."""


def one_line(text: str) -> str:
    """Return text on one line. Control characters are escaped first, because `split` takes some of them for blanks."""
    return " ".join(visible(text).split())


def describe(error: BaseException) -> str:
    """Return the message of an error on one line. A message not written for users follows the class of the error."""
    if isinstance(error, ImportError):
        error = not_compiled(error.name) or error
    text = one_line(str(error))
    if isinstance(error, OSError) and error.strerror and not isinstance(error, DsError):
        if isinstance(error, FileNotFoundError):
            explained(error)
        reason = error.strerror.replace(os.strerror(errno.ENOENT), "File does not exist")
        name = decoded(error.filename if error.filename2 is None else error.filename2)
        return reason if name is None else f"{on_one_line(name)}: {reason}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if text and isinstance(error, (DsError, ValueError, IndexError, ImportError, OSError, Warning)):
        return text
    kind = "not enough memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"{kind}: {text}" if text else kind


def cause_of(error: BaseException, path: str) -> str:
    """Return the same as `describe`, without the path at its beginning."""
    return describe(error).removeprefix(f"{one_line(on_one_line(path))}: ")


def similar_file_hint(path: str) -> str:
    """Return the end of a message about a file that does not exist: a file of a similar name in the same folder.

    The stems must be similar, too: an equal suffix alone does not count.
    """
    folder, name = os.path.split(os.path.normpath(path))
    try:
        others = os.listdir(folder or ".")
    except OSError:
        return ""
    stem = os.path.splitext(name)[0]
    return hint(name, (other for other in others if hint(stem, [os.path.splitext(other)[0]])))


def describe_with_hint(error: BaseException) -> str:
    """Return the same as `describe`. If a file does not exist, add one of a similar name."""
    text = describe(error)
    if isinstance(error, FileNotFoundError) and not isinstance(error, DsError) and error.filename2 is None:
        path, is_plain = error.filename, str(error.strerror).startswith(os.strerror(errno.ENOENT))
        text += similar_file_hint(os.fspath(path)) if is_plain and isinstance(path, (str, os.PathLike)) else ""
    return text
