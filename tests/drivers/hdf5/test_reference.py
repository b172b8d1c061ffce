"""Files of the reference program are read, and it reads ours, as far as it can."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

import ds_format as ds

from ...same import same_data

WRITE = """
import numpy as np, ds_format as ds
ds.write("a.h5", {
    "time": np.arange(2.0), "t": np.arange(6, dtype="i2").reshape(2, 3), "s": np.array(["a", "bc"]),
    "g/x": np.array([True, False]), "none": None,
    ".": {"time": {".dims": ["time"], "units": "days"}, "t": {".dims": ["time", "x"], "scale": 2, "names": ["u", "v"]},
          "s": {".dims": ["time"]}, "g/x": {".dims": ["time"]}, ".": {"title": "T", "g/note": "n"}}})
"""

READ = """
import ds_format as ds
d = ds.read("b.h5")
assert d["t"].tolist() == [[0, 1, 2], [3, 4, 5]] and d["time"].tolist() == [0, 1], d
assert [x.decode() for x in d["s"].tolist()] == ["a", "bc"] and d["g/x"].tolist() == [True, False], d
assert d["."]["t"]["scale"] == 2, d
"""


def test_there_and_back(reference_python: str, tmp_path: Path) -> None:
    subprocess.run([reference_python, "-I", "-c", WRITE], check=True, cwd=tmp_path)
    found = ds.read(tmp_path / "a.h5")
    assert same_data(found["t"], np.arange(6, dtype="i2").reshape(2, 3))
    assert found["s"].tolist() == [b"a", b"bc"]  # the reference writes text as byte strings
    assert same_data(found["g/x"], np.array([True, False]))
    assert found["none"] is None
    assert found["."]["t"][".dims"] == ["time", "x"]
    assert ds.attrs(found, "t") == {"scale": 2, "names": ["u", "v"]}
    assert ds.attrs(found) == {"title": "T", "g/note": "n"}
    ds.write(tmp_path / "b.h5", found)
    subprocess.run([reference_python, "-I", "-c", READ], check=True, cwd=tmp_path)
