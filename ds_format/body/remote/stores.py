"""The parts that all stores of remote files have in common: their two verbs, and their errors."""

from __future__ import annotations

import errno
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from ...errors import DsError
from .settings import current

EXTRA = "ds-format-cython[remote]"
"""The package that pip installs for remote files."""
FIRST_PAUSE = 0.1
"""Seconds before the first repetition of a request; each later pause has twice the length."""

SECRET = re.compile(
    "secret|token|pass|key|auth|credential|sas|cookie|header|connection_string|signature", re.IGNORECASE
)
"""Names of options whose values are secret."""
SHORTEST = 4
"""Characters of a secret that is replaced in messages. A shorter one is part of other words."""

T = TypeVar("T")


class Answer(NamedTuple):
    """The answer to a request."""

    data: Any
    """A buffer: the bytes of the range, or fewer."""
    size: int | None
    """Size of the whole file in bytes; None if it was not reported."""
    version: str | None
    """Identifies this content of the file; empty if it has none, None if this answer does not report it."""


class FileRecord(NamedTuple):
    """A file in a list of files."""

    path: str
    """Its path below the folder that was listed."""
    size: int
    """In bytes."""
    version: str
    """Identifies its content; empty if it has none."""


class Store(Protocol):
    """Access to one remote file. Any number of threads may call it at the same time.

    Its methods raise a `TemporaryFailure` if repeating the request may help, and otherwise the OSError
    for the user.
    """

    def first(self, size: int) -> Answer:
        """Return the first bytes, and the size of the file. The data are the whole file if it does not have more."""
        ...

    def last(self, size: int) -> tuple[int, Answer] | None:
        """Return the last bytes, and where they begin; None if only their position can be requested."""
        ...

    def get(self, start: int, stop: int) -> Answer:
        """Return the bytes from `start` up to `stop` (exclusive). The end may be left out, but not the first byte."""
        ...

    def now(self) -> Answer | None:
        """Return size and version of the file now, without data; None if each answer reports them."""
        ...


class TemporaryFailure(OSError):
    """A failure after which repeating the request may help.

    Parameters
    ----------
    message : str
    wait : float, optional
        Seconds that the server asks to wait before.
    """

    def __init__(self, message: str, wait: float | None = None):
        super().__init__(message)
        self.message = message
        self.wait = wait


def repeated(request: Callable[[], T], name: str, what: str) -> T:
    """Call a function that makes a request, and repeat it after temporary failures.

    Parameters
    ----------
    request : callable
    name : str
        The file, for messages.
    what : str
        The bytes that are requested, for messages.

    Raises
    ------
    OSError
        If it fails too often, or the time allowed is over. It names the file and what was requested.
    """
    settings = current()
    end = time.monotonic() + settings.timeout
    pause = FIRST_PAUSE
    for i in range(settings.retries + 1):
        try:
            return request()
        except TemporaryFailure as error:
            failure, wait = error, max(pause, error.wait or 0)
        except DsError:
            raise
        except OSError as error:
            if error.filename == name:
                raise
            raise _described(error, name, what) from error
        if i == settings.retries or time.monotonic() + wait > end:
            break
        time.sleep(wait)
        pause *= 2
    tries = f" ({i + 1} attempts)" if i else ""
    raise OSError(errno.EIO, f"{what}: {failure.message}{tries}", name) from failure


class _Held:
    """An object that may have a state, as a part of a key: it equals only itself, and lives as long as the key."""

    __slots__ = ("_thing",)

    def __init__(self, thing: Any):
        self._thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and self._thing is other._thing

    def __hash__(self) -> int:
        return id(self._thing)


def key_of(options: Any) -> Any:
    """Return a key for options: equal if they have the same values, and the same objects.

    Two jars of cookies may look alike, and be those of two users.

    Examples
    --------
    >>> jar = object()
    >>> (
    ...     key_of({"a": [1], "jar": jar}) == key_of({"jar": jar, "a": [1]}),
    ...     key_of(object()) == key_of(object()),
    ... )
    (True, False)
    """
    if options is None or type(options) in (str, bytes, int, float, bool):
        return type(options), options
    if isinstance(options, Mapping):
        return frozenset((key_of(name), key_of(value)) for name, value in options.items())
    if type(options) in (list, tuple):
        return tuple(map(key_of, options))
    if isinstance(options, os.PathLike):
        return os.fspath(options)
    return _Held(options)


def has_only_values(options: Any) -> bool:
    """Return whether options consist of values, with no object that may have a state."""

    def is_value(key: Any) -> bool:
        return all(map(is_value, key)) if isinstance(key, (tuple, frozenset)) else not isinstance(key, _Held)

    return is_value(key_of(options))


