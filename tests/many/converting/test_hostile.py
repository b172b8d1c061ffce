"""Names that lead elsewhere: reports, and the hidden files of a run."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ds_format import convert, convert_many
from ds_format.errors import UnsupportedError
from ds_format.many.converting import task
from ds_format.many.converting.workspace import ConversionJournal

from .conftest import Make, names


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


def test_a_file_that_is_written_all_the_time(make: Make) -> None:
    """Its time may be the same before and after, since systems count that in steps."""
    paths, is_done = make("in/a.nc", "in/b.nc"), threading.Event()

    def write() -> None:
        while not is_done.wait(0.0002):
            os.utime(paths[0])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        records = convert_many(paths, "out")
    finally:
        is_done.set()
        writer.join()
    assert [one.status for one in records] == ["failed", "converted"]
    assert names("out") == ["b.ds"]


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
