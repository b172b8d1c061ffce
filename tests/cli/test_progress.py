"""The progress bar, and what commands tell it."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format
from ds_format import binpickle
from ds_format.base.progress import Advance, share_of
from ds_format.base.text import bytes_of
from ds_format.cli import change, commands, progress
from ds_format.cli.progress import Progress, between, render
from ds_format.datadings.writer import FileWriter
from ds_format.zds import ZDSStore

from ..same import same_data


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one item to change."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def test_short_work_has_no_bar(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as bar:
        for _ in range(9):
            clock[0] += 0.1
            bar(1, 2)
    assert stream.getvalue() == ""


def test_long_work_has_a_bar_until_its_end(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as bar:
        clock[0] += 2.5
        bar(250, 1000)
        shown = stream.getvalue()
        assert shown.startswith("\r[#########....")
        assert " 25%  250 B of 1 kB  100 B/s  0:08 left" in shown
        clock[0] += 0.05
        bar(300, 1000)
        assert stream.getvalue() == shown
        clock[0] += 0.1
        bar(1000, 1000)
        assert "100%  1 kB of 1 kB" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_the_bar_goes_at_an_error_too(clock: list[float]) -> None:
    stream = io.StringIO()

    def interrupted() -> None:
        with Progress(stream) as bar:
            clock[0] += 3
            bar(1, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("done", "total", "seconds", "width", "text"),
    [
        (0, 0, 3.0, 79, f"[{'.' * 40}]    0%  0 B of 0 B  0 B/s"),
        (5, 2, 1.0, 79, f"[{'#' * 40}]  100%  5 B of 2 B  5 B/s"),
        (0, 100, 0.0, 79, f"[{'.' * 40}]    0%  0 B of 100 B  0 B/s"),
        (10**9, 10**10, 1.0, 50, "[........]   10%  1 GB of 10 GB  1 GB/s  0:09 left"),
        (10**9, 10**10, 1.0, 20, " 10%  1 GB of 10 GB "),
    ],
)
def test_the_bar_fits(done: int, total: int, seconds: float, width: int, text: str) -> None:
    assert text == render(done, total, seconds, width)


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_999, "1 MB"),
        (1.5e9, "1.5 GB"),
        (2e12, "2 TB"),
        (5e15, "5 PB"),
        (5e18, "5000 PB"),
    ],
)
def test_sizes(n: float, text: str) -> None:
    assert text == bytes_of(n)


ROOT = Path(__file__).parents[2]
N = 5000


@pytest.fixture
def files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of all kinds; whatever is in them is large."""
    monkeypatch.setattr(change, "LARGE", 1)
    rng = np.random.default_rng(1)
    x = np.ma.MaskedArray(rng.normal(size=(N, 3)), rng.random((N, 3)) < 0.1)
    text = np.array([f"t{i}" for i in range(N)], object)
    meta = {"x": {".dims": ["i", "j"], "units": "K"}, "text": {".dims": ["i"]}, "t": {".dims": ["i"]}}
    d = {"x": x, "text": text, "t": np.arange(N), "scalar": 5, "none": None, ".": meta}
    for suffix in ("ds", "nc", "json"):
        ds_format.write(f"d.{suffix}", d)
    with FileWriter("r.msgpack") as writer:
        for i in range(200):
            writer.write({"key": f"k{i}", "x": i})
    with ZDSStore.open("store", "train", mode="w") as store:
        for i in range(200):
            store.put(f"k{i}", {"x": i})
    binpickle.dump({"a": np.arange(1000), "b": np.arange(10)}, "o.bpk")
    Path("lines.jsonl").write_text("".join(json.dumps({"_id": f"k{i}"}) + "\n" for i in range(100)))
    return folder


def told(*words: str) -> tuple[list[tuple[int, int]], list[Any]]:
    """Run a command, and return its reports of progress and its output."""
    calls: list[tuple[int, int]] = []
    request = commands.read(list(words))._replace(progress=lambda done, total: calls.append((done, total)))
    command = commands.load(request.command)
    return calls, list(command.run(request.check(command.all_options)))


COMMANDS = [
    ["stats", "x", "d.ds"],
    ["cat", "x", "d.ds"],
    ["cat", "t", "text", "d.nc"],
    ["plot", "t", "d.ds"],
    ["verify", "d.ds"],
    ["verify", "d.nc"],
    ["verify", "d.json", "d.ds"],
    ["verify", "r.msgpack"],
    ["verify", "store"],
    ["verify", "o.bpk"],
    ["set", "title:", "new", "d.ds", "out.ds"],
    ["set", "x", "units:", "m", "d.nc", "out.ds"],
    ["rm", "t", "d.ds", "out.nc"],
    ["rename", "t:", "time", "d.ds", "out.ds"],
    ["rename_dim", "j:", "k", "d.ds", "out.json"],
    ["select", "d.ds", "out.nc"],
    ["merge", "i", "d.ds", "d.ds", "out.ds"],
    ["pack", "store", "out.zds"],
    ["reindex", "r.msgpack"],
    ["reindex", "store"],
    ["records", "cat", "r.msgpack"],
    ["records", "scan", "store"],
    ["records", "export", "r.msgpack", "out.jsonl"],
    ["records", "export", "store", "out.jsonl"],
    ["records", "import", "new", "lines.jsonl"],
    ["records", "shuffle", "r.msgpack", "out.msgpack"],
]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_is_told_from_the_start_to_the_end(words: list[str]) -> None:
    calls, _ = told(*words)
    assert calls
    shares = [done / total for done, total in calls]
    assert shares == sorted(shares)
    assert 0.9 < shares[-1] <= 1.0
    totals = {total for _, total in calls}
    assert max(totals) < 1.01 * min(totals) or words[0] == "rm"


