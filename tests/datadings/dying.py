"""Simulates a process that dies between two system calls."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import pytest

from ds_format.kernels.files import files, ranges

CHANGING = ("replace", "unlink", "truncate", "ftruncate", "chmod", "write", "mkdir", "fsync")


class Dead(BaseException):
    """The simulated process is dead: no further call has an effect."""


def dies(act: Callable[[], Any], steps: int) -> bool:
    """Call a function that dies after `steps` calls which change files; return whether it died before its end.

    The last call that writes bytes writes half of them. Open files are closed, so locks are released.
    """
    left = steps

    def step() -> bool:
        nonlocal left
        left -= 1
        if left < -1:
            raise Dead
        return left >= 0

    def change(call: Any, *arguments: Any, **options: Any) -> Any:
        if not step():
            raise Dead
        return call(*arguments, **options)

    def open_(path: Any, flags: int, *arguments: Any, call: Any = os.open, **options: Any) -> int:
        made = flags & os.O_CREAT
        return int(change(call, path, flags, *arguments, **options) if made else call(path, flags, *arguments))

    def write_at(fd: int, offset: int, data: Any, call: Any = ranges.write_at) -> int:
        if not step():
            call(fd, offset, bytes(data)[: len(data) // 2])
            raise Dead
        return int(call(fd, offset, data))

    with pytest.MonkeyPatch.context() as patch:
        for name in CHANGING:
            real = getattr(os, name)
            patch.setattr(os, name, lambda *arguments, real=real, **options: change(real, *arguments, **options))
        patch.setattr(os, "open", open_)
        patch.setattr(ranges, "write_at", write_at)
        patch.setattr(files, "sync_folder", lambda path, real=files.sync_folder: change(real, path))
        died = False
        gc.disable()  # later collections then only search new objects
        try:
            act()
        except Dead:
            died = True
        finally:
            gc.enable()
        if died:
            gc.collect(0)  # what is still referred to by what was raised
        return died
