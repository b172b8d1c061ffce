"""Which values mean "missing", of how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ds_format.drivers.library import missing

VALUES = st.sampled_from([0.0, -1.0, 9e36, np.nan])


@given(
    values=npst.arrays(np.float32, npst.array_shapes(min_dims=0, max_side=9, min_side=0), elements=VALUES),
    found=st.lists(VALUES.map(np.float32), unique_by=str, max_size=3),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_are_counted_as_the_whole(values: Any, found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing, "BLOCK", 7)
    mask, counts = missing.count(values, found)
    hits = [np.asarray(missing.is_value(values, sentinel)) for sentinel in found]
    assert counts == [int(each.sum()) for each in hits]
    expected = np.logical_or.reduce([np.zeros(values.shape, bool), *hits])
    assert (mask is None) == (not expected.any())
    if mask is not None:
        np.testing.assert_array_equal(mask, expected)


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[::2, 1:]])
def test_large_arrays(view: Callable[[Any], Any]) -> None:
    values = view(np.arange(3 * missing.BLOCK, dtype=np.int32).reshape(3, -1) % 1000)
    mask, counts = missing.count(values, [np.int32(999), np.int32(-5), np.int32(3)])
    assert mask is not None
    np.testing.assert_array_equal(mask, (values == 999) | (values == 3))
    assert counts == [int((values == 999).sum()), 0, int((values == 3).sum())]
