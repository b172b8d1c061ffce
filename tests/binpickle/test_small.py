"""Small files are written and read by one call each: with the bytes, values and errors of all others."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format import binpickle
from ds_format.binpickle import format as bpk, reader
from ds_format.errors import DsError, FormatError
from ds_format.kernels.common.checksums import adler32
from ds_format.kernels.pickle.whole import Joiner, split

OBJECTS: list[Any] = [
    {},
    {"x": np.arange(3), "y": [np.zeros((2, 3), order="F"), np.zeros((0, 4)), "text"]},
    {f"x{i}": np.full(i % 7, i, "i2") for i in range(300)},
    np.arange(6).reshape(2, 3)[:, ::2],
    np.ma.MaskedArray([1.0, 2.0], [True, False]),
    [np.zeros(bpk.SMALL_SIZE // 8 - 100), np.zeros(bpk.SMALL_SIZE // 8)],
    np.frombuffer(b"read-only", "u1"),
]


def written(path: Path, obj: Any, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Return the bytes of a file that is written buffer by buffer."""
    with monkeypatch.context() as patch:
        patch.setattr(bpk, "SMALL_SIZE", -1)
        binpickle.dump(obj, path)
    return path.read_bytes()


@pytest.mark.parametrize("obj", OBJECTS, ids=[str(i) for i in range(len(OBJECTS))])
def test_small_files_have_the_bytes_of_others(tmp_path: Path, obj: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    binpickle.dump(obj, tmp_path / "a.bpk")
    assert (tmp_path / "a.bpk").read_bytes() == written(tmp_path / "b.bpk", obj, monkeypatch)


def outcome(load: Any) -> Any:
    try:
        return pickle.dumps(load())
    except DsError as error:
        return type(error), str(error)


@pytest.mark.parametrize("obj", OBJECTS, ids=[str(i) for i in range(len(OBJECTS))])
@pytest.mark.parametrize("trusted", [False, True])
def test_small_files_are_loaded_as_others(tmp_path: Path, obj: Any, trusted: bool) -> None:
    path = tmp_path / "a.bpk"
    binpickle.dump(obj, path)
    for kind in (Path, str, lambda name: str(name).encode()):
        found = binpickle.load(kind(path), trusted=trusted)
        assert pickle.dumps(found) == pickle.dumps(binpickle.BinPickleFile(path, trusted=trusted).load())
    if isinstance(obj, dict) and "x" in obj:
        assert found["x"].flags.writeable


@given(st.data())
def test_damage_is_found_as_in_others(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damaged") / "x.bpk"
    binpickle.dump({"x": np.arange(20, dtype="u1"), "y": np.arange(200.0), "z": "text"}, path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 2))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))])
    assert outcome(lambda: binpickle.load(path)) == outcome(lambda: binpickle.BinPickleFile(path).load())


def test_the_limit_of_decoded_bytes_holds(tmp_path: Path) -> None:
    path = tmp_path / "x.bpk"
    binpickle.dump(np.arange(100.0), path)
    assert binpickle.load(path, max_size=2000).size == 100
    with pytest.raises(FormatError, match="expected at most 100"):
        binpickle.load(path, max_size=100)


def test_a_link_is_followed_and_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "target.bpk").touch()
    (tmp_path / "link.bpk").symlink_to("target.bpk")
    binpickle.dump([1], tmp_path / "link.bpk")
    assert (tmp_path / "link.bpk").is_symlink()
    assert binpickle.load(tmp_path / "target.bpk") == [1]
    for path in (tmp_path, tmp_path / "absent" / "x.bpk"):
        with pytest.raises(OSError, match=path.name):
            binpickle.dump([1], path)


def test_a_small_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binpickle.dump({"x": np.arange(3)}, tmp_path / "x.bpk")
    monkeypatch.setattr(reader, "BinPickleFile", None)
    assert binpickle.load(tmp_path / "x.bpk")["x"].tolist() == [0, 1, 2]


NUMBERS = [0, 1, 127, 128, 255, 256, 65535, 65536]


@pytest.mark.parametrize("n", [1, 15, 16, 300])
@pytest.mark.parametrize("start", NUMBERS)
def test_the_index_is_that_of_msgpack(n: int, start: int) -> None:
    buffers = [bytes([i % 256]) * (i * 7 % 300) for i in range(n)]
    joiner = Joiner(bpk.NAMES, start, 1 << 20, pytest.fail)
    for buffer in buffers:
        joiner.add(buffer)
    joined = joiner.content()
    entries, at = [], start
    for buffer in buffers:
        entries.append(bpk.IndexEntry(at, len(buffer), len(buffer), adler32(buffer)))
        at += len(buffer)
    assert joined == (b"".join(buffers), bpk.encode_index(entries))
    data = bytes(start) + joined[0] + joined[1]
    found = split(data, bpk.NAMES, start, at, len(joined[1]))
    assert found == ([bytearray(buffer) for buffer in buffers[:-1]], buffers[-1])


def test_what_does_not_fit_is_spilled_and_all_after_it() -> None:
    spilled: list[Any] = []
    joiner = Joiner(bpk.NAMES, 0, 5, spilled.append)
    buffers = [b"abc", b"de", b"f", b""]
    for buffer in buffers:
        joiner.add(buffer)
    assert spilled == buffers[2:]
    assert joiner.content()[0] == b"abcde"
    other = Joiner(bpk.NAMES, 0, 500, spilled.append)
    other.add(np.arange(9)[::2])
    assert isinstance(spilled[-1], np.ndarray)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="expected 5 strings"):
        Joiner((b"a",), 0, 10, print)
    with pytest.raises(TypeError):
        Joiner(bpk.NAMES, 0, 10, print).add(1)
    for start, end, size in ((0, 5, 0), (-1, 2, 1), (3, 2, 1), (0, 2, 9), (0, 9, 1)):
        assert split(b"abcdef", bpk.NAMES, start, end, size) is None
