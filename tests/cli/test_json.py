"""`-j` of every command that prints data: JSON values, which say the same as PST does."""

from __future__ import annotations

import json
import math
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format
from ds_format import binpickle
from ds_format.cli import commands, pst
from ds_format.cli.records import TOOLS
from ds_format.datadings.writer import FileWriter
from ds_format.zds import ZDSStore

from ..formats import DATASETS, RECORDS
from .conftest import Run

ROOT = Path(__file__).parents[2]
TEXT = "a\x1b[31m\n\x9b \u202e Ž\u2028"
SILENT = {
    *("append", "compact", "merge", "pack", "plot", "rename", "rename_dim", "rm", "select", "set", "unpack"),
    "virtualize",
}
"""They write files, or draw."""
SILENT_TOOLS = {"delete", "export", "import", "merge", "put", "sample", "shuffle", "split"}

ONE = [
    ["attrs"],
    ["attrs", "x"],
    ["attrs", "x", "units"],
    ["attrs", "x", "nan"],
    ["attrs", "-t", "none", "none_at_all"],
    ["dim", "i"],
    ["dim", "-t", "nope"],
    ["dims"],
    ["dims", "-z"],
    ["dims", "x"],
    ["meta"],
    ["meta", "."],
    ["meta", "x"],
    ["size", "empty"],
    ["size", "x"],
    ["stats", "-t", "none_at_all"],
    ["stats", "x"],
    ["type", "-t", "nope"],
    ["type", "x"],
]
"""Commands that print one value."""
STREAMS = [
    ["cat", "--jd", "time"],
    ["cat", "-h", "time"],
    ["cat", "-n", "x"],
    ["cat", "bytes"],
    ["cat", "empty"],
    ["cat", "huge", "missing"],
    ["cat", "text", "some", "flag", "time"],
    ["cat", "x"],
    ["ls"],
    ["ls", "-l"],
    ["ls", "x", "a:", "{", "units", "list", "nope", "}"],
]
"""Commands that print a value for each item."""


def values(text: str) -> list[Any]:
    """Return the JSON values of an output."""
    found, place = [], 0
    decoder = json.JSONDecoder()
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        found.append(value)
        assert text[place] == "\n"
        place += 1
    return found


@pytest.fixture(scope="module")
def dataset() -> dict[str, Any]:
    def items(*values: Any, mask: Any = None) -> Any:
        out = np.empty(len(values), object)
        out[:] = values
        return out if mask is None else np.ma.MaskedArray(out, mask)

    attributes = {"units": "K", "nan": math.nan, "list": [1, 2], "f": np.float32(0.1), "text": TEXT}
    names = ("x", "bytes", "text", "some", "flag", "time", "empty")
    meta: dict[str, Any] = {name: {".dims": ["i"]} for name in names}
    meta["x"] = {".dims": ["i", "j"], **attributes}
    meta["time"]["units"] = "days since 2000-01-01"
    return {
        "x": np.ma.MaskedArray([[1.5, 2.0], [math.nan, math.inf]], [[False, True], [False, False]]),
        "bytes": items(b"\x00a", "ž".encode()),
        "text": items(TEXT, "none"),
        "some": items("", "y", mask=[True, False]),
        "flag": [True, False],
        "time": [0, 1.5],
        "empty": np.zeros(0),
        "missing": np.ma.masked_all((), "f8"),
        "huge": np.uint64(2**64 - 1),
        ".": {**meta, "empty": {".dims": ["k"]}, ".": {"title": TEXT, "list": [1.5, 2.5]}},
    }


@pytest.fixture(params=DATASETS)
def path(request: pytest.FixtureRequest, folder: Path, dataset: dict[str, Any]) -> str:
    """A file of each format with all kinds of data."""
    if request.param == ".h5":
        pytest.importorskip("h5py")
    options: dict[str, Any] = {"dim": "i"} if request.param in RECORDS else {}
    ds_format.write(f"data{request.param}", dataset, **options)
    return f"data{request.param}"


