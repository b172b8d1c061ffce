"""The values that `expected.json` of a golden dataset describes; the README of the folder has its rules."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import numpy as np

from .made import GOLDEN


class Case(NamedTuple):
    """A golden dataset."""

    path: Path
    expected: dict[str, Any]

    def bytes_of(self, suffix: str) -> bytes:
        return Path(f"{self.path}{suffix}").read_bytes()


def cases() -> dict[str, Case]:
    """Return all intact datasets by the name of their folder."""
    found = {}
    for folder in sorted(path.parent for path in GOLDEN.glob("*/expected.json")):
        expected = json.loads((folder / "expected.json").read_text())
        if "data_file" in expected:
            found[folder.name] = Case(folder / expected["data_file"], expected)
    assert len(found) == 26
    return found


def dtype(described: Any) -> np.dtype[Any]:
    """Return the dtype of a type string or of fields.

    The reference makes fields f0, f1 ... of padding, and of a void type a structure with a field f0. The files have no
    such fields of their own.
    """
    if isinstance(described, str):
        return np.dtype(described)
    if len(described) == 1 and described[0][0] == "f0":
        return np.dtype(described[0][1])
    fields, end = [], 0
    for position, (name, kind, *shape) in enumerate(described):
        one = np.dtype((dtype(kind), tuple(shape[0]) if shape else ()))
        if not (name == f"f{position}" and isinstance(kind, str) and "V" in kind):
            fields.append((name, one, end))
        end += one.itemsize
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": end})


def value(described: Any) -> Any:
    """Return the value that JSON describes."""
    if isinstance(described, list):
        return [value(entry) for entry in described]
    if not isinstance(described, dict):
        return described
    kind = next(iter(described), "")
    inner: Any = described.get(kind)
    match kind:
        case "$float":
            bits = described.get("bits")
            return np.frombuffer(bytes.fromhex(bits), ">f8")[0].item() if bits else float(inner)
        case "$bytes":
            return base64.b64decode(inner)
        case "$map":
            return {value(key): value(entry) for key, entry in inner}
        case "$repeat":
            unit, n = value(inner[0]), inner[1]
            return (bytes([unit]) if isinstance(unit, int) else unit) * n
        case "$ndarray":
            raw = base64.b64decode(inner["raw"])
            return np.ndarray(inner["shape"], dtype(inner["dtype"]), raw)
        case "$npscalar":
            return np.ndarray((), dtype(inner["dtype"]), base64.b64decode(inner["raw"]))[()]
        case "$complex":
            return complex(described["repr"])
        case "$timestamp":
            return msgpack.Timestamp(*inner)
        case "$ext":
            return msgpack.ExtType(inner[0], base64.b64decode(inner[1]))
    return {name: value(entry) for name, entry in described.items()}
