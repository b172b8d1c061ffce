"""Facts of containers → cells: samples, documents, objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...base.wording import bytes_of, on_one_line
from .wrapping import Cell

ENTRIES = 20
"""Most entries of a sample or document, and most lines of the tree of an object, unless all are wanted."""


def told(found: Mapping[str, Any], *, is_long: bool) -> Iterator[Sequence[Cell]]:
    """Yield the cells of each line that tells of a container; of other files there are none."""
    if "samples" in found:
        about = f"{found['samples']}, {bytes_of(found['bytes'])} in all"
        yield _line("samples", f"{about}; {'an index' if found['index'] else 'no index: ds reindex makes one'}")
        if found["first"] is not None:
            yield _line("first key", found["first"]["key"])
            yield _line("first sample", _entries(found["first"]["entries"], is_long))
    for name, one in found.get("collections", {}).items():
        n = one["documents"]
        index = "no index" if one["index"] is None else f"index of {bytes_of(one['index'])}"
        layout = "" if one["layout"] is None else f" as {'lines' if one['layout'] == 'jsonl' else 'files'}"
        about = f"{n} document{'s' if n != 1 else ''}{layout}, {bytes_of(one['bytes'])}"
        yield _line("collection", f"{name}: {about}; {index}")
        if one["first"] is not None:
            yield _line("first document", _entries(one["first"], is_long))
    if "object" in found:
        n = found["buffers"]
        yield _line("buffers", f"{n}{', mappable' if found['mappable'] else ''}")
        if "variables" not in found:
            lines = [*found["object"].lines()]
            yield _line("object", "")
            shown = lines if is_long else lines[:ENTRIES]
            yield from ([[(f"  {on_one_line(line)}", "")]] for line in shown)
            if len(shown) < len(lines):
                yield [[(f"  ... {len(lines) - len(shown)} more lines: ds inspect prints all", "hint")]]


def _line(name: str, text: str) -> Sequence[Cell]:
    return [[(name, "head"), (":", "")], [(on_one_line(text), "")]]


def _entries(entries: Any, is_long: bool) -> str:
    if not isinstance(entries, dict):
        return str(entries)
    shown = [f"{name}: {kind}" for name, kind in entries.items()]
    if not is_long and len(shown) > ENTRIES:
        shown = [*shown[:ENTRIES], f"... {len(shown) - ENTRIES} more"]
    return ", ".join(shown)
