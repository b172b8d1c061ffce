"""What goes wrong in a run: bad inputs, names that lead elsewhere, and the hidden files of runs."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format
from ds_format import convert, convert_many
from ds_format.errors import DsError, IntegrityError, UnsupportedError
from ds_format.many.converting import processes, task
from ds_format.many.converting.running import RunOptions, run
from ds_format.many.converting.workspace import ConversionJournal
from ds_format.views.subset import open_subset

from .conftest import Make, dataset, names
from .faulty import Faulty

ROOT = Path(__file__).parents[3]


def text(path: Path) -> None:
    path.write_text("time,temperature\n0,5\n")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 20)


def cut_in_the_header(path: Path) -> None:
    os.truncate(path, 30)


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4:60] = b"\xff" * 56
    path.write_bytes(data)


def folder_of_that_name(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(("suffix", "jobs"), [("nc", 1), ("nc", 2), ("ds", 1), ("json", 1)])
@pytest.mark.parametrize("spoil", [text, empty, truncated, cut_in_the_header, damaged, link_to_nothing, pipe])
def test_one_bad_file(spoil: Any, suffix: str, jobs: int, make: Make) -> None:
    paths = make(f"in/a.{suffix}", f"in/bad.{suffix}", f"in/c.{suffix}")
    spoil(Path(paths[1]))
    records = convert_many(paths, "out", to="bpk", jobs=jobs)
    assert [one.status for one in records] == ["converted", "failed", "converted"]
    cause = records[1].cause
    assert cause
    assert "\n" not in cause
    assert ".ds-convert" not in cause
    assert os.getcwd() not in cause
    assert names("out") == ["a.bpk", "c.bpk"]
    assert ds_format.read("out/c.bpk")["n"] == 2


def test_an_older_output_stays(make: Make) -> None:
    make("in/a.nc")
    convert_many("in", "out")
    before = Path("out/a.ds").read_bytes()
    text(Path("in/a.nc"))
    for how in ("resume", "overwrite"):
        assert convert_many("in", "out", **{how: True})[0].status == "failed"  # type: ignore[arg-type]
    assert Path("out/a.ds").read_bytes() == before


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_input_that_changes_meanwhile(jobs: int, make: Make) -> None:
    make("in/a.nc", "in/changing.nc", "in/z.nc")
    make("out/changing.ds")
    before = Path("out/changing.ds").read_bytes()
    records = run(["in"], "out", ".ds", Faulty(), RunOptions(jobs=jobs, overwrite=True))
    assert [one.cause for one in records] == [None, "the file was changed while it was converted", None]
    assert names("out") == ["a.ds", "changing.ds", "z.ds"]
    assert Path("out/changing.ds").read_bytes() == before


@pytest.mark.parametrize("n", [2, 40])
def test_a_file_that_kills_its_process(n: int, make: Make) -> None:
    paths = make(*(f"in/{i:02}.nc" for i in range(n)), "in/05killer.nc", "in/07once.nc", "in/08leaver.nc")
    records = run(["in"], "out", ".json", Faulty(), RunOptions(jobs=2))
    assert {one.input: one.cause for one in records if one.cause is not None} == {
        "in/05killer.nc": "the process that converted it was killed by signal 9 (SIGKILL)",
        "in/08leaver.nc": "the process that converted it ended with status 3",
    }
    assert len(names("out")) == len(paths) - 2
    assert ds_format.read("out/07once.json")["n"] == n + 1


def test_what_a_library_prints_is_not_taken_for_an_answer(make: Make) -> None:
    make("in/printing.nc", "in/a.nc")
    assert {one.status for one in run(["in"], "out", ".ds", Faulty(), RunOptions(jobs=2))} == {"converted"}


def test_warnings_travel(make: Make) -> None:
    make("in/warning.nc", "in/a.nc")
    with pytest.warns(UserWarning, match=r"^out/warning.ds: look out$"):
        records = run(["in"], "out", ".ds", Faulty(), RunOptions(jobs=2))
    assert [one.warnings for one in records] == [(), ("out/warning.ds: look out",)]


def test_processes_that_cannot_start(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("in/a.nc", "in/b.nc")
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(DsError, match="a process that was to convert files ended at its start, with status 1"):
        convert_many("in", "out", to="json", jobs=2)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        convert_many("in", "out", to="json", jobs=2)
    assert names("out") == []


# the journal is on the same disk: if it is written while the large file fills it, there is a warning, and it is written
# again when that file is gone
@pytest.mark.filterwarnings("ignore:the journal cannot be written")
def test_a_full_disk(make: Make) -> None:
    make("in/a.ds", "in/c.ds")
    ds_format.write("in/b.ds", {"x": [0.0] * 100_000})
    os.mkdir("out")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", "out"], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted")
    try:
        records = convert_many("in", "out", jobs=2)
        assert [one.cause for one in records] == [None, "out/b.ds: No space left on device", None]
        assert names("out") == ["a.ds", "c.ds"]
        again = convert_many("in", "out", jobs=2, resume=True)
        assert [one.status for one in again] == ["skipped", "failed", "skipped"]
    finally:
        subprocess.run(["umount", "out"], check=True)


def test_a_disk_that_is_full_from_some_size_on(make: Make) -> None:
    """The limit of the system for the size of files, instead of that of a disk."""
    make("in/a.ds", "in/c.ds")
    ds_format.write("in/b.ds", {"x": [0.0] * 100_000})
    code = "import ds_format; print([one.cause for one in ds_format.convert_many('in', 'out', jobs=2)])"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=limit,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == "[None, 'out/b.ds: File too large', None]\n"
    assert names("out") == ["a.ds", "c.ds"]


def test_a_journal_that_cannot_be_written_is_said_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("in/a.ds", "in/b.ds", "in/c.ds")
    added = ConversionJournal.add
    calls = []

    def add(self: ConversionJournal, some: Any) -> None:
        calls.append(some)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        added(self, some)

    monkeypatch.setattr(ConversionJournal, "add", add)
    with pytest.warns(UserWarning, match="the journal cannot be written: No space left on device") as told:
        records = convert_many("in", "out")
    assert len(told) == 1
    assert {one.status for one in records} == {"converted"}
    assert {one.status for one in convert_many("in", "out", resume=True)} == {"skipped"}


def test_a_journal_is_not_torn_by_a_full_disk(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("in/a.ds")
    convert_many("in", "out")
    before = Path("out/.ds-convert.jsonl").read_bytes()
    one = ConversionJournal("out/.ds-convert.jsonl")
    written = os.write

    def write(fd: int, data: bytes) -> int:
        if len(data) < 50:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(fd, data[:-20])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space"):
        one.add(one.done.values())
    one.close()
    assert Path("out/.ds-convert.jsonl").read_bytes() == before


@pytest.mark.slow
def test_memory_is_bounded(folder: Path) -> None:
    """A file of 600 MB, converted by a process that may grow by 256 MB beyond what it has imported."""
    n = 75_000_000
    with open("large.ds", "wb") as file:
        x = {".size": [n], ".type": "float64", ".offset": 0, ".len": 8 * n, ".endian": "b"}
        file.write(f"ds-1.0\n{json.dumps({'x': x, '.': {}})}\n".encode())
        for _ in range(60):
            np.zeros(n // 60).tofile(file)
    code = """
