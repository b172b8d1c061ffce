"""What arrays may be made over: the bytes of the file, and no memory that holds anything else."""

from __future__ import annotations

import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest

from ds_format.binpickle import inspect, load as load_file
from ds_format.errors import FormatError, UnsafeError

from ..numpy_versions import NUMPY_2
from . import golden
from .pickles import MEMOIZE, NEXT_BUFFER, call, dtype, get, given, load, name, number, raw, text

READONLY = b"\x98"
FROM_BUFFER = "numpy._core.numeric:_frombuffer"
START = call("numpy._core.multiarray:_reconstruct", name("numpy:ndarray"), (0,), raw(b"b"))
OBJECT = dtype("O8", "|", 63)
OBJECTS = given(START, (1, (1,), OBJECT, False, [text("secret")]))
NUMBERS = call(FROM_BUFFER, raw(bytes(8)), dtype("i8"), (1,), "C")
FIELDS = given(
    call("numpy:dtype", "V8", False, True), (3, "|", None, ("a",), {"a": (OBJECT, 0)}, 8, 1, 16 | 27)
)  # fmt: skip
STRINGS = call("numpy._core._internal:_convert_to_stringdtype_kwargs", True)
MASKED = call("numpy.ma.core:_mareconstruct", name("numpy.ma:MaskedArray"), name("numpy:ndarray"), (0,), raw(b"b"))
OTHERS: dict[str, bytes] = {
    "objects": OBJECTS,
    "objects in two dimensions": given(START, (1, (1, 1), OBJECT, True, [text("secret")])),
    "objects in a structure": given(START, (1, (1,), FIELDS, False, [(text("secret"),)])),
    "masked objects": given(MASKED, (1, (1,), dtype("i8"), False, raw(bytes(8)), raw(b"\0"), None)),
    "a matrix": given(
        call("numpy._core.multiarray:_reconstruct", name("numpy:matrix"), (0,), raw(b"b")),
        (1, (1, 1), dtype("i8"), False, raw(bytes(8))),
    ),
    "numbers": NUMBERS,
    "a scalar": call("numpy._core.multiarray:scalar", dtype("i8"), raw(bytes(8))),
    "a text": text("secret  "),
    "a number": b"K\x08",
    "a list": b"]",
    **({"strings": given(START, (1, (1,), STRINGS, False, [text("secret")]))} if NUMPY_2 else {}),
}
"""What has memory that is not to be seen, or none."""


@pytest.mark.parametrize("other", OTHERS)
def test_memory_is_that_of_the_file(other: str) -> None:
    made = OTHERS[other]
    for stolen in (
        call(FROM_BUFFER, made, dtype("i8"), (1,), "C"),
        call(FROM_BUFFER, made + MEMOIZE + b"0" + get(0), dtype("u1", "|"), (8,), "F"),
        call(FROM_BUFFER, made + READONLY, dtype("i8"), (1,), "C"),
        call(FROM_BUFFER, made, dtype("i8"), (1, 1), "K", (1, 0)),
        made + READONLY,
    ):
        with pytest.raises(UnsafeError, match=r"^pickle, byte \d+: .*expected bytes of the file; it could expose"):
            load(stolen)


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="needs pyarrow")
@pytest.mark.parametrize("other", OTHERS)
def test_buffers_of_arrow_are_bytes_of_the_file(other: str) -> None:
    with pytest.raises(UnsafeError, match=r"pyarrow: buffer: .*expected bytes of the file"):
        load(call("pyarrow.lib:py_buffer", OTHERS[other]))
    arrow = call("pyarrow.lib:py_buffer", raw(bytes(8)))
    with pytest.raises(UnsafeError, match=r"array: found .*Buffer, expected bytes of the file"):
        load(call(FROM_BUFFER, arrow, dtype("i8"), (1,), "C"))


def test_the_file_that_was_found() -> None:
    path = golden.FOLDER / "found" / "leak.bpk"
    with pytest.raises(UnsafeError, match=r"leak.bpk: pickle, byte 283: array: found ndarray, expected bytes"):
        load_file(path)
    assert str(inspect(path)).splitlines()[0] == "list 2 items"


