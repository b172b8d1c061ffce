"""The golden stores and what their `expected.json` say; broken stores that are shorter in code than in files."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "golden" / "zds"
META = "collections/train/meta"
Files = Mapping[str, bytes]

# Git keeps no empty folders.
EMPTY_FOLDERS = {
    "seed_empty_dirs": ("collections/default/meta", "collections/default/docs"),
    "seed_no_collections": ("collections",),
    "ref_py_fast_empty": ("collections/train/meta", "collections/train/docs"),
    "ref_py_docs_empty": ("collections/train/docs",),
    "ref_native_root_multi": ("metadata", ".zds"),
}
WHOLE = (
    "arc_data_descriptor", "arc_deflate", "arc_dotslash", "arc_macos_junk", "arc_prefixed", "arc_refpack_like",
    "arc_store", "arc_zip_r_rootfolder", "quirk_blank_lines", "quirk_bom", "quirk_id_escaped", "quirk_id_not_first",
    "quirk_index_paper_place", "quirk_index_text", "quirk_len_without_newline", "quirk_magic_zdsi", "quirk_spaces",
    "quirk_superseded_and_deleted", "ref_native_empty", "ref_native_one", "ref_native_root_multi", "ref_native_three",
    "ref_py_docs", "ref_py_docs_empty", "ref_py_fast_compacted", "ref_py_fast_empty", "ref_py_fast_nested",
    "ref_py_fast_one", "ref_py_fast_unicode", "ref_py_fast_update_delete", "seed_1000", "seed_1000_noindex",
    "seed_both_modes", "seed_empty", "seed_empty_dirs", "seed_multi", "seed_nested", "seed_no_collections", "seed_one",
    "seed_unicode",
)  # fmt: skip
CORRUPT = (
    "deep_nesting", "docs_id_mismatch", "docs_invalid_json", "docs_odd_names", "docs_order_ids_stale",
    "docs_order_ids_traversal", "duplicate_ids", "duplicate_json_keys", "id_256", "id_65536", "id_dot",
    "id_dotdot_inside", "id_leading_dot", "id_missing", "id_newline", "id_not_string", "id_nul", "id_slash",
    "id_traversal", "index_count_minus_one", "index_duplicate_id", "index_empty_file", "index_id_not_utf8",
    "index_length_past_end", "index_mid_line", "index_overlapping", "index_past_end", "index_stale_appended",
    "index_stale_same_size", "index_swapped", "index_truncated", "index_unknown_id", "index_wrong_magic",
    "index_zero_id_len", "invalid_utf8", "lone_surrogate", "manifest_not_json", "manifest_wrong_collection",
    "manifest_wrong_count", "nan_infinity", "not_a_store", "not_an_object", "nul_bytes_tail", "number_out_of_range",
    "object_over_two_lines", "overlong_utf8", "strict_manifest_mixed_schema", "truncated_last_line",
    "truncated_last_line_indexed", "zds_lists_missing_collection", "zds_version_2", "zip_absolute", "zip_backslash",
    "zip_bomb_small", "zip_collection_dotdot", "zip_crc_error", "zip_dotdot", "zip_dotdot_inside", "zip_empty_file",
    "zip_method_93", "zip_size_lie", "zip_symlink", "zip_truncated", "zip_two_roots",
)  # fmt: skip


def expected(name: str) -> dict[str, Any]:
    """Return what is known of a store."""
    found: dict[str, Any] = json.loads((FOLDER / name / "expected.json").read_text())
    return found


def documents(name: str, collection: str) -> dict[str, dict[str, Any]]:
    """Return the documents of a collection, with their `_id`, in their order."""
    entry = expected(name)["collections"][collection]
    if "docs_file" in entry:
        lines = (FOLDER / name / entry["docs_file"]).read_text("utf-8").split("\n")
        found = {document["_id"]: document for document in map(json.loads, filter(None, lines))}
        assert len(found) == entry["count"]
        return found
    return with_ids({id: entry["docs"][id] for id in entry["ids"]})


def with_ids(documents: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return documents with their `_id` as first member."""
    return {id: {"_id": id, **document} for id, document in documents.items()}