@pytest.mark.usefixtures("files")
def test_unpacking() -> None:
    told("pack", "store", "s.zds")
    calls, _ = told("unpack", "s.zds", "out")
    assert calls[-1][0] == calls[-1][1] > 0


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "words", [words for words in COMMANDS if words[0] in ("stats", "cat", "verify", "reindex")], ids=" ".join
)
def test_it_changes_nothing_that_is_printed(words: list[str], ds: Callable[..., Any]) -> None:
    _, items = told(*words)
    plain = ds(*words, "-j", "--noindent")
    printed = [json.loads(line) for line in plain.out.splitlines()]
    if words[0] == "verify":
        assert (items, printed) == ([], [[]])
    else:
        assert json.loads(json.dumps(items)) == printed


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("suffix", ["ds", "nc", "json"])
@pytest.mark.parametrize("source", ["d.ds", "d.nc"])
def test_a_large_dataset_is_changed_as_a_small_one(source: str, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change, "BLOCK_SIZE", 4096)
    words = ["rename", "t:", "time", source]
    told(*words, f"large.{suffix}")
    run = commands.load("rename").run
    list(run(commands.read([*words, f"small.{suffix}"])))
    found, expected = ds_format.read(f"large.{suffix}"), ds_format.read(f"small.{suffix}")
    assert found.keys() == expected.keys()
    assert found["."] == expected["."]
    for key in found.keys() - {"."}:
        assert same_data(found[key], expected[key]), key


@pytest.mark.usefixtures("files")
def test_a_large_dataset_that_cannot_be_written_leaves_nothing() -> None:
    with pytest.raises(ds_format.UnsupportedError, match=r"out\.csv: "):
        told("rename", "t:", "time", "d.ds", "out.csv")
    assert not Path("out.csv").exists()


def test_a_part_tells_how_far_the_whole_is() -> None:
    calls: list[tuple[int, int]] = []
    part = share_of(lambda *call: calls.append(call), 10, 20, 100)
    assert part is not None
    part(0, 4)
    part(1, 4)
    part(9, 4)
    part(0, 0)
    assert calls == [(10, 100), (15, 100), (30, 100), (10, 100)]
    assert share_of(None, 0, 1, 1) is None
    nobody = Advance(None)
    nobody.add(3)


def test_the_bar_goes_before_what_is_printed() -> None:
    done: list[str] = []

    class Bar:
        def clear(self) -> None:
            done.append("clear")

    class Out:
        def isatty(self) -> bool:
            return True

        def flush(self) -> None:
            done.append("flush")

    done.extend(between(["a", "b"], Bar(), Out()))  # type: ignore[arg-type]
    assert done == ["clear", "a", "flush", "clear", "b", "flush", "clear"]


CODE = """
import sys
from ds_format.cli import main, progress
progress.DELAY = progress._INTERVAL = 0.0
sys.exit(main())
"""


def terminal(*words: str, all_of_it: bool = False) -> tuple[bytes, bytes]:
    """Return what the program shows on a terminal, on stderr alone or on both, and its stdout."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    out = theirs if all_of_it else subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", CODE, *words], stdout=out, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b"".join(_chunks(ours))
        printed = b"" if process.stdout is None else process.stdout.read()
    os.close(ours)
    return shown, printed


def _chunks(fd: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(fd, 4096)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


@pytest.mark.usefixtures("files")
class TestOnATerminal:
    @pytest.mark.parametrize(
        "words", [["stats", "x", "d.ds"], ["verify", "d.ds", "d.nc"], ["reindex", "store"]], ids=" ".join
    )
    def test_the_bar_is_seen_and_gone_at_the_end(self, words: list[str], ds: Callable[..., Any]) -> None:
        shown, printed = terminal(*words)
        assert b"%  " in shown
        assert b"/s" in shown
        assert shown.endswith(b"\r\x1b[K")
        assert printed.decode() == ds(*words).out
        assert terminal("-q", *words) == (b"", printed)

    def test_what_is_printed_on_the_same_terminal_stays_readable(self) -> None:
        Path("broken.ds").write_text("no")
        shown, _ = terminal("verify", "d.ds", "broken.ds", "d.nc", all_of_it=True)
        assert b"\r\x1b[Kbroken.ds none error" in shown
        screen = shown.split(b"\r\n")
        assert screen[-1] == b""
        assert all(line.rsplit(b"\r\x1b[K", 1)[-1].startswith((b"broken.ds", b"ds verify")) for line in screen[:-1])

    def test_cat_on_a_terminal_has_none(self) -> None:
        shown, _ = terminal("cat", "t", "d.ds", all_of_it=True)
        assert b"%" not in shown
