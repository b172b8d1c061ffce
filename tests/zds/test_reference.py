"""The reference program itself reads what is written here, and what it writes is read here; it needs --zippy DIR."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ds_format.zds import ZDSStore

READS = """
import json, sys
import zippy
store = zippy.FastZDSStore.open(sys.argv[1], "train")
found = {id: store.get(id) for id in store.list_doc_ids()}
assert sorted(map(json.dumps, store.scan())) == sorted(map(json.dumps, found.values()))
if len(sys.argv) > 2:
    store.put("theirs", {"n": 7})
store.close()
print(json.dumps(found))
"""
READS_NATIVE = """
import json, sys
import zippy
if zippy.NativeStore is None:
    sys.exit(77)
store = zippy.NativeStore.open(sys.argv[1], "train")
print(json.dumps({id: store.get(id) for id in store.list_doc_ids()}))
"""
ABSENT = 77


@pytest.fixture
def zippy(pytestconfig: pytest.Config) -> str:
    """Where the reference program lies."""
    path: str | None = pytestconfig.getoption("zippy")
    if path is None:
        pytest.skip("needs zippy-data 0.1.2: give --zippy DIR, the folder that has its package `zippy`")
    return path


def run(zippy: str, code: str, *arguments: object) -> dict[str, Any]:
    """Return what a program prints that has the reference."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": zippy}, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == ABSENT:
        pytest.skip("this zippy has no compiled half")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write(path: Path) -> dict[str, Any]:
    """Write a store in several steps; return its documents, without `_id`."""
    documents = {f"d{i}": {"n": i, "t": "é" * (i % 90)} for i in range(2000)}
    with ZDSStore.open(path, "train", mode="w") as store:
        store.put_many(documents.items())
    with ZDSStore.open(path, "train", mode="a") as store:
        store.write_jsonl(b'{"_id":"ISDZ","n":1}\n')
        store.put("d7", {"n": [{"_id": "inner"}]})
        store.delete("d8")
    del documents["d8"]
    return documents | {"ISDZ": {"n": 1}, "d7": {"n": [{"_id": "inner"}]}}


@pytest.mark.parametrize("code", [READS, READS_NATIVE])
def test_the_reference_reads_what_is_written_here(zippy: str, code: str, tmp_path: Path) -> None:
    expected = write(tmp_path / "s")
    assert run(zippy, code, tmp_path / "s") == expected


def test_both_write(zippy: str, tmp_path: Path) -> None:
    expected = write(tmp_path / "s")
    run(zippy, READS, tmp_path / "s", "put")
    with ZDSStore.open(tmp_path / "s", "train", mode="a") as store:
        assert store["theirs"] == {"_id": "theirs", "n": 7}
        store.put("ours", {"n": 8})
    assert run(zippy, READS, tmp_path / "s") == expected | {"theirs": {"n": 7}, "ours": {"n": 8}}


def test_files_of_documents(zippy: str, tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "s", "train", mode="w", layout="docs") as store:
        store.put("a", {"n": 1})
    assert run(zippy, READS, tmp_path / "s") == {"a": {"n": 1}}
