"""NumPy's arrays, scalars and dtypes: as pickle makes them, and every way in which a file can lie about them."""

from __future__ import annotations

import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest

from ds_format.binpickle import machine
from ds_format.binpickle.machine import numpy_
from ds_format.errors import DriverError, FormatError, UnsafeError

from ..numpy_versions import NUMPY_2
from .pickles import MEMOIZE, Masked, again, call, dtype, get, given, load, name, plain, raw

MA: Any = np.ma
REC: Any = np.rec
BASE = np.arange(24).reshape(2, 3, 4)
RECORD = REC.array([(1, 2.5), (3, 4.5)], names="a,b")
STRUCTURE = np.dtype([("a", "i1"), ("b", "<f8", (2,)), ("c", [("x", ">i4"), ("y", "M8[s]")])])
ARRAYS: dict[str, Any] = {
    **{code: np.ones(3, code) for code in "?bhilqBHILQefdgFDG"},
    **{code: np.arange(3).astype(code) for code in (">i2", ">f8", ">c16", "<U3", ">U3", "S2", "V3")},
    "0-d": np.array(1.5), "empty": np.zeros((0, 3)), "F": np.asfortranarray(BASE), "K": BASE.transpose(1, 0, 2),
    "strided": BASE[:, ::2], "backwards": BASE[::-1], "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
    "no bytes": np.zeros(3, "V0"), "no fields": np.zeros(2, []), "times": np.array(["2020", "NaT"], "M8[25s]"),
    "generic": np.zeros(1, "m8"), "times, strided": np.arange(6).astype("M8[ns]")[::2],
    "structure": np.zeros(2, STRUCTURE), "aligned": np.zeros(2, np.dtype("i1,f8", align=True)),
    "titles": np.zeros(2, np.dtype({"names": ["a"], "formats": ["i4"], "titles": ["T"]})),
    "gap": np.zeros(2, np.dtype({"names": ["a"], "formats": ["i4"], "offsets": [4], "itemsize": 12})),
    "metadata": np.zeros(2, np.dtype("f8", metadata={"unit": "K"})),
    "objects": np.array([[1, "a"], [None, [2, (3,)]]], object), "objects, F": np.array([[1, "a"], [2, "b"]], object).T,
    "no objects": np.zeros((0, 2), object), "fields of objects": np.array([(1, [2], b"x")], "i4,O,S1"),
    "matrix": np.ones((1, 2)).view(np.matrix), "record array": RECORD,
    "masked": MA.array([1, 2], mask=[0, 1]), "masked, filled": MA.array([1.5, 2], mask=[0, 1], fill_value=-1),
    "masked, 2-D": MA.array(BASE[0], mask=BASE[0] % 2).T, "masked, no mask": MA.array([1, 2]),
    "masked structure": MA.array([(1, 2.0)], mask=[(0, 1)], dtype="i4,f8"),
    "masked objects": MA.array([1, "x"], mask=[0, 1], dtype=object),
}  # fmt: skip
if NUMPY_2:
    ARRAYS["texts"] = np.array(["a", "é" * 50], np.dtypes.StringDType())
    ARRAYS["texts, absent"] = np.array(["a", None], np.dtypes.StringDType(na_object=None))


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_come_back(case: str) -> None:
    value = pickle.loads(pickle.dumps(ARRAYS[case], 5))
    found = again(ARRAYS[case])
    assert type(found) is type(value) and found.dtype == value.dtype and found.shape == value.shape
    assert (found.dtype.metadata or None) == (value.dtype.metadata or None) and found.dtype.type is value.dtype.type
    assert repr(found) == repr(value)
    assert found.flags.writeable and found.flags.f_contiguous is value.flags.f_contiguous


