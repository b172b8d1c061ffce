"""The kernels that call the system, each beside the same calls from Python."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from ds_format.kernels.files import files, ranges

from ..data import floats
from ..runner import Group
from .kernel import Call, Kernel, cases

RANGES = 100


def read_file(n: int, folder: Path) -> tuple[Call, Call]:
    """A whole file."""
    path = _file(n, folder)

    def ours() -> Any:
        return np.frombuffer(files.read_file(path, 1 << 40) or b"", "u1")

    def rival() -> Any:
        with open(path, "rb") as file:
            return np.frombuffer(file.read(), "u1")

    return ours, rival


def read_at(n: int, folder: Path) -> tuple[Call, Call]:
    """A range of an open file."""
    fd = os.open(_file(n, folder), os.O_RDONLY)

    def ours() -> Any:
        out = np.empty(4 * n, "u1")
        ranges.read_at(fd, 4 * n, out)
        return out

    def rival() -> Any:
        out: Any = np.empty(4 * n, "u1")
        os.preadv(fd, [out], 4 * n)
        return out

    _close_with(ours, fd)
    return ours, rival


def read_ranges(n: int, folder: Path) -> tuple[Call, Call]:
    """A hundred ranges of an open file."""
    fd = os.open(_file(n, folder), os.O_RDONLY)
    size = 4 * n // RANGES
    offsets, sizes = np.arange(RANGES) * (8 * n // RANGES), np.full(RANGES, size)

    def ours() -> Any:
        out = np.empty(RANGES * size, "u1")
        ranges.read_ranges(fd, offsets, sizes, [out])
        return out

    def rival() -> Any:
        out: Any = np.empty(RANGES * size, "u1")
        for i, offset in enumerate(offsets.tolist()):
            os.preadv(fd, [out[i * size : (i + 1) * size]], offset)
        return out

    _close_with(ours, fd)
    return ours, rival


def write_file(n: int, folder: Path) -> tuple[Call, Call]:
    """A whole file, renamed into place."""
    parts: list[Any] = [b"header\n", floats(n)]
    paths = [str(folder / name) for name in ("ours", "rival", "temporary")]

    def ours() -> Any:
        return files.write_file(paths[0], parts)

    def rival() -> Any:
        with open(paths[2], "xb") as file:
            file.writelines(parts)
        os.replace(paths[2], paths[1])
        return True

    return ours, rival


def write_new_file(n: int, folder: Path) -> tuple[Call, Call]:
    """A new file, written in place, and removed again."""
    parts: list[Any] = [b"header\n", floats(n)]
    paths = [str(folder / name) for name in ("ours", "rival")]

    def ours() -> Any:
        written = files.write_file(paths[0], parts, False)
        os.unlink(paths[0])
        return written

    def rival() -> Any:
        with open(paths[1], "xb") as file:
            file.writelines(parts)
        os.unlink(paths[1])
        return True

    return ours, rival


def write_at(n: int, folder: Path) -> tuple[Call, Call]:
    """A buffer into an open file."""
    fds = [os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in ("ours", "rival")]
    values = floats(n)

    def ours() -> Any:
        return ranges.write_at(fds[0], 0, values)

    def rival() -> Any:
        return os.pwrite(fds[1], values.data, 0)

    _close_with(ours, *fds)
    return ours, rival


def write_ranges(n: int, folder: Path) -> tuple[Call, Call]:
    """A buffer into a hundred ranges of an open file."""
    fds = [os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in ("ours", "rival")]
    size = 8 * n // RANGES
    offsets = np.arange(RANGES) * (2 * size)
    values = floats(n).view("u1")[: RANGES * size]

    def ours() -> Any:
        return ranges.write_ranges(fds[0], offsets, size, values)

    def rival() -> Any:
        put = 0
        for i, offset in enumerate(offsets.tolist()):
            put += os.pwrite(fds[1], values[i * size : (i + 1) * size].data, offset)
        return put

    _close_with(ours, *fds)
    return ours, rival


def copy_range(n: int, folder: Path) -> tuple[Call, Call]:
    """From file to file."""
    source = os.open(_file(n, folder), os.O_RDONLY)
    targets = [os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in ("ours", "rival")]

    def ours() -> Any:
        return ranges.copy_range(source, 0, targets[0], 0, 8 * n)

    def rival() -> Any:
        done = 0
        while done < 8 * n:
            data = os.pread(source, 1 << 20, done)
            done += os.pwrite(targets[1], data, done)
        return done

    _close_with(ours, source, *targets)
    return ours, rival


def _close_with(call: Call, *fds: int) -> None:
    """Close descriptors when a function is gone."""
    for fd in fds:
        weakref.finalize(call, os.close, fd)


def _file(n: int, folder: Path) -> str:
    path = folder / "source"
    floats(n).tofile(path)
    return str(path)


GROUP = Group(
    "Kernels for files",
    "Files of 8 kB and 80 MB.",
    cases((
        Kernel("read_file", "open().read()", read_file),
        Kernel("read_at", "os.preadv", read_at),
        Kernel("read_ranges", "os.preadv, 100 times", read_ranges),
        Kernel("write_file", "open().writelines(), os.replace", write_file),
        Kernel("write_file, atomic=False", "open().writelines()", write_new_file),
        Kernel("write_at", "os.pwrite", write_at),
        Kernel("write_ranges", "os.pwrite, 100 times", write_ranges),
        Kernel("copy_range", "os.pread, os.pwrite, 1 MiB at a time", copy_range),
    )),
)
