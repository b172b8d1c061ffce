"""Files and folders that are written: under a temporary name until they are whole, or line by line."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import DsError, explained
from ..kernels.files import files
from ..kernels.files.names import BINARY, creation_mode, exists, is_file, is_folder, real_path, temporary_name
from . import Address, Opened, open_file, path_text, sync_file
from .body import OutputBody
from .temporary import HOLDS, Temporary, WorkFolder, remove_folder

NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
"""A link under the name of a file that is changed in place may lead to the file of another user."""


def resolve(path: Any) -> tuple[str, int | None]:
    """Follow links, and return the path of the file behind them with its permission bits (None: it does not exist).

    Raises
    ------
    OSError
        If the path exists and is not a file.
    """
    real = path_text(path)
    try:
        mode = os.lstat(real).st_mode
        if stat.S_ISLNK(mode):
            real = real_path(real)
            mode = os.stat(real).st_mode
    except FileNotFoundError:
        return real, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path_text(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", path_text(path))
    return real, stat.S_IMODE(mode)


@contextlib.contextmanager
def naming(path: Any) -> Iterator[None]:
    """Replace the file name in errors of the operating system by the one that the user gave."""
    try:
        yield
    except OSError as error:
        if isinstance(error, DsError):
            raise
        name = path_text(path)
        if error.errno is not None:
            error.filename = name
            del error.filename2  # None would be printed as a second name
            if isinstance(error, FileNotFoundError):
                explained(error, is_output=True)
        elif not str(error).startswith(f"{name}: "):
            error.args = (f"{name}: {error}",)  # setting the file name would replace this message
        raise


class Target(Opened):
    """A file to be written.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    atomic : bool
        Write under a temporary name in the same folder; `commit` renames. Else the file must not exist yet, and is
        written under its own name. A file for an address is written in the folder for temporary files; `commit` uploads
        it.
    durable : bool
        Flush file and folder to the disk on `commit`.
    shared : str
        Temporary name in the same folder, as `temporary_name` makes it, of a file that several processes write, any of
        which may create it or commit it. It is never locked, and never taken to be abandoned.

    Attributes
    ----------
    final : str
        The path behind all links. For an address, that of the local file.
    written : str
        The path of the created file; empty before, unless it is shared.
    """

    def __init__(self, path: Any, *, atomic: bool = True, durable: bool = False, shared: str = ""):
        self._upload: Callable[[str], None] | None = None
        if isinstance(path, Address):
            self._upload = path.uploader(create=not atomic, durable=durable)
            folder = importlib.import_module("tempfile").mkdtemp(prefix="ds_format-")
            self._remove_folder = weakref.finalize(self, _remove_folder, folder, os.getpid())
            self.final, self.mode = os.path.join(folder, f"data{path.suffix}"), None
            atomic = durable = False
        else:
            self.final, self.mode = resolve(path)
        self.durable = durable
        self.atomic = atomic
        self.written = self._shared = shared
        self._temporary: Temporary | None = None
        self._is_done = False
        if not atomic and self.mode is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path_text(path))

    def create(self) -> int:
        """Create the file, and return a descriptor for reading and writing, which is to be closed before `commit`.

        The file never has permissions that the replaced one lacks. It is locked until it has its name. One
        that is shared may be there already, and keeps what it has; its descriptor is for writing only.

        Raises
        ------
        OSError
            If it cannot be created.
        """
        if self._shared:
            return self._make(self._shared, os.O_WRONLY)
        if not self.atomic:
            fd = self._make(self.final)
            self.written = self.final
            return fd
        temporary = Temporary(self.final, self._make, os.unlink)
        self.written = temporary.path
        if not HOLDS:
            fd, temporary.fd = temporary.fd, -1
            return fd
        self._temporary = temporary
        try:
            return os.dup(temporary.fd)
        except OSError:
            self.abort()
            raise

    def open(self) -> OutputBody:
        """Create the file as `create` does, and return it open for reading and writing; close it before `commit`."""
        fd = self.create()
        return OutputBody.of(self.written, fd)

    def ask_for_space(self, size: int) -> None:
        """Ask the operating system for more bytes at the end of the created file.

        Raises
        ------
        OSError
            If there is no space; nothing is raised where the operating system does not report it.
        """
        if hasattr(os, "posix_fallocate"):
            fd = os.open(self.written, os.O_WRONLY)
            try:
                os.posix_fallocate(fd, os.fstat(fd).st_size, size)
            finally:
                os.close(fd)

    @contextlib.contextmanager
    def lent(self) -> Iterator[str]:
        """Create the file for a library that opens it by its name meanwhile, and empties it.

        The library may lock the file, and does so as it likes; where it does not, the file is locked here.

        Yields
        ------
        str
            The name.
        """
        os.close(self.create())
        with self.lent_again() as written:
            yield written

    @contextlib.contextmanager
    def lent_again(self) -> Iterator[str]:
        """Lend the created file, which a library has closed, to the same or another one that opens it meanwhile.

        Yields
        ------
        str
            The name.
        """
        with contextlib.nullcontext() if self._temporary is None else self._temporary.lent():
            yield self.written

    def _make(self, name: str, flags: int = os.O_RDWR | os.O_EXCL) -> int:
        return os.open(name, flags | os.O_CREAT | BINARY, creation_mode(self.mode))

    def commit(self) -> None:
        """Move the written file, which is closed, to its name.

        Raises
        ------
        OSError
            If that fails, or another process removed the temporary file.
        """
        if self.durable:
            sync_file(self.written)
        if self.written != self.final:
            if self._temporary is not None and not self._temporary.is_there():
                raise OSError(errno.ESTALE, "another process removed the temporary file", self.written)
            if self.mode is not None:
                os.chmod(self.written, self.mode)
            os.replace(self.written, self.final)
        if self._upload is not None:
            self._upload(self.written)
        self._is_done = True
        self._let_go()
        if self.durable:
            files.sync_folder(self.final)

    def abort(self) -> None:
        """Remove what was written, unless it has its name already."""
        is_done, self._is_done = self._is_done, True
        if self.written and not is_done and (self._temporary is None or self._temporary.is_own()):
            with contextlib.suppress(OSError):
                os.unlink(self.written)
        self._let_go()

    def _let_go(self) -> None:
        if self._upload is not None:
            self._remove_folder()
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            temporary.let_go()


def _remove_folder(folder: str, pid: int) -> None:
    """Remove a folder, but not in a process that was forked from its owner."""
    if os.getpid() == pid:
        remove_folder(folder, ignore_errors=True)


class FolderTarget(Opened):
    """A folder to be written. It has a temporary name in the same folder until `commit`.

    Parameters
    ----------
    path : str, bytes or PathLike
        If it is a link, the target of the link is written.
    durable : bool
        Flush all files and folders to the disk on `commit`.
    replaces : callable, optional
        Called with the path of a folder that is not empty; returns whether `commit` may replace it. If it is given, a
        file is replaced, too.

    Attributes
    ----------
    final : str
        The path after all links.

    Raises
    ------
    OSError
        If something has this name that must not be replaced.
    """

    def __init__(self, path: Any, *, durable: bool = False, replaces: Callable[[str], bool] | None = None):
        self.final = real_path(path_text(path))
        self.durable = durable
        self._folder: WorkFolder | None = None
        if not exists(self.final) or (is_folder(self.final) and not os.listdir(self.final)):
            return
        if is_folder(self.final):
            if replaces is None or not replaces(self.final):
                raise FileExistsError(errno.EEXIST, "the folder is not empty", path_text(path))
        elif not is_file(self.final):
            raise OSError(errno.EINVAL, "neither a file nor a folder", path_text(path))
        elif replaces is None:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path_text(path))

    def create(self) -> str:
        """Create the folder, and return its temporary path.

        It never has permissions that the file or folder which it replaces does not have.

        Raises
        ------
        OSError
            If it cannot be created.
        """
        mode = stat.S_IMODE(os.stat(self.final).st_mode) if exists(self.final) else 0o777
        if is_file(self.final):
            mode |= (mode & 0o444) >> 2  # to find the files of a folder
        self._folder = WorkFolder(self.final, "folder", mode | 0o700)
        return self._folder.path

    def commit(self) -> None:
        """Rename the folder, whose files are closed, to its final name; see `place_folder`.

        Raises
        ------
        OSError
            If that fails.
        """
        if self._folder is not None:
            if self.durable:
                for folder, _, names in os.walk(self._folder.path):
                    for name in names:
                        sync_file(os.path.join(folder, name))
                    files.sync_folder(os.path.join(folder, ""))
            place_folder(self._folder.path, self.final)
            self.abort()
            if self.durable:
                files.sync_folder(self.final)

    def abort(self) -> None:
        """Remove what was written, unless it has its final name."""
        if self._folder is not None:
            self._folder.close()


def place_folder(written: str, final: str) -> None:
    """Rename a folder, or a file that takes the place of one, and remove the file or folder that had the name.

    The name is never missing where the operating system can exchange two names, as Linux can.

    Raises
    ------
    OSError
        If that fails. Then the final name leads to what it led to before.
    """
    if not exists(final, follow=False):
        os.rename(written, final)
        return
    old = written
    if is_folder(final):
        os.chmod(written, stat.S_IMODE(os.stat(final).st_mode) & (0o777 if is_folder(written) else 0o666))
    if not _exchanged(written, final):
        old = temporary_name(final)
        os.rename(final, old)
        try:
            os.rename(written, final)
        except BaseException:
            os.rename(old, final)
            raise
    if is_folder(old):
        remove_folder(old, ignore_errors=True)
    else:
        os.unlink(old)


AT_FDCWD, RENAME_EXCHANGE = -100, 2
"""Arguments of renameat2 of Linux: paths are relative to the working directory; both names remain."""


def _exchanged(one: str, other: str) -> bool:
    """Exchange two names at once. Return False if the operating system, or the file system, cannot do this."""
    try:
        rename = importlib.import_module("ctypes").CDLL(None).renameat2
    except (AttributeError, ImportError, OSError, TypeError):
        return False
    found: int = rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
    return not found


def write_whole(path: Any, buffers: Iterable[Any], *, atomic: bool = True, durable: bool = False) -> None:
    """Write a file that consists of buffers to a locked temporary file, and move it to its name; see `Target`.

    If the writer is killed, the next one finds the temporary file, and removes it.
    """
    target = Target(path, atomic=atomic, durable=durable)
    try:
        with naming(path):
            file = target.open()
            try:
                end = 0
                for buffer in buffers:
                    end += file.write(end, buffer)
            finally:
                file.close()
            target.commit()
    except BaseException:
        target.abort()
        raise


def write_at_once(path: Any, buffers: list[Any], *, atomic: bool, durable: bool) -> None:
    """Write a small file that consists of buffers; parameters as for `kernels.files.files.write_file`.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    buffers : list of buffers
    atomic, durable : bool

    Raises
    ------
    OSError
        If this fails.
    """
    if type(path) is not str and isinstance(path, Address):
        path.put(buffers, create=not atomic, durable=durable)
        return
    try:
        if not files.write_file(path, buffers, atomic, durable):
            with naming(path):
                files.write_file(resolve(path)[0], buffers, atomic, durable)
    except FileNotFoundError as error:
        raise explained(error, is_output=True) from None


class LineFile(Opened):
    """A file of lines, to which one process at a time appends. A link under its name is not followed.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    lines : list of bytes
        Those of the file when it was opened; a torn last one is left out, and is removed before lines are added.

    Raises
    ------
    OSError
        If there is a file that cannot be read, or something else.
    """

    def __init__(self, path: str):
        self.path = path
        self.lines: list[bytes] = []
        self._fd = -1
        self._end = 0
        with contextlib.suppress(FileNotFoundError), os.fdopen(open_file(path, NOFOLLOW)[0], "rb") as file:
            data = file.read()
            self._end = data.rfind(b"\n") + 1
            self.lines = data[: self._end].split(b"\n")[:-1]

    def rewrite(self, data: bytes) -> None:
        """Write the file again, with the bytes of other lines, before some are added."""
        self.lines, self._end = [], len(data)
        files.write_file(self.path, [data])

    def add(self, data: bytes) -> None:
        """Append the bytes of lines, or nothing if there is an error.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        if self._fd < 0:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY | NOFOLLOW, 0o666)
            os.ftruncate(self._fd, self._end)
        n = len(data)
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._end)
            raise
        self._end += n

    def close(self) -> None:
        """Close the file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
