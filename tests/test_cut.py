"""Files that somebody shortens while they are open: an error, and never the end of the process, as with maps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

START = """
import os, sys, warnings
import numpy as np
import ds_format as ds
from ds_format import binpickle, zds
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.writer import FileWriter, RawWriter
warnings.simplefilter("ignore")
N = 200_000
values = np.arange(N, dtype="f8").reshape(400, 500)
masked = np.ma.MaskedArray(values, values % 3 == 0)
texts = np.array([f"text {i}" for i in range(1000)], object)
dataset = {"x": values, "m": masked, "t": texts, ".": {"x": {".dims": ["a", "b"]}}}
plain = {"x": values, "m": values, ".": {name: {".dims": ["a", "b"]} for name in "xm"}}
PAGE = 1 << 16  # behind it a map has nothing, and zeros where a file ends within a page
def cut(path, size=100):
    os.truncate(path, size)
def store(path):
    with zds.ZDSStore.open(path, mode="w") as made:
        made.put_many((f"d{i}", {"n": i, "text": "x" * 100}) for i in range(20_000))
def samples(path, n=2000):
    with FileWriter(path) as made:
        for i in range(n):
            made.write({"key": f"a rather long key {i}", "x": b"x" * 1000 if n < 10_000 else i})
def tell(*uses):
    for use in uses:
        try:
            use()
            print("right")
        except (ds.DsError, OSError) as error:
            print("error")
"""
WHOLE = "lambda: file['x'][:], lambda: file['x'][3], lambda: file['x'][:, 7], lambda: file['m'][:]"
FILES: dict[str, tuple[str, str, set[str]]] = {
    "ds": ("ds.write('a.ds', dataset)", "a.ds", {"error"}),
    "binpickle": ("ds.write('a.bpk', dataset)", "a.bpk", {"error"}),
    "binpickle, not mappable": ("ds.write('a.bpk', dataset, mappable=False, version=2)", "a.bpk", {"error"}),
    "binpickle, compressed": ("binpickle.dump({'x': values, 'm': values}, 'a.bpk', codec='gz')", "a.bpk", {"error"}),
    "binpickle, other order": (
        "binpickle.dump({'x': values.T, 'm': np.moveaxis(values.reshape(20, 20, 500), 1, 0)}, 'a.bpk')", "a.bpk",
        {"error"},
    ),
    "json": ("ds.write('a.json', dataset)", "a.json", {"right"}),
    "netcdf": ("ds.write('a.nc', plain)", "a.nc", {"error", "right"}),
    "classic netcdf": ("ds.write('a.nc', plain, format='NETCDF3_64BIT_OFFSET')", "a.nc", {"error", "right"}),
    "hdf5": ("ds.write('a.h5', plain)", "a.h5", {"error", "right"}),
    "datadings": ("ds.write('a.msgpack', plain, dim='a')", "a.msgpack", {"error"}),
    "zds": ("ds.write('a.zds', plain, dim='a')", "a.zds", {"error"}),
}  # fmt: skip
"""How to make a file, and what reading it can come to; the libraries of others have caches."""
READERS: dict[str, tuple[str, str, str]] = {
    "BinPickleFile": (
        "binpickle.dump(dataset, 'a'); file = binpickle.BinPickleFile('a')",
        "cut('a')",
        "file.load, file.load_postponed, lambda: file.read_entry(0), file.read_pickle",
    ),
    "samples": (
        "samples('a.msgpack'); file = MsgpackReader('a.msgpack')",
        "cut('a.msgpack', 5000)",
        "lambda: file[1000], lambda: list(file), lambda: list(file.take(range(9, 2000)))",
    ),
    "keys": (
        "samples('a.msgpack', 100_000); file = MsgpackReader('a.msgpack')",
        "cut('a.msgpack.keys', PAGE)",
        (
            "lambda: file.find_key(70_000), lambda: file.find_key(80_000), "
            "lambda: [file.find('a rather long key 70000') for _ in range(17)]"
        ),
    ),
    "hashes and filter": (
        "samples('a.msgpack', 150_000); file = SampleIndex('a.msgpack')",
        "cut('a.msgpack.key_hashes', PAGE), cut('a.msgpack.keys', PAGE)",
        "lambda: file.find('a rather long key 70000'), lambda: file.key(70_000)",
    ),
    "store": (
        "store('a'); file = zds.ZDSStore.open('a')",
        "cut('a/collections/default/meta/data.jsonl')",
        "lambda: file['d15000'], lambda: list(file.scan()), lambda: file.get('d19999')",
    ),
    "archive": (
        "store('a'); zds.pack('a', 'a.zds'); file = zds.ZDSStore.open('a.zds'); len(file)",
        "cut('a.zds', 5000)",
        "lambda: file['d15000'], lambda: list(file.scan()), lambda: file.get('d19999')",
    ),
    "archive, compressed": (
        "store('a'); zds.pack('a', 'a.zds', 'deflate'); file = zds.ZDSStore.open('a.zds')",
        "cut('a.zds', 5000)",
        "lambda: list(file.scan()), lambda: file['d15000'], lambda: file.get('d19999')",
    ),
}


def run(folder: Path, *lines: str) -> list[str]:
    code = START + "\n".join(lines)
    root = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r})\n{code}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.split()


@pytest.mark.parametrize("kind", FILES)
def test_open_files(kind: str, tmp_path: Path) -> None:
    write, path, expected = FILES[kind]
    if kind == "hdf5":
        pytest.importorskip("h5py")
    found = run(tmp_path, write, f"file = ds.open({path!r})", f"cut({path!r})", f"tell({WHOLE})")
    assert len(found) == 4
    assert set(found) <= expected


@pytest.mark.parametrize("kind", READERS)
def test_readers(kind: str, tmp_path: Path) -> None:
    *make, shorten, uses = READERS[kind]
    found = run(tmp_path, *make, shorten, f"tell({uses})")
    assert found.count("error") == len(found) >= 2


def test_maps_are_made_where_they_are_asked_for(tmp_path: Path) -> None:
    """After each format was used there is no map of a file, and then one of each for which that was asked."""
    listed = f"[line for line in open('/proc/self/maps') if {str(tmp_path)!r} in line]"
    if not Path("/proc/self/maps").exists():
        pytest.skip("no list of maps")
    found = run(
        tmp_path,
        "ds.write('a.ds', dataset); ds.write('a.bpk', dataset); samples('a.msgpack', 150_000); store('s')",
        "zds.pack('s', 's.zds')",
        "held = [ds.open('a.ds'), ds.open('a.bpk'), ds.open('s.zds'), ds.read('a.bpk'), ds.read('a.ds')]",
        "held += [ds.read_many(['a.ds', 'a.bpk']), binpickle.load('a.bpk')]",
        "ds.verify('a.bpk'), ds.verify('a.msgpack')",
        "reader = MsgpackReader('a.msgpack'); reader.find('a rather long key 7'); reader[5]; 'x' in reader",
        "archive = zds.ZDSStore.open('s.zds'); archive['d7']; list(archive.scan())",
        "[held[i][name][:] for i in (0, 1) for name in 'xmt']",
        f"print(len({listed}))",
        "asked = [ds.read('a.ds', mmap=True), binpickle.BinPickleFile('a.bpk', direct=True).load()]",
        "asked.append(MsgpackReader('a.msgpack', mmap=True)); asked[-1].find('a rather long key 7')",
        f"print(len({listed}) >= 4)",
    )
    assert found == ["0", "True"]
