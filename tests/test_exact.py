"""Arrays of Python integers: what a type cannot hold is an error, whether NumPy says so or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ds_format.base import exact
from ds_format.base.exact import exact_array


@pytest.fixture(params=[exact.WRAPS, True])
def wraps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "WRAPS", request.param)


@pytest.mark.usefixtures("wraps")
@pytest.mark.parametrize("code", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_are_held_or_refused(code: str) -> None:
    limits = np.iinfo(code)
    for good in (limits.min, limits.max):
        array = exact_array([[good], [1]], code)
        assert array.dtype == code and array.tolist() == [[good], [1]]
        assert exact_array(good, code).item() == exact_array(np.array([good], object), code)[0] == good
    for bad in (limits.min - 1, limits.max + 1, 1 << 70):
        for values in (bad, [1, bad], [[1], [bad]], np.array([1, bad], object)):
            with pytest.raises(OverflowError):
                exact_array(values, code)


@pytest.mark.usefixtures("wraps")
@pytest.mark.parametrize(
    ("values", "dtype"), [([1, 2.5], "f8"), ([True, False], "?"), (["a"], "U1"), ([], "i4"), ([True], "i1")]
)
def test_other_values_are_as_numpy_has_them(values: Any, dtype: str) -> None:
    expected = np.array(values, dtype)
    array = exact_array(values, dtype)
    assert array.dtype == expected.dtype and array.tolist() == expected.tolist()