@pytest.mark.parametrize("given_", [bytes(8), bytearray(8), memoryview(bytearray(8)), pickle.PickleBuffer(bytes(8))])
def test_bytes_of_the_file(given_: Any) -> None:
    for opcodes in (NEXT_BUFFER, NEXT_BUFFER + READONLY):
        found = load(call(FROM_BUFFER, opcodes, dtype("i8"), (1,), "C"), buffers=[given_])
        assert found.tolist() == [0]
        assert found.flags.writeable is (READONLY not in opcodes and not memoryview(given_).readonly)
    for in_band in (raw(bytes(8)), b"\x96" + (8).to_bytes(8, "little") + bytes(8), raw(bytes(8)) + READONLY):
        assert load(call(FROM_BUFFER, in_band, dtype("i8"), (1,), "C")).tolist() == [0]


def test_what_is_handed_in_is_bytes() -> None:
    stolen = np.array(["secret"], object)
    with pytest.raises(UnsafeError, match="found ndarray, expected bytes of the file"):
        load(call(FROM_BUFFER, NEXT_BUFFER, dtype("i8"), (1,), "C"), buffers=[stolen])


def structure(size: int) -> bytes:
    """Return a dtype of one object, and as many bytes as are left."""
    rest = given(call("numpy:dtype", f"V{size - 8}", False, True), (3, "|", None, None, None, size - 8, 1, 0))
    fields = {"a": (OBJECT, 0), "b": (rest, 8)}
    return given(call("numpy:dtype", f"V{size}", False, True), (3, "|", None, ("a", "b"), fields, size, 1, 16 | 27))


def test_room_that_no_byte_of_the_file_fills() -> None:
    item = (text("x"), raw(b"y"))
    assert load(given(START, (1, (1,), structure(16), False, [item])))["b"].tobytes() == b"y" + bytes(7)
    for size, n in ((1 << 27, 1), (1 << 20, 70)):
        with pytest.raises(FormatError, match=rf"found {n} items of {size} bytes, far more than are in the pickle"):
            load(given(START, (1, (n,), structure(size), False, [item] * n)))


WRONG = {
    "a shape of truths": call(FROM_BUFFER, raw(bytes(8)), dtype("i8"), (True,), "C"),
    "a shape of arrays": call(FROM_BUFFER, raw(bytes(8)), dtype("i8"), (NUMBERS,), "C"),
    "axes of arrays": call(FROM_BUFFER, raw(bytes(8)), dtype("i8"), (1,), "K", (NUMBERS,)),
    "an order of arrays": call(FROM_BUFFER, raw(bytes(8)), dtype("i8"), (1,), NUMBERS),
    "objects in a structure over memory": call(FROM_BUFFER, raw(bytes(8)), FIELDS, (1,), "C"),
    "objects in a subarray over memory": call(
        FROM_BUFFER, raw(bytes(8)),
        given(call("numpy:dtype", "V8", False, True), (3, "|", (OBJECT, (1,)), None, None, 8, 1, 27)), (1,), "C",
    ),
    "objects in the record over memory": call(
        FROM_BUFFER, raw(bytes(8)),
        given(call("numpy:dtype", name("numpy:record"), False, True),
              (3, "|", None, ("a",), {"a": (OBJECT, 0)}, 8, 1, 16 | 27)), (1,), "C",
    ),
    "objects of bytes": given(START, (1, (1,), OBJECT, False, raw(b"\x10" * 8))),
    "a structure of bytes": given(START, (1, (1,), FIELDS, False, raw(b"\x10" * 8))),
    "masked objects of bytes": given(MASKED, (1, (1,), OBJECT, False, raw(b"\x10" * 8), raw(b"\0"), None)),
    "a state for an array that has one": given(NUMBERS, (1, (1,), OBJECT, False, raw(bytes(8)))),
    "a fill value of objects": given(
        MASKED, (1, (1,), dtype("i8"), False, raw(bytes(8)), raw(b"\0"), given(START, (1, (), OBJECT, False, [[1]])))
    ),
}  # fmt: skip
if NUMPY_2:
    WRONG["strings over memory"] = call(FROM_BUFFER, raw(bytes(16)), STRINGS, (1,), "C")
    WRONG["strings of bytes"] = given(START, (1, (1,), STRINGS, False, raw(b"\x10" * 16)))


