"""The wheels of netCDF4 and h5py bring an HDF5 library each: both in one process, in any order, under threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from ...chunks import numbers

pytest.importorskip("h5py")

ROOT = Path(__file__).parents[4]
SHAPE = (60, 100, 100)

ORDERS = ["", "import h5py", "import netCDF4", "import h5py, netCDF4", "import netCDF4, h5py"]

READ = """
import concurrent.futures, sys
{imports}
import netCDF4, numpy as np
import ds_format as ds
from ds_format.codec import slab_reading
calls, read = [], slab_reading.read_chunks
slab_reading.read_chunks = lambda *given: calls.append(None) or read(*given)
def work(i):
    if i % 4 == 3:
        with netCDF4_lock, netCDF4.Dataset({path!r}) as file:
            return file["v"][i]
    if i % 4 == 2:
        return ds.read({path!r}, ["v"])["v"][i]
    return ds.read({path!r}, ["v"], {{"t": i}})["v"]
from ds_format.drivers.library.guard import LOCK as netCDF4_lock
with concurrent.futures.ThreadPoolExecutor(6) as pool:
    found = list(pool.map(work, range({n})))
expected = np.load({path!r} + ".npy")
assert np.array_equal(np.stack(found), expected)
assert calls
"""


@pytest.mark.parametrize("imports", ORDERS)
def test_both_in_threads(tmp_path: Path, imports: str) -> None:
    path = tmp_path / "a.nc"
    values = numbers(SHAPE, "i2")
    np.save(f"{path}.npy", values)
    with netCDF4.Dataset(path, "w") as file:
        for name, size in zip("tyx", SHAPE, strict=True):
            file.createDimension(name, size)
        v = file.createVariable("v", "i2", tuple("tyx"), zlib=True, chunksizes=(7, 30, 100), fill_value=-1)
        v.set_auto_maskandscale(False)
        v[:] = values
    code = READ.format(imports=imports, path=os.fspath(path), n=SHAPE[0])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_small_file_loads_no_h5py(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 1000)
        file.createVariable("v", "f4", ("x",), zlib=True)[:] = 1
    code = f"import sys, ds_format as ds; ds.read({os.fspath(path)!r}); assert 'h5py' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
