"""Checksums in the trailer of a ds file."""

import contextlib
import json
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

import ds_format as ds
from ds_format.cli.main import main
from ds_format.drivers.ds import checksums

DATASET = {
    "x": np.arange(5000.0).reshape(50, 100),
    "m": np.ma.MaskedArray(np.arange(7, dtype="i2"), np.arange(7) % 3 == 1),
    "text": np.array(["a", "", "čaj"], object),
    "octets": np.array([b"\0\xff", b"x"], object),
    "flags": np.arange(11) % 2 == 0,
    "empty": np.zeros((0, 3)),
    "scalar": np.float32(1.5),
    "none": None,
    ".": {"x": {".dims": ["t", "n"], "units": "m"}, ".": {"title": "sums"}},
}


def trailer_of(data, keys=None):
    """Return the checksums of a file, by its specification alone."""
    start = 7 if data.startswith(b"ds-1.0\n") else 0
    body = data.index(b"\n", start) + 1
    header = json.loads(data[start:body])
    names = [key for key in header if key != "."]
    sums = []
    for key in names:
        entry = header[key]
        has_data = entry[".size"] is not None
        start = body + entry[".offset"]
        sums.append(zlib.crc32(data[start : start + entry[".len"]]) if has_data else 0)
    n = len(names)
    head = struct.pack(f"<{n}III", *sums, zlib.crc32(data[:body]), n)
    return head + struct.pack("<I", zlib.crc32(head)) + b"ds-crc32"


def by_write(path, **options):
    ds.write(path, DATASET, checksum=True, **options)


def by_convert(path):
    source = path.with_name("source.nc")
    dataset = {key: value for key, value in DATASET.items() if key not in ("none", "octets")}
    dataset["x"] = np.arange(500_000.0).reshape(5000, 100)
    ds.write(source, dataset)
    ds.convert(source, path, checksum=True)


def by_merge(path):
    for i in range(2):
        ds.write(
            path.with_name(f"{i}.ds"), {"t": [i], "x": [i / 2], ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}}}
        )
    ds.merge_files("t", [path.with_name("0.ds"), path.with_name("1.ds")], path, checksum=True)


def by_convert_many(path):
    ds.write(path.with_name("a.ds"), DATASET)
    ds.convert_many([path.with_name("a.ds")], path.with_name("out"), checksum=True, verify=True)
    path.with_name("out").joinpath("a.ds").rename(path)


def by_dask(path):
    xr = pytest.importorskip("xarray")
    da = pytest.importorskip("dask.array")
    x = xr.Dataset({"x": (("t", "n"), da.ones((40, 30), chunks=(10, 30))), "s": ("k", ["a", "b"])})
    ds.write(path, x, checksum=True)


def by_command(path):
    ds.write(path.with_name("a.ds"), DATASET)
    run("select", path.with_name("a.ds"), path, "checksum:", "true")


def by_set(path):
    ds.write(path, DATASET)
    run("checksum:", "true", "set", "title:", "other", path, path)


def run(*words):
    assert not main([str(word) for word in words])


WRITERS = {
    "write": by_write,
    "straight": lambda path: by_write(path, atomic=False),
    "durable": lambda path: by_write(path, durable=True),
    "older": lambda path: ds.write(path, {"x": [1, 2, 3], "t": ["a", "b"]}, version="2.0.1", checksum=True),
    "convert": by_convert,
    "convert_many": by_convert_many,
    "merge": by_merge,
    "dask": by_dask,
    "select": by_command,
    "set": by_set,
    "large": lambda path: ds.write(path, {"x": np.arange(1 << 20), "y": np.ones(3)}, checksum=True),
    "nothing": lambda path: ds.write(path, {}, checksum=True),
}


@pytest.mark.parametrize("name", WRITERS)
def test_each_writer(tmp_path, name):
    path = tmp_path / "sums.ds"
    WRITERS[name](path)
    data = path.read_bytes()
    expected = trailer_of(data)
    assert data.endswith(expected)
    assert ds.verify(path) == []
    assert ds.verify(path, strict=True) == []
    checked, plain = ds.read(path, verify=True), ds.read(path)
    assert checked.keys() == plain.keys()
    assert "checksum" not in str(plain["."]) and "crc" not in str(plain["."])


def test_without_the_option_nothing_changes(tmp_path):
    ds.write(tmp_path / "a.ds", DATASET)
    ds.write(tmp_path / "b.ds", DATASET, checksum=True)
    plain, summed = (tmp_path / "a.ds").read_bytes(), (tmp_path / "b.ds").read_bytes()
    assert summed.startswith(plain) and checksums.MAGIC not in plain
    assert summed[len(plain) :] == trailer_of(plain)
    with pytest.raises(ds.DriverError, match="checksum"):
        ds.write(tmp_path / "a.nc", {"x": [1]}, checksum=True)
    with pytest.warns(UserWarning, match=r"a\.ds: no checksum"):
        ds.read(tmp_path / "a.ds", verify=True)
    ds.write(tmp_path / "a.json", {"x": [1]})
    with pytest.raises(ds.DriverError, match="verify"):
        ds.read(tmp_path / "a.json", verify=True)
    assert ds.verify(tmp_path / "a.ds") == []


