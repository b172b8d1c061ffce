"""`ds verify` compares all checksums of an HDF5 file and names what is wrong; no byte is read twice by the parser."""

from __future__ import annotations

import contextlib
import re
import warnings
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from numpy.typing import NDArray

import ds_format as ds
from ds_format.body.body import open_body
from ds_format.hdf5 import Unusual, check_unread, read_file

from .far import FarBody
from .files import MAKERS
from .hostile import SIGNATURES, _last, _names_of_structures, base
from .reading import as_read

SUFFIXES = {"netcdf4": (".nc", ".h5"), "latest": (".h5",)}
"""File of `hostile` → formats as which it is checked."""
STRUCTURES = [
    (name, signature.encode("latin-1"), suffix)
    for name, signatures in SIGNATURES.items()
    for signature in signatures.split()
    for suffix in SUFFIXES[name]
]


@pytest.mark.parametrize(("name", "suffix"), [(name, suffix) for name in SUFFIXES for suffix in SUFFIXES[name]])
def test_a_whole_file(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(base(name).data)
    assert [problem for problem in ds.verify(path) if problem.severity == "error"] == []


@pytest.mark.parametrize(("name", "signature", "suffix"), STRUCTURES)
def test_the_checksum_of_a_structure(name: str, signature: bytes, suffix: str, tmp_path: Path) -> None:
    anatomy, path = base(name), tmp_path / f"a{suffix}"
    structure = _last(anatomy, signature)
    path.write_bytes(anatomy.flipped(structure))
    wrong = [problem for problem in ds.verify(path) if problem.severity == "error"]
    assert len(wrong) == 1
    expected = _names_of_structures()[signature.decode("latin-1")]
    assert re.search(rf"(?i){expected}.* at {structure.start}: checksum", wrong[0].message), wrong[0].message


@pytest.mark.parametrize("suffix", [".nc", ".h5"])
@pytest.mark.parametrize(
    "options", [{"compression": "gzip"}, {"fletcher32": True}, {"compression": "gzip", "shuffle": True}]
)
def test_a_chunk(options: dict[str, Any], suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    with h5py.File(path, "w", track_order=True) as file:
        file.create_dataset("i", data=np.arange(60)).make_scale("i")
        dataset = file.create_dataset("x", data=np.arange(60.0), chunks=(20,), **options)
        dataset.dims[0].attach_scale(file["i"])
        chunk = dataset.id.get_chunk_info(1)
    data = bytearray(path.read_bytes())
    data[chunk.byte_offset + chunk.size - 1] ^= 1
    path.write_bytes(data)
    [problem] = ds.verify(path)
    assert problem.variable == "x"
    assert f"the chunk of {chunk.size} bytes at {chunk.byte_offset} of the file: filter" in problem.message


class OnceBody(FarBody):
    """Counts how often each byte is read."""

    def __init__(self, data: bytes):
        super().__init__(data)
        self.times: NDArray[np.int64] = np.zeros(len(data), np.int64)

    def read(self, offset: int, size: int) -> bytes:
        self.times[offset : offset + size] += 1
        return super().read(offset, size)


@pytest.mark.parametrize("name", ["netcdf4", "few", "earliest", "latest"])
@pytest.mark.parametrize("is_netcdf", [False, True])
def test_no_byte_is_read_twice(name: str, is_netcdf: bool) -> None:
    """Else a file that changes meanwhile could be another one when it is used than when it was checked."""
    body = OnceBody(base(name).data + bytes(200_000))
    read_file(body, netcdf=is_netcdf)
    assert body.times.max() == 1


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """A file with dense links and attributes, of which some were removed."""
    path = tmp_path / "dense.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        for i in range(20):
            file.createVariable(f"v{i}", "f4", ("x",))[:] = i
        for i in range(30):
            file.setncattr(f"a{i}", "text" * i)
        for i in range(5):
            file.delncattr(f"a{i}")
    return path


LINK_ORDERS, ATTRIBUTE_ORDERS = 6, 9
"""Types of the B-trees by creation order."""


@pytest.mark.parametrize("suffix", [".nc", ".h5"])
@pytest.mark.parametrize(
    ("signature", "type", "named"),
    [
        (b"BTHD", LINK_ORDERS, "B-tree"),
        (b"BTLF", LINK_ORDERS, "B-tree leaf"),
        (b"BTHD", ATTRIBUTE_ORDERS, "B-tree"),
        (b"BTLF", ATTRIBUTE_ORDERS, "B-tree leaf"),
        (b"FSHD", None, "free space"),
        (b"FSSE", None, "sections of free space"),
    ],
)
def test_a_structure_that_reading_does_not_need(
    signature: bytes, type: int | None, named: str, suffix: str, dense: Path, tmp_path: Path
) -> None:
    data, path = dense.read_bytes(), tmp_path / f"a{suffix}"
    places = [at.start() for at in re.finditer(signature, data) if type is None or data[at.start() + 5] == type]
    assert places
    expected = as_read(ds.read(dense))
    for at in places:
        path.write_bytes(data[: at + 12] + bytes([data[at + 12] ^ 1]) + data[at + 13 :])
        assert as_read(ds.read(path.rename(tmp_path / "read.nc"))) == expected
        path.write_bytes((tmp_path / "read.nc").read_bytes())
        [problem] = [problem for problem in ds.verify(path) if problem.severity == "error"]
        assert problem.message.startswith(f"{named} at {at}: checksum"), problem.message


def test_files_of_all_makers_are_whole(tmp_path: Path) -> None:
    for name, maker in MAKERS.items():
        if maker.is_possible():
            path = tmp_path / f"{name}.nc"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # netCDF4 warns of byte orders that are wanted
                maker.make(path)
            with contextlib.suppress(Unusual):
                check_unread(open_body(path))


def test_a_large_dataset_of_which_little_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 10**8)
        file.createDimension("x", 10**5)
        file.createVariable("never", "f8", ("y", "x"), zlib=True)
        file.createVariable("v", "f8", ("y", "x"), zlib=True, chunksizes=(7, 11))[10**8 - 3, 99_999] = 1
    done: list[tuple[int, int]] = []
    assert ds.verify(path, progress=lambda *now: done.append(now)) == []
    assert done[-1] == (16 * 10**13, 16 * 10**13)
    with h5py.File(path) as file:
        chunk = file["v"].id.get_chunk_info(0)
    data = bytearray(path.read_bytes())
    data[chunk.byte_offset + chunk.size - 1] ^= 1
    path.write_bytes(data)
    [problem] = ds.verify(path)
    assert problem.variable == "v" and f"at {chunk.byte_offset} of the file: filter zlib" in problem.message
