"""A library in a process of its own: it reads a file there, and may crash without ending this process.

A new interpreter opens one file at a time with the library. It sends the catalog of the file, and then raw values. The
rest is done here. This is no protection against a file that takes control of the other process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from numpy.typing import NDArray

from ...base.isolation import VARIABLE
from ...base.text import escape
from ...body import path_text
from ...errors import DsError, FormatError
from ..base import LossWarning
from ..slabs import Slices
from .catalog import FileVariable
from .source import LibrarySource

PATIENCE = 300.0
"""Seconds after which a process is killed that does not answer: some damaged files let a library loop."""
_BEGIN = (
    "import sys; from multiprocessing.connection import Connection; pipe = Connection({}); sys.path[:] = pipe.recv(); "
    f"from {__name__} import serve; serve(pipe)"
)
Caught = list[tuple[type[Warning], str]]
"""Categories and texts of warnings."""


class LibraryProcess:
    """A process that calls functions, one at a time. Thread-safe."""

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._is_ready = False
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-P", "-c", _BEGIN.format(number)]
            environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[number], env=environment)

    @property
    def is_usable(self) -> bool:
        """Whether it may get further calls, from this process."""
        return not self._pipe.closed and self._owner == os.getpid()

    def call(self, library: str, path: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that can be pickled there, and return or raise what it does. Warnings are given here, too.

        Parameters
        ----------
        library, path : str
            The library that the function uses, and the file that it reads.

        Raises
        ------
        FormatError
            If the process ends meanwhile, or does not answer.
        """
        with self._lock:
            try:
                if not self._is_ready:
                    self._pipe.send(sys.path)
                self._pipe.send((function, arguments))
                if not self._pipe.poll(PATIENCE):
                    self.kill()
                    raise FormatError(f"{library} reads it without an end: no answer after {PATIENCE:.0f} s", path=path)
                result, error, caught = self._pipe.recv()
                self._is_ready = True
            except (EOFError, OSError):
                status = self.kill()
                if not self._is_ready and status > 0:
                    raise DsError(f"a process for {library} ended at its start, with status {status}") from None
                raise FormatError(f"{library} crashed when it read it: {_cause(status)}", path=path) from None
            except BaseException:  # the answer would be taken for that of the next call
                self.kill()
                raise
        for category, text in caught:
            warnings.warn(text, category, stacklevel=3)
        if error is not None:
            raise error
        return result

    def kill(self) -> int:
        """End the process, and return its exit status; negative for a signal."""
        self._pipe.close()
        if self._owner != os.getpid():
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(1)  # it may be ending by itself
        self._process.kill()
        return self._process.wait()


def _cause(status: int) -> str:
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"its process was ended by {signal.Signals(-status).name}"
    return f"its process ended with status {status}"


_idle: list[LibraryProcess] = []
"""At most one process that waits for the next file, since an interpreter takes long to start."""


def _take() -> LibraryProcess:
    with contextlib.suppress(IndexError):
        found = _idle.pop()
        if found.is_usable:
            return found
    return LibraryProcess()


def _give_back(process: LibraryProcess) -> None:
    if process.is_usable and not _idle:
        _idle.append(process)
    elif process.is_usable:
        process.kill()


@atexit.register
def _end() -> None:
    while _idle:
        _idle.pop().kill()


def call(library: str, path: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in another process; parameters and errors as of `LibraryProcess.call`."""
    process = _take()
    try:
        return process.call(library, path_text(path), function, *arguments)
    finally:
        _give_back(process)


class IsolatedSource(LibrarySource):
    """A file that a library has open in another process; see `ds_format.drivers.base.Source`.

    Parameters
    ----------
    path : str, bytes or PathLike
    library : str
        Name of the library.
    category : type
        Category of the warnings of the format.
    opener : callable
        Opens the file in the other process as a `LibrarySource`, with the path and the options.
    **options
        Those of the opener.

    Raises
    ------
    OSError, DsError
        As the opener.
    FormatError
        If the library crashes, or does not come to an end.
    """

    def __init__(
        self, path: Any, library: str, category: type[LossWarning], opener: Callable[..., Any], **options: Any
    ):
        self.path, self._name = path_text(path), library
        self.category = category  # type: ignore[misc]  # of this source, which serves all formats
        self._process: LibraryProcess | None = _take()
        try:
            self.meta, self.faults, self._variables = self._call(_open, opener, self.path, os.getcwd(), options)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        process = getattr(self, "_process", None)
        if process is not None and process.is_usable:
            process.kill()

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self._process is None or not self._process.is_usable:
            raise DsError("the file is closed, or its process ended", path=self.path)
        return self._process.call(self._name, self.path, function, *arguments)

    def _fetch(self, variable: FileVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab; see `LibrarySource`."""
        array: NDArray[Any] = self._call(_fetch, escape(variable.name), slices)
        return array

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        process, self._process = self._process, None
        if process is not None and process.is_usable:
            with contextlib.suppress(FormatError):
                process.call(self._name, self.path, _close)
            _give_back(process)


_opened: list[LibrarySource] = []
"""In the other process: the file that is open."""


def _open(opener: Callable[..., LibrarySource], path: str, folder: str, options: dict[str, Any]) -> Any:
    os.chdir(folder)
    source = opener(path, **options)
    _opened[:] = [source]
    return source.described()


def _fetch(key: str, slices: Slices) -> NDArray[Any]:
    return _opened[0].fetch(key, slices)


def _close() -> None:
    while _opened:
        _opened.pop().close()


def serve(pipe: Connection) -> NoReturn:
    """Call functions for another process, until it closes the pipe."""
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            function, arguments = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)
        result, error = None, None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = function(*arguments)
            except Exception as raised:  # noqa: BLE001 - the other process raises it
                error = raised
        pipe.send((result, error, [(each.category, str(each.message)) for each in caught]))
