"""The JSON Schemas that are shipped, by another validator, and files against them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ds_format.errors import FormatError
from ds_format.zds import ZDSStore, json_schema, list_collections, pack
from ds_format.zds.json_schemas import wrong_values

from . import golden

SPECIFIED = {
    "zds.json": {
        "$schema": "https://zippydata.org/schemas/zds/1.0.json", "version": "1.0", "name": "my_dataset",
        "description": "Optional description", "created": "2025-01-15T10:30:00Z", "modified": "2025-01-15T12:45:00Z",
        "collections": {"train": {"count": 50000}, "test": {"count": 10000}},
    },
    "manifest.json": {
        "version": "0.1.0", "collection": "train", "strict": False, "created_at": "2025-01-15T10:30:00Z",
        "doc_count": 50000, "schema_count": 1,
    },
}  # fmt: skip
"""The examples of the specification."""
WRONG: list[tuple[str, Any]] = [
    *(("zds.json", {"version": "1.0", **wrong}) for wrong in (
        {"version": "2"}, {"version": 1}, {"name": None}, {"created": "now"}, {"collections": 1},
        {"collections": {"a": 1}}, {"collections": {"a": {"count": 1.5}}}, {"collections": {"a": {"count": -1}}},
    )),
    ("zds.json", {}),
    ("zds.json", []),
    *(("manifest.json", wrong) for wrong in (
        {"version": "1.0"}, {"collection": 5}, {"strict": 1}, {"created_at": "2025-01-15"}, {"doc_count": True},
        {"schema_count": "1"}, "text",
    )),
]  # fmt: skip


def files(folder: Path) -> dict[str, Any]:
    """Return zds.json and a manifest.json as they are written here."""
    with ZDSStore.open(folder, "train", mode="w", strict=True) as store:
        store.put("a", {"x": 1})
        store.describe(name="Zoo", description="all")
        store.collection("test").put("b", {})
    paths = {"zds.json": folder / "zds.json", "manifest.json": folder / golden.META / "manifest.json"}
    return {name: json.loads(path.read_bytes()) for name, path in paths.items()}


def test_right_and_wrong_files(tmp_path: Path) -> None:
    for examples in (SPECIFIED, files(tmp_path)):
        for name, value in examples.items():
            assert list(wrong_values(value, json_schema(name))) == []
    for name, value in WRONG:
        assert len(list(wrong_values(value, json_schema(name)))) == 1, (name, value)
    with pytest.raises(ValueError, match=r"name: found 'index\.bin', expected 'zds.json' or"):
        json_schema("index.bin")


def test_another_validator_agrees(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    for examples in (SPECIFIED, files(tmp_path)):
        for name, value in examples.items():
            jsonschema.Draft202012Validator.check_schema(json_schema(name))
            jsonschema.validate(value, json_schema(name), jsonschema.Draft202012Validator)
    for name, value in WRONG:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(value, json_schema(name), jsonschema.Draft202012Validator)


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_collections_of_a_store_that_is_not_open(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    files(path)
    (path / "collections" / ".hidden").mkdir()
    if kind == "archive":
        pack(path, tmp_path / "s.zds")
        path = tmp_path / "s.zds"
    assert list_collections(path) == list_collections(str(path)) == ["test", "train"]
    with pytest.raises(FileNotFoundError):
        list_collections(tmp_path / "absent")
    (tmp_path / "other").mkdir()
    with pytest.raises(FormatError, match="not a ZDS store"):
        list_collections(tmp_path / "other")
