"""The golden files of the ds format, and what their `expected.json` say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "golden" / "ds"


def names(folder: str) -> list[str]:
    """Return the names of the files in one folder, from its index; a file that is missing fails its test."""
    return [entry["name"] for entry in json.loads((FOLDER / folder / "INDEX.json").read_text())]


def present(folder: str) -> list[str]:
    """Return the names of the files that are there."""
    return sorted(path.name.removesuffix(".expected.json") for path in (FOLDER / folder).glob("*.expected.json"))


def expected(folder: str, name: str) -> dict[str, Any]:
    """Return the expected content of a file."""
    found: dict[str, Any] = json.loads((FOLDER / folder / f"{name}.expected.json").read_text())
    return found


def value(item: Any) -> Any:
    """Return a value from the notation of the expected files."""
    if isinstance(item, list):
        return [value(inner) for inner in item]
    if isinstance(item, dict):
        if "$bytes" in item:
            return bytes.fromhex(item["$bytes"])
        if "$float" in item:
            return float(item["$float"])
        return {key: value(inner) for key, inner in item.items()}
    return item


def as_list(data: Any) -> Any:
    """Return data of a dataset in the same notation: nested lists, None where a value is missing."""
    return data.tolist() if isinstance(data, (np.ndarray, np.generic)) else data
