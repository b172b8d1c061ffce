"""The attributes of rounded variables: those of netCDF-C, and those of CF 1.12 with their container variable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds

DIGITS, BITS = "_QuantizeGranularBitRoundNumberOfSignificantDigits", "_QuantizeBitRoundNumberOfSignificantBits"
IMPLEMENTATION = f"ds_format version {ds.__version__}"


def dataset(**variables: Any) -> dict[str, Any]:
    data = {name: np.linspace(0, 1, 3000) for name in ("x", "y", "g/z")}
    dims = {"x": ["i"], "y": ["i"], "g/z": ["i"]}
    return {
        **data,
        **variables,
        ".": {name: {".dims": dims.get(name, []), "units": "m"} for name in (*data, *variables)},
    }


def attributes(path: Path, name: str) -> dict[str, Any]:
    with netCDF4.Dataset(path) as file:
        variable = file[name]
        return {key: variable.getncattr(key) for key in variable.ncattrs()}


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize(
    ("option", "own", "cf", "algorithm"),
    [("digits", DIGITS, "quantization_nsd", "granular_bitround"), ("bits", BITS, "quantization_nsb", "bitround")],
)
def test_attributes(option: str, own: str, cf: str, algorithm: str, compression: str | None, tmp_path: Path) -> None:
    path, container = tmp_path / "a.nc", f"quantization_{algorithm}"
    options: Any = {option: 3, "compression": compression}
    ds.write(path, dataset(), **options)
    for name in ("x", "y", "g/z"):
        assert attributes(path, name) == {"units": "m", own: 3, "quantization": container, cf: 3}
        assert attributes(path, name)[cf].dtype == np.int32
    assert attributes(path, container) == {"algorithm": algorithm, "implementation": IMPLEMENTATION}
    with netCDF4.Dataset(path) as file:
        assert file[container].dimensions == ()
        assert sorted(file.variables) == sorted([container, "x", "y"])
        assert file["x"].quantization() == (3, {"digits": "GranularBitRound", "bits": "BitRound"}[option])


def test_each_algorithm_has_its_container(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    ds.write(path, dataset(), encoding={"x": {"digits": 3}, "y": {"bits": 8}})
    assert attributes(path, "x")["quantization"] == "quantization_granular_bitround"
    assert attributes(path, "y")["quantization"] == "quantization_bitround"
    assert attributes(path, "g/z") == {"units": "m"}


def test_a_copy_keeps_them(tmp_path: Path) -> None:
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    ds.write(a, dataset(), digits=3)
    for copy in (lambda: ds.write(b, ds.read(a)), lambda: ds.convert(a, b)):
        copy()
        with netCDF4.Dataset(a) as one, netCDF4.Dataset(b) as other:
            assert list(one.variables) == list(other.variables)
        for name in ("x", "g/z", "quantization_granular_bitround"):
            assert attributes(a, name) == attributes(b, name)


def test_rounding_again_has_one_container(tmp_path: Path) -> None:
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    ds.write(a, dataset(), digits=4)
    ds.convert(a, b, digits=2)
    container = "quantization_granular_bitround"
    assert attributes(b, "x") == {"units": "m", DIGITS: 2, "quantization": container, "quantization_nsd": 2}
    ds.convert(a, b, bits=5)
    assert attributes(b, "x") == {"units": "m", BITS: 5, "quantization": "quantization_bitround", "quantization_nsb": 5}


def test_a_variable_that_has_the_name_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    ds.write(path, dataset(quantization_bitround=7), bits=5)
    assert attributes(path, "x")["quantization"] == "quantization_bitround_1"
    assert attributes(path, "quantization_bitround_1")["algorithm"] == "bitround"
    assert ds.read(path)["quantization_bitround"] == 7
