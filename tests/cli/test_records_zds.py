"""`ds records`, `pack`, `unpack`, `reindex` and `verify` of ZDS stores, and what other commands do with these."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ds_format.api import files
from ds_format.datadings.writer import FileWriter
from ds_format.zds.store import ZDSStore

from ..zds import oracle

if TYPE_CHECKING:
    from .conftest import Run

SAMPLE = Path(__file__).parents[2] / "examples" / "sample.nc"
BOTH = pytest.mark.parametrize("data", ["data", "data.zds"], indirect=True)


@pytest.fixture
def data(request: pytest.FixtureRequest, folder: Path) -> str:
    name: str = getattr(request, "param", "data.zds")
    with ZDSStore.open(name, mode="w") as store:
        store.put_many(
            {"_id": f"k{i}", "v": i, "text": "x" * 50, "deep": {"x": list(range(i % 2 + 1))}} for i in range(10)
        )
    return name


@pytest.fixture
def several(folder: Path) -> str:
    for name, n in (("train", 3), ("test", 1)):
        with ZDSStore.open("several", name, mode="w") as store:
            store.put_many({"_id": f"{name}-{i}", "v": i} for i in range(n))
    return "several"


def values(path: str, collection: str = "default") -> list[Any]:
    with ZDSStore.open(path, collection) as store:
        return [document["v"] for document in store.scan()]


@BOTH
def test_cat(data: str, ds: Run) -> None:
    status, out, err = ds("records", "cat", "--noindent", data, "stop:", "2")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == f"_id: k0 v: 0 text: {'x' * 40}... deep: {{{{ x: {{ 0 }} }}}}"
    out = ds("records", "cat", "-j", data, "start:", "-1").out
    assert json.loads(out) == {"_id": "k9", "v": 9, "text": "x" * 50, "deep": {"x": [0, 1]}}


@BOTH
def test_get_and_list(data: str, ds: Run) -> None:
    out = ds("records", "get", "-j", "--noindent", data, "k3", "index:", "{", "-1", "0", "}").out
    assert [json.loads(line)["v"] for line in out.splitlines()] == [3, 9, 0]
    assert ds("records", "list", data, "start:", "7").out.split() == ["k7", "k8", "k9"]
    assert ds("records", "list", "-l", data, "stop:", "1").out == "k0 95\n"
    status, _, err = ds("records", "get", data, "nothing")
    assert status == 1 and err.startswith("ds records: ") and "nothing" in err and err.count("\n") == 1
    assert ds("records", "get", data, "index:", "10").status == 1


@BOTH
def test_info(data: str, ds: Run) -> None:
    found = json.loads(ds("records", "info", "-j", data).out)
    assert (found["samples"], found["first key"], found["collections"]) == (10, "k0", {"default": 10})
    assert found["entries"] == {"_id": "str", "v": "int", "text": "str", "deep": "dict"}
    if data == "data":
        names = [f"collections/default/meta/{name}" for name in ("data.jsonl", "index.bin", "manifest.json")]
        assert list(found["files"]) == names
        assert found["bytes"] == found["files"][names[0]]
    else:
        assert found["files"] == {"data.zds": Path(data).stat().st_size}


@BOTH
def test_bench(data: str, ds: Run) -> None:
    for options in ((), ("--raw",), ("--shuffle",)):
        assert json.loads(ds("records", "bench", "-j", *options, data).out)["samples"] == 10
    assert "bench: --mmap is only possible for datadings" in ds("records", "bench", "--mmap", data).err


@BOTH
def test_scan(data: str, ds: Run) -> None:
    assert ds("records", "scan", "-j", data, "where:", "v>=8", "fields:", "{", "v", "deep.x", "}").out.splitlines() == [
        '{"_id":"k8","v":8,"deep.x":[0]}',
        '{"_id":"k9","v":9,"deep.x":[0,1]}',
    ]
    found = ds("records", "scan", "--noindent", data, "where:", "{", "v>3", "v<6", "}", "fields:", "v").out
    assert found == "_id: k4 v: 4\n_id: k5 v: 5\n"
    assert ds("records", "scan", "-j", data, "limit:", "1", "fields:", "v,-_id").out == '{"v":0}\n'
    assert ds("records", "scan", "--count", data, "where:", "v!=0").out == "9\n"
    assert ds("records", "scan", "--count", data, "limit:", "3").out == "3\n"
    assert ds("records", "scan", "-j", data, "limit:", "0").out == ""


@BOTH
def test_put_and_delete(data: str, ds: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ds("records", "put", data, "a", "--", '{"v": [1, "ž", {"x": null}]}') == (0, "", "")
    monkeypatch.setattr("sys.stdin", io.StringIO('{"v": 5}\n'))
    assert ds("records", "put", data, "k0") == (0, "", "")
    out = ds("records", "scan", "-j", data, "where:", "v exists", "fields:", "v").out.splitlines()
    assert sorted(out)[:2] == ['{"_id":"a","v":[1,"ž",{"x":null}]}', '{"_id":"k0","v":5}']
    assert ds("records", "delete", data, "a", "k1", "a") == (0, "", "")
    assert sorted(ds("records", "list", data).out.split()) == ["k0", *(f"k{i}" for i in range(2, 10))]
    status, _, err = ds("records", "delete", data, "k2", "gone")
    assert status == 1 and "no document with the id 'gone'" in err
    assert "k2" in ds("records", "list", data).out.split()


def test_put_makes_a_store(ds: Run) -> None:
    for path in ("new", "new.zds"):
        assert ds("records", "put", path, "a", "collection:", "some", "--", '{"v":1}') == (0, "", "")
        assert values(path, "some") == [1]
        assert ds("records", "put", path, "b", "--", '{"v":2}') == (0, "", "")
        assert values(path, "some") == [1, 2]
    assert ds("records", "put", "other", "a", "--", "{}") == (0, "", "")
    assert json.loads(ds("records", "info", "-j", "other").out)["collections"] == {"default": 1}


@BOTH
def test_import_and_export(data: str, ds: Run) -> None:
    assert ds("records", "export", data, "a.jsonl") == (0, "", "")
    lines = Path("a.jsonl").read_text().splitlines()
    assert len(lines) == 10 and json.loads(lines[3])["_id"] == "k3"
    assert ds("records", "import", "b", "a.jsonl") == (0, "", "")
    assert values("b") == list(range(10))
    Path("a.jsonl").write_text('{"_id":"k0","v":100}\n{"_id":"new","v":1}\n')
    assert ds("records", "import", "b", "a.jsonl").status == 0
    assert sorted(values("b")) == [*range(1, 10), 100] or sorted(values("b")) == [1, *range(1, 10), 100]
    Path("a.jsonl").write_text('{"_id":"x","v":1}\nnonsense\n')
    status, _, err = ds("records", "import", "b", "a.jsonl")
    assert status == 1 and err.count("\n") == 1
    assert ds("records", "get", "b", "x").status == 1
    assert "a.jsonl: file exists; -y replaces it" in ds("records", "export", data, "a.jsonl").err
    assert ds("records", "export", "-y", data, "a.jsonl").status == 0
    assert Path("a.jsonl").read_text().splitlines() == lines


def test_export_of_samples(ds: Run, folder: Path) -> None:
    with FileWriter("a.msgpack") as writer:
        writer.write({"key": "a", "x": np.arange(2, dtype="i2")})
    assert ds("records", "export", "a.msgpack", "a.jsonl") == (0, "", "")
    assert Path("a.jsonl").read_text() == '{"key":"a","x":[0,1]}\n'
    with FileWriter("b.msgpack") as writer:
        writer.write({"key": "a"})
        writer.write({"key": "b", "x": b"bytes"})
    status, _, err = ds("records", "export", "b.msgpack", "b.jsonl")
    assert status == 1 and "b.msgpack: sample 1: " in err and not Path("b.jsonl").exists()


@BOTH
def test_copies(data: str, ds: Run) -> None:
    assert ds("records", "sample", data, "a.zds", "3") == (0, "", "")
    assert ds("records", "sample", data, "b.zds", "3", "strategy:", "sequential") == (0, "", "")
    assert len({*values("a.zds")}) == 3 and values("b.zds") == [0, 1, 2]
    assert ds("records", "shuffle", data, "c.zds", "seed:", "1") == (0, "", "")
    assert values("c.zds") != sorted(values("c.zds")) == list(range(10))
    assert ds("records", "split", data, "3", "6") == (0, "", "")
    assert [values(f"data-{i}.zds") for i in range(3)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    assert ds("records", "merge", *(f"data-{i}.zds" for i in range(3)), "d.zds", "strategy:", "concat").status == 0
    assert values("d.zds") == list(range(10))
    assert sorted(values("d.zds")) == list(range(10))
    status, _, err = ds("records", "merge", data, "data-0.zds", "e.zds")
    assert status == 1 and "k" in err and not Path("e.zds").exists()


@BOTH
def test_copies_are_of_one_format(data: str, ds: Run) -> None:
    message = f"ds records: a.msgpack: expected .zds as {data}; `ds select` converts records\n"
    assert ds("records", "shuffle", data, "a.msgpack") == (1, "", message)
    assert "file exists; -y replaces it" in ds("records", "shuffle", "a.zds", data).err or data == "data"
    assert ds("records", "shuffle", "-y", data, data).status == 1
    assert values(data) == list(range(10))


def test_collections(several: str, ds: Run) -> None:
    assert ds("records", "list", several, "collection:", "test").out == "test-0\n"
    expected = 'ds records: several: there is no collection "{}"; expected one of test, train\n'
    assert ds("records", "list", several).err == expected.format("default")
    assert ds("records", "scan", several, "collection:", "x").err == expected.format("x")
    assert ds("records", "put", several, "z", "--", "{}").err == expected.format("default")
    assert ds("records", "sample", several, "a.zds", "1", "collection:", "train").status == 0
    assert json.loads(ds("records", "info", "-j", "a.zds").out)["collections"] == {"train": 1}
    assert json.loads(ds("records", "info", "-j", several, "collection:", "train").out)["collections"] == {
        "test": 1,
        "train": 3,
    }
    assert ds("ls", "-l", several).out.splitlines()[0] == "test/n: 1 train/n: 3"


USAGE = [
    (("scan", "a.msgpack"), "scan: a.msgpack is no ZDS store: expected a folder, or .zds"),
    (("put", "a.msgpack", "k", "--", "{}"), "put: a.msgpack is no ZDS store"),
    (("put", "new.msgpack", "k", "--", "{}"), "put: new.msgpack is no ZDS store"),
    (("import", "a.msgpack", "x"), "import: a.msgpack is no ZDS store"),
    (("scan", "files"), "scan: files is no ZDS store"),
    (("put", "data.zds"), "put: KEY is missing: found only data.zds"),
    (("scan", "data.zds", "start:", "1"), 'scan: unrecognized option "start"'),
]
WRONG = [
    (("scan", "gone.zds"), "gone.zds: File does not exist"),
    (("scan", "gone"), "gone: File does not exist"),
    (("list", "a.msgpack", "collection:", "x"), "a.msgpack: collection is not possible with this format"),
    (("put", "data.zds", "k", '{"a": 1}'), "expected an object in JSON, found '{a: 1}'"),
    (("put", "data.zds", "k", "--", "[1]"), "expected an object in JSON, found '[1]'"),
    (("put", "data.zds", "k", "--", '{"a":NaN}'), "expected an object in JSON, found"),
    (("put", "data.zds", "../k", "--", "{}"), "data.zds: '../k' cannot be the id of a document"),
    (("put", "data.zds", "k", "--", '{"_id":"other"}'), ""),
    (("scan", "data.zds", "limit:", "-1"), "limit: expected 0 or more, found -1"),
    (("scan", "data.zds", "where:", "nonsense"), "condition 'nonsense': expected a field"),
    (("import", "data.zds", "gone.jsonl"), "gone.jsonl: File does not exist"),
    (("list", "a.nc"), "a.nc: a file without records: expected .msgpack or .zds"),
]


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("words", "message"), [*USAGE, *WRONG], ids=range(len(USAGE) + len(WRONG)))
def test_what_is_wrong_is_told(words: tuple[str, ...], message: str, ds: Run, folder: Path) -> None:
    with FileWriter("a.msgpack") as writer:
        writer.write({"key": "a"})
    (folder / "files" / "x").mkdir(parents=True)
    status, out, err = ds("records", *words)
    assert (status, out) == (1, "")
    assert err.startswith(f"ds records: {message}")
    assert values("data.zds") == list(range(10))


@pytest.mark.filterwarnings("always")
def test_copies_keep_attributes(ds: Run, folder: Path) -> None:
    files.write("a.zds", {"x": [1, 2, 3], "c": 5.0, ".": {"x": {".dims": ["t"], "units": "K"}}})
    for words in (("shuffle", "a.zds", "b.zds"), ("sample", "a.zds", "b.zds", "2", "-y")):
        assert ds("records", *words) == (0, "", "")
        found = files.read("b.zds")
        assert (found["c"], found["."]["x"]["units"]) == (5.0, "K")
    assert found["x"].size == 2
    ds("records", "split", "a.zds", "1")
    assert files.read("a-1.zds")["x"].tolist() == [2, 3]
    status, _, err = ds("records", "merge", "a-0.zds", "a-1.zds", "d.zds")
    assert status == 0 and "dataset.ds: attributes and dimensions are not kept; `ds merge` keeps them" in err
    assert ds("merge", "t", "a-0.zds", "a-1.zds", "e.zds") == (0, "", "")
    assert files.read("e.zds")["."]["x"]["units"] == "K"


def test_pack_and_unpack(ds: Run, data: str) -> None:
    assert ds("unpack", data, "folder") == (0, "", "")
    assert values("folder") == list(range(10))
    assert ds("pack", "folder", "a.zds") == (0, "", "")
    assert ds("pack", "folder", "b.zds", "compression:", "deflate") == (0, "", "")
    assert values("a.zds") == values("b.zds") == list(range(10))
    assert Path("b.zds").stat().st_size < Path("a.zds").stat().st_size
    assert (
        "compression: expected store or deflate, found zip" in ds("pack", "folder", "c.zds", "compression:", "zip").err
    )
    assert "max_size" in ds("unpack", data, "other", "max_size:", "10").err
    assert "max_size: expected a number of bytes, found a" in ds("unpack", data, "other", "max_size:", "a").err
    assert ds("unpack", data, "folder").status == 1
    assert not Path("other").exists()
    for words, lacking in ((("pack", "folder"), "ARCHIVE"), (("unpack", data), "FOLDER")):
        assert ds(*words).err.startswith(f"ds {words[0]}: {lacking} is missing: found only {words[1]}\nUsage: ds ")


@pytest.mark.parametrize("data", ["data"], indirect=True)
@pytest.mark.filterwarnings("always")
def test_reindex(data: str, ds: Run) -> None:
    meta = Path("data/collections/default/meta")
    before = (meta / "index.bin").read_bytes()
    (meta / "index.bin").unlink()
    assert ds("reindex", data) == (0, "data 10\n", "")
    assert (meta / "index.bin").read_bytes() == before
    assert ds("reindex", "--binary", data) == (0, "data 10\n", "")
    assert (meta / "index.bin").read_bytes().startswith(b"ISDZ")
    assert ds("verify", data) == (0, "", "")
    files.write("s.msgpack", {"x": [1]})
    assert "only the index of a store of documents has a binary form" in ds("reindex", "--binary", "s.msgpack").err
    assert ds("reindex", data).status == 0
    with open(meta / "data.jsonl", "ab") as file:
        file.write(b'{"_id":"x"')
    status, _, err = ds("reindex", data)
    assert status == 1 and "torn line of 10 bytes" in err
    status, out, _ = ds("reindex", "--cut", data)
    assert (status, out) == (0, "data 10\n")
    assert (meta / "index.bin").read_bytes() == before
    assert (meta / "data.jsonl.torn-1").read_bytes() == b'{"_id":"x"'
    ds("pack", data, "a.zds")
    assert "a.zds: an archive is not changed" in ds("reindex", "a.zds").err
    files.write("a.nc", {"x": 1})
    assert "a.nc: files of this format have no index" in ds("reindex", "a.nc").err


@BOTH
def test_verify(data: str, ds: Run) -> None:
    assert ds("verify", data) == (0, "", "")


def test_verify_lists_all_problems(ds: Run, several: str) -> None:
    path = Path("several/collections/train/meta/data.jsonl")
    path.write_bytes(path.read_bytes() + b'{"_id":"x"}\nnonsense\n')
    status, out, err = ds("verify", several)
    assert (status, err) == (1, "ds verify: the file failed\n")
    assert any("data.jsonl none error" in line and "line 5" in line for line in out.splitlines()), out
    found = json.loads(ds("verify", "-j", several).out)
    assert {problem["severity"] for problem in found} <= {"error", "warning"}


def test_select_with_dimension_and_key(ds: Run, base: str) -> None:
    assert ds("dim:", "time", "key:", "time", "select", base, "out.zds") == (0, "", "")
    assert ds("select", base, "other.zds", "dim:", "time", "key:", "time") == (0, "", "")
    assert ds("records", "cat", "other.zds").out == ds("records", "cat", "out.zds").out
    assert ds("records", "list", "out.zds").out == '"1"\n"2"\n"3"\n'
    assert ds("ls", "-l", "out.zds").out == ds("ls", "-l", base).out
    assert ds("attrs", "temperature", "out.zds").out == ds("attrs", "temperature", base).out
    assert json.loads(ds("meta", "-j", "temperature", "out.zds").out)["units"] == "celsius"
    assert ds("cat", "time", "temperature", "out.zds").out == ds("cat", "time", "temperature", base).out
    assert ds("stats", "temperature", "out.zds").out == ds("stats", "temperature", base).out


def test_a_table_of_text_and_back(ds: Run, folder: Path) -> None:
    Path("in.csv").write_text("name,age\nAda,36\nBob,\n")
    assert ds("select", "in.csv", "out.zds") == (0, "", "")
    assert (
        ds("records", "scan", "-j", "out.zds").out
        == '{"_id":"0","name":"Ada","age":36}\n{"_id":"1","name":"Bob","age":null}\n'
    )
    assert ds("select", "out.zds", "back.csv") == (0, "", "")
    assert Path("back.csv").read_text().splitlines() == ["name,age", "Ada,36", "Bob,"]


def kept(path: str, collection: str = "default") -> str:
    """Return how a store keeps its documents, by the files that it has."""
    names = [name for name in oracle.files_of(Path(path)) if name.startswith(f"collections/{collection}/")]
    assert any(name.endswith("/data.jsonl") for name in names) != any("/docs/" in name for name in names)
    return "docs" if any("/docs/" in name for name in names) else "jsonl"


@pytest.mark.parametrize("path", ["s", "s.zds"])
def test_a_store_of_files_stays_one(path: str, ds: Run) -> None:
    Path("lines").write_text('{"_id":"b","v":2}\n{"_id":"c","v":3}\n')
    assert ds("records", "put", path, "a", "layout:", "docs", "--", '{"v":1}') == (0, "", "")
    assert kept(path) == "docs"
    assert ds("records", "import", path, "lines") == (0, "", "")
    assert ds("records", "put", path, "b", "--", '{"v":4}') == (0, "", "")
    assert ds("records", "delete", path, "c") == (0, "", "")
    assert ds("records", "export", path, "out") == (0, "", "")
    assert Path("out").read_text() == '{"_id":"a","v":1}\n{"_id":"b","v":4}\n'
    assert (kept(path), values(path)) == ("docs", [1, 4])
    status, out, err = ds("records", "put", path, "d", "layout:", "jsonl", "--", "{}")
    assert (status, out, err.count("\n")) == (1, "", 1) and "found the layout 'jsonl'" in err
    assert (kept(path), values(path)) == ("docs", [1, 4])
    for command in (["sample", path, "a.zds", "2"], ["shuffle", path, "b.zds"], ["merge", path, "c.zds"]):
        assert ds("records", *command) == (0, "", "")
        assert (kept(command[2]), sorted(values(command[2]))) == ("docs", [1, 4])
        assert ds("records", *command, "-y", "layout:", "jsonl") == (0, "", "")
        assert (kept(command[2]), sorted(values(command[2]))) == ("jsonl", [1, 4])
    assert ds("records", "split", path, "1", "outfiles:", "{", "d.zds", "e.zds", "}") == (0, "", "")
    assert [(kept(part), values(part)) for part in ("d.zds", "e.zds")] == [("docs", [1]), ("docs", [4])]
    assert ds("verify", path, "a.zds", "d.zds") == (0, "", "")


def test_layouts_of_new_stores(ds: Run) -> None:
    Path("lines").write_text('{"_id":"a","v":1}\n')
    for layout in ("docs", "jsonl"):
        assert ds("records", "import", f"s-{layout}", "lines", "layout:", layout) == (0, "", "")
        assert (kept(f"s-{layout}"), values(f"s-{layout}")) == (layout, [1])
    assert ds("records", "put", "s-docs", "b", "collection:", "other", "--", "{}") == (0, "", "")
    assert (kept("s-docs"), kept("s-docs", "other")) == ("docs", "jsonl")
    message = "ds records: layout: expected jsonl or docs, found files\n"
    assert ds("records", "put", "new", "a", "layout:", "files", "--", "{}") == (1, "", message)
    assert not Path("new").exists()
    assert ds("records", "delete", "s-docs", "a", "layout:", "docs").status != 0
    with FileWriter("a.msgpack") as writer:
        writer.write({"key": "a"})
    status, _, err = ds("records", "shuffle", "a.msgpack", "b.msgpack", "layout:", "docs")
    assert status == 1 and "layout is not possible with this format" in err and not Path("b.msgpack").exists()


@pytest.mark.filterwarnings("default")
def test_a_sidecar_does_not_belong_to_files(ds: Run, data: str) -> None:
    assert ds("select", str(SAMPLE), "days.zds", "dim:", "time") == (0, "", "")
    status, _, err = ds("records", "shuffle", "days.zds", "files.zds", "layout:", "docs")
    assert status == 0 and "dataset.ds: attributes and dimensions are not kept" in err
    assert kept("files.zds") == "docs" and len(ZDSStore.open("files.zds")) == len(ZDSStore.open("days.zds"))