class TestTheRule:
    @pytest.mark.filterwarnings("ignore")
    def test_every_format(self, path: str, ds: Run) -> None:
        for words in [*ONE, *STREAMS]:
            plain = ds(*words, path)
            done = ds(*words, path, "-j")
            assert (done.status, done.err) == (plain.status, plain.err), words
            found = values(done.out)
            assert len(found) == 1 or words not in ONE, words
            same_as_plain(found, plain.out, words)
            lines = ds(*words, path, "-j", "--noindent").out.splitlines()
            assert repr([json.loads(line) for line in lines]) == repr(found), words

    def test_every_command_is_held(self) -> None:
        """Who makes a command that prints something puts it into a table above, or gives it a test of its own."""
        own = {"convert", "diff", "hash", "info", "inspect", "records", "reindex", "sql", "verify", "vrt"}
        tables = {words[0] for words in [*ONE, *STREAMS]}
        assert {*commands.COMMANDS} == SILENT | own | tables
        assert {*TOOLS} == SILENT_TOOLS | {"bench", "cat", "get", "info", "list", "scan"}

    def test_missing_values_are_null_and_nan_stays(self, folder: Path, dataset: dict[str, Any], ds: Run) -> None:
        dataset = {**dataset, "bytes": np.array([b"\xff", b"a"], object)}
        ds_format.write("x.ds", dataset)
        name, first, second = values(ds("cat", "-j", "x", "x.ds").out)
        assert (name, first) == ("x", [1.5, None])
        assert second[1] == math.inf
        assert math.isnan(second[0])
        assert values(ds("cat", "-j", "huge", "missing", "x.ds").out)[1] == [2**64 - 1, None]
        assert values(ds("cat", "-jn", "bytes", "x.ds").out) == ["\udcff", "a"]

    def test_statistics_of_nothing_are_null(self, folder: Path, dataset: dict[str, Any], ds: Run) -> None:
        ds_format.write("x.ds", dataset)
        assert ds("stats", "-j", "empty", "x.ds") == (0, "null\n", "")
        assert ds("stats", "-jt", "nope", "x.ds") == (0, "null\n", "")
        assert ds("stats", "empty", "x.ds") == (0, "", "")

    def test_an_error_leaves_stdout_to_json(self, folder: Path, ds: Run) -> None:
        for words in [*ONE, *STREAMS, ["info"], ["inspect"], ["records", "info"]]:
            done = ds(*words, "nothing.ds", "-j")
            assert (done.status, done.out) == (1, ""), words
            assert done.err.count("\n") == 1


def same_as_plain(found: list[Any], plain: str, words: list[str]) -> None:
    lines = "".join(f"{pst.encode(value, number=pst.number)}\n" for value in found)
    if words[0] == "stats" and found == [None]:
        lines = ""
    assert lines.encode("utf-8", "surrogateescape") == plain.encode("utf-8", "surrogateescape"), words


class TestOthers:
    def test_inspect(self, folder: Path, ds: Run) -> None:
        binpickle.dump({"a": np.arange(3), TEXT: math.nan}, "x.bpk")
        [found] = values(ds("inspect", "-j", "x.bpk").out)
        lines = ds("inspect", "x.bpk").out.splitlines()
        assert lines[0].startswith(f"BinPickle version {found['version']}, {found['size']} bytes")
        assert len(found["entries"]) == 2
        assert found["object"]["n"] == 2

    def test_verify(self, folder: Path, ds: Run) -> None:
        ds_format.write("x.ds", {"x": [1.0]})
        done, plain = ds("verify", "-j", "nothing.ds", "x.ds"), ds("verify", "nothing.ds", "x.ds")
        assert (done.status, done.err) == (plain.status, plain.err)
        [found] = values(done.out)
        fields = ("path", "variable", "severity", "message")
        assert [pst.encode([one[field] for field in fields]) for one in found] == plain.out.splitlines()
        assert ds("verify", "-j", "x.ds") == (0, "[]\n", "")

    def test_convert(self, folder: Path, ds: Run) -> None:
        ds_format.write("x.ds", {"x": [1.0]})
        (folder / "broken.ds").write_text("no")
        [planned] = values(ds("convert", "-j", "--dry-run", "x.ds", "out").out)
        assert [pst.encode([one["input"], one["output"]]) for one in planned] == (
            ds("convert", "--dry-run", "x.ds", "out").out.splitlines()
        )
        done = ds("convert", "-j", "x.ds", "broken.ds", "out", "to:", "json")
        assert done.status == 1
        [found] = values(done.out)
        assert {one["input"]: one["status"] for one in found} == {"x.ds": "converted", "broken.ds": "failed"}

    def test_diff(self, folder: Path, ds: Run) -> None:
        ds_format.write("a.ds", {"x": [1.0, 2.0]})
        ds_format.write("b.ds", {"x": [1.0, math.nan]})
        for other, status in (("a.ds", 0), ("b.ds", 1)):
            done, plain = ds("diff", "-j", "a.ds", other), ds("diff", "a.ds", other)
            assert (done.status, done.err) == (plain.status, plain.err) == (status, "")
            assert len(values(done.out)) == 1
            assert bool(plain.out) == bool(status)

    def test_reindex(self, folder: Path, ds: Run) -> None:
        with FileWriter("x.msgpack") as writer:
            writer.write({"key": "a"})
        found = values(ds("reindex", "-j", "x.msgpack", "x.msgpack").out)
        assert found == [["x.msgpack", 1], ["x.msgpack", 1]]
        same_as_plain(found, ds("reindex", "x.msgpack", "x.msgpack").out, ["reindex"])


