"""`ds records`, `ds reindex`, and what other commands do with samples."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ds_format.api import files
from ds_format.cli import records
from ds_format.cli.arguments import Request
from ds_format.cli.records import editing
from ds_format.cli.records.printing import shown
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.writer import FileWriter

if TYPE_CHECKING:
    from .conftest import Run

GOLDEN = Path(__file__).parents[1] / "golden" / "datadings"


@pytest.fixture
def data(folder: Path) -> str:
    with FileWriter(folder / "data.msgpack") as writer:
        for i in range(10):
            writer.write({"key": f"k{i}", "v": i, "text": "x" * 50, "x": np.arange(4 * (i % 2 + 1), dtype="i2")})
    return "data.msgpack"


def values(path: str) -> list[Any]:
    with MsgpackReader(path) as reader:
        assert [reader.find_index(sample["key"]) for sample in reader] == list(range(len(reader)))
        return [sample["v"] for sample in reader]


def test_cat(ds: Run, data: str) -> None:
    status, out, err = ds("records", "cat", "--noindent", data, "stop:", "2")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"key: k0 v: 0 text: {'x' * 40}... x: {{ 0 1 2 3 }}",
        f"key: k1 v: 1 text: {'x' * 40}... x: {{ 0 1 2 3 4 5 6 7 }}",
    ]
    out = ds("records", "cat", "-j", data, "start:", "-1").out
    assert json.loads(out) == {"key": "k9", "v": 9, "text": "x" * 50, "x": list(range(8))}
    assert "text: xx... " in ds("records", "cat", "--noindent", data, "maxstring:", "2").out


def test_get_and_list(ds: Run, data: str) -> None:
    out = ds("records", "get", "-j", "--noindent", data, "k3", "index:", "{", "-1", "0", "}").out
    assert [json.loads(line)["v"] for line in out.splitlines()] == [3, 9, 0]
    assert ds("records", "list", data, "start:", "7").out.split() == ["k7", "k8", "k9"]
    assert (
        ds("records", "list", "-l", data, "stop:", "1").out == f"k0 {MsgpackReader(data).get(0, raw=True).__len__()}\n"
    )
    status, _, err = ds("records", "get", data, "nothing")
    assert (status, err) == (1, "ds records: data.msgpack: no sample with the key 'nothing'\n")
    assert ds("records", "get", data, "index:", "10").status == 1


def test_info(ds: Run, data: str) -> None:
    found = json.loads(ds("records", "info", "-j", data).out)
    assert (found["samples"], found["bytes"], found["first key"]) == (10, Path(data).stat().st_size, "k0")
    assert found["entries"] == {"key": "str", "v": "int", "text": "str", "x": "int16 [4]"}
    assert list(found["files"]) == [
        data,
        *(data + part for part in (".offsets", ".keys", ".key_hashes", ".filter", ".md5")),
    ]
    with FileWriter("empty.msgpack"):
        pass
    assert json.loads(ds("records", "info", "-j", "empty.msgpack").out)["samples"] == 0


def test_bench(ds: Run, data: str) -> None:
    for options in ((), ("--raw",), ("--shuffle", "--mmap")):
        assert json.loads(ds("records", "bench", "-j", *options, data).out)["samples"] == 10


def test_bench_of_files(ds: Run, folder: Path) -> None:
    for name in ("cat/1.txt", "cat/2.bin", "dog/3.txt"):
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    with zipfile.ZipFile("files.zip", "w") as archive:
        archive.write("files/cat/1.txt", "cat/1.txt")
    Path("list.tsv").write_text("cat/1.txt;c\ndog/3.txt;d\n")
    for words, n in (
        (["files"], 3),
        (["files", "include:", "*.txt"], 2),
        (["files", "exclude:", "{", "*/1.txt", "*/2.bin", "}"], 1),
        (["files.zip"], 1),
        (["list.tsv", "separator:", ";", "root-dir:", "files"], 2),
    ):
        for options in ((), ("--raw", "--shuffle")):
            assert json.loads(ds("records", "bench", "-j", *options, *words).out)["samples"] == n
    for words in (["files", "--mmap"], ["files", "root-dir:", "x"], ["data.msgpack", "include:", "x"]):
        assert ds("records", "bench", *words).status == 1


def test_sample(ds: Run, data: str) -> None:
    assert ds("records", "sample", data, "a.msgpack", "3") == (0, "", "")
    assert ds("records", "sample", data, "b.msgpack", "3", "seed:", "5") == (0, "", "")
    assert ds("records", "sample", data, "c.msgpack", "3", "strategy:", "sequential") == (0, "", "")
    first, second, third = map(values, ("a.msgpack", "b.msgpack", "c.msgpack"))
    assert len({*first}) == len({*second}) == 3 and first != second and third == [0, 1, 2]
    assert (
        "expected a number from 0 to 10, the number of samples, found 11"
        in ds("records", "sample", data, "d.msgpack", "11").err
    )


@pytest.mark.parametrize(
    "options", [(), ("--true-shuffle",), ("buf-size:", "4", "chunk-size:", "2"), ("buf-size:", "0.5"), ("seed:", "1")]
)
def test_shuffle(options: tuple[str, ...], ds: Run, data: str) -> None:
    assert ds("records", "shuffle", data, "a.msgpack", *options) == (0, "", "")
    found = values("a.msgpack")
    assert sorted(found) == list(range(10))
    assert (found != sorted(found)) == ("0.5" not in options)  # one chunk of 16


def test_split(ds: Run, data: str) -> None:
    assert ds("records", "split", data, "3", "6") == (0, "", "")
    assert [values(f"data-{i}.msgpack") for i in range(3)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    assert ds("records", "split", data, "0", "outfiles:", "{", "a.msgpack", "b.msgpack", "}").status == 0
    assert (values("a.msgpack"), values("b.msgpack")) == ([], list(range(10)))
    for points in (("6", "3"), ("11",), ("-1",)):
        assert "expected ascending numbers up to 10" in ds("records", "split", "-y", data, *points).err


def test_merge(ds: Run, data: str) -> None:
    ds("records", "split", data, "7")
    parts = ("data-0.msgpack", "data-1.msgpack")
    assert ds("records", "merge", *parts, "all.msgpack", "strategy:", "concat") == (0, "", "")
    assert Path("all.msgpack").read_bytes() == Path(data).read_bytes()
    assert ds("records", "merge", *parts, "mixed.msgpack") == (0, "", "")
    mixed = values("mixed.msgpack")
    assert mixed != sorted(mixed) and sorted(mixed, key=lambda v: v >= 7) == list(range(10))
    assert ds("records", "merge", "--shuffle", *parts, "shuffled.msgpack", "seed:", "1") == (0, "", "")
    assert sorted(values("shuffled.msgpack")) == list(range(10))
    status, _, err = ds("records", "merge", data, data, "twice.msgpack")
    assert (status, "found the key" in err) == (1, True)
    assert not Path("twice.msgpack").exists()


@pytest.mark.parametrize("suffix", [".msgpack", ".zds"])
def test_progress_adds_up(suffix: str, folder: Path) -> None:
    source = folder / f"in{suffix}"
    files.write(source, {"v": np.arange(4), ".": {"v": {".dims": ["i"]}}})
    told: list[tuple[int, int]] = []
    options = {"outfiles": [str(folder / name) for name in ("a" + suffix, "b" + suffix)]}
    request = Request("records", [str(source), "2"], options, lambda *both: told.append(both))
    editing.split(request.check(records.OPTIONS))
    size = told[0][1] // 4
    assert told == [(n * size, 4 * size) for n in (1, 2, 3, 4)]


def test_files_are_replaced_only_if_wanted(ds: Run, data: str) -> None:
    shutil.copy(data, "a.msgpack")
    message = "ds records: a.msgpack: file exists; -y replaces it\n"
    assert ds("records", "shuffle", data, "a.msgpack") == (1, "", message)
    assert ds("records", "shuffle", "-y", data, "a.msgpack") == (0, "", "")
    assert "cannot be written at the same time" in ds("records", "shuffle", "-y", data, data).err
    assert "names of files that differ" in ds("records", "split", data, "1", "outfiles:", "{", "b", "b", "}").err


USAGE = [
    ((), "expected one of cat, get"),
    (("frob", "x"), 'found "frob", expected one of cat, get'),
    (("cat",), "cat: INPUT is missing"),
    (("cat", "x", "y"), "cat: found 2 arguments, expected INPUT"),
    (("cat", "x", "seed:", "1"), 'cat: unrecognized option "seed"'),
    (("cat", "x", "sel:", "{", "n:", "0", "}"), 'cat: unrecognized option "sel"'),
    (("cat", "x", "--nonsense"), 'unrecognized option "nonsense"'),
    (("get", "x"), "get: expected a key, or index: N"),
    (("sample", "data.msgpack", "y", "1", "strategy:", "sequential", "seed:", "1"), "sample: seed is only possible"),
    (("merge", "data.msgpack", "y", "strategy:", "concat", "seed:", "1"), "merge: seed is only possible"),
    (("shuffle", "data.msgpack", "y", "--true-shuffle", "buf-size:", "3"), "shuffle: --true-shuffle excludes"),
]


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("words", "message"), USAGE, ids=range(len(USAGE)))
def test_wrong_command_lines(words: tuple[str, ...], message: str, ds: Run) -> None:
    status, out, err = ds("records", *words)
    assert (status, out) == (1, "")
    assert err.startswith(f"ds records: {message}")
    assert "Usage: ds records cat INPUT\n" in err


WRONG = [
    (("cat", "data.msgpack", "start:", "a"), "start: invalid type: expected an integer, found a"),
    (("cat", "data.msgpack", "maxstring:", "-1"), "maxstring: expected 0 or more, found -1"),
    (("get", "data.msgpack", "index:", "a"), "index: invalid type: expected integers, found a"),
    (("sample", "data.msgpack", "y", "a"), "invalid type: expected a number of samples, found a"),
    (("sample", "data.msgpack", "y", "1", "strategy:", "a"), "strategy: expected random or sequential, found a"),
    (("shuffle", "data.msgpack", "y", "buf-size:", "a"), "buf-size, chunk-size: invalid type"),
    (("split", "data.msgpack", "1", "outfiles:", "a"), "outfiles: found 1 names, expected 2"),
    (("cat", "nothing.msgpack"), "nothing.msgpack: File does not exist"),
    (("cat", "a.nc"), "a.nc: a file without records: expected .msgpack"),
]


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("words", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told(words: tuple[str, ...], message: str, ds: Run) -> None:
    status, out, err = ds("records", *words)
    assert (status, out) == (1, "")
    assert err.startswith(f"ds records: {message}")


@pytest.mark.filterwarnings("always")
def test_copies_keep_attributes(ds: Run, folder: Path) -> None:
    files.write("a.msgpack", {"x": [1, 2, 3], "c": 5.0, ".": {"x": {".dims": ["t"], "units": "K"}}})
    for words in (("shuffle", "a.msgpack", "b.msgpack"), ("sample", "a.msgpack", "b.msgpack", "2", "-y")):
        assert ds("records", *words) == (0, "", "")
        found = files.read("b.msgpack")
        assert (found["c"], found["."]["x"]["units"]) == (5.0, "K")
    assert found["x"].size == 2
    status, _, err = ds("records", "merge", "a.msgpack", "b.msgpack", "c.msgpack")
    assert status == 1 and "for the second time" in err
    ds("records", "split", "a.msgpack", "1")
    assert files.read("a-1.msgpack")["x"].tolist() == [2, 3]
    status, _, err = ds("records", "merge", "a-0.msgpack", "a-1.msgpack", "d.msgpack")
    assert status == 0 and "a-1.msgpack.meta: attributes and dimensions are not kept; `ds merge` keeps them" in err
    assert ds("merge", "t", "a-0.msgpack", "a-1.msgpack", "e.msgpack") == (0, "", "")
    assert files.read("e.msgpack")["."]["x"]["units"] == "K"


def test_values_are_made_for_printing() -> None:
    assert shown({"a": [1j, b"abcdef"], 1: np.arange(9), "d": np.array(["2000-01-01"], "M8[D]")}, 3) == {
        "a": ["1j", b"abc..."],
        "1": "int64 [9]",
        "d": ["200..."],
    }


def test_reindex(ds: Run, data: str) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    for suffix in (".offsets", ".keys", ".key_hashes", ".filter", ".md5"):
        Path(data + suffix).unlink()
    assert ds("verify", data).status == 1
    assert ds("reindex", data) == (0, "data.msgpack 10\n", "")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    with open(data, "ab") as file:
        file.write(b"\x93")
    assert ds("reindex", data).status == 1
    assert ds("reindex", "--cut", data) == (0, "data.msgpack 10\n", "")
    assert Path(data).read_bytes() == before[data]


def test_verify(ds: Run, data: str) -> None:
    assert ds("verify", data) == (0, "", "")
    Path(data + ".filter").unlink()
    status, out, _ = ds("verify", data)
    assert (status, out) == (0, 'data.msgpack.filter none warning "there is no such file"\n')
    assert ds("verify", "--strict", data).status == 1
    content = bytearray(Path(data).read_bytes())
    content[-1] ^= 1
    Path(data).write_bytes(content)
    assert "has the checksum" in ds("verify", data).out


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("[0-9]*/*.msgpack")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_intact_golden_datasets_pass(path: Path, ds: Run) -> None:
    if path.parent.name[:2] in ("15", "20", "28"):
        return  # another key in the sample; a pickle; data without an index
    assert ds("verify", str(path)).status == 0


def test_select_with_dimension_and_key(ds: Run, base: str) -> None:
    assert ds("dim:", "time", "key:", "time", "select", base, "out.msgpack") == (0, "", "")
    assert ds("select", base, "other.msgpack", "dim:", "time", "key:", "time") == (0, "", "")
    assert Path("other.msgpack").read_bytes() == Path("out.msgpack").read_bytes()
    assert ds("records", "list", "out.msgpack").out == '"1"\n"2"\n"3"\n'
    assert ds("ls", "-l", "out.msgpack").out == ds("ls", "-l", base).out
    assert ds("attrs", "temperature", "out.msgpack").out == ds("attrs", "temperature", base).out
    assert json.loads(ds("meta", "-j", "temperature", "out.msgpack").out)["units"] == "celsius"
    assert ds("cat", "time", "temperature", "out.msgpack").out == ds("cat", "time", "temperature", base).out
    assert ds("select", base, "a.ds", "dim:", "time") == (
        1,
        "",
        'ds select: a.ds: the format ds has no option "dim"\n',
    )
    assert "dim: invalid type: expected a name" in ds("select", base, "a.msgpack", "dim:", "3").err
