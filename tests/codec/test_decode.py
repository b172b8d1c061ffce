"""A decoder reads no byte twice, asks for many ranges at once, and can do without keeping masks and lengths."""

from __future__ import annotations

import re
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
    read, read_into, ranges = FileBody.read, FileBody.read_into, FileBody.ranges

    def counted(self: FileBody, offset: int, size: int) -> bytes:
        sizes.append(size)
        return read(self, offset, size)

    def counted_into(self: FileBody, offset: int, out: Any) -> None:
        sizes.append(memoryview(out).nbytes)
        read_into(self, offset, out)

    def counted_ranges(self: FileBody, offsets: Any, lengths: Any, outs: list[Any]) -> None:
        sizes.append(sum(memoryview(out).nbytes for out in outs))
        ranges(self, offsets, lengths, outs)

    monkeypatch.setattr(FileBody, "ranges", counted_ranges)
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
    monkeypatch.setattr(decode, "CACHED_SIZE", 100)
    found = ds.read(path, sel=sel)
    assert all(same_data(found[name], expected[name]) for name in ("text", "x", "flags", "plain", "words"))


GRID = (40, 50, 60)


@pytest.fixture
def grids(tmp_path: Path) -> Path:
    """Return a file that is not read whole, with a grid of each kind that is stored in a way of its own."""
    generator = np.random.default_rng(2)
    arrays: dict[str, Any] = {
        "float": generator.random(GRID),
        "big": np.arange(np.prod(GRID), dtype=">i2").reshape(GRID),
        "flag": generator.random(GRID) < 0.5,
        "text": np.array(["", "a", "äö", "xyz"], object)[generator.integers(0, 4, GRID)],
    }
    mask = generator.random(GRID) < 0.2
    arrays.update({f"masked_{name}": np.ma.MaskedArray(array, mask) for name, array in arrays.items()})
    ds.write(tmp_path / "a.ds", {**arrays, ".": {name: {".dims": ["z", "y", "x"]} for name in arrays}})
    return tmp_path / "a.ds"


INDEXES: list[Any] = [
    {"y": 7, "x": 3},
    {"z": [2, 3, 30], "y": slice(5, 40, 7), "x": slice(1, 9)},
    {"y": slice(3, 6)},
    {"x": [0, 59]},
    {"z": slice(None, None, -11), "y": [49, 0, 0], "x": 59},
]


@pytest.mark.parametrize("sel", INDEXES)
@pytest.mark.parametrize("gap", [0, 1 << 18])
def test_slabs_of_many_ranges(grids: Path, sel: Any, gap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileBody, "gap", gap)
    whole = ds.read(grids)
    index = tuple(np.arange(n)[sel.get(dim, slice(None))] for dim, n in zip("zyx", GRID, strict=True))
    found = ds.read(grids, sel=sel)
    for name in whole["."]:
        if name != ".":
            expected = whole[name]
            for axis in (2, 1, 0):
                expected = expected.take(index[axis], axis=axis)
            assert same_data(found[name], expected)


@pytest.mark.parametrize(
    ("name", "n_calls"), [("float", 1), ("flag", 1), ("text", 2), ("masked_float", 2), ("masked_flag", 2)]
)
def test_a_slab_is_read_in_one_call_after_mask_and_lengths(
    grids: Path, name: str, n_calls: int, n_read: list[int]
) -> None:
    with ds.open(grids) as file:
        file[name][:, 7, 3:6]
    assert len(n_read) == n_calls


def test_mask_and_lengths_are_read_once(tmp_path: Path, n_read: list[int]) -> None:
    text = np.ma.MaskedArray(np.array([["a", "bc"]] * 500, object), [[True, False]] * 500)
    ds.write(tmp_path / "a.ds", {"large": np.zeros(10_000), "text": text, ".": {}})
    with ds.open(tmp_path / "a.ds") as file:
        assert file["text"][100:300:99, 1].tolist() == ["bc"] * 3
        assert n_read == [125, 4000, 398]
        assert file["text"][7, 1] == "bc"
    assert n_read[3:] == [8]  # the four values of a whole byte of the mask


def test_small_variables_are_read_together(grids: Path, n_read: list[int]) -> None:
    ds.read(grids, ["masked_big", "masked_flag"])
    assert len(n_read) == 1


@pytest.mark.parametrize("length", [1, 15_000, 1 << 40])
def test_wrong_lengths_of_the_header_are_not_trusted(grids: Path, length: int) -> None:
    expected = ds.read(grids)
    data = grids.read_bytes()
    end = data.index(b"\n", 7)
    header = re.sub(rb'("\.len": )(\d+)', lambda match: b"%s%d" % (match[1], length), data[7:end])
    assert header != data[7:end]
    grids.write_bytes(data[:7] + header + data[end:])
    found = ds.read(grids)
    assert all(same_data(found[name], expected[name]) for name in expected if name != ".")
