"""Datasets of the reference program: read with equal values, and written again byte for byte."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import pytest

from ds_format.datadings import format, index_files, messages
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.verify import verify
from ds_format.datadings.writer import FileWriter, RawWriter, reindex
from ds_format.errors import UnsafeError

from ..same import same_object
from .expected import Case, cases, value
from .made import GOLDEN

CASES = cases()
ALL = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
SUFFIXES = ("", *format.INDEX, format.MD5)
UNREADABLE = {"20_object_array_pickle": {"obj"}}
RENAMED = {"15_very_long_key"}
OTHER_SALT = {"29_noncanonical_salt"}


def name(case: Case) -> str:
    return case.path.parent.name


def raw(case: Case) -> list[tuple[str, bytes]]:
    index = SampleIndex(case.path)
    data = case.bytes_of("")
    return [(index.key(i), data[slice(*index.bounds(i))]) for i in range(len(index))]


def exists(case: Case, suffix: str) -> bool:
    return Path(f"{case.path}{suffix}").exists()


@ALL
def test_the_index_is_what_is_expected(case: Case) -> None:
    index = SampleIndex(case.path)
    expected = [value(key) for key in case.expected["keys"]]
    assert len(index) == case.expected["num_samples"] == len(expected)
    assert index.keys() == expected
    spans = index.spans(0, len(index))
    assert spans == (case.expected.get("offsets") or [*case.expected["legacy_offsets"], spans[-1]])
    assert spans[-1] == index.size == case.path.stat().st_size
    assert [index.bounds(i) for i in range(len(index))] == list(pairwise(spans))
    assert [index.find(key) for key in expected] == list(range(len(expected)))
    assert all(key in index for key in expected)
    assert "not a key of any case" not in index


@ALL
def test_samples_have_the_expected_values(case: Case) -> None:
    for i, ((key, message), expected) in enumerate(zip(raw(case), case.expected["samples"], strict=True)):
        if key in UNREADABLE.get(name(case), ()):
            with pytest.raises(UnsafeError, match="pickle"):
                messages.unpack(message)
            continue
        for writable in (False, True):
            assert same_object(messages.unpack(message, writable=writable), value(expected)), (i, key)


@ALL
def test_decoded_samples_are_written_byte_for_byte(case: Case) -> None:
    lossy = set(case.expected.get("not_reproducible_from_decoded_value", ()))
    lossy |= set(case.expected.get("non_canonical_messages", ()))
    if name(case) == "21_rawwriter":
        lossy |= {"nonminimal", "float32", "dup_map_key"}
    for key, message in raw(case):
        if key not in lossy | UNREADABLE.get(name(case), set()):
            assert messages.pack(messages.unpack(message)) == message, key


@ALL
def test_all_files_are_written_byte_for_byte(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.path.name
    with RawWriter(path) as writer:
        for key, message in raw(case):
            assert writer.write(key, message) == len(message)
    if name(case) in OTHER_SALT:
        assert path.read_bytes() == case.bytes_of("")
        return
    for suffix in SUFFIXES:
        if exists(case, suffix) and not (suffix == format.MD5 and exists(case, format.LEGACY_INDEX)):
            assert Path(f"{path}{suffix}").read_bytes() == case.bytes_of(suffix), suffix


@pytest.mark.parametrize("number", range(3))
def test_shards(number: int, tmp_path: Path) -> None:
    case = Case(GOLDEN / "33_shards" / f"shard-{number}.msgpack", {})
    path = tmp_path / case.path.name
    with FileWriter(path) as writer:
        for _, message in raw(case):
            writer.write(messages.unpack(message))
    for suffix in SUFFIXES:
        assert Path(f"{path}{suffix}").read_bytes() == case.bytes_of(suffix), suffix


@ALL
def test_the_parts_are_encoded_as_they_are(case: Case) -> None:
    names = [value(key) for key in case.expected["keys"]]
    key_file = index_files.encode_keys(names)
    strings = memoryview(key_file)[index_files.count_keys(key_file, "")[1] :]
    if exists(case, format.KEYS):
        assert key_file == case.bytes_of(format.KEYS)
        assert index_files.decode_keys(key_file, "") == names
    if name(case) in OTHER_SALT:
        return
    if exists(case, format.KEY_HASHES):
        assert index_files.encode_hashes(strings, len(names)) == case.bytes_of(format.KEY_HASHES)
    if exists(case, format.FILTER):
        assert index_files.encode_filter(strings, len(names)) == case.bytes_of(format.FILTER)
        assert (
            index_files.count_denied(index_files.decode_filter(case.bytes_of(format.FILTER), ""), strings, len(names))
            == 0
        )


@ALL
def test_verify_finds_nothing_but_what_is_missing(case: Case) -> None:
    absent = [suffix for suffix in (*format.INDEX, format.MD5) if not exists(case, suffix)]
    problems = [str(problem) for problem in verify(case.path)]
    if exists(case, format.LEGACY_INDEX):
        absent = [suffix for suffix in absent if suffix in (format.KEY_HASHES, format.FILTER)]
    known = {"20_object_array_pickle": "pickle", "15_very_long_key": "found the key 'short'"}
    known["26_no_keys"] = "there is no such file, but"
    for problem in problems:
        assert "there is no such file" in problem or known[name(case)] in problem, problem
    assert len([problem for problem in problems if problem.endswith("there is no such file")]) == len(absent)


@ALL
def test_the_index_can_be_made_from_the_data(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.path.name
    keyless = name(case) == "21_rawwriter"
    for suffix in ("", format.LEGACY_INDEX, *[format.KEYS] * keyless):
        if exists(case, suffix):
            Path(f"{path}{suffix}").write_bytes(case.bytes_of(suffix))
    assert reindex(path) == case.expected["num_samples"]
    if name(case) in RENAMED | OTHER_SALT:
        return
    for suffix in (*format.INDEX, format.MD5):
        if exists(case, suffix) and name(case) not in ("30_legacy_index", "31_legacy_index_oldraw"):
            assert Path(f"{path}{suffix}").read_bytes() == case.bytes_of(suffix), suffix


@pytest.mark.parametrize("number", ["30_legacy_index", "31_legacy_index_oldraw"])
def test_a_legacy_index_says_the_same_as_its_conversion(number: str) -> None:
    old = CASES[number]
    offsets, key_file = index_files.decode_legacy(old.bytes_of(format.LEGACY_INDEX), "", old.path.stat().st_size)
    if number == "30_legacy_index":
        assert offsets == CASES["32_legacy_converted"].bytes_of(format.OFFSETS)
        assert key_file == CASES["32_legacy_converted"].bytes_of(format.KEYS)
    assert len(offsets) == 8 * (old.expected["num_samples"] + 1)


def test_the_golden_files_are_what_their_lists_say() -> None:
    for case in CASES.values():
        for file, told in case.expected["files"].items():
            data = (case.path.parent / file).read_bytes()
            assert (len(data), hashlib.md5(data).hexdigest()) == (told["size"], told["md5"])
