"""Writing: whole or not at all, byte for byte, and nothing that could not be read."""

from __future__ import annotations

import errno
import gc
import os
import stat
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.datadings import format, messages, writer
from ds_format.datadings.claim import Claim
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.verify import verify
from ds_format.datadings.writer import FileWriter, RawWriter, reindex
from ds_format.errors import IntegrityError, UnsupportedError
from ds_format.kernels.files import ranges

SUFFIXES = ("", *format.INDEX, format.MD5)


def sample(i: int) -> dict[str, Any]:
    return {"key": f"k{i}", "v": i, "x": np.arange(i % 7)}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write(path: Path, numbers: Any, **options: Any) -> Path:
    with FileWriter(path, **options) as out:
        for i in numbers:
            out.write(sample(i))
    return path


def interrupted(path: Path, one: Any, **options: Any) -> None:
    with FileWriter(path, **options) as out:
        out.write(one)
        raise KeyError


def test_all_files_and_no_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "deep" / "er" / "a.msgpack", range(100))
    assert sorted(files(path.parent)) == sorted(path.name + suffix for suffix in SUFFIXES)
    assert verify(path) == []
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(Path(f"{path}.keys").stat().st_mode)
    assert capsys.readouterr() == ("", "")


def test_options_of_the_reference_are_taken(tmp_path: Path) -> None:
    with FileWriter(tmp_path / "a", 0, True, total=3, disable=True, desc="x") as out:
        assert out.write(sample(1)) == len(messages.pack(sample(1)))
        assert len(out) == 1


