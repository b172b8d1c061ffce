"""What type checkers find in scripts: options of writing by name and type, and the types of results."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import ds_format
from ds_format import drivers
from ds_format.api.options import ConvertOptions, WriteOptions

RIGHT = """
import ds_format as ds

d = {"x": [1, 2]}
ds.write("x.ds", d, checksum=True, atomic=False)
ds.write("x.nc", d, durable=True, time_units="days since 2000-01-01", calendar="standard")
ds.convert("x.nc", "x.h5", compression="gzip", level=1)
ds.write("x.nc", d, compression="zlib", digits=4, encoding={"x": {"zlib": False}})
ds.convert_many("*.nc", "out", checksum=True)
ds.merge_files("time", ["a.ds"], "b.ds", version="2.0.1")
names: list[str] = ds.dims(d, "x")
sizes: dict[str, int | None] = ds.dims(d, size=True)
ds.dims(d, "x", ["time"])
one: ds.Dataset = ds.read_many(["x.ds"], dim="time")
every: list[ds.Dataset] = ds.read_many(["x.ds"])
"""
WRONG = {
    'ds.write("x.ds", {}, cheksum=True)': 'Unexpected keyword argument "cheksum"',
    'ds.write("x.ds", {}, checksum="yes")': 'Argument "checksum"',
    'ds.convert("x.nc", "x.h5", compresion="gzip")': 'Unexpected keyword argument "compresion"',
    'ds.to_netcdf("x.nc", {}, durabel=True)': 'Unexpected keyword argument "durabel"',
    'ds.convert_many("*.nc", "out", levle=1)': 'Unexpected keyword argument "levle"',
    'ds.merge_files("time", ["a.ds"], "b.ds", atomik=False)': 'Unexpected keyword argument "atomik"',
    'n: int = ds.dims({}, "x")': "Incompatible types in assignment",
}


def test_the_options_are_those_of_the_formats() -> None:
    every = frozenset().union(*(known.creation for known in drivers.FORMATS.values()))
    assert get_type_hints(ConvertOptions).keys() == every
    assert get_type_hints(WriteOptions).keys() == every - {"encoding"} | {"mode"}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_finds_wrong_options(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("\n".join([RIGHT, *WRONG, ""]))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        "--hide-error-context",
        "--no-error-summary",
        str(script),
    ]
    # the package under test, whether it is installed or not; `.ci/typed` finds an installed one
    environment = {**os.environ, "MYPYPATH": str(Path(ds_format.__file__).parents[1])}
    found = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    lines = [line for line in found.stdout.splitlines() if line.startswith("script.py") and ": error: " in line]
    first = RIGHT.count("\n") + 2
    assert [int(line.split(":")[1]) for line in lines] == list(range(first, first + len(WRONG))), found.stdout
    for line, message in zip(lines, WRONG.values(), strict=True):
        assert message in line
