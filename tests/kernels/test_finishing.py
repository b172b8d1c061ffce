"""Values are finished by the kernel as they are step by step: masked, unpacked, joined."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from ds_format.datasets import as_masked
from ds_format.drivers.library.catalog import FileVariable
from ds_format.drivers.library.source import Reading
from ds_format.drivers.netcdf.format import NetCDFWarning
from ds_format.errors import FormatError
from ds_format.kernels.classic.arrays import decode_each
from ds_format.kernels.common.finishing import Finisher
from ds_format.model import packing

from ..same import same_data


class Steps(Reading):
    """Reads one variable in the way of files that are not small."""

    category = NetCDFWarning
    path = "x.nc"

    def __init__(self, raw: NDArray[Any]):
        self._raw = raw

    def _fetch_looked(self, variable: FileVariable, slices: Any) -> tuple[NDArray[Any], bool]:
        return self._raw, True


def variable(type_name: str, kind: str, raw: NDArray[Any], **others: Any) -> FileVariable:
    shape = raw.shape[:-1] if others.get("length") is not None else raw.shape
    fields = {"length": None, "size": raw.itemsize, "chunk": None, "sentinels": [], "mark": None, **others}
    return FileVariable(name="x", type=type_name, kind=kind, shape=shape, place=None, **fields)


def finisher(of: FileVariable, packed: tuple[Any, ...] | None = None) -> Finisher:
    sought = np.array(of.sentinels) if of.sentinels else None
    return Finisher(of.kind, sought, of.mark, of.type == "unicode", of.length is not None, packed)


def check(of: FileVariable, raw: NDArray[Any]) -> None:
    """Compare values, as they are stored and as users get them, with those made step by step."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            expected = Steps(raw).read_variable(of, None)
        except FormatError:
            expected = None
    found = finisher(of).apply(raw, True, False)
    if expected is None or caught:
        assert found is None  # the caller warns, or raises an error
        return
    assert isinstance(found, np.ndarray)
    assert same_data(found if found.ndim or isinstance(found, np.ma.MaskedArray) else found[()], expected)
    if isinstance(found, np.ma.MaskedArray):
        assert same_data(np.asarray(found.fill_value), np.asarray(expected.fill_value))
    shown = finisher(of).apply(raw, True, True)
    assert type(shown) is type(as_masked(expected))
    assert same_data(shown, as_masked(expected))


CODES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
SHAPES = st.sampled_from([(), (0,), (5,), (2, 3)])
SMALL = st.integers(0, 4)


@given(
    code=st.sampled_from(CODES),
    shape=SHAPES,
    seed=SMALL,
    numbers=st.lists(SMALL, max_size=3, unique=True),
    nan=st.booleans(),
)
def test_numbers(code: str, shape: tuple[int, ...], seed: int, numbers: list[int], nan: bool) -> None:
    raw = np.random.default_rng(seed).integers(0, 5, shape).astype(code)
    raw = np.asarray(raw)
    sentinels = [raw.dtype.type(number) for number in numbers]
    if nan and code[0] == "f":
        sentinels.append(raw.dtype.type("nan"))
        raw = np.where(raw == 2, raw.dtype.type("nan"), raw)
    check(variable(raw.dtype.name, "number", np.asarray(raw), sentinels=sentinels), np.asarray(raw))


@given(shape=SHAPES, seed=SMALL, most=st.sampled_from([1, 1, 2]), fill=st.none() | st.sampled_from([0, 1, 2, -1]))
def test_booleans(shape: tuple[int, ...], seed: int, most: int, fill: int | None) -> None:
    raw = np.asarray(np.random.default_rng(seed).integers(0, most + 1, shape).astype("i1"))
    of = variable("bool", "bool", raw, sentinels=[] if fill is None else [np.int8(fill)])
    check(of, raw)
    found = finisher(of).apply(raw, True, False)
    assert not np.ma.getdata(found)[np.ma.getmaskarray(found)].any()  # below the mask is False


LETTERS = st.sampled_from([b"a", b"b", b"\0", b" ", b"\xc3", b"\xa9", b"\xff"])


