"""HDF5 files that are read without h5py: the same as with it, for files of all writers and random ones."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.drivers import hdf5
from ds_format.drivers.base import ReadBy
from ds_format.drivers.hdf5.native import PlainSource
from ds_format.drivers.hdf5.source import HDF5Source
from ds_format.errors import FormatError, UnsupportedError

from ...hdf5 import drawn
from ...hdf5.files import MAKERS, each
from ...hdf5.reading import exact

GOLDEN = Path(__file__).parents[2] / "golden"
STORED = [
    path
    for kind in ("hdf5", "netcdf")
    for path in sorted((GOLDEN / kind).iterdir())
    if path.read_bytes().startswith(b"\x89HDF")
]
LEFT = {
    "external_link": "external link",
    "scale_offset": "the filter 6",
    "unusual_layouts": "several datasets or files",
}
"""Files that h5py reads, and the reason."""
LEFT_OF_STORED = {"groups.h5": "external link", "unsupported.h5": "unusual float"}
NO_PLUGIN = "which is not installed (see hdf5plugin)"
"""What h5py says of filters that this package has."""


def all_of(source: Any) -> dict[str, Any]:
    """Return metadata, values and parts of an open file, or the errors in their place."""
    found = {"meta": exact(dict(source.meta)), "faults": {key: str(error) for key, error in source.faults.items()}}
    for key, entry in source.meta.items():
        if key == "." or key in source.faults:
            continue
        size = entry[".size"]
        part = None if size is None else tuple(range(n // 3, n) for n in size)
        for name, index in ((key, None), (f"{key}, a part", part)):
            try:
                found[name] = _exact(source.read(key, index))
            except (FormatError, UnsupportedError) as error:
                found[name] = str(error)
        found[f"{key}, blocks"] = (
            [_exact(block) for block in source.blocks(key, 64)] if not isinstance(found[key], str) else ""
        )
    return found


def _exact(data: Any) -> Any:
    if isinstance(data, np.ma.MaskedArray):
        return exact(np.ma.getmaskarray(data)), exact(data.data), exact(data.fill_value)
    return exact(data)


def both(path: Path, *, skip: bool = False) -> Iterator[tuple[ReadBy, dict[str, Any], list[str]]]:
    """Yield what this package and h5py find in a file, and their warnings."""
    for open in (hdf5.open, HDF5Source):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            opened: Any = open(path, skip_unsupported=skip)
            with contextlib.closing(opened) as source:
                yield source.reader, all_of(source), [str(each.message) for each in caught]


def check(path: Path, reason: str | None = None) -> None:
    for skip in (False, True):
        (reader, mine, told), (_, theirs, expected) = both(path, skip=skip)
        assert reader.library == ("" if reason is None else "h5py"), reader
        assert reason is None or reason in reader.reason
        assert mine["meta"] == theirs["meta"]
        for name, value in theirs.items():
            assert (
                mine[name] == value
                or (isinstance(value, str) and NO_PLUGIN in value)
                or (name.endswith(", blocks") and NO_PLUGIN in str(theirs[name.removesuffix(", blocks")]))
            )
        assert told == expected


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that makes a file once."""
    target = tmp_path_factory.mktemp("files")

    def path(name: str) -> Path:
        maker, file = MAKERS[name], target / f"{name}.h5"
        if not file.exists():
            maker.make(file)
        return file

    return path


@pytest.mark.filterwarnings("ignore:endian-ness")
@pytest.mark.parametrize("name", each())
def test_a_made_file(name: str, made: Callable[[str], Path]) -> None:
    check(made(name), LEFT.get(name))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
def test_a_stored_file(path: Path) -> None:
    check(path, LEFT_OF_STORED.get(path.name))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.integers(0, 2**32))
def test_a_random_file(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        drawn.hdf5(Path(folder, "x.h5"), Random(seed))
        check(Path(folder, "x.h5"))


PADDINGS = {"NUL ends": h5py.h5t.STR_NULLTERM, "NULs": h5py.h5t.STR_NULLPAD, "spaces": h5py.h5t.STR_SPACEPAD}
RAW = np.array([b"ab    ", b"a\0b  c", b"abc\0  ", b"      "], "V6").view("S6")


@pytest.mark.parametrize("charset", [h5py.h5t.CSET_ASCII, h5py.h5t.CSET_UTF8])
@pytest.mark.parametrize("padding", PADDINGS)
def test_the_end_of_text(padding: str, charset: int, tmp_path: Path) -> None:
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(6)
    kind.set_strpad(PADDINGS[padding])
    kind.set_cset(charset)
    spaces = {"one": (), "some": (4,), "square": (2, 2)}
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, shape in spaces.items():
            space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
            values = RAW.reshape(shape).copy() if shape else RAW[1:2].copy().reshape(())
            dataset = h5py.h5d.create(file.id, name.encode(), kind, space)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values, kind)
            h5py.h5a.create(dataset, b"text", kind, space).write(values, kind)
    check(tmp_path / "x.h5")


