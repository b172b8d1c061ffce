"""A decoder reads no byte twice, and gives the same where it keeps no mask and no lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.body.body import FileBody
from ds_format.codec import decode
from tests.same import same_data

N = 150_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    generator = np.random.default_rng(1)
    text = np.array([f"{'ä' * (i % 7)}{i}" for i in range(N)], object)
    mask = generator.random(N) < 0.3
    flags = generator.random(N) < 0.5
    arrays = {"text": text, "x": generator.random(N), "flags": flags, "plain": np.arange(N), "words": text}
    masked = ("text", "x", "flags")
    variables = {name: np.ma.MaskedArray(array, mask) if name in masked else array for name, array in arrays.items()}
    ds.write(tmp_path / "a.ds", {**variables, ".": {name: {".dims": ["n"]} for name in variables}})
    return tmp_path / "a.ds"


@pytest.fixture
def n_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect how many bytes each read of a file gives."""
    sizes: list[int] = []
    read, read_into = FileBody.read, FileBody.read_into

    def counted(self: FileBody, offset: int, size: int) -> bytes:
        sizes.append(size)
        return read(self, offset, size)

    def counted_into(self: FileBody, offset: int, out: Any) -> None:
        sizes.append(memoryview(out).nbytes)
        read_into(self, offset, out)

    monkeypatch.setattr(FileBody, "read", counted)
    monkeypatch.setattr(FileBody, "read_into", counted_into)
    return sizes


def test_no_byte_is_read_twice(path: Path, n_read: list[int]) -> None:
    with ds.open(path) as file:
        for name in file:
            file[name][...]
    size = path.stat().st_size
    assert size - 5000 < sum(n_read) <= size


def test_a_few_strings_take_their_bytes_and_all_lengths(path: Path, n_read: list[int]) -> None:
    with ds.open(path) as file:
        file["words"][N // 2 : N // 2 + 3]
    assert 8 * N < sum(n_read) < 8 * N + 100


SELECTIONS = [{}, {"n": 77_777}, {"n": slice(60_000, 140_001)}, {"n": np.array([0, 65_535, 65_536, 65_537, N - 1])}]


@pytest.mark.parametrize("sel", SELECTIONS)
def test_masks_and_lengths_that_are_not_kept(path: Path, sel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ds.read(path, sel=sel)
    monkeypatch.setattr(decode, "HELD_SIZE", 100)
    found = ds.read(path, sel=sel)
    assert all(same_data(found[name], expected[name]) for name in ("text", "x", "flags", "plain", "words"))
