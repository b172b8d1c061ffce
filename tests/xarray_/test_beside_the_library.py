"""Threads that read netCDF-4 files here, next to one of the engine netcdf4 of xarray, which takes no lock of ours."""

import importlib.util
import subprocess
import sys

import pytest

pytest.importorskip("xarray", reason="xarray is not installed")
if importlib.util.find_spec("netCDF4") is None:
    pytest.skip("netCDF4 is not installed", allow_module_level=True)

CODE = """
import sys, threading, time
import numpy as np, xarray as xr, ds_format as ds

seconds, n, folder = float(sys.argv[1]), 8, sys.argv[2]
paths = [f"{folder}/{i}.nc" for i in range(6)]
for i, path in enumerate(paths):
    x = np.arange(60.0).reshape(3, 20) + i
    meta = {"x": {".dims": ["t", "n"], "units": "K"}, ".": {".netcdf": {"unlimited": ["t"]}}}
    ds.write(path, {"x": x, "text": np.array(["a", "bc"]), ".": meta}, **({"compression": "zlib"} if i % 2 else {}))
stop, counts, errors = time.monotonic() + seconds, [0] * (n + 1), []

def repeat(k, work):
    try:
        while time.monotonic() < stop:
            work((counts[k] + k) % len(paths))
            counts[k] += 1
    except BaseException as error:
        errors.append(repr(error))

def ours(i):
    found = ds.read(paths[i])
    assert found["x"].sum() == 1770 + 60 * i and found["text"].tolist() == ["a", "bc"], found

def theirs(i):
    with xr.open_dataset(paths[i], engine="netcdf4") as file:
        assert file.load()["x"].values.sum() == 1770 + 60 * i

threads = [threading.Thread(target=repeat, args=(k, theirs if k == n else ours)) for k in range(n + 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
assert min(counts) > 0, counts
print("no error")
"""


@pytest.mark.slow
def test_no_crash_and_no_error(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, "8", str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "no error\n", "")
