"""The same calls with the reference and with this package. Where results differ, this is meant, and in a table."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ds_format.datadings import lists, order, reader as reader_module, sharded
from ds_format.datadings.directories import DirectoryReader, ZipFileReader

from .made import GOLDEN, reference, skip_without_reference

NAMES = {
    "MsgpackReader": reader_module.MsgpackReader,
    "ShardedReader": sharded.ShardedReader,
    "ListReader": lists.ListReader,
    "DirectoryReader": DirectoryReader,
    "ZipFileReader": ZipFileReader,
    **{name: getattr(order, name) for name in ("Cycler", "QuasiShuffler", "Range", "Repeater", "Shuffler")},
}
SETUP = """
from itertools import islice
def reader(): return MsgpackReader("data.msgpack")
def shards(): return ShardedReader("shard-[02].msgpack")
def numbers(): return ListReader([{"v": i, "label": "l%d" % (i % 12)} for i in range(20)])
def files(): return DirectoryReader("tree/{LABEL}/*.txt", include=["*a*", "*b*"], exclude=["*ba*"])
def keys(samples): return [sample["key"] for sample in samples]
def plain(value):
    if isinstance(value, (bytes, memoryview)): return bytes(value).hex()
    if isinstance(value, (list, tuple)): return [plain(each) for each in value]
    if isinstance(value, dict): return {str(key): plain(each) for key, each in value.items()}
    return value if isinstance(value, (int, float, str, type(None))) else str(value)
def run(call):
    try: return plain(eval(call, globals()))
    except Exception as error:
        kinds = [KeyError, IndexError, StopIteration, FileNotFoundError, ValueError, OverflowError]
        return next((kind.__name__ for kind in kinds if isinstance(error, kind)), type(error).__name__)
