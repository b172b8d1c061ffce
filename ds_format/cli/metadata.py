"""What a file holds, by the names that people know."""

from __future__ import annotations

from typing import Any

from .. import drivers
from ..names import unescape


def variables(path: str) -> dict[str, dict[str, Any]]:
    """Return the metadata of each variable by its unescaped name, sorted.

    Each has `.type` (None if the file does not say), `.size` (None: no data) and `.dims`, made from the name if the
    file does not say.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    """
    found = {unescape(key): dict(entry) for key, entry in drivers.meta(path).items() if key != "."}
    for name, entry in found.items():
        entry.setdefault(".type")
        size = entry.setdefault(".size")
        if entry.get(".dims") is None:
            entry[".dims"] = [f"{name}_{i}" for i in range(1, len(size or ()) + 1)]
    return dict(sorted(found.items()))