def test_the_number_of_samples_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index has 32 bits for it: 2 ** 32 - 1 samples can be written, one more is refused."""
    assert format.MAX_SAMPLES == 2**32 - 1
    monkeypatch.setattr(format, "MAX_SAMPLES", 3)
    write(tmp_path / "a", range(3))
    with pytest.raises(UnsupportedError, match=r"b: more than 3 samples$"):
        write(tmp_path / "b", range(4))
    assert {path.name for path in tmp_path.iterdir()} == {f"a{suffix}" for suffix in SUFFIXES}


def test_progress(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    write(tmp_path / "a", range(3), progress=lambda done, total: told.append((done, total)), total=3)
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("bad", "key", "message"),
    [
        ({"v": 1}, None, "sample 1: found no entry 'key'"),
        ({"key": 5}, None, "sample 1: found the key 5, expected a string"),
        ({"key": b"a"}, None, "sample 1: found the key b'a', expected a string"),
        ({"key": None}, None, "found no entry 'key'"),
        ({"key": "a"}, "b", "sample 1: found the key 'a', expected 'b'"),
        ({"key": "k0"}, None, "sample 1: found the key 'k0' for the second time"),
        ({"key": "a", "x": {1}}, None, "sample 'a': entry ['x']: found a value of the type set"),
        ({"key": "a", "x": np.array([None])}, None, "sample 'a': entry ['x']: the dtype object"),
        ({"key": "\ud800"}, None, "surrogates"),
        ([1], None, "found no entry 'key'"),
        (None, None, "found no entry 'key'"),
        ([1], 5, "expected"),
    ],
)
def test_what_is_refused_leaves_no_trace(tmp_path: Path, bad: Any, key: Any, message: str) -> None:
    for written in (True, False):
        path = tmp_path / str(written) / "a"
        with FileWriter(path) as out:
            out.write(sample(0))
            if written:
                with pytest.raises(UnsupportedError) as caught:
                    out.write(bad, key)
                assert message in str(caught.value) and str(caught.value).startswith(str(path))
            out.write(sample(1))
    assert files(tmp_path / "True") == files(tmp_path / "False")


def test_keys_apart_from_samples(tmp_path: Path) -> None:
    with FileWriter(tmp_path / "a") as out:
        out.write({"v": 1}, "first")
        out.write([1, 2], key="second")
        out.write({"key": "third"}, "third")
    found = SampleIndex(tmp_path / "a")
    assert found.keys() == ["first", "second", "third"]
    assert (tmp_path / "a").read_bytes() == msgpack.packb({"v": 1}) + b"\x92\x01\x02" + msgpack.packb({"key": "third"})
    assert verify(tmp_path / "a") == []


def test_raw_messages_are_stored_as_they_are(tmp_path: Path) -> None:
    with RawWriter(tmp_path / "a") as out:
        assert [out.write("a", b""), out.write("b", bytearray(b"xy")), out.write("c", memoryview(b"z"))] == [0, 2, 1]
        for key in (5, b"d", "\ud800", "a"):
            with pytest.raises(UnsupportedError, match="sample 3"):
                out.write(key, b"")  # type: ignore[arg-type]
    assert (tmp_path / "a").read_bytes() == b"xyz"
    assert SampleIndex(tmp_path / "a").spans(0, 3) == [0, 0, 2, 3]


def test_a_block_that_raises_leaves_nothing(tmp_path: Path) -> None:
    for options in ({}, {"append": True}):
        with pytest.raises(KeyError):
            interrupted(tmp_path / "a", sample(0), **options)
        assert files(tmp_path) == {}


@pytest.mark.parametrize("size", [0, 3 * writer.BLOCK])
def test_a_block_that_raises_leaves_the_old_dataset(tmp_path: Path, size: int) -> None:
    path = write(tmp_path / "a", range(5))
    before = files(tmp_path)
    for options in ({"overwrite": True}, {"append": True}):
        with pytest.raises(KeyError):
            interrupted(path, {"key": "new", "x": bytes(size)}, **options)
        assert files(tmp_path) == before


def test_an_existing_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a", range(5))
    before = files(tmp_path)
    with pytest.raises(FileExistsError) as caught:
        FileWriter(path)
    assert caught.value.filename == str(path)
    with pytest.raises(ValueError, match="exclude each other"):
        FileWriter(path, overwrite=True, append=True)
    with pytest.raises(IsADirectoryError):
        FileWriter(tmp_path, overwrite=True)
    assert files(tmp_path) == before


def test_a_legacy_index_goes_with_its_data(tmp_path: Path) -> None:
    path = write(tmp_path / "a", range(5))
    (tmp_path / "a.index").write_bytes(b"\x80")
    write(path, range(3), overwrite=True)
    assert sorted(files(tmp_path)) == sorted("a" + suffix for suffix in SUFFIXES)


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = write(tmp_path / "real" / "a", range(5))
    path.chmod(0o640)
    (tmp_path / "a").symlink_to(path)
    write(tmp_path / "a", range(7), overwrite=True)
    assert (tmp_path / "a").is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert len(SampleIndex(tmp_path / "a")) == 7


@given(st.integers(0, 30), st.integers(0, 30))
def test_appending_is_the_same_as_writing_at_once(first: int, more: int) -> None:
    from tempfile import TemporaryDirectory  # noqa: PLC0415  a fixture is not made anew for each example

    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "once" / "a", range(first + more))
        write(folder / "twice" / "a", range(first))
        write(folder / "twice" / "a", range(first, first + more), append=True)
        assert files(folder / "once") == files(folder / "twice")


def test_appending(tmp_path: Path) -> None:
    path = write(tmp_path / "a", range(5), append=True)
    reader = SampleIndex(path)
    with FileWriter(path, append=True, durable=True) as out:
        assert len(out) == 5
        with pytest.raises(UnsupportedError, match="for the second time"):
            out.write(sample(3))
        out.write(sample(5))
    assert reader.find("k3") == 3 and len(reader) == 5
    assert len(SampleIndex(path)) == 6 and verify(path) == []
    before = path.stat().st_mtime_ns, files(tmp_path)
    with FileWriter(path, append=True):
        pass
    assert (path.stat().st_mtime_ns, files(tmp_path)) == before


def test_appending_to_damaged_data(tmp_path: Path) -> None:
    path = write(tmp_path / "a", range(5))
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match="have the checksum"):
        FileWriter(path, append=True)
    os.remove(f"{path}.md5")
    write(path, range(5, 6), append=True)
    assert len(SampleIndex(path)) == 6


def test_appending_after_a_crash(tmp_path: Path) -> None:
    path = write(tmp_path / "a", range(5))
    with open(path, "ab") as file:
        file.write(messages.pack(sample(5)) + messages.pack(sample(6))[:-1])
    with pytest.raises(ValueError, match="bytes behind the 5 samples"):
        SampleIndex(path)
    with pytest.raises(ValueError, match="cut off"):
        reindex(path)
    assert reindex(path, cut=True) == 6
    assert verify(path) == []


def test_large_samples_and_many_blocks(tmp_path: Path) -> None:
    with FileWriter(tmp_path / "a") as out:
        for i in range(20):
            out.write({"key": str(i), "x": np.full(i * 20_000, i)})
    found = SampleIndex(tmp_path / "a")
    data = (tmp_path / "a").read_bytes()
    for i in range(20):
        assert messages.unpack(data[slice(*found.bounds(i))])["x"].tolist() == [i] * (i * 20_000)
    assert verify(tmp_path / "a") == []


def full_disk(*_: Any) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("options", [{"overwrite": True}, {"append": True}], ids=str)
def test_a_full_disk_while_samples_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, bool]
) -> None:
    path = write(tmp_path / "a", range(5))
    before = files(tmp_path)
    with monkeypatch.context() as patch:
        out = FileWriter(path, **options)  # type: ignore[arg-type]
        patch.setattr(ranges, "write_at", full_disk)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
            out.write({"key": "x", "x": bytes(writer.BLOCK)})
        assert caught.value.filename == str(path)
        with pytest.raises(ValueError, match="the writer is closed"):
            out.write(sample(9))
        out.close()
    assert files(tmp_path) == before


@pytest.mark.parametrize("options", [{"overwrite": True}, {"append": True}], ids=str)
@pytest.mark.parametrize("failing", [*format.INDEX, format.MD5])
def test_a_full_disk_while_the_index_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, bool], failing: str
) -> None:
    path = write(tmp_path / "a", range(5))
    before = files(tmp_path)
    create = Claim.create

    def create_or_fail(claim: Claim, suffix: str) -> object:
        return full_disk() if suffix == failing else create(claim, suffix)

    with monkeypatch.context() as patch:
        patch.setattr(Claim, "create", create_or_fail)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            write(path, range(5, 9), **options)
    assert files(tmp_path) == before


def test_closing_twice_and_not_at_all(tmp_path: Path) -> None:
    out = FileWriter(tmp_path / "a")
    out.write(sample(0))
    out.close()
    out.close()
    out.abort()
    assert len(SampleIndex(tmp_path / "a")) == 1
    other = FileWriter(tmp_path / "b")
    other.write(sample(0))
    with pytest.warns(ResourceWarning, match="was not closed"):
        other = None  # type: ignore[assignment]
    gc.collect()
    assert not any(path.name.startswith(("b", ".b")) for path in tmp_path.iterdir())