def digest(documents: Iterable[Mapping[str, Any]]) -> str:
    """Return the `docs_sha256` of documents."""
    found = hashlib.sha256()
    for document in documents:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        found.update(text.encode() + b"\n")
    return found.hexdigest()


def copy(name: str, folder: Path) -> Path:
    """Put a copy of a store into a folder, with its neighbours and empty folders; return its path."""
    entry = expected(name)
    target = folder / name.replace("/", "_")
    shutil.copytree(FOLDER / name, target)
    store = target / (entry.get("archive") or entry["root"])
    for path in EMPTY_FOLDERS.get(name, ()):
        (store / path).mkdir(parents=True)
    return store


def line(id: Any, **document: Any) -> bytes:
    return json.dumps({"_id": id, **document}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def index(
    *entries: tuple[bytes, int, int], magic: bytes = b"ISDZ", version: int = 1, count: int | None = None
) -> bytes:
    """Return an index.bin of entries: id, offset, length."""
    packed = (struct.pack("<H", len(id)) + id + struct.pack("<QI", offset, length) for id, offset, length in entries)
    return magic + struct.pack("<IQ", version, len(entries) if count is None else count) + b"".join(packed)


class Made(NamedTuple):
    """A store of a few bytes.

    Attributes
    ----------
    files : dict
        Names below `collections/train` and bytes.
    lenient : dict
        The documents that are served, without `_id`, in their order.
    strict : str
        "error": `open(strict=True)` refuses it; "warning": it may or may not; "fine": nothing is wrong with it.
    told : str
        A part of a problem that `validate` gives.
    """

    files: Files
    lenient: dict[str, dict[str, Any]]
    strict: str
    told: str


D1, D2 = line("d1", x=1), line("d2", x=2)
E1, E2 = (b"d1", 0, 19), (b"d2", 19, 19)
DEEP = json.loads("[" * 511 + "]" * 511)
BOTH = {"d1": {"x": 1}, "d2": {"x": 2}}
DATA, INDEX = "meta/data.jsonl", "meta/index.bin"


def _indexed(index: bytes, told: str, strict: str = "error") -> Made:
    return Made({DATA: D1 + D2, INDEX: index}, BOTH, strict, told)


def _id(id: Any, told: str = "") -> Made:
    return Made({DATA: line(id, x=1) + D1 + D2}, {id: {"x": 1}, **BOTH}, "error", told)


MADE: dict[str, Made] = {
    "id_backslash": _id("a\\b"),
    "id_space": _id("a b"),
    "id_unicode": _id("naïve"),
    "id_empty": Made({DATA: line("", x=1) + D1 + D2}, BOTH, "error", ""),
    "index_count_2e50": _indexed(index(E1, E2, count=1 << 50), "index.bin"),
    "index_count_too_large": _indexed(index(E1, E2, count=1 << 63), "index.bin"),
    "index_count_plus_one": _indexed(index(E1, E2, count=3), "index.bin"),
    "index_count_zero": _indexed(index(), "found no entries, expected those of 38 bytes"),
    "index_text_without_lines": _indexed(b"", "found no entries"),
    "index_text_cut": _indexed(b"d1\t0\t19\nd2\t19\t1", "line 2"),
    "index_text_cut_at_its_end": _indexed(b"d1\t0\t19\nd2\t19\t19", "line 2"),
    "index_text_id_with_tab": _indexed(b"d1\t0\t19\nd\t2\t19\t19\n", "line 2"),
    "index_text_of_ids_like_magic": Made(
        {DATA: line("ISDZ") + line("ZDSI"), INDEX: b"ISDZ\t0\t15\nZDSI\t15\t15\n"}, {"ISDZ": {}, "ZDSI": {}}, "fine", ""
    ),
    "index_length_of_two_lines": _indexed(index((b"d1", 0, 38)), "index.bin"),
    "index_length_beyond_the_line": _indexed(index((b"d1", 0, 21), (b"d2", 19, 19)), "overlap"),
    "index_header_only_short": _indexed(index()[:10], "index.bin"),
    "index_offset_overflow": _indexed(index(E1, (b"d2", (1 << 64) - 5, 19)), "index.bin"),
    "index_paper_zdsidx": _indexed(
        b"ZDSIDX" + struct.pack("<HQ16x", 1, 2) + struct.pack("<QQII", 7, 0, 19, 0) * 2, "index.bin"
    ),
    "index_stale_edited": Made(
        {DATA: line("d1", x=1000) + D2, INDEX: index(E1, E2)}, {"d1": {"x": 1000}, "d2": {"x": 2}}, "error", "index.bin"
    ),
    "index_text_bad_numbers": _indexed(b"d1\t0\t19\nd2\tabc\t19\n", "index.bin"),
    "index_text_past_end": _indexed(b"d1\t0\t19\nd2\t19\t20\n", "index.bin"),
    "index_version_2": _indexed(index(E1, E2, version=2), "index.bin"),
    "index_zero_length": _indexed(index(E1, (b"d2", 19, 0)), "index.bin"),
    "index_cut_in_header": _indexed(b"ISDZ", "index.bin"),
    "index_without_data": Made({INDEX: index(E1, E2)}, {}, "error", "index.bin"),
    "torn_then_appended": Made({DATA: D1 + D2[:11] + line("d3", x=3)}, {"d1": {"x": 1}}, "error", "line 2"),
    "json_cut_in_escape": Made({DATA: D1 + b'{"_id":"d2","x":"\\'}, {"d1": {"x": 1}}, "error", "byte 19"),
    "utf_16": Made({DATA: (D1 + D2).decode().encode("utf-16-le")}, {}, "error", "line 1"),
    "depth_512": Made({DATA: line("d1", x=DEEP)}, {"d1": {"x": DEEP}}, "fine", ""),
    "depth_513": Made(
        {DATA: b'{"_id":"deep","x":' + b"[" * 512 + b"]" * 512 + b"}\n" + D2}, {"d2": {"x": 2}}, "error", "line 1"
    ),
    "quirk_crlf": Made({DATA: (D1 + D2).replace(b"\n", b"\r\n")}, BOTH, "warning", ""),
    "quirk_no_final_newline": Made({DATA: D1 + D2[:-1]}, BOTH, "warning", ""),
    "quirk_no_final_newline_indexed": Made(
        {DATA: D1 + D2[:-1], INDEX: index(E1, (b"d2", 19, 18))}, BOTH, "warning", ""
    ),
    "quirk_index_unsorted": _indexed(index(E2, E1), "", "fine"),
    "docs_only": Made(
        {"docs/b.json": b'{"n":2}', "docs/a.json": b'{\n  "n": 1,\n  "t": "\xc3\xa9"\n}\n',
         "docs/c.v1.json": b'{"n":3,"_id":"c.v1"}'},
        {"a": {"n": 1, "t": "é"}, "b": {"n": 2}, "c.v1": {"n": 3}}, "fine", "",
    ),
    "ids_one_but_for_case": Made(
        {DATA: line("Doc", x=1) + line("doc", x=2)}, {"Doc": {"x": 1}, "doc": {"x": 2}}, "fine", "case"
    ),
    "ids_of_devices": Made(
        {DATA: line("CON", x=1) + line("com1.txt", x=2) + line("a.", x=3)},
        {"CON": {"x": 1}, "com1.txt": {"x": 2}, "a.": {"x": 3}}, "fine", "CON",
    ),
}  # fmt: skip


def make(name: str, folder: Path) -> Path:
    """Write one of `MADE` into a folder; return its root."""
    root = folder / name
    write(root, {f"collections/train/{path}": data for path, data in MADE[name].files.items()})
    return root


def write(root: Path, files: Files) -> Path:
    """Write files below a root."""
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return all that is in a folder, and when it was changed."""
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    }
