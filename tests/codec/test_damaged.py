"""Every way to be wrong: the error that says so, for each way to read, and nothing large allocated before."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.errors import DsError, FormatError, TruncatedError, VersionError

from .. import golden_ds as golden

CORRUPT = golden.FOLDER / "corrupt"
LISTED = json.loads((CORRUPT / "NOTES.json").read_text())
FILES = sorted(entry["file"] for entry in LISTED if (CORRUPT / entry["file"]).exists())

READS_DEEP = sys.version_info >= (3, 14)  # json has no limit of depth that a file of this size meets
READABLE = {"dim_sizes_disagree.ds", "nul_padding_at_end.ds"}
HEADERS = {
    "zero_bytes.ds": (FormatError, "empty"),
    "version_only_no_newline.ds": (TruncatedError, "the header ends after 6 bytes: the file is truncated"),
    "truncated_header.ds": (TruncatedError, "the header ends after .* bytes: the file is truncated"),
    "body_directly_after_json.ds": (FormatError, "header: found more after the JSON value"),
    "invalid_json.ds": (FormatError, "header: no JSON value at character 19"),
    "header_not_object.ds": (FormatError, "header: found an array, expected an object"),
    "header_null.ds": (FormatError, "header: found null, expected an object"),
    "header_bom.ds": (FormatError, "header: begins with a byte order mark"),
    "duplicate_key.ds": (FormatError, 'header: "x" occurs twice'),
    "deep_nesting.ds": (FormatError, f"header: {'.*' * READS_DEEP}nested too deeply"),
    "wrong_version_2.0.ds": (VersionError, "format version: found 'ds-2.0'"),
    "wrong_version_1.1.ds": (VersionError, "format version: found 'ds-1.1'"),
    "wrong_version_text.ds": (VersionError, "format version: found 'ds-abc'"),
    "version_crlf.ds": (FormatError, "CR LF: a transfer in text mode"),
    "version_upper.ds": (FormatError, "not a ds file"),
    "not_ds.ds": (FormatError, "not a ds file"),
    "dot_entry_number.ds": (FormatError, r'header: "\.": found a number'),
}
VARIABLES = {
    "truncated_body.ds": (TruncatedError, r"\.size \[3\]: .* which has 7 bytes"),
    "truncated_mask.ds": (TruncatedError, "mask of 3 bytes"),
    "truncated_masked_one_left.ds": (TruncatedError, "2 values need 8 bytes .* the file has 4"),
    "truncated_string_data.ds": (TruncatedError, "lengths of strings: string 1 ends beyond the 5 available bytes"),
    "truncated_string_lengths.ds": (TruncatedError, "3 values need 24 bytes .* the file has 17"),
    "truncated_bool.ds": (TruncatedError, "20 values need 3 bytes .* the file has 2"),
    "size_huge.ds": (TruncatedError, r"\.size \[1000000000000000\]"),
    "size_huge_masked.ds": (TruncatedError, "mask of 1250000000000 bytes"),
    "size_overflow_4.ds": (FormatError, r"\.dims|\.size"),
    "size_bool.ds": (FormatError, r"\.size: found \[true, 3\]"),
    "size_string.ds": (FormatError, r'\.size: found \["3"\]'),
    "size_integer.ds": (FormatError, r"\.size: found 3"),
    "size_nested.ds": (FormatError, r"\.size: found \[\[3\]\]"),
    "size_70_dims.ds": (FormatError, r"\.size: found 70 dimensions, expected at most 64"),
    "offset_negative.ds": (FormatError, r"\.offset: found -4"),
    "offset_past_end.ds": (TruncatedError, r"\.offset 1000"),
    "offset_2_62.ds": (TruncatedError, r"\.offset 4611686018427387904"),
    "offset_2_64.ds": (TruncatedError, r"\.offset 18446744073709551616"),
    "offset_float.ds": (FormatError, r"\.offset: found 0\.0"),
    "offset_string.ds": (FormatError, r'\.offset: found "0"'),
    "offset_null.ds": (FormatError, r"\.offset: found null"),
    "unknown_type.ds": (FormatError, r'\.type: found "int128"'),
    "type_number.ds": (FormatError, r"\.type: found 5"),
    "type_list.ds": (FormatError, r"\.type: found \["),
    "type_null_with_size.ds": (FormatError, r"\.type: found null"),
    "bad_endian.ds": (FormatError, r'\.endian: found "x"'),
    "bad_endian_word.ds": (FormatError, r'\.endian: found "little"'),
    "endian_null.ds": (FormatError, r"\.endian: found null"),
    "missing_string.ds": (FormatError, r'\.missing: found "false"'),
    "string_length_larger_than_file.ds": (TruncatedError, "string 0 ends beyond"),
    "string_length_max.ds": (TruncatedError, "string 0 ends beyond"),
    "string_not_utf8.ds": (FormatError, "string 0 is not UTF-8"),
    "var_meta_number.ds": (FormatError, "found a number, expected an object"),
    "var_meta_null.ds": (FormatError, "found null, expected an object"),
    "dims_number.ds": (FormatError, r"\.dims: found 5"),
}


def file_of(entry: Any, body: bytes = b"", lead: bytes = b"ds-1.0\n") -> bytes:
    return lead + json.dumps({"x": entry}).encode() + b"\n" + body


I4 = {".type": "int32", ".endian": "l"}
TEXT = {".type": "unicode", ".endian": "l", ".size": [1]}
MADE = {
    "no header": (b"ds-1.0\n", TruncatedError, "the header ends after 7 bytes: the file is truncated"),
    "no newline, no body": (file_of({**I4, ".size": [3]})[:-1], TruncatedError, r"\.size \[3\]"),
    "text after the JSON": (b'ds-1.0\n{".": {}} x\n', FormatError, "more after the JSON value"),
    "too many digits": (b'ds-1.0\n{"x": {"a": %s}}\n' % (b"9" * 4301), FormatError, "4300 digits"),
    "too many digits after a blank": (b'ds-1.0\n {"x": {"a": %s}}\n' % (b"9" * 4301), FormatError, "4300 digits"),
    "header not UTF-8": (b'ds-1.0\n{"\xff": {}}\n', FormatError, "header: not UTF-8 at byte 9"),
    "no body": (file_of({**I4, ".size": [3]}), TruncatedError, r"\.size \[3\]"),
    "larger than the body": (file_of({**I4, ".size": [4]}, bytes(12)), TruncatedError, r"\.size \[4\]"),
    "product beyond 64 bits": (file_of({**I4, ".size": [1 << 32, 1 << 32]}, bytes(12)), TruncatedError, r"\.size"),
    "size beyond 63 bits": (file_of({**I4, ".size": [1 << 63]}, bytes(12)), FormatError, r"\.size: found \[92"),
    "negative size": (file_of({**I4, ".size": [-1]}, bytes(12)), FormatError, r"\.size: found \[-1\]"),
    "two negative sizes": (file_of({**I4, ".size": [-1, -3]}, bytes(12)), FormatError, r"\.size"),
    "size a float": (file_of({**I4, ".size": [3.0]}, bytes(12)), FormatError, r"\.size: found \[3\.0\]"),
    "offset before the file": (file_of({**I4, ".size": [3], ".offset": -(10**6)}, bytes(12)), FormatError, r"\.offset"),
    "length of 2^63": (file_of(TEXT, (1 << 63).to_bytes(8, "little") + b"abc"), TruncatedError, "string 0"),
    "10^12 strings": (file_of({**TEXT, ".size": [10**12]}, bytes(12)), TruncatedError, r"\.size"),
    "a length that splits a character": (
        file_of({**TEXT, ".size": [2]}, b"\1" + bytes(7) + b"\1" + bytes(7) + "ž".encode()), FormatError, "string 0",
    ),
    "two names, one dimension": (file_of({**I4, ".size": [3], ".dims": ["a", "b"]}, bytes(12)), FormatError, r"\.dims"),
    "a number as name": (file_of({**I4, ".size": [3], ".dims": [5]}, bytes(12)), FormatError, r"\.dims"),
    "size null, type unknown": (file_of({".type": "x", ".size": None}), FormatError, r"\.type"),
    "negative length": (file_of({**I4, ".size": [0], ".len": -1}), FormatError, r"\.len"),
    "masked, all values cut": (file_of({**I4, ".size": [9], ".missing": True}, b"\0"), TruncatedError, "mask"),
    "2.0.1, unknown width": (
        file_of({".type": "int", ".dsize": 24, ".size": [1]}, bytes(9), b""), FormatError, r"\.dsize: found 24",
    ),
    "2.0.1, scalar of size 2": (
        file_of({".type": "int", ".dsize": 8, ".size": 2}, bytes(9), b""), FormatError, r"\.size",
    ),
    "no end of the header": (b"ds-1.0\n{" + b" " * 100_000, FormatError, "header"),
}  # fmt: skip


def read_in_every_way(path: Path) -> None:
    """Raise the error that each way to read gives, if all give one; else complain."""
    errors = []
    for read in (read_whole, read_lazily, read_mapped, read_blocks, read_one):
        try:
            read(path)
        except DsError as error:
            errors.append(error)
    assert len(errors) in (0, 5), errors
    assert len({type(error) for error in errors}) <= 1, errors
    if errors:
        raise errors[0]


def read_whole(path: Path) -> None:
    ds.read(path)


def read_lazily(path: Path) -> None:
    with ds.open(path) as file:
        for variable in file.values():
            variable[...]


def read_mapped(path: Path) -> None:
    with ds.open(path, mmap=True) as file:
        for variable in file.values():
            variable[...]


def read_blocks(path: Path) -> None:
    with ds.open(path) as file:
        for variable in file.values():
            list(variable.blocks(1000))


def read_one(path: Path) -> None:
    for name in ds.open(path):
        ds.read(path, name)


def test_every_file_is_in_a_table() -> None:
    assert len(FILES) == 54
    assert set(FILES) == READABLE | set(HEADERS) | set(VARIABLES)


@pytest.mark.parametrize("name", sorted(READABLE))
def test_legal_oddities_are_read(name: str) -> None:
    read_in_every_way(CORRUPT / name)


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_a_wrong_header_is_refused(name: str) -> None:
    kind, message = HEADERS[name]
    with pytest.raises(kind, match=message) as caught:
        ds.read(CORRUPT / name)
    assert str(CORRUPT / name) in str(caught.value)
    with pytest.raises(kind, match=message):
        ds.open(CORRUPT / name)


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_a_wrong_variable_is_refused(name: str) -> None:
    kind, message = VARIABLES[name]
    with pytest.raises(kind, match=message) as caught:
        read_in_every_way(CORRUPT / name)
    assert f'{CORRUPT / name}: variable "x": ' in str(caught.value)
    assert "x" in ds.open(CORRUPT / name)


@pytest.mark.parametrize("name", sorted(MADE))
def test_a_wrong_file_is_refused(name: str, tmp_path: Path) -> None:
    data, kind, message = MADE[name]
    path = tmp_path / "wrong.ds"
    path.write_bytes(data)
    with pytest.raises(kind, match=message) as caught:
        ds.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_nothing_large_is_allocated(name: str) -> None:
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        with contextlib.suppress(DsError):
            ds.read(CORRUPT / name)
        allowed = 1_000_000
        if READS_DEEP:
            allowed += 100 * (CORRUPT / name).stat().st_size  # a list in the header takes 88 for its bracket
        assert tracemalloc.get_traced_memory()[1] - before < allowed
    finally:
        tracemalloc.stop()


def test_other_variables_of_a_damaged_file_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "some.ds"
    entries = {"bad": {**I4, ".size": [-1]}, "good": {**I4, ".size": [2]}}
    path.write_bytes(b"ds-1.0\n" + json.dumps(entries).encode() + b"\n" + bytes([1, 0, 0, 0, 2, 0, 0, 0]))
    assert ds.read(path, "good")["good"].tolist() == [1, 2]
    assert list(ds.open(path)) == ["bad", "good"]


def test_reserved_names_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "reserved.ds"
    path.write_bytes(b'ds-1.0\n{".x": {".type": "int8"}, ".": {}}\n\x01')
    assert ds.read(path) == {".": {".": {}}}


SEEDS = [
    golden.FOLDER / "v1" / f"{name}.ds" for name in ("masked_int16_le", "unicode_2d", "bytes_object_last", "bool_17")
]


@pytest.mark.filterwarnings("ignore:offsets in the header are wrong")
@given(st.data())
def test_changed_bytes_give_a_value_or_an_error_of_ours(data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(SEEDS))
    content = bytearray(seed.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, len(content))) :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.ds"
        path.write_bytes(content)
        for read in (read_whole, read_lazily, read_mapped, read_blocks):
            with contextlib.suppress(DsError):
                read(path)
