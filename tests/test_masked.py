"""Masked arrays that are made faster are those that NumPy makes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from ds_format import datasets
from ds_format.errors import UnsupportedError
from ds_format.kernels.common.masked import masked_view


@pytest.mark.parametrize("code", ["f8", ">f4", "i1", "u8", "?"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_a_masked_view_is_as_numpy_makes_it(code: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, code)
    made, known = masked_view(array), array.view(np.ma.MaskedArray)
    assert type(made) is np.ma.MaskedArray
    assert vars(made) == vars(known)
    assert np.ma.getmask(made) is np.ma.nomask
    assert made.base is array
    assert made.dtype == array.dtype
    assert made.shape == shape
    assert made.fill_value == known.fill_value
    assert repr(made) == repr(known)
    assert type(made + 1) is type(known + 1)
    assert type(made[...]) is type(known[...])


def test_it_can_be_masked_copied_and_pickled() -> None:
    array = np.arange(3.0)
    made = masked_view(array)
    made[1] = np.ma.masked
    assert made.tolist() == [0.0, None, 2.0]
    assert masked_view(array).tolist() == [0.0, 1.0, 2.0]
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), made.copy()):
        assert type(other) is np.ma.MaskedArray
        assert other.tolist() == [0.0, None, 2.0]
    assert made._optinfo is made._basedict
    assert made._optinfo is not masked_view(array)._optinfo


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        ([1, None, 3], "Int64", np.ma.MaskedArray([1, 0, 3], [False, True, False])),
        ([2**62 + 1, None], "Int64", np.ma.MaskedArray([2**62 + 1, 0], [False, True])),
        ([1.5, None], "Float32", np.ma.MaskedArray(np.array([1.5, 0], "f4"), [False, True])),
        ([True, None], "boolean", np.ma.MaskedArray([True, False], [False, True])),
        ([1, 2], "UInt8", np.array([1, 2], "u1")),
        ([1, 2], "int16", np.array([1, 2], "i2")),
    ],
)
def test_nullable_types_of_pandas(values: list[object], name: str, expected: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    for found in (
        pandas.Series(values, dtype=name),
        pandas.array(values, dtype=name),
        pandas.Index(values, dtype=name),
    ):
        array = datasets.as_array(found)
        assert array.dtype == expected.dtype
        assert array.tolist() == expected.tolist()


def test_a_table_is_not_a_variable() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    with pytest.raises(UnsupportedError, match=r"found a DataFrame, expected an array; `ds.write\(path, frame\)`"):
        datasets.as_array(pandas.DataFrame({"a": [1]}))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_a_masked_array_is_as_numpy_makes_it(shape: tuple[int, ...]) -> None:
    array, mask = np.ones(shape), np.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0)
    made, known = masked_view(array, mask), np.ma.MaskedArray(array, mask, copy=False)
    assert {**vars(made), "_mask": None} == {**vars(known), "_mask": None}
    assert made._mask is mask
    assert np.array_equal(made.mask, mask)
    assert repr(made) == repr(known)
    made[...] = 5
    assert not np.ma.getmaskarray(made).any()


@pytest.mark.parametrize("mask", [np.zeros(2, bool), np.zeros(3, np.uint8)])
def test_a_mask_that_does_not_fit(mask: Any) -> None:
    with pytest.raises(ValueError, match="mask: found"):
        masked_view(np.zeros(3), mask)


def test_without_the_gil_numpy_makes_it() -> None:
    """No object gets another class then, which stops all threads."""
    program = """
import sys
sys._is_gil_enabled = lambda: False
import numpy as np
from ds_format.kernels.common.masked import masked_view
array, mask = np.ones(3), np.array([True, False, True])
for made, known in (
    (masked_view(array), array.view(np.ma.MaskedArray)),
    (masked_view(array, mask), np.ma.MaskedArray(array, mask)),
):
    assert type(made) is np.ma.MaskedArray
    assert repr(made) == repr(known)
    assert made._optinfo == {}
"""
    subprocess.run([sys.executable, "-c", program], check=True)
