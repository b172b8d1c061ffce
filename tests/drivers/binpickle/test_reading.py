"""Arrays that stay in the file: which ones do, and any part of them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as nst

import ds_format as ds
from ds_format import binpickle
from ds_format.binpickle.machine.allowed import Postponed, PostponedArray, PostponedMasked
from ds_format.binpickle.machine.outline import postponable
from ds_format.binpickle.reader import BinPickleFile
from ds_format.body.body import FileBody
from ds_format.drivers import slabs
from ds_format.drivers.binpickle_ import source as reading
from ds_format.drivers.binpickle_.source import BinPickleSource
from ds_format.model.index import normalize, take
from tests.binpickle.pickles import MEMOIZE, NEXT_BUFFER, Masked as TwoArrays, call, dtype, get, load, name, whole
from tests.same import same_data

Masked: Any = np.ma.MaskedArray
ARRAYS = nst.arrays(
    st.sampled_from(["f8", "<i2", ">i4", "?", "S3", "U2", "u1"]), nst.array_shapes(min_dims=0, max_dims=4, max_side=6)
)


def index_of(draw: Any, shape: tuple[int, ...]) -> Any:
    items = [
        draw(
            st.one_of(st.integers(-n, n - 1), nst.basic_indices((n,), min_dims=1, max_dims=1, allow_ellipsis=False),
                      st.lists(st.integers(-n, n - 1), max_size=8), st.just(slice(None)))
        )
        for n in shape
    ]  # fmt: skip
    flat = [item[0] if isinstance(item, tuple) and item else slice(None) if item == () else item for item in items]
    return normalize(tuple(flat), shape)


@given(st.data())
def test_any_part(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    array = data.draw(ARRAYS)
    array = array.transpose(data.draw(st.permutations(range(array.ndim))))
    mask = data.draw(nst.arrays("?", array.shape)).copy(data.draw(st.sampled_from("CFK")))
    path = tmp_path_factory.mktemp("part") / "a.bpk"
    codec = data.draw(st.sampled_from([None, "gz"]))
    binpickle.dump({"x": array, "m": TwoArrays(array, mask)}, path, codec=codec)
    index = index_of(data.draw, array.shape)
    budget = data.draw(st.sampled_from([1, 20, 100, 1 << 20]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileBody, "gap", data.draw(st.sampled_from([1, 30, 1 << 14])))
        patch.setattr(reading, "PIECE_SIZE", data.draw(st.sampled_from([1, 50, 1 << 20])))
        patch.setattr(slabs, "GAP_SIZE", data.draw(st.sampled_from([1, 50, 1 << 16])))
        source = BinPickleSource(path)
        plain = array.astype(object if array.dtype.kind in "SU" else array.dtype.newbyteorder("="))
        for key, flags in (("x", np.zeros(array.shape, "?")), ("m", mask)):
            assert same_data(source.read(key, index), _seen(take(plain, index), take(flags, index)))
            assert same_data(source.read(key), _seen(plain, flags))
            blocks = list(source.blocks(key, budget))
            found = [np.ma.asarray(block).reshape(-1) for block in blocks]
            assert np.concatenate([np.ma.getmaskarray(one) for one in found]).tolist() == flags.reshape(-1).tolist()
            assert same_data(np.concatenate([np.ma.getdata(one) for one in found]), plain.reshape(-1))
        source.close()


def _seen(data: Any, mask: Any) -> Any:
    """Return values as sources hand them out."""
    return Masked(data, mask) if np.any(mask) else data


def numbers(obj: Any) -> set[int]:
    buffers: list[Any] = []
    pickled = pickle.dumps(obj, 5, buffer_callback=buffers.append)
    return postponable(pickled, [memoryview(buffer).nbytes for buffer in buffers])


A, B = np.arange(3.0), np.arange(4)
POSTPONABLE: dict[str, tuple[Any, set[int]]] = {
    "an array": (A, {0}),
    "in dictionaries and lists": ({"a": [A, {"b": (B, 1)}], "c": "text"}, {0, 1}),
    "masked": ({"a": TwoArrays(A, A > 1)}, {0, 1}),
    "nothing": ({"a": np.zeros(0), "b": A}, {1}),
    "attributes": ({"x": A, ".": {"x": {"range": B}}}, {0}),
    "an attribute that is data, too": ({"x": A, ".": {"x": {"range": A}}}, set()),
    "in an array of objects": ({"x": A, "o": np.array([B, None], object)}, {0}),
    "bytes": ({"x": A, "b": pickle.PickleBuffer(b"abc")}, {0}),
    "read-only": ({"x": np.frombuffer(b"12345678")}, {0}),
    "times": ({"x": A, "t": np.array(["2000-01-01"], "M8[s]")}, {0}),
    "records": ({"x": np.zeros(2, "i4,f4"), "y": np.zeros(2, complex)}, {0, 1}),
    "the fill value of a masked array": ({"x": A, "m": Masked([1, 2], [0, 1], fill_value=9)}, {0}),
}


@pytest.mark.parametrize("case", POSTPONABLE)
def test_which_arrays_stay_in_the_file(case: str) -> None:
    obj, expected = POSTPONABLE[case]
    assert numbers(obj) == expected


def test_what_libraries_look_into_is_read() -> None:
    pandas = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    frame = pandas.DataFrame({"a": [1.5, 2.5], "b": pandas.Categorical(["x", "y"]), "c": pandas.array([1, None])})
    assert numbers({"x": A, "f": frame, "m": sparse.csr_array(np.eye(3))}) == {0}


FROM_BUFFER = "numpy._core.numeric:_frombuffer"


def array(*rest: Any, made: bytes = NEXT_BUFFER) -> bytes:
    return call(FROM_BUFFER, made, dtype("i2"), *rest)


def test_stand_ins() -> None:
    stand_in = [Postponed(5, 12)]
    found = load(array((2, 3), "F"), buffers=stand_in)
    assert (type(found), found.number, found.shape, found.size) == (PostponedArray, 5, (2, 3), 6)
    values = np.arange(6, dtype="i2")
    assert found.over(values.tobytes()).tolist() == values.reshape(2, 3, order="F").tolist()
    found = load(array((1, 2, 3), "K", (2, 0, 1), made=NEXT_BUFFER + b"\x98"), buffers=stand_in)
    assert found.shape == (3, 1, 2)
    assert found.over(values.tobytes()).tolist() == values.reshape(1, 2, 3).transpose(2, 0, 1).tolist()
    data = array((6,), "C")
    flags = call(FROM_BUFFER, NEXT_BUFFER, dtype("b1", "|"), (6,), "C")
    found = load(call("numpy.ma:MaskedArray", data, flags), buffers=[Postponed(0, 12), Postponed(1, 6)])
    assert type(found) is PostponedMasked and found.shape == (6,) and found.dtype == np.dtype("i2")


@pytest.mark.parametrize(
    "made",
    [
        array((7,), "C"), array((2, 4), "F"), array((-6,), "C"), array((2**70,), "C"), array((6.0,), "C"),
        array((2, 3), "K", (0, 0)), array((2, 3), "K", (0,)), array((2, 3), "K"), array((2, 3), "C", (0, 1)),
        array((2, 3), "A"), array((1,) * 65, "C"),
        call("numpy.ma:MaskedArray", array((6,), "C"), array((6,), "C", made=get(0))),
        call("builtins:complex", array((6,), "C"), 1.0), b"}" + array((6,), "C") + b"Ns",
        call("numpy._core.numeric:_frombuffer", array((6,), "C"), dtype(), (1,), "C"),
    ],
)  # fmt: skip
def test_stand_ins_are_checked_as_arrays_are(made: bytes) -> None:
    with pytest.raises((ds.FormatError, ds.UnsafeError), match=r"^pickle, byte"):
        load(NEXT_BUFFER + MEMOIZE + b"0", made.replace(NEXT_BUFFER, get(0)), buffers=[Postponed(0, 12)])


def test_a_name_in_place_of_a_dtype_or_a_function() -> None:
    for made in (
        call(FROM_BUFFER, NEXT_BUFFER, name("numpy:dtype"), (1,), "C"),
        b"(" + NEXT_BUFFER + b"t" + b"(tR",
        call("numpy.ma:MaskedArray", array((1,), "C"), 5),
        call("numpy.ma:MaskedArray", call("numpy.ma:MaskedArray", array((1,), "C"), 5), 5),
    ):
        assert postponable(whole(made), [2]) == set()


def test_arrays_are_read_when_they_are_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.bpk"
    binpickle.dump({"x": np.zeros(100_000), "y": np.zeros(100_000)}, path)
    with BinPickleFile(path) as file:
        places = [entry.offset for entry in file.entries]
    data = bytearray(path.read_bytes())
    data[places[1] + 5] ^= 1
    path.write_bytes(data)
    filled: list[int] = []
    fill = BinPickleFile.fill

    def watched(file: Any, i: int, starts: Any, size: int, out: Any) -> None:
        filled.append(len(starts) * size)
        fill(file, i, starts, size, out)

    monkeypatch.setattr(BinPickleFile, "fill", watched)
    with ds.open(path) as opened:
        assert opened["x"][5:7].tolist() == [0, 0] and opened["y"][::50_000].shape == (2,)
        assert sum(filled) < 1000
        assert not opened["x"][:].any()
        with pytest.raises(ds.IntegrityError, match=r'a\.bpk: variable "y": entry 1: checksum'):
            opened["y"][:]


def test_what_is_encoded_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.bpk"
    binpickle.dump({"x": np.arange(1000), "y": np.arange(5)}, path, codec="gz")
    read, found = BinPickleFile.read_entry, list[int]()

    def watched(file: Any, i: int) -> Any:
        found.append(i)
        return read(file, i)

    monkeypatch.setattr(BinPickleFile, "read_entry", watched)
    source = BinPickleSource(path)
    assert found == []
    first = source.read("x")
    first[:] = 0
    assert source.read("x", (range(3, 5),)).tolist() == [3, 4]
    assert sum(block.sum() for block in source.blocks("x", 800)) == 999 * 500
    assert found == [0]
    source.close()
    with pytest.raises(ValueError, match="closed"):
        source.read("y")
