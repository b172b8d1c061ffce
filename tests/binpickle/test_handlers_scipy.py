"""Sparse matrices and arrays of SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ds_format.errors import DriverError, FormatError

from .pickles import again, call, dtype, given, load, plain, raw

sparse = pytest.importorskip("scipy.sparse")
LAYOUTS = ["csr", "csc", "coo", "bsr", "dia", "lil"]


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (layout, shape)
        for layout in LAYOUTS
        for shape in [(3, 4), (0, 0), (2, 0)]
        if layout != "bsr" or 0 not in shape  # which has no blocks
    ],
)
def test_matrices_come_back(layout: str, kind: str, shape: tuple[int, int]) -> None:
    value = getattr(sparse, f"{layout}_{kind}")(np.arange(shape[0] * shape[1]).reshape(shape) % 3)
    found = again(value)
    assert type(found) is type(value) and found.dtype == value.dtype
    assert np.array_equal(found.toarray(), value.toarray())


def test_a_sparse_array_of_one_dimension() -> None:
    assert again(sparse.coo_array(np.array([1, 0, 2]))).toarray().tolist() == [1, 0, 2]


def test_a_dictionary_of_keys_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not loaded"):
        again(sparse.dok_array((2, 2)))


def ints(*values: int) -> bytes:
    return array(np.array(values, np.int32), "i4")


def array(values: Any, kind: str) -> bytes:
    return call("numpy._core.numeric:_frombuffer", raw(values.tobytes()), dtype(kind), values.shape, "C")


ONES = array(np.ones(2), "f8")


def made(layout: str, state: Any) -> bytes:
    return given(call(f"scipy.sparse._{layout}:{layout}_array"), state)


RIGHT = {"_shape": (2, 3), "data": ONES, "indices": ints(0, 2), "indptr": ints(0, 1, 2)}
LIL = {"_shape": (2, 3), "dtype": dtype(), "maxprint": 50}


def objects(*items: Any) -> bytes:
    start = call("numpy._core.multiarray:_reconstruct", b"\x8c\x05numpy\x8c\x07ndarray\x93", (0,), raw(b"b"))
    return given(start, (1, (len(items),), dtype("O8", "|", 63), False, plain(list(items))))


LIES = {
    "an index beyond": made("csr", {**RIGHT, "indices": ints(0, 3)}),
    "a negative index": made("csr", {**RIGHT, "indices": ints(0, -1)}),
    "pointers beyond": made("csr", {**RIGHT, "indptr": ints(0, 1, 9)}),
    "descending pointers": made("csr", {**RIGHT, "indptr": ints(0, 3, 2)}),
    "few pointers": made("csr", {**RIGHT, "indptr": ints(0, 2)}),
    "many pointers": made("csr", {**RIGHT, "indptr": ints(0, 1, 2, 2, 2)}),
    "no pointers": made("csr", {"_shape": (2, 3), "data": ONES, "indices": ints(0, 2)}),
    "a negative shape": made("csr", {**RIGHT, "_shape": (-2, 3)}),
    "a shape of floats": made("csr", {**RIGHT, "_shape": (2.0, 3.0)}),
    "a shape of 2^70": made("csr", {**RIGHT, "_shape": (2**70, 3)}),
    "three dimensions": made("csr", {**RIGHT, "_shape": (2, 3, 4)}),
    "indices of floats": made("csr", {**RIGHT, "indices": ONES}),
    "data of texts": made("csr", {**RIGHT, "data": [1, 2]}),
    "a key that is unknown": made("csr", {**RIGHT, "__class__": 1}),
    "coordinates beyond": made("coo", {"_shape": (2, 3), "data": ONES, "coords": (ints(0, 2), ints(0, 2))}),
    "coordinates missing": made("coo", {"_shape": (2, 3), "data": ONES}),
    "a row too short": made("coo", {"_shape": (2, 3), "data": ONES, "row": ints(0), "col": ints(0, 2)}),
    "offsets": made("dia", {"_shape": (2, 3), "data": ONES, "offsets": ints(0, 0)}),
    "a list beyond": made("lil", {**LIL, "rows": objects([3], []), "data": objects([1.0], [])}),
    "lists of different length": made("lil", {**LIL, "rows": objects([1], []), "data": objects([], [])}),
    "few lists": made("lil", {**LIL, "rows": objects([1]), "data": objects([1.0])}),
    "a list of texts": made("lil", {**LIL, "rows": objects(["a"], []), "data": objects([1.0], [])}),
    "a value that is a text": made("lil", {**LIL, "rows": objects([1], []), "data": objects(["a"], [])}),
    "a shared list": made(
        "lil", {**LIL, "rows": objects(plain([1]) + b"\x94", b"h\x00"), "data": objects([1.0], [1.0])}
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused(lie: str) -> None:
    with pytest.raises(FormatError, match=r"^pickle, byte \d+: "):
        load(LIES[lie])


def test_what_is_right_is_loaded() -> None:
    assert load(made("csr", RIGHT)).toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert load(made("lil", {**LIL, "rows": objects([1], []), "data": objects([2.0], [])})).toarray()[0, 1] == 2


def test_without_scipy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse", None)
    with pytest.raises(DriverError, match=r"a sparse matrix of SciPy: cannot import scipy.sparse: pip install 'scipy'"):
        load(made("csr", RIGHT))
