"""A ds file that several processes write: where parts of variables lie, and each step done again."""

from __future__ import annotations

import itertools
import os
import pickle
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import ds_format as ds
from ds_format.drivers.ds.shared import CreatedFile, SharedFile, Slab, are_apart, runs

from ...strategies import chunked

META: dict[str, Any] = {
    "x": {".dims": ["j", "i"], ".size": [4, 6], ".type": "int16", "units": "m"},
    "b": {".dims": ["i"], ".size": [20], ".type": "bool"},
    "text": {".dims": ["k"], ".size": [3], ".type": "unicode"},
    "m": {".dims": ["k"], ".size": [3], ".type": "float64", ".missing": True},
    "e": {".dims": ["k"], ".size": [3], ".type": "int8"},
    "none": {".size": None},
    ".": {"title": "a file"},
}
X = np.arange(24, dtype="i2").reshape(4, 6)
B = np.arange(20) % 3 == 0
TEXT = np.array(["a", "žluť", ""], object)
M = np.ma.MaskedArray([1.0, 2.0, 3.0], [False, True, False])
E = np.array([1, 2, 3], "i1")


def parts(shape: tuple[int, ...], chunks: tuple[tuple[int, ...], ...]) -> Iterator[Slab]:
    edges = [itertools.pairwise((0, *itertools.accumulate(lengths))) for lengths in chunks]
    for bounds in itertools.product(*edges):
        yield tuple(slice(*bound) for bound in bounds)


def write(
    file: SharedFile, made: CreatedFile, key: str, array: Any, chunks: tuple[tuple[int, ...], ...]
) -> Counter[int]:
    """Write all parts of a variable, the last one first, each through a copy of its region."""
    done: Counter[int] = Counter()
    for part in reversed(list(parts(array.shape, chunks))):
        region = pickle.loads(pickle.dumps(file.regions[key]))
        done[made.identity] += region.write(part, array[part], made.identity)
    return done


class Steps:
    """All steps of the file of META, which may be done again, in any process."""

    def __init__(self, path: Any, **options: Any):
        self.file = SharedFile(path, META, ["x", "b"], **options)

    def create(self) -> CreatedFile:
        self.made = pickle.loads(pickle.dumps(self.file)).create({"e": E, "none": None})
        return self.made

    def write(self) -> None:
        self.written = {
            "x": write(self.file, self.made, "x", X, ((1, 3), (2, 4))),
            "b": write(self.file, self.made, "b", B, ((8, 8, 4),)),
        }

    def append(self) -> None:
        text = self.file.append(self.made, self.made.end, "text", TEXT)
        self.appended = {"text": text, "m": self.file.append(self.made, text.end, "m", M)}

    def finish(self) -> None:
        self.file.finish(self.made, self.appended, self.written)

    def all(self) -> None:
        self.create()
        self.write()
        self.append()
        self.finish()


def check(path: Path) -> None:
    found = ds.read(path)
    for key, array in {"x": X, "b": B, "text": TEXT, "m": M, "e": E}.items():
        assert found[key].tolist() == array.tolist()
    assert found["none"] is None
    assert found["."]["x"] == {".dims": ["j", "i"], ".size": [4, 6], ".type": "int16", "units": "m"}
    assert found["."]["."] == {"title": "a file"}
    assert list(found) == list(META)
    assert [path.name] == [name for name in os.listdir(path.parent) if not name.endswith("other")]


@pytest.mark.parametrize("version", ["1.0", "2.0.1"])
def test_all_steps(version: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    if version == "2.0.1":
        meta = {key: value for key, value in META.items() if key in ("x", ".")}
        file = SharedFile(path, meta, ["x"], version=version)
        made = file.create({})
        file.finish(made, {}, {"x": write(file, made, "x", X, ((4,), (6,)))})
        assert ds.read(path)["x"].tolist() == X.tolist()
        return
    Steps(path).all()
    check(path)


def test_planning_touches_nothing(tmp_path: Path) -> None:
    Steps(tmp_path / "absent" / "a.ds")
    Steps(tmp_path / "a.ds")
    assert not list(tmp_path.iterdir())


def test_every_step_may_be_done_again(tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    steps = Steps(path)
    steps.create()
    steps.write()
    steps.create()
    steps.append()
    steps.write()
    steps.create()
    steps.append()
    steps.finish()
    content = path.read_bytes()
    check(path)
    steps.write()
    steps.append()
    steps.finish()
    assert path.read_bytes() == content
    check(path)


def test_who_finished_it_was_lost_with_what_was_known_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    steps = Steps(path)
    steps.all()
    known = steps.written["x"]  # another process still knows that
    content, number = path.read_bytes(), path.stat().st_ino
    steps.create()
    steps.write()
    steps.append()
    steps.written["x"] = known
    steps.finish()
    assert (path.read_bytes(), path.stat().st_ino) == (content, number)
    check(path)
    steps.all()
    assert path.stat().st_ino != number
    check(path)


def test_the_file_that_stood_there_keeps_its_permissions_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "a.ds", tmp_path / "other"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path.name)
    steps = Steps(link, durable=True)
    steps.create()
    assert stat.S_IMODE(os.stat(steps.file.file.written).st_mode) == 0o600
    steps.write()
    steps.append()
    assert path.read_bytes() == b"old"
    steps.finish()
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o600
    check(path)


def test_a_file_that_is_not_seen(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "a.ds")
    steps.create()
    os.unlink(steps.file.file.written)
    for step in (steps.write, steps.append):
        with pytest.raises(FileNotFoundError, match=r"host .* does not see \.a\.ds\..*\.tmp.*a\.ds'") as caught:
            step()
        assert caught.value.filename == str(tmp_path / "a.ds")
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    steps.appended, steps.written = {}, {"x": Counter(), "b": Counter()}
    with pytest.raises(ds.DsError, match=r'a\.ds: variable "x": 0 values were written, expected 24'):
        steps.finish()
    assert not list(tmp_path.iterdir())


def test_a_file_that_was_removed_and_made_again_is_not_taken_for_whole(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "a.ds")
    steps.create()
    steps.write()
    Path(steps.file.file.written).rename(tmp_path / "kept")
    steps.create()
    steps.append()
    with pytest.raises(ds.DsError, match=r"a\.ds: parts were written to a file that another process removed"):
        steps.finish()
    steps.file.remove()
    steps.file.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "a.ds")
    steps.create()
    steps.write()
    steps.append()
    os.truncate(steps.file.file.written, 100)
    with pytest.raises(ds.TruncatedError, match=r"a\.ds: 100 bytes were written, expected"):
        steps.finish()