"""

SAME = """
len(reader())
list(reader())
list(reader().iter(2, 5))
list(reader().iter(-2))
list(reader().iter(1, -1, chunk_size=1))
list(reader().iter(1, 3, yield_key=True))
list(reader().iter(1, 3, True, True))
list(reader().iter(raw=True, copy=False))
list(reader().rawiter())
list(reader().rawiter(yield_key=True))
list(reader().slice(1, 4))
list(reader().slice(1))
list(reader().slice(0, 2, yield_key=True, raw=True))
list(reader()[1:4])
list(reader()[:])
list(reader()[2:])
reader()[0]
reader().get(1)
reader().get(1, yield_key=True)
reader().get(1, True, True)
reader().get(1, raw=True, copy=False)
reader().get(6)
reader().find_key(0)
reader().find_key(-1)
reader().find_key(7)
reader().find_index("short")
reader().find_index("nothing")
"short" in reader()
"nothing" in reader()
next(reader())
reader().next()
reader().rawnext()
[reader().seek(2), reader().seek_index(-1), reader().seek_key("short")]
(lambda r: [r.seek(2), r.next(), r.next()])(reader())
(lambda r: [r.seek_key("tiny"), r.rawnext(), r.next()])(reader())
reader().seek(6)
reader().seek(-8)
reader().seek_key("nothing")
(lambda r: [r.seek(5), r.next(), r.next()])(reader())
MsgpackReader("nothing.msgpack")
reader().verify_data()
list(shards())
keys(shards().iter(2, 6))
shards().get(5, yield_key=True)
[shards().find_index(key) for key in ("k0", "k8")]
[shards().find_key(i) for i in range(9)]
shards().find_index("nothing")
["k3" in shards(), "no" in shards()]
len(shards())
list(numbers())
numbers().labels
numbers().find_index(3)
numbers().get(4, yield_key=True)
list(numbers().slice(3, 5, raw=True))
ListReader([{"key": "a"}, {"key": "a"}])
list(ListReader([{"label": 7}, {"label": 5}], labels=[7, 5]))
list(ListReader([{"label": "b"}], numeric_labels=False))
sorted(keys(files()))
sorted(files(), key=lambda sample: sample["key"])
files().labels
sorted(keys(ZipFileReader("tree.zip", "tree/{LABEL}/*")))
sorted(ZipFileReader("tree.zip", "tree/{LABEL}/*.txt"), key=lambda sample: sample["path"])
list(Range(reader(), 1, 3))
list(Range(reader(), -2).iter(yield_key=True))
list(Repeater(reader(), 2))
list(islice(Cycler(reader()), 15))
len(Cycler(reader()))
list(Shuffler(reader()))
list(Shuffler(reader(), seed=3).iter(yield_key=True, raw=True))
list(QuasiShuffler(reader(), 2, 2, seed=3).iter(yield_key=True))
(lambda order: [keys(order) for _ in range(3)])(Shuffler(reader()))
""".strip().splitlines()

# What is different, what the reference does, and what this package does: docs/datadings.md says why.
DIFFERENT: list[tuple[str, Any, Any]] = [
    ("reader().get(-1)['key']", "OverflowError", "tiny"),
    ("reader().get(-2)['key']", "tiny", "short"),
    ("keys(reader()[::2])", "ValueError", ["one", "three", "short"]),
    ("list(reader()[5:3])", "OverflowError", []),
    ("list(reader().iter(6))", "IndexError", []),
    ("(lambda r: [r.seek(4), len(list(r))][1])(reader())", 2, 6),
    ("(lambda r: [next(iter(r)), len(list(r))][1])(reader())", 5, 6),
    ("(lambda r: [list(r.iter(3, 5)), r.next()['key']][1])(reader())", "three", "one"),
    ("(lambda r: [len(list(r.iter(0, 6))) for _ in '12'] + [len(list(r))])(reader())", [6, 6, 0], [6, 6, 6]),
    ("reader().verify_index()", "FileNotFoundError", True),
    ("list(MsgpackReader('empty.msgpack'))", "IndexError", []),
    ("shards().get(-1)['key']", "k5", "k8"),
    ("len(ShardedReader('nothing-*.msgpack'))", 0, "FileNotFoundError"),
    ("keys(ShardedReader('shard-*.msgpack'))", "IndexError", [f"k{i}" for i in range(9)]),
    ("len(Range(reader(), 1, 3))", 6, 2),
    ("len(Repeater(reader(), 2))", 6, 12),
    ("list(Range(reader(), 6))", "IndexError", []),
    ("(lambda r: [r.seek(1), len(list(r))][1])(Range(reader(), 1, 4))", 3, 2),
    ("(lambda r: [r.seek(7), len(list(r))][1])(Shuffler(reader()))", 0, 5),
    ("(lambda r: [keys(islice(r, 2)), len(list(r))][1])(Shuffler(reader()))", 5, 4),
    ("keys(Shuffler(reader()).iter(0, 2))", "TypeError", ["three", "tiny"]),
    ("QuasiShuffler(numbers(), 0.9, 2).buf_size", 2, 18),
    ("len(list(QuasiShuffler(numbers(), 4, 4).iter(chunk_size=2)))", 10, 20),
    ("ListReader([{'label': None}])[0]['label']", "ValueError", None),
    ("(lambda s: [ListReader(s), s])([{'v': 1}])[1]", [{"v": 1, "key": 0}], [{"v": 1}]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in (GOLDEN / "33_shards").glob("shard-*"):
        shutil.copyfile(path, tmp_path / path.name)
    for name in ("x/a.txt", "x/b.txt", "y/ba.txt", "y/a1.txt", "y/tree/a.txt"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    shutil.make_archive(str(tmp_path / "tree"), "zip", tmp_path, "tree")
    return tmp_path


WRITTEN = """
from datadings.writer import FileWriter
import numpy as np
with FileWriter("empty.msgpack", disable=True): pass
with FileWriter("data.msgpack", disable=True) as writer:
    for i, key in enumerate(["one", "two", "three", "four", "short", "tiny"]):
        writer.write({"key": key, "v": i, "x": np.arange(i)})
"""
IMPORTED = """
import contextlib, io
from datadings.reader import *
from datadings.reader.sharded import ShardedReader
from datadings.reader.augment import *
from builtins import list
"""


def answers(
    calls: list[str], folder: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Any], list[Any]]:
    """Return what the reference says, and what this package does."""
    quiet = "with contextlib.redirect_stdout(io.StringIO()):\n" + "".join(
        f"    {line}\n" for line in WRITTEN.splitlines()
    )
    theirs = reference(python, f"{IMPORTED}\n{quiet}\n{SETUP}\nresult = [run(call) for call in {calls!r}]", folder)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = dict(NAMES)
    exec(SETUP, names)
    return theirs, json.loads(json.dumps([names["run"](call) for call in calls]))


def test_the_same_calls_have_the_same_results(
    reference_python: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_reference(reference_python)
    theirs, ours = answers(SAME, folder, reference_python, monkeypatch)
    assert dict(zip(SAME, ours, strict=True)) == dict(zip(SAME, theirs, strict=True))


def test_differences_are_meant(reference_python: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without_reference(reference_python)
    calls = [call for call, _, _ in DIFFERENT]
    theirs, ours = answers(calls, folder, reference_python, monkeypatch)
    assert list(zip(calls, theirs, ours, strict=True)) == DIFFERENT
