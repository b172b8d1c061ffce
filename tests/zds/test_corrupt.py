"""Every broken or hostile store: what is read of it, what the strict say, what `validate` says; nothing crashes."""

from __future__ import annotations

import json
import re
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ds_format.errors import DsError
from ds_format.zds.faults import ERROR, WARNING, Finding, ZdsWarning
from ds_format.zds.store import ZDSStore
from ds_format.zds.validation import validate

from . import golden
from .golden import everything

MAX_MEMORY = 8 << 20
"""Bytes; the largest of the stores has 50 MB, if one inflates it."""

# what is warned about in reading, or None: it is seen only in validation, as the documents are not harmed by it
WARNINGS: dict[str, str | None] = {
    "deep_nesting": r"data\.jsonl: line 1, byte \d+: more than 512",
    "docs_id_mismatch": r"docs/a\.json: _id is 'b'",
    "docs_invalid_json": r"docs/(bad|arr|empty)\.json: .*byte",
    "docs_odd_names": r"docs/: .*'(B\.JSON|a b\.json|sub/c\.json|\.hidden\.json|\.a\.tmp)'",
    "docs_order_ids_stale": r"order\.ids",
    "docs_order_ids_traversal": r"order\.ids: '\.\./",
    "duplicate_ids": r"data\.jsonl: line 3, byte 38: .* byte 0",
    "duplicate_json_keys": r"data\.jsonl: line 2, byte \d+: the key _id occurs twice",
    "id_65536": r"data\.jsonl: line 1, byte \d+: the _id is longer than 65535",
    "id_missing": r"data\.jsonl: line 1, byte \d+: no _id",
    "id_not_string": r"data\.jsonl: line [12], byte \d+: the _id is not a string",
    **{name: r"index\.bin: " for name in golden.CORRUPT if name.startswith("index_")},
    "index_stale_appended": r"index\.bin: .* 19 bytes",
    "invalid_utf8": r"data\.jsonl: line 1, byte 16: not UTF-8",
    "lone_surrogate": r"data\.jsonl: line 1, byte \d+: half a surrogate pair",
    "manifest_not_json": r"manifest\.json: byte \d+",
    "manifest_wrong_collection": r"manifest\.json: .*'other'.*'train'",
    "manifest_wrong_count": None,
    "nan_infinity": r"data\.jsonl: line 1, byte \d+: NaN and Infinity are not JSON",
    "not_an_object": r"data\.jsonl: line [123], byte \d+: not an object",
    "nul_bytes_tail": r"data\.jsonl: line 3, byte 38: a torn line of 4096 bytes",
    "number_out_of_range": r"data\.jsonl: line 1, byte \d+: a number outside",
    "object_over_two_lines": r"data\.jsonl: line [1-4], byte \d+",
    "overlong_utf8": r"data\.jsonl: line 1, byte 16: not UTF-8",
    "strict_manifest_mixed_schema": None,
    "truncated_last_line": r"data\.jsonl: (line 2, )?byte 19: a torn line of 13 bytes",
    "truncated_last_line_indexed": r"data\.jsonl: line 2, byte 19: a torn line of 13 bytes",
    "zds_lists_missing_collection": r"zds\.json: .*'ghost'",
    "zds_version_2": r"zds\.json: .*'2\.0'",
    **dict.fromkeys(
        ("id_256", "id_dot", "id_dotdot_inside", "id_leading_dot", "id_newline", "id_nul", "id_slash", "id_traversal")
    ),
    **{
        name: rf"dataset\.zds: left out '{member}"
        for name, member in {
            "zip_absolute": "/tmp/zds_evil.txt", "zip_backslash": r"\.\.", "zip_collection_dotdot": "collections/../x",
            "zip_dotdot": r"\.\./evil\.txt", "zip_dotdot_inside": "collections/train/../../../evil.txt",
            "zip_symlink": "link",
        }.items()
    },
    "zip_bomb_small": None,
}  # fmt: skip
ERRORS = {
    "not_a_store": r"store: neither collections/ nor zds\.json",
    "zip_crc_error": r"data\.jsonl: CRC-32",
    "zip_empty_file": r"dataset\.zds: the file is empty",
    "zip_method_93": r"dataset\.zds.*method 93",
    "zip_size_lie": r"announced",
    "zip_truncated": r"dataset\.zds: not a ZIP archive",
    "zip_two_roots": r"dataset\.zds: more than one store",
}
COLLECTIONS = {"zip_size_lie": "test"}


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """No store takes much memory, whatever it announces."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MAX_MEMORY


def read(path: Path, collection: str = "train", **options: Any) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the documents of a collection and all warnings, after all ways to read were compared."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with ZDSStore.open(path, collection, **options) as store:
            documents = {document["_id"]: document for document in store.scan()}
            assert list(store) == list(documents)
            assert len(store) == len(documents)
            for key, document in documents.items():
                assert store[key] == document and key in store
            assert len(list(store.scan_raw())) == len(documents)
        with ZDSStore.open(path, collection, **options) as store:  # in the other order: by id before anything was read
            for key, document in documents.items():
                assert store[key] == document
            assert store.get("ghost", None) is None
            assert len(store) == len(documents) and list(store.scan()) == list(documents.values())
    assert {warning.category for warning in caught} <= {ZdsWarning}
    return documents, [str(warning.message) for warning in caught]


def expected_documents(name: str) -> dict[str, dict[str, Any]] | None:
    lenient = golden.expected(f"corrupt/{name}")["lenient"]
    if lenient is None:
        return None
    if name == "id_65536":
        return {"d1": {"_id": "d1", "x": 1}, "d2": {"_id": "d2", "x": 2}}
    if name == "number_out_of_range":
        text = (golden.FOLDER / "corrupt" / name / "store" / golden.META / "data.jsonl").read_bytes()
        return {document["_id"]: document for document in map(json.loads, text.splitlines())}
    documents = lenient["docs"].get("train", lenient["docs"]) if name == "zip_bomb_small" else lenient["docs"]
    return golden.with_ids({key: documents[key] for key in lenient.get("ids", documents)})


@pytest.mark.parametrize("name", golden.CORRUPT)
def test_lenient(name: str, tmp_path: Path) -> None:
    path = golden.copy(f"corrupt/{name}", tmp_path)
    before = everything(path.parent)
    lenient, expected = golden.expected(f"corrupt/{name}")["lenient"], expected_documents(name)
    if expected is None:
        with pytest.raises((DsError, OSError), match=ERRORS[name]):
            read(path, COLLECTIONS.get(name, "train"))
    else:
        documents, told = read(path)
        assert documents == expected
        assert "ids" not in lenient or list(documents) == lenient["ids"]
        pattern = WARNINGS[name]
        if pattern is not None:
            assert any(re.search(pattern, text) for text in told), told
            assert all(str(tmp_path) in text for text in told)
    assert everything(path.parent) == before


@pytest.mark.parametrize("name", golden.CORRUPT)
def test_strict(name: str, tmp_path: Path) -> None:
    path = golden.copy(f"corrupt/{name}", tmp_path)
    if golden.expected(f"corrupt/{name}")["strict"] == "error":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZdsWarning)
            with pytest.raises((DsError, OSError)) as caught:
                read(path, COLLECTIONS.get(name, "train"), strict=True)
        assert str(tmp_path) in str(caught.value)
    else:
        documents, told = read(path, strict=True)
        assert documents == expected_documents(name)
        assert told


@pytest.mark.parametrize("name", golden.CORRUPT)
def test_validate(name: str, tmp_path: Path) -> None:
    path = golden.copy(f"corrupt/{name}", tmp_path)
    before = everything(path.parent)
    problems = validate(path)
    severities = {problem.severity for problem in problems}
    if golden.expected(f"corrupt/{name}")["strict"] == "error":
        assert ERROR in severities
    else:
        assert severities == {WARNING}
    assert all(str(path) in problem.path for problem in problems)
    assert everything(path.parent) == before


@pytest.mark.parametrize("name", golden.MADE)
def test_made(name: str, tmp_path: Path) -> None:
    made = golden.MADE[name]
    path = golden.make(name, tmp_path)
    documents, told = read(path)
    assert documents == golden.with_ids(made.lenient)
    assert list(documents) == list(made.lenient)
    assert all(str(tmp_path) in text for text in told)
    problems = validate(path)
    assert made.told in "\n".join(map(str, problems))
    assert (made.strict == "error") == any(problem.severity == ERROR for problem in problems)
    if made.strict == "error":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZdsWarning)
            with pytest.raises((DsError, OSError)):
                ZDSStore.open(path, "train", strict=True)
    else:
        assert read(path, strict=True)[0] == documents


def test_a_link_that_leads_out(tmp_path: Path) -> None:
    """It is not followed, and neither is a folder that is a link."""
    golden.write(tmp_path, {"secret.json": b'{"top":"secret"}', "else/data.jsonl": golden.D1})
    root = golden.write(tmp_path / "root", {"collections/train/docs/a.json": b'{"n":1}'})
    (root / "collections/train/docs/evil.json").symlink_to(tmp_path / "secret.json")
    (root / "collections/train/meta").symlink_to(tmp_path / "else")
    (root / "collections/linked").symlink_to(tmp_path / "else")
    told = "\n".join(map(str, validate(root)))
    assert "evil.json" in told and "meta" in told and "linked" in told
    with pytest.raises(DsError, match="link"):
        read(root)
    (root / "collections/train/meta").unlink()
    documents, told_in_reading = read(root)
    assert documents == {"a": {"_id": "a", "n": 1}}
    assert "evil.json" in "\n".join(told_in_reading)


def test_problems_say_where(tmp_path: Path) -> None:
    path = golden.copy("corrupt/duplicate_ids", tmp_path)
    [problem] = validate(path)
    assert problem == Finding(str(path / golden.META / "data.jsonl"), "train", 3, 38, ERROR, problem.message)
    assert "line 1" in problem.message
