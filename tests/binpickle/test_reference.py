"""The reference program reads what we write, and we write what it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format import binpickle

REFERENCE_VERSION = "0.3.4"
MAKE = """
import decimal, pickle, uuid
from datetime import date
import numpy as np
rng = np.random.default_rng(1)
readonly = np.arange(4)
readonly.flags.writeable = False
structure = np.dtype([("a", "<i4"), ("b", ">f8", (2,)), ("c", "S3")])
OBJECTS = {
    "none": None,
    "plain": {"a": [1, 2.5, "text", b"bytes", None, True], 7: (1, {2, 3}), "large": 2**100, "date": date(2000, 1, 1)},
    "arrays": {code: np.arange(7).astype(code) for code in ("?", "i1", ">i2", "<f4", "f8", "c16", "S3", "U2")},
    "empty": [np.empty((0, 3)), np.empty(()), np.empty((2, 0), "S4")],
    "orders": [np.ones((3, 4), order="F"), np.ones((2, 3, 4)).transpose(1, 0, 2), np.arange(10)[::2], readonly],
    "inband": [np.arange(3).astype("M8[s]"), np.array(["a", None], object), np.ma.MaskedArray([1, 2], [True, False])],
    "structured": np.zeros(3, structure),
    "buffers": [pickle.PickleBuffer(b"bytes"), pickle.PickleBuffer(bytearray(b"bytearray"))],
    "types": [decimal.Decimal("1.5"), uuid.UUID(int=5), np.float32(1.5), np.dtype("<i4"), range(5)],
    "large": [rng.random(200_000), rng.random(3), rng.random((400, 500)), "x" * 100_000],
    "many": [rng.random(i % 7) for i in range(3000)],
}
"""
WAYS: dict[str, dict[str, Any]] = {
    "stored": {"codec": None},
    "mappable": {"codec": None, "mappable": True},
    "gz": {"codec": "gz"},
    "chain": {"codec": [("gz", {"level": 1}), "gz"]},
}


@pytest.fixture
def python(reference_python: str) -> str:
    told = "import importlib.metadata; print(importlib.metadata.version('binpickle'))"
    done = subprocess.run([reference_python, "-I", "-c", told], check=False, capture_output=True, text=True)
    if done.stdout.strip() != REFERENCE_VERSION:
        pytest.skip(f"the Python of --reference-python lacks binpickle {REFERENCE_VERSION}")
    return reference_python


def run(python: str, code: str, folder: Path) -> str:
    done = subprocess.run([python, "-I", "-c", MAKE + code], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects() -> dict[str, Any]:
    made: dict[str, Any] = {}
    exec(MAKE, made)
    found: dict[str, Any] = made["OBJECTS"]
    return found


def test_the_same_bytes(python: str, tmp_path: Path) -> None:
    code = f"""
import binpickle, sys
for name, obj in OBJECTS.items():
    for way, options in {WAYS!r}.items():
        binpickle.dump(obj, f"{{name}}-{{way}}", **options)
    with binpickle.BinPickler(name + "-null", codec="null") as one:
        one.dump(obj)
print(np.__version__, sys.version_info[:2])
"""
    versions = run(python, code, tmp_path).strip()
    if versions != f"{np.__version__} {sys.version_info[:2]}":
        pytest.skip(f"pickles of NumPy and Python {versions}")
    ours = tmp_path / "ours"
    for name, obj in objects().items():
        for way, options in WAYS.items():
            binpickle.dump(obj, ours, **options)
            assert ours.read_bytes() == (tmp_path / f"{name}-{way}").read_bytes(), (name, way)
        with binpickle.BinPickler(ours, codec="null") as one:
            one.dump(obj)
        assert ours.read_bytes() == (tmp_path / f"{name}-null").read_bytes(), name


SAME = """
def same(a, b):
    if isinstance(a, np.ndarray):
        if a.dtype.hasobject:
            return a.tolist() == b.tolist()
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, pickle.PickleBuffer) or isinstance(b, (bytearray, memoryview)):
        return bytes(a) == bytes(b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b
"""


def test_the_reference_reads_what_we_write(python: str, tmp_path: Path) -> None:
    for name, obj in objects().items():
        binpickle.dump(obj, tmp_path / f"{name}-stored")
        binpickle.dump(obj, tmp_path / f"{name}-mappable", mappable=True)
        binpickle.dump(obj, tmp_path / f"{name}-gz", codec="gz")
        binpickle.dump(obj, tmp_path / f"{name}-chain", codec=[("gz", {"level": 1}), None, ["gz"]])
    code = f"""{SAME}
import binpickle
for name, obj in OBJECTS.items():
    for way in ("stored", "mappable", "gz", "chain"):
        assert same(obj, binpickle.load(f"{{name}}-{{way}}")), (name, way)
        with binpickle.BinPickleFile(f"{{name}}-{{way}}") as file:
            assert file.find_errors() == []
        with binpickle.BinPickleFile(f"{{name}}-{{way}}", direct=True) as file:
            found = file.load()
            assert same(obj, found)
            del found
print("read")
"""
    assert run(python, code, tmp_path) == "read\n"


@pytest.mark.parametrize("trusted", [False, True])
def test_we_read_what_the_reference_writes(trusted: bool, python: str, tmp_path: Path) -> None:
    code = """
import binpickle
for name, obj in OBJECTS.items():
    binpickle.dump(obj, f"{name}-gz")
    binpickle.dump(obj, f"{name}-stored", codec=None)
    binpickle.dump(obj, f"{name}-mappable", mappable=True)
"""
    run(python, code, tmp_path)
    helper: dict[str, Any] = {}
    exec(MAKE + SAME, helper)
    for name, obj in objects().items():
        for way in ("gz", "stored", "mappable"):
            path = tmp_path / f"{name}-{way}"
            assert helper["same"](obj, binpickle.load(path, trusted=trusted)), path
            for direct in (False, True):
                with binpickle.BinPickleFile(path, direct=direct, trusted=trusted) as file:
                    assert file.find_errors() == []
                    assert helper["same"](obj, file.load())