def test_a_variable_that_came_out_in_two_ways(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "a.ds")
    steps.create()
    steps.write()
    steps.append()
    steps.appended["text"] = steps.file.append(steps.made, steps.made.end, "text", np.array(["long" * 9] * 3, object))
    with pytest.raises(ds.DsError, match=r'a\.ds: variable "m": was computed twice, with other values'):
        steps.finish()


@pytest.mark.parametrize(
    ("key", "part", "block", "message"),
    [
        ("x", (slice(0, 1), slice(0, 6)), X, r"found a chunk of shape \(4, 6\), expected \(1, 6\)"),
        ("x", (slice(0, 4), slice(0, 6)), X.astype("i4"), "found a chunk of type int32, expected int16"),
        ("x", (slice(0, 4), slice(0, 6)), X.astype("S"), "found a chunk of type str, expected int16"),
        ("x", (slice(0, 4), slice(0, 6)), X.astype("c8"), "dtype: found complex64"),
        ("x", (slice(0, 4), slice(0, 6)), np.ma.masked_equal(X, 3), "a value is missing"),
        ("b", (slice(0, 4),), B[:4], "shares bytes with others"),
        ("b", (slice(4, 20),), B[4:], "shares bytes with others"),
    ],
)
def test_a_chunk_that_is_not_as_promised(key: str, part: Slab, block: Any, message: str, tmp_path: Path) -> None:
    steps = Steps(tmp_path / "a.ds")
    steps.create()
    with pytest.raises(ds.DsError, match=rf'a\.ds: variable "{key}": .*{message}'):
        steps.file.regions[key].write(part, block, steps.made.identity)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        Steps(tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match=r"absent/a\.ds"):
        Steps(tmp_path / "absent" / "a.ds").create()
    with pytest.raises(ds.UnsupportedError, match=r'a\.ds: variable "x": '):
        SharedFile(tmp_path / "a.ds", {"x": {".size": [1], ".type": "int8", "bad": object()}}, ["x"])
    file = SharedFile(tmp_path / "a.ds", META, ["x"])
    with pytest.raises(ds.UnsupportedError, match=r'a\.ds: variable "e": dtype: found complex'):
        file.create({"e": E.astype("c16")})
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@given(chunked())
def test_parts_of_any_array_beside_numpy(tmp_path_factory: pytest.TempPathFactory, drawn: Any) -> None:
    array, chunks = drawn
    path = tmp_path_factory.getbasetemp() / "parts.ds"
    name = "bool" if array.dtype.kind == "b" else array.dtype.name
    meta: dict[str, Any] = {"x": {".size": list(array.shape), ".type": name}, ".": {}}
    before = {"y": {".size": [5], ".type": "bool"}}
    file = SharedFile(path, {**before, **meta}, ["y", "x"])
    made = file.create({})
    y = write(file, made, "y", np.ones(5, bool), ((5,),))
    if not are_apart(name, array.shape, chunks):
        if all(map(all, chunks)):
            with pytest.raises(ds.DsError, match="shares bytes with others"):
                write(file, made, "x", array, chunks)
        file.remove()
        return
    x = write(file, made, "x", array, chunks)
    file.finish(made, {}, {"x": x, "y": y})
    assert ds.read(path)["x"].tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()
    assert ds.read(path)["y"].all()


@given(chunked())
def test_runs_are_few_and_whole(drawn: Any) -> None:
    array, chunks = drawn
    flat = np.arange(array.size).reshape(array.shape)
    for part in parts(array.shape, chunks):
        starts, n = runs(array.shape, part)
        expected = flat[part].reshape(-1)
        assert [i for start in starts for i in range(start, start + n)] == expected.tolist()
        if expected.size:
            assert len(starts) <= 1 + int((np.diff(expected) > 1).sum())
            assert are_apart("int8", array.shape, chunks)


@pytest.mark.parametrize(
    ("shape", "chunks", "expected"),
    [
        ((2, 3, 8), ((2,), (1, 2), (8,)), True),
        ((2, 3, 4), ((2,), (1, 2), (4,)), False),
        ((1, 3, 8), ((1,), (1, 2), (8,)), True),
        ((2, 16), ((2,), (8, 8)), True),
        ((1, 12), ((1,), (8, 4)), True),
        ((2, 12), ((2,), (8, 4)), False),
        ((3,), ((3,),), True),
    ],
)
def test_chunks_of_booleans_that_share_no_byte(shape: Any, chunks: Any, expected: bool) -> None:
    assert are_apart("bool", shape, chunks) is expected
    assert are_apart("int8", shape, chunks)
