"""Whatever variables xarray itself thinks of come back from a ds file, or are refused by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import ds_format as ds

xr = pytest.importorskip("xarray", reason="needs xarray (extra xarray)")

from xarray.testing import strategies  # noqa: E402

NAME = "the variable"
NUMBERS = {np.dtype(code) for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")}


def holds(value: Any) -> bool:
    """Whether a header can hold an attribute."""
    if isinstance(value, dict):
        return all(map(holds, value.values()))
    dtype = getattr(value, "dtype", None)
    return dtype is None or dtype.kind == "U" or dtype.newbyteorder("=") in NUMBERS


def plain(value: Any) -> Any:
    """Return an attribute as JSON has it; only the outermost arrays keep their types."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(variable=strategies.variables())
def test_there_and_back(variable: Any, tmp_path: Path) -> None:
    path, dataset = tmp_path / "a.ds", xr.Dataset({NAME: variable})
    path.unlink(missing_ok=True)
    if variable.dtype not in NUMBERS or not all(map(holds, variable.attrs.values())):
        with pytest.raises(ds.UnsupportedError, match=f'a.ds: variable "{NAME}"'):
            ds.write(path, dataset)
        assert os.listdir(tmp_path) == []
        return
    ds.write(path, dataset)
    found = xr.open_dataset(path, engine="ds")[NAME].variable
    assert found.dims == variable.dims and found.dtype == variable.dtype
    np.testing.assert_array_equal(found.values, variable.values)
    assert set(found.attrs) == set(variable.attrs)
    for name, value in variable.attrs.items():
        assert repr(plain(found.attrs[name])) == repr(plain(value))
        if isinstance(value, np.ndarray) and value.dtype.kind != "U":
            assert found.attrs[name].dtype.name == value.dtype.name and found.attrs[name].shape == value.shape
