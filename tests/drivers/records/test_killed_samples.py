"""Samples of a dataset and their sidecar file: one writer at a time, and all of one dataset or all of another."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ds_format as ds
from ds_format.cli import main
from ds_format.datadings import format
from ds_format.datadings.writer import FileWriter
from ds_format.datasets import as_array
from ds_format.drivers.records.datadings import create
from ds_format.many.merging import merge_files
from tests.datadings.dying import dies

NAMES = {"a.msgpack" + suffix for suffix in ("", *format.INDEX, format.MD5, format.SIDECAR)}


def dataset(n: int, units: str) -> dict[str, Any]:
    variables = {"x": [float(i) for i in range(n)], "grid": [1, 2, n]}
    return {**variables, ".": {"x": {".dims": ["t"], "units": units}, "grid": {".dims": ["y"]}}}


def found(path: Path) -> tuple[list[float], list[int], str] | None:
    """Read a dataset, without a warning that the sidecar file is of other data."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            read = ds.read(path)
        except FileNotFoundError:
            return None
    assert all(problem.severity == "warning" for problem in ds.verify(path))
    return as_array(read["x"]).tolist(), as_array(read["grid"]).tolist(), str(read["."]["x"]["units"])


@pytest.mark.parametrize("is_new", [False, True])
def test_at_every_step(tmp_path: Path, is_new: bool) -> None:
    expected: list[Any] = [None if is_new else ([0, 1, 2], [1, 2, 3], "K"), ([0, 1], [1, 2, 2], "m")]
    seen = []
    for steps in range(200):
        path = tmp_path / str(steps) / "a.msgpack"
        path.parent.mkdir()
        if not is_new:
            ds.write(path, dataset(3, "K"))
        died = dies(partial(ds.write, path, dataset(2, "m")), steps)
        seen.append(expected.index(found(path)))
        if not died:
            break
        ds.write(path, dataset(7, "s"))
        assert found(path) == ([*range(7)], [1, 2, 7], "s")
        assert {entry.name for entry in path.parent.iterdir() if entry.suffix != ".tmp"} == NAMES
    assert not died
    assert steps > 30 and seen == sorted(seen) and set(seen) == {0, 1}


def test_a_second_writer_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = tmp_path / "a.msgpack", tmp_path / "b.msgpack"
    ds.write(path, dataset(3, "K"))
    ds.write(other, dataset(4, "m"))
    meta = {"x": {".dims": ["t"], ".size": [2], ".type": "float64"}}
    with FileWriter(path, append=True):
        for write in (
            partial(create, path, meta),
            partial(ds.write, path, dataset(2, "m")),
            partial(ds.convert, other, path),
            partial(merge_files, "t", [other, other], path),
        ):
            with pytest.raises(ds.BusyError, match=r"a.msgpack: another process is writing to it: pid="):
                write()
        for words in (("select", other, path), ("records", "shuffle", "-y", other, path), ("reindex", path)):
            assert main(list(map(str, words))) == 1
            assert f"{path}: another process is writing to it: pid=" in capsys.readouterr().err
        assert found(path) == ([0, 1, 2], [1, 2, 3], "K")
    sink = create(path, meta)
    with pytest.raises(ds.BusyError):
        FileWriter(path, append=True)
    sink.abort()
    assert {entry.name for entry in tmp_path.iterdir()} == NAMES | {name.replace("a", "b", 1) for name in NAMES}


def test_copies_and_their_sidecar_appear_together(tmp_path: Path) -> None:
    path, other = tmp_path / "a.msgpack", tmp_path / "b.msgpack"
    ds.write(path, dataset(3, "K"))
    ds.write(other, dataset(4, "m"))
    seen = []
    for steps in range(99):
        died = dies(partial(main, ["records", "shuffle", "-y", "seed:", "1", str(other), str(path)]), steps)
        seen.append(found(path))
        if not died:
            break
        ds.write(path, dataset(3, "K"))
    assert {None if one is None else (len(one[0]), one[2]) for one in seen} == {(3, "K"), (4, "m")}
    assert {entry.name for entry in tmp_path.iterdir() if entry.name.startswith((".", "a"))} == NAMES
