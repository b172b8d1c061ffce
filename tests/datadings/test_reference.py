"""The reference program reads what we write, and writes the same files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.datadings import format
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.writer import FileWriter, reindex

from .made import GOLDEN, reference, skip_without_reference

SUFFIXES = ("", *format.INDEX, format.MD5)
MAKE = """
import numpy as np
def samples():
    rng = np.random.default_rng(1)
    for i in range(3000):
        yield {
            "key": f"sample {i} é", "n": 7 ** (i % 22) - 500 * i, "f": i / 3, "t": (None, True, b"x" * (i % 300)),
            "a": rng.normal(size=(i % 5, 3)), "b": np.arange(i % 40, dtype=">i2"), "c": np.float32(i),
            "d": {"e": [1j * i, "s" * (i % 70)], "s": np.array([(i, 1.5)], [("x", "<i4"), ("y", ">f8")])},
        }
"""


@pytest.fixture
def python(reference_python: str) -> str:
    skip_without_reference(reference_python)
    return reference_python


def files(path: Path) -> dict[str, bytes]:
    return {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in SUFFIXES}


def test_the_same_files(python: str, tmp_path: Path) -> None:
    made: dict[str, Any] = {}
    exec(MAKE, made)
    (tmp_path / "theirs").mkdir()
    with FileWriter(tmp_path / "ours" / "a.msgpack") as writer:
        for sample in made["samples"]():
            writer.write(sample)
    code = (
        "from datadings.writer import FileWriter\nimport contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()), FileWriter('theirs/a.msgpack', disable=True) as writer:\n"
        "    for sample in samples():\n        writer.write(sample)\nresult = None"
    )
    reference(python, MAKE + code, tmp_path)
    assert files(tmp_path / "ours" / "a.msgpack") == files(tmp_path / "theirs" / "a.msgpack")


READ = """
import hashlib
from datadings.reader import MsgpackReader
with MsgpackReader("a.msgpack") as reader:
    found = list(reader.iter(0, len(reader), yield_key=True))
    result = [len(reader), [key for key, _ in found], [reader.find_index(key) for key, _ in found]]
    result += [all(key in reader for key, _ in found), "absent" in reader, reader.verify_data()]
    result.append(hashlib.md5(b"".join(s["x"].tobytes() + str(s["x"].dtype).encode() for _, s in found)).hexdigest())
"""


@pytest.mark.parametrize("way", ["at once", "append", "reindex"])
def test_the_reference_reads_what_we_write(python: str, tmp_path: Path, way: str) -> None:
    path = tmp_path / "a.msgpack"
    dtypes = ["<f8", ">i4", "|u1", "<M8[s]", "<c8", "|S5", "<U3", "?", "<f2", "<m8[D]"]
    arrays = [np.arange(i % 7).astype("i4").astype(dtypes[i % len(dtypes)]) for i in range(500)]
    parts = [range(500)] if way == "at once" else [range(200), range(200, 500)]
    for part in parts:
        with FileWriter(path, append=True) as writer:
            for i in part:
                writer.write({"key": f"k{i}", "x": arrays[i]})
    if way == "reindex":
        for suffix in SUFFIXES[1:]:
            Path(f"{path}{suffix}").unlink()
        reindex(path)
    n, keys, indices, has_all, has_absent, is_right, digest = reference(python, READ, tmp_path)
    assert (n, indices, has_all, has_absent, is_right) == (500, list(range(500)), True, False, True)
    assert keys == SampleIndex(path).keys()
    expected = b"".join(array.tobytes() + str(array.dtype).encode() for array in arrays)
    assert digest == hashlib.md5(expected).hexdigest()


def test_a_legacy_index_is_converted_as_by_the_reference(tmp_path: Path) -> None:
    new = GOLDEN / "32_legacy_converted" / "data.msgpack"
    path = tmp_path / "data.msgpack"
    for suffix in ("", format.LEGACY_INDEX):
        Path(f"{path}{suffix}").write_bytes(Path(f"{new}{suffix}").read_bytes())
    assert reindex(path) == 6
    assert files(path) == files(new)
    assert Path(f"{path}.index").exists()