@given(
    letters=st.lists(LETTERS, min_size=12, max_size=12),
    form=st.sampled_from([((12,), True), ((3, 4), True), ((12, 1), True), ((12,), False), ((), False), ((3, 0), True)]),
    type_name=st.sampled_from(["str", "unicode"]),
    mark=st.sampled_from([None, b"a", "ab", ""]),
)
def test_characters(letters: list[bytes], form: Any, type_name: str, mark: Any) -> None:
    shape, is_joined = form
    raw = np.array(letters[: int(np.prod(shape))], "S1").reshape(shape)
    if type_name == "unicode" or mark is None or isinstance(mark, bytes):
        mark = mark if mark is None or type_name == "str" else "ab"
    else:
        mark = mark.encode()
    check(variable(type_name, "char", raw, length=shape[-1] if is_joined else None, mark=mark), raw)


@pytest.mark.parametrize("mark", [None, "", "x"])
@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_strings(mark: str | None, shape: tuple[int, ...]) -> None:
    raw = np.full(shape, "", object)
    if shape == (3,):
        raw[:] = ["x", "", "é"]
    check(variable("unicode", "string", raw, mark=mark, is_decoded=True), raw)


@given(
    code=st.sampled_from(CODES),
    shape=SHAPES,
    scale=st.sampled_from([None, 0.1, 1.0, np.float32(0.5), 2]),
    offset=st.sampled_from([None, 10.0, 0.0, np.float32(3)]),
    unsigned=st.sampled_from([None, "true"]),
    fill=st.none() | SMALL,
)
def test_packed_numbers(
    code: str, shape: tuple[int, ...], scale: Any, offset: Any, unsigned: Any, fill: int | None
) -> None:
    raw = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(code))
    of = variable(raw.dtype.name, "number", raw, sentinels=[] if fill is None else [raw.dtype.type(fill)])
    attributes = {"scale_factor": scale, "add_offset": offset, "_Unsigned": unsigned}
    attributes = {name: value for name, value in attributes.items() if value is not None}
    found = finisher(of, (scale, offset, unsigned)).apply(raw, True, True)
    if found is None:
        return
    expected = as_masked(packing.unpack(Steps(raw).read_variable(of, None), attributes))
    assert type(found) is type(expected)
    assert same_data(found, expected)
    if isinstance(found, np.ma.MaskedArray):
        assert found.fill_value == expected.fill_value


def test_usual_packing_is_not_left_to_others() -> None:
    raw = np.arange(5, dtype="i2")
    packed = Finisher("number", np.array([3], "i2"), None, False, False, (0.1, 200.0, None))
    assert packed.apply(raw, True, True).tolist() == [200.0, 200.1, 200.2, None, 200.4]
    assert packed.apply(raw, False, True).mask is np.ma.nomask


def test_signed_numbers_that_are_unsigned() -> None:
    raw = np.arange(-2, 3, dtype="i2")
    packed = Finisher("number", np.array([-1], "i2"), None, False, False, (None, None, "true"))
    found = packed.apply(raw, True, True)
    assert found.dtype == np.uint16
    assert found.tolist() == [65534, None, 0, 1, 2]


def test_it_can_be_pickled() -> None:
    made = Finisher("number", np.array([3], "i2"), None, False, False, (0.1, None, None))
    copy = pickle.loads(pickle.dumps(made))
    assert (
        copy.apply(np.arange(4, dtype="i2"), True, True).tolist()
        == made.apply(np.arange(4, dtype="i2"), True, True).tolist()
    )


def test_wrong_arguments() -> None:
    with pytest.raises(KeyError):
        Finisher("numbers", None, None, False, False, None)
    with pytest.raises(ValueError, match="C-contiguous"):
        Finisher("number", np.arange(4)[::2], None, False, False, None)
    assert Finisher("number", None, None, False, False, None).apply(np.arange(9)[::2], False, True) is None
    assert Finisher("number", np.array([1.0]), None, False, False, None).apply(np.arange(3), True, True) is None
    assert Finisher("bool", None, None, False, False, None).apply(np.arange(3), True, True) is None
    assert Finisher("char", None, None, False, True, None).apply(np.array(b"a", "S1"), True, True) is None
    assert Finisher("string", None, "a", True, False, None).apply(np.arange(3), True, True) is None


def test_what_several_threads_finish_is_not_decoded_before() -> None:
    dtypes, data = {"b": np.dtype("i1")}, bytes(1 << 19)
    variables: list[Any] = [("", (), {}, "b", (2, n), 0, 0) for n in (1 << 17, (1 << 17) + 1, 1 << 18)]
    finishers = [Finisher("number", None, None, False, False, None)] * 3
    values, left = decode_each(data, variables, finishers, dtypes, True)
    assert ([None if value is None else value.shape for value in values], left) == ([(2, 1 << 17), None, None], [1, 2])
