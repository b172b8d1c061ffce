"""Documents of an archive are found where they lie; what archives need is imported when there is one."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ds_format.body.body import PIECE_SIZE
from ds_format.body.named import BytesBody
from ds_format.zds import ZDSStore, pack
from ds_format.zds.members import DeflatedMember

from . import golden

N = 2000
IDS = ("d0", "d1", "d1234", f"d{N - 1}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with ZDSStore.open(tmp_path / "store", "train", mode="w") as store:
        store.put_many((f"d{i}", {"n": i, "text": "x" * 100}) for i in range(N))
    return tmp_path / "store"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the bytes of data.jsonl that are read of a member, but not by the short way."""
    found: list[int] = []

    read, blocks = BytesBody.read, BytesBody.blocks

    def watched_read(member: BytesBody, offset: int, size: int) -> bytes:
        if member.name.endswith("data.jsonl"):
            found.append(size)
        return read(member, offset, size)

    def watched_blocks(member: BytesBody, offset: int = 0, size: int = PIECE_SIZE) -> Iterator[bytes]:
        if member.name.endswith("data.jsonl"):
            found.append(member.size - offset)
        return blocks(member, offset, size)

    monkeypatch.setattr(BytesBody, "read", watched_read)
    monkeypatch.setattr(BytesBody, "blocks", watched_blocks)
    return found


def test_of_stored_members_only_the_documents_are_read(root: Path, tmp_path: Path, reads: list[int]) -> None:
    pack(root, tmp_path / "x.zds")
    reads.clear()
    with ZDSStore.open(tmp_path / "x.zds", "train") as store:
        assert [store[id]["n"] for id in IDS] == [0, 1, 1234, N - 1]
        assert "d7" in store and "e" not in store and len(store) == N
        assert sum(reads) < 200  # where the index ends, and the first line, which has none before it
        assert sum(1 for _ in store.scan()) == N
    with pytest.raises(ValueError, match="closed"):
        store.get("d0")


def test_an_archive_without_an_index_is_read_once(root: Path, tmp_path: Path, reads: list[int]) -> None:
    (root / "collections/train/meta/index.bin").unlink()
    pack(root, tmp_path / "x.zds")
    reads.clear()
    size = (root / "collections/train/meta/data.jsonl").stat().st_size
    with ZDSStore.open(tmp_path / "x.zds", "train") as store:
        assert [store[id]["n"] for id in IDS] == [0, 1, 1234, N - 1]
    assert reads[0] == size and sum(reads[1:]) < 200  # the first line has none before it


def test_deflated_members_are_inflated_once(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(root, tmp_path / "x.zds", "deflate")
    found = []
    inflate = DeflatedMember._inflate

    def watched(member: DeflatedMember) -> Any:
        found.append(member.name.rpartition("/")[2])
        return inflate(member)

    monkeypatch.setattr(DeflatedMember, "_inflate", watched)
    with ZDSStore.open(tmp_path / "x.zds", "train") as store:
        assert sum(1 for _ in store.scan()) == N
        assert "data.jsonl" not in found[:-1]
        assert [store[id]["n"] for id in IDS] == [0, 1, 1234, N - 1]
    assert found.count("data.jsonl") == 1


def test_folders_that_are_cut(root: Path) -> None:
    with ZDSStore.open(root, "train") as store:
        assert store["d1234"]["n"] == 1234
        os.truncate(root / "collections/train/meta/data.jsonl", 1000)
        with pytest.raises(ValueError, match=r"data\.jsonl"):
            store.get(f"d{N - 1}")


def test_stored_members_need_not_be_aligned(tmp_path: Path) -> None:
    for name in ("x", "xy", "xyz"):
        with zipfile.ZipFile(tmp_path / "x.zds", "w") as file:
            file.writestr(name, name)
            file.writestr(f"{golden.META}/index.bin", golden.index(golden.E1, golden.E2))
            file.writestr(f"{golden.META}/data.jsonl", golden.D1 + golden.D2)
        with ZDSStore.open(tmp_path / "x.zds", "train") as store:
            assert [store[id]["_id"] for id in store] == ["d1", "d2"]


def test_folders_need_nothing_of_archives(root: Path) -> None:
    code = """if True:
        import sys
        from ds_format.zds import ZDSStore
        with ZDSStore.open(sys.argv[1], "train", mode="a") as store:
            store.put("new", {})
        with ZDSStore.open(sys.argv[1], "train") as store:
            print(len(store), [name for name in sys.modules if name == "zipfile" or "archive" in name])
    """
    found = subprocess.run([sys.executable, "-c", code, root], capture_output=True, text=True, check=True).stdout
    assert found == f"{N + 1} []\n"
