"""Before a library gets a file, everything that this package knows of it is checked: a library may end the process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.body.body import open_body
from ds_format.cli.main import main
from ds_format.drivers.netcdf.hdf5 import auditing
from ds_format.errors import FormatError

PROGRAM = """
import sys, warnings
import ds_format as ds
warnings.simplefilter("ignore")
path, skip = sys.argv[1], {"skip_unsupported": True}
found = ds.read(path, **skip)
with ds.open(path) as opened:
    names = [*opened]
assert not [each for each in ds.verify(path) if each.severity == "error"]
ds.convert(path, path + ".ds", **skip)
print({name: [found[name].dtype.name, found[name].tolist()] for name in names if name in found})
"""


def read_elsewhere(path: Path) -> str:
    """Read a file in every way in another process; return what it says of the variables."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _half(file: h5py.File) -> None:
    file["v"] = np.array([1, 0.25, np.inf], "f2")
    file["v"].attrs["a"] = np.float16(3)


def _half_of_a_scale(file: h5py.File) -> None:
    _half(file)
    file["v"].make_scale("v")
    file["w"] = np.arange(3)
    file["w"].dims[0].attach_scale(file["v"])


def _half_beside_a_compound(file: h5py.File) -> None:
    _half(file)
    file["w"] = np.zeros(3, [("a", "i4")])


def _half_after_a_link(file: h5py.File) -> None:
    file["a"] = h5py.ExternalLink("other.h5", "/x")
    _half(file)


@pytest.mark.parametrize("make", [_half, _half_of_a_scale, _half_beside_a_compound, _half_after_a_link])
def test_half_floats_in_a_file_named_nc(make: Callable[[h5py.File], None], tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    with h5py.File(path, "w") as file:
        make(file)
    assert "'v': ['float16', [1.0, 0.25, inf]]" in read_elsewhere(path)
    assert drivers.recognise(path) == drivers.FORMATS["hdf5"]


@pytest.mark.parametrize("size", [1, 16])
def test_floats_of_other_sizes(size: int, tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    with h5py.File(path, "w") as file:
        type_ = h5py.h5t.NATIVE_LDOUBLE.copy()
        if size == 1:
            type_ = h5py.h5t.IEEE_F32LE.copy()
            type_.set_fields(7, 3, 4, 0, 3)
            type_.set_size(1)
        h5py.h5d.create(file.id, b"v", type_, h5py.h5s.create_simple((3,)))
    assert read_elsewhere(path) == ("{'v': ['float32', [0.0, 0.0, 0.0]]}" if size == 1 else "{}")


def _patched(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def _group_of_another(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["a/x"] = 1
        file["b/x"] = 1
    content = bytearray(path.read_bytes())
    heaps = [i for i in range(len(content)) if content.startswith(b"HEAP", i)]
    content[heaps[2] + 8 : heaps[2] + 32] = content[heaps[1] + 8 : heaps[1] + 32]
    path.write_bytes(content)


def _unusual_group_in_itself(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["a"] = np.arange(3)
        file["b"] = file["/"]
    _patched(path, bytes([1, 1, 1, 0, 0, 0, 0, 0, 3]), bytes([1, 1, 3, 0, 0, 0, 0, 0, 3]))  # flags of the dataspace


def _scale_without_a_dimension(path: Path) -> None:
    with h5py.File(path, "w") as file:
        _odd(file)
        file["x"] = 1
        type_ = h5py.h5t.C_S1.copy()
        type_.set_size(16)
        attribute = h5py.h5a.create(file["x"].id, b"CLASS", type_, h5py.h5s.create(h5py.h5s.SCALAR))
        attribute.write(np.array(b"DIMENSION_SCALE", "S16"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_group_of_another, "it has the names of another group"),
        (_unusual_group_in_itself, "a link leads from a group to one that is around it"),
        (_scale_without_a_dimension, 'variable "x": a dimension scale without a dimension'),
    ],
)
def test_what_ends_the_process_in_the_library(make: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    make(path)
    for read in (ds.read, ds.open):
        with pytest.raises(FormatError, match=message) as caught:
            read(path)
        assert caught.value.path == str(path)
    assert [each.severity for each in ds.verify(path)] == ["error"]
    assert main(["info", str(path)]) == 1


def _odd(file: h5py.File, name: bytes = b"odd") -> None:
    """Add integers of 20 bits, which only a library reads."""
    type_ = h5py.h5t.STD_I32LE.copy()
    type_.set_precision(20)
    h5py.h5d.create(file.id, name, type_, h5py.h5s.create_simple((3,)))


@pytest.mark.parametrize("suffix", ["nc", "h5"])
@pytest.mark.parametrize("number", [0, 1])
def test_an_index_is_checked_before_the_library_searches_it(number: int, suffix: str, tmp_path: Path) -> None:
    path, name = tmp_path / f"x.{suffix}", "ab"[number]
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=np.arange(12), chunks=(4,))
        file.create_dataset("b", data=np.zeros(12, [("m", "i4")]), chunks=(4,))
        file["c"] = 3
        _odd(file)
    assert "'c': ['int64', 3]" in read_elsewhere(path)
    content = bytearray(path.read_bytes())
    at = [i for i in range(len(content)) if content.startswith(b"TREE\1", i)][number]
    content[at + 5] = 9  # its level
    path.write_bytes(content)
    if suffix == "h5" or name == "a":
        with pytest.raises(FormatError, match=f'variable "{name}": B-tree node'):
            ds.read(path, name)
        assert [each.variable for each in ds.verify(path) if each.severity == "error"] == [name]
    if suffix == "nc":
        assert int(ds.read(path, "c")["c"]) == 3


def test_lzf_in_a_file_that_a_library_reads(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=np.arange(1000), chunks=(100,), compression="lzf")
        _odd(file)
    assert ds.read(path)["v"].tolist() == [*range(1000)]
    with h5py.File(path, "a") as file:
        assert file["v"].compression == "lzf"


def test_classic_files_are_not_audited(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    ds.write(path, {"x": 1.0}, format="NETCDF3_CLASSIC")
    assert auditing.audited(open_body(path)) is None


@pytest.mark.parametrize("names", [("obs", "_nc4_non_coord_obs"), ("_nc4_non_coord_obs", "obs")])
def test_a_variable_has_the_name_of_a_dimension_scale(tmp_path: Path, names: tuple[str, str]) -> None:
    with h5py.File(tmp_path / "a.nc", "w", track_order=True) as file:
        for name in names:
            shape = (3, 2) if name.startswith("_") else (0,)
            dataset = file.create_dataset(name, shape, "i4", maxshape=(*shape[:-1], None), chunks=True)
            if len(shape) == 1:
                dataset.make_scale("obs")
    audit = auditing.audited(open_body(tmp_path / "a.nc"))
    assert audit is not None and audit.datasets["obs"].shape == (3, 2)
