"""One sample of a file by its number, without Python in between."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

fetch = pytest.importorskip("ds_format.kernels.files.fetch", reason="needs POSIX")


@pytest.fixture
def fd(tmp_path: Path) -> int:
    (tmp_path / "data").write_bytes(b"aabbbc")
    return os.open(tmp_path / "data", os.O_RDONLY)


def test_samples(fd: int) -> None:
    offsets = np.array([0, 2, 5, 5, 6], ">u8").tobytes()
    fetcher = fetch.Fetcher(fd, offsets, 6)
    assert [fetcher.get(i) for i in range(4)] == [b"aa", b"bbb", b"", b"c"]
    assert fetcher.get(-1) is None
    assert fetcher.get(4) is None
    os.close(fd)
    assert fetcher.get(0) is None


def test_offsets_that_are_not_to_be_believed(fd: int) -> None:
    offsets = np.array([3, 2, 9, 1 << 63, 5, 6], ">u8").tobytes()
    fetcher = fetch.Fetcher(fd, offsets, 6)
    assert [fetcher.get(i) for i in range(5)] == [None, None, None, None, b"c"]
    assert fetch.Fetcher(fd, np.array([0, 7], ">u8").tobytes(), 7).get(0) is None
    for wrong in (b"", b"1234567"):
        with pytest.raises(ValueError, match="offsets"):
            fetch.Fetcher(fd, wrong, 6)
    os.close(fd)
