"""`ds inspect`, and what the other commands say of BinPickle files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ds_format
from ds_format import binpickle
from tests.binpickle.golden import CORRUPT

if TYPE_CHECKING:
    from .conftest import Run

HOSTILE = sorted(CORRUPT.glob("*.bpk"))


@pytest.fixture
def data(folder: Path, base: str) -> str:
    ds_format.convert(base, "data.bpk")
    return "data.bpk"


def test_the_tree_and_the_buffers(ds: Run, folder: Path) -> None:
    masked: np.ma.MaskedArray = np.ma.MaskedArray(np.arange(2, dtype="i2"), [True, False])
    ds_format.write("a.bpk", {"x": np.arange(3.0), "m": masked})
    status, out, err = ds("inspect", "a.bpk")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:4] == [
        f"BinPickle version 1, {Path('a.bpk').stat().st_size} bytes, mappable",
        "dict 3 entries",
        "  'x': ndarray float64 (3,), 24 bytes, buffer 0",
        "  'm': MaskedArray int16 (2,), 4 bytes, buffer 1; mask: bool (2,), 2 bytes, buffer 2",
    ]
    assert lines[-4:-1] == [f"buffer {i}: {n} bytes at byte {(i + 1) * 4096}" for i, n in enumerate((24, 4, 2))]
    assert lines[-1].startswith("pickle: ")


def test_codecs_and_what_is_refused(ds: Run, folder: Path) -> None:
    binpickle.dump({"x": np.zeros(1000), "f": print}, "a.bpk", codec="gz")
    out = ds("inspect", "a.bpk").out
    assert "'f': builtins.print  (refused: register a handler, or trusted=True)\n" in out
    assert ", 8000 bytes decoded: zlib\n" in out
    assert ", mappable" not in out
    found = json.loads(ds("inspect", "-j", "a.bpk").out)
    assert (found["version"], found["mappable"], found["size"]) == (1, False, Path("a.bpk").stat().st_size)
    assert found["entries"][0]["decoded_size"] == 8000 and found["entries"][0]["codecs"] == ["zlib"]
    assert found["object"]["children"][1][1]["refused"] is True


def test_many_buffers(ds: Run, folder: Path) -> None:
    binpickle.dump([np.arange(2) for _ in range(30)], "a.bpk")
    lines = ds("inspect", "a.bpk").out.splitlines()
    assert lines[-2] == "... 10 more buffers" and sum(line.startswith("buffer ") for line in lines) == 20
    assert sum(line.startswith("buffer ") for line in ds("inspect", "--all", "a.bpk").out.splitlines()) == 30


def test_other_files(ds: Run, base: str) -> None:
    assert ds("inspect", base) == (
        1,
        "",
        f"ds inspect: {base}: not a BinPickle file: use `ds info` to print its contents\n",
    )
    Path("x.bpk").write_bytes(b"nothing")
    assert ds("inspect", "x.bpk").err.startswith("ds inspect: x.bpk: not a BinPickle file, but text: 'nothing'")
    assert ds("inspect", "absent.bpk").err == "ds inspect: absent.bpk: File does not exist\n"
    assert ds("inspect").err.startswith("ds inspect: INPUT is missing\n")


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.name)
@pytest.mark.filterwarnings("always")
def test_hostile_files_are_harmless(path: Path, ds: Run, folder: Path) -> None:
    shutil.copy(path, "a.bpk")
    for command in ("inspect", "verify", "ls"):
        status, out, err = ds(command, "a.bpk")
        assert status == (1 if err.startswith(f"ds {command}: a.bpk: ") or "failed" in err else 0)
        assert (out + err).replace("\n", "").isprintable()
    assert [entry.name for entry in folder.iterdir()] == ["a.bpk"]


def test_data_commands(ds: Run, data: str, base: str) -> None:
    for words in (["ls", "-l"], ["stats", "temperature"], ["cat", "temperature"], ["dims"]):
        assert ds(*words, data) == ds(*words, base)
    assert ds("verify", data) == (0, "", "")


def test_verify_names_all_that_is_wrong(ds: Run, data: str) -> None:
    with binpickle.BinPickleFile(data) as file:
        places = [entry.offset for entry in file.entries]
    content = bytearray(Path(data).read_bytes())
    for place in places[:2]:
        content[place] ^= 1
    Path(data).write_bytes(content)
    status, out, err = ds("verify", data)
    assert (status, err) == (1, "ds verify: the file failed\n")
    assert [line.partition(":")[0] for line in out.splitlines()] == [f'{data} none error "entry {i}' for i in range(2)]


def test_verify_tells_what_cannot_be_loaded(ds: Run, folder: Path) -> None:
    binpickle.dump({"x": print}, "a.bpk")
    status, out, _ = ds("verify", "a.bpk")
    assert status == 0 and "warning" in out and "builtins.print is not loaded" in out


def test_times_in_units_of_choice(ds: Run, base: str) -> None:
    assert ds("select", base, "a.bpk", "time_units:", "days since 2000-01-01").status == 0
