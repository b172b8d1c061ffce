"""Masked arrays that are made faster are those that NumPy makes."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest

from ds_format import dataset
from ds_format.dataset import masked_view


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


def test_without_the_gil_numpy_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    dataset._maker.cache_clear()
    try:
        assert dataset._maker().__name__ == "<lambda>"  # no object gets another class, which stops all threads
        test_a_masked_view_is_as_numpy_makes_it("f8", (3,))
    finally:
        dataset._maker.cache_clear()