class TestRecords:
    @pytest.fixture(params=["samples", "documents"])
    def store(self, request: pytest.FixtureRequest, folder: Path) -> str:
        entries = {"x": [1.5, None], "text": TEXT, "o": {"a": [True]}}
        if request.param == "documents":
            with ZDSStore.open("x.zds", mode="w") as store:
                store.put("a", entries)
                store.put("b", {"n": 2**64 - 1})
            return "x.zds"
        with FileWriter("x.msgpack") as writer:
            writer.write({
                "key": "a",
                **entries,
                "array": np.array([math.nan, 1]),
                "bytes": b"a",
                "c": np.complex64(1j),
            })
            writer.write({"key": "b", "date": np.datetime64("2000-01-01"), "n": 2**64 - 1})
        return "x.msgpack"

    @pytest.mark.parametrize(
        "words",
        [["cat", "maxstring:", "100"], ["get", "index:", "{", "0", "-1", "}"], ["list"], ["list", "-l"], ["info"]],
    )
    def test_the_same_as_plain(self, words: list[str], store: str, ds: Run) -> None:
        name, *options = words
        done, plain = ds("records", name, "-j", store, *options), ds("records", name, store, *options)
        assert (done.status, done.err) == (0, "")
        found = values(done.out)
        assert len(found) == (1 if name == "info" else 2)
        same_as_plain(found, plain.out, words)

    def test_bench(self, store: str, ds: Run) -> None:
        [found] = values(ds("records", "bench", "-j", store).out)
        assert found["samples"] == 2

    def test_scan_prints_a_line_for_each(self, folder: Path, ds: Run) -> None:
        with ZDSStore.open("x.zds", mode="w") as store:
            store.put("a", {"text": TEXT})
            store.put("b", {"n": None})
        lines = ds("records", "scan", "-j", "x.zds").out.split("\n")
        assert [json.loads(line) for line in lines[:-1]] == [{"_id": "a", "text": TEXT}, {"_id": "b", "n": None}]
        assert ds("records", "scan", "-j", "--count", "x.zds").out == "2\n"

    def test_maps_with_keys_that_look_alike(self, folder: Path, ds: Run) -> None:
        with FileWriter("x.msgpack") as writer:
            writer.write({"key": "a", "m": {1: "number", "1": "text"}})
        [found] = values(ds("records", "cat", "-j", "x.msgpack").out)
        assert sorted(found["m"].values()) == ["number", "text"]


def terminal(ds_words: list[str]) -> bytes:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-m", "ds_format", *ds_words], stdout=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
    os.close(ours)
    assert process.returncode == 0
    return shown


@pytest.mark.parametrize("words", [["cat", "text", "x.ds"], ["records", "scan", "x.zds"], ["info", "x.ds"]])
def test_a_terminal_gets_json_in_ascii(words: list[str], folder: Path, dataset: dict[str, Any]) -> None:
    ds_format.write("x.ds", dataset)
    with ZDSStore.open("x.zds", mode="w") as store:
        store.put("a", {"text": TEXT})
    shown = terminal([*words, "-j"]).replace(b"\r\n", b"\n").decode("ascii")
    assert "\\u202e" in shown
    assert "\\u017d" in shown
    assert not any(char < " " and char != "\n" for char in shown)
    assert values(shown)
