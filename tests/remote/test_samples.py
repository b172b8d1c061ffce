"""Datadings datasets on a web server: the index first, then only the requested samples."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.sharded import ShardedReader
from ds_format.datadings.torch_ import Dataset, IterableDataset
from ds_format.datadings.writer import FileWriter

from . import server as behaviours
from .server import Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
N = 300
VALUES = np.random.default_rng(1).normal(size=(N, 400))
DATASET: dict[str, Any] = {"x": VALUES, "n": np.arange(N), ".": {"x": {".dims": ["n", "m"]}, "n": {".dims": ["n"]}}}
OPENING = 5
"""Files of a dataset: the data and four index files. They are opened side by side."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("samples")
    with FileWriter(folder / "a.msgpack") as writer:
        for i in range(N):
            writer.write({"key": f"k{i}", "value": VALUES[i], "n": i})
    ds.write(folder / "b.msgpack", DATASET, dim="n")
    return folder


@pytest.fixture
def server(folder: Path, serve: Serve) -> Server:
    return serve({path.name: path.read_bytes() for path in folder.iterdir()})


def numbers(samples: Any) -> list[int]:
    found = [*samples]
    for sample in found:
        np.testing.assert_array_equal(sample["value"], VALUES[sample["n"]])
    return [sample["n"] for sample in found]


def test_a_sample_takes_one_request_after_the_index(server: Server) -> None:
    reader = MsgpackReader(server.url("a.msgpack?token=1"))
    assert len(server.requests) == OPENING and {each.query for each in server.requests} == {"token=1"}
    assert (reader[200]["n"], reader.find("k150")["n"], reader.find_key(-1)) == (200, 150, f"k{N - 1}")
    assert "k7" in reader and "k300" not in reader
    assert len(server.requests) == OPENING + 2
    assert server.sent < OPENING * 65536 + 3 * VALUES[0].nbytes
    assert reader.path == server.url("a.msgpack")


def test_samples_that_are_chosen_come_together(server: Server) -> None:
    reader = MsgpackReader(server.url("a.msgpack"))
    chosen = [250, 100, 101, -1, 100]
    del server.requests[:]
    assert numbers(reader.take(chosen)) == [250, 100, 101, N - 1, 100]
    assert len(server.requests) <= 3
    del server.requests[:]
    with ds.remote(gap=1 << 30):
        reader.close()
        assert numbers(Dataset(reader).__getitems__(chosen)) == [250, 100, 101, N - 1, 100]
    assert len(server.requests) == OPENING + 1


def test_all_samples_take_one_request_for_a_piece(server: Server) -> None:
    reader = MsgpackReader(server.url("a.msgpack"))
    del server.requests[:]
    assert numbers(reader) == [*range(N)]
    assert len(server.requests) == 1
    part = IterableDataset(reader, rank=1, world_size=3)
    assert numbers(part) == [*range(100, 200)]
    assert len(server.requests) == 2


def test_copies_and_shards(server: Server) -> None:
    copy = pickle.loads(pickle.dumps(MsgpackReader(server.url("a.msgpack?token=1"), writable=True)))
    assert copy[3]["value"].flags.writeable
    assert {each.query for each in server.requests} == {"token=1"}
    options: dict[str, Any] = {"storage_options": {"headers": {"X-Key": "1"}}}
    assert len(ShardedReader(server.url("a.msgpack"))) == N
    del server.requests[:]
    reader = ShardedReader([server.url("a.msgpack"), server.url("a.msgpack")], **options)
    assert numbers([reader[5], reader[N + 6]]) == [5, 6]
    assert len(server.received("X-Key", "127.0.0.1")) == len(server.requests)


def test_checksums(server: Server) -> None:
    reader = MsgpackReader(server.url("a.msgpack"))
    assert reader.verify_data() and reader.verify_index()
    server.files["a.msgpack"] = server.files["a.msgpack"].replace(b"value", b"VALUE", 1)
    assert not reader.verify_data() and reader.verify_index()
    del server.files["a.msgpack.md5"]
    with pytest.raises(FileNotFoundError, match=r"a\.msgpack\.md5"):
        reader.verify_data()


def test_a_dataset_of_samples(server: Server, folder: Path) -> None:
    local = ds.read(folder / "b.msgpack")
    found = ds.read(server.url("b.msgpack"))
    assert found["."] == local["."]
    np.testing.assert_array_equal(found["x"], VALUES)
    del server.requests[:]
    part = ds.read(server.url("b.msgpack"), "x", {"n": [3, 200], "m": 7})["x"]
    np.testing.assert_array_equal(part, VALUES[[3, 200], 7])
    assert len(server.requests) == OPENING + 3  # the sidecar file, the checksum of the data, a sample
    handle: Any = pickle.loads(pickle.dumps(ds.open(server.url("b.msgpack"))["x"].handle()))
    np.testing.assert_array_equal(handle[250], VALUES[250])
    np.testing.assert_array_equal(ds.read(server.url("a.msgpack"), "value")["value"], VALUES)  # of another program


def test_missing_files(server: Server) -> None:
    del server.files["a.msgpack.filter"], server.files["a.msgpack.key_hashes"]
    with pytest.warns(UserWarning, match=r"\.key_hashes, \.filter not found"):
        reader = MsgpackReader(server.url("a.msgpack"))
    assert reader.find("k150")["n"] == 150 and "k300" not in reader
    del server.files["a.msgpack.keys"]
    with pytest.warns(UserWarning, match=r"\.keys, \.key_hashes, \.filter not found"):
        assert MsgpackReader(server.url("a.msgpack")).find("k150")["n"] == 150
    del server.files["a.msgpack.offsets"]
    with pytest.raises(FileNotFoundError, match=r"a\.msgpack\.offsets"):
        MsgpackReader(server.url("a.msgpack"))
    with pytest.raises(FileNotFoundError, match=r"absent\.msgpack"):
        ds.read(server.url("absent.msgpack"))
    with pytest.raises(FileNotFoundError, match="no accompanying files"):
        ds.read(io.BytesIO(b"x"), format="datadings")


def test_files_that_do_not_fit_together(server: Server) -> None:
    server.files["a.msgpack"] = server.files["a.msgpack"][:-1]
    with pytest.raises(ds.TruncatedError, match=r"a\.msgpack"):
        MsgpackReader(server.url("a.msgpack"))
    server.files["b.msgpack.offsets"] += b"\0"
    with pytest.raises(ds.FormatError, match=r"b\.msgpack\.offsets"):
        ds.read(server.url("b.msgpack"))


def test_data_that_are_replaced(folder: Path, serve: Serve) -> None:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    other = {"a.msgpack": files["a.msgpack"][::-1]}
    reader = MsgpackReader(serve(files, behaviours.changing(other, first=OPENING)).url("a.msgpack"))
    with pytest.raises(ds.ReplacedError, match=r"a\.msgpack"):
        reader[200]
