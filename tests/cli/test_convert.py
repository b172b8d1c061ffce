"""`ds convert`."""

from __future__ import annotations

import importlib.util
import json
import os
import pty
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ds_format
from ds_format.cli import progress
from ds_format.cli.progress import Lines, render

if TYPE_CHECKING:
    from .conftest import Run

ROOT = Path(__file__).parents[2]
needs_distributed = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs distributed")


@pytest.fixture
def archive(folder: Path) -> None:
    """Files in folders, one of which is no NetCDF file."""
    for i, name in enumerate(("a", "sub/b", "sub/c")):
        path = Path("archive", f"{name}.ds")
        path.parent.mkdir(parents=True, exist_ok=True)
        meta = {"x": {".dims": ["t"]}, "y": {".dims": ["t"]}}
        ds_format.write(path, {"x": [i, 1, 2], "y": np.arange(3.0), ".": meta})


def files(top: str = "out") -> list[str]:
    paths = (path for path in Path(top).rglob("*") if path.is_file() and path.name != ".ds-convert.jsonl")
    return sorted(path.relative_to(top).as_posix() for path in paths)


@pytest.mark.usefixtures("archive")
def test_many_files(ds: Run) -> None:
    assert ds("convert", "archive/**/*.ds", "out/", "jobs:", "2") == (0, "", "")
    assert files() == ["a.ds", "sub/b.ds", "sub/c.ds"]
    status, out, err = ds("convert", "archive", "out")
    assert (status, out) == (1, "")
    assert err.startswith("ds convert: 3 outputs exist, the first is out/a.ds: `--resume` converts the remaining files")
    assert ds("convert", "archive", "out", "--resume") == (0, "", "")
    assert ds("convert", "-q", "archive", "out", "--overwrite") == (0, "", "")


@pytest.mark.usefixtures("archive")
def test_one_file(ds: Run) -> None:
    assert ds("convert", "archive/a.ds", "one.json") == (0, "", "")
    assert ds_format.read("one.json")["x"].tolist() == [0, 1, 2]
    assert ds("convert", "archive/a.ds", "one.json") == (
        1,
        "",
        "ds convert: one.json exists: `--overwrite` replaces it\n",
    )
    assert ds("convert", "archive/sub/c.ds", "one.json", "--overwrite", "--verify") == (0, "", "")
    assert ds_format.read("one.json")["x"].tolist() == [2, 1, 2]
    assert sorted(os.listdir()) == ["archive", "one.json"]
    assert ds("convert", "nope.ds", "two.json") == (
        1,
        "",
        "ds convert: nope.ds: File does not exist\n",
    )
    assert ds("convert", "archive/a.ds", "folder.ds/") == (0, "", "")
    assert files("folder.ds") == ["a.ds"]


@pytest.mark.usefixtures("archive")
def test_parts(ds: Run) -> None:
    assert ds("convert", "archive", "out", "to:", "json", "variables:", "[xz]", "sel:", "{", "t:", "0", "}")[0] == 0
    assert [ds_format.read(f"out/{name}.json")["x"] for name in ("a", "sub/b", "sub/c")] == [0, 1, 2]
    assert set(ds_format.read("out/a.json")) == {"x", "."}
    ds("select", "x", "archive/a.ds", "expected.ds", "range:", "{", "t:", "{", "1", "none", "}", "}")
    ds("convert", "archive", "part", "variables:", "x", "range:", "{", "t:", "{", "1", "none", "}", "}", "jobs:", "2")
    assert Path("part/a.ds").read_bytes() == Path("expected.ds").read_bytes()
    status, _, err = ds("convert", "archive/a.ds", "no", "variables:", "z")
    assert (status, err) == (1, 'ds convert: archive/a.ds: variable "z" not found\n')
    status, _, err = ds("convert", "archive/a.ds", "no", "sel:", "{", "tt:", "0", "}")
    assert (status, err.splitlines()[0]) == (1, 'ds convert: archive/a.ds: dimension "tt" not found: did you mean t?')
    assert ds("convert", "archive", "old", "layout:", "2.0.1")[0] == 0
    assert Path("old/a.ds").read_bytes().startswith(b"{")


