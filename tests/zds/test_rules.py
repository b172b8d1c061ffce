"""The rules and the two simulated readers against what the reference program really did with the golden stores."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ds_format.zds.store import ZDSStore

from . import golden, oracle, rules

RESULTS: dict[str, Any] = json.loads((golden.FOLDER / "reference_results.json").read_text())["results"]
STORES = [name for name in (*golden.WHOLE, *(f"corrupt/{name}" for name in golden.CORRUPT)) if name in RESULTS]
OTHER_JSON = {"corrupt/lone_surrogate", "corrupt/number_out_of_range"}  # orjson refuses what the json module takes


def first_collection(name: str) -> tuple[bytes | None, bytes | None]:
    """Return data.jsonl and index.bin of the first collection of a store, which the results are of."""
    files = {
        path.relative_to(golden.FOLDER / name / "store").as_posix(): path.read_bytes()
        for path in sorted((golden.FOLDER / name / "store").rglob("*"))
        if path.is_file()
    }
    folders = sorted({path.split("/")[1] for path in files if path.startswith("collections/")})
    folder = f"collections/{folders[0]}/meta" if folders else ""
    return files.get(f"{folder}/data.jsonl"), files.get(f"{folder}/index.bin")


@pytest.mark.parametrize("name", [name for name in STORES if isinstance(RESULTS[name].get("native_FastStore"), dict)])
def test_native(name: str) -> None:
    told = RESULTS[name]["native_FastStore"]
    data, index = first_collection(name)
    found = rules.native(data, index)
    assert told["open"] == f"ok len={len(found)}"
    if not told["ids"].endswith("…"):
        assert json.loads(told["ids"], strict=False) == sorted(found)


PURE = [
    name
    for name in STORES
    if name not in OTHER_JSON and "python_FastZDSStore" in RESULTS[name] and first_collection(name)[0] is not None
]
"""Without data.jsonl the reference program makes one from documents, which is another store."""


@pytest.mark.parametrize("name", PURE)
def test_pure_python(name: str) -> None:
    told = RESULTS[name]["python_FastZDSStore"]
    data, index = first_collection(name)
    assert data is not None
    if "open" in told:
        with pytest.raises((ValueError, AttributeError)):
            rules.pure_python(data, index)
        return
    found = rules.pure_python(data, index)
    if name == "corrupt/deep_nesting" and sys.version_info >= (3, 14):
        del found["deep"]  # the json of Python does not refuse it any more
    assert told["count"] == len(found)
    without = {str(id): {k: v for k, v in document.items() if k != "_id"} for id, document in found.items()}
    for id, document in told.get("get", {}).items():
        if len(id) < 40:  # longer ones were cut
            assert without[id] == document


@pytest.mark.parametrize("name", ["seed_one", "seed_multi", "seed_nested", "seed_unicode", "seed_1000", "seed_empty"])
def test_the_seed_keeps_the_rules(name: str, tmp_path: Path) -> None:
    assert rules.broken(golden.copy(name, tmp_path)) == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("quirk_spaces", "does not begin with its _id"),
        ("quirk_magic_zdsi", "the magic of index.bin"),
        ("quirk_len_without_newline", "index.bin differs"),
        ("quirk_bom", "BOM"),
        ("ref_native_three", "index.bin differs"),
        ("ref_py_docs", "manifest.json counts 0"),
        ("corrupt/duplicate_ids", "twice"),
        ("corrupt/manifest_wrong_count", "zds.json counts"),
    ],
)
def test_rules_are_seen_to_be_broken(name: str, told: str, tmp_path: Path) -> None:
    assert told in "\n".join(rules.broken(golden.copy(name, tmp_path)))


@pytest.mark.parametrize("name", golden.WHOLE)
def test_oracle(name: str, tmp_path: Path) -> None:
    found = oracle.read_store(golden.copy(name, tmp_path))
    for collection in golden.expected(name)["collections"]:
        documents = found.get(collection, {})
        assert documents == golden.documents(name, collection)
        assert list(documents) == list(golden.documents(name, collection))


IDS = st.sampled_from(["a", "b", "c", "-", "_x.y", "0" * 255, "CON"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
CHANGES = st.lists(
    st.tuples(st.just("put"), IDS, st.dictionaries(st.text().filter(lambda key: key != "_id"), VALUES, max_size=3))
    | st.tuples(st.sampled_from(["delete", "flush", "reopen", "compact"]), IDS, st.none()),
    max_size=12,
)


@given(CHANGES, st.sampled_from(["jsonl", "docs"]))
def test_what_is_written_keeps_the_rules(changes: list[tuple[str, str, Any]], layout: Any) -> None:
    """Whatever was done to a store, when it is closed both halves of the reference read the same of it as we do."""
    expected: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "s"
        store = ZDSStore.open(root, "train", mode="w", layout=layout)
        for what, key, document in changes:
            key = key[:250] if layout == "docs" else key
            if what == "put":
                store.put(key, document)
                expected[key] = {"_id": key, **document}
            elif what == "delete":
                assert (key in store) == (key in expected)
                if expected.pop(key, None) is not None:
                    store.delete(key)
            elif what == "reopen":
                store.close()
                store = ZDSStore.open(root, "train", mode="a", layout=layout)
            else:
                getattr(store, what)()
        store.close()
        assert rules.broken(root) == []
        assert oracle.read_store(root).get("train", {}) == expected
        meta = root / golden.META
        if layout == "jsonl":
            data, index = (meta / "data.jsonl").read_bytes(), (meta / "index.bin").read_bytes()
            assert rules.native_documents(data, index) == rules.native_documents(data, None) == expected
            assert rules.pure_python(data, index) == rules.pure_python(data, None) == expected