import resource, sys, ds_format, ds_format.many.converting.running, ds_format.drivers.ds
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
[one] = ds_format.convert_many("large.ds", "out", verify=True)
print(one.status, one.cause, peak() - before < 256 * 1024)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "converted None True\n"


def test_datasets_of_the_tests_are_alike() -> None:
    assert dataset(3)["n"] == 3


def test_a_report_behind_a_link(make: Make) -> None:
    paths = make("in/a.nc")
    Path("real.json").write_text("old")
    Path("report.json").symlink_to("real.json")
    convert_many(paths, "out", report="report.json")
    assert Path("report.json").is_symlink()
    assert json.loads(Path("real.json").read_text())[0]["status"] == "converted"


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_report_that_cannot_be_written_is_refused_first(kind: str, make: Make) -> None:
    paths = make("in/a.nc")
    report = "/dev/null" if kind == "device" else "report.json"
    if kind == "folder":
        os.mkdir(report)
    elif kind == "pipe":
        os.mkfifo(report)
    before = os.lstat(report).st_mode
    with pytest.raises(OSError, match=report):
        convert_many(paths, "out", report=report)
    assert not os.path.exists("out")
    assert os.lstat(report).st_mode == before


@pytest.mark.parametrize("name", [".ds-convert.jsonl", ".ds-convert.lock", ".ds-convert.tmp"])
def test_a_report_does_not_replace_what_runs_keep(name: str, make: Make) -> None:
    paths = make("in/a.nc")
    with pytest.raises(UnsupportedError, match="would replace"):
        convert_many(paths, "out", report=f"out/{name}")
    assert not os.path.exists("out")


def test_a_report_behind_a_link_does_not_replace_an_input(make: Make) -> None:
    paths = make("in/a.nc")
    before = Path(paths[0]).read_bytes()
    Path("report.json").symlink_to("in/a.nc")
    with pytest.raises(UnsupportedError, match="would replace"):
        convert_many(paths, "out", report="report.json")
    Path("in/b.nc").symlink_to("../data")
    Path("data").write_bytes(before)
    with pytest.raises(UnsupportedError, match="would replace"):
        convert_many(["in/b.nc"], "out", report="data")
    assert Path("data").read_bytes() == Path(paths[0]).read_bytes() == before


def test_a_report_in_the_folder_of_the_outputs(make: Make) -> None:
    convert_many(make("in/a.nc"), "out", report="out/report.json")
    assert names("out") == ["a.ds", "report.json"]


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_journal_that_is_none(kind: str, make: Make) -> None:
    paths = make("in/a.nc")
    os.mkdir("out")
    Path("precious").write_text("precious")
    if kind == "pipe":
        os.mkfifo("out/.ds-convert.jsonl")
    else:
        os.symlink("../precious", "out/.ds-convert.jsonl")
    with pytest.raises(OSError, match=r"\.ds-convert\.jsonl"):
        convert_many(paths, "out")
    assert Path("precious").read_text() == "precious"
    assert not os.path.exists("out/a.ds")