@pytest.mark.usefixtures("archive")
def test_failures_are_told_and_reported(ds: Run) -> None:
    Path("archive/bad.nc").write_text("no NetCDF")
    status, out, err = ds("convert", "archive", "out", "report:", "report.json")
    assert (status, out) == (1, "")
    failed, summary = err.splitlines()
    assert failed.startswith("ds convert: archive/bad.nc: ")
    assert summary == "ds convert: 3 converted, 1 failed"
    told = json.loads(Path("report.json").read_text())
    assert [one["status"] for one in told] == ["converted", "failed", "converted", "converted"]
    status, out, _ = ds("convert", "-j", "archive", "out", "--resume")
    assert [one["status"] for one in json.loads(out)] == ["skipped", "failed", "skipped", "skipped"]
    status, out, err = ds("convert", "archive", "fast", "--fail-fast")
    assert err.splitlines()[-1] == "ds convert: 1 converted, 1 failed, 2 cancelled"


@pytest.mark.usefixtures("archive")
def test_a_dry_run(ds: Run) -> None:
    expected = "archive/a.ds out/a.nc\narchive/sub/b.ds out/sub/b.nc\narchive/sub/c.ds out/sub/c.nc\n"
    assert ds("convert", "--dry-run", "archive", "out", "to:", "nc") == (0, expected, "")
    assert not os.path.exists("out")


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["archive"], "OUTPUT is missing: found only archive"),
        (["archive", "out", "jbos:", "2"], 'unrecognized option "jbos": did you mean jobs?'),
        (["archive", "out", "--resme"], 'unrecognized option "resme": did you mean resume?'),
        (["archive", "out", "jobs:", "0"], "jobs: expected a number of 1 or more, found 0"),
        (["archive", "out", "jobs:", "two"], "jobs: expected a number of 1 or more, found two"),
        (["archive", "out", "to:", "xls"], 'unknown file format "xls": expected one of '),
        (["archive", "out", "to:", "5"], "to: invalid type: expected text, found 5"),
        (["archive", "out", "report:", "{", "a", "}"], "report: invalid type: expected text, found { a }"),
        (["archive", "out", "variables:", "{", "1", "}"], "variables: invalid type: expected a name or an array"),
        (["archive", "out", "--resume", "--overwrite"], "resume and overwrite exclude each other"),
        (["archive/*.cdf", "out"], "archive/*.cdf: no file matches this pattern"),
        (["archvie", "out"], "archvie: File does not exist: did you mean archive?"),
        (
            ["archive/a.ds", "archive/sub/b.ds", "one.ds"],
            "one.ds: expected a folder as the last word, because there may be",
        ),
        (["archive/*.ds", "one.ds"], "one.ds: expected a folder as the last word"),
        (
            ["archive/a.ds", "one.ds", "--resume"],
            "one.ds: resume is possible with a folder as the last word, not with one",
        ),
        (["archive", "out", "layout:", "3"], "layout: expected 1.0 or 2.0.1, found 3"),
        (["archive", "out", "dim:", "t"], 'the format ds has no option "dim"'),
        (["archive/a.ds", "archive"], "archive/a.ds: converting archive/a.ds would replace this input"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_said_before_anything_is_written(words: list[str], expected: str, ds: Run) -> None:
    status, out, err = ds("convert", *words)
    assert (status, out) == (1, "")
    assert expected in err.splitlines()[0]
    assert files() == [] or not os.path.exists("out")


@needs_distributed
def test_a_scheduler(ds: Run, archive: None) -> None:
    distributed = importlib.import_module("distributed")
    with distributed.LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        assert ds("convert", "archive", "out", "scheduler:", address) == (0, "", "")


@needs_distributed
@pytest.mark.parametrize("address", ["nonsense", "nonsense://x:1", "127.0.0.1", "tcp://[x"])
def test_no_address_of_a_scheduler(address: str, ds: Run, archive: None) -> None:
    expected = "expected an address, as tcp://host:8786, or a scheduler file, as scheduler.json"
    error = f"ds convert: scheduler: {address}: {expected}\n"
    assert ds("convert", "archive", "out", "scheduler:", address) == (1, "", error)
    assert not os.path.exists("out")


@needs_distributed
def test_a_scheduler_that_does_not_answer(ds: Run, archive: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ds_format.xarray_.scheduler.TIMEOUT", 0.5)
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unheard.getsockname()[1]}"
        Path("there.json").write_text(json.dumps({"address": address}))
        for word, told in ((address, address), ("there.json", f"{address} (of there.json)")):
            error = f"ds convert: scheduler: {told}: no answer within 0.5 seconds\n"
            assert ds("convert", "archive", "out", "scheduler:", word) == (1, "", error)


@needs_distributed
@pytest.mark.parametrize("content", ["", "{}", "[]", '{"address": 1}', None])
def test_no_scheduler_file(content: str | None, ds: Run, archive: None) -> None:
    expected = 'expected a scheduler file of dask: JSON with the member "address"'
    if content is None:
        expected = "No such file or directory"
    else:
        Path("x.json").write_text(content)
    error = f"ds convert: scheduler: x.json: {expected}\n"
    assert ds("convert", "archive", "out", "scheduler:", "x.json") == (1, "", error)


def test_plain_lines_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    written: list[str] = []

    class Stream:
        write = written.append

        def flush(self) -> None: ...

    lines = Lines(Stream(), "ds convert")  # type: ignore[arg-type]
    lines.note = "30 files"
    for i in range(25):
        now[0] = 101.0 + i
        lines(10**6 * i, 10**8)
    assert written == [
        "ds convert: 9%  30 files  9 MB of 100 MB  900 kB/s  1:41 left\n",
        "ds convert: 19%  30 files  19 MB of 100 MB  950 kB/s  1:25 left\n",
    ]
    lines.clear()


def test_the_bar_tells_hours_and_leaves_out_what_has_no_room() -> None:
    assert render(10, 10**7, 1, 60, "3 files").endswith("  0%  3 files  10 B of 10 MB  10 B/s  277:46:39 left")
    assert "files" not in render(10, 10**7, 1, 45, "3 files")


@pytest.mark.usefixtures("archive")
def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar, which is gone in the end, and messages on lines of their own."""
    Path("archive/bad.nc").write_text("no NetCDF")
    ours, theirs = pty.openpty()
    soon = "progress.DELAY = progress._INTERVAL = 0.0"
    code = f"import sys; from ds_format.cli import main, progress; {soon}; sys.exit(main())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    words = ["convert", "archive", "out", "jobs:", "2"]
    with subprocess.Popen([sys.executable, "-c", code, *words], stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    assert process.returncode == 1
    text = shown.decode()
    assert " files  " in text
    assert "\x1b[Kds convert: archive/bad.nc: " in text
    before, _, rest = text.rpartition("ds convert: 3 converted, 1 failed\r\n")
    assert not rest
    assert before.endswith((
        "\r\x1b[K",
        "\r\n",
    ))  # the bar is drawn again after the message only if there is time for it


def _read(fd: int) -> Any:
    try:
        return os.read(fd, 10_000)
    except OSError:
        return b""


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["jobs:2"], 'jobs:2: to set the option jobs write "jobs: 2"'),
        (["jobs=2"], 'jobs=2: to set the option jobs write "jobs: 2"'),
        (["jobs", "2"], 'jobs: to set the option jobs write "jobs: 2"'),
        (["resume"], 'resume: to set the option resume write "--resume"'),
        (["to:json"], 'to:json: to set the option to write "to: json"'),
    ],
)
def test_an_option_in_another_spelling(words: list[str], said: str, ds: Run) -> None:
    for line in (["archive", "out", *words], [*words, "archive", "out"], ["archive", *words, "out"]):
        assert ds("convert", *line) == (1, "", f'ds convert: {said}; for a file or folder write "./{words[0]}"\n')
    assert sorted(os.listdir()) == ["archive"]


@pytest.mark.usefixtures("archive")
def test_a_file_with_the_name_of_an_option(ds: Run) -> None:
    os.rename("archive/a.ds", "jobs")
    assert ds("convert", "jobs", "./resume").status == 0
    assert files("resume") == ["jobs.ds"]


@pytest.mark.parametrize("suffix", ["nc", "nc3", "h5", "json", "msgpack", "zds", "bpk"])
def test_one_file_is_converted_as_by_select(suffix: str, ds: Run, base: str) -> None:
    for command in ("convert", "select"):
        assert ds(command, base, f"{command}.{suffix}") == (0, "", "")
        assert ds(command, f"{command}.{suffix}", f"{command}-back.ds") == (0, "", "")
    assert ds("diff", "convert-back.ds", "select-back.ds") == (0, "", "")


def test_one_file_needs_a_known_suffix_or_a_folder(ds: Run, base: str) -> None:
    status, out, err = ds("convert", base, "copy.foo")
    assert (status, out) == (1, "")
    assert err.startswith("ds convert: copy.foo: unknown file format: expected one of .arrow ")
    assert err.endswith(' .zds, or "copy.foo/" for a folder\n')
    assert not Path("copy.foo").exists()
    assert ds("convert", base, "copy.foo/") == (0, "", "")
    assert [path.name for path in Path("copy.foo").glob("*.ds")] == ["base.ds"]


def test_an_option_without_its_value(ds: Run, base: str) -> None:
    status, out, err = ds("convert", base, "--layout", "2.0.1", "copy.ds")
    assert (status, out) == (1, "")
    assert err.startswith('ds convert: the option "layout" needs a value: write `layout: 1.0 | 2.0.1`\nUsage: ')
