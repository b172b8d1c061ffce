"""Several datasets as one."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from ds_format.datadings.lists import ListReader
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.sharded import ShardedReader
from ds_format.errors import FormatError, IntegrityError

from .made import GOLDEN, values, write, write_numbers

SIZES = {"part-1": 4, "part-2": 0, "part-9": 3, "part-10": 5, "part-011": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    first = 0
    for name, n in SIZES.items():
        write_numbers(tmp_path / f"{name}.msgpack", n, first)
        first += n
    return tmp_path


def test_golden_shards() -> None:
    reader = ShardedReader(str(GOLDEN / "33_shards" / "shard-*.msgpack"))
    assert [sample["key"] for sample in reader] == [f"k{i}" for i in range(9)]
    assert [reader.find_index(f"k{i}") for i in range(9)] == list(range(9))


def test_shards_follow_one_another_in_natural_order(folder: Path) -> None:
    with ShardedReader(folder / "part-*") as reader:
        n = len(reader)
        assert n == 12
        assert values(reader) == values(reader) == [reader[i]["v"] for i in range(n)] == list(range(n))
        assert [reader.get(i, yield_key=True, raw=True)[0] for i in range(-n, 0)] == [f"k{i}" for i in range(n)]
        assert [reader.find_key(i) for i in range(-n, n)] == [f"k{i}" for i in range(n)] * 2
        assert [reader.find(f"k{i}")["v"] for i in range(n)] == list(range(n))
        for start in range(-n - 1, n + 2):
            for stop in range(-n - 1, n + 2):
                assert values(reader.iter(start, stop)) == list(range(n))[start:stop]
        assert values(reader[::-5]) == list(range(n))[::-5]
    assert all(isinstance(shard, MsgpackReader) and shard._opened is None for shard in reader.shards)


def test_lists_of_paths_and_readers(folder: Path) -> None:
    more = ListReader([{"key": "more", "v": 7}])
    reader = ShardedReader([str(folder / "part-9.msgpack"), folder / "part-1.msgpack", more])
    assert values(reader) == [4, 5, 6, 0, 1, 2, 3, 7]
    assert reader.find_index("more") == 7
    assert values(pickle.loads(pickle.dumps(reader))) == values(reader)
    reader.seek_key("k0")
    assert reader.next()["v"] == 0


def test_what_is_not_there(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no dataset has such a name"):
        ShardedReader(folder / "nothing-*.msgpack")
    with pytest.raises(FileNotFoundError):
        ShardedReader([folder / "nothing.msgpack"])
    reader = ShardedReader(folder / "part-*.msgpack")
    assert "k12" not in reader
    with pytest.raises(KeyError, match="k12"):
        reader.find_index("k12")
    for index in (12, -13):
        with pytest.raises(IndexError):
            reader.get(index)
    nothing = ShardedReader([])
    assert len(nothing) == 0
    assert list(nothing) == []
    with pytest.raises(IndexError):
        nothing.get(0)


def test_more_shards_than_files_may_be_open(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shards = [write_numbers(tmp_path / f"{i}.msgpack", 1, i) for i in range(80)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 20, hard))
    try:
        reader = ShardedReader(shards)
        assert values(reader) == list(range(80))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_keys_of_several_shards_are_noticed(folder: Path) -> None:
    write_numbers(folder / "other.msgpack", 2, 3)
    reader = ShardedReader([folder / "part-1.msgpack", folder / "other.msgpack"])
    assert reader.find_index("k2") == 2
    with pytest.raises(FormatError, match=r"several shards have the key 'k3': .*part-1\.msgpack, .*other\.msgpack"):
        reader.find_index("k3")


def test_a_sample_found_by_key_has_this_key(tmp_path: Path) -> None:
    write(tmp_path / "data.msgpack", {"a": b"\x81\xa3key\xa1b"})
    with pytest.raises(IntegrityError, match="found the key 'b'"):
        ShardedReader([tmp_path / "data.msgpack"]).find("a")