def characters_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let NumPy have no `numpy.char.chararray`, as it will be."""

    def gone(name: str) -> None:
        raise AttributeError(name)

    monkeypatch.delitem(vars(np.char), "chararray", raising=False)
    monkeypatch.setitem(vars(np.char), "__getattr__", gone)


CHARACTERS = call("numpy.core.multiarray:_reconstruct", name("numpy.char:chararray"), (0,), raw(b"b"))


@pytest.mark.filterwarnings("ignore:The chararray class is deprecated:DeprecationWarning")
def test_arrays_of_characters_come_back() -> None:
    kind = getattr(np.char, "chararray", None)
    if kind is None:
        pytest.skip("this NumPy has no numpy.char.chararray")
    value = np.array(["a", "bc"]).view(kind)
    found = again(value)
    assert type(found) is type(value) and found.dtype == value.dtype and repr(found) == repr(value)


def test_arrays_of_characters_where_numpy_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    characters_gone(monkeypatch)
    with pytest.raises(DriverError, match=r"needs numpy\.char\.chararray, which NumPy .* does not have"):
        load(CHARACTERS)


def test_import_asks_for_nothing_that_numpy_will_drop(monkeypatch: pytest.MonkeyPatch) -> None:
    characters_gone(monkeypatch)
    spec = importlib.util.find_spec(numpy_.__name__)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_read_only_arrays_stay_so() -> None:
    value = np.arange(3)
    value.flags.writeable = False
    assert not again(value).flags.writeable


@pytest.mark.parametrize("array", [np.arange(3), np.asfortranarray(BASE), BASE.transpose(1, 0, 2)])
def test_arrays_in_band(array: Any) -> None:
    data = pickle.dumps(array, 5)
    found = machine.load(data)
    assert np.array_equal(found, array) and found.strides == pickle.loads(data).strides


SCALARS: list[Any] = [
    np.float32(1.5), np.longdouble(1) / 3, np.bool_(True), np.int64(-1), np.complex64(1j), np.str_("é"),
    np.bytes_(b"a"), np.datetime64("2020", "D"), np.timedelta64(3, "h"), np.void(b"abc"), np.zeros(1, "i4,S3")[0],
    RECORD[0],
]  # fmt: skip


@pytest.mark.parametrize("value", SCALARS, ids=lambda value: type(value).__name__)
def test_scalars_come_back(value: Any) -> None:
    found = again(value)
    assert type(found) is type(value) and repr(found) == repr(value) and found.dtype == value.dtype


def test_types_and_constants_come_back() -> None:
    kinds = [np.ndarray, np.float64, np.bool_, np.str_, np.dtype, np.recarray, np.ma.MaskedArray]
    assert all(one is other for one, other in zip(again(kinds), kinds, strict=True))
    assert again(np.ma.masked) is np.ma.masked
    with pytest.raises(UnsafeError, match=r"numpy\.(core\._multiarray_umath\.)?add"):
        again(np.add)


BUFFER = "numpy._core.numeric:_frombuffer"
DTYPE = "numpy:dtype"
START = call("numpy.core.multiarray:_reconstruct", name("numpy:ndarray"), (0,), raw(b"b"))
OBJECT = dtype("O8", "|", 63)


def structure(names: Any, fields: Any, size: int = 8, flags: int = 16, text: str = "V8") -> bytes:
    return given(call(DTYPE, text, False, True), (3, "|", None, names, fields, size, 1, flags))


SUBARRAY = given(call(DTYPE, "V16", False, True), (3, "|", (dtype(), (2,)), None, None, 16, 1, 0))
WITH_SUBARRAY = structure(("a", "b"), {"a": (SUBARRAY, 0), "b": (OBJECT, 16)}, 24, 16 | 27, "V24")
LIES = {
    "text": call(DTYPE, "f8,f8", False, True),
    "class": call(DTYPE, name("numpy:float64"), False, True),
    "no size": call(DTYPE, "f", False, True),
    "no such size": given(call(DTYPE, "f7", False, True), (3, "<", None, None, None, -1, -1, 0)),
    "no state": given(call(DTYPE, "f8", False, True), None),
    "version": given(call(DTYPE, "f8", False, True), (9, "<", None, None, None, -1, -1, 0)),
    "length of the state": given(call(DTYPE, "f8", False, True), (3, "<", None, None, None, -1, -1, 0, None)),
    "byte order": given(call(DTYPE, "f8", False, True), (3, "x", None, None, None, -1, -1, 0)),
    "size": given(call(DTYPE, "S8", False, True), (3, "|", None, None, None, -5, 1, 0)),
    "flags of an object": dtype("O8", "|", 0),
    "flags of a number": dtype("f8", "<", 63),
    "fields without names": given(call(DTYPE, "V8", False, True), (3, "|", None, None, {"a": 1}, 8, 1, 16)),
    "names without fields": structure(("a",), None),
    "a field that is missing": structure(("a",), {}),
    "a field too many": structure(("a",), {"a": (dtype(), 0), "b": (dtype(), 0)}),
    "a name twice": structure(("a", "a"), {"a": (dtype(), 0)}),
    "a field beyond": structure(("a",), {"a": (dtype(), 10**9)}),
    "a field half beyond": structure(("a",), {"a": (dtype(), 1)}),
    "a field before": structure(("a",), {"a": (dtype(), -1)}),
    "no dtype of a field": structure(("a",), {"a": ("f8", 0)}),
    "a field that is no pair": structure(("a",), {"a": (dtype(),)}),
    "an offset that is no integer": structure(("a",), {"a": (dtype(), 0.0)}),
    "a structure with hidden objects": structure(("a",), {"a": (OBJECT, 0)}, flags=16),
    "objects that overlap": structure(("a", "b"), {"a": (OBJECT, 0), "b": (dtype(), 0)}, flags=16 | 27),
    "objects that overlap each other": structure(("a", "b"), {"a": (OBJECT, 0), "b": (OBJECT, 4)}, 12, 16 | 27, "V12"),
    "another size in the text": structure(("a",), {"a": (dtype(), 0)}, 16),
    "alignment": structure(("a",), {"a": (dtype("i1", "|"), 0)}, 3, 16 | 128 | 64, "V3"),
    "a negative subarray": given(call(DTYPE, "V8", False, True), (3, "|", (dtype(), (-1,)), None, None, 8, 1, 0)),
    "a subarray of another size": given(call(DTYPE, "V8", False, True), (3, "|", (dtype(), (9,)), None, None, 8, 1, 0)),
    "a subarray of nothing": given(
        call(DTYPE, "V0", False, True), (3, "|", (dtype("V0", "|"), (10**9,)), None, None, 0, 1, 0)
    ),
    "a unit": given(
        call(DTYPE, "M8", False, True), (4, "<", None, None, None, -1, -1, 0, (None, (raw(b"x"), 1, 1, 1)))
    ),
    "a unit of nothing": given(
        call(DTYPE, "M8", False, True), (4, "<", None, None, None, -1, -1, 0, (None, (raw(b"s"), 0, 1, 1)))
    ),
    "no unit": given(call(DTYPE, "M8", False, True), (3, "<", None, None, None, -1, -1, 0)),
    "shape": call(BUFFER, raw(bytes(8)), dtype(), (10**9,), "C"),
    "short shape": call(BUFFER, raw(bytes(16)), dtype(), (1,), "C"),
    "negative shape": call(BUFFER, raw(bytes(8)), dtype(), (-1,), "C"),
    "a shape of 2^70": call(BUFFER, raw(bytes(8)), dtype(), (2**70,), "C"),
    "a shape beyond 64 bits": call(BUFFER, b"", dtype(), (0, 2**62, 2**62), "C"),
    "a shape of floats": call(BUFFER, raw(bytes(8)), dtype(), (1.0,), "C"),
    "a shape that is no tuple": call(BUFFER, raw(bytes(8)), dtype(), 1, "C"),
    "65 dimensions": call(BUFFER, raw(bytes(8)), dtype(), (1,) * 65, "C"),
    "endless nothing": call(BUFFER, raw(b""), dtype("V0", "|"), (2**40,), "C"),
    "order": call(BUFFER, raw(bytes(8)), dtype(), (1,), "A"),
    "axes": call(BUFFER, raw(bytes(8)), dtype(), (1, 1), "K", (0, 0)),
    "axes without K": call(BUFFER, raw(bytes(8)), dtype(), (1, 1), "C", (0, 1)),
    "objects in a buffer": call(BUFFER, raw(bytes(8)), OBJECT, (1,), "C"),
    "a dtype that is a text": call(BUFFER, raw(bytes(8)), "f8", (1,), "C"),
    "reconstruct, shape": call("numpy._core.multiarray:_reconstruct", name("numpy:ndarray"), (2**40,), raw(b"b")),
    "reconstruct, class": call("numpy._core.multiarray:_reconstruct", name("builtins:list"), (0,), raw(b"b")),
    "in band, short": given(START, (1, (2,), dtype(), False, raw(bytes(8)))),
    "in band, long": given(START, (1, (2,), dtype(), False, raw(bytes(24)))),
    "in band, text": given(START, (1, (1,), dtype("S1", "|"), False, "a")),
    "in band, a dtype that is a text": given(START, (1, (1,), "f8", False, raw(bytes(8)))),
    "in band, shape": given(START, (1, (-1, -1), dtype(), False, raw(bytes(8)))),
    "in band, 65 dimensions": given(START, (1, (1,) * 65, dtype(), False, raw(bytes(8)))),
    "in band, endless nothing": given(START, (1, (2**40,), dtype("V0", "|"), False, raw(b""))),
    "in band, list of numbers": given(START, (1, (1,), dtype(), False, [1.0])),
    "objects, few": given(START, (1, (64,), OBJECT, False, [1])),
    "objects, bytes": given(START, (1, (1,), OBJECT, False, raw(bytes(8)))),
    "objects, overflow": given(START, (1, (2**32, 2**32), OBJECT, False, [])),
    "fields, item": given(START, (1, (1,), structure(("a",), {"a": (OBJECT, 0)}, flags=16 | 27), False, [[1]])),
    "fields, list for a subarray": given(START, (1, (1,), WITH_SUBARRAY, False, [([1.0, 2.0], None)])),
    "scalar of an object": call("numpy._core.multiarray:scalar", OBJECT, raw(bytes(8))),
    "scalar, long": call("numpy._core.multiarray:scalar", dtype(), raw(bytes(9))),
    "scalar, short": call("numpy._core.multiarray:scalar", dtype(), raw(bytes(7))),
    "matrix of one dimension": given(
        call("numpy._core.multiarray:_reconstruct", name("numpy:matrix"), (0,), raw(b"b")),
        (1, (1,), dtype(), False, raw(bytes(8))),
    ),
    "mask, short": given(
        call("numpy.ma.core:_mareconstruct", name("numpy.ma:MaskedArray"), name("numpy:ndarray"), (0,), "b"),
        (1, (2,), dtype(), False, raw(bytes(16)), raw(b"\0"), None),
    ),
    "fill value": given(
        call("numpy.ma.core:_mareconstruct", name("numpy.ma:MaskedArray"), name("numpy:ndarray"), (0,), "b"),
        (1, (1,), dtype(), False, raw(bytes(8)), raw(b"\0"), [1]),
    ),
    "texts, absent": call("numpy._core._internal:_convert_to_stringdtype_kwargs", True, [1]),
}  # fmt: skip


TEXTS = call("numpy._core._internal:_convert_to_stringdtype_kwargs", True)
if NUMPY_2:
    LIES["texts, objects"] = given(START, (1, (1,), TEXTS, False, [[1]]))


def test_texts_need_numpy_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(np.dtypes, "StringDType", raising=False)
    with pytest.raises(DriverError, match=f"StringDType needs NumPy 2, found NumPy {np.__version__}"):
        load(given(START, (1, (1,), TEXTS, False, ["a"])))


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused(lie: str) -> None:
    with pytest.raises(FormatError, match=r"^pickle, byte \d+: ") as caught:
        load(LIES[lie])
    assert "state" not in caught.value.message or "state" in lie or lie == "version"


@pytest.mark.parametrize(
    "data", [BASE, np.array([[["a"]]], object), np.zeros(2, "i4,f4")], ids=["numbers", "texts", "fields"]
)
def test_masked_arrays_of_two_arrays(data: Any) -> None:
    """A masked array of NumPy puts its bytes into the pickle; as a call, both arrays are outside of it."""
    mask = np.zeros(data.shape, MA.make_mask_descr(data.dtype))
    mask.reshape(-1)[0] = True if data.dtype.names is None else (True, False)
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(Masked(data, mask), 5, buffer_callback=buffers.append)
    for found in (machine.load(pickled, buffers), pickle.loads(pickled, buffers=buffers)):
        assert type(found) is MA.MaskedArray and found.dtype == data.dtype
        assert found.mask.tolist() == mask.tolist() and found.data.tolist() == data.tolist()


@pytest.mark.parametrize(
    ("data", "mask", "message"),
    [
        ([1], np.array([True]), "masked array: data: found list, expected an array"),
        (np.arange(2), None, "masked array: mask: found NoneType, expected an array"),
        (np.arange(2), np.array([True]), r"found a mask of \(1,\), expected booleans of \(2,\)"),
        (np.arange(2), np.array([0, 1]), "expected booleans"),
        (np.zeros(2, "i4,f4"), np.array([True, False]), "expected booleans"),
        (MA.array([1], mask=[True]), np.array([True]), "found MaskedArray, expected an array"),
    ],
)
def test_masks_have_to_fit(data: Any, mask: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        machine.load(pickle.dumps(Masked(data, mask), 5))


def test_a_dtype_that_holds_the_one_before_twice_and_so_on() -> None:
    made, size = dtype("V0", "|") + MEMOIZE, 0
    for i in range(60):
        made += structure(("a", "b"), {"a": (get(i), 0), "b": (get(i), 0)}, size, text="V0") + MEMOIZE
    with pytest.raises(FormatError, match="more than 1000 dtypes inside of fields"):
        load(b"(", made, b"t")


def test_an_array_keeps_the_byte_order_that_it_had() -> None:
    assert again(np.arange(6, dtype=">i4")[::2]).dtype.str == ">i4"


def test_objects_in_arrays_are_not_looked_into() -> None:
    """NumPy, asked for an array of nested lists, would walk over all of them."""
    laughs = plain([]) + MEMOIZE + b"".join(get(i) + b"\x86" + MEMOIZE for i in range(60))
    found = load(b"(", laughs, given(START, (1, (2,), OBJECT, False, [get(60), get(59)])), b"t")
    assert found[-1].shape == (2,) and type(found[-1][0]) is tuple