def test_a_flipped_bit(tmp_path):
    path = tmp_path / "a.ds"
    ds.write(path, DATASET, checksum=True)
    data = bytearray(path.read_bytes())
    body = data.index(b"\n", 7) + 1
    start = body + json.loads(data[7:body])["x"][".offset"]
    data[start + 2 * 8] ^= 1
    path.write_bytes(data)
    assert ds.read(path)["x"][0, 2] != 2.0
    found, expected = zlib.crc32(data[start : start + 40000]), zlib.crc32(np.ascontiguousarray(DATASET["x"]).tobytes())
    for call in (
        lambda: ds.read(path, verify=True),
        lambda: ds.read(path, "x", sel={"t": slice(40, 50)}, verify=True),
    ):
        with pytest.raises(ds.IntegrityError) as caught:
            call()
        message = str(caught.value)
        assert message == f'{path}: variable "x": values: found CRC-32 {found:08x}, expected {expected:08x}'
    assert ds.read(path, "m", verify=True)["m"].count() == 5
    [problem] = ds.verify(path)
    assert (problem.variable, problem.severity) == ("x", "error") and f"{found:08x}" in problem.message
    with contextlib.suppress(ds.DsError):
        ds.convert_many([path], tmp_path / "out", verify=True)
    with contextlib.suppress(ds.DsError):
        ds.convert_many([path], tmp_path / "out", verify=True, checksum=True)
    assert not (tmp_path / "out" / "a.ds").exists()


def test_a_damaged_header_and_a_damaged_trailer(tmp_path):
    path = tmp_path / "a.ds"
    ds.write(path, DATASET, checksum=True)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"units": "m"', b'"units": "n"'))
    with pytest.raises(ds.IntegrityError, match=r"a\.ds: header: found CRC-32 [0-9a-f]{8}, expected [0-9a-f]{8}"):
        ds.read(path, verify=True)
    assert [problem.severity for problem in ds.verify(path)] == ["error"]
    for back in (9, 14, 18, 24):
        data = bytearray(whole)
        data[-back] ^= 1
        path.write_bytes(data)
        with pytest.raises(ds.IntegrityError, match="trailer of checksums"):
            ds.read(path, verify=True)
        assert [problem.severity for problem in ds.verify(path)] == ["error"]


FILES = {
    "several": {"x": np.arange(3.0), "m": np.ma.masked_less([1, 2, 3], 2), "s": ["a", "\u010d"], "e": np.zeros((0, 2))},
    "nothing": {},
    "large": {"x": np.arange(50_000), ".": {".": {"title": "t" * 9000}}},
}
READERS = {
    "read": lambda path: ds.read(path, verify=True),
    "one variable": lambda path: ds.read(path, [name for name in ds.read(path) if name != "."][:1], verify=True),
    "mapped": lambda path: ds.read(path, verify=True, mmap=True),
    "verify": lambda path: reported(ds.verify(path)),
    "verify --checksum": lambda path: reported(ds.verify(path, checksum=True)),
}


def reported(problems):
    """Issue warnings among problems, and raise errors, as reading does."""
    for problem in problems:
        if problem.severity == "error":
            raise ds.IntegrityError(problem.message)
        warnings.warn(problem.message, stacklevel=1)


