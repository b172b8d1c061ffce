"""Descriptors of this process that lead to given files.

All descriptors of a process say nothing: a library, a thread or the garbage of another test closes one at any time.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = "/proc/self/fd"

needs_proc = pytest.mark.skipif(not os.path.isdir(FOLDER), reason="needs /proc")


def n_open(*paths: str | Path) -> int:
    """Return the number of descriptors of one of `paths`; 0 if the operating system does not list them."""
    files = {_identity(os.stat(path)) for path in paths}
    return sum(_leads_to(os.path.join(FOLDER, name), files) for name in _names())


def _names() -> list[str]:
    return os.listdir(FOLDER) if os.path.isdir(FOLDER) else []


def _leads_to(descriptor: str, files: set[tuple[int, int]]) -> bool:
    try:
        return _identity(os.stat(descriptor)) in files
    except FileNotFoundError:  # that of the listing itself, or one that was closed since
        return False


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
