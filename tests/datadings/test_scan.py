"""The data file alone, read in windows that are smaller than it, and than some of its messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.datadings import messages, sample_index
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.writer import FileWriter, reindex
from ds_format.errors import FormatError, TruncatedError

NAMED = st.builds(lambda i, size: {"x": b"x" * size, "key": f"k{i}"}, st.integers(), st.integers(0, 300))
SAMPLES = st.lists(st.one_of(NAMED, NAMED, st.just({"x": 1}), st.just({"key": 5})), max_size=20)


@given(SAMPLES, st.sampled_from([1, 7, 64, 1 << 22]), st.sampled_from([1, 3, 1 << 16]), st.binary(max_size=3))
def test_windows_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, samples: list[Any], window: int, block: int, rest: bytes
) -> None:
    path = tmp_path_factory.mktemp("scan") / "a.msgpack"
    packed = [messages.pack(sample) for sample in samples]
    ends = [sum(map(len, packed[: i + 1])) for i in range(len(packed))]
    rest = b"\xda\xff\xff" + rest if rest else b""  # what promises more than comes
    path.write_bytes(b"".join(packed) + rest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_index, "WINDOW", window)
        patch.setattr(sample_index, "MESSAGES", block)
        every = sample_index.Messages(str(path))
        found = list(every)
    assert [end for one in found for end in one.ends.tolist()] == ends
    assert (every.n, every.end, every.size) == (len(packed), sum(map(len, packed)), path.stat().st_size)
    first = 0
    for one in found:
        keys = [sample.get("key") for sample in samples[first : first + len(one.ends)]]
        n = next((i for i, key in enumerate(keys) if not isinstance(key, str)), len(keys))
        assert (one.keys, one.is_absent, one.fault) == (keys[:n], n < len(keys), "")
        first += len(keys)
    if rest:
        with pytest.raises(TruncatedError, match=rf"sample {len(packed)} at byte {every.end}: it is cut off"):
            every.check_whole()
    else:
        every.check_whole()


def test_wrong_keys_are_named_by_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.msgpack"
    with FileWriter(path) as writer:
        for i in range(100):
            writer.write({"x": b"x" * 50, "key": f"number {i}"})
    data = bytearray(path.read_bytes())
    place = data.index(b"number 77")
    data[place] = 0xFF
    path.write_bytes(data)
    monkeypatch.setattr(sample_index, "WINDOW", 300)
    (tmp_path / "a.msgpack.keys").unlink()
    for use in (
        lambda: reindex(path),
        lambda: reindex(path, cut=True),
        lambda: SampleIndex(path).keys(),
        lambda: SampleIndex(path).key(77),
    ):
        with pytest.raises(FormatError, match=rf"sample 77: its key, at byte {place - 1}: .*UTF-8"):
            use()


def test_a_file_of_other_messages_than_the_index_says(tmp_path: Path) -> None:
    path = tmp_path / "a.msgpack"
    with FileWriter(path) as writer:
        writer.write({"key": "a", "x": 1})
        writer.write({"key": "b", "x": 1})
    (tmp_path / "a.msgpack.keys").unlink()
    other = messages.pack({"key": "abc"}) + messages.pack({"key": "d", "xy": 1})
    assert len(other) == path.stat().st_size
    path.write_bytes(other)
    with pytest.raises(FormatError, match="samples are not where the index says"):
        SampleIndex(path).keys()
    with pytest.raises(FormatError, match="sample 0 is not where the index says"):
        SampleIndex(path).key(0)
