"""Values: whole variables and parts of them, from memory and from open files, against NumPy."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import netCDF4
import numpy as np
import pytest
from numpy.typing import NDArray

from ds_format import classic
from ds_format.body.body import Body, FileBody, MemoryBody
from ds_format.errors import TruncatedError
from ds_format.kernels.classic import portable, slabs
from ds_format.kernels.classic.arrays import decode

from ..conftest import cases
from .files import CODES, NUMBERS, File, Variable, drawn, encode, values
from .same import exact, in_memory

Read = Callable[..., tuple[NDArray[Any], bool]]


@cases("seed", range(200))
def test_whole_variables(seed: int) -> None:
    file = drawn(Random(seed))
    data = encode(file)
    for variable, found in zip(file.variables, classic.read_header(in_memory(data)).variables, strict=True):
        assert exact(classic.values(in_memory(data), found)[0]) == exact(values(file, variable))


@pytest.mark.parametrize("seed", range(200))
def test_parts_of_variables(tmp_path: Path, seed: int) -> None:
    """A file on disk and in memory, and one inside of another file and of other memory."""
    random = Random(seed)
    file = drawn(random)
    data = encode(file)
    path = tmp_path / "x.nc"
    path.write_bytes(data)
    around = tmp_path / "around"
    around.write_bytes(b"before!" + data + b"after")
    bodies: list[Body] = [
        FileBody.open(path),
        in_memory(data),
        FileBody.open(around).section(7, len(data)),
        MemoryBody("around", around.read_bytes()).section(7, len(data)),
    ]
    header = classic.read_header(bodies[0])
    assert all(exact(classic.read_header(body)) == exact(header) for body in bodies)
    for variable, found in zip(file.variables, header.variables, strict=True):
        expected = values(file, variable)
        for body in bodies:
            assert exact(classic.values(body, found)[0]) == exact(expected)
        for _ in range(10):
            pairs = [sorted(random.choices(range(n + 1), k=2)) for n in found.shape]
            slices = tuple(slice(start, stop) for start, stop in pairs)
            for body in bodies:
                assert exact(classic.values(body, found, slices)[0]) == exact(np.array(expected[slices]))


def test_a_file_that_ends_inside_of_another_one_ends_there(tmp_path: Path) -> None:
    data = encode(File(1, [(b"x", 100)], [], [Variable(b"a", [0], 4, [bytes(400)])]))
    (tmp_path / "around").write_bytes(data + bytes(1000))
    (variable,) = classic.read_header(in_memory(data)).variables
    for whole in (FileBody.open(tmp_path / "around"), MemoryBody("around", data + bytes(1000))):
        part = whole.section(0, len(data) - 1)
        for slices in (None, (slice(0, 5),)):
            with pytest.raises(TruncatedError, match=f"found {len(data) - 1} bytes in the file, expected at least"):
                classic.values(part, variable, slices)


@pytest.mark.parametrize("seed", range(60))
def test_the_library_reads_the_same(tmp_path: Path, seed: int) -> None:
    data = encode(drawn(Random(seed)))
    path = tmp_path / "x.nc"
    path.write_bytes(data)
    header = classic.read_header(in_memory(data))
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        assert header.format == file.data_model
        told = [(d.name, d.size, d.is_record) for d in header.dimensions]
        assert told == [(name, len(d), d.isunlimited()) for name, d in file.dimensions.items()]
        assert list(header.attributes) == file.ncattrs()
        for variable, known in zip(header.variables, file.variables.values(), strict=True):
            assert tuple(header.dimensions[d].name for d in variable.dims) == known.dimensions
            assert list(variable.attributes) == known.ncattrs()
            for name, value in variable.attributes.items():
                if not isinstance(value, str):
                    assert exact(value) == exact(known.getncattr(name))
            if 0 not in variable.shape:
                assert exact(classic.values(in_memory(data), variable)[0]) == exact(np.array(known[...]))


@pytest.mark.parametrize("code", NUMBERS)
@cases("n", [0, 1, 7, 63, 64, 65, 100, 9001, 70_000])
def test_bytes_are_swapped(code: str, n: int) -> None:
    raw = np.frombuffer(Random(n).randbytes(n * np.dtype(code).itemsize), np.dtype(code).newbyteorder(">"))
    array, found = decode(b"xyz" + raw.tobytes(), 3, 0, (n,), np.dtype(code), None)
    assert exact(array) == exact(raw.astype(code))
    assert not found


WANTED = {
    "i1": [-127, 5], "u1": [255], "i2": [-999], "u2": [65535], "i4": [-2147483647, 1], "u4": [2**32 - 1],
    "i8": [-(2**63)], "u8": [2**64 - 1], "f4": [9.96921e36, np.nan, np.inf], "f8": [-999.0, 0.0, np.nan],
}  # fmt: skip


@pytest.mark.parametrize("code", WANTED)
@pytest.mark.parametrize("n", [1, 64, 20_000])
def test_values_are_searched_while_they_are_read(code: str, n: int) -> None:
    wanted = np.array(WANTED[code], code)
    for place, value in itertools.product(
        {0, n // 2, n - 1}, [*wanted, *([np.negative(wanted[1])] if code == "f8" else [])]
    ):
        plain = np.full(n, 7, code)
        assert decode(plain.byteswap().tobytes(), 0, 0, (n,), plain.dtype, wanted)[1] is False
        plain[place] = value
        array, found = decode(plain.byteswap().tobytes(), 0, 0, (n,), plain.dtype, wanted)
        assert found is True
        assert exact(array) == exact(plain)
        assert decode(plain.byteswap().tobytes(), 0, 0, (n,), plain.dtype, wanted[:0])[1] is False


def test_nobody_seeks_values_of_another_type() -> None:
    with pytest.raises(TypeError):
        decode(bytes(8), 0, 0, (2,), np.dtype("i4"), np.array([1], "f4"))
    with pytest.raises(TypeError):
        decode(bytes(8), 0, 0, (2,), np.dtype("i4"), np.arange(4, dtype="i4")[::2])


@pytest.mark.parametrize("end", [0, 1, 7, 8, 11])
@pytest.mark.parametrize(("shape", "step"), [((3,), 0), ((2,), 8), ((1, 3), 4)])
def test_nothing_is_read_behind_the_end(shape: tuple[int, ...], step: int, end: int) -> None:
    with pytest.raises(EOFError):
        decode(bytes(end), 0, step, shape, np.dtype("i4"), None)
    with pytest.raises(EOFError):
        decode(bytes(100), 101 - 12 + end, step, shape, np.dtype("i4"), None)


@pytest.mark.parametrize(
    ("begin", "step", "shape"),
    [(-1, 0, (1,)), (0, -4, (1,)), (0, 4, ()), (0, 0, (-1,)), (0, 0, (1,) * 65)],
)
def test_a_place_that_is_none_is_refused(begin: int, step: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected"):
        decode(bytes(100), begin, step, shape, np.dtype("i4"), None)


@pytest.mark.parametrize("shape", [(2**62, 2**62), (2**40,), (2**31, 2**31, 2), (1, 2**62)])
@pytest.mark.parametrize("step", [0, 4])
def test_sizes_do_not_wrap(shape: tuple[int, ...], step: int) -> None:
    with pytest.raises(EOFError):
        decode(bytes(100), 0, step, shape, np.dtype("i4"), None)


MANY_RUNS = ((300_000,), (12,))
"""More than one buffer of `slabs` holds."""
STRIDES = [
    ((1000,), (4,)),
    ((1000,), (8,)),
    ((300_000,), (4,)),
    MANY_RUNS,
    ((5,), (100_000,)),
    ((50, 20), (400, 4)),
    ((50, 20), (400, 12)),
    ((3, 20_000), (100_000, 4)),
    ((3, 90_000), (400_000, 4)),
    ((7, 5, 3), (60_000, 900, 40)),
    ((7, 5, 1, 3), (60_000, 900, 0, 4)),
    ((40, 5, 30), (40_000, 8_000, 4)),
    ((2, 2, 2), (900_000, 300_000, 4)),
    ((1, 1), (4, 4)),
    ((), ()),
]


@pytest.mark.parametrize(
    ("read", "shape", "strides"),
    [
        *((slabs.read, *each) for each in STRIDES),
        # a call for each run of bytes, whatever their number
        *((portable.read, *(each if each is not MANY_RUNS else ((10_000,), (12,)))) for each in STRIDES),
    ],
)
@pytest.mark.parametrize("code", ["i1", "i2", "f4", "f8"])
def test_any_stride(tmp_path: Path, read: Read, shape: tuple[int, ...], strides: tuple[int, ...], code: str) -> None:
    dtype = np.dtype(code)
    strides = tuple(stride * dtype.itemsize // 4 for stride in strides)
    end = 3 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True)) + dtype.itemsize
    raw = np.frombuffer(Random(1).randbytes(end), np.uint8)
    expected = np.ndarray(shape, dtype.newbyteorder(">"), raw, 3, strides).astype(dtype)
    path = tmp_path / "x"
    raw.tofile(path)
    with path.open("rb") as file:
        assert exact(read(file.fileno(), 3, shape, strides, dtype, None)[0]) == exact(expected)
        last = expected[(-1,) * len(shape)]
        assert read(file.fileno(), 3, shape, strides, dtype, np.array([last]))[1] is True
        os.truncate(path, end - 1)
        with pytest.raises(EOFError):
            read(file.fileno(), 3, shape, strides, dtype, None)


@pytest.mark.parametrize(
    ("begin", "shape", "strides"),
    [(-1, (1,), (4,)), (0, (1,), (4, 4)), (0, (2,), (3,)), (0, (2, 2), (4, 4)), (0, (2,), (-4,)), (0, (2**61,), (8,))],
)
def test_strides_that_do_not_fit_are_refused(begin: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    with pytest.raises((ValueError, MemoryError)):
        slabs.read(0, begin, shape, strides, np.dtype("i4"), None)


def test_a_file_that_is_cut_meanwhile(tmp_path: Path) -> None:
    data = encode(File(1, [(b"x", 100)], [], [Variable(b"a", [0], 4, [bytes(400)])]))
    path = tmp_path / "x.nc"
    path.write_bytes(data)
    (variable,) = classic.read_header(in_memory(data)).variables
    body = FileBody.open(path)
    os.truncate(path, 200)
    for slices in (None, (slice(0, 100),)):
        with pytest.raises(TruncatedError, match='variable "a": found 200 bytes in the file, expected at least'):
            classic.values(body, variable, slices)
    assert classic.values(body, variable, (slice(0, 5),))[0].tolist() == [0] * 5


def test_every_type_has_a_code() -> None:
    assert [CODES[i] for i in range(1, 12)] == list(NUMBERS)