@pytest.mark.parametrize("kind", ["pipe", "link", "file"])
def test_what_has_the_name_of_the_folder_of_a_run_is_removed(kind: str, make: Make) -> None:
    paths = make("in/a.nc")
    os.mkdir("out")
    os.mkdir("precious")
    Path("precious/one").write_text("precious")
    if kind == "pipe":
        os.mkfifo("out/.ds-convert.tmp")
    elif kind == "link":
        os.symlink("../precious", "out/.ds-convert.tmp")
    else:
        Path("out/.ds-convert.tmp").write_text("")
    convert_many(paths, "out")
    assert names("out") == ["a.ds"]
    assert os.listdir("precious") == ["one"]
    assert not os.path.lexists("out/.ds-convert.tmp")


def test_an_interrupt_while_the_journal_is_written_leaves_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def add(self: object, some: object) -> None:
        raise KeyboardInterrupt

    paths = make("in/a.nc")
    monkeypatch.setattr(ConversionJournal, "add", add)
    with pytest.raises(KeyboardInterrupt):
        convert_many(paths, "out")
    assert sorted(os.listdir("out")) == ["a.ds"]


def test_a_file_that_is_written_all_the_time(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the file finds that it was written just now."""
    paths = make("in/a.nc", "in/b.nc")
    os.utime(paths[1], (0, 0))
    waits: list[float] = []

    def write_meanwhile(seconds: float) -> None:
        waits.append(seconds)
        now = os.stat(paths[0]).st_mtime_ns + 1_000_000
        os.utime(paths[0], ns=(now, now))

    monkeypatch.setattr(task, "time_ns", lambda: os.stat(paths[0]).st_mtime_ns)
    monkeypatch.setattr(task, "sleep", write_meanwhile)
    records = convert_many(paths, "out")
    assert [one.status for one in records] == ["failed", "converted"]
    assert records[0].cause is not None and "the file is being written" in records[0].cause
    assert names("out") == ["b.ds"]
    assert len(waits) == task.LOOKS


def test_a_change_at_the_time_of_the_one_before(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(source: str, *args: Any, **options: Any) -> None:
        convert(source, *args, **options)
        before = os.stat(source).st_mtime_ns
        is_same = time.time_ns() - before < 10_000_000  # the next look of a system at the clock
        now = before if is_same else time.time_ns()
        os.utime(source, ns=(now, now))

    paths = make("in/a.nc")
    os.utime(paths[0], ns=(time.time_ns(),) * 2)
    monkeypatch.setattr(task, "convert_selection", changed)
    [record] = convert_many(paths, "out")
    assert record.status == "failed"
    assert names("out") == []


def test_a_cause_does_not_repeat_a_name_of_two_lines(make: Make) -> None:
    os.mkdir("in")
    Path("in/a\n.nc").write_text("nonsense")
    [record] = convert_many("in", "out")
    assert record.cause is not None
    assert record.cause.startswith("no NetCDF file")


def small(x: Any = (1.0, 2.0), dim: str = "t", a: int = 1, without: str = "", **attributes: Any) -> dict[str, Any]:
    """Return a dataset with a variable, one without data, and an attribute."""
    meta: dict[str, Any] = {"x": {".dims": [dim], **attributes}, "n": {}, ".": {"a": a}}
    dataset = {"x": list(x), "n": None, ".": {key: entry for key, entry in meta.items() if key != without}}
    return {key: data for key, data in dataset.items() if key != without}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no variable": (small(without="x"), 'variable "x": it is not there when the file is read back'),
    "no variable without data": (small(units="m", without="n"), 'variable "n": it is not there when'),
    "no attribute": (small(), 'variable "x": attribute "units" is not there when the file is read back'),
    "another attribute": (small(units="K"), "variable \"x\": attribute \"units\": read back 'K', expected 'm'"),
    "another attribute of the dataset": (small(units="m", a=2), r'b\.ds: attribute "a": read back 2, expected 1'),
    "another shape": (small([1.0], units="m"), r'variable "x": \.size: read back \[1\], expected \[2\]'),
    "another type": (small([1, 2], units="m"), r'variable "x": \.type: read back int64, expected float64'),
    "other dimensions": (small(dim="k", units="m"), r"variable \"x\": \.dims: read back \['k'\], expected \['t'\]"),
    "another value": (small([1.0, 3.0], units="m"), 'variable "x": value 1 differs when the file is read back'),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_file_that_is_not_what_was_written_is_found(fault: str, folder: Path) -> None:
    written, message = WRONG[fault]
    ds_format.write("a.ds", small(units="m"))
    ds_format.write("b.ds", written)
    with open_subset("a.ds") as part:
        with pytest.raises(IntegrityError, match=message):
            task.compare(part, "b.ds")
        task.compare(part, "a.ds")