@pytest.mark.parametrize("lie", WRONG)
def test_lies_about_memory_are_refused(lie: str) -> None:
    with pytest.raises((FormatError, UnsafeError), match=r"^pickle, byte \d+: "):
        load(WRONG[lie])


def array(values: Any, kind: str) -> bytes:
    return call(FROM_BUFFER, raw(np.array(values, kind).tobytes()), dtype(kind), np.shape(values), "C")


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr"])
def test_sparse_pointers_are_checked_where_scipy_does_not(layout: str) -> None:
    """It looks at none if the last one is 0, and a product reads beyond the indices."""
    pytest.importorskip("scipy.sparse")
    data = array(np.ones((2, 1, 1)) if layout == "bsr" else [1, 1], "f8")
    for pointers in ([0, 5, 0], [0, 1 << 30, 0], [0, -1, 0]):
        state = {"_shape": (2, 2), "data": data, "indices": array([0, 1], "i4"), "indptr": array(pointers, "i4")}
        with pytest.raises(FormatError, match="found index pointers that do not ascend"):
            load(given(call(f"scipy.sparse._{layout}:{layout}_array"), state))


@pytest.mark.parametrize("offset", [3, -2, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**32])
def test_sparse_diagonals_are_those_of_the_shape(offset: int) -> None:
    """SciPy adds them to the shape in 32 bits, and writes where that leads."""
    pytest.importorskip("scipy.sparse")
    state = {"_shape": (2, 3), "data": array(np.ones((1, 3)), "f8"), "offsets": array([offset], "i8")}
    with pytest.raises(FormatError, match=r"found a diagonal that the shape \(2, 3\) does not have"):
        load(given(call("scipy.sparse._dia:dia_array"), state))


def test_sparse_diagonals() -> None:
    pytest.importorskip("scipy.sparse")
    state = {"_shape": (2, 3), "data": array(np.ones((2, 3)), "f8"), "offsets": array([2, -1], "i8")}
    found = load(given(call("scipy.sparse._dia:dia_array"), state))
    assert found.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("shape", [(), (1, 1, 1)])
def test_columns_of_pandas_have_one_dimension(shape: tuple[int, ...]) -> None:
    pytest.importorskip("pandas")
    numbers = call(FROM_BUFFER, raw(bytes(8)), dtype("i8"), shape, "C")
    for kind, made in (
        ("PeriodArray", call("pandas:PeriodDtype", "period[D]")),
        ("Categorical", given(call("pandas:CategoricalDtype"), {"categories": None, "ordered": False})),
    ):
        path = f"pandas:{kind}" if kind == "Categorical" else f"pandas.arrays:{kind}"
        with pytest.raises(FormatError, match=f"found values of {len(shape)} dimensions, expected 1 or 2"):
            load(given(call("pandas._libs.arrays:__pyx_unpickle_NDArrayBacked", name(path), 1, None), (made, numbers)))


def test_each_byte_of_a_buffer_is_copied_a_limited_number_of_times() -> None:
    """256 times, and what the pickle itself may need; copies that are dropped at once count, too."""
    size = 1 << 16
    state = b"(" + number(1) + b"(" + number(size) + b"t" + dtype("u1", "|") + b"\x89" + get(0) + b"t"
    function = name("numpy._core.multiarray:_reconstruct")
    args = b"(" + name("numpy:ndarray") + b"(K\x00t" + raw(b"b") + b"t"
    start = NEXT_BUFFER + MEMOIZE + state + MEMOIZE + function + MEMOIZE + args + MEMOIZE + b"0000"
    copy = b"h\x02h\x03R" + b"h\x01b" + b"0"
    assert load(start, copy * 250, b"N", buffers=[bytearray(size)]) is None
    with pytest.raises(FormatError, match="needs more memory than its bytes account for"):
        load(start, copy * 300, b"N", buffers=[bytearray(size)])