def answer(read, path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            read(path)
        except ds.IntegrityError as error:
            return "damaged" if "trailer of checksums: " in str(error) else str(error)
    return "no checksum" if any("no checksum" in str(one.message) for one in caught) else "whole"


def damages(whole, start):
    """Yield a kind of damage, and the damaged file, of which the trailer begins at `start`."""
    for i in range(start * 8, len(whole) * 8):
        flipped = bytearray(whole)
        flipped[i // 8] ^= 1 << i % 8
        yield "a flipped bit", flipped
    for i in range(start, len(whole)):
        yield "removed" if i == start else "truncated", whole[:i]
        yield "a byte less", whole[:i] + whole[i + 1 :]
        yield "a byte more", whole[: i + 1] + b"\7" + whole[i + 1 :]
        for n in (4, 8, 12, len(whole)):
            if any(whole[i : i + n]):
                yield "zeros", whole[:i] + bytes(len(whole[i : i + n])) + whole[i + n :]
    yield "more at the end", whole + b"\n"
    yield "more at the end", whole + bytes(5000)
    for other in (b"\0", bytes(64), b"other bytes", np.arange(400).tobytes()):
        yield "bytes of other programs", whole[:start] + other


OUTCOMES = {
    "a flipped bit": "damaged",
    "truncated": "damaged",
    "a byte less": "damaged",
    "a byte more": "damaged",
    "zeros": "damaged",
    "more at the end": "damaged",
    "removed": "no checksum",
    "bytes of other programs": "no checksum",
}


@pytest.mark.parametrize("name", FILES)
def test_each_damage_of_the_trailer(tmp_path, name):
    path = tmp_path / "a.ds"
    ds.write(path, FILES[name], checksum=True)
    whole = path.read_bytes()
    size = len(trailer_of(whole))
    for number, (kind, data) in enumerate(damages(whole, len(whole) - size)):
        path.write_bytes(data)
        for reader, read in READERS.items():
            expected = OUTCOMES[kind]
            if reader == "verify" and expected == "no checksum":
                expected = "whole"
            assert answer(read, path) == expected, (reader, kind, number)


@pytest.mark.parametrize("name", FILES)
def test_programs_refuse_a_damaged_trailer(tmp_path, name, capsys):
    path = tmp_path / "a.ds"
    ds.write(path, FILES[name], checksum=True)
    whole = path.read_bytes()
    for number, end in enumerate((-1, -9, -18)):
        path.write_bytes(whole[:end])
        out = tmp_path / str(number)
        for words in (["verify", path], ["verify", "--checksum", path], ["convert", path, f"{out}/", "--verify"]):
            assert main([str(word) for word in words]) == 1, (words, end)
            assert "trailer of checksums: " in "".join(capsys.readouterr()), (words, end)
        with contextlib.suppress(ds.DsError):
            ds.convert_many([path], out, verify=True)
        assert not (out / "a.ds").exists()


def test_a_tail_as_long_as_a_trailer_that_len_does_not_count(tmp_path):
    """`.len` of other programs may be missing: three numbers are as long as the trailer of a variable."""
    ds.write(tmp_path / "a.ds", {"x": np.arange(3.0)})
    data = (tmp_path / "a.ds").read_bytes().replace(b'".len": 24,', b"           ")
    (tmp_path / "b.ds").write_bytes(data)
    assert b".len" not in data
    assert [answer(read, tmp_path / "b.ds") for read in READERS.values()][:3] == ["no checksum"] * 3


def test_programs_that_do_not_know_it(tmp_path, reference_python):
    path = tmp_path / "a.ds"
    dataset = {"x": np.arange(6.0), "n": np.arange(4), ".": {"x": {".dims": ["t"]}, "n": {".dims": ["k"]}, ".": {}}}
    ds.write(path, dataset, checksum=True)
    code = (
        "import sys, ds_format as ds; d = ds.read(sys.argv[1]); assert d['x'].tolist() == [0, 1, 2, 3, 4, 5];"
        "d['x'][0] = 7; ds.write(sys.argv[1], d)"
    )
    subprocess.run([reference_python, "-c", code, str(path)], check=True)
    assert ds.verify(path) == []
    with pytest.warns(UserWarning, match="no checksum"):
        assert ds.read(path, verify=True)["x"][0] == 7
    ds.write(path, dataset, checksum=True)
    ds_program = Path(reference_python).with_name("ds")
    subprocess.run([ds_program, "set", "title:", "changed", path, path], check=True)
    assert ds.read(path)["."]["."]["title"] == "changed"
    assert ds.verify(path) == []
    with pytest.warns(UserWarning, match="no checksum"):
        ds.read(path, verify=True)


@pytest.mark.parametrize("name", ["set", "changed"])
def test_files_that_version_5_0_2_rewrote(name):
    """`ds set title: changed` and a changed value: see `summed.ds`, which both were made of."""
    folder = Path(__file__).parents[2] / "golden" / "ds" / "checksums"
    assert ds.verify(folder / "summed.ds", checksum=True) == []
    assert ds.read(folder / "summed.ds", verify=True)["x"].tolist() == [0, 1, 2, 3, 4, 5]
    path = folder / f"{name}.ds"
    assert ds.verify(path) == []
    [problem] = ds.verify(path, checksum=True)
    assert (problem.message, problem.severity) == ("no checksum", "warning")
    with pytest.warns(UserWarning, match="no checksum"):
        dataset = ds.read(path, verify=True)
    assert dataset["x"][0] == (7 if name == "changed" else 0)
    assert dataset["."]["."].get("title") == ("changed" if name == "set" else None)


def test_both_libraries(monkeypatch):
    deflate = pytest.importorskip("deflate")
    data = np.arange(1000).tobytes()
    assert deflate.crc32(data[8:], zlib.crc32(data[:8])) == zlib.crc32(data)
    assert checksums.Sums(1, (2, 3)).encode() == trailer_bytes(1, 2, 3)
    checksums._crc32.cache_clear()
    monkeypatch.setitem(sys.modules, "deflate", None)
    assert checksums.Sums(1, (2, 3)).encode() == trailer_bytes(1, 2, 3)
    checksums._crc32.cache_clear()


def trailer_bytes(header, *sums):
    data = struct.pack(f"<{len(sums)}III", *sums, header, len(sums))
    return data + struct.pack("<I", zlib.crc32(data)) + b"ds-crc32"