def interruptible(call: Callable[[], T]) -> T:
    """Call a function of a library that does not notice Ctrl-C: in another thread if this is the main one.

    Ctrl-C then ends the program at once, because the thread is a daemon.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            results.put((call(), None))
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            results.put((None, error))

    threading.Thread(target=work, name="ds_format request", daemon=True).start()
    found, error = results.get()
    if error is not None:
        raise error
    result: T = found
    return result


def _described(error: OSError, name: str, what: str) -> OSError:
    """Return an error that names the file and the request, of the same kind as an error of a store."""
    message = error.strerror if error.filename is None and error.strerror else str(error)
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, message or os.strerror(errno.ENOENT), name)
    if isinstance(error, PermissionError):
        return PermissionError(errno.EACCES, message or os.strerror(errno.EACCES), name)
    return OSError(error.errno or errno.EIO, f"{what}: {message}", name)


def mapped(error: Exception, options: Any = None) -> OSError:
    """Return the error for the user in place of an exception of a library, by the names of its classes.

    Each library has its own tree of exceptions, of which not all are OSErrors.

    Parameters
    ----------
    error : Exception
    options : mapping, optional
        Options of the library, whose secrets the message must not contain.
    """
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    message = first_line(error, options)
    if "Exists" in kinds:
        return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    if "NotFound" in kinds or "NoSuch" in message or "404 Not Found" in message:
        return FileNotFoundError(errno.ENOENT, message)
    if re.search("Permission|Unauthenticated|Unauthorized|NoCredentials", kinds) or re.search(r"\b40[13]\b", message):
        return PermissionError(errno.EACCES, message)
    if isinstance(error, (ValueError, TypeError, NotImplementedError)) or "NotSupported" in kinds:
        return OSError(errno.EINVAL, message)
    return TemporaryFailure(message)


def call_library(library: Any, call: Callable[[], T], name: str | None = None) -> T:
    """Call a function of a library, and raise the errors for the user in place of its exceptions; see `mapped`.

    Parameters
    ----------
    library : object
        The options, or the store or file system that may have them. Messages do not contain secrets in them.
    call : callable
    name : str, optional
        The address, if the library is to accept it and the options: there is no use in trying that again.
    """
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - libraries have errors of their own
        options = library if isinstance(library, Mapping) else _options_of(library)
        found, cause = mapped(error, options), cause_of(error, options)
        if name is not None:
            number = found.errno or getattr(error, "errno", None) or errno.EINVAL
            found = OSError(number, found.strerror or str(found), name)
    raise found from cause  # after the block, so that it has no context, which has secrets and may be pickled with it


def _options_of(library: Any) -> Any:
    return getattr(library, "storage_options", None) or getattr(library, "config", None)


def first_line(error: BaseException, options: Any = None) -> str:
    """Return the first line of the message of an exception without secrets, or its kind if there is none.

    Libraries add further lines for developers, in which there may be whole requests with signatures.
    """
    return _without_secrets(str(error).strip().partition("\n")[0], options) or type(error).__name__


def cause_of(error: BaseException, options: Any = None) -> BaseException | None:
    """Return an exception, as the cause that a traceback shows of another one; None if it shows secrets.

    Parameters
    ----------
    error : BaseException
    options : mapping, optional
        Options of the library that raised it.
    """
    shown: BaseException | None = error
    while shown is not None:
        if _without_secrets(str(shown), options) != str(shown):
            return None
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
    return error


def _without_secrets(text: str, options: Any) -> str:
    text = re.sub(r"(?<=\S)\?[^\s'\")]+", "", re.sub(r"(?<=://)[^\s/?#@]*@", "", text))
    for secret in sorted(_secrets_in(options), key=len, reverse=True):
        text = text.replace(secret, "...")
    return text


def _secrets_in(options: Any, *, is_secret: bool = False) -> set[str]:
    """Return the values of options whose names call them secret, and users and passwords of addresses."""
    if isinstance(options, Mapping):
        each = [
            _secrets_in(value, is_secret=is_secret or bool(SECRET.search(str(name)))) for name, value in options.items()
        ]
        return set().union(*each)
    if isinstance(options, (list, tuple)):
        return set().union(*(_secrets_in(value, is_secret=is_secret) for value in options))
    if not isinstance(options, str):
        return set()
    is_file = options.endswith(".json") or os.path.exists(options)  # a file of credentials is named
    found = {options} if is_secret and not is_file else set()
    before, mark, _ = options.partition("://")[2].rpartition("@")
    if mark:
        found |= {before, *re.split("[:/@?#]", before)}
    return {one for one in found if len(one) >= SHORTEST}
