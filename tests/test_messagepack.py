"""msgpack, whose classes other libraries replace for the whole process, and which may be there in Python only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PATCH = """
import functools, pickle, sys
import msgpack, numpy

def encode(value, chain=None):
    print("replaced")
    return {b"nd": True, b"type": value.dtype.str, b"kind": b"", b"shape": value.shape, b"data": value.tobytes()}

def decode(value, chain=None):
    print("replaced")
    return pickle.loads(value[b"data"]) if value.get(b"kind") == b"O" else value

class Packer(msgpack.Packer):
    def __new__(cls, default=None, **options):
        return super().__new__(cls, default=encode, **options)

    def __init__(self, default=None, **options):
        print("replaced")
        super().__init__(default=encode, **options)

class Unpacker(msgpack.Unpacker):
    def __init__(self, *args, object_hook=None, object_pairs_hook=None, **options):
        print("replaced")
        super().__init__(*args, object_hook=decode, **options)

def packb(value, **options):
    return Packer(**options).pack(value)

def unpackb(data, object_hook=None, object_pairs_hook=None, *, original=msgpack.unpackb, **options):
    print("replaced")
    return original(data, object_hook=decode, **options)

def patch():
    for name in ("pack", "dump", "packb", "dumps"):
        setattr(msgpack, name, packb)
    for name in ("unpack", "load", "unpackb", "loads"):
        setattr(msgpack, name, unpackb)
    msgpack.Packer, msgpack.Unpacker = Packer, Unpacker
"""
"""What `msgpack_numpy.patch()` does in msgpack-numpy 0.4.8."""
EVERYTHING = """
from ds_format import UnsafeError, UnsupportedError, binpickle
from ds_format.datadings import index_files, messages
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.writer import FileWriter
"""
USE = """
class Code:
    def __reduce__(self):
        return print, ("code from a file",)

array = {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": [1], b"data": pickle.dumps(Code())}
sample = {"key": "a", "x": array, "time": msgpack.Timestamp(1, 2), "ext": msgpack.ExtType(5, b"abc")}
try:
    messages.unpack(messages.pack(sample))
except UnsafeError:
    print("refused")
del sample["x"]
assert messages.unpack(messages.pack(sample)) == sample
with FileWriter("a.msgpack") as writer:
    try:
        writer.write({"key": "a", "time": msgpack.Timestamp(1, 2), "x": numpy.ma.MaskedArray([1, 2], [0, 1])})
    except UnsupportedError:
        print("refused")
    writer.write({"key": "a", "time": msgpack.Timestamp(1, 2), "x": numpy.arange(3)})
with MsgpackReader("a.msgpack") as reader:
    assert reader[0]["x"].tolist() == [0, 1, 2] and reader.find_key(0) == "a"
assert index_files.decode_legacy(b"\\x81\\xa1a\\x00", "a", 5)[1] == index_files.encode_keys(["a"])
binpickle.dump({"x": numpy.arange(3)}, "a.bpk")
assert binpickle.load("a.bpk")["x"].tolist() == [0, 1, 2]
"""
DEEP = """
value = 1
for _ in range(1024):
    value = [value]
for use in (messages.pack, lambda value: messages.unpack(b"\\x91" * 1024 + b"\\x01")):
    try:
        use(value)
    except ValueError as error:
        assert "inside of one another" in str(error) or "not a message of msgpack" in str(error), error
"""


def run(folder: Path, *code: str, **environment: str) -> str:
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", "".join(code)],
        env={**os.environ, "PYTHONPATH": root, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("pure", ["", "1"])
@pytest.mark.parametrize("first", ["patch", "import"])
def test_patches_change_nothing(first: str, pure: str, tmp_path: Path) -> None:
    code = ("patch()", EVERYTHING) if first == "patch" else (EVERYTHING, "patch()\n")
    found = run(tmp_path, PATCH, "\n".join(code), USE, MSGPACK_PUREPYTHON=pure)
    assert found == "refused\nrefused\n"


def test_the_stand_in_for_patches_does_reach_the_library(tmp_path: Path) -> None:
    assert run(tmp_path, PATCH, "patch()\nmsgpack.unpackb(msgpack.packb(1))") == "replaced\nreplaced\n"


def test_the_library_itself(tmp_path: Path) -> None:
    code = "import msgpack_numpy\nmsgpack_numpy.patch()\nimport msgpack, numpy, pickle\n"
    pytest.importorskip("msgpack_numpy")
    assert run(tmp_path, code, EVERYTHING, USE) == "refused\nrefused\n"


def test_the_library_in_python(tmp_path: Path) -> None:
    code = "import sys, msgpack, numpy, pickle\n"
    check = "assert 'msgpack._cmsgpack' not in sys.modules\n"
    assert run(tmp_path, code, EVERYTHING, USE, check, DEEP, MSGPACK_PUREPYTHON="1") == "refused\nrefused\n"
