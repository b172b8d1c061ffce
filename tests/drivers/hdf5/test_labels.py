"""Names of dimensions for programs that know no scales, such as ds-format 5.0.2."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import ds_format as ds

READ = """
import json, sys, ds_format as ds
print(json.dumps({key: entry.get(".dims") for key, entry in ds.read(sys.argv[1])["."].items()}))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ds.write(
        tmp_path / "x.h5",
        {
            "t": np.arange(2.0),
            "x": np.zeros((2, 3)),
            "text": np.array(["a", "b"], object),
            "g/y": np.zeros((4, 3)),
            "twice": np.zeros((3, 3)),
            "none": np.zeros((2, 2)),
            "scalar": 5,
            ".": {
                "t": {".dims": ["t"], "units": "s"},
                "x": {".dims": ["t", "délka"]},
                "text": {".dims": ["t"]},
                "g/y": {".dims": ["g/i", "délka"]},
                "twice": {".dims": ["délka", "délka"]},
                "none": {".dims": ["t", "a\0b"]},
            },
        },
    )
    return tmp_path / "x.h5"


def dims(dataset: dict[str, Any]) -> dict[str, Any]:
    return {key: entry.get(".dims") for key, entry in dataset["."].items() if key != "."}


def test_labels_of_all_variables(path: Path) -> None:
    with h5py.File(path) as file:
        assert [dim.label for dim in file["x"].dims] == ["t", "délka"]
        assert [dim.label for dim in file["t"].dims] == ["t"]
        assert file["g/y"].attrs["DIMENSION_LABELS"].tolist() == ["g/i", "délka"]
        assert "DIMENSION_LABELS" not in file["scalar"].attrs
        assert "DIMENSION_LABELS" not in file["none"].attrs


def test_the_reference_reads_them(path: Path, reference_python: str) -> None:
    words = [reference_python, "-I", "-c", READ, str(path)]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    expected = dims(ds.read(path))
    del expected["none"]
    assert {key: found[key] for key in expected} == expected


def test_nobody_sees_them_as_attributes(path: Path, tmp_path: Path) -> None:
    found = ds.read(path)
    assert dims(found)["g/y"] == ["g/i", "délka"]
    assert ds.attrs(found, "x") == {}
    shutil.copy(path, tmp_path / "x.nc")
    as_netcdf = ds.read(tmp_path / "x.nc")
    for key in ("t", "x", "g/y", "text"):
        assert dims(as_netcdf)[key] == dims(found)[key]
        assert ds.attrs(as_netcdf, key) == ds.attrs(found, key)
    assert "DIMENSION_LABELS" not in str(as_netcdf["."]["t"])


def test_an_attribute_of_this_name_stays(tmp_path: Path) -> None:
    meta = {"x": {".dims": ["t"], "DIMENSION_LABELS": "of mine"}}
    for suffix in ("h5", "nc"):
        ds.write(tmp_path / f"x.{suffix}", {"x": [1, 2], ".": meta})
        found = ds.read(tmp_path / f"x.{suffix}")
        assert ds.attrs(found, "x") == {"DIMENSION_LABELS": "of mine"}
        assert dims(found) == {"x": ["t"]}
