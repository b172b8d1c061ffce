"""ZDS stores on a web server: the index first, then only the requested documents."""

from __future__ import annotations

import io
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.zds import ZDataset, ZDSStore, ZIterableDataset, list_collections, pack, validate
from ds_format.zds.roots import FolderElsewhere

from .server import Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
N = 2000
TEXT = "".join(np.random.default_rng(1).choice([*"abcdefgh "], 300))
IDS = [f"n{i}" for i in range(N)]
OPENING = {"stored.zds": 5, "deflated.zds": 5, "folder": 7}
"""At most this many requests to open a store and read its index: for its ends or zds.json, and its members."""


def document(i: int) -> dict[str, Any]:
    return {"_id": f"n{i}", "x": i, "text": f"{i} {TEXT[i % 50 :]}"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("documents")
    with ZDSStore.open(folder / "folder", "train", mode="w") as store:
        store.put_many(map(document, range(N)))
    with ZDSStore.open(folder / "folder", "apart", mode="w", layout="docs") as store:
        store.put_many([("a", {"x": 1}), ("b", {"x": 2})])
    (folder / "folder/collections/apart/meta/order.ids").write_text("b\na\n")
    pack(folder / "folder", folder / "stored.zds")
    pack(folder / "folder", folder / "deflated.zds", compression="deflate")
    dims = {"x": {".dims": ["n", "m"]}, "y": {".dims": ["n"]}}
    ds.write(folder / "dataset.zds", {"x": np.arange(6000.0).reshape(N, 3), "y": np.arange(N), ".": dims}, dim="n")
    return folder


@pytest.fixture
def server(folder: Path, serve: Serve) -> Server:
    return serve({
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    })


@pytest.mark.parametrize("name", OPENING)
def test_a_document_takes_one_request_after_the_index(name: str, server: Server) -> None:
    store = ZDSStore.open(server.url(f"{name}?token=1"), "train")
    assert len(store) == N and "n7" in store and "m7" not in store
    assert len(server.requests) <= OPENING[name] + 1 and {each.query for each in server.requests} == {"token=1"}
    store["n1500"]
    del server.requests[:]
    assert store["n1000"] == document(1000)
    with pytest.raises(KeyError):
        store["m1000"]
    assert len(server.requests) <= (0 if name == "deflated.zds" else 1) + (name == "folder")
    assert (store.path, store.collections()) == (server.url(name), ["apart", "train"])
    assert list_collections(server.url(name)) == ["apart", "train"]


@pytest.mark.parametrize("name", ["stored.zds", "folder"])
def test_documents_that_are_chosen_come_together(name: str, server: Server) -> None:
    with ds.remote(gap=1 << 30):
        dataset = ZDataset.from_store(server.url(name), "train")
    del server.requests[:]
    assert dataset.__getitems__([1900, 500, 501, 700]) == [document(i) for i in (1900, 500, 501, 700)]
    assert list(dataset.shuffle(seed=1).map(lambda each: each["x"]).take(5))
    assert len(server.requests) <= 2


@pytest.mark.parametrize("name", OPENING)
def test_all_documents_take_one_request_for_a_piece(name: str, server: Server) -> None:
    stream = ZIterableDataset.from_store(server.url(name), "train", where="x>=1990")
    len(stream._store)
    del server.requests[:]
    assert list(stream) == [document(i) for i in range(1990, N)]
    assert len(server.requests) <= 2
    assert list(ZDSStore.open(server.url(name), "train", index="ignore"))[-2:] == IDS[-2:]


@pytest.mark.parametrize("name", OPENING)
def test_separate_files_and_copies(name: str, server: Server) -> None:
    store = pickle.loads(pickle.dumps(ZDSStore.open(server.url(f"{name}?token=1"), "apart")))
    assert store["b"] == {"_id": "b", "x": 2} and list(store) == ["b", "a"] and len(store) == 2
    with pytest.raises(KeyError):
        store["c"]
    assert store.collection("train")["n5"] == document(5)
    assert {each.query for each in server.requests} == {"token=1"}


def test_options(server: Server) -> None:
    options: dict[str, Any] = {"storage_options": {"headers": {"X-Key": "1"}}}
    assert ZDSStore.open(server.url("folder"), "train", **options)["n5"] == document(5)
    assert list_collections(server.url("stored.zds"), **options) == ["apart", "train"]
    assert len(server.received("X-Key", "127.0.0.1")) == len(server.requests)


def test_a_dataset_of_documents(server: Server, folder: Path, tmp_path: Path) -> None:
    local = ds.read(folder / "dataset.zds")
    url = server.url("dataset.zds")
    found = ds.read(url)
    assert found["."] == local["."]
    np.testing.assert_array_equal(found["x"], local["x"])
    np.testing.assert_array_equal(ds.read(url, "x", {"n": [3, 1500], "m": 1})["x"], local["x"][[3, 1500], 1])
    handle: Any = pickle.loads(pickle.dumps(ds.open(url)["x"].handle()))
    np.testing.assert_array_equal(handle[1700], local["x"][1700])
    server.files["dataset.zds"] += b" "
    with pytest.raises(ds.DsError, match=r"dataset\.zds"):
        handle[1700]
    shutil.copyfile(folder / "dataset.zds", tmp_path / "copy.zds")
    with (tmp_path / "copy.zds").open("rb") as file:
        np.testing.assert_array_equal(ds.read(file, "x")["x"], local["x"])
    content = io.BytesIO((folder / "dataset.zds").read_bytes())
    np.testing.assert_array_equal(ds.read(content, "y")["y"], local["y"])
    groups = ds.read(server.url("folder"), "train/x", format="zds")
    np.testing.assert_array_equal(groups["train/x"], np.arange(N))


def test_what_is_not_a_store(server: Server) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        ZDSStore.open(server.url("absent"))
    with pytest.raises(FileNotFoundError, match=r"absent\.zds"):
        ds.read(server.url("absent.zds"))
    server.files["page.zds"] = b"<!doctype html><title>Sign in</title>"
    with pytest.raises(ds.FormatError, match=r"page\.zds.*HTML page"):
        ds.read(server.url("page.zds"))
    server.files["cut.zds"] = server.files["stored.zds"][:-30]
    with pytest.raises(ds.FormatError, match=r"cut\.zds"):
        ZDSStore.open(server.url("cut.zds"))
    with pytest.raises(ds.MissingError, match="no collection 'other'; there are: apart, train"):
        ZDSStore.open(server.url("folder"), "other")
    with pytest.raises(ds.UnsupportedError, match="read only"):
        ZDSStore.open(server.url("folder"), "train", mode="a")
    with pytest.raises(ds.UnsupportedError, match="cannot be listed"):
        ZDSStore.open(server.url("folder"), "train", strict=True)
    assert len(ZDSStore.open(server.url("stored.zds"), "train", strict=True)) == N
    assert validate(server.url("stored.zds")) == []


def test_a_page_that_lists_a_folder(server: Server) -> None:
    server.files["folder"] = b"<html>collections, zds.json</html>"
    assert ZDSStore.open(server.url("folder"), "train")["n3"] == document(3)


def test_names_do_not_leave_the_folder(server: Server) -> None:
    root = FolderElsewhere(ds.drivers.located(server.url("folder")))
    with pytest.raises(ds.UnsafeError, match=r"'\.\.'"):
        root.open("collections/../../stored.zds")
    server.files["folder/zds.json"] = b'{"version":"1.0","collections":{"../../x":{"count":1},"train":{"count":1}}}'
    assert list_collections(server.url("folder")) == ["train"]
    server.files["folder/zds.json"] = b"[]"
    with pytest.raises(ds.FormatError, match=r"zds\.json"):
        list_collections(server.url("folder"))


def test_data_that_are_replaced(server: Server) -> None:
    name = "folder/collections/train/meta/data.jsonl"
    store = ZDSStore.open(server.url("folder"), "train")
    assert store["n1500"] == document(1500)
    server.files[name] = server.files[name][::-1]
    with pytest.raises(ds.ReplacedError, match=r"data\.jsonl"):
        [*store.take(IDS[500::100])]


def test_a_local_header_that_is_longer_than_the_directory_says(tmp_path: Path, serve: Serve) -> None:
    with zipfile.ZipFile(tmp_path / "x.zds", "w") as file:
        info = zipfile.ZipInfo("collections/train/meta/data.jsonl")
        info.extra = b"\xfe\xca\x90\x00" + bytes(144)
        file.writestr(info, "".join(f'{{"_id":"n{i}","text":"{TEXT}"}}\n' for i in range(N)))
    data = (tmp_path / "x.zds").read_bytes()
    at = data.index(b"PK\x01\x02")
    name = b"collections/train/meta/data.jsonl"
    entry = bytearray(data[at:])
    assert entry[30:32] == (148).to_bytes(2, "little")
    entry[30:32] = bytes(2)
    del entry[46 + len(name) : 46 + len(name) + 148]
    end = entry.index(b"PK\x05\x06")
    entry[end + 12 : end + 16] = (end).to_bytes(4, "little")
    server = serve({"x.zds": data[:at] + bytes(entry)})
    store = ZDSStore.open(server.url("x.zds"), "train")
    assert store["n1999"]["text"] == TEXT and len(store) == N
