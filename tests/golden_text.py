"""The golden files of the formats that are text, and what their `expected.json` say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ds_format as ds
from ds_format.datasets import as_array

from . import golden_ds
from .same import same_value

FOLDER = Path(__file__).parent / "golden"


def names(folder: str) -> list[str]:
    """Return the names of the files in one folder."""
    suffix = ".expected.json"
    return sorted(path.name.removesuffix(suffix) for path in (FOLDER / folder).glob(f"*{suffix}"))


def expected(folder: str, name: str) -> dict[str, Any]:
    """Return the expected content of a file."""
    found: dict[str, Any] = json.loads((FOLDER / folder / f"{name}.expected.json").read_text())
    return found


def check(folder: str, name: str) -> None:
    """Read a file, and compare it with what is expected."""
    told = expected(folder, name)
    dataset = ds.read(FOLDER / folder / name)
    meta = dataset["."]
    assert {ds.unescape(key) for key in dataset if key != "."} == set(told["variables"])
    assert same_value(meta["."], golden_ds.value(told["dataset_attrs"]))
    for variable, properties in told["variables"].items():
        key = ds.escape(variable)
        assert same_value(as_array(dataset[key]).tolist(), golden_ds.value(properties["data"])), variable
        assert meta[key][".type"] == properties["type"], variable
        assert meta[key][".size"] == properties["size"], variable
        assert meta[key].get(".dims") == properties["dims"], variable
        attributes = {name: value for name, value in meta[key].items() if not name.startswith(".")}
        assert same_value(attributes, golden_ds.value(properties["attrs"])), variable