def test_values_and_attributes_of_all_kinds(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        owner = file.create_dataset("flags", data=np.array([True, False]))
        for name, value in {
            "flag": True, "flags": np.array([[True, False]]), "square": np.arange(6.0).reshape(2, 3),
            "none": h5py.Empty("f4"), "no text": h5py.Empty("S3"), "half": np.float16(1.5), "zero": np.zeros(0),
            "complex": 1j, "texts": ["a", "ž"], "CLASS": "ARRAY", "TITLE": "", "NAME": "x",
        }.items():  # fmt: skip
            owner.attrs[name] = value
        owner.attrs.create("enum", 1, dtype=h5py.enum_dtype({"a": 1, "b": 2}, "i2"))
        owner.attrs.create("square of text", [["a"], ["b"]], dtype=h5py.string_dtype())
        owner.attrs.create("big", [1, 2], dtype=">i4")
        file["nothing"], file["no text"] = h5py.Empty("f8"), h5py.Empty(h5py.string_dtype())
        file["text"], file["texts"] = "text", np.array(["a", "", "ž"], object)
        file.create_dataset("enum", data=[1, 2], dtype=h5py.enum_dtype({"a": 1, "b": 2}, ">i2"))
        file.create_dataset("filled", (5,), "f4", fillvalue=7, chunks=(2,), maxshape=(None,))
        for name, dtype in {
            "compound": [("a", "i4")], "ragged": h5py.vlen_dtype("i4"), "opaque": "V5", "array": "(2,2)f4",
            "reference": h5py.ref_dtype, "complex": "c8",
        }.items():  # fmt: skip
            file.create_dataset(name, (2,), dtype=dtype)
        times = h5py.h5t.vlen_create(h5py.h5t.UNIX_D32LE)  # for which h5py has no dtype
        h5py.h5d.create(file.id, b"times", times, h5py.h5s.create_simple((2,)))
    check(path)


@pytest.mark.parametrize("size", [512, 4096])
def test_a_user_block(size: int, tmp_path: Path) -> None:
    """Files of MATLAB have one."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", userblock_size=size) as file:
        file.create_dataset("x", data=np.arange(6.0).reshape(2, 3)).attrs["MATLAB_class"] = np.bytes_("double")
        file.create_dataset("chunks", data=np.arange(40), chunks=(7,), compression="gzip")
        file.create_group("#refs#").create_dataset("a", data=[1.0])
        file.create_dataset("cell", (1, 1), h5py.ref_dtype)[0, 0] = file["#refs#/a"].ref
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file")
    check(path)
    with ds.open(path) as opened:
        handle = pickle.loads(pickle.dumps(opened["chunks"].handle()))
    assert handle[3:9].tolist() == [3, 4, 5, 6, 7, 8]
    (tmp_path / "y.h5").write_bytes(path.read_bytes()[size:])  # all addresses are the same
    check(tmp_path / "y.h5")


def test_h5py_is_not_imported(tmp_path: Path) -> None:
    ds.write(tmp_path / "x.h5", {"x": np.arange(5), ".": {"x": {".dims": ["time"], "units": "K"}}})
    code = (
        "import sys, ds_format as ds\n"
        f"path = {str(tmp_path / 'x.h5')!r}\n"
        "assert ds.read(path)['x'].sum() == 10 and ds.verify(path) == []\n"
        f"ds.convert(path, {str(tmp_path / 'x.ds')!r})\n"
        "with ds.open(path) as file: assert file['x'].handle()[1:3].tolist() == [1, 2]\n"
        "sys.exit(bool({'h5py', 'netCDF4'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_h5py_unusual_files_say_why_they_need_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = 1
        file["y"] = h5py.ExternalLink("y.h5", "x")
    for name in ("h5py", "ds_format.drivers.hdf5.source", "ds_format.drivers.hdf5.calls"):
        monkeypatch.setitem(sys.modules, name, None if name == "h5py" else sys.modules[name])
        if name != "h5py":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(hdf5, "source")
    with pytest.raises(ds.DriverError, match=r"external link.*cannot import h5py: pip install 'ds-format-"):
        ds.read(tmp_path / "x.h5")


def test_an_open_file_reads_as_its_handles_do(tmp_path: Path) -> None:
    ds.write(tmp_path / "x.h5", {"x": np.arange(30.0), ".": {"x": {".dims": ["i"]}}})
    with contextlib.closing(hdf5.open(tmp_path / "x.h5")) as source:
        assert isinstance(source, PlainSource)
        assert source.read("x", (range(3, 5),)).tolist() == [3, 4]
